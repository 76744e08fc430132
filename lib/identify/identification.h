// SPDX-License-Identifier: Apache-2.0
//
// From runs of a kernel to the models that explain every bit of them. Identification holds
// everything that was tried and what came out; text and JSON are written from it.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "lib/gemm/files.h"
#include "lib/identify/hypotheses.h"
#include "lib/identify/search.h"

namespace binade {

struct Identification {
  KernelTypes types{};
  std::vector<KernelRun> runs;
  std::vector<KernelRun> idle = {};  ///< of groups without rows, whose B rows may have met
  Searched searched;  ///< as requested; `gpu` is set also if the bits look like a GPU's
  std::vector<Core> cores;
  std::vector<Candidate> candidates;
  std::size_t usual = 0;  ///< so many of the candidates, the first, are not of rare orders
  SearchResult result;
  /// What was searched besides if no model explains every bit: operands rounded to tf32.
  std::vector<Identification> others = {};
  KernelHypotheses hypotheses = {};  ///< if the caller asked for them (hypotheses.h)
  bool in_time =
      true;  ///< false: SearchOptions::end was reached; parts of D are not searched apart
  std::vector<std::string> not_tried = {};  ///< what the time did not allow

  const Candidate& candidate(const Verdict& x) const { return candidates[x.candidate]; }
  const Core& core(const Candidate& x) const { return cores[x.core]; }
};

/// Returns what runs say about their kernel.
KernelFacts facts_of(const KernelTypes& types, const std::vector<KernelRun>& runs,
                     const KnownEpilogue& epilogue);

/// Searches for the models that explain every bit of the runs; if no model does, also with the
/// detours of epilogues that come nearer (detours.h). If still no model does, a, b and d are
/// binary32, and `searched` allows instructions and tf32, then a and b are rounded to tf32, with
/// ties to even as cuBLAS does or away from zero as CUTLASS does, and searched again; if that
/// explains every bit, types and runs are the rounded ones and searched.rounded is set. Where
/// nothing is found, rare orders (rare_orders.h) are searched too, first for the operands as they
/// are, and then stream-K (streams.h). Throws Error if no model takes these types, if there is
/// nothing to compare, or if an array of a run has another size than m, n and k say (kernel_run.h).
Identification identify(const KernelTypes& types, std::vector<KernelRun> runs,
                        const KnownEpilogue& epilogue, const SearchOptions& options,
                        const SearchProgress& progress = {}, const Searched& searched = {});

/// The files of some runs. a, b and d have one entry for each run; the others have one for each run
/// or are empty.
struct RunFiles {
  std::vector<std::string> a, b, c, bias, d;
  /// Those of file_options that are no words, in its order.
  std::array<std::vector<std::string>, file_options.size()> beside = {};
  /// What holds for all runs: words of file_options, and whether a product's a has shape (K, M),
  /// and its b (N, K).
  GemmFiles shared = {};
  std::string types =
      {};  ///< types by PTX's names, "d.a.b" or "d.a.b.c"; empty: those of the files

  /// Returns whether a run has what an option of this name gives.
  bool has(std::string_view name) const {
    for (std::size_t i = 0; i < beside.size(); ++i) {
      if (file_options[i].name == name) return !beside[i].empty();
    }
    return false;
  }
};

struct ReadRuns {
  KernelTypes types{};
  std::vector<KernelRun> runs;
};

/// Reads runs from files. A product has a of shape (M, K), b (K, N), c and d (M, N); a vector a is
/// one row, a vector b one column. Dot products have a and b of shape (rows, K), c and d (rows,) or
/// (rows, 1), and no bias. A product in groups of rows is a run for each group that has rows. Of
/// products of integers, zero points and a bias of s32 become part of C, with which their sums
/// begin. Throws Error with the file, what does not fit, and what to do; K is at most 2^24.
ReadRuns read_runs(const RunFiles& files);

}  // namespace binade
