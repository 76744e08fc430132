// SPDX-License-Identifier: Apache-2.0
//
// Judges of the kernels on arrays: every format in every rounding, and what else a quantizer says in turn, at odd
// lengths and places; bytes and counts.
#include <memory>

#include "tests/kernels/judge.h"

namespace binade::kernel_test {
namespace {

/// The i-th case of a format and rounding: saturation, flushing, tininess, NaNs in turn.
Quantizer quantizer_of(const Format& f, Rounding rounding, std::uint64_t i) {
  constexpr std::array<int, 4> random_bits{32, 1, 7, 31};
  return {f,
          {.rounding = rounding,
           .saturation = i % 2 == 0 ? Saturation::none : Saturation::finite,
           .flush_results = i % 5 == 3,
           .flush_operands = i % 3 == 2,
           .tininess = i % 4 == 3 ? Tininess::before_rounding : Tininess::after_rounding,
           .nan = static_cast<NanResult>(i % 3),
           .random_bits = random_bits[i % 4]},
          i * 0x9E3779B97F4A7C15,
          i};
}

/// f(format, rounding, number of the case, length, first element, place in memory) for each format and rounding once,
/// and all lengths.
template <class F>
void for_each_case(const F& f) {
  std::uint64_t number = 0;
  for (const Format& format : tried_formats()) {
    for (const NamedRounding& row : roundings) {
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        ++number;
        const std::uint64_t first = number % 7 == 0 ? (std::uint64_t{1} << 34) - 77 : number % 9;
        f(quantizer_of(format, row.rounding, number), number,
          lengths[(i + number) % lengths.size()], first);
      }
    }
  }
}

void compare_counts(Verdict& verdict, const std::string& what, EventCounts got,
                    const EventCounts& want) {
  verdict.compare<EventCounts>(what + ", counts", std::span(&got, 1), std::span(&want, 1));
}

template <std::floating_point T, Kernels::Quantize<T> Kernels::*entry>
Verdict judge_quantize(const Kernels& kernels, const Fault& fault) {
  Verdict verdict(fault);
  for_each_case([&](const Quantizer& to, std::uint64_t number, std::size_t n, std::uint64_t first) {
    if (!fits_in(to.format, Carrier<T>::format)) return;
    const std::vector<T> in = hard_numbers<T>(to.format, n, number);
    const std::string what = words_of(to) + ", n " + std::to_string(n);
    std::vector<T> want(n);
    EventCounts want_counts, counts;
    quantize(in.data(), want.data(), n, first, to, want_counts);
    const bool in_place = number % 3 == 0;
    Walled<T> from(in, number % 4), out(n, number / 4 % 4);
    T* const result = in_place ? from.data() : out.data();
    (kernels.*entry)(from.data(), result, n, first, to, counts);
    verdict.compare<T>(what, {result, n}, want);
    compare_counts(verdict, what, counts, want_counts);
    verdict.require(from.is_whole() && out.is_whole(), what + ": wrote outside the array");
    if (!in_place && n > 0) {
      verdict.require(std::memcmp(from.data(), in.data(), n * sizeof(T)) == 0,
                      what + ": changed its input");
    }
  });
  return verdict;
}

template <std::floating_point T, Kernels::Encode<T> Kernels::*entry>
Verdict judge_encode(const Kernels& kernels, const Fault& fault) {
  Verdict verdict(fault);
  for_each_case([&](const Quantizer& to, std::uint64_t number, std::size_t n, std::uint64_t first) {
    const std::vector<T> in = hard_numbers<T>(to.format, n, number);
    const std::string what = words_of(to) + ", n " + std::to_string(n);
    const std::size_t bytes = n * code_bytes(to.format);
    std::vector<std::byte> want(bytes);
    EventCounts want_counts, counts;
    quantize_to_codes(in.data(), want.data(), n, first, to, want_counts);
    Walled<T> from(in, number % 4);
    Walled<std::byte> out(bytes, number / 4 % 16);
    (kernels.*entry)(from.data(), out.data(), n, first, to, counts);
    verdict.compare<std::byte>(what, out.span(), want);
    compare_counts(verdict, what, counts, want_counts);
    verdict.require(out.is_whole(), what + ": wrote outside the array");
  });
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
Verdict judge_decode(const Kernels& kernels, const Fault& fault) {
  Verdict verdict(fault);
  std::uint64_t number = 0;
  for (const Format& f : tried_formats()) {
    if (!fits_in(f, Carrier<T>::format)) continue;
    std::vector<std::size_t> all(lengths.begin(), lengths.end());
    if (f.bits() <= 16) all.push_back(std::size_t{1} << f.bits());
    for (const std::size_t n : all) {
      number += n > 1003 ? number % 2 : 1;  // all codes once
      const std::vector<std::byte> in = codes_of(f, n, n > 1003 ? 0 : number);
      const std::string what = words_of({.format = f}) + ", n " + std::to_string(n);
      std::vector<T> want(n);
      values_of_codes(in.data(), want.data(), n, f);
      Walled<std::byte> from(std::span<const std::byte>(in), number % 8);
      Walled<T> out(n, number % 4);
      (kernels.*entry)(from.data(), out.data(), n, f);
      verdict.compare<T>(what, out.span(), want);
      verdict.require(out.is_whole(), what + ": wrote outside the array");
    }
  }
  return verdict;
}

Verdict judge_random_words(const Kernels& kernels, const Fault& fault) {
  Verdict verdict(fault);
  Random random(1);
  for (int i = 0; i < 500; ++i) {
    const std::uint64_t seed = random(), stream = random();
    const std::uint64_t first =
        i % 3 == 0 ? (std::uint64_t{1} << 34) - random() % 99 : random() % 99;
    const std::size_t n = lengths[static_cast<std::size_t>(i) % lengths.size()];
    std::vector<std::uint32_t> want(n);
    for (std::size_t k = 0; k < n; ++k) want[k] = random_word(seed, stream, first + k);
    Walled<std::uint32_t> out(n, static_cast<std::size_t>(i) % 4);
    kernels.random_words(seed, stream, first, n, out.data());
    verdict.compare<std::uint32_t>("n " + std::to_string(n), out.span(), want);
    verdict.require(out.is_whole(), "wrote outside the array");
  }
  return verdict;
}

Verdict judge_unscale(const Kernels& kernels, const Fault& fault) {
  Verdict verdict(fault);
  std::uint64_t number = 0;
  for (const Format& f : tried_formats()) {
    if (!fits_in(f, binary32)) continue;
    for (const float inv_scale : {1.0F, 0x1p-16F, 0.3F, 0.0F, 0x1p-140F, 0x1p100F, -3.0F}) {
      for (const std::size_t n : lengths) {
        ++number;
        std::vector<float> in = hard_numbers<float>(f, n, number);
        EventCounts counts;
        if (f != binary32) quantize(in.data(), in.data(), n, 0, {.format = f}, counts);
        const std::string what = words_of({.format = f}) + ", inv_scale " +
                                 std::to_string(inv_scale) + ", n " + std::to_string(n);
        std::vector<float> want(n);
        const NonFinite found = unscale(in.data(), want.data(), n, f, inv_scale);
        Walled<float> from(in, number % 4), out(n, number / 4 % 4);
        float* const result = number % 3 == 0 ? from.data() : out.data();
        NonFinite got = kernels.unscale_f32(from.data(), result, n, f, inv_scale);
        verdict.compare<float>(what, {result, n}, want);
        verdict.require(got == found, what + ": found_inf, or its place");
        verdict.require(from.is_whole() && out.is_whole(), what + ": wrote outside the array");
      }
    }
  }
  return verdict;
}

template <std::floating_point T, Kernels::OnElements<T> Kernels::*entry>
Verdict judge_elementwise(const Kernels& kernels, const Fault& fault) {
  Verdict verdict(fault);
  for_each_case([&](const Quantizer& to, std::uint64_t number, std::size_t n, std::uint64_t first) {
    if (!fits_in(to.format, Carrier<T>::format)) return;
    const NamedOperation& row = operations[number % operations.size()];
    const bool own = number % 5 != 0;  // operands of another format, now and then
    const Format from = own ? to.format : binary16;
    const Elementwise how{row.operation, {from, from, from}, to.format, to.attributes,
                          to.seed,       to.stream};
    std::array<std::vector<T>, 3> in;
    for (std::size_t k = 0; k < 3; ++k)
      in[k] = hard_numbers<T>(from, n, 4 * number + (number % 4 == 0 ? 0 : k + 1));
    for (std::size_t i = 0; i < n; i += 5) in[2][i] = in[1][i] = -in[0][i];  // exact zeros
    const std::string what =
        std::string(row.name) + " in " + words_of(to) + ", n " + std::to_string(n);
    std::vector<T> want(n);
    EventCounts want_counts, counts;
    elementwise(in[0].data(), in[1].data(), in[2].data(), want.data(), n, first, how, want_counts);
    std::array<Walled<T>, 3> x{Walled<T>(in[0], number % 4), Walled<T>(in[1], number / 2 % 4),
                               Walled<T>(in[2], number / 3 % 4)};
    Walled<T> out(n, number / 4 % 4);
    const bool in_place = number % 3 == 0;
    T* const result = in_place ? x[0].data() : out.data();
    (kernels.*entry)(x[0].data(), row.operands > 1 ? x[1].data() : nullptr,
                     row.operands > 2 ? x[2].data() : nullptr, result, n, first, how, counts);
    verdict.compare<T>(what, {result, n}, want);
    compare_counts(verdict, what, counts, want_counts);
    verdict.require(out.is_whole() && x[0].is_whole(), what + ": wrote outside the array");
  });
  return verdict;
}

constexpr std::size_t timed_elements = 16384;

/// Both signs, log-uniform around where binary16 begins to lose.
template <std::floating_point T>
const std::vector<T>& timed_numbers() {
  static const std::vector<T> numbers = [] {
    Random random(7);
    std::vector<T> out(timed_elements);
    for (T& x : out) {
      const std::uint64_t field = 99 + random() % 33;
      const std::uint64_t bits = random() % 2 << 31 | field << 23 | (random() & 0x7FFFFF);
      x = static_cast<T>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    }
    return out;
  }();
  return numbers;
}
template <class T>
std::vector<T>& timed_results() {
  static std::vector<T> results(timed_elements);
  return results;
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
template <std::floating_point T, Kernels::OnElements<T> Kernels::*entry>
void time_elementwise(const Kernels& kernels, std::size_t i) {
  EventCounts counts;
  const T* x = timed_numbers<T>().data();
  const std::size_t n = timed_elements / 4;
  // Operands on the grid, as a GPU's kernel has them; roots of magnitudes.
  static const std::vector<T> operands = [x] {
    std::vector<T> out(timed_elements);
    EventCounts none;
    quantize(x, out.data(), out.size(), 0, {.format = binary16}, none);
    for (std::size_t k = 0; k < out.size(); ++k)
      out[k] = k < timed_elements / 4 ? std::abs(out[k]) : out[k];
    return out;
  }();
  (kernels.*entry)(operands.data(), operands.data() + n, operands.data() + 2 * n,
                   timed_results<T>().data(), n, 0, {.operation = operations[i].operation}, counts);
}

std::vector<Work> format_works(void (*run)(const Kernels&, std::size_t),
                               std::size_t n = std::size(timed)) {
  std::vector<Work> out;
  for (std::size_t i = 0; i < n; ++i) out.push_back({timed[i].name, timed_elements, run, i});
  return out;
}
std::vector<Work> operation_works(void (*run)(const Kernels&, std::size_t)) {
  std::vector<Work> out;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].operation == Operation::remainder) continue;
    out.push_back({std::string(operations[i].name), timed_elements / 4, run, i});
  }
  return out;
}

