# SPDX-License-Identifier: Apache-2.0
"""Positions whose neighbours are one number in FP16 or BF16, and of which cosines or sines are taken, as of rotary embeddings, or indices
made; and indices that were numbers of these formats.

    arange in a narrow dtype, consecutive numbers cast to one, or counted in one ─▶ products and sums of them ─▶ cos, sin
                                                                                └▶ casts to integers ─▶ rows of a table
"""
import math

import torch

from ...observe.recorder import storage_of
from .exact import NARROW
from .words import shown

CASTS = frozenset(("to_copy", "copy", "mul", "div"))  # the last two of integers and narrow numbers
PASSES = frozenset("mul div add sub mm bmm addmm cat stack to_copy copy clone".split())
ANGLES = frozenset(("cos", "sin"))
INTEGERS = frozenset((torch.int64, torch.int32))
TABLES = {"embedding": 1, "index_select": 2, "index": 1}  # ops that take rows, and which of their arguments says which ones
COUNTED = {torch.bfloat16: 2**8, torch.float16: 2**11}  # up to where a format has every whole number
OF_ANGLES = ("Positions are lost in {}: {}, and their cosines or sines are taken, so that neighbours get the same angles. Compute "
             "positions and angles in FP32, outside of autocast, and cast the cosines and sines.")
OF_INDICES = ("Indices are lost in {}: {}, and rows are taken by them, so that neighbours get the same row. Keep indices, and what counts "
              "positions, integers.")


def consecutive(x):
    """Returns the last axis of a tensor if that counts up by one, as integers; else None."""
    if not isinstance(x, torch.Tensor) or x.dtype in NARROW or x.is_complex() or x.dtype == torch.bool or x.is_meta:
        return None
    x = x.detach().squeeze()
    if x.dim() == 0 or x.shape[-1] < 2**8:
        return None
    row = x.reshape(-1, x.shape[-1])[0]
    first, second, last = row[[0, 1, -1]].tolist()
    is_so = second - first == 1 and last - first == len(row) - 1 and bool((row[1:] - row[:-1] == 1).all())
    return row if is_so and first == int(first) else None


class Positions:
    """The tensors of one step that come from such positions, by storage. told: {layer: text}, to fill."""

    def __init__(self, told):
        self._of, self._told = {}, told

    def see(self, name, args, results, where):
        """Sees an op. results: what it gave. where(): the layer that it is in, and its file and line."""
        out = results[0]
        text = self._made(name, args, out, where) if out.dtype in NARROW else ""
        if self._of:
            came = next((self._of[storage_of(x)] for x in tensors(args) if storage_of(x) in self._of), "")
            for x in results:
                self._of.pop(storage_of(x), None)
            if came and name in ANGLES:
                self._tell(OF_ANGLES, came, where)
            elif name in TABLES:
                self._see_rows(args[TABLES[name]], where)
            text = text or (came if name in PASSES else "")
        if text:
            self._of[storage_of(out)] = text

    def see_integers(self, name, args, out):
        """Sees an op that gave no floating numbers."""
        if name in PASSES and isinstance(out, torch.Tensor) and out.dtype in INTEGERS:
            text = next((self._of[storage_of(x)] for x in tensors(args) if storage_of(x) in self._of), "")
            self._of.pop(storage_of(out), None)
            text = text or (of_integers(args[0], out) if name == "to_copy" else "")
            if text:
                self._of[storage_of(out)] = text

    def _see_rows(self, indices, where):
        text = next((self._of[storage_of(x)] for x in tensors([indices]) if storage_of(x) in self._of), "")
        if text:
            self._tell(OF_INDICES, text, where)

    def _tell(self, line, text, where):
        layer = where()[0]
        self._told.setdefault(layer, line.format(shown(layer), text))

    @staticmethod
    def _made(name, args, out, where):
        if name == "arange" and all(isinstance(x, int) for x in args) and (args[2:] or (1,))[0] == 1:
            row = out.detach()
        elif name == "cumsum":
            row = consecutive(args[0].float().cumsum(args[1])) if args[0].is_floating_point() and args[0].shape else None
        else:
            row = next((row for row in map(consecutive, args[:2] if name in CASTS else ()) if row is not None), None)
        if row is None or len(row) < 2**8:
            return ""
        distinct = torch.as_tensor(row).to(out.dtype).unique().numel()
        if distinct == len(row):
            return ""
        site = where()[1]
        return f"{len(row):,} consecutive numbers are {distinct:,} distinct ones in {NARROW[out.dtype]}{f' ({site})' if site else ''}"


def of_integers(x, out):
    """Returns what is told of indices that a cast makes of whole numbers of a narrow dtype, some so large that it has not all of these; ""
    of others."""
    if x.dtype not in NARROW or not x.numel():
        return ""
    bound, largest = COUNTED[x.dtype], float(x.max())
    if not bound < largest < math.inf or not bool((x.float() == x.float().floor()).all()):
        return ""
    return f"whole numbers up to {largest:g} were numbers of {NARROW[x.dtype]} before, which has no odd ones above {bound}"


def tensors(args):
    """Yields the tensors among the arguments of an op, or in lists of these."""
    for x in args:
        if isinstance(x, torch.Tensor):
            yield x
        elif isinstance(x, list | tuple):
            yield from tensors(x)
