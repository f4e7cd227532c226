#!/usr/bin/env python3
"""printing.safetensors: tensors, and as metadata under each tensor's name what PyTorch prints for it.
tests/kernels/test_tensor.c holds tensor_print against it.

    python tests/golden/printing.py            writes the file anew
    python tests/golden/printing.py --check    computes it anew and compares it with the committed one
"""

import json
import struct
import sys
from pathlib import Path

import torch
from safetensors.torch import load

FILE = Path(__file__).with_suffix(".safetensors")

nan, inf = torch.nan, torch.inf
DTYPES = {
    torch.float64: "F64", torch.float32: "F32", torch.bfloat16: "BF16", torch.float16: "F16",
    torch.int64: "I64", torch.int32: "I32", torch.int16: "I16", torch.int8: "I8",
    torch.uint64: "U64", torch.uint32: "U32", torch.uint16: "U16", torch.uint8: "U8", torch.bool: "BOOL",
}  # fmt: skip


def cases():
    t = torch.tensor

    for dtype, name in DTYPES.items():
        yield f"dtype/{name}/matrix", t([[0, 1, 2], [3, 4, 50]]).to(dtype)
        yield f"dtype/{name}/scalar", t(1).to(dtype)
        yield f"dtype/{name}/empty", torch.empty(0, dtype=dtype)
        if dtype.is_floating_point:
            yield f"dtype/{name}/fractions", t([[1.0, -2.5], [3.14159, 0.001]]).to(dtype)
            yield f"dtype/{name}/limits", t([torch.finfo(dtype).max, torch.finfo(dtype).tiny, -1.0], dtype=dtype)
        elif dtype != torch.bool:
            yield f"dtype/{name}/limits", t([torch.iinfo(dtype).min, torch.iinfo(dtype).max], dtype=dtype)

    # The style: whole numbers, fixed point, scientific.
    yield "style/whole", t([1.0, -20.0, 300.0])
    yield "style/whole_zeros", t([0.0, -0.0])
    yield "style/whole_negative_zero_first", t([-0.0, 12.0])
    yield "style/whole_ratio_1000", t([1.0, 1000.0])
    yield "style/whole_ratio_1001", t([1.0, 1001.0])
    yield "style/whole_1e8", t([1e8])
    yield "style/whole_over_1e8", t([100000008.0])
    yield "style/fixed", t([0.5, 499.0])
    yield "style/fixed_ratio_1000", t([0.5, 500.0])
    yield "style/fixed_ratio_over_1000", t([0.5, 500.5])
    yield "style/fixed_1e-4", t([1e-4], dtype=torch.float64)
    yield "style/fixed_with_zero", t([0.0, 0.25, -0.25])
    yield "style/under_1e-4", t([9.9e-5])
    yield "style/rounds_to_even", t([0.00125, 0.00375, 2.00005], dtype=torch.float64)
    yield "style/three_digit_exponent", t([1e-300, 1.0, 1e300], dtype=torch.float64)
    yield "style/subnormal", t([1e-45, 1e-40])
    yield "style/scientific_negative", t([[-1e-6, 1.0], [1e6, -1e6]])

    # Infinities and NaNs decide nothing, and may be wider than the column.
    yield "special/only", t([nan, inf, -inf, 0.0])
    yield "special/nan", t(nan)
    yield "special/negative_nan", torch.copysign(t([nan, 1.5]), t(-1.0))
    yield "special/whole", t([1.0, nan, 2.0, inf, -inf])
    yield "special/fixed", t([1.5, nan, inf, -inf])
    yield "special/scientific", t([1e-9, nan, inf, -inf, 0.0, 1.0])
    yield "special/scientific_whole", t([1e9, nan, inf, -inf, 0.0])
    yield "special/half", t([1.0, nan, inf, -inf]).half()

    for value in (2.5, -3.0, 1e-5, 123456.0, 1e9, -0.0, inf):
        yield f"scalar/{value}", t(value)

    # Shapes.
    for shape in ((1,), (1, 1), (2, 2, 2), (2, 1, 2, 1, 2), (1, 1, 1, 2, 1, 1, 2, 1)):
        yield f"shape/{shape}", torch.arange(torch.Size(shape).numel()).reshape(shape).float()
    for shape in ((0, 3), (3, 0), (0, 0, 2), (1, 0)):
        yield f"empty/{shape}", torch.empty(shape)
    yield "empty/int64", torch.empty((0, 3), dtype=torch.int64)
    yield "empty/half", torch.empty((4, 0), dtype=torch.float16)
    for n in (10, 100, 1000, 10000):  # the second suffix comes to the end of the line
        yield f"empty/wide_{n}", torch.empty((10000, 10000, 10000, 0, 0, 0, 0, n), dtype=torch.bfloat16)

    # Lines of 80 characters.
    yield "line/whole", torch.arange(40.0)
    yield "line/fixed", torch.arange(30.0) / 4 - 3
    yield "line/scientific", t([10.0**power for power in range(-9, 10)])
    yield "line/rows", torch.arange(36).reshape(2, 18) * 100
    yield "line/cube", torch.arange(32).reshape(2, 1, 16) * 1000
    yield "line/bool", torch.arange(13) % 3 == 0
    for n in (17, 18):  # the suffix just fits, and just does not
        for dtype in (torch.int8, torch.int16, torch.uint16):
            yield f"line/suffix_{DTYPES[dtype]}_{n}", torch.arange(n).clamp(max=9).to(dtype)
    yield "line/suffix_second", torch.arange(30).short()

    # Over 1000 elements only the edges are shown, and only they decide the style.
    yield "summary/1000", (torch.arange(1000) % 7).byte()
    yield "summary/1001", (torch.arange(1001) % 7).byte()
    yield "summary/matrix", (torch.arange(1200) % 251).byte().reshape(40, 30)
    yield "summary/narrow", (torch.arange(1005) % 251).byte().reshape(335, 3)
    yield "summary/flat", (torch.arange(1002) % 251).byte().reshape(3, 334)
    yield "summary/seven", (torch.arange(1050) % 251).byte().reshape(7, 150)
    yield "summary/cube", (torch.arange(1024) % 251).byte().reshape(8, 8, 16)
    hidden = torch.ones(1001).bfloat16()
    hidden[500] = 1e-30
    yield "summary/hidden", hidden
    shown = torch.ones(1001).half()
    shown[-1] = 1.0 / 4096
    yield "summary/shown", shown


def encode(tensors, metadata):
    """The file's bytes, by hand: the library's own writer shuffles the metadata anew in every run."""
    header, data = {"__metadata__": metadata}, b""
    for name, tensor in tensors.items():
        begin = len(data)
        data += tensor.reshape(-1).view(torch.uint8).numpy().tobytes()
        header[name] = {"dtype": DTYPES[tensor.dtype], "shape": tensor.shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + data


def main():
    tensors = dict(cases())
    printed = {name: str(tensor) for name, tensor in tensors.items()}
    encoded = encode(tensors, printed | {"torch": torch.__version__})
    for name, tensor in load(encoded).items():  # the library reads what we wrote
        assert str(tensor) == printed[name], name

    if "--check" not in sys.argv[1:]:
        FILE.write_bytes(encoded)
    elif FILE.read_bytes() != encoded:
        sys.exit(f"error: PyTorch {torch.__version__} prints otherwise than {FILE} says: run printing.py")


if __name__ == "__main__":
    main()
