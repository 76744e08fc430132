// SPDX-License-Identifier: Apache-2.0
//
// A report as a value is the same for files, arrays and summaries, and is saved by the ending of a
// name.
#include "lib/report/written_report.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "lib/range/arrays.h"
#include "lib/text/error.h"
#include "tests/lib/io/files.h"

namespace binade {
namespace {

const std::vector<float>& gradients() {
  static const std::vector<float> x{0x1p-26F, 0x1p-25F, 3 * 0x1p-26F, 0x1p-3F};
  return x;
}

std::string text_in(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

TEST_CASE("arrays and their summaries have the same figures") {
  const WrittenReport arrays = report_on_arrays({named_array("fc1.weight.grad", gradients())});
  const ReportOptions options;
  const WrittenReport summaries = report_on_summaries(
      {{"fc1.weight.grad", range_summary(gradients(), error_columns(options))}}, options);
  for (const WrittenReport* report : {&arrays, &summaries}) {
    CHECK(report->total.summary.values == 4);
    CHECK(report->total.formats[0].name == "binary16");
    CHECK(report->total.formats[0].to_zero.count == 2);
    CHECK(report->loss_scale.recommended_log2 == 17);
    CHECK(report->text.find("2^17 = 131072") != std::string::npos);
    CHECK(report->json.find("binade.range_report/3") != std::string::npos);
    CHECK(report->html().find("</html>") != std::string::npos);
    CHECK(report->csv().find("fc1.weight.grad") != std::string::npos);
  }
  CHECK(arrays.total.formats[0].sqnr_db == summaries.total.formats[0].sqnr_db);
}

TEST_CASE("a report is saved as its ending says, and read from a file") {
  const test::Folder folder;
  const WrittenReport report = report_on_arrays({named_array("x.grad", gradients())});
  report.save(folder / "r.JSON");
  report.save(folder / "r.csv");
  report.save(folder / "r.html");
  CHECK(text_in(folder / "r.JSON") == report.json);
  CHECK(text_in(folder / "r.csv") == report.csv());
  CHECK(text_in(folder / "r.html") == report.html());
  CHECK_THROWS_WITH_AS(report.save("r.txt"), "r.txt: a report is saved as .html, .json or .csv",
                       Error);
  CHECK_THROWS_AS(report_on_files({folder / "none.npy"}), Error);
  CHECK_THROWS_AS(report_on_summaries({}), Error);
}

/// All three ways to a report refuse the options, before they look at what it is of.
void refused(const ReportOptions& options, const char* message) {
  CHECK_THROWS_WITH_AS(report_on_arrays({named_array("x", gradients())}, options), message, Error);
  CHECK_THROWS_WITH_AS(report_on_files({"none.npy"}, options), message, Error);
  CHECK_THROWS_WITH_AS(report_on_summaries({}, options), message, Error);
}

TEST_CASE("options outside of their ranges are refused") {
  refused({.headroom = -1}, "headroom -1: give an integer from 0 to 100");
  refused({.headroom = 101}, "headroom 101: give an integer from 0 to 100");
  const char* const share = "target_loss: not a share; give a number from 0 to below 1";
  for (const double target : {std::nan(""), -1.0, 1.0}) refused({.target_loss = target}, share);
  refused({.prefer = static_cast<ScaleChoice>(9)},
          "prefer: no such choice; give ScaleChoice::margin, s_max or s_min");
  refused({.scales_log2 = {0, 128}}, "scales_log2 128: give an integer from -126 to 127");
  refused({.scales_log2 = {0, 1, 2, 3}},
          "scales_log2: 4 scales times 5 formats are more than 16; ask for fewer");
  refused({.formats = {}}, "formats: none; give rows of report_formats");
  for (const NamedFormat& row : {NamedFormat{"e4m3", binary16, ""}, {"mine", e4m3, ""}}) {
    refused({.formats = {row}}, ("formats: '" + std::string(row.name) +
                                 "' is no format of a report under its name; give rows of "
                                 "report_formats")
                                    .c_str());
  }
  refused({.roles = {{TensorRole::d_weight, "dW=x", nullptr}}},
          "roles: 'dW=x' is a rule without a pattern; make it with parse_role_rule()");
}

TEST_CASE("summaries without the options' columns, and arrays without data, are refused") {
  CHECK_THROWS_WITH_AS(
      report_on_summaries({{"x", range_summary(gradients(), {{binary16, 3}})}}),
      "the summary of x has no squared errors of binary16 at scale 2^0; give the formats and "
      "scales that it was made with",
      Error);
  TensorReport tensor;
  tensor.name = "y";
  CHECK_THROWS_WITH_AS(analyse(tensor, {.scales_log2 = {8}}),
                       "the summary of y has no squared errors of binary16 at scale 2^8; give the "
                       "formats and scales that it was made with",
                       Error);
  NamedArray array = named_array("x", gradients());
  array.array.data = nullptr;
  CHECK_THROWS_WITH_AS(report_on_arrays({array}),
                       "x: an array of elements without data; set ArrayView::data", Error);
}

TEST_CASE("the text shows the SQNR at scale 1, wherever that is among the scales") {
  const auto text = [](const std::vector<int>& scales) {
    return report_on_arrays({named_array("x.grad", gradients())}, {.scales_log2 = scales}).text;
  };
  CHECK(text({8, 0}) == text({0}));
  CHECK(text({0, 8}) == text({0}));
  const std::string all = text({8});
  const std::string without = all.substr(all.find("At scale 1"));
  CHECK(without.find(" dB") == std::string::npos);
  CHECK(without.find("overflow saturated") != std::string::npos);
}

TEST_CASE("each tensor's figures are values") {
  const std::vector<double> more{1, 2};
  const WrittenReport report =
      report_on_arrays({named_array("a.grad", gradients()), named_array("b.weight", more)});
  REQUIRE(report.tensors.size() == 2);
  CHECK(report.tensors[0].name == "a.grad");
  CHECK(report.tensors[0].formats[0].to_zero.count == 2);
  CHECK(report.tensors[1].summary.largest.exponent == 1);
}

}  // namespace
}  // namespace binade
