// SPDX-License-Identifier: Apache-2.0
//
// All 2^32 floats by the definition, emulate/quantize.h, and by its fast twins, bits and counts,
// into five formats in all roundings: by the function for single floats, and by the kernels of
// every level that the machine has, whose results are values and encodings. `--slice N` tests
// every N-th pattern, at another offset in each block of 2^16, and patterns around possible ties;
// `--threads N`.
#include "emulate/fast/quantize.h"

#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "lib/parallel/parallel.h"
#include "tests/outside/patterns.h"

namespace {

using namespace binade;

constexpr std::uint64_t chunk = std::uint64_t{1} << 16;
constexpr std::uint64_t chunks = (std::uint64_t{1} << 32) / chunk;

constexpr std::array formats_of_rows{binary16, e4m3, bfloat16, e5m2, tf32};
constexpr std::array random_bits{32, 24, 16, 9, 1};  ///< of stochastic rounding, for each format

/// Returns the rounding of a row and what else a quantizer has. All attributes come up, but not in
/// all combinations; where results are flushed, kernels do without tiles.
Quantizer quantizer_of(std::size_t row) {
  const std::size_t format = row / roundings.size();
  return {.format = formats_of_rows[format],
          .attributes = {.rounding = roundings[row % roundings.size()].rounding,
                         .saturation = row % 2 == 0 ? Saturation::none : Saturation::finite,
                         .flush_results = row % 5 == 0,
                         .flush_operands = row % 4 >= 2,
                         .tininess =
                             row % 10 == 5 ? Tininess::before_rounding : Tininess::after_rounding,
                         .nan = static_cast<NanResult>(row % 3),
                         .random_bits = random_bits[format]},
          .seed = 1,
          .stream = row};
}

struct Total {
  std::mutex mutex;
  std::uint64_t values = 0, different = 0;
  EventCounts counts;
};

/// What one way of many makes of the patterns of a chunk.
struct Results {
  std::string way;
  std::vector<float> values;  ///< empty: it gives encodings
  std::vector<std::byte> codes;
  EventCounts counts = {};
};

std::vector<float> patterns_of(std::uint64_t k, std::uint64_t slice) {
  std::vector<float> out;
  const auto add = [&](std::uint64_t x) {
    out.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(x)));
  };
  const std::uint64_t first = k * chunk;
  for (std::uint64_t x = first + k % slice; x < first + chunk; x += slice) add(x);
  // An odd multiple of 2^12 lies halfway between numbers of 11 bits, others where fewer are left.
  for (std::uint64_t i = k % 4; slice > 1 && i < 16; i += 4) {
    for (const std::uint64_t beside : {0U, 1U, 4095U}) add(first + (i << 12) + beside);
  }
  return out;
}

/// By the function for single floats and by each level's kernels.
std::vector<Results> by_twins(const std::vector<float>& in, std::uint64_t first,
                              const Quantizer& to) {
  const std::size_t n = in.size();
  const fast::QuantizePlan plan = fast::quantize_plan(to);
  std::vector<Results> out{{"one by one", std::vector<float>(n), {}}};
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t random = plan.stochastic ? random_word(to.seed, to.stream, first + i) : 0;
    const auto bits = static_cast<std::uint32_t>(bits_of(in[i]));
    const fast::Quantized result = fast::quantized(bits, random, plan);
    fast::count_events(bits, result.events, plan, out[0].counts);
    out[0].values[i] = std::bit_cast<float>(result.bits);
  }
  for (const auto& [name, level] : levels) {
    if (level == Level::reference || !machine_has(level)) continue;
    if (const auto quantize = own_kernels(level).quantize_f32) {
      Results& x = out.emplace_back(Results{std::string(name), std::vector<float>(n), {}});
      quantize(in.data(), x.values.data(), n, first, to, x.counts);
    }
    if (const auto encode = own_kernels(level).encode_f32) {
      Results& x = out.emplace_back(
          Results{std::string(name), {}, std::vector<std::byte>(n * code_bytes(to.format))});
      encode(in.data(), x.codes.data(), n, first, to, x.counts);
    }
  }
  return out;
}

/// Compares the patterns of chunk k, with the random words at the chunk's beginning in the stream.
void compare(const Quantizer& to, std::uint64_t k, std::uint64_t slice, Total& total) {
  const std::vector<float> in = patterns_of(k, slice);
  const std::size_t n = in.size(), bytes = code_bytes(to.format);
  std::vector<float> want(n);
  std::vector<std::byte> want_codes(n * bytes);
  EventCounts want_counts;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t code = quantize_one(in[i], k * chunk + i, to, want_counts);
    std::memcpy(want_codes.data() + i * bytes, &code, bytes);
    want[i] = value_of<float>(code, to.format);
  }
  std::string words;
  std::uint64_t different = 0;
  for (const Results& x : by_twins(in, k * chunk, to)) {
    for (std::size_t i = 0; i < n; ++i) {
      const bool same = x.values.empty()
                            ? std::memcmp(&x.codes[i * bytes], &want_codes[i * bytes], bytes) == 0
                            : bits_of(x.values[i]) == bits_of(want[i]);
      if (!same && different++ == 0) {
        std::array<char, 32> pattern{};
        std::snprintf(pattern.data(), pattern.size(), ": 0x%08X",
                      static_cast<unsigned>(bits_of(in[i])));
        words = x.way + pattern.data();
      }
    }
    if (!(x.counts == want_counts) && different++ == 0) words = x.way + ": counts";
  }
  const std::scoped_lock lock(total.mutex);
  if (different > 0 && total.different == 0) std::printf("  differs %s\n", words.c_str());
  total.values += n;
  total.counts += want_counts;
  total.different += different;
}

}  // namespace

int main(int argc, char** argv) {
  const outside::Options options = outside::options_of(argc, argv);
  std::uint64_t different = 0;
  EventCounts counts;
  bool all = true;
  for (std::size_t row = 0; row < formats_of_rows.size() * roundings.size(); ++row) {
    const Quantizer to = quantizer_of(row);
    Total total;
    outside::in_parallel(options.threads, chunks,
                         [&](std::uint64_t k) { compare(to, k, options.slice, total); });
    std::printf("%-9s %-16s %12llu values, %llu different\n", format_name(to.format).data(),
                rounding_name(to.attributes.rounding).data(),
                static_cast<unsigned long long>(total.values),
                static_cast<unsigned long long>(total.different));
    std::fflush(stdout);
    different += total.different;
    counts += total.counts;
    all = all && total.values >= (std::uint64_t{1} << 32) / options.slice;
  }
  const bool happened = counts.nan_in > 0 && counts.to_zero > 0 && counts.subnormal > 0 &&
                        counts.saturated > 0 && counts.inexact > 0 &&
                        counts.overflow > counts.saturated;
  return all && happened && different == 0 ? 0 : 1;
}
