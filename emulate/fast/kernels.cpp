// SPDX-License-Identifier: Apache-2.0
//
// The rows of the table.
#include "emulate/fast/kernels.h"

#include "emulate/fast/decode.h"
#include "emulate/fast/elementwise.h"
#include "emulate/fast/encode.h"
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
    .dot_blocks = &defined_dots,
    .chains = &defined_dots,
    .dots = &defined_dots,
    .add_sums = &add_sums,
    .epilogue = &epilogue_row,
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
    .elementwise_f64 = nullptr,
    .range_count_f32 = &fast::range_count,
    .range_count_f64 = nullptr,
    .dot_blocks = &fast::dot_blocks,
    .chains = &fast::chains,
    .dots = nullptr,
    .add_sums = &fast::add_sums,
    .epilogue = &fast::epilogue_row,
};

constexpr std::array<Kernels, level_names.size()> rows{reference, portable};

constexpr std::array<Kernels, rows.size()> complete() {
  std::array<Kernels, rows.size()> out = rows;
  for (std::size_t level = 1; level < rows.size(); ++level) {
    const auto fill = [&](const auto& name) {
      auto& entry = out[level].*name.entry;
      if (entry == nullptr) entry = out[level - 1].*name.entry;
    };
    std::apply([&](const auto&... names) { (fill(names), ...); }, kernel_names);
  }
  return out;
}

constexpr std::array<Kernels, rows.size()> tables = complete();

}  // namespace

const Kernels& own_kernels(Level level) { return rows[static_cast<std::size_t>(level)]; }
const Kernels& kernels(Level level) { return tables[static_cast<std::size_t>(level)]; }

}  // namespace binade
