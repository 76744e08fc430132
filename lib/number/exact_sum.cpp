// SPDX-License-Identifier: Apache-2.0
//
// Fixed-point arithmetic on 72 limbs: addition with carries, and a division that looks at the
// leading bits and is done at full length only if those do not decide the rounding. Roots are
// compared as squares, which are exact.
#include "lib/number/exact_sum.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

namespace binade {
namespace {

using Limbs = std::array<std::uint64_t, ExactSum::size>;
using ConstLimbs = std::span<const std::uint64_t>;

int highest_bit(ConstLimbs limbs) {
  std::size_t i = limbs.size();
  while (i >= 4 && (limbs[i - 1] | limbs[i - 2] | limbs[i - 3] | limbs[i - 4]) == 0) i -= 4;
  while (i-- > 0) {
    if (limbs[i] != 0) return static_cast<int>(64 * i) + bit_width(limbs[i]) - 1;
  }
  return -1;
}

bool bit(const Limbs& limbs, int index) {
  return index >= 0 && ((limbs[static_cast<std::size_t>(index / 64)] >> (index % 64)) & 1) != 0;
}

bool any_below(const Limbs& limbs, int index) {
  for (int i = 0; i < index / 64; ++i) {
    if (limbs[static_cast<std::size_t>(i)] != 0) return true;
  }
  return index % 64 != 0 && (limbs[static_cast<std::size_t>(index / 64)] << (64 - index % 64)) != 0;
}

/// Rounds to nearest, ties to even: `bits55` is 53 bits to keep, a rounding bit and a sticky bit.
ScaledDouble rounded(std::uint64_t bits55, int exponent_of_highest) {
  const std::uint64_t kept = bits55 >> 2;
  const bool up = (bits55 & 2) != 0 && ((bits55 & 1) != 0 || (kept & 1) != 0);
  int shift = 0;
  const double m = std::frexp(static_cast<double>(kept + (up ? 1 : 0)), &shift);
  return {m, exponent_of_highest + 1 + (shift - 53)};
}

void shift_in(std::span<std::uint64_t> limbs, bool low) {
  std::uint64_t carry = low ? 1 : 0;
  for (std::uint64_t& limb : limbs) {
    const std::uint64_t next = limb >> 63;
    limb = limb << 1 | carry;
    carry = next;
  }
}

/// Subtracts b, which has as many limbs, from a, and returns the borrow out of the highest limb.
std::uint64_t subtract(std::span<std::uint64_t> a, ConstLimbs b) {
  std::uint64_t borrow = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const uint128 difference = static_cast<uint128>(a[i]) - b[i] - borrow;
    a[i] = static_cast<std::uint64_t>(difference);
    borrow = static_cast<std::uint64_t>(difference >> 64) & 1;
  }
  return borrow;
}

std::strong_ordering compare_limbs(ConstLimbs a, ConstLimbs b) {
  return std::lexicographical_compare_three_way(a.rbegin(), a.rend(), b.rbegin(), b.rend());
}

/// Returns 64 bits, from the bit `low` upwards; bits beyond either end of the limbs are 0.
std::uint64_t bits_from(ConstLimbs limbs, int low) {
  const int whole = low >> 6;
  const int part = low & 63;
  const auto limb = [limbs](int i) {
    return i >= 0 && i < static_cast<int>(limbs.size()) ? limbs[static_cast<std::size_t>(i)] : 0;
  };
  return part == 0 ? limb(whole) : limb(whole) >> part | limb(whole + 1) << (64 - part);
}

/// Returns 64 bits, from the bit `top` downwards.
std::uint64_t leading_bits(ConstLimbs limbs, int top) { return bits_from(limbs, top - 63); }

/// The number m·2^exponent, where m has at most 54 bits.
struct Root {
  std::uint64_t m;
  int exponent;
};

/// Compares a with b·x² if the leading 64 bits A, B and S of a, b and x² decide, else returns
/// nothing. In one unit A·2^d <= a < (A + 1)·2^d and B·S <= b·x² < B·S + B + S + 1, where 2^63 <=
/// A, B and 2^62 <= S.
std::optional<std::strong_ordering> compare_leading(const Limbs& a, const Limbs& b, const Root& x) {
  const int top_a = highest_bit(a);
  const int top_b = highest_bit(b);
  const std::uint64_t high_b = leading_bits(b, top_b);
  const int shift = 64 - bit_width(x.m);
  const std::uint64_t m = x.m << shift;
  const auto square = static_cast<std::uint64_t>((static_cast<uint128>(m) * m) >> 64);
  const int d = top_a - top_b - 2 * (x.exponent - shift) - 64;
  if (d > 64) return std::strong_ordering::greater;  // 2^128 <= a
  if (d < 62) return std::strong_ordering::less;     // a < 2^125
  const uint128 low = static_cast<uint128>(leading_bits(a, top_a)) << d;
  const uint128 product = static_cast<uint128>(high_b) * square;
  const uint128 within = static_cast<uint128>(high_b) + square + 1;
  if (low >= product && low - product >= within) return std::strong_ordering::greater;
  if (low < product && product - low >= uint128{1} << d) return std::strong_ordering::less;
  return std::nullopt;
}

/// Compares sqrt(a/b) with x by comparing a with b·x². None of them is zero.
std::strong_ordering compare_squares(const Limbs& a, const Limbs& b, const Root& x) {
  if (const auto decided = compare_leading(a, b, x)) return *decided;
  const uint128 square = static_cast<uint128>(x.m) * x.m;
  std::array<std::uint64_t, ExactSum::size + 2> product{};
  for (std::size_t j = 0; j < 2; ++j) {
    const auto digit = static_cast<std::uint64_t>(square >> (64 * j));
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < b.size(); ++i) {
      const uint128 sum = static_cast<uint128>(b[i]) * digit + product[i + j] + carry;
      product[i + j] = static_cast<std::uint64_t>(sum);
      carry = static_cast<std::uint64_t>(sum >> 64);
    }
    product[b.size() + j] = carry;
  }
  const int top_a = highest_bit(a);
  const int top_product = highest_bit(product);
  if (const auto order = top_a <=> top_product + 2 * x.exponent; order != 0) return order;
  for (int below = 0; below <= std::max(top_a, top_product); below += 64) {
    const auto order =
        leading_bits(a, top_a - below) <=> leading_bits(product, top_product - below);
    if (order != 0) return order;
  }
  return std::strong_ordering::equal;
}

