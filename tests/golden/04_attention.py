"""Chapter 4: softmax, and causal attention of one head."""
import math

import numpy as np
import torch
import torch.nn.functional as F

from golden import Kernel, normal, summed_in_half, uniform

CHAPTER = "04_attention"
NAN, INF = np.nan, np.inf
ROW, COLUMN = -1, 0  # the axis that sums to 1: the keys of a query, or the queries of a key


# --- Softmax -----------------------------------------------------------------------------------------------

def highest(x, axis=ROW):
    return x.amax(axis, keepdim=True)


def total(x, axis=ROW):
    return x.sum(axis, keepdim=True)


def exp_under(maximum, x, axis=ROW):
    """e^(x - maximum) over its sum: whatever is subtracted, the answer is the same, if nothing overflows."""
    e = torch.exp(x - maximum)
    return e / total(e, axis)


def by_hand(x, axis=ROW):
    return exp_under(highest(x, axis), x, axis)


softmax = Kernel("softmax", CHAPTER, "torch.softmax",
                 pytorch=lambda x: torch.softmax(x, ROW), formula=by_hand)

softmax.wrong("maximum_not_subtracted",
              "Your e^x overflows, or is 0 for the whole row. Subtract the row's maximum first, e^(x - max)",
              lambda x: exp_under(0, x))
softmax.wrong("maximum_of_the_whole",
              "Your maximum is that of all rows: far below it, e^(x - max) is 0. Each row has its own",
              lambda x: exp_under(x.max(), x))
softmax.wrong("maximum_starts_at_zero",
              "Your maximum is never less than 0: far below it, e^(x - max) is 0. Start it at -infinity",
              lambda x: exp_under(highest(x).clamp(min=0), x))
softmax.wrong("maximum_starts_at_minus_10000",
              "Your maximum starts at -10000, and a row may lie below: there every e^(x - max) is 0, and 0/0 NaN. Start it "
              "at -infinity",
              lambda x: exp_under(highest(x).clamp(min=-1e4), x))
softmax.wrong("maximum_starts_at_minus_1e9",
              "Your maximum starts at a number that a row may lie below: there every e^(x - max) is 0, and 0/0 NaN. Start "
              "it at -infinity",
              lambda x: exp_under(highest(x).clamp(min=-1e9), x))
softmax.wrong("other_axis",
              "Your columns sum to 1. Rows do: both the maximum and the sum are a row's",
              lambda x: by_hand(x, COLUMN))
softmax.wrong("sum_of_the_whole",
              "Your sum is that of all rows. Each row has its own, and sums to 1",
              lambda x: torch.exp(x - highest(x)) / torch.exp(x - highest(x)).sum())
softmax.wrong("not_normalised",
              "Your e^(x - max) is not divided by its sum. Divide: a row sums to 1",
              lambda x: torch.exp(x - highest(x)))
softmax.wrong("logarithm",
              "Your output is log-softmax, x - max - log(sum). Softmax is e to that",
              lambda x: x - highest(x) - total(torch.exp(x - highest(x))).log())
softmax.wrong("base_two",
              "Your powers are those of 2. Take exp, or multiply x by log2(e) before exp2",
              lambda x: by_hand(x * math.log(2)))
softmax.wrong("smallest_wins",
              "Your exponent has the wrong sign. It is e^(x - max): the largest x weighs most",
              lambda x: by_hand(-x))
softmax.wrong("not_a_number_skipped",
              "Your softmax passes over a NaN. It spoils its row, as in PyTorch, for the sum is not known",
              lambda x: torch.where(x.isnan(), NAN, by_hand(x.masked_fill(x.isnan(), -INF)))
              if x.isnan().any() else None)

softmax.wrong("maximum_not_reset",
              "Your maximum is never lowered for a new row: far below the last, e^(x - max) is 0. Start each at "
              "-infinity",
              lambda x: exp_under(highest(x).cummax(0).values, x))
softmax.wrong("minimum_subtracted",
              "Your e^(x - min) overflows. Subtract the row's maximum",
              lambda x: exp_under(x.amin(ROW, keepdim=True), x))
softmax.wrong("first_subtracted",
              "You subtract the row's first number, and what lies far above it overflows. Subtract the maximum",
              lambda x: exp_under(x[:, :1], x))
softmax.wrong("sum_not_reset",
              "Your sum runs on from one row to the next. Begin each row with 0",
              lambda x: torch.exp(x - highest(x)) / total(torch.exp(x - highest(x))).cumsum(0))
softmax.wrong("one_in_the_sum",
              "Your sum begins with 1, so that no row sums to 1. Begin with 0",
              lambda x: torch.exp(x - highest(x)) / (1 + total(torch.exp(x - highest(x)))))
softmax.wrong("last_number_left_out",
              "Your sum ends one number too early. It runs over 0 .. n - 1",
              lambda x:
                  torch.exp(x - highest(x)) / (total(torch.exp(x - highest(x))) - torch.exp(x[:, -1:] - highest(x))))
softmax.wrong("no_power",
              "Your x is divided by the sum of x. Take e^(x - max) first",
              lambda x: x / total(x))
softmax.wrong("largest_alone",
              "Your largest number takes it all. Each weighs e^(x - max)",
              lambda x: (x == highest(x)) / total(1.0 * (x == highest(x))))
softmax.wrong("divided_by_n",
              "Your e^(x - max) is divided by how many there are. Divide by their sum",
              lambda x: torch.exp(x - highest(x)) / x.shape[1])
