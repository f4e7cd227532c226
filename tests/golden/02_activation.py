"""Chapter 2: ReLU, sigmoid, GELU, its tanh approximation, Swish and SiLU, and the derivative of each.

Every element is judged by its own size, and a case by PyTorch's worst error in it; so a case holds numbers at
which PyTorch errs alike. It errs most where its formula cancels:

    1 + erf(x), 1 + tanh(x) for negative x   GELU is far smaller than x there: PyTorch errs by 40 ulps at -2,
                                             by thousands at -3.5, by all digits at -5.5. From there to -15,
                                             where the exact answer is 0 in float32, there is no case.
    1 - sigmoid(x) for positive x            So errs the derivative of sigmoid.
    a derivative near its zero               The two terms of the product rule cancel.

The odd counts are two vectors or more and one number: PyTorch computes what is left over after the last full
pair of vectors by other instructions, and its erf by another approximation, up to 9 times as exact.
"""
import math

import numpy as np
import torch
import torch.nn.functional as F

from golden import Kernel, gelu_rounding, gelu_slope_rounding, uniform

CHAPTER = "02_activation"
NAN, INF = np.nan, np.inf
TINY = 1e-40  # a denormal float32

exp, erf, tanh, sigmoid = torch.exp, torch.erf, torch.tanh, torch.sigmoid


def autograd(function):
    def derivative(x, **parameters):
        x = x.clone().requires_grad_()
        return torch.autograd.grad(function(x, **parameters).sum(), x)[0]
    return derivative


def activation(name, source, pytorch, formula, derivative, roundings=(None, None)):
    """The kernel and that of its derivative; `derivative` is the formula that the lesson derives."""
    value = Kernel(name, CHAPTER, source, pytorch, formula, rounding=roundings[0])
    slope = Kernel(f"{name}_derivative", CHAPTER, f"torch.autograd of {source}",
                   autograd(pytorch), derivative, rounding=roundings[1])
    slope.wrong("not_differentiated",
                f"Your output is {name} itself. Return its slope at x", formula)
    return value, slope


# --- ReLU --------------------------------------------------------------------------------------------------

relu, relu_slope = activation(
    "relu", "torch.nn.functional.relu", lambda x: F.relu(x),
    formula=lambda x: torch.where(x <= 0, 0, x),
    derivative=lambda x: torch.where(x <= 0, 0, torch.ones_like(x)))

relu.wrong("leaky",
           "Your ReLU leaks 0.01 x below zero. There it is 0",
           lambda x: F.leaky_relu(x, 0.01))
relu.wrong("clipped_at_six",
           "Your ReLU stops at 6, as ReLU6 does. ReLU grows without end",
           lambda x: F.relu6(x))
relu.wrong("nan_swallowed",
           "Your ReLU turns NaN into 0, because x > 0 is false for it. PyTorch keeps the NaN: "
           "write x <= 0 ? 0 : x",
           lambda x: torch.where(x > 0, x, 0))

relu_slope.wrong("one_at_zero",
                 "Your slope at 0 is 1. PyTorch chose 0 there",
                 lambda x: torch.where(x < 0, 0, torch.ones_like(x)))
relu_slope.wrong("half_at_zero",
                 "Your slope at 0 is 1/2. PyTorch chose 0 there",
                 lambda x: torch.where(x < 0, 0, torch.where(x == 0, 0.5, torch.ones_like(x))))
relu_slope.wrong("leaky",
                 "Your slope below zero is 0.01, a leaky ReLU's. There it is 0",
                 lambda x: torch.where(x <= 0, 0.01, torch.ones_like(x)))
relu_slope.wrong("zero_at_nan",
                 "Your slope at NaN is 0. PyTorch's is 1, because x <= 0 is false for it",
                 lambda x: torch.where(x > 0, torch.ones_like(x), 0))

relu.wrong("leaky_tenth",
           "Your ReLU leaks 0.1 x below zero. There it is 0",
           lambda x: F.leaky_relu(x, 0.1))
relu.wrong("absolute",
           "Your negative numbers come out positive, |x|. They become 0",
           lambda x: x.abs())
relu.wrong("negative_half",
           "You keep what is below zero, min(0, x). ReLU keeps what is above, max(0, x)",
           lambda x: torch.where(x >= 0, 0, x))
relu.wrong("squared",
           "Your ReLU is squared, as in Primer. It is x itself above zero",
           lambda x: F.relu(x)**2)
relu.wrong("clipped_at_one",
           "Your ReLU stops at 1. ReLU grows without end",
           lambda x: x.clamp(0, 1))
relu.wrong("step",
           "Your output is 1 above zero: that is ReLU's slope. ReLU is x there",
           lambda x: torch.where(x <= 0, 0, torch.ones_like(x)))
relu.wrong("elu",
           "Your ReLU is an ELU, e^x - 1 below zero. There it is 0",
           lambda x: torch.where(x > 0, x, exp(x) - 1))
relu_slope.wrong("sign",
                 "Your slope below zero is -1, as |x| has it. There it is 0",
                 lambda x: torch.where(x < 0, -torch.ones_like(x), torch.where(x <= 0, 0, torch.ones_like(x))))
relu_slope.wrong("negative_half",
                 "Your slope is 1 below zero and 0 above. It is the other way round",
                 lambda x: torch.where(x < 0, torch.ones_like(x), torch.where(x >= 0, 0, torch.ones_like(x))))
relu_slope.wrong("one_everywhere",
                 "Your slope is 1 everywhere. Below zero it is 0",
                 lambda x: torch.ones_like(x))

relu.wrong("gelu", "Your activation is GELU, which bends. ReLU is max(0, x)", lambda x: F.gelu(x))
relu.wrong("silu", "Your activation is SiLU, which bends. ReLU is max(0, x)", lambda x: F.silu(x))
relu.wrong("softplus", "Your activation is softplus, log(1 + e^x), which bends. ReLU is max(0, x)", lambda x: F.softplus(x))
relu_slope.wrong("leaky_tenth",
                 "Your slope below zero is 0.1, a leaky ReLU's. There it is 0",
                 lambda x: torch.where(x <= 0, 0.1, torch.ones_like(x)))
relu_slope.wrong("nan_at_nan",
                 "Your slope at NaN is NaN. PyTorch's is 1, because x <= 0 is false for it",
                 lambda x: torch.where(x <= 0, 0, torch.where(x.isnan(), x, 1)))
