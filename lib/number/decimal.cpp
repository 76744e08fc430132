// SPDX-License-Identifier: Apache-2.0
//
// Exact numbers: a small arithmetic of natural numbers (schoolbook, base 2^32) with powers of two
// and five beside it.
#include "lib/number/decimal.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace binade {
namespace {

void trim(Natural& n) {
  while (!n.empty() && n.back() == 0) n.pop_back();
}

/// Makes n become n · factor + addend.
void multiply_add(Natural& n, std::uint32_t factor, std::uint32_t addend) {
  std::uint64_t carry = addend;
  for (std::uint32_t& word : n) {
    carry += std::uint64_t{word} * factor;
    word = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  if (carry != 0) n.push_back(static_cast<std::uint32_t>(carry));
}

/// Makes n become the quotient, rounded down, and returns the remainder.
std::uint32_t divide(Natural& n, std::uint32_t divisor) {
  std::uint64_t remainder = 0;
  for (std::size_t i = n.size(); i-- > 0;) {
    remainder = remainder << 32 | n[i];
    n[i] = static_cast<std::uint32_t>(remainder / divisor);
    remainder %= divisor;
  }
  trim(n);
  return static_cast<std::uint32_t>(remainder);
}

Natural shifted(const Natural& n, int left) {
  if (n.empty()) return n;
  Natural out(static_cast<std::size_t>(left / 32), 0);
  std::uint64_t carry = 0;
  for (const std::uint32_t word : n) {
    carry |= std::uint64_t{word} << (left % 32);
    out.push_back(static_cast<std::uint32_t>(carry));
    carry >>= 32;
  }
  if (carry != 0) out.push_back(static_cast<std::uint32_t>(carry));
  return out;
}

std::strong_ordering compare(const Natural& a, const Natural& b) {
  if (a.size() != b.size()) return a.size() <=> b.size();
  return std::lexicographical_compare_three_way(a.rbegin(), a.rend(), b.rbegin(), b.rend());
}

/// Makes a become a - b, where a >= b.
void subtract(Natural& a, const Natural& b) {
  std::uint64_t borrow = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::uint64_t difference = std::uint64_t{a[i]} - (i < b.size() ? b[i] : 0) - borrow;
    a[i] = static_cast<std::uint32_t>(difference);
    borrow = difference >> 63;
  }
  trim(a);
}

Natural product(const Natural& a, const Natural& b) {
  Natural out(a.size() + b.size(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::uint64_t carry = 0;
    for (std::size_t j = 0; j < b.size() || carry != 0; ++j) {
      carry += out[i + j] + std::uint64_t{a[i]} * (j < b.size() ? b[j] : 0);
      out[i + j] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
  }
  trim(out);
  return out;
}

void multiply_by_power_of_five(Natural& n, int k) {
  constexpr std::uint32_t five_to_13 = 1220703125;
  for (; k >= 13; k -= 13) multiply_add(n, five_to_13, 0);
  for (; k > 0; --k) multiply_add(n, 5, 0);
}

/// Returns x / (2^twos · 5^fives), where x.twos >= twos and x.fives >= fives.
Natural in_units(const Decimal& x, int twos, int fives) {
  Natural out = x.integer;
  multiply_by_power_of_five(out, x.fives - fives);
  return shifted(out, x.twos - twos);
}

/// Returns the leading bits of n · 2^exponent, 128 at most.
Exact leading_bits(const Natural& n, int exponent) {
  const int drop = std::max(0, width_of(n) - 128);
  Exact out{.kind = Kind::finite, .exponent = exponent + drop};
  for (int i = width_of(n); i-- > 0;) {
    const bool bit = ((n[static_cast<std::size_t>(i / 32)] >> (i % 32)) & 1) != 0;
    if (i >= drop) {
      out.significand = out.significand << 1 | (bit ? 1 : 0);
    } else {
      out.sticky = out.sticky || bit;
    }
  }
  return out;
}

/// Returns the leading bits of a/b · 2^exponent, by 128 steps of long division: 128, or 127 if the
/// first is 0.
Exact leading_bits(Natural a, Natural b, int exponent) {
  const int k = width_of(a) - width_of(b);
  if (k < 0) a = shifted(a, -k);
  if (k > 0) b = shifted(b, k);
  Exact out{.kind = Kind::finite, .exponent = exponent + k - 127};  // a/b lies in (1/2, 2)
  for (int step = 0; step < 128; ++step) {
    const bool bit = compare(a, b) >= 0;
    if (bit) subtract(a, b);
    out.significand = out.significand << 1 | (bit ? 1 : 0);
    multiply_add(a, 2, 0);
  }
  out.sticky = !a.empty();
  return out;
}

}  // namespace

int width_of(const Natural& n) {
  return n.empty() ? 0 : 32 * static_cast<int>(n.size() - 1) + bit_width(std::uint64_t{n.back()});
}

Decimal decimal_of(std::string_view digits, int exponent) {
  constexpr std::size_t group = 9;
  constexpr std::array<std::uint32_t, group + 1> power_of_ten = {
      1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};
  Decimal out{.integer = {}, .twos = exponent, .fives = exponent};
  while (!digits.empty()) {
    const std::string_view now = digits.substr(0, group);
    std::uint32_t value = 0;
    for (const char c : now) value = 10 * value + static_cast<std::uint32_t>(c - '0');
    multiply_add(out.integer, power_of_ten[now.size()], value);
    digits.remove_prefix(now.size());
  }
  return out;
}

Decimal decimal_of(const Dyadic& x) {
  Natural integer = {static_cast<std::uint32_t>(x.significand),
                     static_cast<std::uint32_t>(x.significand >> 32)};
  trim(integer);
  return {.integer = integer, .twos = x.exponent, .fives = 0};
}

std::strong_ordering operator<=>(const Decimal& a, const Decimal& b) {
  const int twos = std::min(a.twos, b.twos);
  const int fives = std::min(a.fives, b.fives);
  return compare(in_units(a, twos, fives), in_units(b, twos, fives));
}

Decimal operator*(const Decimal& a, const Decimal& b) {
  return {product(a.integer, b.integer), a.twos + b.twos, a.fives + b.fives};
}

Decimal distance(const Decimal& a, const Decimal& b) {
  const int twos = std::min(a.twos, b.twos);
  const int fives = std::min(a.fives, b.fives);
  Natural larger = in_units(a, twos, fives);
  Natural smaller = in_units(b, twos, fives);
  if (compare(larger, smaller) < 0) larger.swap(smaller);
  subtract(larger, smaller);
  return {larger, twos, fives};
}

Decimal scaled(Decimal x, int k) {
  x.twos += k;
  return x;
}

Digits digits_of(const Decimal& x) {
  if (x.is_zero()) return {"0", 0};
  const int tens = std::min(x.twos, x.fives);
  Natural rest = in_units(x, tens, tens);
  std::string reversed;
  while (!rest.empty()) {
    std::uint32_t group = divide(rest, 1000000000);
    for (int i = 0; i < 9; ++i, group /= 10) reversed += static_cast<char>('0' + group % 10);
  }
  while (reversed.back() == '0') reversed.pop_back();
  const int exponent = tens + static_cast<int>(reversed.size()) - 1;
  std::string digits(reversed.rbegin(), reversed.rend());
  while (digits.back() == '0') digits.pop_back();
  return {digits, exponent};
}

Exact to_exact(const Decimal& x, bool negative) {
  if (x.is_zero()) return {.kind = Kind::zero, .negative = negative};
  Natural power = {1};
  multiply_by_power_of_five(power, -x.fives);
  Exact out = x.fives < 0 ? leading_bits(x.integer, power, x.twos)
                          : leading_bits(in_units(x, x.twos, 0), x.twos);
  out.negative = negative;
  return out;
}

}  // namespace binade
