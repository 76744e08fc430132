// SPDX-License-Identifier: Apache-2.0
//
// The table of conversion instructions: each row's emulation is what the instruction's name says.
#include "cuda/conversions.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace binade {
namespace {

const Conversion& conversion_named(std::string_view name) {
  for (const ConversionRow& row : conversions) {
    if (row.name == name) return row.conversion;
  }
  FAIL("no row is called ", std::string(name));
  return conversions[0].conversion;
}

struct KnownAnswer {
  const char* instruction;
  std::uint32_t input;
  std::uint32_t result;
};

}  // namespace

TEST_CASE("a row's attributes are the qualifiers of its name") {
  for (const ConversionRow& row : conversions) {
    CAPTURE(row.name);
    const std::string name(row.name);
    const std::string rounding = name.substr(4, name.find('.', 4) - 4);
    const bool satfinite = name.find(".satfinite.") != std::string::npos;
    const std::string types = name.substr(4 + rounding.size() + (satfinite ? 10 : 0));
    const Conversion& c = row.conversion;
    CHECK(c.attributes.rounding == find_rounding(rounding));
    CHECK(c.attributes.saturation == (satfinite ? Saturation::finite : Saturation::none));
    CHECK(c.from == binary32);
    CHECK(types == (c.to == binary16   ? ".f16.f32"
                    : c.to == bfloat16 ? ".bf16.f32"
                    : c.to == tf32     ? ".tf32.f32"
                                       : ""));
  }
}

TEST_CASE("no instruction has two rows") {
  std::set<std::string_view> names;
  std::set<Cvt> instructions;
  for (const ConversionRow& row : conversions) {
    names.insert(row.name);
    instructions.insert(row.conversion.instruction);
  }
  CHECK(names.size() == conversions.size());
  CHECK(instructions.size() == conversions.size());
}

TEST_CASE("rounding to nearest and directed rounding give the known bits at ties and ends") {
  for (const KnownAnswer& known : {
           // 1 + 2^-11 and 1 + 3·2^-11: ties of binary16.
           KnownAnswer{"cvt.rn.f16.f32", 0x3f801000, 0x3c00},
           {"cvt.rn.f16.f32", 0x3f803000, 0x3c02},
           {"cvt.rz.f16.f32", 0x3f803000, 0x3c01},
           {"cvt.rp.f16.f32", 0x3f800001, 0x3c01},
           {"cvt.rm.f16.f32", 0xbf800001, 0xbc01},
           {"cvt.rn.f16.f32", 0x33000000, 0x0000},  // 2^-25, half the smallest subnormal
           {"cvt.rn.f16.f32", 0x33000001, 0x0001},
           {"cvt.rp.f16.f32", 0x00000001, 0x0001},
           {"cvt.rm.f16.f32", 0x00000001, 0x0000},
           {"cvt.rn.f16.f32", 0x477fefff, 0x7bff},  // just below 65520
           {"cvt.rn.f16.f32", 0x477ff000, 0x7c00},  // 65520
           {"cvt.rz.f16.f32", 0x7f7fffff, 0x7bff},
           {"cvt.rz.f16.f32", 0x7f800000, 0x7c00},
           {"cvt.rn.satfinite.f16.f32", 0x477ff000, 0x7bff},
           {"cvt.rn.satfinite.f16.f32", 0xff800000, 0xfbff},
           {"cvt.rn.bf16.f32", 0x3f808000, 0x3f80},  // 1 + 2^-8: a tie of bfloat16
           {"cvt.rn.bf16.f32", 0x3f818000, 0x3f82},
           {"cvt.rz.bf16.f32", 0x3f81ffff, 0x3f81},
           {"cvt.rn.bf16.f32", 0x7f7fffff, 0x7f80},
           {"cvt.rn.satfinite.bf16.f32", 0x7f7fffff, 0x7f7f},
           {"cvt.rna.tf32.f32", 0x3f801000, 0x3f802000},  // 1 + 2^-11: a tie of tf32
           {"cvt.rna.tf32.f32", 0xbf801000, 0xbf802000},
           {"cvt.rn.tf32.f32", 0x3f801000, 0x3f800000},
           {"cvt.rn.tf32.f32", 0x3f803000, 0x3f804000},
           {"cvt.rz.tf32.f32", 0x3f803fff, 0x3f802000},
           {"cvt.rna.tf32.f32", 0x00001000, 0x00002000},
           {"cvt.rna.tf32.f32", 0x7f7fffff, 0x7f800000},
           {"cvt.rna.satfinite.tf32.f32", 0x7f7fffff, 0x7f7fe000},
       }) {
    CAPTURE(known.instruction);
    CAPTURE(known.input);
    CHECK(conversion_named(known.instruction).emulate(known.input) == known.result);
  }
}

TEST_CASE("a NaN gives the canonical NaN, whatever its sign and payload") {
  for (const std::uint32_t nan : {0x7fc00000U, 0x7f800001U, 0xffffffffU}) {
    CHECK(conversion_named("cvt.rn.f16.f32").emulate(nan) == 0x7fff);
    CHECK(conversion_named("cvt.rz.satfinite.f16.f32").emulate(nan) == 0x7fff);
    CHECK(conversion_named("cvt.rn.bf16.f32").emulate(nan) == 0x7fff);
    CHECK(conversion_named("cvt.rn.tf32.f32").emulate(nan) == 0x7fffe000);
  }
}

TEST_CASE("rna.tf32 cuts a NaN like a number, so a NaN with a low payload becomes Inf") {
  const Conversion& plain = conversion_named("cvt.rna.tf32.f32");
  CHECK(plain.emulate(0x7fc00000) == 0x7fc00000);
  CHECK(plain.emulate(0xffffffff) == 0xffffe000);
  CHECK(plain.emulate(0x7f802000) == 0x7f802000);
  CHECK(plain.emulate(0x7f800001) == 0x7f800000);
  const Conversion& satfinite = conversion_named("cvt.rna.satfinite.tf32.f32");
  CHECK(satfinite.emulate(0x7fc00000) == 0x7fbfe000);
  CHECK(satfinite.emulate(0xff802000) == 0xff800000);
  CHECK(satfinite.emulate(0x7f800001) == 0x7f7fe000);
  CHECK(satfinite.emulate(0x7f800000) == 0x7f7fe000);
}

}  // namespace binade
