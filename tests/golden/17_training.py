"""Chapter 17: the optimizers, by torch.optim.AdamW and torch.optim.Muon, torch.nn.utils.clip_grad_norm_ and
torch.optim.lr_scheduler.

A case of adamw or muon goes as many steps as `gradient` has rows (of muon, matrices), and `of` tells what is asked for: 0
the weights, 1 m, 2 v.
"""
import math
from unittest import mock

import numpy as np
import torch
import torch.nn.functional as F
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

from golden import Kernel, normal

CHAPTER = "17_training"


# --- AdamW -------------------------------------------------------------------------------------------------

def torch_adamw(weight, m, v, gradient, step, rate, beta1, beta2, eps, decay, of):
    weight = weight.clone()
    optimizer = torch.optim.AdamW([weight], lr=rate, betas=(beta1, beta2), eps=eps, weight_decay=decay, foreach=False,
                                  fused=False)
    memory = dict(step=torch.tensor(step - 1.0), exp_avg=m.clone(), exp_avg_sq=v.clone())
    optimizer.state[weight] = memory
    for weight.grad in gradient:
        optimizer.step()
    return [weight, memory["exp_avg"], memory["exp_avg_sq"]][of]


class Step:
    """One step, spelled out; each mistake changes one line of it."""

    def __init__(self, rate, beta1, beta2, eps, decay):
        self.rate, self.beta1, self.beta2, self.eps, self.decay = rate, beta1, beta2, eps, decay

    def pulled(self, weight, g):
        return g

    def mean(self, m, g):
        return self.beta1 * m + (1 - self.beta1) * g

    def squares(self, v, g, m):
        return self.beta2 * v + (1 - self.beta2) * g * g

    def decayed(self, weight):
        return weight - self.rate * self.decay * weight

    def correction1(self, t):
        return 1 - self.beta1**t

    def correction2(self, t):
        return 1 - self.beta2**t

    def divisor(self, v, t):
        return (v / self.correction2(t)).sqrt() + self.eps

    def update(self, m, v, t, g, before):
        return m / self.correction1(t) / self.divisor(v, t)

    def moved(self, weight, update):
        return self.decayed(weight) - self.rate * update

    def kept(self, m, v, t, before):
        return m, v

    def take(self, weight, m, v, gradient, t):
        g, before = self.pulled(weight, gradient), (m, v)
        m = self.mean(m, g)
        v = self.squares(v, g, m)
        weight = self.moved(weight, self.update(m, v, t, g, before))
        return weight, *self.kept(m, v, t, before)


def stepping(variant=None, touched=lambda new, old: new):
    def formula(weight, m, v, gradient, step, rate, beta1, beta2, eps, decay, of):
        one = type("Variant", (Step,), variant or {})(rate, beta1, beta2, eps, decay)
        one.first, before = step, (weight, m, v)
        for s, g in enumerate(gradient):
            weight, m, v = one.take(weight, m, v, g, step + s)
        return touched((weight, m, v)[of], before[of])
    return formula


def through_the_divisor(self, weight, m, v, g, t):
    m, v = self.mean(m, g), self.squares(v, g, m)
    return weight - self.rate * (m / self.correction1(t) + self.decay * weight) / self.divisor(v, t), m, v


def decay_in_m(self, weight, m, v, g, t):
    m, v = self.mean(m, g + self.decay * weight), self.squares(v, g, m)
    return weight - self.rate * self.update(m, v, t, g, None), m, v


def lion(self, weight, m, v, g, t):
    return self.moved(weight, self.mean(m, g).sign()), self.beta2 * m + (1 - self.beta2) * g, v


def by_means(m_of=Step.mean, v_of=Step.squares):
    """m and v by other means, which may be told the step: one.t."""
    def take(self, weight, m, v, g, t):
        self.t = t
        m, v = m_of(self, m, g), v_of(self, v, g, m)
        return self.moved(weight, self.update(m, v, t, g, None)), m, v
    return dict(take=take)


HALF = {"m": lambda self, m, g: (m + g) / 2, "v": lambda self, v, g, m: (v + g * g) / 2}
OVERALL = {"m": lambda self, m, g: m + (g - m) / self.t, "v": lambda self, v, g, m: v + (g * g - v) / self.t}


def divided_by_the_largest(self, m, v, t, g, before):
    self.largest = torch.maximum(getattr(self, "largest", torch.zeros_like(v)), v)
    return m / self.correction1(t) / self.divisor(self.largest, t)


def none_for_zero(self, weight, m, v, g, t):
    return tuple(torch.where(g == 0, old, new) for old, new in zip((weight, m, v), Step.take(self, weight, m, v, g, t)))


