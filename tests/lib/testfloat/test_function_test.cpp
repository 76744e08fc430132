// SPDX-License-Identifier: Apache-2.0
//
// Names of test functions and what the functions answer: results and flags worked out by hand, at
// least one for every kind of function and every setting.
#include "lib/testfloat/test_function.h"

#include <doctest/doctest.h>

#include <cstdio>

#include "tests/lib/text/error_of.h"

namespace binade::test_function_test {
namespace {

/// "result flags" in hexadecimal, as a stream has them.
std::string answer(const std::string& name, const TestOperands& operands,
                   const TestSettings& settings = {}) {
  const TestFunction function = parse_test_function(name);
  const TestResult result = evaluate(function, operands, settings);
  char text[32];
  std::snprintf(text, sizeof text, "%0*llX %02X", function.result.digits(),
                static_cast<unsigned long long>(result.bits), static_cast<unsigned>(result.flags));
  return text;
}

TestSettings rounding(Rounding r) { return {.attributes = {.rounding = r}}; }

/// The message of the Error that a name gives; empty if it is taken.
std::string complaint(const std::string& name) {
  return test::error_of([&] { parse_test_function(name); });
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a format and an operation name operands and result of that format") {
  const TestFunction add = parse_test_function("f16_add");
  CHECK(add.name == "f16_add");
  CHECK(add.act == Act::arithmetic);
  CHECK(add.operation == Operation::add);
  REQUIRE(add.operands.size() == 2);
  CHECK(add.operands[0].format == binary16);
  CHECK(add.operands[1].format == binary16);
  CHECK(add.result.format == binary16);
  CHECK(add.has_flags());
  const TestFunction fused = parse_test_function("bf16_mulAdd");
  CHECK(fused.operation == Operation::multiply_add);
  CHECK(fused.operands.size() == 3);
  CHECK(fused.result.format == bfloat16);
  CHECK(parse_test_function("tf32_sqrt").operands.size() == 1);
  CHECK(parse_test_function("e4m3fnuz_rem").operation == Operation::remainder);
  CHECK(parse_test_function("binary64_div").result.format == binary64);
  CHECK(parse_test_function("f32_roundToInt").act == Act::round_to_integral);
}

TEST_CASE("formats of one's own take part, with commas between and colons inside") {
  CHECK(parse_test_function("e5m7_add").result.format == Format{5, 8, 15});
  const Format own{4, 4, 7, Specials::nan_only};
  CHECK(parse_test_function("e4m3:specials=nan_only_add").result.format == own);
  CHECK(parse_test_function("e4m3:specials=ieee:bias=8_to_f16").operands[0].format ==
        Format{4, 4, 8, Specials::ieee});
  const TestFunction mixed = parse_test_function("e4m3,e5m2_mul_to_f16");
  CHECK(mixed.operation == Operation::multiply);
  CHECK(mixed.operands[0].format == e4m3);
  CHECK(mixed.operands[1].format == e5m2);
  CHECK(mixed.result.format == binary16);
  const TestFunction one = parse_test_function("bf16_mulAdd_to_f32");
  CHECK(one.operands[2].format == bfloat16);
  CHECK(one.result.format == binary32);
  CHECK(parse_test_function("f16,f16,f16_mulAdd").result.format == binary16);
}

std::string joined(std::string_view a, std::string_view b, std::string_view c) {
  std::string out(a);
  return out.append(b).append(c);
}

TEST_CASE("every name of TestFloat's functions on 16, 32 and 64 bits is known") {
  for (const std::string f : {"f16", "f32", "f64"}) {
    for (const std::string op : {"add", "sub", "mul", "mulAdd", "div", "rem", "sqrt", "roundToInt",
                                 "eq", "le", "lt", "eq_signaling", "le_quiet", "lt_quiet"}) {
      const std::string name = joined(f, "_", op);
      CHECK(parse_test_function(name).name == name);
    }
    for (const std::string i : {"ui32", "ui64", "i32", "i64"}) {
      const TestFunction to = parse_test_function(joined(f, "_to_", i));
      CHECK(to.act == Act::to_integer);
      CHECK(to.result.integer.bits == (i.ends_with("32") ? 32 : 64));
      CHECK(to.result.integer.is_signed == i.starts_with("i"));
      CHECK(parse_test_function(joined(i, "_to_", f)).act == Act::from_integer);
    }
    for (const std::string to : {"f16", "f32", "f64"}) {
      CHECK(parse_test_function(joined(f, "_to_", to)).act == Act::convert);
    }
  }
}

TEST_CASE("eq is quiet, le and lt are signaling, and 754's own names are there") {
  const auto predicate = [](const char* name) { return parse_test_function(name).predicate.name; };
  CHECK(predicate("f32_eq") == "compareQuietEqual");
  CHECK(predicate("f32_le") == "compareSignalingLessEqual");
  CHECK(predicate("f32_lt") == "compareSignalingLess");
  CHECK(predicate("f32_eq_signaling") == "compareSignalingEqual");
  CHECK(predicate("f32_le_quiet") == "compareQuietLessEqual");
  CHECK(predicate("f32_lt_quiet") == "compareQuietLess");
  CHECK(predicate("e4m3_compareQuietUnordered") == "compareQuietUnordered");
  CHECK(parse_test_function("f16_minimumMagnitudeNumber").extremum.name ==
        "minimumMagnitudeNumber");
  CHECK(parse_test_function("e4m3,f16_le").result.kind == ValueType::Kind::truth);
}

TEST_CASE("PTX instructions carry their lanes and raise no flags") {
  const TestFunction packed = parse_test_function("fma.rn.ftz.relu.f16x2");
  CHECK(packed.act == Act::ptx);
  CHECK(packed.operands.size() == 3);
  CHECK(packed.operands[0].lanes == 2);
  CHECK(packed.result.lanes == 2);
  CHECK_FALSE(packed.has_flags());
  const TestFunction mixed = parse_test_function("fma.rz.f32.bf16");
  CHECK(mixed.operands[0].format == bfloat16);
  CHECK(mixed.operands[2].format == binary32);
  CHECK(mixed.result.format == binary32);
  CHECK(parse_test_function("min.NaN.xorsign.abs.bf16x2").operands.size() == 2);
  const TestFunction pair = parse_test_function("cvt.rn.satfinite.e4m3x2.f32");
  CHECK(pair.act == Act::cvt);
  CHECK(pair.operands.size() == 2);
  CHECK(pair.result.bits() == 16);
  CHECK_FALSE(pair.has_flags());
  CHECK(evaluate(pair, {0x3FC00000, 0xC0000000}, {}).bits == 0x3CC0);  // 1.5 and -2
  const TestFunction four = parse_test_function("cvt.rs.satfinite.e2m1x4.f32");
  CHECK(four.operands.size() == 5);
  CHECK(operand_name(four, 3) == "f");
  CHECK(operand_name(four, 4) == "rbits");
  CHECK(four.result.digits() == 4);
  CHECK(evaluate(four, {0, 0, 0, 0x3FA00000, 0xFFFFFFFF}, {}).bits == 0x0003);  // 1.25 up to 1.5
  CHECK(parse_test_function("cvt.rn.f16x2.e4m3x2").operands[0].lanes == 2);
}

TEST_CASE("the bits and digits of a type are those of its container") {
  const auto first = [](const char* name) { return parse_test_function(name).operands[0]; };
  const auto shape = [&](const char* name) {
    return std::to_string(first(name).bits()) + "/" + std::to_string(first(name).digits());
  };
  CHECK(shape("e2m1_add") == "4/2");
  CHECK(shape("e4m3_add") == "8/2");
  CHECK(shape("e5m7_add") == "13/4");
  CHECK(shape("f16_add") == "16/4");
  CHECK(shape("tf32_add") == "32/8");
  CHECK(shape("f64_add") == "64/16");
  CHECK(shape("add.rn.f16x2") == "32/8");
  CHECK(shape("add.rn.f32x2") == "64/16");
  CHECK(shape("ui8_to_f16") == "8/2");
  CHECK(shape("i64_to_f16") == "64/16");
  CHECK(parse_test_function("f64_eq").result.bits() == 1);
  CHECK(parse_test_function("f64_eq").result.digits() == 1);
}

TEST_CASE("a bad name is one line that says what is wrong and what is near") {
  struct Row {
    std::string name, part;
  };
  for (const Row& row : {
           Row{"f16_ad", "add?"},
           {"f16_mull", "mul?"},
           {"f16_compareQuietEqua", "compareQuietEqual?"},
           {"F16_ADD", "add?"},
           {"f16", "'f16'"},
           {"", "''"},
           {"_add", "'_add'"},
           {"fma.f16", "PTX's order"},
           {"add.rn.f64", "'add.rn.f64'"},
           {"fma.ftz.rn.f16", "fma.rn.ftz.relu.f16x2"},
           {"f16_le_to_f32", "a comparison gives 0 or 1"},
           {"e4m3,e5m2_mul", "add _to_FORMAT"},
           {"i32_to_i64", "one of the two types must be a floating-point format"},
           {"f16,f16,f16_add", "add has 2 operands, not 3"},
           {"f16,f16_mulAdd_to_f16", "mulAdd has 3 operands, not 2"},
           {"f16,_add_to_f16", "''"},
           {"xyz_add", "'xyz'"},
           {"f16_to_", "''"},
           {"_to_f16", "''"},
           {"binary17_to_f16", "did you mean binary16?"},
           {"f16_to_i31", "'i31'"},
           {"i32_add", "'i32'"},
           {"f16_mul_to_i32", "'i32'"},
       }) {
    CAPTURE(row.name);
    const std::string line = complaint(row.name);
    CHECK_MESSAGE(holds(line, row.part), line);
    CHECK_FALSE(holds(line, "\n"));
  }
}

TEST_CASE("what is typed reaches no terminal raw") {
  for (const std::string name : {"f16_\x1b[2Jadd", "\x1b[2J_add", "f16\n_to_f32", "add.\x1b[2J"}) {
    const std::string line = complaint(name);
    CHECK_FALSE(line.empty());
    CHECK_FALSE(holds(line, "\x1b"));
    CHECK_FALSE(holds(line, "\n"));
  }
}

TEST_CASE("arithmetic rounds once and raises its flags") {
  CHECK(answer("f16_add", {0x3C00, 0x3C00}) == "4000 00");  // 1 + 1
  CHECK(answer("f16_add", {0x3C00, 0x1000}) == "3C00 01");  // 1 + 2^-11, a tie
  CHECK(answer("f16_add", {0x3C00, 0x1000}, rounding(Rounding::ties_to_away)) == "3C01 01");
  CHECK(answer("f16_add", {0x3C00, 0x1000}, rounding(Rounding::toward_positive)) == "3C01 01");
  CHECK(answer("f16_add", {0x3C00, 0x1000}, rounding(Rounding::to_odd)) == "3C01 01");
  CHECK(answer("f16_sub", {0x3C00, 0x3C00}) == "0000 00");
  CHECK(answer("f16_sub", {0x3C00, 0x3C00}, rounding(Rounding::toward_negative)) == "8000 00");
  CHECK(answer("f16_sub", {0x7C00, 0x7C00}) == "7E00 10");  // Inf - Inf
  CHECK(answer("f16_div", {0x3C00, 0x4200}) == "3555 01");  // 1/3 = 0.0101…
  CHECK(answer("f16_div", {0xBC00, 0x0000}) == "FC00 08");
  CHECK(answer("f16_div", {0x0000, 0x8000}) == "7E00 10");
  CHECK(answer("f16_rem", {0x4500, 0x4200}) == "BC00 00");  // 5 - 2·3
  CHECK(answer("f16_rem", {0x4200, 0x4000}) == "BC00 00");  // 3/2 is halfway: to even, 3 - 2·2
  CHECK(answer("f16_rem", {0x3C00, 0x4000}) == "3C00 00");  // 1/2 is halfway: to even, 0
  CHECK(answer("f16_sqrt", {0x4400}) == "4000 00");
  CHECK(answer("f16_sqrt", {0x4000}) == "3DA8 01");  // 1.4140625
  CHECK(answer("f16_sqrt", {0x8000}) == "8000 00");
  CHECK(answer("f16_sqrt", {0xBC00}) == "7E00 10");
  // (1 + 2^-10)^2 - (1 + 2^-9) = 2^-20
  CHECK(answer("f16_mulAdd", {0x3C01, 0x3C01, 0xBC02}) == "0010 00");
  CHECK(answer("e4m3,e5m2_mul_to_f16", {0x38, 0x40}) == "4000 00");  // 1 · 2
}

TEST_CASE("the two rules of tininess differ where rounding reaches the smallest normal") {
  const TestOperands below{0x0401, 0x3BFE};  // 2^-14 (1 + 2^-10)(1 - 2^-10) = 2^-14 (1 - 2^-20)
  CHECK(answer("f16_mul", below) == "0400 01");
  CHECK(answer("f16_mul", below, {.attributes = {.tininess = Tininess::before_rounding}}) ==
        "0400 03");
}

TEST_CASE("subnormals count as zero under DAZ and become zero under FTZ") {
  const TestSettings daz{.attributes = {.flush_operands = true}};
  const TestSettings ftz{.attributes = {.flush_results = true}};
  CHECK(answer("f16_add", {0x0001, 0x8002}) == "8001 00");
  CHECK(answer("f16_add", {0x0001, 0x8002}, daz) == "0000 00");
  CHECK(answer("f16_sub", {0x0400, 0x0001}) == "03FF 00");
  CHECK(answer("f16_sub", {0x0400, 0x0001}, ftz) == "0000 03");
  CHECK(answer("f16_eq", {0x0001, 0x0000}) == "0 00");
  CHECK(answer("f16_eq", {0x0001, 0x0000}, daz) == "1 00");
  CHECK(answer("f16_to_i8", {0x0001}, {.attributes = {.flush_operands = true}, .exact = true}) ==
        "00 00");
}

TEST_CASE("overflow saturates on demand") {
  const TestSettings finite{.attributes = {.saturation = Saturation::finite}};
  CHECK(answer("f16_add", {0x7BFF, 0x4C00}) == "7C00 05");  // 65504 + 16, a tie
  CHECK(answer("f16_add", {0x7BFF, 0x4BFF}) == "7BFF 01");  // 65504 + 15.9921875
  CHECK(answer("f16_add", {0x7BFF, 0x4C00}, finite) == "7BFF 05");
  CHECK(answer("f32_to_e4m3", {0x43E80000}) == "7E 01");          // 464, a tie: 448
  CHECK(answer("f32_to_e4m3", {0x43F00000}) == "7F 05");          // 480: NaN, there is no Inf
  CHECK(answer("f32_to_e4m3", {0x43F00000}, finite) == "7E 05");  // 480
  CHECK(answer("f32_to_e4m3", {0x7F800000}) == "7F 00");          // Inf
  CHECK(answer("f16_to_e2m1", {0x7E00}) == "07 10");              // NaN: the largest finite
}

TEST_CASE("a NaN result is quiet, NVIDIA's, or the operand's made quiet") {
  const auto nan = [](NanResult n) { return TestSettings{.attributes = {.nan = n}}; };
  CHECK(answer("f32_to_f16", {0xFFC02000}) == "7E00 00");
  CHECK(answer("f32_to_f16", {0xFFC02000}, nan(NanResult::nvidia)) == "7FFF 00");
  CHECK(answer("f32_to_f16", {0xFFC02000}, nan(NanResult::propagate)) == "FE01 00");
  CHECK(answer("f32_to_f16", {0x7FA00000}, nan(NanResult::propagate)) == "7F00 10");
  CHECK(answer("f16_add", {0x7D00, 0x3C00}) == "7E00 10");
}

TEST_CASE("rounding to an integral value raises inexact only where it is asked to") {
  const TestSettings exact{.exact = true};
  CHECK(answer("f16_roundToInt", {0x3E00}) == "4000 00");  // 1.5
  CHECK(answer("f16_roundToInt", {0x3E00}, exact) == "4000 01");
  CHECK(answer("f16_roundToInt", {0x4100}, exact) == "4000 01");  // 2.5, to even
  CHECK(answer("f16_roundToInt", {0x4000}, exact) == "4000 00");
  CHECK(answer("f16_roundToInt", {0xB800}) == "8000 00");  // -0.5
  CHECK(answer("f16_to_i8", {0x3E00}) == "02 00");
  CHECK(answer("f16_to_i8", {0x3E00}, exact) == "02 01");
}

TEST_CASE("comparisons on NaNs: quiet ones raise invalid for signaling NaNs alone") {
  CHECK(answer("f16_eq", {0x0000, 0x8000}) == "1 00");
  CHECK(answer("f16_lt", {0x3C00, 0x4000}) == "1 00");
  CHECK(answer("f16_eq", {0x7E00, 0x7E00}) == "0 00");
  CHECK(answer("f16_eq", {0x7D00, 0x3C00}) == "0 10");
  CHECK(answer("f16_eq_signaling", {0x3C00, 0x7E00}) == "0 10");
  CHECK(answer("f16_le", {0x7E00, 0x3C00}) == "0 10");
  CHECK(answer("f16_le_quiet", {0x7E00, 0x3C00}) == "0 00");
  CHECK(answer("f16_lt_quiet", {0x3C00, 0x7D00}) == "0 10");
  CHECK(answer("f16_compareQuietUnordered", {0x7E00, 0x3C00}) == "1 00");
  CHECK(answer("f16_compareQuietNotEqual", {0x7E00, 0x7E00}) == "1 00");
  CHECK(answer("e4m3,f32_le", {0x38, 0x3F800000}) == "1 00");  // 1 <= 1
}

TEST_CASE("extrema order the zeros, and the Number ones prefer a number") {
  CHECK(answer("f16_minimum", {0x0000, 0x8000}) == "8000 00");
  CHECK(answer("f16_maximum", {0x8000, 0x0000}) == "0000 00");
  CHECK(answer("f16_minimum", {0x7E00, 0x3C00}) == "7E00 00");
  CHECK(answer("f16_minimumNumber", {0x7E00, 0x3C00}) == "3C00 00");
  CHECK(answer("f16_minimumNumber", {0x3C00, 0x7D00}) == "3C00 10");
  CHECK(answer("f16_maximumMagnitude", {0xC000, 0x3C00}) == "C000 00");  // of -2 and 1
}

TEST_CASE("integers: out of range and NaN are invalid, with the nearest end or 0") {
  CHECK(answer("f16_to_i8", {0x57F0}) == "7F 00");   // 127
  CHECK(answer("f16_to_i8", {0x5800}) == "7F 10");   // 128
  CHECK(answer("f16_to_i8", {0xD800}) == "80 00");   // -128
  CHECK(answer("f16_to_i8", {0xD808}) == "80 10");   // -129
  CHECK(answer("f16_to_ui8", {0x5BFC}) == "FF 10");  // 255.5, to even 256
  CHECK(answer("f16_to_ui8", {0x5BFC}, rounding(Rounding::toward_zero)) == "FF 00");
  CHECK(answer("f16_to_ui8", {0xB800}) == "00 00");  // -0.5
  CHECK(answer("f16_to_ui8", {0xB800}, rounding(Rounding::toward_negative)) == "00 10");
  CHECK(answer("f16_to_i8", {0x7E00}) == "00 10");
  CHECK(answer("f16_to_i8", {0xFC00}) == "80 10");
  CHECK(answer("f32_to_ui64", {0x5F800000}) == "FFFFFFFFFFFFFFFF 10");         // 2^64
  CHECK(answer("f64_to_i64", {0xC3E0000000000000}) == "8000000000000000 00");  // -2^63
}

TEST_CASE("integers become numbers, rounded where they have too many bits") {
  CHECK(answer("i8_to_f16", {0xFF}) == "BC00 00");            // -1
  CHECK(answer("ui8_to_f16", {0xFF}) == "5BF8 00");           // 255
  CHECK(answer("i32_to_f16", {0xFFF0}) == "7C00 05");         // 65520, the tie above the largest
  CHECK(answer("i64_to_f32", {0x1000001}) == "4B800000 01");  // 2^24 + 1, a tie
  CHECK(answer("ui64_to_f32", {~std::uint64_t{0}}) == "5F800000 01");
  CHECK(answer("i64_to_f32", {~std::uint64_t{0}}) == "BF800000 00");
}

TEST_CASE("PTX instructions answer lane by lane, with NVIDIA's NaN and no flags") {
  // lane 0: 2 · 1 + 1 = 3; lane 1: -1 · 1 + 0 = -1, to 0
  CHECK(answer("fma.rn.relu.f16x2", {0xBC004000, 0x3C003C00, 0x00003C00}) == "00004200 00");
  CHECK(answer("add.f16", {0x7C00, 0xFC00}) == "7FFF 00");
  CHECK(answer("add.sat.f32", {0x3F800000, 0x3F800000}) == "3F800000 00");
  CHECK(answer("min.bf16", {0x7FC0, 0x3F80}) == "3F80 00");
  CHECK(answer("min.NaN.bf16", {0x7FC0, 0x3F80}) == "7FFF 00");
}

TEST_CASE("the exact result is that before rounding") {
  const auto exact = [](const char* name, const TestOperands& operands) {
    return exact_result(parse_test_function(name), operands, {});
  };
  const Exact sum = exact("f16_add", {0x7BFF, 0x7BFF});  // 131008 = 2047 · 2^6
  CHECK(sum.kind == Kind::finite);
  CHECK(static_cast<std::uint64_t>(sum.significand >> -sum.exponent) == 131008);
  CHECK(exact("f16_div", {0x3C00, 0x4200}).sticky);
  CHECK_FALSE(exact("f16_div", {0x3C00, 0x4000}).sticky);
  CHECK(exact("i8_to_f16", {0x80}).negative);
}

}  // namespace binade::test_function_test
