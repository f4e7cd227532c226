"""One sentence through a Llama: a story with its question, and what the course's own model makes of it at each step.

    python tests/golden/sentence.py            writes sentence.safetensors anew
    python tests/golden/sentence.py --check    computes it anew and compares

The model is run once, by transformers in float32, over the story up to "Answer:". Tensors, for T tokens:

    ids                    [T]           the tokens
    stream                 [2L+2, T, C]  the residual stream: after the embedding (0), after attention (2l + 1) and
                                         feed-forward (2l + 2) of each layer l, and at last after the final norm
    attention/normed       [T, C]        of one layer, whose input is stream[2l]: what its first norm gives,
    attention/q            [T, H, D]     the queries,
    attention/k, /v        [T, KV, D]    keys and values,
    rope/cosine, /sine     [T, D/2]      of the angles of each position,
    attention/q_rope       [T, H, D]     the queries after RoPE,
    attention/k_rope       [T, KV, D]    the keys after RoPE: these and v are what the cache holds,
    attention/attended     [T, H, D]     what each head gives,
    attention/out          [T, C]        and the same after W_o, which is added to the stream
    head/q, /k, /v, /out   [T, D]        one head of that layer by itself, after RoPE,
    head/scores            [T, T]        q k^T / sqrt(D), before the mask,
    head/weights           [T, T]        and after mask and softmax
    feed_forward/normed    [T, C]        of the same layer, whose input now is stream[2l + 1],
    feed_forward/gate, /up [T, F]        the two halves of the hidden layer,
    feed_forward/product   [T, F]        silu(gate) up,
    feed_forward/out       [T, C]        and what is added to the stream
    logits                 [V]           of the token to come, after the last

As metadata, the story, its tokens' texts, the vocabulary's, the answer, and which layer and head these are and why. And for each tensor
that a kernel gives (`ulps/NAME`), how far PyTorch's float32 is from the same step in float64, on the same float32
inputs: the largest error in units in the last place, as common/check.h counts them. That is all that its tolerance
needs to know of float64. Of the stream, it is the final norm's.
"""
import sys
from pathlib import Path

from golden import CHECK_ULPS, ELSEWHERE, distance, load, save
import sentencepiece
import torch
import torch.nn.functional as F
import transformers
from transformers import LlamaForCausalLM
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

HERE = Path(__file__).resolve().parent
MODEL = HERE.parents[1] / "common" / "stories" / "model"
FILE = HERE / "sentence.safetensors"

# The ball changes hands, and the last name before the question is not its owner's: the answer has to be looked up.
STORY = """Mia gave the red ball to Anna. Mia sang a song.
Question: Who has the red ball?
Answer:"""
OWNER, STEPS, MOST = "▁Anna", 8, 0.6
SAME = 1e-4  # how far another machine's float32 may be from this one's after four layers, of the largest in its row


def watch(model, ids):
    """Runs the model once, and keeps what goes into and comes out of each of its modules, and the heads' weights."""
    seen, hooks = {}, []
    for name, module in model.named_modules():
        def hook(module, inputs, output, name=name):
            first = output[0] if isinstance(output, tuple) else output
            seen[name] = (inputs[0][0] if inputs else None, first[0] if torch.is_tensor(first) else first)
        hooks.append(module.register_forward_hook(hook))
    output = model(ids[None], output_attentions=True, use_cache=True)
    for hook in hooks:
        hook.remove()
    return seen, output


def answer(model, tokenizer, ids):
    """What the model says, up to the full stop; and how near the second most probable token came."""
    said, margin = ids, float("inf")
    while tokenizer.id_to_piece(said[-1].item()) != "." and len(said) < len(ids) + STEPS:
        first, second = model(said[None]).logits[0, -1].topk(2).values.tolist()
        margin = min(margin, first - second)
        said = torch.cat([said, model(said[None]).logits[0, -1:].argmax(-1)])
    return tokenizer.decode(said[len(ids):].tolist()), margin


def heads_that_find(model, seen, attentions, at, token):
    """How much each head that looks at `at` from the last row, with MOST of its weight, writes there for this token: its
    numbers times its columns of W_o, times the token's embedding. With its layer, its number and that weight; the largest first."""
    D, embedding, heads = model.config.head_dim, model.model.embed_tokens.weight[token], []
    for l, layer in enumerate(attentions):
        found = seen[f"model.layers.{l}.self_attn.o_proj"][0][-1].unflatten(-1, (-1, D))
        w_o = model.model.layers[l].self_attn.o_proj.weight.unflatten(-1, (-1, D))
        heads += [((embedding @ w_o[:, h] @ found[h]).item(), l, h, layer[0, h, -1, at].item())
                  for h in range(layer.shape[1]) if layer[0, h, -1, at] >= MOST]
    return sorted(heads, reverse=True)


