# SPDX-License-Identifier: Apache-2.0
"""The hooks in optimizers and scalers, and what they see.

    scaler.scale      ─▶ the loss scale is in use
    optimizer.step    ─▶ before: weight, dW, a copy of the weight; after: update, state
    the last of the optimizers has stepped ─▶ the step is over
"""
import functools
import math
import weakref

import torch

from ... import _binade
from ..observe.attaching import copies_note, living_optimizers, optimizers_of_copies, outer_of, takes_closure
from ..observe.tensors import FLOATING, in_one_piece, local, placement_of
from ..observe.wrapping import wrap
from .gaps import why_uncounted
from .loop.settings import LEAST_LAST, by_loop, is_idle, note_ill_settings, rate_of, setter_of
from .loop.skips import optimizer_text
from .run import SCALED, add_to
from .values.nonfinite import LOSS
from .weights.eps import note_lost_eps
from .weights.frozen import note_moved
from .weights.lost_updates import Change, held, known_as, may_write_gradients
from .weights.remainders import Beside
from .weights.state_decay import note_stuck_states
from .weights.states import values_of

SEARCHES = 4  # for optimizers, where none is found, in as many passes


def watching(method):
    """Catches errors in counting and notes them, so that they do not end the training."""
    @functools.wraps(method)
    def guarded(self, *args):
        try:
            method(self, *args)
        except Exception as error:
            line = str(error).partition("\n")[0]
            self.note_step(f"something was not counted: {type(error).__name__}: {line}", warn=True)

    return guarded


def usable(scale):
    """Returns a loss scale as a float; None if it divides nothing."""
    scale = float(scale)
    return scale if math.isfinite(scale) and scale > 0 else None


def held_by(optimizer):
    """Returns the ids of an optimizer's parameters."""
    return {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}


def stored_in(part, x):
    """Returns the values that a sparse tensor of a parameter's shape stores in a Part of it."""
    x = x.detach().coalesce()
    if part.rows is None:
        return x.values()
    row = x.indices()[0]
    return x.values()[(row >= part.rows.start) & (row < part.rows.stop)]


def groups_of(optimizer):
    """Returns {id of a parameter: its group}."""
    return {id(parameter): group for group in optimizer.param_groups for parameter in group["params"]}


