"""Random Llamas, written by transformers' save_pretrained, through build/inspect: are its logits transformers'?

    python tests/golden/configurations.py PROGRAM [COUNT]    PROGRAM is build/inspect; 150 configurations, always the same ones

Every field of LlamaConfig that changes the mathematics varies: sizes, head_dim, biases, tied weights, RoPE of every type, in the
spelling of transformers 5 or of older ones, dtype of the file, shards. The measure is the root mean square of the error of all
logits against float64, in which RMSNorm's cast to float32 is undone: ours over that of PyTorch's float32. And where the two
largest logits of float64 are farther apart than the errors, they choose the same token.
"""
import importlib
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file
from transformers import LlamaConfig, LlamaForCausalLM

decoder = importlib.import_module("09_decoder")
MOST, MEDIAN = 1.1, 1.0
TYPES = ["default", "linear", "dynamic", "yarn", "llama3", "longrope"]


def rope(draw, D, T):
    """rope_parameters of a random type. Where it depends on the text's length, that is sometimes beyond the old context."""
    kind, old = draw.choice(TYPES), draw.choice([8, 16, 64, 512])
    p = {"rope_type": kind, "rope_theta": draw.choice([1e4, 5e5, 123456.0])}
    if kind != "default":
        p["factor"] = draw.choice([2.0, 4.0, 8.0, 32.0])
    if kind in ("yarn", "llama3", "longrope"):
        p["original_max_position_embeddings"] = old
    if kind == "llama3":
        p |= {"low_freq_factor": draw.choice([1.0, 1.5]), "high_freq_factor": draw.choice([4.0, 6.0])}
    if kind == "yarn":
        p |= draw.choice([{}, {"beta_fast": 16.0, "beta_slow": 2.0}, {"truncate": False}, {"attention_factor": 1.25},
                          {"mscale": 1.0, "mscale_all_dim": 0.707}])
    if kind == "longrope":
        p |= {"short_factor": [draw.uniform(1, 1.5) for _ in range(D // 2)], "long_factor": [draw.uniform(1, 30) for _ in range(D // 2)]}
        p |= draw.choice([{}, {"attention_factor": 1.2}])
    return p


def configuration(draw):
    H = draw.choice([1, 2, 3, 4, 6, 8])
    D = draw.choice([4, 8, 10, 16, 32])
    given = draw.random() < 0.5  # head_dim
    C = H * draw.choice([8, 12, 20, 32]) if given else H * D
    T = draw.choice([5, 12, 33, 70])
    fields = dict(hidden_size=C, num_attention_heads=H, num_key_value_heads=draw.choice([n for n in range(1, H + 1) if H % n == 0]),
                  intermediate_size=draw.choice([17, 48, 96, 250]), num_hidden_layers=draw.choice([1, 1, 2, 3, 5]),
                  vocab_size=draw.choice([50, 64, 301]), rms_norm_eps=draw.choice([1e-6, 1e-5, 3e-4]),
                  attention_bias=draw.random() < 0.4, mlp_bias=draw.random() < 0.4, tie_word_embeddings=draw.random() < 0.4,
                  max_position_embeddings=draw.choice([T, 128, 4096]), rope_parameters=rope(draw, D, T))
    if fields["rope_parameters"]["rope_type"] == "dynamic":
        fields["max_position_embeddings"] = draw.choice([T - T // 3, 128])
    return LlamaConfig(**fields | ({"head_dim": D} if given else {})), T


def older_spelling(path):
    """config.json as transformers 4 wrote it."""
    words = json.loads(path.read_text())
    scaling = words.pop("rope_parameters")
    words["rope_theta"] = scaling.pop("rope_theta")
    words["rope_scaling"] = scaling if scaling["rope_type"] != "default" else None
    words["torch_dtype"] = words.pop("dtype")
    path.write_text(json.dumps(words))


@torch.no_grad()
def logits_of(folder, dtype, ids):
    return decoder.open_model(folder, dtype)(ids[None], use_cache=False).logits[0].double()


def rms(error):
    return error.pow(2).mean().sqrt().item()


def compare(number, program, folder):
    """Our error over PyTorch's, and whether the same tokens are the most probable."""
    draw = random.Random(number)
    config, T = configuration(draw)
    model = LlamaForCausalLM(config)
    dtype = draw.choice([torch.float32, torch.bfloat16, torch.float16])
    model.load_state_dict(decoder.seeded_weights(f"configuration {number}", model, dtype), strict=False)
    model.to(dtype).save_pretrained(folder, max_shard_size=draw.choice(["5GB", "20KB"]))
    if draw.random() < 0.4:
        older_spelling(folder / "config.json")
    ids = torch.tensor([draw.randrange(config.vocab_size) for _ in range(T)])
    truth, theirs = logits_of(folder, torch.float64, ids), logits_of(folder, torch.float32, ids)
    out = folder / "ours.safetensors"
    run = subprocess.run([program, "--model", folder, "--token-ids", ",".join(map(str, ids.tolist())), "--save", out],
                         capture_output=True, text=True)
    if run.returncode:
        return None, run.stderr.strip(), config
    ours = load_file(out)["logits"].double()
    best, second = truth.topk(2).values.T
    clear = best - second > 2 * torch.maximum((ours - truth).abs(), (theirs - truth).abs()).amax(1)
    same = (ours.argmax(1) == truth.argmax(1))[clear].all().item()
    return rms(ours - truth) / rms(theirs - truth), "" if same else "another token is the most probable", config


def main():
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    program, count = str(Path(sys.argv[1]).resolve()), int(sys.argv[2]) if len(sys.argv) > 2 else 150
    ratios, failed = [], 0
    for number in range(count):
        with tempfile.TemporaryDirectory() as scratch:
            ratio, wrong, config = compare(number, program, Path(scratch))
        if ratio is not None:
            ratios.append(ratio)
        if wrong or ratio > MOST:
            failed += 1
            print(f"FAIL configuration {number}: {wrong or f'errs {ratio:.2f} times as much as PyTorch'}: {config.to_diff_dict()}")
    ratios.sort()
    if not ratios or ratios[len(ratios) // 2] > MEDIAN:
        failed += 1
        print("FAIL the median is above PyTorch's")
    print(f"our error over PyTorch's: {ratios[0]:.2f} at least, {ratios[len(ratios) // 2]:.2f} in the median, {ratios[-1]:.2f} at most")
    print(f"{count - min(failed, count)} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
