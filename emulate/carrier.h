// SPDX-License-Identifier: Apache-2.0
//
// Numbers of a format carried in float or double: a tensor holds its values in float32 where the
// format's grid fits, else in double.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

#include "emulate/project.h"

namespace binade {

/// The format of a C++ floating-point type and the integer that holds its bits.
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

template <std::floating_point T>
constexpr std::uint64_t bits_of(T value) {
  return std::bit_cast<typename Carrier<T>::Bits>(value);
}

/// The value of an encoding as a float or double, exactly; `format` must fit in T's. A NaN keeps
/// its sign and leading payload bits.
template <std::floating_point T>
constexpr T value_of(std::uint64_t bits, const Format& format) {
  const Attributes keep{.nan = NanResult::propagate};
  const std::uint64_t wide = convert(bits, format, Carrier<T>::format, keep).bits;
  return std::bit_cast<T>(static_cast<typename Carrier<T>::Bits>(wide));
}

/// The exact number that a float or double is.
template <std::floating_point T>
constexpr Exact exact_of(T value) {
  return decode(bits_of(value), Carrier<T>::format);
}

/// Whether a number is subnormal in a format: non-zero and below its smallest normal number.
constexpr bool is_subnormal(const Exact& x, const Format& f) {
  return f.has_zero && x.kind == Kind::finite &&
         x.exponent + bit_width(x.significand) - 1 < f.emin();
}

/// The bits of the least magnitude of Ts that is normal in a format: 0 where all numbers are, infinity where none is.
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
