# SPDX-License-Identifier: Apache-2.0
"""Gradients that the backward pass for one optimizer leaves in the parameters of another, which then steps with them and its own.

    lossG.backward() reaches G and D ─▶ G steps ─▶ lossD.backward() reaches D alone ─▶ D steps with the gradients of both losses
"""
import dataclasses

from .unused import Left, has_gradient, state_of_gradients


@dataclasses.dataclass
class Leftover:
    """What a backward pass left in the parameters of an optimizer.

    others: numbers of the optimizers that it reached, too. left: the gradients after it. after: the number of one of the others that
    has stepped since; None until then. added: whether a backward pass that reached none of the others has added to it."""

    others: set
    left: Left
    after: "int | None" = None
    added: bool = False


class Leftovers:
    """What backward passes leave in each of several optimizers, by its number.

    last_called: a reference to the module with parameters that gave outputs last. Where it is another's, as a head behind an encoder, a
    loss may be meant for both, and one of the encoder alone, as a penalty, for the same step of it.
    """

    def __init__(self):
        self._of, self._before = {}, {}
        self.last_called = lambda: None

    def pass_begins(self, optimizers):
        """optimizers: {number: optimizer} of all."""
        self._before = {number: state_of_gradients(one) for number, one in optimizers.items()} if len(optimizers) > 1 else {}
        for number, one in self._of.items():
            if one.after is not None and not one.added:
                one.left.is_used_by(optimizers[number])

    def pass_ends(self, optimizers):
        """A pass that reached an optimizer alone adds to what is left in it; another leaves gradients of its own."""
        reached = {number for number, before in self._before.items() if state_of_gradients(optimizers[number]) != before}
        last = self._last(optimizers, reached) if len(reached) > 1 else None
        for number in reached:
            own = self._of.get(number)
            if reached != {number}:
                self.cleared(number)
                if last in (number, None):
                    self._of[number] = Leftover(reached - {number}, Left(optimizers[number]))
            elif own is not None and own.after is not None:
                own.added = True
            elif own is not None:
                del self._of[number]  # a loss of its own beside a common one, before any step

    def _last(self, optimizers, reached):
        """Returns the number of that of the optimizers that a pass reached which holds the module that was called last; None if none does."""
        module = self.last_called()
        own = set() if module is None else {id(p) for p in module._parameters.values()}
        return next((number for number in reached
                     if any(id(p) in own for group in optimizers[number].param_groups for p in group["params"])), None)

    def cleared(self, number):
        self._of.pop(number, None)

    def about_to_step(self, number, optimizer):
        """Returns the number of the optimizer after whose step another pass added to what was left; None if there is none, or if the
        gradients were written to, as by zeros, before it."""
        one = self._of.get(number)
        is_ill = one is not None and one.added and not one.left.differed() and one.left.is_nonzero() and has_gradient(optimizer)
        return one.after if is_ill else None

    def stepped(self, number):
        self._of.pop(number, None)
        for one in self._of.values():
            if number in one.others and one.after is None:
                one.after = number
