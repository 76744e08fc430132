// SPDX-License-Identifier: Apache-2.0
//
// Which NVIDIA targets have an instruction, and which target a piece of machine code was made for.
#pragma once

namespace binade {

/// The lowest target that has an instruction: {90, ' '} is sm_90 and everything above it.
struct SmTarget {
  int sm = 0;
  /// 'f': only family-specific targets from here (100f, 103f, 120f, … and their a).
  /// 'a': only sm_100a and sm_103a.
  char suffix = ' ';

  friend constexpr bool operator==(const SmTarget&, const SmTarget&) = default;
};

/// Whether code for `target` (its suffix is ' ', 'f' or 'a') may use what is there from `lowest` on.
constexpr bool has_instruction(const SmTarget& target, const SmTarget& lowest) {
  switch (lowest.suffix) {
    case 'a': return target.suffix == 'a' && (target.sm == 100 || target.sm == 103);
    case 'f': return target.suffix != ' ' && target.sm >= lowest.sm;
    default: return target.sm >= lowest.sm;
  }
}

}  // namespace binade
