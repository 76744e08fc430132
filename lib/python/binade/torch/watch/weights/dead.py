# SPDX-License-Identifier: Apache-2.0
"""What advice says of weights whose gradients were zero in every counted step, as behind and before dead ReLUs, and of those that no
optimizer holds."""
import dataclasses
import math
import re

import torch

from ...observe.names import listed, tensors_in
from ...observe.tensors import local
from ..loop.unused import held_by
from ..values import cuts, saturation
from ..values.silent import silent_text
from ..values.words import shown

RECURRENT = re.compile(r"\.\d+(\.reverse)?\.(input|hidden|projection)$")  # of a parameter's name, after that of its module
LEAST = 3  # counted steps without a row that tell
ROUTER = "a load-balancing loss, or noise on its scores, has it choose all"
TAKEN_AWAY = frozenset(("step_without_backward", "clip_to_zero"))  # mistakes in the order of calls that leave zeros in the place of gradients


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
    orphans: dict = dataclasses.field(default_factory=dict)  # {optimizer: how many tensors no model has that never had a gradient}
    ungraded: dict = dataclasses.field(default_factory=dict)  # {module that got no gradient: whether it gave outputs that want some; None: others}
    gradless: dict = dataclasses.field(default_factory=dict)  # {optimizer that never had a gradient: what is said of it}
    stays: dict = dataclasses.field(default_factory=dict)  # {model that is not trained: what is ill about its weights}
    refreshed: dict = dataclasses.field(default_factory=dict)  # {id of an optimizer: what became of its wide weights between steps}
    saturations: saturation.Saturation = dataclasses.field(default_factory=saturation.Saturation)
    cut_by: cuts.Cuts = dataclasses.field(default_factory=cuts.Cuts)
    by_hand: list = dataclasses.field(default_factory=list)  # lines about models of which no optimizer holds a parameter
    positions: dict = dataclasses.field(default_factory=dict)  # {layer: what is said of positions in it}
    running: list = dataclasses.field(default_factory=list)  # lines about running statistics that stand still
    buffers: list = dataclasses.field(default_factory=list)  # lines about running statistics, and other buffers, that hold Inf or NaN
    wrong: dict = dataclasses.field(default_factory=dict)  # settings of optimizers that are Inf, NaN or a learning rate below 0
    moved: dict = dataclasses.field(default_factory=dict)  # {optimizer: {frozen weight that it moved: in how many counted steps}}
    ranks: list = dataclasses.field(default_factory=list)  # lines about ranks that hold different models
    compiled: dict = dataclasses.field(default_factory=dict)  # {layer of a parameter: the compiled part that it is inside of}
    compiled_parts: list = dataclasses.field(default_factory=list)  # names of what runs compiled
    in_fp16: bool = False  # whether a compiled part ran under FP16 autocast
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
        self.ungraded = {key: x for key, x in self.ungraded.items() if key in other.ungraded}
        self.gradless = {key: x for key, x in self.gradless.items() if key in other.gradless}
        self.saturations += other.saturations
        self.cut_by += other.cut_by


class Grades:
    """Which parameters of optimizers had a gradient in some step, and which wanted one and had none; as ids."""

    def __init__(self):
        self.got, self.wanted = set(), set()
        self._complete = {}  # id of an optimizer each of whose parameters had one: how many it holds

    def see(self, optimizer):
        """Sees the gradients with which an optimizer steps."""
        held = held_by(optimizer)
        if self._complete.get(id(optimizer)) == len(held):
            return
        got = {id(p) for p in held if p.grad is not None}
        self.got |= got
        if len(got) == len(held):
            self._complete[id(optimizer)] = len(held)
        else:
            self.wanted |= {id(p) for p in held if id(p) not in got and p.requires_grad}

    def is_trained(self, optimizer, parameter):
        """Returns whether a parameter of an optimizer had a gradient, for all that is known."""
        return id(parameter) in self.got or parameter.grad is not None or bool(getattr(optimizer, "state", {}).get(parameter))


def foreign(names, optimizers):
    """Yields (optimizer, parameter) of those that optimizers hold and no model has."""
    for optimizer in {id(one): one for one in optimizers}.values():
        for group in optimizer.param_groups:
            yield from ((optimizer, p) for p in group["params"] if id(p) not in names.parts)


def orphans(names, optimizers, grades):
    """Returns {class of an optimizer: how many parameters it holds that no model has and that had no gradient in any step}."""
    out = {}
    for optimizer, p in foreign(names, optimizers):
        if not grades.is_trained(optimizer, p):
            out[type(optimizer).__name__] = out.get(type(optimizer).__name__, 0) + 1
    return out


