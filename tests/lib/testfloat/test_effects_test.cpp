// SPDX-License-Identifier: Apache-2.0
//
// What idle_settings() calls idle against all cases of functions of few bits, with and without the
// setting.
#include "lib/testfloat/test_effects.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace test_effects_test {
namespace {

using binade::Rounding;
using binade::TestFunction;
using binade::TestSettings;

/// An option that is given with one or more values, each of which sets it.
struct GivenOption {
  std::string_view name;
  std::vector<void (*)(TestSettings&)> values;
};

const std::vector<GivenOption>& given_options() {
  static const std::vector<GivenOption> all{
      {"--rounding",
       {[](TestSettings& s) { s.attributes.rounding = Rounding::ties_to_away; },
        [](TestSettings& s) { s.attributes.rounding = Rounding::toward_zero; },
        [](TestSettings& s) { s.attributes.rounding = Rounding::toward_positive; },
        [](TestSettings& s) { s.attributes.rounding = Rounding::toward_negative; },
        [](TestSettings& s) { s.attributes.rounding = Rounding::to_odd; }}},
      {"--saturation",
       {[](TestSettings& s) { s.attributes.saturation = binade::Saturation::finite; }}},
      {"--ftz", {[](TestSettings& s) { s.attributes.flush_results = true; }}},
      {"--daz", {[](TestSettings& s) { s.attributes.flush_operands = true; }}},
      {"--tininess",
       {[](TestSettings& s) { s.attributes.tininess = binade::Tininess::before_rounding; }}},
      {"--nan", {[](TestSettings& s) { s.attributes.nan = binade::NanResult::nvidia; }}},
      {"--nan", {[](TestSettings& s) { s.attributes.nan = binade::NanResult::propagate; }}},
      {"--exact", {[](TestSettings& s) { s.exact = true; }}},
  };
  return all;
}

/// All operands of a function, or none if they have more than 16 bits.
std::vector<binade::TestOperands> operands_of(const TestFunction& function) {
  std::array<int, 3> bits{};
  for (std::size_t i = 0; i < function.operands.size(); ++i) bits[i] = function.operands[i].bits();
  const int width = bits[0] + bits[1] + bits[2];
  std::vector<binade::TestOperands> out(width > 16 ? 0 : std::size_t{1} << width);
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint64_t rest = i;
    for (std::size_t k = 0; k < 3; ++k) {
      out[i][k] = rest & ((std::uint64_t{1} << bits[k]) - 1);
      rest >>= bits[k];
    }
  }
  return out;
}

bool is_idle(const TestFunction& function, const TestSettings& settings, std::string_view name) {
  const auto all = idle_settings(function, settings);
  return std::ranges::any_of(all,
                             [&](const binade::IdleOption& x) { return x.name == name && x.idle; });
}

bool same_cases(const TestFunction& function, const TestSettings& a, const TestSettings& b,
                const std::vector<binade::TestOperands>& all) {
  return std::ranges::none_of(all, [&](const binade::TestOperands& x) {
    const binade::TestResult one = evaluate(function, x, a);
    const binade::TestResult other = evaluate(function, x, b);
    return one.bits != other.bits || one.flags != other.flags;
  });
}

const std::vector<TestSettings>& settings_beside() {
  static const std::vector<TestSettings> all{
      {},
      {.attributes = {.rounding = Rounding::toward_zero}},
      {.attributes = {.rounding = Rounding::toward_positive,
                      .saturation = binade::Saturation::finite}},
      {.attributes = {.flush_results = true, .flush_operands = true}},
      {.exact = true},
  };
  return all;
}

