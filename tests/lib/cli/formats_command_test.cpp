// SPDX-License-Identifier: Apache-2.0
//
// `binade formats`: its numbers against published ones and against the arithmetic, the shape of its
// table, its Errors.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "emulate/format.h"
#include "emulate/quantize.h"
#include "lib/text/paragraph.h"
#include "tests/lib/cli/run_command.h"

namespace formats_command_test {
namespace {

using nlohmann::json;

std::string formats_text(const std::vector<std::string>& arguments) {
  return binade::output_of(binade::formats_command, arguments);
}

json formats_json() { return json::parse(formats_text({"--json"}))["formats"]; }

/// Returns the n-th line with single spaces between its words.
std::string line_of(const std::string& text, int n) {
  std::istringstream in(text);
  std::string line;
  for (int i = 0; i <= n; ++i) std::getline(in, line);
  std::string out;
  for (const char c : line) {
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
  }
  return out;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the limits are the published ones") {
  struct Published {
    const char* name;
    double max, min_normal, min_positive, epsilon;
  };
  // IEEE 754-2019; OCP OFP8 1.0 table 1, OCP MX 1.0 tables 2 to 7; AMD CDNA3 ISA (FNUZ).
  const std::vector<Published> rows = {
      {"binary16", 65504, 0x1p-14, 0x1p-24, 0x1p-10},
      {"bfloat16", 0x1.fep127, 0x1p-126, 0x1p-133, 0x1p-7},
      {"tf32", 0x1.ffcp127, 0x1p-126, 0x1p-136, 0x1p-10},
      {"binary32", 0x1.fffffep127, 0x1p-126, 0x1p-149, 0x1p-23},
      {"binary64", 0x1.fffffffffffffp1023, 0x1p-1022, 0x1p-1074, 0x1p-52},
      {"e4m3", 448, 0x1p-6, 0x1p-9, 0.125},
      {"e5m2", 57344, 0x1p-14, 0x1p-16, 0.25},
      {"e4m3fnuz", 240, 0x1p-7, 0x1p-10, 0.125},
      {"e5m2fnuz", 57344, 0x1p-15, 0x1p-17, 0.25},
      {"e3m2", 28, 0.25, 0.0625, 0.25},
      {"e2m3", 7.5, 1, 0.125, 0.125},
      {"e2m1", 6, 1, 0.5, 0.5},
      {"e8m0", 0x1p127, 0x1p-127, 0x1p-127, 1},
      {"ue4m3", 448, 0x1p-6, 0x1p-9, 0.125},
  };
  for (const Published& row : rows) {
    CAPTURE(row.name);
    const json shown = json::parse(formats_text({row.name, "--json"}))["formats"][0];
    CHECK(shown["name"] == row.name);
    CHECK(shown["max"] == row.max);
    CHECK(shown["min_normal"] == row.min_normal);
    CHECK(shown["min_positive"] == row.min_positive);
    CHECK(shown["epsilon"] == row.epsilon);
  }
  const json all = formats_json();
  REQUIRE(all.size() == binade::formats.size());
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i]["name"] == binade::formats[i].name);
}

TEST_CASE("at its thresholds, and beside them, the arithmetic does what the table says") {
  int compared = 0;
  for (const json& row : formats_json()) {
    if (row["name"] == "binary64") continue;  // its thresholds lie outside binary64
    const binade::Format f = *binade::find_format(row["name"].get<std::string>());
    CAPTURE(row["name"]);
    const auto rounded = [&](double x) {
      return binade::convert(binade::bits_of(x), binade::binary64, f);
    };
    if (!row["to_zero_at_most"].is_null()) {
      const auto x = row["to_zero_at_most"].get<double>();
      CHECK(rounded(x).bits == 0);
      CHECK(rounded(std::nextafter(x, 1)).bits != 0);
    }
    const auto tie = row["overflow_from"].get<double>();
    const auto overflows = [&](double x) {
      return (rounded(x).flags & binade::Flag::overflow) != 0;
    };
    CHECK(overflows(tie) == row["overflow_from_included"].get<bool>());
    CHECK(overflows(std::nextafter(tie, INFINITY)));
    CHECK_FALSE(overflows(std::nextafter(tie, 0)));
    const binade::Kind kind = binade::decode(rounded(std::nextafter(tie, INFINITY)).bits, f).kind;
    CHECK(row["overflow_to"] == (kind == binade::Kind::infinite ? "infinity"
                                 : kind == binade::Kind::nan    ? "nan"
                                                                : "max"));
    ++compared;
  }
  CHECK(compared == std::ssize(binade::formats) - 1);
}

