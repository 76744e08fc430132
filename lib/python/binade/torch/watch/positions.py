# SPDX-License-Identifier: Apache-2.0
"""Positions whose neighbours are one number in FP16 or BF16, and of which cosines or sines are taken, as of rotary embeddings.

    arange in a narrow dtype, or consecutive numbers cast to one ─▶ products and sums of them ─▶ cos, sin
"""
import torch

from ..observe.recorder import storage_of
from .exact import NARROW

CASTS = frozenset(("to_copy", "copy", "mul", "div"))  # the last two of integers and narrow numbers
PASSES = frozenset("mul div add sub mm bmm addmm cat stack to_copy copy clone".split())
ANGLES = frozenset(("cos", "sin"))


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
                self._told.setdefault(where()[0], came)
            text = text or (came if name in PASSES else "")
        if text:
            self._of[storage_of(out)] = text

    @staticmethod
    def _made(name, args, out, where):
        if name == "arange" and all(isinstance(x, int) for x in args) and (args[2:] or (1,))[0] == 1:
            row = out.detach()
        else:
            row = next((row for row in map(consecutive, args[:2] if name in CASTS else ()) if row is not None), None)
        if row is None or len(row) < 2**8:
            return ""
        distinct = row.to(out.dtype).unique().numel()
        if distinct == len(row):
            return ""
        site = where()[1]
        return f"{len(row):,} consecutive numbers are {distinct:,} distinct ones in {NARROW[out.dtype]}{f' ({site})' if site else ''}"


def tensors(args):
    """Yields the tensors among the arguments of an op, or in lists of these."""
    for x in args:
        if isinstance(x, torch.Tensor):
            yield x
        elif isinstance(x, list | tuple):
            yield from tensors(x)


def text_of(told):
    """Returns lines about positions. told: {layer: text}."""
    return [f"Positions are lost in {layer}: {text}, and their cosines or sines are taken, so that neighbours get the same angles. Compute "
            "positions and angles in FP32, outside of autocast, and cast the cosines and sines." for layer, text in told.items()]
