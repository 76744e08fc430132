# SPDX-License-Identifier: Apache-2.0
"""Finds scalers that a loop makes while it is watched, and counts the steps that scalers skip.

    scale() of an unknown scaler, or its step() of a watched optimizer ─▶ hooks are attached to it; the call runs through them
"""
import dataclasses
import functools

from ..observe.attaching import is_compiling, scaler_kinds, unwrapped_optimizer
from .nonfinite import scale_text

MOST_SCALERS = 16  # found while watching that keep their hooks; one that had to give them up is found again
TURNS = 3  # scalers, used one after the other, from which on a loop makes them anew; two may belong to two models


@dataclasses.dataclass
class Skips:
    """The steps of a run that scalers skipped.

    steps: how many are over. skipped: those in which no optimizer stepped, since a scaler left them all out. scales: the loss
    scales of these, as a dict {scale: steps}. scalers: how many were used. last: the id of the last one. alternate: whether one was
    used again after another, as those of several models are.
    """

    steps: int = 0
    skipped: int = 0
    scales: dict = dataclasses.field(default_factory=dict)
    scalers: int = 0
    last: "int | None" = None
    alternate: bool = False

    def uses(self, scaler, is_new):
        """Takes the id of the scaler of a step. is_new: whether it was not used before."""
        self.scalers += is_new
        self.alternate = self.alternate or not (is_new or scaler == self.last)
        self.last = scaler

    @property
    def all(self):
        """Whether every step was skipped."""
        return self.steps > 0 and self.skipped == self.steps

    @property
    def text(self):
        """What was skipped, as text; empty unless every step was, or new scalers skip steps again and again."""
        renewed = not self.alternate and (self.scalers >= TURNS or (self.all and self.scalers > 1))
        if not self.skipped or not (self.all or renewed):
            return ""
        line = f"the scaler skipped {'every one' if self.all else f'{self.skipped:,}'} of {self.steps:,} steps"
        if self.scales:
            low, high = map(scale_text, (min(self.scales), max(self.scales)))
            line += f", at loss scale {low}" if low == high else f", at loss scales from {low} to {high}"
        if self.all:
            line += ": nothing was trained"
        if renewed:
            line += (f"; {self.scalers:,} GradScalers took turns, and a new GradScaler begins at its init_scale again: make one "
                     "before the loop and keep it")
        return line


class ScalerHooks:
    """The part of Hooks that finds scalers while the loop runs. Of watches within each other, the inner one finds them."""

    def find_scalers(self, by_scale):
        """Attaches hooks to enabled GradScalers as they are called. by_scale: at the first scale(), else at a step() of an
        optimizer that is watched."""
        for kind in scaler_kinds():
            for name in ("scale", "step") if by_scale else ("step",):
                if name in vars(kind):
                    self._see_calls(kind, name)

    def _see_calls(self, kind, name):
        function, hooks = vars(kind)[name], [self]

        @functools.wraps(function)
        def instead(scaler, *args, **kwargs):
            outermost = getattr(type(scaler), name, None) is instead  # not called by a derived class's own
            if hooks and outermost and not is_compiling() and hooks[0].finds(scaler, name, [*args, *kwargs.values()]):
                return getattr(scaler, name)(*args, **kwargs)
            return function(scaler, *args, **kwargs)

        def undo():
            hooks.clear()
            if vars(kind)[name] is instead:
                setattr(kind, name, function)

        setattr(kind, name, instead)
        self._undo.append(undo)

    def finds(self, scaler, name, args):
        """Returns whether hooks were attached to a scaler because of this call."""
        if id(scaler) in self._known_scalers or not scaler.is_enabled():
            return False
        if name == "step" and not (args and any(one is unwrapped_optimizer(args[0]) for one in self._optimizers)):
            return False
        if len(self._found_scalers) == MOST_SCALERS:
            self._give_up(next(iter(self._found_scalers)))
        before = len(self._undo)
        if not self.attach_scaler(scaler):
            return False
        self._found_scalers[id(scaler)] = scaler, self._undo[before:]
        del self._undo[before:]
        if name == "step":
            self._step.scaler, self._step.scale_is_known = scaler, False
        self.note("a GradScaler was found while watching; the loss scale is that of the one whose scale() was called last")
        return True

    def _give_up(self, key):
        scaler, undo = self._found_scalers.pop(key)
        for one in reversed(undo):
            one()
        self._known_scalers.discard(key)
        self._used_scalers.discard(key)
        self._order.remove_scaler(scaler)

    def _give_up_all(self):
        for key in list(self._found_scalers):
            self._give_up(key)

    def _count_skips(self, step):
        skips, scaler = self._plan.skips, step.scaler
        skips.steps += 1
        if scaler is not None:
            skips.uses(id(scaler), id(scaler) not in self._used_scalers)
            self._used_scalers.add(id(scaler))
        if step.skipped and step.skipped >= step.ended:
            skips.skipped += 1
            if step.loss_scale is not None:
                skips.scales[step.loss_scale] = skips.scales.get(step.loss_scale, 0) + 1
