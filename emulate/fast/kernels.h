// SPDX-License-Identifier: Apache-2.0
//
// The table of kernels by level. The row `reference` holds the definitions of emulate/*.h; the
// other rows hold fast versions, which give the same bytes and counts. Code that works on arrays or
// matrices takes its kernels from here.
//
//     row          own entries                 kernels(level): gaps are filled from the row below
//     avx512       quantize  ----              quantize of avx512   histogram of portable
//     avx2         quantize  ----              quantize of avx2     histogram of portable
//     portable     quantize  histogram         its own
//     reference    quantize  histogram         its own: the definitions
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "emulate/block_arrays.h"
#include "emulate/block_packing.h"
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

/// What a kernel needs of the machine. `reference` and `portable` run on every one; the loops of
/// `portable` are written so that a compiler makes good vector code of them. `avx2` (with FMA) and
/// `avx512` (F, BW, DQ, VL) need x86-64.
enum class Level : std::uint8_t { reference, portable, avx2, avx512 };

/// A row of the table of levels.
struct NamedLevel {
  std::string_view name;
  Level level;
};

/// In ascending order: each level behind all whose instructions it contains.
inline constexpr auto levels = std::to_array<NamedLevel>({
    {"reference", Level::reference},
    {"portable", Level::portable},
    {"avx2", Level::avx2},
    {"avx512", Level::avx512},
});

constexpr std::string_view level_name(Level level) {
  return levels[static_cast<std::size_t>(level)].name;
}

/// From arrays of this many bytes of floats or doubles on, a kernel that does not write in place
/// writes its results past the caches: they would not stay there, and a third of the memory traffic
/// is saved.
inline constexpr std::size_t streamed_bytes = std::size_t{8} << 20;

/// How many bytes ahead of a streaming loop its operands are prefetched.
inline constexpr std::size_t prefetch_distance = 2048;

/// The lines that a kernel of blocks takes under the same scales, and how it uses memory: results
/// may go past the caches, and as many numbers as it takes are prefetched meanwhile from `next` on,
/// where the caller goes on.
struct Access {
  bool streamed = false;
  const float* next = nullptr;
  std::size_t lines = 1;
  /// From a line to the one below it, in numbers, of which the streams of random words have as many
  /// words, and in results.
  std::size_t stride = 0, stride_out = 0;
};

/// One row of the table. Arrays have n elements each; `first` is the number of the first element in
/// its stream of random words; counts are added to `counts`. An entry that a level does not have is
/// null.
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
  /// `range_count` of emulate/range_count.h. `work` is work space of the caller: all zero before
  /// and after the call, apart from its rules.
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
  /// `block_amaxes`, `block_scales` and `block_codes` of emulate/block_arrays.h.
  void (*block_amaxes)(const ScaleRule& rule, const float* in, std::size_t n, std::size_t width,
                       std::uint32_t* amaxes) = nullptr;
  void (*block_scales)(const BlockQuantizer& to, const std::uint32_t* amaxes, std::size_t n,
                       std::uint32_t* codes, std::uint32_t* factors, ScaleCounts& counts) = nullptr;
  void (*block_codes)(const BlockQuantizer& to, const float* in, std::size_t n, std::size_t width,
                      const std::uint32_t* factors, std::uint64_t first, const Access& access,
                      std::byte* out, EventCounts& counts) = nullptr;
  /// `block_values` of emulate/block_arrays.h; `streamed` says to write past the caches.
  template <class T>
  using BlockValues = void (*)(const BlockFormat& format, const std::byte* in, std::size_t n,
                               std::size_t width, const std::uint32_t* scales,
                               std::uint32_t tensor_decode, bool streamed, T* out);
  BlockValues<float> block_values_f32 = nullptr;
  BlockValues<double> block_values_f64 = nullptr;
  /// `block_quantize` of emulate/block_arrays.h.
  void (*block_quantize)(const BlockQuantizer& to, const float* in, std::size_t n,
                         std::size_t width, const std::uint32_t* factors,
                         const std::uint32_t* scales, std::uint64_t first, const Access& access,
                         float* out, EventCounts& counts) = nullptr;
  /// `chosen_scale` of emulate/block_quantize.h, for a block of n numbers.
  BlockScale (*chosen_scale)(const BlockQuantizer& to, const float* x, std::size_t n,
                             std::uint32_t amax) = nullptr;
  /// `pack_4` of emulate/block_packing.h.
  void (*pack_4)(const std::byte* codes, std::size_t n, std::byte* out,
                 NibbleOrder order) = nullptr;
  /// Sums of products: `product_kernel` takes the first of these that knows a model. `dots` knows
  /// every model.
  const ProductKernel *dot_blocks = nullptr, *dot_groups = nullptr, *chains = nullptr,
                      *integers = nullptr, *dots = nullptr;
  /// Replaces left by left + right, rounded to nearest in format `to`: `compute` of
  /// emulate/operation.h on each element.
  void (*add_sums)(const SumsOf<std::uint64_t>& left, const SumsOf<const std::uint64_t>& right,
                   const Format& to) = nullptr;
  /// Replaces left by left + right times scales, in format `to`: a promotion, `scaled_add` of
  /// emulate/gemm.h on each element.
  void (*add_scaled_sums)(const SumsOf<std::uint64_t>& left,
                          const SumsOf<const std::uint64_t>& right, const RowScales& scales,
                          const Format& to) = nullptr;
  /// `epilogue` of emulate/gemm.h: turns a row of sums into a row of D, as encodings.
  void (*epilogue)(const EpilogueRow& x, std::uint64_t* sums) = nullptr;
  /// The epilogue in binary32, of sums that are floats, without the last rounding to D's format.
  void (*epilogue_f32)(const ValuesRow& x, float* d) = nullptr;
};

