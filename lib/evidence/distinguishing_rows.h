// SPDX-License-Identifier: Apache-2.0
//
// Chooses few rows out of many that distinguish models. The choice is greedy: again and again the
// row that splits the groups of models which still agree into the most groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace binade {

/// A function that gives the results of a model on a row; each model has the same number of
/// results.
using ResultsOf = std::function<std::span<const std::uint64_t>(std::size_t model, std::size_t row)>;

/// Returns at most `wanted` of `rows` rows, in the order of choice, none of which is `taken`; fewer
/// if no further row splits a group. There is at least one row and one model. groups[i] is the
/// number of model i's group, from 0 to the number of groups less one; models of one group agree.
/// The chosen rows refine the groups.
std::vector<std::size_t> choose_distinguishing_rows(std::size_t rows, std::size_t wanted,
                                                    const std::vector<bool>& taken,
                                                    const ResultsOf& results,
                                                    std::vector<std::size_t>& groups);

/// Returns the number of groups, which is the largest number in a list that is not empty, plus one.
std::size_t group_count(const std::vector<std::size_t>& groups);

}  // namespace binade
