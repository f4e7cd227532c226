"""check(kernel, function): is it right, and if not, which mistake is it?

The function gets the kernel's inputs in the order of the C contract (`python -m llama_kernels show KERNEL` prints it),
without the dimensions and the arrays that the C function fills, and returns the output. Inputs that no parameter of the
C function has, such as `of`, come last. An input that a case leaves out is None.
"""
import contextlib
import inspect
import json
import re
import sys
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .library import CONTRACTS, HERE, Judging, mistakes  # noqa: F401
from .shapes import model_cases

RANDOM_CASES = 8
# A BF16 or F16 answer may err so many times as PyTorch's own kernel of that type does, plus one unit in the last place.
LOW_PRECISION_MULTIPLE, LOW_PRECISION_ULPS = 2, 1
ULPS_OF_FLOAT32 = {"float32": 1, "float16": 2**13, "bfloat16": 2**16}


class WrongKernel(AssertionError):
    """The report of a kernel that is not right. It has the Verdict as `verdict`."""


@dataclass
class CaseResult:
    name: str
    shape: tuple
    passes: bool
    wrong: int
    count: int
    worst: float
    words: str  # "[0, 3]: got 1, expected 2", or what kept the function from an answer


@dataclass
class Verdict:
    kernel: str
    passes: bool
    cases: list
    mistake: str = ""  # the name of the stored mistake, if it is one
    advice: str = ""
    report: str = ""
    not_claimed: list = field(default_factory=list)

    @property
    def worst(self):
        return max((case.worst for case in self.cases), default=0.0)

    @property
    def first_wrong(self):
        return next((case for case in self.cases if not case.passes), None)

    def as_dict(self):
        return {"kernel": self.kernel, "verdict": "right" if self.passes else "wrong", "mistake": self.mistake, "advice": self.advice,
                "not_claimed": self.not_claimed,
                "cases": [{"case": c.name, "shape": list(c.shape), "verdict": "right" if c.passes else "wrong",
                           "wrong": c.wrong, "of": c.count, "worst": None if c.worst != c.worst else c.worst,
                           "first_wrong": c.words} for c in self.cases]}


def kernels():
    """The names of all kernels."""
    return list(CONTRACTS)


# ---------------------------------------------------------------- the inputs of a case

def is_backward(kernel):
    return kernel.endswith("_backward")


def accumulators(kernel):
    """The gradients that a backward kernel adds to, in the contract's order. One whose shape follows from no other array is an input."""
    parameters = CONTRACTS[kernel]["parameters"]
    known = {"1", *(size for p in parameters if not p["written"] for size in p["shape"])}
    return [p["name"] for p in parameters if is_backward(kernel) and p["written"] and p["type"].startswith("float")
            and p["name"].startswith("d") and known.issuperset(p["shape"])]


def argument_names(kernel, names):
    """The inputs' names in the order of the C contract; those that it does not have come last."""
    order = [p["name"] for p in CONTRACTS[kernel]["parameters"]]
    known = [name for name in order if name in names and name not in accumulators(kernel)]
    return known + sorted(name for name in names if name not in order and name != "alone")


def all_input_names(judging):
    return {name for case in range(len(judging)) for name in judging.inputs(case)}


class Case:
    """What `only=` is asked about: the name, the inputs, and the dimensions by the contract's letters (T, S, H, KV, D, …)."""

    def __init__(self, kernel, name, inputs):
        self.name, self.inputs, self.dimensions = name, inputs, {}
        for p in CONTRACTS[kernel]["parameters"]:
            array = inputs.get(p["name"])
            if array is not None and np.ndim(array) == len(p["shape"]):
                self.dimensions.update((size, n) for size, n in zip(p["shape"], np.shape(array)) if size.isidentifier())

    def __getattr__(self, name):
        try:
            return self.__dict__["dimensions"][name]
        except KeyError:
            raise AttributeError(f"case {self.name} has no dimension {name}: it has {', '.join(self.dimensions)}") from None


# ---------------------------------------------------------------- the author's own arrays

