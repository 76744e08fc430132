// SPDX-License-Identifier: Apache-2.0
//
// What a whole matrix product of any size is made of: an instruction, the order in which its results
// become one sum (chain of instructions, promotion, parts of K), and the epilogue. Values only; what they
// compute is gemm.h.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "emulate/fused_sum.h"

namespace binade {

/// The order in which parts of K are added.
enum class Reduction : std::uint8_t {
  ascending,   ///< ((p0 + p1) + p2) + p3
  descending,  ///< ((p3 + p2) + p1) + p0
  pairs,       ///< (p0 + p1) + (p2 + p3): neighbours first
  halves,  ///< (p0 + p2) + (p1 + p3): each with the one half the parts away, as warp shuffles do
};
inline constexpr std::array<std::string_view, 4> reduction_names{"ascending", "descending", "pairs",
                                                                 "halves"};

/// K in parts, each summed from +0 (split-K, sliced-K, lanes of a vector), then added.
struct Split {
  int parts = 1;
  /// Runs of so many k go to the parts in turn; 0: each part is one run, of whole instructions or tiles, the
  /// last may be shorter.
  int interleave = 0;
  Reduction reduction = Reduction::ascending;
  /// Of an interleaved split: what is left after the last whole round is not shared out, but
  /// continues the chain on the finished sum.
  bool tail_after = false;
  /// Of a split into runs: they are whole tiles of so many k; 0: whole instructions. cuBLAS splits tiles.
  int tile = 0;

  friend constexpr bool operator==(const Split&, const Split&) = default;
};

/// Which products the instructions of one chain take. Of each `group` instructions, each takes `width`
/// consecutive k in turn: 1 is the plain order, K / k of them in a row.
struct KOrder {
  bool descending = false;  ///< the last instruction's products first
  int group = 1;
  int width = 0;  ///< divides the instruction's k where group is not 1

  friend constexpr bool operator==(const KOrder&, const KOrder&) = default;
};

/// How the products of an element become one sum.
struct Accumulation {
  KOrder order{};
  /// The accumulator begins at +0, is added to a register every so many instructions and begins
  /// again (CUTLASS's 2xAcc, DeepSeek-V3: 128 products); 0: never.
  int promote_every = 0;
  Format promotion = binary32;  ///< of that register
  Split splits[3]{};            ///< outermost first
  Format partial = binary32;    ///< of finished parts, and of their sums
  bool c_first = false;         ///< sums begin with C; else C is the epilogue's

  friend constexpr bool operator==(const Accumulation&, const Accumulation&) = default;
};

/// What becomes of the sum: D = alpha·sum + beta·C + bias, to nearest, in `compute`, then to `out`.
struct Epilogue {
  Format compute = binary32;
  double alpha = 1;
  double beta = 1;  ///< 0: C is not read
  /// fma(alpha, sum, beta·C) + bias; else fma(beta, C, fma(alpha, sum, bias)), where a missing bias
  /// makes alpha·sum a rounded product (CUTLASS 3.x's Sm90LinearCombination and its per-row bias).
  bool sum_last = true;
  Format out = binary32;
  bool saturate = false;  ///< PTX .satfinite: FP8 outputs

  friend constexpr bool operator==(const Epilogue&, const Epilogue&) = default;
};

/// A matrix product of any size: an instruction and what is made of it.
struct GemmModel {
  DotModel model{};
  DotTypes types{};
  int k = 16;  ///< of the instruction; at most 256
  Accumulation sum{};
  Epilogue epilogue{};
  Format c = binary32;     ///< of the matrix C
  Format bias = binary32;  ///< of the vector

  friend constexpr bool operator==(const GemmModel&, const GemmModel&) = default;
};

}  // namespace binade
