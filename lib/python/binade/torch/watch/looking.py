# SPDX-License-Identifier: Apache-2.0
"""The part of Hooks that looks inside of modules: in which steps, and what becomes of what is seen there."""
import dataclasses
import functools
import inspect
import threading
import weakref

import torch

from ..observe.attaching import passes_by, repeats
from ..observe.recorder import calling
from ..observe.tensors import local
from .gaps import UNLOOKED
from .optimizer_hooks import watching
from .step import inputs_of
from .values.inside import CAN_LOOK, Inside, can_open
from .values.loss_graph import came_with_target
from .values.nodes import Nodes
from .values.nonfinite import LOSS, NonFinite
from .values.told import tell

MOST_MORE = 4  # steps that are looked into because the one before was ill
HOOKS = torch.nn.modules.module
LOSSES = torch.nn.modules.loss._Loss
UNSHAPED = ("a forward pass that gives buffers their shapes (LazyBatchNorm) was not looked into: torch before 2.0 cannot do so while its ops are "
            "seen")
PASSED_OVER = " and nothing after it was ill: its Inf is passed over"
ALWAYS = inspect.signature(HOOKS.register_module_forward_hook).parameters


@dataclasses.dataclass
class Opened:
    """A forward pass that is under way. module: a weak reference to whose it is. thread: which runs it, since modes of torch belong to
    threads. inside, nodes: which look into it; None if none does."""

    module: "weakref.ref"
    thread: threading.Thread
    inside: "Inside | None" = None
    nodes: "Nodes | None" = None

    @property
    def is_here(self):
        """Whether it is a pass of the thread that asks."""
        return self.thread is threading.current_thread()

    def is_of(self, module):
        return self.module() is module and self.is_here

    def close(self):
        if self.inside is not None:
            self.inside.close()
            self.nodes.forget()


