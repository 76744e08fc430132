// SPDX-License-Identifier: Apache-2.0
//
// What PyTorch's GradScaler does to gradients before an optimizer's step, and how it detects an
// overflow: `_amp_foreach_non_finite_check_and_unscale_` of ATen (native/cuda/AmpKernels.cu). A
// gradient in binary16, scaled by 2, that becomes subnormal:
//
//     scaled gradient     0403     0 00001 0000000011     1027 · 2^-24
//     · inv_scale = 0.5            exact in binary32      513.5 · 2^-24
//     unscaled            0202     0 00000 1000000010     514 · 2^-24, ties to even
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "emulate/carrier.h"
#include "emulate/operation.h"

namespace binade {

/// Returns one gradient, an encoding of `format` (binary16, bfloat16, binary32), multiplied by
/// `inv_scale`, rounded to binary32 and then to the format. If inv_scale is 1, nothing is
/// multiplied. A NaN becomes the NaN that NVIDIA's GPUs give, except that a binary32 gradient that
/// is not multiplied keeps its bits.
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

/// The first gradient of an array that is a NaN or infinite.
struct NonFinite {
  std::size_t at = 0;  ///< its index; the array's size if all gradients are finite
  float value = 0;     ///< as it was before unscaling; 0 if all gradients are finite

  friend constexpr bool operator==(const NonFinite& x, const NonFinite& y) {
    return x.at == y.at && bits_of(x.value) == bits_of(y.value);
  }
};

/// Unscales n gradients in[i], which are numbers of `format` in floats, to out[i], and returns the
/// first one that is not finite (found_inf). The scaled gradients are examined, so one that
/// overflows when it is unscaled is not detected. `out` may be `in`.
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
