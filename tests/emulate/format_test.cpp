// SPDX-License-Identifier: Apache-2.0
//
// The format table against constants typed in from the documents that define the formats.
#include "emulate/format.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "emulate/carrier.h"
#include "emulate/codec.h"
#include "tests/emulate/oracle_bridge.h"

namespace binade::format_test {
namespace {

TEST_CASE("every row of the table has the parameters its document prints") {
  CHECK(formats.size() == oracle::named_specs().size());
  for (const NamedFormat& row : formats) {
    CAPTURE(row.name);
    const oracle::Spec& want = oracle::named_spec(row.name).spec;
    const oracle::Spec got = test::spec_of(row.format);
    CHECK(got.exponent_bits == want.exponent_bits);
    CHECK(got.precision == want.precision);
    CHECK(got.bias == want.bias);
    CHECK(got.codes == want.codes);
    CHECK(got.zero == want.zero);
    CHECK(got.sign == want.sign);
    CHECK(got.padding == want.padding);
    CHECK(is_valid(row.format));
  }
}

TEST_CASE("the derived limits are the documents' limits") {
  for (const NamedFormat& row : formats) {
    CAPTURE(row.name);
    const Format& f = row.format;
    const oracle::NamedSpec& want = oracle::named_spec(row.name);
    CHECK(f.emax() == want.max_exponent);
    CHECK(f.emin() == want.min_exponent);
    CHECK(std::ldexp(static_cast<double>(f.max_significand()), f.emax() - f.fraction_bits()) ==
          want.max);
    CHECK(std::ldexp(1.0, f.emin()) == want.min_normal);
    CHECK(std::ldexp(1.0, f.quantum_exponent()) == want.min_value);
    CHECK(max_bits(f, false) == want.max_code);
    CHECK(project({.kind = Kind::finite, .significand = 1}, f).bits == want.one_code);
  }
}

TEST_CASE("encodings fill the containers the documents give them") {
  const auto storage = [](std::string_view name) { return find_format(name)->storage_bits(); };
  CHECK(storage("e2m1") == 8);
  CHECK(storage("e2m3") == 8);
  CHECK(storage("e4m3") == 8);
  CHECK(storage("e8m0") == 8);
  CHECK(storage("ue4m3") == 8);
  CHECK(storage("binary16") == 16);
  CHECK(storage("bfloat16") == 16);
  CHECK(storage("tf32") == 32);
  CHECK(storage("binary32") == 32);
  CHECK(storage("binary64") == 64);
  CHECK(tf32.bits() == 19);
  CHECK(e2m1.bits() == 4);
  CHECK(e3m2.bits() == 6);
  CHECK(ue4m3.bits() == 7);
}

TEST_CASE("which specials a format has follows from its row") {
  CHECK(binary16.has_infinity());
  CHECK_FALSE(e4m3.has_infinity());
  CHECK(e4m3.has_nan());
  CHECK_FALSE(e4m3fnuz.has_negative_zero());
  CHECK(e4m3fnuz.has_nan());
  CHECK_FALSE(e2m1.has_nan());
  CHECK(e2m1.has_negative_zero());
  CHECK_FALSE(e8m0.has_subnormals());
  CHECK_FALSE(e8m0.has_negative_zero());
  CHECK_FALSE(ue4m3.has_negative_zero());
  CHECK(ue4m3.has_subnormals());
}

TEST_CASE("formats are found by name and named by value") {
  for (const NamedFormat& row : formats) {
    CHECK(find_format(row.name) == row.format);
    CHECK(format_name(row.format) == row.name);
  }
  CHECK_FALSE(find_format("binary17").has_value());
  CHECK(format_name(Format{5, 12, 15}) == "custom");
}

TEST_CASE("impossible formats are refused") {
  CHECK_FALSE(is_valid({1, 4, 1}));
  CHECK_FALSE(is_valid({12, 4, 1}));
  CHECK_FALSE(is_valid({5, 0, 15}));
  CHECK_FALSE(is_valid({5, 54, 15}));
  CHECK_FALSE(is_valid({8, 1, 127}));                                    // Inf without NaN
  CHECK_FALSE(is_valid({5, 3, 16, Specials::fnuz, true, false}));        // no sign for the NaN
  CHECK_FALSE(is_valid({11, 53, 1023, Specials::ieee, true, true, 1}));  // 65 bits
  CHECK(is_valid({2, 1, 1, Specials::none}));
}

TEST_CASE("a format fits in another when every number of it is a number there") {
  CHECK(fits_in(e4m3, binary16));
  CHECK(fits_in(e8m0, binary32));
  CHECK(fits_in(bfloat16, tf32));
  CHECK(fits_in(tf32, binary32));
  CHECK(fits_in(binary16, tf32));
  CHECK_FALSE(fits_in(binary16, bfloat16));
  CHECK_FALSE(fits_in(bfloat16, binary16));
  CHECK_FALSE(fits_in(e5m2fnuz, e5m2));  // 2^-17 is no number of e5m2
  CHECK_FALSE(fits_in(binary64, binary32));
}

TEST_CASE("a format holds another if every value of that is one of its own, by enumeration") {
  std::vector<Format> small;
  for (const NamedFormat& row : formats) {
    if (row.format.bits() <= 8) small.push_back(row.format);
  }
  for (const Specials specials :
       {Specials::ieee, Specials::nan_only, Specials::none, Specials::fnuz}) {
    small.push_back({4, 4, 7, specials});
    small.push_back({3, 3, 3, specials});
  }
  int held = 0;
  for (const Format& inner : small) {
    for (const Format& outer : small) {
      const auto values_of = [](const Format& f) {
        std::set<std::pair<double, int>> out;  // NaNs as (2, 2), others with their sign
        for (std::uint64_t code = 0; code < std::uint64_t{1} << f.bits(); ++code) {
          const double x = value_of<double>(code, f);
          out.insert(std::isnan(x) ? std::pair(2.0, 2) : std::pair(x, std::signbit(x) ? 1 : 0));
        }
        return out;
      };
      const auto in = values_of(inner), out = values_of(outer);
      const bool want = std::ranges::includes(out, in);
      held += want ? 1 : 0;
      CAPTURE(format_name(inner));
      CAPTURE(format_name(outer));
      CHECK(holds(outer, inner) == want);
    }
  }
  CHECK(held > static_cast<int>(small.size()));
}

}  // namespace
}  // namespace binade::format_test
