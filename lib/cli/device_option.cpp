// SPDX-License-Identifier: Apache-2.0
//
// Declares the options --device and --emulated, and opens the device that they choose.
#include "lib/cli/device_option.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lib/cli/command.h"
#include "lib/cli/rule_options.h"
#include "lib/cli/suggestions.h"
#include "lib/device/emulated_device.h"
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

std::string tensors_on_device(const char* done, const Device& device, std::size_t taken,
                              std::size_t tensors, const char* kind) {
  if (taken == 0) {
    throw Error(fmt::format(
        "no tensor is {}, which alone goes to a device; leave --device and --emulated out", kind));
  }
  return fmt::format("{} on {}: {} of {} tensors, those of {}\n", done, device.info().name, taken,
                     tensors, kind);
}

OpenedDevice open_chosen_device(const DeviceOption& option, const RuleChoice& rules) {
  if (option.emulated.empty()) return open_device();
  const int sm = parse_architecture(option.emulated);
  with_rules({}, rules);  // what cannot be chosen is told before any work
  return {std::make_unique<EmulatedDevice>(
              sm, [rules](DotModel& model) { model = with_rules(model, rules); },
              EmulatedDevice::PlantedScalar{}, rule_choice_text(rules)),
          {}};
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
