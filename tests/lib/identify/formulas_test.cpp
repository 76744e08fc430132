// SPDX-License-Identifier: Apache-2.0
//
// Kernels whose D is another function of the sums, written here in float and in integers.
#include "lib/identify/formulas.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "emulate/instruction_shapes.h"
#include "emulate/project.h"
#include "tests/lib/identify/square_kernels.h"

namespace binade::formulas_test {
namespace {

using namespace test;

TEST_CASE("a ReLU before an addend, which is alone where the sum is negative") {
  const Matrices x;
  std::vector<float> d = x.right();
  for (std::size_t at = 0; at < d.size(); ++at) d[at] = std::max(d[at], 0.0F) + x.c[at];
  const KernelHypotheses found = hypotheses_about(x, d, true);
  REQUIRE(!found.told.empty());
  CHECK(found.told[0].equal == d.size());
  CHECK(found.told[0].words.find("elements hold C alone where the sum is negative, as with a ReLU "
                                 "before C is added") != std::string::npos);
}

TEST_CASE("an activation that decides too few elements is told before everything else") {
  const Matrices x;
  KernelRun run{side, side, side, false, bits_of_all(x.a), {}, {}, {}, {}};
  for (std::size_t j = 0; j < side; ++j) {
    for (std::size_t k = 0; k < side; ++k) {
      run.b.push_back(std::bit_cast<std::uint32_t>(x.at_b(k, j)));
    }
  }
  for (const float sum : x.right()) {
    const double d = sum / 2 * (1 + std::erf(sum / std::sqrt(2.0)));
    run.d.push_back(convert(std::bit_cast<std::uint64_t>(d), binary64, bfloat16).bits);
  }
  const KernelTypes types{binary32, binary32, binary32, bfloat16, binary32};
  const KernelHypotheses found = hypotheses_of(
      identify(types, {run}, {}, {.nearest = 1}, {}, {.instructions = false, .tf32 = false}));
  REQUIRE(!found.told.empty());
  CHECK(found.told[0].words.starts_with("D by gelu: no element contradicts it, but "));
}

TEST_CASE("a smooth activation of sums in a wide D is told, and explains nothing") {
  const Matrices x;
  std::vector<float> d = x.right();
  const auto told_of = [&](auto activation) {
    std::vector<float> out = d;
    for (float& one : out) one = activation(0.25F * one);
    Matrices quarter = x;
    for (float& one : quarter.a) one *= 0.25F;
    const KernelHypotheses found = hypotheses_about(quarter, out);
    REQUIRE(!found.told.empty());
    CHECK(found.told[0].elements == 0);
    return found.told[0].words;
  };
  CHECK(told_of([](float y) { return 0.5F * y * (1 + std::erf(y * 0.70710678F)); })
            .starts_with(
                "as if gelu were applied to the sum: 576 of 576 elements that were tried lie "));
  CHECK(told_of([](float y) {
          return 0.5F * y * (1 + std::tanh(0.7978845608F * (y + 0.044715F * y * y * y)));
        }).starts_with("as if gelu_tanh were applied to the sum"));
  CHECK(told_of([](float y) {
          return y / (1 + std::exp(-y));
        }).starts_with("as if silu were applied to the sum"));
  // Another curve is none of these.
  for (float& one : d) one = std::sin(one);
  for (const KernelHypothesis& one : hypotheses_about(x, d).told) {
    CHECK(one.words.find("as if") == std::string::npos);
  }
}

/// What is told first of a D that is this of the right one.
template <class Function>
std::string first_words(const Function& of) {
  Matrices x;
  for (float& one : x.a) one *= 0.25F;
  std::vector<float> d = x.right();
  for (float& one : d) one = of(one);
  const KernelHypotheses found = hypotheses_about(x, d);
  REQUIRE(!found.told.empty());
  return found.told[0].words;
}

TEST_CASE("other functions of the sums, with what is measured of them") {
  CHECK(first_words([](float y) {
          return y < 0 ? 0.01F * y : y;
        }).starts_with("the sum scaled by 1/100, where the sum is below 0, as by a LeakyReLU"));
  CHECK(first_words([](float y) { return y < 0 ? 0.137F * y : y; }).find("LeakyReLU") !=
        std::string::npos);
  CHECK(first_words([](float y) {
          return y > 0 ? y * y : 0;
        }).starts_with("as if the square of a ReLU were applied to the sum"));
  CHECK(first_words([](float y) {
          return 20 * std::tanh(y / 20);
        }).starts_with("as if 20 · tanh(x / 20) were applied to the sum"));
  CHECK(first_words([](float y) {
          return 1 / (1 + std::exp(-y));
        }).starts_with("as if a sigmoid were applied to the sum"));
  CHECK(first_words([](float y) {
          return y + 0.75F;
        }).starts_with("as if about 0.75 were added to each element"));
}

TEST_CASE("a curve is not told of what a constant, a limit or the sign leave") {
  const auto has_no_curve = [](const std::string& words) {
    CAPTURE(words);
    for (const char* const curve : {"exp", "tanh", "sigmoid", "gelu", "silu", "mish", "softmax"}) {
      CHECK(words.find(curve) == std::string::npos);
    }
  };
  Matrices x;
  for (float& one : x.a) one = std::ldexp(one, -20);
  std::vector<float> d = x.right();
  for (float& one : d) one += 1;  // exp(x) is 1 + x here
  const KernelHypotheses found = hypotheses_about(x, d);
  REQUIRE(!found.told.empty());
  CHECK(found.told[0].words.starts_with("as if about 1 were added to each element"));
  has_no_curve(first_words([](float y) { return std::clamp(32 * y, -1.0F, 1.0F); }));
  has_no_curve(first_words([](float y) { return y > 0 ? 1.0F : -1.0F; }));
}

TEST_CASE("an addend of each column that was not given, parts cut off at 0, and a softmax") {
  const Matrices x;
  std::vector<float> d = x.right();
  for (std::size_t at = 0; at < d.size(); ++at) d[at] += x.c[at % side];
  KernelHypotheses found = hypotheses_about(x, d);
  REQUIRE(!found.told.empty());
  CHECK(found.told[0].words.starts_with(
      "as if a number of its own were added to each column, such as a bias that was not given"));
  for (std::size_t i = 0; i < side; ++i) {
    for (std::size_t j = 0; j < side; ++j) {
      float sum = 0;
      for (std::size_t first = 0; first < side; first += 8) {
        float part = 0;
        for (std::size_t k = first; k < first + 8; ++k) part += x.at_a(i, k) * x.at_b(k, j);
        sum += std::max(part, 0.0F);
      }
      d[i * side + j] = sum;
    }
  }
  found = hypotheses_about(x, d);
  REQUIRE(!found.told.empty());
  CHECK(found.told[0].words.starts_with(
      "as if a ReLU were applied to each of 3 parts of K, before they are added: 576 of 576 "));
  d = x.right();
  for (std::size_t i = 0; i < side; ++i) {
    float all = 0;
    for (std::size_t j = 0; j < side; ++j) all += d[i * side + j] = std::exp(d[i * side + j]);
    for (std::size_t j = 0; j < side; ++j) d[i * side + j] /= all;
  }
  found = hypotheses_about(x, d);
  REQUIRE(!found.told.empty());
  CHECK(found.told[0].words.starts_with("as if a softmax were applied to each row: "));
}

TEST_CASE("sums of two products of bytes that saturate to 16 bits") {
  constexpr std::size_t k = 32;
  KernelRun run{side, side, k, false, {}, {}, {}, {}, {}};
  for (std::size_t i = 0; i < side * k; ++i) {
    run.a.push_back(128 + random_word(1, 0, i) % 128);
    run.b.push_back(random_word(2, 0, i) & 0xFF);
  }
  for (std::size_t i = 0; i < side; ++i) {
    for (std::size_t j = 0; j < side; ++j) {
      int sum = 0;
      for (std::size_t at = 0; at < k; at += 2) {
        const auto product = [&](std::size_t of) {
          return static_cast<int>(run.a[i * k + of]) * static_cast<std::int8_t>(run.b[j * k + of]);
        };
        sum += std::clamp(product(at) + product(at + 1), -32768, 32767);
      }
      run.d.push_back(static_cast<std::uint32_t>(sum));
    }
  }
  const KernelHypotheses found =
      hypotheses_of(identify({u8, s8, s32, s32, s32}, {run}, {}, {.nearest = 1}));
  REQUIRE(!found.told.empty());
  CHECK(
      found.told[0].words ==
      "as if sums of two products were saturated to 16 bits (vpmaddubsw): 576 of 576 elements that "
      "were tried are equal");
}

}  // namespace
}  // namespace binade::formulas_test
