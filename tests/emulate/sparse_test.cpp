// SPDX-License-Identifier: Apache-2.0
//
// Which elements of a sparse group are kept, over every pattern of zeros. A sparse dot product
// equals the dense one of the elements that are kept, whatever b holds where a is zero.
#include "emulate/sparse.h"

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>

#include "emulate/tensor_core.h"

namespace binade::sparse_test {

TEST_CASE("the non-zero codes are kept, then the lowest zeros; in order") {
  struct Row {
    unsigned nonzero;
    int first, second;
  };
  for (const Row& row : {Row{0b0000, 0, 1}, Row{0b0001, 0, 1}, Row{0b0010, 0, 1}, Row{0b0100, 0, 2},
                         Row{0b1000, 0, 3}, Row{0b0011, 0, 1}, Row{0b0101, 0, 2}, Row{0b1001, 0, 3},
                         Row{0b0110, 1, 2}, Row{0b1010, 1, 3}, Row{0b1100, 2, 3}}) {
    CAPTURE(row.nonzero);
    std::uint16_t group[4]{};
    for (int i = 0; i < 4; ++i)
      group[i] = (row.nonzero >> i & 1) != 0 ? std::uint16_t{0x8000} : std::uint16_t{0};
    CHECK(kept_position(group, 4, 0) == row.first);
    CHECK(kept_position(group, 4, 1) == row.second);
  }
  const std::uint32_t second[]{0, 1};
  const std::uint32_t none[]{0, 0};
  CHECK(kept_position(second, 2, 0) == 1);
  CHECK(kept_position(none, 2, 0) == 0);
}

TEST_CASE("of eight codes, two pairs are kept, each for either of its codes") {
  for (unsigned nonzero = 0; nonzero < 256; ++nonzero) {
    CAPTURE(nonzero);
    std::uint8_t group[8]{}, pairs[4]{};
    for (unsigned i = 0; i < 8; ++i) {
      group[i] = (nonzero >> i & 1) != 0 ? std::uint8_t{8} : std::uint8_t{0};
      pairs[i / 2] |= group[i];
    }
    for (int which = 0; which < 4; ++which) {
      CHECK(kept_position(group, 8, which) == 2 * kept_position(pairs, 4, which / 2) + which % 2);
    }
  }
}

TEST_CASE("a group with more than half non-zero codes keeps the first") {
  const std::uint16_t group[]{1, 1, 1, 1};
  CHECK(kept_position(group, 4, 0) == 0);
  CHECK(kept_position(group, 4, 1) == 1);
}

TEST_CASE("a sparse dot: what stands beside a zero of a that is not kept does not exist") {
  const auto types = DotTypes{binary16, binary16, binary32, binary32};
  const Instruction sparse = *find_instruction(Family::mma_sp, 90, 16, 8, 16, types);
  std::uint64_t a[16]{};
  std::uint64_t b[16]{};
  for (std::uint64_t i = 0; i < 8; ++i) {
    a[2 * i + 1] = 0x3C00 + i;
    b[2 * i + 1] = 0x3C00 + 3 * i;
    b[2 * i] = 0x7C00;
  }
  std::uint64_t kept_a[8];
  std::uint64_t kept_b[8];
  keep_half(a, b, 16, 4, kept_a, kept_b);
  for (std::uint64_t i = 0; i < 8; ++i) CHECK(kept_b[i] == 0x3C00 + 3 * i);
  DotModel dense = sparse.model;
  dense.sparse_group = 0;
  const std::uint64_t d = dot(sparse.model, types, a, b, 16, 0x3F800000);
  CHECK(d == dot(dense, types, kept_a, kept_b, 8, 0x3F800000));
  CHECK(kind_of(fields_of(d, binary32), binary32) == Kind::finite);
  CHECK(dot(dense, types, a, b, 16, 0x3F800000) == 0x7FFFFFFF);
}

/// Words of a B200's tcgen05.mma.sp that the public project sf-tensor/tcgen05 has frozen
/// (validation.py of 8fce64d): b is 1 everywhere, a is 1 at some places of each group, and the
/// metadata keep the first two elements or pairs of each. The second scale of a is `other`, which
/// no product has where one scale is that of all 64 elements.
struct WordOfB200 {
  ScaledKind kind;
  Format type;
  std::uint8_t one, scale, other;
  int group, first, last;  ///< a is 1 at the places `first` to `last` of each group
};

TEST_CASE("which elements are kept, and which scales they have: words of a B200") {
  for (const WordOfB200& row :
       {WordOfB200{ScaledKind::mxf8f6f4, e4m3, 0x38, 0x7F, 0x80, 4, 0, 1},
        WordOfB200{ScaledKind::mxf4, e2m1, 2, 0x7F, 0x7F, 8, 2, 3},
        WordOfB200{ScaledKind::mxf4nvf4_2x, e2m1, 2, 0x7F, 0x7F, 8, 2, 3},
        WordOfB200{ScaledKind::mxf4nvf4_4x_e8m0, e2m1, 2, 0x7F, 0x7F, 8, 2, 3},
        WordOfB200{ScaledKind::mxf4nvf4_4x, e2m1, 2, 0x38, 0x38, 8, 2, 3}}) {
    const int k = row.kind == ScaledKind::mxf8f6f4 ? 64 : 128;
    CAPTURE(static_cast<int>(row.kind));
    const auto types = DotTypes{row.type, row.type, binary32, binary32};
    const Instruction x = *find_instruction(Family::tcgen05_sp, 100, 128, 64, k, types, row.kind);
    std::uint8_t a[128]{}, b[128]{};
    for (int i = 0; i < k; ++i) {
      const int at = i % row.group;
      a[i] = at >= row.first && at <= row.last ? row.one : std::uint8_t{0};
      b[i] = row.one;
    }
    REQUIRE(x.model.sparse_group == row.group);
    for (int i = 0; i < k; ++i) {
      const int which = i % row.group;
      if (which >= row.group / 2) continue;
      CHECK(kept_position(a + (i - which), row.group, which) == which);  // as the metadata say
    }
    const std::uint8_t of_a[]{row.scale, row.other, row.scale, row.scale};
    const std::uint8_t of_b[]{row.scale, row.scale, row.scale, row.scale};
    CHECK(dot(x.model, types, a, b, k, 0, NoTrace{}, {of_a, of_b}) == 0x42000000);
  }
}

TEST_CASE("tcgen05.mma.sp of tf32 keeps one of each two: b is not read beside the other") {
  const auto types = DotTypes{tf32, tf32, binary32, binary32};
  const Instruction x = *find_instruction(Family::tcgen05_sp, 110, 64, 8, 16, types);
  std::uint32_t a[16]{}, b[16]{};
  for (int i = 0; i < 16; ++i) {
    a[i] = i % 2 == i / 8 ? 0x3F800000U : 0;  // the first of each two, then the second
    b[i] = i % 2 == i / 8 ? 0x3F800000U : 0x7FC00000U;
  }
  CHECK(dot(x.model, types, a, b, 16, 0) == 0x41000000);
}

}  // namespace binade::sparse_test
