// SPDX-License-Identifier: Apache-2.0
//
// Elements that are each one of the two numbers of D's format beside the exact sum, as stochastic
// rounding leaves them, or a rounding that is no nearest one.
#pragma once

#include <string>

#include "lib/identify/change_fit.h"

namespace binade {

/// Returns in words how the elements lie beside the exact sums; "" if some lie elsewhere, or if all
/// are rounded to nearest.
std::string neighbours_words(const KernelCase& given, const NearSums& sums);

}  // namespace binade
