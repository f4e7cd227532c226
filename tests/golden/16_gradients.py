"""Chapter 16: the gradient of every weight and bias of the models of chapter 9, by torch.autograd through transformers' own Llama.

    python tests/golden/16_gradients.py            writes gradients/NAME.safetensors anew
    python tests/golden/16_gradients.py --check    computes them anew and compares them with the committed ones

Each file holds

    ids, targets  [B, T]  the tokens, and what should follow them; a target of -100 is ignored
    loss          [1]     the mean cross entropy over all others
    and each gradient under the weight's name; a tied lm_head has none of its own

as float64 has it, rounded to float32 once; and as metadata ulps/NAME, how far autograd's own float32 is from that.
"""
import sys
from importlib import import_module
from pathlib import Path

from golden import distance, recomputed, save
import numpy as np
import torch
import torch.nn.functional as F
import transformers

decoder = import_module("09_decoder")
GRADIENTS = Path(__file__).resolve().parent / "gradients"
B, T = 2, 12


def gradients(name, dtype, ids, targets):
    model = decoder.open_model(decoder.MODELS / name, dtype)
    logits = model(ids.long(), use_cache=False).logits
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten().long(), ignore_index=-100)
    loss.backward()
    found = {key: parameter.grad for key, parameter in model.named_parameters()}
    return {"loss": loss.detach().reshape(1)} | found


def compute(name):
    random = np.random.default_rng(list(f"15_gradients {name}".encode()))
    ids = torch.from_numpy(random.integers(0, decoder.SIZES["vocab_size"], (B, T))).int()
    targets = ids.roll(-1, 1)
    targets[:, -1] = -100    # nothing follows the last token,
    targets[1, :5] = -100    # and of the second text only the second half is to be learned
    single, double = (gradients(name, dtype, ids, targets) for dtype in (torch.float32, torch.float64))
    tensors = {"ids": ids, "targets": targets} | {key: tensor.float().contiguous() for key, tensor in double.items()}
    metadata = {"model": name, "torch": torch.__version__.split("+")[0], "transformers": transformers.__version__,
                "numpy": np.__version__, "source": "torch.autograd through transformers LlamaForCausalLM"}
    return tensors, metadata | {f"ulps/{key}": f"{distance(single[key], double[key], mixes=True):.3f}" for key in double}


def main():
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    check, failed = "--check" in sys.argv[1:], 0
    GRADIENTS.mkdir(exist_ok=True)
    for stranger in sorted({path.stem for path in GRADIENTS.iterdir()} - set(decoder.CASES)):
        print(f"FAIL gradients/{stranger}: no model of that name")
        failed += 1
    for name in decoder.CASES:
        path = GRADIENTS / f"{name}.safetensors"
        tensors, metadata = compute(name)
        if check:
            wrong = list(recomputed(path, tensors, metadata))
            print(f"FAIL gradients/{name}: {wrong[0]}" if wrong else f"ok   gradients/{name}")
            failed += bool(wrong)
            continue
        save(path, tensors, metadata)
        worst = max(float(value) for key, value in metadata.items() if key.startswith("ulps/"))
        print(f"gradients/{name:12} {path.stat().st_size / 1000:6.1f} kB   autograd's worst float32 error {worst:.1f} ulps")
    if check:
        print(f"{len(decoder.CASES) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
