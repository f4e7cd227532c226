"""Chapter 1: LayerNorm, RMSNorm, BatchNorm, DyT, and RMSNorm on bfloat16 in its two orders of rounding."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from golden import NOISE, Kernel, in_kept_lanes, normal

CHAPTER = "01_normalization"
NAN, INF = np.nan, np.inf
ROW, COLUMN = -1, 0  # the axis of a statistic: over the features of a token, or the tokens of a feature


def mean(x, axis=ROW):
    return x.mean(axis, keepdim=True)


def variance(x, axis=ROW):
    return mean((x - mean(x, axis))**2, axis)


def in_float32(x):
    """E[x^2] and E[x]^2 as a float32 kernel has them, where it loses all that they differ by: None elsewhere, for
    what is left there depends on the order of the sums."""
    def squares(axis):
        x32 = x.float()
        mean_square, squared_mean = mean(x32**2, axis), mean(x32, axis)**2
        return None if (mean_square != squared_mean).any() else mean_square - squared_mean
    return squares


def running(statistic, axis, count):
    """A sum that starts where the last row's ended, over `count`: what each row takes for its mean."""
    return (statistic * count).cumsum(axis) / count


def carried(statistic, axis, count):
    """The same where the last row's sum was divided by `count` in place, before the next was added to it."""
    kept, out = 0, []
    for one in statistic.split(1, axis):
        kept = kept / count + one
        out.append(kept)
    return torch.cat(out, axis)


def fast_inverse_root(x):
    """1 / sqrt(x) of a float32 by halving its exponent, and one step of Newton's method."""
    first = (0x5f3759df - (x.float().contiguous().view(torch.int32) >> 1)).view(torch.float32).to(x.dtype)
    return first * (1.5 - x / 2 * first * first)


def rescale(y, weight, bias=None):
    return y * weight + (0 if bias is None else bias)


def with_parameters(module, weight, bias=None):
    """A torch.nn module that holds these parameters instead of ones and zeros."""
    module.weight = nn.Parameter(weight, requires_grad=False)
    if bias is not None:
        module.bias = nn.Parameter(bias, requires_grad=False)
    return module.eval()


def residual_stream(width):
    """One token inside a language model: channels near 0.1, and a handful in the tens and hundreds."""
    def draw(random):
        x = 0.1 * random.standard_normal((1, width))
        x[0, [138, 378, 447, 533]] = [-61.5, 310.25, 482.5, -97.0]
        return x
    return draw


# --- LayerNorm and BatchNorm: one formula over two axes ----------------------------------------------------

layer_norm = Kernel(
    "layer_norm", CHAPTER, "torch.nn.functional.layer_norm",
    pytorch=lambda x, weight, bias, eps: F.layer_norm(x, x.shape[-1:], weight, bias, eps),
    formula=lambda x, weight, bias, eps: (x - mean(x)) / (variance(x) + eps).sqrt() * weight + bias)
layer_norm.agrees("torch.nn.LayerNorm", lambda x, weight, bias, eps:
                  with_parameters(nn.LayerNorm(x.shape[-1], eps), weight, bias)(x))

batch_norm = Kernel(
    "batch_norm", CHAPTER, "torch.nn.functional.batch_norm(training=True)",
    pytorch=lambda x, weight, bias, eps: F.batch_norm(x, None, None, weight, bias, training=True, eps=eps),
    formula=lambda x, weight, bias, eps:
        (x - mean(x, COLUMN)) / (variance(x, COLUMN) + eps).sqrt() * weight + bias)
batch_norm.agrees("torch.nn.BatchNorm1d", lambda x, weight, bias, eps:
                  with_parameters(nn.BatchNorm1d(x.shape[-1], eps), weight, bias).train()(x))


