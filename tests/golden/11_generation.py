"""Chapter 11: the logits processors of transformers, each by itself."""
import numpy as np
import torch
from transformers.generation.logits_process import (
    MinPLogitsWarper, RepetitionPenaltyLogitsProcessor, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper)

from golden import Kernel, normal

CHAPTER = "11_generation"
INF = np.inf


def source(processor):
    return f"transformers.generation.logits_process.{processor.__name__}"


def ruled_out(logits, keep):
    return torch.where(keep, logits, -INF)


def place(order):
    """Where each token stands in this order of the tokens."""
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order))
    return place


def rank(logits):
    """0 for the likeliest; of equal ones the later goes first."""
    return place(torch.sort(logits, stable=True)[1].flip(0))


def rank_of_the_first(logits):
    """The same, but of equal ones the earlier goes first."""
    return place(torch.sort(logits, stable=True, descending=True)[1])


def before(logits, rank=rank):
    """What the likelier tokens' probabilities add up to."""
    place, probability = rank(logits), logits.softmax(0)
    return torch.stack([probability[place < place[v]].sum() for v in range(len(logits))])


def before_by(logits, amount):
    """What the likelier tokens have of another amount, together."""
    place = rank(logits)
    return torch.stack([amount[place < place[v]].sum() for v in range(len(logits))])


def before_of_the_least(logits):
    """What the less likely tokens' probabilities add up to."""
    place, probability = rank(-logits), logits.softmax(0)
    return torch.stack([probability[place < place[v]].sum() for v in range(len(logits))])


def mistakes_of_a_cut(kernel, share):
    """What can go wrong in any kernel that rules tokens out, whichever they are; share: what it is cut by, k or p."""
    def wrong(name, advice, change):
        """change(logits, cut), cut as it should be."""
        kernel.wrong(name, advice, lambda logits, **cut: change(logits, kernel.formula(logits, **cut)))

    for name, value in [("zero", 0), ("minus_10000", -1e4), ("minus_65504", -65504), ("minus_1e9", -1e9), ("minus_1e10", -1e10),
                        ("minus_1e30", -1e30), ("lowest_float", torch.finfo(torch.float32).min)]:
        wrong(name, "What you rule out gets 0, a logit like any other. Give it -infinity" if value == 0 else
              f"What you rule out gets {value:.3g}, which softmax may still give something. Give it -infinity",
              lambda logits, cut, value=value: torch.where(cut > -INF, logits, value))
    wrong("renormalized", "Your output are probabilities. What is wanted are the logits, -infinity where ruled out",
          lambda logits, cut: cut.softmax(0))
    wrong("probabilities",
          "Your output are the probabilities of all tokens, 0 where ruled out. What is wanted are the logits",
          lambda logits, cut: torch.where(cut > -INF, logits.softmax(0), 0))
    wrong("log_renormalized", "Your output are logarithms of probabilities. What is wanted are the logits, -infinity where ruled out",
          lambda logits, cut: cut.log_softmax(0))
    wrong("moved_up", "What you keep stands at the front. Each token keeps its place, and what is ruled out is -infinity there",
          lambda logits, cut: torch.cat([logits[cut > -INF], torch.full_like(logits[cut == -INF], -INF)]))
    wrong("sorted", "Your logits are left sorted. Write each back to its own token",
          lambda logits, cut: cut.sort(descending=True)[0])
    wrong("place_for_token",
          "Your cut is at a place in the sorted order, and you rule out the tokens of those numbers. Look up which "
          "token stands there",
          lambda logits, cut: ruled_out(logits, torch.arange(len(logits)) < (cut > -INF).sum()))
    wrong("nothing_ruled_out", f"You rule out nothing. Look at {share}", lambda logits, cut: logits)


# --- Repetition penalty ------------------------------------------------------------------------------------

def seen(logits, ids):
    mask = torch.zeros(len(logits), dtype=torch.bool)
    mask[ids.long()] = True
    return mask


def how_often(logits, ids):
    return torch.bincount(ids.long(), minlength=len(logits))


def penalty_of(logits, ids, penalty):
    return torch.where(seen(logits, ids), torch.where(logits < 0, logits * penalty, logits / penalty), logits)