/// The idle options of a function by a word each, as "--ftz --nan"; of --nan both rules count.
std::string idle_of(std::string_view name) {
  const TestFunction function = binade::parse_test_function(name);
  std::string out;
  std::set<std::string_view> seen;
  for (const GivenOption& option : given_options()) {
    const bool all_idle = std::ranges::all_of(option.values, [&](auto set) {
      TestSettings s;
      set(s);
      return is_idle(function, s, option.name);
    });
    if (all_idle && seen.insert(option.name).second) {
      out += (out.empty() ? "" : " ") + std::string(option.name);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("a setting is idle only if no case of the function changes by it") {
  const std::vector<std::string> formats{"e2m1",
                                         "e2m2:specials=ieee",
                                         "e2m2:specials=fnuz",
                                         "e3m1:specials=ieee",
                                         "e2m2:specials=nan_only",
                                         "e3m0:specials=none"};
  std::vector<std::string> functions;
  for (const std::string& f : formats) {
    for (const char* operation :
         {"add", "sub", "mul", "div", "rem", "sqrt", "roundToInt", "minimum", "maximumNumber",
          "compareQuietLess", "compareQuietUnordered"}) {
      functions.push_back(f + "_" + operation);
    }
    for (const std::string& to : formats) functions.push_back(f + "_to_" + to);
    for (const char* to : {"i8", "f16", "bf16", "e8m0", "ue4m3", "e4m3"}) {
      functions.push_back(f + "_to_" + to);
      functions.push_back(std::string(to) + "_to_" + f);
    }
  }
  for (const char* mixed :
       {"e2m1,e3m1:specials=ieee_add_to_f16", "e2m1,e2m2:specials=ieee_mul_to_e3m1:specials=ieee",
        "e2m1,e2m1_mul_to_f32", "e2m1,e2m1_div_to_e4m3", "e2m1_mulAdd", "ui8_to_e5m2", "i8_to_f16",
        "e2m1,e2m2:specials=fnuz_rem_to_e2m1", "i8_to_e8m0", "e4m3_to_bf16"}) {
    functions.emplace_back(mixed);
  }
  for (const std::string& name : functions) {
    const TestFunction function = binade::parse_test_function(name);
    const std::vector<binade::TestOperands> all = operands_of(function);
    for (const TestSettings& beside : settings_beside()) {
      for (const GivenOption& option : given_options()) {
        for (const auto set : option.values) {
          TestSettings s = beside;
          set(s);
          if (!is_idle(function, s, option.name)) continue;
          INFO(name, " ", option.name);
          CHECK(same_cases(function, beside, s, all));
        }
      }
    }
  }
}

TEST_CASE("settings that change no case are idle, by function") {
  struct Row {
    std::string_view function, idle;
  };
  constexpr std::array<Row, 22> rows{{
      {"f16_add", "--tininess --exact"},
      {"f16_mul", "--exact"},
      {"f16_mulAdd", "--exact"},
      {"f32_div", "--exact"},
      {"f16_sqrt", "--ftz --tininess --exact"},
      {"e4m3_sqrt", "--saturation --ftz --tininess --nan --exact"},
      {"e5m2_minimum", "--rounding --tininess --exact"},
      {"f32_maximumMagnitudeNumber", "--rounding --tininess --exact"},
      {"e5m2_rem", "--rounding --saturation --tininess --exact"},
      {"e5m2_roundToInt", "--ftz --daz --tininess"},
      {"ui8_to_e5m2", "--saturation --ftz --daz --tininess --nan --exact"},
      {"i8_to_f16", "--rounding --saturation --ftz --daz --tininess --nan --exact"},
      {"ui16_to_f32", "--rounding --saturation --ftz --daz --tininess --nan --exact"},
      {"i64_to_f16", "--ftz --daz --tininess --nan --exact"},
      {"e4m3_to_bf16", "--rounding --saturation --ftz --tininess --exact"},
      {"f32_to_e8m0", "--ftz --nan --exact"},
      {"f16_to_e4m3fnuz", "--nan --exact"},
      {"f64_to_f16", "--exact"},
      {"e2m1_add", "--tininess --nan --exact"},
      {"e4m3,e5m2_mul_to_f32", "--rounding --ftz --tininess --exact"},
      {"f16_le", "--rounding --saturation --ftz --tininess --nan --exact"},
      {"f32_to_i8", "--saturation --ftz --daz --tininess --nan"},
  }};
  for (const Row& row : rows) {
    CAPTURE(row.function);
    CHECK(idle_of(row.function) == row.idle);
  }
}

TEST_CASE("flushing of operands counts where a direction or a flag tells them from zero") {
  const auto flushed = [](const char* name, TestSettings s) {
    s.attributes.flush_operands = true;
    return is_idle(binade::parse_test_function(name), s, "--daz");
  };
  for (const char* name : {"e5m2_roundToInt", "f16_to_i32"}) {
    CHECK(flushed(name, {}));
    CHECK(flushed(name, {.attributes = {.rounding = Rounding::toward_zero}}));
    CHECK_FALSE(flushed(name, {.attributes = {.rounding = Rounding::toward_positive}}));
    CHECK_FALSE(flushed(name, {.attributes = {.rounding = Rounding::to_odd}}));
    CHECK_FALSE(flushed(name, {.exact = true}));
  }
  CHECK(flushed("e2m1_roundToInt", {}));  // a half, to even
  CHECK_FALSE(flushed("e2m1_roundToInt", {.attributes = {.rounding = Rounding::ties_to_away}}));
  CHECK(flushed("f16_compareQuietUnordered", {}));
  CHECK_FALSE(flushed("f16_compareQuietLessUnordered", {}));
  CHECK(flushed("e8m0_add", {}));
  CHECK(flushed("f64_to_e8m0", {}));
  CHECK_FALSE(flushed("f32_to_e8m0", {}));
}

}  // namespace test_effects_test
