// SPDX-License-Identifier: Apache-2.0
//
// A sum of doubles rounded to odd, which a second rounding, to two bits less or fewer, cannot mistake for another number:
// it gives what rounding the exact sum once gives, in every direction (Boldo and Melquiond 2008).
//
//     exact    1xxxxxxxxxx…xxxxxxxxxx…xxx 1            a + b, beyond 53 bits
//     nearest  1xxxxxxxxxx…xxxxxxxxxxx                 s, and what it lost, exactly (Knuth's TwoSum)
//     to odd   1xxxxxxxxxx…xxxxxxxxxx1                 the neighbour of the exact sum whose last bit is 1
#pragma once

#include <bit>
#include <cstdint>

namespace binade::fast {

struct TwoSum {
  double sum, lost;
};
inline TwoSum two_sum(double a, double b) {
  const double s = a + b;
  const double of_b = s - a;
  return {s, (a - (s - of_b)) + (b - of_b)};
}

/// Without a branch; of a sum that lost nothing itself.
inline double to_odd(const TwoSum& x) {
  const auto bits = std::bit_cast<std::uint64_t>(x.sum);
  const std::uint64_t is_lost = x.lost < 0 || x.lost > 0 ? 1 : 0;  // beside an infinity it is a NaN
  // Toward zero first, where the sum is beyond the exact one: what it lost has the other sign.
  const std::uint64_t is_beyond = (x.lost < 0) != (x.sum < 0) ? 1 : 0;
  return std::bit_cast<double>((bits - (is_lost & is_beyond & ~bits)) | is_lost);
}

}  // namespace binade::fast
