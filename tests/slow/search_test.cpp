// SPDX-License-Identifier: Apache-2.0
//
// The search of lib/identify over all its recipes in all setups, which takes a minute and a half on
// two idle cores (`time build/tests/slow_search_test`).
#include <doctest/doctest.h>

#include "tests/lib/identify/find_models.h"

namespace binade::test {
namespace {

TEST_CASE("each recipe of each setup, and three candidates more, are found") {
  const Found found = find_all(true, 3);
  CHECK(found.recipes.size() == 6);
  CHECK(found.unique >= 4);
  CHECK(found.nested >= 1);
  CHECK(found.promoted >= 1);
}

}  // namespace
}  // namespace binade::test
