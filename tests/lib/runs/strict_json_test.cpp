// SPDX-License-Identifier: Apache-2.0
//
// Which texts are accepted as JSON: the order of keys is kept, no key comes twice, and nothing is
// so deep that a copy would end the program.
#include "lib/runs/strict_json.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/lib/io/files.h"

namespace binade::strict_json_test {
namespace {

std::string error_in_text(const std::string& text) {
  return test::error_of([&] { parse_strictly("file", text); });
}

TEST_CASE("values are as written, keys in their order") {
  CHECK(parse_strictly("f", R"({"b": [1, 2.5, null], "a": {"b": true}})").dump() ==
        R"({"b":[1,2.5,null],"a":{"b":true}})");
  CHECK(parse_strictly("f", "7") == 7);
}

TEST_CASE("what is no JSON is refused with the name of the text") {
  for (const char* text : {"", "{", "[1,]", "NaN", "1e999", "{} {}", "\"\xff\""}) {
    CAPTURE(text);
    CHECK(test::has(error_in_text(text), "file: "));
    CHECK_FALSE(test::has(error_in_text(text), "exception"));
  }
  CHECK(error_in_text("{\"a\": 1,\n \"b\": }") ==
        "file: no JSON: '}' at line 2, column 7; correct it there, or just before");
  CHECK(error_in_text("") ==
        "file: no JSON: the text ends at line 1, column 1; correct it there, or just before");
  CHECK(error_in_text("[\n\n1") ==
        "file: no JSON: the text ends at line 3, column 2; correct it there, or just before");
  CHECK(error_in_text("\"\xff\"") ==
        R"(file: no JSON: '\xff' at line 1, column 2; correct it there, or just before)");
  CHECK(error_in_text("[1e999]") == "file: a number beyond binary64's range; write it smaller");
}

TEST_CASE("a key that one object has twice is refused, in two objects it is taken") {
  CHECK(error_in_text(R"({"a": {"b": 1, "c": 2, "b": 3}})") ==
        "file: key 'b' is there twice; give it once");
  CHECK(error_in_text(R"([{"b": 1}, {"a": {"b": 2}, "b": 3}])").empty());
}

TEST_CASE("sixteen levels are read and no more, closed or not") {
  const auto nested = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  CHECK(error_in_text(nested(16)).empty());
  CHECK(test::has(error_in_text(nested(18)), "nested too deeply"));
  CHECK(test::has(error_in_text(nested(100'000)), "nested too deeply"));
  CHECK(test::has(error_in_text(std::string(100'000, '[')), "nested too deeply"));
}

}  // namespace
}  // namespace binade::strict_json_test
