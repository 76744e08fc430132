// SPDX-License-Identifier: Apache-2.0
//
// Puts the parts of an identification together.
#include "lib/identify/identification.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "lib/identify/detours.h"
#include "lib/identify/grouped_runs.h"
#include "lib/identify/streams.h"
#include "lib/parallel/parallel.h"
#include "lib/text/error.h"

namespace binade {

namespace {

/// Returns bfloat16 or binary16 if each number of a wider D is one of it, as those of a narrow D
/// that was saved in a wide dtype; else D's own format.
Format format_of_results(const Format& d, const std::vector<KernelRun>& runs) {
  for (const Format& f : {bfloat16, binary16}) {
    const auto holds = [&](std::uint64_t code) { return convert(code, d, f).flags == 0; };
    const auto all = [&](const KernelRun& run) { return std::ranges::all_of(run.d, holds); };
    if (!is_integer(d) && d != f && fits_in(f, d) && std::ranges::all_of(runs, all)) return f;
  }
  return d;
}

/// Returns whether a model explains every bit, or may, for all that the time allowed to compare, or
/// contradicts no element but decides too few (Verdict::undecided).
bool is_settled(const Identification& x) {
  return !x.result.explaining.empty() || !x.result.open.empty() ||
         std::ranges::any_of(x.result.rejected, [](const Verdict& v) { return v.undecided > 0; });
}

/// Returns whether another order of wide parts may be all that is wrong: few numbers of four bits
/// differ by it.
bool may_be_order(const Identification& x) {
  constexpr int narrow = 4;
  if (is_integer(x.types.d) || x.types.d.precision > narrow || x.result.rejected.empty()) {
    return true;
  }
  const Verdict& nearest = x.result.rejected[0];
  return 10 * nearest.equal >= 9 * nearest.compared;
}

/// Returns whether there is time for another search; else enters what it was in `not_tried`.
bool is_in_time(Identification& x, const SearchOptions& options, const std::string& what) {
  if (std::chrono::steady_clock::now() <= options.end) return true;
  x.not_tried.push_back(what);
  return false;
}

Identification identify_as(const KernelTypes& types, std::vector<KernelRun> runs,
                           const KnownEpilogue& epilogue, const SearchOptions& options,
                           const SearchProgress& progress, const Searched& searched) {
  const KernelFacts facts = facts_of(types, runs, epilogue);
  Identification out{types, std::move(runs), {}, searched, {}, {}, 0, {}};
  out.searched.gpu = searched.gpu || (searched.instructions && looks_like_gpu(types, out.runs));
  poll();
  out.cores = cores_for(types, out.searched);
  out.candidates = candidates_for(out.cores, facts);
  // Scales of an instruction's format are rarely another kernel's.
  std::ranges::stable_partition(out.candidates,
                                [](const Candidate& one) { return is_scaled(one.model.model); });
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
  if (!is_settled(out) && is_in_time(out, options, "other ways from the sum to D")) {
    search_detours(out, facts, options, progress);
  }
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

/// Searches with the operands of `plain` rounded to tf32. Returns what explains every bit; what
/// does not is kept in plain.others.
std::optional<Identification> identify_rounded(Identification& plain, const KnownEpilogue& epilogue,
                                               const SearchOptions& options,
                                               const SearchProgress& progress,
                                               const Searched& searched) {
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
    const std::string what = fmt::format("operands rounded to tf32, {}", rounding_name(rounding));
    if (!is_in_time(plain, options, what)) continue;
    KernelTypes narrow = plain.types;
    narrow.a = narrow.b = tf32;
    Searched how = searched;
    how.rounded = rounding;
    Identification out = identify_as(narrow, std::move(rounded), epilogue, options, progress, how);
    if (!out.result.explaining.empty()) return out;
    plain.others.push_back(std::move(out));
  }
  return std::nullopt;
}

}  // namespace

/// Returns whether a format has all these scales.
static bool holds_scales(const Format& f, const RunScales& scales) {
  const auto holds = [&f](std::uint32_t scale) {
    const bool is_nan = (scale & 0x7FFFFFFF) > 0x7F800000;
    return is_nan || convert(scale, binary32, f).flags == 0;
  };
  return std::ranges::all_of(scales.a, holds) && std::ranges::all_of(scales.b, holds);
}

/// Returns the runs with scales of blocks for each `to` elements of K, as instructions take them
/// that multiply by one for several of their runs; nothing if they cannot be divided so.
static std::optional<std::vector<KernelRun>> divided_scales(const std::vector<KernelRun>& runs,
                                                            std::size_t to) {
  std::vector<KernelRun> out = runs;
  for (KernelRun& run : out) {
    const bool several = run.runs.length > to && run.runs.length % to == 0;
    if (!several || !holds_scales(e8m0, run.runs)) return std::nullopt;
    run.runs.divide(to, run.k);
  }
  return out;
}

KernelFacts facts_of(const KernelTypes& types, const std::vector<KernelRun>& runs,
                     const KnownEpilogue& epilogue) {
  KernelFacts facts{.types = types, .epilogue = epilogue};
  for (const KernelRun& run : runs) {
    facts.k = std::max(facts.k, run.k);
    facts.has_c = facts.has_c || !run.c.empty();
    facts.has_bias = facts.has_bias || !run.bias.empty();
    facts.has_a_scale = facts.has_a_scale || !run.a_scale.empty();
    facts.has_b_scale = facts.has_b_scale || !run.b_scale.empty();
    facts.has_a_runs = facts.has_a_runs || !run.runs.a.empty();
    facts.has_b_runs = facts.has_b_runs || !run.runs.b.empty();
    if (run.runs.any()) facts.run = static_cast<int>(run.runs.length);
  }
  const auto all_hold = [&](const Format& f) {
    return std::ranges::all_of(runs, [&](const KernelRun& x) { return holds_scales(f, x.runs); });
  };
  facts.are_e8m0 = facts.run != 0 && all_hold(e8m0);
  facts.are_ue4m3 = facts.run != 0 && all_hold(ue4m3);
  facts.is_negative = has_below(0, types.d, runs);
  facts.is_below_smooth = has_below(least_smooth, types.d, runs);
  facts.results = format_of_results(types.d, runs);
  return facts;
}

Identification identify(const KernelTypes& types, std::vector<KernelRun> runs,
                        const KnownEpilogue& epilogue, const SearchOptions& options,
                        const SearchProgress& progress, const Searched& searched) {
  const std::vector<KernelRun> idle = take_idle(runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    check(runs[i], i + 1, types);
    if (runs[i].runs.length == runs[0].runs.length) continue;
    throw Error(fmt::format(
        "run {}: scales of {} elements of K, and those of run 1 are of {}; identify kernels apart",
        i + 1, runs[i].runs.length, runs[0].runs.length));
  }
  const bool has_run_scales = !runs.empty() && runs[0].runs.any();
  Identification plain = identify_as(types, std::move(runs), epilogue, options, progress, searched);
  plain.idle = idle;
  if (is_settled(plain)) return plain;
  constexpr std::size_t of_instructions = 32;
  if (auto divided = divided_scales(plain.runs, of_instructions);
      divided && searched.instructions) {
    Identification out =
        identify_as(types, std::move(*divided), epilogue, options, progress, searched);
    if (is_settled(out)) return out;
  }
  const bool single = types.a == binary32 && types.b == binary32 && types.d == binary32;
  if (single && searched.tf32 && searched.instructions) {
    std::optional<Identification> rounded =
        identify_rounded(plain, epilogue, options, progress, searched);
    if (rounded) return std::move(*rounded);
  }
  // Rare orders and stream-K cut K anywhere, and a run of K has one scale.
  if (!options.rare || has_run_scales || !may_be_order(plain)) return plain;
  if (!is_in_time(plain, options, "rare orders of parts of K")) return plain;
  if (search_rare(plain, epilogue, options, progress)) return plain;
  for (Identification& other : plain.others) {
    if (!is_in_time(plain, options, "rare orders of rounded operands")) return plain;
    if (!search_rare(other, epilogue, options, progress)) continue;
    Identification out = std::move(other);
    return out;
  }
  if (!is_in_time(plain, options, "stream-K") || search_streams(plain, options.end)) return plain;
  for (Identification& other : plain.others) {
    if (!search_streams(other, options.end)) continue;
    Identification out = std::move(other);
    return out;
  }
  (void)is_in_time(plain, options, "some divisions of stream-K");
  return plain;
}

}  // namespace binade
