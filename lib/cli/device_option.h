// SPDX-License-Identifier: Apache-2.0
//
// The device of a command: the GPU, or with --emulated an architecture's emulator in its place.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "lib/record/device.h"

namespace binade {

struct DeviceOption {
  std::string emulated;
};

void add_device_option(CLI::App& app, DeviceOption& option);

/// Error where the architecture is unknown.
OpenedDevice open_chosen_device(const DeviceOption& option);

}  // namespace binade
