// SPDX-License-Identifier: Apache-2.0
//
// The device of a command: the GPU, or with --emulated an architecture's emulator in its place.
#pragma once

#include <cstddef>
#include <string>

#include "lib/cli/options.h"
#include "lib/device/device.h"
#include "lib/evidence/rule_choice.h"

namespace binade {

struct DeviceOption {
  std::string emulated;
  bool device = false;

  bool asked() const { return device || !emulated.empty(); }
};

void add_device_option(App app, DeviceOption& option);
/// For a command that has its work done by a device on request: --device and --emulated. `what` is done there.
void add_on_device_options(App app, DeviceOption& option, const std::string& what);

/// Error where the architecture is unknown. An emulator in a GPU's place follows `rules`.
OpenedDevice open_chosen_device(const DeviceOption& option, const RuleChoice& rules = {});

/// "counted on emulated sm_90: 1 of 2 tensors, those of F32"; Error where there are none.
std::string tensors_on_device(const char* done, const Device& device, std::size_t of_f32,
                              std::size_t tensors);

/// Prints why there is none, or as JSON an object of this schema that says so; exit_no_hardware.
int no_hardware(const char* schema, const std::string& why, bool json);

}  // namespace binade
