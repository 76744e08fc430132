// SPDX-License-Identifier: Apache-2.0
//
// The kernel that runs float32 inputs through a conversion instruction and through the emulator
// compiled for the device.
#include "cuda/check_conversions.h"

#include <array>
#include <cstdio>
#include <string>

#include "cuda/call.cuh"
#include "cuda/ptx_cvt.cuh"

namespace binade {
namespace {

constexpr unsigned blocks = 2048;
constexpr unsigned threads = 256;

__device__ Tally total;

__device__ void merge_into(Lowest& to, const Lowest& from) {
  if (!from.found()) return;
  atomicMin(&to.hardware, from.hardware);
  atomicMin(&to.emulated, from.emulated);
}

__device__ void merge_into(Tally& to, const Tally& from) {
  atomicAdd(&to.inputs, from.inputs);
  atomicAdd(&to.mismatches, from.mismatches);
  atomicAdd(&to.nan_differences, from.nan_differences);
  atomicAdd(&to.padding, from.padding);
  merge_into(to.mismatch, from.mismatch);
  merge_into(to.nan_difference, from.nan_difference);
}

/// Thread t of n takes the inputs first + t, first + t + n, … below `end`.
__global__ void check_kernel(Conversion conversion, Count first, Count end) {
  const Count thread = Count{blockIdx.x} * blockDim.x + threadIdx.x;
  const Count step = Count{gridDim.x} * blockDim.x;
  Tally tally;
  for (Count i = first + thread; i < end; i += step) {
    const auto input = static_cast<std::uint32_t>(i);
    tally.compare(conversion, input, run_cvt(conversion.instruction, input));
  }
  merge_into(total, tally);
}

std::string doing(const ConversionRow& row, Count first, Count end) {
  std::array<char, 64> inputs{};
  std::snprintf(inputs.data(), inputs.size(), ", inputs 0x%08llx to 0x%08llx", first, end - 1);
  return "kernel check_kernel on " + std::string(row.name) + inputs.data();
}

}  // namespace

Tally run_slice(const ConversionRow& row, Count first, Count end) {
  const std::string what = doing(row, first, end);
  Tally tally;
  must(cudaMemcpyToSymbol(total, &tally, sizeof tally), "cudaMemcpyToSymbol", what);
  check_kernel<<<blocks, threads>>>(row.conversion, first, end);
  must(cudaGetLastError(), "the launch", what);
  must(cudaDeviceSynchronize(), "cudaDeviceSynchronize", what);
  must(cudaMemcpyFromSymbol(&tally, total, sizeof tally), "cudaMemcpyFromSymbol", what);
  if (tally.inputs != end - first) {
    throw Error(what + ": only " + std::to_string(tally.inputs) +
                " inputs were compared; this is a defect of the kernel, report it");
  }
  return tally;
}

bool has_code_for_device() {
  cudaFuncAttributes attributes{};
  const cudaError_t status = cudaFuncGetAttributes(&attributes, check_kernel);
  if (status != cudaErrorNoKernelImageForDevice && status != cudaErrorInvalidDeviceFunction) {
    must(status, "cudaFuncGetAttributes", "looking for the code of kernel check_kernel");
    return true;
  }
  cudaGetLastError();  // takes the error back, so that the next call does not report it
  return false;
}

}  // namespace binade
