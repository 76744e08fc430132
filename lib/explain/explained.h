// SPDX-License-Identifier: Apache-2.0
//
// The arguments of `binade explain`, and the explanation that they request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/explain/explanation.h"
#include "lib/gemm/dot_files.h"
#include "lib/gemm/gemm_words.h"
#include "lib/instruction/rule_choice.h"

namespace binade {

/// How an explanation is written.
struct ExplainOutput {
  bool json = false, all = false;
  std::optional<int> block;  ///< the block to show in full, from 1
  std::string svg;           ///< file to draw; empty: none
};

/// The arguments of `binade explain dots`, whose operands are a row of arrays, a row of a
/// recording, or typed products.
struct OneDot {
  DotOptions dots;
  std::string recording, terms, addend;  ///< empty: not given; beside terms, scales are typed too
  std::optional<std::uint64_t> row;      ///< from 0
  RuleChoice rules;
  ExplainOutput output;
};

/// The arguments of `binade explain gemm`: one element of a whole product.
struct OneElement {
  GemmOptions product;
  std::vector<std::uint64_t> element;  ///< two numbers: row and column, from 0
  std::string d;                       ///< file of what the hardware gave; empty: none
  ExplainOutput output;
};

/// Reads the operands and explains their sum. Throws Error if arguments do not go together, a file
/// cannot be used, or there is no such row or element.
Explanation explained(const OneDot& options);
Explanation explained(const OneElement& options);

}  // namespace binade
