# SPDX-License-Identifier: Apache-2.0
"""Computes torch._scaled_mm and torch.nn.functional.scaled_mm: products of FP8 tensors that have scales of their own.

Tensors in MX formats and NVFP4 are block_scaled.py's. Else the sum is one chain of the architecture's FP8 instruction, K ascending. On sm_90 it is added to a register of binary32 after every
128 of K unless use_fast_accum is set (CUTLASS's GmmaFP8Accumulation). Then, each operation rounded to binary32:

    a scale a tensor     sum · (scale_a · scale_b)
    by row and column    (sum · scale_a[m]) · scale_b[n]
    of 128 of K          each 128 of K a sum of its own; from +0 the sum so far becomes fma(its sum · scale_a, scale_b, sum so far),
                         or fma(its sum · scale_b, scale_a, sum so far) where a's scales are of 128 × 128

The last is what cuBLAS gives by TransformerEngine's test, which compares with tolerance 0 (d0067d0,
tests/pytorch/references/blockwise_fp8_gemm_reference.py); with scales that are powers of two the orders are the same but at the
ends of the range. Then plus the bias, times scale_result where the result is FP8, which then saturates; rounded once to out_dtype. Without any terms it is
zero, and the bias is not added. These orders are the plain ones: what cuBLASLt does inside is not public; torch's
RowwiseScaledMM.cu, which serves scales by row on sm_89 and from sm_100 on, multiplies by the column's scale first for many sizes,
and on sm_89 it splits the sum as its tiles have it. Layouts of matrices and scales are not looked at.
"""
import torch

from ... import _binade
from . import block_scaled
from .block_scaled import FP8, block_format
from .narrow import products_of_formats
from .products import Products, words_of

BIASES = {torch.float16: {torch.float16}, torch.bfloat16: {torch.bfloat16}, torch.float32: set(),
          **dict.fromkeys(FP8, {torch.float16, torch.bfloat16})}  # by the result's dtype
FIRST_SM = 89
SM_OF_BLOCKS = 90
BLOCK = 128
PROMOTED = {90: 4}  # instructions, by architecture
# Values of torch.nn.functional.ScalingType: scales of all, of a row, of 1 × 128, of 128 × 128.
TENSOR, ROW, STRIP, SQUARE = 0, 1, 4, 5
SWIZZLED = 1  # torch.nn.functional.SwizzleType.SWIZZLE_32_4_4
# In the order in which torch tries them.
TOGETHER = [TENSOR, TENSOR], [ROW, ROW], [SQUARE, STRIP], [STRIP, SQUARE], [STRIP, STRIP]


def blocks_of(name, args):
    """Returns the row of block_scaled.BLOCK_FORMATS that multiplies a call's operands, or None."""
    scales = args[2:4]
    if name.endswith("_v2"):
        (scale_a, *more_a), (scale_b, *more_b) = args[2], args[5]
        scales = scale_a, scale_b
        row = block_format(*args[:2], *scales)
        wanted = None if row is None else [row.recipe, TENSOR][:1 + len(more_a)]
        fits = row is not None and list(args[3]) == list(args[6]) == wanted and len(more_a) == len(more_b) <= (row.kind == "mxf4nvf4")
        return row if fits and args[4][:1] == args[7][:1] == [SWIZZLED] and not any(map(any, (args[4][1:], args[7][1:]))) else None
    return block_format(*args[:2], *scales)


def why_not(name, args):
    """Returns why a call is not emulated; None if it is."""
    kinds = {x.dtype for x in args[:2]}
    if blocks_of(name, args) is not None:
        return None
    if not kinds <= FP8.keys():
        return "of " + " and ".join(sorted(str(dtype).removeprefix("torch.") for dtype in kinds))
    scales = args[2:4]
    if name == "_scaled_mm_v2":
        scales = [*args[2], *args[5]]
        recipes, swizzles = (args[3], args[6]), (args[4], args[7])
        if any(len(x) != 1 or x[0] not in (TENSOR, ROW, STRIP, SQUARE) for x in recipes) or any(map(any, swizzles)):
            return "with scales in a layout that is not emulated"
    if any(scale.dtype != torch.float32 for scale in scales):
        return "with scales that are not float32"
    return None


