// SPDX-License-Identifier: Apache-2.0
//
// The matrices of a product, as encodings of the model's formats or as numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulate/gemm.h"
#include "lib/gemm/row_groups.h"

namespace binade {

/// Scales of runs of K, `length` elements each but a shorter last one: those of A's rows and of
/// B's columns, line after line, in binary32. A matrix without scales has none.
struct RunScales {
  std::size_t length = 0;
  std::vector<std::uint32_t> a = {}, b = {};

  bool any() const { return !a.empty() || !b.empty(); }
  /// Returns how many runs a line of k elements has.
  std::size_t count(std::size_t k) const { return length == 0 ? 0 : (k + length - 1) / length; }
  /// Gives each `to` elements a scale of their own; `to` divides the length.
  void divide(std::size_t to, std::size_t k);
  /// Returns the scales of a line, or null.
  const std::uint32_t* of_line(const std::vector<std::uint32_t>& scales, std::size_t line,
                               std::size_t k) const {
    return scales.empty() ? nullptr : scales.data() + line * count(k);
  }
};

/// Returns what an element of D is made of: line i of a, line j of b, that of the row's group if
/// there are groups, c at its place.
template <class Matrices>
GemmElement<std::uint64_t> element_of(const Matrices& x, std::size_t i, std::size_t j,
                                      std::size_t at) {
  std::size_t column = j;
  if constexpr (requires { x.groups; }) column = x.groups.column(i, j, x.n);
  return {x.a.data() + i * x.k,
          x.b.data() + column * x.k,
          static_cast<int>(x.k),
          x.c.empty() ? 0 : x.c[at],
          x.bias.empty() ? 0 : x.bias[column],
          !x.c.empty(),
          !x.bias.empty(),
          x.a_scale.empty() ? 0 : x.a_scale[i],
          x.b_scale.empty() ? 0 : x.b_scale[column],
          !x.a_scale.empty(),
          !x.b_scale.empty(),
          {i, j, x.m, x.n},
          x.runs.of_line(x.runs.a, i, x.k),
          x.runs.of_line(x.runs.b, column, x.k)};
}

/// Matrices as encodings. a is m × k, row after row; b is k × n, column after column, so that a dot
/// product runs along both; c is m × n, row after row, or empty; bias has n elements, one for each
/// column, or is empty. The scales of A's rows and of B's columns are of binary32, m and n of them,
/// or none. Where rows are in groups, b, bias and the scales of columns are those of all groups,
/// one group after the other; elements of D in rows of no group are 0.
struct GemmOperands {
  std::size_t m = 0, n = 0, k = 0;
  std::vector<std::uint64_t> a = {}, b = {}, c = {}, bias = {};
  std::vector<std::uint64_t> a_scale = {}, b_scale = {};
  RunScales runs = {};
  RowGroups groups = {};

  /// Returns what element (i, j) of D is made of; row i is in a group.
  GemmElement<std::uint64_t> element(std::size_t i, std::size_t j) const {
    return element_of(*this, i, j, i * n + j);
  }
};

/// Returns the product of the rows of a group, in their order; it may have none.
GemmOperands product_of_group(const GemmOperands& x, std::size_t group);

/// Returns which scales are no finite numbers, in words: "2 scales of A are no numbers, the first
/// of row 3, run 1 of K"; empty if all are.
std::string special_scales(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                           const RunScales& runs, std::size_t k);

/// How large a product is, and how many elements its matrices have.
struct OperandSizes {
  std::size_t m = 0, n = 0, k = 0;
  std::size_t a = 0, b = 0, c = 0, bias = 0, a_scale = 0, b_scale = 0;
  std::size_t a_runs = 0, b_runs = 0, runs = 0;  ///< scales of runs, and how many a line has
  std::size_t groups = 1, grouped_rows = 0;      ///< how many B, and of how many rows the group
};
template <class Matrices>
OperandSizes sizes_of(const Matrices& x) {
  OperandSizes out{x.m, x.n, x.k, x.a.size(), x.b.size(), x.c.size(), x.bias.size()};
  if constexpr (requires { x.a_scale; }) {
    out.a_scale = x.a_scale.size();
    out.b_scale = x.b_scale.size();
    out.a_runs = x.runs.a.size();
    out.b_runs = x.runs.b.size();
    out.runs = x.runs.count(x.k);
  }
  if constexpr (requires { x.groups; }) {
    out.groups = x.groups.count;
    out.grouped_rows = x.groups.of_row.size();
  }
  return out;
}

/// Throws Error unless a has m·k elements, b k·n, c m·n or none, the bias n or none, the scales m
/// and n or none, and those of runs as many for each line as it has runs, or none, where m and n
/// are from 1 to 2^31 and k is at most 2^30; of groups, b, bias and scales of columns as often.
/// gemm(), account() and check_gemm() call this first.
void check(const OperandSizes& x);

/// Throws Error, which begins with the name of a matrix, if it has another number of elements than
/// it should.
void require_elements(std::string_view what, std::size_t size, std::size_t wanted);

/// Lines of numbers, wherever they lie in memory: operand k of line i is values[starts[i] +
/// offsets[k]]. All numbers between the first and the last operand must be readable; those that are
/// no operands have no effect on D.
struct ValueLines {
  const float* values = nullptr;
  std::span<const std::int64_t> starts;
  std::span<const std::int32_t> offsets;

  float at(std::size_t line, std::size_t k) const { return values[starts[line] + offsets[k]]; }
};

/// Owns the starts and offsets of ValueLines.
struct LinePlaces {
  std::vector<std::int64_t> starts;
  std::vector<std::int32_t> offsets;

  /// Returns the places of lines of k operands that lie one after the other.
  static LinePlaces dense(std::size_t lines, std::size_t k) {
    LinePlaces out{std::vector<std::int64_t>(lines), std::vector<std::int32_t>(k)};
    for (std::size_t i = 0; i < lines; ++i) out.starts[i] = static_cast<std::int64_t>(i * k);
    std::iota(out.offsets.begin(), out.offsets.end(), 0);
    return out;
  }
  ValueLines of(const float* values) const { return {values, starts, offsets}; }
};

/// Matrices as numbers on the grids of the model's formats, without C: rows of a and columns of b.
/// The bias, if not empty, is a vector of binary32.
struct GemmValues {
  ValueLines a, b;
  std::span<const float> bias;
};

}  // namespace binade
