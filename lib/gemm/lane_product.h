// SPDX-License-Identifier: Apache-2.0
//
// The account of a product of fused blocks, eight elements at a time (loss_lanes.h): operands taken apart once,
// rows and columns of like size together, so that one unit serves the elements of a piece. Which level's code
// computes it, the kernels say; the reference's has none.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "lib/gemm/account.h"

namespace binade {

class LaneProduct {
 public:
  /// Of a model and operands that it does not know there are no pieces.
  LaneProduct(const GemmModel& model, const GemmOperands& operands, std::size_t position_width,
              const Kernels& kernels);
  ~LaneProduct();

  std::size_t pieces() const;
  using Left = std::function<void(std::size_t row, std::size_t column)>;
  /// Adds the elements of a piece to an account, but for those that it leaves. How many elements it has.
  std::size_t add(std::size_t piece, GemmAccount& account, const Left& left) const;

 private:
  struct Prepared;
  std::unique_ptr<const Prepared> x_;
};

}  // namespace binade
