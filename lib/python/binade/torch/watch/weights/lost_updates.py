# SPDX-License-Identifier: Apache-2.0
"""Updates that a weight loses in the dtype that it has: how many, and how small what the optimizer wanted was.

A weight that is after the step what it was before, beside a gradient that is not zero, has lost its update. What was wanted is
computed again, in float64 and for the lost ones alone, from the optimizer's states after its step.
"""
import dataclasses
import inspect
import math

import torch

from .... import _binade
from ...observe.tensors import local
from ..loop.settings import rate_of, stands_still
from .standing import halves, standing

SIZES = 32  # of lost updates beside an ulp: at least an ulp, then by binades below it
ILL = 0.5  # a layer that loses more than this share of its updates is named
ADVICE = dict.fromkeys(("binary16", "bfloat16"), "Keep a copy of these weights in FP32 (master weights), round stochastically or "
                       "with compensation (Kahan), or raise the learning rate.")
VANISHED, LEAST_RATE = -16, 1e-6  # log2 of an ulp, and a learning rate: from there on it is the gradients that are too small
VANISHED_ADVICE = ("That is no matter of the learning rate: the gradients vanish before they reach these weights. Look at what is saturated after them, "
                   "as the gates of an LSTM or GRU, a sigmoid, tanh or softmax whose inputs are large (a router's, too), or units that are "
                   "driven to zero: begin with smaller weights, normalise the inputs.")
DECAY_ADVICE = ("Keep a copy of these weights in FP32 (master weights), round stochastically or with compensation, or let them decay "
                "more and less often: n times as much in each n-th step, until that is more than half an ulp.")
NARROW = frozenset(ADVICE)
NADAM_TAKES_MU_TWICE = not hasattr(torch, "compile")  # torch before 2.0, in the product of its next step, where it works on one tensor at a time
FORMATS = {"F16": "binary16", "BF16": "bfloat16", "F32": "float32", "F64": "float64"}


class Picked:
    """The elements of a parameter's states that are looked at, in float64, by the state's name; and numbers."""

    def __init__(self, state, pick):
        self._state, self._pick = state, pick

    def __getitem__(self, key):
        return self._pick(self._state[key])

    def number(self, key):
        return float(self._state[key])


# Each returns (w before - w after) / lr of the elements, as it would be without rounding. w: the weight before; g: the gradient,
# negated where the optimizer maximizes; s: Picked; of: the parameter group.


def decayed(w, g, of):
    """Returns the gradient with the weight decay that is added to it."""
    return g + of.get("weight_decay", 0) * w


def sgd(w, g, s, of):
    g = decayed(w, g, of)
    if not of["momentum"]:
        return g
    buffer = s["momentum_buffer"]
    return g + of["momentum"] * buffer if of["nesterov"] else buffer


def adam(w, g, s, of):
    step, (beta1, beta2) = s.number("step"), of["betas"]
    squares = s["max_exp_avg_sq" if of["amsgrad"] else "exp_avg_sq"]
    return s["exp_avg"] / (1 - beta1**step) / (squares.sqrt() / math.sqrt(1 - beta2**step) + of["eps"])


def nadam(w, g, s, of):
    step, (beta1, beta2) = s.number("step"), of["betas"]
    product = s.number("mu_product")
    mu, after = (beta1 * (1 - 0.5 * 0.96**(t * of["momentum_decay"])) for t in (step, step + 1))
    g = g if is_decoupled(torch.optim.NAdam, of) else decayed(w, g, of)
    by = (s["exp_avg_sq"] / (1 - beta2**step)).sqrt() + of["eps"]
    next_product = product * after * (mu if NADAM_TAKES_MU_TWICE and not of.get("foreach") else 1)
    return ((1 - mu) / (1 - product) * g + after / (1 - next_product) * s["exp_avg"]) / by


