// SPDX-License-Identifier: Apache-2.0
//
// Computes for each step of the walk what it adds to the exact value, and what its roundings add to
// the bounds.
#include "lib/gemm/error_walk.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "lib/gemm/loss.h"

namespace binade {
namespace {

Upper magnitude_of(const Exact& x) {
  return x.kind == Kind::finite ? Upper(x.significand, x.exponent) : Upper();
}

/// Returns the exact product, and zero if a factor is zero, a NaN or an infinity.
Exact times(const Exact& a, const Exact& b) {
  if (a.kind != Kind::finite || b.kind != Kind::finite) return {};
  return {.kind = Kind::finite,
          .negative = a.negative != b.negative,
          .exponent = a.exponent + b.exponent,
          .significand = a.significand * b.significand};
}

/// Returns a bound on the error of rounding a number of at most this magnitude into a format: half
/// a unit in the last place if to nearest, else one unit; to nearest and toward zero it is no more
/// than the number itself. Above the format's largest exponent the unit keeps growing, because an
/// infinity has no bound.
Upper rounding_error(const Upper& magnitude, const Format& f, Rounding rounding) {
  if (magnitude.is_zero()) return {};
  const int unit = std::max(magnitude.log2(), f.emin()) - f.fraction_bits();
  const bool nearest = rule_of(rounding).is_to_nearest();
  const Upper error = Upper::power(nearest ? unit - 1 : unit);
  return nearest || rounding == Rounding::toward_zero ? std::min(error, magnitude) : error;
}

/// Returns |product| mod 2^unit, which is what cutting at 2^unit removes.
Upper cut_of(const Addend& x, int unit) {
  const int exponent = x.exponent - x.fraction_bits;
  const int low = unit - exponent;
  if (low <= 0) return {};
  return {low >= 64 ? x.significand : x.significand & ((std::uint64_t{1} << low) - 1), exponent};
}

}  // namespace

ErrorWalk::ErrorWalk(const GemmModel& model, const GemmElement<std::uint64_t>& element)
    : g_(model), x_(element) {
  if (scale_run(g_) != 0) {
    measure_scaled();
    return;
  }
  const bool fused = is_fused(g_.model);
  for (int i = 0; i < x_.k; ++i) {
    if (!fused) {
      magnitude_ += magnitude_of(scalar_product(x_.a[i], x_.b[i]));
      continue;
    }
    const Addend p = product(x_.a[i], x_.b[i]);
    if (p.kind == Kind::zero && g_.model.edges.zero_raises != ZeroRaises::never) {
      zero_exponent_ = std::max(zero_exponent_, zero_exponent(x_.a[i], x_.b[i]));
    }
    if (p.kind != Kind::finite) continue;
    magnitude_ += Upper(p.significand, p.exponent - p.fraction_bits);
    largest_exponent_ = std::max(largest_exponent_, p.exponent);
  }
  if (g_.sum.c_first && x_.has_c) magnitude_ += magnitude_of(number_of(x_.c, g_.c));
}

ErrorWalk::ErrorWalk(const GemmModel& model, const GemmElement<std::uint64_t>& element,
                     const SignedSum& exact, const Upper& bound, const Format& format)
    : g_(model), x_(element), stack_{{exact, bound, bound, format}} {}

/// Sets the bounds of magnitudes under scales of runs of K.
void ErrorWalk::measure_scaled() {
  const bool in_instruction = is_scaled(g_.model);
  const int run = scale_run(g_);
  const auto scale = [&](const std::uint32_t* runs, int at) {
    return runs == nullptr ? Upper(1, 0) : magnitude_of(number_of(runs[at], binary32));
  };
  const auto exponent = [&](const std::uint32_t* runs, int at) {
    const Format& f = g_.model.scaling.format;
    return runs == nullptr ? 0 : addend_of(detail::scale_code(runs[at], f), f).exponent;
  };
  for (int first = 0; first < x_.k; first += run) {
    Upper sum;
    int largest = std::numeric_limits<int>::min();
    for (int i = first; i < std::min(first + run, x_.k); ++i) {
      const Exact product = scalar_product(x_.a[i], x_.b[i]);
      sum += magnitude_of(product);
      if (product.kind != Kind::finite || !is_fused(g_.model)) continue;
      largest = std::max(
          largest, g_.model.scaling.group != 0 ? 0 : this->product(x_.a[i], x_.b[i]).exponent);
    }
    const int at = first / run;
    if (in_instruction && largest != std::numeric_limits<int>::min()) {
      largest += exponent(x_.a_runs, at) + exponent(x_.b_runs, at);
    }
    largest_exponent_ = std::max(largest_exponent_, largest);
    before_scales_ = std::max(before_scales_, sum);
    magnitude_ += sum * scale(x_.a_runs, at) * scale(x_.b_runs, at);
  }
  if (in_instruction) before_scales_ = magnitude_;
  if (g_.sum.c_first && x_.has_c) magnitude_ += magnitude_of(number_of(x_.c, g_.c));
}

/// Returns the product as a term of a fused block. The expanded recipe multiplies in binary16,
/// where subnormals of FP8 are normal numbers.
Addend ErrorWalk::product(std::uint64_t a, std::uint64_t b) const {
  Format from_a = g_.types.a;
  Format from_b = g_.types.b;
  if (g_.model.recipe == Recipe::expanded) {
    a = binade::convert(a, from_a, binary16).bits;
    b = binade::convert(b, from_b, binary16).bits;
    from_a = from_b = binary16;
  }
  Addend out = product_of(addend_of(a, from_a), addend_of(b, from_b));
  out.negative = out.negative != (g_.model.scales.minus_a != g_.model.scales.minus_b);
  return out;
}

int ErrorWalk::zero_exponent(std::uint64_t a, std::uint64_t b) const {
  const bool as_f16 = g_.model.recipe == Recipe::expanded;
  const auto exponent = [&](std::uint64_t code, const Format& own) {
    const Format& f = as_f16 ? binary16 : own;
    return counted_exponent(g_.model.edges, as_f16 ? binade::convert(code, own, f).bits : code, f);
  };
  return exponent(a, g_.types.a) + exponent(b, g_.types.b);
}

Exact ErrorWalk::scalar_product(std::uint64_t a, std::uint64_t b) const {
  if (g_.model.recipe == Recipe::exact_integer && g_.model.integer.exclusive_or) {
    return number_of(
        static_cast<std::uint64_t>(integer_of(a, g_.types.a) ^ integer_of(b, g_.types.b)), s32);
  }
  return times(number_of(a, g_.types.a), number_of(b, g_.types.b));
}

void ErrorWalk::start(const Exact& value, const Format& f) {
  stack_.push_back({{}, {}, {}, f});
  increase(value);
}

void ErrorWalk::increase(const Exact& value) {
  if (value.kind == Kind::finite) {
    top().exact.add(value.negative, value.significand, value.exponent);
  }
}

Upper ErrorWalk::largest_in_any_order() {
  return (is_finished_ ? top().exact.upper() : magnitude_) + top().any_order;
}

void ErrorWalk::rounds(const Format& f, Rounding rounding) {
  Accumulator& accumulator = top();
  accumulator.error += rounding_error(accumulator.exact.upper() + accumulator.error, f, rounding);
  accumulator.any_order += rounding_error(largest_in_any_order(), f, rounding);
  accumulator.format = f;
}

void ErrorWalk::push_zero(const Format& f) { start({}, f); }

void ErrorWalk::push_c(const Format& f) {
  start(x_.has_c ? number_of(x_.c, g_.c) : Exact{}, g_.c);
  convert(f, Role::narrow);
}

void ErrorWalk::convert(const Format& f, Role, Rounding rounding) {
  if (is_integer(f) || fits_in(top().format, f)) {
    top().format = f;
  } else {
    rounds(f, rounding);
  }
}

void ErrorWalk::add(const Format& f, Role) {
  const Accumulator right = top();
  stack_.pop_back();
  Accumulator& left = top();
  left.exact.add(right.exact);
  left.error += right.error;
  left.any_order += right.any_order;
  rounds(f, Rounding::ties_to_even);
}

void ErrorWalk::add_scaled(const Format& f, int run) {
  const auto scale = [&](const std::uint32_t* runs) {
    return runs == nullptr ? std::optional<Exact>() : number_of(runs[run], binary32);
  };
  const PromotionScaling& how = g_.sum.scaling;
  const Upper in_any_order = std::exchange(magnitude_, before_scales_);
  multiply_by(scale(x_.a_runs), scale(x_.b_runs), how.order, f);
  if (!how.fused) rounds(f, Rounding::ties_to_even);
  magnitude_ = in_any_order;
  add(f, Role::promote);
}

void ErrorWalk::products(const InstructionPlaces& place) {
  const bool waits = g_.sum.scaling.share != 0;
  const Upper in_any_order = waits ? std::exchange(magnitude_, before_scales_) : magnitude_;
  convert(g_.types.c, Role::narrow);
  std::array<std::uint64_t, 256> a, b;
  std::size_t n = 0;
  for (int i = 0; i < g_.k; ++i, ++n) {
    const int at = place(i);
    a[n] = at < 0 ? zero_bits(g_.types.a, false) : x_.a[at];
    b[n] = at < 0 ? zero_bits(g_.types.b, false) : x_.b[at];
  }
  if (g_.model.sparse_group != 0) {
    std::array<std::uint64_t, 128> kept_a{}, kept_b{};
    keep_half(a.data(), b.data(), g_.k, g_.model.sparse_group, kept_a.data(), kept_b.data());
    n /= 2;
    std::ranges::copy(kept_a, a.begin());
    std::ranges::copy(kept_b, b.begin());
  }
  const DotTypes types = types_of_sums(g_.model, g_.types);
  if (g_.model.c_last) start({}, types.c);
  if (is_scaled(g_.model)) {
    const detail::InstructionScales scales = detail::gathered_scales(g_, x_, place);
    scaled_chain(types, Codes(a).first(n), Codes(b).first(n), scales.of());
  } else {
    sum_products(types, Codes(a).first(n), Codes(b).first(n));
  }
  top().format = types.d;
  if (g_.model.c_last) add(types.d, Role::c_last);
  convert(g_.types.d, Role::narrow);
  magnitude_ = in_any_order;
}

void ErrorWalk::sum_products(const DotTypes& types, Codes a, Codes b) {
  switch (g_.model.recipe) {
    case Recipe::fused_block: return fused_chain(types, a, b);
    case Recipe::expanded: {
      std::array<std::uint64_t, 64> x{}, y{};
      const std::size_t half = a.size() / 2;
      for (std::size_t i = 0; i < a.size(); ++i) {
        const auto at = static_cast<std::size_t>(
            expanded_index(static_cast<int>(i), static_cast<int>(a.size())));
        x[i] = a[at];
        y[i] = b[at];
      }
      fused_chain(types, Codes(x).first(half), Codes(y).first(half));
      return fused_chain({types.a, types.b, types.d, types.d}, Codes(x).subspan(half, half),
                         Codes(y).subspan(half, half));
    }
    case Recipe::fma_chain:
    case Recipe::mul_add_chain: return scalar_chain(types.d, a, b);
    case Recipe::pairwise: return pairwise(types.d, a, b);
    case Recipe::exact_integer: return integers(a, b);
  }
}

void ErrorWalk::fused_chain(const DotTypes& types, Codes a, Codes b) {
  Format c = with_wide_c(types).c;
  const auto block = static_cast<std::size_t>(g_.model.block);
  std::array<Addend, 256> products{};
  for (std::size_t first = 0; first < a.size(); first += block) {
    const std::size_t n = std::min(block, a.size() - first);
    for (std::size_t i = 0; i < n; ++i) products[i] = product(a[first + i], b[first + i]);
    fused_block(std::span(products).first(n), c, types.d);
    c = types.d;
  }
}

/// The blocks of an instruction that is scaled: their terms are products, or exact sums of groups
/// of them, times scales.
void ErrorWalk::scaled_chain(const DotTypes& types, Codes a, Codes b, const DotScales& scales) {
  const BlockScaling& how = g_.model.scaling;
  const auto block = static_cast<std::size_t>(g_.model.block);
  const auto step = static_cast<std::size_t>(how.group == 0 ? 1 : how.group);
  Format c = with_wide_c(types).c;
  std::array<Addend, 256> terms{};
  for (std::size_t first = 0; first < a.size(); first += block) {
    const std::size_t end = std::min(first + block, a.size());
    std::size_t n = 0;
    for (std::size_t at = first; at < end; at += step) {
      const Addend scale = scale_product(how, scales, static_cast<int>(at) / how.share);
      terms[n++] = how.group == 0 ? product_of(product(a[at], b[at]), scale)
                                  : scaled_group(types, a.data() + at, b.data() + at,
                                                 static_cast<int>(std::min(step, end - at)), scale);
    }
    fused_block(std::span(terms).first(n), c, types.d);
    c = types.d;
  }
}

void ErrorWalk::fused_block(std::span<const Addend> products, const Format& c, const Format& d) {
  Accumulator& accumulator = top();
  const DotModel& model = g_.model;
  const auto unit_of = [&](int largest, const Upper& addend) {
    // A subnormal c takes part in the alignment with exponent emin.
    if (!addend.is_zero()) largest = std::max({largest, addend.log2(), c.emin()});
    return std::max({largest, zero_exponent_, model.exponent_floor}) - model.fraction_bits;
  };
  int largest = std::numeric_limits<int>::min();
  for (const Addend& x : products) {
    if (x.kind == Kind::finite) largest = std::max(largest, x.exponent);
  }
  const Upper addend = accumulator.exact.upper() + accumulator.error;
  const int unit = unit_of(largest, addend);
  Upper lost = c.quantum_exponent() >= unit ? Upper() : std::min(Upper::power(unit), addend);
  for (const Addend& x : products) {
    if (x.kind != Kind::finite) continue;
    lost += cut_of(x, unit);
    accumulator.exact.add(x.negative, x.significand, x.exponent - x.fraction_bits);
  }
  accumulator.error += lost;
  const Upper any = magnitude_ + accumulator.any_order;
  if (!any.is_zero()) {
    accumulator.any_order += Upper(products.size() + 1, unit_of(largest_exponent_, any));
  }
  rounds(model.grid, model.rounding);
  accumulator.format = d;
}

void ErrorWalk::scalar_chain(const Format& d, Codes a, Codes b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Exact product = scalar_product(a[i], b[i]);
    if (product.kind == Kind::zero && fits_in(top().format, d)) continue;
    if (g_.model.recipe == Recipe::mul_add_chain) {
      const Upper error = rounding_error(magnitude_of(product), d, g_.model.rounding);
      top().error += error;
      top().any_order += error;
    }
    increase(product);
    rounds(d, g_.model.rounding);
  }
}

