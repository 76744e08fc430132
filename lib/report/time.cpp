// SPDX-License-Identifier: Apache-2.0
//
// Tensors sorted by layer, role and step, and merged where they share them: summaries are integers,
// so a series over all layers is as exact as that of one.
#include "lib/report/time.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "lib/report/report.h"

namespace binade {
namespace {

/// Place of a layer in TimeReport::layers; -1: all layers together, which come first.
constexpr int all_layers = -1;

std::map<std::string, int> number_layers(const std::vector<TensorReport>& tensors,
                                         std::vector<std::string>& layers) {
  std::map<std::string, int> number;
  for (const TensorReport& tensor : tensors) {
    if (!tensor.time) continue;
    const auto [at, is_new] = number.emplace(tensor.time->layer, static_cast<int>(layers.size()));
    if (is_new) layers.push_back(at->first);
  }
  return number;
}

void add(std::map<std::uint64_t, RangeSummary>& steps, std::uint64_t step, const RangeSummary& s) {
  const auto [at, is_new] = steps.try_emplace(step, s);
  if (!is_new) merge(at->second, s);
}

std::vector<StepScale> scales_of(const std::vector<TensorReport>& tensors,
                                 const ReportOptions& options) {
  struct Gradients {
    std::vector<const TensorReport*> tensors;
    RangeSummary total;
  };
  std::map<std::uint64_t, Gradients> steps;
  for (const TensorReport& tensor : tensors) {
    if (!tensor.time || !is_gradient(tensor.time->role)) continue;
    Gradients& of_step = steps[tensor.time->step];
    if (of_step.tensors.empty()) {
      of_step.total = tensor.summary;
    } else {
      merge(of_step.total, tensor.summary);
    }
    of_step.tensors.push_back(&tensor);
  }
  std::vector<StepScale> out;
  for (const auto& [step, gradients] : steps) {
    out.push_back({step, joint_loss_scale(gradients.tensors, gradients.total, options)});
  }
  return out;
}

bool is_read(const Dtype& dtype) {
  return dtype.kind == DtypeKind::floating && find_format(dtype.format).has_value();
}

std::string reason_not_to_pair(const TensorInfo& weight, const TensorInfo& update) {
  if (weight.shape != update.shape) return "its weight has another shape";
  if (weight.fortran_order != update.fortran_order) return "its weight has another storage order";
  return "";
}

UpdateCounts& counts_at(TimeReport& report, const std::optional<std::string>& layer,
                        std::uint64_t step) {
  auto series = std::ranges::find(report.updates, layer, &UpdateSeries::layer);
  if (series == report.updates.end()) {
    series = report.updates.insert(series, UpdateSeries{layer, {}});
  }
  auto point = std::ranges::lower_bound(series->points, step, {}, &UpdatePoint::step);
  if (point == series->points.end() || point->step != step) {
    point = series->points.insert(point, UpdatePoint{step, {}});
  }
  return point->counts;
}

}  // namespace

bool has_time_axis(const std::vector<TensorReport>& tensors) {
  std::optional<std::uint64_t> first;
  for (const TensorReport& tensor : tensors) {
    if (!tensor.time) continue;
    if (first && *first != tensor.time->step) return true;
    first = tensor.time->step;
  }
  return false;
}

TimeReport time_report(const std::vector<TensorReport>& tensors, const ReportOptions& options) {
  TimeReport report;
  const std::map<std::string, int> number = number_layers(tensors, report.layers);
  std::map<std::pair<int, TensorRole>, std::map<std::uint64_t, RangeSummary>> sums;
  std::set<std::uint64_t> steps;
  for (const TensorReport& tensor : tensors) {
    if (!tensor.time) continue;
    const auto& [step, layer, role] = *tensor.time;
    steps.insert(step);
    add(sums[{all_layers, role}], step, tensor.summary);
    add(sums[{number.at(layer), role}], step, tensor.summary);
  }
  report.steps.assign(steps.begin(), steps.end());
  for (auto& [key, by_step] : sums) {
    TimeSeries series;
    if (key.first != all_layers) series.layer = report.layers[static_cast<std::size_t>(key.first)];
    series.role = key.second;
    for (auto& [step, summary] : by_step) {
      std::vector<FormatReport> in_formats = format_reports(summary, options);
      series.points.push_back({step, std::move(summary), std::move(in_formats)});
    }
    report.series.push_back(std::move(series));
  }
  report.loss_scales = scales_of(tensors, options);
  return report;
}

UpdatePairs update_pairs(const std::vector<std::unique_ptr<TensorFile>>& files) {
  struct Places {
    std::vector<TensorPlace> weights, updates;
  };
  std::vector<std::pair<TensorTime, Places>> found;  // in the order of the files
  std::map<std::pair<std::uint64_t, std::string>, std::size_t> at;
  for (const auto& file : files) {
    for (std::size_t i = 0; i < file->tensors().size(); ++i) {
      const TensorInfo& info = file->tensors()[i];
      const std::optional<TensorTime> time =
          is_read(info.dtype) ? tensor_time(info.name) : std::nullopt;
      if (!time) continue;
      const auto [place, is_new] = at.emplace(std::pair(time->step, time->layer), found.size());
      if (is_new) found.push_back({*time, {}});
      Places& places = found[place->second].second;
      if (time->role == TensorRole::weight) places.weights.push_back({file.get(), i});
      if (time->role == TensorRole::update) places.updates.push_back({file.get(), i});
    }
  }
  UpdatePairs out;
  const auto other_step = [&](const auto& row) {
    return row.first.step != found.front().first.step;
  };
  if (std::ranges::none_of(found, other_step)) return out;
  for (const auto& [time, places] : found) {
    for (std::size_t i = 0; i < places.updates.size(); ++i) {
      const TensorPlace& update = places.updates[i];
      const bool any = i < places.weights.size();
      const std::string reason = any ? reason_not_to_pair(places.weights[i].info(), update.info())
                                     : "its weight is missing";
      if (reason.empty()) {
        out.pairs.push_back({time, places.weights[i], update});
      } else {
        out.unpaired.push_back({update.info().name, reason});
      }
    }
  }
  return out;
}

void add_pair(TimeReport& report, const UpdatePair& pair, const UpdateCounts& counts) {
  merge(counts_at(report, std::nullopt, pair.time.step), counts);
  merge(counts_at(report, pair.time.layer, pair.time.step), counts);
}

}  // namespace binade
