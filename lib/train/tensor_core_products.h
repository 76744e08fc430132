// SPDX-License-Identifier: Apache-2.0
//
// The products of a training by names: an architecture, the format of the operands, the accumulator; or
// instructions, one for each pass.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "lib/train/product.h"

namespace binade {

/// What the operands of products are, and with it the dtype of the ops.
struct TrainingFormat {
  std::string_view name;  ///< "binary32", "tf32", "binary16", "bfloat16", "e4m3"
  Format dtype;           ///< of ops under autocast; binary32: no autocast
  bool scaled;            ///< gradients want a loss scale: only binary16's range is that short
  std::string_view what;
};
/// All of them; e4m3 is the recipe of Transformer Engine's HYBRID: ops in bfloat16, products of e4m3
/// (gradients e5m2) with a scale a tensor.
inline constexpr std::array<TrainingFormat, 5> training_formats{{
    {"binary32", binary32, false, "products in float"},
    {"tf32", binary32, false, "operands of products rounded to tf32"},
    {"binary16", binary16, true, "FP16"},
    {"bfloat16", bfloat16, false, "BF16"},
    {"e4m3", bfloat16, false, "FP8 products (gradients e5m2), the rest in BF16"},
}};
/// Error with the names.
const TrainingFormat& training_format(std::string_view name);

struct ProductChoice {
  std::string format = "binary16";  ///< of training_formats
  int sm = 90;
  /// "f32", "f16": of the instruction; "reference": sums in float, by Eigen.
  std::string accumulator = "f32";
  int promote_every = 0;  ///< instructions (Accumulation::promote_every)
  Attention attention = Attention::flash;
  std::array<std::string, 3> instruction{};  ///< by Pass; empty: the architecture's usual one
};

/// Error where the architecture has no such instruction, or its operands are not the format's.
ProductSettings tensor_core_products(const ProductChoice& choice);

}  // namespace binade
