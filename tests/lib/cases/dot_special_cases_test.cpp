// SPDX-License-Identifier: Apache-2.0
//
// The generators `zeros` and `specials`: results include zeros of both signs, NaNs and infinities
// of every origin, and both ends of the range.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "emulate/quantize.h"
#include "tests/lib/cases/dot_rows.h"

namespace binade::dot_special_cases_test {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): rows and models

TEST_CASE("zero_products: one zero times a large number, beside less than it would cut") {
  const Instruction how = instruction(some_of_each[0]);
  const auto k = static_cast<std::size_t>(how.k);
  const Dots rows = make_dots(parse_dot_generator("zero_products"), how, 1, 0, 400);
  for (std::size_t row = 0; row < 400; ++row) {
    int large = 0;
    for (std::size_t i = row * k; i < (row + 1) * k; ++i) {
      const Exact a = decode(rows.a[i], how.types.a);
      const Exact b = decode(rows.b[i], how.types.b);
      if ((a.kind == Kind::zero) == (b.kind == Kind::zero)) continue;
      const bool in_a = a.kind != Kind::zero;
      const Fields number =
          fields_of(in_a ? rows.a[i] : rows.b[i], in_a ? how.types.a : how.types.b);
      large += static_cast<int>(number.exponent) >= 27 ? 1 : 0;
    }
    CHECK(large == 1);
  }
}

TEST_CASE("zeros: results of both zeros, of nothing but zeros, of cancellation, of underflow") {
  for (const Named& named : {to_f32, to_f16, of_bf16, of_tf32}) {
    const std::string name = named.name;
    CAPTURE(name);
    const Instruction how = instruction(named);
    const Dots dots = rows_of("zeros", named, 2000);
    long positive = 0, unsigned_rests = 0, rests = 0;  // rests: after cancellation
    Instruction downward = how;  // what is cut to +0 is the smallest negative number here
    downward.model.rounding = Rounding::toward_negative;
    std::set<std::uint64_t> signs;  // signs of a, b and c in rows of zeros only
    for (std::size_t i = 0; i < dots.c.size(); ++i) {
      const std::uint64_t d = emulated(dots, how, i);
      positive += d == 0 ? 1 : 0;
      CHECK(d != zero_bits(how.types.d, true));
      const bool cut = d == 0 && emulated(dots, downward, i) == min_bits(how.types.d, true);
      unsigned_rests += cut ? 1 : 0;
      rests += cut && i % 8 == 6 ? 1 : 0;
      const auto sign = [&](std::uint64_t bits, const Format& f) {
        return std::uint64_t{fields_of(bits, f).negative};
      };
      if (i % 8 != 0) continue;
      const std::size_t at = i * static_cast<std::size_t>(how.k);
      signs.insert(sign(dots.a[at], how.types.a) << 2 | sign(dots.b[at], how.types.b) << 1 |
                   sign(dots.c[i], how.types.c));
      CHECK(d == 0);
    }
    CHECK(signs.size() == 8);
    CHECK(positive > 900);
    if (how.types.a != binary16) CHECK(rests > 50);
    CHECK((unsigned_rests > 50) == (how.types.a != binary16 || how.types.d == binary16));
  }
  CHECK(seen("zeros", of_bf16, 2000, [](DotModel& model) {
          model.rounding = Rounding::toward_negative;  // -0 or the smallest negative number
        }) > 50);
}

TEST_CASE("specials: NaN and both infinities come out, and the last finite numbers") {
  for (const Named& named : some_of_each) {
    const Instruction how = instruction(named);
    if (!how.types.a.has_infinity()) continue;
    const std::string name = named.name;
    CAPTURE(name);
    const Dots dots = rows_of("specials", named, 5000);
    long nan = 0, positive = 0, negative = 0, last = 0, overflow = 0, opposite_infinities = 0;
    for (std::size_t i = 0; i < dots.c.size(); ++i) {
      const std::uint64_t d = emulated(dots, how, i);
      nan += kind(d, how.types.d) == Kind::nan ? 1 : 0;
      positive += d == infinity_bits(how.types.d, false) ? 1 : 0;
      negative += d == infinity_bits(how.types.d, true) ? 1 : 0;
      last += (d & ~(std::uint64_t{1} << (how.types.d.bits() - 1))) == max_bits(how.types.d, false)
                  ? 1
                  : 0;
      const std::size_t kinds = 10;  // 5 is Inf - Inf, 7 and 8 aim at the end of the range
      opposite_infinities += i % kinds == 5 && kind(d, how.types.d) == Kind::nan ? 1 : 0;
      const bool infinite = kind(d, how.types.d) == Kind::infinite;
      overflow += infinite && (i % kinds == 7 || i % kinds == 8) ? 1 : 0;
    }
    CHECK(opposite_infinities == 500);
    CHECK(nan > 1000);
    CHECK(positive > 200);
    CHECK(negative > 200);
    const bool reaches =
        how.types.a.emax() + how.types.b.emax() >= how.types.d.emax() && how.types.c == how.types.d;
    if (reaches) {
      CHECK(last > 100);
      CHECK(overflow > 100);
    }
  }
}

TEST_CASE("specials: products beyond the range that cancel leave what remains") {
  const Instruction how = instruction(of_bf16);
  const Dots dots = rows_of("specials", of_bf16, 5000);
  long beyond = 0;
  for (std::size_t i = 9; i < dots.c.size(); i += 10) {
    bool large = false;
    for (std::size_t n = i * 8; n < i * 8 + 8; ++n) {
      const double x =
          value_of<double>(dots.a[n], bfloat16) * value_of<double>(dots.b[n], bfloat16);
      large = large || std::fabs(x) >= 0x1p128;
    }
    beyond += large && kind(emulated(dots, how, i), binary32) != Kind::infinite ? 1 : 0;
  }
  CHECK(beyond > 450);
}

}  // namespace
}  // namespace binade::dot_special_cases_test
