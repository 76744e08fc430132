// SPDX-License-Identifier: Apache-2.0
//
// Rows of instructions that multiply by scales of blocks. A run is the products that share a scale
// of a and one of b; its exponent here is the sum of theirs. A table holds kinds of rows; row i has
// kind i modulo their number. Each draw is a statement of its own, because the order of draws is
// part of what a seed means.
#include <algorithm>
#include <array>

#include "emulate/operation.h"
#include "lib/cases/dot_operands.h"

namespace binade {
namespace {

const Format& format_of_scales(const DotRow& row) { return row.how.model.scaling.format; }

/// Returns the code of a scale 1.xxx · 2^e with random fraction bits. Below emin it has fewer bits
/// or is the smallest number, and beyond the range it is a number at its end.
std::uint64_t scale_at(Draw& draw, const Format& f, int e) {
  e = std::clamp(e, f.has_subnormals() ? f.quantum_exponent() : f.emin(), f.emax());
  Exact x = power(e);
  x.exponent -= f.fraction_bits();
  x.significand = std::uint64_t{1} << f.fraction_bits() | (draw.bits(8) & f.fraction_mask());
  return encoded(x, f);
}

/// Sets the scales of a run so that their exponents add up to e, or come as near to it as the
/// format allows.
void set_scales(DotCase& out, std::size_t run, Draw& draw, const DotRow& row, int e) {
  const Format& f = format_of_scales(row);
  const int low = f.has_subnormals() ? f.quantum_exponent() : f.emin();
  const int least = std::clamp(e - f.emax(), low, f.emax());
  const int most = std::clamp(e - low, low, f.emax());
  const int left = draw.between(std::max(least, e / 2 - 8), std::min(most, e / 2 + 8));
  const int of_a = std::clamp(left, least, most);
  out.a_scales[run] = scale_at(draw, f, of_a);
  out.b_scales[run] = scale_at(draw, f, e - of_a);
}

/// Returns the exponents that runs can have.
ExponentRange run_exponents(const DotRow& row) {
  const Format& f = format_of_scales(row);
  const int low = f.has_subnormals() ? f.quantum_exponent() : f.emin();
  return {2 * low, 2 * f.emax()};
}

std::size_t run_of(int i, const DotRow& row) {
  return static_cast<std::size_t>(i / row.how.model.scaling.share);
}

void fill_numbers(DotCase& out, Draw& draw, const DotRow& row) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(row.how.k); ++i) {
    out.a[i] = any_encoding(draw, row.how.types.a, true);
    out.b[i] = any_encoding(draw, row.how.types.b, true);
  }
}

void fill_zero_products(DotCase& out, Draw& draw, const DotRow& row) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(row.how.k); ++i) {
    const bool in_a = draw.flip();
    const std::uint64_t number = any_encoding(draw, in_a ? row.how.types.b : row.how.types.a, true);
    const std::uint64_t zero = some_zero(draw, in_a ? row.how.types.a : row.how.types.b);
    out.a[i] = in_a ? zero : number;
    out.b[i] = in_a ? number : zero;
  }
}

/// Returns minus the sum of the scaled products, computed in binary64 and rounded to c's format.
std::uint64_t minus_scaled_sum(const DotCase& x, const DotRow& row) {
  const DotTypes& t = row.how.types;
  const Format& f = format_of_scales(row);
  const auto product = [](std::uint64_t a, const Format& of_a, std::uint64_t b,
                          const Format& of_b) {
    return compute(Operation::multiply, {a, b}, {of_a, of_b}, binary64, {}).bits;
  };
  std::uint64_t sum = 0;
  for (int i = 0; i < row.how.k; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::size_t run = run_of(i, row);
    sum = compute(Operation::multiply_add,
                  {product(x.a[at], t.a, x.b[at], t.b),
                   product(x.a_scales[run], f, x.b_scales[run], f), sum},
                  {binary64, binary64, binary64}, binary64, {})
              .bits;
  }
  return nearest(negated(decode(sum, binary64)), t.c);
}

/// Returns an exponent of c that lies `below` the largest product that has the largest scales.
std::uint64_t number_below(Draw& draw, const DotRow& row, int top, int below) {
  const Format& c = row.how.types.c;
  return number_at(draw, c, std::clamp(top - below, c.quantum_exponent(), c.emax()));
}

