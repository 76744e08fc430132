// SPDX-License-Identifier: Apache-2.0
//
// The rules of fused sums that a user may set in place of the table's: those in which publications differ.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "emulate/dot_model.h"

namespace binade {

/// Rules that a user may set, as options of the commands spell them.
struct RuleChoice {
  std::string zero_raises = {}, cut_to_zero = {}, floor = {};  ///< empty: as the table has it

  bool any() const { return !zero_raises.empty() || !cut_to_zero.empty() || !floor.empty(); }
};
inline constexpr std::array<std::string_view, 2> cut_to_zero_names{"positive", "negative"};

/// Whether the model has such rules: fused sums.
bool has_rules(const DotModel& model);
/// The model with the rules that were chosen; as it is where it has none. Error with what may be chosen.
DotModel with_rules(DotModel model, const RuleChoice& rules);

}  // namespace binade
