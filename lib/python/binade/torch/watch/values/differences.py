# SPDX-License-Identifier: Apache-2.0
"""Differences of nearly equal numbers of which rounding leaves negative values, as of E[x²] − E[x]², and the roots of these."""
import dataclasses

import torch

from ...observe.recorder import storage_of
from .exact import Exact

ERRORS = 32  # of how many unit roundoffs of its operands a negative difference may be
CARRY = frozenset("add mul div clone to_copy".split())  # by a number: an eps, n/(n − 1), another dtype
ROOTS = frozenset("sqrt rsqrt pow log log2 log10".split())
CURE = ("compute what cannot be negative: a variance as the mean of (x − mean)², as torch.var does, not as E[x²] − E[x]²; an eps or a "
        "bound only hides that it is rounding")


@dataclasses.dataclass(frozen=True)
class Difference:
    """largest: magnitude of the operands. site: file and line."""

    largest: float
    site: str

    @property
    def text(self):
        return (f"they are a difference of nearly equal numbers, up to {self.largest:.4g}{f', at {self.site}' if self.site else ''}: "
                "rounding is all that is left of it")


def is_cancelled(a, b, out):
    """Returns the largest magnitude of the operands of a difference whose negative values are no more than their rounding errors; 0 of
    others. Of an operand that was written to the other one, which is nearly the same, tells."""
    operands = [x for x in (a, b) if storage_of(x) != storage_of(out)]
    if not out.numel() or not operands or not bool((out < 0).any()):
        return 0.0
    bound = ERRORS * torch.finfo(out.dtype).eps / 2
    sizes = [x.detach().abs().float() for x in operands]
    size = torch.maximum(*sizes) if len(sizes) > 1 else sizes[0]
    largest = float(size.max())
    return 0.0 if bool((-out.detach().float() > bound * size).any()) else largest


class Differences:
    """Those of one step, by storage."""

    def __init__(self):
        self._of = {}

    def see(self, name, args, out, where):
        """Sees an op and its result. where(): (layer, site)."""
        first, other = (*args[:2], None, None)[:2]
        found = None
        if name == "sub" and isinstance(first, torch.Tensor) and isinstance(other, torch.Tensor) and other.dim():
            largest = is_cancelled(first, other, out)
            found = Difference(largest, where()[1]) if largest else None
        elif self._of and name in CARRY and isinstance(first, torch.Tensor) and not (isinstance(other, torch.Tensor) and other.dim()):
            found = self._of.get(storage_of(first))
        if found is not None:
            self._of[storage_of(out)] = found
        elif self._of:
            self._of.pop(storage_of(out), None)

    def exact(self, name, args, exact):
        """Returns the Exact of NaN that an op made, with its cause if its operand is such a difference."""
        x = args[0] if args and isinstance(args[0], torch.Tensor) else None
        of = self._of.get(storage_of(x)) if exact is not None and name in ROOTS and x is not None and self._of else None
        return exact if of is None else Exact(f"{exact.why}; {of.text}", CURE)