softmax.wrong_tails("sum", lambda full, x: torch.exp(x - highest(x))
                    / total(torch.exp(x - highest(x))[:, :full(x.shape[1])]))

softmax.wrong("mean_subtracted",
              "You subtract the row's mean, and what lies far above it overflows. Subtract the maximum",
              lambda x: exp_under(x.mean(ROW, keepdim=True), x))
softmax.wrong("root_of_squares",
              "Your e^(x - max) is divided by the root of the sum of its squares. Divide by the sum: a row sums to 1",
              lambda x: F.normalize(torch.exp(x - highest(x))))
softmax.wrong("first_number_left_out",
              "Your sum begins with the second number. It runs over 0 .. n - 1",
              lambda x:
                  torch.exp(x - highest(x)) / (total(torch.exp(x - highest(x))) - torch.exp(x[:, :1] - highest(x))))
softmax.wrong("sink_of_0",
              "Your sum has e^0 beside the others' e^x, an attention sink as in gpt-oss. A row sums to 1",
              lambda x: torch.exp(x - highest(x)) / (total(torch.exp(x - highest(x))) + torch.exp(-highest(x))))
softmax.wrong("epsilon_of_1e-5_added",
              "Your sum has 1e-5 added. It is 1 or more, as e^(max - max) is: add nothing",
              lambda x: torch.exp(x - highest(x)) / (total(torch.exp(x - highest(x))) + 1e-5))
softmax.wrong("sigmoids",
              "Your numbers become 1 / (1 + e^-x), each by itself. Softmax divides e^(x - max) by the row's sum",
              torch.sigmoid)
softmax.wrong("zeros_for_nothing",
              "Your row of nothing but -infinity becomes zeros. It is 0/0 in PyTorch, and so NaN: do not catch it",
              lambda x: torch.where((x == -INF).all(1, keepdim=True), 0, by_hand(x)))
softmax.wrong("zeros_for_nothing_and_nan",
              "Your rows whose maximum is -infinity become zeros, also where a NaN is passed over in it. Do not catch them: 0/0 is NaN",
              lambda x: torch.where((x.nan_to_num(nan=-INF, posinf=INF, neginf=-INF) == -INF).all(1, keepdim=True), 0, by_hand(x)))
softmax.wrong("infinity_takes_all",
              "Your +infinity takes all the weight. infinity - infinity is NaN, and spoils its row, as in PyTorch",
              lambda x: torch.where((x == INF).any(1, keepdim=True), 1.0 * (x == INF), by_hand(x)))

QUERIES, KEYS, VALUES = [[1, 1], [2, 0], [1, 2]], [[1, 0], [0, 1], [1, 1]], [[10, 0], [0, 10], [10, 10]]
SCORES = [[sum(a * b for a, b in zip(q, k)) / math.sqrt(2) for k in KEYS] for q in QUERIES]  # of the lesson's example
MASKED = [[score if s <= t else -INF for s, score in enumerate(row)] for t, row in enumerate(SCORES)]

softmax.case("by_hand", "The lesson's example: the scores after the mask.", x=MASKED)
softmax.case("ordinary", "Five rows of eight normal numbers.", x=normal(5, 8))
softmax.case("ragged", "3 rows of 77: no size is a multiple of anything.", x=normal(3, 77, scale=3))
softmax.case("long", "A row of 1025 keys.", x=normal(1, 1025, scale=2))
softmax.case("equal", "Equal numbers share: 1/7 each, however large they are.",
             x=normal(4, 7, scale=0, shift=[[0], [-3], [1e4], [-1e30]]))
softmax.case("one_column", "A single number is everything.", x=normal(6, 1, scale=100))
softmax.case("large", "Rows around 1e4, 0 and -1e4.",
             x=[[1e4, 1e4 - 1, 1e4 - 2, 9e3], [1, 0, -1, -2], [-1e4, -1e4 - 1, -1e4 - 2, -9e9]])
softmax.case("all_far_below", "Two rows below -1e4: a maximum that starts at 0 is none of theirs.",
             x=normal(2, 9, shift=[[-1e4], [-2e4]]))
softmax.case("late_maximum", "Each row's largest number stands far behind, 1000 above the others.",
             x=lambda random: random.standard_normal((2, 150)) + 1000.0 * (np.arange(150) == [[140], [70]]))
softmax.case("edge_of_exp", "Where e^x just does and does not overflow, and just does and does not vanish.",
             x=[[88, 88.5, 88.7, 87], [88.8, 89, 90, 88], [-87, -88, -100, -103], [0, -87.4, -103, -104]])
softmax.case("masked", "What the mask leaves of a row: -infinity is a weight of 0.",
             x=[[1, -INF, -INF, -INF], [1, 2, -INF, -INF], [0, 1, 2, -INF], [3, 1, 0, 2]])
softmax.case("not_finite", "A NaN, a +infinity or nothing but -infinity spoils its own row, and no other.",
             x=[[1, NAN, 2], [0, 1, INF], [-INF, -INF, -INF], [0, 1, 2], [-INF, NAN, -INF]])


# --- Attention of one head ---------------------------------------------------------------------------------

def seen(T, S):
    """The causal mask: query t stands at S - T + t, and sees the keys up to there."""
    return torch.arange(S) <= torch.arange(S - T, S)[:, None]


def fit(q, k):
    """How well each key answers each query, before any scale."""
    return q @ k.T


def fit_in_half(q, k):
    return summed_in_half(q[:, None] * k)


