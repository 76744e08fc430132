// SPDX-License-Identifier: Apache-2.0
//
// A device that is the emulator itself: what runs on a GPU runs without one, and tests can plant a
// wrong rule and see that it is found.
#pragma once

#include <functional>

#include "emulate/tensor_core.h"
#include "lib/device/device.h"
#include "lib/instruction/scalar_instruction.h"

namespace binade {

class EmulatedDevice final : public Device {
 public:
  /// Changes the model before it is used: a rule that is wrong on purpose.
  using Planted = std::function<void(DotModel&)>;
  /// Likewise of a scalar instruction.
  using PlantedScalar = std::function<void(ScalarOperation&)>;

  /// `words`: of the name, what is planted.
  explicit EmulatedDevice(int sm, Planted planted = {}, PlantedScalar planted_scalar = {},
                          const std::string& words = {});

  const DeviceInfo& info() const override { return info_; }
  CannotRun run_dots(const Instruction& instruction, Dots& dots) override;
  /// The planted model against the true one.
  CannotRun tally_crossed(const Instruction& instruction, const Dots& pool,
                          const Crossing& crossing, CrossTally& tally) override;
  /// It has the instructions of sm_90a, or of the like of its own architecture, but for approximations.
  CannotRun tally_scalar(const ScalarInstruction& instruction, const ScalarCases& cases,
                         std::uint64_t first, std::uint64_t end, ScalarTally& tally) override;
  CannotRun run_scalar(const ScalarInstruction& instruction, const ScalarCases& cases,
                       std::span<const std::uint64_t> numbers,
                       std::span<std::uint64_t> results) override;
  /// Bulk work is the definitions' own, whatever the architecture; products follow the planted model.
  CannotRun quantize(std::span<const float> in, std::span<float> out, std::uint64_t first,
                     const Quantizer& to, EventCounts& counts) override;
  CannotRun range_count(std::span<const float> values, std::span<const ErrorColumn> columns,
                        RangeBlock<float>& block) override;
  CannotRun range_count_at(const void* device_address, std::size_t n,
                           std::span<const ErrorColumn> columns, std::uintptr_t stream,
                           RangeBlock<float>& block) override;
  CannotRun multiply(const MatrixProduct& product, ProductWay& way) override;

 private:
  void check_rows(const Instruction& instruction, const Dots& dots) const;
  CannotRun other_architecture(const Instruction& instruction) const;
  DotModel used_model(const Instruction& instruction) const;

  DeviceInfo info_;
  Planted planted_;
  PlantedScalar planted_scalar_;

  CannotRun cannot_run(const ScalarInstruction& instruction) const;
  /// What it believes the instruction to be.
  ScalarOperation believed(const ScalarInstruction& instruction) const;
};

}  // namespace binade
