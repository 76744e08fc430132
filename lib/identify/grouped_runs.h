// SPDX-License-Identifier: Apache-2.0
//
// A product whose rows are in groups as runs of one kernel, one for each group; and the mistake
// that only such a product can have: rows that met the B of another group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/identify/kernel_run.h"

namespace binade {

/// Returns a run for each group; one without rows has m = 0. `d` holds all rows of D.
std::vector<KernelRun> runs_of_groups(const GemmOperands& x, const std::vector<std::uint64_t>& d);

/// How many elements of each run a model gives.
std::vector<std::size_t> equal_elements(const GemmModel& model, std::span<const KernelRun> runs);
/// Returns the run of most elements that are not equal.
std::size_t run_of_most_wrong(std::span<const KernelRun> runs, std::span<const std::size_t> equal);

/// What rows that met the B, or the scales of B, of another group explain.
struct WrongGroups {
  std::string words;      ///< "rows 40..47 of group 3 by the B of group 2"
  std::size_t equal = 0;  ///< of all elements, those that are equal then
  std::size_t elements = 0;
};
/// Tries, for every row that a model does not give, what other groups have, and `idle` ones, which
/// have no rows. Nothing if that makes no row equal as a whole, or behind a smooth activation.
std::optional<WrongGroups> wrong_groups(const GemmModel& model, std::span<const KernelRun> runs,
                                        std::span<const KernelRun> idle);

/// Returns the run of at most so many of its rows, the first ones.
KernelRun first_rows(const KernelRun& run, std::size_t rows);

/// Takes the runs of groups without rows out, and returns them.
std::vector<KernelRun> take_idle(std::vector<KernelRun>& runs);

/// Returns which rows of D a run of a group has: "10..29", "4, 7..9, …".
std::string rows_text(const KernelRun& run);

}  // namespace binade
