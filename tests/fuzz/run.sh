#!/bin/sh
# Feeds broken files to what reads files, for a while: with libFuzzer where clang has it, otherwise the safetensors reader
# alone, with the plain driver at the end of fuzz_safetensors.c.   sh tests/fuzz/run.sh BUILD SECONDS "flags of jansson"
# What was found lies in BUILD/fuzz-TARGET-*; BUILD/fuzz_TARGET FILE repeats it.
build=$1 seconds=$2 jansson=$3
flags="-std=c2x -g -O1 -D_GNU_SOURCE -fsanitize=address,undefined -fno-sanitize-recover=all -Wno-unknown-pragmas -I. -Ichapters"
corpus=$(mktemp -d) && trap 'rm -rf "$corpus"' EXIT
mkdir -p "$build"

sources() {
    echo common/safetensors.c common/tensor.c common/output.c common/error.c
    case $1 in
    config) echo -Dexit=caught_exit chapters/09_decoder/config.c chapters/04_rope/rope.c ;;
    model) echo -Dexit=caught_exit common/linear.c chapters/09_decoder/[cdp]*.c chapters/09_decoder/model.c chapters/0[1-8]_*/[!em]*.c ;;
    esac
}

# The header of a safetensors file, without its length.
header() { tail -c +9 "$1" | head -c "$(od -An -tu8 -N8 "$1" | tr -d ' ')"; }

# What the fuzzer starts from: files that are in order.
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
        # A .bin of width 4, with 8 hidden, 1 layer, 2 heads, 1 key/value head, 5 tokens, 3 positions.
        printf '\4\0\0\0\10\0\0\0\1\0\0\0\2\0\0\0\1\0\0\0\5\0\0\0\3\0\0\0\364\2\0\0' >"$2/bin"
        ;;
    esac
}

# What fail() loses adds up: a process is followed by the next after so many inputs.
fuzz() {
    mkdir "$corpus/$1" && seeds "$1" "$corpus/$1"
    grep -oh '"[a-zA-Z0-9_.]\+"' common/safetensors.c common/tensor.c chapters/09_decoder/config.c | sort -u >"$corpus/words"
    end=$(($(date +%s) + $2)) inputs=0
    while left=$((end - $(date +%s))) && [ "$left" -gt 0 ]; do
        ASAN_OPTIONS=detect_leaks=$([ "$1" = safetensors ] && echo 1 || echo 0) \
            "$build/fuzz_$1" -max_total_time="$left" -runs=20000 -max_len=65536 -rss_limit_mb=4096 -dict="$corpus/words" -print_final_stats=1 \
            -artifact_prefix="$build/fuzz-$1-" "$corpus/$1" 2>"$build/fuzz.log" || { tail -40 "$build/fuzz.log"; exit 1; }
        inputs=$((inputs + $(sed -n 's/.*number_of_executed_units: *//p' "$build/fuzz.log")))
    done
    echo "$1: $inputs inputs, $(grep -o 'cov: [0-9]*' "$build/fuzz.log" | tail -1), no finding"
}

if echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | clang -fsanitize=fuzzer -x c - -o /dev/null 2>/dev/null; then
    echo "fuzz: libFuzzer, $seconds seconds"
    for target in safetensors config model; do
        clang -DLIBFUZZER -fsanitize=fuzzer $flags tests/fuzz/fuzz_$target.c $(sources $target) -o "$build/fuzz_$target" $jansson -lm || exit 1
        fuzz $target $((seconds / 3))
    done
else
    echo "fuzz: no libFuzzer (apt install clang libclang-rt-14-dev), the plain driver, $seconds seconds"
    ${CC:-cc} $flags tests/fuzz/fuzz_safetensors.c $(sources safetensors) -o "$build/fuzz_safetensors" $jansson -lm &&
        "$build/fuzz_safetensors" --seconds "$seconds"
fi
