// SPDX-License-Identifier: Apache-2.0
//
// On which aspects rows depend: each zero is found however many rows there are, other aspects are
// sampled and reported as such; and which rule explains the recorded results.
#include "lib/evidence/tally.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lib/instruction/instruction_name.h"

namespace binade::tally_test {
namespace {

/// Rows of bfloat16 whose sums are 1, except one that is -2^-133 · 2^-20 and is rounded to
/// zero. Its product is in the second block of eight, since a -0 of the first block would become +0
/// there.
struct Rows {
  Instruction how = parse_instruction("mma.m16n8k16.f32.bf16.bf16.f32", 80);
  Dots dots;

  Rows(std::size_t rows, std::size_t zero) {
    dots.a.resize(rows * 16);
    dots.b.resize(rows * 16);
    dots.c.resize(rows);
    dots.d.assign(rows, 0x3F800000);
    for (std::size_t i = 0; i < rows; ++i) {
      dots.a[i * 16 + 8] = i == zero ? 0x8001 : 0x3F80;
      dots.b[i * 16 + 8] = i == zero ? 0x3580 : 0x3F80;
    }
    dots.d[zero] = 0;
  }
};

TEST_CASE("one zero among more rows than are looked at for the rest") {
  const std::size_t rows = most_looked_at + 7001;
  const Rows x(rows, rows - 2);
  const Touched touched = touched_by(x.how, x.dots);
  CHECK(touched.all == rows);
  CHECK(touched.looked_at == (rows + 1) / 2);
  REQUIRE(touched.aspects.size() == 1);
  CHECK(touched.aspects[0].aspect == Aspect::signs_of_zero);
  CHECK(touched.aspects[0].count == 1);
  CHECK(touched.aspects[0].looked_at == rows);
  CHECK(touched_text(touched, "rows") == "of these 39769 rows 1 touch signs of zero (open)");
}

TEST_CASE("where nothing touches, a sample says that it is one, and all rows say nothing") {
  Rows many(most_looked_at + 1, 0);
  many.dots.a[8] = many.dots.b[8] = 0x3F80;
  CHECK(touched_text(touched_by(many.how, many.dots), "rows") ==
        "16385 of 32769 rows were looked at, and none touches what no hardware has shown");
  Rows few(10, 0);
  few.dots.a[8] = few.dots.b[8] = 0x3F80;
  CHECK(touched_text(touched_by(few.how, few.dots), "rows").empty());
}

TEST_CASE("the rule that gives every row is named, and a third rule's rows are as neither") {
  Rows x(3, 1);
  x.dots.d[1] = 0x80000000;
  const auto tally = tally_rivals(x.how, x.dots, false);
  const auto signs = std::ranges::find(tally, Aspect::signs_of_zero, &AspectTally::aspect);
  REQUIRE(signs != tally.end());
  const RivalTally& cut = signs->rivals[0];
  CHECK(cut.rival.name == "cut_to_zero negative");
  CHECK(cut.tell == 1);
  CHECK(cut.ours == 0);
  CHECK(cut.theirs == 1);
  CHECK(cut.explains);
  CHECK(tally_text(tally).find("  every row is as under cut_to_zero negative\n") !=
        std::string::npos);
  x.dots.d[0] = 0x40000000;
  CHECK(tally_text(tally_rivals(x.how, x.dots, false)).find("no rival alone gives every row") !=
        std::string::npos);
  x.dots.d[1] = 1;
  const auto third = tally_rivals(x.how, x.dots, false);
  CHECK(std::ranges::find(third, Aspect::signs_of_zero, &AspectTally::aspect)->rivals[0].theirs ==
        0);
}

}  // namespace
}  // namespace binade::tally_test