penalty = Kernel(
    "repetition_penalty", CHAPTER, source(RepetitionPenaltyLogitsProcessor),
    lambda logits, ids, penalty: RepetitionPenaltyLogitsProcessor(penalty)(ids.long()[None], logits[None].clone())[0],
    penalty_of)

penalty.wrong("negative_divided",
              "Your negative logits are divided, which makes their tokens likelier. Multiply them",
              lambda logits, ids, penalty: torch.where(seen(logits, ids), logits / penalty, logits))
penalty.wrong("once_each_time",
              "Your penalty counts a token as often as it stands in the text. It counts once",
              lambda logits, ids, penalty: torch.where(
                  logits < 0, logits * penalty ** how_often(logits, ids), logits / penalty ** how_often(logits, ids)))
penalty.wrong("subtracted",
              "Your penalty is subtracted, as a presence penalty is. Divide or multiply",
              lambda logits, ids, penalty: torch.where(seen(logits, ids), logits - penalty, logits))
penalty.wrong("subtracted_less_one",
              "Your penalty, less 1, is subtracted, as a presence penalty is. Divide or multiply",
              lambda logits, ids, penalty: torch.where(seen(logits, ids), logits - (penalty - 1), logits))
penalty.wrong("all_tokens",
              "Your penalty falls on all tokens. It falls on those that are among the ids",
              lambda logits, ids, penalty: torch.where(logits < 0, logits * penalty, logits / penalty))
penalty.wrong("other_direction",
              "Your penalty rewards: positive logits are multiplied and negative ones divided. It is the other way round",
              lambda logits, ids, penalty: torch.where(
                  seen(logits, ids), torch.where(logits < 0, logits / penalty, logits * penalty), logits))

penalty.wrong("negative_left",
              "Your negative logits are left as they are. Multiply them, as positive ones are divided",
              lambda logits, ids, penalty: torch.where(seen(logits, ids) & (logits > 0), logits / penalty, logits))
penalty.wrong("multiplied",
              "Your logits are all multiplied. Divide the positive ones",
              lambda logits, ids, penalty: torch.where(seen(logits, ids), logits * penalty, logits))
penalty.wrong("subtracted_each_time",
              "Your penalty is subtracted as often as the token stands in the text, as a frequency penalty is. "
              "Divide or multiply",
              lambda logits, ids, penalty: logits - penalty * how_often(logits, ids))
penalty.wrong("logarithm_subtracted",
              "Your penalty divides the probability: log(penalty) off the logit. Divide or multiply the logit itself",
              lambda logits, ids, penalty: torch.where(seen(logits, ids), logits - np.log(penalty), logits))
penalty.wrong("token_0_left_out", "Your token 0 is never penalized, as if it were padding. It is a token like others",
              lambda logits, ids, penalty: torch.where(seen(logits, ids[ids != 0]), penalty_of(logits, ids, penalty), logits))
penalty.wrong("last_id_left_out",
              "You leave the last id out. Look at all n",
              lambda logits, ids, penalty: penalty_of(logits, ids[:-1], penalty))
penalty.wrong("first_id_left_out",
              "You leave the first id out. Look at all n",
              lambda logits, ids, penalty: penalty_of(logits, ids[1:], penalty))
penalty.wrong("last_id_alone",
              "You look at the last id alone. Look at all n",
              lambda logits, ids, penalty: penalty_of(logits, ids[-1:], penalty))
penalty.wrong("place_for_token",
              "You punish tokens 0 .. n - 1, the places in the text. Punish the tokens ids[i] that stand there",
              lambda logits, ids, penalty: penalty_of(logits, torch.arange(min(len(ids), len(logits))), penalty))
penalty.wrong("ignored",
              "Your penalty changes nothing. Divide or multiply the logits of the ids",
              lambda logits, ids, penalty: logits)

penalty.wrong("log_softmax_first", "Your penalty falls on log-probabilities. It falls on the logits as they are",
              lambda logits, ids, penalty: penalty_of(logits.log_softmax(0), ids, penalty))
penalty.wrong("maximum_subtracted_first", "Your maximum is subtracted before the penalty falls. That is softmax's, which follows",
              lambda logits, ids, penalty: penalty_of(logits - logits.max(), ids, penalty))
penalty.wrong("only_above_one", "Your penalty does nothing below 1. There it rewards: divide and multiply as ever",
              lambda logits, ids, penalty: penalty_of(logits, ids, max(penalty, 1)))
