# SPDX-License-Identifier: Apache-2.0
"""Models whose parameters no optimizer holds: weights that a loop moves by hand, or copies in FP32 that are to be copied back.

    after a backward pass: the first values of each weight, and where their gradients are not zero
    before the backward pass of a later step: which of these values changed
"""
import collections
import dataclasses
import gc

import torch

from .... import _binade
from ...observe.attaching import living
from ...observe.names import listed
from ...observe.tensors import FLOATING, PLAIN
from ..values.waiting_tensors import version_of
from .aside import Kept, first_values, kept
from .lost_updates import ADVICE, FORMATS, ILL, NARROW

LEAST = 4  # steps that tell


@dataclasses.dataclass
class Moved:
    """What was seen of the first values of a parameter. before: they after the last backward pass, and pending: where their gradients were
    finite and not zero; None if there is none. asked, lost: sums over steps of gradients that were not zero, and of those whose weight
    stayed as it was, as tensors, for which a GPU is not waited. steps: of how many; written: in how many of these it was written to. first:
    what `before` was at first."""

    name: str
    before: "Kept | None" = None
    pending: "torch.Tensor | None" = None
    asked: "torch.Tensor | int" = 0
    lost: "torch.Tensor | int" = 0
    steps: int = 0
    written: int = 0
    first: "Kept | None" = None

    def see(self, parameter):
        gradient = parameter.grad
        self.pending = None
        if type(gradient) in PLAIN and gradient.layout is torch.strided:
            self.before, values = kept(parameter), first_values(gradient)
            self.first = self.first or self.before
            self.pending = (values != 0) & values.isfinite()

    def compare(self):
        """Compares, once a step is over."""
        if self.pending is not None:
            parameter, pending, self.pending = self.before.parameter, self.pending, None
            self.asked = self.asked + pending.sum()
            self.lost = self.lost + (pending & (first_values(parameter) == self.before.values)).sum()
            self.written += version_of(parameter) != self.before.version
            self.steps += 1

    def stays(self):
        """Returns whether most updates were lost, and most values are what they were at first, as they would not be with compensation or
        stochastic rounding."""
        same = int((first_values(self.first.parameter) == self.first.values).sum())
        return int(self.lost) > ILL * int(self.asked) and same > ILL * self.first.values.numel()


class ByHand:
    """The models of which no optimizer holds a parameter. names: the Names of all."""

    def __init__(self, names):
        self._names, self._step = names, None
        self._moved = {}  # id of such a model: {id of a parameter that wants a gradient: Moved}
        self._asked = None  # how many optimizers there were when models were looked for, and the step

    def backward_ends(self, step, optimizers):
        """Sees the parameters after a backward pass of a step, given by its number, of the models that no optimizer holds."""
        if self._asked is None or self._asked[0] != len(optimizers) or self._asked[1] != step and step & (step - 1) == 0:
            self._asked = len(optimizers), step
            self._find(optimizers)
        self._step = step
        for model in self._moved.values():
            for parameter, one in model:
                one.see(parameter)

    def _find(self, optimizers):
        held = {id(p) for one in optimizers for group in one.param_groups for p in group["params"]}
        before, self._moved = self._moved, {}
        for model in (x for x in self._names.held if isinstance(x, torch.nn.Module) and id(x) in self._names.roots):
            parameters = [p for p in model.parameters() if p.requires_grad and type(p) in PLAIN and id(p) in self._names.owners]
            if parameters and not any(id(p) in held for p in parameters):
                self._moved[id(model)] = before.get(id(model)) or [(p, Moved(self._names.parts[id(p)][0].layer)) for p in parameters]

    def look(self, step):
        """Compares the parameters if the step that the last backward pass was of is over. step: the number of the one that runs."""
        if self._step is not None and step != self._step:
            self._step = None
            for model in self._moved.values():
                for _, one in model:
                    one.compare()

    @property
    def has_gradients(self):
        """Whether some of them had gradients."""
        return any(one.before is not None for model in self._moved.values() for _, one in model)

    def ends(self, optimizers, called):
        """Yields what is to be said of the models at the end, in lines. called(module): whether an output of it was seen."""
        copies = [p for one in optimizers for group in one.param_groups for p in group["params"]
                  if id(p) not in self._names.owners or not called(self._names.owners[id(p)][0])]
        for model in self._moved.values():
            yield from lines([one for _, one in model if one.steps >= LEAST and int(one.asked)], copies, bool(optimizers))


