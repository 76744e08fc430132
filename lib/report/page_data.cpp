// SPDX-License-Identifier: Apache-2.0
//
// Makes the columns and planes of the page from the struct.
#include "lib/report/page_data.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "lib/parallel/parallel.h"
#include "lib/report/json.h"

namespace binade {
namespace {

using PageJson = nlohmann::ordered_json;
using TensorPointers = std::vector<const TensorReport*>;

constexpr std::uint8_t all_code = 250;
constexpr std::uint8_t none_code = 255;

template <class T>
PageJson page_maybe(const std::optional<T>& value) {
  return value ? PageJson(*value) : PageJson(nullptr);
}

template <class Of, class Entry>
PageJson page_column(const Of& of, const Entry& entry) {
  PageJson out = PageJson::array();
  for (const auto& one : of) out.push_back(entry(one));
  return out;
}

double approximate(uint128 x) {
  return std::ldexp(static_cast<double>(static_cast<std::uint64_t>(x >> 64)), 64) +
         static_cast<double>(static_cast<std::uint64_t>(x));
}

double approximate(const SquareSum& x) {
  return std::ldexp(static_cast<double>(x.limbs[2]), 128) +
         std::ldexp(static_cast<double>(x.limbs[1]), 64) + static_cast<double>(x.limbs[0]);
}

/// Returns the mean of m^power over a binade's values, less 1, in millionths; `sum` is the sum of
/// the powers of their significands.
std::int64_t mean_in_millionths(double sum, int power, const BinadeRow& row) {
  const double mean =
      std::ldexp(sum, -power * summary_fraction_bits) / static_cast<double>(row.total());
  return std::llround(1e6 * (mean - 1));
}

/// Adds the columns with the binades of all tensors.
void add_binades(PageJson& table, const TensorPointers& tensors) {
  PageJson lengths = PageJson::array();
  PageJson exponents = PageJson::array();
  PageJson counts(segments, PageJson::array());
  PageJson means = PageJson::array();
  PageJson mean_squares = PageJson::array();
  for (const TensorReport* tensor : tensors) {
    poll();
    lengths.push_back(tensor->summary.binades.size());
    int before = 0;
    for (const auto& [exponent, row] : tensor->summary.binades) {
      exponents.push_back(exponent - before);
      before = exponent;
      uint128 sum = 0;
      for (std::size_t s = 0; s < segments; ++s) {
        counts[s].push_back(row.count[s]);
        sum += row.sum[s];
      }
      means.push_back(mean_in_millionths(approximate(sum), 1, row));
      mean_squares.push_back(mean_in_millionths(approximate(row.squares), 2, row));
    }
  }
  table["rows"] = std::move(lengths);
  table["exponent"] = std::move(exponents);
  table["count"] = std::move(counts);
  table["mean"] = std::move(means);
  table["mean_square"] = std::move(mean_squares);
}

/// Returns SQNRs in decibels, rounded to a thousandth, by format, scale and tensor.
PageJson sqnr_columns(const TensorPointers& tensors, const ReportOptions& options) {
  PageJson out = PageJson::object();
  for (std::size_t f = 0; f < options.formats.size(); ++f) {
    PageJson by_scale = PageJson::object();
    for (std::size_t s = 0; s < options.scales_log2.size(); ++s) {
      by_scale[std::to_string(options.scales_log2[s])] =
          page_column(tensors, [f, s](const TensorReport* t) {
            const std::optional<double> db = t->formats[f].sqnr_db[s];
            return db ? PageJson(std::round(1000 * *db) / 1000) : PageJson(nullptr);
          });
    }
    out[std::string(options.formats[f].name)] = by_scale;
  }
  return out;
}

PageJson table_of(const TensorPointers& tensors, const ReportOptions& options) {
  const auto column = [&tensors](const auto& entry) { return page_column(tensors, entry); };
  const auto count = [&](std::uint64_t RangeSummary::*which) {
    return column([which](const TensorReport* t) { return t->summary.*which; });
  };
  const auto magnitude = [&](Placed RangeSummary::*which) {
    return column([which](const TensorReport* t) {
      const Placed& x = t->summary.*which;
      return x.significand == 0 ? PageJson(nullptr) : PageJson(value_of(x));
    });
  };
  PageJson out{{"name", column([](const TensorReport* t) { return t->name; })},
               {"file", column([](const TensorReport* t) { return t->file; })},
               {"role", column([](const TensorReport* t) {
                  return t->role ? PageJson(tensor_role_name(*t->role)) : PageJson(nullptr);
                })},
               {"dtype", column([](const TensorReport* t) { return t->dtype; })},
               {"shape", column([](const TensorReport* t) { return page_maybe(t->shape); })},
               {"status", column([](const TensorReport* t) { return t->status; })},
               {"values", count(&RangeSummary::values)},
               {"zeros", count(&RangeSummary::zeros)},
               {"nan", count(&RangeSummary::nan)},
               {"inf", count(&RangeSummary::inf)},
               {"min", magnitude(&RangeSummary::smallest)},
               {"max", magnitude(&RangeSummary::largest)},
               {"tie", column([](const TensorReport* t) { return page_maybe(t->tie); })},
               {"advice_format", column([](const TensorReport* t) {
                  return t->advice_format.empty() ? PageJson(nullptr) : PageJson(t->advice_format);
                })},
               {"advice", column([](const TensorReport* t) { return t->advice; })},
               {"sqnr_db", sqnr_columns(tensors, options)}};
  add_binades(out, tensors);
  return out;
}

/// Appends planes of series × steps to a string of bytes.
class Planes {
 public:
  Planes(std::string& bytes, std::size_t series, std::size_t steps)
      : bytes_(bytes), series_(series), steps_(steps) {}

