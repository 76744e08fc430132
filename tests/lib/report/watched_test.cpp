// SPDX-License-Identifier: Apache-2.0
//
// The text about a watched run, and its first value that was not finite, which is read as untrusted
// JSON.
#include "lib/report/watched.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/lib/io/files.h"

namespace binade::test::watched_test {
namespace {

TEST_CASE("words tell which steps, and how many a point merges") {
  const auto words = [](std::uint64_t every, std::vector<RunWindow> windows) {
    return watched_words({.every = every, .windows = std::move(windows), .notes = {}});
  };
  CHECK(words(1, {}) == "every step");
  CHECK(words(2, {{0, 0, 1}}) == "every 2nd step from 0 to 0");
  CHECK(words(11, {{0, 11, 2}}) ==
        "every 11th step from 0 to 11; each point merges 2 watched steps");
  CHECK(words(1003, {{0, 0, 1}, {1003, 12036, 12}}) ==
        "every 1,003rd step from 0 to 12,036; each point merges up to 12 watched steps");
  CHECK(words(50, {{0, 150, 4}, {200, 350, 4}}) ==
        "every 50th step from 0 to 350; each point merges 4 watched steps");
  CHECK(words(112, {}) == "every 112th step");
  CHECK(words(121, {}) == "every 121st step");
}

TEST_CASE("the first value that is not finite is an object of known keys") {
  const std::string all =
      R"({"text":"Inf","step":3,"layer":"fc","role":"dAct","phase":"backward","found":{"nan":0,"inf":2},)"
      R"("skipped":true,"inputs":[{"name":"x","dtype":"F16","values":2,"nan":0,"inf":0,"smallest":null,)"
      R"("largest":2.5}]})";
  CHECK(parse_first_nonfinite(all).step == 3);
  CHECK(parse_first_nonfinite(all).json == all);
  CHECK(parse_first_nonfinite(R"({"text":"Inf"})").text == "Inf");
  for (const char* bad : {"",
                          "[]",
                          "{}",
                          "null",
                          R"("text")",
                          R"({"text":""})",
                          R"({"text":1})",
                          R"({"text":"a","Step":1})",
                          R"({"text":"a","step":-1})",
                          R"({"text":"a","step":1e3})",
                          R"({"text":"a","step":9007199254740993})",
                          R"({"text":"a","role":"other"})",
                          R"({"text":"a","role":null})",
                          R"({"text":"a","phase":"forwards"})",
                          R"({"text":"a","found":{"nan":1}})",
                          R"({"text":"a","found":{"nan":1,"inf":1,"x":1}})",
                          R"({"text":"a","skipped":1})",
                          R"({"text":"a","inputs":{}})",
                          R"({"text":"a","inputs":[{}]})",
                          R"({"text":"a","inputs":[{"name":"x","largest":-1}]})",
                          R"({"text":"a","inputs":[[[]]]})",
                          "{\"text\":\"\xff\"}",
                          R"({"text":"a"} x)"}) {
    CAPTURE(bad);
    CHECK(has(error_of([bad] { parse_first_nonfinite(bad); }), "not a JSON object"));
  }
  const std::string deep = R"({"text":"a","inputs":)" + std::string(1 << 20, '[');
  CHECK(has(error_of([&] { parse_first_nonfinite(deep); }), "at most 65536 bytes"));
  CHECK(has(error_of([&] { parse_first_nonfinite(deep.substr(0, 60000)); }), "not a JSON object"));
}

TEST_CASE("two files of a run tell of it together") {
  Watched a{.every = 10, .windows = {{0, 0, 1}, {20, 20, 1}}, .notes = {"one"}};
  const Watched b{.every = 10,
                  .windows = {{10, 10, 1}, {20, 20, 1}},
                  .notes = {"one", "two"},
                  .first_nonfinite = parse_first_nonfinite(R"({"text":"late","step":20})")};
  add_watched(a, b);
  std::vector<std::uint64_t> firsts;
  for (const RunWindow& window : a.windows) firsts.push_back(window.first);
  CHECK(firsts == std::vector<std::uint64_t>{0, 10, 20});
  CHECK(a.notes == std::vector<std::string>{"one", "two"});
  CHECK(a.first_nonfinite->text == "late");
  Watched early = b;
  early.first_nonfinite = parse_first_nonfinite(R"({"text":"early","step":10})");
  add_watched(a, early);
  CHECK(a.first_nonfinite->text == "early");
  add_watched(a, b);
  CHECK(a.first_nonfinite->text == "early");
}

}  // namespace
}  // namespace binade::test::watched_test
