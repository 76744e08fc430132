// SPDX-License-Identifier: Apache-2.0
//
// The account of a product of fused blocks, eight elements at a time (loss_lanes.h): operands taken apart once,
// rows and columns of like size together, so that one unit serves the elements of a piece. Which level's code
// computes it, the kernels say; the reference's has none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "lib/gemm/account.h"

namespace binade {

/// A finished sum, in units of 2^unit, for an epilogue that is not lanes'.
struct LaneElement {
  std::size_t row = 0, column = 0;
  int unit = 0;
  std::int64_t sum = 0, exact = 0, bound = 0, products = 0;
  Format format{};                ///< of the sum
  std::size_t last_position = 0;  ///< of K, where its last block stood
};

class LaneProduct {
 public:
  /// Of a model and operands that it does not know there are no pieces.
  LaneProduct(const GemmModel& model, const GemmOperands& operands, std::size_t position_width,
              const Kernels& kernels);
  ~LaneProduct();

  std::size_t pieces() const;
  using Left = std::function<void(std::size_t row, std::size_t column)>;
  /// Adds D's element and its error; false where it is to be left.
  using Finish = std::function<bool(const LaneElement& element)>;
  /// Adds the elements of a piece to an account, but for those that it leaves. How many elements it has.
  std::size_t add(std::size_t piece, GemmAccount& account, const Finish& finish,
                  const Left& left) const;

 private:
  struct Prepared;
  std::unique_ptr<const Prepared> x_;
};

}  // namespace binade
