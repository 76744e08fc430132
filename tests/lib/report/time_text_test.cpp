// SPDX-License-Identifier: Apache-2.0
//
// What the text of a report says of the steps of a run, and which of them it shows.
#include "lib/report/time_text.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <sstream>

#include "lib/report/text.h"
#include "tests/lib/report/made_steps.h"

namespace binade::test::time_text_test {
namespace {

TEST_CASE("the text tells of the first of the formats that were asked for") {
  const Run run = small_run();
  const Report report = read_report(open_inputs(run.files, {.formats = {report_formats[4]}}));
  const std::string text = time_text(*report.time, false);
  CHECK(has(text, "  to zero    act"));
  CHECK(has(text, "of the non-zero values in e4m3 at scale 1"));
}

TEST_CASE("a loss too small for a column is not shown as none") {
  TimeReport time = *small_run().report().time;
  for (TimeSeries& series : time.series) {
    for (TimePoint& point : series.points)
      point.formats[0].lost = point.step == 2 ? 1e-170 : 3e-101;
  }
  CHECK(has(time_text(time, false), " dW           >0 3e-99\n"));
}

TEST_CASE("the text shows NaN and Inf wherever a role holds some") {
  const std::string text = report_text(diverging_run().report(), {});
  CHECK(has(text,
            "  NaN or Inf act           0     0     -  33.3\n"
            "             dW            0  20.0   100     0\n"
            "  loss scale S_min"));
  CHECK(has(text, "  loss scale S_min     2^-14     -     - 2^-21"));
  CHECK(has(text, "in 3 of 4 steps, first in step 4."));
  CHECK(has(text, "-: they hold NaN or"));
  CHECK_FALSE(has(report_text(small_run().report(), {}), "NaN or Inf"));
}

TEST_CASE("a step with NaN that is not among those shown has its row nevertheless") {
  Run run;
  for (int step = 10; step < 60; ++step) {
    const float x = step == 11 ? std::numeric_limits<float>::quiet_NaN() : 1.0F;
    run.add(std::to_string(step) + ".safetensors",
            {{"step" + std::to_string(step) + "/a/dW", {x}}});
  }
  const std::string text = report_text(run.report(), {});
  CHECK(has(text, "  NaN or Inf dW  "));
  CHECK(has(text, "in 1 of 50 steps, first in step 11."));
  CHECK(has(text, "because its gradients hold NaN or Inf: step 11."));
}

TEST_CASE("at most twelve steps are chosen evenly, with the first and the last") {
  CHECK(chosen_steps(3, 12) == std::vector<std::size_t>{0, 1, 2});
  CHECK(chosen_steps(5, 3) == std::vector<std::size_t>{0, 2, 4});
  for (const std::size_t n : {12U, 13U, 44U, 1000U, 4400U}) {
    const std::vector<std::size_t> chosen = chosen_steps(n, 12);
    CHECK(chosen.size() == 12);
    CHECK(chosen.front() == 0);
    CHECK(chosen.back() == n - 1);
    CHECK(std::ranges::adjacent_find(chosen, std::greater_equal<>{}) == chosen.end());
  }
}

TEST_CASE("the text has a column per step, says how many, and stays within 100 columns") {
  Run run;
  for (int step = 0; step < 20; ++step) {
    const std::string at = "step" + std::to_string(1000000 + 5 * step);
    run.add(at + ".safetensors", {{at + "/a/dW", {0x1.8p-26F, 1}}, {at + "/a/act", {1}}});
  }
  const std::string text = report_text(run.report(), {});
  CHECK(has(text, "Over time   9 of 20 steps, evenly chosen; 1 layer together"));
  CHECK(has(text, " 1000000 "));
  CHECK(has(text, " 1000095\n"));
  CHECK(has(text, "  to zero    act" + std::string(13, ' ') + "0"));
  CHECK(has(text, std::string(13, ' ') + "dW" + std::string(11, ' ') + "50.0"));
  CHECK(has(text, std::string(13, ' ') + "dW" + std::string(11, ' ') + "2e-6"));  // 2.24e-6 %
  std::istringstream lines(text.substr(text.find("Over time")));
  for (std::string line; std::getline(lines, line);) CHECK(line.size() < 120);
}

}  // namespace
}  // namespace binade::test::time_text_test
