// SPDX-License-Identifier: Apache-2.0
//
// The options --zero-raises, --floor and --cut-to-zero: they replace rules of fused sums in which publications differ, for
// users whose GPU follows another rule than our table says.
#pragma once

#include <string>
#include <vector>

#include "lib/cli/parser.h"
#include "lib/evidence/rule_choice.h"

namespace binade {

/// Declares the three options. `rules` must live as long as the command.
void add_rule_options(App app, RuleChoice& rules);

/// The model with the rules that were chosen. Throws Error, which names the instruction, if rules were chosen and the model
/// is no fused sum, and Error if a rule's value is unknown.
DotModel ruled_model(const DotModel& model, const std::string& instruction,
                     const RuleChoice& rules);

/// The command-line words that choose these rules: {"--zero-raises", "single"}; empty if none was chosen.
std::vector<std::string> words_of(const RuleChoice& rules);
/// The same for a message: " with --zero-raises single"; empty if none was chosen.
std::string rule_choice_text(const RuleChoice& rules);

}  // namespace binade
