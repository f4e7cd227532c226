"""Chapter 9: whole models. transformers' LlamaForCausalLM on tiny configurations with seeded weights.

    python tests/golden/09_decoder.py            writes models/NAME/ anew
    python tests/golden/09_decoder.py --check    computes them anew and compares them with the committed ones

models/NAME/ is a model's folder as transformers saves one, and expected.safetensors holds

    ids          [T]       the tokens read
    embed_tokens [T, C]    the residual stream after the embedding,
    layers.N     [T, C]    after layer N,
    norm         [T, C]    and after the last norm
    logits       [T, V]    at every position, the whole text read at once
    by_token     [T, V]    the same token by token with transformers' cache, where that gives other numbers: with
                           dynamic scaling and longrope past the trained length, where earlier keys were turned by other angles

and as metadata what print(model) prints (`tree`); each as transformers' float32 answer, and as NAME/float64 in float64. Weights in BF16 and F16 are widened to float32
first, which is exact; everything after that is computed in float32, as the decoder of chapter 9 does.

In float64, the angles are still float32's: a model is trained with them. Cosine, sine and all else are float64, where
transformers itself would fall back to float32 in RMSNorm and RoPE.
"""
import json
import shutil
import sys
import tempfile
from pathlib import Path

from golden import CHECK_ULPS, ELSEWHERE, GoldenError, distance, load, raw, save
import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.llama import modeling_llama

MODELS = Path(__file__).resolve().parent / "models"
T = 12

SIZES = dict(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, rms_norm_eps=1e-5, max_position_embeddings=64, bos_token_id=1)
LLAMA3 = dict(rope_type="llama3", low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)

