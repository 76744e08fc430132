// SPDX-License-Identifier: Apache-2.0
//
// A table goes to the reader as text at once, and to the report with the outcome.
#pragma once

#include <utility>

#include "lib/study/experiment.h"

namespace binade {

inline void show_table(const ExperimentInput& input, Outcome& out, Table table) {
  input.print("\n" + text_of(table));
  out.tables.push_back(std::move(table));
}

}  // namespace binade
