# SPDX-License-Identifier: Apache-2.0
"""What one step of a loop has shown so far."""
import enum
import weakref

import torch

from ._nonfinite import NonFinite
from ._run import SCALED, Layer, Window, add_to
from ._tensors import FLOATING, described, unscaled


class Seen(enum.Enum):
    never, same, rewritten = range(3)


class Step:
    """number: of the step. layers: filled. tell(NonFinite): called once at most."""

    def __init__(self, number, plan, layers, tell):
        self.number = number
        self.counted = number % plan.every == 0  # or only looked at
        self.window = Window(number, number, 1)
        self.loss_scale = None
        self.scaler = None  # the last one whose scale() was called
        self.is_empty = True  # no module and no optimizer has run
        self.handles = []  # of hooks on tensors that outlive the step
        self.ended = set()  # ids of optimizers that stepped, or were left out
        self.unscaled = set()  # ids of optimizers whose gradients were counted before they were unscaled
        self.copies = {}  # id of a parameter: its values before the step
        self.finite_gradient = None  # the last layer whose gradient was finite, and that gradient
        self.event = None
        self._counter, self._gradients, self._layers, self._tell = plan.counter, plan.gradients, layers, tell
        self._seen = {}  # id of an output: itself, and how often it was written to
        self._flags = []

    def seen(self, x):
        """Whether a module's output was seen before in this step."""
        version = 0 if x.is_inference() else x._version
        before, of = self._seen.get(id(x), (None, None))
        if before is None or before() is not x:
            out = Seen.never
        else:
            out = Seen.same if of == version else Seen.rewritten
        self._seen[id(x)] = weakref.ref(x), version
        return out

    def remove_hooks(self):
        for handle in self.handles:
            handle.remove()
        self.handles = []

    def count(self, layer, role, x):
        """Counts a tensor; returns its summary."""
        return self._add(layer, role, x, self._counter.count(x))

    def _add(self, layer, role, x, summary):
        of = Layer(FLOATING[x.dtype], tuple(x.shape))
        self._layers.setdefault((layer, role), of).see(of)
        add_to(self.window.summaries, {(layer, role): summary})
        return summary

    def count_gradient(self, layer, role, x, scale):
        """Counts a gradient that is multiplied by a scale, or None, as the user asked for; returns one of its summaries."""
        if scale is None:
            return self.count(layer, role, x)
        if self._gradients == "scaled":
            return self.count(layer, role, x)
        summary = self._add(layer, role, x, unscaled(self._counter, x, scale))
        return self.count(layer + SCALED, role, x) if self._gradients == "both" else summary

    def look_at(self, layer, role, x, summary, inputs):
        """Tells of Inf and NaN in a tensor. summary: its own where it was counted, else None; inputs(): what its op got, by name.

        Returns False where it holds some; True also of a tensor that is not on the CPU, which tells at the end of the step.
        """
        if summary is None:
            finite = self._counter.finite(x)
            if isinstance(finite, torch.Tensor):
                self._flags.append((finite, layer, role))
                return True
            if finite:
                return True
        elif not summary.nan and not summary.inf:
            return True
        if self.event is None:
            summary = summary or self._counter.count(x)
            self._found(layer, role, {"nan": summary.nan, "inf": summary.inf}, described(self._counter, inputs()))
        return False

    def _found(self, layer, role, found, inputs):
        arose = not any(x["nan"] or x["inf"] for x in inputs)
        self.event = NonFinite(self.number, layer, role, found, inputs, arose)
        self._tell(self.event)

    def last_gradient(self):
        """The last finite one, by name."""
        return {} if self.finite_gradient is None else {f"gradient of {self.finite_gradient[0]}": self.finite_gradient[1]}

    def read_flags(self):
        """Waits for what lies on other devices."""
        if self._flags and self.event is None:
            device = self._flags[0][0].device
            finite = torch.stack([flag.to(device) for flag, _, _ in self._flags]).tolist()
            for _, layer, role in (row for good, row in zip(finite, self._flags) if not good):
                self._found(layer, role, {}, [])
                break
        self._flags = []