def mistakes_of_a_variance(kernel, axis, other_axis, each, count):
    """`each` is what has its own mean and variance, `count` how many numbers they are taken over."""
    def wrong(name, advice, normalize):
        kernel.wrong(name, advice, lambda x, weight, bias, eps: normalize(x, eps) * weight + bias)

    def centred(x):
        return x - mean(x, axis)

    def first(statistic):
        return statistic.narrow(other_axis, 0, 1)

    wrong("epsilon_outside",
          "Your epsilon is outside the root, sqrt(variance) + eps. Add it under the root, "
          "sqrt(variance + eps)",
          lambda x, eps: centred(x) / (variance(x, axis).sqrt() + eps))
    wrong("epsilon_subtracted",
          "Your epsilon is subtracted under the root. Add it, sqrt(variance + eps)",
          lambda x, eps: centred(x) / (variance(x, axis) - eps).sqrt())
    wrong("epsilon_missing",
          "Your epsilon is missing. Add it under the root, sqrt(variance + eps)",
          lambda x, eps: centred(x) / variance(x, axis).sqrt())
    wrong("unbiased_variance",
          f"Your variance is divided by {count} - 1. The norms use the biased one: divide by {count}",
          lambda x, eps: centred(x) / (variance(x, axis) * x.shape[axis] / (x.shape[axis] - 1) + eps).sqrt())
    wrong("variance_is_a_sum",
          f"Your variance is a sum of squares. Divide it by {count}",
          lambda x, eps: centred(x) / (variance(x, axis) * x.shape[axis] + eps).sqrt())
    wrong("not_rooted",
          "You divide by the variance. Divide by its root, sqrt(variance + eps)",
          lambda x, eps: centred(x) / (variance(x, axis) + eps))
    wrong("mean_not_subtracted",
          "Your variance is right, but the mean is still in the output. Subtract it there too, x - mean",
          lambda x, eps: x / (variance(x, axis) + eps).sqrt())
    wrong("mean_in_the_variance",
          "Your variance is the mean of x^2. Take that of (x - mean)^2",
          lambda x, eps: centred(x) / (mean(x**2, axis) + eps).sqrt())
    wrong("mean_of_squares",
          "Your norm is RMSNorm, which knows no mean. Subtract the mean from x, and take the variance",
          lambda x, eps: x / (mean(x**2, axis) + eps).sqrt())
    wrong("other_axis",
          f"Your mean and variance are taken over the other axis. Each {each} has its own",
          lambda x, eps: (x - mean(x, other_axis)) / (variance(x, other_axis) + eps).sqrt())
    wrong("whole_tensor",
          f"Your mean and variance are those of the whole tensor. Each {each} has its own",
          lambda x, eps: (x - x.mean()) / (((x - x.mean())**2).mean() + eps).sqrt())
    wrong("first_statistics_reused",
          f"Every {each} is normalized by the mean and variance of the first. Each {each} has its own",
          lambda x, eps: (x - first(mean(x, axis))) / (first(variance(x, axis)) + eps).sqrt())

    for fixed in 5, 6:
        wrong(f"epsilon_always_1e-{fixed}",
              f"Your epsilon is 1e-{fixed}, whatever is handed in. Take eps: models differ in it",
              lambda x, eps, fixed=fixed: centred(x) / (variance(x, axis) + 10.0**-fixed).sqrt())
    wrong("epsilon_in_the_sum",
          f"Your epsilon is added before the division by {count}. Divide first: sqrt(sum / {count} + eps)",
          lambda x, eps: centred(x) / (variance(x, axis) + eps / x.shape[axis]).sqrt())
    wrong("larger_of_variance_and_epsilon",
          "Your root is of the larger of variance and epsilon. Add them, sqrt(variance + eps)",
          lambda x, eps: centred(x) / variance(x, axis).clamp(min=eps).sqrt())
    wrong("epsilon_after_the_division",
          "Your epsilon is added to 1 / sqrt(variance). Add it under the root, 1 / sqrt(variance + eps)",
          lambda x, eps: centred(x) * (1 / variance(x, axis).sqrt() + eps))
    wrong("unbiased_and_outside",
          f"Your divisor is std + eps with a std over {count} - 1. It is sqrt(variance + eps), over {count}",
          lambda x, eps: centred(x) / ((variance(x, axis) * x.shape[axis] / (x.shape[axis] - 1)).sqrt() + eps))
    wrong("not_divided",
          "Your x - mean is not divided by anything. Divide it by sqrt(variance + eps)",
          lambda x, eps: centred(x))
    wrong("multiplied_by_root",
          "Your x - mean is multiplied by sqrt(variance + eps). Divide it",
          lambda x, eps: centred(x) * (variance(x, axis) + eps).sqrt())
    wrong("mean_is_a_sum",
          f"Your mean is a sum. Divide it by {count}",
          lambda x, eps: normalized_by(x, x.sum(axis, keepdim=True), eps, lambda variance, *_: variance))
    wrong("absolute_deviation",
          "Your divisor is the mean of |x - mean|. It is the root of the mean of (x - mean)^2",
          lambda x, eps: centred(x) / (mean(centred(x).abs(), axis) + eps))

    def one_pass(x, weight, bias, eps):
        nothing = in_float32(x)(axis)
        return None if nothing is None else centred(x) / (nothing + eps).sqrt() * weight + bias

    kernel.wrong("one_pass_in_float32",
                 "Your variance is E[x^2] - E[x]^2 in float32: two large numbers cancel. Sum (x - mean)^2, or in "
                 "double",
                 one_pass)
    wrong("sums_not_reset",
          f"Your sums run on from one {each} to the next. Begin each {each} with 0",
          lambda x, eps: normalized_by(x, running(mean(x, axis), other_axis, x.shape[axis]), eps, running))
    wrong("statistics_not_reset",
          f"Your mean and variance start as those of the {each} before. Begin each {each} with 0",
          lambda x, eps: normalized_by(x, carried(mean(x, axis), other_axis, x.shape[axis]), eps, carried))

    def normalized_by(x, means, eps, how):
        variances = how(mean((x - means)**2, axis), other_axis, x.shape[axis])
        return (x - means) / (variances + eps).sqrt()

    def partly(x, eps, count):
        """With the sums of the first `count` numbers, taken for those of all."""
        part, n = x.narrow(axis, 0, count), x.shape[axis]
        means = part.sum(axis, keepdim=True) / n
        variances = ((part - means)**2).sum(axis, keepdim=True) / n
        return (x - means) / (variances + eps).sqrt()

    wrong("last_number_left_out",
          f"Your sums end one number too early. They run over 0 .. {count} - 1",
          lambda x, eps: partly(x, eps, x.shape[axis] - 1))
    kernel.wrong_tails("sum", lambda full, x, weight, bias, eps:
                       partly(x, eps, full(x.shape[axis])) * weight + bias)

    def right(x, eps):
        return centred(x) / (variance(x, axis) + eps).sqrt()

    kernel.wrong("first_parameters_for_all",
                 "Your weight and bias are those of feature 0. Each feature has its own: weight[i], bias[i]",
                 lambda x, weight, bias, eps: right(x, eps) * weight[:1] + bias[:1])
    kernel.wrong("bias_subtracted",
                 "Your bias is subtracted. Add bias[i] at the end",
                 lambda x, weight, bias, eps: right(x, eps) * weight - bias)
    kernel.wrong("weight_and_bias_exchanged",
                 "Your weight and bias are exchanged. Multiply by weight[i], then add bias[i]",
                 lambda x, weight, bias, eps: right(x, eps) * bias + weight)
    kernel.wrong("parameters_of_the_row",
                 "Your weight and bias are chosen by the row. They belong to the feature: weight[i], bias[i]",
                 lambda x, weight, bias, eps: right(x, eps) * weight[:len(x), None] + bias[:len(x), None]
                 if len(x) <= x.shape[1] else None)

    kernel.wrong("weight_plus_one",
                 "Your weight is 1 + weight, as Gemma stores it. Multiply by the weight itself",
                 lambda x, weight, bias, eps: right(x, eps) * (1 + weight) + bias)
    kernel.wrong("weight_forgotten",
                 "Your weight is missing. Multiply the normalized number by weight[i]",
                 lambda x, weight, bias, eps: right(x, eps) + bias)
    kernel.wrong("bias_forgotten",
                 "Your bias is missing. Add bias[i] at the end",
                 lambda x, weight, bias, eps: right(x, eps) * weight)
    kernel.wrong("bias_before_weight",
                 "Your bias is added before the weight is multiplied. Multiply first, then add",
                 lambda x, weight, bias, eps: (right(x, eps) + bias) * weight)


    def folded(name, advice, shift):
        """x scaled and shifted, as if the mean were taken off; shift(mean, scale, weight, bias) says what is added."""
        def formula(x, weight, bias, eps):
            scale = 1 / (variance(x, axis) + eps).sqrt()
            return x * scale * weight + shift(mean(x, axis), scale, weight, bias)
        kernel.wrong(name, advice, formula)

    folded("mean_without_weight",
           "Your mean's part is not multiplied by the weight: x s w + b - mean s. It is x s w + b - mean s w",
           lambda mean, scale, weight, bias: bias - mean * scale)
    folded("mean_without_scale",
           "Your mean's part is not divided by the root: x s w + b - mean w. It is x s w + b - mean s w",
           lambda mean, scale, weight, bias: bias - mean * weight)
    folded("mean_as_it_is",
           "Your mean is taken off at the end, x s w + b - mean. Take it off x first: there it is x s w + b - mean s w",
           lambda mean, scale, weight, bias: bias - mean)
    folded("mean_added", "Your mean is added. Subtract it: x - mean",
           lambda mean, scale, weight, bias: bias + mean * scale * weight)
    kernel.wrong("bias_divided_by_the_root",
                 "Your bias is divided by the root, too. Add bias[i] at the end, as it is",
                 lambda x, weight, bias, eps: (centred(x) * weight + bias) / (variance(x, axis) + eps).sqrt())
    kernel.wrong("weight_divides",
                 "You divide by the weight. Multiply the normalized number by weight[i]",
                 lambda x, weight, bias, eps: right(x, eps) / weight + bias)
    for fixed in 8, 12:
        wrong(f"epsilon_always_1e-{fixed}",
              f"Your epsilon is 1e-{fixed}, whatever is handed in. Take eps: models differ in it",
              lambda x, eps, fixed=fixed: centred(x) / (variance(x, axis) + 10.0**-fixed).sqrt())
    wrong("mean_not_squared",
          "Your variance is E[x^2] - E[x]. It is E[x^2] - E[x]^2, or better the mean of (x - mean)^2",
          lambda x, eps: centred(x) / (mean(x**2, axis) - mean(x, axis) + eps).sqrt())

    def means_so_far(x):
        """Of each number and those before it, and of those before it alone."""
        numbers = torch.arange(1, x.shape[axis] + 1).reshape((-1, 1) if axis == COLUMN else (1, -1))
        sums = x.cumsum(axis)
        return sums / numbers, (sums - x) / (numbers - 1).clamp(min=1)

    for name, which, advice in ("old", 1, "the square of x - the mean before"), ("new", 0, "the square of x - the mean behind"):
        wrong(f"welford_with_the_{name}_mean_twice",
              f"Your running variance adds {advice} each number. Welford's adds (x - the mean before) (x - the mean behind)",
              lambda x, eps, which=which: centred(x) / (mean((x - means_so_far(x)[which])**2, axis) + eps).sqrt())
    wrong("sum_not_finished",
          "Your output is written while its variance is still summed. Finish the sum, then divide",
          lambda x, eps: centred(x) / ((centred(x)**2).cumsum(axis) / x.shape[axis] + eps).sqrt())
    wrong("mean_not_finished",
          "Your variance is summed in the loop that sums the mean, with the sum so far. Finish the mean, then sum (x - mean)^2",
          lambda x, eps: centred(x) / (mean((x - x.cumsum(axis) / x.shape[axis])**2, axis) + eps).sqrt())


