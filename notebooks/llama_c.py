"""The course's C kernels, called on NumPy arrays:

    import llama_c as c
    c.rms_norm(x, weight, eps=1e-5)

The chapters' headers say everything that is needed. `float out[restrict rows][dim], const float x[rows][dim]` is an array
that the kernel fills and one that it reads, with their dtypes and shapes; so nothing is declared here a second time.

- Arguments are those of the C function, in its order or by name, without the dimensions, which follow from the shapes, and
  without the arrays that it fills. (pair_counts(ids, V=3): a dimension that does not follow must be named.)
- Arrays are float32, whole numbers where C has int, uint16 where it has bf16, uint8 where it has blocks (void *); or the same as
  torch tensors on the CPU.
- The first array that the kernel fills is returned, then what the C function returns, if anything. An array that you hand
  over by name (a cache; room to work in, to look at afterwards) is filled where it is, and not returned.
- Gradients begin as zeros, and all that a kernel adds to are returned: dx, dweight, dbias = c.linear_backward(dy, x, weight).
- An Activation or a GatedUnit is a kernel: feed_forward(…, activation=c.relu).

c.rms_norm.__doc__ (in a notebook: c.rms_norm?) is the contract in the header.
"""
import ctypes
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / os.environ.get("BUILD", "build")  # as in the Makefile

NUMBERS = {"int": ctypes.c_int, "long": ctypes.c_long, "float": ctypes.c_float, "double": ctypes.c_double,
           "bool": ctypes.c_bool, "size_t": ctypes.c_size_t}
ARRAYS = {"float": np.float32, "int": np.int32, "bf16": np.uint16, "float complex": np.complex64, "void": np.uint8}

# Vectors that may be NULL are plain pointers in C: it cannot say how long they are.
LENGTHS = {("linear", "bias"): "out", ("feed_forward", "b1"): "F", ("feed_forward", "b2"): "C",
           ("linear_backward", "dbias"): "out"}

# So are blocks, which have no C type: numbers and bytes of each.
BLOCKS = {"q8_0": (32, 34), "q4_0": (32, 18), "q4_1": (32, 20), "q5_0": (32, 22), "q5_1": (32, 24), "iq4_nl": (32, 18),
          "q2_k": (256, 84), "q3_k": (256, 110), "q4_k": (256, 144), "q5_k": (256, 176), "q6_k": (256, 210)}

# What kernels ask of whole numbers, by names that mean the same in every chapter. Otherwise C would end the program.
MUST_HOLD = ["T >= 1", "T <= S", "D >= 1", "KV >= 1", "H % KV == 0", "V >= 1", "k >= 1",
             "ranks >= 1", "0 <= rank < ranks", "F % ranks == 0",
             "length >= 0", "length + T <= capacity", "first >= 0", "first + T <= capacity"]
UNMASKED = ["attention_scores", "weighted_sum"]  # before the mask and after it, more queries than keys do no harm

kernels, callbacks, structs = {}, {}, {}  # by name: what the headers declare


def names_in(expression):
    return re.findall(r"[A-Za-z]\w*", expression)


def number_from(expression, sizes):
    """A number from "H + 2 * KV" or "D / 2", as a header has it."""
    return sizes[expression] if expression in sizes else eval(expression.replace("/", "//"), {}, sizes)


# ---------------------------------------------------------------- calling

@dataclass
class Parameter:
    const: bool
    type: str
    pointer: bool
    name: str
    shape: list  # ["T", "H + 2 * KV", "D"]: as C writes it

    @property
    def is_array(self):
        return bool(self.shape) and self.type in ARRAYS

    @property
    def is_number(self):
        return self.type in NUMBERS and not self.shape and not self.pointer

    @property
    def may_be_null(self):
        return self.is_array and self.pointer and self.type != "void"

    @property
    def kind(self):
        """What must be the same for a kernel to be an Activation, or a GatedUnit."""
        return self.const, self.type, self.is_number


