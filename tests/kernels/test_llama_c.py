"""The notebooks' bridge: every kernel on every golden case, called through Python and judged by `verify`; then bad calls.

    python tests/kernels/test_llama_c.py        (needs tests/golden/requirements.txt)

Run by make notebooks-check. No kernel and no case is left out.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "notebooks"))
import llama_c as c  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

VERIFY = c.BUILD / "verify"


# ---------------------------------------------------------------- golden cases
# Where a case's inputs or outputs are not the C function's: as tests/judge/NN_*.c does it.

def rope_frequencies(D, length, **fields):
    whole = ("rope_type", "max_position_embeddings", "original_max_position_embeddings")
    lists = {name: np.ascontiguousarray(fields.pop(name), np.float32) for name in ("short_factor", "long_factor") if name in fields}
    fields = {name: int(value) if name in whole else float(value) for name, value in fields.items()}
    fields["keep_fractions"] = bool(fields.pop("keep_fractions", 0))
    fields |= {name: values.ctypes.data for name, values in lists.items()}
    return np.append(*c.rope_frequencies(c.RopeParameters(**fields), length, D=D)).astype(np.float32)


def merge_pair(ids, **numbers):
    merged, count = c.merge_pair(ids, **numbers)
    merged[count:] = -1
    return merged.astype(np.float32)


def cached_attention(cache_k, cache_v, **arguments):
    return c.cached_attention(cache_k=cache_k.clone(), cache_v=cache_v.clone(), **arguments)


def kv_cache_append(cache_k, cache_v, **arguments):
    cache_k, cache_v = cache_k.clone(), cache_v.clone()
    length = c.kv_cache_append(cache_k=cache_k, cache_v=cache_v, **arguments)
    return np.concatenate([cache_k.numpy().ravel(), cache_v.numpy().ravel(), [np.float32(length)]])


def causal_mask(scores):
    scores = scores.clone()
    c.causal_mask(scores=scores)
    return scores.numpy()


def backward(name):
    """The gradient that a case is about is among its inputs, as it was before."""
    def gradient(alone=0, **arguments):
        wanted = next(p.name for p in c.kernels[name].filled if p.name in arguments)
        arguments[wanted] = arguments[wanted].clone()
        c.kernels[name](**arguments)
        return arguments[wanted].numpy()
    return gradient


def activation_backward(derivative, **arguments):
    return backward("activation_backward")(derivative=[c.relu_derivative, c.gelu_derivative, c.silu_derivative][derivative], **arguments)


def flash_attention_lse(of_out, q, k, v):
    lse = np.zeros(q.shape[:2], np.float32)
    out = c.flash_attention_lse(q, k, v, lse=lse)
    return out.reshape(len(q), -1) if of_out else lse


def adamw(weight, m, v, gradient, step, of, **settings):
    """A case goes as many steps as there are gradients, and asks for one of the three arrays."""
    changing = dict(weight=weight.clone(), m=m.clone(), v=v.clone())
    for s, g in enumerate(gradient):
        c.adamw(**changing, gradient=g, step=step + s, **settings)
    return list(changing.values())[of].numpy()


def muon(weight, m, gradient, of, **settings):
    changing = dict(weight=weight.clone(), m=m.clone())
    for g in gradient:
        c.muon(**changing, gradient=g, **settings)
    return list(changing.values())[of].numpy()


# They take a Vocabulary, a map from strings, a Decoder with a model in it, or arrays of arrays: none is an array.
LEFT_OUT = ["bpe_merge", "clip_gradient", "attention_block", "feed_forward_block", "decoder_forward", "decoder_logits"]
ADAPTERS = {
    "causal_mask": causal_mask,
    "kv_cache_append": kv_cache_append,
    "rope_frequencies": rope_frequencies,
    "merge_pair": merge_pair,
    "cached_attention": cached_attention,
    **{f"quantize_{name}": lambda x, name=name: c.kernels[f"quantize_{name}"](x).astype(np.float32)
       for name in ("q8_0", "q4_0", "q4_1", "q5_0", "q5_1")},
    **{f"dot_{name}": lambda weight, x, name=name: np.float32([[c.kernels[f"dot_{name}"](w, row) for w in weight] for row in x])
       for name in ("q8_0", "q4_0", "q4_1", "q5_0", "q5_1")},
    "vocab_parallel_argmax": lambda **arguments: np.float32([c.vocab_parallel_argmax(**arguments)]),
    **{name: backward(name) for name in c.kernels if name.endswith("_backward")},
    "activation_backward": activation_backward,
    "flash_attention_lse": flash_attention_lse,
    "cross_entropy": lambda **arguments: np.float32([c.cross_entropy(**arguments)]),
    "gradient_norm": lambda **arguments: np.float32([c.gradient_norm(**arguments)]),
    "adamw": adamw,
    "muon": muon,
    "learning_rate": lambda at, **arguments: np.float32([c.learning_rate(step=int(step), **arguments) for step in at]),
    "pair_counts": lambda **arguments: c.pair_counts(**arguments).astype(np.float32),
    "feed_forward": lambda activation, **arguments: c.feed_forward(
        activation=[c.relu, c.gelu, c.silu][activation], **arguments),
    "gated_feed_forward": lambda unit, **arguments: c.gated_feed_forward(
        unit=[c.glu, c.bilinear, c.reglu, c.geglu, c.swiglu][unit], **arguments),
}


def outputs(name):
    """Our answer to each golden case of a kernel."""
    cases = {}
    for key, tensor in load_file(ROOT / f"tests/golden/{name}.safetensors").items():
        case, _, argument = key.partition("/")
        if argument not in ("expected", "expected64", "rounding") and not argument.startswith("wrong/"):
            cases.setdefault(case, {})[argument] = tensor if tensor.ndim else tensor.item()
    kernel = ADAPTERS.get(name) or c.kernels[name]
    for case, arguments in cases.items():
        out = torch.from_numpy(kernel(**arguments))
        yield case, out.view(torch.bfloat16) if out.dtype == torch.uint16 else out


def test_golden(scratch):
    listed = [line.split()[0] for line in subprocess.run([VERIFY, "--list"], capture_output=True, text=True,
                                                         check=True).stdout.splitlines()[1:]]
    assert len(listed) > 40, listed
    for name in listed:
        if name in LEFT_OUT:
            continue
        if name not in c.kernels:
            yield f"{name} is in verify --list, and the bridge found no declaration of it"
            continue
        answers = dict(outputs(name))
        mine = scratch / "mine.safetensors"
        save_file(answers, mine)
        verdict = subprocess.run([VERIFY, name, "--check-outputs", mine], capture_output=True, text=True)
        passes = f"PASS: {len(answers)} of {len(answers)} cases pass" in verdict.stdout
        yield None if passes and verdict.returncode == 0 else f"{name}\n{verdict.stdout}{verdict.stderr}"


# ---------------------------------------------------------------- the same call in other forms

def same_answers():
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    weight = np.ones(3, np.float32)
    right = c.rms_norm(np.ascontiguousarray(x[:, ::2]), weight, eps=1e-5)
    yield "every second column", c.rms_norm(x[:, ::2], weight, eps=1e-5), right
    yield "a list", c.rms_norm(x[:, ::2].tolist(), [1, 1, 1], eps=1e-5), right
    ones = torch.ones(3, requires_grad=True)
    yield "torch", c.rms_norm(torch.from_numpy(x)[:, ::2], ones, eps=torch.tensor(1e-5)), right
    yield "by position", c.rms_norm(x[:, ::2], weight, 1e-5), right
    yield "ids of 64 bits", c.pair_counts(np.array([0, 1, 0, 1]), V=2), np.array([[0, 2], [1, 0]])
    room = np.full((4, 4), np.nan, np.float32)
    out = c.attention(x, x, x, scores=room)
    yield "room to work in", c.weighted_sum(room, x), out
    yield "filled where it is", c.causal_mask(scores=room) or room.argmin(1), np.array([1, 2, 3, 0])
    dx, dweight, dbias = c.linear_backward(x[:2], x[2:], np.eye(6, dtype=np.float32))
    yield "all gradients", np.vstack([dx, dweight, dbias]), np.vstack([x[:2], x[:2].T @ x[2:], x[:2].sum(0)])
    yield "no array at all", c.llama_hidden_width(4096, 1.3, 1024), 14336


def test_forms():
    for name, got, right in same_answers():
        yield None if np.array_equal(got, right) else f"{name}: got {got}, expected {right}"


# ---------------------------------------------------------------- bad calls: one clear line, and Python goes on

row, ones = np.ones((1, 4), np.float32), np.ones(4, np.float32)
heads = np.ones((2, 3, 4), np.float32)
BAD = [
    (lambda: c.rms_norm(row, ones[:3], eps=0), "rms_norm: weight has shape (3,), x needs (4,)"),
    (lambda: c.linear(row, np.ones((3, 4), np.float32), ones[:2]), "linear: bias has shape (2,), weight needs (3,)"),
    (lambda: c.rms_norm(ones, ones, eps=0), "rms_norm: x has shape (4,), but it is x[rows][dim]"),
    (lambda: c.rms_norm(row.astype(float), ones, eps=0),
     "rms_norm: x is float64, C reads it as float32: x.astype(np.float32)"),
    (lambda: c.rms_norm(None, ones, eps=0), "rms_norm: x is missing"),
    (lambda: c.rms_norm(row, ones), "rms_norm: eps is missing"),
    (lambda: c.rms_norm(row, ones, eps="small"), "rms_norm: eps is 'small': C wants float"),
    (lambda: c.rms_norm(row, ones, x=row), "rms_norm: x is given twice"),
    (lambda: c.rms_norm_bf16(row, ones, eps=0), "rms_norm_bf16: x is float32, C reads it as uint16: x.astype(np.uint16)"),
    (lambda: c.top_k(ones, 2.5), "top_k: k is 2.5: C wants int"),
    (lambda: c.top_k(ones, 2**32 + 1), "top_k: k is 4294967297: C wants int"),
    (lambda: c.top_k(ones, 0), "top_k: k >= 1 must hold, and here k = 0"),
    (lambda: c.repetition_penalty(ones, [4], 2), "repetition_penalty: ids must be 0 … 3, and here they go from 4 to 4"),
    (lambda: c.pair_counts([0, 1]), "pair_counts: V does not follow from the arguments: give V=…"),
    (lambda: c.grouped_query_attention(heads, heads[:, :2], heads[:, :2]),
     "grouped_query_attention: H % KV == 0 must hold, and here H = 3, KV = 2"),
    (lambda: c.flash_attention(heads, heads[:1], heads[:1]), "flash_attention: T <= S must hold, and here T = 2, S = 1"),
    (lambda: c.rope_half_split(heads[:, :, :3], heads[:, 0, :1], heads[:, 0, :1]),
     "rope_half_split: D % 2 == 0 must hold, and here D = 3"),
    (lambda: c.feed_forward(row, np.ones((2, 4), np.float32), None, np.ones((4, 2), np.float32), None, c.swiglu),
     "feed_forward: activation must be a kernel, one of relu, "),
    (lambda: c.causal_mask(scores=np.ones((4, 4), np.float32).T[::2]),
     "causal_mask: scores is to be filled where it is, but is read-only or not in one piece: copy it first"),
    (lambda: c.causal_mask(scores=np.broadcast_to(np.float32(0), (1, 1))), "causal_mask: scores is to be filled where it is"),
]


def test_refusals():
    for call, message in BAD:
        try:
            yield f"not refused: {message} (the answer was {call()})"
        except ValueError as error:
            yield None if str(error).startswith(message) else f"expected: {message}\n     got: {error}"


def test_missing_library(scratch):
    got = subprocess.run([sys.executable, "-c", "import llama_c"], cwd=ROOT / "notebooks", capture_output=True, text=True,
                         env={"BUILD": str(scratch)}).stderr
    yield None if f"libllama.so is missing: run make " in got else f"without a library: {got}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        results = [*test_golden(Path(folder)), *test_forms(), *test_refusals(), *test_missing_library(Path(folder))]
    failures = [result for result in results if result]
    print(*failures, sep="\n")
    print(f"{len(results) - len(failures)} passed, {len(failures)} failed")
    sys.exit(bool(failures))
