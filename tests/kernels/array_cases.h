// SPDX-License-Identifier: Apache-2.0
//
// What the judges of kernels on arrays share: cases of every format in every rounding, with a
// quantizer's other attributes in turn, at odd lengths and places in memory; the inputs that are
// timed; and the row of one entry.
#pragma once

#include <string>
#include <vector>

#include "tests/kernels/judge.h"

namespace binade::kernel_test {

/// Returns the i-th case of a format and rounding: saturation, flushing, tininess, NaNs, random
/// bits, stream and the operands' format take turns.
inline Quantizer quantizer_of(const Format& f, Rounding rounding, std::uint64_t i) {
  constexpr std::array<int, 4> random_bits{32, 1, 7, 31};
  constexpr std::array operands{Format{}, binary16, Format{}, binary32, e4m3, e8m0, Format{}};
  return {f,
          {.rounding = rounding,
           .saturation = i % 2 == 0 ? Saturation::none : Saturation::finite,
           .flush_results = i % 5 == 3,
           .flush_operands = i % 3 == 2,
           .tininess = i % 4 == 3 ? Tininess::before_rounding : Tininess::after_rounding,
           .nan = static_cast<NanResult>(i % 3),
           .random_bits = random_bits[i % 4]},
          i * 0x9E3779B97F4A7C15,
          starts[i / 3 % starts.size()] + i % 4,
          operands[i / 3 % operands.size()]};
}

/// Begins a case in the verdict, described in words. Its kind is the format and the rounding.
inline void begin(Verdict& verdict, const std::string& what, const Quantizer& to, std::size_t n,
                  std::uint64_t first) {
  verdict.begin(
      what + words_of(to.format) + ", " + std::string(rounding_name(to.attributes.rounding)),
      words_of(to.attributes) + ", n " + std::to_string(n) + ", first " + std::to_string(first));
}

/// Calls f(quantizer, number of the case, length, first element) for each format and rounding, as
/// many times as there are `lengths`; lengths and first elements take turns.
template <class F>
void for_each_case(const F& f) {
  std::uint64_t number = 0;
  for (const Format& format : tried_formats()) {
    for (const NamedRounding& row : roundings) {
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        ++number;
        f(quantizer_of(format, row.rounding, number), number,
          lengths[(i + number) % lengths.size()], starts[number * 5 % starts.size()]);
      }
    }
  }
}

inline void compare_counts(Verdict& verdict, const EventCounts& got, const EventCounts& want) {
  const auto words = [](const EventCounts& x) {
    return std::bit_cast<std::array<std::uint64_t, sizeof(EventCounts) / 8>>(x);
  };
  verdict.compare<std::uint64_t>(words(got), words(want));
}

/// Returns With::specials (NaNs and infinities) for every fourth case.
inline With with_of(std::uint64_t number) {
  return number % 4 == 0 ? With::specials : With::numbers;
}

inline constexpr std::size_t timed_elements = 16384;

/// Numbers to time kernels with: both signs, log-uniform from 2^-28 to 2^5, where binary16 begins
/// to lose small ones.
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

template <auto entry, auto with>
Entry entry_of(std::string_view name, Verdict (*judge)(const Kernels&), std::vector<Work> works,
               std::string_view bound = "") {
  return {name,  &has_entry<entry>,         &same_entry<entry>,
          judge, &with_faults<entry, with>, std::move(works),
          bound};
}

}  // namespace binade::kernel_test
