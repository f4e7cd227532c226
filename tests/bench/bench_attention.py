"""How fast is the attention of chapters 7 and 8 beside PyTorch's?

    python3 tests/bench/bench_attention.py [build]

runs build/07_kv_cache and build/08_flash_attention in turn with PyTorch, on one thread, and prints the last table of each
beside the same computation by torch.nn.functional: one layer's queries, keys, values and attention for the last eight
tokens of a text, with and without a KV cache; and the prefill of one layer of attention. Each number is the median of
five rounds. The time is processor time, because the machine may be shared.
"""
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
import torch
from torch.nn.functional import linear, scaled_dot_product_attention

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / (sys.argv[1] if len(sys.argv) > 1 else "build")
ROUNDS, NEW = 5, 8


def last_tokens(T, with_cache, C=192, H=6, KV=2, D=32):
    """Tokens per second for the last NEW of T tokens, one per call, as chapter 7 generates them."""
    w_q, w_k, w_v = (torch.randn(rows, C) * 0.07 for rows in (H * D, KV * D, KV * D))
    x, keys, values = torch.randn(T, C), torch.empty(KV, T, D), torch.empty(KV, T, D)

    def call(first, end):
        rows, n = x[first:end], end - first
        q = linear(rows, w_q).view(n, H, D).transpose(0, 1)
        keys[:, first:end] = linear(rows, w_k).view(n, KV, D).transpose(0, 1)
        values[:, first:end] = linear(rows, w_v).view(n, KV, D).transpose(0, 1)
        scaled_dot_product_attention(q[None], keys[None, :, :end], values[None, :, :end], is_causal=n > 1, enable_gqa=True)

    call(0, T - NEW)
    start = time.process_time()
    for end in range(T - NEW + 1, T + 1):
        call(end - 1 if with_cache else 0, end)
    return NEW / (time.process_time() - start)


def prefill(T, H=8, KV=2, D=64):
    q, k, v = torch.randn(1, H, T, D), torch.randn(1, KV, T, D), torch.randn(1, KV, T, D)
    start = time.process_time()
    scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    return T / (time.process_time() - start)


def ours(program):
    """The numbers of the last three lines that a chapter's program prints: for each text the tokens per second."""
    lines = subprocess.run([BUILD / program], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()[-3:]
    return [[float(number) for number in re.findall(r"\d+", line)[1:3]] for line in lines]


PROGRAMS = [
    ("07_kv_cache", (64, 128, 256), ("without a cache", "with a cache", "PyTorch without", "PyTorch with"),
     lambda T: [statistics.median(last_tokens(T, cache) for _ in range(9)) for cache in (False, True)]),
    ("08_flash_attention", (256, 512, 1024), ("chapter 6", "FlashAttention", "PyTorch"),
     lambda T: [statistics.median(prefill(T) for _ in range(5))])]


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    for program, lengths, columns, theirs in PROGRAMS:
        rounds = [[here + theirs(T) for here, T in zip(ours(program), lengths)] for _ in range(ROUNDS)]
        print(f"{program}, tokens per second on one thread; PyTorch {torch.__version__}")
        for text, T in enumerate(lengths):
            middle = [statistics.median(numbers[text][i] for numbers in rounds) for i in range(len(columns))]
            print(f"  {T} tokens   " + "   ".join(f"{name}: {number:.0f}" for name, number in zip(columns, middle)))


main()
