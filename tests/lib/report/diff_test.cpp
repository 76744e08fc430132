// SPDX-License-Identifier: Apache-2.0
//
// The difference of two reports: what counts as a difference, which tensors are named, and which
// files are refused.
#include "lib/report/diff.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/lib/range/add_encoding.h"
#include "tests/lib/report/made_json.h"
#include "tests/lib/report/made_report.h"

namespace binade::test::diff_test {
namespace {

using Json = nlohmann::ordered_json;

const std::vector<Named> before{
    {"same", {1, 2, 3}}, {"moved", {0x1p-20F, 0x1p-21F}}, {"gone", {5}}};

ReportDiff diff_of(const std::vector<Named>& a, const std::vector<Named>& b) {
  return diff_reports(to_json(report_of(a)), to_json(report_of(b)));
}

TEST_CASE("a report does not differ from itself") {
  const ReportDiff diff = diff_of(before, before);
  CHECK_FALSE(diff.different);
  CHECK(has(diff.text, "3 tensors in both, 0 of them differ"));
  CHECK_FALSE(has(diff.text, "only"));
}

TEST_CASE("other options, scales and roles are differences") {
  const auto json = [](int headroom, TensorRole role) {
    Report report = report_of(before);
    report.options.headroom = headroom;
    report.tensors[0].role = role;
    return to_json(report);
  };
  const auto plain = json(1, TensorRole::weight);
  CHECK_FALSE(diff_reports(plain, plain).different);
  const ReportDiff options = diff_reports(plain, json(3, TensorRole::weight));
  CHECK(options.different);
  CHECK(has(options.text, "options differ: headroom 1 -> 3\n"));
  const ReportDiff roles = diff_reports(plain, json(1, TensorRole::act));
  CHECK(roles.different);
  CHECK(has(roles.text, "role \"weight\" -> \"act\""));
}

TEST_CASE("the order of tensors is no difference") {
  CHECK_FALSE(diff_of(before, {before[2], before[0], before[1]}).different);
}

TEST_CASE("changed, added and removed tensors are named, unchanged ones are not") {
  const ReportDiff diff =
      diff_of(before, {before[0], {"moved", {0x1p-30F, 0x1p-21F}}, {"came", {7}}});
  CHECK(diff.different);
  CHECK(has(diff.text, "2 tensors in both, 1 of them differ"));
  CHECK(has(diff.text, "  moved\n"));
  CHECK(has(diff.text, "to zero 0 % -> 50.0 %"));
  CHECK(has(diff.text, "only before: gone"));
  CHECK(has(diff.text, "only after: came"));
  CHECK_FALSE(has(diff.text, "same"));
}

TEST_CASE("any figure of a tensor that changes is a difference") {
  const std::vector<float> values{1, 2, 0, 0x1p-20F};
  const auto differs = [&](std::vector<float> other) {
    return diff_of({{"t", values}}, {{"t", std::move(other)}}).different;
  };
  CHECK_FALSE(differs({2, 0x1p-20F, 1, 0}));  // the order of values is not in a report
  CHECK(differs({1, 2, 0, 0x1p-21F}));
  CHECK(differs({1, 2, 0, 0x1.000002p-20F}));  // one ulp
  const std::string ulp = diff_of({{"t", values}}, {{"t", {1, 2, 0, 0x1.000002p-20F}}}).text;
  CHECK(has(ulp,
            "    smallest |x| 9.5367431640625e-07 -> 9.536744300930877e-07; what lies in 1 binade, "
            "2^-20\n"));
  const std::string more = diff_of({{"t", values}}, {{"t", {1, 3, 0, 0x1p-20F, 0}}}).text;
  CHECK(has(more,
            "    shape [4] -> [5]; values 4 -> 5; zeros 1 -> 2; largest |x| 2.0 -> 3.0; what lies "
            "in 1 binade, 2^1\n"));
  CHECK(differs({1, 2, 0, 0x1p-20F, 0}));
  CHECK(differs({1, 2, NAN, 0x1p-20F}));
  CHECK(differs({1, 2, INFINITY, 0x1p-20F}));
  CHECK(differs({}));
}

TEST_CASE("tensors of the same name are told apart by their order") {
  const std::vector<Named> twins{{"t", {1}}, {"t", {2}}};
  CHECK_FALSE(diff_of(twins, twins).different);
  const ReportDiff diff = diff_of(twins, {{"t", {1}}});
  CHECK(diff.different);
  CHECK(has(diff.text, "only before: t"));
}

TEST_CASE("the table of all tensors shows before and after") {
  const ReportDiff diff = diff_of({{"t", {1, 0}}}, {{"t", {1, 0x1p-30F, 3}}});
  const auto row = [&](const std::string& label) {
    const std::size_t at = diff.text.find("  " + label);
    REQUIRE(at != std::string::npos);
    return diff.text.substr(at, diff.text.find('\n', at) - at);
  };
  CHECK(has(row("values"), "2"));
  CHECK(row("values").ends_with(" 3"));
  CHECK(row("zeros").ends_with(" 0"));
  CHECK(row("largest |x|").ends_with(" 3"));
  CHECK(row("to zero in binary16, of non-zero").ends_with("33.3 %"));
}

TEST_CASE("counts beyond 2^53, which are strings, are shown and compared") {
  const auto with_count = [](std::uint64_t n) {
    RangeSummary s = empty_summary(columns_of({}));
    add_encoding(s, 0x3C00, binary16, n);
    return to_json(report_of_summaries({{"t", s}}));
  };
  const ReportDiff diff =
      diff_reports(with_count(~std::uint64_t{0}), with_count(~std::uint64_t{0} - 1));
  CHECK(diff.different);
  CHECK(has(diff.text, "18446744073709551615"));
  CHECK(has(diff.text, "18446744073709551614"));
}

TEST_CASE("hostile names cannot break the lines of a difference") {
  std::vector<Named> tensors;
  for (const std::string& name : hostile_names()) tensors.push_back({name, {1}});
  const std::string text = diff_reports(to_json(report_of(tensors)), to_json(report_of({}))).text;
  CHECK(has(text, "only before: a\\x0ab\n"));
  for (const char c : text) REQUIRE((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
}

TEST_CASE("a report written to a file is read back") {
  const Folder folder;
  const Json json = to_json(report_of(before));
  CHECK(load_report(folder.write("r.json", json_text(report_of(before)))) == json);
}

TEST_CASE("what is no report is refused with file and schema") {
  const Folder folder;
  const std::string good = json_text(report_of(before));
  const std::vector<std::string> wrong{
      "",
      "{",
      "[]",
      "null",
      "{}",
      good.substr(0, good.size() / 2),
      R"({"schema":"binade.range_report/3"})",
      R"({"schema":"binade.range_report/1"})",
      R"({"schema":7,"total":{},"tensors":[],"loss_scale":{}})",
      R"({"schema":"binade.range_report/1","total":{},"tensors":{},"loss_scale":{}})",
      std::string(100000, '['),
      "\xff\xfe"};
  for (const std::string& text : wrong) {
    const std::string path = folder.write("bad.json", text);
    const std::string error = error_of([&] { load_report(path); });
    INFO(text.substr(0, 60));
    CHECK(has(error, "bad.json"));
    CHECK(has(error, "binade.range_report/3"));
  }
  CHECK(has(error_of([&] { load_report(folder / "absent.json"); }), "absent.json"));
}

TEST_CASE("a report with parts missing or of the wrong type is refused, not misread") {
  const Json good = to_json(report_of(before));
  for (const char* key : {"name", "values", "binades", "dtype", "shape", "max"}) {
    Json bad = good;
    bad["tensors"][0].erase(key);
    INFO(std::string(key));
    CHECK(has(error_of([&] { diff_reports(bad, good); }), "lacks what its schema promises"));
  }
  const auto refused_or_different = [&](const char* pointer, const Json& value) {
    Json bad = good;
    bad[Json::json_pointer(pointer)] = value;
    bool different = false;
    const std::string error = error_of([&] { different = diff_reports(good, bad).different; });
    return different || has(error, "lacks what its schema promises");
  };
  CHECK(refused_or_different("/tensors/0/name", 7));
  CHECK(refused_or_different("/tensors/0", "text"));
  CHECK(refused_or_different("/tensors/0/values", Json::array()));
  CHECK(refused_or_different("/total/formats/binary16/lost_l2", Json::object()));
  CHECK(refused_or_different("/total/values", Json::object()));
}

}  // namespace
}  // namespace binade::test::diff_test
