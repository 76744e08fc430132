# SPDX-License-Identifier: Apache-2.0
"""Finds scalers that a loop makes while it is watched, and counts the steps that scalers skip.

    scale() of an unknown scaler, or its step() of a watched optimizer ─▶ hooks are attached to it; the call runs through them
"""
import functools

from ..observe.attaching import is_compiling, scaler_kinds, unwrapped_optimizer
from ..observe.wrapping import Arounds, arounds_of

MOST_SCALERS = 16  # found while watching that keep their hooks; one that had to give them up is found again


class ScalerHooks:
    """The part of Hooks that finds scalers while the loop runs."""

    def find_scalers(self, by_scale):
        """Attaches hooks to enabled GradScalers as they are called. by_scale: at the first scale(), else at a step() of an
        optimizer that is watched."""
        for kind in scaler_kinds():
            for name in ("scale", "step") if by_scale else ("step",):
                if name in vars(kind):
                    self._see_calls(kind, name)

    def _see_calls(self, kind, name):
        function = vars(kind)[name]
        shared = arounds_of(function, kind)
        if shared is not None:
            self._undo.append(shared.add(self))
            return

        @functools.wraps(function)
        def instead(scaler, *args, **kwargs):
            outermost = getattr(type(scaler), name, None) is instead  # not called by a derived class's own
            if outermost and not is_compiling() and any([one.finds(scaler, name, [*args, *kwargs.values()]) for one in hooks.functions]):
                return getattr(scaler, name)(*args, **kwargs)
            return function(scaler, *args, **kwargs)

        def restore():
            if vars(kind)[name] is instead:
                setattr(kind, name, function)

        hooks = Arounds(kind, function, restore)
        hooks.stand_in(instead)
        setattr(kind, name, instead)
        self._undo.append(hooks.add(self))

    def finds(self, scaler, name, args):
        """Returns whether hooks were attached to a scaler because of this call."""
        is_own = bool(args) and any(one is unwrapped_optimizer(args[0]) for one in self._optimizers)
        if id(scaler) not in self._known_scalers and not scaler.is_enabled():
            self._plan.skips.disabled = self._plan.skips.disabled or (name == "step" and is_own)
            return False
        if id(scaler) in self._known_scalers or (name == "step" and not is_own):
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
        self.undo_all(undo)
        self._known_scalers.discard(key)
        self._used_scalers.discard(key)
        self._order.remove_scaler(scaler)

    def _give_up_all(self):
        for key in list(self._found_scalers):
            self._give_up(key)

    def _own_begins(self, loss, gradient, more):
        """A backward pass begins. more: what backward() was given by name."""
        if self._optimizers and not self._order.is_in_backward:
            loss, gradient = more.get("tensors", loss), more.get("grad_tensors", gradient)
            given = self._loss_scale if self._plan.loss_scale is not None or self._scaler is not None else None
            scale = self._own_scale.backward_begins(self._step, loss, gradient, given)
            if scale is not None:
                self._step.loss_scale, self._step.scale_is_known = scale, True

    def _own_ends(self, well):
        if well and not self._order.is_in_backward:
            self._own_scale.backward_ends(self._step, self._plan.nonfinite, self._optimizers)

    def _own_steps(self, optimizer, by_itself):
        """An optimizer steps next. by_itself: whether it computes its gradients itself."""
        if by_itself:
            self._own_scale.stays_apart()
        self._own_scale.steps(self._step, optimizer)

    def _count_skips(self, step):
        skips, scaler = self._plan.skips, step.scaler
        skips.steps += 1
        skips.ill_at = step.number if step.reached else skips.ill_at
        skips.sees_scale(step.number, scaler is not None, step.saw_half if step.counted else None)
        if scaler is not None:
            skips.uses(id(scaler), id(scaler) not in self._used_scalers)
            self._used_scalers.add(id(scaler))
        if step.skipped and step.skipped >= step.ended:
            if step.event is not None:
                step.event.skipped_of = ""  # of all
            skips.skipped += 1
            if step.loss_scale is not None:
                skips.scales[step.loss_scale] = skips.scales.get(step.loss_scale, 0) + 1
