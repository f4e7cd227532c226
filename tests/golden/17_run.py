"""Chapter 17: a hundred steps of training by PyTorch, from the weights and on the batches that build/train has.

    python tests/golden/17_run.py            writes run/ anew
    python tests/golden/17_run.py --check    computes it anew and compares it with what is committed

run/NAME.safetensors is of a run, whose model is one of chapter 9:

    losses        [STEPS]  the mean cross entropy of each step, as PyTorch's float32 has it
    losses/float64         the same in float64
    each weight's name     what it is after the last step, as float64 has it, rounded to float32 once

and as metadata `model` and `options`, what build/train is given, and ulps/NAME, how far PyTorch's own float32 is from that.
words.safetensors, answers.safetensors and hints.safetensors are what is learned from: tokens, and how much each counts.

The run called muon is by torch.optim.Muon and AdamW. Muon's rounding to bfloat16 is left out, as in 17_training.py; with
it, another hundred steps tell what it does: metadata bfloat16.

Which sequences a step reads is worked out here once more, from the seed: chapters/17_training/mixture.h says how.
"""
import math
import sys
from importlib import import_module
from pathlib import Path
from unittest import mock

from golden import distance, recomputed, save
import numpy as np
import torch
import torch.nn.functional as F
import transformers

decoder = import_module("09_decoder")
RUN = Path(__file__).resolve().parent / "run"
STEPS, BATCH, T, SEED = 100, 4, 24, 7
RATE, WARMUP, LOWEST, DECAY, BETAS, EPS, CLIP = 0.003, 10, 0.0002, 0.1, (0.9, 0.95), 1e-8, 1.0
DOCUMENTS = {"words": 40, "answers": 12, "hints": 12}
MUON, MOMENTUM = 0.02, 0.95
# Each run's model, files with their weights in the mixture, and what else it is given. llama1 is untied, and each head has
# its own keys; llama32 tied, with grouped queries and scaled RoPE; the projections of biases have some.
RUNS = {"llama1": ("llama1", {"words": 3, "answers": 1}, ""),
        "llama32": ("llama32", {"words": 3, "answers": 1}, ""),
        "counted": ("llama32", {"words": 1, "hints": 2}, " --in-order"),
        "biases": ("biases", {"words": 3, "answers": 1}, ""),
        "muon": ("llama32", {"words": 3, "answers": 1}, f" --muon {MUON}")}

OPTIONS = (f"--steps {STEPS} --batch {BATCH} --length {T} --seed {SEED} --rate {RATE} --warmup {WARMUP} "
           f"--lowest {LOWEST} --decay {DECAY} --beta1 {BETAS[0]} --beta2 {BETAS[1]} --eps {EPS} --clip {CLIP}")


# --- What is learned from ----------------------------------------------------------------------------------

