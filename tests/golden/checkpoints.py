"""PyTorch's and Meta's own checkpoints: does the command with which each is refused make a folder that runs, with the same logits?

    python tests/golden/checkpoints.py PROGRAM       PROGRAM is build/inspect

The course's own model is written as pytorch_model.bin, whole and in shards, and as Meta's consolidated.*.pth, whole and in two
parts as Llama 2 and as Llama 3 have them; and small models with Llama 3's and 3.2's vocabulary and RoPE as Meta's. The command that
PROGRAM prints is run, and then PROGRAM again: the logits are the same, and so is what config.json says of RoPE, context and ends.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from safetensors.torch import load_file
from transformers import LlamaConfig, LlamaForCausalLM

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "common" / "stories" / "model"
IDS = "1,500,300,17,42,1000,3"
COLUMNS = ("o_proj.weight", "down_proj.weight")
METAS = {"self_attn.q_proj": "attention.wq", "self_attn.k_proj": "attention.wk", "self_attn.v_proj": "attention.wv",
         "self_attn.o_proj": "attention.wo", "mlp.gate_proj": "feed_forward.w1", "mlp.up_proj": "feed_forward.w3",
         "mlp.down_proj": "feed_forward.w2", "input_layernorm": "attention_norm", "post_attention_layernorm": "ffn_norm",
         "model.embed_tokens": "tok_embeddings", "model.norm": "norm", "lm_head": "output", "model.layers": "layers"}


def third(folder, scaling):
    """A Llama 3 whose layers are narrow; with `scaling`, a 3.2."""
    torch.manual_seed(3)
    rope = {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
    LlamaForCausalLM(LlamaConfig(
        vocab_size=128256, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
        rms_norm_eps=1e-5, max_position_embeddings=131072 if scaling else 8192, bos_token_id=128000, eos_token_id=[128001, 128008, 128009],
        rope_parameters=(rope if scaling else {"rope_type": "default"}) | {"rope_theta": 500000.0})).save_pretrained(folder)


def pytorch(folder, model, shards):
    tensors = load_file(model / "model.safetensors")
    for name in ("config.json", "generation_config.json"):
        shutil.copy(model / name, folder)
    if shards == 1:
        torch.save(tensors, folder / "pytorch_model.bin")
        return
    where = {name: f"pytorch_model-{1 + i % shards:05}-of-{shards:05}.bin" for i, name in enumerate(tensors)}
    for file in set(where.values()):
        torch.save({name: tensor for name, tensor in tensors.items() if where[name] == file}, folder / file)
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"metadata": {}, "weight_map": where}))


def meta(folder, model, shards, rows):
    """`rows`: whether the embedding is cut into rows, as Llama 3's."""
    tensors, config = load_file(model / "model.safetensors"), json.loads((model / "config.json").read_text())
    rope = config["rope_parameters"]
    heads = {"q_proj": config["num_attention_heads"], "k_proj": config["num_key_value_heads"]}
    parts = [{"rope.freqs": torch.zeros(16)} for _ in range(shards)]
    for name, tensor in ({"lm_head.weight": tensors["model.embed_tokens.weight"]} | tensors).items():
        kind = name.split(".")[-2]
        if kind in heads:
            tensor = tensor.view(heads[kind], 2, -1, tensor.shape[1]).transpose(1, 2).reshape(tensor.shape)
        columns = name.endswith(COLUMNS) or (name.startswith("model.embed") and not rows)
        pieces = tensor.chunk(shards, dim=1 if columns else 0) if tensor.ndim > 1 else [tensor] * shards
        for theirs, own in METAS.items():
            name = name.replace(theirs, own)
        for part, piece in zip(parts, pieces):
            part[name] = piece.clone()
    for i, part in enumerate(parts):
        torch.save(part, folder / f"consolidated.{i:02}.pth")
    (folder / "params.json").write_text(json.dumps(
        {"dim": config["hidden_size"], "n_layers": config["num_hidden_layers"], "n_heads": config["num_attention_heads"],
         "n_kv_heads": config["num_key_value_heads"], "multiple_of": 256, "norm_eps": config["rms_norm_eps"], "vocab_size": -1,
         "rope_theta": rope["rope_theta"], "use_scaled_rope": rope["rope_type"] == "llama3"}))


def logits(program, folder):
    out = folder / "logits.safetensors"
    run = subprocess.run([program, "--model", folder, "--token-ids", IDS, "--save", out], capture_output=True, text=True)
    return load_file(out)["logits"] if run.returncode == 0 else run.stderr


def says(folder):
    config = LlamaConfig.from_pretrained(folder)
    return config.rope_parameters, config.max_position_embeddings, config.eos_token_id


def check(program, model, write, *how):
    """In a folder whose name a shell might take for something else."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder) / "it's a \"model\" $HOME `x`"
        folder.mkdir()
        write(folder, model, *how)
        refusal = logits(program, folder)
        command = "python3 " + refusal.split(": python3 ", 1)[1]
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        run = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=os.environ | {"PATH": path})
        if run.returncode:
            return run.stderr
        got, right = logits(program, folder), logits(program, model)
        if isinstance(got, str) or not got.equal(right):
            return got if isinstance(got, str) else "other logits"
        return "" if model.name == "own" or says(folder) == says(model) else f"config.json says {says(folder)}, not {says(model)}"


if __name__ == "__main__":
    program, failed = str(Path(sys.argv[1]).resolve()), 0
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        own, threes = scratch / "own", {scaling: scratch / f"third {scaling}" for scaling in (False, True)}
        shutil.copytree(MODEL, own)
        for scaling, folder in threes.items():
            third(folder, scaling)
        cases = [(own, pytorch, 1), (own, pytorch, 2), (own, meta, 1, True), (own, meta, 2, False), (own, meta, 2, True),
                 (threes[False], meta, 1, True), (threes[True], meta, 2, True)]
        for model, write, *how in cases:
            wrong = check(program, model, write, *how)
            failed += bool(wrong)
            print(f"{'FAIL' if wrong else 'ok  '} {write.__name__} {model.name} {how} {wrong}")
    print(f"{len(cases) - failed} passed, {failed} failed")
    sys.exit(failed > 0)