def radam(w, g, s, of):
    step, (beta1, beta2) = s.number("step"), of["betas"]
    mean, rest = s["exp_avg"] / (1 - beta1**step), 1 - beta2**step
    most = 2 / (1 - beta2) - 1
    rho = most - 2 * step * beta2**step / rest
    if rho <= 5:
        return mean
    rectified = math.sqrt((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho))
    return mean * math.sqrt(rest) / (s["exp_avg_sq"].sqrt() + of["eps"]) * rectified


def adagrad(w, g, s, of):
    return decayed(w, g, of) / (1 + (s.number("step") - 1) * of["lr_decay"]) / (s["sum"].sqrt() + of["eps"])


def rmsprop(w, g, s, of):
    if of["momentum"]:
        return s["momentum_buffer"]
    # Of rounded states the difference may be below 0. Torch then makes NaN of the weight, which is no update that is lost.
    squares = (s["square_avg"] - s["grad_avg"]**2).clamp(min=0) if of["centered"] else s["square_avg"]
    return decayed(w, g, of) / (squares.sqrt() + of["eps"])


def adamax(w, g, s, of):
    return s["exp_avg"] / (1 - of["betas"][0]**s.number("step")) / s["exp_inf"]


RULES = {torch.optim.SGD: sgd, torch.optim.AdamW: adam, torch.optim.Adam: adam, torch.optim.NAdam: nadam, torch.optim.RAdam: radam,
         torch.optim.Adagrad: adagrad, torch.optim.RMSprop: rmsprop, torch.optim.Adamax: adamax}


def known_as(optimizer):
    """Returns the class of torch.optim whose step an optimizer has, where it is known what that wants; else None."""
    step = inspect.unwrap(type(optimizer).step)  # torch wraps it
    return next((kind for kind in RULES if isinstance(optimizer, kind) and inspect.unwrap(kind.step) is step), None)


def may_write_gradients(optimizer, of):
    """Returns whether a step with a parameter group may write to gradients: torch before 2.0 adds the weight decay to them in place where
    it works on lists (foreach), and nobody knows of an optimizer that is not known."""
    return bool(of.get("foreach")) or known_as(optimizer) is None


def is_decoupled(kind, of):
    """Returns whether a parameter group's weight decay shrinks the weight by itself, not through the gradient."""
    return bool(of.get("decoupled_weight_decay", kind is torch.optim.AdamW))


def wanted(kind, lr, of, w, g, state):
    """Returns what an optimizer of a known class wanted to subtract from elements of a weight; None if its states do not tell."""
    try:
        direction = RULES[kind](w, -g if of.get("maximize") else g, state, of)
    except (KeyError, TypeError):
        return None
    return lr * (direction + of["weight_decay"] * w if is_decoupled(kind, of) else direction)


def sizes_in_ulps(w, u, dtype):
    """Returns how many of the updates u have each size beside the ulp that w has in a dtype, as add_held() takes them."""
    of = torch.finfo(dtype)
    ulp = torch.frexp(w.abs().clamp(min=of.tiny)).exponent + round(math.log2(of.eps))  # frexp's exponents are one more
    below = (ulp - torch.frexp(u.abs()).exponent).clamp(0, SIZES - 1)
    below[u == 0] = SIZES - 1
    return torch.bincount(below, minlength=SIZES).tolist()


@dataclasses.dataclass
class Held:
    """What a part of a parameter kept of a step. counts: for add_held(). update: weight before - weight after, in binary32 or
    binary64, and where nothing changed what the optimizer wanted, if that is known."""

    counts: dict
    update: torch.Tensor


@dataclasses.dataclass
class Change:
    """Weight after - weight before, in the weight's dtype: values, which who takes them may write to, and whether all are finite."""

    values: torch.Tensor
    is_finite: bool


