// SPDX-License-Identifier: Apache-2.0
//
// Compares bit by bit, or behind a smooth activation with the codes of its range.
#include "lib/identify/match.h"

#include "lib/gemm/activated.h"
#include "lib/identify/evaluator.h"
#include "lib/identify/search.h"

namespace binade {

void Evaluated::add(const Candidate& x) {
  if (!is_smooth(x.model.epilogue.activation)) return models.push_back(&x);
  before.push_back(x);
  before.back().model = before_activation(x.model);
  models.push_back(&before.back());
}

Match match_of(const GemmModel& g, std::uint64_t evaluated, std::uint64_t found) {
  const Epilogue& e = g.epilogue;
  const bool smooth = is_smooth(e.activation);
  const ActivatedCodes codes =
      smooth ? activated_codes(e, evaluated, 0) : ActivatedCodes{evaluated, evaluated, evaluated};
  const bool same = is_same_result(codes.exact, found, e.out, any_nan_fits(g));
  if (!same && !(smooth && is_within(codes, found, e.out))) return Match::different;
  return codes.is_decided() ? Match::equal : Match::undecided;
}

std::uint64_t result_of(const GemmModel& g, std::uint64_t evaluated) {
  return is_smooth(g.epilogue.activation) ? activated_codes(g.epilogue, evaluated, 0).exact
                                          : evaluated;
}

}  // namespace binade
