"""Meta's own checkpoint as a folder of Hugging Face: writes config.json and model.safetensors beside consolidated.*.pth.

    python3 chapters/14_engine/formats/convert_meta.py DIR

The tensors have other names, lie in as many files as the model was trained on groups of processors, each with its rows or
columns, and RoPE turns the pairs (2i, 2i + 1): chapter 5 says why the rows of q_proj and k_proj change places.
"""
import json
import sys
from pathlib import Path

try:
    import torch
    from safetensors.torch import save_file
except ImportError as error:
    sys.exit(f"error: {error}: make venv, then build/venv/bin/python {' '.join(sys.argv)}; or pip install torch safetensors")

NAMES = {"attention.wq": "self_attn.q_proj", "attention.wk": "self_attn.k_proj", "attention.wv": "self_attn.v_proj",
         "attention.wo": "self_attn.o_proj", "feed_forward.w1": "mlp.gate_proj", "feed_forward.w3": "mlp.up_proj",
         "feed_forward.w2": "mlp.down_proj", "attention_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}
OTHERS = {"tok_embeddings.weight": "model.embed_tokens.weight", "norm.weight": "model.norm.weight", "output.weight": "lm_head.weight"}
LLAMA_3 = 128256  # tokens


def joined(name, parts, dim):
    """The tensor of which each file has a part: of norms all have the whole, of matrices columns or rows."""
    if parts[0].ndim == 1:
        return parts[0]
    columns = name.endswith(("wo.weight", "w2.weight"))
    if name == "tok_embeddings.weight":  # Llama 3's parts are rows
        columns = parts[0].shape[1] != dim
    return torch.cat(parts, dim=1 if columns else 0)


def half_split(weight, heads):
    """Of each head the rows 0, 2, 4, … and then 1, 3, 5, …"""
    rows, columns = weight.shape
    return weight.view(heads, rows // heads // 2, 2, columns).transpose(1, 2).reshape(rows, columns)


def config(params, tensors):
    dim, heads, vocab = params["dim"], params["n_heads"], len(tensors["model.embed_tokens.weight"])
    theta, scaled, third = params.get("rope_theta", 10000.0), params.get("use_scaled_rope", False), vocab >= LLAMA_3
    context = 131072 if scaled else 8192 if third else 16384 if theta > 10000 else 4096 if params["norm_eps"] > 5e-6 else 2048
    scaling = {"rope_type": "llama3", "factor": 32.0 if dim < 4096 else 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": 8192}
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "hidden_size": dim,
            "intermediate_size": len(tensors["model.layers.0.mlp.gate_proj.weight"]), "num_hidden_layers": params["n_layers"],
            "num_attention_heads": heads, "num_key_value_heads": params.get("n_kv_heads") or heads, "vocab_size": vocab,
            "max_position_embeddings": context, "rms_norm_eps": params["norm_eps"], "rope_theta": theta,
            "rope_scaling": scaling if scaled else None, "tie_word_embeddings": "lm_head.weight" not in tensors,
            "bos_token_id": 128000 if third else 1, "eos_token_id": [128001, 128008, 128009] if third else 2}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    files = sorted(folder.glob("consolidated.*.pth"))
    if not files or not (folder / "params.json").exists():
        sys.exit(f"error: {folder}: it has no consolidated.00.pth with a params.json beside it")
    params = json.loads((folder / "params.json").read_text())
    heads = {"wq": params["n_heads"], "wk": params.get("n_kv_heads") or params["n_heads"]}
    parts = [torch.load(file, map_location="cpu", weights_only=True, mmap=True) for file in files]
    tensors = {}
    for name in parts[0]:
        if name == "rope.freqs":  # computed anew
            continue
        tensor = joined(name, [part[name] for part in parts], params["dim"])
        if name in OTHERS:
            tensors[OTHERS[name]] = tensor
            continue
        _, layer, part = name.removesuffix(".weight").split(".", 2)
        kind = part.rsplit(".", 1)[-1]
        tensor = half_split(tensor, heads[kind]) if kind in heads else tensor
        tensors[f"model.layers.{layer}.{NAMES[part]}.weight"] = tensor
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / "model.safetensors", {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config(params, tensors), indent=2) + "\n")
    print(f"{folder}: config.json and model.safetensors are written; consolidated.*.pth may go")


if __name__ == "__main__":
    main()
