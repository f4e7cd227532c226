"""nn.Linear: y = x W^T + b, the weight stored as PyTorch stores it, one row an output."""
import numpy as np
import torch.nn.functional as F

from golden import Kernel, normal


def add(bias):
    return 0 if bias is None else bias


def opposite_halves(half, rest):
    return np.hstack([half, rest / 100 - half])


linear = Kernel("linear", "common", "torch.nn.functional.linear",
                pytorch=lambda x, weight, bias=None: F.linear(x, weight, bias),
                formula=lambda x, weight, bias=None: x @ weight.T + add(bias))

linear.wrong("transposed",
             "Your weight is read as [in][out]. PyTorch stores a row for each output, [out][in]",
             lambda x, weight, bias=None: x @ weight.reshape(weight.T.shape) + add(bias))
linear.wrong("bias_forgotten",
             "Your bias is missing. Add bias[o] to each output o, unless bias is NULL",
             lambda x, weight, bias=None: x @ weight.T)
linear.wrong("bias_of_the_row",
             "Your bias is chosen by the row, bias[r]. It belongs to the output: add bias[o]",
             lambda x, weight, bias=None: None if bias is None or len(x) > len(bias)
             else x @ weight.T + bias[:len(x), None])
linear.wrong("last_input_dropped",
             "Your sum ends one input too early. It runs over i = 0 … in - 1",
             lambda x, weight, bias=None: x[:, :-1] @ weight[:, :-1].T + add(bias))
linear.wrong("first_row_repeated",
             "Every row of your output is the first. Row r of y comes from row r of x",
             lambda x, weight, bias=None: (x[:1] @ weight.T + add(bias)).repeat(len(x), 1))

linear.case("by_hand", "Two tokens of three numbers, two outputs: all of it fits on paper.",
            x=[[1, 2, 3], [4, 5, 6]], weight=[[1, 0, -1], [2, 1, 0]], bias=[10, 20])
linear.case("no_bias", "A Llama has no biases: bias is NULL.",
            x=normal(3, 8), weight=normal(4, 8))
linear.case("ragged", "7 rows of 33 inputs and 19 outputs: no size is a multiple of anything.",
            x=normal(7, 33), weight=normal(19, 33), bias=normal(19))
linear.case("one_row", "One token, as in decoding.",
            x=normal(1, 64), weight=normal(48, 64), bias=normal(48))
linear.case("one_input", "A single input: no sum at all.",
            x=normal(4, 1), weight=normal(5, 1), bias=normal(5))
linear.case("one_output", "A single output for each row.",
            x=normal(4, 16), weight=normal(1, 16), bias=normal(1))
linear.case("long", "A dot product of 4096 terms, a Llama's width.",
            x=normal(1, 4096), weight=normal(1, 4096))
# PyTorch errs by some hundred ulps, as any float32 sum must: the terms are far larger than what they leave.
linear.case("cancelling", "Terms that cancel to a hundredth: a float32 sum loses two digits, and may.",
            x=lambda random: opposite_halves(*random.standard_normal((2, 2, 32))),
            weight=lambda random: np.tile(random.standard_normal((3, 32)), 2))
