// SPDX-License-Identifier: Apache-2.0
//
// Sums of products, tile by tile: every model of every architecture, chains, and what each number and rule of a model
// changes, which a kernel may refuse but not ignore; groups of every size, operands that hurt. What a kernel leaves to the
// definition may be no number alone. Then sums of sums, and epilogues of every format.
#include <algorithm>
#include <numeric>

#include "lib/record/instruction_name.h"
#include "tests/emulate/dot_draw.h"
#include "tests/kernels/judge.h"

namespace binade::kernel_test {
namespace {

using test::between;

GemmModel chain(Recipe recipe, const Format& a, const Format& d, int k = 1) {
  const DotModel model{.recipe = recipe, .rounding = Rounding::ties_to_even};
  return {.model = model, .types = {a, a, d, d}, .k = k};
}

/// A model, and what was changed in it.
struct TriedModel {
  GemmModel g;
  std::string name;
};

void set_sums(GemmModel& g, const Format& d) { g.types.c = g.types.d = g.model.grid = d; }
constexpr Format half_of(Specials specials, bool has_zero, bool has_sign, int padding_bits = 0) {
  return {5, 11, 15, specials, has_zero, has_sign, padding_bits};
}
int product_bits(const GemmModel& g) {
  const bool expanded = g.model.recipe == Recipe::expanded;
  return expanded ? 2 * binary16.fraction_bits()
                  : g.types.a.fraction_bits() + g.types.b.fraction_bits();
}

/// A change of a number or rule.
struct Change {
  const char* name;
  void (*make)(GemmModel& g);
};
constexpr Change changes[]{
    {"ties_to_even", [](GemmModel& g) { g.model.rounding = Rounding::ties_to_even; }},
    {"ties_to_away", [](GemmModel& g) { g.model.rounding = Rounding::ties_to_away; }},
    {"toward_zero", [](GemmModel& g) { g.model.rounding = Rounding::toward_zero; }},
    {"toward_positive", [](GemmModel& g) { g.model.rounding = Rounding::toward_positive; }},
    {"toward_negative", [](GemmModel& g) { g.model.rounding = Rounding::toward_negative; }},
    {"to_odd", [](GemmModel& g) { g.model.rounding = Rounding::to_odd; }},
    {"descending", [](GemmModel& g) { g.model.descending = true; }},
    {"c_last", [](GemmModel& g) { g.model.c_last = true; }},
    {"through_f32",
     [](GemmModel& g) {
       g.model.through_f32 = true;
       g.types.c = g.types.d = binary16;
       g.model.grid = binary32;
     }},
    {"sparse", [](GemmModel& g) { g.model.sparse_group = 4; }},
    {"without c", [](GemmModel& g) { g.model.scales.without_c = true; }},
    {"minus a", [](GemmModel& g) { g.model.scales.minus_a = true; }},
    {"minus b", [](GemmModel& g) { g.model.scales.minus_b = true; }},
    {"minus a and b", [](GemmModel& g) { g.model.scales.minus_a = g.model.scales.minus_b = true; }},
    {"d unsigned", [](GemmModel& g) { set_sums(g, half_of(Specials::ieee, true, false)); }},
    {"d nan_only", [](GemmModel& g) { set_sums(g, half_of(Specials::nan_only, true, true)); }},
    {"d all numbers", [](GemmModel& g) { set_sums(g, half_of(Specials::none, true, true)); }},
    {"d fnuz", [](GemmModel& g) { set_sums(g, half_of(Specials::fnuz, true, true)); }},
    {"d without zero", [](GemmModel& g) { set_sums(g, half_of(Specials::nan_only, false, true)); }},
    {"d padded", [](GemmModel& g) { set_sums(g, half_of(Specials::ieee, true, true, 5)); }},
    {"d tf32", [](GemmModel& g) { set_sums(g, tf32); }},
    {"c wider",
     [](GemmModel& g) {
       set_sums(g, binary16);
       g.types.c = binary32;
     }},
    {"c narrower",
     [](GemmModel& g) {
       set_sums(g, binary32);
       g.types.c = bfloat16;
     }},
};
constexpr Change block_changes[]{
    {"F + 1", [](GemmModel& g) { g.model.fraction_bits += 1; }},
    {"F 29", [](GemmModel& g) { g.model.fraction_bits = 29; }},
    {"F 30", [](GemmModel& g) { g.model.fraction_bits = 30; }},
    {"F 10", [](GemmModel& g) { g.model.fraction_bits = 10; }},
    {"F the products'", [](GemmModel& g) { g.model.fraction_bits = product_bits(g); }},
    {"F less than the products'",
     [](GemmModel& g) { g.model.fraction_bits = product_bits(g) - 1; }},
    {"floor + 20", [](GemmModel& g) { g.model.exponent_floor += 20; }},
    {"no floor", [](GemmModel& g) { g.model.exponent_floor = no_floor; }},
    {"blocks of 5", [](GemmModel& g) { g.model.block = 5; }},
    {"blocks of 64",
     [](GemmModel& g) {
       g.model.block = 64;
       g.k = g.model.recipe == Recipe::expanded ? 64 : 128;
     }},
    {"blocks of 80",
     [](GemmModel& g) {
       g.model.block = 80;
       g.k = g.model.recipe == Recipe::expanded ? 64 : 160;
     }},
    {"grid of 14 bits",
     [](GemmModel& g) {
       set_sums(g, binary32);
       g.model.grid = {8, 14, 127};
     }},
    {"grid of another bias",
     [](GemmModel& g) {
       set_sums(g, binary32);
       g.model.grid = binary16;
     }},
    {"zeros raise, single", [](GemmModel& g) { g.model.edges.zero_raises = ZeroRaises::single; }},
    {"zeros raise, emin", [](GemmModel& g) { g.model.edges.zero_raises = ZeroRaises::emin; }},
    {"zero c raises", [](GemmModel& g) { g.model.edges.zero_c_raises = true; }},
    {"cut keeps sign", [](GemmModel& g) { g.model.edges.cut_keeps_sign = true; }},
    {"zeros keep sign", [](GemmModel& g) { g.model.edges.zeros_keep_sign = true; }},
    {"saturates", [](GemmModel& g) { g.model.edges.saturates = true; }},
    {"flushes", [](GemmModel& g) { g.model.edges.flushes = true; }},
    {"no infinity", [](GemmModel& g) { g.model.edges.no_infinity = true; }},
    {"narrow c",
     [](GemmModel& g) {
       g.model.edges.narrow_c = true;
       g.types.c = binary16;
     }},
    {"quiet NaN", [](GemmModel& g) { g.model.edges.nan = NanResult::quiet; }},
};

std::vector<GemmModel> chain_models(int k) {
  constexpr Format tiny{5, 11, 532};  // whose products leave doubles
  std::vector<GemmModel> out;
  for (const Recipe recipe : {Recipe::fma_chain, Recipe::mul_add_chain}) {
    for (const Format& f : {binary16, bfloat16, binary32, binary64, e5m2, e4m3, tf32}) {
      out.push_back(chain(recipe, f, f, k));
      if (f != binary64) out.push_back(chain(recipe, f, binary64, k));
    }
    out.push_back(chain(recipe, binary16, binary32, k));
    out.push_back(chain(recipe, binary32, binary16, k));
    out.push_back(chain(recipe, tiny, {5, 11, 1064}, k));
  }
  return out;
}

/// What differs in what it computes, m and n aside; then a few of those with each change.
const std::vector<TriedModel>& product_models() {
  static const std::vector<TriedModel> models = [] {
    std::vector<TriedModel> out;
    std::vector<GemmModel> changed = chain_models(4);
    for (const GemmModel& g : chain_models(1)) out.push_back({g, ""});
    for (const Architecture& on : architectures) {
      for (const Instruction& x : instructions_of(on.sm)) {
        const bool known = std::ranges::any_of(out, [&x](const TriedModel& tried) {
          return x.model == tried.g.model && x.types == tried.g.types && x.k == tried.g.k;
        });
        if (known) continue;
        const GemmModel g{.model = x.model, .types = x.types, .k = x.k};
        out.push_back({g, ""});
        const bool is_new = std::ranges::none_of(changed, [&g](const GemmModel& other) {
          return g.model.recipe == other.model.recipe && g.types.a == other.types.a &&
                 g.model.fraction_bits == other.model.fraction_bits;
        });
        if (is_fused(g.model) && g.model.sparse_group == 0 && g.k % 4 == 0 && is_new) {
          changed.push_back(g);
        }
      }
    }
    const auto add = [&](const GemmModel& g, const Change& change) {
      TriedModel tried{g, std::string(", ") + change.name};
      change.make(tried.g);
      out.push_back(tried);
    };
    for (const GemmModel& g : changed) {
      for (const Change& change : changes) add(g, change);
      for (const Change& change : block_changes) {
        if (is_fused(g.model)) add(g, change);
      }
    }
    return out;
  }();
  return models;
}

using Lines = std::vector<std::vector<std::uint64_t>>;

/// Lines of codes, packed by a kernel, and which it can use.
struct Group {
  std::vector<std::byte> bytes;
  std::vector<bool> usable;
};
Group group_of(const ProductKernel& kernel, const GemmModel& g, const Lines& lines,
               const std::vector<std::int32_t>& order, bool is_column) {
  const Packing p = kernel.packing(g);
  const std::size_t step = is_column ? p.column_step : p.row_step;
  const std::size_t rounded = (lines.size() + step - 1) / step * step;
  std::vector<std::int32_t> places(order.size());
  for (int i = 0; i < static_cast<int>(order.size()); ++i) {
    const int first = i / g.k * g.k;
    places[static_cast<std::size_t>(i)] =
        order[static_cast<std::size_t>(first + kernel.place(g, i - first))];
  }
  const Format& f = is_column ? g.types.b : g.types.a;
  const Format& as = is_column ? p.b : p.a;
  Group out;
  out.bytes.resize(rounded * order.size() * (is_column ? p.column_bytes : p.row_bytes));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::vector<std::byte> operands(lines[i].size() * p.operand_bytes);
    out.usable.push_back(kernel.decode(f, as, lines[i].data(), lines[i].size(), operands.data()));
    kernel.pack({operands.data(), places.data(), places.size(), as, is_column, i, rounded},
                out.bytes.data());
  }
  return out;
}

/// Products about a power of two, each operand about its square root.
test::DrawnDot draw_about(Random& random, const DotTypes& types, int n, int exponent) {
  test::DrawnDot out;
  for (int i = 0; i < n; ++i) {
    const int e = exponent / 2 + between(random, -2, 2);
    out.a.push_back(test::draw_at(random, types.a, e));
    out.b.push_back(test::draw_at(random, types.b, exponent - e + between(random, -3, 0)));
  }
  out.c = test::draw_at(random, types.c, exponent - between(random, 0, 3));
  return out;
}
/// All sorts, and about the ends of d.
test::DrawnDot draw_products(Random& random, const DotTypes& types, int n) {
  const std::uint64_t kind = is_integer(types.d) ? 7 : random() % 8;
  if (kind < 2) return draw_about(random, types, n, types.d.emax());
  if (kind == 2) return draw_about(random, types, n, types.d.quantum_exponent() + 1);
  return test::draw_dot(random, types, n);
}

/// The order of the products in their lines; -1: +0.
std::vector<std::int32_t> draw_order(Random& random, int length) {
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

/// A tile's operands and what is done with them.
struct TileCase {
  const GemmModel& g;
  int rows = 1, columns = 1, instructions = 1;
  int before = 0;  ///< products that lie in front
  std::vector<std::int32_t> order;
  Lines a, b;

  TileCase(Random& random, const GemmModel& model, std::uint64_t number) : g(model) {
    rows = between(random, 1, tile_rows);
    columns = 1 + static_cast<int>(number % tile_columns);
    instructions = g.types.c == g.types.d ? between(random, 1, 4) : 1;
    before = between(random, 0, 2) * g.k;
    const int length = before + instructions * g.k;
    order = draw_order(random, length);
    if (g.model.sparse_group != 0) std::iota(order.begin(), order.end(), 0);
    for (int i = 0; i < std::max(rows, columns); ++i) {
      const test::DrawnDot drawn = draw_products(random, g.types, length);
      if (i < rows) a.push_back(drawn.a);
      if (i < columns) b.push_back(drawn.b);
    }
  }
  ProductTile tile(const Group& row, const Group& column) const {
    return {row.bytes.data(), column.bytes.data(),
            order.size(),     static_cast<std::size_t>(before),
            instructions,     rows,
            columns};
  }
  std::uint64_t by_definition(std::size_t i, std::size_t j, std::uint64_t sum) const {
    std::vector<std::uint64_t> x, y;
    for (const std::int32_t place : order) {
      const auto at = static_cast<std::size_t>(place);
      x.push_back(place < 0 ? zero_bits(g.types.a, false) : a[i][at]);
      y.push_back(place < 0 ? zero_bits(g.types.b, false) : b[j][at]);
    }
    for (int turn = 0; turn < instructions; ++turn) {
      const int first = before + turn * g.k;
      sum = dot(g.model, g.types, x.data() + first, y.data() + first, g.k, sum);
    }
    return sum;
  }
};

bool is_number(std::uint64_t bits, const Format& f) {
  if (is_integer(f)) return true;
  const Kind kind = decode(bits, f).kind;
  return kind == Kind::finite || kind == Kind::zero;
}

/// Whether a kernel may leave a result to the definition: what is no number, and all of a type without infinities, whose
/// sums may end elsewhere.
bool may_be_left(std::uint64_t bits, const Format& d) {
  return !is_number(bits, d) || (!is_integer(d) && !d.has_infinity());
}

void judge_tile(Verdict& verdict, const ProductKernel& kernel, const TileCase& x, Random& random) {
  const GemmModel& g = x.g;
  const Group row = group_of(kernel, g, x.a, x.order, false);
  const Group column = group_of(kernel, g, x.b, x.order, true);
  TileSums sums{};
  for (auto& line : sums) {
    for (std::uint64_t& sum : line) sum = draw_products(random, g.types, 1).c;
  }
  TileMask left{};
  for (std::size_t i = 0; i < row.usable.size(); ++i) {
    for (std::size_t j = 0; j < column.usable.size(); ++j) {
      const bool usable = row.usable[i] && column.usable[j];
      if (!usable || random() % 8 == 0) left[i] |= std::uint32_t{1} << j;
    }
  }
  const TileMask before = left;
  TileSums got = sums;
  kernel.run(g, x.tile(row, column), got, left);
  std::vector<std::uint64_t> found, wanted;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    for (std::size_t j = 0; j < sums[i].size(); ++j) {
      const bool is_there = i < x.a.size() && j < x.b.size();
      const bool was_left = (before[i] >> j & 1) != 0, is_left = (left[i] >> j & 1) != 0;
      verdict.require(is_there || got[i][j] == sums[i][j], "wrote outside the tile");
      verdict.require(is_there || !is_left, "left what is not there");
      verdict.require(!was_left || is_left, "forgot what was left");
      verdict.require(!was_left || got[i][j] == sums[i][j], "changed a sum that was left");
      if (!is_there || was_left) continue;
      const std::uint64_t want = x.by_definition(i, j, sums[i][j]);
      if (is_left) {
        verdict.require(may_be_left(want, g.types.d), "left a number");
        continue;
      }
      found.push_back(got[i][j]);
      wanted.push_back(want);
    }
  }
  verdict.compare<std::uint64_t>(found, wanted);
}

template <const ProductKernel* Kernels::*entry>
Verdict judge_products(const Kernels& kernels) {
  constexpr int rounds = 6;
  Verdict verdict;
  Random random(1);
  const ProductKernel& kernel = *(kernels.*entry);
  std::uint64_t number = 0;
  for (const TriedModel& tried : product_models()) {
    const GemmModel& g = tried.g;
    if (!kernel.packing(g).known) continue;
    for (int round = 0; round < rounds; ++round) {
      const TileCase x(random, g, number++);
      verdict.begin(std::string(name_of(g.model.recipe)) + ", " + words_of(g.types.a) + " into " +
                        words_of(g.types.d) + ", k " + std::to_string(g.k) + tried.name,
                    std::to_string(x.rows) + " rows, " + std::to_string(x.columns) + " columns, " +
                        std::to_string(x.instructions) + " instructions after " +
                        std::to_string(x.before) + " products");
      judge_tile(verdict, kernel, x, random);
    }
  }
  return verdict;
}

/// A fault in the first or last sum of a tile: a bit of it, or that it is left.
template <const ProductKernel* Kernels::*entry>
void run_with_faults(const GemmModel& g, const ProductTile& x, TileSums& sums, TileMask& left) {
  behind<entry>->run(g, x, sums, left);
  struct Place {
    std::size_t i, j;
  };
  std::vector<Place> written;
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.row_count); ++i) {
    for (std::size_t j = 0; j < static_cast<std::size_t>(x.column_count); ++j) {
      if ((left[i] >> j & 1) == 0) written.push_back({i, j});
    }
  }
  const Fault* fault = written.empty() ? nullptr : fault_of_call();
  if (fault == nullptr) return;
  const Place at = fault->at_end ? written.back() : written.front();
  std::uint64_t& sum = sums[at.i][at.j];
  if (fault->in_counts && !may_be_left(sum, g.types.d)) {
    left[at.i] |= std::uint32_t{1} << at.j;
  } else {
    turn_bit(&sum, 1, *fault);
  }
}
template <const ProductKernel* Kernels::*entry>
Kernels products_with_faults(const Kernels& kernels) {
  static ProductKernel kernel;
  kernel = *(kernels.*entry);
  kernel.run = &run_with_faults<entry>;
  behind<entry> = kernels.*entry;
  Kernels out = kernels;
  out.*entry = &kernel;
  return out;
}

