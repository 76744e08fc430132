// SPDX-License-Identifier: Apache-2.0
//
// The parts of an identification put together.
#include "lib/identify/identification.h"

#include <algorithm>
#include <utility>

#include "lib/tensor/error.h"

namespace binade {

Identification identify(const KernelTypes& types, std::vector<KernelRun> runs,
                        const KnownEpilogue& epilogue, const SearchOptions& options,
                        const SearchProgress& progress, const Searched& searched) {
  KernelFacts facts{.types = types, .epilogue = epilogue};
  for (const KernelRun& run : runs) {
    facts.k = std::max(facts.k, run.k);
    facts.has_c = facts.has_c || !run.c.empty();
    facts.has_bias = facts.has_bias || !run.bias.empty();
  }
  Identification out{types, std::move(runs), searched, {}, {}, {}};
  out.searched.gpu = searched.gpu || (searched.instructions && looks_like_gpu(types, out.runs));
  out.cores = cores_for(types, out.searched);
  out.candidates = candidates_for(out.cores, facts);
  if (out.candidates.empty()) {
    throw Error("no instruction or chain multiplies " + std::string(type_name(types.a)) + " by " +
                std::string(type_name(types.b)) + " into " + std::string(type_name(types.d)) +
                (searched == Searched{} ? "; see binade architectures"
                                        : " where the search was restricted to; search more"));
  }
  out.result = search(out.cores, out.candidates, out.runs, options, progress);
  return out;
}

}  // namespace binade
