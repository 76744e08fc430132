// SPDX-License-Identifier: Apache-2.0
//
// The comparison of results with the emulator's: software stand-ins take the place of the
// hardware's instructions, right ones and deliberately wrong ones.
#include "lib/device/scalar_tally.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "lib/cases/scalar_cases.h"
#include "tests/lib/text/words.h"

namespace binade::scalar_tally_test {
namespace {

/// A result format in numbers of this test, since the stand-ins share no table with the emulator.
struct Shape {
  const char* type;
  int precision, emin, emax, padding;
  std::uint32_t nan;
};
constexpr Shape shapes[] = {{".f16.", 11, -14, 15, 0, 0x7fff},
                            {".bf16.", 8, -126, 127, 0, 0x7fff},
                            {".tf32.", 11, -126, 127, 13, 0x3ffff}};

/// An instruction done in double arithmetic, which holds every step exactly.
struct StandIn {
  Shape shape;
  double (*round)(double);
  bool satfinite;
  bool nan_as_integer;

  static StandIn of(const std::string& name) {
    const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
    const Shape& shape = has(shapes[0].type)   ? shapes[0]
                         : has(shapes[1].type) ? shapes[1]
                                               : shapes[2];
    double (*const round)(double) = has(".rna.")  ? static_cast<double (*)(double)>(std::round)
                                    : has(".rn.") ? static_cast<double (*)(double)>(std::nearbyint)
                                    : has(".rz.") ? static_cast<double (*)(double)>(std::trunc)
                                    : has(".rm.") ? static_cast<double (*)(double)>(std::floor)
                                                  : static_cast<double (*)(double)>(std::ceil);
    return {shape, round, has(".satfinite."), has(".rna.")};
  }

  /// The encoding of a number of the format, from its magnitude.
  std::uint32_t encode(double magnitude) const {
    const int p = shape.precision;
    if (magnitude < std::ldexp(1.0, shape.emin)) {
      return static_cast<std::uint32_t>(std::ldexp(magnitude, p - 1 - shape.emin));
    }
    const int e = std::ilogb(magnitude);
    const auto significand = static_cast<std::uint32_t>(std::ldexp(magnitude, p - 1 - e));
    return (static_cast<std::uint32_t>(e - shape.emin) << (p - 1)) + significand;
  }

  /// Computes rna.tf32 as ptxas compiles it: a conditional addition, a mask, and for .satfinite one
  /// code down.
  std::uint32_t integer_code(std::uint32_t bits) const {
    const auto below_inf = [](std::uint32_t x) {
      return std::fabs(std::bit_cast<float>(x)) < INFINITY;
    };
    std::uint32_t r = (below_inf(bits) ? bits + 0x1000 : bits) & 0xffffe000;
    if (satfinite && !below_inf(r)) r -= 0x2000;
    return r;
  }