/// Adds, for each pair of products, p = fma(a1, b1, a0·b0) in binary32 to the sum.
void ErrorWalk::pairwise(const Format& d, Codes a, Codes b) {
  constexpr Rounding nearest = Rounding::ties_to_even;
  const auto product = [&](std::size_t i) {
    return i < a.size() ? scalar_product(a[i], b[i]) : Exact{};
  };
  for (std::size_t i = 0; i < a.size(); i += 2) {
    const Exact first = product(i);
    const Exact second = product(i + 1);
    const Upper rounded = rounding_error(magnitude_of(first), binary32, nearest);
    const Upper pair = magnitude_of(first) + magnitude_of(second) + rounded;
    top().error += rounded + rounding_error(pair, binary32, nearest);
    const Upper any = rounding_error(magnitude_, binary32, nearest);
    top().any_order += any + rounding_error(magnitude_ + any, binary32, nearest);
    increase(first);
    increase(second);
    rounds(binary32, nearest);
    if (i % 4 == 2 || i + 2 >= a.size()) convert(d, Role::narrow);
  }
}

/// Adds integer products. The sum is exact as long as 32 bits hold it; a sum that wrapped or
/// saturated may be any number of 32 bits.
void ErrorWalk::integers(Codes a, Codes b) {
  for (std::size_t i = 0; i < a.size(); ++i) increase(scalar_product(a[i], b[i]));
  Accumulator& accumulator = top();
  const auto beyond = [](const Upper& magnitude) {
    const bool fits = magnitude.is_zero() || magnitude.log2() < 31;
    return fits ? Upper() : magnitude + Upper::power(31);
  };
  accumulator.error += beyond(accumulator.exact.upper() + accumulator.error);
  accumulator.any_order += beyond(magnitude_ + accumulator.any_order);
}

