// SPDX-License-Identifier: Apache-2.0
//
// A device that is the emulator itself: what runs on a GPU runs without one, and tests can plant a
// wrong rule and see that it is found.
#pragma once

#include <functional>

#include "emulate/tensor_core.h"
#include "lib/record/device.h"

namespace binade {

class EmulatedDevice final : public Device {
 public:
  /// Changes the model before it is used: a rule that is wrong on purpose.
  using Planted = std::function<void(DotModel&)>;

  explicit EmulatedDevice(int sm, Planted planted = {});

  const DeviceInfo& info() const override { return info_; }
  /// None: it has no conversion instructions.
  std::vector<ConversionCheck> check_conversions(const CheckProgress& progress) override;
  std::optional<std::string> run_dots(const Instruction& instruction, Dots& dots) override;
  /// The planted model against the true one.
  CannotRun tally_crossed(const Instruction& instruction, const Dots& pool,
                          const Crossing& crossing, CrossTally& tally) override;

 private:
  void check_rows(const Instruction& instruction, const Dots& dots) const;
  CannotRun other_architecture(const Instruction& instruction) const;
  DotModel used_model(const Instruction& instruction) const;

  DeviceInfo info_;
  Planted planted_;
};

}  // namespace binade
