// SPDX-License-Identifier: Apache-2.0
//
// Each digit of 32 bits is kept in 64, so that about 10^9 additions fit before carries must be
// made.
#include "lib/number/signed_sum.h"

#include <algorithm>

#include "lib/text/error.h"

namespace binade {
namespace {

constexpr std::int64_t base = std::int64_t{1} << 32;
constexpr std::uint32_t most_pending = 1U << 30;

}  // namespace

SignedSum::SignedSum(const ExactSum& magnitude, bool negative) {
  for (std::size_t i = 0; i < ExactSum::size; ++i) {
    add(negative, magnitude.limbs[i], ExactSum::unit_exponent + 64 * static_cast<int>(i));
  }
}

void SignedSum::add(bool negative, uint128 value, int exponent) {
  if (value == 0) return;
  int position = exponent - ExactSum::unit_exponent;
  if (position < 0) {
    const int below = -position;
    if (below >= 128 || (value & ((uint128{1} << below) - 1)) != 0) {
      throw Error(
          "a number of this product has bits below 2^-2304, which exact sums do not hold; scale "
          "the operands up");
    }
    value >>= below;
    position = 0;
  }
  if (++pending_ >= most_pending) carry();
  int i = position / 32;
  const int shift = position % 32;
  low_ = std::min(low_, i);
  // The value spans up to five digits: the first holds the bits that fit beside the shift, the
  // others 32 bits each.
  std::uint64_t digit = static_cast<std::uint32_t>(static_cast<std::uint64_t>(value) << shift);
  value >>= 32 - shift;
  for (;; ++i) {
    digit_[static_cast<std::size_t>(i)] +=
        negative ? -static_cast<std::int64_t>(digit) : static_cast<std::int64_t>(digit);
    if (value == 0) break;
    digit = static_cast<std::uint32_t>(value);
    value >>= 32;
  }
  high_ = std::max(high_, i);
}

void SignedSum::add_shifted(const SignedSum& other, std::int64_t factor) {
  if (other.high_ < other.low_) return;
  other.carry();
  for (int i = other.low_; i <= other.high_; ++i) {
    digit_[static_cast<std::size_t>(i)] += factor * other.digit_[static_cast<std::size_t>(i)];
  }
  low_ = std::min(low_, other.low_);
  high_ = std::max(high_, other.high_);
  pending_ += 2;
  if (pending_ >= most_pending) carry();
}

void SignedSum::add(const SignedSum& other) { add_shifted(other, 1); }

void SignedSum::subtract(const SignedSum& other) { add_shifted(other, -1); }

void SignedSum::clear() {
  for (int i = low_; i <= high_; ++i) digit_[static_cast<std::size_t>(i)] = 0;
  low_ = size;
  high_ = -1;
  pending_ = 0;
}

SignedSum SignedSum::times(bool negative, std::uint64_t significand, int exponent) const {
  SignedSum out;
  const bool sign = is_negative() != negative;
  pieces([&](std::uint64_t value, int at) {
    out.add(sign, static_cast<uint128>(value) * significand, at + exponent);
  });
  return out;
}

void SignedSum::carry() const {
  pending_ = 0;
  if (high_ < low_) return;
  const auto at = [this](int i) -> std::int64_t& { return digit_[static_cast<std::size_t>(i)]; };
  std::int64_t over = 0;
  for (int i = low_; i < high_; ++i) {
    const std::int64_t x = at(i) + over;
    at(i) = x & (base - 1);
    over = x >> 32;
  }
  std::int64_t top = at(high_) + over;
  while (top >= base || top < -base) {
    at(high_) = top & (base - 1);
    top >>= 32;
    ++high_;
  }
  at(high_) = top;
  while (high_ > low_ && at(high_) == 0) --high_;
}

SignedSum::Magnitude SignedSum::digits() const {
  carry();
  Magnitude out;
  out.end = low_;
  if (high_ < low_) {
    out.end = 0;
    return out;
  }
  const bool negative = digit_[static_cast<std::size_t>(high_)] < 0;
  std::int64_t over = 0;
  for (int i = low_; i <= high_ || over != 0; ++i) {
    const std::int64_t digit = i <= high_ ? digit_[static_cast<std::size_t>(i)] : 0;
    const std::int64_t x = (negative ? -digit : digit) + over;
    out.digit[i] = static_cast<std::uint32_t>(x);
    over = x >> 32;
    out.end = i + 1;
  }
  return out;
}

bool SignedSum::is_zero() const {
  carry();
  return high_ < low_ || (high_ == low_ && digit_[static_cast<std::size_t>(high_)] == 0);
}

bool SignedSum::is_negative() const {
  carry();
  return high_ >= low_ && digit_[static_cast<std::size_t>(high_)] < 0;
}

ExactSum SignedSum::magnitude() const {
  ExactSum out;
  pieces([&out](std::uint64_t value, int exponent) { out.add(value, exponent); });
  return out;
}

Upper SignedSum::upper() const {
  const Magnitude x = digits();
  int top = x.end - 1;
  while (top >= low_ && x.digit[top] == 0) --top;
  if (top < low_) return {};
  // The three highest digits hold the 64 bits that are kept. If any lower digit is not zero, one
  // unit is added to the third.
  uint128 value = 0;
  for (int i = top; i > top - 3; --i) value = value << 32 | (i >= low_ ? x.digit[i] : 0);
  for (int i = low_; i <= top - 3; ++i) {
    if (x.digit[i] == 0) continue;
    ++value;
    break;
  }
  return {value, ExactSum::unit_exponent + 32 * (top - 2)};
}

}  // namespace binade