/// Each scale is an end of its format, beside it, 1, or one whose highest bit is set.
void scales_at_ends(DotCase& out, Draw& draw, const DotRow& row) {
  const Format& f = format_of_scales(row);
  const std::uint64_t most = max_bits(f, false), one = encoded(power(0), f);
  const std::array<std::uint64_t, 8> codes{0, 0, 1, 2, one, most - 1, most, 0x80};
  for (std::size_t i = 0; i < scales_of_row(row.how); ++i) {
    out.a_scales[i] = codes[static_cast<std::size_t>(draw.between(0, 7))];
    out.b_scales[i] = codes[static_cast<std::size_t>(draw.between(0, 7))];
  }
  fill_numbers(out, draw, row);
  out.c = draw.flip() ? some_zero(draw, row.how.types.c) : normal_number(draw, row.how.types.c);
}

/// One scale is a NaN; of ue4m3, with or without the bit that is not read. In every fourth row all
/// products of its run are zeros.
void nan_scale(DotCase& out, Draw& draw, const DotRow& row) {
  const Format& f = format_of_scales(row);
  make_near_scales(out, draw, row);
  fill_numbers(out, draw, row);
  if (draw.between(0, 3) == 0) fill_zero_products(out, draw, row);
  const int runs = static_cast<int>(scales_of_row(row.how));
  const auto at = static_cast<std::size_t>(draw.between(0, runs - 1));
  const std::uint64_t unread = f == ue4m3 ? draw.bits(1) << 7 : 0;
  (draw.flip() ? out.a_scales : out.b_scales)[at] =
      nan_bits(f, NanResult::propagate, false) | unread;
  out.c = any_encoding(draw, row.how.types.c, false);
}

/// c is minus the sum, or a few of its ulps beside it.
void addend_cancels_scaled(DotCase& out, Draw& draw, const DotRow& row) {
  const ExponentRange range = run_exponents(row);
  const int base = draw.between(std::max(range.low, -110), std::min(range.high, 110));
  for (std::size_t i = 0; i < scales_of_row(row.how); ++i) {
    const int e = base + draw.between(-12, 12);
    set_scales(out, i, draw, row, e);
  }
  fill_numbers(out, draw, row);
  out.c = minus_scaled_sum(out, row);
  const auto step = static_cast<std::uint64_t>(draw.between(0, 4));
  if (decode(out.c + step, row.how.types.c).kind == Kind::finite) out.c += step;
}

/// The exponents of runs and of c lie up to 45 binades apart.
void runs_far_apart(DotCase& out, Draw& draw, const DotRow& row) {
  const ExponentRange range = run_exponents(row);
  const int top = draw.between(std::max(range.low + 40, -100), std::min(range.high, 110));
  const int runs = static_cast<int>(scales_of_row(row.how));
  const int highest = draw.between(0, runs - 1);
  for (int i = 0; i < runs; ++i) {
    const int below = draw.between(0, 45);
    set_scales(out, static_cast<std::size_t>(i), draw, row, i == highest ? top : top - below);
  }
  fill_numbers(out, draw, row);
  const int products = draw.between(1, 4);
  for (int run = 0; run < runs && draw.flip(); ++run) {  // few products in some runs
    const int first = run * row.how.model.scaling.share;
    for (int i = first + products; i < first + row.how.model.scaling.share; ++i) {
      out.a[static_cast<std::size_t>(i)] = zero_bits(row.how.types.a, false);
    }
  }
  const int below = draw.between(-10, 45);
  out.c = draw.between(0, 3) == 0 ? some_zero(draw, row.how.types.c)
                                  : number_below(draw, row, top, below);
}

/// The products of the second half are those of the first, negated, under the same scales, but for
/// one of the first half, which is small; c is small, too.
void halves_cancel(DotCase& out, Draw& draw, const DotRow& row) {
  const ExponentRange range = run_exponents(row);
  const int e = draw.between(std::max(range.low, -80), std::min(range.high, 80));
  const std::size_t runs = scales_of_row(row.how);
  for (std::size_t i = 0; i < (runs + 1) / 2; ++i) {
    const int own = e + draw.between(-6, 6);
    set_scales(out, i, draw, row, own);
  }
  for (std::size_t i = 0; i < runs / 2; ++i) {
    out.a_scales[runs - runs / 2 + i] = out.a_scales[i];
    out.b_scales[runs - runs / 2 + i] = out.b_scales[i];
  }
  fill_numbers(out, draw, row);
  const int half = row.how.k / 2;
  for (int i = 0; i < half; ++i) {
    const auto from = static_cast<std::size_t>(i), to = static_cast<std::size_t>(half + i);
    out.a[to] = out.a[from];
    out.b[to] = opposite(out.b[from], row.how.types.b);
  }
  const int at = draw.between(0, half - 1);
  set_product(out, at, draw, row.how.types, draw.between(-4, 0), true);
  const int below = draw.between(0, 40);
  out.c = number_below(draw, row, e, below);
}

