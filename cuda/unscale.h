// SPDX-License-Identifier: Apache-2.0
//
// `unscale` of emulate/unscale.h on the current GPU: the same bytes, the same found_inf.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "emulate/format.h"

namespace binade {

/// Starts it on arrays of the device, `out` may be `in`; sets *found_inf, there too, to 1 or leaves it.
void launch_unscale(const std::uint32_t* in, std::uint32_t* out, std::size_t n, float inv_scale,
                    unsigned* found_inf);
void launch_unscale(const std::uint16_t* in, std::uint16_t* out, std::size_t n,
                    const Format& format, float inv_scale, unsigned* found_inf);

/// On arrays of the host, of one size: binary32, or a format of 16 bits. Returns found_inf.
bool unscale_on_gpu(std::span<const std::uint32_t> in, std::span<std::uint32_t> out,
                    float inv_scale);
bool unscale_on_gpu(std::span<const std::uint16_t> in, std::span<std::uint16_t> out,
                    const Format& format, float inv_scale);

}  // namespace binade
