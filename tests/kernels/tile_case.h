// SPDX-License-Identifier: Apache-2.0
//
// Operands of a tile of products, drawn where sums are hard, and what the definition makes of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/emulate/dot_draw.h"
#include "tests/kernels/judge.h"

namespace binade::kernel_test {

using test::between;
using test::is_number;

using Lines = std::vector<std::vector<std::uint64_t>>;

/// Lines of codes as a kernel packed them, and whether it can use each line.
struct Group {
  std::vector<std::byte> bytes;
  std::vector<bool> usable;
};
/// Products about a power of two, each operand about its square root.
inline test::DrawnDot draw_about(Random& random, const DotTypes& types, int n, int exponent) {
  test::DrawnDot out;
  for (int i = 0; i < n; ++i) {
    const int e = exponent / 2 + between(random, -2, 2);
    out.a.push_back(test::draw_at(random, types.a, e));
    out.b.push_back(test::draw_at(random, types.b, exponent - e + between(random, -3, 0)));
  }
  out.c = test::draw_at(random, types.c, exponent - between(random, 0, 3));
  return out;
}
/// Products of the largest significands, all of one binade and sign, whose sums carry; c has an
/// exponent from -2 to 5.
inline test::DrawnDot draw_full(Random& random, const DotTypes& types, int n) {
  const auto full = [](const Format& f, bool negative) {
    const Exact x{.kind = Kind::finite,
                  .negative = negative && f.has_sign,
                  .exponent = -f.fraction_bits(),
                  .significand = (std::uint64_t{1} << f.precision) - 1};
    return project(x, f, {.rounding = Rounding::toward_zero, .saturation = Saturation::finite})
        .bits;
  };
  const auto lines = static_cast<std::size_t>(n);
  return {std::vector(lines, full(types.a, false)),
          std::vector(lines, full(types.b, random() % 2 == 0)),
          test::draw_at(random, types.c, between(random, -2, 5))};
}
/// Products of which all, or all but one in sixteen, are zero, so that c may be the only term of a
/// block.
inline test::DrawnDot draw_zeros(Random& random, const DotTypes& types, int n) {
  test::DrawnDot out = test::draw_dot(random, types, n);
  const bool all = random() % 2 == 0;
  for (std::uint64_t& a : out.a) {
    if (all || random() % 16 != 0) a = zero_bits(types.a, random() % 2 == 0);
  }
  const int least = types.c.quantum_exponent(), above = random() % 2 == 0 ? 12 : 60;
  if (random() % 4 != 0)
    out.c = test::draw_at(random, types.c, between(random, least, least + above));
  return out;
}
/// Powers of two times one, whose exponents differ by about d's precision or by about F (the
/// model's fraction_bits), so that sums are ties or lie just beside one.
inline test::DrawnDot draw_ties(Random& random, const GemmModel& g, int n) {
  test::DrawnDot out;
  const int p = g.types.d.precision, f = g.model.fraction_bits;
  const std::array below{0, 0, 1, p - 1, p, p + 1, f - 2, f - 1, f, f + 1};
  const int top = between(random, 0, 3);
  const auto power = [&](const Format& of, int e) {
    const Exact x{Kind::finite, random() % 4 == 0 && of.has_sign, false, false, e, 1};
    return project(x, of, {.saturation = Saturation::finite}).bits;
  };
  for (int i = 0; i < n; ++i) {
    out.a.push_back(power(g.types.a, top - below[random() % below.size()]));
    out.b.push_back(project(Exact{Kind::finite, false, false, false, 0, 1}, g.types.b).bits);
  }
  out.c = power(g.types.c, top - below[random() % below.size()]);
  return out;
}

/// Integers of all sorts, or the ends of their types alone, so that a sum goes one way; c is any
/// integer, near 0, or near an end of its type.
inline test::DrawnDot draw_integers(Random& random, const DotTypes& types, int n,
                                    std::uint64_t kind) {
  test::DrawnDot out;
  const auto drawn = [&](const Format& f) {
    const std::uint64_t ones = (std::uint64_t{1} << f.bits()) - 1,
                        highest = f.has_sign ? ones >> 1 : ones;
    switch (kind % 7) {
      case 0: return highest;
      case 1: return f.has_sign ? highest + 1 : highest;
      case 2: return random() % 2 == 0 ? highest : (highest + 1) & ones;
      case 3: return random() % 4 == 0 ? random() & ones : 0;
      default: return random() & ones;
    }
  };
  for (int i = 0; i < n; ++i) {
    out.a.push_back(drawn(types.a));
    out.b.push_back(drawn(types.b));
  }
  const std::uint64_t end = random() % 2 == 0 ? 0x7FFFFFFF : 0x80000000;
  const auto few = static_cast<std::uint64_t>(between(random, -70000, 70000) >> random() % 18);
  out.c = random() % 4 == 0   ? random() >> 32
          : random() % 4 == 0 ? few & 0xFFFFFFFF
                              : (end + few) & 0xFFFFFFFF;
  return out;
}

constexpr std::uint64_t product_kinds = 14;
/// Products of one kind out of product_kinds: at the ends of d's range, full significands, zeros,
/// ties, and any.
inline test::DrawnDot draw_products(Random& random, const GemmModel& g, int n, std::uint64_t kind) {
  const DotTypes& types = g.types;
  if (is_integer(types.a)) return draw_integers(random, types, n, kind);
  if (kind < 2) return draw_about(random, types, n, types.d.emax());
  if (kind < 4) return draw_about(random, types, n, types.d.quantum_exponent() + 1);
  if (kind < 6) return draw_full(random, types, n);
  if (kind < 8) return draw_zeros(random, types, n);
  if (kind < 10) return draw_ties(random, g, n);
  return test::draw_dot(random, types, n);
}

/// Draws the order in which a tile reads the products of its lines; -1 stands for +0.
inline std::vector<std::int32_t> draw_order(Random& random, int length) {
  std::vector<std::int32_t> out;
  for (int i = 0; i < length; ++i) out.push_back(i);
  switch (random() % 3) {
    case 0: break;
    case 1: std::ranges::reverse(out); break;
    default:
      for (std::int32_t& place : out) {
        std::swap(place, out[random() % out.size()]);
      }
      for (std::int32_t& place : out) place = random() % 8 == 0 ? -1 : place;
  }
  return out;
}

/// Draws the scales of runs of a tile's lines, of which the first `lines` of `height` exist: none;
/// or about one power of two; or any, also zeros, subnormal ones and the ends of the range; here
/// and there a NaN.
inline std::vector<std::uint32_t> draw_scales(Random& random, const Format& f, std::size_t runs,
                                              std::size_t height, int lines) {
  if (random() % 8 == 0) return {};
  const std::uint64_t kind = random() % 4;
  const auto one =
      static_cast<std::uint32_t>(project(Exact{Kind::finite, false, false, false, 0, 1}, f).bits);
  const auto last = static_cast<int>((std::uint64_t{1} << f.bits()) - 1);
  const int middle = kind < 2 ? static_cast<int>(one) : between(random, 0, last - 1);
  const int around = kind == 0 ? 3 : 12;
  const bool any_nan = random() % 4 == 0;
  std::vector<std::uint32_t> out(runs * height, one);
  for (std::size_t run = 0; run < runs; ++run) {
    for (int line = 0; line < lines; ++line) {
      const int near = std::clamp(middle + between(random, -around, around), 0, last - 1);
      const int code = any_nan && random() % 64 == 0    ? last
                       : kind == 3 && random() % 2 == 0 ? between(random, 0, last - 1)
                                                        : near;
      out[run * height + static_cast<std::size_t>(line)] = static_cast<std::uint32_t>(code);
    }
  }
  return out;
}

/// A tile's operands and what is done with them.
struct TileCase {
  const GemmModel& g;
  int rows = 1, columns = 1, instructions = 1;
  /// Number of products of each line before the first one that the tile adds; they are skipped.
  int before = 0;
  std::vector<std::int32_t> order;
  Lines a, b;
  /// Scales of runs of the packed operands, as encodings: [run][line]; empty: all are 1.
  std::vector<std::uint32_t> row_scales, column_scales;

