# SPDX-License-Identifier: Apache-2.0
"""Zeros that are differences of elements and themselves, as on the diagonal of pairwise distances: zero in every format.

    x[:, None] - x[None] ─▶ which elements are of one and the same element of x ─▶ squares, sums and casts of them
"""
import torch

from ...observe.recorder import storage_of

ALIKE = frozenset("to_copy clone abs neg square pow sqrt mul div".split())  # which give zero where they got zero
SUMS = {"sum": 1, "mean": 1, "linalg_vector_norm": 2, "norm": 2}  # of each op, which argument its axes are
WHY = "differences of elements and themselves, zero in every format"


def same_elements(a, b):
    """Returns where two views of one storage have the same element of it."""
    storage = a.untyped_storage() if hasattr(a, "untyped_storage") else a.storage()
    at = torch.arange(storage.nbytes() // a.element_size(), device=a.device)
    first, second = (at.as_strided(x.shape, x.stride(), x.storage_offset()) for x in (a, b))
    return first == second


class Selves:
    """The tensors of one step that hold such zeros, by storage: a mask of these."""

    def __init__(self):
        self._of = {}

    def see(self, name, args, out):
        """Sees an op and its result."""
        a, b = (*args[:2], None, None)[:2]
        mask = None
        if name == "sub" and isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and a.dtype == b.dtype and (
                storage_of(a) == storage_of(b) != storage_of(out)):
            mask = same_elements(a, b)
        elif self._of and isinstance(a, torch.Tensor):
            mask = self._of_source(name, args, a)
        if self._of:
            self._of.pop(storage_of(out), None)
        if mask is not None and mask.shape == out.shape and bool(mask.any()):
            self._of[storage_of(out)] = mask

    def _of_source(self, name, args, a):
        mask = self._of.get(storage_of(a))
        if mask is None or mask.shape != a.shape:
            return None
        if name in ALIKE:
            return mask
        axes = args[SUMS[name]] if name in SUMS and len(args) > SUMS[name] else None
        if axes is None:
            return None
        keeps = len(args) > SUMS[name] + 1 and args[SUMS[name] + 1]
        for axis in sorted((axis % a.dim() for axis in ([axes] if isinstance(axes, int) else axes)), reverse=True):
            mask = mask.all(axis, keepdim=bool(keeps))
        return mask

    def are_all(self, x):
        """Whether all zeros of an operand are such."""
        mask = self._of.get(storage_of(x)) if self._of and isinstance(x, torch.Tensor) else None
        return mask is not None and mask.shape == x.shape and not bool(((x == 0) & ~mask).any())
