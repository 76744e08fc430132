// SPDX-License-Identifier: Apache-2.0
//
// The options --zero-raises, --floor and --cut-to-zero: they replace rules of fused sums in which
// publications differ, for users whose GPU follows another rule than our table says.
#pragma once

#include "lib/cli/parser.h"
#include "lib/instruction/rule_choice.h"

namespace binade {

/// Declares the three options. `rules` must live as long as the command.
void add_rule_options(App app, RuleChoice& rules);

}  // namespace binade
