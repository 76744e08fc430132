// SPDX-License-Identifier: Apache-2.0
//
// The products of layers, and the padding of sizes worked out by hand.
#include "lib/train/shapes.h"

#include <doctest/doctest.h>

#include "emulate/format.h"

namespace binade::shapes_test {
namespace {

TEST_CASE("a linear layer's three products have its sizes in three orders") {
  const auto products = products_of(LinearSizes{.tokens = 5, .in = 7, .out = 11});
  CHECK(products[0] == Extents{5, 11, 7});
  CHECK(products[1] == Extents{5, 7, 11});
  CHECK(products[2] == Extents{7, 11, 5});
}

TEST_CASE("a convolution's products are its implicit GEMMs") {
  // ResNet's stem: 7x7 of stride 2 over 224x224 gives 112x112.
  const ConvSizes stem{.batch = 32,
                       .channels = 3,
                       .height = 224,
                       .width = 224,
                       .filters = 64,
                       .rows = 7,
                       .columns = 7,
                       .stride = 2,
                       .padding = 3};
  CHECK(stem.out_height() == 112);
  const auto products = products_of(stem);
  CHECK(products[0] == Extents{32 * 112 * 112, 64, 147});
  CHECK(products[1] == Extents{32 * 224 * 224, 3, 64 * 49});
  CHECK(products[2] == Extents{147, 64, 32 * 112 * 112});
}

TEST_CASE("a 1x1 convolution is a linear layer over its places") {
  const ConvSizes conv{
      .batch = 2, .channels = 6, .height = 3, .width = 5, .filters = 4, .rows = 1, .columns = 1};
  CHECK(products_of(conv) == products_of(LinearSizes{2 * 3 * 5, 6, 4}));
}

TEST_CASE("every product of a layer multiplies equally often") {
  for (const Extents& p : products_of(LinearSizes{4096, 4096, 50257})) {
    CHECK(p.m * p.n * p.k == std::uint64_t{4096} * 4096 * 50257);
  }
}

TEST_CASE("16 bytes hold 8 elements of 16 bits, 16 of 8, 4 of tf32") {
  CHECK(aligned_elements(binary16) == 8);
  CHECK(aligned_elements(bfloat16) == 8);
  CHECK(aligned_elements(e4m3) == 16);
  CHECK(aligned_elements(tf32) == 4);
  CHECK(aligned_elements(binary64) == 2);
}

bool is(int sm, const Format& format, Family family, int m, int n, int k) {
  const auto x = instruction_for(sm, format);
  return x && x->family == family && x->m == m && x->n == n && x->k == k;
}

TEST_CASE("the widest dense instruction of each architecture") {
  CHECK(is(70, binary16, Family::mma, 8, 8, 4));
  CHECK(is(75, binary16, Family::mma, 16, 8, 8));
  CHECK(is(80, binary16, Family::mma, 16, 8, 16));
  CHECK(is(80, tf32, Family::mma, 16, 8, 8));
  CHECK(is(89, e4m3, Family::mma, 16, 8, 32));
  CHECK(is(90, binary16, Family::wgmma, 64, 8, 16));
  CHECK(is(90, e5m2, Family::wgmma, 64, 8, 32));
  CHECK(is(90, binary64, Family::mma, 16, 8, 16));
  CHECK(is(100, bfloat16, Family::tcgen05, 64, 8, 16));
  CHECK(is(120, e2m1, Family::mma, 16, 8, 32));
  CHECK_FALSE(instruction_for(70, bfloat16));
  CHECK_FALSE(instruction_for(80, e4m3));
  CHECK_FALSE(instruction_for(90, binary32));
}

TEST_CASE("GPT-2's vocabulary of 50257 wants 50264, and 50304 costs nothing either") {
  const InstructionShape wgmma{Family::wgmma, 64, 8, 16};
  const ShapeAdvice odd = advise({4096, 50257, 768}, binary16, wgmma);
  CHECK(odd.n.aligned == 50264);
  CHECK(odd.n.padded == 50264);
  CHECK_FALSE(odd.is_aligned());
  CHECK(odd.waste == doctest::Approx(7.0 / 50264).epsilon(1e-12));
  const ShapeAdvice even = advise({4096, 50304, 768}, binary16, wgmma);
  CHECK(even.is_aligned());
  CHECK(even.waste == 0);
}

TEST_CASE("waste counts all three extents of whole instructions") {
  const ShapeAdvice x = advise({1, 1, 1}, binary16, {Family::mma, 16, 8, 16});
  CHECK(x.waste == 1 - 1.0 / (16 * 8 * 16));
  CHECK(x.m.aligned == 8);
  CHECK(x.m.padded == 16);
  const ShapeAdvice half = advise({16, 8, 8}, binary16, {Family::mma, 16, 8, 16});
  CHECK(half.is_aligned());
  CHECK(half.waste == 0.5);
}

}  // namespace
}  // namespace binade::shapes_test
