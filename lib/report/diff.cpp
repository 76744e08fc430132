// SPDX-License-Identifier: Apache-2.0
//
// Reports are matched tensor by tensor, by name, and by order among equal names.
#include "lib/report/diff.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "lib/io/input_file.h"
#include "lib/io/tensor_file.h"
#include "lib/report/json.h"
#include "lib/text/error.h"
#include "lib/text/percent.h"

namespace binade {
namespace {

using Json = nlohmann::ordered_json;
using Key = std::pair<std::string, int>;

/// A number of a tensor that is compared: its label, its place in the tensor's JSON, and whether it
/// is a share.
struct Row {
  const char* label;
  const char* pointer;
  bool is_share;
};

constexpr std::array<Row, 10> rows{{
    {"values", "/values", false},
    {"zeros", "/zeros", false},
    {"NaN", "/nan", false},
    {"Inf", "/inf", false},
    {"smallest |x|", "/min", false},
    {"largest |x|", "/max", false},
    {"to zero in binary16, of non-zero", "/formats/binary16/to_zero/of_nonzero", true},
    {"subnormal in binary16, of non-zero", "/formats/binary16/subnormal/of_nonzero", true},
    {"overflow in binary16, of non-zero", "/formats/binary16/overflow/of_nonzero", true},
    {"lost l2 in binary16", "/formats/binary16/lost_l2", true},
}};

const Json& at(const Json& json, const char* pointer) {
  static const Json nothing;
  const Json::json_pointer where(pointer);
  return json.contains(where) ? json.at(where) : nothing;
}

std::string shown(const Json& value, bool is_share) {
  if (value.is_null()) return "-";
  if (value.is_string()) return printable(value.get<std::string>());
  if (is_share) return percent(value.get<double>());
  return value.is_number_integer() ? std::to_string(value.get<std::int64_t>())
                                   : fmt::format("{:.3g}", value.get<double>());
}

std::string interval(const Json& scale) {
  const Json& low = at(scale, "/s_min_log2");
  const Json& high = at(scale, "/s_max_log2");
  if (!low.is_number() || !high.is_number()) return "-";
  return fmt::format("2^{}..2^{}", low.get<int>(), high.get<int>());
}

std::map<Key, const Json*> by_key(const Json& report) {
  std::map<std::string, int> seen;
  std::map<Key, const Json*> out;
  for (const Json& tensor : report.at("tensors")) {
    const std::string name = tensor.at("name").get<std::string>();
    out[{name, seen[name]++}] = &tensor;
  }
  return out;
}

/// Returns a text such as "what lies in 3 binades, 2^-31 to 2^-5".
std::string different_binades(const Json& a, const Json& b) {
  std::map<int, std::array<const Json*, 2>> by_exponent;
  for (const Json& row : a) by_exponent[row.at("exponent").get<int>()][0] = &row;
  for (const Json& row : b) by_exponent[row.at("exponent").get<int>()][1] = &row;
  std::vector<int> different;
  for (const auto& [exponent, row] : by_exponent) {
    if (row[0] == nullptr || row[1] == nullptr || *row[0] != *row[1]) different.push_back(exponent);
  }
  if (different.empty()) return "the order of binades";
  const bool one = different.size() == 1;
  return fmt::format("what lies in {} binade{}, 2^{}{}", different.size(), one ? "" : "s",
                     different.front(), one ? "" : fmt::format(" to 2^{}", different.back()));
}

/// Returns in what two tensors differ, with every number in full; empty if, as far as a report can
/// say, both hold the same multiset of magnitudes.
std::string differences(const Json& a, const Json& b) {
  constexpr std::array<std::pair<const char*, const char*>, 8> decisive{{{"dtype", "dtype"},
                                                                         {"shape", "shape"},
                                                                         {"values", "values"},
                                                                         {"zeros", "zeros"},
                                                                         {"nan", "NaN"},
                                                                         {"inf", "Inf"},
                                                                         {"min", "smallest |x|"},
                                                                         {"max", "largest |x|"}}};
  std::vector<std::string> out;
  for (const auto& [key, label] : decisive) {
    const Json& x = a.at(key);
    const Json& y = b.at(key);
    if (x != y)
      out.push_back(fmt::format("{} {} -> {}", label, printable(x.dump()), printable(y.dump())));
  }
  if (a.contains("role") && b.contains("role") && a["role"] != b["role"]) {
    out.push_back(
        fmt::format("role {} -> {}", printable(a["role"].dump()), printable(b["role"].dump())));
  }
  if (a.at("binades") != b.at("binades")) {
    out.push_back(different_binades(a.at("binades"), b.at("binades")));
  }
  return fmt::format("{}", fmt::join(out, "; "));
}

/// Returns a text such as "options differ: headroom 1 -> 3"; empty if both reports have the same
/// options.
std::string different_options(const Json& a, const Json& b) {
  const Json& before = at(a, "/options");
  const Json& after = at(b, "/options");
  if (!before.is_object() || !after.is_object()) return "";
  std::vector<std::string> out;
  for (const auto& [key, value] : before.items()) {
    if (!after.contains(key) || after[key] == value) continue;
    out.push_back(
        fmt::format("{} {} -> {}", key, printable(value.dump()), printable(after[key].dump())));
  }
  return out.empty() ? "" : fmt::format("options differ: {}\n", fmt::join(out, "; "));
}

double loss(const Json& tensor) {
  const Json& value = at(tensor, "/formats/binary16/lost_l2");
  return value.is_number() ? value.get<double>() : 0;
}

Json report_on_run(const std::string& path) {
  const ReportInputs inputs = open_inputs({path}, {});
  JsonTensors lines;
  const Report report = read_report(inputs, {}, nullptr, [&](const TensorReport& tensor) {
    lines.add(tensor_json(tensor, inputs.options));
  });
  std::string text;
  write_json(report, lines, [&text](std::string_view piece) { text += piece; });
  return Json::parse(text);
}

std::string only(const char* side, const std::set<std::string>& names) {
  std::string out;
  for (const std::string& name : names)
    out += fmt::format("  only {}: {}\n", side, printable(name));
  return out;
}

}  // namespace

nlohmann::ordered_json load_report(const std::string& path) {
  if (is_run_file(path)) return report_on_run(path);
  constexpr std::uint64_t most_bytes_of_report = std::uint64_t{4} << 30;
  Json json =
      Json::parse(read_text(path, most_bytes_of_report, "give a report's JSON"), nullptr, false);
  const bool ours = json.is_object() && json.contains("schema") &&
                    (json["schema"] == report_schema || json["schema"] == "binade.range_report/1" ||
                     json["schema"] == "binade.range_report/2") &&
                    json.contains("total") && json.contains("tensors") &&
                    json["tensors"].is_array() && json.contains("loss_scale");
  if (!ours) {
    throw error_in(input_name(path), fmt::format("not a report of schema {}", report_schema),
                   "write one with binade report FILE --json OUT.json");
  }
  return json;
}

ReportDiff diff_reports(const Json& a, const Json& b) try {
  ReportDiff out;
  out.text = fmt::format("{:<36}{:>16}{:>16}\n", "all tensors", "before", "after");
  for (const Row& row : rows) {
    out.text += fmt::format("  {:<34}{:>16}{:>16}\n", row.label,
                            shown(at(a["total"], row.pointer), row.is_share),
                            shown(at(b["total"], row.pointer), row.is_share));
  }
  const bool gradients = a.contains("gradients") && b.contains("gradients");
  out.text += fmt::format(
      "  {:<34}{:>16}{:>16}\n",
      gradients ? "loss scales that serve all gradients" : "loss scales that serve every tensor",
      interval(a["loss_scale"]), interval(b["loss_scale"]));
  const auto before = by_key(a);
  const auto after = by_key(b);
  struct Changed {
    const Json *before, *after;
    std::string how;
  };
  std::vector<Changed> changed;
  std::set<std::string> only_before, only_after;
  for (const auto& [key, tensor] : before) {
    const auto other = after.find(key);
    if (other == after.end()) {
      only_before.insert(key.first);
    } else if (std::string how = differences(*tensor, *other->second); !how.empty()) {
      changed.push_back({tensor, other->second, std::move(how)});
    }
  }
  for (const auto& [key, tensor] : after) {
    if (!before.contains(key)) only_after.insert(key.first);
  }
  const auto change = [](const Changed& x) { return std::abs(loss(*x.before) - loss(*x.after)); };
  std::ranges::stable_sort(changed, std::greater{}, change);
  const std::string options = different_options(a, b);
  const bool other_scales = interval(a["loss_scale"]) != interval(b["loss_scale"]);
  out.different = !changed.empty() || !only_before.empty() || !only_after.empty() ||
                  !options.empty() || other_scales;
  out.text += options;
  out.text += fmt::format("\n{} tensors in both, {} of them differ\n",
                          before.size() - only_before.size(), changed.size());
  for (const auto& [x, y, how] : changed) {
    out.text +=
        fmt::format("  {}\n    to zero {} -> {}   lost l2 {} -> {}   loss scale {} -> {}\n    {}\n",
                    printable((*x)["name"].get<std::string>()),
                    shown(at(*x, rows[6].pointer), true), shown(at(*y, rows[6].pointer), true),
                    shown(at(*x, rows[9].pointer), true), shown(at(*y, rows[9].pointer), true),
                    interval((*x)["loss_scale"]), interval((*y)["loss_scale"]), how);
  }
  out.text += only("before", only_before) + only("after", only_after);
  return out;
} catch (const Json::exception&) {
  throw Error("a report lacks what its schema promises; write it again");
}

}  // namespace binade
