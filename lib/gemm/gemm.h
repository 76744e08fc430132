// SPDX-License-Identifier: Apache-2.0
//
// Whole emulated matrix products on all threads. The bytes are the same for any number of threads,
// and each element equals that of `gemm_element` (emulate/gemm.h).
#pragma once

#include <cstdint>
#include <vector>

#include "emulate/gemm_model.h"
#include "lib/gemm/operands.h"
#include "lib/gemm/progress.h"

namespace binade {

/// Returns D, m × n, row after row, in the epilogue's output format. Throws Error if a matrix has
/// another size than m, n and k say (operands.h), or if a member of the model is outside of its
/// range (model_check.h).
std::vector<std::uint64_t> gemm(const GemmModel& model, const GemmOperands& operands,
                                const GemmProgress& progress = {});

}  // namespace binade
