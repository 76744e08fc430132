// SPDX-License-Identifier: Apache-2.0
//
// Rows of several generators one after the other, as a recording holds them, and how they run on a
// device: all at once, or in chains, where c of a row is what the device gave for the row before.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/cases/dot_cases.h"
#include "lib/device/device.h"

namespace binade {

/// The first rows of a generator.
struct PlannedRows {
  const DotGenerator* generator = nullptr;
  std::uint64_t rows = 0;
};
using RowPlan = std::vector<PlannedRows>;
inline constexpr std::uint64_t most_planned_rows = std::uint64_t{1} << 20;

std::uint64_t planned_rows(const RowPlan& plan);

/// "normal:2000,tiny:8448"
std::string row_plan_text(const RowPlan& plan);

/// Error with what is wrong of the text; at most most_planned_rows of a generator.
RowPlan parse_row_plan(std::string_view text);

/// Inputs of all rows; d is zeros, and so is c of the rows that continue a chain.
Dots make_rows(const RowPlan& plan, const Instruction& instruction, std::uint64_t seed);

/// c of the rows that continue a chain, from d of the rows before.
void fill_chains(const RowPlan& plan, Dots& dots);

/// Fills d, and c of the rows that continue a chain.
CannotRun run_rows(Device& device, const RowPlan& plan, const Instruction& instruction, Dots& dots);

}  // namespace binade
