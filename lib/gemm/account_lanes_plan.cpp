// SPDX-License-Identifier: Apache-2.0
//
// Decides which models the lanes can count, computes the places of their blocks, and decodes
// operands for them.
#include "lib/gemm/account_lanes_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "emulate/fast/dot_blocks.h"
#include "lib/parallel/parallel.h"

namespace binade::lanes {
namespace {

bool is_ieee(const Format& f) { return f.specials == Specials::ieee && f.has_sign && f.has_zero; }

bool has_known_rounding(const GemmModel& g) {
  const Rounding rounding = g.model.rounding;
  return (rounding == Rounding::toward_zero || rounding == Rounding::ties_to_even) &&
         std::ranges::all_of(std::array{g.types.c, g.types.d, g.model.grid, g.sum.promotion,
                                        g.sum.partial, g.sum.format_of_sums()},
                             is_ieee);
}

/// Computes the places and the blocks of the plan's instructions. Returns false if the products of
/// an instruction lie in several positions.
bool place_blocks(AccountLanesPlan& plan, std::size_t position_width) {
  const GemmModel& g = plan.model;
  const bool expanded = g.model.recipe == Recipe::expanded;
  const int part = expanded ? g.k / 2 : g.k;
  const int products = std::min(g.model.block, part);
  if (part % products != 0) return false;
  plan.instruction_blocks = static_cast<std::size_t>(g.k / products);
  for (std::size_t first = 0; first < plan.program.order.size();
       first += static_cast<std::size_t>(g.k)) {
    std::int64_t position = -1;
    for (int i = 0; i < g.k; ++i) {
      const int at = expanded ? expanded_index(i, g.k) : i;
      const int place = plan.program.order[first + static_cast<std::size_t>(at)];
      plan.places.push_back(place);
      const auto here =
          place < 0 ? position
                    : static_cast<std::int64_t>(static_cast<std::size_t>(place) / position_width);
      if (here < 0 || (position >= 0 && here != position)) return false;
      position = here;
      if (i % products != 0) continue;
      plan.blocks.push_back(
          {static_cast<int>(first) + i, products, static_cast<std::size_t>(here)});
    }
  }
  return true;
}

}  // namespace

AccountLanesPlan account_lanes_plan(const GemmModel& model, const GemmOperands& x,
                                    std::size_t position_width) {
  AccountLanesPlan out{.model = model};
  const DotTypes& types = model.types;
  const Epilogue& e = model.epilogue;
  out.plain_epilogue = x.c.empty() && x.bias.empty() && e.alpha == 1 && !e.saturate &&
                       is_ieee(e.out) && e.is_direct() && e.rounding == Rounding::ties_to_even;
  if (x.k == 0 || is_streamed(model) || scale_run(model) != 0 ||
      !fast::is_predecodable(model.model, types) || !has_known_rounding(model)) {
    return out;
  }
  out.product_bits = fast::block_operand(model.model, types.a).fraction_bits() +
                     fast::block_operand(model.model, types.b).fraction_bits();
  walk_sum(model, static_cast<int>(x.k), {}, out.program);
  out.sum_format = final_format(out.program, model);
  const bool with_c = std::ranges::any_of(
      out.program.steps, [](const SumStep& step) { return step.kind == StepKind::push_c; });
  out.known = out.product_bits <= 20 && !with_c && out.program.depth() + 1 <= most_depth &&
              place_blocks(out, position_width);
  return out;
}

std::size_t rows_at_once(const AccountLanesPlan& plan, std::size_t positions) {
  const GemmModel& g = plan.model;
  std::vector<std::size_t> blocks(positions);
  for (const LaneBlock& block : plan.blocks) ++blocks[block.position];
  int kept_bits = g.model.fraction_bits - 6;  // sums of 64 products that each lose less than a unit
  for (const Format& f : {g.model.grid, g.types.c, g.types.d, g.sum.promotion, g.epilogue.out}) {
    kept_bits = std::min(kept_bits, f.fraction_bits());
  }
  const std::size_t by_losses =
      (std::size_t{1} << std::min(kept_bits + 62 - room, 32)) / std::ranges::max(blocks);
  const std::size_t by_cells =
      static_cast<std::size_t>(most_in_cell) / (count * plan.places.size());
  constexpr std::size_t most_rows = 64;
  return std::min({most_rows, by_losses, by_cells});
}

FactorLines lines_of(const AccountLanesPlan& plan, const std::vector<std::uint64_t>& codes,
                     std::size_t k, const Format& f) {
  const std::size_t places = plan.places.size();
  const DotModel& model = plan.model.model;
  const int fraction_bits = fast::block_operand(model, f).fraction_bits();
  FactorLines out;
  out.order.resize(codes.size() / k);
  out.factors.resize(out.order.size() * places);
  parallel_for(out.order.size(), 8, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) {
      FactorLine& line = out.order[i];
      line.number = i;
      line.lowest = std::numeric_limits<std::int16_t>::max();
      double squares = 0;
      for (std::size_t at = 0; at < places; ++at) {
        if (plan.places[at] < 0) continue;
        fast::Factor factor;
        const std::uint64_t code = codes[i * k + static_cast<std::size_t>(plan.places[at])];
        line.usable = fast::predecode_one(model, f, code, factor) && line.usable;
        if (factor.significand == 0) continue;
        const int exponent = factor.exponent - fraction_bits;
        out.factors[i * places + at] = {factor.significand, exponent};
        line.lowest = std::min(line.lowest, exponent);
        const double value = std::ldexp(factor.significand, exponent);
        squares += value * value;
      }
      line.norm = std::sqrt(squares);
    }
  });
  std::ranges::stable_sort(out.order, [](const FactorLine& x, const FactorLine& y) {
    return std::pair(x.usable, x.norm) > std::pair(y.usable, y.norm);
  });
  return out;
}

}  // namespace binade::lanes
