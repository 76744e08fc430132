// SPDX-License-Identifier: Apache-2.0
//
// Writes the comparison of an instruction on crossed rows.
#include "lib/validate/crossed_answer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lib/instruction/instruction_name.h"
#include "lib/number/encoding_text.h"
#include "lib/validate/dot_text.h"

namespace binade {

std::string crossed_check_text(const CrossedCheck& check) {
  const std::string name = instruction_name(check.instruction);
  if (!check.skipped.empty()) return fmt::format("{:<47} skipped: {}\n", name, check.skipped);
  std::string out = fmt::format("{:<47} dots {:>12}, different {}\n", name, check.tally.dots,
                                check.tally.different);
  if (!check.first) return out;
  const CrossedDifference& x = *check.first;
  out += fmt::format(
      "the first that differs, of rows {} (a), {} (b), {} (c) of the pool, run alone:\n", x.rows.a,
      x.rows.b, x.rows.c);
  return out + difference_text({0, x.row.d[0], x.emulated}, x.row, check.instruction) + "\n";
}

nlohmann::ordered_json crossed_check_json(const CrossedCheck& check) {
  nlohmann::ordered_json out{{"instruction", instruction_name(check.instruction)}};
  if (!check.skipped.empty()) {
    out["skipped"] = check.skipped;
    return out;
  }
  out["dots"] = check.tally.dots;
  out["different"] = check.tally.different;
  if (check.first) {
    const CrossedDifference& x = *check.first;
    const Format& d = check.instruction.types.d;
    out["first"] = {{"dot", check.tally.lowest},
                    {"a_row", x.rows.a},
                    {"b_row", x.rows.b},
                    {"c_row", x.rows.c},
                    {"hardware", hexadecimal(x.row.d[0], d)},
                    {"emulated", hexadecimal(x.emulated, d)}};
  }
  return out;
}

std::string crossed_text(const std::string& device, const CrossTally& total) {
  return fmt::format("{}: dots {}, different {}\n", device, total.dots, total.different);
}

nlohmann::ordered_json crossed_json(const std::string& device, const CrossedWhat& what,
                                    const CrossTally& total, const nlohmann::ordered_json& checks) {
  return {{"schema", "binade.validate_crossed/1"},
          {"device", device},
          {"seed", what.seed},
          {"dots", total.dots},
          {"different", total.different},
          {"instructions", checks}};
}

}  // namespace binade
