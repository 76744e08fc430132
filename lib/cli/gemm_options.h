// SPDX-License-Identifier: Apache-2.0
//
// The options that say which product is meant: matrices, instruction, order, epilogue. Shared by the
// commands that compute, validate and explain one.
#pragma once

#include <string>
#include <vector>

#include "lib/cli/options.h"
#include "lib/cli/rule_options.h"
#include "lib/gemm/account_json.h"
#include "lib/gemm/files.h"
#include "lib/gemm/named_gemm.h"
#include "lib/io/output_paths.h"

namespace binade {

struct GemmOptions {
  std::string architecture, instruction;
  GemmFiles files;
  std::string c, bias;
  std::string k_order = "ascending", promote_every, partial;
  std::vector<std::string> splits;
  bool c_first = false;
  double alpha = 1, beta = 1;
  std::string fused = "alpha", epilogue_format, out_format;
  bool saturate = false;
  RuleChoice rules;
};

/// Positionals A B [C] and everything else.
void add_gemm_options(App app, GemmOptions& options);

/// Error: what of the options does not go together.
NamedGemm model_of(const GemmOptions& options);

/// A kernel's D that has a floating dtype says what the output format is, where no option does.
void adopt_output(const GemmOptions& options, const std::string& d, GemmModel& model);

/// Their files.
std::vector<InputPath> inputs_of(const GemmOptions& options);

/// The matrices; the model learns the formats of C and the bias.
GemmOperands operands_of(const GemmOptions& options, GemmModel& model);

/// "sm_90 mma.m16n8k16.f32.f16.f16.f32", a chain's name alone, and the rules that were chosen.
std::string headline(const NamedGemm& named);

/// Error where rules were chosen of which an account cannot tell.
void check_has_account(const GemmOptions& options);
/// What its account is called.
GemmTitle title_of(const GemmOptions& options, const NamedGemm& named);

}  // namespace binade
