# SPDX-License-Identifier: Apache-2.0
"""Gradients that a loop divides by the loss scale by hand, although the scaler's unscale_ or step divides them, too.

    backward ─▶ grad /= scale ─▶ unscale_        or        unscale_ ─▶ grad /= scale ─▶ step
"""
import math

import torch

from .unused import gradients_of

LEAST = 64.0  # a loss scale from which on nobody takes a division by it for one by the number of micro-batches
NEAR = 2.0**-8  # the relative error of two roundings in FP16


def smallest(optimizer):
    """Returns the smallest gradient of an optimizer that holds more than zeros and is finite, on the CPU; None if none does."""
    plain = (x for x in gradients_of(optimizer) if type(x) is torch.Tensor and x.layout is torch.strided and x.is_cpu)
    return next((x for x in sorted(plain, key=torch.Tensor.numel) if torch.count_nonzero(x) and torch.isfinite(x).all()), None)


class Divided:
    """What gradients were when a backward pass, unscale_ or clipping left them, and whose were divided by hand since; by the number of an
    optimizer."""

    def __init__(self):
        self._left, self._by_hand = {}, set()

    def leave(self, number, optimizer, scale):
        """Notes the gradients that there are. scale(): the loss scale."""
        self._left.pop(number, None)
        x = smallest(optimizer)
        scale = 1.0 if x is None else float(scale())
        if LEAST <= scale < math.inf:
            self._left[number] = x, x.detach().clone(), scale

    def forget(self, number):
        self._left.pop(number, None)
        self._by_hand.discard(number)

    def look(self, number, optimizer):
        """Sees whether gradients were divided by the loss scale by hand."""
        x, before, scale = self._left.pop(number, (None, None, 1.0))
        if x is not None and any(x is one for one in gradients_of(optimizer)):
            there = before != 0
            ratios = x.detach()[there].double() * scale / before[there].double()
            if bool(((ratios - 1).abs() < NEAR).all()):
                self._by_hand.add(number)

    def was_by_hand(self, number, optimizer):
        """Returns whether gradients, which a scaler is about to use, were divided by the loss scale by hand."""
        self.look(number, optimizer)
        return number in self._by_hand
