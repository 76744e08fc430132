// SPDX-License-Identifier: Apache-2.0
//
// Plans a product, cuts it into pieces, and adds what the lanes counted to an account.
#include "lib/gemm/account_lanes_product.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "lib/gemm/account_lanes.h"
#include "lib/gemm/account_lanes_plan.h"

namespace binade {
namespace {

using lanes::AccountLanesPlan;
using lanes::EightLongs;
using lanes::FactorLine;
using lanes::FactorLines;
using lanes::LaneAccount;
using lanes::LaneCost;
using lanes::LaneNumbers;
using lanes::LaneOperands;

constexpr auto lane_count = static_cast<std::size_t>(lanes::count);

/// Returns the unit's exponent: since Σ|a·b| <= |a|·|b|, sums use at most half of the room.
int unit_of(double row_norm, double column_norm) {
  constexpr double more = 1 + 0x1p-20;  // more than the rounding errors of the norms
  const double most = row_norm * column_norm * more;
  return most == 0 ? 0 : std::ilogb(most) + 1 - (lanes::room - 1);
}

uint128 all_lanes(const EightLongs& x) {
  uint128 out = 0;
  for (int i = 0; i < lanes::count; ++i) out += static_cast<std::uint64_t>(x[i]);
  return out;
}

void add_cost(Cost& to, const LaneCost& x, int unit) {
  to.steps += static_cast<std::uint64_t>(all_lanes(x.steps));
  to.cut += static_cast<std::uint64_t>(all_lanes(x.cut));
  to.vanished += static_cast<std::uint64_t>(all_lanes(x.vanished));
  to.raised.add(all_lanes(x.raised), unit);
  to.lowered.add(all_lanes(x.lowered), unit);
}

void add_cells(GemmAccount& account, const LaneAccount& x, int unit) {
  constexpr std::uint64_t sum_bits = (std::uint64_t{1} << lanes::cell_count_bit) - 1;
  for (int top = 0; top < lanes::cell_tops; ++top) {
    for (int fate = 0; fate < lanes::fates; ++fate) {
      for (int distance = 0; distance < lanes::cell_distances - 1; ++distance) {
        const lanes::Cell& cell = x.cells[lanes::cell_of(top, fate, distance)];
        const std::uint64_t products = cell[0] >> lanes::cell_count_bit;
        if (products == 0) continue;
        DistanceRow& row = account.by_distance[static_cast<std::size_t>(distance)];
        row.products += products;
        row.cut += fate == lanes::kept ? 0 : products;
        row.vanished += fate == lanes::gone ? products : 0;
        row.magnitude.add(cell[0] & sum_bits, unit + top - distance);
        row.lost.add(cell[1], unit + top - distance);
      }
    }
  }
}

/// Adds what the elements of a piece lost, in units of 2^unit, to an account.
void add_losses(GemmAccount& account, const LaneAccount& x, int unit) {
  for (std::size_t i = 0; i < x.by_position.size(); ++i) {
    auto& to = account.by_position[i];
    const auto cost = [&x, i](LossRule rule) -> const LaneCost& {
      return x.by_position[i][index_of(rule)];
    };
    for (std::size_t rule = 0; rule < placed_loss_rules; ++rule) {
      add_cost(to[rule], x.by_position[i][rule], unit);
    }
    // The exponent floor applies to the terms that alignment has not turned into zero.
    for (const auto& [alignment, floor] :
         {std::pair(LossRule::product_alignment, LossRule::product_floor),
          std::pair(LossRule::addend_alignment, LossRule::addend_floor)}) {
      const EightLongs rest = cost(alignment).steps - cost(alignment).vanished;
      to[index_of(floor)].steps += static_cast<std::uint64_t>(all_lanes(rest));
    }
    account.products +=
        static_cast<std::uint64_t>(all_lanes(cost(LossRule::product_alignment).steps));
    account.product_position[i].add(all_lanes(x.magnitudes[i].low), unit);
    account.product_position[i].add(all_lanes(x.magnitudes[i].high), unit + 32);
  }
  for (std::size_t rule = placed_loss_rules; rule < loss_rules; ++rule) {
    add_cost(account.rules[rule], x.rules[rule], unit);
  }
  add_cells(account, x, unit);
  account.blocks += static_cast<std::uint64_t>(all_lanes(x.blocks));
  account.blocks_at_addend += static_cast<std::uint64_t>(all_lanes(x.at_addend));
  account.blocks_at_floor += static_cast<std::uint64_t>(all_lanes(x.at_floor));
}

/// Sums over the elements of a piece, in units: exact values and errors.
struct ErrorSums {
  uint128 exact = 0, raised = 0, lowered = 0, outward = 0, inward = 0;

