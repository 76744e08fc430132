// SPDX-License-Identifier: Apache-2.0
//
// The page as bytes: the report's JSON is in it, nothing in a name can leave that place, and it asks
// for nothing from outside.
#include "lib/report/html.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <regex>

#include "tests/lib/report/made_json.h"
#include "tests/lib/report/made_report.h"

namespace binade::test::html_test {
namespace {

using Json = nlohmann::ordered_json;

/// The contents of the element that holds the data.
std::string data_of(const std::string& page) {
  const std::size_t tag = page.find("type=\"application/json\"");
  REQUIRE(tag != std::string::npos);
  const std::size_t begin = page.find('>', tag) + 1;
  const std::size_t end = page.find("</script>", begin);
  REQUIRE(end != std::string::npos);
  return page.substr(begin, end - begin);
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++n;
  return n;
}

TEST_CASE("the page holds the report's JSON, unchanged") {
  const Report report = report_of({{"a", {1, 0x1p-26F}}, {"b", {0}}});
  CHECK(Json::parse(data_of(report_html(report))) == to_json(report));
}

TEST_CASE("hostile names stay data: they come back whole and open no tag") {
  std::vector<Named> tensors;
  for (const std::string& name : hostile_names()) tensors.push_back({name, {1}});
  const std::string page = report_html(report_of(tensors));
  const std::string tame = report_html(report_of({{"a", {1}}}));
  CHECK(is_utf8(page));
  CHECK_FALSE(has(data_of(page), "<"));
  CHECK(occurrences(page, "<script") == occurrences(tame, "<script"));
  CHECK(occurrences(page, "</script") == occurrences(tame, "</script"));
  CHECK(occurrences(page, "<img") == occurrences(tame, "<img"));
  CHECK(Json::parse(data_of(page))["tensors"][2]["name"] == hostile_names()[2]);
}

TEST_CASE("the page asks for nothing from outside and forbids it besides") {
  const std::string page = report_html(report_of({{"a", {1}}}));
  const std::regex outside(
      R"re((src|href|action|data-src|srcset|poster)\s*=\s*["']?\s*(https?:|//)|@import|url\(\s*["']?(https?:|//))re",
      std::regex::icase);
  CHECK_FALSE(std::regex_search(page, outside));
  const std::regex linked(
      R"re(<(script|link|img|iframe|object|embed)[^>]*\s(src|href)\s*=\s*["']?([^"'\s>]*))re",
      std::regex::icase);
  for (auto at = std::sregex_iterator(page.begin(), page.end(), linked);
       at != std::sregex_iterator(); ++at) {
    CHECK((*at)[3].str().starts_with("data:"));
  }
  CHECK(has(page, "Content-Security-Policy"));
  CHECK(has(page, "default-src 'none'"));
  CHECK(has(page, "<!DOCTYPE html>"));
}

}  // namespace
}  // namespace binade::test::html_test
