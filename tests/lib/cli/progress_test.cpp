// SPDX-License-Identifier: Apache-2.0
//
// The words of the progress line about one step of several.
#include "lib/cli/progress.h"

#include <doctest/doctest.h>

namespace binade::progress_test {
namespace {

TEST_CASE("a step is told by label, share, what is run and the time left") {
  CHECK(step_words("[2/11] race", 0.25, "Apex", 10, 80) == "[2/11] race  25 %  Apex  30 s left");
  CHECK(step_words("[2/11] race", 0.25, "", 10, 80) == "[2/11] race  25 %  30 s left");
  CHECK(step_words("a", 0.5, "b", 100, 80) == "a  50 %  b  1:40 min left");
  CHECK(step_words("a", 0.5, "b", 3723, 80) == "a  50 %  b  1:02:03 h left");
}

TEST_CASE("a step that has hardly begun says nothing of its end, one that is done is done") {
  CHECK(step_words("a", 0.009, "b", 100, 80) == "a  0 %  b");
  CHECK(step_words("a", 0.999, "", 100, 80) == "a  99 %  0 s left");
  CHECK(step_words("a", 1.5, "", 100, 80) == "a  100 %  0 s left");
  CHECK(step_words("a", -1, "", 100, 80) == "a  0 %");
}

TEST_CASE("the line fits the terminal: what is run is cut, between characters") {
  CHECK(step_words("a", 0.5, "0123456789", 30, 25) == "a  50 %  01234  30 s left");
  CHECK(step_words("a", 0.5, "012\u20145", 30, 25) == "a  50 %  012  30 s left");
  CHECK(step_words("a", 0.5, "0123456789", 30, 10) == "a  50 %  3");
}

}  // namespace
}  // namespace binade::progress_test