def tensors_of(model, seen, output, layer, head):
    """transformers' float32 answers under our names."""
    config, where = model.config, f"model.layers.{layer}."
    H, KV, D = config.num_attention_heads, config.num_key_value_heads, config.head_dim
    given, gave = ({name.removeprefix(where): both[i] for name, both in seen.items() if name.startswith(where)}
                   for i in (0, 1))
    stream = [seen["model.embed_tokens"][1]]
    for l in range(config.num_hidden_layers):
        stream += [seen[f"model.layers.{l}.post_attention_layernorm"][0], seen[f"model.layers.{l}"][1]]
    stream.append(seen["model.norm"][1])
    q, k, v = (gave[f"self_attn.{p}_proj"].unflatten(-1, (-1, D)) for p in "qkv")
    cosine, sine = model.model.rotary_emb(stream[0][None], torch.arange(len(q))[None])
    q_rope, k_rope = (x[0] for x in apply_rotary_pos_emb(q[None], k[None], cosine, sine, unsqueeze_dim=2))
    attended = given["self_attn.o_proj"].unflatten(-1, (H, D))
    group = head // (H // KV)
    scores = q_rope[:, head] @ k_rope[:, group].T * D**-0.5
    weights = output.attentions[layer][0, head]
    cached = output.past_key_values.layers[layer]
    assert torch.equal(cached.keys[0].transpose(0, 1), k_rope) and torch.equal(cached.values[0].transpose(0, 1), v)
    assert torch.allclose(scores.masked_fill(later(len(q)), -torch.inf).softmax(-1), weights, atol=1e-6)
    return {
        "stream": torch.stack(stream),
        "attention/normed": gave["input_layernorm"], "attention/q": q, "attention/k": k, "attention/v": v,
        "rope/cosine": cosine[0, :, :D // 2], "rope/sine": sine[0, :, :D // 2],
        "attention/q_rope": q_rope, "attention/k_rope": k_rope,
        "attention/attended": attended, "attention/out": gave["self_attn.o_proj"],
        "head/q": q_rope[:, head], "head/k": k_rope[:, group], "head/v": v[:, group],
        "head/scores": scores, "head/weights": weights, "head/out": attended[:, head],
        "feed_forward/normed": gave["post_attention_layernorm"],
        "feed_forward/gate": gave["mlp.gate_proj"], "feed_forward/up": gave["mlp.up_proj"],
        "feed_forward/product": given["mlp.down_proj"], "feed_forward/out": gave["mlp"],
        "logits": output.logits[0, -1]}


def later(T):
    """Where a key stands after the query."""
    return torch.ones(T, T, dtype=torch.bool).triu(1)


def in_float64(model, tensors, layer):
    """Each step again in float64, on the float32 that the step before it gave."""
    t = {name: tensor.double() for name, tensor in tensors.items()}
    w = {name: tensor.double() for name, tensor in model.state_dict().items()}
    of = {name.removeprefix(f"model.layers.{layer}.").removesuffix(".weight"): tensor for name, tensor in w.items()}
    eps = model.config.rms_norm_eps

    def norm(x, weight):
        return x / (x.pow(2).mean(-1, keepdim=True) + eps).sqrt() * weight

    def project(x, name, like):
        return F.linear(x.flatten(1), of[name]).reshape(t[like].shape)

    def turn(x):
        a, b = x.chunk(2, -1)
        cosine, sine = t["rope/cosine"][:, None], t["rope/sine"][:, None]
        return torch.cat([a * cosine - b * sine, a * sine + b * cosine], -1)

    def attend(q, k, v):
        scores = torch.einsum("thd,shd->hts", q, k) / q.shape[-1] ** 0.5
        weights = scores.masked_fill(later(len(q)), -torch.inf).softmax(-1)
        return scores, weights, torch.einsum("hts,shd->thd", weights, v)

    angles = (torch.arange(len(t["attention/q"])).float()[:, None] * model.model.rotary_emb.inv_freq).double()
    shared = t["attention/q"].shape[1] // t["attention/k"].shape[1]
    k, v = (t[f"attention/{name}"].repeat_interleave(shared, 1) for name in ("k_rope", "v"))
    scores, weights, out = attend(*(t[f"head/{name}"][:, None] for name in "qkv"))
    return {
        "stream": norm(t["stream"][-2], w["model.norm.weight"]),  # of the stream, the last: after the final norm
        "attention/normed": norm(t["stream"][2 * layer], of["input_layernorm"]),
        **{f"attention/{p}": project(t["attention/normed"], f"self_attn.{p}_proj", f"attention/{p}") for p in "qkv"},
        "rope/cosine": angles.cos(), "rope/sine": angles.sin(),  # float32's angles, which the model was trained with
        "attention/q_rope": turn(t["attention/q"]), "attention/k_rope": turn(t["attention/k"]),
        "attention/attended": attend(t["attention/q_rope"], k, v)[2],
        "attention/out": project(t["attention/attended"], "self_attn.o_proj", "attention/out"),
        "head/scores": scores[0], "head/weights": weights[0], "head/out": out[:, 0],
        "feed_forward/normed": norm(t["stream"][2 * layer + 1], of["post_attention_layernorm"]),
        "feed_forward/gate": project(t["feed_forward/normed"], "mlp.gate_proj", "feed_forward/gate"),
        "feed_forward/up": project(t["feed_forward/normed"], "mlp.up_proj", "feed_forward/up"),
        "feed_forward/product": (F.silu(t["feed_forward/gate"]) * t["feed_forward/up"]).flatten(),  # each is a row
        "feed_forward/out": project(t["feed_forward/product"], "mlp.down_proj", "feed_forward/out"),
        "logits": F.linear(t["stream"][-1, -1:], w["lm_head.weight"])}


def ulps(tensors, truths):
    """PyTorch's own errors."""
    for name, truth in truths.items():
        got = tensors[name][-1] if name == "stream" else tensors[name]
        yield f"ulps/{name}", f"{distance(got.reshape(truth.shape), truth):.3f}"


def readable(piece):
    """A token's text without the blank before it, so that blanks can part a list of them."""
    return piece.replace("▁", "").replace("<0x0A>", "\\n") or "▁"


@torch.no_grad()
def compute():
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(MODEL / "tokenizer.model"))
    model = LlamaForCausalLM.from_pretrained(MODEL, dtype=torch.float32, attn_implementation="eager").eval()
    ids = torch.tensor(tokenizer.encode(STORY, add_bos=True))
    pieces = tokenizer.id_to_piece(ids.tolist())
    seen, output = watch(model, ids)
    said, margin = answer(model, tokenizer, ids)
    name, at = OWNER.removeprefix("▁"), pieces.index(OWNER)
    heads = heads_that_find(model, seen, output.attentions, at, ids[at])
    if said != f"{name} has the red ball." or margin < 0.01 or not heads:
        sys.exit(f"error: the model answers {said!r} (margin {margin:.3f}), and {len(heads)} heads give {name} "
                 f"{MOST} or more: choose another story")
    _, layer, head, weight = heads[0]
    tensors = {name: tensor.contiguous() for name, tensor in tensors_of(model, seen, output, layer, head).items()}
    metadata = {
        "story": STORY, "answer": said, "margin": f"{margin:.2f}",
        "tokens": " ".join(map(readable, pieces)),
        "vocabulary": " ".join(readable(tokenizer.id_to_piece(i)) for i in range(tokenizer.get_piece_size())),
        "layer": str(layer), "head": str(head), "owner": str(at),
        "why": f"of all heads whose last query gives the owner of the ball, token {at}, {MOST} or more, this one writes most "
               f"for her; its weight is {weight:.2f}",
        "rms_norm_eps": str(model.config.rms_norm_eps), "rope_theta": str(model.config.rope_parameters["rope_theta"]),
        "source": "transformers LlamaForCausalLM, attn_implementation=eager", "torch": torch.__version__.split("+")[0],
        "transformers": transformers.__version__, **dict(ulps(tensors, in_float64(model, tensors, layer)))}
    return {"ids": ids.int()} | tensors, metadata