def wants_torch(function, device, dtype, torch):
    """Does the function work on torch tensors? It does if its code names torch, or if a device or a short type is asked for. Code
    that names neither torch nor numpy, such as x.exp(), has what its file imports."""
    if torch is not None:
        return torch
    module = sys.modules.get("torch")
    if module and (isinstance(function, module.nn.Module) or type(function).__module__.startswith(("torch", "triton"))):
        return True
    if device != "cpu" or dtype not in ("float32", "float16"):
        return True
    seen = set()

    def names_torch(f):
        code = getattr(inspect.unwrap(f) if callable(f) else f, "__code__", None)
        if code is None or code in seen:
            return False
        seen.add(code)
        scope = getattr(f, "__globals__", {})
        cells = [c.cell_contents for c in f.__closure__ or () if c.cell_contents is not f]
        used = [scope.get(name) for name in code.co_names] + cells
        return any(getattr(u, "__name__", "").split(".")[0] in ("torch", "triton") or type(u).__module__.startswith(("torch", "triton"))
                   or (module and isinstance(u, module.nn.Module)) or (inspect.isfunction(u) and names_torch(u)) for u in used)
    if names_torch(function):
        return True
    plain = inspect.unwrap(function) if callable(function) else function
    scope, code = getattr(plain, "__globals__", {}), getattr(plain, "__code__", None)
    names_numpy = any(scope.get(name) is np for name in getattr(code, "co_names", ()))
    return module is not None and not names_numpy and any(value is module for value in scope.values())


def rounded(array, dtype):
    """float32 numbers rounded to the shorter type and widened again."""
    if dtype == "float16":
        with np.errstate(over="ignore"):
            return array.astype(np.float16).astype(np.float32)
    bits = array.view(np.uint32).astype(np.uint64)
    even = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16
    return np.where(np.isnan(array), array, even.astype(np.uint32).view(np.float32)).astype(np.float32)


LAYOUTS = ("THD", "HTD", "BTHD", "BHTD")


def to_layout(array, layout, batch=0):
    """[T][H][D] as the author has it. A batch has two entries: the case, and another one before or after it."""
    array = array.swapaxes(0, 1) if layout.endswith("HTD") else array
    other = np.roll(array, 1, axis=-1)
    return np.stack([other, array] if batch else [array, other]) if layout.startswith("B") else array


def from_layout(array, layout, batch=0):
    array = array[batch] if layout.startswith("B") else array
    return array.swapaxes(0, 1) if layout.endswith("HTD") else array


