// SPDX-License-Identifier: Apache-2.0
//
// The rows of the table.
#include "emulate/fast/kernels.h"

#include "emulate/fast/quantize.h"

namespace binade {
namespace {

constexpr std::array<Kernels, level_names.size()> rows{{
    {
        .quantize_f32 = &quantize<float>,
        .quantize_f64 = &quantize<double>,
        .elementwise_f32 = &elementwise<float>,
        .elementwise_f64 = &elementwise<double>,
        .range_count_f32 = &range_count<float>,
        .range_count_f64 = &range_count<double>,
    },
    {
        .quantize_f32 = &fast::quantize,
        .quantize_f64 = nullptr,
        .elementwise_f32 = nullptr,
        .elementwise_f64 = nullptr,
        .range_count_f32 = nullptr,
        .range_count_f64 = nullptr,
    },
}};

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
