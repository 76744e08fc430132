// SPDX-License-Identifier: Apache-2.0
//
// Numbers of a format that are carried in float or double: a tensor holds its values in float if
// every number of the format is a float, else in double. In binary16 and, with the same value, in
// binary32:
//
//     0.71875    39C0      0 01110 0111000000
//                3F380000  0 01111110 0111000000 0000000000000   13 zeros; the exponent is rebiased
//     3·2^-24    0003      0 00000 0000000011                    subnormal
//                34400000  0 01101000 10000000000000000000000    1.5·2^-23, a normal float
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

#include "emulate/project.h"

namespace binade {

/// The format of a C++ floating-point type, and the unsigned integer type that holds its bits.
template <std::floating_point T>
struct Carrier;
template <>
struct Carrier<float> {
  static constexpr const Format& format = binary32;
  using Bits = std::uint32_t;
};
template <>
struct Carrier<double> {
  static constexpr const Format& format = binary64;
  using Bits = std::uint64_t;
};

/// Returns the encoding of a float or double, in the low bits.
template <std::floating_point T>
constexpr std::uint64_t bits_of(T value) {
  return std::bit_cast<typename Carrier<T>::Bits>(value);
}

/// Returns the value of an encoding as a float or double, exactly. Every number of `format` must be
/// a number of T's format. A NaN keeps its sign and payload; a signaling one stays signaling.
template <std::floating_point T>
constexpr T value_of(std::uint64_t bits, const Format& format) {
  constexpr const Format& c = Carrier<T>::format;
  const Projected wide = convert(bits, format, c, {.nan = NanResult::propagate});
  const bool was_signaling = (wide.flags & Flag::invalid) != 0;
  const std::uint64_t quiet = was_signaling ? std::uint64_t{1} << (c.fraction_bits() - 1) : 0;
  return std::bit_cast<T>(static_cast<typename Carrier<T>::Bits>(wide.bits & ~quiet));
}

/// Returns the exact number that a float or double is.
template <std::floating_point T>
constexpr Exact exact_of(T value) {
  return decode(bits_of(value), Carrier<T>::format);
}

/// Returns whether a number is subnormal in a format: non-zero and smaller in magnitude than the
/// format's smallest normal number.
constexpr bool is_subnormal(const Exact& x, const Format& f) {
  return f.has_zero && x.kind == Kind::finite &&
         x.exponent + bit_width(x.significand) - 1 < f.emin();
}

/// Returns the bits of the smallest positive T that is normal in a format `f`, for comparisons of
/// magnitudes as integers: 0x38800000 (2^-14) for binary16 in float. It is 0 if every T is normal
/// in `f` and infinity if none is.
template <std::floating_point T>
constexpr typename Carrier<T>::Bits first_normal(const Format& f) {
  using Bits = typename Carrier<T>::Bits;
  const Format& c = Carrier<T>::format;
  const int e = f.emin();
  if (!f.has_zero || e <= c.quantum_exponent()) return 0;
  if (e > c.emax()) return static_cast<Bits>(infinity_bits(c, false));
  return e < c.emin() ? Bits{1} << (e - c.quantum_exponent())
                      : static_cast<Bits>(e + c.bias) << c.fraction_bits();
}

}  // namespace binade
