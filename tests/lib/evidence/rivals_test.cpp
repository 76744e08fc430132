// SPDX-License-Identifier: Apache-2.0
//
// Rival rules: those that are said to give another result do so on some row, and the others on
// none.
#include "lib/evidence/rivals.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "lib/cases/dot_cases.h"
#include "lib/device/record_dots.h"
#include "lib/instruction/instruction_name.h"
#include "lib/instruction/rule_choice.h"
#include "lib/text/error.h"

namespace binade::rivals_test {
namespace {

/// Instructions that differ in what they compute; of the pairs of f8f6f4 those with e2m1, and alike
/// ones, which alone stand for tcgen05.sp.
std::vector<Instruction> computations() {
  std::vector<Instruction> out;
  for (const Architecture& on : architectures) {
    for (const Instruction& x : instruction_forms(on.sm)) {
      const auto narrow = [](const Format& f) { return f == e3m2 || f == e2m3; };
      const bool left_out = x.types.a != x.types.b && (narrow(x.types.a) || narrow(x.types.b) ||
                                                       x.family == Family::tcgen05_sp);
      const bool known = std::ranges::any_of(out, [&](const Instruction& y) {
        return x.model == y.model && x.types == y.types && x.k == y.k;
      });
      if (!known && !left_out) out.push_back(x);
    }
  }
  return out;
}

/// Returns for each rival whether it gives another result on a row of some generator. The rows of
/// `tiny` begin with the ladder of ever smaller products, 64 rows for each rung. Two generators
/// have more rows for rivals that show on few of them.
std::vector<bool> shown(const std::vector<Rival>& rivals, const Instruction& x) {
  std::vector<bool> out(rivals.size());
  const auto look = [&](const DotGenerator& generator, std::size_t first, std::size_t count) {
    const Dots dots = make_dots(generator, x, 1, first, count);
    for (std::size_t i = 0; i < dots.c.size(); ++i) {
      const RowOperands operands = operands_of_row(dots, i);
      const SeenRow row = seen_row(x, operands);
      for (std::size_t n = 0; n < rivals.size(); ++n) {
        if (!out[n]) out[n] = rivals[n].differs(row);
      }
    }
  };
  const auto suits = [&](const DotGenerator& generator) {
    return generator.suits(x) && !generator.chained && generator.name != "tf32_low_bits";
  };
  for (const DotGenerator& generator : dot_generators()) {
    const bool many = generator.name == "tiny" || generator.name == "block_scales";
    if (suits(generator)) look(generator, 0, many ? 4096 : 512);
  }
  for (const DotGenerator& generator : dot_generators()) {
    const bool rare = generator.name == "zero_products" || generator.name == "integers";
    std::size_t n = 0;
    while (n < rivals.size() && (out[n] || !rivals[n].shows)) ++n;
    if (rare && suits(generator) && n < rivals.size()) look(generator, 512, 4096 - 512);
  }
  return out;
}

/// Rules on which few rows depend: only those next to a tie (a double rounding, and where F is so
/// large that the last bit of a binary16 sum matters only at a tie), or near the ends of s32.
bool is_rare(const Rival& rival, const Instruction& x) {
  const bool f = rival.name == "F - 1" || rival.name == "F + 1";
  const bool double_rounding = x.model.through_f32 && rival.name == "other rounding";
  const bool wraps = x.types.a == b1 && rival.aspect == Aspect::overflow;  // sums of at most 256
  return double_rounding || wraps || (f && x.types.d == binary16 && x.types.a.storage_bits() == 8);
}

TEST_CASE("a rival shows on some row exactly where it is said to") {
  std::size_t showing = 0, silent = 0;
  for (const Instruction& x : computations()) {
    const std::vector<Rival> rivals = every_rival(x);
    const std::vector<bool> found = shown(rivals, x);
    for (std::size_t i = 0; i < rivals.size(); ++i) {
      CAPTURE(instruction_name(x));
      CAPTURE(x.sm);
      CAPTURE(rivals[i].name);
      if (is_rare(rivals[i], x) && !found[i]) continue;
      CHECK(found[i] == rivals[i].shows);
      (rivals[i].shows ? showing : silent) += 1;
    }
  }
  CHECK(showing > 1000);
  CHECK(silent > 100);
}

TEST_CASE("rivals of an instruction have names of their own, and aspects of the table") {
  for (const Instruction& x : computations()) {
    std::set<std::string> names;
    for (const Rival& rival : every_rival(x)) {
      CHECK(names.insert(rival.name).second);
      CHECK(static_cast<std::size_t>(rival.aspect) < aspect_count);
      CHECK(
          (!rival.has_model() || rival.model != x.model || rival.types != x.types || !rival.shows));
    }
  }
}

DotModel chosen(const RuleChoice& rules, const char* name = "mma.m16n8k16.f32.f16.f16.f32") {
  return with_rules(parse_instruction(name, 80).model, rules);
}

TEST_CASE("rules that a user sets") {
  CHECK(chosen({.zero_raises = "single"}).edges.zero_raises == ZeroRaises::single);
  CHECK(chosen({.zero_raises = "emin"}).edges.zero_raises == ZeroRaises::emin);
  CHECK(chosen({.cut_to_zero = "negative"}).edges.cut_keeps_sign);
  CHECK_FALSE(chosen({.cut_to_zero = "positive"}).edges.cut_keeps_sign);
  CHECK(chosen({.floor = "-126"}).exponent_floor == -126);
  CHECK(chosen({.floor = "none"}).exponent_floor < -1000);
  const char* const chain = "mma.m8n8k4.f64.f64.f64.f64";
  CHECK(chosen({.floor = "-126"}, chain) == parse_instruction(chain, 80).model);
  CHECK_THROWS_WITH_AS(chosen({.zero_raises = "yes"}),
                       "--zero-raises yes is not one of never, single, emin", Error);
  CHECK_THROWS_WITH_AS(chosen({.cut_to_zero = "-"}),
                       "--cut-to-zero - is not one of positive, negative", Error);
  for (const char* floor : {"1e3", "-601", "301", "x", "--"}) {
    CHECK_THROWS_AS(chosen({.floor = floor}), Error);
  }
}

/// Worked by hand: sm_80, L = 8, F = 24, f16 into f32, floor -132.
TEST_CASE("the rules on rows worked by hand") {
  const auto run = [](const DotModel& model, std::vector<std::uint64_t> a,
                      std::vector<std::uint64_t> b, std::uint64_t c, const DotTypes& types) {
    a.resize(8);
    b.resize(8);
    return dot(model, types, a.data(), b.data(), 8, c);
  };
  const DotTypes bf16{bfloat16, bfloat16, binary32, binary32};
  const DotModel ours = parse_instruction("mma.m16n8k8.f32.bf16.bf16.f32", 80).model;
  // 0 · 2^127 beside c = 2^-43: an exponent of 1 cuts what lies below 2^-23.
  const std::vector<std::uint64_t> zero{0}, large{0x7F00};
  CHECK(run(ours, zero, large, 0x2A000000, bf16) == 0x2A000000);
  CHECK(run(with_rules(ours, {.zero_raises = "single"}), zero, large, 0x2A000000, bf16) == 0);
  CHECK(run(with_rules(ours, {.zero_raises = "emin"}), zero, large, 0x2A000000, bf16) == 0);
  // -2^-133 · 2^-20 is below half of the smallest number, and is kept by the alignment.
  const std::vector<std::uint64_t> tiny{0x8001}, small{0x3580};
  CHECK(run(ours, tiny, small, 0, bf16) == 0);
  CHECK(run(with_rules(ours, {.cut_to_zero = "negative"}), tiny, small, 0, bf16) == 0x80000000);
  // 2^-75 · 2^-75 = 2^-150, and 2^-150 again: their sum is the smallest number, if neither is cut.
  const std::vector<std::uint64_t> two{0x1A00, 0x1A00};
  CHECK(run(ours, two, two, 0, bf16) == 1);
  CHECK(run(with_rules(ours, {.floor = "-120"}), two, two, 0, bf16) == 0);
}

}  // namespace
}  // namespace binade::rivals_test
