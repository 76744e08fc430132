// SPDX-License-Identifier: Apache-2.0
//
// The ranges of a GemmModel's members.
#include "lib/gemm/model_check.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "emulate/attributes.h"
#include "emulate/stream_k.h"
#include "lib/gemm/sum_program.h"
#include "lib/text/error.h"

namespace binade {
namespace {

/// The largest --split, and the most parts that splits in each other may have together.
constexpr int most_split_parts = 4096, most_split_parts_together = 1 << 26,
              most_split_round = 1 << 30;
constexpr int most_split_run = 1 << 20, most_order_group = 64, most_instruction_k = 256;
/// The most products of an instruction that takes half of them at a time, and of which half are
/// left out (emulate/dot.h).
constexpr int most_expanded_k = 64;
constexpr int most_sparse_k = 128;
/// With more kept bits the sum of a fused block would not fit into 64 bits.
constexpr int most_fraction_bits = 52;

struct ModelNumber {
  const char* name;
  std::int64_t value, lowest, highest;
};

void require_in_range(const ModelNumber& x) {
  if (x.value >= x.lowest && x.value <= x.highest) return;
  throw Error("GemmModel: " + std::string(x.name) + " is " + std::to_string(x.value) +
              "; give an integer from " + std::to_string(x.lowest) + " to " +
              std::to_string(x.highest));
}

template <class Enum, class Names>
void require_known(const char* name, Enum value, const Names& names) {
  require_in_range(
      {name, static_cast<std::int64_t>(value), 0, static_cast<std::int64_t>(names.size()) - 1});
}

/// Formats of integers have no exponent.
bool is_of_integers(const Format& f) {
  return f.exponent_bits == 0 && f.precision >= 1 && f.precision <= 63;
}

void require_format(const char* name, const Format& f, bool integers) {
  if (integers ? is_of_integers(f) : is_valid(f)) return;
  throw Error("GemmModel: " + std::string(name) + " is no format of " +
              (integers ? "integers" : "floating-point numbers") +
              " that is computed with; give a named one");
}

void check_instruction(const GemmModel& g) {
  const DotModel& m = g.model;
  require_in_range({"k", g.k, 1, most_instruction_k});
  require_known("model.recipe", m.recipe, recipe_names);
  require_known("model.rounding", m.rounding, roundings);
  require_known("model.edges.zero_raises", m.edges.zero_raises, zero_raises_names);
  const bool integers = m.recipe == Recipe::exact_integer;
  require_format("types.a", g.types.a, integers);
  require_format("types.b", g.types.b, integers);
  require_format("types.c", g.types.c, integers);
  require_format("types.d", g.types.d, integers);
  if (is_fused(m)) {
    require_in_range({"model.block", m.block, 1, most_instruction_k});
    require_in_range({"model.fraction_bits", m.fraction_bits, 0, most_fraction_bits});
    require_in_range({"model.exponent_floor", m.exponent_floor, no_floor, -no_floor});
    require_format("model.grid", m.grid, false);
    require_in_range({"the precisions of types.a and types.b together",
                      g.types.a.precision + g.types.b.precision, 2, 62});
  }
  require_in_range({"model.sparse_group", m.sparse_group, 0, g.k});
  if (m.sparse_group != 0 && (m.sparse_group % 2 != 0 || g.k % m.sparse_group != 0)) {
    throw Error("GemmModel: model.sparse_group is " + std::to_string(m.sparse_group) +
                "; give an even divisor of k, " + std::to_string(g.k));
  }
  const bool halves = m.recipe == Recipe::expanded || m.sparse_group != 0;
  const bool both = m.recipe == Recipe::expanded && m.sparse_group != 0;
  const int multiple = both ? 8 : halves || m.recipe == Recipe::pairwise ? 4 : 1;
  const int most = m.recipe == Recipe::expanded ? most_expanded_k
                   : m.sparse_group != 0        ? most_sparse_k
                                                : most_instruction_k;
  if (g.k % multiple != 0 || g.k > most) {
    throw Error("GemmModel: k is " + std::to_string(g.k) + "; " +
                (m.sparse_group != 0 ? "sparse " : "") + std::string(recipe_name(m.recipe)) +
                " takes a multiple of " + std::to_string(multiple) + " up to " +
                std::to_string(most));
  }
}

/// The shortest K that a split with an until divides; with shorter ones, a sum would need more
/// accumulators than most_accumulators.
constexpr int least_until = 16;

void check_runs_and_order(const Split& split) {
  if (split.tail_first && (split.tail_after || split.interleave == 0)) {
    throw Error("GemmModel: tail_first of a split goes with an interleave and without tail_after");
  }
  if (split.backward < 1 || (split.backward > 1 && split.interleave == 0)) {
    throw Error(
        "GemmModel: backward of a split is at least 1, and above 1 goes with an interleave");
  }
  if (split.short_first && (split.interleave == 0 || split.backward > 1)) {
    throw Error("GemmModel: short_first of a split goes with an interleave and without backward");
  }
  if (split.tail_mul_add && !split.tail_after && !split.tail_first) {
    throw Error("GemmModel: tail_mul_add of a split goes with tail_after or tail_first");
  }
  if (split.shares == TileShares::listed && !lists_ends(split)) {
    throw Error("GemmModel: the ends of a split with listed shares have to ascend from 1 on, for " +
                ("at most " + std::to_string(most_listed_parts)) + " parts");
  }
  if (split.shares == TileShares::steps && split.ends[0] == 0) {
    throw Error("GemmModel: the first part of a split in steps is empty; give ends from 1 on");
  }
  if (!can_stream(split)) {
    throw Error(
        "GemmModel: stream of a split goes with shares of stream, tiles and groups from 1 on, "
        "groups "
        "that divide the parts, no until or first, and parts that are added in order");
  }
  if (split.interleave != 0 && (split.shares != TileShares::full || split.until != 0)) {
    throw Error("GemmModel: shares and until of a split are for runs; leave its interleave 0");
  }
  if (split.until != 0 && (split.parts != 2 || split.until < least_until)) {
    throw Error("GemmModel: until of a split is for 2 parts, and at least " +
                std::to_string(least_until));
  }
  if (split.until != 0 &&
      (split.shares == TileShares::listed || split.shares == TileShares::steps)) {
    throw Error(
        "GemmModel: until of a split halves its runs again; ends that are listed have none");
  }
  if (split.reduction == Reduction::listed && !lists_all_parts(split)) {
    throw Error("GemmModel: the order of a listed split has to name each of its parts once, from " +
                std::string("0 on, of at most ") + std::to_string(most_listed_parts) +
                ", and its first part is 0");
  }
}

void check_splits(const Accumulation& sum) {
  std::int64_t together = 1;
  bool ended = false;
  for (const Split& split : sum.splits) {
    require_in_range({"the parts of a split", split.parts, 0, most_split_parts});
    require_in_range({"the interleave of a split", split.interleave, 0, most_split_run});
    require_in_range({"the tile of a split", split.tile, 0, most_split_run});
    require_known("the reduction of a split", split.reduction, reduction_names);
    require_known("the shares of a split", split.shares, shares_names);
    require_in_range({"the first part of a split", split.first, 0, std::max(split.parts, 1) - 1});
    require_in_range({"the until of a split", split.until, 0, most_split_run});
    require_in_range({"a split's parts times interleave or tile",
                      std::int64_t{split.parts} * std::max(split.interleave, split.tile), 0,
                      most_split_round});
    if (split.parts > 1 && split.interleave != 0 && split.tile != 0) {
      throw Error(
          "GemmModel: a split has an interleave, beside which its tile has no effect; set one");
    }
    if (split.parts > 1 && split.tail_after && split.interleave == 0) {
      throw Error("GemmModel: tail_after of a split has no effect without an interleave; set both");
    }
    if (split.parts > 1) check_runs_and_order(split);
    if (split.tail_mul_add)
      require_format("the tail_mul_add of a split", *split.tail_mul_add, false);
    if (split.shares == TileShares::stream && &split != &sum.splits[0]) {
      throw Error("GemmModel: stream-K lies in another split; make it the outermost one");
    }
    if (split.parts > 1 && ended) {
      throw Error(
          "GemmModel: a split lies in one of 1 part; give the splits from the outermost on");
    }
    ended = split.parts <= 1;
    together *= std::max(split.parts, 1);
    require_in_range({"the parts of all splits together", together, 1, most_split_parts_together});
  }
}

void check_scaling(const GemmModel& g) {
  const BlockScaling& x = g.model.scaling;
  const PromotionScaling& promotion = g.sum.scaling;
  require_known("sum.scaling.order", promotion.order, scale_order_names);
  require_in_range({"sum.scaling.share", promotion.share, 0, most_split_run});
  if (promotion.share != 0 && g.sum.promote_every == 0) {
    throw Error("GemmModel: sum.scaling is what a promotion multiplies by; set promote_every, too");
  }
  if (!is_scaled(g.model)) return;
  if (promotion.share != 0) {
    throw Error("GemmModel: the instruction multiplies by scales already; leave sum.scaling out");
  }
  constexpr int least_share = 16;
  require_in_range({"model.scaling.share", x.share, least_share, g.k});
  require_in_range({"model.scaling.group", x.group, 0, x.share});
  if (x.format != e8m0 && x.format != ue4m3) {
    throw Error("GemmModel: model.scaling.format is e8m0 or ue4m3");
  }
  const int products = g.model.sparse_group == 0 ? g.k : g.k / 2;
  const auto divides = [](int one, int other) { return one == 0 || other % one == 0; };
  if (!divides(x.share, products) || !divides(x.group, x.share) ||
      !divides(x.share, g.model.block) || g.model.recipe != Recipe::fused_block) {
    throw Error(
        "GemmModel: model.scaling.share divides the products of a block and of an instruction, and "
        "its group the share, of a fused_block");
  }
}

/// Throws unless each promotion, or each group of an instruction's operands that share a scale,
/// takes products of one run of K.
void check_runs(const GemmModel& g, const AddedMatrices& added) {
  const auto run = static_cast<std::size_t>(scale_run(g));
  if (added.run != 0 && added.run != run) {
    throw Error("GemmModel: the model multiplies by " +
                (run == 0 ? std::string("no scales of runs of K")
                          : "scales of " + std::to_string(run) + " elements of K") +
                ", and the operands have scales of " + std::to_string(added.run));
  }
  if (added.run == 0) return;
  SumProgram program;
  const GemmModel here = model_of_tile(g, static_cast<int>(added.k), {});
  walk_sum(here, static_cast<int>(added.k), {}, program);
  std::size_t first = 0;
  const auto end_group = [&](std::size_t end) {
    int of = -1;
    for (; first < end; ++first) {
      if (program.order[first] < 0) continue;
      const int mine = program.order[first] / static_cast<int>(run);
      if (of >= 0 && mine != of) {
        const std::string both = "GemmModel: products of K in runs " + std::to_string(of) +
                                 " and " + std::to_string(mine) + " of " + std::to_string(run) +
                                 " would be multiplied by one scale; ";
        if (!is_scaled(g.model) && run % static_cast<std::size_t>(g.k) != 0) {
          throw Error(both + "an instruction adds " + std::to_string(g.k) +
                      " products: runs of a multiple of that have their scales, --scale-run, and "
                      "the scales given here have other ones");
        }
        throw Error(both + "promote after a number of instructions that divides " +
                    std::to_string(run / static_cast<std::size_t>(g.k)) +
                    " (--promote-every), and cut K at multiples of " + std::to_string(run));
      }
      of = mine;
    }
  };
  if (is_scaled(g.model)) {
    while (first < program.order.size()) end_group(first + run);
    return;
  }
  for (const SumStep& step : program.steps) {
    if (step.kind != StepKind::products) continue;
    end_group(step.first + static_cast<std::size_t>(step.instructions * g.k));
  }
}

}  // namespace

void check(const GemmModel& g, const AddedMatrices& added) {
  check_instruction(g);
  const KOrder& order = g.sum.order;
  require_in_range({"sum.order.group", order.group, 1, most_order_group});
  if (order.group != 1) {
    require_in_range({"sum.order.width", order.width, 1, g.k});
    if (g.k % order.width != 0) {
      throw Error("GemmModel: sum.order.width is " + std::to_string(order.width) +
                  "; give a divisor of k, " + std::to_string(g.k));
    }
  }
  require_in_range({"sum.promote_every", g.sum.promote_every, 0, std::numeric_limits<int>::max()});
  require_in_range({"sum.promote_halves", g.sum.promote_halves, 0, most_split_run});
  if (g.sum.promote_halves != 0 && g.sum.promote_every == 0) {
    throw Error("GemmModel: sum.promote_halves has no effect without promote_every; set both");
  }
  check_splits(g.sum);
  check_scaling(g);
  check_runs(g, added);
  if (added.groups && is_streamed(g)) {
    throw Error("GemmModel: stream-K divides the tiles of one product, and rows are in groups");
  }
  const auto adds_products = [](const Split& split) { return split.tail_mul_add.has_value(); };
  if (g.k != 1 && std::ranges::any_of(g.sum.splits, adds_products)) {
    throw Error("GemmModel: tail_mul_add of a split is for instructions of one product, as fma.rn");
  }
  if (g.model.recipe == Recipe::exact_integer && is_integer(g.epilogue.out)) {
    if (!added.a_scale && !added.b_scale) return;
    throw Error(
        "GemmModel: scales of a product of integers need a floating-point epilogue.out; set it");
  }
  if (g.sum.promote_every != 0) require_format("sum.promotion", g.sum.promotion, false);
  if (g.sum.splits[0].parts > 1) {
    require_format("sum.partial", g.sum.partial, false);
    require_format("sum.reduced", g.sum.format_of_sums(), false);
  }
  require_format("epilogue.compute", g.epilogue.compute, false);
  require_format("epilogue.out", g.epilogue.out, false);
  require_known("epilogue.rounding", g.epilogue.rounding, roundings);
  require_known("epilogue.scales", g.epilogue.scales, scale_order_names);
  require_known("epilogue.activation", g.epilogue.activation, activations);
  if (g.epilogue.sum) require_format("epilogue.sum", *g.epilogue.sum, false);
  if (g.epilogue.through) require_format("epilogue.through", *g.epilogue.through, false);
  const bool integer_c = g.model.recipe == Recipe::exact_integer;
  if (added.c || g.sum.c_first) require_format("c", g.c, integer_c);
  if (added.bias) require_format("bias", g.bias, false);
}

}  // namespace binade