TEST_CASE("numbers that binary64 does not hold are strings of all digits") {
  const json row = json::parse(formats_text({"binary64", "--json"}))["formats"][0];
  CHECK(row["min_subnormal"] == 0x1p-1074);
  REQUIRE(row["to_zero_at_most"].is_string());
  CHECK(row["to_zero_at_most"].get<std::string>().starts_with("2.47032822920623272"));
  CHECK(row["overflow_from"].get<std::string>().ends_with("e+308"));
}

TEST_CASE("the table reads well: known lines, aligned, at most 120 columns") {
  const std::string text = formats_text({});
  CHECK(line_of(text, 0) == "format bits s+e+f p emin emax max min normal min subnormal");
  CHECK(line_of(text, 1) ==
        "binary16 16 1+5+10 11 -14 15 65504 2^-14 ≈ 6.104e-05 2^-24 ≈ 5.960e-08");
  // Where the second table begins.
  constexpr int second = static_cast<int>(binade::formats.size()) + 2;
  CHECK(line_of(text, second) == "format epsilon to 0 if |x| overflows if |x| to specials");
  CHECK(line_of(text, second + 1) ==
        "binary16 2^-10 ≈ 0.0009766 ≤ 2^-25 ≈ 2.980e-08 ≥ 65520 inf inf, NaN");
  std::vector<std::string> lines;
  for (int n = 0; n < second + static_cast<int>(binade::formats.size()) + 1; ++n) {
    lines.push_back(line_of(text, n));
  }
  for (const char* line : {"e4m3 8 1+4+3 4 -6 8 448 2^-6 = 0.015625 2^-9 ≈ 0.001953",
                           "e4m3 2^-3 = 0.125 ≤ 2^-10 ≈ 0.0009766 > 464 NaN NaN",
                           "e2m1 2^-1 = 0.5 ≤ 2^-2 = 0.25 ≥ 7 max none",
                           "e8m0 1 no zero ≥ 3*2^126 ≈ 2.552e+38 NaN NaN, no zero, no sign"}) {
    CAPTURE(line);
    CHECK(std::ranges::count(lines, line) == 1);
  }
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    CHECK(binade::columns_of(line) <= 120);
    CHECK_FALSE(line.ends_with(' '));
  }
}

TEST_CASE("names choose rows, in their order, and users' own formats stand beside the named ones") {
  const std::string text = formats_text({"e5m7", "binary16", "e4m3:specials=ieee,e5m10"});
  CHECK(line_of(text, 1).starts_with("e5m7 13 1+5+7 8 -14 15 65280 "));
  CHECK(line_of(text, 2).starts_with("binary16 16 "));
  CHECK(line_of(text, 3).starts_with("e4m3:specials=ieee 8 1+4+3 4 -6 7 240 "));
  CHECK(line_of(text, 4).starts_with("binary16 16 "));
  CHECK(line_of(text, 5).empty());
}

TEST_CASE("an unknown name gets the known ones and the nearest") {
  const std::string text = formats_text({"bflaot16"});
  CHECK(contains(
      text,
      "error: unknown format 'bflaot16'; did you mean bfloat16? known are binary16, bfloat16,"));
}
}  // namespace formats_command_test
