// SPDX-License-Identifier: Apache-2.0
//
// Makes the words of an explanation.
#include "lib/explain/explanation_words.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "emulate/instruction_shapes.h"
#include "lib/format/format_spec.h"
#include "lib/number/encoding_text.h"
#include "lib/number/number_text.h"

namespace binade {
namespace {

constexpr std::array<std::string_view, 11> role_names{"chain",  "c last", "narrow", "promote",
                                                      "reduce", "scale",  "alpha",  "beta",
                                                      "bias",   "relu",   "output"};

std::string infinity_text(bool negative) { return negative ? "-inf" : "+inf"; }

/// Returns why a term is a NaN.
std::string nan_text(const ExplainedTerm& term, const ExplainedBlock& block) {
  const std::string name = term_name(term, block);
  if (term.place == addend_place) return name + " is NaN";
  const auto is_nan = [](const Typed& x) { return decode(x.bits, x.format).kind == Kind::nan; };
  if (is_nan(term.a)) return "a of " + name + " is NaN";
  if (is_nan(term.b)) return "b of " + name + " is NaN";
  if (term.a_scale && is_nan(*term.a_scale)) return "the scale of a of " + name + " is NaN";
  if (term.b_scale && is_nan(*term.b_scale)) return "the scale of b of " + name + " is NaN";
  return fmt::format("{} is {} * {}", name, brief_value_text(term.a), brief_value_text(term.b));
}

std::string floor_text(const DotModel& model) {
  return model.exponent_floor <= no_floor ? "no floor"
                                          : fmt::format("at least 2^{}", model.exponent_floor);
}

/// Returns how the rules of a fused sum differ from the table's: zero products, and signs of zero.
std::string edges_text(const DotModel& model) {
  std::string out;
  if (model.edges.zero_raises == ZeroRaises::single) {
    out += "; products of zero count, a zero's exponent being -126";
  }
  if (model.edges.zero_raises == ZeroRaises::emin) {
    out += "; products of zero count, a zero's exponent being its format's smallest";
  }
  if (model.edges.cut_keeps_sign) out += "; a negative sum that is rounded to zero is -0";
  return out;
}

std::string scaled_sum_text(const DotModel& model, const std::string& rounded) {
  const BlockScaling& how = model.scaling;
  const std::string terms =
      how.group == 0
          ? fmt::format(
                "each product is multiplied by a scale of a and one of b ({}), which {} share",
                type_text(how.format), how.share)
          : fmt::format(
                "{} products are added exactly and multiplied by a scale of a and one of b ({}), "
                "which {} share; their exponent is that of the scales",
                how.group, type_text(how.format), how.share);
  return fmt::format(
      "blocks of {}: {}; these and the sum so far are aligned to their largest exponent ({}), cut "
      "{} bits below it, added exactly, {}{}",
      model.block, terms, floor_text(model), model.fraction_bits, rounded, edges_text(model));
}

std::string sum_text(const DotModel& model, const DotTypes& types) {
  const Format d = types_of_sums(model, types).d;
  const std::string rounded =
      fmt::format("rounded {} to {}", rounding_text(model.rounding),
                  type_text(model.grid.precision < d.precision ? model.grid : d));
  switch (model.recipe) {
    case Recipe::fused_block:
      if (is_scaled(model)) return scaled_sum_text(model, rounded);
      return fmt::format(
          "blocks of {}: products and the sum so far are aligned to their largest exponent ({}), "
          "cut {} bits below it, added exactly, {}{}",
          model.block, floor_text(model), model.fraction_bits, rounded, edges_text(model));
    case Recipe::expanded:
      return fmt::format(
          "operands become f16; then two blocks, of k 0 1 4 5 … and of k 2 3 6 7 …: aligned to the "
          "largest exponent ({}), cut {} bits below it, added exactly, {}{}",
          floor_text(model), model.fraction_bits, rounded, edges_text(model));
    case Recipe::fma_chain: return fmt::format("d = fma(a, b, d), k ascending, each {}", rounded);
    case Recipe::mul_add_chain:
      return fmt::format("d = d + a * b, k ascending, each product and each sum {}", rounded);
    case Recipe::pairwise:
      return "fma(a1, b1, a0 * b0) and fma(a3, b3, a2 * b2) in f32, added to c one after the other";
    case Recipe::exact_integer:
      return model.integer.satfinite ? "an exact sum; the nearest end of s32 beyond its range"
                                     : "an exact sum; its low 32 bits";
  }
  return {};
}

}  // namespace

std::string type_text(const Format& f) {
  const std::string_view name = type_name(f);
  if (name != "?") return std::string(name);
  if (f == e8m0) return "ue8m0";
  if (f == ue4m3) return "ue4m3";
  if (f.exponent_bits == binary32.exponent_bits && f.bias == binary32.bias) {
    return fmt::format("f32 with {} significant bits", f.precision);
  }
  return spec_of(f);
}

std::string bits_text(const Typed& x) { return hex_bits(x.bits, x.format.storage_bits()); }

std::string brief_value_text(const Typed& x, std::size_t longest) {
  if (const auto special = special_value_text(x.bits, x.format)) return *special;
  return brief_text(value_of(x), longest);
}

std::string rounding_text(Rounding rounding) {
  if (rounding == Rounding::ties_to_even) return "to nearest, ties to even,";
  std::string words(rounding_name(rounding));
  std::ranges::replace(words, '_', ' ');
  return words;
}

std::string_view operand_role_name(Role role) { return role_names[static_cast<std::size_t>(role)]; }

std::string term_name(const ExplainedTerm& term, const ExplainedBlock& block) {
  if (term.place == addend_place) return block.starts_with_c ? "c" : "acc";
  return fmt::format("k {}", term.place);
}

std::string places_text(std::span<const int> places) {
  if (places.empty()) return "no products";
  if (places.size() == 1) return fmt::format("k {}", places[0]);
  const int first = places.front();
  const int last = places.back();
  if (last - first + 1 == static_cast<int>(places.size())) {
    return fmt::format("k {}…{}", first, last);
  }
  std::string out = "k";
  for (std::size_t i = 0; i < places.size() && i < 4; ++i) out += fmt::format(" {}", places[i]);
  return places.size() <= 4 ? out : fmt::format("{} … {}", out, last);
}

std::string places_text(const ExplainedBlock& block) {
  std::vector<int> places;
  for (const ExplainedTerm& term : block.terms) {
    if (term.place != addend_place && term.group.empty()) places.push_back(term.place);
    for (const ExplainedProduct& product : term.group) places.push_back(product.place);
  }
  return places_text(places);
}

std::string alignment_text(const ExplainedBlock& block) {
  if (!block.highest) {
    const bool floor = block.top == block.exponent_floor;
    return fmt::format("{}2^{}: every term is zero", floor ? "the floor " : "", block.top);
  }
  const ExplainedTerm& term = block.terms[static_cast<std::size_t>(*block.highest)];
  const std::string name = term_name(term, block);
  if (!block.floor_decides) return fmt::format("2^{}, of {}", block.top, name);
  if (block.top > block.exponent_floor) {
    return fmt::format("2^{}, of a product of zero, above 2^{} of {}", block.top, term.exponent,
                       name);
  }
  return fmt::format("the floor 2^{}, above 2^{} of {}", block.top, term.exponent, name);
}

std::string rounding_text(const ExplainedBlock& block) {
  const Format& to = block.result.format;
  return fmt::format("rounded {} to {}", rounding_text(block.rounding),
                     type_text(block.grid.precision < to.precision ? block.grid : to));
}

std::string special_text(const ExplainedBlock& block) {
  if (is_number(block.result)) return {};
  const std::string result = brief_value_text(block.result);
  if (!block.special) {
    return fmt::format("{}: {} is beyond the range of {}", result, brief_text(block.sum, 24),
                       type_text(block.result.format));
  }
  const ExplainedTerm* infinities[2]{};
  for (const ExplainedTerm& term : block.terms) {
    if (term.kind == Kind::nan) return "NaN: " + nan_text(term, block);
    if (term.kind == Kind::infinite) infinities[term.negative ? 1 : 0] = &term;
  }
  if (infinities[0] != nullptr && infinities[1] != nullptr) {
    return fmt::format("NaN: {} is +inf and {} is -inf", term_name(*infinities[0], block),
                       term_name(*infinities[1], block));
  }
  const ExplainedTerm& term = *infinities[infinities[0] == nullptr ? 1 : 0];
  return fmt::format("{}: {} is {}", result, term_name(term, block), infinity_text(term.negative));
}

std::string special_text(const ExplainedOperation& x) {
  if (is_number(x.result)) return {};
  const std::string result = brief_value_text(x.result);
  if (x.exact) {
    return fmt::format("{}: {} is beyond the range of {}", result, brief_text(*x.exact, 24),
                       type_text(x.result.format));
  }
  return fmt::format("{}: {}", result, formula_text(x));
}

std::string formula_text(const ExplainedOperation& x, std::size_t longest) {
  const auto text = [&](std::size_t i) { return brief_value_text(x.operands[i], longest); };
  switch (x.action) {
    case Action::add: return fmt::format("{} + {}", text(0), text(1));
    case Action::multiply: return fmt::format("{} * {}", text(0), text(1));
    case Action::multiply_add: return fmt::format("{} * {} + {}", text(0), text(1), text(2));
    case Action::convert: return text(0);
    case Action::maximum: return fmt::format("max({}, {})", text(0), text(1));
  }
  return {};
}

std::string model_text(const DotModel& model, const DotTypes& types) {
  std::string out = sum_text(model, types);
  if (model.sparse_group != 0) {
    out = fmt::format("half of every {} a take part; {}", model.sparse_group, out);
  }
  if (model.c_last) out += "; sums begin at +0, and c is added at the end, to nearest";
  if (model.scales.without_c) out += "; without c";
  if (model.scales.minus_a != model.scales.minus_b) out += "; products with the other sign";
  const bool narrows =
      (model.through_f32 || model.recipe == Recipe::pairwise) && types.d != binary32;
  if (narrows) out += fmt::format("; to {} at the end, to nearest", type_text(types.d));
  return out;
}

std::string error_in_ulps(const ExactNumber& error, const ExactNumber& exact, const Format& f) {
  const ExactNumber ulps = scaled(error, -ulp_exponent(exact, f));
  std::string text = brief_text(ulps, 12);
  if (magnitude_of(ulps) < exact_number(1)) {
    const std::string sign = ulps.negative ? "-" : "";
    text = ulps_text(ulps.magnitude());
    if (text.starts_with("just ")) {
      text = (ulps.negative ? "minus " : "") + text;
    } else {
      text = text.starts_with("about ") ? "≈" + sign + text.substr(6) : sign + text;
    }
  }
  text += " ulp";
  const double share = exact.is_zero() ? 0 : to_double(error) / to_double(magnitude_of(exact));
  if (std::abs(share) >= 1e-3) text += fmt::format(", {:.3g} %", 100 * share);
  return text;
}

std::string error_text(const ExactNumber& error, const ExactNumber& exact, const Format& f) {
  const std::string ulps = error_in_ulps(error, exact, f);
  const char* const sign = ulps.starts_with("≈") ? " " : " = ";
  return brief_text(error, 40, 12) + sign + ulps;
}

}  // namespace binade
