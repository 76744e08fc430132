// SPDX-License-Identifier: Apache-2.0
//
// Kernels with deliberate faults, and the cause that is suspected from their bits.
#include "lib/explain/suspicion.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "emulate/philox.h"

namespace binade::suspicion_test {
namespace {

struct Dot {
  NamedGemm gemm = parse_gemm("mma.m16n8k16.f32.f16.f16.f32", 90);
  std::vector<std::uint64_t> a, b;
  std::uint64_t c = 0x40600000;  // 3.5

  Dot() {
    gemm.model.sum.c_first = true;
    for (std::size_t i = 0; i < 64; ++i) {  // all between 1 and 2
      a.push_back(0x3C00 | random_word(1, 0, i) >> 22);
      b.push_back(0x3C00 | random_word(2, 0, i) >> 22);
    }
  }
  GemmElement<std::uint64_t> element() const { return {a.data(), b.data(), 64, c, 0, true, false}; }
  std::uint64_t result() const { return gemm_element(gemm.model, element()); }

  /// Returns the suspicion about a kernel that gave the sum of other operands in the place of that
  /// of these.
  std::vector<std::string> said_of(std::uint64_t hardware) const {
    Explanation x = explain_element(gemm, element());
    x.hardware = Typed{hardware, binary32};
    return suspicions(x);
  }
};

std::string first(const std::vector<std::string>& said) { return said.empty() ? "" : said[0]; }

TEST_CASE("what is equal, or another rounding, is not suspected") {
  const Dot dot;
  CHECK(dot.said_of(dot.result()).empty());
  CHECK(dot.said_of(dot.result() + 1).empty());
  CHECK(dot.said_of(dot.result() - 5).empty());
  CHECK(dot.said_of(0x7FC00000).empty());
  CHECK(dot.said_of(0x7F800000).empty());
}

TEST_CASE("a kernel that stops early, or never begins") {
  const Dot dot;
  Dot early;
  for (std::size_t i = 48; i < 64; ++i) early.a[i] = 0;
  CHECK(first(dot.said_of(early.result())) == "the sum after block 3, k 32…47: did it stop there?");
  CHECK(first(dot.said_of(early.result() + 3)) ==
        "the sum after block 3, k 32…47: did it stop there?");
  CHECK(first(dot.said_of(0)) == "0: was it written at all?");
}

TEST_CASE("a product that is missing, counted twice or subtracted") {
  const Dot dot;
  for (const std::size_t k : {0U, 17U, 63U}) {
    const std::string place = "k " + std::to_string(k);
    Dot other;
    other.a[k] = 0;
    CHECK(first(dot.said_of(other.result())) == "the sum without the product of " + place);
    other.a[k] = dot.a[k] ^ 0x8000;
    CHECK(first(dot.said_of(other.result())) ==
          "the sum with the product of " + place + " subtracted");
    other.a[k] = dot.a[k] + 0x0400;
    CHECK(first(dot.said_of(other.result())) == "the sum with the product of " + place + " twice");
  }
}

TEST_CASE("a chain of rounded operations that stops early, or leaves out a product") {
  for (const char* name : {"fma.rn.f32.f16.f16.f32", "mul_add.rn.f32.f16.f16.f32"}) {
    Dot dot;
    dot.gemm = parse_gemm(name, 0);
    dot.c = 0;
    float sum = 0, without = 0;  // products of binary16 are exact in binary32
    std::uint32_t early = 0, missing = 0;
    for (std::size_t i = 0; i < 64; ++i) {
      const auto number = [](std::uint64_t bits) { return 1 + float(bits & 0x3FF) / 1024; };
      sum += number(dot.a[i]) * number(dot.b[i]);
      if (i != 20) without += number(dot.a[i]) * number(dot.b[i]);
      if (i == 47) early = std::bit_cast<std::uint32_t>(sum);
    }
    missing = std::bit_cast<std::uint32_t>(without);
    CHECK(dot.said_of(std::bit_cast<std::uint32_t>(sum)).empty());
    CHECK(first(dot.said_of(early)) == "the sum after the product of k 47: did it stop there?");
    CHECK(first(dot.said_of(missing)) == "the sum without the product of k 20");
    CHECK(dot.said_of(missing + 20000).empty());
  }
}

TEST_CASE("a sum without c, and one with the other sign") {
  const Dot dot;
  Dot without;
  without.c = 0;
  CHECK(first(dot.said_of(without.result())) == "the sum without c");
  CHECK(first(dot.said_of(dot.result() ^ 0x80000000)) == "the sum with the other sign");
}

TEST_CASE("what the model itself loses hides small mistakes") {
  // 448 · 448, of which 13 bits leave units of 16; 140 in twenty products of 7, which vanish; 144.
  const NamedGemm gemm = parse_gemm("wgmma.m64n8k32.f32.e4m3.e4m3", 90);
  std::vector<std::uint64_t> a(32, 0x4E);
  std::vector<std::uint64_t> b(32);
  std::fill_n(b.begin() + 2, 20, 0x38);
  a[0] = b[0] = 0x7E;
  a[1] = b[1] = 0x54;
  Explanation x = explain_element(gemm, {a.data(), b.data(), 32, 0, 0, false, false});
  CHECK(to_double(value_of(x.result)) == 200704 + 144);
  x.hardware = Typed{0x48440000, binary32};  // 200704: without 12 · 12
  CHECK(suspicions(x).empty());
}

TEST_CASE("bits that no such mistake explains are left alone") {
  const Dot dot;
  CHECK(dot.said_of(0x4B000000).empty());
  // 0.8 less: the smallest product is 1, and near is not enough.
  CHECK(dot.said_of(dot.result() - 52429).empty());
}

}  // namespace
}  // namespace binade::suspicion_test
