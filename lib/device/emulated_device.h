// SPDX-License-Identifier: Apache-2.0
//
// A device that is the emulator itself. Commands for a GPU can be tried on it without one, and
// tests can give it a wrong rule and see that it is found.
#pragma once

#include <functional>

#include "emulate/tensor_core.h"
#include "lib/device/device.h"
#include "lib/instruction/scalar_instruction.h"

namespace binade {

class EmulatedDevice final : public Device {
 public:
  /// A function that changes a Tensor Core instruction's model before it is used, so that the
  /// device follows a rule that is wrong on purpose.
  using Planted = std::function<void(DotModel&)>;
  /// A function that changes a scalar instruction before it is emulated, for the same purpose.
  using PlantedScalar = std::function<void(ScalarOperation&)>;

  /// A device of architecture `sm` (90 for sm_90). `words` describe the planted rule and become
  /// part of the device's name.
  explicit EmulatedDevice(int sm, Planted planted = {}, PlantedScalar planted_scalar = {},
                          const std::string& words = {});

  const DeviceInfo& info() const override { return info_; }
  /// run_dots and tally_crossed run instructions of the device's own architecture only. They throw
  /// Error if the rows or the crossing do not fit the instruction.
  CannotRun run_dots(const Instruction& instruction, Dots& dots) override;
  /// Compares the planted model with the true one.
  CannotRun tally_crossed(const Instruction& instruction, const Dots& pool,
                          const Crossing& crossing, CrossTally& tally) override;
  /// The device has the scalar instructions that its architecture has with suffix a (sm_90a for
  /// sm_90), without the approximations.
  CannotRun tally_scalar(const ScalarInstruction& instruction, const ScalarCases& cases,
                         std::uint64_t first, std::uint64_t end, ScalarTally& tally) override;
  CannotRun run_scalar(const ScalarInstruction& instruction, const ScalarCases& cases,
                       std::span<const std::uint64_t> numbers,
                       std::span<std::uint64_t> results) override;
  /// quantize and range_count are the definitions of emulate/ on every architecture; products
  /// follow the planted model.
  CannotRun quantize(std::span<const float> in, std::span<float> out, std::uint64_t first,
                     const Quantizer& to, EventCounts& counts) override;
  CannotRun range_count(std::span<const float> values, std::span<const ErrorColumn> columns,
                        RangeBlock<float>& block) override;
  /// The address is one of the host's memory; `stream` is ignored.
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
  /// Returns the instruction with the planted change.
  ScalarOperation believed(const ScalarInstruction& instruction) const;
};

}  // namespace binade
