"""Chapter 3: the gated linear units, and the feed-forward layers built from an activation or from a unit."""
import numpy as np
import torch
import torch.nn.functional as F

from golden import Kernel, gelu_rounding, normal, uniform

CHAPTER = "03_feed_forward"
NAN, INF = np.nan, np.inf

relu, gelu, silu, sigmoid = F.relu, F.gelu, F.silu, torch.sigmoid


def identity(x):
    return x


def gelu_tanh(x):
    return F.gelu(x, approximate="tanh")


# --- The gated units: activation(gate) up ------------------------------------------------------------------

def unit(name, source, pytorch, activation, instead, rounding=None):
    """`instead` are activations that are taken for the right one: (name, what they are, the activation)."""
    kernel = Kernel(name, CHAPTER, source, pytorch, formula=lambda gate, up: activation(gate) * up, rounding=rounding)
    bends = activation is not identity
    kernel.wrong("sum",
                 "Your gate and up are added. Multiply them, element by element",
                 lambda gate, up: activation(gate) + up)
    kernel.wrong("up_forgotten",
                 "Your output is the gate alone. Multiply it by up",
                 lambda gate, up: activation(gate))
    if bends:
        kernel.wrong("swapped",
                     "Your gate and up are swapped. The first argument is bent, the second is not",
                     lambda gate, up: gate * activation(up))
        kernel.wrong("pairs_of_neighbours",
                     "Your gates and ups are taken for neighbours, as where one array holds both in turn. They are two arrays",
                     lambda gate, up: activation(torch.cat([gate, up])[0::2]) * torch.cat([gate, up])[1::2])
        kernel.wrong("activation_on_both",
                     "Your activation bends both. Only the gate is bent",
                     lambda gate, up: activation(gate) * activation(up))
        kernel.wrong("activation_forgotten",
                     "Your activation is missing: gate up is the bilinear unit",
                     lambda gate, up: gate * up)
        kernel.wrong("activation_of_the_product",
                     "Your activation bends the product. Bend the gate, then multiply",
                     lambda gate, up: activation(gate * up))
    kernel.wrong("first_gate_for_all",
                 "Your gate is always the first. Element i of the output comes from gate[i] and up[i]",
                 lambda gate, up: activation(gate[:1]) * up)
    kernel.wrong("first_up_for_all",
                 "Your up is always the first. Element i of the output comes from gate[i] and up[i]",
                 lambda gate, up: activation(gate) * up[:1])
    kernel.wrong("up_plus_one",
                 "Your up is up + 1, as gpt-oss has it. A Llama multiplies by up itself",
                 lambda gate, up: activation(gate) * (up + 1))
    kernel.wrong("gate_for_up",
                 "Your second factor is the gate again. Multiply by up",
                 lambda gate, up: activation(gate) * gate)
    kernel.wrong("up_for_gate",
                 "Your first factor is of up, too. It is of the gate",
                 lambda gate, up: activation(up) * up)
    for wrong, what, other in instead:
        kernel.wrong(wrong, f"Your gate is bent by {what}",
                     lambda gate, up, other=other: other(gate) * up)
    return kernel


# F.glu takes both halves in one tensor and bends the second: its gate comes after its up.
glu = unit("glu", "torch.nn.functional.glu", lambda gate, up: F.glu(torch.cat([up, gate]), dim=0), sigmoid,
           [("silu", "SiLU, as in SwiGLU. GLU's gate is sigmoid(gate)", silu),
            ("tanh", "tanh. GLU's gate is sigmoid(gate)", torch.tanh),
            ("exponent_sign", "1 / (1 + e^gate). The exponent is -gate", lambda gate: sigmoid(-gate)),
            ("twice_as_steep", "sigmoid(2 gate). It is (1 + tanh(gate / 2)) / 2, half the argument",
             lambda gate: sigmoid(2 * gate))])
bilinear = unit("bilinear", "gate * up", lambda gate, up: gate * up, identity,
                [("sigmoid", "sigmoid, as in GLU. The bilinear unit bends nothing, gate up", sigmoid),
                 ("silu", "SiLU, as in SwiGLU. The bilinear unit bends nothing, gate up", silu),
                 ("relu", "ReLU, as in ReGLU. The bilinear unit bends nothing, gate up", relu)])
