// SPDX-License-Identifier: Apache-2.0
//
// The unscale kernels and their launches.
#include "cuda/unscale.h"

#include <string>

#include "cuda/device_array.h"
#include "cuda/unscale.cuh"

namespace binade {
namespace {

__global__ void unscale_floats_kernel(const __grid_constant__ UnscaleCall<std::uint32_t> call,
                                      unsigned* found_inf) {
  unscale_floats_body(call, found_inf);
}

__global__ void unscale_kernel(const __grid_constant__ UnscaleCall<std::uint16_t> call,
                               unsigned* found_inf) {
  unscale_body(call, found_inf);
}

std::string unscaling(std::size_t n) { return "kernel unscale, " + std::to_string(n) + " values"; }

/// `launch(values, found_inf)` on a copy of the array.
template <class Code, class Launch>
bool run_on_copy(std::span<const Code> in, std::span<Code> out, const Launch& launch) {
  const DeviceArray<Code> values(in, unscaling(in.size()));
  unsigned found = 0;
  const DeviceArray<unsigned> found_inf(std::span<const unsigned>(&found, 1), unscaling(in.size()));
  launch(values.get(), found_inf.get());
  values.copy_to(out);
  found_inf.copy_to(std::span(&found, 1));
  return found != 0;
}

}  // namespace

void launch_unscale(const std::uint32_t* in, std::uint32_t* out, std::size_t n, float inv_scale,
                    unsigned* found_inf) {
  constexpr std::size_t per_block = std::size_t{unscale_threads} * unscale_values;
  const auto blocks = static_cast<unsigned>((n + per_block - 1) / per_block);
  const bool aligned = at_16_bytes(in) && at_16_bytes(out);
  if (blocks == 0) return;
  unscale_floats_kernel<<<blocks, unscale_threads>>>({in, out, n, binary32, inv_scale, aligned},
                                                     found_inf);
  must(cudaGetLastError(), "the launch", unscaling(n));
}

void launch_unscale(const std::uint16_t* in, std::uint16_t* out, std::size_t n,
                    const Format& format, float inv_scale, unsigned* found_inf) {
  const auto blocks = static_cast<unsigned>((n + unscale_threads - 1) / unscale_threads);
  if (blocks == 0) return;
  unscale_kernel<<<blocks, unscale_threads>>>({in, out, n, format, inv_scale}, found_inf);
  must(cudaGetLastError(), "the launch", unscaling(n));
}

bool unscale_on_gpu(std::span<const std::uint32_t> in, std::span<std::uint32_t> out,
                    float inv_scale) {
  return run_on_copy(in, out, [&](std::uint32_t* values, unsigned* found_inf) {
    launch_unscale(values, values, in.size(), inv_scale, found_inf);
  });
}

bool unscale_on_gpu(std::span<const std::uint16_t> in, std::span<std::uint16_t> out,
                    const Format& format, float inv_scale) {
  return run_on_copy(in, out, [&](std::uint16_t* values, unsigned* found_inf) {
    launch_unscale(values, values, in.size(), format, inv_scale, found_inf);
  });
}

}  // namespace binade
