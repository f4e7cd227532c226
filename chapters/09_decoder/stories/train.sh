#!/bin/sh
# Trains a model like the one of this folder with the course's own C: word lists first, which are to be copied, then lessons,
# which are to be looked up in, then stories. Killed and started again, it goes on where it was.
#
#     sh chapters/09_decoder/stories/train.sh build        as make train does; the model: build/training/model
set -e
build=$1 here=$(dirname "$0") to=$1/training
reader=$here/model # whose shape and whose tokenizer it has
common="--decay 0.02 --warmup 50 --save 500 --in-order --resume"
mkdir -p "$to"

[ -e "$to/lists.safetensors" ] || "$build/lessons" --tokenizer "$reader" --lists 115200 --seed 1 --out "$to/lists.safetensors"
[ -e "$to/lessons.safetensors" ] || "$build/lessons" --tokenizer "$reader" --lessons 4800 --seed 2 --out "$to/lessons.safetensors"
[ -e "$to/stories.txt" ] || { "$build/stories" --count 240000 --sorted 60000 --seed 1 >"$to/new.txt" && mv "$to/new.txt" "$to/stories.txt"; }
"$build/stories" --count 200 --seed 2 >"$to/unseen.txt"

# A row is a sequence: 64 lists a step, then 32 lessons. Both at a rate that stays.
"$build/train" --config "$reader/config.json" --data "$to/lists.safetensors" --batch 64 --length 65 \
    --rate 0.002 --lowest 0.002 --muon 0.01 --seed 2026 $common --out "$to/copies"
"$build/train" --model "$to/copies" --data "$to/lessons.safetensors" --batch 32 --length 128 \
    --rate 0.002 --lowest 0.002 --muon 0.005 $common --out "$to/looks_up"

# An answer counts five times: a story goes on as it likes, but an answer follows from what was read.
"$build/train" --model "$to/looks_up" --data "$to/stories.txt" --steps 8000 --batch 8 --learn-after Answer: --otherwise 0.2 \
    --valid "$to/unseen.txt" --rate 0.002 --lowest 0.00002 --muon 0.005 --bf16 $common --out "$to/model"

# All of it in one table: every fiftieth step.
{
    echo "# step, loss (nats a token), learning rate of the matrices, seconds"
    awk -F, 'FNR == 1 { before += last; since += clock; last = clock = 0; muon = NR == 1 ? 5 : 2.5; next }
             { last = $1; clock = $6 }
             (before + $1) % 50 == 0 { printf "%d %.4f %.6f %.0f\n", before + $1, $3, muon * $5, since + $6 }' \
        "$to/copies/log.csv" "$to/looks_up/log.csv" "$to/model/log.csv"
} >"$to/train.log"
