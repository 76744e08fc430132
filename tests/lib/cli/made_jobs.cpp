// SPDX-License-Identifier: Apache-2.0
//
// A job in the place of a training, for tests of the command `sweep`: sums of a series whose terms
// shrink.
#include <array>
#include <cmath>

#include "lib/runs/train_job.h"
#include "lib/text/error.h"

namespace binade {
namespace {

void check(const nlohmann::json& settings) {
  for (const auto& [key, value] : settings.items()) {
    if (key != "terms" && key != "power" && key != "label") {
      throw Error("no setting " + printable(key) + "; there are terms, power, label");
    }
  }
}

nlohmann::ordered_json sum(const nlohmann::json& settings,
                           const std::function<void(double done)>& progress) {
  const int terms = settings["terms"];
  double sum = 0;
  for (int i = 1; i <= terms; ++i) {
    sum += std::pow(i, -settings["power"].get<double>());
    progress(static_cast<double>(i) / terms);
  }
  return {{"sum", sum}, {"large", sum > 2}, {"rest", terms % 7}, {"half", sum / 2}};
}

}  // namespace

SweepJob train_job(const std::string&) { return {&check, &sum, {"sum", "large", "rest"}}; }

std::span<const TrainResultKey> train_result_keys() {
  static constexpr std::array<TrainResultKey, 5> keys{{{"sum", true, true},
                                                       {"large", true, true},
                                                       {"rest", true, true},
                                                       {"half", true, false},
                                                       {"never", false, false}}};
  return keys;
}

}  // namespace binade
