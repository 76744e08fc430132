# SPDX-License-Identifier: Apache-2.0
"""The part of Hooks that sees what runs compiled from outside: what it gives, and that nobody looked inside of it.

    torch.compile(module) ─▶ torch calls global hooks of what it returns; module.compile() ─▶ a function around what it calls
"""
import functools
import re
import warnings

import torch

from ...observe.attaching import passes_by
from ...observe.names import listed, unwrapped
from ...observe.opaque import kind_of_type, opaque_in
from .exact import GIVEN
from .silent import squared_away
from .told import tell

RUNS, RUN = " runs compiled", " run compiled"
CALL = "_compiled_call_impl"  # what a module calls after its method compile()
# torch says that hooks of all modules are called once more for such a module. Those of a watch are meant to be.
WARNS_OF_HOOKS = re.escape("Using `torch.compile(module)` when there are global hooks on modules")
UNCOMPILED = "run it uncompiled to see the op"
BEYOND = "run this part in FP32 or BF16, or scale what it gets: FP16 holds no more than 65504"
LIKELY = "FP16's range (65504 at most) is the likely cause: keep this part in FP32 or scale its inputs; "
MAY_BE = "; if that is FP16's range, keep this part in FP32 or scale its inputs"
WIDE = ("; no FP16 was seen in it, so look for an op outside of its domain (a division by zero, a root, log or power of a number that is zero "
        "or negative) or one that overflows, as exp or a cast to a narrower dtype")
FEW = 0.01  # a share of values below which negative ones are told


def compiled_note(names):
    """Returns the note on the parts of a model that run compiled."""
    runs, their = (RUNS, "its") if len(names.compiled) == 1 else (RUN, "their")
    share = f"{100 * names.compiled_share:.3g} % of all"
    return (f"{listed(names.compiled)}{runs}: {their} activations inside are not counted, {their} outputs and parameters ({share}) are")


def compiled_in(notes):
    """Returns which parts of a model run compiled, as text; "" if none does."""
    return next((note.partition(words)[0] for note in notes for words in (f"{RUNS}: ", f"{RUN}: ") if words in note), "")


def compiled_parts(names):
    """Returns {layer of a parameter: the part that it is inside of} of what runs compiled. names: the Names of the models."""
    out = {}
    for key, (module, name) in names.owners.items():
        part = next((x for x in names.compiled if f"{name}.".startswith(f"{x}.")), next((x for x in names.compiled if x in names.of_roots), None))
        if id(module) in names.within_compiled and part is not None:
            out.update((of.layer, part) for of in names.parts[key])
    return out


def autocast_dtypes():
    """Returns the dtypes that autocast casts to here, on any device."""
    if hasattr(torch, "get_autocast_dtype"):
        return {torch.get_autocast_dtype(device) for device in ("cpu", "cuda") if torch.is_autocast_enabled(device)}
    return ({torch.get_autocast_gpu_dtype()} if torch.is_autocast_enabled() else set()) | (
        {torch.get_autocast_cpu_dtype()} if torch.is_autocast_cpu_enabled() else set())


