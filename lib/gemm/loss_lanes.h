// SPDX-License-Identifier: Apache-2.0
//
// Eight elements of a product at once, and what they lose: each accumulator, its exact value and the bound on
// their distance as multiples of one 2^unit in 64 bits, losses as masks of them. Equal to the trace of loss.h and
// the walk of error_walk.h in every number; an element that does not fit is left.
//
//     product    |a|·|b| << e         e: its exponent, less the unit's
//     lost       `-- & 2^cut - 1      cut = top - F
//     sum        Σ ± (product - lost), exact
//     rounded    of the sum its highest bits
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "emulate/gemm.h"
#include "lib/gemm/lane_plan.h"
#include "lib/gemm/loss.h"

namespace binade::lanes {

/// Of one rule, lane by lane, in units.
struct LaneCost {
  Long steps{}, cut{}, vanished{}, raised{}, lowered{};
};

/// Products with one top, distance and fate: how many (from bit 44 on) and their significands; of these the bits lost.
using Cell [[gnu::vector_size(16)]] = std::uint64_t;
inline constexpr int cell_count_bit = 44;
static_assert(std::uint64_t{most_in_cell} << cell_count_bit == 0);
enum Fate : std::uint8_t { kept, cut, gone, fates };
inline constexpr int cell_distances = 64;  ///< the last for products of zero
inline constexpr int cell_tops = 64;
constexpr std::size_t cell_of(int top, int fate, int distance) {
  return static_cast<std::size_t>((top * fates + fate) * cell_distances + distance);
}

/// What some elements lost, all in units of one 2^unit.
struct LaneAccount {
  explicit LaneAccount(std::size_t positions)
      : by_position(positions), magnitudes(positions), cells(cell_of(cell_tops, 0, 0)) {}

  std::vector<std::array<LaneCost, placed_loss_rules>> by_position;
  std::array<LaneCost, loss_rules> rules{};  ///< those without a position
  struct Magnitude {
    Long low{}, high{};  ///< the 32 lower bits, the others
  };
  std::vector<Magnitude> magnitudes;  ///< Σ|product|
  std::vector<Cell> cells;
  Long blocks{}, at_addend{}, at_floor{};

  LaneAccount& operator-=(const LaneAccount& other);
};

/// Of eight columns.
struct LaneFactors {
  Int significand{}, exponent = Int{} + zero_exponent;
};

/// The eight elements' operands; 2^unit is taken from those of b.
struct LaneOperands {
  const Factor* a = nullptr;
  const LaneFactors* b = nullptr;
  int unit = 0;
  int lowest = 0;  ///< no product has bits below 2^(unit + lowest)
};

/// The eight elements in units, where `left` is 0.
struct LaneNumbers {
  Long sum{}, exact{}, bound{}, products{}, left{};
};

/// The visitor of a LanePlan's steps.
class LossLanes {
 public:
  [[gnu::always_inline]] LossLanes(const LanePlan& plan, const LaneOperands& x,
                                   LaneAccount& account)
      : plan_(plan),
        x_(x),
        account_(account),
        grid_(plan.model.model.grid, x.unit),
        binary32_(binary32, x.unit) {}

  [[gnu::always_inline]] LaneNumbers run() {
    const GemmModel& g = plan_.model;
    std::size_t block = 0;
    for (const SumStep& step : plan_.program.steps) {
      switch (step.kind) {
        case StepKind::push_zero: push_zero(step.format); break;
        case StepKind::push_c: break;  // not in a plan that is known
        case StepKind::add: add(step.format, step.role); break;
        case StepKind::convert: convert(step.format, step.role); break;
        case StepKind::products:
          for (int i = 0; i < step.instructions; ++i) {
            instruction(block);
            block += plan_.instruction_blocks;
          }
          break;
      }
    }
    convert(g.epilogue.out, Role::output);
    return {top().sum, top().exact, top().bound, products_, left_};
  }

 private:
  struct Level {
    Long sum, exact, bound;
    Format format;
  };

  Level& top() { return stack_[static_cast<std::size_t>(depth_ - 1)]; }