reglu = unit("reglu", "torch.nn.functional.relu(gate) * up", lambda gate, up: F.relu(gate) * up,
             lambda gate: torch.where(gate <= 0, 0, gate),
             [("leaky", "a leaky ReLU. ReGLU's is 0 below zero", lambda gate: F.leaky_relu(gate, 0.01)),
              ("gelu", "GELU. ReGLU's gate is max(0, gate)", gelu),
              ("silu", "SiLU, as in SwiGLU. ReGLU's gate is max(0, gate)", silu),
              ("step", "a step, 1 above zero. ReGLU's gate is gate itself there", lambda gate: 1.0 * (gate > 0)),
              ("clipped_at_six", "ReLU6. ReGLU's gate grows without end", F.relu6),
              ("nan_swallowed", "gate > 0 ? gate : 0, which turns NaN into 0. Write gate <= 0 ? 0 : gate",
               lambda gate: torch.where(gate > 0, gate, 0))])
geglu = unit("geglu", "torch.nn.functional.gelu(gate) * up", lambda gate, up: F.gelu(gate) * up,
             lambda gate: gate * (1 + torch.erf(gate / 2**0.5)) / 2,
             [("tanh_approximation", "the tanh approximation of GELU. GEGLU is exact, with erf", gelu_tanh),
              ("silu", "SiLU, as in SwiGLU. GEGLU's gate is gelu(gate)", silu),
              ("sigmoid_approximation", "x sigmoid(1.702 x), the quick GELU of CLIP. GEGLU is exact, with erf",
               lambda gate: gate * sigmoid(1.702 * gate)),
              ("root_missing", "GELU without its root: erf is of gate / sqrt(2)",
               lambda gate: gate * (1 + torch.erf(gate)) / 2),
              ("x_missing", "Phi(gate). GEGLU's gate is gelu(gate) = gate Phi(gate)",
               lambda gate: (1 + torch.erf(gate / 2**0.5)) / 2)],
             rounding=lambda gate, up: up * gelu_rounding(gate))
swiglu = unit("swiglu", "torch.nn.functional.silu(gate) * up", lambda gate, up: F.silu(gate) * up,
              lambda gate: gate / (1 + torch.exp(-gate)),
              [("sigmoid", "sigmoid, as in GLU. SwiGLU's gate is silu(gate) = gate sigmoid(gate)", sigmoid),
               ("gelu", "GELU, as in GEGLU. SwiGLU's gate is silu(gate) = gate sigmoid(gate)", gelu),
               ("relu", "ReLU, as in ReGLU. SwiGLU's gate is silu(gate) = gate sigmoid(gate)", relu),
               ("exponent_sign", "gate / (1 + e^gate). The exponent is -gate", lambda gate: gate * sigmoid(-gate)),
               ("twice_as_steep", "gate sigmoid(2 gate). It is gate (1 + tanh(gate / 2)) / 2, half the argument",
                lambda gate: gate * sigmoid(2 * gate)),
               ("beta_1.702", "gate sigmoid(1.702 gate), as in gpt-oss. A Llama's beta is 1",
                lambda gate: gate * sigmoid(1.702 * gate)),
               ("overflow",
                "gate e^gate / (1 + e^gate), infinity over infinity for a large gate. Write gate / (1 + e^-gate)",
                lambda gate: gate * (torch.exp(gate.float()) / (1 + torch.exp(gate.float()))))])

for name, advice, unit_of in [
        ("clamped_at_7", "Your gate is never more than 7, and your up is kept within 7 of zero, as in gpt-oss. A Llama limits neither",
         lambda gate, up: silu(gate.clamp(max=7)) * up.clamp(-7, 7)),
        ("up_clamped_at_7", "Your up is kept within 7 of zero, as in gpt-oss. A Llama limits neither gate nor up", lambda gate, up: silu(gate) * up.clamp(-7, 7)),
        ("gate_clamped_at_7", "Your gate is never more than 7, as in gpt-oss. A Llama limits neither gate nor up", lambda gate, up: silu(gate.clamp(max=7)) * up),
        ("gpt_oss", "Your unit is gpt-oss's: both limited to 7, sigmoid(1.702 gate), and up + 1. A Llama's is gate sigmoid(gate) up",
         lambda gate, up: (lambda g: g * sigmoid(1.702 * g))(gate.clamp(max=7)) * (up.clamp(-7, 7) + 1))]:
    swiglu.wrong(name, advice, unit_of)

glu.wrong("hard_sigmoid", "Your gate is bent by the piecewise linear sigmoid, gate / 6 + 1/2 clipped. Use e^-gate",
          lambda gate, up: F.hardsigmoid(gate) * up)
glu.wrong("overflow", "Your e^gate / (1 + e^gate) is infinity over infinity for a large gate. Write 1 / (1 + e^-gate)",
          lambda gate, up: torch.exp(gate.float()) / (1 + torch.exp(gate.float())) * up)
