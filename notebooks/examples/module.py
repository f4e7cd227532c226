"""A torch.nn.Module, judged as it is: the judge puts each case's weight and epsilon into it.

    python notebooks/examples/module.py
"""
import torch
from llama_kernels import verify


class RMSNorm(torch.nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)
        return (x.float() * scale * self.weight.float()).to(x.dtype)


norm = RMSNorm(4)
verify.check_module("rms_norm", norm, weight="weight", eps="eps")
verify.check_module("rms_norm", norm, weight="weight", eps="eps", dtype="bfloat16")


class FeedForward(torch.nn.Module):
    """A part of a module is judged through a lambda."""

    def __init__(self, dim, hidden):
        super().__init__()
        self.gate, self.up = torch.nn.Linear(dim, hidden, bias=False), torch.nn.Linear(dim, hidden, bias=False)

    def activate(self, gate, up):
        return torch.nn.functional.silu(gate) * up

    def forward(self, x):
        return self.activate(self.gate(x), self.up(x))


layer = FeedForward(64, 256)
verify.check("swiglu", lambda gate, up: layer.activate(gate, up))
