#!/usr/bin/env python3
"""articles.txt: what PyTorch answers to some claims of popular articles. chapters/MISCONCEPTIONS.md quotes it.

    python tests/golden/articles.py            writes the file anew
    python tests/golden/articles.py --check    computes it anew and compares it with the committed one
"""

import math
import sys
from pathlib import Path

import torch
from torch import nn

FILE = Path(__file__).with_suffix(".txt")


def table(title, *rows):
    """A section as the programs of the chapters print one: the first column to the left, the others to the right."""
    width = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    yield f"\n== {title}"
    for row in rows:
        cells = [cell.ljust(width[i]) if i == 0 else cell.rjust(width[i]) for i, cell in enumerate(row)]
        yield "  " + "   ".join(cells).rstrip()


def epsilons():
    """Wrong divisors of RMSNorm, compared with PyTorch's as one article compares its own."""
    torch.manual_seed(1)
    eps = 1e-6
    divisors = {
        "sqrt(ms + eps)": lambda ms: torch.sqrt(ms + eps),
        "sqrt(ms - eps)": lambda ms: torch.sqrt(ms - eps),
        "sqrt(ms) + eps": lambda ms: torch.sqrt(ms) + eps,
        "sqrt(ms)": torch.sqrt,
    }
    rows = torch.randn(2, 4, 8)

    def verdict(divisor, x, right):
        return "passes" if torch.allclose(x / divisor(x.pow(2).mean(-1, keepdim=True)), right(x), atol=1e-6) else "fails"

    yield ("divisor", "beside RMSNorm(8)", "rows a thousandth as large, beside RMSNorm(8, eps=1e-6)")
    for name, divisor in divisors.items():
        yield (name, verdict(divisor, rows, nn.RMSNorm(8)), verdict(divisor, rows / 1000, nn.RMSNorm(8, eps=eps)))


def roots():
    """LayerNorm where what is called the variance already has its root."""
    x = torch.tensor([1.0, 2.0, 3.0, 4.0])
    centred, variance = x - x.mean(), x.var(unbiased=False)
    yield ("(1, 2, 3, 4) less its mean, divided by", *(f"out {i}" for i in range(4)))
    for name, divisor in {
        "the deviation": variance.sqrt(),
        "the variance": variance,
        "the root of the deviation": variance.sqrt().sqrt(),
    }.items():
        yield (name, *(f"{number:.4f}" for number in centred / divisor))


def answer(attempt):
    """The shape that comes out, if PyTorch does it at all."""
    try:
        return str(list(attempt().shape) or "a number")
    except RuntimeError:
        return "refused"


def turned(x, table, first):
    """x as complex pairs times the table of angles, and flattened from dimension `first` on."""
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * table).flatten(first)


def shapes():
    """Steps of the articles' RoPE and attention, on the shapes of a model with heads. The answers are PyTorch's."""
    torch.manual_seed(2)
    B, T, H, D, C = 2, 6, 4, 8, 32
    angles = torch.outer(torch.arange(T), 10000.0 ** (-torch.arange(0, D, 2) / D))
    table = torch.polar(torch.ones_like(angles), angles)
    x, square = torch.randn(B, T, H, D), torch.randn(B, T, T, D)
    yield ("step", "answer")
    yield (f"[{B}, {T}, {H}, {D}] times a table [{T}, {D // 2}]", answer(lambda: turned(x, table, 2)))
    yield (f"[{B}, {T}, {T}, {D}] times a table [{T}, {D // 2}]", answer(lambda: turned(square, table, 2)))
    head_for_position = torch.cat([turned(square[:, :, h : h + 1], table[h], 3) for h in range(T)], dim=2)
    yield ("  its head h is turned as position h should be", "yes" if torch.allclose(turned(square, table, 3), head_for_position) else "no")
    yield ("a table [1, T, 1, D/2], flatten(2)", answer(lambda: turned(x, table[None, :, None], 2)))
    yield ("a table [1, T, 1, D/2], flatten(3)", answer(lambda: turned(x, table[None, :, None], 3)))
    yield ("the same in bf16, without float()", answer(lambda: turned(x.bfloat16(), table[None, :, None], 3)))
    yield (f"keys of {C // 4} viewed as {C}", answer(lambda: nn.Linear(C, C // 4)(torch.randn(B, T, C)).view(B, T, C)))
    W_q, W_k, token = torch.randn(D, C), torch.randn(D, C), torch.randn(C)
    yield ("x W_q W_k x, for weights [D, C]", answer(lambda: token @ W_q @ W_k @ token))
    yield ("x W_q^T W_k x", answer(lambda: token @ W_q.T @ W_k @ token))


def masks():
    """Query 1 of chapter 4's first example: scores 2 and 0 over sqrt(2), and a future key whose score would be 2."""
    scores = torch.tensor([2.0, 0.0, 2.0], dtype=torch.float64) / math.sqrt(2)
    yield ("score of the future key", "key 0", "key 1", "key 2: the future")
    for fill in (0, -1e-9, 1e-9, -1, -10, -100, -1e9, -math.inf):
        scores[2] = fill
        yield (f"{fill:g}", *(f"{weight:.4f}" for weight in torch.softmax(scores, 0)))


def turns():
    """Where a pair that turns one radian a position comes nearest to where it began."""
    yield ("of the distances up to", "the nearest to full turns", "is off by, radians")
    for longest in (100, 4096, 131072):
        n = torch.arange(1, longest, dtype=torch.float64)
        off = (n - 2 * math.pi * torch.round(n / (2 * math.pi))).abs()
        nearest = int(off.argmin())
        yield (str(longest), str(int(n[nearest])), f"{off[nearest]:.5f}")


def heads():
    """repeat_kv beside repeat_interleave and repeat: two key/value heads for six query heads."""
    kv = torch.arange(2).view(1, 1, 2, 1)
    yield ("2 key/value heads for 6 query heads", "who reads whom")
    yield ("expand and reshape, as in repeat_kv", str(kv[:, :, :, None].expand(1, 1, 2, 3, 1).reshape(1, 1, 6, 1).flatten().tolist()))
    yield ("repeat_interleave(3, dim=2)", str(kv.repeat_interleave(3, dim=2).flatten().tolist()))
    yield ("repeat(1, 1, 3, 1)", str(kv.repeat(1, 1, 3, 1).flatten().tolist()))


def text():
    sections = {
        "A test that a wrong sign passes": epsilons(),
        "Deviation and variance": roots(),
        "Steps of RoPE and attention, in PyTorch": shapes(),
        "Masks": masks(),
        "Full turns": turns(),
        "Repeat and interleave": heads(),
    }
    return "\n".join(line for title, rows in sections.items() for line in table(title, *rows)).lstrip("\n") + "\n"


if __name__ == "__main__":
    if "--check" not in sys.argv[1:]:
        FILE.write_text(text())
    elif FILE.read_text() != text():
        sys.exit(f"error: PyTorch {torch.__version__} answers otherwise than {FILE} says: run articles.py")