class InsideHooks:
    """Looks at the ops of counted steps, of steps 1, 2, 4, 8 …, and of the step after a finding whose op is not known."""

    def attach_inside(self):
        self._opened, self._looks_next, self._more = None, False, MOST_MORE
        names = self._names
        if not self._plan.nonfinite or names.replicated:
            return
        if names.compiled or not CAN_LOOK:
            self.note(f"{UNLOOKED}: of Inf and NaN the layer is known, not the op inside of it")
            return
        # Before torch 2.1 a module whose forward raises calls no hook: what is open is closed by the next one.
        always = {"always_call": True} if "always_call" in ALWAYS else {}
        self._undo.append(HOOKS.register_module_forward_pre_hook(self._begin_forward).remove)
        self._end_hook = HOOKS.register_module_forward_hook(self._end_forward, **always)
        self._undo.append(self._stop_looking)

    def _stop_looking(self):
        """Sees no further pass. One that another thread runs is closed there, when it ends."""
        if self._opened is None or self._opened.is_here or not self._opened.thread.is_alive():
            self._close()
            self._end_hook.remove()

    def _begin_forward(self, module, args):
        if self._opened is not None and self._opened.thread.is_alive():
            return
        if passes_by():
            return
        self._opened = None
        if id(module) not in self._names.modules and not isinstance(module, LOSSES):
            return
        if torch.is_grad_enabled() and not repeats():
            self._open(module)

    @watching
    def _open(self, module):
        step = self._step
        self._opened = Opened(weakref.ref(module), threading.current_thread())
        looks = step.counted or self._looks_next or step.number & (step.number - 1) == 0
        if looks and not can_open(module):
            self.note(UNSHAPED)
        elif looks:
            if step.inside is None:
                step.inside = Inside(self._plan.counter, self._names.modules, self.note, self._plan.sums)
                step.nodes = Nodes(self._plan.counter, step.inside, self._names.of_roots)
            self._opened.inside, self._opened.nodes = step.inside, step.nodes
            step.inside.open()

    def _end_forward(self, module, args, out):
        if self._opened is None or not self._opened.is_of(module) or passes_by():
            return
        if sum(one is module for one in calling()[1]) < 2:  # it may call itself
            self._close()
            if self._undo is None:  # watching ended meanwhile
                if out is not None:  # after a forward that raised torch goes through its hooks themselves, not through a copy
                    self._end_hook.remove()
            elif isinstance(module, LOSSES) and id(module) not in self._names.modules:
                self._see_loss(type(module).__name__, out, functools.partial(inputs_of, module, args))

    @watching
    def _close(self):
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    @watching
    def _see_loss(self, name, loss, inputs=dict):
        """Looks at a loss of one element, forward: its Inf is never meant."""
        if self._plan.nonfinite and isinstance(loss, torch.Tensor) and loss.numel() == 1 and torch.is_grad_enabled():
            x = local(loss)
            if x is not None and x.device.type == "cpu":
                event = self._step.event
                self._step.look_at_loss(name, x, inputs)
                if event is not self._step.event and self._step.event.layer == name:
                    if name == LOSS:
                        self._step.loss_graph.explain(self._step.event, loss)
                    else:
                        came_with_target(self._step.event)

    def _backward_begins(self, loss):
        """Looks at a loss that no scaler has multiplied, and at its graph in steps that are looked into."""
        if not isinstance(loss, torch.Tensor) or passes_by():
            return
        if self._step.scaler is None:
            self._see_loss(LOSS, loss)
        self._step.loss_graph.follow(loss)
        if self._step.inside is not None:
            self._step.loss_graph.watch_backward(loss, self._loss_scale)

    def _is_hidden(self, step, event):
        return step.inside is not None and (event.layer, event.op) in step.inside.vanished

    def _pass_over(self, step, event):
        """Passes over an output that held Inf in a step in which nothing else was ill, unless an op after it hid an overflow. Returns
        whether it did."""
        if self._is_hidden(step, event):
            event.come_from(step.inside.vanished[event.layer, event.op])
            return False
        self._drop(event)
        if event.layer not in self._plan.inside:
            self._plan.harmless.add(event.layer)
            self.note(f"{event.layer} gave Inf in step {event.step}{PASSED_OVER}")
        return True

    def _take_back(self, layer):
        """Sees that the Inf of a layer, which may have been passed over, was an overflow."""
        self._plan.harmless.discard(layer)
        for at, note in enumerate(self._notes):
            if note.startswith(f"{layer} gave Inf in step ") and note.endswith(PASSED_OVER):
                self._notes[at] = note.removesuffix(PASSED_OVER) + ": an overflow that an op after it hid"

    def _see_inside(self, step, harmless):
        """Tells, at the end of a step, of what was seen inside of modules. harmless: whether the event of the step was dropped."""
        event, gone = None if harmless else step.event, None
        if step.inside is not None:
            self._plan.learning.saturations.add_step(step.inside.saturated)
            self._plan.learning.positions |= step.inside.positions
            self._plan.learning.cut_by.add_step(step.nodes.cuts, step.loss_graph.cuts)
            limit = step.loss_graph.limit
            if limit is not None:
                step.inside.vanished[limit.layer, limit.op] = limit
            for layer, cause, told in step.inside.told():
                tell(self._plan.inside, layer, cause, told)
            for layer, _ in list(step.inside.vanished):
                self._take_back(layer)
            for layer, cause, told in step.inside.told_of_floors(event):
                tell(self._plan.inside, layer, cause, told)
            gone = next(iter(step.inside.vanished.values()), None)
            if gone is not None and (event is None or event.phase != "forward"):
                later, event = event, NonFinite(step.number, gone.layer, "act", {}, [])
                event.come_from(gone)
                event.left_none = gone is limit and step.loss_graph.is_all
                if later is not None:  # of a step what came first is told
                    self._drop(later)
                    event.skipped = later.skipped
                self._tell(event)
            else:
                gone = None
        if event is not None and event.origin is not None and event.arose and not self._is_hidden(step, event) and (
                event.cure or not (event.skipped and event.phase == "backward")):
            cause, told = event.origin.told
            told.passing = event.is_spared and event.phase == "backward"
            tell(self._plan.inside, event.layer, cause, told)
        unknown = event is not None and event.op is None and event.role != "weight" and self._more > 0
        unknown = unknown or (harmless and step.inside is None and self._more > 0)
        self._more -= unknown
        self._looks_next = unknown
