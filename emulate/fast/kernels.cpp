// SPDX-License-Identifier: Apache-2.0
//
// The rows `reference` and `portable` of the table, and the full rows that callers get: each entry
// is wrapped in a function that sets the default floating-point environment first.
#include "emulate/fast/kernels.h"

#include <cstring>
#include <utility>
#include <vector>

#include "emulate/fast/blocks.h"
#include "emulate/fast/decode.h"
#include "emulate/fast/elementwise.h"
#include "emulate/fast/encode.h"
#include "emulate/fast/environment.h"
#include "emulate/fast/histogram.h"
#include "emulate/fast/nonfinite.h"
#include "emulate/fast/quantize.h"
#include "emulate/fast/stochastic.h"
#include "emulate/fast/unscale.h"

namespace binade {
namespace {

void random_words_by_definition(std::uint64_t seed, std::uint64_t stream, std::uint64_t first,
                                std::size_t n, std::uint32_t* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = random_word(seed, stream, first + i);
}

template <std::floating_point T>
void range_count_by_definition(const T* in, std::size_t n, RangeBlock<T>& block,
                               fast::RangeCells&) {
  range_count(in, n, block);
}

template <std::floating_point T>
void block_values_by_definition(const BlockFormat& format, const std::byte* in, std::size_t n,
                                std::size_t width, const std::uint32_t* scales,
                                std::uint32_t tensor_decode, bool, T* out) {
  block_values(format, in, n, width, scales, tensor_decode, out);
}

void block_codes_by_definition(const BlockQuantizer& to, const float* in, std::size_t n,
                               std::size_t width, const std::uint32_t* factors, std::uint64_t first,
                               const Access& access, std::byte* out, EventCounts& counts) {
  const std::size_t bytes = code_bytes(to.format.element);
  for (std::size_t line = 0; line < access.lines; ++line) {
    const std::size_t at = line * access.stride;
    block_codes(to, in + at, n, width, factors, first + at, out + line * access.stride_out * bytes,
                counts);
  }
}

void block_quantize_by_definition(const BlockQuantizer& to, const float* in, std::size_t n,
                                  std::size_t width, const std::uint32_t* factors,
                                  const std::uint32_t* scales, std::uint64_t first,
                                  const Access& access, float* out, EventCounts& counts) {
  for (std::size_t line = 0; line < access.lines; ++line) {
    const std::size_t at = line * access.stride;
    block_quantize(to, in + at, n, width, factors, scales, first + at,
                   out + line * access.stride_out, counts);
  }
}

BlockScale chosen_scale_by_definition(const BlockQuantizer& to, const float* x, std::size_t n,
                                      std::uint32_t amax) {
  std::vector<std::uint32_t> bits(n);
  std::memcpy(bits.data(), x, n * sizeof(float));
  return chosen_scale(to.rule, to.format, bits.data(), n, amax, to.tensor);
}

constexpr Kernels reference{
    .quantize_f32 = &quantize<float>,
    .quantize_f64 = &quantize<double>,
    .encode_f32 = &quantize_to_codes<float>,
    .encode_f64 = &quantize_to_codes<double>,
    .decode_f32 = &values_of_codes<float>,
    .decode_f64 = &values_of_codes<double>,
    .random_words = &random_words_by_definition,
    .unscale_f32 = &unscale,
    .elementwise_f32 = &elementwise<float>,
    .elementwise_f64 = &elementwise<double>,
    .range_count_f32 = &range_count_by_definition<float>,
    .range_count_f64 = &range_count_by_definition<double>,
    .histogram_8 = &histogram<8>,
    .histogram_16 = &histogram<16>,
    .any_nonfinite = &any_nonfinite,
    .block_amaxes = &block_amaxes,
    .block_scales = &block_scales,
    .block_codes = &block_codes_by_definition,
    .block_values_f32 = &block_values_by_definition<float>,
    .block_values_f64 = &block_values_by_definition<double>,
    .block_quantize = &block_quantize_by_definition,
    .chosen_scale = &chosen_scale_by_definition,
    .pack_4 = &pack_4,
    .dot_blocks = &defined_dots,
    .dot_groups = &defined_dots,
    .chains = &defined_dots,
    .integers = &defined_dots,
    .dots = &defined_dots,
    .add_sums = &add_sums,
    .add_scaled_sums = &add_scaled_sums,
    .epilogue = &epilogue_row,
    .epilogue_f32 = &epilogue_values,
};

constexpr Kernels portable{
    .quantize_f32 = &fast::quantize,
    .quantize_f64 = &fast::quantize,
    .encode_f32 = &fast::quantize_to_codes,
    .encode_f64 = &fast::quantize_to_codes,
    .decode_f32 = &fast::values_of_codes,
    .decode_f64 = &fast::values_of_codes,
    .random_words = &fast::random_words,
    .unscale_f32 = &fast::unscale,
    .elementwise_f32 = &fast::elementwise,
    .range_count_f32 = &fast::range_count,
    .histogram_8 = &fast::histogram,
    .histogram_16 = &fast::histogram,
    .any_nonfinite = &fast::any_nonfinite,
    .block_amaxes = &fast::block_amaxes,
    .block_scales = &fast::block_scales,
    .block_codes = &fast::block_codes,
    .block_values_f32 = &fast::block_values,
    .block_values_f64 = &fast::block_values,
    .block_quantize = &fast::block_quantize,
    .chosen_scale = &fast::chosen_scale,
    .pack_4 = &fast::pack_4,
    .dot_blocks = &fast::dot_blocks,
    .dot_groups = &fast::dot_groups,
    .chains = &fast::chains,
    .integers = &fast::integers,
    .add_sums = &fast::add_sums,
    .add_scaled_sums = &fast::add_scaled_sums,
    .epilogue = &fast::epilogue_row,
    .epilogue_f32 = &fast::epilogue_values,
};

#ifdef __x86_64__
}  // namespace
extern const Kernels avx2_kernels, avx512_kernels;
namespace {
#else
constexpr Kernels avx2_kernels, avx512_kernels;
#endif

template <class Function>
Function* opaque(Function* kernel) {
  // The compiler cannot see through the pointer, so it moves none of the kernel's arithmetic in
  // front of the environment.
  asm volatile("" : "+r"(kernel) : : "memory");
  return kernel;
}

/// A level's own entry as callers get it: sets the default floating-point environment, calls the
/// entry, and restores the caller's environment.
template <Level level, auto entry, class Result, class... Arguments>
Result enter(Arguments... arguments) {
  const fast::DefaultEnvironment environment;
  return opaque(own_kernels(level).*entry)(arguments...);
}

/// The same of one function of a product's kernel.
template <Level level, auto entry, auto step, class Result, class... Arguments>
Result enter_product(Arguments... arguments) {
  const fast::DefaultEnvironment environment;
  return opaque((own_kernels(level).*entry)->*step)(arguments...);
}

template <Level level, auto entry, class Result, class... Arguments>
void put_door(Result (*&place)(Arguments...)) {
  place = &enter<level, entry>;
}

template <Level level, auto entry>
void put_door(const ProductKernel*& place) {
  static constexpr ProductKernel doors{
      .packing = &enter_product<level, entry, &ProductKernel::packing>,
      .place = &enter_product<level, entry, &ProductKernel::place>,
      .decode = &enter_product<level, entry, &ProductKernel::decode>,
      .pack = &enter_product<level, entry, &ProductKernel::pack>,
      .run = &enter_product<level, entry, &ProductKernel::run>,
      .sum = &enter_product<level, entry, &ProductKernel::sum>};
  place = &doors;
}

/// Fills a column of the table: each level has a door to its own entry, or the door of the level
/// below.
template <auto entry, std::size_t... level>
void put_doors(std::array<Kernels, levels.size()>& tables, std::index_sequence<level...>) {
  const auto put = [&]<std::size_t at>() {
    if (own_kernels(Level{at}).*entry != nullptr) {
      put_door<Level{at}, entry>(tables[at].*entry);
    } else if constexpr (at > 0) {
      tables[at].*entry = tables[at - 1].*entry;
    }
  };
  (put.template operator()<level>(), ...);
}

template <std::size_t... name>
std::array<Kernels, levels.size()> doors(std::index_sequence<name...>) {
  std::array<Kernels, levels.size()> out;
  (put_doors<std::get<name>(kernel_names).entry>(out, std::make_index_sequence<levels.size()>{}),
   ...);
  return out;
}

}  // namespace

const Kernels& own_kernels(Level level) {
  switch (level) {
    case Level::reference: return reference;
    case Level::portable: return portable;
    case Level::avx2: return avx2_kernels;
    case Level::avx512: return avx512_kernels;
  }
  return reference;
}

const Kernels& kernels(Level level) {
  static const std::array<Kernels, levels.size()> tables =
      doors(std::make_index_sequence<std::tuple_size_v<decltype(kernel_names)>>{});
  return tables[static_cast<std::size_t>(level)];
}

}  // namespace binade
