// SPDX-License-Identifier: Apache-2.0
//
// The loss account of a product of fused blocks, eight elements at a time (account_lanes.h).
// Operands are decoded once, and rows and columns of similar Euclidean norm are put together, so
// that one unit serves all elements of a piece, which is some rows of eight columns. `kernels` says
// which level's code counts; the reference level has none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "lib/gemm/account.h"

namespace binade {

/// A finished sum, its exact value, the bound on its error and Σ|a·b|, in units of 2^unit, for an
/// epilogue that the lanes do not compute.
struct LaneElement {
  std::size_t row = 0, column = 0;
  int unit = 0;
  std::int64_t sum = 0, exact = 0, bound = 0, products = 0;
  Format format{};                ///< format of the sum
  std::size_t last_position = 0;  ///< index in GemmAccount::by_position of its last block
};

/// A product, cut into pieces that threads can count independently of each other.
class AccountLanesProduct {
 public:
  /// Prepares a product. position_width is the number of k that one entry of by_position covers.
  /// There are no pieces if the lanes cannot do the model, or if no row of it would have room.
  AccountLanesProduct(const GemmModel& model, const GemmOperands& operands,
                      std::size_t position_width, const Kernels& kernels);
  ~AccountLanesProduct();

  std::size_t pieces() const;
  using Left = std::function<void(std::size_t row, std::size_t column)>;
  /// A function that adds D's element and its error to the account; it gives false if only the
  /// definition can count the element.
  using Finish = std::function<bool(const LaneElement& element)>;
  /// Adds the elements of a piece to an account. Elements that only the definition (loss.h, element
  /// by element) can count are not added, and `left` is called for each. Returns the number of
  /// elements of the piece, these included.
  std::size_t add(std::size_t piece, GemmAccount& account, const Finish& finish,
                  const Left& left) const;

 private:
  struct Prepared;
  std::unique_ptr<const Prepared> x_;
};

}  // namespace binade
