# SPDX-License-Identifier: Apache-2.0
"""Zeros that rounding to float16 made, and the tensors that they come to: more range cures what is singular at them.

    op gives zeros in float16 ─▶ the same op in float32 ─▶ which of them rounding made ─▶ sums, products and casts of them
"""
import dataclasses

import torch

from ...observe.recorder import storage_of
from .exact import NARROW

ROUNDS = frozenset("exp exp2 sigmoid softmax div reciprocal var std mean sum mul square pow to_copy".split())
# What these give is zero because what they got is.
PASSES = frozenset("to_copy copy clone sum mean mul div abs neg sqrt square pow cat stack index index_select gather".split())


@dataclasses.dataclass(frozen=True)
class Rounded:
    """Zeros of a tensor. dtype: the narrow one that it has, or had. place: the op that rounded to them, as text; "" if that is not known.
    all: whether rounding made all of them."""

    dtype: "torch.dtype"
    place: str = ""
    all: bool = False

    @property
    def why(self):
        return f"the zeros that it got are what {self.place} rounded to in {NARROW[self.dtype]}"


class Zeros:
    """The tensors of one step that hold such zeros, by storage."""

    def __init__(self):
        self._of = {}

    def of(self, x):
        """Returns the Rounded of a tensor; None if there is none."""
        return self._of.get(storage_of(x)) if self._of and isinstance(x, torch.Tensor) else None

    def see(self, func, name, args, kwargs, given, results, place):
        """Sees what an op gave. given, results: its tensors that are counted. place(): the op and its line, as text."""
        out = results[0]
        sources = [(x, self.of(x)) for x in given if self.of(x) is not None]
        for x in results:
            self._of.pop(storage_of(x), None)
        rounds = name in ROUNDS and out.dtype == torch.float16
        cast = next((x.dtype for x in given if name in ("to_copy", "copy") and x.dtype in NARROW and out.dtype not in NARROW), None)
        if not (rounds or cast or sources and name in PASSES):
            return
        dead = out == 0
        if not bool(dead.any()):
            return
        gone = dead & (in_float32(func, name, args, kwargs) != 0) if rounds and not any(
            storage_of(x) == storage_of(out) for x in given) else torch.zeros_like(dead)
        whence = name in PASSES and bool(sources) and all(self._is_rounded(x, sources) for x in given if storage_of(x) != storage_of(out))
        if bool(gone.any()):
            self._of[storage_of(out)] = Rounded(out.dtype, place(), whence or bool((gone == dead).all()))
        elif sources and name in PASSES:
            self._of[storage_of(out)] = dataclasses.replace(sources[0][1], all=whence)
        elif cast:
            self._of[storage_of(out)] = Rounded(cast)

    def _is_rounded(self, x, sources):
        """Whether rounding made all zeros of what an op got."""
        return any(x is y and rounded.all for y, rounded in sources) or bool((x != 0).all())


def in_float32(func, name, args, kwargs):
    """Returns what an op would give with tensors of float32."""
    if name == "to_copy":
        return args[0]
    wide = [x.float() if isinstance(x, torch.Tensor) and x.dtype == torch.float16 else x for x in args]
    return func(*wide, **{key: x for key, x in kwargs.items() if key != "dtype"})
