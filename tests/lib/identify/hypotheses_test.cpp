// SPDX-License-Identifier: Apache-2.0
//
// Kernels with a mistake each, written here in float and in integers, and what is told of their D.
#include "lib/identify/hypotheses.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "emulate/gemm.h"
#include "emulate/integer_dot.h"
#include "emulate/philox.h"
#include "lib/gemm/named_gemm.h"
#include "lib/identify/identification.h"
#include "lib/number/spread_places.h"
#include "tests/lib/identify/square_kernels.h"

namespace binade::hypotheses_test {
namespace {

using namespace test;

TEST_CASE("a transposed operand or result") {
  const Matrices x;
  check_first(hypotheses_about(x, x.multiplied([&](std::size_t i, std::size_t j, std::size_t k) {
                return x.at_a(i, k) * x.at_b(j, k);
              })),
              "B transposed");
  const std::vector<float> d = x.right();
  std::vector<float> turned(d.size());
  for (std::size_t at = 0; at < d.size(); ++at) turned[at] = d[at % side * side + at / side];
  check_first(hypotheses_about(x, turned), "D transposed");
}

TEST_CASE("operands that are read, and results that are written, some elements away in memory") {
  const Matrices x;
  const auto there = [](const std::vector<float>& of, std::ptrdiff_t at) {
    return at >= 0 && at < static_cast<std::ptrdiff_t>(of.size()) ? of[static_cast<std::size_t>(at)]
                                                                  : 0.0F;
  };
  const auto place = [](std::size_t i, std::size_t j, std::ptrdiff_t by) {
    return static_cast<std::ptrdiff_t>(i * side + j) + by;
  };
  check_first(hypotheses_about(x, x.multiplied([&](std::size_t i, std::size_t j, std::size_t k) {
                return there(x.a, place(i, k, 1)) * x.at_b(k, j);
              })),
              "A read 1 element further on in memory");
  check_first(hypotheses_about(x, x.multiplied([&](std::size_t i, std::size_t j, std::size_t k) {
                return x.at_a(i, k) * there(x.b, place(k, j, -7));
              })),
              "B read 7 elements before its place in memory");
  const std::vector<float> d = x.right();
  std::vector<float> moved(d.size());
  for (std::size_t i = 0; i < side; ++i) {
    for (std::size_t j = 0; j < side; ++j) moved[i * side + j] = there(d, place(i, j, -3));
  }
  const KernelHypotheses found = hypotheses_about(x, moved);
  REQUIRE(!found.told.empty());
  CHECK(found.told[0].words.starts_with("D written 3 elements further on in memory"));
  CHECK(found.told[0].equal >= d.size() - 3);
}

TEST_CASE("operands cut to bf16") {
  const Matrices x;
  const auto cut = [](float number) {
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(number) & 0xFFFF0000);
  };
  const auto found =
      hypotheses_about(x, x.multiplied([&](std::size_t i, std::size_t j, std::size_t k) {
        return cut(x.at_a(i, k)) * cut(x.at_b(k, j));
      }));
  check_first(found, "operands rounded to bf16, toward_zero");
  CHECK(found.told[0].model.find("--round=toward_zero") != std::string::npos);
}

/// A number rounded to bf16, to nearest with ties to even.
float to_bf16(double number) {
  int exponent = 0;
  const double part = std::frexp(number, &exponent);
  return static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(part, 8)), exponent - 8));
}

TEST_CASE("two mistakes at once") {
  const Matrices x;
  std::vector<float> d = x.multiplied(
      [&](std::size_t i, std::size_t j, std::size_t k) { return x.at_a(i, k) * x.at_b(j, k); });
  for (float& one : d) {
    one = std::bit_cast<float>(std::bit_cast<std::uint32_t>(one) & 0xFFFF0000);
  }
  check_first(hypotheses_about(x, d),
              "B transposed, and D rounded to bf16, and D rounded toward_zero");
  d = x.multiplied([&](std::size_t i, std::size_t j, std::size_t k) {
    return to_bf16(x.at_a(i, k)) * to_bf16(x.at_b(k, j));
  });
  check_first(hypotheses_about(x, d, true),
              "C left out, and operands rounded to bf16, ties_to_even");
}

TEST_CASE("an accumulator that is narrower than the operands") {
  const Matrices x;
  std::vector<float> d(side * side);
  for (std::size_t k = 0; k < side; ++k) {
    for (std::size_t at = 0; at < d.size(); ++at) {
      d[at] = to_bf16(double{d[at]} + double{x.at_a(at / side, k)} * double{x.at_b(k, at % side)});
    }
  }
  const auto found = hypotheses_about(x, d);
  check_first(found, "D rounded to bf16, and an accumulator of bf16");
  CHECK(found.told[0].model == "--instruction fma.rn.bf16.f32.f32.bf16");
}

TEST_CASE("a tile of an operand that is read before it is written") {
  const Matrices x;
  const auto d = x.multiplied([&](std::size_t i, std::size_t j, std::size_t k) {
    return x.at_a(i, k < 16 ? k : k - 8) * x.at_b(k, j);
  });
  check_first(hypotheses_about(x, d), "k 16..23 of A hold its k 8..15");
}

