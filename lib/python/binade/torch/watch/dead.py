# SPDX-License-Identifier: Apache-2.0
"""What advice says of weights whose gradients were zero in every counted step, as behind and before dead ReLUs, and of those that no
optimizer holds."""
import dataclasses
import math

import torch

from ..observe.names import tensors_in
from ..observe.tensors import local

TAKEN_AWAY = frozenset(("step_without_backward",))  # mistakes in the order of calls that leave zeros in the place of gradients


@dataclasses.dataclass
class Learning:
    """What the hooks saw around the gradients of a run.

    unfed: {module: whether all that it got in counted steps was zero}. frozen: {layer: whether its parameter wanted no gradient in any
    counted step}. unheld: {module: elements of its parameters} of those that want gradients and that no optimizer holds.
    """

    unfed: dict = dataclasses.field(default_factory=dict)
    frozen: dict = dataclasses.field(default_factory=dict)
    unheld: dict = dataclasses.field(default_factory=dict)
    share: float = 0.0  # of the parameters' elements, in unheld
    rates: dict = dataclasses.field(default_factory=dict)  # {layer: the least, the largest and the last learning rate of counted steps}

    def at(self, layer, rate):
        """Sees the learning rate of a counted step."""
        least, most, _ = self.rates.get(layer, (rate, rate, rate))
        self.rates[layer] = min(least, rate), max(most, rate), rate

    def got(self, module, args):
        """Sees what a module got."""
        if self.unfed.get(module, True):
            self.unfed[module] = got_zeros(args)

    def add(self, other):
        """Adds what another process saw."""
        for mine, theirs in ((self.unfed, other.unfed), (self.frozen, other.frozen)):
            mine.update({key: mine.get(key, True) and x for key, x in theirs.items()})


def got_zeros(args):
    """Returns whether the first floating tensor of some arguments, on the CPU, is all zero."""
    x = next((x for x in (local(x) for _, x in tensors_in(args)) if x is not None), None)
    if x is None or x.device.type != "cpu" or not x.numel() or bool(torch.count_nonzero(x[(0,) * max(0, x.dim() - 1)])):
        return False
    return not bool(torch.count_nonzero(x))


def unheld(names, optimizers, called):
    """Returns {module: elements} of the parameters that want gradients and that none of the optimizers holds; {} where these hold
    what may be copies of them: others than the models', or some of the same shape in modules that were not called.

    called(module): whether an output of it was seen.
    """
    held = {id(p) for optimizer in optimizers for group in optimizer.param_groups for p in group["params"]}
    if not held <= names.parts.keys():
        return {}
    out, shapes, copies = {}, set(), set()
    for parameter in (x for x in names.held if id(x) in names.parts):
        module, name = names.owners[id(parameter)]
        if id(parameter) in held:
            copies |= set() if called(module) else {tuple(parameter.shape)}
        elif parameter.requires_grad and called(module):
            shapes.add(tuple(parameter.shape))
            out[name] = out.get(name, 0) + parameter.numel()
    return {} if shapes & copies else out


def untrained(run, layers, merged):
    """Returns a dict: layers, a list of {layer, steps}, the weights whose gradients were all zero in all counted steps, at least
    two; reached, those of them whose outputs had gradients that are not zero; unfed, those of `reached` whose inputs were all zero;
    order, the first step in which the loop took gradients away before a step, if that may be why, or None; zeros, the layers whose
    outputs were all zero; negative, those of `layers` whose outputs were all negative and had no gradient; underflow, if there are no
    such, those whose outputs, or the gradients of these, or of their weights, were all zero in FP16, in which they may have become so;
    unheld, the modules of whose parameters no optimizer holds some, and unheld_share, of all parameters' elements. But for the last
    two all are empty where the first is.

    merged: {(layer, role): RangeSummary} of the whole run. A vector, as a bias, is left out: it may have no gradient by its
    mathematics, such as a bias before a BatchNorm. So is a weight whose module did not run forward and backward, one that wants no
    gradient, and one of which other processes have shards. A branch that begins with zeros has gradients once the weights of others
    have changed.
    """
    since, seen = changed(run, merged), run._learning
    found, owners = [], {}
    for (layer, role), of in layers.items():
        key, owner = (layer, role), owner_of(layer, merged)
        if role != "dW" or of.placement == "sharded" or owner is None or not of.shape or len(of.shape) < 2 or seen.frozen.get(layer):
            continue
        steps = merged[key].values // math.prod(of.shape) if all_zero(merged[key]) else 0
        if steps > 1 and any(key in window.summaries for window in since):
            found.append({"layer": layer, "steps": steps})
            owners[layer] = owner
    out = {"unheld": list(seen.unheld), "unheld_share": seen.share}
    if not found:
        return {"layers": [], "reached": [], "unfed": [], "order": None, "zeros": [], "negative": [], "underflow": [], **out}
    reached = [layer for layer, owner in owners.items() if not all_zero(merged[owner, "dAct"])]
    unfed = [layer for layer in reached if seen.unfed.get(owners[layer])]
    taken = [mistake.step for mistake in run.mistakes if mistake.mistake in TAKEN_AWAY] if len(reached) > len(unfed) else []
    zeros = [layer for layer, role in merged if role == "act" and layers[layer, role].shape != () and (layer, "dAct") in merged
             and all_zero(merged[layer, role])]
    negative = [layer for layer, owner in owners.items() if (owner, "act") in merged and all_negative(merged[owner, "act"])
                and all_zero(merged[owner, "dAct"])]
    narrow = [] if negative else [(owner, "dAct") for owner in owners.values()] + [
        (layer, "act") for layer in zeros if (layer, "weight") in merged] + [
        (layer, "dW") for layer in reached if layer not in unfed and not taken]
    underflow = dict.fromkeys(key[0] for key in narrow if layers[key].dtype == "F16" and all_zero(merged[key]))
    return {"layers": found, "reached": reached, "unfed": unfed, "order": min(taken, default=None), "zeros": zeros,
            "negative": negative, "underflow": list(underflow), **out}


