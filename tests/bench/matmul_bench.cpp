// SPDX-License-Identifier: Apache-2.0
//
// Tensor Core emulation on one thread beside a plain float matrix product of the same shape, compiled
// with the same flags and measured in the same process: GMAC/s counts multiply-adds, of_float_% is the
// share of the float product's rate. The reference is `dot`, element by element. Whole products run on all
// threads and are counted by the time of all of them: their rate is one core's.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include "emulate/philox.h"
#include "lib/gemm/gemm.h"
#include "lib/gemm/named_gemm.h"
#include "tests/bench/clock.h"

namespace binade::bench {
namespace {

constexpr int size = 128;  // m and n

struct Named {
  const char* name;
  int sm;
  int k;  ///< of the product
};
constexpr Named products[] = {
    {"wmma.m16n16k16.f32.f16.f16.f32", 70, 256}, {"mma.m16n8k16.f32.f16.f16.f32", 80, 256},
    {"mma.m16n8k16.f32.f16.f16.f32", 90, 256},   {"mma.m16n8k16.f16.f16.f16.f16", 90, 256},
    {"mma.m16n8k16.f32.bf16.bf16.f32", 90, 256}, {"mma.m16n8k8.f32.tf32.tf32.f32", 90, 256},
    {"mma.m16n8k32.f32.e4m3.e4m3.f32", 89, 256}, {"wgmma.m64n8k32.f32.e4m3.e4m3", 90, 256},
    {"mma.m16n8k32.f16.e4m3.e4m3.f16", 90, 32},
};

/// Multiply-adds a second of d = a·b in float, b column after column.
double float_rate(int k) {
  const auto width = static_cast<std::size_t>(k);
  std::vector<float> a(size * width, 0.5F);
  std::vector<float> b(size * width, 0.25F);
  std::vector<float> d(static_cast<std::size_t>(size) * size);
  double best = 1e9;
  for (int pass = 0; pass < 7; ++pass) {
    const double start = thread_seconds();
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j < size; ++j) {
        float sum = 0;
        for (std::size_t t = 0; t < width; ++t) sum += a[i * width + t] * b[j * width + t];
        d[i * size + j] = sum;
      }
    }
    benchmark::DoNotOptimize(d.data());
    best = std::min(best, thread_seconds() - start);
  }
  return size * size * k / best;
}

/// Encodings of numbers of both signs between 2^-3 and 2^5, a fixed sequence.
std::vector<std::uint32_t> operands(const Format& f, std::size_t n, std::uint64_t seed) {
  std::vector<std::uint32_t> out;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t word = random_word(seed, 0, i);
    const Exact x{.kind = Kind::finite,
                  .negative = (word & 1) != 0,
                  .exponent = -14 - static_cast<int>(word >> 29),
                  .significand = (word >> 8 & 0xFFFFF) | 0x40000};
    out.push_back(static_cast<std::uint32_t>(project(x, f).bits));
  }
  return out;
}

template <class Pass>
void measure(benchmark::State& state, double macs, double limit, Pass&& pass,
             double (*clock)() = &thread_seconds) {
  const double start = clock();
  for (auto _ : state) {
    pass();
    benchmark::ClobberMemory();
  }
  const double rate = macs * static_cast<double>(state.iterations()) / (clock() - start);
  state.counters["GMAC/s"] = rate / 1e9;
  state.counters["of_float_%"] = 100 * rate / limit;
}

/// A product of the row's instructions in a chain, c first.
GemmOperands product_of(const GemmModel& g, const Named& row) {
  const auto k = static_cast<std::size_t>(row.k);
  GemmOperands out{size, size, k, {}, {}, {}, {}};
  for (const std::uint32_t code : operands(g.types.a, size * k, 1)) out.a.push_back(code);
  for (const std::uint32_t code : operands(g.types.b, size * k, 2)) out.b.push_back(code);
  return out;
}

void run_whole(benchmark::State& state, const GemmModel& g, const Named& row) {
  const GemmOperands x = product_of(g, row);
  const double limit = float_rate(row.k);
  measure(
      state, 1.0 * size * size * row.k, limit, [&] { benchmark::DoNotOptimize(gemm(g, x)); },
      &process_seconds);
}

void run_reference(benchmark::State& state, const GemmModel& g, const Named& row) {
  const GemmOperands x = product_of(g, row);
  const double limit = float_rate(row.k);
  measure(state, 1.0 * size * row.k, limit, [&] {
    for (std::size_t j = 0; j < size; ++j) {
      benchmark::DoNotOptimize(gemm_element(g, x.element(0, j)));
    }
  });
}

/// Chains and orders of whole products; k is a model network's.
constexpr Named whole_products[] = {
    {"mma.m16n8k16.f32.f16.f16.f32", 90, 1024},
    {"wgmma.m64n8k32.f32.e4m3.e4m3", 90, 1024},
    {"fma.rn.f32.f32.f32.f32", 0, 1024},
    {"fma.rn.f16.f16.f16.f16", 0, 64},
};

}  // namespace

void add_matmul() {
  for (const Named& row : whole_products) {
    const std::string name =
        "gemm/" + (row.sm == 0 ? "" : "sm_" + std::to_string(row.sm) + "/") + row.name;
    benchmark::RegisterBenchmark(name.c_str(), [&row](benchmark::State& state) {
      GemmModel model = parse_gemm(row.name, row.sm).model;
      model.sum.promote_every = 8;
      run_whole(state, model, row);
    })->Unit(benchmark::kMicrosecond);
  }
  for (const Named& row : products) {
    for (const bool reference : {true, false}) {
      const std::string name = "matmul/sm_" + std::to_string(row.sm) + "/" + row.name + "/" +
                               (reference ? "reference" : "gemm");
      benchmark::RegisterBenchmark(name.c_str(), [&row, reference](benchmark::State& state) {
        const GemmModel model = parse_gemm(row.name, row.sm).model;
        reference ? run_reference(state, model, row) : run_whole(state, model, row);
      })->Unit(benchmark::kMicrosecond);
    }
  }
}

}  // namespace binade::bench