class Kernel:
    """One C function. Calling it checks every argument first: C would not."""

    def __init__(self, returns, name, parameters, contract):
        self.name, self.parameters, self.__doc__ = name, parameters, contract
        in_shapes = {size for p in parameters for extent in p.shape for size in names_in(extent)}
        self.dimensions = [p.name for p in parameters if p.name in in_shapes]
        self.filled = [p for p in parameters if p.is_array and not p.const]
        self.arguments = [p for p in parameters if p.name not in self.dimensions and p not in self.filled]
        self.function = getattr(library, name)
        self.function.restype = NUMBERS.get(returns)
        self.function.argtypes = [NUMBERS[p.type] if p.is_number else ctypes.c_void_p for p in parameters]

    def __repr__(self):
        return self.__doc__

    def __call__(self, *values, **named):
        given = self.by_name(values, named)
        given = {p.name: self.converted(p, given[p.name]) for p in self.parameters if given.get(p.name) is not None}
        self.find_dimensions(given)
        self.check_shapes(given)
        self.check_rules(given)
        filled = {p.name: np.zeros([number_from(extent, given) for extent in p.shape], ARRAYS[p.type])
                  for p in self.filled if p.name not in given}
        returned = self.function(*(self.passed((given | filled).get(p.name)) for p in self.parameters))
        wanted = self.filled if self.name.endswith("_backward") else self.filled[:1]
        results = [filled[p.name] for p in wanted if p.name in filled] + [returned] * (returned is not None)
        return results[0] if len(results) == 1 else tuple(results) or None

    def refuse(self, why):
        raise ValueError(f"{self.name}: {why}")

    def by_name(self, values, named):
        """The arguments by their names; refused if one is unknown, missing or given twice."""
        if len(values) > len(self.arguments):
            self.refuse(f"{len(values)} arguments, but it takes {', '.join(p.name for p in self.arguments)}")
        given = dict(zip((p.name for p in self.arguments), values))
        for name in named:
            if name in given:
                self.refuse(f"{name} is given twice")
            if name not in (p.name for p in self.parameters):
                self.refuse(f"there is no {name} in\n\n{self}")
        given |= named
        for p in self.arguments:
            if given.get(p.name) is None and not p.may_be_null:
                self.refuse(f"{p.name} is missing")
        return given

    def converted(self, p, value):
        """The argument as C will see it; refused if it is of another type."""
        if p.is_array:
            return self.as_array(p, value)
        if p.is_number:
            return self.as_number(p, value)
        if p.type in structs and not isinstance(value, structs[p.type]):
            self.refuse(f"{p.name} must be a {p.type}(…)")
        if p.type in callbacks:
            fits = [k for k in kernels.values() if [q.kind for q in k.parameters] == callbacks[p.type]]
            if not any(value is kernel for kernel in fits):
                self.refuse(f"{p.name} must be a kernel, one of {', '.join(kernel.name for kernel in fits)}")
        return value

    def as_number(self, p, value):
        number = value.item() if hasattr(value, "item") else value  # of NumPy or torch
        if not isinstance(number, (int, float)):
            self.refuse(f"{p.name} is {value!r}: C wants {p.type}")
        if p.type in ("float", "double"):
            return number
        if NUMBERS[p.type](int(number)).value != number:
            self.refuse(f"{p.name} is {value!r}: C wants {p.type}")
        return int(number)

    def as_array(self, p, value):
        if hasattr(value, "detach"):  # a torch tensor; NumPy has no bfloat16
            torch, value = sys.modules["torch"], value.detach()
            value = (value.view(torch.uint16) if value.dtype == torch.bfloat16 else value).numpy()
        dtype = np.dtype(ARRAYS[p.type])
        array = value if isinstance(value, np.ndarray) else np.asarray(value, dtype)
        whole_numbers = p.const and dtype == np.int32 and array.dtype.kind in "iu"
        if array.dtype != dtype and not whole_numbers:
            self.refuse(f"{p.name} is {array.dtype}, C reads it as {dtype}: {p.name}.astype(np.{dtype})")
        if not p.const and not (array.flags.c_contiguous and array.flags.writeable):
            self.refuse(f"{p.name} is to be filled where it is, but is read-only or not in one piece: copy it first")
        if array.ndim != len(p.shape):
            self.refuse(f"{p.name} has shape {array.shape}, but it is {p.name}[{']['.join(p.shape)}]")
        return np.ascontiguousarray(array, dtype)

    def find_dimensions(self, given):
        """Adds the dimensions that follow from the arrays' shapes to what was given, and whence they follow."""
        self.source = {}
        for _ in self.dimensions:  # again, for H + 2 * KV tells H once KV is known
            for p in self.parameters:
                for extent, size in zip(p.shape, given[p.name].shape) if p.is_array and p.name in given else ():
                    unknown = [name for name in names_in(extent) if name not in given]
                    if len(unknown) == 1:
                        name = unknown[0]
                        fits = (n for n in range(4 * size + 1) if number_from(extent, given | {name: n}) == size)
                        given[name] = size if extent == name else next(fits, 0)
                        self.source[name] = p.name
        for name in self.dimensions:
            if name not in given:
                self.refuse(f"{name} does not follow from the arguments: give {name}=…")

    def check_shapes(self, given):
        for p in self.parameters:
            if p.is_array and p.name in given:
                shape = tuple(number_from(extent, given) for extent in p.shape)
                if given[p.name].shape != shape:
                    sizes = [name for extent in p.shape for name in names_in(extent)]
                    others = dict.fromkeys(self.source.get(name, name) for name in sizes if self.source.get(name) != p.name)
                    self.refuse(f"{p.name} has shape {given[p.name].shape}, {' with '.join(others)} needs {shape}")

    def check_rules(self, given):
        numbers = {name: value for name, value in given.items() if isinstance(value, int)}
        halved = ["D % 2 == 0"] if any("D / 2" in p.shape for p in self.parameters) else []
        for rule in MUST_HOLD + halved:
            if rule == "T <= S" and self.name in UNMASKED:
                continue
            if all(name in numbers for name in names_in(rule)) and not eval(rule, {}, numbers):
                here = ", ".join(f"{name} = {numbers[name]}" for name in names_in(rule))
                self.refuse(f"{rule} must hold, and here {here}")
        ids = given.get("ids", np.zeros(0))
        if "V" in numbers and ids.size and not 0 <= ids.min() <= ids.max() < numbers["V"]:
            self.refuse(f"ids must be 0 … {numbers['V'] - 1}, and here they go from {ids.min()} to {ids.max()}")

    @staticmethod
    def passed(value):
        """What ctypes is to hand over; None is NULL."""
        if isinstance(value, np.ndarray):
            return value.ctypes.data
        if isinstance(value, Kernel):
            return ctypes.cast(value.function, ctypes.c_void_p)
        return ctypes.addressof(value) if isinstance(value, ctypes.Structure) else value


