"""nn.Linear: y = x W^T + b, the weight stored as PyTorch stores it, one row an output."""
import numpy as np
import torch
import torch.nn.functional as F

from golden import Kernel, in_kept_lanes, normal


def add(bias):
    return 0 if bias is None else bias


def opposite_halves(half, rest):
    return np.hstack([half, rest / 100 - half])


def in_8_bits(x, each_row=True):
    """What is left of float32 numbers when they have been whole ones from -127 to 127, with a scale for each row."""
    scale = x.abs().amax(1 if each_row else (0, 1), keepdim=True) / 127
    return torch.where(scale > 0, (x / scale).round() * scale, 0)


def in_blocks(x, kept=lambda scale: scale):
    """The same with a scale for 32 neighbours of a row, in 8 bits."""
    blocks = F.pad(x, (0, -x.shape[1] % 32)).reshape(-1, 32)
    scale = blocks.abs().amax(1, keepdim=True) / 127
    levels = torch.where(scale > 0, (blocks / scale).round(), 0)
    return (levels * kept(scale)).reshape(len(x), -1)[:, :x.shape[1]]


def as_q8_0(x):
    """As chapter 13's format has it, whose scales are float16."""
    return in_blocks(x, kept=lambda scale: scale.half().to(x.dtype))


linear = Kernel("linear", "common", "torch.nn.functional.linear",
                pytorch=lambda x, weight, bias=None: F.linear(x, weight, bias),
                formula=lambda x, weight, bias=None: x @ weight.T + add(bias))

linear.wrong("transposed",
             "Your weight is read as [in][out]. PyTorch stores a row for each output, [out][in]",
             lambda x, weight, bias=None: x @ weight.reshape(weight.T.shape) + add(bias))
linear.wrong("transposed_where_square",
             "Your weight is read as [in][out] where it is square. Then, too, it has a row for each output",
             lambda x, weight, bias=None: x @ (weight if len(weight) == x.shape[1] else weight.T) + add(bias))
linear.wrong("inputs_in_eleven_bits",
             "Your x and weight have 11 bits: half precision, or TF32, which a GPU's tensor cores take unless they are told not to. "
             "Multiply floats",
             lambda x, weight, bias=None: x.half().to(x.dtype) @ weight.half().to(x.dtype).T + add(bias))
linear.wrong("inputs_in_bf16",
             "Your x and weight are rounded to bfloat16, 8 bits. Multiply floats",
             lambda x, weight, bias=None: x.bfloat16().to(x.dtype) @ weight.bfloat16().to(x.dtype).T + add(bias))
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
linear.wrong("first_output_repeated",
             "Every output of a row is its first. Output o of y comes from row o of the weight",
             lambda x, weight, bias=None: (x @ weight[:1].T).expand(-1, len(weight)) + add(bias))
linear.wrong("last_product_alone",
             "Your sum is the last product alone. Add them up: sum += , and not sum =",
             lambda x, weight, bias=None: x[:, -1:] @ weight[:, -1:].T + add(bias))
linear.wrong("sum_never_reset",
             "Your sum runs on from output to output, and from row to row. Begin each output with 0",
             lambda x, weight, bias=None: (x @ weight.T).flatten().cumsum(0).reshape(len(x), -1) + add(bias))
linear.wrong("sum_reset_for_each_row",
             "Your sum runs on from output to output. Begin each output with 0, not only each row",
             lambda x, weight, bias=None: (x @ weight.T).cumsum(1) + add(bias))
linear.wrong("bias_for_each_input",
             "Your bias is added with every product. Add it once, before or after the sum",
             lambda x, weight, bias=None: x @ weight.T + x.shape[1] * add(bias))