  /// Appends the plane of code(series, step) and returns the offset at which it begins.
  template <class Code>
  std::size_t add(const Code& code) {
    const std::size_t at = bytes_.size();
    for (std::size_t s = 0; s < series_; ++s) {
      std::uint8_t before = 0;
      for (std::size_t t = 0; t < steps_; ++t) {
        const std::uint8_t now = code(s, t);
        bytes_ += static_cast<char>(static_cast<std::uint8_t>(now - before));
        before = now;
      }
    }
    return at;
  }

  /// Appends the two planes of number(series, step), an optional integer from -32767 to 32767, and
  /// returns where they begin.
  template <class Number>
  std::size_t add_numbers(const Number& number) {
    const auto part = [&number](int shift) {
      return [&number, shift](std::size_t s, std::size_t t) {
        const std::optional<std::int16_t> x = number(s, t);
        return static_cast<std::uint8_t>(x ? (*x + 32768) >> shift : 0);
      };
    };
    const std::size_t at = add(part(8));
    add(part(0));
    return at;
  }

 private:
  std::string& bytes_;
  std::size_t series_, steps_;
};

/// Returns for each series the point of each step of the run; null where the series has none.
template <class Series>
auto points_by_step(const Series& all, const std::vector<std::uint64_t>& steps) {
  using Point = std::remove_reference_t<decltype(all.front().points.front())>;
  std::vector<std::vector<const Point*>> out;
  for (const auto& series : all) {
    std::vector<const Point*>& points = out.emplace_back(steps.size(), nullptr);
    for (const auto& point : series.points) {
      const auto at = std::ranges::lower_bound(steps, point.step);
      points[static_cast<std::size_t>(at - steps.begin())] = &point;
    }
  }
  return out;
}

PageJson series_planes(const TimeReport& time, const ReportOptions& options, std::string& bytes) {
  const auto points = points_by_step(time.series, time.steps);
  Planes planes(bytes, points.size(), time.steps.size());
  const auto share = [&](const auto& code) {
    return planes.add([&](std::size_t s, std::size_t t) {
      return points[s][t] == nullptr ? none_code : code(*points[s][t]);
    });
  };
  const auto number = [&](std::optional<std::int16_t> TimePoint::*which) {
    return planes.add_numbers([&](std::size_t s, std::size_t t) {
      return points[s][t] == nullptr ? std::nullopt : points[s][t]->*which;
    });
  };
  PageJson out{
      {"nonzero", share([](const TimePoint& p) { return share_code(p.nonzero(), p.values); })},
      {"odd", share([](const TimePoint& p) { return share_code(p.nan + p.inf, p.values); })},
      {"min_binade", number(&TimePoint::min_binade)},
      {"max_binade", number(&TimePoint::max_binade)},
      {"s_min", number(&TimePoint::s_min_log2)},
      {"s_max", number(&TimePoint::s_max_log2)}};
  constexpr std::array<std::pair<const char*, std::uint64_t FormatFigures::*>, 3> counts{
      {{"to_zero", &FormatFigures::to_zero},
       {"subnormal", &FormatFigures::subnormal},
       {"overflow", &FormatFigures::overflow}}};
  for (std::size_t f = 0; f < options.formats.size(); ++f) {
    const std::string name(options.formats[f].name);
    for (const auto& [figure, which] : counts) {
      out[figure][name] = share([f, which = which](const TimePoint& p) {
        return share_code(p.formats[f].*which, p.nonzero());
      });
    }
    out["lost_l2"][name] = share([f](const TimePoint& p) {
      const std::optional<double> lost = p.lost_l2(f);
      return lost ? share_code(*lost) : none_code;
    });
  }
  return out;
}

PageJson update_planes(const TimeReport& time, std::string& bytes) {
  const auto points = points_by_step(time.updates, time.steps);
  Planes planes(bytes, points.size(), time.steps.size());
  const auto share = [&](const auto& count) {
    return planes.add([&](std::size_t s, std::size_t t) {
      const UpdatePoint* point = points[s][t];
      return point == nullptr ? none_code : share_code(count(point->counts), point->counts.updates);
    });
  };
  PageJson out{{"below_2_11", share([](const UpdateCounts& c) { return c.below_2_11; })}};
  for (std::size_t f = 0; f < weight_formats.size(); ++f) {
    out[std::string(weight_formats[f].name)] =
        share([f](const UpdateCounts& c) { return c.kept_in[f].lost; });
  }
  const auto any_held = [](const UpdateSeries& series) {
    return std::ranges::any_of(series.points,
                               [](const UpdatePoint& p) { return p.counts.held.any(); });
  };
  if (std::ranges::none_of(time.updates, any_held)) return out;
  const auto held = [&](std::uint64_t HeldUpdates::*lost, std::uint64_t HeldUpdates::*of) {
    return planes.add([&](std::size_t s, std::size_t t) {
      const UpdatePoint* point = points[s][t];
      const bool any = point != nullptr && point->counts.held.*of != 0;
      return any ? share_code(point->counts.held.*lost, point->counts.held.*of) : none_code;
    });
  };
  out["unmoved"] = held(&HeldUpdates::lost, &HeldUpdates::asked);
  out["decay"] = held(&HeldUpdates::decay_lost, &HeldUpdates::decay_asked);
  return out;
}

/// The indices of layers in their order; -1 for all layers together.
class LayerNumbers {
 public:
  explicit LayerNumbers(const std::vector<std::string>& layers) {
    for (const std::string& layer : layers) {
      number_.emplace(layer, static_cast<int>(number_.size()));
    }
  }
  int of(const std::optional<std::string>& layer) const { return layer ? number_.at(*layer) : -1; }

