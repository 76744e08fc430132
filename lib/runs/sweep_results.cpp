// SPDX-License-Identifier: Apache-2.0
//
// Checks the names of results that a user chose: each must be one that a run can have, and be given
// once.
#include "lib/runs/sweep_results.h"

#include <algorithm>
#include <string_view>

#include "lib/runs/train_job.h"
#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade {

std::vector<std::string> chosen_results(const std::vector<std::string>& asked) {
  const std::vector<std::string_view> known = names_of(train_result_keys());
  std::vector<std::string> chosen;
  for (const std::string& key : asked) {
    if (std::ranges::find(known, key) == known.end()) {
      throw Error("--result " + printable(key) + ": no run has it" + did_you_mean(key, known) +
                  "; there are " + listed(known));
    }
    if (std::ranges::find(chosen, key) != chosen.end()) {
      throw Error("--result " + key + ": is there twice; give it once");
    }
    chosen.push_back(key);
  }
  if (!chosen.empty()) return chosen;
  for (const TrainResultKey& key : train_result_keys()) {
    if (key.usual) chosen.emplace_back(key.name);
  }
  return chosen;
}

}  // namespace binade
