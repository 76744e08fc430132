// SPDX-License-Identifier: Apache-2.0
//
// The entry point of the module binade_cuda.so: opens GPU 0, or says why it cannot be used.
#include "cuda/call.h"
#include "cuda/current_gpu.h"
#include "cuda/driver_version.h"
#include "cuda/kernel_checks.h"
#include "cuda/multiply.h"
#include "cuda/quantize.h"
#include "cuda/range_count.h"
#include "cuda/rates.h"
#include "cuda/run_dots.h"
#include "cuda/run_scalar.h"
#include "lib/device/device_module.h"

namespace binade {
namespace {

DeviceInfo read_info() {
  const std::string doing = "reading the properties of GPU 0";
  cudaDeviceProp properties{};
  DeviceInfo info;
  must(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties", doing);
  must(cudaDriverGetVersion(&info.driver_cuda), "cudaDriverGetVersion", doing);
  must(cudaRuntimeGetVersion(&info.runtime_cuda), "cudaRuntimeGetVersion", doing);
  info.name = properties.name;
  info.driver = driver_version();
  info.compute_capability = 10 * properties.major + properties.minor;
  info.multiprocessors = properties.multiProcessorCount;
  info.memory = properties.totalGlobalMem;
  return info;
}

std::string capability_text(int capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

class Gpu final : public Device {
 public:
  Gpu(DeviceInfo info, const SmTarget& target) : info_(std::move(info)), target_(target) {}

  const DeviceInfo& info() const override { return info_; }

  std::optional<std::string> run_dots(const Instruction& instruction, Dots& dots) override {
    return run_dots_on_gpu(instruction, dots);
  }
  CannotRun tally_crossed(const Instruction& instruction, const Dots& pool,
                          const Crossing& crossing, CrossTally& tally) override {
    return tally_crossed_on_gpu(instruction, pool, crossing, tally);
  }

  CannotRun tally_scalar(const ScalarInstruction& instruction, const ScalarCases& cases,
                         std::uint64_t first, std::uint64_t end, ScalarTally& tally) override {
    if (const CannotRun why = why_lacking(instruction, target_)) return why;
    tally_scalar_on_gpu(instruction, cases, first, end, tally);
    return std::nullopt;
  }
  CannotRun run_scalar(const ScalarInstruction& instruction, const ScalarCases& cases,
                       std::span<const std::uint64_t> numbers,
                       std::span<std::uint64_t> results) override {
    if (const CannotRun why = why_lacking(instruction, target_)) return why;
    run_scalar_on_gpu(instruction, cases, numbers, results);
    return std::nullopt;
  }

  CannotRun quantize(std::span<const float> in, std::span<float> out, std::uint64_t first,
                     const Quantizer& to, EventCounts& counts) override {
    quantize_on_gpu(in, out, first, to, counts);
    return std::nullopt;
  }
  CannotRun range_count(std::span<const float> values, std::span<const ErrorColumn> columns,
                        RangeBlock<float>& block) override {
    range_count_on_gpu(values, columns, block);
    return std::nullopt;
  }
  CannotRun range_count_at(const void* device_address, std::size_t n,
                           std::span<const ErrorColumn> columns, std::uintptr_t stream,
                           RangeBlock<float>& block) override {
    count_in_place_(static_cast<const float*>(device_address), n, columns, stream, block);
    return std::nullopt;
  }
  CannotRun multiply(const MatrixProduct& product, ProductWay& way) override {
    way = multiply_on_gpu(info_.compute_capability, product);
    return std::nullopt;
  }

  std::vector<KernelCheck> check_kernels() override {
    return check_kernels_on_gpu(info_.compute_capability);
  }

  std::vector<KernelRate> measure_rates() override {
    return measure_rates_on_gpu(info_.compute_capability);
  }

 private:
  DeviceInfo info_;
  SmTarget target_;  ///< the target whose machine code the GPU executes
  RangeCountInPlace count_in_place_;
};

/// Returns why cudaGetDeviceCount failed or counted no GPU. If there is no driver, its status says
/// that the driver is too old, so that case has a text of its own.
std::string why_none(cudaError_t status) {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0) {
    return "no GPU: there is no NVIDIA driver on this machine";
  }
  return "no GPU: CUDA says: " + std::string(cudaGetErrorString(status));
}

/// Returns the value of -Dgpu_archs that includes the GPU's own instructions: "89", "90a".
std::string arch_of(int capability) {
  return std::to_string(capability) + (capability < 90 ? "" : "a");
}

OpenedDevice open_gpu() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    return {.why_none = why_none(status != cudaSuccess ? status : cudaErrorNoDevice)};
  }
  const CurrentGpu first(0, "opening GPU 0");
  DeviceInfo info = read_info();
  const std::optional<SmTarget> target = loaded_target();
  if (!target) {
    return {.why_none = "no usable GPU: " + info.name + " has compute capability " +
                        capability_text(info.compute_capability) +
                        "; build for it with -Dgpu_archs=" + arch_of(info.compute_capability)};
  }
  return {.device = std::make_unique<Gpu>(std::move(info), *target)};
}

}  // namespace
}  // namespace binade

void binade_open_device(binade::OpenedDevice& opened) {
  opened = binade::open_gpu();
  opened.module.architectures = BINADE_GPU_ARCHS;
}
