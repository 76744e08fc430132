// SPDX-License-Identifier: Apache-2.0
//
// Matrices of other sizes than m, n and k say are refused before anything is read of them.
#include "lib/gemm/operands.h"

#include <doctest/doctest.h>

#include "lib/gemm/account.h"
#include "lib/gemm/named_gemm.h"
#include "lib/text/error.h"

namespace binade::operands_test {
namespace {

using Matrix = std::vector<std::uint64_t>;

/// A product of 2 × 3 elements, each of 4 products, with C and bias.
GemmOperands whole() { return {2, 3, 4, Matrix(8), Matrix(12), Matrix(6), Matrix(3)}; }

void refused(const GemmOperands& x, const char* message) {
  const GemmModel model = parse_gemm("mma.m16n8k16.f32.f16.f16.f32", 90).model;
  CHECK_THROWS_WITH_AS(gemm(model, x), message, Error);
  CHECK_THROWS_WITH_AS(account(model, x), message, Error);
}

TEST_CASE(
    "a product and its account take matrices of the sizes that m, n and k say, and no others") {
  const GemmModel model = parse_gemm("mma.m16n8k16.f32.f16.f16.f32", 90).model;
  CHECK(gemm(model, whole()) == Matrix(6));
  CHECK(gemm(model, {2, 3, 0, {}, {}, {}, {}}) == Matrix(6));
  GemmOperands x = whole();
  x.a.pop_back();
  refused(x, "a: 7 elements; by m, n and k there are 8");
  x = whole();
  x.b.push_back(0);
  refused(x, "b: 13 elements; by m, n and k there are 12");
  x = whole();
  x.c.pop_back();
  refused(x, "c: 5 elements; by m, n and k there are 6");
  x = whole();
  x.bias.pop_back();
  refused(x, "bias: 2 elements; by m, n and k there are 3");
}

TEST_CASE("sizes of nothing, and sizes beyond all memory, are refused") {
  const char* const message =
      "m, n and k: sizes from 1 on are wanted, k up to 2^30, m and n up to 2^31";
  for (const std::size_t size : {std::size_t{0}, std::size_t{1} << 32, ~std::size_t{0}}) {
    GemmOperands x = whole();
    x.m = size;
    refused(x, message);
    x = whole();
    x.n = size;
    refused(x, message);
  }
  GemmOperands x = whole();
  x.k = (std::size_t{1} << 30) + 1;
  refused(x, message);
}

}  // namespace
}  // namespace binade::operands_test
