// SPDX-License-Identifier: Apache-2.0
//
// The sums of the block-scaled instructions of Blackwell (kind::mxf8f6f4, mxf4, mxf4nvf4): a run of
// products shares a scale of a and one of b. kind::mxf8f6f4 multiplies each product by both, which
// are powers of two, and aligns it as a fused block does (fused_sum.h). The others first add groups
// of 16 products exactly:
//
//     products    p0 … p15 | p16 … p31 | …      of e2m1, multiples of 2^-2
//     sums        g0       | g1        | …      exact
//     terms       g0·sa·sb | g1·sa·sb  | …      exact; exponent e(sa) + e(sb), whatever g is
//     d           c and the four terms, cut at 2^(top - 35), added, toward zero to binary32
//
// A group's exponent is that of its scales alone, so that a sum of its products that cancels raises
// the top, too; only a group whose products are all zeros, or of which a scale is zero, does not
// count. These are the rules of MMA-Sim's release 2.1.1; seven words that a B200 gave equal them,
// of which one excludes products that are scaled one by one (tests/emulate/scaled_words_test.cpp).
#pragma once

#include <cstdint>

#include "emulate/fused_sum.h"

namespace binade {

/// Scales of a row of a and of a column of b, as encodings, in the order of k; null: all are 1.
struct DotScales {
  const std::uint8_t* a = nullptr;
  const std::uint8_t* b = nullptr;
};

/// Returns the exact product of the scales of number `at`.
constexpr Addend scale_product(const BlockScaling& how, const DotScales& scales, int at) {
  constexpr Addend one{Kind::finite, false, 1, 0, 0};
  return product_of(scales.a == nullptr ? one : addend_of(scales.a[at], how.format),
                    scales.b == nullptr ? one : addend_of(scales.b[at], how.format));
}

/// Returns the exact sum of n products a[i]·b[i] of formats without NaNs and infinities, times
/// `scale`, with the exponent of `scale`; a zero if all products are zeros.
template <class Code>
constexpr Addend scaled_group(const DotTypes& types, const Code* a, const Code* b, int n,
                              const Addend& scale) {
  const int least = types.a.emin() + types.b.emin();
  std::int64_t sum = 0;
  bool counts = false;
  for (int i = 0; i < n; ++i) {
    const Addend x = product_of(addend_of(a[i], types.a), addend_of(b[i], types.b));
    if (x.kind != Kind::finite) continue;
    const auto units = static_cast<std::int64_t>(x.significand << (x.exponent - least));
    sum += x.negative ? -units : units;
    counts = true;
  }
  const bool negative = sum < 0;
  const auto magnitude = static_cast<std::uint64_t>(negative ? -sum : sum);
  const Addend group{counts ? Kind::finite : Kind::zero, negative, magnitude, 0,
                     types.a.fraction_bits() + types.b.fraction_bits() - least};
  return product_of(group, scale);
}

/// Returns d of one instruction, or of a chain of such, whose blocks (model.block) have whole runs
/// of `share` products: c, which has d's type, plus k products under scales, all as encodings.
template <class Code, class Trace = NoTrace>
constexpr std::uint64_t scaled_chain(const DotModel& model, const DotTypes& types, const Code* a,
                                     const Code* b, int k, const DotScales& scales, std::uint64_t c,
                                     const Trace& trace = {}) {
  const BlockScaling& how = model.scaling;
  const int step = how.group == 0 ? 1 : how.group;
  for (int first = 0; first < k; first += model.block) {
    const int end = k - first < model.block ? k : first + model.block;
    const auto place = [&](int i) { return first + i * step; };
    const auto term = [&](int i) {
      const int at = place(i), rest = end - at;
      const Addend scale = scale_product(how, scales, at / how.share);
      if (how.group == 0) {
        return product_of(product_of(addend_of(a[at], types.a), addend_of(b[at], types.b)), scale);
      }
      return scaled_group(types, a + at, b + at, rest < step ? rest : step, scale);
    };
    c = block_of_terms(model, c, types.d, (end - first + step - 1) / step, term, place, types.d,
                       trace);
  }
  return c;
}

}  // namespace binade
