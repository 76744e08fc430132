# SPDX-License-Identifier: Apache-2.0
"""Gradients that a loop divides by the loss scale by hand, although the scaler's unscale_ or step divides them, too; and those that it clips
by hand while they are scaled.

    backward ─▶ grad /= scale ─▶ unscale_        or        unscale_ ─▶ grad /= scale ─▶ step
    backward ─▶ grad *= limit / norm ─▶ unscale_ or step: in each step by another factor, and the norm of all comes to the same
"""
import math

import torch

from .unused import gradients_of

LEAST = 64.0  # a loss scale from which on nobody takes a division by it for one by the number of micro-batches
NEAR = 2.0**-8  # the relative error of two roundings in FP16
CLIPS, LOOKS = 3, 8  # steps that tell clipping by hand, and the most that are looked at for it
SAME, DIFFER = 0.01, 0.05  # by so much norms may differ, relatively, and so much factors must


def smallest(optimizer):
    """Returns the smallest gradient of an optimizer that holds more than zeros and is finite, on the CPU; None if none does."""
    plain = (x for x in gradients_of(optimizer) if type(x) is torch.Tensor and x.layout is torch.strided and x.is_cpu)
    return next((x for x in sorted(plain, key=torch.Tensor.numel) if torch.count_nonzero(x) and torch.isfinite(x).all()), None)


class Divided:
    """What gradients were when a backward pass, unscale_ or clipping left them, and whose were divided by hand since; by the number of an
    optimizer."""

    def __init__(self):
        self._left, self._by_hand = {}, set()
        self._clips = {}  # number of an optimizer: (factor, norm of all gradients) of steps whose scaled gradients were multiplied by hand

    def leave(self, number, optimizer, scale, is_scaled):
        """Notes the gradients that there are. scale(): the loss scale. is_scaled: whether they are multiplied by it."""
        self._left.pop(number, None)
        x = smallest(optimizer)
        scale = 1.0 if x is None else float(scale())
        if LEAST <= scale < math.inf:
            self._left[number] = x, x.detach().clone(), scale, is_scaled

    def forget(self, number):
        self._left.pop(number, None)
        self._by_hand.discard(number)

    def look(self, number, optimizer):
        """Sees whether gradients were divided by the loss scale by hand, or multiplied by another factor while they were scaled."""
        x, before, scale, is_scaled = self._left.pop(number, (None, None, 1.0, False))
        if x is not None and any(x is one for one in gradients_of(optimizer)):
            there = before != 0
            ratios = x.detach()[there].double() / before[there].double()
            least, most = float(ratios.min()), float(ratios.max())
            if 1 - NEAR < least * scale and most * scale < 1 + NEAR:
                self._by_hand.add(number)
            elif is_scaled and 0 < most < 1 - NEAR and most - least < NEAR * most and len(self._clips.get(number, ())) < LOOKS:
                norms = torch.stack([torch.linalg.vector_norm(one.detach().float()).cpu() for one in gradients_of(optimizer) if not one.is_sparse])
                self._clips.setdefault(number, []).append((most, float(torch.linalg.vector_norm(norms))))

    def clipped_by_hand(self, number):
        """Returns the norm to which scaled gradients were brought by hand in several steps; None if they were not."""
        factors, norms = zip(*self._clips.get(number, [])[-CLIPS:] or [(1.0, math.inf)])
        is_so = len(norms) == CLIPS and max(norms) <= (1 + SAME) * min(norms) and max(factors) >= (1 + DIFFER) * min(factors)
        return norms[-1] if is_so else None

    def was_by_hand(self, number, optimizer):
        """Returns whether gradients, which a scaler is about to use, were divided by the loss scale by hand."""
        self.look(number, optimizer)
        return number in self._by_hand
