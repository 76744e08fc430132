// SPDX-License-Identifier: Apache-2.0
//
// Column counts of UTF-8 text, and prose broken into indented lines.
#include "lib/text/paragraph.h"

#include <doctest/doctest.h>

namespace binade::paragraph_test {
namespace {

TEST_CASE("columns are counted in characters, not bytes") {
  CHECK(columns_of("größe") == 5);
  CHECK(left_aligned("x²", 4) == "x²  ");
  CHECK(left_aligned("longer", 4) == "longer");
  CHECK(right_aligned("≥", 3) == "  ≥");
  CHECK(right_aligned("longer", 4) == "longer");
}

TEST_CASE("lines break between words and are indented from the second on") {
  CHECK(wrapped("  one two three", 4, 9) == "  one two\n    three\n");
  CHECK(wrapped("one", 2, 9) == "one\n");
  CHECK(wrapped("", 2, 9) == "\n");
}

TEST_CASE("a word longer than the line stays whole") {
  CHECK(wrapped("a tremendous b", 1, 5) == "a\n tremendous\n b\n");
}

}  // namespace
}  // namespace binade::paragraph_test
