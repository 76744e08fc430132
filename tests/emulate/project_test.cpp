// SPDX-License-Identifier: Apache-2.0
//
// The one function that drops bits, against the oracle: every gap of every format, from both sides
// of every tie, in every rounding and at every end of the range.
#include "emulate/project.h"

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <limits>
#include <vector>

#include "tests/emulate/directions.h"
#include "tests/emulate/oracle_bridge.h"

namespace binade::project_test {
namespace {

using test::deterministic;
using test::Judge;

/// Returns numbers in the gap above a positive finite encoding: the number itself, each quarter of
/// the gap, and numbers just beside each, which differ by a bit of the exact significand or by the
/// sticky bit only. If `fine` is false, only the number and the middle of the gap with their
/// neighbours.
std::vector<Exact> gap(std::uint64_t bits, const Format& f, bool fine) {
  const Exact x = decode(bits, f);
  const uint128 low = x.kind == Kind::zero ? 0 : x.significand;
  const int ulp = x.kind == Kind::zero ? f.quantum_exponent() : x.exponent;
  std::vector<Exact> out;
  for (int quarter = 0; quarter <= 3; quarter += fine ? 1 : 2) {
    const uint128 at = (low * 4 + static_cast<unsigned>(quarter)) << 60;
    for (const int side : {-2, -1, 0, 1, 2}) {
      if ((at == 0 && side < 2) || (!fine && (side == -2 || side == 2))) continue;
      Exact p{.kind = Kind::finite, .exponent = ulp - 62};
      p.significand = side < 0 ? at - 1 : side == 2 ? at + 1 : at;
      p.sticky = side == -1 || side == 1;
      out.push_back(p);
      p.negative = true;
      out.push_back(p);
    }
  }
  return out;
}

/// Returns numbers outside the format's range: beyond the largest finite number by about one ulp,
/// one and a half, two binades and far; below the smallest at binades, their middles and far.
std::vector<Exact> outside(const Format& f) {
  std::vector<Exact> out;
  const uint128 step = uint128{1} << 60;
  const uint128 next = uint128{f.max_significand() + 1} * step;
  for (const uint128 significand :
       {next - 1, next, next + 1, next + step / 2, next * 4, next * 4 + 1}) {
    for (const int up : {0, 1, 1000}) {
      for (const bool negative : {false, true}) {
        out.push_back({.kind = Kind::finite,
                       .negative = negative,
                       .exponent = f.emax() - f.fraction_bits() - 60 + up,
                       .significand = significand});
      }
    }
  }
  for (const int down : {1, 2, 3, 40, 200, 3000}) {
    for (const int wide : {0, 1, 2}) {
      for (const bool negative : {false, true}) {
        Exact x{.kind = Kind::finite,
                .negative = negative,
                .exponent = f.quantum_exponent() - down - 61};
        x.significand = (uint128{2} << 60) + (wide == 1 ? uint128{1} << 60 : 0);
        x.sticky = wide == 2;
        out.push_back(x);
      }
    }
  }
  return out;
}

/// Returns all finite non-negative encodings, in order.
std::vector<std::uint64_t> magnitudes(const Format& f) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t bits = 0; bits <= max_bits(f, false);
       bits += std::uint64_t{1} << f.padding_bits) {
    out.push_back(bits);
  }
  return out;
}

std::vector<Attributes> all_attributes() {
  std::vector<Attributes> out;
  for (const Rounding rounding : deterministic) {
    for (const Saturation saturation : {Saturation::none, Saturation::finite}) {
      for (const bool flush : {false, true}) {
        for (const Tininess tininess : {Tininess::after_rounding, Tininess::before_rounding}) {
          out.push_back({.rounding = rounding,
                         .saturation = saturation,
                         .flush_results = flush,
                         .tininess = tininess});
        }
      }
    }
  }
  return out;
}

/// Checks that a judge found no difference, and that its cases raised every flag that the format
/// can.
void check(const Judge& judge, std::uint64_t at_least) {
  CHECK_MESSAGE(judge.differences() == 0, judge.report());
  CHECK(judge.cases() >= at_least);
  CHECK(judge.raised(Flag::inexact) > 0);
  CHECK(judge.raised(Flag::underflow) > 0);
  CHECK(judge.raised(Flag::overflow) > 0);
}

TEST_CASE("what decodes from an encoding projects back onto it, without flags") {
  for (const NamedFormat& row : formats) {
    const Format& f = row.format;
    CAPTURE(row.name);
    const std::uint64_t count = std::uint64_t{1} << std::min(f.bits(), 19);
    const std::uint64_t step = std::uint64_t{1} << (f.bits() - std::min(f.bits(), 19));
    std::uint64_t numbers = 0;
    std::uint64_t different = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t bits = (i * step + i % step) << f.padding_bits;
      const Exact x = decode(bits, f);
      for (const Rounding rounding : deterministic) {
        const Projected back = project(x, f, {.rounding = rounding, .nan = NanResult::propagate});
        const bool quieted =
            x.signaling && back.bits != bits && decode(back.bits, f).kind == Kind::nan;
        different +=
            (back.bits == bits && back.flags == 0) || (quieted && back.flags == Flag::invalid) ? 0
                                                                                               : 1;
      }
      numbers += x.kind == Kind::finite || x.kind == Kind::zero ? 1 : 0;
    }
    CHECK(different == 0);
    CHECK(numbers > count / 2);
  }
}

