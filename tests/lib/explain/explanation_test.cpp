// SPDX-License-Identifier: Apache-2.0
//
// Explanations of random sums of every model, each number of which is compared with fractions, and
// of rows recorded on GPUs, which must end with the GPU's bits.
#include "lib/explain/explanation.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "lib/device/recording.h"
#include "lib/instruction/instruction_name.h"
#include "tests/emulate/dot_draw.h"
#include "tests/lib/explain/judge.h"

namespace binade::explanation_test {
namespace {

using test::DrawnDot;
using test::Random;
using test::Rational;
using test::rational;

/// Instructions that differ in what they compute, not only in m and n.
std::vector<Instruction> computations() {
  std::vector<Instruction> out;
  for (const Architecture& on : architectures) {
    const int sm = on.sm;
    for (const Instruction& x : instructions_of(sm)) {
      // The dense pairs stand for these.
      if (x.family == Family::tcgen05_sp && x.types.a != x.types.b) continue;
      const bool known = std::ranges::any_of(out, [&](const Instruction& y) {
        return x.model == y.model && x.types == y.types && x.k == y.k;
      });
      if (!known) out.push_back(x);
    }
  }
  return out;
}

/// Draws products near the exponent floor, or below the last place that it keeps, and a tiny c or
/// none.
DrawnDot draw_at_floor(Random& random, const Instruction& x) {
  DrawnDot out;
  const int floor = x.model.exponent_floor - (random() % 2 == 0 ? 0 : x.model.fraction_bits);
  for (int i = 0; i < x.k; ++i) {
    const int e = floor + test::between(random, -14, 2);
    const int half = e / 2 + test::between(random, -4, 4);
    out.a.push_back(test::draw_at(random, x.types.a, half));
    out.b.push_back(test::draw_at(random, x.types.b, e - half));
  }
  if (random() % 4 == 0) out.c = test::draw_at(random, x.types.c, floor);
  return out;
}

DrawnDot draw(Random& random, const Instruction& x) {
  const bool reaches = x.types.a.emin() + x.types.b.emin() < x.model.exponent_floor;
  if (!is_integer(x.types.a)) {
    return reaches && random() % 2 == 0 ? draw_at_floor(random, x)
                                        : test::draw_dot(random, x.types, x.k);
  }
  DrawnDot out;
  const auto code = [&random](const Format& f) { return random() >> (64 - f.bits()); };
  for (int i = 0; i < x.k; ++i) {
    out.a.push_back(code(x.types.a));
    out.b.push_back(code(x.types.b));
  }
  const std::uint64_t ends[]{0x7FFFFFFF, 0x80000000, code(s32)};
  out.c = ends[random() % 3];
  return out;
}

/// Makes half of each group zero and the other half not, by pairs in a group of 8, and returns the
/// places of the zeros.
std::vector<int> make_sparse(Random& random, const Instruction& x, DrawnDot& row) {
  std::vector<int> zeros;
  const int group = x.model.sparse_group;
  const int width = group == sparse_group_of_pairs ? 2 : 1, units = group / width;
  for (int first = 0; first < x.k; first += group) {
    std::vector<int> order;
    for (int i = 0; i < units; ++i) order.push_back(first + i * width);
    std::ranges::shuffle(order, random);
    for (int i = 0; i < group; ++i) {
      const int place = order[static_cast<std::size_t>(i / width)] + i % width;
      std::uint64_t& a = row.a[static_cast<std::size_t>(place)];
      if (i < group / 2) {
        zeros.push_back(place);
        a = 0;
      } else if (a == 0) {
        a = std::uint64_t{1} << x.types.a.padding_bits;
      }
    }
  }
  std::ranges::sort(zeros);
  return zeros;
}

/// Scales of a dot: near 1, anything, or such that products come near the exponent floor.
struct DrawnScales {
  std::vector<std::uint8_t> a, b;
};

DrawnScales draw_scales(Random& random, const Instruction& x) {
  DrawnScales out;
  const int kind = test::between(random, 0, 3);
  const auto code = [&](int near) {
    const std::uint64_t one = x.model.scaling.format == e8m0 ? 127 : 0x38;
    const std::uint64_t any = random() >> 56;
    const auto shift = static_cast<std::uint64_t>(near + test::between(random, -3, 3));
    return static_cast<std::uint8_t>(kind == 0 ? any : one + shift);
  };
  const bool low = kind == 1 && x.model.scaling.format == e8m0;
  for (std::size_t i = 0; i < scales_of_row(x); ++i) {
    out.a.push_back(code(low ? -79 : 0));
    out.b.push_back(code(low ? -79 : 0));
  }
  return out;
}

/// Returns the exact sum of the products that take part, times their scales; nothing if one is a
/// NaN or an infinity.
std::optional<Rational> exact_sum(const Instruction& x, const DrawnDot& row,
                                  const DrawnScales& scales, const std::vector<int>& left_out) {
  const Format& f = x.model.scaling.format;
  for (const auto* side : {&scales.a, &scales.b}) {
    for (const std::uint8_t code : *side) {
      if (!test::is_finite(code, f)) return {};
    }
  }
  const int share = x.model.scaling.share * (x.model.sparse_group == 0 ? 1 : 2);
  const bool minus = x.model.scales.minus_a != x.model.scales.minus_b;
  Rational out = 0;
  for (std::size_t i = 0; i < row.a.size(); ++i) {
    if (std::ranges::binary_search(left_out, static_cast<int>(i))) continue;
    if (!test::is_finite(row.a[i], x.types.a) || !test::is_finite(row.b[i], x.types.b)) return {};
    const Rational a = rational(row.a[i], x.types.a);
    const Rational b = rational(row.b[i], x.types.b);
    const Rational product =
        x.model.integer.exclusive_or ? Rational(a == b ? 0 : 1) : Rational(a * b);
    Rational scaled = minus ? Rational(-product) : product;
    if (share != 0) {
      const std::size_t run = i / static_cast<std::size_t>(share);
      scaled *= rational(scales.a[run], f) * rational(scales.b[run], f);
    }
    out += scaled;
  }
  if (x.model.scales.without_c) return out;
  if (!test::is_finite(row.c, x.types.c)) return {};
  return out + rational(row.c, x.types.c);
}

void explain_and_judge(const Instruction& x, const DrawnDot& row, const DrawnScales& drawn,
                       const std::vector<int>& left_out, test::Seen& seen) {
  const DotScales scales{drawn.a.empty() ? nullptr : drawn.a.data(),
                         drawn.b.empty() ? nullptr : drawn.b.data()};
  const Explanation out = explain_dot(x, row.a, row.b, row.c, scales);
  test::ExplanationJudge(out, seen).judge();
  const std::uint64_t d =
      dot(x.model, x.types, row.a.data(), row.b.data(), x.k, row.c, NoTrace{}, scales);
  REQUIRE(out.result.bits == d);
  REQUIRE(out.result.format == x.types.d);
  REQUIRE(out.sum.bits == d);
  REQUIRE(out.left_out == left_out);
  REQUIRE(!out.has_epilogue());
  const std::optional<Rational> exact = exact_sum(x, row, drawn, left_out);
  REQUIRE(out.exact.has_value() == exact.has_value());
  if (!exact) return;
  REQUIRE(rational(*out.exact) == *exact);
  REQUIRE(rational(*out.exact_sum) == *exact);
  const bool number = test::is_finite(d, x.types.d);
  REQUIRE(out.error().has_value() == number);
  if (number) REQUIRE(rational(*out.error()) == rational(d, x.types.d) - *exact);
}

TEST_CASE("every step of drawn dots of every model is what fractions say") {
  Random random(1);
  test::Seen seen;
  std::set<Recipe> recipes;
  bool sparse = false, through_f32 = false, c_last = false;
  for (const Instruction& x : computations()) {
    CAPTURE(instruction_name(x));
    CAPTURE(x.sm);
    recipes.insert(x.model.recipe);
    sparse = sparse || x.model.sparse_group != 0;
    through_f32 = through_f32 || x.model.through_f32;
    c_last = c_last || x.model.c_last;
    for (int i = 0; i < 50; ++i) {
      CAPTURE(i);
      DrawnDot row = draw(random, x);
      const std::vector<int> left_out =
          x.model.sparse_group == 0 ? std::vector<int>{} : make_sparse(random, x, row);
      explain_and_judge(x, row, draw_scales(random, x), left_out, seen);
    }
  }
  CHECK(recipes == std::set{Recipe::fused_block, Recipe::expanded, Recipe::fma_chain,
                            Recipe::pairwise, Recipe::exact_integer});
  CHECK((sparse && through_f32 && c_last));
  CHECK(seen.blocks > 10000);
  CHECK(seen.special > 500);
  CHECK(seen.by_alignment > 10000);
  CHECK(seen.by_floor > 500);
  CHECK(seen.by_both > 50);
  CHECK(seen.rounded > 4000);
  CHECK(seen.zero > 100);
  CHECK(seen.operations > 2000);
  CHECK(seen.inexact > 200);
  CHECK(seen.overflows > 20);
  CHECK(seen.totals > 4000);
}

TEST_CASE("wgmma's minus signs and missing c are explained as they are computed") {
  Random random(2);
  test::Seen seen;
  for (const char* scale : {".scale_d_0", ".imm_scale_a_-1", ".imm_scale_b_-1"}) {
    const Instruction x = parse_instruction(std::string("wgmma.m64n8k16.f32.f16.f16") + scale, 90);
    for (int i = 0; i < 200; ++i) explain_and_judge(x, draw(random, x), {}, {}, seen);
  }
  CHECK(seen.totals > 200);
}

TEST_CASE("rows that GPUs gave: the explanation ends with their bits") {
  const std::filesystem::path folder = std::string(BINADE_SOURCE_ROOT) + "/tests/recordings/public";
  test::Seen seen;
  int sets = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".safetensors") continue;
    const std::string path = entry.path().string();
    CAPTURE(path);
    const RecordingInfo info = read_recording_info(path);
    const Instruction how =
        parse_instruction(info.instruction, parse_architecture(info.architecture));
    const Dots dots = read_recording(path, how);
    const auto k = static_cast<std::size_t>(how.k);
    for (std::size_t row = 0; row < dots.d.size(); row += 9) {
      const Explanation out =
          explain_dot(how, {dots.a.data() + row * k, k}, {dots.b.data() + row * k, k}, dots.c[row]);
      test::ExplanationJudge(out, seen).judge();
      REQUIRE(out.result.bits == dots.d[row]);
    }
    ++sets;
  }
  CHECK(sets == 42);
  CHECK(seen.special == 0);
  CHECK(seen.by_alignment > 500);
}

