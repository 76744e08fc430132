// SPDX-License-Identifier: Apache-2.0
//
// The bulk kernels by level: the definitions as the reference, and their twins that are fast. Whoever works on arrays
// or matrices takes kernels from here; every level gives the reference's bytes and counts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "emulate/elementwise.h"
#include "emulate/quantize.h"
#include "emulate/range_count.h"

namespace binade {

/// What a kernel asks of the machine: nothing; nor does `portable`, whose loops are written so that a compiler makes
/// good code of them for any processor.
enum class Level : std::uint8_t { reference, portable };

inline constexpr std::array<std::string_view, 2> level_names{"reference", "portable"};

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

template <class Entry>
struct KernelName {
  std::string_view name;
  Entry Kernels::*entry;
};
template <class Entry>
KernelName(const char*, Entry Kernels::*) -> KernelName<Entry>;

/// Every entry by name.
inline constexpr std::tuple kernel_names{
    KernelName{"quantize_f32", &Kernels::quantize_f32},
    KernelName{"quantize_f64", &Kernels::quantize_f64},
    KernelName{"elementwise_f32", &Kernels::elementwise_f32},
    KernelName{"elementwise_f64", &Kernels::elementwise_f64},
    KernelName{"range_count_f32", &Kernels::range_count_f32},
    KernelName{"range_count_f64", &Kernels::range_count_f64},
};

/// What a level itself brings; null where it brings nothing.
const Kernels& own_kernels(Level level);

/// Each kernel of the level, or of the highest level below it that has one.
const Kernels& kernels(Level level);

}  // namespace binade
