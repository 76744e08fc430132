// SPDX-License-Identifier: Apache-2.0
//
// Fused blocks with operands taken apart once for a whole row or column. Equal to `dot` of dot.h bit for bit;
// what it does not handle it leaves to that. Products and sum are machine words, in units of 2^(top - F):
//
//     product  |  a·b: 32 bits                                    | << F - its fraction bits
//     cut      |        `-- kept: >> top - exponent --' `- gone -'| of magnitudes, so toward zero
//     sum      |  s  `-------- 64 bits, exact --------'           |
//     rounded  by rounded_sum.h
#pragma once

#include <cstdint>

#include "emulate/dot.h"
#include "emulate/fast/rounded_sum.h"

namespace binade::fast {

/// A number without its sign's bit: ±significand · 2^(exponent - fraction_bits). A zero has an
/// exponent far below every floor, -0 one that is one more.
struct Factor {
  std::int32_t significand = 0;
  std::int32_t exponent = -8192;
};

/// Takes an operand apart that is a number of `as` too. False where it is a NaN or an infinity.
constexpr bool predecode_one(const Format& f, const Format& as, std::uint64_t code, Factor& out) {
  const Addend x = f == as ? addend_of(code, f) : addend_of(convert(code, f, as).bits, as);
  const auto magnitude = static_cast<std::int32_t>(x.significand);
  out = x.kind == Kind::zero ? Factor{0, Factor{}.exponent + (x.negative ? 1 : 0)}
                             : Factor{x.negative ? -magnitude : magnitude, x.exponent};
  return x.kind == Kind::finite || x.kind == Kind::zero;
}
/// As what a model's blocks take operands of format f.
constexpr Format block_operand(const DotModel& model, const Format& f) {
  return model.recipe == Recipe::expanded ? binary16 : f;
}
constexpr bool predecode_one(const DotModel& model, const Format& f, std::uint64_t code,
                             Factor& out) {
  return predecode_one(f, block_operand(model, f), code, out);
}

/// Takes n codes apart in the order in which the model multiplies them; work space is the caller's.
/// False where one is a NaN or an infinity: then the row or column is for `dot`.
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

/// Whether `dot_predecoded` knows the model and types.
constexpr bool is_predecodable(const DotModel& model, const DotTypes& types) {
  const Format& d = model.through_f32 ? binary32 : types.d;
  // Cut products of fraction_bits + 2 bits, in 32; a block of them in 64 exponents of work space.
  return is_fused(model) && types.a.has_zero && types.b.has_zero && !model.descending &&
         model.edges == EdgeRules{} && model.sparse_group == 0 && model.scales == WgmmaScales{} &&
         model.grid.bias == d.bias && model.fraction_bits <= 29 && model.block <= 64 &&
         d.has_sign && d.specials == Specials::ieee &&
         block_operand(model, types.a).fraction_bits() +
                 block_operand(model, types.b).fraction_bits() <=
             model.fraction_bits;
}

namespace detail {

/// The exact sum of `block` (0: n) cut products, and the largest exponent raised by them.
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
  switch (n) {  // a count known to the compiler unrolls
    case 4: return cut_products<4>(a, b, n, up, top);
    case 8: return cut_products<8>(a, b, n, up, top);
    case 16: return cut_products<16>(a, b, n, up, top);
    case 32: return cut_products<32>(a, b, n, up, top);
    default: return cut_products<0>(a, b, n, up, top);
  }
}

/// One block of n products; c is finite.
constexpr std::uint64_t predecoded_block(const DotModel& model, int product_bits, const Factor* a,
                                         const Factor* b, int n, std::uint64_t c_bits,
                                         const Format& c_format, const Format& d) {
  const Addend c = addend_of(c_bits, c_format);
  int top = model.exponent_floor;
  if (c.kind == Kind::finite && c.exponent > top) top = c.exponent;
  std::int64_t sum = cut_products(a, b, n, model.fraction_bits - product_bits, top);
  sum += aligned(c, top, model.fraction_bits);
  return fast::rounded_sum(sum, top - model.fraction_bits, model, d);
}

constexpr bool is_special(std::uint64_t bits, const Format& f) {
  if (f.specials == Specials::ieee) return fields_of(bits, f).exponent == f.exponent_mask();
  return kind_of(fields_of(bits, f), f) == Kind::nan;
}

}  // namespace detail

/// d of k products of predecoded operands without NaN or infinity. False where c or a partial result
/// is one: then d is for `dot`.
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