for block in 4, 8, 16, 32, 64:
    linear.wrong(f"bias_for_each_{block}_inputs",
                 f"Your bias is added with every block of {block} inputs. Add it once, before or after the sum",
                 lambda x, weight, bias=None, block=block: x @ weight.T - (-x.shape[1] // block) * add(bias))
linear.wrong("bias_multiplied",
             "Your bias is a factor. Add it: nn.Linear is x W^T + b",
             lambda x, weight, bias=None: None if bias is None else x @ weight.T * bias)
linear.wrong("bias_subtracted",
             "Your bias is subtracted. Add it: nn.Linear is x W^T + b",
             lambda x, weight, bias=None: x @ weight.T - add(bias))
linear.wrong("bent",
             "Your negative outputs are 0. A linear layer bends nothing: ReLU is chapter 2's",
             lambda x, weight, bias=None: (x @ weight.T + add(bias)).relu())
linear.wrong("mean",
             "Your sum is divided by the number of inputs. It is a sum, and no mean",
             lambda x, weight, bias=None: x @ weight.T / x.shape[1] + add(bias))
linear.wrong("in_8_bits",
             "Your x and your weight are rounded to 8 bits, row by row (W8A8). Both are float32, and are multiplied as they are",
             lambda x, weight, bias=None: in_8_bits(x) @ in_8_bits(weight).T + add(bias))
linear.wrong("in_8_bits_of_all",
             "Your x and your weight are rounded to 8 bits, with one scale for each (W8A8). Both are float32, and are multiplied as "
             "they are",
             lambda x, weight, bias=None: in_8_bits(x, False) @ in_8_bits(weight, False).T + add(bias))
linear.wrong("x_in_8_bits",
             "Your x is rounded to 8 bits, row by row. It is float32, and is multiplied as it is",
             lambda x, weight, bias=None: in_8_bits(x) @ weight.T + add(bias))
linear.wrong("weight_in_8_bits",
             "Your weight is rounded to 8 bits, row by row (W8A32). It is float32, and is multiplied as it is",
             lambda x, weight, bias=None: x @ in_8_bits(weight).T + add(bias))
for name, kind, blocks in ("blocks_of_32", "", in_blocks), ("q8_0", ", which is float16", as_q8_0):
    linear.wrong(f"in_{name}", f"Your x and your weight are rounded to 8 bits, with a scale for 32 neighbours{kind}: chapter 13's Q8_0. Both are "
                 "float32, and are multiplied as they are",
                 lambda x, weight, bias=None, blocks=blocks: blocks(x) @ blocks(weight).T + add(bias))
    linear.wrong(f"x_in_{name}", f"Your x is rounded to 8 bits, with a scale for 32 neighbours{kind}. It is float32, and is multiplied as it is",
                 lambda x, weight, bias=None, blocks=blocks: blocks(x) @ weight.T + add(bias))
    linear.wrong(f"weight_in_{name}", f"Your weight is rounded to 8 bits, with a scale for 32 neighbours{kind}. It is float32, and is multiplied "
                 "as it is", lambda x, weight, bias=None, blocks=blocks: x @ blocks(weight).T + add(bias))
linear.wrong("rows_as_wide_as_outputs",
             "Your rows of the weight are taken to be `out` long. Row o begins at o * in",
             lambda x, weight, bias=None: x @ weight.flatten().as_strided(weight.shape, (len(weight), 1)).T + add(bias)
             if len(weight) <= x.shape[1] else None)
linear.wrong("x_transposed",
             "Your x is read as [in][rows]. A row is a token: x[rows][in]",
             lambda x, weight, bias=None: x.reshape(x.T.shape).T @ weight.T + add(bias))
linear.wrong("written_transposed",
             "Your y is written as [out][rows]. A row is a token: y[rows][out]",
             lambda x, weight, bias=None: (x @ weight.T + add(bias)).T.reshape(len(x), -1))
linear.wrong_tails("sum over the inputs", lambda full, x, weight, bias=None:
                   x[:, :full(x.shape[1])] @ weight[:, :full(x.shape[1])].T + add(bias))


linear.wrong("bias_in_the_first_row",
             "Your bias is added in the first row alone. Add it to every row",
             lambda x, weight, bias=None: x @ weight.T + add(bias) * (torch.arange(len(x)) == 0)[:, None])
linear.wrong("first_bias_for_all",
             "Your bias is that of output 0. Each output has its own: bias[o]",
             lambda x, weight, bias=None: None if bias is None else x @ weight.T + bias[:1])
linear.wrong("weight_in_bf16",
             "Your weight is rounded to bfloat16, 8 bits. It is float32, and is multiplied as it is",
             lambda x, weight, bias=None: x @ weight.bfloat16().to(x.dtype).T + add(bias))
linear.wrong("weight_in_half",
             "Your weight is rounded to float16, 11 bits. It is float32, and is multiplied as it is",
             lambda x, weight, bias=None: x @ weight.half().to(x.dtype).T + add(bias))
linear.wrong("all_in_bf16",
             "Your x, weight, bias and y are rounded to bfloat16, as under torch.autocast. All of them are float32",
             lambda x, weight, bias=None: (x.bfloat16().to(x.dtype) @ weight.bfloat16().to(x.dtype).T + (
                 0 if bias is None else bias.bfloat16().to(x.dtype))).bfloat16().to(x.dtype))
linear.wrong("output_in_bf16",
             "Your y is rounded to bfloat16, 8 bits. It is float32",
             lambda x, weight, bias=None: (x @ weight.T + add(bias)).bfloat16().to(x.dtype))
for block in 8, 16, 32, 64:
    linear.wrong(f"last_block_of_{block}_alone",
                 f"Your sum is that of the last block of {block} inputs alone. Add the blocks up: y +=, and not y =",
                 lambda x, weight, bias=None, block=block: (lambda start: x[:, start:] @ weight[:, start:].T + add(bias))(
                     (x.shape[1] - 1) // block * block))
for lanes in 4, 8, 16:
    linear.wrong(f"half_of_{lanes}_lanes_alone",
                 f"Your vector of {lanes} sums is added up by its first {lanes // 2} alone. Add all {lanes}",
                 lambda x, weight, bias=None, lanes=lanes: in_kept_lanes(x, lanes, lanes // 2) @ weight.T + add(bias))
    linear.wrong(f"first_of_{lanes}_lanes_alone",
                 f"Your vector of {lanes} sums is not added up: you take its first number alone. Add all {lanes}",
                 lambda x, weight, bias=None, lanes=lanes: in_kept_lanes(x, lanes, 1) @ weight.T + add(bias))
    linear.wrong(f"last_{lanes}_overlap",
                 f"Your last vector is the last {lanes} inputs, of which some were added before. Add each input once",
                 lambda x, weight, bias=None, lanes=lanes: None if x.shape[1] < lanes
                 else x @ weight.T + add(bias) + (lambda again: x[:, again] @ weight[:, again].T)(
                     slice(x.shape[1] - lanes, x.shape[1] // lanes * lanes) if x.shape[1] % lanes else slice(0)))

linear.case("by_hand", "Chapter 3's example: the sums of three hidden units.",
            x=[[1, 2]], weight=[[1, 1], [1, -1], [0, 2]])
linear.case("square", "As many outputs as inputs.", x=normal(3, 8), weight=normal(8, 8), bias=normal(8))
linear.case("no_bias", "A Llama has no biases: bias is NULL.",
            x=normal(3, 8), weight=normal(4, 8))
linear.case("ragged", "7 rows of 33 inputs and 19 outputs: no size is a multiple of anything.",
            x=normal(7, 33), weight=normal(19, 33), bias=normal(19))
linear.case("left_over", "29 inputs: full vectors of 4, 8 and 16 leave 1, 5 and 13; the first bias is 0.",
            x=normal(2, 29), weight=normal(3, 29), bias=[0, 0.5, -1.25])
linear.case("one_row", "One token, as in decoding.",
            x=normal(1, 64), weight=normal(48, 64), bias=normal(48))
linear.case("many_inputs", "130 inputs: more than two blocks of 64.",
            x=normal(2, 130), weight=normal(9, 130), bias=normal(9))
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
