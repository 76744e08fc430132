// SPDX-License-Identifier: Apache-2.0
//
// The words of evidence: "hardware" only where rows of that architecture exclude a rival, else the
// table of claims; and aspects that public rows cannot have shown.
#include "lib/evidence/evidence.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lib/evidence/overview.h"
#include "lib/evidence/seen.h"
#include "lib/instruction/instruction_name.h"
#include "lib/text/paragraph.h"

namespace binade::evidence_test {
namespace {

Evidence word(const char* name, int sm, Aspect aspect = Aspect::ordinary) {
  return known_of(knowledge_of(parse_instruction(name, sm)), aspect).evidence;
}
bool matters(const char* name, int sm, Aspect aspect) {
  return known_of(knowledge_of(parse_instruction(name, sm)), aspect).matters;
}

TEST_CASE("hardware is said where rows of that architecture exclude a rival, and only there") {
  std::size_t hardware = 0, other = 0;
  for (const Architecture& on : architectures) {
    for (const Instruction& x : instructions_of(on.sm)) {
      const Knowledge known = knowledge_of(x);
      const std::vector<Rival> rivals = rivals_of(x);
      for (std::size_t i = 0; i < aspect_count; ++i) {
        if (!known[i].matters) continue;
        bool excluded = false;
        for (const std::size_t at : sets_for(x)) {
          const SeenSet& set = recorded_sets()[at];
          REQUIRE(set.sm == on.sm);
          for (const Rival& rival : rivals) {
            const auto told = set.told.find(rival.name);
            const bool meant = static_cast<std::size_t>(rival.aspect) == i;
            excluded = excluded || (meant && told != set.told.end() && told->second > 0);
          }
        }
        CAPTURE(instruction_name(x));
        CAPTURE(on.sm);
        CAPTURE(std::string(aspects[i].name));
        CHECK((known[i].evidence == Evidence::hardware) == excluded);
        CHECK(!known[i].source.empty());
        (excluded ? hardware : other) += 1;
      }
    }
  }
  CHECK(hardware > 500);
  CHECK(other > 500);
}

/// The aspects that public rows cannot show: their operands are finite and near 1, c is never 0 (or
/// was left out), and results are normal numbers.
TEST_CASE("public rows show ordinary values and chaining, and nothing else") {
  for (const Architecture& on : architectures) {
    if (on.sm == 90) continue;
    for (const Instruction& x : instructions_of(on.sm)) {
      const Knowledge known = knowledge_of(x);
      for (std::size_t i = 0; i < aspect_count; ++i) {
        const auto aspect = static_cast<Aspect>(i);
        if (aspect == Aspect::ordinary || aspect == Aspect::chaining) continue;
        CAPTURE(instruction_name(x));
        CHECK((!known[i].matters || known[i].evidence != Evidence::hardware));
      }
    }
  }
  for (const SeenSet& set : recorded_sets()) {
    if (set.sm == 90 && set.instruction.find("wmma.m16n16k16.f32.f16") != 0) continue;
    if (set.sm == 90) continue;  // recorded with every generator
    CAPTURE(line_of(set));
    CHECK(set.operands.least >= 1.5e-5);
    CHECK(set.operands.most <= 4.4);
    CHECK(set.operands.infinities + set.operands.nans == 0);
    CHECK((set.operands.zeros == 0 || set.instruction.find("e4m3") != std::string::npos));
    CHECK(set.c.zeros + set.c.infinities + set.c.nans + set.c.subnormals == 0);
    CHECK(set.d.infinities + set.d.nans + set.d.subnormals + set.d.zeros == 0);
  }
}

constexpr const char* nvf4_mma =
    "mma.m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3";
constexpr const char* mxf8_mma =
    "mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e5m2.f32.ue8m0";
struct Told {
  const char* name;
  int sm;
  Aspect aspect;
  Evidence word;
};
const Told told[]{
    {"mma.m16n8k16.f32.f16.f16.f32", 80, Aspect::ordinary, Evidence::hardware},
    {"mma.m16n8k32.f16.e4m3.e4m3.f16", 90, Aspect::ordinary, Evidence::hardware},
    {"mma.m16n8k32.f16.e4m3.e5m2.f16", 90, Aspect::mixed_types, Evidence::hardware},
    {"mma.m16n8k32.f16.e4m3.e5m2.f16", 89, Aspect::ordinary, Evidence::hardware},
    {"mma.m16n8k32.f16.e4m3.e5m2.f16", 89, Aspect::mixed_types, Evidence::paper},
    {"mma.m16n8k32.f16.e4m3.e5m2.f16", 100, Aspect::mixed_types, Evidence::machine_code},
    {"mma.m16n8k16.f16.e4m3.e4m3.f16", 90, Aspect::ordinary, Evidence::hardware},
    {"mma.m16n8k16.f16.e4m3.e4m3.f16", 100, Aspect::ordinary, Evidence::machine_code},
    {"mma.m16n8k32.f32.e4m3.e4m3.f32", 100, Aspect::ordinary, Evidence::hardware},
    {"mma.m8n8k4.f32.f16.f16.f32", 70, Aspect::ordinary, Evidence::hardware},
    {"mma.m8n8k4.f32.f16.f16.f32", 75, Aspect::ordinary, Evidence::paper},
    {"mma.m8n8k4.f32.f16.f16.f32", 90, Aspect::ordinary, Evidence::hardware},
    {"mma.m8n8k4.f32.f16.f16.f32", 100, Aspect::ordinary, Evidence::machine_code},
    {"wmma.m16n16k16.f16.f16.f16.f32", 70, Aspect::ordinary, Evidence::open},
    {"wmma.m16n16k16.f16.f16.f16.f32", 80, Aspect::ordinary, Evidence::machine_code},
    {"wmma.m16n16k16.f16.f16.f16.f32", 103, Aspect::ordinary, Evidence::open},
    {"wgmma.m64n8k16.f32.f16.f16", 90, Aspect::ordinary, Evidence::hardware},
    {"mma.m8n8k4.f64.f64.f64.f64", 90, Aspect::ordinary, Evidence::hardware},
    {"mma.m8n8k4.f64.f64.f64.f64", 80, Aspect::ordinary, Evidence::paper},
    {"mma.m8n8k4.f64.f64.f64.f64", 80, Aspect::specials, Evidence::open},
    {"mma.m16n8k8.f32.tf32.tf32.f32", 120, Aspect::ordinary, Evidence::paper},
    {"mma.m16n8k8.f32.tf32.tf32.f32", 103, Aspect::ordinary, Evidence::open},
    {"mma.sp.m16n8k32.f32.f16.f16.f32", 90, Aspect::ordinary, Evidence::hardware},
    {"mma.sp.m16n8k32.f32.f16.f16.f32", 80, Aspect::ordinary, Evidence::open},
    {"mma.m16n8k8.f16.f16.f16.f16", 75, Aspect::signs_of_zero, Evidence::paper},
    {"mma.m16n8k16.f16.f16.f16.f16", 90, Aspect::exponent_floor, Evidence::hardware},
    {"mma.m16n8k16.f16.f16.f16.f16", 90, Aspect::zero_operands, Evidence::paper},
    {"mma.m16n8k16.f32.f16.f16.f32", 80, Aspect::chaining, Evidence::paper},
    {"mma.m16n8k32.f32.e4m3.e4m3.f32", 89, Aspect::chaining, Evidence::hardware},
    {"tcgen05.m128n256k8.f32.tf32.tf32", 100, Aspect::signs_of_zero, Evidence::paper},
    {"tcgen05.m128n256k8.f32.tf32.tf32", 110, Aspect::signs_of_zero, Evidence::open},
    {"tcgen05.sp.m128n256k16.f32.tf32.tf32", 100, Aspect::ordinary, Evidence::open},
    {nvf4_mma, 120, Aspect::ordinary, Evidence::paper},
    {nvf4_mma, 121, Aspect::ordinary, Evidence::open},
    {nvf4_mma, 120, Aspect::signs_of_zero, Evidence::paper},
    {mxf8_mma, 120, Aspect::exponent_floor, Evidence::paper},
    {mxf8_mma, 120, Aspect::mixed_types, Evidence::paper},
};

TEST_CASE("each word where it belongs") {
  for (const Told& row : told) {
    CAPTURE(std::string(row.name));
    CAPTURE(row.sm);
    CHECK(word(row.name, row.sm, row.aspect) == row.word);
  }
  for (const int sm : {70, 80, 86, 89, 100, 120}) {
    CHECK(word("wmma.m16n16k16.f16.f16.f16.f16", sm, Aspect::signs_of_zero) == Evidence::open);
    CHECK(word("wmma.m16n16k16.f16.f16.f16.f16", sm, Aspect::exponent_floor) == Evidence::paper);
  }
}

TEST_CASE("aspects that no operands can touch") {
  CHECK_FALSE(matters("mma.m16n8k8.f32.f16.f16.f32", 80, Aspect::chaining));
  CHECK(matters("mma.m16n8k16.f32.f16.f16.f32", 80, Aspect::chaining));
  CHECK_FALSE(matters("mma.m16n8k16.f32.f16.f16.f32", 90, Aspect::exponent_floor));
  CHECK(matters("mma.m16n8k16.f32.bf16.bf16.f32", 90, Aspect::exponent_floor));
  CHECK_FALSE(matters("mma.m16n8k32.f16.e5m2.e5m2.f16", 89, Aspect::exponent_floor));
  CHECK_FALSE(matters("mma.m16n8k16.f32.f16.f16.f32", 90, Aspect::overflow));
  CHECK(matters("mma.m16n8k16.f16.f16.f16.f16", 90, Aspect::overflow));
  CHECK_FALSE(matters("mma.m16n8k32.f16.e4m3.e4m3.f16", 90, Aspect::zero_operands));
  CHECK_FALSE(matters("mma.m16n8k32.s32.s8.s8.s32", 90, Aspect::signs_of_zero));
  CHECK_FALSE(matters(nvf4_mma, 120, Aspect::exponent_floor));
  CHECK_FALSE(matters(nvf4_mma, 120, Aspect::chaining));
  CHECK(matters(nvf4_mma, 120, Aspect::zero_operands));
  CHECK(matters(mxf8_mma, 120, Aspect::exponent_floor));
  CHECK(matters(mxf8_mma, 120, Aspect::overflow));
}

TEST_CASE("in a line") {
  CHECK(evidence_text(brief_of(parse_instruction("mma.m16n8k16.f32.f16.f16.f32", 80))) ==
        "hardware (A100 by wmma); paper: chaining, zero operands, specials, subnormal results; "
        "open: signs "
        "of zero");
  CHECK(evidence_text(brief_of(parse_instruction("wgmma.m64n256k16.f32.bf16.bf16", 90))) ==
        "hardware (H100)");
  CHECK(evidence_text(brief_of(parse_instruction("mma.m16n8k16.f32.bf16.bf16.f32", 103))) ==
        "open (as sm_100); open: zero operands, specials, overflow, subnormal results, exponent "
        "floor, signs of zero, c = 0");
}

TEST_CASE("sources") {
  const auto source = [](const char* name, int sm, Aspect aspect) {
    return known_of(knowledge_of(parse_instruction(name, sm)), aspect).source;
  };
  const char* const f16 = "mma.m16n8k16.f32.f16.f16.f32";
  CHECK(source(f16, 80, Aspect::ordinary) == "A100 by wmma");
  CHECK(source(f16, 80, Aspect::specials) == "MMA-Sim 2.1");
  CHECK(source(f16, 80, Aspect::chaining) == "MMA-Sim 2.1, MATLAB-tensor-core");
  CHECK(source(f16, 120, Aspect::zero_operands) == "MMA-Sim 2.1");
  CHECK(source(f16, 103, Aspect::ordinary) == "as sm_100");
  CHECK(source("mma.m16n8k8.f32.f16.f16.f32", 86, Aspect::ordinary) ==
        "MMA-Sim 2.1, MATLAB-tensor-core");
  CHECK(source("wmma.m16n16k8.f32.tf32.tf32.f32", 100, Aspect::chaining) == "ptxas 13.0");
  CHECK(source("wmma.m16n16k16.f16.f16.f16.f32", 80, Aspect::chaining) ==
        "MMA-Sim 2.1, MATLAB-tensor-core");
  CHECK(
      source("mma.m8n8k4.f32.f16.f16.f16", 70, Aspect::mixed_types).find("MMA-Sim 2.1: c keeps") ==
      0);
  CHECK(source("wmma.m16n16k16.f32.f16.f16.f16", 80, Aspect::mixed_types) == "ptxas 13.0");
  CHECK(source("mma.sp.m16n8k32.f32.f16.f16.f32", 80, Aspect::ordinary) == "as mma");
  const std::string words = "MMA-Sim 2.1, words of a B200 (sf-tensor/tcgen05)";
  const char* const wide = "tcgen05.m128n256k16.f16.f16.f16";
  CHECK(source(wide, 100, Aspect::specials) == words);
  CHECK(source(wide, 100, Aspect::exponent_floor) == "MMA-Sim 2.1");
  CHECK(source(wide, 103, Aspect::specials) == "as sm_100");
  const std::string scaled = ".block_scale.scale_vec::1X.f32.e2m1.";
  const auto mx = [&](const char* b) {
    return "tcgen05.m128n256k32.kind::mxf8f6f4" + scaled + b + ".ue8m0";
  };
  CHECK(source(mx("e2m1").c_str(), 100, Aspect::ordinary) == words);
  CHECK(source(mx("e4m3").c_str(), 100, Aspect::ordinary) == "MMA-Sim 2.1");
  CHECK(source(mx("e4m3").c_str(), 110, Aspect::ordinary).starts_with("as sm_100; 73 728 words"));
  CHECK(source("mma.m16n8k16.f32.bf16.bf16.f32", 110, Aspect::ordinary).ends_with("F 25, L 16"));
  const auto sparse = [&](const char* a, int sm, Aspect aspect) {
    const std::string name = "tcgen05.sp.m128n256k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.";
    return source((name + a + ".e4m3.ue8m0").c_str(), sm, aspect);
  };
  CHECK(sparse("e4m3", 100, Aspect::ordinary).starts_with("as tcgen05; words of a B200"));
  CHECK(sparse("e4m3", 100, Aspect::specials) == "as tcgen05");
  CHECK(sparse("e4m3", 103, Aspect::ordinary) == "as tcgen05");
  CHECK(sparse("e5m2", 100, Aspect::ordinary) == "as tcgen05");
}

TEST_CASE("another emulator that agrees is named where it was compared, and there alone") {
  const auto agrees = [](const char* name, int sm, Aspect aspect) {
    return known_of(knowledge_of(parse_instruction(name, sm)), aspect).agrees;
  };
  const char* const wgmma = "wgmma.m64n256k32.f32.e4m3.e5m2";
  CHECK(agrees(wgmma, 90, Aspect::ordinary) == "mmaemu 0.1.0");
  CHECK(agrees(wgmma, 90, Aspect::zero_operands).empty());
  CHECK(agrees("wgmma.m64n256k32.f16.e4m3.e5m2", 90, Aspect::ordinary).empty());
  CHECK(agrees("wgmma.m64n256k32.s32.s8.s8", 90, Aspect::ordinary).empty());
  const char* const mma = "mma.m16n8k32.f32.e4m3.e4m3.f32";
  CHECK(agrees(mma, 89, Aspect::chaining) == "mmaemu 0.1.0");
  CHECK(agrees(mma, 90, Aspect::ordinary).empty());  // made of f16's, another unit
  CHECK(agrees("mma.m16n8k16.f32.e4m3.e4m3.f32", 89, Aspect::ordinary).empty());
  const std::string group = evidence_in_full(90);
  CHECK(group.find("agrees        mmaemu 0.1.0") != std::string::npos);
}

TEST_CASE("sparse instructions of which nothing is known have a line for their family") {
  const std::string text = overview_text(100);
  CHECK(text.find("  tcgen05.sp k16 k32 k64 k128: as tcgen05 of half that k") != std::string::npos);
  CHECK(text.find(" tcgen05.sp k", text.find(" tcgen05.sp k") + 1) == std::string::npos);
  CHECK(overview_text(90).find("as mma") == std::string::npos);
  CHECK(overview_text(90).find(" mma.sp k16 k32 ") != std::string::npos);
}

/// Checks that a text fits a screen: at most 40 lines of at most 120 columns.
TEST_CASE("an architecture fits a screen, and every instruction is in one group") {
  for (const Architecture& on : architectures) {
    const std::string text = overview_text(on.sm);
    CAPTURE(text);
    CHECK(std::ranges::count(text, '\n') <= 40);
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = text.find('\n', begin);
      CHECK(columns_of(text.substr(begin, end - begin)) <= 120);
      begin = end + 1;
    }
    std::vector<std::string> names;
    for (const InstructionGroup& group : groups_of(on.sm)) {
      for (const Instruction& x : group.instructions) names.push_back(instruction_name(x));
    }
    std::vector<std::string> all;
    for (const Instruction& x : instructions_of(on.sm)) all.push_back(instruction_name(x));
    std::ranges::sort(names);
    std::ranges::sort(all);
    CHECK(names == all);
  }
}

}  // namespace
}  // namespace binade::evidence_test
