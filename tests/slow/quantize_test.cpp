// SPDX-License-Identifier: Apache-2.0
//
// All 2^32 floats by the portable kernels and by the definition, bits and counts, into binary16,
// bfloat16 and e4m3 in all roundings. `--slice N` tests every N-th pattern, at another offset
// in each block of 2^16; `--threads N`.
#include "emulate/fast/quantize.h"

#include <cstdio>
#include <cstring>
#include <mutex>
#include <vector>

#include "emulate/fast/encode.h"
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

/// Compares every `slice`-th pattern of chunk k, with the random words at the chunk's beginning in
/// the stream: by the function for single floats, and as arrays, whose results are values and
/// encodings.
void compare(const Quantizer& to, std::uint64_t k, std::uint64_t slice, Total& total) {
  const fast::QuantizePlan plan = fast::quantize_plan(to);
  const std::uint64_t first = k * chunk;
  std::vector<float> in, want;
  std::vector<std::byte> want_codes;
  for (std::uint64_t x = first + k % slice; x < first + chunk; x += slice) {
    in.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(x)));
  }
  const std::size_t n = in.size();
  const std::size_t bytes = code_bytes(to.format);
  want.resize(n);
  want_codes.resize(n * bytes);
  EventCounts want_counts, single_counts, counts, code_counts;
  std::uint64_t different = 0, last = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t code = quantize_one(in[i], first + i, to, want_counts);
    std::memcpy(want_codes.data() + i * bytes, &code, bytes);
    want[i] = value_of<float>(code, to.format);
    const std::uint32_t random = plan.stochastic ? random_word(to.seed, to.stream, first + i) : 0;
    const auto bits = static_cast<std::uint32_t>(bits_of(in[i]));
    const fast::Quantized result = fast::quantized(bits, random, plan);
    fast::count_events(bits, result.events, plan, single_counts);
    if (bits_of(want[i]) == result.bits) continue;
    different += 1;
    last = bits;
  }
  std::vector<float> got(n);
  std::vector<std::byte> codes(n * bytes);
  fast::quantize(in.data(), got.data(), n, first, to, counts);
  fast::quantize_to_codes(in.data(), codes.data(), n, first, to, code_counts);
  for (std::size_t i = 0; i < n; ++i) {
    const bool same_code =
        std::memcmp(codes.data() + i * bytes, want_codes.data() + i * bytes, bytes) == 0;
    if (bits_of(want[i]) == bits_of(got[i]) && same_code) continue;
    different += 1;
    last = bits_of(in[i]);
  }
  for (const EventCounts& x : {single_counts, counts, code_counts}) {
    different += x == want_counts ? 0 : 1;
  }
  const std::scoped_lock lock(total.mutex);
  if (different > 0 && total.different == 0) {
    std::printf("  0x%08llX differs\n", static_cast<unsigned long long>(last));
  }
  total.values += n;
  total.counts += want_counts;
  total.different += different;
}

/// Returns attributes of a row. All attributes come up, but not in all combinations.
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
      std::printf("%-9s %-16s %12llu values, %llu different\n", format_name(tried[row]).data(),
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
