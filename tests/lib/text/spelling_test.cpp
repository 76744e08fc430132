// SPDX-License-Identifier: Apache-2.0
//
// An Error suggests the nearest name, and none if no name is near.
#include "lib/text/spelling.h"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <string_view>

namespace spelling_test {
namespace {

constexpr std::array<std::string_view, 4> names{"binary16", "bfloat16", "e4m3", "ties_to_even"};

std::string nearest(std::string_view word) { return binade::did_you_mean(word, names); }

}  // namespace

TEST_CASE("one wrong, missing, doubled or swapped letter finds the name") {
  CHECK(nearest("binary17") == "; did you mean binary16?");
  CHECK(nearest("bfloat6") == "; did you mean bfloat16?");
  CHECK(nearest("e44m3") == "; did you mean e4m3?");
  CHECK(nearest("ties_to_evne") == "; did you mean ties_to_even?");
}

TEST_CASE("case does not count") { CHECK(nearest("BFLOAT16") == "; did you mean bfloat16?"); }

TEST_CASE("what is like nothing gets no advice") {
  CHECK(nearest("quantize").empty());
  CHECK(nearest("x").empty());
  CHECK(nearest("").empty());
  CHECK(nearest(std::string(100000, 'e')).empty());
}

TEST_CASE("one letter too many or too few is nearer than two wrong ones") {
  constexpr std::array<std::string_view, 2> longer{"scaxy", "scalex"};
  CHECK(binade::did_you_mean("scale", longer) == "; did you mean scalex?");
  constexpr std::array<std::string_view, 2> shorter{"scaxy", "scal"};
  CHECK(binade::did_you_mean("scale", shorter) == "; did you mean scal?");
}

TEST_CASE("a word that names go on from finds these, if they are few") {
  constexpr std::array<std::string_view, 3> longer{"mxfp4", "mxfp8_e4m3", "mxfp8_e5m2"};
  CHECK(binade::did_you_mean("MXFP8", longer) == "; did you mean mxfp8_e4m3 or mxfp8_e5m2?");
  CHECK(binade::did_you_mean("mxfp", longer) == "; did you mean mxfp4?");
  constexpr std::array<std::string_view, 6> many{"a_b", "a_c", "a_d", "a_e", "a_f", "a_g"};
  CHECK(binade::did_you_mean("a", many).empty());
}

TEST_CASE("a list reads as a list") {
  CHECK(binade::listed(names) == "binary16, bfloat16, e4m3, ties_to_even");
}

TEST_CASE("alternatives end with or") {
  CHECK(binade::alternatives(std::span(names).first(0)).empty());
  CHECK(binade::alternatives(std::span(names).first(1)) == "binary16");
  CHECK(binade::alternatives(std::span(names).first(3)) == "binary16, bfloat16 or e4m3");
}
}  // namespace spelling_test
