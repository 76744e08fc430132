// SPDX-License-Identifier: Apache-2.0
//
// The tables of block formats and scale rules, and what holds of every rule: the way back gives
// each element's value, and scales are those that published sources state. What each rule gives,
// step by step, tests/lib/python/block_rules_test.py holds against an oracle.
#include "emulate/block_quantize.h"
#include "emulate/scale_rules.h"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <utility>

namespace binade::block_quantize_test {
namespace {

std::uint32_t bits(float x) { return static_cast<std::uint32_t>(bits_of(x)); }

/// Encodings of an element format.
std::uint64_t codes_of(const Format& f) { return std::uint64_t{1} << f.bits(); }

std::uint32_t code_of_amax(const char* rule, const char* format, float amax) {
  const BlockFormat f = *find_block_format(format);
  const ScaleRule& steps = find_scale_rule(rule, f)->rule;
  return block_scale(steps, f, bits(amax), tensor_scale(steps, f, bits(amax))).code;
}

TEST_CASE("every block format has a name of its own and a rule, and every rule has a format") {
  std::set<std::string_view> names;
  for (const NamedBlockFormat& row : block_formats) {
    CHECK(names.insert(row.name).second);
    CHECK_FALSE(find_format(row.name));
    CHECK(find_scale_rule("", row.format) != nullptr);
  }
  std::set<std::string> seen;
  for (const NamedScaleRule& row : scale_rules) {
    for (const Format& element : row.elements) {
      if (element == Format{} && &element != row.elements.data()) break;
      const std::string key = std::string(row.name) + " " + std::string(format_name(row.scale)) +
                              " " + std::to_string(row.tensor_scale) + " " +
                              std::string(format_name(element));
      CHECK_MESSAGE(seen.insert(key).second, key, " has two rows, of which one is never found");
    }
    CHECK_FALSE(row.source.empty());
  }
}

TEST_CASE("an element under the scale 1 is its own value, and is rounded to its own code") {
  for (const NamedBlockFormat& row : block_formats) {
    const ScaleRule exact{};
    const BlockScale one{};
    for (std::uint64_t code = 0; code < codes_of(row.format.element); ++code) {
      const Exact value = element_value(row.format, code);
      if (value.kind == Kind::nan || value.kind == Kind::infinite) continue;
      const bool is_extra = row.format.twos_complement && code == codes_of(row.format.element) / 2;
      const auto x = static_cast<std::uint32_t>(project(value, binary32).bits);
      const std::uint64_t again = block_element(exact, row.format, one, x, {}).bits;
      CHECK(again == (is_extra ? code + 1 : code));
      if (is_extra) CHECK(x == bits(-2));
    }
  }
}

TEST_CASE("scales are those that the sources state") {
  // The largest magnitude 7 in FP4: OCP's floor keeps 2^0 and saturates, the others go to 2^1.
  CHECK(code_of_amax("ocp", "mxfp4", 7) == 127);
  CHECK(code_of_amax("torchao_ceil", "mxfp4", 7) == 128);
  CHECK(code_of_amax("torchao_even", "mxfp4", 7) == 128);
  CHECK(code_of_amax("torchao_even", "mxfp4", 6.5F) == 127);
  CHECK(code_of_amax("torchao_rceil", "mxfp8_e4m3", 448) == 127);
  CHECK(code_of_amax("torchao_rceil", "mxfp8_e4m3", 449) == 128);
  // A block of zeros: DeepGEMM's 1e-4 / 448, torchao's least normal number, ModelOpt's 1.
  CHECK(code_of_amax("deepgemm", "mxfp8_e4m3", 0) == 105);  // torchao has 0
  const BlockFormat nvfp4 = *find_block_format("nvfp4");
  for (const auto& [rule, code] :
       {std::pair{"te", 0x00U}, {"torchao", 0x08U}, {"modelopt", 0x38U}}) {
    const ScaleRule& steps = find_scale_rule(rule, nvfp4)->rule;
    CHECK(block_scale(steps, nvfp4, 0, tensor_scale(steps, nvfp4, bits(1))).code == code);
  }
}

TEST_CASE("a logarithm that binary32 rounds to a whole number loses the step up") {
  // 2^64 · (1 + n·2^-23): log2 rounds to 64 where n · 2^-23 / ln 2 is below 2^-18, half of its ulp.
  const std::uint32_t power = bits(0x1p64F);
  CHECK(block_steps::ceil_of_rounded_log2(power) == 64);
  CHECK(block_steps::ceil_of_rounded_log2(power + 22) == 64);
  CHECK(block_steps::ceil_of_rounded_log2(power + 23) == 65);
  CHECK(block_steps::ceil_of_rounded_log2(bits(1) + 1) == 1);
  CHECK(block_steps::ceil_of_rounded_log2(bits(0x1p-64F) + 11) == -64);
  CHECK(block_steps::ceil_of_rounded_log2(bits(0x1p-64F) + 12) == -63);
}

TEST_CASE("a logarithm that binary32 rounds to a whole number gains the step down") {
  // 2^64 · (1 - n·2^-24): log2 rounds to 64 where n · 2^-24 / ln 2 is below 2^-19, half of the
  // distance to the number below.
  const std::uint32_t power = bits(0x1p64F);
  CHECK(block_steps::floor_of_rounded_log2(power) == 64);
  CHECK(block_steps::floor_of_rounded_log2(power - 22) == 64);
  CHECK(block_steps::floor_of_rounded_log2(power - 23) == 63);
  CHECK(block_steps::floor_of_rounded_log2(bits(1) - 1) == -1);
  CHECK(block_steps::floor_of_rounded_log2(bits(0x1p-64F) - 44) == -64);
  CHECK(block_steps::floor_of_rounded_log2(bits(0x1p-64F) - 45) == -65);
  CHECK(block_steps::floor_of_rounded_log2(1) == -149);
}

}  // namespace
}  // namespace binade::block_quantize_test
