"""How exact are PyTorch's own BF16 and F16 kernels? Writes low_precision.json: for each kernel, type and case the worst error,
in units in the last place (ulps) of that type, of PyTorch's kernel on inputs that are rounded to it, against the same graph in
float64 on the same rounded inputs. llama_kernels allows a multiple of it (notebooks/llama_kernels/verify.py). "model" is the worst
over inputs of the sizes that models have.

    python tests/golden/low_precision.py [--check]
"""
import importlib.util
import json
import math
import os
import sys
from pathlib import Path

# The plain loops, which round alike on every processor: with vectors, PyTorch cuts attention into other tiles.
os.environ["ATEN_CPU_CAPABILITY"] = "default"
import numpy as np
import torch
import torch.nn.functional as F
from safetensors import safe_open

HERE = Path(__file__).resolve().parent
NOT_A_ROUNDING = 8  # ulps: where PyTorch itself errs more, large numbers cancel, and the case can judge nobody
TYPES = {"bfloat16": (torch.bfloat16, 7), "float16": (torch.float16, 10)}  # bits of the fraction


def model_cases(kernel, seed):
    path = HERE.parents[1] / "notebooks/llama_kernels/shapes.py"
    specification = importlib.util.spec_from_file_location("shapes", path)
    shapes = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(shapes)
    for name, inputs, _ in shapes.model_cases(kernel, seed):
        yield name, {key: torch.from_numpy(np.asarray(value)) for key, value in inputs.items()}


# ---------------------------------------------------------------- the kernels, as people write them in PyTorch

def rotate_half(x, cosine, sine):
    first, second = x.chunk(2, -1)
    cosine, sine = cosine[:, None], sine[:, None]
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], -1)


def rotate_neighbours(x, cosine, sine):
    first, second = x[..., 0::2], x[..., 1::2]
    cosine, sine = cosine[:, None], sine[:, None]
    return torch.stack([first * cosine - second * sine, second * cosine + first * sine], -1).flatten(-2)


def attention(q, k, v):
    """The last T of S positions ask: queries and keys [T][H][D]."""
    T, S = len(q), len(k)
    mask = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    q, k, v = (x.transpose(0, 1)[None] for x in (q, k, v))
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    return out[0].transpose(0, 1)


def one_head(q, k, v):
    return attention(q[:, None], k[:, None], v[:, None])[:, 0]


def swish_gate(unit):
    return lambda gate, up: unit(gate) * up


FORWARD = {
    "rms_norm": lambda x, weight, eps: F.rms_norm(x, x.shape[-1:], weight, eps),
    "layer_norm": lambda x, weight, eps, bias=None: F.layer_norm(x, x.shape[-1:], weight, bias, eps),
    "relu": lambda x: F.relu(x), "sigmoid": lambda x: torch.sigmoid(x), "silu": lambda x: F.silu(x),
    "gelu": lambda x: F.gelu(x), "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "glu": swish_gate(torch.sigmoid), "bilinear": swish_gate(lambda g: g), "reglu": swish_gate(F.relu),
    "geglu": swish_gate(F.gelu), "swiglu": swish_gate(F.silu),
    "rope_half_split": rotate_half, "rope_interleaved": rotate_neighbours,
    "softmax": lambda x: torch.softmax(x, -1),
    "attention": one_head, "grouped_query_attention": attention, "gqa_attention_with_past": attention, "flash_attention": attention,
    "linear": lambda x, weight, bias=None: F.linear(x, weight, bias),
    "cross_entropy": lambda logits, targets: F.cross_entropy(logits, torch.where(targets < 0, -100, targets.long())).reshape(1),
}
BACKWARD = ["rms_norm", "layer_norm", "bilinear", "reglu", "geglu", "glu", "swiglu", "rope_half_split", "rope_interleaved", "linear",
            "grouped_query_attention"]
UPSTREAM = {"rms_norm": "dy", "layer_norm": "dy", "linear": "dy"}