class Caller:
    """Calls the author's function on the inputs of a case, as the author has them."""

    def __init__(self, kernel, function, device, dtype, layout, torch):
        self.kernel, self.function, self.device, self.dtype, self.layout = kernel, function, device, dtype, layout
        self.torch = None
        if wants_torch(function, device, dtype, torch):
            import torch as module
            self.torch = module

    def given(self, value, is_bfloat16, batch=0):
        if value is None:
            return None
        if value.ndim == 0:
            return value.item()
        if value.ndim == 3 and value.dtype == np.float32:
            value = to_layout(value, self.layout, batch)
        if not self.torch:
            return np.array(value, np.float16 if self.dtype == "float16" and value.dtype == np.float32 else value.dtype, order="C")
        tensor = self.torch.from_numpy(np.ascontiguousarray(value).copy())
        if value.dtype == np.int32:
            tensor = tensor.long()
        elif value.dtype == np.float32:
            tensor = tensor.to(getattr(self.torch, "bfloat16" if is_bfloat16 else self.dtype))
        return tensor.to(self.device)

    def synchronize(self):
        if self.torch and str(self.device).startswith("cuda"):
            self.torch.cuda.synchronize()

    def fill_free_memory(self, arrays, number):
        """What is freed now is what an output of torch.empty will be made of: NaN at first, ordinary numbers the next time."""
        for array in arrays:
            if self.torch and self.torch.is_tensor(array) and array.is_floating_point():
                self.torch.full_like(array, number)
            elif isinstance(array, np.ndarray) and array.dtype.kind == "f":
                np.full_like(array, number)

    def taken(self, result, shape, batch=0):
        """The result as a float32 array of the C output's shape, or a sentence that says why it is none."""
        if self.torch and self.torch.is_tensor(result):
            if result.is_floating_point() and str(result.dtype) != f"torch.{self.dtype}" and self.dtype != "float32":
                return f"returned {result.dtype}, and its inputs are torch.{self.dtype}"
            if result.is_complex():
                return f"returned {result.dtype}: give real numbers (torch.view_as_real)"
            result = result.detach().float().cpu().numpy()
        try:
            result = np.asarray(result, np.float32)
        except (TypeError, ValueError):
            return f"returned {type(result).__name__}, and an array is wanted"
        if len(shape) == 3 and result.ndim == len(self.layout):
            wanted = to_layout(np.empty(shape, np.float32), self.layout).shape
            if result.shape == wanted:
                result = from_layout(result, self.layout, batch)
        if result.shape != tuple(shape):
            if result.size == int(np.prod(shape)) and (result.ndim <= 1 or len(shape) == 1):
                return result.reshape(shape)
            hint = next((f": it has the layout {other}: layout=\"{other}\" says so" for other in LAYOUTS
                         if len(shape) == 3 and other != self.layout and result.shape == to_layout(np.empty(shape), other).shape), "")
            return f"returned shape {list(result.shape)}, and {list(shape)} is wanted{hint}"
        return result

    def __call__(self, inputs, names, is_bfloat16=False, fill=float("nan"), batch=0):
        """(what it returned, its arrays after the call, the same before it)"""
        arguments = [self.given(inputs.get(name), is_bfloat16, batch) for name in names]
        arrays = [a for a in arguments if hasattr(a, "shape")]
        before = [a.clone() if self.torch and self.torch.is_tensor(a) else a.copy() for a in arrays]
        self.fill_free_memory(arrays, fill)
        result = self.function(*arguments)
        self.synchronize()
        return result, arrays, before


def same(left, right):
    if hasattr(left, "detach"):
        left, right = left.detach().float().cpu().numpy(), right.detach().float().cpu().numpy()
    return np.array_equal(np.asarray(left), np.asarray(right), equal_nan=np.asarray(left).dtype.kind == "f")


# ---------------------------------------------------------------- one answer

SELECTORS = ("of", "of_norm", "of_out")  # inputs that say which of several outputs a case asks for


def chosen(kernel, result, inputs):
    """Of several outputs the one that the case asks for; of gradients, added to what the accumulator had."""
    wanted = next((name for name in accumulators(kernel) if name in inputs), None)
    selector = next((int(inputs[name]) for name in SELECTORS if name in inputs), None)
    if wanted is not None:
        if isinstance(result, dict):
            result = result[wanted]
        elif isinstance(result, (tuple, list)):
            gradients = accumulators(kernel)
            if len(result) != len(gradients):
                raise TypeError(f"returned {len(result)} gradients, and {', '.join(gradients)} are wanted")
            result = result[gradients.index(wanted)]
    elif selector is not None and isinstance(result, (tuple, list)):
        result = result[selector]
    elif isinstance(result, (tuple, list)) and all(hasattr(r, "shape") or np.isscalar(r) for r in result):
        parts = [np.asarray(r.detach().float().cpu() if hasattr(r, "detach") else r, np.float32).ravel() for r in result]
        result = np.concatenate(parts) if len(parts) > 1 else parts[0]
    return wanted, result


def one_line(error, function):
    """What the author's code raised, and in which of its lines."""
    words = [line.strip() for line in f"{type(error).__name__}: {error}".splitlines() if line.strip()]
    plain = inspect.unwrap(function) if callable(function) else function
    file = getattr(getattr(plain, "__code__", None), "co_filename", None)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return " ".join(words[:2])[:160] + (f" (line {lines[-1]} of {Path(file).name})" if lines else "")


