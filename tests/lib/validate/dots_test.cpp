// SPDX-License-Identifier: Apache-2.0
//
// Dot products against the emulator: which rows are counted and kept.
#include "lib/validate/dots.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <vector>

#include "lib/cases/dot_cases.h"
#include "lib/device/emulated_device.h"
#include "lib/instruction/instruction_name.h"

namespace binade::dots_test {
namespace {

/// More threads than the machine may have, so that pieces finish in any order.
const int eight_threads = setenv("BINADE_THREADS", "8", 0);

const Instruction how = parse_instruction("mma.m16n8k16.f32.f16.f16.f32", 90);

}  // namespace

TEST_CASE("every different row is counted, the first are kept in order") {
  Dots dots = make_dots(parse_dot_generator("normal"), how, 1, 0, 10000);
  EmulatedDevice device(90);
  CHECK(!device.run_dots(how, dots));
  CHECK(check_dots(dots, how, 5).different == 0);
  CHECK(check_dots(dots, how, 5).equal() == 10000);
  const std::vector<std::size_t> planted{0, 1023, 1024, 5000, 9998, 9999};
  for (const std::size_t row : planted) dots.d[row] ^= 1;
  const DotCheck check = check_dots(dots, how, 4);
  CHECK(check.rows == 10000);
  CHECK(check.different == 6);
  CHECK(check.equal() == 9994);
  REQUIRE(check.first.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(check.first[i].row == planted[i]);
    CHECK(check.first[i].recorded == dots.d[planted[i]]);
    CHECK(check.first[i].emulated == (dots.d[planted[i]] ^ 1));
  }
  CHECK(check_dots(dots, how, 0).first.empty());
  CHECK(check_dots(dots, how, 0).different == 6);
  CHECK(check_dots(dots, how, 100).first.size() == 6);
}

}  // namespace binade::dots_test
