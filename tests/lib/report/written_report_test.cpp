// SPDX-License-Identifier: Apache-2.0
//
// A report as a value is the same for files, arrays and summaries, and is saved by the ending of a name.
#include "lib/report/written_report.h"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "lib/range/arrays.h"
#include "lib/report/report.h"
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

}  // namespace
}  // namespace binade