/// Products of one group cancel, or leave a small rest, under large scales; those of other runs are
/// few and would be cut if the group counted with another exponent.
void group_cancels(DotCase& out, Draw& draw, const DotRow& row) {
  const DotTypes& t = row.how.types;
  const ExponentRange range = run_exponents(row);
  const int top = draw.between(std::max(range.low + 44, -60), std::min(range.high, 60));
  const int runs = static_cast<int>(scales_of_row(row.how));
  const int large = draw.between(0, runs - 1);
  out.a.fill(zero_bits(t.a, false));
  out.b.fill(zero_bits(t.b, false));
  for (int run = 0; run < runs; ++run) {
    const int below = draw.between(28, 44);
    const int e = run == large ? top : top - below;
    set_scales(out, static_cast<std::size_t>(run), draw, row, e);
    const int first = run * row.how.model.scaling.share, most = row.how.model.scaling.share - 1;
    const int products = run == large ? 0 : draw.between(0, 4);
    for (int i = 0; i < products; ++i) {
      const int at = first + draw.between(0, most);
      set_product(out, at, draw, t, draw.between(-4, 2), true);
    }
  }
  const int first = large * row.how.model.scaling.share;
  const int size = std::min(16, row.how.model.scaling.share);
  const auto [i, j] = two_places(draw, size);
  const auto from = static_cast<std::size_t>(first + i), to = static_cast<std::size_t>(first + j);
  const int of_pair = draw.between(-2, product_exponents(t, false).high);
  set_product(out, first + i, draw, t, of_pair, true);
  out.a[to] = out.a[from];
  out.b[to] = opposite(out.b[from], t.b);
  const auto rest = static_cast<std::size_t>(first + (std::max(i, j) + 1) % size);
  if (draw.flip() && rest != from && rest != to) {
    set_product(out, static_cast<int>(rest), draw, t, draw.between(-4, 0), true);
  }
  const int of_c = draw.between(0, 3);
  const int below = draw.between(20, 44);
  out.c = some_zero(draw, t.c);
  if (of_c == 0) out.c = minus_scaled_sum(out, row);
  if (of_c == 1) out.c = number_below(draw, row, top, below);
}

/// Terms about as small as the exponent floor and what is cut below it allow, and no c, or a small
/// one.
void at_floor(DotCase& out, Draw& draw, const DotRow& row) {
  const DotModel& m = row.how.model;
  const int lowest = m.exponent_floor - m.fraction_bits;
  const int base = draw.between(lowest - 4, m.exponent_floor + 2);
  const int products = draw.between(1, row.how.k);
  out.a.fill(zero_bits(row.how.types.a, false));
  out.b.fill(zero_bits(row.how.types.b, false));
  for (std::size_t i = 0; i < scales_of_row(row.how); ++i) {
    const int e = draw.flip() ? draw.between(lowest - 4, m.exponent_floor - 1) : base;
    set_scales(out, i, draw, row, e);
  }
  const ExponentRange scales = run_exponents(row);
  for (int n = 0; n < products; ++n) {
    const int i = draw.between(0, row.how.k - 1);
    const std::size_t run = run_of(i, row);
    const Format& f = format_of_scales(row);
    const Exact a = decode(out.a_scales[run], f), b = decode(out.b_scales[run], f);
    const int of_run = std::max(scales.low, a.exponent + b.exponent + 2 * f.fraction_bits());
    const int e = base + draw.between(-4, 12);
    set_product(out, i, draw, row.how.types, e - of_run, true);
  }
  const int of_c = draw.between(0, 5);
  out.c = some_zero(draw, row.how.types.c);
  if (of_c == 0) out.c = min_bits(row.how.types.c, draw.flip());
  if (of_c == 1) out.c = number_below(draw, row, base, 0);
}

