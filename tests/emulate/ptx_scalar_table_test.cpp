// SPDX-License-Identifier: Apache-2.0
//
// The list of PTX's scalar instructions holds each name once, every one that the parser knows, with
// the target that has it.
#include "emulate/ptx_scalar_table.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

namespace binade::ptx_scalar_table_test {
namespace {

std::map<std::string, SmTarget> listed() {
  std::map<std::string, SmTarget> out;
  for_each_ptx_scalar([&](std::string_view name, const PtxScalar& x) {
    CHECK(out.emplace(name, x.target).second);
  });
  return out;
}

}  // namespace

TEST_CASE("a listed name gives the listed instruction") {
  std::size_t count = 0;
  for_each_ptx_scalar([&](std::string_view name, const PtxScalar& x) {
    const std::string text(name);
    CAPTURE(text);
    const auto found = find_ptx_scalar(name);
    REQUIRE(found.has_value());
    CHECK(found->operation == x.operation);
    CHECK(found->attributes == x.attributes);
    CHECK(found->clamp == x.clamp);
    CHECK(found->lanes == x.lanes);
    CHECK(found->from == x.from);
    CHECK(found->target == x.target);
    CHECK(found->nan == x.nan);
    CHECK(found->xorsign_abs == x.xorsign_abs);
    count += 1;
  });
  CHECK(count == 310);
}

TEST_CASE("every spelling of qualifiers that the parser takes is listed") {
  const auto names = listed();
  std::size_t taken = 0;
  for (const char* opcode : {"add", "sub", "mul", "fma", "min", "max"}) {
    for (const char* rounding : {"", ".rn", ".rz", ".rm", ".rp", ".rna"}) {
      for (const char* words : {"", ".ftz", ".sat", ".relu", ".ftz.sat", ".ftz.relu", ".NaN",
                                ".ftz.NaN", ".xorsign.abs", ".NaN.xorsign.abs", ".ftz.xorsign.abs",
                                ".ftz.NaN.xorsign.abs", ".sat.ftz", ".NaN.sat"}) {
        for (const PtxType& type : ptx_types) {
          const std::string name =
              std::string(opcode) + rounding + words + "." + std::string(type.name);
          CAPTURE(name);
          const bool found = find_ptx_scalar(name).has_value();
          CHECK(names.contains(name) == found);
          taken += found ? 1 : 0;
        }
      }
    }
  }
  CHECK(taken == names.size());
}

TEST_CASE("the generations that brought an instruction") {
  const auto names = listed();
  CHECK(names.at("add.rn.ftz.sat.f32") == SmTarget{75});
  CHECK(names.at("fma.rn.f16x2") == SmTarget{75});
  CHECK(names.at("fma.rn.relu.f16") == SmTarget{80});
  CHECK(names.at("fma.rn.bf16x2") == SmTarget{80});
  CHECK(names.at("min.NaN.f32") == SmTarget{80});
  CHECK(names.at("max.f16") == SmTarget{80});
  CHECK(names.at("min.xorsign.abs.f32") == SmTarget{86});
  CHECK(names.at("add.bf16") == SmTarget{90});
  CHECK(names.at("fma.rn.f32x2") == SmTarget{100});
  CHECK(names.at("add.f32.bf16") == SmTarget{100});
}

TEST_CASE("a target has what its generation, its family or it alone has") {
  for (const auto& [target, lowest, has] : {std::tuple{SmTarget{90, 'a'}, SmTarget{90}, true},
                                            {SmTarget{89}, SmTarget{90}, false},
                                            {SmTarget{120}, SmTarget{90}, true},
                                            {SmTarget{100, 'a'}, SmTarget{100, 'f'}, true},
                                            {SmTarget{120, 'f'}, SmTarget{100, 'f'}, true},
                                            {SmTarget{100}, SmTarget{100, 'f'}, false},
                                            {SmTarget{90, 'a'}, SmTarget{100, 'f'}, false},
                                            {SmTarget{100, 'a'}, SmTarget{100, 'a'}, true},
                                            {SmTarget{103, 'a'}, SmTarget{100, 'a'}, true},
                                            {SmTarget{100, 'f'}, SmTarget{100, 'a'}, false},
                                            {SmTarget{120, 'a'}, SmTarget{100, 'a'}, false}}) {
    const std::string which = std::to_string(target.sm) + " for " + std::to_string(lowest.sm);
    CAPTURE(which);
    CHECK(has_instruction(target, lowest) == has);
  }
}

}  // namespace binade::ptx_scalar_table_test
