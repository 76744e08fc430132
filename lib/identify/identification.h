// SPDX-License-Identifier: Apache-2.0
//
// From runs of a kernel to the models that explain every bit of them: everything that was looked at, and
// what came out. Text and JSON are this struct, written down.
#pragma once

#include <string>
#include <vector>

#include "lib/identify/search.h"

namespace binade {

struct Identification {
  KernelTypes types{};
  std::vector<KernelRun> runs;
  Searched searched;  ///< as asked for, or a GPU's where the bits look like one's
  std::vector<Core> cores;
  std::vector<Candidate> candidates;
  SearchResult result;

  const Candidate& candidate(const Verdict& x) const { return candidates[x.candidate]; }
  const Core& core(const Candidate& x) const { return cores[x.core]; }
};

/// Operands of binary32 that no model explains as they are, are rounded to tf32 and looked at again: then
/// types and runs are those, and searched.rounded. Error where no model takes these types, or runs differ in
/// what they have.
Identification identify(const KernelTypes& types, std::vector<KernelRun> runs,
                        const KnownEpilogue& epilogue, const SearchOptions& options,
                        const SearchProgress& progress = {}, const Searched& searched = {});

/// Where the files of runs are; each list has one entry for each run, c and bias may have none.
struct RunFiles {
  std::vector<std::string> a, b, c, bias, d;
  bool transposed_a = false, transposed_b = false;
  std::string types;  ///< d.a.b or d.a.b.c by PTX's names; empty: what the files say
};

struct ReadRuns {
  KernelTypes types{};
  std::vector<KernelRun> runs;
};

/// a (M, K), b (K, N), c and d (M, N), where a vector is a row or a column; or dots: a and b
/// (rows, K), c and d (rows,). Error with the file, what does not fit, and what to do.
ReadRuns read_runs(const RunFiles& files);

}  // namespace binade
