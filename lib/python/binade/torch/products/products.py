# SPDX-License-Identifier: Apache-2.0
"""The products of matrices of which ops of torch are made (ops.py): sums, and what follows on them.

An object of class Products has these calls, for a (batch, *rows, *K) and b (batch, *K, *columns) of a dtype, where K has one axis,
or axes= of them:

    products(a, b)                            the sums, in binary32, to which the caller applies further arithmetic
    products.product(a, b, c, alpha, beta)    alpha·A·B + beta·C in the dtype, C broadcast to it; not read where beta is 0
    products.biased(a, b, bias)               A·B + bias in the dtype as a convolution has it; bias None: none

roles= says what a and b are, if an op has several products (narrow.py).

    ModelProducts     operands as they are, sums as a GemmModel makes them
    ExactProducts     exact numbers, rounded once
    ChosenProducts    each by other Products, as its operands' sizes say
    NarrowProducts    operands scaled and rounded to a narrow format first (narrow.py)
    ScaledProducts    sums of FP8 tensors, which scaled_mm.py scales
    NumberedProducts  in the place of each sum a number of its own (op_products.py)
"""
import functools

import torch

from ... import _binade

FORMATS = {torch.float16: "binary16", torch.bfloat16: "bfloat16", torch.float32: "binary32"}
KEPT = 64  # products, prepared for a model and a length of K


@functools.lru_cache(maxsize=KEPT)
def prepared(model, k):
    return _binade._ValueProduct(model, k)


def filling(x):
    """Returns a batch of matrices, copied if the elements of each do not fill the memory from its first to its last."""
    reach = sum((n - 1) * stride for n, stride in zip(x.shape[1:], x.stride()[1:])) + 1
    return x if reach <= min(x.shape[1:].numel(), 2**31) else x.contiguous()


def side(x, lines, along_k):
    """Returns an operand as _ValueProduct takes it: which axes are rows or columns, and which are K."""
    axes = list(zip(x.shape, x.stride()))
    return x.data_ptr(), FORMATS[x.dtype], x.stride(0), axes[lines], axes[along_k]


def shape_of(a, b, axes):
    """Returns the shape (batch, *rows, *columns) of a product. Raises RuntimeError if the operands do not fit."""
    if len(b) != len(a) or b.shape[1:1 + axes] != a.shape[a.dim() - axes:]:
        shapes = [" × ".join(map(str, x.shape[len(a) == 1 == len(b):])) for x in (a, b)]
        raise RuntimeError(f"shapes cannot be multiplied: {shapes[0]} and {shapes[1]}")
    return (*a.shape[:a.dim() - axes], *b.shape[1 + axes:])


def sums(model, a, b, axes=1):
    """Returns the products of a batch before the epilogue, float32 (batch, *rows, *columns), of a (batch, *rows, *K) and b
    (batch, *K, *columns); axes: how many axes K has."""
    out = torch.empty(shape_of(a, b, axes), dtype=torch.float32)
    k = a.shape[a.dim() - axes:].numel()
    if out.numel() == 0 or k == 0:
        return out.zero_()
    a, b = filling(a), filling(b)
    prepared(model, k).run(side(a, slice(1, -axes), slice(-axes, None)), side(b, slice(1 + axes, None), slice(1, 1 + axes)),
                           out.data_ptr(), len(a))
    return out


def as_matrices(a, b, axes):
    """Returns operands with several axes as (batch, m, k) and (batch, k, n)."""
    k = b.shape[1:1 + axes].numel()
    return a.reshape(len(a), a.shape[1:a.dim() - axes].numel(), k), b.reshape(len(b), k, b.shape[1 + axes:].numel())


class Products:
    """The base class: computes alpha·sum + beta·C in binary32 and rounds once. A convolution's bias is added to the rounded
    result, since torch adds it, not cuDNN."""

    direct = False  # whether a depthwise convolution is summed up as ATen's own kernel does

    def __init__(self):
        self.used = {}  # words that say what made them, in the order of their use

    def __str__(self):
        return " and ".join(self.used)

    def __call__(self, a, b, roles=None, axes=1):
        shape = shape_of(a, b, axes)
        return self.of_matrices(*as_matrices(a, b, axes), roles).reshape(shape)

    def product(self, a, b, c=None, alpha=1, beta=1, roles=None, axes=1):
        return finished(self(a, b, roles, axes), a.dtype, c, alpha, beta)

    def biased(self, a, b, bias, axes=1):
        out = self.product(a, b, axes=axes)
        return out if bias is None else finished(out.float(), a.dtype, bias)


