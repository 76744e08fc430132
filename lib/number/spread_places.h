// SPDX-License-Identifier: Apache-2.0
//
// Which of many elements a sample takes.
#pragma once

#include <cstddef>
#include <vector>

namespace binade {

/// Returns `most` of `count` places, or all, ascending, spread evenly but not at equal distances:
/// these would be the starts of rows where a row's length divides them.
std::vector<std::size_t> spread_places(std::size_t count, std::size_t most);

}  // namespace binade
