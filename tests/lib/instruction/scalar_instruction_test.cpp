// SPDX-License-Identifier: Apache-2.0
//
// The list of scalar instructions: its contents, the operand words of each, and known results.
#include "lib/instruction/scalar_instruction.h"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/lib/io/files.h"

namespace binade::scalar_instruction_test {
namespace {

using test::error_of;
using test::has;

std::uint64_t run(const char* name, const ScalarOperands& operands) {
  return emulate(parse_scalar_instruction(name).operation, operands);
}

struct KnownAnswer {
  const char* instruction;
  std::uint64_t input, result;
};

struct Words {
  const char* name;
  std::vector<int> bits;
  int lanes, result_bits;
};

}  // namespace

TEST_CASE("every kind is there, each name once, each in its place") {
  std::set<std::string> names;
  std::map<ScalarKind, int> kinds;
  for (const ScalarInstruction& x : scalar_instructions()) {
    CAPTURE(x.name);
    CHECK(names.insert(x.name).second);
    CHECK(x.number + 1 == static_cast<int>(names.size()));
    CHECK(&parse_scalar_instruction(x.name) == &x);
    CHECK(x.target.sm >= 75);
    CHECK(x.operation.words >= 1);
    CHECK(x.operation.words <= 5);
    CHECK(x.operation.result_bits % x.operation.lanes == 0);
    kinds[x.operation.kind] += 1;
  }
  CHECK(kinds[ScalarKind::conversion] == 187);
  CHECK(kinds[ScalarKind::arithmetic] == 310);
  CHECK(kinds[ScalarKind::memory] == 10);
  CHECK(kinds[ScalarKind::approximation] == 19);
}

TEST_CASE("the operand words are those that PTX writes") {
  for (const Words& x : std::vector<Words>{
           {"cvt.rn.f16.f32", {32}, 1, 16},
           {"cvt.rn.f16x2.f32", {32, 32}, 2, 32},
           {"cvt.rn.f16x2.e4m3x2", {16}, 2, 32},
           {"cvt.rn.f16x2.e2m1x2", {8}, 2, 32},
           {"cvt.rn.satfinite.e2m1x2.f32", {32, 32}, 2, 8},
           {"cvt.rz.ue8m0x2.bf16x2", {32}, 2, 16},
           {"cvt.rs.f16x2.f32", {32, 32, 32}, 2, 32},
           {"cvt.rs.satfinite.e2m1x4.f32", {32, 32, 32, 32, 32}, 4, 16},
           {"cvt.rn.f32.f64", {64}, 1, 32},
           {"add.f32", {32, 32}, 1, 32},
           {"fma.rn.f32x2", {64, 64, 64}, 2, 64},
           {"fma.rn.f16x2", {32, 32, 32}, 2, 32},
           {"add.f32.f16", {16, 32}, 1, 32},
           {"fma.rn.f32.bf16", {16, 16, 32}, 1, 32},
           {"red.global.add.noftz.bf16x2", {32, 32}, 2, 32},
           {"tanh.approx.bf16", {16}, 1, 16},
           {"sin.approx.f32", {32}, 1, 32},
       }) {
    CAPTURE(x.name);
    const ScalarOperation& o = parse_scalar_instruction(x.name).operation;
    CHECK(std::vector<int>(o.word_bits.begin(), o.word_bits.begin() + o.words) == x.bits);
    CHECK(o.lanes == x.lanes);
    CHECK(o.result_bits == x.result_bits);
  }
}

TEST_CASE("rounding to nearest and directed rounding give the known bits at ties and ends") {
  for (const KnownAnswer& known : {
           KnownAnswer{"cvt.rn.f16.f32", 0x3f801000, 0x3c00},  // 1 + 2^-11: a tie of binary16
           {"cvt.rn.f16.f32", 0x3f803000, 0x3c02},
           {"cvt.rz.f16.f32", 0x3f801fff, 0x3c00},
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
           // rna.tf32 cuts a NaN like a number, so one with a low payload becomes Inf.
           {"cvt.rna.tf32.f32", 0x7f800001, 0x7f800000},
           {"cvt.rna.tf32.f32", 0xffffffff, 0xffffe000},
           {"cvt.rna.satfinite.tf32.f32", 0x7fc00000, 0x7fbfe000},
           {"cvt.rna.satfinite.tf32.f32", 0x7f800001, 0x7f7fe000},
           // A NaN gives the canonical NaN, whatever its sign and payload.
           {"cvt.rn.f16.f32", 0x7f800001, 0x7fff},
           {"cvt.rn.bf16.f32", 0xffffffff, 0x7fff},
           {"cvt.rn.tf32.f32", 0x7fc00000, 0x7fffe000},
       }) {
    CAPTURE(known.instruction);
    CAPTURE(known.input);
    CHECK(run(known.instruction, {known.input}) == known.result);
  }
}

TEST_CASE("operands go to their lanes, the last word of .rs is the random one") {
  CHECK(run("cvt.rn.f16x2.f32", {0x3F800000, 0xC0000000}) == 0x3C00C000);
  CHECK(run("fma.rn.f16x2", {0x3C004000, 0x3C004000, 0x00003C00}) == 0x3C004500);
  // 1 + 2^-12 to binary16: half an ulp of 2^-11 is rounded up by the upper half of the words.
  CHECK(run("cvt.rs.f16x2.f32", {0x3F800800, 0x3F800800, 0x00000000}) == 0x3C003C00);
  CHECK(run("cvt.rs.f16x2.f32", {0x3F800800, 0x3F800800, 0x1FFF0000}) == 0x3C013C00);
  CHECK(run("cvt.rs.satfinite.e4m3x4.f32", {0, 0, 0, 0x3F810000, 0xFFFFFFFF}) == 0x39);
  CHECK(run("cvt.rs.satfinite.e4m3x4.f32", {0, 0, 0, 0x3F810000, 0x00000000}) == 0x38);
}

TEST_CASE("a sum of f32 in global memory flushes subnormals, one in shared memory does not") {
  CHECK(run("red.global.add.f32", {0x00000001, 0x80000000}) == 0x00000000);
  CHECK(run("red.global.add.f32", {0x80000001, 0x80000001}) == 0x80000000);
  CHECK(run("red.shared.add.f32", {0x80000001, 0x80000001}) == 0x80000002);
  CHECK(run("red.global.add.noftz.f16x2", {0x00010001, 0x00010000}) == 0x00020001);
}

TEST_CASE("only approximations have no emulation") {
  for (const ScalarInstruction& x : scalar_instructions()) {
    CHECK(x.is_emulated() == !has(x.name, ".approx"));
  }
}

TEST_CASE("what a target lacks is named, and so is a name that is nearly one") {
  const ScalarInstruction& x = parse_scalar_instruction("cvt.rn.satfinite.e2m1x2.f32");
  CHECK(why_lacking(x, {90, 'a'}) == "needs sm_100f");
  CHECK_FALSE(why_lacking(x, {120, 'a'}));
  CHECK(sm_target_name(SmTarget{90}) == "sm_90");
  CHECK(has(error_of([] { parse_scalar_instruction("cvt.rn.f16.f31"); }),
            "no scalar instruction 'cvt.rn.f16.f31'; did you mean cvt.rn.f16.f32?"));
}

}  // namespace binade::scalar_instruction_test
