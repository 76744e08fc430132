// SPDX-License-Identifier: Apache-2.0
//
// Bulk quantization: every output and every count against the oracle's, on batches that contain
// each kind of event. Neither the split of an array nor its address changes a bit.
#include "emulate/quantize.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "tests/emulate/oracle_bridge.h"

namespace binade::quantize_test {
namespace {

template <class T>
struct Source;
template <>
struct Source<float> {
  static constexpr const char* name = "binary32";
  static constexpr int fraction_bits = 23;
};
template <>
struct Source<double> {
  static constexpr const char* name = "binary64";
  static constexpr int fraction_bits = 52;
};

/// Returns inputs: infinities, NaNs, subnormals of the carrier (float or double), numbers around
/// the format's range and its ends, numbers of the format.
template <class T>
std::vector<T> batch(const Format& f, std::uint64_t seed, std::size_t n) {
  std::mt19937_64 random(seed);
  const T inf = std::numeric_limits<T>::infinity();
  std::vector<T> out{T{0},
                     -T{0},
                     inf,
                     -inf,
                     std::numeric_limits<T>::quiet_NaN(),
                     -std::numeric_limits<T>::quiet_NaN(),
                     std::numeric_limits<T>::signaling_NaN(),
                     std::numeric_limits<T>::denorm_min(),
                     std::numeric_limits<T>::max(),
                     std::numeric_limits<T>::lowest(),
                     std::numeric_limits<T>::min() / 2};
  while (out.size() < n) {
    const int span = f.emax() - f.quantum_exponent() + 8;
    const int e =
        f.quantum_exponent() - 4 + static_cast<int>(random() % static_cast<unsigned>(span));
    const T m = 1 + std::ldexp(static_cast<T>(random() >> (63 - Source<T>::fraction_bits)),
                               -Source<T>::fraction_bits - 1);
    const T x = std::ldexp(random() % 4 == 0 ? std::floor(m * 4) / 4 : m, e);
    out.push_back(random() % 2 == 0 ? x : -x);
  }
  return out;
}

/// Compares the outputs with the oracle, and returns the counts that the oracle expects.
template <class T>
EventCounts expected_counts(const oracle::Oracle& judge, const std::vector<T>& in,
                            const std::vector<T>& out, const Quantizer& to,
                            std::uint64_t& different) {
  const oracle::Spec& source = oracle::named_spec(Source<T>::name).spec;
  EventCounts want;
  for (std::size_t i = 0; i < in.size(); ++i) {
    using Bits = typename Carrier<T>::Bits;
    const std::uint64_t bits = std::bit_cast<Bits>(in[i]);
    oracle::Value x = oracle::value_of(bits, source);
    const bool nonzero = x.kind == oracle::Kind::number && !oracle::is_zero(x);
    const bool flushed = to.attributes.flush_operands && oracle::is_subnormal(bits, source);
    if (flushed) x = {.negative = x.negative};
    const std::uint32_t word = random_word(to.seed, to.stream, i);
    const oracle::Outcome o = judge.round(x, test::rules_of(to.attributes), word);
    const oracle::Value y = oracle::value_of(o.bits, judge.spec());
    const double value = oracle::to_double(y);
    const auto got = static_cast<double>(out[i]);
    const bool same = std::isnan(value) ? std::isnan(got)
                                        : got == value && std::signbit(got) == std::signbit(value);
    different += same ? 0 : 1;
    want.values += 1;
    want.nan_in += x.kind == oracle::Kind::nan ? 1 : 0;
    want.inf_in += x.kind == oracle::Kind::infinity ? 1 : 0;
    want.invalid += o.invalid ? 1 : 0;
    if (x.kind != oracle::Kind::number) continue;
    want.to_zero += nonzero && value == 0 ? 1 : 0;
    want.subnormal += oracle::is_subnormal(o.bits, judge.spec()) ? 1 : 0;
    want.overflow += o.overflow ? 1 : 0;
    want.saturated += o.overflow && to.attributes.saturation == Saturation::finite ? 1 : 0;
    want.inexact += o.inexact || flushed ? 1 : 0;
  }
  return want;
}

void add_modes(std::vector<Attributes>& out, Rounding rounding) {
  out.push_back({.rounding = rounding});
  out.push_back({.rounding = rounding, .saturation = Saturation::finite, .flush_results = true});
  out.push_back({.rounding = rounding,
                 .saturation = Saturation::finite,
                 .flush_operands = true,
                 .tininess = Tininess::before_rounding,
                 .random_bits = 5});
}

template <class T>
void check_counts(std::size_t n) {
  std::vector<Attributes> modes;
  for (const NamedRounding& row : roundings) add_modes(modes, row.rounding);
  for (const NamedFormat& row : formats) {
    const Format& f = row.format;
    if (!fits_in(f, Carrier<T>::format)) continue;
    CAPTURE(row.name);
    const oracle::Oracle judge(test::spec_of(f), oracle::Oracle::Method::division);
    const std::vector<T> in = batch<T>(f, 99, n);
    EventCounts total;
    for (const Attributes& attributes : modes) {
      CAPTURE(test::words(attributes));
      const Quantizer to{.format = f, .attributes = attributes, .seed = 1234, .stream = 5};
      std::vector<T> out(in.size());
      EventCounts got;
      quantize(in.data(), out.data(), in.size(), 0, to, got);
      std::uint64_t different = 0;
      const EventCounts want = expected_counts(judge, in, out, to, different);
      CHECK(different == 0);
      CHECK(got == want);
      total += got;
    }
    const bool itself = f == Carrier<T>::format;
    CHECK(total.nan_in == 3 * modes.size());
    CHECK(total.invalid == (f.has_nan() ? 1 : 3) * modes.size());
    CHECK(total.inf_in >= 2 * modes.size());
    CHECK(total.inexact > 0);
    CHECK((total.overflow > 0 || itself));
    CHECK((total.saturated > 0 || itself));
    CHECK((total.saturated < total.overflow || itself));
    CHECK((total.to_zero > 0) == f.has_zero);
    CHECK((total.subnormal > 0) == f.has_subnormals());
  }
}

TEST_CASE("floats land where the oracle puts them and every event is counted exactly") {
  check_counts<float>(1500);
}

TEST_CASE("doubles land where the oracle puts them and every event is counted exactly") {
  check_counts<double>(1500);
}

TEST_CASE("a subnormal operand that DAZ flushes counts as to zero and inexact") {
  const float tiny = 0x1p-140F;
  float out = 1;
  EventCounts counts;
  quantize(&tiny, &out, 1, 0, {.format = bfloat16, .attributes = {.flush_operands = true}}, counts);
  CHECK(out == 0.0F);
  CHECK(counts == EventCounts{.values = 1, .to_zero = 1, .inexact = 1});
}

TEST_CASE("the counts of known values are the ones worked out by hand") {
  // binary16, ties to even: 2^-25 -> 0 (tie), 2^-24 exact subnormal, 1 exact, 65519 -> 65504,
  // 65520 -> Inf (tie), Inf, NaN.
  const std::vector<float> in{0x1p-25F,
                              0x1p-24F,
                              1.0F,
                              65519.0F,
                              65520.0F,
                              std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()};
  std::vector<float> out(in.size());
  EventCounts counts;
  quantize(in.data(), out.data(), in.size(), 0, {.format = binary16}, counts);
  CHECK(counts == EventCounts{.values = 7,
                              .nan_in = 1,
                              .inf_in = 1,
                              .to_zero = 1,
                              .subnormal = 1,
                              .overflow = 1,
                              .saturated = 0,
                              .inexact = 3});
  CHECK(out[0] == 0.0F);
  CHECK(out[3] == 65504.0F);
  CHECK(out[4] == std::numeric_limits<float>::infinity());
}

TEST_CASE("an array quantized in any two parts gives the bytes and counts of one call") {
  for (const Rounding rounding : {Rounding::ties_to_even, Rounding::stochastic}) {
    const std::vector<float> in = batch<float>(binary16, 3, 1000);
    const Quantizer to{
        .format = binary16, .attributes = {.rounding = rounding}, .seed = 42, .stream = 7};
    const std::uint64_t first = (std::uint64_t{1} << 34) - 501;  // crosses a counter word's end
    std::vector<float> whole(in.size());
    EventCounts counts;
    quantize(in.data(), whole.data(), in.size(), first, to, counts);
    for (const std::size_t cut : {0U, 1U, 2U, 3U, 4U, 500U, 501U, 999U, 1000U}) {
      std::vector<float> parts = in;  // in place
      EventCounts left;
      EventCounts right;
      quantize(parts.data(), parts.data(), cut, first, to, left);
      quantize(parts.data() + cut, parts.data() + cut, in.size() - cut, first + cut, to, right);
      left += right;
      CHECK(left == counts);
      std::size_t different = 0;
      for (std::size_t i = 0; i < in.size(); ++i) {
        different +=
            std::bit_cast<std::uint32_t>(parts[i]) == std::bit_cast<std::uint32_t>(whole[i]) ? 0
                                                                                             : 1;
      }
      CHECK(different == 0);
    }
  }
}

TEST_CASE("seed, stream and position decide stochastic bits, and nothing else does") {
  const std::vector<float> in(4096, 1.0F + 0x1p-11F);  // half an ulp of binary16
  const auto run = [&](std::uint64_t seed, std::uint64_t stream, std::uint64_t first) {
    std::vector<float> out(in.size());
    EventCounts counts;
    quantize(in.data(), out.data(), in.size(), first,
             {.format = binary16,
              .attributes = {.rounding = Rounding::stochastic},
              .seed = seed,
              .stream = stream},
             counts);
    return out;
  };
  const std::vector<float> base = run(1, 2, 0);
  CHECK(run(1, 2, 0) == base);
  CHECK(run(2, 2, 0) != base);
  CHECK(run(1, 3, 0) != base);
  CHECK(run(1, 2, 1) != base);
  const std::vector<float> later = run(1, 2, 1024);
  CHECK(std::equal(later.begin(), later.begin() + 3072, base.begin() + 1024));
  std::size_t ups = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const bool up = base[i] != 1.0F;
    ups += up ? 1 : 0;
    REQUIRE(up == (random_word(1, 2, i) >= 0x80000000));
  }
  CHECK(ups > 1900);
  CHECK(ups < 2200);
}

TEST_CASE("value_of gives every encoding's value in float and double, payloads kept") {
  for (const NamedFormat& row : formats) {
    const Format& f = row.format;
    if (f.bits() > 19) continue;
    const oracle::Spec& spec = oracle::named_spec(row.name).spec;
    std::uint64_t different = 0;
    for (std::uint64_t code = 0; code < std::uint64_t{1} << f.bits(); ++code) {
      const std::uint64_t bits = code << f.padding_bits;
      const double want = oracle::to_double(oracle::value_of(bits, spec));
      const auto wide = value_of<double>(bits, f);
      const auto single = value_of<float>(bits, f);
      const bool same = std::isnan(want) ? std::isnan(wide) && std::isnan(single)
                                         : wide == want && static_cast<double>(single) == want &&
                                               std::signbit(wide) == std::signbit(want) &&
                                               std::signbit(single) == std::signbit(want);
      different += same ? 0 : 1;
    }
    CAPTURE(row.name);
    CHECK(different == 0);
  }
  CHECK(std::bit_cast<std::uint32_t>(value_of<float>(0xFE01, binary16)) == 0xFFC02000);
}

}  // namespace
}  // namespace binade::quantize_test
