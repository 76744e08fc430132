// SPDX-License-Identifier: Apache-2.0
//
// The models that kernels for sums of products are tried with: those of the instructions, chains, and what each number and
// rule of a model changes, which a kernel may refuse but not ignore.
#pragma once

#include <string>
#include <vector>

#include "emulate/gemm_model.h"

namespace binade::kernel_test {

/// binary16's numbers, but for what a format is not bound to have.
constexpr Format half_of(Specials specials, bool has_zero, bool has_sign, int padding_bits = 0) {
  return {5, 11, 15, specials, has_zero, has_sign, padding_bits};
}

/// A chain in d of products of a.
GemmModel chain(Recipe recipe, const Format& a, const Format& d, int k = 1);

/// A model, and what was changed in it.
struct TriedModel {
  GemmModel g;
  std::string name;
};

/// What differs in what it computes, m and n aside; then a few of those with each change.
const std::vector<TriedModel>& product_models();

}  // namespace binade::kernel_test
