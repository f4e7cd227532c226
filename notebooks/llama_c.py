"""The course's C kernels, called on NumPy arrays:

    import llama_c as c
    c.rms_norm(x, weight, eps=1e-5)

The chapters' headers say everything that is needed. `float out[restrict rows][dim], const float x[rows][dim]` is an array
that the kernel fills and one that it reads, with their dtypes and shapes; so nothing is declared here a second time.

- Arguments are those of the C function, in its order or by name, without the dimensions, which follow from the shapes, and
  without the arrays that it fills. (pair_counts(ids, V=3): a dimension that does not follow must be named.)
- Arrays are float32, whole numbers where C has int, uint16 where it has bf16; or the same as torch tensors on the CPU.
- The first array that the kernel fills is returned, then what the C function returns, if anything. An array that you hand
  over by name (a cache; room to work in, to look at afterwards) is filled where it is, and not returned.
- An Activation or a Gate is a kernel: feed_forward(…, activation=c.relu).

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
           "bool": ctypes.c_bool}
ARRAYS = {"float": np.float32, "int": np.int32, "bf16": np.uint16, "float complex": np.complex64}

# Vectors that may be NULL are plain pointers in C: it cannot say how long they are.
LENGTHS = {("rms_norm", "bias"): "dim", ("linear", "bias"): "out", ("feed_forward", "b1"): "F", ("feed_forward", "b2"): "C",
           ("gated_feed_forward", "b_gate"): "F", ("gated_feed_forward", "b_up"): "F"}

# What the kernels ask of whole numbers, by the names that mean the same in every chapter. They would end the program.
MUST_HOLD = ["T >= 1", "T <= S", "D >= 1", "KV >= 1", "H % KV == 0", "V >= 1", "k >= 1",
             "length >= 0", "length + T <= capacity", "first >= 0", "first + T <= capacity"]


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
    def kind(self):
        return self.const, self.type, self.pointer or bool(self.shape)


def parameters_of(function, text):
    """The parameters of a C declaration; None where one is of a type that has no place here."""
    found = []
    for part in re.split(r",\s*", " ".join(text.split())):
        match = re.fullmatch(r"(const )?(float complex|\w+) (\*?)(\w+)((?:\[[^]]*\])*)", part)
        if not match:
            return None
        shape = [extent.removeprefix("restrict ") for extent in re.findall(r"\[([^]]*)\]", match[5])]
        found.append(Parameter(bool(match[1]), match[2], bool(match[3]), match[4], shape))
        if (function, match[4]) in LENGTHS:
            found[-1].shape = [LENGTHS[function, match[4]]]
    return found


class Kernel:
    """One C function. Calling it checks every argument first: C would not."""

    def __init__(self, returns, name, parameters, contract):
        self.name, self.parameters, self.__doc__ = name, parameters, contract
        names = set(re.findall(r"\w+", " ".join(" ".join(p.shape) for p in parameters)))
        self.dimensions = [p.name for p in parameters if p.name in names]
        self.filled = [p for p in parameters if p.is_array and not p.const]
        self.arguments = [p for p in parameters if p.name not in self.dimensions and p not in self.filled]
        self.function = getattr(library, name)
        self.function.restype = NUMBERS.get(returns)
        self.function.argtypes = [NUMBERS[p.type] if p.kind[1:] in {(t, False) for t in NUMBERS} else ctypes.c_void_p
                                  for p in parameters]

    def __repr__(self):
        return self.__doc__

    def refuse(self, why):
        raise ValueError(f"{self.name}: {why}")

    def __call__(self, *values, **named):
        if len(values) > len(self.arguments):
            self.refuse(f"{len(values)} arguments, but it takes {', '.join(p.name for p in self.arguments)}")
        given = dict(zip((p.name for p in self.arguments), values))
        for name in named:
            if name in given or name not in [p.name for p in self.parameters]:
                self.refuse(f"{name} is given twice" if name in given else f"there is no {name} in\n\n{self}")
        given |= named
        for p in self.arguments:
            if given.get(p.name) is None and not (p.pointer and p.shape):  # a vector that may be NULL may be left out
                self.refuse(f"{p.name} is missing")
        given = {p.name: self.converted(p, given[p.name]) for p in self.parameters if given.get(p.name) is not None}
        self.find_dimensions(given)
        filled = {p.name: np.zeros([self.extent(e, given) for e in p.shape], ARRAYS[p.type])
                  for p in self.filled if p.name not in given}
        result = self.function(*(self.passed(given.get(p.name, filled.get(p.name))) for p in self.parameters))
        results = list(filled.values())[:1] if self.filled and self.filled[0].name in filled else []
        results += [] if result is None else [result]
        return results[0] if len(results) == 1 else tuple(results) or None

    def converted(self, p, value):
        """The argument as C will see it; refused if it is of another type."""
        if p.is_array:
            return self.as_array(p, value)
        if p.type in functions:
            if not isinstance(value, Kernel) or [q.kind for q in value.parameters] != functions[p.type]:
                self.refuse(f"{p.name} must be a kernel that is an {p.type}, such as "
                            + ", ".join(k.name for k in kernels.values() if [q.kind for q in k.parameters] == functions[p.type]))
            return value
        if p.type in structs:
            return value if isinstance(value, structs[p.type]) else self.refuse(f"{p.name} must be a {p.type}(…)")
        number = value.item() if hasattr(value, "item") else value
        if not isinstance(number, (int, float)) or p.type in ("int", "long") and number != int(number):
            self.refuse(f"{p.name} is {value!r}: C wants {p.type}")
        return int(number) if p.type in ("int", "long") else number

    def as_array(self, p, value):
        if hasattr(value, "detach"):  # a torch tensor; NumPy has no bfloat16
            torch = sys.modules["torch"]
            value = value.detach()
            value = (value.view(torch.uint16) if value.dtype == torch.bfloat16 else value).numpy()
        dtype = np.dtype(ARRAYS[p.type])
        array = value if isinstance(value, np.ndarray) else np.asarray(value, dtype)
        if array.dtype != dtype and not (p.const and dtype == np.int32 and array.dtype.kind in "iu"):
            self.refuse(f"{p.name} is {array.dtype}, C reads it as {dtype}: {p.name}.astype(np.{dtype})")
        if not p.const and not array.flags.c_contiguous:
            self.refuse(f"{p.name} is to be filled where it is, and does not lie in one piece: make a copy of it")
        return np.ascontiguousarray(array, dtype)

    def extent(self, text, given):
        """A number from "D / 2", as the header has it."""
        return given[text] if text in given else eval(text.replace("/", "//"), {}, given)

    def find_dimensions(self, given):
        """Adds the dimensions that follow from the arrays' shapes to what was given; refuses what contradicts them."""
        source = {}
        arrays = [p for p in self.parameters if p.is_array and p.name in given]
        for p in arrays:
            if given[p.name].ndim != len(p.shape):
                self.refuse(f"{p.name} has shape {given[p.name].shape}, but it is {p.name}[{']['.join(p.shape)}]")
        for _ in self.dimensions:  # H + 2 * KV tells H once KV is known
            for p in arrays:
                for text, size in zip(p.shape, given[p.name].shape):
                    unknown = [name for name in re.findall(r"[A-Za-z]\w*", text) if name not in given]
                    if len(unknown) == 1:
                        solutions = (n for n in range(2 * size + 1) if self.extent(text, given | {unknown[0]: n}) == size)
                        given[unknown[0]] = size if text == unknown[0] else next(solutions, 0)
                        source[unknown[0]] = p.name
        for name in self.dimensions:
            if name not in given:
                self.refuse(f"{name} does not follow from the arguments: give {name}=…")
        for p in arrays:
            shape = tuple(self.extent(text, given) for text in p.shape)
            if given[p.name].shape != shape:
                why = " and ".join(dict.fromkeys(source[n] for t in p.shape for n in re.findall(r"\w+", t) if n in source))
                self.refuse(f"{p.name} has shape {given[p.name].shape}, {why or 'the rest'} needs {shape}")
        self.check_rules(given)

    def check_rules(self, given):
        numbers = {name: value for name, value in given.items() if isinstance(value, int)}
        halved = ["D % 2 == 0"] if any("D / 2" in p.shape for p in self.parameters) else []
        for rule in MUST_HOLD + halved:
            names = re.findall(r"[A-Za-z]\w*", rule)
            if all(name in numbers for name in names) and not eval(rule, {}, numbers):
                self.refuse(f"{rule} must hold, and here " + ", ".join(f"{name} = {numbers[name]}" for name in names))
        ids = given.get("ids", np.zeros(0))
        if "V" in numbers and ids.size and not 0 <= ids.min() <= ids.max() < numbers["V"]:
            self.refuse(f"ids must be 0 … {numbers['V'] - 1}, and here they go from {ids.min()} to {ids.max()}")

    @staticmethod
    def passed(value):
        if isinstance(value, np.ndarray):
            return value.ctypes.data
        if isinstance(value, Kernel):
            return ctypes.cast(value.function, ctypes.c_void_p)
        return ctypes.addressof(value) if isinstance(value, ctypes.Structure) else value


