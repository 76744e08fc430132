// SPDX-License-Identifier: Apache-2.0
//
// What PyTorch's GradScaler does to gradients before an optimizer's step, and how it learns of an
// overflow: `_amp_foreach_non_finite_check_and_unscale_` of ATen (native/cuda/AmpKernels.cu).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "emulate/operation.h"

namespace binade {

/// One gradient, an encoding of `format` (binary16, bfloat16, binary32), times `inv_scale` in binary32,
/// rounded to binary32 and then to the format. An inv_scale of 1 multiplies nothing. NaNs come out as
/// NVIDIA's GPUs give them; only a binary32 that is not multiplied keeps its bits.
constexpr std::uint64_t unscaled(std::uint64_t bits, const Format& format, float inv_scale) {
  const Attributes attributes{.nan = NanResult::nvidia};
  if (inv_scale == 1 && format == binary32) return bits;
  const std::uint64_t factor = std::bit_cast<std::uint32_t>(inv_scale);
  const std::uint64_t product = inv_scale == 1
                                    ? convert(bits, format, binary32, attributes).bits
                                    : compute(Operation::multiply, {bits, factor, 0},
                                              {format, binary32, binary32}, binary32, attributes)
                                          .bits;
  return convert(product, binary32, format, attributes).bits;
}

/// in[i] to out[i], which may be one array; true, `found_inf`, where one of in is NaN or infinite: the
/// scaled gradient is asked, so one that overflows on the way out stays unnoticed.
template <class Code>
constexpr bool unscale(const Code* in, Code* out, std::size_t n, const Format& format,
                       float inv_scale) {
  bool found_inf = false;
  for (std::size_t i = 0; i < n; ++i) {
    const Kind kind = decode(in[i], format).kind;
    found_inf = found_inf || kind == Kind::nan || kind == Kind::infinite;
    out[i] = static_cast<Code>(unscaled(in[i], format, inv_scale));
  }
  return found_inf;
}

}  // namespace binade
