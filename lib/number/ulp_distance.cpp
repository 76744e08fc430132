// SPDX-License-Identifier: Apache-2.0
//
// Subtracts the places of encodings on their grid.
#include "lib/number/ulp_distance.h"

#include "emulate/integer_dot.h"

namespace binade {

std::optional<std::uint64_t> ulp_distance(std::uint64_t x, std::uint64_t y, const Format& f) {
  const auto place = [&f](std::uint64_t bits) {
    if (is_integer(f)) return integer_of(bits, f);
    const Fields fields = fields_of(bits, f);
    const auto magnitude =
        static_cast<std::int64_t>(fields.exponent << f.fraction_bits() | fields.fraction);
    return fields.negative ? -magnitude : magnitude;
  };
  const auto is_nan = [&f](std::uint64_t bits) {
    return !is_integer(f) && kind_of(fields_of(bits, f), f) == Kind::nan;
  };
  if (is_nan(x) || is_nan(y)) return std::nullopt;
  const std::int64_t a = place(x);
  const std::int64_t b = place(y);
  return a > b ? static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b)
               : static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(a);
}

}  // namespace binade
