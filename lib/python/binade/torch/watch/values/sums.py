# SPDX-License-Identifier: Apache-2.0
"""Outputs of layers that FP16 would make zero, and the sums that they enter, as those of residual branches behind a small LayerScale:
what is lost below the rounding of such a sum harms nothing."""
import math

import torch

from ...observe.recorder import UNWRITTEN, storage_of
from .residues import ERROR

CARRY = frozenset("mul div neg native_dropout dropout clone to_copy".split())  # what they make of an output enters the sum in its place
LOST = 1e-3  # share of an output's norm that FP16 may make zero
ELSEWHERE = math.inf


def only_its_shape(name):
    """Whether an op takes no value of what it gets."""
    return name in UNWRITTEN or name.startswith(("new_", "empty")) or name.endswith("_like")


def size(x):
    """Returns the root of the mean square."""
    return float(x.detach().float().norm()) / math.sqrt(max(1, x.numel()))


class Sums:
    """The sums of one step. shares: {layer: largest share of a sum's size that its output was; ELSEWHERE of one that enters anything else}."""

    def __init__(self, shares):
        self._shares, self._at = shares, {}

    def begin(self, layer, x, summary):
        """Follows an output of a layer, if FP16 would make zero more than LOST of it."""
        if summary.nonzero and summary.becomes("binary16")["lost_l2"] > LOST:
            self._at.setdefault(storage_of(x), set()).add(layer)

    def see(self, name, args, kwargs, given, results):
        """Sees an op. given, results: the tensors that it got and gave."""
        if not self._at:
            return
        found = [(x, self._at[storage_of(x)]) for x in given if storage_of(x) in self._at]
        made = set()
        for x, layers in found:
            if only_its_shape(name):
                continue
            if name in CARRY:
                made |= layers
                continue
            share = ELSEWHERE
            if name == "add" and kwargs.get("alpha", 1) == 1 and len(given) > 1 and storage_of(x) != storage_of(results[0]):
                share = size(x) / max(size(results[0]), torch.finfo(torch.float32).tiny)
            for layer in layers:
                self._shares[layer] = max(share, self._shares.get(layer, 0.0))
        for x in results:
            self._at.pop(storage_of(x), None)
        if made:
            self._at[storage_of(results[0])] = made


def drowns_in_sums(share, lost):
    """Whether what is lost of an output, a share of its norm, is below FP16's rounding error of the sums that it enters. share: as in
    Sums.shares, or None."""
    return share is not None and share * lost <= 2.0 ** ERROR["F16"]
