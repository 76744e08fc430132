# SPDX-License-Identifier: Apache-2.0
"""Computes products of ordinary tensors in narrow formats: operands are scaled and rounded, gradients to a format of their own.

An operand is multiplied by a power of two, the largest of 2^-126 to 2^126 that keeps its largest magnitude within the format's
largest number, NaN passed over, 1 where that magnitude is 0 or infinite and without scales; then rounded to nearest; in formats
of 8 bits and fewer what is larger, infinite too, is the largest finite number, as is NaN where the format has none. The sum is
multiplied by the inverse of both operands' powers, exactly but for one rounding to binary32, and goes to the epilogue.

A scale belongs to ("amax") the whole tensor; or ("row") a row of A, a column of B, along all of K; or ("1x128") one of these and
128 of K; or ("128x128") in the weight to 128 of these and 128 of K, in all else to one and 128. With scales of parts of K each
part is a sum of its own, multiplied by its scale and added to the sum so far in binary32 with one rounding, from +0, K ascending.
"""
import contextlib
import dataclasses
import functools
import math
import re

import torch

from ... import _binade
from .models import CHAINS, chain_model
from .products import ExactProducts, ModelProducts, Products
from .quantize import amax_log2

BLOCK = re.compile(r"(1|\d+)x(\d+)$")
# What can hold numbers of formats that the architecture has no instruction of, narrowest first: operands that may differ, and
# operands that are alike; then chains of binary32.
BYTES = ("e4m3", "e5m2")
HOLDERS = ("binary16", "bfloat16", "tf32")


@dataclasses.dataclass(frozen=True)
class Recipe:
    """The settings of a product in narrow formats."""

    operands: str = None
    backward: str = None
    scale: object = None
    promote_every: object = None

    def __post_init__(self):
        if self.operands is None:
            unused = [f.name for f in dataclasses.fields(self) if getattr(self, f.name) is not None]
            if unused:
                raise ValueError(f"{unused[0]}= is of products in a narrow format: operands= is wanted, too")
            return
        for name in ("operands", "backward"):
            given = getattr(self, name)
            if given is not None and not _binade._takes(chain_model(torch.float32), _binade.Format(given).name):
                raise ValueError(f"{name} {given!r}: a format whose numbers binary32 has is wanted")
            if given is not None and self.scale is not None and 2 * _binade.Format(given).emax > _binade.Format("binary32").emax:
                raise ValueError(f"scale: products of numbers near the largest of {given!r} overflow in binary32; leave "
                                 "scale= out")
        self.blocks("x", 1)
        if self.promote_every is not None and self.scale not in (None, "amax", "row"):
            raise ValueError(f"promote_every: with scale={self.scale!r} every part of K is promoted as it is")
        _binade.GemmModel(CHAINS[torch.float32], promote_every=self.promote_every)  # says what is wrong with it

    def format(self, role):
        """Returns the name of an operand's format."""
        return _binade.Format((self.backward if role == "d" else None) or self.operands).name

    def blocks(self, role, k):
        """Returns how many rows and positions of K share a scale; None: the whole tensor."""
        if self.scale in (None, "amax"):
            return None
        if self.scale == "row":
            return 1, k
        found = BLOCK.match(self.scale) if isinstance(self.scale, str) else None
        if not found or int(found[2]) == 0 or found[1] not in ("1", found[2]):
            raise ValueError(f'scale {self.scale!r}: None, "amax", "row", or blocks such as "1x128" and "128x128" are wanted')
        return int(found[1]) if role == "w" else 1, int(found[2])


@functools.lru_cache(maxsize=None)
def narrow_model(sm, a, b, promote_every):
    """Returns the GemmModel, with D in binary32, of products of two formats: that of the architecture's instruction for
    them, or of the narrowest instruction that holds their numbers."""
    options = dict(promote_every=promote_every, epilogue_format="binary32", out_format="binary32")
    of_bytes = _binade._usual_instruction(sm, "e4m3", "f32")
    alike = [(x, x, _binade._usual_instruction(sm, x, "f32")) for x in HOLDERS]
    for left, right, name in [(x, y, of_bytes) for x in (a, *BYTES) for y in (b, *BYTES)] + alike:
        with contextlib.suppress(ValueError):
            if name and is_held(a, left) and is_held(b, right):
                return _binade.GemmModel(name.replace("{a}", left).replace("{b}", right), f"sm_{sm}", **options)
    return _binade.GemmModel(CHAINS[torch.float32], **options)


