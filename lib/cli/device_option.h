// SPDX-License-Identifier: Apache-2.0
//
// The device that a command works on: the GPU of this machine, or with --emulated the emulator of an architecture in its
// place.
#pragma once

#include <cstddef>
#include <string>

#include "lib/cli/parser.h"
#include "lib/device/device.h"
#include "lib/evidence/rule_choice.h"

namespace binade {

struct DeviceOption {
  std::string emulated;  ///< of --emulated: sm_90; empty if it was not given
  bool device = false;   ///< of --device

  /// Whether the user requested a device.
  bool asked() const { return device || !emulated.empty(); }
};

/// Declares --emulated, for a command that always works on a device. `option` must live as long as the command.
void add_device_option(App app, DeviceOption& option);
/// Declares --device and --emulated, for a command that works on a device if the user requests it. `what` says in the help
/// what the device does.
void add_on_device_options(App app, DeviceOption& option, const std::string& what);

/// Opens the emulator that --emulated names, which follows `rules`, or else the GPU, for which they have no effect. The
/// result holds no device, and why, if there is no GPU. Throws Error if the architecture is unknown, a rule cannot be
/// chosen, or as open_device does.
OpenedDevice open_chosen_device(const DeviceOption& option, const RuleChoice& rules = {});

/// A line such as "counted on emulated sm_90: 1 of 2 tensors, those of F32", of which `done` is "counted" and `kind`, the
/// tensors that a device takes, "F32". Throws Error if `taken`, their number, is 0.
std::string tensors_on_device(const char* done, const Device& device, std::size_t taken,
                              std::size_t tensors, const char* kind = "F32");

/// Prints why there is no device, as text or as a JSON object of this schema whose "device" is null; returns
/// exit_no_hardware.
int no_hardware(const char* schema, const std::string& why, bool json);

}  // namespace binade
