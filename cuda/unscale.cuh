// SPDX-License-Identifier: Apache-2.0
//
// The bodies of the unscale kernels.
#pragma once

#include "cuda/count.h"
#include "emulate/carrier.h"
#include "emulate/unscale.h"

namespace binade {

template <class Code>
struct UnscaleCall {
  const Code* in = nullptr;
  Code* out = nullptr;
  Count n = 0;
  Format format;
  float inv_scale = 1;
  bool aligned = false;  ///< both arrays begin at 16 bytes
};

inline constexpr int unscale_threads = 256;
inline constexpr int unscale_values = 16;  ///< of a thread

namespace detail {

__device__ inline std::uint32_t unscale_float(std::uint32_t bits, float inv_scale, bool& found) {
  found = found || (bits & 0x7FFFFFFF) >= 0x7F800000;
  if (inv_scale == 1) return bits;
  const auto product = static_cast<std::uint32_t>(bits_of(std::bit_cast<float>(bits) * inv_scale));
  return (product & 0x7FFFFFFF) > 0x7F800000 ? 0x7FFFFFFF : product;
}

__device__ inline void tell_found(bool found, unsigned* found_inf) {
  if (__any_sync(~0U, found ? 1 : 0) != 0 && threadIdx.x % 32 == 0) atomicOr(found_inf, 1U);
}

}  // namespace detail

/// Floats: the multiplication of the device is that of IEEE 754, but for the bits of NaNs.
__device__ inline void unscale_floats_body(const UnscaleCall<std::uint32_t>& call,
                                           unsigned* found_inf) {
  bool found = false;
  const auto one = [&](std::uint32_t bits) {
    return detail::unscale_float(bits, call.inv_scale, found);
  };
  const Count block = Count{blockIdx.x} * unscale_threads * unscale_values;
  uint4 values[unscale_values / 4];
  for (int g = 0; g < unscale_values / 4; ++g) {
    const Count at = block + 4 * (Count{unscale_threads} * static_cast<Count>(g) + threadIdx.x);
    if (call.aligned && at + 4 <= call.n) {
      values[g] = __ldcs(reinterpret_cast<const uint4*>(call.in + at));
    }
  }
  for (int g = 0; g < unscale_values / 4; ++g) {
    const Count at = block + 4 * (Count{unscale_threads} * static_cast<Count>(g) + threadIdx.x);
    if (call.aligned && at + 4 <= call.n) {
      const uint4 x = values[g];
      const uint4 y{one(x.x), one(x.y), one(x.z), one(x.w)};
      __stcs(reinterpret_cast<uint4*>(call.out + at), y);
    } else {
      for (Count i = at; i < call.n && i < at + 4; ++i) call.out[i] = one(call.in[i]);
    }
  }
  detail::tell_found(found, found_inf);
}

/// Any type, an element a thread, by the definition.
template <class Code>
__device__ void unscale_body(const UnscaleCall<Code>& call, unsigned* found_inf) {
  const Count i = Count{blockIdx.x} * unscale_threads + threadIdx.x;
  const bool found =
      i < call.n && unscale(call.in + i, call.out + i, 1, call.format, call.inv_scale);
  detail::tell_found(found, found_inf);
}

}  // namespace binade
