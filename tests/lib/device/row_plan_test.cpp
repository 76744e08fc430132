// SPDX-License-Identifier: Apache-2.0
//
// Plans of rows of several generators: their text, their rows one generator after the other, and
// chains on a device, where each row takes as c the bits that the device gave, right or wrong.
#include "lib/device/row_plan.h"

#include <doctest/doctest.h>

#include <string>

#include "lib/device/emulated_device.h"
#include "lib/instruction/instruction_name.h"
#include "tests/lib/cases/dot_rows.h"
#include "tests/lib/text/error_of.h"

namespace binade::row_plan_test {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): rows and models

void toward_zero(DotModel& model) { model.rounding = Rounding::toward_zero; }

std::string complaint(const char* text) {
  return test::error_of([&] { parse_row_plan(text); });
}

}  // namespace

TEST_CASE("a plan reads back as itself") {
  const RowPlan plan = parse_row_plan("normal:2000,tiny:1,k_order:256");
  CHECK(planned_rows(plan) == 2257);
  CHECK(row_plan_text(plan) == "normal:2000,tiny:1,k_order:256");
  CHECK(planned_rows(parse_row_plan("normal:1048576")) == most_planned_rows);
}

TEST_CASE("what is no plan") {
  for (const char* text : {"", "normal", "normal:", "normal:0", "normal:-1", "normal:1x",
                           "normal:1048577", "normal:1,", "normal:99999999999999999999"}) {
    CAPTURE(text);
    const std::string said = complaint(text);
    CHECK((said.find("they are written like normal:2000") != said.npos ||
           said.find("no generator ''") != said.npos));
  }
  CHECK(complaint("norml:3").find("did you mean normal?") != std::string::npos);
}

TEST_CASE("the rows of each generator from its first, behind those of the one before") {
  const Instruction how = instruction(to_f32);
  const Dots both = make_rows(parse_row_plan("normal:30,carry:20"), how, 1);
  const Dots carry = rows_of("carry", to_f32, 20);
  REQUIRE(both.d.size() == 50);
  CHECK(std::equal(carry.a.begin(), carry.a.end(), both.a.begin() + 30 * 16));
  CHECK(std::equal(carry.c.begin(), carry.c.end(), both.c.begin() + 30));
  CHECK(std::equal(both.b.begin(), both.b.begin() + 30 * 16,
                   rows_of("normal", to_f32, 30).b.begin()));
}

TEST_CASE("chains on a device: each link gets the bits that the device gave") {
  const Instruction how = instruction(to_f16);
  const RowPlan plan = parse_row_plan("normal:100,chains:768,carry:10");
  Dots dots = make_rows(plan, how, 1);
  const Dots before = dots;
  EmulatedDevice device(90, toward_zero);
  CHECK(!run_rows(device, plan, how, dots));
  DotModel planted = how.model;
  toward_zero(planted);
  int links = 0;
  for (std::size_t i = 0; i < dots.d.size(); ++i) {
    const bool link = i >= 100 && i < 868 && continues_chain(*plan[1].generator, i - 100);
    const std::uint64_t c = link ? dots.d[i - 1] : before.c[i];
    links += link ? 1 : 0;
    CHECK(dots.c[i] == c);
    CHECK(dots.d[i] ==
          dot(planted, how.types, dots.a.data() + i * 16, dots.b.data() + i * 16, 16, c));
  }
  CHECK(links == 2 * (32 + 48 + 56 + 60 + 62 + 63));
  Dots filled = before;
  filled.d = dots.d;
  fill_chains(plan, filled);
  CHECK(filled.c == dots.c);
}

TEST_CASE("a device that cannot run an instruction says why") {
  const Instruction how = instruction(to_f16);
  EmulatedDevice other(80);
  for (const char* text : {"normal:10", "chains:64"}) {
    Dots dots = make_rows(parse_row_plan(text), how, 1);
    const CannotRun why = run_rows(other, parse_row_plan(text), how, dots);
    CHECK(why == "emulated sm_80 runs no instructions of sm_90");
  }
}

}  // namespace binade::row_plan_test
