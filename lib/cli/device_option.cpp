// SPDX-License-Identifier: Apache-2.0
//
// The option --emulated, and what it opens.
#include "lib/cli/device_option.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lib/cli/command.h"
#include "lib/cli/rule_options.h"
#include "lib/record/emulated_device.h"
#include "lib/record/instruction_name.h"

namespace binade {

void add_device_option(App app, DeviceOption& option) {
  app.add_option("--emulated", option.emulated,
                 architecture_range() + ": try the command without a GPU, on the emulator itself");
}

OpenedDevice open_chosen_device(const DeviceOption& option, const RuleChoice& rules) {
  if (option.emulated.empty()) return open_device();
  const int sm = parse_architecture(option.emulated);
  with_rules({}, rules);  // what cannot be chosen is told before any work
  return {std::make_unique<EmulatedDevice>(
              sm, [rules](DotModel& model) { model = with_rules(model, rules); },
              EmulatedDevice::PlantedScalar{}, text_of(rules)),
          {}};
}

int no_hardware(const char* schema, const std::string& why, bool json) {
  if (json) {
    const nlohmann::ordered_json out{{"schema", schema}, {"device", nullptr}, {"reason", why}};
    fmt::print("{}\n", out.dump(2));
  } else {
    fmt::print("{}\n", why);
  }
  return exit_no_hardware;
}

}  // namespace binade
