// SPDX-License-Identifier: Apache-2.0
//
// The table of generators of dot products, and most of the generators; those whose sums are zeros,
// infinities or NaNs are in dot_special_cases.cpp.
#include "lib/cases/dot_cases.h"

#include <algorithm>
#include <string>
#include <vector>

#include "emulate/codec.h"
#include "lib/cases/dot_operands.h"
#include "lib/parallel/parallel.h"
#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

void make_normal(DotCase& out, Draw& draw, const DotRow& row) { fill_normal(out, draw, row.how); }

void make_random_bits(DotCase& out, Draw& draw, const DotRow& row) {
  const bool finite = row.index % 2 != 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(row.how.k); ++i) {
    out.a[i] = any_encoding(draw, row.how.types.a, finite);
    out.b[i] = any_encoding(draw, row.how.types.b, finite);
  }
  out.c = any_encoding(draw, row.how.types.c, finite);
}

/// Sets all products: their exponents lie in [top - spread, top], and one of them at the top.
void fill_bounded(DotCase& out, Draw& draw, const Instruction& how, int top, int spread) {
  const int highest = draw.between(0, how.k - 1);
  for (int i = 0; i < how.k; ++i) {
    const int below = draw.between(0, spread);
    set_product(out, i, draw, how.types, i == highest ? top : top - below, false);
  }
}

struct Window {
  int top = 0, spread = 0;
};

/// Returns up to 40 binades somewhere in the range of products that d can hold.
Window some_window(Draw& draw, const DotTypes& t) {
  const ExponentRange range = product_exponents(t, false);
  const int high = std::min(range.high, t.d.emax() - 6);
  const int low = std::min(std::max(range.low, t.d.quantum_exponent()), high);
  const int spread = draw.between(0, std::min(40, high - low));
  return {draw.between(low + spread, high), spread};
}

void make_bounded_exponents(DotCase& out, Draw& draw, const DotRow& row) {
  const DotTypes& t = row.how.types;
  const auto [top, spread] = some_window(draw, t);
  fill_bounded(out, draw, row.how, top, spread);
  if (row.index % 4 == 3) {
    const int partner = cancel_halves(out, draw, row.how);
    if (row.index % 8 == 3) {  // d is then what the large products leave of two small ones
      set_product(out, 0, draw, t, top - spread, false);
      set_product(out, partner, draw, t, top - spread, false);
      out.c = some_zero(draw, t.c);
      return;
    }
  }
  if (row.index % 2 == 0) {
    out.c = minus_sum(out, row.how);
    const int step = row.index % 4 == 0 ? 0 : draw.between(1, 4);
    const std::uint64_t ulps = static_cast<std::uint64_t>(step) << t.c.padding_bits;
    if (decode(out.c + ulps, t.c).kind == Kind::finite) out.c += ulps;
  } else {
    const int e = top - draw.between(0, spread);
    out.c = number_at(draw, t.c, std::clamp(e, t.c.quantum_exponent(), t.c.emax()));
  }
}

/// A sequence of rows that finds the exponent floor, with which the generator `tiny` begins. Each
/// row has two products: the smallest number of d or half of it, and one that lies a binade lower
/// at each rung, until the floor drops it. Each rung has `per_rung` rows.
struct Ladder {
  static constexpr std::uint64_t per_rung = 64;
  std::uint64_t rungs = 0;

  explicit Ladder(const DotTypes& t) {
    const int depth = t.d.quantum_exponent() - product_exponents(t, true).low;
    rungs = depth > 0 ? static_cast<std::uint64_t>(std::min(depth, 130)) + 1 : 0;
  }
};

void make_rung(DotCase& out, const DotRow& row) {
  const DotTypes& t = row.how.types;
  const int quantum = t.d.quantum_exponent();
  const std::uint64_t variant = row.index % Ladder::per_rung;
  const int base = (variant & 1) != 0 ? quantum - 1 : quantum;
  const int other = (variant & 4) != 0 ? row.how.k - 1 : 1;
  const ExponentSplit split = (variant & 8) != 0 ? ExponentSplit::lowest_a : ExponentSplit::halves;
  out.a.fill(zero_bits(t.a, false));
  out.b.fill(zero_bits(t.b, false));
  set_power(out, 0, t, base, false);
  set_power(out, other, t, quantum - static_cast<int>(row.index / Ladder::per_rung),
            (variant & 2) != 0, split);
  const std::uint64_t addends[]{zero_bits(t.c, false), zero_bits(t.c, true), min_bits(t.c, false),
                                encoded(power(t.c.emin()), t.c)};
  out.c = addends[variant / 16];
}

