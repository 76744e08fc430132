// SPDX-License-Identifier: Apache-2.0
//
// Turns the options of `binade autocast` into a question and answers it for each op: autocast.h and
// apex.h decide, in an autocast scope of the requested device.
#include "lib/amp/autocast_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "lib/amp/apex.h"
#include "lib/amp/autocast.h"
#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

/// What each CastPolicy means, in its order; {} stands for the scope's format.
constexpr std::array<const char*, 7> pytorch_meanings{
    "every input is cast to {}; binary64 stays",
    "every input is cast to binary32; binary64 stays",
    "its dtype argument becomes binary32 unless the call gives one; a first input of binary64 "
    "stays",
    "the overload with a dtype argument is called, with binary32; a first input of binary64 stays",
    "every input is cast to the widest of them, {} at least; binary64 stays",
    "a call is refused",
    "runs in its inputs' dtype. An op that is made of others (cross_entropy of log_softmax and "
    "nll_loss) runs as these do",
};
constexpr std::array<const char*, 7> apex_meanings{
    "every floating input is cast to {}, binary64 too",
    "every floating input is cast to binary32, binary64 too",
    "",
    "",
    "binary16 and binary32 together are cast to binary32; inputs of one dtype stay",
    "refused where an input is binary16",
    "runs in its inputs' dtype",
};

DeviceType device_of(const std::string& word) {
  std::vector<std::string_view> names;
  for (const DeviceType device : device_types) names.push_back(device_type_name(device));
  const auto found = std::ranges::find(names, word);
  if (found != names.end()) return device_types.at(static_cast<std::size_t>(found - names.begin()));
  throw Error(fmt::format("--device {}: unknown{}; there are {}", printable(word),
                          did_you_mean(word, names), listed(names)));
}

std::vector<AutocastCase> cases_of(const std::string& inputs, const NamedOrCustom& low) {
  const NamedOrCustom wide{std::string(format_name(binary32)), binary32};
  if (inputs.empty()) {
    if (low.format == binary32) return {{"of binary32", {wide, wide}}};
    return {
        {"of " + low.name, {low, low}}, {"of binary32", {wide, wide}}, {"of both", {low, wide}}};
  }
  AutocastCase one{"of ", {}};
  for (std::string_view rest = inputs;;) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    one.inputs.push_back(parse_format(rest.substr(0, comma)));
    one.title += (one.inputs.size() == 1 ? "" : ", ") + one.inputs.back().name;
    if (comma == rest.size()) return {one};
    rest.remove_prefix(comma + 1);
  }
}

/// Finds the formats of the inputs after the casts, and the format in which the op then runs.
AutocastOutcome outcome_of(const AutocastQuestion& q, const AutocastAnswer& a,
                           const AutocastCase& given) {
  std::vector<Format> inputs;
  for (const NamedOrCustom& input : given.inputs) inputs.push_back(input.format);
  AutocastOutcome out;
  const Autocast scope(q.device, {.dtype = q.low.format});
  try {
    out.cast_to = q.apex ? apex_dtype(a.op, inputs) : autocast_dtype(q.device, a.op, inputs);
    if (a.rule == CastPolicy::fp32_set_opt_dtype || a.rule == CastPolicy::fp32_append_dtype) {
      out.runs_in = out.cast_to;
    }
    if (out.runs_in) return out;
    for (Format& input : inputs) {
      if (out.cast_to && (q.apex || is_autocast_eligible(input))) input = *out.cast_to;
    }
    Format widest = inputs.front();
    for (const Format& input : inputs) {
      out.differ = out.differ || input != inputs.front();
      widest = promote_types(widest, input);
    }
    out.runs_in = widest;
  } catch (const Error& refused) {
    out.refusal = refused.what();
  }
  return out;
}

/// Returns ATen's name for an op as people write it: torch.nn.functional.linear, aten::linear,
/// F.linear.
std::string aten_name(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> spellings{{
      {"torch.nn.functional.", ""},
      {"torch.linalg.", "linalg_"},
      {"torch.fft.", "fft_"},
      {"torch.ops.aten.", ""},
      {"torch.Tensor.", ""},
      {"torch.", ""},
      {"Tensor.", ""},
      {"aten::", ""},
      {"F.", ""},
  }};
  for (const auto& [written, meant] : spellings) {
    if (word.starts_with(written)) {
      return std::string(meant) + std::string(word.substr(written.size()));
    }
  }
  return std::string(word);
}

/// Suggests a listed name that the user may have meant. A short word resembles many names (relu
/// prelu, mean tan), so it must be the beginning of the name.
std::string meant_name(const std::string& word, std::span<const ListedOp> list) {
  const std::string lower = lower_case(word);
  std::vector<std::string_view> names;
  for (const ListedOp& row : list) {
    const bool begins = word.size() >= 4 && row.name.starts_with(lower);
    if (word.size() >= 6 || begins || row.name == lower) names.push_back(row.name);
  }
  return did_you_mean(word, names);
}