adamw = Kernel("adamw", CHAPTER, "torch.optim.AdamW", torch_adamw, stepping(), mixes=True, sums=False)
for name, advice, variant in [
        ("l2_for_decoupled", "Your decay is added to the gradient, and so goes through m and v (Adam with L2). Take it off the weight "
         "itself: weight -= rate decay weight",
         dict(pulled=lambda self, w, g: g + self.decay * w, decayed=lambda self, w: w)),
        ("l2_in_m_alone", "Your decay is added to the gradient that m takes. Take it off the weight itself: weight -= rate decay weight",
         dict(take=decay_in_m)),
        ("decay_missing", "Your weights do not decay. Take rate decay weight off each", dict(decayed=lambda self, w: w)),
        ("decay_of_0_replaced", "Your decay is 0.01, PyTorch's default, where 0 is given. 0 is a decay like others: none",
         dict(decayed=lambda self, w: w - self.rate * (self.decay or 0.01) * w)),
        ("decay_without_rate", "Your decay is not multiplied with the rate. It is rate decay weight",
         dict(decayed=lambda self, w: w - self.decay * w)),
        ("decay_grows", "Your decay makes the weights larger. Subtract it", dict(decayed=lambda self, w: w + self.rate * self.decay * w)),
        ("decay_after_the_step", "Your decay is of the weight after its step. It is of the weight before",
         dict(moved=lambda self, w, u: self.decayed(w - self.rate * u))),
        ("decay_twice", "Your decay is taken off twice", dict(moved=lambda self, w, u: self.decayed(self.decayed(w)) - self.rate * u)),
        ("decay_in_both_places", "Your decay is added to the gradient, and taken off the weight as well. The second alone is AdamW's",
         dict(pulled=lambda self, w, g: g + self.decay * w)),
        ("decay_through_the_divisor", "Your decay is divided by sqrt(v) with the step. It is not divided by anything",
         dict(take=through_the_divisor)),
        ("not_corrected", "Your m and v are not corrected: they began at 0, and are too small at first. Divide by 1 - beta^step",
         dict(correction1=lambda self, t: 1, correction2=lambda self, t: 1)),
        ("m_not_corrected", "Your m is not corrected. Divide it by 1 - beta1^step", dict(correction1=lambda self, t: 1)),
        ("v_not_corrected", "Your v is not corrected. Divide it by 1 - beta2^step", dict(correction2=lambda self, t: 1)),
        ("step_from_zero", "Your corrections count the steps from 0. step is 1 at the first: beta^step, and not beta^(step - 1)",
         dict(correction1=lambda self, t: 1 - self.beta1**(t - 1), correction2=lambda self, t: 1 - self.beta2**(t - 1))),
        ("one_step_ahead", "Your corrections are one step ahead. It is beta^step, and not beta^(step + 1)",
         dict(correction1=lambda self, t: 1 - self.beta1**(t + 1), correction2=lambda self, t: 1 - self.beta2**(t + 1))),
        ("step_counted_from_one", "Your corrections count the steps themselves, from 1 at the first call. Take `step`: a run may have gone on from a "
         "checkpoint", dict(correction1=lambda self, t: 1 - self.beta1**(t - self.first + 1),
                            correction2=lambda self, t: 1 - self.beta2**(t - self.first + 1))),
        ("first_correction_stays", "Your corrections are those of the first step in every step. They fade: 1 - beta^step",
         dict(correction1=lambda self, t: 1 - self.beta1, correction2=lambda self, t: 1 - self.beta2)),
        ("multiplied_by_step", "Your corrections multiply beta with step. It is beta to the power of step",
         dict(correction1=lambda self, t: 1 - self.beta1 * t, correction2=lambda self, t: abs(1 - self.beta2 * t))),
        ("multiplied_by_step_under_the_root", "Your corrections multiply beta with step, and v becomes negative: its root is NaN. It is beta to the "
         "power of step",
         dict(correction1=lambda self, t: 1 - self.beta1 * t, correction2=lambda self, t: 1 - self.beta2 * t)),
        ("corrections_in_a_line", "Your corrections grow by 1 - beta a step, up to 1. They grow ever less: 1 - beta^step",
         dict(correction1=lambda self, t: min(1, (1 - self.beta1) * t), correction2=lambda self, t: min(1, (1 - self.beta2) * t))),
        ("corrections_exchanged", "Your m is corrected with beta2, and v with beta1. It is the other way round",
         dict(correction1=lambda self, t: 1 - self.beta2**t, correction2=lambda self, t: 1 - self.beta1**t)),
        ("correction_multiplied", "Your m and v are multiplied with 1 - beta^step. Divide by it",
         dict(correction1=lambda self, t: 1 / (1 - self.beta1**t), correction2=lambda self, t: 1 / (1 - self.beta2**t))),
        ("correction_outside_the_root", "Your 1 - beta2^step divides the root of v. It divides v, under the root",
         dict(divisor=lambda self, v, t: v.sqrt() / self.correction2(t) + self.eps)),
        ("corrected_m_kept", "Your m is kept as it was corrected. Keep it as it was, and divide a copy",
         dict(kept=lambda self, m, v, t, before: (m / self.correction1(t), v))),
        ("corrected_v_kept", "Your v is kept as it was corrected. Keep it as it was, and divide a copy",
         dict(kept=lambda self, m, v, t, before: (m, v / self.correction2(t)))),
        ("corrected_kept", "Your m and v are kept as they were corrected. Keep them as they were, and divide copies",
         dict(kept=lambda self, m, v, t, before: (m / self.correction1(t), v / self.correction2(t)))),
        ("eps_as_least", "Your eps is the least that the step is divided by. It is added to the root: sqrt(v) + eps",
         dict(divisor=lambda self, v, t: (v / self.correction2(t)).sqrt().clamp(min=self.eps))),
        ("eps_inside_the_root", "Your eps is inside the root. It is added to the root: sqrt(v) + eps",
         dict(divisor=lambda self, v, t: (v / self.correction2(t) + self.eps).sqrt())),
        ("eps_added_to_v", "Your eps is added to v, before v is corrected. It is added to the root: sqrt(v / (1 - beta2^step)) + eps",
         dict(divisor=lambda self, v, t: ((v + self.eps) / self.correction2(t)).sqrt())),
        ("eps_before_correction", "Your eps is added before the correction, and divided with it. Correct v first: sqrt(v / (1 - beta2^step)) + eps",
         dict(divisor=lambda self, v, t: (v.sqrt() + self.eps) / math.sqrt(self.correction2(t)))),
        ("eps_missing", "Your eps is missing: where gradients are tiny, the step is not", dict(divisor=lambda self, v, t: (v / self.correction2(t)).sqrt())),
        ("root_missing", "Your step is divided by v, and not by its root", dict(divisor=lambda self, v, t: v / self.correction2(t) + self.eps)),
        ("not_divided", "Your step is the mean gradient itself. Divide it by sqrt(v) + eps", dict(divisor=lambda self, v, t: 1)),
        ("betas_exchanged", "Your m is a mean by beta2, and v by beta1. It is the other way round",
         dict(mean=lambda self, m, g: self.beta2 * m + (1 - self.beta2) * g,
              squares=lambda self, v, g, m: self.beta1 * v + (1 - self.beta1) * g * g,
              correction1=lambda self, t: 1 - self.beta2**t, correction2=lambda self, t: 1 - self.beta1**t)),
        ("shares_exchanged", "Your m and v keep 1 - beta of themselves. They keep beta, and take 1 - beta of what is new",
         dict(mean=lambda self, m, g: (1 - self.beta1) * m + self.beta1 * g,
              squares=lambda self, v, g, m: (1 - self.beta2) * v + self.beta2 * g * g)),
        ("share_of_g_missing", "Your m takes the whole gradient. It takes 1 - beta1 of it", dict(mean=lambda self, m, g: self.beta1 * m + g)),
        ("share_of_square_missing", "Your v takes the whole square. It takes 1 - beta2 of it",
         dict(squares=lambda self, v, g, m: self.beta2 * v + g * g)),
        ("not_squared", "Your v is a mean of gradients. Square them", dict(squares=lambda self, v, g, m: self.beta2 * v + (1 - self.beta2) * g)),
        ("square_in_m", "Your m is a mean of squares. It is one of the gradients; v is that of squares",
         dict(mean=lambda self, m, g: self.beta1 * m + (1 - self.beta1) * g * g)),
        ("beta1_for_both", "Your v is a mean by beta1, as m is. It is one by beta2",
         dict(squares=lambda self, v, g, m: self.beta1 * v + (1 - self.beta1) * g * g)),
        ("beta2_for_both", "Your m is a mean by beta2, as v is. It is one by beta1", dict(mean=lambda self, m, g: self.beta2 * m + (1 - self.beta2) * g)),
        ("share_of_m_for_v", "Your v takes 1 - beta1 of the square. It takes 1 - beta2",
         dict(squares=lambda self, v, g, m: self.beta2 * v + (1 - self.beta1) * g * g)),
        ("beta1_missing", "Your m keeps all of itself. It keeps beta1, and takes 1 - beta1 of the gradient",
         dict(mean=lambda self, m, g: m + (1 - self.beta1) * g)),
        ("beta2_missing", "Your v keeps all of itself. It keeps beta2, and takes 1 - beta2 of the square",
         dict(squares=lambda self, v, g, m: v + (1 - self.beta2) * g * g)),
        ("sum_of_squares", "Your v is the sum of all squares, as Adagrad's is. It is a mean, beta2 v + (1 - beta2) g^2",
         dict(squares=lambda self, v, g, m: v + g * g)),
        ("share_squared", "Your 1 - beta2 is squared with the gradient. Square the gradient alone",
         dict(squares=lambda self, v, g, m: self.beta2 * v + ((1 - self.beta2) * g)**2)),
        ("magnitude_for_square", "Your v is a mean of magnitudes. Square the gradients",
         dict(squares=lambda self, v, g, m: self.beta2 * v + (1 - self.beta2) * g.abs())),
        ("square_of_m", "Your v is a mean of the squares of m. Square the gradient",
         dict(squares=lambda self, v, g, m: self.beta2 * v + (1 - self.beta2) * m * m)),
        ("v_about_m", "Your v is the spread of the gradients about m. It is the mean of their squares",
         dict(squares=lambda self, v, g, m: self.beta2 * v + (1 - self.beta2) * (g - m)**2)),
        ("first_gradient_for_all", "Your gradient is the first number's for all. Number i has its own, gradient[i]",
         dict(pulled=lambda self, w, g: g[:1].expand(len(g)))),
        ("gradient_for_m", "Your step takes the gradient itself. It takes their mean, m",
         dict(update=lambda self, m, v, t, g, before: g / self.divisor(v, t))),
        ("rmsprop", "Your step takes the gradient itself, and nothing is corrected: that is RMSprop. Keep m, and divide both by 1 - beta^step",
         dict(mean=lambda self, m, g: m, update=lambda self, m, v, t, g, before: g / (v.sqrt() + self.eps))),
        ("sgd_with_momentum", "Your step is beta1 m + g, and v is not touched: that is SGD with momentum. Keep v, and divide by its root",
         dict(mean=lambda self, m, g: self.beta1 * m + g, squares=lambda self, v, g, m: v, update=lambda self, m, v, t, g, before: m)),
        ("lion", "Your step is the sign of beta1 m + (1 - beta1) g: that is Lion. AdamW keeps v, and divides m by its root", dict(take=lion)),
        ("sign_of_m", "Your step is the sign of m. It is m, divided by sqrt(v) + eps",
         dict(update=lambda self, m, v, t, g, before: m.sign())),
        ("amsgrad", "Your v never falls: that is AMSGrad. It is a mean, beta2 v + (1 - beta2) g^2, and falls where gradients do",
         dict(squares=lambda self, v, g, m: torch.maximum(v, self.beta2 * v + (1 - self.beta2) * g * g))),
        ("larger_of_two", "Your step is divided by the larger v, the new one or that of before, as in AMSGrad. It is divided by the new one",
         dict(update=lambda self, m, v, t, g, before: m / self.correction1(t) / self.divisor(torch.maximum(before[1], v), t))),
        ("amsgrad_beside_v", "Your step is divided by the largest v that there has been: that is AMSGrad. It is divided by v, which falls where "
         "gradients do", dict(update=divided_by_the_largest)),
        ("adamax", "Your v is the largest of the last gradients: that is Adamax. It is a mean of their squares",
         dict(squares=lambda self, v, g, m: torch.maximum(self.beta2 * v, g.abs()), divisor=lambda self, v, t: v + self.eps)),
        ("adabelief", "Your v is the spread of the gradients about m, plus eps: that is AdaBelief. It is the mean of their squares",
         dict(squares=lambda self, v, g, m: self.beta2 * v + (1 - self.beta2) * (g - m)**2 + self.eps)),
        ("nesterov", "Your step takes beta1 m + (1 - beta1) g with the m that already has g: that is Nesterov's. It takes m",
         dict(update=lambda self, m, v, t, g, before: (self.beta1 * m + (1 - self.beta1) * g) / self.correction1(t) / self.divisor(v, t))),
        ("gradient_clipped", "Your gradients are cut to -1 .. 1, one by one. Clipping is clip_gradient's, and before",
         dict(pulled=lambda self, w, g: g.clamp(-1, 1))),
        ("zero_gradients_skipped", "Where a gradient is 0 you leave its weight, m and v as they are. They decay, and m moves the weight on",
         dict(take=none_for_zero)),
        ("m_of_before", "Your step takes m of before. Take the new gradient into it first",
         dict(update=lambda self, m, v, t, g, before: before[0] / self.correction1(t) / self.divisor(v, t))),
        ("v_of_before", "Your step is divided by v of before. Take the new gradient into it first",
         dict(update=lambda self, m, v, t, g, before: m / self.correction1(t) / self.divisor(before[1], t))),
        ("both_of_before", "Your step is made of m and v of before. Take the new gradient into both first",
         dict(update=lambda self, m, v, t, g, before: before[0] / self.correction1(t) / self.divisor(before[1], t))),
        ("halves_in_m", "Your m is halfway between m and the gradient. It keeps beta1 of itself, and takes 1 - beta1", by_means(HALF["m"])),
        ("halves_in_v", "Your v is halfway between v and the square. It keeps beta2 of itself, and takes 1 - beta2", by_means(v_of=HALF["v"])),
        ("halves_in_both", "Your m and v are halfway between what they were and what is new. They keep beta of themselves, and take 1 - beta",
         by_means(HALF["m"], HALF["v"])),
        ("mean_of_all_in_m", "Your m is the mean of all gradients since the first. It forgets: beta1 m + (1 - beta1) g", by_means(OVERALL["m"])),
        ("mean_of_all_in_v", "Your v is the mean of all squares since the first. It forgets: beta2 v + (1 - beta2) g^2", by_means(v_of=OVERALL["v"])),
        ("mean_of_all_in_both", "Your m and v are means of all since the first. They forget: beta of what was, and 1 - beta of what is new",
         by_means(OVERALL["m"], OVERALL["v"])),
        ("uphill", "Your step goes uphill. Subtract it", dict(moved=lambda self, w, u: self.decayed(w) + self.rate * u)),
        ("rate_missing", "Your step is not multiplied with the rate", dict(moved=lambda self, w, u: self.decayed(w) - u)),
        ("memories_not_kept", "Your m and v are what they were before the step. Write them back",
         dict(kept=lambda self, m, v, t, before: before)),
        ("memories_from_zero", "Your m and v begin anew in each step. Read what the last step left there",
         dict(mean=lambda self, m, g: (1 - self.beta1) * g, squares=lambda self, v, g, m: (1 - self.beta2) * g * g))]:
    adamw.wrong(name, advice, stepping(variant))


