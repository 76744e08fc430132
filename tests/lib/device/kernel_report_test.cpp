// SPDX-License-Identifier: Apache-2.0
//
// The report on a device's bulk kernels: what counts as equal, and the contents of text and JSON.
#include "lib/device/kernel_report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <vector>

namespace binade::kernel_report_test {
namespace {

const KernelCheck equal{"quantize", "e4m3 stochastic", 1000, 0, ""};
const KernelCheck also_equal{"quantize", "binary16 ties_to_even", 500, 0, ""};
const KernelCheck different{"range_count", "77 floats", 10, 2,
                            "element 3: GPU 0x1, definition 0x0"};
const KernelCheck empty{"gemm", "f16", 0, 0, ""};

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("equal is: every check compared something, there is one, and nothing differs") {
  CHECK(all_equal(std::vector{equal, also_equal}));
  CHECK(!all_equal(std::vector{equal, different}));
  CHECK(!all_equal(std::vector{equal, empty}));
  CHECK(!all_equal(std::vector<KernelCheck>{}));
}

TEST_CASE("the text sums up kernels and names what differs") {
  const std::string text = kernel_checks_text(std::vector{equal, also_equal, different, empty});
  CHECK(holds(text, "quantize                2         1500          0\n"));
  CHECK(holds(text, "range_count             1           10          2\n"));
  CHECK(holds(text,
              "range_count, 77 floats: 2 of 10 results differ, first element 3: GPU 0x1, "
              "definition 0x0\n"));
  CHECK(holds(text, "gemm, f16: nothing compared\n"));
  CHECK(!holds(text, "stochastic"));
}

const std::vector<KernelRate> rates{
    {"copy", "kernel, 1 GiB", "GB/s", 4000, 0, ""},
    {"range_count", "binary32", "GB/s", 3600, 4000, "copy of device memory"},
    {"gemm", "f16", "TFLOP/s", 300, 0, "cuBLAS was not found"}};

TEST_CASE("a rate is told with its share of the limit, or with why there is none") {
  const std::string text = kernel_rates_text(rates);
  CHECK(holds(text, "4000 GB/s    \n"));
  CHECK(holds(text, "3600 GB/s      90.0 % of 4000, copy of device memory\n"));
  CHECK(holds(text, "300 TFLOP/s  (cuBLAS was not found)\n"));
}

TEST_CASE("JSON holds every field, null where there is no limit") {
  const auto checks = kernel_checks_json(std::vector{equal, different, empty});
  CHECK(checks[0]["status"] == "equal");
  CHECK(!checks[0].contains("first"));
  CHECK(checks[1]["status"] == "different");
  CHECK(checks[1]["first"] == different.first);
  CHECK(checks[1]["values"] == 10);
  CHECK(checks[2]["status"] == "nothing compared");
  const auto list = kernel_rates_json(std::span(rates));
  CHECK(list[0]["limit"].is_null());
  CHECK(!list[0].contains("share"));
  CHECK(list[1]["share"] == 0.9);
  CHECK(list[1]["limit_is"] == "copy of device memory");
  CHECK(list[2]["rate"] == 300.0);
}

}  // namespace
}  // namespace binade::kernel_report_test
