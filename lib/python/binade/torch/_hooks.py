# SPDX-License-Identifier: Apache-2.0
"""What is hung into a training loop: it sees everything, and changes nothing.

    module's forward  ─▶ act, and a hook on each output for its gradient     ─▶ dAct
    scaler.scale      ─▶ the loss scale is in use
    optimizer.step    ─▶ before: weight, dW, a copy of the weight; after: update, state
    the last of the optimizers has stepped ─▶ the step is over
"""
import functools
import math
import warnings
import weakref

import torch

from .. import _binade
from ._attaching import living_optimizers, outer_of, passes_by, repeats, takes_closure, wrap
from ._names import outputs_of
from ._run import SCALED, add_to
from ._step import Seen, Step
from ._tensors import FLOATING, in_one_piece, local, placement_of

STEP_HOOKS = hasattr(torch.optim.Optimizer, "register_step_pre_hook")  # torch 2.0
# Before torch 2.0 hooks of a tensor that is written to in place get another one's gradient; those of its node do not.
TENSOR_HOOKS = STEP_HOOKS
# What goes into these with Inf comes out without.
SQUASHING = (torch.nn.Tanh, torch.nn.Sigmoid, torch.nn.Softmax, torch.nn.Hardtanh, torch.nn.Hardsigmoid, torch.nn.Softsign)
SEARCHES = 20  # for optimizers, where none is found


def watching(method):
    """What fails in our own counting is noted, and ends nobody's training."""
    @functools.wraps(method)
    def guarded(self, *args):
        try:
            method(self, *args)
        except Exception as error:
            line = str(error).partition("\n")[0]
            self.note(f"step {self.number}: something was not counted: {type(error).__name__}: {line}", warn=True)

    return guarded


def held_by(optimizer):
    """Ids of its parameters."""
    return {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}