relu_slope.wrong("slope_of_softplus",
                 "Your slope is a smooth step, sigmoid(x). ReLU's is 0, and above zero 1",
                 lambda x: sigmoid(x))

for kernel in relu, relu_slope:
    kernel.case("by_hand", "The lesson's numbers: two on either side of zero, and zero.", x=[-3, -1, 0, 1, 3])
    kernel.case("ordinary", "33 numbers up to 9 in size.", x=uniform(-9, 9, 33))
    kernel.case("extremes", "From the denormals to 1e4.", x=[-1e4, -88, -TINY, -0.0, 0, TINY, 88, 1e4])
    kernel.case("not_finite", "Infinities and a NaN.", x=[-INF, INF, NAN, 1])


# --- Sigmoid -----------------------------------------------------------------------------------------------

sigma, sigma_slope = activation(
    "sigmoid", "torch.sigmoid", lambda x: sigmoid(x),
    formula=lambda x: 1 / (1 + exp(-x)),
    derivative=lambda x: sigmoid(x) * (1 - sigmoid(x)))

sigma.wrong("exponent_sign",
            "Your exponent has the wrong sign, 1 / (1 + e^x). It is -x",
            lambda x: 1 / (1 + exp(x)))
sigma.wrong("overflow",
            "Your e^x / (1 + e^x) is infinity over infinity for large x. Write 1 / (1 + e^-x)",
            lambda x: exp(x.float()) / (1 + exp(x.float())))
sigma.wrong("tanh_for_sigmoid",
            "Your output runs from -1 to 1, as tanh does. Sigmoid runs from 0 to 1",
            lambda x: tanh(x))
sigma.wrong("hard_sigmoid",
            "Your sigmoid is the piecewise linear one, x / 6 + 1/2 clipped. Use e^-x",
            lambda x: F.hardsigmoid(x))

sigma_slope.wrong("input_for_output",
                  "Your x (1 - x) takes x for sigmoid's output. Here x is its input: "
                  "s (1 - s) with s = sigmoid(x)",
                  lambda x: x * (1 - x))
sigma_slope.wrong("negative",
                  "Your slope is negative. Sigmoid rises everywhere: s (1 - s)",
                  lambda x: -sigmoid(x) * (1 - sigmoid(x)))
sigma_slope.wrong("sum_for_product",
                  "Your slope is s (1 + s). It is s (1 - s), which is 1/4 at 0 and never more",
                  lambda x: sigmoid(x) * (1 + sigmoid(x)))

sigma.wrong("base_two",
            "Your power is one of 2, 1 / (1 + 2^-x). Take e^-x",
            lambda x: 1 / (1 + 2**-x))
sigma.wrong("twice_as_steep",
            "Your (1 + tanh(x)) / 2 is sigmoid(2 x). Halve the argument: (1 + tanh(x / 2)) / 2",
            lambda x: sigmoid(2 * x))
sigma.wrong("softsign",
            "Your S is x / (1 + |x|), a fast one. Sigmoid is 1 / (1 + e^-x)",
            lambda x: (1 + x / (1 + x.abs())) / 2)
sigma.wrong("only_the_power",
            "Your output is e^x alone. It is 1 / (1 + e^-x)",
            lambda x: exp(x))
sigma.wrong("minus_for_plus",
            "Your divisor is 1 - e^-x. It is 1 + e^-x",
            lambda x: 1 / (1 - exp(-x)))
for least in 10, 20, 30:
    sigma.wrong(f"shut_below_{least}",
                f"Your output is 0 below -{least}. There sigmoid is tiny, and not 0: e^-x may be infinite",
                lambda x, least=least: torch.where(x < -least, 0, sigmoid(x)))
    sigma.wrong(f"clipped_at_{least}",
                f"Your x is kept within {least} of zero, so that far left sigmoid stands still. It falls on: e^-x "
                "may be infinite",
                lambda x, least=least: sigmoid(x.clamp(-least, least)))
sigma_slope.wrong("one_minus_sigmoid",
                  "Your slope is 1 - s. It is s (1 - s)",
                  lambda x: sigmoid(-x))
sigma_slope.wrong("squared",
                  "Your slope is s^2. It is s (1 - s)",
                  lambda x: sigmoid(x)**2)
sigma_slope.wrong("slope_of_tanh",
                  "Your slope is tanh's, 1 - tanh(x)^2. Sigmoid's is s (1 - s)",
                  lambda x: 1 - tanh(x)**2)
sigma_slope.wrong("sigmoid_twice",
                  "Your s is the sigmoid of the sigmoid. Here x is sigmoid's input: s (1 - s) with s = sigmoid(x)",
                  lambda x: sigmoid(sigmoid(x)) * (1 - sigmoid(sigmoid(x))))
sigma_slope.wrong("overflow",
                  "Your e^-x / (1 + e^-x)^2 overflows far to the left: 0 or NaN there. Write s (1 - s)",
                  lambda x: exp(-x.float()) / (1 + exp(-x.float()))**2)

sigma.wrong("of_the_magnitude",
            "Your output for negative x is that for -x. There it is e^x / (1 + e^x), or 1 - sigmoid(-x)",
            lambda x: sigmoid(x.abs()))
sigma.wrong("clipped_at_15",
            "Your x is kept within 15 of zero, so that far left sigmoid stands still. It falls on: e^-x may be infinite",
            lambda x: sigmoid(x.clamp(-15, 15)))
sigma_slope.wrong("one_minus_square",
                  "Your slope is 1 - s^2, by tanh's rule. Sigmoid's is s (1 - s)",
                  lambda x: 1 - sigmoid(x)**2)
sigma_slope.wrong("difference_for_product",
                  "Your slope is s - (1 - s). Multiply them: s (1 - s)",
                  lambda x: 2 * sigmoid(x) - 1)
sigma_slope.wrong("square_of_one_minus",
                  "Your slope is (1 - s)^2. It is s (1 - s)",
                  lambda x: sigmoid(-x)**2)
sigma_slope.wrong("times_x",
                  "Your slope is x s (1 - s), the second term of SiLU's. Sigmoid's is s (1 - s)",
                  lambda x: x * sigmoid(x) * (1 - sigmoid(x)))
sigma_slope.wrong("overflow_to_the_right",
                  "Your e^x / (1 + e^x)^2 overflows far to the right: 0 or NaN there. Write s (1 - s)",
                  lambda x: exp(x.float()) / (1 + exp(x.float()))**2)

