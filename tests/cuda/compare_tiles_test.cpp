// SPDX-License-Identifier: Apache-2.0
//
// The kernel that compares tiles with the emulator, on the CPU: it counts every element once, finds
// what was planted, and gives what the emulated device gives.
#include "tests/cuda/simt.h"
// simt.h comes first because it defines CUDA's keywords.
#include <algorithm>

#include "cuda/compare_tiles.cuh"
#include "lib/device/emulated_device.h"
#include "tests/cuda/run_tiles.h"

namespace binade::compare_tiles_test {
namespace {

void compare_kernel(Comparison comparison) { compare_tiles(comparison); }

/// A pool, tiles of it with d by a model, and what the kernel counts.
struct Compared {
  Instruction how;
  Dots pool;
  Crossing crossing{.seed = 9, .first = 1'000'000'000'000, .tiles = 5, .rows = test::pool_rows};
  std::vector<std::uint64_t> d{};

  explicit Compared(const char* name, int sm = 90) : how(parse_instruction(name, sm)) {
    pool = test::mixed_rows(how);
    crossing.m = how.m;
    crossing.n = how.n;
  }
  CrossedRows rows_at(std::size_t i) const {
    const auto of_tile = static_cast<std::size_t>(crossing.m * crossing.n);
    const auto element = static_cast<int>(i % of_tile);
    return crossed_rows(crossing, start_of_tile(crossing, crossing.first + i / of_tile),
                        element / crossing.n, element % crossing.n);
  }
  void fill(const DotModel& model) {
    Instruction used = how;
    used.model = model;
    d.resize(crossing.tiles * static_cast<std::size_t>(crossing.m * crossing.n));
    for (std::size_t i = 0; i < d.size(); ++i) d[i] = test::emulated(used, pool, rows_at(i));
  }
  /// With predecoded operands, or as if the model were not for them.
  CrossTally count(bool quick) {
    const PredecodedRows a = predecoded(how.model, how.types, how.types.a, pool.a, how.k);
    const PredecodedRows b = predecoded(how.model, how.types, how.types.b, pool.b, how.k);
    CrossTally total;
    Comparison x{{}, how.model, how.types, how.k, pool.a.data(), pool.b.data()};
    x.tiles.c = pool.c.data();
    x.tiles.d = d.data();
    x.tiles.crossing = crossing;
    const PackedPool packed = packed_pool(how, pool);
    if (is_scaled(how.model)) {
      x.tiles.scales_a = packed.scales_a.data();
      x.tiles.scales_b = packed.scales_b.data();
    }
    x.total = &total;
    if (quick) {
      REQUIRE(!a.factors.empty());
      x.factors_a = a.factors.data();
      x.factors_b = b.factors.data();
      x.finite_a = a.finite.data();
      x.finite_b = b.finite.data();
    }
    simt::launch({3}, {64}, compare_kernel, x);
    return total;
  }
};

TEST_CASE("the emulator's own d differ nowhere, and each is compared once") {
  for (const char* name : {"mma.m16n8k16.f32.f16.f16.f32", "mma.m16n8k32.f32.e4m3.e5m2.f32",
                           "mma.sp.m16n8k16.f32.tf32.tf32.f32", "wmma.m8n32k16.f16.f16.f16.f32",
                           "mma.m16n8k64.s32.u4.s4.s32", "mma.m16n8k8.f64.f64.f64.f64"}) {
    CAPTURE(name);
    Compared x(name);
    x.fill(x.how.model);
    const CrossTally tally = x.count(fast::is_predecodable(x.how.model, x.how.types));
    CHECK(tally == CrossTally{x.d.size(), 0, CrossTally::none});
    CHECK(tally == x.count(false));
  }
}

TEST_CASE("scales of blocks are those of the rows that meet") {
  const std::string mma = "mma.m16n8k", block = ".block_scale.scale_vec::";
  for (const std::string& name :
       {mma + "32.kind::mxf8f6f4" + block + "1X.f32.e4m3.e2m3.f32.ue8m0",
        mma + "64.kind::mxf4" + block + "2X.f32.e2m1.e2m1.f32.ue8m0",
        mma + "64.kind::mxf4nvf4" + block + "4X.f32.e2m1.e2m1.f32.ue4m3"}) {
    CAPTURE(name);
    Compared x(name.c_str(), 120);
    x.fill(x.how.model);
    CHECK(x.count(false) == CrossTally{x.d.size(), 0, CrossTally::none});
    std::ranges::rotate(x.pool.a_scales, x.pool.a_scales.begin() + 1);
    CHECK(x.count(false).different > x.d.size() / 4);
  }
}

TEST_CASE("one wrong element is counted, and named by its number among all tiles") {
  Compared x("mma.m16n8k16.f32.f16.f16.f32");
  x.fill(x.how.model);
  x.d[300] ^= 1;
  const std::uint64_t number = x.crossing.first * 128 + 300;
  CHECK(x.count(true) == CrossTally{640, 1, number});
  x.d[500] ^= 4;
  CHECK(x.count(true) == CrossTally{640, 2, number});
}

TEST_CASE("a planted rule gives the tally of the emulated device that has it") {
  for (const char* name : {"mma.m16n8k16.f32.bf16.bf16.f32", "wgmma.m64n8k16.f32.f16.f16"}) {
    const auto planted = [](DotModel& model) { model.fraction_bits -= 1; };
    Compared x(name);
    DotModel wrong = x.how.model;
    planted(wrong);
    x.fill(wrong);
    const CrossTally tally = x.count(true);
    CHECK(tally.different > 0);
    EmulatedDevice device(90, planted);
    CrossTally same;
    CHECK(!device.tally_crossed(x.how, x.pool, x.crossing, same));
    CHECK(tally == same);
  }
}

}  // namespace
}  // namespace binade::compare_tiles_test
