// SPDX-License-Identifier: Apache-2.0
//
// Generated dot products: a seed gives the same bits everywhere, each row can be made by itself,
// and encodings are never outside the formats. Every generator does what its row of the table says,
// as judged by integer arithmetic in this test and by wrong models, which must give other results.
#include "lib/cases/dot_cases.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "emulate/quantize.h"
#include "lib/device/emulated_device.h"
#include "lib/instruction/instruction_name.h"
#include "lib/text/error.h"
#include "lib/validate/replay.h"
#include "tests/lib/cases/dot_rows.h"

namespace binade::dot_cases_test {
namespace {

/// More threads than the machine may have, so that pieces finish in any order.
const int eight_threads = setenv("BINADE_THREADS", "8", 0);

using namespace test;  // NOLINT(google-build-using-namespace): rows and models

std::uint64_t digest(const DotGenerator& generator, bool scaled) {
  std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  const auto take = [&hash](const std::vector<std::uint64_t>& values) {
    for (const std::uint64_t x : values) {
      for (int i = 0; i < 64; i += 8) hash = (hash ^ (x >> i & 0xFF)) * 0x100000001B3;
    }
  };
  for (const Named& named : some_of_each) {
    const Instruction how = instruction(named);
    if (!generator.suits(how) || is_scaled(how.model) != scaled) continue;
    for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{9000}}) {
      const Dots dots = make_dots(generator, how, 1, first, 400);
      take(dots.a);
      take(dots.b);
      take(dots.c);
      take(dots.a_scales);
      take(dots.b_scales);
    }
  }
  return hash;
}

/// The digests of a generator's rows without and with scales of blocks; that of no rows is nothing.
constexpr std::uint64_t nothing = 0xCBF29CE484222325;
struct Known {
  const char* generator;
  std::uint64_t digest, scaled = nothing;
};
constexpr Known known[]{
    {"normal", 10218148442750657968U, 12162548149819467904U},
    {"random_bits", 2483587343945975214U, 8619682786137046631U},
    {"bounded_exponents", 3406212088598404545U},
    {"tiny", 3537707109727015048U},
    {"zeros", 3656368126083164173U, 286189964662801156U},
    {"zero_products", 2566702727389468772U},
    {"specials", 14955111428653321028U, 3141707133520765846U},
    {"carry", 6280406905911830506U},
    {"k_order", 7979936430747940240U},
    {"tf32_low_bits", 8306825937298864388U},
    {"chains", 6906673411210333352U, 12455888380020766702U},
    {"integers", 9409835144289414574U},
    {"block_scales", nothing, 1595786103934497901U},
};

}  // namespace

TEST_CASE("a seed means the same bits everywhere") {
  REQUIRE(std::size(known) == dot_generators().size());
  for (const Known& row : known) {
    const std::string name = row.generator;
    CAPTURE(name);
    CHECK(digest(parse_dot_generator(row.generator), false) == row.digest);
    CHECK(digest(parse_dot_generator(row.generator), true) == row.scaled);
  }
}

TEST_CASE("a row is made by itself, with whatever stands beside it") {
  for (const DotGenerator& generator : dot_generators()) {
    const std::string called(generator.name);
    CAPTURE(called);
    for (const Named& named : some_of_each) {
      const Instruction how = instruction(named);
      if (!generator.suits(how)) continue;
      const std::string name = named.name;
      CAPTURE(name);
      const auto k = static_cast<std::size_t>(how.k);
      const Dots all = make_dots(generator, how, 7, 0, 700);
      const Dots some = make_dots(generator, how, 7, 333, 300);
      CHECK(std::equal(some.a.begin(), some.a.end(), all.a.begin() + 333 * how.k));
      CHECK(std::equal(some.b.begin(), some.b.end(), all.b.begin() + 333 * how.k));
      CHECK(std::equal(some.c.begin(), some.c.end(), all.c.begin() + 333));
      const DotCase one = make_dot_case(generator, how, 7, 699);
      CHECK(std::equal(all.a.end() - how.k, all.a.end(), one.a.begin()));
      CHECK(one.b[k - 1] == all.b.back());
      CHECK(one.c == all.c.back());
      CHECK(all.d == std::vector<std::uint64_t>(700));
    }
  }
}

TEST_CASE("seeds, and generators of one seed, give different rows") {
  CHECK(rows_of("normal", to_f32, 10, 1).a != rows_of("normal", to_f32, 10, 2).a);
  std::set<std::uint64_t> streams;
  for (const char* name : {"normal", "specials", "chains"}) {
    streams.insert(rows_of(name, to_f32, 640).a.at(639 * 16 + 7));
  }
  CHECK(streams.size() == 3);
}

