"""Chapter 6: attention of many heads, which share keys and values in groups."""
import math

import torch
import torch.nn.functional as F
from transformers.models.llama.modeling_llama import repeat_kv

from golden import Kernel, normal, summed_in_half

CHAPTER = "06_grouped_query"
INF = math.inf
HEADS, KEYS = 0, 2  # axes of the scores, [H][T][S]


def own_group(h, H, KV):
    """The key and value head that query head h reads: neighbours share."""
    return h // (H // KV)


def not_the_future(t, s):
    return s <= t


def divided_by_root(scores, H, D):
    return scores / math.sqrt(D)


def exp_under(maximum, scores):
    e = torch.exp(scores - maximum)
    return e / e.sum(KEYS, keepdim=True)


def highest(scores):
    return scores.amax(KEYS, keepdim=True)


def softmax(scores):
    return exp_under(highest(scores), scores)


def hidden(scores, seen):
    return scores.masked_fill(~seen, -INF)


def dot(q, k):
    return torch.einsum("thi,shi->hts", q, k)


def dot_in_half(q, k):
    return summed_in_half(torch.einsum("thi,shi->htsi", q, k))


def attend(q, k, v, group=own_group, group_of_v=None, seen=not_the_future, scaled=divided_by_root,
           softmax=softmax, mask=hidden, dot=dot):
    """Query t stands at position S - T + t."""
    (T, H, D), (S, KV, _) = q.shape, k.shape
    heads, position = torch.arange(H), torch.arange(S)
    k, v = k[:, group(heads, H, KV)], v[:, (group_of_v or group)(heads, H, KV)]
    scores = scaled(dot(q, k), H, D)
    weights = softmax(mask(scores, seen(position[S - T:, None], position)))
    return torch.einsum("hts,shi->thi", weights, v)


def heads_first(x):
    """[T][H][D] as PyTorch has it, [1][H][T][D]."""
    return x.transpose(0, 1)[None]


def pytorch(q, k, v, **more):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, **more)[0].transpose(0, 1)


def repeated(q, k, v):
    """As transformers did before PyTorch could share: every head gets a copy of its keys and values."""
    copies = q.shape[1] // k.shape[1]
    return pytorch(heads_first(q), repeat_kv(heads_first(k), copies), repeat_kv(heads_first(v), copies))


grouped_query_attention = Kernel(
    "grouped_query_attention", CHAPTER,
    "torch.nn.functional.scaled_dot_product_attention(is_causal=True, enable_gqa=True)",
    pytorch=lambda q, k, v: pytorch(heads_first(q), heads_first(k), heads_first(v), enable_gqa=True),
    formula=attend)
grouped_query_attention.agrees("repeat_kv of transformers", repeated)


