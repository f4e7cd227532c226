#!/bin/sh
# Feeds broken files to the readers of files, and any text to the readers of text, for a while, with clang's libFuzzer:
#     sh tests/hardening/fuzz/run.sh MAKE BUILD SECONDS [keep]
# It starts from the inputs in tests/hardening/fuzz/READER.tar.gz, which `make test` replays, and from the golden files. With
# `keep`, inputs that reach new code are added to the archive.
make=$1 build=$2/fuzz seconds=$3 keep=$4
scratch=$(mktemp -d) && trap 'rm -rf "$scratch"' EXIT

# The header of a safetensors file, without its length.
header() { tail -c +9 "$1" | head -c "$(od -An -tu8 -N8 "$1" | tr -d ' ')"; }

# Files that are in order, for the fuzzer to start from: seeds READER FOLDER.
seeds() {
    case $1 in
    safetensors) cp tests/golden/relu.safetensors "$2" ;;
    config) for model in tests/golden/models/*; do cp "$model/config.json" "$2/${model##*/}"; done ;;
    model)
        for model in tests/golden/models/*; do
            {
                cat "$model/config.json" && printf '\036'
                sed 's/model-0000\([12]\)-of-00002.safetensors/shard\1/' "$model/model.safetensors.index.json" 2>/dev/null
                for file in "$model"/model*.safetensors; do printf '\036' && header "$file"; done
            } >"$2/${model##*/}"
        done
        ;;
    tokenizer)
        for file in tests/golden/tokenizers/*/*; do cp "$file" "$2/$(basename "$(dirname "$file")")"; done
        cp tests/golden/foreign_tokenizers/[!e]*.json "$2"
        ;;
    esac
}

# The words of the file formats and of the template language, for the fuzzer to use.
words() {
    find common chapters \( -name safetensors.c -o -name gguf.c -o -name tensor.c -o -name config.c \
        -o -name 'pipeline_*.c' -o -name 'jinja*.c' \) -exec grep -oh '"[a-zA-Z0-9_.]\+"' {} + | sort -u
}

# An input breaks a promise.
found() {
    tail -40 "$build/fuzz.log"
    for input in "$build/fuzz-$1"-*; do
        echo "fuzz: it lies in $input; once more: $build/fuzz_$1 $input"
        echo "fuzz: to keep it, whether the reader is fixed or not: sh tests/hardening/fuzz/keep.sh $1 $input; make test replays it"
    done
    exit 1
}

# Keeps small inputs that reach code which neither a kept input nor a seed reaches.
keep_new() {
    mkdir "$scratch/merged" && cp -R "$scratch/seeds/." "$scratch/kept/." "$scratch/merged"
    find "$scratch/corpus" -type f -size +2k -delete
    "$build/fuzz_$1" -set_cover_merge=1 -use_counters=0 -max_len=65536 "$scratch/merged" "$scratch/corpus" 2>/dev/null
    for input in "$scratch/merged"/*; do
        name=${input##*/}
        [ -e "$scratch/seeds/$name" ] || [ -e "$scratch/kept/$name" ] ||
            { sh tests/hardening/fuzz/keep.sh "$1" "$input" && echo "  kept in tests/hardening/fuzz/$1.tar.gz: $name"; }
    done
    rm -rf "$scratch/merged"
}

# The memory that fail() loses adds up: a process is followed by the next after so many inputs, and leaks are no findings.
fuzz() {
    rm -rf "$build/fuzz-$1"-* "$scratch/corpus" "$scratch/kept" "$scratch/seeds"
    mkdir "$scratch/corpus" "$scratch/kept" "$scratch/seeds"
    tar -xzf "tests/hardening/fuzz/$1.tar.gz" -C "$scratch/kept"
    seeds "$1" "$scratch/seeds"
    case $1 in safetensors | template | text) leaks=1 ;; *) leaks=0 ;; esac
    case $1 in text) longest=2048 ;; template) longest=4096 ;; *) longest=65536 ;; esac
    case $1 in tokenizer) runs=4000 ;; *) runs=20000 ;; esac
    end=$(($(date +%s) + $2)) inputs=0
    while left=$((end - $(date +%s))) && [ "$left" -gt 0 ]; do
        ASAN_OPTIONS=detect_leaks=$leaks "$build/fuzz_$1" -max_total_time="$left" -runs=$runs -max_len=$longest \
            -rss_limit_mb=4096 -timeout=60 -dict="$scratch/words" -print_final_stats=1 \
            -artifact_prefix="$build/fuzz-$1-" "$scratch/corpus" "$scratch/kept" "$scratch/seeds" \
            2>"$build/fuzz.log" || found "$1"
        inputs=$((inputs + $(sed -n 's/.*number_of_executed_units: *//p' "$build/fuzz.log")))
    done
    echo "$1: $inputs inputs, $(grep -o 'cov: [0-9]*' "$build/fuzz.log" | tail -1), no finding"
    [ -z "$keep" ] || ASAN_OPTIONS=detect_leaks=0 keep_new "$1"
}

if ! echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | clang -fsanitize=fuzzer -x c - -o /dev/null 2>/dev/null; then
    echo "fuzz: there is no libFuzzer (apt install clang libclang-rt-14-dev)"
    exit 1
fi
$make --no-print-directory BUILD="$build" CC=clang OPENMP=-Wno-unknown-pragmas \
    CFLAGS="-O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all" fuzz-targets || exit 1
words >"$scratch/words"
for archive in tests/hardening/fuzz/*.tar.gz; do
    target=$(basename "$archive" .tar.gz)
    [ ! -x "$build/fuzz_$target" ] || fuzz "$target" "$seconds"
done