void ErrorWalk::scale(const Exact& alpha) {
  Accumulator& accumulator = top();
  const bool finite = alpha.kind == Kind::finite;
  accumulator.exact =
      finite ? accumulator.exact.times(
                   alpha.negative, static_cast<std::uint64_t>(alpha.significand), alpha.exponent)
             : SignedSum();
  const Upper factor = magnitude_of(alpha);
  accumulator.error = accumulator.error * factor;
  accumulator.any_order = accumulator.any_order * factor;
  magnitude_ = magnitude_ * factor;
}

/// Multiplies by scales of A and of B, in format f, all but the last rounding.
void ErrorWalk::multiply_by(const std::optional<Exact>& a, const std::optional<Exact>& b,
                            ScaleOrder order, const Format& f) {
  constexpr Rounding nearest = Rounding::ties_to_even;
  if (!a || !b) {
    if (a || b) scale(a ? *a : *b);
    return;
  }
  if (order != ScaleOrder::together) {
    const bool a_first = order == ScaleOrder::a_first;
    scale(a_first ? *a : *b);
    rounds(f, nearest);
    return scale(a_first ? *b : *a);
  }
  const Upper lost = rounding_error(magnitude_of(times(*a, *b)), f, nearest);
  const Upper of_own = lost * (top().exact.upper() + top().error);
  const Upper of_any = lost * largest_in_any_order();
  scale(*a);
  scale(*b);
  top().error += of_own;
  top().any_order += of_any;
}