for kernel in sigma, sigma_slope:
    kernel.case("by_hand", "1/2 and slope 1/4 at zero; 0.73 at 1.", x=[-1, 0, 1])
    kernel.case("negative", "33 negative numbers.", x=uniform(-8, 0, 33))
    kernel.case("left_tail", "Down to -88, where sigmoid is a denormal.", x=np.linspace(-88, -8, 33))
    kernel.case("extremes", "Zeros, denormals, and numbers so large that e^x or e^-x is infinite.",
                x=[-1e4, -110, -88, -20, -TINY, -0.0, 0, TINY, 110, 1e4])
    kernel.case("not_finite", "Infinities and a NaN.", x=[-INF, INF, NAN, 1])
sigma.case("positive", "33 positive numbers.", x=uniform(0, 8, 33))
sigma.case("right_tail", "Up to 88: sigmoid is 1.", x=np.linspace(8, 88, 33))
sigma_slope.case("positive", "33 numbers up to 1.5.", x=uniform(0, 1.5, 33))
sigma_slope.case("right", "Up to 3, where PyTorch's 1 - s has lost a digit.", x=uniform(1.5, 3, 33))
sigma_slope.case("right_tail", "Up to 6, where PyTorch's 1 - s has lost two more.", x=uniform(3, 6, 33))


# --- GELU and its tanh approximation -----------------------------------------------------------------------

ROOT = math.sqrt(2 / math.pi)


def Phi(x):
    """The normal distribution function."""
    return (1 + erf(x / math.sqrt(2))) / 2


def phi(x):
    """The normal density, Phi's derivative."""
    return exp(-x**2 / 2) / math.sqrt(2 * math.pi)


def inner(x):
    return ROOT * (x + 0.044715 * x**3)


def inner_slope(x):
    return ROOT * (1 + 3 * 0.044715 * x**2)


def outer_slope(x):
    return x / 2 * (1 - tanh(inner(x))**2)


def mistyped_slope(x, cubic, of_the_slope=None):
    """gelu_tanh's slope with another constant than 0.044715."""
    t = tanh(ROOT * (x + cubic * x**3))
    return (1 + t) / 2 + x / 2 * (1 - t**2) * ROOT * (1 + (of_the_slope or 3 * cubic) * x**2)


gelu, gelu_slope = activation(
    "gelu", "torch.nn.functional.gelu", lambda x: F.gelu(x),
    formula=lambda x: x * Phi(x),
    derivative=lambda x: Phi(x) + x * phi(x), roundings=(gelu_rounding, gelu_slope_rounding))
gelu_tanh, gelu_tanh_slope = activation(
    "gelu_tanh", "torch.nn.functional.gelu(approximate='tanh')", lambda x: F.gelu(x, approximate="tanh"),
    formula=lambda x: x / 2 * (1 + tanh(inner(x))),
    derivative=lambda x: (1 + tanh(inner(x))) / 2 + outer_slope(x) * inner_slope(x))

gelu.wrong("tanh_approximation",
           "Your GELU is the tanh approximation, GPT-2's. Use the exact x/2 (1 + erf(x / sqrt(2)))",
           lambda x: F.gelu(x, approximate="tanh"))
gelu.wrong("root_missing",
           "Your erf is of x. It is of x / sqrt(2): x/2 (1 + erf(x / sqrt(2)))",
           lambda x: x / 2 * (1 + erf(x)))
gelu_tanh.wrong("exact",
                "Your GELU is the exact one, with erf. This kernel is the tanh approximation, GPT-2's",
                lambda x: F.gelu(x))
gelu_tanh.wrong("cubic_missing",
                "Your tanh is of sqrt(2/pi) x. The cubic term is missing: x + 0.044715 x^3",
                lambda x: x / 2 * (1 + tanh(ROOT * x)))
gelu_tanh.wrong("root_missing",
                "Your constant is 2/pi. Take its root: sqrt(2/pi) = 0.7979",
                lambda x: x / 2 * (1 + tanh(ROOT * inner(x))))
for kernel, distribution in (gelu, Phi), (gelu_tanh, lambda x: (1 + tanh(inner(x))) / 2):
    kernel.wrong("half_missing",
                 "Your factor 1/2 is missing: GELU is x/2 (1 + …), about x for large x",
                 lambda x, distribution=distribution: 2 * x * distribution(x))
    kernel.wrong("x_missing",
                 "Your output is the gate alone, between 0 and 1. Multiply it by x",
                 distribution)
    kernel.wrong("sigmoid_approximation",
                 "Your GELU is x sigmoid(1.702 x), the quick approximation of CLIP. "
                 "It is off by up to 0.02",
                 lambda x: x * sigmoid(1.702 * x))

gelu_slope.wrong("tanh_approximation",
                 "Your slope is that of the tanh approximation. Exact GELU's is Phi(x) + x phi(x)",
                 gelu_tanh_slope.formula)
gelu_slope.wrong("second_term_missing",
                 "Your slope is Phi(x) alone. The product rule adds x phi(x)",
                 Phi)
gelu_slope.wrong("density_without_x",
                 "Your second term is phi(x). The product rule makes it x phi(x)",
                 lambda x: Phi(x) + phi(x))
gelu_slope.wrong("density_not_normalized",
                 "Your density is e^(-x^2/2). Divide it by sqrt(2 pi)",
                 lambda x: Phi(x) + x * exp(-x**2 / 2))
gelu_tanh_slope.wrong("exact",
                      "Your slope is exact GELU's. This kernel is the slope of the tanh approximation",
                      gelu_slope.formula)
gelu_tanh_slope.wrong("second_term_missing",
                      "Your slope is (1 + tanh(u)) / 2 alone. The product rule adds "
                      "x/2 (1 - tanh(u)^2) u'",
                      lambda x: (1 + tanh(inner(x))) / 2)
gelu_tanh_slope.wrong("inner_slope_missing",
                      "Your second term lacks the chain rule's factor "
                      "u' = sqrt(2/pi) (1 + 3 * 0.044715 x^2)",
                      lambda x: (1 + tanh(inner(x))) / 2 + outer_slope(x))
gelu_tanh_slope.wrong("cubic_not_differentiated",
                      "Your u' has 0.044715 x^2. The cube's slope is three times that",
                      lambda x: (1 + tanh(inner(x))) / 2 + outer_slope(x) * ROOT * (1 + 0.044715 * x**2))

gelu.wrong("root_multiplied",
           "Your erf is of x sqrt(2). It is of x / sqrt(2)",
           lambda x: x / 2 * (1 + erf(x * math.sqrt(2))))
