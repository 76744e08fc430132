# SPDX-License-Identifier: Apache-2.0
"""Computes torch._scaled_mm and torch.nn.functional.scaled_mm: products of FP8 tensors that have scales of their own.

Tensors in MX formats and NVFP4 are block_scaled.py's. Else the sum is one chain of the architecture's FP8 instruction, K ascending.
On sm_90 it is added to a register of binary32 after every 128 of K unless use_fast_accum is set (CUTLASS's GmmaFP8Accumulation). Then,
each operation rounded to binary32:

    a scale a tensor     sum · (scale_a · scale_b)
    by row and column    (sum · scale_a[m]) · scale_b[n]
    of 128 of K          each 128 of K a sum of its own; from +0 the sum so far becomes fma(its sum · scale_a, scale_b, sum so far),
                         or fma(its sum · scale_b, scale_a, sum so far) where a's scales are of 128 × 128

The last is what cuBLAS gives by TransformerEngine's test, which compares with tolerance 0 (d0067d0,
tests/pytorch/references/blockwise_fp8_gemm_reference.py); with scales that are powers of two the orders are the same but at the
ends of the range. Then plus the bias, times scale_result where the result is FP8, which then saturates; rounded once to out_dtype,
which is that of the first operand where none is given. Without any terms it is zero, and the bias is not added. These orders are the
plain ones: what cuBLASLt does inside is not public; torch's RowwiseScaledMM.cu, which serves scales by row on sm_89 and from sm_100 on,
multiplies by the column's scale first for many sizes, and on sm_89 it splits the sum as its tiles have it. Layouts of matrices and of
scales in binary32 are not looked at.

What torch refuses, and by which errors, is as in PyTorch 0174dfa (aten/src/ATen/native/cuda/ScaledBlas.cpp, ScaledBlasUtils.cpp): by
RuntimeError in _scaled_mm, by ValueError in scaled_mm. Where nothing is to be multiplied, torch returns before it asks what the GPU
multiplies. Of MX formats and NVFP4 besides:

    MXFP4 in scaled_mm    has a kernel of its own, MSLK's f4f4bf16, on sm_100 and sm_103 alone, which writes bfloat16. torch checks the
                          bias and does not add it, nor is it added here. On sm_103 MSLK since dc88fc4 (2026-07) has kernels among
                          others whose instruction has a K of 96; so this is not emulated there
    MXFP4 in _scaled_mm   goes to cuBLASLt with scales of 32, which it documents for FP8 alone: not emulated
    float8_e5m2           is not taken by scaled_mm's MXFP8, and is by _scaled_mm's for one operand
    other K               torch wants a multiple of 16, of 32 for FP4 in _scaled_mm. MXFP4's kernel wants one of 32; what cuBLASLt does of
                          MXFP8 and NVFP4 with another multiple of 16 is not known: not emulated
"""
import torch

from ... import _binade
from . import block_scaled
from .block_scaled import FP4, FP8, block_format
from .narrow import products_of_formats
from .products import Products, words_of

BIASES = {torch.float16: {torch.float16}, torch.bfloat16: {torch.bfloat16}, torch.float32: set(),
          **dict.fromkeys(FP8, {torch.float16, torch.bfloat16})}  # by the result's dtype
FIRST_SM = 89
SM_OF_BLOCKS = 90
MXFP4, NVFP4 = "mxf4", "mxf4nvf4"  # BlockFormat.kind
SMS_OF_MXFP4, ULTRA = (100, 103), 103
BLOCK = 128
PROMOTED = {90: 4}  # instructions, by architecture
# Values of torch.nn.functional.ScalingType: scales of all, of a row, of 1 × 128, of 128 × 128.
TENSOR, ROW, STRIP, SQUARE = 0, 1, 4, 5
SWIZZLED = 1  # torch.nn.functional.SwizzleType.SWIZZLE_32_4_4
# In the order in which torch tries them.
TOGETHER = [TENSOR, TENSOR], [ROW, ROW], [SQUARE, STRIP], [STRIP, SQUARE], [STRIP, STRIP]


def row_of(name, args):
    """Returns the row of block_scaled.BLOCK_FORMATS that a call's operands and scales are of, or None."""
    scales = (args[2][0], args[5][0]) if name.endswith("_v2") else args[2:4]
    return block_format(*args[:2], *scales)


def is_empty(a, b):
    return 0 in (*a.shape, b.shape[-1])


