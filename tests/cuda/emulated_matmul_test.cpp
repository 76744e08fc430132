// SPDX-License-Identifier: Apache-2.0
//
// The bodies of the emulated matmul's kernels on the CPU against `dot`: every model and type pair
// of every architecture, at sizes around a tile and at k around a block.
#include "tests/cuda/simt.h"

#include "cuda/emulated_matmul.cuh"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>

#include "lib/instruction/instruction_name.h"
#include "tests/emulate/dot_draw.h"

namespace binade::emulated_matmul_test {
namespace {

struct ClampedShift {
  template <class T>
  T operator()(T x, int n) const {
    return x >> std::min(n, 31);
  }
};
/// Of unsigned values 32 and more shift everything out.
struct Shift : ClampedShift {
  using ClampedShift::operator();
  std::uint32_t operator()(std::uint32_t x, int n) const { return n > 31 ? 0 : x >> n; }
};

void predecode_kernel(const MatmulPlan* plan, MatmulArrays arrays, MatmulFactors out, bool of_b) {
  predecode_body(*plan, arrays, out, of_b);
}
template <int block, bool nearest, bool wide>
void tile_kernel(const MatmulPlan* plan, MatmulArrays arrays, MatmulFactors factors) {
  emulated_tile_body<block, nearest, wide>(*plan, arrays, factors, Shift{});
}
void begin_kernel(const MatmulPlan* plan, MatmulArrays arrays, MatmulFactors factors) {
  begin_body(*plan, arrays, factors);
}
void finish_kernel(const MatmulPlan* plan, MatmulArrays arrays) { finish_body(*plan, arrays); }

using TileKernel = void (*)(const MatmulPlan*, MatmulArrays, MatmulFactors);

template <int block>
TileKernel kernel_of(bool nearest, bool wide) {
  return wide      ? nearest ? tile_kernel<block, true, true> : tile_kernel<block, false, true>
              : nearest ? tile_kernel<block, true, false>
                   : tile_kernel<block, false, false>;
}

struct Ran {
  std::vector<std::uint64_t> d;
  std::size_t left = 0;  ///< elements that were for `dot`
  bool tiled = false;
};

Ran run(const Matmul& x, const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b,
        const std::vector<std::uint64_t>& c) {
  const MatmulPlan plan = matmul_plan(x);
  Ran out{std::vector<std::uint64_t>(c.size()), 0, plan.tiled};
  std::vector<fast::TileSum> sums(c.size());
  std::vector<unsigned char> left(c.size());
  const unsigned per_element = static_cast<unsigned>(c.size() / 64 + 1);
  const MatmulArrays arrays{a.data(), b.data(), c.data(), out.d.data(), sums.data(), left.data()};
  if (plan.tiled) {
    const auto factors = [&](int size, int value) {
      // 16-byte aligned, as the device's memory is
      std::vector<int4> room(static_cast<std::size_t>(plan.places) *
                             static_cast<std::size_t>(size) / 4);
      std::fill_n(reinterpret_cast<int*>(room.data()), 4 * room.size(), value);
      return room;
    };
    auto sa = factors(plan.rows, 0), ea = factors(plan.rows, fast::Factor{}.exponent);
    auto sb = factors(plan.columns, 0), eb = factors(plan.columns, fast::Factor{}.exponent);
    std::vector<unsigned> special(static_cast<std::size_t>(x.m + x.n));
    const auto ints = [](std::vector<int4>& room) { return reinterpret_cast<int*>(room.data()); };
    const MatmulFactors there{ints(sa), ints(ea), ints(sb), ints(eb), special.data()};
    const auto k = static_cast<unsigned>(x.k);
    for (const bool of_b : {false, true}) {
      const unsigned blocks = static_cast<unsigned>(of_b ? x.n : x.m) / 64 + 1;
      simt::launch({blocks, k}, {64}, predecode_kernel, &plan, arrays, there, of_b);
    }
    simt::launch({per_element}, {64}, begin_kernel, &plan, arrays, there);
    const bool nearest = x.model.rounding == Rounding::ties_to_even;
    const TileKernel kernel = x.model.block == 4    ? kernel_of<4>(nearest, plan.rules.wide)
                              : x.model.block == 8  ? kernel_of<8>(nearest, plan.rules.wide)
                              : x.model.block == 16 ? kernel_of<16>(nearest, plan.rules.wide)
                                                    : kernel_of<32>(nearest, plan.rules.wide);
    simt::launch({static_cast<unsigned>(plan.columns / matmul_tile),
                  static_cast<unsigned>(plan.rows / matmul_tile)},
                 {matmul_threads}, kernel, &plan, arrays, there);
    for (const unsigned char flag : left) out.left += flag;
  }
  simt::launch({per_element}, {64}, finish_kernel, &plan, arrays);
  return out;
}

struct Totals {
  std::uint64_t elements = 0, tiled = 0, left = 0, models = 0, untiled = 0;
};

void check(const Instruction& how, int m, int n, int k, test::Random& random, Totals& totals) {
  CAPTURE(instruction_name(how));
  CAPTURE(how.sm);
  CAPTURE(k);
  const Matmul x{how.model, how.types, m, n, k};
  std::vector<std::uint64_t> a, b, c;
  for (int i = 0; i < std::max(m, n); ++i) {
    const test::DrawnDot row = test::draw_dot(random, how.types, k);
    if (i < m) a.insert(a.end(), row.a.begin(), row.a.end());
    if (i < n) b.insert(b.end(), row.b.begin(), row.b.end());
  }
  while (c.size() < static_cast<std::size_t>(m * n)) {
    c.push_back(test::draw_dot(random, how.types, 1).c);
  }
  std::vector<std::uint64_t> want(c.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    const auto row = static_cast<int>(i) / n * k;
    const auto column = static_cast<int>(i) % n * k;
    want[i] = dot(how.model, how.types, a.data() + row, b.data() + column, k, c[i]);
  }
  const Ran got = run(x, a, b, c);
  std::size_t different = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (want[i] == got.d[i]) continue;
    if (different++ == 0) MESSAGE("element " << i << ": want " << want[i] << " got " << got.d[i]);
  }
  REQUIRE(different == 0);
  totals.elements += want.size();
  totals.tiled += got.tiled ? want.size() : 0;
  totals.left += got.left;
  totals.untiled += got.tiled ? 0 : 1;
}

/// One instruction of each model and types.
std::vector<Instruction> all_kinds() {
  std::vector<Instruction> out;
  for (const int sm : {70, 75, 80, 89, 90, 100, 120}) {
    for (const Instruction& how : instructions_of(sm)) {
      // sparse: no K beyond one instruction's; the GPU multiplies no matrices by scales of blocks
      if (how.model.sparse_group != 0 || is_scaled(how.model)) continue;
      const bool there = std::any_of(out.begin(), out.end(), [&](const Instruction& x) {
        return x.model == how.model && x.types == how.types;
      });
      if (!there) out.push_back(how);
    }
  }
  return out;
}

TEST_CASE("every model and every types give dot's bits") {
  test::Random random(1);
  Totals totals;
  for (const Instruction& how : all_kinds()) {
    const bool whole =
        how.model.recipe == Recipe::expanded;  // such a chain is of whole instructions
    check(how, 19, 70, how.k, random, totals);
    check(how, 5, 3, whole ? 4 * (how.k / 8) : 2 * how.k + 3, random, totals);
    totals.models += 1;
  }
  CHECK(totals.models > 30);
  CHECK(totals.left > 100);
  CHECK(totals.tiled > 2 * totals.left);
  CHECK(totals.untiled > 0);  // f64 and m8n8k4 are chains of fma
}

TEST_CASE("many stages of k and several tiles") {
  test::Random random(2);
  Totals totals;
  for (const int sm : {70, 80, 89, 90}) {
    const char* name = sm == 89   ? "mma.m16n8k32.f32.e4m3.e4m3.f32"
                       : sm == 70 ? "wmma.m16n16k16.f32.f16.f16.f32"
                                  : "mma.m16n8k16.f32.f16.f16.f32";
    check(parse_instruction(name, sm), 130, 65, 200, random, totals);
  }
  check(parse_instruction("mma.m16n8k16.f16.f16.f16.f16", 90), 64, 64, 333, random, totals);
  check(parse_instruction("mma.m16n8k16.f32.bf16.bf16.f32", 80), 1, 1, 1, random, totals);
  CHECK(totals.tiled == totals.elements);
}

}  // namespace
}  // namespace binade::emulated_matmul_test
