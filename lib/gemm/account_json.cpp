// SPDX-License-Identifier: Apache-2.0
//
// Writes a GemmAccount as JSON, member by member. Doubles are in shortest round-trip form, so equal
// accounts give equal text.
#include "lib/gemm/account_json.h"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "lib/format/format_spec.h"
#include "lib/instruction/instruction_name.h"
#include "lib/version.h"

namespace binade {
namespace {

using Json = nlohmann::ordered_json;

Json integer(std::uint64_t value) {
  if (value > std::uint64_t{1} << 53) return std::to_string(value);
  return value;
}

/// Returns a sum as a magnitude of account_json.h; its integer is odd, or 0.
Json magnitude(const ExactSum& sum) {
  const auto lowest = std::ranges::find_if(sum.limbs, [](std::uint64_t x) { return x != 0; });
  if (lowest == sum.limbs.end()) return {{"value", 0.0}, {"integer", "0"}, {"exponent", 0}};
  const auto whole = static_cast<std::size_t>(lowest - sum.limbs.begin());
  const int zeros = std::countr_zero(*lowest);
  std::vector<std::uint64_t> odd;
  for (std::size_t i = whole; i < sum.limbs.size(); ++i) {
    const std::uint64_t high = i + 1 < sum.limbs.size() ? sum.limbs[i + 1] : 0;
    odd.push_back(zeros == 0 ? sum.limbs[i] : sum.limbs[i] >> zeros | high << (64 - zeros));
  }
  return {{"value", to_scaled(sum).value()},
          {"integer", to_decimal(odd)},
          {"exponent", ExactSum::unit_exponent + 64 * static_cast<int>(whole) + zeros}};
}

Json share(const ExactSum& part, const ExactSum& all) {
  return all.is_zero() ? Json(nullptr) : Json(divide(part, all).value());
}

Json format_json(const Format& f) {
  const std::string_view word = type_name(f);
  return {{"name", word == "?" ? spec_of(f) : std::string(word)},
          {"precision", f.precision},
          {"emin", is_integer(f) ? Json(nullptr) : Json(f.emin())},
          {"emax", is_integer(f) ? Json(nullptr) : Json(f.emax())}};
}

Json model_json(const GemmModel& g) {
  const bool fused = is_fused(g.model);
  const auto of_block = [fused](const Json& x) { return fused ? x : Json(nullptr); };
  return {{"recipe", recipe_name(g.model.recipe)},
          {"a", format_json(g.types.a)},
          {"b", format_json(g.types.b)},
          {"accumulator", format_json(g.types.d)},
          {"output", format_json(g.epilogue.out)},
          {"instruction_k", g.k},
          {"block", of_block(g.model.block)},
          {"fraction_bits", of_block(g.model.fraction_bits)},
          {"exponent_floor", of_block(g.model.exponent_floor)},
          {"grid", of_block(format_json(g.model.grid))},
          {"promote_every", g.sum.promote_every}};
}

Json cost_json(const Cost& cost, const ExactSum& products) {
  return {{"steps", integer(cost.steps)},       {"cut", integer(cost.cut)},
          {"vanished", integer(cost.vanished)}, {"of_products", share(cost.lost(), products)},
          {"lost", magnitude(cost.lost())},     {"raised", magnitude(cost.raised)},
          {"lowered", magnitude(cost.lowered)}};
}

Json rules_json(const GemmAccount& x) {
  Json out = Json::array();
  for (std::size_t i = 0; i < loss_rules; ++i) {
    Json row{{"rule", loss_rule_names[i].name}, {"meaning", loss_rule_names[i].meaning}};
    row.update(cost_json(x.rules[i], x.product_magnitude));
    out.push_back(row);
  }
  return out;
}

/// Returns the entries along K; in each of them rules without a step are left out.
Json positions_json(const GemmAccount& x) {
  Json out = Json::array();
  for (std::size_t at = 0; at < x.by_position.size(); ++at) {
    Json rules = Json::object();
    for (std::size_t i = 0; i < placed_loss_rules; ++i) {
      const Cost& cost = x.by_position[at][i];
      if (cost.steps == 0) continue;
      rules[loss_rule_names[i].name] = cost_json(cost, x.product_magnitude);
    }
    out.push_back({{"first_k", at * x.position_width},
                   {"end_k", std::min((at + 1) * x.position_width, std::max<std::size_t>(x.k, 1))},
                   {"products", magnitude(x.product_position[at])},
                   {"rules", rules}});
  }
  return out;
}

Json distances_json(const GemmAccount& x) {
  Json out = Json::array();
  for (std::size_t i = 0; i < x.by_distance.size(); ++i) {
    const DistanceRow& row = x.by_distance[i];
    if (row.products == 0) continue;
    out.push_back({{"distance", i},
                   {"and_beyond", i + 1 == x.by_distance.size()},
                   {"products", integer(row.products)},
                   {"cut", integer(row.cut)},
                   {"vanished", integer(row.vanished)},
                   {"magnitude", magnitude(row.magnitude)},
                   {"lost", magnitude(row.lost)}});
  }
  return out;
}

Json ratios_json(const GemmAccount& x) {
  Json out = Json::array();
  for (std::size_t i = 0; i < x.by_ratio.size(); ++i) {
    if (x.by_ratio[i] == 0) continue;
    out.push_back({{"log2", -static_cast<int>(i)},
                   {"and_below", i + 1 == x.by_ratio.size()},
                   {"elements", integer(x.by_ratio[i])}});
  }
  return out;
}

Json worst_json(const WorstElement& x) {
  if (x.ratio == 0) return nullptr;
  return {{"ratio", x.ratio}, {"row", x.row}, {"column", x.column}};
}

}  // namespace

Json to_json(const GemmAccount& x, const GemmTitle& title) {
  return {{"schema", gemm_account_schema},
          {"binade", version},
          {"instruction", title.instruction},
          {"device", title.device},
          {"order", title.order},
          {"operands", title.operands},
          {"m", x.m},
          {"n", x.n},
          {"k", x.k},
          {"model", model_json(x.model)},
          {"elements", integer(x.elements)},
          {"special", integer(x.special)},
          {"exact", integer(x.exact)},
          {"products", integer(x.products)},
          {"blocks", integer(x.blocks)},
          {"blocks_at_addend", integer(x.blocks_at_addend)},
          {"blocks_at_floor", integer(x.blocks_at_floor)},
          {"product_magnitude", magnitude(x.product_magnitude)},
          {"exact_magnitude", magnitude(x.exact_magnitude)},
          {"error", magnitude(x.error)},
          {"error_of_exact", share(x.error, x.exact_magnitude)},
          {"error_of_products", share(x.error, x.product_magnitude)},
          {"raised", magnitude(x.raised)},
          {"lowered", magnitude(x.lowered)},
          {"outward", magnitude(x.outward)},
          {"inward", magnitude(x.inward)},
          {"worst_relative", worst_json(x.worst_relative)},
          {"worst_to_products", worst_json(x.worst_to_products)},
          {"worst_to_bound", worst_json(x.worst_to_bound)},
          {"beyond_bound", integer(x.beyond_bound)},
          {"rules", rules_json(x)},
          {"position_width", x.position_width},
          {"positions", positions_json(x)},
          {"distances", distances_json(x)},
          {"error_to_bound", ratios_json(x)}};
}

}  // namespace binade
