"""PyTorch's and Meta's own checkpoints: does the command with which each is refused make a folder that runs, with the same logits?

    python tests/golden/checkpoints.py PROGRAM       PROGRAM is build/09_decoder

The course's own model is written as pytorch_model.bin, whole and in shards, and as Meta's consolidated.*.pth, whole and in two
parts as Llama 2 and as Llama 3 have them. The command that PROGRAM prints is run, and then PROGRAM again.
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

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "chapters" / "09_decoder" / "stories" / "model"
IDS = "1,500,300,17,42,1000,3"
COLUMNS = ("o_proj.weight", "down_proj.weight")
METAS = {"self_attn.q_proj": "attention.wq", "self_attn.k_proj": "attention.wk", "self_attn.v_proj": "attention.wv",
         "self_attn.o_proj": "attention.wo", "mlp.gate_proj": "feed_forward.w1", "mlp.up_proj": "feed_forward.w3",
         "mlp.down_proj": "feed_forward.w2", "input_layernorm": "attention_norm", "post_attention_layernorm": "ffn_norm",
         "model.embed_tokens": "tok_embeddings", "model.norm": "norm", "lm_head": "output", "model.layers": "layers"}


def pytorch(folder, tensors, shards):
    for name in ("config.json", "generation_config.json"):
        shutil.copy(MODEL / name, folder)
    if shards == 1:
        torch.save(tensors, folder / "pytorch_model.bin")
        return
    where = {name: f"pytorch_model-{1 + i % shards:05}-of-{shards:05}.bin" for i, name in enumerate(tensors)}
    for file in set(where.values()):
        torch.save({name: tensor for name, tensor in tensors.items() if where[name] == file}, folder / file)
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"metadata": {}, "weight_map": where}))


def meta(folder, tensors, shards, rows):
    """`rows`: whether the embedding is cut into rows, as Llama 3's."""
    config = json.loads((MODEL / "config.json").read_text())
    heads = {"q_proj": config["num_attention_heads"], "k_proj": config["num_key_value_heads"]}
    parts = [{"rope.freqs": torch.zeros(16)} for _ in range(shards)]
    for name, tensor in (tensors | {"lm_head.weight": tensors["model.embed_tokens.weight"]}).items():
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
         "n_kv_heads": config["num_key_value_heads"], "multiple_of": 256, "norm_eps": config["rms_norm_eps"], "vocab_size": -1}))


def logits(program, folder):
    out = folder / "logits.safetensors"
    run = subprocess.run([program, "--model", folder, "--ids", IDS, "--save", out], capture_output=True, text=True)
    return load_file(out)["logits"] if run.returncode == 0 else run.stderr


def check(program, write, *how):
    """In a folder whose name a shell might take for something else."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder) / "it's a \"model\" $HOME `x`"
        folder.mkdir()
        write(folder, load_file(MODEL / "model.safetensors"), *how)
        refusal = logits(program, folder)
        command = "python3 " + refusal.split(": python3 ", 1)[1]
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        run = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=os.environ | {"PATH": path})
        got = logits(program, folder)
        return (run.stderr if run.returncode else "") or (got if isinstance(got, str) else "other logits" if not got.equal(right) else "")


if __name__ == "__main__":
    program = str(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as scratch:
        model = Path(scratch) / "model"
        shutil.copytree(MODEL, model)
        right = logits(program, model)
    failed = 0
    cases = [(pytorch, 1), (pytorch, 2), (meta, 1, True), (meta, 2, False), (meta, 2, True)]
    for write, *how in cases:
        wrong = check(program, write, *how)
        failed += bool(wrong)
        print(f"{'FAIL' if wrong else 'ok  '} {write.__name__} {how} {wrong}")
    print(f"{len(cases) - failed} passed, {failed} failed")
    sys.exit(failed > 0)
