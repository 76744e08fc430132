// SPDX-License-Identifier: Apache-2.0
//
// Tensor Core emulation on one thread beside a plain float matrix product of the same shape, compiled
// with the same flags and measured in the same process: GMAC/s counts multiply-adds, of_float_% is the
// share of the float product's rate. The reference is `dot`, element by element. `gemm` is a whole product
// on all threads, counted by the time of all of them: its rate is one core's.
#include <benchmark/benchmark.h>

#include <ctime>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "emulate/philox.h"
#include "lib/gemm/gemm.h"
#include "lib/gemm/named_gemm.h"
#include "lib/record/instruction_name.h"
#include "tests/emulate/matmul.h"

namespace binade::bench {
namespace {

constexpr int size = 128;  // m and n

double cpu_seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}
double thread_seconds() { return cpu_seconds(CLOCK_THREAD_CPUTIME_ID); }

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
             clockid_t clock = CLOCK_THREAD_CPUTIME_ID) {
  const double start = cpu_seconds(clock);
  for (auto _ : state) {
    pass();
    benchmark::ClobberMemory();
  }
  const double rate = macs * static_cast<double>(state.iterations()) / (cpu_seconds(clock) - start);
  state.counters["GMAC/s"] = rate / 1e9;
  state.counters["of_float_%"] = 100 * rate / limit;
}

void run(benchmark::State& state, const Named& row, bool reference) {
  const Instruction x = parse_instruction(row.name, row.sm);
  const Matmul product{x.model, x.types, size, size, row.k};
  const auto k = static_cast<std::size_t>(row.k);
  const auto a = operands(x.types.a, size * k, 1);
  const auto b = operands(x.types.b, size * k, 2);
  const auto c = operands(x.types.c, static_cast<std::size_t>(size) * size, 3);
  std::vector<std::uint32_t> d(c.size());
  std::vector<Factor> factors(2 * size * k);
  const auto finite = std::make_unique<bool[]>(2 * size);
  const double limit = float_rate(row.k);
  if (!reference) {
    measure(state, 1.0 * size * size * row.k, limit, [&] {
      matmul(product, a.data(), b.data(), c.data(), d.data(), {factors.data(), finite.get()});
    });
    return;
  }
  measure(state, 1.0 * size * row.k, limit, [&] {
    for (std::size_t j = 0; j < size; ++j) {
      d[j] = static_cast<std::uint32_t>(
          dot(x.model, x.types, a.data(), b.data() + j * k, row.k, c[j]));
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

void run_whole(benchmark::State& state, const Named& row) {
  NamedGemm named = parse_gemm(row.name, row.sm);
  named.model.sum.promote_every = 8;
  const auto k = static_cast<std::size_t>(row.k);
  GemmOperands x{size, size, k, {}, {}, {}, {}};
  for (const std::uint32_t code : operands(named.model.types.a, size * k, 1)) x.a.push_back(code);
  for (const std::uint32_t code : operands(named.model.types.b, size * k, 2)) x.b.push_back(code);
  const double limit = float_rate(row.k);
  measure(
      state, 1.0 * size * size * row.k, limit,
      [&] { benchmark::DoNotOptimize(gemm(named.model, x)); }, CLOCK_PROCESS_CPUTIME_ID);
}

}  // namespace

void add_matmul() {
  for (const Named& row : whole_products) {
    const std::string name =
        "gemm/" + (row.sm == 0 ? "" : "sm_" + std::to_string(row.sm) + "/") + row.name;
    benchmark::RegisterBenchmark(name.c_str(), [&row](benchmark::State& state) {
      run_whole(state, row);
    })->Unit(benchmark::kMicrosecond);
  }
  for (const Named& row : products) {
    for (const bool reference : {true, false}) {
      const std::string name = "matmul/sm_" + std::to_string(row.sm) + "/" + row.name + "/" +
                               (reference ? "reference" : "predecoded");
      benchmark::RegisterBenchmark(name.c_str(), [&row, reference](benchmark::State& state) {
        run(state, row, reference);
      })->Unit(benchmark::kMicrosecond);
    }
  }
}

}  // namespace binade::bench
