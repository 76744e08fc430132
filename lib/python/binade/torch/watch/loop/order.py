# SPDX-License-Identifier: Apache-2.0
"""The order of the calls in a training loop: what binade's order checker (lib/amp) says of them, held against the gradients there are.

    zero_grad ─▶ scale ─▶ backward ─▶ unscale_ ─▶ clip ─▶ step ─▶ update

A call that cannot be seen is no mistake: gradients may be set, and taken away, by hand.
"""
import dataclasses
import math
import weakref

import torch

from .... import _binade
from ...observe.attaching import scaler_kinds
from ..values.nonfinite import scale_text
from .divided import Divided
from .leftovers import Leftovers
from .unused import Left, Unused, Zeros, holds_gradient, holds_ill, is_cleared, state_of_gradients

FIXED = "static", "none"  # policies of LossScaler whose scale never changes
TURNS_WITHOUT_UPDATE = 3  # of a scaler, which two models may share in one iteration
LEAST_BY_HAND = 2.0**-10  # a limit, as a share of the loss scale, from which on it may be meant for scaled gradients that the loop clips by hand
LEAST_SCALED_LIMIT = 32, 0.01  # a limit above both, the second a share of the loss scale, is meant for scaled gradients


@dataclasses.dataclass(frozen=True)
class Mistake:
    """A mistake in the order of a loop's calls, at its first time.

    step: the number of the step. optimizer: its class. mistake: a name, such as "clip_before_unscale". text: what is wrong, why it
    matters and what to do, in one line. warning: it may be meant.
    """

    step: int
    optimizer: str
    mistake: str
    text: str
    warning: bool

    def __str__(self):
        return f"order of calls, step {self.step}: {self.optimizer} {self.text}"


@dataclasses.dataclass
class Use:
    """What a loop has done with a scaler. losses: how many it scaled, in how many turns, each ended by a step or by clearing gradients.
    scale: the scale at first. updated: whether update() was called."""

    scale: float
    losses: int = 0
    turns: int = 0
    last_turn: int = -1
    updated: bool = False

    def scaled(self, losses, turn):
        self.losses += losses
        self.turns += turn != self.last_turn
        self.last_turn = turn


