# SPDX-License-Identifier: Apache-2.0
"""Products of torch's tensors as a GPU's Tensor Cores make them: which instruction, the sums, and what is made of them."""
import functools
import re

import torch

from .. import _binade

FORMATS = {torch.float16: "binary16", torch.bfloat16: "bfloat16", torch.float32: "binary32"}
CHAINS = {torch.float16: "fma.rn.f32.f16.f16.f32", torch.bfloat16: "fma.rn.f32.bf16.bf16.f32",
          torch.float32: "fma.rn.f32.f32.f32.f32"}
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


def filling(x):
    """A batch of matrices, copied where the elements of each do not fill the memory from its first to its last."""
    reach = sum((n - 1) * stride for n, stride in zip(x.shape[1:], x.stride()[1:])) + 1
    return x if reach <= min(x.shape[1:].numel(), 2**31) else x.contiguous()


def matrices(x, lines, along_k):
    """What _ValueProduct takes: some of the axes are of rows or columns, some of K."""
    axes = list(zip(x.shape, x.stride()))
    return x.data_ptr(), FORMATS[x.dtype], x.stride(0), axes[lines], axes[along_k]


def sums(model, a, b, axes=1):
    """The batch's products before the epilogue: a (batch, *rows, *K), b (batch, *K, *columns), of K so many axes → float32
    (batch, *rows, *columns)."""
    rows, columns = a.shape[1:-axes], b.shape[1 + axes:]
    if len(b) != len(a) or b.shape[1:1 + axes] != a.shape[-axes:]:
        shapes = [" × ".join(map(str, x.shape[len(a) == 1 == len(b):])) for x in (a, b)]
        raise RuntimeError(f"shapes cannot be multiplied: {shapes[0]} and {shapes[1]}")
    out = torch.empty(len(a), *rows, *columns, dtype=torch.float32)
    k = a.shape[-axes:].numel()
    if out.numel() == 0 or k == 0:
        return out.zero_()
    a, b = filling(a), filling(b)
    prepared(model, k).run(matrices(a, slice(1, -axes), slice(-axes, None)),
                           matrices(b, slice(1 + axes, None), slice(1, 1 + axes)), out.data_ptr(), len(a))
    return out


def finished(x, dtype, c=None, alpha=1, beta=1):
    """alpha·x + beta·c in binary32, rounded once to a dtype; c, which is broadcast, is not read where beta is 0."""
    c = None if c is None or beta == 0 else c.to(torch.float32)
    if alpha == 1 and (c is None or beta == 1):
        x = x if c is None else x + c
    else:
        factor = torch.full_like(x, alpha)
        x = x * factor if c is None else _binade.arith("fma", factor, x, torch.full_like(x, beta) * c, format="binary32")
    return x.to(dtype)


class Models:
    """Which model a product has. arch: as "sm_90". order: a GemmModel, for products whose operands it takes; or a function
    (kind, dtype) → GemmModel, or None, the usual one."""

    def __init__(self, arch, order=None):
        found = re.fullmatch(r"sm_(\d{2,3})[af]?", arch) if isinstance(arch, str) else None
        if not found:
            raise ValueError(f'arch {arch!r}: an architecture is wanted, as "sm_90"')
        self.sm = int(found[1])
        _binade._usual_instruction(self.sm, "", "")
        if not (order is None or callable(order) or isinstance(order, _binade.GemmModel)):
            raise TypeError(f"order: a GemmModel is wanted, or a function that gives one, not {type(order).__name__}")
        self._order = order

    def of(self, kind, dtype):
        """kind: "matmul"; "vector", of a matrix and a vector; "dot", which no Tensor Core computes; or "convolution"."""
        given = self._order
        if callable(given):
            given = given(kind, dtype)
        elif given is not None and not _binade._takes(given, FORMATS[dtype]):
            given = None
        if not (given is None or isinstance(given, _binade.GemmModel)):
            raise RuntimeError(f"order gave {type(given).__name__} for {kind} of {dtype}: a GemmModel is wanted, or None")
        if given is not None:
            return given
        if kind == "dot":
            return chain_model(dtype)
        return usual_model(self.sm, dtype, dtype == torch.float32 and allows_tf32(kind), accumulates_in_half(kind))
