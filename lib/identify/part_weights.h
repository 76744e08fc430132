// SPDX-License-Identifier: Apache-2.0
//
// Mistakes that are weights: parts of K that a kernel left out or counted twice, and factors of all
// sums, of C or of the bias.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lib/identify/change.h"

namespace binade {

/// Returns the changes that whole weights of parts of K mean, and those that factors mean, where
/// least squares of D by the parts leave little; these are of `measured`, the case or some of its
/// elements. The changes refer to the arrays of `given`.
std::vector<Change> weighed_changes(const KernelCase& given, const KernelCase& measured);

/// Factors of equal runs of K, of which the last may be shorter.
struct GroupFactors {
  std::size_t length = 0;
  std::vector<double> factors;  ///< as people choose them, if such numbers lie within the errors
  std::string words;            ///< those that are not 1
};

/// Returns the factors of the longest runs of K by which D is the sum of their products, if they
/// differ and one is no whole number. Nothing if the case has a C, a bias or an alpha.
std::optional<GroupFactors> group_factors(const KernelCase& given);

/// Solves the normal equations of least squares, whose matrix is n × n and given by its lower half;
/// returns nothing if they are singular.
std::vector<double> least_squares(std::vector<double> matrix, std::vector<double> right);

}  // namespace binade
