// SPDX-License-Identifier: Apache-2.0
//
// The page as bytes: its data are letters of base64, so that no tensor name can become markup, and
// the page loads nothing from outside. tests/lib/report/page tests the contents of the data.
#include "lib/report/html.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <regex>

#include "lib/report/page_data.h"
#include "tests/lib/report/made_report.h"

namespace binade::test::html_test {
namespace {

using Json = nlohmann::ordered_json;

/// Returns the contents of the element that holds the data.
std::string data_of(const std::string& page) {
  const std::size_t tag = page.find("type=\"text/plain\"");
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

/// Returns the line of JSON that comes before the planes (arrays of bytes) of the data.
Json line_of(const Report& report) {
  const std::string data = page_data(report);
  return Json::parse(data.substr(0, data.find('\n')));
}

TEST_CASE("the data are base64, whole") {
  const std::string data =
      data_of(report_html(page_data(report_of({{"a", {1, 0x1p-26F}}, {"b", {0}}}))));
  CHECK(data.size() % 4 == 0);
  CHECK(data.size() > 100);
  const auto end = std::ranges::find(data, '=');
  CHECK(data.end() - end <= 2);
  CHECK(std::all_of(data.begin(), end,
                    [](unsigned char c) { return std::isalnum(c) != 0 || c == '+' || c == '/'; }));
}

TEST_CASE("a share in a byte: only nothing is 0, only all is 250, and it rises with the share") {
  CHECK(share_code(0, 7) == 0);
  CHECK(share_code(7, 7) == 250);
  CHECK(share_code(0, 0) == 255);
  constexpr std::uint64_t many = std::uint64_t{1} << 62;
  CHECK(share_code(1, many) == 1);
  CHECK(share_code(many - 1, many) == 249);
  CHECK(share_code(1, 16) == 125);
  int before = 0;
  for (int i = 1; i < 1000; ++i) {
    const int code = share_code(std::pow(i / 1000.0, 4));
    CHECK(code >= before);
    CHECK(std::abs(code - i / 4.0) <= 1);
    before = code;
  }
}

TEST_CASE("hostile names stay data: they come back whole and open no tag") {
  std::vector<Named> tensors;
  for (const std::string& name : hostile_names()) tensors.push_back({name, {1}});
  const std::string page = report_html(page_data(report_of(tensors)));
  const std::string tame = report_html(page_data(report_of({{"a", {1}}})));
  CHECK(is_utf8(page));
  CHECK_FALSE(has(data_of(page), "<"));
  CHECK(occurrences(page, "<script") == occurrences(tame, "<script"));
  CHECK(occurrences(page, "</script") == occurrences(tame, "</script"));
  CHECK(occurrences(page, "<img") == occurrences(tame, "<img"));
  CHECK(line_of(report_of(tensors))["tensors"]["name"][2] == hostile_names()[2]);
}

TEST_CASE("the page asks for nothing from outside and forbids it besides") {
  const std::string page = report_html(page_data(report_of({{"a", {1}}})));
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