template <auto entry>
Entry entry_of(std::string_view name, Verdict (*judge)(const Kernels&, const Fault&),
               std::vector<Work> works, std::string_view bound = "") {
  return {name, &has_entry<entry>, &same_entry<entry>, judge, std::move(works), bound};
}

}  // namespace

std::vector<Entry> array_entries() {
  using K = Kernels;
  return {
      entry_of<&K::quantize_f32>("quantize_f32", &judge_quantize<float, &K::quantize_f32>,
                                 format_works(&time_quantize<float, &K::quantize_f32>)),
      entry_of<&K::quantize_f64>("quantize_f64", &judge_quantize<double, &K::quantize_f64>,
                                 format_works(&time_quantize<double, &K::quantize_f64>)),
      entry_of<&K::encode_f32>("encode_f32", &judge_encode<float, &K::encode_f32>,
                               format_works(&time_encode<float, &K::encode_f32>)),
      entry_of<&K::encode_f64>("encode_f64", &judge_encode<double, &K::encode_f64>,
                               format_works(&time_encode<double, &K::encode_f64>)),
      entry_of<&K::decode_f32>("decode_f32", &judge_decode<float, &K::decode_f32>,
                               format_works(&time_decode<float, &K::decode_f32>, 3)),
      entry_of<&K::decode_f64>("decode_f64", &judge_decode<double, &K::decode_f64>,
                               format_works(&time_decode<double, &K::decode_f64>, 3)),
      entry_of<&K::random_words>("random_words", &judge_random_words,
                                 {{"Philox", timed_elements, &time_random_words, 0}}),
      entry_of<&K::unscale_f32>("unscale_f32", &judge_unscale,
                                {{"binary32", timed_elements, &time_unscale, 0},
                                 {"binary16", timed_elements, &time_unscale, 1}}),
      entry_of<&K::elementwise_f32>("elementwise_f32",
                                    &judge_elementwise<float, &K::elementwise_f32>,
                                    operation_works(&time_elementwise<float, &K::elementwise_f32>)),
      entry_of<&K::elementwise_f64>(
          "elementwise_f64", &judge_elementwise<double, &K::elementwise_f64>,
          operation_works(&time_elementwise<double, &K::elementwise_f64>)),
  };
}

}  // namespace binade::kernel_test
