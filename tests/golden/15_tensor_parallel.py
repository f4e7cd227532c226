"""Chapter 15: the matrices of a layer cut among ranks, and what the ranks make of their parts.

A cut is right to the bit, for it only copies; what is added up is judged as any sum is.
"""
import math

import torch
import torch.nn.functional as F_

from golden import Kernel, normal

CHAPTER = "15_tensor_parallel"

FIRST = "You take the first part for every rank. The part of rank r begins at r times its length"
UNMULTIPLIED = "Your part begins at {0} `rank`, one {0} behind the part before it. It begins at rank times its length"
INTERLEAVED = "You deal the {} out in turn: rank, rank + ranks, rank + 2 ranks, … A rank's follow each other"
BEHIND = "You take the next rank's part. Ranks are numbered from 0"
REVERSED = "Your ranks run from the end. Rank 0 has the first part"
AXIS = "You cut along the other axis. {}"


def parts(count, ranks):
    """Where each rank's part begins, and behind the last."""
    return [count * rank // ranks for rank in range(ranks + 1)]


def own(count, ranks, rank):
    begins = parts(count, ranks)
    return torch.arange(begins[rank], begins[rank + 1])


def which(name, count, ranks, rank):
    """The indices that a mistake takes for this rank's."""
    return {"first": lambda: own(count, ranks, 0), "last": lambda: own(count, ranks, ranks - 1), "interleaved": lambda: torch.arange(rank, count, ranks),
            "behind": lambda: own(count, ranks, (rank + 1) % ranks), "reversed": lambda: own(count, ranks, ranks - 1 - rank),
            "rank_alone": lambda: torch.arange(rank, rank + count // ranks)}[name]()


# --- A matrix ------------------------------------------------------------------------------------------------

columns = Kernel("shard_columns", CHAPTER, "torch.chunk(weight, ranks, dim=0)[rank]", exact=True,
                 pytorch=lambda ranks, rank, weight: torch.chunk(weight, ranks, 0)[rank],
                 formula=lambda ranks, rank, weight: weight[own(len(weight), ranks, rank)])
rows = Kernel("shard_rows", CHAPTER, "torch.chunk(weight, ranks, dim=1)[rank]", exact=True,
              pytorch=lambda ranks, rank, weight: torch.chunk(weight, ranks, 1)[rank].contiguous(),
              formula=lambda ranks, rank, weight: weight[:, own(weight.shape[1], ranks, rank)])
for name, advice in {"first": FIRST, "interleaved": INTERLEAVED.format("rows"), "behind": BEHIND, "reversed": REVERSED,
                     "rank_alone": UNMULTIPLIED.format("row")}.items():
    columns.wrong({"first": "every_rank_shard_0"}.get(name, name), advice, lambda ranks, rank, weight, name=name:
                  weight[which(name, len(weight), ranks, rank)])
    rows.wrong({"first": "every_rank_shard_0"}.get(name, name), advice.replace("row", "column"), lambda ranks, rank, weight, name=name:
               weight[:, which(name, weight.shape[1], ranks, rank)])
columns.wrong("row_length_missing", "Your part begins so many numbers behind the first. It begins so many rows behind it: times C",
              lambda ranks, rank, weight: weight.flatten()[rank * len(weight) // ranks:][:weight.numel() // ranks].reshape(-1, weight.shape[1]))
columns.wrong("other_axis", AXIS.format("Of nn.Linear's [out][in], a part of the outputs is whole rows, one behind the other"),
              lambda ranks, rank, weight: weight[:, own(weight.shape[1], ranks, rank)].reshape(-1, weight.shape[1])
              if weight.shape[1] % ranks == 0 else None)
columns.wrong("other_axis_transposed", AXIS.format("Of nn.Linear's [out][in], a part of the outputs is whole rows") + ", not turned",
              lambda ranks, rank, weight: weight[:, own(weight.shape[1], ranks, rank)].T.contiguous()
              if len(weight) == weight.shape[1] else None)
rows.wrong("other_axis", AXIS.format("A part of the inputs is a piece of every row of [out][in]: the rows whole are outputs, whose "
           "sum would mean nothing"), lambda ranks, rank, weight: weight.reshape(ranks, len(weight), -1)[rank])
rows.wrong("rows_of_the_part", "You step from row to row by the length of the part. A row of weight has F numbers",
           lambda ranks, rank, weight: weight.flatten()[rank * weight.shape[1] // ranks:][:weight.numel() // ranks].reshape(len(weight), -1))
rows.wrong("other_axis_transposed", AXIS.format("A part of the inputs is a piece of every row of [out][in]") + ", not turned",
           lambda ranks, rank, weight: weight[own(len(weight), ranks, rank)].T.contiguous() if len(weight) == weight.shape[1] else None)

for kernel, part in (columns, lambda ranks, rank, weight: weight[own(len(weight), ranks, rank)]), \
                    (rows, lambda ranks, rank, weight: weight[:, own(weight.shape[1], ranks, rank)]):
    kernel.wrong("written_transposed", "Your part is written as [in][out]. It stays [out][in], as the matrix was",
                 lambda part=part, **inputs: (lambda x: x.T.reshape(x.shape))(part(**inputs)))
CUTS = [("whole", "one rank has everything", 1, 0), ("half", "the second of two ranks", 2, 1), ("third", "rank 1 of 3", 3, 1),
        ("quarter", "rank 2 of 4", 4, 2), ("eighth", "rank 5 of 8", 8, 5)]
for name, sentence, ranks, rank in CUTS:
    columns.case(name, sentence, ranks=ranks, rank=rank, weight=normal(24, 5))
    rows.case(name, sentence, ranks=ranks, rank=rank, weight=normal(5, 24))
for kernel in columns, rows:
    kernel.case("square", "as many outputs as inputs, as wo has: both axes could be cut", ranks=2, rank=1, weight=normal(12, 12))
    kernel.case("first_of_two", "rank 0, whose part every mistake of place gets right", ranks=2, rank=0, weight=normal(8, 8))


# --- Heads ---------------------------------------------------------------------------------------------------

def heads(ranks, rank, H, KV, kept, qkv, of_q=None, of_kv=None):
    q, k, v = qkv.split([H, KV, KV])
    of_q = own(H, ranks, rank) if of_q is None else of_q
    of_kv = torch.unique(own(H, ranks, rank) // (H // KV)) if of_kv is None else of_kv
    return torch.cat([q[of_q], k[of_kv], v[of_kv]]) if len(of_kv) == kept else None


def pytorch_heads(ranks, rank, H, KV, kept, qkv):
    """Each rank's by itself: keys and values are repeated first where there are more ranks than heads of them."""
    q, k, v = qkv.split([H, KV, KV])
    k, v = (x.repeat_interleave(max(ranks // KV, 1), 0) for x in (k, v))
    return torch.cat([torch.chunk(x, ranks)[rank] for x in (q, k, v)])


fused = Kernel("shard_heads", CHAPTER, "torch.chunk of each of the three matrices", pytorch=pytorch_heads, formula=heads, exact=True)
fused.wrong("fused_halved", "You cut the fused matrix as if it were one: the first ranks get queries alone, the last ones keys and "
            "values. Cut queries, keys and values each by itself",
            lambda ranks, rank, H, KV, kept, qkv: qkv[rank * (count := H // ranks + 2 * kept):][:count]
            if (rank + 1) * (H // ranks + 2 * kept) <= H + 2 * KV else None)
fused.wrong("every_rank_shard_0", FIRST, lambda ranks, rank, H, KV, kept, qkv:
            heads(ranks, rank, H, KV, kept, qkv, own(H, ranks, 0), torch.arange(kept)))
fused.wrong("queries_by_rank_alone", "Your queries begin at head `rank`. They begin at rank H / ranks", lambda ranks, rank, H, KV, kept, qkv:
            heads(ranks, rank, H, KV, kept, qkv, torch.arange(rank, rank + H // ranks)))
fused.wrong("interleaved", INTERLEAVED.format("heads") + ", with the keys and values that they read",
            lambda ranks, rank, H, KV, kept, qkv: heads(ranks, rank, H, KV, kept, qkv, torch.arange(rank, H, ranks)))
fused.wrong("keys_of_rank_0", "Your queries are this rank's, your keys and values rank 0's. Query head h reads h / (H / KV)",
            lambda ranks, rank, H, KV, kept, qkv: heads(ranks, rank, H, KV, kept, qkv, None, torch.arange(kept)))
fused.wrong("keys_in_turn", "You give keys and values out in turn, rank % KV. Those that a rank's queries read: h / (H / KV)",
            lambda ranks, rank, H, KV, kept, qkv: heads(ranks, rank, H, KV, kept, qkv, None, (torch.arange(kept) * ranks + rank) % KV))
fused.wrong("values_before_keys", "Your values stand before the keys. In the fused matrix keys come first",
            lambda ranks, rank, H, KV, kept, qkv: heads(ranks, rank, H, KV, kept, qkv)[
                torch.cat([torch.arange(n := H // ranks), torch.arange(n + kept, n + 2 * kept), torch.arange(n, n + kept)])])
fused.wrong("keys_and_values_in_turn", "Your keys and values stand in turn, each key before its value. All keys come first, then all values",
            lambda ranks, rank, H, KV, kept, qkv: heads(ranks, rank, H, KV, kept, qkv)[
                torch.cat([torch.arange(n := H // ranks), n + torch.arange(2 * kept).reshape(2, kept).T.flatten()])])
fused.wrong("keys_for_values", "Your values are the keys once more", lambda ranks, rank, H, KV, kept, qkv:
            heads(ranks, rank, H, KV, kept, torch.cat([qkv[:H + KV], qkv[H:H + KV]])))
fused.wrong("values_of_rank_0", "Your queries and keys are this rank's, your values rank 0's. Query head h reads h / (H / KV) of both",
            lambda ranks, rank, H, KV, kept, qkv: torch.cat([heads(ranks, rank, H, KV, kept, qkv)[:H // ranks + kept],
                                                             qkv[H + KV:H + KV + kept]]))
fused.wrong("keys_behind_the_part", "Your keys begin behind H / ranks queries, as in the part. In the whole matrix all H queries come first",
            lambda ranks, rank, H, KV, kept, qkv: torch.cat([
                heads(ranks, rank, H, KV, kept, qkv)[:H // ranks],
                *(qkv[begin + own(H, ranks, rank)[0] // (H // KV):][:kept] for begin in (H // ranks, H // ranks + KV))]))
fused.wrong("key_head_of_the_rank", "Your key head is that of the rank's own number, and the last one where there is none. Query head h reads h / (H / KV)",
            lambda ranks, rank, H, KV, kept, qkv: heads(ranks, rank, H, KV, kept, qkv, None, (rank * kept + torch.arange(kept)).clamp(max=KV - 1)))
for name, sentence, ranks, rank, H, KV in [
        ("whole", "one rank has all heads", 1, 0, 4, 2), ("half", "two ranks, a key head for each", 2, 1, 4, 2),
        ("half_of_eight", "two ranks with four key heads each", 2, 1, 16, 8), ("third", "rank 2 of 3 with six heads", 3, 2, 6, 3),
        ("replicated", "four ranks and two key heads: ranks 2 and 3 have the same", 4, 2, 8, 2),
        ("replicated_last", "the same, rank 3", 4, 3, 8, 2), ("replicated_second", "the same, rank 1, whose key head is that of rank 0", 4, 1, 8, 2), ("one_for_all", "eight ranks and one key head", 8, 5, 8, 1),
        ("every_head_its_own", "as many key heads as queries", 2, 1, 4, 4), ("rank_0", "rank 0 of 4", 4, 0, 8, 4)]:
    fused.case(name, sentence, ranks=ranks, rank=rank, H=H, KV=KV, kept=max(KV // ranks, 1), qkv=normal(H + 2 * KV, 2, 3))


# --- The vocabulary --------------------------------------------------------------------------------------------

def masked(ranks, rank, V, ids, part, shift=None, outside=0.0, clamp=False):
    """Megatron's: the ids less the first of this rank's, a row for those inside, and zeros."""
    ids = ids.long()
    local = ids - (V * rank // ranks if shift is None else shift)
    inside = (local >= 0) & (local < len(part))
    rows_ = part[local.clamp(0, len(part) - 1)]
    return rows_ if clamp else torch.where(inside[:, None], rows_, torch.full_like(rows_, outside))


def pytorch_masked(ranks, rank, V, ids, part):
    whole = torch.zeros(V, part.shape[1])
    whole[V * rank // ranks:V * (rank + 1) // ranks] = part
    return F_.embedding(ids.long(), whole.to(part.dtype))


vocabulary = Kernel("vocabulary_embedding", CHAPTER, "torch.nn.functional.embedding in a table whose other rows are zeros", exact=True,
                    pytorch=pytorch_masked, formula=masked)
vocabulary.wrong("whole_vocabulary", "You look every id up from the beginning of this rank's part. Subtract its first token",
                 lambda ranks, rank, V, ids, part: masked(ranks, rank, V, ids, part, shift=0))
vocabulary.wrong("no_zeros", "A token of another rank gets the nearest row of yours. It must be zeros: the ranks' rows are added up",
                 lambda ranks, rank, V, ids, part: masked(ranks, rank, V, ids, part, clamp=True))
vocabulary.wrong("first_row", "A token of another rank gets the first row of yours. It must be zeros: the ranks' rows are added up",
                 lambda ranks, rank, V, ids, part: part[torch.where((ids >= V * rank // ranks) & (ids < V * (rank + 1) // ranks),
                                                                    ids - V * rank // ranks, 0).long()])
vocabulary.wrong("modulo", "You take the id modulo the length of the part. Other ranks' tokens are zeros",
                 lambda ranks, rank, V, ids, part: part[ids.long() % len(part)])
vocabulary.wrong("dealt_out", "You take token id for rank id % ranks, in row id / ranks. A rank has neighbours: its tokens begin at V rank / ranks",
                 lambda ranks, rank, V, ids, part: torch.where((ids.long() % ranks == rank)[:, None],
                                                               part[(ids.long() // ranks).clamp(max=len(part) - 1)], 0))
vocabulary.wrong("next_row", "Your rows are one too far: the first token of this rank has row 0",
                 lambda ranks, rank, V, ids, part: masked(ranks, rank, V, ids, part, shift=V * rank // ranks - 1))
vocabulary.wrong("first_token_left_out", "The first token of your part gets zeros. It has row 0: compare with >=, not with >",
                 lambda ranks, rank, V, ids, part: masked(ranks, rank, V, ids, part) * (ids != V * rank // ranks)[:, None])
def next_first_token_too(ranks, rank, V, ids, part):
    """Its row lies behind the part, or is the part's last."""
    return torch.where((ids == V * (rank + 1) // ranks)[:, None], part[-1:], masked(ranks, rank, V, ids, part))


vocabulary.wrong("next_first_token_too", "The first token of the next rank gets a row of yours. It must be zeros: your tokens end before V (rank + 1) / ranks",
                 next_first_token_too)
vocabulary.wrong("last_token_left_out", "The last token of your part gets zeros. It has the last row: your tokens end before V (rank + 1) / ranks",
                 lambda ranks, rank, V, ids, part: masked(ranks, rank, V, ids, part) * (ids != V * (rank + 1) // ranks - 1)[:, None])
vocabulary.wrong("token_0_left_out", "Your token 0 gets zeros, as if it were padding. It has a row like others",
                 lambda ranks, rank, V, ids, part: masked(ranks, rank, V, ids, part) * (ids != 0)[:, None])
vocabulary.wrong("ones_outside", "A token of another rank gets ones. It must be zeros: the ranks' rows are added up",
                 lambda ranks, rank, V, ids, part: masked(ranks, rank, V, ids, part, outside=1.0))
vocabulary.wrong("from_the_end", "An id below this rank's first counts from the end of your part. Other ranks' tokens are zeros",
                 lambda ranks, rank, V, ids, part: (lambda local: torch.where(
                     ((local >= -len(part)) & (local < len(part)))[:, None], part[local % len(part)], 0))(ids.long() - V * rank // ranks))
vocabulary.wrong("by_place", "You look up the place in the text. A token's row is that of its id",
                 lambda ranks, rank, V, ids, part: masked(ranks, rank, V, torch.arange(len(ids)), part))
for name, sentence, ranks, rank in CUTS:
    vocabulary.case(name, sentence, ranks=ranks, rank=rank, V=24, part=normal(24 // ranks, 3),
                    ids=torch.tensor([7, 15, 16, 3, 23, 8, 0, 11, 12, 17, 15, 18, 14], dtype=torch.int32))


def best(ranks, V, largest, place, first=None, choose=None):
    rank = (choose or (lambda x: int(torch.argmax(x))))(largest)
    begins = parts(V, ranks)[rank] if first is None else first(rank)
    return torch.tensor([float(begins + int(place[rank]))])


# The parts' own logits are made up so that each says this: the same token as the whole row's.
def pytorch_best(ranks, V, largest, place):
    logits = torch.full((V,), -torch.inf)
    for rank, begin in enumerate(parts(V, ranks)[:-1]):
        logits[begin + int(place[rank])] = largest[rank]
    return torch.argmax(logits)[None].to(largest.dtype)


largest = Kernel("vocab_parallel_argmax", CHAPTER, "torch.argmax of the whole row", pytorch=pytorch_best, formula=best, exact=True)
largest.wrong("place_in_the_part", "You return the place in the part. Add the first token of that rank's part",
              lambda ranks, V, largest, place: best(ranks, V, largest, place, first=lambda rank: 0))
largest.wrong("even_parts", "You take all parts for V / ranks long, rounded down. Rank r begins at V r / ranks",
              lambda ranks, V, largest, place: best(ranks, V, largest, place, first=lambda rank: rank * (V // ranks)))
largest.wrong("parts_rounded_up", "You take all parts for V / ranks long, rounded up, as torch.chunk does. Rank r begins at V r / ranks",
              lambda ranks, V, largest, place: best(ranks, V, largest, place, first=lambda rank: rank * -(-V // ranks)))
largest.wrong("first_parts_longer", "You give the tokens that are left over to the first ranks, as numpy.array_split does. Rank r begins at V r / ranks",
              lambda ranks, V, largest, place: best(ranks, V, largest, place,
                                                    first=lambda rank: rank * (V // ranks) + min(rank, V % ranks)))
largest.wrong("parts_rounded", "You round V r / ranks to the nearest. It is rounded down, as a division of whole numbers is",
              lambda ranks, V, largest, place: best(ranks, V, largest, place, first=lambda rank: math.floor(rank * V / ranks + 0.5)))
largest.wrong("smallest", "You take the smallest logit. It is the largest", lambda ranks, V, largest, place:
              best(ranks, V, largest, place, choose=lambda x: int(torch.argmin(x))))
largest.wrong("cut_to_whole_numbers", "You compare logits as whole numbers. They are floats", lambda ranks, V, largest, place:
              best(ranks, V, largest, place, choose=lambda x: int(torch.argmax(x.trunc()))))
largest.wrong("last_of_equals", "Of equal logits you take the last rank's. It is the first token: compare with >, not with >=",
              lambda ranks, V, largest, place: best(ranks, V, largest, place, choose=lambda x: len(x) - 1 - int(torch.argmax(x.flip(0)))))
largest.wrong("largest_magnitude", "You compare magnitudes. A logit may be negative", lambda ranks, V, largest, place:
              best(ranks, V, largest, place, choose=lambda x: int(torch.argmax(x.abs()))))
largest.wrong("rank_0_alone", "You take rank 0's. All ranks' must be compared", lambda ranks, V, largest, place:
              best(ranks, V, largest, place, choose=lambda x: 0))
largest.wrong("above_zero", "You begin with 0 as the largest so far. All logits may be negative: begin with rank 0's",
              lambda ranks, V, largest, place: best(ranks, V, largest, place, choose=lambda x: int(torch.argmax(x)) if x.max() > 0 else 0))
largest.wrong("rank_returned", "You return the rank that has the largest. Add its place there to that rank's first token",
              lambda ranks, V, largest, place: torch.argmax(largest)[None].to(largest.dtype))
largest.wrong("rank_added", "You add the rank to the place. Add the first token of that rank's part, V rank / ranks",
              lambda ranks, V, largest, place: best(ranks, V, largest, place, first=lambda rank: rank))
largest.wrong("dealt_out", "You take place p of rank r for token p ranks + r. A rank has neighbours: its tokens begin at V r / ranks",
              lambda ranks, V, largest, place: best(ranks, V, largest, place * ranks, first=lambda rank: rank))
largest.wrong("place_of_rank_0", "You add rank 0's place to the first token of the best rank. Add the best rank's own",
              lambda ranks, V, largest, place: best(ranks, V, largest, place[:1].expand_as(place)))
for name, sentence, V, values, places in [
        ("alone", "one rank", 64, [2.5], [17]), ("second", "the second of two", 64, [2.5, 3.5], [17, 4]),
        ("first", "the first of two", 64, [4.5, 3.5], [17, 4]), ("uneven", "65 tokens among 4 ranks", 65, [1, 2, 3, 2.5], [3, 5, 7, 9]),
        ("uneven_eight", "1027 tokens among 8", 1027, [1, 2, 3, 2.5, 0, 9, 7, 8], [3, 5, 7, 9, 11, 13, 15, 17]),
        ("equal", "two that are equal", 64, [1, 6, 6, 2], [3, 5, 7, 9]), ("negative", "all negative", 64, [-3, -1, -2, -7], [3, 5, 7, 9]),
        ("fractions", "three between 2 and 3", 64, [2.25, 2.75, 2.5], [3, 5, 7]),
        ("nearly_equal", "the third is larger than the second by one unit in the last place", 64, [1, 6, 6.0000005, 2], [3, 5, 7, 9]),
        ("far_below", "all far below what a search might begin with", 64, [-3e38, -2e38, -1e38], [3, 5, 7]),
        ("three", "three ranks, the last is the largest, and its neighbour the largest magnitude", 64, [1, -8, 5], [3, 5, 7])]:
    largest.case(name, sentence, V=V, ranks=len(values), largest=[float(v) for v in values],
                 place=torch.tensor(places, dtype=torch.int32))


# --- Half a layer ------------------------------------------------------------------------------------------------

def gated(normed, gate, up, down, bent=F_.silu):
    return F_.linear(bent(F_.linear(normed, gate)) * F_.linear(normed, up), down)


def parallel(ranks, x, normed, gate, up, down, stream=lambda ranks, x: x, of_columns=None, of_rows=None, total=lambda deltas: sum(deltas),
             down_of=None, up_of=None, read="normed", swapped=False, bent=F_.silu):
    width = len(gate)
    deltas = []
    for rank in range(ranks):
        of_gate = own(width, ranks, rank) if of_columns is None else which(of_columns, width, ranks, rank)
        of_down = own(width, ranks, rank) if of_rows is None else which(of_rows, width, ranks, rank)
        part = down[:, of_down] if down_of is None else down_of(down, ranks, rank)
        gates = (up, gate) if swapped else (gate, up)
        of_up = of_gate if up_of is None else which(up_of, width, ranks, rank)
        deltas.append(gated(x if read == "x" else normed, gates[0][of_gate], gates[1][of_up], part, bent))
    return stream(ranks, x) + total(deltas)


whole = Kernel("parallel_feed_forward", CHAPTER, "LlamaMLP of transformers on the whole matrices, plus the residual",
               pytorch=lambda ranks, x, normed, gate, up, down: x + gated(normed, gate, up, down), formula=parallel)


def wrong(name, advice, **change):
    whole.wrong(name, advice, lambda ranks, **inputs: parallel(ranks, **inputs, **change))


def halved(deltas):
    """A tree: the second half is added to the first, until one is left."""
    while len(deltas) > 1:
        half = len(deltas) // 2
        deltas = [deltas[rank] + deltas[rank + half] for rank in range(half)]
    return deltas[0]


wrong("residual_of_every_rank", "Every rank adds the stream x, and the sum has it `ranks` times. Add up what the ranks make, and add "
      "that to x once", stream=lambda ranks, x: ranks * x)
wrong("no_residual", "The stream x is missing: out is x plus the sum over the ranks", stream=lambda ranks, x: 0 * x)
wrong("sum_forgotten", "You have rank 0's share alone: the sum over the ranks is missing", total=lambda deltas: deltas[0])
wrong("last_rank_alone", "You have the last rank's share alone. Add to out, in place of writing it anew for each rank",
      total=lambda deltas: deltas[-1])
wrong("last_rank_left_out", "The last rank's share is missing. Add up all ranks', 0 .. ranks - 1", total=lambda deltas: sum(deltas[:-1]))
wrong("summed_twice", "The sum over the ranks is taken twice, and each adds what is whole already: the result is `ranks` times too "
      "large", total=lambda deltas: len(deltas) * sum(deltas))
wrong("mean", "You take the mean over the ranks. It is their sum", total=lambda deltas: sum(deltas) / len(deltas))
wrong("every_rank_shard_0", "Every rank has the first part of all matrices. Rank r's begins at r F / ranks", of_columns="first",
      of_rows="first")
wrong("up_of_rank_0", "Every rank has the first part of up, beside its own part of gate. Both begin at r F / ranks", up_of="first")
wrong("up_of_the_next_rank", "Your parts of gate and up are of different ranks. Both begin at r F / ranks", up_of="behind")
wrong("up_of_the_last_rank", "Every rank has the last part of up, beside its own part of gate. Both begin at r F / ranks", up_of="last")
wrong("up_of_the_ranks_reversed", "Your parts of up are in the reverse order of the ranks, those of gate are not. Both begin at r F / ranks",
      up_of="reversed")
wrong("down_of_rank_0", "Every rank has the first part of down. It must belong to the hidden features that this rank has made",
      of_rows="first")
wrong("interleaved_down", "Your columns of down are dealt out in turn, those of gate and up follow each other: they do not belong "
      "together", of_rows="interleaved")
whole.wrong("normed_for_x", "Your normalized rows are added to. It is the stream x: out is x plus the sum over the ranks",
            lambda ranks, x, normed, **matrices: parallel(ranks, x=normed, normed=normed, **matrices))
wrong("x_for_normed", "Your gate and up read the stream x. They read the normalized rows; x is what is added to",
      read="x")
wrong("gate_and_up_swapped", "Your gate and up are swapped: silu is of what the gate makes, and not of up's", swapped=True)
wrong("down_along_the_other_axis", "Your down is cut along its outputs. Cut it along its inputs, the hidden features",
      down_of=lambda down, ranks, rank: down[own(len(down), ranks, rank)].reshape(len(down), -1))


wrong("tree_of_powers_of_two", "Your sum folds the ranks in halves, and loses what is left over of an odd number. Add up all ranks', whatever their number",
      total=halved)
for kept, bits in (torch.bfloat16, 8), (torch.float16, 11):
    name = str(kept).removeprefix("torch.")
    wrong(f"shares_in_{name}", f"Your ranks' shares are rounded to {name}, {bits} bits, before they are added up. Add up float32",
          total=lambda deltas, kept=kept: sum(delta.to(kept).to(delta.dtype) for delta in deltas))
wrong("gate_not_bent", "Your gate is not bent. It is silu(gate) times up", bent=lambda x: x)
wrong("sigmoid_for_silu", "Your gate is bent by the sigmoid alone. It is silu(gate) = gate sigmoid(gate)", bent=torch.sigmoid)


def layer(T, C, F):
    return dict(x=normal(T, C), normed=normal(T, C), gate=normal(F, C, scale=C**-0.5), up=normal(F, C, scale=C**-0.5),
                down=normal(C, F, scale=F**-0.5))


for name, sentence, ranks, T, C, F in [
        ("whole", "one rank", 1, 2, 6, 24), ("two", "two ranks", 2, 3, 8, 24), ("three", "three ranks", 3, 2, 6, 24),
        ("four", "four ranks", 4, 2, 8, 24), ("eight", "eight ranks", 8, 2, 8, 24), ("token", "one token", 2, 1, 16, 32),
        ("wide", "more features and tokens than most cases have", 4, 9, 40, 96)]:
    whole.case(name, sentence, ranks=ranks, **layer(T, C, F))
