// SPDX-License-Identifier: Apache-2.0
//
// What follows the products of a tile, a row of up to 32 elements at a time: sums added to sums
// (`compute` of emulate/operation.h), and `epilogue` of emulate/gemm.h. Both are equal in every
// bit; the definitions do the elements that are or become NaNs or infinities. Where numbers are
// binary32's, the machine's float arithmetic rounds as the definition does, and a fused
// multiply-add rounds once:
//
//     sum, C, bias   of any formats inside binary32: as floats, exactly; integers rounded
//     binary32       fma(alpha, sum, beta·C) + bias, or fma(beta, C, fma(alpha, sum, bias)), as the model says
//     D              one rounding more, as encode.h does it
//
//     alpha = 0.1, sum = 3, beta·C = -0.3: alpha is 0x3DCCCCCD, 0.1 + 1.5e-9; -0.3 is 0xBE99999A, -0.3 - 1.2e-8
//     product rounded, then the sum: 0; fma, the exact difference: -0x1p-27
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "emulate/fast/encode.h"
#include "emulate/fast/products.h"
#include "emulate/fast/rounded_sum.h"
#include "emulate/gemm.h"

namespace binade {

/// n numbers of one format, as encodings.
template <class Bits>
struct SumsOf {
  Bits* bits = nullptr;
  std::size_t n = 0;
  Format format{};
};

/// A model's epilogue, made ready for rows of sums; its numbers as floats where `is_float` or
/// `by_steps`. Where neither is set, the definition does all elements.
struct EpiloguePlan {
  GemmModel model{};
  Format sum{};  ///< format of the finished sums
  bool has_c = false, has_bias = false;
  int scale_log2 = 0;       ///< sums are multiplied by 2^scale_log2 first (`rescaled`)
  bool is_nothing = false;  ///< D is the sum, as it is
  bool is_float = false;    ///< the epilogue is direct, and in float
  /// The epilogue is not direct, the sum is an integer or there are scales, but each of its steps
  /// is in float.
  bool by_steps = false;
  bool with_c = false;  ///< beta·C is added here
  bool has_a_scale = false, has_b_scale = false;
  float scale = 1;  ///< 2^scale_log2
  float alpha = 1, beta = 1;
  fast::TileQuantizer<float> to{Quantizer{.format = binary32}};
  fast::CodePlan<float> codes{binary32};
  /// Roundings of the sum, and on the way to D; to binary32 where there is none.
  fast::TileQuantizer<float> to_sum{Quantizer{.format = binary32}};
  fast::TileQuantizer<float> through{Quantizer{.format = binary32}};
};

/// A row of finished sums as floats, and of C and bias where the plan, which `is_float`, has them:
/// n numbers each.
struct ValuesRow {
  const EpiloguePlan* plan = nullptr;
  const float *sums = nullptr, *c = nullptr, *bias = nullptr;
  std::size_t n = 0;
};

/// A row of a tile, as encodings: its plan, and n elements of C, of the bias and of each element's
/// scales, null where there is none. `index` is the first element's number in D, and the others
/// follow.
struct EpilogueRow {
  const EpiloguePlan* plan = nullptr;
  const std::uint64_t *c = nullptr, *bias = nullptr;
  std::size_t n = 0;
  const std::uint64_t *a_scale = nullptr, *b_scale = nullptr;
  std::uint64_t index = 0;
};

/// Whether A's rows and B's columns have scales.
struct ScaledSides {
  bool a = false, b = false;
};

/// Returns how the finished value is rounded to D's format; elements are numbered as in D.
constexpr Quantizer output_quantizer(const Epilogue& e) {
  return {.format = e.out, .attributes = output_attributes(e), .seed = e.seed};
}

/// Returns the plan of a model whose finished sums are of format `sum`.
inline EpiloguePlan epilogue_plan(const GemmModel& g, const Format& sum, bool has_c, bool has_bias,
                                  int scale_log2 = 0, const ScaledSides& scaled = {}) {
  const Epilogue& e = g.epilogue;
  EpiloguePlan out{
      .model = g, .sum = sum, .has_c = has_c, .has_bias = has_bias, .scale_log2 = scale_log2};
  out.with_c = has_c && !g.sum.c_first && e.beta != 0;
  out.has_a_scale = scaled.a;
  out.has_b_scale = scaled.b;
  const bool is_scaled = scaled.a || scaled.b;
  const bool scales = e.alpha != 1 || scale_log2 != 0 || out.with_c || has_bias || is_scaled;
  out.is_nothing = !scales && e.is_direct() && sum == e.out && !e.saturate;
  const auto is_in_float = [](const Format& f) { return !is_integer(f) && fits_in(f, binary32); };
  // An integer is rounded to binary32, unless another format comes before.
  const bool is_rounded_integer = is_integer(sum) && e.sum.value_or(binary32) == binary32;
  // The scale must be a normal float, so that multiplying by it rounds once.
  if (out.is_nothing || e.compute != binary32 || std::abs(scale_log2) > binary32.emax() - 1 ||
      !(is_in_float(sum) || is_rounded_integer) || !is_in_float(e.out) ||
      (out.with_c && !is_in_float(g.c)) || (has_bias && !is_in_float(g.bias))) {
    return out;
  }
  const auto number = [](double x) { return value_of<float>(scalar_bits(x, binary32), binary32); };
  out.scale = std::ldexp(1.0F, scale_log2);
  out.alpha = number(e.alpha);
  out.beta = number(e.beta);
  out.to = fast::TileQuantizer<float>(output_quantizer(e));
  out.codes = fast::CodePlan<float>(e.out);
  const bool in_float = e.out == binary32 || (out.to.known() && out.codes.known);
  const bool is_plain = e.is_direct() && !e.bias_first && !is_scaled && !is_integer(sum);
  out.is_float = in_float && is_plain;
  const auto step = [&](fast::TileQuantizer<float>& to, const std::optional<Format>& f) {
    if (!f || *f == binary32) return true;
    if (!is_in_float(*f)) return false;
    to = fast::TileQuantizer<float>({.format = *f, .attributes = detail::to_nearest});
    return to.known();
  };
  out.by_steps = in_float && !is_plain && scale_log2 == 0 && step(out.to_sum, e.sum) &&
                 step(out.through, e.through);
  return out;
}

/// Returns `epilogue` of the row's i-th element, after its sum was rescaled.
inline std::uint64_t epilogue_of(const EpilogueRow& x, std::size_t i, std::uint64_t sum) {
  const EpiloguePlan& plan = *x.plan;
  const GemmElement<std::uint64_t> element{.c = x.c != nullptr ? x.c[i] : 0,
                                           .bias = x.bias != nullptr ? x.bias[i] : 0,
                                           .has_c = x.c != nullptr,
                                           .has_bias = x.bias != nullptr,
                                           .a_scale = x.a_scale != nullptr ? x.a_scale[i] : 0,
                                           .b_scale = x.b_scale != nullptr ? x.b_scale[i] : 0,
                                           .has_a_scale = x.a_scale != nullptr,
                                           .has_b_scale = x.b_scale != nullptr,
                                           .place = {.column = x.index + i}};
  const Format& f = plan.model.epilogue.compute;
  return epilogue(plan.model, element, rescaled({sum, plan.sum}, plan.scale_log2, f));
}

// The definitions as kernels.

inline void epilogue_row(const EpilogueRow& x, std::uint64_t* sums) {
  for (std::size_t i = 0; i < x.n; ++i) sums[i] = epilogue_of(x, i, sums[i]);
}
/// Computes D before its last rounding, in binary32.
inline void epilogue_values(const ValuesRow& x, float* d) {
  EpiloguePlan plan = *x.plan;
  plan.sum = binary32;
  plan.model.c = binary32;
  plan.model.bias = binary32;
  plan.model.epilogue.out = binary32;
  plan.model.epilogue.saturate = false;
  for (std::size_t i = 0; i < x.n; ++i) {
    const std::uint64_t c = plan.has_c ? bits_of(x.c[i]) : 0;
    const std::uint64_t bias = plan.has_bias ? bits_of(x.bias[i]) : 0;
    const EpilogueRow row{&plan, plan.has_c ? &c : nullptr, plan.has_bias ? &bias : nullptr, 1};
    const std::uint64_t out = epilogue_of(row, 0, bits_of(x.sums[i]));
    d[i] = std::bit_cast<float>(static_cast<std::uint32_t>(out));
  }
}
inline std::uint64_t sum_of(std::uint64_t left, const Format& of_left, std::uint64_t right,
                            const Format& of_right, const Format& to) {
  return action_bits(Action::add, {left, right}, {of_left, of_right, to}, to, detail::to_nearest);
}
inline void add_sums(const SumsOf<std::uint64_t>& left, const SumsOf<const std::uint64_t>& right,
                     const Format& to) {
  for (std::size_t i = 0; i < left.n; ++i) {
    left.bits[i] = sum_of(left.bits[i], left.format, right.bits[i], right.format, to);
  }
}

/// The scales of a promotion of a row: one of A and one of B for each sum; null: they are 1.
struct RowScales {
  PromotionScaling how{};
  const std::uint32_t *a = nullptr, *b = nullptr;
};
inline std::uint64_t scaled_sum_of(const RowScales& scales, std::size_t i, const Typed& left,
                                   const Typed& right, const Format& to) {
  const auto scale = [i](const std::uint32_t* of) { return of == nullptr ? of : of + i; };
  return detail::scaled_add(scales.how, left, right, scale(scales.a), scale(scales.b), to);
}
inline void add_scaled_sums(const SumsOf<std::uint64_t>& left,
                            const SumsOf<const std::uint64_t>& right, const RowScales& scales,
                            const Format& to) {
  for (std::size_t i = 0; i < left.n; ++i) {
    left.bits[i] =
        scaled_sum_of(scales, i, {left.bits[i], left.format}, {right.bits[i], right.format}, to);
  }
}

namespace fast {

/// Returns r + acc times the scales, in binary32 (PromotionScaling). A scale that is missing is 1,
/// and the order then `together`.
inline float promoted(const PromotionScaling& how, float r, float acc, float a, float b) {
  const bool b_first = how.order == ScaleOrder::b_first;
  const float sum = how.order == ScaleOrder::together ? acc : acc * (b_first ? b : a);
  const float factor = how.order == ScaleOrder::together ? a * b : b_first ? a : b;
  return how.fused ? std::fma(sum, factor, r) : r + sum * factor;
}
/// Returns how scales multiply of which one may be missing.
inline PromotionScaling promoted_by(PromotionScaling how, bool has_a, bool has_b) {
  if (!has_a || !has_b) how.order = ScaleOrder::together;
  return how;
}

namespace detail {

inline float float_of(std::uint64_t bits, const Format& f) {
  if (f == binary32) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  if (is_integer(f)) return static_cast<float>(integer_of(bits, f));
  return value_of<float>(bits, f);
}

template <class Real>
void add_on_host(const SumsOf<std::uint64_t>& left, const SumsOf<const std::uint64_t>& right) {
  const Format& f = Carrier<Real>::format;
  const auto number = [](std::uint64_t bits) {
    return std::bit_cast<Real>(static_cast<typename Carrier<Real>::Bits>(bits));
  };
  for (std::size_t i = 0; i < left.n; ++i) {
    const Real sum = number(left.bits[i]) + number(right.bits[i]);
    left.bits[i] = std::isfinite(sum) ? bits_of(sum) : sum_of(left.bits[i], f, right.bits[i], f, f);
  }
}

/// Rounds a tile of numbers, in place, some of which may become infinities.
inline void round_step(const TileQuantizer<float>& to, std::uint32_t* values, std::size_t n) {
  if (to.to.format == binary32) return;
  std::array<std::uint32_t, tile_columns> rounded;
  EventCounts unread;
  to(values, rounded.data(), n, 0, unread);
  std::copy_n(rounded.data(), n, values);
}

/// Returns alpha·sum + beta·C + bias in the order of a plan that `is_float` or `by_steps`.
inline float in_float(const EpiloguePlan& plan, float alpha, float sum, float c, bool has_bias,
                      float bias) {
  if (plan.model.epilogue.sum_last) {
    if (plan.with_c) {
      sum = std::fma(alpha, sum, plan.beta * c);
    } else if (alpha != 1) {
      sum = alpha * sum;
    }
    return has_bias ? sum + bias : sum;
  }
  if (has_bias) {
    sum = std::fma(alpha, sum, bias);
  } else if (alpha != 1) {
    sum = alpha * sum;
  }
  return plan.with_c ? std::fma(plan.beta, c, sum) : sum;
}

/// Returns the computed D before roundings on its way, under a plan that `is_float`.
inline float in_float(const EpiloguePlan& plan, float sum, float c, float bias) {
  if (plan.scale != 1) sum *= plan.scale;
  return in_float(plan, plan.alpha, sum, c, plan.has_bias, bias);
}

/// The same of element i of a row under a plan that is `by_steps`, with its scales.
inline float in_steps(const EpilogueRow& x, std::size_t i, float sum) {
  const EpiloguePlan& plan = *x.plan;
  const Epilogue& e = plan.model.epilogue;
  const float c = plan.with_c ? float_of(x.c[i], plan.model.c) : 0;
  const float bias = plan.has_bias ? float_of(x.bias[i], plan.model.bias) : 0;
  if (plan.has_bias && e.bias_first) sum += bias;
  const bool adds = plan.has_bias && !e.bias_first;
  if (!plan.has_a_scale && !plan.has_b_scale) return in_float(plan, plan.alpha, sum, c, adds, bias);
  const float a = plan.has_a_scale ? float_of(x.a_scale[i], binary32) : 1;
  const float b = plan.has_b_scale ? float_of(x.b_scale[i], binary32) : 1;
  const bool both = plan.has_a_scale && plan.has_b_scale;
  if (!both || e.scales == ScaleOrder::together) return in_float(plan, a * b, sum, c, adds, bias);
  return e.scales == ScaleOrder::a_first ? in_float(plan, b, sum * a, c, adds, bias)
                                         : in_float(plan, a, sum * b, c, adds, bias);
}

}  // namespace detail

/// Equal to `binade::epilogue_row`: turns a row of sums into a row of D.
inline void epilogue_row(const EpilogueRow& x, std::uint64_t* sums) {
  const EpiloguePlan& plan = *x.plan;
  if (plan.is_nothing) return;
  if (!plan.is_float && !plan.by_steps) return binade::epilogue_row(x, sums);
  std::array<std::uint32_t, tile_columns> d;  // bits of floats, then of D
  std::uint32_t special = 0;                  // bit i: element i is a NaN or an infinity
  const auto set = [&](std::size_t i, float value) {
    if (!std::isfinite(value)) special |= std::uint32_t{1} << i;
    d[i] = std::isfinite(value) ? static_cast<std::uint32_t>(bits_of(value)) : 0;
  };
  if (plan.by_steps) {
    for (std::size_t i = 0; i < x.n; ++i) set(i, detail::float_of(sums[i], plan.sum));
    detail::round_step(plan.to_sum, d.data(), x.n);
  }
  for (std::size_t i = 0; i < x.n; ++i) {
    if (plan.by_steps) {
      const float value = detail::in_steps(x, i, std::bit_cast<float>(d[i]));
      set(i, rounded_activation(plan.model.epilogue.activation, value));
      continue;
    }
    const float c = plan.with_c ? detail::float_of(x.c[i], plan.model.c) : 0;
    const float bias = plan.has_bias ? detail::float_of(x.bias[i], plan.model.bias) : 0;
    set(i, detail::in_float(plan, detail::float_of(sums[i], plan.sum), c, bias));
  }
  if (plan.by_steps) {
    detail::round_step(plan.through, d.data(), x.n);
    for (std::size_t i = 0; i < x.n; ++i) set(i, std::bit_cast<float>(d[i]));
  }
  if (plan.model.epilogue.out != binary32) {
    std::array<std::uint32_t, tile_columns> values;
    EventCounts unread;
    plan.to(d.data(), values.data(), x.n, x.index, unread);
    plan.codes(values.data(), d.data(), x.n);
    if (any_special(values.data(), x.n)) plan.codes.mend(values.data(), d.data(), x.n);
  }
  for (std::size_t i = 0; i < x.n; ++i) {
    sums[i] = (special >> i & 1) != 0 ? epilogue_of(x, i, sums[i]) : d[i];
  }
}

/// Equal to `binade::epilogue_values`; where that gives a NaN, this gives some NaN.
inline void epilogue_values(const ValuesRow& x, float* d) {
  const EpiloguePlan& plan = *x.plan;
  for (std::size_t i = 0; i < x.n; ++i) {
    d[i] =
        detail::in_float(plan, x.sums[i], plan.with_c ? x.c[i] : 0, plan.has_bias ? x.bias[i] : 0);
  }
}

/// Equal to `binade::add_sums`: in float or double where all three formats are that one's.
inline void add_sums(const SumsOf<std::uint64_t>& left, const SumsOf<const std::uint64_t>& right,
                     const Format& to) {
  const bool alike = left.format == to && right.format == to;
  if (alike && to == binary32) return detail::add_on_host<float>(left, right);
  if (alike && to == binary64) return detail::add_on_host<double>(left, right);
  for (std::size_t i = 0; i < left.n; ++i) {
    left.bits[i] = nearest_sum(left.bits[i], left.format, right.bits[i], right.format, to);
  }
}

/// Equal to `binade::add_scaled_sums`: in floats where all formats are binary32.
inline void add_scaled_sums(const SumsOf<std::uint64_t>& left,
                            const SumsOf<const std::uint64_t>& right, const RowScales& scales,
                            const Format& to) {
  if (left.format != binary32 || right.format != binary32 || to != binary32) {
    return binade::add_scaled_sums(left, right, scales, to);
  }
  const auto number = [](std::uint64_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  };
  const PromotionScaling how = promoted_by(scales.how, scales.a != nullptr, scales.b != nullptr);
  for (std::size_t i = 0; i < left.n; ++i) {
    const float a = scales.a == nullptr ? 1 : number(scales.a[i]);
    const float b = scales.b == nullptr ? 1 : number(scales.b[i]);
    const float sum = promoted(how, number(left.bits[i]), number(right.bits[i]), a, b);
    left.bits[i] = std::isfinite(sum)
                       ? bits_of(sum)
                       : scaled_sum_of(scales, i, {left.bits[i], to}, {right.bits[i], to}, to);
  }
}

}  // namespace fast
}  // namespace binade