penalty.wrong("others_left_out", "Your other tokens have the logit 0. Those that are not among the ids keep their logits",
              lambda logits, ids, penalty: torch.where(seen(logits, ids), penalty_of(logits, ids, penalty), 0))

ids = lambda *numbers: torch.tensor(numbers, dtype=torch.int32)
penalty.case("by_hand", "Token 0 twice, token 3 once; a positive and a negative one.", logits=[2, 1, 0.5, -1],
             ids=ids(0, 3, 0), penalty=2.0)
penalty.case("zero", "A logit of zero stays zero.", logits=[0, -0.0, 3, -3], ids=ids(0, 1, 2), penalty=1.5)
penalty.case("some", "300 tokens, 8 of them seen.", logits=normal(300), ids=ids(5, 17, 5, 290, 0, 299, 120, 33, 5, 64), penalty=1.3)
penalty.case("below_one", "A penalty below 1 invites repetition.", logits=normal(40), ids=ids(1, 2, 3, 39), penalty=0.8)
penalty.case("ruled_out", "A token that is ruled out stays so.", logits=[-INF, 1, -INF, -2], ids=ids(0, 1, 3), penalty=1.2)

# --- Temperature -------------------------------------------------------------------------------------------

temperature = Kernel("temperature", CHAPTER, source(TemperatureLogitsWarper),
                     lambda logits, T: TemperatureLogitsWarper(T)(None, logits[None])[0],
                     lambda logits, T: logits / T)
temperature.wrong("multiplied", "Your logits are multiplied by T. Divide by it", lambda logits, T: logits * T)
temperature.wrong("probabilities",
                  "Your output are probabilities, softmax(logits / T). What is wanted are the logits / T",
                  lambda logits, T: (logits / T).softmax(0))
temperature.wrong("root", "Your divisor is sqrt(T). It is T", lambda logits, T: logits / T**0.5)
temperature.wrong("ignored", "Your T changes nothing. Divide the logits by it", lambda logits, T: logits)
temperature.wrong("maximum_subtracted",
                  "Your largest logit is 0: the maximum is subtracted. That is softmax's, which follows",
                  lambda logits, T: (logits - logits.max()) / T)
temperature.wrong("squared", "Your divisor is T^2. Divide once", lambda logits, T: logits / T / T)
temperature.wrong("never_below_one", "Your T is 1 where it should be less. A cold text wants T < 1",
                  lambda logits, T: logits / max(T, 1))
temperature.wrong("subtracted", "Your T is subtracted. Divide by it", lambda logits, T: logits - T)
temperature.wrong("one_more", "Your divisor is 1 + T. It is T", lambda logits, T: logits / (1 + T))
temperature.wrong("never_above_one", "Your T is 1 where it should be more. A hot text wants T > 1",
                  lambda logits, T: logits / min(T, 1))
temperature.wrong("log_probabilities",
                  "Your output are log-probabilities, log softmax(logits / T). What is wanted are the logits / T",
                  lambda logits, T: (logits / T).log_softmax(0))
temperature.wrong("positive_alone", "Your negative logits are multiplied by T, as by a repetition penalty. Divide all of them",
                  lambda logits, T: torch.where(logits < 0, logits * T, logits / T))
temperature.case("by_hand", "T = 2 halves.", logits=[4, 2, 0, -2], T=2.0)
temperature.case("cold", "T = 0.1.", logits=normal(50), T=0.1)
temperature.case("usual", "T = 0.8.", logits=normal(300, scale=4), T=0.8)
temperature.case("hot", "T = 3.", logits=normal(50, scale=10), T=3.0)
temperature.case("ruled_out", "-infinity stays so.", logits=[-INF, 1, 2, -INF], T=0.5)

# --- top-k -------------------------------------------------------------------------------------------------

top_k = Kernel("top_k", CHAPTER, source(TopKLogitsWarper),
               lambda logits, k: TopKLogitsWarper(k)(None, logits[None])[0],
               lambda logits, k: ruled_out(logits, logits >= logits.sort(descending=True)[0][min(k, len(logits)) - 1]))


def kept_by_rank(logits, k):
    return ruled_out(logits, rank(logits) < k)


