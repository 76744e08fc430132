// SPDX-License-Identifier: Apache-2.0
//
// `quantize` of emulate/quantize.h on the current GPU. It gives the same bytes and the same counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "emulate/quantize.h"

namespace binade {

struct EventWords;

/// Starts the kernel for n floats in the device's memory and adds the events to `words`, which are
/// there, too. `out` may be `in`; `first` is the index of the first value in the stream of random
/// words. Throws Error if the launch fails.
void launch_quantize(const float* in, float* out, std::size_t n, std::uint64_t first,
                     const Quantizer& to, EventWords* words);

/// Quantizes arrays of one size in the host's memory and adds the events to `counts`. Throws Error
/// if CUDA fails.
void quantize_on_gpu(std::span<const float> in, std::span<float> out, std::uint64_t first,
                     const Quantizer& to, EventCounts& counts);

}  // namespace binade
