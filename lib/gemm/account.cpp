// SPDX-License-Identifier: Apache-2.0
//
// Counts the elements of a product on all threads: eight at once where account_lanes_product.h
// knows the model, else one traced element at a time. Each thread adds to an account of its own,
// and these are added up at the end.
#include "lib/gemm/account.h"

#include <algorithm>
#include <mutex>

#include "lib/gemm/account_lanes_product.h"
#include "lib/gemm/error_walk.h"
#include "lib/gemm/model_check.h"
#include "lib/parallel/parallel.h"
#include "lib/text/error.h"

namespace binade {
namespace {

void add_cut(Cost& cost, std::uint64_t taken, bool vanished, bool negative, int exponent) {
  ++cost.steps;
  if (taken == 0) return;
  ++cost.cut;
  cost.vanished += vanished ? 1 : 0;
  (negative ? cost.raised : cost.lowered).add(taken, exponent);
}

/// The account and the work space of one thread.
struct Share {
  GemmAccount account;
  ElementLosses losses;

  void add_term(const TermLoss& x);
  void add_step(const StepLoss& x);
  void add_distance(const TermLoss& x);
  /// Adds the error of element (i, j), which its bound limits; products() returns the element's
  /// Σ|a·b|.
  template <class Products>
  void add_error(const ElementError& error, const Upper& bound, const Products& products,
                 std::size_t i, std::size_t j);
  bool finish(const GemmElement<std::uint64_t>& element, const LaneElement& x);
  void add_element(const GemmElement<std::uint64_t>& element, std::size_t i, std::size_t j);

