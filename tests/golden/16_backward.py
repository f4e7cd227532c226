"""Chapter 16: gradients, by torch.autograd; each case asks for one of a kernel's gradients.

A case's input `dx`, say, is what stood in dx before: the kernel adds to it. It also tells which gradient the case is about.
With alone=1 the others are NULL.
"""
import math

import numpy as np
import torch
import torch.nn.functional as F

from golden import Kernel, gelu_rounding, gelu_slope_rounding, normal, uniform

CHAPTER = "16_backward"


def shape_of(value):
    if isinstance(value, float):
        return (1,)
    value = value(np.random.default_rng(0)) if callable(value) else value
    return tuple(np.asarray(value).shape)


class Backward:
    """A kernel that adds to gradients.

    forward    the operation itself, which autograd differentiates
    parts      the gradients, spelled out: parts["x"](dy=..., x=..., ...)
    upstream   what the gradient that comes in is called"""

    def __init__(self, name, source, forward, parts, upstream="dy", pointwise=False, pytorch=None, **more):
        self.forward, self.parts, self.upstream = forward, parts, upstream
        self.kernel = Kernel(name, CHAPTER, f"{source} under torch.autograd", pytorch or self.autograd, self.sum_of(parts),
                             mixes=not pointwise, **more)
        self.kernel.wrong("does_nothing", "Your gradients are what they were before. Add to them", self.added(
            lambda before, gradient: before))
        self.kernel.wrong("overwritten", "Your gradients are set, and not added: what was there is lost. Write +=",
                          self.added(lambda before, gradient: gradient))
        self.kernel.wrong("subtracted", "Your gradients are subtracted. Add them: the step downhill is the optimizer's",
                          self.added(lambda before, gradient: before - gradient))

    def wanted(self, inputs):
        return next(name for name in self.parts if f"d{name}" in inputs)

    def autograd(self, alone=0, **inputs):
        wanted = self.wanted(inputs)
        before, dy = inputs.pop(f"d{wanted}"), inputs.pop(self.upstream)
        leaf = torch.as_tensor(inputs.get(wanted, 0.0)).expand(before.shape).clone().requires_grad_()  # a bias is no input
        leaf.grad = before.clone()
        self.forward(**inputs | {wanted: leaf}).backward(dy)
        return leaf.grad

    def gradient(self, inputs, parts):
        wanted = self.wanted(inputs)
        arguments = {name: value for name, value in inputs.items() if name not in (f"d{wanted}", "alone")}
        gradient = parts.get(wanted, self.parts[wanted])(**arguments)
        return inputs[f"d{wanted}"], None if gradient is None else gradient.reshape(inputs[f"d{wanted}"].shape)

    def sum_of(self, parts):
        def formula(**inputs):
            before, gradient = self.gradient(inputs, parts)
            return None if gradient is None else before + gradient
        return formula

    def added(self, how):
        return lambda **inputs: how(*self.gradient(inputs, self.parts))

    def wrong(self, name, advice, **parts):
        """A mistake in some of the gradients; the others are right."""
        self.kernel.wrong(name, advice, self.sum_of(parts))

    def wrongly_set(self, name, advice, **parts):
        """The same; and what was there before is lost in these gradients."""
        def formula(**inputs):
            before, gradient = self.gradient(inputs, parts)
            return gradient if self.wanted(inputs) in parts else before + gradient
        self.kernel.wrong(name, advice, formula)

    def case(self, name, sentence, wanted=None, before=None, scale=1, alone=False, **inputs):
        for gradient in wanted or self.parts:
            if gradient not in inputs:
                continue
            shape = shape_of(inputs[gradient])
            stored = {name: value for name, value in inputs.items() if name != "bias"}  # which no gradient depends on
            there = np.full(shape, before) if before is not None else normal(*shape, scale=scale)
            more = dict(alone=1) if alone else {}
            self.kernel.case(f"{name}_d{gradient}", sentence, **stored, **{f"d{gradient}": there}, **more)


def exp32(x):
    """As a float32 has it, which is infinite from 89 on."""
    return torch.exp(x.float()).to(x.dtype)


def first_row_alone(dy):
    return torch.cat([dy[:1], torch.zeros_like(dy[1:])])


def last_row_alone(dy):
    return torch.cat([torch.zeros_like(dy[:-1]), dy[-1:]])


# --- Linear ------------------------------------------------------------------------------------------------

def into_x(dy, x, weight):
    return dy @ weight


def into_weight(dy, x, weight):
    return dy.T @ x


def into_bias(dy, x, weight):
    return dy.sum(0)


linear = Backward("linear_backward", "torch.nn.functional.linear",
                  lambda x, weight, bias=None: F.linear(x, weight, bias),
                  dict(x=into_x, weight=into_weight, bias=into_bias))
linear.wrong("weight_transposed", "Your dx reads weight as [in][out]. It is [out][in]: dx[r][i] sums dy[r][o] weight[o][i]",
             x=lambda dy, weight, **_: dy @ weight.reshape(weight.T.shape).T)
linear.wrong("dweight_transposed", "Your dweight is written as [in][out]. It has the shape of weight, [out][in]",
             weight=lambda dy, x, **_: (dy.T @ x).T.reshape(dy.shape[1], -1))
linear.wrong("first_row_alone", "Your dweight and dbias have the first row's share alone. Add up all rows",
             weight=lambda dy, x, **_: dy[:1].T @ x[:1], bias=lambda dy, **_: dy[0])
linear.wrong("last_row_alone", "Your dweight and dbias keep the last row's share alone. Add up all rows: +=, and not =",
             weight=lambda dy, x, **_: dy[-1:].T @ x[-1:], bias=lambda dy, **_: dy[-1])
linear.wrongly_set("set_by_each_row", "Your dweight and dbias are set by each row, so that the last row's share alone is left, and what was there is "
                   "lost. Write +=", weight=lambda dy, x, **_: dy[-1:].T @ x[-1:], bias=lambda dy, **_: dy[-1])
linear.wrong("last_output_alone", "Your dx keeps the last output's share alone. Add up all outputs: +=, and not =",
             x=lambda dy, weight, **_: dy[:, -1:] @ weight[-1:])
linear.wrongly_set("set_by_each_output", "Your dx is set by each output, so that the last one's share alone is left, and what was there is lost. Write +=",
                   x=lambda dy, weight, **_: dy[:, -1:] @ weight[-1:])
linear.wrong("x_in_dx", "Your dx sums dy x. What x was multiplied by is the weight: dx[r][i] sums dy[r][o] weight[o][i]",
             x=lambda dy, x, **_: dy.sum(1, keepdim=True) * x)
linear.wrong("weight_in_dweight", "Your dweight sums dy weight. What the weight was multiplied by is x: dweight[o][i] sums dy[r][o] x[r][i]",
             weight=lambda dy, weight, **_: dy.sum(0)[:, None] * weight)
linear.wrong("dy_missing", "Your gradient lacks dy: what comes in from above is a factor of all three",
             x=lambda dy, weight, **_: weight.sum(0).expand(len(dy), -1),
             weight=lambda dy, x, **_: x.sum(0).expand(dy.shape[1], -1), bias=lambda dy, **_: torch.full_like(dy[0], len(dy)))
linear.wrong("dbias_once_an_input", "Your dbias is added in the loop over the inputs, `in` times. Once a row is enough",
             bias=lambda dy, x, **_: dy.sum(0) * x.shape[1])
linear.wrong("mean_over_rows", "Your dweight and dbias are means over the rows. They are sums: the mean is the loss's",
             weight=lambda dy, x, **_: dy.T @ x / len(x), bias=lambda dy, **_: dy.mean(0))
linear.wrong("mean_over_outputs", "Your dx is a mean over the outputs. It is a sum",
             x=lambda dy, weight, **_: dy @ weight / len(weight))
linear.wrong("same_row_of_dy", "Your dy is the first row's for every row. Row r of dx comes from row r of dy",
             x=lambda dy, weight, **_: dy[:1].expand(len(dy), -1) @ weight)
linear.wrong("first_output_alone", "Your dx has the first output's share alone. Add up all outputs", x=lambda dy, weight, **_: dy[:, :1] @ weight[:1])
linear.wrong("sum_of_x_for_dy", "Your dweight sums dy and x by themselves, and multiplies the sums. Multiply in each row first",
             weight=lambda dy, x, **_: dy.sum(0)[:, None] * x.sum(0))
linear.wrong("output_for_dy", "Your gradients are made of y, the output. dy is what comes in from above",
             x=lambda x, weight, **_: F.linear(x, weight) @ weight, weight=lambda x, weight, **_: F.linear(x, weight).T @ x,
             bias=lambda x, weight, **_: F.linear(x, weight).sum(0))
linear.wrong("dbias_weighted", "Your dbias is multiplied with x. The bias was only added: dbias[o] sums dy[r][o]",
             bias=lambda dy, x, **_: (dy * x.sum(1, keepdim=True)).sum(0))
linear.wrong("sums_not_reset", "Your sums run on from one number to the next. Begin each with 0",
             x=lambda dy, weight, **_: (dy @ weight).flatten().cumsum(0),
             weight=lambda dy, x, **_: (dy.T @ x).flatten().cumsum(0), bias=lambda dy, **_: dy.sum(0).cumsum(0))
linear.kernel.wrong("needs_the_others", "Your gradient is left out where the other two are NULL. Each of the three is wanted or not by itself",
                    lambda alone=0, **inputs: linear.added(lambda before, gradient: before)(**inputs) if alone else linear.sum_of(linear.parts)(**inputs))
