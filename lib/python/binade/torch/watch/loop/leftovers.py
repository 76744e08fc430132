# SPDX-License-Identifier: Apache-2.0
"""Gradients that the backward pass for one optimizer leaves in the parameters of another, which then steps with them and its own.

    lossG.backward() reaches G and D ─▶ G steps ─▶ lossD.backward() reaches D alone ─▶ D steps with the gradients of both losses
    lossD.backward() reaches D alone ─▶ lossG.backward() reaches G and D ─▶ D steps with both: no joint loss, if G's gradients were cleared
        between them, or if D got outputs of G that were detached and the two passes work against each other
"""
import dataclasses
import weakref

import torch

from .unused import Left, gradients_of, has_gradient, state_of_gradients

FIRST = 4096  # values of an optimizer's largest gradient that are compared
OPPOSED, TIMES = -0.3, 3  # the cosine of what two passes gave that work against each other; and in how many steps one after the other


@dataclasses.dataclass
class Leftover:
    """What a backward pass left in the parameters of an optimizer.

    others: numbers of the optimizers that it reached, too. left: the gradients after it. after: the number of one of the others that
    has stepped since; None until then. added: whether a backward pass that reached none of the others has added to it."""

    others: set
    left: Left
    after: "int | None" = None
    added: bool = False


@dataclasses.dataclass
class Own:
    """What the passes for an optimizer alone gave it since it was cleared. gradient, values: its largest one, and the first values of that.
    cleared: numbers of the optimizers whose gradients were cleared since. other: that of which a pass added to it later; None. apart:
    whether the gradients of that were cleared between the two passes. cosine: of the two passes' values, as a tensor. detached:
    whether a model got an output of another one without its graph."""

    gradient: torch.Tensor
    values: torch.Tensor
    detached: bool
    cleared: set = dataclasses.field(default_factory=set)
    other: "int | None" = None
    apart: bool = False
    cosine: "torch.Tensor | None" = None

    @staticmethod
    def of(optimizer, detached):
        plain = [x for x in gradients_of(optimizer) if type(x) is torch.Tensor and x.layout is torch.strided]
        largest = max(plain, key=torch.Tensor.numel, default=None)
        return None if largest is None else Own(largest, first(largest), detached)

    def meets(self, other):
        """A pass of another optimizer, given by its number, has added to the gradients of this one."""
        self.other, self.apart = other, other in self.cleared
        self.cosine = torch.nn.functional.cosine_similarity(first(self.gradient) - self.values, self.values, dim=0)

    def is_back(self, optimizer):
        """Returns whether the gradients were taken away, or what they were was put back, before the optimizer steps."""
        return not any(x is self.gradient for x in gradients_of(optimizer)) or not has_gradient(optimizer) or torch.equal(
            first(self.gradient), self.values)


def first(x):
    return x.detach().reshape(-1)[:FIRST].double()


class Leftovers:
    """What backward passes leave in each of several optimizers, by its number.

    last_called: a reference to the module with parameters that gave outputs last. Where it is another's, as a head behind an encoder, a
    loss may be meant for both, and one of the encoder alone, as a penalty, for the same step of it.
    """

    def __init__(self):
        self._of, self._before = {}, {}
        self._own = {}  # number of an optimizer: its Own
        self._outputs = {}  # address of an output of a model: a reference to it, and the model's id
        self._detached = False  # whether a model got such an output of another one without its graph since the last backward pass
        self._opposed = {}  # number of an optimizer: in how many steps, one after the other, two passes worked against each other in it
        self.last_called = lambda: None

    def called(self, model, args, outputs):
        """A model, given by its id, gave outputs; args, outputs: tensors."""
        for x in args:
            of, giver = self._outputs.get(x.data_ptr(), (None, None))
            self._detached = self._detached or (giver not in (None, model) and of() is not None and not x.requires_grad)
        self._outputs.update({x.data_ptr(): (weakref.ref(x), model) for x in outputs})

    def pass_begins(self, optimizers):
        """optimizers: {number: optimizer} of all."""
        self._before = {number: state_of_gradients(one) for number, one in optimizers.items()} if len(optimizers) > 1 else {}
        for number, one in self._of.items():
            if one.after is not None and not one.added:
                one.left.is_used_by(optimizers[number])

    def pass_ends(self, optimizers):
        """A pass that reached an optimizer alone adds to what is left in it; another leaves gradients of its own. Returns which it
        reached, None of one optimizer alone."""
        reached = {number for number, before in self._before.items() if state_of_gradients(optimizers[number]) != before}
        last = self._last(optimizers, reached) if len(reached) > 1 else None
        for number in reached:
            own = self._of.get(number)
            self._see_own(number, optimizers, reached, last)
            if reached != {number}:
                self._forget(number)
                if last in (number, None):
                    self._of[number] = Leftover(reached - {number}, Left(optimizers[number]))
            elif own is not None and own.after is not None:
                own.added = True
            elif own is not None:
                del self._of[number]  # a loss of its own beside a common one, before any step
        self._detached = False
        return reached if self._before else None

    def _see_own(self, number, optimizers, reached, last):
        """Sees a pass that reached an optimizer: alone, or after one that did, together with one other and as the last of its modules."""
        before = self._own.get(number)
        if reached == {number} and len(optimizers) > 1:
            if before is None or before.other is None:
                cleared = set() if before is None else before.cleared
                self._own[number] = Own.of(optimizers[number], self._detached or (before is not None and before.detached))
                if self._own[number] is not None:
                    self._own[number].cleared = cleared
            else:
                del self._own[number]
        elif before is not None and before.other is None and len(reached) == 2 and last == number:
            before.meets(*(reached - {number}))
        else:
            self._own.pop(number, None)

    def added_after(self, number, optimizer):
        """Returns the number of the optimizer whose pass has added to what an optimizer that steps next had from its own, where the two
        passes are not meant to be one: what the other had was cleared between them, or they work against each other."""
        own = self._own.get(number)
        if own is None or own.other is None or own.is_back(optimizer):
            return None
        if not own.apart and own.detached:
            self._opposed[number] = self._opposed.get(number, 0) + 1 if float(own.cosine) < OPPOSED else 0
        return own.other if own.apart or self._opposed.get(number, 0) >= TIMES else None

    def _last(self, optimizers, reached):
        """Returns the number of that of the optimizers that a pass reached which holds the module that was called last; None if none does."""
        module = self.last_called()
        own = set() if module is None else {id(p) for p in module._parameters.values()}
        return next((number for number in reached
                     if any(id(p) in own for group in optimizers[number].param_groups for p in group["params"])), None)

    def cleared(self, number):
        self._forget(number)
        self._own.pop(number, None)
        for one in self._own.values():
            if one is not None and one.other is None:
                one.cleared.add(number)

    def _forget(self, number):
        self._of.pop(number, None)

    def about_to_step(self, number, optimizer):
        """Returns the number of the optimizer after whose step another pass added to what was left; None if there is none, or if the
        gradients were written to, as by zeros, before it."""
        one = self._of.get(number)
        is_ill = one is not None and one.added and not one.left.differed() and one.left.is_nonzero() and has_gradient(optimizer)
        return one.after if is_ill else None

    def stepped(self, number):
        self._forget(number)
        self._own.pop(number, None)
        self._outputs.clear()
        for one in self._of.values():
            if number in one.others and one.after is None:
                one.after = number