  std::array<Cost, placed_loss_rules>& costs_at(int place) {
    return account.by_position[static_cast<std::size_t>(place) / account.position_width];
  }
};

void Share::add_term(const TermLoss& x) {
  if (!x.addend) {
    ++account.products;
    const auto position = static_cast<std::size_t>(x.place) / account.position_width;
    account.product_position[position].add(x.significand, x.exponent);
  }
  if (x.distance == TermLoss::no_block) return;
  const bool gone = x.significand == x.alignment;
  auto& costs = costs_at(x.place);
  const auto at = [&](LossRule of_product, LossRule of_addend) -> Cost& {
    return costs[index_of(x.addend ? of_addend : of_product)];
  };
  add_cut(at(LossRule::product_alignment, LossRule::addend_alignment), x.alignment, gone,
          x.negative, x.exponent);
  if (!gone) {
    add_cut(at(LossRule::product_floor, LossRule::addend_floor), x.floor,
            x.significand == x.alignment + x.floor, x.negative, x.exponent);
  }
  if (!x.addend) add_distance(x);
}

void Share::add_distance(const TermLoss& x) {
  const int last = static_cast<int>(GemmAccount::distances) - 1;
  DistanceRow& row = account.by_distance[static_cast<std::size_t>(std::min(x.distance, last))];
  const std::uint64_t taken = x.alignment + x.floor;
  ++row.products;
  row.cut += taken != 0 ? 1 : 0;
  row.vanished += x.significand == taken ? 1 : 0;
  row.magnitude.add(x.significand, x.exponent);
  row.lost.add(taken, x.exponent);
}

void Share::add_step(const StepLoss& x) {
  const bool placed = index_of(x.rule) < placed_loss_rules;
  Cost& cost = placed ? costs_at(x.place)[index_of(x.rule)] : account.rules[index_of(x.rule)];
  if (x.first) {
    ++cost.steps;
    cost.cut += x.significand != 0 ? 1 : 0;
    cost.vanished += x.vanished ? 1 : 0;
  }
  (x.raised ? cost.raised : cost.lowered).add(x.significand, x.exponent);
}

template <class Products>
void Share::add_error(const ElementError& error, const Upper& upper_bound, const Products& products,
                      std::size_t i, std::size_t j) {
  ExactSum exact = error.exact.magnitude();
  const ExactSum difference = error.difference.magnitude();
  account.exact_magnitude += exact;
  if (difference.is_zero()) {
    ++account.exact;
    return;
  }
  const bool up = !error.difference.is_negative();
  account.error += difference;
  (up ? account.raised : account.lowered) += difference;
  const auto ratio = [&](const ExactSum& to) {
    return WorstElement{to.is_zero() ? 0 : divide(difference, to).value(), i, j};
  };
  keep_worse(account.worst_relative, ratio(exact));
  keep_worse(account.worst_to_products, ratio(products()));
  const ExactSum bound = upper_bound.exact();
  keep_worse(account.worst_to_bound, ratio(bound));
  account.beyond_bound += compare(difference, bound) > 0 ? 1 : 0;
  SignedSum result = error.exact;
  result.add(error.difference);
  ExactSum delivered = result.magnitude();
  const bool outward = compare(delivered, exact) > 0;
  ExactSum& larger = outward ? delivered : exact;
  larger -= outward ? exact : delivered;
  (outward ? account.outward : account.inward) += larger;
  if (bound.is_zero()) return;
  const int last = static_cast<int>(GemmAccount::ratios) - 1;
  const int octave = std::clamp(1 - divide(difference, bound).exponent, 0, last);
  ++account.by_ratio[static_cast<std::size_t>(octave)];
}

void Share::add_element(const GemmElement<std::uint64_t>& element, std::size_t i, std::size_t j) {
  losses.clear();
  const std::uint64_t d = gemm_element(account.model, element, LossTrace{&losses});
  const ElementError error = element_error(account.model, losses, d);
  ++account.elements;
  if (error.special) {
    ++account.special;
    return;
  }
  account.blocks += losses.blocks;
  account.blocks_at_addend += losses.blocks_at_addend;
  account.blocks_at_floor += losses.blocks_at_floor;
  for (const TermLoss& x : losses.terms) add_term(x);
  for (const StepLoss& x : losses.steps) add_step(x);
  const auto products = [this] {
    ExactSum out;
    for (const TermLoss& x : losses.terms) {
      if (!x.addend) out.add(x.significand, x.exponent);
    }
    return out;
  };
  add_error(error, bounds_of(account.model, element).bound, products, i, j);
}

/// Adds an element whose sum the lanes have counted: computes its epilogue, D and error. Returns
/// false, and adds nothing, if D is a NaN or an infinity.
bool Share::finish(const GemmElement<std::uint64_t>& element, const LaneElement& x) {
  const auto sum_of = [&x](std::int64_t value) {
    SignedSum out;
    out.add(value < 0, static_cast<std::uint64_t>(value < 0 ? -value : value), x.unit);
    return out;
  };
  losses.clear();
  losses.last_place = static_cast<int>(x.last_position * account.position_width);
  losses.sum = sum_of(x.sum - x.exact);
  const Exact sum{.kind = x.sum == 0 ? Kind::zero : Kind::finite,
                  .negative = x.sum < 0,
                  .exponent = x.unit,
                  .significand = static_cast<std::uint64_t>(x.sum < 0 ? -x.sum : x.sum)};
  const Typed bits{project(sum, x.format).bits, x.format};
  const std::uint64_t d = epilogue(account.model, element, bits, LossTrace{&losses});
  const ElementError error = element_error(account.model, losses, d);
  if (error.special) return false;
  ++account.elements;
  for (const StepLoss& step : losses.steps) add_step(step);
  const Upper bound(static_cast<std::uint64_t>(x.bound), x.unit);
  ErrorWalk walk(account.model, element, sum_of(x.exact), bound, x.format);
  walk.finish();
  const auto products = [&] { return sum_of(x.products).magnitude(); };
  add_error(error, walk.bound(), products, x.row, x.column);
  return true;
}

/// Returns how many k one entry of by_position covers: whole instructions, so that there are at
/// most `most_positions` entries.
std::size_t position_width(std::size_t k, int of_instruction) {
  const auto each = static_cast<std::size_t>(of_instruction);
  const std::size_t instructions = std::max<std::size_t>((k + each - 1) / each, 1);
  return (instructions + GemmAccount::most_positions - 1) / GemmAccount::most_positions * each;
}

GemmAccount empty_account(const GemmModel& model, const GemmOperands& operands) {
  GemmAccount out;
  out.model = model;
  out.m = operands.m;
  out.n = operands.n;
  out.k = operands.k;
  out.position_width = position_width(operands.k, model.k);
  const std::size_t positions =
      std::max<std::size_t>((operands.k + out.position_width - 1) / out.position_width, 1);
  out.by_position.resize(positions);
  out.product_position.resize(positions);
  if (is_fused(model.model)) {
    out.by_distance.resize(GemmAccount::distances);
  }
  return out;
}

}  // namespace

void keep_worse(WorstElement& worst, const WorstElement& other) {
  const auto place = [](const WorstElement& x) { return std::pair(x.row, x.column); };
  if (other.ratio > worst.ratio ||
      (other.ratio == worst.ratio && other.ratio > 0 && place(other) < place(worst))) {
    worst = other;
  }
}

ExactSum Cost::lost() const {
  ExactSum out = raised;
  out += lowered;
  return out;
}

Cost& Cost::operator+=(const Cost& other) {
  steps += other.steps;
  cut += other.cut;
  vanished += other.vanished;
  raised += other.raised;
  lowered += other.lowered;
  return *this;
}

DistanceRow& DistanceRow::operator+=(const DistanceRow& other) {
  products += other.products;
  cut += other.cut;
  vanished += other.vanished;
  magnitude += other.magnitude;
  lost += other.lost;
  return *this;
}

GemmAccount& GemmAccount::operator+=(const GemmAccount& other) {
  const auto add_each = [](auto& to, const auto& from) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
  };
  elements += other.elements;
  special += other.special;
  exact += other.exact;
  add_each(rules, other.rules);
  for (std::size_t i = 0; i < by_position.size(); ++i) {
    add_each(by_position[i], other.by_position[i]);
  }
  add_each(product_position, other.product_position);
  add_each(by_distance, other.by_distance);
  products += other.products;
  blocks += other.blocks;
  blocks_at_addend += other.blocks_at_addend;
  blocks_at_floor += other.blocks_at_floor;
  product_magnitude += other.product_magnitude;
  exact_magnitude += other.exact_magnitude;
  error += other.error;
  raised += other.raised;
  lowered += other.lowered;
  outward += other.outward;
  inward += other.inward;
  add_each(by_ratio, other.by_ratio);
  beyond_bound += other.beyond_bound;
  keep_worse(worst_relative, other.worst_relative);
  keep_worse(worst_to_products, other.worst_to_products);
  keep_worse(worst_to_bound, other.worst_to_bound);
  return *this;
}