@torch.no_grad()
def held(optimizer, of, parameter, part, old, new, change, beside, gradient=None):
    """Returns the Held of a step. of: the parameter's group. old, new: the values of a Part before and after the step. change: the Change
    between them. beside: the Beside of the step. gradient: that of the parameter before the step, if it was kept; else its .grad."""
    update = change.values.neg_() if old.element_size() > 2 else old.float() - new.float()
    gradient = parameter.grad if gradient is None else gradient
    gradient = None if gradient is None else gradient.detach()
    if gradient is not None and gradient.layout is torch.sparse_coo:
        gradient = gradient.to_dense()
    gradient = None if gradient is None else local(gradient)
    gradient = None if gradient is None else part.of(gradient)
    if gradient is None or gradient.shape != old.shape:
        return Held({}, update)
    if isinstance(optimizer, torch.optim.Rprop):  # wants nothing where the sign changed, of which its state has zeros
        before = optimizer.state.get(parameter, {}).get("prev")
        if before is not None:
            gradient = torch.where(part.of(local(before)) == 0, torch.zeros_like(gradient), gradient)
    lr, decay = rate_of(of), float(of.get("weight_decay", 0) or 0)
    if not change.is_finite:  # what is or becomes Inf or NaN loses no update
        ill = ~(old.isfinite() & new.isfinite())
        old, new, gradient = (x.masked_fill(ill, 0) for x in (old, new, gradient))
    many = int(torch.count_nonzero(gradient))
    if lr == 0:
        return Held({"idle": many}, update)
    kind = known_as(optimizer)
    if kind is not None and stands_still(kind, of):
        return Held({}, update)
    decoupled = kind is not None and is_decoupled(kind, of) and not of.get("fused")
    counts = {"asked": many} | (decoupled_decay(old, lr * decay) if decay and decoupled else {})
    same = old == new
    by_decay = (gradient == 0) & (old != 0) if decay and not decoupled else None
    if by_decay is not None:
        counts |= {"decay_asked": int(torch.count_nonzero(by_decay))}
    if not same.any() or beside.keeps(parameter, part, old, new):
        return Held(counts, update)
    lost = same & (gradient != 0)
    if by_decay is not None:
        counts |= {"decay_lost": int(torch.count_nonzero(by_decay & same))}
    counts["lost"] = counts["unknown"] = int(torch.count_nonzero(lost))
    there = lost if by_decay is None else lost | by_decay & same
    u = None
    if kind is not None and there.any():
        def pick(x):
            return part.of(local(x))[there].double()

        w = old[there].double()
        u = wanted(kind, lr, of, w, gradient[there].double(), Picked(optimizer.state.get(parameter, {}), pick))
    if u is not None:
        told = lost[there] & u.isfinite()
        counts["by_size"] = sizes_in_ulps(w[told], u[told], old.dtype)
        counts["unknown"] -= int(torch.count_nonzero(told))
        update[there] = u.to(update.dtype)
    return Held(counts, update)


def decoupled_decay(old, share):
    """Returns the counts of a decay that multiplies the weight by 1 - share, before the update is subtracted."""
    return {"decay_asked": int(torch.count_nonzero(old)),
            "decay_lost": int(torch.count_nonzero((old * (1 - share) == old) & (old != 0)))}


def lost_rows(run):
    """Returns a dict for each layer whose weights a step was to change, of all windows together in which no gradient of it was NaN."""
    merged = {}
    for window in run.windows:
        for layer, counts in window.updates.items():
            if (layer, "dW") in window.summaries and window.summaries[layer, "dW"].nan:
                continue  # the few updates beside NaN tell nothing of the others
            merged[layer] = merged[layer] + counts if layer in merged else counts
    out, left, over_time = [], run.left_by_rounding(), halves(run)
    for (layer, role), of in run.of_one_scale().items():
        counts = merged.get(layer)
        if role == "update" and counts is not None and layer not in left and (counts.asked or counts.decay_asked or counts.idle):
            out.append({"layer": layer, "dtype": of.dtype} | {key: getattr(counts, key) for key in (
                "asked", "lost", "unknown", "median_log2_of_ulp", "decay_asked", "decay_lost", "idle")}
                | {"later": standing(over_time[layer], is_lost) if layer in over_time else None,
                   "rates": run._learning.rates.get(layer)})
    return out


