// SPDX-License-Identifier: Apache-2.0
//
// Exact numbers made of the natural numbers of decimal.h. Addition and the normalisation to an odd
// integer are here; other arithmetic is decimal.h's.
#include "lib/number/exact_number.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string_view>

#include "emulate/integer_dot.h"
#include "emulate/project.h"
#include "lib/number/number_text.h"

namespace binade {
namespace {

/// Returns 32 bits of n, from the bit of weight 2^weight upwards.
std::uint32_t word_at(const Natural& n, int weight) {
  std::uint64_t out = 0;
  for (int i = 0; i < 2; ++i) {
    const int at = (weight >> 5) + i;
    if (at < 0 || at >= static_cast<int>(n.size())) continue;
    const std::uint64_t word = n[static_cast<std::size_t>(at)];
    out |= i == 0 ? word >> (weight & 31) : (weight & 31) == 0 ? 0 : word << (32 - (weight & 31));
  }
  return static_cast<std::uint32_t>(out);
}

/// Returns the number with its integer made odd, or {} for 0.
ExactNumber spelled(bool negative, const Natural& integer, int exponent) {
  int zeros = 0;
  for (const std::uint32_t word : integer) {
    zeros += std::countr_zero(word);
    if (word != 0) break;
  }
  const int width = width_of(integer) - zeros;
  if (width <= 0) return {};
  ExactNumber out{negative, {}, exponent + zeros};
  for (int at = 0; at < width; at += 32) out.integer.push_back(word_at(integer, at + zeros));
  return out;
}

/// Returns |x| in units of 2^exponent; x must be a multiple of that.
Natural in_units(const ExactNumber& x, int exponent) {
  Natural out;
  const int up = x.exponent - exponent;
  const int width = width_of(x.integer) + up;
  for (int at = 0; at < width; at += 32) out.push_back(word_at(x.integer, at - up));
  return out;
}

Natural sum(const Natural& a, const Natural& b) {
  Natural out;
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()) || carry != 0; ++i) {
    carry += i < a.size() ? a[i] : 0;
    carry += i < b.size() ? b[i] : 0;
    out.push_back(static_cast<std::uint32_t>(carry));
    carry >>= 32;
  }
  return out;
}

}  // namespace

int ExactNumber::leading_exponent() const { return exponent + width_of(integer) - 1; }

bool ExactNumber::bit(int weight) const {
  return weight >= exponent && (word_at(integer, weight - exponent) & 1) != 0;
}

ExactNumber exact_number(bool negative, std::uint64_t significand, int exponent) {
  return spelled(
      negative,
      {static_cast<std::uint32_t>(significand), static_cast<std::uint32_t>(significand >> 32)},
      exponent);
}

ExactNumber exact_number(std::int64_t integer, int exponent) {
  const auto bits = static_cast<std::uint64_t>(integer);
  return exact_number(integer < 0, integer < 0 ? std::uint64_t{0} - bits : bits, exponent);
}

ExactNumber exact_number(std::uint64_t bits, const Format& f) {
  if (is_integer(f)) return exact_number(integer_of(bits, f));
  const Exact x = decode(bits, f);
  if (x.kind == Kind::zero) return {};
  return exact_number(x.negative, static_cast<std::uint64_t>(x.significand), x.exponent);
}

ExactNumber operator-(ExactNumber x) {
  x.negative = !x.negative && !x.is_zero();
  return x;
}

ExactNumber operator+(const ExactNumber& a, const ExactNumber& b) {
  if (a.is_zero()) return b;
  if (b.is_zero()) return a;
  if (a.negative == b.negative) {
    const int exponent = std::min(a.exponent, b.exponent);
    return spelled(a.negative, sum(in_units(a, exponent), in_units(b, exponent)), exponent);
  }
  const Decimal left = distance(a.magnitude(), b.magnitude());
  const bool a_is_larger = a.magnitude() > b.magnitude();
  return spelled(a_is_larger ? a.negative : b.negative, left.integer, left.twos);
}

ExactNumber operator-(const ExactNumber& a, const ExactNumber& b) { return a + -b; }

ExactNumber operator*(const ExactNumber& a, const ExactNumber& b) {
  if (a.is_zero() || b.is_zero()) return {};
  const Decimal product = a.magnitude() * b.magnitude();
  return spelled(a.negative != b.negative, product.integer, product.twos);
}

ExactNumber& operator+=(ExactNumber& a, const ExactNumber& b) {
  a = a + b;
  return a;
}

std::strong_ordering operator<=>(const ExactNumber& a, const ExactNumber& b) {
  if (a.negative != b.negative) return b.negative <=> a.negative;
  return a.negative ? b.magnitude() <=> a.magnitude() : a.magnitude() <=> b.magnitude();
}

ExactNumber magnitude_of(ExactNumber x) {
  x.negative = false;
  return x;
}

ExactNumber scaled(ExactNumber x, int k) {
  if (!x.is_zero()) x.exponent += k;
  return x;
}

double to_double(const ExactNumber& x) {
  if (x.is_zero()) return 0;
  return std::bit_cast<double>(project(to_exact(x.magnitude(), x.negative), binary64).bits);
}

std::string exact_text(const ExactNumber& x) {
  return (x.negative ? "-" : "") + exact_text(x.magnitude());
}

std::string brief_text(const ExactNumber& x, std::size_t longest, std::size_t significant) {
  const std::string sign = x.negative ? "-" : "";
  const std::string digits = exact_text(x.magnitude());
  if (digits.find('e') == std::string::npos && sign.size() + digits.size() <= longest) {
    return sign + digits;
  }
  if (x.integer.size() <= 2) {
    std::uint64_t significand = 0;
    for (std::size_t i = 0; i < x.integer.size(); ++i) {
      significand |= std::uint64_t{x.integer[i]} << (32 * i);
    }
    const std::string formula = formula_text({significand, x.exponent});
    if (sign.size() + formula.size() <= longest && significand >> 16 == 0) return sign + formula;
  }
  std::string out = "≈" + sign + short_text(x.magnitude(), significant);
  const std::size_t columns = out.size() - (std::string_view("≈").size() - 1);
  if (columns <= longest) return out;
  return fmt::format("≈{}{:.{}e}", sign, std::abs(to_double(x)), significant - 1);
}

}  // namespace binade
