# SPDX-License-Identifier: Apache-2.0
"""Computes torch._scaled_grouped_mm and torch.nn.functional.scaled_grouped_mm: products of groups (grouped.py), with scales.

    scales        operands       shapes                       GPUs             a group's result, rounded to bfloat16
    of rows       e4m3           all of grouped.py            sm_90            (sum · scale_a[m]) · scale_b[n]
    1×32          e4m3 or FP4    a (M, K), b of either shape  sm_100, sm_103   sum, by block_scaled.py's instruction
    1×16          FP4            likewise                     likewise         sum · (scale of a's tensor · that of b's) + 0

Each operation is rounded to binary32. A group's sum is its own: its chain, and on sm_90 without use_fast_accum its parts of 128 of
K, which are added in binary32, begin where its K begins. Scales of rows are (M,) for a (M, K), (G, M) for a (G, M, K), and (G · M,)
where K has the groups; those of b likewise. Scales of blocks lie group after group, each in tiles of 128×4, filled up; those of b
(G, K, N) are (G, numbers). The scales of both tensors multiply to one for each group. _scaled_grouped_mm takes no
FP4.

So the sources say. Scales of rows: PyTorch (017943b, aten/src/ATen/native/cuda/ScaledGroupMM.cu, built for sm_90a alone) has
CUTLASS's Sm90 kernels for arrays of pointers. With FP8FastAccum they are one chain of wgmma, else GmmaFP8Accumulation adds every
128 of K (CUTLASS since 3.8, fp8_accumulation.hpp). Their epilogue is Multiply(scale_b, Multiply(scale_a, sum)), then one cast.
Scales of blocks: MSLK, which was part of FBGEMM (2a3c897, csrc/gemm/cutlass/mx8mx8bf16_grouped, f4f4bf16_grouped), has CUTLASS's
Sm100 kernels, one chain of tcgen05.mma with .block_scale; NVFP4's epilogue is beta · C + alpha · sum with beta and C zero, so no
result of it is -0. The zeros with which both fill tiles of K up change no sum.

What torch refuses is as in PyTorch 2.15 (GroupedBlas.cpp of 00d4eaf), where _scaled_grouped_mm hands FP4 to the kernel of rows, which
refuses its scales, and one scale of tensors for several groups is read as many, past its end: that is refused here. A backend by
cuBLASLt (pytorch#177038) would take both. Where K has the groups, torch looks neither at contraction_dim nor whether K of both
operands is the same; but MSLK reads rows of a as long as b's K, so that is refused here with scales of blocks. Where K has NVFP4's
groups, MSLK asks for multiples of 16, but reads them by TMA, whose addresses are multiples of 16 bytes; so here they are multiples
of 32.

What torch leaves as the memory was, behind the last group and where a group of K is empty, is zero here.
"""
import torch

from . import block_scaled
from .block_scaled import FP8, block_format
from .grouped import ALIGNED, groups, is_transposed
from .products import words_of
from .scaled_mm import NVFP4, ROW, SWIZZLED, TENSOR, row_of, scaled

NAME = "_scaled_grouped_mm"
KERNELS = {"rows": ((90,), 1023), "blocks": ((100, 103), 1024)}  # by what has a scale: the GPUs, and how many groups there may be


def blocks_of(name, args):
    """Returns the row of block_scaled.BLOCK_FORMATS that multiplies a call's operands, or None."""
    row = row_of(name, args)
    if row is None or not name.endswith("_v2"):
        return row
    (_, *more_a), (_, *more_b) = args[2], args[5]
    fits = list(args[3]) == list(args[6]) == [row.recipe, TENSOR][:1 + len(more_a)] and len(more_a) == len(more_b) <= (row.kind == NVFP4)
    return row if fits and args[4][:1] == args[7][:1] == [SWIZZLED] and not any(map(any, (args[4][1:], args[7][1:]))) else None


def why_not(name, args):
    """Returns why a call is not emulated; None if it is."""
    row, kinds = blocks_of(name, args), {x.dtype for x in args[:2]}
    words = " and ".join(sorted(str(dtype).removeprefix("torch.") for dtype in kinds))
    several = (args[2], args[5]) if name.endswith("_v2") else [[x] for x in args[2:4]]
    floats = [scale for scales in several for scale in scales[row is not None:]]
    if row is not None and (kinds & FP8.keys()) - {torch.float8_e4m3fn}:
        return f"of {words} with scales of blocks"
    if row is not None and row.kind == NVFP4 and name.endswith("_v2") and not floats:
        return f"of {words} with scales of 16 and none of tensors"
    if row is None and not kinds <= FP8.keys():
        return "of " + words
    if row is None and name.endswith("_v2"):
        if list(args[3]) != [ROW] or list(args[6]) != [ROW] or any(map(any, (args[4], args[7]))):
            return "with scales in a layout that is not emulated"
    return "with scales that are not float32" if any(scale.dtype != torch.float32 for scale in floats) else None


