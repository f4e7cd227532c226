"""The package llama_kernels: every kernel through Python, every stored mistake named, PyTorch's own BF16 and F16 kernels right, and the
examples in notebooks/examples run.

    python tests/kernels/test_python.py BUILD        (needs BUILD/libjudge.so, BUILD/libllama.so and PyTorch)

Run by make notebooks-check.
"""
import contextlib
import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = Path(tempfile.mkdtemp())
passed = failed = 0


def build_package(build):
    """What setup.py puts into the wheel, without pip."""
    specification = importlib.util.spec_from_file_location("build_package", ROOT / "notebooks/package.py")
    package = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(package)
    shutil.copytree(ROOT / "notebooks/llama_kernels", FOLDER / "llama_kernels", ignore=shutil.ignore_patterns("__pycache__"))
    package.add_data(build, FOLDER / "llama_kernels")
    sys.path.insert(0, str(FOLDER))


def expect(what, is_so, words=""):
    global passed, failed
    if is_so:
        passed += 1
    else:
        failed += 1
        print(f"WRONG: {what} {words}")


def verdict_of(*arguments, **options):
    try:
        return verify.check(*arguments, quiet=True, **options)
    except verify.WrongKernel as wrong:
        return wrong.verdict


def check_own_kernels(bridge):
    """The course's kernels, called through notebooks/llama_c.py."""
    for name, kernel in bridge.c.kernels.items():
        if name not in verify.kernels() or name in bridge.LEFT_OUT:
            continue
        names = verify.argument_names(name, verify.all_input_names(Judging(name)))
        adapter = bridge.ADAPTERS.get(name, kernel)
        if verify.is_backward(name):
            adapter = activation_backward(bridge.c) if name == "activation_backward" else kernel

        def function(*values, name=name, adapter=adapter, names=names):
            given = {n: torch.from_numpy(v) if isinstance(v, np.ndarray) else v for n, v in zip(names, values) if v is not None}
            result = adapter(**given)
            return torch.from_numpy(result.view(np.int16)).view(torch.bfloat16) if name in BF16 else result
        verdict = verdict_of(name, function, torch=name in BF16, seed=1)
        expect(f"{name}, our own", verdict.passes, verdict.report)


def activation_backward(c):
    derivatives = [c.relu_derivative, c.gelu_derivative, c.silu_derivative]
    return lambda derivative, **rest: c.activation_backward(derivative=derivatives[derivative], **rest)


def stored_mistakes(name):
    """{mistake: {case: what it gives}} of a golden file."""
    from safetensors import safe_open
    found = {}
    with safe_open(ROOT / f"tests/golden/{name}.safetensors", "np" if name not in BF16 else "pt") as file:
        for key in file.keys():
            case, role = key.split("/", 1)
            if role.startswith("wrong/"):
                value = file.get_tensor(key)
                found.setdefault(role[6:], {})[case] = np.asarray(value.float() if hasattr(value, "float") else value, np.float32)
    return found


BF16 = ("rms_norm_bf16", "rms_norm_bf16_round_once")


def check_mistakes():
    for name in verify.kernels():
        for mistake, outputs in stored_mistakes(name).items():
            judging = Judging(name)
            for case in range(len(judging)):
                judging.answer(case, outputs.get(judging.name(case), judging.expected(case)))
            fails = any(not judging.verdict(case).passes for case in range(len(judging)))
            found, advice = judging.diagnose()
            expect(f"{name}: {mistake}", fails and advice, f"is called {found!r}, {advice!r}")


def check_short_types(reference):
    """PyTorch's own kernels pass; zeros, NaN and another pairing of RoPE do not."""
    for name in reference.FORWARD:
        names = verify.argument_names(name, verify.all_input_names(Judging(name)))

        def torchs(*values, name=name, names=names):
            return reference.FORWARD[name](**{n: v for n, v in zip(names, values) if v is not None})
        for dtype in "bfloat16", "float16":
            verdict = verdict_of(name, torchs, torch=True, dtype=dtype, seed=1)
            expect(f"{name} in {dtype}, PyTorch's own", verdict.passes, verdict.report)
            for words, number in ("zeros", 0.0), ("NaN", float("nan")):
                verdict = verdict_of(name, lambda *v, n=number: torch.full_like(torchs(*v), n), torch=True, dtype=dtype, seed=1)
                expect(f"{words} for {name} in {dtype}", not verdict.passes)
    for name in reference.BACKWARD:
        # GELU of PyTorch errs more in its tail than the graph that the golden values come from.
        if name in ("linear", "rope_half_split", "rope_interleaved", "geglu"):
            continue
        verdict = None
        with contextlib.suppress(verify.WrongKernel):
            arguments = verify.argument_names(f"{name}_backward", verify.all_input_names(Judging(f"{name}_backward")))
            forward = [n for n in arguments if n not in ("dy", "dout")]

            def torchs(*values, name=name, forward=forward):
                return reference.FORWARD[name](**dict(zip(forward, values)))
            verdict = verify.check_backward(name, torchs, quiet=True, seed=1) if name != "layer_norm" else True
        expect(f"{name} under autograd", verdict is not None)


