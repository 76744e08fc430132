// SPDX-License-Identifier: Apache-2.0
//
// Compares the rows of dot products that a user names, and tells what differs.
#include "lib/validate/dot_answer.h"

#include <fmt/format.h>

#include <utility>

#include <nlohmann/json.hpp>

#include "lib/evidence/json.h"
#include "lib/evidence/tally.h"
#include "lib/instruction/instruction_name.h"
#include "lib/number/encoding_text.h"
#include "lib/number/ulp_distance.h"
#include "lib/text/spelling.h"
#include "lib/validate/dot_text.h"

namespace binade {
namespace {

std::string explained_by(const DotOptions& dots, const std::vector<std::string>& rules,
                         std::uint64_t row) {
  std::vector<std::string> words{"--arch", dots.architecture, "--instruction", dots.instruction,
                                 "--a",    dots.files.a,      "--b",           dots.files.b,
                                 "--d",    dots.files.d};
  if (!dots.c.empty()) words.insert(words.end() - 2, {"--c", dots.c});
  for (const auto& [option, path] :
       {std::pair{"--a-scale", dots.files.a_scale}, std::pair{"--b-scale", dots.files.b_scale}}) {
    if (!path.empty()) words.insert(words.end() - 2, {option, path});
  }
  words.insert(words.end(), rules.begin(), rules.end());
  return row_explained(std::move(words), row);
}

}  // namespace

nlohmann::ordered_json dot_check_json(const DotCheck& check, const Dots& dots,
                                      const Instruction& how) {
  nlohmann::ordered_json out{{"architecture", fmt::format("sm_{}", how.sm)},
                             {"instruction", instruction_name(how)},
                             {"evidence", evidence_name(brief_of(how).evidence)},
                             {"rows", check.rows},
                             {"equal", check.equal()},
                             {"different", check.different},
                             {"differences", nlohmann::ordered_json::array()}};
  for (const DotDifference& x : check.first) {
    const Format& d = how.types.d;
    const auto distance = ulp_distance(x.recorded, x.emulated, d);
    nlohmann::ordered_json row{{"row", x.row},
                               {"c", hexadecimal(dots.c[x.row], how.types.c)},
                               {"recorded", hexadecimal(x.recorded, d)},
                               {"emulated", hexadecimal(x.emulated, d)},
                               {"ulp_distance", nullptr}};
    if (distance) row["ulp_distance"] = *distance;
    out["differences"].push_back(row);
  }
  return out;
}

std::string row_explained(std::vector<std::string> words, std::uint64_t row) {
  words.insert(words.begin(), {"binade", "explain", "dots"});
  words.insert(words.end(), {"--row", std::to_string(row)});
  return fmt::format("  explain   {}\n", command_line(words));
}

DotValidation validated(const CheckedDots& options) {
  const Instruction instruction = instruction_of(options.dots);
  Instruction ruled = instruction;
  ruled.model = ruled_model(ruled.model, options.dots.instruction, options.rules);
  Dots dots = read_dots(files_of(options.dots), instruction);
  DotCheck check = check_dots(dots, ruled, options.show);
  return {instruction, std::move(dots), std::move(check)};
}

nlohmann::ordered_json dot_validation_json(const DotValidation& x, const CheckedDots& options) {
  nlohmann::ordered_json out{{"schema", "binade.validate_dots/1"}};
  out.update(dot_check_json(x.check, x.dots, x.instruction));
  if (options.rules.any()) {
    out["rules"] = words_of(options.rules);
  } else {
    out["touched"] = touched_json(touched_by(x.instruction, x.dots));
  }
  if (options.evidence) {
    out["aspects"] = tally_json(tally_rivals(x.instruction, x.dots, false, options.rules));
  }
  return out;
}

std::string dot_validation_text(const DotValidation& x, const CheckedDots& options) {
  std::string out;
  for (const DotDifference& difference : x.check.first) {
    const bool first = &difference == x.check.first.data();
    out += difference_text(difference, x.dots, x.instruction) + "\n";
    if (first) out += explained_by(options.dots, words_of(options.rules), difference.row);
  }
  const Brief known = brief_of(x.instruction);
  out += fmt::format("sm_{} {}{}: {} ({})\n{}{}", x.instruction.sm, instruction_name(x.instruction),
                     rule_choice_text(options.rules), evidence_name(known.evidence), known.source,
                     known.open.empty() ? "" : "  " + known.open, known.open.empty() ? "" : "\n");
  if (options.evidence) {
    out += tally_text(tally_rivals(x.instruction, x.dots, false, options.rules),
                      options.rules.any() ? "chosen" : "binade");
  }
  const std::string touched =
      options.rules.any() ? "" : touched_text(touched_by(x.instruction, x.dots), "rows");
  if (!touched.empty()) out += touched + "\n";
  return out + fmt::format("rows {}, equal {}, different {}\n", x.check.rows, x.check.equal(),
                           x.check.different);
}

}  // namespace binade
