// SPDX-License-Identifier: Apache-2.0
//
// Names of instructions: each of every architecture reads back as itself, and for a name that does
// not exist the Error has the nearest name or the architectures that have the instruction.
#include "lib/instruction/instruction_name.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "lib/text/error.h"
#include "tests/lib/io/files.h"

namespace binade::instruction_name_test {
namespace {

using test::error_of;
using test::has;

std::string unknown(const std::string& name, int sm) {
  return error_of([&] { parse_instruction(name, sm); });
}

}  // namespace

TEST_CASE("every instruction of every architecture reads back as itself, once") {
  for (const Architecture& on : architectures) {
    const int sm = on.sm;
    CAPTURE(sm);
    std::set<std::string> names;
    for (const Instruction& x : instructions_of(sm)) {
      const std::string name = instruction_name(x);
      CAPTURE(name);
      CHECK(names.insert(name).second);
      CHECK(name.find('?') == std::string::npos);
      const Instruction back = parse_instruction(name, sm);
      CHECK(back.family == x.family);
      CHECK((back.m == x.m && back.n == x.n && back.k == x.k));
      CHECK(back.types == x.types);
      CHECK(back.model == x.model);
      CHECK(back.kind == x.kind);
      CHECK(back.sm == sm);
      CHECK(instruction_name(back) == name);
    }
    CHECK(!names.empty());
  }
}

TEST_CASE("the instructions of Volta and Turing, all of them") {
  const auto names = [](int sm) {
    std::set<std::string> out;
    for (const Instruction& x : instructions_of(sm)) out.insert(instruction_name(x));
    return out;
  };
  std::set<std::string> volta{"mma.m8n8k4.f16.f16.f16.f16", "mma.m8n8k4.f32.f16.f16.f32",
                              "mma.m8n8k4.f32.f16.f16.f16"};
  for (const char* shape : {"m16n16k16", "m32n8k16", "m8n32k16"}) {
    for (const char* d : {"f16", "f32"}) {
      for (const char* c : {"f16", "f32"}) {
        volta.insert(std::string("wmma.") + shape + "." + d + ".f16.f16." + c);
      }
    }
  }
  CHECK(names(70) == volta);
  std::set<std::string> turing = volta;
  turing.insert({"mma.m16n8k8.f16.f16.f16.f16", "mma.m16n8k8.f32.f16.f16.f32"});
  CHECK(names(75) == turing);
}

TEST_CASE("any legal n of wgmma and tcgen05; the list has the widest") {
  CHECK(parse_instruction("wgmma.m64n8k16.f32.f16.f16", 90).n == 8);
  CHECK(parse_instruction("wgmma.m64n248k32.f16.e4m3.e5m2", 90).types.b == e5m2);
  CHECK(parse_instruction("tcgen05.m128n16k8.f32.tf32.tf32", 100).types.c == binary32);
  CHECK(has(unknown("wgmma.m64n12k16.f32.f16.f16", 90), "sm_90 has no instruction"));
  CHECK(has(unknown("wgmma.m64n264k16.f32.f16.f16", 90), "sm_90 has no instruction"));
  CHECK(has(unknown("tcgen05.m128n24k8.f32.tf32.tf32", 100), "sm_100 has no instruction"));
}

TEST_CASE("a rounding, where PTX has one") {
  const Instruction down = parse_instruction("wmma.m8n8k4.rm.f64.f64.f64.f64", 80);
  CHECK(down.model.rounding == Rounding::toward_negative);
  CHECK(instruction_name(down) == "wmma.m8n8k4.rm.f64.f64.f64.f64");
  CHECK(instruction_name(parse_instruction("wmma.m8n8k4.rn.f64.f64.f64.f64", 80)) ==
        "wmma.m8n8k4.f64.f64.f64.f64");
  CHECK(instruction_name(parse_instruction("mma.m16n8k16.rz.f64.f64.f64.f64", 90)) ==
        "mma.m16n8k16.rz.f64.f64.f64.f64");
  CHECK(has(unknown("wmma.m8n8k4.rna.f64.f64.f64.f64", 80), "has no instruction"));
  CHECK(has(unknown("mma.m16n8k16.rz.f32.f16.f16.f32", 90), "has no instruction"));
}

TEST_CASE("sparse instructions: the dense model over half of the products") {
  const Instruction f16 = parse_instruction("mma.sp.m16n8k32.f32.f16.f16.f32", 90);
  CHECK(f16.family == Family::mma_sp);
  CHECK(f16.model.sparse_group == 4);
  DotModel dense = f16.model;
  dense.sparse_group = 0;
  CHECK(dense == parse_instruction("mma.m16n8k16.f32.f16.f16.f32", 90).model);
  CHECK(parse_instruction("wgmma.sp.m64n8k16.f32.tf32.tf32", 90).model.sparse_group == 2);
  const Instruction wide = parse_instruction("tcgen05.sp.m128n16k64.f16.e2m1.e5m2", 103);
  CHECK(wide.model.sparse_group == 4);
  dense = wide.model;
  dense.sparse_group = 0;
  CHECK(dense == parse_instruction("tcgen05.m128n16k32.f16.e2m1.e5m2", 103).model);
  CHECK(parse_instruction("tcgen05.sp.m64n8k16.f32.tf32.tf32", 110).model.sparse_group == 2);
  CHECK(has(unknown("tcgen05.sp.m128n16k32.f16.e2m1.e5m2", 100), "has no instruction"));
  CHECK(has(unknown("tcgen05.sp.m128n16k16.f32.f16.f16", 100), "has no instruction"));
  CHECK(has(unknown("tcgen05.sp.m64n8k16.f32.tf32.tf32", 120), "it is on sm_100, sm_103, sm_110"));
  CHECK(has(unknown("mma.sp.m16n8k64.f32.f16.f16.f32", 90), "has no instruction"));
  CHECK(has(unknown("wmma.sp.m16n8k32.f32.f16.f16.f32", 90), "has no instruction"));
}

TEST_CASE("kinds with scales of blocks: PTX's words, on the architectures that have them") {
  const std::string mx = "mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e5m2.f32";
  const Instruction dense = parse_instruction(mx + ".ue8m0", 120);
  CHECK(dense.kind == ScaledKind::mxf8f6f4);
  CHECK(ptx_of(dense) ==
        "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e5m2"
        ".f32.ue8m0");
  const std::string four = ".kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1";
  const Instruction sparse = parse_instruction("mma.sp.m16n8k128" + four + ".f32.ue4m3", 121);
  CHECK(sparse.model.scaling == BlockScaling{16, ue4m3, 16});
  CHECK(ptx_of(sparse) ==
        "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col" + four + ".f32.ue4m3");
  const Instruction wide = parse_instruction("tcgen05.m256n32k64" + four + ".ue8m0", 110);
  CHECK(wide.model.scaling == BlockScaling{16, e8m0, 16});
  CHECK(ptx_of(wide) == "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X");
  CHECK(parse_instruction("tcgen05.m128n8k64" + four + ".ue4m3", 100).n == 8);
  const Instruction half = parse_instruction("tcgen05.sp.m128n8k128" + four + ".ue4m3", 100);
  CHECK(half.model.scaling == BlockScaling{16, ue4m3, 16});
  CHECK(half.model.sparse_group == 8);
  CHECK(ptx_of(half) == "tcgen05.mma.sp.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X");
  CHECK(has(unknown(mx + ".ue8m0", 100), "it is on sm_120, sm_121"));
  for (const std::string& name :
       {mx, mx + ".ue4m3", mx + ".e8m0", mx + ".ue8m0.ue8m0", "tcgen05.m64n8k64" + four + ".ue4m3",
        "tcgen05.m256n24k64" + four + ".ue4m3", "mma.m16n8k64" + four + ".f32",
        "mma.m16n8k32" + four + ".f32.ue4m3",
        std::string("mma.m16n8k32.kind::mxf8f6f4.f32.e4m3.e5m2.f32.ue8m0"),
        std::string(
            "mma.m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue4m3"),
        std::string("mma.m16n8k64.kind::mxf4.block_scale.scale_vec::2X.f32.e4m3.e4m3.f32.ue8m0"),
        std::string("mma.m16n8k32.kind::f8f6f4.f32.e4m3.e5m2.f32")}) {
    CAPTURE(name);
    CHECK(has(unknown(name, 120), "has no instruction"));
  }
}

TEST_CASE("integers: .satfinite, and what b1 does") {
  CHECK(parse_instruction("mma.m16n8k32.satfinite.s32.s8.u8.s32", 80).model.integer.satfinite);
  CHECK(!parse_instruction("mma.m16n8k32.s32.s8.u8.s32", 80).model.integer.satfinite);
  CHECK(parse_instruction("wgmma.m64n24k32.s32.u8.s8", 90).types.d == s32);
  CHECK(parse_instruction("mma.m16n8k256.s32.b1.b1.s32.xor.popc", 90).model.integer.exclusive_or);
  for (const char* name :
       {"mma.m16n8k256.s32.b1.b1.s32", "mma.m16n8k256.satfinite.s32.b1.b1.s32.and.popc",
        "mma.m16n8k32.s32.s8.u8.s32.and.popc", "mma.m16n8k32.rn.s32.s8.u8.s32",
        "wgmma.m64n40k32.s32.s8.s8", "mma.m16n8k16.satfinite.f32.f16.f16.f32",
        "mma.m16n8k32.s32.s8.s4.s32", "mma.m16n8k32.f32.s8.s8.f32"}) {
    CAPTURE(name);
    CHECK(has(unknown(name, 90), "sm_90 has no instruction '"));
  }
}

TEST_CASE("wgmma without c, and with minus a or b") {
  const Instruction plain = parse_instruction("wgmma.m64n8k16.f32.f16.f16", 90);
  CHECK(plain.model.scales == WgmmaScales{});
  const Instruction minus = parse_instruction("wgmma.m64n8k16.f32.f16.f16.imm_scale_b_-1", 90);
  CHECK(minus.model.scales == WgmmaScales{.minus_b = true});
  CHECK(parse_instruction("wgmma.m64n8k8.f32.tf32.tf32.scale_d_0", 90).model.scales.without_c);
  CHECK(ptx_of(minus) == "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 with imm-scale-b -1");
  for (const char* name :
       {"mma.m16n8k16.f32.f16.f16.f32.scale_d_0", "wgmma.m64n8k32.s32.s8.s8.imm_scale_a_-1",
        "wgmma.m64n8k16.f32.f16.f16.imm_scale_a_-1.imm_scale_b_-1"}) {
    CAPTURE(name);
    CHECK(has(unknown(name, 90), "sm_90 has no instruction '"));
  }
}

TEST_CASE("PTX's words") {
  const auto ptx = [](const char* name, int sm) { return ptx_of(parse_instruction(name, sm)); };
  CHECK(ptx("wgmma.m64n8k32.f32.e4m3.e5m2", 90) ==
        "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2");
  CHECK(ptx("wgmma.sp.m64n8k32.f32.f16.f16", 90) ==
        "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16");
  CHECK(ptx("wgmma.m64n8k32.satfinite.s32.s8.u8", 90) ==
        "wgmma.mma_async.sync.aligned.m64n8k32.satfinite.s32.s8.u8");
  CHECK(ptx("mma.m16n8k32.f32.e2m1.e5m2.f32", 120) ==
        "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e5m2.f32");
  CHECK(ptx("tcgen05.m128n16k8.f32.tf32.tf32", 100) == "tcgen05.mma.cta_group::1.kind::tf32");
  CHECK(ptx("tcgen05.sp.m128n16k64.f16.e3m2.e4m3", 100) ==
        "tcgen05.mma.sp.cta_group::1.kind::f8f6f4");
}

TEST_CASE("what there is not") {
  CHECK(has(unknown("mma.m16n8k16.f32.f16.f16.f23", 90),
            "sm_90 has no instruction 'mma.m16n8k16.f32.f16.f16.f23'; did you mean "
            "mma.m16n8k16.f32.f16.f16.f32?"));
  CHECK(has(unknown("mma.m16n8k16.f32.bf16.bf16.f32", 75),
            "sm_75 has no mma.m16n8k16.f32.bf16.bf16.f32; it is on sm_80, sm_86, sm_89, sm_90"));
  CHECK(has(unknown("wgmma.m64n8k16.f32.f16.f16", 100), "it is on sm_90"));
  for (const char* name :
       {"", ".", "mma", "mma.m16n8k16", "mma.m16n8k16.f32.f16.f16",
        "mma.m16n8k16.f32.f16.f16.f32.f32", "mma.n8m16k16.f32.f16.f16.f32",
        "mma.m16n8k.f32.f16.f16.f32", "mma.m-16n8k16.f32.f16.f16.f32",
        "mma.m16n8k99999999999.f32.f16.f16.f32", "MMA.m16n8k16.f32.f16.f16.f32",
        "mma.m16n8k16.f32.f16.f16.f32 ", "wgmma.m64n8k16.f32.f16.f16.f32", "a\nb"}) {
    const std::string said = unknown(name, 90);
    CAPTURE(said);
    CHECK(has(said, "sm_90 has no instruction '"));
    CHECK(has(said, "binade architectures --arch sm_90"));
    CHECK(said.find('\n') == std::string::npos);
  }
}

TEST_CASE("architectures") {
  CHECK(parse_architecture("sm_90") == 90);
  CHECK(parse_architecture("sm_90a") == 90);
  CHECK(parse_architecture("100f") == 100);
  CHECK(parse_architecture("70") == 70);
  for (const char* text : {"", "sm_", "a", "sm_91", "sm_90b", "sm-90", "90 ", "-90", "0x5A",
                           "99999999999999999999", "gfx942"}) {
    const std::string said = error_of([&] { parse_architecture(text); });
    CHECK(has(said, "no architecture '" + std::string(text) + "'; there are sm_70, sm_75"));
  }
}

}  // namespace binade::instruction_name_test
