"""Golden values: what PyTorch answers, and what the well-known mistakes would have answered.

    python tests/golden/golden.py            writes every dump of this folder anew
    python tests/golden/golden.py --check    computes them anew and compares them with the committed ones

The scripts NN_chapter.py beside this file say what is computed. Each describes its kernels with three words:

    kernel = Kernel(name, chapter, source, pytorch, formula)    the right answer, by PyTorch and by hand
    kernel.wrong(name, advice, formula)                         a mistake, and what to do instead
    kernel.wrong_tails(where, formula)                          the same for sums that drop what is no full vector
    kernel.case(name, sentence, x=..., eps=...)                 inputs, named as the C kernel's parameters

The file format is in README.md, the tolerance in common/check.h.
"""
import argparse
import importlib.metadata
import json
import runpy
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
NOT_OURS = {"printing.safetensors", "stories.safetensors", "sentence.safetensors"}  # each by the script of its name


def require_pinned():
    """Other versions round elsewhere, so only the pinned ones can reproduce these numbers."""
    for line in (HERE / "requirements.txt").read_text().splitlines():
        name, equals, pinned = line.partition("==")
        if not equals or line.startswith("#"):
            continue
        try:
            installed = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            installed = "not installed"
        if installed.split("+")[0] != pinned:
            sys.exit(f"error: the golden values are {name} {pinned}'s, and here {name} is {installed}: "
                     f"make venv")


require_pinned()
import numpy as np  # noqa: E402
import torch  # noqa: E402
from safetensors import SafetensorError, safe_open  # noqa: E402

torch.set_num_threads(1)
# PyTorch's own kernels compute the same bits on AVX2 and AVX-512. oneDNN's do not: its GELU is another
# approximation on each, and NaN at +infinity.
torch.backends.mkldnn.set_flags(False)


class GoldenError(Exception):
    """A case that would make a bad test."""


# --- The tolerance of common/check.h -----------------------------------------------------------------------

CHECK_MULTIPLE, CHECK_ULPS, CHECK_ROUNDINGS = 4.0, 4.0, 4.0
ROUNDING = 2.0**-24     # of a float32, relative
DRAWS = 6               # of roundings
CLEARLY = 3.0           # a wrong answer is stored where it is at least this many tolerances away …
BLURRED = 0.5           # … and its own rounding errors are at most this much of a tolerance
MOST_WITH_TWINS = 400   # a case with more outputs than this stores no wrong answers, to stay small
NOISE = 1e-5            # what another order of a float32 sum may do, generously: relative
ELSEWHERE = 16          # how many times larger PyTorch's error may be on another machine; 9 was seen


def ulp(scale):
    """A unit in the last place of a float32 of this size; below 2^-126 they all are 2^-149."""
    return np.ldexp(1.0, np.frexp(np.maximum(scale, 2.0**-126))[1] - 24)


def distance(got, right, mixes=False, tolerance=1, rounding=None):
    """The largest error of `got` in ulps of its row's scale; infinite if a NaN or infinity is out of place. Or in tolerances,
    each so many ulps, or what rounding does to the row if that is more.

    The last axis is a row; a vector comes from a pointwise kernel, and each of its elements is a row, unless it mixes."""
    got, right = (rows_of(tensor, mixes).double().numpy() for tensor in (got, right))
    scale = np.max(np.abs(right), axis=1, keepdims=True, where=np.isfinite(right), initial=0)
    allowed = tolerance * ulp(scale)
    if rounding is not None:
        allowed = np.maximum(allowed, rounding.double().numpy()[:, None])
    with np.errstate(invalid="ignore"):
        errors = np.abs(got - right) / allowed
    same = (got == right) | (np.isnan(got) & np.isnan(right))
    return np.where(same, 0, np.where(np.isfinite(got) & np.isfinite(right), errors, np.inf)).max()


def can_move(tensor):
    return tensor.dtype is torch.float32 and tensor.ndim > 0


def rows_of(tensor, mixes):
    return tensor.reshape(-1, tensor.shape[-1] if tensor.ndim > 1 or mixes else 1)


def same(got, right):
    return torch.allclose(got, right, rtol=0, atol=0, equal_nan=True)


