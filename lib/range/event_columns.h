// SPDX-License-Identifier: Apache-2.0
//
// EventCounts (what happened to the elements of an array when they were rounded) as lines of a
// table. Every command that rounds arrays has the same columns.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "emulate/event_count.h"

namespace binade {

struct EventColumn {
  std::string_view title;
  int width;                          ///< columns on a terminal, blanks before the text included
  std::uint64_t EventCounts::*count;  ///< the member that is printed
};

inline constexpr std::array<EventColumn, 9> event_columns{{
    {"values", 13, &EventCounts::values},
    {"to zero", 11, &EventCounts::to_zero},
    {"subnormal", 11, &EventCounts::subnormal},
    {"overflow", 10, &EventCounts::overflow},
    {"saturated", 10, &EventCounts::saturated},
    {"inexact", 12, &EventCounts::inexact},
    {"NaN in", 8, &EventCounts::nan_in},
    {"Inf in", 8, &EventCounts::inf_in},
    {"invalid", 10, &EventCounts::invalid},
}};

/// Return the head of the table, whose first column has the title `first`, and a line of it, each
/// with a newline at its end. The first column is 36 wide; of a longer name, the first 35 bytes and
/// "..." are printed.
std::string counts_head(std::string_view first);
std::string counts_line(std::string_view name, const EventCounts& counts);

/// Returns the counts by the titles of their columns: "to_zero", "nan_in".
nlohmann::ordered_json counts_json(const EventCounts& counts);

}  // namespace binade