def mask(scores, seen):
    return scores.masked_fill(~seen, -INF)


def pytorch_attention(q, k, v):
    """On a batch of one, with one head: there PyTorch has its fast kernels."""
    q, k, v = q[None, None], k[None, None], v[None, None]
    whole = q.shape == k.shape
    return F.scaled_dot_product_attention(q, k, v, attn_mask=None if whole else seen(q.shape[2], k.shape[2]),
                                          is_causal=whole)[0, 0]


def attend(q, k, v, seen=seen, scale=lambda D: 1 / math.sqrt(D), softmax=by_hand, mask=mask, fit=fit):
    scores = fit(q, k) * scale(q.shape[-1])
    return softmax(mask(scores, seen(*scores.shape))) @ v


attention = Kernel("attention", CHAPTER,
                   "torch.nn.functional.scaled_dot_product_attention, "
                   "is_causal or with the mask spelled out",
                   pytorch=pytorch_attention, formula=attend)


def wrong_mask(name, advice, seen):
    attention.wrong(name, advice, lambda q, k, v: attend(q, k, v, seen=seen))


def wrong_scale(name, advice, scale):
    attention.wrong(name, advice, lambda q, k, v: attend(q, k, v, scale=scale))


def wrong_softmax(name, advice, softmax):
    attention.wrong(name, advice, lambda q, k, v: attend(q, k, v, softmax=softmax))


def wrong_square(name, advice, formula):
    """A mistake that only as many queries as keys allow."""
    attention.wrong(name, advice, lambda q, k, v: formula(q, k, v) if q.shape == k.shape else None)


wrong_mask("no_mask",
           "Your queries see the future. Query t stands at S - T + t, and sees the keys up to there",
           lambda T, S: torch.ones(T, S, dtype=bool))
wrong_mask("strict_mask",
           "Your queries do not see their own position. They see s <= S - T + t, not only s <",
           lambda T, S: torch.arange(S) < torch.arange(S - T, S)[:, None])
wrong_mask("mask_one_late",
           "Your queries see one key of the future. They see s <= S - T + t, and no further",
           lambda T, S: torch.arange(S) <= torch.arange(S - T, S)[:, None] + 1)
wrong_mask("mask_from_the_top_left",
           "Your query t sees the keys 0 .. t. The queries are the last T of S positions: S - T + t",
           lambda T, S: torch.arange(S) <= torch.arange(T)[:, None])
attention.wrong("future_scores_zero",
                "Your scores of the future are 0, and e^0 is 1. Make them -infinity before the softmax",
                lambda q, k, v: by_hand(fit(q, k) / math.sqrt(q.shape[1]) * seen(len(q), len(k))) @ v)
attention.wrong("masked_after_softmax",
                "Your weights of the future are made 0 after the softmax, and the rest sum to less than 1. "
                "Mask the scores before it",
                lambda q, k, v: by_hand(fit(q, k) / math.sqrt(q.shape[1])) * seen(len(q), len(k)) @ v)
attention.wrong("weights_of_minus_infinity",
                "Your weights of the future are made -infinity after the softmax. Mask the scores before it, and the "
                "softmax makes these weights 0",
                lambda q, k, v: by_hand(fit(q, k) / math.sqrt(q.shape[1]))
                .masked_fill(~seen(len(q), len(k)), -INF) @ v)
wrong_scale("no_scale", "Your scores are not scaled. Divide them by sqrt(D)", lambda D: 1)
wrong_scale("divided_by_D",
            "Your scores are divided by D: without the root, or twice. Divide once by sqrt(D)",
            lambda D: 1 / D)
wrong_scale("multiplied_by_root", "Your scores are multiplied by sqrt(D). Divide them by it", math.sqrt)
wrong_scale("fourth_root", "Your scores are divided by the fourth root of D: half of the scale is missing. Divide them by sqrt(D)", lambda D: D**-0.25)
wrong_softmax("log2e_with_exp", "Your scores are multiplied by log2(e), as for exp2, and you take exp. Leave that out, or take exp2",
              lambda scores: by_hand(scores / math.log(2)))
wrong_scale("model_width",
            "Your scores are divided by the root of the model's width, here of 4 heads. "
            "Take a head's, sqrt(D)",
            lambda D: 1 / math.sqrt(4 * D))
wrong_softmax("softmax_over_queries",
              "Your weights sum to 1 over the queries of a key. They sum to 1 over the keys of a query",
              lambda scores: by_hand(scores, COLUMN))
wrong_softmax("not_normalised", "Your weights are not divided by their sum. Divide: a query's sum to 1",
              lambda scores: torch.exp(scores - highest(scores)))
for name, beside in ("one_in_the_sum", lambda scores: 1), ("sink_of_0", lambda scores: torch.exp(-highest(scores))):
    wrong_softmax(name, "Your sum of weights has 1 more than those of the keys, an attention sink as in gpt-oss. A Llama has none",
                  lambda scores, beside=beside:
                      torch.exp(scores - highest(scores)) / (total(torch.exp(scores - highest(scores))) + beside(scores)))
wrong_softmax("epsilon_of_1e-5_added",
              "Your sum of weights has 1e-5 added. It is 1 or more, as e^(max - max) is: add nothing",
              lambda scores: torch.exp(scores - highest(scores)) / (total(torch.exp(scores - highest(scores))) + 1e-5))