void make_tiny(DotCase& out, Draw& draw, const DotRow& row) {
  const DotTypes& t = row.how.types;
  if (row.index < Ladder(t).rungs * Ladder::per_rung) return make_rung(out, row);
  const int quantum = t.d.quantum_exponent();
  const int low = std::max(product_exponents(t, true).low, quantum - 30);
  const int high = std::max(low + 12, t.d.emin() + 2);
  const int top = draw.between(low, high);
  for (int i = 0; i < row.how.k; ++i) {
    const auto at = static_cast<std::size_t>(i);
    set_product(out, i, draw, t, draw.between(low, top), true);
    if (draw.between(0, 3) == 0) out.a[at] = some_zero(draw, t.a);
  }
  const int kind = draw.between(0, 3);
  const int near_products = draw.between(low, high);
  const int near_smallest = draw.between(t.c.quantum_exponent(), t.c.emin() + 1);
  out.c = number_at(draw, t.c, kind == 0 ? near_products : near_smallest);
  if (kind == 1) out.c = some_zero(draw, t.c);
  if (kind == 2) out.c = minus_sum(out, row.how);
}

/// Makes n products whose factors have all significand bits set, all of one sign, for n from k down
/// to 1; c has all its bits set too.
void make_carry(DotCase& out, Draw& draw, const DotRow& row) {
  const DotTypes& t = row.how.types;
  const bool negative = (row.index & 1) != 0;
  const std::uint64_t addend = row.index >> 1 & 3;
  const std::uint64_t size = row.index >> 3 & 3;
  const auto k = static_cast<std::uint64_t>(row.how.k);
  const std::uint64_t n = k - (row.index >> 5) % k;
  const int in_range = std::min(product_exponents(t, false).high, t.d.emax() - 8);
  const auto ones = [&](const Format& f, int e, bool sign) {
    const std::uint64_t all = (std::uint64_t{1} << f.precision) - 1;
    return encoded({.kind = Kind::finite,
                    .negative = sign,
                    .exponent = e - f.fraction_bits(),
                    .significand = all},
                   f);
  };
  const int some = draw.between(product_exponents(t, false).low, in_range);
  const int exponents[]{product_exponents(t, false).high, 0, in_range, some};
  const int e = exponents[size];
  const int left = std::clamp(e / 2, std::max(t.a.emin(), e - t.b.emax()), t.a.emax());
  out.a.fill(zero_bits(t.a, false));
  out.b.fill(zero_bits(t.b, false));
  for (std::uint64_t i = 0; i < n; ++i) {
    out.a[i] = ones(t.a, left, negative);
    out.b[i] = ones(t.b, e - left, false);
  }
  const std::uint64_t addends[]{ones(t.c, e, negative), ones(t.c, e + 1, negative),
                                ones(t.c, t.c.emax(), negative), ones(t.c, e, !negative)};
  out.c = addends[addend];
}

/// In row i·k + j the product at i is so large that the others vanish beside it, the one at j is
/// its opposite (c is where i = j), and the others are small. The small products that the
/// instruction adds after both large ones remain in d.
void make_k_order(DotCase& out, Draw& draw, const DotRow& row) {
  const DotTypes& t = row.how.types;
  const auto k = static_cast<std::uint64_t>(row.how.k);
  const auto i = static_cast<int>(row.index / k % k);
  const auto j = static_cast<int>(row.index % k);
  const bool equal_ones = row.index < k * k;
  const ExponentRange range = product_exponents(t, true);
  const int big = std::min(range.high, std::min(t.c.emax(), t.d.emax()) - 1);
  const int apart = std::max(40, t.d.precision + 8);
  const int tiny = std::max({range.low, t.d.quantum_exponent(), big - apart});
  for (int n = 0; n < row.how.k; ++n) {
    if (equal_ones) {
      set_power(out, n, t, tiny, false);
    } else {
      set_product(out, n, draw, t, tiny + 1, true);
    }
  }
  set_power(out, i, t, big, false);
  out.c = zero_bits(t.c, false);
  if (i != j) {
    set_power(out, j, t, big, true);
  } else {
    Exact minus = power(big);
    minus.negative = true;
    out.c = encoded(minus, t.c);
  }
}

