// SPDX-License-Identifier: Apache-2.0
//
// Fixed-point arithmetic on 72 limbs: additions with carry, and one long division.
#include "lib/range/exact_sum.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

namespace binade {
namespace {

using Limbs = std::array<std::uint64_t, ExactSum::size>;
using ConstLimbs = std::span<const std::uint64_t>;

int highest_bit(const Limbs& limbs) {
  for (std::size_t i = limbs.size(); i-- > 0;) {
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

/// 53 bits plus a rounding bit plus a sticky bit, rounded to nearest, ties to even.
ScaledDouble rounded(std::uint64_t bits55, int exponent_of_highest) {
  const std::uint64_t kept = bits55 >> 2;
  const bool up = (bits55 & 2) != 0 && ((bits55 & 1) != 0 || (kept & 1) != 0);
  int shift = 0;
  const double m = std::frexp(static_cast<double>(kept + (up ? 1 : 0)), &shift);
  return {m, exponent_of_highest + 1 + (shift - 53)};
}

/// a / 2^n rounded down, for n of either sign.
ExactSum top_of(const ExactSum& a, int n) {
  const auto limb = [&a](int i) {
    return i >= 0 && i < static_cast<int>(ExactSum::size) ? a.limbs[static_cast<std::size_t>(i)]
                                                          : 0;
  };
  const int whole = n >= 0 ? n / 64 : -((63 - n) / 64);
  const int part = n - 64 * whole;
  ExactSum out;
  for (int i = 0; i < static_cast<int>(ExactSum::size); ++i) {
    const std::uint64_t high = part == 0 ? 0 : limb(i + whole + 1) << (64 - part);
    out.limbs[static_cast<std::size_t>(i)] = limb(i + whole) >> part | high;
  }
  return out;
}

void shift_in(std::span<std::uint64_t> limbs, bool low) {
  std::uint64_t carry = low ? 1 : 0;
  for (std::uint64_t& limb : limbs) {
    const std::uint64_t next = limb >> 63;
    limb = limb << 1 | carry;
    carry = next;
  }
}

/// a -= b, of as many limbs; what is borrowed beyond them.
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

int lowest_limb(const Limbs& limbs) {
  const auto is_used = [](std::uint64_t limb) { return limb != 0; };
  return static_cast<int>(std::ranges::find_if(limbs, is_used) - limbs.begin());
}

}  // namespace

bool ExactSum::is_zero() const {
  return std::ranges::all_of(limbs, [](std::uint64_t limb) { return limb == 0; });
}

void ExactSum::add(uint128 value, int exponent) {
  if (value == 0) return;
  const int shift = exponent - unit_exponent;
  assert(shift >= 0 || (value & ((uint128{1} << -shift) - 1)) == 0);
  if (shift < 0) value >>= -shift;
  const int position = std::max(shift, 0);
  auto i = static_cast<std::size_t>(position / 64);
  const int low_bits = position % 64;
  // The shifted value spans three limbs.
  const uint128 low = value << low_bits;
  std::uint64_t pieces[3] = {
      static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(low >> 64),
      low_bits == 0 ? 0 : static_cast<std::uint64_t>(value >> (128 - low_bits))};
  std::uint64_t carry = 0;
  for (std::size_t k = 0; i < size && (k < 3 || carry != 0); ++i, ++k) {
    const uint128 sum = static_cast<uint128>(limbs[i]) + (k < 3 ? pieces[k] : 0) + carry;
    limbs[i] = static_cast<std::uint64_t>(sum);
    carry = static_cast<std::uint64_t>(sum >> 64);
  }
  assert(carry == 0);
}

void ExactSum::add_product(uint128 a, std::uint64_t b, int exponent) {
  add(static_cast<uint128>(static_cast<std::uint64_t>(a)) * b, exponent);
  add((a >> 64) * b, exponent + 64);
}

ExactSum& ExactSum::operator+=(const ExactSum& other) {
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const uint128 sum = static_cast<uint128>(limbs[i]) + other.limbs[i] + carry;
    limbs[i] = static_cast<std::uint64_t>(sum);
    carry = static_cast<std::uint64_t>(sum >> 64);
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

ScaledDouble to_scaled(const ExactSum& a) {
  const int top = highest_bit(a.limbs);
  if (top < 0) return {};
  std::uint64_t bits = 0;
  for (int i = 0; i < 54; ++i) bits = bits << 1 | (bit(a.limbs, top - i) ? 1 : 0);
  const bool sticky = top >= 54 && any_below(a.limbs, top - 53);
  return rounded(bits << 1 | (sticky ? 1 : 0), top + ExactSum::unit_exponent);
}

ScaledDouble divide(const ExactSum& dividend, const ExactSum& divisor) {
  assert(!divisor.is_zero() && divisor.limbs[ExactSum::size - 1] >> 63 == 0);
  if (dividend.is_zero()) return {};
  // Of the limbs most are zeros below both numbers, which the quotient does not depend on.
  const int zeros = 64 * std::min(lowest_limb(dividend.limbs), lowest_limb(divisor.limbs));
  const Limbs a = top_of(dividend, zeros).limbs;
  const Limbs b = top_of(divisor, zeros).limbs;
  const int top_b = highest_bit(b);
  // Schoolbook binary division, one bit of quotient a step. The bits of a above `next` start as the
  // remainder: one fewer than b has, so that it is below b. Past the end of a come zeros.
  int next = highest_bit(a) - top_b;
  ExactSum rest = top_of({a}, next + 1);
  // A step doubles what is below b: nothing above one more bit than b's.
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