adamw.wrong("does_nothing", "Your weights, m and v are what they were before. The kernel changes all three",
            stepping(touched=lambda new, old: old))
adamw.wrong("first_alone", "Your loop changes the first number alone. It runs over all n",
            stepping(touched=lambda new, old: torch.cat([new[:1], old[1:]])))
adamw.wrong("last_left_out", "Your loop ends one number too early. It runs over 0 .. n - 1",
            stepping(touched=lambda new, old: torch.cat([new[:-1], old[-1:]])))
for lanes in 4, 8, 16:
    adamw.wrong(f"tail_of_{lanes}_dropped", f"Your loop ends with the last full vector of {lanes}. Do the numbers that are left over, too",
                stepping(touched=lambda new, old, lanes=lanes: torch.cat([new[:len(new) // lanes * lanes],
                                                                          old[len(new) // lanes * lanes:]])))

LLAMA = dict(rate=3e-3, beta1=0.9, beta2=0.95, eps=1e-5, decay=0.1)


def squares(n, scale=1.0):
    return lambda random: scale * random.standard_normal(n)**2


for name, sentence, inputs in [
        ("by_hand", "One step: 1 becomes 0.98 by the decay, and 0.88 by the step, whatever the size of the gradient.",
         dict(weight=[1, -1, 2], m=[0, 0, 0], v=[0, 0, 0], gradient=[[0.5, 0.5, -8]], step=1, rate=0.1, beta1=0.5, beta2=0.75,
              eps=1e-8, decay=0.2)),
        ("second_step", "The second step goes on from what the first left.",
         dict(weight=normal(7), m=normal(7), v=squares(7), gradient=normal(1, 7), step=2, **LLAMA)),
        ("twenty_steps", "Twenty steps from nothing, with Llama's settings.",
         dict(weight=normal(19), m=np.zeros(19), v=np.zeros(19), gradient=normal(20, 19), step=1, **LLAMA)),
        ("large_rate", "Five steps with a large rate and much decay: the order of the two shows.",
         dict(weight=normal(23), m=np.zeros(23), v=np.zeros(23), gradient=normal(5, 23), step=1, rate=0.1, beta1=0.9, beta2=0.99,
              eps=1e-8, decay=0.5)),
        ("no_decay", "A norm's vector does not decay.",
         dict(weight=normal(17, shift=1, scale=0.1), m=np.zeros(17), v=np.zeros(17), gradient=normal(6, 17, scale=0.01), step=1,
              **LLAMA | dict(decay=0.0))),
        ("late", "Steps 1000 to 1002: there is nothing left to correct.",
         dict(weight=normal(33), m=normal(33, scale=0.1), v=squares(33, 0.01), gradient=normal(3, 33, scale=0.1), step=1000,
              rate=1e-2, beta1=0.9, beta2=0.999, eps=1e-8, decay=0.1)),
        ("small_gradients", "Gradients of about eps: it keeps their steps small.",
         dict(weight=normal(13, scale=0.02), m=np.zeros(13), v=np.zeros(13), gradient=normal(4, 13, scale=1e-5), step=1, **LLAMA)),
        ("tiny_gradients", "Gradients of 1e-12 with an eps that is smaller: they count as much as others.",
         dict(weight=normal(11, scale=0.02), m=np.zeros(11), v=np.zeros(11), gradient=normal(4, 11, scale=1e-12), step=1,
              rate=1e-2, beta1=0.9, beta2=0.95, eps=1e-14, decay=0.1)),
        ("rare", "Most gradients are 0, as those of a rare token's embedding.",
         dict(weight=normal(21), m=np.zeros(21), v=np.zeros(21), step=1,
              gradient=lambda random: random.standard_normal((6, 21)) * (random.random((6, 21)) < 0.2), **LLAMA)),
        ("one_number", "A single weight.", dict(weight=[0.5], m=[0.25], v=[0.5], gradient=[[-1]], step=3, **LLAMA | dict(rate=0.05))),
        ("ragged", "133 weights: no multiple of a vector.",
         dict(weight=normal(133), m=normal(133), v=squares(133), gradient=normal(2, 133), step=5, **LLAMA)),
        ("many", "1100 weights.", dict(weight=normal(1100), m=normal(1100), v=squares(1100), gradient=normal(2, 1100), step=4, **LLAMA))]:
    for of, what in enumerate(["weight", "m", "v"]):
        if of == 0 or name in ("by_hand", "second_step", "twenty_steps", "rare"):
            adamw.case(f"{name}_{what}", sentence, of=of, **inputs)


# --- Muon --------------------------------------------------------------------------------------------------

def torch_muon(weight, m, gradient, rate, beta, decay, of):
    """torch.optim.Muon rounds the mean gradient, and all that it makes of it, to bfloat16: three digits, which no float32
    could be judged by. That one line of it is taken out; all the rest is PyTorch's own. (How far bfloat16 is from this:
    17_run.py.)"""
    weight = weight.clone()
    optimizer = torch.optim.Muon([weight], lr=rate, momentum=beta, weight_decay=decay)
    optimizer.state[weight] = memory = dict(momentum_buffer=m.clone())
    with mock.patch.object(torch.Tensor, "bfloat16", torch.Tensor.clone):
        for weight.grad in gradient:
            optimizer.step()
    return [weight, memory["momentum_buffer"]][of]


class Turn:
    """One step of Muon, spelled out; each mistake changes one line of it."""
    steps, coefficients = 5, (3.4445, -4.7750, 2.0315)

    def __init__(self, rate, beta, decay):
        self.rate, self.beta, self.decay = rate, beta, decay

    def pulled(self, weight, g):
        return g

    def mean(self, m, g):
        return self.beta * m + (1 - self.beta) * g

    def looked_ahead(self, m, g):
        return self.beta * m + (1 - self.beta) * g

    def norm(self, x):
        return x.square().sum().sqrt()

    def normed(self, x):
        return x / self.norm(x).clamp(min=1e-7)

    def iterated(self, x):
        a, b, c = self.coefficients
        gram = x @ x.T
        return a * x + (b * gram + c * gram @ gram) @ x

    def orthogonal(self, x):
        x = self.normed(x)
        for _ in range(self.steps):
            x = self.iterated(x)
        return x

    def turned(self, x):
        return self.orthogonal(x.T).T if x.shape[0] > x.shape[1] else self.orthogonal(x)

    def scale(self, rows, columns):
        return math.sqrt(max(1, rows / columns))

    def decayed(self, weight):
        return weight - self.rate * self.decay * weight

    def moved(self, weight, x):
        return self.decayed(weight) - self.rate * self.scale(*weight.shape) * x

    def kept(self, m, x, before):
        return m

    def take(self, weight, m, gradient):
        g, before = self.pulled(weight, gradient), m
        m = self.mean(m, g)
        x = self.looked_ahead(m, g)
        return self.moved(weight, self.turned(x)), self.kept(m, x, before)


def turning(variant=None, touched=lambda new, old: new):
    def formula(weight, m, gradient, rate, beta, decay, of):
        one = type("Variant", (Turn,), variant or {})(rate, beta, decay)
        before = weight, m
        for g in gradient:
            weight, m = one.take(weight, m, g)
        return touched((weight, m)[of], before[of])
    return formula


def exactly(self, x):
    """The nearest matrix with rows at right angles, by its singular values."""
    try:
        u, _, v = torch.linalg.svd(x, full_matrices=False)
    except RuntimeError:
        return x
    return u @ v


def not_turned_back(self, x):
    return self.orthogonal(x.T).reshape(x.shape) if x.shape[0] > x.shape[1] else self.orthogonal(x)


def with_default(one):
    one.beta = one.beta or 0.95
    return one


muon = Kernel("muon", CHAPTER, "torch.optim.Muon, without its rounding to bfloat16", torch_muon, turning(), mixes=True)
for name, advice, variant in [
        ("not_orthogonalized", "Your step is the mean gradient itself: SGD with momentum. Lead its singular values to 1 first",
         dict(turned=lambda self, x: x)),
        ("normed_alone", "Your step is the mean gradient divided by its norm. Five steps of Newton and Schulz follow",
         dict(turned=lambda self, x: self.normed(x))),
        ("signs", "Your step takes the sign of each number. Muon makes the directions alike, and not the numbers",
         dict(turned=lambda self, x: x.sign())),
        ("exactly_orthogonal", "Your singular values are all 1. Muon's five steps leave them between 0.7 and 1.2, and PyTorch's answer is that",
         dict(turned=exactly)),
        ("plain_cubic", "Your iteration is the classical one, 1.5 x - 0.5 (x x^T) x, which is too slow for small singular values. Muon's "
         "coefficients are 3.4445, -4.7750, 2.0315", dict(coefficients=(1.5, -0.5, 0.0))),
        ("plain_quintic", "Your iteration has the classical coefficients 15/8, -10/8, 3/8, which are too slow for small singular values. Muon's "
         "are 3.4445, -4.7750, 2.0315", dict(coefficients=(15 / 8, -10 / 8, 3 / 8))),
        ("older_quintic", "Your coefficients are 2, -1.5, 0.5. Muon's are 3.4445, -4.7750, 2.0315", dict(coefficients=(2.0, -1.5, 0.5))),
        ("coefficients_exchanged", "Your b and c are exchanged: b, -4.7750, belongs to x x^T, and c, 2.0315, to its square",
         dict(coefficients=(3.4445, 2.0315, -4.7750))),
        ("square_missing", "Your c (x x^T)^2 x is missing", dict(coefficients=(3.4445, -4.7750, 0.0))),
        ("ten_steps", "Your iteration takes ten steps. It takes five", dict(steps=10)),
        ("four_steps", "Your iteration takes four steps. It takes five", dict(steps=4)),
        ("six_steps", "Your iteration takes six steps. It takes five", dict(steps=6)),
        ("one_step", "Your iteration takes a single step. It takes five", dict(steps=1)),
        ("norm_missing", "Your matrix is not divided by its norm before the iteration, which leads singular values above 1.3 astray",
         dict(norm=lambda self, x: torch.ones_like(x[0, 0]))),
        ("norm_of_rows", "Your rows are divided each by its own norm. There is one norm, of all numbers of the matrix",
         dict(norm=lambda self, x: x.square().sum(1, keepdim=True).sqrt())),
        ("norm_of_columns", "Your columns are divided each by its own norm. There is one norm, of all numbers of the matrix",
         dict(norm=lambda self, x: x.square().sum(0, keepdim=True).sqrt())),
        ("root_of_norm_missing", "Your matrix is divided by the sum of the squares. Take the root", dict(norm=lambda self, x: x.square().sum())),
        ("largest_for_norm", "Your matrix is divided by its largest number. Divide by the root of the sum of all squares",
         dict(norm=lambda self, x: x.abs().max())),
        ("mean_for_sum", "Your norm is the root of the mean square. It is that of the sum",
         dict(norm=lambda self, x: x.square().mean().sqrt())),
        ("least_missing", "Your norm may be 0, and 0 / 0 is NaN: divide by 1e-7 where the norm is less", dict(normed=lambda self, x: x / self.norm(x))),
        ("least_added", "Your 1e-7 is added to the norm. It is the least that is divided by", dict(normed=lambda self, x: x / (self.norm(x) + 1e-7))),
        ("not_turned_back", "Your tall matrix was turned, and not turned back", dict(turned=not_turned_back)),
        ("powers_of_numbers", "Your iteration takes each number's third and fifth power. They are products of matrices: (b x x^T + c (x x^T)^2) x",
         dict(iterated=lambda self, x: self.coefficients[0] * x + self.coefficients[1] * x**3 + self.coefficients[2] * x**5)),
        ("b_positive", "Your b is 4.7750. It is -4.7750", dict(coefficients=(3.4445, 4.7750, 2.0315))),
        ("nesterov_missing", "Your step takes m itself. It is Nesterov's: beta m + (1 - beta) g with the m that already has g",
         dict(looked_ahead=lambda self, m, g: m)),
        ("momentum_missing", "Your step takes the gradient itself. It takes beta m + (1 - beta) g", dict(looked_ahead=lambda self, m, g: g)),
        ("whole_gradient_ahead", "Your step takes beta m + g. It takes 1 - beta of g", dict(looked_ahead=lambda self, m, g: self.beta * m + g)),
        ("shares_missing", "Your m and your step take the whole gradient, as the first Muon did. PyTorch's take 1 - beta of it",
         dict(mean=lambda self, m, g: self.beta * m + g, looked_ahead=lambda self, m, g: self.beta * m + g)),
        ("ahead_exchanged", "Your step takes (1 - beta) m + beta g. It is the other way round",
         dict(looked_ahead=lambda self, m, g: (1 - self.beta) * m + self.beta * g)),
        ("share_of_g_missing", "Your m takes the whole gradient. PyTorch's takes 1 - beta of it", dict(mean=lambda self, m, g: self.beta * m + g)),
        ("shares_exchanged", "Your m keeps 1 - beta of itself. It keeps beta, and takes 1 - beta of what is new",
         dict(mean=lambda self, m, g: (1 - self.beta) * m + self.beta * g)),
        ("ahead_kept", "Your m is kept with Nesterov's look ahead. Keep the mean", dict(kept=lambda self, m, x, before: x)),
        ("memory_not_kept", "Your m is what it was before the step. Write it back", dict(kept=lambda self, m, x, before: before)),
        ("memory_from_zero", "Your m begins anew in each step. Read what the last step left there", dict(mean=lambda self, m, g: (1 - self.beta) * g)),
        ("scale_missing", "Your step is not multiplied with sqrt(max(1, rows / columns)): a tall matrix takes longer steps",
         dict(scale=lambda self, rows, columns: 1)),
        ("scale_upside_down", "Your scale is sqrt(max(1, columns / rows)). It is sqrt(max(1, rows / columns))",
         dict(scale=lambda self, rows, columns: math.sqrt(max(1, columns / rows)))),
        ("scale_below_one", "Your scale is sqrt(rows / columns). It is never below 1", dict(scale=lambda self, rows, columns: math.sqrt(rows / columns))),
        ("root_of_scale_missing", "Your scale is max(1, rows / columns). Take the root", dict(scale=lambda self, rows, columns: max(1, rows / columns))),
        ("scale_in_whole_numbers", "Your rows / columns is a division of whole numbers. Divide as double",
         dict(scale=lambda self, rows, columns: math.sqrt(max(1, rows // columns)))),
        ("scale_of_adamw", "Your scale is 0.2 sqrt(max(rows, columns)), which makes steps as long as AdamW's: PyTorch's match_rms_adamw. Unless it "
         "is asked, it is sqrt(max(1, rows / columns))", dict(scale=lambda self, rows, columns: 0.2 * math.sqrt(max(rows, columns)))),
        ("decay_in_the_gradient", "Your decay is added to the gradient, and so goes through m. Take it off the weight itself: weight -= rate decay weight",
         dict(pulled=lambda self, w, g: g + self.decay * w, decayed=lambda self, w: w)),
        ("decay_scaled", "Your decay is multiplied with sqrt(max(1, rows / columns)). Only the step is",
         dict(decayed=lambda self, w: w - self.rate * self.scale(*w.shape) * self.decay * w)),
        ("decay_missing", "Your weights do not decay. Take rate decay weight off each", dict(decayed=lambda self, w: w)),
        ("decay_of_0_replaced", "Your decay is 0.1, PyTorch's default, where 0 is given. 0 is a decay like others: none",
         dict(decayed=lambda self, w: w - self.rate * (self.decay or 0.1) * w)),
        ("beta_of_0_replaced", "Your beta is 0.95, PyTorch's default, where 0 is given. 0 is a beta like others: no memory",
         dict(mean=lambda self, m, g: Turn.mean(with_default(self), m, g), looked_ahead=lambda self, m, g: Turn.mean(with_default(self), m, g))),
        ("decay_without_rate", "Your decay is not multiplied with the rate. It is rate decay weight", dict(decayed=lambda self, w: w - self.decay * w)),
        ("decay_grows", "Your decay makes the weights larger. Subtract it", dict(decayed=lambda self, w: w + self.rate * self.decay * w)),
        ("decay_after_the_step", "Your decay is of the weight after its step. It is of the weight before",
         dict(moved=lambda self, w, x: self.decayed(w - self.rate * self.scale(*w.shape) * x))),
        ("uphill", "Your step goes uphill. Subtract it", dict(moved=lambda self, w, x: self.decayed(w) + self.rate * self.scale(*w.shape) * x)),
        ("rate_missing", "Your step is not multiplied with the rate", dict(moved=lambda self, w, x: self.decayed(w) - self.scale(*w.shape) * x))]:
    muon.wrong(name, advice, turning(variant))
muon.wrong("does_nothing", "Your weights and m are what they were before. The kernel changes both", turning(touched=lambda new, old: old))
muon.wrong("first_row_alone", "Your loop changes the first row alone. It runs over all rows",
           turning(touched=lambda new, old: torch.cat([new[:1], old[1:]])))
muon.wrong("last_row_left_out", "Your loop ends one row too early", turning(touched=lambda new, old: torch.cat([new[:-1], old[-1:]])))
muon.wrong("last_column_left_out", "Your loop ends one column too early",
           turning(touched=lambda new, old: torch.cat([new[:, :-1], old[:, -1:]], dim=1)))

USUAL = dict(rate=0.02, beta=0.95, decay=0.1)


def matrices(steps, rows, columns, **how):
    return dict(weight=normal(rows, columns, scale=0.3), m=np.zeros((rows, columns)), gradient=normal(steps, rows, columns, **how))


def one_direction(random):
    """A text of a single token: its gradient is a column times a row."""
    return random.standard_normal((1, 5, 1)) * random.standard_normal((1, 1, 6))


for name, sentence, inputs in [
        ("by_hand", "One step on two directions, one four times as long as the other: they come out nearly alike.",
         dict(weight=[[1, 0], [0, 1]], m=[[0, 0], [0, 0]], gradient=[[[4, 0], [0, -1]]], rate=0.1, beta=0.5, decay=0.2)),
        ("square", "A square matrix, and a memory of former steps.", matrices(2, 6, 6) | dict(m=normal(6, 6, scale=0.1)) | USUAL),
        ("wide", "More columns than rows.", matrices(2, 4, 9) | USUAL),
        ("tall", "More rows than columns: turned, orthogonalized, turned back; and its steps are longer.", matrices(2, 9, 4) | USUAL),
        ("twenty_steps", "Twenty steps from nothing.", matrices(20, 5, 6) | USUAL),
        ("twenty_steps_tall", "Twenty steps of a tall matrix.", matrices(20, 7, 3) | USUAL),
        ("large_rate", "Five steps with a large rate and much decay: the order of the two shows.",
         matrices(5, 6, 5) | dict(rate=0.3, beta=0.9, decay=0.9)),
        ("no_decay", "Without decay, and without a memory.", matrices(3, 4, 6) | dict(rate=0.1, beta=0.0, decay=0.0)),
        ("row", "A matrix of one row is one direction.", matrices(3, 1, 11) | USUAL),
        ("column", "And so is one of one column.", matrices(3, 10, 1) | USUAL),
        ("one_number", "A single weight.", dict(weight=[[0.5]], m=[[0.25]], gradient=[[[-1]]]) | USUAL),
        ("one_direction", "A gradient of one direction: all other singular values are 0, and stay so.",
         matrices(1, 5, 6) | dict(gradient=one_direction) | USUAL),
        ("large_gradients", "Gradients of 1000: their size does not matter.", matrices(2, 4, 4, scale=1000) | USUAL),
        ("tiny_gradients", "Gradients of 1e-9, whose norm is below 1e-7: their steps stay smaller.", matrices(2, 4, 5, scale=1e-9) | USUAL),
        ("small_gradients", "Gradients of 1e-7: dividing by the norm, or by a little more, is not the same.", matrices(2, 4, 5, scale=1e-7) | USUAL),
        ("nothing", "No gradient: the weights decay, and that is all.", matrices(2, 5, 4, scale=0) | USUAL | dict(decay=2.0)),
        ("ragged", "33 times 17.", matrices(2, 33, 17) | USUAL),
        ("larger", "40 times 60.", matrices(1, 40, 60, scale=1e-3) | USUAL)]:
    for of, what in enumerate(["weight", "m"]):
        if of == 0 or name in ("by_hand", "square", "tall", "twenty_steps"):
            muon.case(f"{name}_{what}", sentence, of=of, **inputs)


# --- Clipping ----------------------------------------------------------------------------------------------

def parts(gradient, sizes):
    return torch.split(gradient, [int(size) for size in sizes])


def each_call(function):
    """A gradient of several rows is clipped in as many calls."""
    def calls(gradient, sizes, max_norm, of_norm):
        answers = [function(row, sizes, max_norm, of_norm) for row in torch.atleast_2d(gradient)]
        return torch.cat(answers) if of_norm or gradient.ndim == 1 else torch.stack(answers)
    return calls


@each_call
def torch_clip(gradient, sizes, max_norm, of_norm):
    """PyTorch's float32 squares are infinite from 1e19 on, and 0 below 1e-23: there it is asked in float64."""
    wide = not 1e-18 < gradient.abs().max() < 1e18 and gradient.isfinite().all()
    pieces = parts(gradient.double() if wide else gradient, sizes)
    arrays = [torch.zeros_like(piece) for piece in pieces]
    for array, array.grad in zip(arrays, [piece.clone() for piece in pieces]):
        pass
    norm = torch.nn.utils.clip_grad_norm_(arrays, max_norm)
    return (norm.reshape(1) if of_norm else torch.cat([array.grad for array in arrays])).to(gradient.dtype)


def norm_of(gradient):
    return gradient.square().sum().sqrt()


def clipping(norm=lambda g, sizes: norm_of(g), factor=lambda norm, most: most / (norm + 1e-6), least=1.0,
             said=lambda norm, most: norm, clipped=None):
    @each_call
    def formula(gradient, sizes, max_norm, of_norm):
        n = norm(gradient, sizes)
        if of_norm:
            return said(n, max_norm).reshape(1)
        if clipped is not None:
            return clipped(gradient, sizes, max_norm)
        scale = factor(n, max_norm)
        return gradient * (scale.clamp(max=least) if least else scale)
    return formula


def each_by_itself(gradient, sizes, max_norm):
    return torch.cat([part * (max_norm / (norm_of(part) + 1e-6)).clamp(max=1.0) for part in parts(gradient, sizes)])


def some_arrays_alone(which):
    def clipped(gradient, sizes, max_norm):
        pieces = list(parts(gradient, sizes))
        for a in range(len(pieces))[which]:
            pieces[a] = pieces[a] * (max_norm / (norm_of(gradient) + 1e-6)).clamp(max=1.0)
        return torch.cat(pieces)
    return clipped


clip = Kernel("clip_gradient", CHAPTER, "torch.nn.utils.clip_grad_norm_", torch_clip, clipping(), mixes=True)
for name, advice, how in [
        ("by_value", "Your numbers are clipped one by one. All are multiplied with one factor, so that the direction stays",
         dict(clipped=lambda g, sizes, most: g.clamp(-most, most))),
        ("each_array_by_itself", "Your arrays are clipped each by its own norm. There is one norm, of all of them together",
         dict(clipped=each_by_itself)),
        ("always_scaled", "Your gradients are scaled up where they are small. Only what is above max_norm is changed", dict(least=None)),
        ("eps_missing", "Your factor is max_norm / norm. PyTorch's is max_norm / (norm + 1e-6)",
         dict(factor=lambda norm, most: most / norm)),
        ("another_epsilon", "Your factor is max_norm / (norm + 1e-8). PyTorch's has 1e-6", dict(factor=lambda norm, most: most / (norm + 1e-8))),
        ("square_compared", "Your sum of squares is compared with max_norm. Compare its root, the norm",
         dict(factor=lambda norm, most: most / (norm + 1e-6) if norm * norm > most else torch.ones_like(norm))),
        ("factor_squared", "Your gradients are multiplied with the factor twice. Once is enough",
         dict(factor=lambda norm, most: (most / (norm + 1e-6)).clamp(max=1.0)**2)),
        ("eps_in_the_root", "Your factor is max_norm / sqrt(norm^2 + 1e-6). PyTorch's is max_norm / (norm + 1e-6)",
         dict(factor=lambda norm, most: most / (norm**2 + 1e-6).sqrt())),
        ("factor_upside_down", "Your factor is norm / max_norm. It is the other way round", dict(factor=lambda norm, most: norm / most)),
        ("max_norm_missing", "Your factor is 1 / norm. It is max_norm / norm", dict(factor=lambda norm, most: 1 / (norm + 1e-6))),
        ("norms_added", "Your norm adds up the arrays' norms. Add up their squares, and take the root",
         dict(norm=lambda g, sizes: sum(norm_of(part) for part in parts(g, sizes)))),
        ("root_missing", "Your root is missing: the norm is the root of the sum of the squares", dict(norm=lambda g, sizes: g.square().sum())),
        ("mean_of_squares", "Your sum of squares is divided by its count. It is a norm, and no root mean square",
         dict(norm=lambda g, sizes: g.square().mean().sqrt())),
        ("mean_of_norms", "Your norm is the mean of the arrays' norms. Add up their squares, and take the root",
         dict(norm=lambda g, sizes: sum(norm_of(part) for part in parts(g, sizes)) / len(sizes))),
        ("sum_of_magnitudes", "Your norm adds up magnitudes. Add up squares, and take the root", dict(norm=lambda g, sizes: g.abs().sum())),
        ("largest", "Your norm is the largest magnitude. Add up squares, and take the root", dict(norm=lambda g, sizes: g.abs().max())),
        ("squares_in_float32", "Your squares are float32: infinite from 1e19 on, and 0 below 1e-23. Square and add in double",
         dict(norm=lambda g, sizes: norm_of(g.float()).to(g.dtype))),
        ("first_array_alone", "Your norm is the first array's. It is that of all arrays together",
         dict(norm=lambda g, sizes: norm_of(parts(g, sizes)[0]))),
        ("last_array_alone", "Your norm is the last array's. It is that of all arrays together: +=, and not =",
         dict(norm=lambda g, sizes: norm_of(parts(g, sizes)[-1]))),
        ("first_array_clipped", "Your first array alone is clipped. Go through all of them", dict(clipped=some_arrays_alone(slice(1)))),
        ("last_array_not_clipped", "Your last array is not clipped. Go through all of them", dict(clipped=some_arrays_alone(slice(-1)))),
        ("norm_after", "Your result is the norm after clipping. Give the norm as it was before",
         dict(said=lambda norm, most: (most * norm / (norm + 1e-6)).clamp(max=norm.item()))),
        ("factor_returned", "Your result is the factor. Give the norm as it was before", dict(said=lambda norm, most: (most / (norm + 1e-6)).clamp(max=1.0)))]:
    clip.wrong(name, advice, clipping(**how))
clip.wrong("does_nothing", "Your gradients are what they were before, and no norm is given", clipping(
    clipped=lambda g, sizes, most: g, said=lambda norm, most: torch.zeros_like(norm)))
clip.wrong("not_clipped", "Your gradients are what they were before, though their norm is above max_norm",
           clipping(clipped=lambda g, sizes, most: g))
clip.wrong("nan_is_not_above", "Your gradients stay where the norm is NaN, which is above nothing. All become NaN, so that it is seen: leave "
           "them only where the factor is 1 or more",
           clipping(factor=lambda norm, most: torch.ones_like(norm) if norm.isnan() else most / (norm + 1e-6)))
clip.wrong("nan_is_nothing", "Your norm is 0 where it is NaN, as every comparison with NaN is false. Give NaN, and make all gradients NaN, so that "
           "it is seen", clipping(factor=lambda norm, most: torch.ones_like(norm) if norm.isnan() else most / (norm + 1e-6),
                                  said=lambda norm, most: norm.nan_to_num(nan=0.0, posinf=math.inf)))
clip.wrong("finite_alone", "Your norm passes over what is infinite or NaN. It is infinite or NaN then, too, so that it is seen",
           clipping(norm=lambda g, sizes: norm_of(g[g.isfinite()])))

for name, sentence, gradient, sizes, max_norm in [
        ("by_hand", "3 and 4 in one array, 12 in another: the norm is 13, and is to be 6.5.", [3, 4, 12], [2, 1], 6.5),
        ("small", "Below max_norm nothing is changed.", normal(14, scale=0.1), [5, 6, 3], 1.0),
        ("large", "Three arrays, one of them far larger.", normal(19, scale=[0.1] * 5 + [30] * 9 + [1] * 5), [5, 9, 5], 1.0),
        ("one_array", "A single array.", normal(31), [31], 1.0),
        ("tiny", "A norm of about 1e-4: PyTorch's 1e-6 shows.", normal(12, scale=3e-5), [4, 8], 3e-5),
        ("ragged", "Arrays of 1, 17, 130 and 33 numbers.", normal(181), [1, 17, 130, 33], 2.5),
        ("many", "2100 numbers in two arrays.", normal(2100), [2000, 100], 1.0),
        ("huge", "Numbers of 1e20, whose squares no float32 can hold.", normal(14, scale=1e20), [5, 9], 1.0),
        ("minute", "Numbers of 1e-25, whose squares are 0 in float32: the norm is not 0.", normal(14, scale=1e-25), [5, 9], 1.0),
        ("nan", "Two calls; in the second one number is NaN: so is the norm, and then every number.",
         [[0.5, 1, 2, -1, 3], [0.5, math.nan, 2, -1, 3]], [3, 2], 1.0),
        ("infinite", "Two calls; in the second one number is infinite: the factor is 0, and that number NaN.",
         [[0.5, 1, 2, -1, 3], [0.5, 1, math.inf, -1, 3]], [2, 3], 1.0)]:
    for of_norm in 0, 1:
        clip.case(f"{name}_{'norm' if of_norm else 'gradient'}", sentence, gradient=gradient,
                  sizes=torch.tensor(sizes, dtype=torch.int32), max_norm=max_norm, of_norm=of_norm)


# --- The learning rate -------------------------------------------------------------------------------------

def torch_schedule(at, warmup, steps, peak, lowest):
    """What the optimizer's rate is at each step, as PyTorch's schedulers set it."""
    optimizer = torch.optim.AdamW([torch.zeros(1)], lr=peak)
    cosine = lambda: CosineAnnealingLR(optimizer, T_max=max(steps - warmup, 1), eta_min=lowest)
    if warmup > 1:
        up = LinearLR(optimizer, start_factor=1 / warmup, total_iters=warmup - 1)
        scheduler = SequentialLR(optimizer, [up, cosine()], milestones=[warmup - 1])
    else:
        scheduler = cosine()
    rates = {}
    if warmup == 0:
        optimizer.step(), scheduler.step()  # the peak itself would be step 0's
    for step in range(1, max(int(a) for a in at) + 1):
        rates[step] = optimizer.param_groups[0]["lr"] if step <= steps else lowest
        optimizer.step()
        scheduler.step()
    return torch.tensor([rates[int(a)] for a in at], dtype=torch.get_default_dtype())


def half_cosine(way):
    return (1 + math.cos(math.pi * way)) / 2


def never(*_):
    return False


def schedule(rising=lambda step, warmup, peak, lowest: peak * step / warmup, curve=half_cosine,
             way=lambda step, warmup, steps: (step - warmup) / (steps - warmup), warms=lambda step, warmup: step <= warmup,
             ends=lambda step, steps: step >= steps, end=lambda peak, lowest: lowest,
             between=lambda share, peak, lowest: lowest + (peak - lowest) * share):
    def rate(step, warmup, steps, peak, lowest):
        if warms(step, warmup):
            return rising(step, warmup, peak, lowest)
        if ends(step, steps):
            return end(peak, lowest)
        return between(curve(way(step, warmup, steps)), peak, lowest)

    def formula(at, **inputs):
        try:
            return torch.tensor([float(rate(int(a), **inputs)) for a in at], dtype=torch.get_default_dtype())
        except ZeroDivisionError:
            return None
    return formula


rate = Kernel("learning_rate", CHAPTER, "torch.optim.lr_scheduler: LinearLR, then CosineAnnealingLR", torch_schedule, schedule(), mixes=True, sums=False)
for name, advice, how in [
        ("warm_up_from_zero", "Your first step has the rate 0 and learns nothing. Step 1 has peak / warmup",
         dict(rising=lambda step, warmup, peak, lowest: peak * (step - 1) / warmup)),
        ("warm_up_at_least_one", "Where there is no warm-up you take one of a step, which shifts the cosine. With warmup 0 step 1 is the first of "
         "the cosine: do not divide by it, and nothing else", dict(warms=lambda step, warmup: step <= max(warmup, 1),
                                                                   rising=lambda step, warmup, peak, lowest: peak * step / max(warmup, 1),
                                                                   way=lambda step, warmup, steps: (step - max(warmup, 1)) / (steps - max(warmup, 1)))),
        ("warm_up_missing", "Your rate does not warm up", dict(rising=lambda step, warmup, peak, lowest: peak)),
        ("warm_up_from_lowest", "Your warm-up begins at `lowest`. It begins at 0, and step 1 has peak / warmup",
         dict(rising=lambda step, warmup, peak, lowest: lowest + (peak - lowest) * step / warmup)),
        ("warm_up_too_long", "Your peak comes one step late: step `warmup` has it",
         dict(rising=lambda step, warmup, peak, lowest: peak * step / (warmup + 1))),
        ("warm_up_one_step_ahead", "Your warm-up is one step ahead, (step + 1) / (warmup + 1). Steps count from 1: step / warmup",
         dict(rising=lambda step, warmup, peak, lowest: peak * (step + 1) / (warmup + 1))),
        ("warm_up_in_whole_numbers", "Your step / warmup is a division of whole numbers, which is 0 up to the last. Divide as double",
         dict(rising=lambda step, warmup, peak, lowest: peak * (step // warmup))),
        ("cosine_in_whole_numbers", "Your way along the cosine is a division of whole numbers, which is 0 up to the end. Divide as double",
         dict(way=lambda step, warmup, steps: (step - warmup) // (steps - warmup))),
        ("all_in_whole_numbers", "Your step / warmup and your way along the cosine are divisions of whole numbers, which are 0 up to the last. "
         "Divide as double", dict(rising=lambda step, warmup, peak, lowest: peak * (step // warmup),
                                  way=lambda step, warmup, steps: (step - warmup) // (steps - warmup))),
        ("cosine_from_the_start", "Your cosine begins with the first step, and the rate falls at once after warm-up. It begins at the peak",
         dict(way=lambda step, warmup, steps: step / steps)),
        ("cosine_too_long", "Your cosine takes `steps` steps after warm-up, and does not reach its end. It takes steps - warmup",
         dict(way=lambda step, warmup, steps: (step - warmup) / steps)),
        ("cosine_one_step_late", "Your cosine is one step late: the step after warm-up is already on its way down",
         dict(way=lambda step, warmup, steps: (step - warmup - 1) / (steps - warmup))),
        ("cosine_goes_on", "Your rate rises again after the last step. From there it is `lowest`", dict(ends=never)),
        ("warmup_not_subtracted", "Your cosine does not begin at the peak. Its way is (step - warmup) / (steps - warmup)",
         dict(way=lambda step, warmup, steps: step / (steps - warmup))),
        ("last_step_of_warm_up", "Your step `warmup` is no step of the warm-up, and where that is all there is has `lowest`. It has the peak: "
         "step <= warmup", dict(warms=lambda step, warmup: step < warmup)),
        ("end_one_step_early", "Your rate is `lowest` one step too early. Step `steps` is the first to have it",
         dict(ends=lambda step, steps: step >= steps - 1)),
        ("zero_behind_the_end", "Your rate is 0 from the last step on. It is `lowest`", dict(end=lambda peak, lowest: 0)),
        ("cosine_a_step_too_long", "Your cosine takes one step more than there are. It takes steps - warmup",
         dict(way=lambda step, warmup, steps: (step - warmup) / (steps - warmup + 1))),
        ("cosine_a_step_too_short", "Your cosine takes one step less than there are. It takes steps - warmup",
         dict(way=lambda step, warmup, steps: (step - warmup) / (steps - warmup - 1))),
        ("inverse_root", "Your rate falls with 1 / sqrt(step), as the Transformer's of 2017 did. It falls along half a cosine",
         dict(way=lambda step, warmup, steps: math.sqrt(warmup / step), curve=lambda way: way, ends=never,
              between=lambda share, peak, lowest: peak * share)),
        ("whole_cosine", "Your cosine goes down and up again. Half of it is enough: cos(pi way), not cos(2 pi way)",
         dict(curve=lambda way: half_cosine(2 * way))),
        ("quarter_of_a_cosine", "Your curve is cos(pi/2 way). It is (1 + cos(pi way)) / 2", dict(curve=lambda way: math.cos(math.pi / 2 * way))),
        ("half_missing", "Your curve is 1 + cos(pi way), twice as high. Divide by 2", dict(curve=lambda way: 2 * half_cosine(way))),
        ("one_missing", "Your curve is cos(pi way), which is negative in its second half. It is (1 + cos(pi way)) / 2",
         dict(curve=lambda way: math.cos(math.pi * way))),
        ("upside_down", "Your rate rises after warm-up. It is (1 + cos), and not (1 - cos)", dict(curve=lambda way: 1 - half_cosine(way))),
        ("square_of_the_way", "Your rate falls along a parabola. It is half a cosine", dict(curve=lambda way: (1 - way)**2)),
        ("exponential", "Your rate falls by the same factor in every step. It is half a cosine",
         dict(curve=lambda way: way, between=lambda way, peak, lowest: peak * (lowest / peak)**way)),
        ("root_of_the_way", "Your rate falls with a root. It is half a cosine", dict(curve=lambda way: 1 - math.sqrt(way))),
        ("stays_and_then_falls", "Your rate stays at the peak, and falls in a straight line in the last fifth, as in WSD. It falls along half a cosine",
         dict(curve=lambda way: min(1, (1 - way) / 0.2))),
        ("straight_line", "Your rate falls in a straight line. It is half a cosine", dict(curve=lambda way: 1 - way)),
        ("pi_missing", "Your cosine takes the way itself. Multiply it with pi", dict(curve=lambda way: (1 + math.cos(way)) / 2)),
        ("in_degrees", "Your cosine is given 180 times the way, as degrees. C's cos takes radians: multiply with pi",
         dict(curve=lambda way: (1 + math.cos(180 * way)) / 2)),
        ("into_degrees", "Your cosine is given the way times 180 / pi. C's cos takes radians: multiply with pi",
         dict(curve=lambda way: (1 + math.cos(180 / math.pi * way)) / 2)),
        ("from_degrees", "Your cosine is given the way times pi / 180, as if it were degrees. It is a share of the way: multiply with pi",
         dict(curve=lambda way: (1 + math.cos(math.pi / 180 * way)) / 2)),
        ("lowest_missing", "Your rate falls to 0. It falls to `lowest`", dict(between=lambda share, peak, lowest: peak * share)),
        ("lowest_on_top", "Your rate is `lowest` too high at its peak. The cosine is of peak - lowest",
         dict(between=lambda share, peak, lowest: lowest + peak * share)),
        ("lowest_as_a_bound", "Your rate falls towards 0, and stops at `lowest`. The cosine itself ends there",
         dict(between=lambda share, peak, lowest: max(lowest, peak * share))),
        ("lowest_as_a_share", "Your `lowest` is taken for a share of the peak. It is a rate",
         dict(between=lambda share, peak, lowest: peak * (lowest + (1 - lowest) * share), end=lambda peak, lowest: peak * lowest)),
        ("tenth_of_the_peak", "Your rate falls to a tenth of the peak, whatever `lowest` is. It falls to `lowest`",
         dict(between=lambda share, peak, lowest: peak * (0.1 + 0.9 * share), end=lambda peak, lowest: peak / 10)),
        ("stays_at_the_peak", "Your rate stays at the peak after warm-up", dict(curve=lambda way: 1.0, ends=never)),
        ("stays_at_lowest", "Your rate falls to `lowest` at once after warm-up", dict(curve=lambda way: 0.0))]:
    rate.wrong(name, advice, schedule(**how))
for name, advice, off in [
        ("counted_from_zero", "Your schedule counts the steps from 0, so that all of it comes a step late. Step 1 is the first", -1),
        ("one_step_ahead", "Your whole schedule is one step ahead. Step 1 is the first", 1)]:
    rate.wrong(name, advice, lambda at, off=off, **inputs: schedule()(at + off, **inputs))
rate.wrong("lowest_of_0_replaced", "Your rate falls to a tenth of the peak where `lowest` is 0. 0 is a rate like others",
           lambda at, lowest, peak, **inputs: schedule()(at, lowest=lowest or peak / 10, peak=peak, **inputs))
rate.wrong("does_nothing", "Your rate is always 0", lambda at, **_: torch.zeros(len(at)))
rate.wrong("same_for_all", "Your rate is the same in every step", lambda at, peak, **_: torch.full((len(at),), peak))

for name, sentence, at, warmup, steps, peak, lowest in [
        ("by_hand", "Four steps up to 1, and four down to 0.2.", range(1, 9), 4, 8, 1.0, 0.2),
        ("to_a_tenth", "As Llama 2 was trained: 2000 steps up, down to a tenth.", [1, 2, 500, 1999, 2000, 2001, 100000, 250000, 499999, 500000],
         2000, 500000, 3e-4, 3e-5),
        ("beyond", "After the last step the rate stays.", [1, 5, 9, 10, 11, 12, 15, 20, 25], 5, 10, 0.01, 0.001),
        ("no_warm_up", "No warm-up: the first step is already on the way down.", [1, 2, 3, 10, 20, 29, 30], 0, 30, 1e-3, 1e-5),
        ("to_nothing", "Down to 0.", [1, 2, 3, 4, 5, 6, 7, 20, 39, 40, 41], 3, 40, 0.02, 0.0),
        ("one_step_up", "A warm-up of one step is none.", [1, 2, 3, 7, 12], 1, 12, 0.5, 0.05),
        ("only_up", "Warm-up to the end.", [1, 2, 3, 4, 5, 6], 6, 6, 3.0, 0.25)]:
    rate.case(name, sentence, at=torch.tensor(list(at), dtype=torch.int32), warmup=warmup, steps=steps, peak=peak, lowest=lowest)


# --- Micro-batches -----------------------------------------------------------------------------------------

def torch_shares(targets):
    """A micro-batch's share: how much of its own mean's gradient is in the gradient of the mean over all."""
    batches, rows = targets.shape
    targets = torch.where(targets < 0, -100, targets % 3).long()

    def gradient(b):
        logits = torch.zeros(batches, rows, 3).requires_grad_()
        F.cross_entropy((logits if b is None else logits[b]).reshape(-1, 3),
                        (targets if b is None else targets[b]).reshape(-1), ignore_index=-100).backward()
        return logits.grad
    all_of_it = gradient(None)
    return torch.stack([norm_of(all_of_it[b]) / norm_of(gradient(b)[b]) if (targets[b] >= 0).any() else torch.zeros(())
                        for b in range(batches)])


def shares(function):
    return lambda targets: function((targets >= 0).sum(1).to(torch.get_default_dtype()), *targets.shape)


share = Kernel("microbatch_weights", CHAPTER, "torch.nn.functional.cross_entropy under torch.autograd", torch_shares,
               shares(lambda counted, batches, rows: counted / counted.sum()), mixes=True)
for name, advice, function in [
        ("mean_of_means", "Your shares are all alike: a mean of means. A micro-batch counts by its targets",
         lambda counted, batches, rows: torch.full((batches,), 1 / batches)),
        ("sum_of_means", "Your shares are all 1: the gradients are those of a sum of means. Together the shares are 1",
         lambda counted, batches, rows: torch.ones(batches)),
        ("not_divided", "Your shares are the counts themselves. Divide by the count of all", lambda counted, batches, rows: counted),
        ("ignored_in_the_count", "Your shares are of all targets, the ignored ones among them. Divide by how many count",
         lambda counted, batches, rows: counted / (batches * rows)),
        ("of_its_own_rows", "Your shares are of the micro-batch's own rows. Divide by the count of all micro-batches",
         lambda counted, batches, rows: counted / rows),
        ("divided_twice", "Your shares are divided by the number of micro-batches as well. Together they are 1",
         lambda counted, batches, rows: counted / counted.sum() / batches),
        ("upside_down", "Your shares are all over its own. A micro-batch with more targets counts more",
         lambda counted, batches, rows: counted.sum() / counted),
        ("ignored_counted_alone", "Your shares are by the ignored targets. Count those that are not negative",
         lambda counted, batches, rows: (rows - counted) / (batches * rows - counted.sum())),
        ("of_the_largest", "Your shares are of the largest micro-batch. Divide by the count of all",
         lambda counted, batches, rows: counted / counted.max()),
        ("of_those_so_far", "Your shares are of the micro-batches up to this one. Count all of them first",
         lambda counted, batches, rows: counted / counted.cumsum(0))]:
    share.wrong(name, advice, shares(function))
share.wrong("nothing_counts_as_one", "A micro-batch without targets is counted as if it had one. It has no share",
            shares(lambda counted, batches, rows: counted.clamp(min=1) / counted.clamp(min=1).sum()))
share.wrong("mean_over_those_with_targets", "Your shares are alike for all micro-batches that have targets. A micro-batch counts by how many",
            shares(lambda counted, batches, rows: (counted > 0) / (counted > 0).sum()))
share.wrong("roots", "Your shares are by the roots of the counts. A micro-batch counts by its targets",
            shares(lambda counted, batches, rows: counted.sqrt() / counted.sqrt().sum()))
share.wrong("zero_not_counted", "Your target 0 does not count. It is a token like others: >= 0, and not > 0",
            lambda targets: (targets > 0).sum(1).to(torch.get_default_dtype()) / (targets > 0).sum())
share.wrong("minus_1_alone", "Your negative targets count, unless they are -1. None of them does",
            lambda targets: (targets != -1).sum(1).to(torch.get_default_dtype()) / (targets != -1).sum())
share.wrong("minus_100_alone", "Your negative targets count, unless they are -100. None of them does",
            lambda targets: (targets != -100).sum(1).to(torch.get_default_dtype()) / (targets != -100).sum())

share.wrong("transposed", "Your targets are read as [rows][batches]. A micro-batch is a row: targets[b][r]",
            lambda targets: (targets.reshape(targets.T.shape) >= 0).sum(0).to(torch.get_default_dtype()) / (targets >= 0).sum())

for name, sentence, targets in [
        ("by_hand", "One target counts in the first micro-batch, three in the second.", [[5, -100, -100], [1, 2, 3]]),
        ("token_0", "Token 0 counts, -1 does not.", [[0, 0, 7, -1], [0, 3, 9, 4], [-1, -100, 0, 8]]),
        ("alike", "Everything counts: the shares are alike, and 1/4.", [[1, 2], [3, 4], [5, 6], [7, 8]]),
        ("nothing_in_one", "A micro-batch without targets has no share.", [[1, 2, -100, 4], [-100] * 4, [3, -100, 6, 7]]),
        ("one_batch", "A single micro-batch has all of it.", [[9, -100, 2, -3, 4]]),
        ("ragged", "Seven micro-batches of 13 targets.",
         [[(5 * b + 3 * r) % 11 - (100 if (b * r + b) % 4 == 1 else 0) for r in range(13)] for b in range(7)])]:
    share.case(name, sentence, targets=torch.tensor(targets, dtype=torch.int32))
