// SPDX-License-Identifier: Apache-2.0
//
// Results of PTX's conversions, worked out by hand from the text of the PTX ISA: lanes, clamps,
// NaNs, flushing, random bits. Whole ranges are compared with NVIDIA's headers in tests/outside.
#include "emulate/cvt_lane.h"

#include <doctest/doctest.h>

#include <string>

#include "emulate/cvt.h"
#include "tests/emulate/cvt_names.h"

namespace binade::cvt_lane_test {
namespace {

using test::for_each_name;

std::uint64_t run(std::string_view name, const CvtOperands& operands, std::uint32_t rbits = 0) {
  const auto found = find_ptx_cvt(name);
  CAPTURE(std::string(name));
  REQUIRE(found.has_value());
  return compute(*found, operands, rbits);
}

constexpr std::uint64_t one = 0x3F800000;
constexpr std::uint64_t minus_one = 0xBF800000;
constexpr std::uint64_t minus_zero = 0x80000000;
constexpr std::uint64_t infinity = 0x7F800000;
constexpr std::uint64_t minus_infinity = 0xFF800000;
constexpr std::uint64_t nan = 0xFFC00001;

/// Draws operands near the ends and ties of the narrow formats, NaNs and infinities among them.
class Draw {
 public:
  std::uint64_t operator()(const Format& f) {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    const std::uint64_t word = state_ ^ state_ >> 29;
    if (f != binary32 && f != binary64) return word;
    const int exponent = static_cast<int>(word >> 40 & 63) - 32;  // 2^-32 … 2^31
    const std::uint64_t field =
        word >> 46 & 7 ? static_cast<std::uint64_t>(exponent + f.bias) : word & f.exponent_mask();
    const std::uint64_t fraction = word << (word >> 50 & 63) & f.fraction_mask();
    return bits_of({(word >> 63) != 0, field & f.exponent_mask(), fraction}, f);
  }