def answer(judging, case, caller, names, inputs):
    """Calls the function twice on a case and hands what it returned to the judge. The second time the memory that an output may be
    made of holds other numbers, and the case is the second entry of a batch."""
    is_bfloat16 = judging.is_bfloat16(case)
    shape = judging.expected(case).shape
    arrays = [name for name in names if np.ndim(inputs.get(name)) > 0]
    outputs, changed = [], None
    for batch, fill in enumerate((float("nan"), 1.5)):
        try:
            result, after, before = caller(inputs, names, is_bfloat16, fill, batch)
            if result is None and after:  # in place: the first array is the output
                result = after[0]
            wanted, result = chosen(judging.kernel, result, inputs)
        except Exception as error:  # whatever the author's code raises is the verdict on this case
            return judging.trouble(case, f"raised {one_line(error, caller.function)}")
        array = caller.taken(result, inputs[wanted].shape if wanted else shape, batch)
        if isinstance(array, str):
            selector = next((name for name in SELECTORS if name in inputs), None)
            if selector and not isinstance(result, (tuple, list)):
                array += f"; this kernel has several outputs, and {selector} says which is asked for: return all of them as a tuple"
            return judging.trouble(case, array)
        if wanted is not None:
            array = (inputs[wanted].astype(np.float64) + array).astype(np.float32)
        outputs.append(rounded(array, "bfloat16") if is_bfloat16 else array)
        changed = changed or next((name for name, a, b in zip(arrays, after, before) if not same(a, b) and a is not result), None)
    judging.answer(case, outputs[1])  # the second call is judged as the first is
    second = judging.verdict(case)
    judging.answer(case, outputs[0])
    judging.returned[case] = outputs[0]
    if not judging.verdict(case).passes:
        return None
    if changed:
        judging.later(case, f"changed its input {changed}")
    elif not second.passes:
        which = "the second entry of a batch is wrong" if caller.layout.startswith("B") else "another answer when it was called again"
        judging.later(case, f"{which}: {second.first_wrong.decode(errors='replace')}")
    return None


# ---------------------------------------------------------------- all cases

def low_precision_reference(kernel, dtype):
    table = json.loads((HERE / "golden/low_precision.json").read_text())
    if kernel not in table:
        raise ValueError(f"{kernel} is judged in float32 only; in bfloat16 and float16: {', '.join(table)}")
    return table[kernel][dtype]


def prepare(judging, dtype, seed):
    """The indices of the cases to try. In a shorter type the golden cases are added again with rounded inputs."""
    golden = range(len(judging))
    if dtype == "float32":
        cases = [*golden, *judging.add_random(seed, RANDOM_CASES)]
        added = [judging.add(name, inputs, shape) for name, inputs, shape in model_cases(judging.kernel, seed)]
        return cases + [a for a in added if a >= 0]
    unit = ULPS_OF_FLOAT32[dtype]
    reference = low_precision_reference(judging.kernel, dtype)
    cases = []
    for case in golden:
        inputs, name = judging.inputs(case), judging.name(case)
        if name not in reference:
            continue
        inputs = {key: rounded(value, dtype) if value.dtype == np.float32 and value.ndim else value for key, value in inputs.items()}
        for key in accumulators(judging.kernel):
            if key in inputs:
                inputs[key] = np.zeros_like(inputs[key])
        bound = unit * (LOW_PRECISION_MULTIPLE * reference[name] + LOW_PRECISION_ULPS)
        cases.append(judging.add(name, inputs, judging.expected(case).shape, bound, case))
    for name, inputs, shape in model_cases(judging.kernel, seed):
        inputs = {key: rounded(value, dtype) if value.dtype == np.float32 and value.ndim else value for key, value in inputs.items()}
        bound = unit * (LOW_PRECISION_MULTIPLE * reference["model"] + LOW_PRECISION_ULPS)
        cases.append(judging.add(name, inputs, shape, bound))
    return [case for case in cases if case >= 0]


def loses_digits(results, dtype):
    """Are all wrong answers nearly right? Then the formula is right, and too many digits were lost on the way."""
    wrong = [v for v in results if not v.passes]
    return wrong and all(v.wrong and v.worst == v.worst and v.ulps < 64 * ULPS_OF_FLOAT32[dtype] for v in wrong)


