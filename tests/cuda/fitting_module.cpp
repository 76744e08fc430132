// SPDX-License-Identifier: Apache-2.0
//
// A module in place of binade_cuda.so that fits the program, for module_test.py: a GPU that has no
// instructions, and whose bulk kernels fail as those of cuda/ would.
#include "lib/record/device_module.h"

namespace binade {
namespace {

class MadeGpu final : public Device {
 public:
  const DeviceInfo& info() const override { return info_; }
  std::vector<KernelCheck> check_kernels() override {
    throw Error("kernel of a made GPU: cudaMalloc failed; run it again");
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
