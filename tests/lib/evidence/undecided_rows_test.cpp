// SPDX-License-Identifier: Apache-2.0
//
// The rows that settle undecided aspects: they are few, some of them exclude each rival, and they
// show which rule a GPU of either kind follows.
#include "lib/evidence/undecided_rows.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lib/device/emulated_device.h"
#include "lib/evidence/tally.h"
#include "lib/instruction/instruction_name.h"

namespace binade::undecided_rows_test {
namespace {

/// Instructions: one with many undecided aspects, and one of each kind of sum.
struct Named {
  const char* name;
  int sm;
};
const Named some[]{
    {"mma.m16n8k16.f16.f16.f16.f16", 80},
    {"mma.m16n8k16.f32.bf16.bf16.f32", 80},
    {"mma.m8n8k4.f32.f16.f16.f32", 70},
    {"mma.m16n8k32.f32.e4m3.e5m2.f32", 89},
    {"mma.m16n8k32.f16.e5m2.e5m2.f16", 100},
    {"mma.m16n8k32.s32.s8.u8.s32", 80},
    {"mma.m8n8k4.f64.f64.f64.f64", 80},
    {"tcgen05.m64n256k8.f32.tf32.tf32", 100},
    {"mma.m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", 120},
    {"mma.sp.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m3.f32.ue8m0", 120},
};

TEST_CASE("few rows, and each rival of what is open is excluded by some") {
  for (const Named& row : some) {
    const Instruction x = parse_instruction(row.name, row.sm);
    Dots rows = undecided_rows(x, 1).rows;
    CAPTURE(std::string(row.name));
    REQUIRE(!rows.c.empty());
    CHECK(rows.c.size() <= most_undecided_rows);
    CHECK(rows.a.size() == rows.c.size() * static_cast<std::size_t>(x.k));
    REQUIRE(!EmulatedDevice(row.sm).run_dots(x, rows));
    std::size_t open = 0;
    for (const AspectTally& aspect : tally_rivals(x, rows, true)) {
      for (const RivalTally& rival : aspect.rivals) {
        CAPTURE(rival.rival.name);
        CHECK(rival.tell > 0);
        CHECK(rival.ours == rival.tell);
        CHECK(rival.theirs == 0);
        ++open;
      }
    }
    CHECK(open > 0);
    const Dots again = undecided_rows(x, 1).rows;
    CHECK(again.a == rows.a);
    CHECK(again.c == rows.c);
  }
}

TEST_CASE("nothing is open where hardware has shown everything") {
  const Instruction x = parse_instruction("wgmma.m64n256k16.f32.bf16.bf16", 90);
  CHECK(open_aspects(x).empty());
  CHECK(undecided_rows(x, 1).rows.c.empty());
}

TEST_CASE("a GPU that follows a rival is found out") {
  const Instruction x = parse_instruction("mma.m16n8k16.f32.bf16.bf16.f32", 80);
  struct Chosen {
    RuleChoice rules;
    const char* name;
  };
  const Chosen choices[]{
      {{.zero_raises = "single"}, "zero_raises single"},
      {{.cut_to_zero = "negative"}, "cut_to_zero negative"},
      {{.floor = "-126"}, "floor -126"},
      {{.floor = "none"}, "no floor"},
  };
  for (const Chosen& row : choices) {
    Dots rows = undecided_rows(x, 1).rows;
    EmulatedDevice device(80, [&row](DotModel& model) { model = with_rules(model, row.rules); });
    REQUIRE(!device.run_dots(x, rows));
    CAPTURE(std::string(row.name));
    bool found = false;
    for (const AspectTally& aspect : tally_rivals(x, rows, true)) {
      for (const RivalTally& rival : aspect.rivals) {
        if (rival.rival.name != row.name) continue;
        found = true;
        CHECK(rival.tell > 0);
        CHECK(rival.theirs == rival.tell);
        CHECK(rival.ours == 0);
      }
    }
    CHECK(found);
  }
}

}  // namespace
}  // namespace binade::undecided_rows_test