# ---------------------------------------------------------------- the headers are read

try:
    library = ctypes.CDLL(str(BUILD / "libllama.so"))
except OSError as error:
    missing = not (BUILD / "libllama.so").exists()
    raise ImportError(f"{BUILD.name}/libllama.so is missing: run make {BUILD.name}/libllama.so" if missing else error) from None

kernels, functions, structs = {}, {}, {}


def read_header(text):
    for body, name in re.findall(r"^typedef enum \{([^}]*)\} (\w+);", text, re.M):
        NUMBERS[name] = ctypes.c_int
        globals().update({constant: i for i, constant in enumerate(re.findall(r"\w+", body))})
    for body, name in re.findall(r"^typedef struct \{([^}]*)\} (\w+);", text, re.M):
        lines = re.findall(r"(\w+) ([\w, ]+);", re.sub(r"/\*.*?\*/", "", body, flags=re.S))
        if all(kind in NUMBERS for kind, _ in lines) and body.count(";") == len(lines):
            fields = [(field, NUMBERS[kind]) for kind, names in lines for field in names.split(", ")]
            structs[name] = globals()[name] = type(name, (ctypes.Structure,), {"_fields_": fields})
    for name, text_of_it in re.findall(r"^typedef void (\w+)\(([^)]*)\);", text, re.M):
        found = parameters_of(name, text_of_it)
        if found:
            functions[name] = [p.kind for p in found]
    comment = ""
    for match in re.finditer(r"^(/\*.*?\*/)|^(void|int|long|float) (\w+)\(([^;]*?)\);", text, re.M | re.S):
        comment = match[1] or comment
        found = parameters_of(match[3], match[4]) if match[3] else None
        if found and all(p.is_array or p.type in (functions if p.pointer else NUMBERS) or p.pointer and p.type in structs
                         for p in found):
            kernels[match[3]] = Kernel(match[2], match[3], found, f"{comment}\n{match[0]}")


for header in sorted(ROOT.glob("chapters/*/*.h")) + [ROOT / "common/linear.h"]:
    read_header(header.read_text())
globals().update(kernels)
