"""Chapter 5: the frequencies of RoPE, the table of cosines and sines, and the rotation in its two layouts.

The references are transformers' own functions, and Meta's. Those that compute in float32 whatever they are
given are spelled out again, operation by operation, to be run in float64 too; golden.py sees to it that the
float32 answer is then transformers' to the bit.
"""
import math
from dataclasses import asdict, dataclass, replace

import numpy as np
import torch
import transformers
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from golden import Kernel, normal

transformers.logging.set_verbosity_error()

CHAPTER = "05_rope"
TRANSFORMERS = f"transformers {transformers.__version__}"
INF, NAN = np.inf, np.nan


# --- The frequencies ---------------------------------------------------------------------------------------

TYPES = "default", "linear", "dynamic", "yarn", "llama3", "longrope"
EVERY_TYPE = DEFAULT, LINEAR, DYNAMIC, YARN, LLAMA3, LONGROPE = range(6)


@dataclass
class Parameters:
    """The head's width, the number of positions in use, and a config.json's; 0 is "not given"."""
    D: int
    length: int
    rope_type: int
    rope_theta: float
    factor: float = 0
    max_position_embeddings: float = 0
    original_max_position_embeddings: float = 0
    low_freq_factor: float = 0
    high_freq_factor: float = 0
    beta_fast: float = 0
    beta_slow: float = 0
    attention_factor: float = 0
    mscale: float = 0
    mscale_all_dim: float = 0
    keep_fractions: float = 0
    short_factor: torch.Tensor = None
    long_factor: torch.Tensor = None


# As transformers computes them, operation by operation.

def default(p):
    return 1 / p.rope_theta ** (torch.arange(0, p.D, 2) / p.D)


def linear(p):
    return default(p) / p.factor


def dynamic(p):
    length = max(p.length, p.max_position_embeddings)
    stretch = p.factor * length / p.max_position_embeddings - (p.factor - 1)
    return default(replace(p, rope_theta=p.rope_theta * stretch ** (p.D / (p.D - 2))))


