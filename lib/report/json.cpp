// SPDX-License-Identifier: Apache-2.0
//
// Turns the struct into JSON. Shares and losses are doubles in shortest round-trip form, so equal
// reports are equal texts.
#include "lib/report/json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/report/figure_table.h"
#include "lib/report/time_json.h"
#include "lib/text/json_text.h"
#include "lib/version.h"

namespace binade {
namespace {

using Json = nlohmann::ordered_json;

Json integer(std::uint64_t value) { return integer_json(value); }

Json integer(uint128 value) {
  if (value > uint128{1} << 53) return to_decimal(value);
  return static_cast<std::uint64_t>(value);
}

template <class T>
Json maybe(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json name_or_null(const std::string& name) { return name.empty() ? Json(nullptr) : Json(name); }

Json share_json(const Share& s) {
  return {{"count", integer(s.count)}, {"of_values", s.of_values}, {"of_nonzero", s.of_nonzero}};
}

/// Returns a sum as integer·2^exponent, where zero limbs at the low end are dropped.
Json exact_json(const ExactSum& sum) {
  std::size_t low = 0;
  while (low + 1 < ExactSum::size && sum.limbs[low] == 0) ++low;
  const std::span<const std::uint64_t> limbs(sum.limbs);
  return {{"integer", to_decimal(limbs.subspan(low))},
          {"exponent", sum.is_zero() ? 0 : ExactSum::unit_exponent + 64 * static_cast<int>(low)}};
}

/// Returns an object with room for `keys` keys. An ordered object that must grow copies all that it
/// holds.
Json object_with_room(std::size_t keys) {
  Json out = Json::object();
  out.get_ref<Json::object_t&>().reserve(keys);
  return out;
}

template <class Numbers>
Json integers(const Numbers& numbers) {
  Json out = Json::array();
  out.get_ref<Json::array_t&>().reserve(numbers.size());
  for (const auto x : numbers) out.push_back(integer(x));
  return out;
}

Json binades_json(const RangeSummary& summary) {
  Json out = Json::array();
  out.get_ref<Json::array_t&>().reserve(summary.binades.size());
  for (const auto& [exponent, row] : summary.binades) {
    Json one = object_with_room(4);
    one["exponent"] = exponent;
    one["count"] = integers(row.count);
    one["sum"] = integers(row.sum);
    one["sum_of_squares"] = to_decimal(row.squares.limbs);
    out.push_back(std::move(one));
  }
  return out;
}

/// Returns an object with a member for each scale, by its exponent of two.
template <class Values, class ToJson>
Json by_scale(const Values& values, const ReportOptions& options, const ToJson& to_json) {
  Json out = Json::object();
  for (std::size_t i = 0; i < values.size(); ++i) {
    out[std::to_string(options.scales_log2[i])] = to_json(values[i]);
  }
  return out;
}

/// Writes figures of each kind.
struct FigureJson {
  const ReportOptions& options;
  Json operator()(const Share& share) const { return share_json(share); }
  Json operator()(const std::optional<double>& part) const { return maybe(part); }
  Json operator()(const std::optional<int>& binades) const { return maybe(binades); }
  Json operator()(const std::vector<std::optional<double>>& ratios) const {
    return by_scale(ratios, options, maybe<double>);
  }
  Json operator()(const std::vector<ExactSum>& sums) const {
    return by_scale(sums, options, exact_json);
  }
};

Json format_json(const FormatReport& f, const RangeSummary& summary, const ReportOptions& options) {
  Json out = object_with_room(figure_rows().size());
  for (const FigureRow& row : figure_rows()) {
    if (!has_figure(row, f.name)) continue;
    out[row.key] = std::visit(FigureJson{options}, row.value({f, summary, options}));
  }
  return out;
}

/// Returns the JSON of one tensor, or of several that are merged.
Json values_json(const TensorReport& t, const ReportOptions& options) {
  const RangeSummary& s = t.summary;
  const bool any = s.nonzero() > 0;
  Json by_format = object_with_room(t.formats.size());
  for (const FormatReport& f : t.formats) by_format[f.name] = format_json(f, s, options);
  Json out = object_with_room(20);
  out["name"] = t.name;
  out["file"] = t.file;
  out["role"] = t.role ? Json(tensor_role_name(*t.role)) : Json(nullptr);
  out["dtype"] = t.dtype;
  out["shape"] = t.shape ? Json(*t.shape) : Json::array();
  out["status"] = t.status;
  out["values"] = integer(s.values);
  out["zeros"] = integer(s.zeros);
  out["nan"] = integer(s.nan);
  out["inf"] = integer(s.inf);
  out["negative"] = integer(s.negative);
  out["nonzero"] = integer(s.nonzero());
  out["min"] = any ? Json(value_of(s.smallest)) : Json(nullptr);
  out["max"] = any ? Json(value_of(s.largest)) : Json(nullptr);
  out["binades"] = binades_json(s);
  out["formats"] = std::move(by_format);
  out["loss_scale"] = scale_json(t.loss_scale);
  out["advice"] = {
      {"format", name_or_null(t.advice_format)},
      {"s_min_log2", t.advice_interval ? Json(t.advice_interval->min_log2) : Json(nullptr)},
      {"s_max_log2", t.advice_interval ? Json(t.advice_interval->max_log2) : Json(nullptr)},
      {"text", t.advice}};
  return out;
}

Json format_row(const NamedFormat& row) {
  const Format& f = row.format;
  const Cuts cuts = cuts_of(f);
  return {{"name", row.name},
          {"precision", f.precision},
          {"emin", f.emin()},
          {"emax", f.emax()},
          {"max", value_of<double>(max_bits(f, false), f)},
          {"min_normal", std::ldexp(1.0, f.emin())},
          {"min_subnormal", value_of<double>(min_bits(f, false), f)},
          {"normal_segment", cuts.normal},
          {"overflow_segment", cuts.overflow},
          {"overflow_to", f.has_infinity() ? "infinity" : "nan"}};
}

Json cost_json(const TensorCost& cost) {
  return {{"lost_l2", cost.lost_l2},
          {"to_zero", cost.to_zero},
          {"sqnr_db", std::isinf(cost.sqnr_db) ? Json(nullptr) : Json(cost.sqnr_db)},
          {"sqnr_estimated", cost.estimated},
          {"overflows", cost.overflows}};
}

Json format_verdict_json(const FormatVerdict& of) {
  constexpr std::array scales{"1", "loss scale", "own"};
  Json held = Json::array();
  for (const HeldBy& by : of.held_by) {
    held.push_back({{"name", by.name}, {"cost", by.cost ? cost_json(*by.cost) : Json(nullptr)}});
  }
  return {{"format", of.name},
          {"scale", scales[static_cast<std::size_t>(of.scaled_by)]},
          {"scale_log2", of.scale_log2 ? Json(*of.scale_log2) : Json(nullptr)},
          {"failing", of.failing},
          {"held_by", std::move(held)},
          {"worst", of.cost ? cost_json(*of.cost) : Json(nullptr)}};
}

}  // namespace

Json verdict_json(const NarrowestFormats& verdict, const ReportOptions& options, bool watched) {
  Json roles = Json::array();
  for (const RoleVerdict& role : verdict.roles) {
    Json by_format = Json::array();
    for (const FormatVerdict& of : role.formats) by_format.push_back(format_verdict_json(of));
    roles.push_back({{"role", role.role},
                     {"format", role.format.empty() ? Json(nullptr) : Json(role.format)},
                     {"tensors", role.tensors},
                     {"negligible", role.negligible},
                     {"not_finite", role.not_finite},
                     {"target_sqnr_db", role.target_sqnr},
                     {"formats", std::move(by_format)}});
  }
  return {{"text", verdict_sentences(verdict, options, watched)}, {"roles", std::move(roles)}};
}

Json options_json(const ReportOptions& options) {
  Json names = Json::array();
  for (const NamedFormat& row : options.formats) names.push_back(row.name);
  return {{"headroom", options.headroom},
          {"target_loss", options.target_loss},
          {"target_sqnr_db", options.target_sqnr},
          {"target_weight_sqnr_db", options.target_weight_sqnr},
          {"prefer", scale_choice_names[static_cast<std::size_t>(options.prefer)]},
          {"formats", names},
          {"scales_log2", options.scales_log2}};
}

Json integer_json(std::uint64_t value) {
  if (value > std::uint64_t{1} << 53) return std::to_string(value);
  return value;
}

Json scale_json(const LossScale& s) {
  return {{"format", s.format},
          {"status", s.status},
          {"s_min_log2", s.interval ? Json(s.interval->min_log2) : Json(nullptr)},
          {"s_max_log2", s.interval ? Json(s.interval->max_log2) : Json(nullptr)},
          {"recommended_log2", maybe(s.recommended_log2)},
          {"lost_l2_at_recommended", maybe(s.lost_l2)},
          {"free_binades", maybe(s.free_binades)},
          {"reason", s.reason}};
}

Json joint_scale_json(const LossScale& s) {
  Json scale = scale_json(s);
  scale["binding_max"] = name_or_null(s.binding_max);
  scale["binding_min"] = name_or_null(s.binding_min);
  scale["basis"] = name_or_null(s.basis);
  scale["own_scales"] = has_own_scales(find_format(s.format).value_or(binary16));
  scale["tensors_served"] = s.served;
  scale["tensors"] = s.scaled;
  scale["negligible"] = s.negligible.tensors;
  scale["first_negligible"] = name_or_null(s.negligible.first);
  scale["at_floor"] = s.at_floor.tensors;
  scale["first_at_floor"] = name_or_null(s.at_floor.first);
  scale["over_run"] = nullptr;
  if (s.over_run) {
    scale["over_run"] = {{"steps", s.over_run->steps},
                         {"nearest", s.over_run->nearest},
                         {"usual_free_binades", s.over_run->usual}};
  }
  return scale;
}

Json tensor_json(const TensorReport& tensor, const ReportOptions& options) {
  Json out = values_json(tensor, options);
  if (tensor.time) out["time"] = tensor_time_json(*tensor.time);
  return out;
}

std::string json_line(const Json& value) { return json_text(value); }

void JsonTensors::add(const Json& tensor) {
  lines_.add((lines_.empty() ? "[\n  " : ",\n  ") + json_line(tensor));
}

void JsonTensors::copy_to(const TextSink& sink) const {
  lines_.copy_to(sink);
  sink(lines_.empty() ? "[]" : "\n ]");
}

namespace {

/// Writes an object key by key.
class JsonMembers {
 public:
  explicit JsonMembers(const TextSink& sink) : sink_(sink) {}