/// One whole tile of 1024 products an element.
struct TimedTile {
  GemmModel g;
  std::string name;
};
const std::vector<TimedTile>& timed_tiles() {
  static const std::vector<TimedTile> tiles = [] {
    const auto instruction = [](Family family, int sm, int m, int n, int k, const DotTypes& types) {
      const Instruction x = *find_instruction(family, sm, m, n, k, types);
      return GemmModel{.model = x.model, .types = x.types, .k = x.k};
    };
    const DotTypes f16{binary16, binary16, binary32, binary32};
    const DotTypes f16_alone{binary16, binary16, binary16, binary16};
    const DotTypes bf16{bfloat16, bfloat16, binary32, binary32};
    const DotTypes fp8{e4m3, e4m3, binary32, binary32};
    return std::vector<TimedTile>{
        {instruction(Family::mma, 90, 16, 8, 16, f16), "sm_90, f16 into f32"},
        {instruction(Family::mma, 80, 16, 8, 16, f16), "sm_80, f16 into f32"},
        {instruction(Family::wmma, 70, 16, 16, 16, f16), "sm_70, f16 into f32"},
        {instruction(Family::mma, 90, 16, 8, 16, f16_alone), "sm_90, f16 into f16"},
        {instruction(Family::mma, 90, 16, 8, 16, bf16), "sm_90, bf16 into f32"},
        {instruction(Family::wgmma, 90, 64, 8, 32, fp8), "sm_90, e4m3 by wgmma"},
        {chain(Recipe::fma_chain, binary32, binary32), "fma in f32"},
        {chain(Recipe::mul_add_chain, binary32, binary32), "mul, add in f32"},
        {chain(Recipe::fma_chain, binary64, binary64), "fma in f64"},
        {chain(Recipe::fma_chain, binary16, binary16), "fma in f16"}};
  }();
  return tiles;
}
constexpr std::size_t timed_k = 1024;
constexpr std::size_t timed_products = timed_k * tile_rows * tile_columns;