top_k.wrong("one_less", "Your k is one too small: the k-th largest is kept, too",
            lambda logits, k: kept_by_rank(logits, k - 1) if k > 1 else None)
top_k.wrong("one_more", "Your k is one too large", lambda logits, k: kept_by_rank(logits, k + 1))
top_k.wrong("ties_dropped", "Your cut falls between equal logits. All that equal the k-th largest are kept", kept_by_rank)
top_k.wrong("smallest", "Your k are the smallest. Keep the largest", lambda logits, k: -kept_by_rank(-logits, k))
top_k.wrong("by_size",
            "Your k are the largest in absolute value. A negative logit is a small one",
            lambda logits, k: ruled_out(logits, rank(logits.abs()) < k))
mistakes_of_a_cut(top_k, "k")
top_k.wrong("exchanged", "You rule out what is to be kept, and keep the rest",
            lambda logits, k: ruled_out(logits, top_k.formula(logits, k) == -INF))
top_k.wrong("first_of_equals_kept",
            "Your cut falls between equal logits: the first ones stay. All that equal the k-th largest are kept",
            lambda logits, k: ruled_out(logits, rank_of_the_first(logits) < k))
top_k.wrong("larger_than_the_least", "You keep what is larger than the k-th largest, and not that itself. Write >=",
            lambda logits, k: ruled_out(logits, logits > logits.sort(descending=True)[0][min(k, len(logits)) - 1]))
top_k.wrong("equals_count_once", "Your k counts equal logits as one. The k-th largest of 3, 2, 2 is 2 for k = 3",
            lambda logits, k: ruled_out(logits, logits >= logits.unique().flip(0)[min(k, len(logits.unique())) - 1]))
top_k.wrong("likeliest_alone", "Your likeliest stays alone, whatever k is. Keep the k largest",
            lambda logits, k: ruled_out(logits, logits == logits.max()))
top_k.case("by_hand", "The two largest of five.", logits=[1, 4, 2, 3, -5], k=2)
top_k.case("ties", "Three are second: all are kept.", logits=[1, 2, 3, 2, 2, -5], k=2)
top_k.case("ties_and_more", "The fourth largest is 2, and so is another.", logits=[2, 5, 2, 4, 1, 2], k=4)
top_k.case("one", "k = 1: greedy.", logits=normal(30), k=1)
top_k.case("usual", "50 of 300.", logits=normal(300), k=50)
top_k.case("all", "k is larger than the vocabulary: nothing changes.", logits=normal(9), k=50)
top_k.case("ruled_out", "Some are ruled out already.", logits=[-INF, 3, -INF, 1, 2, 0], k=3)
top_k.case("negative", "All are negative.", logits=normal(20, shift=-9), k=4)

# --- top-p -------------------------------------------------------------------------------------------------

top_p = Kernel("top_p", CHAPTER, source(TopPLogitsWarper),
               lambda logits, p: TopPLogitsWarper(p)(None, logits[None])[0],
               lambda logits, p: ruled_out(logits, (before(logits) < p) | (rank(logits) == 0)))
top_p.wrong("zero_switches_off", "At p = 0 you keep all tokens. There the likeliest alone stays",
            lambda logits, p: logits if p == 0 else ruled_out(logits, (before(logits) < p) | (rank(logits) == 0)))
top_p.wrong("crossing_dropped",
            "Your set stops before it reaches p. The token that crosses p is kept, too",
            lambda logits, p: ruled_out(logits, (before(logits) + logits.softmax(0) < p) | (rank(logits) == 0)))
top_p.wrong("each_above_p",
            "Your p is compared with each probability. Add them up, the largest first",
            lambda logits, p: ruled_out(logits, (logits.softmax(0) >= p) | (rank(logits) == 0)))
top_p.wrong("unlikely_first",
            "Your sum begins with the least likely. Begin with the likeliest",
            lambda logits, p: ruled_out(logits, before(-logits) < p))
top_p.wrong("not_sorted", "Your sum runs in the order of the tokens. Sort them first",
            lambda logits, p: ruled_out(logits, logits.softmax(0).cumsum(0) - logits.softmax(0) < p))
top_p.wrong("min_p", "Your p is a share of the largest probability, as in min-p. Here probabilities are added up to p",
            lambda logits, p: ruled_out(logits, logits.softmax(0) >= p * logits.softmax(0).max()))