  TileCase(Random& random, const GemmModel& model, std::uint64_t number) : g(model) {
    rows = between(random, 1, tile_rows);
    columns = 1 + static_cast<int>(number % tile_columns);
    instructions = g.types.c == g.types.d ? between(random, 1, 4) : 1;
    before = between(random, 0, 2) * g.k;
    const int length = before + instructions * g.k;
    order = draw_order(random, length);
    // Lines of one kind, or of any.
    const std::uint64_t one_kind = random() % product_kinds;
    const bool mixed = random() % 2 == 0, is_empty = random() % 6 == 0;
    const std::vector zeros(static_cast<std::size_t>(length), zero_bits(g.types.a, false));
    for (int i = 0; i < std::max(rows, columns); ++i) {
      const std::uint64_t kind = mixed ? random() % product_kinds : one_kind;
      const test::DrawnDot drawn = draw_products(random, g, length, kind);
      if (i < rows) a.push_back(is_empty ? zeros : drawn.a);
      if (i < columns) b.push_back(drawn.b);
    }
    if (!is_scaled(g.model)) return;
    const std::size_t runs = order.size() / static_cast<std::size_t>(scale_run(g));
    const Format& f = g.model.scaling.format;
    row_scales = draw_scales(random, f, runs, tile_rows, rows);
    column_scales = draw_scales(random, f, runs, tile_columns, columns);
  }
  ProductTile tile(const Group& row, const Group& column) const {
    return {row.bytes.data(),
            column.bytes.data(),
            order.size(),
            static_cast<std::size_t>(before),
            instructions,
            rows,
            columns,
            nullptr,
            {},
            {},
            {row_scales.empty() ? nullptr : row_scales.data(),
             column_scales.empty() ? nullptr : column_scales.data()}};
  }
  /// Returns an instruction's scales of a line of a group of `height`.
  std::vector<std::uint8_t> scales_of(const std::vector<std::uint32_t>& scales, std::size_t height,
                                      std::size_t line, int first) const {
    std::vector<std::uint8_t> out;
    if (scales.empty()) return out;
    const int run = scale_run(g);
    for (int at = first; at < first + g.k; at += run) {
      const std::uint32_t code = scales[static_cast<std::size_t>(at / run) * height + line];
      out.push_back(static_cast<std::uint8_t>(code));
    }
    return out;
  }
  /// Sets to zero the operands of x that the metadata of row i leave out (emulate/sparse.h). The
  /// metadata follow from the row with its infinities and NaNs, which x no longer has.
  void drop_unkept(std::size_t i, std::vector<std::uint64_t>& x) const {
    const int size = g.model.sparse_group;
    if (size == 0) return;
    std::vector<std::uint64_t> whole;
    for (const std::int32_t place : order) {
      whole.push_back(place < 0 ? zero_bits(g.types.a, false)
                                : a[i][static_cast<std::size_t>(place)]);
    }
    for (std::size_t first = 0; first < x.size(); first += static_cast<std::size_t>(size)) {
      std::array<bool, 4> is_kept{};
      for (int which = 0; which < size / 2; ++which) {
        is_kept[static_cast<std::size_t>(kept_position(whole.data() + first, size, which))] = true;
      }
      for (std::size_t at = 0; at < static_cast<std::size_t>(size); ++at) {
        if (!is_kept[at]) x[first + at] = zero_bits(g.types.a, false);
      }
    }
  }
  std::uint64_t by_definition(std::size_t i, std::size_t j, std::uint64_t sum,
                              SpecialOperands specials = SpecialOperands::kept) const {
    std::vector<std::uint64_t> x, y;
    const auto operand = [&](const Lines& lines, const Format& f, std::size_t line,
                             std::int32_t place) {
      const std::uint64_t zero = zero_bits(f, false);
      const std::uint64_t code = place < 0 ? zero : lines[line][static_cast<std::size_t>(place)];
      return specials == SpecialOperands::dropped && !is_number(code, f) ? zero : code;
    };
    for (const std::int32_t place : order) {
      x.push_back(operand(a, g.types.a, i, place));
      y.push_back(operand(b, g.types.b, j, place));
    }
    if (specials == SpecialOperands::dropped) drop_unkept(i, x);
    for (int turn = 0; turn < instructions; ++turn) {
      const int first = before + turn * g.k;
      const std::vector<std::uint8_t> of_a = scales_of(row_scales, tile_rows, i, first);
      const std::vector<std::uint8_t> of_b = scales_of(column_scales, tile_columns, j, first);
      sum = dot(g.model, g.types, x.data() + first, y.data() + first, g.k, sum, NoTrace{},
                {of_a.empty() ? nullptr : of_a.data(), of_b.empty() ? nullptr : of_b.data()});
    }
    return sum;
  }
};

}  // namespace binade::kernel_test
