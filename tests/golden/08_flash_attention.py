"""Chapter 8: the same attention, tile by tile, with the online softmax."""
import math

import torch
import torch.nn.functional as F

from golden import Kernel, normal, summed_in_half

CHAPTER = "08_flash_attention"
INF = math.inf
TILE = 16  # keys


# --- The attention of chapters 6 and 7, in pieces ----------------------------------------------------------

def own_group(h, H, KV):
    return h // (H // KV)


def by_remainder(h, H, KV):
    return h % KV


def up_to_itself(t, s, T, S):
    """Query t stands at S - T + t."""
    return s <= S - T + t


def divided_by_root(scores, H, D):
    return scores / math.sqrt(D)


def dot(q, k):
    return torch.einsum("thi,shi->hts", q, k)


def dot_in_half(q, k):
    return summed_in_half(torch.einsum("thi,shi->htsi", q, k))


def masked_scores(q, k, group=own_group, seen=up_to_itself, scaled=divided_by_root, hidden=-INF, dot=dot):
    (T, H, D), (S, KV, _) = q.shape, k.shape
    scores = scaled(dot(q, k[:, group(torch.arange(H), H, KV)]), H, D)
    return scores.masked_fill(~seen(torch.arange(T)[:, None], torch.arange(S), T, S), hidden)


def values(q, v, group=own_group):
    """A row of values for every query head, [H][S][D]."""
    H, KV = q.shape[1], v.shape[1]
    return v[:, group(torch.arange(H), H, KV)].transpose(0, 1)


def pytorch_attend(q, k, v):
    T, S = len(q), len(k)
    seen = up_to_itself(torch.arange(T)[:, None], torch.arange(S), T, S)
    q, k, v = (x.transpose(0, 1)[None] for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=None if T == S else seen, is_causal=T == S,
                                          enable_gqa=True)[0].transpose(0, 1)


# --- The online softmax ------------------------------------------------------------------------------------

def shrink(old, new):
    """By how much a sum under the old maximum must shrink under the new one."""
    return torch.exp(old - new)


def not_at_all(old, new):
    return 1


def grow(old, new):
    return torch.exp(new - old).where(old > -INF, 0)


def shrink_by_two(old, new):
    return torch.exp2(old - new)


def running(scores, so_far):
    return torch.maximum(so_far, scores.amax(-1, keepdim=True))


def not_moved(scores, so_far):
    return so_far


def online(scores, v, first_maximum=-INF, maximum=running, shrink_sum=shrink, shrink_out=shrink, size=TILE):
    """The sum of the weights and the weighted sum of the values, both under the maximum of all scores."""
    highest = torch.full_like(scores[..., :1], first_maximum)
    total, out = 0, 0
    for tile, rows in zip(scores.split(size, -1), v.split(size, -2)):
        before, highest = highest, maximum(tile, highest)
        weights = torch.exp(tile - highest)
        total = total * shrink_sum(before, highest) + weights.sum(-1, keepdim=True)
        out = out * shrink_out(before, highest) + weights @ rows
    return out, total


def flash(scores, v, **change):
    out, total = online(scores, v, **change)
    return (out / total).transpose(0, 1)


def epsilon_added(out, total):
    return (out / (total + 1e-5)).transpose(0, 1)


def sink_added(scores, v):
    out, total = online(scores, v, first_maximum=0)
    return (out / (total + torch.exp(-scores.amax(-1, keepdim=True).clamp(min=0)))).transpose(0, 1)


flash_attention = Kernel(
    "flash_attention", CHAPTER,
    "torch.nn.functional.scaled_dot_product_attention(enable_gqa=True), "
    "is_causal or with the mask spelled out",
    pytorch=pytorch_attend, formula=lambda q, k, v: flash(masked_scores(q, k), values(q, v)))


# --- Mistakes of any attention -----------------------------------------------------------------------------

def wrong_scores(name, advice, **change):
    flash_attention.wrong(name, advice, lambda q, k, v: flash(masked_scores(q, k, **change), values(q, v)))


wrong_scores("no_mask",
             "Your queries see the future. Query t stands at S - T + t, and sees keys up to there",
             seen=lambda t, s, T, S: s >= 0 * t)
