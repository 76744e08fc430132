// SPDX-License-Identifier: Apache-2.0
//
// Makes the choice; the candidates for a row are tried on all threads.
#include "lib/evidence/distinguishing_rows.h"

#include <algorithm>
#include <map>
#include <utility>

#include "lib/parallel/parallel.h"

namespace binade {
namespace {

/// Returns the groups as the results of this row divide them, numbered by their first members.
std::vector<std::size_t> refined(const std::vector<std::size_t>& groups, std::size_t row,
                                 const ResultsOf& results) {
  std::map<std::pair<std::size_t, std::vector<std::uint64_t>>, std::size_t> known;
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto told = results(i, row);
    std::vector<std::uint64_t> bits(told.begin(), told.end());
    out.push_back(known.try_emplace({groups[i], std::move(bits)}, known.size()).first->second);
  }
  return out;
}

}  // namespace

std::size_t group_count(const std::vector<std::size_t>& groups) {
  return *std::ranges::max_element(groups) + 1;
}

std::vector<std::size_t> choose_distinguishing_rows(std::size_t rows, std::size_t wanted,
                                                    const std::vector<bool>& taken,
                                                    const ResultsOf& results,
                                                    std::vector<std::size_t>& groups) {
  std::vector<std::size_t> chosen;
  while (chosen.size() < wanted && group_count(groups) < groups.size()) {
    std::vector<std::size_t> counts(rows);
    parallel_for(rows, 8, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t row = begin; row < end; ++row) {
        if (!taken[row]) counts[row] = group_count(refined(groups, row, results));
      }
    });
    const auto best = static_cast<std::size_t>(std::ranges::max_element(counts) - counts.begin());
    if (counts[best] <= group_count(groups)) break;
    groups = refined(groups, best, results);
    chosen.push_back(best);
  }
  return chosen;
}

}  // namespace binade
