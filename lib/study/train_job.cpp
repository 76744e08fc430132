// SPDX-License-Identifier: Apache-2.0
//
// One training from settings to figures: they are read, the workload is made, the network trains.
#include "lib/study/train_job.h"

#include "lib/study/train_settings.h"
#include "lib/study/workloads.h"

namespace binade {

void check_train_settings(const nlohmann::json& settings) {
  static_cast<void>(train_settings(settings));
}

nlohmann::ordered_json train_job(const nlohmann::json& settings, const std::string& data_folder,
                                 const std::function<void(double done)>& progress) {
  const TrainSettings s = train_settings(settings);
  Hooks<float> hooks;
  if (progress) {
    hooks.progress = [&progress](std::int64_t done, std::int64_t of) {
      progress(static_cast<double>(done) / static_cast<double>(of));
    };
  }
  return result_of(train(workload<float>(s.workload, data_folder, s.batch), s.recipe, hooks));
}

}  // namespace binade