def tokens():
    """Words: four tokens again and again, with some noise. Answers: the second half is the first, and alone is told.
    Hints: the same, but the first half counts a tenth, and each fourth token of the second three times."""
    random = np.random.default_rng(list(b"16_run"))
    words = np.stack([np.tile(random.integers(2, 64, 4), T // 4) for _ in range(DOCUMENTS["words"])])
    noise = random.random(words.shape) < 0.1
    words[noise] = random.integers(2, 64, noise.sum())
    first = random.integers(2, 64, (DOCUMENTS["answers"], T // 2))
    learned = np.arange(T) >= T // 2
    counts = np.where(learned, np.where(np.arange(T) % 4 == 3, 3.0, 1.0), 0.1)
    answers = torch.from_numpy(np.concatenate([first, first], axis=1)).int()
    return {"words": {"ids": torch.from_numpy(words).int()},
            "answers": {"ids": answers, "learned": torch.from_numpy(np.tile(learned, (len(first), 1))).to(torch.uint8)},
            "hints": {"ids": answers, "learned": torch.from_numpy(np.tile(counts, (len(first), 1))).float()}}


# --- In which order ----------------------------------------------------------------------------------------

MASK = 2**64 - 1


def splitmix(state):
    """SplitMix64: numbers of 64 bits without end."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield z ^ (z >> 31)


def shuffled(source, epoch, count):
    """Fisher and Yates, with a generator of its own for each file and epoch."""
    state = next(splitmix((next(splitmix(SEED)) + source) & MASK))
    random = splitmix(next(splitmix((state + epoch) & MASK)))
    order = list(range(count))
    for i in range(count, 1, -1):
        other = next(random) % i
        order[i - 1], order[other] = order[other], order[i - 1]
    return order


def sequences(weights, in_order):
    """(file, document) of each sequence: the file that lags most behind its share is next. A document is as long as a
    sequence: packed in a random order, then read in another one each time; or both as they stand there."""
    names, credit, drawn = list(weights), [0.0] * len(weights), [0] * len(weights)
    shares = [weight / sum(weights.values()) for weight in weights.values()]
    order = (lambda i, epoch, count: range(count)) if in_order else shuffled
    packed = [order(i, MASK, DOCUMENTS[name]) for i, name in enumerate(names)]
    while True:
        credit = [c + share for c, share in zip(credit, shares)]
        source = credit.index(max(credit))
        credit[source] -= 1
        epoch, place = divmod(drawn[source], len(packed[source]))
        yield names[source], packed[source][order(source, epoch, len(packed[source]))[place]]
        drawn[source] += 1


def batches(weights, in_order):
    """Ids, and how much each of them counts."""
    data, order = tokens(), sequences(weights, in_order)
    for _ in range(STEPS):
        rows = [(name, document) for name, document in (next(order) for _ in range(BATCH))]
        yield (torch.stack([data[name]["ids"][document].long() for name, document in rows]),
               torch.stack([data[name].get("learned", torch.ones(DOCUMENTS[name], T))[document] for name, document in rows]))


# --- The training ------------------------------------------------------------------------------------------

def rate(step):
    if step <= WARMUP:
        return RATE * step / WARMUP
    return LOWEST + (RATE - LOWEST) * (1 + math.cos(math.pi * (step - WARMUP) / (STEPS - WARMUP))) / 2


def optimizers(model, by_muon):
    """With the rate of each, as a share of AdamW's."""
    of_layers = {name for name, p in model.named_parameters() if by_muon and p.dim() == 2 and "layers." in name}
    others = [(p.dim(), p) for name, p in model.named_parameters() if name not in of_layers]
    groups = [{"params": [p for rank, p in others if rank > 1], "weight_decay": DECAY},
              {"params": [p for rank, p in others if rank == 1], "weight_decay": 0.0}]
    yield torch.optim.AdamW(groups, betas=BETAS, eps=EPS), 1.0
    if by_muon:
        yield torch.optim.Muon([p for name, p in model.named_parameters() if name in of_layers], momentum=MOMENTUM,
                               weight_decay=DECAY), MUON / RATE


def train(run, dtype):
    name, files, more = RUNS[run]
    model = decoder.open_model(decoder.MODELS / name, dtype)
    steppers, losses = list(optimizers(model, "--muon" in more)), []
    for step, (ids, counts) in enumerate(batches(files, "--in-order" in more), start=1):
        logits = model(ids, use_cache=False).logits[:, :-1]
        each = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
        weights = counts[:, 1:].flatten().to(dtype)
        loss = (each * weights).sum() / weights.sum()
        model.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        for optimizer, share in steppers:
            for group in optimizer.param_groups:
                group["lr"] = rate(step) * share
            optimizer.step()
        losses.append(loss.item())
    return losses, {key: parameter.detach() for key, parameter in model.named_parameters()}


def rounded_to_bfloat16(run, weights):
    """What PyTorch's rounding does: how far the weights end from those without it, beside how far they have gone."""
    begun = dict(decoder.open_model(decoder.MODELS / RUNS[run][0], torch.float64).named_parameters())
    _, theirs = train(run, torch.float64)
    way, apart = (sum((one[key] - weights[key]).square().sum() for key in weights).sqrt() for one in (begun, theirs))
    return f"{(apart / way).item():.2f}"


def compute(run):
    with mock.patch.object(torch.Tensor, "bfloat16", torch.Tensor.clone):
        (losses32, single), (losses64, double) = (train(run, dtype) for dtype in (torch.float32, torch.float64))
    tensors = {"losses": torch.tensor(losses32), "losses/float64": torch.tensor(losses64, dtype=torch.float64)}
    tensors |= {key: tensor.float().contiguous() for key, tensor in double.items()}
    name, files, more = RUNS[run]
    metadata = {"model": name, "data": " ".join(f"{file}:{weight}" for file, weight in files.items()),
                "options": OPTIONS + more, "torch": torch.__version__.split("+")[0],
                "transformers": transformers.__version__, "numpy": np.__version__,
                "source": "torch.optim through transformers LlamaForCausalLM"}
    metadata |= {"bfloat16": rounded_to_bfloat16(run, double)} if "--muon" in more else {}
    ulps = {f"ulps/{key}": f"{distance(single[key], double[key], mixes=True):.3f}" for key in double}
    return tensors, metadata | ulps


# --- The program -------------------------------------------------------------------------------------------

def main():
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    check, failed = "--check" in sys.argv[1:], 0
    RUN.mkdir(exist_ok=True)
    files = {name: (tensors, {}) for name, tensors in tokens().items()} | {name: compute(name) for name in RUNS}
    for stranger in sorted({path.stem for path in RUN.iterdir()} - files.keys()):
        print(f"FAIL run/{stranger}: no file of that name")
        failed += 1
    for name, (tensors, metadata) in files.items():
        path = RUN / f"{name}.safetensors"
        if check:
            wrong = list(recomputed(path, tensors, metadata, {"losses": 1e-5}))
            print(f"FAIL run/{name}: {wrong[0]}" if wrong else f"ok   run/{name}")
            failed += bool(wrong)
            continue
        save(path, tensors, metadata)
        worst = max((float(value) for key, value in metadata.items() if key.startswith("ulps/")), default=0)
        more = f"; bfloat16 leads {metadata['bfloat16']} of the way elsewhere" if "bfloat16" in metadata else ""
        print(f"run/{name:10} {path.stat().st_size / 1000:6.1f} kB   PyTorch's worst float32 error {worst:.1f} ulps{more}")
    if check:
        print(f"{len(files) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