def lines(told, copies, has_optimizer):
    """Yields what is to be said of the Moved of a model. copies: tensors that optimizers hold and that may be copies of its parameters."""
    if told and all(int(one.lost) == int(one.asked) and not one.written for one in told):
        pairs = pairs_of(told, copies)
        if pairs:
            yield from not_copied(told, pairs)
        elif not has_optimizer and not any_kept_elsewhere(told):
            yield not_moved(told)
        return
    for dtype, format in () if has_optimizer else FORMATS.items():
        of = [one for one in told if FLOATING[one.before.dtype] == dtype and format in NARROW]
        ill = [one for one in of if one.stays()]
        if ill and not any_kept_elsewhere(ill):
            share = sum(int(one.lost) for one in ill) / sum(int(one.asked) for one in ill)
            yield (f"Updates are lost: {_binade._percent(share)} of those with a gradient that is not zero leave the weight as it was in "
                   f"{format}: {listed([one.name for one in ill])}, which the loop moves by hand, without an optimizer that was seen. What "
                   f"it adds is below half an ulp of the weights. {ADVICE[format]}")


def any_kept_elsewhere(moved):
    """Returns whether a tensor in the process may be what a loop keeps of a parameter of 16 bits: in FP32, what rounds to it and is not it,
    as a master copy; or in its dtype, what is below its ulps, as the compensation of a sum."""
    parameters = {one.before.parameter.shape: one.before.parameter for one in moved if one.before.parameter.element_size() == 2}
    gc.collect()  # what is left of earlier trainings keeps nothing
    return bool(parameters) and any(
        may_keep(x, parameters[x.shape]) for x in living(torch.Tensor) if type(x) in PLAIN and x.shape in parameters)


def may_keep(x, parameter):
    if x is parameter or x is parameter.grad or x.device != parameter.device or x.layout is not torch.strided:
        return False
    kept, weight = first_values(x), first_values(parameter)
    if x.dtype == torch.float32:
        return torch.equal(kept.to(weight.dtype), weight) and not torch.equal(kept, weight.float())
    below = kept.abs().float() <= torch.finfo(weight.dtype).eps * weight.abs().float()
    return x.dtype == weight.dtype and bool(kept.any()) and bool(below.all())


def pairs_of(moved, copies):
    """Returns pairs of a parameter and all copies of its shape in FP32, if each parameter has 16 bits and has some; else an empty list."""
    by_shape = collections.defaultdict(list)
    for p in copies:
        if p.dtype == torch.float32:
            by_shape[p.shape].append(p)
    parameters = [one.before.parameter for one in moved]
    pairs = [(p, by_shape[p.shape]) for p in parameters if p.element_size() == 2 and p.shape in by_shape]
    return pairs if len(pairs) == len(parameters) else []


def not_copied(moved, pairs):
    """Yields that copies were not copied back, if not one of them rounds to the parameter that it may be a copy of."""
    if not any(torch.equal(first_values(p), first_values(copy).to(p.dtype)) for p, found in pairs for copy in found):
        steps = max(one.steps for one in moved)
        yield (f"The model is not trained: no weight of {listed([one.name for one in moved])} changed in any of {steps:,} steps, though their "
               "gradients were not zero. The optimizer moves copies of them in FP32 (master weights), and nothing copies these back: after "
               "each optimizer.step(), p.data.copy_(master) for each of them.")


def not_moved(moved):
    """Returns that nothing changed the weights."""
    steps = max(one.steps for one in moved)
    return (f"No optimizer was seen, and no weight of {listed([one.name for one in moved])} changed in any of {steps:,} steps, though their "
            "gradients were not zero. If they are to be trained: nothing steps them or copies back what was stepped in their place"
            + (f", or what is added to them is below half an ulp in {FORMATS[FLOATING[moved[0].before.dtype]]} (keep a copy of them in FP32)."
               if moved[0].before.parameter.element_size() == 2 else "."))
