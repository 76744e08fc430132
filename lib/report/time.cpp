// SPDX-License-Identifier: Apache-2.0
//
// What names say about a run, and the counts of its updates by layer and step.
#include "lib/report/time.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "lib/report/counts_tensor_file.h"
#include "lib/text/error.h"

namespace binade {
namespace {

std::string reason_not_to_pair(const TensorPlace& of_weight, const TensorPlace& of_update) {
  if (counted_in(*of_weight.file) != nullptr || counted_in(*of_update.file) != nullptr) {
    return "summaries hold no elements";
  }
  const TensorInfo& weight = of_weight.info();
  const TensorInfo& update = of_update.info();
  if (weight.shape != update.shape) return "its weight has another shape";
  if (weight.fortran_order != update.fortran_order) return "its weight has another storage order";
  return "";
}

/// Returns the updates that counted runs have counted, and those that they have not.
UpdatePairs counted_updates(std::span<const NamedTensor> tensors) {
  UpdatePairs out;
  const TensorFile* file = nullptr;
  std::set<std::pair<std::uint64_t, std::string_view>> there;  // those of the current file
  for (const NamedTensor& tensor : tensors) {
    if (!tensor.by_run) continue;
    if (tensor.place.file != file) {
      there.clear();
      file = tensor.place.file;
      for (const auto& [step, layer, counts] : run_in(*file)->updates) {
        out.counted.push_back({step, layer, &counts});
        there.emplace(step, layer);
      }
    }
    if (tensor.role != TensorRole::update) continue;
    if (!there.contains({tensor.time->step, tensor.time->layer})) {
      out.unpaired.push_back({tensor.place.info().name, "not held against its weight in the run"});
    }
  }
  return out;
}

using CountsOfSteps = std::map<std::uint64_t, UpdateCounts>;

UpdateSeries update_series(const std::optional<std::string>& layer, const CountsOfSteps& steps) {
  UpdateSeries out{layer, {}};
  for (const auto& [step, counts] : steps) out.points.push_back({step, counts});
  return out;
}

}  // namespace

bool has_time_axis(std::span<const NamedTensor> tensors) {
  std::optional<std::uint64_t> first;
  return std::ranges::any_of(tensors, [&first](const NamedTensor& tensor) {
    if (!tensor.time) return false;
    if (!first) first = tensor.time->step;
    return *first != tensor.time->step;
  });
}

void refuse_mixed_runs(std::span<const NamedTensor> tensors) {
  if (!has_time_axis(tensors)) return;
  std::vector<const NamedTensor*> by_name;  // equal names in the order of the files
  for (const NamedTensor& tensor : tensors) {
    if (tensor.time) by_name.push_back(&tensor);
  }
  const auto name = [](const NamedTensor* tensor) -> const std::string& {
    return tensor->place.info().name;
  };
  std::ranges::stable_sort(by_name, {}, name);
  const NamedTensor* first = nullptr;   // the first of its name
  const NamedTensor* again = nullptr;   // the earliest tensor whose name is in another file, too
  const NamedTensor* holder = nullptr;  // the first of the same name
  for (const NamedTensor* tensor : by_name) {
    if (first == nullptr || name(first) != name(tensor)) first = tensor;
    const bool other = tensor->place.file != first->place.file;
    if (other && (again == nullptr || tensor < again)) {
      again = tensor;
      holder = first;
    }
  }
  if (again == nullptr) return;
  throw Error(printable(holder->place.file->path(), longest_path) + " and " +
              printable(again->place.file->path(), longest_path) + ": both hold " +
              printable(name(again)) + "; they are of two runs, report one run at a time");
}

UpdatePairs update_pairs(std::span<const NamedTensor> tensors) {
  if (!has_time_axis(tensors)) return {};
  UpdatePairs out = counted_updates(tensors);
  const bool any =
      std::ranges::find(tensors, TensorRole::update, &NamedTensor::role) != tensors.end();
  if (!any) return out;
  struct PairPlaces {
    std::vector<TensorPlace> weights, updates;
  };
  std::vector<std::pair<TensorTime, PairPlaces>> found;  // in the order of the files
  std::map<std::pair<std::uint64_t, std::string>, std::size_t> at;
  for (const auto& [tensor, role, time, by_file, by_rule, by_run, binds_scale] : tensors) {
    if (!time || by_run) continue;
    const auto [place, is_new] = at.emplace(std::pair(time->step, time->layer), found.size());
    if (is_new) found.push_back({*time, {}});
    PairPlaces& places = found[place->second].second;
    if (role == TensorRole::weight) places.weights.push_back(tensor);
    if (role == TensorRole::update) places.updates.push_back(tensor);
  }
  for (const auto& [time, places] : found) {
    for (std::size_t i = 0; i < places.updates.size(); ++i) {
      const TensorPlace& update = places.updates[i];
      const bool paired = i < places.weights.size();
      const std::string reason =
          paired ? reason_not_to_pair(places.weights[i], update) : "its weight is missing";
      if (reason.empty()) {
        out.pairs.push_back({time, places.weights[i], update});
      } else {
        out.unpaired.push_back({update.info().name, reason});
      }
    }
  }
  return out;
}

void add_updates(TimeReport& report, const UpdatePairs& updates,
                 const std::function<UpdateCounts(const UpdatePair&)>& count) {
  report.unpaired = updates.unpaired;
  CountsOfSteps all;
  std::map<std::string, CountsOfSteps> by_layer;
  for (const UpdatePair& pair : updates.pairs) {
    const UpdateCounts counts = count(pair);
    merge(all[pair.time.step], counts);
    merge(by_layer[pair.time.layer][pair.time.step], counts);
  }
  for (const CountedUpdates& of : updates.counted) {
    merge(all[of.step], *of.counts);
    merge(by_layer[of.layer][of.step], *of.counts);
  }
  if (all.empty()) return;
  report.updates.push_back(update_series(std::nullopt, all));
  for (const std::string& layer : report.layers) {
    const auto at = by_layer.find(layer);
    if (at != by_layer.end()) report.updates.push_back(update_series(layer, at->second));
  }
}

}  // namespace binade
