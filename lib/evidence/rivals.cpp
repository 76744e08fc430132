// SPDX-License-Identifier: Apache-2.0
//
// Holds the tables of rivals, and computes for which instructions each of them can give another
// result.
#include "lib/evidence/rivals.h"

#include <algorithm>
#include <array>
#include <utility>

namespace binade {
namespace {

/// Returns the number of products that take part in the sum.
int kept_k(const Instruction& x) { return x.model.sparse_group == 0 ? x.k : x.k / 2; }

/// Returns the exponent of the lowest bit of a product, with its scales.
int products_quantum(const Instruction& x) {
  const int scales = is_scaled(x.model) ? 2 * x.model.scaling.format.quantum_exponent() : 0;
  return x.types.a.quantum_exponent() + x.types.b.quantum_exponent() + scales;
}

/// Returns an exponent above those of all products of an instruction and of their sum.
int above_products(const Instruction& x) {
  const int carry = bit_width(static_cast<std::uint64_t>(kept_k(x)));
  const int scales = is_scaled(x.model) ? 2 * x.model.scaling.format.emax() + 2 : 0;
  return x.types.a.emax() + x.types.b.emax() + scales + 2 + carry;
}

/// Returns whether c is a term of the sum.
bool sums_c(const DotModel& m) { return !m.c_last && !m.scales.without_c; }

/// Returns whether the sum is rounded once more, as IEEE 754 says.
bool goes_on(const DotModel& m) { return m.c_last || m.through_f32; }

/// Returns the types of the sum itself: c is widened, and operands of the expanded recipe are
/// binary16.
DotTypes inner_types(const Instruction& x) {
  DotTypes out = with_wide_c(types_of_sums(x.model, x.types));
  if (x.model.recipe == Recipe::expanded) out.a = out.b = binary16;
  return out;
}

/// Returns the exponent of the lowest bit that alignment can keep of any term.
int lowest_bit(const Instruction& x) {
  const int f = x.model.fraction_bits;
  const int of_c = std::max(x.types.c.quantum_exponent(), inner_types(x).c.emin() - f);
  const int of_products = std::max(products_quantum(x), x.model.exponent_floor - f);
  return sums_c(x.model) ? std::min(of_c, of_products) : of_products;
}

/// Returns the number of products that are added to one c; an expanded instruction has two runs of
/// them.
int run_of_products(const Instruction& x) {
  return x.model.recipe == Recipe::expanded ? kept_k(x) / 2 : kept_k(x);
}
bool has_blocks(const Instruction& x) {
  return x.model.recipe == Recipe::expanded || kept_k(x) > x.model.block;
}

/// Returns whether some d is subnormal.
bool has_subnormals(const Instruction& x) {
  const int of_c = x.types.c.quantum_exponent();
  const bool by_c = !x.model.scales.without_c && of_c < x.types.d.emin();
  return by_c || products_quantum(x) < x.types.d.emin();
}

/// Returns whether a product of zero can cut bits of other terms, if a zero has these exponents in
/// a and in b.
bool zero_shows(const Instruction& x, int in_a, int in_b) {
  const int top = std::max(in_a + x.types.b.emax(), in_b + x.types.a.emax());
  return top > x.model.exponent_floor && lowest_bit(x) < top - x.model.fraction_bits;
}

/// Returns whether a floor cuts bits of products. A c other than zero lies above every floor.
bool floor_shows(const Instruction& x, int floor) {
  return products_quantum(x) < floor - x.model.fraction_bits;
}

/// Returns whether a sum of finite terms can leave the range of `d`; if c is large, half its ulp is
/// enough.
bool can_overflow(const Instruction& x, const Format& d, bool beside_c) {
  return above_products(x) > (beside_c ? d.emax() - d.precision : d.emax() + 1);
}

bool has_infinity(const Format& f) { return f.specials == Specials::ieee; }

/// A rule as a change of a model. `change` leaves the model as it is if there is nothing to change,
/// and returns false if no operands can show the change.
struct ChangedRule {
  Aspect aspect;
  std::string_view name, whose;
  bool (*change)(DotModel& model, const Instruction& x);
};

bool c_in_its_turn(DotModel& m, const Instruction&) {
  const bool last = m.c_last;
  m.c_last = false;
  return last;
}

const ChangedRule of_fused[]{
    {Aspect::ordinary, "F - 1", "",
     [](DotModel& m, const Instruction&) {
       m.fraction_bits -= 1;
       return true;
     }},
    {Aspect::ordinary, "F + 1", "",
     [](DotModel& m, const Instruction&) {
       m.fraction_bits += 1;
       return true;
     }},
    {Aspect::ordinary, "L / 2", "",
     [](DotModel& m, const Instruction& x) {
       m.block /= 2;
       return run_of_products(x) > m.block;
     }},
    {Aspect::ordinary, "other rounding", "",
     [](DotModel& m, const Instruction&) {
       const bool cut = m.rounding == Rounding::toward_zero;
       m.rounding = cut ? Rounding::ties_to_even : Rounding::toward_zero;
       return true;
     }},
    {Aspect::ordinary, "c with the products", "", c_in_its_turn},
    {Aspect::ordinary, "products scaled one by one", "",
     [](DotModel& m, const Instruction&) {
       const bool grouped = m.scaling.group != 0;
       m.scaling.group = 0;
       return grouped;
     }},
    {Aspect::ordinary, "groups of 4", "",
     [](DotModel& m, const Instruction&) {
       const bool grouped = m.scaling.group != 0;
       if (grouped) m.scaling.group = 4;
       return grouped;
     }},
    {Aspect::chaining, "one block", "",
     [](DotModel& m, const Instruction& x) {
       if (m.recipe == Recipe::fused_block) m.block = kept_k(x);
       return kept_k(x) > x.model.block;
     }},
    {Aspect::chaining, "highest k first", "",
     [](DotModel& m, const Instruction& x) {
       m.descending = m.recipe == Recipe::fused_block;
       return kept_k(x) > x.model.block;
     }},
    {Aspect::chaining, "consecutive halves", "",
     [](DotModel& m, const Instruction& x) {
       if (m.recipe != Recipe::expanded) return false;
       m.recipe = Recipe::fused_block;
       m.block = kept_k(x) / 2;
       return true;
     }},
    {Aspect::zero_operands, "zero_raises single", "MMA-Sim v1",
     [](DotModel& m, const Instruction& x) {
       if (is_scaled(m)) return false;  // nobody says what a zero's scales would count for
       m.edges.zero_raises = ZeroRaises::single;
       return zero_shows(x, binary32.emin(), binary32.emin());
     }},
    {Aspect::zero_operands, "zero_raises emin", "",
     [](DotModel& m, const Instruction& x) {
       const DotTypes t = inner_types(x);
       const bool other = t.a.emin() != binary32.emin() || t.b.emin() != binary32.emin();
       // otherwise it is the rule "zero_raises single"
       if (other && !is_scaled(m)) m.edges.zero_raises = ZeroRaises::emin;
       return zero_shows(x, t.a.emin(), t.b.emin());
     }},
    {Aspect::specials, "NaN 7FC00000 or 7E00", "",
     [](DotModel& m, const Instruction&) {
       m.edges.nan = NanResult::quiet;
       return !goes_on(m);
     }},
    {Aspect::specials, "Inf is the largest number", "",
     [](DotModel& m, const Instruction& x) {
       m.edges.no_infinity = true;
       const bool overflows = has_blocks(x) && can_overflow(x, inner_types(x).d, false);
       const bool infinite =
           has_infinity(x.types.a) || has_infinity(x.types.b) || sums_c(m) || overflows;
       // Converted to binary16, the largest number of binary32 is an infinity again.
       const bool kept = inner_types(x).d == x.types.d || has_blocks(x);
       return infinite && kept;
     }},
    {Aspect::overflow, "the largest number", "",
     [](DotModel& m, const Instruction& x) {
       m.edges.saturates = true;
       return can_overflow(x, inner_types(x).d, sums_c(m));
     }},
    {Aspect::subnormals, "flushed", "",
     [](DotModel& m, const Instruction& x) {
       m.edges.flushes = true;
       return lowest_bit(x) < inner_types(x).d.emin();
     }},
    {Aspect::exponent_floor, "floor - 1", "",
     [](DotModel& m, const Instruction& x) {
       m.exponent_floor -= 1;
       return floor_shows(x, x.model.exponent_floor);
     }},
    {Aspect::exponent_floor, "floor + 1", "",
     [](DotModel& m, const Instruction& x) {
       m.exponent_floor += 1;
       return floor_shows(x, m.exponent_floor);
     }},
    {Aspect::exponent_floor, "no floor", "",
     [](DotModel& m, const Instruction& x) {
       m.exponent_floor = no_floor;
       return floor_shows(x, x.model.exponent_floor);
     }},
    {Aspect::exponent_floor, "floor -126", "MMA-Sim v1",
     [](DotModel& m, const Instruction& x) {
       if (m.grid.bias == binary32.bias) m.exponent_floor = binary32.emin();
       return floor_shows(x, m.exponent_floor);
     }},
    {Aspect::signs_of_zero, "cut_to_zero negative", "MATLAB-tensor-core",
     [](DotModel& m, const Instruction& x) {
       m.edges.cut_keeps_sign = true;
       return lowest_bit(x) < m.grid.quantum_exponent();
     }},
    {Aspect::signs_of_zero, "-0 and -0 are -0", "",
     [](DotModel& m, const Instruction&) {
       m.edges.zeros_keep_sign = true;
       // A group of products that are zeros has no sign, but one whose scale is zero has.
       return sums_c(m) && (m.scaling.group == 0 || m.scaling.format.has_zero);
     }},
    {Aspect::zero_c, "c = 0 has c's emin", "",
     [](DotModel& m, const Instruction& x) {
       m.edges.zero_c_raises = true;
       return floor_shows(x, inner_types(x).c.emin());
     }},
    {Aspect::mixed_types, "c keeps f16's emin", "MMA-Sim 2.1",
     [](DotModel& m, const Instruction& x) {
       // The lowest bits of a widened subnormal c have exponents of their own, and next to them
       // more bits of the products are kept.
       const bool narrow = sums_c(m) && x.types.c != x.types.d && fits_in(x.types.c, x.types.d);
       m.edges.narrow_c = narrow;
       return narrow && products_quantum(x) < x.types.c.emin() - m.fraction_bits;
     }},
};

const ChangedRule of_chains[]{
    {Aspect::ordinary, "c first", "", c_in_its_turn},
    {Aspect::ordinary, "the product rounded too", "",
     [](DotModel& m, const Instruction& x) {
       m.recipe = Recipe::mul_add_chain;
       return x.types.a.precision + x.types.b.precision > m.grid.precision;
     }},
    {Aspect::ordinary, "other rounding", "",
     [](DotModel& m, const Instruction&) {
       const bool cut = m.rounding == Rounding::toward_zero;
       m.rounding = cut ? Rounding::ties_to_even : Rounding::toward_zero;
       return true;
     }},
    {Aspect::chaining, "highest k first", "",
     [](DotModel& m, const Instruction& x) {
       m.descending = true;
       return x.k > 1;
     }},
};

const ChangedRule of_pairs[]{
    {Aspect::ordinary, "a chain", "",
     [](DotModel& m, const Instruction&) {
       m = {.recipe = Recipe::fma_chain, .rounding = Rounding::ties_to_even, .through_f32 = true};
       return true;
     }},
};

const ChangedRule of_integers[]{
    {Aspect::overflow, "satfinite and not", "",
     [](DotModel& m, const Instruction&) {
       m.integer.satfinite = !m.integer.satfinite;
       return true;
     }},
};

std::span<const ChangedRule> changed_rules(const DotModel& model) {
  if (is_fused(model)) return of_fused;
  if (is_chain(model)) return of_chains;
  if (model.recipe == Recipe::pairwise) return of_pairs;
  return of_integers;
}

Kind kind_of_bits(std::uint64_t bits, const Format& f) { return decode(bits, f).kind; }

bool has_special(const SeenRow& row) {
  const DotTypes& t = row.how.types;
  const auto special = [](std::uint64_t bits, const Format& f) {
    const Kind kind = kind_of_bits(bits, f);
    return kind == Kind::nan || kind == Kind::infinite;
  };
  bool out = special(row.c, t.c);
  for (int i = 0; i < row.how.k; ++i) out = out || special(row.a[i], t.a) || special(row.b[i], t.b);
  return out;
}

/// A rule to which nobody has a rival: rounded operations, and what follows a fused sum, are those
/// of IEEE 754. A row that depends on the rule is evidence enough.
struct SeenRule {
  Aspect aspect;
  std::string_view name;
  bool (*shows)(const Instruction& x);  ///< whether any operands depend on it
  bool (*sees)(const SeenRow& row);
};
bool always(const Instruction&) { return true; }
const SeenRule of_operations[]{
    {Aspect::specials, "NaN or Inf", always, has_special},
    {Aspect::overflow, "Inf of numbers",
     [](const Instruction& x) {
       const bool cut =
           is_chain(x.model) && !goes_on(x.model) && x.model.rounding == Rounding::toward_zero;
       return !cut && can_overflow(x, x.types.d, true);
     },
     [](const SeenRow& row) {
       return kind_of_bits(row.d, row.how.types.d) == Kind::infinite && !has_special(row);
     }},
    {Aspect::subnormals, "a subnormal d", has_subnormals,
     [](const SeenRow& row) {
       const Format& d = row.how.types.d;
       return kind_of_bits(row.d, d) == Kind::finite && fields_of(row.d, d).exponent == 0;
     }},
    {Aspect::signs_of_zero, "d of zero", always,
     [](const SeenRow& row) { return kind_of_bits(row.d, row.how.types.d) == Kind::zero; }},
};
const SeenRule of_integer_sums[]{
    {Aspect::ordinary, "d is not c", always, [](const SeenRow& row) { return row.c != row.d; }},
};

const SeenRule of_scaled_sums[]{
    {Aspect::zero_operands, "a product of zero", always,
     [](const SeenRow& row) {
       bool out = false;
       for (int i = 0; i < row.how.k; ++i) {
         out = out || kind_of_bits(row.a[i], row.how.types.a) == Kind::zero;
       }
       return out;
     }},
};

/// A rule that no model is.
struct GivenRule {
  Aspect aspect;
  std::string_view name;
  bool (*meant)(const Instruction& x);
  std::uint64_t (*gives)(const SeenRow& row);
};

/// The row without what sparsity leaves out.
struct KeptOperands {
  explicit KeptOperands(const SeenRow& row) : k(kept_k(row.how)) {
    const auto n = static_cast<std::size_t>(row.how.k);
    if (const int group = row.how.model.sparse_group; group != 0) {
      keep_half(row.a, row.b, row.how.k, group, a.data(), b.data());
    } else {
      std::copy_n(row.a, n, a.begin());
      std::copy_n(row.b, n, b.begin());
    }
  }

