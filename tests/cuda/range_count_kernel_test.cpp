// SPDX-License-Identifier: Apache-2.0
//
// The bodies of the range_count kernels on the CPU against `range_count`: every integer of the
// block.
#include "tests/cuda/simt.h"

#include "cuda/range_count.cuh"

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <random>

namespace binade::range_count_kernel_test {
namespace {

void count_kernel(const RangeCall* call, RangeWords* total) { range_count_body(*call, total); }
void error_kernel(const RangeCall* call, RangeWords* total) { range_error_body(*call, total); }

struct alignas(16) Values {
  std::array<float, 70000> x{};
};

/// per_block 0: as a launch has it.
void check(const float* in, Count n, Count per_block, const std::vector<ErrorColumn>& columns) {
  const auto want = std::make_unique<RangeBlock<float>>();
  const auto got = std::make_unique<RangeBlock<float>>();
  want->reset(columns);
  got->reset(columns);
  range_count(in, n, *want);
  const auto words = std::make_unique<RangeWords>();
  std::memset(words.get(), 0xA5, sizeof *words);  // of more columns nothing is cleared
  std::memset(words.get(), 0, bytes_of_range_words(columns.size()));
  words->smallest = ~0U;
  RangeCall call = range_call(in, n, columns);
  if (per_block != 0) call.per_block = per_block;
  const unsigned blocks = range_blocks(call);
  const auto columns_there = static_cast<unsigned>(columns.size());
  simt::launch({blocks}, {range_threads}, count_kernel, &call, words.get());
  if (columns_there > 0) {
    simt::launch({blocks, columns_there}, {range_threads}, error_kernel, &call, words.get());
  }
  add_range_words(*words, *got);
  CHECK(got->zeros == want->zeros);
  CHECK(got->nan == want->nan);
  CHECK(got->inf == want->inf);
  CHECK(got->negative == want->negative);
  CHECK(got->smallest == want->smallest);
  CHECK(got->largest == want->largest);
  std::uint64_t different = 0;
  for (std::size_t i = 0; i < want->rows.size(); ++i) {
    const RangeBlock<float>::Row& a = want->rows[i];
    const RangeBlock<float>::Row& b = got->rows[i];
    different += a.count == b.count && a.sum == b.sum && a.squares == b.squares &&
                         a.squared_error == b.squared_error
                     ? 0
                     : 1;
  }
  CHECK(different == 0);
}

const std::vector<ErrorColumn> all_columns{{binary16, 0}, {binary16, 9}, {bfloat16, 0}, {e4m3, 0},
                                           {e5m2, -20},   {e4m3, 100},   {tf32, 0},     {e2m1, 3}};

TEST_CASE("any bits, any length, any address give the definition's integers") {
  static Values values;
  std::mt19937 random(4);
  for (float& x : values.x) x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
  for (const Count n : {1, 2, 5, 255, 1024, 5000, 70000 - 1}) {
    CAPTURE(n);
    check(values.x.data(), n, 4096, all_columns);
    check(values.x.data() + 1, n, 0, {});
  }
}

TEST_CASE("subnormals, ends of segments and specials fall where the definition puts them") {
  static Values values;
  std::size_t i = 0;
  for (std::uint32_t bits = 1; bits < 0x00800000; bits = bits * 3 / 2 + 1) {
    values.x[i++] = std::bit_cast<float>(bits);
  }
  for (const std::uint32_t base : {0x00800000U, 0x3F800000U, 0x33800000U, 0x7F000000U}) {
    for (const std::uint32_t cut :
         {0x600000U, 0x680000U, 0x700000U, 0x7F0000U, 0x7F8000U, 0x7FE000U, 0x7FF000U}) {
      for (const std::uint32_t f : {cut - 1, cut, cut + 1, 0U, 1U, 0x7FFFFFU}) {
        values.x[i++] = std::bit_cast<float>(base | f);
        values.x[i++] = std::bit_cast<float>(base | f | 0x80000000);
      }
    }
  }
  for (const std::uint32_t bits :
       {0U, 0x80000000U, 0x7F800000U, 0xFF800000U, 0x7FC00000U, 0xFFC00000U, 0x7F800001U}) {
    values.x[i++] = std::bit_cast<float>(bits);
  }
  check(values.x.data(), i, 256, all_columns);
}

TEST_CASE("a full block of the largest significand does not overflow its sums") {
  static Values values;
  values.x.fill(std::bit_cast<float>(0x3FFFFFFFU));
  check(values.x.data(), most_range_values, most_range_values, {{e2m1, -100}, {e2m1, 20}});
}

}  // namespace
}  // namespace binade::range_count_kernel_test
