// SPDX-License-Identifier: Apache-2.0
//
// Fused blocks whose operands are decoded once for a whole row or column. Equal to `dot` of
// emulate/dot.h bit for bit; what a function here does not handle, it leaves to that. top is the
// largest exponent of the block's products, c and the model's floor. Products and sum are machine
// words, in units of 2^(top - F), F the model's fraction_bits:
//
//     product  |  a·b: 32 bits                                    | << F - its fraction bits
//     cut      |        `-- kept: >> top - exponent --' `- gone -'| of magnitudes, so toward zero
//     sum      |  s  `-------- 64 bits, exact --------'           |
//     rounded  by rounded_sum.h
//
// Scales that are powers of two, one pair for a whole block, move its products' exponents.
//
//     1.5 · 1.5 in binary16, F = 24, top = 2:  1536 · 1536 << 4 >> 2 = 9437184 units of 2^-22, which is 2.25
//                                              10 + 10 fraction bits, so 4 up; exponent 0 + 0, so 2 down
#pragma once

#include <cstdint>

#include "emulate/dot.h"
#include "emulate/fast/rounded_sum.h"

namespace binade::fast {

/// A decoded operand: significand · 2^(exponent - fraction_bits), the sign being the significand's.
/// A zero has an exponent far below every floor; -0 has that exponent plus one.
struct Factor {
  std::int32_t significand = 0;
  std::int32_t exponent = -8192;
};

/// Decodes a code of f whose value is one of format `as`, too. Returns false for a NaN or an
/// infinity.
constexpr bool predecode_one(const Format& f, const Format& as, std::uint64_t code, Factor& out) {
  const Addend x = f == as ? addend_of(code, f) : addend_of(convert(code, f, as).bits, as);
  const auto magnitude = static_cast<std::int32_t>(x.significand);
  out = x.kind == Kind::zero ? Factor{0, Factor{}.exponent + (x.negative ? 1 : 0)}
                             : Factor{x.negative ? -magnitude : magnitude, x.exponent};
  return x.kind == Kind::finite || x.kind == Kind::zero;
}
/// Returns the format in which a model's blocks multiply operands of format f.
constexpr Format block_operand(const DotModel& model, const Format& f) {
  return model.recipe == Recipe::expanded ? binary16 : f;
}
constexpr bool predecode_one(const DotModel& model, const Format& f, std::uint64_t code,
                             Factor& out) {
  return predecode_one(f, block_operand(model, f), code, out);
}

/// Decodes n codes into the caller's `out`, in the order in which the model multiplies them.
/// Returns false where one is a NaN or an infinity; only `dot` can compute the row or column then.
template <class Code>
constexpr bool predecode(const DotModel& model, const Format& f, const Code* codes, int n,
                         Factor* out) {
  bool finite = true;
  for (int i = 0; i < n; ++i) {
    const int at = model.recipe == Recipe::expanded ? expanded_index(i, n) : i;
    finite = predecode_one(model, f, codes[at], out[i]) && finite;
  }
  return finite;
}

/// Returns whether `dot_predecoded` knows the model and types.
constexpr bool is_predecodable(const DotModel& model, const DotTypes& types) {
  const Format& d = model.through_f32 ? binary32 : types.d;
  // A cut product of fraction_bits + 2 bits has room in 32; work space has room for 64 products.
  return is_fused(model) && types.a.has_zero && types.b.has_zero && !model.descending &&
         model.edges == EdgeRules{} && model.sparse_group == 0 && model.scales == WgmmaScales{} &&
         !is_scaled(model) && model.grid.bias == d.bias && model.fraction_bits <= 29 &&
         model.block <= 64 && d.has_sign && d.specials == Specials::ieee &&
         block_operand(model, types.a).fraction_bits() +
                 block_operand(model, types.b).fraction_bits() <=
             model.fraction_bits;
}

/// The scales of e8m0: 2^(code - bias), and a NaN.
inline constexpr std::uint32_t e8m0_one = 127, e8m0_nan = 255;

/// Returns whether all products of a block of an instruction of k products have the same scales,
/// which are powers of two.
constexpr bool has_block_scales(const DotModel& x, const DotTypes& types, int k) {
  return x.recipe == Recipe::fused_block && x.scaling == BlockScaling{x.block, e8m0, 0} &&
         k % x.block == 0 && types.c == types.d && !x.c_last && !x.through_f32 &&
         x.sparse_group == 0;
}
constexpr DotModel without_scales(DotModel model) {
  model.scaling = {};
  return model;
}

namespace detail {

/// Returns the exact sum of n cut products, where `block` is n, or 0 if n is not known to the
/// compiler. `up` is F minus a product's fraction bits; `top` is raised to the largest exponent.
template <int block>
constexpr std::int64_t cut_products(const Factor* a, const Factor* b, int n, int up, int& top) {
  constexpr int most = block == 0 ? 64 : block;
  const int count = block == 0 ? n : block;
  std::int32_t exponents[most];
  for (int i = 0; i < count; ++i) exponents[i] = a[i].exponent + b[i].exponent;
  for (int i = 0; i < count; ++i) top = exponents[i] > top ? exponents[i] : top;
  std::int64_t sum = 0;
  for (int i = 0; i < count; ++i) {
    const std::int32_t product = a[i].significand * b[i].significand;
    const std::int32_t sign = product >> 31;
    const std::uint32_t magnitude = static_cast<std::uint32_t>((product ^ sign) - sign) << up;
    const int distance = top - exponents[i];
    const auto cut = static_cast<std::int32_t>(magnitude >> (distance < 31 ? distance : 31));
    sum += (cut ^ sign) - sign;
  }
  return sum;
}
constexpr std::int64_t cut_products(const Factor* a, const Factor* b, int n, int up, int& top) {
  switch (n) {  // the compiler unrolls a loop whose count it knows
    case 4: return cut_products<4>(a, b, n, up, top);
    case 8: return cut_products<8>(a, b, n, up, top);
    case 16: return cut_products<16>(a, b, n, up, top);
    case 32: return cut_products<32>(a, b, n, up, top);
    default: return cut_products<0>(a, b, n, up, top);
  }
}

/// Returns one block's sum of n products, each times 2^scale, and c, which is finite, encoded in d.
constexpr std::uint64_t predecoded_block(const DotModel& model, int product_bits, const Factor* a,
                                         const Factor* b, int n, std::uint64_t c_bits,
                                         const Format& c_format, const Format& d, int scale = 0) {
  const Addend c = addend_of(c_bits, c_format);
  int top = model.exponent_floor;
  if (c.kind == Kind::finite && c.exponent > top) top = c.exponent;
  top -= scale;
  std::int64_t sum = cut_products(a, b, n, model.fraction_bits - product_bits, top);
  top += scale;
  sum += aligned(c, top, model.fraction_bits);
  return fast::rounded_sum(sum, top - model.fraction_bits, model, d);
}

constexpr bool is_special(std::uint64_t bits, const Format& f) {
  if (f.specials == Specials::ieee) return fields_of(bits, f).exponent == f.exponent_mask();
  return kind_of(fields_of(bits, f), f) == Kind::nan;
}

}  // namespace detail

/// Computes d of k products of decoded operands. Returns false where a block begins with a NaN or
/// an infinity, which c (unless c_last) or a partial sum may be; only `dot` can compute d then.
constexpr bool dot_predecoded(const DotModel& model, const DotTypes& types, const Factor* a,
                              const Factor* b, int k, std::uint64_t c, std::uint64_t& d) {
  const bool expanded = model.recipe == Recipe::expanded;
  const int product_bits =
      block_operand(model, types.a).fraction_bits() + block_operand(model, types.b).fraction_bits();
  const int part = expanded ? k / 2 : k;
  const DotTypes narrow = types_of_sums(model, types);
  DotTypes sums = with_wide_c(narrow);
  std::uint64_t sum = model.c_last ? zero_bits(sums.c, false) : wide_c(narrow, c);
  for (int first = 0; first < k; first += part) {
    for (int at = first; at < first + part; at += model.block) {
      if (detail::is_special(sum, sums.c)) return false;
      const int rest = first + part - at;
      const int n = rest < model.block ? rest : model.block;
      sum = detail::predecoded_block(model, product_bits, a + at, b + at, n, sum, sums.c, sums.d);
      sums.c = sums.d;
    }
  }
  if (model.c_last) sum = nearest_sum(sum, sums.d, c, types.c, sums.d);
  d = convert(sum, sums.d, types.d, {.nan = NanResult::nvidia}).bits;
  return true;
}

}  // namespace binade::fast
