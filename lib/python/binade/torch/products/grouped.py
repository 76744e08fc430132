# SPDX-License-Identifier: Apache-2.0
"""Computes torch._grouped_mm, the products of a mixture of experts: groups of rows, of columns or of K, each by a matrix of its own.

    a (M, K)       b (G, K, N)    rows of a up to offs[g], by b[g]             (M, N)
    a (G, M, K)    b (K, N)       a[g] by the columns of b up to offs[g]       (M, N)
    a (M, K)       b (K, N)       a product of each group of K                 (G, M, N)
    a (G, M, K)    b (G, K, N)    a batch                                      (G, M, N)

offs: (G,) int32, where each group ends. What lies behind the last group, of which torch says nothing, is zero. A group has its own
sum, one chain of the architecture's instruction, as a product of its size has. What torch refuses is as in PyTorch 2.15
(aten/src/ATen/native/GroupedMMUtils.h), but where data begin is not looked at. Of groups of K it does not compare both K: either
may be longer than the groups reach.
"""
from typing import NamedTuple

import torch


ALIGNED = 16  # bytes


class Group(NamedTuple):
    """A group, its place among all, and what is its own of the rows of a, of the columns of b and of K."""

    number: int
    rows: slice = slice(None)
    columns: slice = slice(None)
    k: slice = slice(None)

    def operands(self, a, b):
        """Returns its matrices, (m, k) and (k, n)."""
        left, right = (x[self.number] if x.dim() == 3 else x for x in (a, b))
        return left[self.rows, self.k], right[self.k, self.columns]

    def result(self, out):
        """Returns its part of the result of all groups, (m, n)."""
        return out[self.number] if out.dim() == 3 else out[self.rows, self.columns]


def runs(name, offs, length):
    """Returns the slice of each group. Raises RuntimeError if offs are no ends of groups within `length`."""
    ends = [int(end) for end in offs]
    begins = [0, *ends[:-1]]
    if any(not 0 <= begin <= end <= length for begin, end in zip(begins, ends)):
        raise RuntimeError(f"{name}: offs {ends} do not ascend within {length}")
    return [slice(begin, end) for begin, end in zip(begins, ends)]


def is_transposed(name, which, x):
    """Whether matrices lie column by column. Raises RuntimeError if they lie so that torch cannot read them."""
    (rows, columns), (down, along) = x.shape[-2:], x.stride()[-2:]
    turned = down == 1 and along >= max(1, rows)
    if not turned and not (along == 1 and down >= max(1, columns)):
        raise RuntimeError(f"{name}: {which} has strides {x.stride()}; rows or columns without gaps between numbers are wanted")
    steps = (along if turned else down), x.stride(0) if x.dim() == 3 else 0
    if any(step * x.element_size() % ALIGNED for step in steps):
        raise RuntimeError(f"{name}: {which} has strides {x.stride()}; multiples of {ALIGNED} bytes are wanted")
    return turned


def groups(name, a, b, offs, refused=RuntimeError, packed=1):
    """Returns the shape of the result, and the groups. refused: the error that is raised where shapes do not fit each other. packed:
    how many numbers of K, which offs count, are one of the tensors."""
    of_k = a.dim() == b.dim() == 2
    if a.dim() not in (2, 3) or b.dim() not in (2, 3) or not of_k and a.shape[-1] != b.shape[-2]:
        raise refused(f"{name}: shapes cannot be multiplied: {tuple(a.shape)} and {tuple(b.shape)}")
    if (offs is None) != (a.dim() == b.dim() == 3):
        raise refused(f"{name}: offs go with every shape but two batches")
    many = [len(x) for x in (a, b) if x.dim() == 3] + ([] if offs is None else [len(offs)])
    if len(set(many)) > 1:
        raise RuntimeError(f"{name}: " + (f"batches of {many[0]} and {many[1]} matrices" if offs is None else
                                          f"{many[-1]} offs of {many[0]} groups"))
    m, n = a.shape[-2], b.shape[-1]
    if offs is None:
        return (many[0], m, n), [Group(i) for i in range(many[0])]
    if of_k:
        parts = runs(name, offs, min(a.shape[1], b.shape[0]) * packed)
        return (many[0], m, n), [Group(i, k=slice(x.start // packed, x.stop // packed)) for i, x in enumerate(parts)]
    what, length = ("rows", m) if a.dim() == 2 else ("columns", n)
    return (m, n), [Group(i, **{what: run}) for i, run in enumerate(runs(name, offs, length))]


def grouped_mm(products, a, b, offs=None, bias=None, out_dtype=None):
    if bias is not None:
        raise RuntimeError("_grouped_mm: torch takes no bias here")
    if out_dtype not in (None, a.dtype):
        raise RuntimeError(f"_grouped_mm: a result of {out_dtype}; torch gives that of its operands, {a.dtype}")
    if offs is not None and (offs.dim() != 1 or offs.dtype != torch.int32 or offs.stride(0) != 1):
        raise RuntimeError(f"_grouped_mm: offs of {tuple(offs.shape)} of {offs.dtype}; int32 of one axis, without gaps, are wanted")
    shape, of = groups("_grouped_mm", a, b, offs)
    is_transposed("_grouped_mm", "the first operand", a)
    is_transposed("_grouped_mm", "the second operand", b)
    if offs is None:
        return products.product(a, b)
    out = torch.zeros(shape, dtype=a.dtype)
    for group in of:
        left, right = group.operands(a, b)
        group.result(out)[:] = products.product(left[None], right[None])[0]
    return out
