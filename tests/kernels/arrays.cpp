// SPDX-License-Identifier: Apache-2.0
//
// Judges of the kernels on arrays: every format in every rounding, and what else a quantizer says
// in turn, at odd lengths and places; bytes and counts.
#include <cmath>
#include <limits>

#include "tests/kernels/array_cases.h"

namespace binade::kernel_test {
namespace {
/// Arrays so large that kernels write past the caches, which ask for places in memory: numbers and
/// others of a format, and what the definition makes of them.
template <std::floating_point T>
struct LargeCase {
  Quantizer to;
  std::uint64_t first = 0;
  std::size_t place = 0;  ///< of results
  std::vector<T> in, values;
  std::vector<std::byte> codes;
  EventCounts counts;
};
template <std::floating_point T>
const std::vector<LargeCase<T>>& large_cases() {
  static const std::vector<LargeCase<T>> cases = [] {
    std::vector<LargeCase<T>> out;
    constexpr std::array<Format, 3> tried{binary16, e4m3, bfloat16};
    constexpr std::array<std::uint64_t, 3> numbers{
        0, 8, 14};  // the second flushes both, the third operands
    for (std::size_t i = 0; i < tried.size(); ++i) {
      const Rounding rounding = i == 2 ? Rounding::stochastic : Rounding::ties_to_even;
      LargeCase<T> one{
          quantizer_of(tried[i], rounding, numbers[i]), starts[5 * i], 13 * i + 1, {}, {}, {}, {}};
      const std::size_t n = (std::size_t{8} << 20) / sizeof(T) + 77;
      one.in.resize(n);
      const std::vector<T> hard = hard_numbers<T>(tried[i], 4099, i, With::specials);
      for (std::size_t k = 0; k < n; ++k) one.in[k] = hard[k % hard.size()];
      one.values.resize(n);
      quantize(one.in.data(), one.values.data(), n, one.first, one.to, one.counts);
      one.codes.resize(n * code_bytes(tried[i]));
      EventCounts again;
      quantize_to_codes(one.in.data(), one.codes.data(), n, one.first, one.to, again);
      out.push_back(std::move(one));
    }
    return out;
  }();
  return cases;
}

template <std::floating_point T, Kernels::Quantize<T> Kernels::*entry>
Verdict judge_quantize(const Kernels& kernels) {
  Verdict verdict;
  for_each_case([&](const Quantizer& to, std::uint64_t number, std::size_t n, std::uint64_t first) {
    if (!fits_in(to.format, Carrier<T>::format)) return;
    const std::vector<T> in = hard_numbers<T>(to.format, n, number, with_of(number));
    begin(verdict, "", to, n, first);
    std::vector<T> want(n);
    EventCounts want_counts, counts;
    quantize(in.data(), want.data(), n, first, to, want_counts);
    const bool in_place = number % 3 == 0;
    Walled<T> from(in, number % 4), out(n, number / 4 % 4);
    T* const result = in_place ? from.data() : out.data();
    (kernels.*entry)(from.data(), result, n, first, to, counts);
    verdict.compare<T>({result, n}, want);
    compare_counts(verdict, counts, want_counts);
    verdict.require(from.is_whole() && out.is_whole(), "wrote outside the array");
    if (!in_place && n > 0) {
      verdict.require(std::memcmp(from.data(), in.data(), n * sizeof(T)) == 0, "changed its input");
    }
  });
  for (const LargeCase<T>& x : large_cases<T>()) {
    begin(verdict, "large, ", x.to, x.in.size(), x.first);
    Walled<T> out(x.in.size(), x.place);
    EventCounts counts;
    (kernels.*entry)(x.in.data(), out.data(), x.in.size(), x.first, x.to, counts);
    verdict.compare<T>(out.span(), x.values);
    compare_counts(verdict, counts, x.counts);
    verdict.require(out.is_whole(), "wrote outside the array");
  }
  return verdict;
}

template <std::floating_point T, Kernels::Encode<T> Kernels::*entry>
Verdict judge_encode(const Kernels& kernels) {
  Verdict verdict;
  for_each_case([&](const Quantizer& to, std::uint64_t number, std::size_t n, std::uint64_t first) {
    const std::vector<T> in = hard_numbers<T>(to.format, n, number, with_of(number));
    begin(verdict, "", to, n, first);
    const std::size_t bytes = n * code_bytes(to.format);
    std::vector<std::byte> want(bytes);
    EventCounts want_counts, counts;
    quantize_to_codes(in.data(), want.data(), n, first, to, want_counts);
    Walled<T> from(in, number % 4);
    Walled<std::byte> out(bytes, number / 4 % 16);
    (kernels.*entry)(from.data(), out.data(), n, first, to, counts);
    verdict.compare<std::byte>(out.span(), want);
    compare_counts(verdict, counts, want_counts);
    verdict.require(out.is_whole(), "wrote outside the array");
  });
  for (const LargeCase<T>& x : large_cases<T>()) {
    begin(verdict, "large, ", x.to, x.in.size(), x.first);
    Walled<std::byte> out(x.codes.size(), x.place);
    EventCounts counts;
    (kernels.*entry)(x.in.data(), out.data(), x.in.size(), x.first, x.to, counts);
    verdict.compare<std::byte>(out.span(), x.codes);
    compare_counts(verdict, counts, x.counts);
    verdict.require(out.is_whole(), "wrote outside the array");
  }
  return verdict;
}

/// All codes of up to 16 bits, and random ones; padding and unused bits set too.
std::vector<std::byte> codes_of(const Format& f, std::size_t n, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::byte> out(n * code_bytes(f));
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t code =
        f.bits() <= 16 && seed % 2 == 0 ? (seed * 577 + i) << f.padding_bits : random();
    std::memcpy(out.data() + i * code_bytes(f), &code, code_bytes(f));
  }
  return out;
}

template <std::floating_point T, Kernels::Decode<T> Kernels::*entry>
Verdict judge_decode(const Kernels& kernels) {
  Verdict verdict;
  std::uint64_t number = 0;
  for (const Format& f : tried_formats()) {
    if (!fits_in(f, Carrier<T>::format)) continue;
    std::vector<std::size_t> all(lengths.begin(), lengths.end());
    if (f.bits() <= 16) all.push_back(std::size_t{1} << f.bits());
    // Past the caches.
    if (f == e4m3 || f == bfloat16) all.push_back((std::size_t{8} << 20) / sizeof(T) + 77);
    for (const std::size_t n : all) {
      number += n > 1003 ? number % 2 : 1;  // all codes once
      const std::vector<std::byte> in = codes_of(f, n, n > 1003 ? 0 : number);
      verdict.begin(words_of(f), "n " + std::to_string(n));
      std::vector<T> want(n);
      values_of_codes(in.data(), want.data(), n, f);
      Walled<std::byte> from(std::span<const std::byte>(in), number % 8);
      Walled<T> out(n, number % 4);
      (kernels.*entry)(from.data(), out.data(), n, f);
      verdict.compare<T>(out.span(), want);
      verdict.require(out.is_whole(), "wrote outside the array");
    }
  }
  return verdict;
}

Verdict judge_random_words(const Kernels& kernels) {
  Verdict verdict;
  Random random(1);
  for (std::size_t i = 0; i < 2000; ++i) {
    const std::uint64_t seed = random();
    const std::uint64_t stream = i % 3 == 0 ? random() : starts[i / 3 % starts.size()];
    const std::uint64_t first = starts[i % starts.size()] + random() % 7;
    const std::size_t n = lengths[random() % lengths.size()];
    verdict.begin("first " + std::to_string(first),
                  "stream " + std::to_string(stream) + ", n " + std::to_string(n));
    std::vector<std::uint32_t> want(n);
    for (std::size_t k = 0; k < n; ++k) want[k] = random_word(seed, stream, first + k);
    Walled<std::uint32_t> out(n, i % 4);
    kernels.random_words(seed, stream, first, n, out.data());
    verdict.compare<std::uint32_t>(out.span(), want);
    verdict.require(out.is_whole(), "wrote outside the array");
  }
  return verdict;
}

/// Gradients so many that they go past the caches.
struct LargeUnscale {
  Format format;
  std::vector<float> in, want;
  NonFinite found;
};
const std::vector<LargeUnscale>& large_unscales() {
  static const std::vector<LargeUnscale> cases = [] {
    std::vector<LargeUnscale> out;
    for (const Format& f : {binary32, binary16}) {
      const std::size_t n = (std::size_t{8} << 20) / sizeof(float) + 77;
      std::vector<float> some = hard_numbers<float>(f, 4099, 5, With::specials);
      EventCounts counts;
      if (f != binary32) quantize(some.data(), some.data(), some.size(), 0, {.format = f}, counts);
      LargeUnscale one{f, std::vector<float>(n), std::vector<float>(n), {}};
      for (std::size_t i = 0; i < n; ++i) one.in[i] = some[i % some.size()];
      one.found = unscale(one.in.data(), one.want.data(), n, f, 0.3F);
      out.push_back(std::move(one));
    }
    return out;
  }();
  return cases;
}

Verdict judge_unscale(const Kernels& kernels) {
  Verdict verdict;
  std::uint64_t number = 0;
  for (const LargeUnscale& x : large_unscales()) {
    verdict.begin(words_of(x.format), "large");
    Walled<float> out(x.in.size(), ++number);
    const NonFinite got = kernels.unscale_f32(x.in.data(), out.data(), x.in.size(), x.format, 0.3F);
    verdict.compare<float>(out.span(), x.want);
    verdict.require(got == x.found, "found_inf, or its place");
    verdict.require(out.is_whole(), "wrote outside the array");
  }
  for (const Format& f : tried_formats()) {
    if (!fits_in(f, binary32)) continue;
    for (const float inv_scale : {1.0F, 0x1p-16F, 0.3F, 0.0F, 0x1p-140F, 0x1p100F, -3.0F}) {
      for (const std::size_t n : lengths) {
        ++number;
        std::vector<float> in = hard_numbers<float>(f, n, number, with_of(number));
        EventCounts counts;
        if (f != binary32) quantize(in.data(), in.data(), n, 0, {.format = f}, counts);
        verdict.begin(words_of(f),
                      "inv_scale " + std::to_string(inv_scale) + ", n " + std::to_string(n));
        std::vector<float> want(n);
        const NonFinite found = unscale(in.data(), want.data(), n, f, inv_scale);
        Walled<float> from(in, number % 4), out(n, number / 4 % 4);
        float* const result = number % 3 == 0 ? from.data() : out.data();
        const NonFinite got = kernels.unscale_f32(from.data(), result, n, f, inv_scale);
        verdict.compare<float>({result, n}, want);
        verdict.require(got == found, "found_inf, or its place");
        verdict.require(from.is_whole() && out.is_whole(), "wrote outside the array");
      }
    }
  }
  return verdict;
}

// The same kernels with faults.

template <std::floating_point T, Kernels::Quantize<T> Kernels::*entry>
void quantize_with_faults(const T* in, T* out, std::size_t n, std::uint64_t first,
                          const Quantizer& to, EventCounts& counts) {
  called(behind<entry>, in, out, n, first, to, counts);
  plant(out, n, &counts);
}
template <std::floating_point T, Kernels::Encode<T> Kernels::*entry>
void encode_with_faults(const T* in, std::byte* out, std::size_t n, std::uint64_t first,
                        const Quantizer& to, EventCounts& counts) {
  called(behind<entry>, in, out, n, first, to, counts);
  plant(out, n * code_bytes(to.format), &counts);
}
template <std::floating_point T, Kernels::Decode<T> Kernels::*entry>
void decode_with_faults(const std::byte* in, T* out, std::size_t n, const Format& format) {
  called(behind<entry>, in, out, n, format);
  plant(out, n);
}
void random_words_with_faults(std::uint64_t seed, std::uint64_t stream, std::uint64_t first,
                              std::size_t n, std::uint32_t* out) {
  called(behind<&Kernels::random_words>, seed, stream, first, n, out);
  plant(out, n);
}
NonFinite unscale_with_faults(const float* in, float* out, std::size_t n, const Format& format,
                              float inv_scale) {
  NonFinite found = called(behind<&Kernels::unscale_f32>, in, out, n, format, inv_scale);
  const Fault* fault = n == 0 ? nullptr : fault_of_call();
  if (fault == nullptr) return found;
  if (!fault->in_counts) {
    turn_bit(out, n, *fault);
  } else if (fault->at_end) {
    turn_bit(&found.value, 1, *fault);
  } else {
    turn_bit(&found.at, 1, *fault);
  }
  return found;
}

struct Timed {
  Format format;
  Rounding rounding;
  const char* name;
};
constexpr Timed timed[]{{binary16, Rounding::ties_to_even, "binary16"},
                        {bfloat16, Rounding::ties_to_even, "bfloat16"},
                        {e4m3, Rounding::ties_to_even, "e4m3"},
                        {binary16, Rounding::toward_zero, "binary16 toward_zero"},
                        {binary16, Rounding::to_odd, "binary16 to_odd"},
                        {binary16, Rounding::stochastic, "binary16 stochastic"}};

template <std::floating_point T, Kernels::Quantize<T> Kernels::*entry>
void time_quantize(const Kernels& kernels, std::size_t i) {
  EventCounts counts;
  (kernels.*entry)(timed_numbers<T>().data(), timed_results<T>().data(), timed_elements, 0,
                   {timed[i].format, {.rounding = timed[i].rounding}}, counts);
}
template <std::floating_point T, Kernels::Encode<T> Kernels::*entry>
void time_encode(const Kernels& kernels, std::size_t i) {
  EventCounts counts;
  (kernels.*entry)(timed_numbers<T>().data(),
                   reinterpret_cast<std::byte*>(timed_results<std::uint64_t>().data()),
                   timed_elements, 0, {timed[i].format, {.rounding = timed[i].rounding}}, counts);
}
template <std::floating_point T, Kernels::Decode<T> Kernels::*entry>
void time_decode(const Kernels& kernels, std::size_t i) {
  static const std::vector<std::byte> codes = [] {
    std::vector<std::byte> out(timed_elements * 2);
    EventCounts counts;
    quantize_to_codes(timed_numbers<float>().data(), out.data(), timed_elements, 0,
                      {.format = binary16}, counts);
    return out;
  }();
  (kernels.*entry)(codes.data(), timed_results<T>().data(), timed_elements, timed[i].format);
}
void time_random_words(const Kernels& kernels, std::size_t) {
  kernels.random_words(1, 2, 0, timed_elements, timed_results<std::uint32_t>().data());
}
void time_unscale(const Kernels& kernels, std::size_t i) {
  kernels.unscale_f32(timed_numbers<float>().data(), timed_results<float>().data(), timed_elements,
                      i == 0 ? binary32 : binary16, 0x1p-16F);
}

std::vector<Work> format_works(void (*run)(const Kernels&, std::size_t),
                               std::size_t n = std::size(timed)) {
  std::vector<Work> out;
  for (std::size_t i = 0; i < n; ++i) out.push_back({timed[i].name, timed_elements, run, i});
  return out;
}

template <std::floating_point T, Kernels::Quantize<T> Kernels::*entry>
Entry quantize_entry(std::string_view name) {
  return entry_of<entry, &quantize_with_faults<T, entry>>(name, &judge_quantize<T, entry>,
                                                          format_works(&time_quantize<T, entry>));
}
template <std::floating_point T, Kernels::Encode<T> Kernels::*entry>
Entry encode_entry(std::string_view name) {
  return entry_of<entry, &encode_with_faults<T, entry>>(name, &judge_encode<T, entry>,
                                                        format_works(&time_encode<T, entry>));
}
template <std::floating_point T, Kernels::Decode<T> Kernels::*entry>
Entry decode_entry(std::string_view name) {
  return entry_of<entry, &decode_with_faults<T, entry>>(name, &judge_decode<T, entry>,
                                                        format_works(&time_decode<T, entry>, 3));
}

}  // namespace

std::vector<Entry> array_entries() {
  using K = Kernels;
  return {
      quantize_entry<float, &K::quantize_f32>("quantize_f32"),
      quantize_entry<double, &K::quantize_f64>("quantize_f64"),
      encode_entry<float, &K::encode_f32>("encode_f32"),
      encode_entry<double, &K::encode_f64>("encode_f64"),
      decode_entry<float, &K::decode_f32>("decode_f32"),
      decode_entry<double, &K::decode_f64>("decode_f64"),
      entry_of<&K::random_words, &random_words_with_faults>(
          "random_words", &judge_random_words, {{"Philox", timed_elements, &time_random_words, 0}}),
      entry_of<&K::unscale_f32, &unscale_with_faults>(
          "unscale_f32", &judge_unscale,
          {{"binary32", timed_elements, &time_unscale, 0},
           {"binary16", timed_elements, &time_unscale, 1}}),
  };
}

}  // namespace binade::kernel_test
