// SPDX-License-Identifier: Apache-2.0
//
// Joins equal pairs, and places each input on the grids of the formats that it may pass through.
#include "lib/identify/conversion_sample.h"

#include <algorithm>
#include <unordered_map>

#include "lib/parallel/parallel.h"

namespace binade {
namespace {

constexpr std::size_t most_of_a_place = 3;  // sampled inputs that lie alike
constexpr std::size_t most_sampled = 6000;

bool pair_is_before(const CodePair& a, const CodePair& b) {
  if (a.input != b.input) return a.input < b.input;
  return a.code != b.code ? a.code < b.code : a.first < b.first;
}

/// Sorts on all threads: pieces, which are then merged.
void sort_pairs(std::vector<CodePair>& pairs) {
  const std::size_t piece = std::max<std::size_t>(pairs.size() / thread_count() + 1, 4096);
  const auto at = [&](std::size_t i) {
    return pairs.begin() + static_cast<std::ptrdiff_t>(std::min(i, pairs.size()));
  };
  parallel_for(pairs.size(), piece, [&](std::size_t begin, std::size_t end, std::size_t) {
    std::sort(at(begin), at(end), &pair_is_before);
  });
  for (std::size_t width = piece; width < pairs.size(); width *= 2) {
    for (std::size_t i = 0; i < pairs.size(); i += 2 * width) {
      std::inplace_merge(at(i), at(i + width), at(i + 2 * width), &pair_is_before);
    }
  }
}

/// Where a number lies on the grid of a format, as far as roundings ask.
struct GridPlace {
  bool exact = true, above_half = false, tie = false, odd = false;
  bool tiny = false, border = false, beyond = false, cut_to_zero = false;

  unsigned key() const {
    return static_cast<unsigned>(exact) | static_cast<unsigned>(above_half) << 1 |
           static_cast<unsigned>(tie) << 2 | static_cast<unsigned>(odd) << 3 |
           static_cast<unsigned>(tiny) << 4 | static_cast<unsigned>(border) << 5 |
           static_cast<unsigned>(beyond) << 6;
  }
};

GridPlace place_on(const Exact& x, const Format& f) {
  if (x.kind != Kind::finite) return {.cut_to_zero = true};
  const int e = x.exponent + bit_width(x.significand) - 1;
  const int quantum = std::max(e, f.emin()) - f.fraction_bits();
  const Cut c = cut(x, quantum - x.exponent);
  GridPlace out{.exact = c.exact, .above_half = c.above_half, .tie = c.exactly_half};
  out.odd = (c.kept & 1) != 0;
  out.tiny = e < f.emin();
  out.cut_to_zero = c.kept == 0;
  if (e == f.emin() - 1) {
    const Cut unbounded = cut(x, e - f.fraction_bits() - x.exponent);
    const std::uint64_t smallest = std::uint64_t{1} << f.fraction_bits();
    out.border = (!unbounded.exact && unbounded.kept + 1 == 2 * smallest) ||
                 (!c.exact && c.kept + 1 == smallest);
  }
  const std::uint64_t most = f.max_significand();
  out.beyond = e > f.emax() || (e == f.emax() && (c.kept > most || (c.kept == most && !c.exact)));
  return out;
}

/// What one thread has seen of the inputs.
struct ReachedPiece {
  Reached reached;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> alike;
};

void look_at(const CodePair& pair, std::size_t index, const Format& from, ReachedPiece& out) {
  const Exact x = decode(pair.input, from);
  const bool subnormal = is_subnormal(pair.input, from);
  Reached& r = out.reached;
  if (x.kind == Kind::zero) r.zeros += pair.count;
  if (subnormal) r.subnormal += pair.count;
  std::uint64_t key = (x.negative ? 1U : 0U) | (subnormal ? 2U : 0U);
  bool tiny = subnormal;
  for (Reached::Step& step : r.steps) {
    const GridPlace place = place_on(x, step.format);
    if (!place.exact) step.inexact += pair.count;
    if (place.tiny) step.tiny += pair.count;
    if (place.border) step.border += pair.count;
    if (place.beyond) step.beyond[x.negative ? 1 : 0] += pair.count;
    tiny = tiny || place.tiny;
    if (&step == r.steps.data() && x.negative && place.cut_to_zero) r.negative_zero += pair.count;
    key = key << 7 | place.key();
  }
  if (x.negative && tiny) r.negative_tiny += pair.count;
  std::vector<std::size_t>& alike = out.alike[key];
  if (alike.size() < most_of_a_place) alike.push_back(index);
}

void add_reached(Reached& to, const Reached& from) {
  to.subnormal += from.subnormal;
  to.negative_zero += from.negative_zero;
  to.negative_tiny += from.negative_tiny;
  to.zeros += from.zeros;
  for (std::size_t i = 0; i < to.steps.size(); ++i) {
    Reached::Step& step = to.steps[i];
    const Reached::Step& other = from.steps[i];
    step.inexact += other.inexact;
    step.tiny += other.tiny;
    step.border += other.border;
    for (const std::size_t sign : {std::size_t{0}, std::size_t{1}})
      step.beyond[sign] += other.beyond[sign];
  }
}

}  // namespace

void join_equal(std::vector<CodePair>& pairs) {
  sort_pairs(pairs);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    CodePair& last = pairs[kept == 0 ? 0 : kept - 1];
    if (kept > 0 && last.input == pairs[i].input && last.code == pairs[i].code) {
      ++last.count;
    } else {
      pairs[kept++] = pairs[i];
    }
  }
  pairs.resize(kept);
}

ConversionSample sample_of(const Converted& given, std::span<const CodePair> pairs) {
  ConversionSample out;
  Reached empty{.steps = {{.format = given.to}}};
  for (const Format& way : conversion_ways(given.from, given.to)) {
    empty.steps.push_back({.format = way});
  }
  std::vector<ReachedPiece> pieces(thread_count(), {empty, {}});
  parallel_for(pairs.size(), 1 << 14, [&](std::size_t begin, std::size_t end, std::size_t slot) {
    for (std::size_t i = begin; i < end; ++i) look_at(pairs[i], i, given.from, pieces[slot]);
  });
  out.reached = empty;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> alike;
  for (ReachedPiece& piece : pieces) {
    add_reached(out.reached, piece.reached);
    for (auto& [key, indices] : piece.alike) {
      std::vector<std::size_t>& all = alike[key];
      all.insert(all.end(), indices.begin(), indices.end());
    }
  }
  for (auto& [key, indices] : alike) {
    std::ranges::sort(indices);
    indices.resize(std::min(indices.size(), most_of_a_place));
    out.indices.insert(out.indices.end(), indices.begin(), indices.end());
  }
  // In an order in which neighbours differ, so that wrong rules are contradicted early.
  std::ranges::sort(out.indices, {}, [](std::size_t i) { return i * 0x9E3779B97F4A7C15; });
  if (out.indices.size() > most_sampled) out.indices.resize(most_sampled);
  return out;
}

}  // namespace binade
