"""Chapter 13: whole models in GGUF files, written by the Python package gguf; what transformers computes with the numbers
that the package takes their blocks for.

    python tests/golden/13_gguf.py            writes gguf/NAME.gguf and gguf/NAME.safetensors anew
    python tests/golden/13_gguf.py --check    computes them anew and compares them with the committed ones

NAME.safetensors holds what expected.safetensors of chapter 9's models does: see 09_decoder.py. The matrices of `mixed` have
each another type, as real files mix them; blocks of the K-quants, which the package only reads, are drawn byte by byte.
Rows of queries and keys lie as llama.cpp's converter permutes them, and `mixed` has a factor for each pair of RoPE. `rare` has
the types that few files have, and the numbers of the first rows of each.
"""
import importlib
import sys
import tempfile
from pathlib import Path

import gguf
import numpy as np
import torch
import transformers
from gguf import GGMLQuantizationType as Type, quants
from transformers import LlamaConfig, LlamaForCausalLM

from golden import CHECK_ULPS, ELSEWHERE, GoldenError, distance, load, raw, save

decoder = importlib.import_module("09_decoder")
FOLDER = Path(__file__).resolve().parent / "gguf"
T = 12

# name -> (the model's sizes, the types of its matrices in the order of the file, tied, factors of RoPE or not)
SIZES = dict(vocab_size=64, hidden_size=256, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, head_dim=16,
             num_key_value_heads=2, rms_norm_eps=1e-5, max_position_embeddings=64, rope_theta=5e5)
CASES = {
    "mixed": (SIZES, [Type.Q6_K, Type.Q4_K, Type.Q5_K, Type.Q2_K, Type.Q8_0, Type.Q3_K, Type.Q8_0, Type.Q4_1,
                      Type.Q8_0, Type.F16, Type.BF16, Type.Q5_1, Type.Q4_0, Type.Q5_0, Type.IQ4_NL], True, True),
    "plain": (SIZES | dict(hidden_size=64, intermediate_size=96, num_hidden_layers=1, rope_theta=1e4),
              [Type.F32, Type.F16, Type.BF16, Type.Q8_0, Type.F32, Type.F16, Type.BF16, Type.Q8_0, Type.Q4_0], False, False),
    "rare": (SIZES | dict(num_hidden_layers=1), [Type.IQ4_XS, Type.IQ3_S, Type.TQ1_0, Type.TQ2_0, Type.F16, Type.IQ4_XS, Type.F16, Type.IQ3_S], True, False),
}
RARE = (Type.IQ4_XS, Type.IQ3_S, Type.TQ1_0, Type.TQ2_0)
DRAWN = (Type.Q2_K, Type.Q3_K, Type.Q4_K, Type.Q5_K, Type.Q6_K, Type.IQ4_NL, Type.IQ4_XS, Type.IQ3_S)


