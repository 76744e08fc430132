// SPDX-License-Identifier: Apache-2.0
//
// One training of a sweep: reads its settings, makes the workload, trains, and returns the result.
#include "lib/runs/train_job.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>

#include "lib/runs/train_settings.h"
#include "lib/runs/workloads.h"

namespace binade {

SweepJob train_job(const std::string& data_folder) {
  const auto sets = std::make_shared<std::map<const DataSource*, DataSet>>();
  const auto data_of = [sets, data_folder](const std::string& workload) -> const DataSet& {
    const DataSource* which = workload_row(workload).data;
    auto known = sets->find(which);
    if (known == sets->end()) {
      known = sets->emplace(which, which->read(data_folder)).first;
    }
    return known->second;
  };
  SweepJob job;
  job.check = [data_of](const nlohmann::json& settings) {
    const TrainSettings s = train_settings(settings);
    check_batch(s.workload, s.batch, epoch_rows(data_of(s.workload)));
  };
  job.data = [sets] {
    std::map<std::string, std::uint64_t> digests;
    for (const auto& [which, set] : *sets) digests.emplace(which->name, digest_of(set));
    return digests;
  };
  job.run = [data_of](const nlohmann::json& settings,
                      const std::function<void(double done)>& progress) {
    const TrainSettings s = train_settings(settings);
    Hooks<float> hooks;
    hooks.progress = [&progress](std::int64_t done, std::int64_t of) {
      if (progress) progress(static_cast<double>(done) / static_cast<double>(of));
    };
    return result_of(
        train(workload<float>(s.workload, data_of(s.workload), s.batch), s.recipe, hooks));
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
