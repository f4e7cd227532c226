"""Chapter 16: a hundred steps of training by PyTorch, from the weights and on the batches that build/train has.

    python tests/golden/16_run.py            writes run/ anew
    python tests/golden/16_run.py --check    computes it anew and compares it with what is committed

run/NAME.safetensors is of the model of chapter 9 of that name:

    losses        [STEPS]  the mean cross entropy of each step, as PyTorch's float32 has it
    losses/float64         the same in float64
    each weight's name     what it is after the last step, as float64 has it, rounded to float32 once

and as metadata `options`, what build/train is given, and ulps/NAME, how far PyTorch's own float32 is from that.
words.safetensors and answers.safetensors are what is learned from: tokens, and of the second file which of them are to
be told.

Which sequences a step reads is worked out here once more, from the seed: chapters/16_training/mixture.h says how.
"""
import math
import sys
from importlib import import_module
from pathlib import Path

from golden import distance, recomputed, save
import numpy as np
import torch
import torch.nn.functional as F
import transformers

decoder = import_module("09_decoder")
RUN = Path(__file__).resolve().parent / "run"
STEPS, BATCH, T, SEED = 100, 4, 24, 7
RATE, WARMUP, LOWEST, DECAY, BETAS, EPS, CLIP = 0.003, 10, 0.0002, 0.1, (0.9, 0.95), 1e-8, 1.0
FILES = {"words": (40, 3), "answers": (12, 1)}  # documents, and the file's weight in the mixture
NAMES = ("llama1", "llama32")                   # untied, each head its own keys; tied, grouped queries, scaled RoPE

OPTIONS = (f"--steps {STEPS} --batch {BATCH} --length {T} --seed {SEED} --rate {RATE} --warmup {WARMUP} "
           f"--lowest {LOWEST} --decay {DECAY} --beta1 {BETAS[0]} --beta2 {BETAS[1]} --eps {EPS} --clip {CLIP}")


# --- What is learned from ----------------------------------------------------------------------------------

def tokens():
    """Words: four tokens again and again, with some noise. Answers: the second half is the first, and alone is told."""
    random = np.random.default_rng(list(b"16_run"))
    words = np.stack([np.tile(random.integers(2, 64, 4), T // 4) for _ in range(FILES["words"][0])])
    noise = random.random(words.shape) < 0.1
    words[noise] = random.integers(2, 64, noise.sum())
    first = random.integers(2, 64, (FILES["answers"][0], T // 2))
    learned = np.arange(T) >= T // 2
    return {"words": {"ids": torch.from_numpy(words).int()},
            "answers": {"ids": torch.from_numpy(np.concatenate([first, first], axis=1)).int(),
                        "learned": torch.from_numpy(np.tile(learned, (len(first), 1))).to(torch.uint8)}}


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


def sequences():
    """(file, document) of each sequence: the file that lags most behind its share is next. A document is as long as a
    sequence: packed in a random order, then read in another one each time."""
    names, credit, drawn = list(FILES), [0.0] * len(FILES), [0] * len(FILES)
    shares = [weight / sum(weight for _, weight in FILES.values()) for _, weight in FILES.values()]
    packed = [shuffled(i, MASK, FILES[name][0]) for i, name in enumerate(names)]
    while True:
        credit = [c + share for c, share in zip(credit, shares)]
        source = credit.index(max(credit))
        credit[source] -= 1
        epoch, place = divmod(drawn[source], len(packed[source]))
        yield names[source], packed[source][shuffled(source, epoch, len(packed[source]))[place]]
        drawn[source] += 1


def batches():
    data, order = tokens(), sequences()
    for _ in range(STEPS):
        ids, targets = [], []
        for name, document in (next(order) for _ in range(BATCH)):
            row = data[name]["ids"][document].long()
            learned = data[name].get("learned", torch.ones(FILES[name][0], T))[document].bool()
            ids.append(row)
            targets.append(torch.cat([torch.where(learned, row, -100)[1:], torch.tensor([-100])]))
        yield torch.stack(ids), torch.stack(targets)


# --- The training ------------------------------------------------------------------------------------------

def rate(step):
    if step <= WARMUP:
        return RATE * step / WARMUP
    return LOWEST + (RATE - LOWEST) * (1 + math.cos(math.pi * (step - WARMUP) / (STEPS - WARMUP))) / 2


def train(name, dtype):
    model = decoder.open_model(decoder.MODELS / name, dtype)
    groups = [{"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": DECAY},
              {"params": [p for p in model.parameters() if p.dim() == 1], "weight_decay": 0.0}]
    optimizer, losses = torch.optim.AdamW(groups, betas=BETAS, eps=EPS), []
    for step, (ids, targets) in enumerate(batches(), start=1):
        logits = model(ids, use_cache=False).logits
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        for group in optimizer.param_groups:
            group["lr"] = rate(step)
        optimizer.step()
        losses.append(loss.item())
    return losses, {key: parameter.detach() for key, parameter in model.named_parameters()}


def compute(name):
    (losses32, single), (losses64, double) = (train(name, dtype) for dtype in (torch.float32, torch.float64))
    tensors = {"losses": torch.tensor(losses32), "losses/float64": torch.tensor(losses64, dtype=torch.float64)}
    tensors |= {key: tensor.float().contiguous() for key, tensor in double.items()}
    metadata = {"model": name, "options": OPTIONS, "torch": torch.__version__.split("+")[0],
                "transformers": transformers.__version__, "numpy": np.__version__,
                "source": "torch.optim.AdamW through transformers LlamaForCausalLM"}
    ulps = {f"ulps/{key}": f"{distance(single[key], double[key], mixes=True):.3f}" for key in double}
    return tensors, metadata | ulps


# --- The program -------------------------------------------------------------------------------------------

def main():
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    check, failed = "--check" in sys.argv[1:], 0
    RUN.mkdir(exist_ok=True)
    files = {name: (tensors, {}) for name, tensors in tokens().items()} | {name: compute(name) for name in NAMES}
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
        print(f"run/{name:10} {path.stat().st_size / 1000:6.1f} kB   PyTorch's worst float32 error {worst:.1f} ulps")
    if check:
        print(f"{len(files) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
