// SPDX-License-Identifier: Apache-2.0
//
// The settings of a training's products, from names: an architecture, the format of the operands
// and the accumulator, or one instruction for each pass.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "lib/train/product.h"

namespace binade {

/// The format of the products' operands, and the dtype of ops that goes with it.
struct TrainingFormat {
  std::string_view name;  ///< "binary32", "tf32", "binary16", "bfloat16", "e4m3"
  Format dtype;           ///< dtype of ops under autocast; binary32: no autocast
  /// Gradients need a loss scale: of the dtypes here, only binary16's range is that short.
  bool scaled;
  std::string_view what;
};
/// The formats in which a training can multiply. e4m3 is Transformer Engine's recipe HYBRID: ops in
/// bfloat16, products of e4m3 operands (gradients e5m2) with one scale per tensor.
inline constexpr std::array<TrainingFormat, 5> training_formats{{
    {"binary32", binary32, false, "products in float"},
    {"tf32", binary32, false, "operands of products rounded to tf32"},
    {"binary16", binary16, true, "FP16"},
    {"bfloat16", bfloat16, false, "BF16"},
    {"e4m3", bfloat16, false, "FP8 products (gradients e5m2), the rest in BF16"},
}};
/// Returns the row of a format by the name in it or another name of that format ("fp16"). Throws
/// Error, which lists the names in the table, if there is none.
const TrainingFormat& training_format(std::string_view name);

struct ProductChoice {
  std::string format = "binary16";  ///< a name in training_formats
  int sm = 90;                      ///< the architecture: 90 is sm_90
  /// "f32" or "f16": the instruction's accumulator; "reference": no instruction, sums in float by
  /// Eigen.
  std::string accumulator = "f32";
  int promote_every = 0;  ///< in instructions; see Accumulation::promote_every
  Attention attention = Attention::flash;
  std::array<std::string, 3> instruction{};  ///< by Pass; empty: the architecture's usual one
};

/// Returns the settings. Throws Error if the format is unknown, the architecture has no such
/// instruction, binary32 does not hold its operands, or the accumulator is "reference" with tf32 or
/// e4m3.
ProductSettings tensor_core_products(const ProductChoice& choice);

}  // namespace binade