TEST_CASE("fragments whose k are in another order") {
  const Matrices x;
  constexpr std::size_t met[8]{0, 2, 4, 6, 1, 3, 5, 7};
  const auto d = x.multiplied([&](std::size_t i, std::size_t j, std::size_t k) {
    return x.at_a(i, k / 8 * 8 + met[k % 8]) * x.at_b(k, j);
  });
  check_first(hypotheses_about(x, d),
              "in each run of 8 k, those of B meet k 0, 2, 4, 6, 1, 3, 5, 7 of A");
  check_first(hypotheses_about(x, x.multiplied([&](std::size_t i, std::size_t j, std::size_t k) {
                return x.at_a(i, k) * x.at_b(side - 1 - k, j);
              })),
              "B's k in the reverse order against A's");
}

TEST_CASE("an accumulator that is not cleared between tiles") {
  const Matrices x;
  std::vector<float> d = x.right();
  for (std::size_t at = 0; at < d.size(); ++at) {
    if (at % side < 16) continue;
    float sum = d[at - 8];
    for (std::size_t k = 0; k < side; ++k) sum += x.at_a(at / side, k) * x.at_b(k, at % side);
    d[at] = sum;
  }
  check_first(
      hypotheses_about(x, d),
      "accumulators not cleared: each element begins with what D holds 8 columns to its left");
}

TEST_CASE("FP8 read as that of AMD") {
  KernelRun run{8, 8, 16, false, {}, {}, {}, {}, {}};
  // Codes without NaNs of either type; e4m3fnuz has half the value of e4m3.
  const auto drawn = [](std::uint64_t stream, std::size_t i) {
    return std::uint64_t{random_word(stream, 2, i) % 0x70};
  };
  const auto number = [](std::uint64_t code) {
    const int exponent = static_cast<int>(code >> 3), fraction = static_cast<int>(code & 7);
    return exponent == 0 ? std::ldexp(fraction, -10) : std::ldexp(8 + fraction, exponent - 11);
  };
  for (std::size_t i = 0; i < 128; ++i) {
    run.a.push_back(drawn(1, i));
    run.b.push_back(drawn(2, i) | (i % 16 == 3 ? 0x7F : 0));
  }
  for (std::size_t at = 0; at < 64; ++at) {
    float sum = 0;
    for (std::size_t k = 0; k < 16; ++k) {
      sum += static_cast<float>(number(run.a[at / 8 * 16 + k]) * number(run.b[at % 8 * 16 + k]));
    }
    run.d.push_back(std::bit_cast<std::uint32_t>(sum));
  }
  const Identification found = identify({e4m3, e4m3, binary32, binary32, binary32}, {run}, {}, {});
  const KernelHypotheses told = hypotheses_of(found);
  REQUIRE(!told.told.empty());
  CHECK(told.told[0].words.starts_with("A and B read as e4m3fnuz"));
  CHECK(told.told[0].equal == 64);
}

TEST_CASE("an addend that is left out, or added twice") {
  const Matrices x;
  std::vector<float> d = x.right();
  check_first(hypotheses_about(x, d, true), "C left out");
  std::vector<float> rectified = d;
  for (std::size_t at = 0; at < d.size(); ++at) rectified[at] += std::max(x.c[at], 0.0F);
  check_first(hypotheses_about(x, rectified, true), "a ReLU of C alone");
  std::vector<float> strided = d;
  for (std::size_t at = 0; at < d.size(); ++at) {
    const std::size_t flat = at / side * (side + 1) + at % side;
    strided[at] += flat < x.c.size() ? x.c[flat] : 0;
  }
  check_first(
      hypotheses_about(x, strided, true),
      "C's rows of " + std::to_string(side) + " read with a stride of " + std::to_string(side + 1));
  for (std::size_t at = 0; at < d.size(); ++at) d[at] += 2 * x.c[at];
  check_first(hypotheses_about(x, d, true), "C scaled by 2");
}

TEST_CASE("a bias of bf16 that is read as f16") {
  const Matrices x;
  KernelRun run{side, side, side, false, bits_of_all(x.a), bits_of_all(x.b), {}, {}, {}};
  for (std::size_t j = 0; j < side; ++j) run.bias.push_back(0x3C00 + 37 * j);
  for (std::size_t at = 0; at < side * side; ++at) {
    float sum = 0;
    for (std::size_t k = 0; k < side; ++k) {
      sum += x.a[at / side * side + k] * x.b[at % side * side + k];
    }
    // From 1 on, in steps of 2^-10.
    sum += 1.0F + static_cast<float>(37 * (at % side)) / 1024.0F;
    run.d.push_back(std::bit_cast<std::uint32_t>(sum));
  }
  const KernelTypes types{binary32, binary32, binary32, binary32, bfloat16};
  check_first(hypotheses_of(identify(types, {run}, {}, {.nearest = 1, .rare = false}, {},
                                     {.instructions = false, .tf32 = false})),
              "the bias read as f16");
}

