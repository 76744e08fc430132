// SPDX-License-Identifier: Apache-2.0
//
// Which of NVIDIA's compilation targets (sm_90, sm_90a, sm_100f, …) have an instruction.
#pragma once

#include <array>

namespace binade {

/// The target that a piece of machine code was compiled for, or the lowest target that has an
/// instruction. As a lowest target, {90, ' '} stands for sm_90 and everything above it.
struct SmTarget {
  int sm = 0;
  /// In a lowest target, 'f' stands for family-specific targets only (100f, 103f, 120f, … and the
  /// same with an a), and 'a' for those of arch_specific only.
  char suffix = ' ';

  friend constexpr bool operator==(const SmTarget&, const SmTarget&) = default;
};

/// The sm numbers of the targets, such as sm_100a, that have what is there for {100, 'a'}: PTX's
/// cvt.rs.
inline constexpr std::array arch_specific{100, 103};

/// Returns whether code for `target`, whose suffix is ' ', 'f' or 'a', can use an instruction whose
/// lowest target is `lowest`.
constexpr bool has_instruction(const SmTarget& target, const SmTarget& lowest) {
  switch (lowest.suffix) {
    case 'a':
      for (const int sm : arch_specific) {
        if (target.sm == sm) return target.suffix == 'a';
      }
      return false;
    case 'f': return target.suffix != ' ' && target.sm >= lowest.sm;
    default: return target.sm >= lowest.sm;
  }
}

}  // namespace binade
