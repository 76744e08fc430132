// SPDX-License-Identifier: Apache-2.0
//
// Emulated matrix products at every level beside a plain product of floats, compiled with the same
// flags and measured in the same process; times are medians. A product is timed as `binade gemm`
// computes it from encodings: decoding, packing and multiplying.
//
//     GMAC_per_s         10⁹ multiply-adds for each second of processor time of all threads
//     of_float_product   that rate divided by the rate of the product of floats
//     threads_at_work    processor time divided by elapsed time
//     on_top             for promotions, splits and epilogues: how much more time a product takes
//                        with them than without, in turns
//     of_tame            for operands that are hard for a kernel: the rate divided by that with
//                        ordinary ones in the same run
//     wide, alone, settled, defined
//                        the shares of their multiply-adds that left the kernel's usual path, by
//                        path (`ProductDetours`)
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include "emulate/philox.h"
#include "lib/gemm/named_gemm.h"
#include "lib/gemm/prepared_product.h"
#include "tests/bench/clock.h"
#include "tests/bench/registered.h"

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

/// An instruction, and the product that is computed with it.
struct Product {
  const char* instruction;
  int sm;  ///< 0: a chain
  const char* suffix = "";
  void (*change)(GemmModel& g) = nullptr;
  bool has_c = false;  ///< whether there are C and a bias
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
    {hmma, 90, "+epilogue", [](GemmModel& g) { g.epilogue = {.alpha = 0.5, .beta = 2}; }, true},
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

/// Returns the multiply-adds for each second of d = a·b in float, where b is stored column after
/// column.
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

/// Returns a number of either sign between 2^-3 and 2^5, or any integer for integer formats.
std::uint64_t tame_number(const Format& f, std::uint32_t word) {
  if (is_integer(f)) return word >> (32 - f.bits());
  const Exact x{.kind = Kind::finite,
                .negative = (word & 1) != 0,
                .exponent = -14 - static_cast<int>(word >> 29),
                .significand = (word >> 8 & 0xFFFFF) | 0x40000};
  return project(x, f).bits;
}

/// A fixed sequence of pseudorandom numbers.
std::vector<std::uint64_t> tame_numbers(const Format& f, std::size_t n, std::uint64_t seed) {
  std::vector<std::uint64_t> out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(tame_number(f, random_word(seed, 0, i)));
  return out;
}

GemmOperands tame_operands(const GemmModel& g, const Shape& shape) {
  return {shape.m,
          shape.n,
          shape.k,
          tame_numbers(g.types.a, shape.m * shape.k, 1),
          tame_numbers(g.types.b, shape.n * shape.k, 2),
          {},
          {}};
}

/// A change of ordinary operands that makes them hard.
struct Hurt {
  const char* name;
  const char* instruction;
  int sm;  ///< 0: a chain
  void (*change)(const GemmModel& g, GemmOperands& x);
};

template <int every>
void put_infinities(const Format& f, std::vector<std::uint64_t>& codes) {
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::uint32_t word = random_word(3, 0, i);
    if (word % every == 0) codes[i] = infinity_bits(f, word >> 31 != 0);
  }
}
void infinite_rows(const GemmModel& g, GemmOperands& x) {
  for (std::size_t i = 0; i < x.m; i += 100)
    x.a[i * x.k + i % x.k] = infinity_bits(g.types.a, false);
}
void infinite_k(const GemmModel& g, GemmOperands& x) {
  for (std::size_t i = 0; i < x.m; ++i) x.a[i * x.k + 7] = infinity_bits(g.types.a, i % 2 != 0);
}
void infinite_elements(const GemmModel& g, GemmOperands& x) {
  put_infinities<100>(g.types.a, x.a);
  put_infinities<100>(g.types.b, x.b);
}
/// Gives all operands the largest significand, so that sums have no room in 32 bits.
void carries(const GemmModel& g, GemmOperands& x) {
  const auto full = [](const Format& f) {
    const Exact most{.kind = Kind::finite,
                     .exponent = -f.fraction_bits(),
                     .significand = (std::uint64_t{1} << f.precision) - 1};
    return project(most, f).bits;
  };
  std::ranges::fill(x.a, full(g.types.a));
  std::ranges::fill(x.b, full(g.types.b));
}
/// Makes every exponent equally likely.
void whole_range(const GemmModel& g, GemmOperands& x) {
  const auto draw = [](const Format& f, std::vector<std::uint64_t>& codes, std::uint64_t seed) {
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const std::uint64_t bits = random_word(seed, 0, i) >> (32 - f.bits()) << f.padding_bits;
      const Kind kind = decode(bits, f).kind;
      if (kind == Kind::finite || kind == Kind::zero) codes[i] = bits;
    }
  };
  draw(g.types.a, x.a, 4);
  draw(g.types.b, x.b, 5);
}
/// Makes sums leave the range of binary16.
void overflows(const GemmModel& g, GemmOperands& x) {
  for (std::size_t i = 0; i < x.a.size(); ++i) {
    x.a[i] = convert(0x4400 | (random_word(6, 0, i) & 0x83FF), binary16, g.types.a).bits;
    x.b[i] = convert(0x5C00 | (random_word(7, 0, i) & 0x03FF), binary16, g.types.b).bits;
  }
}
constexpr const char* bmma = "mma.m16n8k16.f32.bf16.bf16.f32";
constexpr Hurt hurts[] = {
    {"infinite_rows", hmma, 90, &infinite_rows},
    {"infinite_k", hmma, 90, &infinite_k},
    {"infinite_elements", hmma, 90, &infinite_elements},
    {"whole_range", hmma, 90, &whole_range},
    {"carries", hmma, 90, &carries},
    {"infinite_rows", bmma, 90, &infinite_rows},
    {"whole_range", bmma, 90, &whole_range},
    {"carries", bmma, 90, &carries},
    {"whole_range", "mma.m16n8k8.f32.tf32.tf32.f32", 90, &whole_range},
    {"overflows", "mma.m16n8k16.f16.f16.f16.f16", 90, &overflows},
    {"overflows", "fma.rn.f16.f16.f16.f16", 0, &overflows},
    {"infinite_rows", "fma.rn.f16.f16.f16.f16", 0, &infinite_rows},
    {"infinite_rows", "fma.rn.f32.f32.f32.f32", 0, &infinite_rows},
    {"whole_range", "fma.rn.f32.f32.f32.f32", 0, &whole_range},
    {"infinite_rows", "fma.rn.f64.f64.f64.f64", 0, &infinite_rows},
};

