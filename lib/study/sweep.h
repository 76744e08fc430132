// SPDX-License-Identifier: Apache-2.0
//
// A sweep: one job for every combination of settings. The results are a file of JSON lines that grows
// by a line per run and survives kill -9: what is finished is not run again, and in the end the file has
// the bytes of a sweep that was never interrupted.
//
//   {"schema": "binade.sweep/1", "name": …, "spec_hash": …, "runs": n, "spec": {…}}
//   {"run": 0, "settings": {…}, "result": {…}}
//   …
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace binade {

/// {"name": "…", "base": {key: value…}, "grid": {key: [value…]…}}. Every combination is a run: the first
/// key of the grid changes slowest, the last fastest.
struct SweepSpec {
  std::string name;
  nlohmann::json base;
  std::vector<std::string> keys;                    ///< of the grid, as written
  std::vector<std::vector<nlohmann::json>> values;  ///< of each key, as written

  std::size_t runs() const;
};

/// Error unless the text is such an object: no key twice or in both parts, no empty list, no value
/// twice in a list, at most 100 000 runs. `label` names it in errors.
SweepSpec parse_sweep(const std::string& label, std::string_view text);
SweepSpec read_sweep(const std::string& path);

/// The base and, for each key of the grid, the value of this run.
nlohmann::json settings_of(const SweepSpec& spec, std::size_t run);

struct SweepJob {
  std::function<void(const nlohmann::json& settings)> check;  ///< Error for settings that are wrong
  std::function<nlohmann::ordered_json(const nlohmann::json& settings,
                                       const std::function<void(double done)>& progress)>
      run;                          ///< gives an object
  std::vector<std::string> keys{};  ///< that every result has
};

/// Told of the run that is going on and its share that is done.
using SweepProgress = std::function<void(std::size_t run, double done)>;

/// Told of each run whose line was written now; may throw, to end the sweep.
using RunTold = std::function<void(std::size_t run, const nlohmann::ordered_json& result)>;

struct SweepResults {
  std::vector<nlohmann::ordered_json> results;  ///< of each run, as the file holds them
  std::size_t found = 0;                        ///< how many were in the file before
};

/// Checks all settings, then runs what the file does not hold. Error if the file is of another sweep,
/// is being written by another process, or a job throws one; what is finished stays in the file.
SweepResults run_sweep(const SweepSpec& spec, const std::string& path, const SweepJob& job,
                       const SweepProgress& progress = {}, const RunTold& told = {});

}  // namespace binade