TEST_CASE("rows do not depend on the architecture, only on types and k") {
  for (const char* name : {"normal", "tiny", "k_order", "specials"}) {
    CAPTURE(name);
    const Dots hopper = rows_of(name, to_f32, 500);
    const Dots ampere = rows_of(name, {"wmma.m32n8k16.f32.f16.f16.f32", 80}, 500);
    CHECK(hopper.a == ampere.a);
    CHECK(hopper.c == ampere.c);
  }
}

TEST_CASE("encodings fit their formats; only one generator sets bits in the padding of tf32") {
  for (const DotGenerator& generator : dot_generators()) {
    const std::string called(generator.name);
    CAPTURE(called);
    for (const Named& named : some_of_each) {
      const Instruction how = instruction(named);
      if (!generator.suits(how)) continue;
      const std::string name = named.name;
      CAPTURE(name);
      const Dots dots = make_dots(generator, how, 3, 0, 1000);
      const auto outside = [&](const Format& f) {
        const bool may_pad = generator.name == "tf32_low_bits";
        const std::uint64_t padding = may_pad ? 0 : (std::uint64_t{1} << f.padding_bits) - 1;
        const int top = f.bits() + f.padding_bits;
        const std::uint64_t above = top < 64 ? ~std::uint64_t{0} << top : 0;
        return [mask = padding | above](std::uint64_t bits) { return (bits & mask) != 0; };
      };
      CHECK(count(dots.a, outside(how.types.a)) == 0);
      CHECK(count(dots.b, outside(how.types.b)) == 0);
      CHECK(count(dots.c, outside(how.types.c)) == 0);
    }
  }
}

TEST_CASE("normal: mean 0, variance 1, tails, c of both signs") {
  const Dots dots = rows_of("normal", of_tf32, 4000);
  double sum = 0, squares = 0, largest = 0;
  for (const std::uint64_t bits : dots.a) {
    const auto x = value_of<double>(bits, tf32);
    sum += x;
    squares += x * x;
    largest = std::max(largest, std::fabs(x));
  }
  const auto n = static_cast<double>(dots.a.size());
  CHECK(std::fabs(sum / n) < 0.02);
  CHECK(std::fabs(squares / n - 1) < 0.03);
  CHECK(largest > 3.5);
  CHECK(largest < 6.001);
  const long negative = count(dots.c, [](std::uint64_t bits) { return bits >> 31 != 0; });
  CHECK(negative > 1900);
  CHECK(negative < 2100);
  CHECK(count(dots.c, [](std::uint64_t bits) { return (bits & 1) != 0; }) > 1500);  // 24 bits of c
}

TEST_CASE("random_bits: everything in even rows, numbers alone in odd ones") {
  for (const Named& named : some_of_each) {
    const std::string name = named.name;
    CAPTURE(name);
    const Instruction how = instruction(named);
    const Dots dots = rows_of("random_bits", named, 4000);
    const auto k = static_cast<std::size_t>(how.k);
    long special_in_odd = 0;
    std::vector<std::uint64_t> even;
    for (std::size_t i = 0; i < dots.a.size(); ++i) {
      const Kind x = kind(dots.a[i], how.types.a);
      if (i / k % 2 == 0) {
        even.push_back(dots.a[i]);
      } else {
        special_in_odd += x == Kind::nan || x == Kind::infinite ? 1 : 0;
      }
    }
    CHECK(special_in_odd == 0);
    const auto is = [&](Kind wanted) {
      return [&, wanted](std::uint64_t bits) { return kind(bits, how.types.a) == wanted; };
    };
    CHECK((count(even, is(Kind::nan)) > 0) == how.types.a.has_nan());
    if (how.types.a.bits() <= 8) {  // else too rare
      CHECK((count(even, is(Kind::infinite)) > 0) == how.types.a.has_infinity());
      CHECK(count(even, is(Kind::zero)) > 0);
      CHECK(count(even, [&](std::uint64_t x) { return is_subnormal(x, how.types.a); }) > 0);
    }
  }
}

__extension__ typedef __int128 int128;

/// Returns a finite binary16 number in units of 2^-24.
int128 units16(std::uint64_t bits) {
  const Exact x = decode(bits, binary16);
  const int128 magnitude = static_cast<int128>(x.significand) << (x.exponent + 24);
  return x.negative ? -magnitude : magnitude;
}

