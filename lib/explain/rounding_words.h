// SPDX-License-Identifier: Apache-2.0
//
// One rounding in words: what `project` (emulate/project.h) made of a literal, what was rounded
// away, and which rule decided it. The bits and flags come from `project`; the rest is computed
// beside it, exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emulate/project.h"
#include "lib/explain/literal.h"
#include "lib/format/format_spec.h"
#include "lib/number/decimal.h"

namespace binade {

/// Where |x| lies on the format's grid, as if its range had no upper end.
struct Placement {
  Dyadic lower;      ///< largest number of the grid that is not above |x|; it may be 0
  Dyadic tie;        ///< half-way point between lower and upper
  Dyadic upper;      ///< lower plus one unit in the last place
  Decimal fraction;  ///< |x| - lower in units in the last place, from 0 up to but not including 1
};

struct RoundedLiteral {
  std::uint64_t bits = 0;
  Flags flags = 0;
  std::string words = {};                    ///< "a tie between 0 and 2^-24, to even"
  std::optional<Placement> placement = {};   ///< for a finite literal other than zero
  std::optional<Decimal> rounded_away = {};  ///< |result - x|, if both are finite
};

/// Rounds a literal that is not an encoding of the format itself. Only stochastic rounding uses
/// `random`.
RoundedLiteral round_literal(const Literal& literal, const NamedOrCustom& format,
                             const Attributes& attributes, std::uint32_t random);

/// Returns the largest finite number, and the half-way point between it and the number that would
/// follow it.
Dyadic largest_finite(const Format& format);
Dyadic overflow_tie(const Format& format);

/// Returns whether a magnitude overflows when rounded to nearest with ties to even.
bool overflows(const Dyadic& x, const Format& format);

/// Returns the names of the flags that are raised, gravest first: "overflow", "inexact", ….
std::vector<std::string> names_of_flags(Flags flags);

}  // namespace binade
