// SPDX-License-Identifier: Apache-2.0
//
// The public hardware rows in this repository: every one is reproduced, and a model with one wrong
// number gives other results on the sets that can show it.
#include <doctest/doctest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lib/device/recording.h"
#include "lib/evidence/evidence.h"
#include "lib/instruction/instruction_name.h"
#include "lib/validate/dots.h"

namespace binade::public_rows_test {
namespace {

struct Set {
  std::string name;
  Instruction instruction;
  Dots dots;
};

const std::vector<Set>& sets() {
  static const std::vector<Set> all = [] {
    std::vector<Set> out;
    const std::filesystem::path folder =
        std::string(BINADE_SOURCE_ROOT) + "/tests/recordings/public";
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".safetensors") continue;
      const std::string path = entry.path().string();
      const RecordingInfo info = read_recording_info(path);
      const Instruction how =
          parse_instruction(info.instruction, parse_architecture(info.architecture));
      out.push_back({entry.path().stem().string(), how, read_recording(path, how)});
    }
    return out;
  }();
  return all;
}

/// Returns how many sets have a row that differs when their model is changed.
int seen_by(const std::function<void(DotModel&)>& change) {
  int seen = 0;
  for (const Set& set : sets()) {
    Instruction changed = set.instruction;
    change(changed.model);
    seen += check_dots(set.dots, changed, 1).different > 0 ? 1 : 0;
  }
  return seen;
}

TEST_CASE("every public row is reproduced bit for bit") {
  CHECK(sets().size() == 42);
  for (const Set& set : sets()) {
    CAPTURE(set.name);
    const DotCheck check = check_dots(set.dots, set.instruction, 1);
    CHECK(check.rows == 200);
    CHECK(check.different == 0);
    CHECK(brief_of(set.instruction).evidence == Evidence::hardware);
  }
}

TEST_CASE("a wrong number in a model is seen") {
  CHECK(seen_by([](DotModel&) {}) == 0);
  CHECK(seen_by([](DotModel& m) { --m.fraction_bits; }) >= 25);
  CHECK(seen_by([](DotModel& m) { ++m.fraction_bits; }) >= 25);
  CHECK(seen_by([](DotModel& m) { m.block /= 2; }) >= 35);
  CHECK(seen_by([](DotModel& m) {
          const bool nearest = m.rounding == Rounding::ties_to_even;
          m.rounding = nearest ? Rounding::toward_zero : Rounding::ties_to_even;
        }) >= 38);
  // FP8 mma.sync of Hopper and Blackwell as one fused block of 32, and native FP8 as two f16 ones.
  CHECK(seen_by([](DotModel& m) {
          if (m.recipe != Recipe::expanded) return;
          m.recipe = Recipe::fused_block;
          m.block = 32;
          m.c_last = false;
        }) == 8);
  CHECK(seen_by([](DotModel& m) {
          if (m.grid.precision == 14) m.grid = binary32;
        }) == 6);
}

}  // namespace
}  // namespace binade::public_rows_test