wrong_scores("strict_mask",
             "Your queries do not see their own position. Query t sees s <= S - T + t, not only s <",
             seen=lambda t, s, T, S: s < S - T + t)
wrong_scores("mask_one_late",
             "Your queries see one key of the future. Query t sees s <= S - T + t, no further",
             seen=lambda t, s, T, S: s <= S - T + t + 1)
wrong_scores("mask_from_the_top_left",
             "Your query t sees the keys 0 .. t. The queries are the last T of S positions: S - T + t",
             seen=lambda t, s, T, S: s <= t)
wrong_scores("scores_in_half", "Your dot products are summed in half precision, 11 bits. Sum in float or double", dot=dot_in_half)
wrong_scores("scores_kept_in_half", "Your scores are kept in half precision, 11 bits. Keep float or double",
             scaled=lambda score, H, D: divided_by_root(score, H, D).half().to(score.dtype))
wrong_scores("no_scale",
             "Your scores are not scaled. Divide them by sqrt(D)", scaled=lambda score, H, D: score)
wrong_scores("divided_by_D",
             "Your scores are divided by D: without the root, or twice. Divide once by sqrt(D)",
             scaled=lambda score, H, D: score / D)
wrong_scores("model_width",
             "Your scores are divided by the root of the model's width, H D. Take that of a head's, sqrt(D)",
             scaled=lambda score, H, D: score / math.sqrt(H * D))
flash_attention.wrong(
    "remainder_for_group",
    "Your query head h reads key/value head h % KV. It is h / (H / KV): neighbours share",
    lambda q, k, v: flash(masked_scores(q, k, group=by_remainder), values(q, v, group=by_remainder)))
flash_attention.wrong(
    "values_of_another_group",
    "Your keys are those of the group, but your values are of head h % KV. Both are of h / (H / KV)",
    lambda q, k, v: flash(masked_scores(q, k), values(q, v, group=by_remainder)))
flash_attention.wrong(
    "softmax_over_heads",
    "Your weights sum to 1 over the heads. Each head's sum to 1 over the keys",
    lambda q, k, v: (torch.softmax(masked_scores(q, k), 0).nan_to_num() @ values(q, v)).transpose(0, 1))
wrong_scores("root_cut", "Your sqrt(D) is cut to a whole number. Keep it a float: of 8, it is 2.83",
             scaled=lambda score, H, D: score / math.isqrt(D))
wrong_scores("mask_of_minus_10000", "Your mask is -10000, and scores may be lower. It is -INFINITY", hidden=-1e4)
wrong_scores("mask_of_a_finite_number",
             "Your mask is a finite number, such as -1e9, and scores may be lower. It is -INFINITY", hidden=-1e9)
wrong_scores("future_scores_zero", "Your scores of the future are 0, and e^0 is 1. They are -INFINITY", hidden=0)
wrong_scores("log2e_with_exp", "Your scores are multiplied by log2(e), as for exp2, and you take exp. Leave that out, or take exp2",
             scaled=lambda score, H, D: score / math.sqrt(D) / math.log(2))
wrong_scores("base_two", "Your powers are those of 2. Take exp, or multiply the scores by log2(e) before exp2",
             scaled=lambda score, H, D: score * math.log(2) / math.sqrt(D))
wrong_scores("mask_from_the_top_left_unless_one",
             "Your query t sees the keys 0 .. t unless it is the only one, as is_causal of PyTorch has it. It stands at S - T + t",
             seen=lambda t, s, T, S: s <= t if T > 1 else s >= 0 * t)
wrong_scores("unmasked_unless_whole",
             "Your mask is left out where T is less than S. Query t of the last T sees the keys up to S - T + t there, too",
             seen=lambda t, s, T, S: s <= t if T == S else s >= 0 * t)
wrong_scores("first_key_left_out", "Your queries do not see the first key. Query t sees s = 0 .. S - T + t",
             seen=lambda t, s, T, S: (s <= S - T + t) & (s > 0))
wrong_scores("multiplied_by_root", "Your scores are multiplied by sqrt(D). Divide them by it",
             scaled=lambda score, H, D: score * math.sqrt(D))
