// SPDX-License-Identifier: Apache-2.0
//
// The table of models: which DotModel (dot_model.h) a Tensor Core instruction follows. A row is
// chosen by family, architecture, types and k; the numbers of rows and columns, m and n, do not
// matter. The numbers in the table come from dot products recorded on GPUs (Khattak and Mikaitis,
// arXiv 2512.07004, data of MATLAB-tensor-core; for sm_90 also tests/recordings/sm_90), from ptxas'
// machine code, or from MMA-Sim (arXiv 2511.10909). lib/evidence says for each instruction which of
// these it is.
#pragma once

#include <array>

#include "emulate/dot.h"
#include "emulate/instruction_shapes.h"

namespace binade {

/// Sets of families that several rows share; `warp` has those whose instruction one warp executes.
inline constexpr Families every_family{.mma = true, .wmma = true, .wgmma = true, .tcgen05 = true};
inline constexpr Families warp{.mma = true, .wmma = true};
inline constexpr Families warp_and_wgmma{.mma = true, .wmma = true, .wgmma = true};
inline constexpr Families mma_only{.mma = true};
inline constexpr Families wmma_only{.wmma = true};
inline constexpr Families wgmma_only{.wgmma = true};
inline constexpr Families mma_and_tcgen05{.mma = true, .tcgen05 = true};

/// The model of a set of instructions. Of several rows that fit an instruction, the first one
/// counts.
struct ModelRow {
  Families families;
  int first_sm, last_sm;  ///< range of Architecture::like, both ends included
  OperandSet operands;
  Format d;  ///< type of the result
  DotModel model;
  int only_k = 0;         ///< the instruction's k, of a sparse one half its k; 0: every k
  bool unlike_c = false;  ///< only instructions whose c and d have different types
  ScaledKind kind = ScaledKind::none;
};

namespace detail {

/// Fused blocks, rounded toward zero to binary32. The exponent floor is -108 - F.
constexpr DotModel to_f32(int block, int f) {
  return {Recipe::fused_block, block, f, -108 - f, binary32, Rounding::toward_zero};
}
/// Fused blocks, rounded to nearest in binary16. The exponent floor is 4 - F, by rows of an H100,
/// and for other architectures by MMA-Sim 2.1.
constexpr DotModel to_f16(int block, int f) {
  return {Recipe::fused_block, block, f, 4 - f, binary16, Rounding::ties_to_even};
}
/// Native FP8 up to Hopper: F = 13, and results in binary32 with 13 fraction bits.
constexpr DotModel fp8_to_f32(int block, int floor) {
  return {Recipe::fused_block, block, 13, floor, {8, 14, 127}, Rounding::toward_zero};
}
/// Native FP8 up to Hopper with results in binary16: F = 13, to nearest.
constexpr DotModel fp8_to_f16(int block, int floor) {
  return {Recipe::fused_block, block, 13, floor, binary16, Rounding::ties_to_even};
}
/// FP8 as instructions of f16 that follow `inner`; c is added last.
constexpr DotModel expanded(DotModel inner) {
  inner.recipe = Recipe::expanded;
  inner.c_last = true;
  return inner;
}
/// c and the sums are binary32, converted to binary16 at the end: wmma with c in f32 and d in f16.
constexpr DotModel narrowed(DotModel inner) {
  inner.through_f32 = true;
  return inner;
}
/// mma.m8n8k4 of f16 where the GPU has no instruction for it and d is f32: a chain of fma in
/// binary32 that begins at +0, then c is added.
inline constexpr DotModel m8n8k4{.recipe = Recipe::fma_chain,
                                 .block = 1,
                                 .fraction_bits = 0,
                                 .exponent_floor = 0,
                                 .rounding = Rounding::ties_to_even,
                                 .c_last = true,
                                 .through_f32 = true};
/// The same mma.m8n8k4 where d is f16: products are added in pairs, in binary32.
inline constexpr DotModel pairs{.recipe = Recipe::pairwise};
/// Integer operands: exact sums in 32 bits.
inline constexpr DotModel exact_integer{.recipe = Recipe::exact_integer};
/// Scales of blocks, each of a run of `share` products that are multiplied by it one by one: as
/// without scales.
constexpr DotModel scaled_products(int share) {
  DotModel out = to_f32(32, 25);
  out.scaling = {share, e8m0, 0};
  return out;
}
/// Scales of blocks of e2m1: groups of 16 products are added before they are scaled (scaled_sum.h).
constexpr DotModel scaled_groups(int share, const Format& scales) {
  DotModel out{Recipe::fused_block, 64, 35, -139, binary32, Rounding::toward_zero};
  out.scaling = {share, scales, 16};
  return out;
}
/// DMMA, the binary64 instruction: a chain of fma.
inline constexpr DotModel dmma{Recipe::fma_chain, 1, 0, 0, binary64, Rounding::ties_to_even};

}  // namespace detail

/// The table. For example, {warp, 75, 89, only_f16, binary32, to_f32(8, 24)} says that mma and wmma
/// of f16 into f32 on sm_75 to sm_89 sum blocks of 8 products with F = 24.
inline constexpr std::array model_rows{
    // m8n8k4: sm_75 executes Volta's HMMA.884; from sm_80 on it is no Tensor Core instruction.
    ModelRow{mma_only, 75, 75, OperandSet::only_f16, binary32, detail::to_f32(4, 23), 4},
    ModelRow{mma_only, 75, 75, OperandSet::only_f16, binary16, detail::to_f16(4, 23), 4},
    ModelRow{mma_only, 80, 120, OperandSet::only_f16, binary32, detail::m8n8k4, 4},
    ModelRow{mma_only, 80, 120, OperandSet::only_f16, binary16, detail::pairs, 4},
    // c is f32 and d is f16.
    ModelRow{warp, 70, 70, OperandSet::only_f16, binary16, detail::narrowed(detail::to_f32(4, 23)),
             0, true},
    ModelRow{warp, 75, 89, OperandSet::only_f16, binary16, detail::narrowed(detail::to_f32(8, 24)),
             0, true},
    ModelRow{warp, 90, 120, OperandSet::only_f16, binary16,
             detail::narrowed(detail::to_f32(16, 25)), 0, true},
    ModelRow{warp, 70, 70, OperandSet::only_f16, binary32, detail::to_f32(4, 23)},
    ModelRow{warp, 75, 89, OperandSet::only_f16, binary32, detail::to_f32(8, 24)},
    ModelRow{every_family, 90, 120, OperandSet::only_f16, binary32, detail::to_f32(16, 25)},
    ModelRow{warp, 70, 70, OperandSet::only_f16, binary16, detail::to_f16(4, 23)},
    ModelRow{warp, 75, 89, OperandSet::only_f16, binary16, detail::to_f16(8, 24)},
    ModelRow{every_family, 90, 120, OperandSet::only_f16, binary16, detail::to_f16(16, 25)},
    ModelRow{warp, 80, 89, OperandSet::only_bf16, binary32, detail::to_f32(8, 24)},
    ModelRow{every_family, 90, 120, OperandSet::only_bf16, binary32, detail::to_f32(16, 25)},
    ModelRow{warp, 80, 89, OperandSet::only_tf32, binary32, detail::to_f32(4, 24)},
    ModelRow{wmma_only, 90, 120, OperandSet::only_tf32, binary32, detail::to_f32(4, 25)},
    ModelRow{every_family, 90, 120, OperandSet::only_tf32, binary32, detail::to_f32(8, 25)},
    ModelRow{mma_only, 89, 89, OperandSet::fp8, binary32, detail::fp8_to_f32(16, -132)},
    ModelRow{mma_only, 89, 89, OperandSet::fp8, binary16, detail::fp8_to_f16(16, -20)},
    ModelRow{mma_only, 90, 100, OperandSet::fp8, binary32,
             detail::expanded(detail::to_f32(16, 25))},
    ModelRow{mma_only, 90, 100, OperandSet::fp8, binary16,
             detail::expanded(detail::to_f16(16, 25))},
    ModelRow{wgmma_only, 90, 90, OperandSet::fp8, binary32, detail::fp8_to_f32(32, -133)},
    ModelRow{wgmma_only, 90, 90, OperandSet::fp8, binary16, detail::fp8_to_f16(32, -133)},
    ModelRow{mma_and_tcgen05, 100, 120, OperandSet::f8f6f4, binary32, detail::to_f32(32, 25)},
    ModelRow{mma_and_tcgen05, 100, 120, OperandSet::f8f6f4, binary16, detail::to_f16(32, 25)},
    ModelRow{warp_and_wgmma, 80, 120, OperandSet::int8, s32, detail::exact_integer},
    ModelRow{mma_only, 80, 120, OperandSet::int4, s32, detail::exact_integer},
    ModelRow{mma_only, 80, 120, OperandSet::only_b1, s32, detail::exact_integer},
    ModelRow{warp, 80, 120, OperandSet::only_f64, binary64, detail::dmma},
    ModelRow{mma_and_tcgen05, 100, 120, OperandSet::f8f6f4, binary32, detail::scaled_products(32),
             0, false, ScaledKind::mxf8f6f4},
    ModelRow{mma_and_tcgen05, 100, 120, OperandSet::only_e2m1, binary32,
             detail::scaled_groups(32, e8m0), 0, false, ScaledKind::mxf4},
    ModelRow{mma_and_tcgen05, 100, 120, OperandSet::only_e2m1, binary32,
             detail::scaled_groups(32, e8m0), 0, false, ScaledKind::mxf4nvf4_2x},
    ModelRow{mma_and_tcgen05, 100, 120, OperandSet::only_e2m1, binary32,
             detail::scaled_groups(16, ue4m3), 0, false, ScaledKind::mxf4nvf4_4x},
    ModelRow{mma_and_tcgen05, 100, 120, OperandSet::only_e2m1, binary32,
             detail::scaled_groups(16, e8m0), 0, false, ScaledKind::mxf4nvf4_4x_e8m0},
};

}  // namespace binade
