# SPDX-License-Identifier: Apache-2.0
"""Sees the calls of a training loop whose order matters: of optimizers, of scalers, of backward passes and of clipping."""
import functools
import threading

import torch

from ..observe.attaching import unwrapped_optimizer
from ..observe.wrapping import around_function
from .loop.clipped import norm_of, zeroed
from .loop.order import Mistake, Order
from .loop.refusals import Refusals
from .optimizer_hooks import watching
from .values.loss_values import TELLS_HOOKS, Packed

# torch's functions that clip gradients, by name: the name of the limit, which comes after the parameters.
CLIPPING = {"clip_grad_norm_": "max_norm", "clip_grad_value_": "clip_value", "clip_grads_with_norm_": "max_norm"}

AFTER_STEP = frozenset({"clip_after_step", "unscale_after_step", "double_step"})  # belong to the step that ended, before a forward pass


class OrderHooks:
    """The part of Hooks that sees the order of calls, and tells mistakes in it."""

    def _begin_order(self):
        self._order, self._refusals = Order(self._tell_order, lambda: self._step.counted), Refusals(functools.partial(self._saw, self._enter_mistake))

    def attach_order(self):
        """Sees backward passes and clipping, wherever they are called from Python."""
        arounds = {torch.autograd.backward: self._order_of_backward}
        for name, limit in CLIPPING.items():
            function = getattr(torch.nn.utils, name, None)
            if function is not None:
                arounds[function] = functools.partial(self._order_of_clipping, limit)
        if not TELLS_HOOKS:
            Packed.look()
            arounds[torch.autograd.graph.saved_tensors_hooks.__enter__] = Packed.saw_hooks
        for function, around in arounds.items():
            undo = around_function(function, around)
            if undo is None:
                self.note(f"calls of {getattr(function, '__name__', type(function).__name__)} cannot be seen: it is not written in Python")
            else:
                self._undo.append(undo)

    def attach_order_to_scaler(self, scaler):
        self._order.add_scaler(scaler)
        for name, around in (("scale", self._order_of_scale), ("unscale_", self._order_of_unscale),
                             ("step", self._order_of_step), ("update", self._order_of_update)):
            self._wrap(scaler, name, functools.partial(around, scaler))

    def attach_order_to_optimizer(self, optimizer):
        self._order.add_optimizer(optimizer)
        self._wrap(optimizer, "zero_grad", functools.partial(self._order_of_zero_grad, optimizer))

    @watching
    def _saw(self, what, *args):
        what(*args)

    def _tell_order(self, optimizer, mistake, text, warning):
        of_last = mistake in AFTER_STEP and self._step.is_empty and self._most_passes > 0
        self._refusals.tell(Mistake(self.number - of_last, optimizer, mistake, text, warning))

    def _enter_mistake(self, found):
        self._mistakes.append(found)
        self.note(str(found), warn=True)

    def _is_of_others(self):
        """Whether a call comes from a thread in which no module of the models has run: another training's, whose gradients are its own."""
        return bool(self._threads) and threading.get_ident() not in self._threads

    def _order_of_backward(self, inner, *args, **kwargs):
        if self._is_of_others():
            return inner(*args, **kwargs)
        self._saw(self._own_begins, *(*args, *(None,) * 2)[:2], kwargs)
        self._saw(self._order.backward_begins)
        self._saw(self._backward_begins, args[0] if args else kwargs.get("tensors"))
        self._saw(lambda: self._by_hand.look(self.number))
        well = False
        try:
            out = inner(*args, **kwargs)
            well = True
        finally:
            self._saw(self._order.backward_ends, well)
            self._saw(lambda: self._by_hand.backward_ends(self.number, self._optimizers))
            self._saw(self._own_ends, well)
            self._saw(self._bypassed.leave, self._optimizers)
        self._step.backward_passes += not self._order.is_in_backward
        return out

    def _order_of_clipping(self, limit, inner, parameters, *args, **kwargs):
        if self._is_of_others():
            return inner(parameters, *args, **kwargs)
        seen = [parameters] if isinstance(parameters, torch.Tensor) else []
        if isinstance(parameters, list | tuple):
            seen = parameters
        elif not seen:  # what can be gone through once is listed as it goes
            parameters = listing(parameters, seen)
        self._saw(self._order.gradients_are_used)
        self._saw(self._own_scale.are_used, seen)
        self._saw(self._bypassed.are_used, self._optimizers)
        out = inner(parameters, *args, **kwargs)
        self._saw(self._bypassed.leave, self._optimizers)
        at = kwargs.get(limit, args[0] if args else None)
        self._saw(lambda: self._order.clipped(seen, None if at is None else float(at)))
        self._saw(lambda: self._order.left_of_clipping(seen, zeroed(seen, None if at is None else float(at), lambda: norm_of(out, args))))
        return out

    def _order_of_zero_grad(self, optimizer, inner, *args, **kwargs):
        self._saw(self._order.zeroes, optimizer)
        out = inner(*args, **kwargs)
        self._saw(self._order.zeroed, optimizer)
        return out

    def _order_of_scale(self, scaler, inner, *args, **kwargs):
        out = inner(*args, **kwargs)
        self._saw(self._order.scaled, scaler, out)
        return out

    def _order_of_unscale(self, scaler, inner, optimizer, *args, **kwargs):
        with self._refusals:
            self._saw(self._order.unscaled, scaler, unwrapped_optimizer(optimizer))
            self._saw(self._bypassed.are_used, self._optimizers)
            out = inner(optimizer, *args, **kwargs)
        self._saw(self._bypassed.leave, self._optimizers)
        self._saw(self._order.has_unscaled, scaler, unwrapped_optimizer(optimizer))
        return out

    def _order_of_step(self, scaler, inner, optimizer, *args, **kwargs):
        with self._refusals:
            self._saw(self._order.step_begins, scaler, unwrapped_optimizer(optimizer))
            self._saw(self._bypassed.are_used, [unwrapped_optimizer(optimizer)])
            try:
                return inner(optimizer, *args, **kwargs)
            finally:
                self._saw(self._order.step_ends, unwrapped_optimizer(optimizer))

    def _order_of_update(self, scaler, inner, *args, **kwargs):
        self._saw(self._order.updated, scaler, (*args, *kwargs.values(), None)[0] is not None)
        return inner(*args, **kwargs)


def listing(parameters, seen):
    """Yields the parameters, and lists them in `seen`."""
    for parameter in parameters:
        seen.append(parameter)
        yield parameter
