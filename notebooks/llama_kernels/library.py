"""The judge's C library, called with ctypes: tests/judge/api.h says what each function does."""
import ctypes
import json
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
CONTRACTS = json.loads((HERE / "kernels.json").read_text())

# The element types, in the order of common/tensor.h. numpy has no bfloat16: its bits are uint16.
DTYPES = ["f8", "f4", "bf16", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"]
MAX_RANK, WORDS, DIAGNOSIS = 8, 384, 512


class Tensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_int),
                ("shape", ctypes.c_size_t * MAX_RANK), ("data", ctypes.c_void_p), ("quant_type", ctypes.c_void_p)]


class CaseVerdict(ctypes.Structure):
    _fields_ = [("passes", ctypes.c_int), ("wrong", ctypes.c_size_t), ("count", ctypes.c_size_t), ("worst", ctypes.c_double),
                ("ulps", ctypes.c_double), ("reference", ctypes.c_double), ("first_wrong", ctypes.c_char * WORDS)]


def load():
    library = ctypes.CDLL(str(HERE / "libjudge.so"))
    text, number, real, pointer = ctypes.c_char_p, ctypes.c_int, ctypes.c_double, ctypes.c_void_p
    tensors = ctypes.POINTER(Tensor)
    for name, returned, arguments in [
            ("judge_use_golden", None, [text]), ("judge_sizes", number, [number]),
            ("judging_open", pointer, [text]), ("judging_close", None, [pointer]), ("judging_cases", number, [pointer]),
            ("judging_case", text, [pointer, number]), ("judging_sentence", text, [pointer, number]),
            ("judging_input_count", number, [pointer, number]), ("judging_input", tensors, [pointer, number, number]),
            ("judging_words", text, [pointer, text]), ("judging_expected", tensors, [pointer, number]),
            ("judging_add", number, [pointer, text, number, tensors, tensors, real, number]),
            ("judging_add_random", number, [pointer, ctypes.c_ulong, number]),
            ("judging_answer", None, [pointer, number, tensors]), ("judging_trouble", None, [pointer, number, text]),
            ("judging_later", None, [pointer, number, text]), ("judging_verdict", CaseVerdict, [pointer, number]),
            ("judging_report", number, [pointer, text, text]), ("judging_diagnose", number, [pointer, text, text]),
            ("judging_mistake", text, [pointer, number]), ("judging_advice", text, [pointer, text])]:
        function = getattr(library, name)
        function.restype, function.argtypes = returned, arguments
    if library.judge_sizes(0) != ctypes.sizeof(Tensor):
        raise ImportError("llama_kernels: libjudge.so is of another version than its Python code: install the package again")
    library.judge_use_golden(str(HERE / "golden").encode())
    return library


library = load()


def to_numpy(tensor):
    """A copy of a C tensor; bfloat16 widened to float32."""
    shape = tuple(tensor.shape[: tensor.rank])
    kind = DTYPES[tensor.dtype]
    dtype = np.dtype("u2" if kind == "bf16" else kind)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    array = np.frombuffer(ctypes.string_at(tensor.data, size) if size else b"", dtype).reshape(shape)
    return (array.astype(np.uint32) << 16).view(np.float32) if kind == "bf16" else array.copy()


def to_tensor(name, array):
    """A C tensor that points into a numpy array, and the array, which must outlive it."""
    array = np.array(array, order="C")  # ascontiguousarray would make a scalar an array of one
    kind = array.dtype.str[1:].replace("b1", "?")
    tensor = Tensor(name.encode(), DTYPES.index(kind), array.ndim)
    tensor.shape[: array.ndim] = array.shape
    tensor.data = array.ctypes.data
    return tensor, array


def mistakes(kernel):
    """The stored mistakes of a kernel: {name: a sentence of advice}."""
    judging = Judging(kernel)
    found = {}
    while (name := library.judging_mistake(judging.handle, len(found))) is not None:
        found[name.decode()] = library.judging_advice(judging.handle, name).decode()
    return found


class Judging:
    """The cases of one kernel, and what was answered to them."""

    def __init__(self, kernel):
        self.handle = library.judging_open(kernel.encode()) if kernel in CONTRACTS else None
        if not self.handle:
            raise KeyError(f"{kernel} is no kernel of this package: llama_kernels.kernels() names them")
        self.kernel = kernel
        self.returned = {}  # case: the array that was judged

    def __del__(self):
        if getattr(self, "handle", None):
            library.judging_close(self.handle)

    def __len__(self):
        return library.judging_cases(self.handle)

    def name(self, case):
        return library.judging_case(self.handle, case).decode()

    def sentence(self, case):
        return library.judging_sentence(self.handle, case).decode()

    def inputs(self, case):
        """{name: numpy array}"""
        tensors = [library.judging_input(self.handle, case, i).contents
                   for i in range(library.judging_input_count(self.handle, case))]
        return {tensor.name.decode(): to_numpy(tensor) for tensor in tensors}

    def words(self, name):
        """What an input is that no parameter of the C function has; None for any other."""
        words = library.judging_words(self.handle, name.encode())
        return words and words.decode()

    def is_bfloat16(self, case):
        return DTYPES[library.judging_expected(self.handle, case).contents.dtype] == "bf16"

    def expected(self, case):
        return to_numpy(library.judging_expected(self.handle, case).contents)

    def add(self, name, inputs, shape, tolerance=0, like=-1):
        """A further case, whose answer is our kernel's; its index, or -1 if our kernel refuses it. Without a tolerance the judge
        measures what a right answer may be off by."""
        pairs = [to_tensor(key, value) for key, value in inputs.items()]
        tensors = (Tensor * len(pairs))(*(tensor for tensor, _ in pairs))
        output, _ = to_tensor("out", np.empty(0, np.float32))
        output.rank = len(shape)
        output.shape[: len(shape)] = shape
        return library.judging_add(self.handle, name.encode(), len(pairs), tensors, ctypes.byref(output), tolerance, like)

    def add_random(self, seed, count):
        """So many random cases, random_SEED_0, random_SEED_1, …; their indices."""
        first = library.judging_add_random(self.handle, seed, count)
        return range(first, first + count)

    def answer(self, case, array):
        tensor, array = to_tensor("out", array)
        library.judging_answer(self.handle, case, ctypes.byref(tensor))

    def trouble(self, case, words):
        library.judging_trouble(self.handle, case, words.encode()[:255])

    def later(self, case, words):
        library.judging_later(self.handle, case, words.encode()[:383])

    def verdict(self, case):
        return library.judging_verdict(self.handle, case)

    def report(self, source):
        with tempfile.NamedTemporaryFile("r", suffix=".txt", errors="replace") as file:
            library.judging_report(self.handle, source.encode(), file.name.encode())
            return file.read()

    def diagnose(self):
        """(the mistake's name or "", a sentence of advice or "")"""
        mistake, advice = ctypes.create_string_buffer(DIAGNOSIS), ctypes.create_string_buffer(DIAGNOSIS)
        library.judging_diagnose(self.handle, mistake, advice)
        return mistake.value.decode(errors="replace"), advice.value.decode(errors="replace")
