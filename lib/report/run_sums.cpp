// SPDX-License-Identifier: Apache-2.0
//
// The names say beforehand which series and points there will be, and how many tensors each has. A
// point is made when its last tensor is added.
#include "lib/report/run_sums.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace binade {
namespace {

/// The index of a layer in TimeReport::layers; -1 stands for all layers together, which come first.
constexpr int all_layers = -1;

/// Returns whether a comes before b, where digits in names are compared as numbers: blocks.9 before
/// blocks.10.
bool comes_before(std::string_view a, std::string_view b) {
  const auto digits = [](std::string_view text) {
    return std::min(text.find_first_not_of("0123456789"), text.size());
  };
  while (!a.empty() && !b.empty()) {
    std::size_t m = digits(a);
    std::size_t n = digits(b);
    if (m == 0 || n == 0) {
      m = n = 1;
      // A longer number is larger; equal names with leading zeros are told apart below by their
      // lengths.
    } else if (m != n) {
      return m < n;
    }
    if (a.substr(0, m) != b.substr(0, n)) return a.substr(0, m) < b.substr(0, n);
    a.remove_prefix(m);
    b.remove_prefix(n);
  }
  return a.size() < b.size();
}

/// Numbers the layers in the order of the files. If that is alphabetical in each step of a file,
/// they are sorted instead, with digits compared as numbers.
std::map<std::string_view, int> number_layers(std::span<const NamedTensor> tensors,
                                              std::vector<std::string>& layers) {
  std::map<std::string_view, int> number;
  const NamedTensor* last = nullptr;  // the last that had a new layer
  bool is_alphabetical = true;
  for (const NamedTensor& tensor : tensors) {
    if (!tensor.time || !number.emplace(tensor.time->layer, 0).second) continue;
    if (last != nullptr && last->place.file == tensor.place.file &&
        last->time->step == tensor.time->step && tensor.time->layer < last->time->layer) {
      is_alphabetical = false;
    }
    last = &tensor;
    layers.push_back(tensor.time->layer);
  }
  if (is_alphabetical) std::ranges::stable_sort(layers, comes_before);
  for (std::size_t i = 0; i < layers.size(); ++i) number[layers[i]] = static_cast<int>(i);
  return number;
}

/// Adds a tensor of a series to several that are merged. `all` has no name as long as it holds
/// none.
void add_tensor_to(TensorReport& all, const TensorReport& tensor, const TimeSeries& of) {
  if (all.name.empty()) {
    all.name =
        (of.layer ? *of.layer + " " : std::string()) + std::string(tensor_role_name(of.role));
    all.role = tensor.role;
    all.dtype = tensor.dtype;
    all.shape = tensor.shape;
    all.summary = tensor.summary;
    return;
  }
  if (all.dtype != tensor.dtype) all.dtype.clear();
  if (all.shape != tensor.shape) all.shape.reset();
  merge(all.summary, tensor.summary);
}

std::optional<std::int16_t> binade_of(const Placed& x) {
  if (x.significand == 0) return std::nullopt;
  return static_cast<std::int16_t>(x.exponent);
}

/// Makes the point of a tensor whose figures are filled.
TimePoint time_point(std::uint64_t step, const TensorReport& tensor, bool tells_scales) {
  const RangeSummary& s = tensor.summary;
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
  out.formats.reserve(tensor.formats.size());
  for (const FormatReport& f : tensor.formats) out.formats.push_back(figures_of(f));
  if (const auto& interval = tensor.loss_scale.interval; tells_scales && interval) {
    out.s_min_log2 = static_cast<std::int16_t>(interval->min_log2);
    out.s_max_log2 = static_cast<std::int16_t>(interval->max_log2);
  }
  return out;
}

/// Sets a point of a series to all tensors that it has, merged, whose figures are filled.
void set_point(TimeSeries& series, TimePoint& point, const TensorReport& all) {
  point = time_point(point.step, all, series.layer && is_gradient(series.role));
  add_tensor_to(series.run, all, series);
  if (&point == &series.points.back()) add_tensor_to(series.last, all, series);
}

}  // namespace

RunSums::RunSums(const ReportOptions& options, std::span<const NamedTensor> named)
    : options_(options), all_layers_(tensor_role_names.size()), series_(named.size()) {
  time_.formats = options.formats;
  const std::map<std::string_view, int> number = number_layers(named, time_.layers);
  using Key = std::pair<int, TensorRole>;
  const auto key_of = [&number](const TensorTime& time) {
    return Key{number.find(time.layer)->second, time.role};
  };
  std::map<Key, std::map<std::uint64_t, std::uint32_t>> tensors;  // how many per step
  for (const NamedTensor& tensor : named) {
    if (!tensor.time) continue;
    ++tensors[key_of(*tensor.time)][tensor.time->step];
    ++tensors[{all_layers, tensor.time->role}][tensor.time->step];
  }
  std::map<Key, std::uint32_t> at;
  for (const auto& [key, steps] : tensors) {
    at[key] = static_cast<std::uint32_t>(time_.series.size());
    TimeSeries& series = time_.series.emplace_back();
    series.role = key.second;
    if (key.first == all_layers) {
      all_layers_[static_cast<std::size_t>(key.second)] = at[key];
      for (const auto& [step, n] : steps) time_.steps.push_back(step);
    } else {
      series.layer = time_.layers[static_cast<std::size_t>(key.first)];
    }
    series.points.reserve(steps.size());
    std::vector<std::uint32_t>& missing = missing_.emplace_back();
    for (const auto& [step, n] : steps) {
      series.points.emplace_back().step = step;
      missing.push_back(n);
    }
  }
  std::ranges::sort(time_.steps);
  time_.steps.erase(std::unique(time_.steps.begin(), time_.steps.end()), time_.steps.end());
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (named[i].time) series_[i] = at.at(key_of(*named[i].time));
  }
}

void RunSums::add(const TensorReport& tensor, std::size_t place) {
  add_to(series_[place], tensor);
  add_to(all_layers_[static_cast<std::size_t>(tensor.time->role)], tensor);
}

void RunSums::add_to(std::size_t series, const TensorReport& tensor) {
  TimeSeries& to = time_.series[series];
  const std::uint64_t step = tensor.time->step;
  const auto point = std::ranges::lower_bound(to.points, step, {}, &TimePoint::step);
  const auto p = static_cast<std::size_t>(point - to.points.begin());
  const bool completes = --missing_[series][p] == 0;
  const auto begun = unfinished_.find({series, p});
  if (completes && begun == unfinished_.end()) return set_point(to, *point, tensor);
  TensorReport& sum = unfinished_[{series, p}];
  add_tensor_to(sum, tensor, to);
  if (!completes) return;
  fill_figures(sum, options_);
  set_point(to, *point, sum);
  unfinished_.erase({series, p});
}

TimeReport RunSums::finish() {
  for (TimeSeries& series : time_.series) {
    series.last.time =
        TensorTime{series.points.back().step, series.layer.value_or(""), series.role};
    analyse(series.run, options_);
    analyse(series.last, options_);
  }
  return std::move(time_);
}

}  // namespace binade