TEST_CASE("every gap of every format of up to 8 bits rounds as the oracle says, in every mode") {
  const std::vector<Attributes> modes = all_attributes();
  for (const NamedFormat& row : formats) {
    const Format& f = row.format;
    if (f.bits() > 8) continue;
    CAPTURE(row.name);
    Judge judge(f);
    for (const Attributes& attributes : modes) {
      for (const std::uint64_t bits : magnitudes(f)) {
        for (const Exact& x : gap(bits, f, true)) judge.project(x, attributes);
      }
      for (const Exact& x : outside(f)) judge.project(x, attributes);
    }
    check(judge, 10000);
  }
}

TEST_CASE("every tie of binary16 and bfloat16, and its two sides, round as the oracle says") {
  const std::vector<Attributes> modes = all_attributes();
  for (const Format& f : {binary16, bfloat16}) {
    CAPTURE(format_name(f));
    Judge judge(f);
    std::size_t turn = 0;
    for (const std::uint64_t bits : magnitudes(f)) {
      for (const Exact& x : gap(bits, f, false)) {
        for (const Rounding rounding : deterministic) {
          Attributes attributes = modes[turn++ % modes.size()];
          attributes.rounding = rounding;
          judge.project(x, attributes);
        }
      }
    }
    for (const Attributes& attributes : modes) {
      for (const Exact& x : outside(f)) judge.project(x, attributes);
      for (std::uint64_t bits = (std::uint64_t{1} << f.fraction_bits()) - 4;
           bits < (std::uint64_t{1} << f.fraction_bits()) + 4; ++bits) {
        for (const Exact& x : gap(bits, f, true)) judge.project(x, attributes);
      }
    }
    check(judge, 2000000);
  }
}

TEST_CASE("tf32, binary32 and binary64 round as integer arithmetic says around chosen numbers") {
  const std::vector<Attributes> modes = all_attributes();
  for (const Format& f : {tf32, binary32, binary64}) {
    CAPTURE(format_name(f));
    Judge judge(f, oracle::Oracle::Method::division);
    const std::uint64_t unit = std::uint64_t{1} << f.padding_bits;
    const std::uint64_t one = unit << f.fraction_bits();
    const std::uint64_t max = max_bits(f, false);
    std::vector<std::uint64_t> starts{0,   unit,       2 * unit,   one - unit,
                                      one, one + unit, max - unit, max};
    for (int e = 2; e<(1 << f.exponent_bits) - 1; e += f.exponent_bits> 8 ? 97 : 11) {
      starts.push_back(one * static_cast<std::uint64_t>(e));
      starts.push_back(one * static_cast<std::uint64_t>(e) - unit);
    }
    for (const Attributes& attributes : modes) {
      for (const std::uint64_t bits : starts) {
        for (const Exact& x : gap(bits, f, true)) judge.project(x, attributes);
      }
      for (const Exact& x : outside(f)) judge.project(x, attributes);
    }
    check(judge, 50000);
  }
}

TEST_CASE("the rule of NVIDIA's header: signs of NaNs in FP8") {
  constexpr Attributes rule{.nan = NanResult::nvidia};
  const auto of_float = [&](float x, const Format& f) {
    return convert(std::bit_cast<std::uint32_t>(x), binary32, f, rule).bits;
  };
  const auto of_double = [&](std::uint64_t bits, const Format& f) {
    return convert(bits, binary64, f, rule).bits;
  };
  constexpr float infinity = std::numeric_limits<float>::infinity();
  CHECK(of_float(1000, e4m3) == 0x7F);
  CHECK(of_float(-1000, e4m3) == 0xFF);
  CHECK(of_float(-infinity, e4m3) == 0xFF);
  CHECK(of_float(-1e9F, e5m2) == 0xFC);
  CHECK(convert(0xFFC00000, binary32, e4m3, rule).bits == 0x7F);
  CHECK(convert(0xFFC00000, binary32, e5m2, rule).bits == 0x7F);
  CHECK(of_double(0xC08F400000000000, e4m3) == 0xFF);  // -1000
  CHECK(of_double(0xFFF8000000000000, e4m3) == 0xFF);
  CHECK(of_double(0x7FF8000000000000, e4m3) == 0x7F);
  CHECK(of_double(0xFFF8000000000000, e5m2) == 0xFE);
  CHECK(of_double(0x7FFC000000000000, e5m2) == 0x7F);
  CHECK(of_double(0xFFF8000000000000, binary16) == 0x7FFF);
  CHECK(of_float(-1000, e4m3fnuz) == 0x80);
  CHECK(convert(0xC47A0000, binary32, e4m3, {.nan = NanResult::quiet}).bits == 0x7F);  // -1000
}

