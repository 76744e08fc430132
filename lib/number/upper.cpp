// SPDX-License-Identifier: Apache-2.0
//
// 64 bits and an exponent; what does not fit is rounded up.
#include "lib/number/upper.h"

#include <cmath>
#include <limits>

namespace binade {

Upper::Upper(uint128 value, int exponent) {
  if (value == 0) return;
  const int drop = bit_width(value) - 64;
  exponent_ = exponent + drop;
  if (drop <= 0) {
    significand_ = static_cast<std::uint64_t>(value) << -drop;
    return;
  }
  const bool rest = (value & ((uint128{1} << drop) - 1)) != 0;
  significand_ = static_cast<std::uint64_t>(value >> drop);
  if (rest && ++significand_ == 0) {  // 11…1 + 1
    significand_ = std::uint64_t{1} << 63;
    ++exponent_;
  }
}

Upper::Upper(const ExactSum& value) {
  for (std::size_t i = 0; i < ExactSum::size; ++i) {
    const std::uint64_t limb = value.limbs[i];
    if (limb != 0) *this += Upper(limb, ExactSum::unit_exponent + 64 * static_cast<int>(i));
  }
}

double Upper::value() const {
  if (significand_ == 0) return 0;
  constexpr int last = -1074;  // the smallest subnormal of binary64
  int drop = 11;
  if (exponent_ + drop < last) drop = last - exponent_ < 64 ? last - exponent_ : 64;
  const std::uint64_t kept = drop == 64 ? 0 : significand_ >> drop;
  const bool rest = drop == 64 || (significand_ & ((std::uint64_t{1} << drop) - 1)) != 0;
  const double rounded = static_cast<double>(kept + (rest ? 1 : 0));
  const int exponent = drop == 64 ? last : exponent_ + drop;
  return exponent > 1024 ? std::numeric_limits<double>::infinity() : std::ldexp(rounded, exponent);
}

ExactSum Upper::exact() const {
  ExactSum out;
  int exponent = exponent_;
  std::uint64_t value = significand_;
  const int below = ExactSum::unit_exponent - exponent;
  if (value != 0 && below > 0) {
    const std::uint64_t kept = below >= 64 ? 0 : value >> below;
    const bool rest = below >= 64 || (value & ((std::uint64_t{1} << below) - 1)) != 0;
    value = kept + (rest ? 1 : 0);
    exponent = ExactSum::unit_exponent;
  }
  out.add(value, exponent);
  return out;
}

bool Upper::holds(const ExactSum& x) const { return compare(x, exact()) <= 0; }

Upper operator+(const Upper& a, const Upper& b) {
  if (a.is_zero()) return b;
  if (b.is_zero()) return a;
  const Upper& large = a.exponent_ >= b.exponent_ ? a : b;
  const Upper& small = a.exponent_ >= b.exponent_ ? b : a;
  const int gap = large.exponent_ - small.exponent_;
  // 62 bits below the last one of the larger number are kept; anything smaller is counted as one
  // unit of them.
  constexpr int room = 62;
  const uint128 wide = static_cast<uint128>(large.significand_) << room;
  const int shift = room - gap;
  const uint128 low = small.significand_;
  const uint128 added = shift >= 0 ? low << shift : shift <= -64 ? uint128{1} : (low >> -shift) + 1;
  return {wide + added, large.exponent_ - room};
}

Upper operator*(const Upper& a, const Upper& b) {
  return {static_cast<uint128>(a.significand_) * b.significand_, a.exponent_ + b.exponent_};
}

std::strong_ordering operator<=>(const Upper& a, const Upper& b) {
  if (a.is_zero() || b.is_zero()) return a.significand_ <=> b.significand_;
  if (a.exponent_ != b.exponent_) return a.exponent_ <=> b.exponent_;
  return a.significand_ <=> b.significand_;
}

}  // namespace binade
