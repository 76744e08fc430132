// SPDX-License-Identifier: Apache-2.0
//
// How users name a matrix product: an instruction of an architecture, or a chain of rounded
// operations as hand-written kernels and compilers make them, with options for the order of the
// sum.
//
//     mma.m16n8k16.f32.f16.f16.f32     any name of `binade architectures`
//     fma.rn.f32.f16.f16.f32           d = fma(a[k], b[k], d), types in the order d a b c
//     mul_add.rn.f32.f32.f32.f32       d = d + a[k]·b[k], the product rounded as well
//
// A split is spelled PARTS[:RUN|:tileN][:SHARES|:atENDS|:stepsA-B-C][:untilN][:backN][:REDUCTION]
// [:fromN][:tail|:tail-first][:mul_add.TYPE], or, of stream-K, WORKERS[:tileN]:streamMxN[:columns]
// [:firstT|:lastT][:groupsG][:leastN][:descending]:
// "4", "2:16", "3:tile64", "6:tile64:balanced", "3:tile32:at5-13", "32:1:halves", "3:2-0-1",
// "8:from3", "8:1:pairs:tail", "4:1:back4:pairs", "4:1:pairs:tail-first:mul_add.f64",
// "108:tile32:stream128x128:first120".
#pragma once

#include <string>
#include <string_view>

#include "emulate/gemm_model.h"
#include "emulate/tensor_core.h"
#include "lib/evidence/evidence.h"

namespace binade {

/// A model, its name, and how anyone knows it. `sm` is the architecture; it is 0 for chains of
/// rounded operations, which belong to none.
struct NamedGemm {
  std::string instruction;
  int sm = 0;
  Brief known{};
  GemmModel model{};
  /// The rules of the model that a user chose in place of the table's, as options: " with --floor
  /// -126"; empty if there are none.
  std::string rules = {};
};

/// Returns the product of an instruction in plain order: the accumulator begins at +0 and C is
/// added in the epilogue, except that sums of integers begin with C; D has the accumulator's
/// format. Throws Error as parse_instruction does, if the types in a chain's name are wrong, or if
/// the instruction drops its accumulator (scale-d 0).
NamedGemm parse_gemm(std::string_view instruction, int sm);
/// Returns whether the name is that of a chain, for which no architecture is needed. Throws Error
/// if it begins as a chain's but has another rounding than .rn, to nearest with ties to even.
bool is_chain_name(std::string_view instruction);

/// Returns the product of an instruction in plain order, also if the instruction drops its
/// accumulator.
NamedGemm named_gemm(const Instruction& instruction);

/// These two read the values of --split and --k-order, and throw Error with the grammar if the text
/// does not follow it; the next two spell them again.
Split parse_split(std::string_view text);
KOrder parse_k_order(std::string_view text);
std::string spelled(const Split& split);
std::string spelled(const KOrder& order);
/// Spells the value of --promote-scales.
std::string spelled(const PromotionScaling& how);

/// Returns the options of `binade gemm` that make this order and epilogue, without the instruction:
/// "" for the plain order, "--promote-every 4 --split 2:16:pairs".
std::string options_of(const GemmModel& model);

/// Returns the order in words: "K in 2 parts, each a run, added in f32, ascending; k ascending;
/// into f32 every 4 instructions", and behind it what else the epilogue does than to compute and to
/// round once: "the sum rounded to bf16".
std::string order_text(const GemmModel& model);

}  // namespace binade