  [[gnu::always_inline]] void leave(Long where) { left_ |= where; }

  [[gnu::always_inline]] void push_zero(const Format& f) {
    stack_[static_cast<std::size_t>(depth_++)] = {Long{}, Long{}, Long{}, f};
  }

  [[gnu::always_inline]] void add(const Format& f, Role role) {
    const Level right = top();
    --depth_;
    Level& left = top();
    const Long any = (left.sum != 0) | (right.sum != 0);
    const Long sum = left.sum + right.sum;
    left.exact += right.exact;
    left.bound += right.bound;
    settle(left, sum, any, f, role, true);
  }

  [[gnu::always_inline]] void convert(const Format& f, Role role) {
    Level& level = top();
    if (level.format == f) return;
    settle(level, level.sum, level.sum != 0, f, role, !fits_in(level.format, f));
  }

  /// One rounded operation beside the blocks, to nearest.
  [[gnu::always_inline]] void settle(Level& level, Long sum, Long any, const Format& f, Role role,
                                     bool may_lose) {
    const LaneFormat to(f, x_.unit);
    const Long result = rounded(sum, to, true);
    LaneCost cost;
    record(cost, any, sum, result);
    charge(rule_of(role), cost);
    level.sum = result;
    level.format = f;
    if (may_lose) level.bound += rounding_bound(magnitude(level.exact) + level.bound, to, true);
    check(level);
  }

  /// Adds a cost to where each lane stands.
  [[gnu::always_inline]] void charge(LossRule rule, const LaneCost& cost) {
    const auto at = index_of(rule);
    for (std::size_t i = 0; i < count; ++i) {
      LaneCost& to = at < placed_loss_rules
                         ? account_.by_position[static_cast<std::size_t>(last_position_[i])][at]
                         : account_.rules[at];
      to.steps[i] += cost.steps[i];
      to.cut[i] += cost.cut[i];
      to.vanished[i] += cost.vanished[i];
      to.raised[i] += cost.raised[i];
      to.lowered[i] += cost.lowered[i];
    }
  }

  /// Steps that made `after` of `before`.
  [[gnu::always_inline]] static void record(LaneCost& cost, Long applies, Long before, Long after) {
    const Long difference = applies & (after - before);
    const Long is_cut = difference != 0;
    cost.steps -= applies;
    cost.cut -= is_cut;
    cost.vanished -= is_cut & (after == 0);
    cost.raised += larger(difference, Long{});
    cost.lowered -= smaller(difference, Long{});
  }

  /// Leaves what becomes an infinity.
  [[gnu::always_inline]] Long rounded(Long x, const LaneFormat& to, bool nearest) {
    const Long result = lanes::rounded(x, to, nearest);
    leave(magnitude(result) >= to.infinity);
    return result;
  }

  /// What rounding a number of at most this magnitude may change.
  [[gnu::always_inline]] Long rounding_bound(Long size, const LaneFormat& to, bool nearest) {
    const Long unit = larger(log2(size), Long{} + to.emin) - (to.fraction_bits + (nearest ? 1 : 0));
    const Long any = size != 0;
    leave(any & (unit < 0));
    return any & smaller(power(smaller(unit, Long{} + room)), size);
  }

  /// Leaves what has no room, and keeps it from growing.
  [[gnu::always_inline]] void check(Level& level) {
    constexpr std::int64_t end = std::int64_t{1} << room;
    const Long over = (level.bound >= end) | (magnitude(level.sum) >= end);
    leave(over);
    level.bound &= ~over;
    level.sum &= ~over;
  }

  [[gnu::always_inline]] void instruction(std::size_t first) {
    const GemmModel& g = plan_.model;
    const DotTypes types = types_of_sums(g.model, g.types);
    convert(g.types.c, Role::narrow);
    if (g.model.c_last) push_zero(types.c);
    const LaneFormat of_first(with_wide_c(types).c, x_.unit);
    const LaneFormat of_others(types.d, x_.unit);
    for (std::size_t i = 0; i < plan_.instruction_blocks; ++i) {
      block(plan_.blocks[first + i], i == 0 ? of_first : of_others, types.d);
    }
    top().format = types.d;
    if (g.model.c_last) add(types.d, Role::c_last);
    convert(g.types.d, Role::narrow);
  }

