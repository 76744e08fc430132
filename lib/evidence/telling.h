// SPDX-License-Identifier: Apache-2.0
//
// Few rows out of many that tell models apart: a greedy choice, the row that splits most of the groups of
// models which still agree, again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace binade {

/// What a model gives on a row: as many results for every model.
using ResultsOf = std::function<std::span<const std::uint64_t>(std::size_t model, std::size_t row)>;

/// At most `wanted` of `rows` rows, in the order of choice, none that is `taken`. `groups`: of each model a
/// number, models with one number agree; refined by what was chosen.
std::vector<std::size_t> choose_telling(std::size_t rows, std::size_t wanted,
                                        const std::vector<bool>& taken, const ResultsOf& results,
                                        std::vector<std::size_t>& groups);

/// How many groups there are.
std::size_t group_count(const std::vector<std::size_t>& groups);

}  // namespace binade
