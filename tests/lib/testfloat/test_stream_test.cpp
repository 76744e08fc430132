// SPDX-License-Identifier: Apache-2.0
//
// Streams of test cases: lines that must read and write back byte for byte, every malformed one
// with its message and number, what counts as agreement, and long streams on many threads.
#include "lib/testfloat/test_stream.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "tests/lib/text/error_of.h"

namespace binade::test_stream_test {
namespace {

/// More threads than the machine may have, so that pieces finish in any order.
const int eight_threads = setenv("BINADE_THREADS", "8", 0);

const std::string good = "3C00 4000 4200 00\n";   // 1 + 2 = 3; 18 bytes
const std::string wrong = "3C00 4000 4201 00\n";  // as long

/// Reads from a text, at most `most` bytes at a time.
class Source {
 public:
  explicit Source(std::string text, std::size_t most = ~std::size_t{0})
      : text_(std::move(text)), most_(most) {}

  std::size_t operator()(std::span<char> out) {
    const std::size_t size = std::min({out.size(), most_, text_.size() - at_});
    std::copy_n(text_.data() + at_, size, out.data());
    at_ += size;
    return size;
  }

 private:
  std::string text_;
  std::size_t most_;
  std::size_t at_ = 0;
};

StreamCheck checked(const std::string& text, const std::string& name = "f16_add",
                    std::size_t keep = 5, const Comparing& comparing = {},
                    std::size_t most = ~std::size_t{0}) {
  return check_stream(parse_test_function(name), {}, comparing, Source(text, most), keep);
}

/// The message of the Error that a stream gives; empty if it is taken.
std::string complaint(const std::string& text, const std::string& name = "f16_add",
                      std::size_t most = ~std::size_t{0}) {
  return test::error_of([&] { checked(text, name, 5, {}, most); });
}

std::string repeated(const std::string& line, std::size_t times) {
  std::string out;
  out.reserve(line.size() * times);
  for (std::size_t i = 0; i < times; ++i) out += line;
  return out;
}

/// Returns correct lines, except at some places, counted from 1, where other lines of the same
/// length are.
std::string planted(std::size_t lines, const std::string& line,
                    const std::vector<std::size_t>& places) {
  std::string out = repeated(good, lines);
  for (const std::size_t place : places) out.replace((place - 1) * good.size(), good.size(), line);
  return out;
}

std::vector<std::uint64_t> lines_of(const StreamCheck& check) {
  std::vector<std::uint64_t> out;
  for (const Mismatch& mismatch : check.first) out.push_back(mismatch.line);
  return out;
}

bool agree(const std::string& name, const TestResult& stream, const TestResult& ours,
           bool nan_bits = false) {
  return agrees(stream, ours, parse_test_function(name), {.nan_bits = nan_bits});
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a line is its operands, result and flags, and is written as it was read") {
  struct Row {
    std::string name, line;
  };
  for (const Row& row : {
           Row{"e2m1_add", "0F 01 0E 00"},
           {"e4m3_add", "7F 81 7F 00"},
           {"e5m7_sqrt", "1ABC 0000 10"},
           {"f16_mulAdd", "87FF E850 0001 E851 01"},
           {"tf32_mul", "3F802000 FF800000 00002000 1F"},
           {"f32_div", "00000001 80000000 FF800000 08"},
           {"f64_rem", "7FEFFFFFFFFFFFFF 0000000000000001 8000000000000000 00"},
           {"f64_eq", "FFF8000000000000 0123456789ABCDEF 0 10"},
           {"f16_to_i8", "5800 7F 10"},
           {"ui16_to_f32", "FFFF 477FFF00 00"},
           {"f32_to_ui64", "5F800000 FFFFFFFFFFFFFFFF 10"},
           {"fma.rn.f16x2", "BC004000 3C003C00 00003C00 BC004200"},
           {"cvt.rn.satfinite.e4m3x2.f32", "3FC00000 C0000000 3CC0"},
           {"cvt.rs.satfinite.e2m1x4.f32", "3FC00000 C0000000 3FA00000 3FA00000 80000000 3C33"},
           {"cvt.rn.f16x2.e2m1x2", "3C 3E00C000"},
           {"add.rn.f32x2", "3F80000000000000 FFFFFFFFFFFFFFFF 7FFFFFFF7FFFFFFF"},
       }) {
    CAPTURE(row.name);
    const TestFunction function = parse_test_function(row.name);
    std::string written;
    write_test_case(written, parse_test_case(row.line, function), function);
    CHECK(written == row.line + "\n");
  }
  const TestCase test = parse_test_case("87FF E850 E851 01", parse_test_function("f16_add"));
  CHECK(test.operands == TestOperands{0x87FF, 0xE850, 0});
  CHECK(test.result.bits == 0xE851);
  CHECK(test.result.flags == Flag::inexact);
}

TEST_CASE("lower case, fewer digits, more spaces and tabs read the same") {
  const TestFunction add = parse_test_function("f16_add");
  for (const char* line : {"00ab 00cf 000e 01", "AB CF E 1", "  00AB\t 00Cf   000e  01 \t "}) {
    std::string written;
    write_test_case(written, parse_test_case(line, add), add);
    CHECK(written == "00AB 00CF 000E 01\n");
  }
}

TEST_CASE("lines end in LF or CR LF, the last one in nothing if it likes") {
  for (const std::string text :
       {"3C00 4000 4200 00\r\n3C00 4000 4201 00\r\n", "3C00 4000 4200 00\n3C00 4000 4201 00",
        "3C00 4000 4200 00\n3C00 4000 4201 00\r"}) {
    const StreamCheck check = checked(text);
    CHECK(check.cases == 2);
    CHECK(lines_of(check) == std::vector<std::uint64_t>{2});
  }
}

TEST_CASE("a malformed line says what is wrong, on which line, and what the form is") {
  struct Row {
    std::string name, line, message;
  };
  const std::string form = "; f16_add takes lines of a b result [flags]";
  for (const Row& row : {
           Row{"f16_add", "", "too few numbers" + form},
           {"f16_add", "   ", "too few numbers" + form},
           {"f16_add", "3C00 4000", "too few numbers" + form},
           {"f16_add", "3C00 4000 4200 00 00", "too many numbers" + form},
           {"f16_add", "3C00 4000 42g0 00", "'42g0' is not hexadecimal; write raw digits, as 3C00"},
           {"f16_add", "0x3C00 4000 4200 00", "'0x3C00' is not hexadecimal"},
           {"f16_add", "3C00,4000,4200,00", "'3C00,4000,4200,00' is not hexadecimal"},
           {"f16_add", "-1 4000 4200 00", "'-1' is not hexadecimal"},
           {"f16_add", "3C00\r 4000 4200 00", "'3C00\\x0d' is not hexadecimal"},
           {"f16_add", "3C00\x1b[2J 4000 4200 00", "'3C00\\x1b[2J' is not hexadecimal"},
           {"f16_add", "03C00 4000 4200 00", "'03C00' has more than 4 digits" + form},
           {"f16_add", "3C00 4000 4200 000", "'000' has more than 2 digits" + form},
           {"f16_add", "3C00 4000 4200 20", "'20' has bits above the 5 that there are" + form},
           {"f16_eq", "3C00 4000 2 00", "'2' has bits above the 1 that there are"},
           {"f16_eq", "3C00 4000 10 00", "'10' has more than 1 digit; f16_eq takes"},
           {"e2m1_sqrt", "1F 00 00", "'1F' has bits above the 4 that there are"},
           {"f64_sqrt", "10000000000000000 0 00", "'10000000000000000' has more than 16 digits"},
           {"fma.rn.f16", "3C00 3C00 3C00 4000 00",
            "too many numbers; fma.rn.f16 takes lines of a b c result"},
           {"cvt.rs.satfinite.e2m1x4.f32", "0 0 0 0 3346",
            "too few numbers; cvt.rs.satfinite.e2m1x4.f32 takes lines of a b e f rbits result"},
       }) {
    CAPTURE(row.line);
    try {
      parse_test_case(row.line, parse_test_function(row.name));
      FAIL_CHECK("taken");
    } catch (const Error& error) {
      CHECK(std::string(error.what()).starts_with(row.message));
      CHECK_FALSE(holds(error.what(), "\n"));
    }
  }
  CHECK(complaint(good + good + "xyz\n" + good).starts_with("line 3: 'xyz' is not hexadecimal"));
  CHECK(complaint(good + "\n" + good).starts_with("line 2: too few numbers"));
  CHECK(complaint(good + good + "3C00").starts_with("line 3: too few numbers"));
}

TEST_CASE("a line of any length is read to its end, and its message stays short") {
  const std::string spaces(300, ' ');
  CHECK(complaint(good + "3C00 4000 4200 00" + spaces + "garbage\n").starts_with("line 2: "));
  CHECK(complaint(good + std::string(10000, 'z') + "\n").starts_with("line 2: "));
  CHECK(complaint(good + std::string(10000, 'z') + "\n").size() < 200);
  CHECK(complaint(good + std::string(10000, '0') + "\n").size() < 200);
}

TEST_CASE("a line longer than a block does not end the stream") {
  const std::string giant(std::size_t{5} << 20, 'z');
  CHECK(complaint(good + giant + "\n" + good).starts_with("line 2: "));
  CHECK(complaint(giant).starts_with("line 1: "));
}

TEST_CASE("a stream without cases is an error") {
  CHECK(holds(complaint(""), "no cases"));
  CHECK(holds(complaint("", "fma.rn.f16"), "a b c result"));
}

TEST_CASE("a malformed line is found by its number, however far down and across which boundary") {
  const std::string bad = "3C00 4000 42z0 00\n";
  const std::size_t in_read = (std::size_t{1} << 16) / 18 + 1;   // lies across 64 KiB
  const std::size_t in_block = (std::size_t{1} << 22) / 18 + 1;  // lies across 4 MiB
  for (const std::size_t place : {std::size_t{1}, std::size_t{4096}, std::size_t{4097}, in_read,
                                  in_block - 1, in_block, in_block + 1, std::size_t{499999}}) {
    CAPTURE(place);
    const std::string number = "line " + std::to_string(place) + ": ";
    CHECK(complaint(planted(500000, bad, {place})).starts_with(number));
    CHECK(complaint(planted(500000, bad, {place}), "f16_add", 4099).starts_with(number));
  }
}

TEST_CASE("of many malformed lines the first is named, whichever thread meets which first") {
  for (int i = 0; i < 20; ++i) {
    // Each at the end of its piece of 4096 lines, all in the second half.
    std::vector<std::size_t> places;
    for (std::size_t place = 4096 * 25; place <= 200000; place += 4096) places.push_back(place);
    CHECK(complaint(planted(200000, "3C00 4000 42z0 00\n", places)).starts_with("line 102400: "));
  }
}

TEST_CASE(
    "a line without flags compares its value alone, and wrong values come before wrong flags") {
  // 1 + 2 is 3: the second line is wrong in its flags alone, the fourth in both. The fifth is right
  // and inexact.
  const StreamCheck check = checked(
      "3C00 4000 4200\n3C00 4000 4200 01\n3C00 4000 4201\n3C00 4000 4201 01\n87FF E850 E850\n" +
          good,
      "f16_add", 3);
  CHECK(check.cases == 6);
  CHECK(check.without_flags == 3);
  CHECK(check.wrong_values == 2);
  CHECK(check.wrong_flags == 1);
  CHECK(lines_of(check) == std::vector<std::uint64_t>{3, 4, 2});
}

TEST_CASE("mismatches in a long stream are counted exactly, the first ones kept in order") {
  std::vector<std::size_t> places;
  for (std::size_t place = 777; place <= 1200000; place += 1237) places.push_back(place);
  places.push_back(1200000);
  const StreamCheck check = checked(planted(1200000, wrong, places), "f16_add", 300);
  CHECK(check.cases == 1200000);
  CHECK(check.mismatches() == places.size());
  CHECK(lines_of(check) == std::vector<std::uint64_t>(places.begin(), places.begin() + 300));
  CHECK(check.first[0].stream.result.bits == 0x4201);
  CHECK(check.first[0].stream.operands == TestOperands{0x3C00, 0x4000, 0});
  CHECK(check.first[0].ours.bits == 0x4200);
}

TEST_CASE("where every line is wrong the first ones are still the first ones") {
  const StreamCheck check = checked(repeated(wrong, 1000000), "f16_add", 3);
  CHECK(check.mismatches() == 1000000);
  CHECK(lines_of(check) == std::vector<std::uint64_t>{1, 2, 3});
  CHECK(checked(repeated(wrong, 1000), "f16_add", 0).first.empty());
  CHECK(checked(repeated(wrong, 1000), "f16_add", 0).mismatches() == 1000);
}

TEST_CASE("any number of mismatches may be kept") {
  const StreamCheck check = checked(repeated(wrong, 100000), "f16_add", ~std::size_t{0});
  CHECK(check.first.size() == 100000);
}

TEST_CASE("however little a read gives, the result is the same") {
  std::string text = planted(3000, wrong, {1, 1500, 3000});
  text.pop_back();
  for (const std::size_t most : std::vector<std::size_t>{1, 2, 17, 18, 19, 1000}) {
    CAPTURE(most);
    const StreamCheck check = checked(text, "f16_add", 5, {}, most);
    CHECK(check.cases == 3000);
    CHECK(lines_of(check) == std::vector<std::uint64_t>{1, 1500, 3000});
  }
  CHECK(complaint(good + "\r\nzzz", "f16_add", 1).starts_with("line 2: too few numbers"));
}

TEST_CASE("a NaN agrees with any NaN, lane by lane, unless its bits are asked for") {
  CHECK(agree("f16_add", {0xFE01, 0}, {0x7E00, 0}));
  CHECK(agree("f16_add", {0x7C01, 0}, {0x7E00, 0}));
  CHECK_FALSE(agree("f16_add", {0xFE01, 0}, {0x7E00, 0}, true));
  CHECK_FALSE(agree("f16_add", {0x7C00, 0}, {0x7E00, 0}));
  CHECK_FALSE(agree("f16_add", {0x7E00, 0}, {0x7C00, 0}));
  CHECK(agree("f64_add", {0x7FF8000000000000, 0}, {0xFFFFFFFFFFFFFFFF, 0}));
  CHECK(agree("e4m3_add", {0xFF, 0}, {0x7F, 0}));
  CHECK_FALSE(agree("e4m3fnuz_add", {0xFF, 0}, {0x80, 0}));
  CHECK_FALSE(agree("e2m1_add", {0x0F, 0}, {0x07, 0}));  // it has no NaN
  CHECK(agree("fma.rn.f16x2", {0x7E003C00, 0}, {0x7FFF3C00, 0}));
  CHECK(agree("fma.rn.f16x2", {0x3C007E00, 0}, {0x3C007FFF, 0}));
  CHECK_FALSE(agree("fma.rn.f16x2", {0x7E003C00, 0}, {0x7FFF3C01, 0}));
  CHECK_FALSE(agree("fma.rn.f16x2", {0x7C007E00, 0}, {0x7BFF7FFF, 0}));
  CHECK_FALSE(agree("fma.rn.f16x2", {0x7E003C00, 0}, {0x3C007E00, 0}));
  CHECK_FALSE(agree("fma.rn.f16x2", {0x7E003C00, 0}, {0x7FFF3C00, 0}, true));
  CHECK(agree("add.rn.f32x2", {0x7FFFFFFF3F800000, 0}, {0x7FC000003F800000, 0}));
  CHECK_FALSE(agree("add.rn.f32x2", {0x7FFFFFFF3F800000, 0}, {0x7FC000003F800001, 0}));
}

TEST_CASE("an integer that is invalid may have any value, unless its bits are asked for") {
  CHECK(agree("f32_to_i32", {0x80000000, Flag::invalid}, {0x7FFFFFFF, Flag::invalid}));
  CHECK_FALSE(agree("f32_to_i32", {0x80000000, Flag::invalid}, {0x7FFFFFFF, Flag::invalid}, true));
  CHECK_FALSE(agree("f32_to_i32", {2, Flag::inexact}, {1, Flag::inexact}));
  CHECK_FALSE(agree("f32_to_i32", {2, Flag::invalid}, {1, 0}));
  CHECK_FALSE(agree("f32_eq", {1, Flag::invalid}, {0, Flag::invalid}));
}

TEST_CASE("flags are always compared, where there are any") {
  for (int bit = 0; bit < 5; ++bit) {
    const auto flags = static_cast<Flags>(1 << bit);
    CHECK_FALSE(agree("f16_add", {0x3C00, flags}, {0x3C00, 0}));
    CHECK_FALSE(agree("f16_add", {0x7E00, 0}, {0x7E00, flags}));
    CHECK_FALSE(agree("f32_to_i32", {1, flags}, {1, 0}));
    CHECK_FALSE(agree("f16_eq", {1, flags}, {1, 0}));
    CHECK(agree("f16_add", {0x3C00, flags}, {0x3C00, flags}));
    CHECK(agree("add.rn.f16", {0x3C00, flags}, {0x3C00, 0}));
  }
}

TEST_CASE("settings reach the emulator") {
  const auto mismatches = [](const TestSettings& settings) {
    const std::string tie_upward = "3C00 1000 3C01 01\n";  // 1 + 2^-11
    return check_stream(parse_test_function("f16_add"), settings, {}, Source(tie_upward), 1)
        .mismatches();
  };
  CHECK(mismatches({}) == 1);
  CHECK(mismatches({.attributes = {.rounding = Rounding::ties_to_away}}) == 0);
}

}  // namespace binade::test_stream_test
