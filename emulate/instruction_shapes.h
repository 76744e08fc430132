// SPDX-License-Identifier: Apache-2.0
//
// Which Tensor Core instructions there are on NVIDIA's architectures: families, shapes and types of
// the PTX ISA 9.0, and mma's 4X of ue8m0 of 9.1. tensor_core.h says what they compute. Of the
// integer forms, only mma.m16n8 (of 4 and 1 bits with the larger k) and dense wgmma of 8 bits are
// here; the others have the same arithmetic in other shapes. Not here, as nothing is published of
// their sums: k96 of kind::mxf4 and mxf4nvf4 on sm_103.
//
//     mma.m16n8k32.f32.e4m3.e5m2.f32         D = A · B + C
//     shape m, n, k; types of D, A, B, C     D and C are m × n, A is m × k, B is k × n
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "emulate/architectures.h"
#include "emulate/integer_dot.h"

namespace binade {

/// Returns whether names in a family have c's type as an operand of its own. In the other families,
/// c is what d held before, and has d's type.
constexpr bool names_c(Family f) {
  return f == Family::mma || f == Family::wmma || f == Family::mma_sp;
}

/// PTX's name of a type, and its format.
struct TypeName {
  std::string_view name;
  Format format;
};
inline constexpr std::array<TypeName, 16> type_names{{{"f16", binary16},
                                                      {"bf16", bfloat16},
                                                      {"tf32", tf32},
                                                      {"e4m3", e4m3},
                                                      {"e5m2", e5m2},
                                                      {"e3m2", e3m2},
                                                      {"e2m3", e2m3},
                                                      {"e2m1", e2m1},
                                                      {"f32", binary32},
                                                      {"f64", binary64},
                                                      {"s8", s8},
                                                      {"u8", u8},
                                                      {"s4", s4},
                                                      {"u4", u4},
                                                      {"b1", b1},
                                                      {"s32", s32}}};

/// Returns PTX's name of a format; "?" if it has none in the table.
constexpr std::string_view type_name(const Format& f) {
  for (const TypeName& row : type_names) {
    if (row.format == f) return row.name;
  }
  return "?";
}

/// PTX's kinds of instructions that multiply by scales of blocks: D = (A · SA) · (B · SB) + C. The
/// kinds of scale_vec::NX take N scales of each row of A and of each column of B, each of which is
/// that of a run of k / N elements.
enum class ScaledKind : std::uint8_t {
  none,
  mxf8f6f4,
  mxf4,
  mxf4nvf4_2x,
  mxf4nvf4_4x,
  mxf4nvf4_4x_e8m0,
};
struct ScaledKindName {
  std::string_view kind;    ///< after "kind::"
  std::string_view vector;  ///< after "scale_vec::"
  std::string_view type;    ///< PTX's name of the scales' type
  int count = 0;            ///< N, scales of a row in one instruction
};
inline constexpr std::array<ScaledKindName, 6> scaled_kinds{{{},
                                                             {"mxf8f6f4", "1X", "ue8m0", 1},
                                                             {"mxf4", "2X", "ue8m0", 2},
                                                             {"mxf4nvf4", "2X", "ue8m0", 2},
                                                             {"mxf4nvf4", "4X", "ue4m3", 4},
                                                             {"mxf4nvf4", "4X", "ue8m0", 4}}};
constexpr const ScaledKindName& name_of(ScaledKind kind) {
  return scaled_kinds[static_cast<std::size_t>(kind)];
}

/// A set of types from which a's and b's are each chosen.
enum class OperandSet : std::uint8_t {
  only_f16,
  only_bf16,
  only_tf32,
  fp8,
  only_e2m1,
  f8f6f4,
  only_f64,
  int8,
  int4,
  only_b1
};

/// Returns whether a set has a type.
constexpr bool contains(OperandSet set, const Format& f) {
  switch (set) {
    case OperandSet::only_f16: return f == binary16;
    case OperandSet::only_bf16: return f == bfloat16;
    case OperandSet::only_tf32: return f == tf32;
    case OperandSet::fp8: return f == e4m3 || f == e5m2;
    case OperandSet::only_e2m1: return f == e2m1;
    case OperandSet::f8f6f4: return f == e4m3 || f == e5m2 || f == e3m2 || f == e2m3 || f == e2m1;
    case OperandSet::only_f64: return f == binary64;
    case OperandSet::int8: return f == s8 || f == u8;
    case OperandSet::int4: return f == s4 || f == u4;
    case OperandSet::only_b1: return f == b1;
  }
  return false;
}

/// Returns the only type that d can have with these operands, or an empty Format if a ShapeRow says
/// which types d can have.
constexpr Format own_result(OperandSet set) {
  switch (set) {
    case OperandSet::only_f64: return binary64;
    case OperandSet::int8:
    case OperandSet::int4:
    case OperandSet::only_b1: return s32;
    default: return {};
  }
}

/// Which types c can have.
enum class AddendRule : std::uint8_t {
  same,      ///< c has d's type
  narrower,  ///< c has d's type, or c is f16 and d is f32
  either,    ///< c and d are each f16 or f32, in all four combinations
  none,      ///< c is what d held before; names have the types of d, a and b only
};

/// The shapes m × n × k of a family for a set of operand types, n from n_first to n_last in steps
/// of n_step. m = 0 stands for tcgen05's rules (is_shape).
struct ShapeRow {
  Family family;
  int first_sm;  ///< oldest architecture; later ones have it if they have the family
  int m, n_first, n_last, n_step, k;
  OperandSet operands;
  bool d_f16, d_f32;  ///< whether d can be f16, f32
  AddendRule addend;
  ScaledKind kind = ScaledKind::none;
};

namespace detail {

/// The shapes of instructions with scales of blocks: of mma on sm_120, and of tcgen05.
constexpr ShapeRow scaled_mma(Family family, int k, OperandSet operands, ScaledKind kind) {
  return {family, 120, 16, 8, 8, 8, k, operands, false, true, AddendRule::same, kind};
}
constexpr ShapeRow scaled_tcgen05(Family family, int k, OperandSet operands, ScaledKind kind) {
  return {family, 100, 0, 8, 256, 8, k, operands, false, true, AddendRule::none, kind};
}

}  // namespace detail

/// The table. For example, {mma, 89, 16, 8, 8, 8, 32, fp8, true, true, same} says that sm_89 and
/// later have mma.m16n8k32 of FP8 operands with d in f16 or f32 and c of the same type as d.
inline constexpr std::array<ShapeRow, 72> shape_rows{{
    {Family::mma, 70, 8, 8, 8, 8, 4, OperandSet::only_f16, true, true, AddendRule::narrower},
    {Family::mma, 75, 16, 8, 8, 8, 8, OperandSet::only_f16, true, true, AddendRule::same},
    {Family::mma, 80, 16, 8, 8, 8, 16, OperandSet::only_f16, true, true, AddendRule::same},
    {Family::mma, 80, 16, 8, 8, 8, 8, OperandSet::only_bf16, false, true, AddendRule::same},
    {Family::mma, 80, 16, 8, 8, 8, 16, OperandSet::only_bf16, false, true, AddendRule::same},
    {Family::mma, 80, 16, 8, 8, 8, 4, OperandSet::only_tf32, false, true, AddendRule::same},
    {Family::mma, 80, 16, 8, 8, 8, 8, OperandSet::only_tf32, false, true, AddendRule::same},
    {Family::mma, 89, 16, 8, 8, 8, 16, OperandSet::fp8, true, true, AddendRule::same},
    {Family::mma, 89, 16, 8, 8, 8, 32, OperandSet::fp8, true, true, AddendRule::same},
    {Family::mma, 120, 16, 8, 8, 8, 32, OperandSet::f8f6f4, true, true, AddendRule::same},
    {Family::mma, 80, 8, 8, 8, 8, 4, OperandSet::only_f64, false, false, AddendRule::same},
    {Family::mma, 90, 16, 8, 8, 8, 4, OperandSet::only_f64, false, false, AddendRule::same},
    {Family::mma, 90, 16, 8, 8, 8, 8, OperandSet::only_f64, false, false, AddendRule::same},
    {Family::mma, 90, 16, 8, 8, 8, 16, OperandSet::only_f64, false, false, AddendRule::same},
    {Family::wmma, 70, 16, 16, 16, 8, 16, OperandSet::only_f16, true, true, AddendRule::either},
    {Family::wmma, 70, 32, 8, 8, 8, 16, OperandSet::only_f16, true, true, AddendRule::either},
    {Family::wmma, 70, 8, 32, 32, 8, 16, OperandSet::only_f16, true, true, AddendRule::either},
    {Family::wmma, 80, 16, 16, 16, 8, 16, OperandSet::only_bf16, false, true, AddendRule::same},
    {Family::wmma, 80, 32, 8, 8, 8, 16, OperandSet::only_bf16, false, true, AddendRule::same},
    {Family::wmma, 80, 8, 32, 32, 8, 16, OperandSet::only_bf16, false, true, AddendRule::same},
    {Family::wmma, 80, 16, 16, 16, 8, 8, OperandSet::only_tf32, false, true, AddendRule::same},
    {Family::wmma, 80, 8, 8, 8, 8, 4, OperandSet::only_f64, false, false, AddendRule::same},
    {Family::wgmma, 90, 64, 8, 256, 8, 16, OperandSet::only_f16, true, true, AddendRule::none},
    {Family::wgmma, 90, 64, 8, 256, 8, 16, OperandSet::only_bf16, false, true, AddendRule::none},
    {Family::wgmma, 90, 64, 8, 256, 8, 8, OperandSet::only_tf32, false, true, AddendRule::none},
    {Family::wgmma, 90, 64, 8, 256, 8, 32, OperandSet::fp8, true, true, AddendRule::none},
    {Family::tcgen05, 100, 0, 8, 256, 8, 16, OperandSet::only_f16, true, true, AddendRule::none},
    {Family::tcgen05, 100, 0, 8, 256, 8, 16, OperandSet::only_bf16, false, true, AddendRule::none},
    {Family::tcgen05, 100, 0, 8, 256, 8, 8, OperandSet::only_tf32, false, true, AddendRule::none},
    {Family::tcgen05, 100, 0, 8, 256, 8, 32, OperandSet::f8f6f4, true, true, AddendRule::none},
    {Family::mma_sp, 80, 16, 8, 8, 8, 16, OperandSet::only_f16, true, true, AddendRule::same},
    {Family::mma_sp, 80, 16, 8, 8, 8, 32, OperandSet::only_f16, true, true, AddendRule::same},
    {Family::mma_sp, 80, 16, 8, 8, 8, 16, OperandSet::only_bf16, false, true, AddendRule::same},
    {Family::mma_sp, 80, 16, 8, 8, 8, 32, OperandSet::only_bf16, false, true, AddendRule::same},
    {Family::mma_sp, 80, 16, 8, 8, 8, 8, OperandSet::only_tf32, false, true, AddendRule::same},
    {Family::mma_sp, 80, 16, 8, 8, 8, 16, OperandSet::only_tf32, false, true, AddendRule::same},
    {Family::mma_sp, 89, 16, 8, 8, 8, 64, OperandSet::fp8, false, true, AddendRule::same},
    {Family::mma_sp, 120, 16, 8, 8, 8, 64, OperandSet::fp8, true, true, AddendRule::same},
    {Family::wgmma_sp, 90, 64, 8, 256, 8, 32, OperandSet::only_f16, true, true, AddendRule::none},
    {Family::wgmma_sp, 90, 64, 8, 256, 8, 32, OperandSet::only_bf16, false, true, AddendRule::none},
    {Family::wgmma_sp, 90, 64, 8, 256, 8, 16, OperandSet::only_tf32, false, true, AddendRule::none},
    {Family::wgmma_sp, 90, 64, 8, 256, 8, 64, OperandSet::fp8, true, true, AddendRule::none},
    {Family::tcgen05_sp, 100, 0, 8, 256, 8, 32, OperandSet::only_f16, true, true, AddendRule::none},
    {Family::tcgen05_sp, 100, 0, 8, 256, 8, 32, OperandSet::only_bf16, false, true,
     AddendRule::none},
    {Family::tcgen05_sp, 100, 0, 8, 256, 8, 16, OperandSet::only_tf32, false, true,
     AddendRule::none},
    {Family::tcgen05_sp, 100, 0, 8, 256, 8, 64, OperandSet::f8f6f4, true, true, AddendRule::none},
    {Family::mma, 80, 16, 8, 8, 8, 16, OperandSet::int8, false, false, AddendRule::same},
    {Family::mma, 80, 16, 8, 8, 8, 32, OperandSet::int8, false, false, AddendRule::same},
    {Family::mma, 80, 16, 8, 8, 8, 64, OperandSet::int4, false, false, AddendRule::same},
    {Family::mma, 80, 16, 8, 8, 8, 256, OperandSet::only_b1, false, false, AddendRule::same},
    {Family::wgmma, 90, 64, 32, 256, 16, 32, OperandSet::int8, false, false, AddendRule::none},
    {Family::wgmma, 90, 64, 8, 24, 8, 32, OperandSet::int8, false, false, AddendRule::none},
    detail::scaled_mma(Family::mma, 32, OperandSet::f8f6f4, ScaledKind::mxf8f6f4),
    detail::scaled_mma(Family::mma, 64, OperandSet::only_e2m1, ScaledKind::mxf4),
    detail::scaled_mma(Family::mma, 64, OperandSet::only_e2m1, ScaledKind::mxf4nvf4_2x),
    detail::scaled_mma(Family::mma, 64, OperandSet::only_e2m1, ScaledKind::mxf4nvf4_4x),
    detail::scaled_mma(Family::mma, 64, OperandSet::only_e2m1, ScaledKind::mxf4nvf4_4x_e8m0),
    detail::scaled_mma(Family::mma_sp, 64, OperandSet::f8f6f4, ScaledKind::mxf8f6f4),
    detail::scaled_mma(Family::mma_sp, 128, OperandSet::only_e2m1, ScaledKind::mxf4),
    detail::scaled_mma(Family::mma_sp, 128, OperandSet::only_e2m1, ScaledKind::mxf4nvf4_2x),
    detail::scaled_mma(Family::mma_sp, 128, OperandSet::only_e2m1, ScaledKind::mxf4nvf4_4x),
    detail::scaled_mma(Family::mma_sp, 128, OperandSet::only_e2m1, ScaledKind::mxf4nvf4_4x_e8m0),
    detail::scaled_tcgen05(Family::tcgen05, 32, OperandSet::f8f6f4, ScaledKind::mxf8f6f4),
    detail::scaled_tcgen05(Family::tcgen05, 64, OperandSet::only_e2m1, ScaledKind::mxf4),
    detail::scaled_tcgen05(Family::tcgen05, 64, OperandSet::only_e2m1, ScaledKind::mxf4nvf4_2x),
    detail::scaled_tcgen05(Family::tcgen05, 64, OperandSet::only_e2m1, ScaledKind::mxf4nvf4_4x),
    detail::scaled_tcgen05(Family::tcgen05, 64, OperandSet::only_e2m1,
                           ScaledKind::mxf4nvf4_4x_e8m0),
    detail::scaled_tcgen05(Family::tcgen05_sp, 64, OperandSet::f8f6f4, ScaledKind::mxf8f6f4),
    detail::scaled_tcgen05(Family::tcgen05_sp, 128, OperandSet::only_e2m1, ScaledKind::mxf4),
    detail::scaled_tcgen05(Family::tcgen05_sp, 128, OperandSet::only_e2m1, ScaledKind::mxf4nvf4_2x),
    detail::scaled_tcgen05(Family::tcgen05_sp, 128, OperandSet::only_e2m1, ScaledKind::mxf4nvf4_4x),
    detail::scaled_tcgen05(Family::tcgen05_sp, 128, OperandSet::only_e2m1,
                           ScaledKind::mxf4nvf4_4x_e8m0),
}};

/// Returns whether an architecture has the instructions of a row.
constexpr bool has(const Architecture& on, const ShapeRow& row) {
  return on.like >= row.first_sm && on.families.contains(dense_family(row.family));
}

/// Returns whether a row has a shape. For tcgen05, sparse or not (m = 0 in the table), m is 64, or
/// m is 128 or 256 and n is a multiple of 16; with scales of blocks, m is 128, or m is 256 and n is
/// a multiple of 16.
constexpr bool is_shape(const ShapeRow& row, int m, int n, int k) {
  const bool n_fits = n >= row.n_first && n <= row.n_last && n % row.n_step == 0;
  const int narrow_m = row.kind == ScaledKind::none ? 64 : 128;  // m that every n goes with
  const bool tcgen05_m = m == narrow_m || ((m == 128 || m == 256) && n % 16 == 0);
  return k == row.k && n_fits && (row.m == 0 ? tcgen05_m : m == row.m);
}

/// Returns whether a row has these types. If PTX names no type of c, `c` is the type of d.
constexpr bool takes(const ShapeRow& row, const Format& a, const Format& b, const Format& c,
                     const Format& d) {
  if (!contains(row.operands, a) || !contains(row.operands, b)) return false;
  const bool d_fits =
      d == own_result(row.operands) || (d == binary16 && row.d_f16) || (d == binary32 && row.d_f32);
  const bool c_known = c == binary16 || c == binary32;
  const bool c_fits = c == d || (row.addend == AddendRule::either && c_known) ||
                      (row.addend == AddendRule::narrower && d == binary32 && c == binary16);
  return d_fits && c_fits;
}

}  // namespace binade
