# SPDX-License-Identifier: Apache-2.0
"""Chooses the GemmModel that makes a product: an architecture's usual one, or the one of the order that the user gave."""
import functools
import re

import torch

from ... import _binade
from .products import FORMATS, ChosenProducts, ExactProducts, ModelProducts

CHAINS = {torch.float16: "fma.rn.f32.f16.f16.f32", torch.bfloat16: "fma.rn.f32.bf16.bf16.f32",
          torch.float32: "fma.rn.f32.f32.f32.f32"}
REFERENCE = "reference"  # an order: exact


def flag(owner, name, otherwise):
    """Returns a switch of torch.backends; torch raises AssertionError in versions that do not have it."""
    try:
        return getattr(owner, name)
    except (AttributeError, AssertionError):
        return otherwise


def allows_tf32(kind):
    """Whether torch would use TF32 on a GPU, by fp32_precision since torch 2.9, which follows allow_tf32. Products of a
    matrix and a vector never use it (NoTF32Guard in ATen's CUDABlas.cpp)."""
    if kind == "vector":
        return False
    backend = torch.backends.cuda.matmul if kind == "matmul" else torch.backends.cudnn
    new = flag(backend if kind == "matmul" else flag(backend, "conv", None), "fp32_precision", None)
    return backend.allow_tf32 if new is None else new == "tf32"


def accumulates_in_half(kind):
    """Returns torch.backends.cuda.matmul.allow_fp16_accumulation, which exists since torch 2.7; convolutions have no such flag."""
    return kind in ("matmul", "vector") and flag(torch.backends.cuda.matmul, "allow_fp16_accumulation", False)


@functools.lru_cache(maxsize=None)
def chain_model(dtype):
    """Returns the GemmModel of a chain of fused multiply-adds in binary32."""
    return _binade.GemmModel(CHAINS[dtype])


@functools.lru_cache(maxsize=None)
def usual_model(sm, dtype, tf32, half):
    """Returns the GemmModel, with D in binary32, of an architecture's products of a dtype: its usual instruction, or a chain if it
    has none or TF32 is not allowed."""
    operands = "tf32" if tf32 else FORMATS[dtype]
    accumulator = "f16" if half and dtype == torch.float16 else "f32"
    instruction = _binade._usual_instruction(sm, operands, accumulator)
    if not instruction:
        return chain_model(dtype)
    return _binade.GemmModel(instruction, f"sm_{sm}", epilogue_format="binary32", out_format="binary32", round=tf32)


def product_key(kind, dtype, a, b):
    """Returns what a library chooses an order by, for a (batch, m, k) and b (batch, k, n): the sizes, and whether the rows of each
    are contiguous."""
    layouts = ("rows" if x.shape[-1] == 1 or x.stride(-1) == 1 else "columns" for x in (a, b))
    return kind, FORMATS[dtype], *a.shape[:2], b.shape[2], a.shape[2], *layouts


@functools.lru_cache(maxsize=None)
def check_sums(model):
    """Raises ValueError if a GemmModel has more than sums in binary32, since alpha, beta and what follows belong to the op."""
    _binade._takes(model, "binary32")
    given = {word for word in str(model).split() if word.startswith("--")}
    ours = {"--alpha", "--beta", "--fused", "--saturate", "--c-first"} & given
    if ours:
        raise ValueError(f"order: {', '.join(sorted(ours))} of a product is the op's to say; give a GemmModel without")


class Models:
    """Chooses the Products of each op.

    arch: such as "sm_90". order: a GemmModel, for products whose operands it takes; "reference" for exact ones; a function
    (kind, dtype) that returns one of these, or None for the usual model; or an object with order_of(product_key), which returns a
    GemmModel or None."""

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
        if isinstance(order, _binade.GemmModel):
            check_sums(order)

    def given(self, kind, dtype):
        """Returns what the order says, whether or not it takes the operands: a GemmModel, "reference", or None."""
        try:
            given = self._order(kind, dtype) if callable(self._order) else self._order
        except TypeError as error:  # torch would only say that a @ b has no such operator
            raise RuntimeError(f"order({kind!r}, {dtype}): {error}") from error
        if callable(self._order) and isinstance(given, _binade.GemmModel):
            check_sums(given)
        if not (given is None or isinstance(given, _binade.GemmModel) or isinstance(given, str) and given == REFERENCE):
            raise RuntimeError(f"order gave {type(given).__name__} for {kind} of {dtype}: a GemmModel is wanted, or None")
        return given

    def products(self, kind, dtype):
        """Returns the Products of an op."""
        # A depthwise convolution has no products of matrices, so no order is looked for.
        found = self._order_of is not None and kind != "depthwise"
        return ChosenProducts(functools.partial(self.of_product, kind, dtype)) if found else self.of(kind, dtype)

    def of_product(self, kind, dtype, a, b):
        """Returns the Products of a (batch, m, k) and b (batch, k, n)."""
        found = None if self._order_of is None else self._order_of(product_key(kind, dtype, a, b))
        return self.of(kind, dtype) if found is None else ModelProducts(found, kind)

    def of(self, kind, dtype):
        """Returns Products for any sizes. kind: "matmul"; "vector", a matrix and a vector; "dot", which no Tensor Core computes;
        "convolution"; or "depthwise", a convolution that ATen computes itself."""
        given = self.given(kind, dtype)
        if isinstance(given, str):
            return ExactProducts()
        if given is not None and (callable(self._order) or _binade._takes(given, FORMATS[dtype])):
            return ModelProducts(given, kind)
        if kind in ("dot", "depthwise"):
            return ModelProducts(chain_model(dtype), kind, direct=kind == "depthwise")
        tf32 = dtype == torch.float32 and allows_tf32(kind)
        return ModelProducts(usual_model(self.sm, dtype, tf32, accumulates_in_half(kind)), kind)
