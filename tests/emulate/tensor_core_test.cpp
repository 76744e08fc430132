// SPDX-License-Identifier: Apache-2.0
//
// Tensor Core instructions: each gives what an exact oracle computes by its model, and rows worked
// by hand.
#include "emulate/tensor_core.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lib/instruction/instruction_name.h"
#include "tests/emulate/dot_by_oracle.h"

namespace binade::tensor_core_test {
namespace {

using test::by_oracle;
using test::DrawnDot;
using test::Random;

bool same(std::uint64_t x, std::uint64_t y, const Format& f) {
  if (x == y) return true;
  // The bits of NaNs of binary64 are open.
  return f == binary64 && decode(x, f).kind == Kind::nan && decode(y, f).kind == Kind::nan;
}

std::string words(const DrawnDot& row) {
  std::string out = "c " + std::to_string(row.c);
  for (std::size_t i = 0; i < row.a.size(); ++i) {
    out += ", " + std::to_string(row.a[i]) + " * " + std::to_string(row.b[i]);
  }
  return out;
}

/// Instructions that differ in what they compute, not only in m and n. Integers and
/// scales of blocks have tests of their own.
std::vector<Instruction> computations() {
  std::vector<Instruction> out;
  for (const Architecture& on : architectures) {
    const int sm = on.sm;
    for (const Instruction& x : instructions_of(sm)) {
      if (is_integer(x.types.a) || is_scaled(x.model)) continue;
      const bool known = std::ranges::any_of(out, [&](const Instruction& y) {
        return x.model == y.model && x.types == y.types && x.k == y.k;
      });
      if (!known) out.push_back(x);
    }
  }
  return out;
}

bool is_sparse(const Instruction& x) { return x.model.sparse_group != 0; }

/// A row of half as many products, for the oracle, and the same row with zeros of a between them.
struct SparseRow {
  DrawnDot dense, sparse;
};

SparseRow draw_sparse(Random& random, const Instruction& x) {
  SparseRow out{test::draw_dot(random, x.types, x.k / 2), {}};
  const int group = x.model.sparse_group;
  std::size_t next = 0;
  for (int first = 0; first < x.k; first += group) {
    const int left_out = test::between(random, 0, group - 1);
    const int other = group == 2 ? left_out : (left_out + test::between(random, 1, 3)) % 4;
    for (int i = 0; i < group; ++i) {
      const bool zero = i == left_out || i == other;
      if (!zero && out.dense.a[next] == 0) out.dense.a[next] = out.dense.b[next] = 1;
      out.sparse.a.push_back(zero ? 0 : out.dense.a[next]);
      out.sparse.b.push_back(zero ? random() >> (64 - x.types.b.bits()) : out.dense.b[next]);
      next += zero ? 0 : 1;
    }
  }
  out.sparse.c = out.dense.c;
  return out;
}

TEST_CASE("every instruction of every architecture computes what the exact oracle does") {
  Random random(1);
  std::uint64_t rows = 0;
  std::uint64_t finite = 0;
  std::uint64_t subnormal = 0;
  std::uint64_t zero = 0;
  const std::vector<Instruction> all = computations();
  CHECK(all.size() > 60);
  for (const Instruction& x : all) {
    CAPTURE(instruction_name(x));
    CAPTURE(x.sm);
    for (int i = 0; i < 400; ++i) {
      const SparseRow both = is_sparse(x) ? draw_sparse(random, x) : SparseRow{};
      const DrawnDot row = is_sparse(x) ? both.sparse : test::draw_dot(random, x.types, x.k);
      const std::uint64_t got = dot(x.model, x.types, row.a.data(), row.b.data(), x.k, row.c);
      const std::uint64_t want = by_oracle(x, is_sparse(x) ? both.dense : row);
      CAPTURE(words(row));
      CAPTURE(got);
      CAPTURE(want);
      REQUIRE(same(got, want, x.types.d));
      const Exact value = decode(got, x.types.d);
      ++rows;
      finite += value.kind == Kind::finite ? 1 : 0;
      zero += value.kind == Kind::zero ? 1 : 0;
      subnormal += is_subnormal(got, x.types.d) ? 1 : 0;
    }
  }
  CHECK(rows == 400 * all.size());
  CHECK(finite > rows / 2);
  CHECK(zero > rows / 200);
  CHECK(subnormal > rows / 400);
}

TEST_CASE("m8n8k4 into f16: the first pair is added to c before the second") {
  const DotTypes types{binary16, binary16, binary16, binary16};
  const Instruction x = *find_instruction(Family::mma, 90, 8, 8, 4, types);
  CHECK(x.model.recipe == Recipe::pairwise);
  // 65504 - 65504 · 1, then + 2^-10 · 2^-3, which would vanish beside a single 65504 in binary32.
  const std::uint64_t a[]{0, 0xFBFF, 0, 0x1400};
  const std::uint64_t b[]{0, 0x3C00, 0, 0x3000};
  CHECK(dot(x.model, types, a, b, 4, 0x7BFF) == 0x0800);
  const std::uint64_t turned_a[]{0, 0x1400, 0, 0xFBFF};
  const std::uint64_t turned_b[]{0, 0x3000, 0, 0x3C00};
  CHECK(dot(x.model, types, turned_a, turned_b, 4, 0x7BFF) == 0);
}

TEST_CASE("wgmma without c is the oracle's with +0, with a minus the oracle's of minus a") {
  Random random(5);
  const DotTypes types{binary16, binary16, binary32, binary32};
  const Instruction plain = *find_instruction(Family::wgmma, 90, 64, 8, 16, types);
  for (int i = 0; i < 2000; ++i) {
    const DrawnDot row = test::draw_dot(random, types, 16);
    DrawnDot minus = row;
    for (std::uint64_t& a : minus.a) a ^= 0x8000;
    DrawnDot no_c = row;
    no_c.c = 0;
    const auto with = [&](const WgmmaScales& scales) {
      DotModel model = plain.model;
      model.scales = scales;
      return dot(model, types, row.a.data(), row.b.data(), 16, row.c);
    };
    CHECK(with({.without_c = true}) == by_oracle(plain, no_c));
    CHECK(with({.minus_a = true}) == by_oracle(plain, minus));
    CHECK(with({.minus_b = true}) == by_oracle(plain, minus));
    CHECK(with({.minus_a = true, .minus_b = true}) == by_oracle(plain, row));
  }
}

std::uint64_t run(const Instruction& x, std::vector<std::uint64_t> a, std::vector<std::uint64_t> b,
                  std::uint64_t c) {
  a.resize(static_cast<std::size_t>(x.k));
  b.resize(static_cast<std::size_t>(x.k));
  return dot(x.model, x.types, a.data(), b.data(), x.k, c);
}

Instruction named(const char* name, int sm) { return parse_instruction(name, sm); }

TEST_CASE("the ladder of products below the floor ends where the table says") {
  // 2^-25 is a tie to 0 in binary16; what is kept below it decides. 2^-46 is the last bit kept.
  const Instruction hopper = named("mma.m16n8k16.f16.f16.f16.f16", 90);
  const std::uint64_t e11 = 0x1000;                               // 2^-11
  const std::uint64_t e14 = 0x0400;                               // 2^-14
  CHECK(run(hopper, {e11, 0x0002}, {e14, 0x0002}, 0) == 0x0001);  // 2^-46
  CHECK(run(hopper, {e11, 0x0002}, {e14, 0x0001}, 0) == 0x0000);  // 2^-47
  const Instruction wgmma = named("wgmma.m64n8k16.f16.f16.f16", 90);
  CHECK(run(wgmma, {e11, 0x0002}, {e14, 0x0002}, 0) == 0x0001);  // as mma, by rows of an H100
  CHECK(run(wgmma, {e11, 0x0002}, {e14, 0x0001}, 0) == 0x0000);
  const Instruction tcgen05 = named("tcgen05.m128n64k16.f16.f16.f16", 100);
  CHECK(run(tcgen05, {e11, 0x0002}, {e14, 0x0002}, 0) == 0x0001);  // by MMA-Sim 2.1
  CHECK(run(tcgen05, {e11, 0x0001}, {e14, 0x0001}, 0) == 0x0000);
  // bfloat16 to binary32: 2^-149 - 2^-n is 2^-149 only where 2^-n is dropped.
  const Instruction bf16 = named("mma.m16n8k16.f32.bf16.bf16.f32", 90);
  const auto power = [](int e) { return static_cast<std::uint64_t>(e + 127) << 7; };
  CHECK(run(bf16, {power(-23), power(-60)}, {power(-126), power(-98) | 0x8000}, 0) == 0x00000000);
  CHECK(run(bf16, {power(-23), power(-60)}, {power(-126), power(-99) | 0x8000}, 0) == 0x00000001);
}

TEST_CASE("specials, signs of zero and the ends of the range are as stated") {
  const Instruction x = named("mma.m16n8k16.f32.f16.f16.f32", 90);
  const std::uint64_t one = 0x3C00;
  CHECK(run(x, {0xFE01}, {0x0000}, 0) == 0x7FFFFFFF);            // NaN · 0
  CHECK(run(x, {0x7C00}, {0x0000}, 0) == 0x7FFFFFFF);            // Inf · 0
  CHECK(run(x, {0x7C00, one}, {one, 0xFC00}, 0) == 0x7FFFFFFF);  // Inf - Inf
  CHECK(run(x, {0xFC00}, {one}, 0x7F800000) == 0x7FFFFFFF);      // Inf - Inf, with c
  CHECK(run(x, {0xFC00}, {one}, 0x7F7FFFFF) == 0xFF800000);      // -Inf
  CHECK(run(x, {}, {}, 0xFFC00001) == 0x7FFFFFFF);               // a NaN in c
  CHECK(run(x, {0x8000}, {one}, 0x80000000) == 0x00000000);      // all -0
  CHECK(run(x, {one, one}, {one, 0xBC00}, 0) == 0x00000000);     // 1 - 1
  CHECK(run(x, {one}, {0xBC00}, 0x3F800000) == 0x00000000);      // c - 1
  const Instruction bf16 = named("mma.m16n8k16.f32.bf16.bf16.f32", 90);
  CHECK(run(bf16, {0x7F7F}, {0x7F7F}, 0) == 0x7F800000);  // beyond the range: Inf
  CHECK(run(bf16, {0x7F7F, 0x7F7F}, {0x7F7F, 0xFF7F}, 0x3F800000) ==
        0x00000000);  // cancels; c lost
  const Instruction half = named("mma.m16n8k16.f16.f16.f16.f16", 90);
  CHECK(run(half, {0x7BFF}, {one}, 0x4BFF) == 0x7BFF);  // 65519.99
  CHECK(run(half, {0x7BFF}, {one}, 0x4C00) == 0x7C00);  // 65520
}

TEST_CASE("tf32 clears its low bits before a code is told to be a NaN, by words of a B200") {
  for (const auto& [name, sm] : {std::pair{"tcgen05.m128n64k8.f32.tf32.tf32", 100},
                                 std::pair{"mma.m16n8k8.f32.tf32.tf32.f32", 90}}) {
    const Instruction x = named(name, sm);
    CHECK(run(x, {0x7F800001}, {0x3F800000}, 0) == 0x7F800000);
    CHECK(run(x, {0xFF801FFF}, {0x3F800000}, 0) == 0xFF800000);
    CHECK(run(x, {0x7F802000}, {0x3F800000}, 0) == 0x7FFFFFFF);
    CHECK(run(x, {0x00001FFF}, {0x7F800000}, 0) == 0x7FFFFFFF);  // a zero times an infinity
  }
}

TEST_CASE("a NaN at a place that sparsity leaves out is absent, with scales of blocks, too") {
  const Instruction x = named(
      "mma.sp.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0", 120);
  std::vector<std::uint64_t> a(64), b(64, 0x7F);
  a[1] = a[3] = 0x38;
  b[1] = b[3] = 0x38;
  for (std::size_t i = 4; i < 64; i += 4) b[i] = b[i + 1] = 0x38;  // beside zeros that are kept
  CHECK(run(x, a, b, 0) == 0x40000000);
  b[3] = 0x7F;
  CHECK(run(x, a, b, 0) == 0x7FFFFFFF);
}

TEST_CASE("FP8 on Hopper: wgmma cuts c to 13 bits, mma.sync is two f16 instructions and c last") {
  const Instruction wgmma = named("wgmma.m64n8k32.f32.e4m3.e4m3", 90);
  CHECK(run(wgmma, {}, {}, 0x3FFFFFFF) == 0x3FFFFC00);
  CHECK(named("wgmma.m64n256k32.f32.e4m3.e5m2", 90).model == wgmma.model);
  const Instruction mma = named("mma.m16n8k32.f32.e4m3.e4m3.f32", 90);
  CHECK(mma.model.recipe == Recipe::expanded);
  CHECK(run(mma, {}, {}, 0x3FFFFFFF) == 0x3FFFFFFF);
  // 2^8 - 2^8 in different halves, 2^-17 between: kept only where the pair cancels first.
  std::vector<std::uint64_t> a(32), b(32);
  a[0] = a[1] = 0x58;                      // 16
  b[0] = 0x58;                             // 16
  b[1] = 0xD8;                             // -16
  a[2] = b[2] = 0x01;                      // 2^-9
  CHECK(run(mma, a, b, 0) == 0x36800000);  // 2^-18
  const Instruction ada = named("mma.m16n8k32.f32.e4m3.e4m3.f32", 89);
  CHECK(run(ada, a, b, 0) == 0x00000000);
}

TEST_CASE("what ptxas writes in other instructions is computed as those do") {
  // m8n8k4 from sm_80 on: fma in binary32 from +0, then + c. 2^24 + 1 + 1 loses both ones.
  const Instruction chain = named("mma.m8n8k4.f32.f16.f16.f32", 90);
  const std::uint64_t one = 0x3C00;
  const std::uint64_t e12 = 0x6C00;  // 2^12
  CHECK(run(chain, {e12, one, one}, {e12, one, one}, 0) == 0x4B800000);
  CHECK(run(chain, {one, one, e12}, {one, one, e12}, 0) == 0x4B800001);
  CHECK(run(chain, {one, one}, {one, one}, 0x4B800000) == 0x4B800001);  // 2^24 + (1 + 1)
  CHECK(run(chain, {one, 0x7C00}, {one, 0x0000}, 0) == 0x7FFFFFFF);
  const Instruction half_chain = named("mma.m8n8k4.f16.f16.f16.f16", 120);
  CHECK(run(half_chain, {one, one}, {one, 0x1000}, 0x1000) == 0x3C01);  // 1 + 2^-11 + 2^-11
  // c in f32, d in f16: 1 + 2^-11 + 2^-23 is above the tie in f32; 2^-25 more is cut in f32 first.
  const Instruction narrowed = named("wmma.m16n16k16.f16.f16.f16.f32", 90);
  CHECK(run(narrowed, {one}, {0x1000}, 0x3F800000) == 0x3C00);
  CHECK(run(narrowed, {one}, {0x1000}, 0x3F800001) == 0x3C01);
  CHECK(run(narrowed, {one, 0x0400}, {0x1000, 0x1000}, 0x3F800000) == 0x3C00);
  CHECK(run(narrowed, {0x7E00}, {one}, 0) == 0x7FFF);
  // FP8 k16: products 2 and 3 of each four come in the second instruction.
  const Instruction half = named("mma.m16n8k16.f32.e4m3.e4m3.f32", 90);
  CHECK(run(half, {0x58, 0x58, 0x01}, {0x58, 0xD8, 0x01}, 0) == 0x36800000);
  CHECK(run(half, {0x58, 0x01, 0x58}, {0x58, 0x01, 0xD8}, 0) == 0x00000000);
}

}  // namespace
}  // namespace binade::tensor_core_test
