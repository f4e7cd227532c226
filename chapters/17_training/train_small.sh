#!/bin/sh
# Trains a small Llama model on the stories of this course, from random weights; then quantizes it, and talks to it.
#
#     sh chapters/17_training/train_small.sh build        as make train-small does
#
# All that the lesson quotes is written to build/train-small/transcript.txt; the model is build/train-small/model.
set -e
build=${1:?which folder is it built in?} here=$(dirname "$0") to=$1/train-small
stories=$here/../../common/stories/model # the tokenizer
steps=1300
rm -rf "$to"
mkdir -p "$to"
"$build/stories" --count 30000 --seed 1 >"$to/stories.txt"
"$build/stories" --count 200 --seed 2 >"$to/unseen.txt"

( "$build/train" --config "$here/small.json" --tokenizer "$stories" --data "$to/stories.txt" --eval-data "$to/unseen.txt" \
    --eval-every 100 --sample-every 100 --prompt "Once upon a time" --steps $steps --batch-size 8 --document-mask \
    --lr 0.006 --min-lr 0.0003 --muon-lr 0.02 --weight-decay 0.02 --plot --out "$to/model" || touch "$to/failed" ) | tee "$to/train.txt"
[ ! -e "$to/failed" ]
"$build/quantize" "$to/model" "$to/model.gguf" --type q8_0 --quiet

# The story that the training program sampled at a step, in lines of 100 characters.
story() {
    sed -n "/^step $1 of /,\$p" "$to/train.txt" | sed -e 1d -e '/^step /,$d' -e '/^[^ QA]/d' | sed 's/^ *//' | fold -s -w 100
}

# What a model writes after a prompt, without the prompt.
answer() {
    "$build/llama" --model "$1" --prompt "$2" --temperature 0 --max-tokens 24 --stop "
" --quiet | tail -n 1
}

# How many of 100 stories, sampled at a temperature, are consistent.
check() {
    for seed in $(seq 100); do
        "$build/llama" --model "$1" --prompt "Once upon a time" --temperature "$2" --top-p 1 --seed "$seed" --quiet
        echo
    done >"$to/told.txt"
    "$build/stories" --check "$to/told.txt" | tail -n 1
}

text="Mia gave the red ball to Anna. Then Mia went to the garden.
Question: Who has the red ball?
Answer:"
{
    echo "== Loss"
    awk -F , 'NR > 1 && $7 { printf "  %-6d training %.3f   validation %.3f\n", $1, $3, $7 }' "$to/model/log.csv"
    for step in 0 100 400 $steps; do
        echo
        echo "== A story after step $step"
        story $step
    done
    echo
    echo "== Quantized"
    wc -c "$to/model/model.safetensors" "$to/model.gguf" | sed "s|$to/||"
    for model in "$to/model" "$to/model.gguf"; do
        echo "  $(basename "$model"): $(check "$model" 1)"
        echo "  $(basename "$model"), temperature 0.5: $(check "$model" 0.5)"
        echo "  $(basename "$model"): $(answer "$model" "$text")"
    done
} >"$to/transcript.txt"
cat "$to/transcript.txt"
echo "It tells stories: $build/llama --model $to/model --prompt \"Once upon a time\""