template <const ProductKernel* Kernels::*entry>
void time_products(const Kernels& kernels, std::size_t variant) {
  const ProductKernel& kernel = *(kernels.*entry);
  const GemmModel& g = timed_tiles()[variant].g;
  static const ProductKernel* packed_for = nullptr;
  static std::size_t packed_variant = 0;
  static Group row, column;
  if (packed_for != &kernel || packed_variant != variant) {
    Random random(7);
    std::vector<std::int32_t> order(timed_k);
    Lines a(tile_rows), b(tile_columns);
    for (std::size_t i = 0; i < timed_k; ++i) {
      order[i] = static_cast<std::int32_t>(i);
      for (auto& line : a) line.push_back(test::draw_at(random, g.types.a, between(random, -3, 3)));
      for (auto& line : b) line.push_back(test::draw_at(random, g.types.b, between(random, -3, 3)));
    }
    row = group_of(kernel, g, a, order, false);
    column = group_of(kernel, g, b, order, true);
    packed_for = &kernel;
    packed_variant = variant;
  }
  TileSums sums{};
  TileMask left{};
  const int instructions = static_cast<int>(timed_k) / g.k;
  kernel.run(
      g, {row.bytes.data(), column.bytes.data(), timed_k, 0, instructions, tile_rows, tile_columns},
      sums, left);
}