gelu.wrong("one_missing",
           "Your GELU is x/2 erf(x / sqrt(2)). The 1 is missing: x/2 (1 + erf(x / sqrt(2)))",
           lambda x: x / 2 * erf(x / math.sqrt(2)))
gelu.wrong("density",
           "Your gate is the normal density phi. It is the distribution function Phi",
           lambda x: x * phi(x))
for name, error in ("constant_0.044175", 0.044175), ("constant_0.44715", 0.44715), ("constant_0.0447", 0.0447):
    gelu_tanh.wrong(name, f"Your constant is {error}. It is 0.044715",
                    lambda x, error=error: x / 2 * (1 + tanh(ROOT * (x + error * x**3))))
gelu_tanh.wrong("root_rounded", "Your sqrt(2/pi) is 0.8. It is 0.7978845608",
                lambda x: x / 2 * (1 + tanh(0.8 * (x + 0.044715 * x**3))))
gelu_tanh.wrong("root_of_pi_over_two", "Your constant is sqrt(pi/2). It is sqrt(2/pi) = 0.7979",
                lambda x: x / 2 * (1 + tanh(math.sqrt(math.pi / 2) * (x + 0.044715 * x**3))))
gelu_tanh.wrong("root_on_x_alone",
                "Your sqrt(2/pi) multiplies x alone. It multiplies the cubic term too, sqrt(2/pi) (x + 0.044715 x^3)",
                lambda x: x / 2 * (1 + tanh(ROOT * x + 0.044715 * x**3)))
gelu_tanh.wrong("square_for_cube", "Your term is 0.044715 x^2. It is the cube, 0.044715 x^3",
                lambda x: x / 2 * (1 + tanh(ROOT * (x + 0.044715 * x**2))))
gelu_tanh.wrong("all_cubed", "You cube the whole sum. Only one x is cubed: x + 0.044715 x^3",
                lambda x: x / 2 * (1 + tanh(ROOT * (x + 0.044715 * x)**3)))
gelu_tanh.wrong("one_missing", "Your GELU is x/2 tanh(u). The 1 is missing: x/2 (1 + tanh(u))",
                lambda x: x / 2 * tanh(inner(x)))
for kernel in gelu, gelu_tanh:
    kernel.wrong("silu", "Your activation is SiLU, x sigmoid(x). GELU is x Phi(x)", lambda x: F.silu(x))
    kernel.wrong("relu", "Your activation is ReLU, which does not bend. GELU is x Phi(x)", lambda x: F.relu(x))
for kernel in gelu, gelu_tanh:
    for least in 3, 4:
        kernel.wrong(f"shut_below_{least}",
                     f"Your output is 0 below -{least}. There GELU is small, and not 0",
                     lambda x, least=least, value=kernel.formula: torch.where(x < -least, 0, value(x)))
for kernel, distribution in (gelu, Phi), (gelu_tanh, lambda x: (1 + tanh(inner(x))) / 2):
    kernel.wrong("minus_for_plus", "Your bracket is 1 - …, which shuts where GELU is open. It is 1 + …",
                 lambda x, distribution=distribution: x * distribution(-x))
gelu_slope.wrong("second_term_subtracted", "Your second term is subtracted. The slope is Phi(x) + x phi(x)",
                 lambda x: Phi(x) - x * phi(x))
gelu_slope.wrong("density_alone", "Your slope is phi(x), Phi's. GELU's is Phi(x) + x phi(x)", phi)
gelu_slope.wrong("product_alone", "Your slope is x phi(x) alone. The product rule adds Phi(x)", lambda x: x * phi(x))
gelu_slope.wrong("half_of_the_exponent_missing", "Your density has e^(-x^2). It is e^(-x^2/2)",
                 lambda x: Phi(x) + x * exp(-x**2) / math.sqrt(2 * math.pi))
gelu_slope.wrong("root_of_pi", "Your density is divided by sqrt(pi). Divide it by sqrt(2 pi)",
                 lambda x: Phi(x) + x * exp(-x**2 / 2) / math.sqrt(math.pi))
gelu_slope.wrong("slope_of_silu", "Your slope is SiLU's. GELU's is Phi(x) + x phi(x)",
                 lambda x: sigmoid(x) * (1 + x * (1 - sigmoid(x))))
gelu_slope.wrong("sigmoid_approximation", "Your slope is that of x sigmoid(1.702 x). GELU's is Phi(x) + x phi(x)",
                 lambda x: sigmoid(1.702 * x) * (1 + 1.702 * x * (1 - sigmoid(1.702 * x))))
gelu_tanh_slope.wrong("square_missing", "Your tanh's slope is 1 - tanh(u). It is 1 - tanh(u)^2",
                      lambda x: (1 + tanh(inner(x))) / 2 + x / 2 * (1 - tanh(inner(x))) * inner_slope(x))
gelu_tanh_slope.wrong("second_term_without_x", "Your second term lacks x: it is x/2 (1 - tanh(u)^2) u'",
                      lambda x: (1 + tanh(inner(x))) / 2 + (1 - tanh(inner(x))**2) / 2 * inner_slope(x))
gelu_tanh_slope.wrong("second_term_doubled", "Your second term lacks the 1/2: it is x/2 (1 - tanh(u)^2) u'",
                      lambda x: (1 + tanh(inner(x))) / 2 + 2 * outer_slope(x) * inner_slope(x))
gelu_tanh_slope.wrong("second_term_subtracted", "Your second term is subtracted. The product rule adds it",
                      lambda x: (1 + tanh(inner(x))) / 2 - outer_slope(x) * inner_slope(x))
gelu_tanh_slope.wrong("product_alone",
                      "Your slope is x/2 (1 - tanh(u)^2) u' alone. The product rule adds (1 + tanh(u)) / 2",
                      lambda x: outer_slope(x) * inner_slope(x))
gelu_tanh_slope.wrong("constant_0.044175", "Your constant is 0.044175. It is 0.044715",
                      lambda x: mistyped_slope(x, 0.044175))
gelu_tanh_slope.wrong("constant_0.134145_for_0.044715",
                      "Your u has 0.134145 x^3, which is three times as much. Only u' has: u is sqrt(2/pi) (x + "
                      "0.044715 x^3)",
                      lambda x: mistyped_slope(x, 0.134145, 3 * 0.044715))

gelu_slope.wrong("slope_of_phi_as_sigmoid",
                 "Your slope of Phi is Phi (1 - Phi), as if it were the sigmoid. It is the density phi: Phi(x) + x phi(x)",
                 lambda x: Phi(x) + x * Phi(x) * (1 - Phi(x)))