class CompiledHooks:
    """Sees what compiled modules give, as outputs of their own."""

    def attach_compiled(self):
        self._compiled_note = ""
        self._note_compiled()
        for module in self._names.compiled_by_method:
            self._wrap(module, CALL, functools.partial(self._compiled_call, module))
        filters = warnings.filters
        warnings.filterwarnings("ignore", message=WARNS_OF_HOOKS)
        mine = filters[0]
        self._undo.append(lambda: filters.remove(mine) if mine in filters else None)

    def _note_compiled(self):
        """Notes which parts run compiled, in the place of an earlier note on fewer of them."""
        if not self._names.compiled:
            return
        line = compiled_note(self._names)
        if self._compiled_note in self._notes:
            self._notes[self._notes.index(self._compiled_note)] = line
        else:
            self.note(line)
        self._plan.uncounted.pop(self._compiled_note, None)
        self._plan.uncounted[line], self._compiled_note = self._names.compiled_share, line
        self._plan.learning.compiled, self._plan.learning.compiled_parts = compiled_parts(self._names), list(self._names.compiled)

    def _compiled_call(self, module, inner, *args, **kwargs):
        out = inner(*args, **kwargs)
        if not passes_by():
            self._see_outputs(module, args, out)
        return out

    def _compiled_inside(self, module):
        """Returns the module of which an OptimizedModule is the compiled one, else the module itself."""
        if kind_of_type(type(module)) != "torch.compile" or id(unwrapped(module)) not in self._names.modules:
            return module
        inner = unwrapped(module)
        if id(inner) not in self._names.within_compiled:  # compiled after watching began, or beside the model that is watched
            self._names.add_compiled(inner, self._names.modules[id(inner)])
            self._note_compiled()
        return inner

    def _see_zeros(self, module, layer, args, out, summary):
        """Looks at a counted output of a compiled part for zeros that an overflow inside makes."""
        if id(module) not in self._names.within_compiled:
            return
        self._plan.learning.in_fp16 |= torch.float16 in autocast_dtypes()
        if summary.zeros and all(x.numel() == max(x.shape, default=1) for x in module.parameters()):
            found = squared_away(args, out)
            if found is not None:
                tell(self._plan.inside, layer, *found)

    def _is_in_fp16(self, event):
        """Returns whether FP16 is in use in what gave an event: as its dtype, an input's, a weight's, an output's inside or autocast's."""
        dtypes = {event.dtype, *(x["dtype"] for x in event.inputs)}
        parts = [module for module in self._names.all_modules() if self._names.modules[id(module)] == event.layer]
        dtypes |= {"F16" for module in parts for p in module.parameters() if p.dtype == torch.float16}
        names = {self._names.modules.get(id(inner)) for module in parts for inner in module.modules()}
        dtypes |= {of.dtype for (layer, role), of in self._layers.items() if role == "act" and layer in names}
        return "F16" in dtypes or torch.float16 in autocast_dtypes()

    def _uncompiled(self, event):
        """Returns what to do about an event inside of which nobody saw."""
        if self._is_in_fp16(event):
            return f"{LIKELY}{UNCOMPILED}" if event.arose else f"{UNCOMPILED}{MAY_BE}"
        few = [x for x in event.inputs if 0 < (x.get("negative") or 0) <= FEW * x["values"]] if event.found.get("nan") else []
        return UNCOMPILED + WIDE + "".join(f"; of {x['name']}, {x['negative']:,} of {x['values']:,} values {'is' if x['negative'] == 1 else 'are'} "
                                           "negative" for x in few[:1])

    def _why_unseen(self, event):
        """Enters into an event of a forward pass of which no op is known that what runs compiled was not seen inside."""
        if event.role != "act":
            return
        origin = event.origin
        if origin is not None and origin.exact == GIVEN:
            opaque = opaque_in([module.forward for module in self._names.all_modules()])
            if opaque:  # no op that was seen gave it
                event.origin, event.cure = None, ""
                event.cause = f"{GIVEN.why}, and may have come out of {listed(opaque)}, inside of which nobody saw: {self._uncompiled(event)}"
            return
        if event.op is not None or event.cause:
            return
        compiled = self._names.compiled
        if event.arose is False and not any(x["name"].startswith("input") and (x["nan"] or x["inf"]) for x in event.inputs):
            if event.layer in compiled:  # its weights are ill: no op of it need be known
                event.cause = f"{event.layer}{RUNS}, and nobody saw inside of it"
            return
        if event.layer in compiled and event.arose is not False:
            event.cause = f"{event.layer}{RUNS}, and nobody saw inside of it: {self._uncompiled(event)}"
            return
        own = [module for module in self._names.all_modules() if self._names.modules[id(module)] == event.layer]
        if event.arose and any(type(module).__module__.startswith("torch.nn") for module in own):
            if not torch.is_grad_enabled() and event.found.get("inf") and self._is_in_fp16(event):  # such a pass is not looked into
                event.cure = BEYOND
            return  # one op, which is the layer
        if compiled:
            event.cause = f"no op was looked at, since {listed(compiled)}{RUNS if len(compiled) == 1 else RUN}: {self._uncompiled(event)}"
            return
        opaque = opaque_in([module.forward for module in (own if event.arose else self._names.all_modules())])
        if opaque:
            event.cause = f"it may have come out of {listed(opaque)}, and nobody saw inside of that: {self._uncompiled(event)}"
