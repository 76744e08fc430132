// SPDX-License-Identifier: Apache-2.0
//
// The rules of fused sums that a user may set in place of the table's, which are those that
// publications disagree about.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "emulate/dot_model.h"

namespace binade {

/// The values of the options --zero-raises, --cut-to-zero and --floor, as the user spells them. A
/// floor is an exponent from -600 to 300, or "none".
struct RuleChoice {
  std::string zero_raises = {}, cut_to_zero = {}, floor = {};  ///< empty: the table's rule

  bool any() const { return !zero_raises.empty() || !cut_to_zero.empty() || !floor.empty(); }
};
inline constexpr std::array<std::string_view, 2> cut_to_zero_names{"positive", "negative"};

/// Returns whether a model has such rules, as fused sums do.
bool has_rules(const DotModel& model);
/// Returns the model with the chosen rules, or unchanged if it has no such rules. Throws Error if a
/// rule is not one of the possible values, also for a model without such rules; the message lists
/// them.
DotModel with_rules(DotModel model, const RuleChoice& rules);
/// The model with the rules that were chosen. Throws Error, which names the instruction, if rules
/// were chosen and the model is no fused sum, and Error if a rule's value is unknown.
DotModel ruled_model(const DotModel& model, const std::string& instruction,
                     const RuleChoice& rules);

/// The command-line words that choose these rules: {"--zero-raises", "single"}; empty if none was
/// chosen.
std::vector<std::string> words_of(const RuleChoice& rules);
/// The same for a message: " with --zero-raises single"; empty if none was chosen.
std::string rule_choice_text(const RuleChoice& rules);

}  // namespace binade
