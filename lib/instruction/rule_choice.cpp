// SPDX-License-Identifier: Apache-2.0
//
// Turns the options' values into the rules of a model, and back into words.
#include "lib/instruction/rule_choice.h"

#include <algorithm>
#include <charconv>

#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade {

bool has_rules(const DotModel& model) { return is_fused(model); }

DotModel with_rules(DotModel model, const RuleChoice& rules) {
  if (!rules.zero_raises.empty()) {
    const auto row = std::ranges::find(zero_raises_names, rules.zero_raises);
    if (row == zero_raises_names.end()) {
      throw Error("--zero-raises " + printable(rules.zero_raises) + " is not one of " +
                  listed(zero_raises_names));
    }
    if (has_rules(model)) {
      model.edges.zero_raises = static_cast<ZeroRaises>(row - zero_raises_names.begin());
    }
  }
  if (!rules.cut_to_zero.empty()) {
    if (std::ranges::find(cut_to_zero_names, rules.cut_to_zero) == cut_to_zero_names.end()) {
      throw Error("--cut-to-zero " + printable(rules.cut_to_zero) + " is not one of " +
                  listed(cut_to_zero_names));
    }
    if (has_rules(model)) model.edges.cut_keeps_sign = rules.cut_to_zero == "negative";
  }
  if (!rules.floor.empty()) {
    int floor = 0;
    const char* const end = rules.floor.data() + rules.floor.size();
    const auto [read, error] = std::from_chars(rules.floor.data(), end, floor);
    const bool whole = error == std::errc{} && read == end && floor >= -600 && floor <= 300;
    if (!whole && rules.floor != "none") {
      throw Error("--floor " + printable(rules.floor) +
                  " is neither an exponent from -600 to 300 nor none");
    }
    if (has_rules(model)) model.exponent_floor = whole ? floor : no_floor;
  }
  return model;
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