glu.wrong("relu", "Your gate is bent by ReLU, as in ReGLU. GLU's is sigmoid(gate)", lambda gate, up: relu(gate) * up)
bilinear.wrong("gelu", "Your gate is bent by GELU, as in GEGLU. The bilinear unit bends nothing, gate up", lambda gate, up: gelu(gate) * up)
bilinear.wrong("tanh", "Your gate is bent by tanh. The bilinear unit bends nothing, gate up", lambda gate, up: torch.tanh(gate) * up)
bilinear.wrong("difference", "Your up is subtracted from the gate. Multiply them, element by element", lambda gate, up: gate - up)
reglu.wrong("squared", "Your ReLU is squared, as in Primer. ReGLU's gate is gate itself above zero", lambda gate, up: relu(gate)**2 * up)
reglu.wrong("absolute", "Your gate is |gate|. ReGLU's is 0 below zero", lambda gate, up: gate.abs() * up)
reglu.wrong("negative_half", "Your gate is min(0, gate). ReGLU keeps what is above zero, max(0, gate)",
            lambda gate, up: torch.where(gate >= 0, 0, gate) * up)
reglu.wrong("sigmoid", "Your gate is bent by sigmoid, as in GLU. ReGLU's gate is max(0, gate)", lambda gate, up: sigmoid(gate) * up)
geglu.wrong("half_missing", "Your factor 1/2 is missing: gelu(gate) is gate/2 (1 + erf(gate / sqrt(2)))",
            lambda gate, up: 2 * gelu(gate) * up)
geglu.wrong("one_missing", "Your 1 is missing: gelu(gate) is gate/2 (1 + erf(gate / sqrt(2)))",
            lambda gate, up: gate * torch.erf(gate / 2**0.5) / 2 * up)
geglu.wrong("root_multiplied", "Your erf is of gate sqrt(2). It is of gate / sqrt(2)",
            lambda gate, up: gate * (1 + torch.erf(gate * 2**0.5)) / 2 * up)
geglu.wrong("relu", "Your gate is bent by ReLU, as in ReGLU. GEGLU's gate is gelu(gate)", lambda gate, up: relu(gate) * up)
geglu.wrong("sigmoid", "Your gate is bent by sigmoid, as in GLU. GEGLU's gate is gelu(gate)", lambda gate, up: sigmoid(gate) * up)
swiglu.wrong("sigmoid_of_up", "Your sigmoid is of up, gate sigmoid(up). SwiGLU is gate sigmoid(gate) up",
             lambda gate, up: gate * sigmoid(up))
swiglu.wrong("half_missing", "Your factor 1/2 is missing: with tanh silu(gate) is gate (1 + tanh(gate / 2)) / 2",
             lambda gate, up: 2 * silu(gate) * up)
swiglu.wrong("hard_swish", "Your sigmoid is the piecewise linear one, gate / 6 + 1/2 clipped. Use e^-gate",
             lambda gate, up: F.hardswish(gate) * up)
swiglu.wrong("tanh", "Your gate is bent by gate tanh(gate). SwiGLU's gate is silu(gate) = gate sigmoid(gate)",
             lambda gate, up: gate * torch.tanh(gate) * up)
swiglu.wrong("slope", "Your gate is bent by the slope of SiLU. It is silu(gate) itself",
             lambda gate, up: sigmoid(gate) * (1 + gate * (1 - sigmoid(gate))) * up)

# What is far left is tiny, and yet no kernel may make it 0, or larger.
for kernel, name, factor in (glu, "sigmoid", lambda gate: 1), (swiglu, "SiLU", identity):
    for least in 10, 20, 30:
        kernel.wrong(f"shut_below_{least}",
                     f"Your gate is 0 below -{least}. There {name} is tiny, and not 0: e^-gate may be infinite",
                     lambda gate, up, factor=factor, least=least:
                         torch.where(gate < -least, 0, factor(gate) * sigmoid(gate)) * up)
        kernel.wrong(f"clipped_at_{least}",
                     f"Your sigmoid's argument is kept within {least} of zero, so that far left {name} is too large. "
                     "e^-gate may be infinite",
                     lambda gate, up, factor=factor, least=least:
                         factor(gate) * sigmoid(gate.clamp(-least, least)) * up)
for least in 3, 4:
    geglu.wrong(f"shut_below_{least}",
                f"Your gate is 0 below -{least}. There GELU is small, and not 0",
                lambda gate, up, least=least: torch.where(gate < -least, 0, gelu(gate)) * up)

