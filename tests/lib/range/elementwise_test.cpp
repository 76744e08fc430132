// SPDX-License-Identifier: Apache-2.0
//
// Operations on arrays of bytes against the definition, element by element: both carriers (float
// and double), operands of different dtypes, one element for all, any division into pieces.
#include "lib/range/elementwise.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "emulate/carrier.h"
#include "lib/range/quantize_stream.h"

namespace binade::test::elementwise_test {
namespace {

/// A number of elements that is larger than what a thread takes at a time, and no multiple of what
/// is decoded at a time.
constexpr std::size_t elements = 50001;

struct Column {
  std::vector<std::byte> bytes;
  std::vector<std::uint64_t> codes;
};

Column column_of(const Format& f, std::vector<std::uint64_t> codes) {
  Column out{{}, std::move(codes)};
  for (const std::uint64_t code : out.codes) {
    for (std::size_t k = 0; k < code_bytes(f); ++k) {
      out.bytes.push_back(static_cast<std::byte>(code >> (8 * k)));
    }
  }
  return out;
}

/// Returns encodings near 1, so that sums cancel and products stay in range; one in four is any
/// encoding.
Column drawn_column(const Format& f, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> codes;
  for (std::size_t i = 0; i < elements; ++i) {
    const double m = 1 + static_cast<double>(random() >> 12) * 0x1p-52;
    const double near = std::ldexp(random() % 2 == 0 ? m : -m, static_cast<int>(random() % 9) - 4);
    const std::uint64_t any = random() >> (64 - f.storage_bits());
    codes.push_back(random() % 4 == 0 ? any : convert(bits_of(near), binary64, f).bits);
  }
  return column_of(f, std::move(codes));
}

struct Results {
  std::vector<std::byte> bytes;
  EventCounts counts;
};

/// Returns the results by the definition. A column of one element serves every element.
Results defined(const Elementwise& how, const std::vector<Column>& in, std::size_t n) {
  const bool narrow = value_dtype(how.to).name == "F32";
  Results out;
  for (std::size_t i = 0; i < n; ++i) {
    std::array<Exact, 3> x{};
    for (std::size_t k = 0; k < in.size(); ++k) {
      x[k] = decode(in[k].codes[in[k].codes.size() == 1 ? 0 : i], how.from[k]);
    }
    const std::uint64_t code = elementwise_one(x, i, how, out.counts);
    const std::uint64_t bits =
        narrow ? bits_of(value_of<float>(code, how.to)) : bits_of(value_of<double>(code, how.to));
    for (std::size_t k = 0; k < (narrow ? 4 : 8); ++k) {
      out.bytes.push_back(static_cast<std::byte>(bits >> (8 * k)));
    }
  }
  return out;
}

/// Returns the results of the function, called with `chunk` elements at a time.
Results operated(const Elementwise& how, const std::vector<Column>& in, std::size_t n,
                 std::size_t chunk) {
  const std::size_t width = value_dtype(how.to).bits / 8;
  Results out{std::vector<std::byte>(n * width), {}};
  for (std::size_t at = 0; at < n; at += chunk) {
    const std::size_t m = std::min(chunk, n - at);
    std::vector<OperandBytes> operands;
    for (std::size_t k = 0; k < in.size(); ++k) {
      const std::span all(in[k].bytes);
      const std::size_t size = code_bytes(how.from[k]);
      const bool repeated = in[k].codes.size() == 1;
      operands.push_back({repeated ? all : all.subspan(at * size, m * size), repeated});
    }
    out.counts +=
        operate_on_elements(how, operands, at, width == 4 ? ResultKind::f32 : ResultKind::f64,
                            std::span(out.bytes).subspan(at * width, m * width));
  }
  return out;
}

std::size_t differences(const Results& a, const Results& b, const Format& to) {
  const std::size_t width = value_dtype(to).bits / 8;
  if (a.bytes.size() != b.bytes.size()) return ~std::size_t{0};
  std::size_t different = 0;
  for (std::size_t i = 0; i < a.bytes.size(); i += width) {
    different += std::memcmp(&a.bytes[i], &b.bytes[i], width) != 0 ? 1 : 0;
  }
  return different;
}

void check_all_ways(const Elementwise& how, const std::vector<Column>& in) {
  const Results want = defined(how, in, elements);
  for (const std::size_t chunk : {elements, std::size_t{999}}) {
    const Results have = operated(how, in, elements, chunk);
    CAPTURE(static_cast<int>(how.operation));
    CAPTURE(chunk);
    CHECK(have.counts == want.counts);
    CHECK(differences(have, want, how.to) == 0);
  }
}

/// Dtypes of operands and result: all fit in float; a wide operand; a wide result; both wide.
const std::array<std::array<Format, 4>, 6> mixed_formats{
    {{binary16, bfloat16, binary32, e4m3},
     {e5m2, binary32, e4m3, binary16},
     {binary32, binary32, binary32, binary32},
     {binary16, binary64, e5m2, bfloat16},
     {binary16, bfloat16, e4m3, binary64},
     {binary64, binary64, binary64, binary64}}};

TEST_CASE("every operation on operands of unlike formats is the definition's, in any pieces") {
  for (const NamedOperation& row : operations) {
    for (const auto& formats : mixed_formats) {
      for (const bool odd : {false, true}) {
        const Elementwise how{
            .operation = row.operation,
            .from = {formats[0], formats[1], formats[2]},
            .to = formats[3],
            .attributes = {.rounding = odd ? Rounding::stochastic : Rounding::ties_to_even,
                           .saturation = odd ? Saturation::finite : Saturation::none,
                           .flush_results = odd,
                           .flush_operands = odd},
            .seed = 9};
        std::vector<Column> in;
        for (std::size_t k = 0; k < static_cast<std::size_t>(row.operands); ++k) {
          in.push_back(drawn_column(formats[k], k + 1));
        }
        check_all_ways(how, in);
      }
    }
  }
}

TEST_CASE("an operand of one element is taken for every element, whichever it is") {
  for (const Format& wide : {binary32, binary64}) {
    const Elementwise how{
        .operation = Operation::multiply_add, .from = {binary16, wide, bfloat16}, .to = binary16};
    for (std::size_t alone = 0; alone < 3; ++alone) {
      std::vector<Column> in;
      for (std::size_t k = 0; k < 3; ++k) {
        in.push_back(k == alone
                         ? column_of(how.from[k], {convert(0x3E01, binary16, how.from[k]).bits})
                         : drawn_column(how.from[k], 20 + k));
      }
      check_all_ways(how, in);
    }
  }
}

TEST_CASE(
    "a sum in double is rounded once, and what is subnormal is told by each operand's own format") {
  // 1 + 2^-11 is a tie of binary16, and the second operand, which a float sum would lose, decides
  // it.
  Elementwise how{.from = {binary64, binary32, binary16}, .to = binary16};
  Results out = operated(
      how, {column_of(binary64, {bits_of(1 + 0x1p-11)}), column_of(binary32, {bits_of(0x1p-60F)})},
      1, 1);
  CHECK(out.bytes == column_of(binary32, {bits_of(1 + 0x1p-10F)}).bytes);
  CHECK(out.counts.inexact == 1);
  // 2^-20 is subnormal in binary16 and normal in binary32.
  how = {.from = {binary16, binary32, binary16},
         .to = binary32,
         .attributes = {.flush_operands = true}};
  const Column small_half = column_of(binary16, {0x0010});
  const Column small_float = column_of(binary32, {bits_of(0x1p-20F)});
  out = operated(how, {small_half, small_float}, 1, 1);
  CHECK(out.bytes == small_float.bytes);
  CHECK(out.counts.inexact == 1);
}

TEST_CASE("no elements, no counts") {
  const std::array<OperandBytes, 2> none{};
  CHECK(operate_on_elements({}, none, 0, ResultKind::f32, {}) == EventCounts{});
}

}  // namespace
}  // namespace binade::test::elementwise_test