 private:
  std::map<std::string, int> number_;
};

/// Returns a step's scale with the series that set its ends, and in `formats` what differs by
/// format.
PageJson step_scale(const StepScale& at, const std::vector<TensorRow>& of_tensors) {
  const auto series = [&of_tensors](std::optional<std::size_t> place) {
    return place ? page_maybe(of_tensors[*place].series) : PageJson(nullptr);
  };
  PageJson out{{"step", at.step}};
  out["formats"] = page_column(at.in_formats, &scale_json);
  out["used_log2"] = at.used ? PageJson(std::log2(*at.used)) : PageJson(nullptr);
  out["binding_max"] = series(at.scale.place_max);
  out["binding_min"] = series(at.scale.place_min);
  return out;
}

PageJson time_page_data(const Report& report, std::string& bytes) {
  const TimeReport& time = *report.time;
  const ReportOptions& options = report.options;
  const LayerNumbers layers(time.layers);
  TensorPointers run, last;
  for (const TimeSeries& series : time.series) {
    run.push_back(&series.run);
    last.push_back(&series.last);
  }
  const auto layer_of = [&layers](const auto& of) {
    return page_column(of, [&layers](const auto& series) { return layers.of(series.layer); });
  };
  return {
      {"steps", time.steps},
      {"layers", time.layers},
      {"layer", layer_of(time.series)},
      {"planes", series_planes(time, options, bytes)},
      {"loss_scale", page_column(time.loss_scales,
                                 [&](const StepScale& at) { return step_scale(at, report.rows); })},
      {"update_layer", layer_of(time.updates)},
      {"update_planes", update_planes(time, bytes)},
      {"run", table_of(run, options)},
      {"last", table_of(last, options)}};
}

/// Returns the report of all values, that of the gradients if names say which they are, and that of
/// each role.
TensorPointers groups_of(const Report& report) {
  TensorPointers out{&report.total};
  if (report.gradients) out.push_back(&*report.gradients);
  for (const RoleReport& role : report.roles) out.push_back(&role.all);
  return out;
}

/// Returns a tensor's row in the tables of the page. For a run these are the series of layers, then
/// the tensors of no step.
PageJson row_of_tables(const Report& report, std::optional<std::size_t> place) {
  if (!place) return nullptr;
  const auto of_layers =
      report.time ? std::ranges::count_if(report.time->series,
                                          [](auto& series) { return series.layer.has_value(); })
                  : 0;
  const auto all_layers =
      report.time ? static_cast<std::ptrdiff_t>(report.time->series.size()) - of_layers : 0;
  if (const auto& series = report.rows[*place].series) {
    return static_cast<std::ptrdiff_t>(*series) - all_layers;
  }
  const auto first = report.rows.begin();
  return of_layers + std::count_if(first, first + static_cast<std::ptrdiff_t>(*place),
                                   [](const TensorRow& row) { return !row.series; });
}

}  // namespace

std::uint8_t share_code(double share) {
  if (share <= 0) return 0;
  if (share >= 1) return all_code;
  const long code = std::lround(all_code * std::sqrt(std::sqrt(share)));
  return static_cast<std::uint8_t>(std::clamp(code, 1L, all_code - 1L));
}

std::uint8_t share_code(std::uint64_t count, std::uint64_t whole) {
  if (whole == 0) return none_code;
  if (count == whole) return all_code;
  return std::min<std::uint8_t>(share_code(static_cast<double>(count) / static_cast<double>(whole)),
                                all_code - 1);
}

std::string page_data(const Report& report) {
  std::string bytes;
  TensorPointers tensors;
  for (const TensorReport& tensor : report.tensors) tensors.push_back(&tensor);
  PageJson data = report_head_json(report);
  data["hint"] = all_hints(report);
  data["watched"] = nullptr;
  if (report.watched) {
    data["watched"] = watched_json(*report.watched);
    data["watched"]["words"] = watched_words(*report.watched);
  }
  data["verdict"] = verdict_json(report.verdict, report.options, report.watched.has_value());
  data["loss_scales"] = page_column(report.loss_scales, [&report](const LossScale& scale) {
    PageJson out = joint_scale_json(scale);
    out["row_of_max"] = row_of_tables(report, scale.place_max);
    out["row_of_min"] = row_of_tables(report, scale.place_min);
    return out;
  });
  data["passed_over"] = report.gradients ? PageJson(report.passed_over) : PageJson(nullptr);
  data["tensor_count"] = report.rows.size();
  data["scaled_count"] = report.scaled_tensors;
  data["role_counts"] =
      page_column(report.roles, [](const RoleReport& role) { return role.tensors; });
  data["groups"] = table_of(groups_of(report), report.options);
  data["tensors"] = table_of(tensors, report.options);
  data["time"] = report.time ? time_page_data(report, bytes) : PageJson(nullptr);
  return data.dump(-1, ' ', false, PageJson::error_handler_t::replace) + "\n" + bytes;
}

}  // namespace binade