def gradient(name, inputs):
    """The gradient that the case asks for: that of its accumulator."""
    upstream = inputs[UPSTREAM.get(name, "dout")]
    wanted = next(key for key in inputs if key.startswith("d") and key not in ("dy", "dout"))[1:]
    forward = {key: value for key, value in inputs.items() if not key.startswith("d") and key != "alone"}
    if wanted not in forward:  # a rotation's gradient does not depend on x; nor does a bias's on the bias
        forward[wanted] = torch.zeros_like(upstream if wanted == "x" else upstream[0])
    forward[wanted] = forward[wanted].detach().requires_grad_()
    if name == "layer_norm" and "bias" not in forward:
        forward["bias"] = torch.zeros_like(forward["weight"])
    output = FORWARD[name](**forward)
    return torch.autograd.grad(output, forward[wanted], upstream)[0]


# ---------------------------------------------------------------- the errors

def in_type(inputs, dtype):
    """Arrays in this type; scalars as Python numbers; whole numbers as they are."""
    return {key: value.item() if value.ndim == 0 else value.to(dtype) if value.is_floating_point() else value for key, value in inputs.items()}


def has_room(tensor, dtype):
    if dtype == torch.bfloat16:
        return bool(tensor.isfinite().all())
    return bool((tensor.isfinite() & (tensor.abs() < 6e4) & ((tensor == 0) | (tensor.abs() > 6.2e-5))).all())


def error(function, inputs, dtype, bits, pointwise):
    """In ulps; None where the type has no room for the numbers."""
    rounded = in_type(inputs, dtype)
    arrays = [value for value in rounded.values() if torch.is_tensor(value) and value.is_floating_point()]
    exact = {key: value.double() if torch.is_tensor(value) and value.is_floating_point() else value for key, value in rounded.items()}
    truth, got = function(**exact), function(**rounded).double()
    if not all(has_room(a.float(), dtype) for a in arrays) or not has_room(truth, dtype) or not got.isfinite().all():
        return None
    rows = truth.reshape(-1, 1 if pointwise else truth.shape[-1])
    largest = rows.abs().amax(-1, keepdim=True).clamp_min(2.0**-126)
    ulp = 2.0 ** (largest.log2().floor() - bits)
    return ((got.reshape(rows.shape) - rows).abs() / ulp).max().item()


def golden_cases(kernel):
    with safe_open(HERE / f"{kernel}.safetensors", "pt") as file:
        cases = {}
        for key in file.keys():
            case, role = key.split("/", 1)
            if not role.startswith(("expected", "wrong/", "rounding")):
                cases.setdefault(case, {})[role] = file.get_tensor(key)
        return cases


POINTWISE = {"relu", "sigmoid", "silu", "gelu", "gelu_tanh", "glu", "bilinear", "reglu", "geglu", "swiglu"}


def table_of(kernel):
    forward = kernel.removesuffix("_backward")
    function = FORWARD[forward] if forward == kernel else lambda **inputs: gradient(forward, inputs)
    table = {}
    for name, (dtype, bits) in TYPES.items():
        errors = {}
        for case, inputs in golden_cases(kernel).items():
            found = error(function, inputs, dtype, bits, forward in POINTWISE)
            if found is not None and found <= NOT_A_ROUNDING:
                errors[case] = round(found, 2)
        models = [error(function, inputs, dtype, bits, forward in POINTWISE) for seed in range(4) for _, inputs in model_cases(kernel, seed)]
        models = [found for found in models if found is not None and found <= NOT_A_ROUNDING]
        errors["model"] = round(max(models, default=max(errors.values())), 2)
        table[name] = errors
    return table


def main():
    torch.set_num_threads(1)
    torch.backends.mkldnn.set_flags(False)  # as golden.py has it
    kernels = [*FORWARD, *(f"{name}_backward" for name in BACKWARD)]
    table = {kernel: table_of(kernel) for kernel in kernels}
    path = HERE / "low_precision.json"
    if "--check" not in sys.argv:
        path.write_text(json.dumps(table, indent=0) + "\n")
        return
    committed = json.loads(path.read_text())
    for kernel in kernels:
        for dtype in TYPES:
            new, old = table[kernel][dtype], committed[kernel][dtype]
            # Another machine sums in another order: the worst rounding may differ, its size may not.
            if new.keys() != old.keys() or any(not math.isclose(new[c], old[c], rel_tol=0.5, abs_tol=0.5) for c in new):
                sys.exit(f"low_precision.json: {kernel} in {dtype} is not what PyTorch has: {new} and {old}")
    print("low_precision.json: the same")


if __name__ == "__main__":
    main()
