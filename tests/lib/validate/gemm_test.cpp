// SPDX-License-Identifier: Apache-2.0
//
// A matrix D that was changed in known places: which elements are counted, how they are judged, and
// where the picture shows them.
#include "lib/validate/gemm.h"

#include <doctest/doctest.h>

#include <numeric>
#include <string>

#include "emulate/philox.h"
#include "lib/gemm/named_gemm.h"
#include "lib/text/error.h"

namespace binade::gemm_test {
namespace {

struct Product {
  GemmModel model = parse_gemm("mma.m16n8k16.f32.f16.f16.f32", 90).model;
  GemmOperands x{20, 130, 40, {}, {}, {}, {}};
  std::vector<std::uint64_t> d;

  Product() {
    for (std::size_t i = 0; i < x.m * x.k; ++i) x.a.push_back(0x3C00 | random_word(1, 0, i) >> 22);
    for (std::size_t i = 0; i < x.n * x.k; ++i) x.b.push_back(0x3C00 | random_word(2, 0, i) >> 22);
    d = gemm(model, x);
  }
  std::uint64_t& at(std::size_t i, std::size_t j) { return d[i * x.n + j]; }
  GemmCheck check(std::size_t keep = 5) const { return check_gemm(model, x, d, keep, 16, 64); }
};

std::uint64_t count(const GemmCheck& check, Agreement which) {
  return check.agreements[static_cast<std::size_t>(which)];
}

TEST_CASE("an equal product is equal in every element") {
  const GemmCheck check = Product().check();
  CHECK(check.elements() == 2600);
  CHECK(check.equal() == 2600);
  CHECK(count(check, Agreement::equal) == 2600);
  CHECK(check.different.first.empty());
  CHECK(!check.farthest);
  CHECK(std::accumulate(check.different.map.counts.begin(), check.different.map.counts.end(),
                        std::size_t{0}) == 0);
}

TEST_CASE("differences are counted by distance, row, column and cell") {
  Product p;
  p.at(0, 0) += 1;
  p.at(3, 129) += 3;
  p.at(3, 128) -= 2;
  p.at(19, 64) += 1000;
  const GemmCheck check = p.check(3);
  CHECK(check.different.count == 4);
  CHECK(check.distances[0] == 1);
  CHECK(check.distances[1] == 2);
  CHECK(check.distances[9] == 1);
  CHECK(check.different.by_row[3] == 2);
  CHECK(check.different.by_column[64] == 1);
  REQUIRE(check.different.first.size() == 3);
  CHECK(check.different.first[1].row == 3);
  CHECK(check.different.first[1].column == 128);
  REQUIRE(check.farthest);
  CHECK(check.farthest->row == 19);
  // 20 rows in at most 16 pieces are pairs; 130 columns in at most 64 are fours.
  CHECK(check.different.map.cell_rows == 2);
  CHECK(check.different.map.cell_columns == 4);
  CHECK(check.different.map.rows == 10);
  CHECK(check.different.map.columns == 33);
  CHECK(check.different.map.counts[0] == 1);
  CHECK(check.different.map.counts[1 * 33 + 32] == 2);
  CHECK(check.different.map.counts[9 * 33 + 16] == 1);
}

TEST_CASE("a last bit is within the bound, a missing product is not, a NaN is neither") {
  Product p;
  p.at(1, 1) ^= 1;
  GemmOperands short_x = p.x;
  for (std::size_t i = 0; i < p.x.m; ++i) short_x.a[i * p.x.k + 39] = 0;
  p.at(2, 2) = gemm(p.model, short_x)[2 * p.x.n + 2];
  p.at(4, 4) = 0x7FC00000;
  const GemmCheck check = p.check();
  CHECK(check.different.count == 3);
  CHECK(count(check, Agreement::within_bound) == 1);
  CHECK(count(check, Agreement::beyond_bound) == 1);
  CHECK(count(check, Agreement::special) == 1);
  CHECK(check.without_distance == 1);
  CHECK(check.different.first[0].agreement == Agreement::within_bound);
  CHECK(check.different.first[1].agreement == Agreement::beyond_bound);
  CHECK(check.wrong.count == 2);
  CHECK(check.wrong.by_row[2] == 1);
  CHECK(check.wrong.by_column[4] == 1);
  CHECK(check.wrong.first[0].row == 2);
  CHECK(std::accumulate(check.wrong.map.counts.begin(), check.wrong.map.counts.end(),
                        std::size_t{0}) == 2);
}

TEST_CASE("-0 for +0 is another D at no distance") {
  Product p;
  std::fill(p.x.a.begin(), p.x.a.end(), 0);
  p.d = gemm(p.model, p.x);
  p.at(7, 7) = 0x80000000;
  const GemmCheck check = p.check();
  CHECK(check.different.count == 1);
  CHECK(check.distances[0] == 1);
}

TEST_CASE("a D or operands of another size, and maps without cells, are refused") {
  Product p;
  const auto message_of = [](const Product& x, std::size_t rows, std::size_t columns) {
    try {
      check_gemm(x.model, x.x, x.d, 5, rows, columns);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(message_of(p, 0, 64) == "map_rows, map_columns: no cell; give at least 1 of each");
  CHECK(message_of(p, 16, 0) == "map_rows, map_columns: no cell; give at least 1 of each");
  Product some = p;
  some.d.pop_back();
  CHECK(message_of(some, 16, 64) == "given: 2599 elements; by m, n and k there are 2600");
  some.d.clear();
  CHECK(message_of(some, 16, 64) == "given: 0 elements; by m, n and k there are 2600");
  some = p;
  some.d.push_back(0);
  CHECK(message_of(some, 16, 64) == "given: 2601 elements; by m, n and k there are 2600");
  some = p;
  some.x.a.pop_back();
  CHECK(message_of(some, 16, 64) == "a: 799 elements; by m, n and k there are 800");
  some.x.m = 0;
  CHECK(message_of(some, 16, 64) ==
        "m, n and k: sizes from 1 on are wanted, k up to 2^30, m and n up to 2^31");
}

}  // namespace
}  // namespace binade::gemm_test