  int k;
  std::array<std::uint64_t, 64> a{}, b{};
};

/// The exponent of the largest product of two numbers of e2m1.
constexpr int largest_product_of_e2m1 = 2 * e2m1.emax();

/// Returns d if a group counts with the exponent of its largest product. So many bits more are kept
/// that a group with the largest product of all cuts the others where it does by our rule.
std::uint64_t by_largest_product(const SeenRow& row) {
  const DotTypes& t = row.how.types;
  DotModel model = row.how.model;
  model.fraction_bits += largest_product_of_e2m1;
  const KeptOperands kept(row);
  const int size = model.scaling.group;
  const auto place = [size](int i) { return i * size; };
  const auto term = [&](int i) {
    const auto at = static_cast<std::size_t>(place(i));
    const Addend scale =
        scale_product(model.scaling, row.scales, static_cast<int>(at) / model.scaling.share);
    Addend out = scaled_group(t, kept.a.data() + at, kept.b.data() + at, size, scale);
    int highest = t.a.emin() + t.b.emin();
    for (std::size_t n = at; n < at + static_cast<std::size_t>(size); ++n) {
      const Addend x = product_of(addend_of(kept.a[n], t.a), addend_of(kept.b[n], t.b));
      if (x.kind == Kind::finite) highest = std::max(highest, x.exponent);
    }
    out.exponent += highest;
    out.fraction_bits += highest;
    return out;
  };
  return block_of_terms(model, row.c, t.d, kept.k / size, term, place, t.d);
}

/// Returns d if a c of -0 stays where every product is zero.
std::uint64_t lone_minus_zero(const SeenRow& row) {
  const DotTypes& t = row.how.types;
  const bool is_minus_zero = row.c == zero_bits(t.c, true);
  if (!is_minus_zero || kind_of_bits(row.d, t.d) != Kind::zero) return row.d;
  const KeptOperands kept(row);
  for (std::size_t i = 0; i < static_cast<std::size_t>(kept.k); ++i) {
    const bool is_zero =
        kind_of_bits(kept.a[i], t.a) == Kind::zero || kind_of_bits(kept.b[i], t.b) == Kind::zero;
    if (!is_zero) return row.d;
  }
  return zero_bits(t.d, true);
}

bool has_groups(const Instruction& x) { return x.model.scaling.group != 0; }

const GivenRule of_block_scales[]{
    {Aspect::ordinary, "largest product's exponent", has_groups, by_largest_product},
    {Aspect::signs_of_zero, "c = -0 alone is -0", always, lone_minus_zero},
};

std::span<const GivenRule> given_rules(const DotModel& model) {
  if (is_scaled(model)) return of_block_scales;
  return {};
}

std::span<const SeenRule> seen_rules(const DotModel& model) {
  if (is_scaled(model)) return of_scaled_sums;
  if (is_fused(model) && !goes_on(model)) return {};
  if (model.recipe == Recipe::exact_integer) return of_integer_sums;
  return of_operations;
}

/// Adds the rivals that read one operand as if it had the other's type.
void add_mixed(std::vector<Rival>& out, const Instruction& x) {
  const auto add = [&](const Format& a, const Format& b, const char* name) {
    DotTypes types = x.types;
    types.a = a;
    types.b = b;
    out.push_back({Aspect::mixed_types, name, "", true, x.model, types});
  };
  add(x.types.a, x.types.a, "b read as a's type");
  add(x.types.b, x.types.b, "a read as b's type");
}

}  // namespace

std::uint64_t Rival::result(const SeenRow& row) const {
  if (sees != nullptr) return sees(row) ? ~row.d : row.d;
  if (gives != nullptr) return gives(row);
  return dot(model, types, row.a, row.b, row.how.k, row.c, NoTrace{}, row.scales);
}

SeenRow seen_row(const Instruction& how, const RowOperands& operands) {
  return {how, operands.a, operands.b, operands.c, dot_of_row(how, operands), operands.scales()};
}

std::vector<Rival> every_rival(const Instruction& x) {
  std::vector<Rival> out;
  for (const ChangedRule& rule : changed_rules(x.model)) {
    DotModel model = x.model;
    const bool shows = rule.change(model, x);
    if (model == x.model) continue;
    out.push_back({rule.aspect, std::string(rule.name), rule.whose, shows, model, x.types});
  }
  for (const SeenRule& rule : seen_rules(x.model)) {
    out.push_back(
        {rule.aspect, std::string(rule.name), "", rule.shows(x), x.model, x.types, rule.sees});
  }
  for (const GivenRule& rule : given_rules(x.model)) {
    if (!rule.meant(x)) continue;
    Rival rival{rule.aspect, std::string(rule.name), "", true, x.model, x.types};
    rival.gives = rule.gives;
    out.push_back(std::move(rival));
  }
  if (x.types.a != x.types.b) add_mixed(out, x);
  return out;
}

std::vector<Rival> rivals_of(const Instruction& x) {
  std::vector<Rival> out = every_rival(x);
  std::erase_if(out, [](const Rival& rival) { return !rival.shows; });
  return out;
}

}  // namespace binade
