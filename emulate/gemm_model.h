// SPDX-License-Identifier: Apache-2.0
//
// What a whole matrix product of any size is made of: an instruction, the order in which its
// results become one sum (chain of instructions, promotion, parts of K), and the epilogue. These
// are values only; sum_order.h and emulate/gemm.h compute with them. The order of 16 products, by
// the number of k:
//
//     chain of k = 8        [0 1 2 3 4 5 6 7] -> [8 9 … 15]        -> is "becomes the next one's c"
//     group 2, width 4      [0 1 2 3 8 9 10 11] -> [4 5 6 7 12 13 14 15]
//     split in 2 parts      ([0 … 7]) + ([8 … 15])                 each part begins at +0
//     interleave 2          ([0 1 4 5 8 9 12 13]) + ([2 3 6 7 10 11 14 15])
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "emulate/attributes.h"
#include "emulate/fused_sum.h"

namespace binade {

/// The order in which parts of K are added. p0 to p3 are the sums of four parts, p0 to p5 of six.
enum class Reduction : std::uint8_t {
  ascending,   ///< ((p0 + p1) + p2) + p3
  descending,  ///< ((p3 + p2) + p1) + p0
  pairs,       ///< (p0 + p1) + (p2 + p3): neighbours first
  halves,      ///< (p0 + p2) + (p1 + p3): parts that lie half of all apart, as by warp shuffles
  /// (p0 + (p1 + p2)) + (p3 + (p4 + p5)): the first half of the parts, rounded down, and the others
  bisect,
  /// ((p0 + p3) + (p2 + p5)) + (p1 + p4): the first half, rounded up, to which the others are added
  /// one by one, and again, until one is left
  fold,
  /// ((p5 + (p0 + p3)) + (p1 + p4)) + p2: to the last part the others in pairs that lie half of all
  /// apart, rounded up; those without a partner by themselves (cuBLASLt's custom option 1, sm_89)
  pairwise,
  listed,  ///< one after the other, as Split::order lists them
};
inline constexpr std::array<std::string_view, 8> reduction_names{
    "ascending", "descending", "pairs", "halves", "bisect", "fold", "pairwise", "listed"};

/// Returns whether parts are added to one sum one after the other.
constexpr bool in_turn(Reduction x) {
  return x == Reduction::ascending || x == Reduction::descending || x == Reduction::listed;
}

/// How whole tiles or instructions are shared among parts that are runs: 14 among six.
enum class TileShares : std::uint8_t {
  full,      ///< 3 3 3 3 2 0: as many as the first has, as long as there are any
  balanced,  ///< 3 3 2 2 2 2: at most one apart, the first ones longer
  rest,      ///< 2 2 2 2 2 4: rounded down, and the last part has what remains
  spread,    ///< 2 2 3 2 2 3: part i begins at i·14 / 6, rounded down
  listed,    ///< as Split::ends lists them
  /// 1 4 3 3 3, from Split::ends = 1, 3, 1: the first part has ends[0], each other one ends[1], the
  /// first ends[2] of them one more, and the last one what remains
  steps,
  stream,  ///< cut elsewhere in each tile of D, by Split::stream (stream_k.h)
};
inline constexpr std::array<std::string_view, 7> shares_names{
    "full", "balanced", "rest", "spread", "listed", "steps", "stream"};

/// Most parts that Split::order and Split::ends list.
inline constexpr int most_listed_parts = 8;

/// Which tiles of D share their iterations of K among workers, and how they are numbered. The
/// workers are the parts of a split, and an iteration is its tile of K.
struct StreamK {
  int tile_m = 0, tile_n = 0;  ///< rows and columns of a tile of D
  bool by_columns = false;     ///< tiles are numbered down columns of tiles; else along rows
  /// So many tiles are shared, the first ones or, if `whole_first`, the last ones; each other is
  /// one worker's. If 0, all are shared.
  int shared = 0;
  bool whole_first = false;
  /// Workers and tiles are in so many groups, each of which has a line of its own: those of group i
  /// are number i, i + groups, ….
  int groups = 1;
  /// A worker that would begin less than so many iterations behind the beginning of a tile begins
  /// there, and one that would do so before its end begins at the next (CUTLASS 3: 8).
  int least = 0;

