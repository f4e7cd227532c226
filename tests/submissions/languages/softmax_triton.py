"""Softmax from Triton: the kernel runs on a GPU, inputs and outputs go through files.

    build/verify softmax --export-inputs inputs.safetensors
    python3 tests/submissions/languages/softmax_triton.py inputs.safetensors outputs.safetensors
    build/verify softmax --check-outputs outputs.safetensors

Formula and shapes: chapters/04_attention/attention.h. Needs torch, safetensors, triton and a GPU; with TRITON_INTERPRET=1
Triton's interpreter runs the kernel on the processor, slowly, which is enough to see whether it is right. A CUDA kernel is
judged the same way: load it by torch.utils.cpp_extension and call it where softmax_kernel is called.
"""

import os
import sys

try:
    import torch
    import triton
    import triton.language as tl
    from safetensors.torch import load_file, save_file
except ImportError as missing:
    sys.exit(f"skipped: {missing}")


@triton.jit
def softmax_kernel(out, x, n, BLOCK: tl.constexpr):
    """One program a row. BLOCK is a power of two that holds the row; the lanes past n hold -inf, whose e^x is 0."""
    row = tl.program_id(0).to(tl.int64) * n
    i = tl.arange(0, BLOCK)
    inside = i < n
    value = tl.load(x + row + i, mask=inside, other=float("-inf"))
    exponential = tl.exp(value - tl.max(value, axis=0))  # less the maximum: e^x cannot overflow
    tl.store(out + row + i, exponential / tl.sum(exponential, axis=0), mask=inside)


def softmax(x):
    rows, n = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(rows,)](out, x, n, BLOCK=triton.next_power_of_2(n))
    return out


if __name__ == "__main__":
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    if not interpreted and not torch.cuda.is_available():
        sys.exit("skipped: no GPU (TRITON_INTERPRET=1 does without)")
    device = "cpu" if interpreted else "cuda"
    inputs = load_file(sys.argv[1])
    save_file({name.removesuffix("/x"): softmax(x.to(device)).cpu() for name, x in inputs.items()}, sys.argv[2])
