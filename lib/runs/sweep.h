// SPDX-License-Identifier: Apache-2.0
//
// A sweep runs one job for every combination of settings. The results are a file of JSON lines that
// grows by a line per run and survives kill -9: a sweep that is started again does not repeat
// finished runs, and at the end its file has the same bytes as that of a sweep that was never
// interrupted. The first line says of which version of binade and of which data the runs are; what
// a kernel level or threads are does not change them. Each further line ends with a digest of
// itself: FNV-1a of the object without its last key.
//
//   {"schema": "binade.sweep/2", "binade": …, "name": …, "spec_hash": …, "data": {…}, "runs": n, "spec": {…}}
//   {"run": 0, "settings": {…}, "result": {…}, "digest": …}
//   …
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace binade {

/// {"name": "…", "base": {key: value…}, "grid": {key: [value…]…}}. Every combination of the grid's
/// values is a run; the first key of the grid changes slowest, the last fastest.
struct SweepSpec {
  std::string name;
  nlohmann::json base;
  std::vector<std::string> keys;                    ///< keys of the grid, in the order written
  std::vector<std::vector<nlohmann::json>> values;  ///< values of each key, in the order written

  /// Returns the number of combinations.
  std::size_t runs() const;
};

/// Parses a spec. Throws Error unless the text is such an object in which no key stands twice or in
/// both base and grid, no list is empty or has a value twice, and there are at most 100 000 runs.
/// `label` names the text in errors.
SweepSpec parse_sweep(const std::string& label, std::string_view text);
/// Reads a file of such a spec, and throws the same.
SweepSpec read_sweep(const std::string& path);

/// Returns the settings of a run, which is numbered from 0: the base and, for each key of the grid,
/// the run's value.
nlohmann::json settings_of(const SweepSpec& spec, std::size_t run);

/// What a sweep runs. `check` is called for the settings of all runs before the first `run`.
struct SweepJob {
  std::function<void(const nlohmann::json& settings)> check;  ///< throws Error for wrong settings
  std::function<nlohmann::ordered_json(const nlohmann::json& settings,
                                       const std::function<void(double done)>& progress)>
      run;                          ///< runs the job and returns its result, a JSON object
  std::vector<std::string> keys{};  ///< keys that every result has
  /// Called when all settings are checked: says what the runs read beside them: for each data set
  /// by its name a digest of its contents. If it is not given, they read nothing.
  std::function<std::map<std::string, std::uint64_t>()> data{};
};

/// Called during a run with its number and the share of it that is done.
using SweepProgress = std::function<void(std::size_t run, double done)>;

/// Called after the line of a run has been written; may throw, to end the sweep.
using RunTold = std::function<void(std::size_t run, const nlohmann::ordered_json& result)>;

struct SweepResults {
  std::vector<nlohmann::ordered_json> results;  ///< of all runs, as the file has them
  std::size_t found = 0;                        ///< how many of them were in the file before
};

/// Checks the settings of all runs, then runs those whose results are not in the file `path` yet.
/// Throws Error if the settings of a run are wrong, if the file cannot be written, belongs to
/// another sweep, is damaged, is of another version of binade or of other data, or is being written
/// by another process, and if the job throws Error; results of finished runs stay in the file.
SweepResults run_sweep(const SweepSpec& spec, const std::string& path, const SweepJob& job,
                       const SweepProgress& progress = {}, const RunTold& told = {});

}  // namespace binade
