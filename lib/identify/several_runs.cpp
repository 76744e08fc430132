// SPDX-License-Identifier: Apache-2.0
//
// Chooses the run that says most, and looks at it as if it were the only one.
#include "lib/identify/several_runs.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/identify/grouped_runs.h"
#include "lib/identify/text.h"

namespace binade {
namespace {

/// Returns the candidate that gives most rows, whichever group's B they met: of a row or two of
/// each group, since where no row met its own B none of the models is near.
const Candidate& model_of_groups(const Identification& x, const Candidate& nearest) {
  constexpr std::size_t most_models = 24, rows = 2;
  std::vector<KernelRun> some, others = x.idle;
  for (const KernelRun& run : x.runs) {
    some.push_back(first_rows(run, rows));
    others.push_back(run);
  }
  std::vector<const Candidate*> models{&nearest};
  for (const Candidate& one : x.candidates) {
    if (models.size() == most_models) break;
    models.push_back(&one);
  }
  const Candidate* best = &nearest;
  std::size_t most = 0;
  for (const Candidate* const one : models) {
    const auto found = wrong_groups(one->model, some, others);
    if (!found || found->equal <= most) continue;
    most = found->equal;
    best = one;
  }
  return *best;
}

}  // namespace

KernelHypotheses hypotheses_of_several(const Identification& x, double seconds,
                                       const SearchProgress& progress) {
  Identification one = x;
  one.others.clear();  // x was chosen from them
  std::optional<WrongGroups> wrong;
  std::string by;
  std::size_t run = 0;
  if (!x.result.rejected.empty() && !x.runs[0].dots) {
    const Candidate& nearest = x.candidate(x.result.rejected[0]);
    run = run_of_most_wrong(x.runs, equal_elements(nearest.model, x.runs));
    const bool grouped = std::ranges::none_of(x.runs, &std::string::empty, &KernelRun::name);
    if (grouped) {
      const Candidate& right = model_of_groups(x, nearest);
      wrong = wrong_groups(right.model, x.runs, x.idle);
      by = command_of(x, right);
    }
  }
  std::swap(one.runs[0], one.runs[run]);
  one.runs.resize(1);
  KernelHypotheses out;
  if (!wrong || wrong->equal != wrong->elements) {
    out = hypotheses_of(one, seconds, progress);
  }
  for (KernelHypothesis& one_run : out.told) one_run.run = run;
  if (wrong) out.told.insert(out.told.begin(), {wrong->words, wrong->equal, wrong->elements, by});
  return out;
}

}  // namespace binade
