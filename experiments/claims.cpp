// SPDX-License-Identifier: Apache-2.0
//
// Question: which claims that are often made about mixed precision are not true? For each claim the
// project's own arithmetic, lists, loss scalers and trainings measure that it is false as stated,
// and that the correction given instead is true.
#include "experiments/claims.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <vector>

#include "lib/runs/experiment.h"
#include "lib/runs/trainings.h"
#include "lib/text/paragraph.h"

namespace binade {
namespace {

std::vector<Claim> all_claims() {
  std::vector<Claim> out;
  for (const auto& part :
       {claims_of_numbers(), claims_of_autocast(), claims_of_training(), claims_of_resources()}) {
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

std::string status_of(const Measured& measured) {
  if (!measured.fails) return "NO: the claim stands";
  return measured.holds ? "yes" : "NO: the correction fails";
}

nlohmann::ordered_json data_of(const Claim& claim) {
  return {{"claim", claim.id},
          {"said", claim.said},
          {"verdict", claim.verdict},
          {"correct", claim.correct}};
}

Outcome run_claims(const ExperimentInput& input) {
  Outcome out;
  const std::vector<Claim> claims = all_claims();
  std::size_t trainings_in_all = 0;
  for (const Claim& claim : claims) trainings_in_all += claim.trainings;
  Trainings trainings(input, trainings_in_all);
  Table table{"Claims: what is said, and what was measured",
              {"claim", "verdict", "measured", "correction holds"},
              {}};
  std::size_t confirmed = 0, here = 0;
  std::map<std::string_view, std::size_t> by_verdict;
  std::string not_so;
  for (const Claim& claim : claims) {
    input.print(wrapped(fmt::format("{} ({}): {}", claim.said, claim.verdict, claim.correct), 2));
    nlohmann::ordered_json& data = out.data["claims"].emplace_back(data_of(claim));
    if (claim.check == nullptr) {
      data["not_measured"] = claim.not_measured;
      table.rows.push_back({std::string(claim.said), std::string(claim.verdict),
                            std::string(claim.not_measured), "not measured"});
      continue;
    }
    const Measured measured = claim.check({input.quick, trainings});
    data.update({{"claim_fails", measured.fails},
                 {"correction_holds", measured.holds},
                 {"figures", measured.figures}});
    const bool right = measured.fails && measured.holds;
    here += 1;
    confirmed += right ? 1 : 0;
    by_verdict[claim.verdict] += right ? 1 : 0;
    if (!right) not_so += fmt::format("{}{}", not_so.empty() ? "" : ", ", claim.id);
    table.rows.push_back(
        {std::string(claim.said), std::string(claim.verdict), measured.words, status_of(measured)});
  }
  out.tables = {std::move(table)};
  const auto found = [&by_verdict](std::string_view verdict) {
    return static_cast<double>(by_verdict[verdict]);
  };
  out.measured = {{"all", static_cast<double>(claims.size())},
                  {"wrong", found("wrong") + found("wrong for AMP") + found("wrong for FP32")},
                  {"loose", found("loose")},
                  {"partly", found("partly")},
                  {"one_level", found("O2 only")},
                  {"over_general", found("over-general")},
                  {"often_false", found("often false")},
                  {"here", static_cast<double>(here)}};
  out.as_expected = confirmed == here;
  out.verdict = fmt::format(
      "{} of the {} claims that can be measured here are false as stated, and their corrections "
      "hold{}.",
      confirmed, here, not_so.empty() ? "" : "; NOT: " + not_so);
  return out;
}

constexpr std::array<ExpectedFigure, 8> claims_figures{{
    {"all", "claims", "18", 18, 18},
    {"here", "claims measured here", "17", 17, 17},
    {"wrong", "wrong claims whose correction holds", "seven", 7, 7},
    {"loose", "loose claims whose correction holds", "five", 5, 5},
    {"partly", "claims that are right in part", "two", 2, 2},
    {"one_level", "claims that are true of one level only", "one", 1, 1},
    {"over_general", "over-general claims", "one", 1, 1},
    {"often_false", "claims that are often false", "one", 1, 1},
}};

}  // namespace

extern const Experiment claims{
    "claims",
    "Which things that are often said of mixed precision are not so?",
    "Of eighteen things that are often said seventeen were measured, and each is corrected.",
    {"Of {all} claims {here} can be measured without a GPU: {wrong} are wrong, {loose} loose, "
     "{partly} right in part, {one_level} holds for O2 only, {over_general} is over-general, "
     "{often_false} often false. Each is false as stated, and its correction holds.",
     claims_figures},
    &run_claims,
    true};

}  // namespace binade