TEST_CASE("scales in another place or power than theirs") {
  const Matrices x;
  std::vector<float> of_a, of_b;
  for (std::size_t i = 0; i < side; ++i) {
    of_a.push_back(std::abs(Matrices::drawn(6, i)));
    of_b.push_back(std::abs(Matrices::drawn(7, i)));
  }
  const auto told_of = [&](auto scaled) {
    std::vector<float> d = x.right();
    for (std::size_t at = 0; at < d.size(); ++at) d[at] = scaled(d[at], at / side, at % side);
    KernelRun run{side, side, side, false, bits_of_all(x.a), {}, {}, {}, bits_of_all(d)};
    for (std::size_t j = 0; j < side; ++j) {
      for (std::size_t k = 0; k < side; ++k) {
        run.b.push_back(std::bit_cast<std::uint32_t>(x.at_b(k, j)));
      }
    }
    run.a_scale = bits_of_all(of_a);
    run.b_scale = bits_of_all(of_b);
    return hypotheses_of(identify(f32_all, {run}, {}, {.nearest = 1, .rare = false}, {},
                                  {.instructions = false, .tf32 = false}));
  };
  using Index = std::size_t;
  check_first(told_of([&](float y, Index i, Index j) { return y * of_b[i] * of_a[j]; }),
              "the scales of A and B exchanged");
  check_first(told_of([&](float y, Index, Index j) { return y * of_b[j]; }), "A's scales left out");
  check_first(told_of([&](float y, Index i, Index j) { return y * (of_a[i] * of_a[i]) * of_b[j]; }),
              "A's scales applied twice");
  check_first(told_of([&](float y, Index i, Index j) { return y * of_a[i % 8] * of_b[j]; }),
              "A's scales: row i has that of i mod 8");
  check_first(told_of([&](float y, Index i, Index j) {
                return y * of_a[i] * std::exp2(std::ceil(std::log2(of_b[j])));
              }),
              "B's scales rounded up to powers of two");
}

TEST_CASE("sums of integers that wrap, bytes 128 off, and zero points by their name") {
  KernelRun run{8, 8, 64, false, {}, {}, {}, {}, {}};
  std::vector<int> a, b;
  for (std::size_t i = 0; i < 512; ++i) {
    a.push_back(static_cast<int>(random_word(1, 5, i) >> 24) - 128);
    b.push_back(static_cast<int>(random_word(2, 5, i) >> 24) - 128);
    run.a.push_back(static_cast<std::uint8_t>(a.back()));
    run.b.push_back(static_cast<std::uint8_t>(b.back()));
  }
  std::vector<int> d;
  for (std::size_t at = 0; at < 64; ++at) {
    int sum = 0;
    for (std::size_t k = 0; k < 64; ++k) sum += a[at / 8 * 64 + k] * b[at % 8 * 64 + k];
    d.push_back(sum);
    run.d.push_back(static_cast<std::uint32_t>(std::int32_t{static_cast<std::int16_t>(sum)}));
  }
  const KernelTypes types{s8, s8, s32, s32, s32};
  const KernelHypotheses wrapped = hypotheses_of(identify(types, {run}, {}, {}));
  REQUIRE(!wrapped.told.empty());
  CHECK(wrapped.told[0].equal == 64);
  CHECK(wrapped.told[0].words.find("hold the low 16 bits of the sum") != std::string::npos);
  for (std::size_t at = 0; at < 64; ++at) {
    int sum = 0;
    for (std::size_t k = 0; k < 64; ++k) sum += (a[at / 8 * 64 + k] + 128) * b[at % 8 * 64 + k];
    run.d[at] = static_cast<std::uint32_t>(sum);
  }
  const KernelHypotheses biased = hypotheses_of(identify(types, {run}, {}, {}));
  REQUIRE(!biased.told.empty());
  CHECK(biased.told[0].words == "A's numbers greater by 128, as with a zero point of -128");
  run.c_words = "zero points";
  for (std::size_t at = 0; at < 64; ++at) {
    run.c.push_back(at % 8 * 1000 + 77);
    run.d[at] = static_cast<std::uint32_t>(d[at]);
  }
  const KernelHypotheses left_out = hypotheses_of(identify(types, {run}, {}, {}));
  REQUIRE(!left_out.told.empty());
  CHECK(left_out.told[0].words == "zero points left out");
  for (std::size_t at = 0; at < 64; ++at) {
    run.d[at] = static_cast<std::uint32_t>(d[at] - static_cast<int>(run.c[at]));
  }
  const KernelHypotheses subtracted = hypotheses_of(identify(types, {run}, {}, {}));
  REQUIRE(!subtracted.told.empty());
  CHECK(subtracted.told[0].words == "zero points subtracted");
  // Zero points of both operands, and kernels that forget or turn some.
  const auto sum_with = [&](std::size_t at, int of_a, int of_b) {
    int sum = 0;
    for (std::size_t k = 0; k < 64; ++k) {
      sum += (a[at / 8 * 64 + k] - of_a) * (b[at % 8 * 64 + k] - of_b);
    }
    return sum;
  };
  run.a_zeros.assign(8, 3);
  run.b_zeros.assign(8, -5);
  for (std::size_t at = 0; at < 64; ++at) {
    run.c[at] = static_cast<std::uint32_t>(sum_with(at, 3, -5) - d[at]);
  }
  struct Mistake {
    int of_a, of_b, more;
    const char* words;
  };
  for (const Mistake& one :
       {Mistake{3, 0, 0, "B's zero points left out"}, Mistake{0, -5, 0, "A's zero points left out"},
        Mistake{-3, -5, 0, "A's zero points added, in place of subtracted"},
        Mistake{3, -5, 64 * 15, "K times both zero points left out"}}) {
    for (std::size_t at = 0; at < 64; ++at) {
      run.d[at] = static_cast<std::uint32_t>(sum_with(at, one.of_a, one.of_b) + one.more);
    }
    const KernelHypotheses found = hypotheses_of(identify(types, {run}, {}, {}));
    REQUIRE(!found.told.empty());
    CHECK(found.told[0].words == one.words);
    CHECK(found.told[0].equal == 64);
  }
}

