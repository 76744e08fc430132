// SPDX-License-Identifier: Apache-2.0
//
// The body of the matrix product on the CPU, with a software mma on the registers of a warp,
// against the chain of `dot`s of one instruction each.
#include "tests/cuda/simt.h"

#include "cuda/gemm.cuh"

#include <doctest/doctest.h>

#include <algorithm>

#include "lib/device/matrix_product.h"
#include "lib/instruction/instruction_name.h"
#include "tests/emulate/dot_draw.h"

namespace binade::gemm_test {
namespace {

struct Registers {
  std::uint32_t a[4]{}, b[2]{}, c[4]{}, d[4]{};
};

/// What an instruction does to a lane's c, from the registers of the whole warp.
struct SoftwareMma {
  const Instruction* how;

  void operator()(Registers& x) const {
    const auto all = simt::warp_gather(x);
    std::array<std::array<std::uint32_t, 8>, 16> a{};
    std::array<std::array<std::uint32_t, 8>, 8> b{};
    for (int lane = 0; lane < 32; ++lane) {
      const auto at = [](int i) { return static_cast<std::size_t>(i); };
      for (int reg = 0; reg < 4; ++reg) {
        const Place place = place_of_a(lane, reg, 0, 1);
        a[at(place.row)][at(place.column)] = all[at(lane)].a[reg];
      }
      for (int reg = 0; reg < 2; ++reg) {
        const Place place = place_of_b(lane, reg, 0, 1);
        b[at(place.column)][at(place.row)] = all[at(lane)].b[reg];
      }
    }
    const bool f16 = how->types.d == binary16;
    const int lane = static_cast<int>(threadIdx.x % 32);
    for (int reg = 0; reg < (f16 ? 2 : 4); ++reg) {
      std::uint32_t out = 0;
      for (int element = 0; element < (f16 ? 2 : 1); ++element) {
        const Place place = place_of_c(lane, reg, element, f16 ? 2 : 1);
        const std::uint32_t c = f16 ? x.c[reg] >> (16 * element) & 0xFFFF : x.c[reg];
        const auto row = codes(a[static_cast<std::size_t>(place.row)]);
        const auto column = codes(b[static_cast<std::size_t>(place.column)]);
        const std::uint64_t d = dot(how->model, how->types, row.data(), column.data(), how->k, c);
        out |= static_cast<std::uint32_t>(d) << (16 * element);
      }
      x.d[reg] = out;
    }
  }

  std::array<std::uint64_t, 32> codes(const std::array<std::uint32_t, 8>& words) const {
    const auto width = static_cast<std::size_t>(how->types.a.storage_bits());
    const std::size_t per = 32 / width;
    std::array<std::uint64_t, 32> out{};
    for (std::size_t i = 0; i < 8 * per; ++i) {
      out[i] = words[i / per] >> (i % per * width) & (~std::uint64_t{0} >> (64 - width));
    }
    return out;
  }
};

template <bool f16>
void kernel(GemmCall call, SoftwareMma mma) {
  gemm_body<Registers, f16>(call, mma);
}

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Rows of codes in words, filled up with zeros, at 16 bytes.
std::vector<uint4> words_of(const std::vector<std::uint64_t>& codes, int rows, int k, int words,
                            int width) {
  std::vector<uint4> out(at(rows * words / 4 + 1));
  auto* to = reinterpret_cast<std::uint32_t*>(out.data());
  const int per = 32 / width;
  for (int row = 0; row < rows; ++row) {
    for (int i = 0; i < k; ++i) {
      to[row * words + i / per] |= static_cast<std::uint32_t>(codes[at(row * k + i)])
                                   << (i % per * width);
    }
  }
  return out;
}

void check(const Instruction& how, int m, int n, int k) {
  CAPTURE(instruction_name(how));
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  test::Random random(static_cast<std::uint64_t>(m + n + k));
  const int padded = (k + how.k - 1) / how.k * how.k;
  std::vector<std::uint64_t> a(at(m * k)), b(at(n * k)), c(at(m * n)), d(c.size()), want;
  const auto fill = [&](std::vector<std::uint64_t>& to, const Format& f) {
    for (std::uint64_t& code : to) {
      code = random() % 64 == 0 ? random() >> (64 - f.bits()) << f.padding_bits
                                : test::draw_at(random, f, test::between(random, -7, 7));
    }
  };
  fill(a, how.types.a);
  fill(b, how.types.b);
  fill(c, how.types.c);
  const auto whole = [&](const std::vector<std::uint64_t>& from, int row) {
    std::vector<std::uint64_t> out(at(padded));
    std::copy_n(from.data() + row * k, k, out.data());
    return out;
  };
  want = c;
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      std::uint64_t& sum = want[at(i * n + j)];
      sum = chain(how, whole(a, i).data(), whole(b, j).data(), padded, sum);
    }
  }
  const int words = padded * how.types.a.storage_bits() / 32;
  const auto a_words = words_of(a, m, k, words, how.types.a.storage_bits());
  const auto b_words = words_of(b, n, k, words, how.types.b.storage_bits());
  std::vector<std::uint32_t> c_words(c.begin(), c.end()), d_words(c.size(), 77);
  const GemmCall call{reinterpret_cast<const std::uint32_t*>(a_words.data()),
                      reinterpret_cast<const std::uint32_t*>(b_words.data()),
                      c_words.data(),
                      d_words.data(),
                      m,
                      n,
                      words};
  const auto tiles = [](int size) {
    return static_cast<unsigned>((size + gemm_tile - 1) / gemm_tile);
  };
  simt::launch({tiles(n), tiles(m)}, {gemm_threads},
               how.types.d == binary16 ? kernel<true> : kernel<false>, call, SoftwareMma{&how});
  std::size_t different = 0;
  for (std::size_t i = 0; i < want.size(); ++i) different += want[i] == d_words[i] ? 0 : 1;
  CHECK(different == 0);
}

TEST_CASE("every type's product is the chain of its instruction") {
  for (const char* name : {"mma.m16n8k16.f32.f16.f16.f32", "mma.m16n8k16.f16.f16.f16.f16",
                           "mma.m16n8k16.f32.bf16.bf16.f32", "mma.m16n8k8.f32.tf32.tf32.f32",
                           "mma.m16n8k32.f32.e4m3.e5m2.f32", "mma.m16n8k32.f16.e5m2.e5m2.f16"}) {
    check(parse_instruction(name, 90), 40, 50, 33);
  }
}

TEST_CASE("any size: single elements, edges of tiles, stages of k that are not full") {
  const Instruction how = parse_instruction("mma.m16n8k16.f32.f16.f16.f32", 80);
  check(how, 1, 1, 1);
  check(how, 129, 7, 16);
  check(how, 17, 130, 130);
}

}  // namespace
}  // namespace binade::gemm_test