def products_of_formats(order, sm, a, b, promote_every):
    """Returns Products of two formats, without scaling: by the order if it names a model that takes them, else by narrow_model."""
    if isinstance(order, str):
        return ExactProducts()
    fits = order is not None and _binade._takes(order, a) and _binade._takes(order, b)
    return ModelProducts(order if fits else narrow_model(sm, a, b, promote_every), "matmul")


def is_held(narrow, wide):
    """Whether every number of a format is one of another format."""
    x, y = _binade.Format(narrow), _binade.Format(wide)
    return x == y or x.precision <= y.precision and x.max <= y.max and x.min_positive >= y.min_positive


def block_log2(x, format, rows, columns):
    """Returns the exponents of the scales of x (batch, m, k) in blocks of rows × columns, repeated for each number:
    (batch, m, k)."""
    m, k = x.shape[1:]
    amax = torch.nn.functional.pad(x.abs().nan_to_num(0.0, math.inf), (0, -k % columns, 0, -m % rows))
    amax = amax.unflatten(2, (-1, columns)).unflatten(1, (-1, rows)).amax((2, 4))
    exponents = {a: _binade._amax_scale_log2(a, format) for a in set(amax.flatten().tolist())}
    out = torch.tensor([exponents[a] for a in amax.flatten().tolist()], dtype=torch.float64).reshape(amax.shape)
    return out.repeat_interleave(rows, 1)[:, :m].repeat_interleave(columns, 2)[:, :, :k]


def times(x, exponents):
    """Returns x·2^exponents in binary32, rounded once."""
    return (x.double() * 2.0**exponents).float()


def rounded(x, format):
    return _binade.quantize(x, format, saturation="finite" if _binade.Format(format).bits <= 8 else "none")


def plus_scaled(so_far, part, exponents):
    """Returns so_far + part·2^exponents in binary32, rounded once; the rounding to binary64 in between never changes
    the result."""
    return (so_far.double() + part.double() * 2.0**exponents).float()


class NarrowProducts(Products):
    """Products by a recipe.

    roles: a letter for each operand, "d" a gradient, "x" an activation, "w" a weight. order: a GemmModel for products whose operands
    it takes, "reference", or None. tensors: the whole operands by role, if a and b are only what a product reads of them."""

    def __init__(self, sm, order, recipe, roles, tensors):
        super().__init__()
        self._sm, self._order, self._recipe, self._roles, self._tensors = sm, order, recipe, roles, tensors

    def of_matrices(self, a, b, roles=None):
        roles = roles or self._roles
        formats = [self._recipe.format(role) for role in roles]
        inner = products_of_formats(self._order, self._sm, *formats, self._recipe.promote_every)
        self.used[str(inner)] = None
        operands = [self._operand(*x) for x in zip((a, b.transpose(1, 2)), formats, roles)]
        (left, ea), (right, eb) = operands
        right = right.transpose(1, 2)
        k, blocks = a.shape[2], self._recipe.blocks("x", a.shape[2])
        if blocks is None or 0 in (a.numel(), b.numel()):
            out = inner(left, right)
            return times(out, -(ea + eb)) if blocks is None and ea + eb else out
        out = torch.zeros(())
        for begin in range(0, k, blocks[1]):
            part = slice(begin, begin + blocks[1])
            exponents = -(ea[:, :, begin, None] + eb[:, None, :, begin])
            sum_of_part = inner(left[:, :, part], right[:, part])
            out = times(sum_of_part, exponents) if k <= blocks[1] else plus_scaled(out, sum_of_part, exponents)
        return out

    def _operand(self, x, format, role):
        """Returns (batch, rows, k) as numbers of the format, and the exponents of their scales, one or as many as numbers."""
        x = x.float()
        blocks = self._recipe.blocks(role, x.shape[2])
        if self._recipe.scale is None or x.numel() == 0:
            return rounded(x, format), 0
        exponents = amax_log2(self._tensors.get(role, x), format) if blocks is None else block_log2(x, format, *blocks)
        return rounded(times(x, exponents), format), exponents