double median(std::vector<double>& x) {
  const auto middle = x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2);
  std::ranges::nth_element(x, middle);
  return *middle;
}

void multiply(benchmark::State& state, const Product& row, const Shape& shape,
              const Kernels& kernels) {
  GemmModel g = parse_gemm(row.instruction, row.sm).model;
  if (row.change != nullptr) row.change(g);
  GemmOperands x = tame_operands(g, shape);
  if (row.has_c) {
    x.c = tame_numbers(g.c, shape.m * shape.n, 8);
    x.bias = tame_numbers(g.bias, shape.n, 9);
  }
  const PreparedProduct product(g, {.k = shape.k, .has_c = row.has_c, .has_bias = row.has_c},
                                kernels);
  const PreparedProduct alone(parse_gemm(row.instruction, row.sm).model, {.k = shape.k}, kernels);
  const GemmOperands tame = tame_operands(g, shape);
  const double limit = float_rate(), begin = wall_seconds();
  const auto seconds_of = [](const PreparedProduct& by, const GemmOperands& operands) {
    const double start = process_seconds();
    benchmark::DoNotOptimize(by.all(operands));
    benchmark::ClobberMemory();
    return process_seconds() - start;
  };
  std::vector<double> times, alone_times;
  double all = 0;
  for (auto _ : state) {
    times.push_back(seconds_of(product, x));
    all += times.back();
    if (*row.suffix == '\0') continue;
    alone_times.push_back(seconds_of(alone, tame));
    all += alone_times.back();
  }
  const double seconds = median(times);
  const double elapsed = wall_seconds() - begin;
  const double rate = shape.multiply_adds() / seconds;
  state.counters["GMAC_per_s"] = rate / 1e9;
  state.counters["of_float_product"] = rate / limit;
  state.counters["threads_at_work"] = all / elapsed;
  if (!alone_times.empty()) state.counters["on_top"] = seconds / median(alone_times) - 1;
}

