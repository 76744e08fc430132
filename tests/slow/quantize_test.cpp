// SPDX-License-Identifier: Apache-2.0
//
// All 2^32 floats through the quick way and through the definition, bits and counts, into binary16,
// bfloat16 and e4m3 in the seven roundings. `--slice N`: every N-th pattern, at another offset in each
// block of 2^16; `--threads N`.
#include "emulate/fast/quantize.h"

#include <atomic>
#include <cstdio>
#include <mutex>

#include "tests/outside/patterns.h"

namespace {

using namespace binade;

constexpr std::uint64_t chunk = std::uint64_t{1} << 16;
constexpr std::uint64_t chunks = (std::uint64_t{1} << 32) / chunk;

struct Total {
  std::mutex mutex;
  std::uint64_t values = 0, different = 0;
  EventCounts counts;
};

/// Chunk k; its elements stand at their patterns' places in the stream of random words.
void compare(const Quantizer& to, std::uint64_t k, std::uint64_t slice, Total& total) {
  const fast::QuantizePlan quick = fast::quantize_plan(to);
  EventCounts want_counts;
  EventCounts got_counts;
  std::uint64_t different = 0;
  std::uint64_t last = 0;
  for (std::uint64_t x = k * chunk + k % slice; x < (k + 1) * chunk; x += slice) {
    const auto bits = static_cast<std::uint32_t>(x);
    const auto value = std::bit_cast<float>(bits);
    const float want = value_of<float>(quantize_one(value, x, to, want_counts), to.format);
    const std::uint32_t random = quick.stochastic ? random_word(to.seed, to.stream, x) : 0;
    const fast::Quantized result = fast::quantized(bits, random, quick);
    const auto got = std::bit_cast<float>(result.bits);
    fast::count_events(bits, result.events, quick, got_counts);
    if (bits_of(want) == bits_of(got)) continue;
    different += 1;
    last = x;
  }
  const std::scoped_lock lock(total.mutex);
  if (different > 0 && total.different == 0) {
    std::printf("  0x%08llX differs\n", static_cast<unsigned long long>(last));
  }
  total.values += want_counts.values;
  total.counts += want_counts;
  total.different += different + (want_counts == got_counts ? 0 : 1);
}

/// All attributes take part, if not in all combinations.
Attributes attributes_of(std::size_t row, Rounding rounding) {
  const std::size_t i = row + static_cast<std::size_t>(rounding);
  return {.rounding = rounding,
          .saturation = i % 2 == 0 ? Saturation::none : Saturation::finite,
          .flush_results = i % 3 == 0,
          .flush_operands = i % 3 == 1,
          .tininess = i % 4 == 3 ? Tininess::before_rounding : Tininess::after_rounding,
          .nan = static_cast<NanResult>(i % 3),
          .random_bits = static_cast<int>(32 - 5 * row)};
}

}  // namespace

int main(int argc, char** argv) {
  const outside::Options options = outside::options_of(argc, argv);
  const std::array tried{binary16, bfloat16, e4m3};
  std::uint64_t different = 0;
  EventCounts counts;
  bool all = true;
  for (std::size_t row = 0; row < tried.size(); ++row) {
    for (const NamedRounding& rounding : roundings) {
      const Quantizer to{tried[row], attributes_of(row, rounding.rounding), 1, row};
      Total total;
      outside::in_parallel(options.threads, chunks,
                           [&](std::uint64_t k) { compare(to, k, options.slice, total); });
      std::printf("%-9s %-16s %12llu values, %llu different\n", name_of(tried[row]).data(),
                  rounding.name.data(), static_cast<unsigned long long>(total.values),
                  static_cast<unsigned long long>(total.different));
      std::fflush(stdout);
      different += total.different;
      counts += total.counts;
      all = all && total.values >= (std::uint64_t{1} << 32) / options.slice;
    }
  }
  const bool happened = counts.nan_in > 0 && counts.to_zero > 0 && counts.subnormal > 0 &&
                        counts.saturated > 0 && counts.inexact > 0 &&
                        counts.overflow > counts.saturated;
  return all && happened && different == 0 ? 0 : 1;
}
