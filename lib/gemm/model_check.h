// SPDX-License-Identifier: Apache-2.0
//
// Whether a GemmModel that a program set by hand can be multiplied with. Models that parse_gemm()
// gave can, as long as no member is set to what --k-order, --split and --promote-every refuse.
#pragma once

#include "emulate/gemm_model.h"

namespace binade {

/// What a product has beside A and B. Of a matrix that is absent the format is not looked at.
struct AddedMatrices {
  bool c = true, bias = true;
  bool a_scale = false, b_scale = false;  ///< scales of A's rows and of B's columns
  std::size_t run = 0;                    ///< elements of K that share a scale; 0: none do
  std::size_t k = 0;
  bool groups = false;  ///< rows are in groups, each with a B of its own
};

template <class Matrices>
bool has_groups(const Matrices& x) {
  if constexpr (requires { x.groups; }) return x.groups.any();
  return false;
}

template <class Matrices>
AddedMatrices added_in(const Matrices& x) {
  return {!x.c.empty(),
          !x.bias.empty(),
          !x.a_scale.empty(),
          !x.b_scale.empty(),
          x.runs.any() ? x.runs.length : 0,
          x.k,
          has_groups(x)};
}

/// Throws Error, which names the member, if a number of the model, of its order or of its splits is
/// outside of its range, if an enumeration has no such value, or if a format is not one that the
/// emulator computes with, or if the scales of runs of K are not those that the model multiplies
/// by, each of its promotions or groups by those of one run, or if stream-K divides rows in groups.
/// gemm(), account(), check_gemm() and rounded_operands() call this first.
void check(const GemmModel& model, const AddedMatrices& added = {});

}  // namespace binade