def masked(q, k, v):
    """PyTorch's, with the mask spelled out: its own would let query t see keys 0 .. t."""
    T, S = len(q), len(k)
    visible = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    q, k, v = map(heads_first, (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=visible, enable_gqa=True)[0].transpose(0, 1)


gqa_attention_with_past = Kernel("gqa_attention_with_past", CHAPTER,
                     "torch.nn.functional.scaled_dot_product_attention with the mask spelled out, enable_gqa=True",
                     pytorch=masked, formula=attend)


def wrong_formula(name, advice, formula):
    grouped_query_attention.wrong(name, advice, formula)
    gqa_attention_with_past.wrong(name, advice, formula)


def wrong(name, advice, **change):
    wrong_formula(name, advice, lambda q, k, v: attend(q, k, v, **change))


def by_remainder(h, H, KV):
    return h % KV


def by_quotient(h, H, KV):
    """h / KV, where there is such a head at all."""
    return h // KV


def masked_late(q, k, v):
    seen = not_the_future(torch.arange(len(k) - len(q), len(k))[:, None], torch.arange(len(k)))
    return attend(q, k, v, mask=lambda scores, seen: scores, softmax=lambda scores: softmax(scores) * seen)


def read_heads_first(x):
    """The same numbers, taken for [H][T][D]."""
    T, H, D = x.shape
    return x.reshape(H, T, D).transpose(0, 1)


def in_steps_of(heads, x):
    """The same numbers, read as if a token had so many heads."""
    T, H, D = x.shape
    start = (torch.arange(T)[:, None] * heads + torch.arange(H)) * D
    return x.flatten()[start[..., None] + torch.arange(D)]


def written_heads_first(x):
    return x.transpose(0, 1).reshape(x.shape)


wrong("remainder_for_group",
      "Your query head h reads key/value head h % KV. It is h / (H / KV): neighbours share",
      group=by_remainder)
wrong_formula(
    "divided_by_KV", "Your query head h reads key/value head h / KV. Divide by the size of a group, H / KV",
    lambda q, k, v: attend(q, k, v, group=by_quotient) if q.shape[1] <= k.shape[1]**2 else None)
wrong("scores_in_half", "Your dot products are summed in half precision, 11 bits. Sum in float or double", dot=dot_in_half)
wrong("scores_kept_in_half", "Your scores are kept in half precision, 11 bits. Keep float or double",
      softmax=lambda scores: softmax(scores.half().to(scores.dtype)))
wrong("first_head_for_all", "Your query heads all read key/value head 0. Head h reads h / (H / KV)",
      group=lambda h, H, KV: 0 * h)
wrong("groups_reversed",
      "Your groups are in reverse order. The first H / KV query heads read key/value head 0",
      group=lambda h, H, KV: KV - 1 - own_group(h, H, KV))
wrong("values_of_another_group",
      "Your keys are those of the group, but your values are of head h % KV. Both are of h / (H / KV)",
      group_of_v=by_remainder)
wrong("no_mask", "Your positions see the future. Position t sees keys 0 .. t",
      seen=lambda t, s: s >= 0 * t)
wrong("strict_mask", "Your positions do not see themselves. Position t sees keys 0 .. t, t among them",
      seen=lambda t, s: s < t)
wrong("mask_one_late", "Your positions see one key of the future. Position t sees keys 0 .. t",
      seen=lambda t, s: s <= t + 1)
wrong("model_width",
      "Your scores are divided by the root of the model's width, H D. Divide by that of a head's, sqrt(D)",
      scaled=lambda score, H, D: score / math.sqrt(H * D))
wrong("no_scale", "Your scores are not scaled. Divide them by sqrt(D)", scaled=lambda score, H, D: score)
wrong("divided_by_D", "Your scores are divided by D: without the root, or twice. Divide once by sqrt(D)",
      scaled=lambda score, H, D: score / D)
wrong("softmax_over_heads", "Your weights sum to 1 over the heads. Each head's sum to 1 over the keys",
      softmax=lambda scores: torch.softmax(scores, HEADS).nan_to_num())
wrong("not_normalised", "Your weights are not divided by their sum. Divide: a query's sum to 1",
      softmax=lambda scores: torch.exp(scores - highest(scores)))
for name, beside in ("one_in_the_sum", lambda scores: 1), ("sink_of_0", lambda scores: torch.exp(-highest(scores))):
    wrong(name, "Your sum of weights has 1 more than those of the keys, an attention sink as in gpt-oss. A Llama has none",
          softmax=lambda scores, beside=beside: torch.exp(scores - highest(scores)) / (
              torch.exp(scores - highest(scores)).sum(KEYS, keepdim=True) + beside(scores)))
wrong("epsilon_of_1e-5_added", "Your sum of weights has 1e-5 added. It is 1 or more, as e^(max - max) is: add nothing",
      softmax=lambda scores: torch.exp(scores - highest(scores)) / (
          torch.exp(scores - highest(scores)).sum(KEYS, keepdim=True) + 1e-5))
wrong("maximum_not_subtracted",
      "Your e^score overflows, or is 0 for the whole row. Subtract the row's maximum first",
      softmax=lambda scores: exp_under(0, scores))
wrong("maximum_starts_at_zero",
      "Your maximum is never less than 0: far below it, e^(score - max) is 0. Start it at -infinity",
      softmax=lambda scores: exp_under(highest(scores).clamp(min=0), scores))
wrong("mask_reversed", "Your positions see the future alone. Position t sees keys 0 .. t, what has been",
      seen=lambda t, s: s >= t)
wrong("mask_inverted",
      "Your positions see the future alone, and the last one nothing. Hide the keys behind t, not those up to it",
      seen=lambda t, s: s > t)
for width in 4, 8, 16, 32, 64:
    wrong(f"window_of_{width}",
          f"Your positions see the last {width} keys alone, a sliding window. A Llama's see all that were before",
          seen=lambda t, s, width=width: (s <= t) & (s > t - width))
wrong("mask_of_minus_10000",
      "Your mask is -10000, and scores may be lower. It is -INFINITY: e^-infinity is 0, whatever stands beside it",
      mask=lambda scores, seen: scores.masked_fill(~seen, -1e4))
wrong("mask_of_a_finite_number",
      "Your mask is a finite number, such as -1e9, and scores may be lower. It is -INFINITY",
      mask=lambda scores, seen: scores.masked_fill(~seen, -1e9))
wrong("root_cut", "Your sqrt(D) is cut to a whole number. Keep it a float: of 8, it is 2.83",
      scaled=lambda score, H, D: score / math.isqrt(D))
wrong("divided_by_H", "Your scores are divided by the root of how many heads there are. Take a head's width, sqrt(D)",
      scaled=lambda score, H, D: score / math.sqrt(H))
wrong("largest_alone", "Your query takes the value that fits best. Mix them by softmax",
      softmax=lambda scores: 1.0 * (scores == highest(scores)))
wrong("keys_of_another_group",
      "Your values are those of the group, but your keys are of head h % KV. Both are of h / (H / KV)",
      group=by_remainder, group_of_v=own_group)
wrong("values_of_the_first_head", "Your values are all of key/value head 0, and your keys are not. Both are of h / (H / KV)",
      group_of_v=lambda h, H, KV: 0 * h)
wrong("last_head_for_the_rest",
      "Your query head h reads key/value head h, and the last one where there is none. It is h / (H / KV): neighbours share",
      group=lambda h, H, KV: h.clamp(max=KV - 1))
wrong("multiplied_by_root", "Your scores are multiplied by sqrt(D). Divide them by it",
      scaled=lambda score, H, D: score * math.sqrt(D))
wrong("fourth_root", "Your scores are divided by the fourth root of D: half of the scale is missing. Divide them by sqrt(D)",
      scaled=lambda score, H, D: score / D**0.25)
wrong("log2e_with_exp", "Your scores are multiplied by log2(e), as for exp2, and you take exp. Leave that out, or take exp2",
      scaled=lambda score, H, D: score / math.sqrt(D) / math.log(2))
wrong("base_two", "Your powers are those of 2. Take exp, or multiply the scores by log2(e) before exp2",
      scaled=lambda score, H, D: score * math.log(2) / math.sqrt(D))
wrong("mean", "Your values are averaged, whatever their scores. Mix them by softmax",
      softmax=lambda scores: softmax(torch.where(scores > -INF, 0, scores)))
wrong("capped_at_50", "Your scores are kept within 50 by tanh, as in Gemma 2. A Llama's are not capped",
      softmax=lambda scores: softmax(torch.where(scores > -INF, 50 * torch.tanh(scores / 50), scores)))
wrong_formula("width_of_all_keys", "Your scores are divided by sqrt(KV D), the width of all key heads. Take that of one, sqrt(D)",
              lambda q, k, v: attend(q, k / math.sqrt(k.shape[1]), v))
wrong_formula("normalized_first", "Your queries and keys are brought to a mean square of 1 first, as in Qwen 3. A Llama's are not",
              lambda q, k, v: attend(*(x / x.square().mean(-1, keepdim=True).sqrt() for x in (q, k)), v))
wrong("first_key_left_out", "Your positions do not see the first key. Position t sees keys 0 .. t",
      seen=lambda t, s: (s <= t) & (s > 0))
wrong_formula("keys_mixed", "Your weights mix the keys. They mix the values", lambda q, k, v: attend(q, k, k))
wrong_formula("queries_in_steps_of_KV", "Your query t begins KV heads behind the one before it. A token has H query heads: (t H + h) D",
              lambda q, k, v: attend(in_steps_of(k.shape[1], q), k, v))
for kept, bits in (torch.float16, 11), (torch.bfloat16, 8):
    name = str(kept).removeprefix("torch.")
    wrong_formula(f"inputs_in_{name}", f"Your queries, keys and values are rounded to {name}, {bits} bits. They are float32: keep that",
                  lambda q, k, v, kept=kept: attend(*(x.to(kept).to(x.dtype) for x in (q, k, v))))
wrong_formula("first_query_head_for_all", "Your query heads are all the first. Head h is q[t][h]",
              lambda q, k, v: attend(q[:, :1].expand_as(q), k, v))
wrong_formula("future_scores_zero",
              "Your scores of the future are 0, and e^0 is 1. Make them -infinity before the softmax",
              lambda q, k, v: attend(q, k, v, mask=lambda scores, seen: scores * seen))
wrong_formula("masked_after_softmax",
              "Your weights of the future are made 0 after the softmax, and the rest sum to less than 1. Mask the "
              "scores before it",
              masked_late)
for kernel in grouped_query_attention, gqa_attention_with_past:
    kernel.wrong_tails("dot product", lambda full, q, k, v: attend(
        torch.cat([q[..., :full(q.shape[2])], 0 * q[..., full(q.shape[2]):]], 2), k, v))
wrong_formula("keys_and_values_swapped",
              "Your keys and values are swapped. Queries meet keys, and the weights mix values",
              lambda q, k, v: attend(q, v, k))
wrong_formula("read_heads_first", "You read q, k and v as [heads][T][D]. They are [T][heads][D]",
              lambda q, k, v: attend(*map(read_heads_first, (q, k, v))))
wrong_formula("written_heads_first",
              "You write out as [H][T][D]. It is [T][H][D]: the heads of a token lie together",
              lambda q, k, v: written_heads_first(attend(q, k, v)))
gqa_attention_with_past.wrong("mask_from_the_top_left",
                  "Your query t sees the keys 0 .. t. The queries are the last T of S positions: S - T + t",
                  lambda q, k, v: attend(q, k[:len(q)], v[:len(q)]))
gqa_attention_with_past.wrong("mask_from_the_top_left_unless_one",
                  "Your query t sees the keys 0 .. t unless it is the only one, as is_causal of PyTorch has it. It stands at S - T + t",
                  lambda q, k, v: attend(q, k[:len(q)], v[:len(q)]) if len(q) > 1 else attend(q, k, v))
gqa_attention_with_past.wrong("unmasked_unless_whole",
                  "Your mask is left out where T is less than S. Query t of the last T sees the keys up to S - T + t there, too",
                  lambda q, k, v: attend(q, k, v) if len(q) == len(k) else attend(q, k, v, seen=lambda t, s: s >= 0 * t))
gqa_attention_with_past.wrong("mask_reversed_from_the_top_left",
                  "Your query t sees the keys from t on. It stands at S - T + t, and sees those up to there",
                  lambda q, k, v: attend(q, k, v, seen=lambda position, s: s >= position - (len(k) - len(q))))


# Chapter 8's exercise reads one key after the other, under the largest score so far. These are the weights that come of it.
def under_the_running_maximum(scores):
    return torch.exp(scores - scores.cummax(KEYS).values)


def under_the_last_maximum(scores):
    return torch.exp(scores - highest(scores))


def wrong_carry(name, advice, of_output, of_sum):
    gqa_attention_with_past.wrong(name, advice, lambda q, k, v: attend(
        q, k, v, softmax=lambda scores: of_output(scores) / of_sum(scores).sum(KEYS, keepdim=True)))


wrong_carry("output_not_rescaled",
            "Your output is not rescaled where the maximum grows. Multiply it by e^(old max - new max), as the sum",
            under_the_running_maximum, under_the_last_maximum)
wrong_carry("sum_not_rescaled",
            "Your sum is not rescaled where the maximum grows. Multiply it by e^(old max - new max), as the output",
            under_the_last_maximum, under_the_running_maximum)
wrong_carry("nothing_rescaled",
            "Your sum and output are not rescaled where the maximum grows. Multiply both by e^(old max - new max)",
            under_the_running_maximum, under_the_running_maximum)


def grown_by_the_maximum(scores):
    """Each time the maximum grows, what is there grows as well, in place of shrinking."""
    so_far = scores.cummax(KEYS).values
    return torch.where(scores > -INF, torch.exp(scores - so_far + highest(scores) - so_far), 0)


def divided_at_each_key(q, k, v):
    """The mistake: the output is divided after each key, and then added to."""
    scores = hidden(divided_by_root(dot(q, k[:, own_group(torch.arange(q.shape[1]), q.shape[1], k.shape[1])]), 0, q.shape[2]),
                    not_the_future(torch.arange(len(k) - len(q), len(k))[:, None], torch.arange(len(k))))
    v = v[:, own_group(torch.arange(q.shape[1]), q.shape[1], v.shape[1])].transpose(0, 1)
    so_far, total, out = torch.full_like(scores[..., :1], -INF), 0, 0
    for s in range(len(k)):
        before, so_far = so_far, torch.maximum(so_far, scores[..., s:s + 1])
        weight, shrink = torch.exp(scores[..., s:s + 1] - so_far), torch.exp(before - so_far)
        new = total * shrink + weight
        seen = scores[..., s:s + 1] > -INF
        total, out = torch.where(seen, new, total), torch.where(seen, (out * shrink + weight * v[:, None, s]) / new, out)
    return out.transpose(0, 1)


wrong_carry("rescaled_upwards", "Your sum and output grow where the maximum grows. The factor is e^(old max - new max), at most 1",
            grown_by_the_maximum, grown_by_the_maximum)
gqa_attention_with_past.wrong("divided_at_each_key", "Your output is divided by the sum after each key, and then added to. Divide once, after the last",
                              divided_at_each_key)


def heads(T, H, KV, D):
    return dict(q=normal(T, H, D), k=normal(T, KV, D), v=normal(T, KV, D))


def quarters(first, *shape):
    """At most 1, and first in each head what is wanted: sums of such products are exact in a float32."""
    def draw(random):
        x = random.integers(-4, 5, shape) / 4
        x[..., 0] = first
        return x
    return draw


def deep_below(T, S):
    return dict(q=[[[-2**17, 0, 0, 0]] * 2] * T, k=[[[2**16, 0, 0, 0]]] * S, v=normal(S, 1, 4))


case = grouped_query_attention.case
case("by_hand", "Two groups of two heads: weights 1 : 3 in one, 1 : 1 and 1 : 7 in the other.",
     q=[[[2, 0, 0, 0], [2, 0, 0, 0], [2, 0, 0, 0], [0, 2, 0, 0]]] * 2,
     k=[[[0, 0, 0, 0], [0, 0, 0, 0]], [[math.log(3), 0, 0, 0], [0, math.log(7), 0, 0]]],
     v=[[[8, 0, 0, 1], [0, 0, 8, 2]], [[0, 8, 0, 1], [0, 0, 0, 2]]])
case("multi_head", "MHA: every query head has keys and values of its own.", **heads(5, 3, 3, 6))
case("multi_query", "MQA: one key and value head for all.", **heads(5, 4, 1, 6))
case("grouped", "GQA: groups of four.", **heads(3, 8, 2, 6))
case("pairs", "Groups of two: H / KV is not KV.", **heads(4, 6, 3, 4))
case("ragged", "5 positions, 9 heads in 3 groups, 3 wide: no size is a multiple of anything.",
     **heads(5, 9, 3, 3))
case("one_token", "A text of one token: each head's own value.", **heads(1, 6, 2, 8))
case("one_wide", "D = 1.", **heads(4, 4, 2, 1))
case("long", "70 positions.", **heads(70, 4, 2, 4))
case("sixty_four", "A head of a Llama 3.2 1B.", **heads(2, 1, 1, 64))
case("eighty", "D = 80: no power of two.", **heads(2, 1, 1, 80))
case("llama", "Heads of a Llama 3.", **heads(3, 4, 1, 128))
case("far", "Scores near 1e4 in one head, near -1e4 in the next, some units apart: no e^x is of any use.",
     q=quarters([200, -200, 200, -200], 4, 4, 4), k=quarters(100, 4, 2, 4), v=normal(4, 2, 4))

case("deep_below", "Scores of -2^32 each: even -1e9 is no mask.", **deep_below(5, 5))
case("left_over", "D = 29: full vectors of 4, 8 and 16 leave 1, 5 and 13.", **heads(3, 2, 1, 29))
case("past_64", "67 positions of one narrow head.", **heads(67, 1, 1, 3))

case = gqa_attention_with_past.case


def last(T, S, H, KV, D):
    return dict(q=normal(T, H, D), k=normal(S, KV, D), v=normal(S, KV, D))


case("by_hand", "Two groups of two heads, the second of two tokens: weights 1 : 3 in one, 1 : 1 and 1 : 7 in the other.",
     q=[[[2, 0, 0, 0], [2, 0, 0, 0], [2, 0, 0, 0], [0, 2, 0, 0]]],
     k=[[[0, 0, 0, 0], [0, 0, 0, 0]], [[math.log(3), 0, 0, 0], [0, math.log(7), 0, 0]]],
     v=[[[8, 0, 0, 1], [0, 0, 8, 2]], [[0, 8, 0, 1], [0, 0, 0, 2]]])
case("whole_text", "T = S: chapter 6's attention itself.", **last(5, 5, 4, 2, 6))
case("decode", "One token after seven.", **last(1, 8, 8, 2, 6))
case("chunk", "Five tokens after four.", **last(5, 9, 4, 2, 6))
case("pairs", "Groups of two: H / KV is not KV.", **last(3, 7, 6, 3, 4))
case("last_but_one", "All tokens but the first.", **last(4, 5, 6, 2, 4))
case("multi_head", "MHA: every query head has keys and values of its own.", **last(3, 5, 3, 3, 6))
case("multi_query", "MQA: one key and value head for all.", **last(3, 8, 4, 1, 6))
case("first_token", "A text of one token: each head's own value.", **last(1, 1, 6, 2, 8))
case("llama", "Heads of a Llama 3.", **last(1, 6, 4, 1, 128))
case("far", "Scores near 1e4 in one head, near -1e4 in the next, some units apart: no e^x is of any use.",
     q=quarters([200, -200, 200, -200], 2, 4, 4), k=quarters(100, 4, 2, 4), v=normal(4, 2, 4))
case("deep_below", "Scores of -2^32 each: even -1e9 is no mask.", **deep_below(3, 5))
case("left_over", "D = 29: full vectors of 4, 8 and 16 leave 1, 5 and 13.", **last(2, 4, 2, 1, 29))
case("past_64", "One token after 69.", **last(1, 70, 2, 1, 4))
