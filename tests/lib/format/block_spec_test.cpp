// SPDX-License-Identifier: Apache-2.0
//
// Specifications of block formats: what they mean, that they read back, and how wrong ones are
// refused.
#include "lib/format/block_spec.h"

#include <doctest/doctest.h>

#include <string>

#include "lib/format/format_spec.h"
#include "lib/text/error.h"

namespace binade::block_spec_test {
namespace {

std::string error_of(const std::string& text, const std::string& rule = "") {
  try {
    const NamedOrCustomBlock format = parse_block_format(text);
    parse_scale_rule(rule, format);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST_CASE("a name of the table is that row, and its specification reads back") {
  for (const NamedBlockFormat& row : block_formats) {
    CHECK(names_block_format(row.name));
    CHECK(parse_block_format(row.name).format == row.format);
    CHECK(parse_block_format(row.name).name == row.name);
    BlockFormat other = row.format;
    other.shape = {3, 24};
    CHECK(parse_block_format(spec_of(other)).format == other);
  }
}

TEST_CASE("a specification says the elements, and which of them share which scale") {
  CHECK(parse_block_format("e2m1:block=1x32:scale=e8m0").name == "mxfp4");
  CHECK(parse_block_format("e2m1:block=1x32").name == "mxfp4");
  CHECK(parse_block_format("nvfp4:block=16x16").name == "nvfp4_2d");
  const BlockFormat own = parse_block_format("e4m3:bias=8:block=row:scale=fp32").format;
  CHECK(own.element.bias == 8);
  CHECK(own.shape == BlockShape{1, 0});
  CHECK(own.scale == binary32);
  CHECK_FALSE(names_block_format("e4m3:bias=8"));
  CHECK_FALSE(names_block_format("e4m3"));
}

TEST_CASE("where single numbers are formatted a block format is told as one") {
  CHECK_THROWS_WITH_AS(parse_format("mxfp4"),
                       "format 'mxfp4': a block format, whose elements share scales; here a format "
                       "of single numbers is wanted, such as e4m3",
                       Error);
}

TEST_CASE("what is wrong is said in one line with what would be right") {
  CHECK(error_of("e2m1:scale=e8m0").find("add :block=1x32") != std::string::npos);
  CHECK(error_of("mxfp4:block=0x32").find("1x32 or 128x128") != std::string::npos);
  CHECK(error_of("mxfp4:scale=e5m2").find("e8m0, binary32 or ue4m3") != std::string::npos);
  CHECK(error_of("mxfp4:tensor=yes").find("ue4m3 alone") != std::string::npos);
  CHECK(error_of("mxfp4:bias=3").find("no such part 'bias=3'") != std::string::npos);
  CHECK(error_of("binary32:block=1x32").find("at most 11 bits") != std::string::npos);
  CHECK(error_of("mxfp4", "torchao_flor").find("did you mean torchao_floor?") != std::string::npos);
  CHECK(error_of("mxfp4", "te").find("scale rule te is not for mxfp4; rules for mxfp4 are ocp") !=
        std::string::npos);
  CHECK(error_of("e3m2:block=row:scale=binary32").find("no scale rule") != std::string::npos);
}

}  // namespace
}  // namespace binade::block_spec_test
