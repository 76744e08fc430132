// SPDX-License-Identifier: Apache-2.0
//
// Arrays onto the grid of a format, with exact counts of what happened to the values. This is the
// definition; faster levels in kernels.h must give the same bytes and counts.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "emulate/philox.h"
#include "emulate/project.h"

namespace binade {

/// What to quantize to, and how. Element i of stream s draws word i of Philox stream s.
struct Quantizer {
  Format format = binary16;
  Attributes attributes = {};
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
};

/// Counts over an array. `nan_in` and `inf_in` count operands; all others count finite operands.
struct QuantizeCounts {
  std::uint64_t values = 0;  ///< all elements
  std::uint64_t nan_in = 0;
  std::uint64_t inf_in = 0;
  std::uint64_t to_zero = 0;    ///< non-zero in, zero out; flushing included
  std::uint64_t subnormal = 0;  ///< non-zero subnormal out
  std::uint64_t overflow = 0;   ///< IEEE 754 overflow, whatever was delivered
  std::uint64_t saturated = 0;  ///< of these: delivered as largest finite under Saturation::finite
  std::uint64_t inexact = 0;    ///< out differs from in

  friend constexpr bool operator==(const QuantizeCounts&, const QuantizeCounts&) = default;

  constexpr QuantizeCounts& operator+=(const QuantizeCounts& other) {
    values += other.values;
    nan_in += other.nan_in;
    inf_in += other.inf_in;
    to_zero += other.to_zero;
    subnormal += other.subnormal;
    overflow += other.overflow;
    saturated += other.saturated;
    inexact += other.inexact;
    return *this;
  }
};

/// The format of a C++ floating-point type and the integer that holds its bits.
template <std::floating_point T>
struct Carrier;
template <>
struct Carrier<float> {
  static constexpr Format format = binary32;
  using Bits = std::uint32_t;
};
template <>
struct Carrier<double> {
  static constexpr Format format = binary64;
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

/// One value to an encoding, counted. `index`: the element's place in its stream.
template <std::floating_point T>
constexpr std::uint64_t quantize_one(T value, std::uint64_t index, const Quantizer& to,
                                     QuantizeCounts& counts) {
  const Attributes& attributes = to.attributes;
  const Exact operand = decode(bits_of(value), Carrier<T>::format);
  const std::uint32_t random =
      attributes.rounding == Rounding::stochastic ? random_word(to.seed, to.stream, index) : 0;
  const Projected out = convert(bits_of(value), Carrier<T>::format, to.format, attributes, random);
  counts.values += 1;
  counts.nan_in += operand.kind == Kind::nan ? 1 : 0;
  counts.inf_in += operand.kind == Kind::infinite ? 1 : 0;
  if (operand.kind == Kind::nan || operand.kind == Kind::infinite) return out.bits;
  const bool flushed =
      attributes.flush_operands && is_subnormal(bits_of(value), Carrier<T>::format);
  const bool zero_out = decode(out.bits, to.format).kind == Kind::zero;
  const bool overflowed = (out.flags & Flag::overflow) != 0;
  counts.to_zero += operand.kind == Kind::finite && zero_out ? 1 : 0;
  counts.subnormal += is_subnormal(out.bits, to.format) ? 1 : 0;
  counts.overflow += overflowed ? 1 : 0;
  counts.saturated += overflowed && attributes.saturation == Saturation::finite ? 1 : 0;
  counts.inexact += flushed || (out.flags & Flag::inexact) != 0 ? 1 : 0;
  return out.bits;
}

/// in[i] to out[i], both of `n` elements, i counting from `first` in the stream; `out` may be `in`.
/// The format must fit in T's.
template <std::floating_point T>
constexpr void quantize(const T* in, T* out, std::size_t n, std::uint64_t first,
                        const Quantizer& to, QuantizeCounts& counts) {
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = value_of<T>(quantize_one(in[i], first + i, to, counts), to.format);
  }
}

}  // namespace binade
