// SPDX-License-Identifier: Apache-2.0
//
// Runs two converters over bit patterns of binary32, all 2^32 or a slice, on all cores, and prints
// where they differ. The tests that compare the emulator with other implementations' conversions
// share it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "emulate/project.h"

namespace binade::outside {

/// The options of the tests: `--slice N` selects every N-th pattern, beginning at another offset in
/// each block; `--threads N`.
struct Options {
  std::uint64_t slice = 1;
  unsigned threads = 1;
};

inline Options options_of(int argc, char** argv) {
  Options out{1, std::max(1U, std::thread::hardware_concurrency())};
  for (int i = 1; i + 1 < argc; i += 2) {
    const unsigned long long n = std::strtoull(argv[i + 1], nullptr, 10);
    if (n == 0) continue;
    if (std::strcmp(argv[i], "--slice") == 0) out.slice = n;
    if (std::strcmp(argv[i], "--threads") == 0) out.threads = static_cast<unsigned>(n);
  }
  return out;
}

/// Calls task(0) … task(count - 1), in any order, on `threads` threads.
template <class Task>
void in_parallel(unsigned threads, std::uint64_t count, const Task& task) {
  std::atomic<std::uint64_t> next{0};
  std::vector<std::thread> pool;
  for (unsigned i = 0; i < threads; ++i) {
    pool.emplace_back([&] {
      for (std::uint64_t k = next++; k < count; k = next++) task(k);
    });
  }
  for (std::thread& thread : pool) thread.join();
}

/// A function that converts `n` binary32 patterns to encodings of the target format.
using Converter = void (*)(const std::uint32_t* patterns, std::uint64_t* bits, std::size_t n);

/// The emulator's conversion, with format and attributes known at compile time.
template <Format format, Attributes attributes>
void emulated(const std::uint32_t* patterns, std::uint64_t* bits, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    bits[i] = convert(patterns[i], binary32, format, attributes).bits;
  }
}

/// A converter that converts one value at a time.
template <auto one>
void each(const std::uint32_t* patterns, std::uint64_t* bits, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) bits[i] = one(std::bit_cast<float>(patterns[i]));
}

struct Pair {
  std::string name;
  Format format;
  Converter ours;
  Converter theirs;
  bool nan_bits = true;  ///< whether NaNs must have equal bits; else any NaN equals any other
};

class Comparison {
 public:
  explicit Comparison(const Options& options) : options_(options) {}

  void run(const Pair& pair) {
    constexpr std::uint64_t chunk = std::uint64_t{1} << 20;
    constexpr std::uint64_t chunks = (std::uint64_t{1} << 32) / chunk;
    std::atomic<std::uint64_t> compared{0};
    std::atomic<std::uint64_t> different{0};
    in_parallel(options_.threads, chunks, [&](std::uint64_t k) {
      const std::uint64_t first = k * chunk + (k * 0x9E3779B97F4A7C15 >> 32) % options_.slice;
      std::array<std::uint32_t, 1024> in{};
      std::array<std::uint64_t, 1024> ours{};
      std::array<std::uint64_t, 1024> theirs{};
      for (std::uint64_t x = first; x < (k + 1) * chunk;) {
        std::size_t n = 0;
        for (; n < in.size() && x < (k + 1) * chunk; x += options_.slice) {
          in[n++] = static_cast<std::uint32_t>(x);
        }
        pair.ours(in.data(), ours.data(), n);
        pair.theirs(in.data(), theirs.data(), n);
        for (std::size_t i = 0; i < n; ++i) {
          if (ours[i] == theirs[i]) continue;
          const bool both_nan = decode(ours[i], pair.format).kind == Kind::nan &&
                                decode(theirs[i], pair.format).kind == Kind::nan;
          if (both_nan && !pair.nan_bits) continue;
          if (different++ < 5) explain(pair, in[i], ours[i], theirs[i]);
        }
        compared += n;
      }
    });
    std::printf("%-44s %12llu values, %llu different\n", pair.name.c_str(),
                static_cast<unsigned long long>(compared),
                static_cast<unsigned long long>(different));
    std::fflush(stdout);
    compared_ += compared;
    different_ += different;
    complete_ = complete_ && compared >= (std::uint64_t{1} << 32) / options_.slice;
  }

  /// Returns the exit status: 0 if all were compared and equal, 1 if some differ or not all were
  /// compared.
  int exit_status() const {
    std::printf("%llu values compared, %llu different\n",
                static_cast<unsigned long long>(compared_),
                static_cast<unsigned long long>(different_));
    return different_ == 0 && complete_ && compared_ > 0 ? 0 : 1;
  }

 private:
  void explain(const Pair& pair, std::uint32_t pattern, std::uint64_t ours, std::uint64_t theirs) {
    const std::scoped_lock lock(printing_);
    std::printf("%s of 0x%08X (%.9g): ours 0x%llX, theirs 0x%llX\n", pair.name.c_str(), pattern,
                static_cast<double>(std::bit_cast<float>(pattern)),
                static_cast<unsigned long long>(ours), static_cast<unsigned long long>(theirs));
  }

  Options options_;
  std::mutex printing_;
  std::uint64_t compared_ = 0;
  std::uint64_t different_ = 0;
  bool complete_ = true;
};

/// Prints the reason why a test cannot run, a missing tool or feature of the machine, as its last
/// line.
inline int skip(const char* reason) {
  std::puts(reason);
  return 77;
}

}  // namespace binade::outside