TEST_CASE("bounded_exponents: within 40 binades; c is minus the sum, or a few ulps beside it") {
  const Dots dots = rows_of("bounded_exponents", to_f16, 4000);
  long exact = 0, beside = 0, others = 0, small_rest = 0, wide = 0;
  for (std::size_t row = 0; row < dots.d.size(); ++row) {
    int128 sum = 0;
    int high = -100, low = 100;
    for (std::size_t i = row * 16; i < row * 16 + 16; ++i) {
      REQUIRE(kind(dots.a[i], binary16) == Kind::finite);
      REQUIRE(kind(dots.b[i], binary16) == Kind::finite);
      sum += units16(dots.a[i]) * units16(dots.b[i]);
      const Exact a = decode(dots.a[i], binary16), b = decode(dots.b[i], binary16);
      high = std::max(high, a.exponent + b.exponent);
      low = std::min(low, a.exponent + b.exponent);
    }
    CHECK(high - low <= 40);
    wide += high - low > 25 ? 1 : 0;
    const Exact c = decode(dots.c[row], binary16);
    const int128 ulp = int128{1} << (c.kind == Kind::zero ? 24 : c.exponent + 48);
    const int128 rest = sum + (units16(dots.c[row]) << 24);
    const int128 off = rest < 0 ? -rest : rest;
    if (row % 4 == 0) exact += 2 * off <= ulp ? 1 : 0;
    if (row % 4 == 2) beside += 2 * off > ulp && off <= 8 * ulp ? 1 : 0;
    if (row % 4 == 1) others += off > 8 * ulp ? 1 : 0;
    if (row % 8 == 3) small_rest += off < int128{1} << (high + 10 + 48) ? 1 : 0;
  }
  CHECK(exact == 1000);
  CHECK(beside > 900);
  CHECK(others > 750);
  CHECK(small_rest > 300);
  CHECK(wide > 500);
}

TEST_CASE("tiny: the worked vectors of the exponent floor are rungs of the ladder") {
  // binary16: 2^-25 and 2^-46, 2^-47: the second tips the tie if the floor lets it.
  const Instruction how = instruction(to_f16);
  const auto has = [&](const Named& named, std::vector<std::uint64_t> a,
                       std::vector<std::uint64_t> b, std::uint64_t c) {
    const Dots dots = rows_of("tiny", named, 8000);
    const auto k = static_cast<std::size_t>(instruction(named).k);
    a.resize(k);
    b.resize(k);
    for (std::size_t i = 0; i < dots.c.size(); ++i) {
      const auto row = static_cast<std::ptrdiff_t>(i * k);
      if (dots.c[i] == c && std::equal(a.begin(), a.end(), dots.a.begin() + row) &&
          std::equal(b.begin(), b.end(), dots.b.begin() + row)) {
        return true;
      }
    }
    return false;
  };
  // 2^-12 · 2^-13, then 2^-23 · 2^-23 and 2^-23 · 2^-24
  CHECK(has(to_f16, {0x0C00, 0x0002}, {0x0800, 0x0002}, 0));
  CHECK(has(to_f16, {0x0C00, 0x0002}, {0x0800, 0x0001}, 0));
  // bfloat16: 2^-74 · 2^-75 = 2^-149, minus 2^-79 · 2^-80 = 2^-159, and minus 2^-158
  CHECK(has(of_bf16, {0x1A80, 0x9800}, {0x1A00, 0x1780}, 0));
  CHECK(has(of_bf16, {0x1A80, 0x9800}, {0x1A00, 0x1800}, 0));

  const auto with_floor = [](int floor) {
    return [floor](DotModel& model) { model.exponent_floor = floor; };
  };
  REQUIRE(how.model.exponent_floor == -21);
  CHECK(seen("tiny", to_f16, 8000, with_floor(-20)) > 0);
  CHECK(seen("tiny", to_f16, 8000, with_floor(-22)) > 0);
  CHECK(seen("tiny", to_f16, 8000, with_floor(-133)) > 0);
  for (const Named& wide : {of_bf16, of_tf32}) {
    const int floor = instruction(wide).model.exponent_floor;
    CHECK(seen("tiny", wide, 8000, with_floor(floor - 1)) > 0);
    CHECK(seen("tiny", wide, 8000, with_floor(floor + 1)) > 0);
  }
  // F = 13 bits below 2^-19 are 2^-32, the smallest product: only a higher floor shows.
  CHECK(seen("tiny", {"mma.m16n8k32.f16.e5m2.e5m2.f16", 89}, 8000, with_floor(-18)) > 0);
}

