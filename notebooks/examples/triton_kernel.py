"""Triton. Without a GPU its interpreter runs the kernel on the processor, slowly, which is enough to see whether it is right:

    TRITON_INTERPRET=1 python notebooks/examples/triton_kernel.py
"""
import os
import sys

try:
    import torch
    import triton
    import triton.language as tl
except ImportError as missing:
    sys.exit(f"skipped: {missing}")
from llama_kernels import verify


@triton.jit
def rms_norm_kernel(out, x, weight, dim, eps, BLOCK: tl.constexpr):
    """One program a row. BLOCK is a power of two that holds the row."""
    row = tl.program_id(0).to(tl.int64) * dim
    i = tl.arange(0, BLOCK)
    inside = i < dim
    value = tl.load(x + row + i, mask=inside, other=0.0).to(tl.float32)
    scale = 1 / tl.sqrt(tl.sum(value * value, axis=0) / dim + eps)
    tl.store(out + row + i, value * scale * tl.load(weight + i, mask=inside, other=0.0), mask=inside)


def rms_norm(x, weight, eps):
    out = torch.empty_like(x)
    rows, dim = x.shape
    rms_norm_kernel[(rows,)](out, x, weight, dim, eps, BLOCK=triton.next_power_of_2(dim))
    return out


interpreted = os.environ.get("TRITON_INTERPRET") == "1"
if not interpreted and not torch.cuda.is_available():
    sys.exit("skipped: no GPU (TRITON_INTERPRET=1 does without)")
verify.check("rms_norm", rms_norm, device="cpu" if interpreted else "cuda", torch=True)