def over_dim(x, eps):
    """The mistake: what is summed over the rows is divided by dim."""
    means = mean(x, COLUMN) * len(x) / x.shape[1]
    return (x - means) / (mean((x - means)**2, COLUMN) * len(x) / x.shape[1] + eps).sqrt()


mistakes_of_a_variance(layer_norm, ROW, COLUMN, each="row", count="dim")
mistakes_of_a_variance(batch_norm, COLUMN, ROW, each="column", count="rows")
batch_norm.wrong(
    "divided_by_dim",
    "Your mean and variance are sums over the rows, divided by dim. A column has `rows` numbers: divide by rows",
    lambda x, weight, bias, eps: over_dim(x, eps) * weight + bias)
batch_norm.wrong(
    "variance_divided_by_dim",
    "Your variance is a sum over the rows, divided by dim. A column has `rows` numbers: divide by rows",
    lambda x, weight, bias, eps: (x - mean(x, COLUMN)) / (variance(x, COLUMN) * len(x) / x.shape[1] + eps).sqrt() * weight + bias)
batch_norm.wrong(
    "inference",
    "Your mean and variance are 0 and 1, what a new layer has for inference. Take the batch's own",
    lambda x, weight, bias, eps: x / (1 + eps)**0.5 * weight + bias)

def of_running(x, eps):
    """What BatchNorm keeps for inference, after one step from 0 and 1."""
    unbiased = variance(x, COLUMN) * len(x) / max(len(x) - 1, 1)
    return (x - 0.1 * mean(x, COLUMN)) / (0.9 + 0.1 * unbiased + eps).sqrt()


batch_norm.wrong(
    "running_statistics",
    "Your mean and variance are the running ones: a tenth of the batch's, and nine of 0 and 1. In training take the batch's own",
    lambda x, weight, bias, eps: of_running(x, eps) * weight + bias)
for kernel, axis in (layer_norm, ROW), (batch_norm, COLUMN):
    kernel.wrong("fast_inverse_root",
                 "Your 1 / root is the fast one of 0x5f3759df, right to three digits. Write 1 / sqrt(variance + eps)",
                 lambda x, weight, bias, eps, axis=axis: (x - mean(x, axis)) * fast_inverse_root(variance(x, axis) + eps) * weight + bias)
layer_norm.wrong(
    "weight_before_the_norm",
    "Your x is multiplied by the weight before it is normalized. Normalize x, then multiply by weight[i]",
    lambda x, weight, bias, eps: (x * weight - mean(x * weight)) / (variance(x * weight) + eps).sqrt() + bias)

SIXTEENTHS = [1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 1, -1, 3, -3, 5, -5]


def around_2048(rows):
    """2048 + k/16: in float32, each x^2 is 2^22 + 256 k, and the k^2/256 that the variance is made of are lost."""
    return lambda random: 2048 + np.array([random.permutation(SIXTEENTHS) for _ in range(rows)]) / 16


layer_norm.case("by_hand", "The lesson's example: mean 2, variance 5.",
                x=[[1, -1, 3, 5]], weight=[1, 1, 1, 1], bias=[0, 0, 0, 0], eps=1e-5)
layer_norm.case("small", "Three tokens of eight features.",
                x=normal(3, 8), weight=normal(8), bias=normal(8), eps=1e-5)
layer_norm.case("ragged", "2 rows of 77: no size is a multiple of anything.",
                x=normal(2, 77), weight=normal(77), bias=normal(77), eps=1e-5)
layer_norm.case("left_over", "3 rows of 31: full vectors of 4, 8 and 16 leave 3, 7 and 15.",
                x=normal(3, 31), weight=normal(31), bias=normal(31), eps=1e-5)
layer_norm.case("one_wide", "A row of one number is its own mean: only the bias is left.",
                x=normal(4, 1), weight=normal(1), bias=normal(1), eps=1e-5)
layer_norm.case("residual_stream",
                "One token of GPT-2 large: 1280 channels near 0.1, four of them up to 482.",
                x=residual_stream(1280), weight=normal(1280, scale=0.1, shift=0.4),
                bias=normal(1280, scale=0.1), eps=1e-5)
# PyTorch rounds the mean to a float32 of size 1000, and its rounding is some hundred of the spread's.
layer_norm.case("large_mean", "Spread 1 around 1000: mean(x^2) - mean(x)^2 would lose every digit.",
                x=normal(2, 32, shift=1000), weight=normal(32), bias=normal(32), eps=1e-5)
layer_norm.case("rows_of_all_sizes", "Rows near 1e18, 1, 1e-3 and 1e-20 (epsilon decides), and one of zeros.",
                x=normal(5, 16, scale=[[1e18], [1], [1e-3], [1e-20], [0]]),
                weight=normal(16), bias=normal(16), eps=1e-6)
layer_norm.case("far_from_zero", "Sixteenths around 2048: E[x^2] - E[x]^2 in float32 is 0, in any order.",
                x=around_2048(2), weight=normal(16), bias=normal(16), eps=1e-5)
layer_norm.case("constant_rows", "Rows without any spread: only the bias is left.",
                x=normal(3, 8, scale=0, shift=[[3], [-0.5], [1024]]), weight=normal(8), bias=normal(8),
                eps=1e-5)
layer_norm.case("epsilon_matters", "An epsilon as large as the variance.",
                x=normal(3, 16, scale=0.1), weight=normal(16), bias=normal(16), eps=1e-2)
layer_norm.case("not_finite", "An infinity or a NaN spoils its own row, and no other.",
                x=[[1, 2, INF, 4], [1, NAN, 3, 4], [1, 2, 3, 5]], weight=[1, 2, 3, 4], bias=[4, 3, 2, 1],
                eps=1e-5)

