// SPDX-License-Identifier: Apache-2.0
//
// Opens the device that the user chose.
#include "lib/device/chosen_device.h"

#include <fmt/format.h>

#include <memory>

#include "lib/device/emulated_device.h"
#include "lib/instruction/instruction_name.h"
#include "lib/text/error.h"

namespace binade {

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

}  // namespace binade
