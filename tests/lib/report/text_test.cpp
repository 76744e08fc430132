// SPDX-License-Identifier: Apache-2.0
//
// The report on a terminal: what it must say, and what no tensor name can make it do.
#include "lib/report/text.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "tests/lib/report/made_report.h"

namespace binade::test::text_test {
namespace {

Report small() {
  Report report =
      report_of({{"first", {0, NAN, 0x1p-26F, 0x1p-25F, 0x1.8p-25F, 0x1p-15F, 1, 0.75F}},
                 {"second", {100, -3, 0x1p-10F, INFINITY}},
                 {"none", {}}});
  report.skipped.push_back({"made.safetensors", "ids", "I64", {3}, "integer"});
  return report;
}

/// The first line of more than 100 columns; empty if there is none.
std::string too_long_line(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto inside = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
    if (line.size() - static_cast<std::size_t>(std::ranges::count_if(line, inside)) > 104)
      return line;
  }
  return "";
}

TEST_CASE("the text of a small report, as a whole") {
  const std::string want =
      R"(made.safetensors: 3 tensors, 12 values
  zeros 1 (8.3 %)   NaN 1 (8.3 %)   Inf 1 (8.3 %)   (shares of all values)
  finite non-zero 9, |x| from 1.49e-08 to 100
)";
  CHECK(report_text(small(), {}).substr(0, want.size()) == want);
}

TEST_CASE(
    "the text has a histogram, a table of formats, a loss scale with its reason, a tensor table") {
  const std::string text = report_text(small(), {});
  for (const char* part :
       {"Magnitudes", "2^-20", "band 2^-27..2^-24", "  binary16 ", "  e4m3 ", "At scale 1",
        "to zero    of non-zero values", "lost l2    of sqrt(sum x²)", "SQNR",
        "headroom to overflow", "band_27_24", "rne_zero", "Loss scale for binary16: 2^8 = 256",
        "Tensors, most lost l2 first", "first", "second", "none", "empty",
        "skipped ids (I64, integer)"}) {
    INFO(std::string(part));
    CHECK(has(text, part));
  }
  // 3 of 9 in the band; 2 of 9 round to zero.
  CHECK(has(
      text,
      "binary16: 33.3 % of the non-zero values lie in 2^-27 <= |x| < 2^-24 (band_27_24); 22.2 %"));
}

TEST_CASE("fates are letters under the histogram: zero, subnormal, normal, overflow") {
  const std::string text = report_text(report_of({{"a", {0x1p-26F, 0x1p-20F, 1, 0x1p17F}}}), {});
  const std::size_t row = text.find("\n  binary16 ");
  REQUIRE(row != std::string::npos);
  std::string fates = text.substr(row + 12, text.find('\n', row + 1) - row - 12);
  std::erase(fates, ' ');
  CHECK(fates == "0sno");
}

TEST_CASE("without colour there is no escape code, with colour there is") {
  CHECK_FALSE(has(report_text(small(), {.color = false}), "\x1b"));
  const std::string colored = report_text(small(), {.color = true});
  CHECK(has(colored, "\x1b[31m"));
  std::string plain = colored;
  for (std::size_t at = 0; (at = plain.find('\x1b', at)) != std::string::npos;) {
    plain.erase(at, plain.find('m', at) - at + 1);
  }
  CHECK(plain == report_text(small(), {.color = false}));
}

TEST_CASE("the tensor that loses most comes first, and the table says how many it leaves out") {
  std::vector<Named> tensors;
  tensors.reserve(31);
  for (int i = 0; i < 30; ++i) {
    tensors.push_back({"layer." + std::to_string(i), {1, std::ldexp(1.0F, -26 + i % 2)}});
  }
  tensors.push_back({"worst", {0x1p-26F}});
  const Report report = report_of(tensors);
  const std::string text = report_text(report, {.tensors = 20});
  const std::size_t table = text.find("Tensors, most lost l2 first");
  CHECK(text.find("worst", table) < text.find("layer.", table));
  CHECK(has(text, "… 11 more; --tensors 0 shows all"));
  const auto rows = [](const std::string& of) {
    std::size_t n = 0;
    std::size_t at = of.find("Tensors, most lost l2 first");
    for (; (at = of.find("\n  layer.", at)) != std::string::npos; ++at) ++n;
    return n;
  };
  CHECK(rows(text) == 19);
  const std::string all = report_text(report, {.tensors = 0});
  CHECK(rows(all) == 30);
  CHECK_FALSE(has(all, " more; "));
}

TEST_CASE("no line is longer than 100 columns, over binades of any number") {
  CHECK(too_long_line(report_text(small(), {})) == "");
  std::vector<float> wide;
  for (int e = -149; e < 128; ++e) wide.push_back(std::ldexp(1.0F, e));
  const std::string text = report_text(report_of({{"wide", wide}}), {});
  CHECK(too_long_line(text) == "");
  CHECK(has(text, "not drawn:"));
}

TEST_CASE("a report without finite values says so instead of drawing") {
  const std::string text = report_text(report_of({{"nan", {NAN, INFINITY}}, {"empty", {}}}), {});
  CHECK(has(text, "There is no finite non-zero value."));
  CHECK(has(text, "no finite value"));
  CHECK_FALSE(has(text, "Magnitudes"));
  CHECK_FALSE(has(text, "nan %"));
  const std::string nothing = report_text(report_of({{"empty", {}}}), {});
  CHECK(has(nothing, "empty"));
}

TEST_CASE("an exactly representable report has no SQNR but the word exact") {
  const std::string text = report_text(report_of({{"a", {1, 2}}}), {});
  const std::size_t row = text.find("  SQNR");
  CHECK(has(text.substr(row, text.find('\n', row) - row), "exact"));
}

TEST_CASE("hostile names can neither break a line nor control the terminal") {
  for (const std::string& name : hostile_names()) {
    Report report = report_of({{name, {1, 0x1p-30F}}, {"b", {100}}, {name, {}}});
    report.files = {name};
    report.skipped.push_back({name, name, "I64", {1}, "integer"});
    const Report harmless = [&] {
      Report r = report_of({{"a", {1, 0x1p-30F}}, {"b", {100}}, {"a", {}}});
      r.files = {"a"};
      r.skipped.push_back({"a", "a", "I64", {1}, "integer"});
      return r;
    }();
    const std::string text = report_text(report, {});
    INFO(name.substr(0, 50));
    CHECK(text.size() < 20000);
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      REQUIRE((c == '\n' || byte >= 0x20));
      REQUIRE(byte != 0x7F);
    }
    CHECK_FALSE(has(text, "\xc2\x9b"));
    CHECK(is_utf8(text));
    const auto lines = [](const std::string& s) { return std::count(s.begin(), s.end(), '\n'); };
    CHECK(lines(text) <= lines(report_text(harmless, {})) + 4);  // a long reason takes more lines
  }
}

TEST_CASE("no line ends in blanks, with colours or without") {
  const Report report = report_of({{"a", {0x1p-30F, 1, 1, 1, 0x1p-3F}}, {"b", {0x1p-13F, 0x1p3F}}});
  for (const bool color : {false, true}) {
    std::istringstream lines(report_text(report, {.color = color}));
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
      if (line.ends_with(' ') || line.ends_with(" \x1b[0m")) CHECK(line == "no blank at the end");
    }
    CHECK(count > 20);
  }
}

}  // namespace
}  // namespace binade::test::text_test