TEST_CASE("zero, infinity and NaN become what the oracle says in every format and mode") {
  for (const NamedFormat& row : formats) {
    CAPTURE(row.name);
    Judge judge(row.format, oracle::Oracle::Method::division);
    for (Attributes attributes : all_attributes()) {
      for (const NanResult rule : {NanResult::quiet, NanResult::nvidia, NanResult::propagate}) {
        attributes.nan = rule;
        for (const std::uint64_t bits :
             {0x00000000U, 0x7F800000U, 0x7FC00000U, 0x7F800001U, 0x7FFFFFFFU, 0x7FA56789U}) {
          judge.project(decode(bits, binary32), attributes);
          judge.project(decode(bits | 0x80000000U, binary32), attributes);
        }
        for (const Exact& x : outside(row.format)) judge.project(x, attributes);
      }
    }
    CHECK_MESSAGE(judge.differences() == 0, judge.report());
    CHECK(judge.cases() > 5000);
    CHECK(judge.raised(Flag::invalid) > 0);
  }
}

TEST_CASE("a result just below the smallest normal number is tiny by the rule that was asked for") {
  // binary16: 2^-14 - 2^-26 rounds to 2^-14 on the subnormal grid and with an unbounded exponent
  // alike; 2^-14 - 3 2^-27 rounds up to 2^-14 only on the subnormal grid.
  const Exact near{.kind = Kind::finite, .exponent = -26, .significand = (1 << 12) - 1};
  const Exact far{.kind = Kind::finite, .exponent = -27, .significand = (1 << 13) - 3};
  const Attributes after{};
  const Attributes before{.tininess = Tininess::before_rounding};
  const Flags both = Flag::underflow | Flag::inexact;
  CHECK(project(near, binary16, after) == Projected{0x0400, Flag::inexact});
  CHECK(project(near, binary16, before) == Projected{0x0400, both});
  CHECK(project(far, binary16, after) == Projected{0x0400, both});
  CHECK(project(far, binary16, before) == Projected{0x0400, both});
  const Attributes flush{.flush_results = true};
  CHECK(project(near, binary16, flush) == Projected{0x0400, Flag::inexact});
  CHECK(project(far, binary16, flush) == Projected{0x0000, both});
}

TEST_CASE("an exact subnormal result raises nothing; flushed it is zero of its sign, inexact") {
  const Exact x{.kind = Kind::finite, .negative = true, .exponent = -24, .significand = 5};
  CHECK(project(x, binary16) == Projected{0x8005, 0});
  CHECK(project(x, binary16, {.flush_results = true}) ==
        Projected{0x8000, Flag::underflow | Flag::inexact});
}

TEST_CASE("from every format of the table into every other, convert is decode then project") {
  for (const NamedFormat& to : formats) {
    Judge judge(to.format, oracle::Oracle::Method::division);
    std::uint64_t different = 0;
    for (const NamedFormat& from : formats) {
      if (from.format.bits() > 8) continue;
      for (std::uint64_t bits = 0; bits < 256; ++bits) {
        for (const bool daz : {false, true}) {
          for (const Rounding rounding : deterministic) {
            const Attributes attributes{.rounding = rounding, .flush_operands = daz};
            oracle::Value x = oracle::value_of(bits, oracle::named_spec(from.name).spec);
            if (daz && oracle::is_subnormal(bits, oracle::named_spec(from.name).spec)) {
              x = {.negative = x.negative};
            }
            const oracle::Oracle judge_of(test::spec_of(to.format),
                                          oracle::Oracle::Method::division);
            const Projected want = test::projected(judge_of.round(x, test::rules_of(attributes)));
            different += convert(bits, from.format, to.format, attributes) == want ? 0 : 1;
          }
        }
      }
    }
    CAPTURE(to.name);
    CHECK(different == 0);
  }
}

TEST_CASE("the whole path is constexpr") {
  static_assert(convert(0x3F800000, binary32, binary16).bits == 0x3C00);
  static_assert(convert(0x477FF000, binary32, binary16).bits == 0x7C00);
  static_assert(convert(0x33000000, binary32, binary16).bits == 0x0000);  // 2^-25: a tie, to even
  static_assert(convert(0x33000001, binary32, binary16).bits == 0x0001);
}

TEST_CASE("a number that fills the window of 128 bits, all of it below the smallest, still ties") {
  Exact x{.kind = Kind::finite, .exponent = binary16.quantum_exponent() - 128};
  const Flags both = Flag::underflow | Flag::inexact;
  x.significand = uint128{1} << 127;
  CHECK(project(x, binary16) == Projected{0x0000, both});
  CHECK(project(x, binary16, {.rounding = Rounding::ties_to_away}) == Projected{0x0001, both});
  x.significand += 1;
  CHECK(project(x, binary16) == Projected{0x0001, both});
}

}  // namespace
}  // namespace binade::project_test