  /// What a block's products add up to.
  struct Products {
    Long sum{}, size{}, lost{}, lost_of_negative{}, lost_at_most{}, cut{}, gone{};
    Int any{};
  };

  [[gnu::always_inline]] void block(const LaneBlock& at, const LaneFormat& c, const Format& d) {
    const DotModel& model = plan_.model.model;
    Level& level = top();
    auto& costs = account_.by_position[at.position];
    const Factor* a = x_.a + at.first;
    const LaneFactors* b = x_.b + at.first;
    Int exponents[64];
    Int largest = Int{} + 2 * zero_exponent;
    for (int i = 0; i < at.products; ++i) {
      exponents[i] = a[i].exponent + b[i].exponent;
      largest = larger(largest, exponents[i]);
    }
    // Tops are exponents of terms, in units: of a product it is that of 1.0…0.
    const std::int64_t fraction = plan_.product_bits;
    const Long of_products = widened(largest) + fraction;
    const Long size = magnitude(level.sum);
    const Long has_c = size != 0;
    constexpr std::int64_t nothing = zero_exponent;
    const Long of_c = has_c ? larger(log2(size), Long{} + c.emin) : Long{} + nothing;
    const std::int64_t floor = model.exponent_floor - x_.unit;
    const Long highest = larger(of_products, of_c);
    const Long any = highest > nothing / 2;
    const Long top_exponent = larger(highest, Long{} + floor);
    const Long at_floor = any & (top_exponent > highest);
    const Long cut = top_exponent - model.fraction_bits;
    // What the floor cuts besides is the trace's to tell.
    leave(at_floor & (cut > x_.lowest));
    leave(any & (top_exponent - fraction >= cell_distances - 1));
    const Long lost_bits = bits_below(smaller(cut, Long{} + room));
    // The bound's unit, by what the accumulator may be.
    const Long addend = magnitude(level.exact) + level.bound;
    const Long has_addend = addend != 0;
    const Long of_addend = has_addend ? larger(log2(addend), Long{} + c.emin) : Long{} + nothing;
    const Long most_cut =
        larger(larger(of_products, of_addend), Long{} + floor) - model.fraction_bits;
    const Long may_cut = has_addend & (c.quantum < most_cut);
    leave(may_cut & (most_cut < 0));
    const Long most_bits = bits_below(smaller(most_cut, Long{} + room));
    const Long addend_lost = may_cut & smaller(power(smaller(most_cut, Long{} + room)), addend);

    const Long from_one =
        larger(smaller(top_exponent - fraction, Long{} + (cell_tops - 1)), Long{});
    const Products p = products(at, exponents, narrowed(from_one), lost_bits);
    Long lost_at_most = p.lost;
    if (any_of(most_bits ^ lost_bits)) lost_at_most = lost_of_products(at, exponents, most_bits);
    level.exact += p.sum;
    products_ += p.size;
    LaneAccount::Magnitude& magnitudes = account_.magnitudes[at.position];
    magnitudes.low += p.size & 0xFFFF'FFFF;
    magnitudes.high += p.size >> 32;
    LaneCost& of_product = costs[index_of(LossRule::product_alignment)];
    of_product.steps += widened(p.any);
    of_product.cut += p.cut;
    of_product.vanished += p.gone;
    of_product.raised += p.lost_of_negative;
    of_product.lowered += p.lost - p.lost_of_negative;
    const Long addend_kept = signed_as(size & ~lost_bits, level.sum >> 63);
    record(costs[index_of(LossRule::addend_alignment)], has_c, level.sum, addend_kept);
    account_.blocks -= any;
    account_.at_addend -= has_c & (of_c > of_products) & (top_exponent == highest);
    account_.at_floor -= at_floor;
    last_position_ = any ? Long{} + static_cast<std::int64_t>(at.position) : last_position_;

    const Long sum = addend_kept + p.sum - (p.lost - 2 * p.lost_of_negative);
    const bool nearest = model.rounding == Rounding::ties_to_even;
    level.sum = rounded(sum, grid_, nearest);
    LaneCost& rounding = costs[index_of(LossRule::block_rounding)];
    const bool is_split = d != binary32 && fits_in(d, binary32);
    if (is_split) {
      const Long in_binary32 = rounded(sum, binary32_, false);
      record(rounding, sum != 0, sum, in_binary32);
      record(costs[index_of(LossRule::accumulator_format)], (in_binary32 != 0) | (level.sum != 0),
             in_binary32, level.sum);
    } else {
      record(rounding, sum != 0, sum, level.sum);
    }
    level.bound += addend_lost + lost_at_most;
    level.bound += rounding_bound(magnitude(level.exact) + level.bound, grid_, nearest);
    check(level);
  }

