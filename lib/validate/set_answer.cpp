// SPDX-License-Identifier: Apache-2.0
//
// A set is a line of counts, then what differs.
#include "lib/validate/set_answer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lib/evidence/json.h"
#include "lib/evidence/seen.h"
#include "lib/evidence/tally.h"
#include "lib/instruction/instruction_name.h"
#include "lib/text/error.h"
#include "lib/text/spelling.h"
#include "lib/validate/device_report.h"
#include "lib/validate/dot_answer.h"
#include "lib/validate/dot_text.h"

namespace binade {

std::string set_text(const CheckedSet& set, const Dots& dots, const SetQuestion& asked) {
  const std::string headline =
      fmt::format("{:<28}  sm_{} {:<38}", printable(set.source, longest_path), set.instruction.sm,
                  instruction_name(set.instruction));
  if (!set.skipped.empty()) return fmt::format("{}  skipped: {}\n", headline, set.skipped);
  std::string out = fmt::format("{}  rows {}, equal {}, different {}\n", headline, set.check.rows,
                                set.check.equal(), set.check.different);
  const bool recorded = set.source.ends_with(".safetensors");
  for (const DotDifference& x : set.check.first) {
    const bool first = &x == set.check.first.data();
    out += difference_text(x, dots, set.instruction);
    if (first && recorded) {
      std::vector<std::string> words{"--recording", set.source};
      const std::vector<std::string> rules = words_of(asked.rules);
      words.insert(words.end(), rules.begin(), rules.end());
      out += row_explained(words, x.row);
    }
    out += "\n";
  }
  if (asked.evidence) {
    return out +
           tally_text(tally_rivals(set.instruction, dots, false, asked.rules),
                      asked.rules.any() ? "chosen" : "binade") +
           "\n";
  }
  const std::string touched =
      asked.rules.any() ? "" : touched_text(touched_by(set.instruction, dots), "rows");
  return touched.empty() ? out : out + "  " + touched + "\n";
}

std::string set_text(const CheckedScalar& set) {
  const ScalarTally& tally = set.check.tally;
  const std::uint64_t different = tally.mismatches + tally.nan_differences;
  std::string out =
      fmt::format("{:<28}  {} {:<38}  rows {}, ", printable(set.source, longest_path),
                  printable(set.origin.architecture), set.check.instruction.name, tally.cases);
  out += set.check.was_compared()
             ? fmt::format("equal {}, different {}\n", tally.cases - different, different)
             : "recorded only\n";
  return out + differences_text(set.check);
}

std::string set_text(const std::string& source, const GemmValidation& product,
                     const ValidateGemmOptions& options) {
  const GemmCheck& check = product.check;
  const std::string out = fmt::format("{:<28}  {:<44}  elements {}, equal {}, different {}\n",
                                      printable(source, longest_path), headline(product.named),
                                      check.elements(), check.equal(), check.different.count);
  return check.different.count == 0 ? out : out + gemm_validation_text(product, options);
}

nlohmann::ordered_json set_json(const CheckedSet& set, const Dots& dots, const SetQuestion& asked) {
  nlohmann::ordered_json out{{"source", printable(set.source, longest_path)}};
  if (set.skipped.empty()) {
    out.update(dot_check_json(set.check, dots, set.instruction));
    if (!asked.rules.any()) out["touched"] = touched_json(touched_by(set.instruction, dots));
    if (asked.evidence) {
      out["aspects"] = tally_json(tally_rivals(set.instruction, dots, false, asked.rules));
    }
  } else {
    out["architecture"] = fmt::format("sm_{}", set.instruction.sm);
    out["instruction"] = instruction_name(set.instruction);
    out["skipped"] = set.skipped;
  }
  return out;
}

nlohmann::ordered_json set_json(const CheckedScalar& set) {
  nlohmann::ordered_json out{{"source", printable(set.source, longest_path)},
                             {"architecture", set.origin.architecture}};
  out.update(scalar_check_json(set.check));
  return out;
}

nlohmann::ordered_json set_json(const std::string& source, const GemmValidation& product,
                                const ValidateGemmOptions& options) {
  return {{"source", printable(source, longest_path)},
          {"product", gemm_validation_json(product, options)}};
}

std::string totals_text(const SetTotals& totals, const RuleChoice& rules) {
  std::string out =
      fmt::format("sets {}, rows {}, equal {}, different {}{}", totals.sets, totals.rows,
                  totals.equal(), totals.different, rule_choice_text(rules));
  if (totals.recorded_only > 0) out += fmt::format(", recorded only {}", totals.recorded_only);
  return out + "\n";
}

nlohmann::ordered_json sets_json(const char* schema, const std::string& device,
                                 const RuleChoice& rules, const SetTotals& totals,
                                 const nlohmann::ordered_json& compared) {
  nlohmann::ordered_json out{{"schema", schema}};
  if (!device.empty()) out["device"] = device;
  if (rules.any()) out["rules"] = words_of(rules);
  out["sets"] = totals.sets;
  out["rows"] = totals.rows;
  out["equal"] = totals.equal();
  out["different"] = totals.different;
  if (totals.recorded_only > 0) out["recorded_only"] = totals.recorded_only;
  out["compared"] = compared;
  return out;
}

}  // namespace binade
