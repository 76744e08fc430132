# SPDX-License-Identifier: Apache-2.0
"""Products of torch's tensors as a GPU's Tensor Cores make them, or exact ones: which instruction, the sums, and what is made of
them.

Products p are asked, for a (batch, m, k) and b (batch, k, n) of a dtype:

    p(a, b)                            the sums, in binary32: what more arithmetic follows on
    p.product(a, b, c, alpha, beta)    alpha·A·B + beta·C in the dtype, C broadcast to it; not read where beta is 0
    p.biased(a, b, bias)               A·B + bias in the dtype as a convolution has it; bias None: none

roles= says what a and b are, where an op has several products (_narrow.py).
"""
import functools
import re

import torch

from .. import _binade

FORMATS = {torch.float16: "binary16", torch.bfloat16: "bfloat16", torch.float32: "binary32"}
CHAINS = {torch.float16: "fma.rn.f32.f16.f16.f32", torch.bfloat16: "fma.rn.f32.bf16.bf16.f32",
          torch.float32: "fma.rn.f32.f32.f32.f32"}
REFERENCE = "reference"  # an order: exact
KEPT = 64  # products, prepared for a model and a length of K


def flag(owner, name, otherwise):
    """A switch of torch.backends; older versions, that lack it, raise AssertionError."""
    try:
        return getattr(owner, name)
    except (AttributeError, AssertionError):
        return otherwise


def allows_tf32(kind):
    """What torch would be told on a GPU: since torch 2.9 by fp32_precision, which knows allow_tf32, too. Of a matrix and a vector
    never (NoTF32Guard in ATen's CUDABlas.cpp)."""
    if kind == "vector":
        return False
    backend = torch.backends.cuda.matmul if kind == "matmul" else torch.backends.cudnn
    new = flag(backend if kind == "matmul" else flag(backend, "conv", None), "fp32_precision", None)
    return backend.allow_tf32 if new is None else new == "tf32"


def accumulates_in_half(kind):
    """torch.backends.cuda.matmul.allow_fp16_accumulation, since torch 2.7; of convolutions there is no such flag."""
    return kind in ("matmul", "vector") and flag(torch.backends.cuda.matmul, "allow_fp16_accumulation", False)


@functools.lru_cache(maxsize=None)
def chain_model(dtype):
    """The GemmModel of a chain of fused multiply-adds in binary32."""
    return _binade.GemmModel(CHAINS[dtype])


@functools.lru_cache(maxsize=None)
def usual_model(sm, dtype, tf32, half):
    """The GemmModel, D in binary32, of an architecture's products of a dtype: its usual instruction, or a chain where it has none
    or TF32 is not allowed."""
    operands = "tf32" if tf32 else FORMATS[dtype]
    accumulator = "f16" if half and dtype == torch.float16 else "f32"
    instruction = _binade._usual_instruction(sm, operands, accumulator)
    if not instruction:
        return chain_model(dtype)
    return _binade.GemmModel(instruction, f"sm_{sm}", epilogue_format="binary32", out_format="binary32", round=tf32)


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
    """Sums as a GemmModel makes them; alpha·sum + beta·C in binary32, rounded once. cuDNN adds no bias: torch does, to the rounded
    product."""

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


class OfModel(Products):
    """Of operands as they are. kind: as Models.of has it."""

    def __init__(self, model, kind, direct=False):
        self.model, self._kind, self.direct = model, kind, direct
        self.used = {words_of(model): None}

    def __call__(self, a, b, roles=None):
        return sums(self.model, a, b)

    def product(self, a, b, c=None, alpha=1, beta=1, roles=None):
        if self._kind == "vector":  # gemv takes them in the dtype, gemm in binary32 (ATen's CUDABlas.h)
            alpha, beta = (torch.tensor(float(x)).to(a.dtype).item() for x in (alpha, beta))
        return super().product(a, b, c, alpha, beta)


class OfSizes(Products):
    """Of operands as they are, each product by what `of` gives for them."""

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


class Exact(Products):
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


def product_key(kind, dtype, a, b):
    """What a library chooses an order by, of a (batch, m, k) and b (batch, k, n): sizes, and whether rows lie one after the other."""
    layouts = ("rows" if x.shape[-1] == 1 or x.stride(-1) == 1 else "columns" for x in (a, b))
    return kind, FORMATS[dtype], *a.shape[:2], b.shape[2], a.shape[2], *layouts


class Models:
    """What makes a product. arch: as "sm_90". order: a GemmModel, for products whose operands it takes; "reference", exact ones;
    a function (kind, dtype) → one of these, or None, the usual model; or what has order_of(product_key) → GemmModel or None."""

    def __init__(self, arch, order=None):
        found = re.fullmatch(r"sm_(\d{2,3})[af]?", arch) if isinstance(arch, str) else None
        if not found:
            raise ValueError(f'arch {arch!r}: an architecture is wanted, as "sm_90"')
        self.sm = int(found[1])
        _binade._usual_instruction(self.sm, "", "")
        self._order_of = getattr(order, "order_of", None)
        order = None if self._order_of else order
        if isinstance(order, str) and order != REFERENCE:
            raise ValueError(f'order {order!r}: "{REFERENCE}" is wanted, a GemmModel, or a function that gives one')
        if not (order is None or callable(order) or isinstance(order, (str, _binade.GemmModel))):
            raise TypeError(f"order: a GemmModel is wanted, or a function that gives one, not {type(order).__name__}")
        self._order = order

    def given(self, kind, dtype):
        """What order says, whatever operands it takes: a GemmModel, "reference", or None, nothing."""
        given = self._order(kind, dtype) if callable(self._order) else self._order
        if not (given is None or isinstance(given, _binade.GemmModel) or isinstance(given, str) and given == REFERENCE):
            raise RuntimeError(f"order gave {type(given).__name__} for {kind} of {dtype}: a GemmModel is wanted, or None")
        return given

    def products(self, kind, dtype):
        """What an op's function takes."""
        # Of a depthwise convolution there is nothing to be found: it has no products of matrices.
        found = self._order_of is not None and kind != "depthwise"
        return OfSizes(functools.partial(self.of_product, kind, dtype)) if found else self.of(kind, dtype)

    def of_product(self, kind, dtype, a, b):
        """OfModel or Exact, of a (batch, m, k) and b (batch, k, n)."""
        found = None if self._order_of is None else self._order_of(product_key(kind, dtype, a, b))
        return self.of(kind, dtype) if found is None else OfModel(found, kind)

    def of(self, kind, dtype):
        """OfModel or Exact. kind: "matmul"; "vector", of a matrix and a vector; "dot", which no Tensor Core computes; "convolution";
        or "depthwise", a convolution that ATen computes itself."""
        given = self.given(kind, dtype)
        if isinstance(given, str):
            return Exact()
        if given is not None and (callable(self._order) or _binade._takes(given, FORMATS[dtype])):
            return OfModel(given, kind)
        if kind in ("dot", "depthwise"):
            return OfModel(chain_model(dtype), kind, direct=kind == "depthwise")
        return OfModel(usual_model(self.sm, dtype, dtype == torch.float32 and allows_tf32(kind), accumulates_in_half(kind)), kind)