gelu_slope.wrong("second_term_halved",
                 "Your second term is x phi(x) / 2. It is x phi(x): erf's slope has a 2, which the 1/2 takes off",
                 lambda x: Phi(x) + x * phi(x) / 2)
gelu_slope.wrong("second_term_doubled",
                 "Your second term is 2 x phi(x). It is x phi(x): the 1/2 of GELU stands before erf's slope, too",
                 lambda x: Phi(x) + 2 * x * phi(x))
gelu_slope.wrong("slope_of_erf_of_x",
                 "Your slope of erf(x / sqrt(2)) is that of erf at x, 2/sqrt(pi) e^(-x^2). It is sqrt(2/pi) e^(-x^2/2)",
                 lambda x: Phi(x) + x * exp(-x**2) / math.sqrt(math.pi))
gelu_slope.wrong("root_missing",
                 "Your Phi has erf(x). It has erf(x / sqrt(2))",
                 lambda x: (1 + erf(x)) / 2 + x * phi(x))
gelu_slope.wrong("half_missing",
                 "Your Phi is 1 + erf(x / sqrt(2)). Halve it: far right the slope is 1",
                 lambda x: 2 * Phi(x) + x * phi(x))
gelu_slope.wrong("divided_by_two_pi",
                 "Your density is divided by 2 pi. Divide it by sqrt(2 pi)",
                 lambda x: Phi(x) + x * exp(-x**2 / 2) / (2 * math.pi))
for kernel, other in (gelu_slope, "Phi(x) + x phi(x)"), (gelu_tanh_slope, "(1 + tanh(u)) / 2 + x/2 (1 - tanh(u)^2) u'"):
    kernel.wrong("slope_of_relu", f"Your slope is ReLU's. GELU's is {other}", lambda x: torch.where(x <= 0, 0, torch.ones_like(x)))
gelu_tanh_slope.wrong("slope_of_the_gate_as_sigmoid",
                      "Your slope of the gate g = (1 + tanh(u)) / 2 is g (1 - g). With tanh it is twice that, times u'",
                      lambda x: (1 + tanh(inner(x))) / 2 + outer_slope(x) / 2)
gelu_tanh_slope.wrong("factor_2_missing",
                      "Your slope of the gate g = (1 + tanh(u)) / 2 is g (1 - g) u'. tanh(u) is sigmoid's of 2 u: it is 2 g (1 - g) u'",
                      lambda x: (1 + tanh(inner(x))) / 2 + outer_slope(x) / 2 * inner_slope(x))
gelu_tanh_slope.wrong("inner_slope_without_root",
                      "Your u' is 1 + 3 * 0.044715 x^2. Multiply it by sqrt(2/pi)",
                      lambda x: (1 + tanh(inner(x))) / 2 + outer_slope(x) * inner_slope(x) / ROOT)
gelu_tanh_slope.wrong("inner_slope_of_x_alone",
                      "Your u' is sqrt(2/pi) alone. The cubic term has a slope, too: sqrt(2/pi) (1 + 3 * 0.044715 x^2)",
                      lambda x: (1 + tanh(inner(x))) / 2 + outer_slope(x) * ROOT)
gelu_tanh_slope.wrong("cube_left_a_cube",
                      "Your u' has 3 * 0.044715 x^3. The slope of x^3 is 3 x^2",
                      lambda x: (1 + tanh(inner(x))) / 2 + outer_slope(x) * ROOT * (1 + 3 * 0.044715 * x**3))
gelu_tanh_slope.wrong("half_missing",
                      "Your first term is 1 + tanh(u). Halve it: far right the slope is 1",
                      lambda x: 1 + tanh(inner(x)) + outer_slope(x) * inner_slope(x))
gelu_tanh_slope.wrong("one_missing",
                      "Your first term is tanh(u) / 2. It is (1 + tanh(u)) / 2",
                      lambda x: tanh(inner(x)) / 2 + outer_slope(x) * inner_slope(x))
gelu_tanh_slope.wrong("density_for_tanh",
                      "Your second term is x phi(x), exact GELU's. Here it is x/2 (1 - tanh(u)^2) u'",
                      lambda x: (1 + tanh(inner(x))) / 2 + x * phi(x))
gelu_tanh_slope.wrong("slope_of_silu", "Your slope is SiLU's. This kernel is the slope of GELU's tanh approximation",
                      lambda x: sigmoid(x) * (1 + x * (1 - sigmoid(x))))
gelu_tanh_slope.wrong("sigmoid_approximation", "Your slope is that of x sigmoid(1.702 x). This kernel is the slope of the tanh approximation",
                      lambda x: sigmoid(1.702 * x) * (1 + 1.702 * x * (1 - sigmoid(1.702 * x))))

for kernel in gelu, gelu_slope, gelu_tanh, gelu_tanh_slope:
    kernel.case("by_hand", "0 at zero and 0.84 at 1; slope 1/2 at zero and 1.08 at 1.", x=[-1, 0, 1])
    kernel.case("middle", "33 numbers about zero.", x=uniform(-0.5, 2, 33))
    kernel.case("positive", "From 2 to 12, where GELU becomes x.", x=uniform(2, 12, 33))
    kernel.case("negative", "From -2 to -1.", x=uniform(-2, -1, 33))
    kernel.case("left", "From -3 to -2: 1 + erf and 1 + tanh have lost two digits.", x=uniform(-3, -2, 33))
    kernel.case("left_tail", "From -3.5 to -3: another one.", x=uniform(-3.5, -3, 33))
    kernel.case("extremes", "Zeros, denormals, and numbers at which the result is 0 or x.",
                x=[-1e4, -110, -88, -15, -TINY, -0.0, 0, TINY, 20, 88, 110, 1e4])
for kernel in gelu, gelu_tanh:
    kernel.case("about_the_minimum", "From -1 to -0.5, where GELU turns.", x=uniform(-1, -0.5, 33))
    kernel.case("far_left", "From -4.5 to -4: two digits are left.", x=uniform(-4.5, -4, 33))