  /// The products of a block, each told to its cell.
  [[gnu::always_inline]] Products products(const LaneBlock& at, const Int* exponents, Int top,
                                           Long lost_bits) {
    const Factor* a = x_.a + at.first;
    const LaneFactors* b = x_.b + at.first;
    alignas(64) Cell more[64][count];
    alignas(64) Int cells[64];
    const Int of_top = top * (fates * cell_distances);
    Products out;
    for (int i = 0; i < at.products; ++i) {
      const Int product = a[i].significand * b[i].significand;
      const Int minus = product >> 31;
      const Int significand = signed_as(product, minus);
      const Int raised = larger(exponents[i], Int{});
      const Long shift = widened(raised);
      const Long size = widened(significand) << shift;
      const Long negative = widened(minus);
      const Long lost = size & lost_bits;
      const Long is_cut = lost != 0;
      const Long is_gone = is_cut & (lost == size);
      out.sum += signed_as(size, negative);
      out.size += size;
      out.lost += lost;
      out.lost_of_negative += lost & negative;
      out.cut -= is_cut;
      out.gone -= is_gone;
      out.any -= significand != 0;
      const Int fate = narrowed(is_cut + is_gone);
      const Int distance = smaller(top - exponents[i], Int{} + (cell_distances - 1));
      cells[i] = of_top + distance - fate * cell_distances;
      const Long one = widened(significand) + (std::int64_t{1} << cell_count_bit);
      const Long bits = lost >> shift;
      *reinterpret_cast<Long*>(&more[i][0]) =
          __builtin_shufflevector(one, bits, 0, 8, 2, 10, 4, 12, 6, 14);
      *reinterpret_cast<Long*>(&more[i][4]) =
          __builtin_shufflevector(one, bits, 1, 9, 3, 11, 5, 13, 7, 15);
    }
    Cell* const to = account_.cells.data();
    constexpr int lane_of[count] = {0, 2, 4, 6, 1, 3, 5, 7};
    for (int i = 0; i < at.products; ++i) {
      const auto* const cell = reinterpret_cast<const std::int32_t*>(&cells[i]);
      for (int j = 0; j < count; ++j) to[cell[lane_of[j]]] += more[i][j];
    }
    return out;
  }

  /// Σ|product| mod 2^cut.
  [[gnu::always_inline]] Long lost_of_products(const LaneBlock& at, const Int* exponents,
                                               Long lost_bits) {
    const Factor* a = x_.a + at.first;
    const LaneFactors* b = x_.b + at.first;
    Long out{};
    for (int i = 0; i < at.products; ++i) {
      const Long significand = widened(magnitude(a[i].significand * b[i].significand));
      out += (significand << widened(larger(exponents[i], Int{}))) & lost_bits;
    }
    return out;
  }

  const LanePlan& plan_;
  const LaneOperands& x_;
  LaneAccount& account_;
  const LaneFormat grid_, binary32_;
  std::array<Level, most_depth> stack_{};
  int depth_ = 0;
  Long products_{}, left_{}, last_position_{};
};

}  // namespace binade::lanes