top_p.wrong("logits_added_up", "Your sum is of the logits themselves. Add up probabilities, softmax(logits)",
            lambda logits, p: ruled_out(logits, (before_by(logits, logits) < p) | (rank(logits) == 0)))
top_p.wrong("exponentials_added_up", "Your sum is of e^logit. Divide each by the sum of all: add up probabilities",
            lambda logits, p: ruled_out(logits, (before_by(logits, logits.exp()) < p) | (rank(logits) == 0)))
top_p.wrong("least_likely_first", "Your sum begins with the least likely, of which one is always kept. Begin with the likeliest",
            lambda logits, p: ruled_out(logits, (before_of_the_least(logits) < p) | (rank(-logits) == 0)))
mistakes_of_a_cut(top_p, "p")
top_p.wrong("exchanged", "You rule out what is to be kept, and keep the rest",
            lambda logits, p: ruled_out(logits, top_p.formula(logits, p) == -INF))
top_p.wrong("first_of_equals_kept",
            "Of equal tokens you keep the earlier. Here the later goes first, as where transformers' sort is stable",
            lambda logits, p:
                ruled_out(logits, (before(logits, rank_of_the_first) < p) | (rank_of_the_first(logits) == 0)))
top_p.wrong("equals_all_kept",
            "You keep all that equal the last one kept. The set ends where p is reached, if need be between equal ones",
            lambda logits, p: ruled_out(logits, logits >= logits[(before(logits) < p) | (rank(logits) == 0)].min()))
top_p.wrong("at_p_too",
            "Your set goes on where it has reached p exactly. Stop there: a token stays if less than p is before it",
            lambda logits, p: ruled_out(logits, before(logits) <= p))
top_p.wrong("one_more", "Your set goes on for one token after p is reached. Stop there",
            lambda logits, p: ruled_out(logits, rank(logits) <= ((before(logits) < p) | (rank(logits) == 0)).sum()))
top_p.wrong("rest_of_p", "Your set stops at 1 - p. It goes on until p is reached",
            lambda logits, p: ruled_out(logits, (before(logits) < 1 - p) | (rank(logits) == 0)))
top_p.wrong("likeliest_alone",
            "Your likeliest stays alone: its e^(logit - max) is 1 already. Divide by the sum before you add up",
            lambda logits, p: ruled_out(logits, rank(logits) == 0))
top_p.wrong("top_50_first", "Your set is one of the 50 likeliest, as where top-k of 50 comes first. It is one of all tokens",
            lambda logits, p: top_p.formula(top_k.formula(logits, 50), p))
top_p.wrong("nothing_left", "At p = 0 you rule out everything. One token is always kept, the likeliest",
            lambda logits, p: ruled_out(logits, before(logits) < p))
top_p.case("by_hand", "Probabilities 0.5, 0.25, 0.15, 0.1, in another order; p = 0.8 takes three.",
           logits=lambda random: np.log([0.15, 0.5, 0.1, 0.25]), p=0.8)
top_p.case("first_suffices", "One token has more than p.", logits=[1, 9, 2, 3], p=0.5)
top_p.case("p_0", "p = 0: the likeliest is kept all the same.", logits=[1, 3, 2], p=0.0)
top_p.case("equal", "Four equal ones: the later two have 0.5.", logits=[1, 1, 1, 1], p=0.5)
top_p.case("usual", "p = 0.9 of 300.", logits=normal(300, scale=3), p=0.9)
top_p.case("flat", "Nearly equal ones: many are needed.", logits=normal(200, scale=0.1), p=0.5)
top_p.case("ruled_out", "Some are ruled out already.", logits=[-INF, 1, 1.5, -INF, 0.5, 0], p=0.7)
top_p.case("nearly_all", "p = 0.999.", logits=normal(64, scale=2), p=0.999)

# --- min-p -------------------------------------------------------------------------------------------------

min_p = Kernel("min_p", CHAPTER, source(MinPLogitsWarper),
               lambda logits, p: MinPLogitsWarper(p)(None, logits[None])[0],
               lambda logits, p: ruled_out(logits, (logits - logits.max()).exp() >= p))
min_p.wrong("absolute", "Your p is compared with the probability. It is a share of the largest probability",
            lambda logits, p: ruled_out(logits, (logits.softmax(0) >= p) | (rank(logits) == 0)))
