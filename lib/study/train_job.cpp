// SPDX-License-Identifier: Apache-2.0
//
// One training of a sweep: reads its settings, makes the workload, trains, and returns the result.
#include "lib/study/train_job.h"

#include <array>
#include <map>
#include <memory>

#include "lib/study/train_settings.h"
#include "lib/study/workloads.h"

namespace binade {

SweepJob train_job(const std::string& data_folder) {
  SweepJob job;
  const auto rows = std::make_shared<std::map<std::string, std::size_t>>();  // per workload
  job.check = [rows, data_folder](const nlohmann::json& settings) {
    const TrainSettings s = train_settings(settings);
    auto known = rows->find(s.workload);
    if (known == rows->end()) {
      known = rows->emplace(s.workload, epoch_rows(s.workload, data_folder)).first;
    }
    check_batch(s.workload, s.batch, known->second);
  };
  job.run = [data_folder](const nlohmann::json& settings,
                          const std::function<void(double done)>& progress) {
    const TrainSettings s = train_settings(settings);
    Hooks<float> hooks;
    hooks.progress = [&progress](std::int64_t done, std::int64_t of) {
      if (progress) progress(static_cast<double>(done) / static_cast<double>(of));
    };
    return result_of(train(workload<float>(s.workload, data_folder, s.batch), s.recipe, hooks));
  };
  for (const TrainResultKey& key : train_result_keys()) {
    if (key.always) job.keys.emplace_back(key.name);
  }
  return job;
}

std::span<const TrainResultKey> train_result_keys() {
  static constexpr std::array<TrainResultKey, 14> keys{{{"steps_done", true, false},
                                                        {"test_accuracy", true, true},
                                                        {"test_loss", true, true},
                                                        {"test_rows", true, false},
                                                        {"final_loss", true, false},
                                                        {"skipped", true, true},
                                                        {"final_scale", true, true},
                                                        {"not_finite", true, true},
                                                        {"updates_asked", true, false},
                                                        {"updates_lost", true, false},
                                                        {"updates_not_shown", true, false},
                                                        {"parameters", true, false},
                                                        {"switched", false, false},
                                                        {"gave_up", false, false}}};
  return keys;
}

}  // namespace binade
