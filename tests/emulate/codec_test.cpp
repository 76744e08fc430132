// SPDX-License-Identifier: Apache-2.0
//
// The values of encodings: all of every format of up to 19 bits, and samples of the wider ones.
#include "emulate/codec.h"

#include <doctest/doctest.h>

#include <vector>

#include "tests/emulate/oracle_bridge.h"

namespace binade::codec_test {
namespace {

/// Returns every encoding of a format with at most 2^19 of them; else the ends of the fields and
/// every n-th encoding.
std::vector<std::uint64_t> encodings(const Format& f) {
  std::vector<std::uint64_t> all;
  const std::uint64_t count = std::uint64_t{1} << (f.bits() - 1);  // twice this many
  const std::uint64_t step = f.bits() <= 19 ? 1 : (count >> 17 << 1) - 1;
  for (std::uint64_t code = 0; code < count; code += step) all.push_back(code << f.padding_bits);
  for (std::uint64_t code = 0; code < count; code += step) {
    all.push_back((count | code) << f.padding_bits);
  }
  return all;
}

TEST_CASE("every encoding decodes to the value the oracle reads off its fields") {
  for (const NamedFormat& row : formats) {
    CAPTURE(row.name);
    const oracle::Spec& spec = oracle::named_spec(row.name).spec;
    std::uint64_t cases = 0;
    std::uint64_t different = 0;
    for (const std::uint64_t bits : encodings(row.format)) {
      const oracle::Value got = test::value_of(decode(bits, row.format));
      const oracle::Value want = oracle::value_of(bits, spec);
      bool same = got.kind == want.kind && got.negative == want.negative;
      if (same && got.kind == oracle::Kind::number) {
        same = oracle::to_double(got) == oracle::to_double(want);
      } else if (same && got.kind == oracle::Kind::nan && spec.codes == oracle::Codes::ieee) {
        same = got.low == want.low && got.signaling == want.signaling;
      }
      same = same && is_subnormal(bits, row.format) == oracle::is_subnormal(bits, spec);
      different += same ? 0 : 1;
      ++cases;
    }
    CHECK(cases >= (row.format.bits() <= 19 ? std::uint64_t{1} << row.format.bits() : 100000));
    CHECK(different == 0);
  }
}

TEST_CASE("fields taken apart and put together give the encoding back") {
  for (const NamedFormat& row : formats) {
    std::uint64_t different = 0;
    for (const std::uint64_t bits : encodings(row.format)) {
      different += bits_of(fields_of(bits, row.format), row.format) == bits ? 0 : 1;
    }
    CHECK(different == 0);
  }
}

TEST_CASE("bits above the encoding and in the padding do not change the value") {
  const std::uint64_t above = ~std::uint64_t{0xFF};
  for (std::uint64_t bits = 0; bits < 256; ++bits) {
    CHECK(decode(bits | above, e4m3).significand == decode(bits, e4m3).significand);
    CHECK(decode(bits | above, e4m3).kind == decode(bits, e4m3).kind);
    CHECK(decode(bits | above, e4m3).negative == decode(bits, e4m3).negative);
  }
  CHECK(decode(0x3F801FFF, tf32).significand == decode(0x3F800000, tf32).significand);
  CHECK(decode(0x7F801FFF, tf32).kind == Kind::infinite);
  CHECK(decode(0x80, ue4m3).kind == Kind::zero);
}

TEST_CASE("the named special encodings are those of the documents") {
  CHECK(infinity_bits(binary16, false) == 0x7C00);
  CHECK(infinity_bits(bfloat16, true) == 0xFF80);
  CHECK(infinity_bits(tf32, true) == 0xFF800000);
  CHECK(infinity_bits(e5m2, false) == 0x7C);
  CHECK(infinity_bits(binary64, false) == 0x7FF0000000000000);
  CHECK(max_bits(e4m3, true) == 0xFE);
  CHECK(max_bits(e2m1, true) == 0xF);
  CHECK(max_bits(e4m3fnuz, true) == 0xFF);
  CHECK(max_bits(e8m0, true) == 0xFE);
  CHECK(max_bits(ue4m3, true) == 0x7E);
  CHECK(min_bits(ue4m3, true) == 0x01);
  CHECK(min_bits(binary16, true) == 0x8001);
  CHECK(min_bits(tf32, false) == 0x00002000);
  CHECK(min_bits(e8m0, false) == 0x00);
  CHECK(zero_bits(binary16, true) == 0x8000);
  CHECK(zero_bits(e4m3fnuz, true) == 0x00);
  CHECK(zero_bits(ue4m3, true) == 0x00);
}

TEST_CASE("the three NaN rules give IEEE's, NVIDIA's and the operand's NaN") {
  CHECK(nan_bits(binary16, NanResult::quiet, true, 1) == 0x7E00);
  CHECK(nan_bits(binary32, NanResult::quiet) == 0x7FC00000);
  CHECK(nan_bits(binary16, NanResult::nvidia, true) == 0x7FFF);
  CHECK(nan_bits(binary32, NanResult::nvidia) == 0x7FFFFFFF);
  CHECK(nan_bits(bfloat16, NanResult::nvidia) == 0x7FFF);
  CHECK(nan_bits(e5m2, NanResult::quiet) == 0x7E);
  CHECK(nan_bits(e5m2, NanResult::nvidia) == 0x7F);
  CHECK(nan_bits(tf32, NanResult::quiet) == 0x7FC00000);
  CHECK(nan_bits(binary16, NanResult::propagate, true, std::uint64_t{1} << 54) == 0xFE01);
  for (const NanResult rule : {NanResult::quiet, NanResult::nvidia, NanResult::propagate}) {
    CHECK(nan_bits(e4m3, rule) == 0x7F);
    CHECK(nan_bits(e4m3fnuz, rule, true) == 0x80);
    CHECK(nan_bits(e5m2fnuz, rule) == 0x80);
    CHECK(nan_bits(e8m0, rule, true) == 0xFF);
    CHECK(nan_bits(ue4m3, rule, true) == 0x7F);
  }
  CHECK(nan_bits(e4m3, NanResult::propagate, true) == 0xFF);
}

TEST_CASE("under DAZ every subnormal operand is a zero of its sign, and nothing else changes") {
  const Attributes daz{.flush_operands = true};
  for (const NamedFormat& row : formats) {
    CAPTURE(row.name);
    std::uint64_t flushed = 0;
    std::uint64_t different = 0;
    for (const std::uint64_t bits : encodings(row.format)) {
      const Exact plain = decode(bits, row.format);
      const Exact seen = decode_operand(bits, row.format, daz);
      if (is_subnormal(bits, row.format)) {
        ++flushed;
        different += seen.kind == Kind::zero && seen.negative == plain.negative ? 0 : 1;
      } else {
        different += seen.kind == plain.kind && seen.negative == plain.negative &&
                             seen.significand == plain.significand &&
                             seen.exponent == plain.exponent
                         ? 0
                         : 1;
      }
    }
    CHECK(different == 0);
    CHECK((flushed > 0) == row.format.has_subnormals());
  }
}

}  // namespace
}  // namespace binade::codec_test