TEST_CASE("carry: sums need all the bits that k largest products and c can fill") {
  const Instruction how = instruction(to_f32);
  const Dots dots = rows_of("carry", to_f32, 500);
  std::int64_t widest = 0;  // sum of magnitudes in units of 2^(largest exponent - F), by rule
  for (std::size_t i = 0; i < dots.c.size(); ++i) {
    double sum = std::fabs(value_of<double>(dots.c[i], binary32));
    int top = decode(dots.c[i], binary32).exponent + 23;
    for (std::size_t n = i * 16; n < i * 16 + 16; ++n) {
      const Addend x = product_of(addend_of(dots.a[n], binary16), addend_of(dots.b[n], binary16));
      if (x.kind == Kind::finite) top = std::max(top, x.exponent);
      sum +=
          std::fabs(value_of<double>(dots.a[n], binary16) * value_of<double>(dots.b[n], binary16));
    }
    widest =
        std::max(widest, static_cast<std::int64_t>(std::ldexp(sum, how.model.fraction_bits - top)));
  }
  CHECK(widest > std::int64_t{65} << 25);  // 16 · (2 - 2^-10)^2 + 2 is 65.9
}

TEST_CASE("k_order: every pair, and what is added after both remains") {
  for (const Named& named : some_of_each) {
    const Instruction how = instruction(named);
    const int kept = how.model.sparse_group == 0 ? how.k : how.k / 2;
    CHECK(full_rows(parse_dot_generator("k_order"), how) ==
          static_cast<std::uint64_t>(kept * kept));
  }
  const auto halved = [](DotModel& model) { model.block /= 2; };
  const auto fused = [](DotModel& model) { model.recipe = Recipe::fused_block; };
  CHECK(seen("k_order", to_f32, 256, halved) > 50);
  CHECK(seen("k_order", to_f16, 256, halved) > 50);
  CHECK(seen("k_order", of_tf32, 64, halved) > 10);
  CHECK(seen("k_order", {"wgmma.m64n8k32.f32.e4m3.e4m3", 90}, 1024, halved) > 200);
  CHECK(seen("k_order", {"mma.m16n8k32.f16.e5m2.e5m2.f16", 90}, 1024, fused) > 200);
  CHECK(seen("k_order", {"mma.m16n8k32.f32.e4m3.e4m3.f32", 90}, 1024, fused) > 200);
  CHECK(seen("k_order", {"mma.m16n8k16.f32.f16.f16.f32", 80}, 256,
             [](DotModel& model) { model.block = 16; }) > 50);
}

TEST_CASE("tf32_low_bits: numbers, Inf, zero and NaN by those bits alone") {
  const Dots dots = rows_of("tf32_low_bits", of_tf32, 2000);
  long inf = 0, zero = 0;
  for (const auto* values : {&dots.a, &dots.b}) {
    inf += count(*values, [](std::uint64_t x) {
      return (x & 0x7FFFE000) == 0x7F800000 && (x & 0x1FFF) != 0;
    });
    zero += count(*values, [](std::uint64_t x) { return (x & 0x7FFFFFFF) - 1 < 0x1FFF; });
    CHECK(count(*values, [](std::uint64_t x) { return (x & 0x1FFF) != 0; }) > 15000);
  }
  CHECK(inf == 500);
  CHECK(zero > 490);
  CHECK(!parse_dot_generator("tf32_low_bits").suits(instruction(to_f32)));
}

TEST_CASE("chains of 2 to 64: only the first row of each has a c of its own") {
  const DotGenerator& chains = parse_dot_generator("chains");
  const Dots dots = rows_of("chains", to_f16, 64 * 12);
  for (std::size_t group = 0; group < 12; ++group) {
    const std::size_t length = std::size_t{2} << group % 6;
    for (std::size_t i = group * 64; i < group * 64 + 64; ++i) {
      const bool link = i % length != 0;
      CHECK(continues_chain(chains, i) == link);
      CHECK((dots.c[i] == 0) == link);
    }
  }
  CHECK(!continues_chain(parse_dot_generator("normal"), 1));
  CHECK(!chains.suits(instruction({"mma.m8n8k4.f32.f16.f16.f16", 70})));
}

