// SPDX-License-Identifier: Apache-2.0
//
// Chooses the fastest method for a pass by measuring them all.
#include "tests/bench/limits.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "lib/parallel/parallel.h"
#include "tests/bench/clock.h"
#include "tests/bench/traffic_pass.h"

namespace binade::bench {
namespace {

/// A vector unit that every processor has: the interface of emulate/fast/avx2.h with one word as a
/// vector.
struct Words {
  using I = std::uint64_t;
  static constexpr std::size_t bytes = sizeof(I);
  static I zero() { return 0; }
  static I load(const void* from) {
    I x;
    std::memcpy(&x, from, bytes);
    return x;
  }
  static void store(void* to, I x) { std::memcpy(to, &x, bytes); }
  static void stream(void* to, I x) { store(to, x); }
  static void streamed() {}
  static void prefetch(const void* from) { __builtin_prefetch(from); }
  static I bit_xor(I a, I b) { return a ^ b; }
};

void copy(const std::byte* const* in, std::byte* out, std::size_t n) {
  std::memcpy(out, in[0], n * sizeof(float));
}
void fill(const std::byte* const*, std::byte* out, std::size_t n) {
  std::memset(out, 0, n * sizeof(float));
}

std::vector<Pass> ways_of(const Traffic& traffic) {
  std::vector<Pass> out{pass_of<Words>(traffic, {})};
  if (traffic == Traffic{1, 4, 4}) out.push_back(&copy);
  if (traffic == Traffic{0, 0, 4}) out.push_back(&fill);
#ifdef __x86_64__
  for (const bool streamed : {false, true}) {
    for (const bool prefetched : {false, true}) {
      const Way way{streamed && traffic.written > 0, prefetched && traffic.read > 0};
      if (machine_has(Level::avx2)) out.push_back(avx2_pass(traffic, way));
      if (machine_has(Level::avx512)) out.push_back(avx512_pass(traffic, way));
    }
  }
#endif
  return out;
}

double usual_seconds(Pass pass, const Arrays& arrays, std::size_t n) {
  std::array<double, 9> seconds;
  for (double& of : seconds) {
    const double begin = thread_seconds();
    for (std::size_t i = passes_at_once(n); i > 0; --i) pass(arrays.in.data(), arrays.out, n);
    of = thread_seconds() - begin;
  }
  std::ranges::nth_element(seconds, seconds.begin() + seconds.size() / 4);
  return seconds[seconds.size() / 4];
}

}  // namespace

Pass fastest_pass(const Traffic& traffic, const Arrays& arrays, std::size_t n) {
  static std::map<std::pair<Traffic, std::size_t>, Pass> known;
  const auto [row, is_unknown] = known.try_emplace({traffic, n});
  if (is_unknown) {
    double best = 1e9;
    for (const Pass pass : ways_of(traffic)) {
      const double seconds = usual_seconds(pass, arrays, n);
      if (seconds < best) row->second = pass;
      best = std::min(best, seconds);
    }
  }
  return row->second;
}

std::function<void()> limit_pass(const Limit& limit, const Arrays& arrays, std::size_t n) {
  if (limit.is_memcpy) {
    return [arrays, n] { copy(arrays.in.data(), arrays.out, n); };
  }
  n /= limit.elements;
  const Pass pass = fastest_pass(limit.traffic, arrays, n);
  return [arrays, n, pass] { pass(arrays.in.data(), arrays.out, n); };
}

}  // namespace binade::bench
