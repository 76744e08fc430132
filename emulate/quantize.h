// SPDX-License-Identifier: Apache-2.0
//
// Rounding of arrays to the numbers of a format, as values or as encodings, with exact counts of
// what happened to the values; and decoding of encodings to values. These functions are the
// definitions; the kernels of the same names in emulate/fast give the same bytes and counts. The
// encodings of the floats 1.5 and -2, in containers of whole bytes, lowest byte first:
//
//     binary16     00 3E 00 C0
//     e4m3         3C C0
//     e2m1         03 0C              one byte each: two of them are not packed
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "emulate/carrier.h"
#include "emulate/event_count.h"
#include "emulate/philox.h"

namespace binade {

/// The format to round to, and how. Stochastic rounding of element i of stream s uses random word i
/// of Philox stream s under the key `seed` (philox.h).
struct Quantizer {
  Format format = binary16;
  Attributes attributes = {};
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  /// For DAZ: the format that decides which operands are subnormal. If its precision is 0, it is
  /// the format of the C++ type that holds the operands.
  Format operands{};
};

/// Returns the format that decides which operands of type T are subnormal.
template <std::floating_point T>
constexpr const Format& operand_format(const Quantizer& to) {
  return to.operands.precision == 0 ? Carrier<T>::format : to.operands;
}

/// Returns one value rounded, as an encoding, and adds it to the counts. `index` is the element's
/// number in its random stream.
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

/// Rounds in[i] to out[i] for 0 <= i < n, and adds the elements to the counts. Element i is number
/// first + i of its random stream. `out` may be `in`. Every number of the format must be a number
/// of T.
template <std::floating_point T>
constexpr void quantize(const T* in, T* out, std::size_t n, std::uint64_t first,
                        const Quantizer& to, EventCounts& counts) {
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = value_of<T>(quantize_one(in[i], first + i, to, counts), to.format);
  }
}

/// Returns the size of an encoding's container in bytes: 1, 2, 4 or 8.
constexpr std::size_t code_bytes(const Format& f) {
  return static_cast<std::size_t>(f.storage_bits() / 8);
}

/// Rounds in[i] to an encoding for 0 <= i < n, as `quantize` does. `out` gets n containers of
/// code_bytes(to.format) bytes, lowest byte first. The format may have numbers that T does not
/// have.
template <std::floating_point T>
void quantize_to_codes(const T* in, std::byte* out, std::size_t n, std::uint64_t first,
                       const Quantizer& to, EventCounts& counts) {
  const std::size_t bytes = code_bytes(to.format);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t code = quantize_one(in[i], first + i, to, counts);
    std::memcpy(out + i * bytes, &code, bytes);
  }
}

/// Decodes n encodings in containers of code_bytes(format) bytes to out[i], exactly. Every number
/// of the format must be a number of T.
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
