// SPDX-License-Identifier: Apache-2.0
//
// Generated rows on a device, in chains too: each link gets the bits that the device gave, right or
// wrong.
#include "lib/record/run_rows.h"

#include <doctest/doctest.h>

#include "lib/record/emulated_device.h"
#include "lib/record/instruction_name.h"
#include "tests/lib/record/dot_rows.h"

namespace binade {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): rows and models

void toward_zero(DotModel& model) { model.rounding = Rounding::toward_zero; }

}  // namespace

TEST_CASE("chains on a device: each link gets the bits that the device gave") {
  const Instruction how = instruction(to_f16);
  Dots dots = rows_of("chains", to_f16, 64 * 12);
  const Dots before = dots;
  const DotGenerator& chains = parse_dot_generator("chains");
  EmulatedDevice device(90, toward_zero);
  CHECK(!run_rows(device, chains, how, dots));
  DotModel planted = how.model;
  toward_zero(planted);
  for (std::size_t i = 0; i < dots.d.size(); ++i) {
    const std::uint64_t c = continues_chain(chains, i) ? dots.d[i - 1] : before.c[i];
    CHECK(dots.c[i] == c);
    CHECK(dots.d[i] ==
          dot(planted, how.types, dots.a.data() + i * 16, dots.b.data() + i * 16, 16, c));
  }
}

TEST_CASE("other rows at once, and a device that cannot says why") {
  const Instruction how = instruction(to_f16);
  Dots dots = rows_of("normal", to_f16, 100);
  EmulatedDevice device(90);
  CHECK(!run_rows(device, parse_dot_generator("normal"), how, dots));
  CHECK(dots.d[99] == emulated(dots, how, 99));
  EmulatedDevice other(80);
  for (const char* generator : {"normal", "chains"}) {
    const CannotRun why = run_rows(other, parse_dot_generator(generator), how, dots);
    CHECK(why == "emulated sm_80 runs no instructions of sm_90");
  }
}

}  // namespace binade