class ModelProducts(Products):
    """Products of operands as they are, by a GemmModel. kind: as for Models.of."""

    def __init__(self, model, kind, direct=False):
        self.model, self._kind, self.direct = model, kind, direct
        self.used = {words_of(model): None}

    def __call__(self, a, b, roles=None, axes=1):
        return sums(self.model, a, b, axes)

    def product(self, a, b, c=None, alpha=1, beta=1, roles=None, axes=1):
        if self._kind == "vector":  # gemv takes them in the dtype, gemm in binary32 (ATen's CUDABlas.h)
            alpha, beta = (torch.tensor(float(x)).to(a.dtype).item() for x in (alpha, beta))
        return super().product(a, b, c, alpha, beta, roles, axes)


class ChosenProducts(Products):
    """Products each of which is made by the Products that of(a, b) returns, for a (batch, m, k) and b (batch, k, n)."""

    def __init__(self, of):
        super().__init__()
        self._of = of

    def _chosen(self, a, b, axes):
        chosen = self._of(*as_matrices(a, b, axes))
        self.used.update(chosen.used)
        return chosen

    def __call__(self, a, b, roles=None, axes=1):
        return self._chosen(a, b, axes)(a, b, roles, axes)

    def product(self, a, b, c=None, alpha=1, beta=1, roles=None, axes=1):
        return self._chosen(a, b, axes).product(a, b, c, alpha, beta, roles, axes)

    def biased(self, a, b, bias, axes=1):
        return self._chosen(a, b, axes).biased(a, b, bias, axes)


class ExactProducts(Products):
    """Products that are the exact sum of all terms, with alpha and beta in binary64 and with the bias, rounded once."""

    def __init__(self):
        self.used = {"exact sums, rounded once": None}

    def __call__(self, a, b, roles=None, axes=1):
        return exact(a, b, axes, torch.float32)

    def product(self, a, b, c=None, alpha=1, beta=1, roles=None, axes=1):
        return exact(a, b, axes, a.dtype, None if beta == 0 else c, alpha, beta)

    def biased(self, a, b, bias, axes=1):
        return exact(a, b, axes, a.dtype, bias)


def words_of(model):
    name = model.instruction if model.arch is None else f"{model.instruction} on {model.arch}"
    return name if model.order == "k ascending" else f"{name}, {model.order}"


def exact(a, b, axes, dtype, c=None, alpha=1, beta=1):
    """Returns the exact products, rounded once. c: broadcast to (batch, *rows, *columns)."""
    shape = shape_of(a, b, axes)
    left, right = as_matrices(a.float(), b.float(), axes)
    left, right = left.contiguous(), right.transpose(1, 2).contiguous()
    batch, m, k, n = *left.shape, right.shape[1]
    out = torch.empty(batch, m, n, dtype=torch.float32)
    at, steps = 0, [0, 0, 0]
    if c is not None:
        c = c.float().expand(shape).reshape(out.shape)
        at, steps = c.data_ptr(), list(c.stride())
    if out.numel():
        _binade._exact_products(left.data_ptr(), right.data_ptr(), at, out.data_ptr(), m, n, k, batch, m * k, n * k, steps,
                                float(alpha), float(beta), dtype != torch.float32)
    return out.reshape(shape).to(dtype)  # exact values were rounded to odd, so this is the only rounding that shows


def finished(x, dtype, c=None, alpha=1, beta=1):
    """Returns alpha·x + beta·c in binary32, rounded once to a dtype; c is broadcast, and is not read if beta is 0."""
    c = None if c is None or beta == 0 else c.to(torch.float32)
    if alpha == 1 and (c is None or beta == 1):
        x = x if c is None else x + c
    else:
        factor = torch.full_like(x, alpha)
        x = x * factor if c is None else _binade.arith("fma", factor, x, torch.full_like(x, beta) * c, format="binary32")
    return x.to(dtype)
