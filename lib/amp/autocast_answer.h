// SPDX-License-Identifier: Apache-2.0
//
// What `binade autocast` is asked and what it answers: ops, cases of inputs, the rule of each op, what it runs
// in. Decided by lib/amp, put into words here.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lib/amp/op_lists.h"
#include "lib/format/format_spec.h"

namespace binade {

/// What the user typed.
struct AutocastWords {
  std::vector<std::string> ops;
  std::string device, list = "pytorch", inputs, dtype;
  bool json = false;
};

/// Inputs of a call, in order.
struct AutocastCase {
  std::string title;  ///< "of binary16"
  std::vector<NamedOrCustom> inputs;
};

struct AutocastQuestion {
  bool apex = false;
  DeviceType device = DeviceType::cuda;
  NamedOrCustom low;
  std::vector<AutocastCase> cases;
  std::span<const ListedOp> list;
};

/// Error where the words contradict each other or name nothing.
AutocastQuestion autocast_question(const AutocastWords& words);

/// What becomes of one case.
struct AutocastOutcome {
  std::optional<Format> cast_to = {};
  std::optional<Format> runs_in = {};  ///< none: refused
  bool differ = false;                 ///< inputs of two formats reach the op
  std::string refusal = {};            ///< in which words
};

struct AutocastAnswer {
  std::string op;
  CastPolicy rule = CastPolicy::unlisted;
  std::string_view source = {};                ///< the file that lists it; empty: unlisted
  std::vector<AutocastOutcome> outcomes = {};  ///< one for each case
  std::vector<std::string> notes = {};         ///< what else there is to know, a sentence each
};

/// The op under autocast; `word` is ATen's name, or one that says the same: torch.nn.functional.linear.
AutocastAnswer autocast_answer(const AutocastQuestion& q, const std::string& word);

/// Of each op, in order.
std::vector<AutocastAnswer> autocast_answers(const AutocastQuestion& q,
                                             const std::vector<std::string>& ops);

/// What the program prints. No answers: the whole list.
std::string autocast_text(const AutocastQuestion& q, const std::vector<AutocastAnswer>& answers);
nlohmann::ordered_json autocast_json(const AutocastQuestion& q,
                                     const std::vector<AutocastAnswer>& answers);

/// What a rule means, in a few words.
std::string meaning_of(const AutocastQuestion& q, CastPolicy rule);

/// "cuda", or "Apex"
std::string_view owner_of(const AutocastQuestion& q);

}  // namespace binade
