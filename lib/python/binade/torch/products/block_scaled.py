# SPDX-License-Identifier: Apache-2.0
"""Products of tensors in MX formats and NVFP4, whose instruction multiplies by the scales of blocks of K itself.

    operands            scales                 instruction, one chain over all of K
    FP8                 float8_e8m0fnu, 1×32   kind::mxf8f6f4
    float4_e2m1fn_x2    float8_e8m0fnu, 1×32   kind::mxf4
    float4_e2m1fn_x2    float8_e4m3fn, 1×16    kind::mxf4nvf4; then the sum · (scale of a's tensor · that of b's), if they are given

A float4_e2m1fn_x2 is two numbers, the first one in its low bits. Scales lie as cuBLAS wants them, in tiles of 128×4 bytes, filled up.
"""
import dataclasses
import functools

import torch

from ... import _binade

E8M0, FP4 = (getattr(torch, name, None) for name in ("float8_e8m0fnu", "float4_e2m1fn_x2"))
FP8 = {getattr(torch, name): format for name, format in (("float8_e4m3fn", "e4m3"), ("float8_e5m2", "e5m2")) if hasattr(torch, name)}
FAMILIES = {100: "tcgen05.m128n256", 103: "tcgen05.m128n256", 110: "tcgen05.m128n256", 120: "mma.m16n8", 121: "mma.m16n8"}


@dataclasses.dataclass(frozen=True)
class BlockFormat:
    """A row of the table above. vector: the instruction's scale_vec. recipe: the value of torch.nn.functional.ScalingType."""

    operands: frozenset
    scale: "torch.dtype | None"
    run: int
    k: int
    kind: str
    vector: int
    scale_name: str
    recipe: int

    @property
    def packed(self):
        """How many numbers are one of a tensor."""
        return 2 if FP4 in self.operands else 1

    def scales(self, rows, k):
        """Returns how many scales so many rows have, with those that fill tiles up."""
        runs = -(-k // self.run)
        return (rows + -rows % 128) * (runs + -runs % 4)


BLOCK_FORMATS = (
    BlockFormat(frozenset(FP8), E8M0, 32, 32, "mxf8f6f4", 1, "ue8m0", 3),
    BlockFormat(frozenset({FP4} - {None}), E8M0, 32, 64, "mxf4", 2, "ue8m0", 3),
    BlockFormat(frozenset({FP4} - {None}), getattr(torch, "float8_e4m3fn", None), 16, 64, "mxf4nvf4", 4, "ue4m3", 2),
)


def block_format(a, b, scale_a, scale_b):
    """Returns the row for operands and scales of blocks of these dtypes, or None."""
    return next((row for row in BLOCK_FORMATS if {a.dtype, b.dtype} <= row.operands and scale_a.dtype == scale_b.dtype == row.scale),
                None)


@functools.lru_cache(maxsize=None)
def model_of(sm, row, a, b):
    family = FAMILIES[sm]
    types = f"f32.{a}.{b}" + (".f32" if family.startswith("mma") else "")
    return _binade.GemmModel(f"{family}k{row.k}.kind::{row.kind}.block_scale.scale_vec::{row.vector}X.{types}.{row.scale_name}",
                             f"sm_{sm}")


def codes(x):
    """Returns a matrix of rows along K as codes, (rows, K)."""
    out = x.view(torch.uint8).contiguous()
    return torch.stack((out & 15, out >> 4), -1).flatten(-2) if x.dtype == FP4 else out


def check(row, a, b, scale_a, scale_b, refused):
    """Raises an error, of the type `refused`, if torch refuses these scales."""
    k = a.shape[1] * row.packed
    for name, scale, rows in (("scale_a", scale_a, a.shape[0]), ("scale_b", scale_b, b.shape[1])):
        if scale.numel() != row.scales(rows, k):
            raise refused(f"_scaled_mm: {name} has {scale.numel()} numbers; {rows} rows of {k} have {row.scales(rows, k)} in tiles of "
                          "128×4")
        if not scale.is_contiguous():
            raise refused(f"_scaled_mm: {name} has strides {scale.stride()}; numbers without gaps, one row after the other, are wanted")


def sums(sm, row, a, b, scale_a, scale_b):
    """Returns the sums of a (M, K) and b (K, N), in binary32, and the model that made them."""
    model = model_of(sm, row, FP8.get(a.dtype, "e2m1"), FP8.get(b.dtype, "e2m1"))
    out = _binade.gemm(codes(a), codes(b.t()), model=model, transpose_b=True, a_scale=scale_a.contiguous().view(torch.uint8).flatten(),
                       b_scale=scale_b.contiguous().view(torch.uint8).flatten(), scale_layout="128x4")
    return out, model