# No +infinity for the exact GELU: PyTorch says +infinity in float64, and NaN in float32, by way of oneDNN.
gelu.case("not_finite", "0 times infinity is NaN: PyTorch's GELU of -infinity.", x=[-INF, NAN, 1])
gelu_tanh.case("not_finite", "0 times infinity is NaN: PyTorch's GELU of -infinity.", x=[-INF, INF, NAN, 1])
for kernel in gelu_slope, gelu_tanh_slope:
    kernel.case("about_the_minimum", "Near -0.75, where the slope is zero.",
                x=np.r_[-0.95:-0.85:17j, -0.65:-0.55:17j])
    kernel.case("not_finite", "0 times infinity is NaN: PyTorch's slope at both infinities.",
                x=[-INF, INF, NAN, 1])


# --- SiLU and Swish ----------------------------------------------------------------------------------------

silu, silu_slope = activation(
    "silu", "torch.nn.functional.silu", lambda x: F.silu(x),
    formula=lambda x: x * sigmoid(x),
    derivative=lambda x: sigmoid(x) * (1 + x * (1 - sigmoid(x))))
swish, swish_slope = activation(
    "swish", "x * torch.sigmoid(beta * x)", lambda x, beta: x * sigmoid(beta * x),
    formula=lambda x, beta: x / (1 + exp(-beta * x)),
    derivative=lambda x, beta: sigmoid(beta * x) * (1 + beta * x * (1 - sigmoid(beta * x))))

silu.wrong("x_missing",
           "Your output is sigmoid(x). Multiply it by x",
           lambda x: sigmoid(x))
silu.wrong("exponent_sign",
           "Your exponent has the wrong sign, x / (1 + e^x). It is -x",
           lambda x: x * sigmoid(-x))
silu.wrong("overflow",
           "Your e^x / (1 + e^x) is infinity over infinity for large x. Write x / (1 + e^-x)",
           lambda x: x * (exp(x.float()) / (1 + exp(x.float()))))
silu.wrong("sigmoid_approximation",
           "Your beta is 1.702, the approximation of GELU. SiLU's is 1: x sigmoid(x)",
           lambda x: x * sigmoid(1.702 * x))
silu.wrong("gelu",
           "Your activation is GELU, x Phi(x). SiLU is x sigmoid(x)",
           lambda x: F.gelu(x))
silu.wrong("hard_swish",
           "Your sigmoid is the piecewise linear one, x / 6 + 1/2 clipped. Use e^-x",
           lambda x: F.hardswish(x))
silu_slope.wrong("second_term_missing",
                 "Your slope is sigmoid(x) alone. The product rule adds x s (1 - s)",
                 lambda x: sigmoid(x))
silu_slope.wrong("slope_of_sigmoid",
                 "Your slope is s (1 - s), sigmoid's. SiLU's is s + x s (1 - s)",
                 lambda x: sigmoid(x) * (1 - sigmoid(x)))
silu_slope.wrong("second_term_without_x",
                 "Your second term is s (1 - s). The product rule makes it x s (1 - s)",
                 lambda x: sigmoid(x) + sigmoid(x) * (1 - sigmoid(x)))
silu_slope.wrong("second_term_without_s",
                 "Your second term is x (1 - s). It is x s (1 - s)",
                 lambda x: sigmoid(x) + x * (1 - sigmoid(x)))

swish.wrong("beta_ignored",
            "Your beta is 1 whatever it should be. Multiply it into the exponent, sigmoid(beta x)",
            lambda x, beta: x * sigmoid(x))
swish.wrong("beta_outside",
            "Your beta is outside the sigmoid, beta x sigmoid(x). It is inside, x sigmoid(beta x)",
            lambda x, beta: beta * x * sigmoid(x))
swish.wrong("beta_twice",
            "Your x before the sigmoid is multiplied by beta too. Only the inner one is, x sigmoid(beta x)",
            lambda x, beta: beta * x * sigmoid(beta * x))
swish.wrong("x_missing",
            "Your output is sigmoid(beta x). Multiply it by x",
            lambda x, beta: sigmoid(beta * x))
swish.wrong("exponent_sign",
            "Your exponent has the wrong sign, x / (1 + e^(beta x)). It is -beta x",
            lambda x, beta: x * sigmoid(-beta * x))
swish_slope.wrong("beta_ignored",
                  "Your beta is 1 whatever it should be. With s = sigmoid(beta x), the slope is "
                  "s (1 + beta x (1 - s))",
                  lambda x, beta: silu_slope.formula(x))
swish_slope.wrong("second_term_missing",
                  "Your slope is sigmoid(beta x) alone. The product rule adds beta x s (1 - s)",
                  lambda x, beta: sigmoid(beta * x))
swish_slope.wrong("beta_of_the_chain_missing",
                  "Your second term is x s (1 - s). The chain rule makes it beta x s (1 - s)",
                  lambda x, beta: sigmoid(beta * x) * (1 + x * (1 - sigmoid(beta * x))))

silu.wrong("twice_as_steep",
           "Your (1 + tanh(x)) / 2 is sigmoid(2 x). Halve the argument: x (1 + tanh(x / 2)) / 2",
           lambda x: x * sigmoid(2 * x))
silu.wrong("relu", "Your activation is ReLU, which does not bend. SiLU is x sigmoid(x)", lambda x: F.relu(x))
silu.wrong("mish", "Your activation is Mish, x tanh(softplus(x)). SiLU is x sigmoid(x)",
           lambda x: x * tanh(torch.log1p(exp(x))))
silu.wrong("tanh", "Your gate is tanh. SiLU's is sigmoid: x / (1 + e^-x)", lambda x: x * tanh(x))
silu.wrong("softplus", "Your activation is softplus, log(1 + e^x). SiLU is x sigmoid(x)", lambda x: torch.log1p(exp(x)))
silu.wrong("base_two", "Your power is one of 2, x / (1 + 2^-x). Take e^-x", lambda x: x / (1 + 2**-x))
silu.wrong("plus_for_times", "You add x and sigmoid(x). Multiply them", lambda x: x + sigmoid(x))
for least in 10, 20, 30:
    silu.wrong(f"shut_below_{least}",
               f"Your output is 0 below -{least}. There SiLU is tiny, and not 0: e^-x may be infinite",
               lambda x, least=least: torch.where(x < -least, 0, F.silu(x)))
    silu.wrong(f"clipped_at_{least}",
               f"Your sigmoid's argument is kept within {least} of zero, so that far left SiLU grows again. e^-x may "
               "be infinite",
               lambda x, least=least: x * sigmoid(x.clamp(-least, least)))
silu_slope.wrong("second_term_subtracted", "Your second term is subtracted. The slope is s (1 + x (1 - s))",
                 lambda x: sigmoid(x) * (1 - x * (1 - sigmoid(x))))