def ungraded(names, optimizers, grades, called):
    """Returns {module: whether it was called, None if without gradients alone} of the parameters that want gradients, that an optimizer
    holds, and that had none in any step in which others of it had some. A parameter beside modules that learn, as a mask's embedding, may
    be meant for other data."""
    out = {}
    for optimizer in optimizers:
        held = [p for group in optimizer.param_groups for p in group["params"]]
        for p in held if any(id(p) in grades.got for p in held) else ():
            if p.requires_grad and id(p) in grades.wanted and id(p) not in grades.got and id(p) in names.owners:
                module, name = names.owners[id(p)]
                if not any(id(q) in grades.got for child in module.children() for q in child.parameters()):  # else a part of it is unused
                    out[name] = called(module)
    return out


def got_zeros(args):
    """Returns whether the first floating tensor of some arguments, on the CPU, is all zero."""
    x = next((x for x in (local(x) for _, x in tensors_in(args)) if x is not None), None)
    if x is None or x.device.type != "cpu" or not x.numel() or bool(torch.count_nonzero(x[(0,) * max(0, x.dim() - 1)])):
        return False
    return not bool(torch.count_nonzero(x))


def unheld(names, optimizers, called, grades):
    """Returns {module: elements} of the parameters that want gradients and that none of the optimizers holds; {} where these hold
    what may be copies of them: some of the same shape, or all of them in one, which are trained though no model has them, or in
    modules that were not called.

    called(module): whether an output of it was seen.
    """
    held = {id(p) for optimizer in optimizers for group in optimizer.param_groups for p in group["params"]}
    narrow = {tuple(x.shape) for x in names.held if isinstance(x, torch.nn.Parameter) and x.element_size() < 4}
    trained = [p for optimizer, p in foreign(names, optimizers) if grades.is_trained(optimizer, p) or (
        p.dtype == torch.float32 and tuple(p.shape) in narrow and id(p) not in grades.wanted)]  # masters whose every step was left out
    out, shapes, copies = {}, set(), {tuple(p.shape) for p in trained}
    for parameter in (x for x in names.held if id(x) in names.parts):
        module, name = names.owners[id(parameter)]
        if id(parameter) in held:
            copies |= set() if called(module) else {tuple(parameter.shape)}
        elif parameter.requires_grad and called(module):
            shapes.add(tuple(parameter.shape))
            out[name] = out.get(name, 0) + parameter.numel()
    in_one = any(p.dim() == 1 and p.numel() >= sum(out.values()) for p in trained)
    return {} if in_one or shapes & copies else out


