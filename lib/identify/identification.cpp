// SPDX-License-Identifier: Apache-2.0
//
// Puts the parts of an identification together.
#include "lib/identify/identification.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/parallel/parallel.h"
#include "lib/text/error.h"

namespace binade {

namespace {

Identification identify_as(const KernelTypes& types, std::vector<KernelRun> runs,
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
  poll();
  out.cores = cores_for(types, out.searched);
  out.candidates = candidates_for(out.cores, facts);
  // Bits of integers, or scaled integers, may stand in a D of floating point (hypotheses.h).
  const bool integers = is_integer(types.a) && is_integer(types.b) && searched == Searched{};
  if (out.candidates.empty() && !(integers && types.d == binary32)) {
    throw Error("no instruction or chain multiplies " + std::string(type_name(types.a)) + " by " +
                std::string(type_name(types.b)) + " into " + std::string(type_name(types.d)) +
                (searched == Searched{}
                     ? "; see binade architectures"
                     : " among those that the search was restricted to; restrict it less"));
  }
  out.result = search(out.cores, out.candidates, out.runs, options, progress);
  return out;
}

/// Rounds binary32 encodings to tf32. Returns false if all were numbers of tf32 already.
bool round_to_tf32(std::vector<std::uint64_t>& codes, Rounding rounding) {
  bool changed = false;
  for (std::uint64_t& code : codes) {
    const Projected rounded = convert(code, binary32, tf32, {.rounding = rounding});
    changed = changed || (rounded.flags & Flag::inexact) != 0;
    code = rounded.bits;
  }
  return changed;
}

/// How kernels round operands to tf32: cuBLAS, and CUTLASS by cvt.rna. Hardware alone cuts them
/// off, which cores of tf32 do.
constexpr Rounding tf32_roundings[]{Rounding::ties_to_even, Rounding::ties_to_away};

}  // namespace

Identification identify(const KernelTypes& types, std::vector<KernelRun> runs,
                        const KnownEpilogue& epilogue, const SearchOptions& options,
                        const SearchProgress& progress, const Searched& searched) {
  for (std::size_t i = 0; i < runs.size(); ++i) check(runs[i], i + 1, types);
  Identification plain = identify_as(types, std::move(runs), epilogue, options, progress, searched);
  const bool explained = !plain.result.explaining.empty();
  const bool single = types.a == binary32 && types.b == binary32 && types.d == binary32;
  if (explained || !single || !searched.tf32 || !searched.instructions) return plain;
  for (const Rounding rounding : tf32_roundings) {
    std::vector<KernelRun> rounded = plain.runs;
    bool changed = false;
    for (KernelRun& run : rounded) {
      changed = round_to_tf32(run.a, rounding) || changed;
      changed = round_to_tf32(run.b, rounding) || changed;
    }
    const bool known = std::ranges::any_of(plain.others, [&](const Identification& other) {
      return std::ranges::equal(other.runs, rounded, [](const KernelRun& x, const KernelRun& y) {
        return x.a == y.a && x.b == y.b;
      });
    });
    if (!changed || known) continue;
    if (std::chrono::steady_clock::now() > options.end) {
      plain.not_tried.push_back(
          fmt::format("operands rounded to tf32, {}", rounding_name(rounding)));
      continue;
    }
    KernelTypes narrow = types;
    narrow.a = narrow.b = tf32;
    Searched how = searched;
    how.rounded = rounding;
    Identification out = identify_as(narrow, std::move(rounded), epilogue, options, progress, how);
    if (!out.result.explaining.empty()) return out;
    plain.others.push_back(std::move(out));
  }
  return plain;
}

}  // namespace binade