def check(kernel, function, *, device="cpu", dtype="float32", layout="THD", only=None, torch=None, seed=None, source=None, quiet=False):
    """Judges the function on every golden case, on random shapes and on shapes that models have. Prints the report; raises
    WrongKernel, an AssertionError, unless all pass. Returns the Verdict.

    device, dtype: of the torch tensors that the function gets ("cuda"; "bfloat16", "float16").
    layout: of arrays [T][H][D]: "THD", "HTD", "BTHD" or "BHTD".
    only: a function of a Case; cases for which it is false are not claimed, and not judged.
    torch: True or False: tensors or numpy arrays; otherwise the function's code decides.
    seed: of the random cases; the report names it.
    """
    dtype = str(dtype).removeprefix("torch.")
    if dtype not in ULPS_OF_FLOAT32:
        raise ValueError(f"dtype is {dtype!r}: one of {', '.join(ULPS_OF_FLOAT32)}")
    if layout not in LAYOUTS:
        raise ValueError(f"layout is {layout!r}: one of {', '.join(LAYOUTS)}")
    judging = Judging(kernel)
    seed = int(time.time()) % 100000 if seed is None else seed
    names = argument_names(kernel, all_input_names(judging))
    cases = prepare(judging, dtype, seed)
    caller = Caller(kernel, function, device, dtype, layout, torch)
    not_claimed, tried = [], []
    with contextlib.nullcontext() if not caller.torch else caller.torch.no_grad():
        for case in cases:
            inputs = judging.inputs(case)
            if only and not claims(only, Case(kernel, judging.name(case), inputs)):
                not_claimed.append(judging.name(case))
                continue
            tried.append(case)
            answer(judging, case, caller, names, inputs)
    if not tried:
        raise ValueError(f"{kernel}: only= leaves no case: none was judged")
    return conclude(judging, tried, not_claimed, dtype, seed, source or getattr(function, "__name__", type(function).__name__), quiet)


def claims(only, case):
    try:
        return only(case)
    except AttributeError:
        return True  # a dimension that this kernel does not have sets no limit


def conclude(judging, tried, not_claimed, dtype, seed, source, quiet):
    results = [judging.verdict(case) for case in tried]
    cases = [CaseResult(judging.name(c), judging.expected(c).shape, bool(v.passes), v.wrong, v.count, v.worst,
                        v.first_wrong.decode(errors="replace")) for c, v in zip(tried, results)]
    passes = all(case.passes for case in cases)
    mistake, advice = ("", "") if passes else judging.diagnose()
    text = judging.report(source if dtype == "float32" else f"{source}, {dtype}").rstrip()
    if not passes and not mistake and dtype != "float32" and loses_digits(results, dtype):
        advice = (f"The formula is right, but digits are lost on the way: keep sums and everything between the inputs and the output in "
                  f"float32, and round to {dtype} once, at the end.")
        text = "\n".join([*text.splitlines()[: len(cases) + 3], f"  {advice}"])
    if not passes and (not advice or advice.startswith("In case ")):  # which only says where
        _, case, _ = smallest_failing(judging, tried, cases)
        found = misplaced(judging.returned.get(case), judging.expected(case)) or (digits_left(results) if dtype == "float32" else "")
        advice = found or advice
        text += f"\n  {found}" if found else ""
    if not_claimed:
        text += f"\n  Not claimed, and not judged: {', '.join(not_claimed)}."
    text += f"\n  (Random cases of seed {seed}.)" if seed is not None else ""
    verdict = Verdict(judging.kernel, passes, cases, mistake, advice, text, not_claimed)
    if not quiet:
        print(text)
    if not passes:
        raise_wrong(judging, tried, verdict)
    return verdict