template <const ProductKernel* Kernels::*entry>
Entry products_entry(std::string_view name, std::size_t first, std::size_t end,
                     std::string_view bound) {
  std::vector<Work> works;
  for (std::size_t i = first; i < end; ++i) {
    works.push_back({timed_tiles()[i].name, timed_products, &time_products<entry>, i});
  }
  return {name,
          &has_entry<entry>,
          &same_entry<entry>,
          &judge_products<entry>,
          &products_with_faults<entry>,
          std::move(works),
          bound};
}

// Sums of sums and epilogues.

using Row = std::array<std::uint64_t, tile_columns>;

std::uint64_t draw_any(Random& random, const Format& f) {
  switch (random() % 8) {
    case 0: return random() >> (64 - f.bits()) << f.padding_bits;
    case 1: return zero_bits(f, random() % 2 == 0);
    case 2: return max_bits(f, random() % 2 == 0);
    case 3: return test::draw_at(random, f, between(random, f.emin() - 2, f.emin() + 3));
    default: return test::draw_at(random, f, between(random, -6, 6));
  }
}
Row draw_row(Random& random, const Format& f) {
  Row out{};
  for (std::uint64_t& x : out) x = draw_any(random, f);
  return out;
}
template <std::size_t n>
Format any(Random& random, const std::array<Format, n>& of) {
  return of[random() % n];
}
constexpr std::array sum_formats{binary32, binary32, binary16, bfloat16, binary64, tf32, e5m2};
/// Of users: without a sign, a zero, infinities or NaNs; padded; binary32 but for its range.
constexpr std::array odd_formats{half_of(Specials::ieee, true, false),
                                 half_of(Specials::nan_only, true, false),
                                 half_of(Specials::none, true, false),
                                 half_of(Specials::nan_only, true, true),
                                 half_of(Specials::none, true, true),
                                 half_of(Specials::fnuz, true, true),
                                 half_of(Specials::ieee, true, true, 5),
                                 half_of(Specials::ieee, true, false, 3),
                                 half_of(Specials::nan_only, false, true),
                                 half_of(Specials::ieee, true, true, 24),
                                 Format{8, 24, 127, Specials::ieee, true, false},
                                 Format{8, 24, 127, Specials::nan_only},
                                 Format{8, 24, 100},
                                 Format{7, 24, 63},
                                 Format{8, 1, 127, Specials::none},
                                 Format{5, 11, 200},
                                 e4m3,
                                 e4m3fnuz,
                                 ue4m3,
                                 e8m0,
                                 e2m1};
