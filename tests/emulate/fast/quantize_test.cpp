// SPDX-License-Identifier: Apache-2.0
//
// The plan of single floats against `quantize`, value for value and count for count: every named
// format and user-made ones, every rounding, saturation, flushing and tininess rule, on inputs
// around every end and tie.
#include "emulate/fast/quantize.h"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/emulate/operand_draw.h"

namespace binade::fast_quantize_test {
namespace {

/// Returns the magnitudes around this one, in steps of a float's ulp and of half an ulp of f, with
/// both signs.
void add_around(std::vector<float>& out, std::uint32_t magnitude, const Format& f) {
  const std::uint32_t half_ulp = f.precision < 24 ? 1U << (23 - f.precision) : 1;
  for (const std::uint32_t step : {1U, 2U, half_ulp, 2 * half_ulp, 3 * half_ulp}) {
    for (const std::uint32_t x : {magnitude - step, magnitude, magnitude + step}) {
      out.push_back(std::bit_cast<float>(x & 0x7FFFFFFF));
      out.push_back(std::bit_cast<float>(x | 0x80000000));
    }
  }
}

/// Returns inputs: ends of the range, ties, powers of two, infinities and NaNs; then random numbers
/// of the range, then random bits.
std::vector<float> batch(const Format& f, test::Random& random, std::size_t n) {
  std::vector<float> out;
  for (int e = -149; e < 128; ++e) {
    const bool near = e >= f.quantum_exponent() - 34 && e <= f.emin() + 1;
    if (near || e > f.emax() - 2 || e < -146)
      add_around(out, fast::detail::power_of_two_bits(e), f);
  }
  add_around(out, 0x7F800000, f);
  add_around(out, 0x00800000, f);
  while (out.size() < n) {
    const int e = test::between(random, f.quantum_exponent() - 6, f.emax() + 2);
    const bool any = random() % 4 == 0 || e < -148 || e > 127;
    const std::uint64_t bits = any ? random() : test::draw_at(random, binary32, e);
    out.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  return out;
}

struct Totals {
  std::uint64_t values = 0, different = 0;
  EventCounts counts;
};

void compare(const Quantizer& to, std::uint64_t first, const std::vector<float>& in,
             Totals& totals) {
  std::vector<float> want(in.size());
  std::vector<float> got(in.size());
  EventCounts want_counts;
  EventCounts got_counts;
  quantize(in.data(), want.data(), in.size(), first, to, want_counts);
  const fast::QuantizePlan plan = fast::quantize_plan(to);
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!plan.known) {
      quantize(&in[i], &got[i], 1, first + i, to, got_counts);
      continue;
    }
    const auto bits = static_cast<std::uint32_t>(bits_of(in[i]));
    const std::uint32_t random = plan.stochastic ? random_word(to.seed, to.stream, first + i) : 0;
    const fast::Quantized result = fast::quantized(bits, random, plan);
    got[i] = std::bit_cast<float>(result.bits);
    fast::count_events(bits, result.events, plan, got_counts);
  }
  totals.values += in.size();
  totals.counts += want_counts;
  totals.different += want_counts == got_counts ? 0 : 1;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (bits_of(want[i]) == bits_of(got[i])) continue;
    if (totals.different++ == 0) {
      MESSAGE("element " << i << ": in " << bits_of(in[i]) << " want " << bits_of(want[i])
                         << " got " << bits_of(got[i]));
    }
  }
}

std::vector<Attributes> modes() {
  std::vector<Attributes> out;
  for (const NamedRounding& row : roundings) {
    for (const Saturation saturation : {Saturation::none, Saturation::finite}) {
      for (int flush = 0; flush < 4; ++flush) {
        for (const Tininess tininess : {Tininess::after_rounding, Tininess::before_rounding}) {
          for (const int n : {1, 7, 32}) {
            if (row.rounding != Rounding::stochastic && n != 32) continue;
            out.push_back({.rounding = row.rounding,
                           .saturation = saturation,
                           .flush_results = flush % 2 == 1,
                           .flush_operands = flush / 2 == 1,
                           .tininess = tininess,
                           .nan = static_cast<NanResult>(flush % 3),
                           .random_bits = n});
          }
        }
      }
    }
  }
  return out;
}

void check_all_happened(const EventCounts& counts) {
  CHECK(counts.nan_in > 0);
  CHECK(counts.inf_in > 0);
  CHECK(counts.to_zero > 0);
  CHECK(counts.subnormal > 0);
  CHECK(counts.overflow > counts.saturated);
  CHECK(counts.saturated > 0);
  CHECK(counts.inexact > 0);
}

TEST_CASE("every named format that fits, in every mode, gives the definition's bytes and counts") {
  Totals totals;
  test::Random random(1);
  for (const NamedFormat& row : formats) {
    if (!fits_in(row.format, binary32)) continue;
    CAPTURE(row.name);
    const std::vector<float> in = batch(row.format, random, 2500);
    for (const Attributes& attributes : modes()) {
      CAPTURE(rounding_name(attributes.rounding));
      const Quantizer to{row.format, attributes, random(), random() % 3};
      const std::uint64_t before = totals.different;
      compare(to, random() % 9, in, totals);
      REQUIRE(totals.different == before);
    }
  }
  CHECK(totals.values > 5'000'000);
  check_all_happened(totals.counts);
}

TEST_CASE("so do formats that a user makes, down to those with smaller numbers than binary32's") {
  Totals totals;
  test::Random random(2);
  int formats_tried = 0;
  int below_binary32 = 0;
  while (formats_tried < 300) {
    Format f = test::draw_format(random);
    if (random() % 8 == 0) f = {4, test::between(random, 1, 6), test::between(random, 120, 142)};
    if (f.precision == 1 && f.specials == Specials::ieee) f.specials = Specials::none;
    if (!is_valid(f) || !fits_in(f, binary32)) continue;
    formats_tried += 1;
    below_binary32 += f.emin() < -126 ? 1 : 0;
    const std::vector<float> in = batch(f, random, 500);
    for (int i = 0; i < 20; ++i) {
      const Quantizer to{f, test::draw_attributes(random), random(), random()};
      compare(to, random() % 9, in, totals);
    }
    CAPTURE(f.exponent_bits);
    CAPTURE(f.precision);
    CAPTURE(f.bias);
    REQUIRE(totals.different == 0);
  }
  CHECK(below_binary32 > 10);
  check_all_happened(totals.counts);
}

TEST_CASE("the plan knows the formats that have a zero and fit") {
  for (const NamedFormat& row : formats) {
    CAPTURE(row.name);
    const bool known = row.format != e8m0 && row.format != binary64;
    CHECK(fast::quantize_plan({.format = row.format}).known == known);
  }
  CHECK(!fast::quantize_plan({.format = {4, 3, 135}}).known);
}

}  // namespace
}  // namespace binade::fast_quantize_test
