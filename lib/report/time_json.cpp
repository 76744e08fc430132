// SPDX-License-Identifier: Apache-2.0
//
// Columns are stored instead of points, because plots over time read columns and names need not be
// repeated. Counts are numbers of values; "nonzero" and "values" are their denominators.
#include "lib/report/time_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "lib/report/json.h"

namespace binade {
namespace {

using Json = nlohmann::ordered_json;

Json layer_json(const std::optional<std::string>& layer) {
  return layer ? Json(*layer) : Json(nullptr);
}

/// Returns one entry per point.
template <class Points, class Entry>
Json column(const Points& points, const Entry& entry) {
  Json out = Json::array();
  for (const auto& point : points) out.push_back(entry(point));
  return out;
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json format_columns(const std::vector<TimePoint>& points, std::size_t f) {
  const auto counts = [&](std::uint64_t FormatFigures::*which) {
    return column(points, [=](const TimePoint& p) { return integer_json(p.formats[f].*which); });
  };
  return {{"to_zero", counts(&FormatFigures::to_zero)},
          {"subnormal", counts(&FormatFigures::subnormal)},
          {"overflow", counts(&FormatFigures::overflow)},
          {"lost_l2", column(points, [=](const TimePoint& p) { return or_null(p.lost_l2(f)); })}};
}

Json series_json(const TimeSeries& series, const ReportOptions& options) {
  const std::vector<TimePoint>& points = series.points;
  const auto counts = [&points](std::uint64_t TimePoint::*which) {
    return column(points, [=](const TimePoint& p) { return integer_json(p.*which); });
  };
  Json out{
      {"layer", layer_json(series.layer)},
      {"role", tensor_role_name(series.role)},
      {"step", column(points, [](const TimePoint& p) { return Json(p.step); })},
      {"values", counts(&TimePoint::values)},
      {"zeros", counts(&TimePoint::zeros)},
      {"nan", counts(&TimePoint::nan)},
      {"inf", counts(&TimePoint::inf)},
      {"nonzero", column(points, [](const TimePoint& p) { return integer_json(p.nonzero()); })},
      {"min_binade", column(points, [](const TimePoint& p) { return or_null(p.min_binade); })},
      {"max_binade", column(points, [](const TimePoint& p) { return or_null(p.max_binade); })}};
  Json formats = Json::object();
  for (std::size_t f = 0; f < options.formats.size(); ++f) {
    if (options.formats[f].format == binary16) {
      out["band_27_24"] = counts(&TimePoint::band_27_24);
      out["rne_zero"] =
          column(points, [f](const TimePoint& p) { return integer_json(p.formats[f].to_zero); });
    }
    formats[std::string(options.formats[f].name)] = format_columns(points, f);
  }
  out["formats"] = formats;
  return out;
}

Json step_scale_json(const StepScale& at) {
  Json out{{"step", at.step}};
  out.update(scale_json(at.scale));
  const auto name = [](const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
  };
  out["binding_max"] = name(at.scale.binding_max);
  out["binding_min"] = name(at.scale.binding_min);
  if (at.used) out["used"] = *at.used;
  return out;
}

Json held_json(const std::vector<UpdatePoint>& points) {
  const auto counts = [&points](std::uint64_t HeldUpdates::*which) {
    return column(points, [=](const UpdatePoint& p) { return integer_json(p.counts.held.*which); });
  };
  return {{"asked", counts(&HeldUpdates::asked)},
          {"lost", counts(&HeldUpdates::lost)},
          {"unknown", counts(&HeldUpdates::unknown)},
          {"median_log2_of_ulp", column(points,
                                        [](const UpdatePoint& p) {
                                          return or_null(p.counts.held.median_log2_of_ulp());
                                        })},
          {"decay_asked", counts(&HeldUpdates::decay_asked)},
          {"decay_lost", counts(&HeldUpdates::decay_lost)},
          {"idle", counts(&HeldUpdates::idle)}};
}

Json update_json(const UpdateSeries& series) {
  const std::vector<UpdatePoint>& points = series.points;
  const auto counts = [&points](std::uint64_t UpdateCounts::*which) {
    return column(points, [=](const UpdatePoint& p) { return integer_json(p.counts.*which); });
  };
  Json formats = Json::object();
  for (std::size_t f = 0; f < weight_formats.size(); ++f) {
    const auto of_format = [&](std::uint64_t LostUpdates::*which) {
      return column(points,
                    [=](const UpdatePoint& p) { return integer_json(p.counts.kept_in[f].*which); });
    };
    formats[std::string(weight_formats[f].name)] = {
        {"lost", of_format(&LostUpdates::lost)},
        {"overflow", of_format(&LostUpdates::overflow)},
        {"lost_l2", column(points, [f](const UpdatePoint& p) { return lost_l2(p.counts, f); })}};
  }
  Json out{{"layer", layer_json(series.layer)},
           {"step", column(points, [](const UpdatePoint& p) { return Json(p.step); })},
           {"values", counts(&UpdateCounts::values)},
           {"updates", counts(&UpdateCounts::updates)},
           {"below_2_11", counts(&UpdateCounts::below_2_11)},
           {"formats", formats}};
  const auto is_held = [](const UpdatePoint& p) { return p.counts.held.any(); };
  if (std::ranges::any_of(points, is_held)) out["held"] = held_json(points);
  return out;
}

}  // namespace

Json tensor_time_json(const TensorTime& time) {
  return {{"step", time.step}, {"layer", time.layer}, {"role", tensor_role_name(time.role)}};
}

void write_time_json(const TimeReport& time, const ReportOptions& options, const TextSink& sink) {
  const auto add_all = [&sink](const char* key, const auto& rows, const auto& to_json) {
    sink(std::string(",\"") + key + "\":[");
    const char* separator = "";
    for (const auto& row : rows) sink(std::exchange(separator, ",") + json_line(to_json(row)));
    sink("]");
  };
  sink("{\"steps\":" + json_line(time.steps) + ",\"layers\":" + json_line(time.layers));
  add_all("series", time.series,
          [&options](const TimeSeries& series) { return series_json(series, options); });
  add_all("loss_scale", time.loss_scales, &step_scale_json);
  add_all("updates", time.updates, &update_json);
  add_all("unpaired", time.unpaired, [](const UnpairedUpdate& update) {
    return Json{{"name", update.name}, {"reason", update.reason}};
  });
  sink("}");
}

}  // namespace binade
