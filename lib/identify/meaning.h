// SPDX-License-Identifier: Apache-2.0
//
// What a model computes at some K, as a number: two models with the same meaning give the same bits for
// all operands, however they are spelled. The other way round nothing is promised.
#pragma once

#include <cstdint>

#include "lib/gemm/sum_program.h"

namespace binade {

/// `has_c` and `has_bias`: what the epilogue will find.
std::uint64_t meaning_of(const GemmModel& model, const SumProgram& program, bool has_c,
                         bool has_bias);

}  // namespace binade