class OptimizerHooks:
    """The part of Hooks that attaches to optimizers and scalers."""

    def attach_scaler(self, scaler):
        """Attaches hooks to a scaler. It is in use from each call of its scale() to the end of the step; always, if calls cannot be seen.

        Returns whether steps that it skips can be seen.
        """
        if not self._wrap(scaler, "scale", functools.partial(self._scale, scaler)):
            self._scaler = scaler
        if self._plan.gradients != "unscaled":
            self._wrap(scaler, "unscale_", self._unscale)
        self._attached += 1
        sees_steps = self._wrap(scaler, "step", functools.partial(self._scaler_step, self._attached, weakref.ref(scaler)))
        self.attach_order_to_scaler(scaler)
        self._known_scalers.add(id(scaler))
        return sees_steps

    def attach_optimizers(self, optimizers):
        """Attaches hooks to the given optimizers."""
        self._optimizers = list({id(one): one for one in optimizers}.values())
        for optimizer in self._optimizers:
            self.attach_order_to_optimizer(optimizer)
            if hasattr(optimizer, "register_step_pre_hook"):
                self._undo.append(optimizer.register_step_pre_hook(self._before_step).remove)
                self._undo.append(optimizer.register_step_post_hook(self._after_step).remove)
            elif not self._wrap(optimizer, "step", functools.partial(self._optimizer_step, optimizer)):
                self.note(f"steps of {type(optimizer).__name__} cannot be seen: call w.step()", warn=True)

    def find_optimizers(self):
        """Looks for optimizers in the process that hold the models' parameters; repeated as long as there are none."""
        self._found = True
        found = living_optimizers(self._names.parts)
        if not found:
            found = optimizers_of_copies(self._names.held)
            for one in found:
                self.note(copies_note(one))
                self._plan.uncounted[copies_note(one)] = 1.0
        self._searches = 0 if found else SEARCHES if not self._searches else self._searches - 1
        if found:
            self.note(f"{', '.join(type(one).__name__ for one in found)} {'were' if len(found) > 1 else 'was'} found")
            self.attach_optimizers(found)

    def _wrap(self, owner, name, around):
        undo = wrap(owner, name, around)
        if undo is not None:
            self._undo.append(undo)
        return undo is not None

    def _scale(self, scaler, inner, *args, **kwargs):
        self._step.scaler, self._step.scale_is_known = scaler, False
        if args:
            self._see_loss(LOSS, args[0])
        return inner(*args, **kwargs)

    def _parameters(self, optimizer):
        """Yields (parameter, its values in this process, Parts) for the parameters of the models that an optimizer holds."""
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                parts = self._names.parts.get(id(parameter))
                values = local(parameter) if parts else None
                if values is not None:
                    yield parameter, values, parts
                elif parts and self._step.counted:
                    self.gaps.parameter(parameter, "weights, updates and states", why_uncounted(parameter))

    def _weight_gradients(self, optimizer):
        """Yields (layer, gradient, parameter) for the parameters of an optimizer."""
        of = self._names.parts
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                gradient = parameter.grad
                x = None if gradient is None or id(parameter) not in of else local(gradient)
                if x is None and gradient is not None and id(parameter) in of and self._step.counted:
                    self.gaps.parameter(parameter, "gradients", why_uncounted(gradient))
                if x is not None:
                    is_sparse = gradient.layout is torch.sparse_coo
                    if is_sparse and self._step.counted:
                        self.gaps.parameter(parameter, "zeros of the gradients", "which are sparse and do not store them")
                    for part in of[id(parameter)]:
                        yield part.layer, stored_in(part, gradient) if is_sparse else part.of(x), parameter

    def _unscale(self, inner, optimizer, *args, **kwargs):
        self._see_scaled(optimizer)
        return inner(optimizer, *args, **kwargs)

    @watching
    def _see_scaled(self, optimizer):
        step = self._step
        if step.counted and id(optimizer) not in step.unscaled:
            step.unscaled.add(id(optimizer))
            for layer, x, parameter in self._weight_gradients(optimizer):
                step.count(layer + ("" if self._plan.gradients == "scaled" else SCALED), "dW", x, placement_of(parameter))

    @watching
    def _see_weight_gradients(self, optimizer):
        step = self._step
        if step.counted:
            self._loss_scale()
        # An optimizer that unscales by itself, as torch's fused ones do, holds what by.
        left = getattr(optimizer, "grad_scale", None)
        left = None if left is None else float(left)
        counted = step.counted and not (self._plan.gradients == "scaled" and id(optimizer) in step.unscaled)
        self._grades.see(optimizer)
        self._gradless.see(optimizer)
        finite = []
        for layer, x, parameter in self._weight_gradients(optimizer):
            summary = step.count_gradient(layer, "dW", x, left, placement_of(parameter)) if counted else None
            if counted:
                self._layers[layer, "dW"].bind(step.bound.parameter_binds(parameter))
                frozen = self._plan.learning.frozen
                frozen[layer] = frozen.get(layer, True) and not parameter.requires_grad
            if self._plan.nonfinite:
                finite.append(step.look_at(layer, "dW", x, summary))
                if step.event is not None:
                    step.sees_gradient(x, summary)
        if finite:
            step.reaches(all(finite))

    @watching
    def _see_weights(self, optimizer):
        if self._step.counted:
            for parameter, values, parts in self._parameters(optimizer):
                for part in parts:
                    self._step.count(part.layer, "weight", part.of(values), placement_of(parameter))

    def _see_skipped(self, optimizer):
        """Sees a step that a scaler skipped."""
        self._step.skipped.add(id(optimizer))
        self._see_weights(optimizer)
        event = self._step.event
        if event is not None:
            event.skipped = True
            if len(self._optimizers) > 1:
                event.skipped_of = " and ".join(dict.fromkeys(filter(None, (event.skipped_of, self._steps_of(optimizer).optimizer))))

    def _scaler_step(self, number, scaler, inner, optimizer, *args, **kwargs):
        scale = self._loss_scale()
        is_watched = any(one is optimizer for one in self._optimizers)
        of = self._steps_of(optimizer) if is_watched else None
        before = 0
        if is_watched:
            before = of.steps
            self._see_scaler_of(of, number, scaler(), scale)
        out = inner(optimizer, *args, **kwargs)
        if is_watched and of.steps == before:
            self._see_weight_gradients(optimizer)
            self._see_skipped(optimizer)
            self._done(optimizer, True)
        return out

    @watching
    def _see_scaler_of(self, of, number, scaler, scale):
        """Sees the scaler of Steps. scale: the loss scale in use, which may be another scaler's."""
        is_in_use = self._plan.loss_scale is not None or self._step.scaler in (scaler, None)
        self._plan.skips.growth_interval = getattr(scaler, "get_growth_interval", lambda: None)()
        of.steps_through(number, scale if is_in_use else usable(scaler.get_scale()), self._plan.loss_scale is None)

    def _steps_of(self, optimizer):
        """Returns the Steps of an optimizer that is watched."""
        name = self._optimizer_texts.get(id(optimizer))
        if name is None:
            name = self._optimizer_texts[id(optimizer)] = optimizer_text(optimizer, self._names.parts)
        return self._plan.skips.of(name)

    def _optimizer_step(self, optimizer, inner, *args, **kwargs):
        if self._is_in_step:
            out = inner(*args, **kwargs)
            self._see_states(optimizer)
            return out
        self._is_in_step = True
        try:
            self._see_before(optimizer, args, kwargs)
            out = inner(*args, **kwargs)
        finally:
            self._is_in_step = False
        self._see_after(optimizer, args, kwargs)
        self._done(optimizer, id(optimizer) in self._step.left_out)
        return out

    def _before_step(self, optimizer, args, kwargs):
        if outer_of(self._optimizers) is None:
            self._see_before(optimizer, args, kwargs)

    def _after_step(self, optimizer, args, kwargs):
        outer = outer_of(self._optimizers)
        if outer is None:
            self._see_after(optimizer, args, kwargs)
            self._done(optimizer, id(optimizer) in self._step.left_out)
        elif outer is not optimizer:
            self._see_states(optimizer)

    @watching
    def _see_before(self, optimizer, args, kwargs):
        step = self._step
        step.finite_gradient = None
        self._order.gradients_are_used()
        self._order.plain_step_begins(optimizer)
        self._bypassed.are_used([optimizer])
        if not takes_closure(args, kwargs):
            self._see_weight_gradients(optimizer)
        self._own_steps(optimizer, takes_closure(args, kwargs))
        step.gradients.drop()
        step.outputs.drop()
        # A fused optimizer is told whether to leave the step out.
        step.left_out.discard(id(optimizer))
        found = getattr(optimizer, "found_inf", None)
        if found is not None and float(found) > 0:
            step.left_out.add(id(optimizer))
            return
        note_ill_settings(optimizer, step.number, self._names.parts, self._plan.causes, self._plan.learning.wrong)
        self._between.step_begins(optimizer, step.counted)
        self._see_weights(optimizer)
        if step.counted:
            groups = groups_of(optimizer)
            weights = [(parameter, values) for parameter, values, _ in self._parameters(optimizer)]
            step.beside[id(optimizer)] = Beside(optimizer, weights, known_as(optimizer) is not None)
            for parameter, values in weights:
                step.copies[id(parameter)] = in_one_piece(values).detach().clone()
                written = may_write_gradients(optimizer, groups[id(parameter)]) and not takes_closure(args, kwargs)
                if written and parameter.grad is not None:
                    step.gradient_copies[id(parameter)] = parameter.grad.detach().clone()

    @watching
    def _see_after(self, optimizer, args, kwargs):
        step = self._step
        self._order.plainly_stepped(optimizer)
        self._bypassed.has_stepped(optimizer)
        if takes_closure(args, kwargs):
            self._see_weight_gradients(optimizer)
        if id(optimizer) in step.left_out:
            self._see_skipped(optimizer)
            return
        self._between.step_ends(optimizer)
        self._see_idle(optimizer)
        if not step.counted:
            return
        note_lost_eps(optimizer, self._names.parts, self._plan.eps, self._plan.causes)
        note_stuck_states(optimizer, self._names.parts, self._plan.stuck)
        groups = groups_of(optimizer)
        beside = step.beside.pop(id(optimizer))
        beside.has_stepped([(step.copies[id(parameter)], values) for parameter, values, _ in self._parameters(optimizer)
                            if id(parameter) in step.copies], takes_closure(args, kwargs))
        for parameter, values, parts in self._parameters(optimizer):
            before = step.copies.pop(id(parameter), None)
            if before is not None and before.element_size() > 1:
                self._count_update(optimizer, groups[id(parameter)], beside, parameter, parts, before, in_one_piece(values).detach())
            step.gradient_copies.pop(id(parameter), None)
        self._see_states(optimizer)

    def _see_idle(self, optimizer):
        """Counts a step at learning rates of 0, and sees in the first, and in the first of those that come last, who has set them."""
        of = self._steps_of(optimizer)
        if not is_idle(optimizer):
            of.idle_last = 0
            return
        of.schedule = of.schedule if of.idle else by_loop(optimizer)
        of.idle_since = of.idle_since if of.idle_last else self.number
        of.idle += 1
        of.idle_last += 1
        if of.idle_last == LEAST_LAST and of.ends:
            of.idle_by = setter_of(optimizer)

    def _inputs_of_step(self, optimizer, parameter):
        """Returns the tensors from which an update is computed, by name."""
        states = getattr(optimizer, "state", {}).get(parameter, {})
        states = {key: x for key, x in states.items() if isinstance(x, torch.Tensor) and x.numel() > 1}
        return {"gradient": parameter.grad} | states

    def _see_ill_weight(self, layer, old, new, inputs):
        """Looks at a weight of which an update is Inf or NaN."""
        step, before = self._step, self._step.event
        was_there = not bool(old.isfinite().all())
        is_meant = was_there and not bool(old.isnan().any()) and bool(((new == old) | new.isfinite()).all())  # Inf that no step changes
        if is_meant or was_there and step.is_ruined(layer):
            return
        step.reaches(False)
        step.look_at(layer, "weight", new, None, inputs)
        if was_there and step.event is not before:
            step.event.take_as_given()

    def _count_update(self, optimizer, group, beside, parameter, parts, before, after):
        for part in parts:
            old, new = in_one_piece(part.of(before)), in_one_piece(part.of(after))
            values = new - old
            summary = self._step.count(part.layer, "update", values, placement_of(parameter))
            change = Change(values, not (summary.nan or summary.inf))
            if self._plan.nonfinite and not change.is_finite:
                self._see_ill_weight(part.layer, old, new, functools.partial(self._inputs_of_step, optimizer, parameter))
            self._plan.learning.at(part.layer, rate_of(group))
            note_moved(self._plan.learning.moved, optimizer, parameter, part.layer, old, new)
            kept = held(optimizer, group, parameter, part, old, new, change, beside, self._step.gradient_copies.get(id(parameter)))
            counts = _binade._UpdateCounts()
            counts.add_held(**kept.counts)
            if kept.counts.get("unknown") and known_as(optimizer) is None:
                self.note(f"{type(optimizer).__name__}: what it wants is not known, so updates that change no weight have no size")
            if old.device.type == "cpu":
                counts.add_at(old.data_ptr(), kept.update.data_ptr(), old.numel(), FLOATING[old.dtype], FLOATING[kept.update.dtype])
            if old.device.type == "cpu" or kept.counts:
                add_to(self._step.window.updates, {part.layer: counts})

    @watching
    def _see_states(self, optimizer):
        if not self._step.counted:
            return
        for parameter, values, parts in self._parameters(optimizer):
            for key, state, x in values_of(getattr(optimizer, "state", {}).get(parameter, {})):
                if x is None and state.numel() > 1:
                    why = why_uncounted(state) or f"of dtype {str(state.dtype).removeprefix('torch.')}"
                    self.gaps.parameter(parameter, f"states {key}", why)
                if x is None or (x.numel() < 2 and x.shape != values.shape):
                    continue
                if x.shape == values.shape:
                    named = [(part.layer, part.of(x)) for part in parts]
                else:  # a state of all parameters together, as in L-BFGS, or of rows and columns
                    named = [(type(optimizer).__name__ if x.numel() > values.numel() else parts[0].layer, x)]
                for layer, own in named:
                    self._step.count(f"{layer}.{key}", "state", own, placement_of(state))

    def _done(self, optimizer, is_skipped):
        step = self._step
        self._steps_of(optimizer).add(is_skipped, step.number)
        step.is_empty = False
        again = id(optimizer) in step.ended
        step.ended.add(id(optimizer))
        if self._found and (again or id(optimizer) not in self._stepped):
            # An optimizer that was found, not given, and did not step while another did is not waited for.
            held = held_by(optimizer)
            self._optimizers = [one for one in self._optimizers if one is optimizer or id(one) in self._stepped
                                or not (again or held & held_by(one))]
        self._stepped.add(id(optimizer))
        if not self.by_hand and all(id(one) in step.ended for one in self._optimizers):
            self.end_step()