def is_lost(lost, asked, share=ILL):
    return lost > share * asked


def lost_text(rows, listed, idle_is_told=False):
    """Returns lines about the layers that lose most of what was asked of them; of those in FP32 and FP64 only where it stays so.
    listed(names): a list of names as text. idle_is_told: whether learning rates of 0 are told elsewhere."""
    out = []
    for dtype, format in FORMATS.items():
        of = [row for row in rows if row["dtype"] == dtype]
        ill = [row for row in of if is_lost(row["lost"], row["asked"])]
        stay = [row for row in ill if format in NARROW or row["later"] == "stays"]
        few = [row for row in ill if row not in stay and row["later"] == "few"]
        if stay:
            out.append(update_words(stay, format, listed))
        if few:
            out.append(f"In too few counted steps to judge it, {share_of(few)} of the updates with a gradient that is not zero left the "
                       f"weight as it was in {format}: {listed([row['layer'] for row in few])}.")
        still = decays_lost(of) if format in NARROW else []
        if still:
            lost, asked = (sum(row[key] for row in still) for key in ("decay_lost", "decay_asked"))
            out.append(f"Weight decay is lost: {_binade._percent(lost / asked)} of what it was to change by itself stays as it "
                       f"was in {format}: {listed([row['layer'] for row in still])}. Learning rate times weight decay is below "
                       f"half an ulp of these weights. {DECAY_ADVICE}")
    idle = [row for row in rows if row["idle"] and not row["asked"]]
    if idle and not idle_is_told:
        out.append(f"At a learning rate of 0 nothing was wanted of {listed([row['layer'] for row in idle])}, and nothing is lost.")
    return out


def share_of(rows):
    return _binade._percent(sum(row["lost"] for row in rows) / sum(row["asked"] for row in rows))


def decays_lost(rows):
    return [row for row in rows if is_lost(row["decay_lost"], row["decay_asked"])]


def wide_decay_text(rows, listed):
    """Returns lines about decay that is too small for weights of 32 or 64 bits: no illness, since so small a learning rate is mostly
    that of a warm-up, or of a run that ends."""
    out = []
    for dtype, format in FORMATS.items():
        still = decays_lost([row for row in rows if row["dtype"] == dtype]) if format not in NARROW else []
        if still:
            rates = [row["rates"] for row in still]
            least, most = min(low for low, _, _ in rates), max(high for _, high, _ in rates)
            out.append(f"At a learning rate of {least:.3g}{f' to {most:.3g}' if most > least else ''} the decay of the weights of "
                       f"{listed([row['layer'] for row in still])} is below half an ulp in {format}, and changes nothing by itself.")
    return out


def update_words(rows, format, listed):
    lost, asked, unknown = (sum(row[key] for row in rows) for key in ("lost", "asked", "unknown"))
    words = [f"Updates are lost: {_binade._percent(lost / asked)} of those with a gradient that is not zero leave the weight "
             f"as it was in {format}: {listed([row['layer'] for row in rows])}."]
    sizes = [row["median_log2_of_ulp"] for row in rows if row["median_log2_of_ulp"] is not None]
    if sizes:
        least, most = min(sizes), max(sizes)
        words.append("Half or more of what the optimizer wanted there is below "
                     + (f"2^{most}" if least == most else f"2^{least} to 2^{most}, by layer,") + " of the weight's ulp, where about "
                     "half an ulp is needed.")
    if unknown:
        words.append(f"Of {_binade._percent(unknown / lost)} of them it is not known what the optimizer wanted, nor whether it "
                     "keeps it elsewhere.")
    if format not in NARROW and sizes and max(sizes) <= VANISHED and all(row["rates"] and row["rates"][1] >= LEAST_RATE for row in rows):
        return " ".join([*words, VANISHED_ADVICE])
    return " ".join([*words, ADVICE.get(format, "Raise the learning rate, or end the training: it moves these weights no more.")])