def shapes_in_words(kernel, names):
    """"x [rows][dim], weight [dim], eps -> out [rows][dim]", as the contract has it."""
    parameters = {p["name"]: "".join(f"[{size}]" for size in p["shape"]) for p in CONTRACTS[kernel]["parameters"]}
    written = [p["name"] for p in CONTRACTS[kernel]["parameters"] if p["written"] and p["name"] not in names]

    def words(some):
        return ", ".join(f"{name} {parameters.get(name, '')}".strip() for name in some)
    returned = re.search(rf"(\w+) {kernel}\(", CONTRACTS[kernel]["contract"])[1]  # of the C function
    outputs = [words(written)] * bool(written) + [returned] * (returned != "void")
    return f"{kernel}({words(names)})" + (f" -> {', '.join(outputs)}" if outputs else "")


def misplaced(got, expected):
    """Are the numbers right, and in other places? A sentence, or ""."""
    if got is None or got.shape != expected.shape or got.size < 4 or not np.isfinite(expected).all():
        return ""

    def same_numbers(axis):
        return np.allclose(np.sort(got, axis), np.sort(expected, axis), 1e-5, 1e-6)
    if expected.ndim and expected.shape[-1] > 1 and same_numbers(-1):
        return "Your numbers are right, but in other places along the last axis: compare got with expected."
    return "Your numbers are right, but in other places: two axes may be exchanged. Compare got with expected." if same_numbers(None) else ""


