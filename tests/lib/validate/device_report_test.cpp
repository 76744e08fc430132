// SPDX-License-Identifier: Apache-2.0
//
// The report on a device: what counts as equal, and the contents of text and JSON.
#include "lib/validate/device_report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace binade::device_report_test {
namespace {

class FakeDevice final : public Device {
 public:
  const DeviceInfo& info() const override { return info_; }

 private:
  DeviceInfo info_{"Fake GPU", 90, 132, std::uint64_t{3} << 30, "580.1", 13020, 13000};
};

ScalarCheck compared(const char* name = "cvt.rn.f16.f32") {
  ScalarCheck check{.instruction = parse_scalar_instruction(name)};
  check.cases = cases_of(check.instruction.operation, std::uint64_t{1} << 32);
  check.tally.cases = check.cases.count;
  check.tally.hash = 0xABC;
  return check;
}

ScalarCheck different() {
  ScalarCheck check = compared();
  check.tally.mismatches = 1;
  check.first = {{0x3f801000, {0x3f801000}, 0x3c01, 0x3c00}};
  return check;
}

ScalarCheck skipped() {
  ScalarCheck check{.instruction = parse_scalar_instruction("cvt.rn.satfinite.tf32.f32")};
  check.skipped = "needs sm_100";
  return check;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("comparing nothing is not equal, and approximations are nothing") {
  CHECK_FALSE(all_equal({}));
  CHECK_FALSE(all_equal(std::vector{skipped()}));
  CHECK_FALSE(all_equal(std::vector{compared("ex2.approx.f16")}));
  CHECK(all_equal(std::vector{compared(), skipped(), compared("ex2.approx.f16")}));
}

TEST_CASE("a mismatch or another NaN is not equal, a bit in the padding is") {
  ScalarCheck nan = compared(), padding = compared();
  nan.tally.nan_differences = 1;
  padding.tally.padding = 1;
  CHECK_FALSE(all_equal(std::vector{compared(), different()}));
  CHECK_FALSE(all_equal(std::vector{compared(), nan}));
  CHECK(all_equal(std::vector{compared(), padding}));
}

TEST_CASE("a device's text has its name, capability, memory, CUDA versions and module") {
  OpenedDevice opened{std::make_unique<FakeDevice>(), {}};
  const std::string text =
      "Fake GPU: compute capability 9.0, 132 multiprocessors, 3.0 GiB\n"
      "CUDA 13.0 (module), up to 13.2 (driver 580.1)\n";
  CHECK(device_text(opened) == text);
  opened.module = {"/opt/binade_cuda.so", "80 90a"};
  CHECK(device_text(opened) == text + "module /opt/binade_cuda.so, built for 80 90a\n");
}

TEST_CASE("without a device the text is the one line that says why, and which module says so") {
  CHECK(device_text({nullptr, "no GPU: none was bought"}) == "no GPU: none was bought\n");
  CHECK(device_text({nullptr, "no GPU: none was bought", {"/opt/binade_cuda.so", "90a"}}) ==
        "no GPU: none was bought (module /opt/binade_cuda.so, built for 90a)\n");
}

TEST_CASE("a differing case is shown with its operands and both results, bits and values") {
  const std::string text =
      checks_text(std::vector{different(), skipped(), compared("ex2.approx.f16")});
  CHECK(holds(text,
              "case 1065357312: 0x3f801000 (1.00048828125): hardware 0x3c01 (1.0009765625), "
              "emulated 0x3c00 (1)"));
  CHECK(holds(text, "skipped: needs sm_100"));
  CHECK(holds(text, "recorded only"));
  CHECK(holds(text, "instructions 3: equal 0, different 1, recorded only 1, skipped 1\n"));
}

TEST_CASE("lanes are shown from the lowest on, random words as bits") {
  ScalarCheck packed = compared("fma.rn.f16x2");
  packed.tally.mismatches = 1;
  packed.first = {{7, {0x3C004000, 0x3C003C00, 0x0000BC00}, 0x3C003C00, 0x3C003C01}};
  CHECK(holds(checks_text(std::vector{packed}),
              "case 7: 0x3c004000 (2, 1), 0x3c003c00 (1, 1), 0x0000bc00 (-1, 0): "
              "hardware 0x3c003c00 (1, 1), emulated 0x3c003c01 (1.0009765625, 1)"));
  ScalarCheck random = compared("cvt.rs.satfinite.e2m1x4.f32");
  random.tally.mismatches = 1;
  random.first = {{7, {0x3F800000, 0, 0x40000000, 0xBF800000, 0x1234ABCD}, 0x2042, 0x2041}};
  CHECK(holds(checks_text(std::vector{random}),
              "0x3f800000 (1), 0x00000000 (0), 0x40000000 (2), 0xbf800000 (-1), 0x1234abcd: "
              "hardware 0x2042 (1, 2, 0, 1), emulated 0x2041 (0.5, 2, 0, 1)"));
}

TEST_CASE("the JSON carries the counts, the cases, the hash and the reasons") {
  const OpenedDevice opened{std::make_unique<FakeDevice>(), {}};
  const auto json = nlohmann::json::parse(
      device_json(opened, std::vector{different(), skipped(), compared("ex2.approx.f16")}));
  CHECK(json["schema"] == "binade.device/2");
  CHECK(json["device"]["compute_capability"] == "9.0");
  const auto& rows = json["instructions"];
  CHECK(rows[0]["cases"] == std::uint64_t{1} << 32);
  CHECK(rows[0]["exhaustive"] == true);
  CHECK(rows[0]["hash"] == "0000000000000abc");
  CHECK(rows[0]["status"] == "different");
  CHECK(rows[0]["differences"][0]["operands"][0] == "0x3f801000");
  CHECK(rows[0]["differences"][0]["hardware"] == "0x3c01");
  CHECK(rows[1]["status"] == "skipped");
  CHECK(rows[1]["reason"] == "needs sm_100");
  CHECK(rows[2]["status"] == "recorded only");
  CHECK_FALSE(rows[2].contains("mismatches"));
}

TEST_CASE("the JSON of no device is null and the reason") {
  const auto json = nlohmann::json::parse(device_json({nullptr, "no GPU: none"}, {}));
  CHECK(json["device"].is_null());
  CHECK(json["reason"] == "no GPU: none");
  CHECK(json["module"].is_null());
}

}  // namespace binade::device_report_test
