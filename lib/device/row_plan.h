// SPDX-License-Identifier: Apache-2.0
//
// A plan of rows: how many rows of which generators a recording holds, one generator after the
// other, and how they run on a device. Rows of a chain take as c what the device gave for the row
// before.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/cases/dot_cases.h"
#include "lib/device/device.h"

namespace binade {

/// The first `rows` rows of a generator.
struct PlannedRows {
  const DotGenerator* generator = nullptr;
  std::uint64_t rows = 0;
};
using RowPlan = std::vector<PlannedRows>;
/// The largest number of rows of one generator.
inline constexpr std::uint64_t most_planned_rows = std::uint64_t{1} << 20;

/// Returns the number of rows of a plan.
std::uint64_t planned_rows(const RowPlan& plan);

/// Returns the plan as text: "normal:2000,tiny:8448".
std::string row_plan_text(const RowPlan& plan);

/// Reads such a text. Throws Error if a generator is unknown or its number of rows is not one from
/// 1 to most_planned_rows.
RowPlan parse_row_plan(std::string_view text);

/// Makes the inputs of all rows. Each d is 0, and so is c of the rows that continue a chain.
Dots make_rows(const RowPlan& plan, const Instruction& instruction, std::uint64_t seed);

/// Sets c of each row that continues a chain to d of the row before.
void fill_chains(const RowPlan& plan, Dots& dots);

/// Runs the instruction on all rows, and fills d, and c of the rows that continue a chain. Returns
/// the reason if the device cannot run it.
CannotRun run_rows(Device& device, const RowPlan& plan, const Instruction& instruction, Dots& dots);

}  // namespace binade
