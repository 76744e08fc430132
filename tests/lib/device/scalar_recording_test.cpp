// SPDX-License-Identifier: Apache-2.0
//
// Recordings of scalar instructions: what is written is read back, and every spoiled file is
// refused with its name, what is wrong and what to do.
#include "lib/device/scalar_recording.h"

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "lib/device/emulated_device.h"
#include "tests/lib/device/spoiled_recording.h"

namespace binade::scalar_recording_test {
namespace {

using test::error_of;
using test::has;

ScalarRecording recorded(const char* name, std::uint64_t most, std::uint64_t samples) {
  EmulatedDevice device(103);
  const ScalarInstruction& x = parse_scalar_instruction(name);
  const ScalarCases cases = cases_of(x.operation, most, 5);
  ScalarTally tally;
  CHECK_FALSE(device.tally_scalar(x, cases, 0, cases.count, tally));
  return record_scalar(device, x, cases, tally, samples);
}

/// A recording of two seeded cases as text, then spoiled.
struct Spoiled : test::SpoiledRecording {
  Spoiled() {
    metadata = {
        {"gpu", "g"},
        {"driver", "1"},
        {"cuda", "13"},
        {"ptx", "p"},
        {"sass", "s"},
        {"date", "today"},
        {"kind", "scalar"},
        {"instruction", "add.f32"},
        {"architecture", "sm_90"},
        {"cases", "seeded"},
        {"seed", "1"},
        {"samples", "2"},
        {"hashed_cases", "70000"},
        {"hash", "0123456789abcdef"},
    };
    header = {{"d", {{"dtype", "U32"}, {"shape", {2}}, {"data_offsets", {0, 8}}}}};
    data = std::string(8, '\0');
  }
};

std::string refused(const std::function<void(Spoiled&)>& spoil) {
  Spoiled file;
  spoil(file);
  return test::refusal_of_bytes(file.text(),
                                [](const std::string& path) { read_scalar_recording(path); });
}

std::string with(const char* key, const char* value) {
  return refused([=](Spoiled& x) { x.metadata[key] = value; });
}

}  // namespace

TEST_CASE("what is written is read back, of every width of results") {
  const test::Folder folder;
  for (const char* name :
       {"cvt.rn.satfinite.e2m1x2.f32", "cvt.rn.f16.f64", "add.f32", "fma.rn.f32x2",
        "cvt.rs.satfinite.e4m3x4.f32", "cvt.f32.f16", "red.shared.add.f32"}) {
    CAPTURE(name);
    const ScalarRecording x = recorded(name, 70000, 100);
    const std::string path = folder / "x.safetensors";
    write_scalar_recording(path, x);
    CHECK(is_scalar_recording(path));
    const ScalarRecording y = read_scalar_recording(path);
    CHECK(y.d == x.d);
    CHECK(y.hash == x.hash);
    CHECK(y.instruction.name == name);
    CHECK(y.cases.count == x.cases.count);
    CHECK(y.cases.exhaustive == x.cases.exhaustive);
    CHECK(y.cases.seed == 5);
    CHECK(y.origin.gpu == "emulated sm_103");
    CHECK(y.origin.architecture == "sm_103");
    CHECK(y.origin.sass == "unknown");
    CHECK(y.origin.date == "unknown");
    const ScalarOperation& how = x.instruction.operation;
    for (std::uint64_t i = 0; i < y.d.size(); ++i) {
      CHECK(y.d[i] == emulate(how, operands_of(how, y.cases, y.number_of(i))));
    }
  }
}

TEST_CASE("samples are kept, of an approximation all where there are at most 2^16") {
  CHECK(recorded("cvt.f32.f16", 70000, 100).d.size() == 100);
  CHECK(recorded("cvt.rn.f16x2.e2m1x2", 70000, 300).d.size() == 256);
  CHECK(recorded("add.f32", 70000, 80000).d.size() == 70000);
  class Squaring final : public Device {
   public:
    const DeviceInfo& info() const override { return info_; }
    CannotRun run_scalar(const ScalarInstruction&, const ScalarCases&,
                         std::span<const std::uint64_t> numbers,
                         std::span<std::uint64_t> results) override {
      for (std::size_t i = 0; i < numbers.size(); ++i)
        results[i] = numbers[i] * numbers[i] & 0xFFFF;
      return std::nullopt;
    }

   private:
    DeviceInfo info_{};
  } device;
  const auto kept = [&device](const char* name, std::uint64_t samples) {
    const ScalarInstruction& x = parse_scalar_instruction(name);
    const ScalarCases cases = cases_of(x.operation, std::uint64_t{1} << 32);
    ScalarTally tally;
    tally.cases = cases.count;
    return record_scalar(device, x, cases, tally, samples).d;
  };
  CHECK(kept("tanh.approx.f16", 100).size() == 65536);
  CHECK(kept("tanh.approx.f16", 100)[300] == (300 * 300 & 0xFFFF));
  CHECK(kept("sin.approx.f32", 100).size() == 131072);
  CHECK(kept("sin.approx.ftz.f32", 100).size() == 100);
  CHECK(kept("sin.approx.ftz.f32", 200000).size() == 131072);
}

TEST_CASE("a recording of no samples, of unrun cases or of an approximation is not made") {
  EmulatedDevice device(90);
  const ScalarInstruction& x = parse_scalar_instruction("add.f32");
  ScalarTally tally;
  CHECK(has(error_of([&] {
              record_scalar(device, x, {10, false, 1}, tally);
            }),
            "add.f32: 0 of 10 cases were run"));
  tally.cases = 10;
  CHECK(has(error_of([&] { record_scalar(device, x, {10, false, 1}, tally, 0); }), "0 samples"));
  CHECK(
      has(error_of([&] {
            record_scalar(device, parse_scalar_instruction("fma.rn.f32x2"), {10, false, 1}, tally);
          }),
          "fma.rn.f32x2: needs sm_100"));
}

TEST_CASE("a whole file made by hand is read") {
  CHECK(refused([](Spoiled&) {}) == "");
}

TEST_CASE("every key of the metadata must be there, and say what it can") {
  const Spoiled good;
  for (const auto& entry : good.metadata) {
    const std::string key = entry.first;
    CAPTURE(key);
    CHECK(has(refused([&](Spoiled& x) { x.metadata.erase(key); }),
              "no '" + key + "' in its metadata; it is no recording, or record it again"));
    CHECK(has(refused([&](Spoiled& x) { x.metadata[key] = ""; }), "'"));
  }
  CHECK(has(with("kind", "dots"), "metadata 'kind' is 'dots'; it must be scalar"));
  CHECK(has(with("instruction", "add.f31"), "no scalar instruction 'add.f31'; did you mean"));
  CHECK(has(with("cases", "all"), "it must be exhaustive or seeded"));
  CHECK(has(with("cases", "exhaustive"), "it must be of seeded cases, as add.f32 has too many"));
  for (const char* key : {"seed", "samples", "hashed_cases"}) {
    for (const char* number : {"-1", "1.0", "0x1", " 1", "18446744073709551616", "many"}) {
      CHECK(has(with(key, number), "it must be a whole number below 2^64"));
    }
  }
  CHECK(has(with("samples", "0"), "no samples; there is nothing to compare"));
  CHECK(has(with("samples", "70001"), "it must be at most 70000"));
  CHECK(has(with("hashed_cases", "0"), "no cases; there is nothing to compare"));
  CHECK(has(with("samples", "3"), "tensor 'd' is U32 (2,); its metadata promise U32 (3,)"));
  CHECK(has(with("hash", "0123456789ABCDEF"), "it must be 16 digits of 0-9 and a-f"));
  CHECK(has(with("instruction", "add.f16"), "tensor 'd' is U32 (2,); its metadata promise U16"));
  CHECK(has(refused([](Spoiled& x) {
              x.metadata["instruction"] = "add.f16";
              x.metadata["cases"] = "exhaustive";
            }),
            "it must be 4294967296, as many as add.f16 has"));
  CHECK(has(refused([](Spoiled& x) {
              x.metadata["hashed_cases"] = "18446744073709551615";
              x.metadata["samples"] = "1048577";
            }),
            "it must be at most 1048576"));
}

TEST_CASE("where all cases are kept their hash must be the recorded one") {
  CHECK(has(with("hashed_cases", "2"), "recorded with 0123456789abcdef; the file is damaged"));
}

TEST_CASE("d stands alone") {
  CHECK(has(refused([](Spoiled& x) {
              x.header["a"] = {{"dtype", "U32"}, {"shape", {1}}, {"data_offsets", {8, 12}}};
              x.data += std::string(4, '\0');
            }),
            "2 tensors; a recording of a scalar instruction holds d alone"));
  CHECK(has(refused([](Spoiled& x) {
              x.header["e"] = x.header["d"];
              x.header.erase("d");
            }),
            "no tensor 'd'"));
}

TEST_CASE("what is no .safetensors is refused, and another recording is not scalar") {
  const test::Folder folder;
  CHECK(has(error_of([&] { read_scalar_recording(folder / "none"); }), "none: "));
  const std::string cut = Spoiled().text();
  for (std::size_t n = 0; n < cut.size(); n += 7) {
    const std::string path = folder.write("cut", cut.substr(0, n));
    CHECK(has(error_of([&] { read_scalar_recording(path); }), path + ": "));
  }
  Spoiled dots;
  dots.metadata.erase("kind");
  CHECK_FALSE(is_scalar_recording(folder.write("dots", dots.text())));
}

}  // namespace binade::scalar_recording_test
