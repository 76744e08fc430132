// SPDX-License-Identifier: Apache-2.0
//
// Special values are printed by name, numbers through number_text.h.
#include "lib/number/encoding_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "emulate/codec.h"
#include "emulate/integer_dot.h"
#include "lib/number/number_text.h"

namespace binade {

std::string hex_bits(std::uint64_t bits, int width) {
  return fmt::format("0x{:0{}x}", bits, (width + 3) / 4);
}

std::string hexadecimal(std::uint64_t bits, int digits) {
  return fmt::format("{:0{}X}", bits, digits);
}

std::string hexadecimal(std::uint64_t bits, const Format& format) {
  return hexadecimal(bits, format.storage_bits() / 4);
}

std::string bits_text(std::uint64_t bits, const Format& format) {
  return hex_bits(bits, format.bits() + format.padding_bits);
}

std::optional<std::string> special_value_text(std::uint64_t bits, const Format& format) {
  if (is_integer(format)) return std::nullopt;
  const Exact x = decode(bits, format);
  const std::string sign = x.negative ? "-" : "";
  switch (x.kind) {
    case Kind::nan: return "NaN";
    case Kind::infinite: return sign + "inf";
    case Kind::zero: return sign + "0";
    case Kind::finite: break;
  }
  return std::nullopt;
}

std::string value_text(std::uint64_t bits, const Format& format) {
  if (is_integer(format)) return std::to_string(integer_of(bits, format));
  if (const auto special = special_value_text(bits, format)) return *special;
  const bool negative = decode(bits, format).negative;
  return (negative ? "-" : "") + grid_text(finite_magnitude(bits, format));
}

std::string value_with_digits(std::uint64_t bits, const Format& format) {
  std::string text = value_text(bits, format);
  const bool formula = text.find_first_of("^p") != std::string::npos;
  if (!formula) return text;
  // This is at least one digit more than it takes to tell neighbours apart, which is p·log10(2) +
  // 1, rounded up; and it is at least 4.
  const auto digits = static_cast<std::size_t>(std::max(4, format.precision * 302 / 1000 + 3));
  const std::string sign = text.starts_with('-') ? "-" : "";
  return fmt::format("{} ≈ {}{}", text, sign,
                     short_text(decimal_of(finite_magnitude(bits, format)), digits));
}

Dyadic finite_magnitude(std::uint64_t bits, const Format& format) {
  const Exact x = decode(bits, format);
  return {static_cast<std::uint64_t>(x.significand), x.exponent};
}

}  // namespace binade
