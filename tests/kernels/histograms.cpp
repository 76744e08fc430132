// SPDX-License-Identifier: Apache-2.0
//
// The judge of histograms of encodings: every count against the definition's.
#include <cmath>
#include <memory>

#include "tests/kernels/judge.h"

namespace binade::kernel_test {
namespace {

template <int bits>
using Code = typename EncodingCounts<bits>::Code;

/// How an array of encodings may be distributed.
template <int bits>
struct CodeKind {
  const char* name;
  Code<bits> (*code)(std::size_t i, Random& random);
};

template <int bits>
constexpr std::array<CodeKind<bits>, 7> code_kinds{{
    {"random bits", [](std::size_t, Random& r) { return static_cast<Code<bits>>(r()); }},
    {"zeros", [](std::size_t, Random&) { return Code<bits>{0}; }},
    {"the last code",
     [](std::size_t, Random&) { return static_cast<Code<bits>>(EncodingCounts<bits>::codes - 1); }},
    {"sorted", [](std::size_t i, Random&) { return static_cast<Code<bits>>(i / 11); }},
    {"two in turn", [](std::size_t i, Random&) { return static_cast<Code<bits>>(i % 2 * 0x7F); }},
    {"mostly zeros",
     [](std::size_t, Random& r) { return static_cast<Code<bits>>(r() % 20 == 0 ? r() : 0); }},
    {"runs of eight less or more",
     [](std::size_t i, Random&) { return static_cast<Code<bits>>(i / (7 + i / 64 % 3) * 201); }},
}};

/// Between words that nobody may touch.
template <int bits>
struct WalledCounts {
  std::array<std::uint64_t, 8> before{};
  EncodingCounts<bits> counts;
  std::array<std::uint64_t, 8> after{};
};

template <int bits, Kernels::Histogram<bits> Kernels::*entry>
Verdict judge_histogram(const Kernels& kernels) {
  Verdict verdict;
  Random random(11);
  const auto got = std::make_unique<WalledCounts<bits>>();
  const auto want = std::make_unique<EncodingCounts<bits>>();
  std::vector<std::size_t> sizes(lengths.begin(), lengths.end());
  sizes.insert(sizes.end(), {6, 8, 9, 16, 17, 63, 65, 70'001});
  std::size_t number = 0;
  for (const std::size_t n : sizes) {
    for (const CodeKind<bits>& kind : code_kinds<bits>) {
      std::vector<Code<bits>> codes(n);
      for (std::size_t i = 0; i < n; ++i) codes[i] = kind.code(i, random);
      const std::size_t offset = ++number % 9;
      verdict.begin(kind.name, std::to_string(n) + " codes, " + std::to_string(offset) +
                                   " bytes after an aligned place");
      Walled<std::byte> from(std::as_bytes(std::span(codes)), offset);
      *got = {};
      *want = {};
      // As many as there may be, for some codes: none wraps.
      const auto most = static_cast<std::uint32_t>(EncodingCounts<bits>::capacity - 2 * n);
      const std::size_t full = n == 0 ? 0 : codes[n / 2];
      if (number % 2 == 0) got->counts.counts[0][full] = want->counts[0][full] = most;
      for (int twice = 0; twice < 2; ++twice) {
        binade::histogram<bits>(std::as_bytes(std::span(codes)).data(), n, *want);
        (kernels.*entry)(from.data(), n, got->counts);
      }
      std::vector<std::uint32_t> of_got, of_want;
      for (std::size_t code = 0; code < EncodingCounts<bits>::codes; ++code) {
        of_got.push_back(got->counts.of(code));
        of_want.push_back(want->of(code));
      }
      verdict.compare<std::uint32_t>(of_got, of_want);
      const std::array<std::uint64_t, 8> untouched{};
      verdict.require(got->before == untouched && got->after == untouched && from.is_whole(),
                      "wrote beside the counts");
    }
  }
  return verdict;
}

template <int bits, Kernels::Histogram<bits> Kernels::*entry>
void histogram_with_faults(const std::byte* in, std::size_t n, EncodingCounts<bits>& counts) {
  behind<entry>(in, n, counts);
  const Fault* fault = n == 0 ? nullptr : fault_of_call();
  if (fault == nullptr) return;
  auto& table = fault->in_counts ? counts.counts.back() : counts.counts.front();
  turn_bit(table.data(), table.size(), *fault);
}

/// Codes as they may come: of gradients, and where additions wait for each other or miss the
/// caches.
enum class TimedCodes : std::uint8_t { gradients, zeros, mostly_zeros, sorted, random_bits };

template <int bits, Kernels::Histogram<bits> Kernels::*entry>
void time_histogram(const Kernels& kernels, std::size_t variant) {
  static const auto arrays = [] {
    std::array<std::vector<Code<bits>>, 5> out;
    Random random(12);
    std::normal_distribution<float> normal;
    const auto kind = [](TimedCodes k) { return static_cast<std::size_t>(k); };
    for (auto& array : out) array.resize(timed_values);
    for (std::size_t i = 0; i < timed_values; ++i) {
      // The leading bits of binary32: bfloat16's, and of 8 bits those of a format e5m2 with another
      // bias.
      const float x = normal(random) * std::exp2(normal(random));
      const std::uint32_t word = std::bit_cast<std::uint32_t>(x);
      const std::uint32_t magnitude = std::max(word << 1 >> 1, 0x38000000U) - 0x38000000U;
      out[kind(TimedCodes::gradients)][i] = static_cast<Code<bits>>(
          bits == 16 ? word >> 16 : (word >> 31 << 7) | std::min(magnitude >> 21, 0x7BU));
      out[kind(TimedCodes::random_bits)][i] = static_cast<Code<bits>>(random());
      out[kind(TimedCodes::mostly_zeros)][i] =
          random() % 10 == 0 ? out[kind(TimedCodes::gradients)][i] : Code<bits>{0};
    }
    out[kind(TimedCodes::sorted)] = out[kind(TimedCodes::gradients)];
    std::ranges::sort(out[kind(TimedCodes::sorted)]);
    return out;
  }();
  static const auto counts = std::make_unique<EncodingCounts<bits>>();
  const auto bytes = std::as_bytes(std::span(arrays[variant]));
  (kernels.*entry)(bytes.data(), timed_values, *counts);
}

template <auto entry, int bits>
Entry histogram_entry(std::string_view name) {
  std::vector<Work> works;
  for (const char* what : {"gradients", "zeros", "mostly zeros", "sorted", "random bits"}) {
    works.push_back({what, timed_values, &time_histogram<bits, entry>, works.size()});
  }
  return {
      name,
      &has_entry<entry>,
      &same_entry<entry>,
      &judge_histogram<bits, entry>,
      &with_faults<entry, &histogram_with_faults<bits, entry>>,
      std::move(works),
      "a load, an addition and a store a code, which are the definition's too where no two wait"};
}

}  // namespace

std::vector<Entry> histogram_entries() {
  return {histogram_entry<&Kernels::histogram_8, 8>("histogram_8"),
          histogram_entry<&Kernels::histogram_16, 16>("histogram_16")};
}

}  // namespace binade::kernel_test
