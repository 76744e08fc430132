// SPDX-License-Identifier: Apache-2.0
//
// The container of rows by binade against a std::map.
#include "lib/range/binades.h"

#include <doctest/doctest.h>

#include <map>
#include <random>

namespace binade::test::binades_test {
namespace {

TEST_CASE("rows are found, made and walked as those of a map") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 50; ++round) {
    Binades binades;
    std::map<int, std::uint64_t> want;
    CHECK(binades.empty());
    for (int i = 0; i < 60; ++i) {
      const int exponent = static_cast<int>(random() % 40) - 20;
      binades[exponent].count[0] += 1;
      want[exponent] += 1;
    }
    REQUIRE(binades.size() == want.size());
    auto at = want.begin();
    for (const auto& [exponent, row] : binades) {
      CHECK(exponent == at->first);
      CHECK(row.total() == at->second);
      ++at;
    }
    for (int exponent = -22; exponent < 22; ++exponent) {
      const bool is_there = want.contains(exponent);
      CHECK((binades.find(exponent) != binades.end()) == is_there);
      if (is_there) CHECK(binades.at(exponent).total() == want.at(exponent));
      const auto next = want.lower_bound(exponent);
      const auto found = binades.lower_bound(exponent);
      CHECK((found == binades.end()) == (next == want.end()));
      if (next != want.end()) CHECK(found->first == next->first);
    }
  }
}

TEST_CASE("rows of ascending binades are found from the one before") {
  Binades binades;
  for (const int exponent : {3, -5, 9}) binades[exponent].count[1] = 1;
  std::size_t place = 0;
  for (const int exponent : {-7, -5, 0, 3, 9, 11}) binades.row_from(place, exponent).count[1] += 1;
  std::vector<std::uint64_t> totals;
  for (const auto& [exponent, row] : binades) totals.push_back(row.total());
  CHECK(totals == std::vector<std::uint64_t>{1, 2, 1, 2, 2, 1});
  CHECK(binades.begin()->first == -7);
  CHECK(binades.rbegin()->first == 11);
}

}  // namespace
}  // namespace binade::test::binades_test