TEST_CASE("parts of K that are left out or counted twice") {
  const Matrices x;
  const auto weighted = [&](auto weight) {
    return hypotheses_about(x, x.multiplied([&](std::size_t i, std::size_t j, std::size_t k) {
      return weight(k) * x.at_a(i, k) * x.at_b(k, j);
    }));
  };
  check_first(weighted([](std::size_t k) { return k < 16 ? 1.0F : 0.0F; }),
              "the last 8 k of K left out (k 16 on)");
  check_first(weighted([](std::size_t k) { return k % 2 == 0 ? 1.0F : 0.0F; }),
              "the odd k left out");
  check_first(weighted([](std::size_t k) { return k >= 5 && k < 11 ? 0.0F : 1.0F; }),
              "of K, k 5..10 left out");
}

TEST_CASE("runs of K that are multiplied by factors of their own") {
  const Matrices x;
  std::vector<float> d(side * side);
  for (std::size_t at = 0; at < d.size(); ++at) {
    for (const std::size_t first : {0, 8, 16}) {
      float sum = 0;
      for (std::size_t k = first; k < first + 8; ++k) {
        sum += x.at_a(at / side, k) * x.at_b(k, at % side);
      }
      d[at] += sum * (first == 8 ? 1.6F : 1.0F);
    }
  }
  check_first(hypotheses_about(x, d), "parts of 8 k weighted, k 8..15 by 1.6");
}

TEST_CASE("factors of all elements, and of rows") {
  const Matrices x;
  std::vector<float> d = x.right();
  for (float& one : d) one *= 0.125F;
  check_first(hypotheses_about(x, d), "the sum scaled by 2^-3");
  for (std::size_t at = 0; at < d.size(); ++at) d[at] *= 1.0F + static_cast<float>(at / side) / 7;
  check_first(hypotheses_about(x, d), "each row scaled by a factor of its own");
}

TEST_CASE("other elements of C, and integers of four bits taken as unsigned") {
  Matrices x;
  std::vector<float> d = x.right();
  for (std::size_t at = 0; at < d.size(); ++at) d[at] += x.c[at % side];
  check_first(hypotheses_about(x, d, true), "C's first row added to all rows");
  for (float& one : x.b) one = std::floor(4 * (std::abs(one) - 1)) - (one < 0 ? 4.0F : 0.0F);
  const std::vector<float> wrong = x.multiplied([&](std::size_t i, std::size_t j, std::size_t k) {
    const float b = x.at_b(k, j);
    return x.at_a(i, k) * (b < 0 ? b + 16 : b);
  });
  check_first(hypotheses_about(x, wrong), "B's integers of 4 bits taken as unsigned");
}

TEST_CASE("D rounded ties away is found where two elements of many are ties") {
  Matrices x;
  for (std::size_t k = 0; k < side; ++k) x.a[k] = k == 0 ? 1 : 0;
  // Between 1 and the next number of binary16, where a sample of 256 elements has none of them.
  const std::vector<std::size_t> sampled = spread_places(side * side, 256);
  for (std::size_t j = 0, left = 2; j < side && left > 0; ++j) {
    if (std::ranges::binary_search(sampled, j)) continue;
    x.b[j] = 1 + 0x1p-11F;
    --left;
  }
  KernelRun run{side, side, side, false, bits_of_all(x.a), {}, {}, {}, {}};
  for (std::size_t j = 0; j < side; ++j) {
    for (std::size_t k = 0; k < side; ++k) {
      run.b.push_back(std::bit_cast<std::uint32_t>(x.at_b(k, j)));
    }
  }
  std::size_t ties = 0;
  for (const std::uint64_t sum : bits_of_all(x.right())) {
    const auto rounded = [&](Rounding way) {
      return convert(sum, binary32, binary16, {.rounding = way}).bits;
    };
    run.d.push_back(rounded(Rounding::ties_to_away));
    ties += run.d.back() != rounded(Rounding::ties_to_even) ? 1 : 0;
  }
  REQUIRE(ties > 0);
  REQUIRE(20 * ties < side * side);
  const Identification found =
      identify({binary32, binary32, binary32, binary16, binary32}, {run}, {}, {.rare = false}, {},
               {.instructions = false, .tf32 = false});
  REQUIRE(!found.result.explaining.empty());
  CHECK(found.candidate(found.result.explaining[0]).model.epilogue.rounding ==
        Rounding::ties_to_away);
}

