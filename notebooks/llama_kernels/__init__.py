"""Judges your own Llama kernels: PyTorch, Triton, NumPy, or anything that Python can call.

    from llama_kernels import verify
    verify.check("rope_half_split", my_rope)

check() runs the function on every golden case and on random shapes, prints the report, and raises AssertionError with the
first lines of it unless every case passes. `python -m llama_kernels --help` does the same from a command line.
"""
from . import verify  # noqa: F401
from .verify import check, check_backward, check_module, kernels  # noqa: F401