template <std::size_t n>
Format any_or_odd(Random& random, const std::array<Format, n>& of) {
  return random() % 3 == 0 ? any(random, odd_formats) : any(random, of);
}

constexpr int row_rounds = 20'000;

Verdict judge_add_sums(const Kernels& kernels) {
  Verdict verdict;
  Random random(2);
  for (int round = 0; round < row_rounds; ++round) {
    const Format x = any_or_odd(random, sum_formats), y = any_or_odd(random, sum_formats);
    const Format to = random() % 2 == 0 ? x : any_or_odd(random, sum_formats);
    const Row left = draw_row(random, x), right = draw_row(random, y);
    const std::size_t n = random() % (left.size() + 1);
    verdict.begin("in " + words_of(to),
                  words_of(x) + " + " + words_of(y) + ", n " + std::to_string(n));
    Row got = left, want = left;
    for (std::size_t i = 0; i < n; ++i) {
      want[i] =
          compute(Operation::add, {left[i], right[i]}, {x, y}, to, {.nan = NanResult::nvidia}).bits;
    }
    kernels.add_sums({got.data(), n, x}, {right.data(), n, y}, to);
    verdict.compare<std::uint64_t>(got, want);
  }
  return verdict;
}
void add_with_faults(const SumsOf<std::uint64_t>& left, const SumsOf<const std::uint64_t>& right,
                     const Format& to) {
  behind<&Kernels::add_sums>(left, right, to);
  plant(left.bits, left.n);
}