silu_slope.wrong("product_alone", "Your slope is x s (1 - s) alone. The product rule adds s",
                 lambda x: x * sigmoid(x) * (1 - sigmoid(x)))
silu_slope.wrong("sigmoid_for_one_minus", "Your second term is x s^2. It is x s (1 - s)",
                 lambda x: sigmoid(x) * (1 + x * sigmoid(x)))
silu_slope.wrong("one_minus_missing", "Your second term is x s. It is x s (1 - s)", lambda x: sigmoid(x) * (1 + x))
silu_slope.wrong("plus_for_minus", "Your bracket is 1 + s. The slope is s (1 + x (1 - s))",
                 lambda x: sigmoid(x) * (1 + x * (1 + sigmoid(x))))
silu_slope.wrong("slope_of_gelu", "Your slope is GELU's. SiLU's is s (1 + x (1 - s))", gelu_slope.formula)
silu_slope.wrong("slope_of_relu", "Your slope is ReLU's. SiLU's is s (1 + x (1 - s))",
                 lambda x: torch.where(x <= 0, 0, torch.ones_like(x)))

silu.wrong("of_the_magnitude",
           "Your sigmoid for negative x is that for -x. There it is e^x / (1 + e^x), or 1 - sigmoid(-x)",
           lambda x: x * sigmoid(x.abs()))
silu.wrong("half_missing",
           "Your factor 1/2 is missing: with tanh SiLU is x (1 + tanh(x / 2)) / 2",
           lambda x: 2 * F.silu(x))
silu.wrong("squared", "Your x stands before the sigmoid twice, x^2 sigmoid(x). Once is enough", lambda x: x * F.silu(x))
silu_slope.wrong("output_for_sigmoid",
                 "Your slope is s + f (1 - f) with f = silu(x). The sigmoid's slope is s (1 - s): s + x s (1 - s), or f + s (1 - f)",
                 lambda x: sigmoid(x) + F.silu(x) * (1 - F.silu(x)))
silu_slope.wrong("sigmoid_rule_on_the_output",
                 "Your slope is f (1 - f) with f = silu(x), sigmoid's rule. SiLU's is s + x s (1 - s), or f + s (1 - f)",
                 lambda x: F.silu(x) * (1 - F.silu(x)))
silu_slope.wrong("output_plus_slope_of_sigmoid",
                 "Your slope is f + s (1 - s) with f = silu(x). It is s + x s (1 - s), or f + s (1 - f)",
                 lambda x: F.silu(x) + sigmoid(x) * (1 - sigmoid(x)))
silu_slope.wrong("output_for_x",
                 "Your second term is f s (1 - s) with f = silu(x). It is x s (1 - s)",
                 lambda x: sigmoid(x) * (1 + F.silu(x) * (1 - sigmoid(x))))
silu_slope.wrong("x_for_one",
                 "Your second term is x (1 - x). It is x s (1 - s)",
                 lambda x: sigmoid(x) + x * (1 - x))
silu_slope.wrong("exponent_sign",
                 "Your s is 1 / (1 + e^x). The exponent is -x",
                 lambda x: sigmoid(-x) * (1 + x * sigmoid(x)))

for kernel in silu, silu_slope:
    kernel.case("by_hand", "0 at zero and 0.73 at 1; slope 1/2 at zero and 0.93 at 1.", x=[-1, 0, 1])
    kernel.case("middle", "33 numbers about zero.", x=uniform(-0.9, 3, 33))
    kernel.case("positive", "From 3 to 16, where SiLU becomes x.", x=uniform(3, 16, 33))
    kernel.case("negative", "From -8 to -2.", x=uniform(-8, -2, 33))
    kernel.case("left_tail", "Down to -88, the last before e^-x is infinite in float32.",
                x=np.linspace(-88, -8, 33))
    kernel.case("extremes", "Zeros, denormals, and numbers at which the result is 0 or x.",
                x=[-1e4, -110, -88, -20, -TINY, -0.0, 0, TINY, 88, 110, 1e4])
silu.case("about_the_minimum", "Near -1.28, where SiLU turns.", x=uniform(-1.6, -1, 33))
silu_slope.case("about_the_minimum", "Near -1.28, where the slope is zero.",
                x=np.r_[-1.5:-1.4:17j, -1.15:-1.05:17j])
silu.case("not_finite", "0 times infinity is NaN: PyTorch's SiLU of -infinity.", x=[-INF, INF, NAN, 1])
silu_slope.case("not_finite", "0 times infinity is NaN: PyTorch's slope at both infinities.",
                x=[-INF, INF, NAN, 1])

swish.wrong("beta_divides",
            "Your x is divided by beta in the exponent. Multiply it, sigmoid(beta x)",
            lambda x, beta: x * sigmoid(x / beta))
swish.wrong("beta_added",
            "Your beta is added to x in the exponent. Multiply it, sigmoid(beta x)",
            lambda x, beta: x * sigmoid(x + beta))
swish.wrong("beta_for_x",
            "Your sigmoid(beta x) is multiplied by beta. Multiply it by x",
            lambda x, beta: beta * sigmoid(beta * x))
swish.wrong("beta_always_1.702",
            "Your beta is 1.702, the approximation of GELU. Take beta",
            lambda x, beta: x * sigmoid(1.702 * x))
swish_slope.wrong("second_term_subtracted",
                  "Your second term is subtracted. The slope is s (1 + beta x (1 - s))",
                  lambda x, beta: sigmoid(beta * x) * (1 - beta * x * (1 - sigmoid(beta * x))))
swish_slope.wrong("second_term_without_x",
                  "Your second term is beta s (1 - s). The product rule makes it beta x s (1 - s)",
                  lambda x, beta: sigmoid(beta * x) * (1 + beta * (1 - sigmoid(beta * x))))
swish_slope.wrong("beta_outside",
                  "Your beta multiplies the whole slope. It stands before x alone, s (1 + beta x (1 - s))",
                  lambda x, beta: beta * sigmoid(beta * x) * (1 + x * (1 - sigmoid(beta * x))))
swish_slope.wrong("beta_on_the_whole_slope",
                  "Your slope is multiplied by beta once more. It is s (1 + beta x (1 - s))",
                  lambda x, beta: beta * sigmoid(beta * x) * (1 + beta * x * (1 - sigmoid(beta * x))))
swish_slope.wrong("slope_of_sigmoid",
                  "Your slope is beta s (1 - s), that of sigmoid(beta x). Swish's is s (1 + beta x (1 - s))",
                  lambda x, beta: beta * sigmoid(beta * x) * (1 - sigmoid(beta * x)))