def yarn(p):
    def pair(turns):
        old = p.original_max_position_embeddings
        return p.D * math.log(old / (turns * 2 * math.pi)) / (2 * math.log(p.rope_theta))

    low, high = pair(p.beta_fast or 32), pair(p.beta_slow or 1)
    if not p.keep_fractions:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, p.D - 1)
    if low == high:
        high += 0.001
    kept = 1 - torch.clamp((torch.arange(p.D // 2) - low) / (high - low), 0, 1)
    powers = p.rope_theta ** (torch.arange(0, p.D, 2) / p.D)
    return 1 / (p.factor * powers) * (1 - kept) + 1 / powers * kept


def llama3(p):
    frequency = default(p)
    low = p.original_max_position_embeddings / p.low_freq_factor
    high = p.original_max_position_embeddings / p.high_freq_factor
    wavelength = 2 * math.pi / frequency
    outer = torch.where(wavelength > low, frequency / p.factor, frequency)
    smooth = ((p.original_max_position_embeddings / wavelength - p.low_freq_factor)
              / (p.high_freq_factor - p.low_freq_factor))
    between = ~(wavelength < high) * ~(wavelength > low)
    return torch.where(between, (1 - smooth) * outer / p.factor + smooth * outer, outer)


def longrope(p):
    factors = p.long_factor if p.length > p.original_max_position_embeddings else p.short_factor
    return 1 / (factors * p.rope_theta ** (torch.arange(0, p.D, 2) / p.D))


def transformers_frequencies(short_factor=None, long_factor=None, **parameters):
    """The very function that a LlamaForCausalLM calls."""
    p = Parameters(**parameters)
    given = {name: number for name, number in asdict(p).items() if number and name not in ("D", "length")}
    if p.rope_type == LONGROPE:
        given |= {"short_factor": short_factor.tolist(), "long_factor": long_factor.tolist()}
    given["rope_type"], given["truncate"] = TYPES[p.rope_type], not given.pop("keep_fractions", 0)
    config = transformers.LlamaConfig(
        hidden_size=p.D, head_dim=p.D, num_attention_heads=1,
        max_position_embeddings=int(given.pop("max_position_embeddings", 2048)), rope_parameters=given)
    functions = ROPE_INIT_FUNCTIONS | {"default": LlamaRotaryEmbedding.compute_default_rope_parameters}
    frequencies, factor = functions[TYPES[p.rope_type]](config, seq_len=p.length)
    return torch.cat([frequencies, torch.tensor([factor])])


# As the lesson derives them: a power of theta, of which a share is kept and the rest divided by the factor.

def exponents(p):
    return 2 * torch.arange(p.D // 2) / p.D


def stretch(p, length):
    return p.factor * length / p.max_position_embeddings - p.factor + 1


def length_or_more(p):
    return max(p.length, p.max_position_embeddings)


def turns(p, frequency, turn=2 * math.pi):
    """How often a pair comes round within the context that the model was first trained with."""
    return p.original_max_position_embeddings * frequency / turn


def share_by_turns(p, frequency, turn=2 * math.pi):
    share = (turns(p, frequency, turn) - p.low_freq_factor) / (p.high_freq_factor - p.low_freq_factor)
    return share.clamp(0, 1)


def share_by_pairs(p, frequency, turn=2 * math.pi):
    def pair(times):
        """The number of the pair that turns so often."""
        return p.D / 2 * math.log(p.original_max_position_embeddings / (times * turn), p.rope_theta)

    first, last = pair(p.beta_fast or 32), pair(p.beta_slow or 1)
    if not p.keep_fractions:
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, p.D - 1)
    return 1 - ((torch.arange(p.D // 2) - first) / (last - first or 0.001)).clamp(0, 1)


def slide_in_wavelengths(p, wavelength):
    longest = p.original_max_position_embeddings / p.low_freq_factor
    shortest = p.original_max_position_embeddings / p.high_freq_factor
    return ((longest - wavelength) / (longest - shortest)).clamp(0, 1)


def share_kept(p, frequency, **more):
    return {YARN: share_by_pairs, LLAMA3: share_by_turns}[p.rope_type](p, frequency, **more)


def by_hand(p, exponents=exponents, share_kept=share_kept):
    theta = p.rope_theta
    if p.rope_type == DYNAMIC:
        theta *= stretch(p, length_or_more(p)) ** (p.D / (p.D - 2))
    frequency = theta ** -exponents(p)
    if p.rope_type == LONGROPE:
        return frequency / (p.long_factor if p.length > p.original_max_position_embeddings else p.short_factor)
    if p.rope_type == LINEAR:
        return frequency / p.factor
    if p.rope_type in (YARN, LLAMA3):
        share = share_kept(p, frequency)
        return share * frequency + (1 - share) * frequency / p.factor
    return frequency


def attention_factor(p):
    """What yarn and longrope multiply cosine and sine by."""
    def mscale(scale):
        return 0.1 * scale * math.log(p.factor) + 1 if p.factor > 1 else 1

    if p.rope_type == LONGROPE:
        sharper = math.sqrt(1 + math.log(p.factor) / math.log(p.original_max_position_embeddings)) if p.factor > 1 else 1
        return p.attention_factor or sharper
    if p.rope_type != YARN:
        return 1
    both = p.mscale and p.mscale_all_dim
    return p.attention_factor or (mscale(p.mscale) / mscale(p.mscale_all_dim) if both else mscale(1))


def on_parameters(frequencies, factor=attention_factor):
    """The output: the frequencies, and last the factor."""
    def output(**parameters):
        p = Parameters(**parameters)
        found = frequencies(p)
        return None if found is None else torch.cat([found, torch.tensor([float(factor(p))])])
    return output


rope_frequencies = Kernel(
    "rope_frequencies", CHAPTER, f"ROPE_INIT_FUNCTIONS in modeling_rope_utils.py of {TRANSFORMERS}",
    pytorch=on_parameters(lambda p: [default, linear, dynamic, yarn, llama3, longrope][p.rope_type](p)),
    formula=on_parameters(by_hand), sums=False)
rope_frequencies.agrees("transformers", transformers_frequencies)


def wrong_frequency(name, types, advice, formula):
    """A mistake that these types can make."""
    rope_frequencies.wrong(name, advice, on_parameters(
        lambda p: formula(p) if p.rope_type in types else None))


rope_frequencies.wrong(
    "attention_factor_ignored",
    "You return 1. Yarn and longrope also scale cosine and sine: return attention_factor, or where it is not given, yarn's "
    "0.1 ln(factor) + 1, longrope's sqrt(1 + ln(factor) / ln(original))",
    on_parameters(lambda p: by_hand(p) if p.rope_type in (YARN, LONGROPE) else None, factor=lambda p: 1))


def wrong_dynamic(name, advice, formula):
    """A mistake that leaves the other types right."""
    rope_frequencies.wrong(name, advice, on_parameters(
        lambda p: formula(p) if p.rope_type == DYNAMIC else by_hand(p)))


def wrong_exponent(name, advice, change):
    wrong_frequency(name, EVERY_TYPE, advice, lambda p: by_hand(p, lambda p: change(exponents(p), p.D)))


def wrong_theta(name, advice, theta):
    wrong_frequency(name, [DYNAMIC], advice,
                    lambda p: by_hand(replace(p, rope_type=DEFAULT, rope_theta=p.rope_theta * theta(p))))


def wrong_share(name, types, advice, share):
    wrong_frequency(name, types, advice, lambda p: by_hand(p, share_kept=share))


wrong_exponent("exponent_i", "Your exponent is -i/D. It is -2i/D: the last of D/2 pairs comes near 1/theta",
               lambda exponent, D: exponent / 2)
wrong_exponent("exponent_4i", "Your exponent is -4i/D. It is -2i/D, or -i/D where i already counts by twos",
               lambda exponent, D: exponent * 2)
wrong_exponent("exponent_ends_at_one", "Your exponent is -2i/(D - 2). It is -2i/D and never quite reaches -1",
               lambda exponent, D: exponent * D / max(D - 2, 1))
wrong_exponent("exponent_of_the_paper",
               "Your exponent is -2(i - 1)/D, of a paper that counts from 1. Counted from 0 it is -2i/D",
               lambda exponent, D: exponent - 2 / D)
wrong_exponent("exponent_positive",
               "Your frequency is theta^(2i/D). The exponent is negative: later pairs are slower",
               lambda exponent, D: -exponent)
wrong_exponent("whole_width",
               "Your exponent is divided by the width of the model, here of 32 heads. Divide by a head's, D",
               lambda exponent, D: exponent / 32)
wrong_exponent("integer_division",
               "Your exponent is a division of integers, 2 * i / D, and that is 0. Write 2.0 * i / D",
               lambda exponent, D: 0 * exponent)
wrong_exponent("exponent_from_one",
               "Your first pair has the exponent -2/D. Pairs count from 0: the first turns by 1 a position",
               lambda exponent, D: exponent + 2 / D)
wrong_frequency("wavelengths", EVERY_TYPE,
                "Your numbers are wavelengths, 2 pi / frequency. Return the frequencies",
                lambda p: 2 * math.pi / by_hand(p))
wrong_frequency("theta_always_500000", EVERY_TYPE,
                "Your theta is always 500000, Llama 3's. Take rope_theta: Llama 2's is 10000",
                lambda p: by_hand(replace(p, rope_theta=500000.0)))
wrong_frequency("theta_ignored", EVERY_TYPE,
                "Your theta is always 10000. Take rope_theta: Llama 3's is 500000",
                lambda p: by_hand(replace(p, rope_theta=10000.0)))
wrong_frequency("scaling_ignored", [LINEAR, DYNAMIC, YARN, LLAMA3, LONGROPE],
                "Your frequencies are not scaled. Look at rope_type, and stretch them as it says",
                lambda p: by_hand(replace(p, rope_type=DEFAULT)))
wrong_dynamic("dynamic_ignores_length",
              "Your dynamic scaling does not look at length. Beyond max_position_embeddings theta grows with it",
              lambda p: by_hand(replace(p, rope_type=DEFAULT)))
wrong_dynamic("linear_for_dynamic",
              "Your dynamic scaling divides all frequencies by the factor. It raises theta, and only beyond max_position_embeddings",
              lambda p: by_hand(replace(p, rope_type=LINEAR)))
wrong_frequency("linear_for_all", [DYNAMIC, YARN, LLAMA3, LONGROPE],
                "Your scaling is linear whatever rope_type is. Not every type divides all frequencies alike",
                lambda p: by_hand(replace(p, rope_type=LINEAR)))
wrong_frequency("factor_multiplied", [LINEAR, YARN, LLAMA3],
                "Your frequency is multiplied by the factor. Divide it: more positions, slower turns",
                lambda p: by_hand(replace(p, factor=1 / p.factor)))

wrong_theta("dynamic_not_raised",
            "Your theta is multiplied by the stretch itself. Raise it to D/(D - 2) first, so that the "
            "slowest pair just fits",
            lambda p: stretch(p, length_or_more(p)))
wrong_theta("dynamic_at_any_length",
            "Your theta is multiplied by factor^(D/(D - 2)) at any length. It grows with the length",
            lambda p: p.factor ** (p.D / (p.D - 2)))
wrong_theta("dynamic_shrinks",
            "Your theta shrinks within the trained length. Take max_position_embeddings if length is less",
            lambda p: stretch(p, p.length) ** (p.D / (p.D - 2)))

wrong_frequency("max_for_original", [YARN, LLAMA3, LONGROPE],
                "You measure by max_position_embeddings. Take original_max_position_embeddings: the context before it was "
                "stretched",
                lambda p: by_hand(replace(p, original_max_position_embeddings=p.max_position_embeddings)))
wrong_share("two_pi_forgotten", [YARN, LLAMA3],
            "You count radians within the old context as if they were turns. A turn is 2 pi of them",
            lambda p, frequency: share_kept(p, frequency, turn=1))
wrong_share("slide_reversed", [YARN, LLAMA3],
            "Your slide runs the wrong way. The first pairs are kept; the last are divided by the factor",
            lambda p, frequency: 1 - share_kept(p, frequency))
wrong_share("llama3_hard_step", [LLAMA3],
            "Your frequencies are divided by the factor or not at all. Slide from the one to the other, "
            "between low_freq_factor and high_freq_factor turns",
            lambda p, frequency: 1.0 * (turns(p, frequency) >= p.low_freq_factor))
wrong_share("llama3_low_and_high_swapped", [LLAMA3],
            "Your low_freq_factor and high_freq_factor are swapped. A pair of fewer turns than "
            "low_freq_factor is divided by the factor",
            lambda p, frequency: 1.0 * (turns(p, frequency) >= p.high_freq_factor))
wrong_share("llama3_slide_in_wavelengths", [LLAMA3],
            "Your slide is even in the wavelengths. It is even in the turns, original / wavelength",
            lambda p, frequency: slide_in_wavelengths(p, 2 * math.pi / frequency))
wrong_frequency("llama3_constants_of_3.1", [LLAMA3],
                "Your factor is 8, your low and high are 1 and 4, your old context 8192: Llama 3.1's. Take the "
                "parameters",
                lambda p: by_hand(replace(p, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                          original_max_position_embeddings=8192.0)))
wrong_frequency("yarn_betas_swapped", [YARN],
                "Your beta_fast and beta_slow are swapped. Pairs of more turns than beta_fast are kept",
                lambda p: by_hand(replace(p, beta_fast=p.beta_slow or 1, beta_slow=p.beta_fast or 32)))
rope_frequencies.wrong(
    "attention_factor_in_the_frequencies",
    "Your frequencies are multiplied by the attention factor. It belongs on cosine and sine: return it",
    on_parameters(lambda p: by_hand(p) * attention_factor(p) if p.rope_type == YARN else None))
wrong_frequency("yarn_rounded_otherwise", [YARN],
                "Your slide starts and ends between pairs where truncate is true, or at whole ones where it "
                "is false. Round down and up unless it is false",
                lambda p: by_hand(replace(p, keep_fractions=not p.keep_fractions)))
wrong_frequency("yarn_betas_ignored", [YARN],
                "Your slide always runs from 32 turns to 1. Take beta_fast and beta_slow if they are given",
                lambda p: by_hand(replace(p, beta_fast=0, beta_slow=0)))

wrong_frequency("longrope_always_short", [LONGROPE],
                "You take short_factor at any length. Beyond original_max_position_embeddings it is long_factor",
                lambda p: by_hand(replace(p, long_factor=p.short_factor)))
wrong_frequency("longrope_short_and_long_swapped", [LONGROPE],
                "Your short_factor and long_factor are swapped. long_factor is for texts beyond "
                "original_max_position_embeddings",
                lambda p: by_hand(replace(p, long_factor=p.short_factor, short_factor=p.long_factor)))
wrong_frequency("longrope_long_at_the_edge", [LONGROPE],
                "You take long_factor at original_max_position_embeddings itself. It is for longer texts alone",
                lambda p: by_hand(replace(p, length=p.length + 1)))
wrong_frequency("longrope_multiplied", [LONGROPE],
                "Your frequency is multiplied by the pair's factor. Divide it: more positions, slower turns",
                lambda p: by_hand(replace(p, short_factor=1 / p.short_factor, long_factor=1 / p.long_factor)))
rope_frequencies.wrong(
    "longrope_factor_of_yarn",
    "You return yarn's attention factor. Longrope's is sqrt(1 + ln(factor) / ln(original_max_position_embeddings))",
    on_parameters(lambda p: by_hand(p) if p.rope_type == LONGROPE else None,
                  factor=lambda p: attention_factor(replace(p, rope_type=YARN))))

wrong_frequency("wavelengths_blended", [YARN, LLAMA3],
                "You blend wavelengths, s / frequency + (1 - s) factor / frequency. Blend the frequencies themselves",
                lambda p: (lambda frequency, share: frequency / (share + (1 - share) * p.factor))(
                    default(p), share_kept(p, default(p))))
wrong_frequency("theta_times_factor", [LINEAR],
                "Your theta is multiplied by the factor. Linear scaling divides the frequencies by it",
                lambda p: by_hand(replace(p, rope_type=DEFAULT, rope_theta=p.rope_theta * p.factor)))
wrong_frequency("theta_stretched_for_linear", [LINEAR],
                "Your theta is multiplied by factor^(D/(D - 2)), as NTK-aware scaling has it. Linear scaling divides the frequencies by the factor",
                lambda p: None if p.D == 2 else by_hand(replace(p, rope_type=DEFAULT, rope_theta=p.rope_theta * p.factor ** (p.D / (p.D - 2)))))


def wrong_factor(name, types, advice, factor):
    """A mistake of what is returned behind the frequencies."""
    rope_frequencies.wrong(name, advice, on_parameters(lambda p: by_hand(p) if p.rope_type in types else None, factor=factor))


def yarn_factor(p, times=0.1, plus=1, log=math.log):
    return p.attention_factor or (times * log(p.factor) + plus if p.factor > 1 else 1)


wrong_factor("yarn_mscale_alone", [YARN],
             "Your factor is 0.1 mscale ln(factor) + 1 where mscale is given, and mscale_all_dim is not. mscale counts only where both are",
             lambda p: yarn_factor(p, times=0.1 * p.mscale) if p.mscale and not p.mscale_all_dim else attention_factor(p))
wrong_factor("yarn_mscale_all_dim_ignored", [YARN],
             "Your factor is 0.1 mscale ln(factor) + 1 wherever mscale is given. It counts only where mscale_all_dim is given, too, and is "
             "then divided by 0.1 mscale_all_dim ln(factor) + 1",
             lambda p: yarn_factor(p, times=0.1 * (p.mscale or 1)))
wrong_factor("yarn_mscale_ignored", [YARN],
             "Your factor is 0.1 ln(factor) + 1 where mscale and mscale_all_dim are given. Then it is (0.1 mscale ln(factor) + 1) / "
             "(0.1 mscale_all_dim ln(factor) + 1)", yarn_factor)
wrong_factor("yarn_mscale_ratio", [YARN],
             "Your factor is mscale over mscale_all_dim. Each is put into 0.1 mscale ln(factor) + 1 first",
             lambda p: p.attention_factor or (p.mscale / p.mscale_all_dim if p.mscale and p.mscale_all_dim else yarn_factor(p)))
wrong_factor("yarn_mscale_upside_down", [YARN],
             "Your mscale and mscale_all_dim are exchanged. What mscale gives is divided by what mscale_all_dim gives",
             lambda p: attention_factor(replace(p, mscale=p.mscale_all_dim, mscale_all_dim=p.mscale)))
wrong_factor("attention_factor_not_taken", [YARN, LONGROPE],
             "You compute a factor where attention_factor is given. Then return attention_factor",
             lambda p: attention_factor(replace(p, attention_factor=0)))
wrong_factor("yarn_one_forgotten", [YARN], "Your factor is 0.1 ln(factor). Add 1: 0.1 ln(factor) + 1",
             lambda p: yarn_factor(p, plus=0) if not p.mscale_all_dim else attention_factor(p))
wrong_factor("yarn_log_of_base_10", [YARN], "Your logarithm is that of base 10. It is the natural one: 0.1 ln(factor) + 1",
             lambda p: yarn_factor(p, log=math.log10) if not p.mscale_all_dim else attention_factor(p))
wrong_factor("yarn_factor_inverted", [YARN], "Your factor is 1 over the right one. Return 0.1 ln(factor) + 1 itself",
             lambda p: 1 / attention_factor(p))
wrong_factor("yarn_factor_squared", [YARN],
             "Your factor is squared, as for the scores. It multiplies cosine and sine, and so queries and keys: return it once",
             lambda p: attention_factor(p)**2)
wrong_factor("factor_for_all_types", [LINEAR, DYNAMIC, LLAMA3],
             "You return yarn's 0.1 ln(factor) + 1 for other types, too. Only yarn and longrope scale cosine and sine: return 1",
             yarn_factor)
wrong_factor("longrope_by_max", [LONGROPE],
             "Your factor divides by ln(max_position_embeddings). It is by ln(original_max_position_embeddings)",
             lambda p: attention_factor(replace(p, original_max_position_embeddings=p.max_position_embeddings)))
wrong_factor("longrope_root_missing", [LONGROPE],
             "Your factor is 1 + ln(factor) / ln(original). Take the root of that",
             lambda p: p.attention_factor or attention_factor(p)**2)
wrong_theta("dynamic_without_factor",
            "Your stretch is length / max_position_embeddings. It is factor length / max_position_embeddings - (factor - 1)",
            lambda p: (length_or_more(p) / p.max_position_embeddings) ** (p.D / (p.D - 2)))
wrong_theta("dynamic_exponent_upside_down",
            "Your stretch is raised to (D - 2)/D. Raise it to D/(D - 2), so that the slowest pair just fits",
            lambda p: stretch(p, length_or_more(p)) ** ((p.D - 2) / p.D))


def slide_of_yarn(p, each=0.5, last_possible=None, log=math.log):
    """The share that is kept, with the mistakes of the two places where the slide begins and ends."""
    def pair(times):
        return each * p.D * log(p.original_max_position_embeddings / (times * 2 * math.pi)) / math.log(p.rope_theta)

    first, last = pair(p.beta_fast or 32), pair(p.beta_slow or 1)
    if not p.keep_fractions:
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, p.D - 1 if last_possible is None else last_possible)
    return 1 - ((torch.arange(p.D // 2) - first) / (last - first or 0.001)).clamp(0, 1)


wrong_share("yarn_numbers_for_pairs", [YARN],
            "Your slide begins and ends at D ln(…) / ln(theta). That counts numbers of a head: halve it to count pairs",
            lambda p, frequency: slide_of_yarn(p, each=1))
wrong_share("yarn_ends_at_the_last_pair", [YARN],
            "Your slide ends at the last pair at the latest, D/2 - 1. It may end at D - 1, as in YaRN's own code",
            lambda p, frequency: slide_of_yarn(p, last_possible=p.D // 2 - 1))
wrong_share("yarn_hard_step", [YARN],
            "Your frequencies are divided by the factor or not at all. Slide from the one to the other",
            lambda p, frequency: 1.0 * (share_by_pairs(p, frequency) > 0))
wrong_share("yarn_by_turns", [YARN],
            "Your slide is even in the turns, as llama3's. Yarn's is even in the number of the pair",
            lambda p, frequency: ((turns(p, frequency) - (p.beta_slow or 1)) / ((p.beta_fast or 32) - (p.beta_slow or 1) or 0.001)).clamp(0, 1))
wrong_share("llama3_by_pairs", [LLAMA3],
            "Your slide is even in the number of the pair, as yarn's. Llama 3's is even in the turns, original / wavelength",
            lambda p, frequency: share_by_pairs(replace(p, beta_fast=p.high_freq_factor, beta_slow=p.low_freq_factor), frequency))

PLAIN = dict(length=2048, rope_type=DEFAULT, rope_theta=10000.0)
STRETCHED = dict(rope_theta=10000.0, factor=4.0, max_position_embeddings=4096.0)
OVER_YARN = dict(D=64, length=16384, rope_type=YARN, rope_theta=10000.0, factor=4.0,
                 max_position_embeddings=16384.0, original_max_position_embeddings=4096.0)
LLAMA_3_1 = dict(D=128, length=131072, rope_type=LLAMA3, rope_theta=500000.0, factor=8.0,
                 low_freq_factor=1.0, high_freq_factor=4.0,
                 max_position_embeddings=131072.0, original_max_position_embeddings=8192.0)

rope_frequencies.case("by_hand", "The lesson's example: two pairs, 1 and 1/100.", **PLAIN | dict(D=4))
rope_frequencies.case("one_pair", "The narrowest head: its only pair turns by 1 a position.", D=2, **PLAIN)
rope_frequencies.case("three_pairs", "D = 6: the exponents are no binary fractions.", D=6, **PLAIN)
rope_frequencies.case("eighty_wide", "D = 80: no power of two.", D=80, **PLAIN)
rope_frequencies.case("llama1", "Llama 1 and 2.", D=128, **PLAIN)
rope_frequencies.case("llama3", "Llama 3: theta = 500000.", **PLAIN | dict(D=128, rope_theta=500000.0))
rope_frequencies.case("linear", "Linear scaling to four times the length.",
                      D=16, length=8192, rope_type=LINEAR, **STRETCHED)
rope_frequencies.case("linear_one_pair", "The same for one pair: 1/4.",
                      D=2, length=8192, rope_type=LINEAR, **STRETCHED)
rope_frequencies.case("dynamic_within", "Dynamic scaling within the trained length: nothing is scaled.",
                      D=16, length=4000, rope_type=DYNAMIC, **STRETCHED)
rope_frequencies.case("dynamic_at_the_edge", "The longest length that nothing is scaled for.",
                      D=16, length=4096, rope_type=DYNAMIC, **STRETCHED)
rope_frequencies.case("dynamic_beyond", "Dynamic scaling at 2.5 times the trained length.",
                      D=16, length=10240, rope_type=DYNAMIC, **STRETCHED)
rope_frequencies.case("dynamic_two_pairs", "The narrowest head that dynamic scaling is defined for.",
                      D=4, length=5000, rope_type=DYNAMIC, **STRETCHED)
rope_frequencies.case("yarn", "YaRN to four times the length, betas not given.", **OVER_YARN)
rope_frequencies.case("yarn_betas", "Betas of its own, and Llama 3's theta.",
                      **OVER_YARN | dict(rope_theta=500000.0, beta_fast=16.0, beta_slow=2.0))
rope_frequencies.case("yarn_fractions", "truncate is false: the slide starts and ends between two pairs.",
                      **OVER_YARN | dict(keep_fractions=1.0))
rope_frequencies.case("yarn_narrow", "So few pairs, so short a context: both ends of the slide are cut off.",
                      **OVER_YARN | dict(D=6, rope_theta=100.0, beta_slow=0.001,
                                         original_max_position_embeddings=128.0))
rope_frequencies.case("yarn_step", "Both ends of the slide at one place.",
                      **OVER_YARN | dict(D=16, beta_fast=64.0, beta_slow=64.0, keep_fractions=1.0))
rope_frequencies.case("yarn_attention", "The attention factor and mscale do not touch the frequencies.",
                      **OVER_YARN | dict(factor=40.0, attention_factor=0.5, mscale=1.0, mscale_all_dim=1.0))
rope_frequencies.case("yarn_mscale_alone", "mscale counts only where mscale_all_dim is given as well.",
                      **OVER_YARN | dict(factor=40.0, mscale=0.7))
rope_frequencies.case("yarn_mscale", "Both are given, and differ: the factor is a quotient.",
                      **OVER_YARN | dict(factor=40.0, mscale=0.7, mscale_all_dim=1.5))
rope_frequencies.case("llama31", "Llama 3.1: eight times the length.", **LLAMA_3_1)
rope_frequencies.case("llama32", "Llama 3.2 1B: D = 64, factor 32.", **LLAMA_3_1 | dict(D=64, factor=32.0))

rope_frequencies.case("llama3_of_others", "The same scaling with none of Llama 3.1's numbers.",
                      **LLAMA_3_1 | dict(D=32, rope_theta=10000.0, factor=4.0, low_freq_factor=2.0,
                                         high_freq_factor=6.0, original_max_position_embeddings=1024.0))
LONG = dict(D=16, length=9000, rope_type=LONGROPE, rope_theta=10000.0, factor=4.0, max_position_embeddings=16384.0,
            original_max_position_embeddings=4096.0, short_factor=[1.0, 1.0, 1.05, 1.1, 1.2, 1.25, 1.3, 1.5],
            long_factor=[1.1, 1.3, 1.9, 3.7, 6.2, 9.1, 17.3, 32.0])
rope_frequencies.case("longrope", "LongRoPE beyond the old context: the long factors.", **LONG)
rope_frequencies.case("longrope_at_the_edge", "The longest text that has the short ones.", **LONG | dict(length=4096))
rope_frequencies.case("longrope_too_long", "A text beyond what the model was stretched to.", **LONG | dict(length=20000))
rope_frequencies.case("longrope_attention", "Its attention factor is given.", **LONG | dict(attention_factor=1.2))
rope_frequencies.case("longrope_unstretched", "A factor of 1: nothing is sharpened.", **LONG | dict(factor=1.0))


# --- The table ---------------------------------------------------------------------------------------------

def angles(positions, inv_freq):
    return positions[:, None] * inv_freq


def bf16(x):
    """Rounded to bfloat16, and then as wide as it was."""
    return x.to(torch.bfloat16).to(x.dtype)


def bf16_angles(positions, inv_freq):
    """What is left of the angles if a model's .to(torch.bfloat16) catches them."""
    return bf16(angles(bf16(positions), bf16(inv_freq)))


def transformers_table(positions, inv_freq):
    pairs = len(inv_freq)
    embedding = LlamaRotaryEmbedding(transformers.LlamaConfig(hidden_size=2 * pairs, num_attention_heads=1))
    embedding.inv_freq = inv_freq
    cosine, sine = embedding(inv_freq, positions[None].long())
    return torch.stack([cosine[0, :, :pairs], sine[0, :, :pairs]])


def cosine_and_sine(angle):
    return angle.cos(), angle.sin()


rope_table = Kernel(
    "rope_table", CHAPTER, f"LlamaRotaryEmbedding.forward of {TRANSFORMERS}",
    pytorch=lambda positions, inv_freq:
        torch.stack(cosine_and_sine(positions[:, None] * inv_freq)),
    formula=lambda positions, inv_freq:
        torch.stack(cosine_and_sine(torch.outer(positions, inv_freq))), sums=False)
rope_table.agrees("transformers", transformers_table)


def wrong_angle(name, advice, angle):
    rope_table.wrong(name, advice, lambda positions, inv_freq:
                     torch.stack(cosine_and_sine(angle(positions, inv_freq))))


def wrong_table(name, advice, change):
    """A table of the right shape and the right angles; change(cosine, sine)."""
    rope_table.wrong(name, advice, lambda positions, inv_freq:
                     change(*cosine_and_sine(angles(positions, inv_freq)))
                     .reshape(2, len(positions), len(inv_freq)))


wrong_angle("position_plus_one", "Your positions are one too large. Take positions[t]: at 0 nothing turns",
            lambda positions, inv_freq: angles(positions + 1, inv_freq))
wrong_angle("position_minus_one", "Your positions are one too small. Take positions[t] as it is",
            lambda positions, inv_freq: angles(positions - 1, inv_freq))
wrong_angle("consecutive",
            "Your positions are 0, 1, 2 and so on. Take positions[t]: in decoding, row 0 is not position 0",
            lambda positions, inv_freq: angles(torch.arange(len(positions)), inv_freq))
wrong_angle("from_the_first", "Your positions count on from positions[0]. Take positions[t]: they may leap",
            lambda positions, inv_freq: angles(positions[0] + torch.arange(len(positions)), inv_freq))
wrong_angle("positions_in_bf16", "Your positions are rounded to bfloat16, which cannot count beyond 256. Keep them whole",
            lambda positions, inv_freq: angles(positions.bfloat16(), inv_freq))
wrong_angle("divided",
            "Your angle is position / inv_freq. Multiply: despite its name, inv_freq is a frequency",
            lambda positions, inv_freq: angles(positions, 1 / inv_freq))
wrong_angle("angles_in_bf16",
            "Your angles are rounded to bfloat16, which cannot even count beyond 256. Keep them in float32",
            bf16_angles)
wrong_angle("frequencies_in_bf16",
            "Your frequencies are rounded to bfloat16, as a buffer is that goes along when a model is. Keep them in float32",
            lambda positions, inv_freq: angles(positions, inv_freq.bfloat16().to(inv_freq.dtype)))
wrong_table("sine_negative", "Your sine has the wrong sign. It is sin(+angle)",
            lambda cosine, sine: torch.stack([cosine, -sine]))
wrong_table("sine_first", "Your sines come first. The table holds the cosines, then the sines",
            lambda cosine, sine: torch.stack([sine, cosine]))
wrong_table("row_by_row",
            "Your table holds the cosines and sines of one position, then of the next. It is [2][T][D/2]: "
            "all cosines, then all sines",
            lambda cosine, sine: torch.stack([cosine, sine], 1))
wrong_table("pair_by_pair",
            "Your table holds each cosine beside its sine, like complex numbers. It is [2][T][D/2]: all "
            "cosines, then all sines",
            lambda cosine, sine: torch.stack([cosine, sine], 2))
wrong_angle("degrees", "Your angle is taken for degrees. position * inv_freq is in radians already",
            lambda positions, inv_freq: angles(positions, inv_freq) * math.pi / 180)
wrong_angle("added", "Your angle is position + inv_freq. Multiply them",
            lambda positions, inv_freq: positions[:, None] + inv_freq)
wrong_angle("first_frequency_for_all", "Your pairs all turn at the first frequency. Pair i turns at inv_freq[i]",
            lambda positions, inv_freq: angles(positions, inv_freq[:1]).expand(-1, len(inv_freq)))
wrong_angle("frequencies_reversed", "Your frequencies are in reverse order. The first pair is the fastest",
            lambda positions, inv_freq: angles(positions, inv_freq.flip(0)))
wrong_table("transposed",
            "Your table is written as [2][D/2][T]. It is [2][T][D/2]: the pairs of a position lie together",
            lambda cosine, sine: torch.stack([cosine.T, sine.T]))
wrong_table("cosine_twice", "Your sines are cosines. Plane 1 of the table is sin(angle)",
            lambda cosine, sine: torch.stack([cosine, cosine]))


for kind, bits, to in ("bfloat16", 8, torch.bfloat16), ("float16", 11, torch.float16):
    wrong_table(f"table_in_{kind}", f"Your cosines and sines are rounded to {kind}, {bits} bits. Keep them in float32",
                lambda cosine, sine, to=to: torch.stack([cosine, sine]).to(to).to(cosine.dtype))
wrong_angle("frequencies_in_float16", "Your frequencies are rounded to float16, as a buffer is that goes along when a model is. Keep them in float32",
            lambda positions, inv_freq: angles(positions, inv_freq.half().to(inv_freq.dtype)))
wrong_angle("halved", "Your angle is halved. It is position * inv_freq",
            lambda positions, inv_freq: angles(positions, inv_freq) / 2)
wrong_angle("frequency_index_halved", "Your pair i turns at inv_freq[i/2]. It is inv_freq[i], one for each pair",
            lambda positions, inv_freq: angles(positions, inv_freq[torch.arange(len(inv_freq)) // 2]))
wrong_angle("first_position_for_all", "Your rows are all of positions[0]. Row t is of positions[t]",
            lambda positions, inv_freq: angles(positions[:1], inv_freq).expand(len(positions), -1))
wrong_table("sine_twice", "Your cosines are sines. Plane 0 of the table is cos(angle)",
            lambda cosine, sine: torch.stack([sine, sine]))


def whole(*positions):
    return torch.tensor(positions, dtype=torch.int32)


def powers(D, theta=10000):
    return theta ** -(np.arange(0, D, 2) / D)


rope_table.case("by_hand", "Positions 0, 1 and 2, at 1 and 1/2 radian a position.",
                positions=whole(0, 1, 2), inv_freq=[1, 0.5])
rope_table.case("small", "Eight positions from 0 on, D = 8.",
                positions=whole(*range(8)), inv_freq=powers(8))
rope_table.case("one_pair", "D = 2.",
                positions=whole(0, 1, 5), inv_freq=powers(2))
rope_table.case("one_token", "One position, as in decoding.",
                positions=whole(5), inv_freq=powers(16))
rope_table.case("theta", "The theta of Llama 3, 500000.",
                positions=whole(0, 1, 2, 3, 11), inv_freq=powers(16, 500000))
rope_table.case("backwards", "Positions that fall: whoever counts up is wrong.",
                positions=whole(4, 2, 1), inv_freq=powers(6, 500000))
rope_table.case("anywhere", "Positions in no order, one of them twice.",
                positions=whole(7, 3, 3, 12, 0, 9), inv_freq=powers(12))
# Further out the rounding of the angle is what counts: some hundred ulps of a cosine for positions in the
# hundreds, and up to 1/256 of a radian at the end of Llama 3.1's context. These are cases of their own, lest
# their tolerance cover the others' mistakes.
rope_table.case("hundreds", "Positions in the hundreds: PyTorch's angles are off by a hundred ulps.",
                positions=whole(300, 511, 999), inv_freq=powers(32, 500000))
rope_table.case("far", "The end of Llama 3.1's context: PyTorch's cosines have three digits left.",
                positions=whole(1000, 100000, 131071), inv_freq=powers(64, 500000))
rope_table.case("llama", "16 positions of a head of Llama 3.",
                positions=whole(*range(16)), inv_freq=powers(128, 500000))


# --- The rotation ------------------------------------------------------------------------------------------

def even_and_odd(x):
    return x[..., 0::2], x[..., 1::2]


def beside(a, b):
    return torch.stack([a, b], -1).flatten(-2)


def halves(x):
    return x.chunk(2, -1)


def behind(a, b):
    return torch.cat([a, b], -1)


INTERLEAVED = even_and_odd, beside
HALF_SPLIT = halves, behind


def turn(a, b, cosine, sine):
    return a * cosine - b * sine, a * sine + b * cosine


def rotate(layout, x, cosine, sine, turn=turn):
    """All pairs of all heads turned, token t by row t of the table."""
    split, join = layout
    return join(*turn(*split(x), cosine[:, None], sine[:, None]))


def in_full_vectors(turn, lanes):
    """A turn that leaves the pairs behind the last full vector as they are."""
    def some(a, b, cosine, sine):
        full = a.shape[-1] // lanes * lanes
        return tuple(torch.cat([new[..., :full], old[..., full:]], -1) for new, old in zip(turn(a, b, cosine, sine), (a, b)))
    return some


def meta(x, cosine, sine):
    """apply_rotary_emb in llama/model.py of Meta."""
    freqs_cis = torch.complex(cosine, sine)
    x_ = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(x_ * freqs_cis[:, None]).flatten(2)


def hugging_face(q, k, cosine, sine):
    """apply_rotary_pos_emb of transformers, on a batch of one and with its doubled tables."""
    cosine, sine = behind(cosine, cosine)[None], behind(sine, sine)[None]
    q, k = apply_rotary_pos_emb(q[None], k[None], cosine, sine, unsqueeze_dim=2)
    return q[0], k[0]


rope_interleaved = Kernel(
    "rope_interleaved", CHAPTER, "apply_rotary_emb in llama/model.py of Meta, in torch's complex numbers",
    pytorch=meta, formula=lambda x, cosine, sine: rotate(INTERLEAVED, x, cosine, sine), sums=False)
rope_half_split = Kernel(
    "rope_half_split", CHAPTER, f"apply_rotary_pos_emb in modeling_llama.py of {TRANSFORMERS}",
    pytorch=lambda x, cosine, sine: hugging_face(x, x, cosine, sine)[0],
    formula=lambda x, cosine, sine: rotate(HALF_SPLIT, x, cosine, sine), sums=False)


def own_frequencies(D):
    return 10000 ** -(torch.arange(0, D, 2) / D)


def is_of_llama1_from_0(cosine):
    own = angles(torch.arange(len(cosine)), own_frequencies(2 * cosine.shape[1])).cos()
    return torch.allclose(cosine, own, atol=1e-5)


def mistakes_of_a_rotation(kernel, layout, pairs, other, other_pairs):
    def wrong_turn(name, advice, turn):
        kernel.wrong(name, advice, lambda x, cosine, sine: rotate(layout, x, cosine, sine, turn))

    def wrong_row(name, advice, row):
        """The row of the table that turns head h of token t: row(t, h, T, H)."""
        def formula(x, cosine, sine):
            T, H, D = x.shape
            rows = row(torch.arange(T)[:, None], torch.arange(H), T, H)
            if rows.max() >= T:
                return None
            split, join = layout
            return join(*turn(*split(x), cosine[rows], sine[rows]))
        kernel.wrong(name, advice, formula)

    def wrong_angle(name, advice, angle):
        """A kernel that is given a table, but makes its own: angle(positions, H, D)."""
        def formula(x, cosine, sine):
            T, H, D = x.shape
            own = angle(torch.arange(T, dtype=x.dtype), H, D)
            return rotate(layout, x, own.cos(), own.sin()) if is_of_llama1_from_0(cosine) else None
        kernel.wrong(name, advice, formula)

    def doubled_otherwise(x, cosine, sine):
        (split, join), (_, double) = layout, other
        a, b = split(x)
        return x * double(cosine, cosine)[:, None] + join(-b, a) * double(sine, sine)[:, None]

    kernel.wrong("other_pairing", f"Your pairs are {other_pairs}. Here they are {pairs}",
                 lambda x, cosine, sine: rotate(other, x, cosine, sine))
    kernel.wrong("table_doubled_otherwise",
                 f"Your table is doubled for the pairs {other_pairs}. Here they are {pairs}: double it so",
                 doubled_otherwise)
    def from_one_to_other(x, cosine, sine, one, another):
        return another[1](*turn(*one[0](x), cosine[:, None], sine[:, None]))

    kernel.wrong("written_to_the_other_pairs",
                 f"Your pairs are read from {pairs}, and written to {other_pairs}. Write a pair to where it was read",
                 lambda x, cosine, sine: from_one_to_other(x, cosine, sine, layout, other))
    kernel.wrong("read_from_the_other_pairs",
                 f"Your pairs are read from {other_pairs}, and written to {pairs}. Read a pair from where it is written",
                 lambda x, cosine, sine: from_one_to_other(x, cosine, sine, other, layout))
    wrong_turn("not_exchanged", "Your sine multiplies the number itself, (a cos - a sin, b cos + b sin). It multiplies the other one of the pair",
               lambda a, b, c, s: (a * c - a * s, b * c + b * s))
    wrong_turn("overwritten_by_the_second",
               "Your first number comes from a second that is turned already. Read a and b before you write",
               lambda a, b, c, s: (a * c - (a * s + b * c) * s, a * s + b * c))
    wrong_turn("turned_backwards", "Your pairs are rotated in the opposite direction. The right result is (a cos - b sin, a sin + b cos)",
               lambda a, b, c, s: turn(a, b, c, -s))
    wrong_turn("cosine_and_sine_swapped",
               "Your cosine and sine are swapped. It is (a cos - b sin, a sin + b cos)",
               lambda a, b, c, s: turn(a, b, s, c))
    wrong_turn("minus_forgotten", "Your first number is a cos + b sin. It is a cos - b sin",
               lambda a, b, c, s: (a * c + b * s, a * s + b * c))
    wrong_turn("first_without_sine", "Your first number is a cos alone. It is a cos - b sin",
               lambda a, b, c, s: (a * c, a * s + b * c))
    wrong_turn("second_without_sine", "Your second number is b cos alone. It is a sin + b cos",
               lambda a, b, c, s: (a * c - b * s, b * c))
    wrong_turn("first_not_turned", "Your first number is left as it was. Turn both numbers of a pair",
               lambda a, b, c, s: (a, a * s + b * c))
    wrong_turn("second_not_turned", "Your second number is left as it was. Turn both numbers of a pair",
               lambda a, b, c, s: (a * c - b * s, b))
    wrong_turn("overwritten",
               "Your second number comes from a first that is turned already. Read a and b before you write",
               lambda a, b, c, s: (a * c - b * s, (a * c - b * s) * s + b * c))
    wrong_turn("pairs_reversed", "Your frequencies are in reverse order. The first pair is the fastest",
               lambda a, b, c, s: turn(a, b, c.flip(-1), s.flip(-1)))
    wrong_turn("second_sine_negative", "Your second number is b cos - a sin. It is a sin + b cos",
               lambda a, b, c, s: (a * c - b * s, b * c - a * s))
    wrong_turn("second_cosine_negative", "Your second number is a sin - b cos. It is a sin + b cos",
               lambda a, b, c, s: (a * c - b * s, a * s - b * c))
    wrong_turn("first_without_cosine", "Your first number is a - b sin. It is a cos - b sin",
               lambda a, b, c, s: (a - b * s, a * s + b * c))
    kernel.wrong("head_0_for_all", "Your heads are all head 0 of their token. Read x[t][h]",
                 lambda x, cosine, sine: rotate(layout, x[:, :1].expand_as(x), cosine, sine))
    wrong_turn("squared", "Your pairs turn twice. Once is enough",
               lambda a, b, c, s: turn(*turn(a, b, c, s), c, s))
    wrong_turn("first_pair_for_all", "Your pairs all turn like the first. Pair i turns by cosine[t][i] and sine[t][i]",
               lambda a, b, c, s: turn(a, b, c[..., :1], s[..., :1]))
    wrong_turn("table_index_halved",
               "Your pair i turns by number i/2 of the table. It is cosine[t][i], one for each pair",
               lambda a, b, c, s: turn(a, b, *(x[..., torch.arange(x.shape[-1]) // 2] for x in (c, s))))
    for lanes in 4, 8, 16:
        wrong_turn(f"pairs_behind_{lanes}_not_turned", f"Your pairs behind the last full {lanes} are not turned. Turn those that are left over, too",
                   in_full_vectors(turn, lanes))
    kernel.wrong("only_head_0", "Only your head 0 is turned. Turn every head by the same row of the table",
                 lambda x, cosine, sine: torch.cat([rotate(layout, x[:, :1], cosine, sine), x[:, 1:]], 1))
    kernel.wrong("partial",
                 "Only the first half of each head is turned. GPT-NeoX turns a part, too, but a Llama turns all of it",
                 lambda x, cosine, sine: None if x.shape[2] % 4 else behind(
                     rotate(layout, halves(x)[0], halves(cosine)[0], halves(sine)[0]), halves(x)[1]))
    kernel.wrong("table_ignored",
                 "Your angles are of positions 0, 1, 2, … and theta = 10000. Take the table: it knows the positions",
                 lambda x, cosine, sine: rotate(layout, x, *cosine_and_sine(
                     angles(torch.arange(len(x), dtype=x.dtype), own_frequencies(x.shape[2])))))
    wrong_row("row_of_the_head", "Your row of the table is the head's. It is the token's, t, for every head",
              lambda t, h, T, H: h + 0 * t)
    wrong_row("heads_first", "You read x as [H][T][D]. It is [T][H][D]: the heads of a token, then the next",
              lambda t, h, T, H: (t * H + h) % T)
    wrong_row("first_row_for_all", "Your tokens are all turned by row 0 of the table. Turn token t by row t",
              lambda t, h, T, H: 0 * (t + h))
    wrong_angle("position_plus_one", "Your positions start at 1. The first token is at 0, and is not turned",
                lambda t, H, D: angles(t + 1, own_frequencies(D)))
    wrong_angle("exponent_i", "Your frequencies are theta^(-i/D). The exponent is -2i/D",
                lambda t, H, D: angles(t, own_frequencies(D)**0.5))
    wrong_angle("whole_width", "Your frequencies are theta^(-2i/(H D)). Divide by a head's width, -2i/D",
                lambda t, H, D: angles(t, own_frequencies(D)**(1 / H)))
    kernel.wrong("integer_division",
                 "Your exponent is a division of integers, 2 * i / D, and that is 0: all pairs turn alike",
                 lambda x, cosine, sine: rotate(layout, x, *cosine_and_sine(
                     torch.arange(len(x), dtype=x.dtype)[:, None].expand(cosine.shape))))
    wrong_angle("exponent_4i", "Your frequencies are theta^(-4i/D). The exponent is -2i/D",
                lambda t, H, D: angles(t, own_frequencies(D)**2))
    wrong_angle("theta_always_500000", "Your theta is 500000, Llama 3's. Take the table as it is",
                lambda t, H, D: angles(t, 500000 ** -(torch.arange(0, D, 2) / D)))
    wrong_angle("degrees", "Your angle is taken for degrees. position * frequency is in radians already",
                lambda t, H, D: angles(t, own_frequencies(D)) * math.pi / 180)
    wrong_angle("angles_in_bf16", "Your angles are rounded to bfloat16. Keep them in float32",
                lambda t, H, D: bf16_angles(t, own_frequencies(D)))


mistakes_of_a_rotation(rope_interleaved, INTERLEAVED, "(2i, 2i + 1)", HALF_SPLIT, "(i, i + D/2)")
mistakes_of_a_rotation(rope_half_split, HALF_SPLIT, "(i, i + D/2)", INTERLEAVED, "(2i, 2i + 1)")


def table(positions, D, theta=10000):
    angle = np.outer(positions, powers(D, theta))
    return dict(cosine=np.cos(angle), sine=np.sin(angle))


QUARTER_AND_3_4_5 = dict(cosine=[[1, 1], [0, 0.6]], sine=[[0, 0], [1, 0.8]])

for kernel in rope_interleaved, rope_half_split:
    kernel.case("by_hand", "No turn at position 0; at 1, a quarter, and an angle of the triangle 3, 4, 5.",
                x=[[[1, 2, 3, 4]], [[1, 2, 3, 4]]], **QUARTER_AND_3_4_5)
    kernel.case("small", "Three tokens, two heads of width 8.",
                x=normal(3, 2, 8), **table(range(3), 8))
    kernel.case("one_pair", "D = 2: both pairings are the same.",
                x=normal(4, 3, 2), **table(range(4), 2))
    kernel.case("one_token", "One token at position 5, as in decoding.",
                x=normal(1, 4, 16), **table([5], 16))
    kernel.case("ragged", "5 tokens, 3 heads of width 6: no size is a multiple of anything.",
                x=normal(5, 3, 6), **table(range(5), 6))
    kernel.case("six_pairs", "A full vector of 4 leaves 2.", x=normal(2, 1, 12), **table(range(2), 12))
    kernel.case("seven_pairs", "A full vector of 4 leaves 3.", x=normal(2, 1, 14), **table(range(2), 14))
    kernel.case("left_over", "29 pairs: full vectors of 4, 8 and 16 leave 1, 5 and 13.",
                x=normal(3, 1, 58), **table(range(3), 58))
    kernel.case("eighty_wide", "A head of width 80: no power of two.",
                x=normal(2, 1, 80), **table(range(2), 80))
    kernel.case("more_heads", "More heads than tokens.",
                x=normal(2, 5, 10), **table(range(2), 10))
    kernel.case("far", "The end of Llama 3.1's context.",
                x=normal(3, 1, 32), **table([1000, 100000, 131071], 32, 500000))
    kernel.case("of_all_sizes", "Heads near 1e30, 1 and 1e-30.",
                x=normal(2, 3, 8, scale=[[1e30], [1], [1e-30]]), **table([3, 4], 8))
    kernel.case("not_finite", "An infinity or a NaN spoils its own pair, and no other.",
                x=[[[INF, 2, 3, 4, 5, 6]], [[1, 2, 3, NAN, 5, 6]]], **table([1, 2], 6))
    kernel.case("llama", "Heads of a Llama 3.",
                x=normal(3, 3, 128), **table(range(3), 128, 500000))


# --- What a layer turns ------------------------------------------------------------------------------------

def parts(qkv, KV):
    return qkv.split([qkv.shape[1] - 2 * KV, KV, KV], 1)


def transformers_layer(qkv, cosine, sine, KV):
    q, k, v = parts(qkv, KV)
    return torch.cat([*hugging_face(q, k, cosine, sine), v], 1)


def turned(qkv, KV, turn_heads):
    """Queries and keys turned alike, values as they were."""
    return torch.cat([turn_heads(qkv[:, :-KV]), qkv[:, -KV:]], 1)


rope_qkv = Kernel(
    "rope_qkv", CHAPTER, f"apply_rotary_pos_emb in modeling_llama.py of {TRANSFORMERS}",
    pytorch=transformers_layer,
    formula=lambda qkv, cosine, sine, KV: turned(qkv, KV, lambda x: rotate(HALF_SPLIT, x, cosine, sine)),
    sums=False)


def wrong_part(name, advice, change):
    """change(q, k, v, turn_heads) says what stands in the output."""
    rope_qkv.wrong(name, advice, lambda qkv, cosine, sine, KV: torch.cat(
        change(*parts(qkv, KV), lambda x: rotate(HALF_SPLIT, x, cosine, sine)), 1))


def wrong_turn(name, advice, change):
    """change(x, cosine, sine) is what happens to queries and keys."""
    rope_qkv.wrong(name, advice, lambda qkv, cosine, sine, KV:
                   turned(qkv, KV, lambda x: change(x, cosine, sine)))


def turned_by_head(qkv, cosine, sine, KV):
    heads = qkv.shape[1] - KV
    return turned(qkv, KV, lambda x: behind(*turn(*halves(x), cosine[:heads], sine[:heads])))


wrong_part("values_turned",
           "Your values are turned too. Copy them: where a value stands must not change what it says",
           lambda q, k, v, turn_heads: [turn_heads(q), turn_heads(k), turn_heads(v)])
wrong_part("keys_not_turned",
           "Your keys are not turned. Turn them as the queries: a score is to know the distance of the two",
           lambda q, k, v, turn_heads: [turn_heads(q), k, v])
wrong_part("queries_not_turned",
           "Your queries are not turned. Turn them as the keys: a score is to know the distance of the two",
           lambda q, k, v, turn_heads: [q, turn_heads(k), v])
wrong_part("values_zero", "Your values are zero. Copy them",
           lambda q, k, v, turn_heads: [turn_heads(q), turn_heads(k), 0 * v])
wrong_part("keys_for_values", "Your values are the keys. A row is H queries, KV keys, then KV values",
           lambda q, k, v, turn_heads: [turn_heads(q), turn_heads(k), k])
wrong_part("values_before_keys",
           "You take a row for queries, values, keys. It is H queries, KV keys, then KV values",
           lambda q, k, v, turn_heads: [turn_heads(q), k, turn_heads(v)])
wrong_turn("other_pairing", "Your pairs are (2i, 2i + 1). Here they are (i, i + D/2)",
               lambda x, cosine, sine: rotate(INTERLEAVED, x, cosine, sine))
wrong_turn("turned_backwards", "Your pairs are rotated in the opposite direction. The right result is (a cos - b sin, a sin + b cos)",
               lambda x, cosine, sine: rotate(HALF_SPLIT, x, cosine, -sine))
wrong_turn("first_row_for_all", "Your tokens are all turned by row 0 of the table. Turn token t by row t",
               lambda x, cosine, sine: rotate(HALF_SPLIT, x, cosine[:1], sine[:1]))
wrong_turn("cosine_and_sine_swapped", "Your cosine and sine are swapped. It is (a cos - b sin, a sin + b cos)",
           lambda x, cosine, sine: rotate(HALF_SPLIT, x, sine, cosine))
wrong_turn("minus_forgotten", "Your first number is a cos + b sin. It is a cos - b sin",
           lambda x, cosine, sine:
               rotate(HALF_SPLIT, x, cosine, sine, lambda a, b, c, s: (a * c + b * s, a * s + b * c)))
wrong_turn("overwritten",
           "Your second number comes from a first that is turned already. Read a and b before you write",
           lambda x, cosine, sine: rotate(HALF_SPLIT, x, cosine, sine,
                                          lambda a, b, c, s: (a * c - b * s, (a * c - b * s) * s + b * c)))
wrong_turn("partial", "Only the first half of each head is turned. GPT-NeoX turns a part, too, but a Llama turns all of it",
           lambda x, cosine, sine: x if x.shape[2] % 4 else behind(
               rotate(HALF_SPLIT, halves(x)[0], halves(cosine)[0], halves(sine)[0]), halves(x)[1]))
wrong_part("only_head_0", "Only the first query head and the first key head are turned. Turn them all",
           lambda q, k, v, turn_heads: [turn_heads(q[:, :1]), q[:, 1:], turn_heads(k[:, :1]), k[:, 1:], v])
wrong_part("last_key_not_turned", "Your last key head is not turned. Turn H + KV heads: queries and keys",
           lambda q, k, v, turn_heads: [turn_heads(q), turn_heads(k[:, :-1]), k[:, -1:], v])
wrong_part("first_value_turned", "Your first value head is turned too. Turn H + KV heads: queries and keys",
           lambda q, k, v, turn_heads: [turn_heads(q), turn_heads(k), turn_heads(v[:, :1]), v[:, 1:]])
wrong_part("nothing_turned", "Nothing of yours is turned. Turn queries and keys",
           lambda q, k, v, turn_heads: [q, k, v])
wrong_part("values_for_keys", "Your keys are the values, turned. A row is H queries, KV keys, then KV values",
           lambda q, k, v, turn_heads: [turn_heads(q), turn_heads(v), v])
for lanes in 4, 8, 16:
    wrong_turn(f"pairs_behind_{lanes}_not_turned", f"Your pairs behind the last full {lanes} are not turned. Turn those that are left over, too",
               lambda x, cosine, sine, lanes=lanes: rotate(HALF_SPLIT, x, cosine, sine, in_full_vectors(turn, lanes)))


def group_by_group(qkv, cosine, sine, KV):
    each = qkv.shape[1] // KV
    is_value = torch.arange(qkv.shape[1]) % each == each - 1
    return torch.where(is_value[:, None], qkv, rotate(HALF_SPLIT, qkv, cosine, sine))


rope_qkv.wrong("group_by_group", "You take a row for H / KV queries, their key and their value, group by group. It is H queries, KV keys, then KV values",
               group_by_group)
rope_qkv.wrong("row_of_the_head", "Your row of the table is the head's. It is the token's, t, for every head",
               lambda qkv, cosine, sine, KV:
               turned_by_head(qkv, cosine, sine, KV) if qkv.shape[1] - KV <= len(cosine) else None)



def in_turn(q, k, v, turn_heads):
    """Keys and values taken to stand in turn: k0 v0 k1 v1 …"""
    both = torch.cat([k, v], 1)
    is_key = torch.arange(both.shape[1]) % 2 == 0
    return [turn_heads(q), torch.where(is_key[:, None], turn_heads(both), both)]


wrong_part("keys_and_values_in_turn", "You take the heads behind the queries for a key, its value, the next key and so on. It is H queries, KV keys, then KV values",
           in_turn)


def at_first(qkv, cosine, sine, KV):
    """KV keys, KV values, and then the queries."""
    is_value = (torch.arange(qkv.shape[1]) >= KV) & (torch.arange(qkv.shape[1]) < 2 * KV)
    return torch.where(is_value[:, None], qkv, rotate(HALF_SPLIT, qkv, cosine, sine))


rope_qkv.wrong("keys_and_values_first", "You take a row for keys, values, queries. It is H queries, KV keys, then KV values", at_first)
wrong_turn("table_doubled_otherwise", "Your table is doubled for the pairs (2i, 2i + 1). Here they are (i, i + D/2): double it so",
           lambda x, cosine, sine: (lambda a, b: x * beside(cosine, cosine)[:, None] + behind(-b, a) * beside(sine, sine)[:, None])(*halves(x)))
wrong_turn("first_without_sine", "Your first number is a cos alone. It is a cos - b sin",
           lambda x, cosine, sine: rotate(HALF_SPLIT, x, cosine, sine, lambda a, b, c, s: (a * c, a * s + b * c)))
wrong_turn("second_sine_negative", "Your second number is b cos - a sin. It is a sin + b cos",
           lambda x, cosine, sine: rotate(HALF_SPLIT, x, cosine, sine, lambda a, b, c, s: (a * c - b * s, b * c - a * s)))
wrong_part("queries_scaled", "Your queries are divided by sqrt(D). Here they are turned alone; the scores are divided later",
           lambda q, k, v, turn_heads: [turn_heads(q) / q.shape[2]**0.5, turn_heads(k), v])
wrong_part("one_key_for_all", "Your keys are all the first one. A row has KV of them",
           lambda q, k, v, turn_heads: [turn_heads(q), turn_heads(k[:, :1]).expand_as(k), v])
wrong_part("keys_turned_twice", "Your keys are turned twice. Once is enough",
           lambda q, k, v, turn_heads: [turn_heads(q), turn_heads(turn_heads(k)), v])
wrong_turn("written_to_the_other_pairs", "Your pairs are read from (i, i + D/2), and written to (2i, 2i + 1). Write a pair to where it was read",
           lambda x, cosine, sine: beside(*turn(*halves(x), cosine[:, None], sine[:, None])))
wrong_turn("read_from_the_other_pairs", "Your pairs are read from (2i, 2i + 1), and written to (i, i + D/2). Read a pair from where it is written",
           lambda x, cosine, sine: behind(*turn(*even_and_odd(x), cosine[:, None], sine[:, None])))
wrong_turn("second_without_sine", "Your second number is b cos alone. It is a sin + b cos",
           lambda x, cosine, sine: rotate(HALF_SPLIT, x, cosine, sine, lambda a, b, c, s: (a * c - b * s, b * c)))
wrong_turn("not_exchanged", "Your sine multiplies the number itself, (a cos - a sin, b cos + b sin). It multiplies the other one of the pair",
           lambda x, cosine, sine: rotate(HALF_SPLIT, x, cosine, sine, lambda a, b, c, s: (a * c - a * s, b * c + b * s)))
wrong_turn("first_pair_for_all", "Your pairs all turn like the first. Pair i turns by cosine[t][i] and sine[t][i]",
           lambda x, cosine, sine: rotate(HALF_SPLIT, x, cosine[:, :1], sine[:, :1]))

rope_qkv.case("by_hand", "A query, a key and a value at positions 0 and 1.",
              qkv=[[[1, 2, 3, 4], [0, 5, 0, 0], [1, 2, 3, 4]]] * 2, **QUARTER_AND_3_4_5, KV=1)
rope_qkv.case("small", "Grouped: four query heads, two key and value heads.",
              qkv=normal(3, 8, 8), **table(range(3), 8), KV=2)
rope_qkv.case("multi_query", "One key and value head for three query heads.",
              qkv=normal(6, 5, 6), **table(range(6), 6), KV=1)
rope_qkv.case("multi_head", "As many of each.",
              qkv=normal(2, 9, 10), **table(range(2), 10), KV=3)
rope_qkv.case("one_token", "One token at position 5, as in decoding.",
              qkv=normal(1, 6, 16), **table([5], 16), KV=1)
rope_qkv.case("left_over", "29 pairs: full vectors of 4, 8 and 16 leave 1, 5 and 13.",
              qkv=normal(2, 3, 58), **table(range(2), 58), KV=1)
rope_qkv.case("llama", "Some heads of a Llama 3.2 1B.",
              qkv=normal(2, 10, 64), **table(range(2), 64, 500000), KV=2)
