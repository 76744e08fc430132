// SPDX-License-Identifier: Apache-2.0
//
// Single dot products by the kernels against the definition: every generator's rows, for
// instructions of every kind and for models with similar rules.
#include "lib/device/dot_products.h"

#include <doctest/doctest.h>

#include "tests/lib/cases/dot_rows.h"

namespace binade::dot_products_test {

TEST_CASE("rows are as they are defined, under the table's rules and others") {
  std::size_t numbers = 0, compared = 0;
  for (const test::Named& named : test::some_of_each) {
    Instruction how = test::instruction(named);
    for (const int bits_less : {0, 1}) {
      how.model.fraction_bits -= bits_less;
      for (const DotGenerator& generator : dot_generators()) {
        if (!generator.suits(how)) continue;
        const Dots rows = make_dots(generator, how, 1, 0, 96);
        const std::vector<std::uint64_t> found = dots_of(how, rows);
        REQUIRE(found.size() == rows.c.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
          CAPTURE(named.name);
          CAPTURE(generator.name);
          REQUIRE(found[i] == test::emulated(rows, how, i));
          const bool is_float = !is_integer(how.types.d);
          numbers += is_float && test::kind(found[i], how.types.d) == Kind::finite ? 1 : 0;
          ++compared;
        }
      }
    }
  }
  CHECK(compared > 10000);
  CHECK(numbers > compared / 2);
}

/// Row i of a and of c, and row j of b, each with its own scales.
std::uint64_t meeting(const Instruction& how, const Dots& rows, std::size_t i, std::size_t j) {
  const std::size_t k = static_cast<std::size_t>(how.k), scales = scales_of_row(how);
  std::vector<std::uint8_t> a, b;
  for (std::size_t n = 0; n < scales; ++n) {
    a.push_back(static_cast<std::uint8_t>(rows.a_scales.at(i * scales + n)));
    b.push_back(static_cast<std::uint8_t>(rows.b_scales.at(j * scales + n)));
  }
  return dot(how.model, how.types, rows.a.data() + i * k, rows.b.data() + j * k, how.k, rows.c[i],
             NoTrace{}, scales == 0 ? DotScales{} : DotScales{a.data(), b.data()});
}

TEST_CASE("any row of a meets any row of b") {
  for (const test::Named& named : test::some_of_each) {
    const Instruction how = test::instruction(named);
    const Dots rows = test::rows_of("specials", named, 12);
    const DotProducts dots(how, rows);
    for (std::size_t i = 0; i < 12; ++i) {
      for (std::size_t j = 0; j < 12; ++j) {
        CAPTURE(named.name);
        REQUIRE(dots(i, j, i) == meeting(how, rows, i, j));
      }
    }
  }
}

}  // namespace binade::dot_products_test