TEST_CASE("a factor of what a dropout leaves") {
  const Matrices x;
  std::vector<float> d = x.right();
  std::size_t left = 0;
  for (std::size_t at = 0; at < d.size(); ++at) {
    const bool kept = random_word(4, 0, at) % 8 != 0;
    left += kept ? 1 : 0;
    d[at] = kept ? d[at] * 1.1F : 0;
  }
  const KernelHypotheses found = hypotheses_about(x, d);
  REQUIRE(!found.told.empty());
  CHECK(found.told[0].equal == left);
  CHECK(found.told[0].words.starts_with("the sum scaled by "));
  CHECK(found.told[0].words.ends_with("of the others hold 0, as by dropout or a mask"));
}

TEST_CASE("rows and tiles in other places, and elements never written") {
  const Matrices x;
  const std::vector<float> d = x.right();
  std::vector<float> other(d.size());
  for (std::size_t at = 0; at < d.size(); ++at) other[at] = d[(at + 8 * side) % d.size()];
  check_first(hypotheses_about(x, other), "rows shifted by 8: row i holds row i + 8");
  other = d;
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 8; ++j) other[(i + 8) * side + j + 16] = d[i * side + j];
  }
  check_first(hypotheses_about(x, other),
              "rows 8..15, columns 16..23 are a copy of rows 0..7, columns 0..7");
  other = d;
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 12; ++j) std::swap(other[i * side + j], other[i * side + j + 12]);
  }
  check_first(hypotheses_about(x, other),
              "rows 0..7, columns 12..23 hold what belongs +0 rows and -12 columns from there; "
              "rows 0..7, columns 0..11 hold what belongs +0 rows and +12 columns from there");
  for (std::size_t i = 0; i < side; ++i) {
    for (std::size_t j = 0; j < side; ++j) {
      other[(j / 8 * 8 + i % 8) * side + i / 8 * 8 + j % 8] = d[i * side + j];
    }
  }
  check_first(hypotheses_about(x, other), "tiles of 8x8 of D stored in the order of columns");
  other = d;
  for (std::size_t j = 0; j < side; ++j) other[5 * side + j] = std::nanf("");
  check_first(hypotheses_about(x, other), "24 elements hold NaN");
  other = d;
  for (float& one : other) one = std::clamp(one, -9.0F, 9.0F);
  const auto clipped = hypotheses_about(x, other);
  REQUIRE(!clipped.told.empty());
  CHECK(clipped.told[0].equal == d.size());
  CHECK(clipped.told[0].words.find("cut off at -9 and 9") != std::string::npos);
}

TEST_CASE("a mistake in some columns alone") {
  const Matrices x;
  check_first(hypotheses_about(x, x.multiplied([&](std::size_t i, std::size_t j, std::size_t k) {
                return j >= 16 && k >= 20 ? 0.0F : x.at_a(i, k) * x.at_b(k, j);
              })),
              "the last 4 k of K left out (k 20 on), in all rows, columns 16..23");
}

TEST_CASE("operands that were read at other places") {
  const Matrices x;
  const auto of = [&](auto a, auto b) {
    return hypotheses_about(x, x.multiplied([&](std::size_t i, std::size_t j, std::size_t k) {
      return a(i, k) * b(k, j);
    }));
  };
  const auto a = [&](std::size_t i, std::size_t k) { return x.at_a(i, k); };
  const auto b = [&](std::size_t k, std::size_t j) { return x.at_b(k, j); };
  check_first(of(a, [&](std::size_t k,
                        std::size_t j) { return x.at_b(k / 8 * 8 + j % 8, j / 8 * 8 + k % 8); }),
              "each 8x8 block of B transposed");
  check_first(
      of(a, [&](std::size_t k,
                std::size_t j) { return k * 32 + j < side * side ? x.b[k * 32 + j] : 0.0F; }),
      "B's rows of 24 read with a stride of 32");
  check_first(
      of([&](std::size_t i, std::size_t k) { return x.at_a(i, ((k / 2) ^ (i % 4)) * 2 + k % 2); },
         b),
      "A swizzled on one side alone: in each row, chunk c of 2 is chunk c xor (row mod 4)");
  check_first(
      of([&](std::size_t i,
             std::size_t k) { return x.at_a(i, ((k / 2) ^ ((i ^ i / 2) % 4)) * 2 + k % 2); },
         b),
      "A swizzled in two ways, in chunks of 2: on one side by row, on the other by row / 2, "
      "mod 4");
  check_first(of(
                  [&](std::size_t i, std::size_t k) {
                    const bool exchanged = i / 4 % 2 != k / 4 % 2;
                    return exchanged ? x.at_a(i ^ 4, k ^ 4) : x.at_a(i, k);
                  },
                  b),
              "in each 8x8 block of A, the quarters beside the diagonal exchanged");
  check_first(
      of(a, [&](std::size_t k, std::size_t j) { return k / 12 == j / 12 ? x.at_b(k, j) : 0.0F; }),
      "of 2 groups of columns each has its own run of 12 k alone, as in a grouped product");
  check_first(of(a, [&](std::size_t k, std::size_t j) { return x.at_b(k < 16 ? k : k - 8, j); }),
              "k 16..23 of B hold its k 8..15, as a tile that is read before it is written");
}

