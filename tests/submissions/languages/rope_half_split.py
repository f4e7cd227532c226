"""RoPE from NumPy: no library to load, but inputs read from one file and outputs written to another.

    build/verify rope_half_split --export-inputs inputs.safetensors
    python3 tests/submissions/languages/rope_half_split.py inputs.safetensors outputs.safetensors
    build/verify rope_half_split --check-outputs outputs.safetensors

Formula and shapes: chapters/05_rope/rope.h. The inputs of case "llama" are llama/x, llama/cosine and llama/sine, named as
the kernel's parameters are; its output is to be called "llama". Needs numpy and safetensors.
"""

import sys

import numpy as np
from safetensors.numpy import load_file, save_file


def rope_half_split(x, cosine, sine):
    """x [T, H, D] and cosine, sine [T, D/2]: number i of a head makes a pair with number i + D/2."""
    first, second = np.split(x, 2, axis=-1)
    cosine, sine = cosine[:, None, :], sine[:, None, :]  # the same angle in every head
    return np.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1)


if __name__ == "__main__":
    inputs = load_file(sys.argv[1])
    cases = dict.fromkeys(name.split("/")[0] for name in inputs)
    with np.errstate(all="ignore"):  # a case tries infinities and NaNs: what becomes of them is the answer
        outputs = {case: rope_half_split(*(inputs[f"{case}/{name}"] for name in ("x", "cosine", "sine"))) for case in cases}
    save_file(outputs, sys.argv[2])
