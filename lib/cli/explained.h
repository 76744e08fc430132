// SPDX-License-Identifier: Apache-2.0
//
// What `binade explain` is asked for, and the explanation of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/cli/dot_options.h"
#include "lib/cli/gemm_options.h"
#include "lib/evidence/rule_choice.h"
#include "lib/explain/explanation.h"

namespace binade {

/// How an explanation is written.
struct ExplainOutput {
  bool json = false, all = false;
  std::optional<int> block;
  std::string svg;
};

/// One instruction: a row of arrays or of a recording, or products that were typed.
struct OneDot {
  DotOptions dots;
  std::string recording, terms, addend;
  std::optional<std::uint64_t> row;
  RuleChoice rules;
  ExplainOutput output;
};

/// One element of a whole product.
struct OneElement {
  GemmOptions product;
  std::vector<std::uint64_t> element;
  std::string d;
  ExplainOutput output;
};

Explanation explained(const OneDot& options);
Explanation explained(const OneElement& options);

}  // namespace binade
