// SPDX-License-Identifier: Apache-2.0
//
// The rules that every counted run must fulfil, whether a file or Python gave it.
#include "lib/report/run_counts.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "lib/report/counts_tensor_file.h"
#include "lib/report/named_tensors.h"
#include "lib/text/error.h"

namespace binade {
namespace {

constexpr std::uint64_t last_step = std::uint64_t{1} << 53;
constexpr std::size_t most_dimensions = 64;

void require(bool holds, const std::string& problem) {
  if (!holds) throw Error("a counted run: " + problem);
}
/// The same of what has a name, which there are very many of.
void require(bool holds, const std::string& name, const char* problem) {
  if (!holds) throw Error("a counted run: " + printable(name) + problem);
}

void check_windows(const Watched& watched) {
  require(watched.every > 0, "every 0th step");
  const RunWindow* before = nullptr;
  for (const RunWindow& window : watched.windows) {
    const std::string which =
        "window " + std::to_string(window.first) + " to " + std::to_string(window.last);
    const bool rises = before == nullptr || before->last < window.first;
    require(rises && window.first <= window.last && window.last <= last_step,
            "steps do not rise at " + which);
    require(window.steps > 0 && window.steps - 1 <= window.last - window.first,
            which + " has no " + std::to_string(window.steps) + " steps");
    require(!window.loss_scale || (std::isfinite(*window.loss_scale) && *window.loss_scale > 0),
            "no such loss scale in " + which);
    before = &window;
  }
}

/// Checks that each tensor is in a window, that steps rise, and that no layer has the same role
/// twice in a step.
class PlacesInRun {
 public:
  explicit PlacesInRun(const Watched& watched) {
    for (const RunWindow& window : watched.windows) firsts_.insert(window.first);
  }
  void add(std::uint64_t step, const std::string& layer, std::size_t role, const std::string& name,
           std::uint64_t values) {
    require(firsts_.contains(step), name, " is of no window");
    require(step >= step_, name, " comes after a later step");
    if (step > step_) here_.clear();
    step_ = step;
    require(!layer.empty(), name, " is of no layer");
    require(here_.emplace(layer, role).second, name, " is there twice");
    require(!__builtin_add_overflow(values_, values, &values_), name,
            ": with it there are 2^64 values or more");
  }

 private:
  std::set<std::uint64_t> firsts_;
  std::uint64_t step_ = 0, values_ = 0;
  std::set<std::pair<std::string, std::size_t>> here_;  ///< the tensors of the current step
};

}  // namespace

std::string run_tensor_name(const RunTensor& tensor) {
  const auto& [step, layer, role] = tensor.time;
  std::string digits = std::to_string(step);
  digits.insert(0, std::max<std::size_t>(6, digits.size()) - digits.size(), '0');
  return "step" + digits + "/" + layer + "/" + std::string(tensor_role_name(role));
}

void check_run(const RunCounts& run) {
  check_windows(run.watched);
  PlacesInRun tensors(run.watched), updates(run.watched);
  for (const RunTensor& tensor : run.tensors) {
    const auto& [step, layer, role] = tensor.time;
    const std::string name = run_tensor_name(tensor);
    tensors.add(step, layer, static_cast<std::size_t>(role), name, tensor.values);
    require(reason_to_skip(tensor.dtype).empty(), name, " is of no floating dtype");
    const bool fits = !tensor.shape || (tensor.shape->size() <= most_dimensions &&
                                        extent(*tensor.shape, tensor.dtype).has_value());
    require(fits, name, " has a shape that no tensor has");
  }
  for (const RunUpdates& of : run.updates) {
    updates.add(of.step, of.layer, 0,
                "update of " + of.layer + " in step " + std::to_string(of.step), of.counts.values);
  }
}

std::unique_ptr<TensorFile> file_of_run(std::string path, std::shared_ptr<const RunCounts> run,
                                        std::function<RangeSummary(std::size_t)> summary,
                                        const std::vector<std::uint64_t>& bytes,
                                        std::shared_ptr<const InputFile> from) {
  std::vector<TensorInfo> tensors;
  for (const RunTensor& tensor : run->tensors) {
    tensors.push_back({.name = run_tensor_name(tensor),
                       .dtype = tensor.dtype,
                       .shape = tensor.shape.value_or(std::vector<std::uint64_t>{}),
                       .elements = tensor.values,
                       .bytes = bytes.empty() ? 0 : bytes[tensors.size()]});
  }
  const bool has_errors = !run->columns.empty();
  Counted counted{.summary = std::move(summary),
                  .has_errors = has_errors,
                  .run = std::move(run),
                  .from = std::move(from)};
  return std::make_unique<CountsTensorFile>(std::move(path), std::move(tensors),
                                            std::move(counted));
}

}  // namespace binade
