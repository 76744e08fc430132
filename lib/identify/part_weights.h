// SPDX-License-Identifier: Apache-2.0
//
// Mistakes that are weights: parts of K that a kernel left out or counted twice, and factors of all
// sums, of C or of the bias.
#pragma once

#include <vector>

#include "lib/identify/change.h"

namespace binade {

/// Returns the changes that whole weights of parts of K mean, and those that factors mean, where
/// least squares of D by the parts leave little.
std::vector<Change> weighed_changes(const KernelCase& given);

/// Solves the normal equations of least squares, whose matrix is n × n and given by its lower half;
/// returns nothing if they are singular.
std::vector<double> least_squares(std::vector<double> matrix, std::vector<double> right);

}  // namespace binade
