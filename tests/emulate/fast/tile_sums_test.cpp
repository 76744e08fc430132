// SPDX-License-Identifier: Apache-2.0
//
// Tile sums against `dot`, element for element: every model and types of every architecture, the
// conversion of operands and sums to words and back, and which elements are left to `dot`.
#include "emulate/fast/tile_sums.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "lib/instruction/instruction_name.h"
#include "tests/emulate/dot_draw.h"

namespace binade::tile_sums_test {
namespace {

/// Shifts as a GPU does them: by 32 or more only the sign is left.
struct WholeShift {
  std::int32_t operator()(std::int32_t x, int n) const { return x >> std::min(n, 31); }
  std::uint32_t operator()(std::uint32_t x, int n) const { return n > 31 ? 0 : x >> n; }
};

struct Element {
  fast::TileSum sum;
  bool done = false;  ///< whether it was computed; else `dot` has to
};

/// A block of n products on top of a sum.
template <bool nearest, bool wide>
Element block_of(const fast::TileRules& rules, const fast::Factor* a, const fast::Factor* b, int n,
                 fast::TileSum c) {
  const WholeShift shift;
  int top = std::max(c.exponent, rules.floor);
  for (int i = 0; i < n; ++i) top = std::max(top, a[i].exponent + b[i].exponent);
  std::int64_t sum = fast::cut_sum(rules, c, top, shift);
  for (int i = 0; i < n; ++i) {
    const std::int32_t product = a[i].significand * (1 << rules.up) * b[i].significand;
    sum += fast::cut_product(product, top - a[i].exponent - b[i].exponent, shift);
  }
  const bool in_range = fast::round_tile_sum<nearest, wide>(rules, sum, top, shift, c);
  return {c, in_range};
}

Element tile_element(const Instruction& how, const fast::TileRules& rules, const DotTypes& sums,
                     const test::DrawnDot& row, int k) {
  std::vector<fast::Factor> a(static_cast<std::size_t>(k)), b(a.size());
  const bool finite = fast::predecode(how.model, how.types.a, row.a.data(), k, a.data()) &&
                      fast::predecode(how.model, how.types.b, row.b.data(), k, b.data());
  const std::uint64_t c = how.model.c_last ? zero_bits(sums.c, false)
                                           : wide_c(types_of_sums(how.model, how.types), row.c);
  Element out{fast::tile_sum(c, sums.c, rules.fraction_bits),
              finite && !fast::detail::is_special(c, sums.c)};
  const int part = how.model.recipe == Recipe::expanded ? k / 2 : k;
  for (int first = 0; first < k && out.done; first += part) {
    for (int at = first; at < first + part && out.done; at += how.model.block) {
      const int n = std::min(first + part - at, how.model.block);
      const bool nearest = rules.rounding == Rounding::ties_to_even;
      const auto step = rules.wide ? nearest ? block_of<true, true> : block_of<false, true>
                        : nearest ? block_of<true, false>
                                   : block_of<false, false>;
      out = step(rules, a.data() + at, b.data() + at, n, out.sum);
    }
  }
  return out;
}

/// The dense instructions of an architecture without scales of blocks, each with its model and with
/// others next to it.
std::vector<Instruction> with_rivals(int sm) {
  std::vector<Instruction> out;
  for (const Instruction& how : instructions_of(sm)) {
    if (how.model.sparse_group != 0 || is_scaled(how.model)) continue;
    const auto add = [&](const auto& change) {
      out.push_back(how);
      change(out.back().model);
    };
    add([](DotModel&) {});
    add([](DotModel& x) { x.exponent_floor -= 1; });
    add([](DotModel& x) { x.exponent_floor = 200; });
    add([](DotModel& x) { x.exponent_floor = no_floor; });
    add([](DotModel& x) { x.fraction_bits += 1; });
    add([](DotModel& x) {
      const bool cuts = x.rounding == Rounding::toward_zero;
      x.rounding = cuts ? Rounding::ties_to_even : Rounding::toward_zero;
    });
  }
  return out;
}

TEST_CASE("every model that is known gives dot's bits, and leaves what it must") {
  test::Random random(11);
  std::uint64_t done = 0, left = 0, known = 0, unknown = 0, wide = 0, nearest = 0;
  for (const int sm : {70, 75, 80, 89, 90, 100, 120}) {
    for (const Instruction& how : with_rivals(sm)) {
      const DotTypes sums = with_wide_c(types_of_sums(how.model, how.types));
      const fast::TileRules rules = fast::tile_rules(how.model, how.types, sums);
      (rules.known ? known : unknown) += 1;
      if (!rules.known) continue;
      wide += rules.wide ? 1 : 0;
      nearest += rules.rounding == Rounding::ties_to_even ? 1 : 0;
      for (int draw = 0; draw < 100; ++draw) {
        const int k = how.model.recipe == Recipe::expanded ? how.k : test::between(random, 1, 70);
        const test::DrawnDot row = test::draw_dot(random, how.types, k);
        const Element got = tile_element(how, rules, sums, row, k);
        (got.done ? done : left) += 1;
        if (!got.done) continue;
        const std::uint64_t sum = fast::bits_of(got.sum, sums.d, rules.fraction_bits);
        const std::uint64_t want = dot(how.model, how.types, row.a.data(), row.b.data(), k, row.c);
        if (finished(how.model, how.types, sum, row.c) == want) continue;
        CAPTURE(instruction_name(how));
        CAPTURE(sm);
        CAPTURE(how.model.exponent_floor);
        CAPTURE(how.model.fraction_bits);
        CAPTURE(draw);
        REQUIRE(finished(how.model, how.types, sum, row.c) == want);
      }
    }
  }
  CHECK(known > 100);
  CHECK(unknown > 10);  // chains of fma, integers
  CHECK(wide > 0);
  CHECK(nearest > 10);
  CHECK(left > 1000);  // NaNs, infinities, what leaves the range
  CHECK(done > left);
}

TEST_CASE("a sum that is cut to zero raises no exponent") {
  test::Random random(12);
  Instruction how = parse_instruction("mma.m16n8k16.f32.bf16.bf16.f32", 90);
  how.model.exponent_floor = no_floor;
  const DotTypes sums = with_wide_c(types_of_sums(how.model, how.types));
  const fast::TileRules rules = fast::tile_rules(how.model, how.types, sums);
  std::uint64_t zeros = 0;
  for (int draw = 0; draw < 3000; ++draw) {
    const int k = 3 * how.model.block;
    test::DrawnDot row;
    for (int i = 0; i < k; ++i) {
      const int e = test::between(random, -90, -60);
      row.a.push_back(test::draw_at(random, bfloat16, e));
      row.b.push_back(test::draw_at(random, bfloat16, test::between(random, -168, -150) - e));
    }
    const Element got = tile_element(how, rules, sums, row, k);
    REQUIRE(got.done);
    const std::uint64_t sum = fast::bits_of(got.sum, sums.d, rules.fraction_bits);
    zeros += sum == 0 ? 1 : 0;
    REQUIRE(sum == dot(how.model, how.types, row.a.data(), row.b.data(), k, row.c));
  }
  CHECK(zeros > 10);
}

TEST_CASE("sums with padding or without infinities are dot's") {
  for (const Format& d : {tf32, e4m3}) {
    const DotTypes types{binary16, binary16, d, d};
    CHECK_FALSE(fast::tile_rules({.grid = d}, types, types).known);
  }
  const DotTypes types{binary16, binary16, binary32, binary32};
  CHECK(fast::tile_rules({}, types, types).known);
}

TEST_CASE("a sum's word holds every finite encoding") {
  for (const Format& f : {binary16, bfloat16}) {
    for (const int fraction_bits : {f.fraction_bits(), 13, 23}) {
      if (fraction_bits < f.fraction_bits()) continue;
      for (std::uint64_t code = 0; code < 65536; ++code) {
        if (fast::detail::is_special(code, f)) continue;
        const fast::TileSum word = fast::tile_sum(code, f, fraction_bits);
        if (fast::bits_of(word, f, fraction_bits) == code) continue;
        CAPTURE(code);
        REQUIRE(fast::bits_of(word, f, fraction_bits) == code);
      }
    }
  }
}

TEST_CASE("products are cut toward zero, whatever the distance") {
  const WholeShift shift;
  for (const std::int32_t product : {0, 1, -1, 22, -22, 0x7FFFFFFF, -0x7FFFFFFF}) {
    for (const int distance : {0, 1, 3, 4, 30, 31, 32, 1000}) {
      const std::int64_t units = distance > 40 ? 0 : product / (std::int64_t{1} << distance);
      CHECK(fast::cut_product(product, distance, shift) == units);
    }
  }
}

}  // namespace
}  // namespace binade::tile_sums_test