GemmModel draw_epilogue(Random& random) {
  GemmModel g;
  g.c = any_or_odd(random, std::array{binary32, binary16, bfloat16, e4m3, binary64});
  g.bias = any_or_odd(random, std::array{binary32, binary16, bfloat16, tf32, binary64});
  Epilogue& e = g.epilogue;
  e.compute = any(random, std::array{binary32, binary32, binary32, binary16, binary64});
  e.out = any_or_odd(random, std::array{binary32, binary32, binary16, bfloat16, e4m3, e5m2, tf32,
                                        e4m3fnuz, e2m1, e8m0, ue4m3, binary64});
  e.alpha = std::array{1.0, 1.0, 0.5, -0.375, 0.1, 1e30, 0.0}[random() % 7];
  e.beta = std::array{1.0, 2.0, -3.0, 0.0, 1e-30, 0.3}[random() % 6];
  e.sum_last = random() % 2 == 0;
  e.saturate = random() % 3 == 0;
  g.sum.c_first = random() % 4 == 0;
  return g;
}

Verdict judge_epilogue(const Kernels& kernels) {
  Verdict verdict;
  Random random(3);
  for (int round = 0; round < row_rounds; ++round) {
    const GemmModel g = draw_epilogue(random);
    const Format sum = any_or_odd(random, sum_formats);
    const bool has_c = random() % 2 == 0, has_bias = random() % 2 == 0;
    const int scale = random() % 2 == 0 ? 0 : between(random, -260, 260);
    const EpiloguePlan plan = epilogue_plan(g, sum, has_c, has_bias, scale);
    const Row c = draw_row(random, g.c), bias = draw_row(random, g.bias);
    const Row sums = draw_row(random, sum);
    const std::size_t n = random() % (sums.size() + 1);
    verdict.begin("to " + words_of(g.epilogue.out),
                  "by " + words_of(g.epilogue.compute) + ", sum " + words_of(sum) +
                      (has_c ? ", c " + words_of(g.c) : "") +
                      (has_bias ? ", bias " + words_of(g.bias) : "") + ", n " + std::to_string(n) +
                      ", alpha " + std::to_string(g.epilogue.alpha) + ", scale " +
                      std::to_string(scale));
    Row got = sums, want = sums;
    for (std::size_t i = 0; i < n; ++i) {
      const GemmElement<std::uint64_t> x{
          .c = c[i], .bias = bias[i], .has_c = has_c, .has_bias = has_bias};
      want[i] = epilogue(g, x, rescaled({sums[i], sum}, scale, g.epilogue.compute));
    }
    kernels.epilogue({&plan, has_c ? c.data() : nullptr, has_bias ? bias.data() : nullptr, n},
                     got.data());
    verdict.compare<std::uint64_t>(got, want);
  }
  return verdict;
}
void finish_with_faults(const EpilogueRow& x, std::uint64_t* sums) {
  behind<&Kernels::epilogue>(x, sums);
  plant(sums, x.n);
}