TEST_CASE("accumulators that were not cleared between tiles") {
  const Matrices x;
  std::vector<float> d(side * side);
  for (std::size_t tile = 0; tile < 9; ++tile) {
    for (std::size_t at = 0; at < 64; ++at) {
      const auto place = [&](std::size_t of) {
        return (of / 3 * 8 + at / 8) * side + of % 3 * 8 + at % 8;
      };
      const std::size_t i = place(tile) / side, j = place(tile) % side;
      float sum = tile < 2 ? 0.0F : d[place(tile - 2)];
      for (std::size_t k = 0; k < side; ++k) sum += x.at_a(i, k) * x.at_b(k, j);
      d[place(tile)] = sum;
    }
  }
  check_first(hypotheses_about(x, d),
              "accumulators not cleared: each tile of 8 × 8 begins with what the tile 2 before it "
              "holds, along rows");
}

TEST_CASE("e4m3 that is read as e4m3fnuz, where -0 is NaN") {
  const auto number = [](std::uint64_t code) {  // of small normal numbers and zeros
    const float size = (code & 0x7F) == 0 ? 0.0F
                                          : std::ldexp(8.0F + static_cast<float>(code & 7),
                                                       static_cast<int>(code >> 3 & 15) - 10);
    return code >= 0x80 ? -size : size;
  };
  KernelRun run{16, 16, 32, false, {}, {}, {}, {}, {}};
  for (std::size_t i = 0; i < 16 * 32; ++i) {
    run.a.push_back(random_word(1, 4, i) % 32 + 40 + (random_word(3, 4, i) & 0x80));
    run.b.push_back(random_word(2, 4, i) % 32 + 40 + (random_word(4, 4, i) & 0x80));
  }
  for (const bool marked : {false, true}) {
    if (marked) run.b[5 * 32 + 7] = 0x80;
    run.d.clear();
    for (std::size_t at = 0; at < 256; ++at) {
      const std::size_t i = at / 16, j = at % 16;
      float sum = 0;
      for (std::size_t k = 0; k < 32; ++k) {
        sum += number(run.a[i * 32 + k]) * number(run.b[j * 32 + k]) / 2;
      }
      run.d.push_back(std::bit_cast<std::uint32_t>(marked && j == 5 ? std::nanf("") : sum));
    }
    const Identification found =
        identify({e4m3, e4m3, binary32, binary32, binary32}, {run}, {}, {.nearest = 1}, {},
                 {.instructions = false, .tf32 = false});
    const KernelHypotheses told = hypotheses_of(found);
    REQUIRE(!told.told.empty());
    CHECK(told.told[0].equal == 256);
    CHECK(told.told[0].words.find(marked ? "B read as e4m3fnuz" : "the sum scaled by") == 0);
  }
}

TEST_CASE("a mask, an unchanged C, and rows that are right where nothing else is known") {
  const Matrices x;
  std::vector<float> d = x.right();
  for (std::size_t at = 0; at < d.size(); ++at) {
    if (at % side + 2 >= at / side) d[at] = -HUGE_VALF;
  }
  check_first(hypotheses_about(x, d), "345 elements hold -inf (FF800000) where column >= row - 2");
  d = x.right();
  for (std::size_t at = 0; at < d.size(); ++at) {
    d[at] = at % side > at / side ? x.c[at] : d[at] + x.c[at];
  }
  check_first(hypotheses_about(x, d, true),
              "276 elements hold C as it was, without a sum: where column > row");
  d = x.right();
  for (std::size_t at = 0; at < d.size(); ++at) {
    if (at / side % 4 != 1) d[at] = Matrices::drawn(5, at) * d[at];
  }
  const KernelHypotheses found = hypotheses_about(x, d);
  REQUIRE(found.told.size() == 1);
  CHECK(found.told[0].words == "rows 1 of each 4 are right; what the others hold is not known");
  CHECK(found.told[0].equal == side * side / 4);
}

