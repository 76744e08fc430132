// SPDX-License-Identifier: Apache-2.0
//
// PTX's scalar instructions: which names there are, and their results against the oracle's
// operation with the clamp, the flushing and the NaNs done by hand; min and max against doubles.
#include "emulate/ptx_scalar.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "emulate/carrier.h"
#include "tests/emulate/arithmetic_judge.h"
#include "tests/emulate/operand_draw.h"
#include "tests/lib/text/words.h"

namespace binade::ptx_scalar_test {
namespace {

using test::Random;

std::uint64_t run(std::string_view name, const Operands& bits) {
  const auto found = find_ptx_scalar(name);
  CAPTURE(std::string(name));
  REQUIRE(found.has_value());
  return compute(*found, bits);
}

TEST_CASE("every opcode has the types and qualifiers that the PTX ISA gives it, in its order") {
  for (const std::string& name : test::words(R"(
        add.f32 add.rn.f32 add.rz.ftz.sat.f32 add.rm.f32 add.rp.f32 sub.ftz.f32x2 mul.rn.ftz.sat.f32
        fma.rn.f32 fma.rn.ftz.f32 fma.rp.ftz.sat.f32 fma.rz.f32x2 add.f16 add.rn.ftz.sat.f16x2
        sub.sat.f16 mul.ftz.f16x2 fma.rn.f16 fma.rn.ftz.sat.f16 fma.rn.relu.f16
        fma.rn.ftz.relu.f16x2 add.bf16 add.rn.bf16x2 mul.bf16 fma.rn.bf16 fma.rn.relu.bf16x2 min.f32
        max.ftz.f32 min.NaN.f16 max.ftz.NaN.xorsign.abs.f16x2 min.xorsign.abs.bf16 max.NaN.bf16x2
        add.rz.sat.f32.f16 sub.f32.bf16 fma.rm.sat.f32.bf16)")) {
    CAPTURE(name);
    CHECK(find_ptx_scalar(name).has_value());
  }
  for (const std::string& name : test::words(R"(
        add .f32 add. addf32 add.f64 fma.f16 fma.f32 add.ftz.rn.f16 add.sat.ftz.f16 add.rz.f16
        add.ftz.bf16 add.sat.bf16 mul.relu.f16 add.relu.f16 fma.rn.sat.relu.f16 fma.rn.relu.f32
        add.sat.f32x2 min.rn.f32 min.f32x2 max.sat.f32 min.ftz.bf16 min.xorsign.f16 min.abs.f16
        mul.f32.f16 add.ftz.f32.f16 fma.f32.f16 add.f16.f32 add.rn.rn.f32 add.rna.f32 xadd.f32
        min.f32.f16)",
                                             {"", "fma.rn.f16 "})) {
    CAPTURE(name);
    CHECK_FALSE(find_ptx_scalar(name).has_value());
  }
}

TEST_CASE("the cases that PTX words settle have their bits") {
  // .relu and .sat: -0 and less are +0; .sat takes NaN to +0 and ends at 1, .relu keeps NaN.
  CHECK(run("fma.rn.relu.f16", {0x3C00, 0xBC00, 0x0000}) == 0x0000);
  CHECK(run("fma.rn.relu.f16", {0x8000, 0x3C00, 0x8000}) == 0x0000);
  CHECK(run("fma.rn.f16", {0x8000, 0x3C00, 0x8000}) == 0x8000);
  CHECK(run("fma.rn.relu.f16", {0x7C00, 0x0000, 0x3C00}) == 0x7FFF);
  CHECK(run("fma.rn.relu.f16", {0xFC00, 0x3C00, 0x3C00}) == 0x0000);
  CHECK(run("add.sat.f16", {0x7C00, 0xFC00}) == 0x0000);
  CHECK(run("add.sat.f16", {0x7C00, 0x3C00}) == 0x3C00);
  CHECK(run("add.sat.f16", {0x3C00, 0x0001}) == 0x3C00);
  CHECK(run("add.rp.sat.f32", {0x3F800000, 0x00000001}) == 0x3F800000);
  CHECK(run("add.sat.f32", {0x80000000, 0x80000000}) == 0x00000000);
  CHECK(run("mul.sat.f32", {0x3F000000, 0x3F000000}) == 0x3E800000);
  // NaNs are canonical, whatever they were.
  CHECK(run("add.f16", {0xFE01, 0x3C00}) == 0x7FFF);
  CHECK(run("mul.bf16", {0x7F81, 0x3F80}) == 0x7FFF);
  CHECK(run("fma.rn.f32", {0xFFC00001, 0, 0}) == 0x7FFFFFFF);
  // .ftz keeps the sign of operands and results.
  CHECK(run("add.ftz.f32", {0x80000001, 0x80000000}) == 0x80000000);
  CHECK(run("add.f32", {0x80000001, 0x80000000}) == 0x80000001);
  CHECK(run("mul.ftz.f32", {0x00800000, 0x3F000000}) == 0x00000000);
  CHECK(run("mul.ftz.f32", {0x80800000, 0x3F000000}) == 0x80000000);
  CHECK(run("fma.rn.ftz.f32", {0x00000001, 0x7F000000, 0x3F800000}) == 0x3F800000);
  // The larger of two zeros is +0; a number is preferred to NaN unless .NaN.
  CHECK(run("min.f32", {0x00000000, 0x80000000}) == 0x80000000);
  CHECK(run("max.f32", {0x80000000, 0x00000000}) == 0x00000000);
  CHECK(run("max.f16", {0x7E00, 0xC000}) == 0xC000);
  CHECK(run("max.NaN.f16", {0x7E00, 0xC000}) == 0x7FFF);
  CHECK(run("min.f16", {0x7D00, 0xFE00}) == 0x7FFF);
  CHECK(run("min.xorsign.abs.f16", {0xC000, 0x3C00}) == 0xBC00);
  CHECK(run("max.xorsign.abs.bf16", {0xC000, 0xBF80}) == 0x4000);
  CHECK(run("max.ftz.f16", {0x8001, 0xBC00}) == 0x8000);
  // Lanes do not touch: low 1 + 2, high Inf - Inf.
  CHECK(run("add.f16x2", {0x7C003C00, 0xFC004000}) == 0x7FFF4200);
  CHECK(run("sub.f32x2", {0x40000000'3F800000, 0x3F800000'3F800000}) == 0x3F800000'00000000);
  // 1 + 2^-24 does not fit binary16: the sum is taken to binary32, toward positive.
  CHECK(run("add.rp.f32.f16", {0x3C00, 0x33800000}) == 0x3F800001);
  CHECK(run("sub.f32.bf16", {0x3F80, 0x40000000}) == 0xBF800000);
  CHECK(run("fma.rn.f32.f16", {0x3C01, 0x3C01, 0xBF804000}) == 0x35800000);
}

struct Expected {
  std::string name;
  Operation operation;
  OperandFormats from;
  Format to;
  Rounding rounding;
  bool flush;
  Clamp clamp;
};

/// Returns all names of arithmetic, put together from the parts of the ISA's syntax lines.
std::vector<Expected> arithmetic_names() {
  struct Opcode {
    const char* name;
    Operation operation;
  };
  const Opcode opcodes[] = {{"add", Operation::add},
                            {"sub", Operation::subtract},
                            {"mul", Operation::multiply},
                            {"fma", Operation::multiply_add}};
  const std::pair<const char*, Rounding> f32_roundings[] = {{".rn", Rounding::ties_to_even},
                                                            {".rz", Rounding::toward_zero},
                                                            {".rp", Rounding::toward_positive},
                                                            {".rm", Rounding::toward_negative}};
  std::vector<Expected> out;
  const auto add = [&](const Opcode& opcode, const std::string& qualifiers, const char* type,
                       const Format& f, Rounding rounding, bool flush, Clamp clamp) {
    out.push_back({std::string(opcode.name) + qualifiers + type,
                   opcode.operation,
                   {f, f, f},
                   f,
                   rounding,
                   flush,
                   clamp});
  };
  for (const Opcode& opcode : opcodes) {
    for (const auto& [rn, rounding] : f32_roundings) {
      for (const bool flush : {false, true}) {
        const std::string start = std::string(rn) + (flush ? ".ftz" : "");
        add(opcode, start, ".f32", binary32, rounding, flush, Clamp::none);
        add(opcode, start + ".sat", ".f32", binary32, rounding, flush, Clamp::zero_to_one);
      }
    }
    for (const bool flush : {false, true}) {
      const std::string start = flush ? ".rn.ftz" : ".rn";
      add(opcode, start, ".f16", binary16, Rounding::ties_to_even, flush, Clamp::none);
      add(opcode, start + ".sat", ".f16", binary16, Rounding::ties_to_even, flush,
          Clamp::zero_to_one);
    }
    add(opcode, ".rn", ".bf16", bfloat16, Rounding::ties_to_even, false, Clamp::none);
  }
  const Opcode& fma = opcodes[3];
  for (const bool flush : {false, true}) {
    add(fma, flush ? ".rn.ftz.relu" : ".rn.relu", ".f16", binary16, Rounding::ties_to_even, flush,
        Clamp::not_negative);
  }
  add(fma, ".rn.relu", ".bf16", bfloat16, Rounding::ties_to_even, false, Clamp::not_negative);
  for (const Format& narrow : {binary16, bfloat16}) {
    for (const Opcode& opcode : {opcodes[0], opcodes[1], opcodes[3]}) {
      const bool fused = opcode.operation == Operation::multiply_add;
      for (const auto& [rn, rounding] : f32_roundings) {
        out.push_back(
            {std::string(opcode.name) + rn + ".sat.f32" + (narrow == binary16 ? ".f16" : ".bf16"),
             opcode.operation,
             {narrow, fused ? narrow : binary32, binary32},
             binary32,
             rounding,
             false,
             Clamp::zero_to_one});
      }
    }
  }
  return out;
}

/// Returns the rounded result after the clamp, by its rule.
std::uint64_t clamped_by_hand(std::uint64_t bits, const Format& f, Clamp clamp) {
  const double x = value_of<double>(bits, f);
  if (clamp == Clamp::none) return bits;
  if (std::isnan(x)) return clamp == Clamp::zero_to_one ? 0 : bits;
  if (x <= 0) return 0;
  if (clamp == Clamp::zero_to_one && x >= 1) return project(exact_of(1.0), f).bits;
  return bits;
}

TEST_CASE("every arithmetic instruction is the operation rounded once, then clamped") {
  Random random(11);
  const std::vector<Expected> names = arithmetic_names();
  std::set<std::string> seen;
  for (const Expected& row : names) {
    CAPTURE(row.name);
    seen.insert(row.name);
    const auto found = find_ptx_scalar(row.name);
    REQUIRE(found.has_value());
    const test::OperationJudge judge(row.operation, row.from, row.to,
                                     test::OperationJudge::Method::division);
    const Attributes attributes{.rounding = row.rounding,
                                .flush_results = row.flush,
                                .flush_operands = row.flush,
                                .nan = NanResult::nvidia};
    std::uint64_t clamped = 0;
    std::uint64_t different = 0;
    for (int i = 0; i < 4000; ++i) {
      const Operands bits = test::draw_operands(random, row.operation, row.from, row.to);
      const std::uint64_t plain = judge.expected(bits, attributes).bits;
      const std::uint64_t want = clamped_by_hand(plain, row.to, row.clamp);
      clamped += want != plain ? 1 : 0;
      different += compute(*found, bits) == want ? 0 : 1;
    }
    CHECK(different == 0);
    CHECK((clamped > 100) == (row.clamp != Clamp::none));
  }
  CHECK(seen.size() == names.size());
}

TEST_CASE("two lanes are two instructions") {
  Random random(12);
  for (const std::pair<const char*, const char*>& pair :
       {std::pair{"fma.rn.ftz.relu.f16x2", "fma.rn.ftz.relu.f16"},
        {"add.rn.bf16x2", "add.rn.bf16"},
        {"mul.rz.ftz.f32x2", "mul.rz.ftz.f32"},
        {"max.NaN.xorsign.abs.f16x2", "max.NaN.xorsign.abs.f16"}}) {
    const auto two = find_ptx_scalar(pair.first);
    const auto one = find_ptx_scalar(pair.second);
    REQUIRE((two && one));
    const int width = one->to.storage_bits();
    const std::uint64_t mask = ~std::uint64_t{0} >> (64 - width);
    for (int i = 0; i < 2000; ++i) {
      const Operands bits{random(), random(), random()};
      const Operands low{bits[0] & mask, bits[1] & mask, bits[2] & mask};
      const Operands high{bits[0] >> width & mask, bits[1] >> width & mask,
                          bits[2] >> width & mask};
      REQUIRE(compute(*two, bits) == (compute(*one, high) << width | compute(*one, low)));
    }
  }
}

struct TypeName {
  const char* name;
  Format format;
};

/// Returns min or max as the text of the PTX ISA defines them, computed with doubles.
double chosen_by_hand(double a, double b, bool maximum, bool nan, bool xorsign) {
  const bool negative = std::signbit(a) != std::signbit(b);
  if (xorsign) {
    a = std::abs(a);
    b = std::abs(b);
  }
  double out = 0;
  if (std::isnan(a) || std::isnan(b)) {
    out = nan || std::isnan(a) == std::isnan(b) ? std::nan("") : std::isnan(a) ? b : a;
  } else if (a == b) {
    out = std::signbit(a) == maximum ? b : a;  // +0 is the larger zero
  } else {
    out = (a < b) == maximum ? b : a;
  }
  return xorsign ? std::copysign(out, negative ? -1.0 : 1.0) : out;
}

TEST_CASE("min and max of all pairs of a sample of encodings are what the ISA's words say") {
  for (const TypeName& row : {TypeName{"f16", binary16}, {"bf16", bfloat16}, {"f32", binary32}}) {
    const Format& f = row.format;
    std::vector<std::uint64_t> sample;
    const std::uint64_t step = (std::uint64_t{1} << f.bits()) / 251 + 1;
    for (std::uint64_t x = 0; x >> f.bits() == 0; x += step) sample.push_back(x);
    for (const bool negative : {false, true}) {
      for (const std::uint64_t x : {zero_bits(f, negative), infinity_bits(f, negative),
                                    infinity_bits(f, negative) + 1, min_bits(f, negative)}) {
        sample.push_back(x);
      }
    }
    for (int kind = 0; kind < 16; ++kind) {
      const bool maximum = (kind & 1) != 0;
      const bool nan = (kind & 2) != 0;
      const bool xorsign = (kind & 4) != 0;
      const bool flush = (kind & 8) != 0;
      if (flush && f == bfloat16) continue;
      const std::string name = std::string(maximum ? "max" : "min") + (flush ? ".ftz" : "") +
                               (nan ? ".NaN" : "") + (xorsign ? ".xorsign.abs" : "") + "." +
                               row.name;
      const auto found = find_ptx_scalar(name);
      REQUIRE(found.has_value());
      std::uint64_t different = 0;
      const auto value = [&](std::uint64_t bits) {
        const auto x = value_of<double>(bits, f);
        return flush && is_subnormal(bits, f) ? std::copysign(0.0, x) : x;
      };
      for (const std::uint64_t a : sample) {
        for (const std::uint64_t b : sample) {
          const double want = chosen_by_hand(value(a), value(b), maximum, nan, xorsign);
          const std::uint64_t got = compute(*found, {a, b});
          const auto is = value_of<double>(got, f);
          const bool same = std::isnan(want) ? got == nan_bits(f, NanResult::nvidia)
                                             : is == want && std::signbit(is) == std::signbit(want);
          different += same ? 0 : 1;
        }
      }
      CAPTURE(name);
      CHECK(different == 0);
    }
  }
}

TEST_CASE("operands and results are as wide as their lanes together") {
  const auto packed = find_ptx_scalar("add.f16x2");
  const auto mixed = find_ptx_scalar("add.f32.f16");
  REQUIRE((packed && mixed));
  CHECK((packed->operand_bits(0) == 32 && packed->result_bits() == 32));
  CHECK((mixed->operand_bits(0) == 16 && mixed->operand_bits(1) == 32));
}

}  // namespace
}  // namespace binade::ptx_scalar_test