  friend constexpr bool operator==(const StreamK&, const StreamK&) = default;
};

/// A division of K into parts, each of which is summed from +0 and then added to the others
/// (split-K, sliced-K, lanes of a vector).
struct Split {
  int parts = 1;
  /// Runs of this many k go to the parts in turn. If 0, each part is one run of whole instructions
  /// or tiles; the last ones may be shorter or empty, and an empty part is +0.
  int interleave = 0;
  Reduction reduction = Reduction::ascending;
  /// For an interleaved split: the k that remain after the last whole round over the parts are not
  /// divided among them, but continue the chain on the finished sum.
  bool tail_after = false;
  /// For a split into one run each: the runs are multiples of this many k, as cuBLAS splits tiles.
  /// If 0, they are multiples of the instruction's k.
  int tile = 0;
  TileShares shares = TileShares::full;  ///< for a split into one run each
  /// Parts are counted from this one on, going round: p0 is part number `first` (rings).
  int first = 0;
  /// For an interleaved split: the k that remain after the last whole round over the parts, and
  /// over those of interleaved splits inside, are summed by themselves in one chain from +0. The
  /// sum of the parts begins with them, or, if the parts are reduced as a tree, they are added to
  /// it.
  bool tail_first = false;
  /// For two runs: K is divided only if it is longer than this, and so is each part in the same
  /// way, as long as that makes it shorter (NumPy's sum: 128, in tiles of 8 with TileShares::rest).
  int until = 0;
  /// For an interleaved split: in each whole run of so many rounds over the parts, the rounds are
  /// taken from the last to the first, and those that remain from the first on (NumPy's einsum: 4).
  int backward = 1;
  /// For an interleaved split: a round over the parts that is not whole comes first, not last
  /// (OpenBLAS's sgemv_t: four vectors before pairs of them).
  bool short_first = false;
  /// With tail_after or tail_first, of instructions of one product: each product of the tail is
  /// rounded to the instruction's format and added in this format, to the finished sum or, if
  /// tail_first, to +0 and then to the finished sum (OpenBLAS's dot). The tail is what remains of
  /// whole rounds also over the parts of interleaved splits inside.
  std::optional<Format> tail_mul_add{};
  /// For TileShares::listed: how many tiles or instructions lie before the end of each part but the
  /// last: 5 and 13 are parts of 5, of 8, and of what remains. For TileShares::steps: three
  /// numbers.
  std::array<std::uint32_t, most_listed_parts> ends{};
  /// For Reduction::listed: the numbers of the parts in the order in which they are added.
  std::array<std::uint8_t, most_listed_parts> order{};
  StreamK stream{};  ///< for TileShares::stream

  friend constexpr bool operator==(const Split&, const Split&) = default;
};

/// Returns whether a split's order names each of its parts once, and it counts them from 0.
constexpr bool lists_all_parts(const Split& split) {
  if (split.parts > most_listed_parts || split.first != 0) return false;
  unsigned named = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(split.parts); ++i) {
    named |= 1U << (split.order[i] % 32);
  }
  return named == (1U << split.parts) - 1;
}

/// Returns whether the parts that a split lists end one behind the other.
constexpr bool lists_ends(const Split& split) {
  if (split.parts > most_listed_parts) return false;
  for (std::size_t i = 0; i + 1 < static_cast<std::size_t>(split.parts); ++i) {
    if (split.ends[i] <= (i == 0 ? 0 : split.ends[i - 1])) return false;
  }
  return true;
}

/// Which products the instructions of one chain take. In each group of `group` instructions, each
/// takes `width` consecutive k in turn. A group of 1 is the plain order, in which every instruction
/// takes the next k products.
struct KOrder {
  bool descending = false;  ///< the instructions follow each other from the highest k down
  int group = 1;
  int width = 0;  ///< a divisor of the instruction's k; not used if group is 1
  /// The first two instructions of each chain change places: fma(a0, b0, a1 · b1), as compilers
  /// contract a0 · b0 + a1 · b1 (OpenBLAS's dgemv_n).
  bool second_first = false;