def random_blocks(random, kind, rows, n):
    """Blocks of any bytes, whose float16 scales are small, so that no number is."""
    numbers, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = random.integers(0, 256, (rows, n // numbers, size), dtype=np.uint8)
    halves = {Type.Q2_K: (80, 82), Type.Q3_K: (108,), Type.Q4_K: (0, 2), Type.Q5_K: (0, 2), Type.Q6_K: (208,)}.get(kind, (0,))
    large = {Type.Q2_K: 0.02, Type.Q3_K: 0.0004, Type.Q4_K: 0.0002, Type.Q5_K: 0.0001, Type.Q6_K: 0.00004, Type.IQ4_NL: 0.0015, Type.IQ4_XS: 0.00005,
             Type.IQ3_S: 0.0005}[kind]
    for at in halves:
        scales = (large * (1 + random.random(blocks.shape[:2]))).astype(np.float16)
        blocks[:, :, at : at + 2] = scales[:, :, None].view(np.uint8)
    return blocks.reshape(rows, -1)


def matrix(name, key, kind, rows, n):
    """What the file holds, and the numbers that it stands for."""
    random = np.random.default_rng(list(f"13_gguf {name} {key}".encode()))
    if kind in DRAWN:
        data = random_blocks(random, kind, rows, n)
    else:
        drawn = (random.standard_normal((rows, n)) / (2 if "embd" in key else n**0.5)).astype(np.float32)
        data = quants.quantize(drawn, kind)
    return data, quants.dequantize(data, kind).astype(np.float32)


def to_half_split(weight, heads):
    """From the order of the file back to that of transformers: the reverse of permute in llama.cpp's converter."""
    return weight.reshape(heads, -1, 2, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)


def draw(name):
    """The file's tensors, as (name, data, type), and transformers' state dict of the same numbers."""
    sizes, kinds, tied, has_factors = CASES[name]
    C, F, V, L = (sizes[key] for key in ("hidden_size", "intermediate_size", "vocab_size", "num_hidden_layers"))
    H, KV, D = (sizes[key] for key in ("num_attention_heads", "num_key_value_heads", "head_dim"))
    kinds, tensors, weights = iter(kinds), [], {}

    def take(key, theirs, rows, n, heads=0):
        kind = next(kinds)
        data, numbers = matrix(name, key, kind, rows, n)
        tensors.append((key, data, kind))
        weights[theirs] = torch.from_numpy((to_half_split(numbers, heads) if heads else numbers).copy())

    def norm(key, theirs):
        random = np.random.default_rng(list(f"13_gguf {name} {key}".encode()))
        data = (1 + 0.25 * random.standard_normal(C)).astype(np.float32)
        tensors.append((key, data, Type.F32))
        weights[theirs] = torch.from_numpy(data)

    take("token_embd.weight", "model.embed_tokens.weight", V, C)
    for l in range(L):
        theirs = f"model.layers.{l}."
        norm(f"blk.{l}.attn_norm.weight", theirs + "input_layernorm.weight")
        norm(f"blk.{l}.ffn_norm.weight", theirs + "post_attention_layernorm.weight")
        take(f"blk.{l}.attn_q.weight", theirs + "self_attn.q_proj.weight", H * D, C, H)
        take(f"blk.{l}.attn_k.weight", theirs + "self_attn.k_proj.weight", KV * D, C, KV)
        take(f"blk.{l}.attn_v.weight", theirs + "self_attn.v_proj.weight", KV * D, C)
        take(f"blk.{l}.attn_output.weight", theirs + "self_attn.o_proj.weight", C, H * D)
        take(f"blk.{l}.ffn_gate.weight", theirs + "mlp.gate_proj.weight", F, C)
        take(f"blk.{l}.ffn_down.weight", theirs + "mlp.down_proj.weight", C, F)
        take(f"blk.{l}.ffn_up.weight", theirs + "mlp.up_proj.weight", F, C)
    norm("output_norm.weight", "model.norm.weight")
    if not tied:
        take("output.weight", "lm_head.weight", V, C)
    factors = np.linspace(1, 8, D // 2).astype(np.float32) if has_factors else None
    if has_factors:
        tensors.append(("rope_freqs.weight", factors, Type.F32))
    return tensors, weights, factors


def write(path, name, tensors):
    sizes = CASES[name][0]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(name)
    writer.add_block_count(sizes["num_hidden_layers"])
    writer.add_context_length(sizes["max_position_embeddings"])
    writer.add_embedding_length(sizes["hidden_size"])
    writer.add_feed_forward_length(sizes["intermediate_size"])
    writer.add_head_count(sizes["num_attention_heads"])
    writer.add_head_count_kv(sizes["num_key_value_heads"])
    writer.add_key_length(sizes["head_dim"])
    writer.add_value_length(sizes["head_dim"])
    writer.add_rope_dimension_count(sizes["head_dim"])
    writer.add_rope_freq_base(sizes["rope_theta"])
    writer.add_layer_norm_rms_eps(sizes["rms_norm_eps"])
    writer.add_vocab_size(sizes["vocab_size"])
    for key, data, kind in tensors:
        if kind in (Type.F32, Type.F16):
            writer.add_tensor(key, data)
        else:
            writer.add_tensor(key, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def open_model(name, weights, factors, dtype):
    """transformers' model of these weights, computing in this dtype."""
    sizes, _, tied, _ = CASES[name]
    sizes = dict(sizes)
    config = LlamaConfig(**sizes | dict(rope_parameters={"rope_theta": sizes.pop("rope_theta")}, tie_word_embeddings=tied))
    config._attn_implementation = "sdpa"
    model = LlamaForCausalLM(config).eval()
    missing, unexpected = model.load_state_dict(weights, strict=False)
    if unexpected or set(missing) - ({"lm_head.weight"} if tied else set()):
        raise GoldenError(f"{name}: {missing} {unexpected}")
    if dtype is torch.float64:
        decoder.in_double(model)
    if factors is not None:
        model.model.rotary_emb.inv_freq = model.model.rotary_emb.inv_freq.float() / torch.from_numpy(factors)
    return model


def compute(name, path):
    """Writes the GGUF file; returns what transformers makes of its numbers."""
    tensors, weights, factors = draw(name)
    write(path, name, tensors)
    random = np.random.default_rng(list(f"13_gguf {name} ids".encode()))
    ids = torch.from_numpy(random.integers(0, CASES[name][0]["vocab_size"], T))
    single, double = (decoder.stages(open_model(name, weights, factors, dtype), ids) for dtype in (torch.float32, torch.float64))
    metadata = {"model": name, "torch": torch.__version__.split("+")[0], "transformers": transformers.__version__,
                "numpy": np.__version__, "gguf": "0.19.0", "source": "transformers LlamaForCausalLM on dequantized weights"}
    rows = {f"rows/{key}": torch.from_numpy(quants.dequantize(data[:4], kind).astype(np.float32)) for key, data, kind in tensors if kind in RARE}
    return {"ids": ids.int()} | rows | single | {f"{stage}/float64": tensor for stage, tensor in double.items()}, metadata


def difference(name, path, tensors, metadata):
    """What is wrong with the committed files, or None: the same bytes, float64 the same, float32 as exact as elsewhere."""
    if (FOLDER / path.name).read_bytes() != path.read_bytes():
        return "other bytes"
    theirs, said = load(FOLDER / f"{name}.safetensors")
    if said != metadata or theirs.keys() != tensors.keys():
        return "other metadata or tensors"
    for stage in tensors:
        got, right = theirs[stage], tensors[stage]
        if (stage == "ids" or stage.startswith("rows/")) and raw(got) != raw(right):
            return f"other {stage}"
        if stage.endswith("/float64") and distance(got, right) > 1e-12 * 2**24:
            return f"{stage}: {distance(got, right):.3g} ulps apart"
        truth = tensors.get(f"{stage}/float64")
        if truth is not None and distance(got, truth) > ELSEWHERE * distance(right, truth) + CHECK_ULPS:
            return f"{stage}: {distance(got, truth):.3g} ulps from float64"
    return None


def main():
    check, failed = "--check" in sys.argv[1:], 0
    FOLDER.mkdir(exist_ok=True)
    for name in CASES:
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / f"{name}.gguf"
            tensors, metadata = compute(name, path)
            if check:
                wrong = difference(name, path, tensors, metadata)
                print(f"FAIL gguf/{name}: {wrong}" if wrong else f"ok   gguf/{name}")
                failed += wrong is not None
                continue
            (FOLDER / path.name).write_bytes(path.read_bytes())
            save(FOLDER / f"{name}.safetensors", tensors, metadata)
            print(f"gguf/{name}: {path.stat().st_size / 1000:.1f} kB, logits up to {tensors['logits'].abs().max():.3g}")
    if check:
        print(f"{len(CASES) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except GoldenError as error:
        sys.exit(f"error: {error}")
