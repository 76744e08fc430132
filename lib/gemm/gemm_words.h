// SPDX-License-Identifier: Apache-2.0
//
// How a user names a matrix product, by options or arguments: files, instruction, order, epilogue.
// And the model and the operands that the words mean.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/gemm/account_json.h"
#include "lib/gemm/files.h"
#include "lib/gemm/named_gemm.h"
#include "lib/instruction/rule_choice.h"
#include "lib/io/output_paths.h"

namespace binade {

/// The values of the options of `binade gemm` that have the same names; empty: not given.
struct GemmOptions {
  std::string architecture, instruction;
  GemmFiles files;
  std::string c, bias;  ///< files of C and of the bias
  std::string k_order = "ascending", promote_every, partial;
  std::vector<std::string> splits;
  std::string reduce_in;
  bool c_first = false;
  double alpha = 1, beta = 1;
  std::string fused = "alpha", epilogue_format, out_format;
  bool saturate = false;
  std::string sum_format, out_through, out_rounding = "ties_to_even";
  std::uint64_t seed = 0;  ///< of stochastic rounding
  bool relu = false;
  std::string activation = "none";
  std::string scale_order = "a-first";
  std::string promote_scales = "together";  ///< how scales of blocks multiply: ORDER[:rounded]
  bool bias_first = false;
  RuleChoice rules;
};

/// The model that the options name. Throws Error if an option is wrong, if two of them do not go
/// together, or if one can have no effect on any product of this model.
NamedGemm model_of(const GemmOptions& options);
/// Throws Error if an option can have no effect on the product of these files, such as --beta
/// without C, and with the model's output format, after adopt_output. Not for models that are used
/// for many products.
void check_effects(const GemmOptions& options, const GemmModel& model);
/// Whether the epilogue does more with these files than round the sum, so that --epilogue-format
/// has an effect.
bool computes_epilogue(const GemmOptions& options, const GemmModel& model);

/// Sets the model's output format to that of the file `d`, which a kernel wrote, if it has a
/// floating dtype, no option names the format, and the product is not one of integers.
void adopt_output(const GemmOptions& options, const std::string& d, GemmModel& model);

/// The files of A, B, C and the bias, each with the name of its option; the path of one that was
/// not given is empty.
std::vector<InputPath> inputs_of(const GemmOptions& options);

/// Reads the matrices, and sets the formats of C and of the bias in the model. Throws Error if a
/// file cannot be read or a shape does not fit, or if scales take the place of the model's alpha.
GemmOperands operands_of(const GemmOptions& options, GemmModel& model);

/// The product in a line: "sm_90 mma.m16n8k16.f32.f16.f16.f32", or the name of a chain without an
/// architecture, and behind it the rules that were chosen.
std::string headline(const NamedGemm& named);

/// Throws Error if --zero-raises was given, of which an account of losses cannot tell.
void check_has_account(const GemmOptions& options);
/// The heading of the product's account of losses.
GemmTitle title_of(const GemmOptions& options, const NamedGemm& named);

}  // namespace binade
