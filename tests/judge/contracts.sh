#!/bin/sh
# sh tests/judge/contracts.sh BUILD/verify: prints a header that defines every kernel of the course, as an alias. A reader's
# file that is compiled behind it (build/compile.sh) gets a message for each kernel that it defines: "redefinition of" where
# the type is the header's, otherwise "conflicting types for". First comes, in a comment, where each contract is.
cd "$(dirname "$0")/../.." || exit 1
list=$("$1" --list | sed -e 1d -e 's|^ *\([^ ]*\) *\([^ ]*\).*|\1 chapters/\2|' -e 's|chapters/common$|common|')
echo "/*"
echo "$list" | while read -r kernel folder; do
    grep -n "^[A-Za-z_].*[ *]$kernel(" "$folder"/*.h /dev/null | sed -n "1s|:\([0-9]*\):.*|:\1:1: contract of '$kernel'|p" | sed "s|^|$PWD/|"
done
echo "*/"
grep -hE '^#include "([0-9]|common/linear)' tests/judge/[0-9]*.c tests/judge/kernels.c | sort -u
echo "$list" | sed 's|\([^ ]*\) .*|extern __typeof__(\1) \1 __attribute__((alias("contract")));|'