  std::uint32_t operator()(std::uint32_t bits) const {
    const double x = std::bit_cast<float>(bits);
    if (std::isnan(x)) return nan_as_integer ? integer_code(bits) : shape.nan << shape.padding;
    const double max = std::ldexp(2 - std::ldexp(1.0, 1 - shape.precision), shape.emax);
    const std::uint32_t max_bits = encode(max);
    std::uint32_t result = 0;
    if (std::isinf(x)) {
      result = satfinite ? max_bits : max_bits + 1;
    } else if (x != 0) {
      const int e = std::max(std::ilogb(x), shape.emin);
      const double ulp = std::ldexp(1.0, e - shape.precision + 1);
      const double rounded = std::fabs(round(x / ulp) * ulp);
      const bool away = std::fabs(round(std::copysign(1.5, x))) == 2;
      result = rounded <= max ? encode(rounded) : away && !satfinite ? max_bits + 1 : max_bits;
    }
    const std::uint32_t sign = bits >> 31 << (shape.padding > 0 ? 18 : 15);
    return (sign | result) << shape.padding;
  }
};

const ScalarOperation& operation_named(const std::string& name) {
  return parse_scalar_instruction(name).operation;
}

/// The inputs first, first + step, … below `end`.
template <class Instruction>
ScalarTally run(const ScalarOperation& x, std::uint64_t first, std::uint64_t end,
                std::uint64_t step, Instruction instruction) {
  ScalarTally tally;
  for (std::uint64_t i = first; i < end; i += step) {
    tally.add(x, i, instruction(static_cast<std::uint32_t>(i)), emulate(x, {i}));
  }
  return tally;
}

/// 2^20 inputs from end to end of float32; odd, so that every low half occurs.
constexpr std::uint64_t whole = std::uint64_t{1} << 32;
constexpr std::uint64_t stride = 4095;

const std::vector<std::string> stood_in_for = test::words(R"(
    cvt.rn.f16.f32 cvt.rz.f16.f32 cvt.rm.f16.f32 cvt.rp.f16.f32 cvt.rn.satfinite.f16.f32
    cvt.rz.satfinite.f16.f32 cvt.rn.bf16.f32 cvt.rz.bf16.f32 cvt.rm.bf16.f32 cvt.rp.bf16.f32
    cvt.rn.satfinite.bf16.f32 cvt.rz.satfinite.bf16.f32 cvt.rna.tf32.f32
    cvt.rna.satfinite.tf32.f32 cvt.rn.tf32.f32 cvt.rz.tf32.f32 cvt.rn.satfinite.tf32.f32
    cvt.rz.satfinite.tf32.f32)");

}  // namespace

TEST_CASE("the sampled inputs hold ties, NaNs, subnormals and overflows") {
  int ties = 0, nans = 0, subnormals = 0, overflows = 0;
  for (std::uint64_t i = 0; i < whole; i += stride) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(i));
    ties += (i & 0x1fff) == 0x1000 ? 1 : 0;
    nans += std::isnan(x) ? 1 : 0;
    subnormals += std::fpclassify(x) == FP_SUBNORMAL ? 1 : 0;
    overflows += std::isfinite(x) && std::fabs(x) >= 65520 ? 1 : 0;
  }
  CHECK(ties > 100);
  CHECK(nans > 1000);
  CHECK(subnormals > 1000);
  CHECK(overflows > 1000);
}

TEST_CASE("a right stand-in differs nowhere, for every instruction") {
  for (const std::string& name : stood_in_for) {
    CAPTURE(name);
    const ScalarOperation& x = operation_named(name);
    const StandIn instruction = StandIn::of(name);
    ScalarTally tally = run(x, 0, whole, stride, instruction);
    for (const std::uint64_t corner : {0x00000000U, 0x33000000U, 0x38800000U, 0x477ff000U,
                                       0x7f7ff000U, 0x7f800000U, 0x7f802000U, 0x7fc00000U}) {
      for (const std::uint64_t sign : {0U, 0x80000000U}) {
        tally.merge(run(x, corner | sign, (corner | sign) + 0x3000, 1, instruction));
      }
    }
    CHECK(tally.cases > std::uint64_t{1} << 20);
    CHECK(tally.mismatches == 0);
    CHECK(tally.nan_differences == 0);
    CHECK(tally.padding == 0);
    CHECK(tally.lowest_mismatch == ScalarTally::none);
    CHECK(tally.lowest_nan_difference == ScalarTally::none);
  }
}

TEST_CASE("a stand-in that truncates where the instruction rounds is caught, exactly counted") {
  const auto truncate = [](std::uint32_t bits) { return bits >> 16; };
  // In each of 16 upper halves 32767 low halves lie above the tie, which rounds up in 8 of them.
  const ScalarTally tally =
      run(operation_named("cvt.rn.bf16.f32"), 0, std::uint64_t{1} << 20, 1, truncate);
  CHECK(tally.cases == std::uint64_t{1} << 20);
  CHECK(tally.mismatches == 16 * 32767 + 8);
  CHECK(tally.nan_differences == 0);
  CHECK(tally.lowest_mismatch == 0x8001);
}

TEST_CASE("one wrong bit in one of 2^20 results is caught, and changes the hash") {
  const ScalarOperation& x = operation_named("cvt.rz.f16.f32");
  const StandIn right = StandIn::of("cvt.rz.f16.f32");
  const std::uint32_t victim = 0xc2f5e123;
  const auto wrong = [&](std::uint32_t bits) { return right(bits) ^ (bits == victim ? 1U : 0U); };
  const std::uint64_t first = victim - (1U << 19), end = std::uint64_t{victim} + (1U << 19);
  const ScalarTally tally = run(x, first, end, 1, wrong);
  CHECK(tally.mismatches == 1);
  CHECK(tally.lowest_mismatch == victim);
  CHECK(tally.hash != run(x, first, end, 1, right).hash);
}

