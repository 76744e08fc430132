# SPDX-License-Identifier: Apache-2.0
"""The part of Hooks that looks inside of modules: in which steps, and what becomes of what is seen there."""
import functools
import inspect
import sys
import weakref

import torch

from ._attaching import passes_by, repeats
from ._inside import CAN_LOOK, Inside
from ._nodes import Nodes
from ._nonfinite import NonFinite
from ._optimizer_hooks import watching
from ._replay import Call
from ._step import inputs_of
from ._tensors import local

MOST_AGAIN = 4  # passes that are run again, and as many steps that are looked into because the one before was ill
HOOKS = torch.nn.modules.module
LOSS = torch.nn.modules.loss._Loss
ALWAYS = inspect.signature(HOOKS.register_module_forward_hook).parameters


class InsideHooks:
    """Looks at the ops of counted steps, of steps 1, 2, 4, 8 …, and of the step after a finding whose op is not known; runs a
    forward pass in which something was found again, where the step was not looked into."""

    def attach_inside(self):
        self._outer, self._call, self._looks_next, self._again, self._more = None, None, False, MOST_AGAIN, MOST_AGAIN
        self._is_again = False  # whether a pass runs again
        names = self._names
        if not self._plan.nonfinite or names.replicated:
            return
        if names.compiled or not CAN_LOOK:
            self.note("what runs compiled is not looked into: of Inf and NaN the layer is known, not the op inside of it")
            return
        # Before torch 2.1 a module whose forward raises calls no hook: what is open is closed by the next one.
        always = {"always_call": True} if "always_call" in ALWAYS else {}
        self._undo.append(HOOKS.register_module_forward_pre_hook(self._begin_forward).remove)
        self._undo.append(HOOKS.register_module_forward_hook(self._end_forward, **always).remove)
        self._undo.append(self._close)

    def _begin_forward(self, module, args):
        if self._outer is not None or self._is_again or passes_by():
            return
        if id(module) not in self._names.modules and not isinstance(module, LOSS):
            return
        if torch.is_grad_enabled() and not repeats():
            self._open(module, args, sys._getframe(1).f_locals.get("kwargs") or {})

    @watching
    def _open(self, module, args, kwargs):
        step = self._step
        self._outer = weakref.ref(module)
        if step.counted or self._looks_next or step.number & (step.number - 1) == 0:
            if step.inside is None:
                step.inside = Inside(self._plan.counter, self._names.modules, self.note)
                step.nodes = Nodes(self._plan.counter)
            step.inside.open()
        elif self._again:
            self._call = Call(module.forward, args, kwargs)

    def _end_forward(self, module, args, out):
        if self._outer is not None and self._outer() is module and not self._is_again:
            self._close()
            if isinstance(module, LOSS) and id(module) not in self._names.modules:
                self._see_loss(type(module).__name__, out, functools.partial(inputs_of, module, args))
            if self._call is not None:
                self._look_again(module)

    def _close(self):
        self._outer = None
        if self._step.inside is not None:
            self._step.inside.close()
            self._step.nodes.forget()

    @watching
    def _see_loss(self, name, loss, inputs=dict):
        """Looks at a loss of one element, forward: its Inf is never meant."""
        if self._plan.nonfinite and isinstance(loss, torch.Tensor) and loss.numel() == 1 and torch.is_grad_enabled():
            x = local(loss)
            if x is not None and x.device.type == "cpu":
                self._step.look_at_loss(name, x, inputs)

    @watching
    def _look_again(self, module):
        """After a forward pass: runs it again if something was found whose op is not known."""
        call, self._call = self._call, None
        event = self._step.event
        if (event is None or event.role != "act" or event.op is not None or event.layer in self._plan.harmless
                or any(x["name"].split()[0] != "input" and (x["nan"] or x["inf"]) for x in event.inputs)
                or not self._is_alone() or not call.can_run_again(module)):
            return
        self._again -= 1
        self._is_again = True
        made = set()
        inside = Inside(self._plan.counter, self._names.modules, self.note, made)
        try:
            call.run_again(module, inside, made)
        finally:
            self._is_again = False
        origin = inside.worst()
        if origin is not None:
            event.come_from(origin)
        self._keep_texts(inside)

    def _keep_texts(self, inside):
        for layer, text in inside.texts():
            self._plan.inside.setdefault(layer, {})[text] = None

    def _see_inside(self, step, harmless):
        """Tells, at the end of a step, of what was seen inside of modules. harmless: whether the event of the step was dropped."""
        event, gone = None if harmless else step.event, None
        if step.inside is not None:
            self._keep_texts(step.inside)
            gone = next(iter(step.inside.vanished.values()), None)
            if gone is not None and (event is None or event.phase != "forward"):
                later, event = event, NonFinite(step.number, gone.layer, "act", {}, [])
                event.come_from(gone)
                if later is not None:  # of a step what came first is told
                    self._drop(later)
                    event.skipped = later.skipped
                self._tell(event)
            else:
                gone = None
        if event is not None and event.op is not None and event.arose and gone is None and not (
                event.skipped and event.phase == "backward"):
            words = event.text.partition(": ")[2].partition("; it got")[0]
            self._plan.inside.setdefault(event.layer, {})[words] = None
        unknown = event is not None and event.op is None and event.role != "weight" and self._more > 0
        self._more -= unknown
        self._looks_next = unknown
        self._call = None

    def _is_alone(self):
        """Whether there are no hooks of all modules but one's own."""
        every = [*HOOKS._global_forward_hooks.values(), *HOOKS._global_forward_pre_hooks.values()]
        return all(getattr(hook, "__self__", None) is self for hook in every)