def check(sm, a, b, bias, scale_result, out_dtype, kinds, fast):
    """Raises RuntimeError if torch refuses these sizes, dtypes and scales on this GPU."""
    if sm < FIRST_SM:
        raise RuntimeError(f"_scaled_mm: sm_{sm} has no FP8; sm_{FIRST_SM} and later have it")
    if a.dim() != 2 or b.dim() != 2 or a.shape[1] != b.shape[0]:
        raise RuntimeError(f"_scaled_mm: shapes cannot be multiplied: {tuple(a.shape)} and {tuple(b.shape)}")
    if 0 not in (*a.shape, b.shape[1]) and (a.shape[1] % 16 or b.shape[1] % 16):
        raise RuntimeError(f"_scaled_mm: K and N, here {a.shape[1]} and {b.shape[1]}, are to be multiples of 16")
    if FP8[a.dtype] == FP8[b.dtype] == "e5m2":
        raise RuntimeError("_scaled_mm: of two operands of float8_e5m2 there is no product; make one float8_e4m3fn")
    if out_dtype not in BIASES:
        raise RuntimeError(f"_scaled_mm: a result of {out_dtype}; float8, float16, bfloat16 or float32 is wanted")
    if bias is not None and (bias.dtype not in BIASES[out_dtype] or bias.numel() != b.shape[1]):
        raise RuntimeError(f"_scaled_mm: a bias of {bias.numel()} numbers of {bias.dtype} does not fit {b.shape[1]} columns of "
                           f"{out_dtype}")
    if scale_result is not None and (scale_result.numel() != 1 or scale_result.dtype != torch.float32):
        raise RuntimeError("_scaled_mm: scale_result is to be one number of float32")
    if kinds == [ROW, ROW] and out_dtype in FP8:
        raise RuntimeError(f"_scaled_mm: with scales of rows no result is of {out_dtype}; float16, bfloat16 or float32 is wanted")
    if kinds == [ROW, ROW] and sm != SM_OF_BLOCKS and FP8[b.dtype] == "e5m2":
        raise RuntimeError(f"_scaled_mm: with scales of rows on sm_{sm} the second operand is to be float8_e4m3fn")
    if kinds is not None and STRIP in kinds and sm != SM_OF_BLOCKS:
        raise RuntimeError(f"_scaled_mm: sm_{sm} has no scales of blocks in float32; sm_{SM_OF_BLOCKS} has")
    if kinds is not None and STRIP in kinds and fast:
        raise RuntimeError("_scaled_mm: with scales of blocks there is no use_fast_accum")


