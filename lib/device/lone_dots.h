// SPDX-License-Identifier: Apache-2.0
//
// Many lone dots by the kernels: rows of a and of b are taken apart once, and any row of a meets any row of b. Equal to
// `dot` in every bit: rows and sums that a kernel leaves (NaN, infinities) are done by that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "emulate/tensor_core.h"
#include "lib/cases/dots.h"
#include "lib/parallel/parallel.h"

namespace binade {

/// Rows of an instruction's operands under a model. Keeps references to them.
class LoneDots {
 public:
  LoneDots(const DotModel& model, const DotTypes& types, int k, std::span<const std::uint64_t> a,
           std::span<const std::uint64_t> b);

  /// `dot` of row i of a, row j of b and c.
  std::uint64_t operator()(std::size_t i, std::size_t j, std::uint64_t c) const;

 private:
  /// Rows as the kernel packs them, each for itself; which of them it takes.
  struct Side {
    std::span<const std::uint64_t> codes;
    std::vector<std::byte> packed;
    std::vector<std::uint8_t> usable;
    std::size_t row_bytes = 0;
  };
  Side taken_apart(std::span<const std::uint64_t> codes, bool is_column) const;

  GemmModel how_;
  const ProductKernel* kernel_;
  Packing packing_;
  Side a_, b_;
};

/// `dot` of every row, on all threads; d is not read.
std::vector<std::uint64_t> dots_of(const DotModel& model, const DotTypes& types, int k,
                                   const Dots& rows);
inline std::vector<std::uint64_t> dots_of(const Instruction& x, const Dots& rows) {
  return dots_of(x.model, x.types, x.k, rows);
}

}  // namespace binade
