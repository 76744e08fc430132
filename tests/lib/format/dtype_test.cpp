// SPDX-License-Identifier: Apache-2.0
//
// Element types, the names users give them, and the size of a shape.
#include "lib/format/dtype.h"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "lib/text/error.h"

namespace binade::dtype_test {

TEST_CASE("every type has its own name and is found by it") {
  std::set<std::string_view> names;
  for (const Dtype& row : dtypes()) {
    CAPTURE(row.name);
    CHECK(names.insert(row.name).second);
    CHECK(find_dtype(row.name) == row);
    CHECK(parse_dtype(row.name) == row);
    CHECK(row.bits > 0);
    CHECK((row.kind == DtypeKind::packed) == (row.bits < 8));
    CHECK_FALSE(to_string(row.kind).empty());
  }
  CHECK(names.size() == 23);
}

TEST_CASE("every type that is floating or packed has a format, and no other") {
  for (const Dtype& row : dtypes()) {
    CAPTURE(row.name);
    const bool real = row.kind == DtypeKind::floating || row.kind == DtypeKind::packed;
    CHECK(real == !row.format.empty());
  }
}

TEST_CASE("a file's type name must be exact") {
  CHECK_FALSE(find_dtype("f32"));
  CHECK_FALSE(find_dtype(""));
  CHECK_FALSE(find_dtype("bfloat16"));
}

TEST_CASE("users may write PyTorch's, NumPy's and binade's names in any case") {
  struct Spelling {
    std::string typed;
    std::string_view name;
  };
  const std::vector<Spelling> spellings = {
      {"bfloat16", "BF16"},
      {"bf16", "BF16"},
      {"torch.bfloat16", "BF16"},
      {"float8_e4m3fn", "F8_E4M3"},
      {"torch.float8_e4m3fn", "F8_E4M3"},
      {"e4m3", "F8_E4M3"},
      {"float8_e5m2", "F8_E5M2"},
      {"float8_e4m3fnuz", "F8_E4M3FNUZ"},
      {"float8_e5m2fnuz", "F8_E5M2FNUZ"},
      {"float8_e8m0fnu", "F8_E8M0"},
      {"float16", "F16"},
      {"Half", "F16"},
      {"binary16", "F16"},
      {"float32", "F32"},
      {"float", "F32"},
      {"FLOAT64", "F64"},
      {"double", "F64"},
  };
  for (const Spelling& spelling : spellings) {
    CAPTURE(spelling.typed);
    CHECK(parse_dtype(spelling.typed).name == spelling.name);
  }
}

TEST_CASE("an unknown name is an error that lists the known ones") {
  for (const char* name : {"float7", "", "torch.", "f32\n"}) {
    CAPTURE(name);
    std::string message;
    try {
      parse_dtype(name);
    } catch (const Error& error) {
      message = error.what();
    }
    CHECK(message.find("BF16") != std::string::npos);
    CHECK(message.find("F8_E4M3") != std::string::npos);
    CHECK(message.find('\n') == std::string::npos);
  }
}

TEST_CASE("a shape has the product of its sides, the scalar's one element, or none") {
  using Shape = std::vector<std::uint64_t>;
  const Dtype f32 = *find_dtype("F32");
  const auto elements = [&](const Shape& shape) { return extent(shape, f32)->elements; };
  CHECK(elements({}) == 1);
  CHECK(elements({2, 3, 4}) == 24);
  CHECK(elements({0}) == 0);
  CHECK(elements({1ULL << 63, 1ULL << 63, 0}) == 0);
  CHECK(extent(Shape{2, 3}, f32)->bytes == 24);
}

TEST_CASE("a shape too large for 63 bits is none") {
  using Shape = std::vector<std::uint64_t>;
  const Dtype u8 = *find_dtype("U8");
  CHECK_FALSE(extent(Shape{1ULL << 32, 1ULL << 32}, u8));
  CHECK_FALSE(extent(Shape{~0ULL}, u8));
  CHECK_FALSE(extent(Shape{3, 0x5555555555555556ULL}, u8));  // the product is 2 modulo 2^64
  CHECK_FALSE(extent(Shape{1ULL << 60}, *find_dtype("F32")));
  CHECK(extent(Shape{1ULL << 40}, *find_dtype("F32"))->bytes == 1ULL << 42);
}

TEST_CASE("packed elements must fill whole bytes") {
  using Shape = std::vector<std::uint64_t>;
  CHECK(extent(Shape{4}, *find_dtype("F6_E2M3"))->bytes == 3);
  CHECK_FALSE(extent(Shape{3}, *find_dtype("F6_E2M3")));
  CHECK(extent(Shape{6}, *find_dtype("F4"))->bytes == 3);
  CHECK_FALSE(extent(Shape{5}, *find_dtype("F4")));
}

}  // namespace binade::dtype_test