wrong_softmax("maximum_not_subtracted",
              "Your e^score overflows, or is 0 for the whole row. Subtract the row's maximum first",
              lambda scores: exp_under(0, scores))
wrong_softmax("maximum_starts_at_zero",
              "Your maximum is never less than 0: far below it, e^(score - max) is 0. Start it at -infinity",
              lambda scores: exp_under(highest(scores).clamp(min=0), scores))
wrong_softmax("maximum_starts_at_a_finite_number",
              "Your maximum starts at a number, such as -10000, that all scores may lie below: there every e^(score - max) "
              "is 0, and 0/0 NaN. Start it at -infinity",
              lambda scores: exp_under(highest(scores).clamp(min=-1e4), scores))
attention.wrong("scores_in_half", "Your dot products are summed in half precision, 11 bits. Sum in float or double",
                lambda q, k, v: attend(q, k, v, fit=fit_in_half))
wrong_softmax("scores_kept_in_half", "Your scores are kept in half precision, 11 bits. Keep float or double",
              lambda scores: by_hand(scores.half().to(scores.dtype)))
attention.wrong("keys_and_values_swapped",
                "Your keys and values are swapped. Queries meet keys, and the weights mix values",
                lambda q, k, v: attend(q, v, k))
attention.wrong("keys_mixed", "Your weights mix the keys. They mix the values",
                lambda q, k, v: attend(q, k, k))
wrong_square("queries_and_keys_swapped", "Your queries and keys are swapped. scores[t][s] is q[t] . k[s]",
             lambda q, k, v: attend(k, q, v))
wrong_square("weights_transposed", "Your weights are transposed. out[t] is the sum of weights[t][s] v[s]",
             lambda q, k, v: attend(q, k, v, softmax=lambda scores: by_hand(scores).T))
wrong_mask("mask_reversed", "Your queries see the future alone. They see s <= S - T + t, what has been",
           lambda T, S: torch.arange(S) >= torch.arange(S - T, S)[:, None])
wrong_mask("mask_inverted",
           "Your queries see the future alone, and the last one nothing. Hide s > S - T + t, not what is up to there",
           lambda T, S: torch.arange(S) > torch.arange(S - T, S)[:, None])
for width in 4, 8, 16, 32, 64:
    wrong_mask(f"window_of_{width}",
               f"Your queries see the last {width} keys alone, a sliding window. A Llama's see all that were before",
               lambda T, S, width=width: seen(T, S) & (torch.arange(S) > torch.arange(S - T, S)[:, None] - width))
attention.wrong("mask_of_minus_10000",
                "Your mask is -10000, and scores may be lower. It is -INFINITY: e^-infinity is 0, whatever stands "
                "beside it",
                lambda q, k, v: attend(q, k, v, mask=lambda scores, seen: scores.masked_fill(~seen, -1e4)))
attention.wrong("mask_adds_minus_10000",
                "Your mask adds -10000, and scores may lie farther apart. Set them to -INFINITY",
                lambda q, k, v: attend(q, k, v, mask=lambda scores, seen: scores.where(seen, scores - 1e4)))
attention.wrong("mask_of_a_finite_number",
                "Your mask is a finite number, such as -1e9, and scores may be lower. It is -INFINITY",
                lambda q, k, v: attend(q, k, v, mask=lambda scores, seen: scores.masked_fill(~seen, -1e9)))
wrong_scale("root_cut", "Your sqrt(D) is cut to a whole number. Keep it a float: of 8, it is 2.83",
            lambda D: 1 / math.isqrt(D))
attention.wrong("root_of_the_keys", "Your scores are divided by the root of how many keys there are. "
                "Take the width of a head, sqrt(D)",
                lambda q, k, v: attend(q / math.sqrt(len(k)) * math.sqrt(q.shape[1]), k, v))
attention.wrong("scaled_after_softmax",
                "Your weights are divided by sqrt(D), after the softmax. Divide the scores, before it",
                lambda q, k, v: attend(q, k, v, scale=lambda D: 1) / math.sqrt(q.shape[1]))
wrong_softmax("softmax_of_the_whole", "Your weights of all queries together sum to 1. Each query's do",
              lambda scores: torch.exp(scores - scores.max()) / torch.exp(scores - scores.max()).sum())
wrong_softmax("sum_not_reset", "Your sum of weights runs on from one query to the next. Begin each with 0",
              lambda scores: torch.exp(scores - highest(scores)) / total(torch.exp(scores - highest(scores))).cumsum(0))
wrong_softmax("largest_alone", "Your query takes the value that fits best. Mix them by softmax",
              lambda scores: 1.0 * (scores == highest(scores)))
attention.wrong("softmax_missing", "Your weights are the scores themselves. Softmax makes weights of them",
                lambda q, k, v: fit(q, k) / math.sqrt(q.shape[1]) * seen(len(q), len(k)) @ v)
attention.wrong("keys_transposed", "Your keys are read as [D][S]. A row is a position: k[S][D]",
                lambda q, k, v: attend(q, k.reshape(k.T.shape).T, v))
attention.wrong("first_query_for_all", "Your queries are all the first one. Query t is q[t]",
                lambda q, k, v: attend(q[:1].expand_as(q), k, v))
wrong_softmax("base_two", "Your powers are those of 2. Take exp, or multiply the scores by log2(e) before exp2",
              lambda scores: by_hand(scores * math.log(2)))
wrong_softmax("mean", "Your values are averaged, whatever their scores. Mix them by softmax",
              lambda scores: by_hand(torch.where(scores > -INF, 0, scores)))
