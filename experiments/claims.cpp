// SPDX-License-Identifier: Apache-2.0
//
// Question: which things that are often said of mixed precision are not so? Each claim is measured with the
// project's own arithmetic, lists, scalers and trainings: that it fails, and that what is said instead holds.
#include "experiments/claims.h"

#include <fmt/format.h>

#include <vector>

#include "experiments/experiments.h"
#include "lib/report/paragraph.h"
#include "lib/study/trainings.h"

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

std::string status_of(const Claim& claim, const Measured& measured) {
  if (!measured.fails) return "NO: the claim stands";
  if (!measured.holds) return "NO: the correction fails";
  return claim.not_measured.empty() ? "yes" : "yes, in part";
}

nlohmann::ordered_json data_of(const Claim& claim, const Measured& measured) {
  nlohmann::ordered_json out{{"claim", claim.id},
                             {"said", claim.said},
                             {"verdict", claim.verdict},
                             {"correct", claim.correct},
                             {"claim_fails", measured.fails},
                             {"correction_holds", measured.holds},
                             {"figures", measured.figures}};
  if (!claim.not_measured.empty()) out["not_measured"] = claim.not_measured;
  return out;
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
  std::size_t confirmed = 0;
  std::string not_so;
  for (const Claim& claim : claims) {
    const Measured measured = claim.check({input.quick, trainings});
    const bool right = measured.fails && measured.holds;
    confirmed += right ? 1 : 0;
    if (!right) not_so += fmt::format("{}{}", not_so.empty() ? "" : ", ", claim.id);
    table.rows.push_back({std::string(claim.said), std::string(claim.verdict), measured.words,
                          status_of(claim, measured)});
    input.print(wrapped(fmt::format("{} ({}): {}", claim.said, claim.verdict, claim.correct), 2));
    out.data["claims"].push_back(data_of(claim, measured));
  }
  out.tables = {std::move(table)};
  out.as_expected = confirmed == claims.size();
  out.verdict = fmt::format("{} of {} claims fail as they are said, and their corrections hold{}.",
                            confirmed, claims.size(), not_so.empty() ? "" : "; NOT: " + not_so);
  return out;
}

}  // namespace

const Experiment claims{
    "claims", "Which things that are often said of mixed precision are not so?",
    "Of 18 claims seven are wrong, five loose, two right in part, one holds for O2 only, one is "
    "over-general, one often false, one contradicts itself: each fails as it is said, and what is "
    "said "
    "instead holds.",
    &run_claims, true};

}  // namespace binade