batch_norm.case("by_hand", "The lesson's three tokens; feature 0 has the mean 4 and the variance 18.",
                x=[[1, -1, 3, 5], [10, -10, 30, 50], [1, 5, 3, -1]], weight=[1, 1, 1, 1], bias=[0, 0, 0, 0],
                eps=1e-5)
batch_norm.case("small", "Eight tokens of three features.",
                x=normal(8, 3), weight=normal(3), bias=normal(3), eps=1e-5)
batch_norm.case("ragged", "77 rows of 2: no size is a multiple of anything.",
                x=normal(77, 2), weight=normal(2), bias=normal(2), eps=1e-5)
batch_norm.case("left_over", "31 rows of 3: full vectors of 4, 8 and 16 leave 3, 7 and 15.",
                x=normal(31, 3), weight=normal(3), bias=normal(3), eps=1e-5)
batch_norm.case("one_wide", "A single feature.",
                x=normal(6, 1), weight=normal(1), bias=normal(1), eps=1e-5)
batch_norm.case("two_rows", "The fewest rows that have a variance: all outputs are bias ± weight.",
                x=normal(2, 9), weight=normal(9), bias=normal(9), eps=1e-5)
# PyTorch's batch_norm is x (weight / root) + (bias - mean weight / root): the mean cancels only after it has
# been rounded twice, and the error is as many roundings as the mean is larger than the root.
batch_norm.case("large_mean", "Spread 1 around 100: mean(x^2) - mean(x)^2 would lose half of the digits.",
                x=normal(32, 3, shift=100), weight=normal(3), bias=normal(3), eps=1e-5)
batch_norm.case("far_from_zero", "Sixteenths around 2048: E[x^2] - E[x]^2 in float32 is 0, in any order.",
                x=lambda random: around_2048(3)(random).T, weight=normal(3), bias=normal(3), eps=1e-5)
batch_norm.case("columns_of_all_sizes", "Columns near 1e18, 1, 1e-3 and 1e-20, and a column of zeros.",
                x=normal(16, 5, scale=[1e18, 1, 1e-3, 1e-20, 0]), weight=normal(5), bias=normal(5), eps=1e-6)
# For the same reason it leaves some ulps of the column where only the bias should be left.
batch_norm.case("constant_columns", "Columns without any spread: only the bias is left.",
                x=normal(8, 3, scale=0, shift=[0.5, -0.25, 0.125]), weight=normal(3), bias=normal(3),
                eps=1e-5)
batch_norm.case("epsilon_matters", "An epsilon as large as the variance.",
                x=normal(16, 3, scale=0.1), weight=normal(3), bias=normal(3), eps=1e-2)
batch_norm.case("not_finite", "An infinity or a NaN spoils its own column, and no other.",
                x=[[1, 2, 3], [2, NAN, 4], [INF, 3, 8]], weight=[1, 2, 3], bias=[3, 2, 1], eps=1e-5)


# --- RMSNorm -----------------------------------------------------------------------------------------------

rms_norm = Kernel(
    "rms_norm", CHAPTER, "torch.nn.functional.rms_norm",
    pytorch=lambda x, weight, eps: F.rms_norm(x, x.shape[-1:], weight, eps),
    formula=lambda x, weight, eps: x / (mean(x**2) + eps).sqrt() * weight)
rms_norm.agrees("torch.nn.RMSNorm", lambda x, weight, eps:
                with_parameters(nn.RMSNorm(x.shape[-1], eps), weight)(x))


def wrong_rms(name, advice, normalize):
    rms_norm.wrong(name, advice, lambda x, weight, eps: normalize(x, eps) * weight)


wrong_rms("epsilon_outside",
          "Your epsilon is outside the root, sqrt(mean(x^2)) + eps. Add it under the root, "
          "sqrt(mean(x^2) + eps)",
          lambda x, eps: x / (mean(x**2).sqrt() + eps))
wrong_rms("epsilon_subtracted",
          "Your epsilon is subtracted under the root. Add it, sqrt(mean(x^2) + eps)",
          lambda x, eps: x / (mean(x**2) - eps).sqrt())
wrong_rms("epsilon_missing",
          "Your epsilon is missing. Add it under the root, sqrt(mean(x^2) + eps)",
          lambda x, eps: x / mean(x**2).sqrt())
wrong_rms("mean_subtracted",
          "You subtract the mean, as LayerNorm does. RMSNorm leaves it: divide x itself",
          lambda x, eps: (x - mean(x)) / (variance(x) + eps).sqrt())
wrong_rms("variance_for_mean_square",
          "Your root is of the variance, mean((x - mean)^2). Take mean(x^2): RMSNorm knows no mean",
          lambda x, eps: x / (variance(x) + eps).sqrt())
wrong_rms("dim_minus_one",
          "Your sum of squares is divided by dim - 1. Divide by dim",
          lambda x, eps: x / (mean(x**2) * x.shape[-1] / (x.shape[-1] - 1) + eps).sqrt())
wrong_rms("sum_of_squares",
          "Your root is of the sum of the squares. Divide the sum by dim first",
          lambda x, eps: x / (mean(x**2) * x.shape[-1] + eps).sqrt())
wrong_rms("not_rooted",
          "You divide by the mean square. Divide by its root, sqrt(mean(x^2) + eps)",
          lambda x, eps: x / (mean(x**2) + eps))
wrong_rms("other_axis",
          "Your mean of squares is taken over each column. Each row has its own",
          lambda x, eps: x / (mean(x**2, COLUMN) + eps).sqrt())
wrong_rms("whole_tensor",
          "Your mean of squares is that of the whole tensor. Each row has its own",
          lambda x, eps: x / ((x**2).mean() + eps).sqrt())
wrong_rms("first_statistics_reused",
          "Every row is divided by the root of the first row. Each row has its own",
          lambda x, eps: x / (mean(x[:1]**2) + eps).sqrt())


for fixed in 5, 6:
    wrong_rms(f"epsilon_always_1e-{fixed}",
              f"Your epsilon is 1e-{fixed}, whatever is handed in. Take eps: models differ in it",
              lambda x, eps, fixed=fixed: x / (mean(x**2) + 10.0**-fixed).sqrt())
wrong_rms("epsilon_in_the_sum",
          "Your epsilon is added before the division by dim. Divide first: sqrt(sum / dim + eps)",
          lambda x, eps: x / (mean(x**2) + eps / x.shape[-1]).sqrt())
wrong_rms("larger_of_mean_and_epsilon",
          "Your root is of the larger of mean(x^2) and epsilon. Add them, sqrt(mean(x^2) + eps)",
          lambda x, eps: x / mean(x**2).clamp(min=eps).sqrt())
wrong_rms("epsilon_after_the_division",
          "Your epsilon is added to 1 / sqrt(mean(x^2)). Add it under the root, 1 / sqrt(mean(x^2) + eps)",
          lambda x, eps: x * (1 / mean(x**2).sqrt() + eps))
wrong_rms("not_divided",
          "Your x is not divided by anything. Divide it by sqrt(mean(x^2) + eps)",
          lambda x, eps: x)
