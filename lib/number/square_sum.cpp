// SPDX-License-Identifier: Apache-2.0
//
// Additions that carry from limb to limb.
#include "lib/number/square_sum.h"

#include <cstddef>

namespace binade {

void SquareSum::add(uint128 value) {
  for (std::uint64_t& limb : limbs) {
    const uint128 sum = static_cast<uint128>(limb) + static_cast<std::uint64_t>(value);
    limb = static_cast<std::uint64_t>(sum);
    value = (value >> 64) + (sum >> 64);
  }
}

void SquareSum::add_product(uint128 a, std::uint64_t b) {
  SquareSum high;
  const uint128 upper = (a >> 64) * b;
  high.limbs = {0, static_cast<std::uint64_t>(upper), static_cast<std::uint64_t>(upper >> 64)};
  add(static_cast<uint128>(static_cast<std::uint64_t>(a)) * b);
  *this += high;
}

SquareSum& SquareSum::operator+=(const SquareSum& other) {
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < limbs.size(); ++i) {
    const uint128 sum = static_cast<uint128>(limbs[i]) + other.limbs[i] + carry;
    limbs[i] = static_cast<std::uint64_t>(sum);
    carry = static_cast<std::uint64_t>(sum >> 64);
  }
  return *this;
}

}  // namespace binade