for lanes in 4, 8, 16:
    linear.wrong(f"rows_behind_{lanes}_dropped", f"Your sums over the rows end with the last full {lanes}. Add the rows that are left "
                 "over, too", weight=lambda dy, x, lanes=lanes, **_: dy[:len(dy) // lanes * lanes].T @ x[:len(x) // lanes * lanes],
                 bias=lambda dy, lanes=lanes, **_: dy[:len(dy) // lanes * lanes].sum(0))

linear.case("by_hand", "Two rows, three inputs, two outputs: all of it fits on paper.", before=0,
            dy=[[1, 2], [3, -1]], x=[[1, 0, 2], [-1, 1, 0]], weight=[[2, 0, 1], [1, -1, 3]], bias=[0, 0])
linear.case("added", "The gradients are not 0 before.", dy=normal(3, 5), x=normal(3, 4), weight=normal(5, 4), bias=normal(5))
linear.case("no_bias", "A Llama has no biases, and the others are not wanted: NULL.", wanted=["x", "weight"], alone=True,
            dy=normal(4, 6), x=normal(4, 7), weight=normal(6, 7))
linear.case("bias_alone", "The bias learns, and nothing else: dx and dweight are NULL.", wanted=["bias"], alone=True,
            dy=normal(4, 6), x=normal(4, 7), weight=normal(6, 7), bias=normal(6))
linear.case("ragged", "7 rows, 33 inputs, 19 outputs: no size is a multiple of anything.",
            dy=normal(7, 19), x=normal(7, 33), weight=normal(19, 33), bias=normal(19))
linear.case("square", "As many outputs as inputs.", dy=normal(3, 6), x=normal(3, 6), weight=normal(6, 6), bias=normal(6))
linear.case("one_row", "A single row.", dy=normal(1, 12), x=normal(1, 20), weight=normal(12, 20), bias=normal(12))
linear.case("tiny", "A gradient as small as deep in a network, 1e-12: it counts no less.", scale=1e-12,
            dy=normal(5, 9, scale=1e-12), x=normal(5, 8), weight=normal(9, 8), bias=normal(9))
linear.case("long", "Sums of 500 terms.", wanted=["x"], dy=normal(2, 500), x=normal(2, 3), weight=normal(500, 3))
linear.case("many_rows", "300 rows serve one weight.", wanted=["weight", "bias"],
            dy=normal(300, 2), x=normal(300, 3), weight=normal(2, 3), bias=normal(2))
linear.case("wide", "513 columns: a block, and one more.", wanted=["x", "weight"], dy=normal(2, 3), x=normal(2, 513), weight=normal(3, 513))


# --- Embedding ---------------------------------------------------------------------------------------------

def rows_added(dx, ids, table, which=lambda ids, dx: (ids, dx)):
    ids, dx = which(ids.long(), dx)
    return torch.zeros_like(table).index_add(0, ids, dx)


def each_once(first):
    def pick(ids, dx):
        order = range(len(ids)) if first else reversed(range(len(ids)))
        places = {}
        for t in order:
            places.setdefault(int(ids[t]), t)
        places = sorted(places.values())
        return ids[places], dx[places]
    return pick


def embedding_autograd(dtable, dx, ids):
    table = torch.zeros_like(dtable).requires_grad_()
    table.grad = dtable.clone()
    F.embedding(ids.long(), table).backward(dx)
    return table.grad


embedding = Kernel("embedding_backward", CHAPTER, "torch.nn.functional.embedding under torch.autograd", embedding_autograd,
                   lambda dtable, dx, ids: dtable + rows_added(dx, ids, dtable), mixes=True)


def wrong_embedding(name, advice, which):
    embedding.wrong(name, advice, lambda dtable, dx, ids: dtable + rows_added(dx, ids, dtable, which))


embedding.wrong("does_nothing", "Your gradients are what they were before. Add to them", lambda dtable, dx, ids: dtable)
embedding.wrong("overwritten", "A row of your dtable is set, and not added to: what was there, and what an earlier place of the "
                "same token gave, is lost. Write +=",
                lambda dtable, dx, ids: dtable.index_put((each_once(False)(ids.long(), dx)[0],), each_once(False)(ids.long(), dx)[1]))
embedding.wrong("set_to_zero_first", "Your dtable is set to 0 before you add. What is there belongs to it",
                lambda dtable, dx, ids: rows_added(dx, ids, dtable))
embedding.wrong("subtracted", "Your gradients are subtracted. Add them: the step downhill is the optimizer's",
                lambda dtable, dx, ids: dtable - rows_added(dx, ids, dtable))
wrong_embedding("run_counted_once", "A token that stands twice in succession gets the gradient of the first place alone. Add all",
                lambda ids, dx: (ids, dx * torch.cat([torch.ones(1), (ids[1:] != ids[:-1]).to(dx.dtype)])[:, None]))
wrong_embedding("last_place_alone", "A token that stands in the text several times gets the gradient of its last place alone. Add all",
                each_once(False))
wrong_embedding("first_place_alone", "A token that stands in the text several times gets the gradient of its first place alone. Add all",
                each_once(True))
embedding.wrong("place_for_id", "Your rows are added at the token's place, dtable[t]. They belong to its id, dtable[ids[t]]",
                lambda dtable, dx, ids: None if len(ids) > len(dtable) else
                dtable + rows_added(dx, torch.arange(len(ids)), dtable))
embedding.wrong("mean_of_places", "A token that stands in the text several times gets the mean of its places. Add them",
                lambda dtable, dx, ids: dtable + rows_added(dx, ids, dtable) / torch.bincount(
                    ids.long(), minlength=len(dtable)).clamp(min=1)[:, None])
embedding.wrong("mean_over_tokens", "Your gradients are divided by the number of tokens. They are sums: the mean is the loss's",
                lambda dtable, dx, ids: dtable + rows_added(dx, ids, dtable) / len(ids))
embedding.wrong("next_token", "Your gradients are the next token's: row t of dx belongs to ids[t]",
                lambda dtable, dx, ids: dtable + rows_added(dx, ids.roll(-1), dtable))
wrong_embedding("first_place_left_out", "Your first token is left out. Begin with t = 0", lambda ids, dx: (ids[1:], dx[1:]))
wrong_embedding("last_place_left_out", "Your last token is left out. The loop goes over 0 .. T - 1", lambda ids, dx: (ids[:-1], dx[:-1]))
embedding.wrong("by_root_of_C", "Your gradients are multiplied by sqrt(C), as where the embedding was scaled in 2017. A Llama's is not",
                lambda dtable, dx, ids: dtable + rows_added(dx, ids, dtable) * math.sqrt(dx.shape[1]))
embedding.wrong("token_0_left_out", "Your token 0 gets nothing, as if it were padding. It is a token like others",
                lambda dtable, dx, ids: dtable + rows_added(dx * (ids != 0)[:, None], ids, dtable))
for name, sentence, V, C, ids in [
        ("by_hand", "Three tokens, one of them twice.", 3, 2, [2, 0, 2]),
        ("added", "The gradients are not 0 before.", 5, 4, [4, 1, 1, 0]),
        ("repeated", "One token eleven times.", 4, 6, [1, 3] + 11 * [2]),
        ("ragged", "13 tokens of 7 in a vocabulary of 11.", 11, 17, [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9]),
        ("tiny", "Gradients of 1e-12.", 6, 5, [5, 5, 0, 1])]:
    size = 1e-12 if name == "tiny" else 1
    embedding.case(name, sentence, dtable=np.zeros((V, C)) if name == "by_hand" else normal(V, C, scale=size),
                   dx=[[1, 2], [3, 4], [5, 6]] if name == "by_hand" else normal(len(ids), C, scale=size),
                   ids=torch.tensor(ids, dtype=torch.int32))


# --- Norms -------------------------------------------------------------------------------------------------

def norm_parts(centred, **how):
    """dx, dweight and dbias of a norm, each step an argument."""
    def steps(dy, x, weight, eps):
        s = dict(mean=lambda x: x.mean(1, keepdim=True) if centred else torch.zeros_like(x[:, :1]),
                 variance=lambda c: (c * c).mean(1, keepdim=True), inverse=lambda variance, eps: (variance + eps).rsqrt(),
                 g=lambda dy, weight: dy * weight, inside=lambda dy, g, weight: g,
                 all=lambda g: g.mean(1, keepdim=True) if centred else 0,
                 along=lambda n, g, c, s: n * (n * g).mean(1, keepdim=True),
                 scale=lambda s: s, put=lambda s, g, rest: s * (g - rest), pushed=lambda dy, n, x, s: dy * n) | how
        c = x - s["mean"](x)
        scale = s["inverse"](s["variance"](c), eps)
        n, g = c * scale, s["g"](dy, weight)
        inside = s["inside"](dy, g, weight)
        rest = s["all"](inside) + s["along"](n, inside, c, scale)
        return s["put"](s["scale"](scale), g, rest), s["pushed"](dy, n, x, scale)
    parts = dict(x=lambda dy, x, weight, eps: steps(dy, x, weight, eps)[0],
                 weight=lambda dy, x, weight, eps: steps(dy, x, weight, eps)[1].sum(0))
    return parts | (dict(bias=lambda dy, **_: dy.sum(0)) if centred else {})


def wrong_norms(norm, centred):
    def wrong(name, advice, **how):
        parts = norm_parts(centred, **how)
        norm.wrong(name, advice, x=parts["x"], weight=parts["weight"])
    def summed(name, advice, change):
        more = dict(bias=lambda dy, **_: change(dy).sum(0)) if centred else {}
        norm.wrong(name, advice, weight=norm_parts(centred, pushed=lambda dy, n, x, s: change(dy * n))["weight"], **more)
    wrong("mean_term_missing", "Your dx lacks the term n mean(n g): a larger x also makes the row's size larger, and with it all "
          "other outputs smaller", along=lambda n, g, c, s: 0)
    wrong("sum_for_mean", "Your dx has n times the sum of n g. It is the mean: divide by dim",
          along=lambda n, g, c, s: n * (n * g).sum(1, keepdim=True))
    wrong("weight_missing", "Your dx lacks the weight: what comes in passes it first, g = dy weight", g=lambda dy, weight: dy)
    wrong("weight_missing_inside", "Your dx lacks the weight inside the mean: it is of n g, with g = dy weight",
          inside=lambda dy, g, weight: dy)
    wrong("weight_missing_outside", "Your dx lacks the weight outside the mean: it is s (g - n mean(n g)), with g = dy weight",
          g=lambda dy, weight: dy, inside=lambda dy, g, weight: dy * weight)
    norm.wrong("weight_last", "Your weight multiplies the finished dx. What comes in passes it first: g = dy weight, and the mean is of n g",
               x=lambda dy, x, weight, eps: weight * norm.parts["x"](dy, x, torch.ones_like(weight), eps))
    norm.wrong("n_missing", "Your dweight sums dy alone, as a bias's gradient does. It sums dy n, and n is the normalized x",
               weight=lambda dy, **_: dy.sum(0))
    norm.wrong("last_scale_for_all", "Your dweight is made with the last row's size for all. Each row has its own s",
               weight=norm_parts(centred, pushed=lambda dy, n, x, s: dy * n / s * s[-1:])["weight"])
    wrong("divided_by_dim", "Your dx is divided by dim. Only what is subtracted is a mean", put=lambda s, g, rest: s * (g - rest) / g.shape[1])
    wrong("scale_missing", "Your dx is not divided by the row's size. Multiply all of it by s", scale=lambda s: 1)
    wrong("scale_squared", "Your dx is divided by the row's size twice. Multiply by s once", scale=lambda s: s * s)
    wrong("epsilon_missing", "Your epsilon is missing. It is the forward pass's: s = 1 / sqrt(... + eps)", inverse=lambda variance, eps: variance.rsqrt())
    for fixed in 5, 6:
        wrong(f"epsilon_always_1e-{fixed}", f"Your epsilon is 1e-{fixed}, whatever is handed in. Take eps, the forward pass's",
              inverse=lambda variance, eps, fixed=fixed: (variance + 10.0**-fixed).rsqrt())
    wrong("larger_of_the_two", "Your root is of the larger of mean square and epsilon. Add them: s = 1 / sqrt(... + eps)",
          inverse=lambda variance, eps: variance.clamp(min=eps).rsqrt())
    wrong("epsilon_outside", "Your epsilon is outside the root. It is the forward pass's: s = 1 / sqrt(... + eps)",
          inverse=lambda variance, eps: 1 / (variance.sqrt() + eps))
    wrong("root_missing", "Your s lacks its root. It is the forward pass's: s = 1 / sqrt(... + eps)",
          inverse=lambda variance, eps: 1 / (variance + eps))
    wrong("sum_of_squares", "Your s is made with the sum of the squares. It is their mean: divide by dim",
          variance=lambda c: (c * c).sum(1, keepdim=True))
    wrong("squares_not_reset", "Your sum of squares runs on from row to row. Begin each row with 0",
          variance=lambda c: (c * c).mean(1, keepdim=True).cumsum(0))
    wrong("mean_not_reset", "Your sum of n g runs on from row to row. Begin each row with 0",
          along=lambda n, g, c, s: n * (n * g).mean(1, keepdim=True).cumsum(0))
    wrong("sum_of_x_g_not_reset", "Your sum of x g runs on from row to row. Begin each row with 0",
          along=lambda n, g, c, s: n * s * (c * g).mean(1, keepdim=True).cumsum(0))
    means = dict(mean=lambda x: x.mean(1, keepdim=True).cumsum(0), all=lambda g: g.mean(1, keepdim=True).cumsum(0)) if centred else {}
    others = "those of x, of its squares, of g" if centred else "those of the squares"
    for name, product, along in [("no_sum_reset", "n g", lambda n, g, c, s: n * (n * g).mean(1, keepdim=True).cumsum(0)),
                                 ("no_sum_of_x_g_reset", "x g", lambda n, g, c, s: n * s * (c * g).mean(1, keepdim=True).cumsum(0))]:
        wrong(name, f"Your sums run on from row to row, {others} and of {product}. Begin each row with 0",
              variance=lambda c: (c * c).mean(1, keepdim=True).cumsum(0), along=along, **means)
    wrong("mean_term_doubled", "Your dx has the term n mean(n g) twice. The 2 of the square and the 1/2 of the root cancel",
          along=lambda n, g, c, s: 2 * n * (n * g).mean(1, keepdim=True))
    wrong("x_in_mean_term", "One n of your term n mean(n g) is x. Both are normalized",
          along=lambda n, g, c, s: n * (c * g).mean(1, keepdim=True))
    wrong("x_twice_in_mean_term", "Your dx has x mean(x g) where n mean(n g) belongs: n is the normalized x, x s",
          along=lambda n, g, c, s: c * (c * g).mean(1, keepdim=True))
    wrong("dweight_squared", "Your dweight sums the squares of dy n. It sums dy n itself", pushed=lambda dy, n, x, s: (dy * n)**2)
    wrong("x_for_n", "Your dweight sums dy x. It sums dy n, and n is the normalized x", pushed=lambda dy, n, x, s: dy * x)
    wrong("n_missing_outside", "Your dx subtracts mean(n g) itself. It is n mean(n g): each number has its own share", along=lambda n, g, c, s: (n * g).mean(1, keepdim=True))
    wrong("n_missing_inside", "Your dx has n mean(g). It is n mean(n g): the mean is of the products", along=lambda n, g, c, s: n * g.mean(1, keepdim=True))
    wrong("mean_over_rows_in_dx", "Your dx has a mean of n g over the rows. It is one over a row's own numbers",
          along=lambda n, g, c, s: n * (n * g).mean(0, keepdim=True))
    wrong("sign_of_mean_term", "Your dx adds the term n mean(n g). Subtract it",
          along=lambda n, g, c, s: -n * (n * g).mean(1, keepdim=True))
    summed("first_row_alone", "Your dweight has the first row's share alone. Add up all rows", first_row_alone)
    summed("last_row_alone", "Your dweight keeps the last row's share alone. Add up all rows: +=, and not =", last_row_alone)
    norm.wrongly_set("set_by_each_row", "Your dweight is set by each row, so that the last row's share alone is left, and what was there is lost. "
                     "Write +=", weight=norm_parts(centred, pushed=lambda dy, n, x, s: last_row_alone(dy * n))["weight"],
                     **(dict(bias=lambda dy, **_: dy[-1]) if centred else {}))
    summed("mean_over_rows", "Your dweight is a mean over the rows. It is a sum: the mean is the loss's", lambda dy: dy / len(dy))
    norm.wrong("dweight_weighted", "Your dweight is multiplied by weight. It sums dy n alone",
               weight=lambda dy, x, weight, eps: weight * norm.parts["weight"](dy, x, weight, eps))
    if centred:
        wrong("dweight_without_s", "Your dweight sums dy (x - mean), which is not divided by the row's size. It sums dy n, and n is (x - mean) s",
              pushed=lambda dy, n, x, s: dy * (x - x.mean(1, keepdim=True)))
    if not centred:
        wrong("layer_norm", "Your gradient is LayerNorm's: RMSNorm subtracts no mean, neither of x nor of g",
              mean=lambda x: x.mean(1, keepdim=True), all=lambda g: g.mean(1, keepdim=True))
        return
    wrong("scale_of_g_alone", "Your dx multiplies g alone by s. s multiplies all of it, what is subtracted as well: put it in brackets",
          put=lambda s, g, rest: s * g - rest)
    wrong("mean_of_g_missing", "Your dx lacks the term mean(g): a larger x also makes the row's mean larger", all=lambda g: 0)
    wrong("sign_of_mean_of_g", "Your dx adds the term mean(g). Subtract it", all=lambda g: -g.mean(1, keepdim=True))
    wrong("sum_of_g", "Your dx has the sum of g. It is the mean: divide by dim", all=lambda g: g.sum(1, keepdim=True))
    wrong("both_means_missing", "Your dx is s g alone. It is s (g - mean(g) - n mean(n g))", all=lambda g: 0, along=lambda n, g, c, s: 0)
    wrong("sums_for_means", "Your dx has the sums of g and n g. They are means: divide by dim",
          all=lambda g: g.sum(1, keepdim=True), along=lambda n, g, c, s: n * (n * g).sum(1, keepdim=True))
    norm.wrong("dbias_weighted", "Your dbias is multiplied by weight. The bias was only added: it sums dy",
               bias=lambda dy, weight, **_: (dy * weight).sum(0))
    def one_pass(part):
        """E[x^2] - E[x]^2 in float32, where both are the same number. Elsewhere what is left depends on the order of the sums."""
        nothing = norm_parts(True, variance=lambda c: torch.zeros_like(c[:, :1]))[part]
        return lambda dy, x, weight, eps: None if (x.float().square().mean(1) != x.float().mean(1).square()).any() else nothing(dy, x, weight, eps)
    norm.wrong("one_pass_in_float32", "Your variance is E[x^2] - E[x]^2 in float32: two large numbers cancel. Sum (x - mean)^2, or in double",
               x=one_pass("x"), weight=one_pass("weight"))
    wrong("mean_of_x_missing", "Your mean is not subtracted from x: n = (x - mean) s",
          mean=lambda x: torch.zeros_like(x[:, :1]))
    wrong("unbiased", "Your variance is divided by dim - 1. Divide by dim", variance=lambda c: None if c.shape[1] < 2 else
          (c * c).sum(1, keepdim=True) / (c.shape[1] - 1))
    norm.wrong("dbias_normalized", "Your dbias is multiplied with the normalized x. The bias was only added: it sums dy",
               bias=lambda **inputs: norm.parts["weight"](**inputs))


def norm_cases(norm, bias, **more):
    def inputs(rows, dim, scale=1, x=None, weight=None, **other):
        return dict(dy=normal(rows, dim, scale=scale), x=x or normal(rows, dim), weight=weight or normal(dim, shift=1, scale=0.25),
                    **(dict(bias=normal(dim)) if bias else {}), **more | other)
    norm.case("by_hand", "Chapter 1's row: only its last output is pushed.", before=0, dy=[[0, 0, 0, 3]], x=[[1, -1, 3, 5]],
              weight=[1, 1, 1, 2], **(dict(bias=[0, 0, 0, 0]) if bias else {}), **more)
    norm.case("added", "The gradients are not 0 before.", **inputs(3, 6))
    norm.case("ragged", "7 rows of 33.", **inputs(7, 33))
    norm.case("large_and_small", "Rows of size 100, 1 and 0.01.", **inputs(3, 12, x=normal(3, 12, scale=[[100], [1], [0.01]])))
    norm.case("tiny", "A gradient of 1e-12 counts no less.", scale=1e-12, **inputs(4, 16, scale=1e-12))
    norm.case("small_row", "A row so small that epsilon matters.", wanted=["x", "weight"],
              **inputs(2, 10, x=normal(2, 10, scale=[[0.003], [0.01]])))
    norm.case("wide", "Rows of 513: two blocks, and one more.", wanted=["x", "weight"], **inputs(2, 513))
    if "eps" in more:
        norm.case("epsilon_matters", "An epsilon as large as the mean of the squares.", wanted=["x", "weight"],
                  **inputs(3, 9, x=normal(3, 9, scale=0.1), eps=1e-2))
        norm.case("of_all_sizes", "Rows near 1e9 and 1e-20, and one of zeros.", wanted=["x"], before=0,
                  **inputs(3, 8, x=normal(3, 8, scale=[[1e9], [1e-20], [0]])))
    norm.case("many_rows", "200 rows serve one weight.", wanted=["weight", *(["bias"] if bias else [])], **inputs(200, 3))


rms_norm = Backward("rms_norm_backward", "torch.nn.functional.rms_norm",
                    lambda x, weight, eps: F.rms_norm(x, (x.shape[1],), weight, eps), norm_parts(False))
wrong_norms(rms_norm, False)
norm_cases(rms_norm, False, eps=1e-5)

layer_norm = Backward("layer_norm_backward", "torch.nn.functional.layer_norm",
                      lambda x, weight, eps, bias=None: F.layer_norm(x, (x.shape[1],), weight, bias, eps), norm_parts(True))
wrong_norms(layer_norm, True)
norm_cases(layer_norm, True, eps=1e-5)
for name, sentence, x in [
        ("large_mean", "Spread 1 around 1000: mean(x^2) - mean(x)^2 would lose every digit.", normal(2, 16, shift=1000)),
        ("far_from_zero", "Eighths around 2048: E[x^2] - E[x]^2 in float32 is 0, in any order.",
         2048 + np.array([[1, -1, 2, -2, 3, -3, 2, -2], [3, -1, -3, 1, 1, 2, -1, -2]]) / 16)]:
    layer_norm.case(name, sentence, wanted=["x", "weight"], dy=normal(*shape_of(x)), x=x, weight=normal(shape_of(x)[1]),
                    bias=normal(shape_of(x)[1]), eps=1e-5)


def dyt_parts(slope=lambda t: 1 - t * t, weighted=lambda weight: weight, outer=lambda alpha: alpha, inner=lambda x: x,
              bent=lambda t: t, rows=lambda dy: dy, argument=lambda x, alpha: torch.as_tensor(alpha) * x, tanh=torch.tanh):
    def both(dy, x, weight, alpha):
        t = tanh(argument(x, alpha))
        return t, slope(t) * dy * weighted(weight)
    return dict(x=lambda dy, x, weight, alpha: outer(alpha) * both(dy, x, weight, alpha)[1],
                weight=lambda dy, x, weight, alpha: rows(dy * bent(both(dy, x, weight, alpha)[0])).sum(0),
                bias=lambda dy, **_: rows(dy).sum(0),
                alpha=lambda dy, x, weight, alpha: rows(inner(x) * both(dy, x, weight, alpha)[1]).sum())


dyt = Backward("dyt_backward", "torch.tanh", lambda x, weight, alpha, bias=0: torch.tanh(alpha * x) * weight + bias, dyt_parts())
for name, advice, how in [
        ("slope_missing", "Your tanh has no slope: its derivative is 1 - t^2", dict(slope=torch.ones_like)),
        ("t_for_its_slope", "Your tanh's slope is t itself. It is 1 - t^2", dict(slope=lambda t: t)),
        ("t_not_squared", "Your tanh's slope is 1 - t. It is 1 - t^2", dict(slope=lambda t: 1 - t)),
        ("plus_for_minus", "Your tanh's slope is 1 + t^2. It is 1 - t^2", dict(slope=lambda t: 1 + t * t)),
        ("overflow", "Your (e^2x - 1) / (e^2x + 1) is infinity over infinity for large x. Call tanhf",
         dict(tanh=lambda x: (exp32(2 * x) - 1) / (exp32(2 * x) + 1))),
        ("overflow_on_either_side", "Your (e^x - e^-x) / (e^x + e^-x) is infinity over infinity for large |x|. Call tanhf",
         dict(tanh=lambda x: (exp32(x) - exp32(-x)) / (exp32(x) + exp32(-x)))),
        ("alpha_missing_inside", "Your t is tanh(x). It is the forward pass's, tanh(alpha x)", dict(argument=lambda x, alpha: x)),
        ("weight_missing", "Your dx and dalpha lack the weight: what comes in passes it first", dict(weighted=torch.ones_like)),
        ("alpha_missing", "Your dx lacks alpha, by which x was multiplied", dict(outer=lambda alpha: 1)),
        ("x_missing", "Your dalpha lacks x, which alpha was multiplied with", dict(inner=torch.ones_like)),
        ("slope_for_t", "Your dweight sums dy (1 - t^2). The weight was multiplied with t: dy t", dict(bent=lambda t: 1 - t * t)),
        ("first_row_alone", "Your dweight, dbias and dalpha have the first row's share alone. Add up all rows", dict(rows=first_row_alone)),
        ("last_row_alone", "Your dweight, dbias and dalpha keep the last row's share alone. Add up all rows: +=, and not =",
         dict(rows=last_row_alone)),
        ("mean_over_rows", "Your dweight, dbias and dalpha are means over the rows. They are sums", dict(rows=lambda dy: dy / len(dy)))]:
    dyt.wrong(name, advice, **dyt_parts(**how))
dyt.wrong("x_for_t", "Your dweight sums dy x. The weight was multiplied with t: dy t", weight=lambda dy, x, **_: (dy * x).sum(0))
dyt.wrong("dbias_weighted", "Your dbias is multiplied by weight. The bias was only added: it sums dy",
          bias=lambda dy, weight, **_: (dy * weight).sum(0))
dyt.wrong("alpha_in_dalpha", "Your dalpha is multiplied by alpha. dx is; dalpha has x in its place",
          alpha=lambda alpha, **inputs: alpha * dyt.parts["alpha"](alpha=alpha, **inputs))
dyt.wrongly_set("set_by_each_row", "Your dweight and dbias are set by each row, so that the last row's share alone is left, and what was there is "
                "lost. Write +=", weight=dyt_parts(rows=last_row_alone)["weight"], bias=lambda dy, **_: dy[-1])
dyt.wrong("alpha_of_a_feature", "Your dalpha has the first feature's share alone. There is one alpha for all: add up all of x",
          alpha=lambda dy, x, weight, alpha: dyt_parts()["alpha"](dy[:, :1], x[:, :1], weight[:1], alpha))
dyt.wrong("dalpha_is_a_mean", "Your dalpha is a mean over all numbers. It is a sum", alpha=lambda x, **inputs: dyt.parts["alpha"](x=x, **inputs) / x.numel())
dyt.wrong("weight_missing_in_dalpha", "Your dalpha lacks the weight: what comes in passes it first, on its way to x as on that to alpha",
          alpha=dyt_parts(weighted=torch.ones_like)["alpha"])
dyt.wrong("weight_missing_in_dx", "Your dx lacks the weight: what comes in passes it first", x=dyt_parts(weighted=torch.ones_like)["x"])
dyt.wrong("alpha_in_dweight", "Your dweight is multiplied by alpha. It sums dy t: alpha is inside t already",
          weight=lambda alpha, **inputs: alpha * dyt.parts["weight"](alpha=alpha, **inputs))
dyt.wrong("slope_at_t", "Your slope is taken at t, 1 - tanh(t)^2. t is tanh(alpha x) already: it is 1 - t^2",
          **{name: part for name, part in dyt_parts(slope=lambda t: 1 - torch.tanh(t)**2).items() if name in ("x", "alpha")})
norm_cases(dyt, True, alpha=0.75)
dyt.case("saturated", "tanh near 1, where nearly nothing passes.", dy=normal(2, 8), x=normal(2, 8, scale=4), weight=normal(8),
         bias=normal(8), alpha=1.5)
dyt.case("far", "So far out that e^x or e^-x is infinite.", dy=normal(2, 6), x=[[-1e4, -100, -1, 1, 100, 1e4], [70, 1, -70, 0.5, -0.5, 0]], weight=normal(6),
         bias=normal(6), alpha=1.5)


# --- Gates and activations ---------------------------------------------------------------------------------

def gelu_tanh(x):
    return F.gelu(x, approximate="tanh")


def slope_by_autograd(bend, x):
    x = x.clone().requires_grad_()
    return torch.autograd.grad(bend(x).sum(), x)[0]


ACTIVATIONS = {  # name -> the function, its derivative
    "relu": (torch.relu, lambda x: (x > 0).to(x.dtype)),
    "gelu": (F.gelu, lambda x: (1 + torch.erf(x / math.sqrt(2))) / 2 + x * torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)),
    "silu": (F.silu, lambda x: torch.sigmoid(x) * (1 + x * (1 - torch.sigmoid(x)))),
    "sigmoid": (torch.sigmoid, lambda x: torch.sigmoid(x) * (1 - torch.sigmoid(x))),
    "identity": (lambda x: x, torch.ones_like),
}
FAR_LEFT = {"sigmoid": ((-60, -8), [10, 20, 30]), "silu": ((-60, -8), [10, 20, 30]), "gelu": ((-4.5, -4), [4])}
BENDS = list(ACTIVATIONS)[:3]  # as tests/judge/17_backward.c numbers them


def slope_of(number, x):
    return ACTIVATIONS[BENDS[number]][1](x)


def slope_rounding(dx, dy, x, derivative):
    return dy * gelu_slope_rounding(x) if BENDS[derivative] == "gelu" else 0 * dy


def geglu_rounding(dout, gate, up, dgate=None, dup=None):
    return dout * (gelu_rounding(gate) if dgate is None else up * gelu_slope_rounding(gate))


activation = Backward("activation_backward", "torch.relu, gelu or silu",
                      lambda x, derivative: ACTIVATIONS[BENDS[derivative]][0](x),
                      dict(x=lambda dy, x, derivative: dy * slope_of(derivative, x)), pointwise=True, rounding=slope_rounding)
activation.wrong("slope_missing", "Your dx is dy. Multiply it by the slope at x: derivative(n, slope, x)",
                 x=lambda dy, **_: dy)
activation.wrong("dy_missing", "Your dx is the slope alone. What comes in from above, dy, is its other factor",
                 x=lambda x, derivative, **_: slope_of(derivative, x))
activation.wrong("slope_at_dy", "Your slope is taken at dy. It is the slope at x, where the forward pass was",
                 x=lambda dy, derivative, **_: dy * slope_of(derivative, dy))
activation.wrong("x_for_slope", "Your dx is dy x. Multiply by the slope at x: derivative(n, slope, x)", x=lambda dy, x, **_: dy * x)
activation.wrong("slopes_added", "Your slope is added to dy. Multiply: what comes in, times what is here",
                 x=lambda dy, x, derivative: dy + slope_of(derivative, x))
activation.wrong("value_for_slope", "Your dx has f(x) where its slope belongs. derivative(n, slope, x) gives it",
                 x=lambda dy, x, derivative: dy * ACTIVATIONS[BENDS[derivative]][0](x))
activation.wrong("slope_at_value", "Your slope is taken at f(x), the output. It is the slope at x",
                 x=lambda dy, x, derivative: dy * slope_of(derivative, ACTIVATIONS[BENDS[derivative]][0](x)))
activation.wrong("slope_at_dy_x", "Your slope is taken at dy x. It is the slope at x", x=lambda dy, x, derivative: dy * slope_of(derivative, dy * x))
for number, name in enumerate(BENDS):
    activation.case(name, f"The slope of {name}.", dy=normal(19), x=normal(19, scale=2), derivative=number)
activation.case("by_hand", "ReLU, shut and open.", before=0, dy=[5, 6, 7], x=[-1, 0, 2], derivative=0)
activation.case("blocks", "513 numbers: two blocks, and one more.", dy=normal(513), x=normal(513, scale=3), derivative=2)
activation.case("tiny", "Gradients of 1e-12.", scale=1e-12, dy=normal(17, scale=1e-12), x=normal(17), derivative=2)
activation.case("far", "Far out, where the slope is 0 or 1.", dy=normal(14), x=[-100, -50, -20, -15, -12, -9, -6, 6, 9, 12, 15, 20, 50, 100],
                derivative=2)

for name, bend in [("glu", "sigmoid"), ("bilinear", "identity"), ("reglu", "relu"), ("geglu", "gelu"), ("swiglu", "silu")]:
    f, slope = ACTIVATIONS[bend]
    gate = Backward(f"{name}_backward", f"{bend}(gate) * up", lambda gate, up, f=f: f(gate) * up,
                    dict(gate=lambda dout, gate, up, slope=slope: dout * up * slope(gate),
                         up=lambda dout, gate, up, f=f: dout * f(gate)), upstream="dout", pointwise=True,
                    rounding=geglu_rounding if bend == "gelu" else None)
    gate.wrong("exchanged", "Your dgate and dup are exchanged: the gate's is multiplied by up, and up's by the gate",
               gate=gate.parts["up"], up=gate.parts["gate"])
    gate.wrong("dout_missing", "Your gradients lack dout: what comes in from above is a factor of both",
               gate=lambda dout, gate, up, parts=gate.parts: parts["gate"](torch.ones_like(dout), gate, up),
               up=lambda dout, gate, up, parts=gate.parts: parts["up"](torch.ones_like(dout), gate, up))
    gate.wrong("factors_missing", "Your dgate is dout times the slope, and your dup is dout. Each has the other's factor as well: up, and f(gate)",
               gate=lambda dout, gate, up, slope=slope: dout * slope(gate), up=lambda dout, gate, up: dout)
    gate.wrong("up_missing", "Your dgate lacks up, the gate's other factor",
               gate=lambda dout, gate, up, slope=slope: dout * slope(gate))
    gate.wrong("up_in_dup", "Your dup has up in it. up's only factor is the gate's: dup is dout " + ("gate" if bend == "identity" else f"{bend}(gate)"),
               up=lambda dout, gate, up, f=f: dout * up * f(gate))
    if bend != "identity":
        gate.wrong("slope_missing", f"Your dgate lacks the slope of {bend}: it is dout up times the slope at the gate",
                   gate=lambda dout, gate, up: dout * up)
        gate.wrong("value_for_slope", f"Your dgate has {bend} where its slope belongs",
                   gate=lambda dout, gate, up, f=f: dout * up * f(gate))
        for where, at in [("up", lambda dout, gate, up: up), ("dout", lambda dout, gate, up: dout),
                          ("dout up", lambda dout, gate, up: dout * up), ("gate up", lambda dout, gate, up: gate * up),
                          ("out", lambda dout, gate, up, f=f: f(gate) * up)]:
            gate.wrong(f"slope_at_{where.replace(' ', '_')}",
                       f"Your slope of {bend} is taken at {where}. It is the slope at the gate, where the forward pass was",
                       gate=lambda dout, gate, up, slope=slope, at=at: dout * up * slope(at(dout, gate, up)))
        gate.wrong("gate_not_bent", f"Your dup is dout gate. It is dout {bend}(gate)", up=lambda dout, gate, up: dout * gate)
        gate.wrong("slope_for_value", f"Your dup has the slope of {bend} where {bend} itself belongs",
                   up=lambda dout, gate, up, slope=slope: dout * slope(gate))
    tail, shut = FAR_LEFT.get(bend, (None, []))
    for least in shut:
        gate.wrong(f"shut_below_{least}", f"Your gradients are 0 where the gate is below -{least}. They are tiny there, and not 0",
                   **{name: lambda dout, gate, up, part=part, least=least: torch.where(gate < -least, 0, part(dout, gate, up))
                      for name, part in gate.parts.items()})
        if bend != "gelu":
            x_of = (lambda gate: gate) if bend == "silu" else torch.ones_like  # what the sigmoid is multiplied by
            clipped = lambda gate, least=least: torch.sigmoid(gate.clamp(-least, least))
            gate.wrong(f"clipped_at_{least}", f"Your sigmoid's argument is kept within {least} of zero, so that far left your gradients are too large. "
                       "e^-x may be infinite",
                       gate=lambda dout, gate, up, s=clipped, bend=bend: dout * up * s(gate) * (
                           1 + gate * (1 - s(gate)) if bend == "silu" else 1 - s(gate)),
                       up=lambda dout, gate, up, s=clipped, x_of=x_of: dout * x_of(gate) * s(gate))
    if tail:
        gate.case("left_tail", "Gates far left, as good as shut.", before=0, dout=normal(33), gate=uniform(*tail, 33), up=normal(33))
    if bend not in ("identity", "relu"):  # ReLU has the same slope at both
        gate.wrong("slope_at_value", f"Your slope of {bend} is taken at {bend}(gate). It is the slope at the gate itself",
                   gate=lambda dout, gate, up, f=f, slope=slope: dout * up * slope(f(gate)))
    if bend == "relu":
        gate.wrong("sign_for_slope", "Your slope of relu is -1 where the gate is negative. It is 0 there", gate=lambda dout, gate, up: dout * up * gate.sign())
        gate.wrong("slope_reversed", "Your slope of relu is 1 where the gate is negative. It is 1 where it is positive",
                   gate=lambda dout, gate, up: dout * up * (gate < 0))
        gate.wrong("leaky", "Your slope of relu is 0.01 where the gate is not positive, as of a leaky ReLU. It is 0 there",
                   gate=lambda dout, gate, up: dout * up * torch.where(gate > 0, 1, 0.01))
        gate.wrong("dup_not_shut", "Your dup is |gate| dout. It is dout relu(gate)", up=lambda dout, gate, up: dout * gate.abs())
        gate.wrong("one_at_zero", "Your slope at 0 is 1. PyTorch chose 0 there", gate=lambda dout, gate, up: dout * up * (gate >= 0))
    if bend == "silu":
        gate.wrong("sigmoid_for_slope", "Your slope of silu is the sigmoid alone. silu is x sigmoid(x), a product: its slope "
                   "has two terms", gate=lambda dout, gate, up: dout * up * torch.sigmoid(gate))
        for twin, advice, mistaken in [  # s is the sigmoid of the gate
                ("half_of_the_product", "gate s (1 - s) alone, half of it", lambda gate, s: gate * s * (1 - s)),
                ("slope_of_the_sigmoid", "s (1 - s), the sigmoid's own", lambda gate, s: s * (1 - s)),
                ("sigmoid_missing", "1 + gate (1 - s), which s multiplies", lambda gate, s: 1 + gate * (1 - s)),
                ("one_minus_s_missing", "s (1 + gate), without 1 - s", lambda gate, s: s * (1 + gate)),
                ("second_term_subtracted", "s - gate s (1 - s), with a minus for a plus", lambda gate, s: s * (1 - gate * (1 - s))),
                ("one_for_s", "1 + gate s (1 - s), with 1 for the first s", lambda gate, s: 1 + gate * s * (1 - s)),
                ("s_for_one_minus_s", "s + gate s^2, with s for 1 - s", lambda gate, s: s * (1 + gate * s)),
                ("sigmoid_missing_inside", "s + gate (1 - s), without an s", lambda gate, s: s + gate * (1 - s)),
                ("plus_for_minus", "s + gate s (1 + s), with a plus for a minus", lambda gate, s: s * (1 + gate * (1 + s)))]:
            gate.wrong(twin, f"Your slope of silu is {advice}. It is s + gate s (1 - s), with s for sigmoid(gate)",
                       gate=lambda dout, gate, up, mistaken=mistaken: dout * up * mistaken(gate, torch.sigmoid(gate)))
        for twin, advice, mistaken in [  # f is silu of the gate
                ("silu_for_sigmoid", "s + f (1 - f), with f = silu(gate)", lambda f, s: s + f * (1 - f)),
                ("silu_like_a_sigmoid", "f (1 - f), with f = silu(gate), as if that were a sigmoid", lambda f, s: f * (1 - f)),
                ("both_slopes_added", "f + s (1 - s), with f = silu(gate)", lambda f, s: f + s * (1 - s)),
                ("silu_twice", "f + f (1 - s), with f = silu(gate)", lambda f, s: f + f * (1 - s))]:
            gate.wrong(twin, f"Your slope of silu is {advice}. It is s + f (1 - s), with s for sigmoid(gate)",
                       gate=lambda dout, gate, up, mistaken=mistaken: dout * up * mistaken(F.silu(gate), torch.sigmoid(gate)))
        gate.wrong("sigmoid_for_silu", "Your dup is dout sigmoid(gate). It is dout silu(gate), which is gate sigmoid(gate)",
                   up=lambda dout, gate, up: dout * torch.sigmoid(gate))
        quick = lambda x: x * torch.sigmoid(1.702 * x)
        gate.wrong("beta_1.702", "Your gate is bent by gate sigmoid(1.702 gate), as in gpt-oss. A Llama's beta is 1",
                   gate=lambda dout, gate, up, quick=quick: dout * up * slope_by_autograd(quick, gate),
                   up=lambda dout, gate, up, quick=quick: dout * quick(gate))
        gate.wrong("gelu_for_silu", "Your slope is that of GELU, geglu's", gate=lambda dout, gate, up: dout * up * ACTIVATIONS["gelu"][1](gate))
    if bend == "gelu":
        for twin, advice, mistaken in [  # P is Phi, the share of a normal distribution below the gate, p its density
                ("share_alone", "Phi(gate) alone", lambda g, P, p: P),
                ("density_term_alone", "gate phi(gate) alone", lambda g, P, p: g * p),
                ("gate_missing", "Phi(gate) + phi(gate), without a gate", lambda g, P, p: P + p),
                ("phi_like_a_sigmoid", "Phi + gate Phi (1 - Phi), as if Phi were a sigmoid", lambda g, P, p: P + g * P * (1 - P)),
                ("minus_for_plus", "Phi(gate) - gate phi(gate)", lambda g, P, p: P - g * p),
                ("exponent_not_halved", "Phi(gate) + gate e^(-gate^2) / sqrt(2 pi)", lambda g, P, p: P + g * torch.exp(-g * g) / math.sqrt(2 * math.pi)),
                ("density_not_divided", "Phi(gate) + gate e^(-gate^2 / 2), without 1 / sqrt(2 pi)", lambda g, P, p: P + g * torch.exp(-g * g / 2)),
                ("root_of_pi", "Phi(gate) + gate e^(-gate^2 / 2) / sqrt(pi)", lambda g, P, p: P + g * p * math.sqrt(2)),
                ("root_of_the_divisor_missing", "Phi(gate) + gate e^(-gate^2 / 2) / (2 pi)", lambda g, P, p: P + g * p / math.sqrt(2 * math.pi))]:
            gate.wrong(twin, f"Your slope of gelu is {advice}. It is Phi(gate) + gate phi(gate), and phi is e^(-gate^2 / 2) / sqrt(2 pi)",
                       gate=lambda dout, gate, up, mistaken=mistaken: dout * up * mistaken(
                           gate, torch.special.ndtr(gate), torch.exp(-gate * gate / 2) / math.sqrt(2 * math.pi)))
        gate.wrong("tanh_for_gelu", "Your slope is that of the tanh approximation. geglu has the exact GELU",
                   gate=lambda dout, gate, up: dout * up * slope_by_autograd(gelu_tanh, gate))
        for twin, what, other in [("tanh_throughout", "the tanh approximation of GELU", gelu_tanh),
                                  ("sigmoid_approximation", "x sigmoid(1.702 x), the quick GELU of CLIP", lambda x: x * torch.sigmoid(1.702 * x))]:
            gate.wrong(twin, f"Your gate is bent by {what}, forward and backward. geglu has the exact GELU",
                       gate=lambda dout, gate, up, other=other: dout * up * slope_by_autograd(other, gate),
                       up=lambda dout, gate, up, other=other: dout * other(gate))
    if bend in ("sigmoid", "silu"):
        def overflowing(x):
            return exp32(x) / (1 + exp32(x))
        gate.wrong("overflow", "Your sigmoid is e^x / (1 + e^x), infinity over infinity for a large gate. Write 1 / (1 + e^-x)",
                   gate=lambda dout, gate, up, s=overflowing, bend=bend: dout * up * s(gate) * (
                       1 + gate * (1 - s(gate)) if bend == "silu" else 1 - s(gate)),
                   up=lambda dout, gate, up, s=overflowing, bend=bend: dout * s(gate) * (gate if bend == "silu" else 1))
        gate.wrong("slope_overflow", f"Your slope of {bend} has (1 + e^-x)^2 under it, and e^-x is infinite far to the left. Write it with s = 1 / (1 + e^-x)",
                   gate=lambda dout, gate, up, bend=bend: (lambda e: dout * up * ((1 + e + gate * e) if bend == "silu" else e) / (1 + e)**2)(
                       exp32(-gate)))
    if bend == "sigmoid":
        for twin, advice, mistaken in [  # s is the sigmoid of the gate
                ("gate_for_its_sigmoid", "gate (1 - gate), as if the gate were a sigmoid already", lambda gate, s: gate * (1 - gate)),
                ("plus_for_minus", "s (1 + s)", lambda gate, s: s * (1 + s)),
                ("square_alone", "1 - s^2, tanh's", lambda gate, s: 1 - s * s),
                ("slope_of_silu", "silu's, s + gate s (1 - s)", lambda gate, s: s + gate * s * (1 - s))]:
            gate.wrong(twin, f"Your slope of the sigmoid is {advice}. It is s (1 - s), with s for sigmoid(gate)",
                       gate=lambda dout, gate, up, mistaken=mistaken: dout * up * mistaken(gate, torch.sigmoid(gate)))
        gate.wrong("half_a_slope", "Your slope of the sigmoid is 1 - s. It is s (1 - s)",
                   gate=lambda dout, gate, up: dout * up * (1 - torch.sigmoid(gate)))
    gate.case("by_hand", "Two gates, one shut and one open.", before=0, dout=[1, 2], gate=[-1, 2], up=[3, 5])
    gate.case("added", "The gradients are not 0 before.", dout=normal(23), gate=normal(23, scale=2), up=normal(23))
    gate.case("blocks", "513 numbers: two blocks, and one more.", dout=normal(513), gate=normal(513, scale=3), up=normal(513))
    gate.case("tiny", "Gradients of 1e-12.", scale=1e-12, dout=normal(17, scale=1e-12), gate=normal(17), up=normal(17))
    gate.case("far_out", "Gates so far out that e^x or e^-x is infinite.", before=1, dout=uniform(0.5, 2, 12), up=uniform(0.5, 2, 12),
              gate=[-1e4, -200, -100, -90, -50, -20, 0, -0.0, 50, 90, 100, 1e4])


# --- RoPE --------------------------------------------------------------------------------------------------

def pairs_of(x, interleaved):
    return (x[..., 0::2], x[..., 1::2]) if interleaved else x.chunk(2, -1)


def joined(a, b, interleaved):
    return torch.stack([a, b], -1).flatten(-2) if interleaved else torch.cat([a, b], -1)


def turned(x, cosine, sine, interleaved, written=None):
    (a, b), cosine, sine = pairs_of(x, interleaved), cosine[:, None], sine[:, None]
    return joined(a * cosine - b * sine, a * sine + b * cosine, interleaved if written is None else written)


def angles(T, D, theta=10000.0):
    angle = np.arange(T)[:, None] * theta ** (-np.arange(D // 2) / (D // 2))
    return dict(cosine=np.cos(angle), sine=np.sin(angle))


for name, interleaved in [("rope_interleaved", True), ("rope_half_split", False)]:
    def back(dout, cosine, sine, x=None, interleaved=interleaved):
        return turned(dout, cosine, -sine, interleaved)
    rope = Backward(f"{name}_backward", "x rotated as in chapter 5",
                    lambda x, cosine, sine, interleaved=interleaved: turned(x, cosine, sine, interleaved),
                    dict(x=back), upstream="dout", sums=False)
    rope.autograd_of_x = rope.autograd
    # x itself is no argument: the turn is linear, and its gradient the same wherever x is.
    rope.kernel.pytorch = lambda dx, dout, cosine, sine, rope=rope: rope.autograd_of_x(
        dx=dx, dout=dout, x=torch.ones_like(dx), cosine=cosine, sine=sine)
    rope.wrong("turned_forward", "Your gradient is turned forward once more. Turn it back: the sine changes its sign",
               x=lambda dout, cosine, sine, i=interleaved: turned(dout, cosine, sine, i))
    rope.wrong("not_turned", "Your gradient is not turned. Turn it back by its position's angles", x=lambda dout, **_: dout)
    rope.wrong("exchanged", "The two numbers of your pairs are exchanged. The first is a cos + b sin, the second b cos - a sin",
               x=lambda dout, cosine, sine, i=interleaved: joined(*reversed(pairs_of(turned(dout, cosine, -sine, i), i)), i))
    rope.wrong("other_pairing", "Your gradient is turned back in the other layout's pairs: " +
               ("they are (2i, 2i + 1) here" if interleaved else "they are (i, i + D/2) here"),
               x=lambda dout, cosine, sine, i=interleaved: turned(dout, cosine, -sine, not i))
    rope.wrong("one_sine_positive", "One of your two sines has the wrong sign: it is a cos + b sin, and b cos - a sin",
               x=lambda dout, cosine, sine, i=interleaved: joined(
                   (lambda a, b: a * cosine[:, None] + b * sine[:, None])(*pairs_of(dout, i)),
                   (lambda a, b: b * cosine[:, None] + a * sine[:, None])(*pairs_of(dout, i)), i))
    rope.wrong("overwritten_while_read", "The first of your two numbers is changed before the second is computed from it. Read both first",
               x=lambda dout, cosine, sine, i=interleaved: (lambda a, b, c, s: joined(
                   a * c + b * s, b * c - (a * c + b * s) * s, i))(*pairs_of(dout, i), cosine[:, None], sine[:, None]))
    rope.kernel.wrong("turned_with_what_was_there", "What was in dx before is turned as well. Turn dout alone, and add it",
                      lambda dx, dout, cosine, sine, i=interleaved: turned(dx + dout, cosine, -sine, i))
    rope.wrong("head_for_position", "Your angles are chosen by the head. Position t has its own, cosine[t]",
               x=lambda dout, cosine, sine, i=interleaved: turned(
                   dout.transpose(0, 1), cosine[:dout.shape[1]], -sine[:dout.shape[1]], i).transpose(0, 1)
               if dout.shape[1] <= len(cosine) else None)
    rope.wrong("table_transposed", "Your angles are read as [D/2][T]. A row is a position: cosine[t][i]",
               x=lambda dout, cosine, sine, i=interleaved: turned(
                   dout, cosine.reshape(cosine.T.shape).T, -sine.reshape(sine.T.shape).T, i))
    rope.wrong("first_position", "Your angles are the first position's for all. Position t has its own, cosine[t]",
               x=lambda dout, cosine, sine, i=interleaved: turned(dout, cosine[:1].expand_as(cosine), -sine[:1].expand_as(sine), i))
    rope.wrong("one_position_late", "Your angles are those of the position before. Position t has cosine[t]",
               x=lambda dout, cosine, sine, i=interleaved: turned(dout, cosine.roll(1, 0), -sine.roll(1, 0), i))
    rope.wrong("turned_back_twice", "Your gradient is turned back by twice the angle. Turn it back once",
               x=lambda dout, cosine, sine, i=interleaved: turned(turned(dout, cosine, -sine, i), cosine, -sine, i))
    rope.wrong("cosine_and_sine_exchanged", "Your cosine and sine are exchanged. It is a cos + b sin, and b cos - a sin",
               x=lambda dout, cosine, sine, i=interleaved: turned(dout, sine, -cosine, i))
    rope.wrong("first_head_alone", "Your gradient is added for head 0 alone. Turn all H heads",
               x=lambda dout, cosine, sine, i=interleaved: torch.cat(
                   [turned(dout, cosine, -sine, i)[:, :1], torch.zeros_like(dout[:, 1:])], 1))
    for lanes in 4, 8, 16:
        for twin, what, rest in ("not_turned", "are not turned", lambda x: x), ("dropped", "get nothing", torch.zeros_like):
            rope.wrong(f"pairs_behind_{lanes}_{twin}", f"Your pairs behind the last full {lanes} {what}. Turn the pairs that are left over, too",
                       x=lambda dout, cosine, sine, i=interleaved, lanes=lanes, rest=rest: joined(*(
                           torch.cat([x[..., :x.shape[-1] // lanes * lanes], rest(old)[..., x.shape[-1] // lanes * lanes:]], -1)
                           for x, old in zip(pairs_of(turned(dout, cosine, -sine, i), i), pairs_of(dout, i))), i))
    quarter = dict(cosine=[[0.6], [0.8]], sine=[[0.8], [-0.6]])
    for case, sentence, shape, more in [
            ("by_hand", "Two positions, one pair, angles of a right triangle.", (2, 1, 2), quarter),
            ("added", "The gradients are not 0 before.", (5, 2, 8), angles(5, 8)),
            ("ragged", "7 positions, 3 heads of 10.", (7, 3, 10), angles(7, 10)),
            ("left_over", "29 pairs: full vectors of 4, 8 and 16 leave 1, 5 and 13.", (3, 1, 58), angles(3, 58)),
            ("tiny", "Gradients of 1e-12.", (4, 2, 6), angles(4, 6)),
            ("llama_head", "Heads of 64, theta 500000.", (6, 2, 64), angles(6, 64, 500000.0))]:
        size = 1e-12 if case == "tiny" else 1
        rope.kernel.case(f"{case}_dx", sentence, dout=normal(*shape, scale=size), **more,
                         dx=np.zeros(shape) if case == "by_hand" else normal(*shape, scale=size))


# --- Softmax -----------------------------------------------------------------------------------------------

def probabilities(*shape, scale=1):
    def draw(random):
        x = scale * random.standard_normal(shape)
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)
    return draw


def softmax_parts(common=lambda p, dp: (p * dp).sum(-1, keepdim=True), factor=lambda p: p):
    return dict(x=lambda dp, p: factor(p) * (dp - common(p, dp)))


softmax = Backward("softmax_backward", "torch.softmax", None, softmax_parts(), upstream="dp",
                   pytorch=lambda dx, dp, p: dx + torch._softmax_backward_data(dp, p, -1, p.dtype))
for name, advice, how in [
        ("sum_missing", "Your dx is p dp. Subtract the sum of p dp from dp first: when one weight grows, the others shrink",
         dict(common=lambda p, dp: 0)),
        ("p_missing", "Your dx lacks the factor p", dict(factor=torch.ones_like)),
        ("not_weighted", "Your sum is of dp alone. Each is weighted: the sum of p dp", dict(common=lambda p, dp: dp.sum(-1, keepdim=True))),
        ("sum_of_squares", "Your sum is of p p. It is that of p dp", dict(common=lambda p, dp: (p * p).sum(-1, keepdim=True))),
        ("last_alone", "Your sum is the last p dp alone. Add them up: +=, and not =", dict(common=lambda p, dp: (p * dp)[..., -1:])),
        ("mean_for_sum", "Your sum of p dp is divided by n. It is a sum: p already adds up to 1",
         dict(common=lambda p, dp: (p * dp).mean(-1, keepdim=True))),
        ("added_for_subtracted", "Your sum of p dp is added to dp. Subtract it", dict(common=lambda p, dp: -(p * dp).sum(-1, keepdim=True))),
        ("diagonal_alone", "Your dx is p (1 - p) dp, as if each weight came from its own score alone. Every weight depends on every score",
         dict(common=lambda p, dp: p * dp)),
        ("sum_of_all_rows", "Your sum of p dp runs on from row to row. Begin each row with 0",
         dict(common=lambda p, dp: (p * dp).sum(-1, keepdim=True).cumsum(0))),
        ("other_axis", "Your sum of p dp runs over the rows. It runs over the weights of one row", dict(common=lambda p, dp: (p * dp).sum(0, keepdim=True))),
        ("first_sum_for_all", "Your sum of p dp is the first row's for all. Each row has its own",
         dict(common=lambda p, dp: (p * dp)[:1].sum(-1, keepdim=True)))]:
    softmax.wrong(name, advice, **softmax_parts(**how))
softmax.wrong("sum_outside", "Your dx is p dp less the sum of p dp. p multiplies both: p (dp - the sum of p dp)",
              x=lambda dp, p: p * dp - (p * dp).sum(-1, keepdim=True))
softmax.wrong("exchanged", "Your dx is dp (p - the sum of p dp). It is p (dp - that sum)", x=lambda dp, p: dp * (p - (p * dp).sum(-1, keepdim=True)))
softmax.wrong("log_softmax", "Your gradient is log-softmax's, dp - p times the sum of dp. Softmax has p (dp - the sum of p dp)",
              x=lambda dp, p: dp - p * dp.sum(-1, keepdim=True))
softmax.wrong("weights_themselves", "Your dx is p - dp, cross entropy's gradient with dp for the target. Softmax has p (dp - the sum of p dp)", x=lambda dp, p: p - dp)
softmax.wrong("p_squared", "Your dx is p dp less p^2 times the sum of dp. The sum is of p dp, and p multiplies it once",
              x=lambda dp, p: p * (dp - p * dp.sum(-1, keepdim=True)))
softmax.wrong("p_twice", "Your factor is p^2. It is p: p (dp - the sum of p dp)", x=lambda dp, p: p * p * (dp - (p * dp).sum(-1, keepdim=True)))
softmax.wrong("one_minus_p", "Your factor is p (1 - p). It is p alone: the sum of p dp has the rest", x=lambda dp, p: p * (1 - p) * (dp - (p * dp).sum(-1, keepdim=True)))
for case, sentence, dp, p in [
        ("by_hand", "Three weights, and the second is wanted larger.", [[0, 1, 0]], [[0.5, 0.25, 0.25]]),
        ("added", "The gradients are not 0 before.", normal(4, 6), probabilities(4, 6)),
        ("ragged", "5 rows of 33.", normal(5, 33), probabilities(5, 33, scale=3)),
        ("peaked", "One weight has nearly everything.", normal(3, 9), probabilities(3, 9, scale=8)),
        ("one", "A single score: its weight is 1, and nothing changes it.", normal(2, 1), [[1], [1]]),
        ("tiny", "Gradients of 1e-12.", normal(3, 8, scale=1e-12), probabilities(3, 8)),
        ("long", "Rows of 1000.", normal(2, 1000), probabilities(2, 1000))]:
    size, shape = 1e-12 if case == "tiny" else 1, shape_of(dp)
    softmax.kernel.case(f"{case}_dx", sentence, dp=dp, p=p,
                        dx=np.zeros(shape) if case == "by_hand" else normal(*shape, scale=size))


# --- Attention ---------------------------------------------------------------------------------------------

def heads_of(x, H, which=lambda h, H, KV: h // (H // KV)):
    """Each query head's key/value head: [KV or so][T][D] -> [H][T][D]."""
    return x[:, which(torch.arange(H), H, x.shape[1])].transpose(0, 1)


def heads_summed(x, KV, which, group):
    """What the H query heads have for theirs, brought together: [H][T][D] -> [T][KV][D]."""
    H, T, D = x.shape
    owners = which(torch.arange(H), H, KV)
    members = [group([h for h in range(H) if owners[h] == g]) for g in range(KV)]
    return torch.stack([sum((x[h] for h in heads), torch.zeros(T, D)) for heads in members], 1)


def attention_parts(which=lambda h, H, KV: h // (H // KV), group=lambda heads: heads, scale=lambda D: 1 / math.sqrt(D),
                    back_scale=None, width=lambda H, D: D, passed_by=lambda K, V: V,
                    seen=lambda T: torch.ones(T, T).tril().bool(), mean=False,
                    weights=lambda scores, lse: torch.softmax(scores, -1).nan_to_num(),  # who sees no key weighs none
                    common=lambda p, dp, dout, out: (p * dp).sum(-1, keepdim=True),
                    of_scores=lambda p, dp, common: p * (dp - common), of_values=lambda p, scores, ds: p,
                    of_keys=lambda ds: ds.transpose(1, 2), into_q=lambda ds, K, V: ds @ K,
                    into_k=lambda ds, Q, K, dO: ds @ Q, into_v=lambda p, dO, V, Q: p @ dO):
    """Each step an argument. out and lse are there for a kernel that is given them."""
    def steps(dout, q, k, v, out=None, lse=None):
        T, H, D = q.shape
        Q, K, V, dO = q.transpose(0, 1), heads_of(k, H, which), heads_of(v, H, which), dout.transpose(0, 1)
        scores = Q @ K.transpose(1, 2) * scale(width(H, D))
        p = weights(scores.masked_fill(~seen(T), -math.inf), lse)
        dp = dO @ passed_by(K, V).transpose(1, 2)
        ds = of_scores(p, dp, common(p, dp, dout, out)).masked_fill(~seen(T), 0) * (back_scale or scale)(width(H, D))
        return Q, K, V, dO, p, ds, scores

    def together(x, KV):
        summed = heads_summed(x, KV, which, group)
        return summed / (len(x) // KV) if mean else summed

    def of_q(**inputs):
        _Q, K, V, _dO, _p, ds, _scores = steps(**inputs)
        return into_q(ds, K, V).transpose(0, 1)

    def of_k(k, **inputs):
        Q, K, _V, dO, _p, ds, _scores = steps(k=k, **inputs)
        return together(into_k(of_keys(ds), Q, K, dO), k.shape[1])

    def of_v(v, **inputs):
        Q, _K, V, dO, p, ds, scores = steps(v=v, **inputs)
        return together(into_v(of_values(p, scores, ds).transpose(1, 2), dO, V, Q), v.shape[1])
    return dict(q=of_q, k=of_k, v=of_v)


def sdpa(q, k, v):
    q, k, v = (x.transpose(0, 1)[None] for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)[0].transpose(0, 1)


ATTENTION_MISTAKES = [
    ("last_head_alone", "Your dk and dv keep the last query head's share alone. All heads that read a key/value head add to it",
     dict(group=lambda heads: heads[-1:])),
    ("first_head_alone", "Your dk and dv have the first query head's share alone. All heads that read a key/value head add to it",
     dict(group=lambda heads: heads[:1])),
    ("mean_of_heads", "Your dk and dv are means over the query heads that share them. They are sums", dict(mean=True)),
    ("modulo", "Your query head h reads key/value head h % KV. Neighbours share: h / (H / KV)", dict(which=lambda h, H, KV: h % KV)),
    ("sum_missing", "Your dscore is p dp. Softmax has p (dp - the sum of p dp)", dict(common=lambda *_: 0)),
    ("softmax_left_out", "Your dscore is dp: softmax is passed over. It is p (dp - the sum of p dp)",
     dict(of_scores=lambda p, dp, common: dp)),
    ("p_missing", "Your dscore lacks the factor p. It is p (dp - the sum of p dp)", dict(of_scores=lambda p, dp, common: dp - common)),
    ("sum_outside", "Your dscore is p dp less the sum of p dp. p multiplies both: p (dp - the sum of p dp)",
     dict(of_scores=lambda p, dp, common: p * dp - common)),
    ("added_for_subtracted", "Your dscore adds the sum of p dp. Subtract it: p (dp - the sum of p dp)",
     dict(of_scores=lambda p, dp, common: p * (dp + common))),
    ("dp_of_keys", "Your dp is the product of dout with the keys. The weights multiplied the values: it is dout v",
     dict(passed_by=lambda K, V: K)),
    ("root_of_all_heads", "Your scores are divided by sqrt(H D). It is sqrt(D), the width of one head", dict(width=lambda H, D: H * D)),
    ("own_key_left_out", "Your queries do not see their own key. Query t sees keys 0 .. t: s <= t, and not s < t",
     dict(seen=lambda T: torch.ones(T, T).tril(-1).bool())),
    ("log2e_with_exp", "Your scores are multiplied by log2(e), as for exp2, and you take exp. Leave that out, or take exp2",
     dict(scale=lambda D: 1 / math.sqrt(D) / math.log(2), back_scale=lambda D: 1 / math.sqrt(D))),
    ("divided_by_D", "Your scores are divided by D: without the root, or twice. Divide once by sqrt(D)", dict(scale=lambda D: 1 / D)),
    ("no_scale", "Your scores are not scaled, neither forward nor backward. Divide them by sqrt(D)", dict(scale=lambda D: 1.0)),
    ("scale_missing_backward", "Your dq or dk lacks 1 / sqrt(D): the scores were scaled, and so is what comes back through them, to both",
     dict(back_scale=lambda D: 1)),
    ("scale_twice_backward", "Your dq and dk are divided by sqrt(D) twice. Once is enough", dict(back_scale=lambda D: 1 / D)),
    ("no_mask", "Your queries see the keys that come later. Query t sees keys 0 .. t, backwards as well",
     dict(seen=lambda T: torch.ones(T, T).bool())),
    ("dk_not_transposed", "Your dk[s] sums dscore[s][t] q[t]. It sums dscore[t][s] q[t], over the queries t that look at s",
     dict(of_keys=lambda ds: ds)),
]

plain = Backward("grouped_query_attention_backward", "torch.nn.functional.scaled_dot_product_attention", sdpa, attention_parts(),
                 upstream="dout")


def flash_backward(alone=0, **inputs):
    """The backward pass of PyTorch's own flash attention, from out and lse; it knows no groups."""
    wanted = flash.wanted(inputs)
    H, KV = inputs["q"].shape[1], inputs["k"].shape[1]
    dout, q, out = (inputs[name].transpose(0, 1)[None] for name in ("dout", "q", "out"))
    k, v = (inputs[name].transpose(0, 1)[None].repeat_interleave(H // KV, 1) for name in ("k", "v"))
    lse = inputs["lse"].T[None].contiguous()
    gradients = dict(zip("qkv", torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(
        dout, q, k, v, out, lse, 0.0, True)))
    gradient = gradients[wanted][0]
    if wanted != "q":
        gradient = gradient.unflatten(0, (KV, H // KV)).sum(1)
    return inputs[f"d{wanted}"] + gradient.transpose(0, 1)


def flash_parts(lse=lambda L: L, **how):
    """The same with out and lse as they are handed over."""
    return attention_parts(**dict(weights=lambda scores, L: torch.exp(scores - lse(L).T[..., None]),
                                  common=lambda p, dp, dout, out: (dout * out).sum(-1, keepdim=True).transpose(0, 1)) | how)


flash = Backward("flash_attention_backward", "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward", None,
                 flash_parts(), upstream="dout", pytorch=flash_backward)

for name, advice, how in ATTENTION_MISTAKES:
    plain.wrong(name, advice, **attention_parts(**how))
    flash.wrong(name, advice, **flash_parts(**how))
for parts, kernel in (attention_parts, plain), (flash_parts, flash):
    last_query = parts(into_k=lambda ds, Q, K, dO: ds[..., -1:] @ Q[:, -1:], into_v=lambda p, dO, V, Q: p[..., -1:] @ dO[:, -1:],
                       group=lambda heads: heads[-1:])
    last_key = parts(into_q=lambda ds, K, V: ds.diagonal(dim1=1, dim2=2)[..., None] * K)
    kernel.wrong("last_query_alone", "Your dk or dv keeps the last query's share alone. Add up all queries that look at a key: +=, and not =",
                 k=last_query["k"], v=last_query["v"])
    kernel.wrongly_set("set_by_each_query", "Your dk or dv is set by each query, so that the last one's share alone is left, and what was there is lost. "
                       "Write +=", k=last_query["k"], v=last_query["v"])
    but_last = parts(into_q=lambda ds, K, V: F.pad((ds @ K)[:, :-1], (0, 0, 0, 1)),
                     into_k=lambda ds, Q, K, dO: ds[..., :-1] @ Q[:, :-1],
                     into_v=lambda p, dO, V, Q: p[..., :-1] @ dO[:, :-1])
    kernel.wrong("last_query_left_out", "Your last query is left out. The loop goes over 0 .. T - 1", **but_last)
    kernel.wrong("first_query_left_out", "Your first query is left out: it sees itself, and its share of dv[0] is its dout. Begin with t = 0",
                 v=parts(into_v=lambda p, dO, V, Q: p[..., 1:] @ dO[:, 1:])["v"])
    kernel.wrong("last_key_alone", "Your dq keeps the last key's share alone. Add up all keys: +=, and not =", q=last_key["q"])
    kernel.wrongly_set("set_by_each_key", "Your dq is set by each key, so that the last one's share alone is left, and what was there is lost. Write +=",
                       q=last_key["q"])
    kernel.wrong("k_in_dk", "Your dk sums dscore k. A score is q k: its gradient with respect to k has q in it",
                 k=parts(into_k=lambda ds, Q, K, dO: ds.sum(-1, keepdim=True) * K)["k"])
    kernel.wrong("dout_in_dk", "Your dk sums dscore dout. A score is q k: its gradient with respect to k has q in it",
                 k=parts(into_k=lambda ds, Q, K, dO: ds @ dO)["k"])
    kernel.wrong("v_in_dq", "Your dq sums dscore v. A score is q k: its gradient with respect to q has k in it",
                 q=parts(into_q=lambda ds, K, V: ds @ V)["q"])
    kernel.wrong("q_in_dq", "Your dq sums dscore q. A score is q k: its gradient with respect to q has k in it",
                 q=lambda parts=parts, **inputs: parts(into_q=lambda ds, K, V: ds.sum(-1, keepdim=True) * heads_of(inputs["q"], len(ds)))["q"](**inputs))
    kernel.wrong("dk_and_dv_exchanged", "Your dk and dv are exchanged", k=lambda parts=parts, **inputs: parts()["v"](**inputs),
                 v=lambda parts=parts, **inputs: parts()["k"](**inputs))
    kernel.wrong("dv_not_transposed", "Your dv[s] sums p[s][t] dout[t]. It sums p[t][s] dout[t], over the queries t that look at s",
                 v=parts(of_values=lambda p, scores, ds: p.transpose(1, 2))["v"])
    kernel.wrong("p_twice", "Your dscore has p squared. It is p (dp - the sum of p dp)",
                 **parts(of_scores=lambda p, dp, common: p * p * (dp - common)))
    kernel.wrong("scale_upside_down_backward", "Your dq and dk are multiplied by sqrt(D). Divide by it, as the scores were",
                 **parts(back_scale=math.sqrt))
    kernel.wrong("q_in_dv", "Your dv sums the weights times q. What comes in from above, dout, is their factor",
                 v=parts(into_v=lambda p, dO, V, Q: p @ Q)["v"])
    kernel.wrong("dscore_in_dv", "Your dv sums dscore dout. The values were multiplied by the weights: p dout",
                 v=parts(of_values=lambda p, scores, ds: ds)["v"])
    kernel.wrong("dv_scaled", "Your dv is divided by sqrt(D). Only the scores were scaled: dq and dk are",
                 v=parts(into_v=lambda p, dO, V, Q: p @ dO / math.sqrt(V.shape[-1]))["v"])
    kernel.wrong("v_in_dv", "Your dv sums the weights times v. What comes in from above, dout, is their factor",
                 v=parts(into_v=lambda p, dO, V, Q: p.sum(-1, keepdim=True) * V)["v"])
plain.wrong("not_weighted", "Your sum is of dp alone. Each is weighted: the sum of p dp",
            **attention_parts(common=lambda p, dp, dout, out: torch.where(p > 0, dp, 0).sum(-1, keepdim=True)))
plain.wrong("diagonal_alone", "Your dscore is p (1 - p) dp, as if each weight came from its own score alone. Every weight depends on every score",
            **attention_parts(common=lambda p, dp, dout, out: p * dp))
plain.wrong("base_two", "Your powers are those of 2. Take exp, or multiply the scores by log2(e) before exp2",
            **attention_parts(weights=lambda scores, lse: torch.softmax(scores * math.log(2), -1)))
plain.wrong("scale_missing_forward", "Your weights are those of scores that are not scaled, and what comes back is. Divide the scores by sqrt(D) first",
            **attention_parts(scale=lambda D: 1.0, back_scale=lambda D: 1 / math.sqrt(D)))
plain.wrong("max_not_subtracted", "Your e^score overflows, or is 0 for the whole row. Subtract the row's largest score first",
            **attention_parts(weights=lambda scores, lse: exp32(scores) / exp32(scores).sum(-1, keepdim=True)))
plain.wrong("max_from_zero", "Your largest score is never less than 0: far below it, e^(score - max) is 0. Start it at -infinity",
            **attention_parts(weights=lambda scores, lse: (lambda e: e / e.sum(-1, keepdim=True))(
                exp32(scores - scores.amax(-1, keepdim=True).clamp(min=0)))))
plain.wrong("not_normalized", "Your e^(score - max) is not divided by its sum: it is no weight yet",
            **attention_parts(weights=lambda scores, lse: torch.exp(scores - scores.amax(-1, keepdim=True))))
plain.wrong("scores_for_weights", "Your dv is made with the scores. It is the weights, after softmax, that the values were multiplied by",
            v=attention_parts(of_values=lambda p, scores, ds: torch.where(p > 0, scores, 0))["v"])
flash.wrong("common_of_dout", "Your common term is the sum of dout dout. It is that of dout out",
            **flash_parts(common=lambda p, dp, dout, out: (dout * dout).sum(-1, keepdim=True).transpose(0, 1)))
flash.wrong("common_of_out", "Your common term is the sum of out out. It is that of dout out",
            **flash_parts(common=lambda p, dp, dout, out: (out * out).sum(-1, keepdim=True).transpose(0, 1)))
flash.wrong("first_common_for_all", "Your common term is the first head's for all. Each query has one in each head",
            **flash_parts(common=lambda p, dp, dout, out: (dout * out).sum(-1, keepdim=True).transpose(0, 1)[:1]))
flash.wrong("log_sum_missing", "Your weights are e^score. They are e^(score - lse), which divides them by their sum",
            **flash_parts(weights=lambda scores, lse: exp32(scores)))
flash.wrong("log_sum_divides", "Your weights are e^score / lse. lse is the sum's logarithm: e^(score - lse)",
            **flash_parts(weights=lambda scores, lse: exp32(scores) / lse.T[:, :, None]))
flash.wrong("first_log_sum", "Your lse is the first head's for all. Each query head has its own, lse[t][h]",
            **flash_parts(lse=lambda L: L[:, :1].expand_as(L)))
flash.wrong("log_sum_of_base_two", "You take lse for a logarithm of base 2. It is the natural one: e^(score - lse)",
            **flash_parts(lse=lambda L: L * math.log(2)))
flash.wrong("power_of_two", "Your weights are 2^(score - lse). lse is the natural logarithm: take e^(score - lse)",
            **flash_parts(weights=lambda scores, lse: torch.exp2(scores - lse.T[:, :, None])))
flash.wrong("overflow", "Your weights are e^score / e^lse, infinity over infinity where scores are large. Take e^(score - lse)",
            **flash_parts(weights=lambda scores, lse: exp32(scores) / exp32(lse).T[:, :, None]))
flash.wrong("log_sum_as_heads_first", "You read lse as [H][T]. It is lse[t][h]",
            **flash_parts(lse=lambda L: L.reshape(L.T.shape).T))
flash.wrong("log_sum_of_unscaled", "Your scores are not divided by sqrt(D) before lse is subtracted. It is of scaled scores",
            **flash_parts(scale=lambda D: 1.0, back_scale=lambda D: 1 / math.sqrt(D)))


def remembered(name, T, H, KV, D, scale):
    """q, k, v and what the forward pass keeps of them."""
    random = np.random.default_rng(list(f"flash_attention_backward {name}".encode()))
    q, k, v = (torch.from_numpy(size * random.standard_normal(shape)).float()
               for size, shape in [(scale, (T, H, D)), (scale, (T, KV, D)), (1, (T, KV, D))])
    if name == "far_apart":  # every other key is near the one before, or no gradient would come back through the softmax
        k[1::2] = k[:-1:2] + torch.from_numpy(random.standard_normal(k[1::2].shape) / 20)
    Q, K, V = q.double().transpose(0, 1), heads_of(k.double(), H), heads_of(v.double(), H)
    scores = (Q @ K.transpose(1, 2) / math.sqrt(D)).masked_fill(~torch.ones(T, T).tril().bool(), -math.inf)
    return dict(q=q, k=k, v=v, out=(torch.softmax(scores, -1) @ V).transpose(0, 1).float().contiguous(),
                lse=torch.logsumexp(scores, -1).T.float().contiguous())


for name, sentence, T, H, KV, D, scale, size in [
        ("by_hand", "Two tokens, one head of two numbers.", 2, 1, 1, 2, 1, 1),
        ("added", "The gradients are not 0 before.", 5, 2, 2, 4, 1, 1),
        ("shared", "Four query heads, two key/value heads.", 6, 4, 2, 4, 1, 1),
        ("one_for_all", "MQA: three query heads, one key/value head.", 7, 3, 1, 5, 1, 1),
        ("one_token", "A single token, which sees itself alone: nothing comes back to q and k.", 1, 2, 1, 4, 1, 1),
        ("tiles", "37 tokens: more than two tiles, and a part of one.", 37, 2, 1, 4, 1, 1),
        ("peaked", "Scores so large that one weight has nearly everything.", 6, 2, 1, 8, 3, 1),
        ("far_apart", "Scores of some hundred, of either sign: no e^score is of any use.", 5, 2, 1, 4, 18, 1),
        ("tiny", "Gradients of 1e-12.", 5, 2, 1, 4, 1, 1e-12)]:
    more = remembered(name, T, H, KV, D, scale)
    for wanted in "qkv":
        if name == "one_token" and wanted != "v":
            continue
        shape = tuple(more[wanted].shape)
        there = {f"d{wanted}": np.zeros(shape) if name == "by_hand" else normal(*shape, scale=size)}
        dout = [[[1, 0]], [[0, 2]]] if name == "by_hand" else normal(T, H, D, scale=size)
        plain.kernel.case(f"{name}_d{wanted}", sentence, dout=dout, q=more["q"], k=more["k"], v=more["v"], **there)
        flash.kernel.case(f"{name}_d{wanted}", sentence, dout=dout, **more, **there)


# The forward pass that keeps what the backward pass needs: a case asks for out, or for lse.

def log_sum_pytorch(q, k, v, of_out):
    H, KV = q.shape[1], k.shape[1]
    q = q.transpose(0, 1)[None]
    k, v = (x.transpose(0, 1)[None].repeat_interleave(H // KV, 1) for x in (k, v))
    out, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, True)
    return out[0].transpose(0, 1).flatten(1).contiguous() if of_out else lse[0].T.contiguous()


def log_sum_formula(q, k, v, of_out, which=lambda h, H, KV: h // (H // KV), scale=lambda D: 1 / math.sqrt(D), mask=True,
                    log=torch.log, back=lambda m: m, kept=lambda L: L, largest=None, diagonal=0, of_the_mean=False):
    T, H, D = q.shape
    Q, K, V = q.transpose(0, 1), heads_of(k, H, which), heads_of(v, H, which)
    seen = torch.ones(T, T).tril(diagonal).bool() if mask else torch.ones(T, T).bool()
    scores = (Q @ K.transpose(1, 2) * scale(D)).masked_fill(~seen, -math.inf)
    m = (largest or (lambda m: m))(scores.amax(-1, keepdim=True))
    weights = exp32(scores - m) if largest else torch.exp(scores - m)
    if of_out:
        return (weights / weights.sum(-1, keepdim=True) @ V).transpose(0, 1).flatten(1).contiguous()
    total = weights.sum(-1, keepdim=True) / (seen.sum(-1, keepdim=True) if of_the_mean else 1)
    return kept((back(m) + log(total))[..., 0].T.contiguous())


lse = Kernel("flash_attention_lse", CHAPTER, "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu",
                 log_sum_pytorch, log_sum_formula)
for name, advice, how in [
        ("modulo", "Your query head h reads key/value head h % KV. Neighbours share: h / (H / KV)", dict(which=lambda h, H, KV: h % KV)),
        ("unscaled", "Your scores are not divided by sqrt(D)", dict(scale=lambda D: 1.0)),
        ("max_not_subtracted", "Your e^score overflows, or is 0 for the whole row. Subtract the largest score so far", dict(largest=torch.zeros_like)),
        ("max_from_zero", "Your largest score is never less than 0: far below it, e^(score - max) is 0. Start it at -infinity",
         dict(largest=lambda m: m.clamp(min=0))),
        ("no_mask", "Your queries see the keys that come later. Query t sees keys 0 .. t", dict(mask=False)),
        ("max_not_added_back", "Your lse is log(l) alone. It is m + log(l): the sum was taken with the maximum out", dict(back=torch.zeros_like)),
        ("sum_without_logarithm", "Your lse is m + l. Take the logarithm of l", dict(log=lambda l: l)),
        ("sum_alone", "Your lse is l itself. It is m + log(l)", dict(back=torch.zeros_like, log=lambda l: l)),
        ("maximum_alone", "Your lse is m alone. It is m + log(l)", dict(log=torch.zeros_like)),
        ("log2e_with_exp", "Your scores are multiplied by log2(e), as for exp2, and you take exp. Leave that out, or take exp2",
         dict(scale=lambda D: 1 / math.sqrt(D) / math.log(2))),
        ("logarithm_of_the_mean", "Your lse is m + log of the mean of e^(score - m). It is of their sum", dict(of_the_mean=True)),
        ("one_in_the_sum", "Your lse is m + log(1 + l). It is m + log(l): do not take log1p", dict(log=torch.log1p)),
        ("logarithm_in_base_10", "Your logarithm is that of base 10. It is the natural one", dict(log=torch.log10)),
        ("own_key_left_out", "Your queries do not see their own key. Query t sees keys 0 .. t: s <= t, and not s < t", dict(diagonal=-1)),
        ("divided_by_D", "Your scores are divided by D: without the root, or twice. Divide once by sqrt(D)", dict(scale=lambda D: 1 / D)),
        ("logarithm_subtracted", "Your lse is m - log(l). It is m + log(l)", dict(log=lambda l: -torch.log(l))),
        ("log2", "Your logarithm is that of base 2. It is the natural one", dict(log=torch.log2)),
        ("base_two", "Your lse is the logarithm of base 2 throughout. Multiply it by ln(2): it is the natural one",
         dict(kept=lambda L: L / math.log(2))),
        ("heads_first", "Your lse is written as [H][T]. It is lse[t][h]", dict(kept=lambda L: L.T.reshape(L.shape)))]:
    lse.wrong(name, advice, lambda how=how, **inputs: log_sum_formula(**inputs, **how))
for name, sentence, T, H, KV, D, scale in [
        ("by_hand", "Two tokens, one head of two numbers.", 2, 1, 1, 2, 1), ("shared", "Four query heads, two key/value heads.", 6, 4, 2, 4, 1),
        ("tiles", "37 tokens: more than two tiles, and a part of one.", 37, 2, 1, 4, 1), ("peaked", "Large scores.", 9, 2, 1, 8, 5),
        ("far_apart", "Scores of some hundred, of either sign.", 5, 2, 1, 4, 18)]:
    more = {key: value for key, value in remembered(name, T, H, KV, D, scale).items() if key in "qkv"}
    lse.case(f"{name}_log_sum", sentence, **more, of_out=0)
    lse.case(f"{name}_out", sentence, **more, of_out=1)


# --- The loss ----------------------------------------------------------------------------------------------

def surprise(logits, targets, largest=lambda x: x.amax(1, keepdim=True), back=True, log=torch.log):
    """-log softmax(logits)[target] of each row, and whether it counts."""
    targets = targets.long()
    m = largest(logits)
    chosen = logits.gather(1, targets.clamp(min=0)[:, None])[:, 0] - (m[:, 0] if back else 0)
    return log(torch.exp(logits - m).sum(1)) - chosen, targets >= 0


def mean_surprise(logits, targets, **how):
    each, counts = surprise(logits, targets, **how)
    return (each[counts].sum() / counts.sum()).reshape(1)


def scalar_of(function):
    def formula(logits, targets):
        result = function(logits, targets.int())
        return None if result is None else result.reshape(1)
    return formula


def pytorch_loss(logits, targets):
    """PyTorch ignores one number alone."""
    return F.cross_entropy(logits, torch.where(targets < 0, -100, targets).long(), ignore_index=-100)


loss = Kernel("cross_entropy", CHAPTER, "torch.nn.functional.cross_entropy",
              scalar_of(lambda x, t: pytorch_loss(x, t)), scalar_of(mean_surprise), mixes=True)
for name, advice, function in [
        ("ignored_in_the_count", "Your mean counts the ignored rows. Divide by the number of targets that are not negative",
         lambda x, t: surprise(x, t)[0][t >= 0].sum() / len(t)),
        ("ignored_in_the_sum", "Your sum has the ignored rows in it, as if their target were token 0. Leave them out",
         lambda x, t: surprise(x, t)[0].mean()),
        ("ignored_in_the_sum_alone", "Your sum has the ignored rows in it, as if their target were token 0, and your count has not. Leave them out",
         lambda x, t: surprise(x, t)[0].sum() / (t >= 0).sum()),
        ("token_0_ignored", "Your target 0 does not count. It is a token like others: >= 0, and not > 0",
         lambda x, t: mean_surprise(x, torch.where(t > 0, t, -100))),
        ("stops_at_the_ignored", "Your rows end with the first that is ignored. Go on with the next: continue, and not break",
         lambda x, t: mean_surprise(x, torch.where((t < 0).cumsum(0) > 0, -100, t)) if t[0] >= 0 else None),
        ("minus_100_alone", "Your negative targets count, unless they are -100, and what they read lies before the row. None of them counts",
         lambda x, t: (torch.logsumexp(x, 1) - x.flatten()[(torch.arange(len(t)) * x.shape[1] + t).clamp(min=0)])[t != -100].mean()),
        ("minus_100_alone_from_the_end", "Your negative targets count from the end of the vocabulary, unless they are -100. None of them counts",
         lambda x, t: mean_surprise(x, torch.where(t == -100, t, t % x.shape[1]))),
        ("minus_100_alone_in_the_count", "Your mean counts the rows whose target is negative, unless it is -100. None of them counts",
         lambda x, t: surprise(x, t)[0][t >= 0].sum() / (t != -100).sum()),
        ("max_from_zero", "Your search for the largest logit begins at 0, and all may be far below. Begin with the row's first",
         lambda x, t: mean_surprise(x, t, largest=lambda x: x.amax(1, keepdim=True).clamp(min=0))),
        ("max_of_all_rows", "Your largest logit is that of all rows. Each row has its own: others may lie far below it",
         lambda x, t: mean_surprise(x, t, largest=lambda x: x.amax().expand(len(x), 1))),
        ("logarithm_of_zero", "Your logarithm is of softmax in float32, which is 0 for a target far below: the loss is infinite. Take max + log(sum) - logit",
         lambda x, t: -torch.log((lambda e: e / e.sum(1, keepdim=True))(exp32(x - x.amax(1, keepdim=True)))
                                 .gather(1, t.long().clamp(min=0)[:, None])[:, 0])[t >= 0].mean()),
        ("z_loss", "Your loss has 1e-4 times the square of the logarithm of the sum beside it, a z-loss. It is the mean surprise alone",
         lambda x, t: mean_surprise(x, t) + 1e-4 * (torch.logsumexp(x, 1)[t >= 0] ** 2).mean()),
        ("sum_for_mean", "Your loss is a sum over the rows. Divide by how many are counted", lambda x, t: surprise(x, t)[0][t >= 0].sum()),
        ("max_not_subtracted", "Your e^x overflows. Subtract the row's largest logit first, and add it to the logarithm again",
         lambda x, t: mean_surprise(x, t, largest=lambda x: torch.zeros_like(x[:, :1]))),
        ("max_not_added_back", "Your largest logit is subtracted, and not added to the logarithm again",
         lambda x, t: mean_surprise(x, t, back=False)),
        ("sign", "Your loss is negative. It is -log softmax, which is never below 0", lambda x, t: -mean_surprise(x, t)),
        ("log2", "Your logarithm is that of base 2. It is the natural one",
         lambda x, t: mean_surprise(x, t) / math.log(2)),
        ("log2_of_the_sum", "Your logarithm of the sum is that of base 2. It is the natural one",
         lambda x, t: mean_surprise(x, t, log=torch.log2)),
        ("perplexity", "Your result is the perplexity, e^loss. The loss is its logarithm", lambda x, t: mean_surprise(x, t).exp()),
        ("probability", "Your result is the mean probability of the targets. Take its logarithm, row by row",
         lambda x, t: torch.exp(-surprise(x, t)[0][t >= 0]).mean()),
        ("logit_alone", "Your loss is the mean of the targets' logits. Without the logarithm of the sum it is no surprise",
         lambda x, t: x.gather(1, t.long().clamp(min=0)[:, None])[:, 0][t >= 0].mean()),
        ("mean_of_probabilities_first", "Your logarithm is of the mean probability. It is the mean of the logarithms",
         lambda x, t: -torch.log(torch.exp(-surprise(x, t)[0][t >= 0]).mean())),
        ("target_of_the_next_row", "Your target is the next row's. Row r of the logits has targets[r]",
         lambda x, t: mean_surprise(x, t.roll(-1)) if (t >= 0).all() else None),
        ("shifted_once_more", "Your logits of row r meet the target of row r + 1. targets are shifted already: row r has targets[r]",
         lambda x, t: mean_surprise(x[:-1], t[1:]) if len(t) > 1 else None),
        ("targets_shifted", "Your target of row r is targets[r + 1]. targets are shifted already: row r has targets[r]",
         lambda x, t: mean_surprise(x, torch.cat([t[1:], t[-1:]]))),
        ("target_one_more", "Your target is targets[r] + 1. Tokens count from 0: it is targets[r]",
         lambda x, t: mean_surprise(x, torch.where(t < 0, t, (t + 1) % x.shape[1]))),
        ("epsilon_in_the_logarithm", "Your probability has about 1e-9 added before its logarithm is taken. Take max + log(sum) - logit: "
         "nothing can be 0 there", lambda x, t: -torch.log(torch.exp(-surprise(x, t)[0][t >= 0]) + 1e-9).mean()),
        ("last_row_left_out", "Your last row is left out of the sum",
         lambda x, t: surprise(x[:-1], t[:-1])[0][t[:-1] >= 0].sum() / (t >= 0).sum() if len(t) > 1 else None),
        ("label_smoothing", "Your target has 0.9, and all tokens share 0.1, as with label_smoothing=0.1. It is the target's surprise alone",
         lambda x, t: 0.9 * mean_surprise(x, t) - 0.1 * torch.log_softmax(x, 1)[t >= 0].mean()),
        ("sigmoid_for_softmax", "Your loss is -log of the sigmoid of the target's logit. It is that of softmax, which sees all logits",
         lambda x, t: -F.logsigmoid(x.gather(1, t.long().clamp(min=0)[:, None])[:, 0])[t >= 0].mean()),
        ("other_axis", "Your softmax runs over the rows. It runs over the V logits of one row",
         lambda x, t: -torch.log_softmax(x, 0).gather(1, t.long().clamp(min=0)[:, None])[:, 0][t >= 0].mean()),
        ("all_logits", "Your loss sums -log softmax of all tokens. It is the target's alone", lambda x, t: -torch.log_softmax(x, 1)[t >= 0].sum(1).mean()),
        ("square_of_what_is_missing", "Your loss is (1 - p)^2 of the target. It is -log p",
         lambda x, t: ((1 - torch.exp(-surprise(x, t)[0][t >= 0]))**2).mean()),
        ("divided_by_V", "Your loss is divided by V as well. The mean is over the rows alone", lambda x, t: mean_surprise(x, t) / x.shape[1])]:
    loss.wrong(name, advice, scalar_of(function))


def loss_backward_pytorch(dlogits, logits, targets, dloss):
    x = logits.clone().requires_grad_()
    x.grad = dlogits.clone()
    (dloss * pytorch_loss(x, targets)).backward()
    return x.grad


def push(logits, targets, dloss, count=lambda t: (t >= 0).sum(), one=lambda t: 1.0, ignored=True, others=True,
         softmax=lambda x: torch.softmax(x, 1)):
    targets = targets.long()
    pushed = softmax(logits) - one(targets) * F.one_hot(targets.clamp(min=0), logits.shape[1])
    if not others:
        pushed = pushed * F.one_hot(targets.clamp(min=0), logits.shape[1])
    if ignored:
        pushed = torch.where((targets >= 0)[:, None], pushed, 0)
    return dloss / max(int(count(targets)), 1) * pushed


def loss_backward_formula(how):
    return lambda dlogits, logits, targets, dloss: dlogits + push(logits, targets, dloss, **how)


loss_backward = Kernel("cross_entropy_backward", CHAPTER, "torch.nn.functional.cross_entropy under torch.autograd",
                       loss_backward_pytorch, loss_backward_formula({}), mixes=True)
loss_backward.wrong("does_nothing", "Your gradients are what they were before. Add to them", lambda dlogits, **_: dlogits)
loss_backward.wrong("overwritten", "Your gradients are set, and not added: what was there is lost. Write +=",
                    lambda dlogits, **inputs: push(**inputs))
loss_backward.wrong("ignored_set_to_zero", "Your rows whose target is ignored are set to 0. Nothing is added to them: what is there stays",
                    lambda dlogits, targets, **inputs: torch.where((targets >= 0)[:, None], dlogits, 0)
                    + push(targets=targets, **inputs))
loss_backward.wrong("subtracted", "Your gradients are subtracted. Add them: the step downhill is the optimizer's",
                    lambda dlogits, **inputs: dlogits - push(**inputs))
for name, advice, how in [
        ("ignored_in_the_count", "Your mean counts the ignored rows. Divide by the number of targets that are not negative",
         dict(count=len)),
        ("ignored_as_token_0", "Your ignored rows are pushed and counted, as if their target were token 0. They are neither", dict(count=len, ignored=False)),
        ("target_alone", "Your gradients are the target's alone. All other logits are pushed down, each by its probability",
         dict(others=False)),
        ("max_from_zero", "Your search for the largest logit begins at 0, and all may be far below. Begin with the row's first",
         dict(softmax=lambda x: torch.exp(x - x.amax(1, keepdim=True).clamp(min=0)) /
              torch.exp(x - x.amax(1, keepdim=True).clamp(min=0)).sum(1, keepdim=True))),
        ("max_of_all_rows", "Your largest logit is that of all rows. Each row has its own: others may lie far below it",
         dict(softmax=lambda x: torch.exp(x - x.amax()) / torch.exp(x - x.amax()).sum(1, keepdim=True))),
        ("ignored_pushed", "Your ignored rows are pushed, as if their target were token 0. Nothing comes from them", dict(ignored=False)),
        ("ignored_pushed_down", "Your ignored rows are pushed down, as if they had no target. Nothing comes from them",
         dict(ignored=False, one=lambda t: (t >= 0)[:, None])),
        ("logarithm_for_softmax", "Your gradients have the logarithm of softmax. They have softmax itself: p, less 1 at the target",
         dict(softmax=lambda x: torch.log_softmax(x, 1))),
        ("logits_for_softmax", "Your gradients have the logits where softmax of them belongs: p, less 1 at the target", dict(softmax=lambda x: x)),
        ("sigmoid_for_softmax", "Your gradients have sigmoids where softmax belongs: all logits of a row share 1", dict(softmax=torch.sigmoid)),
        ("other_axis", "Your softmax runs over the rows. It runs over the V logits of one row", dict(softmax=lambda x: torch.softmax(x, 0))),
        ("label_smoothing", "Your target has 0.9, and all tokens share 0.1, as with label_smoothing=0.1. The target has 1",
         dict(softmax=lambda x: torch.softmax(x, 1) - 0.1 / x.shape[1], one=lambda t: 0.9)),
        ("z_loss", "Your gradients have those of a z-loss in them, 2e-4 times the logarithm of the sum, times p. They are of the mean surprise alone",
         dict(softmax=lambda x: torch.softmax(x, 1) * (1 + 2e-4 * torch.logsumexp(x, 1, keepdim=True)))),
        ("mean_missing", "Your gradients are of the sum of the losses. Divide by how many rows are counted", dict(count=lambda t: 1)),
        ("softmax_alone", "Your gradients lack the - 1 at the target: without it every logit is only pushed down", dict(one=lambda t: 0)),
        ("plus_one", "Your 1 at the target is added. Subtract it", dict(one=lambda t: -1)),
        ("max_not_subtracted", "Your e^x overflows. Subtract the row's largest logit first",
         dict(softmax=lambda x: torch.exp(x) / torch.exp(x).sum(1, keepdim=True))),
        ("not_normalized", "Your e^(x - max) is not divided by its sum: it is no softmax yet",
         dict(softmax=lambda x: torch.exp(x - x.amax(1, keepdim=True))))]:
    loss_backward.wrong(name, advice, loss_backward_formula(how))
loss_backward.wrong("token_before_the_target", "Your 1 is subtracted one token before the target. It is at targets[r]",
                    lambda dlogits, logits, targets, dloss: None if (targets == 0).any() else
                    dlogits + push(logits, torch.where(targets > 0, targets - 1, targets), dloss))
loss_backward.wrong("token_after_the_target", "Your 1 is subtracted one token after the target. It is at targets[r]",
                    lambda dlogits, logits, targets, dloss:
                    dlogits + push(logits, torch.where(targets >= 0, (targets + 1) % logits.shape[1], targets), dloss))
for twin, last in ("targets_shifted", lambda t: t[-1:]), ("targets_shifted_and_ended", lambda t: torch.full_like(t[-1:], -100)):
    loss_backward.wrong(twin, "Your row r has targets[r + 1]. targets are shifted already: row r has targets[r]",
                        lambda dlogits, logits, targets, dloss, last=last: dlogits + push(
                            logits, torch.cat([targets[1:], last(targets)]), dloss, count=lambda t: (targets >= 0).sum()))
loss_backward.wrong("token_0_ignored", "Your target 0 does not count. It is a token like others: >= 0, and not > 0",
                    lambda dlogits, logits, targets, dloss: dlogits + push(logits, torch.where(targets > 0, targets, -100), dloss))
loss_backward.wrong("minus_100_alone", "Your negative targets count, unless they are -100: such rows are pushed down, and are in the mean. None of them counts",
                    lambda dlogits, logits, targets, dloss: dlogits + torch.where(
                        (targets != -100)[:, None],
                        push(logits, targets, dloss, count=lambda t: (t != -100).sum(), one=lambda t: (t >= 0)[:, None], ignored=False), 0))
loss_backward.wrong("minus_100_alone_from_the_end", "Your negative targets count from the end of the vocabulary, unless they are -100. None of them counts",
                    lambda dlogits, logits, targets, dloss: dlogits + push(
                        logits, torch.where(targets == -100, targets, targets % logits.shape[1]), dloss))
loss_backward.wrong("minus_1_alone", "Your negative targets count, unless they are -1: such rows are pushed down, and are in the mean. None of them counts",
                    lambda dlogits, logits, targets, dloss: dlogits + torch.where(
                        (targets != -1)[:, None],
                        push(logits, targets, dloss, count=lambda t: (t != -1).sum(), one=lambda t: (t >= 0)[:, None], ignored=False), 0))
loss_backward.wrong("minus_100_alone_in_the_count", "Your mean counts the rows whose target is negative, unless it is -100. None of them counts",
                    loss_backward_formula(dict(count=lambda t: (t != -100).sum())))
loss_backward.wrong("stops_at_the_ignored", "Your rows end with the first that is ignored. Go on with the next: continue, and not break",
                    lambda dlogits, logits, targets, dloss: dlogits + push(logits, targets, dloss) *
                    ((targets < 0).cumsum(0) == 0)[:, None])
loss_backward.wrong("nothing_is_not_a_number", "Your gradients are 0 / 0 where no row is counted. Nothing is added there: leave out ignored rows",
                    lambda dlogits, logits, targets, dloss: dlogits + (push(logits, targets, dloss) if (targets >= 0).any() else math.nan))
loss_backward.wrong("one_not_shared", "Your 1 at the target is not divided by the count, nor multiplied with dloss. Both are factors of p - 1",
                    lambda dlogits, logits, targets, dloss: dlogits + push(logits, targets, dloss, one=lambda t: 0) - torch.where(
                        (targets >= 0)[:, None], F.one_hot(targets.clamp(min=0).long(), logits.shape[1]), 0))
loss_backward.wrong("in_bits", "Your gradients are divided by ln(2), as of a loss in bits. The logarithm is the natural one",
                    lambda dlogits, logits, targets, dloss: dlogits + push(logits, targets, dloss) / math.log(2))
loss_backward.wrong("dloss_twice", "Your dloss is a factor twice. Once is enough",
                    lambda dlogits, logits, targets, dloss: dlogits + push(logits, targets, dloss * dloss))
loss_backward.wrong("dloss_missing", "Your dloss is missing: what comes in from above is a factor here as well",
                    lambda dlogits, logits, targets, dloss: dlogits + push(logits, targets, 1.0))
loss_backward.wrong("divided_by_V", "Your gradients are divided by V as well. The mean is over the rows alone",
                    lambda dlogits, logits, targets, dloss: dlogits + push(logits, targets, dloss) / logits.shape[1])

for case, sentence, targets, V, logits, dloss in [
        ("by_hand", "Two rows of three logits: one token as likely as two others together.", [0, 2], 3, None, 1.0),
        ("ignored", "Two of five rows are ignored.", [1, -100, 3, -1, 0], 6, normal(5, 6), 1.0),
        ("share", "These rows are a part of a larger mean.", [4, 2, -100], 7, normal(3, 7, scale=2), 0.375),
        ("ragged", "7 rows, a vocabulary of 33.", [3, 32, 0, 17, 5, 5, 9], 33, normal(7, 33), 1.0),
        ("large_logits", "Logits of some hundred: e^x overflows.", [1, 4, 0, 7], 9, normal(4, 9, scale=90), 1.0),
        ("far_apart", "The first logit is larger than the others by 900, or the last one.", [1, 0, 2], 3,
         [[900, 0, -900], [0, -900, 900], [0, 900, -900]], 1.0),
        ("rows_far_apart", "One row of logits around 1000, one around -1000.", [2, 0], 3, [[1001, 999, 1000], [-1000, -1001, -1002]], 1.0),
        ("alike_far_below", "Rows around -1000 with the same largest logit.", [1, 2], 3, [[-1000, -1001, -1002], [-1002, -1000, -1001]], 1.0),
        ("nothing", "No target counts, and nothing is pushed.", [-100, -1, -100], 4, normal(3, 4), 1.0),
        ("far_below", "Logits around -1000.", [1, 2, 0], 5, normal(3, 5, shift=-1000), 1.0),
        ("sure", "The targets have nearly all of the probability: the gradients are tiny.", [2, 0, 1], 4,
         [[0, 1, 15, -1], [14, 0, 1, 2], [-1, 16, 0, 1]], 1.0),
        ("one_row", "One row.", [6], 10, normal(1, 10), 1.0),
        ("vocabulary", "A vocabulary of 2049: twice 1024, and one.", [2048, -100, 7], 2049, normal(3, 2049, scale=3), 1.0)]:
    if logits is None:
        logits = [[math.log(2), 0, 0], [0, 0, math.log(2)]]
    targets = torch.tensor(targets, dtype=torch.int32)
    if case not in ("sure", "nothing"):  # a loss of NaN is asked for in tests/judge/17_backward.c
        loss.case(case, sentence, logits=logits, targets=targets)
    there = np.zeros((len(targets), V)) if case == "by_hand" else normal(len(targets), V, scale=1e-4 if case == "sure" else 0.1)
    loss_backward.case(case, sentence, dlogits=there, logits=logits, targets=targets, dloss=dloss)


# --- How large a gradient is -------------------------------------------------------------------------------

def norm_of(gradient):
    """PyTorch's float32 squares are infinite from 1e19 on, and 0 below 1e-23: there it is asked in float64."""
    precise = gradient if 1e-18 < gradient.abs().max() < 1e18 else gradient.double()
    return torch.nn.utils.get_total_norm([precise]).reshape(1).to(gradient.dtype)


norm = Kernel("gradient_norm", CHAPTER, "torch.nn.utils.get_total_norm", norm_of,
              lambda gradient: gradient.square().sum().sqrt().reshape(1), mixes=True)
for name, advice, function in [
        ("root_missing", "Your root is missing: it is the root of the sum of the squares", lambda g: g.square().sum()),
        ("mean_of_squares", "Your sum of squares is divided by n. It is a norm, and no root mean square", lambda g: g.square().mean().sqrt()),
        ("sum_of_magnitudes", "Your norm adds up magnitudes. Add up squares, and take the root", lambda g: g.abs().sum()),
        ("mean_without_root", "Your output is the mean of the squares. It is the root of their sum", lambda g: g.square().mean()),
        ("divided_by_n", "Your norm is divided by n. The root of the sum is all", lambda g: g.square().sum().sqrt() / len(g)),
        ("squared_twice", "Your squares are squared once more. Add up the squares themselves", lambda g: g.square().square().sum().sqrt()),
        ("root_of_magnitudes", "Your sum is of magnitudes. Add up squares, and take the root", lambda g: g.abs().sum().sqrt()),
        ("epsilon_added", "Your norm has an epsilon of 1e-6 added. Who divides by a norm adds it there", lambda g: g.square().sum().sqrt() + 1e-6),
        ("largest", "Your norm is the largest magnitude. Add up squares, and take the root", lambda g: g.abs().max()),
        ("squares_in_float32", "Your squares are float32: infinite from 1e19 on, and 0 below 1e-23. Square and add in double",
         lambda g: g.float().square().sum().sqrt()),
        ("sum", "Your numbers are not squared before they are added up", lambda g: g.sum()),
        ("epsilon_in_the_root", "Your root has an epsilon of 1e-6 in it. Who divides by a norm adds it there", lambda g: (g.square().sum() + 1e-6).sqrt()),
        ("last_left_out", "Your sum ends one number too early. It runs over 0 .. n - 1",
         lambda g: g[:-1].square().sum().sqrt() if len(g) > 1 else None),
        ("last_alone", "Your sum is the last square alone. Add them up: +=, and not =", lambda g: g[-1:].abs())]:
    norm.wrong(name, advice, lambda gradient, function=function: None if function(gradient) is None else function(gradient).reshape(1))
norm.wrong_tails("sum", lambda full, gradient: gradient[:full(len(gradient))].square().sum().sqrt().reshape(1))
norm.case("by_hand", "3, 4 and 12: the norm is 13.", gradient=[3, 4, 12])
norm.case("negative", "Signs do not matter.", gradient=normal(29))
norm.case("ragged", "333 numbers.", gradient=normal(333))
norm.case("tiny", "Numbers of 1e-12.", gradient=normal(61, scale=1e-12))
norm.case("uneven", "A few numbers of 1000 among many of 0.001.", gradient=normal(45, scale=[1e3, 1e-3, 1e-3, 1e-3, 1e-3] * 9))
norm.case("long", "4096 numbers.", gradient=normal(4096))
norm.case("huge", "Numbers of 1e20, whose squares no float32 can hold.", gradient=normal(21, scale=1e20))
norm.case("minute", "Numbers of 1e-25, whose squares are 0 in float32.", gradient=normal(21, scale=1e-25))