def digits_left(results):
    """Most wrong answers are nearly right: a sentence on how many digits they have, or ""."""
    wrong = [v for v in results if not v.passes]
    near = [v.ulps for v in wrong if v.wrong and v.worst == v.worst and v.ulps < 4 * ULPS_OF_FLOAT32["bfloat16"]]
    ulps = sorted(near)[len(near) // 2] if near else 0
    if 2 * len(near) <= len(wrong) or ulps < ULPS_OF_FLOAT32["float16"] / 64:
        return ""
    kept = "float16 or TF32, with 11 bits" if ulps < 4 * ULPS_OF_FLOAT32["float16"] else "bfloat16, with 8 bits"
    return (f"Nearly right in {len(near)} of the {len(wrong)} cases that fail, with about {7.2 - np.log10(ulps):.0f} digits: as if a step "
            f"between the inputs and the output were {kept}. Compute in float32.")


def smallest_failing(judging, tried, results):
    """Its result, its index and the size of its inputs. by_hand has numbers that a reader can follow."""
    failing = [(result, case, sum(np.size(v) for v in judging.inputs(case).values()))
               for case, result in zip(tried, results) if not result.passes]
    return min(failing, key=lambda one: (one[0].name != "by_hand", one[2]))


def raise_wrong(judging, tried, verdict):
    """The first lines: the verdict, the advice, the first wrong number, and the smallest case whole."""
    result, case, size = smallest_failing(judging, tried, verdict.cases)
    passed = sum(one.passes for one in verdict.cases)
    expected, got = judging.expected(case), judging.returned.get(case)
    lines = [f"{verdict.kernel}: {passed} of {len(verdict.cases)} cases pass"]
    if verdict.advice:
        lines.append(verdict.advice + (f" (known mistake: {verdict.mistake})" if verdict.mistake else ""))
    lines.append(f"case {result.name}: {result.words}")
    lines.append(f"  {shapes_in_words(judging.kernel, argument_names(judging.kernel, all_input_names(judging)))}")
    if size <= 64:
        with np.printoptions(precision=6, suppress=False, threshold=64):
            whole = {**judging.inputs(case), "expected": expected, **({} if got is None else {"got": got})}
            lines += [f"  {name} = " + np.array2string(value, separator=", ", prefix=f"  {name} = ") for name, value in whole.items()]
    error = WrongKernel("\n".join(lines))
    error.verdict = verdict
    raise error


# ---------------------------------------------------------------- autograd and modules

def check_backward(kernel, function, **options):
    """Judges what autograd returns for a forward function: check_backward("rms_norm", my_rms_norm). The function has the forward
    kernel's inputs and output; a torch.autograd.Function's apply does as well."""
    import torch
    name = kernel if is_backward(kernel) else f"{kernel}_backward"
    if name not in CONTRACTS:
        known = [k.removesuffix("_backward") for k in CONTRACTS if is_backward(k)]
        raise KeyError(f"{kernel} has no backward kernel here: {', '.join(known)} have one")
    judging = Judging(name)
    names = argument_names(name, all_input_names(judging))
    gradients = accumulators(name)
    upstream = next(n for n in names if n in ("dy", "dout", "dp", "dloss", "dlogits"))
    forward = [n for n in names if n not in (upstream, "out", "lse", "p")]
    if name == "softmax_backward":
        raise KeyError("softmax_backward gets the output p, not x: call check(\"softmax_backward\", f) with f(dp, p)")

    def backward(*values):
        given = dict(zip(names, values))
        with torch.enable_grad():
            leaves = {n: given[n].detach().requires_grad_() for n in forward if torch.is_tensor(given[n]) and given[n].is_floating_point()}
            output = function(*(leaves.get(n, given[n]) for n in forward))
            found = torch.autograd.grad(output, list(leaves.values()), torch.as_tensor(given[upstream], dtype=output.dtype).reshape(output.shape),
                                        allow_unused=True)
        by_name = {f"d{n}": g for n, g in zip(leaves, found)}
        missing = [g for g in gradients if by_name.get(g) is None and g.removeprefix("d") in leaves]
        if missing:
            raise TypeError(f"autograd has no gradient {missing[0]}: the output does not depend on it")
        return {g: by_name.get(g) for g in gradients}

    options.setdefault("source", getattr(function, "__name__", type(function).__name__))
    return check(name, backward, torch=True, **options)


def check_module(kernel, module, *, eps=None, **parameters):
    """Judges a torch.nn.Module: check_module("rms_norm", module, weight="weight", eps="eps"). Each keyword is an input of the kernel,
    its value the module's parameter or attribute; the other inputs are the arguments of forward(). options: those of check()."""
    import torch
    options = {key: parameters.pop(key) for key in ("device", "dtype", "layout", "only", "seed", "quiet") if key in parameters}
    if eps is not None:
        parameters["eps"] = eps
    judging = Judging(kernel)
    names = argument_names(kernel, all_input_names(judging))
    for name in parameters:
        if name not in names:
            raise KeyError(f"{kernel} has no input {name}: it has {', '.join(names)}")

    def forward(*values):
        given = dict(zip(names, values))
        for name, path in parameters.items():
            owner, _, attribute = path.rpartition(".")
            holder = module.get_submodule(owner) if owner else module
            value = given[name]
            if torch.is_tensor(value):
                value = torch.nn.Parameter(value, requires_grad=False)
            setattr(holder, attribute, value)
        return module(*(given[name] for name in names if name not in parameters and given[name] is not None))

    options.setdefault("source", type(module).__name__)
    return check(kernel, forward, torch=True, **options)


def bench(kernel, function, *, device="cpu", dtype="float32", layout="THD", torch=None, seconds=1.0):
    """Judges the function, then times it at a size that models have; the timed output is compared, too. Returns milliseconds."""
    check(kernel, function, device=device, dtype=dtype, layout=layout, torch=torch)
    judging = Judging(kernel)
    names = argument_names(kernel, all_input_names(judging))
    case = max(prepare(judging, dtype, 1), key=lambda c: sum(v.size for v in judging.inputs(c).values()))
    inputs, caller = judging.inputs(case), Caller(kernel, function, device, dtype, layout, torch)
    arguments = [caller.given(inputs.get(name), judging.is_bfloat16(case)) for name in names]
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        caller.synchronize()
        start = time.perf_counter()
        result = function(*arguments)
        caller.synchronize()
        best = min(best, time.perf_counter() - start)
    array = caller.taken(chosen(kernel, result, inputs)[1], judging.expected(case).shape)
    if isinstance(array, str):
        raise WrongKernel(f"{kernel}: the timed call {array}")
    judging.answer(case, array)
    if not judging.verdict(case).passes:
        raise WrongKernel(f"{kernel}: the timed call's output is wrong: {judging.verdict(case).first_wrong.decode()}")
    print(f"{kernel}: {1e3 * best:.3g} ms at {', '.join(f'{k} {list(np.shape(v))}' for k, v in inputs.items() if np.ndim(v))}")
    return 1e3 * best
