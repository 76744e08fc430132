# SPDX-License-Identifier: Apache-2.0
"""The hooks of a training loop, which see its tensors and change nothing.

    module's forward  ─▶ act, and a hook on each output for its gradient     ─▶ dAct
    optimizers and scalers (optimizer_hooks.py) ─▶ everything else; where a step ends
"""
import functools
import threading
import warnings
import weakref

import torch

from ..observe.attaching import passes_by, rank_of_process, repeats
from ..observe.names import outputs_of, tensors_in
from ..observe.tensors import FLOATING, local, placement_of
from .end_hooks import EndHooks
from .gaps import Gaps, why_uncounted
from .looking import InsideHooks
from .loop.bypassed import Bypassed
from .loop.gradless import Gradless
from .loop.own_scale import OwnScale
from .loop.stalled import stalled_text
from .optimizer_hooks import OptimizerHooks, usable, watching
from .order_hooks import OrderHooks
from .received import name_received
from .scaler_hooks import ScalerHooks
from .step import Seen, Step, gradient_by_name, inputs_of
from .values.arguments import call_of, come_with_data, ill_among
from .values.compiled import CompiledHooks, autocast_dtypes
from .values.loss_graph import mark
from .weights.bound import NARROW, origin_of
from .weights.by_hand import ByHand
from .weights.dead import Grades
from .weights.refreshed import Between
from .weights.running import RunningStatistics

# Before torch 2.0 hooks of a tensor that is written to in place get another one's gradient; those of its node do not.
TENSOR_HOOKS = hasattr(torch.optim.Optimizer, "register_step_pre_hook")
# What goes into these with Inf comes out without.
SQUASHING = (torch.nn.Tanh, torch.nn.Sigmoid, torch.nn.Softmax, torch.nn.Hardtanh, torch.nn.Hardsigmoid, torch.nn.Softsign)


