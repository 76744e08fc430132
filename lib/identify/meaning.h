// SPDX-License-Identifier: Apache-2.0
//
// What a model computes at some K, as a hash: two models of equal meaning give the same bits for
// all operands, however they are spelled. Models of different meanings may give the same bits too.
#pragma once

#include <cstdint>

#include "lib/gemm/model_check.h"
#include "lib/gemm/sum_program.h"

namespace binade {

/// Returns the meaning of a model whose program was made for some K; `added` says what the epilogue
/// will be given. The values of alpha and beta, the bias's format and the edge rules are not part
/// of it: models that are compared must have the same.
std::uint64_t meaning_of(const GemmModel& model, const SumProgram& program,
                         const AddedMatrices& added);

}  // namespace binade
