// SPDX-License-Identifier: Apache-2.0
//
// The kernels of quantize, and their launches.
#include "cuda/quantize.h"

#include <string>

#include "cuda/device_array.h"
#include "cuda/quantize.cuh"

namespace binade {
namespace {

template <bool stochastic, bool flushing>
__global__ void __launch_bounds__(quantize_threads)
    quantize_kernel(const __grid_constant__ QuantizeCall call, EventWords* total) {
  quantize_body<stochastic, flushing>(call, total);
}

__global__ void quantize_by_definition_kernel(const __grid_constant__ QuantizeCall call,
                                              EventWords* total) {
  quantize_by_definition_body(call, total);
}

}  // namespace

void launch_quantize(const float* in, float* out, std::size_t n, std::uint64_t first,
                     const Quantizer& to, EventWords* words) {
  QuantizeCall call{in, out, n, first, fast::quantize_plan(to)};
  if (n == 0) return;
  if (!call.to.known) {
    const auto blocks = static_cast<unsigned>((n + quantize_threads - 1) / quantize_threads);
    quantize_by_definition_kernel<<<blocks, quantize_threads>>>(call, words);
  } else {
    // Only random words depend on an element's index; without them the groups begin with the array.
    if (!call.to.stochastic) call.first = 0;
    call.aligned = call.first % 4 == 0 && at_16_bytes(in) && at_16_bytes(out);
    const bool flushing = to.attributes.flush_results || to.attributes.flush_operands;
    const auto kernel = call.to.stochastic
                            ? flushing ? quantize_kernel<true, true> : quantize_kernel<true, false>
                        : flushing ? quantize_kernel<false, true>
                                   : quantize_kernel<false, false>;
    kernel<<<static_cast<unsigned>(quantize_blocks(call)), quantize_threads>>>(call, words);
  }
  must(cudaGetLastError(), "the launch", "kernel quantize, " + std::to_string(n) + " values");
}

void quantize_on_gpu(std::span<const float> in, std::span<float> out, std::uint64_t first,
                     const Quantizer& to, EventCounts& counts) {
  const std::string doing = "kernel quantize, " + std::to_string(in.size()) + " values";
  const DeviceArray<float> values(in, doing);
  EventWords words{};
  const DeviceArray<EventWords> total(std::span<const EventWords>(&words, 1), doing);
  launch_quantize(values.get(), values.get(), in.size(), first, to, total.get());
  values.copy_to(out);
  total.copy_to(std::span(&words, 1));
  counts += counts_of(words, in.size());
}

}  // namespace binade
