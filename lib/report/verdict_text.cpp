// SPDX-License-Identifier: Apache-2.0
//
// The verdict in sentences, which the text, the page and binade.torch's advice share.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/report/held_floor.h"
#include "lib/report/loss_scale.h"
#include "lib/report/verdict.h"
#include "lib/text/error.h"
#include "lib/text/percent.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

constexpr const char* wider_than_all = "binary32";
constexpr std::size_t longest_held_name = 48;

std::string decibels(const TensorCost& cost) {
  if (std::isinf(cost.sqnr_db)) return "no rounding error";
  return fmt::format("SQNR {}{:.1f} dB", cost.estimated ? "about " : "", cost.sqnr_db);
}

/// Names a share of values that goes with hardly any of the norm, as it does beside a few very
/// large values.
std::string zeros(const TensorCost& cost) {
  constexpr double worth_naming = 0.01;
  if (cost.to_zero < worth_naming) return "";
  return fmt::format("; {} of the non-zero values become zero", percent(cost.to_zero));
}

std::string at_scale(const FormatVerdict& of) {
  switch (of.scaled_by) {
    case ScaledBy::own: return " at a scale of each tensor's own";
    case ScaledBy::loss_scale:
      return of.scale_log2 ? fmt::format(" at the loss scale 2^{}", *of.scale_log2)
                           : " (no loss scale serves)";
    case ScaledBy::nothing: break;
  }
  return " as it is";
}

/// "fc1 (lost l2 3.1 %, SQNR about 14.2 dB)": which targets it misses.
std::string held_words(const HeldBy& held, double target_sqnr, const ReportOptions& options) {
  std::vector<std::string> why;
  if (held.cost) {
    if (held.cost->overflows) why.emplace_back("too large");
    if (held.cost->lost_l2 > options.target_loss) {
      why.push_back("lost l2 " + percent(held.cost->lost_l2));
    }
    if (held.cost->sqnr_db < target_sqnr) why.push_back(decibels(*held.cost));
  } else if (held.loss_scales) {
    why.push_back(held.loss_scales->empty()
                      ? std::string("no loss scale serves it")
                      : fmt::format("needs 2^{} to 2^{}", held.loss_scales->min_log2,
                                    held.loss_scales->max_log2));
  }
  return fmt::format("{} ({})", printable(held.name, longest_held_name), fmt::join(why, ", "));
}

std::string narrower_words(const FormatVerdict& of, const RoleVerdict& role,
                           const ReportOptions& options) {
  std::vector<std::string> names;
  for (const HeldBy& held : of.held_by) {
    names.push_back(held_words(held, role.target_sqnr, options));
  }
  const std::size_t asked = role.tensors - role.negligible;
  return fmt::format(" {}{} would fail {} of {}: {}{}.", of.name, at_scale(of), of.failing, asked,
                     fmt::join(names, ", "), of.failing > names.size() ? ", …" : "");
}

/// What the formats before the chosen one would cost, back to the first that has fewer bits.
std::string all_narrower(const RoleVerdict& role, std::size_t chosen,
                         const ReportOptions& options) {
  const int bits = chosen < narrow_formats.size() ? narrow_formats[chosen].format.bits() : 32;
  std::string out;
  for (std::size_t i = chosen; i-- > 0;) {
    out += narrower_words(role.formats[i], role, options);
    if (narrow_formats[i].format.bits() < bits) break;
  }
  return out;
}