class Hooks:
    """names: of the models. plan: how steps are counted (_watch.Plan). first: the number of the first step.

    Filled while the loop runs: layers, {(layer, role): Layer}; notes. Called: ended(Step), tell(NonFinite), drop(NonFinite)
    where it did no harm.
    """

    def __init__(self, names, plan, first, layers, notes, ended, tell, drop):
        self._names, self._plan, self._layers, self._notes = names, plan, layers, notes
        self._ended, self._tell_of, self._drop = ended, tell, drop
        self._myself = weakref.ref(self)
        self._undo = []  # functions that take hooks away
        self._own = set()  # ids of modules that have a hook of their own
        self._optimizers = []  # that a step waits for
        self._stepped = set()  # ids of those that have stepped
        self._found = False  # they were not given
        self._searches = 0  # for them, so many more
        self._is_in_step = False  # of an optimizer, before torch 2.0
        self._scaler = None  # one that is always in use
        self._most_passes = 0  # forward, of the steps that are over
        self.by_hand = False  # steps end by end_step() alone
        self._begin_step(first)

    def note(self, line, warn=False):
        if line not in self._notes and len(self._notes) < 50:
            self._notes.append(line)
            if warn:
                warnings.warn(f"binade.torch.watch: {line}", RuntimeWarning, stacklevel=3)

    def attach_modules(self):
        # For all modules at once: hooks of their own would lead some of torch's away from its fast paths. Those that have
        # hooks, which may replace what they give, get one after these.
        for module in self._names.hooked:
            self._own.add(id(module))
            self._undo.append(module.register_forward_hook(self._own_forward).remove)
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
        """Those given."""
        self._optimizers = list({id(one): one for one in optimizers}.values())
        for optimizer in self._optimizers:
            if hasattr(optimizer, "register_step_pre_hook"):
                self._undo.append(optimizer.register_step_pre_hook(self._before_step).remove)
                self._undo.append(optimizer.register_step_post_hook(self._after_step).remove)
            elif not self._wrap(optimizer, "step", functools.partial(self._optimizer_step, optimizer)):
                self.note(f"steps of {type(optimizer).__name__} cannot be seen: call w.step()", warn=True)

    def find_optimizers(self):
        """Those in the process that hold the models' parameters; sought again while there is none."""
        self._found = True
        found = living_optimizers(self._names.parts)
        self._searches = 0 if found else SEARCHES if not self._searches else self._searches - 1
        if found:
            self.note(f"{', '.join(type(one).__name__ for one in found)} {'were' if len(found) > 1 else 'was'} found")
            self.attach_optimizers(found)

    def detach(self, well):
        """well: no exception has ended the loop."""
        step = self._step
        stalled = step.passes > 2 * max(1, self._most_passes) or (step.passes > 1 and not self._most_passes)
        if stalled and well and not self.by_hand:
            missing = [type(one).__name__ for one in self._optimizers if id(one) not in step.ended]
            why = f"{', '.join(missing)} did not step" if missing else "no optimizer was found"
            self.note(f"after {step.passes} forward passes step {step.number} was not over: {why}; name the optimizers that step, or call "
                      "w.step()", warn=True)
        step.remove_hooks()
        for undo in reversed(self._undo):
            undo()
        self._undo, self._optimizers = None, []

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
        harmless = step.harmless_event()
        if harmless is not None:
            self._plan.harmless.add(harmless.layer)
            self._drop(harmless)
            self.note(f"{harmless.layer} gave Inf in step {step.number} and nothing after it was ill: its Inf is passed over")
        self._most_passes = max(self._most_passes, step.passes)
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
        self._step.scaler, self._step.scale_is_known = scaler, False
        return inner(*args, **kwargs)

    def _loss_scale(self):
        """The loss scale in use; None: there is none."""
        step = self._step
        if not step.scale_is_known:
            step.scale_is_known = True
            self._ask_scale()
        return step.loss_scale

    @watching
    def _ask_scale(self):
        step, given = self._step, self._plan.loss_scale
        scaler, scale = step.scaler or self._scaler, None
        if given is not None:
            scale = float(given() if callable(given) else given)
        elif scaler is not None:
            scale = float(scaler.get_scale())
        if scale is not None and not (math.isfinite(scale) and scale > 0):
            self.note(f"step {step.number}: a loss scale of {scale} divides nothing")
            scale = None
        step.loss_scale = scale

    def _forward(self, module, args, out):
        if not passes_by() and id(module) not in self._own:
            self._see_outputs(module, args, out)

    def _own_forward(self, module, args, out):
        if not passes_by():
            self._see_outputs(module, args, out)

    @watching
    def _see_outputs(self, module, args, out):
        step = self._step
        name = self._names.modules.get(id(module))
        if name is None:
            return
        step.is_empty = False
        with_grad = torch.is_grad_enabled()
        step.passes += with_grad and id(module) in self._names.roots
        if not (step.counted or self._plan.nonfinite) or (with_grad and repeats()):
            return
        step.finite_gradient = None
        step.gradients.drop()
        waits = not step.counted and with_grad  # what lies inside of a block
        is_block = id(module) in self._names.blocks
        if waits and isinstance(module, SQUASHING) and args and self._plan.nonfinite:
            step.outputs.about_to_hide(args[0], self._plan.counter.finite)
        for layer, x in outputs_of(module, name, out, self._names.order):
            values = local(x)
            if values is None:
                continue
            inputs = functools.partial(inputs_of, module, args)
            inside = None if id(module) in self._names.roots else name
            if step.seen(x) is Seen.same:
                if waits and is_block and self._plan.nonfinite and values.device.type == "cpu":
                    step.look_at_block(step.outputs, "act", layer, values, inputs, inside)
                continue
            summary = step.count(layer, "act", values, placement_of(x)) if step.counted and with_grad else None
            if self._plan.nonfinite:
                if not waits or values.device.type != "cpu":
                    step.look_at(layer, "act", values, summary, inputs)
                elif is_block:
                    step.look_at_block(step.outputs, "act", layer, values, inputs, inside)
                else:
                    step.outputs.add(layer, values, inputs)
            if with_grad and x.requires_grad:
                self._hang_on(x, layer, is_block)

    def _hang_on(self, x, layer, is_block):
        hook = functools.partial(on_gradient, self._myself, layer, is_block)
        if x.is_leaf:
            self._step.handles.append(x.register_hook(hook))
        elif TENSOR_HOOKS:
            x.register_hook(hook)
        else:
            place = x.output_nr
            x.grad_fn.register_hook(lambda _, gradients: hook(gradients[place]))

    @watching
    def see_gradient(self, layer, is_block, gradient):
        if self._undo is None or gradient is None or passes_by():
            return
        step, x = self._step, local(gradient)
        if self._searches and step.passes:
            self.find_optimizers()
        if x is None:
            return
        summary = step.count_gradient(layer, "dAct", x, self._loss_scale(), placement_of(gradient)) if step.counted else None
        if not self._plan.nonfinite:
            return
        before = functools.partial(dict, step.last_gradient())
        if step.counted or x.device.type != "cpu":
            finite = step.look_at(layer, "dAct", x, summary, before)
        elif is_block:
            finite = step.look_at_block(step.gradients, "dAct", layer, x, before, None)
        else:
            step.gradients.add(layer, x, before)
            finite = True
        if finite:
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
        """(layer, gradient, placement)."""
        for parameter, _, parts in self._parameters(optimizer):
            x = None if parameter.grad is None else local(parameter.grad)
            if x is not None:
                yield from ((part.layer, part.of(x), placement_of(parameter)) for part in parts)

    def _unscale(self, inner, optimizer, *args, **kwargs):
        self._see_scaled(optimizer)
        return inner(optimizer, *args, **kwargs)

    @watching
    def _see_scaled(self, optimizer):
        step = self._step
        if step.counted and id(optimizer) not in step.unscaled:
            step.unscaled.add(id(optimizer))
            for layer, x, placement in self._weight_gradients(optimizer):
                step.count(layer + ("" if self._plan.gradients == "scaled" else SCALED), "dW", x, placement)

    @watching
    def _see_weight_gradients(self, optimizer):
        step = self._step
        self._loss_scale()
        # An optimizer that unscales by itself, as torch's fused ones do, holds what by.
        left = getattr(optimizer, "grad_scale", None)
        left = None if left is None else float(left)
        counted = step.counted and not (self._plan.gradients == "scaled" and id(optimizer) in step.unscaled)
        for layer, x, placement in self._weight_gradients(optimizer):
            summary = step.count_gradient(layer, "dW", x, left, placement) if counted else None
            if self._plan.nonfinite and not step.is_finite(x, summary):
                step.gradients.search()
                step.look_at(layer, "dW", x, summary)

    @watching
    def _see_weights(self, optimizer):
        if self._step.counted:
            for parameter, values, parts in self._parameters(optimizer):
                for part in parts:
                    self._step.count(part.layer, "weight", part.of(values), placement_of(parameter))

    def _see_skipped(self, optimizer):
        """A step that a scaler left out."""
        self._see_weights(optimizer)
        if self._step.event is not None:
            self._step.event.skipped = True

    def _scaler_step(self, inner, optimizer, *args, **kwargs):
        step = self._step
        self._loss_scale()
        out = inner(optimizer, *args, **kwargs)
        # Where the optimizer stepped, this may be the next step already.
        if step is self._step and id(optimizer) not in step.ended and any(one is optimizer for one in self._optimizers):
            self._see_weight_gradients(optimizer)
            self._see_skipped(optimizer)
            self._done(optimizer)
        return out

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
        self._done(optimizer)
        return out

    def _before_step(self, optimizer, args, kwargs):
        if outer_of(self._optimizers) is None:
            self._see_before(optimizer, args, kwargs)

    def _after_step(self, optimizer, args, kwargs):
        outer = outer_of(self._optimizers)
        if outer is None:
            self._see_after(optimizer, args, kwargs)
            self._done(optimizer)
        elif outer is not optimizer:
            self._see_states(optimizer)

    @watching
    def _see_before(self, optimizer, args, kwargs):
        step = self._step
        step.finite_gradient = None
        if not takes_closure(args, kwargs):
            self._see_weight_gradients(optimizer)
        step.gradients.drop()
        step.outputs.drop()
        # A fused optimizer is told whether to leave the step out.
        found = getattr(optimizer, "found_inf", None)
        if found is not None and float(found) > 0:
            step.left_out.add(id(optimizer))
            return
        self._see_weights(optimizer)
        if step.counted:
            for parameter, values, _ in self._parameters(optimizer):
                step.copies[id(parameter)] = in_one_piece(values).detach().clone()

    @watching
    def _see_after(self, optimizer, args, kwargs):
        step = self._step
        if takes_closure(args, kwargs):
            self._see_weight_gradients(optimizer)
        if id(optimizer) in step.left_out:
            self._see_skipped(optimizer)
            return
        for parameter, values, parts in self._parameters(optimizer):
            before = step.copies.pop(id(parameter), None)
            if before is not None and before.element_size() > 1:
                self._count_update(optimizer, parameter, parts, before, in_one_piece(values).detach())
        self._see_states(optimizer)

    def _inputs_of_step(self, optimizer, parameter):
        """What an update is made of, by name."""
        states = getattr(optimizer, "state", {}).get(parameter, {})
        return {"gradient": parameter.grad} | {key: x for key, x in states.items() if isinstance(x, torch.Tensor) and x.numel() > 1}

    def _count_update(self, optimizer, parameter, parts, before, after):
        for part in parts:
            old, new = in_one_piece(part.of(before)), in_one_piece(part.of(after))
            summary = self._step.count(part.layer, "update", new - old, placement_of(parameter))
            if self._plan.nonfinite and (summary.nan or summary.inf):
                self._step.look_at(part.layer, "weight", new, None, functools.partial(self._inputs_of_step, optimizer, parameter))
            if old.device.type == "cpu":
                subtracted, counts = old - new, _binade._UpdateCounts()
                counts.add_at(old.data_ptr(), subtracted.data_ptr(), old.numel(), FLOATING[old.dtype])
                add_to(self._step.window.updates, {part.layer: counts})

    @watching
    def _see_states(self, optimizer):
        if not self._step.counted:
            return
        for parameter, values, parts in self._parameters(optimizer):
            for key, state in getattr(optimizer, "state", {}).get(parameter, {}).items():
                x = local(state) if isinstance(state, torch.Tensor) and key != "step" else None
                if x is None or (x.numel() < 2 and x.shape != values.shape):
                    continue
                if x.shape == values.shape:
                    named = [(part.layer, part.of(x)) for part in parts]
                else:  # of all parameters together, as L-BFGS has them; or of rows and columns
                    named = [(type(optimizer).__name__ if x.numel() > values.numel() else parts[0].layer, x)]
                for layer, own in named:
                    self._step.count(f"{layer}.{key}", "state", own, placement_of(state))

    def _done(self, optimizer):
        step = self._step
        step.is_empty = False
        again = id(optimizer) in step.ended
        step.ended.add(id(optimizer))
        if self._found and (again or id(optimizer) not in self._stepped):
            # Of what was only found, what never steps beside the one that does is not waited for.
            held = held_by(optimizer)
            self._optimizers = [one for one in self._optimizers if one is optimizer or id(one) in self._stepped
                                or not (again or held & held_by(one))]
        self._stepped.add(id(optimizer))
        if not self.by_hand and all(id(one) in step.ended for one in self._optimizers):
            self.end_step()


def inputs_of(module, args):
    """What a module's forward works with, by name."""
    return {"input": args[0] if len(args) == 1 else args} | dict(module.named_parameters(recurse=False))


def on_gradient(hooks, layer, is_block, gradient):
    """Of a graph that may outlive what watches it."""
    mine = hooks()
    if mine is not None:
        mine.see_gradient(layer, is_block, gradient)