def differences(theirs, said, tensors, metadata):
    """What is wrong with the committed file, one line each. Another machine rounds otherwise, by so much."""
    for key in sorted(said.keys() | metadata.keys()):
        ours, other = metadata.get(key), said.get(key)
        if key.startswith("ulps/") and ours and other:
            if not float(other) <= ELSEWHERE * float(ours) + CHECK_ULPS:
                yield f"metadata {key}: {other} is committed, {ours} computed"
        elif key not in ("margin", "why") and ours != other:
            yield f"metadata {key}: {other!r} is committed, {ours!r} computed"
    if theirs.keys() != tensors.keys():
        yield "other tensors"
        return
    for name, ours in tensors.items():
        if (ours.shape, ours.dtype) != (theirs[name].shape, theirs[name].dtype):
            yield f"{name}: another shape or dtype"
        elif not ((theirs[name] - ours).abs() <= SAME * ours.abs().amax(-1, keepdim=True)).all():
            yield f"{name}: other numbers"


def main():
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    tensors, metadata = compute()
    if "--check" not in sys.argv[1:]:
        save(FILE, tensors, metadata)
        print(f"{FILE.name}: {FILE.stat().st_size / 1000:.1f} kB, layer {metadata['layer']}, head {metadata['head']}")
        return 0
    wrong = list(differences(*load(FILE), tensors, metadata))
    print(f"FAIL {FILE.name}: {wrong[0]}" if wrong else f"ok   {FILE.name}")
    print(f"{int(not wrong)} passed, {int(bool(wrong))} failed")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