wrong_rms("multiplied_by_root",
          "Your x is multiplied by sqrt(mean(x^2) + eps). Divide it",
          lambda x, eps: x * (mean(x**2) + eps).sqrt())
wrong_rms("last_square_alone",
          "Your sum of squares is the last square alone. Add them up: sum += , and not sum =",
          lambda x, eps: x / (x[:, -1:]**2 / x.shape[-1] + eps).sqrt())
wrong_rms("largest",
          "Your divisor is the largest |x| of the row. It is the root of the mean square",
          lambda x, eps: x / (x.abs().amax(ROW, keepdim=True) + eps))
wrong_rms("mean_of_sizes",
          "Your divisor is the mean of |x|. It is the root of the mean of x^2",
          lambda x, eps: x / (mean(x.abs()) + eps))
wrong_rms("root_before_the_division",
          "Your root is taken before the division by dim, sqrt(sum) / dim. Divide under the root, sqrt(sum / dim + "
          "eps)",
          lambda x, eps: x / ((mean(x**2) * x.shape[-1] + eps).sqrt() / x.shape[-1]))
wrong_rms("sum_not_reset",
          "Your sum of squares runs on from one row to the next. Begin each row with 0",
          lambda x, eps: x / (running(mean(x**2), COLUMN, x.shape[-1]) + eps).sqrt())
wrong_rms("mean_not_reset",
          "Your mean of squares starts as that of the row before. Begin each row with 0",
          lambda x, eps: x / (carried(mean(x**2), COLUMN, x.shape[-1]) + eps).sqrt())


def scale_carried(x, eps):
    """One variable for the sum and for 1 / root: it is not 0 when the next row begins."""
    scale, rows = 0, []
    for row in x:
        scale = 1 / (mean(row**2) + scale / len(row) + eps).sqrt()
        rows.append(row * scale)
    return torch.stack(rows)


wrong_rms("scale_not_reset",
          "Your sum of squares starts with 1 / root of the row before. Begin each row with 0", scale_carried)
wrong_rms("last_number_left_out",
          "Your sum of squares ends one number too early. It runs over 0 .. dim - 1",
          lambda x, eps: x / (mean(x**2) - x[:, -1:]**2 / x.shape[-1] + eps).sqrt())
rms_norm.wrong_tails("sum of squares", lambda full, x, weight, eps:
                     x / ((x[:, :full(x.shape[-1])]**2).sum(-1, keepdim=True) / x.shape[-1] + eps).sqrt() * weight)


def right_rms(x, eps):
    return x / (mean(x**2) + eps).sqrt()


rms_norm.wrong("weight_plus_one",
               "Your weight is 1 + weight, as Gemma stores it. A Llama's weight is multiplied as it is",
               lambda x, weight, eps: right_rms(x, eps) * (1 + weight))
rms_norm.wrong("weight_forgotten",
               "Your weight is missing. Multiply the normalized number by weight[i]",
               lambda x, weight, eps: right_rms(x, eps))

rms_norm.wrong("first_weight_for_all",
               "Your weight is that of feature 0. Each feature has its own: weight[i]",
               lambda x, weight, eps: right_rms(x, eps) * weight[:1])
rms_norm.wrong("weight_of_the_row",
               "Your weight is chosen by the row. It belongs to the feature: weight[i]",
               lambda x, weight, eps: right_rms(x, eps) * weight[:len(x), None]
               if len(x) <= x.shape[1] else None)

wrong_rms("fast_inverse_root",
          "Your 1 / root is the fast one of 0x5f3759df, right to three digits. Write 1 / sqrt(mean(x^2) + eps)",
          lambda x, eps: x * fast_inverse_root(mean(x**2) + eps))
rms_norm.wrong("weight_before_the_norm",
               "Your x is multiplied by the weight before its squares are summed. Normalize x, then multiply by weight[i]",
               lambda x, weight, eps: right_rms(x * weight, eps))
rms_norm.wrong("weight_divides",
               "You divide by the weight. Multiply the normalized number by weight[i]",
               lambda x, weight, eps: right_rms(x, eps) / weight)
rms_norm.wrong("weight_added",
               "Your weight is added. Multiply the normalized number by weight[i]",
               lambda x, weight, eps: right_rms(x, eps) + weight)
rms_norm.wrong("weight_squared",
               "Your weight is multiplied twice. Once is enough",
               lambda x, weight, eps: right_rms(x, eps) * weight**2)
wrong_rms("epsilon_always_1e-8",
          "Your epsilon is 1e-8, whatever is handed in. Take eps: models differ in it",
          lambda x, eps: x / (mean(x**2) + 1e-8).sqrt())
wrong_rms("sum_not_finished",
          "Your output is written while its squares are still summed. Finish the sum, then divide",
          lambda x, eps: x / ((x**2).cumsum(ROW) / x.shape[-1] + eps).sqrt())
wrong_rms("first_number_left_out",
          "Your sum of squares begins one number too late. It runs over 0 .. dim - 1",
          lambda x, eps: x / (mean(x**2) - x[:, :1]**2 / x.shape[-1] + eps).sqrt())
