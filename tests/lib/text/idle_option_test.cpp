// SPDX-License-Identifier: Apache-2.0
//
// The line with which an option without effect is refused.
#include "lib/text/idle_option.h"

#include <doctest/doctest.h>

#include <array>

#include "tests/lib/text/error_of.h"

namespace binade::test::idle_option_test {
namespace {

TEST_CASE("the first option without effect is refused, with the reason and what to do") {
  std::array<IdleOption, 3> options{{{"--a", false, "at all"},
                                     {"--partial", true, "without --split"},
                                     {"--seed", true, "with rn", "choose stochastic"}}};
  CHECK(error_of([&] { refuse_idle(options); }) ==
        "--partial has no effect without --split: leave it out");
  options[1].idle = false;
  CHECK(error_of([&] { refuse_idle(options, "training: "); }) ==
        "training: --seed has no effect with rn: leave it out, or choose stochastic");
  options[2].idle = false;
  CHECK_NOTHROW(refuse_idle(options));
}

}  // namespace
}  // namespace binade::test::idle_option_test