# name -> (what it tries, dtype of the file, shards, what differs from SIZES, how config.json is to spell it)
CASES = {
    "llama1": ("Llama 1: a key/value head for each head, epsilon 1e-6",
               torch.float32, 1, dict(num_key_value_heads=4, rms_norm_eps=1e-6, rope_parameters={"rope_theta": 1e4}),
               "old"),
    "llama2_70b": ("Llama 2 70B: grouped queries, in two shards", torch.float16, 2,
                   dict(num_attention_heads=8, rope_parameters={"rope_theta": 1e4}), "old"),
    "llama3": ("Llama 3: theta 500000, several ends", torch.bfloat16, 1,
               dict(rope_parameters={"rope_theta": 5e5}, eos_token_id=[2, 3]), "old"),
    "llama31": ("Llama 3.1: llama3 scaling by 8", torch.bfloat16, 1,
                dict(rope_parameters={"rope_theta": 5e5, "factor": 8.0, **LLAMA3}), "old"),
    "llama32": ("Llama 3.2: tied, llama3 scaling by 32, heads wider than C / H", torch.bfloat16, 1,
                dict(tie_word_embeddings=True, head_dim=12, rope_parameters={"rope_theta": 5e5, "factor": 32.0, **LLAMA3}),
                "new"),
    "yarn": ("YaRN by 4, in rope_parameters", torch.float16, 1,
             dict(rope_parameters={"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0,
                                   "original_max_position_embeddings": 16}), "new"),
    "biases": ("biases everywhere, one layer, heads narrower than C / H", torch.float16, 1,
               dict(attention_bias=True, mlp_bias=True, num_hidden_layers=1, head_dim=6, rope_parameters={"rope_theta": 1e4}), "new"),
    "longrope": ("LongRoPE, past the length of the short factors", torch.bfloat16, 1,
                 dict(rope_parameters={"rope_type": "longrope", "rope_theta": 1e4, "original_max_position_embeddings": 8,
                                       "short_factor": [1.0, 1.1, 1.3, 1.5], "long_factor": [1.0, 2.0, 5.0, 8.0]}), "old"),
    "dynamic": ("dynamic scaling, past the trained length", torch.float32, 1,
                dict(max_position_embeddings=8, num_hidden_layers=1,
                     rope_parameters={"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}), "oldest"),
}


# --- The model ---------------------------------------------------------------------------------------------

def seeded_weights(name, model, dtype):
    """Drawn by numpy, the same everywhere; as large as makes every part of the model matter."""
    weights = {}
    for key, tensor in model.state_dict().items():
        random = np.random.default_rng(list(f"09_decoder {name} {key}".encode()))
        if key.endswith("bias"):
            drawn = 0.5 * random.standard_normal(tensor.shape)
        elif tensor.ndim == 1:
            drawn = 1 + 0.25 * random.standard_normal(tensor.shape)
        elif "embed" in key:
            drawn = 0.5 * random.standard_normal(tensor.shape)
        else:
            drawn = 1.5 * random.standard_normal(tensor.shape) / tensor.shape[1] ** 0.5
        weights[key] = torch.from_numpy(drawn).to(dtype)
    if model.config.tie_word_embeddings:
        del weights["lm_head.weight"]
    return weights


def spell(config, dtype, spelling):
    """config.json: in transformers 5's words, or as the checkpoints of older times have it."""
    words = {key: value for key, value in config.to_diff_dict().items() if key != "transformers_version"}
    words |= {key: getattr(config, key) for key in SIZES}
    words |= {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu"}
    words |= {"tie_word_embeddings": config.tie_word_embeddings, "eos_token_id": config.eos_token_id}
    words.pop("head_dim", None)
    if config.head_dim != config.hidden_size // config.num_attention_heads:
        words["head_dim"] = config.head_dim
    words["dtype" if spelling == "new" else "torch_dtype"] = str(dtype).removeprefix("torch.")
    rope = dict(words.pop("rope_parameters"))
    if spelling == "new":
        words["rope_parameters"] = rope
    else:
        words["rope_theta"] = rope.pop("rope_theta")
        if rope.get("rope_type", "default") == "default":
            rope = None
        elif spelling == "oldest":
            rope["type"] = rope.pop("rope_type")
        words["rope_scaling"] = rope
    if config.num_key_value_heads == config.num_attention_heads:
        del words["num_key_value_heads"]
    return dict(sorted(words.items()))


def write_folder(folder, weights, words, shards):
    (folder / "config.json").write_text(json.dumps(words, indent=2) + "\n")
    if shards == 1:
        save_file(weights, folder / "model.safetensors", {"format": "pt"})
        return
    names = [f"model-{i + 1:05}-of-{shards:05}.safetensors" for i in range(shards)]
    where = {key: names[i * shards // len(weights)] for i, key in enumerate(weights)}
    for file in names:
        save_file({key: weights[key] for key in weights if where[key] == file}, folder / file, {"format": "pt"})
    size = sum(tensor.nbytes for tensor in weights.values())
    index = {"metadata": {"total_size": size}, "weight_map": dict(sorted(where.items()))}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")


# --- The reference -----------------------------------------------------------------------------------------

def norm_in_its_own_dtype(self, x):
    return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon))


class RotaryInDouble(modeling_llama.LlamaRotaryEmbedding):
    """The angle is a float32 product of float32 numbers; what follows is not."""
    @torch.no_grad()
    @modeling_llama.dynamic_rope_update
    def forward(self, x, position_ids):
        angles = (position_ids[..., None].float() * self.inv_freq.float()).double()
        angles = torch.cat((angles, angles), dim=-1)
        return angles.cos() * self.attention_scaling, angles.sin() * self.attention_scaling


def in_double(model):
    """The model in float64, with what forces float32 replaced."""
    model.double()
    for module in model.modules():
        if isinstance(module, modeling_llama.LlamaRMSNorm):
            module.forward = norm_in_its_own_dtype.__get__(module)
    model.model.rotary_emb = RotaryInDouble(model.config)
    return model


def open_model(folder, dtype):
    """The folder as transformers reads it, computing in this dtype."""
    model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="sdpa").eval()
    return in_double(model) if dtype is torch.float64 else model


@torch.no_grad()
def stages(model, ids):
    seen = {}

    def keep(name):
        def hook(module, inputs, output):
            seen[name] = (output[0] if isinstance(output, tuple) else output)[0].clone()
        return hook

    model.model.embed_tokens.register_forward_hook(keep("embed_tokens"))
    for number, layer in enumerate(model.model.layers):
        layer.register_forward_hook(keep(f"layers.{number}"))
    model.model.norm.register_forward_hook(keep("norm"))
    seen["logits"] = model(ids[None], use_cache=False).logits[0]
    return {name: tensor.reshape(len(ids), -1).contiguous() for name, tensor in seen.items()}


@torch.no_grad()
def token_by_token(folder, dtype, ids):
    model, cache, logits = open_model(folder, dtype), None, []
    for t in range(T):
        output = model(ids[None, t : t + 1], past_key_values=cache, use_cache=True)
        cache = output.past_key_values
        logits.append(output.logits[0, 0])
    return torch.stack(logits)


def compute(name, folder):
    """Writes the model's folder; returns what transformers makes of it."""
    sentence, dtype, shards, differences, spelling = CASES[name]
    config = LlamaConfig(**SIZES | differences)
    model = LlamaForCausalLM(config)
    folder.mkdir(parents=True, exist_ok=True)
    write_folder(folder, seeded_weights(name, model, dtype), spell(config, dtype, spelling), shards)

    random = np.random.default_rng(list(f"09_decoder {name} ids".encode()))
    ids = torch.from_numpy(random.integers(0, config.vocab_size, T))
    single, double = (stages(open_model(folder, dtype), ids) for dtype in (torch.float32, torch.float64))
    steps = token_by_token(folder, torch.float64, ids)
    apart = distance(steps, double["logits"])
    if name in ("dynamic", "longrope"):
        single["by_token"], double["by_token"] = token_by_token(folder, torch.float32, ids), steps
        if apart < 1e4:
            raise GoldenError(f"{name}: token by token should give other logits than all at once")
    elif apart > 1e-3:
        raise GoldenError(f"{name}: token by token gives other logits than all at once")
    tensors = {"ids": ids.int()} | single
    tensors |= {f"{stage}/float64": tensor for stage, tensor in double.items()}
    metadata = {"model": name, "sentence": sentence, "torch": torch.__version__.split("+")[0],
                "transformers": transformers.__version__, "numpy": np.__version__,
                "source": "transformers LlamaForCausalLM, attn_implementation=sdpa", "tree": str(model),
                "precision": f"weights in {str(dtype).removeprefix('torch.')}, widened to float32; computed in float32"}
    return tensors, metadata


# --- Files -------------------------------------------------------------------------------------------------

def differences(committed, computed, tensors, metadata):
    """What is wrong with a committed folder, one line each. Weights and configuration must be the same bytes, float64
    the same to 1e-12, and float32 may err some times more than here, as in golden.py."""
    files = {path.name for path in computed.iterdir()} | {"expected.safetensors"}
    there = {path.name for path in committed.iterdir()} if committed.is_dir() else set()
    for file in sorted(files ^ there):
        yield f"{file} is {'committed' if file in there else 'computed'} alone"
    for file in sorted(files & there - {"expected.safetensors"}):
        if file.endswith(".safetensors"):
            ours, theirs = load_file(computed / file), load_file(committed / file)
            if ours.keys() != theirs.keys() or any(raw(ours[key]) != raw(theirs[key]) for key in ours):
                yield f"{file}: other weights"
        elif (committed / file).read_text() != (computed / file).read_text():
            yield f"{file}: other text"
    if "expected.safetensors" not in there:
        return
    theirs, said = load(committed / "expected.safetensors")
    if said != metadata:
        yield "expected.safetensors: other metadata"
    if theirs.keys() != tensors.keys():
        yield "expected.safetensors: other tensors"
        return
    for stage in tensors:
        got, right = theirs[stage], tensors[stage]
        if (got.shape, got.dtype) != (right.shape, right.dtype):
            yield f"{stage}: another shape or dtype"
        elif stage == "ids":
            if raw(got) != raw(right):
                yield "other ids"
        elif stage.endswith("/float64"):
            if distance(got, right) > 1e-12 * 2**24:
                yield f"{stage}: {distance(got, right):.3g} ulps apart"
        else:
            truth = tensors[f"{stage}/float64"]
            if distance(got, truth) > ELSEWHERE * distance(right, truth) + CHECK_ULPS:
                yield f"{stage}: {distance(got, truth):.3g} ulps from float64"


def main():
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    check, failed = "--check" in sys.argv[1:], 0
    strangers = {path.name for path in MODELS.iterdir() if path.is_dir()} - CASES.keys() if MODELS.is_dir() else ()
    for name in strangers:
        print(f"FAIL models/{name}: no case of that name")
        failed += 1
    for name in CASES:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / name
            tensors, metadata = compute(name, folder)
            if check:
                wrong = list(differences(MODELS / name, folder, tensors, metadata))
                print(f"FAIL models/{name}: {wrong[0]}" if wrong else f"ok   models/{name}")
                failed += bool(wrong)
                continue
            save(folder / "expected.safetensors", tensors, metadata)
            shutil.rmtree(MODELS / name, ignore_errors=True)
            shutil.copytree(folder, MODELS / name)
            for path in (MODELS / name).iterdir():
                path.chmod(0o644)  # safetensors keeps its files to itself
            size = sum(path.stat().st_size for path in folder.iterdir())
            error = max(distance(tensors[key], tensors[f"{key}/float64"]) for key in tensors
                        if f"{key}/float64" in tensors)
            print(f"models/{name:12} {size / 1000:6.1f} kB   transformers' worst error {error:.1f} ulps")
    if check:
        print(f"{len(CASES) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except GoldenError as error:
        sys.exit(f"error: {error}")