def fits(scale, kind, rows, k):
    """Whether a scale (rows, K) has the shape of a kind of scaling."""
    strips, squares = -(-k // BLOCK), -(-rows // BLOCK)
    shape = {ROW: (rows, 1), STRIP: (rows, strips), SQUARE: (squares, strips)}.get(kind)
    return scale.numel() == 1 if shape is None else tuple(scale.shape) == shape


def scaled(products, a, b, scale_a, scale_b, kinds):
    """Returns the sums multiplied by their scales, (m, n) in binary32. The scales are (rows, K), those of b for its columns."""
    m, k, n = *a.shape, b.shape[1]
    if kinds == [TENSOR, TENSOR]:
        return products(a, b) * (scale_a.reshape(()) * scale_b.reshape(()))
    if kinds == [ROW, ROW]:
        return products(a, b) * scale_a.reshape(m, 1) * scale_b.reshape(1, n)
    left, right = (scale.repeat_interleave(BLOCK, 0)[:rows] if kind == SQUARE else scale
                   for scale, kind, rows in ((scale_a, kinds[0], m), (scale_b, kinds[1], n)))
    out = torch.zeros(m, n)
    for i in range(-(-k // BLOCK)):
        part = slice(i * BLOCK, (i + 1) * BLOCK)
        first, last = left[:, i, None].expand(m, n), right[None, :, i].expand(m, n)
        if kinds[0] == SQUARE:
            first, last = last, first
        out = _binade.arith("fma", products(a[:, part], b[part]) * first, last.contiguous(), out, format="binary32")
    return out


def finished(x, bias, scale_result, out_dtype):
    if bias is not None:
        x = x + bias.float()
    if out_dtype not in FP8:
        return x.to(out_dtype)
    if scale_result is not None:
        x = x * scale_result.reshape(())
    return _binade.quantize(x, FP8[out_dtype], saturation="finite").to(out_dtype)


def of_blocks(products, row, a, b, scales, tensor_scales, bias, out_dtype):
    """The product of tensors in MX formats or NVFP4."""
    if out_dtype not in BIASES or out_dtype in FP8:
        raise RuntimeError(f"_scaled_mm: a result of {out_dtype}; float16, bfloat16 or float32 is wanted")
    if bias is not None and (bias.dtype not in BIASES[out_dtype] or bias.numel() != b.shape[1]):
        raise RuntimeError(f"_scaled_mm: a bias of {bias.numel()} numbers of {bias.dtype} does not fit {b.shape[1]} columns of "
                           f"{out_dtype}")
    block_scaled.check(products.sm, row, a, b, *scales)
    out, model = block_scaled.sums(products.sm, row, a, b, *scales)
    products.used[words_of(model)] = None
    if tensor_scales:
        out = out * (tensor_scales[0].reshape(()) * tensor_scales[1].reshape(()))
    return finished(out, bias, None, out_dtype)


def scaled_mm(products, a, b, scale_a, scale_b, bias=None, scale_result=None, out_dtype=None, use_fast_accum=False):
    row = block_format(a, b, scale_a, scale_b)
    if row is not None:
        return of_blocks(products, row, a, b, (scale_a, scale_b), (), bias, out_dtype or torch.bfloat16)
    turned = scale_b.T if scale_b.dim() == 2 else scale_b
    kinds = next((x for x in TOGETHER if a.dim() == b.dim() == 2
                  and fits(scale_a, x[0], *a.shape) and fits(turned, x[1], *b.shape[::-1])), None)
    check(products.sm, a, b, bias, scale_result, out_dtype or a.dtype, kinds, use_fast_accum)
    if kinds is None:
        raise RuntimeError(f"_scaled_mm: scales of {tuple(scale_a.shape)} and {tuple(scale_b.shape)} do not fit operands of "
                           f"{tuple(a.shape)} and {tuple(b.shape)}")
    return product(products.promoted(not use_fast_accum), a, b, scale_a, turned, kinds, bias, scale_result, out_dtype or a.dtype)


def scaled_mm_v2(products, a, b, scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b, bias, out_dtype, contraction_dim=(),
                 use_fast_accum=False):
    row = block_format(a, b, scale_a[0], scale_b[0])
    if row is not None:
        return of_blocks(products, row, a, b, (scale_a[0], scale_b[0]), tuple(x[1] for x in (scale_a, scale_b) if x[1:]), bias,
                         out_dtype or torch.bfloat16)
    kinds = [recipe_a[0], recipe_b[0]]
    check(products.sm, a, b, bias, None, out_dtype or a.dtype, kinds, use_fast_accum)
    if kinds not in TOGETHER:
        raise ValueError(f"scaled_mm: recipes {kinds[0]} and {kinds[1]} do not go together")
    if STRIP in kinds and "e5m2" in (FP8[a.dtype], FP8[b.dtype]):
        raise ValueError("scaled_mm: scales of blocks are those of float8_e4m3fn alone")
    scales = []
    for name, scale, kind, rows in (("scale_a", scale_a[0], kinds[0], a.shape[0]), ("scale_b", scale_b[0], kinds[1], b.shape[1])):
        strips, squares = -(-a.shape[1] // BLOCK), -(-rows // BLOCK)
        sizes = {TENSOR: 1, ROW: rows, STRIP: rows * strips, SQUARE: (strips + -strips % 4) * squares}
        wrong = kind != TENSOR and scale.dim() != 2 or kind == STRIP and scale.shape != (rows, strips)
        if scale.numel() != sizes[kind] or wrong:
            raise ValueError(f"scaled_mm: {name} of {tuple(scale.shape)} has not the {sizes[kind]} numbers of recipe {kind}")
        scales.append(scale.T[:, :strips] if kind == SQUARE else scale)  # K is the first axis, padded to a multiple of four
    return product(products.promoted(not use_fast_accum), a, b, *scales, kinds, bias, None, out_dtype or a.dtype)


def product(products, a, b, scale_a, scale_b, kinds, bias, scale_result, out_dtype):
    if 0 in (*a.shape, b.shape[1]):
        return torch.zeros(a.shape[0], b.shape[1], dtype=out_dtype)
    return finished(scaled(products, a, b, scale_a, scale_b, kinds), bias, scale_result, out_dtype)


class ScaledProducts(Products):
    """Products of FP8 matrices, of which only the sums are used, in binary32. promoted(True) returns those without
    fast accumulation."""

    def __init__(self, sm, order):
        super().__init__()
        self.sm, self._order, self._every = sm, order, None

    def promoted(self, yes):
        self._every = PROMOTED.get(self.sm) if yes else None
        return self

    def __call__(self, a, b):
        inner = products_of_formats(self._order, self.sm, FP8[a.dtype], FP8[b.dtype], self._every)
        self.used[str(inner)] = None
        return inner(a.float()[None], b.float()[None])[0]
