// SPDX-License-Identifier: Apache-2.0
//
// Which specs are sweeps, the order of their runs, and what is wrong with all others.
#include <doctest/doctest.h>

#include "lib/runs/sweep.h"
#include "tests/lib/io/files.h"

namespace binade::sweep_spec_test {
namespace {

using nlohmann::json;
using test::error_of;
using test::has;

std::string error_in_spec(const std::string& text) {
  return error_of([&] { parse_sweep("spec.json", text); });
}

std::string with_grid(const std::string& grid) {
  return R"({"name": "n", "base": {"lr": 0.1}, "grid": )" + grid + "}";
}

TEST_CASE("the first key of the grid changes slowest, the last fastest, in the order written") {
  const SweepSpec spec =
      parse_sweep("s", with_grid(R"({"seed": [7, 3], "format": ["b", "a", "c"]})"));
  CHECK(spec.name == "n");
  REQUIRE(spec.runs() == 6);
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < 6; ++i) runs.push_back(settings_of(spec, i).dump());
  CHECK(runs == std::vector<std::string>{
                    R"({"format":"b","lr":0.1,"seed":7})", R"({"format":"a","lr":0.1,"seed":7})",
                    R"({"format":"c","lr":0.1,"seed":7})", R"({"format":"b","lr":0.1,"seed":3})",
                    R"({"format":"a","lr":0.1,"seed":3})", R"({"format":"c","lr":0.1,"seed":3})"});
}

TEST_CASE("an empty grid is one run of the base") {
  const SweepSpec spec = parse_sweep("s", with_grid("{}"));
  CHECK(spec.runs() == 1);
  CHECK(settings_of(spec, 0) == json{{"lr", 0.1}});
}

TEST_CASE("values may be lists and null") {
  const SweepSpec spec = parse_sweep("s", with_grid(R"({"layers": [[64, 10], null]})"));
  CHECK(settings_of(spec, 0)["layers"] == json{64, 10});
  CHECK(settings_of(spec, 1)["layers"].is_null());
}

TEST_CASE("what is no sweep is refused with its reason") {
  CHECK(has(error_in_spec("{"), "spec.json: no JSON"));
  CHECK(has(error_in_spec("[]"), "'name' is missing"));
  CHECK(has(error_in_spec(R"({"name": 1, "base": {}, "grid": {}})"),
            "'name' is missing or of the wrong kind"));
  CHECK(has(error_in_spec(R"({"name": "n", "grid": {}})"), "'base' is missing"));
  CHECK(has(error_in_spec(R"({"name": "", "base": {}, "grid": {}})"), "'name' is empty"));
  CHECK(has(error_in_spec(R"({"name": "n", "base": {}, "grid": []})"), "'grid' is missing"));
  CHECK(has(error_in_spec(R"({"name": "n", "base": {}, "grid": {}, "gird": {}})"),
            "unknown key 'gird'"));
  CHECK(has(error_in_spec(with_grid(R"({"a": []})")), "'a' has no list of values"));
  CHECK(has(error_in_spec(with_grid(R"({"a": 1})")), "'a' has no list of values"));
  CHECK(has(error_in_spec(with_grid(R"({"lr": [1]})")), "'lr' is in the base too"));
  CHECK(has(error_in_spec(with_grid(R"({"a": [1, 2, 1.0]})")), "'a' has the value 1.0 twice"));
  CHECK(has(error_in_spec(with_grid(R"({"a": [1], "a": [2]})")), "key 'a' is there twice"));
  CHECK(has(error_in_spec(R"({"name": "n", "name": "m", "base": {}, "grid": {}})"),
            "key 'name' is there twice"));
  CHECK(has(error_in_spec(
                with_grid(R"({"a": [)" + std::string(1000, '[') + std::string(1000, ']') + "]}")),
            "nested too deeply"));
}

TEST_CASE("more runs than a hundred thousand are refused, without counting past the end") {
  std::string list = "[0";
  for (int i = 1; i < 317; ++i) list += "," + std::to_string(i);
  list += "]";
  CHECK(has(error_in_spec(with_grid(R"({"a": )" + list + R"(, "b": )" + list + "}")),
            "more than 100000 runs"));
  std::string keys = "{";
  for (int i = 0; i < 70; ++i)
    keys += (i == 0 ? "\"k" : ", \"k") + std::to_string(i) + "\": [0, 1]";
  CHECK(has(error_in_spec(with_grid(keys + "}")), "more than 100000 runs"));
}

TEST_CASE(
    "a hundred thousand values are read at once, and more are refused before they are compared") {
  std::string list = "[0";
  for (int i = 1; i < 100'000; ++i) list += "," + std::to_string(i);
  CHECK(parse_sweep("s", with_grid(R"({"a": )" + list + "]}")).runs() == 100'000);
  CHECK(has(error_in_spec(with_grid(R"({"a": )" + list + ",0]}")), "more than 100000 runs"));
}

TEST_CASE("a spec is read from a file of at most a megabyte") {
  const test::Folder folder;
  CHECK(read_sweep(folder.write("s.json", with_grid("{}"))).name == "n");
  const std::string big = folder.write("big.json", with_grid("{}") + std::string(1 << 20, ' '));
  CHECK(has(error_of([&] { read_sweep(big); }), "more than 1048576 bytes"));
}

}  // namespace
}  // namespace binade::sweep_spec_test
