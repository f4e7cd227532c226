"""A function that torch.compile has compiled, which needs a C++ compiler. It claims only heads whose width is a multiple of 16.

    python notebooks/examples/compiled.py
"""
import torch
from llama_kernels import verify


def rope(x, cosine, sine):  # x [T][H][D], cosine and sine [T][D/2]
    first, second = x.chunk(2, dim=-1)
    cosine, sine = cosine[:, None], sine[:, None]
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1)


compiled = torch.compile(rope, dynamic=True)
verify.check("rope_half_split", compiled, only=lambda case: case.D % 16 == 0)
