// SPDX-License-Identifier: Apache-2.0
//
// `quantize` of emulate/quantize.h on the current GPU: the same bytes, the same counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "emulate/quantize.h"

namespace binade {

struct EventWords;

/// Starts it on arrays of the device, `out` may be `in`; adds to `words`, there too.
void launch_quantize(const float* in, float* out, std::size_t n, std::uint64_t first,
                     const Quantizer& to, EventWords* words);

/// On arrays of the host, of one size.
void quantize_on_gpu(std::span<const float> in, std::span<float> out, std::uint64_t first,
                     const Quantizer& to, EventCounts& counts);

}  // namespace binade
