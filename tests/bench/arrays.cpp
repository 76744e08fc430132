// SPDX-License-Identifier: Apache-2.0
//
// Filling the arrays of the benchmarks.
#include "tests/bench/arrays.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "emulate/quantize.h"
#include "lib/parallel/parallel.h"

namespace binade::bench {
namespace {

struct Free {
  void operator()(std::byte* data) const { std::free(data); }
};
using Bytes = std::unique_ptr<std::byte[], Free>;

Bytes zeros(std::size_t size) {
  Bytes out(static_cast<std::byte*>(std::aligned_alloc(64, size)));
  std::memset(out.get(), 0, size);
  return out;
}

/// Arrays of bytes by format, of which only the last that was requested is kept.
template <class Fill>
const std::byte* kept(std::optional<Format>& filled_for, Bytes& data, std::size_t size,
                      const Format& f, const Fill& fill) {
  if (!data) data = zeros(size);
  if (filled_for != f) fill(data.get());
  filled_for = f;
  return data.get();
}

}  // namespace

const float* input() {
  static const Bytes data = [] {
    Bytes bytes = zeros(from_dram * sizeof(float));
    auto* const array = reinterpret_cast<float*>(bytes.get());
    constexpr std::size_t pattern = std::size_t{1} << 20;
    std::uint64_t state = 1;
    for (std::size_t i = 0; i < pattern; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;  // Knuth's MMIX generator
      const double uniform = std::ldexp(static_cast<double>(state >> 11), -53);
      const double magnitude = std::exp2(37 * uniform - 24);
      array[i] = static_cast<float>((state >> 8 & 1) != 0 ? -magnitude : magnitude);
    }
    for (std::size_t i = pattern; i < from_dram; i += pattern) {
      std::memcpy(&array[i], &array[0], pattern * sizeof(float));
    }
    return bytes;
  }();
  return reinterpret_cast<const float*>(data.get());
}

std::byte* output() {
  static const Bytes data = zeros(from_dram * sizeof(float));
  return data.get();
}

const float* operand(const Format& f, std::size_t which) {
  static std::optional<Format> filled_for;
  static Bytes data;
  constexpr std::size_t apart = 16 * 1009;  // of operands in `input`, whose pattern repeats
  constexpr std::size_t all = 3 * several_from_dram;
  const auto fill = [&](std::byte* bytes) {
    auto* const out = reinterpret_cast<float*>(bytes);
    EventCounts counts;
    const Quantizer to{.format = f, .attributes = {.saturation = Saturation::finite}};
    for (std::size_t k = 0; k < 3; ++k) {
      fastest_kernels().quantize_f32(input() + k * apart, out + k * several_from_dram,
                                     several_from_dram, 0, to, counts);
    }
  };
  return reinterpret_cast<const float*>(kept(filled_for, data, all * sizeof(float), f, fill)) +
         which * several_from_dram;
}

const std::byte* codes(const Format& f) {
  static std::optional<Format> filled_for;
  static Bytes data;
  const auto fill = [&](std::byte* out) {
    EventCounts counts;
    fastest_kernels().encode_f32(input(), out, from_dram, 0, {.format = f}, counts);
  };
  return kept(filled_for, data, from_dram * sizeof(float), f, fill);
}

}  // namespace binade::bench
