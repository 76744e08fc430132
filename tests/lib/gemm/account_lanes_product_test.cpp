// SPDX-License-Identifier: Apache-2.0
//
// The account of eight elements at a time against the definition, element by element (loss.h): the
// same numbers at every level that this machine has, also for operands with which the lanes cannot
// count some elements.
#include "lib/gemm/account_lanes_product.h"

#include <doctest/doctest.h>

#include "tests/lib/gemm/exact_product.h"

namespace binade::test::account_lanes_product_test {
namespace {

/// The kinds of random operands.
enum class Kind : std::uint8_t {
  any_bits,     ///< infinities and NaNs among them
  numbers,      ///< in a few binades, with some zeros
  wide,         ///< in more binades than lanes can hold together
  small,        ///< near the smallest normal number of the format
  large,        ///< near the largest number, so that sums overflow
  cancelling,   ///< each product and its negative, a place or an instruction apart
  zeros,        ///< nearly all are zeros
  of_each_size  ///< rows and columns whose sizes are far apart
};
constexpr Kind kinds[]{Kind::any_bits, Kind::numbers,    Kind::wide,  Kind::small,
                       Kind::large,    Kind::cancelling, Kind::zeros, Kind::of_each_size};

std::uint64_t draw_operand(Random& random, const Format& f, Kind kind, int line) {
  const auto within = [&](int low, int high) {
    return draw_at(random, f, std::clamp(between(random, low, high), f.emin() - 1, f.emax()));
  };
  const bool is_zero =
      between(random, 0, kind == Kind::zeros ? 15 : 31) > (kind == Kind::zeros ? 0 : 29);
  if (kind != Kind::any_bits && is_zero) return zero_bits(f, random() % 2 == 0);
  switch (kind) {
    case Kind::any_bits: return (random() & ((std::uint64_t{1} << f.bits()) - 1)) << f.padding_bits;
    case Kind::wide: return within(-13, 5);
    case Kind::small: return within(f.emin() - 1, f.emin() + 6);
    case Kind::large: return within(f.emax() / 2 - 2, f.emax() / 2 + 2);
    case Kind::of_each_size: return within(-3 + line % 5 * 9 - 18, line % 5 * 9 - 18);
    default: return within(-7, 3);
  }
}

std::vector<std::uint64_t> draw_lines(Random& random, const Format& f, Kind kind, std::size_t lines,
                                      std::size_t k, bool is_row) {
  std::vector<std::uint64_t> out;
  const std::uint64_t sign = (std::uint64_t{1} << (f.bits() - 1)) << f.padding_bits;
  for (std::size_t i = 0; i < lines; ++i) {
    const std::size_t apart = i % 2 == 0 ? 1 : 32;
    for (std::size_t at = 0; at < k; ++at) {
      const bool again = kind == Kind::cancelling && at >= apart && at / apart % 2 == 1;
      const std::uint64_t before = again ? out[out.size() - apart] : 0;
      const bool nearly = random() % 64 == 0;
      out.push_back(!again || nearly ? draw_operand(random, f, kind, static_cast<int>(i))
                    : is_row         ? before ^ sign
                                     : before);
    }
  }
  return out;
}

GemmOperands draw_operands(Random& random, const GemmModel& g, Kind kind, std::size_t m,
                           std::size_t n, std::size_t k) {
  return {m,
          n,
          k,
          draw_lines(random, g.types.a, kind, m, k, true),
          draw_lines(random, g.types.b, kind, n, k, false),
          {},
          {}};
}

/// Returns how many elements were accounted for by lanes.
std::size_t counted(const GemmModel& g, const GemmOperands& x, const Kernels& kernels) {
  GemmAccount account;
  account.by_position.resize(64);
  account.product_position.resize(64);
  account.by_distance.resize(GemmAccount::distances);
  const AccountLanesProduct lanes(g, x, std::max<std::size_t>(1, (x.k + 63) / 64 * 32), kernels);
  std::size_t elements = 0;
  for (std::size_t piece = 0; piece < lanes.pieces(); ++piece) {
    elements += lanes.add(
        piece, account, [](const LaneElement&) { return true; },
        [&](std::size_t, std::size_t) { --elements; });
  }
  return elements;
}

bool same_on_every_level(const GemmModel& g, const GemmOperands& x) {
  const GemmAccount definition = account(g, x, {}, kernels(Level::reference));
  bool same = true;
  for (const auto& [name, level] : levels) {
    if (level == Level::reference || !machine_has(level)) continue;
    CAPTURE(name);
    const bool is_same = account(g, x, {}, kernels(level)) == definition;
    CHECK(is_same);
    same = same && is_same;
  }
  return same;
}

TEST_CASE("lanes count what the trace counts, in every recipe, order and kind of operands") {
  Random random(31);
  std::array<std::size_t, std::size(kinds)> in_lanes{}, all{};
  for (const NamedCase& row : product_cases) {
    for (int order = 0; order < orders; ++order) {
      const GemmModel g = model_of(row, order);
      if (!can_have(g, order)) continue;
      for (std::size_t kind = 0; kind < std::size(kinds); ++kind) {
        const std::size_t k = order == 0 ? 160 : order % 2 == 0 ? 97 : 64;
        GemmOperands x = draw_operands(random, g, kinds[kind], 3, 11, k);
        CAPTURE(std::string(row.name));
        CAPTURE(row.sm);
        CAPTURE(order);
        CAPTURE(kind);
        if (order >= 5) {
          for (std::size_t i = 0; i < x.m * x.n; ++i)
            x.c.push_back(draw_operand(random, g.c, kinds[kind], 2));
          for (std::size_t j = 0; j < x.n; ++j)
            x.bias.push_back(draw_operand(random, g.bias, Kind::numbers, 2));
        }
        if (AccountLanesProduct(g, x, 64, kernels(Level::portable)).pieces() == 0) continue;
        REQUIRE(same_on_every_level(g, x));
        in_lanes[kind] += counted(g, x, kernels(Level::portable));
        all[kind] += x.m * x.n;
      }
    }
  }
  for (std::size_t kind = 0; kind < std::size(kinds); ++kind) {
    CAPTURE(kind);
    CHECK(all[kind] > 1000);
    // All but few, and where it is hostile some of each.
    CHECK(in_lanes[kind] > all[kind] / (kinds[kind] == Kind::any_bits ? 50 : 4));
    if (kinds[kind] == Kind::any_bits || kinds[kind] == Kind::wide || kinds[kind] == Kind::large) {
      CHECK(in_lanes[kind] < all[kind]);
    }
  }
}

TEST_CASE("lanes count pieces of many rows, and long sums") {
  Random random(32);
  for (const NamedCase& row : {product_cases[0], product_cases[2], product_cases[8]}) {
    const GemmModel g = model_of(row, 0);
    CHECK(same_on_every_level(g, draw_operands(random, g, Kind::numbers, 130, 9, 48)));
    CHECK(same_on_every_level(g, draw_operands(random, g, Kind::of_each_size, 70, 17, 33)));
    CHECK(same_on_every_level(g, draw_operands(random, g, Kind::numbers, 3, 8, 9000)));
  }
}

TEST_CASE("lanes count 2^20 products of one size, which no single cell has room for") {
  Random random(34);
  const GemmModel g = model_of(product_cases[0], 0);
  GemmOperands x = draw_operands(random, g, Kind::numbers, 64, 8, 2048);
  const auto one = [](const Format& f, bool negative) {
    return project({.kind = binade::Kind::finite, .negative = negative, .significand = 1}, f).bits;
  };
  std::ranges::fill(x.a, one(g.types.a, false));
  for (std::size_t i = 0; i < x.b.size(); ++i) x.b[i] = one(g.types.b, i % 2 == 1);
  CHECK(same_on_every_level(g, x));
}

TEST_CASE("the reference has no lanes") {
  Random random(33);
  const GemmModel g = model_of(product_cases[0], 0);
  const GemmOperands x = draw_operands(random, g, Kind::numbers, 4, 4, 32);
  CHECK(AccountLanesProduct(g, x, 16, kernels(Level::reference)).pieces() == 0);
  CHECK(AccountLanesProduct(g, x, 16, kernels(Level::portable)).pieces() == 1);
}

}  // namespace
}  // namespace binade::test::account_lanes_product_test
