// SPDX-License-Identifier: Apache-2.0
//
// The casts of Apex's O1: each wrapper of apex/amp/wrap.py with operands of one format, of two, and
// of formats that it does not know.
#include "lib/amp/apex.h"

#include <doctest/doctest.h>

#include <vector>

#include "lib/text/error.h"

namespace binade::test::apex_test {
namespace {

std::optional<Format> cast_of(std::string_view op, const std::vector<Format>& inputs) {
  return apex_dtype(op, inputs);
}

TEST_CASE("functions of the fp16 list are cast to binary16, binary64 and bfloat16 too") {
  for (const Format& input : {binary16, binary32, bfloat16, binary64}) {
    CHECK(cast_of("linear", {input, binary32}) == binary16);
  }
}

TEST_CASE("functions of the fp32 list are cast to binary32, binary64 too") {
  for (const Format& input : {binary16, binary32, binary64}) {
    CHECK(cast_of("softmax", {input}) == binary32);
    CHECK(cast_of("var", {input}) == binary32);
  }
}

TEST_CASE("inputs of one format stay where a function promotes") {
  for (const Format& input : {binary16, binary32, bfloat16, binary64}) {
    CHECK_FALSE(cast_of("add", {input, input}));
    CHECK_FALSE(cast_of("cat", {input, input, input}));
  }
}

TEST_CASE("binary16 and binary32 together become binary32, in any order") {
  CHECK(cast_of("add", {binary16, binary32}) == binary32);
  CHECK(cast_of("addcmul", {binary32, binary16, binary16}) == binary32);
  CHECK(cast_of("stack", {binary16, binary16, binary32}) == binary32);
}

TEST_CASE("of other formats together add is refused, cat and stack are left to PyTorch") {
  for (const auto& inputs : {std::vector{binary16, bfloat16}, std::vector{binary32, binary64},
                             std::vector{binary16, binary32, binary64}}) {
    CHECK_THROWS_WITH_AS(cast_of("add", inputs), doctest::Contains("does not know how to handle"),
                         Error);
    CHECK_FALSE(cast_of("cat", inputs));
    CHECK_FALSE(cast_of("stack", inputs));
  }
  CHECK_THROWS_WITH_AS(cast_of("mul", {binary32, bfloat16}), doctest::Contains("mul: "), Error);
  CHECK_THROWS_WITH_AS(cast_of("mul", {binary32, bfloat16}), doctest::Contains("handle bfloat16"),
                       Error);
}

TEST_CASE("the banned function is refused of binary16 alone") {
  CHECK_THROWS_WITH_AS(cast_of("binary_cross_entropy", {binary32, binary16}),
                       doctest::Contains("binary_cross_entropy_with_logits"), Error);
  CHECK_FALSE(cast_of("binary_cross_entropy", {binary32, binary32}));
}

TEST_CASE("a function on no list and a call without inputs stay as they are") {
  CHECK_FALSE(cast_of("mean", {binary16, binary32}));
  CHECK_FALSE(cast_of("linear", {}));
}

}  // namespace
}  // namespace binade::test::apex_test
