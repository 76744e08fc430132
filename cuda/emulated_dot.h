// SPDX-License-Identifier: Apache-2.0
//
// The kernels that compute an element by its definition, `dot`.
#pragma once

#include <cstddef>
#include <string>

#include "cuda/comparison.h"

namespace binade {

struct MatmulPlan;    // matmul_plan.h
struct MatmulArrays;  // emulated_matmul.cuh

/// Starts the comparison of tiles with the emulator. `doing` as for `must`.
void launch_comparison(const Comparison& comparison, const std::string& doing);

/// Starts finish_body of emulated_matmul.cuh for all `elements`.
void launch_finish(const MatmulPlan& plan, const MatmulArrays& arrays, std::size_t elements,
                   const std::string& doing);

}  // namespace binade
