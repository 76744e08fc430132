// SPDX-License-Identifier: Apache-2.0
//
// The names of PTX's conversions: which exist. tests/cuda lets ptxas judge them.
#include "emulate/cvt.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "tests/emulate/cvt_names.h"
#include "tests/lib/text/words.h"

namespace binade::cvt_test {
namespace {

TEST_CASE("a name is found when it is written as PTX writes it, and only then") {
  for (const std::string& name : test::words(R"(
        cvt.rn.f16.f32 cvt.rm.ftz.sat.f16.f32 cvt.rz.relu.satfinite.f16.f32 cvt.f16.bf16
        cvt.rp.f16.bf16 cvt.rm.bf16.f32 cvt.rn.ftz.bf16.f32 cvt.f32.f16 cvt.ftz.sat.f32.f16
        cvt.f32.bf16 cvt.rz.ftz.f32.bf16 cvt.rp.ftz.sat.f32.f64 cvt.ftz.f64.f32
        cvt.rna.satfinite.tf32.f32 cvt.rn.satfinite.relu.tf32.f32 cvt.rz.relu.satfinite.bf16x2.f32
        cvt.rs.relu.satfinite.f16x2.f32 cvt.rn.satfinite.relu.e5m2x2.f16x2
        cvt.rn.satfinite.e2m1x2.f16x2 cvt.rn.relu.f16x2.e3m2x2 cvt.rs.satfinite.e2m1x4.f32
        cvt.rp.satfinite.ue8m0x2.bf16x2 cvt.rz.ue8m0x2.f32 cvt.rn.bf16x2.ue8m0x2)")) {
    CAPTURE(name);
    CHECK(find_ptx_cvt(name).has_value());
  }
  for (const std::string& name : test::words(R"(
        cvt cvt. cvt.f16.f32 cvt.rn.f32.f16 cvt.rn.f32.f32 cvt.rn.rn.f16.f32 cvt.rnf16.f32
        cvt.rn.f16f32 cvt.rna.f16.f32 cvt.rs.f16.f32 cvt.rm.satfinite.f16.f32
        cvt.rn.ftz.satfinite.f16.f32 cvt.rn.satfinite.relu.f16.f32 cvt.rn.relu.satfinite.tf32.f32
        cvt.rna.relu.tf32.f32 cvt.rn.sat.bf16.f32 cvt.rn.relu.bf16.f16 cvt.sat.bf16.bf16
        cvt.ftz.f32.f64 cvt.rn.f64.f32 cvt.rn.e4m3x2.f32 cvt.rn.relu.satfinite.e4m3x2.f32
        cvt.rz.satfinite.e4m3x2.f32 cvt.rn.satfinite.e4m3.f32 cvt.rn.satfinite.e4m3x2.bf16x2
        cvt.rn.satfinite.e2m3x2.f16x2 cvt.rn.satfinite.f16x2.e4m3x2 cvt.rs.e4m3x4.f32
        cvt.rs.satfinite.relu.e4m3x4.f32 cvt.rn.satfinite.e4m3x4.f32 cvt.rn.ue8m0x2.f32
        cvt.rz.relu.ue8m0x2.bf16x2 cvt.rz.bf16x2.ue8m0x2 cvt.rni.f32.f32 cvt.rn.f16.- cvt.-.f32.f32)",
                                             {"", "cvt.rn.f16.f32 ", " cvt.rn.f16.f32"})) {
    CAPTURE(name);
    CHECK_FALSE(find_ptx_cvt(name).has_value());
  }
}

TEST_CASE("every instruction is found by its own name and no two share one") {
  std::set<std::string> names;
  int count = 0;
  for_each_ptx_cvt([&](const CvtFamily& family, std::string_view rounding,
                       std::string_view modifiers) {
    const std::string name = "cvt" + std::string(rounding) + std::string(modifiers) + "." +
                             std::string(family.to) + "." + std::string(family.from);
    CAPTURE(name);
    const auto found = find_ptx_cvt(name);
    REQUIRE(found.has_value());
    const PtxCvt& cvt = *found;
    CHECK(find_cvt_type(family.to).lanes == cvt.lanes);
    CHECK((find_cvt_type(family.from).lanes == cvt.lanes || find_cvt_type(family.from).lanes == 1));
    CHECK((cvt.attributes.saturation == Saturation::finite) ==
          (name.find(".satfinite") != name.npos));
    CHECK((cvt.clamp == Clamp::not_negative) == (name.find(".relu") != name.npos));
    CHECK((cvt.random != RandomLayout::none) == (rounding == ".rs"));
    CHECK(cvt.attributes.rounding == find_rounding(rounding.empty() ? "rn" : rounding.substr(1)));
    CHECK(cvt.target.sm >= 75);
    CHECK(!cvt_evidence_name(cvt.evidence).empty());
    names.insert(name);
    ++count;
  });
  CHECK(count == 187);
  CHECK(names.size() == 187);
}

}  // namespace
}  // namespace binade::cvt_test
