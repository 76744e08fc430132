// SPDX-License-Identifier: Apache-2.0
//
// Whole emulated matrix products on all threads: the same bytes for any number of them, and the same as
// `gemm_element`'s.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/gemm/prepared_product.h"

namespace binade {

/// D, m × n, row after row, in the epilogue's output format.
std::vector<std::uint64_t> gemm(const GemmModel& model, const GemmOperands& operands,
                                const GemmProgress& progress = {});

}  // namespace binade
