// SPDX-License-Identifier: Apache-2.0
//
// All values that each subset of the parts can have, from the smaller subsets up.
#include "lib/identify/unordered.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "emulate/arithmetic.h"
#include "emulate/gemm.h"
#include "lib/identify/change_fit.h"
#include "lib/number/spread_places.h"
#include "lib/parallel/parallel.h"

namespace binade {
namespace {

constexpr int most_unordered = 9;
constexpr std::size_t elements_tried = 192;
/// So many elements decide whether the others are worth trying.
constexpr std::size_t elements_first = 4;
constexpr double most_by_chance = 1e-4;

using Values = std::vector<std::uint64_t>;

/// Returns what parts of a format can add up to in another one, in any order.
Values sums_in_any_order(const Values& parts, const Format& part, const Format& f) {
  std::vector<Values> of(std::size_t{1} << parts.size());
  for (std::size_t set = 1; set < of.size(); ++set) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if ((set >> i & 1) == 0) continue;
      const std::size_t rest = set ^ std::size_t{1} << i;
      if (rest == 0) of[set].push_back(convert(parts[i], part, f).bits);
      for (const std::uint64_t sum : of[rest]) {
        of[set].push_back(
            compute(Operation::add, {sum, parts[i]}, {f, part}, f, Attributes{}).bits);
      }
    }
    std::ranges::sort(of[set]);
    of[set].erase(std::unique(of[set].begin(), of[set].end()), of[set].end());
  }
  return of.back();
}

/// Returns the sums of the runs of K, rounded to a format; nothing if one of them is empty.
Values parts_of(const GemmModel& g, const GemmElement<std::uint64_t>& x, int parts,
                const Format& f) {
  const int instructions = (x.k + g.k - 1) / g.k;
  const int length = (instructions + parts - 1) / parts * g.k;
  Values out;
  for (int part = 0; part < parts; ++part) {
    const int begin = part * length, end = std::min(x.k, begin + length);
    if (begin >= end) return {};
    const Typed sum =
        element_sum(g, GemmElement<std::uint64_t>{x.a + begin, x.b + begin, end - begin});
    out.push_back(convert(sum.bits, sum.format, f).bits);
  }
  return out;
}

/// Returns a number of D's format that is no likelier than `found` unless the parts were added in
/// some order (unordered.h), if there is one.
std::optional<std::uint64_t> other_number(std::uint64_t found, double exact, const Format& f) {
  if (f == binary32) return found + 1;
  const double rounded =
      number_in(convert(std::bit_cast<std::uint64_t>(exact), binary64, f).bits, f);
  const double value = number_in(found, f);
  if (value == rounded) return std::nullopt;
  return convert(std::bit_cast<std::uint64_t>(2 * rounded - value), binary64, f).bits;
}

/// What some order says of an element: nothing, or that it gives it, and whether also the number
/// that would be as likely otherwise, if there is one.
enum class Given : std::uint8_t { not_at_all, alone, with_other, without_other };

/// Tries some elements. Returns false if no order gives one of them.
bool try_elements(const KernelCase& x, const std::vector<double>& exact, const GemmModel& model,
                  std::span<const std::size_t> places, UnorderedParts& out) {
  const Format& f = x.types.d;
  std::vector<Given> given(places.size(), Given::not_at_all);
  parallel_for(places.size(), 1, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t at = places[i];
      const Values parts = parts_of(model, x.run.element(at), out.parts, out.part);
      const Values sums = sums_in_any_order(parts, out.part, f);
      const auto has = [&](std::uint64_t bits) { return std::ranges::binary_search(sums, bits); };
      if (!has(x.run.d[at])) continue;
      const auto other = other_number(x.run.d[at], exact[at], f);
      given[i] = !other ? Given::alone : has(*other) ? Given::with_other : Given::without_other;
    }
  });
  for (const Given one : given) {
    if (one == Given::not_at_all) return false;
    ++out.tried;
    out.others += one == Given::alone ? 0 : 1;
    out.beside += one == Given::with_other ? 1 : 0;
  }
  return true;
}

}  // namespace

std::optional<UnorderedParts> unordered_parts(const KernelCase& x, const std::vector<double>& exact,
                                              const std::vector<Core>& cores,
                                              std::chrono::steady_clock::time_point end) {
  const KernelRun& run = x.run;
  const Format& f = x.types.d;
  if ((f != binary32 && f != binary16 && f != bfloat16) || !run.c.empty() || !run.bias.empty() ||
      !run.a_scale.empty() || !run.b_scale.empty() || x.epilogue.alpha != 1) {
    return std::nullopt;
  }
  const std::vector<std::size_t> all = spread_places(run.size(), elements_tried);
  const std::span places(all);
  const std::size_t first = std::min(elements_first, places.size());
  std::vector<Format> of_parts{f};
  if (f != binary32) of_parts.push_back(binary32);
  for (int parts = 3; parts <= most_unordered; ++parts) {
    for (std::size_t core = 0; core < cores.size(); ++core) {
      const GemmModel& model = cores[core].plain;
      if (model.types.d != binary32) continue;
      for (const Format& part : of_parts) {
        if (std::chrono::steady_clock::now() > end) return std::nullopt;
        UnorderedParts out{core, parts, part};
        if (!try_elements(x, exact, model, places.first(first), out) ||
            !try_elements(x, exact, model, places.subspan(first), out)) {
          continue;
        }
        // If the other numbers were as likely, all elements would fit by chance so often.
        const auto n = static_cast<double>(out.others);
        if (n >= 16 && std::pow(static_cast<double>(out.beside) / n, n) < most_by_chance) {
          return out;
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace binade
