#!/bin/sh
# Trains a model like the one of this folder with the course's own C: word lists first, which are to be copied, then lessons,
# which are to be looked up in, then stories. Killed and started again, it goes on where it was.
#
#     sh common/stories/train.sh build        as make train does; the model: build/training/model
set -e
build=${1:?which folder is it built in?} here=$(dirname "$0") to=$1/training
reader=$here/model # whose shape and whose tokenizer it has
common="--matmul-bf16 --weight-decay 0.02 --save-every 500 --resume"
mkdir -p "$to"

[ -e "$to/lists.safetensors" ] || "$build/curriculum" --tokenizer "$reader" --copy-task 64000 --seed 1 --out "$to/lists.safetensors"
[ -e "$to/others.safetensors" ] || "$build/curriculum" --tokenizer "$reader" --copy-task 25600 --seed 5 --out "$to/others.safetensors"
[ -e "$to/lessons.safetensors" ] || "$build/curriculum" --tokenizer "$reader" --lessons 1600 --seed 2 --out "$to/lessons.safetensors"
[ -e "$to/again.safetensors" ] || "$build/curriculum" --tokenizer "$reader" --lessons 1200 --loss-weight-else 0 --seed 3 --out "$to/again.safetensors"
[ -e "$to/gifts.safetensors" ] || "$build/curriculum" --tokenizer "$reader" --recall-task 8000 --loss-weight-else 0 --seed 4 --out "$to/gifts.safetensors"
[ -e "$to/stories.txt" ] || { "$build/stories" --count 240000 --seed 1 >"$to/new.txt" && mv "$to/new.txt" "$to/stories.txt"; }
"$build/stories" --count 1000 --seed 2 >"$to/unseen.txt"
"$build/stories" --count 200 --seed 2 >"$to/valid.txt"

# What is asked about at the end was not learned: no line of an unseen story is a line of the others.
grep -v '^Question:\|^Answer:\|^$' "$to/unseen.txt" >"$to/unseen.told"
! grep -qxFf "$to/unseen.told" "$to/stories.txt" || { echo "train: an unseen story is among those that are learned" >&2; exit 1; }

# A row is a sequence: 64 lists a step, then 32 rows of lessons, at a rate that stays. With other lists the memories begin anew.
lists="--batch-size 64 --seq-len 65 --lr 0.002 --min-lr 0.002 --muon-lr 0.01 --seed 2026 --no-shuffle --document-mask"
"$build/train" --config "$reader/config.json" --data "$to/lists.safetensors" $lists --warmup 50 $common --out "$to/begins"
"$build/train" --model "$to/begins" --data "$to/others.safetensors" $lists --warmup 10 $common --out "$to/copies"
"$build/train" --model "$to/copies" --data "$to/lessons.safetensors" --batch-size 32 --seq-len 128 \
    --lr 0.002 --min-lr 0.002 --muon-lr 0.005 --no-shuffle --document-mask --warmup 50 $common --out "$to/looks_up"

# Stories, and among them lessons, for many a story is told of one thing alone, and who reads only what colour *it* has may forget
# how to look for it. And gifts outside of stories: in nearly all others a ball is of whoever is named before it. Of lessons only
# what is asked for counts: the model shall tell stories, and no lessons.
"$build/train" --model "$to/looks_up" --data "$to/stories.txt:0.92" --data "$to/again.safetensors:0.05" \
    --data "$to/gifts.safetensors:0.03" --steps 6300 --batch-size 8 --eval-data "$to/valid.txt" --document-mask \
    --lr 0.002 --min-lr 0.0005 --muon-lr 0.005 --save-bf16 --warmup 50 $common --out "$to/apart"

# At the end every token sees the stories before its own, too, so that all distances up to 512 are met.
"$build/train" --model "$to/apart" --data "$to/stories.txt:0.92" --data "$to/again.safetensors:0.05" \
    --data "$to/gifts.safetensors:0.03" --steps 1100 --batch-size 8 --eval-data "$to/valid.txt" --seed 2 \
    --lr 0.0005 --min-lr 0.00001 --muon-lr 0.00125 --save-bf16 --warmup 50 $common --out "$to/model"

# All of it in one table: every fiftieth step.
logs="begins/log.csv copies/log.csv looks_up/log.csv apart/log.csv model/log.csv"
(
    cd "$to"
    echo "# step, loss (nats a token), learning rate of the matrices, seconds"
    awk -F, 'FNR == 1 { before += last; since += clock; last = clock = 0; muon = ++runs <= 2 ? 5 : 2.5; next }
             { last = $1; clock = $6 }
             (before + $1) % 50 == 0 { printf "%d %.4f %.6f %.0f\n", before + $1, $3, muon * $5, since + $6 }' $logs
) >"$to/train.log"

minutes=$(cd "$to" && tail -qn 1 $logs | awk -F, '{ all += $6 } END { printf "%.0f", all / 60 }')
measured=$("$build/model_card" "$build/stories" "$to/model" <"$to/unseen.txt")
last() { tail -n 1 "$to/$1/log.csv" | cut -d, -f 1; } # its steps
cat >"$to/card.md" <<END
# Stories: a Llama of 1771200 weights

It reads short stories about who is where and who has what, in English, and answers questions about them. It exists so that every
chapter from here on has a trained model to run, with no download. It knows $(grep -oE '[A-Za-z]+' "$to/unseen.txt" | sort -u | wc -l) words and nothing of the world.

| | |
|---|---|
| architecture | \`LlamaForCausalLM\`: 4 layers of width 192, 6 query heads and 2 key/value heads of 32, SwiGLU of 512, tied, context 512 |
| weights | BF16, $(wc -c <"$to/model/model.safetensors") bytes |
| vocabulary | 1024 pieces, SentencePiece BPE with byte fallback, Llama 2's options |
| text | 240000 stories, written by [stories.c](../stories.c) with seed 1, of which some are read; no story of the numbers below is among them |
| training | $(last begins) and $(last copies) steps of word lists, $(last looks_up) of lessons, $(last apart) and $(last model) of stories, with lessons ([curriculum.c](../../../chapters/17_training/curriculum.c)) among them, some 4096 tokens each; $minutes minutes on ${OMP_NUM_THREADS:-$(nproc)} threads, by [build/train](../../../chapters/17_training/README.md): [train.sh](../train.sh), [train.log](../train.log) |

| measured on the weights as they are in the file | |
|---|---|
$measured

Whether a story is consistent and an answer right is judged by the generator, which reads the text with the same wordings and rules
that it writes with: \`build/stories --check FILE\`.

![The loss while it was trained](../../../figures/09_training.svg)

What it nearly always knows, and what it often gets wrong, the table says kind by kind; and it does not know when it is wrong. It is
not made for anything but this course. MIT licence, as all of it.
END
mv "$to/card.md" "$to/model/README.md"
cat "$to/model/README.md"
