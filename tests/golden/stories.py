"""The trained model of chapter 9, by transformers and PyTorch: what it writes, and what its heads look at.

    python tests/golden/stories.py            writes stories.safetensors anew
    python tests/golden/stories.py --check    computes it anew and compares

    greedy   [256]        the most probable tokens after BOS, one after another, past ends of stories, in float32
    heads    [16, T - 1]  softmax weights of each head of each layer, at the last but one of unseen.safetensors' walk
    scores   [2044]       -log p of the tokens of stories in a row, each window of 512 with BOS before 511 of them
    rounded, rounded64    the same, what meets a linear layer being rounded to bfloat16 first; in float32 and in float64
    bfloat16              the same, all of it in PyTorch's bfloat16

As metadata, how near the second most probable token ever came (`margin`): another order of sums cannot change the choice.
"""
import sys
from pathlib import Path

from golden import load, save
import torch
import transformers
from safetensors.torch import load_file
from transformers import LlamaForCausalLM

HERE = Path(__file__).resolve().parent
STORIES = HERE.parents[1] / "common" / "stories"
FILE = HERE / "stories.safetensors"
STEPS, WINDOW, WINDOWS, BOS = 256, 512, 4, 1


@torch.no_grad()
def greedy(model):
    ids, cache, chosen, margin = torch.tensor([[BOS]]), None, [], float("inf")
    for _ in range(STEPS):
        output = model(ids, past_key_values=cache, use_cache=True)
        cache, logits = output.past_key_values, output.logits[0, -1]
        first, second = logits.topk(2).values.tolist()
        margin = min(margin, first - second)
        ids = logits.argmax().reshape(1, 1)
        chosen.append(ids.item())
    return torch.tensor(chosen, dtype=torch.int32), margin


@torch.no_grad()
def heads(model, ids):
    model.set_attn_implementation("eager")
    attentions = model(ids[None].long(), output_attentions=True).attentions
    model.set_attn_implementation("sdpa")
    return torch.cat([layer[0, :, -2, :-1] for layer in attentions]).contiguous()


@torch.no_grad()
def scores(model, ids):
    rows = ids[: WINDOWS * (WINDOW - 1)].reshape(WINDOWS, WINDOW - 1).long()
    windows = torch.cat([torch.full((WINDOWS, 1), BOS), rows], 1)
    probabilities = model(windows).logits[:, :-1].log_softmax(-1)
    return -probabilities.gather(2, rows[..., None]).flatten()


@torch.no_grad()
def rounded(model, ids):
    layers = [layer for layer in model.modules() if isinstance(layer, torch.nn.Linear)]
    hooks = [layer.register_forward_pre_hook(lambda layer, x: (x[0].bfloat16().to(layer.weight.dtype),)) for layer in layers]
    result = scores(model, ids)
    for hook in hooks:
        hook.remove()
    return result


def compute():
    model, model64, model16 = (LlamaForCausalLM.from_pretrained(STORIES / "model", dtype=dtype).eval()
                               for dtype in (torch.float32, torch.float64, torch.bfloat16))
    unseen = load_file(STORIES / "unseen.safetensors")
    chosen, margin = greedy(model)
    texts = unseen["texts"].flatten()
    tensors = {"greedy": chosen, "heads": heads(model, unseen["walk"]), "scores": scores(model, texts),
               "rounded": rounded(model, texts), "rounded64": rounded(model64, texts).float(),
               "bfloat16": scores(model16, texts).float()}
    metadata = {"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__,
                "margin": f"{margin:.3f}"}
    return tensors, metadata


def like(theirs, tensors, name):
    """Which way a number is rounded may depend on the processor, and so do single scores: but not how far they are, on average,
    from those without rounding. No rounding, and rounding of everything, are far outside."""
    far, theirs_far = ((each[name] - each["scores"]).abs().mean().item() for each in (tensors, theirs))
    return 0.75 < far / theirs_far < 1.33 and (theirs[name] - tensors[name]).abs().mean() < 0.01


def main():
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    tensors, metadata = compute()
    if float(metadata["margin"]) < 0.001:
        sys.exit("error: two tokens are so near each other that rounding may decide: choose another beginning")
    if "--check" not in sys.argv[1:]:
        save(FILE, tensors, metadata)
        print(f"{FILE.name}: {FILE.stat().st_size / 1000:.1f} kB, margin {metadata['margin']}")
        return 0
    theirs, said = load(FILE)
    close = (said == metadata and theirs.keys() == tensors.keys() and torch.equal(theirs["greedy"], tensors["greedy"])
             and all(torch.allclose(theirs[name], tensors[name], rtol=1e-3, atol=1e-4) for name in ("heads", "scores"))
             and all(like(theirs, tensors, name) for name in ("rounded", "rounded64", "bfloat16")))
    print(f"{'ok  ' if close else 'FAIL'} {FILE.name}")
    print(f"{int(close)} passed, {int(not close)} failed")
    return not close


if __name__ == "__main__":
    sys.exit(main())
