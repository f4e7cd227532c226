#!/bin/sh
# Feeds broken files to what reads files, and any text to what reads text, for a while: with libFuzzer where clang has it,
# otherwise the safetensors reader alone, with the plain driver at the end of fuzz_safetensors.c.
#     sh tests/fuzz/run.sh BUILD SECONDS "flags of jansson" "flags of PCRE2, or nothing"
# What was found lies in BUILD/fuzz-TARGET-*; BUILD/fuzz_TARGET FILE repeats it.
build=$1 seconds=$2 jansson=$3 pcre2=$4
flags="-std=c2x -g -O1 -D_GNU_SOURCE -fsanitize=address,undefined -fno-sanitize-recover=all -Wno-unknown-pragmas -I. -Ichapters"
corpus=$(mktemp -d) && trap 'rm -rf "$corpus"' EXIT
mkdir -p "$build"

sources() {
    case $1 in
    text) echo -DTEXT tests/fuzz/fuzz_tokenizer.c ;;
    *) echo "tests/fuzz/fuzz_$1.c" ;;
    esac
    [ "$1" = safetensors ] || echo -Dexit=caught_exit
    echo common/error.c common/file.c
    case $1 in
    safetensors | config | model) echo common/safetensors.c common/byte_order.c common/tensor.c common/output.c ;;
    tokenizer | text) echo chapters/10_tokenizer/[!em]*.c ;;
    esac
    case $1 in
    config) echo chapters/09_decoder/config.c chapters/04_rope/rope.c ;;
    model) echo common/linear.c chapters/09_decoder/config.c chapters/09_decoder/decoder.c chapters/09_decoder/model.c \
        chapters/09_decoder/projection.c chapters/0[1-8]_*/[!em]*.c ;;
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
    tokenizer)
        for file in tests/golden/tokenizers/*/*; do cp "$file" "$2/$(basename "$(dirname "$file")")"; done
        printf '\7\0\0\0\0\0\0\0\5\0\0\0<unk>\0\0\0\0\5\0\0\0\n<s>\n\0\0\0\0\6\0\0\0\n</s>\n' >"$2/bin"
        ;;
    text) printf 'The llama\047s 12 3\n  <s>羊驼\377<|eot_id|> [INST] <user>\342\226\201the\342\226\201 it is' >"$2/text" ;;
    esac
}

# What fail() loses adds up: a process is followed by the next after so many inputs, and leaks are none of its findings.
fuzz() {
    mkdir "$corpus/$1" && seeds "$1" "$corpus/$1"
    grep -oh '"[a-zA-Z0-9_.]\+"' common/safetensors.c common/tensor.c chapters/09_decoder/config.c | sort -u >"$corpus/words"
    case $1 in safetensors | text) leaks=1 ;; *) leaks=0 ;; esac
    case $1 in text) longest=2048 ;; *) longest=65536 ;; esac
    end=$(($(date +%s) + $2)) inputs=0
    while left=$((end - $(date +%s))) && [ "$left" -gt 0 ]; do
        ASAN_OPTIONS=detect_leaks=$leaks "$build/fuzz_$1" -max_total_time="$left" -runs=20000 -max_len=$longest -rss_limit_mb=4096 \
            -dict="$corpus/words" -print_final_stats=1 -artifact_prefix="$build/fuzz-$1-" "$corpus/$1" 2>"$build/fuzz.log" ||
            { tail -40 "$build/fuzz.log"; exit 1; }
        inputs=$((inputs + $(sed -n 's/.*number_of_executed_units: *//p' "$build/fuzz.log")))
    done
    echo "$1: $inputs inputs, $(grep -o 'cov: [0-9]*' "$build/fuzz.log" | tail -1), no finding"
}

if echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | clang -fsanitize=fuzzer -x c - -o /dev/null 2>/dev/null; then
    targets="safetensors config model ${pcre2:+tokenizer text}"
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
