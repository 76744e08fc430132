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
  std::uint64_t values = 0, different = 0;  ///< `different`: blocks of a way
  EventCounts counts;
};

/// What one way of many makes of the patterns of a chunk: floats, or encodings.
struct Results {
  std::string_view way;
  bool encoded = false;
  std::size_t width = 0;  ///< bytes of an element
  std::vector<std::byte> bytes;
  EventCounts counts = {};

  Results(std::string_view name, std::size_t n) : Results(name, false, n, sizeof(float)) {}
  Results(std::string_view name, std::size_t n, const Format& f)
      : Results(name, true, n, code_bytes(f)) {}
  float* floats() { return reinterpret_cast<float*>(bytes.data()); }

 private:
  Results(std::string_view name, bool is_encoded, std::size_t n, std::size_t wide)
      : way(name), encoded(is_encoded), width(wide), bytes(n * wide) {}
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

/// By the definition: values, and encodings.
std::array<Results, 2> by_definition(const std::vector<float>& in, std::uint64_t first,
                                     const Quantizer& to) {
  std::array<Results, 2> out{Results("", in.size()), Results("", in.size(), to.format)};
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::uint64_t code = quantize_one(in[i], first + i, to, out[0].counts);
    out[0].floats()[i] = value_of<float>(code, to.format);
    std::memcpy(out[1].bytes.data() + i * out[1].width, &code, out[1].width);
  }
  out[1].counts = out[0].counts;
  return out;
}

/// By the function for single floats; by each level's kernels of either kind.
std::vector<Results> by_twins(const std::vector<float>& in, std::uint64_t first,
                              const Quantizer& to) {
  const std::size_t n = in.size();
  const fast::QuantizePlan plan = fast::quantize_plan(to);
  std::vector<Results> out{Results("one by one", n)};
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t random = plan.stochastic ? random_word(to.seed, to.stream, first + i) : 0;
    const auto bits = static_cast<std::uint32_t>(bits_of(in[i]));
    const fast::Quantized result = fast::quantized(bits, random, plan);
    fast::count_events(bits, result.events, plan, out[0].counts);
    out[0].floats()[i] = std::bit_cast<float>(result.bits);
  }
  for (const auto& [name, level] : levels) {
    if (level == Level::reference || !machine_has(level)) continue;
    if (const auto quantize = own_kernels(level).quantize_f32) {
      Results& x = out.emplace_back(name, n);
      quantize(in.data(), x.floats(), n, first, to, x.counts);
    }
    if (const auto encode = own_kernels(level).encode_f32) {
      Results& x = out.emplace_back(name, n, to.format);
      encode(in.data(), x.bytes.data(), n, first, to, x.counts);
    }
  }
  return out;
}

/// Compares the patterns of chunk k, with the random words at the chunk's beginning in the stream.
void compare(const Quantizer& to, std::uint64_t k, std::uint64_t slice, Total& total) {
  const std::vector<float> in = patterns_of(k, slice);
  const std::array<Results, 2> defined = by_definition(in, k * chunk, to);
  const std::vector<Results> twins = by_twins(in, k * chunk, to);
  const std::scoped_lock lock(total.mutex);
  for (const Results& x : twins) {
    const Results& want = defined[x.encoded ? 1 : 0];
    const bool same = std::memcmp(x.bytes.data(), want.bytes.data(), x.bytes.size()) == 0;
    if ((same && x.counts == want.counts) || total.different++ > 0) continue;
    const auto byte = std::ranges::mismatch(x.bytes, want.bytes).in1 - x.bytes.begin();
    const std::size_t at = static_cast<std::size_t>(byte) / x.width;
    const std::string what = std::string(x.way) + (x.encoded ? ", encoded" : "");
    if (same) {
      std::printf("  %s: counts of block %llu\n", what.c_str(), static_cast<unsigned long long>(k));
    } else {
      std::printf("  %s: 0x%08X\n", what.c_str(), static_cast<unsigned>(bits_of(in[at])));
    }
  }
  total.values += in.size();
  total.counts += defined[0].counts;
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
    std::printf("%-9s %-16s %12llu values, %llu blocks different\n", format_name(to.format).data(),
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
