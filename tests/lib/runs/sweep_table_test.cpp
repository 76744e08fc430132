// SPDX-License-Identifier: Apache-2.0
//
// Sweeps as tables and plots: which columns, which curves, which axes.
#include "lib/runs/sweep_table.h"

#include <doctest/doctest.h>

#include <cmath>

#include "lib/runs/results_html.h"
#include "tests/lib/io/files.h"

namespace binade::sweep_table_test {
namespace {

using nlohmann::ordered_json;

const SweepSpec spec = parse_sweep(
    "s",
    R"({"name": "n", "base": {"lr": 0.1}, "grid": {"scale": [1, 8, 1024], "format": ["fp16", "bf16"]}})");

std::vector<ordered_json> results() {
  std::vector<ordered_json> out;
  for (int run = 0; run < 6; ++run) {
    out.push_back({{"accuracy", 0.5 + run / 12.0},
                   {"skips", run},
                   {"state", run == 2 ? "diverged" : "fine"},
                   {"trace", {1, 2}}});
  }
  out[2]["accuracy"] = nullptr;
  out[5].erase("skips");
  return out;
}

const std::vector<std::string> chosen{"accuracy", "skips", "state"};

TEST_CASE("a row has the settings of its run and the chosen results, - where there is none") {
  const Table table = sweep_table(spec, results(), chosen);
  CHECK(table.columns == std::vector<std::string>{"scale", "format", "accuracy", "skips", "state"});
  REQUIRE(table.rows.size() == 6);
  CHECK(table.rows[1] == std::vector<std::string>{"1", "bf16", "0.583333", "1", "fine"});
  CHECK(table.rows[2] == std::vector<std::string>{"8", "fp16", "NaN/inf", "2", "diverged"});
  CHECK(table.rows[5] == std::vector<std::string>{"1024", "bf16", "0.916667", "-", "fine"});
}

TEST_CASE("names and texts from files reach a table escaped") {
  const SweepSpec made = parse_sweep(
      "s", R"({"name": "a\u001b[31m", "base": {}, "grid": {"k\u0007": ["v\u001b", ["w\u009b"]]}})");
  const std::vector<ordered_json> out(2, {{"text", "t\r"}});
  const std::vector<std::string> text{"text"};
  const Table table = sweep_table(made, out, text);
  CHECK(table.title == "a\\x1b[31m");
  CHECK(table.columns == std::vector<std::string>{"k\\x07", "text"});
  CHECK(table.rows[0] == std::vector<std::string>{"v\\x1b", "t\\x0d"});
  CHECK(table.rows[1] == std::vector<std::string>{"[\"w\\xc2\\x9b\"]", "t\\x0d"});
}

TEST_CASE("a plot has a curve for each combination of the other keys") {
  const Plot plot = sweep_plot(spec, results(), "scale", "accuracy");
  CHECK(plot.x_label == "scale");
  CHECK(plot.x_axis == Axis::log2);
  CHECK(plot.y_axis == Axis::linear);
  REQUIRE(plot.series.size() == 2);
  CHECK(plot.series[0].name == "format fp16");
  CHECK(plot.series[1].name == "format bf16");
  CHECK(plot.series[1].x == std::vector<double>{1, 8, 1024});
  CHECK(plot.series[1].y == std::vector<double>{0.5 + 1 / 12.0, 0.5 + 3 / 12.0, 0.5 + 5 / 12.0});
  CHECK(std::isnan(plot.series[0].y[1]));
}

TEST_CASE("the x axis is the key of most numbers, a seed only where there is no other") {
  const auto key_of = [](const std::string& grid) {
    return plot_key(parse_sweep("s", R"({"name": "n", "base": {}, "grid": )" + grid + "}"));
  };
  CHECK(plot_key(spec) == "scale");
  CHECK(key_of(R"({"a": [1, 2], "b": [1, 2, 3], "seed": [1, 2, 3, 4]})") == "b");
  CHECK(key_of(R"({"f": ["x", "y"], "seed": [1, 2]})") == "seed");
  CHECK(key_of(R"({"f": ["x", "y"], "one": [1], "mixed": [1, "z"]})").empty());
}

TEST_CASE("without a key of numbers, results stand over the number of their run") {
  const Plot plot = sweep_plot(spec, results(), "", "skips");
  CHECK(plot.x_label == "run");
  REQUIRE(plot.series.size() == 1);
  CHECK(plot.series[0].x == std::vector<double>{0, 1, 2, 3, 4, 5});
  CHECK(plot.series[0].mark == Mark::points);
}

TEST_CASE("axes are logarithmic where values are powers of two or span three decades") {
  const auto axis_of = [](const std::string& values) {
    const SweepSpec made =
        parse_sweep("s", R"({"name": "n", "base": {}, "grid": {"a": )" + values + "}}");
    return sweep_plot(made, std::vector<ordered_json>(made.runs(), {{"y", 1}}), "a", "y").x_axis;
  };
  CHECK(axis_of("[0.25, 1, 4]") == Axis::log2);
  CHECK(axis_of("[1, 2]") == Axis::linear);
  CHECK(axis_of("[0.0001, 0.003, 0.1]") == Axis::log10);
  CHECK(axis_of("[0, 1, 1024]") == Axis::linear);
  CHECK(axis_of("[1, 3, 10]") == Axis::linear);
}

TEST_CASE("JSON keeps values as they are") {
  const ordered_json table = sweep_json(spec, results(), chosen);
  CHECK(table["schema"] == "binade.sweep_table/1");
  CHECK(table["rows"][0].dump() == R"([1,"fp16",0.5,0,"fine"])");
  CHECK(table["rows"][2].dump() == R"([8,"fp16",null,2,"diverged"])");
}

TEST_CASE("the page has the table and a plot for each result of numbers") {
  const ordered_json page = sweep_page(spec, results(), chosen, "scale");
  CHECK(page["title"] == "Sweep n");
  CHECK(page["source"] == R"(6 runs · all with {"lr":0.1})");
  CHECK(page["results"][0]["plots"].size() == 2);
  CHECK(page["results"][0]["tables"][0]["rows"].size() == 6);
  CHECK(test::has(results_html(page), "binade.sweep_page/1"));
}

}  // namespace
}  // namespace binade::sweep_table_test