 private:
  std::uint64_t state_ = 1;
};

std::uint64_t lane_of(const PtxCvt& cvt, std::uint64_t result, int lane) {
  const int width = PtxCvt::lane_bits(cvt.to);
  return result >> (lane * width) & (~std::uint64_t{0} >> (64 - width));
}

/// Returns a result after the instruction's clamp (.sat or .relu), by its rule.
std::uint64_t clamped_by_hand(const PtxCvt& cvt, std::uint64_t plain) {
  const Exact x = decode(plain, cvt.to);
  if (x.kind == Kind::nan) return cvt.clamp == Clamp::zero_to_one ? 0 : plain;
  if (x.negative) return 0;
  const std::uint64_t high = project({.kind = Kind::finite, .significand = 1}, cvt.to).bits;
  return cvt.clamp == Clamp::zero_to_one && plain > high ? high : plain;
}

}  // namespace

TEST_CASE("operands, lanes and targets") {
  const PtxCvt pair = *find_ptx_cvt("cvt.rn.satfinite.e2m1x2.f32");
  CHECK(pair.operand_count() == 2);
  CHECK(pair.operand_bits() == 32);
  CHECK(pair.result_bits() == 8);
  CHECK(pair.target == SmTarget{100, 'f'});
  const PtxCvt four = *find_ptx_cvt("cvt.rs.satfinite.e2m1x4.f32");
  CHECK(four.operand_count() == 4);
  CHECK(four.result_bits() == 16);
  CHECK(four.target == SmTarget{100, 'a'});
  const PtxCvt back = *find_ptx_cvt("cvt.rn.f16x2.e3m2x2");
  CHECK(back.operand_count() == 1);
  CHECK(back.operand_bits() == 16);
  CHECK(back.result_bits() == 32);
  CHECK(find_ptx_cvt("cvt.rn.f16x2.e2m1x2")->operand_bits() == 8);
  CHECK(find_ptx_cvt("cvt.rn.f16.f32")->target == SmTarget{75});
  CHECK(find_ptx_cvt("cvt.rn.relu.f16.f32")->target == SmTarget{80});
}

TEST_CASE("the first operand goes to the uppermost lane") {
  CHECK(run("cvt.rn.f16x2.f32", {one, 0x40000000}) == 0x3C004000);
  CHECK(run("cvt.rn.bf16x2.f32", {one, 0x40000000}) == 0x3F804000);
  CHECK(run("cvt.rn.satfinite.e4m3x2.f32", {one, minus_one}) == 0x38B8);
  CHECK(run("cvt.rn.satfinite.e5m2x2.f32", {one, minus_one}) == 0x3CBC);
  CHECK(run("cvt.rn.satfinite.e2m1x2.f32", {one, minus_one}) == 0x2A);    // 4 bits each
  CHECK(run("cvt.rn.satfinite.e2m3x2.f32", {one, minus_one}) == 0x0828);  // the low 6 of each byte
  CHECK(run("cvt.rn.satfinite.e3m2x2.f32", {one, minus_one}) == 0x0C2C);
  CHECK(run("cvt.rz.ue8m0x2.f32", {one, 0x40000000}) == 0x7F80);
  // Packed operands keep their places.
  CHECK(run("cvt.rn.satfinite.e4m3x2.f16x2", {0x3C00BC00}) == 0x38B8);
  CHECK(run("cvt.rn.satfinite.e2m1x2.f16x2", {0x3C00BC00}) == 0x2A);
  CHECK(run("cvt.rn.f16x2.e4m3x2", {0x38B8}) == 0x3C00BC00);
  CHECK(run("cvt.rn.f16x2.e2m1x2", {0x2A}) == 0x3C00BC00);
  CHECK(run("cvt.rn.f16x2.e2m3x2", {0x0828}) == 0x3C00BC00);
  CHECK(run("cvt.rn.f16x2.e3m2x2", {0x0C2C}) == 0x3C00BC00);
  CHECK(run("cvt.rz.ue8m0x2.bf16x2", {0x3F804000}) == 0x7F80);
  CHECK(run("cvt.rn.bf16x2.ue8m0x2", {0x7F80}) == 0x3F804000);
  // a, b, e, f from the top.
  const CvtOperands four{one, 0x40000000, 0x40400000, 0x40800000};
  CHECK(run("cvt.rs.satfinite.e4m3x4.f32", four) == 0x38404448);
  CHECK(run("cvt.rs.satfinite.e5m2x4.f32", four) == 0x3C404244);
  CHECK(run("cvt.rs.satfinite.e2m3x4.f32", four) == 0x08101418);
  CHECK(run("cvt.rs.satfinite.e3m2x4.f32", four) == 0x0C101214);
  CHECK(run("cvt.rs.satfinite.e2m1x4.f32", four) == 0x2456);
}

TEST_CASE("e4m3 ends at 448: ties above it, Inf and NaN") {
  const char* to_e4m3 = "cvt.rn.satfinite.e4m3x2.f32";
  CHECK(run(to_e4m3, {0, 0x43E00000}) == 0x7E);  // 448
  CHECK(run(to_e4m3, {0, 0x43E80000}) == 0x7E);  // 464, the tie
  CHECK(run(to_e4m3, {0, 0x43E80001}) == 0x7E);
  CHECK(run(to_e4m3, {0, 0xC3F00000}) == 0xFE);  // -480
  CHECK(run(to_e4m3, {0, infinity}) == 0x7E);
  CHECK(run(to_e4m3, {0, minus_infinity}) == 0xFE);
  CHECK(run(to_e4m3, {0, nan}) == 0x7F);  // not 0xFF: no sign
  CHECK(run(to_e4m3, {0, minus_zero}) == 0x80);
  CHECK(run(to_e4m3, {0, 0x43D80000}) == 0x7E);  // 432: between 416 and 448, to even
  CHECK(run(to_e4m3, {0, 0x3A800000}) == 0x00);  // 2^-10: half the smallest, to even
  CHECK(run(to_e4m3, {0, 0x3A800001}) == 0x01);
  CHECK(run("cvt.rn.satfinite.e4m3x2.f16x2", {0x5F405EFF}) == 0x7E7E);  // 464 and just below 448
  CHECK(run("cvt.rn.satfinite.e4m3x2.f16x2", {0xFE01FC00}) == 0x7FFE);
}

TEST_CASE("satfinite keeps NaN where the format has one, else it is the largest number") {
  CHECK(run("cvt.rn.satfinite.f16.f32", {nan}) == 0x7FFF);
  CHECK(run("cvt.rn.satfinite.f16.f32", {minus_infinity}) == 0xFBFF);
  CHECK(run("cvt.rz.satfinite.bf16.f32", {infinity}) == 0x7F7F);
  CHECK(run("cvt.rn.bf16.f32", {0x7F7FFFFF}) == 0x7F80);
  CHECK(run("cvt.rn.satfinite.bf16.f32", {0x7F7FFFFF}) == 0x7F7F);
  CHECK(run("cvt.rn.satfinite.e5m2x2.f32", {nan, infinity}) == 0x7F7B);
  CHECK(run("cvt.rn.satfinite.e5m2x2.f32", {0x47700000, minus_infinity}) == 0x7BFB);  // 61440
  CHECK(run("cvt.rn.satfinite.e2m1x2.f32", {nan, minus_infinity}) == 0x7F);           // +6, -6
  CHECK(run("cvt.rn.satfinite.e2m3x2.f32", {nan, minus_infinity}) == 0x1F3F);
  CHECK(run("cvt.rn.satfinite.e3m2x2.f32", {nan, minus_infinity}) == 0x1F3F);
  CHECK(run("cvt.rn.satfinite.tf32.f32", {infinity}) == 0x7F7FE000);
  CHECK(run("cvt.rn.satfinite.tf32.f32", {nan}) == 0x7FFFE000);
}

TEST_CASE("relu takes -0 and less to +0 and keeps a NaN, without its sign") {
  for (const char* name : {"cvt.rn.relu.f16.f32", "cvt.rz.relu.bf16.f32", "cvt.rn.relu.tf32.f32"}) {
    CHECK(run(name, {minus_zero}) == 0);
    CHECK(run(name, {minus_one}) == 0);
    CHECK(run(name, {minus_infinity}) == 0);
    CHECK(run(name, {0x80000001}) == 0);
  }
  CHECK(run("cvt.rn.relu.f16.f32", {nan}) == 0x7FFF);
  CHECK(run("cvt.rn.relu.f16.f32", {infinity}) == 0x7C00);
  CHECK(run("cvt.rn.relu.satfinite.f16.f32", {infinity}) == 0x7BFF);
  CHECK(run("cvt.rn.relu.bf16x2.f32", {minus_one, one}) == 0x3F80);
  CHECK(run("cvt.rn.satfinite.relu.e4m3x2.f32", {nan, minus_infinity}) == 0x7F00);
  CHECK(run("cvt.rn.satfinite.relu.e2m1x2.f32", {nan, minus_zero}) == 0x70);
  CHECK(run("cvt.rn.relu.f16x2.e5m2x2", {0xFFBC}) == 0x7FFF0000);
  CHECK(run("cvt.rn.relu.f16x2.e5m2x2", {0x8001}) == 0x00000100);  // 2^-16
}

TEST_CASE("sat is the range 0 to 1, NaN becomes +0") {
  for (const std::uint64_t x : {nan, minus_zero, minus_one, minus_infinity}) {
    CHECK(run("cvt.sat.f32.f32", {x}) == 0);
    CHECK(run("cvt.rn.sat.f16.f32", {x}) == 0);
    CHECK(run("cvt.sat.f64.f32", {x}) == 0);
  }
  CHECK(run("cvt.sat.f32.f32", {infinity}) == one);
  CHECK(run("cvt.rn.sat.f16.f32", {0x40000000}) == 0x3C00);
  CHECK(run("cvt.rp.sat.f16.f32", {0x00000001}) == 0x0001);
  CHECK(run("cvt.sat.f16.f16", {0xFE00}) == 0);
  CHECK(run("cvt.sat.f16.f16", {0x3800}) == 0x3800);
  CHECK(run("cvt.rn.sat.f32.f64", {0x3FF0000010000000}) == one);
}

TEST_CASE("ftz flushes what is f32, with its sign, but ptxas drops it on the way to f16") {
  CHECK(run("cvt.ftz.f32.f32", {0x807FFFFF}) == minus_zero);
  CHECK(run("cvt.f32.f32", {0x807FFFFF}) == 0x807FFFFF);
  CHECK(run("cvt.ftz.f64.f32", {0x80000001}) == 0x8000000000000000);
  CHECK(run("cvt.f64.f32", {0x80000001}) == 0xB6A0000000000000);
  CHECK(run("cvt.rp.bf16.f32", {0x00000001}) == 0x0001);
  CHECK(run("cvt.rp.ftz.bf16.f32", {0x00000001}) == 0x0000);
  CHECK(run("cvt.rp.ftz.bf16.f32", {0x00800001}) == 0x0081);
  CHECK(run("cvt.ftz.f32.bf16", {0x807F}) == minus_zero);
  CHECK(run("cvt.f32.bf16", {0x807F}) == 0x807F0000);
  CHECK(run("cvt.rp.ftz.f16.f32", {0x00000001}) == 0x0001);
  CHECK(run("cvt.rm.ftz.f16.f32", {0x807FFFFF}) == 0x8001);
  CHECK(run("cvt.rn.ftz.f16.f32", {0x807FFFFF}) == 0x8000);
  CHECK(run("cvt.rn.ftz.f16.f32", {0x38000000}) == 0x0200);  // f16's own subnormals stay
  // f64 to f32: tiny is told after rounding to 24 bits, as the thresholds in ptxas's code say.
  const char* to_f32 = "cvt.rn.ftz.f32.f64";
  CHECK(run(to_f32, {0x3810000000000000}) == 0x00800000);
  CHECK(run(to_f32, {0x380FFFFFF0000000}) == 0x00800000);
  CHECK(run(to_f32, {0x380FFFFFEFFFFFFF}) == 0);
  CHECK(run("cvt.rn.f32.f64", {0x380FFFFFEFFFFFFF}) == 0x00800000);
  CHECK(run("cvt.rz.ftz.f32.f64", {0xB80FFFFFFFFFFFFF}) == minus_zero);
  CHECK(run("cvt.rm.ftz.f32.f64", {0x380FFFFFFFFFFFFF}) == 0);
  CHECK(run("cvt.rm.ftz.f32.f64", {0xB80FFFFFE0000001}) == 0x80800000);
  CHECK(run("cvt.rm.ftz.f32.f64", {0xB80FFFFFE0000000}) == minus_zero);
  CHECK(run("cvt.rp.ftz.f32.f64", {0x380FFFFFE0000001}) == 0x00800000);
}

TEST_CASE("scales: ue8m0 has no sign and no zero, rounds by magnitude") {
  CHECK(run("cvt.rz.ue8m0x2.f32", {0x3FFFFFFF, 0xBFFFFFFF}) == 0x7F7F);
  CHECK(run("cvt.rp.ue8m0x2.f32", {0x3F800001, 0xBF800001}) == 0x8080);
  CHECK(run("cvt.rp.ue8m0x2.f32", {0, minus_zero}) == 0x0000);
  CHECK(run("cvt.rz.ue8m0x2.f32", {0x00000001, 0x00400000}) == 0x0000);  // 2^-149 and 2^-127
  CHECK(run("cvt.rp.ue8m0x2.f32", {0x00000001, 0x00400001}) == 0x0001);
  CHECK(run("cvt.rp.ue8m0x2.f32", {0x7F000000, 0x7F000001}) == 0xFEFF);  // 2^127, and above it
  CHECK(run("cvt.rp.satfinite.ue8m0x2.f32", {0x7F000001, infinity}) == 0xFEFE);
  CHECK(run("cvt.rz.ue8m0x2.f32", {0x7F7FFFFF, infinity}) == 0xFEFF);
  CHECK(run("cvt.rz.satfinite.ue8m0x2.f32", {nan, minus_infinity}) == 0xFFFE);
  CHECK(run("cvt.rn.bf16x2.ue8m0x2", {0xFF00}) == 0x7FFF0040);  // NaN and 2^-127, a subnormal
  CHECK(run("cvt.rp.ue8m0x2.bf16x2", {0x3F810040}) == 0x8000);
}

TEST_CASE("a NaN is canonical, or kept where ptxas writes a move or a shift") {
  CHECK(run("cvt.f16.f16", {0xFC01}) == 0x7FFF);
  CHECK(run("cvt.bf16.bf16", {0xFF81}) == 0x7FFF);
  CHECK(run("cvt.f16.f16", {0x8001}) == 0x8001);
  CHECK(run("cvt.f32.f16", {0xFC01}) == 0x7FFFFFFF);
  CHECK(run("cvt.f32.bf16", {0xFF81}) == 0xFF810000);
  CHECK(run("cvt.rz.f32.bf16", {0xFF81}) == 0xFF810000);
  CHECK(run("cvt.ftz.f32.bf16", {0xFF81}) == 0x7FFFFFFF);
  CHECK(run("cvt.f32.f32", {0xFF800001}) == 0xFF800001);
  CHECK(run("cvt.ftz.f32.f32", {0xFF800001}) == 0x7FFFFFFF);
  CHECK(run("cvt.f64.f64", {0xFFF0000000000001}) == 0xFFF0000000000001);
  // A NaN of f64 keeps its sign and leading payload and becomes quiet; with .ftz an f32's NaN is
  // made canonical before it is widened (rows of an H100).
  CHECK(run("cvt.rn.f32.f64", {0xFFF0000000000001}) == 0xFFC00000);
  CHECK(run("cvt.rn.f32.f64", {0xFFF061D063A7CBB8}) == 0xFFC30E83);
  CHECK(run("cvt.rn.f16.f64", {0x7FF01B1D5C906431}) == 0x7E06);
  CHECK(run("cvt.rn.bf16.f64", {0xFFFE7CF626D38AD3}) == 0xFFF3);
  CHECK(run("cvt.f64.f32", {0x7F9A3C2B}) == 0x7FFB478560000000);
  CHECK(run("cvt.ftz.f64.f32", {0xFFC00000}) == 0x7FFFFFFFE0000000);
  CHECK(run("cvt.f16.bf16", {0x7FC0}) == 0x7FFF);
  CHECK(run("cvt.rn.f16x2.e4m3x2", {0xFF7F}) == 0x7FFF7FFF);
  // cvt.rna.tf32 is integer code: the payload's low 13 bits go.
  CHECK(run("cvt.rna.tf32.f32", {0xFFFFFFFF}) == 0xFFFFE000);
  CHECK(run("cvt.rna.tf32.f32", {0x7F800001}) == infinity);
  CHECK(run("cvt.rna.satfinite.tf32.f32", {0x7F800001}) == 0x7F7FE000);
  CHECK(run("cvt.rna.satfinite.tf32.f32", {0xFF802000}) == minus_infinity);
  CHECK(run("cvt.rn.tf32.f32", {0x7F800001}) == 0x7FFFE000);
}

TEST_CASE("ties and directions") {
  CHECK(run("cvt.rna.tf32.f32", {0x3F801000}) == 0x3F802000);
  CHECK(run("cvt.rn.tf32.f32", {0x3F801000}) == 0x3F800000);
  CHECK(run("cvt.rm.bf16.f32", {0xBF800001}) == 0xBF81);
  CHECK(run("cvt.rp.bf16.f32", {0xBF800001}) == 0xBF80);
  CHECK(run("cvt.rp.bf16.f16", {0x3C01}) == 0x3F81);
  CHECK(run("cvt.bf16.f16", {0x3C01}) == run("cvt.rn.bf16.f16", {0x3C01}));
  CHECK(run("cvt.f16.bf16", {0x4780}) == 0x7C00);  // 65536
  CHECK(run("cvt.rz.f16.bf16", {0x4780}) == 0x7BFF);
  CHECK(run("cvt.rn.f16.f64", {0x3FF0020000000001}) == 0x3C01);  // past a tie: rounded once
  CHECK(run("cvt.rn.satfinite.e2m1x2.f32", {0x40A00000, 0x3E800000}) == 0x60);  // ties 5 and 0.25
}

TEST_CASE("rs: a carry out of the discarded bits and the random ones") {
  // f16: 13 bits. 1 + 2^-23 discards 1 of 2^13: only r = 0x1FFF carries. The bits above are
  // ignored.
  const CvtOperands both{0x3F800001, 0x3F800001};
  CHECK(run("cvt.rs.f16x2.f32", both, 0x1FFF0000) == 0x3C013C00);
  CHECK(run("cvt.rs.f16x2.f32", both, 0x00001FFF) == 0x3C003C01);
  CHECK(run("cvt.rs.f16x2.f32", both, 0xFFFE1FFE) == 0x3C003C00);
  // bf16: 16 bits.
  CHECK(run("cvt.rs.bf16x2.f32", both, 0xFFFFFFFE) == 0x3F813F80);
  CHECK(run("cvt.rs.bf16x2.f32", {0xBF808000, 0xBF808000}, 0x7FFF8000) == 0xBF80BF81);
  CHECK(run("cvt.rs.bf16x2.f32", {nan, infinity}, 0xFFFFFFFF) == 0x7FFF7F80);
  CHECK(run("cvt.rs.satfinite.bf16x2.f32", {0x7F7FFFFF, minus_infinity}, 0xFFFFFFFF) == 0x7F7FFF7F);
  CHECK(run("cvt.rs.bf16x2.f32", {0x7F7FFFFF, one}, 0xFFFFFFFF) == 0x7F803F80);
  CHECK(run("cvt.rs.relu.bf16x2.f32", {minus_one, minus_zero}, 0xFFFFFFFF) == 0);
  // e4m3: 1 + 2^-4 is half way to 1.125. b and f need bit 15 of their half, a and e bit 0.
  const std::uint64_t half = 0x3F880000;
  const CvtOperands four{half, half, half, half};
  CHECK(run("cvt.rs.satfinite.e4m3x4.f32", four, 0x00000000) == 0x38383838);
  CHECK(run("cvt.rs.satfinite.e4m3x4.f32", four, 0x80000000) == 0x38393838);
  CHECK(run("cvt.rs.satfinite.e4m3x4.f32", four, 0x00010000) == 0x39383838);
  CHECK(run("cvt.rs.satfinite.e4m3x4.f32", four, 0x00008000) == 0x38383839);
  CHECK(run("cvt.rs.satfinite.e4m3x4.f32", four, 0x00000001) == 0x38383938);
  // e2m1: 1.25 is half way to 1.5. b draws bytes 3 and 1, f bytes 2 and 0; a and e them reversed.
  const std::uint64_t quarter = 0x3FA00000;
  const CvtOperands quarters{quarter, quarter, quarter, quarter};
  CHECK(run("cvt.rs.satfinite.e2m1x4.f32", quarters, 0x80000000) == 0x2322);
  CHECK(run("cvt.rs.satfinite.e2m1x4.f32", quarters, 0x00000100) == 0x3222);
  CHECK(run("cvt.rs.satfinite.e2m1x4.f32", quarters, 0x00800000) == 0x2223);
  CHECK(run("cvt.rs.satfinite.e2m1x4.f32", quarters, 0x00000001) == 0x2232);
  CHECK(run("cvt.rs.relu.satfinite.e2m1x4.f32", {nan, minus_one, infinity, minus_infinity}) ==
        0x7070);
}

TEST_CASE(".relu and .sat clamp what the instruction without them gives") {
  Draw draw;
  int instructions = 0;
  for_each_name([&](const std::string& name) {
    CAPTURE(name);
    const PtxCvt cvt = *find_ptx_cvt(name);
    if (cvt.clamp == Clamp::none) return;
    const std::string word = cvt.clamp == Clamp::zero_to_one ? ".sat" : ".relu";
    std::string without = name;
    const auto plain = find_ptx_cvt(without.erase(without.find(word), word.size()));
    REQUIRE(plain.has_value());
    int changed = 0;
    for (int i = 0; i < 4000; ++i) {
      const CvtOperands x{draw(cvt.from), draw(cvt.from), draw(cvt.from), draw(cvt.from)};
      const auto rbits = static_cast<std::uint32_t>(draw(binary16));
      const std::uint64_t got = compute(cvt, x, rbits);
      const std::uint64_t before = compute(*plain, x, rbits);
      changed += got != before ? 1 : 0;
      for (int lane = 0; lane < cvt.lanes; ++lane) {
        REQUIRE(lane_of(cvt, got, lane) == clamped_by_hand(cvt, lane_of(cvt, before, lane)));
      }
    }
    CHECK(changed > 500);
    ++instructions;
  });
  CHECK(instructions == 29 + 42);
}

TEST_CASE("lanes do not touch, and a result has no bits beside its lanes") {
  Draw draw;
  for_each_name([&](const std::string& name) {
    CAPTURE(name);
    const PtxCvt cvt = *find_ptx_cvt(name);
    for (int i = 0; i < 1000; ++i) {
      const CvtOperands x{draw(cvt.from), draw(cvt.from), draw(cvt.from), draw(cvt.from)};
      const auto rbits = static_cast<std::uint32_t>(draw(binary16));
      const std::uint64_t got = compute(cvt, x, rbits);
      if (cvt.result_bits() < 64) REQUIRE((got >> cvt.result_bits()) == 0);
      for (int lane = 0; lane < cvt.lanes; ++lane) {
        CvtOperands alone{};
        const std::uint64_t bits = lane_operand(cvt, x, lane);
        if (cvt.packed_source) {
          alone[0] = bits << (lane * PtxCvt::lane_bits(cvt.from));
        } else {
          alone[static_cast<std::size_t>(cvt.lanes - 1 - lane)] = bits;
        }
        REQUIRE(lane_of(cvt, compute(cvt, alone, rbits), lane) == lane_of(cvt, got, lane));
      }
    }
  });
}

}  // namespace binade::cvt_lane_test
