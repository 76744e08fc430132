// SPDX-License-Identifier: Apache-2.0
//
// How users name a matrix product: an instruction of an architecture, or a chain of rounded operations
// as hand-written kernels and compilers make them, and words for the order around it.
//
//     mma.m16n8k16.f32.f16.f16.f32     any name of `binade architectures`
//     fma.rn.f32.f16.f16.f32           d = fma(a[k], b[k], d), types in the order d a b c
//     mul_add.rn.f32.f32.f32.f32       d = d + a[k]·b[k], the product rounded as well
//
// A split is spelled PARTS[:RUN|:tileN][:REDUCTION][:tail]: "4", "2:16", "3:tile64", "32:1:halves", "8:1:pairs:tail".
#pragma once

#include <string>
#include <string_view>

#include "emulate/gemm_model.h"
#include "emulate/tensor_core.h"
#include "lib/evidence/evidence.h"

namespace binade {

/// A model and how anyone knows it. sm is 0 for chains of rounded operations, which no architecture
/// owns.
struct NamedGemm {
  std::string instruction;
  int sm = 0;
  Brief known{};
  GemmModel model{};
  std::string rules =
      {};  ///< of the model where they are not the table's, as options: " with --floor -126"
};

/// The product of an instruction: plain order, accumulator from +0, C in the epilogue, output in the
/// accumulator's format. Error as parse_instruction's.
NamedGemm parse_gemm(std::string_view instruction, int sm);
/// Whether the name is one of a chain, for which no architecture is needed.
bool is_chain_name(std::string_view instruction);

NamedGemm named_gemm(const Instruction& instruction);

/// Error with the grammar.
Split parse_split(std::string_view text);
KOrder parse_k_order(std::string_view text);
std::string spelled(const Split& split);
std::string spelled(const KOrder& order);

/// The options of `binade gemm` that make this order and epilogue, without the instruction: "" for the
/// plain one, "--promote-every 4 --split 2:16:pairs".
std::string options_of(const GemmModel& model);

/// The same in words: "accumulator promoted to binary32 every 4 instructions; K in 2 parts, ...".
std::string order_text(const GemmModel& model);

}  // namespace binade
