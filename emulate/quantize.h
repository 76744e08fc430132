// SPDX-License-Identifier: Apache-2.0
//
// Arrays onto the grid of a format, with exact counts of what happened to the values. This is the
// definition; faster levels in kernels.h must give the same bytes and counts.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "emulate/carrier.h"
#include "emulate/event_count.h"
#include "emulate/philox.h"

namespace binade {

/// What to quantize to, and how. Element i of stream s draws word i of Philox stream s.
struct Quantizer {
  Format format = binary16;
  Attributes attributes = {};
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
};

/// One value to an encoding, counted. `index`: the element's place in its stream.
template <std::floating_point T>
constexpr std::uint64_t quantize_one(T value, std::uint64_t index, const Quantizer& to,
                                     EventCounts& counts) {
  const Attributes& attributes = to.attributes;
  const Exact operand = exact_of(value);
  const std::uint32_t random =
      attributes.rounding == Rounding::stochastic ? random_word(to.seed, to.stream, index) : 0;
  const Projected out = convert(bits_of(value), Carrier<T>::format, to.format, attributes, random);
  const Unrounded before{
      .nan_in = operand.kind == Kind::nan,
      .inf_in = operand.kind == Kind::infinite,
      .nonzero = operand.kind != Kind::zero,
      .flushed = attributes.flush_operands && is_subnormal(bits_of(value), Carrier<T>::format)};
  count_event(before, out, to.format, attributes, counts);
  return out.bits;
}

/// in[i] to out[i], both of `n` elements, i counting from `first` in the stream; `out` may be `in`.
/// The format must fit in T's.
template <std::floating_point T>
constexpr void quantize(const T* in, T* out, std::size_t n, std::uint64_t first,
                        const Quantizer& to, EventCounts& counts) {
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = value_of<T>(quantize_one(in[i], first + i, to, counts), to.format);
  }
}

}  // namespace binade
