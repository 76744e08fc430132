// SPDX-License-Identifier: Apache-2.0
//
// Chooses few rows out of many that distinguish models. The choice is greedy: again and again the row that
// splits the groups of models which still agree into the most groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace binade {

/// Returns the results of a model on a row; each model has the same number of results.
using ResultsOf = std::function<std::span<const std::uint64_t>(std::size_t model, std::size_t row)>;

/// Returns at most `wanted` of `rows` rows, in the order of choice, none of which is `taken`. groups[i] is
/// a number for model i; models of one number agree. The chosen rows refine the groups.
std::vector<std::size_t> choose_distinguishing_rows(std::size_t rows, std::size_t wanted,
                                                    const std::vector<bool>& taken,
                                                    const ResultsOf& results,
                                                    std::vector<std::size_t>& groups);

/// Returns the number of groups.
std::size_t group_count(const std::vector<std::size_t>& groups);

}  // namespace binade
