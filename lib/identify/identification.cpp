// SPDX-License-Identifier: Apache-2.0
//
// Puts the parts of an identification together.
#include "lib/identify/identification.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "lib/identify/detours.h"
#include "lib/parallel/parallel.h"
#include "lib/text/error.h"

namespace binade {

namespace {

KernelFacts facts_of(const KernelTypes& types, const std::vector<KernelRun>& runs,
                     const KnownEpilogue& epilogue) {
  KernelFacts facts{.types = types, .epilogue = epilogue};
  for (const KernelRun& run : runs) {
    facts.k = std::max(facts.k, run.k);
    facts.has_c = facts.has_c || !run.c.empty();
    facts.has_bias = facts.has_bias || !run.bias.empty();
  }
  facts.is_negative = has_negative(types.d, runs);
  return facts;
}

Identification identify_as(const KernelTypes& types, std::vector<KernelRun> runs,
                           const KnownEpilogue& epilogue, const SearchOptions& options,
                           const SearchProgress& progress, const Searched& searched) {
  const KernelFacts facts = facts_of(types, runs, epilogue);
  Identification out{types, std::move(runs), searched, {}, {}, 0, {}};
  out.searched.gpu = searched.gpu || (searched.instructions && looks_like_gpu(types, out.runs));
  poll();
  out.cores = cores_for(types, out.searched);
  out.candidates = candidates_for(out.cores, facts);
  if (out.candidates.empty()) {
    throw Error("no instruction or chain multiplies " + std::string(type_name(types.a)) + " by " +
                std::string(type_name(types.b)) + " into " + std::string(type_name(types.d)) +
                (searched == Searched{}
                     ? "; see binade architectures"
                     : " among those that the search was restricted to; restrict it less"));
  }
  out.result = search(out.cores, out.candidates, out.runs, options, progress);
  if (out.result.explaining.empty()) search_detours(out, facts, options, progress);
  out.usual = out.candidates.size();
  return out;
}

/// Searches the rare orders, too. Returns whether one explains every bit.
bool search_rare(Identification& x, const KnownEpilogue& epilogue, SearchOptions options,
                 const SearchProgress& progress) {
  const std::vector<Candidate> more =
      rare_candidates_for(x.cores, facts_of(x.types, x.runs, epilogue));
  if (more.empty()) return false;
  x.candidates.insert(x.candidates.end(), more.begin(), more.end());
  options.known = x.usual;
  add_result(x.result, search(x.cores, x.candidates, x.runs, options, progress), options);
  return !x.result.explaining.empty();
}

/// Rounds binary32 encodings to tf32, to nearest. Returns false if all were numbers of tf32
/// already.
bool round_to_tf32(std::vector<std::uint64_t>& codes) {
  bool changed = false;
  for (std::uint64_t& code : codes) {
    const Projected rounded = convert(code, binary32, tf32);
    changed = changed || (rounded.flags & Flag::inexact) != 0;
    code = rounded.bits;
  }
  return changed;
}

/// Searches with the operands of `plain` rounded to tf32; nothing if they are none of binary32, or
/// numbers of tf32 already.
std::optional<Identification> identify_rounded(const Identification& plain,
                                               const KnownEpilogue& epilogue,
                                               const SearchOptions& options,
                                               const SearchProgress& progress,
                                               const Searched& searched) {
  const KernelTypes& types = plain.types;
  if (types.a != binary32 || types.b != binary32 || types.d != binary32) return std::nullopt;
  std::vector<KernelRun> rounded = plain.runs;
  bool changed = false;
  for (KernelRun& run : rounded) {
    changed = round_to_tf32(run.a) || changed;
    changed = round_to_tf32(run.b) || changed;
  }
  if (!changed) return std::nullopt;
  KernelTypes narrow = types;
  narrow.a = narrow.b = tf32;
  Searched how = searched;
  how.rounded = true;
  return identify_as(narrow, std::move(rounded), epilogue, options, progress, how);
}

}  // namespace

Identification identify(const KernelTypes& types, std::vector<KernelRun> runs,
                        const KnownEpilogue& epilogue, const SearchOptions& options,
                        const SearchProgress& progress, const Searched& searched) {
  for (std::size_t i = 0; i < runs.size(); ++i) check(runs[i], i + 1, types);
  Identification plain = identify_as(types, std::move(runs), epilogue, options, progress, searched);
  if (!plain.result.explaining.empty()) return plain;
  std::optional<Identification> rounded;
  if (searched.tf32 && searched.instructions) {
    rounded = identify_rounded(plain, epilogue, options, progress, searched);
  }
  if (rounded && !rounded->result.explaining.empty()) return std::move(*rounded);
  if (!options.rare || search_rare(plain, epilogue, options, progress)) return plain;
  if (rounded && search_rare(*rounded, epilogue, options, progress)) return std::move(*rounded);
  return plain;
}

}  // namespace binade
