# SPDX-License-Identifier: Apache-2.0
"""Matrix products behind what an op gave: A, B and C, and where in the op's output each element of D lies."""
import dataclasses
import math

import torch
from torch.utils._pytree import tree_map

from .. import _binade
from ._multiply import Products

# What an op adds to its product, of its arguments, shaped so that it broadcasts to the output.
ADDENDS = {
    **dict.fromkeys(("addmm", "baddbmm", "addmv"), lambda args: args[0]),
    "convolution": lambda args: None if args[2] is None else args[2].reshape(-1, *(1,) * (args[0].dim() - 2)),
}


@dataclasses.dataclass(frozen=True)
class Lowered:
    """A batch of products: a (batch, m, k), b (batch, k, n), d (batch, m, n) as given, and c likewise or None. biased: c is added to
    what was rounded."""

    a: torch.Tensor
    b: torch.Tensor
    d: torch.Tensor
    c: "torch.Tensor | None"
    alpha: float
    beta: float
    biased: bool = False

    def part(self, batch, rows, columns):
        """(a, b, d, c or None) of a product's rows and columns, contiguous."""
        def both(x):
            return None if x is None else x[batch][rows][:, columns].contiguous()
        return self.a[batch][rows].contiguous(), self.b[batch][:, columns].contiguous(), both(self.d), both(self.c)

    def as_given_by(self, model):
        """D as a GemmModel gives it."""
        products = (self.whole(i) for i in range(len(self.a)))
        return torch.stack([_binade.gemm(a, b, c, model=model) for a, b, _, c in products])

    def whole(self, batch):
        return self.part(batch, slice(None), slice(None))

    def dots(self, elements):
        """(a, b, d, c or None) with a row for each (product, row, column)."""
        i, rows, columns = elements.unbind(1)
        a, b = self.a[i, rows], self.b.transpose(1, 2)[i, columns]
        return a.contiguous(), b.contiguous(), self.d[i, rows, columns], None if self.c is None else self.c[i, rows, columns]


class Numbers(Products):
    """In the place of sums a number for each, ascending."""

    def __init__(self):
        super().__init__()
        self.begins = [0]

    def __call__(self, a, b, roles=None):
        size = a.shape[0], a.shape[1], b.shape[2]
        self.begins.append(self.begins[-1] + math.prod(size))
        return torch.arange(self.begins[-2], self.begins[-1], dtype=torch.float64).reshape(size)

    def product(self, a, b, c=None, alpha=1, beta=1, roles=None):
        return self(a, b)

    def biased(self, a, b, bias):
        return self(a, b)


def numbered(function, args, kwargs):
    """What an op gives where each of its sums is a number of its own, in binary64, which rounds none of them; and where each
    product's numbers begin, the end last."""
    numbers = Numbers()
    args, kwargs = tree_map(lambda x: torch.zeros(x.shape, dtype=torch.float64) if isinstance(x, torch.Tensor) else x,
                            (args, {key: x for key, x in kwargs.items() if key not in ("alpha", "beta")}))
    out = function(numbers, *args, **kwargs)
    return out if isinstance(out, tuple) else (out,), numbers.begins


def lowered(op, function, products, args, kwargs, number, given):
    """The Lowered of output `number` of an op, which gave `given` there; products: the (a, b) that its function multiplied.
    ValueError, why, where the output is no rearranged batch of products."""
    if op.startswith("_scaled_dot_product"):
        raise ValueError("attention is more than a product: its products are not seen apart")
    if not products:
        raise ValueError("it is not computed by products of matrices")
    out, begins = numbered(function, args, kwargs)
    sums = out[number].flatten().long()
    which = [i for i, (begin, end) in enumerate(zip(begins, begins[1:])) if begin <= int(sums.min()) and int(sums.max()) < end]
    if len(which) != 1 or not torch.equal(sums.sort().values, torch.arange(begins[which[0]], begins[which[0] + 1])):
        raise ValueError("it is a sum of several products")
    a, b = products[which[0]]
    order = sums.argsort()
    size = a.shape[0], a.shape[1], b.shape[2]
    beta = kwargs.get("beta", 1)
    c = ADDENDS[op](args) if op in ADDENDS and beta != 0 else None
    if c is not None:
        c = c.expand(out[number].shape).reshape(-1)[order].reshape(size)
    return Lowered(a, b, given.reshape(-1)[order].reshape(size), c, float(kwargs.get("alpha", 1)), float(beta),
                   op == "convolution" and c is not None)