  void begin(const std::string& key) {
    sink_(std::exchange(first_, false) ? "{\n " : ",\n ");
    sink_(Json(key).dump() + ": ");
  }
  /// Writes a key and its value. An array of objects has a line for each of them.
  void add(const std::string& key, const Json& value) {
    begin(key);
    if (!value.is_array() || value.empty() || !value.front().is_object())
      return sink_(json_line(value));
    const char* separator = "[\n  ";
    for (const Json& object : value) {
      sink_(separator + json_line(object));
      separator = ",\n  ";
    }
    sink_("\n ]");
  }
  void end() { sink_("\n}\n"); }

 private:
  const TextSink& sink_;
  bool first_ = true;
};

Json skipped_json(const std::vector<SkippedTensor>& skipped) {
  Json out = Json::array();
  for (const SkippedTensor& t : skipped) {
    out.push_back({{"file", t.file},
                   {"name", t.name},
                   {"dtype", t.dtype},
                   {"shape", t.shape},
                   {"reason", t.reason}});
  }
  return out;
}

Json formats_json(const std::vector<NamedFormat>& formats) {
  Json out = Json::array();
  for (const NamedFormat& row : formats) out.push_back(format_row(row));
  return out;
}

Json roles_json(const Report& report) {
  Json out = Json::array();
  for (const auto& [count, all] : report.roles) {
    out.push_back(values_json(all, report.options));
    out.back()["tensors"] = count;
  }
  return out;
}

}  // namespace

std::string all_hints(const Report& report) {
  if (report.missing_parts.empty()) return report.hint;
  return report.missing_parts + "." + (report.hint.empty() ? "" : " ") + report.hint;
}

Json report_head_json(const Report& report) {
  return {{"schema", report_schema},
          {"binade", version},
          {"options", options_json(report.options)},
          {"files", report.files},
          {"skipped", skipped_json(report.skipped)},
          {"formats", formats_json(report.options.formats)},
          {"segments",
           {"1", "(1, 1.75)", "[1.75, 1.8125]", "(1.8125, 1.875)", "[1.875, 2-2^-7)",
            "[2-2^-7, 2-2^-8)", "[2-2^-8, 2-2^-10)", "[2-2^-10, 2-2^-11)", "[2-2^-11, 2)"}}};
}

void write_json(const Report& report, const JsonTensors& tensors, const TextSink& sink) {
  JsonMembers to(sink);
  const Json head = report_head_json(report);
  for (const auto& [key, value] : head.items()) to.add(key, value);
  to.add("total", values_json(report.total, report.options));
  to.begin("tensors");
  tensors.copy_to(sink);
  to.add("roles", roles_json(report));
  to.add("verdict", verdict_json(report.verdict, report.options, report.watched.has_value()));
  to.add("loss_scale", joint_scale_json(report.loss_scale));
  to.add("hint", name_or_null(all_hints(report)));
  if (report.watched) to.add("watched", watched_json(*report.watched));
  if (report.gradients) {
    Json gradients = values_json(*report.gradients, report.options);
    gradients["passed_over"] = report.passed_over;
    to.add("gradients", gradients);
  }
  if (report.time) {
    to.begin("time");
    write_time_json(*report.time, report.options, sink);
  }
  to.end();
}

}  // namespace binade