def changed(run, merged):
    """Returns the windows after the first in which a weight changed; all of them if no weight could, as all gradients were zero."""
    for i, window in enumerate(run._windows):
        if any(summary.nonzero for (_, role), summary in window.summaries.items() if role == "update"):
            return run._windows[i + 1:]
    return run._windows if all(all_zero(summary) for (_, role), summary in merged.items() if role == "dW") else []


def owner_of(layer, merged):
    """Returns the module of a parameter if gradients of its outputs were counted, else None. It has the parameter's name, or the
    name without its last part."""
    for name in (layer, layer.rpartition(".")[0]):
        if (name, "dAct") in merged and merged[name, "dAct"].values:
            return name
    return None


def all_zero(summary):
    return summary.zeros == summary.values > 0


def all_negative(summary):
    return summary.negative == summary.values and summary.nonzero > 0


def untrained_text(of, listed):
    """Returns the lines about what untrained() found. listed(names): some names in words."""
    lines = []
    steps = sorted({row["steps"] for row in of["layers"]})
    many = f"all {steps[0]} counted steps" if len(steps) == 1 else f"all counted steps ({steps[0]} to {steps[-1]})" if steps else ""
    known = of["zeros"] or of["negative"] or of["underflow"]
    cut = [row["layer"] for row in of["layers"] if row["layer"] not in of["reached"]]
    if cut:
        lines.append(f"Layers that do not learn: no gradient reached {listed(cut)}; it was nothing but zeros in {many}.")
        if not known:
            lines[-1] += (" Whether that is meant is not known: a saturated activation passes no gradient, nor does a softmax of one "
                          "element.")
    if of["reached"]:
        lines.append(f"Layers that do not learn: the gradients of the weights of {listed(of['reached'])} were nothing but zeros in {many}, "
                     "while gradients reached their outputs.")
        if of["unfed"]:
            lines[-1] += f" All that {listed(of['unfed'])} got was zero, so that {'its' if len(of['unfed']) == 1 else 'their'} gradient is."
        if of["order"] is not None:
            lines[-1] += f" They were taken away before the optimizer stepped: see the order of calls, step {of['order']}."
        elif len(of["unfed"]) < len(of["reached"]) and not of["underflow"]:
            lines[-1] += " Why is not known."
    if of["zeros"] and lines:
        lines[-1] += f" All outputs of {listed(of['zeros'])} were zero."
    if of["negative"]:
        lines[-1] += (f" All outputs of {listed(of['negative'])} were negative, of which a ReLU makes zeros: it is dead, and no gradient "
                      "passes it. Look at the initial biases and the learning rate, or take an activation that has a slope below zero.")
    elif of["underflow"]:
        lines[-1] += (f" The outputs of {listed(of['underflow'])}, or the gradients of these, may have become zero in FP16: a run in FP32, "
                      "or one with a larger loss scale, tells.")
    if of["unheld"]:
        lines.append(f"Trained by no optimizer that was seen: {listed(of['unheld'])}, {100 * of['unheld_share']:.3g} % of the parameters. "
                     "Where that is meant, requires_grad_(False) saves their gradients.")
    return lines