/// The table's entries for arrays of T, float or double.
template <class T>
struct KernelsOf;
template <>
struct KernelsOf<float> {
  static constexpr auto quantize = &Kernels::quantize_f32;
  static constexpr auto encode = &Kernels::encode_f32;
  static constexpr auto decode = &Kernels::decode_f32;
  static constexpr auto elementwise = &Kernels::elementwise_f32;
  static constexpr auto range_count = &Kernels::range_count_f32;
  static constexpr auto block_values = &Kernels::block_values_f32;
};
template <>
struct KernelsOf<double> {
  static constexpr auto quantize = &Kernels::quantize_f64;
  static constexpr auto encode = &Kernels::encode_f64;
  static constexpr auto decode = &Kernels::decode_f64;
  static constexpr auto elementwise = &Kernels::elementwise_f64;
  static constexpr auto range_count = &Kernels::range_count_f64;
  static constexpr auto block_values = &Kernels::block_values_f64;
};

template <class Entry>
struct KernelName {
  std::string_view name;
  Entry Kernels::*entry;
};
template <class Entry>
KernelName(const char*, Entry Kernels::*) -> KernelName<Entry>;

/// Every entry of the table with its name.
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
    KernelName{"block_amaxes", &Kernels::block_amaxes},
    KernelName{"block_scales", &Kernels::block_scales},
    KernelName{"block_codes", &Kernels::block_codes},
    KernelName{"block_values_f32", &Kernels::block_values_f32},
    KernelName{"block_values_f64", &Kernels::block_values_f64},
    KernelName{"block_quantize", &Kernels::block_quantize},
    KernelName{"chosen_scale", &Kernels::chosen_scale},
    KernelName{"pack_4", &Kernels::pack_4},
    KernelName{"dot_blocks", &Kernels::dot_blocks},
    KernelName{"dot_groups", &Kernels::dot_groups},
    KernelName{"chains", &Kernels::chains},
    KernelName{"integers", &Kernels::integers},
    KernelName{"dots", &Kernels::dots},
    KernelName{"add_sums", &Kernels::add_sums},
    KernelName{"add_scaled_sums", &Kernels::add_scaled_sums},
    KernelName{"epilogue", &Kernels::epilogue},
    KernelName{"epilogue_f32", &Kernels::epilogue_f32},
};

/// Returns the kernel for a model's products: the first that knows the model.
inline const ProductKernel& product_kernel(const Kernels& kernels, const GemmModel& g) {
  for (const ProductKernel* kernel :
       {kernels.dot_blocks, kernels.dot_groups, kernels.chains, kernels.integers}) {
    if (kernel->packing(g).known) return *kernel;
  }
  return *kernels.dots;
}

/// Returns a level's own row; an entry that the level does not have is null.
const Kernels& own_kernels(Level level);

/// Returns the definitions, to which a fast kernel leaves the cases that it does not handle.
inline const Kernels& definitions() { return own_kernels(Level::reference); }

/// Returns a full row: each entry is the level's own, or that of the highest level below that has
/// one. Its functions compute in the default floating-point environment (environment.h), whatever
/// the caller's. The machine must have the level's instructions (machine_has in lib/parallel).
const Kernels& kernels(Level level);

}  // namespace binade
