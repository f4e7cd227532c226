"""Unseen stories as tokens, for chapter 9, which has no tokenizer yet: by sentencepiece, from what build/stories writes.

    python tests/golden/unseen.py            writes common/stories/unseen.safetensors anew
    python tests/golden/unseen.py --check    makes it anew and compares

    texts    [2, 1536]    several stories in a row, each between BOS and EOS
    walk     [T]          one story with a question, to walk through

As metadata, the text of each token of the walk (`pieces`).
"""
import itertools
import os
import subprocess
import sys
from pathlib import Path

from golden import load
import safetensors.torch
import sentencepiece
import torch

ROOT = Path(__file__).resolve().parents[2]
STORIES = ROOT / "common" / "stories"
FILE = STORIES / "unseen.safetensors"
COUNT, SEED, EXAMINED = 1000, 2, 200  # stories, of which the first are asked about elsewhere
TEXTS, LONG = 2, 3 * 512

WALK = """This is the story of Anna, a brave fox. She was in the forest. Anna had a red ball. There was also Tom, a shy owl. \
Tom was in the forest that day. Anna gave the red ball to Tom. "Thank you, Anna!" said Tom. Then Anna went to the market. \
It had been a wonderful day.
Question: Who has the red ball?
Answer: Tom"""


def compute():
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(STORIES / "model" / "tokenizer.model"))
    program = ROOT / os.environ.get("BUILD", "build") / "stories"
    told = subprocess.run([program, "--count", str(COUNT), "--seed", str(SEED)], check=True, capture_output=True, text=True)
    texts = told.stdout.rstrip("\n").split("\n\n")[EXAMINED:]
    row = torch.tensor(list(itertools.chain.from_iterable(tokenizer.encode(texts, add_bos=True, add_eos=True))))
    walk = tokenizer.encode(WALK, add_bos=True)
    tensors = {"texts": row[:TEXTS * LONG].reshape(TEXTS, LONG).int(), "walk": torch.tensor(walk, dtype=torch.int32)}
    return tensors, {"pieces": " ".join(tokenizer.id_to_piece(walk))}


def main():
    tensors, metadata = compute()
    if "--check" not in sys.argv[1:]:
        safetensors.torch.save_file(tensors, FILE, metadata)
        FILE.chmod(0o644)  # safetensors keeps its files to itself
        print(f"{FILE.name}: {FILE.stat().st_size / 1000:.1f} kB")
        return 0
    theirs, said = load(FILE)
    same = said == metadata and theirs.keys() == tensors.keys() and all(torch.equal(theirs[name], tensors[name]) for name in tensors)
    print(f"{'ok  ' if same else 'FAIL'} {FILE.name}")
    print(f"{int(same)} passed, {int(not same)} failed")
    return not same


if __name__ == "__main__":
    sys.exit(main())
