# SPDX-License-Identifier: Apache-2.0
"""Finds where a product comes from: the line of the user's code and the module; in a backward pass those of the forward pass."""
import dataclasses
import os
import sys
import weakref

import torch

from ... import _binade
from ..observe.attaching import graph_task
from ..observe.names import wrapped_by
from ..observe.opaque import described, frame_described, site_of

OWN = tuple(os.path.dirname(os.path.abspath(x)) + os.sep for x in (torch.__file__, os.path.dirname(os.path.dirname(__file__))))
CALLS_A_MODULE = torch.nn.Module._call_impl.__code__
BACKWARD = os.path.join("torch", "autograd", "__init__.py"), os.path.join("torch", "autograd", "graph.py")
KEPT = 1 << 16  # forward products whose backward may still come

next_number = getattr(torch.autograd, "_get_sequence_nr", None)  # number of the next node of autograd; torch has it since 2.1
current_node = getattr(torch._C, "_current_autograd_node", None)


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a product comes from.

    site: "train.py:12", a line of a file below the working directory, or "" if none is known. module: "blocks.0.fc1 (Linear)", or ""
    outside of modules. backward: whether the product belongs to a backward pass.
    """

    site: str
    module: str
    backward: bool

    def __str__(self):
        return " ".join(filter(None, (self.module, "at " + self.site if self.site else "", "backward" if self.backward else "")))


class Places:
    """Finds the Place of each op while it is dispatched."""

    def __init__(self):
        self._names = weakref.WeakKeyDictionary()  # for each model, the names of its modules by their ids
        self._forward = {}  # {number of a node of autograd: the Place that made it}
        self.opaque = {}  # texts of what called an op and would not run op by op outside of a mode

    def now(self):
        site, modules, backward = "", [], False
        frame = sys._getframe(1)
        while frame is not None:
            code = frame.f_code
            text = frame_described(frame)
            if code is CALLS_A_MODULE:
                modules.append(frame.f_locals["self"])
                text = "" if wrapped_by(modules[-1]) is not None else described(modules[-1])
            elif code.co_filename.endswith(BACKWARD):
                backward = True
            elif not site and not code.co_filename.startswith((*OWN, "<")):
                site = site_of(code.co_filename, frame.f_lineno)
            if text:
                self.opaque[text] = None
            frame = frame.f_back
        if backward or (graph_task is not None and graph_task() != -1):
            node = current_node() if current_node is not None and next_number is not None else None
            made = None if node is None else self._forward.get(node._sequence_nr())
            return Place(site, "", True) if made is None else dataclasses.replace(made, backward=True)
        place = Place(site, self._name(modules) if modules else "", False)
        if next_number is not None:
            self._forward.setdefault(next_number() - 1, place)
            if len(self._forward) > KEPT:
                del self._forward[next(iter(self._forward))]
        return place

    def _name(self, modules):
        """Returns the name of the innermost running module within the outermost one."""
        inner, model = modules[0], modules[-1]
        if id(inner) not in self._names.get(model, ()):
            self._names[model] = {id(x): _binade._printable(name) for name, x in model.named_modules()}
        name = self._names[model].get(id(inner), "")
        return f"{name} ({type(inner).__name__})" if name else type(inner).__name__
