// SPDX-License-Identifier: Apache-2.0
//
// Tensors sorted by layer, role and step, and merged where they share them: summaries are integers,
// so a series over all layers is as exact as that of one.
#include "lib/report/time.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "lib/report/report.h"
#include "lib/tensor/error.h"

namespace binade {
namespace {

/// Place of a layer in TimeReport::layers; -1: all layers together, which come first.
constexpr int all_layers = -1;

/// Whether a comes before b where numbers in names count as numbers: blocks.9 before blocks.10.
bool comes_before(std::string_view a, std::string_view b) {
  const auto digits = [](std::string_view text) {
    return std::min(text.find_first_not_of("0123456789"), text.size());
  };
  while (!a.empty() && !b.empty()) {
    std::size_t m = digits(a);
    std::size_t n = digits(b);
    if (m == 0 || n == 0) {
      m = n = 1;
    } else if (m != n) {  // a longer number is larger; leading zeros make ties, broken below
      return m < n;
    }
    if (a.substr(0, m) != b.substr(0, n)) return a.substr(0, m) < b.substr(0, n);
    a.remove_prefix(m);
    b.remove_prefix(n);
  }
  return a.size() < b.size();
}

/// In the order of the files; where that is merely alphabetical, with numbers as numbers.
std::map<std::string, int> number_layers(const std::vector<TensorReport>& tensors,
                                         std::vector<std::string>& layers) {
  std::map<std::string, int> number;
  for (const TensorReport& tensor : tensors) {
    if (tensor.time && number.emplace(tensor.time->layer, 0).second) {
      layers.push_back(tensor.time->layer);
    }
  }
  if (std::ranges::is_sorted(layers)) std::ranges::stable_sort(layers, comes_before);
  for (std::size_t i = 0; i < layers.size(); ++i) number[layers[i]] = static_cast<int>(i);
  return number;
}

/// Of several tensors together.
struct Merged {
  TensorReport all;
  bool any = false;
};

void add(Merged& to, const TensorReport& tensor) {
  TensorReport& all = to.all;
  if (!std::exchange(to.any, true)) {
    all.role = tensor.role;
    all.dtype = tensor.dtype;
    all.shape = tensor.shape;
    all.summary = tensor.summary;
    return;
  }
  if (all.dtype != tensor.dtype) all.dtype.clear();
  if (all.shape != tensor.shape) all.shape.clear();
  merge(all.summary, tensor.summary);
}

std::optional<std::int16_t> binade_of(const Placed& x) {
  if (x.significand == 0) return std::nullopt;
  return static_cast<std::int16_t>(x.exponent);
}

TimePoint time_point(std::uint64_t step, const RangeSummary& s,
                     const std::vector<NamedFormat>& formats) {
  TimePoint out{.step = step,
                .values = s.values,
                .zeros = s.zeros,
                .nan = s.nan,
                .inf = s.inf,
                .band_27_24 = 0,
                .min_binade = binade_of(s.smallest),
                .max_binade = binade_of(s.largest),
                .s_min_log2 = {},
                .s_max_log2 = {},
                .formats = {}};
  for (auto at = s.binades.lower_bound(-27); at != s.binades.end() && at->first < -24; ++at) {
    out.band_27_24 += at->second.total();
  }
  const Norms of = norms(s);
  out.formats.reserve(formats.size());
  for (const NamedFormat& row : formats) {
    const Fates f = fates(s, row.format, 0);
    const std::optional<Losses> lost = losses(s, of, row.format, 0);
    out.formats.push_back({f.to_zero, f.subnormal, f.overflow, lost ? lost->l2 : 0});
  }
  return out;
}

std::vector<NamedFormat> formats_of_points(const ReportOptions& options) {
  std::vector<NamedFormat> out = options.formats;
  const bool there = std::ranges::find(out, binary16, &NamedFormat::format) != out.end();
  if (!there) out.push_back(report_formats[0]);
  return out;
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
    const bool finite = gradients.total.nan == 0 && gradients.total.inf == 0;
    out.push_back({step, finite ? joint_loss_scale(gradients.tensors, gradients.total, options)
                                : LossScale{.status = "not finite",
                                            .interval = {},
                                            .recommended_log2 = {},
                                            .lost_l2 = {},
                                            .binding_min = {},
                                            .binding_max = {},
                                            .reason = "the step's gradients hold NaN or Inf"}});
  }
  return out;
}

std::string reason_not_to_pair(const TensorInfo& weight, const TensorInfo& update) {
  if (weight.shape != update.shape) return "its weight has another shape";
  if (weight.fortran_order != update.fortran_order) return "its weight has another storage order";
  return "";
}

using CountsOfSteps = std::map<std::uint64_t, UpdateCounts>;

UpdateSeries update_series(const std::optional<std::string>& layer, const CountsOfSteps& steps) {
  UpdateSeries out{layer, {}};
  for (const auto& [step, counts] : steps) out.points.push_back({step, counts});
  return out;
}

}  // namespace

