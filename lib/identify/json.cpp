// SPDX-License-Identifier: Apache-2.0
//
// Writes an identification as JSON for scripts: what the text has, and all of it for every model
// that is printed.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

#include "lib/identify/json.h"
#include "lib/identify/text.h"
#include "lib/identify/together.h"
#include "lib/number/ulp_distance.h"

namespace binade {
namespace {

using Json = nlohmann::ordered_json;

Json core_json(const Core& core) {
  Json out = Json::array();
  for (const CoreName& name : core.names) {
    Json row{{"instruction", name.instruction}, {"architectures", Json::array()}};
    for (const int sm : name.architectures)
      row["architectures"].push_back(fmt::format("sm_{}", sm));
    row["evidence"] = evidence_name(name.evidence);
    row["source"] = name.source;
    out.push_back(row);
  }
  return out;
}

Json candidate_json(const Identification& x, const Candidate& candidate) {
  return {{"order", order_text(candidate.model)},
          {"options", options_of(candidate.model)},
          {"command", "binade gemm " + command_of(x, candidate)},
          {"instructions", core_json(x.core(candidate))}};
}

Json contradiction_json(const Identification& x, const Contradiction& at) {
  const KernelRun& run = x.runs[at.run];
  const int digits = (x.types.d.storage_bits() + 3) / 4;
  Json out{{"run", at.run},
           {"row", run.rows.empty() ? run.row(at.element) : run.rows[run.row(at.element)]},
           {"column", run.dots ? Json(nullptr) : Json(run.column(at.element))},
           {"expected", fmt::format("{:0{}X}", at.expected, digits)},
           {"found", fmt::format("{:0{}X}", at.found, digits)},
           {"ulp_distance", nullptr}};
  if (const auto distance = ulp_distance(at.expected, at.found, x.types.d)) {
    out["ulp_distance"] = *distance;
  }
  return out;
}

Json searched_json(const Searched& x) {
  Json architectures = Json::array();
  for (const int sm : x.architectures) architectures.push_back(fmt::format("sm_{}", sm));
  return {{"architectures", x.architectures.empty() ? Json(nullptr) : architectures},
          {"tensor_cores", x.instructions},
          {"tf32", x.tf32},
          {"gpu", x.gpu},
          {"rounded", x.rounded.has_value()},
          {"rounding", x.rounded ? Json(rounding_name(*x.rounded)) : Json(nullptr)}};
}

Json json_of_run(const KernelRun& run) {
  return {{"name", run.name.empty() ? Json(nullptr) : Json(run.name)},
          {"m", run.m},
          {"n", run.n},
          {"k", run.k},
          {"dots", run.dots},
          {"c", !run.c.empty()},
          {"bias", !run.bias.empty()},
          {"a_scale", !run.a_scale.empty()},
          {"b_scale", !run.b_scale.empty()}};
}

}  // namespace

Json identification_json(const Identification& x, std::size_t show) {
  constexpr std::array<const char*, 4> conclusions{"none", "unique", "several", "open"};
  const SearchResult& r = x.result;
  Json out{{"schema", "binade.identify/1"},
           {"types",
            {{"a", type_name(x.types.a)},
             {"b", type_name(x.types.b)},
             {"c", type_name(x.types.c)},
             {"d", type_name(x.types.d)}}},
           {"runs", Json::array()},
           {"searched", searched_json(x.searched)},
           {"elements", r.elements},
           {"models", r.tried},
           {"conclusion", conclusions[static_cast<std::size_t>(conclusion_of(r))]},
           {"explaining", r.explaining.size()},
           {"explain", Json::array()},
           {"rejected", Json::array()}};
  for (const KernelRun& run : x.runs) out["runs"].push_back(json_of_run(run));
  for (std::size_t i = 0; i < std::min(show, r.explaining.size()); ++i) {
    const Verdict& verdict = r.explaining[i];
    Json row = candidate_json(x, x.candidate(verdict));
    row["compared"] = verdict.compared;
    row["undecided"] = verdict.undecided;
    row["any_nan"] = any_nan_fits(x.candidate(verdict).model);
    row["same"] = Json::array();
    for (const std::size_t other : verdict.same) {
      row["same"].push_back("binade gemm " + command_of(x, x.candidates[other]));
    }
    out["explain"].push_back(row);
  }
  for (const NearModel& near : nearest_of(x)) {
    const Verdict& verdict = *near.verdict;
    Json row = candidate_json(*near.of, near.of->candidate(verdict));
    row["compared"] = verdict.compared;
    row["equal"] = verdict.equal;
    row["first"] = contradiction_json(*near.of, *verdict.first);
    out["rejected"].push_back(row);
  }
  out["hypotheses"] = Json::array();
  for (const KernelHypothesis& one : x.hypotheses.told) {
    out["hypotheses"].push_back({{"words", one.words},
                                 {"equal", one.equal},
                                 {"elements", one.elements},
                                 {"run", one.run ? Json(*one.run) : Json(nullptr)},
                                 {"model", one.model.empty() ? Json(nullptr) : Json(one.model)}});
  }
  out["not_tried"] = not_tried_of(x);
  out["open"] = Json::array();
  for (std::size_t i = 0; i < std::min(show, r.open.size()); ++i) {
    Json row = candidate_json(x, x.candidate(r.open[i]));
    row["compared"] = r.open[i].compared;
    out["open"].push_back(row);
  }
  out["together"] = Json::array();
  const Together all = together(x);
  for (const TogetherPart& part : all.parts) {
    Json row = candidate_json(x, part.candidate);
    row["equal"] = part.equal;
    row["alone"] = part.alone.size();
    row["rows"] = {part.first_row, part.last_row};
    row["columns"] = {part.first_column, part.last_column};
    out["together"].push_back(row);
  }
  out["undecided"] = all.undecided.size();
  return out;
}

Json proposal_json(const Proposal& proposal, const std::string& path) {
  Json out{{"file", path},
           {"models", proposal.models},
           {"pairs", proposal.pairs},
           {"inseparable", Json::array()}};
  for (const auto& [i, j] : proposal.inseparable) out["inseparable"].push_back({i, j});
  return out;
}

}  // namespace binade
