# SPDX-License-Identifier: Apache-2.0
"""FP32 weights, as master copies, that are rounded between an optimizer's steps, since they are copied back from the narrow weights that
they are to spare the rounding: what the steps added below half an ulp of these is thrown away."""
import dataclasses
import heapq

import torch

from .... import _binade
from ...observe.tensors import FLOATING, PLAIN
from .aside import first_values
from .lost_updates import FORMATS, ILL

MOST, VALUES = 4, 1024  # parameters of an optimizer, the largest, and first values of each that are compared
LEAST = 2  # steps after which weights are compared: 1, 2, 4, 8 … of an optimizer
NARROW = torch.bfloat16, torch.float16


@dataclasses.dataclass
class Refreshed:
    """What became of an optimizer's wide weights between its steps. compared: how many times they were looked at; rounded: how many times
    they were what the step left, rounded to dtype. moved: values that the steps before these changed; lost: those of them that were
    again what they had been before."""

    optimizer: str
    compared: int = 0
    rounded: int = 0
    moved: int = 0
    lost: int = 0
    dtype: "torch.dtype | None" = None

    def see(self, before, after, now):
        """Takes the lists of values before and after a step, and before the next one."""
        self.compared += 1
        if all(map(torch.equal, after, now)):
            return
        dtype = next((one for one in NARROW if all(torch.equal(a.to(one).to(a.dtype), n) for a, n in zip(after, now))), None)
        if dtype is not None:
            self.rounded, self.dtype = self.rounded + 1, dtype
            self.moved += sum(int(torch.count_nonzero(a != b)) for a, b in zip(after, before))
            self.lost += sum(int(torch.count_nonzero((a != b) & (n == b))) for a, b, n in zip(after, before, now))

    @property
    def is_ill(self):
        return LEAST <= self.rounded == self.compared and self.lost > ILL * self.moved

    @property
    def text(self):
        format = FORMATS[FLOATING[self.dtype]]
        return (f"Updates are thrown away: the FP32 weights that {self.optimizer} holds are numbers of {format} again before each next "
                f"step, as master copies are that are copied back from {format} weights, or weights that are loaded from a checkpoint of it, and {_binade._percent(self.lost / self.moved)} of "
                "what its steps changed is undone by that rounding. Copy the masters to the narrow weights after each step, "
                "never back: make them once, before the loop; and save them in FP32.")


class Between:
    """The wide weights of optimizers, from a step to the next."""

    def __init__(self, found):
        """found: a dict to fill, {the optimizer's id: its Refreshed}."""
        self._found, self._before, self._after = found, {}, {}
        self._steps = {}  # the optimizer's id: how many steps of it have begun

    @staticmethod
    def _weights(optimizer):
        wide = (p for group in optimizer.param_groups for p in group["params"] if type(p) in PLAIN and p.dtype in FLOATING
                and p.element_size() > 2 and p.layout is torch.strided)
        return heapq.nlargest(MOST, wide, key=torch.Tensor.numel)

    def step_begins(self, optimizer, counted):
        """counted: whether the step is; of others nothing is read from a GPU."""
        key = id(optimizer)
        steps = self._steps[key] = self._steps.get(key, 0) + 1
        before, after = self._before.pop(key, None), self._after.pop(key, None)
        begins = steps & (steps - 1) == 0
        if not (after or begins):
            return
        weights = self._weights(optimizer)
        now = [first_values(p, VALUES) for p in weights] if after or counted or all(p.is_cpu for p in weights) else []
        if after and [x.shape for x in after] == [x.shape for x in now]:
            self._found.setdefault(key, Refreshed(type(optimizer).__name__)).see(before, after, now)
        if begins and now:
            self._before[key] = now

    def step_ends(self, optimizer):
        if id(optimizer) in self._before:
            self._after[id(optimizer)] = [first_values(p, VALUES) for p in self._weights(optimizer)]


def refreshed_text(found):
    """Returns lines about the optimizers whose wide weights lose their updates between steps. found: {key: Refreshed}."""
    return [one.text for one in found.values() if one.is_ill]
