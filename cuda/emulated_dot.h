// SPDX-License-Identifier: Apache-2.0
//
// Launches of the kernels that compute an element by its definition, `dot` of emulate/dot.h.
#pragma once

#include <cstddef>
#include <string>

#include "cuda/comparison.h"

namespace binade {

struct MatmulPlan;    // matmul_plan.h
struct MatmulArrays;  // emulated_matmul.cuh

/// Starts the comparison of tiles with the emulator. Throws Error, with `doing` as for `must`, if
/// the launch fails.
void launch_comparison(const Comparison& comparison, const std::string& doing);

/// Starts finish_body (emulated_matmul.cuh) for all `elements` of d. Throws Error, with `doing` as
/// for `must`, if the launch fails.
void launch_finish(const MatmulPlan& plan, const MatmulArrays& arrays, std::size_t elements,
                   const std::string& doing);

}  // namespace binade
