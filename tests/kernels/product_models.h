// SPDX-License-Identifier: Apache-2.0
//
// The models that kernels for sums of products are tested with: those of the instructions, chains,
// and variants in which one number or rule of a model is changed, which a kernel may refuse but
// must not ignore.
#pragma once

#include <string>
#include <vector>

#include "emulate/gemm_model.h"

namespace binade::kernel_test {

/// Returns a format with binary16's exponents and fractions, and other specials, zero, sign or
/// padding.
constexpr Format half_of(Specials specials, bool has_zero, bool has_sign, int padding_bits = 0) {
  return {5, 11, 15, specials, has_zero, has_sign, padding_bits};
}

/// Returns the model of a chain in d of products of operands of format a, k of them in an
/// instruction.
GemmModel chain(Recipe recipe, const Format& a, const Format& d, int k = 1);

/// A model, and a name that says what was changed in it.
struct TriedModel {
  GemmModel g;
  std::string name;
};

/// Returns one model for each instruction that computes something else (sizes m and n do not
/// count); then a few of them with each change.
const std::vector<TriedModel>& product_models();

}  // namespace binade::kernel_test
