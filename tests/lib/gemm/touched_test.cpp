// SPDX-License-Identifier: Apache-2.0
//
// On which aspects a product depends, by a sample of its elements, and which rule gives the results
// of another kernel.
#include "lib/gemm/touched.h"

#include <doctest/doctest.h>

#include "lib/instruction/instruction_name.h"

namespace binade::touched_test {
namespace {

/// Returns a product of ones in bfloat16; the columns of b for which `zero` holds are zeros.
GemmOperands product_of(std::size_t m, std::size_t n, std::size_t k, std::size_t zero) {
  GemmOperands out{m, n, k, {}, {}, {}, {}};
  for (std::size_t i = 0; i < m * k; ++i)
    out.a.push_back(i % 3 == 0 ? 0x3F81 : 0x3F80 + 0x80 * (i % 29));
  for (std::size_t i = 0; i < n * k; ++i) {
    out.b.push_back(i / k == zero ? 0 : 0x3F80 + (i * 2654435761U >> 7 & 0x1FF));
  }
  return out;
}

TEST_CASE("a sample is spread over rows and columns") {
  const NamedGemm named = parse_gemm("mma.m16n8k16.f32.bf16.bf16.f32", 80);
  const Touched touched = touched_by(named, product_of(64, 64, 32768, 0));
  CHECK(touched.all == 4096);
  CHECK(touched.looked_at == 16);
  REQUIRE(!touched.aspects.empty());
  CHECK(touched.aspects[0].aspect == Aspect::chaining);
  CHECK(touched.aspects[0].count >= 12);
}

TEST_CASE("nothing is looked at where nothing is open, of chains, and under chosen rules") {
  const GemmOperands x = product_of(2, 2, 32, 9);
  CHECK(touched_by(parse_gemm("fma.rn.f32.bf16.bf16.f32", 0), x).aspects.empty());
  CHECK(touched_by(parse_gemm("mma.m16n8k16.f32.bf16.bf16.f32", 90), x).aspects.empty());
  NamedGemm chosen = parse_gemm("mma.m16n8k16.f32.bf16.bf16.f32", 80);
  chosen.rules = " with --floor none";
  CHECK(touched_by(chosen, x).aspects.empty());
}

TEST_CASE("the rule that gives another's elements") {
  const NamedGemm named = parse_gemm("mma.m16n8k16.f32.bf16.bf16.f32", 80);
  GemmOperands x{1, 1, 16, std::vector<std::uint64_t>(16), std::vector<std::uint64_t>(16), {}, {}};
  x.a[8] = 0x8001;
  x.b[8] = 0x3580;
  const GivenElement minus{0, 0, 0x80000000}, other{0, 0, 7};
  CHECK(explaining_rivals(named, x, std::span(&minus, 1)) ==
        std::vector<std::string>{"cut_to_zero negative"});
  CHECK(explaining_rivals(named, x, std::span(&other, 1)).empty());
  CHECK(explaining_rivals(named, x, {}).empty());
}

}  // namespace
}  // namespace binade::touched_test