wrong_mask("first_key_left_out", "Your queries do not see the first key. They see s = 0 .. S - T + t",
           lambda T, S: seen(T, S) & (torch.arange(S) > 0))
wrong_mask("unmasked_unless_whole",
           "Your mask is left out where T is less than S. Query t of the last T sees the keys up to S - T + t there, too",
           lambda T, S: seen(T, S) if T == S else torch.ones(T, S, dtype=bool))
wrong_mask("mask_from_the_top_left_unless_one",
           "Your query t sees the keys 0 .. t unless it is the only one, as is_causal of PyTorch has it. It stands at S - T + t",
           lambda T, S: torch.arange(S) <= torch.arange(T)[:, None] if T > 1 else torch.ones(T, S, dtype=bool))
attention.wrong("normalized_first", "Your queries and keys are brought to a mean square of 1 first, as in Qwen 3. A Llama's are not",
                lambda q, k, v: attend(*(x / x.square().mean(1, keepdim=True).sqrt() for x in (q, k)), v))
wrong_softmax("capped_at_50", "Your scores are kept within 50 by tanh, as in Gemma 2. A Llama's are not capped",
              lambda scores: by_hand(torch.where(scores > -INF, 50 * torch.tanh(scores / 50), scores)))
for kept, bits in (torch.float16, 11), (torch.bfloat16, 8):
    name = str(kept).removeprefix("torch.")
    attention.wrong(f"inputs_in_{name}", f"Your queries, keys and values are rounded to {name}, {bits} bits. They are float32: keep that",
                    lambda q, k, v, kept=kept: attend(*(x.to(kept).to(x.dtype) for x in (q, k, v))))
attention.wrong_tails("dot product", lambda full, q, k, v: attend(
    torch.cat([q[:, :full(q.shape[1])], 0 * q[:, full(q.shape[1]):]], 1), k, v))


# Wholes and quarters, whose sums a float32 holds exactly: such scores are right to the bit, however large.

def wholes(most, *shape):
    return lambda random: random.integers(-most, most + 1, shape)


def quarters(first, *shape):
    """At most 1, and in the first column what is wanted: with one of 400 and one of 100, scores near 1e4."""
    def draw(random):
        x = random.integers(-4, 5, shape) / 4
        x[:, 0] = first
        return x
    return draw


attention.case("by_hand", "The lesson's example: three positions of width 2.", q=QUERIES, k=KEYS, v=VALUES)
attention.case("small", "Six positions of width 8.", q=normal(6, 8), k=normal(6, 8), v=normal(6, 8))
attention.case("ragged", "11 positions of width 7: no size is a multiple of anything.",
               q=normal(11, 7), k=normal(11, 7), v=normal(11, 7))
attention.case("last_few", "The last 3 of 10 positions, as after a cache.",
               q=normal(3, 8), k=normal(10, 8), v=normal(10, 8))
attention.case("last_but_one",
               "All positions but the first.", q=normal(6, 5), k=normal(7, 5), v=normal(7, 5))
attention.case("last", "One query and 17 keys, as in decoding: it sees them all.",
               q=normal(1, 16), k=normal(17, 16), v=normal(17, 16))
attention.case("one_position", "A text of one token: its own value.",
               q=normal(1, 6), k=normal(1, 6), v=normal(1, 6))
attention.case("one_wide", "D = 1: no scale to forget.", q=normal(5, 1), k=normal(5, 1), v=normal(5, 1))
attention.case("llama", "A head of a Llama 3.", q=normal(1, 128), k=normal(3, 128), v=normal(3, 128))
attention.case("long", "70 positions of width 16.", q=normal(70, 16), k=normal(70, 16), v=normal(70, 16))
attention.case("sharp", "Scores up to 1e4, of either sign: the largest takes it all.",
               q=wholes(150, 7, 16), k=wholes(150, 7, 16), v=normal(7, 16))
attention.case("far_above", "Scores near 1e4, some units apart.",
               q=quarters(400, 5, 16), k=quarters(100, 8, 16), v=normal(8, 16))
attention.case("far_below", "Scores near -1e4, some units apart.",
               q=quarters(-400, 6, 16), k=quarters(100, 6, 16), v=normal(6, 16))
attention.case("deep_below", "Scores of -2^32 each: even -1e9 is no mask.",
               q=[[-2**17, 0, 0, 0]] * 5, k=[[2**16, 0, 0, 0]] * 5, v=normal(5, 4))
attention.case("far_apart", "Scores of -30000 and 30000 by turns: what the mask adds must outweigh them.",
               q=[[2, 0, 0, 0]] * 5, k=[[-3e4, 0, 0, 0], [3e4, 0, 0, 0]] * 2 + [[-3e4, 0, 0, 0]], v=normal(5, 4))
attention.case("past_64", "The last 3 of 70 positions.", q=normal(3, 8), k=normal(70, 8), v=normal(70, 8))


# --- The two sums of it: scores, and the values mixed ------------------------------------------------------

attention_scores = Kernel("attention_scores", CHAPTER, "torch.matmul of q and k transposed, divided by sqrt(D)",
                          pytorch=lambda q, k: torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.shape[-1]),
                          formula=lambda q, k: (q[:, None] * k).sum(-1) / math.sqrt(q.shape[-1]))


def wrong_scores(name, advice, scale):
    attention_scores.wrong(name, advice, lambda q, k: fit(q, k) * scale(q.shape[-1]))


