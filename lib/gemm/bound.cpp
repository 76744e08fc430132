// SPDX-License-Identifier: Apache-2.0
//
// Computes an element's exact error, from the losses of its trace (loss.h), and its bounds, from
// the walk of error_walk.h.
#include "lib/gemm/bound.h"

#include <algorithm>

#include "lib/gemm/error_walk.h"
#include "lib/gemm/loss.h"
#include "lib/text/error.h"

namespace binade {
namespace {

/// Returns γ_K = K·u / (1 - K·u) with u = 2^-24, rounded up, or nothing if K·u >= 1.
std::optional<Upper> gamma(int k) {
  constexpr std::uint64_t inverse = std::uint64_t{1} << 24;
  const auto n = static_cast<std::uint64_t>(k);
  if (n >= inverse) return std::nullopt;
  constexpr int bits = 64;
  const uint128 rest = inverse - n;
  return Upper(((static_cast<uint128>(n) << bits) + rest - 1) / rest, -bits);
}

/// Returns the sum of |a·b| times the scales of each run of K, all of which are finite.
ExactSum scaled_products(const GemmModel& model, const GemmElement<std::uint64_t>& x) {
  SignedSum out;
  for (int first = 0, run = scale_run(model), at = 0; first < x.k; first += run, ++at) {
    SignedSum sum;
    for (int i = first; i < std::min(first + run, x.k); ++i) {
      const Exact a = number_of(x.a[i], model.types.a), b = number_of(x.b[i], model.types.b);
      if (a.kind != Kind::finite || b.kind != Kind::finite) continue;
      sum.add(false, a.significand * b.significand, a.exponent + b.exponent);
    }
    for (const std::uint32_t* scales : {x.a_runs, x.b_runs}) {
      if (scales == nullptr) continue;
      const Exact scale = number_of(scales[at], binary32);
      sum = scale.kind == Kind::finite
                ? sum.times(false, static_cast<std::uint64_t>(scale.significand), scale.exponent)
                : SignedSum();
    }
    out.add(sum);
  }
  return out.magnitude();
}

/// Of a model with relu: the bounds are those without it, since it brings no two numbers further
/// apart.
ElementBound bound_with_relu(GemmModel model, const GemmElement<std::uint64_t>& element) {
  const std::uint64_t result = gemm_element(model, element);
  model.epilogue.activation = Activation::none;
  ElementBound out = bound_of(model, element);
  out.result = result;
  if (out.special) return out;
  if (out.negative) out.exact = {};
  out.negative = false;
  out.error = error_of(model, out, result);
  return out;
}

}  // namespace

ElementBound bound_of(const GemmModel& model, const GemmElement<std::uint64_t>& element) {
  if (is_smooth(model.epilogue.activation)) {
    throw Error("no error bound is known behind --activation " +
                std::string(activation_name(model.epilogue.activation)) + ": leave it out");
  }
  if (model.epilogue.activation == Activation::relu) return bound_with_relu(model, element);
  require_whole_sums(model, static_cast<std::size_t>(element.k));
  ElementLosses losses;
  ElementBound out;
  out.result = gemm_element(model, element, LossTrace{&losses});
  const ElementError error = element_error(model, losses, out.result);
  out.special = error.special;
  if (out.special) return out;
  ErrorWalk walk(model, element);
  walk_sum(model, element.k, element.place, walk);
  walk.finish();
  // What a sum lost counts times the factors that follow, of which losses have alpha alone.
  const bool has_factors = element.has_a_scale || element.has_b_scale || scale_run(model) != 0 ||
                           model.epilogue.bias_first;
  const SignedSum& exact = has_factors ? walk.exact() : error.exact;
  out.negative = exact.is_negative();
  out.exact = exact.magnitude();
  out.error = has_factors ? error_of(model, out, out.result) : error.difference.magnitude();
  if (scale_run(model) != 0) {
    out.products = scaled_products(model, element);
  } else {
    for (const TermLoss& x : losses.terms) {
      if (!x.addend) out.products.add(x.significand, x.exponent);
    }
  }
  out.bound = walk.bound();
  out.any_order = walk.any_order();
  out.bound_any_direction = walk.any_direction().bound;
  out.any_order_any_direction = walk.any_direction().any_order;
  if (const std::optional<Upper> factor = gamma(element.k)) {
    out.classical = *factor * Upper(out.products);
  }
  return out;
}

ExactSum error_of(const GemmModel& model, const ElementBound& element, std::uint64_t given) {
  const Exact x = number_of(given, model.epilogue.out);
  const SignedSum exact(element.exact, element.negative);
  SignedSum difference;
  difference.subtract(exact);
  if (x.kind == Kind::finite) difference.add(x.negative, x.significand, x.exponent);
  return difference.magnitude();
}

Agreement agreement_of(const GemmModel& model, const ElementBound& element, std::uint64_t given) {
  if (given == element.result) return Agreement::equal;
  const Kind kind = number_of(given, model.epilogue.out).kind;
  if (element.special || kind == Kind::nan || kind == Kind::infinite) return Agreement::special;
  const ExactSum error = error_of(model, element, given);
  if (element.bound_any_direction.holds(error)) return Agreement::within_bound;
  return element.any_order_any_direction.holds(error) ? Agreement::within_any_order
                                                      : Agreement::beyond_bound;
}

}  // namespace binade
