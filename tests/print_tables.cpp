// SPDX-License-Identifier: Apache-2.0
//
// Prints the names in the program's tables as one JSON object: name of the table, list of its names in its order. What
// structure/write_tables.py puts into files comes from here, and what tests in Python loop over.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

#include "emulate/architectures.h"
#include "emulate/attributes.h"
#include "emulate/codec.h"
#include "emulate/fast/kernels.h"
#include "emulate/format.h"
#include "lib/amp/loss_scaler.h"
#include "lib/study/workloads.h"
#include "lib/train/memory.h"
#include "lib/train/optimizers.h"

namespace {

const char* between = "{";

/// Prints a table: the members `name` of those of its rows that `chosen` chooses. They need no escapes.
template <class Rows, class Chosen>
void print(const char* table, const Rows& rows, const Chosen& chosen) {
  std::printf("%s\"%s\": [", between, table);
  between = "],\n ";
  const char* comma = "";
  for (const auto& row : rows) {
    if (!chosen(row)) continue;
    std::printf("%s\"%s\"", comma, std::string(row.name).c_str());
    comma = ", ";
  }
}
template <class Rows>
void print(const char* table, const Rows& rows) {
  print(table, rows, [](const auto&) { return true; });
}

/// Any text in the place of a name.
struct TextRow {
  std::string name;
};

}  // namespace

int main() {
  using namespace binade;
  print("formats", formats);
  print("roundings", roundings);
  print("levels", levels);
  std::array<TextRow, architectures.size()> targets;
  std::ranges::transform(architectures, targets.begin(), [](const Architecture& on) {
    return TextRow{"sm_" + std::to_string(on.sm)};
  });
  print("architectures", targets);
  const auto changes = [](const LossScalePolicy& x) { return x.growth_rule != GrowthRule::never; };
  const auto is_other = [&](const LossScalePolicy& x) { return changes(x) && x.name != "torch"; };
  print("loss_scalers", loss_scale_policies());
  print("changing_scalers", loss_scale_policies(), changes);
  print("other_scalers", loss_scale_policies(), is_other);
  print("optimizers", optimizers());
  print("optimizer_moments", optimizer_moments());
  print("workloads", workload_rows);
  std::uint64_t midpoints = 0;  // as experiments/boundary_atlas.cpp tries them
  for (const NamedFormat& row : formats) {
    if (row.format.bits() > 16 || !row.format.has_zero) continue;
    midpoints += max_bits(row.format, false) >> row.format.padding_bits;
  }
  print("midpoints", std::array{TextRow{std::to_string(midpoints)}});
  std::puts("]}");
}