for kernel in glu, bilinear, reglu, geglu, swiglu:
    kernel.case("by_hand", "The lesson's three hidden units.", gate=[3, -1, 4], up=[1, 2, 4])
    # Below -1 GELU's 1 + erf cancels: those gates have cases of their own.
    kernel.case("ordinary", "33 of each: no multiple of any vector unit's width.",
                gate=uniform(-1, 4, 33), up=normal(33))
    kernel.case("extremes", "Gates that are shut or open altogether, zeros, and ups of all sizes.",
                gate=[-1e4, -110, -0.0, 0, 20, 88, 110, 1e4],
                up=[1e30, -1, 3, 1e-30, -1e-30, 1e-40, 2, -1e30])
    kernel.case("wide", "Gates up to 12 and ups up to some 15.", gate=uniform(-1, 12, 33), up=normal(33, scale=6))
    kernel.case("not_finite", "An infinite up behind an open gate, and a NaN in either.",
                gate=[1, NAN, 1, 2], up=[-INF, 1, NAN, 3])
for kernel in glu, reglu:
    kernel.case("far_below", "A gate of -infinity is shut: the output is 0.", gate=[-INF, 2, -INF], up=[2, 3, -4])
for kernel in glu, swiglu:
    # Not down to -88, as in chapter 2: sigmoid times a small up would be a denormal.
    kernel.case("left_tail", "Gates from -80 to -8, as good as shut.", gate=np.linspace(-80, -8, 33), up=normal(33))
geglu.case("left", "Gates from -4 to -3: 1 + erf has lost three digits.", gate=uniform(-4, -3, 33), up=normal(33))
geglu.case("left_tail", "Gates from -4.5 to -4: another two.", gate=uniform(-4.5, -4, 33), up=normal(33))
swiglu.case("long", "513 of each: whole blocks of any power of two up to 512, and one more.",
            gate=uniform(-4, 4, 513), up=normal(513))


# --- The feed-forward layer: activation between two linear layers ------------------------------------------

ACTIVATIONS = [relu, gelu, silu]
RELU, GELU, SILU = range(3)


def affine(x, weight, bias=None):
    return x @ weight.T + (0 if bias is None else bias)


def misread(x, weight, bias=None):
    """The same numbers, taken for [in][out]."""
    return affine(x, weight.reshape(weight.T.shape).T, bias)


def first_row(one, others):
    return torch.cat([one[:1], others[1:]])


def without_end(weight, full):
    """What is multiplied by 0 might as well be left out of the sum."""
    return torch.cat([weight[:, :full], 0 * weight[:, full:]], 1)


def never_reset(x, weight, bias=None):
    return (x @ weight.T).flatten().cumsum(0).reshape(len(x), -1) + (0 if bias is None else bias)


def feed(x, w1, w2, activation, b1=None, b2=None):
    return affine(ACTIVATIONS[activation](affine(x, w1, b1)), w2, b2)


feed_forward = Kernel(
    "feed_forward", CHAPTER, "torch.nn.functional.linear, and relu, gelu or silu",
    pytorch=lambda x, w1, w2, activation, b1=None, b2=None:
        F.linear(ACTIVATIONS[activation](F.linear(x, w1, b1)), w2, b2),
    formula=feed)

# **the_rest are the arguments that a mistake leaves as they are.
feed_forward.wrong("w1_transposed",
                   "Your w1 is read as [C][F]. PyTorch stores a row for each output, w1[F][C]",
                   lambda x, w1, w2, activation, b1=None, b2=None:
                       affine(ACTIVATIONS[activation](misread(x, w1, b1)), w2, b2))
feed_forward.wrong("w2_transposed",
                   "Your w2 is read as [F][C]. PyTorch stores a row for each output, w2[C][F]",
                   lambda x, w1, w2, activation, b1=None, b2=None:
                       misread(ACTIVATIONS[activation](affine(x, w1, b1)), w2, b2))
feed_forward.wrong("both_transposed",
                   "Your w1 and w2 are read as [in][out]. PyTorch stores a row for each output, [out][in]",
                   lambda x, w1, w2, activation, b1=None, b2=None:
                       misread(ACTIVATIONS[activation](misread(x, w1, b1)), w2, b2))
feed_forward.wrong("activation_last",
                   "Your activation comes after the second matrix. It stands between the two",
                   lambda x, w1, w2, activation, b1=None, b2=None:
                       ACTIVATIONS[activation](affine(affine(x, w1, b1), w2, b2)))
feed_forward.wrong("activation_twice",
                   "Your activation is applied after the second matrix too. It stands between the two",
                   lambda activation, **the_rest:
                       ACTIVATIONS[activation](feed(activation=activation, **the_rest)))
feed_forward.wrong("activation_missing",
                   "Your activation is missing: two linear layers in a row are only one",
                   lambda x, w1, w2, activation, b1=None, b2=None: affine(affine(x, w1, b1), w2, b2))
