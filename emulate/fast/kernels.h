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
#include "emulate/fast/epilogues.h"
#include "emulate/fast/products.h"
#include "emulate/fast/range_count.h"
#include "emulate/histogram.h"
#include "emulate/nonfinite.h"
#include "emulate/quantize.h"
#include "emulate/range_count.h"
#include "emulate/unscale.h"

namespace binade {

/// What a kernel asks of the machine: nothing; nor does `portable`, whose loops are written so that a compiler makes
/// good code of them for any processor. The others are vectors of x86-64.
enum class Level : std::uint8_t { reference, portable, avx2, avx512 };

inline constexpr std::array<std::string_view, 4> level_names{"reference", "portable", "avx2",
                                                             "avx512"};

/// A kernel that is called with operands of so many bytes or more writes its results past the caches, where it does not write
/// in place: they would not stay there, and a third of the traffic is saved.
inline constexpr std::size_t streamed_bytes = std::size_t{8} << 20;

/// Arrays of n elements each, whose first has the number `first` in its stream; counts are added to.
struct Kernels {
  /// `quantize` of emulate/quantize.h.
  template <class T>
  using Quantize = void (*)(const T* in, T* out, std::size_t n, std::uint64_t first,
                            const Quantizer& to, EventCounts& counts);
  Quantize<float> quantize_f32 = nullptr;
  Quantize<double> quantize_f64 = nullptr;
  /// `quantize_to_codes` of emulate/quantize.h.
  template <class T>
  using Encode = void (*)(const T* in, std::byte* out, std::size_t n, std::uint64_t first,
                          const Quantizer& to, EventCounts& counts);
  Encode<float> encode_f32 = nullptr;
  Encode<double> encode_f64 = nullptr;
  /// `values_of_codes` of emulate/quantize.h.
  template <class T>
  using Decode = void (*)(const std::byte* in, T* out, std::size_t n, const Format& format);
  Decode<float> decode_f32 = nullptr;
  Decode<double> decode_f64 = nullptr;
  /// `random_word` of emulate/philox.h.
  void (*random_words)(std::uint64_t seed, std::uint64_t stream, std::uint64_t first, std::size_t n,
                       std::uint32_t* out) = nullptr;
  /// `unscale` of emulate/unscale.h.
  NonFinite (*unscale_f32)(const float* in, float* out, std::size_t n, const Format& format,
                           float inv_scale) = nullptr;
  /// `elementwise` of emulate/elementwise.h.
  template <class T>
  using OnElements = void (*)(const T* a, const T* b, const T* c, T* out, std::size_t n,
                              std::uint64_t first, const Elementwise& how, EventCounts& counts);
  OnElements<float> elementwise_f32 = nullptr;
  OnElements<double> elementwise_f64 = nullptr;
  /// `range_count` of emulate/range_count.h; `work` is all zero before and after, but for its rules.
  template <class T>
  using RangeCount = void (*)(const T* in, std::size_t n, RangeBlock<T>& block,
                              fast::RangeCells& work);
  RangeCount<float> range_count_f32 = nullptr;
  RangeCount<double> range_count_f64 = nullptr;
  /// `histogram` of emulate/histogram.h.
  template <int bits>
  using Histogram = void (*)(const std::byte* in, std::size_t n, EncodingCounts<bits>& counts);
  Histogram<8> histogram_8 = nullptr;
  Histogram<16> histogram_16 = nullptr;
  /// `any_nonfinite` of emulate/nonfinite.h.
  bool (*any_nonfinite)(const std::byte* in, std::size_t n, const Format& format) = nullptr;
  /// Sums of products: the first of them that knows a model. `dots` knows all.
  const ProductKernel *dot_blocks = nullptr, *chains = nullptr, *integers = nullptr,
                      *dots = nullptr;
  /// left becomes left + right: `compute` to nearest, in format `to`.
  void (*add_sums)(const SumsOf<std::uint64_t>& left, const SumsOf<const std::uint64_t>& right,
                   const Format& to) = nullptr;
  /// `epilogue` of emulate/gemm.h: sums become a row's elements of D.
  void (*epilogue)(const EpilogueRow& x, std::uint64_t* sums) = nullptr;
  /// The same in binary32, of sums that are numbers, but for D's last rounding.
  void (*epilogue_f32)(const ValuesRow& x, float* d) = nullptr;
};

/// The entries for arrays of T.
template <class T>
struct KernelsOf;
template <>
struct KernelsOf<float> {
  static constexpr auto quantize = &Kernels::quantize_f32;
  static constexpr auto encode = &Kernels::encode_f32;
  static constexpr auto decode = &Kernels::decode_f32;
  static constexpr auto elementwise = &Kernels::elementwise_f32;
  static constexpr auto range_count = &Kernels::range_count_f32;
};
template <>
struct KernelsOf<double> {
  static constexpr auto quantize = &Kernels::quantize_f64;
  static constexpr auto encode = &Kernels::encode_f64;
  static constexpr auto decode = &Kernels::decode_f64;
  static constexpr auto elementwise = &Kernels::elementwise_f64;
  static constexpr auto range_count = &Kernels::range_count_f64;
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
    KernelName{"encode_f32", &Kernels::encode_f32},
    KernelName{"encode_f64", &Kernels::encode_f64},
    KernelName{"decode_f32", &Kernels::decode_f32},
    KernelName{"decode_f64", &Kernels::decode_f64},
    KernelName{"random_words", &Kernels::random_words},
    KernelName{"unscale_f32", &Kernels::unscale_f32},
    KernelName{"elementwise_f32", &Kernels::elementwise_f32},
    KernelName{"elementwise_f64", &Kernels::elementwise_f64},
    KernelName{"range_count_f32", &Kernels::range_count_f32},
    KernelName{"range_count_f64", &Kernels::range_count_f64},
    KernelName{"histogram_8", &Kernels::histogram_8},
    KernelName{"histogram_16", &Kernels::histogram_16},
    KernelName{"any_nonfinite", &Kernels::any_nonfinite},
    KernelName{"dot_blocks", &Kernels::dot_blocks},
    KernelName{"chains", &Kernels::chains},
    KernelName{"integers", &Kernels::integers},
    KernelName{"dots", &Kernels::dots},
    KernelName{"add_sums", &Kernels::add_sums},
    KernelName{"epilogue", &Kernels::epilogue},
    KernelName{"epilogue_f32", &Kernels::epilogue_f32},
};

/// The kernel for a model's products: the first that knows it.
inline const ProductKernel& product_kernel(const Kernels& kernels, const GemmModel& g) {
  for (const ProductKernel* kernel : {kernels.dot_blocks, kernels.chains, kernels.integers}) {
    if (kernel->packing(g).known) return *kernel;
  }
  return *kernels.dots;
}

/// What a level itself brings; null where it brings nothing.
const Kernels& own_kernels(Level level);

/// The reference, for what a twin leaves to it.
inline const Kernels& definitions() { return own_kernels(Level::reference); }

/// Each kernel of the level, or of the highest level below it that has one, in the default floating-point environment
/// whatever the caller's. The machine must have what the level asks for.
const Kernels& kernels(Level level);

}  // namespace binade
