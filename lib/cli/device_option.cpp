// SPDX-License-Identifier: Apache-2.0
//
// Declares the options --device and --emulated.
#include "lib/cli/device_option.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lib/cli/command.h"
#include "lib/cli/suggestions.h"
#include "lib/instruction/instruction_name.h"
#include "lib/text/json_text.h"

namespace binade {

void add_device_option(App app, DeviceOption& option) {
  app.add_option("--emulated", option.emulated,
                 "one of " + architecture_range() +
                     ": the emulator of this architecture takes the GPU's place, so that the "
                     "command can be tried on a machine that has none")
      .suggest(architecture_words);
}

void add_on_device_options(App app, DeviceOption& option, const std::string& what) {
  app.add_flag("--device", option.device,
               "work on the GPU: " + what + ". Without a GPU the exit status is 77");
  app.add_option("--emulated", option.emulated,
                 "one of " + architecture_range() +
                     ": as --device, but the emulator of this architecture takes the GPU's place, "
                     "so that it can be tried on a machine that has none")
      .suggest(architecture_words);
}

int no_hardware(const char* schema, const std::string& why, bool json) {
  if (json) {
    const nlohmann::ordered_json out{{"schema", schema}, {"device", nullptr}, {"reason", why}};
    fmt::print("{}\n", json_text(out, 2));
  } else {
    fmt::print("{}\n", why);
  }
  return exit_no_hardware;
}

}  // namespace binade
