// SPDX-License-Identifier: Apache-2.0
//
// The judge of losses and bounds: elements of matrix products as rational numbers, computed from
// the definition of encodings without the project's arithmetic. Also random products for these
// tests.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/gemm/named_gemm.h"
#include "lib/gemm/operands.h"
#include "lib/number/exact_sum.h"
#include "tests/emulate/dot_draw.h"
#include "tests/lib/number/rational.h"

namespace binade::test {

/// Returns the value of an encoding; nothing for a NaN or an infinity.
inline std::optional<Rational> rational_of(std::uint64_t bits, const Format& f) {
  bits >>= f.padding_bits;
  const int fraction = f.precision - 1;
  const int width = (f.has_sign ? 1 : 0) + f.exponent_bits + fraction;
  bits &= width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  if (f.exponent_bits == 0) {  // an integer, two's complement where it has a sign
    const bool negative = f.has_sign && (bits >> (width - 1)) != 0;
    return Rational(Integer(bits)) - (negative ? power_of_two(width) : Rational(0));
  }
  const bool negative = f.has_sign && (bits >> (width - 1)) != 0;
  const std::uint64_t field = (bits >> fraction) & ((std::uint64_t{1} << f.exponent_bits) - 1);
  const std::uint64_t tail = bits & ((std::uint64_t{1} << fraction) - 1);
  const bool all_ones = field == (std::uint64_t{1} << f.exponent_bits) - 1;
  if (f.specials == Specials::ieee && all_ones) return std::nullopt;
  if (f.specials == Specials::nan_only && all_ones && tail == (std::uint64_t{1} << fraction) - 1) {
    return std::nullopt;
  }
  const std::uint64_t significand = tail + (field == 0 ? 0 : std::uint64_t{1} << fraction);
  const int exponent = (field == 0 ? 1 : static_cast<int>(field)) - f.bias - fraction;
  const Rational magnitude = Rational(Integer(significand)) * power_of_two(exponent);
  return negative ? -magnitude : magnitude;
}

inline Rational rational_of(const ExactSum& x) {
  Integer out = 0;
  for (std::size_t i = x.limbs.size(); i-- > 0;) out = (out << 64) + x.limbs[i];
  return Rational(out) * power_of_two(-2304);
}

inline Rational rational_of(double x) {
  int e = 0;
  const double m = std::frexp(x, &e);
  return Rational(Integer(static_cast<std::int64_t>(std::ldexp(m, 53)))) * power_of_two(e - 53);
}

struct ExactElement {
  Rational value, products;  ///< the exact alpha·(Σ a·b + C) + ..., and Σ|a·b|
};

/// Returns an element by the definition of the product; nothing if an operand is a NaN or an
/// infinity.
inline std::optional<ExactElement> exact_element(const GemmModel& g,
                                                 const GemmElement<std::uint64_t>& x) {
  Rational sum = 0;
  Rational products = 0;
  const int group = g.model.sparse_group;
  for (int i = 0; i < x.k; ++i) {
    if (group != 0) {  // the metadata keep half of each group: first those of a that are not zero
      const int first = i / group * group;
      const auto code = [&](int at) { return at < x.k ? x.a[at] : 0; };
      int nonzero = 0, nonzero_before = 0, zero_before = 0;
      for (int at = first; at < first + group; ++at) {
        nonzero += code(at) != 0 ? 1 : 0;
        nonzero_before += at < i && code(at) != 0 ? 1 : 0;
        zero_before += at < i && code(at) == 0 ? 1 : 0;
      }
      const int kept_before =
          nonzero_before + std::min(zero_before, std::max(0, group / 2 - nonzero));
      const bool fits = x.a[i] != 0 || zero_before < group / 2 - nonzero;
      if (!fits || kept_before >= group / 2) continue;
    }
    const auto a = rational_of(x.a[i], g.types.a);
    const auto b = rational_of(x.b[i], g.types.b);
    if (!a || !b) return std::nullopt;
    Rational product = *a * *b;
    for (const std::uint32_t* runs : {x.a_runs, x.b_runs}) {
      if (runs == nullptr) continue;
      const auto scale = rational_of(runs[i / scale_run(g)], binary32);
      if (!scale) return std::nullopt;
      product *= *scale;
    }
    sum += product;
    products += abs(product);
  }
  if (g.model.scales.minus_a != g.model.scales.minus_b) sum = -sum;
  const auto c = x.has_c ? rational_of(x.c, g.c) : Rational(0);
  const auto bias = x.has_bias ? rational_of(x.bias, g.bias) : Rational(0);
  const auto a_scale = x.has_a_scale ? rational_of(x.a_scale, binary32) : Rational(1);
  const auto b_scale = x.has_b_scale ? rational_of(x.b_scale, binary32) : Rational(1);
  if (!c || !bias || !a_scale || !b_scale) return std::nullopt;
  if (g.sum.c_first) sum += *c;
  const bool is_scaled = x.has_a_scale || x.has_b_scale;
  const Rational factor = is_scaled ? *a_scale * *b_scale : rational_of(g.epilogue.alpha);
  Rational value =
      g.epilogue.bias_first ? Rational(factor * (sum + *bias)) : Rational(factor * sum + *bias);
  if (!g.sum.c_first) value += rational_of(g.epilogue.beta) * *c;
  return ExactElement{value, products};
}

struct NamedCase {
  const char* name;
  int sm;
};
inline constexpr std::array product_cases{
    NamedCase{"mma.m16n8k16.f32.f16.f16.f32", 90},
    NamedCase{"mma.m16n8k16.f16.f16.f16.f16", 80},
    NamedCase{"mma.m16n8k16.f16.f16.f16.f16", 90},
    NamedCase{"wmma.m16n16k16.f32.f16.f16.f32", 70},
    NamedCase{"mma.m16n8k32.f32.e4m3.e5m2.f32", 89},
    NamedCase{"mma.m16n8k32.f16.e5m2.e5m2.f16", 89},
    NamedCase{"mma.m16n8k32.f16.e4m3.e4m3.f16", 90},
    NamedCase{"mma.m16n8k32.f32.e5m2.e4m3.f32", 90},
    NamedCase{"wgmma.m64n8k32.f32.e4m3.e4m3", 90},
    NamedCase{"mma.m16n8k8.f32.tf32.tf32.f32", 80},
    NamedCase{"mma.m16n8k16.f32.bf16.bf16.f32", 90},
    NamedCase{"mma.m8n8k4.f32.f16.f16.f32", 90},
    NamedCase{"mma.m8n8k4.f16.f16.f16.f16", 90},
    NamedCase{"mma.m8n8k4.f64.f64.f64.f64", 80},
    NamedCase{"wmma.m16n16k16.f16.f16.f16.f32", 80},
    NamedCase{"mma.sp.m16n8k32.f32.f16.f16.f32", 80},
    NamedCase{"wgmma.m64n8k16.f32.f16.f16.imm_scale_a_-1", 90},
    NamedCase{"fma.rn.f32.f32.f32.f32", 0},
    NamedCase{"mul_add.rn.f32.f32.f32.f32", 0},
    NamedCase{"fma.rn.f16.f16.f16.f16", 0},
    NamedCase{"mul_add.rn.f16.f16.f16.f16", 0},
    NamedCase{"mul_add.rn.bf16.bf16.bf16.bf16", 0},
    NamedCase{"fma.rn.f64.f64.f64.f64", 0},
};

inline constexpr int orders = 10;

/// Returns whether a model can have the order of this number (set_order). In orders 3 and 5, parts
/// of K take turns shorter than a sparse group of 4, so that a group would not have neighbouring
/// elements.
inline bool can_have(const GemmModel& g, int order) {
  return g.model.sparse_group == 0 || (order != 3 && order != 5);
}

/// Gives a model the order, epilogue and output of this number, 0 to orders - 1; 0 changes nothing.
inline void set_order(GemmModel& g, int number) {
  switch (number) {
    case 1: g.sum.promote_every = 2; break;
    case 2:
      g.sum.splits[0] = parse_split("3:halves");
      g.epilogue.out = bfloat16;
      g.epilogue.rounding = Rounding::toward_zero;
      break;
    case 3:
      g.sum.splits[0] = parse_split("2");
      g.sum.splits[1] = parse_split("4:2:pairs:tail");
      g.epilogue.sum_last = false;
      break;
    case 4:
      g.sum.c_first = true;
      g.sum.order.descending = true;
      g.epilogue.through = bfloat16;
      g.epilogue.out = e5m2;
      g.epilogue.rounding = Rounding::to_odd;
      break;
    case 5:
      g.sum.promote_every = 3;
      g.sum.c_first = true;
      g.sum.splits[0] = parse_split("5:1:descending");
      g.epilogue.alpha = -0.375;
      g.epilogue.sum = bfloat16;
      break;
    case 6:
      g.epilogue.compute = binary32;
      g.epilogue.alpha = 1.375;
      g.epilogue.beta = -3;
      g.epilogue.out = e4m3;
      g.epilogue.saturate = true;
      g.epilogue.rounding = Rounding::stochastic;
      g.epilogue.seed = 0x123456789ABCDEF0;
      break;
    case 7:
      g.epilogue.out = bfloat16;
      g.sum.promotion = g.sum.partial = binary16;
      g.sum.promote_every = 1;
      g.sum.splits[0] = parse_split("5:balanced:pairwise:from2");
      g.sum.reduced = bfloat16;
      break;
    case 8:
      g.sum.splits[0] = parse_split("2:tile8:rest:until16");
      g.sum.splits[1] = parse_split("3:2-0-1");
      g.sum.partial = bfloat16;
      g.sum.reduced = binary32;
      g.sum.c_first = true;
      break;
    case 9:
      g.sum.splits[0] = parse_split("6:tile8:stream2x3:columns:last4:groups2:least1:descending");
      g.sum.splits[1] = parse_split("2");
      break;
    default: break;
  }
}

/// Returns random operands of an m × n × k product, whose rows and columns are those of draw_dot:
/// any encoding, near and far exponents, cancellation. C and bias are empty without `with_c`.
inline GemmOperands draw_product(Random& random, const GemmModel& g, std::size_t m, std::size_t n,
                                 std::size_t k, bool with_c = true) {
  GemmOperands out{m, n, k, {}, {}, {}, {}};
  const int length = static_cast<int>(k);
  const DotTypes swapped{g.types.b, g.types.a, g.types.c, g.types.d};
  for (std::size_t i = 0; i < m; ++i) {
    const DrawnDot row = draw_dot(random, g.types, length);
    out.a.insert(out.a.end(), row.a.begin(), row.a.end());
  }
  for (std::size_t j = 0; j < n; ++j) {
    const DrawnDot column = draw_dot(random, swapped, length);
    out.b.insert(out.b.end(), column.a.begin(), column.a.end());
  }
  if (!with_c) return out;
  const DotTypes of_c{g.types.a, g.types.b, g.c, g.types.d};
  for (std::size_t i = 0; i < m * n; ++i) out.c.push_back(draw_dot(random, of_c, 1).c);
  for (std::size_t j = 0; j < n; ++j) {
    const int e = between(random, -12, 12);
    out.bias.push_back(draw_at(random, g.bias, e));
  }
  return out;
}

/// A model that multiplies by scales of runs of K, and its name.
struct ScaledCase {
  std::string name;
  GemmModel g;
};
/// Models whose promotions multiply by scales of 32 elements, in each order, and those of block
/// scales in the instruction.
inline std::vector<ScaledCase> scaled_cases() {
  std::vector<ScaledCase> out;
  for (const NamedCase& row :
       {NamedCase{"wgmma.m64n8k32.f32.e4m3.e4m3", 90},
        NamedCase{"mma.m16n8k16.f32.f16.f16.f32", 90}, NamedCase{"fma.rn.f32.e4m3.e5m2.f32", 0},
        NamedCase{"mul_add.rn.bf16.e2m3.e3m2.bf16", 0}}) {
    for (int order = 0; order < 6; ++order) {
      GemmModel g = parse_gemm(row.name, row.sm).model;
      g.sum.promote_every = order % 2 == 0 ? 32 / g.k : g.k == 1 ? 8 : 1;
      g.sum.scaling = {32, static_cast<ScaleOrder>(order % 3), order < 3};
      if (order == 5) g.sum.splits[0] = parse_split("3:tile32:descending");
      out.push_back({row.name + (" in order " + std::to_string(order)), g});
    }
  }
  const DotTypes fp8{e4m3, e5m2, binary32, binary32}, fp4{e2m1, e2m1, binary32, binary32};
  const auto add = [&](const char* name, const DotTypes& types, int k, const DotModel& model) {
    out.push_back({name, {.model = model, .types = types, .k = k}});
  };
  DotModel products{.block = 32}, groups{.block = 64, .fraction_bits = 35, .exponent_floor = -139};
  products.scaling = {32, e8m0, 0};
  add("mxf8f6f4", fp8, 32, products);
  groups.scaling = {32, e8m0, 16};
  add("mxf4", fp4, 64, groups);
  groups.scaling = {16, ue4m3, 16};
  add("nvf4", fp4, 64, groups);
  out.back().g.sum.splits[0] = parse_split("2");
  return out;
}
/// Draws the scales of a product's runs; of a matrix none now and then.
inline void draw_runs(Random& random, const GemmModel& g, GemmOperands& x) {
  x.runs.length = static_cast<std::size_t>(scale_run(g));
  const Format f = is_scaled(g.model) ? g.model.scaling.format : binary32;
  const auto draw = [&](std::vector<std::uint32_t>& to, std::size_t lines) {
    to.resize(lines * x.runs.count(x.k));
    for (std::uint32_t& scale : to) {
      const std::uint64_t code = f == binary32 ? draw_at(random, f, between(random, -6, 6))
                                 : f == e8m0 ? static_cast<std::uint64_t>(between(random, 117, 137))
                                             : static_cast<std::uint64_t>(between(random, 0, 0x7E));
      scale = static_cast<std::uint32_t>(binade::convert(code, f, binary32).bits);
    }
  };
  if (random() % 8 != 0) draw(x.runs.a, x.m);
  if (random() % 8 != 0 || x.runs.a.empty()) draw(x.runs.b, x.n);
}

/// Returns operands of a 1 × 1 × k product whose row and column were drawn together, so that
/// products cancel.
inline GemmOperands draw_dots(Random& random, const GemmModel& g, std::size_t k) {
  const DrawnDot row = draw_dot(random, g.types, static_cast<int>(k));
  return {1, 1, k, row.a, row.b, {row.c}, {}};
}

inline GemmModel model_of(const NamedCase& row, int order) {
  GemmModel out = parse_gemm(row.name, row.sm).model;
  set_order(out, order);
  return out;
}

}  // namespace binade::test
