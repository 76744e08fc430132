// SPDX-License-Identifier: Apache-2.0
//
// The explanation as JSON: one function a kind of step, numbers spelled in one place.
#include "lib/explain/json.h"

#include <nlohmann/json.hpp>

#include <string>

#include "lib/explain/suspicion.h"
#include "lib/explain/words.h"

namespace binade {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const ExactNumber& x) { return {{"exact", exact_text(x)}, {"double", to_double(x)}}; }

Json json_of(const std::optional<ExactNumber>& x) { return x ? json_of(*x) : Json(nullptr); }

Json json_of(const Typed& x) {
  Json out{{"bits", bits_text(x)}, {"type", type_text(x.format)}};
  if (!is_number(x)) {
    out["exact"] = value_text(x);
    out["double"] = nullptr;
    return out;
  }
  out.update(json_of(value_of(x)));
  const bool minus_zero = !is_integer(x.format) && decode(x.bits, x.format).negative;
  if (minus_zero && value_of(x).is_zero()) {
    out["exact"] = "-0";
    out["double"] = -0.0;
  }
  return out;
}

Json json_of(const std::optional<Typed>& x) { return x ? json_of(*x) : Json(nullptr); }

Json json_of(const ExplainedTerm& term, const ExplainedBlock& block) {
  Json out{{"term", name_of(term, block)}};
  if (term.place == addend_place) {
    out["value"] = json_of(term.a);
  } else {
    out["k"] = term.place;
    out["a"] = json_of(term.a);
    out["b"] = json_of(term.b);
  }
  if (term.kind == Kind::nan || term.kind == Kind::infinite) {
    out["special"] = term.kind == Kind::nan ? "NaN" : term.negative ? "-inf" : "inf";
    return out;
  }
  if (term.place != addend_place) out["product"] = json_of(term.exact);
  if (term.kind == Kind::finite) out["exponent"] = term.exponent;
  out["units"] = term.units;
  out["cut_by_alignment"] = json_of(term.cut_by_alignment);
  out["cut_by_floor"] = json_of(term.cut_by_floor);
  return out;
}

Json json_of(const ExplainedBlock& block) {
  Json out{{"step", "block"}, {"terms", Json::array()}};
  for (const ExplainedTerm& term : block.terms) out["terms"].push_back(json_of(term, block));
  if (!block.is_integer) {
    out["top"] = block.top;
    out["unit"] = block.unit;
    out["exponent_floor"] = block.exponent_floor;
    const bool by_floor = block.floor_decides || !block.highest;
    const auto highest = static_cast<std::size_t>(block.highest.value_or(0));
    out["set_by"] = by_floor ? (block.top == block.exponent_floor ? "floor" : "zero product")
                             : name_of(block.terms[highest], block);
    out["rounding"] = name_of(block.rounding);
    out["grid"] = type_text(block.grid);
  }
  if (!block.special) {
    out["units"] = block.units;
    out["sum"] = json_of(block.sum);
  }
  out["result"] = json_of(block.result);
  out["rounding_error"] = json_of(block.rounding_error);
  if (const std::string special = special_text(block); !special.empty()) out["special"] = special;
  return out;
}

Json json_of(const ExplainedOperation& x) {
  constexpr std::string_view actions[]{"add", "multiply", "multiply_add", "convert"};
  Json out{{"step", "operation"},
           {"role", name_of(x.role)},
           {"operation", actions[static_cast<std::size_t>(x.action)]}};
  if (x.role == Role::chain && x.place >= 0) out["k"] = x.place;
  out["operands"] = Json::array();
  for (const Typed& operand : x.operands) out["operands"].push_back(json_of(operand));
  out["exact"] = json_of(x.exact);
  out["result"] = json_of(x.result);
  out["error"] = json_of(x.error);
  return out;
}

Json json_of(const ExplainedMark& x) {
  constexpr std::string_view marks[]{"zero", "c", "instruction"};
  return {{"step", "mark"},
          {"mark", marks[static_cast<std::size_t>(x.mark)]},
          {"accumulator", json_of(x.accumulator)}};
}

Json json_of(const DotModel& model, const DotTypes& types) {
  Json out{{"recipe", name_of(model.recipe)}, {"text", model_text(model, types)}};
  if (is_fused(model)) {
    out["block"] = model.block;
    out["fraction_bits"] = model.fraction_bits;
    out["exponent_floor"] = model.exponent_floor;
  }
  return out;
}

}  // namespace

nlohmann::ordered_json json_of(const Explanation& x) {
  Json out{{"schema", "binade.explain/1"}, {"instruction", x.instruction}};
  out["architecture"] = x.sm == 0 ? Json(nullptr) : Json("sm_" + std::to_string(x.sm));
  out["evidence"] = name_of(x.known.evidence);
  out["model"] = json_of(x.model, x.types);
  out["a"] = Json::array();
  out["b"] = Json::array();
  for (const Typed& a : x.a) out["a"].push_back(json_of(a));
  for (const Typed& b : x.b) out["b"].push_back(json_of(b));
  out["c"] = json_of(x.c);
  out["bias"] = json_of(x.bias);
  out["left_out"] = x.left_out;
  out["steps"] = Json::array();
  for (const Step& step : x.steps) {
    out["steps"].push_back(std::visit([](const auto& s) { return json_of(s); }, step));
  }
  out["sum"] = json_of(x.sum);
  out["exact_sum"] = json_of(x.exact_sum);
  out["sum_error"] = json_of(x.sum_error());
  out["errors"] = nullptr;
  if (x.sum_error()) {
    out["errors"] = {{"alignment", json_of(x.errors.alignment)},
                     {"floor", json_of(x.errors.floor)},
                     {"blocks", json_of(x.errors.blocks)},
                     {"operations", json_of(x.errors.operations)}};
  }
  out["result"] = json_of(x.result);
  out["exact"] = json_of(x.exact);
  out["error"] = json_of(x.error());
  out["error_ulp"] = nullptr;
  if (x.error()) {
    out["error_ulp"] = json_of(scaled(*x.error(), -ulp_exponent(*x.exact, x.result.format)));
  }
  out["hardware"] = json_of(x.hardware);
  out["as_if"] = suspicions(x);
  return out;
}

}  // namespace binade