def why_not(name, args, sm):
    """Returns why a call is not emulated; None if it is, or if torch refuses it."""
    kinds, row = {x.dtype for x in args[:2]}, row_of(name, args)
    if row is not None:
        return None if is_empty(*args[:2]) else why_not_of_blocks(name, row, args, sm)
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


def why_not_of_blocks(name, row, args, sm):
    k, is_newer = args[0].shape[-1] * row.packed, name.endswith("_v2")
    if row.kind == MXFP4 and not is_newer:
        return "of MXFP4, which torch hands to cuBLASLt here, to its own kernel in torch.nn.functional.scaled_mm"
    if row.kind == MXFP4 and sm == ULTRA:
        return f"of MXFP4 on sm_{sm}, where the kernel may take instructions of 96 of K, whose sums are not known"
    if row.kind == MXFP4 and sm in SMS_OF_MXFP4 and args[9] in (torch.float16, torch.float32):
        return f"of MXFP4 into {args[9]}, where the kernel writes bits of bfloat16".replace("torch.", "")
    if row.kind != MXFP4 and k % 32 and (k if is_newer else args[0].shape[-1]) % 16 == 0:
        return f"of a K of {k}, no multiple of 32, which torch leaves to cuBLASLt"
    return None


def check_shapes(a, b, bias, scale_result, refused):
    """Raises an error, of the type `refused`, if torch refuses these, whether there is anything to multiply or not."""
    if a.dim() != 2 or b.dim() != 2 or a.shape[1] != b.shape[0]:
        raise refused(f"_scaled_mm: shapes cannot be multiplied: {tuple(a.shape)} and {tuple(b.shape)}")
    if bias is not None and bias.numel() != b.shape[1]:
        raise refused(f"_scaled_mm: a bias of {bias.numel()} numbers does not fit {b.shape[1]} columns")
    if scale_result is not None and (scale_result.numel() != 1 or scale_result.dtype != torch.float32):
        raise refused("_scaled_mm: scale_result is to be one number of float32")


def check_operands(a, b, bias, out_dtype, fast, refused, packed=1, step=16):
    """Raises an error if torch refuses these. packed: how many numbers of K are one of the tensors. step: what K is a multiple of."""
    k, n = a.shape[1] * packed, b.shape[1]
    if k % step or n % 16:
        raise refused(f"_scaled_mm: K, here {k}, is to be a multiple of {step}, and N, here {n}, of 16")
    if FP8.get(a.dtype) == FP8.get(b.dtype) == "e5m2":
        raise ValueError("_scaled_mm: of two operands of float8_e5m2 there is no product; make one float8_e4m3fn")
    if fast and FP4 in (a.dtype, b.dtype):
        raise refused("_scaled_mm: of float4_e2m1fn_x2 there is no use_fast_accum")
    if bias is not None and bias.dtype not in BIASES.get(out_dtype, {torch.float16, torch.bfloat16}):
        raise refused(f"_scaled_mm: a bias of {bias.dtype} does not fit a result of {out_dtype}")


def check_gpu_of_blocks(sm, kinds, lacking):
    if STRIP in kinds and sm != SM_OF_BLOCKS:
        raise lacking(f"_scaled_mm: sm_{sm} has no scales of blocks in float32; sm_{SM_OF_BLOCKS} has")


def check_kinds(sm, b, scale_b, out_dtype, kinds, fast):
    """Raises an error if torch, or cuBLASLt, refuses these kinds of scales in binary32 on this GPU. scale_b: as it was given."""
    if kinds == [ROW, ROW] and (out_dtype not in BIASES or out_dtype in FP8):
        raise (RuntimeError if sm == SM_OF_BLOCKS else ValueError)(
            f"_scaled_mm: with scales of rows no result is of {out_dtype}; float16, bfloat16 or float32 is wanted")
    if out_dtype not in BIASES:
        raise RuntimeError(f"_scaled_mm: a result of {out_dtype}; float8, float16, bfloat16 or float32 is wanted")
    if kinds == [ROW, ROW] and sm != SM_OF_BLOCKS and FP8[b.dtype] == "e5m2":
        raise RuntimeError(f"_scaled_mm: with scales of rows on sm_{sm} the second operand is to be float8_e4m3fn")
    if kinds == [ROW, ROW] and sm != SM_OF_BLOCKS and tuple(scale_b.shape) != (1, b.shape[1]):
        raise RuntimeError(f"_scaled_mm: with scales of rows on sm_{sm} scale_b is to be {(1, b.shape[1])}, not "
                           f"{tuple(scale_b.shape)}")
    if STRIP in kinds and fast:
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


