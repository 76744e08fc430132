// SPDX-License-Identifier: Apache-2.0
//
// The options that follow another rule than ours where publications differ, for who has such a GPU.
#pragma once

#include "lib/cli/options.h"
#include "lib/evidence/rivals.h"

namespace binade {

void add_rule_options(App app, RuleChoice& rules);

/// The words that choose them again.
std::vector<std::string> words_of(const RuleChoice& rules);

}  // namespace binade
