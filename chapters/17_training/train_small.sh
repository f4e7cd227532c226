#!/bin/sh
# Trains a small Llama model on the stories of this course, from random weights; then quantizes it, and talks to it.
#
#     sh chapters/17_training/train_small.sh build        as make train-small does
#
# What the lesson quotes is written to build/train-small/transcript.txt; the model is build/train-small/model.
set -e
build=${1:?which folder is it built in?} here=$(dirname "$0") to=$1/train-small
tokenizer=$here/../../common/stories/model
steps=1300
rm -rf "$to"
mkdir -p "$to"
"$build/stories" --count 30000 --seed 1 >"$to/stories.txt"
"$build/stories" --count 200 --seed 2 >"$to/unseen.txt"

( "$build/train" --config "$here/small.json" --tokenizer "$tokenizer" --data "$to/stories.txt" --eval-data "$to/unseen.txt" \
    --eval-every 100 --sample-every 100 --prompt "Once upon a time" --steps $steps --batch-size 8 --document-mask \
    --lr 0.006 --min-lr 0.0003 --muon-lr 0.02 --weight-decay 0.02 --plot --out "$to/model" || touch "$to/failed" ) | tee "$to/train.txt"
[ ! -e "$to/failed" ]
"$build/quantize" "$to/model" "$to/model-q8_0.gguf" --type q8_0 --quiet
"$build/quantize" "$to/model" "$to/model-q4_0.gguf" --type q4_0 --quiet

# The story that the training program sampled at a step, in lines of 100 characters.
story() {
    sed -n "/^step $1 of /,\$p" "$to/train.txt" | sed -e 1d -e '/^step /,$d' | sed -n 's/^    Once/Once/; /^Once/p; /^Question/p; /^Answer/p' |
        fold -s -w 98 | sed 's/^/  /; s/ *$//'
}

# How many of 100 stories, sampled at temperature 1, are consistent.
tell() {
    for seed in $(seq 100); do
        "$build/llama" --model "$to/$1" --prompt "Once upon a time" --temperature 1 --top-p 1 --seed "$seed" --quiet
        echo
    done >"$to/told.txt"
    "$build/stories" --check "$to/told.txt" | tail -n 1 | sed 's/ are consistent.*//'
}

# The first question of an unseen story, and the model's answer after it.
ask() {
    "$build/llama" --model "$to/$1" --temperature 0 --max-tokens 24 --stop "
" --quiet --prompt "$(awk -v n="$2" 'BEGIN { RS = ""; FS = "\n" } NR == n { print $1; print $2; printf "Answer:" }' "$to/unseen.txt")"
}

# How many questions about 100 unseen stories are answered correctly.
answer() {
    for n in $(seq 100); do
        ask "$1" "$n"
        echo
    done >"$to/answered.txt"
    "$build/stories" --check "$to/answered.txt" | tail -n 1 | sed 's/.*consistent, //; s/ questions.*//'
}

{
    echo "== Loss"
    echo "  step   training   validation"
    awk -F , 'NR > 1 && $7 { printf "  %-4d %10.3f %12.3f\n", $1, $3, $7 }' "$to/model/log.csv"
    for step in 0 100 400 $steps; do
        echo
        echo "== A story after step $step"
        story $step
    done
    echo
    echo "== Stories and answers"
    echo "  model             bytes   consistent stories   correct answers"
    for file in model model-q8_0.gguf model-q4_0.gguf; do
        weights=$to/$file
        [ ! -d "$weights" ] || weights=$weights/model.safetensors
        printf '  %-15s %7d %20s %17s\n' "$file" "$(wc -c <"$weights")" "$(tell "$file" | sed 's/ stories//')" "$(answer "$file")"
    done
    echo
    echo "== Questions about unseen stories"
    for n in 1 3 6; do
        ask model-q8_0.gguf $n | fold -s -w 98 | sed 's/^/  /; s/ *$//'
        echo
    done
} >"$to/transcript.txt"
cat "$to/transcript.txt"
echo "It tells stories: $build/llama --model $to/model --prompt \"Once upon a time\""