/// Returns a share other than 0 and 1 as such a double.
double inside(const ScaledDouble& share) {
  constexpr double below_one = 1 - 0x1p-53;
  return std::clamp(share.value(), std::numeric_limits<double>::denorm_min(), below_one);
}

/// Returns a/b if the leading 64 bits A and B of a and b decide the rounding, else nothing. With a
/// = A + α and b = B + β in units of their last bits, 0 <= α, β < 1, and 2^63 <= A, B, the quotient
/// Q = ⌊A·2^s/B⌋ of 64 bits is close: Q - 2 < a/b·2^s < Q + 3, because
///
///   (A + 1)·2^s/B - A·2^s/B = 2^s/B <= 2      A·2^s/B - A·2^s/(B + 1) < 2^64/(B + 1) < 2
///
/// So Q decides the nearest number of 53 bits unless its last 11 bits are close to those of a tie,
/// 1024.
std::optional<ScaledDouble> divide_leading(const Limbs& a, const Limbs& b, int top_a, int top_b) {
  const std::uint64_t high_a = leading_bits(a, top_a);
  const std::uint64_t high_b = leading_bits(b, top_b);
  const bool smaller = high_a < high_b;
  const auto q =
      static_cast<std::uint64_t>((static_cast<uint128>(high_a) << (smaller ? 64 : 63)) / high_b);
  const std::uint64_t rest = q & 2047;
  const bool up = rest >= 1024 + 2;
  if (!up && rest > 1024 - 3) return std::nullopt;
  return rounded((q >> 11) << 2 | (up ? 3 : 0), top_a - top_b - (smaller ? 1 : 0));
}

int lowest_limb(const Limbs& limbs) {
  const auto is_used = [](std::uint64_t limb) { return limb != 0; };
  return static_cast<int>(std::ranges::find_if(limbs, is_used) - limbs.begin());
}

}  // namespace

bool ExactSum::is_zero() const {
  constexpr ExactSum zero;
  return *this == zero;
}

void ExactSum::add(uint128 value, int exponent) {
  const int shift = exponent - unit_exponent;
  assert(shift >= 0 || (value & ((uint128{1} << -shift) - 1)) == 0);
  if (shift < 0) value >>= -shift;
  add({static_cast<std::uint64_t>(value), static_cast<std::uint64_t>(value >> 64), 0},
      std::max(exponent, unit_exponent));
}