TEST_CASE("another NaN is a NaN difference, a NaN for a number or the reverse is a mismatch") {
  const ScalarOperation& x = operation_named("cvt.rn.f16.f32");
  const ScalarTally other_nan =
      run(x, 0x7f800001, 0x7f800101, 1, [](std::uint32_t) { return 0x7e00U; });
  CHECK(other_nan.mismatches == 0);
  CHECK(other_nan.nan_differences == 256);
  CHECK(other_nan.lowest_nan_difference == 0x7f800001);
  const ScalarTally number =
      run(x, 0x7f800001, 0x7f800101, 1, [](std::uint32_t) { return 0x7c00U; });
  CHECK(number.mismatches == 256);
  CHECK(number.nan_differences == 0);
  const auto nan = [](std::uint32_t) { return 0x7fffU; };
  CHECK(run(x, 0x3f800000, 0x3f800100, 1, nan).mismatches == 256);
}

TEST_CASE("of several lanes each is judged for itself") {
  const ScalarOperation& x = operation_named("add.f16x2");
  using enum ScalarVerdict;
  CHECK(judge(x, 0x3C007FFF, 0x3C007FFF) == equal);
  CHECK(judge(x, 0x3C007E00, 0x3C007FFF) == nan_difference);
  CHECK(judge(x, 0x7E003C00, 0x7FFF3C00) == nan_difference);
  CHECK(judge(x, 0x7E003C00, 0x7FFF3C01) == mismatch);
  CHECK(judge(x, 0x3C007E00, 0x3C017E00) == mismatch);
  CHECK(judge(x, 0x3C007C00, 0x3C007E00) == mismatch);
  const ScalarOperation& fp4 = operation_named("cvt.rn.satfinite.e2m1x2.f32");
  CHECK(judge(fp4, 0x7F, 0x7E) == mismatch);  // FP4 has no NaN
}

TEST_CASE("bits in tf32's padding are counted, and are neither mismatch nor in the hash") {
  const ScalarOperation& x = operation_named("cvt.rz.tf32.f32");
  const auto keep_all = [](std::uint32_t bits) { return bits; };
  const auto cut = [](std::uint32_t bits) { return bits & 0xffffe000; };
  const ScalarTally tally = run(x, 0x3f800000, 0x3f804000, 1, keep_all);
  CHECK(tally.mismatches == 0);
  CHECK(tally.padding == 0x4000 - 2);
  CHECK(tally.hash == run(x, 0x3f800000, 0x3f804000, 1, cut).hash);
}

TEST_CASE("any split over threads merges to the same tally") {
  const ScalarOperation& x = operation_named("cvt.rn.bf16.f32");
  const auto truncate = [](std::uint32_t bits) { return bits >> 16; };
  const std::uint64_t first = 0x7f700000, end = 0x7f900000;
  const ScalarTally at_once = run(x, first, end, 1, truncate);
  REQUIRE(at_once.mismatches > 0);
  REQUIRE(at_once.nan_differences > 0);
  ScalarTally merged;
  for (std::uint64_t thread = 7; thread-- > 0;) {
    merged.merge(run(x, first + thread, end, 7, truncate));
  }
  CHECK(merged == at_once);
}

TEST_CASE("the hash tells which case gave which result") {
  const ScalarOperation& x = operation_named("cvt.rn.f16.f32");
  ScalarTally ab, ba, none;
  ab.add(x, 1, 7);
  ab.add(x, 2, 9);
  ba.add(x, 1, 9);
  ba.add(x, 2, 7);
  CHECK(ab.hash != ba.hash);
  CHECK(none.hash == 0);
  CHECK(mixed(0, 0) != 0);
  // Recordings hold such sums: another function would make them worthless.
  CHECK(ab.hash == 14381984991672926458U);
}

TEST_CASE("an approximation is counted and hashed, and nothing else") {
  ScalarTally tally;
  tally.add(operation_named("ex2.approx.f16"), 3, 0x4000);
  CHECK(tally.cases == 1);
  CHECK(tally.hash == mixed(3, 0x4000));
  CHECK(tally.mismatches + tally.nan_differences == 0);
}

}  // namespace binade::scalar_tally_test
