// SPDX-License-Identifier: Apache-2.0
//
// The options that follow another rule than ours where publications differ, for who has such a GPU.
#pragma once

#include <string>
#include <vector>

#include "lib/cli/options.h"
#include "lib/evidence/rule_choice.h"

namespace binade {

void add_rule_options(App app, RuleChoice& rules);

/// The model of one instruction under them; Error where it has no such rules.
DotModel ruled_model(const DotModel& model, const std::string& instruction,
                     const RuleChoice& rules);

/// The words that choose them again.
std::vector<std::string> words_of(const RuleChoice& rules);
/// " with --zero-raises single"; empty: the table's.
std::string rule_choice_text(const RuleChoice& rules);

}  // namespace binade