void ExactSum::add(const std::array<std::uint64_t, 3>& value, int exponent) {
  if ((value[0] | value[1] | value[2]) == 0) return;
  const int position = exponent - unit_exponent;
  assert(position >= 0);
  auto i = static_cast<std::size_t>(position / 64);
  const int low_bits = position % 64;
  std::uint64_t carry = 0;  // with the bits that are shifted out of a limb
  for (const std::uint64_t limb : value) {
    if (i == size) break;
    const uint128 sum = (static_cast<uint128>(limb) << low_bits) + carry + limbs[i];
    limbs[i++] = static_cast<std::uint64_t>(sum);
    carry = static_cast<std::uint64_t>(sum >> 64);
  }
  for (; carry != 0 && i < size; ++i) {
    limbs[i] += carry;
    carry = limbs[i] < carry ? 1 : 0;
  }
  assert(carry == 0);
}

void ExactSum::add_product(uint128 a, std::uint64_t b, int exponent) {
  const uint128 low = static_cast<uint128>(static_cast<std::uint64_t>(a)) * b;
  const uint128 high = (a >> 64) * b + (low >> 64);
  add({static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high),
       static_cast<std::uint64_t>(high >> 64)},
      exponent);
}

ExactSum& ExactSum::operator+=(const ExactSum& other) {
  constexpr std::size_t group = 8;  // most groups of limbs are zeros
  static_assert(size % group == 0);
  std::uint64_t carry = 0;
  for (std::size_t first = 0; first < size; first += group) {
    std::uint64_t any = carry;
    for (std::size_t k = 0; k < group; ++k) any |= other.limbs[first + k];
    if (any == 0) continue;
    for (std::size_t i = first; i < first + group; ++i) {
      const uint128 sum = static_cast<uint128>(limbs[i]) + other.limbs[i] + carry;
      limbs[i] = static_cast<std::uint64_t>(sum);
      carry = static_cast<std::uint64_t>(sum >> 64);
    }
  }
  return *this;
}

ExactSum& ExactSum::operator-=(const ExactSum& other) {
  [[maybe_unused]] const std::uint64_t borrow = subtract(limbs, other.limbs);
  assert(borrow == 0);
  return *this;
}

std::strong_ordering compare(const ExactSum& a, const ExactSum& b) {
  return compare_limbs(a.limbs, b.limbs);
}

double ScaledDouble::value() const { return std::ldexp(significand, exponent); }

double ScaledDouble::log2() const { return std::log2(significand) + exponent; }

ExactSum shifted_right(const ExactSum& a, int n) {
  ExactSum out;
  for (int i = 0; i < static_cast<int>(ExactSum::size); ++i) {
    out.limbs[static_cast<std::size_t>(i)] = bits_from(a.limbs, 64 * i + n);
  }
  return out;
}

ScaledDouble to_scaled(const ExactSum& a) {
  const int top = highest_bit(a.limbs);
  if (top < 0) return {};
  const std::uint64_t bits = leading_bits(a.limbs, top);
  const bool sticky = (bits & 1023) != 0 || (top > 63 && any_below(a.limbs, top - 63));
  return rounded(bits >> 10 << 1 | (sticky ? 1 : 0), top + ExactSum::unit_exponent);
}

