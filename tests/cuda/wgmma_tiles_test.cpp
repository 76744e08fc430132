// SPDX-License-Identifier: Apache-2.0
//
// The bodies of the wgmma and wgmma.sp kernels on the CPU, one for each line of the tables of
// wrappers. The stand-in reads shared memory as the descriptors say, by their own fields, and
// accumulators as CuTe places them.
#include "tests/cuda/mma_stand_in.h"
// The stand-in comes first because it defines CUDA's keywords.
#include "cuda/ptx_mma_sp.cuh"
#include "cuda/ptx_wgmma.cuh"
#include "cuda/tile_kernels.h"
#include "tests/cuda/run_tiles.h"

namespace binade::wgmma_tiles_test {
namespace {

using test::instruction_under_test;

/// Shared memory of a program of fibers: arrays at addresses of its own, each 8 KiB from the next.
struct SharedMemory {
  static constexpr std::uint32_t step = 0x2000;
  std::vector<const unsigned char*> arrays;

  std::uint32_t address_of(const void* array) {
    const auto* bytes = static_cast<const unsigned char*>(array);
    const auto at = std::find(arrays.begin(), arrays.end(), bytes);
    const auto slot = static_cast<std::uint32_t>(at - arrays.begin());
    if (at == arrays.end()) arrays.push_back(bytes);
    return slot * step + 0x480;
  }
  const unsigned char* at(std::uint32_t address) const {
    return arrays.at(address / step) + (address % step - 0x480);
  }
};
SharedMemory shared;

struct StandIn {
  static std::uint32_t shared_address(const void* p) { return shared.address_of(p); }
  static void fence_proxy_async() {}
  static void wgmma_fence(WgmmaOperands&) {}
  static void wgmma_commit_group() {}
  static void wgmma_wait_group(WgmmaOperands&) {}
};

/// A matrix of k-fastest rows in core matrices, by the descriptor: rows of 16 bytes one behind the
/// other in groups of eight, groups along k and along the rows by the two strides.
test::Codes matrix_at(std::uint64_t descriptor, int rows, int k, const Format& f) {
  const auto field = [descriptor](int low) { return (descriptor >> low & 0x3FFF) << 4; };
  REQUIRE((descriptor >> 46) == 0);  // no base offset, no swizzle
  const unsigned char* start = shared.at(static_cast<std::uint32_t>(field(0)));
  const int bytes = element_bits(f) / 8;
  test::Codes out;
  for (int row = 0; row < rows; ++row) {
    for (int i = 0; i < k; ++i) {
      const int chunk = i * bytes / 16;
      const std::uint64_t at = static_cast<std::uint64_t>(chunk) * field(16) +
                               static_cast<std::uint64_t>(row / 8) * field(32) +
                               static_cast<std::uint64_t>(row % 8 * 16 + i * bytes % 16);
      std::uint64_t code = 0;
      std::memcpy(&code, start + at, static_cast<std::size_t>(bytes));
      out.push_back(code);
    }
  }
  return out;
}

bool stand_in_wgmma(WgmmaOperands& x) {
  const Instruction& how = instruction_under_test;
  const bool sparse = how.model.sparse_group != 0;
  const int kept = sparse ? how.k / 2 : how.k;
  const test::Codes a = matrix_at(x.a, 64, kept, how.types.a);
  const test::Codes b = matrix_at(x.b, 8, how.k, how.types.b);
  std::vector<int> positions;  // of this warp's 16 rows
  if (sparse) {
    const auto& layout = test::sparse_of(how.k, element_bits(how.types.a));
    positions = test::kept_positions(simt::warp_gather(x.metadata), layout);
  }
  const int bits = how.types.d.storage_bits();
  std::uint32_t d[4]{};
  for (int v = 0; v < 4; ++v) {
    const int offset = test::cute_wgmma_c(static_cast<int>(threadIdx.x), v);
    const int i = offset % 64, j = offset / 64;
    const std::uint64_t c = test::value_at(x.d, v, bits);
    const std::uint64_t* row = test::row_of(a, i, kept);
    test::Codes column(test::row_of(b, j, how.k), test::row_of(b, j, how.k) + how.k);
    if (sparse) column = test::picked(column.data(), positions.data() + i % 16 * kept, kept);
    test::add_value(d, v, bits, dense_dot(how.model, how.types, row, column.data(), kept, c));
  }
  std::copy(d, d + 4, x.d);
  return true;
}

#define BINADE_KERNEL(name, nd, per, ...) \
  void kernel_##name(Tiles tiles) { run_wgmma_tile<StandIn, nd, per>(tiles, stand_in_wgmma); }
#define BINADE_SPARSE_KERNEL(name, nd, per, k, groups, ...)          \
  void kernel_##name(Tiles tiles) {                                  \
    run_wgmma_tile<StandIn, nd, per, groups>(tiles, stand_in_wgmma); \
  }
struct Row {
  Family family;
  int k;
  DotTypes types;
  Variant variant;
  void (*kernel)(Tiles);
};
#define BINADE_ROW(name, nd, per, k, fd, fa, fb, variant, ...) \
  {Family::wgmma, k, {fa, fb, fd, fd}, variant, kernel_##name},
#define BINADE_SPARSE_ROW(name, nd, per, k, groups, fd, fa, fb, ...) \
  {Family::wgmma_sp, k, {fa, fb, fd, fd}, plain, kernel_##name},
BINADE_WGMMA_TABLE(BINADE_KERNEL)
BINADE_WGMMA_SP_TABLE(BINADE_SPARSE_KERNEL)
const Row rows[] = {BINADE_WGMMA_TABLE(BINADE_ROW) BINADE_WGMMA_SP_TABLE(BINADE_SPARSE_ROW)};

TEST_CASE("every wgmma kernel computes every element of its tiles from the right rows") {
  CHECK(std::size(rows) == 68);
  for (const Row& row : rows) {
    Instruction how = test::instruction_of(row.family, 64, 8, row.k, row.types);
    how.model.integer = row.variant.integer;
    how.model.scales = row.variant.scales;
    instruction_under_test = how;
    CHECK(test::check_tiles(how, {row.kernel, 128}, 64, 8) > 20);
  }
}

}  // namespace
}  // namespace binade::wgmma_tiles_test
