# SPDX-License-Identifier: Apache-2.0
"""Products of matrices, as ops of torch are made of them (_product_ops.py): sums, and what is made of them.

An object of Products is asked, for a (batch, m, k) and b (batch, k, n) of a dtype:

    products(a, b)                            the sums, in binary32: what more arithmetic follows on
    products.product(a, b, c, alpha, beta)    alpha·A·B + beta·C in the dtype, C broadcast to it; not read where beta is 0
    products.biased(a, b, bias)               A·B + bias in the dtype as a convolution has it; bias None: none

roles= says what a and b are, where an op has several products (_narrow.py).

    ModelProducts     operands as they are, sums as a GemmModel makes them
    ExactProducts     exact numbers, rounded once
    ChosenProducts    each by other Products, as its operands' sizes say
    NarrowProducts    operands scaled and rounded to a narrow format first (_narrow.py)
    ScaledProducts    sums of FP8 tensors, which _scaled_mm.py scales
    NumberedProducts  in the place of each sum a number of its own (_lowered.py)
"""
import functools

import torch

from .. import _binade

KEPT = 64  # products, prepared for a model and a length of K


@functools.lru_cache(maxsize=KEPT)
def prepared(model, k):
    return _binade._ValueProduct(model, k)


def matrices(x):
    """Float32 matrices one after the other, and the elements from one to the next: 0 where all are the same one."""
    repeated = x.shape[0] > 1 and x.stride(0) == 0
    x = (x[:1] if repeated else x).to(torch.float32).contiguous()
    return x, 0 if repeated else x.shape[1] * x.shape[2]


def sizes(a, b):
    """batch, m, k, n of a (batch, m, k) and b (batch, k, n)."""
    batch, m, k = a.shape
    if len(b) != batch or b.shape[1] != k:
        shapes = [" × ".join(map(str, x.shape[batch == 1 == len(b):])) for x in (a, b)]
        raise RuntimeError(f"shapes cannot be multiplied: {shapes[0]} and {shapes[1]}")
    return batch, m, k, b.shape[2]


def sums(model, a, b):
    """Each of the batch's a @ b before the epilogue: a (batch, m, k), b (batch, k, n) → float32 (batch, m, n)."""
    batch, m, k, n = sizes(a, b)
    out = torch.empty(batch, m, n, dtype=torch.float32)
    if out.numel() == 0 or k == 0:
        return out.zero_()
    left, step_a = matrices(a)
    right, step_b = matrices(b.transpose(1, 2))
    prepared(model, k).run(left.data_ptr(), right.data_ptr(), out.data_ptr(), m, n, batch, step_a, step_b)
    return out


class Products:
    """What all are made of: of the sums alpha·sum + beta·C in binary32, rounded once. cuDNN adds no bias: torch does, to what was
    rounded."""

    direct = False  # whether a depthwise convolution is summed up as ATen's own kernel does

    def __init__(self):
        self.used = {}  # words that say what made them, in the order of their use

    def __str__(self):
        return " and ".join(self.used)

    def product(self, a, b, c=None, alpha=1, beta=1, roles=None):
        return finished(self(a, b, roles), a.dtype, c, alpha, beta)

    def biased(self, a, b, bias):
        out = self.product(a, b)
        return out if bias is None else finished(out.float(), a.dtype, bias)


class ModelProducts(Products):
    """Of operands as they are, by a GemmModel. kind: as Models.of has it."""

    def __init__(self, model, kind, direct=False):
        self.model, self._kind, self.direct = model, kind, direct
        self.used = {words_of(model): None}

    def __call__(self, a, b, roles=None):
        return sums(self.model, a, b)

    def product(self, a, b, c=None, alpha=1, beta=1, roles=None):
        if self._kind == "vector":  # gemv takes them in the dtype, gemm in binary32 (ATen's CUDABlas.h)
            alpha, beta = (torch.tensor(float(x)).to(a.dtype).item() for x in (alpha, beta))
        return super().product(a, b, c, alpha, beta)


class ChosenProducts(Products):
    """Each by the Products that `of` gives for its operands a and b."""

    def __init__(self, of):
        super().__init__()
        self._of = of

    def _chosen(self, a, b):
        chosen = self._of(a, b)
        self.used.update(chosen.used)
        return chosen

    def __call__(self, a, b, roles=None):
        return self._chosen(a, b)(a, b)

    def product(self, a, b, c=None, alpha=1, beta=1, roles=None):
        return self._chosen(a, b).product(a, b, c, alpha, beta)

    def biased(self, a, b, bias):
        return self._chosen(a, b).biased(a, b, bias)


class ExactProducts(Products):
    """The exact number, every term of it, alpha and beta as they are (binary64) and the bias among them, rounded once."""

    def __init__(self):
        self.used = {"exact sums, rounded once": None}

    def __call__(self, a, b, roles=None):
        return exact(a, b, torch.float32)

    def product(self, a, b, c=None, alpha=1, beta=1, roles=None):
        return exact(a, b, a.dtype, None if beta == 0 else c, alpha, beta)

    def biased(self, a, b, bias):
        return exact(a, b, a.dtype, bias)


def words_of(model):
    name = model.instruction if model.arch is None else f"{model.instruction} on {model.arch}"
    return name if model.order == "k ascending" else f"{name}, {model.order}"


def exact(a, b, dtype, c=None, alpha=1, beta=1):
    batch, m, k, n = sizes(a, b)
    out = torch.empty(batch, m, n, dtype=torch.float32)
    left, step_a = matrices(a)
    right, step_b = matrices(b.transpose(1, 2))
    at, steps = 0, [0, 0, 0]
    if c is not None:
        c = c.to(torch.float32).expand(out.shape)
        at, steps = c.data_ptr(), list(c.stride())
    if out.numel():
        _binade._exact_products(left.data_ptr(), right.data_ptr(), at, out.data_ptr(), m, n, k, batch, step_a, step_b, steps,
                                float(alpha), float(beta), dtype != torch.float32)
    return out.to(dtype)  # from a number rounded to odd: that is the one rounding


def finished(x, dtype, c=None, alpha=1, beta=1):
    """alpha·x + beta·c in binary32, rounded once to a dtype; c, which is broadcast, is not read where beta is 0."""
    c = None if c is None or beta == 0 else c.to(torch.float32)
    if alpha == 1 and (c is None or beta == 1):
        x = x if c is None else x + c
    else:
        factor = torch.full_like(x, alpha)
        x = x * factor if c is None else _binade.arith("fma", factor, x, torch.full_like(x, beta) * c, format="binary32")
    return x.to(dtype)