  friend constexpr bool operator==(const KOrder&, const KOrder&) = default;
};

/// The order in which a sum is multiplied by a scale of A's row and one of B's column. Each product
/// is rounded.
enum class ScaleOrder : std::uint8_t {
  a_first,   ///< (sum · a) · b: PyTorch's RowwiseScaledMM.cu, unless D is transposed
  b_first,   ///< (sum · b) · a: vLLM's ScaledEpilogue (scaled_mm_epilogues_c3x.hpp)
  together,  ///< sum · (a · b): DeepGEMM (sm90_fp8_gemm_1d2d.cuh)
};
inline constexpr std::array<std::string_view, 3> scale_order_names{"a-first", "b-first",
                                                                   "together"};

/// Scales that runs of K have, of each row of A and each column of B, in binary32: a promotion
/// multiplies the accumulator by them and adds it to the register r.
///
///     together, fused    r = fma(acc, [a · b], r)          [ … ] is rounded
///     together           r = [r + [acc · [a · b]]]
///     a_first, fused     r = fma([acc · a], b, r)
struct PromotionScaling {
  int share = 0;  ///< products that share a scale of A and one of B; 0: there are no scales
  ScaleOrder order = ScaleOrder::together;
  bool fused = true;  ///< the last multiplication and the addition are rounded once

  friend constexpr bool operator==(const PromotionScaling&, const PromotionScaling&) = default;
};

/// How the products of an element become one sum.
struct Accumulation {
  KOrder order{};
  /// The accumulator begins at +0. After every this many instructions it is added to a register and
  /// begins again (CUTLASS's 2xAcc; in DeepSeek-V3 after 128 products). If 0, there is no such
  /// register.
  int promote_every = 0;
  /// If not 0, and more than one but less than two of these periods remain, they are halved: the
  /// first half is rounded up to a multiple of so many instructions. OpenBLAS's blocks of 320 make
  /// 320, 320, 192 and 193 of K = 1025, by 16.
  int promote_halves = 0;
  Format promotion = binary32;  ///< format of that register
  PromotionScaling scaling{};   ///< what the accumulator is multiplied by before it is added
  Split splits[3]{};            ///< nested divisions of K, outermost first; 1 part: none
  Format partial = binary32;    ///< format of finished parts, and of their sums
  /// Format of the sums of parts, if it is another one. Where parts are added one after the other,
  /// the first one is rounded to it, too.
  std::optional<Format> reduced{};
  /// The sum begins with C, or, if its parts are reduced by pairs or halves, C is added to the
  /// finished tree; else the epilogue adds C.
  bool c_first = false;

  /// Returns the format in which parts are added.
  constexpr Format format_of_sums() const { return reduced ? *reduced : partial; }

  friend constexpr bool operator==(const Accumulation&, const Accumulation&) = default;
};

/// Where an element of D lies: its row and column, and how many of them D has.
struct ElementPlace {
  std::uint64_t row = 0, column = 0, rows = 1, columns = 1;

  /// Returns the element's number in C order.
  constexpr std::uint64_t index() const { return row * columns + column; }

  friend constexpr bool operator==(const ElementPlace&, const ElementPlace&) = default;
};

/// What is applied to the value behind the bias. `gelu`, `gelu_tanh` and `silu` take a number of
/// binary32 (others are converted to it first) and give the exact value of the formula, rounded
/// once to binary32 (activation.h). Kernels compute them in binary32 step by step, with errors of a
/// few ulp that depend on the library (lib/gemm/activated.h).
enum class Activation : std::uint8_t { none, relu, gelu, gelu_tanh, silu };

struct ActivationRow {
  Activation activation{};
  std::string_view name, formula, source;
};

