// SPDX-License-Identifier: Apache-2.0
//
// Scalar instructions on a device, and replayed recordings of them, against the emulator: on a
// device that is the emulator all are equal, a planted rule is found and its lowest cases are
// listed, and the division into slices changes nothing.
#include "lib/validate/scalar.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lib/device/emulated_device.h"
#include "lib/validate/replay.h"
#include "tests/lib/io/files.h"

namespace binade::scalar_test {
namespace {

using test::error_of;
using test::has;

ScalarCheck check(Device& device, const char* name, const ScalarOptions& options = {}) {
  return check_scalar(device, parse_scalar_instruction(name), options, nullptr);
}

/// Returns a device whose instructions truncate where they should round.
EmulatedDevice truncating() {
  return EmulatedDevice(100, {}, [](ScalarOperation& x) {
    x.cvt.attributes.rounding = x.arithmetic.attributes.rounding = Rounding::toward_zero;
  });
}

/// Returns a device whose instructions give another NaN.
EmulatedDevice quiet() {
  return EmulatedDevice(100, {}, [](ScalarOperation& x) {
    x.cvt.attributes.nan = x.arithmetic.attributes.nan = NanResult::quiet;
  });
}

std::vector<std::uint64_t> numbers_of(const ScalarCheck& x) {
  std::vector<std::uint64_t> out;
  for (const ScalarDifference& one : x.first) out.push_back(one.number);
  return out;
}

}  // namespace

TEST_CASE("on a device that is the emulator all instructions are equal") {
  EmulatedDevice device(100);
  std::vector<ScalarCheck> checks;
  for (const ScalarInstruction& x : scalar_instructions_with({})) {
    CAPTURE(x.name);
    checks.push_back(check_scalar(device, x, {.cases = 300}, nullptr));
    CHECK(checks.back().skipped.empty() == x.is_emulated());
    CHECK(checks.back().was_compared() == x.is_emulated());
    CHECK_FALSE(checks.back().differs());
    CHECK(checks.back().first.empty());
  }
  CHECK(checks.size() == scalar_instructions().size());
  CHECK(all_equal(checks));
}

TEST_CASE("a rule that is wrong is found in every instruction that rounds to nearest") {
  EmulatedDevice device = truncating();
  for (const char* name :
       {"cvt.rn.f16.f32", "cvt.rn.satfinite.e4m3x2.f32", "cvt.rn.f32.f64", "cvt.rn.bf16x2.f32",
        "cvt.rn.f16.bf16", "add.f32", "mul.ftz.f32", "fma.rn.f32", "fma.rn.f16x2", "add.f16x2",
        "sub.f32x2", "fma.rn.bf16", "add.f32.f16", "red.global.add.f32"}) {
    CAPTURE(name);
    const ScalarCheck found = check(device, name, {.cases = 20000});
    CHECK(found.differs());
    CHECK(found.tally.mismatches > 100);
    CHECK(found.tally.nan_differences == 0);
    CHECK(found.first.size() == 8);
    CHECK_FALSE(all_equal(std::vector{found}));
  }
  CHECK_FALSE(check(device, "cvt.rz.f16.f32", {.cases = 20000}).differs());
}

TEST_CASE("the lowest differing cases are listed in order, with both results") {
  EmulatedDevice device = truncating();
  const ScalarCheck found = check(device, "add.f32", {.cases = 20000, .slice = 64, .keep = 40});
  const ScalarOperation& x = found.instruction.operation;
  std::vector<std::uint64_t> expected;
  for (std::uint64_t n = 0; n < 20000 && expected.size() < 40; ++n) {
    ScalarOperation other = x;
    other.arithmetic.attributes.rounding = Rounding::toward_zero;
    const ScalarOperands operands = operands_of(x, found.cases, n);
    if (emulate(x, operands) != emulate(other, operands)) expected.push_back(n);
  }
  CHECK(numbers_of(found) == expected);
  for (const ScalarDifference& one : found.first) {
    CHECK(one.operands == operands_of(x, found.cases, one.number));
    CHECK(one.emulated == emulate(x, one.operands));
    CHECK(one.hardware != one.emulated);
  }
}

TEST_CASE("NaN differences are listed behind the mismatches, and are no mismatches") {
  EmulatedDevice device = quiet();
  const ScalarCheck found = check(device, "add.f16", {.cases = 20000, .keep = 3});
  CHECK(found.tally.mismatches == 0);
  CHECK(found.tally.nan_differences > 100);
  CHECK(found.first.size() == 3);
  CHECK(found.differs());
  CHECK_FALSE(all_equal(std::vector{found}));
}

TEST_CASE("slices change nothing but the progress") {
  EmulatedDevice device = truncating();
  const ScalarInstruction& x = parse_scalar_instruction("fma.rn.f32");
  const ScalarCheck whole = check_scalar(device, x, {.cases = 10000}, nullptr);
  std::vector<double> told;
  const ScalarCheck sliced = check_scalar(device, x, {.cases = 10000, .slice = 96},
                                          [&](std::string_view name, double fraction) {
                                            CHECK(name == "fma.rn.f32");
                                            told.push_back(fraction);
                                          });
  CHECK(sliced.tally == whole.tally);
  CHECK(numbers_of(sliced) == numbers_of(whole));
  CHECK(told.size() == 105);
  CHECK(std::ranges::is_sorted(told));
  CHECK(told.back() == 1);
}

TEST_CASE("few inputs are all run, and the seed makes others of seeded cases only") {
  EmulatedDevice device(90);
  const ScalarCheck all = check(device, "cvt.bf16.bf16");
  CHECK(all.cases.exhaustive);
  CHECK(all.tally.cases == 65536);
  CHECK(all.tally.hash == check(device, "cvt.bf16.bf16", {.seed = 9}).tally.hash);
  const auto seeded = [&](std::uint64_t seed) {
    return check(device, "add.f32", {.cases = 100, .seed = seed}).tally.hash;
  };
  CHECK(seeded(1) == seeded(1));
  CHECK(seeded(1) != seeded(2));
  CHECK(default_cases(parse_scalar_instruction("fma.rn.ftz.f32").operation) == 10'000'000'000);
  CHECK(default_cases(parse_scalar_instruction("fma.rn.f16x2").operation) == 10'000'000'000);
  CHECK(default_cases(parse_scalar_instruction("add.rz.f32").operation) == 1'000'000'000);
  CHECK(default_cases(parse_scalar_instruction("cvt.rn.f32.f64").operation) == 1'000'000'000);
}

TEST_CASE("what the device lacks is skipped with the reason, nonsense is refused") {
  EmulatedDevice device(90);
  const ScalarCheck lacking = check(device, "fma.rn.f32x2", {.cases = 10});
  CHECK(lacking.skipped == "needs sm_100");
  CHECK_FALSE(lacking.was_compared());
  CHECK(has(error_of([&] { check(device, "add.f32", {.cases = 0}); }), "nothing to compare"));
  CHECK(has(error_of([&] { check(device, "add.f32", {.slice = 33}); }), "a multiple of 32"));
  const std::vector<std::string> words{"cvt.rn.f16x2", "tanh"};
  for (const ScalarInstruction& x : scalar_instructions_with(words)) {
    CHECK((has(x.name, "cvt.rn.f16x2") || has(x.name, "tanh")));
  }
  const std::vector<std::string> wrong{"cvt.rn.f16.f23"};
  CHECK(has(error_of([&] { scalar_instructions_with(wrong); }),
            "no scalar instruction has 'cvt.rn.f16.f23' in its name; did you mean "
            "cvt.rn.f16.f32?"));
}

TEST_CASE("a device that loses cases is caught") {
  class Losing final : public Device {
   public:
    const DeviceInfo& info() const override { return info_; }
    CannotRun tally_scalar(const ScalarInstruction&, const ScalarCases&, std::uint64_t first,
                           std::uint64_t end, ScalarTally& tally) override {
      tally.cases += end - first - 1;
      return std::nullopt;
    }

   private:
    DeviceInfo info_{};
  } losing;
  CHECK(has(error_of([&] { check(losing, "add.f32", {.cases = 10}); }),
            "add.f32: 9 of 10 cases were run"));
}

TEST_CASE("recordings are replayed: equal ones, wrong ones, approximations") {
  const test::Folder folder;
  EmulatedDevice right(100), wrong = truncating();
  const auto record = [&](Device& device, const char* name) {
    const ScalarCheck done = check(device, name, {.cases = 70000});
    std::string path = folder / name + ".safetensors";
    write_scalar_recording(path,
                           record_scalar(device, done.instruction, done.cases, done.tally, 256));
    return path;
  };
  std::vector<std::string> paths{record(right, "cvt.bf16.bf16"), record(right, "add.f32"),
                                 record(wrong, "mul.f32")};
  ScalarRecording approximation{.origin = {},
                                .instruction = parse_scalar_instruction("tanh.approx.f32"),
                                .cases = {1 << 17, true, 1},
                                .hash = 0,
                                .d = std::vector<std::uint64_t>(16)};
  approximation.origin.instruction = "tanh.approx.f32";
  approximation.origin.architecture = "sm_90";
  paths.push_back(folder / "tanh.safetensors");
  write_scalar_recording(paths.back(), approximation);

  std::vector<CheckedScalar> sets;
  const SetTotals totals = replay(
      paths, 3, {}, [](const CheckedSet&, const Dots&) {},
      [&](const CheckedScalar& set) { sets.push_back(set); });
  REQUIRE(sets.size() == 4);
  CHECK(totals.sets == 3);
  CHECK(totals.recorded_only == 1);
  CHECK(totals.rows == 3 * 256);
  CHECK(totals.different == sets[2].check.tally.mismatches);
  CHECK(sets[0].origin.gpu == "emulated sm_100");
  CHECK_FALSE(sets[0].check.differs());
  CHECK_FALSE(sets[1].check.differs());
  CHECK(sets[2].check.tally.mismatches > 10);
  CHECK(sets[2].check.first.size() == 3);
  for (const ScalarDifference& one : sets[2].check.first) CHECK(one.hardware != one.emulated);
  CHECK(sets[0].check.first.empty());
  CHECK_FALSE(sets[3].check.was_compared());
  CHECK(has_emulated_hash(read_scalar_recording(paths[0])));
  CHECK(has_emulated_hash(read_scalar_recording(paths[1])));
  CHECK_FALSE(has_emulated_hash(read_scalar_recording(paths[2])));
  CHECK(has(error_of([&] { has_emulated_hash(approximation); }), "have no emulation"));
}

TEST_CASE("of a recording too NaN differences stand behind the mismatches") {
  EmulatedDevice right(90);
  const ScalarCheck done = check(right, "fma.rn.f16", {.cases = 70000});
  ScalarRecording recording = record_scalar(right, done.instruction, done.cases, done.tally, 1000);
  std::size_t nan = 0, number = 0;
  for (std::size_t i = recording.d.size(); i-- > 0;) {
    std::size_t& last = recording.d[i] == 0x7FFF ? nan : number;
    last = i;
  }
  recording.d[nan] = 0x7E00;
  recording.d[number] ^= 1;
  const ScalarCheck found = check_recording(recording, 5);
  CHECK(found.tally.mismatches == 1);
  CHECK(found.tally.nan_differences == 1);
  REQUIRE(found.first.size() == 2);
  CHECK(found.first[0].number == recording.number_of(number));
  CHECK(found.first[1].number == recording.number_of(nan));
  CHECK(check_recording(recording, 0).first.empty());
}

}  // namespace binade::scalar_test