/// A sum of numbers of d below the exponent floor, and of one product of the other sign about where
/// the floor cuts, which moves the result by one place unless it is cut.
void below_a_number(DotCase& out, Draw& draw, const DotRow& row) {
  const DotTypes& t = row.how.types;
  const DotModel& m = row.how.model;
  const ExponentRange range = product_exponents(t, true);
  const int runs = static_cast<int>(scales_of_row(row.how)), share = m.scaling.share;
  const auto [large, small] = two_places(draw, runs);
  const int of_small = m.exponent_floor - m.fraction_bits + draw.between(-2, 1);
  const int of_sum = t.d.quantum_exponent() + draw.between(0, 3);
  const int small_run = of_small - draw.between(range.low, range.low + 3);
  const int large_run = runs == 1 ? small_run : of_sum - draw.between(range.low, range.high);
  out.a.fill(zero_bits(t.a, false));
  out.b.fill(zero_bits(t.b, false));
  for (int run = 0; run < runs; ++run) {
    set_scales(out, static_cast<std::size_t>(run), draw, row, run == large ? large_run : small_run);
  }
  const int each = std::min(of_sum - large_run, range.high);  // a sum has up to 2^4 products
  const int products = 1 << std::clamp(of_sum - large_run - each, 0, 4);
  const bool negative = draw.flip();
  for (int i = 0; i < std::min(products, share - 1); ++i) {
    set_power(out, large * share + i, t, each, negative);
  }
  set_power(out, small * share + share - 1, t, of_small - small_run,
            draw.between(0, 3) == 0 ? negative : !negative);
  out.c = some_zero(draw, t.c);
}

/// Sums near the end of d's range, or c at that end.
void at_end_of_range(DotCase& out, Draw& draw, const DotRow& row) {
  const DotTypes& t = row.how.types;
  const int end = t.d.emax() - product_exponents(t, false).high;
  for (std::size_t i = 0; i < scales_of_row(row.how); ++i) {
    const int e = end + draw.between(-8, 4);
    set_scales(out, i, draw, row, e);
  }
  fill_numbers(out, draw, row);
  const int of_c = draw.between(0, 2);
  out.c = normal_number(draw, t.c);
  if (of_c == 0) out.c = max_bits(t.c, draw.flip());
  if (of_c == 1) out.c = number_at(draw, t.c, t.c.emax());
}

/// Products that are negative under scales that are zero, and c = -0.
void negative_under_zeros(DotCase& out, Draw& draw, const DotRow& row) {
  for (std::size_t i = 0; i < scales_of_row(row.how); ++i) {
    const bool in_a = draw.flip();
    out.a_scales[i] = in_a ? 0 : scale_at(draw, format_of_scales(row), 0);
    out.b_scales[i] = in_a ? scale_at(draw, format_of_scales(row), 0) : 0;
  }
  for (int i = 0; i < row.how.k; ++i) set_power(out, i, row.how.types, 0, true);
  out.c = zero_bits(row.how.types.c, true);
}

/// Every product is zero, whatever the scales; c is a zero or small.
void zeros_under_scales(DotCase& out, Draw& draw, const DotRow& row) {
  const bool has_zero = format_of_scales(row).has_zero;
  if (has_zero && draw.between(0, 3) == 0) return negative_under_zeros(out, draw, row);
  fill_zero_products(out, draw, row);
  for (std::size_t i = 0; i < scales_of_row(row.how); ++i) {
    const int e = draw.between(-20, 20);
    set_scales(out, i, draw, row, e);
  }
  const Format& c = row.how.types.c;
  const int e = draw.between(c.quantum_exponent(), c.emin());
  out.c = draw.between(0, 3) == 0 ? number_at(draw, c, e) : some_zero(draw, c);
}

using ScaledKindOfRow = void (*)(DotCase& out, Draw& draw, const DotRow& row);
constexpr std::array<ScaledKindOfRow, 10> scaled_kinds_of_rows{
    scales_at_ends, nan_scale, addend_cancels_scaled, runs_far_apart,  halves_cancel,
    group_cancels,  at_floor,  below_a_number,        at_end_of_range, zeros_under_scales};

}  // namespace

void make_near_scales(DotCase& out, Draw& draw, const DotRow& row) {
  for (std::size_t i = 0; i < scales_of_row(row.how); ++i) {
    const int of_a = draw.between(-2, 2);
    out.a_scales[i] = scale_at(draw, format_of_scales(row), of_a);
    const int of_b = draw.between(-2, 2);
    out.b_scales[i] = scale_at(draw, format_of_scales(row), of_b);
  }
}

void make_any_scales(DotCase& out, Draw& draw, const DotRow& row) {
  for (std::size_t i = 0; i < scales_of_row(row.how); ++i) {
    out.a_scales[i] = draw.bits(8);
    out.b_scales[i] = draw.bits(8);
  }
}

void make_block_scales(DotCase& out, Draw& draw, const DotRow& row) {
  scaled_kinds_of_rows[row.index % scaled_kinds_of_rows.size()](out, draw, row);
}

}  // namespace binade