feed_forward.wrong("always_relu",
                   "Your activation is ReLU whatever is handed in. Call activation(n, out, x)",
                   lambda activation, **the_rest: feed(activation=RELU, **the_rest))
feed_forward.wrong("b1_forgotten",
                   "Your b1 is missing. Add it before the activation, unless it is NULL",
                   lambda b1=None, **the_rest: feed(b1=None, **the_rest))
feed_forward.wrong("b2_forgotten",
                   "Your b2 is missing. Add it at the end, unless it is NULL",
                   lambda b2=None, **the_rest: feed(b2=None, **the_rest))
feed_forward.wrong("b1_after_activation",
                   "Your b1 is added after the activation. Add it before",
                   lambda x, w1, w2, activation, b1=None, b2=None:
                       affine(ACTIVATIONS[activation](affine(x, w1)) + (0 if b1 is None else b1), w2, b2))
feed_forward.wrong("b2_twice",
                   "Your b2 is added twice. Add it once, at the end",
                   lambda b2=None, **the_rest: feed(b2=None if b2 is None else b2 + b2, **the_rest))
feed_forward.wrong("residual_added",
                   "Your x is added to the output. The residual is the block's affair, not the layer's",
                   lambda x, **the_rest: x + feed(x, **the_rest))

feed_forward.wrong("bent_in_the_first_token",
                   "Your activation is applied to the first token's F numbers alone. Apply it to all T F of them",
                   lambda x, w1, w2, activation, b1=None, b2=None: affine(first_row(
                       ACTIVATIONS[activation](affine(x, w1, b1)), affine(x, w1, b1)), w2, b2))
feed_forward.wrong("hidden_of_the_first_token",
                   "Every token's output comes from the hidden row of the first. Each has its own, hidden[t]",
                   lambda x, **the_rest: feed(x, **the_rest)[:1].expand(len(x), -1).contiguous())
feed_forward.wrong("b1_in_the_first_token",
                   "Your b1 is added in the first token alone. Add it to every token",
                   lambda b1=None, **the_rest: None if b1 is None
                   else first_row(feed(b1=b1, **the_rest), feed(b1=None, **the_rest)))
feed_forward.wrong("b2_in_the_first_token",
                   "Your b2 is added in the first token alone. Add it to every token",
                   lambda b2=None, **the_rest: None if b2 is None
                   else first_row(feed(b2=b2, **the_rest), feed(b2=None, **the_rest)))
feed_forward.wrong("last_hidden_left_out",
                   "Your second sum ends one number too early. It runs over 0 .. F - 1",
                   lambda w2, **the_rest: feed(w2=without_end(w2, len(w2[0]) - 1), **the_rest))
feed_forward.wrong("last_input_left_out",
                   "Your first sum ends one number too early. It runs over 0 .. C - 1",
                   lambda w1, **the_rest: feed(w1=without_end(w1, len(w1[0]) - 1), **the_rest))
feed_forward.wrong("sums_not_reset",
                   "Your sums run on from one output to the next. Begin each with 0",
                   lambda x, w1, w2, activation, b1=None, b2=None: never_reset(
                       ACTIVATIONS[activation](never_reset(x, w1, b1)), w2, b2))
feed_forward.wrong_tails("sum in both layers", lambda full, w1, w2, **the_rest: feed(
    w1=without_end(w1, full(len(w1[0]))), w2=without_end(w2, full(len(w2[0]))), **the_rest))

feed_forward.wrong("swapped",
                   "Your w1 and w2 are exchanged. w1 comes first, w1[F][C]; then w2[C][F]",
                   lambda w1, w2, **the_rest: feed(w1=w2.reshape(w1.shape), w2=w1.reshape(w2.shape), **the_rest))
feed_forward.wrong("w1_for_both",
                   "Your second matrix is w1 again, read as [C][F]. It is w2",
                   lambda w1, w2, **the_rest: feed(w1=w1, w2=w1.reshape(w2.shape), **the_rest))
feed_forward.wrong("tied",
                   "Your second matrix is w1, transposed. It is w2",
                   lambda w1, w2, **the_rest: feed(w1=w1, w2=w1.T, **the_rest))
feed_forward.wrong("always_silu",
                   "Your activation is SiLU whatever is handed in. Call activation(n, out, x)",
                   lambda activation, **the_rest: feed(activation=SILU, **the_rest))
feed_forward.wrong("bent_in_the_first_C",
                   "Your activation is applied to the first C of a token's hidden numbers. Apply it to all F",
                   lambda x, w1, w2, activation, b1=None, b2=None: None if len(w1) < len(w2) else (
                       lambda hidden: affine(torch.cat([ACTIVATIONS[activation](hidden[:, :len(w2)]), hidden[:, len(w2):]], 1), w2, b2))(
                           affine(x, w1, b1)))