std::size_t place_of_binary16(const TimeReport& time) {
  const auto at = std::ranges::find(time.formats, binary16, &NamedFormat::format);
  return static_cast<std::size_t>(at - time.formats.begin());
}

bool has_time_axis(const std::vector<TensorReport>& tensors) {
  std::optional<std::uint64_t> first;
  for (const TensorReport& tensor : tensors) {
    if (!tensor.time) continue;
    if (first && *first != tensor.time->step) return true;
    first = tensor.time->step;
  }
  return false;
}

std::vector<std::uint64_t> steps_not_finite(const std::vector<TensorReport>& tensors) {
  std::set<std::uint64_t> steps;
  for (const TensorReport& tensor : tensors) {
    if (!tensor.time || !is_gradient(tensor.time->role)) continue;
    if (tensor.summary.nan + tensor.summary.inf > 0) steps.insert(tensor.time->step);
  }
  return {steps.begin(), steps.end()};
}

void refuse_mixed_runs(std::span<const NamedTensor> tensors) {
  std::map<std::string_view, const TensorFile*> holder;
  std::set<std::uint64_t> steps;
  const TensorFile* other = nullptr;  // with `name` again, which `first` holds
  const TensorFile* first = nullptr;
  std::string_view name;
  for (const NamedTensor& tensor : tensors) {
    if (!tensor.time) continue;
    steps.insert(tensor.time->step);
    const TensorPlace& place = tensor.place;
    const auto [at, is_new] = holder.emplace(place.info().name, place.file);
    if (is_new || at->second == place.file || other != nullptr) continue;
    name = place.info().name;
    first = at->second;
    other = place.file;
  }
  if (steps.size() < 2 || other == nullptr) return;
  throw Error(printable(first->path(), longest_path) + " and " +
              printable(other->path(), longest_path) + ": both hold " + printable(name) +
              "; they are of two runs, report one run at a time");
}

TimeReport time_report(const std::vector<TensorReport>& tensors, const ReportOptions& options) {
  TimeReport report;
  report.formats = formats_of_points(options);
  const std::map<std::string, int> number = number_layers(tensors, report.layers);
  std::map<std::pair<int, TensorRole>, std::map<std::uint64_t, Merged>> sums;
  std::set<std::uint64_t> steps;
  for (const TensorReport& tensor : tensors) {
    if (!tensor.time) continue;
    const auto& [step, layer, role] = *tensor.time;
    steps.insert(step);
    add(sums[{all_layers, role}][step], tensor);
    add(sums[{number.at(layer), role}][step], tensor);
  }
  report.steps.assign(steps.begin(), steps.end());
  for (auto& [key, by_step] : sums) {
    TimeSeries series;
    if (key.first != all_layers) series.layer = report.layers[static_cast<std::size_t>(key.first)];
    series.role = key.second;
    Merged run;
    for (auto& [step, merged] : by_step) {
      TimePoint& point =
          series.points.emplace_back(time_point(step, merged.all.summary, report.formats));
      const auto interval =
          scale_interval(merged.all.summary, binary16, options.headroom, options.target_loss);
      if (series.layer && is_gradient(series.role) && interval) {
        point.s_min_log2 = static_cast<std::int16_t>(interval->min_log2);
        point.s_max_log2 = static_cast<std::int16_t>(interval->max_log2);
      }
      add(run, merged.all);
    }
    series.run = std::move(run.all);
    series.last = std::move(by_step.rbegin()->second.all);
    series.last.time = TensorTime{by_step.rbegin()->first, series.layer.value_or(""), series.role};
    for (TensorReport* of : {&series.run, &series.last}) {
      of->name = (series.layer ? *series.layer + " " : "") + std::string(name_of(series.role));
      of->role = series.role;
      analyse(*of, options);
    }
    report.series.push_back(std::move(series));
  }
  report.loss_scales = scales_of(tensors, options);
  return report;
}

UpdatePairs update_pairs(std::span<const NamedTensor> tensors) {
  struct Places {
    std::vector<TensorPlace> weights, updates;
  };
  std::vector<std::pair<TensorTime, Places>> found;  // in the order of the files
  std::map<std::pair<std::uint64_t, std::string>, std::size_t> at;
  for (const auto& [tensor, role, time, by_file, by_rule] : tensors) {
    if (!time) continue;
    const auto [place, is_new] = at.emplace(std::pair(time->step, time->layer), found.size());
    if (is_new) found.push_back({*time, {}});
    Places& places = found[place->second].second;
    if (role == TensorRole::weight) places.weights.push_back(tensor);
    if (role == TensorRole::update) places.updates.push_back(tensor);
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
  if (all.empty()) return;
  report.updates.push_back(update_series(std::nullopt, all));
  for (const std::string& layer : report.layers) {
    const auto at = by_layer.find(layer);
    if (at != by_layer.end()) report.updates.push_back(update_series(layer, at->second));
  }
}

}  // namespace binade