void multiply_hurt(benchmark::State& state, const Hurt& hurt, const Shape& shape,
                   const Kernels& kernels) {
  const GemmModel g = parse_gemm(hurt.instruction, hurt.sm).model;
  const GemmOperands tame = tame_operands(g, shape);
  GemmOperands x = tame;
  hurt.change(g, x);
  const PreparedProduct product(g, {.k = shape.k}, kernels);
  std::vector<double> times, tame_times;
  for (auto _ : state) {
    double start = process_seconds();
    benchmark::DoNotOptimize(product.all(tame));
    tame_times.push_back(process_seconds() - start);
    start = process_seconds();
    benchmark::DoNotOptimize(product.all(x));
    benchmark::ClobberMemory();
    times.push_back(process_seconds() - start);
  }
  const double seconds = median(times);
  state.counters["GMAC_per_s"] = shape.multiply_adds() / seconds / 1e9;
  state.counters["of_tame"] = median(tame_times) / seconds;
  ProductDetours detours;
  benchmark::DoNotOptimize(product.all(x, {}, &detours));
  const auto share = [&](std::uint64_t n) {
    return static_cast<double>(n) / shape.multiply_adds();
  };
  state.counters["wide"] = share(detours.vectors.wide);
  state.counters["alone"] = share(detours.vectors.alone);
  state.counters["settled"] = share(detours.settled);
  state.counters["defined"] = share(detours.defined);
}

std::string arch_of(int sm) { return sm == 0 ? "chain" : "sm_" + std::to_string(sm); }

}  // namespace

void add_matmul() {
  for (const Product& row : products) {
    const std::string name = "gemm/" + arch_of(row.sm) + "/" + row.instruction + row.suffix + "/";
    for (std::size_t at = 0; at < levels.size(); ++at) {
      const auto level = static_cast<Level>(at);
      const Kernels& table = kernels(level);
      const bool by_vectors = level > Level::portable;
      const Shape& whole = level == Level::reference ? of_reference
                           : by_vectors              ? of_vectors
                                                     : of_portable;
      std::vector<Shape> shapes{whole};
      if (by_vectors) shapes.push_back(small);
      for (const Shape& shape : shapes) {
        const std::string full = name + std::string(levels[at].name) + "/" + shape.name();
        add_benchmark(
            full, benchmark::kMillisecond,
            [&row, shape, &table](benchmark::State& state) { multiply(state, row, shape, table); });
      }
      if (&table == &fastest_kernels()) break;
    }
  }
  constexpr Shape middle{512, 512, 512};
  for (const Hurt& hurt : hurts) {
    const std::string name =
        "gemm/" + arch_of(hurt.sm) + "/" + hurt.instruction + "+" + hurt.name + "/";
    for (const auto& [level_name, level] : levels) {
      const Kernels& table = kernels(level);
      if (level <= Level::portable || !machine_has(level)) continue;
      const std::string full = name + std::string(level_name);
      add_benchmark(full + "/" + middle.name(), benchmark::kMillisecond,
                    [&hurt, middle, &table](benchmark::State& state) {
                      multiply_hurt(state, hurt, middle, table);
                    });
    }
  }
}

}  // namespace binade::bench
