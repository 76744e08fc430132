// SPDX-License-Identifier: Apache-2.0
//
// The device that a command works on: the GPU of this machine, or with --emulated the emulator of
// an architecture in its place.
#pragma once

#include <string>

#include "lib/cli/parser.h"
#include "lib/device/chosen_device.h"

namespace binade {

/// Declares --emulated, for a command that always works on a device. `option` must live as long as
/// the command.
void add_device_option(App app, DeviceOption& option);
/// Declares --device and --emulated, for a command that works on a device if the user requests it.
/// `what` says in the help what the device does.
void add_on_device_options(App app, DeviceOption& option, const std::string& what);

/// Prints why there is no device, as text or as a JSON object of this schema whose "device" is
/// null; returns exit_no_hardware.
int no_hardware(const char* schema, const std::string& why, bool json);

}  // namespace binade