min_p.wrong("not_beside_the_largest", "Your p is compared with e^logit. Divide that by the largest, as e^(logit - max) does",
            lambda logits, p: ruled_out(logits, logits.exp() >= p))
min_p.wrong("of_the_logit", "Your p is a share of the largest logit. It is a share of the largest probability",
            lambda logits, p: ruled_out(logits, logits >= p * logits.max()))
min_p.wrong("top_p", "Your p is a sum of probabilities, as in top-p. Here it is a share of the largest",
            lambda logits, p: ruled_out(logits, before(logits) < p))
min_p.wrong("likely_dropped", "Your comparison is the wrong way round: the likely ones are kept",
            lambda logits, p: ruled_out(logits, (logits - logits.max()).exp() < p))
mistakes_of_a_cut(min_p, "p")
min_p.wrong("equal_to_p_dropped", "You keep what is more than p times as likely. At p times, it is kept, too: write >=",
            lambda logits, p: ruled_out(logits, (logits - logits.max()).exp() > p))
min_p.wrong("first_of_equals_kept", "Of several likeliest you keep one. Whatever is p times as likely is kept",
            lambda logits, p: ruled_out(logits, ((logits - logits.max()).exp() >= p)
                                        & ((logits < logits.max()) | (rank_of_the_first(logits) == 0))))
min_p.wrong("distance_in_logits", "Your p is subtracted from the largest logit. It is a factor: log(p) is added",
            lambda logits, p: ruled_out(logits, logits >= logits.max() - p))
min_p.wrong("log10", "Your p becomes log10(p). The natural logarithm is added: logf(p)",
            lambda logits, p: ruled_out(logits, logits >= logits.max() + np.log10(p)))
min_p.wrong("log2", "Your p becomes log2(p). The natural logarithm is added: logf(p)",
            lambda logits, p: ruled_out(logits, logits >= logits.max() + np.log2(p)))
min_p.wrong("rest_of_p",
            "Your share is 1 - p. It is p",
            lambda logits, p: ruled_out(logits, (logits - logits.max()).exp() >= 1 - p))
min_p.wrong("of_the_first", "Your share is one of the first token's probability. It is one of the largest",
            lambda logits, p: ruled_out(logits, (logits - logits[0]).exp() >= p))
min_p.wrong("of_an_even_share", "Your share is one of 1/V. It is one of the largest probability",
            lambda logits, p: ruled_out(logits, logits.softmax(0) >= p / len(logits)))
min_p.wrong("likeliest_alone", "Your likeliest stays alone, whatever p is. Keep what is p times as likely",
            lambda logits, p: ruled_out(logits, logits == logits.max()))
min_p.wrong("top_a", "Your share is one of the square of the largest probability, as in top-a. It is one of the largest itself",
            lambda logits, p: ruled_out(logits, logits.softmax(0) >= p * logits.softmax(0).max()**2))
min_p.wrong("distance_in_probabilities", "Your p is subtracted from the largest probability. It is a factor",
            lambda logits, p: ruled_out(logits, logits.softmax(0) >= logits.softmax(0).max() - p))
min_p.case("by_hand", "Probabilities 0.5, 0.3, 0.15, 0.05; p = 0.2 asks for 0.1.",
           logits=lambda random: np.log([0.15, 0.5, 0.05, 0.3]), p=0.2)
min_p.case("largest_first", "The likeliest is the first.", logits=[5, 1, 4, 0, 3], p=0.3)
min_p.case("largest_last", "The likeliest is the last.", logits=[3, 0, 4, 1, 5], p=0.3)
min_p.case("p_1", "p = 1 keeps the likeliest, all of them.", logits=[2, 1, 2], p=1.0)
min_p.case("usual", "p = 0.05 of 300.", logits=normal(300, scale=2), p=0.05)
min_p.case("flat", "Nearly equal ones: all are kept.", logits=normal(50, scale=0.1), p=0.3)
min_p.case("peaked", "One is far ahead: it stays alone.", logits=[0, 12, 1, 3], p=0.1)
min_p.case("negative", "All logits are negative.", logits=normal(60, scale=2, shift=-20), p=0.1)
min_p.case("ruled_out", "Some are ruled out already.", logits=[-INF, 3, -INF, 1, 2.5, 0], p=0.4)
