// SPDX-License-Identifier: Apache-2.0
//
// Files of a few tensors in several steps of a run, and the reports on them.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/report/time.h"
#include "tests/lib/report/made_report.h"

namespace binade::test {

/// Files of F32 tensors, whose names need no escapes in JSON, and the report on them.
struct Run {
  std::unique_ptr<Folder> folder = std::make_unique<Folder>();
  std::vector<std::string> files;

  void add(const std::string& name, const std::vector<Named>& tensors) {
    std::string header = "{", data;
    for (const Named& t : tensors) {
      const std::size_t begin = data.size();
      data.append(reinterpret_cast<const char*>(t.values.data()), 4 * t.values.size());
      header += (header.size() > 1 ? ",\"" : "\"") + t.name + R"(":{"dtype":"F32","shape":[)" +
                std::to_string(t.values.size()) + R"(],"data_offsets":[)" + std::to_string(begin) +
                "," + std::to_string(data.size()) + "]}";
    }
    files.push_back(folder->write(name, safetensors(header + "}", data)));
  }
  Report report() const { return read_report(open_inputs(files, {})); }
  std::vector<TensorReport> tensors() const {
    std::vector<TensorReport> out;
    read_report(open_inputs(files, {}), {}, nullptr,
                [&out](const TensorReport& t) { out.push_back(t); });
    return out;
  }
};

inline Run small_run() {
  Run run;
  run.add("1.safetensors", {{"step10/a/dW", {0x1p-26F, 1}},
                            {"step10/b/dW", {0x1p-30F, 0x1p-20F, 0}},
                            {"step10/a/weight", {1, 1000}},
                            {"step10/a/update", {0x1p-12F, 8}},
                            {"note", {7}}});
  run.add("2.safetensors", {{"step2/a/dW", {0x1p-3F}}, {"step2/b/act", {0x1p-28F}}});
  return run;
}

inline const TimeSeries& series(const TimeReport& time, const std::optional<std::string>& layer,
                                TensorRole role) {
  const auto at = std::ranges::find_if(
      time.series, [&](const TimeSeries& s) { return s.layer == layer && s.role == role; });
  REQUIRE(at != time.series.end());
  return *at;
}

/// Step 2 is as it should be, 4 holds a NaN among its gradients, 6 nothing else but Inf, 8 a NaN in act.
inline Run diverging_run() {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float inf = std::numeric_limits<float>::infinity();
  Run run;
  run.add("1.safetensors", {{"step2/a/dW", {0x1p-10F, 0x1p-3F}},
                            {"step2/a/act", {1, 2}},
                            {"step4/a/dW", {0x1p-20F, 1, nan, 0}},
                            {"step4/b/dW", {0x1p5F}},
                            {"step4/a/act", {1, 2}},
                            {"step6/a/dW", {inf, -inf}},
                            {"step8/a/dW", {0x1p-3F}},
                            {"step8/a/act", {nan, 2, 3}}});
  return run;
}

}  // namespace binade::test