def in_bfloat16(x, weight, eps):
    """RMSNorm whose sum is kept in bfloat16."""
    total = torch.zeros_like(x[..., 0])
    for i in range(x.shape[-1]):
        total = total + x[..., i] * x[..., i]
    return x * torch.rsqrt(total / x.shape[-1] + eps)[..., None] * weight


def check_words():
    """What an author is told."""
    def other_pairs(x, cosine, sine):
        first, second = x[..., 0::2], x[..., 1::2]
        cosine, sine = cosine[:, None], sine[:, None]
        return torch.stack([first * cosine - second * sine, second * cosine + first * sine], -1).flatten(-2)
    for dtype in "float32", "bfloat16", "float16":
        expect(f"the other pairing in {dtype}", verdict_of("rope_half_split", other_pairs, dtype=dtype).mistake == "other_pairing")
    expect("a sum in bfloat16", "sums" in verdict_of("rms_norm", in_bfloat16, dtype="bfloat16").advice)
    error = None
    try:
        verify.check("silu", lambda x: x, quiet=True)
    except AssertionError as wrong:
        error = str(wrong)
    expect("an AssertionError", error and "expected" in error and "x = " in error, error)
    expect("what it returned, and its shapes", error and "got = " in error and "silu(x [n])" in error, error)
    stacked = verdict_of("rope_interleaved", lambda x, c, s: torch.cat([x[..., 0::2] * c[:, None] - x[..., 1::2] * s[:, None],
                                                                        x[..., 1::2] * c[:, None] + x[..., 0::2] * s[:, None]], -1))
    expect("halves where pairs stood", stacked.mistake == "written_to_the_other_pairs", stacked.report)
    apart = verdict_of("weighted_sum", lambda w, v: torch.cat([(w @ v)[..., 0::2], (w @ v)[..., 1::2]], -1))
    expect("numbers in other places", "in other places" in apart.advice, apart.report)
    halves = verdict_of("rms_norm", lambda x, w, eps: torch.nn.functional.rms_norm(x.half(), w.shape, w.half(), eps).float())
    expect("a step in float16", "half precision" in halves.advice or "float16" in halves.advice, halves.report)
    method = verdict_of("softmax", lambda x: x.exp() / x.exp().sum(-1, keepdim=True))
    expect("tensors, by what the file imports", method.mistake == "maximum_not_subtracted", method.report)
    line = verdict_of("silu", lambda x: torch.nonsense(x))
    expect("the line that raised", "of test_python.py)" in line.first_wrong.words, line.report)
    half = verdict_of("softmax", lambda x: torch.softmax(x.half(), -1).half(), dtype="bfloat16")
    expect("a result of another type", "returned torch.float16" in half.first_wrong.words)
    heads = verdict_of("grouped_query_attention", lambda q, k, v: attention(q, k, v), torch=True, layout="BHTD")
    expect("a batch of two in BHTD", heads.passes, heads.report)
    first = verdict_of("grouped_query_attention", lambda q, k, v: attention(q[:1], k[:1], v[:1]).expand(q.shape), torch=True, layout="BHTD")
    expect("the first entry of a batch for all", not first.passes)
    changed = verdict_of("silu", lambda x: torch.nn.functional.silu(x, inplace=True).clone(), torch=True)
    expect("an input that is changed", "changed its input" in changed.first_wrong.words, changed.report)
    claimed = verdict_of("rms_norm", lambda x, w, eps: torch.nn.functional.rms_norm(x, w.shape, w, eps),
                         only=lambda case: case.dim % 16 == 0)
    expect("only=", claimed.passes and "left_over" in claimed.not_claimed, claimed.report)


