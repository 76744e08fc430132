// SPDX-License-Identifier: Apache-2.0
//
// Launches the kernels of scalar instructions, whose sources write_scalar_sources.cpp writes.
#include "cuda/run_scalar.h"

#include <array>
#include <cstdio>
#include <string>

#include "cuda/call.h"
#include "cuda/device_array.h"
#include "cuda/scalar_kernels.cuh"

namespace binade {
namespace {

/// Writes the target for which the executed machine code was compiled.
__global__ void tell_target(SmTarget* target) {
#if defined(__CUDA_ARCH_SPECIFIC__)
  *target = {__CUDA_ARCH__ / 10, 'a'};
#elif defined(__CUDA_ARCH_FAMILY_SPECIFIC__)
  *target = {__CUDA_ARCH__ / 10, 'f'};
#elif defined(__CUDA_ARCH__)
  *target = {__CUDA_ARCH__ / 10, ' '};
#endif
}

ScalarKernel kernel_of(ScalarKind kind) {
  if (kind == ScalarKind::conversion) return conversion_kernel;
  return kind == ScalarKind::approximation ? approximation_kernel : arithmetic_kernel;
}

std::string running(const ScalarInstruction& instruction, std::uint64_t first, std::uint64_t end) {
  std::array<char, 80> cases{};
  std::snprintf(cases.data(), cases.size(), ", cases %llu to %llu",
                static_cast<unsigned long long>(first), static_cast<unsigned long long>(end - 1));
  return "the kernel of " + instruction.name + cases.data();
}

}  // namespace

std::optional<SmTarget> loaded_target() {
  const std::string what = "asking the kernel tell_target";
  cudaFuncAttributes attributes{};
  const cudaError_t status = cudaFuncGetAttributes(&attributes, tell_target);
  if (status == cudaErrorNoKernelImageForDevice || status == cudaErrorInvalidDeviceFunction) {
    cudaGetLastError();  // takes the error back, so that the next call does not report it
    return std::nullopt;
  }
  must(status, "cudaFuncGetAttributes", what);
  const DeviceArray<SmTarget> target(1, what);
  tell_target<<<1, 1>>>(target.get());
  must(cudaGetLastError(), "the launch", what);
  SmTarget out;
  target.copy_to({&out, 1});
  return out;
}

void tally_scalar_on_gpu(const ScalarInstruction& instruction, const ScalarCases& cases,
                         std::uint64_t first, std::uint64_t end, ScalarTally& tally) {
  const std::string what = running(instruction, first, end);
  ScalarTally of_launch;
  DeviceArray<ScalarTally> total(std::span<const ScalarTally>(&of_launch, 1), what);
  const ScalarLaunch launch{
      .operation = instruction.operation, .number = instruction.number, .cases = cases};
  const ScalarKernel kernel = kernel_of(instruction.operation.kind);
  kernel<<<scalar_blocks, scalar_threads>>>(launch, first, end, total.get());
  must(cudaGetLastError(), "the launch", what);
  total.copy_to({&of_launch, 1});
  if (of_launch.cases != end - first) {
    throw Error(what + ": only " + std::to_string(of_launch.cases) +
                " were run; this is a defect of the kernel, report it");
  }
  tally.merge(of_launch);
}

void run_scalar_on_gpu(const ScalarInstruction& instruction, const ScalarCases& cases,
                       std::span<const std::uint64_t> numbers, std::span<std::uint64_t> results) {
  if (numbers.empty()) return;
  const std::string what = "the results of " + instruction.name + ", " +
                           std::to_string(numbers.size()) + " cases from " +
                           std::to_string(numbers.front()) + " on";
  const DeviceArray<std::uint64_t> asked(numbers, what);
  const DeviceArray<std::uint64_t> given(numbers.size(), what);
  const ScalarLaunch launch{instruction.operation, instruction.number, cases, asked.get(),
                            given.get()};
  const ScalarKernel kernel = kernel_of(instruction.operation.kind);
  kernel<<<scalar_blocks, scalar_threads>>>(launch, 0, numbers.size(), nullptr);
  must(cudaGetLastError(), "the launch", what);
  given.copy_to(results);
}

}  // namespace binade