TEST_CASE("the term that sets the alignment is named, and the floor where it decides") {
  const Instruction x = parse_instruction("mma.m16n8k16.f16.f16.f16.f16", 90);
  std::vector<std::uint64_t> a(16);
  std::vector<std::uint64_t> b(16);
  a[0] = 0x1000;  // 2^-11 * 2^-14, then 2^-23 * 2^-24 below the floor's last place, 2^-46
  b[0] = 0x0400;
  a[1] = 0x0002;
  b[1] = 0x0001;
  const Explanation floor = explain_dot(x, a, b, 0);
  const auto& block = std::get<ExplainedBlock>(floor.steps[0]);
  CHECK(block.floor_decides);
  CHECK(block.top == -21);
  CHECK(block.highest == 1);
  CHECK(block.terms[2].cut_by_floor == exact_number(1, -47));
  CHECK(block.terms[2].cut_by_alignment.is_zero());
  const Explanation c = explain_dot(x, a, b, 0x3C00);
  const auto& with_c = std::get<ExplainedBlock>(c.steps[0]);
  CHECK(!with_c.floor_decides);
  CHECK(with_c.highest == 0);
  CHECK(with_c.terms[2].cut_by_alignment == exact_number(1, -47));
}

}  // namespace
}  // namespace binade::explanation_test
