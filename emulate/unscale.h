// SPDX-License-Identifier: Apache-2.0
//
// What PyTorch's GradScaler does to gradients before an optimizer's step, and how it learns of an
// overflow: `_amp_foreach_non_finite_check_and_unscale_` of ATen (native/cuda/AmpKernels.cu).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "emulate/carrier.h"
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

/// The first gradient of an array that is NaN or infinite; `at` is the array's size where none is.
struct NonFinite {
  std::size_t at = 0;
  float value = 0;  ///< as it was, scaled

  friend constexpr bool operator==(const NonFinite& x, const NonFinite& y) {
    return x.at == y.at && bits_of(x.value) == bits_of(y.value);
  }
};

/// The same of gradients carried in floats, on the grid of `format`, with found_inf and its place: the scaled gradient is
/// asked, so one that overflows on the way out stays unnoticed. `out` may be `in`.
constexpr NonFinite unscale(const float* in, float* out, std::size_t n, const Format& format,
                            float inv_scale) {
  NonFinite found{.at = n};
  for (std::size_t i = 0; i < n; ++i) {
    const Kind kind = exact_of(in[i]).kind;
    if (found.at == n && (kind == Kind::nan || kind == Kind::infinite)) found = {i, in[i]};
    if (format == binary32) {
      const std::uint64_t bits = unscaled(bits_of(in[i]), format, inv_scale);
      out[i] = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      continue;
    }
    const std::uint64_t code = convert(bits_of(in[i]), binary32, format).bits;
    out[i] = value_of<float>(unscaled(code, format, inv_scale), format);
  }
  return found;
}

}  // namespace binade