swish_slope.wrong("product_alone",
                  "Your slope is beta x s (1 - s) alone. The product rule adds s",
                  lambda x, beta: beta * x * sigmoid(beta * x) * (1 - sigmoid(beta * x)))

def unless_0(beta):
    """beta, of which a 0 is taken for "not given"."""
    return beta or 1.0


for kernel in swish, swish_slope:
    kernel.wrong("beta_0_for_1", "Your beta is 1 where it is given as 0. It is 0 then: x / 2, with the slope 1/2",
                 lambda x, beta, right=kernel.formula: right(x, unless_0(beta)))
    kernel.wrong("beta_without_sign", "Your beta has lost its sign. A negative one mirrors, x sigmoid(beta x)",
                 lambda x, beta, right=kernel.formula: right(x, abs(beta)))
    kernel.wrong("twice_as_steep", "Your (1 + tanh(beta x)) / 2 is sigmoid(2 beta x). Halve the argument: (1 + tanh(beta x / 2)) / 2",
                 lambda x, beta, right=kernel.formula: right(x, 2 * beta))
swish.wrong("exact_gelu", "Your activation is GELU, x Phi(x). Swish is x sigmoid(beta x)", lambda x, beta: F.gelu(x))
swish.wrong("relu", "Your activation is ReLU, which does not bend. Swish is x sigmoid(beta x)", lambda x, beta: F.relu(x))
swish_slope.wrong("slope_for_beta",
                  "Your slope is that for beta, x^2 s (1 - s). It is asked for x: s (1 + beta x (1 - s))",
                  lambda x, beta: x**2 * sigmoid(beta * x) * (1 - sigmoid(beta * x)))
swish_slope.wrong("beta_squared",
                  "Your second term has beta^2. The chain rule brings one beta: beta x s (1 - s)",
                  lambda x, beta: sigmoid(beta * x) * (1 + beta**2 * x * (1 - sigmoid(beta * x))))
swish_slope.wrong("sigmoid_of_x",
                  "Your s is sigmoid(x). It is sigmoid(beta x), in s (1 + beta x (1 - s))",
                  lambda x, beta: sigmoid(x) * (1 + beta * x * (1 - sigmoid(x))))
swish_slope.wrong("second_term_without_s",
                  "Your second term is beta x (1 - s). It is beta x s (1 - s)",
                  lambda x, beta: sigmoid(beta * x) + beta * x * (1 - sigmoid(beta * x)))
swish_slope.wrong("sigmoid_for_one_minus",
                  "Your second term is beta x s^2. It is beta x s (1 - s)",
                  lambda x, beta: sigmoid(beta * x) * (1 + beta * x * sigmoid(beta * x)))
swish_slope.wrong("one_minus_missing",
                  "Your second term is beta x s. It is beta x s (1 - s)",
                  lambda x, beta: sigmoid(beta * x) * (1 + beta * x))
swish_slope.wrong("beta_in_the_first_place_alone",
                  "Your slope is beta f + s (1 - f) with f = swish(x). It is beta f + s (1 - beta f)",
                  lambda x, beta: (lambda s: beta * x * s + s * (1 - x * s))(sigmoid(beta * x)))
swish_slope.wrong("output_for_sigmoid",
                  "Your slope is s + beta f (1 - f) with f = swish(x). The sigmoid's slope is s (1 - s): s + beta x s (1 - s)",
                  lambda x, beta: (lambda s: s + beta * x * s * (1 - x * s))(sigmoid(beta * x)))

def overflowing(x):
    """The sigmoid as a float32 e^x / (1 + e^x)."""
    return (exp(x.float()) / (1 + exp(x.float()))).to(x.dtype)


silu_slope.wrong("overflow", "Your sigmoid is e^x / (1 + e^x), infinity over infinity for large x. Write 1 / (1 + e^-x)",
                 lambda x: overflowing(x) * (1 + x * (1 - overflowing(x))))
swish.wrong("overflow", "Your e^(beta x) / (1 + e^(beta x)) is infinity over infinity for large beta x. Write 1 / (1 + e^(-beta x))",
            lambda x, beta: x * overflowing(beta * x))
swish_slope.wrong("overflow", "Your e^(beta x) / (1 + e^(beta x)) is infinity over infinity for large beta x. Write 1 / (1 + e^(-beta x))",
                  lambda x, beta: overflowing(beta * x) * (1 + beta * x * (1 - overflowing(beta * x))))
for kernel in swish, swish_slope:
    kernel.case("by_hand", "beta = 2.", x=[-1, 0, 1], beta=2.0)
    kernel.case("beta_0", "x / 2, slope 1/2.", x=uniform(-4, 4, 33), beta=0.0)
    kernel.case("beta_half", "Softer than SiLU.", x=uniform(-1.6, 8, 33), beta=0.5)
    kernel.case("beta_1", "SiLU.", x=uniform(-0.8, 4, 33), beta=1.0)
    kernel.case("beta_1_702", "Nearly GELU.", x=uniform(-0.5, 2.5, 33), beta=1.702)
    kernel.case("beta_10", "Nearly ReLU.", x=uniform(-0.08, 0.5, 33), beta=10.0)
    kernel.case("beta_100", "So near ReLU that only a few hundredths about zero are round.",
                x=uniform(-0.008, 0.08, 33), beta=100.0)
    kernel.case("beta_100_far", "ReLU, in float32.", x=[-8, -4, -2, 2, 4, 8], beta=100.0)
    kernel.case("beta_negative", "A negative beta mirrors: x sigmoid(-1.5 x).",
                x=uniform(-3, 0.5, 33), beta=-1.5)
    # The rounding of beta x is an absolute error of the exponent: some ulps more the larger the exponent is.
    kernel.case("negative", "Where the exponential rules: beta x from -8 to -2.",
                x=uniform(-4.7, -1.2, 33), beta=1.702)
    kernel.case("left_tail", "beta x from -34 to -8.", x=np.linspace(-20, -5, 33), beta=1.702)
    kernel.case("extremes", "Zeros, denormals, and numbers at which the result is 0 or x.",
                x=[-1e4, -150, -88, -TINY, -0.0, 0, TINY, 88, 150, 1e4], beta=1.702)
    kernel.case("not_finite", "0 times infinity is NaN, as in SiLU.", x=[-INF, INF, NAN, 1], beta=1.5)
