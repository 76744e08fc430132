# SPDX-License-Identifier: Apache-2.0
"""What is hung into a training loop: it sees everything, and changes nothing.

    module's forward  ─▶ act, and a hook on each output for its gradient     ─▶ dAct
    scaler.scale      ─▶ the loss scale is in use
    optimizer.step    ─▶ before: weight, dW, a copy of the weight; after: update, state
    the last of the optimizers has stepped ─▶ the step is over
"""
import functools
import weakref

import torch

from .. import _binade
from ._attaching import living_optimizers, repeats, takes_closure, wrap
from ._names import outputs_of
from ._run import SCALED, add_to
from ._step import Seen, Step
from ._tensors import FLOATING, in_one_piece, local

# Before torch 2.0 a second hook on a tensor that was written to in place gets the gradient of what the first one saw.
OLD_TENSOR_HOOKS = not hasattr(torch.optim.Optimizer, "register_step_pre_hook")


class Hooks:
    """names: of the models. plan: how steps are counted (_watch.Plan). first: the number of the first step.

    Filled while the loop runs: layers, {(layer, role): Layer}. Called: ended(Step), tell(NonFinite).
    """

    def __init__(self, names, plan, first, layers, ended, tell):
        self._names, self._plan, self._layers, self._ended, self._tell_of = names, plan, layers, ended, tell
        self._myself = weakref.ref(self)
        self._undo = []  # functions that take hooks away
        self._optimizers = []
        self._seeks = False  # optimizers, at the first backward pass
        self._scaler = None  # one that is always in use
        self.by_hand = False  # steps end by end_step() alone
        self._begin_step(first)

    def attach_modules(self):
        # For all modules at once: hooks of their own would lead some of torch's away from its fast paths.
        self._undo.append(torch.nn.modules.module.register_module_forward_hook(self._forward).remove)

    def attach_scaler(self, scaler):
        """One whose scale() can be seen is in use from each call of it to the end of the step; any other always.

        Returns whether steps that it skips can be seen.
        """
        if not self._wrap(scaler, "scale", functools.partial(self._scale, scaler)):
            self._scaler = scaler
        if self._plan.gradients != "unscaled":
            self._wrap(scaler, "unscale_", self._unscale)
        return self._wrap(scaler, "step", self._scaler_step)

    def attach_optimizers(self, optimizers):
        self._optimizers, self._seeks = optimizers, not optimizers
        for optimizer in optimizers:
            if hasattr(optimizer, "register_step_pre_hook"):  # torch 2.0
                self._undo += [optimizer.register_step_pre_hook(self._before_step).remove,
                               optimizer.register_step_post_hook(self._after_step).remove]
            else:
                self._wrap(optimizer, "step", functools.partial(self._optimizer_step, optimizer))

    def detach(self):
        self._step.remove_hooks()
        for undo in reversed(self._undo):
            undo()
        self._undo = None

    @property
    def number(self):
        """Of the step."""
        return self._step.number

    def end_by_hand(self):
        """Ends the step; the first time only if it has begun, since until then steps have ended by themselves, too."""
        if self.by_hand or not self._step.is_empty:
            self.end_step()
        self.by_hand = True

    def end_step(self):
        step = self._step
        step.remove_hooks()
        step.read_flags()
        if step.counted:
            step.window.loss_scale = self._loss_scale()
        self._begin_step(step.number + 1)
        self._ended(step)

    def _begin_step(self, number):
        self._step = Step(number, self._plan, self._layers, self._tell)

    def _tell(self, event):
        event.loss_scale = self._loss_scale()
        self._tell_of(event)

    def _wrap(self, owner, name, around):
        undo = wrap(owner, name, around)
        if undo is not None:
            self._undo.append(undo)
        return undo is not None

    def _scale(self, scaler, inner, *args, **kwargs):
        self._step.scaler, self._step.loss_scale = scaler, None
        return inner(*args, **kwargs)

    def _loss_scale(self):
        """The loss scale in use; None: there is none."""
        step, given = self._step, self._plan.loss_scale
        if step.loss_scale is None:
            scaler = step.scaler or self._scaler
            if given is not None:
                step.loss_scale = float(given() if callable(given) else given)
            elif scaler is not None:
                step.loss_scale = float(scaler.get_scale())
        return step.loss_scale

    def _forward(self, module, args, out):
        step = self._step
        name = self._names.modules.get(id(module))
        step.is_empty = step.is_empty and name is None
        if name is None or not (step.counted or self._plan.nonfinite):
            return
        with_grad = torch.is_grad_enabled()
        if with_grad and repeats():
            return
        for layer, x in outputs_of(module, name, out, self._names.order):
            values = local(x)
            again = None if values is None else step.seen(x)
            if values is None or again is Seen.same:
                continue
            summary = step.count(layer, "act", values) if step.counted and with_grad else None
            if self._plan.nonfinite:
                step.look_at(layer, "act", values, summary, functools.partial(inputs_of, module, args))
            if with_grad and x.requires_grad:
                self._hang_on(x, layer, again is Seen.rewritten)

    def _hang_on(self, x, layer, rewritten):
        hook = functools.partial(on_gradient, self._myself, layer)
        if x.is_leaf:
            self._step.handles.append(x.register_hook(hook))
        elif rewritten and OLD_TENSOR_HOOKS:
            place = x.output_nr
            x.grad_fn.register_hook(lambda _, gradients: hook(gradients[place]))
        else:
            x.register_hook(hook)

    def _backward(self, layer, gradient):
        step, x = self._step, None if gradient is None else local(gradient)
        if self._seeks:
            self.attach_optimizers(living_optimizers(self._names.parts))
            self._seeks = False
        if x is None:
            return
        summary = step.count_gradient(layer, "dAct", x, self._loss_scale()) if step.counted else None
        if self._plan.nonfinite:
            if step.look_at(layer, "dAct", x, summary, step.last_gradient):
                step.finite_gradient = layer, x

    def _parameters(self, optimizer):
        """(parameter, its values here, Parts) of what an optimizer holds of the models."""
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                parts = self._names.parts.get(id(parameter))
                values = local(parameter) if parts else None
                if values is not None:
                    yield parameter, values, parts

    def _weight_gradients(self, optimizer):
        """(layer, gradient)."""
        for parameter, _, parts in self._parameters(optimizer):
            x = None if parameter.grad is None else local(parameter.grad)
            if x is not None:
                yield from ((part.layer, part.of(x)) for part in parts)

    def _unscale(self, inner, optimizer, *args, **kwargs):
        step = self._step
        if step.counted and id(optimizer) not in step.unscaled:
            step.unscaled.add(id(optimizer))
            for layer, x in self._weight_gradients(optimizer):
                step.count(layer + ("" if self._plan.gradients == "scaled" else SCALED), "dW", x)
        return inner(optimizer, *args, **kwargs)

    def _see_weight_gradients(self, optimizer):
        step = self._step
        # An optimizer that unscales by itself, as torch's fused ones do, holds what by.
        left = getattr(optimizer, "grad_scale", None)
        left = None if left is None else float(left)
        counted = step.counted and not (self._plan.gradients == "scaled" and id(optimizer) in step.unscaled)
        for layer, x in self._weight_gradients(optimizer):
            summary = step.count_gradient(layer, "dW", x, left) if counted else None
            if self._plan.nonfinite:
                step.look_at(layer, "dW", x, summary, dict)

    def _count_weights(self, optimizer):
        for _, values, parts in self._parameters(optimizer):
            for part in parts:
                self._step.count(part.layer, "weight", part.of(values))

    def _scaler_step(self, inner, optimizer, *args, **kwargs):
        step = self._step
        out = inner(optimizer, *args, **kwargs)
        # Where the optimizer stepped, this may be the next step already.
        if step is self._step and id(optimizer) not in step.ended and any(one is optimizer for one in self._optimizers):
            self._see_weight_gradients(optimizer)
            if step.counted:
                self._count_weights(optimizer)
            if step.event is not None:
                step.event.skipped = True
            self._done(optimizer)
        return out

    def _optimizer_step(self, optimizer, inner, *args, **kwargs):
        self._before_step(optimizer, args, kwargs)
        out = inner(*args, **kwargs)
        self._after_step(optimizer, args, kwargs)
        return out

    def _before_step(self, optimizer, args, kwargs):
        if not takes_closure(args, kwargs):
            self._see_weight_gradients(optimizer)
        if self._step.counted:
            self._count_weights(optimizer)
            for parameter, values, _ in self._parameters(optimizer):
                self._step.copies[id(parameter)] = in_one_piece(values).detach().clone()

    def _after_step(self, optimizer, args, kwargs):
        if takes_closure(args, kwargs):
            self._see_weight_gradients(optimizer)
        if self._step.counted:
            for parameter, values, parts in self._parameters(optimizer):
                before = self._step.copies.pop(id(parameter), None)
                if before is not None and before.element_size() > 1:
                    self._count_update(parts, before, in_one_piece(values).detach())
                self._count_state(optimizer.state.get(parameter, {}), values, parts)
        self._done(optimizer)

    def _count_update(self, parts, before, after):
        for part in parts:
            old, new = part.of(before), part.of(after)
            self._step.count(part.layer, "update", new - old)
            if old.device.type == "cpu":
                subtracted, counts = old - new, _binade._UpdateCounts()
                counts.add_at(old.data_ptr(), subtracted.data_ptr(), old.numel(), FLOATING[old.dtype])
                add_to(self._step.window.updates, {part.layer: counts})

    def _count_state(self, state, values, parts):
        for key, x in state.items():
            x = local(x) if isinstance(x, torch.Tensor) else None
            if x is None or (x.numel() < 2 and x.shape != values.shape):
                continue
            if x.shape == values.shape:
                for part in parts:
                    self._step.count(f"{part.layer}.{key}", "state", part.of(x))
            else:
                self._step.count(f"{parts[0].layer}.{key}", "state", x)

    def _done(self, optimizer):
        self._step.is_empty = False
        self._step.ended.add(id(optimizer))
        if not self.by_hand and all(id(one) in self._step.ended for one in self._optimizers):
            self.end_step()


def inputs_of(module, args):
    """What a module's forward works with, by name."""
    return {"input": args[0] if len(args) == 1 else args} | dict(module.named_parameters(recurse=False))


def on_gradient(hooks, layer, gradient):
    """Of a graph that may outlive what watches it."""
    mine = hooks()
    if mine is not None and mine._undo is not None:
        mine._backward(layer, gradient)