def untrained(run, layers, merged):
    """Returns a dict: layers, a list of {layer, steps}, the weights whose gradients were all zero in all counted steps, at least
    two; reached, those of them whose outputs had gradients that are not zero; unfed, those of `reached` whose inputs were all zero;
    order, the first step in which the loop took gradients away before a step, if that may be why, or None; zeros, the layers whose
    outputs were all zero; silent, compiled parts among these that did not get zeros alone; opaque, those of `layers` that lie inside of what
    runs compiled while gradients reached that, inside_of, the parts, and of_fp16, whether FP16 was seen in the run; hidden, the overflow
    of which an op made them, as text, or ""; negative, those of `layers` whose outputs were all negative and had no gradient; flat, what is
    said of smooth activations that are flat; empty, layers that got no rows; underflow, if there are no
    such, those whose outputs, or the gradients of these, or of their weights, were all zero in FP16, in which they may have become so;
    unheld, the modules of whose parameters no optimizer holds some, unheld_share, of all parameters' elements, and orphans, how many
    parameters optimizers hold that no model has and that had no gradient; detached, unused and under_no_grad, the modules of which an optimizer holds
    weights that had no gradient in any step, by whether they gave outputs; and stays, what is said of narrow weights of models that are
    not trained and that hardly change, and gradless, of optimizers that never had a gradient. But for these all are empty where the first is.

    merged: {(layer, role): RangeSummary} of the whole run. A vector, as a bias, is left out: it may have no gradient by its
    mathematics, such as a bias before a BatchNorm. So is a weight whose module did not run forward and backward, one that wants no
    gradient, and one of which other processes have shards. A branch that begins with zeros has gradients once the weights of others
    have changed.
    """
    since, seen = changed(run, merged), run._learning
    found, owners = [], {}
    for (layer, role), of in layers.items():
        part = seen.compiled.get(layer)
        key, owner = (layer, role), owner_of(layer, merged) or recurrent_of(layer, merged) or (part if (part, "dAct") in merged else None)
        if role != "dW" or of.placement == "sharded" or owner is None or not of.shape or len(of.shape) < 2 or seen.frozen.get(layer):
            continue
        steps = merged[key].values // math.prod(of.shape) if all_zero(merged[key]) else 0
        if steps > 1 and any(key in window.summaries for window in since):
            found.append({"layer": layer, "steps": steps})
            owners[layer] = owner
    out = {"unheld": list(seen.unheld), "unheld_share": seen.share, "orphans": seen.orphans,
           "detached": [name for name, called in seen.ungraded.items() if called],
           "unused": [name for name, called in seen.ungraded.items() if called is False],
           "under_no_grad": [name for name, called in seen.ungraded.items() if called is None], "stays": list(seen.stays.values()),
           "gradless": list(seen.gradless.values()), "saturated": seen.saturations.texts,
           "flat": seen.saturations.flat, "empty": empty(run, layers, merged), "cuts": seen.cut_by.texts}
    if not found:
        return {"layers": [], "reached": [], "unfed": [], "order": None, "zeros": [], "negative": [], "underflow": [], "hidden": "",
                "silent": [], "opaque": [], "inside_of": [], "of_fp16": False, **out}
    reached = [layer for layer, owner in owners.items() if not all_zero(merged[owner, "dAct"])]
    opaque = [layer for layer in reached if owners[layer] == seen.compiled.get(layer) != owner_of(layer, merged)]
    reached = [layer for layer in reached if layer not in opaque]
    unfed = [layer for layer in reached if seen.unfed.get(owners[layer])]
    taken = [mistake.step for mistake in run.mistakes if mistake.mistake in TAKEN_AWAY] if len(reached) > len(unfed) else []
    zeros = [layer for layer, role in merged if role == "act" and layers[layer, role].shape != () and (layer, "dAct") in merged
             and all_zero(merged[layer, role])]
    negative = [layer for layer, owner in owners.items() if (owner, "act") in merged and all_negative(merged[owner, "act"])
                and all_zero(merged[owner, "dAct"])]
    narrow = [] if negative else [(owner, "dAct") for owner in owners.values()] + [
        (layer, "act") for layer in zeros if (layer, "weight") in merged] + [
        (layer, "dW") for layer in reached if layer not in unfed and not taken]
    hidden = next((event.origin.ending for event in run.nonfinite() if event.hidden), "") if zeros else ""
    hidden = hidden or ("that Inf" if any(event.left_none for event in run.nonfinite()) else "")
    silent = [part for part in seen.compiled_parts if part in zeros and not seen.unfed.get(part)]
    if any(part in run._inside for part in silent):
        hidden = f"an overflow inside of {listed([shown(part) for part in silent if part in run._inside])}"
    narrow = [] if hidden or silent or opaque else narrow
    underflow = dict.fromkeys(key[0] for key in narrow if layers[key].dtype == "F16" and all_zero(merged[key]))
    return {"layers": found, "reached": reached, "unfed": unfed, "order": min(taken, default=None), "zeros": zeros,
            "negative": negative, "underflow": list(underflow), "hidden": hidden, "silent": [] if hidden else silent, "opaque": opaque,
            "inside_of": list(dict.fromkeys(owners[layer] for layer in opaque)),
            "of_fp16": seen.in_fp16 or any(of.dtype == "F16" for of in layers.values()), **out}


def empty(run, layers, merged):
    """Returns the layers with weights that were called with no rows in any counted step, three or more, beside others that got some."""
    none = [layer for layer, role in layers if role == "act" and (layer, "weight") in layers and not merged[layer, "act"].values]
    steps = {layer: sum(window.steps for window in run._windows if (layer, "act") in window.summaries) for layer in none}
    return [layer for layer in none if steps[layer] >= LEAST]


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


def recurrent_of(layer, merged):
    """Returns the module of a parameter of torch.nn.RNN, GRU or LSTM if all gradients of its outputs were zero, else None: where some are
    not, of one step alone the hidden weight has none."""
    name = RECURRENT.sub("", layer)
    return name if name != layer and (name, "dAct") in merged and all_zero(merged[name, "dAct"]) else None


def zeroed_text(of, layers):
    """Returns why no loss scale follows where an Inf made zeros of most gradients; "" if none did. of: what untrained() gives."""
    weights = [layer for (layer, role), one in layers.items() if role == "dW" and len(one.shape or ()) > 1]
    if not of["hidden"] or 2 * len(of["layers"]) < len(weights):
        return ""
    return f"Most gradients are nothing but zeros, which is what comes of {of['hidden']}: no scale follows from what is left of them. Mend that, and watch again."


def all_zero(summary):
    return summary.zeros == summary.values > 0


def all_negative(summary):
    return summary.negative == summary.values and summary.nonzero > 0


