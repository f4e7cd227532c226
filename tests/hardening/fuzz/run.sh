#!/bin/sh
# Feeds broken files to what reads files, and any text to what reads text, for a while: with libFuzzer where clang has it,
# otherwise the safetensors reader alone, with the plain driver at the end of fuzz_safetensors.c.
#     sh tests/hardening/fuzz/run.sh BUILD SECONDS "flags of jansson" "flags of PCRE2 and utf8proc, or nothing" [keep]
# It starts from tests/hardening/fuzz/corpus, which `make test` replays, and from the golden files. With `keep`, what reaches code
# that nothing in there reaches is added to it.
build=$1 seconds=$2 jansson=$3 pcre2=$4 keep=$5
flags="-std=c2x -g -O1 -D_GNU_SOURCE -fsanitize=address,undefined -fno-sanitize-recover=all -Wno-unknown-pragmas -I. -Ichapters -DROOT=\".\""
scratch=$(mktemp -d) && trap 'rm -rf "$scratch"' EXIT
mkdir -p "$build"

# The kernels of these chapters.
kernels() { find "$@" -maxdepth 1 -name '*.c' ! -name main.c ! -name figures.c ! -name exercise.c; }

# A target that catches fail() has common/error.c in it.
sources() {
    echo "tests/hardening/fuzz/fuzz_$1.c" common/file.c common/json.c common/output.c
    case $1 in
    safetensors) echo common/error.c common/safetensors.c common/byte_order.c common/tensor.c ;;
    gguf) echo common/gguf.c common/byte_order.c ;;
    config | model) echo common/safetensors.c common/byte_order.c common/tensor.c ;;
    tokenizer) echo common/gguf.c common/gguf_write.c common/byte_order.c && kernels chapters/10_tokenizer chapters/14_engine/tokenizers ;;
    template) find chapters/11_generation -name 'jinja*.c' ;;
    text) echo common/error.c common/gguf.c common/gguf_write.c common/byte_order.c && kernels chapters/10_tokenizer chapters/14_engine/tokenizers ;;
    esac
    case $1 in
    config) echo chapters/09_decoder/config.c chapters/09_decoder/print_tree.c chapters/05_rope/rope.c chapters/05_rope/scaling.c ;;
    model)
        echo common/linear.c chapters/09_decoder/config.c chapters/09_decoder/decoder.c chapters/09_decoder/llama2c.c chapters/09_decoder/model.c chapters/09_decoder/projection.c chapters/09_decoder/weights.c
        echo common/gguf.c chapters/13_quantization/gguf_model.c chapters/13_quantization/quantization.c
        echo chapters/13_quantization/k_quants.c chapters/13_quantization/formats.c
        kernels chapters/0[1-8]_*
        ;;
    esac
}

# The header of a safetensors file, without its length.
header() { tail -c +9 "$1" | head -c "$(od -An -tu8 -N8 "$1" | tr -d ' ')"; }

# What the fuzzer starts from besides: files that are in order.
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
    tokenizer) for file in tests/golden/tokenizers/*/*; do cp "$file" "$2/$(basename "$(dirname "$file")")"; done && cp tests/golden/foreign_tokenizers/[!e]*.json "$2" ;;
    esac
}

# An input that breaks a promise.
found() {
    tail -40 "$build/fuzz.log"
    for input in "$build/fuzz-$1"-*; do
        echo "fuzz: it lies in $input; once more: $build/fuzz_$1 $input"
        echo "fuzz: to keep it, mended or not: cp $input tests/hardening/fuzz/corpus/$1/; make test replays it"
    done
    exit 1
}

# Small inputs that reach code which no other one does that is kept or is a seed.
keep_new() {
    mkdir "$scratch/merged" && find "$scratch/seeds" "tests/hardening/fuzz/corpus/$1" -type f -exec cp {} "$scratch/merged" \;
    find "$scratch/corpus" -type f -size +2k -delete
    "$build/fuzz_$1" -set_cover_merge=1 -use_counters=0 -max_len=65536 "$scratch/merged" "$scratch/corpus" 2>/dev/null
    for input in "$scratch/merged"/*; do
        name=${input##*/}
        [ -e "$scratch/seeds/$name" ] || [ -e "tests/hardening/fuzz/corpus/$1/$name" ] ||
            { cp "$input" "tests/hardening/fuzz/corpus/$1/$name" && echo "  kept: tests/hardening/fuzz/corpus/$1/$name"; }
    done
    rm -rf "$scratch/merged"
}

# What fail() loses adds up: a process is followed by the next after so many inputs, and leaks are none of its findings.
fuzz() {
    rm -f "$build/fuzz-$1"-* && rm -rf "$scratch/corpus" "$scratch/seeds" && mkdir "$scratch/corpus" "$scratch/seeds" && seeds "$1" "$scratch/seeds"
    grep -oh '"[a-zA-Z0-9_.]\+"' common/safetensors.c common/gguf.c common/tensor.c chapters/09_decoder/config.c chapters/14_engine/tokenizers/pipeline_config.c chapters/11_generation/jinja*.c | sort -u >"$scratch/words"
    case $1 in safetensors | template | text) leaks=1 ;; *) leaks=0 ;; esac
    case $1 in text) longest=2048 ;; template) longest=4096 ;; *) longest=65536 ;; esac
    case $1 in tokenizer) runs=4000 ;; *) runs=20000 ;; esac
    end=$(($(date +%s) + $2)) inputs=0
    while left=$((end - $(date +%s))) && [ "$left" -gt 0 ]; do
        ASAN_OPTIONS=detect_leaks=$leaks "$build/fuzz_$1" -max_total_time="$left" -runs=$runs -max_len=$longest -rss_limit_mb=4096 -timeout=60 \
            -dict="$scratch/words" -print_final_stats=1 -artifact_prefix="$build/fuzz-$1-" "$scratch/corpus" "tests/hardening/fuzz/corpus/$1" "$scratch/seeds" \
            2>"$build/fuzz.log" || found "$1"
        inputs=$((inputs + $(sed -n 's/.*number_of_executed_units: *//p' "$build/fuzz.log")))
    done
    echo "$1: $inputs inputs, $(grep -o 'cov: [0-9]*' "$build/fuzz.log" | tail -1), no finding"
    [ -z "$keep" ] || ASAN_OPTIONS=detect_leaks=0 keep_new "$1"
}

if echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | clang -fsanitize=fuzzer -x c - -o /dev/null 2>/dev/null; then
    targets="safetensors gguf config model template ${pcre2:+tokenizer text}"
    echo "fuzz: libFuzzer, $seconds seconds for each of $targets"
    for target in $targets; do
        clang -fsanitize=fuzzer $flags $(sources $target) -o "$build/fuzz_$target" $jansson $pcre2 -lm || exit 1
        fuzz $target "$seconds"
    done
else
    echo "fuzz: no libFuzzer (apt install clang libclang-rt-14-dev), the plain driver, $seconds seconds"
    ${CC:-cc} -DMUTATE $flags $(sources safetensors) -o "$build/fuzz_safetensors" $jansson -lm &&
        "$build/fuzz_safetensors" "$seconds"
fi
