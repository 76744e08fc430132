// SPDX-License-Identifier: Apache-2.0
//
// The correctly rounded functions beside the C library's, on the same arguments in the same
// process. A row has ns/call, and of_std_x, that time as a multiple of the library's (whose errors
// are up to an ulp). The clock is this thread's processor time.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "emulate/functions.h"
#include "tests/bench/clock.h"
#include "tests/bench/registered.h"

namespace binade::bench {
namespace {

using Function = float (*)(float);

/// Returns 4096 arguments between `low` and `high`, in no order.
std::vector<float> arguments(float low, float high) {
  std::vector<float> out;
  for (std::uint32_t i = 0; i < 4096; ++i) {
    const std::uint32_t word = i * 2654435761U;  // Knuth's multiplicative hash
    out.push_back(low + (high - low) * (static_cast<float>(word >> 8) + 0.5F) * 0x1p-24F);
  }
  return out;
}

/// The function is known at compile time, as where it is used.
template <Function function>
void pass(const std::vector<float>& in) {
  float sum = 0;
  for (const float x : in) sum += function(x);
  benchmark::DoNotOptimize(sum);
}

template <Function function>
double seconds_of_pass(const std::vector<float>& in) {
  double best = 1;
  for (int i = 0; i < 50; ++i) {
    const double start = thread_seconds();
    pass<function>(in);
    best = std::min(best, thread_seconds() - start);
  }
  return best;
}

template <Function ours, Function theirs>
void add(const char* name, float low, float high) {
  const auto row = [low, high](benchmark::State& state) {
    const std::vector<float> in = arguments(low, high);
    const double library = seconds_of_pass<theirs>(in);
    const double start = thread_seconds();
    for (auto _ : state) pass<ours>(in);
    const double elapsed = (thread_seconds() - start) / static_cast<double>(state.iterations());
    state.counters["ns/call"] = 1e9 * elapsed / static_cast<double>(in.size());
    state.counters["of_std_x"] = elapsed / library;
  };
  add_benchmark("functions/" + std::string(name), benchmark::kMicrosecond, row);
}

float library_exp(float x) { return std::exp(x); }
float library_log(float x) { return std::log(x); }
float library_tanh(float x) { return std::tanh(x); }
float library_erf(float x) { return std::erf(x); }
float library_rsqrt(float x) { return 1 / std::sqrt(x); }

}  // namespace

void add_functions() {
  add<rounded_exp, library_exp>("exp", -16, 4);  // arguments of a softmax
  add<rounded_log, library_log>("log", 0, 16);
  add<rounded_tanh, library_tanh>("tanh", -4, 4);
  add<rounded_erf, library_erf>("erf", -4, 4);  // arguments of GELU
  add<rounded_rsqrt, library_rsqrt>("rsqrt", 0, 16);
}

}  // namespace binade::bench
