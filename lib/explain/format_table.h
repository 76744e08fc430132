// SPDX-License-Identifier: Apache-2.0
//
// The limits of formats as a struct, derived from the arithmetic itself, and written as text and
// JSON.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lib/format/format_spec.h"
#include "lib/number/decimal.h"

namespace binade {

/// What an overflow gives when rounding to nearest with ties to even.
enum class OverflowTo { infinity, nan, largest_finite };

struct FormatLimits {
  std::string name;
  Format format;
  std::string_view source;  ///< where a named format is defined; empty for a user's own
  Dyadic max = {};
  Dyadic min_normal = {};
  /// The smallest subnormal number if the format has any, else the smallest number.
  Dyadic min_positive = {};
  Dyadic epsilon = {};         ///< 2^(1-p): from 1 to the next number
  Dyadic to_zero = {};         ///< |x| <= this rounds to zero (without a zero: to min_positive)
  Dyadic overflow_tie = {};    ///< half-way between max and the number that would follow it
  bool tie_overflows = false;  ///< whether the tie itself overflows, or only numbers above it
  OverflowTo overflow_to = OverflowTo::infinity;
};

FormatLimits limits_of(const NamedOrCustom& format);

/// Returns two tables: widths and ends of the range, then thresholds and special values.
std::string format_table_text(std::span<const FormatLimits> rows);

nlohmann::ordered_json format_table_json(std::span<const FormatLimits> rows);

}  // namespace binade