wrong_scores("no_scale", "Your scores are not scaled. Divide them by sqrt(D)", lambda D: 1)
wrong_scores("divided_by_D",
             "Your scores are divided by D: without the root, or twice. Divide once by sqrt(D)", lambda D: 1 / D)
wrong_scores("fourth_root", "Your scores are divided by the fourth root of D: half of the scale is missing. Divide them by sqrt(D)", lambda D: D**-0.25)
wrong_scores("log2e", "Your scores are multiplied by log2(e), as for exp2. Softmax takes exp here", lambda D: 1 / math.sqrt(D) / math.log(2))
wrong_scores("multiplied_by_root", "Your scores are multiplied by sqrt(D). Divide them by it", math.sqrt)
attention_scores.wrong("sum_in_half", "Your dot products are summed in half precision, 11 bits. Sum in float or double",
                       lambda q, k: fit_in_half(q, k) / math.sqrt(q.shape[1]))
attention_scores.wrong("root_of_the_keys", "Your scores are divided by the root of how many keys there are. "
                       "Take the width of a head, sqrt(D)", lambda q, k: fit(q, k) / math.sqrt(len(k)))
attention_scores.wrong("queries_and_keys_swapped",
                       "Your queries and keys are swapped. scores[t][s] is q[t] . k[s]",
                       lambda q, k: fit(k, q) / math.sqrt(q.shape[1]) if q.shape == k.shape else None)
attention_scores.wrong("last_number_left_out",
                       "Your dot products leave the last number out. They have D terms",
                       lambda q, k: fit(q[:, :-1], k[:, :-1]) / math.sqrt(q.shape[1]))
attention_scores.wrong("last_product_alone",
                       "Your score is the last product alone. Add them up: sum += , and not sum =",
                       lambda q, k: fit(q[:, -1:], k[:, -1:]) / math.sqrt(q.shape[1]))
attention_scores.wrong("masked_already", "Your scores are masked already. That is causal_mask's, which follows",
                       lambda q, k: mask(fit(q, k) / math.sqrt(q.shape[1]), seen(len(q), len(k))))
attention_scores.wrong("weights_already", "Your scores are softmax's already. It comes after the mask",
                       lambda q, k: by_hand(fit(q, k) / math.sqrt(q.shape[1])))

attention_scores.wrong("root_cut", "Your sqrt(D) is cut to a whole number. Keep it a float: of 8, it is 2.83",
                       lambda q, k: fit(q, k) / math.isqrt(q.shape[1]))
attention_scores.wrong("sum_never_reset",
                       "Your sum runs on from key to key, and from query to query. Begin each score with 0",
                       lambda q, k: (fit(q, k) / math.sqrt(q.shape[1])).flatten().cumsum(0).reshape(len(q), -1))
attention_scores.wrong("sum_reset_for_each_query",
                       "Your sum runs on from key to key. Begin each score with 0, not only each query",
                       lambda q, k: (fit(q, k) / math.sqrt(q.shape[1])).cumsum(1))
attention_scores.wrong("written_transposed", "Your scores are written as [S][T]. A row is a query: scores[T][S]",
                       lambda q, k: (fit(q, k) / math.sqrt(q.shape[1])).T.reshape(len(q), -1)
                       if len(q) != len(k) else None)
attention_scores.wrong("keys_transposed", "Your keys are read as [D][S]. A row is a position: k[S][D]",
                       lambda q, k: fit(q, k.reshape(k.T.shape).T) / math.sqrt(q.shape[1]))
attention_scores.wrong("first_key_for_all", "Your keys are all the first one. scores[t][s] is q[t] . k[s]",
                       lambda q, k: fit(q, k[:1].expand_as(k)) / math.sqrt(q.shape[1]))
attention_scores.wrong("distances", "Your scores are squared distances. They are inner products",
                       lambda q, k: ((q[:, None] - k)**2).sum(-1) / math.sqrt(q.shape[1]))
attention_scores.wrong("cosines", "Your queries and keys are brought to length 1 first. Their lengths count",
                       lambda q, k: fit(F.normalize(q), F.normalize(k)) / math.sqrt(q.shape[1]))
attention_scores.wrong("first_query_for_all", "Your queries are all the first one. scores[t][s] is q[t] . k[s]",
                       lambda q, k: fit(q[:1].expand_as(q), k) / math.sqrt(q.shape[1]))
attention_scores.wrong("first_number_left_out", "Your dot products begin with the second number. They have D terms",
                       lambda q, k: fit(q[:, 1:], k[:, 1:]) / math.sqrt(q.shape[1]) if q.shape[1] > 1 else None)
attention_scores.wrong("root_of_the_queries", "Your scores are divided by the root of how many queries there are. "
                       "Take the width of a head, sqrt(D)", lambda q, k: fit(q, k) / math.sqrt(len(q)))
attention_scores.wrong("sums_for_products", "Your queries and keys are added, number by number. Multiply, and add up the products",
                       lambda q, k: (q[:, None] + k).sum(-1) / math.sqrt(q.shape[1]))
attention_scores.wrong_tails("dot product", lambda full, q, k:
                             fit(q[:, :full(q.shape[1])], k[:, :full(q.shape[1])]) / math.sqrt(q.shape[1]))

