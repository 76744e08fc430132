# SPDX-License-Identifier: Apache-2.0
"""Optimizers all of whose steps are made without any gradient, since no backward pass reaches what they hold: what it gives is detached."""
from ..values.waiting_tensors import states_of
from .skips import optimizer_text
from .unused import held_by

LEAST = 3  # steps from which on that is told


class Gradless:
    """Optimizers whose parameters want gradients and had none in any step."""

    def __init__(self):
        self._steps = {}  # id of an optimizer: in how many steps its parameters wanted gradients and had none; None once one had one
        self._versions = {}  # id of an optimizer: the versions of its parameters before the first of these steps

    def see(self, optimizer):
        """Sees the gradients with which an optimizer steps."""
        key = id(optimizer)
        if self._steps.get(key, 0) is None:
            return
        if any(p.grad is not None for p in held_by(optimizer)):
            self._steps[key] = None
        elif any(p.requires_grad for p in held_by(optimizer)):
            self._steps[key] = self._steps.get(key, 0) + 1
            self._versions.setdefault(key, states_of(held_by(optimizer)))

    def ends(self, optimizers, parts, reached):
        """Yields (optimizer, line) as texts for each that never had a gradient and changed nothing.

        parts: {id of a parameter: its Parts}. reached(optimizer): whether it had a gradient after some backward pass, or whether that is
        not known."""
        for one in optimizers:
            steps, held = self._steps.get(id(one)) or 0, held_by(one)
            is_known = all(id(p) in parts for p in held) and not any(getattr(one, "state", {}).get(p) for p in held)
            if steps >= LEAST and is_known and not reached(one) and self._versions[id(one)] == states_of(held):
                text = optimizer_text(one, parts)
                yield text, (f"{text} stepped without any gradient in all {steps:,} of its steps, and trained nothing: no backward pass reached its "
                             "parameters, though they want gradients. What their modules give is detached before the loss (detach(), no_grad, "
                             "argmax), or the loss does not use it: compute the loss from outputs that are not detached. Where that is meant, "
                             "requires_grad_(False) says so")