GemmAccount account(const GemmModel& model, const GemmOperands& operands,
                    const GemmProgress& progress, const Kernels& kernels) {
  check(model, added_in(operands));
  check(sizes_of(operands));
  require_whole_sums(model, operands.k);
  if (model.epilogue.activation != Activation::none) {
    throw Error(
        "an account tells what roundings lost, not what an activation makes of it: leave --" +
        std::string(model.epilogue.activation == Activation::relu ? "relu" : "activation") +
        " out");
  }
  if (!operands.a_scale.empty() || !operands.b_scale.empty() || operands.runs.any() ||
      model.epilogue.bias_first) {
    throw Error(
        "an account is of D = alpha·sum + beta·C + bias: leave scales and --bias-first out");
  }
  if (operands.groups.any()) {
    throw Error("an account is of one product: leave --groups out, and give a group's rows and B");
  }
  GemmAccount out = empty_account(model, operands);
  std::vector<Share> shares(thread_count());
  for (Share& share : shares) share.account = out;
  std::mutex reporting;
  std::size_t done = 0;
  const auto tell = [&](std::size_t elements) {
    if (!progress) return;
    const std::lock_guard lock(reporting);
    done += elements;
    progress(done / operands.n);
  };
  const AccountLanesProduct by_lanes(model, operands, out.position_width, kernels);
  parallel_for(by_lanes.pieces(), 1, [&](std::size_t begin, std::size_t end, std::size_t slot) {
    for (std::size_t piece = begin; piece < end; ++piece) {
      Share& share = shares[slot];
      const auto finish = [&](const LaneElement& x) {
        return share.finish(operands.element(x.row, x.column), x);
      };
      const auto trace = [&](std::size_t i, std::size_t j) {
        share.add_element(operands.element(i, j), i, j);
      };
      tell(by_lanes.add(piece, share.account, finish, trace));
    }
  });
  // A piece has about 200,000 products, the work of milliseconds.
  const std::size_t grain =
      std::max<std::size_t>(1, 200'000 / std::max<std::size_t>(operands.k, 1));
  const std::size_t others = by_lanes.pieces() == 0 ? operands.m * operands.n : 0;
  parallel_for(others, grain, [&](std::size_t begin, std::size_t end, std::size_t slot) {
    for (std::size_t at = begin; at < end; ++at) {
      const std::size_t i = at / operands.n;
      const std::size_t j = at % operands.n;
      shares[slot].add_element(operands.element(i, j), i, j);
    }
    tell(end - begin);
  });
  for (const Share& share : shares) out += share.account;
  for (const auto& costs : out.by_position) {
    for (std::size_t rule = 0; rule < placed_loss_rules; ++rule) out.rules[rule] += costs[rule];
  }
  for (const ExactSum& magnitude : out.product_position) out.product_magnitude += magnitude;
  return out;
}

}  // namespace binade