case = attention_scores.case
case("by_hand", "The lesson's example: three positions of width 2.", q=QUERIES, k=KEYS)
case("small", "Six positions of width 8.", q=normal(6, 8), k=normal(6, 8))
case("ragged", "5 queries, 11 keys of width 7: no size is a multiple of anything.", q=normal(5, 7), k=normal(11, 7))
case("last", "One query and 17 keys, as in decoding.", q=normal(1, 16), k=normal(17, 16))
case("one_wide", "D = 1: no scale to forget.", q=normal(5, 1), k=normal(4, 1))
case("llama", "A head of a Llama 3.", q=normal(3, 128), k=normal(5, 128))
case("cancelling", "Keys that queries hardly meet: large products, small sums.",
     q=normal(4, 64, scale=100), k=normal(4, 64, scale=100))


def masked(scores, hidden, value=-INF):
    """Scores where what is hidden has the value; hidden(t, s) of a query's position and a key's."""
    T, S = scores.shape
    t, s = torch.arange(T)[:, None] + S - T, torch.arange(S)[None]
    return scores.masked_fill(hidden(t, s), value)


def hidden_places(scores):
    return masked(0 * torch.ones_like(scores), lambda t, s: s > t) < 0


causal_mask = Kernel("causal_mask", CHAPTER, "torch.Tensor.masked_fill_",
                     pytorch=lambda scores: scores.masked_fill(
                         torch.ones_like(scores, dtype=torch.bool).triu(1 + scores.shape[1] - scores.shape[0]), -INF),
                     formula=lambda scores: masked(scores, lambda t, s: s > t), sums=False)

causal_mask.wrong("does_nothing", "Your scores are as they were. Set those of later keys to -INFINITY",
                  lambda scores: scores.clone())
for name, advice, hidden in (
        ("strict_mask", "Your mask hides the query's own position, too. It hides s > S - T + t alone",
         lambda t, s: s >= t),
        ("mask_one_late", "Your mask lets the query see one key of the future. It hides all s > S - T + t",
         lambda t, s: s > t + 1),
        ("mask_reversed", "Your mask hides what has been, and shows the future. It hides s > S - T + t",
         lambda t, s: s < t),
        ("everything_hidden", "Your mask hides every key. It hides s > S - T + t", lambda t, s: s >= 0 * t)):
    causal_mask.wrong(name, advice, lambda scores, hidden=hidden: masked(scores, hidden))
for name, advice, value in (
        ("future_scores_zero", "Your scores of the future are 0, and e^0 is 1. They are -INFINITY", 0),
        ("mask_of_minus_10000", "Your mask is -10000, and scores may be lower. It is -INFINITY", -1e4),
        ("mask_of_a_finite_number", "Your mask is a finite number, such as -1e9, and scores may be lower. It is "
         "-INFINITY", -1e9),
        ("mask_of_infinity", "Your mask is +INFINITY, which takes all the weight. It is -INFINITY", INF)):
    causal_mask.wrong(name, advice, lambda scores, value=value: masked(scores, lambda t, s: s > t, value))
causal_mask.wrong("mask_from_the_top_left", "Your query t sees the keys 0 .. t. The queries are the last T of S "
                  "positions: S - T + t",
                  lambda scores: masked(scores, lambda t, s: s > t - scores.shape[1] + scores.shape[0]))
causal_mask.wrong("rest_overwritten", "Your scores of the past are lost. The mask leaves them as they are",
                  lambda scores: masked(0 * scores, lambda t, s: s > t))

causal_mask.wrong("minus_infinity_added", "Your mask adds -INFINITY, and what is NaN or infinite before becomes NaN. Set the score, with = and not +=",
                  lambda scores: scores.where(~hidden_places(scores), scores - INF))
for name, value in ("10000", 1e4), ("1e9", 1e9):
    causal_mask.wrong(f"mask_adds_minus_{name}", f"Your mask adds -{name}, and scores may lie farther apart. Set them to -INFINITY",
                      lambda scores, value=value: scores.where(~hidden_places(scores), scores - value))
causal_mask.wrong("mask_of_the_lowest_float", "Your mask is the lowest float, -FLT_MAX, as torch.finfo has it. It is -INFINITY",
                  lambda scores: masked(scores, lambda t, s: s > t, torch.finfo(torch.float32).min))
causal_mask.wrong("mask_of_nan", "Your mask is NaN, which spoils the whole row. It is -INFINITY",
                  lambda scores: masked(scores, lambda t, s: s > t, NAN))
causal_mask.wrong("next_key_alone", "Your mask hides the next key alone. It hides all s > S - T + t",
                  lambda scores: masked(scores, lambda t, s: s == t + 1))
causal_mask.wrong("unmasked_unless_whole", "Your mask is left out where T is less than S. It hides s > S - T + t there, too",
                  lambda scores: masked(scores, lambda t, s: s > t) if scores.shape[0] == scores.shape[1] else scores.clone())
causal_mask.wrong("mask_from_the_top_left_unless_one", "Your query t sees the keys 0 .. t unless it is the only one. The queries are the "
                  "last T of S positions: S - T + t",
                  lambda scores: masked(scores, lambda t, s: s > t - scores.shape[1] + scores.shape[0])
                  if len(scores) > 1 else scores.clone())

case = causal_mask.case
case("by_hand", "The lesson's example: three scores are hidden.", scores=SCORES)
case("whole_text", "T = S.", scores=normal(6, 6))
case("ragged", "The last 5 of 11 positions.", scores=normal(5, 11))
case("decode", "One query, the last: nothing is hidden.", scores=normal(1, 9))
case("one_token", "A text of one token.", scores=normal(1, 1))
case("far_below", "Scores near -1e12: -1e9 would be the largest.", scores=normal(4, 4, scale=1e11, shift=-1e12))
case("not_finite", "NaN and infinity in places that are hidden.",
     scores=[[1, NAN, INF, -INF], [2, 1, INF, NAN], [0.5, 3, 2, INF], [1, 0, -1, 2]])


