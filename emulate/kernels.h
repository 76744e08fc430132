// SPDX-License-Identifier: Apache-2.0
//
// The bulk kernels by instruction-set level. The reference row is the definition and is always
// there; a faster level overwrites the entries it has and must give the same bytes and counts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "emulate/elementwise.h"
#include "emulate/quantize.h"
#include "emulate/range_count.h"

namespace binade {

enum class Level : std::uint8_t { reference, avx2, avx512 };

inline constexpr std::array<std::string_view, 3> level_names{"reference", "avx2", "avx512"};

struct Kernels {
  void (*quantize_f32)(const float* in, float* out, std::size_t n, std::uint64_t first,
                       const Quantizer& to, EventCounts& counts);
  void (*quantize_f64)(const double* in, double* out, std::size_t n, std::uint64_t first,
                       const Quantizer& to, EventCounts& counts);
  void (*elementwise_f32)(const float* a, const float* b, const float* c, float* out, std::size_t n,
                          std::uint64_t first, const Elementwise& how, EventCounts& counts);
  void (*elementwise_f64)(const double* a, const double* b, const double* c, double* out,
                          std::size_t n, std::uint64_t first, const Elementwise& how,
                          EventCounts& counts);
  void (*range_count_f32)(const float* in, std::size_t n, RangeBlock<float>& block);
  void (*range_count_f64)(const double* in, std::size_t n, RangeBlock<double>& block);
};

/// The table of a level: the reference, overwritten by what the level and those below it have.
const Kernels& kernels(Level level);

}  // namespace binade
