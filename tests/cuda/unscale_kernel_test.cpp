// SPDX-License-Identifier: Apache-2.0
//
// The bodies of the unscale kernels on the CPU against `unscale`: bytes and found_inf.
#include "tests/cuda/simt.h"

#include "cuda/unscale.cuh"

#include <doctest/doctest.h>

#include <random>

namespace binade::unscale_kernel_test {
namespace {

void floats_kernel(UnscaleCall<std::uint32_t> call, unsigned* found) {
  unscale_floats_body(call, found);
}
void codes_kernel(UnscaleCall<std::uint16_t> call, unsigned* found) { unscale_body(call, found); }

struct alignas(16) Floats {
  std::array<std::uint32_t, 10000> x{};
};

void check(const Floats& in, Count n, std::size_t offset, float inv_scale) {
  CAPTURE(n);
  CAPTURE(inv_scale);
  static Floats out;
  out.x.fill(7);
  std::vector<std::uint32_t> want(n);
  const bool found = unscale(in.x.data() + offset, want.data(), n, binary32, inv_scale);
  unsigned got = 0;
  constexpr Count per_block = Count{unscale_threads} * unscale_values;
  simt::launch({static_cast<unsigned>((n + per_block - 1) / per_block)}, {unscale_threads},
               floats_kernel,
               UnscaleCall<std::uint32_t>{in.x.data() + offset, out.x.data() + offset, n, binary32,
                                          inv_scale, offset % 4 == 0},
               &got);
  CHECK((got != 0) == found);
  CHECK(std::memcmp(want.data(), out.x.data() + offset, 4 * n) == 0);
  CHECK(out.x[offset + n] == 7);
}

TEST_CASE("floats of any bits, number and address") {
  static Floats in;
  std::mt19937 random(6);
  for (std::uint32_t& x : in.x) x = static_cast<std::uint32_t>(random());
  for (const Count n : {1, 4, 7, 1023, 4096, 9990}) {
    for (const float inv : {1.0F, 0x1p-16F, 0.3F, 0.0F}) {
      check(in, n, 0, inv);
      check(in, n, 3, inv);
    }
  }
}

TEST_CASE("one infinity anywhere is found, and none where there is none") {
  static Floats in;
  for (const std::size_t at : {0, 31, 2048, 4095, 4096, 8999}) {
    in.x.fill(0x3F800000);
    check(in, 9000, 0, 0.5F);
    in.x[at] = at % 2 == 0 ? 0xFF800000 : 0x7FC00000;
    check(in, 9000, 0, 0.5F);
  }
}

TEST_CASE("all codes of the 16-bit types") {
  std::vector<std::uint16_t> in(65536);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint16_t>(i);
  std::vector<std::uint16_t> want(in.size());
  std::vector<std::uint16_t> out(in.size());
  for (const Format& f : {binary16, bfloat16}) {
    unsigned found = 0;
    CHECK(unscale(in.data(), want.data(), in.size(), f, 0x1p-5F));
    simt::launch({65536 / unscale_threads}, {unscale_threads}, codes_kernel,
                 UnscaleCall<std::uint16_t>{in.data(), out.data(), in.size(), f, 0x1p-5F}, &found);
    CHECK(found == 1);
    CHECK(out == want);
  }
}

}  // namespace
}  // namespace binade::unscale_kernel_test