/// Sets random bits among the 13 below tf32's own: in numbers, and in three rows of four at one
/// place where tf32's own bits are those of an infinity, of a zero or of a subnormal.
void make_tf32_low_bits(DotCase& out, Draw& draw, const DotRow& row) {
  fill_normal(out, draw, row.how);
  const auto low = [&] { return draw.bits(13); };
  for (std::size_t i = 0; i < static_cast<std::size_t>(row.how.k); ++i) {
    out.a[i] |= low();
    out.b[i] |= low();
  }
  const auto at = static_cast<std::size_t>(draw.between(0, row.how.k - 1));
  auto& where = draw.flip() ? out.a[at] : out.b[at];
  const std::uint64_t sign = draw.bits(1) << 31;
  const std::uint64_t payload = low() | 1;
  const std::uint64_t any = draw.bits(23);
  const std::uint64_t kinds[]{where, 0x7F800000 | sign | payload, sign | payload, sign | any};
  where = kinds[row.index % 4];
}

/// Rows come in chains of 2, 4, … 64 instructions. The operands of a chain are normally distributed
/// or have exponents within 40 binades.
constexpr std::uint64_t longest_chain = 64;

std::uint64_t first_of_chain(std::uint64_t index) {
  const std::uint64_t length = std::uint64_t{2} << index / longest_chain % 6;
  return index - index % length;
}

void make_chains(DotCase& out, Draw& draw, const DotRow& row) {
  const std::uint64_t first = first_of_chain(row.index);
  if (row.index / longest_chain % 12 < 6) {
    fill_normal(out, draw, row.how);
  } else {
    Draw of_chain(row.seed, ~first);
    const auto [top, spread] = some_window(of_chain, row.how.types);
    fill_bounded(out, draw, row.how, top, spread);
    out.c = number_at(draw, row.how.types.c, std::min(top, row.how.types.c.emax()));
  }
  if (row.index != first) out.c = zero_bits(row.how.types.c, false);
}

/// All integers are equally likely, but every fourth row has only the ends of the operands' range,
/// and in every second row c is near an end of its range, where the sum wraps or saturates.
void make_integers(DotCase& out, Draw& draw, const DotRow& row) {
  const DotTypes& t = row.how.types;
  const auto code = [&draw, &row](const Format& f) {
    if (row.index % 4 != 3) return draw.bits(f.bits());
    const std::uint64_t top = std::uint64_t{1} << (f.bits() - 1);
    return draw.flip() ? top : f.has_sign ? top - 1 : top * 2 - 1;
  };
  for (std::size_t i = 0; i < static_cast<std::size_t>(row.how.k); ++i) {
    out.a[i] = code(t.a);
    out.b[i] = code(t.b);
  }
  const std::uint64_t near = draw.bits(16);
  const std::uint64_t ends[]{0x7FFFFFFF - near, 0x80000000 + near};
  out.c = row.index % 2 == 0 ? draw.bits(32) : ends[draw.bits(1)];
}

bool of_numbers(const Instruction& x) { return !is_integer(x.types.a); }
bool unscaled(const Instruction& x) { return of_numbers(x) && !is_scaled(x.model); }
bool scaled(const Instruction& x) { return is_scaled(x.model); }
bool of_integers(const Instruction& x) { return is_integer(x.types.a); }
bool of_tf32(const Instruction& x) { return x.types.a == tf32 && x.types.b == tf32; }
bool in_chains(const Instruction& x) { return x.types.c == x.types.d && of_numbers(x); }

const DotGenerator generator_table[] = {
    {"normal", "what gradients and weights look like: about N(0, 1), c of either sign", 20000,
     false, of_numbers, make_normal, make_near_scales},
    {"random_bits", "every encoding alike; in odd rows without NaN and Inf", 100000, false,
     of_numbers, make_random_bits, make_any_scales},
    {"bounded_exponents",
     "products and c within 0 to 40 binades; c or the products among themselves cancel most", 50000,
     false, unscaled, make_bounded_exponents},
    {"tiny", "the exponent floor: a ladder of ever smaller products, then random ones near the end",
     20000, false, unscaled, make_tiny},
    {"zeros",
     "the sign of zero: zeros of all signs, exact cancellation, results below the smallest", 2000,
     false, of_numbers, make_zeros, make_near_scales},
    {"zero_products",
     "whether a zero operand counts: zeros times large numbers, beside what they would cut", 2000,
     false, unscaled, make_zero_products},
    {"specials",
     "NaN, Inf, Inf·0, Inf-Inf, the last sum in the range, products beyond it that cancel", 5000,
     false, of_numbers, make_specials, make_near_scales},
    {"carry", "the accumulator's width: all products and c with all bits set, of one sign", 500,
     false, unscaled, make_carry},
    {"k_order",
     "which products share a block, in which order: big, -big and tiny at every pair of k", 0,
     false, unscaled, make_k_order},
    {"tf32_low_bits", "what becomes of the 13 bits below tf32's own", 10000, false, of_tf32,
     make_tf32_low_bits},
    {"chains", "instructions in a row: c is what the device gave for the row before", 20000, true,
     in_chains, make_chains, make_near_scales},
    {"integers", "wrapping and saturation: random codes, the ends of the ranges, c near its ends",
     10000, false, of_integers, make_integers},
    {"block_scales",
     "scales of blocks: their ends, zero and NaN, groups that cancel, terms far apart, the floor",
     20000, false, scaled, make_block_scales},
};

