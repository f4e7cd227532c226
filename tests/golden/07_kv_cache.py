"""Chapter 7: attention with a cache of the keys and values of earlier tokens."""
import math

import torch
import torch.nn.functional as F

from golden import Kernel, normal

CHAPTER = "07_kv_cache"
NAN, INF = math.nan, math.inf


def own_group(h, H, KV):
    return h // (H // KV)


def up_to_itself(t, s, T, S):
    """Query t stands at S - T + t."""
    return s <= S - T + t


def attend(q, k, v, group=own_group, seen=up_to_itself, scale=lambda D: 1 / math.sqrt(D), hidden=-INF, group_of_v=None,
           softmax=lambda scores: torch.softmax(scores, -1)):
    """The attention of chapter 6, for the last T of S positions."""
    (T, H, D), (S, KV, _) = q.shape, k.shape
    k, v = (x[:, which(torch.arange(H), H, KV)] for x, which in ((k, group), (v, group_of_v or group)))
    scores = torch.einsum("thi,shi->hts", q, k) * scale(D)
    visible = seen(torch.arange(T)[:, None], torch.arange(S), T, S)
    return torch.einsum("hts,shi->thi", softmax(scores.masked_fill(~visible, hidden)), v)


def pytorch_attend(q, k, v):
    T, S = len(q), len(k)
    visible = up_to_itself(torch.arange(T)[:, None], torch.arange(S), T, S)
    q, k, v = (x.transpose(0, 1)[None] for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=visible, enable_gqa=True)[0].transpose(0, 1)


def filled(cache, new, length):
    """What the cache holds afterwards, of its own rows and the new ones."""
    return torch.cat([cache[:length], new])


def with_cache(attend, of_k=filled, of_v=filled):
    return lambda cache_k, cache_v, q, k, v, length: attend(
        q, of_k(cache_k, k, length), of_v(cache_v, v, length))


cached_attention = Kernel(
    "cached_attention", CHAPTER,
    "torch.nn.functional.scaled_dot_product_attention on torch.cat of the cached rows and the new ones",
    pytorch=with_cache(pytorch_attend), formula=with_cache(attend))


def wrong_rows(name, advice, rows):
    """rows(cache, new, length), where there are such rows."""
    def formula(cache_k, cache_v, q, k, v, length):
        keys, values = rows(cache_k, k, length), rows(cache_v, v, length)
        return None if keys is None or len(keys) < len(q) else attend(q, keys, values)
    cached_attention.wrong(name, advice, formula)


def wrong_attention(name, advice, **change):
    cached_attention.wrong(name, advice, with_cache(lambda q, k, v: attend(q, k, v, **change)))


def written_at(start, cache, new, end):
    """The new rows from `start` on, in a cache that is read up to `end`."""
    if start < 0 or start + len(new) > len(cache):
        return None
    cache = cache.clone()
    cache[start:start + len(new)] = new
    return cache[:end]


def written_flat(start, count=None):
    """The new rows as one stretch of numbers: start and count are functions of (T, KV, D, length)."""
    def rows(cache, new, length):
        T, KV, D = new.shape
        begin, numbers = start(T, KV, D, length), new.flatten()[:count and count(T, KV, D, length)]
        flat = cache.flatten().clone()
        flat[begin:begin + len(numbers)] = numbers
        return flat.reshape(cache.shape)
    return rows


def own_place(T, KV, D, length):
    return length * KV * D


def heads_first(cache, new, length):
    """Written into a cache that is taken for [KV][capacity][D]."""
    capacity, KV, D = cache.shape
    cache = cache.reshape(KV, capacity, D).clone()
    cache[:, length:length + len(new)] = new.transpose(0, 1)
    return cache


