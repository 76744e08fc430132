// SPDX-License-Identifier: Apache-2.0
//
// A job in place of training, for tests of the sweep's command: sums of a series whose terms shrink.
#include <cmath>

#include "lib/study/train_job.h"
#include "lib/tensor/error.h"

namespace binade {

void check_train_settings(const nlohmann::json& settings) {
  for (const auto& [key, value] : settings.items()) {
    if (key != "terms" && key != "power" && key != "label") {
      throw Error("no setting " + printable(key) + "; there are terms, power, label");
    }
  }
}

nlohmann::ordered_json train_job(const nlohmann::json& settings, const std::string&,
                                 const std::function<void(double done)>& progress) {
  check_train_settings(settings);
  const int terms = settings["terms"];
  double sum = 0;
  for (int i = 1; i <= terms; ++i) {
    sum += std::pow(i, -settings["power"].get<double>());
    progress(static_cast<double>(i) / terms);
  }
  return {{"sum", sum}, {"large", sum > 2}, {"rest", terms % 7}};
}

}  // namespace binade
