#!/bin/sh
# Feeds broken files to what reads files, and any text to what reads text, for a while: with libFuzzer where clang has it,
# otherwise the safetensors reader alone, with the plain driver at the end of fuzz_safetensors.c.
#     sh tests/fuzz/run.sh BUILD SECONDS "flags of jansson" "flags of PCRE2, or nothing"
build=$1 seconds=$2 jansson=$3 pcre2=$4
flags="-std=c2x -g -O1 -D_GNU_SOURCE -fsanitize=address,undefined -fno-sanitize-recover=all -I. -Ichapters"
corpus=$(mktemp -d) && trap 'rm -rf "$corpus"' EXIT
mkdir -p "$build"

sources() {
    case $1 in
    safetensors) echo tests/fuzz/fuzz_safetensors.c common/safetensors.c common/tensor.c common/output.c common/error.c ;;
    tokenizer | text) echo -Dexit=caught_exit tests/fuzz/fuzz_tokenizer.c chapters/10_tokenizer/[!em]*.c common/file.c common/error.c ;;
    esac
    [ "$1" = text ] && echo -DTEXT
}

# What the fuzzer starts from: files that are in order.
seeds() {
    case $1 in
    safetensors) cp tests/golden/relu.safetensors "$2" ;;
    tokenizer)
        for file in tests/golden/tokenizers/*/*; do cp "$file" "$2/$(basename "$(dirname "$file")")"; done
        printf '\7\0\0\0\0\0\0\0\5\0\0\0<unk>\0\0\0\0\5\0\0\0\n<s>\n\0\0\0\0\6\0\0\0\n</s>\n' >"$2/bin"
        ;;
    text) printf 'The llama\047s 12 3\n  <s>羊驼\377<|eot_id|> [INST] <user>\342\226\201the\342\226\201 it is' >"$2/text" ;;
    esac
}

# What fail() loses adds up: a process is followed by the next after so many inputs.
fuzz() {
    mkdir "$corpus/$1" && seeds "$1" "$corpus/$1"
    end=$(($(date +%s) + $2)) inputs=0
    while left=$((end - $(date +%s))) && [ "$left" -gt 0 ]; do
        ASAN_OPTIONS=detect_leaks=$([ "$1" = tokenizer ] && echo 0 || echo 1) \
            "$build/fuzz_$1" -max_total_time="$left" -runs=20000 -max_len=$([ "$1" = text ] && echo 2048 || echo 65536) -rss_limit_mb=4096 -print_final_stats=1 \
            -artifact_prefix="$build/fuzz-$1-" "$corpus/$1" 2>"$build/fuzz.log" || { tail -40 "$build/fuzz.log"; exit 1; }
        inputs=$((inputs + $(sed -n 's/.*number_of_executed_units: *//p' "$build/fuzz.log")))
    done
    echo "$1: $inputs inputs, $(grep -o 'cov: [0-9]*' "$build/fuzz.log" | tail -1), no finding"
}

if echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | clang -fsanitize=fuzzer -x c - -o /dev/null 2>/dev/null; then
    targets="safetensors ${pcre2:+tokenizer text}"
    echo "fuzz: libFuzzer, $seconds seconds for each of $targets"
    for target in $targets; do
        clang -DLIBFUZZER -fsanitize=fuzzer $flags $(sources $target) -o "$build/fuzz_$target" $jansson $pcre2 -lm || exit 1
        fuzz $target "$seconds"
    done
else
    echo "fuzz: no libFuzzer (apt install clang libclang-rt-14-dev), the plain driver, $seconds seconds"
    ${CC:-cc} $flags $(sources safetensors) -o "$build/fuzz_safetensors" $jansson -lm &&
        "$build/fuzz_safetensors" --seconds "$seconds"
fi