  void add_to(GemmAccount& account, int unit) const {
    account.exact_magnitude.add(exact, unit);
    account.error.add(raised + lowered, unit);
    account.raised.add(raised, unit);
    account.lowered.add(lowered, unit);
    account.outward.add(outward, unit);
    account.inward.add(inward, unit);
  }
};

ScaledDouble quotient(std::uint64_t a, std::uint64_t b) {
  ExactSum dividend, divisor;
  dividend.add(a, 0);
  divisor.add(b, 0);
  return divide(dividend, divisor);
}

/// Returns a / b with an error of some units in the last place of 53 bits.
double nearly(std::uint64_t a, std::uint64_t b) {
  return static_cast<double>(a) / static_cast<double>(b);
}
/// Relative distance within which numbers from nearly() are compared exactly instead.
constexpr double doubt = 0x1p-50;

void raise_ratio(WorstElement& worst, std::uint64_t error, std::uint64_t to, std::size_t i,
                 std::size_t j) {
  if (to == 0 || nearly(error, to) < worst.ratio * (1 - doubt)) return;
  keep_worse(worst, {quotient(error, to).value(), i, j});
}

/// Returns the exponent e of error / bound, which lies in [2^(e-1), 2^e).
int exponent_of_ratio(std::uint64_t error, std::uint64_t bound) {
  int out = 0;
  const double significand = std::frexp(nearly(error, bound), &out);
  const bool is_sure = significand > 0.5 * (1 + doubt) && significand < 1 - doubt;
  return is_sure ? out : quotient(error, bound).exponent;
}

LaneElement element_of(const LaneNumbers& x, int lane, std::size_t row, std::size_t column,
                       const Format& format, int unit) {
  return {row,
          column,
          unit,
          x.sum[lane],
          x.exact[lane],
          x.bound[lane],
          x.products[lane],
          format,
          static_cast<std::size_t>(x.last_position[lane])};
}

std::uint64_t size_of(std::int64_t x) { return static_cast<std::uint64_t>(x < 0 ? -x : x); }

void add_element(GemmAccount& account, ErrorSums& sums, const LaneElement& x) {
  const std::int64_t difference = x.sum - x.exact;
  const std::uint64_t error = size_of(difference);
  const std::uint64_t exact = size_of(x.exact);
  const std::uint64_t delivered = size_of(x.sum);
  const std::uint64_t bound = size_of(x.bound);
  ++account.elements;
  sums.exact += exact;
  if (error == 0) {
    ++account.exact;
    return;
  }
  (difference > 0 ? sums.raised : sums.lowered) += error;
  const bool outward = delivered > exact;
  (outward ? sums.outward : sums.inward) += outward ? delivered - exact : exact - delivered;
  raise_ratio(account.worst_relative, error, exact, x.row, x.column);
  raise_ratio(account.worst_to_products, error, size_of(x.products), x.row, x.column);
  raise_ratio(account.worst_to_bound, error, bound, x.row, x.column);
  account.beyond_bound += error > bound ? 1 : 0;
  if (bound == 0) return;
  const int last = static_cast<int>(GemmAccount::ratios) - 1;
  const int octave = std::clamp(1 - exponent_of_ratio(error, bound), 0, last);
  ++account.by_ratio[static_cast<std::size_t>(octave)];
}

/// Packs eight columns side by side, with `unit` subtracted from their exponents; columns that are
/// not set in `which` are zero.
void pack(const FactorLines& columns, std::size_t first, std::uint32_t which, int unit,
          std::vector<lanes::LaneFactors>& to) {
  const std::size_t places = to.size();
  std::ranges::fill(to, lanes::LaneFactors{});
  for (std::size_t lane = 0; lane < lane_count; ++lane) {
    if ((which >> lane & 1) == 0) continue;
    const lanes::Factor* const from =
        columns.factors.data() + columns.order[first + lane].number * places;
    for (std::size_t at = 0; at < places; ++at) {
      to[at].significand[lane] = from[at].significand;
      to[at].exponent[lane] = from[at].exponent - (from[at].significand == 0 ? 0 : unit);
    }
  }
}

}  // namespace

lanes::LaneAccount& lanes::LaneAccount::operator-=(const LaneAccount& other) {
  const auto less = [](LaneCost& to, const LaneCost& x) {
    to.steps -= x.steps;
    to.cut -= x.cut;
    to.vanished -= x.vanished;
    to.raised -= x.raised;
    to.lowered -= x.lowered;
  };
  for (std::size_t i = 0; i < by_position.size(); ++i) {
    for (std::size_t rule = 0; rule < placed_loss_rules; ++rule) {
      less(by_position[i][rule], other.by_position[i][rule]);
    }
    magnitudes[i].low -= other.magnitudes[i].low;
    magnitudes[i].high -= other.magnitudes[i].high;
  }
  for (std::size_t rule = 0; rule < loss_rules; ++rule) less(rules[rule], other.rules[rule]);
  for (std::size_t i = 0; i < cells.size(); ++i) cells[i] -= other.cells[i];
  blocks -= other.blocks;
  at_addend -= other.at_addend;
  at_floor -= other.at_floor;
  return *this;
}

struct AccountLanesProduct::Prepared {
  lanes::LaneRun run = nullptr;
  AccountLanesPlan plan{};
  std::size_t positions = 0;
  std::size_t height = 0;  ///< rows of a piece, which has eight columns
  std::size_t groups = 0;  ///< number of groups of eight columns
  FactorLines rows{}, columns{};
};

AccountLanesProduct::AccountLanesProduct(const GemmModel& model, const GemmOperands& operands,
                                         std::size_t position_width, const Kernels& kernels) {
  Prepared x{.run = lanes::lane_run(kernels)};
  if (x.run != nullptr) x.plan = lanes::account_lanes_plan(model, operands, position_width);
  if (x.plan.known) {
    x.positions = (operands.k + position_width - 1) / position_width;
    x.height = lanes::rows_at_once(x.plan, x.positions);
  }
  if (x.height != 0) {
    x.groups = (operands.n + lane_count - 1) / lane_count;
    x.rows = lanes::lines_of(x.plan, operands.a, operands.k, model.types.a);
    x.columns = lanes::lines_of(x.plan, operands.b, operands.k, model.types.b);
  }
  x_ = std::make_unique<const Prepared>(std::move(x));
}

AccountLanesProduct::~AccountLanesProduct() = default;

std::size_t AccountLanesProduct::pieces() const {
  return x_->height == 0 ? 0 : (x_->rows.order.size() + x_->height - 1) / x_->height * x_->groups;
}

std::size_t AccountLanesProduct::add(std::size_t piece, GemmAccount& account, const Finish& finish,
                                     const Left& left) const {
  const Prepared& x = *x_;
  const std::size_t begin = piece / x.groups * x.height;
  const std::size_t end = std::min(begin + x.height, x.rows.order.size());
  const std::size_t first = piece % x.groups * lane_count;
  const std::size_t columns = std::min(lane_count, x.columns.order.size() - first);
  const FactorLine* const column = x.columns.order.data() + first;
  const std::size_t places = x.plan.places.size();
  const int unit = unit_of(x.rows.order[begin].norm, column[0].norm);
  LaneAccount losses(x.positions);
  std::vector<lanes::LaneFactors> b(places);
  std::uint32_t packed = 0;
  ErrorSums sums;
  const auto plain = [&account, &sums](const LaneElement& element) {
    add_element(account, sums, element);
    return true;
  };
  for (std::size_t at = begin; at < end; ++at) {
    const FactorLine& row = x.rows.order[at];
    std::uint32_t which = 0;
    int lowest = std::numeric_limits<int>::max();
    for (std::size_t lane = 0; lane < columns; ++lane) {
      const int own = row.lowest + column[lane].lowest - unit;
      if (!row.usable || !column[lane].usable || own < 0) continue;
      which |= std::uint32_t{1} << lane;
      lowest = std::min(lowest, own);
    }
    const auto run_lanes = [&](std::uint32_t some, LaneAccount& to) {
      if (packed != some) pack(x.columns, first, some, unit, b);
      packed = some;
      const lanes::Factor* const a = x.rows.factors.data() + row.number * places;
      return x.run(x.plan, {a, b.data(), unit, lowest}, to);
    };
    if (which != 0) {
      const LaneNumbers numbers = run_lanes(which, losses);
      std::uint32_t given_up = 0;
      for (std::size_t lane = 0; lane < columns; ++lane) {
        const std::uint32_t bit = which & std::uint32_t{1} << lane;
        if (bit == 0) continue;
        const LaneElement element = element_of(numbers, static_cast<int>(lane), row.number,
                                               column[lane].number, x.plan.sum_format, unit);
        if (numbers.left[lane] != 0 ||
            !(x.plan.plain_epilogue ? plain(element) : finish(element))) {
          given_up |= bit;
        }
      }
      if (given_up != 0) {
        // Counts the elements that were given up once more, by themselves, and subtracts that.
        LaneAccount undone(x.positions);
        run_lanes(given_up, undone);
        losses -= undone;
      }
      which &= ~given_up;
    }
    for (std::size_t lane = 0; lane < columns; ++lane) {
      if ((which >> lane & 1) == 0) left(row.number, column[lane].number);
    }
  }
  add_losses(account, losses, unit);
  sums.add_to(account, unit);
  return (end - begin) * columns;
}

}  // namespace binade
