// SPDX-License-Identifier: Apache-2.0
//
// A binary64 number by stochastic rounding with 32 random bits, in a few integer operations where it is a
// normal number of the format: equal in every bit to `project`, which does the rest.
#pragma once

#include <bit>
#include <cstdint>

#include "emulate/carrier.h"
#include "emulate/project.h"

namespace binade {

/// x on the grid of `format` (of precision up to 21): up where floor(f · 2^32) + random >= 2^32, f the
/// fraction of an ulp that is cut off.
constexpr double stochastic_quickly(double x, const Format& format, std::uint32_t random) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  const int exponent = static_cast<int>(bits >> 52 & 0x7FF) - 1023;
  const int drop = 53 - format.precision;
  // In the topmost binade a carry may leave the range.
  if (drop >= 32 && exponent >= format.emin() && exponent < format.emax() && exponent > -1023) {
    const std::uint64_t ulp = std::uint64_t{1} << drop;
    const std::uint64_t cut = bits & (ulp - 1);
    const bool up = (cut >> (drop - 32)) + random >= std::uint64_t{1} << 32;
    return std::bit_cast<double>(bits - cut + (up ? ulp : 0));
  }
  const Attributes attributes{.rounding = Rounding::stochastic};
  return value_of<double>(project(exact_of(x), format, attributes, random).bits, format);
}

}  // namespace binade
