"""Inputs of the sizes that models have: 8 query heads on 2 key/value heads, 130 and 257 tokens, head dimensions of 64 and 128."""
import numpy as np

GATED = ("glu", "bilinear", "reglu", "geglu", "swiglu")
POINTWISE = ("relu", "sigmoid", "silu", "gelu", "gelu_tanh")
NORMS = ("rms_norm", "layer_norm")
HEADS = ("grouped_query_attention", "gqa_attention_with_past", "flash_attention")


def rope_table(T, D):
    angles = np.arange(T)[:, None] * 10000.0 ** (-2 * np.arange(D // 2) / D)
    return {"cosine": np.cos(angles).astype(np.float32), "sine": np.sin(angles).astype(np.float32)}


def model_cases(kernel, seed):
    """(name, inputs, shape of the output) of each such case; none for a kernel that has no such sizes."""
    random = np.random.default_rng(seed)

    def normal(*shape):
        return random.standard_normal(shape, np.float32)

    forward = kernel.removesuffix("_backward")
    back = forward != kernel
    if forward in NORMS:
        for rows, dim in (5, 2048), (2, 8192):
            inputs = {"x": normal(rows, dim), "weight": normal(dim), "eps": np.float32(1e-5)}
            if forward == "layer_norm" and not back:
                inputs["bias"] = normal(dim)
            yield from one_or_backward(back, f"model_{rows}_{dim}", inputs, (rows, dim), "dy", "x", normal)
    elif forward in GATED:
        inputs = {"gate": normal(33000), "up": normal(33000)}
        yield from one_or_backward(back, "model_33000", inputs, (33000,), "dout", "gate", normal)
    elif kernel in POINTWISE:
        yield "model_33000", {"x": normal(33000)}, (33000,)
    elif forward in ("rope_half_split", "rope_interleaved"):
        for T, D in (130, 64), (257, 128):
            inputs = rope_table(T, D) | ({} if back else {"x": normal(T, 8, D)})
            yield from one_or_backward(back, f"model_{T}_8_{D}", inputs, (T, 8, D), "dout", "x", normal)
    elif forward in HEADS:
        for T, D in (130, 64), (257, 128):
            if back and kernel != "grouped_query_attention_backward":
                continue
            inputs = {"q": normal(T, 8, D), "k": normal(T, 2, D), "v": normal(T, 2, D)}
            yield from one_or_backward(back, f"model_{T}_8_2_{D}", inputs, (T, 8, D), "dout", "q", normal)
    elif kernel == "attention":
        for T, D in (130, 64), (257, 128):
            yield f"model_{T}_{D}", {"q": normal(T, D), "k": normal(T, D), "v": normal(T, D)}, (T, D)
    elif kernel == "softmax":
        yield "model_130_257", {"x": 3 * normal(130, 257)}, (130, 257)
    elif kernel == "linear":
        yield "model_33_2048_130", {"x": normal(33, 2048), "weight": normal(130, 2048)}, (33, 130)
    elif kernel == "cross_entropy":
        yield "model_9_32000", {"logits": 3 * normal(9, 32000), "targets": random.integers(0, 32000, 9, np.int32)}, (1,)


def one_or_backward(back, name, inputs, shape, upstream, of, normal):
    """The case itself; or of its backward kernel the gradient with respect to one input."""
    if not back:
        yield name, inputs, shape
    else:
        gradient = np.zeros(inputs[of].shape if of in inputs else shape, np.float32)
        yield f"{name}_d{of}", {upstream: normal(*shape)} | inputs | {f"d{of}": gradient}, gradient.shape
