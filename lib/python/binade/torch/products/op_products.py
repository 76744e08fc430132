# SPDX-License-Identifier: Apache-2.0
"""Finds the matrix products behind the result of an op: A, B and C, and where in the result each element of D lies."""
import dataclasses
import math

import torch
from torch.utils._pytree import tree_map

from ... import _binade
from .ops import OPS
from .products import FORMATS, Products

# Why some ops are no single product.
NO_PRODUCT = {
    "addbmm": "it is several products, one after the other",
    **dict.fromkeys(("_grouped_mm", "_scaled_grouped_mm", "_scaled_grouped_mm_v2"), "it is several products, one for each group"),
    **dict.fromkeys((name for name in OPS if name.startswith("_scaled_dot_product")),
                    "attention is more than a product: its products are not seen apart"),
    **dict.fromkeys((name for name in OPS if name.startswith("_scaled_mm")), "products with scales are not explained"),
}
# The argument that an op adds to its product, shaped so that it broadcasts to the result.
ADDENDS = {
    **dict.fromkeys(("addmm", "baddbmm", "addmv"), lambda args: args[0]),
    "convolution": lambda args: None if args[2] is None else args[2].reshape(-1, *(1,) * (args[0].dim() - 2)),
}
# The weight of a convolution whose K runs over its kernel, from the op's arguments and the number of the result.
WEIGHTS = {
    "convolution": lambda args, number: args[1],
    "convolution_backward": lambda args, number: args[2] if number == 0 else None,
}
K_ORDERS = "kernel, channels", "channels, kernel"  # orders of K of a convolution with a kernel


def is_product(name):
    """Whether the results of an op, named as torch dispatches it, can be lowered."""
    op = name.removesuffix("_")
    return op in OPS and op not in NO_PRODUCT


@dataclasses.dataclass(frozen=True)
class Lowered:
    """A batch of products.

    a: (batch, m, k). b: (batch, k, n). c: (batch, m, n) or None. places: (batch, m, n), where each element of D lies in the flattened
    result of the op. biased: whether c is added to the rounded product. taps: for a convolution, number of places of the kernel,
    over which K runs before it runs over channels; else 0. d: (batch, m, n), after of() has taken it from a result.
    """

    a: torch.Tensor
    b: torch.Tensor
    c: "torch.Tensor | None"
    places: torch.Tensor
    alpha: float
    beta: float
    biased: bool
    taps: int
    d: "torch.Tensor | None" = None

    def of(self, result):
        """Returns this with the D of a result of the op."""
        return dataclasses.replace(self, d=result.reshape(-1)[self.places])

    @property
    def k_orders(self):
        """Returns the orders in which K may run, as texts, the present one first; "" if there is only one."""
        return K_ORDERS if self.taps > 1 else ("",)

    def k_order(self, words):
        """Returns the Lowered whose K runs in this order."""
        if words != K_ORDERS[1]:
            return self

        def turned(x):  # returns x with K as the last axis
            return x.unflatten(-1, (self.taps, -1)).transpose(-1, -2).flatten(-2)

        return dataclasses.replace(self, a=turned(self.a), b=turned(self.b.transpose(1, 2)).transpose(1, 2))

    def part(self, batch, rows, columns):
        """Returns (a, b, d, c or None) of some rows and columns of a product, contiguous."""
        def both(x):
            return None if x is None else x[batch][rows][:, columns].contiguous()
        return self.a[batch][rows].contiguous(), self.b[batch][:, columns].contiguous(), both(self.d), both(self.c)

    def whole(self, batch):
        return self.part(batch, slice(None), slice(None))

    def dots(self, elements):
        """Returns (a, b, d, c or None) with a row for each element (product, row, column)."""
        i, rows, columns = elements.unbind(1)
        a, b = self.a[i, rows], self.b.transpose(1, 2)[i, columns]
        return a.contiguous(), b.contiguous(), self.d[i, rows, columns], None if self.c is None else self.c[i, rows, columns]

    def as_given_by(self, model):
        """Returns D as a GemmModel computes it."""
        products = (self.whole(i) for i in range(len(self.a)))
        return torch.stack([_binade.gemm(a, b, c, model=model) for a, b, _, c in products])


class NumberedProducts(Products):
    """Products that return in the place of each sum a number of its own, ascending, in binary64, which holds them exactly.

    operands: the operands of each product. begins: the first number of each product, and at last the end.
    """

    def __init__(self):
        super().__init__()
        self.operands, self.begins = [], [0]

    def of_matrices(self, a, b, roles=None):
        size = a.shape[0], a.shape[1], b.shape[2]
        self.operands.append((a, b))
        self.begins.append(self.begins[-1] + math.prod(size))
        return torch.arange(self.begins[-2], self.begins[-1], dtype=torch.float64).reshape(size)

    def product(self, a, b, c=None, alpha=1, beta=1, roles=None, axes=1):
        return self(a, b, axes=axes)

    def biased(self, a, b, bias, axes=1):
        return self(a, b, axes=axes)


def lowered(name, args, kwargs, number=None):
    """Returns the Lowered of an op, named as torch dispatches it. number: which of several results; None: the first that it returns.

    Raises ValueError, which says why, if there is none."""
    op = name.removesuffix("_")
    if op in NO_PRODUCT or op not in OPS:
        raise ValueError(NO_PRODUCT.get(op, "it is not taken apart into products"))
    if args[0].dtype not in FORMATS:
        raise ValueError(f"products of {str(args[0].dtype).removeprefix('torch.')} are not explained")
    args, kwargs = tree_map(lambda x: x.detach().cpu() if isinstance(x, torch.Tensor) else x,
                            (args, {key: x for key, x in kwargs.items() if key != "out"}))
    numbers = NumberedProducts()
    given = OPS[op][1](numbers, *args, **kwargs)
    given = given if isinstance(given, tuple) else (given,)
    number = next(i for i, x in enumerate(given) if x is not None) if number is None else number
    own, begins = given[number].flatten().long(), numbers.begins
    which = next((i for i, end in enumerate(begins[1:]) if begins[i] <= int(own.min()) and int(own.max()) < end), None)
    if which is None or not torch.equal(own.sort().values, torch.arange(begins[which], begins[which + 1])):
        raise ValueError("it is no rearranged product")
    a, b = numbers.operands[which]
    places = own.argsort().reshape(a.shape[0], a.shape[1], b.shape[2])
    beta = kwargs.get("beta", 1)
    c = ADDENDS[op](args) if op in ADDENDS and beta != 0 else None
    weight = WEIGHTS[op](args, number) if op in WEIGHTS else None
    return Lowered(a, b, None if c is None else c.expand(given[number].shape).reshape(-1)[places], places,
                   float(kwargs.get("alpha", 1)), float(beta), op == "convolution" and c is not None,
                   0 if weight is None else weight.shape[2:].numel())
