// SPDX-License-Identifier: Apache-2.0
//
// The comparison that the kernel makes, run on the CPU: software stand-ins take the place of the
// hardware's instructions, right ones and deliberately wrong ones.
#include "cuda/tally.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <string>

namespace binade {
namespace {

/// A result format in numbers of its own: the stand-ins share no table with the emulator.
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

  /// What ptxas writes for rna.tf32: conditional add, mask, and for .satfinite one code down.
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

template <class Instruction>
Tally run(const Conversion& conversion, Count first, Count end, Count step,
          Instruction instruction) {
  Tally tally;
  for (Count i = first; i < end; i += step) {
    const auto input = static_cast<std::uint32_t>(i);
    tally.compare(conversion, input, instruction(input));
  }
  return tally;
}

/// 2^20 inputs from end to end of float32; odd, so that every low half occurs.
constexpr Count whole = Count{1} << 32;
constexpr Count stride = 4095;

const ConversionRow& row_named(std::string_view name) {
  for (const ConversionRow& row : conversions) {
    if (row.name == name) return row;
  }
  FAIL("no row is called ", std::string(name));
  return conversions[0];
}

bool same(const Tally& a, const Tally& b) {
  return a.inputs == b.inputs && a.mismatches == b.mismatches &&
         a.nan_differences == b.nan_differences && a.padding == b.padding &&
         a.mismatch.hardware == b.mismatch.hardware && a.mismatch.emulated == b.mismatch.emulated &&
         a.nan_difference.hardware == b.nan_difference.hardware &&
         a.nan_difference.emulated == b.nan_difference.emulated;
}

}  // namespace

TEST_CASE("the sampled inputs hold ties, NaNs, subnormals and overflows") {
  int ties = 0, nans = 0, subnormals = 0, overflows = 0;
  for (Count i = 0; i < whole; i += stride) {
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
  for (const ConversionRow& row : conversions) {
    CAPTURE(row.name);
    const StandIn instruction = StandIn::of(std::string(row.name));
    Tally tally = run(row.conversion, 0, whole, stride, instruction);
    for (const Count corner : {0x00000000U, 0x33000000U, 0x38800000U, 0x477ff000U, 0x7f7ff000U,
                               0x7f800000U, 0x7f802000U, 0x7fc00000U}) {
      tally.merge(run(row.conversion, corner, corner + 0x3000, 1, instruction));
      tally.merge(
          run(row.conversion, corner | 0x80000000, (corner | 0x80000000) + 0x3000, 1, instruction));
    }
    CHECK(tally.inputs > Count{1} << 20);
    CHECK(tally.mismatches == 0);
    CHECK(tally.nan_differences == 0);
    CHECK(tally.padding == 0);
    CHECK_FALSE(tally.mismatch.found());
  }
}

TEST_CASE("a stand-in that truncates where the instruction rounds is caught, exactly counted") {
  const ConversionRow& row = row_named("cvt.rn.bf16.f32");
  const auto truncate = [](std::uint32_t bits) { return bits >> 16; };
  // In each of 16 upper halves 32767 low halves lie above the tie, which rounds up in 8 of them.
  const Tally tally = run(row.conversion, 0, Count{1} << 20, 1, truncate);
  CHECK(tally.inputs == Count{1} << 20);
  CHECK(tally.mismatches == 16 * 32767 + 8);
  CHECK(tally.nan_differences == 0);
  CHECK(tally.mismatch.input() == 0x8001);
  CHECK(static_cast<std::uint32_t>(tally.mismatch.hardware) == 0);
  CHECK(static_cast<std::uint32_t>(tally.mismatch.emulated) == 1);
}

TEST_CASE("one wrong bit in one of 2^20 results is caught") {
  const ConversionRow& row = row_named("cvt.rz.f16.f32");
  const StandIn right = StandIn::of(std::string(row.name));
  const std::uint32_t victim = 0xc2f5e123;
  const auto wrong = [&](std::uint32_t bits) { return right(bits) ^ (bits == victim ? 1U : 0U); };
  const Tally tally =
      run(row.conversion, victim - (1U << 19), Count{victim} + (1U << 19), 1, wrong);
  CHECK(tally.mismatches == 1);
  CHECK(tally.mismatch.input() == victim);
  CHECK(static_cast<std::uint32_t>(tally.mismatch.hardware) ==
        (static_cast<std::uint32_t>(tally.mismatch.emulated) ^ 1));
}

TEST_CASE("another NaN is a NaN difference, a NaN for a number or the reverse is a mismatch") {
  const ConversionRow& row = row_named("cvt.rn.f16.f32");
  const Tally other_nan =
      run(row.conversion, 0x7f800001, 0x7f800101, 1, [](std::uint32_t) { return 0x7e00U; });
  CHECK(other_nan.mismatches == 0);
  CHECK(other_nan.nan_differences == 256);
  CHECK(other_nan.nan_difference.input() == 0x7f800001);
  const Tally number =
      run(row.conversion, 0x7f800001, 0x7f800101, 1, [](std::uint32_t) { return 0x7c00U; });
  CHECK(number.mismatches == 256);
  CHECK(number.nan_differences == 0);
  const auto nan = [](std::uint32_t) { return 0x7fffU; };
  CHECK(run(row.conversion, 0x3f800000, 0x3f800100, 1, nan).mismatches == 256);
}

TEST_CASE("bits in tf32's padding are counted, and are no mismatch") {
  const ConversionRow& row = row_named("cvt.rz.tf32.f32");
  const auto keep_all = [](std::uint32_t bits) { return bits; };
  const Tally tally = run(row.conversion, 0x3f800000, 0x3f804000, 1, keep_all);
  CHECK(tally.mismatches == 0);
  CHECK(tally.padding == 0x4000 - 2);
}

TEST_CASE("any split over threads merges to the same tally") {
  const ConversionRow& row = row_named("cvt.rn.bf16.f32");
  const auto truncate = [](std::uint32_t bits) { return bits >> 16; };
  const Count first = 0x7f700000, end = 0x7f900000;
  const Tally at_once = run(row.conversion, first, end, 1, truncate);
  REQUIRE(at_once.mismatches > 0);
  REQUIRE(at_once.nan_differences > 0);
  Tally merged;
  for (Count thread = 7; thread-- > 0;) {
    merged.merge(run(row.conversion, first + thread, end, 7, truncate));
  }
  CHECK(same(merged, at_once));
}

TEST_CASE("the lowest case is found at the last input, all of whose bits are ones") {
  Tally tally;
  tally.compare(row_named("cvt.rn.tf32.f32").conversion, 0xffffffff, 0xffffffff);
  CHECK(tally.nan_difference.found());
  CHECK(tally.nan_difference.input() == 0xffffffff);
  CHECK(static_cast<std::uint32_t>(tally.nan_difference.hardware) == 0xffffffff);
}

}  // namespace binade