/// The activations, in the order of their numbers.
inline constexpr std::array<ActivationRow, 5> activations{{
    {Activation::none, "none", "x", ""},
    {Activation::relu, "relu", "max(+0, x)", "PyTorch's F.relu"},
    {Activation::gelu, "gelu", "x/2·(1 + erf(x/√2))", "PyTorch's F.gelu"},
    {Activation::gelu_tanh, "gelu_tanh", "x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³)))",
     "PyTorch's F.gelu(approximate=\"tanh\")"},
    {Activation::silu, "silu", "x/(1 + e^-x)", "PyTorch's F.silu"},
}};

constexpr std::string_view activation_name(Activation x) {
  return activations[static_cast<std::size_t>(x)].name;
}

/// Returns whether an activation is one of those that kernels compute with errors of their own.
constexpr bool is_smooth(Activation x) { return x != Activation::none && x != Activation::relu; }

/// How D follows from the sum: D = alpha·sum + beta·C + bias, each operation rounded to nearest in
/// the format `compute`, and the result to `out`. If alpha is 1 and there is neither C nor a bias
/// to add, the sum is rounded to `out` alone, unless it is an integer and `out` is not: that goes
/// through `compute`. With every step that a model can have:
///
///     sum -> `sum` -> alpha·sum + beta·C + bias in `compute` -> `activation` -> `through` -> `out`
///
/// Where A's rows or B's columns have scales (GemmElement), the last of them takes alpha's place,
/// and `alpha` is not read; the sum is multiplied by the other one before:
///
///     b_first, sum_last false      fma(a, sum · b, bias)      vLLM's ScaledEpilogueBias
struct Epilogue {
  Format compute = binary32;
  double alpha = 1;
  double beta = 1;  ///< if 0, the epilogue does not read C; not used under c_first
  /// If true, D = fma(alpha, sum, beta·C) + bias; else D = fma(beta, C, fma(alpha, sum, bias)),
  /// where without a bias alpha·sum is a rounded product (CUTLASS 3.x's Sm90LinearCombination and
  /// its per-row bias).
  bool sum_last = true;
  Format out = binary32;
  /// An overflow and an infinity give the largest finite number (PTX .satfinite).
  bool saturate = false;
  Rounding rounding = Rounding::ties_to_even;  ///< of the last rounding, to `out`
  /// Key of stochastic rounding: element (i, j) of a D of n columns draws word i·n + j of Philox
  /// stream 0 (philox.h), as `quantize` does of D in one array.
  std::uint64_t seed = 0;
  /// The finished sum is rounded to this format, to nearest, before the epilogue computes with it:
  /// a kernel that stores it so, and adds a bias of a wider one afterwards.
  std::optional<Format> sum = {};
  /// What was computed is rounded to this format, to nearest, before it is rounded to `out`.
  std::optional<Format> through = {};
  Activation activation = Activation::none;
  ScaleOrder scales = ScaleOrder::a_first;  ///< of no effect unless there are two scales
  /// The bias is added to the sum before that is multiplied by anything.
  bool bias_first = false;

  /// Returns whether the epilogue only computes D in `compute` and rounds it to `out`.
  constexpr bool is_direct() const { return !sum && !through && activation == Activation::none; }

  friend constexpr bool operator==(const Epilogue&, const Epilogue&) = default;
};

/// A matrix product of any size. The scales of blocks are multiplied in by the instruction
/// (model.scaling) or by the promotion (sum.scaling), or there are none.
struct GemmModel {
  DotModel model{};  ///< the instruction's arithmetic
  DotTypes types{};  ///< the instruction's types
  int k = 16;        ///< products of one instruction; at most 256
  Accumulation sum{};
  Epilogue epilogue{};
  Format c = binary32;     ///< format of the matrix C
  Format bias = binary32;  ///< format of the bias vector

  friend constexpr bool operator==(const GemmModel&, const GemmModel&) = default;
};

/// Returns how many elements of a line share a scale of a block: a run of K. 0: none has one.
constexpr int scale_run(const GemmModel& g) {
  const int halves = g.model.sparse_group == 0 ? 1 : 2;
  return is_scaled(g.model) ? halves * g.model.scaling.share : g.sum.scaling.share;
}

}  // namespace binade