def attention(q, k, v):
    T, S = q.shape[-2], k.shape[-2]
    mask = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)


def check_modules():
    module = torch.nn.RMSNorm(4)
    with contextlib.redirect_stdout(io.StringIO()):
        expect("torch.nn.RMSNorm", verify.check_module("rms_norm", module, weight="weight", eps="eps",
                                                       only=lambda case: case.dim == 4).passes)


def check_inputs():
    """Every input that is no parameter of the C function, nor a member of a struct that it takes, is explained."""
    for name in verify.kernels():
        judging, parameters = Judging(name), CONTRACTS[name]["parameters"]
        takes_a_struct = any(not p["type"].islower() for p in parameters)
        for given in verify.all_input_names(judging).difference(p["name"] for p in parameters):
            expect(f"{name}: what the input {given} is", takes_a_struct or judging.words(given))


def check_exported():
    """Random cases that are computed elsewhere. No golden case has more than five rows."""
    def command(*words):
        run = subprocess.run([sys.executable, "-m", "llama_kernels", *words], cwd=FOLDER, capture_output=True, text=True)
        return run.returncode, run.stdout + run.stderr

    def judged(wrong_row, seed):
        inputs, outputs = np.load(FOLDER / "inputs.npz"), {}
        for case in {name.split("/")[0] for name in inputs.files}:
            x, weight, eps = (inputs[f"{case}/{name}"].astype(np.float64) for name in ("x", "weight", "eps"))
            with np.errstate(all="ignore"):
                outputs[case] = x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight
            outputs[case][wrong_row:] += 1
        np.savez(FOLDER / "outputs.npz", **outputs)
        return command("check", "rms_norm", "--outputs", "outputs.npz", "--random", "8", "--seed", seed)
    code, said = command("export", "rms_norm", "inputs.npz", "--random", "8", "--seed", "7")
    expect("the seed of an export", code == 0 and said.endswith("--random 8 --seed 7\n"), said)
    code, said = judged(1000, "7")
    expect("right outputs", code == 0 and "20 of 20 cases pass" in said, said)
    code, said = judged(5, "7")
    expect("outputs that are wrong from the sixth row on", code == 1 and 'First mistake, in case "random_7_' in said, said)
    code, said = judged(1000, "8")
    expect("another seed", code == 1 and said.count("\n") == 1 and "a random case of seed 7" in said, said)


def check_examples():
    """notebooks/examples, each as its reader runs it: in a Python of its own. What this machine lacks is named and skipped."""
    environment = {**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "1",  # no workers, which a busy machine may lose
                   "TORCHINDUCTOR_CACHE_DIR": str(FOLDER / "inductor"),  # and nothing that an earlier run has left
                   "PYTHONPATH": os.pathsep.join(filter(None, [str(FOLDER), os.environ.get("PYTHONPATH")]))}
    for path in sorted((ROOT / "notebooks/examples").glob("*.py")):
        if path.stem == "compiled" and not shutil.which(os.environ.get("CXX", "g++")):
            print(f"{path.name}: skipped: no C++ compiler")
            continue
        interpreted = {"TRITON_INTERPRET": "1"} if path.stem == "triton_kernel" else {}
        run = subprocess.run([sys.executable, path], env=environment | interpreted, capture_output=True, text=True)
        if run.stderr.startswith("skipped: "):
            print(f"{path.name}: {run.stderr.strip()}")
            continue
        if "CppCompileError" in run.stderr:  # in a folder with a blank, for instance
            print(f"{path.name}: skipped: torch.compile cannot use its C++ compiler here")
            continue
        expect(path.name, run.returncode == 0 and "\nPASS: " in run.stdout, run.stdout + run.stderr)


def load(name, path):
    specification = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


if __name__ == "__main__":
    build_package(Path(sys.argv[1]).resolve())
    from llama_kernels import verify
    from llama_kernels.library import CONTRACTS, Judging
    torch.set_num_threads(2)
    torch.backends.mkldnn.set_flags(False)  # as the golden scripts have it
    check_mistakes()
    check_short_types(load("low_precision", ROOT / "tests/golden/low_precision.py"))
    check_words()
    check_modules()
    check_exported()
    check_inputs()
    check_examples()
    check_own_kernels(load("test_llama_c", ROOT / "tests/kernels/test_llama_c.py"))
    shutil.rmtree(FOLDER)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)
