#!/bin/sh
# Adds files to the archive of inputs that `make test` gives to a reader: sh tests/hardening/fuzz/keep.sh READER FILE …
# The archive is written the same way every time (sorted names, no dates, no owners), so that it changes only when an input
# does.
set -e
archive=$(dirname "$0")/$1.tar.gz
shift
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
tar -xzf "$archive" -C "$folder"
cp "$@" "$folder"
chmod 644 "$folder"/*
tar --sort=name --format=ustar --owner=0 --group=0 --numeric-owner --mtime=@0 -C "$folder" -cf - $(ls "$folder") |
    gzip -9n >"$archive.new"
mv "$archive.new" "$archive"
