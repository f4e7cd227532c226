#!/bin/sh
# Feeds the safetensors reader broken files for a while: with libFuzzer where clang has it, otherwise with the plain
# driver at the end of fuzz_safetensors.c.   sh tests/fuzz/run.sh BUILD SECONDS "flags of jansson"
build=$1 seconds=$2 jansson=$3
flags="-std=c2x -g -O1 -D_GNU_SOURCE -fsanitize=address,undefined -fno-sanitize-recover=all -I. -Ichapters"
sources="tests/fuzz/fuzz_safetensors.c common/safetensors.c common/tensor.c common/output.c common/error.c"
corpus=$(mktemp -d) && trap 'rm -rf "$corpus"' EXIT
mkdir -p "$build"
if clang -DLIBFUZZER -fsanitize=fuzzer $flags $sources -o "$build/fuzz" $jansson -lm 2>/dev/null; then
    echo "fuzz: libFuzzer, $seconds seconds"
    cp tests/golden/relu.safetensors "$corpus"
    "$build/fuzz" -max_total_time="$seconds" -max_len=65536 -rss_limit_mb=4096 -print_final_stats=1 \
        -artifact_prefix="$build/fuzz-" "$corpus" 2>"$build/fuzz.log" || { tail -40 "$build/fuzz.log"; exit 1; }
    grep -E 'number_of_executed_units|cov:' "$build/fuzz.log" | tail -2
else
    echo "fuzz: no libFuzzer (apt install clang libclang-rt-14-dev), the plain driver, $seconds seconds"
    ${CC:-cc} $flags $sources -o "$build/fuzz" $jansson -lm && "$build/fuzz" --seconds "$seconds"
fi
