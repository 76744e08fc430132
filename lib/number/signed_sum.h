// SPDX-License-Identifier: Apache-2.0
//
// Exact sums of signed numbers of any exponents, made for thousands of additions per element of a
// product: carries are made only when the sum is read, and only the digits that were added to are
// touched.
#pragma once

#include <array>
#include <cstdint>

#include "lib/number/exact_sum.h"
#include "lib/number/upper.h"

namespace binade {

/// A multiple of 2^-2304 between -2^2304 and 2^2304.
class SignedSum {
 public:
  SignedSum() = default;
  SignedSum(const ExactSum& magnitude, bool negative);
  /// Adds ±value·2^exponent. Throws Error if that has bits below 2^-2304.
  void add(bool negative, uint128 value, int exponent);
  void add(const SignedSum& other);
  void subtract(const SignedSum& other);
  void clear();
  /// Returns this number times ±significand·2^exponent. Throws Error if that has bits below
  /// 2^-2304.
  SignedSum times(bool negative, std::uint64_t significand, int exponent) const;

  bool is_zero() const;
  bool is_negative() const;
  ExactSum magnitude() const;
  /// Returns an upper bound of the magnitude.
  Upper upper() const;
  /// Calls each(value, exponent) for pieces value·2^exponent that add up to the magnitude, lowest
  /// exponent first. No value is 0, so there is no call for the sum 0.
  template <class Each>
  void pieces(const Each& each) const {
    const Magnitude x = digits();
    for (int i = low_; i < x.end; i += 2) {
      const std::uint64_t high = i + 1 < x.end ? x.digit[i + 1] : 0;
      const std::uint64_t value = high << 32 | x.digit[i];
      if (value != 0) each(value, ExactSum::unit_exponent + 32 * i);
    }
  }

 private:
  static constexpr int size = 2 * static_cast<int>(ExactSum::size) + 2;
  /// The digits low_ to end - 1 of the magnitude. All others are 0 and are not set.
  struct Magnitude {
    std::uint32_t digit[size];
    int end;
  };
  void carry() const;
  Magnitude digits() const;
  void add_shifted(const SignedSum& other, std::int64_t factor);

  // Digits in base 2^32, from low_ to high_, each in 64 bits. After a carry, all but the highest
  // are in [0, 2^32) and the highest, in [-2^32, 2^32), has the sign. pending_ counts the additions
  // since then, of a SignedSum twice.
  mutable std::array<std::int64_t, size> digit_{};
  mutable int low_ = size, high_ = -1;
  mutable std::uint32_t pending_ = 0;
};

}  // namespace binade
