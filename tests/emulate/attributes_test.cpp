// SPDX-License-Identifier: Apache-2.0
//
// Names of roundings, and the flag bits other programs read.
#include "emulate/attributes.h"

#include <doctest/doctest.h>

namespace binade::attributes_test {
namespace {

TEST_CASE("a rounding is found by its own name and by PTX's") {
  for (const NamedRounding& row : roundings) {
    CHECK(find_rounding(row.name) == row.rounding);
    CHECK(rounding_name(row.rounding) == row.name);
    if (!row.ptx.empty()) CHECK(find_rounding(row.ptx) == row.rounding);
  }
  CHECK(find_rounding("rn") == Rounding::ties_to_even);
  CHECK(find_rounding("rna") == Rounding::ties_to_away);
  CHECK(find_rounding("rz") == Rounding::toward_zero);
  CHECK(find_rounding("rp") == Rounding::toward_positive);
  CHECK(find_rounding("rm") == Rounding::toward_negative);
  CHECK(find_rounding("rs") == Rounding::stochastic);
  CHECK_FALSE(find_rounding("nearest").has_value());
  CHECK_FALSE(find_rounding("").has_value());
}

TEST_CASE("flags have the bit values that TestFloat prints") {
  CHECK(Flag::inexact == 0x01);
  CHECK(Flag::underflow == 0x02);
  CHECK(Flag::overflow == 0x04);
  CHECK(Flag::divide_by_zero == 0x08);
  CHECK(Flag::invalid == 0x10);
}

}  // namespace
}  // namespace binade::attributes_test