TEST_CASE("factors of sums of FP8, which are cut off so much that no exact sum gives the factor") {
  constexpr std::size_t k = 32;
  const GemmModel model = parse_gemm("wgmma.m64n256k32.f32.e4m3.e4m3", 90).model;
  KernelRun run{side, side, k, false, {}, {}, {}, {}, {}};
  const auto drawn = [](std::uint64_t stream, std::size_t i) {
    const std::uint32_t word = random_word(stream, 2, i);
    return (word >> 24 & 0x80) | (0x30 + (word & 0xF));
  };
  for (std::size_t i = 0; i < side * k; ++i) {
    run.a.push_back(drawn(1, i));
    run.b.push_back(drawn(2, i));
  }
  run.d.resize(side * side);
  const auto told_of = [&](auto factor) {
    for (std::size_t at = 0; at < run.size(); ++at) {
      const auto sum = static_cast<std::uint32_t>(gemm_element(model, run.element(at)));
      run.d[at] = std::bit_cast<std::uint32_t>(std::bit_cast<float>(sum) * factor(run.row(at)));
    }
    return hypotheses_of(identify({e4m3, e4m3, binary32, binary32, binary32}, {run}, {},
                                  {.nearest = 1, .rare = false}, {}, {.architectures = {90}}));
  };
  check_first(told_of([](std::size_t) { return 0.3F; }), "the sum scaled by 0.3");
  check_first(told_of([](std::size_t) { return 2.0F; }), "the sum scaled by 2");
  check_first(told_of([](std::size_t row) { return 1.0F + 0.3F * static_cast<float>(row); }),
              "each row scaled by a factor of its own");
}

TEST_CASE("operands that are rounded to tf32 in two ways") {
  Matrices x;
  for (float& one : x.a) one /= 3;
  for (float& one : x.b) one /= 3;
  x.a[0] = 1.0F + 0x1p-11F;  // a tie
  const auto cut = [](float number, std::uint32_t added) {
    return std::bit_cast<float>((std::bit_cast<std::uint32_t>(number) + added) & 0xFFFFE000);
  };
  check_first(hypotheses_about(x, x.multiplied([&](std::size_t i, std::size_t j, std::size_t k) {
                return cut(x.at_a(i, k), 0x1000) * cut(x.at_b(k, j), 0);
              })),
              "A rounded to tf32, ties_to_away, B toward_zero");
}

TEST_CASE("bits of integers in a D of binary32") {
  KernelRun run{8, 8, 16, false, {}, {}, {}, {}, {}};
  std::vector<int> a, b;
  for (std::size_t i = 0; i < 128; ++i) {
    a.push_back(static_cast<int>(random_word(1, 1, i) >> 24) - 128);
    b.push_back(static_cast<int>(random_word(2, 1, i) >> 24) - 128);
    run.a.push_back(static_cast<std::uint8_t>(a.back()));
    run.b.push_back(static_cast<std::uint8_t>(b.back()));
  }
  for (std::size_t at = 0; at < 64; ++at) {
    int sum = 0;
    for (std::size_t k = 0; k < 16; ++k) sum += a[at / 8 * 16 + k] * b[at % 8 * 16 + k];
    run.d.push_back(static_cast<std::uint32_t>(sum));
  }
  const Identification found = identify({s8, s8, binary32, binary32, binary32}, {run}, {}, {});
  CHECK(found.result.tried == 1);  // sums that are converted
  const KernelHypotheses told = hypotheses_of(found);
  REQUIRE(!told.told.empty());
  CHECK(told.told[0].words == "D holds bits of s32, read as f32");
  CHECK(told.told[0].equal == 64);
  for (std::size_t at = 0; at < 64; ++at) {
    const auto sum = static_cast<float>(static_cast<std::int32_t>(run.d[at]));
    run.d[at] = std::bit_cast<std::uint32_t>(sum * (0.1F + static_cast<float>(at / 8)));
  }
  const KernelHypotheses scaled =
      hypotheses_of(identify({s8, s8, binary32, binary32, binary32}, {run}, {}, {}));
  REQUIRE(!scaled.told.empty());
  CHECK(scaled.told[0].words.starts_with(
      "each row scaled by a factor of its own: row 0 by about 0.1,"));
  CHECK(scaled.told[0].equal == 64);
}

TEST_CASE("neighbours of the sum are told, and explain nothing") {
  const Matrices x;
  std::vector<float> d = x.right();
  for (std::size_t at = 0; at < d.size(); ++at) {
    const std::uint32_t drawn = random_word(9, 0, at) & 0xFFFF;
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(d[at]) + drawn;
    d[at] = std::bit_cast<float>(bits & 0xFFFF0000);
  }
  const KernelHypotheses found = hypotheses_about(x, d);
  const auto drawn = std::ranges::find_if(found.told, [](const KernelHypothesis& one) {
    return one.words.find("beside the exact sum, rounded stochastically") != std::string::npos;
  });
  REQUIRE(drawn != found.told.end());
  CHECK(drawn->elements == 0);
  for (const KernelHypothesis& one : found.told)
    CHECK((one.elements == 0 || one.equal < one.elements));
  // A coin that does not know what was discarded.
  std::vector<float> tossed = x.right();
  for (std::size_t at = 0; at < tossed.size(); ++at) {
    const std::uint32_t up = random_word(9, 0, at) % 2 == 0 ? 0xFFFF : 0;
    tossed[at] = std::bit_cast<float>((std::bit_cast<std::uint32_t>(tossed[at]) + up) & 0xFFFF0000);
  }
  const KernelHypotheses of_coin = hypotheses_about(x, tossed);
  REQUIRE(!of_coin.told.empty());
  CHECK(of_coin.told[0].words.find("rounded by a rule of its own") != std::string::npos);
}

