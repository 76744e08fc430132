// SPDX-License-Identifier: Apache-2.0
//
// Matrix products of the training engine: each of the three that a layer needs (output, gradient of
// the input, gradient of the weight) through a reference in T or through an emulated GEMM.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "emulate/event_count.h"
#include "emulate/gemm_model.h"
#include "lib/amp/autoswitch.h"
#include "lib/train/attention.h"
#include "lib/train/tensor.h"

namespace binade {

/// Which product of a layer: Y = X·Wᵀ, dX = dY·W, dW = dYᵀ·X.
enum class Pass : std::uint8_t { fprop, dgrad, wgrad };
inline constexpr std::array<std::string_view, 3> pass_names{"fprop", "dgrad", "wgrad"};

/// What is done to an operand before it is rounded to the instruction's type.
enum class OperandScale : std::uint8_t {
  none,
  /// Times the power of two that brings the largest magnitude just below the format's largest finite
  /// number; undone in the epilogue (Transformer Engine's current scaling, power_2_scale). 1 where that
  /// magnitude is 0 or infinite.
  amax,
};

/// The exponent of that power of two (Transformer Engine's compute_scale_from_amax), from -126 to 126.
int amax_scale_log2(double amax, const Format& format);

/// How one product is computed.
struct ProductPlan {
  /// None: in T, by Eigen, on operands as they are; the sum is rounded to the op's dtype.
  std::optional<GemmModel> model{};
  OperandScale scale = OperandScale::none;
  friend bool operator==(const ProductPlan&, const ProductPlan&) = default;
};

/// The plans for ops that run in one dtype.
struct ProductRule {
  Format dtype{};
  bool weights_only = false;           ///< not for products of two activations, as in attention
  std::array<ProductPlan, 3> plans{};  ///< by Pass
};

/// What was computed so far, by Pass.
struct ProductTally {
  std::array<std::uint64_t, 3> products{}, multiply_adds{};
  /// What rounding did to the left and right operands.
  std::array<EventCounts, 3> a{}, b{};
};

struct ProductSettings {
  std::vector<ProductRule> rules;        ///< the first that fits; where none does, the reference
  std::vector<ProductRule> sum_rules{};  ///< asked first of calls that keep sums
  Attention attention = Attention::flash;
  ProductTally* tally = nullptr;  ///< counted where given
  /// Asked of every product whose operands are scaled (FP8): where it switches, the next rule that fits serves.
  Autoswitch* autoswitch = nullptr;
};

/// Which product is asked for: the pass, the op's dtype, whether one factor is a weight or its gradient.
struct ProductCall {
  Pass pass = Pass::fprop;
  Format dtype{};
  bool weights = true;
  std::string_view layer = {};  ///< for whom autoswitch decides
  bool keeps_sums = false;      ///< the result is the sum as it is, not rounded to the op's dtype
};

/// Everything by the reference.
inline const ProductSettings reference_products{};

/// A matrix in an array: element (i, j) is data[i·row_stride + j·column_stride].
template <std::floating_point T>
struct MatrixView {
  const T* data = nullptr;
  std::size_t rows = 0, columns = 0;
  std::size_t row_stride = 0, column_stride = 1;

  /// Rows one after another.
  static MatrixView dense(const T* data, std::size_t rows, std::size_t columns) {
    return {data, rows, columns, columns, 1};
  }
  MatrixView transposed() const { return {data, columns, rows, column_stride, row_stride}; }
};

/// a·b, plus bias[j] in column j where given; m × n, row after row, on the grid of the
/// op's dtype, or of T where the call keeps sums.
/// Emulated: operands are rounded to the model's types; the sum becomes binary32, is `rescaled` where they were scaled,
/// the bias is added in binary32, and the whole is rounded to the op's dtype. The gradient is the left
/// factor of dgrad and wgrad.
template <std::floating_point T>
std::vector<T> product(const ProductSettings& settings, const ProductCall& call,
                       const MatrixView<T>& a, const MatrixView<T>& b,
                       std::span<const T> bias = {});

}  // namespace binade