# --- Inputs ------------------------------------------------------------------------------------------------
# Drawn by numpy, whose generator gives the same bits everywhere; the input's full name is the seed.

def normal(*shape, scale=1, shift=0):
    """Normal numbers; scale and shift may be a column, [[1], [100]], and then are each row's own."""
    return lambda random: shift + np.multiply(scale, random.standard_normal(shape))


def uniform(low, high, *shape):
    return lambda random: random.uniform(low, high, shape)


def as_tensor(value, dtype, random):
    """What is stored: a float is a rank-0 F32, an int a rank-0 I64, a tensor what it is, anything else has the
    kernel's dtype."""
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, int):
        return torch.tensor(value)
    if isinstance(value, float):
        return torch.tensor(value, dtype=torch.float32)
    array = np.asarray(value(random) if callable(value) else value, dtype=np.float64)
    return torch.from_numpy(array).to(torch.float32).to(dtype)


def evaluate(function, inputs, dtype, **more):
    """function(inputs). A scalar arrives as the number that its stored float32 is, in either precision; what
    the function makes itself, such as torch.arange(4) / 4, has that precision too. A NaN has many spellings, and
    which of them comes out depends on the processor: all become one."""
    torch.set_default_dtype(torch.float64 if dtype is torch.float64 else torch.float32)
    arguments = {name: tensor.item() if tensor.ndim == 0 else tensor.to(dtype)
                 for name, tensor in inputs.items()}
    result = function(**arguments, **more)
    return None if result is None else torch.where(result.isnan(), np.nan, result.detach()).contiguous()


# --- Sums --------------------------------------------------------------------------------------------------

def summed_in_half(terms):
    """The sums of the last axis, kept in float16: each number that is added is rounded."""
    total = torch.zeros_like(terms[..., 0])
    for term in terms.unbind(-1):
        total = (total + term).half().to(terms.dtype)
    return total


# --- Roundings of a single number ----------------------------------------------------------------------------

ERF_ERROR = 12 * ROUNDING  # of an erf of float32, beside 1: PyTorch's own, in vectors, errs by up to 9 roundings


