// SPDX-License-Identifier: Apache-2.0
//
// Options that cannot do anything beside what else was asked for. Who gave one expects something of
// it, so it is refused: each command has a table of what leaves which of its options without
// effect.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace binade {

struct IdleOption {
  std::string name;         ///< "--partial"
  bool idle = false;        ///< whether it was given, not with its default, and has no effect
  std::string because;      ///< "without --split"
  std::string remedy = {};  ///< what to do but leave it out; empty: nothing
};

/// Throws Error for the first option that is idle: "--partial has no effect without --split: leave
/// it out". The message begins with `where`.
void refuse_idle(std::span<const IdleOption> options, std::string_view where = "");

}  // namespace binade