/// Returns how many products of an instruction are not left out by sparse metadata.
int kept_k(const Instruction& x) { return x.model.sparse_group == 0 ? x.k : x.k / 2; }

/// Returns a row of length k in which the products of `dense` stand in order, at one random place
/// of each group of 2, two of each group of 4, or two of the four pairs of each group of 8.
DotCase spread(const DotCase& dense, Draw& draw, int k, int group, const Format& b) {
  DotCase out = dense;
  out.a = out.b = {};
  const int width = group == sparse_group_of_pairs ? 2 : 1;
  const bool keeps_two = group != 2;
  std::size_t next = 0;
  for (int first = 0; first < k; first += group) {
    const auto [i, j] = two_places(draw, group / width);
    for (int at = first; at < first + group; ++at) {
      const auto here = static_cast<std::size_t>(at);
      const int unit = (at - first) / width;
      const bool kept = unit == i || (keeps_two && unit == j);
      out.b[here] = kept ? dense.b[next] : any_encoding(draw, b, true);
      if (kept) out.a[here] = dense.a[next++];
    }
  }
  return out;
}

/// Returns a seed of the generator's own, so that generators that are given one seed draw
/// differently.
std::uint64_t own_seed(const DotGenerator& generator, std::uint64_t seed) {
  std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a of the name
  for (const char c : generator.name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  }
  return seed ^ hash;
}

}  // namespace

std::span<const DotGenerator> dot_generators() { return generator_table; }

const DotGenerator& parse_dot_generator(std::string_view name) {
  const auto row = std::ranges::find(generator_table, name, &DotGenerator::name);
  if (row != std::end(generator_table)) return *row;
  const std::vector<std::string_view> names = names_of(generator_table);
  throw Error("no generator '" + printable(name) + "'" + did_you_mean(name, names) +
              "; there are " + listed(names));
}

std::uint64_t full_rows(const DotGenerator& generator, const Instruction& instruction) {
  const auto k = static_cast<std::uint64_t>(kept_k(instruction));
  return generator.rows == 0 ? k * k : generator.rows;
}

bool continues_chain(const DotGenerator& generator, std::uint64_t index) {
  return generator.chained && index != first_of_chain(index);
}

DotCase make_dot_case(const DotGenerator& generator, const Instruction& instruction,
                      std::uint64_t seed, std::uint64_t index) {
  DotCase out;
  Instruction dense = instruction;
  dense.k = kept_k(instruction);
  dense.model.sparse_group = 0;
  const DotRow row{dense, own_seed(generator, seed), index};
  Draw draw(row.seed, index);
  generator.make(out, draw, row);
  if (is_scaled(dense.model) && generator.scale != nullptr) generator.scale(out, draw, row);
  const int group = instruction.model.sparse_group;
  return group == 0 ? out : spread(out, draw, instruction.k, group, instruction.types.b);
}

Dots make_dots(const DotGenerator& generator, const Instruction& instruction, std::uint64_t seed,
               std::uint64_t first, std::uint64_t rows) {
  const auto k = static_cast<std::size_t>(instruction.k);
  Dots out;
  out.a.resize(rows * k);
  out.b.resize(rows * k);
  out.c.resize(rows);
  out.d.resize(rows);
  const std::size_t scales = scales_of_row(instruction);
  out.a_scales.resize(rows * scales);
  out.b_scales.resize(rows * scales);
  parallel_for(rows, 256, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) {
      const DotCase x = make_dot_case(generator, instruction, seed, first + i);
      std::copy_n(x.a.begin(), k, out.a.data() + i * k);
      std::copy_n(x.b.begin(), k, out.b.data() + i * k);
      out.c[i] = x.c;
      std::copy_n(x.a_scales.begin(), scales, out.a_scales.data() + i * scales);
      std::copy_n(x.b_scales.begin(), scales, out.b_scales.data() + i * scales);
    }
  });
  return out;
}

}  // namespace binade