feed_forward.wrong("activation_first",
                   "Your activation is applied to x, before the first matrix. It stands between the two",
                   lambda x, w1, w2, activation, b1=None, b2=None: affine(affine(ACTIVATIONS[activation](x), w1, b1), w2, b2))
feed_forward.wrong("b1_twice",
                   "Your b1 is added twice. Add it once, before the activation",
                   lambda b1=None, **the_rest: feed(b1=None if b1 is None else b1 + b1, **the_rest))
feed_forward.wrong("b1_only_with_b2",
                   "Your b1 is added only where b2 is given, too. Each may be NULL alone",
                   lambda b1=None, b2=None, **the_rest: feed(b1=None if b2 is None else b1, b2=b2, **the_rest))
feed_forward.wrong("b2_only_with_b1",
                   "Your b2 is added only where b1 is given, too. Each may be NULL alone",
                   lambda b1=None, b2=None, **the_rest: feed(b1=b1, b2=None if b1 is None else b2, **the_rest))
feed_forward.wrong("b2_for_each_unit",
                   "Your b2 is added with every product. Add it once, at the end",
                   lambda w1, b2=None, **the_rest: feed(w1=w1, b2=None if b2 is None else len(w1) * b2, **the_rest))

feed_forward.case("by_hand", "The lesson's example: two inputs, three hidden units, of which ReLU shuts one.",
                  x=[[1, 2]], w1=[[1, 1], [1, -1], [0, 2]], w2=[[1, 2, 1], [0, 1, -1]], activation=RELU)
feed_forward.case("vaswani", "The Transformer of 2017: ReLU, biases, F = 4 C.",
                  x=normal(3, 8), w1=normal(32, 8), b1=normal(32), w2=normal(8, 32), b2=normal(8),
                  activation=RELU)
feed_forward.case("t5", "ReLU without biases, as in T5.",
                  x=normal(3, 8), w1=normal(32, 8), w2=normal(8, 32), activation=RELU)
feed_forward.case("gpt", "GELU and biases.",
                  x=normal(3, 8), w1=normal(32, 8), b1=normal(32), w2=normal(8, 32), b2=normal(8),
                  activation=GELU)
feed_forward.case("swish", "SiLU without biases.",
                  x=normal(3, 8), w1=normal(32, 8), w2=normal(8, 32), activation=SILU)
feed_forward.case("ragged", "5 tokens, C = 19, F = 37: no size is a multiple of anything.",
                  x=normal(5, 19), w1=normal(37, 19), b1=normal(37), w2=normal(19, 37), b2=normal(19),
                  activation=GELU)
feed_forward.case("one_token", "One token, as in decoding.",
                  x=normal(1, 16), w1=normal(44, 16), w2=normal(16, 44), activation=SILU)
feed_forward.case("only_b1", "One bias is there, the other NULL.",
                  x=normal(2, 6), w1=normal(10, 6), b1=normal(10), w2=normal(6, 10), activation=RELU)
feed_forward.case("only_b2", "And the other way about.",
                  x=normal(2, 6), w1=normal(10, 6), w2=normal(6, 10), b2=normal(6), activation=RELU)


# --- The gated feed-forward layer: a unit between three linear layers ---------------------------------------

UNITS = [lambda gate, up: sigmoid(gate) * up,
         lambda gate, up: gate * up,
         lambda gate, up: relu(gate) * up,
         lambda gate, up: gelu(gate) * up,
         lambda gate, up: silu(gate) * up]
GLU, BILINEAR, REGLU, GEGLU, SWIGLU = range(5)


def gated(x, w_gate, w_up, w_down, unit):
    return affine(UNITS[unit](affine(x, w_gate), affine(x, w_up)), w_down)


gated_feed_forward = Kernel(
    "gated_feed_forward", CHAPTER, "torch.nn.functional.linear, and sigmoid, relu, gelu or silu",
    pytorch=lambda x, w_gate, w_up, w_down, unit:
        F.linear(UNITS[unit](F.linear(x, w_gate), F.linear(x, w_up)), w_down),
    formula=gated)

gated_feed_forward.wrong(
    "gate_and_up_swapped",
    "Your w_gate and w_up are swapped. The activation bends the gate, which is Meta's w1; w3 is up",
    lambda w_gate, w_up, **the_rest: gated(w_gate=w_up, w_up=w_gate, **the_rest))
gated_feed_forward.wrong(
    "down_for_up",
    "Your w_up and w_down are swapped. Meta's w2 is down and its w3 is up, out of order",
    lambda w_up, w_down, **the_rest:
        gated(w_up=w_down.reshape(w_up.shape), w_down=w_up.reshape(w_down.shape), **the_rest))