def of_blocks(products, row, a, b, scales, tensor_scales, bias, out_dtype, lacking):
    """The product of tensors in MX formats or NVFP4, whose sizes and scales are checked."""
    sm, k = products.sm, a.shape[1] * row.packed
    if row.kind == MXFP4 and sm not in SMS_OF_MXFP4:
        raise lacking(f"_scaled_mm: torch has MXFP4 on {' and '.join(map('sm_{}'.format, SMS_OF_MXFP4))} alone, not on sm_{sm}")
    if sm not in block_scaled.FAMILIES:
        raise RuntimeError(f"_scaled_mm: sm_{sm} has no scales of blocks in {row.scale}; "
                           f"{', '.join(map('sm_{}'.format, block_scaled.FAMILIES))} have")
    if k % 32:
        raise RuntimeError(f"_scaled_mm: K, here {k}, is to be a multiple of 32 for torch's kernel of MXFP4")
    if out_dtype not in BIASES or out_dtype in FP8:
        raise RuntimeError(f"_scaled_mm: a result of {out_dtype}, which is a's dtype where none is given; float16, bfloat16 or "
                           "float32 is wanted")
    out, model = block_scaled.sums(sm, row, a, b, *scales)
    products.used[words_of(model)] = None
    if tensor_scales:
        out = out * (tensor_scales[0].reshape(()) * tensor_scales[1].reshape(()))
    return finished(out, None if row.kind == MXFP4 else bias, None, out_dtype)


def scaled_mm(products, a, b, scale_a, scale_b, bias=None, scale_result=None, out_dtype=None, use_fast_accum=False):
    row, out_dtype = block_format(a, b, scale_a, scale_b), out_dtype or a.dtype
    if products.sm < FIRST_SM:
        raise RuntimeError(f"_scaled_mm: sm_{products.sm} has no FP8; sm_{FIRST_SM} and later have it")
    check_shapes(a, b, bias, scale_result, RuntimeError)
    turned = scale_b.T if scale_b.dim() == 2 else scale_b
    kinds = next((x for x in TOGETHER if fits(scale_a, x[0], *a.shape) and fits(turned, x[1], *b.shape[::-1])), None)
    if row is not None:
        block_scaled.check(row, a, b, scale_a, scale_b, RuntimeError)
    elif kinds is None:
        raise RuntimeError(f"_scaled_mm: scales of {tuple(scale_a.shape)} and {tuple(scale_b.shape)} do not fit operands of "
                           f"{tuple(a.shape)} and {tuple(b.shape)}")
    packed = 1 if row is None else row.packed
    check_operands(a, b, bias, out_dtype, use_fast_accum, RuntimeError, packed, 16 * packed)
    if is_empty(a, b):
        return nothing(a, b, out_dtype)
    if row is not None:
        return of_blocks(products, row, a, b, (scale_a, scale_b), (), bias, out_dtype, RuntimeError)
    check_gpu_of_blocks(products.sm, kinds, RuntimeError)
    check_kinds(products.sm, b, scale_b, out_dtype, kinds, use_fast_accum)
    return product(products.promoted(not use_fast_accum), a, b, scale_a, turned, kinds, bias, scale_result, out_dtype)


def scaled_mm_v2(products, a, b, scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b, bias, out_dtype, contraction_dim=(),
                 use_fast_accum=False):
    row, out_dtype = block_format(a, b, scale_a[0], scale_b[0]), out_dtype or a.dtype
    check_shapes(a, b, bias, None, ValueError)
    if list(contraction_dim) not in ([], [1, 0], [-1, -2], [1, -2], [-1, 0]):
        raise ValueError(f"scaled_mm: contraction_dim {list(contraction_dim)}; (1, 0) is wanted")
    if row is not None:
        check_levels(row, "scale_a", scale_a, recipe_a, swizzle_a)
        check_levels(row, "scale_b", scale_b, recipe_b, swizzle_b)
        if len(scale_a) != len(scale_b):
            raise ValueError(f"scaled_mm: {len(scale_a)} scales of a and {len(scale_b)} of b; as many are wanted")
        block_scaled.check(row, a, b, scale_a[0], scale_b[0], ValueError)
    else:
        kinds = [recipe_a[0], recipe_b[0]]
        check_recipes(a, b, scale_a[0], scale_b[0], kinds)
    if products.sm < FIRST_SM:
        raise NotImplementedError(f"_scaled_mm: sm_{products.sm} has no FP8; sm_{FIRST_SM} and later have it")
    if is_empty(a, b):
        return nothing(a, b, out_dtype)
    check_operands(a, b, bias, out_dtype, use_fast_accum, ValueError, 1 if row is None else row.packed)
    if row is None:
        scales = scales_of(products.sm, a, b, scale_a[0], scale_b[0], kinds)
        check_kinds(products.sm, b, scale_b[0], out_dtype, kinds, use_fast_accum)
        return product(products.promoted(not use_fast_accum), a, b, *scales, kinds, bias, None, out_dtype)
    if a.dtype in FP8 and "e5m2" in (FP8[a.dtype], FP8[b.dtype]):
        raise ValueError("scaled_mm: scales of blocks are those of float8_e4m3fn alone")
    return of_blocks(products, row, a, b, (scale_a[0], scale_b[0]), tuple(x[1] for x in (scale_a, scale_b) if x[1:]), bias, out_dtype,
                     NotImplementedError)