class Order:
    """What a loop has called so far. tell(optimizer's name, mistake, text, warning) is called once for each kind and optimizer. counted():
    whether the step is counted.

    Each scaler has a checker of its own, to which losses that it has not multiplied are plain ones; None has that of loops, and of
    optimizers, without a scaler.
    """

    def __init__(self, tell, counted):
        self._tell, self._counted = tell, counted
        self._checkers = {None: _binade._OrderChecker()}
        self._scalers, self._optimizers = {}, []
        self.has_several = False  # optimizers
        self._reached = set()  # keys of the scalers whose losses the backward pass has reached
        self._lazy = set()  # keys of scalers that gave losses which cannot be looked at
        self._depth = 0  # of backward passes inside of each other
        self._in_step = False  # a scaler's step runs
        self._used = set()  # numbers of optimizers that a scaler unscaled or stepped since its update
        self._before = {}  # number of an optimizer: the state of its gradients before the backward pass that runs
        self._summed = {}  # the same after the last one, of those that it reached since they were cleared
        self._to_clear = set()  # numbers of optimizers that stepped with the gradients that they have
        self._stepped_with = {}  # number of an optimizer: the state of its gradients when it stepped last
        self._others = False  # a scaler was called with an optimizer that is not watched
        self._turn = 0  # grows as gradients are stepped with or cleared
        self._uses = {}  # key of a scaler: its Use
        self._left = {}  # number of an optimizer: its gradients after the last backward pass and each clipping since, as Lefts
        self._holds = set()  # numbers of the optimizers whose parameters had gradients after the last backward pass
        self._ever_held = set()  # the same after any
        self._has_ended = False  # a backward pass has ended well
        self._has_passes = False  # backward passes came after the last step
        self._reads_inputs = False  # a pass since the last step was of an input that wants a gradient
        self._unused = {}  # number of an optimizer whose gradients were taken away unused: its Unused
        self._after = {}  # number of an optimizer: the state of its gradients after the last backward pass or clipping, if they were not all zero
        self._guarded = set()  # numbers of optimizers whose Inf or NaN was taken away since the last step
        self._are_cleared = set()  # numbers of optimizers whose gradients were set to zero, or taken away, by hand since the last pass
        self._cleared = set()  # numbers of optimizers whose last step had gradients that were set to zero, or taken away, by hand
        self._divided, self._zeros = Divided(), Zeros()
        self._clipped = {}  # number of an optimizer: its gradients when they were clipped, till a step uses them
        self._unscaled = {}  # number of an optimizer: the scaler that unscaled its gradients, till a step uses them
        self._leftovers = Leftovers()
        self._told = set()

    def add_optimizer(self, optimizer):
        if self._number(optimizer) is None:
            self._optimizers.append(optimizer)
            self.has_several = len(self._optimizers) > 1

    def add_scaler(self, scaler):
        self._scalers[id(scaler)] = scaler
        self._checkers[id(scaler)] = _binade._OrderChecker()
        if isinstance(scaler, tuple(scaler_kinds())) and getattr(scaler, "policy", "torch").partition(":")[0] not in FIXED:
            self._uses[id(scaler)] = Use(float(scaler.get_scale()))

    def remove_scaler(self, scaler):
        key = id(scaler)
        self._end_use(key)
        for of in (self._scalers, self._checkers):
            of.pop(key, None)
        self._reached.discard(key)
        self._lazy.discard(key)

    def ends(self):
        """Tells what can be said once the loop is over."""
        for key in list(self._uses):
            self._end_use(key)

    def _end_use(self, key):
        use = self._uses.pop(key, None)
        if use is None or use.updated or use.turns < TURNS_WITHOUT_UPDATE or any("missing_update" in of for of in self._told):
            return
        if float(self._scalers[key].get_scale()) == use.scale:
            self._told.add(("missing_update", 0))
            self._tell(self._name(0), "missing_update", "never called update(), though scale() of the scaler was used for "
                       f"{use.losses:,} losses: the scale stays at {scale_text(use.scale)}, whatever overflows; call the scaler's "
                       "unscale_, step and update() in each step, or multiply by a plain number if a fixed scale is meant", False)

    def _number(self, optimizer):
        return next((n for n, one in enumerate(self._optimizers, 1) if one is optimizer), None)

    def _on(self, keys, event, number=0, limit=None):
        for key in keys:
            for mistake, warning, text in self._checkers[key].on(event, number):
                if (mistake, number) not in self._told and self._is_so(mistake, key, number, limit):
                    self._told.add((mistake, number))
                    self._tell(self._name(number), mistake, text, warning)

    def _tell_once(self, mistake, number, text, warning):
        """Tells what no checker knows."""
        if (mistake, number) not in self._told:
            self._told.add((mistake, number))
            self._tell(self._name(number), mistake, text, warning)

    def _name(self, number):
        if not number:
            return "the loop"
        name = type(self._optimizers[number - 1]).__name__
        return f"{name} (optimizer {number})" if len(self._optimizers) > 1 else name

    def _is_so(self, mistake, key, number, limit):
        """Returns whether a mistake is one beside the gradients that there are."""
        if mistake in ("step_without_backward", "unscale_without_backward"):
            return number not in self._guarded and not self._has_gradient(number)
        if mistake == "double_step":
            return self._stepped_with.get(number) == state_of_gradients(self._optimizers[number - 1])
        if mistake == "backward_without_zero_grad":  # another tensor was set in place of the one that was stepped with
            before = dict(self._stepped_with.get(number, ()))
            return any(version > before.get(key, version) for key, version in state_of_gradients(self._optimizers[number - 1]))
        if mistake == "zero_grad_without_step":
            return not self._unused[number].by_hand
        if mistake == "update_without_step":
            return not self._others
        if mistake in ("clip_before_unscale", "step_with_scaled_gradients") and self._is_written(number):
            return False  # perhaps divided by the scale
        if mistake == "clip_before_unscale":
            scale = float(self._scalers[key].get_scale())
            return scale != 1 and (limit is None or is_of_unscaled(limit, scale))
        return True

    def _has_gradient(self, number):
        """Returns whether an optimizer's gradients may not all be zero."""
        return self._zeros.has_gradient(number, self._optimizers[number - 1], self._counted())

    def _is_written(self, number):
        """Returns whether an optimizer's gradients were written to, or set, by no call that was seen since the last backward pass."""
        return any(left.differed() for left in self._left.get(number, ()))

    def gradients_are_used(self):
        """Clipping or a plain step follows."""
        for number, optimizer in enumerate(self._optimizers if self._scalers and not self._in_step else (), 1):
            self._divided.look(number, optimizer)
        for number in self._after:
            self._look_cleared(number)
        for number, unused in () if self._scalers else self._unused.items():
            unused.look(self._optimizers[number - 1])
        for number, lefts in () if self._in_step else self._left.items():
            lefts[-1].is_used_by(self._optimizers[number - 1])

    def _leave_gradients(self):
        for number, one in enumerate(self._optimizers if self._scalers else (), 1):
            self._left.setdefault(number, []).append(Left(one))

    def _leave_scaled(self, scaler, numbers, is_scaled):
        for number in numbers:
            self._divided.leave(number, self._optimizers[number - 1], scaler.get_scale, is_scaled)

    def _see_divided(self, scaler, number):
        """Sees what was divided, or clipped, by hand before a scaler's unscale_ or step."""
        if number is not None and self._divided.was_by_hand(number, self._optimizers[number - 1]):
            self._tell_once("divided_by_hand", number, "gets gradients that are divided by the loss scale twice, once by hand and once by the "
                            "scaler, whose unscale_ and step divide: they are too small by the scale; leave out the division by hand", False)
        norm = None if number is None else self._divided.clipped_by_hand(number)
        if norm is not None and norm < min(LEAST_SCALED_LIMIT[0], LEAST_BY_HAND * float(scaler.get_scale())):
            self._tell_once("clip_before_unscale", number, f"gets scaled gradients that the loop clips by hand: between backward and the scaler's unscale_ or "
                            f"step it multiplies them by a factor that brings the norm of all to {norm:.3g} each time, and the scaler divides them after it: "
                            "the effective threshold is threshold / scale; call unscale_ before", False)

    def may_have_reached(self, optimizer):
        """Returns False if backward passes were seen and left no gradient in an optimizer's parameters, and if no mistake tells why."""
        number = self._number(optimizer)
        return not self._has_ended or number in self._ever_held or ("step_without_backward", number) in self._told

    def inputs_want_gradients(self):
        """The forward pass is of an input whose gradient is wanted, as for adversarial examples."""
        self._reads_inputs = True

    def called(self, module):
        """A module gave outputs with gradients, where there are several optimizers."""
        if not self._depth and any(p is not None and p.requires_grad for p in module._parameters.values()):
            self._leftovers.last_called = weakref.ref(module)

    def gave(self, model, args, outputs):
        """A whole model, given by its id, gave outputs with gradients, where there are several optimizers. args, outputs: tensors."""
        if not self._depth:
            self._leftovers.called(model, args, outputs)

    def zeroes(self, optimizer):
        """zero_grad follows."""
        if self._has_passes:
            number = self._number(optimizer)
            is_left = self._stepped_with.get(number) == state_of_gradients(optimizer)  # no pass came to it since it stepped
            self._throws_away(number, not is_left and self._has_gradient(number))

    def _throws_away(self, number, has_gradient):
        """Gradients that no step has used are taken away, if there are any."""
        if holds_ill(self._optimizers[number - 1]):
            self._guarded.add(number)
        unused = self._unused.setdefault(number, Unused())
        if self._reads_inputs or not has_gradient or unused.moved(self._optimizers[number - 1]):
            self._on(self._checkers, "use", number)

    def zeroed(self, optimizer):
        self._turn += 1
        number = self._number(optimizer)
        self._clipped.pop(number, None)
        self._unscaled.pop(number, None)
        self._divided.forget(number)
        self._to_clear.discard(number)
        self._summed.pop(number, None)
        self._holds.discard(number)
        self._leftovers.cleared(number)
        self._on(self._checkers, "zero_grad", number)

    @property
    def is_in_backward(self):
        return self._depth > 0

    def backward_begins(self):
        self._depth += 1
        if self._depth == 1:
            self._reached = set(self._lazy)
            for number in list(self._to_clear):  # perhaps by hand
                if not self._has_gradient(number):
                    self.zeroed(self._optimizers[number - 1])
            self._before = {number: state_of_gradients(one) for number, one in enumerate(self._optimizers if self._scalers else (), 1)}
            for number in list(self._holds) if self._has_passes else ():  # by hand, or by the model's zero_grad
                if is_cleared(self._optimizers[number - 1]):
                    self._throws_away(number, True)
                    self.zeroed(self._optimizers[number - 1])
            for number, state in list(self._summed.items()):  # written to by hand, perhaps with zeros
                if self._before.get(number, state) != state and not self._has_gradient(number):
                    self.zeroed(self._optimizers[number - 1])
            self._leftovers.pass_begins(dict(enumerate(self._optimizers, 1)))

    def backward_ends(self, well):
        self._depth -= 1
        if self._depth == 0 and well:
            for key in self._checkers:
                self._on([key], "backward" if key in self._reached else "plain_backward")
            for number, before in self._before.items():
                state = state_of_gradients(self._optimizers[number - 1])
                if before != state:
                    self._summed[number] = state
                    self._on(self._checkers, "accumulate", number)
            for number, state in list(self._clipped.items()):
                if state_of_gradients(self._optimizers[number - 1]) != state:
                    del self._clipped[number]
                    self._tell_once("backward_after_clip", number, "adds the gradients of another backward pass to clipped ones; clip once, after "
                                    "the last backward pass before a step", True)
            reached = self._leftovers.pass_ends(dict(enumerate(self._optimizers, 1)))
            self._left, self._are_cleared = {}, set()
            self._leave_gradients()
            for key in self._reached & self._scalers.keys():
                self._leave_scaled(self._scalers[key], list(self._summed), True)
            self._has_passes = self._has_passes or reached is None or bool(reached)  # one that came to others, as a temperature's, is none
            holds = {number for number, one in enumerate(self._optimizers, 1) if holds_gradient(one)}
            self._holds = holds if reached is None else holds & (self._holds | reached)  # zeros that no pass came to are nobody's
            self._ever_held |= holds
            self._after = {number: state_of_gradients(one) for number, one in enumerate(self._optimizers, 1)
                           if number in self._holds and not is_cleared(one)}
            self._has_ended = True
            for number, one in enumerate(self._optimizers, 1):
                self._zeros.leave(number, one)
            for number, unused in self._unused.items():
                unused.leave(self._optimizers[number - 1])

    def scaled(self, scaler, losses):
        key = id(scaler)
        self._on([key], "forward")
        if key in self._uses:
            self._uses[key].scaled(len(losses) if isinstance(losses, list | tuple) else 1, self._turn)
        reached = weakref.WeakMethod(self._reach)
        for loss in losses if isinstance(losses, list | tuple) else [losses]:
            if not isinstance(loss, torch.Tensor):
                self._lazy.add(key)
            elif loss.grad_fn is not None:
                loss.register_hook(lambda _: call_if_there(reached, key))

    def _reach(self, key):
        self._reached.add(key)

    def unscaled(self, scaler, optimizer):
        if not self._in_step:
            self._look_cleared(self._number(optimizer))
            self._see_cleared(self._number(optimizer))
            self._see_divided(scaler, self._number(optimizer))
            self._by_scaler(scaler, "unscale", optimizer)
            if self._number(optimizer) is not None:
                self._unscaled[self._number(optimizer)] = scaler

    def has_unscaled(self, scaler, optimizer):
        if not self._in_step and self._number(optimizer) is not None:
            self._leave_scaled(scaler, [self._number(optimizer)], False)

    def step_begins(self, scaler, optimizer):
        self._look_cleared(self._number(optimizer))
        self._see_cleared(self._number(optimizer))
        self._see_divided(scaler, self._number(optimizer))
        self._by_scaler(scaler, "step", optimizer)
        self._look_at_leftovers(self._number(optimizer))
        self._in_step = True

    def step_ends(self, optimizer):
        self._in_step = False
        number = self._number(optimizer)
        if number is not None:
            self._has_stepped(number)

    def _by_scaler(self, scaler, event, optimizer):
        number = self._number(optimizer)
        if number is None:
            self._others = True
            return
        self._used.add(number)
        self._on([id(scaler)], event, number)

    def _look_at_leftovers(self, number):
        self._look_at_what_was_added(number)
        after = None if number is None else self._leftovers.about_to_step(number, self._optimizers[number - 1])
        if after is not None:
            mine, other = self._name(number), self._name(after)
            self._tell_once("left_by_another_pass", number, "steps with gradients that the backward pass before the step of "
                            f"{other} left in its parameters, beside those of its own loss: {mine} follows both losses, as a discriminator "
                            f"that also helps its generator; call zero_grad() of {mine} right before its own backward pass, after the step "
                            f"of {other}, or freeze its parameters (requires_grad_(False)) in the backward pass for {other}", True)

    def _look_at_what_was_added(self, number):
        if number is None or ("left_by_another_pass", number) in self._told:
            return
        other = self._leftovers.added_after(number, self._optimizers[number - 1])
        if other is not None:
            mine, name = self._name(number), self._name(other)
            self._tell_once("left_by_another_pass", number, f"steps with gradients that the backward pass for {name} left in its parameters, "
                            f"after its own and before its step: {mine} follows both losses, as a discriminator that also helps its generator; "
                            f"step {mine} right after its own backward pass and call its zero_grad(), or freeze its parameters "
                            f"(requires_grad_(False)) in the backward pass for {name}", True)

    def plain_step_begins(self, optimizer):
        """gradients_are_used() has looked at the gradients."""
        if not self._in_step:
            self._see_cleared(self._number(optimizer))

    def _see_cleared(self, number):
        """Sees, before a step, whether its gradients were set to zero, or taken away, by hand or by the model's zero_grad, as those of
        the step before were; once, it may be a guard against NaN."""
        if number is None or not self._has_passes:
            return
        is_so = number in self._are_cleared
        if is_so and number in self._cleared:
            self.zeroed(self._optimizers[number - 1])
        (self._cleared.add if is_so else self._cleared.discard)(number)

    def _look_cleared(self, number):
        after, one = self._after.get(number), self._optimizers[(number or 0) - 1]
        if after is not None and after != state_of_gradients(one) and is_cleared(one):
            self._are_cleared.add(number)

    def _has_stepped(self, number):
        self._guarded.discard(number)
        self._divided.forget(number)
        self._leftovers.stepped(number)
        self._turn += 1
        self._clipped.pop(number, None)
        self._unscaled.pop(number, None)
        self._has_passes = self._reads_inputs = False
        self._to_clear.add(number)
        self._stepped_with[number] = state_of_gradients(self._optimizers[number - 1])

    def plainly_stepped(self, optimizer):
        number = self._number(optimizer)
        if number is not None and not self._in_step:
            self._on(self._checkers, "plain_step", number)
            if number in self._unscaled and found_inf(self._unscaled[number], optimizer):
                self._tell_once("step_past_scaler", number, "steps by itself with Inf or NaN that unscale_ has found; call the scaler's step, which "
                                "skips such steps", False)
            self._look_at_leftovers(number)
            self._has_stepped(number)

    def clipped(self, parameters, limit):
        """parameters: those whose gradients were clipped. limit: the number that they were clipped at; None if it is not known."""
        self._leave_gradients()
        for number, unused in self._unused.items():
            unused.leave_gradients(self._optimizers[number - 1])
        if limit is not None and math.isinf(limit):
            return  # to know the norm
        clipped = {id(p) for p in parameters}
        for number, optimizer in enumerate(self._optimizers, 1):
            if any(id(p) in clipped for group in optimizer.param_groups for p in group["params"]):
                self._on(self._checkers, "clip", number, limit)
                self._clipped[number] = state_of_gradients(optimizer)
                if number in self._after:
                    self._after[number] = self._clipped[number]
                if self._scalers:
                    self._leave_scaled(next(iter(self._scalers.values())), [number], False)

    def left_of_clipping(self, parameters, zeroed):
        """zeroed: what the clipping of these parameters' gradients did if it made zeros of all of them, as text; else ""."""
        clipped = {id(p) for p in parameters} if zeroed else set()
        for number, optimizer in enumerate(self._optimizers, 1):
            if any(id(p) in clipped for group in optimizer.param_groups for p in group["params"]):
                self._tell_once("clip_to_zero", number, zeroed, False)

    def updated(self, scaler, sets):
        """sets: whether the loop gave the scale, which wants no check of gradients."""
        self._others = self._others or sets
        for number, optimizer in enumerate(self._optimizers, 1):
            if number not in self._used and not self._has_gradient(number):
                self._on([id(scaler)], "zero_grad", number)  # the backward passes so far did not reach it
        self._on([id(scaler)], "update")
        if id(scaler) in self._uses:
            self._uses[id(scaler)].updated = True
        self._used, self._others = set(), False


def is_of_unscaled(limit, scale):
    """Returns whether a limit for a norm is meant for gradients that are not multiplied by the loss scale."""
    least, share = LEAST_SCALED_LIMIT
    return limit < max(least, share * scale)


def found_inf(scaler, optimizer):
    """Returns whether a scaler's unscale_ found Inf or NaN among an optimizer's gradients, as far as torch's scaler keeps it."""
    of = getattr(scaler, "_per_optimizer_states", {}).get(id(optimizer), {}).get("found_inf_per_device", {})
    return any(bool(x) for x in of.values())


def call_if_there(method, argument):
    bound = method()
    if bound is not None:
        bound(argument)


def order_text(mistakes):
    """Returns lines about mistakes, given as dicts."""
    return [f"Order of calls, step {row['step']}: {row['optimizer']} {row['text']}." for row in mistakes]
