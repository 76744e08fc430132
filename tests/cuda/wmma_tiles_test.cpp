// SPDX-License-Identifier: Apache-2.0
//
// The bodies of the wmma kernels on the CPU, one for each line of the table of wrappers. Fragments
// are PTX's secret, so the stand-in's hold the address and the leading dimension of their matrix.
#include "tests/cuda/simt.h"
// simt.h comes first because it defines CUDA's keywords.
#include "cuda/ptx_wmma.cuh"
#include "cuda/tile_kernels.h"
#include "tests/cuda/run_tiles.h"

namespace binade::wmma_tiles_test {
namespace {

constexpr Format format_f16 = binary16, format_bf16 = bfloat16, format_tf32 = tf32,
                 format_f32 = binary32, format_f64 = binary64;

Instruction how;

/// A matrix in memory: element (i, j) at i · leading + j.
struct Matrix {
  const void* at = nullptr;
  int leading = 0;

  std::uint64_t operator()(int i, int j, const Format& f) const {
    const int bytes = f.storage_bits() / 8;
    std::uint64_t out = 0;
    std::memcpy(&out, static_cast<const char*>(at) + (i * leading + j) * bytes,
                static_cast<std::size_t>(bytes));
    return out;
  }
};

template <class Word>
struct StandIn {
  using Fragments = WmmaFragments<Word>;

  static void put(Word (&registers)[8], const void* from, int leading) {
    const Matrix matrix{from, leading};
    static_assert(sizeof(matrix) <= sizeof(registers));
    std::memcpy(registers, &matrix, sizeof matrix);
  }
  static Matrix matrix_in(const Word (&registers)[8]) {
    Matrix out;
    std::memcpy(static_cast<void*>(&out), registers, sizeof out);
    return out;
  }
  static void load_a(Fragments& x, const void* from, int leading) { put(x.a, from, leading); }
  static void load_b(Fragments& x, const void* from, int leading) { put(x.b, from, leading); }
  static void load_c(Fragments& x, const void* from, int leading) { put(x.c, from, leading); }
  static bool mma(Fragments& x) {
    x.d[0] = 1;
    return true;
  }
  /// All the work: lane t does elements t, t + 32, …
  static void store_d(const Fragments& x, void* to, int leading) {
    const Matrix a = matrix_in(x.a), b = matrix_in(x.b), c = matrix_in(x.c);
    if (x.d[0] != 1) return;
    for (int e = static_cast<int>(threadIdx.x); e < how.m * how.n; e += 32) {
      const int i = e / how.n, j = e % how.n;
      std::vector<std::uint64_t> row, column;
      for (int k = 0; k < how.k; ++k) {
        row.push_back(a(i, k, how.types.a));
        column.push_back(b(j, k, how.types.b));  // by columns
      }
      const std::uint64_t d =
          dot(how.model, how.types, row.data(), column.data(), how.k, c(i, j, how.types.c));
      const auto bytes = static_cast<std::size_t>(how.types.d.storage_bits()) / 8;
      std::memcpy(static_cast<char*>(to) + static_cast<std::size_t>(i * leading + j) * bytes, &d,
                  bytes);
    }
  }
};

#define BINADE_KERNEL(name, word, shape, m, n, k, ab, tc, td, ...)    \
  void kernel_##name(Tiles tiles) {                                   \
    constexpr WmmaShape the_shape{m,                                  \
                                  n,                                  \
                                  k,                                  \
                                  k * format_##ab.storage_bits() / 8, \
                                  format_##tc.storage_bits() / 8,     \
                                  format_##td.storage_bits() / 8};    \
    run_wmma_tile<StandIn<word>, the_shape, word>(tiles);             \
  }
BINADE_WMMA_TABLE(BINADE_KERNEL)

struct Row {
  int m, n, k;
  DotTypes types;
  Variant variant;
  void (*kernel)(Tiles);
};
#define BINADE_ROW(name, word, shape, m, n, k, ab, tc, td, nd, na, nb, nc, variant, text) \
  {m, n, k, {format_##ab, format_##ab, format_##tc, format_##td}, variant, kernel_##name},
const Row rows[] = {BINADE_WMMA_TABLE(BINADE_ROW)};

TEST_CASE("every wmma kernel computes every element of its tiles from the right rows") {
  CHECK(std::size(rows) == 20);
  for (const Row& row : rows) {
    how = test::instruction_of(Family::wmma, row.m, row.n, row.k, row.types);
    if (row.types.d == binary64) how.model.rounding = row.variant.rounding;
    CHECK(test::check_tiles(how, {row.kernel}, row.m, row.n) > 20);
  }
}

}  // namespace
}  // namespace binade::wmma_tiles_test