for lanes in 4, 8, 16:
    wrong_rms(f"half_of_{lanes}_lanes_alone",
              f"Your vector of {lanes} sums is added up by its first {lanes // 2} alone. Add all {lanes}",
              lambda x, eps, lanes=lanes: x / (mean(in_kept_lanes(x, lanes, lanes // 2)**2) + eps).sqrt())
    wrong_rms(f"first_of_{lanes}_lanes_alone",
              f"Your vector of {lanes} sums is not added up: you take its first number alone. Add all {lanes}",
              lambda x, eps, lanes=lanes: x / (mean(in_kept_lanes(x, lanes, 1)**2) + eps).sqrt())

rms_norm.case("by_hand", "The lesson's example: the mean of the squares is 9.",
              x=[[1, -1, 3, 5]], weight=[1, 1, 1, 0.5], eps=1e-5)
rms_norm.case("small", "Three tokens of eight features.",
              x=normal(3, 8), weight=normal(8), eps=1e-5)
rms_norm.case("ten_times", "The lesson's example: ten times the vector, the same output.",
              x=[[1, -1, 3, 5], [10, -10, 30, 50]], weight=[1, 1, 1, 0.5], eps=1e-5)
rms_norm.case("ragged", "2 rows of 77: no size is a multiple of anything.",
              x=normal(2, 77), weight=normal(77), eps=1e-6)
rms_norm.case("left_over", "3 rows of 31: full vectors of 4, 8 and 16 leave 3, 7 and 15.",
              x=normal(3, 31), weight=normal(31), eps=1e-5)
rms_norm.case("one_wide", "A row of one number is divided by itself: its sign is left.",
              x=normal(4, 1), weight=normal(1), eps=1e-5)
rms_norm.case("residual_stream", "One token of a Llama: 4096 channels near 0.1, four of them up to 482.",
              x=residual_stream(4096), weight=normal(4096, scale=0.1, shift=0.4), eps=1e-5)
rms_norm.case("large_mean", "1100 numbers, spread 1 around 1000: RMSNorm does not care.",
              x=normal(1, 1100, shift=1000), weight=normal(1100), eps=1e-5)
# No rows beyond 1e19: there PyTorch's float32 squares overflow and it answers 0, where float64 does not.
rms_norm.case("rows_of_all_sizes", "Rows near 1e18, 1, 1e-3 and 1e-20 (epsilon decides), and one of zeros.",
              x=normal(5, 16, scale=[[1e18], [1], [1e-3], [1e-20], [0]]), weight=normal(16), eps=1e-6)
rms_norm.case("constant_rows", "Rows of one number repeated become its sign.",
              x=normal(3, 8, scale=0, shift=[[3], [-0.5], [1024]]), weight=normal(8), eps=1e-5)
rms_norm.case("epsilon_matters", "An epsilon as large as the mean of the squares.",
              x=normal(3, 16, scale=0.1), weight=normal(16), eps=1e-2)
rms_norm.case("not_finite", "An infinity makes its row 0 and NaN, a NaN all NaN, and no other row changes.",
              x=[[1, 2, INF, 4], [1, NAN, 3, 4], [1, 2, 3, 5]], weight=[1, 2, 3, 4], eps=1e-5)


# --- DyT: no statistics at all -----------------------------------------------------------------------------

dyt = Kernel(
    "dyt", CHAPTER, "DynamicTanh of github.com/jiachenzhu/DyT, in torch",
    pytorch=lambda x, weight, bias, alpha: torch.tanh(alpha * x) * weight + bias,
    formula=lambda x, weight, bias, alpha: (1 - 2 / (1 + torch.exp(2 * alpha * x))) * weight + bias, sums=False)

dyt.wrong("alpha_outside",
          "Your alpha multiplies the tanh. It belongs inside, tanh(alpha x)",
          lambda x, weight, bias, alpha: alpha * torch.tanh(x) * weight + bias)
dyt.wrong("alpha_forgotten",
          "Your alpha is missing. It stretches x, tanh(alpha x)",
          lambda x, weight, bias, alpha: torch.tanh(x) * weight + bias)
dyt.wrong("alpha_divides",
          "You divide x by alpha. Multiply it, tanh(alpha x)",
          lambda x, weight, bias, alpha: torch.tanh(x / alpha) * weight + bias)
dyt.wrong("sigmoid_for_tanh",
          "Your bend is the sigmoid, between 0 and 1. DyT bends by tanh, between -1 and 1",
          lambda x, weight, bias, alpha: torch.sigmoid(alpha * x) * weight + bias)
dyt.wrong("clipped",
          "Your bend is a hard clip at -1 and 1. DyT's is smooth, tanh(alpha x)",
          lambda x, weight, bias, alpha: torch.clamp(alpha * x, -1, 1) * weight + bias)
dyt.wrong("weight_inside",
          "Your weight is inside the tanh. Multiply after it",
          lambda x, weight, bias, alpha: torch.tanh(alpha * x * weight) + bias)
dyt.wrong("weight_forgotten",
          "Your weight is missing. Multiply the tanh by weight[i]",
          lambda x, weight, bias, alpha: torch.tanh(alpha * x) + bias)
dyt.wrong("bias_inside",
          "Your bias is inside the tanh. Add it at the end",
          lambda x, weight, bias, alpha: torch.tanh(alpha * x + bias) * weight)
dyt.wrong("bias_forgotten",
          "Your bias is missing. Add bias[i] at the end",
          lambda x, weight, bias, alpha: torch.tanh(alpha * x) * weight)

dyt.wrong("half_the_argument",
          "Your tanh is 2 sigmoid(alpha x) - 1, of half the argument. It is 2 sigmoid(2 alpha x) - 1",
          lambda x, weight, bias, alpha: torch.tanh(alpha * x / 2) * weight + bias)
dyt.wrong("softsign",
          "Your bend is x / (1 + |x|), which is slow to reach 1. DyT bends by tanh",
          lambda x, weight, bias, alpha: alpha * x / (1 + (alpha * x).abs()) * weight + bias)
dyt.wrong("overflow",
          "Your (e^2x - 1) / (e^2x + 1) is infinity over infinity for large x. Call tanhf",
          lambda x, weight, bias, alpha: (torch.exp(2 * alpha * x.float()) - 1) / (torch.exp(2 * alpha * x.float()) + 1)
          * weight + bias)
dyt.wrong("overflow_on_either_side",
          "Your (e^x - e^-x) / (e^x + e^-x) is infinity over infinity for large |x|. Call tanhf",
          lambda x, weight, bias, alpha: torch.sinh(alpha * x.float()) / torch.cosh(alpha * x.float()) * weight + bias)
dyt.wrong("weight_and_bias_exchanged",
          "Your weight and bias are exchanged. Multiply by weight[i], then add bias[i]",
          lambda x, weight, bias, alpha: torch.tanh(alpha * x) * bias + weight)
dyt.wrong("first_parameters_for_all",
          "Your weight and bias are those of feature 0. Each feature has its own: weight[i], bias[i]",
          lambda x, weight, bias, alpha: torch.tanh(alpha * x) * weight[:1] + bias[:1])
dyt.wrong("bias_subtracted",
          "Your bias is subtracted. Add bias[i] at the end",
          lambda x, weight, bias, alpha: torch.tanh(alpha * x) * weight - bias)
dyt.wrong("parameters_of_the_row",
          "Your weight and bias are chosen by the row. They belong to the feature: weight[i], bias[i]",
          lambda x, weight, bias, alpha: torch.tanh(alpha * x) * weight[:len(x), None] + bias[:len(x), None]
          if len(x) <= x.shape[1] else None)
dyt.wrong("normalized_first",
          "Your x is brought to mean 0 and variance 1 first. DyT has no statistics: that is what it is for",
          lambda x, weight, bias, alpha:
              torch.tanh(alpha * (x - mean(x)) / (variance(x) + 1e-5).sqrt()) * weight + bias)

dyt.wrong("twice_the_argument",
          "Your (e^2u - 1) / (e^2u + 1) has u = 2 alpha x. It has u = alpha x",
          lambda x, weight, bias, alpha: torch.tanh(2 * alpha * x) * weight + bias)
dyt.wrong("negative",
          "Your tanh falls: (1 - e^2x) / (1 + e^2x) has the wrong sign. It rises from -1 to 1",
          lambda x, weight, bias, alpha: -torch.tanh(alpha * x) * weight + bias)
dyt.wrong("erf",
          "Your bend is erf, as in Derf. DyT bends by tanh",
          lambda x, weight, bias, alpha: torch.erf(alpha * x) * weight + bias)
dyt.wrong("arctangent",
          "Your bend is the arctangent, up to pi/2. DyT bends by tanh, between -1 and 1",
          lambda x, weight, bias, alpha: torch.atan(alpha * x) * weight + bias)
dyt.wrong("alpha_always_0.5",
          "Your alpha is 0.5, with which training begins. Take alpha: it is learned",
          lambda x, weight, bias, alpha: torch.tanh(0.5 * x) * weight + bias)
dyt.wrong("bias_before_weight",
          "Your bias is added before the weight is multiplied. Multiply first, then add",
          lambda x, weight, bias, alpha: (torch.tanh(alpha * x) + bias) * weight)
dyt.wrong("weight_plus_one",
          "Your weight is 1 + weight, as Gemma stores it. Multiply by the weight itself",
          lambda x, weight, bias, alpha: torch.tanh(alpha * x) * (1 + weight) + bias)

dyt.case("by_hand", "tanh of 0, 1 and -1 is 0, 0.76 and -0.76; alpha = 0.5 halves x first.",
         x=[[0, 2, -2]], weight=[1, 2, 3], bias=[10, 0, 0], alpha=0.5)
dyt.case("small", "Three tokens of eight features.",
         x=normal(3, 8), weight=normal(8), bias=normal(8), alpha=0.5)
dyt.case("ragged", "2 rows of 77: no size is a multiple of anything.",
         x=normal(2, 77), weight=normal(77), bias=normal(77), alpha=0.8)
dyt.case("one_wide", "A row of one number: DyT does not care what else is in the row.",
         x=normal(4, 1), weight=normal(1), bias=normal(1), alpha=2.0)
dyt.case("rows_of_all_sizes", "Rows that saturate, rows that do not bend at all, and a row of zeros.",
         x=normal(5, 16, scale=[[1e18], [100], [1], [1e-3], [0]]), weight=normal(16), bias=normal(16),
         alpha=0.5)
dyt.case("not_finite", "Infinity becomes 1; a NaN stays alone.",
         x=[[1, 2, INF, 4], [1, NAN, -INF, 4]], weight=[1, 2, 3, 4], bias=[4, 3, 2, 1], alpha=0.5)


# --- RMSNorm on bfloat16: two libraries, two orders of rounding --------------------------------------------

def normalized(x, eps, noise=1):
    """The row over its root, in float32; noise is what another order of the sum may do to it. Where the root is a power
    of two, as that of small whole numbers may be, no order does anything."""
    x = x.float()
    scale = torch.rsqrt(mean(x**2) + eps)
    return x * torch.where(scale.log2() % 1 == 0, scale, noise * scale)


def rounded_before_weight(x, weight, eps, noise=1):
    return weight * normalized(x, eps, noise).to(torch.bfloat16)


def rounded_once(x, weight, eps, noise=1):
    return (weight.float() * normalized(x, eps, noise)).to(torch.bfloat16)


class LlamaRMSNorm(nn.Module):
    """From src/transformers/models/llama/modeling_llama.py of transformers 5."""

    def __init__(self, dim, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return self.weight * hidden_states.to(input_dtype)


rms_norm_bf16 = Kernel(
    "rms_norm_bf16", CHAPTER, "LlamaRMSNorm of transformers", dtype=torch.bfloat16,
    pytorch=lambda x, weight, eps: with_parameters(LlamaRMSNorm(x.shape[-1], eps), weight)(x),
    formula=rounded_before_weight)
rms_norm_bf16_round_once = Kernel(
    "rms_norm_bf16_round_once", CHAPTER, "torch.nn.functional.rms_norm", dtype=torch.bfloat16,
    pytorch=lambda x, weight, eps: F.rms_norm(x, x.shape[-1:], weight, eps),
    formula=rounded_once)
rms_norm_bf16_round_once.agrees("torch.nn.RMSNorm", lambda x, weight, eps:
                                with_parameters(nn.RMSNorm(x.shape[-1], eps), weight)(x))

try:
    from transformers.models.llama import modeling_llama
except ImportError:
    print("skipped: transformers is not installed, so LlamaRMSNorm is not compared with the original")
else:
    rms_norm_bf16.agrees("transformers' LlamaRMSNorm", lambda x, weight, eps:
                         with_parameters(modeling_llama.LlamaRMSNorm(x.shape[-1], eps), weight)(x))


def truncated(x):
    """The upper half of each float32, the lower simply cut off."""
    return (x.view(torch.int32) & ~0xffff).view(torch.float32).to(torch.bfloat16)


def tie_away(x):
    """A tie goes to the larger magnitude: half of what is cut off is added."""
    return truncated((x.view(torch.int32) + 0x8000).view(torch.float32))


def tie_to_zero(x):
    return truncated((x.view(torch.int32) + 0x7fff).view(torch.float32))


def everything_in_bf16(x, weight, eps, noise=1):
    mean_square = (noise * mean((x * x).float())).to(torch.bfloat16)
    return x * torch.rsqrt(mean_square + eps) * weight


rms_norm_bf16.wrong(
    "rounded_once",
    "You round once, after the weight, as torch.nn.RMSNorm does. LlamaRMSNorm of transformers and Meta's "
    "RMSNorm round the normalized row to bf16 before it, weight * x_normalized.to(bf16)",
    rounded_once)
rms_norm_bf16.wrong(
    "truncated",
    "Your float32 is cut to bf16. Round it to the nearest, ties to even",
    lambda x, weight, eps, noise=1: truncated(weight.float() * truncated(normalized(x, eps, noise)).float()))
rms_norm_bf16_round_once.wrong(
    "rounded_before_weight",
    "You round the normalized row to bf16 before the weight, as LlamaRMSNorm of transformers does. "
    "torch.nn.RMSNorm multiplies in float32 and rounds once, (weight * x_normalized).to(bf16)",
    rounded_before_weight)
for name, to_bf16, where in ("ties_away", tie_away, "away from zero"), ("ties_to_zero", tie_to_zero, "towards zero"):
    advice = f"You round a tie to bf16 {where}. Add 0x7fff and the lowest bit that is kept, and it goes to the even one"
    rms_norm_bf16.wrong(name, advice, lambda x, weight, eps, noise=1, to_bf16=to_bf16:
                        to_bf16(weight.float() * to_bf16(normalized(x, eps, noise)).float()))
    rms_norm_bf16_round_once.wrong(name, advice, lambda x, weight, eps, noise=1, to_bf16=to_bf16:
                                   to_bf16(weight.float() * normalized(x, eps, noise)))
rms_norm_bf16_round_once.wrong(
    "truncated",
    "Your float32 is cut to bf16. Round it to the nearest, ties to even",
    lambda x, weight, eps, noise=1: truncated(weight.float() * normalized(x, eps, noise)))

for kernel, rounded in (rms_norm_bf16, rounded_before_weight), (rms_norm_bf16_round_once, rounded_once):
    kernel.wrong("statistics_in_bf16",
                 "Your squares, their mean and its root are rounded to bf16. Compute them in float32",
                 everything_in_bf16)
    kernel.wrong("epsilon_missing",
                 "Your epsilon is missing. Add it under the root, sqrt(mean(x^2) + eps)",
                 lambda x, weight, eps, noise=1, rounded=rounded: rounded(x, weight, 0, noise))
    kernel.wrong("weight_forgotten",
                 "Your weight is missing. Multiply the normalized number by weight[i]",
                 lambda x, weight, eps, noise=1: normalized(x, eps, noise).to(torch.bfloat16))


def mistakes_of_the_statistic(kernel, finish):
    """finish(weight, normalized) is the kernel's own order of rounding."""
    def wrong(name, advice, scale):
        kernel.wrong(name, advice, lambda x, weight, eps, noise=1:
                     finish(weight, x.float() * (noise * scale(x.float(), eps))))

    for fixed in 5, 6:
        wrong(f"epsilon_always_1e-{fixed}",
              f"Your epsilon is 1e-{fixed}, whatever is handed in. Take eps: models differ in it",
              lambda x, eps, fixed=fixed: torch.rsqrt(mean(x**2) + 10.0**-fixed))
    wrong("epsilon_outside", "Your epsilon is outside the root. Add it under the root, sqrt(mean(x^2) + eps)",
          lambda x, eps: 1 / (mean(x**2).sqrt() + eps))
    wrong("scale_in_bf16", "Your 1 / sqrt(mean(x^2) + eps) is rounded to bf16. Keep it in float32",
          lambda x, eps: torch.rsqrt(mean(x**2) + eps).to(torch.bfloat16).float())
    wrong("sum_of_squares", "Your root is of the sum of the squares. Divide the sum by dim first",
          lambda x, eps: torch.rsqrt((x**2).sum(-1, keepdim=True) + eps))
    wrong("not_rooted", "You divide by the mean square. Divide by its root, sqrt(mean(x^2) + eps)",
          lambda x, eps: 1 / (mean(x**2) + eps))
    wrong("sum_not_reset", "Your sum of squares runs on from one row to the next. Begin each row with 0",
          lambda x, eps: torch.rsqrt(running(mean(x**2), COLUMN, x.shape[-1]) + eps))
    wrong("first_statistics_reused", "Every row is divided by the root of the first row. Each row has its own",
          lambda x, eps: torch.rsqrt(mean(x[:1]**2) + eps).expand(len(x), 1))
    wrong("mean_square_in_bf16", "Your mean of squares is rounded to bf16. Keep it in float32",
          lambda x, eps: torch.rsqrt(mean(x**2).to(torch.bfloat16).float() + eps))
    wrong("squares_in_bf16", "Your squares are rounded to bf16. Square and sum in float32",
          lambda x, eps: torch.rsqrt(mean((x**2).to(torch.bfloat16).float()) + eps))
    wrong("dim_minus_one", "Your sum of squares is divided by dim - 1. Divide by dim",
          lambda x, eps: torch.rsqrt(mean(x**2) * x.shape[-1] / (x.shape[-1] - 1) + eps))
    wrong("variance_for_mean_square", "Your root is of the variance, mean((x - mean)^2). Take mean(x^2): RMSNorm knows no mean",
          lambda x, eps: torch.rsqrt(variance(x) + eps))
    kernel.wrong("weight_before_the_scale", "You round x weight to bf16 before you divide by the root. Divide x by the root first",
                 lambda x, weight, eps, noise=1: ((x * weight).float() * (
                     noise * torch.rsqrt(mean(x.float()**2) + eps))).to(torch.bfloat16))
    kernel.wrong("mean_subtracted", "You subtract the mean, as LayerNorm does. RMSNorm leaves it: divide x itself",
                 lambda x, weight, eps, noise=1: finish(weight, (x.float() - mean(x.float()))
                                                        * (noise * torch.rsqrt(variance(x.float()) + eps))))
    kernel.wrong("weight_plus_one", "Your weight is 1 + weight, as Gemma stores it. A Llama's is multiplied as it is",
                 lambda x, weight, eps, noise=1:
                     finish(1 + weight.float(), normalized(x, eps, noise)).to(torch.bfloat16))
    kernel.wrong_tails("sum of squares", lambda full, x, weight, eps, noise=1: finish(
        weight, x.float() * (noise * torch.rsqrt(
            (x.float()[:, :full(x.shape[-1])]**2).sum(-1, keepdim=True) / x.shape[-1] + eps))))


mistakes_of_the_statistic(rms_norm_bf16, lambda weight, normal: weight * normal.to(torch.bfloat16))
mistakes_of_the_statistic(rms_norm_bf16_round_once, lambda weight, normal: (weight.float() * normal).to(torch.bfloat16))


def far_from_ties(x, weight, eps, random):
    """The weight, redrawn wherever the product with the normalized row would lie near a tie of its rounding:
    among 4096 numbers some always do. In float64, whose own noise is far smaller than what is looked for."""
    def as_bf16(numbers):
        return torch.as_tensor(numbers).float().to(torch.bfloat16).double()

    x, weight = as_bf16(x), as_bf16(weight)
    product = x[0] * torch.rsqrt(mean(x**2) + eps)[0]
    while True:
        near = as_bf16((1 - 2 * NOISE) * product * weight) != as_bf16((1 + 2 * NOISE) * product * weight)
        if not near.any():
            return weight.numpy()
        weight[near] = as_bf16(0.4 + 0.1 * random.standard_normal(int(near.sum())))


random = np.random.default_rng(list(b"residual_stream in bf16"))
stream = residual_stream(4096)(random)
stream_weight = far_from_ties(stream, 0.4 + 0.1 * random.standard_normal(4096), 1e-5, random)

# The seeds are such that no output, right or wrong, lies near a tie; but for those of the last case, which are exact.
for kernel in rms_norm_bf16, rms_norm_bf16_round_once:
    kernel.case("by_hand", "The lesson's example: the mean of the squares is 9.",
                x=[[1, -1, 3, 5]], weight=[1, 1, 1, 0.5], eps=1e-5)
    kernel.case("small", "Three tokens of eight features.",
                x=normal(3, 8), weight=normal(8), eps=1e-5, seed=1)
    kernel.case("ragged", "2 rows of 77: no size is a multiple of anything.",
                x=normal(2, 77), weight=normal(77), eps=1e-6, seed=25)
    kernel.case("one_wide", "A row of one number is divided by itself: its sign is left.",
                x=normal(4, 1), weight=normal(1), eps=1e-5)
    kernel.case("residual_stream", "One token of a Llama: 4096 channels near 0.1, four of them up to 482.",
                x=stream, weight=stream_weight, eps=1e-5)
    kernel.case("rows_of_all_sizes", "Rows near 1e18, 1, 1e-3 and 1e-20 (epsilon decides), and one of zeros.",
                x=normal(5, 16, scale=[[1e18], [1], [1e-3], [1e-20], [0]]), weight=normal(16), eps=1e-6,
                seed=1)
    kernel.case("epsilon_matters", "An epsilon as large as the mean of the squares.",
                x=normal(3, 16, scale=0.1), weight=normal(16), eps=1e-2)
    kernel.case("not_finite", "An infinity makes its row 0 and NaN, a NaN all NaN, and no other row changes.",
                x=[[1, np.inf, -2, 3], [1, 2, np.nan, 3], [1, 1, 1, 3], [-np.inf, 2, 0, 1]], weight=[1, 2, -3, 4], eps=1.0)
    kernel.case("ties", "The root is 4, and each product lies half way between two bf16: the even one is right.",
                x=[[3, 3, 3, 3, 5, 5, 5, 3], [-3, 3, -3, 3, 5, -5, 5, -3]],
                weight=[1 + odd / 128 for odd in (1, 3, 5, 7, 2, 6, 10, 9)], eps=1.0)
