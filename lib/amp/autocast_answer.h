// SPDX-License-Identifier: Apache-2.0
//
// Questions and answers of `binade autocast`: which rule applies to an op, and in which format it
// runs for given inputs. autocast.h and apex.h decide; this header turns options into questions,
// and decisions into text and JSON.
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

/// The command line's options, as the user typed them; an empty one was not given. `inputs` is a
/// list of formats, separated by commas.
struct AutocastWords {
  std::vector<std::string> ops;
  std::string device, list = "pytorch", inputs, dtype;
  bool json = false;
};

/// The formats of the inputs of one call, in order.
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

/// Parses the options. Throws Error if they contradict each other, or name an unknown device, list
/// or format.
AutocastQuestion autocast_question(const AutocastWords& words);

/// What autocast does with the inputs of one case.
struct AutocastOutcome {
  std::optional<Format> cast_to =
      {};  ///< of the inputs, or of the op's dtype argument; none: neither
  std::optional<Format> runs_in = {};  ///< none: the call is refused
  bool differ = false;                 ///< after the casts; false for an op with a dtype argument
  std::string refusal = {};            ///< the message with which the call is refused
};

struct AutocastAnswer {
  std::string op;
  CastPolicy rule = CastPolicy::unlisted;
  std::string_view source = {};                ///< the file that lists the op; empty: unlisted
  std::vector<AutocastOutcome> outcomes = {};  ///< one for each case of the question
  std::vector<std::string> notes = {};         ///< further remarks, a sentence each
};

/// Answers for one op. `word` is its ATen name, or another spelling of it:
/// torch.nn.functional.linear. Throws Error if no name is left of it, as of "torch.".
AutocastAnswer autocast_answer(const AutocastQuestion& q, const std::string& word);

/// Answers for each op, in order.
std::vector<AutocastAnswer> autocast_answers(const AutocastQuestion& q,
                                             const std::vector<std::string>& ops);

/// Return what the program prints, as text or JSON: the answers or, without any, the whole list,
/// which JSON gives as an answer for each of its ops.
std::string autocast_text(const AutocastQuestion& q, const std::vector<AutocastAnswer>& answers);
nlohmann::ordered_json autocast_json(const AutocastQuestion& q,
                                     const std::vector<AutocastAnswer>& answers);

/// Explains a rule in a few words.
std::string meaning_of(const AutocastQuestion& q, CastPolicy rule);

/// Returns whose list answers: "Apex", or the device's name, such as "cuda".
std::string_view owner_of(const AutocastQuestion& q);

}  // namespace binade