def untrained_text(of, listed, died=""):
    """Returns the lines about what untrained() found. listed(names): some names in words. died: the formats in which gradients underflow, as
    text, of which a later line tells; "" if none does."""
    perhaps = f" It may be what {died} made of small numbers: see below." if died else ""
    lines = []
    steps = sorted({row["steps"] for row in of["layers"]})
    many = f"all {steps[0]} counted steps" if len(steps) == 1 else f"all counted steps ({steps[0]} to {steps[-1]})" if steps else ""
    known = of["zeros"] or of["negative"] or of["underflow"] or of["hidden"] or of["opaque"]
    cut = [row["layer"] for row in of["layers"] if row["layer"] not in of["reached"] + of["opaque"]]
    if cut:
        lines.append(f"Layers that do not learn: no gradient reached {listed(cut)}; it was nothing but zeros in {many}.")
        if of["saturated"]:
            lines[-1] += saturation.text_of(of["saturated"])
        elif not known and of["cuts"]:
            lines[-1] += cuts.text_of(of["cuts"])
        elif not known:
            lines[-1] += perhaps or (" Whether that is meant is not known: a saturated activation passes no gradient, nor does a softmax of one "
                          f"element, nor a router to experts that it never chooses ({ROUTER}).")
    if of["reached"]:
        lines.append(f"Layers that do not learn: the gradients of the weights of {listed(of['reached'])} were nothing but zeros in {many}, "
                     "while gradients reached their outputs.")
        if of["unfed"]:
            lines[-1] += f" All that {listed(of['unfed'])} got was zero, so that {'its' if len(of['unfed']) == 1 else 'their'} gradient is."
        if of["order"] is not None:
            lines[-1] += f" They were taken away before the optimizer stepped: see the order of calls, step {of['order']}."
        elif len(of["unfed"]) < len(of["reached"]) and not (of["negative"] or of["underflow"] or of["hidden"] or of["silent"]):
            lines[-1] += perhaps or " Why is not known."
    if of["opaque"]:
        lines.append(f"Layers that do not learn: the gradients of the weights of {listed(of['opaque'])} were nothing but zeros in {many}, "
                     "while gradients reached the compiled part that they are in.")
    if of["zeros"] and lines:
        lines[-1] += f" All outputs of {listed(of['zeros'])} were zero."
    if of["negative"] and of["saturated"]:
        lines[-1] += f" All outputs of {listed(of['negative'])} were negative" + (
            "." if of["flat"] else ": a ReLU that gets them is dead.")
    elif of["negative"]:
        lines[-1] += (f" All outputs of {listed(of['negative'])} were negative, of which a ReLU makes zeros: it is dead, and no gradient "
                      "passes it. Look at the initial biases and the learning rate, or take an activation that has a slope below zero.")
    elif of["underflow"]:
        lines[-1] += (f" The outputs of {listed(of['underflow'])}, or the gradients of these, may have become zero in FP16: a run in FP32, "
                      "or one with a larger loss scale, tells.")
    elif of["hidden"] and lines:
        lines[-1] += f" Zero is what comes of {of['hidden']}, as told above: mend that first."
    if of["silent"] or of["opaque"]:
        lines[-1] += silent_text(of["silent"] or of["inside_of"], of["of_fp16"])
    if of["flat"] and not cut:
        lines.append((lines.pop() if lines else "Layers that hardly learn:") + saturation.text_of(of["flat"]))
    if of["empty"]:
        lines.append(f"Layers that got nothing: {listed(of['empty'])} were called with no rows in any counted step, as experts that a router never "
                     f"chooses: {ROUTER}.")
    if of["detached"]:
        lines.append(f"No gradient reached {listed(of['detached'])} in any step, though an optimizer holds their weights and their outputs "
                     "were seen: these are detached, or the loss does not use them. Where that is meant, requires_grad_(False) says so."
                     + cuts.text_of(of["cuts"]))
    if of["unused"]:
        lines.append(f"No gradient reached {listed(of['unused'])} in any step, though an optimizer holds their weights: no output of "
                     "theirs was seen; they were not used, as experts that a router never chooses.")
    if of["under_no_grad"]:
        lines.append(f"No gradient reached {listed(of['under_no_grad'])} in any step, though an optimizer holds their weights: they ran under no_grad "
                     "alone. Call them outside of the no_grad block; where that is meant, requires_grad_(False) says so.")
    if of["unheld"]:
        lines.append(f"Trained by no optimizer that was seen: {listed(of['unheld'])}, {100 * of['unheld_share']:.3g} % of the parameters. "
                     + (orphans_text(of["unheld"], of["orphans"], listed) + "." if of["orphans"] else
                        "They want gradients: were they added after the optimizer was made, or left out of it? Where that is meant, "
                        "requires_grad_(False) saves their gradients."))
    return of["gradless"] + lines + of["stays"]


def orphans_text(unheld, orphans, listed=listed):
    """Returns a line about modules that took the place of others after the optimizer was made."""
    holds = " and ".join(f"{name} holds {n} parameters that no watched model has and that got no gradient" for name, n in orphans.items())
    return (f"{holds}: was {listed(list(unheld))} put into the model, or the model converted (half(), to()) with new parameters, after the "
            "optimizer was made? Make the optimizer after the model is complete, or call add_param_group")
