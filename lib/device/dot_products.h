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

/// Decoded rows of an instruction's operands under a model. `a` and `b` hold rows of k encodings;
/// the object refers to them, so they must outlive it.
class DotProducts {
 public:
  DotProducts(const DotModel& model, const DotTypes& types, int k, std::span<const std::uint64_t> a,
              std::span<const std::uint64_t> b);

  /// Returns `dot` of row i of a, row j of b and c.
  std::uint64_t operator()(std::size_t i, std::size_t j, std::uint64_t c) const;

 private:
  /// The rows of a or of b: as encodings, and as the kernel packs each by itself. usable[i] is 0 if
  /// the kernel cannot take row i.
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

/// Returns `dot` of every row, computed on all threads. The d of the rows are not read.
std::vector<std::uint64_t> dots_of(const DotModel& model, const DotTypes& types, int k,
                                   const Dots& rows);
inline std::vector<std::uint64_t> dots_of(const Instruction& x, const Dots& rows) {
  return dots_of(x.model, x.types, x.k, rows);
}

}  // namespace binade
