// SPDX-License-Identifier: Apache-2.0
//
// Digests of 64 bits of what `quantize` of emulate/quantize.h makes of all 2^32 floats. There is a
// row of digests for each rounding of each of five formats; a row has a digest for each block of
// 2^24 consecutive encodings. Element x of a row is the float with encoding x, rounded with random
// word x. A digest depends on the bits of every result of its block and on the block's EventCounts:
//
//     tile sum   s = sum of out[i] · key[i] mod 2^64, i < 1024       keys odd and distinct, of 32 bits
//     folded     d = mix(d ^ s), tile after tile from d = 0          mix: the finalizer of SplitMix64
//     counts     d = mix(d ^ count), the nine in the order of their struct
//
// One float that differs changes its tile's sum, since a difference below 2^32 times an odd key is
// no multiple of 2^64. So do two floats of a tile that change places, since the difference of two
// keys is below 2^32 and not 0. And mix is one to one.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>

#include "emulate/fast/kernels.h"

namespace binade::quantize_digest {

inline constexpr std::size_t tile = 1024;
inline constexpr std::size_t blocks = 256;
inline constexpr std::uint64_t block_size = std::uint64_t{1} << 24;
static_assert(blocks * block_size == std::uint64_t{1} << 32 && block_size % tile == 0);

inline constexpr std::array formats_of_rows{binary16, e4m3, bfloat16, e5m2, tf32};
inline constexpr std::size_t rows = formats_of_rows.size() * roundings.size();

/// Rounding r of format f has the set of attributes (f + r) modulo their number. Results are not
/// flushed, because tiles do not do that.
struct AttributeSet {
  Saturation saturation;
  bool flush_operands;
  NanResult nan;
};
inline constexpr auto attribute_sets = std::to_array<AttributeSet>({
    {Saturation::none, false, NanResult::quiet},
    {Saturation::finite, false, NanResult::nvidia},
    {Saturation::none, true, NanResult::propagate},
    {Saturation::finite, true, NanResult::quiet},
    {Saturation::none, false, NanResult::nvidia},
    {Saturation::finite, false, NanResult::propagate},
    {Saturation::none, true, NanResult::nvidia},
});
/// The numbers of random bits of stochastic rounding, one for each format.
inline constexpr std::array<int, formats_of_rows.size()> random_bits{32, 24, 16, 9, 1};

constexpr Quantizer quantizer_of(std::size_t row) {
  const std::size_t f = row / roundings.size();
  const std::size_t r = row % roundings.size();
  const AttributeSet& set = attribute_sets[(f + r) % attribute_sets.size()];
  return {.format = formats_of_rows[f],
          .attributes = {.rounding = roundings[r].rounding,
                         .saturation = set.saturation,
                         .flush_operands = set.flush_operands,
                         .nan = set.nan,
                         .random_bits = random_bits[f]},
          .seed = 1,
          .stream = row};
}

/// Returns a row's name: its format, rounding and attributes.
inline std::string title_of(std::size_t row) {
  constexpr std::array saturation{" saturation=none", " saturation=finite"};
  constexpr std::array operands{" operands=kept", " operands=flushed"};
  constexpr std::array nan{" nan=quiet", " nan=nvidia", " nan=propagate"};
  const Quantizer to = quantizer_of(row);
  const Attributes& x = to.attributes;
  std::string out(format_name(to.format));
  out.append(" ").append(rounding_name(x.rounding));
  out += saturation[static_cast<std::size_t>(x.saturation)];
  out += operands[x.flush_operands ? 1 : 0];
  out += nan[static_cast<std::size_t>(x.nan)];
  if (x.rounding == Rounding::stochastic) {
    out += " random_bits=" + std::to_string(x.random_bits) + " seed=" + std::to_string(to.seed) +
           " stream=" + std::to_string(to.stream);
  }
  return out;
}

/// The keys: key i is word i of Philox stream 0 under seed 0, made odd.
constexpr std::array<std::uint32_t, tile> tile_keys() {
  std::array<std::uint32_t, tile> out{};
  for (std::size_t i = 0; i < tile; i += 4) {
    const std::array<std::uint32_t, 4> words = random_words(0, 0, i / 4);
    for (std::size_t j = 0; j < 4; ++j) out[i + j] = words[j] | 1;
  }
  return out;
}
inline constexpr std::array<std::uint32_t, tile> keys = tile_keys();

constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return x ^ x >> 31;
}

struct CountName {
  const char* name;
  std::uint64_t EventCounts::*count;
};
inline constexpr std::array<CountName, 9> count_names{{
    {"values", &EventCounts::values},
    {"nan_in", &EventCounts::nan_in},
    {"inf_in", &EventCounts::inf_in},
    {"invalid", &EventCounts::invalid},
    {"to_zero", &EventCounts::to_zero},
    {"subnormal", &EventCounts::subnormal},
    {"overflow", &EventCounts::overflow},
    {"saturated", &EventCounts::saturated},
    {"inexact", &EventCounts::inexact},
}};
static_assert(sizeof(EventCounts) == count_names.size() * sizeof(std::uint64_t));

class Digest {
 public:
  void add_tile(const float* out) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < tile; ++i) {
      sum += std::uint64_t{std::bit_cast<std::uint32_t>(out[i])} * keys[i];
    }
    fold(sum);
  }
  void add(const EventCounts& counts) {
    for (const CountName& x : count_names) fold(counts.*x.count);
  }
  std::uint64_t value() const { return value_; }

 private:
  void fold(std::uint64_t word) { value_ = mix(value_ ^ word); }

  std::uint64_t value_ = 0;
};

using Quantize = Kernels::Quantize<float>;

inline constexpr std::size_t part = 16 * tile;  ///< number of floats that are quantized at once

/// Returns the floats of `part` consecutive encodings.
inline void fill(float* in, std::uint64_t first) {
  const auto begin = static_cast<std::uint32_t>(first);
  for (std::size_t i = 0; i < part; ++i) {
    in[i] = std::bit_cast<float>(begin + static_cast<std::uint32_t>(i));
  }
}

inline std::uint64_t digest_of(Quantize quantize, std::size_t row, std::size_t block) {
  const Quantizer to = quantizer_of(row);
  std::array<float, part> in, out;
  EventCounts counts;
  Digest digest;
  const std::uint64_t begin = block * block_size;
  for (std::uint64_t first = begin; first < begin + block_size; first += part) {
    fill(in.data(), first);
    quantize(in.data(), out.data(), part, first, to, counts);
    for (std::size_t i = 0; i < part; i += tile) digest.add_tile(out.data() + i);
  }
  digest.add(counts);
  return digest.value();
}

}  // namespace binade::quantize_digest
