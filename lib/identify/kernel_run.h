// SPDX-License-Identifier: Apache-2.0
//
// What a kernel was given and what it returned: the facts that a model must explain bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/gemm/operands.h"

namespace binade {

/// The types of the matrices, as they lie in memory.
struct KernelTypes {
  Format a, b, c, d, bias;

  friend constexpr bool operator==(const KernelTypes&, const KernelTypes&) = default;
};

/// One run, as encodings. For a product a is m × k, row after row; b is k × n, column after column;
/// c and d are m × n; the bias has n elements. For dot products element i is made of row i of a,
/// row i of b and c[i], and m = n is their number. c and bias are empty if there are none, and so
/// are the scales, m of A's rows and n of B's columns, of binary32. Zero points and a bias of
/// integers are part of c (lib/gemm/scales.h).
struct KernelRun {
  std::size_t m = 0, n = 0, k = 0;
  bool dots = false;
  std::vector<std::uint64_t> a = {}, b = {}, c = {}, bias = {}, d = {};
  std::vector<std::uint64_t> a_scale = {}, b_scale = {};
  RunScales runs = {};
  std::string c_words = "C";  ///< what c is the sum of: "C", "zero points and the bias"
  std::vector<std::int32_t> a_zeros = {}, b_zeros = {};  ///< zero points that c accounts for
  /// Of one group of rows (grouped_runs.h): what it is called, and which rows of A and D it has.
  std::string name = {};
  std::vector<std::size_t> rows = {};

  std::size_t size() const { return d.size(); }
  std::size_t row(std::size_t element) const { return dots ? element : element / n; }
  std::size_t column(std::size_t element) const { return dots ? element : element % n; }
  GemmElement<std::uint64_t> element(std::size_t at) const {
    return element_of(*this, row(at), column(at), at);
  }
};

/// Throws Error, which says the number of the run, unless its arrays are as large as m, n and k
/// say, which are at least 1 and k at most 2^30, and unless the types have a format for its bias.
void check(const KernelRun& run, std::size_t number, const KernelTypes& types);

/// Returns some elements of a run as dot products.
KernelRun dots_of(const KernelRun& run, std::span<const std::size_t> elements);

/// Returns the operands of a run that is a product.
inline GemmOperands operands_of(const KernelRun& x) {
  return {x.m, x.n, x.k, x.a, x.b, x.c, x.bias, x.a_scale, x.b_scale, x.runs};
}

/// What the user knows about the epilogue.
struct KnownEpilogue {
  double alpha = 1, beta = 1;
};

}  // namespace binade
