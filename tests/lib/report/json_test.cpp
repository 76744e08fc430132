// SPDX-License-Identifier: Apache-2.0
//
// The JSON of the report, figure by figure, against figures worked out by hand.
#include "lib/report/json.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>

#include "tests/lib/range/add_encoding.h"
#include "tests/lib/report/made_json.h"
#include "tests/lib/report/made_report.h"

namespace binade::test::json_test {
namespace {

using Json = nlohmann::ordered_json;

/// Ten values, one of each fate in binary16 at scale 1:
///   0, NaN, -Inf
///   2^-26              to zero, in the band
///   2^-25              to zero: the tie, in the band
///   1.5·2^-25          rounds up to 2^-24, subnormal, in the band
///   -2^-28             to zero, below the band
///   2^-15              subnormal
///   1                  normal
///   65520              the tie that overflows
Report ten_values() {
  return report_of(
      {{"ten", {0, NAN, -INFINITY, 0x1p-26F, 0x1p-25F, 0x1.8p-25F, -0x1p-28F, 0x1p-15F, 1, 65520}}},
      {.scales_log2 = {0, -3}});
}

Json share(int count, int values, int nonzero) {
  return {{"count", count},
          {"of_values", static_cast<double>(count) / values},
          {"of_nonzero", static_cast<double>(count) / nonzero}};
}

TEST_CASE("counts of a tensor of ten values are those worked out by hand") {
  const Json json = to_json(ten_values());
  const Json& t = json["tensors"][0];
  CHECK(t["name"] == "ten");
  CHECK(t["file"] == "made.safetensors");
  CHECK(t["dtype"] == "F32");
  CHECK(t["shape"] == Json::array({10}));
  CHECK(t["status"] == "ok");
  CHECK(t["values"] == 10);
  CHECK(t["zeros"] == 1);
  CHECK(t["nan"] == 1);
  CHECK(t["inf"] == 1);
  CHECK(t["negative"] == 2);
  CHECK(t["nonzero"] == 7);
  CHECK(t["min"] == 0x1p-28);
  CHECK(t["max"] == 65520.0);
}

TEST_CASE("each share stands beside its count and over both denominators") {
  const Json json = to_json(ten_values());
  const Json& half = json["tensors"][0]["formats"]["binary16"];
  CHECK(half["to_zero"] == share(3, 10, 7));
  CHECK(half["subnormal"] == share(2, 10, 7));
  CHECK(half["overflow"] == share(1, 10, 7));
  CHECK(half["headroom"] == -1);
}

TEST_CASE("the band 2^-27..2^-24 and what ties-to-even makes zero are different numbers") {
  const Json json = to_json(ten_values());
  const Json& formats = json["tensors"][0]["formats"];
  CHECK(formats["binary16"]["band_27_24"] == share(3, 10, 7));  // 2^-26, 2^-25, 1.5·2^-25
  CHECK(formats["binary16"]["rne_zero"] == share(3, 10, 7));    // 2^-26, 2^-25, 2^-28
  const Json other = to_json(report_of({{"band", {0x1p-27F, 0x1.fp-25F, 0x1.1p-25F, 0x1p-24F}}}));
  CHECK(other["tensors"][0]["formats"]["binary16"]["band_27_24"] == share(3, 4, 4));
  CHECK(other["tensors"][0]["formats"]["binary16"]["rne_zero"] == share(1, 4, 4));
  for (const char* name : {"bfloat16", "tf32", "e5m2", "e4m3"}) {
    CHECK_FALSE(formats[name].contains("band_27_24"));
    CHECK_FALSE(formats[name].contains("rne_zero"));
  }
}

TEST_CASE("lost and clipped masses are shares of the finite total") {
  const Json json = to_json(ten_values());
  const Json& half = json["tensors"][0]["formats"]["binary16"];
  const double lost = 0x1p-26 + 0x1p-25 + 0x1p-28;
  const double total = lost + 0x1.8p-25 + 0x1p-15 + 1 + 65520;
  const double lost_squares = 0x1p-52 + 0x1p-50 + 0x1p-56;
  const double squares = lost_squares + 0x1.2p-49 + 0x1p-30 + 1 + 65520.0 * 65520.0;
  CHECK(half["lost_l1"].get<double>() == doctest::Approx(lost / total).epsilon(1e-15));
  CHECK(half["lost_l2"].get<double>() ==
        doctest::Approx(std::sqrt(lost_squares / squares)).epsilon(1e-15));
  CHECK(half["clipped_l1"].get<double>() == doctest::Approx(16 / total).epsilon(1e-15));
  CHECK(json["tensors"][0]["formats"]["bfloat16"]["lost_l1"] == 0.0);
}

TEST_CASE("SQNR and the exact squared error are given for each scale asked for") {
  const Json json = to_json(ten_values());
  const Json& half = json["tensors"][0]["formats"]["binary16"];
  REQUIRE(half["sqnr_db"].size() == 2);
  // At scale 1: three values are lost, 1.5·2^-25 is off by 2^-26, 65520 by 16.
  const double error = 0x1p-52 + 0x1p-50 + 0x1p-56 + 0x1p-52 + 256;
  const double squares = 65520.0 * 65520.0 + 1 + 0x1p-30 + 0x1.2p-49 + 0x1p-52 + 0x1p-50 + 0x1p-56;
  CHECK(half["sqnr_db"]["0"].get<double>() ==
        doctest::Approx(10 * std::log10(squares / error)).epsilon(1e-14));
  const Json exact = half["squared_error"]["0"];
  CHECK(std::ldexp(std::stod(exact["integer"].get<std::string>()), exact["exponent"].get<int>()) ==
        doctest::Approx(error).epsilon(1e-15));
  // At scale 2^-3 65520 becomes 8190, a number of 12 bits that rounds to 8192: off by 2·2^3.
  CHECK(half["sqnr_db"]["-3"].get<double>() < half["sqnr_db"]["0"].get<double>() + 1);
  const Json tidy = to_json(report_of({{"a", {1, 2, -3}}}));
  CHECK(tidy["tensors"][0]["formats"]["binary16"]["sqnr_db"]["0"].is_null());
  CHECK(tidy["tensors"][0]["formats"]["binary16"]["squared_error"]["0"]["integer"] == "0");
}

TEST_CASE("binades hold counts and sums by segment, from the lowest exponent up") {
  const Json json =
      to_json(report_of({{"a", {1.5F, 1, 1, 1.75F, -1.8125F, 0x1.fff8p0F, 0x1p-149F}}}));
  const Json& binades = json["tensors"][0]["binades"];
  REQUIRE(binades.size() == 2);
  CHECK(binades[0]["exponent"] == -149);
  CHECK(binades[0]["count"] == Json::array({1, 0, 0, 0, 0, 0, 0, 0, 0}));
  CHECK(binades[0]["sum"][0] == std::uint64_t{1} << 52);
  CHECK(binades[0]["sum_of_squares"] == "20282409603651670423947251286016");  // 2^104
  CHECK(binades[1]["exponent"] == 0);
  CHECK(binades[1]["count"] == Json::array({2, 1, 2, 0, 0, 0, 0, 0, 1}));
  CHECK(binades[1]["sum"][0] == std::uint64_t{1} << 53);
  CHECK(binades[1]["sum"][1] == std::uint64_t{3} << 51);
  CHECK(binades[1]["sum"][2] == std::to_string((std::uint64_t{28} + 29) << 48));  // 1.75 + 1.8125
}

TEST_CASE("integers up to 2^53 are numbers, above they are decimal strings") {
  const auto with_count = [](std::uint64_t n) {
    const ReportOptions options;
    RangeSummary s = empty_summary(columns_of(options));
    add_encoding(s, 0x3C00, binary16, n);
    return to_json(report_of_summaries({{"many", s}}, options));
  };
  const std::uint64_t limit = std::uint64_t{1} << 53;
  CHECK(with_count(limit)["tensors"][0]["values"] == limit);
  CHECK(with_count(limit + 1)["tensors"][0]["values"] == "9007199254740993");
  const Json most = with_count(~std::uint64_t{0});
  const Json& t = most["tensors"][0];
  CHECK(t["values"] == "18446744073709551615");
  CHECK(t["nonzero"] == "18446744073709551615");
  CHECK(t["binades"][0]["count"][0] == "18446744073709551615");
  CHECK(t["binades"][0]["sum"][0] == "83076749736557242051984341640151040");  // (2^64 - 1) 2^52
  CHECK(t["formats"]["e4m3"]["to_zero"]["count"] == 0);
  CHECK(t["formats"]["e4m3"]["to_zero"]["of_values"] == 0.0);
}

TEST_CASE("a tensor without finite non-zero values has null where there is nothing to share") {
  const Json json =
      to_json(report_of({{"none", {}}, {"zero", {0, -0.0F}}, {"nan", {NAN, INFINITY}}}));
  const char* statuses[] = {"empty", "all zero", "no finite value"};
  for (std::size_t i = 0; i < 3; ++i) {
    const Json& t = json["tensors"][i];
    CHECK(t["status"] == statuses[i]);
    CHECK(t["min"].is_null());
    CHECK(t["max"].is_null());
    CHECK(t["binades"].empty());
    CHECK(t["formats"]["binary16"]["lost_l2"].is_null());
    CHECK(t["formats"]["binary16"]["headroom"].is_null());
    CHECK(t["formats"]["binary16"]["to_zero"]["of_nonzero"] == 0.0);
    CHECK(t["loss_scale"]["status"] == "no finite value");
    CHECK(t["loss_scale"]["s_min_log2"].is_null());
    CHECK(t["loss_scale"]["s_max_log2"].is_null());
    CHECK(t["loss_scale"]["recommended_log2"].is_null());
    CHECK(t["loss_scale"]["lost_l2_at_recommended"].is_null());
    CHECK_FALSE(t["loss_scale"]["reason"].get<std::string>().empty());
    CHECK(t["advice"]["format"].is_null());
  }
  CHECK(json["loss_scale"]["status"] == "no finite value");
  CHECK(json["loss_scale"]["binding_max"].is_null());
  CHECK(json["loss_scale"]["binding_min"].is_null());
}

TEST_CASE("the head names schema, options, files, formats and segments") {
  Report report = ten_values();
  report.skipped.push_back({"made.safetensors", "ids", "I64", {3, 4}, "integer"});
  const Json json = to_json(report);
  CHECK(json["schema"] == "binade.range_report/3");
  CHECK(json["options"]["headroom"] == 1);
  CHECK(json["options"]["target_loss"] == 1e-3);
  CHECK(json["options"]["formats"] ==
        Json::array({"binary16", "bfloat16", "tf32", "e5m2", "e4m3"}));
  CHECK(json["options"]["scales_log2"] == Json::array({0, -3}));
  CHECK(json["files"] == Json::array({"made.safetensors"}));
  CHECK(json["skipped"][0] == Json{{"file", "made.safetensors"},
                                   {"name", "ids"},
                                   {"dtype", "I64"},
                                   {"shape", {3, 4}},
                                   {"reason", "integer"}});
  const Json half = json["formats"][0];
  CHECK(half["name"] == "binary16");
  CHECK(half["precision"] == 11);
  CHECK(half["emin"] == -14);
  CHECK(half["emax"] == 15);
  CHECK(half["max"] == 65504.0);
  CHECK(half["min_normal"] == 6.103515625e-05);
  CHECK(half["min_subnormal"] == 5.960464477539063e-08);
  CHECK(half["normal_segment"] == 7);
  CHECK(half["overflow_segment"] == 8);
  CHECK(half["overflow_to"] == "infinity");
  CHECK(json["formats"][4]["max"] == 448.0);
  CHECK(json["formats"][4]["overflow_to"] == "nan");
  CHECK(json["segments"].size() == 9);
  CHECK(json["segments"][3] == "(1.8125, 1.875)");
}

TEST_CASE("the text is JSON again: nothing of a tensor changes on the way") {
  const Report report = ten_values();
  CHECK(Json::parse(json_text(report))["tensors"][0] ==
        tensor_json(report.tensors[0], report.options));
}

TEST_CASE("the same report is the same bytes") {
  CHECK(json_text(ten_values()) == json_text(ten_values()));
}

TEST_CASE("a tensor is one line of the text") {
  const std::string text = json_text(report_of({{"first", {1}}, {"second\nline", {2}}}));
  std::size_t lines = 0;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    const std::string line = text.substr(at, text.find('\n', at) - at);
    const bool starts =
        line.starts_with("  {\"name\":\"first\"") || line.starts_with("  {\"name\":\"second");
    lines += starts && (line.ends_with("}},") || line.ends_with("}}")) ? 1 : 0;
  }
  CHECK(lines == 2);
}

TEST_CASE("hostile names come back whole, and bytes that are no UTF-8 are replaced") {
  std::vector<Named> tensors;
  for (const std::string& name : hostile_names()) tensors.push_back({name, {1, 2}});
  Report report = report_of(tensors);
  report.files = {"\xff.npy"};
  const std::string text = json_text(report);
  CHECK(is_utf8(text));
  const Json json = Json::parse(text);
  std::size_t replaced = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string name = json["tensors"][i]["name"];
    if (is_utf8(tensors[i].name)) {
      CHECK(name == tensors[i].name);
    } else {
      CHECK(has(name, "\xef\xbf\xbd"));
      ++replaced;
    }
  }
  CHECK(replaced == 1);
  for (const char c : text) CHECK_UNARY(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
}

}  // namespace
}  // namespace binade::test::json_test
