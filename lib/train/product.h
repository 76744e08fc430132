// SPDX-License-Identifier: Apache-2.0
//
// Matrix products of the training engine. Each of the three products of a layer (output, gradient
// of the input, gradient of the weight) is computed by a reference in T or by an emulated GEMM.
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

/// Which product of a layer: fprop Y = X·Wᵀ, dgrad dX = dY·W, or wgrad dW = dYᵀ·X.
enum class Pass : std::uint8_t { fprop, dgrad, wgrad };
inline constexpr std::array<std::string_view, 3> pass_names{"fprop", "dgrad", "wgrad"};

/// By what an operand is multiplied before it is rounded to the instruction's type.
enum class OperandScale : std::uint8_t {
  none,
  /// The largest power of two, from 2^-126 to 2^126, with which the operand's largest magnitude
  /// does not pass the format's largest finite number; 1 if that magnitude, of which NaNs are no
  /// part, is 0 or infinite. The epilogue divides by it again. (Transformer Engine's current
  /// scaling, power_2_scale.)
  amax,
};

/// Returns the exponent of that power of two for an operand of largest magnitude `amax`, from -126
/// to 126 (Transformer Engine's compute_scale_from_amax).
int amax_scale_log2(double amax, const Format& format);

/// How one product is computed.
struct ProductPlan {
  /// The emulated GEMM; none: the product is computed in T, by Eigen, on operands that are not
  /// rounded. Either way the sum is rounded to the op's dtype, unless the call keeps sums.
  std::optional<GemmModel> model{};
  OperandScale scale = OperandScale::none;
  friend bool operator==(const ProductPlan&, const ProductPlan&) = default;
};

/// The plans for ops that run in one dtype.
struct ProductRule {
  Format dtype{};
  bool weights_only = false;           ///< not for products of two activations, as in attention
  std::array<ProductPlan, 3> plans{};  ///< indexed by Pass
};

/// Counts of what was computed so far; the arrays are indexed by Pass.
struct ProductTally {
  std::array<std::uint64_t, 3> products{}, multiply_adds{};
  /// How rounding changed the left (a) and right (b) operands of emulated products; others count
  /// nothing here.
  std::array<EventCounts, 3> a{}, b{};
};

struct ProductSettings {
  std::vector<ProductRule> rules;  ///< the first that fits a call applies; if none, the reference
  std::vector<ProductRule> sum_rules{};  ///< tried before `rules` for calls that keep sums
  Attention attention = Attention::flash;
  ProductTally* tally = nullptr;  ///< where products are counted; may be null
  /// Decides for every product whose operands are scaled (FP8); a product that it switches is
  /// computed by the next rule that fits, or by the reference if none does. An empty operand never
  /// switches. May be null.
  Autoswitch* autoswitch = nullptr;
};

/// Which product a caller wants.
struct ProductCall {
  Pass pass = Pass::fprop;
  Format dtype{};               ///< dtype of the op
  bool weights = true;          ///< one of the factors, or the result, is a weight or its gradient
  std::string_view layer = {};  ///< name of the layer, for autoswitch
  bool keeps_sums = false;      ///< the result is not rounded to the op's dtype
};

/// Settings under which every product is computed by the reference.
inline const ProductSettings reference_products{};

/// A matrix in memory that the view does not own: element (i, j) is data[i·row_stride +
/// j·column_stride].
template <std::floating_point T>
struct MatrixView {
  const T* data = nullptr;
  std::size_t rows = 0, columns = 0;
  std::size_t row_stride = 0, column_stride = 1;

  /// A matrix whose rows lie one after another.
  static MatrixView dense(const T* data, std::size_t rows, std::size_t columns) {
    return {data, rows, columns, columns, 1};
  }
  MatrixView transposed() const { return {data, columns, rows, column_stride, row_stride}; }
};

/// Returns a·b (m × n, row after row), plus bias[j] in column j if there is a bias. The values are
/// numbers of the op's dtype, or of T if the call keeps sums. In dgrad and wgrad the caller passes
/// the gradient as the left factor. An emulated product rounds its operands to the model's types,
/// where in formats of up to 8 bits values beyond the range and infinities become the largest
/// finite number; the sum becomes binary32, is divided by the operands' scales, the bias is added
/// in binary32, and the result is rounded to the op's dtype. Throws Error if the shapes do not fit.
template <std::floating_point T>
std::vector<T> product(const ProductSettings& settings, const ProductCall& call,
                       const MatrixView<T>& a, const MatrixView<T>& b,
                       std::span<const T> bias = {});

}  // namespace binade
