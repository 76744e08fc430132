// SPDX-License-Identifier: Apache-2.0
//
// The device that a user chose to work on: a GPU, or the emulator in its place.
#pragma once

#include <cstddef>
#include <string>

#include "lib/device/device.h"
#include "lib/instruction/rule_choice.h"

namespace binade {

struct DeviceOption {
  std::string emulated;  ///< of --emulated: sm_90; empty if it was not given
  bool device = false;   ///< of --device

  /// Whether the user requested a device.
  bool asked() const { return device || !emulated.empty(); }
};

/// Opens the emulator that --emulated names, which follows `rules`, or else the GPU, for which they
/// have no effect. The result holds no device, and why, if there is no GPU. Throws Error if the
/// architecture is unknown, a rule cannot be chosen, or as open_device does.
OpenedDevice open_chosen_device(const DeviceOption& option, const RuleChoice& rules = {});

/// A line such as "counted on emulated sm_90: 1 of 2 tensors, those of F32", of which `done` is
/// "counted" and `kind`, the tensors that a device takes, "F32". Throws Error if `taken`, their
/// number, is 0.
std::string tensors_on_device(const char* done, const Device& device, std::size_t taken,
                              std::size_t tensors, const char* kind = "F32");

}  // namespace binade