const Row& timed_row() {
  static const Row row = [] {
    Random random(4);
    Row out{};
    for (std::uint64_t& x : out) x = test::draw_at(random, binary32, between(random, -3, 3));
    return out;
  }();
  return row;
}
void time_add_sums(const Kernels& kernels, std::size_t variant) {
  Row sums = timed_row();
  const Format to = variant == 0 ? binary32 : binary16;
  kernels.add_sums({sums.data(), sums.size(), binary32},
                   {timed_row().data(), sums.size(), binary32}, to);
}
void time_epilogue(const Kernels& kernels, std::size_t variant) {
  static const std::array plans = [] {
    GemmModel g{.epilogue = {.alpha = 0.5, .beta = 2}};
    const EpiloguePlan single = epilogue_plan(g, binary32, true, true);
    g.epilogue.out = binary16;
    return std::array{single, epilogue_plan(g, binary32, true, true)};
  }();
  Row sums = timed_row();
  kernels.epilogue({&plans[variant], timed_row().data(), timed_row().data(), sums.size()},
                   sums.data());
}

}  // namespace

std::vector<Entry> product_entries() {
  using K = Kernels;
  return {
      products_entry<&K::dot_blocks>("dot_blocks", 0, 6, ""),
      products_entry<&K::chains>("chains", 6, 10, ""),
      products_entry<&K::dots>("dots", 0, 0, ""),
      {"add_sums",
       &has_entry<&K::add_sums>,
       &same_entry<&K::add_sums>,
       &judge_add_sums,
       &with_faults<&K::add_sums, &add_with_faults>,
       {{"in binary32", tile_columns, &time_add_sums, 0},
        {"binary32 in binary16", tile_columns, &time_add_sums, 1}},
       ""},
      {"epilogue",
       &has_entry<&K::epilogue>,
       &same_entry<&K::epilogue>,
       &judge_epilogue,
       &with_faults<&K::epilogue, &finish_with_faults>,
       {{"C and bias, f32", tile_columns, &time_epilogue, 0},
        {"C and bias, to f16", tile_columns, &time_epilogue, 1}},
       ""},
  };
}

}  // namespace binade::kernel_test