gated_feed_forward.wrong(
    "gate_for_up",
    "Your gate and up are both computed by w_gate. Up has its own matrix, w_up",
    lambda w_gate, w_up, **the_rest: gated(w_gate=w_gate, w_up=w_gate, **the_rest))
gated_feed_forward.wrong(
    "gate_and_up_transposed",
    "Your w_gate and w_up are read as [C][F]. PyTorch stores a row for each output, [F][C]",
    lambda x, w_gate, w_up, w_down, unit:
        affine(UNITS[unit](misread(x, w_gate), misread(x, w_up)), w_down))
gated_feed_forward.wrong(
    "down_transposed",
    "Your w_down is read as [F][C]. PyTorch stores a row for each output, [C][F]",
    lambda x, w_gate, w_up, w_down, unit:
        misread(UNITS[unit](affine(x, w_gate), affine(x, w_up)), w_down))
gated_feed_forward.wrong(
    "all_transposed",
    "Your three weights are read as [in][out]. PyTorch stores a row for each output, [out][in]",
    lambda x, w_gate, w_up, w_down, unit:
        misread(UNITS[unit](misread(x, w_gate), misread(x, w_up)), w_down))
gated_feed_forward.wrong(
    "activation_missing",
    "Your gate is not bent: that is the bilinear unit. Call unit(n, out, gate, up)",
    lambda unit, **the_rest: gated(unit=BILINEAR, **the_rest))
gated_feed_forward.wrong(
    "always_swiglu",
    "Your unit is SwiGLU whatever is handed in. Call unit(n, out, gate, up)",
    lambda unit, **the_rest: gated(unit=SWIGLU, **the_rest))
gated_feed_forward.wrong(
    "up_forgotten",
    "Your up is missing: the bent gate goes into w_down alone. Multiply it by up",
    lambda x, w_gate, w_up, w_down, unit:
        affine(UNITS[unit](affine(x, w_gate), 1), w_down))
gated_feed_forward.wrong(
    "residual_added",
    "Your x is added to the output. The residual is the block's affair, not the layer's",
    lambda x, **the_rest: x + gated(x, **the_rest))

gated_feed_forward.wrong(
    "gate_of_the_first_token",
    "Your gate is the first token's for all. Each token has its own, gate[t]",
    lambda x, w_gate, w_up, w_down, unit:
        affine(UNITS[unit](affine(x[:1], w_gate), affine(x, w_up)), w_down))
gated_feed_forward.wrong(
    "up_of_the_first_token",
    "Your up is the first token's for all. Each token has its own, up[t]",
    lambda x, w_gate, w_up, w_down, unit:
        affine(UNITS[unit](affine(x, w_gate), affine(x[:1], w_up)), w_down))
gated_feed_forward.wrong(
    "gated_in_the_first_token",
    "Your unit is applied to the first token's F numbers alone. Apply it to all T F of them",
    lambda x, w_gate, w_up, w_down, unit: affine(first_row(
        UNITS[unit](affine(x, w_gate), affine(x, w_up)), affine(x, w_gate)), w_down))
gated_feed_forward.wrong(
    "hidden_of_the_first_token",
    "Every token's output comes from the hidden row of the first. Each token has its own",
    lambda x, **the_rest: gated(x, **the_rest)[:1].expand(len(x), -1).contiguous())
gated_feed_forward.wrong(
    "added",
    "Your bent gate and up are added. The unit multiplies: call unit(n, out, gate, up)",
    lambda x, w_gate, w_up, w_down, unit:
        affine(UNITS[unit](affine(x, w_gate), 1) + affine(x, w_up), w_down))
gated_feed_forward.wrong(
    "gate_forgotten",
    "Your gate is missing: up goes into w_down alone. Call unit(n, out, gate, up)",
    lambda x, w_gate, w_up, w_down, unit: affine(affine(x, w_up), w_down))
gated_feed_forward.wrong(
    "unit_twice",
    "Your gate is bent before the unit, which bends it again. Hand in what w_gate gave",
    lambda x, w_gate, w_up, w_down, unit: affine(UNITS[unit](
        UNITS[unit](affine(x, w_gate), 1), affine(x, w_up)), w_down))
gated_feed_forward.wrong(
    "last_hidden_left_out",
    "Your second sum ends one number too early. It runs over 0 .. F - 1",
    lambda w_down, **the_rest: gated(w_down=without_end(w_down, len(w_down[0]) - 1), **the_rest))
