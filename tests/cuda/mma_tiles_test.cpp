// SPDX-License-Identifier: Apache-2.0
//
// The bodies of the mma.sync and mma.sp kernels on the CPU, one for each line of the tables of
// wrappers, with a stand-in for the instruction that knows CuTe's layouts and not ours: every
// element of every tile is the emulator's.
#include "tests/cuda/mma_stand_in.h"
// The stand-in comes first because it defines CUDA's keywords.
#include "cuda/ptx_block_scaled_mma.cuh"
#include "cuda/ptx_mma.cuh"
#include "cuda/ptx_mma_sp.cuh"
#include "cuda/tile_kernels.h"
#include "tests/cuda/run_tiles.h"

namespace binade::mma_tiles_test {
namespace {

#define BINADE_KERNEL(...) BINADE_KERNEL_OF(__VA_ARGS__)
#define BINADE_KERNEL_OF(name, arch, word, lanes, nd, na, nb, nc, per_d, per_c, ...)             \
  void kernel_##name(Tiles tiles) {                                                              \
    run_mma_tile<lanes, MmaShape{na, nb, nc, nd, per_c, per_d}, word>(tiles,                     \
                                                                      test::stand_in_mma<word>); \
  }
BINADE_MMA_TABLE(BINADE_KERNEL)

#define BINADE_SPARSE_KERNEL(name, arch, nd, na, nb, nc, per, k, groups, ...)     \
  void kernel_##name(Tiles tiles) {                                               \
    run_mma_tile<M16n8Lanes, MmaShape{na, nb, nc, nd, per, per}, word32, groups>( \
        tiles, test::stand_in_mma<word32>);                                       \
  }
BINADE_MMA_SP_TABLE(BINADE_SPARSE_KERNEL)

#define BINADE_SCALED_KERNEL(name, k, a, b, kind, text)                                         \
  void kernel_##name(Tiles tiles) {                                                             \
    run_mma_tile<M16n8Lanes, MmaShape{4, 2, 4, 4}, word32, 0, name_of(ScaledKind::kind).count>( \
        tiles, test::stand_in_mma<word32>);                                                     \
  }
BINADE_SCALED_TABLE(BINADE_SCALED_KERNEL)

struct Row {
  Family family;
  int m, k;
  DotTypes types;
  Variant variant;
  test::Launch launch;
};

#define BINADE_ROW(...) BINADE_ROW_OF(__VA_ARGS__)
#define BINADE_ROW_OF(name, arch, word, lanes, nd, na, nb, nc, per_d, per_c, m, k, fd, fa, fb, fc, \
                      variant, text)                                                               \
  {Family::mma, m, k, {fa, fb, fc, fd}, variant, {kernel_##name, 32, lanes::tiles}},
const Row dense_rows[] = {BINADE_MMA_TABLE(BINADE_ROW)};

#define BINADE_SPARSE_ROW(name, arch, nd, na, nb, nc, per, k, groups, fd, fa, fb, text) \
  {Family::mma_sp, 16, k, {fa, fb, fd, fd}, plain, {kernel_##name, 32, 1}},
const Row sparse_rows[] = {BINADE_MMA_SP_TABLE(BINADE_SPARSE_ROW)};

#define BINADE_SCALED_ROW(name, k, a, b, kind_of, text) \
  {Family::mma, 16, k, {a, b, binary32, binary32}, {.kind = ScaledKind::kind_of}, {kernel_##name}},
const Row scaled_rows[] = {BINADE_SCALED_TABLE(BINADE_SCALED_ROW)};

void check(const Row& row) {
  Instruction how = test::instruction_of(row.family, row.m, 8, row.k, row.types, row.variant.kind);
  how.model.integer = row.variant.integer;
  if (row.types.d == binary64) how.model.rounding = row.variant.rounding;
  test::instruction_under_test = how;
  CHECK(test::check_tiles(how, row.launch, row.m, 8) > 20);
}

TEST_CASE("every mma.sync kernel computes every element of its tiles from the right rows") {
  CHECK(std::size(dense_rows) > 100);
  for (const Row& row : dense_rows) check(row);
}

TEST_CASE("every mma.sp kernel does, with metadata that name what the rows keep") {
  CHECK(std::size(sparse_rows) == 16);
  for (const Row& row : sparse_rows) check(row);
}

TEST_CASE("every mma.sync kernel with scales of blocks does, with the scales of its rows") {
  CHECK(std::size(scaled_rows) == 28);
  for (const Row& row : scaled_rows) check(row);
}

}  // namespace
}  // namespace binade::mma_tiles_test
