// SPDX-License-Identifier: Apache-2.0
//
// What rows saw: counted by hand, written and read back, and what is committed beside the recordings it was
// computed from (seen_rows_test.py holds all of it to them).
#include "lib/evidence/seen.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "lib/device/recording.h"
#include "lib/instruction/instruction_name.h"
#include "lib/text/error.h"

namespace binade::seen_test {
namespace {

TEST_CASE("ranges of rows made by hand") {
  const Instruction x = parse_instruction("mma.m16n8k8.f32.f16.f16.f32", 80);
  Dots rows;
  rows.a.resize(16);
  rows.b.resize(16);
  rows.a[0] = 0x3C00;  // 1 · 2, and 0 · -0: no pair of +0
  rows.b[0] = 0x4000;
  rows.b[1] = 0x8000;
  rows.a[8] = 0x7E00;  // NaN · the smallest subnormal
  rows.b[8] = 0x0001;
  rows.c = {0x7F800000, 0x80000000};
  rows.d = {0x7F800000, 0x7FFFFFFF};
  const SeenSet set = seen_of(x, rows, "NVIDIA A100-SXM4-80GB");
  CHECK(set.gpu == "A100");
  CHECK(set.rows == 2);
  CHECK(set.operands.least == 5.9604644775390625e-08);
  CHECK(set.operands.most == 2);
  CHECK(set.operands.zeros == 2);
  CHECK(set.operands.minus_zeros == 1);
  CHECK(set.operands.subnormals == 1);
  CHECK(set.operands.nans == 1);
  CHECK(set.c.infinities == 1);
  CHECK(set.c.minus_zeros == 1);
  CHECK(set.d.infinities == 1);
  CHECK(set.d.nans == 1);
  CHECK(set.told.at("NaN 7FC00000 or 7E00") == 1);
  CHECK(set.told.at("Inf is the largest number") == 1);
  CHECK(set.told.find("flushed") == set.told.end());
  CHECK(line_of(set) ==
        "A100\tsm_80\tmma.m16n8k8.f32.f16.f16.f32\t2\t5.960464477539063e-08 2 2 1 1 0 1\t"
        "- - 1 1 0 1 0\t- - 0 0 0 1 1\tInf is the largest number=1;NaN 7FC00000 or 7E00=1\n");
  rows.d[1] = 0x7FC00000;  // not what our rules give: it excludes nothing
  CHECK(seen_of(x, rows, "A100").told.count("NaN 7FC00000 or 7E00") == 0);
  CHECK(parse_seen(seen_head() + line_of(set)) == std::vector{set});
  CHECK(range_text(set.operands) == "5.96e-08 … 2, 2 zeros, 1 of them -0, 1 subnormal, 1 NaN");
}

TEST_CASE("names of GPUs") {
  CHECK(short_gpu("NVIDIA H100 80GB HBM3", 90) == "H100");
  CHECK(short_gpu("NVIDIA GH200 480GB", 90) == "GH200");
  CHECK(short_gpu("NVIDIA L40S", 89) == "L40S");
  CHECK(short_gpu("NVIDIA RTX A2000", 86) == "NVIDIA RTX A2000");
  CHECK(short_gpu("x\nH100\tsm_90", 80).find_first_of("\n\t") == std::string::npos);
}

TEST_CASE("what is no line is told by its number") {
  for (const char* line : {"A100", "A100\tsm_80\tx\t1\t\t\t\t",
                           "A100\tsm_80\tx\tn\t- - 0 0 0 0 0\t- - 0 0 0 0 0\t- - 0 0 0 0 0\t"}) {
    CHECK_THROWS_WITH_AS(parse_seen(seen_head() + line),
                         doctest::Contains("line 2 of seen.tsv is malformed"), Error);
  }
}

TEST_CASE("every recorded set is of an instruction of its architecture") {
  CHECK(recorded_sets().size() > 200);
  for (const SeenSet& set : recorded_sets()) {
    CHECK(parse_instruction(set.instruction, set.sm).sm == set.sm);
    CHECK(set.rows > 0);
  }
}

/// Every 23rd of the H100's.
TEST_CASE("recordings of this repository saw what is committed") {
  const std::filesystem::path folder(BINADE_SOURCE_ROOT "/tests/recordings/sm_90/dots");
  std::size_t compared = 0, number = 0;
  std::vector<std::string> names;
  for (const SeenSet& set : recorded_sets()) {
    const std::string path = (folder / (set.instruction + ".safetensors")).string();
    if (set.gpu != "H100" || !std::filesystem::exists(path) || number++ % 23 != 0) continue;
    const Instruction x = parse_instruction(set.instruction, set.sm);
    CHECK(seen_of(x, read_recording(path, x), read_recording_info(path).gpu) == set);
    ++compared;
  }
  CHECK(compared > 5);
}

}  // namespace
}  // namespace binade::seen_test