TEST_CASE(
    "parts that are added in an order of its own for each element are told, and explain nothing") {
  Matrices x;
  for (float& one : x.a) one /= 3;  // products of 24 bits, whose sums are seldom exact
  std::vector<float> d(side * side);
  for (std::size_t at = 0; at < d.size(); ++at) {
    float parts[4]{};
    for (std::size_t k = 0; k < side; ++k) {
      parts[k / 6] += x.at_a(at / side, k) * x.at_b(k, at % side);
    }
    const std::uint32_t first = random_word(11, 0, at) % 4;
    float sum = 0;
    for (std::uint32_t i = 0; i < 4; ++i) sum += parts[(first + i * (at % 2 == 0 ? 1 : 3)) % 4];
    d[at] = sum;
  }
  const KernelHypotheses found = hypotheses_about(x, d);
  const auto atomics = std::ranges::find_if(found.told, [](const KernelHypothesis& one) {
    return one.words.starts_with("K in 4 parts, added in f32 in an order of its own");
  });
  REQUIRE(atomics != found.told.end());
  CHECK(atomics->elements == 0);
}

TEST_CASE("atomic additions into a narrow D are told, and other ones are not") {
  Matrices x;
  for (float& one : x.a) one /= 3;
  const auto bf16 = [](float number) {
    const auto bits = std::bit_cast<std::uint32_t>(number);
    return std::bit_cast<float>((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000);
  };
  const auto told_of = [&](std::size_t parts) {
    std::vector<float> d(side * side);
    for (std::size_t at = 0; at < d.size(); ++at) {
      const std::size_t first = random_word(11, 0, at) % parts;
      float sum = 0;
      for (std::size_t i = 0; i < parts; ++i) {
        const std::size_t part = (first + i) % parts;
        float of_part = 0;
        for (std::size_t k = part * side / parts; k < (part + 1) * side / parts; ++k) {
          of_part += x.at_a(at / side, k) * x.at_b(k, at % side);
        }
        sum = bf16(sum + of_part);
      }
      d[at] = sum;
    }
    KernelRun run{side, side, side, false, bits_of_all(x.a), {}, {}, {}, {}};
    for (std::size_t j = 0; j < side; ++j) {
      for (std::size_t k = 0; k < side; ++k) {
        run.b.push_back(std::bit_cast<std::uint32_t>(x.at_b(k, j)));
      }
    }
    for (const float one : d) run.d.push_back(std::bit_cast<std::uint32_t>(one) >> 16);
    KernelTypes types = f32_all;
    types.d = bfloat16;
    const Identification found = identify(types, {run}, {}, {.nearest = 1, .rare = false}, {},
                                          {.instructions = false, .tf32 = false});
    const KernelHypotheses h = hypotheses_of(found);
    return std::ranges::any_of(h.told, [](const KernelHypothesis& one) {
      return one.elements == 0 &&
             one.words.starts_with("K in 4 parts of f32, added in bf16 in an order of its own");
    });
  };
  CHECK(told_of(4));
  CHECK_FALSE(told_of(12));
}

TEST_CASE("what few elements would be by chance is not told") {
  const KernelTypes narrow{binary16, binary16, binary16, binary16, binary16};
  for (std::uint64_t draw = 0; draw < 12; ++draw) {
    KernelRun run{1, 2, 32, false, {}, {}, {}, {}, {}};
    const auto drawn = [&](std::uint64_t stream, std::size_t i) {  // between 1 and 2, of any sign
      return std::uint64_t{0x3C00 | (random_word(stream, 20 + draw, i) & 0x83FF)};
    };
    for (std::size_t i = 0; i < 32; ++i) run.a.push_back(drawn(1, i));
    for (std::size_t i = 0; i < 64; ++i) run.b.push_back(drawn(2, i));
    for (std::size_t at = 0; at < 2; ++at) run.d.push_back(drawn(3, at) + 0x0800);
    const Identification found = identify(narrow, {run}, {}, {.nearest = 1, .rare = false}, {},
                                          {.instructions = false, .tf32 = false});
    CHECK(hypotheses_of(found).told.empty());
  }
}

TEST_CASE("where D is right, or has nothing to do with its operands, nothing is told") {
  const Matrices x;
  std::vector<float> d = x.right();
  CHECK(hypotheses_about(x, d).told.empty());
  for (std::size_t at = 0; at < d.size(); ++at) d[at] = Matrices::drawn(5, at);
  const KernelHypotheses found = hypotheses_about(x, d);
  CHECK(found.told.empty());
  CHECK(found.tried > 20);
  // A right sum in an order of its own.
  Matrices thirds;
  for (float& one : thirds.a) one /= 3;
  const auto scattered = [&](std::size_t i, std::size_t j, std::size_t k) {
    const std::size_t at = (7 * k + 12 * k * k + 3) % side;
    return thirds.at_a(i, at) * thirds.at_b(at, j);
  };
  for (const KernelHypothesis& one : hypotheses_about(thirds, thirds.multiplied(scattered)).told) {
    CHECK(one.elements == 0);
  }
}

}  // namespace
}  // namespace binade::hypotheses_test
