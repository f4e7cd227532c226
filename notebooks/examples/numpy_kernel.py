"""NumPy: the function gets arrays and returns one. verify.check does the same for anything that Python can call.

    python notebooks/examples/numpy_kernel.py
"""
import numpy as np
from llama_kernels import verify


def grouped_query_attention(q, k, v):  # q [T][H][D], k and v [T][KV][D]
    T, H, D = q.shape
    k, v = (np.repeat(array, H // array.shape[1], axis=1) for array in (k, v))
    scores = np.einsum("thd,shd->hts", q, k) / np.sqrt(np.float32(D))
    scores = np.where(np.tri(T, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("hts,shd->thd", weights, v)


verify.check("grouped_query_attention", grouped_query_attention)
