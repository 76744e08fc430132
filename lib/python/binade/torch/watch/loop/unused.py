# SPDX-License-Identifier: Apache-2.0
"""The gradients that optimizers' parameters have, whether somebody wrote to them, and those that are taken away before any step has
used them."""
import torch

from ..values.waiting_tensors import states_of

MOST = 64  # ways in which gradients were written to that are kept
FEW = 64  # values of a gradient that are looked at, to know whether it was taken away for its Inf or NaN


def held_by(optimizer):
    """Returns the parameters of an optimizer, as a list."""
    return [p for group in optimizer.param_groups for p in group["params"]]


def gradients_of(optimizer):
    return [x for group in optimizer.param_groups for p in group["params"] if (x := p.grad) is not None]


def may_differ_from_zero(x):
    return type(x) is not torch.Tensor or x.layout is not torch.strided or bool(torch.count_nonzero(x))


def has_gradient(optimizer):
    """Returns whether a gradient of the optimizer's parameters may not be zero."""
    return any(may_differ_from_zero(x) for x in gradients_of(optimizer))


def holds_ill(optimizer):
    """Returns whether the first values of a gradient on the CPU hold Inf or NaN."""
    plain = (x for x in gradients_of(optimizer) if type(x) is torch.Tensor and x.layout is torch.strided and x.is_cpu)
    return any(not torch.isfinite(x.detach().reshape(-1)[:FEW]).all() for x in plain)


def holds_gradient(optimizer):
    """Returns whether a parameter of an optimizer has a gradient, be it zero."""
    return any(p.grad is not None for group in optimizer.param_groups for p in group["params"])


def is_cleared(optimizer):
    """Returns whether an optimizer's parameters have no gradients, or zeros on the CPU."""
    return are_cleared(gradients_of(optimizer))


def are_cleared(gradients):
    """Returns whether gradients are none, or zeros on the CPU: for those on a GPU nobody waits."""
    found = sorted(gradients, key=torch.Tensor.numel)
    return all(x.is_cpu for x in found) and not any(may_differ_from_zero(x) for x in found)


def state_of_gradients(optimizer):
    """Returns what differs once gradients are written to or others are set."""
    return states_of(gradients_of(optimizer))


class Zeros:
    """Whether the gradients of optimizers may not all be zero. Values are read in counted steps; in others, where a GPU would be waited for,
    only where something else was done to the gradients since the last backward pass than when they were read."""

    def __init__(self):
        self._left = {}  # number of an optimizer: the state of its gradients after the last backward pass
        self._known = {}  # (the same, what was written to since): whether they held more than zeros

    def leave(self, number, optimizer):
        """Notes the gradients after a backward pass."""
        self._left[number] = dict(state_of_gradients(optimizer))

    def has_gradient(self, number, optimizer, reads):
        """reads: whether their values are to be read."""
        left = self._left.get(number, {})
        written = number, tuple((key in left, version - left.get(key, 0)) for key, version in state_of_gradients(optimizer))
        if reads or written not in self._known:
            if len(self._known) >= MOST:
                self._known.clear()
            self._known[written] = has_gradient(optimizer)
        return self._known[written]


class Unused:
    """Of an optimizer whose gradients were taken away unused: what it had after the last backward pass, to know whether the loop then
    moved its parameters by hand, as for sharpness-aware minimization, or steps with gradients that it has made by hand."""

    def __init__(self):
        self._weights = self._smallest = self._gradients = None
        self.by_hand = False

    def leave(self, optimizer):
        """Notes what there is after a backward pass."""
        held = held_by(optimizer)
        self._weights = states_of(held)
        smallest = min(held, key=torch.Tensor.numel)
        self._smallest = smallest, smallest.detach().clone()  # alone tells of writing by way of .data
        self.leave_gradients(optimizer)

    def leave_gradients(self, optimizer):
        """Notes the gradients that clipping has left."""
        self._gradients = state_of_gradients(optimizer)

    def moved(self, optimizer):
        """Returns whether parameters were written to since the last backward pass."""
        if self._weights is None:
            return False
        parameter, before = self._smallest
        return self._weights != states_of(held_by(optimizer)) or not torch.equal(parameter.detach(), before)

    def look(self, optimizer):
        """Sees, before they are clipped or stepped with, whether gradients were written to or set by hand."""
        self.by_hand = self._gradients is not None and (self.by_hand or self._gradients != state_of_gradients(optimizer))


class Left:
    """The gradients that an optimizer's parameters have, to know later whether somebody wrote to them."""

    def __init__(self, optimizer):
        self._state = state_of_gradients(optimizer)
        plain = [x for x in gradients_of(optimizer) if type(x) is torch.Tensor and x.layout is torch.strided]
        self._smallest = min(plain, key=torch.Tensor.numel, default=torch.empty(0))
        self._values = self._used = self._smallest.detach().clone()
        self._differs = False

    def is_used_by(self, optimizer):
        """Notes what the gradients are. Their values, which alone tell of writing by way of .data, are compared where that matters,
        since a GPU would be waited for."""
        self._differs = self._differs or self._state != state_of_gradients(optimizer)
        self._used = self._smallest.detach().clone()

    def differed(self):
        """Returns whether the gradients differed when they were used."""
        return self._differs or not torch.equal(self._used.nan_to_num(), self._values.nan_to_num())

    def is_nonzero(self):
        """Returns whether the values that are compared are not all zero, so that zeros in their place would be seen."""
        return bool(torch.count_nonzero(self._values))