# ---------------------------------------------------------------- reading the headers

def blocks_of(function, name):
    """The shape of an argument that consists of blocks; empty if it does not."""
    verb, _, kind = function.partition("_")
    numbers, size = BLOCKS["q8_0" if (verb, name) == ("dot", "x") else kind] if kind in BLOCKS else (0, 0)
    return ["rows"] * (verb != "dot") + [f"n / {numbers} * {size}"] if numbers else []


def parameters_of(function, text):
    """The parameters of a C declaration; empty if one of them is nothing that a Kernel can pass."""
    found = []
    for part in " ".join(text.split()).split(", "):
        match = re.fullmatch(r"(const )?(float complex|\w+) (\*?)(\w+)((?:\[[^]]*\])*)", part)
        if not match:
            return []
        const, kind, star, name, extents = match.groups()
        shape = [extent.removeprefix("restrict ") for extent in re.findall(r"\[([^]]*)\]", extents)]
        if (function, name) in LENGTHS:
            shape = [LENGTHS[function, name]]
        if kind == "void" and star:
            shape = blocks_of(function, name)
        p = Parameter(bool(const), kind, bool(star), name, shape)
        if not (p.is_array or p.is_number or p.pointer and kind in (callbacks | structs)):
            return []
        found.append(p)
    return found


def read_types(text):
    """RopeType's constants, RopeParameters, Activation: a header's own types."""
    for body, name in re.findall(r"^typedef enum \{([^}]*)\} (\w+);", text, re.M):
        NUMBERS[name] = ctypes.c_int
        globals().update({constant: i for i, constant in enumerate(names_in(body))})
    for body, name in re.findall(r"^typedef struct \{([^}]*)\} (\w+);", text, re.M):
        lines = re.findall(r"(?:const )?(\w+) (\*?)([\w, ]+);", re.sub(r"/\*.*?\*/", "", body, flags=re.S))
        if len(lines) == body.count(";") and all(kind in NUMBERS for kind, _, _ in lines):
            fields = [(field, ctypes.c_void_p if star else NUMBERS[kind]) for kind, star, fields in lines for field in fields.split(", ")]
            structs[name] = globals()[name] = type(name, (ctypes.Structure,), {"_fields_": fields})
    for name, parameters in re.findall(r"^typedef void (\w+)\(([^)]*)\);", text, re.M):
        callbacks[name] = [p.kind for p in parameters_of(name, parameters)]


def read_functions(text):
    comment = ""
    for match in re.finditer(r"^(/\*.*?\*/)|^(void|int|long|float|double) (\w+)\(([^;]*?)\);", text, re.M | re.S):
        comment = match[1] or comment
        parameters = match[3] and parameters_of(match[3], match[4])
        if parameters and hasattr(library, match[3]):  # what is fast in chapter 12 would have the names of chapters 8 and 9
            kernels[match[3]] = Kernel(match[2], match[3], parameters, f"{comment}\n{match[0]}")


try:
    library = ctypes.CDLL(str(BUILD / "libllama.so"))
except OSError as error:
    missing = f"{BUILD.name}/libllama.so is missing: run make {BUILD.name}/libllama.so"
    raise ImportError(error if (BUILD / "libllama.so").exists() else missing) from None

for header in [ROOT / "common/linear.h", *sorted(ROOT.glob("chapters/*/*.h"))]:
    read_types(header.read_text())
    read_functions(header.read_text())
globals().update(kernels)
