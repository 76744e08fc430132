// SPDX-License-Identifier: Apache-2.0
//
// The report of a device: what counts as equal, and what text and JSON say.
#include "lib/record/device_report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace binade {
namespace {

class FakeDevice final : public Device {
 public:
  const DeviceInfo& info() const override { return info_; }
  std::vector<ConversionCheck> check_conversions(const CheckProgress&) override { return {}; }

 private:
  DeviceInfo info_{"Fake GPU", 90, 132, std::uint64_t{3} << 30, "580.1", 13020, 13000};
};

ConversionCheck compared() {
  ConversionCheck check;
  check.instruction = "cvt.rn.f16.f32";
  check.format = binary16;
  check.inputs = std::uint64_t{1} << 32;
  return check;
}

ConversionCheck different() {
  ConversionCheck check = compared();
  check.mismatches = 1;
  check.cases = {{0x3f801000, 0x3c01, 0x3c00}};
  return check;
}

ConversionCheck skipped() {
  ConversionCheck check;
  check.instruction = "cvt.rn.tf32.f32";
  check.format = tf32;
  check.skipped = "needs compute capability 9.0";
  return check;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("comparing nothing is not equal") {
  CHECK_FALSE(all_equal({}));
  CHECK_FALSE(all_equal(std::vector{skipped()}));
  CHECK(all_equal(std::vector{compared(), skipped()}));
}

TEST_CASE("a mismatch or another NaN is not equal, a bit in the padding is") {
  ConversionCheck nan = compared(), padding = compared();
  nan.nan_differences = 1;
  padding.padding = 1;
  CHECK_FALSE(all_equal(std::vector{compared(), different()}));
  CHECK_FALSE(all_equal(std::vector{compared(), nan}));
  CHECK(all_equal(std::vector{compared(), padding}));
}

TEST_CASE("a device's text has its name, capability, memory and CUDA versions") {
  const OpenedDevice opened{std::make_unique<FakeDevice>(), {}};
  CHECK(device_text(opened) ==
        "Fake GPU: compute capability 9.0, 132 multiprocessors, 3.0 GiB\n"
        "CUDA 13.0 (program), up to 13.2 (driver)\n");
}

TEST_CASE("without a device the text is the one line that says why") {
  CHECK(device_text({nullptr, "no GPU: none was bought"}) == "no GPU: none was bought\n");
}

TEST_CASE("a differing input is shown in bits and values, with the command that explains it") {
  const std::string text = checks_text(std::vector{different(), skipped()});
  CHECK(holds(text,
              "0x3f801000 (1.00048828125): hardware 0x3c01 (1.0009765625), "
              "emulated 0x3c00 (1)"));
  CHECK(holds(text, "`binade show VALUE --format binary16 --rounding ties_to_even`"));
  CHECK(holds(text, "skipped: needs compute capability 9.0"));
}

TEST_CASE("the JSON carries the counts, the cases and the reasons") {
  const OpenedDevice opened{std::make_unique<FakeDevice>(), {}};
  const auto json = nlohmann::json::parse(device_json(opened, std::vector{different(), skipped()}));
  CHECK(json["schema"] == "binade.device/1");
  CHECK(json["device"]["compute_capability"] == "9.0");
  CHECK(json["conversions"][0]["inputs"] == std::uint64_t{1} << 32);
  CHECK(json["conversions"][0]["status"] == "different");
  CHECK(json["conversions"][0]["cases"][0]["hardware"] == "0x00003c01");
  CHECK(json["conversions"][1]["status"] == "skipped");
  CHECK(json["conversions"][1]["reason"] == "needs compute capability 9.0");
}

TEST_CASE("the JSON of no device is null and the reason") {
  const auto json = nlohmann::json::parse(device_json({nullptr, "no GPU: none"}, {}));
  CHECK(json["device"].is_null());
  CHECK(json["reason"] == "no GPU: none");
}

}  // namespace binade
