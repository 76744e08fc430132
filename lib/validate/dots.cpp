// SPDX-License-Identifier: Apache-2.0
//
// Emulates rows in parallel, and compares.
#include "lib/validate/dots.h"

#include "lib/device/dot_products.h"

namespace binade {
DotCheck check_dots(const Dots& dots, const Instruction& instruction, std::size_t keep) {
  const std::vector<std::uint64_t> emulated = dots_of(instruction, dots);
  DotCheck out{.rows = dots.d.size()};
  for (std::size_t i = 0; i < dots.d.size(); ++i) {
    if (dots.d[i] == emulated[i]) continue;
    out.different += 1;
    if (out.first.size() < keep) out.first.push_back({i, dots.d[i], emulated[i]});
  }
  return out;
}

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
