// SPDX-License-Identifier: Apache-2.0
//
// The walk over all 2^32 inputs, with slices whose differing inputs are known.
#include "cuda/exhaust.h"

#include <doctest/doctest.h>

#include <vector>

namespace binade {
namespace {

/// Slices in which just these inputs, ascending, differ, with 0x3c01 where 0x3c00 belongs.
RunSlice wrong_at(const std::vector<Count>& inputs) {
  return [inputs](Count first, Count end) {
    Tally tally;
    tally.inputs = end - first;
    for (const Count input : inputs) {
      if (input < first || input >= end) continue;
      tally.mismatches += 1;
      tally.mismatch.merge({input << 32 | 0x3c01, input << 32 | 0x3c00});
    }
    return tally;
  };
}

std::vector<Count> listed(const ConversionCheck& check) {
  std::vector<Count> inputs;
  for (const ConversionCase& c : check.cases) inputs.push_back(c.input);
  return inputs;
}

}  // namespace

TEST_CASE("all 2^32 inputs are run once, in order, without gap or overlap") {
  Count next = 0;
  ConversionCheck check;
  exhaust(
      [&](Count first, Count end) {
        CHECK(first == next);
        next = end;
        Tally tally;
        tally.inputs = end - first;
        return tally;
      },
      nullptr, check);
  CHECK(next == all_inputs);
  CHECK(check.inputs == all_inputs);
  CHECK(check.cases.empty());
}

TEST_CASE("the differing inputs are listed from the lowest up, neighbours and ends of slices too") {
  const std::vector<Count> wrong = {0, 1, slice_inputs - 1, slice_inputs, 0x80000000, 0xffffffff};
  ConversionCheck check;
  exhaust(wrong_at(wrong), nullptr, check);
  CHECK(check.mismatches == wrong.size());
  CHECK(listed(check) == wrong);
  CHECK(check.cases.back().hardware == 0x3c01);
  CHECK(check.cases.back().emulated == 0x3c00);
}

TEST_CASE("of many differing inputs the lowest are listed, all are counted") {
  std::vector<Count> wrong;
  for (Count i = 0; i < 1000; ++i) wrong.push_back(0x3f800000 + 3 * i);
  ConversionCheck check;
  exhaust(wrong_at(wrong), nullptr, check);
  CHECK(check.mismatches == 1000);
  CHECK(listed(check) == std::vector<Count>(wrong.begin(), wrong.begin() + listed_cases));
}

TEST_CASE("progress ends at the whole and never goes back") {
  ConversionCheck check;
  check.instruction = "cvt.rn.f16.f32";
  double last = 0;
  exhaust(
      wrong_at({}),
      [&](std::string_view instruction, double fraction) {
        CHECK(instruction == "cvt.rn.f16.f32");
        CHECK(fraction > last);
        last = fraction;
      },
      check);
  CHECK(last == 1);
}

}  // namespace binade