/// Returns a remark on an op that is not on the requested list, such as which other lists have it;
/// may be empty.
std::string unlisted_note(const AutocastQuestion& q, const std::string& op) {
  const std::string base = op.substr(0, op.empty() ? 0 : op.size() - 1);
  const bool in_place = op.ends_with('_') && !op.ends_with("__");
  if (in_place && std::ranges::find(q.list, base, &ListedOp::name) != q.list.end()) {
    return printable(op) +
           (q.apex ? ": a call in place has rules of its own in Apex, which are not shown"
                   : ": a call in place is not cast");
  }
  std::string others;
  const auto add = [&others](std::string_view whose, CastPolicy rule) {
    if (rule == CastPolicy::unlisted) return;
    others += fmt::format("{}{}'s ({})", others.empty() ? "; it is on " : ", ", whose,
                          cast_policy_name(rule));
  };
  for (const DeviceType device : device_types) {
    if (q.apex || device != q.device) add(device_type_name(device), cast_policy(device, op));
  }
  if (!q.apex) add("Apex", apex_cast_policy(op));
  const bool known =
      std::ranges::find(op_list_changes(), op, &OpListChange::op) != op_list_changes().end();
  const std::string more = others.empty() && !known ? meant_name(op, q.list) : others;
  if (more.empty()) return "";
  return fmt::format("{} is not on {}'s list{}", printable(op), owner_of(q), more);
}

}  // namespace

AutocastQuestion autocast_question(const AutocastWords& words) {
  constexpr std::array<std::string_view, 2> lists{"pytorch", "apex"};
  if (std::ranges::find(lists, words.list) == lists.end()) {
    throw Error(fmt::format("--list {}: unknown{}; there are {}", printable(words.list),
                            did_you_mean(words.list, lists), listed(lists)));
  }
  AutocastQuestion q;
  q.apex = words.list == "apex";
  if (q.apex && !words.device.empty()) {
    throw Error("--device has no effect with --list apex: Apex's lists are for CUDA; leave it out");
  }
  if (!words.device.empty()) q.device = device_of(words.device);
  const Format usual = q.apex ? binary16 : default_autocast_dtype(q.device);
  q.low = words.dtype.empty() ? NamedOrCustom{spec_of(usual), usual} : parse_format(words.dtype);
  if (q.apex && q.low.format != binary16) {
    throw Error(
        fmt::format("--dtype {}: Apex casts to binary16 alone; leave it out, or take "
                    "--list pytorch",
                    q.low.name));
  }
  if (!words.inputs.empty() && words.ops.empty() && !words.json) {
    throw Error("--inputs has no effect without an OP: name one, or leave it out");
  }
  q.cases = cases_of(words.inputs, q.low);
  q.list = q.apex ? apex_op_list() : op_list(q.device);
  return q;
}

std::string_view owner_of(const AutocastQuestion& q) {
  return q.apex ? "Apex" : device_type_name(q.device);
}

std::string meaning_of(const AutocastQuestion& q, CastPolicy rule) {
  const auto& meanings = q.apex ? apex_meanings : pytorch_meanings;
  return fmt::format(fmt::runtime(meanings.at(static_cast<std::size_t>(rule))), q.low.name);
}

AutocastAnswer autocast_answer(const AutocastQuestion& q, const std::string& word) {
  AutocastAnswer a{.op = aten_name(word)};
  if (a.op.empty()) {
    throw Error(fmt::format("OP '{}' has no name; ops are called as in ATen, such as addmm",
                            printable(word)));
  }
  for (const OpListChange& change : op_list_changes()) {
    if (!q.apex && change.device == q.device && change.op == a.op) {
      a.notes.push_back(fmt::format("{} is {}", a.op, change.what));
    }
  }
  const auto row = std::ranges::find(q.list, a.op, &ListedOp::name);
  if (row != q.list.end()) {
    a.rule = row->policy;
    a.source = row->source;
  } else if (a.notes.empty()) {
    if (const std::string note = unlisted_note(q, a.op); !note.empty()) a.notes.push_back(note);
  }
  for (const AutocastCase& given : q.cases) {
    a.outcomes.push_back(outcome_of(q, a, given));
    std::string why = a.outcomes.back().refusal;
    if (why.empty()) continue;
    if (!why.starts_with(a.op)) why = fmt::format("{}: {}", printable(a.op), why);
    if (std::ranges::find(a.notes, why) == a.notes.end()) a.notes.push_back(why);
  }
  return a;
}

}  // namespace binade