def check_levels(row, name, scales, recipes, swizzles):
    """Raises ValueError if an operand in an MX format or NVFP4 has not the scales, recipes and swizzles that torch wants."""
    wanted = [row.recipe, TENSOR][:len(scales) if row.kind == NVFP4 else 1]
    if list(recipes) != wanted or len(scales) != len(wanted):
        raise ValueError(f"scaled_mm: {len(scales)} tensors of {name} with recipes {list(recipes)}; {wanted} are wanted")
    if any(x.numel() != 1 or x.dtype != torch.float32 for x in scales[1:]):
        raise ValueError(f"scaled_mm: the second tensor of {name} is {tuple(scales[1].shape)} of {scales[1].dtype}; one number of "
                         "float32 is wanted")
    if len(swizzles) != len(wanted) or swizzles[0] != SWIZZLED:
        raise ValueError(f"scaled_mm: swizzles {list(swizzles)} of {name}; {len(wanted)}, the first of them SWIZZLE_32_4_4, "
                         f"{'is' if len(wanted) == 1 else 'are'} wanted")


def check_recipes(a, b, scale_a, scale_b, kinds):
    """Raises ValueError if torch refuses these scales in binary32, whether there is anything to multiply or not. Only of those of
    all and of rows it counts the numbers then."""
    if kinds not in TOGETHER:
        raise ValueError(f"scaled_mm: recipes {kinds[0]} and {kinds[1]} do not go together")
    for name, scale, kind, rows in (("scale_a", scale_a, kinds[0], a.shape[0]), ("scale_b", scale_b, kinds[1], b.shape[1])):
        numbers = {TENSOR: 1, ROW: rows}.get(kind, scale.numel())
        if scale.numel() != numbers:
            raise ValueError(f"scaled_mm: {name} of {tuple(scale.shape)} has not the {numbers} numbers of recipe {kind}")


def scales_of(sm, a, b, scale_a, scale_b, kinds):
    """Returns scales in binary32 as (rows, K). Raises an error if torch refuses their shapes."""
    if STRIP in kinds and "e5m2" in (FP8[a.dtype], FP8[b.dtype]):
        raise ValueError("scaled_mm: scales of blocks are those of float8_e4m3fn alone")
    check_gpu_of_blocks(sm, kinds, NotImplementedError)
    scales = []
    for name, scale, kind, rows in (("scale_a", scale_a, kinds[0], a.shape[0]), ("scale_b", scale_b, kinds[1], b.shape[1])):
        strips, squares = -(-a.shape[1] // BLOCK), -(-rows // BLOCK)
        # Of squares K is the first axis, padded to a multiple of four.
        wanted = {ROW: (rows, 1) if name == "scale_a" else (1, rows), STRIP: (rows, strips),
                  SQUARE: (strips + -strips % 4, squares)}.get(kind, scale.shape)
        is_as_it_lies = kind == ROW and name == "scale_b" and scale.dim() == 2  # on sm_90; see check_kinds()
        if scale.shape != wanted and not is_as_it_lies:
            raise ValueError(f"scaled_mm: {name} of {tuple(scale.shape)}; {wanted} is wanted for recipe {kind}")
        scales.append(scale.T[:, :strips] if kind == SQUARE else scale)
    return scales


def nothing(a, b, out_dtype):
    out = torch.empty(a.shape[0], b.shape[1], dtype=out_dtype)
    return out.zero_() if out.numel() else out


def product(products, a, b, scale_a, scale_b, kinds, bias, scale_result, out_dtype):
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
