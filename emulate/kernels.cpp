// SPDX-License-Identifier: Apache-2.0
//
// Fills the kernel tables, reference first.
#include "emulate/kernels.h"

namespace binade {
namespace {

constexpr Kernels reference{
    .quantize_f32 = &quantize<float>,
    .quantize_f64 = &quantize<double>,
    .elementwise_f32 = &elementwise<float>,
    .elementwise_f64 = &elementwise<double>,
    .range_count_f32 = &range_count<float>,
    .range_count_f64 = &range_count<double>,
};

constexpr std::array<Kernels, level_names.size()> tables{reference, reference, reference};

}  // namespace

const Kernels& kernels(Level level) { return tables[static_cast<std::size_t>(level)]; }

}  // namespace binade