ScaledDouble divide(const ExactSum& dividend, const ExactSum& divisor) {
  const int top_dividend = highest_bit(dividend.limbs);
  const int top_divisor = highest_bit(divisor.limbs);
  assert(top_divisor >= 0 && divisor.limbs[ExactSum::size - 1] >> 63 == 0);
  if (top_dividend < 0) return {};
  if (const auto decided =
          divide_leading(dividend.limbs, divisor.limbs, top_dividend, top_divisor)) {
    return *decided;
  }
  // Most limbs are zeros below both numbers. The quotient does not depend on them.
  const int zeros = 64 * std::min(lowest_limb(dividend.limbs), lowest_limb(divisor.limbs));
  const Limbs a = shifted_right(dividend, zeros).limbs;
  const Limbs b = shifted_right(divisor, zeros).limbs;
  const int top_b = top_divisor - zeros;
  // Schoolbook binary division gives one bit of the quotient per step. The remainder starts as the
  // highest bits of a, one bit fewer than b has, so that it is below b; `next` is the bit of a that
  // is taken next. After the last bit of a, zeros follow.
  int next = top_dividend - top_divisor;
  ExactSum rest = shifted_right({a}, next + 1);
  // A step doubles a remainder below b, so it never has more than one bit more than b.
  const std::size_t used = static_cast<std::size_t>(top_b + 1) / 64 + 1;
  const std::span remainder(rest.limbs.data(), used);
  const ConstLimbs low_b(b.data(), used);
  std::uint64_t quotient = 0;
  int weight = 0;
  while (quotient >> 53 == 0) {
    shift_in(remainder, bit(a, next));
    const bool one = compare_limbs(remainder, low_b) >= 0;
    if (one) subtract(remainder, low_b);
    quotient = quotient << 1 | (one ? 1 : 0);
    weight = next--;
  }
  bool sticky = !rest.is_zero();
  if (next >= 0) sticky = sticky || any_below(a, next + 1);
  return rounded(quotient << 1 | (sticky ? 1 : 0), weight + 53);
}

std::strong_ordering compare_root(const ExactSum& a, const ExactSum& b, double x) {
  if (a.is_zero() || x == 0) return (a.is_zero() ? 0 : 1) <=> (x == 0 ? 0 : 1);
  int exponent = 0;
  const auto m = static_cast<std::uint64_t>(std::ldexp(std::frexp(x, &exponent), 53));
  return compare_squares(a.limbs, b.limbs, {m, exponent - 53});
}

ScaledDouble divide_root(const ExactSum& a, const ExactSum& b) {
  const ScaledDouble quotient = divide(a, b);
  if (quotient.significand == 0) return {};
  const int odd = quotient.exponent & 1;
  const int exponent = (quotient.exponent + odd) / 2 - 53;
  // A root in [1/2, 1] of a rounded quotient is at most one unit away from the nearest to that of
  // a/b, which lies between the two midpoints beside it.
  auto m =
      static_cast<std::uint64_t>(std::ldexp(std::sqrt(std::ldexp(quotient.significand, -odd)), 53));
  const auto beside = [&](std::uint64_t midpoint) {
    return compare_squares(a.limbs, b.limbs, {midpoint, exponent - 1});
  };
  const bool is_odd = (m & 1) != 0;
  const auto above = beside(2 * m + 1);
  if (above > 0 || (above == 0 && is_odd)) {
    ++m;
  } else if (const auto below = beside(2 * m - 1); below < 0 || (below == 0 && is_odd)) {
    --m;
  }
  int shift = 0;
  const double significand = std::frexp(static_cast<double>(m), &shift);
  return {significand, exponent + shift};
}

double share_of(const ExactSum& part, const ExactSum& whole) {
  if (part.is_zero() || part == whole) return part.is_zero() ? 0 : 1;
  return inside(divide(part, whole));
}

double root_share_of(const ExactSum& part, const ExactSum& whole) {
  if (part.is_zero() || part == whole) return part.is_zero() ? 0 : 1;
  return inside(divide_root(part, whole));
}

std::string to_decimal(std::span<const std::uint64_t> limbs) {
  constexpr std::uint64_t base = 10'000'000'000'000'000'000U;  // 10^19
  std::vector<std::uint64_t> rest(limbs.begin(), limbs.end());
  std::string digits;
  while (!rest.empty()) {
    std::uint64_t group = 0;
    for (std::size_t i = rest.size(); i-- > 0;) {
      const uint128 part = static_cast<uint128>(group) << 64 | rest[i];
      rest[i] = static_cast<std::uint64_t>(part / base);
      group = static_cast<std::uint64_t>(part % base);
    }
    while (!rest.empty() && rest.back() == 0) rest.pop_back();
    for (int i = 0; i < 19 && (group != 0 || !rest.empty()); ++i, group /= 10) {
      digits.push_back(static_cast<char>('0' + group % 10));
    }
  }
  std::ranges::reverse(digits);
  return digits.empty() ? "0" : digits;
}

std::string to_decimal(uint128 value) {
  const std::array<std::uint64_t, 2> limbs{static_cast<std::uint64_t>(value),
                                           static_cast<std::uint64_t>(value >> 64)};
  return to_decimal(limbs);
}

}  // namespace binade
