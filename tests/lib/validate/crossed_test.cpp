// SPDX-License-Identifier: Apache-2.0
//
// Whole tiles on a device: every instruction in every form, planted rules that are found with the
// rows that show them, and devices that compare less than was requested.
#include "lib/validate/crossed.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "lib/device/emulated_device.h"
#include "lib/device/record_dots.h"
#include "lib/instruction/instruction_name.h"
#include "tests/lib/io/files.h"

namespace binade::crossed_test {
namespace {

using test::has;

/// A device that reports one dot product less than it compared.
class Lazy final : public Device {
 public:
  const DeviceInfo& info() const override { return emulated_.info(); }
  CannotRun tally_crossed(const Instruction& x, const Dots& pool, const Crossing& crossing,
                          CrossTally& tally) override {
    CannotRun out = emulated_.tally_crossed(x, pool, crossing, tally);
    tally.dots -= 1;
    return out;
  }

 private:
  EmulatedDevice emulated_{90};
};

const CrossedSink nothing = [](const CrossedCheck&) {};

}  // namespace

TEST_CASE("every instruction in every form, as many dots as asked for, all equal") {
  EmulatedDevice device(90);
  std::set<std::string> names;
  std::uint64_t dots = 0;
  const CrossTally total = check_crossed(device, {.dots = 100000}, [&](const CrossedCheck& check) {
    CHECK(check.skipped.empty());
    CHECK(!check.first);
    CHECK(check.tally.dots > 0);
    names.insert(instruction_name(check.instruction));
    dots += check.tally.dots;
  });
  CHECK(names.size() == instruction_forms(90).size());
  CHECK(total.dots == dots);
  CHECK(total.dots >= 100000);
  CHECK(total.different == 0);
}

TEST_CASE("a planted rule is found, and the row it shows on differs by itself too") {
  EmulatedDevice device(90, [](DotModel& model) { model.fraction_bits -= 1; });
  std::size_t checks = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const CrossedWhat what{.dots = 20000, .seed = seed, .words = "mma.m16n8k16.f32.f16"};
    const CrossTally total = check_crossed(device, what, [&](const CrossedCheck& check) {
      checks += 1;
      REQUIRE(check.first);
      const CrossedDifference& x = *check.first;
      const Instruction& how = check.instruction;
      CHECK(x.row.d[0] != x.emulated);
      const Crossing tiles{.seed = seed, .rows = 10 * 512, .m = 16, .n = 8};
      const std::uint64_t within = check.tally.lowest % 128;
      CHECK(x.rows == crossed_rows(tiles, start_of_tile(tiles, check.tally.lowest / 128),
                                   static_cast<int>(within / 8), static_cast<int>(within % 8)));
      CHECK(x.emulated ==
            dot(how.model, how.types, x.row.a.data(), x.row.b.data(), how.k, x.row.c[0]));
      DotModel planted = how.model;
      planted.fraction_bits -= 1;
      CHECK(x.row.d[0] ==
            dot(planted, how.types, x.row.a.data(), x.row.b.data(), how.k, x.row.c[0]));
    });
    CHECK(total.different > 100);
    CHECK(total.different < total.dots);
  }
  CHECK(checks == 4);
}

TEST_CASE("the seed decides what is crossed") {
  EmulatedDevice device(80, [](DotModel& model) { model.fraction_bits -= 1; });
  const auto lowest = [&](std::uint64_t seed) {
    std::uint64_t out = 0;
    const CrossedWhat what{.dots = 5000, .seed = seed, .words = "mma.m16n8k16.f32.f16"};
    check_crossed(device, what, [&](const CrossedCheck& check) { out = check.tally.different; });
    return out;
  };
  CHECK(lowest(1) == lowest(1));
  CHECK(lowest(1) != lowest(2));
}

TEST_CASE("a device that compares less than it was asked to is caught") {
  Lazy lazy;
  const CrossedWhat what{.dots = 1000, .words = "m16n8k16.f32.f16"};
  CHECK(has(test::error_of([&] { check_crossed(lazy, what, nothing); }),
            "mma.m16n8k16.f32.f16.f16.f32: "));
  CHECK(has(test::error_of([&] { check_crossed(lazy, what, nothing); }), "dots were compared, "));
}

TEST_CASE("words that no name has") {
  EmulatedDevice device(80);
  CHECK(has(test::error_of([&] { check_crossed(device, {.words = "wgmma"}, nothing); }),
            "no instruction of sm_80 has 'wgmma' in its name"));
}

}  // namespace binade::crossed_test
