// SPDX-License-Identifier: Apache-2.0
//
// Arrays of binary32 numbers to codes and scales of a block format, and back, with exact counts of
// what happened to numbers and scales. A call takes a run of numbers that lie behind each other, of
// which `width` neighbours each are of one block, the last block perhaps of fewer:
//
//     numbers     7.5 -3  0.5  1 | 96  0  -2  4 | 1       width 4
//     amaxes      7.5            | 96           | 1       block_amaxes, of one run or of several
//     scales      2              | 16           | 0.25    block_scales (mxfp4 by torchao_even)
//     elements    4 -1.5 0 0.5   | 6   0 -0  0  | 4       block_codes
//     values      8 -3  0    1   | 96  0 -0  0  | 1       block_values
//
// Blocks of several lines take their amaxes line after line; blocks of columns have width 1.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "emulate/block_quantize.h"
#include "emulate/event_count.h"
#include "emulate/quantize.h"

namespace binade {

/// The block format to round to, by which rule, and how elements are rounded. Stochastic rounding
/// of element i of stream s uses random word i of Philox stream s under the key `seed`.
struct BlockQuantizer {
  BlockFormat format{};
  ScaleRule rule{};
  Attributes attributes{.saturation = Saturation::finite};
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  TensorScale tensor{};  ///< of the tensor that the blocks are of
};

/// Counts over the scales of blocks.
struct ScaleCounts {
  std::uint64_t blocks = 0;
  /// A limit of the rule or of the scale's format decided the scale of a block that is not all
  /// zeros: the quotient, or amax, was too small or too large.
  std::uint64_t clamped = 0;
  std::uint64_t zero = 0;       ///< the scale is 0, and so are all values of the block
  std::uint64_t nonfinite = 0;  ///< the scale is a NaN or an infinity
  std::uint64_t saturated = 0;  ///< the block's largest number overflows as an element

  friend constexpr bool operator==(const ScaleCounts&, const ScaleCounts&) = default;

