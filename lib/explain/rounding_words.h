// SPDX-License-Identifier: Apache-2.0
//
// One rounding, told: what `project` made of a literal, what was rounded away, and which rule said
// so. The bits and flags come from `project`; the story is computed beside it, exactly.
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

/// Where |x| lies on the format's grid, its range taken as open above:
/// lower <= |x| < upper, fraction = (|x| - lower) / (upper - lower).
struct Placement {
  Dyadic lower;
  Dyadic tie;
  Dyadic upper;
  Decimal fraction;
};

struct RoundedLiteral {
  std::uint64_t bits = 0;
  Flags flags = 0;
  std::string words = {};                    ///< "a tie between 0 and 2^-24, to even"
  std::optional<Placement> placement = {};   ///< of a finite non-zero literal
  std::optional<Decimal> rounded_away = {};  ///< |result - x|, where both are finite
};

RoundedLiteral round_literal(const Literal& literal, const NamedOrCustom& format,
                             const Attributes& attributes, std::uint32_t random);

/// Largest finite number, and the half-way point to what would be the next.
Dyadic largest_finite(const Format& format);
Dyadic overflow_tie(const Format& format);

/// Whether a magnitude overflows under ties to even.
bool overflows(const Dyadic& x, const Format& format);

/// "overflow", "inexact", …: the flags that are raised, gravest first.
std::vector<std::string> names_of_flags(Flags flags);

}  // namespace binade
