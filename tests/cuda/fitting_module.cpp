// SPDX-License-Identifier: Apache-2.0
//
// A module in place of binade_cuda.so that fits the program, for module_test.py: a GPU that has no
// instructions, whose bulk kernels fail as those of cuda/ would, and whose bulk work no CPU would
// give.
#include <algorithm>

#include "lib/device/device_module.h"

namespace binade {
namespace {

class MadeGpu final : public Device {
 public:
  const DeviceInfo& info() const override { return info_; }
  std::vector<KernelCheck> check_kernels() override {
    throw Error("kernel of a made GPU: cudaMalloc failed; run it again");
  }
  CannotRun quantize(std::span<const float> in, std::span<float> out, std::uint64_t,
                     const Quantizer&, EventCounts& counts) override {
    std::ranges::fill(out, 7.0F);
    counts.values += in.size();
    return std::nullopt;
  }
  CannotRun multiply(const MatrixProduct& product, ProductWay& way) override {
    std::ranges::fill(product.sums, std::uint64_t{0x40E00000});
    way = ProductWay::instruction;
    return std::nullopt;
  }

 private:
  DeviceInfo info_{.name = "Made GPU",
                   .compute_capability = 90,
                   .multiprocessors = 132,
                   .memory = std::uint64_t{1} << 30};
};

}  // namespace
}  // namespace binade

void binade_open_device(binade::OpenedDevice& opened) {
  opened.device = std::make_unique<binade::MadeGpu>();
  opened.module.architectures = "80 90a";
}