/// Multiplies by the scales of the row and of the column; the last rounding is that of alpha·sum.
void ErrorWalk::take_scales() {
  const auto scale = [](bool has, std::uint64_t bits) {
    return has ? number_of(bits, binary32) : std::optional<Exact>();
  };
  multiply_by(scale(x_.has_a_scale, x_.a_scale), scale(x_.has_b_scale, x_.b_scale),
              g_.epilogue.scales, g_.epilogue.compute);
}

void ErrorWalk::finish() {
  is_finished_ = true;
  constexpr Rounding nearest = Rounding::ties_to_even;
  const Epilogue& e = g_.epilogue;
  const Format& f = e.compute;
  const bool with_c = x_.has_c && !g_.sum.c_first && e.beta != 0;
  const Exact source =
      with_c ? times(number_of(scalar_bits(e.beta, f), f), number_of(x_.c, g_.c)) : Exact{};
  const Exact bias = x_.has_bias ? number_of(x_.bias, g_.bias) : Exact{};
  const auto operation = [&](const Exact& value) {
    increase(value);
    rounds(f, nearest);
  };
  if (e.sum) convert(*e.sum, Role::narrow);
  const bool is_scaled = x_.has_a_scale || x_.has_b_scale;
  const bool multiplies = is_scaled || e.alpha != 1;
  const bool adds_last = x_.has_bias && !e.bias_first;
  if (multiplies || with_c || x_.has_bias || (is_integer(top().format) && !is_integer(e.out))) {
    convert(f, Role::narrow);
    if (x_.has_bias && e.bias_first) operation(bias);
    if (is_scaled) {
      take_scales();
    } else {
      scale(number_of(scalar_bits(e.alpha, f), f));
    }
  }
  if (e.sum_last) {
    if (with_c) {
      const Upper rounded = rounding_error(magnitude_of(source), f, nearest);
      top().error += rounded;
      top().any_order += rounded;
      operation(source);
    } else if (multiplies) {
      rounds(f, nearest);
    }
    if (adds_last) operation(bias);
  } else {
    if (adds_last) {
      operation(bias);
    } else if (multiplies) {
      rounds(f, nearest);
    }
    if (with_c) operation(source);
  }
  // What is below +0 and becomes +0 comes no further from the exact value, of which the same holds.
  if (e.through) convert(*e.through, Role::output);
  // Beyond the range, toward zero and other directions give the largest finite number, too.
  const bool is_exact = is_integer(e.out) || fits_in(top().format, e.out);
  Accumulator& x = top();
  const auto ended = [&](Rounding rounding, bool saturates) {
    const auto lost = [&](const Upper& magnitude) {
      // What saturates becomes the largest finite number: up to twice its power of two it is no
      // further off than that power is, and what is larger may be far from it.
      const int unit = e.out.emax() - e.out.fraction_bits();
      const std::uint64_t largest = e.out.max_significand();
      const Upper rounded = rounding_error(magnitude, e.out, rounding);
      if (!saturates || magnitude <= Upper(largest, unit)) return rounded;
      if (magnitude.log2() > e.out.emax()) return magnitude;
      return rounded + Upper((std::uint64_t{1} << e.out.precision) - largest, unit);
    };
    return Bounds{x.error + lost(x.exact.upper() + x.error),
                  x.any_order + lost(largest_in_any_order())};
  };
  Bounds own{x.error, x.any_order};
  if (!is_exact || e.saturate) {
    own = ended(e.rounding, e.saturate || !rule_of(e.rounding).is_to_nearest());
  }
  any_direction_ = is_exact ? own : ended(Rounding::toward_positive, true);
  x.error = own.bound;
  x.any_order = own.any_order;
  x.format = e.out;
}

ElementBounds bounds_of(const GemmModel& model, const GemmElement<std::uint64_t>& element) {
  ErrorWalk walk(model, element);
  walk_sum(model, element.k, element.place, walk);
  walk.finish();
  return {{walk.bound(), walk.any_order()}, walk.any_direction()};
}

}  // namespace binade
