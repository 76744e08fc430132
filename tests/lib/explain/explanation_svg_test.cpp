// SPDX-License-Identifier: Apache-2.0
//
// The picture of a block: a cell for each bit in its colour, the same bytes each time, and an Error
// where there are no bits. The test of the command checks that it is XML which fetches nothing.
#include "lib/explain/explanation_svg.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "lib/explain/explanation_text.h"
#include "lib/explain/ladder.h"
#include "lib/instruction/instruction_name.h"
#include "lib/text/error.h"

namespace binade::explanation_svg_test {
namespace {

constexpr const char* hopper = "mma.m16n8k16.f16.f16.f16.f16";

Explanation explained(const char* name, int sm, const std::vector<std::uint64_t>& a,
                      const std::vector<std::uint64_t>& b, std::uint64_t c = 0) {
  const Instruction x = parse_instruction(name, sm);
  std::vector<std::uint64_t> as = a;
  std::vector<std::uint64_t> bs = b;
  as.resize(static_cast<std::size_t>(x.k));
  bs.resize(static_cast<std::size_t>(x.k));
  return explain_dot(x, as, bs, c);
}

/// Boxes of bits: 15 by 18 and of this colour.
int cells(const std::string& svg, const std::string& color) {
  const std::string wanted = "width=\"15\" height=\"18\" rx=\"3\" fill=\"" + color + "\"";
  int n = 0;
  for (std::size_t at = svg.find(wanted); at != std::string::npos; at = svg.find(wanted, at + 1))
    ++n;
  return n;
}

TEST_CASE("kept, cut and rounded bits have cells of their colours") {
  // 2^-25, then 15*2^-48, of which the floor cuts two bits; all of the sum is rounded off.
  const Explanation x = explained(hopper, 90, {0x1000, 0x0003}, {0x0400, 0x0005});
  const std::string svg = explanation_svg(x, 1);
  CHECK(cells(svg, "#2f5d86") == 3);   // positive, kept
  CHECK(cells(svg, "#7a3f93") == 2);   // by the floor
  CHECK(cells(svg, "#b8331b") == 0);   // by alignment
  CHECK(cells(svg, "#d97a1c") == 3);   // rounded off: 1 0…0 1 1
  CHECK(cells(svg, "#f8e0c4") == 19);  // and the zeros between
  CHECK(cells(svg, "#3a3731") == 1);   // the result, 2^-24
  // 1 + 2^-10 + 2^-11: the last place is kept, the bit below it rounded off.
  const std::string last =
      explanation_svg(explained(hopper, 90, {0x3C00, 0x1400, 0x1000}, {0x3C00, 0x3C00, 0x3C00}), 1);
  CHECK(cells(last, "#d97a1c") == 1);
  CHECK(cells(last, "#3a3731") == 4);
  const Explanation negative = explained(hopper, 90, {0x9000, 0x0003}, {0x0400, 0x0005}, 0x3C00);
  const std::string other = explanation_svg(negative, 1);
  CHECK(cells(other, "#94691b") == 1);
  CHECK(cells(other, "#b8331b") == 3);  // and one more that is only marked
  CHECK(other.find("…</text>") != std::string::npos);
  CHECK(cells(other, "#7a3f93") == 0);
}

TEST_CASE("the same explanation is the same bytes") {
  const Explanation x = explained(hopper, 90, {0x3C01, 0x4202}, {0x3C03, 0x1111});
  CHECK(explanation_svg(x, 1) == explanation_svg(x, 1));
}

TEST_CASE("the block that loses most is chosen, and the first where none loses") {
  const std::vector<std::uint64_t> zeros(16);
  std::vector<std::uint64_t> a = zeros;
  std::vector<std::uint64_t> b = zeros;
  a[0] = b[0] = 0x3C00;
  a[8] = b[8] = 0x3C00;
  a[9] = b[9] = 0x0001;
  CHECK(block_that_loses_most(explained("mma.m16n8k16.f32.f16.f16.f32", 80, a, b)) == 2);
  a[9] = 0;
  CHECK(block_that_loses_most(explained("mma.m16n8k16.f32.f16.f16.f32", 80, a, b)) == 1);
}

TEST_CASE("where there are no bits, the error says why") {
  const Explanation nan = explained(hopper, 90, {0x7E00}, {0x3C00});
  CHECK_THROWS_WITH_AS(explanation_svg(nan, 1), "block 1 has no bits to draw: NaN: a of k 0 is NaN",
                       Error);
  CHECK_THROWS_AS(block_that_loses_most(nan), Error);
  const Explanation zero = explained(hopper, 90, {}, {});
  CHECK_THROWS_WITH_AS(explanation_svg(zero, 1), "block 1 has no bits to draw: every term is zero",
                       Error);
  const Explanation integers = explained("mma.m16n8k32.s32.s8.s8.s32", 80, {1}, {1});
  CHECK_THROWS_WITH_AS(explanation_svg(integers, 1),
                       "block 1 has no bits to draw: integers are not aligned", Error);
  const Explanation chain = explained("mma.m8n8k4.f64.f64.f64.f64", 80, {}, {});
  CHECK_THROWS_WITH_AS(explanation_svg(chain, 1),
                       "mma.m8n8k4.f64.f64.f64.f64 has no blocks: it is made of rounded operations",
                       Error);
}

TEST_CASE("very far bits are marked, not drawn") {
  const Explanation x =
      explained("mma.m16n8k16.f32.bf16.bf16.f32", 90, {0x7F00, 0x0001}, {0x7F00, 0x0001});
  const std::string svg = explanation_svg(x, 1);
  CHECK(svg.find("…</text>") != std::string::npos);
  CHECK(svg.size() < 20000);
}

}  // namespace
}  // namespace binade::explanation_svg_test
