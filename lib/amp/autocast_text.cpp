// SPDX-License-Identifier: Apache-2.0
//
// Writes the answers of `binade autocast` as a table and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "lib/amp/autocast_answer.h"
#include "lib/text/error.h"
#include "lib/text/paragraph.h"

namespace binade {
namespace {

using Json = nlohmann::ordered_json;

/// Returns the cell of an outcome: "binary16", "binary32*" (inputs of different formats reach the
/// op) or "refused".
std::string cell_of(const AutocastOutcome& outcome) {
  if (!outcome.runs_in) return "refused";
  return spec_of(*outcome.runs_in) + (outcome.differ ? "*" : "");
}

/// Returns the folder of the files that answers name as their source.
std::string_view folder_of(const AutocastQuestion& q) {
  return q.apex ? "apex/amp/lists/" : "aten/src/ATen/";
}

std::string heading_of(const AutocastQuestion& q) {
  const std::string what =
      q.apex ? "Apex's O1" : fmt::format("Autocast on {}", device_type_name(q.device));
  const std::string whose = q.apex ? "Apex" : fmt::format("PyTorch {}", op_lists_version);
  return fmt::format("{} to {}, by the list of {}, {}\n", what, q.low.name, whose, folder_of(q));
}

/// Returns rows of cells as aligned columns, each after two blanks.
std::string columns_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], columns_of(row[i]));
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += "  " + left_aligned(row[i], widths[i]);
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

std::string answers_text(const AutocastQuestion& q, const std::vector<AutocastAnswer>& answers) {
  std::vector<std::vector<std::string>> rows{{"op", "rule"}};
  for (const AutocastCase& given : q.cases) rows.front().push_back(given.title);
  rows.front().emplace_back("source");
  std::array<bool, static_cast<std::size_t>(CastPolicy::unlisted) + 1> occurs{};
  bool differ = false;
  for (const AutocastAnswer& a : answers) {
    occurs.at(static_cast<std::size_t>(a.rule)) = true;
    rows.push_back({printable(a.op), std::string(cast_policy_name(a.rule))});
    for (const AutocastOutcome& outcome : a.outcomes) {
      rows.back().push_back(cell_of(outcome));
      differ = differ || outcome.differ;
    }
    rows.back().emplace_back(a.source.empty() ? "-" : a.source);
  }
  std::string out = heading_of(q) + columns_text(rows);
  for (std::size_t i = 0; i < occurs.size(); ++i) {
    const auto rule = static_cast<CastPolicy>(i);
    if (!occurs.at(i)) continue;
    out += wrapped(fmt::format("  {}: {}", cast_policy_name(rule), meaning_of(q, rule)), 4);
  }
  if (differ) {
    out += wrapped(
        "  *: inputs of two dtypes reach the op; mul, add and the like promote them to this one, "
        "others refuse them",
        4);
  }
  for (const AutocastAnswer& a : answers) {
    for (const std::string& note : a.notes) out += wrapped("  " + note, 4);
  }
  if (q.apex) return out;
  if (q.low.format != binary16 && q.low.format != bfloat16) {
    out += wrapped(
        fmt::format(
            "  PyTorch's autocast takes float16 and bfloat16 alone: asked for {} it warns and "
            "stays off. This is what its lists would do.",
            q.low.name),
        4);
  }
  return out + wrapped("  Calls in place, with out= or with a dtype of their own are not cast.", 4);
}

std::string list_text(const AutocastQuestion& q) {
  std::string out = heading_of(q);
  for (auto from = q.list.begin(); from != q.list.end();) {
    const auto to = std::find_if(
        from, q.list.end(), [from](const ListedOp& row) { return row.policy != from->policy; });
    out += wrapped(fmt::format("\n{}, {} name{}: {}", cast_policy_name(from->policy), to - from,
                               to - from == 1 ? "" : "s", meaning_of(q, from->policy)),
                   2);
    std::string names = "  ";
    for (; from != to; ++from) names += fmt::format("{}{}", from->name, from + 1 == to ? "" : ", ");
    out += wrapped(names, 2);
  }
  std::string changes;
  for (const OpListChange& change : op_list_changes()) {
    if (q.apex || change.device != q.device) continue;
    changes += fmt::format("{}{} is {}", changes.empty() ? "" : "; ", change.op, change.what);
  }
  out += "\n" + wrapped("unlisted: " + meaning_of(q, CastPolicy::unlisted), 2);
  return out + (changes.empty() ? "" : wrapped("Other versions: " + changes + ".", 2));
}

}  // namespace

std::vector<AutocastAnswer> autocast_answers(const AutocastQuestion& q,
                                             const std::vector<std::string>& ops) {
  std::vector<AutocastAnswer> out;
  for (const std::string& word : ops) out.push_back(autocast_answer(q, word));
  return out;
}

std::string autocast_text(const AutocastQuestion& q, const std::vector<AutocastAnswer>& answers) {
  return answers.empty() ? list_text(q) : answers_text(q, answers);
}

nlohmann::ordered_json autocast_json(const AutocastQuestion& q,
                                     const std::vector<AutocastAnswer>& answers) {
  const auto name_or_null = [](const std::optional<Format>& format) {
    return format ? Json(spec_of(*format)) : Json(nullptr);
  };
  if (answers.empty()) {
    std::vector<std::string> names;
    for (const ListedOp& row : q.list) names.emplace_back(row.name);
    return autocast_json(q, autocast_answers(q, names));
  }
  Json ops = Json::array();
  for (const AutocastAnswer& a : answers) {
    Json cases = Json::array();
    for (std::size_t i = 0; i < q.cases.size(); ++i) {
      Json inputs = Json::array();
      for (const NamedOrCustom& input : q.cases[i].inputs) inputs.push_back(input.name);
      const AutocastOutcome& outcome = a.outcomes[i];
      cases.push_back({{"inputs", inputs},
                       {"cast_to", name_or_null(outcome.cast_to)},
                       {"runs_in", name_or_null(outcome.runs_in)},
                       {"inputs_differ", outcome.differ},
                       {"refused", !outcome.refusal.empty()}});
    }
    ops.push_back({{"op", a.op},
                   {"rule", cast_policy_name(a.rule)},
                   {"means", meaning_of(q, a.rule)},
                   {"source", a.source.empty() ? Json(nullptr)
                                               : Json(fmt::format("{}{}", folder_of(q), a.source))},
                   {"cases", cases},
                   {"notes", a.notes}});
  }
  return {{"schema", "binade.autocast/1"},
          {"list", q.apex ? "apex" : "pytorch"},
          {"version", q.apex ? Json(nullptr) : Json(op_lists_version)},
          {"device", q.apex ? Json(nullptr) : Json(device_type_name(q.device))},
          {"dtype", q.low.name},
          {"ops", ops}};
}

}  // namespace binade
