// SPDX-License-Identifier: Apache-2.0
//
// Single dot products by the kernels of the CPU. Rows of a and of b are decoded and packed once,
// and then any row of a can be multiplied by any row of b. Results equal those of `dot` in every
// bit: `dot` itself computes the rows and sums that a kernel does not (those with NaNs or
// infinities).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "emulate/tensor_core.h"
#include "lib/cases/dots.h"
#include "lib/parallel/parallel.h"

namespace binade {

/// Decoded rows of an instruction's operands. The object refers to the rows and the instruction, so
/// they must outlive it.
class DotProducts {
 public:
  DotProducts(const Instruction& x, const Dots& rows);

  /// Returns `dot` of row i of a, row j of b, each with its scales, and element l of c.
  std::uint64_t operator()(std::size_t i, std::size_t j, std::size_t l) const;

 private:
  /// The rows of a or of b as the kernel packs each by itself. usable[i] is 0 if the kernel cannot
  /// take row i.
  struct Side {
    std::vector<std::byte> packed;
    std::vector<std::uint8_t> usable;
    std::size_t row_bytes = 0;
  };
  Side taken_apart(std::span<const std::uint64_t> codes, bool is_column) const;

  const Instruction& instruction_;
  const Dots& rows_;
  GemmModel how_;
  const ProductKernel* kernel_;
  Packing packing_;
  Side a_, b_;
};

/// Returns `dot` of every row, computed on all threads. The d of the rows are not read.
std::vector<std::uint64_t> dots_of(const Instruction& x, const Dots& rows);

}  // namespace binade