TEST_CASE("wrong models are seen") {
  const auto bits = [](int more) { return [more](DotModel& m) { m.fraction_bits += more; }; };
  const auto nearest = [](DotModel& m) { m.rounding = Rounding::ties_to_even; };
  for (const char* name : {"normal", "random_bits", "bounded_exponents", "chains"}) {
    CAPTURE(name);
    CHECK(seen(name, to_f32, 2000, bits(-1)) > 20);
    CHECK(seen(name, to_f32, 2000, bits(1)) > 20);
    CHECK(seen(name, to_f32, 2000, nearest) > 100);
    CHECK(seen(name, of_bf16, 2000, nearest) > 20);
    CHECK(seen(name, {"wgmma.m64n8k32.f32.e4m3.e4m3", 90}, 2000, bits(1)) > 20);
  }
}

TEST_CASE("F of 16-bit results, which rounding hides, is seen where the large terms cancel") {
  const auto one_less = [](DotModel& m) { m.fraction_bits -= 1; };
  for (const Named& named :
       {to_f16, Named{"wgmma.m64n8k16.f16.f16.f16", 90},
        Named{"mma.m16n8k32.f16.e4m3.e4m3.f16", 90}, Named{"mma.m16n8k32.f16.e5m2.e5m2.f16", 90},
        Named{"mma.m16n8k32.f16.e5m2.e5m2.f16", 89}}) {
    const std::string name = named.name;
    CAPTURE(name);
    CHECK(seen("bounded_exponents", named, 8000, one_less) > 10);
  }
}

constexpr Named of_mxf8{
    "mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e5m2.f32.ue8m0", 120};
constexpr Named of_mxf4{"mma.m16n8k64.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
                        120};
constexpr Named of_nvf4{
    "mma.m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", 120};

TEST_CASE("block_scales: the ends of the scales, their zeros and NaNs") {
  for (const Named& named : {of_mxf8, of_mxf4, of_nvf4}) {
    const std::string name = named.name;
    CAPTURE(name);
    const Format f = instruction(named).model.scaling.format;
    const Dots dots = rows_of("block_scales", named, 900);
    const std::set<std::uint64_t> a(dots.a_scales.begin(), dots.a_scales.end());
    const std::set<std::uint64_t> b(dots.b_scales.begin(), dots.b_scales.end());
    const std::uint64_t most = f == e8m0 ? 254 : 0x7E;
    for (const std::uint64_t code : {std::uint64_t{0}, std::uint64_t{1}, most, most + 1}) {
      CHECK(a.count(code) == 1);
      CHECK(b.count(code) == 1);
    }
    CHECK(a.count(0x80) == 1);  // of ue4m3 a zero whose highest bit is not read
    CHECK(a.size() > 50);
    CHECK(dots.a_scales.size() == 900 * scales_of_row(instruction(named)));
  }
  CHECK(rows_of("normal", to_f32, 9).a_scales.empty());
  CHECK(!parse_dot_generator("block_scales").suits(instruction(to_f32)));
  CHECK(!parse_dot_generator("tiny").suits(instruction(of_mxf8)));
}

TEST_CASE("block_scales: wrong rules of scaled sums are seen") {
  const auto of_group = [](int n) { return [n](DotModel& m) { m.scaling.group = n; }; };
  const auto bits = [](int more) { return [more](DotModel& m) { m.fraction_bits += more; }; };
  const auto floor = [](int more) { return [more](DotModel& m) { m.exponent_floor += more; }; };
  const auto halved = [](DotModel& m) { m.block /= 2; };
  for (const Named& named : {of_mxf8, of_mxf4, of_nvf4}) {
    const std::string name = named.name;
    CAPTURE(name);
    CHECK(seen("block_scales", named, 4000, bits(-1)) > 5);
    CHECK(seen("block_scales", named, 4000, bits(1)) > 5);
    CHECK(seen("block_scales", named, 4000, halved) > 50);
  }
  for (const Named& named : {of_mxf4, of_nvf4}) {
    CHECK(seen("block_scales", named, 4000, of_group(0)) > 50);
    CHECK(seen("block_scales", named, 4000, of_group(4)) > 5);
  }
  for (const Named& named : {of_mxf8, of_mxf4}) {
    CHECK(seen("block_scales", named, 4000, floor(-1)) > 1);
    CHECK(seen("block_scales", named, 4000, floor(1)) > 1);
    CHECK(seen("block_scales", named, 4000, floor(13)) > 20);
  }
}

TEST_CASE("an unknown generator is answered with the nearest") {
  std::string said;
  try {
    parse_dot_generator("norml");
  } catch (const Error& error) {
    said = error.what();
  }
  CHECK(said.starts_with(
      "no generator 'norml'; did you mean normal?; there are normal, random_bits"));
}

}  // namespace binade::dot_cases_test