def in_kept_lanes(x, lanes, kept):
    """What is left where only some lanes of a vector are added up at the end, and the numbers that fill no vector."""
    number = torch.arange(x.shape[1])
    return torch.where((number % lanes < kept) | (number >= x.shape[1] // lanes * lanes), x, 0)


def gelu_rounding(x):
    """Of x (1 + erf(x / sqrt(2))) / 2, whose two terms cancel where x is negative."""
    return ERF_ERROR * x.abs() * (1 + torch.erf(x / 2**0.5).abs()) / 2


def gelu_slope_rounding(x):
    return ERF_ERROR * ((1 + torch.erf(x / 2**0.5).abs()) / 2 + x.abs() * torch.exp(-x * x / 2) / (2 * torch.pi)**0.5)


# --- Kernels -----------------------------------------------------------------------------------------------

@dataclass
class Twin:
    """The output of a mistake: how far it is from right and how far from itself in float64, in tolerances."""
    output: torch.Tensor
    apart: float
    blur: float


@dataclass
class Case:
    name: str
    inputs: dict               # parameter -> tensor
    expected: torch.Tensor
    expected64: torch.Tensor   # None where one answer alone is right
    error: float               # PyTorch's own, in ulps
    rounding: torch.Tensor     # what float32 may do to each row; None where nothing is summed
    mistakes: dict             # mistake -> Twin
    mixes: bool                # the numbers of a vector are one row

    def tolerances(self, got, right):
        """How far two outputs are apart. An exact one is right to the bit, or infinitely wrong."""
        if self.expected64 is None:
            return 0.0 if same(got, right) else np.inf
        return distance(got, right, self.mixes, CHECK_MULTIPLE * self.error + CHECK_ULPS, self.rounding)

    def twins(self, margin=1):
        """The wrong answers worth storing. One that is mostly rounding error comes out differently elsewhere
        and could not be recognized. With a margin: what any machine would store (> 1), or some (< 1)."""
        return {name: twin.output for name, twin in self.mistakes.items()
                if twin.apart >= CLEARLY * margin and twin.blur <= BLURRED / margin}

    def tensors(self, margin=1):
        stored = dict(self.inputs, expected=self.expected)
        if self.expected64 is not None:
            stored["expected64"] = self.expected64
        if self.rounding is not None:
            stored["rounding"] = self.rounding
        stored |= {f"wrong/{name}": output for name, output in self.twins(margin).items()}
        return {f"{self.name}/{name}": tensor for name, tensor in stored.items()}


class Kernel:
    """One kernel's golden file.

    pytorch    the reference, on torch tensors
    formula    the same, spelled out as the lesson spells it. It must agree with `pytorch` on every case, so
               that the wrong formulas beside it can be trusted to be wrong only where they mean to be.
               A bf16 kernel's takes `noise`, a factor on its float32 inside, and must not depend on it.
    exact      there is one right answer, to the bit, as in bf16: what is rounded is rounded by definition. Nobody must
               get another by computing in float64 up to there, so the formula does not, either.
    library    what is asked, where it is not PyTorch
    sums       each number is a sum, of as many terms as the inputs' longest dimension has, or fewer. If not, it comes of a
               few operations alone; and if it is None, of none that rounds
    rounding   how far roundings may move each number, where the inputs' own do not show it
    mixes      a vector is one row, and no pointwise kernel's: the gradient of a weight, say"""
    all = []

    def __init__(self, name, chapter, source, pytorch, formula, dtype=torch.float32, exact=False, library=None,
                 mixes=False, sums=True, rounding=None):
        self.name, self.chapter, self.source, self.dtype, self.library = name, chapter, source, dtype, library
        self.exact = exact or dtype is not torch.float32
        self.pytorch, self.formula, self.mixes, self.sums, self.rounding = pytorch, formula, mixes, sums, rounding
        self.mistakes, self.cases, self.spellings = {}, {}, {}
        self.file = f"{name}.safetensors"
        Kernel.all.append(self)

    def agrees(self, name, function):
        """Another spelling in PyTorch, which must give the very same bits on every case."""
        self.spellings[name] = function

    def wrong(self, name, advice, formula):
        place = f"chapters/{self.chapter}" if self.chapter[0].isdigit() else f"{self.chapter}/{self.name}.h"
        remark = ', "Common mistakes"' if self.chapter[0].isdigit() else ""
        self.mistakes[name] = (f"{advice}: see {place}{remark}.", formula)

    def wrong_tails(self, where, formula):
        """Sums in vectors of 4, 8 or 16 that drop the rest: formula(full, **inputs) with full(n) numbers summed."""
        for lanes in 4, 8, 16:
            self.wrong(f"tail_of_{lanes}_dropped",
                       f"Your {where} ends with the last full vector of {lanes}. Add the numbers that are left over, "
                       "too",
                       lambda lanes=lanes, **inputs: formula(lambda n: n // lanes * lanes, **inputs))

    def case(self, name, sentence, seed=0, **inputs):
        self.cases[name] = (sentence, seed, inputs)

    def metadata(self):
        return {"kernel": self.name, "chapter": self.chapter, "source": self.source,
                "torch": torch.__version__.split("+")[0], "numpy": np.__version__,
                **({"library": f"{self.library} {importlib.metadata.version(self.library)}"} if self.library else {}),
                **{f"case/{name}": sentence for name, (sentence, *_) in self.cases.items()},
                **{f"wrong/{name}": advice for name, (advice, _) in self.mistakes.items()}}

    def compute(self):
        cases = [self.compute_case(name, seed, inputs) for name, (_, seed, inputs) in self.cases.items()]
        self.require_distinct_twins(cases)
        return cases

    def compute_case(self, name, seed, inputs):
        def refuse(why):
            raise GoldenError(f"{self.name}, case {name}: {why}")

        inputs = {parameter: as_tensor(value, self.dtype, np.random.default_rng(
                      list(f"{self.name} {name} {parameter} {seed}".encode())))
                  for parameter, value in inputs.items()}
        exact = self.exact
        expected = evaluate(self.pytorch, inputs, self.dtype)
        expected64 = None if exact else evaluate(self.pytorch, inputs, torch.float64)
        right = expected if exact else expected64
        error = 0.0 if exact else distance(expected, expected64, self.mixes)
        rounding = None if exact else self.rounding_of(name, inputs, expected64)
        case = Case(name, inputs, expected, expected64, error, rounding, {}, self.mixes)

        if error == np.inf:
            refuse("float32 and float64 disagree on where the answer is finite")
        for spelling, function in self.spellings.items():
            if raw(evaluate(function, inputs, self.dtype)) != raw(expected):
                refuse(f"{spelling} does not give the same bits")
        if exact and not same(evaluate(self.formula, inputs, self.dtype), expected):
            refuse("the formula does not give the reference's bits")
        if exact and not self.steady(self.formula, inputs):
            refuse("an output lies near a tie, where noise flips its last bit: choose another seed")
        if not exact and distance(evaluate(self.formula, inputs, torch.float64), right, self.mixes) > (1 + error) / 100:
            refuse("the formula in float64 is not PyTorch's")
        if case.tolerances(torch.zeros_like(expected), right) < CLEARLY:
            refuse("all zeros would pass, or nearly")

        for mistake, (_, formula) in self.mistakes.items() if expected.numel() <= MOST_WITH_TWINS else ():
            output = evaluate(formula, inputs, self.dtype)
            if output is None:
                continue
            if (output.shape, output.dtype) != (expected.shape, expected.dtype):
                refuse(f"the twin {mistake} is {output.dtype} {list(output.shape)}")
            if exact:
                blur = 0.0 if self.steady(formula, inputs) else np.inf
            else:
                blur = case.tolerances(output, evaluate(formula, inputs, torch.float64))
            case.mistakes[mistake] = Twin(output, case.tolerances(output, right), blur)
        return case

    def rounding_of(self, case, inputs, right):
        """How far each row may be from the answer because float32 rounds, in whatever order: common/check.h says why.

        Every input is moved by half an ulp at most, up or down at random, and once all up; all in float64. Where an answer
        jumps, as between two equal logits, it does not move in proportion, and gets nothing for it. No answer gets more than
        2^-8 of the largest: that is no rounding to its reader."""
        if self.rounding:
            moves = [evaluate(self.rounding, inputs, torch.float64).abs().nan_to_num(0, 0, 0)]
        elif self.sums is None or (right.ndim < 2 and not self.mixes) or not any(map(can_move, inputs.values())):
            return None
        else:
            random = np.random.default_rng(list(f"{self.name} {case} rounding".encode()))
            terms = max((size for tensor in inputs.values() for size in tensor.shape), default=1) if self.sums else 1
            moves = [CHECK_ROUNDINGS * terms**0.5 * self.moved(inputs, right, random, draw == DRAWS) for draw in range(DRAWS + 1)]
        largest = torch.where(right.isfinite(), right, 0.0).abs().max()
        return rows_of(torch.stack(moves).amax(0).clamp(max=largest / 256), self.mixes).amax(1).float()

    def moved(self, inputs, right, random, all_up):
        signs = {name: torch.from_numpy(np.where(all_up | (random.random(tensor.shape) < 0.5), 1.0, -1.0))
                 for name, tensor in inputs.items() if can_move(tensor)}
        little, less = ((evaluate(self.pytorch, {name: tensor.double() * (1 + by * signs[name]) if name in signs else tensor
                                                 for name, tensor in inputs.items()}, torch.float64) - right).abs() / by
                        for by in (ROUNDING, ROUNDING / 1024))
        return ROUNDING * torch.where((little < 3 * less) & (less < 3 * little), little, 0.0)

    def steady(self, formula, inputs):
        """Whether an exact formula gives the same bits whatever the order of its float32 sums, or in float64."""
        if self.dtype is torch.float32:
            return same(evaluate(formula, inputs, torch.float32), evaluate(formula, inputs, torch.float64).float())
        low, right, high = (evaluate(formula, inputs, self.dtype, noise=noise)
                            for noise in (1 - NOISE, 1, 1 + NOISE))
        return same(low, right) and same(high, right)

    def require_distinct_twins(self, cases):
        """A twin is named when an output matches it wherever it is stored: no other may match there too."""
        stored = [(case, case.twins()) for case in cases]
        for one in self.mistakes:
            if not any(one in twins for _, twins in stored):
                raise GoldenError(f"{self.name}: the twin {one} is clearly wrong in no case")
            for other in self.mistakes.keys() - {one}:
                telling = [case for case, twins in stored if self.can_tell(case, twins, one, other)]
                if telling and not any(case.tolerances(case.mistakes[one].output, case.mistakes[other].output) >= CLEARLY
                                       for case in telling):
                    raise GoldenError(f"{self.name}: no case tells the twins {one} and {other} apart")

    @staticmethod
    def can_tell(case, twins, one, other):
        """Both are known there, and one is stored: where the other is right, that tells as well."""
        return (not {one, other}.isdisjoint(twins)
                and all(name in case.mistakes and case.mistakes[name].blur <= BLURRED for name in (one, other)))


# --- Files -------------------------------------------------------------------------------------------------

DTYPE_NAMES = {torch.float64: "F64", torch.float32: "F32", torch.bfloat16: "BF16", torch.int64: "I64",
               torch.int32: "I32", torch.uint8: "U8"}


def save(path, tensors, metadata):
    """A safetensors file. The safetensors library's own writer shuffles the metadata from run to run; here
    the same tensors are always the same bytes. Wide elements first, so that every tensor is aligned."""
    header, offset = {"__metadata__": metadata}, 0
    ordered = sorted(tensors.items(), key=lambda item: -item[1].element_size())
    for name, tensor in ordered:
        end = offset + tensor.nbytes
        header[name] = {"dtype": DTYPE_NAMES[tensor.dtype], "shape": tensor.shape,
                        "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % 64)
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(raw(tensor) for _, tensor in ordered))
    if load(path)[1] != metadata:
        raise GoldenError(f"{path.name}: the safetensors library does not read what was written")


def raw(tensor):
    return tensor.reshape(-1).view(torch.uint8).numpy().tobytes()


def load(path):
    with safe_open(path, "pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()


def compare(committed, metadata, kernel, cases):
    """What is wrong with a committed file, one line each.

    Inputs and exact answers must be the same bits; expected64 the same to 1e-12. A float32 answer was perhaps computed
    with other vector units, whose erf is another approximation, and may err some times more than PyTorch does
    here. It is judged by the error found here, for the committed one could be forged."""
    ours = kernel.metadata()
    for key in metadata | ours:
        if metadata.get(key) != ours.get(key):
            yield f"metadata {key}: {metadata.get(key)!r} is committed, {ours.get(key)!r} computed"
    must = {name: tensor for case in cases for name, tensor in case.tensors(ELSEWHERE).items()}
    may = {name: (case, tensor) for case in cases for name, tensor in case.tensors(1 / ELSEWHERE).items()}
    for name in sorted(must.keys() - committed.keys()):
        yield f"{name} is computed, but not committed"
    for name, theirs in committed.items():
        if name not in may:
            yield f"{name} is committed, but not computed"
            continue
        case, tensor = may[name]
        kind = name.removeprefix(f"{case.name}/")
        if (theirs.dtype, theirs.shape) != (tensor.dtype, tensor.shape):
            yield (f"{name}: {theirs.dtype} {list(theirs.shape)} is committed, "
                   f"{tensor.dtype} {list(tensor.shape)} computed")
        elif kind in case.inputs or case.expected64 is None:
            if raw(theirs) != raw(tensor):
                yield f"{name}: not the same bits{first_difference(theirs, tensor)}"
        else:
            if kind == "rounding":
                if not torch.allclose(theirs, tensor, rtol=0.01, atol=0):
                    yield f"{name}: another bound{first_difference(theirs, tensor)}"
                continue
            allowed = {"expected64": 1e-12 * 2**24, "expected": ELSEWHERE * case.error + CHECK_ULPS}.get(
                kind, 2 * (ELSEWHERE * case.error + CHECK_ULPS))  # a twin, with rounding errors of its own
            ulps = distance(theirs, case.expected64 if kind == "expected" else tensor, case.mixes)
            if ulps > allowed:
                where = first_difference(theirs, tensor)
                yield f"{name}: {ulps:.3g} ulps apart, {allowed:.3g} allowed{where}"


def recomputed(path, tensors, metadata, relative={}):
    """What is wrong with a committed file of a whole model's numbers, one line each. Whole numbers must be the same bytes,
    what float64 computed and float32 keeps one unit in the last place apart at most, since float64 is the same to 1e-12;
    `relative` names what is compared by the share it differs. An error ulps/NAME may be some times larger elsewhere."""
    if not path.exists():
        yield "not committed"
        return
    theirs, said = load(path)
    if theirs.keys() != tensors.keys() or said.keys() != metadata.keys():
        yield "other tensors"
        return
    for key, right in tensors.items():
        if not right.dtype.is_floating_point:
            if raw(theirs[key]) != raw(right):
                yield f"other {key}"
        elif key in relative:
            if not torch.allclose(theirs[key], right, rtol=relative[key]):
                yield f"{key}: {theirs[key].tolist()} are committed, {right.tolist()} computed"
        elif distance(theirs[key], right, mixes=True) > 1:
            yield f"{key}: {distance(theirs[key], right, mixes=True):.3g} ulps apart"
    for key, value in metadata.items():
        if key.startswith("ulps/"):
            if float(said[key]) > ELSEWHERE * float(value) + CHECK_ULPS:
                yield f"{key}: {said[key]} is committed, {value} computed"
        elif said[key] != value:
            yield f"metadata {key}: {said[key]!r} is committed, {value!r} computed"


def first_difference(theirs, ours):
    different = (theirs != ours) & ~((theirs != theirs) & (ours != ours))
    if not different.any():
        return ""
    index = tuple(torch.nonzero(different)[0].tolist())
    return f"; first at {list(index)}: {theirs[index].item()!r} is committed, {ours[index].item()!r} computed"


# --- The program -------------------------------------------------------------------------------------------

def write(kernels, verbose):
    computed = [(kernel, kernel.compute()) for kernel in kernels]  # all of them before the first is written
    total = 0
    for kernel, cases in computed:
        path = HERE / kernel.file
        tensors = {name: tensor for case in cases for name, tensor in case.tensors().items()}
        save(path, tensors, kernel.metadata())
        size = path.stat().st_size
        total += size
        worst = max(case.error for case in cases)
        print(f"{kernel.file:38} {len(cases):3} cases {len(kernel.mistakes):3} twins {size / 1000:6.1f} kB"
              f"   PyTorch's worst error {worst:.1f} ulps")
        for case in cases if verbose else ():
            shape = str(list(case.expected.shape))
            print(f"    {case.name:24} {shape:12} {case.error:10.2f} ulps   {' '.join(case.twins())}")
    print(f"{len(computed)} files, {total / 1000:.0f} kB")


def check(kernels):
    passed = failed = 0
    on_disk = {path.name for path in HERE.glob("*.safetensors")} - NOT_OURS
    for name in sorted(on_disk | {kernel.file for kernel in kernels}):
        kernel = next((kernel for kernel in kernels if kernel.file == name), None)
        if kernel is None:
            wrong = ["no script computes it"]
        elif name not in on_disk:
            wrong = ["computed, but not committed"]
        else:
            try:
                cases = kernel.compute()
                wrong = list(compare(*load(HERE / name), kernel, cases))
            except (GoldenError, SafetensorError) as error:
                wrong = [str(error)]
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        print(f"FAIL {name}: {wrong[0]}{more}" if wrong else f"ok   {name}: {len(cases)} cases")
        passed, failed = passed + (not wrong), failed + bool(wrong)
    print(f"{passed} passed, {failed} failed")
    return failed == 0


def main():
    parser = argparse.ArgumentParser(description="Compute the golden values of this folder with PyTorch.")
    parser.add_argument("--check", action="store_true",
                        help="write nothing: compare with the committed files")
    parser.add_argument("-v", "--verbose", action="store_true",
                        help="list every case, PyTorch's error in it and its twins")
    options = parser.parse_args()
    try:
        for script in sorted(HERE.glob("[0-9][0-9]_*.py")):
            runpy.run_path(str(script))
        if options.check:
            return 0 if check(Kernel.all) else 1
        write(Kernel.all, options.verbose)
    except GoldenError as error:
        sys.exit(f"error: {error}")
    return 0


if __name__ == "__main__":
    import golden  # the module that the scripts import, not the copy of it that is called __main__

    sys.exit(golden.main())