def mixing(*shape):
    """Weights as softmax makes them: positive, and each row sums to 1."""
    def draw(random):
        e = np.exp(random.standard_normal(shape))
        return e / e.sum(-1, keepdims=True)
    return draw


weighted_sum = Kernel("weighted_sum", CHAPTER, "torch.matmul", pytorch=lambda weights, v: torch.matmul(weights, v),
                      formula=lambda weights, v: (weights[:, :, None] * v).sum(1))

weighted_sum.wrong("weights_transposed", "Your weights are transposed. out[t] is the sum of weights[t][s] v[s]",
                   lambda weights, v: weights.T @ v if len(weights) == len(v) else None)
weighted_sum.wrong("last_key_left_out", "Your sums leave the last key out. They have S terms",
                   lambda weights, v: weights[:, :-1] @ v[:-1])
weighted_sum.wrong("last_key_alone", "Your output is the last key's alone. Add them up: sum += , and not sum =",
                   lambda weights, v: weights[:, -1:] @ v[-1:])
weighted_sum.wrong("mean", "Your values are averaged, whatever their weights. Multiply each by its weight first",
                   lambda weights, v: v.mean(0).expand(len(weights), -1).contiguous())
weighted_sum.wrong("divided_again", "Your sums are divided by that of the weights. Softmax has done that already",
                   lambda weights, v: weights @ v / weights.sum(1, keepdim=True))
weighted_sum.wrong("divided_by_S", "Your sums are divided by S. The weights share already",
                   lambda weights, v: weights @ v / len(v))
weighted_sum.wrong("first_row_of_weights", "All your queries have the weights of the first. Query t has weights[t]",
                   lambda weights, v: (weights[:1] @ v).expand(len(weights), -1).contiguous())
weighted_sum.wrong("masked", "Your weights of the future are left out. The mask has made them 0 already, and here "
                   "some are not", lambda weights, v: weights * seen(*weights.shape) @ v)

weighted_sum.wrong("sum_not_reset", "Your sums run on from one query to the next. Begin each with 0",
                   lambda weights, v: (weights @ v).cumsum(0))
weighted_sum.wrong("largest_alone",
                   "Your query takes the value of the largest weight. Add them all, each times its weight",
                   lambda weights, v: v[weights.argmax(1)])
weighted_sum.wrong("softmax_again", "Your weights go through softmax once more. They are weights already",
                   lambda weights, v: by_hand(weights) @ v)
weighted_sum.wrong("values_transposed", "Your values are read as [D][S]. A row is a position: v[S][D]",
                   lambda weights, v: weights @ v.reshape(v.T.shape).T)
weighted_sum.wrong("written_transposed", "Your output is written as [D][T]. A row is a query: out[T][D]",
                   lambda weights, v: (weights @ v).T.reshape(len(weights), -1))
weighted_sum.wrong("first_value_for_all", "Your values are all the first one. out[t] is the sum of weights[t][s] v[s]",
                   lambda weights, v: weights @ v[:1].expand_as(v))
weighted_sum.wrong("weights_ignored",
                   "Your values are added, whatever their weights. Multiply each by its weight first",
                   lambda weights, v: v.sum(0).expand(len(weights), -1).contiguous())
weighted_sum.wrong("first_key_left_out", "Your sums leave the first key out. They have S terms",
                   lambda weights, v: weights[:, 1:] @ v[1:])
weighted_sum.wrong("sum_in_half", "Your sums are kept in half precision, 11 bits. Sum in float or double",
                   lambda weights, v: summed_in_half((weights[:, :, None] * v).transpose(1, 2)))
weighted_sum.wrong("largest_product", "Your output is the largest of the products. Add them all",
                   lambda weights, v: (weights[:, :, None] * v).amax(1))
weighted_sum.wrong("keys_reversed", "Your weights meet the values in reverse order. weights[t][s] belongs to v[s]",
                   lambda weights, v: weights @ v.flip(0))
weighted_sum.wrong_tails("sum over the keys", lambda full, weights, v: weights[:, :full(len(v))] @ v[:full(len(v))])

case = weighted_sum.case
case("by_hand", "The lesson's example: the weights of three values.",
     weights=[[math.exp(s) / sum(map(math.exp, row)) for s in row] for row in MASKED], v=VALUES)
case("small", "Six positions of width 8.", weights=mixing(6, 6), v=normal(6, 8))
case("zeros", "Weights of 0 stand before others.", weights=[[0, 0.5, 0, 0, 0.5], [0.25, 0, 0.75, 0, 0]], v=normal(5, 6))
case("ragged", "5 queries, 11 keys of width 7: no size is a multiple of anything.",
     weights=mixing(5, 11), v=normal(11, 7))
case("last", "One query and 17 keys, as in decoding.", weights=mixing(1, 17), v=normal(17, 16))
case("one_wide", "D = 1.", weights=mixing(5, 4), v=normal(4, 1))
case("llama", "A head of a Llama 3.", weights=mixing(3, 5), v=normal(5, 128))
case("any_weights", "Weights that do not sum to 1.", weights=uniform(0, 2, 4, 6), v=normal(6, 8))
