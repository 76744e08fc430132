// SPDX-License-Identifier: Apache-2.0
//
// All values that each subset of the parts can have, from the smaller subsets up.
#include "lib/identify/unordered.h"

#include <algorithm>
#include <cmath>

#include "emulate/arithmetic.h"
#include "emulate/gemm.h"
#include "lib/identify/change_fit.h"
#include "lib/parallel/parallel.h"

namespace binade {
namespace {

constexpr int most_unordered = 9;
constexpr std::size_t elements_tried = 192;
/// So many elements decide whether the others are worth trying.
constexpr std::size_t elements_first = 4;

using Values = std::vector<std::uint64_t>;

/// Returns what the parts can add up to, in any order, each addition rounded to binary32.
Values sums_in_any_order(const Values& parts) {
  std::vector<Values> of(std::size_t{1} << parts.size());
  for (std::size_t set = 1; set < of.size(); ++set) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if ((set >> i & 1) == 0) continue;
      const std::size_t rest = set ^ std::size_t{1} << i;
      if (rest == 0) of[set].push_back(parts[i]);
      for (const std::uint64_t sum : of[rest]) {
        of[set].push_back(
            compute(Operation::add, {sum, parts[i]}, {binary32, binary32}, binary32, Attributes{})
                .bits);
      }
    }
    std::ranges::sort(of[set]);
    of[set].erase(std::unique(of[set].begin(), of[set].end()), of[set].end());
  }
  return of.back();
}

/// Returns the sums of the runs of K; nothing if one of them is empty.
Values parts_of(const GemmModel& g, const GemmElement<std::uint64_t>& x, int parts) {
  const int instructions = (x.k + g.k - 1) / g.k;
  const int length = (instructions + parts - 1) / parts * g.k;
  Values out;
  for (int part = 0; part < parts; ++part) {
    const int begin = part * length, end = std::min(x.k, begin + length);
    if (begin >= end) return {};
    out.push_back(
        element_sum(g, GemmElement<std::uint64_t>{x.a + begin, x.b + begin, end - begin}).bits);
  }
  return out;
}

}  // namespace

std::optional<UnorderedParts> unordered_parts(const KernelCase& x, const std::vector<Core>& cores,
                                              std::chrono::steady_clock::time_point end) {
  const KernelRun& run = x.run;
  if (x.types.d != binary32 || !run.c.empty() || !run.bias.empty() || !run.a_scale.empty() ||
      !run.b_scale.empty() || x.epilogue.alpha != 1) {
    return std::nullopt;
  }
  const std::vector<std::size_t> places = spread_over(run.size(), elements_tried);
  for (int parts = 3; parts <= most_unordered; ++parts) {
    for (std::size_t core = 0; core < cores.size(); ++core) {
      if (cores[core].plain.types.d != binary32) continue;
      if (std::chrono::steady_clock::now() > end) return std::nullopt;
      UnorderedParts out{core, parts, 0, 0};
      const auto try_all = [&](std::size_t first, std::size_t last) {
        std::vector<int> found(last - first, -1);
        parallel_for(last - first, 1, [&](std::size_t begin, std::size_t stop, std::size_t) {
          for (std::size_t i = begin; i < stop; ++i) {
            const std::size_t at = places[first + i];
            const Values sums =
                sums_in_any_order(parts_of(cores[core].plain, run.element(at), parts));
            const auto has = [&](std::uint64_t bits) {
              return std::ranges::binary_search(sums, bits);
            };
            if (has(run.d[at])) found[i] = has(run.d[at] + 1) ? 1 : 0;
          }
        });
        for (const int one : found) {
          if (one < 0) return false;
          ++out.tried;
          out.beside += static_cast<std::size_t>(one);
        }
        return true;
      };
      const std::size_t first = std::min(elements_first, places.size());
      if (!try_all(0, first) || !try_all(first, places.size())) continue;
      // If any number nearby were as likely a sum as its neighbour, all would fit by chance so
      // often.
      const auto n = static_cast<double>(out.tried);
      if (n >= 16 && std::pow(static_cast<double>(out.beside) / n, n) < 1e-4) return out;
    }
  }
  return std::nullopt;
}

}  // namespace binade