wrong_scores("divided_by_H", "Your scores are divided by the root of how many heads there are. Take a head's width, sqrt(D)",
             scaled=lambda score, H, D: score / math.sqrt(H))
wrong_scores("capped_at_50", "Your scores are kept within 50 by tanh, as in Gemma 2. A Llama's are not capped",
             scaled=lambda score, H, D: 50 * torch.tanh(score / math.sqrt(D) / 50))


def wrong_view(name, advice, seen):
    """A mask that hides whole tiles from a query: whoever passes over them has the softmax of what is left."""
    flash_attention.wrong(name, advice, lambda q, k, v: sum_of_tiles(
        masked_scores(q, k, seen=seen), values(q, v), size=len(k)))


for width in 16, 32, 64:
    wrong_view(f"window_of_{width}",
               f"Your queries see the last {width} keys alone, a sliding window. A Llama's see all that were before",
               lambda t, s, T, S, width=width: (s <= S - T + t) & (s > S - T + t - width))
    wrong_view(f"tiles_of_{width}_skipped",
               "Your query t passes over tiles of keys as if it stood at t. It stands at S - T + t, and sees those up to there",
               lambda t, s, T, S, width=width: (s <= S - T + t) & (s // width <= t // width))
for width in 16, 32, 64:
    wrong_view(f"mask_by_the_place_in_tiles_of_{width}",
               "Your mask compares a key's place in its tile, so that queries see the future in later tiles. Key s stands at the tile's start plus its place",
               lambda t, s, T, S, width=width: s % width <= S - T + t)
for width in 8, 16, 32, 64:
    wrong_view(f"mask_of_whole_tiles_of_{width}",
               "Your queries see all of the tile that their own key lies in. In that tile query t sees keys up to S - T + t, no further",
               lambda t, s, T, S, width=width: s // width <= (S - T + t) // width)
wrong_view("mask_reversed", "Your queries see the future alone. Query t sees s <= S - T + t, what has been",
           lambda t, s, T, S: s >= S - T + t)
flash_attention.wrong(
    "first_head_for_all", "Your query heads all read key/value head 0. Head h reads h / (H / KV)",
    lambda q, k, v: flash(*(part(q, x, group=lambda h, H, KV: 0 * h) for part, x in ((masked_scores, k), (values, v)))))
flash_attention.wrong(
    "keys_and_values_swapped", "Your keys and values are swapped. Queries meet keys, and the weights mix values",
    lambda q, k, v: flash(masked_scores(q, v), values(q, k)))
flash_attention.wrong(
    "keys_mixed", "Your weights mix the keys. They mix the values",
    lambda q, k, v: flash(masked_scores(q, k), values(q, k)))
for kept, bits in (torch.float16, 11), (torch.bfloat16, 8):
    name = str(kept).removeprefix("torch.")
    flash_attention.wrong(f"inputs_in_{name}", f"Your queries, keys and values are rounded to {name}, {bits} bits. They are float32: keep that",
                          lambda q, k, v, kept=kept: flash(*(lambda q, k, v: (masked_scores(q, k), values(q, v)))(
                              *(x.to(kept).to(x.dtype) for x in (q, k, v)))))
flash_attention.wrong_tails("dot product", lambda full, q, k, v: flash(masked_scores(
    torch.cat([q[..., :full(q.shape[2])], 0 * q[..., full(q.shape[2]):]], 2), k), values(q, v)))


# --- Mistakes of tiles -------------------------------------------------------------------------------------
# A tile may have 8, 16, 32 or 64 keys. A mistake is stored where it gives the same whatever their number: so
# it is named in anyone's kernel.

def wrong_tiles(name, advice, formula):
    """formula(scores, v) is the whole output. None is asked of a single tile."""
    flash_attention.wrong(name, advice, lambda q, k, v:
                          formula(masked_scores(q, k), values(q, v)) if len(k) > TILE else None)


def grows_between_tiles(scores):
    """The maximum grows where a tile begins, and nowhere else."""
    return torch.all(scores.cummax(-1).indices % 64 == 0)


def wrong_carry(name, advice, **change):
    """A mistake that shows where the maximum grows: that must be at every 64th key alone."""
    def formula(scores, v):
        return flash(scores, v, **change) if grows_between_tiles(scores) else None
    wrong_tiles(name, advice, formula)


def full_tiles(scores):
    """How many keys lie in full tiles, if that is the same for tiles of 8 and of 64."""
    keys = scores.shape[-1]
    return keys // 64 * 64 if keys // 64 * 64 == keys // 8 * 8 else 0


def sum_of_tiles(scores, v, size=TILE):
    """Of each tile's own softmax, which is 0 where a query sees nothing of the tile."""
    return sum(torch.softmax(tile, -1).nan_to_num() @ rows
               for tile, rows in zip(scores.split(size, -1), v.split(size, -2))).transpose(0, 1)


def mean_of_tiles(scores, v, size=TILE):
    """Of those that a query sees anything of."""
    seen = sum((tile > -INF).any(-1, keepdim=True) for tile in scores.split(size, -1))
    return sum_of_tiles(scores, v, size) / seen.transpose(0, 1)


def divided_by_the_tile(scores, v, size):
    """The mistake of a kernel that divides where it should only shrink: the output is a mean already when the next tile comes."""
    highest = torch.full_like(scores[..., :1], -INF)
    total, out = 0, 0
    for tile, rows in zip(scores.split(size, -1), v.split(size, -2)):
        before, highest = highest, running(tile, highest)
        weights = torch.exp(tile - highest)
        total = total * shrink(before, highest) + weights.sum(-1, keepdim=True)
        out = (out * shrink(before, highest) + weights @ rows) / total
    return out.transpose(0, 1)


wrong_carry("output_not_rescaled",
            "Your output is not rescaled where the maximum grows. "
            "Multiply it by e^(old max - new max), as the sum",
            shrink_out=not_at_all)
wrong_carry("sum_not_rescaled",
            "Your sum is not rescaled where the maximum grows. "
            "Multiply it by e^(old max - new max), as the output",
            shrink_sum=not_at_all)
wrong_carry("nothing_rescaled",
            "Your sum and output are not rescaled where the maximum grows. "
            "Multiply both by e^(old max - new max)",
            shrink_sum=not_at_all, shrink_out=not_at_all)
wrong_carry("rescaled_upwards",
            "Your sum and output grow where the maximum grows. "
            "The factor is e^(old max - new max), at most 1",
            shrink_sum=grow, shrink_out=grow)
wrong_carry("rescaled_by_powers_of_two",
            "Your sum and output are rescaled by 2^(old max - new max), and the weights are powers of e. Take exp for both",
            shrink_sum=shrink_by_two, shrink_out=shrink_by_two)
wrong_carry("output_rescaled_upwards",
            "Your output grows where the maximum grows, and your sum shrinks. The factor of both is e^(old max - new max), at most 1",
            shrink_out=grow)
for size in 8, TILE, 32, 64:
    wrong_tiles(f"tiles_of_{size}_divided",
                "Your output is divided by the sum after every tile, and then added to. Divide once, after the last tile",
                lambda scores, v, size=size: divided_by_the_tile(scores, v, size))
for size, name in (TILE, "tiles_averaged"), (8, "tiles_averaged_of_8"), (32, "tiles_averaged_of_32"), (64, "tiles_averaged_of_64"):
    wrong_tiles(name,  # here the number of keys does matter, and the mistake is common
                "Your output is the mean of the tiles' own softmaxes. "
                "A tile counts by the sum of its weights: carry maximum, sum and output on",
                lambda scores, v, size=size: mean_of_tiles(scores, v, size))
for size in 8, TILE, 32, 64:
    wrong_tiles(f"tiles_of_{size}_under_their_own_maxima",
                "The weights of each tile are taken under that tile's own maximum, and then added up. All must be under one: "
                "multiply sum and output by e^(old max - new max) where it grows, and keep it where it does not",
                lambda scores, v, size=size: None if grows_between_tiles(scores) else flash(
                    scores, v, size=size, maximum=lambda tile, so_far: tile.amax(-1, keepdim=True).clamp(min=-1e30),
                    shrink_sum=not_at_all, shrink_out=not_at_all))
wrong_tiles("tiles_summed",
            "Your output is the sum of the tiles' own softmaxes. "
            "Divide once, at the end, by the sum of all weights",
            sum_of_tiles)
wrong_tiles("last_tile_alone",
            "Your output is that of the last tile. Add to what the tiles before have left",
            lambda scores, v: flash(scores[..., full_tiles(scores):], v[:, full_tiles(scores):])
            if 0 < full_tiles(scores) <= scores.shape[-1] - scores.shape[-2] else None)
wrong_tiles("last_tile_dropped",
            "Your last tile is dropped, because it is not full. "
            "It has what is left of the S keys: read those",
            lambda scores, v: flash(scores[..., :full_tiles(scores)], v[:, :full_tiles(scores)])
            if full_tiles(scores) else None)
flash_attention.wrong(
    "padding_counts",
    "Your last tile is filled up with keys of zeros, and e^0 is 1. "
    "Give what is not there the score -infinity",
    lambda q, k, v: flash(F.pad(masked_scores(q, k), (0, -len(k) % 64)),
                          F.pad(values(q, v), (0, 0, 0, -len(k) % 64)))
    if len(q) == 1 and -len(k) % 64 < 8 else None)


def maximum_of_the_last_tile(scores, v):
    """The same as the right one, until e^(old max - new max) overflows; whether it does must not depend on the tile."""
    spread = scores.amax(-1) - torch.where(scores > -INF, scores, INF).amin(-1)
    if (scores[..., :1] > 1000 + scores[..., 1:].amax(-1, keepdim=True)).all():
        return flash(scores, v, maximum=lambda tile, so_far: tile.amax(-1, keepdim=True))
    return flash(scores, v) if spread.max() < 80 else None


wrong_tiles(
    "maximum_of_the_last_tile",
    "Your maximum is the last tile's own, and falls where that lies below the ones before: e^(old max - new max) overflows. It is the "
    "larger of the two: it never falls",
    maximum_of_the_last_tile)
flash_attention.wrong(
    "never_divided",
    "Your output is not divided by the sum of the weights. Divide once, after the last tile",
    lambda q, k, v: online(masked_scores(q, k), values(q, v))[0].transpose(0, 1))
flash_attention.wrong(
    "sink_of_0", "Your sum of weights begins with 1 under a maximum of 0, an attention sink as in gpt-oss. A Llama has none: begin with 0, "
    "and -infinity",
    lambda q, k, v: sink_added(masked_scores(q, k), values(q, v)))
flash_attention.wrong(
    "epsilon_of_1e-5_added", "Your sum of weights has 1e-5 added. It is 1 or more, as e^(max - max) is: add nothing",
    lambda q, k, v: epsilon_added(*online(masked_scores(q, k), values(q, v))))
flash_attention.wrong(
    "maximum_not_subtracted",
    "Your e^score overflows, or is 0 for the whole row. Subtract the largest score so far",
    lambda q, k, v: flash(masked_scores(q, k), values(q, v), first_maximum=0, maximum=not_moved))
flash_attention.wrong(
    "maximum_starts_at_zero",
    "Your maximum is never less than 0: far below it, e^(score - max) is 0. Start below every score",
    lambda q, k, v: flash(masked_scores(q, k), values(q, v), first_maximum=0))
flash_attention.wrong(
    "maximum_starts_at_a_finite_number",
    "Your maximum starts at a number, such as -10000, that all scores may lie below: there every e^(score - max) is 0, and "
    "0/0 NaN. Start at -infinity",
    lambda q, k, v: flash(masked_scores(q, k), values(q, v), first_maximum=-1e4))


# --- Cases -------------------------------------------------------------------------------------------------

def heads(T, S, H, KV, D):
    return dict(q=normal(T, H, D), k=normal(S, KV, D), v=normal(S, KV, D))


def quarters(first, *shape):
    """At most 1, and first in every head what is wanted: sums of such products are exact in a float32."""
    def draw(random):
        x = random.integers(-4, 5, shape) / 4
        x[..., 0] = first
        return x
    return draw


def wholes(most, *shape):
    return lambda random: random.integers(-most, most + 1, shape)


def along(keys):
    """A number for each key, the same in all heads."""
    return [[number] for number in keys]


def stairs(S):
    """Up by 2 with every 64th key, which alone stands 1.5 above those that follow."""
    return [2 * (s // 64) + 1.5 * (s % 64 == 0) for s in range(S)]


case = flash_attention.case
case("by_hand", "The lesson's example: four scores, whose weights are 1 : 2 : 4 : 1.",
     q=[[[1]]], k=[[[0]], [[math.log(2)]], [[math.log(4)]], [[0]]], v=[[[10]], [[20]], [[30]], [[40]]])
case("one_key", "A text of one token: each head's own value.", **heads(1, 1, 6, 3, 5))
case("ragged_37", "A tile and five keys, MHA.", **heads(37, 37, 2, 2, 3))
case("ragged_70", "Two tiles and six keys, MQA.", **heads(70, 70, 2, 1, 2))
case("whole_tiles", "Exactly two tiles.", **heads(3, 64, 4, 2, 4))
case("chunk", "The last 33 of 130 positions, as in chunked prefill.", **heads(33, 130, 2, 1, 3))
case("draft", "The last 3 of 69 positions, 8 heads in groups of four.", **heads(3, 69, 8, 2, 4))
case("decode", "One token after 315 others.", **heads(1, 316, 2, 1, 4))
case("decode_70", "One token after 69 others, six heads in groups of two.", **heads(1, 70, 6, 3, 3))
case("twenty", "D = 20.", **heads(2, 33, 2, 1, 20))
case("left_over", "D = 29: full vectors of 4, 8 and 16 leave 1, 5 and 13.", **heads(2, 5, 2, 1, 29))
case("sixty_four", "A head of a Llama 3.2 1B.", **heads(2, 5, 1, 1, 64))
case("eighty", "D = 80: no power of two.", **heads(2, 5, 1, 1, 80))
case("llama", "Heads of a Llama 3.", **heads(1, 6, 2, 1, 128))
case("growing", "Scores that grow along the keys: the maximum moves on with every tile.",
     q=quarters(4, 3, 2, 4), k=quarters(along(s / 16 for s in range(100)), 100, 1, 4), v=normal(100, 1, 4))
case("shrinking", "Scores that shrink along the keys: the maximum never moves.",
     q=quarters(4, 3, 2, 4), k=quarters(along(-s / 16 for s in range(100)), 100, 1, 4), v=normal(100, 1, 4))
case("falling", "All scores are 2000 below that of the first key: the maximum of what follows is no use.",
     q=quarters(200, 2, 2, 4), k=quarters(along(-20.0 * (s > 0) for s in range(133)), 133, 1, 4), v=normal(133, 1, 4))
case("falling_decode", "The same for one token.",
     q=quarters(200, 1, 3, 4), k=quarters(along(-20.0 * (s > 0) for s in range(133)), 133, 1, 4), v=normal(133, 1, 4))
case("stairs", "Scores that go up at keys 64 and 128: the maximum moves there, and nowhere else.",
     q=quarters(4, 3, 4, 4), k=quarters(along(stairs(133)), 133, 2, 4), v=normal(133, 2, 4))
case("stairs_decode", "One token that climbs both.",
     q=quarters(4, 1, 3, 4), k=quarters(along(stairs(189)), 189, 1, 4), v=normal(189, 1, 4))
case("far", "Scores near 1e4 in one head, near -1e4 in the next, some units apart: no e^x is of any use.",
     q=quarters([200, -200, 200, -200], 3, 4, 4), k=quarters(100, 40, 2, 4), v=normal(40, 2, 4))
case("sharp", "Scores up to 1e4, of either sign: the largest takes it all.",
     q=wholes(150, 4, 2, 4), k=wholes(150, 45, 1, 4), v=normal(45, 1, 4))
case("deep_below", "Scores of -2^32 each: even -1e9 is no mask.",
     q=[[[-2**17, 0, 0, 0]]] * 5, k=[[[2**16, 0, 0, 0]]] * 5, v=normal(5, 1, 4))
