// SPDX-License-Identifier: Apache-2.0
//
// Arrays onto the grid of a format, as values or as encodings, with exact counts of what happened to the values; and
// encodings back to values. These are the definitions; their twins in fast/ give the same bytes and counts.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

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
  /// DAZ: what operands are numbers of, and so which of them are subnormal; the carrier where its precision is 0.
  Format operands{};
};

template <std::floating_point T>
constexpr const Format& operand_format(const Quantizer& to) {
  return to.operands.precision == 0 ? Carrier<T>::format : to.operands;
}

/// One value to an encoding, counted. `index`: the element's place in its stream.
template <std::floating_point T>
constexpr std::uint64_t quantize_one(T value, std::uint64_t index, const Quantizer& to,
                                     EventCounts& counts) {
  const Attributes& attributes = to.attributes;
  const Exact operand = exact_of(value);
  const bool flushed = attributes.flush_operands && is_subnormal(operand, operand_format<T>(to));
  const std::uint64_t bits =
      flushed ? zero_bits(Carrier<T>::format, operand.negative) : bits_of(value);
  const std::uint32_t random =
      attributes.rounding == Rounding::stochastic ? random_word(to.seed, to.stream, index) : 0;
  Attributes unflushed = attributes;
  unflushed.flush_operands = false;
  const Projected out = convert(bits, Carrier<T>::format, to.format, unflushed, random);
  const Unrounded before{.nan_in = operand.kind == Kind::nan,
                         .inf_in = operand.kind == Kind::infinite,
                         .nonzero = operand.kind != Kind::zero,
                         .flushed = flushed};
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

/// Bytes of an encoding's container.
constexpr std::size_t code_bytes(const Format& f) {
  return static_cast<std::size_t>(f.storage_bits() / 8);
}

/// Likewise to encodings, in containers of code_bytes(to.format) bytes each, lowest byte first; T need not hold the
/// format.
template <std::floating_point T>
void quantize_to_codes(const T* in, std::byte* out, std::size_t n, std::uint64_t first,
                       const Quantizer& to, EventCounts& counts) {
  const std::size_t bytes = code_bytes(to.format);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t code = quantize_one(in[i], first + i, to, counts);
    std::memcpy(out + i * bytes, &code, bytes);
  }
}

/// The values of n such encodings, exactly; the format must fit in T's.
template <std::floating_point T>
void values_of_codes(const std::byte* in, T* out, std::size_t n, const Format& format) {
  const std::size_t bytes = code_bytes(format);
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t code = 0;
    std::memcpy(&code, in + i * bytes, bytes);
    out[i] = value_of<T>(code, format);
  }
}

}  // namespace binade
