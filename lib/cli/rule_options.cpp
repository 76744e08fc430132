// SPDX-License-Identifier: Apache-2.0
//
// The options --zero-raises, --floor and --cut-to-zero, and back to words.
#include "lib/cli/rule_options.h"

#include "lib/text/error.h"

namespace binade {

void add_rule_options(App app, RuleChoice& rules) {
  const char* const group = "Rules of fused sums, in place of the table's";
  app.add_option("--zero-raises", rules.zero_raises,
                 "whether a product of zero counts towards the largest exponent: never; single, a "
                 "zero's own exponent being -126 (MMA-Sim, arXiv 2511.10909v1); emin, its format's")
      .type_name("RULE")
      .group(group);
  app.add_option(
         "--floor", rules.floor,
         "the exponent that the largest is at least: -600 to 300 (-126: MMA-Sim v1), or none")
      .type_name("E")
      .group(group);
  app.add_option("--cut-to-zero", rules.cut_to_zero,
                 "the sign of a zero that a negative sum is rounded to (not of what alignment cut "
                 "before): positive; negative (MATLAB-tensor-core)")
      .type_name("SIGN")
      .group(group);
}

DotModel ruled_model(const DotModel& model, const std::string& instruction,
                     const RuleChoice& rules) {
  if (rules.any() && !has_rules(model)) {
    throw Error(printable(instruction) +
                " is no fused sum: --zero-raises, --floor and --cut-to-zero say nothing of it");
  }
  return with_rules(model, rules);
}

std::string rule_choice_text(const RuleChoice& rules) {
  std::string out;
  for (const std::string& word : words_of(rules)) out += " " + word;
  return out.empty() ? out : " with" + out;
}

std::vector<std::string> words_of(const RuleChoice& rules) {
  std::vector<std::string> out;
  const auto add = [&out](const char* option, const std::string& value) {
    if (!value.empty()) out.insert(out.end(), {option, value});
  };
  add("--zero-raises", rules.zero_raises);
  add("--floor", rules.floor);
  add("--cut-to-zero", rules.cut_to_zero);
  return out;
}

}  // namespace binade
