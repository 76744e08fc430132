// SPDX-License-Identifier: Apache-2.0
//
// The limits of formats as a struct, derived from the arithmetic itself, and its two writers.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lib/format/format_spec.h"
#include "lib/number/decimal.h"

namespace binade {

/// What an overflow under ties to even delivers.
enum class OverflowTo { infinity, nan, largest_finite };

struct FormatLimits {
  std::string name;
  Format format;
  std::string_view source;  ///< where a named format is defined; empty for a user's own
  Dyadic max = {};
  Dyadic min_normal = {};
  Dyadic min_positive =
      {};               ///< the smallest subnormal where there are any, else the smallest number
  Dyadic epsilon = {};  ///< 2^(1-p): from 1 to the next number
  Dyadic to_zero = {};  ///< |x| <= this rounds to zero (without a zero: to min_positive)
  Dyadic overflow_tie = {};    ///< half way above max
  bool tie_overflows = false;  ///< overflow from the tie on, or only above it
  OverflowTo overflow_to = OverflowTo::infinity;
};

FormatLimits limits_of(const NamedOrCustom& format);

/// Two blocks: shapes and ends of the range, then the thresholds and special values.
std::string format_table_text(std::span<const FormatLimits> rows);

nlohmann::ordered_json format_table_json(std::span<const FormatLimits> rows);

}  // namespace binade
