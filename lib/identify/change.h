// SPDX-License-Identifier: Apache-2.0
//
// A mistake that a kernel may have made, as a change of what it was given or of what it gave: under
// the right one, a model explains the bits. Changes are functions of places, so that a few elements
// of a large product cost little.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/identify/kernel_run.h"

namespace binade {

/// One run with all that decides its D.
struct KernelCase {
  KernelTypes types{};
  KernelRun run;
  KnownEpilogue epilogue{};
};

/// Codes stand in the formats `as_a`, `as_b`, `as_c` and `as_d`, if these are set; a function that
/// is not set leaves the matrix as it is.
struct Change {
  std::string words;
  std::function<std::uint64_t(std::size_t i, std::size_t k)> a = {};  ///< in row i of A
  std::function<std::uint64_t(std::size_t j, std::size_t k)> b = {};  ///< in column j of B
  std::function<std::uint64_t(std::size_t at)> c = {}, d = {};
  std::function<std::uint64_t(std::size_t line)> a_scale = {}, b_scale = {};
  /// Of a line's run of K, in binary32.
  std::function<std::uint32_t(std::size_t line, std::size_t run)> a_runs = {}, b_runs = {};
  std::optional<Format> as_a = {}, as_b = {}, as_c = {}, as_d = {};
  std::vector<std::size_t> places = {};  ///< the k that are summed, in turn; empty: all
  /// So many runs of K have one scale, by which their sum is promoted at once: that of the first.
  std::size_t joined_runs = 1;
  bool without_c = false, without_bias = false;
  double alpha = 1, beta = 1;  ///< factors of the sum and of C, besides the known ones
  std::string options = {};    ///< of `binade gemm` that make it; empty: none does

  /// Whether the models that take part are those of the case without the change.
  bool has_same_models() const {
    return !as_a && !as_b && !as_c && !as_d && places.empty() && joined_runs == 1 && !without_c &&
           !without_bias && !c && alpha == 1 && beta == 1;
  }
};

/// Returns the case under a change: of a product these rows and columns of D, of dots (or if `dots`
/// is set, of a product) the elements of rows[i] and columns[i].
KernelCase part_of(const KernelCase& given, const Change& change,
                   const std::vector<std::size_t>& rows, const std::vector<std::size_t>& columns,
                   bool dots);
/// Returns the whole case under a change.
KernelCase changed(const KernelCase& given, const Change& change);

/// Returns a format narrower than D's that holds all of its numbers, if there is one.
std::optional<Format> narrower_d(const KernelCase& x);
/// Returns the change that takes D for numbers of that format, if there is one.
std::optional<Change> rounded_d(const KernelCase& given);
/// Returns the usual mistakes that can be made with these matrices: transposed, rounded or read
/// otherwise, the ends of K, C and the bias.
std::vector<Change> usual_changes(const KernelCase& given);

}  // namespace binade