gated_feed_forward.wrong(
    "last_input_left_out",
    "Your sums for gate and up end one number too early. They run over 0 .. C - 1",
    lambda w_gate, w_up, **the_rest: gated(w_gate=without_end(w_gate, len(w_gate[0]) - 1),
                                           w_up=without_end(w_up, len(w_up[0]) - 1), **the_rest))
gated_feed_forward.wrong(
    "sums_not_reset",
    "Your sums run on from one output to the next. Begin each with 0",
    lambda x, w_gate, w_up, w_down, unit: never_reset(
        UNITS[unit](never_reset(x, w_gate), never_reset(x, w_up)), w_down))
gated_feed_forward.wrong_tails("sum in all three layers", lambda full, w_gate, w_up, w_down, **the_rest: gated(
    w_gate=without_end(w_gate, full(len(w_gate[0]))), w_up=without_end(w_up, full(len(w_up[0]))),
    w_down=without_end(w_down, full(len(w_down[0]))), **the_rest))

gated_feed_forward.wrong(
    "up_for_gate",
    "Your gate and up are both computed by w_up. The gate has its own matrix, w_gate",
    lambda w_gate, w_up, **the_rest: gated(w_gate=w_up, w_up=w_up, **the_rest))
gated_feed_forward.wrong(
    "down_for_gate",
    "Your w_gate and w_down are exchanged. Meta's w1 is the gate, and its w2 is down",
    lambda w_gate, w_down, **the_rest:
        gated(w_gate=w_down.reshape(w_gate.shape), w_down=w_gate.reshape(w_down.shape), **the_rest))
gated_feed_forward.wrong(
    "gate_into_down",
    "Your w_down is given the gate, and not what the unit made of gate and up. Hand it the unit's output",
    lambda x, w_gate, w_up, w_down, unit: affine(affine(x, w_gate), w_down))
gated_feed_forward.wrong(
    "gated_in_the_first_C",
    "Your unit is applied to the first C of a token's hidden numbers. Apply it to all F",
    lambda x, w_gate, w_up, w_down, unit: None if len(w_gate) < len(w_down) else (lambda gate, up, C: affine(
        torch.cat([UNITS[unit](gate[:, :C], up[:, :C]), gate[:, C:]], 1), w_down))(affine(x, w_gate), affine(x, w_up), len(w_down)))
gated_feed_forward.wrong(
    "residual_of_the_hidden",
    "Your gate is added to the unit's output. Hand w_down that output alone",
    lambda x, w_gate, w_up, w_down, unit: affine(
        affine(x, w_gate) + UNITS[unit](affine(x, w_gate), affine(x, w_up)), w_down))

gated_feed_forward.case("by_hand", "The lesson's example: two inputs, three hidden units.",
                        x=[[1, 2]], w_gate=[[1, 1], [1, -1], [0, 2]], w_up=[[1, 0], [0, 1], [2, 1]],
                        w_down=[[1, 2, 1], [0, 1, -1]], unit=SWIGLU)
for which, name in enumerate(["glu", "bilinear", "reglu", "geglu", "swiglu"]):
    gated_feed_forward.case(name, f"The unit {name}.",
                            x=normal(2, 6), w_gate=normal(16, 6), w_up=normal(16, 6), w_down=normal(6, 16),
                            unit=which)
gated_feed_forward.case("few_units", "F smaller than C, as after pruning.",
                        x=normal(3, 20), w_gate=normal(8, 20), w_up=normal(8, 20), w_down=normal(20, 8),
                        unit=SWIGLU)
gated_feed_forward.case("one_unit", "A hidden layer of one unit.",
                        x=normal(2, 6), w_gate=normal(1, 6), w_up=normal(1, 6), w_down=normal(6, 1), unit=SWIGLU)
gated_feed_forward.case("one_wide", "C = 1: a token is a single number.",
                        x=normal(4, 1), w_gate=normal(10, 1), w_up=normal(10, 1), w_down=normal(1, 10),
                        unit=SWIGLU)
gated_feed_forward.case("ragged", "5 tokens, C = 19, F = 37: no size is a multiple of anything.",
                        x=normal(5, 19), w_gate=normal(37, 19), w_up=normal(37, 19), w_down=normal(19, 37),
                        unit=SWIGLU)
gated_feed_forward.case("one_token", "One token, as in decoding.",
                        x=normal(1, 16), w_gate=normal(44, 16), w_up=normal(44, 16), w_down=normal(16, 44),
                        unit=SWIGLU)
gated_feed_forward.case("llama", "A small Llama's layer: C = 24, F = 64 (2/3 of 4 C).",
                        x=normal(4, 24), w_gate=normal(64, 24, scale=0.1), w_up=normal(64, 24, scale=0.1),
                        w_down=normal(24, 64, scale=0.1), unit=SWIGLU)
