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

from golden import Kernel, uniform

CHAPTER = "02_activation"
NAN, INF = np.nan, np.inf
TINY = 1e-40  # a denormal float32

exp, erf, tanh, sigmoid = torch.exp, torch.erf, torch.tanh, torch.sigmoid


def autograd(function):
    def derivative(x, **parameters):
        x = x.clone().requires_grad_()
        return torch.autograd.grad(function(x, **parameters).sum(), x)[0]
    return derivative


def activation(name, source, pytorch, formula, derivative):
    """The kernel and that of its derivative; `derivative` is the formula that the lesson derives."""
    value = Kernel(name, CHAPTER, source, pytorch, formula)
    slope = Kernel(f"{name}_derivative", CHAPTER, f"torch.autograd of {source}",
                   autograd(pytorch), derivative)
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

for kernel in relu, relu_slope:
    kernel.case("by_hand", "Two on either side of zero, and zero.", x=[-2, -1, 0, 1, 2])
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


gelu, gelu_slope = activation(
    "gelu", "torch.nn.functional.gelu", lambda x: F.gelu(x),
    formula=lambda x: x * Phi(x),
    derivative=lambda x: Phi(x) + x * phi(x))
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