class Hooks(CompiledHooks, EndHooks, InsideHooks, OptimizerHooks, OrderHooks, ScalerHooks):
    """The hooks of one watched run.

    names: the Names of the models. plan: how steps are counted (_watch.Plan). first: the number of the first step. layers, a dict
    {(layer, role): Layer}, notes and mistakes, lists, are filled while the loop runs. ended(Step) is called at the end of a step, tell(NonFinite)
    for the first Inf or NaN of a step, and drop(NonFinite) if that did no harm.
    """

    def __init__(self, names, plan, first, layers, notes, mistakes, ended, tell, drop):
        self._names, self._plan, self._layers, self._notes, self._mistakes = names, plan, layers, notes, mistakes
        self._ended, self._tell_of, self._drop = ended, tell, drop
        self.gaps = Gaps(names, notes, plan.uncounted)
        self._myself = weakref.ref(self)
        self._undo = []  # functions that take hooks away
        self._own = set()  # ids of modules that have a hook of their own
        self._optimizers = []  # optimizers that must step before the step is over
        self._stepped = set()  # ids of those that have stepped
        self._optimizer_texts = {}  # id of an optimizer: what the advice calls it
        self._found = False  # whether the optimizers were found, not given
        self._searches = 0  # how often optimizers are still to be looked for
        self._searched = 0, 0  # the step and how many passes it had when they were
        self._is_in_step = False  # whether an optimizer's step runs, before torch 2.0
        self._scaler = None  # a scaler that is always in use
        self._known_scalers, self._used_scalers = set(), set()  # ids
        self._attached = 0  # how many scalers got hooks
        self._threads = set()  # in which a module ran
        self._found_scalers = {}  # id of a scaler found while watching: itself, and functions that take its hooks away
        self._grades, self._gradless = Grades(), Gradless()
        self._between = Between(plan.learning.refreshed)
        self._by_hand = ByHand(names)
        self._own_scale = OwnScale(names, plan.counter, plan.own_scale)
        self._bypassed = Bypassed(names.wrappers)
        self._running = RunningStatistics(names)
        self._aside = None  # the models that are not trained, once a step is over
        self._first_notes = {}  # what is noted of steps: the place of the note, the first step, how many followed
        self._most_passes = 0  # forward, of the steps that are over
        self.by_hand = False  # steps end by end_step() alone
        self._begin_step(first)
        self._begin_order()

    def note(self, line, warn=False):
        if line not in self._notes and len(self._notes) < 50:
            self._notes.append(line)
            if warn:
                warnings.warn(f"binade.torch.watch: {line}", RuntimeWarning, stacklevel=3)

    def note_step(self, line, warn=False):
        """Notes what is so in this step; of several such steps, once with the first of them and how many followed."""
        at, first, more = self._first_notes.get(line, (len(self._notes), self.number, -1))
        self._first_notes[line] = at, first, more + 1
        if more < 0:
            self.note(f"step {first}: {line}", warn)
        elif at < len(self._notes):
            self._notes[at] = f"step {first}: {line}; so in {more + 1:,} more, up to step {self.number}"

    def attach_modules(self):
        # For all modules at once: hooks of their own would lead some of torch's away from its fast paths. Those that have
        # hooks, which may replace what they give, get one after these.
        for module in self._names.hooked:
            self._own.add(id(module))
            self._undo.append(module.register_forward_hook(OwnForward(self._myself)).remove)
        self._undo.append(torch.nn.modules.module.register_module_forward_hook(self._forward).remove)
        self.attach_inside()

    def detach(self, well):
        """Removes all hooks. well: whether the loop ended without an exception."""
        step = self._step
        stalled = step.passes > 2 * max(1, self._most_passes) or (step.passes > 1 and not self._most_passes)
        if stalled and well and not self.by_hand:
            missing = [type(one).__name__ for one in self._optimizers if id(one) not in step.ended]
            self.note(stalled_text(step, ", ".join(missing), self._plan.skips), warn=True)
        if self._plan.skips.all or self._plan.skips.starved:
            self.note(self._plan.skips.text, warn=True)
        if well:
            self.see_ends()
        undo, self._undo = [*self._undo, self._give_up_all, step.remove_hooks], None
        self.undo_all(undo)
        self._optimizers = []

    def undo_all(self, undo):
        """Calls functions that take hooks away, the last one first, whatever any of them raises."""
        for one in reversed(undo):
            try:
                one()
            except Exception as error:
                line = str(error).partition("\n")[0]
                self.note(f"a hook was not taken away: {type(error).__name__}: {line}", warn=True)

    @property
    def number(self):
        """The number of the step."""
        return self._step.number

    def end_by_hand(self):
        """Ends the step. At the first call it does so only if the step has begun, since until then steps ended by
        themselves, too."""
        if self.by_hand or not self._step.is_empty:
            self.end_step()
        self.by_hand = True

    def end_step(self):
        step = self._step
        step.remove_hooks()
        self._sum_up(step)
        self._most_passes = max(self._most_passes, step.passes)
        if self._aside is None and self._optimizers:
            self._saw(self._look_aside)
        self._begin_step(step.number + 1)
        self._ended(step)

    @watching
    def _sum_up(self, step):
        """Adds what a step that is over tells of the run."""
        step.read_flags()
        if step.event is not None:
            step.event.of_turns(step.passes, step.backward_passes)
            step.event.loss_scale = step.event.loss_scale or step.loss_scale
            self._running.see_ill(step.number)
        if step.counted:
            step.window.loss_scale = self._loss_scale()
            self.gaps.step_is_over(step.window.summaries)
        harmless = step.harmless_event()
        is_passed_over = harmless is not None and self._pass_over(step, harmless)
        self._count_skips(step)
        self._own_scale.step_ends(step, step.counted and self._plan.gradients == "unscaled" and not self._plan.counter.sqnr)
        step.end_event()
        name_received(step, self._names.wrappers)
        self._see_inside(step, is_passed_over)

    def _begin_step(self, number):
        self._step = Step(number, self._plan, self._layers, self._tell)

    def _tell(self, event):
        event.loss_scale, event.rank = self._loss_scale(), rank_of_process()
        if not come_with_data(event, self._plan.counter, self._names.roots, self._names.of_roots, self._step.ill_data):
            self._why_unseen(event)
        self._tell_of(event)

    def _loss_scale(self):
        """Returns the loss scale in use; None if there is none."""
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
        before, self._plan.unusable_scale[:] = self._plan.unusable_scale[1:], []
        if scale is not None and usable(scale) is None:
            self._plan.unusable_scale[:] = scale, *(before or [step.number])
            self.note_step(f"a loss scale of {scale} divides nothing")
            scale = None
        step.loss_scale = scale

    def _forward(self, module, args, out):
        if not passes_by():
            module = self._compiled_inside(module)
            if id(module) not in self._own:
                self._see_outputs(module, args, out)

    def see_own_outputs(self, module, args, out):
        if not passes_by():
            self._see_outputs(module, args, out)

    @watching
    def _see_outputs(self, module, args, out):
        step = self._step
        name = self._names.modules.get(id(module))
        if name is None:
            self._bypassed.called(module)
            return
        step.is_empty = False
        self._threads.add(threading.get_ident())
        if id(module) in self._running:
            self._running.see(module, args, step.counted)
        with_grad = torch.is_grad_enabled()
        if with_grad and id(module) in self._names.roots:
            step.passes += 1
            for _, x in tensors_in(out):
                mark(x, step.marked)
            if self._plan.nonfinite and not step.ill_data:
                step.ill_data = ill_among(call_of({id(module)}), self._plan.counter)
            if self._order.has_several:
                self._order.gave(id(module), *([x for _, x in tensors_in(some) if type(x) is torch.Tensor] for some in (args, out)))
            if any(x.is_leaf and x.requires_grad for _, x in tensors_in(args)):
                self._order.inputs_want_gradients()
        (self.gaps.called if with_grad else self.gaps.ran)(module)
        if with_grad:
            if self._order.has_several:
                self._order.called(module)
        if not (step.counted or self._plan.nonfinite) or (with_grad and repeats()):
            return
        step.finite_gradient = None
        if with_grad and not self._order.is_in_backward:
            step.turn = step.passes + (id(module) not in self._names.roots)
        waits = not step.counted and with_grad  # whether tensors inside of a block are held
        is_block = id(module) in self._names.blocks
        if waits:
            if isinstance(module, SQUASHING) and args:
                step.outputs.about_to_hide(args[0], self._plan.counter.finite)
            if not is_block and type(out) is torch.Tensor and out.is_cpu:
                step.outputs.add(name, out, (module, args))
                if out.requires_grad:
                    self._hang_on(module, out, name, False)
                    if step.nodes is not None:
                        step.nodes.claim(name, args, out)
                return
        if step.counted and with_grad and (module._parameters or id(module) in self._names.within_compiled):
            self._plan.learning.got(name, args)
        inputs = functools.partial(inputs_of, module, args, self._plan.counter)
        if step.counted and with_grad and id(module) in self._names.roots:
            step.bound.see_outputs(x for _, x in tensors_in(out))
        for layer, x in outputs_of(module, name, out, self._names.order):
            values = local(x)
            if values is None:
                self.gaps.output(layer, why_uncounted(x) if step.counted and with_grad else "")
                continue
            inside = None if id(module) in self._names.roots else name
            if with_grad and x.requires_grad and step.nodes is not None:
                step.nodes.claim(name, args, x)
            if step.seen(x) is Seen.same:
                if waits and is_block and values.device.type == "cpu":
                    step.look_at_block(step.outputs, "act", layer, values, inputs, inside)
                if with_grad and x.requires_grad and step.nodes is not None:
                    step.nodes.claim(name, args, x)  # what is computed before the layer inside that gave the same tensor
                continue
            if x.dtype in NARROW:
                step.bound.narrow = x.dtype
            summary = step.count(layer, "act", values, placement_of(x)) if step.counted and with_grad else None
            if summary is not None and layer == name:
                of = self._layers[layer, "act"]
                of.weights = self._names.weights_of(module)
                of.weight_dtype = next((FLOATING.get(x.dtype, "") for x in module.parameters() if x.dim() > 1), "") if of.weights else ""
                of.autocast = of.autocast or values.dtype in NARROW and values.dtype in autocast_dtypes()
            if summary is not None:
                self._see_zeros(module, layer, args, values, summary)
            if summary is not None and step.inside is not None:
                step.inside.sums.begin(layer, values, summary)
            if self._plan.nonfinite:
                if not waits or values.device.type != "cpu":
                    step.look_at(layer, "act", values, summary, inputs)
                elif is_block:
                    step.look_at_block(step.outputs, "act", layer, values, inputs, inside)
                else:
                    step.outputs.add(layer, values, (module, args))
            if with_grad and x.requires_grad:
                self._hang_on(module, x, layer, is_block)

    def _hang_on(self, module, x, layer, is_block):
        hook = functools.partial(on_gradient, self._myself, layer, is_block, origin_of(x, module) if self._step.counted else None)
        if x.is_leaf:
            self._step.handles.append(x.register_hook(hook))
        elif TENSOR_HOOKS:
            x.register_hook(hook)
        else:
            place = x.output_nr
            x.grad_fn.register_hook(lambda _, gradients: hook(gradients[place]))

    @watching
    def see_gradient(self, layer, is_block, origin, gradient):
        if self._undo is None or gradient is None or passes_by():
            return
        step = self._step
        step.saw_gradients = True
        if self._searches and self._searched != (step.number, step.passes):
            self._searched = step.number, step.passes
            self.find_optimizers()
        if not step.counted and not is_block and type(gradient) is torch.Tensor and gradient.is_cpu:
            if self._plan.nonfinite:
                step.gradients.add(layer, gradient, step.finite_gradient)
                step.finite_gradient = layer, gradient
            return
        x = local(gradient)
        if x is None:
            return
        summary = step.count_gradient(layer, "dAct", x, self._loss_scale(), placement_of(gradient)) if step.counted else None
        if step.counted:
            self._layers[layer, "dAct"].bind(step.bound.output_binds(origin, x))
        if not self._plan.nonfinite:
            return
        before = functools.partial(gradient_by_name, step.finite_gradient)
        if step.counted or x.device.type != "cpu":
            finite = step.look_at(layer, "dAct", x, summary, before)
        elif is_block:
            finite = step.look_at_block(step.gradients, "dAct", layer, x, before, None)
        else:
            step.gradients.add(layer, x, step.finite_gradient)
            finite = True
        if finite:
            step.finite_gradient = layer, x


class OwnForward:
    """The hook of one module. A copy of the module, deep or pickled, has one that does nothing."""

    def __init__(self, hooks):
        self._hooks = hooks

    def __call__(self, module, args, out):
        mine = self._hooks()
        if mine is not None:
            mine.see_own_outputs(module, args, out)

    def __reduce__(self):
        return OwnForward, (nobody,)


def nobody():
    """Takes the place of the reference to hooks in what is copied."""


def on_gradient(hooks, layer, is_block, origin, gradient):
    """Sees a gradient; the graph may outlive the object that watches it."""
    mine = hooks()
    if mine is not None:
        mine.see_gradient(layer, is_block, origin, gradient)
