// SPDX-License-Identifier: Apache-2.0
//
// Emulated matrix products at every level beside a plain float product, compiled with the same flags and measured in the
// same process. What is timed is a product as `binade gemm` makes it of encodings: operands taken apart, packed, multiplied.
//
//     GMAC_per_s         multiply-adds of a second of processor time, whatever the threads
//     of_float_product   that rate by the float product's
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include "emulate/philox.h"
#include "lib/gemm/named_gemm.h"
#include "lib/gemm/prepared_product.h"
#include "tests/bench/clock.h"

namespace binade::bench {
namespace {

struct Shape {
  std::size_t m, n, k;

  std::string name() const {
    return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
  }
  double multiply_adds() const { return static_cast<double>(m * n * k); }
};
constexpr Shape of_reference{64, 64, 64}, of_portable{256, 256, 256}, of_vectors{1024, 1024, 1024},
    small{128, 128, 64};

/// An instruction, and what is made of it.
struct Product {
  const char* instruction;
  int sm;  ///< 0: a chain
  const char* suffix = "";
  void (*change)(GemmModel& g) = nullptr;
};
constexpr const char* hmma = "mma.m16n8k16.f32.f16.f16.f32";
constexpr Product products[] = {
    {hmma, 90},
    {hmma, 80},
    {"wmma.m16n16k16.f32.f16.f16.f32", 70},
    {"mma.m16n8k16.f16.f16.f16.f16", 90},
    {"mma.m16n8k16.f32.bf16.bf16.f32", 90},
    {"mma.m16n8k8.f32.tf32.tf32.f32", 90},
    {"mma.m16n8k32.f32.e4m3.e4m3.f32", 89},
    {"wgmma.m64n8k32.f32.e4m3.e4m3", 90},
    {"mma.m16n8k32.f16.e4m3.e4m3.f16", 90},
    {hmma, 90, "+promote4", [](GemmModel& g) { g.sum.promote_every = 4; }},
    {hmma, 90, "+split4", [](GemmModel& g) { g.sum.splits[0].parts = 4; }},
    {"fma.rn.f32.f32.f32.f32", 0},
    {"fma.rn.f64.f64.f64.f64", 0},
    {"fma.rn.f16.f16.f16.f16", 0},
    {"mma.sp.m16n8k32.f32.f16.f16.f32", 90},
    {"mma.sp.m16n8k32.f32.f16.f16.f32", 80},
    {"mma.sp.m16n8k32.f16.f16.f16.f16", 90},
    {"mma.sp.m16n8k16.f32.tf32.tf32.f32", 90},
    {"mma.sp.m16n8k64.f32.e4m3.e4m3.f32", 90},
    {"wgmma.sp.m64n8k64.f32.e4m3.e4m3", 90},
    {"mma.m8n8k4.f32.f16.f16.f32", 80},
    {"mma.m8n8k4.f16.f16.f16.f16", 80},
    {"mma.m16n8k32.s32.s8.s8.s32", 80},
    {"mma.m16n8k32.satfinite.s32.u8.s8.s32", 80},
    {"mma.m16n8k64.s32.s4.s4.s32", 80},
    {"mma.m16n8k256.s32.b1.b1.s32.and.popc", 80},
    {"mma.m16n8k256.s32.b1.b1.s32.xor.popc", 80},
};

/// Multiply-adds a second of d = a·b in float, b column after column.
double float_rate() {
  constexpr std::size_t size = 128, k = 1024;
  std::vector<float> a(size * k, 0.5F), b(size * k, 0.25F), d(size * size);
  double best = 1e9;
  for (int pass = 0; pass < 7; ++pass) {
    const double start = thread_seconds();
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j < size; ++j) {
        float sum = 0;
        for (std::size_t t = 0; t < k; ++t) sum += a[i * k + t] * b[j * k + t];
        d[i * size + j] = sum;
      }
    }
    benchmark::DoNotOptimize(d.data());
    best = std::min(best, thread_seconds() - start);
  }
  return size * size * k / best;
}

/// Encodings of numbers of both signs between 2^-3 and 2^5, or of any integers, a fixed sequence.
std::vector<std::uint64_t> operands(const Format& f, std::size_t n, std::uint64_t seed) {
  std::vector<std::uint64_t> out;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t word = random_word(seed, 0, i);
    if (is_integer(f)) {
      out.push_back(word >> (32 - f.bits()));
      continue;
    }
    const Exact x{.kind = Kind::finite,
                  .negative = (word & 1) != 0,
                  .exponent = -14 - static_cast<int>(word >> 29),
                  .significand = (word >> 8 & 0xFFFFF) | 0x40000};
    out.push_back(project(x, f).bits);
  }
  return out;
}

void multiply(benchmark::State& state, const Product& row, const Shape& shape,
              const Kernels& kernels) {
  GemmModel g = parse_gemm(row.instruction, row.sm).model;
  if (row.change != nullptr) row.change(g);
  const GemmOperands x{shape.m,
                       shape.n,
                       shape.k,
                       operands(g.types.a, shape.m * shape.k, 1),
                       operands(g.types.b, shape.n * shape.k, 2),
                       {},
                       {}};
  const PreparedProduct product(g, {.k = shape.k}, kernels);
  const double limit = float_rate(), start = process_seconds();
  for (auto _ : state) {
    benchmark::DoNotOptimize(product.all(x));
    benchmark::ClobberMemory();
  }
  const double seconds = process_seconds() - start;
  const double rate = shape.multiply_adds() * static_cast<double>(state.iterations()) / seconds;
  state.counters["GMAC_per_s"] = rate / 1e9;
  state.counters["of_float_product"] = rate / limit;
}

}  // namespace

void add_matmul() {
  for (const Product& row : products) {
    const std::string arch = row.sm == 0 ? "chain" : "sm_" + std::to_string(row.sm);
    const std::string name = "gemm/" + arch + "/" + row.instruction + row.suffix + "/";
    for (std::size_t at = 0; at < level_names.size(); ++at) {
      const auto level = static_cast<Level>(at);
      const Kernels& table = kernels(level);
      const bool by_vectors = level > Level::portable;
      const Shape& whole = level == Level::reference ? of_reference
                           : by_vectors              ? of_vectors
                                                     : of_portable;
      std::vector<Shape> shapes{whole};
      if (by_vectors) shapes.push_back(small);
      for (const Shape& shape : shapes) {
        const std::string full = name + std::string(level_names[at]) + "/" + shape.name();
        benchmark::RegisterBenchmark(full.c_str(), [&row, shape, &table](benchmark::State& state) {
          multiply(state, row, shape, table);
        })->Unit(benchmark::kMillisecond);
      }
      if (&table == &fastest_kernels()) break;
    }
  }
}

}  // namespace binade::bench
