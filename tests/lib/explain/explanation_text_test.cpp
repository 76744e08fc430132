// SPDX-License-Identifier: Apache-2.0
//
// Explanations as text: one dot product on three architectures word for word; for random ones,
// every line fits a terminal, and the bits that are shown are those of the numbers.
#include "lib/explain/explanation_text.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "lib/explain/explanation_words.h"
#include "lib/explain/ladder.h"
#include "lib/instruction/instruction_name.h"
#include "lib/text/error.h"
#include "lib/text/paragraph.h"
#include "tests/emulate/dot_draw.h"
#include "tests/lib/explain/rational.h"

namespace binade::explanation_text_test {
namespace {

using test::Integer;
using test::Random;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

bool contains(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

/// 2^14, three times 7*2^-12, and -2^14 in the second half.
Explanation cancelling(int sm) {
  const Instruction x = parse_instruction("wmma.m16n16k16.f32.f16.f16.f32", sm);
  std::vector<std::uint64_t> a(16);
  std::vector<std::uint64_t> b(16);
  a[0] = b[0] = a[8] = 0x5800;
  b[8] = 0xD800;
  for (std::size_t i = 1; i < 4; ++i) {
    a[i] = 0x2F00;
    b[i] = 0x2400;
  }
  return explain_dot(x, a, b, 0);
}

TEST_CASE("one dot on three architectures: three results, each with its reason") {
  const std::string volta = explanation_text(cancelling(70));
  CHECK(contains(volta, "  k 1    + ························│111  cut 0.001708984375\n"));
  CHECK(contains(volta, "block 2: every product of k 4…7 is zero; nothing changes\n"));
  CHECK(contains(volta, "result    0x00000000  0\n"));
  CHECK(contains(volta, "error     -0.005126953125 = -11010048 ulp, -100 %\n"));
  const std::string ampere = explanation_text(cancelling(80));
  CHECK(contains(ampere, "  k 1    + ························1│11  cut 0.000732421875\n"));
  CHECK(contains(ampere,
                 "  sum    + 1000000000000000000000011│    rounding -0.0009765625\n"
                 "  result + 100000000000000000000001·│\n"
                 "  → 0x46800001 16384.001953125  rounded toward zero to f32\n"));
  CHECK(contains(ampere, "  acc    + 100000000000000000000001·│\n"));
  CHECK(contains(ampere, "result    0x3b000000  0.001953125\n"));
  const std::string hopper = explanation_text(cancelling(90));
  CHECK(contains(hopper,
                 "  aligned to 2^14, of k 0\n"
                 "           2^14                 2^-11 cut off\n"
                 "  k 0    + 1·························│\n"
                 "  k 1    + ························11│1  cut 0.000244140625\n"));
  CHECK(contains(hopper,
                 "result    0x3b900000  0.00439453125\n"
                 "exact     0.005126953125\n"
                 "error     -0.000732421875 = -1572864 ulp, -14.3 %\n"));
}

/// The whole number that the kept columns of a row show.
Integer kept_of(const std::string& row, std::size_t kept_columns) {
  Integer out = 0;
  std::size_t seen = 0;
  for (std::size_t at = 11; seen < kept_columns; ++seen) {
    const bool empty = row.compare(at, 2, "·") == 0;
    out = 2 * out + (row.at(at) == '1' ? 1 : 0);
    at += empty ? 2 : 1;
  }
  return out;
}

/// Compares the rows of a block's text with its terms.
int check_rows(const ExplainedBlock& block, const std::vector<std::string>& lines) {
  const auto columns = static_cast<std::size_t>(ladder_of(block).kept_columns());
  int rows = 0;
  const auto check = [&](const std::string& name, bool negative, const Integer& units) {
    const std::string start = "  " + left_aligned(name, 7) + (negative ? "- " : "+ ");
    const auto line = std::ranges::find_if(lines, [&](const std::string& text) {
      return text.starts_with(start) && contains(text, "│");
    });
    REQUIRE(line != lines.end());
    CAPTURE(*line);
    REQUIRE(kept_of(*line, columns) == units);
    ++rows;
  };
  for (const ExplainedTerm& term : block.terms) {
    if (term.kind == Kind::zero) continue;
    check(term_name(term, block), term.negative, abs(Integer(term.units)));
  }
  check("sum", block.sum.negative, abs(Integer(block.units)));
  return rows;
}

TEST_CASE("a -0 that a block of zeros makes +0 is told") {
  const Instruction x = parse_instruction("mma.m16n8k8.f32.bf16.bf16.f32", 80);
  const std::vector<std::uint64_t> zeros(8);
  const auto text = [&](std::uint64_t c) {
    return explanation_text(explain_dot(x, zeros, zeros, c));
  };
  CHECK(contains(text(0x00000000), "block 1: every product of k 0…7 is zero; nothing changes\n"));
  CHECK(contains(text(0x3F800000), "nothing changes\n"));
  CHECK_FALSE(contains(text(0x80000000), "nothing changes"));
  CHECK(contains(text(0x80000000), "0x80000000 -0"));
  CHECK(contains(text(0x80000000), "result    0x00000000  0\n"));
}

TEST_CASE("drawn dots: lines fit, and the kept bits that are drawn are the units") {
  Random random(9);
  int rows = 0;
  int operations = 0;
  for (const int sm : {70, 80, 89, 90, 100}) {
    for (const Instruction& x : instructions_of(sm)) {
      if (is_integer(x.types.a)) continue;
      CAPTURE(instruction_name(x));
      CAPTURE(sm);
      for (int i = 0; i < 4; ++i) {
        const test::DrawnDot row = test::draw_dot(random, x.types, x.k);
        const Explanation out = explain_dot(x, row.a, row.b, row.c);
        const std::string text = explanation_text(out, {.all = true});
        for (const std::string& line : lines_of(text)) {
          CAPTURE(line);
          REQUIRE(columns_of(line) <= 100);
          REQUIRE(!line.ends_with(' '));
        }
        const std::vector<const ExplainedBlock*> blocks = blocks_of(out);
        operations += blocks.empty() ? 1 : 0;
        if (blocks.size() != 1 || !has_ladder(*blocks[0])) continue;
        rows += check_rows(*blocks[0], lines_of(text));
      }
    }
  }
  CHECK(rows > 2000);
  CHECK(operations > 10);
}

TEST_CASE("a long sum is a line a block, and one of them in full where it is asked for") {
  const Instruction x = parse_instruction("wmma.m16n16k16.f32.f16.f16.f32", 70);
  const std::vector<std::uint64_t> ones(64, 0x3C01);
  const Explanation out = explain_dot(x, ones, ones, 0);
  CHECK(blocks_of(out).size() == 16);
  const std::string brief = explanation_text(out);
  CHECK(contains(brief, "\nblock 3    k 8…11"));
  CHECK(!contains(brief, "│"));
  const std::string third = explanation_text(out, {.block = 3});
  CHECK(contains(third, "block 3: the sum so far and k 8…11\n"));
  CHECK(contains(third, "\nblock 4    k 12…15"));
  CHECK(contains(explanation_text(out, {.all = true}), "block 16: the sum so far and k 60…63\n"));
  CHECK_THROWS_WITH_AS(explanation_text(out, {.block = 17}),
                       "no block 17; there are 16: give a number from 1 on", Error);
  CHECK(contains(explanation_text(out, {.color = true, .all = true}), "\x1b[1m1\x1b[0m"));
  CHECK(!contains(explanation_text(out, {.all = true}), "\x1b"));
}

TEST_CASE("with colours, the bits that rounding drops have one of their own") {
  const Explanation x = cancelling(80);
  const std::string text = explanation_text(x, {.color = true});
  CHECK(contains(text, "\x1b[1m1\x1b[0m\x1b[33m1\x1b[0m\x1b[2m│\x1b[0m"));
  CHECK(!contains(text, "\x1b[33m1\x1b[0m\x1b[33m"));
}

std::string special(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t other = 0) {
  const Instruction x = parse_instruction("mma.m16n8k16.f16.f16.f16.f16", 90);
  std::vector<std::uint64_t> as(16);
  std::vector<std::uint64_t> bs(16);
  as[3] = a;
  bs[3] = b;
  as[5] = other;
  bs[5] = 0x3C00;
  return explanation_text(explain_dot(x, as, bs, c));
}

TEST_CASE("what is no number is told with the term that made it") {
  CHECK(contains(special(0x7E00, 0x3C00, 0), "from      block 1, NaN: a of k 3 is NaN\n"));
  CHECK(contains(special(0x3C00, 0x7E00, 0), "from      block 1, NaN: b of k 3 is NaN\n"));
  CHECK(contains(special(0x3C00, 0x3C00, 0x7E00), "from      block 1, NaN: c is NaN\n"));
  CHECK(contains(special(0x7C00, 0x8000, 0), "from      block 1, NaN: k 3 is inf * -0\n"));
  CHECK(contains(special(0x7C00, 0x3C00, 0xFC00), "NaN: k 3 is +inf and c is -inf\n"));
  CHECK(contains(special(0xFC00, 0x3C00, 0, 0x3C00), "from      block 1, -inf: k 3 is -inf\n"));
  CHECK(contains(special(0x7BFF, 0x3C00, 0x7BFF), "inf: 131008 is beyond the range of f16\n"));
}

TEST_CASE("what a GPU gave stands beside the result") {
  Explanation out = cancelling(90);
  out.hardware = out.result;
  CHECK(contains(explanation_text(out), "hardware  0x3b900000  0.00439453125  equal\n"));
  out.hardware->bits += 2;
  CHECK(contains(explanation_text(out), "different, -2 ulp from it\n"));
}

}  // namespace
}  // namespace binade::explanation_text_test