# What copies wrongly, both for the append by itself and for the attention that begins with one.
COPIES = [
    ("heads_first_cache",
     "Your cache is laid out as [KV][capacity][D]. It is [capacity][KV][D]: the heads of a token lie together",
     lambda cache, new, length: heads_first(cache, new, length).reshape(cache.shape)),
    ("offset_without_KV", "Your new rows begin at length * D. A row has KV * D numbers: begin at length * KV * D",
     written_flat(lambda T, KV, D, length: length * D)),
    ("size_without_KV", "You copy T * D numbers. A row has KV * D of them: copy T * KV * D",
     written_flat(own_place, lambda T, KV, D, length: T * D)),
    ("size_in_numbers", "Your memcpy copies a quarter: its size is in bytes. Multiply by sizeof(float)",
     lambda cache, new, length: None if new.numel() % 4 else
     written_flat(own_place, lambda T, KV, D, length: T * KV * D // 4)(cache, new, length)),
    ("one_row_alone", "You copy one row of KV * D numbers, however many are new. Copy T of them",
     written_flat(own_place, lambda T, KV, D, length: KV * D)),
    ("last_row_left_out", "The last of your new rows is not in the cache. Copy all T",
     written_flat(own_place, lambda T, KV, D, length: (T - 1) * KV * D)),
    ("new_rows_reversed", "Your new rows stand in reverse order. Row length + t is k[t], and v[t]",
     lambda cache, new, length: written_at(length, cache, new.flip(0), len(cache))),
    ("new_rows_read_heads_first", "You read k and v as [KV][T][D]. They are [T][KV][D]",
     lambda cache, new, length:
         written_at(length, cache, new.reshape(new.shape[1], len(new), -1).transpose(0, 1), len(cache))),
    ("first_head_alone", "Only head 0 of the new rows is in the cache. Copy all KV",
     lambda cache, new, length: written_at(length, cache, torch.cat(
         [new[:, :1], cache[length:length + len(new), 1:]], 1), len(cache))),
]

# Of the same two, what rounds.
ROUNDED = [(f"kept_in_{name}", f"Your cache keeps {name}, {bits} bits. It is an array of float32", kept)
           for name, bits, kept in (("float16", 11, torch.float16), ("bfloat16", 8, torch.bfloat16))]


def turned(k, positions):
    """RoPE in half-split pairs, theta 10000."""
    a, b = k.chunk(2, -1)
    angle = positions[:, None, None] * 10000 ** -(torch.arange(a.shape[-1]) / a.shape[-1])
    return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)


wrong_rows("one_slot_late",
           "Your new rows are written one slot late: row `length` is a hole of what was there. "
           "Start at `length`",
           lambda cache, new, length: written_at(length + 1, cache, new, length + len(new)))
wrong_rows("one_slot_early",
           "Your new rows are written one slot early, over the last one kept. Start at `length`",
           lambda cache, new, length: written_at(length - 1, cache, new, length + len(new)))
wrong_rows("written_at_the_start",
           "Your new rows are written over the cache's first. Start at `length`",
           lambda cache, new, length: written_at(0, cache, new, length + len(new)))
wrong_rows("not_written",
           "Your new rows are not in the cache when it is read. Append them before you attend",
           lambda cache, new, length: cache[:length + len(new)])
wrong_rows("old_rows_alone",
           "Your queries see the cache as it was. A token sees itself too: append before you attend",
           lambda cache, new, length: cache[:length])
wrong_rows("new_rows_alone",
           "Your queries see the new rows alone. They see all that came before: rows 0 .. length + T - 1",
           lambda cache, new, length: new)
wrong_rows("whole_capacity",
           "Your queries see the whole capacity. "
           "Only length + T rows are filled: what lies behind is garbage",
           lambda cache, new, length: written_at(length, cache, new, len(cache)))
wrong_rows("new_rows_first",
           "Your new rows stand before the old ones, so the mask hides the wrong ones. Append them",
           lambda cache, new, length: torch.cat([new, cache[:length]]))
cached_attention.wrong("values_not_appended",
                       "Your new values are not in the cache. Append both keys and values",
                       with_cache(attend, of_v=lambda cache, new, length: cache[:length + len(new)]))
cached_attention.wrong("keys_not_appended",
                       "Your new keys are not in the cache. Append both keys and values",
                       with_cache(attend, of_k=lambda cache, new, length: cache[:length + len(new)]))
cached_attention.wrong("keys_reversed",
                       "Your keys are in reverse order, and your values are not. "
                       "Row s of both is position s",
                       with_cache(attend, of_k=lambda *rows: filled(*rows).flip(0)))
cached_attention.wrong("turned_again",
                       "Your keys are turned by RoPE on their way out of the cache. "
                       "They were on their way in: a key is turned once",
                       with_cache(lambda q, k, v: attend(q, turned(k, torch.arange(len(k))), v)
                                  if k.shape[-1] % 2 == 0 else None))
for name, advice, rows in COPIES:
    if name == "heads_first_cache":  # it reads as it writes
        wrong_rows(name, advice, lambda cache, new, length:
                   heads_first(cache, new, length)[:, :length + len(new)].transpose(0, 1))
    else:
        wrong_rows(name, advice, lambda cache, new, length, rows=rows:
                   None if rows(cache, new, length) is None else rows(cache, new, length)[:length + len(new)])
wrong_rows("one_row_more",
           "Your queries see one row more: query 0 the next token, the last one garbage. Query t sees 0 .. length + t",
           lambda cache, new, length: written_at(length, cache, new, length + len(new) + 1)
           if length + len(new) < len(cache) else None)
wrong_attention("no_scale", "Your scores are not scaled. Divide them by sqrt(D)", scale=lambda D: 1)
wrong_attention("divided_by_D", "Your scores are divided by D: without the root, or twice. Divide once by sqrt(D)",
                scale=lambda D: 1 / D)
wrong_attention("root_cut", "Your sqrt(D) is cut to a whole number. Keep it a float: of 8, it is 2.83",
                scale=lambda D: 1 / math.isqrt(D))
wrong_attention("mask_of_minus_10000", "Your mask is -10000, and scores may be lower. It is -INFINITY", hidden=-1e4)
wrong_attention("mask_of_a_finite_number",
                "Your mask is a finite number, such as -1e9, and scores may be lower. It is -INFINITY", hidden=-1e9)
for width in 4, 8, 16:
    wrong_attention(f"window_of_{width}",
                    f"Your queries see the last {width} rows alone, a sliding window. A Llama's see all that were "
                    "before",
                    seen=lambda t, s, T, S, width=width: (s <= S - T + t) & (s > S - T + t - width))
wrong_attention("first_head_for_all", "Your query heads all read key/value head 0. Head h reads h / (H / KV)",
                group=lambda h, H, KV: 0 * h)
cached_attention.wrong("keys_and_values_swapped",
                       "Your keys and values are swapped. Queries meet keys, and the weights mix values",
                       with_cache(lambda q, k, v: attend(q, v, k)))
wrong_attention("mask_from_the_top_left",
                "Your query t sees the rows 0 .. t. "
                "It stands at position length + t, and sees them up to there",
                seen=lambda t, s, T, S: s <= t)
wrong_attention("no_mask",
                "Your new tokens see those after them. "
                "The queries of a chunk see rows 0 .. length + t, no more",
                seen=lambda t, s, T, S: s >= 0 * t)
wrong_attention("as_far_as_the_first",
                "Your queries all see as far as the first of them. Query t sees rows 0 .. length + t",
                seen=lambda t, s, T, S: s <= S - T + 0 * t)
wrong_attention("mask_reversed",
                "Your tokens see the future alone. Query t sees rows 0 .. length + t, what has been",
                seen=lambda t, s, T, S: s >= S - T + t)
wrong_attention("strict_mask",
                "Your tokens do not see themselves. Query t sees rows 0 .. length + t, that one too",
                seen=lambda t, s, T, S: s < S - T + t)
wrong_attention("remainder_for_group",
                "Your query head h reads key/value head h % KV. It is h / (H / KV): neighbours share",
                group=lambda h, H, KV: h % KV)
wrong_attention("values_of_another_group",
                "Your keys are those of the group, but your values are of head h % KV. Both are of h / (H / KV)",
                group_of_v=lambda h, H, KV: h % KV)
wrong_attention("mask_from_the_top_left_unless_one",
                "Your query t sees the rows 0 .. t unless it is the only one, as is_causal of PyTorch has it. It stands at "
                "position length + t, and sees them up to there",
                seen=lambda t, s, T, S: s <= t if T > 1 else s >= 0 * t)
wrong_attention("unmasked_unless_whole",
                "Your mask is left out where there is something in the cache. The queries of a chunk see rows 0 .. length + t, no more",
                seen=lambda t, s, T, S: s <= t if T == S else s >= 0 * t)
wrong_attention("first_row_left_out", "Your queries do not see the first row. Query t sees rows 0 .. length + t",
                seen=lambda t, s, T, S: (s <= S - T + t) & (s > 0))
wrong_attention("not_normalised", "Your weights are not divided by their sum. Divide: a query's sum to 1",
                softmax=lambda scores: torch.exp(scores - scores.amax(-1, keepdim=True)))
wrong_attention("maximum_not_subtracted", "Your e^score overflows, or is 0 for the whole row. Subtract the row's maximum first",
                softmax=lambda scores: torch.exp(scores) / torch.exp(scores).sum(-1, keepdim=True))
wrong_attention("log2e_with_exp", "Your scores are multiplied by log2(e), as for exp2, and you take exp. Leave that out, or take exp2",
                scale=lambda D: 1 / math.sqrt(D) / math.log(2))
wrong_attention("base_two", "Your powers are those of 2. Take exp, or multiply the scores by log2(e) before exp2",
                scale=lambda D: math.log(2) / math.sqrt(D))
cached_attention.wrong("model_width",
                       "Your scores are divided by the root of the model's width, H D. Take that of a head's, sqrt(D)",
                       with_cache(lambda q, k, v: attend(q / math.sqrt(q.shape[1]), k, v)))
cached_attention.wrong("first_query_for_all", "Your queries are all the first one. Query t is q[t]",
                       with_cache(lambda q, k, v: attend(q[:1].expand_as(q), k, v)))
for name, advice, kept in ROUNDED:
    cached_attention.wrong(name, advice, with_cache(lambda q, k, v, kept=kept: attend(q, *(x.to(kept).to(x.dtype) for x in (k, v)))))


def cache(length, capacity, KV, D, garbage):
    """Normal rows up to the length, and garbage behind them."""
    def draw(random):
        rows = random.standard_normal((capacity, KV, D))
        rows[length:] *= garbage
        return rows
    return draw


def step(length, T, H, KV, D, capacity, garbage=1):
    """T new tokens for a cache of `length` rows."""
    rows = cache(length, capacity, KV, D, garbage)
    return dict(cache_k=rows, cache_v=rows, length=length,
                q=normal(T, H, D), k=normal(T, KV, D), v=normal(T, KV, D))


case = cached_attention.case
case("by_hand", "The lesson's example: the third token, whose keys 0, 1 and 2 have the weights 1 : 2 : 4.",
     cache_k=[[[0]], [[1]], [[9]], [[9]]], cache_v=[[[7]], [[10]], [[90]], [[90]]],
     q=[[[math.log(2)]]], k=[[[2]]], v=[[[2]]], length=2)
case("prefill", "An empty cache: the whole prompt at once.", **step(0, 5, 4, 2, 6, capacity=8))
case("prefill_fits", "A prompt that fills its cache to the last row.", **step(0, 6, 2, 2, 4, capacity=6))
case("first_token", "One token and an empty cache.", **step(0, 1, 4, 2, 6, capacity=3, garbage=NAN))
case("decode", "One token after seven.", **step(7, 1, 8, 2, 6, capacity=12))
case("decode_fits", "One token for the last row that is free.", **step(7, 1, 6, 3, 8, capacity=8))
case("chunk", "Five tokens after four: each sees the cache, and of the five those up to itself.",
     **step(4, 5, 4, 2, 6, capacity=12))
case("chunk_fits", "A chunk that fills its cache to the last row.", **step(5, 3, 4, 1, 6, capacity=8))
case("draft", "Three drafted tokens after twenty.", **step(20, 3, 6, 3, 4, capacity=32))
case("loud_garbage", "What a longer text left behind, a thousand times as loud.",
     **step(5, 2, 4, 2, 6, capacity=10, garbage=1000))
case("garbage_is_not_a_number", "A cache that was never cleared: NaN from the last filled row on.",
     **step(6, 2, 6, 3, 6, capacity=9, garbage=NAN))
case("llama", "Heads of a Llama 3.2 1B, after 8 tokens.", **step(8, 1, 2, 1, 64, capacity=11, garbage=NAN))
case("deep_below", "Two tokens after one, scores of -2^32 each: even -1e9 is no mask.",
     cache_k=[[[2**16, 0, 0, 0]]] * 4, cache_v=normal(4, 1, 4), length=1, q=[[[-2**17, 0, 0, 0]] * 2] * 2,
     k=[[[2**16, 0, 0, 0]]] * 2, v=normal(2, 1, 4))
case("below", "Two tokens after one, scores of -20000 each.",
     cache_k=[[[200, 0, 0, 0]]] * 4, cache_v=normal(4, 1, 4), length=1, q=[[[-200, 0, 0, 0]] * 2] * 2,
     k=[[[200, 0, 0, 0]]] * 2, v=normal(2, 1, 4))


# --- The append by itself ----------------------------------------------------------------------------------

def both(rows_of_k, rows_of_v, length):
    """What the kernel leaves behind: both caches, whole, and the length that it returns."""
    return torch.cat([rows_of_k.flatten(), rows_of_v.flatten(), torch.tensor([float(length)])])


def joined(cache, new, length):
    return torch.cat([cache[:length], new, cache[length + len(new):]])


def overwritten(cache, new, start):
    """The new rows from `start` on; None if they do not fit."""
    return written_at(start, cache, new, len(cache))


kv_cache_append = Kernel(
    "kv_cache_append", CHAPTER, "torch.cat of the filled rows, the new ones and what lies behind them",
    pytorch=lambda cache_k, cache_v, k, v, length: both(
        joined(cache_k, k, length), joined(cache_v, v, length), length + len(k)),
    formula=lambda cache_k, cache_v, k, v, length: both(
        overwritten(cache_k, k, length), overwritten(cache_v, v, length), length + len(k)), sums=False)


def wrong_append(name, advice, rows, returned=lambda length, T: length + T):
    """rows(cache_k, cache_v, k, v, length): both caches afterwards, or None."""
    def formula(cache_k, cache_v, k, v, length):
        caches = rows(cache_k, cache_v, k, v, length)
        return None if caches is None or caches[0] is None else both(*caches, returned(length, len(k)))
    kv_cache_append.wrong(name, advice, formula)


def wrong_start(name, advice, start):
    wrong_append(name, advice, lambda cache_k, cache_v, k, v, length: (
        overwritten(cache_k, k, start(length)), overwritten(cache_v, v, start(length))))


def right_rows(cache_k, cache_v, k, v, length):
    return overwritten(cache_k, k, length), overwritten(cache_v, v, length)


wrong_start("one_slot_late", "Your new rows are written one slot late: row `length` is a hole. Start at `length`",
            lambda length: length + 1)
wrong_start("one_slot_early", "Your new rows are written one slot early, over the last one kept. Start at `length`",
            lambda length: length - 1)
wrong_start("written_at_the_start", "Your new rows are written over the cache's first. Start at `length`",
            lambda length: 0)
wrong_append("values_not_appended", "Your new values are not in the cache. Append both keys and values",
             lambda cache_k, cache_v, k, v, length: (overwritten(cache_k, k, length), cache_v))
wrong_append("keys_not_appended", "Your new keys are not in the cache. Append both keys and values",
             lambda cache_k, cache_v, k, v, length: (cache_k, overwritten(cache_v, v, length)))
wrong_append("keys_and_values_swapped", "Your keys are in the values' cache, and the values in the keys'",
             lambda cache_k, cache_v, k, v, length: right_rows(cache_k, cache_v, v, k, length))
for name, advice, rows in COPIES:
    if name != "one_row_alone":  # here it is called first_row_alone
        wrong_append(name, advice, lambda cache_k, cache_v, k, v, length, rows=rows: (
            rows(cache_k, k, length), rows(cache_v, v, length)))
wrong_append("keys_for_values", "Your keys are in both caches. The values go into cache_v",
             lambda cache_k, cache_v, k, v, length: right_rows(cache_k, cache_v, k, k, length))
wrong_append("one_row_counted", "You return length + 1. T rows are new: return length + T", right_rows,
             returned=lambda length, T: length + 1)
wrong_append("first_row_alone", "Only the first of your T new rows is in the cache. Append them all",
             lambda cache_k, cache_v, k, v, length: right_rows(cache_k, cache_v, k[:1], v[:1], length))
wrong_append("first_row_repeated", "Your new rows are all the first one. Row length + t is k[t], and v[t]",
             lambda cache_k, cache_v, k, v, length: right_rows(
                 cache_k, cache_v, k[:1].expand_as(k), v[:1].expand_as(v), length))
wrong_append("length_not_advanced", "You return the old length. The new one is length + T", right_rows,
             returned=lambda length, T: length)
wrong_append("new_rows_counted", "You return how many rows are new. The new length is length + T", right_rows,
             returned=lambda length, T: T)
for name, advice, kept in ROUNDED:
    wrong_append(name, advice, lambda cache_k, cache_v, k, v, length, kept=kept: right_rows(
        cache_k, cache_v, k.to(kept).to(k.dtype), v.to(kept).to(v.dtype), length))
wrong_append("added", "Your new rows are added to what was there. Write =, and not +=",
             lambda cache_k, cache_v, k, v, length: right_rows(
                 cache_k, cache_v, cache_k[length:length + len(k)] + k, cache_v[length:length + len(v)] + v, length))
wrong_append("values_one_step_late", "Your values are written behind the length that the keys have advanced. Both begin at the old length",
             lambda cache_k, cache_v, k, v, length: None if overwritten(cache_v, v, length + len(v)) is None else (
                 overwritten(cache_k, k, length), overwritten(cache_v, v, length + len(v))))
wrong_append("first_head_for_all", "Your new rows have head 0 in every head. Copy all KV",
             lambda cache_k, cache_v, k, v, length: right_rows(
                 cache_k, cache_v, k[:, :1].expand_as(k), v[:, :1].expand_as(v), length))
wrong_append("last_row_returned", "You return the number of the last row, length + T - 1. The new length is length + T", right_rows,
             returned=lambda length, T: length + T - 1)
wrong_append("last_row_repeated", "Your new rows are all the last one. Row length + t is k[t], and v[t]",
             lambda cache_k, cache_v, k, v, length: right_rows(
                 cache_k, cache_v, k[-1:].expand_as(k), v[-1:].expand_as(v), length))
wrong_append("rest_cleared", "You clear what lies behind the new rows. Leave it: nobody reads it",
             lambda cache_k, cache_v, k, v, length: tuple(
                 torch.cat([rows[:length + len(k)], 0 * torch.ones_like(rows[length + len(k):])])
                 for rows in right_rows(cache_k, cache_v, k, v, length)))
kv_cache_append.wrong("does_nothing", "Your cache is as it was. Write the new rows behind those that are filled",
                      lambda cache_k, cache_v, k, v, length: both(cache_k, cache_v, length))


def append(length, T, KV, D, capacity, garbage=1):
    rows = cache(length, capacity, KV, D, garbage)
    return dict(cache_k=rows, cache_v=rows, length=length, k=normal(T, KV, D), v=normal(T, KV, D))


case = kv_cache_append.case
case("by_hand", "The lesson's example: the third token, after two.",
     cache_k=[[[0]], [[1]], [[9]], [[9]]], cache_v=[[[7]], [[10]], [[90]], [[90]]], k=[[[2]]], v=[[[2]]], length=2)
case("prefill", "An empty cache: the whole prompt at once.", **append(0, 5, 2, 6, capacity=8))
case("prefill_fits", "A prompt that fills its cache to the last row.", **append(0, 6, 2, 4, capacity=6))
case("first_token", "One token and an empty cache.", **append(0, 1, 2, 6, capacity=3, garbage=NAN))
case("decode", "One token after seven.", **append(7, 1, 2, 6, capacity=12))
case("decode_fits", "One token for the last row that is free.", **append(7, 1, 3, 8, capacity=8))
case("chunk", "Five tokens after four.", **append(4, 5, 2, 6, capacity=12))
case("chunk_fits", "A chunk that fills its cache to the last row.", **append(5, 3, 1, 6, capacity=8))
case("one_number", "One head, one wide.", **append(3, 2, 1, 1, capacity=7))
case("garbage_is_not_a_number", "A cache that was never cleared: NaN from the last filled row on.",
     **append(6, 2, 3, 6, capacity=9, garbage=NAN))
