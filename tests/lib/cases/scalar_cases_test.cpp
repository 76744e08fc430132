// SPDX-License-Identifier: Apache-2.0
//
// The operands of case numbers: in exhaustive cases each lane gets all its inputs, seeded cases
// include hard ones, and numbers keep their meaning, because recordings depend on it.
#include "lib/cases/scalar_cases.h"

#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "emulate/carrier.h"
#include "lib/device/scalar_tally.h"

namespace binade::scalar_cases_test {
namespace {

const ScalarOperation& named(const char* name) { return parse_scalar_instruction(name).operation; }

/// Counts the hard cases of each kind among `count` seeded ones, by their exact results.
struct Census {
  int nan_operands = 0, inf_operands = 0, subnormal_operands = 0;
  int nan = 0, infinite = 0, zero = 0, subnormal = 0, tie = 0, inexact = 0, cancelled = 0;
};

Census census_of(const char* name, std::uint64_t count) {
  const ScalarOperation& x = named(name);
  const PtxScalar& how = x.arithmetic;
  Census out;
  for (std::uint64_t n = 0; n < count; ++n) {
    const ScalarOperands words = operands_of(x, {count, false, 1}, n);
    Operands bits{};
    int largest = -100000;
    for (std::size_t i = 0; i < static_cast<std::size_t>(x.inputs); ++i) {
      bits[i] = words[i] & (~std::uint64_t{0} >> (64 - x.from[i].bits()));
      const Exact operand = decode(bits[i], x.from[i]);
      out.nan_operands += operand.kind == Kind::nan ? 1 : 0;
      out.inf_operands += operand.kind == Kind::infinite ? 1 : 0;
      out.subnormal_operands += is_subnormal(bits[i], x.from[i]) ? 1 : 0;
      if (operand.kind == Kind::finite) {
        largest = std::max(largest, operand.exponent + bit_width(operand.significand));
      }
    }
    const Exact exact =
        x.kind == ScalarKind::conversion ? decode(bits[0], x.from[0]) : exact_lane(how, bits);
    if (exact.kind == Kind::finite && !exact.sticky) {
      const int width = bit_width(exact.significand);
      const int e = exact.exponent + width - 1;
      const int quantum = std::max(e, x.result.emin()) - x.result.fraction_bits();
      const int drop = quantum - exact.exponent;
      out.tie += drop > 0 && drop < 128 && cut(exact, drop).exactly_half ? 1 : 0;
      out.cancelled += x.inputs == 2 && e < largest - 10 ? 1 : 0;
    }
    const Projected result = project(exact, x.result);
    out.inexact += (result.flags & Flag::inexact) != 0 ? 1 : 0;
    const Kind kind = kind_of(fields_of(result.bits, x.result), x.result);
    out.nan += kind == Kind::nan ? 1 : 0;
    out.infinite += kind == Kind::infinite ? 1 : 0;
    out.zero += kind == Kind::zero ? 1 : 0;
    out.subnormal += is_subnormal(result.bits, x.result) ? 1 : 0;
  }
  return out;
}

}  // namespace

TEST_CASE("instructions of up to 32 operand bits a lane are run on all, the others seeded") {
  const std::uint64_t whole = std::uint64_t{1} << 32;
  for (const auto& [called, count] : {std::pair{"cvt.rn.f16.f32", whole},
                                      {"cvt.rn.f16x2.f32", whole},
                                      {"add.f16", whole},
                                      {"add.f16x2", whole},
                                      {"cvt.f32.f16", std::uint64_t{1} << 16},
                                      {"cvt.rn.satfinite.e4m3x2.f16x2", whole},
                                      {"cvt.rn.f16x2.e4m3x2", std::uint64_t{1} << 16},
                                      {"cvt.rn.f16x2.e3m2x2", std::uint64_t{1} << 12},
                                      {"cvt.rn.f16x2.e2m1x2", std::uint64_t{1} << 8},
                                      {"cvt.rn.bf16x2.ue8m0x2", std::uint64_t{1} << 16},
                                      {"tanh.approx.f16", std::uint64_t{1} << 16},
                                      {"sin.approx.f32", std::uint64_t{1} << 17},
                                      {"add.f32", std::uint64_t{0}},
                                      {"fma.rn.f16", std::uint64_t{0}},
                                      {"add.f32.f16", std::uint64_t{0}},
                                      {"cvt.rn.f32.f64", std::uint64_t{0}},
                                      {"cvt.rs.f16x2.f32", std::uint64_t{0}},
                                      {"red.global.add.noftz.f16x2", whole}}) {
    const char* name = called;
    CAPTURE(name);
    CHECK(exhaustive_cases(named(name)) == count);
    const ScalarCases all = cases_of(named(name), whole);
    CHECK(all.exhaustive == (count != 0));
    CHECK(all.count == (count != 0 ? count : whole));
    CHECK_FALSE(cases_of(named(name), 100).exhaustive);
    CHECK(cases_of(named(name), 100).count == 100);
  }
}

TEST_CASE("crossed lanes see every pair once, in the places that the emulator reads") {
  for (const char* name : {"cvt.rn.f16x2.e4m3x2", "cvt.rn.f16x2.e2m3x2", "cvt.rn.f16x2.e2m1x2"}) {
    CAPTURE(name);
    const ScalarOperation& x = named(name);
    const std::uint64_t count = exhaustive_cases(x);
    std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
    for (std::uint64_t n = 0; n < count; ++n) {
      const ScalarOperands words = operands_of(x, {count, true, 1}, n);
      CHECK((words[0] >> x.word_bits[0]) == 0);
      const CvtOperands operands{words[0]};
      seen.emplace(lane_operand(x.cvt, operands, 0), lane_operand(x.cvt, operands, 1));
    }
    CHECK(seen.size() == count);
    CHECK(seen.rbegin()->first + 1 == (std::uint64_t{1} << x.from[0].bits()));
  }
}

TEST_CASE("lanes that change together each see everything: the scramble is a permutation") {
  for (const int width : {8, 12, 16, 19, 22}) {
    for (const int lane : {0, 1, 2, 3}) {
      std::vector<bool> seen(std::size_t{1} << width);
      bool moved = false;
      int repeated = 0;
      for (std::uint64_t n = 0; n < seen.size(); ++n) {
        const std::uint64_t y = scrambled(n, width, lane);
        if (y >= seen.size()) FAIL("left its width");
        repeated += seen[y] ? 1 : 0;
        seen[y] = true;
        moved = moved || y != n;
      }
      CHECK(repeated == 0);
      CHECK(moved == (lane != 0));
    }
  }
}

TEST_CASE("the case number of an exhaustive instruction is its lowest lane's inputs") {
  const ScalarCases all{std::uint64_t{1} << 32, true, 1};
  const ScalarOperands f32 = operands_of(named("cvt.rn.f16x2.f32"), all, 0x3F800000);
  CHECK(f32[1] == 0x3F800000);  // PTX's second operand is the lower lane
  CHECK(f32[0] == scrambled(0x3F800000, 32, 1));
  const ScalarOperands f16 = operands_of(named("add.f16x2"), all, 0x3C00BC01);
  CHECK((f16[0] & 0xFFFF) == 0xBC01);
  CHECK((f16[1] & 0xFFFF) == 0x3C00);
  CHECK(((f16[1] >> 16 << 16) | f16[0] >> 16) == scrambled(0x3C00BC01, 32, 1));
}

TEST_CASE("approximations of f32 take the numbers of f16, then those of bf16") {
  const ScalarOperation& x = named("ex2.approx.f32");
  const ScalarCases all = cases_of(x, std::uint64_t{1} << 32);
  CHECK(operands_of(x, all, 0x3C00)[0] == 0x3F800000);
  CHECK(operands_of(x, all, 0x0001)[0] == 0x33800000);
  CHECK(operands_of(x, all, 0x10000 + 0x3F80)[0] == 0x3F800000);
  CHECK(operands_of(x, all, 0x10001)[0] == 0x00010000);
}

TEST_CASE("operands fit their words, seeded or not") {
  for (const ScalarInstruction& instruction : scalar_instructions()) {
    CAPTURE(instruction.name);
    const ScalarOperation& x = instruction.operation;
    for (const std::uint64_t most : {std::uint64_t{1000}, std::uint64_t{1} << 32}) {
      const ScalarCases cases = cases_of(x, most);
      for (std::uint64_t i = 0; i < 512; ++i) {
        const std::uint64_t n = cases.count / 512 * i + i % 7 % cases.count;
        const ScalarOperands words = operands_of(x, cases, n);
        for (std::size_t w = 0; w < words.size(); ++w) {
          const int bits = x.word_bits[w];
          CHECK((bits == 64 || words[w] >> bits == 0));
        }
      }
    }
  }
}

TEST_CASE("seeded cases hold ties, cancellation, subnormals, overflow and specials") {
  for (const char* name : {"add.f32", "mul.f32", "fma.rn.f32", "fma.rn.f16", "fma.rn.bf16",
                           "fma.rn.f16x2", "cvt.rn.f32.f64", "cvt.rn.f16.f64", "add.f32.f16"}) {
    CAPTURE(name);
    const ScalarOperation& x = named(name);
    const Census census = census_of(name, 1 << 15);
    CHECK(census.nan_operands > 100);
    CHECK(census.inf_operands > 50);
    CHECK(census.subnormal_operands > 100);
    CHECK(census.nan > 100);
    CHECK(census.infinite > 200);
    CHECK(census.zero > 100);
    if (x.from[0].emin() <= x.result.emin()) CHECK(census.subnormal > 200);
    CHECK(census.subnormal > 0);
    CHECK(census.tie > 300);
    CHECK(census.inexact > 8000);
    if (std::string(name) == "add.f32") CHECK(census.cancelled > 500);
  }
}

TEST_CASE("products that nearly cancel the third operand leave its last bits") {
  const ScalarOperation& x = named("fma.rn.f32");
  int tiny = 0, zero = 0;
  for (std::uint64_t n = 0; n < 1 << 14; ++n) {
    if (aim_of(n) != ScalarAim::cancellation) continue;
    const ScalarOperands w = operands_of(x, {1 << 14, false, 1}, n);
    const Exact product = multiply(decode(w[0], binary32), decode(w[1], binary32));
    const Exact sum = exact_lane(x.arithmetic, {w[0], w[1], w[2]});
    if (product.kind != Kind::finite) continue;
    zero += sum.kind == Kind::zero ? 1 : 0;
    if (sum.kind != Kind::finite) continue;
    const int fall = product.exponent + bit_width(product.significand) - sum.exponent -
                     bit_width(sum.significand);
    tiny += fall > 20 ? 1 : 0;
  }
  CHECK(tiny > 500);
  CHECK(zero > 20);
}

TEST_CASE("a warp's 32 cases share an aim, and each aim has its turn") {
  std::set<ScalarAim> aims;
  for (std::uint64_t warp = 0; warp < 8; ++warp) {
    for (std::uint64_t i = 0; i < 32; ++i) CHECK(aim_of(32 * warp + i) == aim_of(32 * warp));
    aims.insert(aim_of(32 * warp));
  }
  CHECK(aims.size() == 6);
}

TEST_CASE("samples are cases, all of them where they suffice, else spread and hurting") {
  const ScalarOperation& x = named("cvt.rn.f16.f32");
  const ScalarCases all = cases_of(x, std::uint64_t{1} << 32);
  std::set<std::uint64_t> numbers, halves;
  int ties = 0, subnormal = 0;
  for (std::uint64_t i = 0; i < 4096; ++i) {
    const std::uint64_t n = sample_case(x, all, 4096, i);
    REQUIRE(n < all.count);
    numbers.insert(n);
    if (i % 2 == 0) halves.insert(n >> 22);
    const Exact value = decode(n, binary32);
    const std::uint64_t result = emulate(x, {n});
    ties += value.kind == Kind::finite && (n & 0x1FFF) == 0x1000 ? 1 : 0;
    subnormal += is_subnormal(result, binary16) ? 1 : 0;
  }
  CHECK(numbers.size() > 3700);
  CHECK(halves.size() > 850);  // of 1024 parts of all the cases
  CHECK(ties > 200);
  CHECK(subnormal > 200);
  const ScalarOperation& small = named("cvt.f32.f16");
  CHECK(sample_case(small, cases_of(small, 65536), 65536, 777) == 777);
  CHECK(sample_case(named("add.f32"), {1000000, false, 1}, 4096, 777) == 777);
}

TEST_CASE("every exhaustive instruction's samples are among its cases") {
  for (const ScalarInstruction& instruction : scalar_instructions()) {
    CAPTURE(instruction.name);
    const ScalarOperation& x = instruction.operation;
    const ScalarCases cases = cases_of(x, std::uint64_t{1} << 32);
    for (std::uint64_t i = 0; i < 300; ++i) CHECK(sample_case(x, cases, 200, i) < cases.count);
  }
}

TEST_CASE("numbers keep their meaning, because recordings hang on it") {
  std::uint64_t operands = 0, samples = 0, exhaustive = 0;
  for (const ScalarInstruction& instruction : scalar_instructions()) {
    const ScalarOperation& x = instruction.operation;
    const ScalarCases all = cases_of(x, std::uint64_t{1} << 32);
    for (std::uint64_t n = 0; n < 512; ++n) {
      const ScalarOperands seeded = operands_of(x, {512, false, 1}, n);
      const std::uint64_t sample = sample_case(x, all, 64, n % 64);
      const ScalarOperands whole = operands_of(x, all, sample);
      for (std::size_t w = 0; w < 5; ++w) {
        operands += mixed(8 * n + w, seeded[w]);
        exhaustive += mixed(8 * n + w, whole[w]);
      }
      samples += mixed(n, sample);
    }
  }
  CHECK(operands == 11604891023316481083U);
  CHECK(exhaustive == 1957444101403057191U);
  CHECK(samples == 14844434208777965019U);
}

}  // namespace binade::scalar_cases_test
