// SPDX-License-Identifier: Apache-2.0
//
// Whole emulated matrix products on all threads: the same bytes for any number of them, and the same as
// `gemm_element`'s.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "lib/gemm/operands.h"

namespace binade {

/// Told now and then how many of the m rows are done; calls never overlap.
using GemmProgress = std::function<void(std::size_t rows)>;

/// D, m × n, row after row, in the epilogue's output format.
std::vector<std::uint64_t> gemm(const GemmModel& model, const GemmOperands& operands,
                                const GemmProgress& progress = {});

}  // namespace binade