def check(sm, row, a, b, offs, bias, out_dtype):
    """Raises an error if torch refuses these operands on this GPU, whatever their scales and groups are."""
    what = "rows" if row is None else "blocks"
    sms, most = KERNELS[what]
    if sm not in sms:
        raise ValueError(f"{NAME}: sm_{sm} has no grouped products with scales of {what}; {' and '.join(map('sm_{}'.format, sms))} "
                         f"ha{'s' if len(sms) == 1 else 've'}")
    if not {a.dim(), b.dim()} <= {2, 3}:
        raise ValueError(f"{NAME}: tensors of 2 or 3 axes are wanted, not of {a.dim()} and {b.dim()}")
    if is_transposed(NAME, "the first operand", a) or not is_transposed(NAME, "the second operand", b):
        raise ValueError(f"{NAME}: the first operand is to lie row by row, the second column by column, as (N, K) transposed does")
    if any(size % 16 for size in (a.shape[-1], *b.shape[-2:])):
        raise ValueError(f"{NAME}: K and N, here {a.shape[-1]}, {b.shape[-2]} and {b.shape[-1]}, are to be multiples of 16")
    if offs is not None and (offs.dim() != 1 or offs.dtype != torch.int32):
        raise ValueError(f"{NAME}: offs of {tuple(offs.shape)} of {offs.dtype}; int32 of one axis are wanted")
    many = len(b) if offs is None else len(offs)
    if not 1 <= many <= most:
        raise RuntimeError(f"{NAME}: {many} groups; torch takes 1 to {most}")
    if bias is not None:
        raise ValueError(f"{NAME}: torch takes no bias here")
    if out_dtype not in (None, torch.bfloat16):
        raise ValueError(f"{NAME}: a result of {out_dtype}; torch gives bfloat16")
    if row is None and {a.dtype, b.dtype} != {torch.float8_e4m3fn}:
        raise ValueError(f"{NAME}: with scales of rows both operands are to be float8_e4m3fn, not {a.dtype} and {b.dtype}")


def check_steps(what, offs, step, last=True):
    """Raises RuntimeError if groups have other sizes than multiples. last: whether the last one is to be one, too."""
    sizes = torch.diff(offs, prepend=offs.new_zeros(1)).tolist()
    if any(size % step for size in (sizes if last else sizes[:-1])):
        raise RuntimeError(f"{NAME}: groups of {what} of {sizes}; multiples of {step} are wanted")


def scales_of_rows(name, scale, x, lines, many):
    """Returns scales as (lines,) or (groups, lines); many: how many groups K has, or None."""
    wanted = (len(x), lines) if x.dim() == 3 else (lines * (many or 1),)
    if tuple(scale.shape) != wanted or lines > 1 and scale.stride(-1) != 1:
        raise RuntimeError(f"{NAME}: {name} of {tuple(scale.shape)}; {wanted} is wanted, without gaps")
    return scale.reshape(many, lines) if many else scale


def tiles_of_groups(name, scale, x, lines, sizes, row):
    """Returns the scales of blocks of each group of an operand, of the sizes (lines, K); lines: those of the whole operand."""
    counts = [row.scales(*size) for size in sizes]
    batch = (len(x), row.scales(lines, x.shape[1] * row.packed)) if x.dim() == 3 else None
    if scale.dim() != 2 or (len(scale) < lines if batch is None else tuple(scale.shape) != batch):
        raise RuntimeError(f"{NAME}: {name} of {tuple(scale.shape)}; {batch or f'two axes, the first of {lines} or more,'} is wanted")
    if not scale.is_contiguous() or scale.numel() < sum(counts):
        raise RuntimeError(f"{NAME}: {name} has {scale.numel()} numbers in strides {scale.stride()}; groups have {sum(counts)} in "
                           "tiles of 128×4, without gaps")
    return scale.view(torch.uint8).flatten()[:sum(counts)].split(counts)


