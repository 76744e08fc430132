// SPDX-License-Identifier: Apache-2.0
//
// The device that is the emulator: it agrees with itself on every instruction and generator, a
// planted rule makes it differ, and it says what it cannot run. A device without Tensor Cores says
// that, too.
#include "lib/device/emulated_device.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string>

#include "emulate/range_count.h"
#include "lib/cases/crossing.h"
#include "lib/cases/dot_cases.h"
#include "lib/cases/scalar_cases.h"
#include "lib/device/matrix_product.h"
#include "lib/device/scalar_tally.h"
#include "lib/instruction/instruction_name.h"
#include "lib/validate/replay.h"
#include "tests/lib/io/files.h"

namespace binade::emulated_device_test {
namespace {

using test::error_of;
using test::has;

class Bare final : public Device {
 public:
  const DeviceInfo& info() const override { return info_; }

 private:
  DeviceInfo info_{.name = "bare", .compute_capability = 80};
};

DeviceRows some_rows(std::uint64_t rows) { return {.rows = rows}; }

}  // namespace

TEST_CASE("on every architecture all instructions are run, and equal") {
  for (const Architecture& on : architectures) {
    const int sm = on.sm;
    CAPTURE(sm);
    EmulatedDevice device(sm);
    CHECK(device.info().compute_capability == sm);
    std::set<std::string> instructions, generators;
    const SetTotals totals =
        check_device(device, some_rows(24), 5, [&](const CheckedSet& set, const Dots& dots) {
          CHECK(set.skipped.empty());
          CHECK(set.check.rows == dots.d.size());
          CHECK(set.check.different == 0);
          CHECK(set.instruction.sm == sm);
          instructions.insert(instruction_name(set.instruction));
          generators.insert(set.source);
        });
    CHECK(instructions.size() == instructions_of(sm).size());
    // without tf32 and integers, and without scales of blocks
    CHECK(generators.size() == dot_generators().size() - (sm < 80 ? 2 : 0) - (sm < 100 ? 1 : 0));
    CHECK(totals.rows > 0);
    CHECK(totals.equal() == totals.rows);
  }
}

TEST_CASE("a planted rule is found, in the instructions that have it") {
  EmulatedDevice device(90, [](DotModel& model) {
    if (model.fraction_bits == 25) model.fraction_bits = 24;
  });
  DeviceRows what = some_rows(500);
  what.generator = "bounded_exponents";
  std::uint64_t different = 0;
  const SetTotals totals = check_device(device, what, 2, [&](const CheckedSet& set, const Dots&) {
    const std::string name = instruction_name(set.instruction);
    CAPTURE(name);
    const bool planted = set.instruction.model.fraction_bits == 25;
    // 16-bit results show it in few rows.
    const bool shows = planted && set.instruction.types.d == binary32;
    if (!planted) CHECK(set.check.different == 0);
    if (shows) CHECK(set.check.first.size() == 2);
    different += set.check.different;
  });
  const auto all = instructions_of(90);
  const auto of_floats = [](const Instruction& x) { return !is_integer(x.types.a); };
  CHECK(totals.sets == static_cast<std::uint64_t>(std::ranges::count_if(all, of_floats)));
  CHECK(totals.different == different);
  CHECK(totals.equal() + different == totals.rows);
}

TEST_CASE("the seed matters, and each generator comes alone") {
  EmulatedDevice device(80);
  const auto inputs = [&](std::uint64_t seed) {
    std::vector<std::uint64_t> out;
    const DeviceRows what{.rows = 3, .seed = seed, .generator = "normal"};
    check_device(device, what, 0, [&](const CheckedSet& set, const Dots& dots) {
      CHECK(set.source == "normal, seed " + std::to_string(seed));
      out.insert(out.end(), dots.a.begin(), dots.a.end());
    });
    return out;
  };
  CHECK(inputs(1) == inputs(1));
  CHECK(inputs(1) != inputs(2));
}

TEST_CASE("no rows, an unknown generator, an unknown architecture, another's instruction") {
  const SetSink none = [](const CheckedSet&, const Dots&) {};
  EmulatedDevice device(90);
  CHECK(has(error_of([&] { check_device(device, some_rows(0), 5, none); }), "nothing to compare"));
  const DeviceRows unknown{.generator = "tinny"};
  CHECK(has(error_of([&] { check_device(device, unknown, 5, none); }), "did you mean tiny?"));
  EmulatedDevice old(61);
  CHECK(has(error_of([&] { check_device(old, some_rows(1), 5, none); }), "no architecture '61'"));
  Dots dots;
  const Instruction ampere = parse_instruction("mma.m16n8k16.f32.f16.f16.f32", 80);
  CHECK(device.run_dots(ampere, dots) == "emulated sm_90 runs no instructions of sm_80");
  dots.c = {0};
  EmulatedDevice fitting(80);
  CHECK(has(error_of([&] { fitting.run_dots(ampere, dots); }),
            "1 rows that do not fit a and b, or their scales"));
}

TEST_CASE("a device without Tensor Core instructions skips them all, with the reason") {
  Bare bare;
  std::size_t skipped = 0;
  const SetTotals totals =
      check_device(bare, some_rows(4), 5, [&](const CheckedSet& set, const Dots&) {
        CHECK(set.skipped == "this device has no Tensor Core instructions");
        skipped += 1;
      });
  CHECK(skipped == instructions_of(80).size());
  CHECK(totals.sets == 0);
  CHECK(totals.rows == 0);
}

TEST_CASE("crossed tiles count every element, and find a planted rule at its first dot") {
  const Instruction how = parse_instruction("mma.m16n8k16.f32.bf16.bf16.f32", 90);
  const Dots pool = make_dots(parse_dot_generator("bounded_exponents"), how, 3, 0, 50);
  Crossing crossing{.seed = 2, .first = 7, .tiles = 40, .rows = 50, .m = 16, .n = 8};
  CrossTally tally;
  EmulatedDevice right(90);
  CHECK(!right.tally_crossed(how, pool, crossing, tally));
  CHECK(tally == CrossTally{40 * 128, 0, CrossTally::none});

  EmulatedDevice wrong(90, [](DotModel& model) { model.fraction_bits -= 1; });
  CHECK(!wrong.tally_crossed(how, pool, crossing, tally));
  CHECK(tally.dots == 40 * 128);
  CHECK(tally.different > 0);
  const std::uint64_t lowest = tally.lowest;
  // Only the tile of that dot product has it as its first difference; the tiles before have none.
  crossing.first = lowest / 128;
  crossing.tiles = 1;
  CHECK(!wrong.tally_crossed(how, pool, crossing, tally));
  CHECK(tally.lowest == lowest);
  crossing.tiles = lowest / 128 - 7;
  crossing.first = 7;
  CHECK(!wrong.tally_crossed(how, pool, crossing, tally));
  CHECK(tally == CrossTally{crossing.tiles * 128, 0, CrossTally::none});
}

TEST_CASE("crossings that do not fit are errors; wgmma's tiles may be m64n8") {
  const Instruction how = parse_instruction("wgmma.m64n128k16.f32.f16.f16", 90);
  const Dots pool = make_dots(parse_dot_generator("normal"), how, 3, 0, 9);
  EmulatedDevice device(90);
  CrossTally tally;
  const auto run = [&](std::uint32_t rows, int m, int n) {
    return error_of([&] {
      device.tally_crossed(how, pool, {.tiles = 1, .rows = rows, .m = m, .n = n}, tally);
    });
  };
  CHECK(run(9, 64, 8).empty());
  CHECK(tally.dots == 512);
  CHECK(run(9, 64, 128).empty());
  CHECK(has(run(9, 64, 16), "fits neither"));
  CHECK(has(run(9, 16, 8), "a crossing of 9 rows in tiles of 16 × 8 fits neither"));
  CHECK(has(run(8, 64, 8), "fits neither"));
  EmulatedDevice old(80);
  CHECK(old.tally_crossed(how, pool, {}, tally) == "emulated sm_80 runs no instructions of sm_90");
}

TEST_CASE(
    "scalar instructions of its architecture are run, approximations and later ones are not") {
  EmulatedDevice device(90);
  CHECK(device.info().name == "emulated sm_90");
  for (const ScalarInstruction& x : scalar_instructions()) {
    CAPTURE(x.name);
    ScalarTally tally;
    const CannotRun why = device.tally_scalar(x, cases_of(x.operation, 100), 0, 100, tally);
    const bool lacking = x.target.sm > 90;
    CHECK(why.has_value() == (lacking || !x.is_emulated()));
    CHECK(tally.cases == (why ? 0 : 100));
    CHECK(tally.mismatches + tally.nan_differences == 0);
    if (why)
      CHECK(*why == (x.is_emulated() ? "needs " + sm_target_name(x.target)
                                     : "approximations have no emulation"));
  }
}

TEST_CASE("tallies add up over any cuts of the cases") {
  EmulatedDevice device(90);
  const ScalarInstruction& x = parse_scalar_instruction("fma.rn.f32");
  const ScalarCases cases = cases_of(x.operation, 200000);
  ScalarTally whole, parts;
  CHECK_FALSE(device.tally_scalar(x, cases, 0, cases.count, whole));
  for (const std::uint64_t end : {1U, 70000U, 70001U, 200000U}) {
    CHECK_FALSE(device.tally_scalar(x, cases, parts.cases, end, parts));
  }
  CHECK(whole == parts);
  CHECK(whole.cases == 200000);
}

TEST_CASE("a planted scalar rule shows in tallies and in results") {
  EmulatedDevice device(90, {},
                        [](ScalarOperation& x) { x.arithmetic.attributes.flush_results = true; });
  const ScalarInstruction& x = parse_scalar_instruction("mul.f32");
  const ScalarCases cases = cases_of(x.operation, 20000);
  ScalarTally tally;
  CHECK_FALSE(device.tally_scalar(x, cases, 0, cases.count, tally));
  REQUIRE(tally.mismatches > 0);
  const std::array numbers{tally.lowest_mismatch};
  std::array<std::uint64_t, 1> results{};
  CHECK_FALSE(device.run_scalar(x, cases, numbers, results));
  CHECK((results[0] & 0x7FFFFFFF) == 0);
  CHECK(is_subnormal(emulate(x.operation, operands_of(x.operation, cases, numbers[0])), binary32));
}

std::vector<float> some_floats(std::size_t n) {
  std::vector<float> out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(std::bit_cast<float>(random_word(7, 0, i)));
  return out;
}

TEST_CASE("bulk work is the definitions' own: bytes, counts and places in the stream") {
  EmulatedDevice device(70);
  const std::vector<float> in = some_floats(20000);
  const Quantizer to{.format = e5m2, .attributes = {.rounding = Rounding::stochastic}, .seed = 4};
  std::vector<float> want(in.size()), got(in);
  EventCounts want_counts, got_counts;
  quantize(in.data(), want.data(), in.size(), 77, to, want_counts);
  CHECK_FALSE(device.quantize(got, got, 77, to, got_counts));
  CHECK(std::ranges::equal(got, want, [](float x, float y) { return bits_of(x) == bits_of(y); }));
  CHECK(got_counts == want_counts);
  const std::array columns{ErrorColumn{binary16, 3}};
  const auto ours = std::make_unique<RangeBlock<float>>();
  const auto theirs = std::make_unique<RangeBlock<float>>();
  ours->reset(columns);
  theirs->reset(columns);
  range_count(in.data(), in.size(), *ours);
  CHECK_FALSE(device.range_count(in, columns, *theirs));
  CHECK(theirs->rows[100].count == ours->rows[100].count);
  CHECK(theirs->rows[100].squared_error == ours->rows[100].squared_error);
  CHECK(theirs->largest == ours->largest);
  theirs->reset(columns);
  CHECK_FALSE(device.range_count_at(in.data(), in.size(), columns, 0, *theirs));
  CHECK(theirs->rows[100].count == ours->rows[100].count);
  CHECK(theirs->rows[100].squared_error == ours->rows[100].squared_error);
  CHECK(theirs->smallest == ours->smallest);
}

TEST_CASE("products are chains of whatever instruction, and follow what is planted") {
  const Instruction how = parse_instruction("wmma.m16n16k16.f16.f16.f16.f32", 80);
  const Dots rows = make_dots(parse_dot_generator("normal"), how, 3, 0, 12);
  std::vector<std::uint64_t> sums(36);
  const auto k = 2 * how.k;
  ProductWay way = ProductWay::instruction;
  EmulatedDevice device(90);
  CHECK_FALSE(device.multiply({how, 6, 6, k, rows.a, rows.b, sums}, way));
  CHECK(way == ProductWay::emulated);
  for (std::size_t at = 0; at < sums.size(); ++at) {
    const auto i = at / 6 * static_cast<std::size_t>(k);
    const auto j = at % 6 * static_cast<std::size_t>(k);
    std::uint64_t want = 0;
    for (int step = 0; step < 2; ++step) {
      want = dot(how.model, how.types, rows.a.data() + i + step * how.k,
                 rows.b.data() + j + step * how.k, how.k, convert(want, binary16, binary32).bits);
    }
    CHECK(sums[at] == want);
  }
  EmulatedDevice wrong(90, [](DotModel& model) { model.fraction_bits -= 9; });
  std::vector<std::uint64_t> other(36);
  CHECK_FALSE(wrong.multiply({how, 6, 6, k, rows.a, rows.b, other}, way));
  CHECK(other != sums);
}

TEST_CASE("a device without bulk work says so") {
  Bare bare;
  EventCounts counts;
  ProductWay way{};
  const auto block = std::make_unique<RangeBlock<float>>();
  CHECK(bare.quantize({}, {}, 0, {}, counts) == "this device quantizes nothing");
  CHECK(bare.range_count({}, {}, *block) == "this device counts no ranges");
  CHECK(bare.range_count_at(nullptr, 0, {}, 0, *block) ==
        "this device counts no ranges in its memory");
  CHECK(bare.multiply({}, way) == "this device multiplies no matrices");
  CHECK_NOTHROW(expect_done(bare, std::nullopt));
  CHECK(error_of([&] { expect_done(bare, "it cannot"); }) == "bare: it cannot; leave --device out");
}

TEST_CASE("a device without scalar instructions says so") {
  Bare bare;
  ScalarTally tally;
  const ScalarInstruction& x = parse_scalar_instruction("add.f32");
  CHECK(bare.tally_scalar(x, {1, false, 1}, 0, 1, tally) ==
        "this device has no scalar instructions");
  CHECK(bare.run_scalar(x, {1, false, 1}, {}, {}) == "this device has no scalar instructions");
}

}  // namespace binade::emulated_device_test
