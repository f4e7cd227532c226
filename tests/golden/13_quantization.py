"""Chapter 13: blocks of the GGUF formats, by the Python package gguf; and inner products of them, by PyTorch.

Bytes and dequantized values are right to the bit: the package is the formats' definition, and up to the last operation
nothing is rounded that the format does not round. No number lies so near to the middle between two levels that
computing in float64, or dividing by d in place of multiplying by 1 / d, would put it on the other.
"""
import gguf
import numpy as np
import torch
import torch.nn.functional as F
from gguf import GGMLQuantizationType as Type, quants

from golden import Kernel, normal

CHAPTER = "13_quantization"
SIMPLE = {"q8_0": (8, 0), "q4_0": (4, 8), "q4_1": (4, None), "q5_0": (5, 16), "q5_1": (5, None)}  # bits, and which level is 0
ALL = [*SIMPLE, "iq4_nl", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k"]


def type_of(name):
    return Type[name.upper()]


def sizes(name):
    return gguf.GGML_QUANT_SIZES[type_of(name)]  # numbers, bytes


# --- Bytes -------------------------------------------------------------------------------------------------

def as_bytes(tensor):
    return tensor.to(torch.uint8)


def half(value):
    """The two bytes of a float16, low first."""
    return value.to(torch.float16).contiguous().view(torch.uint8)


def half_of(two, kind=torch.float16):
    return two.contiguous().view(kind).to(torch.get_default_dtype())


def half_swapped(value):
    return half(value).flip(-1)


def half_of_swapped(two):
    return half_of(two.flip(-1))


def half_without_subnormals(two):
    d = half_of(two)
    return torch.where(d.abs() < 2 ** -14, 0, d)


def half_widened(two, zero_too=True):
    """The mistake: exponent and fraction are moved to their places in a float32, as if no exponent were 0."""
    bits, d = two.contiguous().view(torch.int16).long(), half_of(two)
    widened = torch.where(bits < 0, -1, 1).to(d.dtype) * (1 + (bits & 1023).to(d.dtype) / 1024) * 2.0 ** -15
    return torch.where(bits >> 10 & 31 != 0, d, widened if zero_too else torch.where(bits & 0x7fff == 0, 0, widened))


def half_flushed(value):
    return half(torch.where(value.to(torch.float16).abs() < 2 ** -14, 0, value))


def half_cut_off(value):
    """Towards zero."""
    nearest = value.to(torch.float16).contiguous()
    return (nearest.view(torch.int16) - (nearest.to(value.dtype).abs() > value.abs()).to(torch.int16)).view(torch.uint8)


def bf16(value):
    return value.to(torch.bfloat16).contiguous().view(torch.uint8)


def bf16_of(two):
    return half_of(two, torch.bfloat16)


def packed(q):
    """Low halves of 16 bytes, then high ones."""
    return (q[:, :16] & 15) | (q[:, 16:] & 15) << 4


def packed_neighbours(q):
    return (q[:, 0::2] & 15) | (q[:, 1::2] & 15) << 4


def packed_exchanged(q):
    return (q[:, 16:] & 15) | (q[:, :16] & 15) << 4


def unpacked(bytes_):
    return torch.cat([bytes_ & 15, bytes_ >> 4], -1)


def unpacked_neighbours(bytes_):
    return torch.stack([bytes_ & 15, bytes_ >> 4], -1).flatten(-2)


def unpacked_exchanged(bytes_):
    return torch.cat([bytes_ >> 4, bytes_ & 15], -1)


def unpacked_unmasked(bytes_):
    return torch.cat([bytes_, bytes_ >> 4], -1)


def unpacked_unshifted(bytes_):
    return torch.cat([bytes_ & 15, bytes_ & 240], -1)


def unpacked_low_twice(bytes_):
    return torch.cat([bytes_ & 15, bytes_ & 15], -1)


def fifth_bits(q, places=range(8), order=None):
    bits = (q >> 4 & 1).reshape(len(q), 4, 8)
    sums = (bits << torch.tensor(list(places))).sum(-1)
    return sums if order is None else sums[:, order]


def fifth_bits_from(first, second):
    """The mistake: the fifth bits of the first and the second 16 numbers begin at these of the 32, behind which all are 0."""
    return lambda four: (lambda bits: torch.cat([bits[:, first:first + 16], bits[:, second:second + 16]], 1))(F.pad(of_fifth(four), (0, 4)))


def fifth_bits_moved(first, second):
    """The mistake: the fifth bits of the first and the second 16 numbers stand from these of the 32 on."""
    def fifth(q):
        bits = (q >> 4 & 1).reshape(len(q), 2, 16)
        word = sum((bits[:, half] << torch.arange(16) + at).sum(-1) for half, at in enumerate((first, second)) if at is not None)
        return word[:, None] >> torch.tensor([0, 8, 16, 24]) & 255
    return fifth


def of_fifth(four, places=range(8), order=None):
    four = four if order is None else four[:, order]
    return (four[..., None] >> torch.tensor(list(places)) & 1).flatten(-2)


# --- Numbers to levels -------------------------------------------------------------------------------------

def inverse(d):
    return torch.where(torch.isfinite(1 / d), 1 / d, 0)


def over(b, d):
    """b / d as the package has it, which multiplies."""
    return b * inverse(d)


def over_zero(b, d):
    return b * torch.where(d == 0, torch.nan, 1 / d)


def nearest_or(highest, nearest):
    """Where the scale is 0, 0 / 0 is NaN, and fminf(highest, NaN) is the highest level."""
    return lambda x: torch.nan_to_num(nearest(x), nan=highest)


def divided(b, d):
    """In float32, whatever is asked: in float64 the two are the same."""
    b, d = b.float(), d.float()
    return torch.where(torch.isfinite(1 / d), b / d, 0).to(b.dtype)


def most(b):
    """The first number of largest magnitude, with its sign."""
    return b.gather(1, b.abs().argmax(1, keepdim=True))


def amax(b):
    return b.abs().amax(1, keepdim=True)


def first_with_its_sign(b):
    """Magnitudes, but for the first number."""
    return torch.cat([b[:, :1], b[:, 1:].abs()], 1)


def away(x):
    return torch.sign(x) * torch.floor(x.abs() + 0.5)


def up(x):
    return torch.floor(x + 0.5)


def whole(x):
    """What a cast to an integer makes of a NaN is 0, on most machines."""
    return torch.nan_to_num(x, nan=0.0).long()


def highest_of(name):
    return 2 ** SIMPLE[name][0] - 1


def quantized(name, scale=None, low=None, over=over, round_=None, clip=True, pack=packed, store=half, fifth=fifth_bits,
              kept=lambda d, m: (d, m), shift=None, levels=lambda q: q, used=lambda d: d, whole_row=False):
    """The formula of a format, as x -> bytes [rows][bytes]; each argument is one of its steps."""
    bits, zero = SIMPLE[name]
    highest = highest_of(name)
    shift = zero if shift is None else shift
    if zero is None:
        low = low or (lambda b: b.amin(1, keepdim=True))
        scale = scale or (lambda b: (b.amax(1, keepdim=True) - b.amin(1, keepdim=True)) / highest)
    elif name == "q8_0":
        scale = scale or (lambda b: amax(b) / 127)
    else:
        scale = scale or (lambda b: most(b) / -zero)

    def formula(x):
        b = x.reshape(-1, 32)
        of = (lambda step: step(x).repeat_interleave(x.shape[1] // 32, 0)) if whole_row else (lambda step: step(b))
        d, m = of(scale), of(low) if low else 0
        real = over(b - m, used(d))
        if name == "q8_0":
            q = whole((round_ or away)(real)) + shift
            bytes_ = torch.cat([store(kept(d, m)[0]).long(), levels(q) & 255], 1)
            return bytes_.reshape(len(x), -1).to(x.dtype)
        q = whole((round_ or up)(real + (shift or 0)))
        q = levels(q.clamp(0, highest) if clip else q)
        d, m = kept(d, m)
        parts = [store(d).long()] + ([] if zero is not None else [store(m).long()])
        parts += [fifth(q)] if bits == 5 else []
        return torch.cat([*parts, pack(q) & 255], 1).reshape(len(x), -1).to(x.dtype)

    return formula


def by_gguf(name):
    """The package's bytes. It quantizes in float32, whatever is asked."""
    return lambda x: torch.from_numpy(quants.quantize(x.float().numpy(), type_of(name)).copy()).to(x.dtype)


def from_gguf(name):
    return lambda blocks: torch.from_numpy(quants.dequantize(as_bytes(blocks).numpy(), type_of(name)).copy()).to(blocks.dtype)


TRUNCATED = "You cut the fraction off. Round to the nearest level: add 0.5 before the cast (or call roundf for signed levels)"
NEIGHBOURS = ("You put neighbours into one byte. A byte has numbers j and j + 16: the first sixteen are the low halves, the "
              "last sixteen the high ones")
EXCHANGED = "Your halves are exchanged. The first sixteen numbers are the low halves of the bytes, the last sixteen the high ones"
UNMASKED = "You take the whole byte for the first sixteen numbers. Theirs is its low half: & 15"
UNSHIFTED = "You do not shift the high half of a byte down. Its level is q >> 4: & 0xf0 alone is 16 times that"
LOW_TWICE = "You take the low halves for all 32 numbers. The last sixteen are the high ones, q >> 4"
SWAPPED = "Your float16 has its high byte first. In a file the low byte comes first, on every machine"
AS_BF16 = "Your scale is a bfloat16, the upper half of a float32. It is an IEEE float16: f16_to_float, f16_from_float"
WIDENED = ("Your float16 is widened as if its exponent were never 0. Where it is, below 2^-14, the number is the fraction times 2^-24: "
           "f16_to_float knows it")
WIDENED_ZERO = "Your float16 of 0 is 2^-15. Where the exponent is 0 the number is the fraction times 2^-24: f16_to_float knows it"
LAST = "Your scale is behind the levels. It is what a block begins with"
SUBNORMAL = ("Your float16 is 0 below 2^-14. There its exponent is 0, and it is the fraction times 2^-24: f16_to_float knows it")
FIFTH_REVERSED = ("Your fifth bits run from the top of each byte down. Number j has bit j % 8, counted from the lowest, of "
                  "byte j / 8")
FIFTH_TWELVE = ("Your numbers 16 to 31 have the fifth bits 12 to 27. Shift by 16 to have theirs lowest; by 12 they are bit 4, where "
                "they belong, already")
FIFTH_TWENTY = ("Your numbers 16 to 31 have the fifth bits from 20 on: you shift by 16 and take bit 4. Shift by 12 before & 0x10, or take bit 0")
FIFTH_FOUR = ("Your numbers 0 to 15 have the fifth bits from 4 on: & 0x10 of what you shifted by j is bit j + 4. Shift it up first: "
              "qh >> j << 4 & 0x10")
FIFTH_TURNED = "Your four bytes of fifth bits stand in reverse. The lowest byte comes first: numbers 0 to 7"
FIFTH_PAIRED = ("Your fifth bits stand in the order of the bytes of q: those of 0, 16, 1, 17 and so on. They stand in the "
                "order of the numbers")
FIFTH_MISSING = "Your fifth bits are missing. Bit 4 of level j is bit j of the four bytes before q"
ROW = "Your scale is of the whole row. Each 32 numbers have their own"


def with_columns(blocks, order):
    return blocks[:, order]


def fifth_bits_behind(name):
    """The bytes of a block, with the four of fifth bits moved to the end."""
    _, bytes_ = sizes(name)
    return [*range(bytes_ - 20), *range(bytes_ - 16, bytes_), *range(bytes_ - 20, bytes_ - 16)]


def read_in_order(name, order, right):
    """Blocks taken to have their bytes in another order: byte i of the format is read from byte order[i]."""
    return lambda blocks: right(blocks.reshape(-1, sizes(name)[1])[:, order].reshape(blocks.shape))


def make_quantizer(name):
    bits, zero = SIMPLE[name]
    highest = highest_of(name)
    kernel = Kernel(f"quantize_{name}", CHAPTER, f"gguf.quants.{name.upper()}.quantize", exact=True, library="gguf",
                    pytorch=by_gguf(name), formula=quantized(name))

    def wrong(twin, advice, **change):
        kernel.wrong(twin, advice, quantized(name, **change))

    wrong("fraction_cut_off", TRUNCATED, round_=torch.trunc)
    wrong("high_byte_first", SWAPPED, store=half_swapped)
    wrong("scale_in_bf16", AS_BF16, store=bf16)
    wrong("multiplied_by_d", "You multiply by d. A level is how many times d a number is: multiply by 1 / d", over=lambda b, d: b * d)
    wrong("inverse_stored", "You store 1 / d. Store d: reading is a multiplication by it",
          kept=lambda d, m: (inverse(d), m))
    wrong("stored_scale_used", "You divide by d after it was rounded to float16. The levels are chosen with the float32 d; only "
          "what is stored is rounded", used=lambda d: d.to(torch.float16).to(d.dtype))
    wrong("subnormal_scale_zero", "Your float16 is 0 below 2^-14. Down to 2^-24 there are numbers, without a leading 1: f16_from_float knows them",
          store=half_flushed)
    wrong("scale_cut_off", "Your float16 is cut off. Round it to the nearest one, ties to even: f16_from_float", store=half_cut_off)
    kernel.wrong("scale_last", "You write the scale behind the levels. It is what a block begins with",
                 lambda x: quantized(name)(x).reshape(-1, sizes(name)[1]).roll(-2 if zero is not None else -4, 1).reshape(len(x), -1))
    if name == "q8_0":
        wrong("amax_over_128", "You divide the largest magnitude by 128. Divide by 127, so that it becomes 127 or -127",
              scale=lambda b: amax(b) / 128)
        wrong("amax_stored", "You store the largest magnitude. Store d, which is that over 127", kept=lambda d, m: (127 * d, m))
        wrong("level_without_sign", "Your levels are never negative. fabsf is for the scale; a level has its number's sign",
              levels=lambda q: q.abs())
        wrong("unsigned_levels", "Your levels are shifted by 128, as unsigned bytes. They are signed ones", shift=128)
        wrong("scale_of_half_a_block", "Your scale is that of the first 16 numbers of a block. Look at all 32", scale=lambda b: amax(b[:, :16]) / 127)
        wrong("no_magnitude", "Your scale is of the largest number. Take the largest magnitude: fabsf before the comparison",
              scale=lambda b: b.amax(1, keepdim=True) / 127)
        for twin, limited in ("", lambda q: q), ("_and_limited", lambda q: q.clamp(-128, 127)), ("_and_limited_to_127", lambda q: q.clamp(-127, 127)):
            wrong(f"first_with_its_sign{twin}", "Your search for the largest magnitude begins with x[0], and if that is negative it does not count. "
                  "Begin with its magnitude, or with 0", scale=lambda b: first_with_its_sign(b).amax(1, keepdim=True) / 127, levels=limited)
        wrong("zeros_divided_by_zero", "In a block of zeros you divide by zero. Take 0 for 1 / d there: every level is 0", over=over_zero,
              round_=nearest_or(127, away))
        wrong("signed_scale", "Your scale has the sign of the number it comes from, as in q4_0. Here it is never negative: "
              "fabsf", scale=lambda b: most(b) / 127)
        wrong("half_up", "You round a half up: floorf(x + 0.5f). It goes away from zero, as roundf has it", round_=up)
        wrong("half_to_even", "You round a half to the even level, as rintf does. It goes away from zero, as roundf has it",
              round_=torch.round)
        wrong("whole_row_scale", ROW, whole_row=True)
        wrong("divided_by_d", "You divide by d. Multiply by 1 / d, both float32, as gguf does: near the middle of two levels "
              "the two go apart", over=divided)
    else:
        wrong("neighbours_in_a_byte", NEIGHBOURS, pack=packed_neighbours)
        wrong("halves_exchanged", EXCHANGED, pack=packed_exchanged)
        wrong("half_to_even", "You round a half to the even level, as rintf does. It goes up: add 0.5 and cut the fraction off",
              round_=torch.round)
    if zero is not None and name != "q8_0":
        wrong("half_away_from_zero", f"You round x / d away from zero, and then add {zero}. A half goes up: add {zero}.5 and cut the fraction off",
              round_=lambda real: away(real - zero) + zero)
        wrong("zero_level_one_less", f"You add {zero - 1}.5 before the cast. The number 0 is level {zero}: add {zero}.5", shift=zero - 1)
    if zero is not None and name != "q8_0":
        wrong("unsigned_amax", f"Your d is the largest magnitude over {zero}, without its sign. Divide the number itself by "
              f"-{zero}: it becomes level 0, whichever sign it has", scale=lambda b: amax(b) / zero)
        wrong("unsigned_amax_negative", f"Your d is the largest magnitude over -{zero}, without its sign. Divide the number "
              f"itself by -{zero}", scale=lambda b: amax(b) / -zero)
        wrong("positive_divisor", f"You divide the number of largest magnitude by {zero}. Divide by -{zero}: it becomes level "
              f"0, not the level {2 * zero} that does not exist", scale=lambda b: most(b) / zero)
        wrong("one_level_unused", f"You divide by {zero - 1}, which leaves a level unused. Divide the number of largest "
              f"magnitude by -{zero}", scale=lambda b: amax(b) / (zero - 1))
        wrong("level_not_limited", f"Your highest level is not limited: {2 * zero} does not fit its bits. Take {highest} where "
              "it is more", clip=False)
        wrong("last_of_equals", "Of two equal magnitudes you take the sign of the last. Take the first's: compare with >, not with >=",
              scale=lambda b: most(b.flip(1)) / -zero)
        other = 24 - zero
        wrong("divisor_of_the_other_format", f"You divide the number of largest magnitude by -{other}, as q{bits ^ 1}_0 does. Here it "
              f"is -{zero}", scale=lambda b: most(b) / -other)
        wrong("scale_of_half_a_block", "Your scale is that of the first 16 numbers of a block. Look at all 32",
              scale=lambda b: most(b[:, :16]) / -zero)
        wrong("signed_nibbles", f"Your levels are signed, in two's complement. They are counted from 0: add {zero}",
              levels=lambda q: (q - zero) & highest)
        wrong("first_with_its_sign", "Your search for the largest magnitude begins with x[0], and if that is negative it does not count. Begin with "
              "its magnitude, or with 0", scale=lambda b: b.gather(1, first_with_its_sign(b).argmax(1, keepdim=True)) / -zero)
        for twin, level in ("zeros_divided_by_zero", 0), ("zeros_divided_by_zero_and_limited", highest):
            wrong(twin, f"In a block of zeros you divide by zero. Take 0 for 1 / d there: every level is {zero}", over=over_zero,
                  round_=nearest_or(level, up))
        wrong("whole_row_scale", ROW, whole_row=True)
    if zero is None:
        lowest = lambda b: b.amin(1, keepdim=True)
        span = lambda b: b.amax(1, keepdim=True) - b.amin(1, keepdim=True)
        wrong("one_level_too_many", f"You divide max - min by {highest + 1}. {highest + 1} levels have {highest} steps between "
              "them", scale=lambda b: span(b) / (highest + 1))
        wrong("minimum_not_subtracted", "You do not subtract the minimum before you divide by d", low=lambda b: 0 * lowest(b),
              kept=lambda d, m: (d, m), scale=lambda b: span(b) / highest)
        wrong("minimum_negated", "You store -min. Store the minimum itself: it is added when the block is read (K-quants are "
              "the ones that subtract)", kept=lambda d, m: (d, -m))
        wrong("scale_and_minimum_exchanged", "Your minimum stands before the scale. The scale d comes first",
              kept=lambda d, m: (m, d))
        wrong("maximum_for_minimum", "You store the maximum. Store the minimum, which is level 0",
              kept=lambda d, m: (d, d * highest + m))
        below = lambda b: b.amin(1, keepdim=True).clamp(max=0)
        wrong("minimum_never_positive", "Your minimum is 0 where all numbers are positive: it begins at 0. Begin with the first number",
              scale=lambda b: (b.amax(1, keepdim=True) - below(b)) / highest, low=below, kept=lambda d, m: (d, m))
        above = lambda b: b.amax(1, keepdim=True).clamp(min=0)
        wrong("maximum_never_negative", "Your maximum is 0 where all numbers are negative: it begins at 0. Begin with the first number",
              scale=lambda b: (above(b) - lowest(b)) / highest)
        from_zero = lambda b: lowest(b).clamp(min=0)
        wrong("minimum_never_negative", "Your minimum is 0 where it should be negative. Take the least number, whichever sign it has",
              scale=lambda b: (b.amax(1, keepdim=True) - from_zero(b)) / highest, low=from_zero)
        wrong("magnitudes", "Your range is one of magnitudes. Take the least and the largest number, with their signs",
              scale=lambda b: (b.abs().amax(1, keepdim=True) - b.abs().amin(1, keepdim=True)) / highest,
              low=lambda b: b.abs().amin(1, keepdim=True))
        wrong("equals_divided_by_zero", "In a block of equal numbers you divide by zero. Take 0 for 1 / d there: every level is 0", over=over_zero,
              round_=nearest_or(highest, up))
        wrong("stored_minimum_used", "You subtract the minimum after it was rounded to float16. The levels are chosen with the float32 minimum; only what is "
              "stored is rounded", low=lambda b: lowest(b).to(torch.float16).to(b.dtype))
        wrong("whole_row_scale", ROW + ", and their own minimum", whole_row=True)
    if bits == 5:
        order = torch.arange(32).reshape(2, 16).T.flatten()
        wrong("fifth_bit_missing", FIFTH_MISSING, fifth=lambda q: 0 * fifth_bits(q))
        wrong("fifth_bits_reversed", FIFTH_REVERSED, fifth=lambda q: fifth_bits(q, range(7, -1, -1)))
        wrong("fifth_bits_from_4_on", "Your fifth bits stand four too high: level & 0x10 is bit 4 already. Shift it down before you shift it up by j",
              fifth=fifth_bits_moved(4, 20))
        wrong("fifth_bits_of_the_last_16_missing", "Your last sixteen numbers have no fifth bits. Theirs are bits 16 to 31",
              fifth=fifth_bits_moved(0, None))
        wrong("fifth_bits_over_each_other", "Your last sixteen numbers have their fifth bits where those of the first are. Theirs are bits 16 to 31",
              fifth=lambda q: (lambda b: torch.cat([b[:, :2] | b[:, 2:], 0 * b[:, 2:]], 1))(fifth_bits(q)))
        wrong("fifth_halves_exchanged", "Your fifth bits of the first sixteen numbers are those of the last, and the other way round",
              fifth=fifth_bits_moved(16, 0))
        kernel.wrong("fifth_bits_last", "You write the fifth bits behind the lower four. They stand before them",
                     lambda x: with_columns(quantized(name)(x).reshape(-1, sizes(name)[1]), fifth_bits_behind(name)).reshape(len(x), -1))
        wrong("fifth_bytes_reversed", FIFTH_TURNED, fifth=lambda q: fifth_bits(q, order=[3, 2, 1, 0]))
        wrong("fifth_bits_by_bytes", FIFTH_PAIRED, fifth=lambda q: fifth_bits(q[:, order]))

    steps = highest if name != "q8_0" else 254
    unit = 2.0 ** -6
    grid = (np.arange(32) * 5 % (highest + 1)) if name != "q8_0" else np.arange(32) * 8 - 127
    exact = (grid - (zero if zero else 0)) * unit
    kernel.case("by_hand", f"levels that are met exactly, {unit} apart", x=[exact.tolist()])
    kernel.case("normal", "two rows of three blocks of normal numbers", x=normal(2, 96))
    kernel.case("small", "numbers as small as a model's weights", x=normal(3, 32, scale=0.02))
    kernel.case("shifted", "numbers that lie far from zero, all on one side, and then on the other",
                x=normal(2, 64, shift=[[9], [-9]]))
    kernel.case("two_scales", "a row whose second block is a hundred times as large as its first",
                x=lambda random: random.standard_normal((1, 64)) * np.repeat([0.05, 5], 32))
    kernel.case("outlier", "one number a hundred times as large as its neighbours, positive and negative",
                x=lambda random: random.standard_normal((2, 32)) + np.outer([100, -100], np.arange(32) == 21))
    kernel.case("zeros", "a block of zeros beside one of ordinary numbers",
                x=lambda random: np.stack([np.zeros(32), random.standard_normal(32)]))
    # Which of two zeros is the largest, or the least, nobody says; but llama.cpp begins at +0.
    first = -0.0 if zero is None else 0.0
    kernel.case("negative_zeros", "zeros with a sign, alone and among ordinary numbers",
                x=lambda random: np.stack([np.where(np.arange(32), -0.0, first),
                                           np.where(np.arange(32) % 3, random.standard_normal(32), -0.0)]))
    kernel.case("all_equal", "blocks of one number, positive and negative",
                x=np.repeat([[1.25], [-1.25]], 32, 1).tolist())
    kernel.case("tiny", "scales that are subnormal in float16, or round to zero there",
                x=lambda random: random.standard_normal((4, 32)) * [[3e-5], [2e-6], [1e-8], [1e-30]])
    kernel.case("subnormal", "subnormal float32 numbers among ordinary ones",
                x=lambda random: np.where(np.arange(32) % 2, 1e-40, random.standard_normal((2, 32))))
    kernel.case("large", "numbers in the ten thousands", x=normal(2, 32, scale=12345))
    peak = np.zeros((4, 32))
    peak[0, [3, 17]], peak[1, [3, 17]], peak[2, 30], peak[3, 0] = [3, -3], [-3, 3], 3, -3
    kernel.case("largest", "the largest magnitude positive, negative, and both, with either first",
                x=lambda random: np.where(peak, peak, random.uniform(-2.5, 2.5, peak.shape)))
    middles = (np.arange(32) % steps if name != "q8_0" else np.arange(32) * 7 - 120) + 0.5 - (zero or 0)
    ends = {"q8_0": [127, -127]}.get(name, [-zero, -zero] if zero else [0, highest])
    middles = np.clip(middles, min(ends), max(ends) if zero is None or name == "q8_0" else zero - 1.5)
    middles[[0, 31]] = ends
    kernel.case("ties", "numbers half way between two levels", x=[(middles * 0.25).tolist()])
    if name == "q8_0":
        largest = np.float32(15.8828125)
        middles = ((np.arange(33, 64, 2) + 0.5) * (largest / np.float32(127))).astype(np.float32)
        below = np.nextafter(middles, np.float32(0))
        kernel.case("below_ties", "numbers just below the middle of two levels: they stay there times 1 / d, but not divided "
                    "by d", x=[[largest, *below, *-below[1:]]])


# --- Levels to numbers: 32 a block ---------------------------------------------------------------------------

IQ4 = torch.tensor([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113])
MXFP4 = torch.tensor([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12])
NF4 = 127 * torch.tensor([-1, -0.69619280, -0.52507305, -0.39491749, -0.28444138, -0.18477343, -0.09105004, 0,
                          0.07958030, 0.16093020, 0.24611230, 0.33791524, 0.44070983, 0.56261700, 0.72295684, 1])


def values32(name, read=half_of, unpack=unpacked, fifth=of_fifth, zero=None, minimum=lambda m: m, order=lambda d, m: (d, m),
             signed=None, levels=lambda q: q, first=None, join=lambda high, q: high << 4 | q):
    """blocks -> numbers [rows][n] of a format with 32 a block; each argument is one of its steps."""
    bits, own_zero = SIMPLE.get(name, (4, 0))
    zero = own_zero if zero is None else zero

    def formula(blocks):
        raw = as_bytes(blocks).reshape(-1, sizes(name)[1])
        whole_numbers = raw.long()
        d, rest = read(raw[:, :2]), 2
        m = 0
        if own_zero is None:
            d, m = order(d, read(raw[:, 2:4]))
            m, rest = minimum(m), 4
        if first:
            each = d.reshape(len(blocks) if first == "of its row" else 1, -1)
            d = each[:, :1].expand(each.shape).reshape(d.shape)
        if name == "q8_0":
            q = (signed or (lambda b: (b ^ 128) - 128))(whole_numbers[:, 2:])
        else:
            high = 0
            if bits == 5:
                high, rest = fifth(whole_numbers[:, rest:rest + 4]), rest + 4
            q = join(high, unpack(whole_numbers[:, rest:]))
            q = signed(q) if signed else q - (zero or 0)
            q = IQ4[q] if name == "iq4_nl" and not signed else q
        out = d * levels(q).to(d.dtype) + m
        return out.reshape(len(blocks), -1)

    return formula


def minimum_times_scale(name):
    """The mistake: d (q + m)."""
    def formula(blocks):
        d, m = (half_of(as_bytes(blocks).reshape(-1, sizes(name)[1])[:, at:at + 2]) for at in (0, 2))
        levels = values32(name, read=lambda two: torch.ones_like(half_of(two)), minimum=lambda m: 0 * m)(blocks)
        return (d * (levels.reshape(len(d), -1) + m)).reshape(len(blocks), -1)

    return formula


def random_blocks(name, rows, count, seed, scale=0.01):
    """Blocks of any bytes, but with scales as weights have them, of either sign."""
    numbers, bytes_ = sizes(name)
    random = np.random.default_rng([seed, *name.encode()])
    blocks = random.integers(0, 256, (rows * count, bytes_), dtype=np.uint8)
    places = {"q4_1": [0, 2], "q5_1": [0, 2], "q2_k": [80, 82], "q3_k": [108], "q4_k": [0, 2], "q5_k": [0, 2],
              "q6_k": [208]}.get(name, [0])
    for place in places:
        scales = (scale * random.uniform(0.5, 2, rows * count) * random.choice([1, -1], rows * count)).astype("<f2")
        blocks[:, place:place + 2] = scales.view(np.uint8).reshape(-1, 2)
    return torch.from_numpy(blocks.reshape(rows, count * bytes_))


def with_bytes(blocks, name, start, values):
    """The same with these bytes of every block set."""
    shape = blocks.shape
    blocks = blocks.clone().reshape(-1, sizes(name)[1])
    blocks[:, start:start + len(values)] = torch.tensor(values, dtype=torch.uint8)
    return blocks.reshape(shape)


HALF = {value: list(np.float16(value).tobytes()) for value in (0.0, 1.0, 2.0 ** -24, 60000.0, -0.25)}


def make_reader(name):
    kernel = Kernel(f"dequantize_{name}", CHAPTER, f"gguf.quants.{name.upper()}.dequantize", exact=True, library="gguf",
                    pytorch=from_gguf(name), formula=values32(name) if sizes(name)[0] == 32 else values256(name))
    (wrong_simple if sizes(name)[0] == 32 else wrong_k)(kernel, name)
    one = random_blocks(name, 1, 1, 1)
    scale_at = {"q2_k": 80, "q3_k": 108, "q6_k": 208}.get(name, 0)
    kernel.case("random", "one block of any bytes, its scales as weights have them", blocks=one)
    kernel.case("again", "another one", blocks=random_blocks(name, 1, 1, 2))
    if sizes(name)[0] == 32:
        kernel.case("rows", "two rows of three blocks", blocks=random_blocks(name, 2, 3, 3))
    else:
        kernel.case("rows", "two rows of two blocks", blocks=random_blocks(name, 2, 2, 3))
    few = 1 if sizes(name)[0] == 32 else 2  # two blocks of 256 are too many numbers for twins
    kernel.case("scale_one", "a scale of 1", blocks=with_bytes(random_blocks(name, 1, few, 4), name, scale_at, HALF[1.0]))
    kernel.case("scale_negative", "a negative scale",
                blocks=with_bytes(random_blocks(name, 1, few, 5), name, scale_at, HALF[-0.25]))
    kernel.case("scale_least", "the least scale that float16 has, 2^-24",
                blocks=with_bytes(random_blocks(name, 1, few, 6), name, scale_at, HALF[2.0 ** -24]))
    kernel.case("scale_large", "a scale of 60000",
                blocks=with_bytes(random_blocks(name, 1, few, 7), name, scale_at, HALF[60000.0]))
    if sizes(name)[0] == 256 or SIMPLE.get(name, (4, 0))[1] is None:  # the others' least scale shows it
        kernel.case("scale_subnormal", "scales so small that float16 has them without a leading 1",
                    blocks=random_blocks(name, 1, 1, 9, 2e-5))
    if sizes(name)[0] == 32:
        kernel.case("scale_zero", "a block of scale 0 beside another one",
                    blocks=torch.cat([with_bytes(one, name, 0, HALF[0.0]), random_blocks(name, 1, 1, 8)]))
    else:
        start, end = (0, scale_at) if scale_at else (4, sizes(name)[1])
        for title, byte, sentence in ("ones", 255, "all bits of levels and scales set"), ("alternating", 0xA5, "alternating bits"):
            kernel.case(title, sentence, blocks=with_bytes(random_blocks(name, 1, few, 8), name, start, [byte] * (end - start)))


def wrong_simple(kernel, name):
    bits, zero = SIMPLE.get(name, (4, 0))

    def wrong(twin, advice, **change):
        kernel.wrong(twin, advice, values32(name, **change))

    wrong("high_byte_first", SWAPPED, read=half_of_swapped)
    wrong("scale_in_bf16", AS_BF16, read=bf16_of)
    wrong("subnormal_scale_zero", SUBNORMAL, read=half_without_subnormals)
    wrong("subnormal_scale_widened", WIDENED, read=lambda two: half_widened(two, zero_too=False))
    wrong("zero_scale_widened", WIDENED_ZERO, read=half_widened)
    behind = 2 if zero is not None else 4
    kernel.wrong("scale_last", LAST, read_in_order(name, [*range(sizes(name)[1] - behind, sizes(name)[1]), *range(sizes(name)[1] - behind)],
                                                   values32(name)))
    wrong("first_scale_for_all", "All your blocks have the first one's scale. Each block has its own", first="of all")
    if name == "q8_0":
        wrong("unsigned_levels", "Your levels are unsigned. They are signed bytes: int8_t", signed=lambda b: b)
        wrong("divided_by_127", "You divide the levels by 127. d is that of one level already: d q", levels=lambda q: q / 127)
        wrong("sign_and_magnitude", "You take the highest bit of a level for its sign alone. Levels are in two's complement: int8_t",
              signed=lambda b: torch.where(b > 127, 128 - b, b))
        wrong("shifted_levels", "You subtract 128 from each byte. The bytes are signed already: int8_t", signed=lambda b: b - 128)
    else:
        wrong("neighbours_in_a_byte", NEIGHBOURS, unpack=unpacked_neighbours)
        wrong("halves_exchanged", EXCHANGED, unpack=unpacked_exchanged)
        wrong("neighbours_high_first", NEIGHBOURS, unpack=lambda b: torch.stack([b >> 4, b & 15], -1).flatten(-2))
        wrong("low_halves_twice", LOW_TWICE, unpack=unpacked_low_twice)
    if bits < 8 and name != "iq4_nl":  # whose table ends with level 15
        wrong("low_half_not_masked", UNMASKED, unpack=unpacked_unmasked)
        wrong("high_half_not_shifted", UNSHIFTED, unpack=unpacked_unshifted)
    if name == "iq4_nl":
        wrong("no_table", "Your levels lie one scale apart, as in q4_0. Here each is an entry of a table of 16",
              signed=lambda q: q - 8)
        wrong("table_of_nf4", "Your table is that of NF4, times 127. IQ4_NL has one of its own", signed=lambda q: NF4[q.long()])
        wrong("table_reversed", "Your table is read from its end. Level 0 is its first entry, -127",
              levels=lambda q: -q)
        wrong("zero_in_the_table", "Your table has a 0 for level 8. That entry is 1", signed=lambda q: torch.where(q == 8, 0, IQ4[q]))
        wrong("minus_one_in_the_table", "Your table has -1 for level 8. That entry is 1: seven of the others are positive, and eight negative",
              signed=lambda q: torch.where(q == 8, -1, IQ4[q]))
        wrong("table_from_-128", "Your table begins with -128. It begins with -127", signed=lambda q: torch.where(q == 0, -128, IQ4[q]))
        wrong("table_to_127", "Your table ends with 127. It ends with 113", signed=lambda q: torch.where(q == 15, 127, IQ4[q]))
        wrong("table_mirrored", "Your negative entries are the positive ones with a minus. The table is lopsided: it begins with -127, and ends with 113",
              signed=lambda q: torch.where(q < 8, -IQ4[torch.where(q < 8, 15 - q, q)], IQ4[q]))
        wrong("table_without_minus", "Your table has lost its signs. Its first eight entries are negative", signed=lambda q: IQ4[q].abs())
        wrong("bytes_without_a_sign", "Your table has bytes without a sign, as char has none on ARM: -127 is 129 there. Make it int8_t",
              signed=lambda q: IQ4[q] & 255)
        wrong("index_in_twos_complement", "You take an index for two's complement. Indices count from 0: level 0 is -127, and 8 is 1",
              signed=lambda q: IQ4[q ^ 8])
        wrong("table_of_mxfp4", "Your table is that of MXFP4. IQ4_NL has one of its own", signed=lambda q: MXFP4[q])
        wrong("8_subtracted", "You subtract 8 from the table's entries. They are signed already", levels=lambda q: q - 8)
        wrong("divided_by_127", "You divide the table's entries by 127. They are multiplied by d as they are",
              levels=lambda q: q / 127)
    elif zero:
        wrong("unsigned_levels", f"You do not subtract {zero}. Level {zero} is the number 0", signed=lambda q: q)
        wrong("twos_complement", f"You take the levels for two's complement. They are counted from 0: subtract {zero}",
              signed=lambda q: (q ^ zero) - zero)
        wrong("byte_without_sign", f"Your q - {zero} is a byte without a sign: below {zero} it is 256 too large. Make it an int",
              signed=lambda q: q - zero & 255)
        wrong("one_less_subtracted", f"You subtract {zero - 1}. Level {zero} is the number 0", zero=zero - 1)
        wrong("zero_of_the_first_half", f"You subtract {zero} from the first 16 levels of a block alone. All 32 are counted from 0",
              signed=lambda q: torch.cat([q[:, :16] - zero, q[:, 16:]], 1))
        kernel.wrong("zero_not_scaled", f"You subtract {zero} from d q. Subtract it from the level: d (q - {zero})",
                     lambda blocks: values32(name, signed=lambda q: q)(blocks) - zero)
        other = 24 - zero
        wrong("zero_of_the_other_format", f"You subtract {other}, as q{bits ^ 1}_0 does. Here level {zero} is the number 0", zero=other)
        wrong("middle_of_the_levels", f"You subtract {zero - 0.5}, the middle of the levels. Level {zero} is the number 0",
              zero=zero - 0.5)
    elif zero is None:
        wrong("minimum_subtracted", "You subtract the minimum. It is added here: d q + m (K-quants subtract theirs)",
              minimum=lambda m: -m)
        wrong("minimum_forgotten", "You leave out the minimum: d q + m", minimum=lambda m: 0 * m)
        kernel.wrong("minimum_times_scale", "You multiply the minimum by the scale. It is d q + m, and not d (q + m)",
                     minimum_times_scale(name))
        wrong("scale_and_minimum_exchanged", "You read the minimum before the scale. The scale d comes first",
              order=lambda d, m: (m, d))
        wrong("zero_subtracted", f"You subtract {2 ** (bits - 1)}, as the formats without a minimum do. Here level 0 is the "
              "minimum", zero=2 ** (bits - 1))
    if bits == 5:
        wrong("fifth_bit_missing", FIFTH_MISSING, fifth=lambda four: 0 * of_fifth(four))
        kernel.wrong("fifth_bits_last", "You read the fifth bits from behind the lower four. They stand before them", read_in_order(
            name, (lambda bytes_: [*range(bytes_ - 20), *range(bytes_ - 4, bytes_), *range(bytes_ - 20, bytes_ - 4)])(sizes(name)[1]), values32(name)))
        wrong("fifth_bits_from_12_on", FIFTH_TWELVE, fifth=fifth_bits_from(0, 12))
        wrong("fifth_bits_from_20_on", FIFTH_TWENTY, fifth=fifth_bits_from(0, 20))
        wrong("fifth_bits_from_4_on", FIFTH_FOUR, fifth=fifth_bits_from(4, 16))
        wrong("fifth_bits_from_4_and_20_on", FIFTH_FOUR + ". And those of 16 to 31 by 12", fifth=fifth_bits_from(4, 20))
        wrong("fifth_bits_reversed", FIFTH_REVERSED, fifth=lambda four: of_fifth(four, range(7, -1, -1)))
        wrong("fifth_bytes_reversed", FIFTH_TURNED, fifth=lambda four: of_fifth(four, order=[3, 2, 1, 0]))
        wrong("fifth_bits_by_bytes", FIFTH_PAIRED,
              fifth=lambda four: of_fifth(four).reshape(-1, 16, 2).transpose(1, 2).flatten(1))
        wrong("fifth_bits_of_the_first_16", "Your last sixteen numbers have the fifth bits of the first sixteen. Theirs are bits 16 to 31",
              fifth=lambda four: of_fifth(four)[:, [*range(16), *range(16)]])
        wrong("fifth_halves_exchanged", "Your fifth bits of the first sixteen numbers are those of the last, and the other way round",
              fifth=lambda four: of_fifth(four)[:, [*range(16, 32), *range(16)]])
        wrong("fifth_bit_worth_8", "Your fifth bit lies over the fourth, worth 8. It is worth 16: << 4", join=lambda high, q: high << 3 | q)
        wrong("fifth_bit_worth_32", "Your fifth bit is worth 32. It is worth 16: << 4", join=lambda high, q: high << 5 | q)
        wrong("fifth_bit_lowest", "Your fifth bit is the lowest of the level, worth 1. It is the highest, worth 16: << 4",
              join=lambda high, q: q << 1 | high)


# --- Levels to numbers: 256 a block ---------------------------------------------------------------------------

def groups(bytes_, chunk, shifts, mask):
    """Fields of one size: each chunk of bytes holds len(shifts) groups of that many numbers."""
    parts = bytes_.reshape(len(bytes_), -1, 1, chunk) >> torch.tensor(shifts).reshape(-1, 1) & mask
    return parts.flatten(1)


def interleaved(bytes_, chunk, shifts, mask):
    """The mistake: the fields of a byte are neighbours."""
    return (bytes_[:, :, None] >> torch.tensor(shifts) & mask).flatten(1)


def high_first(bytes_, chunk, shifts, mask):
    return groups(bytes_, chunk, shifts[::-1], mask)


def other_chunk(bytes_, chunk, shifts, mask):
    """All groups of a field stand one behind the other: byte i has i, i + 64, …"""
    return groups(bytes_, bytes_.shape[1], shifts, mask)


def six_bits(packed_scales, later=True):
    """Eight scales and eight minima in twelve bytes."""
    a, b, c = packed_scales[:, 0:4], packed_scales[:, 4:8], packed_scales[:, 8:12]
    if not later:  # all as the first four are read: bytes 4 .. 7 for scales, 8 .. 11 for minima
        return torch.cat([a, b], 1) & 63, torch.cat([b, c], 1) & 63
    return torch.cat([a & 63, c & 15 | a >> 6 << 4], 1), torch.cat([b & 63, c >> 4 | b >> 6 << 4], 1)


def six_bits_no_top(packed_scales):
    scales, minima = six_bits(packed_scales)
    keep = torch.tensor([63] * 4 + [15] * 4)
    return scales & keep, minima & keep


def six_bits_not_masked(packed_scales):
    scales, minima = six_bits(packed_scales)
    return (torch.cat([packed_scales[:, 0:4], scales[:, 4:]], 1), torch.cat([packed_scales[:, 4:8], minima[:, 4:]], 1))


def six_bits_tops_low(packed_scales):
    a, b, c = packed_scales[:, 0:4], packed_scales[:, 4:8], packed_scales[:, 8:12]
    return torch.cat([a & 63, c & 15 | a >> 6 << 2], 1), torch.cat([b & 63, c >> 4 | b >> 6 << 2], 1)


def six_bits_nibbles_exchanged(packed_scales):
    a, b, c = packed_scales[:, 0:4], packed_scales[:, 4:8], packed_scales[:, 8:12]
    return torch.cat([a & 63, c >> 4 | a >> 6 << 4], 1), torch.cat([b & 63, c & 15 | b >> 6 << 4], 1)


def six_bits_tops_of_scales(packed_scales):
    a, b, c = packed_scales[:, 0:4], packed_scales[:, 4:8], packed_scales[:, 8:12]
    return torch.cat([a & 63, c & 15 | a >> 6 << 4], 1), torch.cat([b & 63, c >> 4 | a >> 6 << 4], 1)


def six_bits_tops_exchanged(packed_scales):
    a, b, c = packed_scales[:, 0:4], packed_scales[:, 4:8], packed_scales[:, 8:12]
    return torch.cat([a & 63, c & 15 | b >> 6 << 4], 1), torch.cat([b & 63, c >> 4 | a >> 6 << 4], 1)


def six_bits_as_bytes(packed_scales):
    return packed_scales[:, :8], packed_scales[:, 4:]


def sixteen_scales(p, upper=lambda p: torch.cat([p >> 2 * g & 3 for g in range(4)], 1)):
    return (torch.cat([p[:, :8] & 15, p[:, :8] >> 4], 1) | upper(p[:, 8:]) << 4) - 32


def values256(name, read=half_of, field=groups, high=groups, scales=None, times=lambda d, s: d * s, minus=lambda m: -m, zero=None,
              third=lambda bit: bit, scale_of=lambda s: s, halves=lambda d, dmin: (d, dmin), minimum=lambda dmin, m: dmin * m,
              high_down=0, signed=None):
    """blocks -> numbers [rows][n] of a K-quant; each argument is one of its steps."""
    def formula(blocks):
        raw = as_bytes(blocks).reshape(-1, sizes(name)[1])
        b = raw.long()
        m, each = 0, 16
        if name == "q2_k":
            s, m = (scales or (lambda p: (p & 15, p >> 4)))(b[:, :16])
            q = field(b[:, 16:80], 32, [0, 2, 4, 6], 3) - (zero or 0)
            d, dmin = halves(read(raw[:, 80:82]), read(raw[:, 82:84]))
        elif name == "q3_k":
            q = field(b[:, 32:96], 32, [0, 2, 4, 6], 3) | third(high(b[:, :32], 32, list(range(8)), 1)) << 2
            q = q - (4 if zero is None else zero)
            s, d = (scales or sixteen_scales)(b[:, 96:108]), read(raw[:, 108:110])
        elif name == "q6_k":
            q = field(b[:, :128], 64, [0, 4], 15) | high(b[:, 128:192], 32, [0, 2, 4, 6], 3) << 4 - high_down
            q = signed(q) if signed else q - (32 if zero is None else zero)
            s, d = (scales or (lambda p: (p ^ 128) - 128))(b[:, 192:208]), read(raw[:, 208:210])
        else:
            each = 32
            d, dmin = halves(read(raw[:, :2]), read(raw[:, 2:4]))
            s, m = (scales or six_bits)(b[:, 4:16])
            q = field(b[:, 16:] if name == "q4_k" else b[:, 48:], 32, [0, 4], 15)
            if name == "q5_k":
                q = q | high(b[:, 16:48], 32, list(range(8)), 1) << 4 - high_down
            q = q - (zero or 0)
        spread = lambda t: t.to(d.dtype).repeat_interleave(each, 1)
        out = times(d, spread(scale_of(s))) * q.to(d.dtype)
        if name in ("q2_k", "q4_k", "q5_k"):
            out = out + minus(minimum(dmin, spread(scale_of(m))))
        return out.reshape(len(blocks), -1)

    return formula


def wrong_k(kernel, name):
    def wrong(twin, advice, **change):
        kernel.wrong(twin, advice, values256(name, **change))

    def reordered(twin, advice, *spans):
        """The bytes of the format's parts, in its own order, are read from where these spans begin and end."""
        kernel.wrong(twin, advice, read_in_order(name, [at for start, end in spans for at in range(start, end)], values256(name)))

    wrong("subnormal_scale_zero", SUBNORMAL, read=half_without_subnormals)
    wrong("subnormal_scale_widened", WIDENED, read=half_widened)
    if name == "q2_k":
        reordered("scales_of_scales_first", "You read d and dmin from the front of a block. Here they are its last four bytes", (4, 84), (0, 4))
        reordered("levels_first", "You read the levels from the front of a block. The sixteen bytes of scales stand before them", (64, 80), (0, 64), (80, 84))
        wrong("zero_subtracted", "You subtract 2 from the levels, as formats without a minimum do. Here level 0 is the minimum", zero=2)
    if name == "q3_k":
        reordered("d_first", "You read d from the front of a block. Here it is its last two bytes", (2, 110), (0, 2))
        reordered("third_bits_behind_the_levels", "You read the third bits from behind the levels. They are what a block begins with",
                  (64, 96), (0, 64), (96, 110))
        wrong("third_bits_begin_again", "Your mask of the third bits begins again at 1 for the second 128 numbers. It goes on, from 16",
              high=lambda b, chunk, shifts, mask: groups(b, chunk, [shift % 4 for shift in shifts], mask))
        wrong("scales_upper_bits_reversed", "You read the upper bits of the scales from the top of each byte. The lowest two are of scales 0 to 3",
              scales=lambda p: sixteen_scales(p, lambda u: torch.cat([u >> 2 * g & 3 for g in (3, 2, 1, 0)], 1)))
        wrong("scales_halves_exchanged", "You exchange the halves of the scales' first eight bytes. The low ones are of scales 0 to 7",
              scales=lambda p: sixteen_scales(torch.cat([p[:, :8] >> 4 | (p[:, :8] & 15) << 4, p[:, 8:]], 1)))
        wrong("scales_upper_bits_worth_4", "Your scales' upper bits lie over the lower four. They are worth 16: << 4",
              scales=lambda p: (sixteen_scales(p, lambda u: 0 * torch.cat([u] * 4, 1)) + 32
                                | torch.cat([p[:, 8:] >> 2 * g & 3 for g in range(4)], 1) << 2) - 32)
    if name in ("q2_k", "q3_k"):
        wrong("shift_not_reset", "Your shift goes on from 6 to 8 at the second 128 numbers, where nothing is left of a byte. Begin again with 0",
              field=lambda *rest: groups(*rest) * (torch.arange(256) < 128))
        wrong("levels_of_the_first_128", "Your second 128 numbers have the levels of the first. Theirs are in the next 32 bytes",
              field=lambda b, *rest: groups(torch.cat([b[:, :32]] * 2, 1), *rest))
        wrong("levels_not_masked", "You shift a byte down, and leave what is above. A level has two bits: & 3",
              field=lambda b, chunk, shifts, mask: groups(b, chunk, shifts, 255))
    if name in ("q4_k", "q5_k"):
        reordered("scales_of_scales_last", "You read d and dmin from the end of a block, as in q2_k. Here they are its first four bytes",
                  (sizes(name)[1] - 4, sizes(name)[1]), (0, sizes(name)[1] - 4))
        wrong("first_scales_alone_not_masked", "You take the whole bytes for the scales of sub-blocks 0 to 3. Theirs are the low six bits: & 63",
              scales=lambda p: (six_bits_not_masked(p)[0], six_bits(p)[1]))
        wrong("first_minima_alone_not_masked", "You take the whole bytes for the minima of sub-blocks 0 to 3. Theirs are the low six bits: & 63",
              scales=lambda p: (six_bits(p)[0], six_bits_not_masked(p)[1]))
        wrong("levels_of_the_first_64", "Your numbers from 64 on have the lower four bits of the first 64. Every 64 have 32 bytes of their own",
              field=lambda b, *rest: groups(torch.cat([b[:, :32]] * 4, 1), *rest))
    if name in ("q4_k", "q5_k", "q6_k"):
        wrong("low_half_not_masked", "You take the whole byte for the first numbers. Theirs is its low half: & 15",
              field=lambda b, chunk, shifts, mask: torch.where(torch.arange(256) // chunk % 2 == 0, groups(b, chunk, [0, 0], 255),
                                                               groups(b, chunk, shifts, mask)))
        wrong("high_half_not_shifted", UNSHIFTED,
              field=lambda b, chunk, shifts, mask: torch.where(torch.arange(256) // chunk % 2 == 1, groups(b, chunk, [0, 0], 240),
                                                               groups(b, chunk, shifts, mask)))
        wrong("low_halves_twice", "You take the low halves for all numbers. The high ones are of others, q >> 4",
              field=lambda b, chunk, shifts, mask: groups(b, chunk, [0, 0], mask))
    if name == "q5_k":
        reordered("fifth_bits_behind", "You read the fifth bits from behind the lower four. They stand before them", (0, 16), (144, 176), (16, 144))
        wrong("fifth_bits_begin_again", "Your mask of the fifth bits begins again at 1 for the second 128 numbers. It goes on, from 16",
              high=lambda b, chunk, shifts, mask: groups(b, chunk, [shift % 4 for shift in shifts], mask))
        for worth, down in (8, 1), (1, 4):
            wrong(f"fifth_bit_worth_{worth}", f"Your fifth bit is worth {worth}. It is worth 16: << 4", high_down=down)
    if name == "q6_k":
        reordered("d_first", "You read d from the front of a block. Here it is its last two bytes", (2, 210), (0, 2))
        reordered("upper_bits_first", "You read the upper bits from the front of a block. The 128 bytes of lower ones stand before them",
                  (64, 192), (0, 64), (192, 210))
        wrong("upper_bits_of_the_first_128", "Your second 128 numbers have the upper bits of the first. Theirs are in the next 32 bytes",
              high=lambda b, *rest: groups(torch.cat([b[:, :32]] * 2, 1), *rest))
        wrong("lower_bits_of_the_first_128", "Your second 128 numbers have the lower bits of the first. Theirs are in the next 64 bytes",
              field=lambda b, *rest: groups(torch.cat([b[:, :64]] * 2, 1), *rest))
        wrong("upper_bits_of_neighbours_exchanged", "Your numbers from 32 and from 64 on have one another's upper bits. They are bits 2 and 3, and 4 and 5",
              high=lambda b, chunk, shifts, mask: groups(b, chunk, [0, 4, 2, 6], mask))
        wrong("upper_bits_worth_4", "Your upper two bits lie over the lower four. They are worth 16: << 4", high_down=2)
        wrong("twos_complement", "You take the levels for two's complement. They are counted from 0: subtract 32", signed=lambda q: (q ^ 32) - 32)
    bits = {"q2_k": 2, "q3_k": 2, "q4_k": 4, "q5_k": 4, "q6_k": 4}[name]
    chunk = 64 if name == "q6_k" else 32
    wrong("high_byte_first", SWAPPED, read=half_of_swapped)
    wrong("scale_in_bf16", AS_BF16, read=bf16_of)
    wrong("neighbours_in_a_byte", f"You take the fields of a byte for neighbours. They lie {chunk} numbers apart: {chunk} bytes "
          f"hold {chunk * 8 // bits} numbers, the lowest fields first", field=interleaved)
    wrong("high_fields_first", "You read the fields of a byte from the top. The lowest bits are of the first numbers",
          field=high_first)
    wrong("fields_across_the_block", f"You read one field of all bytes, then the next. Every {chunk} bytes by themselves hold "
          f"{chunk * 8 // bits} neighbours", field=other_chunk)
    wrong("first_scale_for_the_block", "You take the first sub-block's scale for the whole block. Each sub-block has its own",
          scale_of=lambda s: s[:, :1].expand(s.shape))
    wrong("scale_of_the_block_alone", "You leave out the scales of the sub-blocks: multiply d by them",
          times=lambda d, s: d * torch.ones_like(s))
    if name in ("q2_k", "q3_k", "q6_k"):
        wrong("scale_for_32_numbers", "You take one scale for 32 numbers. Each has 16: of these 32 the second half has the next one",
              scale_of=lambda s: s[:, torch.arange(16) // 2 * 2])
        wrong("scales_of_the_first_128", "Your second 128 numbers have the scales of the first. Theirs are the last eight",
              scale_of=lambda s: s[:, torch.arange(16) % 8])
        wrong("scales_of_halves_apart", "You take the scales of every first 16 of 32 numbers to stand together, and then those of every "
              "second. Scale i is that of the numbers from 16 i on",
              scale_of=lambda s: s[:, torch.arange(16) // 8 * 8 + torch.arange(16) % 8 // 2 + torch.arange(16) % 2 * 4])
    if name in ("q2_k", "q4_k", "q5_k"):
        wrong("minimum_added", "You add the minimum. K-quants subtract it: d s q - dmin m", minus=lambda m: m)
        wrong("minimum_forgotten", "You leave out the minimum: d s q - dmin m", minus=lambda m: 0 * m)
        wrong("d_and_dmin_exchanged", "You read dmin before d. The scale of the scales comes first", halves=lambda d, dmin: (dmin, d))
        wrong("d_for_dmin", "You multiply the minima by d. They have a scale of their own, dmin", halves=lambda d, dmin: (d, d))
        wrong("minima_of_sub_blocks_left_out", "You subtract dmin alone. Multiply it by the sub-block's minimum: d s q - dmin m",
              minimum=lambda dmin, m: dmin * torch.ones_like(m))
    if name == "q2_k":
        wrong("scale_and_minimum_exchanged", "You take the high half of a scale's byte for the scale. It is the low half; the "
              "high one is the minimum", scales=lambda p: (p >> 4, p & 15))
        wrong("scale_not_masked", "You take a scale's whole byte. The scale is its low half, the minimum the high one",
              scales=lambda p: (p, p >> 4))
    if name in ("q4_k", "q5_k"):
        wrong("later_scales_as_the_first", "You unpack the scales of sub-blocks 4 to 7 like those of 0 to 3. Theirs are four bits "
              "of byte j + 4 and two of byte j - 4", scales=lambda p: six_bits(p, later=False))
        wrong("upper_bits_missing", "Your scales of sub-blocks 4 to 7 lack their upper two bits. They are the top bits of the "
              "first eight bytes", scales=six_bits_no_top)
        wrong("later_halves_exchanged", "You exchange scale and minimum of sub-blocks 4 to 7. In the last four bytes the low half "
              "is the scale's", scales=six_bits_nibbles_exchanged)
        wrong("upper_bits_exchanged", "You exchange the upper two bits of scale and minimum of sub-blocks 4 to 7. The scale's are "
              "in bytes 0 to 3, the minimum's in 4 to 7", scales=six_bits_tops_exchanged)
        wrong("upper_bits_of_scales_alone", "You take the upper two bits of the minima of sub-blocks 4 to 7 from those of the scales. "
              "The minimum's are in bytes 4 to 7", scales=six_bits_tops_of_scales)
        wrong("scale_and_minimum_exchanged", "You take the minima for scales. The scales are in the first four bytes",
              scales=lambda p: six_bits(p)[::-1])
        wrong("scales_as_bytes", "You take bytes 0 to 7 for the scales and 4 to 11 for the minima. They have six bits, and the twelve bytes are "
              "packed: the low six bits of the first four and the next four are those of sub-blocks 0 to 3", scales=six_bits_as_bytes)
        zero = {"q4_k": 8, "q5_k": 16}[name]
        wrong("zero_subtracted", f"You subtract {zero} from the levels, as the formats without a minimum do. Here level 0 is the minimum",
              zero=zero)
        wrong("scales_of_64_numbers", "You take one scale and minimum for 64 numbers, the two halves of 32 bytes. Each 32 numbers have "
              "their own: the high halves have the next ones", scale_of=lambda s: s[:, torch.arange(8) // 2 * 2])
        wrong("scales_one_for_64", "You take scale and minimum i for the numbers from 64 i on. They are those of 32 i on",
              scale_of=lambda s: s[:, torch.arange(8) // 2])
        wrong("first_scales_not_masked", "You take the whole bytes for the scales and minima of sub-blocks 0 to 3. Theirs are the low six "
              "bits: & 63", scales=six_bits_not_masked)
        wrong("upper_bits_worth_4", "Your upper two bits of the later scales and minima lie over the lower four. They are worth 16: << 4",
              scales=six_bits_tops_low)
    if name == "q5_k":
        wrong("fifth_bits_of_neighbours", "Your fifth bits of every 32 numbers are those of the 32 beside them. Of a pair the low halves have the "
              "lower bit", high=lambda b, chunk, shifts, mask: groups(b, chunk, [shift ^ 1 for shift in shifts], mask))
        wrong("fifth_bits_of_the_first_64", "Your fifth bits are those of the first 64 numbers, throughout. Those of the next 64 are "
              "two bits higher in the same bytes",
              high=lambda b, chunk, shifts, mask: groups(b, chunk, [shift % 2 for shift in shifts], mask))
        wrong("fifth_bit_missing", "Your fifth bits are missing. That of number i is bit i / 32 of byte i % 32 before q",
              high=lambda b, *rest: 0 * groups(b, *rest))
        wrong("fifth_bits_by_bytes", "You take eight neighbours' fifth bits from one byte. A byte has those of eight numbers that "
              "lie 32 apart", high=interleaved)
        wrong("fifth_bits_reversed", "You read the fifth bits from the top of each byte. The lowest is of the first 32 numbers",
              high=high_first)
    if name == "q3_k":
        wrong("third_bit_missing", "Your third bits are missing. That of number i is bit i / 32 of byte i % 32",
              third=lambda bit: 0 * bit)
        wrong("third_bit_inverted", "Your third bit is inverted. Where it is set nothing is subtracted, where it is not, 4",
              third=lambda bit: 1 - bit)
        wrong("third_bits_by_bytes", "You take eight neighbours' third bits from one byte. A byte has those of eight numbers that "
              "lie 32 apart", high=interleaved)
        wrong("levels_not_shifted", "Your levels are 0 to 7. They are -4 to 3", zero=0)
        wrong("scales_not_shifted", "Your scales are 0 to 63. They are -32 to 31: subtract 32",
              scales=lambda p: sixteen_scales(p) + 32)
        for less in 8, 16, 31:
            wrong(f"{less}_subtracted_from_scales", f"You subtract {less} from the scales. They have six bits: 32 is the scale 0",
                  scales=lambda p, less=less: sixteen_scales(p) + 32 - less)
        wrong("3_subtracted", "You subtract 3 from the levels. They have three bits: level 4 is the number 0", zero=3)
        wrong("scales_without_their_upper_bits", "Your scales have four bits. The upper two are in the last four of the twelve "
              "bytes", scales=lambda p: sixteen_scales(p, lambda u: torch.zeros(len(u), 16, dtype=torch.long)))
        wrong("upper_bits_by_bytes", "You take the upper bits of four neighbouring scales from one byte. Byte 8 + s % 4 has those of "
              "scale s, at bit s / 4 * 2",
              scales=lambda p: sixteen_scales(p, lambda u: (u[:, :, None] >> torch.tensor([0, 2, 4, 6]) & 3).flatten(1)))
        wrong("scales_as_neighbours", "You take the two halves of a byte for neighbouring scales. The low halves of the first "
              "eight bytes are scales 0 to 7, the high ones 8 to 15",
              scales=lambda p: sixteen_scales(torch.cat([p[:, :8], p[:, 8:]], 1))[:, [0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6,
                                                                                     14, 7, 15]])
    if name == "q6_k":
        wrong("unsigned_scales", "Your scales are unsigned. They are signed bytes: int8_t", scales=lambda p: p)
        wrong("levels_not_shifted", "Your levels are 0 to 63. They are -32 to 31", zero=0)
        wrong("31_subtracted", "You subtract 31 from the levels. They have six bits: level 32 is the number 0", zero=31)
        wrong("17_subtracted", "You subtract 16 from the levels. They have six bits: level 32 is the number 0", zero=16)
        wrong("upper_bits_across_the_block", "You read one field of all 64 bytes of upper bits, then the next. Every 32 bytes by themselves "
              "are of 128 neighbours", high=other_chunk)
        wrong("upper_bits_reversed", "You read the upper bits from the top of each byte. The lowest two are of the first 32 numbers",
              high=high_first)
        wrong("upper_bits_missing", "Your levels lack their upper two bits", high=lambda b, *rest: 0 * groups(b, *rest))
        wrong("upper_bits_by_bytes", "You take four neighbours' upper bits from one byte. A byte has those of four numbers that lie "
              "32 apart", high=interleaved)
        wrong("lower_bits_as_in_q4_k", "You read the lower four bits as q4_k has them, 32 bytes at a time. Here 64 bytes hold 128 "
              "numbers: 64 low halves, then 64 high ones", field=lambda b, chunk, shifts, mask: groups(b, 32, shifts, mask))


# --- Inner products ---------------------------------------------------------------------------------------------

def sums(name, weights=None, x=None, minimum=True, block=lambda products: products, last=None):
    """y[r][o]: row r of x, in q8_0, times row o of the weights; every number as the readers above have it."""
    read_weights, read_x = weights or values32(name), x or values32("q8_0")

    def formula(weight, x):
        w, a = read_weights(weight), read_x(x)
        products = (a[:, None, :] * w[None, :, :]).reshape(len(a), len(w), -1, 32).sum(-1)
        return block(products)[:, :, :last].sum(-1)

    return formula


def by_pytorch(name):
    return lambda weight, x: from_gguf("q8_0")(x) @ from_gguf(name)(weight).T


def sum_in_16_bits(name, lanes):
    """The sum of a block's products of levels, as so many shorts have it, of neighbours each."""
    one = lambda two: torch.ones_like(half_of(two))
    only_levels = values32(name, read=one, minimum=lambda m: 0 * m)

    def formula(weight, x):
        products = (values32("q8_0", read=one)(x)[:, None] * only_levels(weight)).unflatten(-1, (-1, lanes, 32 // lanes)).sum(-1)
        sums = (torch.remainder(products + 2**15, 2**16) - 2**15).sum(-1)
        d, e = (half_of(as_bytes(blocks).reshape(-1, sizes(format)[1])[:, :2]).reshape(len(blocks), -1)
                for blocks, format in ((weight, name), (x, "q8_0")))
        minima = values32(name)(weight) - values32(name, minimum=lambda m: 0 * m)(weight)
        return (sums * e[:, None] * d).sum(-1) + values32("q8_0")(x) @ minima.T

    return formula


def scales_of(blocks, format, at=0):
    return half_of(as_bytes(blocks).reshape(-1, sizes(format)[1])[:, at:at + 2]).reshape(len(blocks), -1)


def counted_levels_in_16_bits(name, zero):
    """The products of levels counted from 0, of which 16 bits are kept; only then is what the zero is worth taken off."""
    one = lambda two: torch.ones_like(half_of(two))

    def formula(weight, x):
        levels = values32("q8_0", read=one)(x).unflatten(1, (-1, 32))
        counted = values32(name, read=one, signed=lambda q: q)(weight).unflatten(1, (-1, 32))
        sums = torch.remainder((levels[:, None] * counted).sum(-1) + 2**15, 2**16) - 2**15 - zero * levels.sum(-1)[:, None]
        return (sums * scales_of(x, "q8_0")[:, None] * scales_of(weight, name)).sum(-1)

    return formula


def with_scales(name, together):
    """A block's sum of products of levels, times what is made of the two scales; the minimum's part is right."""
    one = lambda two: torch.ones_like(half_of(two))
    no_minimum = dict(minimum=lambda m: 0 * m)

    def formula(weight, x):
        sums = (values32("q8_0", read=one)(x)[:, None] * values32(name, read=one, **no_minimum)(weight)).unflatten(-1, (-1, 32)).sum(-1)
        minima = values32(name)(weight) - values32(name, **no_minimum)(weight)
        d, e = torch.broadcast_tensors(scales_of(weight, name)[None], scales_of(x, "q8_0")[:, None])
        return (sums * together(d, e)).sum(-1) + values32("q8_0")(x) @ minima.T

    return formula


def zero_taken_off(name, zero, part):
    """The weights' levels counted from 0, and what is taken off for it in each block: zero times d times a part, which is made
    of the scale of x and of its levels. The right one is their product's sum."""
    def formula(weight, x):
        d, e = (half_of(as_bytes(blocks).reshape(-1, sizes(format)[1])[:, :2]).reshape(len(blocks), -1)
                for blocks, format in ((weight, name), (x, "q8_0")))
        levels = values32("q8_0", read=lambda two: torch.ones_like(half_of(two)))(x).unflatten(1, (-1, 32))
        return values32("q8_0")(x) @ values32(name, signed=lambda q: q)(weight).T - zero * part(e, levels) @ d.T

    return formula


def make_dot(name):
    bits, zero = SIMPLE[name]
    kernel = Kernel(f"dot_{name}", CHAPTER, "torch.matmul of what gguf.quants.dequantize gives",
                    pytorch=by_pytorch(name), formula=sums(name))

    def wrong(twin, advice, **change):
        kernel.wrong(twin, advice, sums(name, **change))

    one = lambda two: torch.ones_like(half_of(two))
    wrong("does_nothing", "Your function returns 0, whatever it is given. Return the sum", block=lambda products: 0 * products)
    if zero is not None:
        wrong("weight_scale_forgotten", "The weights' scale is missing: d of the weights times d of x, for each block",
              weights=values32(name, read=one))
    wrong("x_scale_forgotten", "The scale of x is missing: d of the weights times d of x, for each block",
          x=values32("q8_0", read=one))
    wrong("scale_in_bf16", AS_BF16, weights=values32(name, read=bf16_of), x=values32("q8_0", read=bf16_of))
    wrong("unsigned_x", "You read the levels of x as unsigned. They are signed bytes: int8_t",
          x=values32("q8_0", signed=lambda b: b))
    wrong("last_block_left_out", "The last block is missing from your sum. Rows have n / 32 blocks", last=-1)
    wrong("last_block_alone", "Your sum is the last block's alone. Add up all blocks: +=, and not =", block=lambda products: products[..., -1:])
    wrong("first_block_alone", "Your sum is the first block's alone. Rows have n / 32 blocks", block=lambda products: products[..., :1])
    first = values32(name, first="of its row")  # a function that is given one row knows no other
    wrong("first_scale_for_all", "You multiply by the scale of the weights' first block. Each block has its own", weights=first)
    wrong("one_pair_of_scales", "You add up all levels' products and multiply once, by the first blocks' scales. Each block has its "
          "own: multiply inside the loop over blocks", weights=first, x=values32("q8_0", first="of its row"))
    wrong("subnormal_scale_zero", SUBNORMAL, weights=values32(name, read=half_without_subnormals), x=values32("q8_0", read=half_without_subnormals))
    wrong("subnormal_scale_widened", WIDENED, weights=values32(name, read=half_widened), x=values32("q8_0", read=half_widened))
    wrong("first_scale_of_x_for_all", "You multiply by the scale of the first block of x. Each block has its own", x=values32("q8_0", first="of its row"))
    for twin, advice, together in [
            ("weight_scale_twice", "You multiply by the weights' scale twice. The other scale is that of x", lambda d, e: d * d),
            ("x_scale_twice", "You multiply by the scale of x twice. The other scale is that of the weights", lambda d, e: e * e),
            ("scales_added", "You add the two scales. Multiply them: d of the weights times d of x, for each block", lambda d, e: d + e),
            ("scales_multiplied_in_half", "Your product of the two scales is rounded to float16, which has few bits for so small a number. "
             "Multiply floats", lambda d, e: (d * e).half().to(d.dtype))]:
        kernel.wrong(twin, advice, with_scales(name, together))
    wrong("high_byte_first", SWAPPED, weights=values32(name, read=half_of_swapped))
    if name == "q8_0":
        wrong("unsigned_levels", "You read the weights' levels as unsigned. They are signed bytes: int8_t",
              weights=values32(name, signed=lambda b: b))
    else:
        wrong("neighbours_in_a_byte", NEIGHBOURS, weights=values32(name, unpack=unpacked_neighbours))
        wrong("halves_exchanged", EXCHANGED, weights=values32(name, unpack=unpacked_exchanged))
        wrong("low_halves_twice", LOW_TWICE, weights=values32(name, unpack=unpacked_low_twice))
        wrong("low_half_not_masked", UNMASKED, weights=values32(name, unpack=unpacked_unmasked))
        wrong("high_half_not_shifted", UNSHIFTED, weights=values32(name, unpack=unpacked_unshifted))
        wrong("first_half_of_x_twice", "Both halves of your bytes meet the first 16 numbers of x. The high half of byte j meets number j + 16",
              x=lambda x: values32("q8_0")(x).unflatten(1, (-1, 2, 16))[:, :, :1].expand(-1, -1, 2, -1).flatten(1))
        wrong("low_halves_alone", "Your sum has the low halves alone. A byte has two levels: q & 15 for x[j], q >> 4 for x[j + 16]",
              x=lambda x: F.pad(values32("q8_0")(x).unflatten(1, (-1, 32))[:, :, :16], (0, 16)).flatten(1))
    if name != "q4_0":  # whose largest sum, 32 * 8 * 127, just fits
        for lanes, twin in [(1, "sum_in_16_bits"), (2, "two_sums_in_16_bits")][:2 if name in ("q8_0", "q5_1") else 1]:
            kernel.wrong(twin, "Your sum of a block's products has 16 bits, and is more where all have one sign: sum in an int",
                         sum_in_16_bits(name, lanes))
    if name != "q8_0" and zero:
        wrong("unsigned_levels", f"You do not subtract {zero} from the weights' levels", weights=values32(name, signed=lambda q: q))
        kernel.wrong("counted_levels_in_16_bits", f"Your sum of x times levels counted from 0 has 16 bits, and is more before {zero} times the sum of x "
                     "is taken off: sum in an int", counted_levels_in_16_bits(name, zero))
        wrong("one_less_subtracted", f"You subtract {zero - 1}. Level {zero} is the number 0", weights=values32(name, zero=zero - 1))
        other = 24 - zero
        wrong("zero_of_the_other_format", f"You subtract {other}, as q{bits ^ 1}_0 does. Here level {zero} is the number 0",
              weights=values32(name, zero=other))
        wrong("twos_complement", f"You take the levels for two's complement. They are counted from 0: subtract {zero}",
              weights=values32(name, signed=lambda q: (q ^ zero) - zero))
        wrong("byte_without_sign", f"Your q - {zero} is a byte without a sign: below {zero} it is 256 too large. If yours is an int, "
              f"it is gcc 12, which makes that of it where the processor has VNNI: multiply by q, and take {zero} times the sum of "
              "x off", weights=values32(name, signed=lambda q: q - zero & 255))
        for twin, what, part in [
                ("zero_once_a_byte", f"subtract {zero} once for each byte", lambda e, levels: 16 * e),
                ("zero_once_a_block", f"subtract {zero} once for each block", lambda e, levels: e),
                ("zero_once_a_number", f"subtract {zero} from each product", lambda e, levels: 32 * e),
                ("zero_times_the_first_half", f"subtract {zero} times the sum of the first 16 levels of x alone",
                 lambda e, levels: e * levels[..., :16].sum(-1)),
                ("zero_without_x_scale", f"leave out the scale of x where you subtract for the {zero}", lambda e, levels: levels.sum(-1)),
                ("zero_added", f"add {zero} times the sum of the levels of x", lambda e, levels: -e * levels.sum(-1))]:
            kernel.wrong(twin, f"You {what}. A block's sum is that of q x, less {zero} times that of all 32 levels of x, and both scales "
                         "multiply all of it", zero_taken_off(name, zero, part))
    if zero is None:
        wrong("minimum_forgotten", "The minimum is missing: m times the sum of x's numbers, for each block",
              weights=values32(name, minimum=lambda m: 0 * m))
        wrong("minimum_times_scale", "You multiply m by d as well. It is d q + m, and not d (q + m): m times the sum of x's numbers is "
              "added", weights=minimum_times_scale(name))
        wrong("minimum_subtracted", "You subtract the minimum's part. It is added", weights=values32(name, minimum=lambda m: -m))

        def minimum_times(numbers):
            """m times something that is not the sum of the block's numbers of x."""
            def formula(weight, x):
                w, a = values32(name, minimum=lambda m: 0 * m)(weight), values32("q8_0")(x)
                m = half_of(as_bytes(weight).reshape(-1, sizes(name)[1])[:, 2:4]).reshape(len(weight), -1)
                return a @ w.T + numbers(a.unflatten(1, (-1, 32))) @ m.T
            return formula
        def minimum_of_levels(weight, x):
            """m times the sum of the levels of x, whose scale is forgotten."""
            w, a = values32(name, minimum=lambda m: 0 * m)(weight), values32("q8_0")(x)
            only, levels = values32(name)(weight) - w, values32("q8_0", read=one)(x)
            return a @ w.T + levels @ only.T
        kernel.wrong("minimum_of_levels", "You multiply m by the sum of the levels of x. It is by the sum of its numbers: times d of x",
                     minimum_of_levels)
        kernel.wrong("minimum_once", "You add m once a block. Each of the 32 products has it: m times the sum of x's numbers",
                     minimum_times(lambda a: torch.ones_like(a[..., 0])))
        kernel.wrong("minimum_once_a_number", "You add m 32 times a block. It is multiplied by x, as the levels are: m times the sum of x's numbers",
                     minimum_times(lambda a: 32 * torch.ones_like(a[..., 0])))
        def of_x_scale(times):
            """m times the scale of x, whose levels are forgotten."""
            def formula(weight, x):
                w, a = values32(name, minimum=lambda m: 0 * m)(weight), values32("q8_0")(x)
                m, e = (half_of(as_bytes(blocks).reshape(-1, sizes(format)[1])[:, at:at + 2]).reshape(len(blocks), -1)
                        for blocks, format, at in ((weight, name, 2), (x, "q8_0", 0)))
                return a @ w.T + times * e @ m.T
            return formula
        for twin, times in ("minimum_times_x_scale", 1), ("minimum_times_32_x_scale", 32):
            kernel.wrong(twin, f"You multiply m by d of x{' and by 32' if times > 1 else ''}. It is by the sum of x's numbers, d of x times the sum of "
                         "its levels", of_x_scale(times))
        kernel.wrong("minimum_times_the_first_half", "You multiply m by the sum of x's first 16 numbers alone. It is by that of all 32",
                     minimum_times(lambda a: a[..., :16].sum(-1)))
    if bits == 5:
        wrong("fifth_bit_missing", FIFTH_MISSING, weights=values32(name, fifth=lambda four: 0 * of_fifth(four)))
        wrong("fifth_bits_reversed", FIFTH_REVERSED,
              weights=values32(name, fifth=lambda four: of_fifth(four, range(7, -1, -1))))
        for twin, advice, first, second in [("fifth_bits_from_12_on", FIFTH_TWELVE, 0, 12), ("fifth_bits_from_20_on", FIFTH_TWENTY, 0, 20),
                                            ("fifth_bits_from_4_on", FIFTH_FOUR, 4, 16)]:
            wrong(twin, advice, weights=values32(name, fifth=fifth_bits_from(first, second)))
        wrong("fifth_halves_exchanged", "Your fifth bits of the first sixteen numbers are those of the last, and the other way round",
              weights=values32(name, fifth=lambda four: of_fifth(four)[:, [*range(16, 32), *range(16)]]))
        wrong("fifth_bit_worth_8", "Your fifth bit lies over the fourth, worth 8. It is worth 16: << 4",
              weights=values32(name, join=lambda high, q: high << 3 | q))

    def both(case, sentence, rows, out, count, seed, scale=0.01):
        kernel.case(case, sentence, weight=random_blocks(name, out, count, seed, scale),
                    x=random_blocks("q8_0", rows, count, seed + 50, scale))
    both("one_block", "one block", 1, 1, 1, 1)
    both("two_blocks", "two blocks", 1, 3, 2, 2)
    both("rows", "three rows of six blocks, five of weights", 3, 5, 6, 3)
    both("long", "a row as long as in Llama 3 8B, 128 blocks", 2, 2, 128, 4, 0.001)
    both("large", "large scales", 2, 2, 3, 5, 50)
    kernel.case("subnormal", "scales of weights so small that float16 has them without a leading 1",
                weight=random_blocks(name, 2, 2, 8, 2e-5), x=random_blocks("q8_0", 1, 2, 58))
    kernel.case("one_sign", "large levels, all of one sign, and then of the other: the sum of their products has more than 16 bits",
                weight=with_bytes(random_blocks(name, 2, 2, 6), name, 4 if zero is None else 2, [127 if name == "q8_0" else 255] * (sizes(name)[1] - (
                    4 if zero is None else 2))),
                x=torch.cat([with_bytes(random_blocks("q8_0", 1, 2, 7 + level), "q8_0", 2, [level] * 32) for level in (80, 129)]))


for each in SIMPLE:
    make_quantizer(each)
for each in ALL:
    make_reader(each)
for each in SIMPLE:
    make_dot(each)
