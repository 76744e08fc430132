// SPDX-License-Identifier: Apache-2.0
//
// `epilogue_values` of epilogues.h, equal in every number, by vectors of V: the same operations in
// every lane, D = alpha·sum + beta·C + bias of V::lanes neighbouring elements of a row. V is the
// level's vector unit (avx2.h, avx512.h): a struct of types and functions for its vectors.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>

#include "emulate/fast/epilogues.h"

namespace binade::fast {

/// The steps of detail::in_float (epilogues.h) in every lane, in the same order.
template <class V>
struct EpilogueLanes {
  using F = typename V::F;

  const EpiloguePlan& plan;
  F scale, alpha, beta;

  explicit EpilogueLanes(const EpiloguePlan& of)
      : plan(of),
        scale(V::set_number(of.scale)),
        alpha(V::set_number(of.alpha)),
        beta(V::set_number(of.beta)) {}

  F operator()(F sum, F c, F bias) const {
    const Epilogue& e = plan.model.epilogue;
    if (plan.scale != 1) sum = V::mul(sum, scale);
    if (e.sum_last) {
      if (plan.with_c) {
        sum = V::mul_add(alpha, sum, V::mul(beta, c));
      } else if (e.alpha != 1) {
        sum = V::mul(alpha, sum);
      }
      return plan.has_bias ? V::add(sum, bias) : sum;
    }
    if (plan.has_bias) {
      sum = V::mul_add(alpha, sum, bias);
    } else if (e.alpha != 1) {
      sum = V::mul(alpha, sum);
    }
    return plan.with_c ? V::mul_add(beta, c, sum) : sum;
  }
};

/// The level's kernel: sets d to x.n values of D before their last rounding.
template <class V>
void epilogue_vectors(const ValuesRow& x, float* d) {
  const EpilogueLanes<V> lanes(*x.plan);
  const float* const c = lanes.plan.with_c ? x.c : x.sums;
  const float* const bias = lanes.plan.has_bias ? x.bias : x.sums;
  std::size_t i = 0;
  for (; i + V::lanes <= x.n; i += V::lanes) {
    V::store(d + i, V::bits(lanes(V::load_floats(x.sums + i), V::load_floats(c + i),
                                  V::load_floats(bias + i))));
  }
  if (i == x.n) return;
  const std::size_t rest = x.n - i;
  alignas(V::bytes) std::array<float, V::lanes> s{}, of_c{}, of_bias{}, out;
  std::memcpy(s.data(), x.sums + i, rest * sizeof(float));
  std::memcpy(of_c.data(), c + i, rest * sizeof(float));
  std::memcpy(of_bias.data(), bias + i, rest * sizeof(float));
  V::store(out.data(), V::bits(lanes(V::load_floats(s.data()), V::load_floats(of_c.data()),
                                     V::load_floats(of_bias.data()))));
  std::memcpy(d + i, out.data(), rest * sizeof(float));
}

}  // namespace binade::fast