  constexpr ScaleCounts& operator+=(const ScaleCounts& other) {
    blocks += other.blocks;
    clamped += other.clamped;
    zero += other.zero;
    nonfinite += other.nonfinite;
    saturated += other.saturated;
    return *this;
  }
};

/// Takes n numbers into the amaxes of their blocks (next_amax), bits of binary32, which begin at 0.
constexpr void block_amaxes(const ScaleRule& rule, const float* in, std::size_t n,
                            std::size_t width, std::uint32_t* amaxes) {
  for (std::size_t i = 0; i < n; ++i) {
    std::uint32_t& amax = amaxes[i / width];
    amax = next_amax(rule, amax, std::bit_cast<std::uint32_t>(in[i]));
  }
}

namespace block_steps {

/// Returns the bits of the first quotient of a rule that gives powers of two for which the smallest
/// of them is no limit: scales that are rounded up reach 2^-127 from above 2^-128, and from above
/// 2^-127 where the fields of binary32 have no smaller power. Where the exponent of the scale
/// itself can fall below the smallest, its code tells.
constexpr std::uint32_t first_unlimited(const ScaleRule& rule, const BlockFormat& format) {
  if (format.scale != e8m0) return 0;
  if (rule.flushes && rule.quotient != Quotient::amax) return 0x00800000;
  switch (rule.rounding) {
    case ScaleRounding::down: return rule.quotient == Quotient::amax ? 0 : 0x00400000;
    case ScaleRounding::up: return 0x00200001;
    case ScaleRounding::field_up: return 0x00400001;
    case ScaleRounding::log2_up: return 1;
    default: return 0;
  }
}

/// Returns whether a limit decided the scale of a block (ScaleCounts::clamped).
constexpr bool is_clamped(const BlockQuantizer& to, std::uint32_t amax) {
  const ScaleRule& rule = to.rule;
  if (amax == 0 || amax >= infinity) return false;
  if (amax < rule.least_amax) return true;
  const std::uint32_t q = quotient(rule, to.format, amax, to.tensor);
  if (q >= infinity) return false;
  if (q < rule.least_quotient || q < first_unlimited(rule, to.format)) return true;
  if (rule.factor == Factor::encode) {
    return rule.one_if_unusable && over(largest_of(to.format.element), amax) == infinity;
  }
  if (to.format.scale != e8m0 &&
      (convert(q, binary32, to.format.scale).flags & Flag::overflow) != 0) {
    return true;
  }
  ScaleRule free = rule;
  free.zero_code = as_computed;
  free.first_code = -0x200;
  free.last_code = 0x200;
  return scale_code(free, to.format, q) != scale_code(rule, to.format, q);
}

}  // namespace block_steps

/// Adds the scale of a block with this amax to the counts.
constexpr void count_scale(const BlockQuantizer& to, std::uint32_t amax, const BlockScale& scale,
                           ScaleCounts& counts) {
  const Kind kind = decode(scale.code, to.format.scale).kind;
  counts.blocks += 1;
  counts.clamped += block_steps::is_clamped(to, amax) ? 1 : 0;
  counts.zero += kind == Kind::zero ? 1 : 0;
  counts.nonfinite += kind == Kind::nan || kind == Kind::infinite ? 1 : 0;
  if (amax >= block_steps::infinity || kind == Kind::nan || kind == Kind::infinite) return;
  const Projected most =
      block_element(to.rule, to.format, scale, amax, {.saturation = Saturation::finite});
  counts.saturated += (most.flags & Flag::overflow) != 0 ? 1 : 0;
}

/// Writes the scales of n blocks from their amaxes, as block_scale() gives them: codes, and bits of
/// the factors. The rule's four_or_six is FourOrSix::six. Adds to `counts`.
constexpr void block_scales(const BlockQuantizer& to, const std::uint32_t* amaxes, std::size_t n,
                            std::uint32_t* codes, std::uint32_t* factors, ScaleCounts& counts) {
  for (std::size_t i = 0; i < n; ++i) {
    const BlockScale scale = block_scale(to.rule, to.format, amaxes[i], to.tensor);
    count_scale(to, amaxes[i], scale, counts);
    codes[i] = scale.code;
    factors[i] = scale.factor;
  }
}

/// Returns whether elements are divided by their factors, not multiplied.
constexpr bool divides(const ScaleRule& rule) {
  return rule.factor == Factor::over_scale || rule.factor == Factor::over_product ||
         rule.factor == Factor::over_quotient;
}

/// Rounds n numbers to elements of their blocks, as block_element() does, in containers of
/// code_bytes(element format) bytes; the first one is element `first` of its stream of random
/// words. Adds to `counts`: what is said of an element there is of the conversion of the scaled
/// number, but NaN and infinite operands, and operands that are not zero, are the numbers.
inline void block_codes(const BlockQuantizer& to, const float* in, std::size_t n, std::size_t width,
                        const std::uint32_t* factors, std::uint64_t first, std::byte* out,
                        EventCounts& counts) {
  const std::size_t bytes = code_bytes(to.format.element);
  const bool is_drawn = to.attributes.rounding == Rounding::stochastic;
  for (std::size_t i = 0; i < n; ++i) {
    const BlockScale scale{.factor = factors[i / width], .divides = divides(to.rule)};
    const auto x = std::bit_cast<std::uint32_t>(in[i]);
    const std::uint32_t random = is_drawn ? random_word(to.seed, to.stream, first + i) : 0;
    const Projected element = block_element(to.rule, to.format, scale, x, to.attributes, random);
    const std::uint32_t magnitude = x & block_steps::magnitude;
    const Unrounded before{.nan_in = magnitude > block_steps::infinity,
                           .inf_in = magnitude == block_steps::infinity,
                           .nonzero = magnitude != 0};
    Projected counted = element;
    counted.bits = stored_element(to.format, element.bits);
    count_event(before, counted, to.format.element, to.attributes, counts);
    std::memcpy(out + i * bytes, &element.bits, bytes);
  }
}

/// Writes the values of n elements: element times scale of its block times scale of the tensor
/// (TensorScale::decode), exact in T, or rounded once to nearest even where T is float and does not
/// hold it.
template <std::floating_point T>
void block_values(const BlockFormat& format, const std::byte* in, std::size_t n, std::size_t width,
                  const std::uint32_t* scales, std::uint32_t tensor_decode, T* out) {
  const std::size_t bytes = code_bytes(format.element);
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t code = 0;
    std::memcpy(&code, in + i * bytes, bytes);
    const Exact value = block_value(format, code, scales[i / width], tensor_decode);
    out[i] = value_of<T>(project(value, Carrier<T>::format).bits, Carrier<T>::format);
  }
}

/// Writes the values of n numbers rounded to elements: block_codes(), then block_values() in
/// binary32 of these codes.
inline void block_quantize(const BlockQuantizer& to, const float* in, std::size_t n,
                           std::size_t width, const std::uint32_t* factors,
                           const std::uint32_t* scales, std::uint64_t first, float* out,
                           EventCounts& counts) {
  for (std::size_t i = 0; i < n; ++i) {
    std::byte code[sizeof(std::uint64_t)];
    block_codes(to, in + i, 1, 1, factors + i / width, first + i, code, counts);
    block_values(to.format, code, 1, 1, scales + i / width, to.tensor.decode, out + i);
  }
}

}  // namespace binade
