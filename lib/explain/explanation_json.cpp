// SPDX-License-Identifier: Apache-2.0
//
// Writes an explanation as JSON: one function for each kind of step, and one place that spells
// numbers.
#include "lib/explain/explanation_json.h"

#include <nlohmann/json.hpp>

#include <string>

#include "lib/explain/explanation_words.h"
#include "lib/explain/suspicion.h"

namespace binade {
namespace {

using Json = nlohmann::ordered_json;

Json exact_number_json(const ExactNumber& x) {
  return {{"exact", exact_text(x)}, {"double", to_double(x)}};
}

Json exact_number_json(const std::optional<ExactNumber>& x) {
  return x ? exact_number_json(*x) : Json(nullptr);
}

Json typed_json(const Typed& x) {
  Json out{{"bits", bits_text(x)}, {"type", type_text(x.format)}};
  if (!is_number(x)) {
    out["exact"] = brief_value_text(x);
    out["double"] = nullptr;
    return out;
  }
  out.update(exact_number_json(value_of(x)));
  const bool minus_zero = !is_integer(x.format) && decode(x.bits, x.format).negative;
  if (minus_zero && value_of(x).is_zero()) {
    out["exact"] = "-0";
    out["double"] = -0.0;
  }
  return out;
}

Json typed_json(const std::optional<Typed>& x) { return x ? typed_json(*x) : Json(nullptr); }

Json term_json(const ExplainedTerm& term, const ExplainedBlock& block) {
  Json out{{"term", term_name(term, block)}};
  if (term.place == addend_place) {
    out["value"] = typed_json(term.a);
  } else {
    out["k"] = term.place;
    out["a"] = typed_json(term.a);
    out["b"] = typed_json(term.b);
  }
  if (!term.group.empty()) {
    out["group"] = Json::array();
    for (const ExplainedProduct& x : term.group) {
      out["group"].push_back({{"k", x.place}, {"a", typed_json(x.a)}, {"b", typed_json(x.b)}});
    }
  }
  if (term.a_scale) {
    out["a_scale"] = typed_json(*term.a_scale);
    out["b_scale"] = typed_json(*term.b_scale);
  }
  if (term.kind == Kind::nan || term.kind == Kind::infinite) {
    out["special"] = term.kind == Kind::nan ? "NaN" : term.negative ? "-inf" : "inf";
    return out;
  }
  if (term.place != addend_place) out["product"] = exact_number_json(term.exact);
  if (term.kind == Kind::finite) out["exponent"] = term.exponent;
  out["units"] = term.units;
  out["cut_by_alignment"] = exact_number_json(term.cut_by_alignment);
  out["cut_by_floor"] = exact_number_json(term.cut_by_floor);
  return out;
}

Json step_json(const ExplainedBlock& block) {
  Json out{{"step", "block"}, {"terms", Json::array()}};
  for (const ExplainedTerm& term : block.terms) out["terms"].push_back(term_json(term, block));
  if (!block.is_integer) {
    out["top"] = block.top;
    out["unit"] = block.unit;
    out["exponent_floor"] = block.exponent_floor;
    const bool by_floor = block.floor_decides || !block.highest;
    const auto highest = static_cast<std::size_t>(block.highest.value_or(0));
    out["set_by"] = by_floor ? (block.top == block.exponent_floor ? "floor" : "zero product")
                             : term_name(block.terms[highest], block);
    out["rounding"] = rounding_name(block.rounding);
    out["grid"] = type_text(block.grid);
  }
  if (!block.special) {
    out["units"] = block.units;
    out["sum"] = exact_number_json(block.sum);
  }
  out["result"] = typed_json(block.result);
  out["rounding_error"] = exact_number_json(block.rounding_error);
  if (const std::string special = special_text(block); !special.empty()) out["special"] = special;
  return out;
}

Json step_json(const ExplainedOperation& x) {
  constexpr std::string_view actions[]{"add", "multiply", "multiply_add", "convert", "maximum"};
  Json out{{"step", "operation"},
           {"role", operand_role_name(x.role)},
           {"operation", actions[static_cast<std::size_t>(x.action)]}};
  if (x.role == Role::chain && x.place >= 0) out["k"] = x.place;
  out["operands"] = Json::array();
  for (const Typed& operand : x.operands) out["operands"].push_back(typed_json(operand));
  out["exact"] = exact_number_json(x.exact);
  out["result"] = typed_json(x.result);
  out["error"] = exact_number_json(x.error);
  if (x.random) out["random"] = *x.random;
  return out;
}

Json step_json(const ExplainedMark& x) {
  constexpr std::string_view marks[]{"zero", "c", "instruction"};
  return {{"step", "mark"},
          {"mark", marks[static_cast<std::size_t>(x.mark)]},
          {"accumulator", typed_json(x.accumulator)}};
}

Json dot_model_json(const DotModel& model, const DotTypes& types) {
  Json out{{"recipe", recipe_name(model.recipe)}, {"text", model_text(model, types)}};
  if (is_fused(model)) {
    out["block"] = model.block;
    out["fraction_bits"] = model.fraction_bits;
    out["exponent_floor"] = model.exponent_floor;
  }
  return out;
}

}  // namespace

nlohmann::ordered_json explanation_json(const Explanation& x) {
  Json out{{"schema", "binade.explain/1"}, {"instruction", x.instruction}};
  out["architecture"] = x.sm == 0 ? Json(nullptr) : Json("sm_" + std::to_string(x.sm));
  out["evidence"] = evidence_name(x.known.evidence);
  out["model"] = dot_model_json(x.model, x.types);
  out["a"] = Json::array();
  out["b"] = Json::array();
  for (const Typed& a : x.a) out["a"].push_back(typed_json(a));
  for (const Typed& b : x.b) out["b"].push_back(typed_json(b));
  out["c"] = typed_json(x.c);
  out["bias"] = typed_json(x.bias);
  out["a_scale"] = typed_json(x.a_scale);
  out["b_scale"] = typed_json(x.b_scale);
  if (x.scale_run != 0) {
    out["a_scales"] = Json::array();
    out["b_scales"] = Json::array();
    for (const Typed& scale : x.a_scales) out["a_scales"].push_back(typed_json(scale));
    for (const Typed& scale : x.b_scales) out["b_scales"].push_back(typed_json(scale));
    out["scale_run"] = x.scale_run;
  }
  out["left_out"] = x.left_out;
  out["steps"] = Json::array();
  for (const Step& step : x.steps) {
    out["steps"].push_back(std::visit([](const auto& s) { return step_json(s); }, step));
  }
  out["sum"] = typed_json(x.sum);
  out["exact_sum"] = exact_number_json(x.exact_sum);
  out["sum_error"] = exact_number_json(x.sum_error());
  out["errors"] = nullptr;
  if (x.sum_error()) {
    out["errors"] = {{"alignment", exact_number_json(x.errors.alignment)},
                     {"floor", exact_number_json(x.errors.floor)},
                     {"blocks", exact_number_json(x.errors.blocks)},
                     {"operations", exact_number_json(x.errors.operations)}};
  }
  out["result"] = typed_json(x.result);
  out["exact"] = exact_number_json(x.exact);
  out["error"] = exact_number_json(x.error());
  out["error_ulp"] = nullptr;
  if (x.error()) {
    out["error_ulp"] =
        exact_number_json(scaled(*x.error(), -ulp_exponent(*x.exact, x.result.format)));
  }
  out["hardware"] = typed_json(x.hardware);
  out["as_if"] = suspicions(x);
  return out;
}

}  // namespace binade
