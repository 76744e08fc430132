// SPDX-License-Identifier: Apache-2.0
//
// The device of a command: the GPU, or with --emulated an architecture's emulator in its place.
#pragma once

#include <string>

#include "lib/cli/options.h"
#include "lib/evidence/rule_choice.h"
#include "lib/record/device.h"

namespace binade {

struct DeviceOption {
  std::string emulated;
};

void add_device_option(App app, DeviceOption& option);

/// Error where the architecture is unknown. An emulator in a GPU's place follows `rules`.
OpenedDevice open_chosen_device(const DeviceOption& option, const RuleChoice& rules = {});

/// Prints why there is none, or as JSON an object of this schema that says so; exit_no_hardware.
int no_hardware(const char* schema, const std::string& why, bool json);

}  // namespace binade