def of_rows(products, a, b, scale_a, scale_b, offs, fast):
    shape, of = groups(NAME, a, b, offs, ValueError)
    of_k = len(of) if a.dim() == b.dim() == 2 else None
    left, right = (scales_of_rows(*x, of_k) for x in (("scale_a", scale_a, a, a.shape[-2]), ("scale_b", scale_b, b, b.shape[-1])))
    if of_k:
        check_steps("K", offs, ALIGNED, last=False)
        if any(group.k.start == group.k.stop for group in of):
            raise RuntimeError(f"{NAME}: offs {offs.tolist()} leave a group without K, which CUTLASS does not take")
    elif b.dim() == 2:
        check_steps("columns", offs, ALIGNED // 2, last=False)
    out = torch.zeros(shape, dtype=torch.bfloat16)
    products.promoted(not fast)
    for group in of:
        x, y = group.operands(a, b)
        m, n = (scale[group.number] if scale.dim() == 2 else scale[lines]
                for scale, lines in ((left, group.rows), (right, group.columns)))
        if 0 not in (*x.shape, y.shape[1]):
            group.result(out)[:] = scaled(products, x, y, m, n, [ROW, ROW])
    return out


def of_blocks(products, row, a, b, scale_a, scale_b, tensor_scales, offs):
    if a.dim() != 2:
        raise ValueError(f"{NAME}: with scales of blocks the first operand has two axes, not {a.dim()}")
    if not a.is_contiguous() or not b.transpose(-2, -1).is_contiguous():
        raise RuntimeError(f"{NAME}: operands without gaps between rows of K are wanted")
    k = a.shape[1] * row.packed
    if k % 32:
        raise RuntimeError(f"{NAME}: K, here {k}, is to be a multiple of 32")
    if a.shape[1] != b.shape[-2]:
        raise ValueError(f"{NAME}: with scales of blocks K of both operands is to be the same, not {a.shape[1]} and {b.shape[-2]}")
    shape, of = groups(NAME, a, b, offs, ValueError, row.packed)
    if b.dim() == 2:
        check_steps("K", offs, 32)
    factors = factors_of(tensor_scales, len(of)) if tensor_scales else None
    operands = [group.operands(a, b) for group in of]
    left = tiles_of_groups("scale_a", scale_a, a, len(a), [(len(x), x.shape[1] * row.packed) for x, _ in operands], row)
    right = tiles_of_groups("scale_b", scale_b, b, b.shape[-1], [(y.shape[1], len(y) * row.packed) for _, y in operands], row)
    out = torch.zeros(shape, dtype=torch.bfloat16)
    for group, (x, y), *scales in zip(of, operands, left, right):
        if 0 in (*x.shape, y.shape[1]):
            continue
        sums, model = block_scaled.sums(products.sm, row, x, y, *scales)
        products.used[words_of(model)] = None
        group.result(out)[:] = sums if factors is None else sums * factors[group.number] + 0.0
    return out


def factors_of(scales, many):
    """Returns what the sum of each group is multiplied by, for the scales of both tensors."""
    out = scales[0] * scales[1]
    if out.numel() != many:
        raise ValueError(f"{NAME}: tensors' scales of {tuple(scales[0].shape)} and {tuple(scales[1].shape)}; one of each of {many} groups "
                         "is wanted")
    return out.reshape(-1)


def product(products, row, a, b, scales, tensor_scales, offs, bias, out_dtype, fast):
    check(products.sm, row, a, b, offs, bias, out_dtype)
    if row is None:
        return of_rows(products, a, b, *scales, offs, fast)
    return of_blocks(products, row, a, b, *scales, tensor_scales, offs)


def scaled_grouped_mm(products, a, b, scale_a, scale_b, offs=None, bias=None, scale_result=None, out_dtype=None,
                      use_fast_accum=False):
    if scale_result is not None:
        raise ValueError(f"{NAME}: torch takes no scale_result here")
    row = block_format(a, b, scale_a, scale_b)
    if row is not None and row.packed > 1:
        raise ValueError(f"{NAME}: of {a.dtype} torch has torch.nn.functional.scaled_grouped_mm alone")
    return product(products, row, a, b, (scale_a, scale_b), (), offs, bias, out_dtype, use_fast_accum)


def scaled_grouped_mm_v2(products, a, b, scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b, offs=None, bias=None,
                         out_dtype=None, contraction_dim=(), use_fast_accum=False):
    if list(contraction_dim) not in ([], [-1, -2]) and not a.dim() == b.dim() == 2:
        raise ValueError(f"{NAME}: contraction_dim {list(contraction_dim)}; [-1, -2] is wanted")
    row = block_format(a, b, scale_a[0], scale_b[0])
    return product(products, row, a, b, (scale_a[0], scale_b[0]), (*scale_a[1:], *scale_b[1:]), offs, bias, out_dtype, use_fast_accum)