std::string role_sentence(const RoleVerdict& role, const ReportOptions& options) {
  std::size_t chosen = 0;
  while (chosen < role.formats.size() && role.formats[chosen].name != role.format) ++chosen;
  std::string out = role.role + ": ";
  if (chosen == role.formats.size()) {
    out += wider_than_all;
    out += ".";
  } else {
    const FormatVerdict& of = role.formats[chosen];
    const std::size_t asked = role.tensors - role.negligible;
    const bool together = of.scaled_by == ScaledBy::loss_scale;
    out += fmt::format(
        "{}{}; {} lost l2 {}, {}{}.", of.name, at_scale(of),
        asked == 1 ? "its" : fmt::format("{} {} tensors", together ? "all" : "at worst of", asked),
        percent(of.cost->lost_l2), decibels(*of.cost), zeros(*of.cost));
  }
  out += all_narrower(role, chosen, options);
  if (role.negligible > 0) {
    out += fmt::format(
        " Not asked: {}{}, whose norm is at most 2^{} of that of all: small beside the others, or "
        "what "
        "rounding leaves of zero.",
        printable(role.first_negligible, longest_held_name),
        role.negligible == 1 ? "" : fmt::format(" and {} more", role.negligible - 1),
        negligible_log2);
  }
  if (role.not_finite > 0) {
    out +=
        fmt::format(" {} of {} hold{} NaN or Inf, about which this says nothing.", role.not_finite,
                    role.tensors + role.nothing_finite, role.not_finite == 1 ? "s" : "");
  }
  if (role.at_floor > 0) {
    out += fmt::format(
        " Of {} of {} more than {:g} % of the norm lies at the smallest subnormals of the format "
        "that held {}: what was smaller is zero already and not in this.",
        role.at_floor, role.tensors, 100 * floor_share, role.at_floor == 1 ? "it" : "them");
  }
  return out;
}

std::string answer(const NarrowestFormats& verdict) {
  std::vector<std::string> words;
  for (const RoleVerdict& role : verdict.roles) {
    words.push_back(
        fmt::format("{} in {}", role.role, role.format.empty() ? wider_than_all : role.format));
  }
  if (!verdict.broke_at) {
    return fmt::format("{}: the narrowest that keeps range and precision.", fmt::join(words, ", "));
  }
  return fmt::format(
      "{}: the narrowest that keeps range and precision of the finite values alone. The run was "
      "not finite in step {}{}.",
      fmt::join(words, ", "), *verdict.broke_at,
      verdict.went_on ? ", and went on with finite weights"
                      : ": this is no answer for a run that trains, which may need wider ones");
}

std::string withheld_sentence(const std::string& role) {
  return role + ": no verdict, since no finite value that is not zero is left.";
}

std::string targets(const ReportOptions& options) {
  return fmt::format(
      "Targets, of every tensor: lost l2 at most {} (--target-loss), SQNR at least {:g} dB "
      "(--target-sqnr), of weights, states and others {:g} dB (--target-weight-sqnr), largest "
      "value {} binade{} below overflow (--headroom).",
      percent(options.target_loss), options.target_sqnr, options.target_weight_sqnr,
      options.headroom, options.headroom == 1 ? "" : "s");
}

std::string unknown(const NarrowestFormats& verdict, bool watched) {
  std::string out =
      "Not known here: what products and sums inside of a kernel lose, and whether a weight kept "
      "in so few bits takes its updates (keep a copy in binary32).";
  const auto state = tensor_role_name(TensorRole::state);
  if (std::ranges::find(verdict.roles, state, &RoleVerdict::role) != verdict.roles.end()) {
    out +=
        " Nor is whether a state, which sums small parts over many steps, takes them in so few "
        "bits; in binary32 it does.";
  }
  if (verdict.estimated) {
    out += " \"About\" is estimated from counts by binade, without squared errors.";
  }
  if (watched) out += " Steps that were not watched are not in it.";
  return out;
}

}  // namespace

std::vector<std::string> verdict_sentences(const NarrowestFormats& verdict,
                                           const ReportOptions& options, bool watched) {
  std::vector<std::string> out;
  if (!verdict.roles.empty()) out.push_back(answer(verdict));
  for (const RoleVerdict& role : verdict.roles) out.push_back(role_sentence(role, options));
  for (const std::string& role : verdict.withheld) out.push_back(withheld_sentence(role));
  if (verdict.roles.empty()) return out;
  out.push_back(targets(options));
  out.push_back(unknown(verdict, watched));
  return out;
}

}  // namespace binade
