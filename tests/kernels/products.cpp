// SPDX-License-Identifier: Apache-2.0
//
// Judges of the kernels of matrix products: tiles of every size of every model, against `dot` element by element; sums
// added to sums, and epilogues, against their definitions.
#include <algorithm>
#include <memory>

#include "emulate/dot_models.h"
#include "tests/kernels/judge.h"

namespace binade::kernel_test {
namespace {

using Codes = std::vector<std::uint64_t>;

/// Codes of a format: any bits; near 1, where sums round; below the smallest normal number; zeros. NaNs and infinities
/// only where `with_specials`.
Codes drawn_codes(const Format& f, std::size_t n, bool with_specials, Random& random) {
  Codes out(n);
  for (std::uint64_t& x : out) {
    const std::uint64_t any = random();
    const int near = f.bias - 7 + static_cast<int>(random() % 15);
    const auto field =
        static_cast<std::uint64_t>(std::clamp(near, 0, static_cast<int>(f.exponent_mask()) - 1));
    switch (random() % 8) {
      case 0: x = any >> (64 - f.bits()) << f.padding_bits; break;
      case 1: x = zero_bits(f, random() % 2 == 0); break;
      case 2: x = bits_of({random() % 2 == 0, random() % 2, any & f.fraction_mask()}, f); break;
      default: x = bits_of({random() % 2 == 0, field, any & f.fraction_mask()}, f);
    }
    const Kind kind = decode(x, f).kind;
    const bool is_special = kind == Kind::nan || kind == Kind::infinite;
    if (is_special && (!with_specials || random() % 32 != 0)) {
      x = bits_of({false, static_cast<std::uint64_t>(f.bias), 0}, f);
    }
  }
  return out;
}

/// A model with the types that a row of the table is for.
GemmModel model_of(const ModelRow& row) {
  GemmModel g{.model = row.model, .types = {row.d, row.d, row.unlike_c ? binary32 : row.d, row.d}};
  for (const NamedFormat& f : formats) {
    if (contains(row.operands, f.format)) g.types.a = g.types.b = f.format;
  }
  g.k = row.only_k != 0 ? row.only_k : row.model.recipe == Recipe::expanded ? 32 : 16;
  return g;
}

/// Every model of the table, then chains, then what a rule or a number changes of the first ones.
std::vector<GemmModel> tried_models() {
  std::vector<GemmModel> out;
  for (const ModelRow& row : model_rows) {
    if (row.model.recipe != Recipe::exact_integer) out.push_back(model_of(row));
  }
  for (const Recipe recipe : {Recipe::fma_chain, Recipe::mul_add_chain}) {
    const DotModel chain{recipe, 1, 0, 0, binary32, Rounding::ties_to_even};
    for (const DotTypes& t : {DotTypes{binary32, binary32, binary32, binary32},
                              DotTypes{binary16, bfloat16, binary32, binary32},
                              DotTypes{binary64, binary64, binary64, binary64},
                              DotTypes{binary16, binary16, binary16, binary16},
                              DotTypes{bfloat16, bfloat16, bfloat16, bfloat16},
                              DotTypes{e4m3, e5m2, binary16, binary16}}) {
      GemmModel g{.model = chain, .types = t, .k = 3};
      g.model.grid = t.d;
      out.push_back(g);
    }
  }
  const std::size_t plain = out.size();
  for (std::size_t i = 0; i < plain; ++i) {
    if (!is_fused(out[i].model)) continue;
    for (int change = 0; change < 5; ++change) {
      GemmModel g = out[i];
      DotModel& m = g.model;
      switch (change) {
        case 0: m.fraction_bits += 1; break;
        case 1: m.exponent_floor += 20; break;
        case 2: m.block = 5; break;
        case 3: m.rounding = Rounding::ties_to_even; break;
        case 4: g.k *= 2; break;
      }
      out.push_back(g);
    }
  }
  return out;
}

/// Operands of a tile, line after line in the program's order, and the same packed.
struct TileCase {
  GemmModel g;
  std::size_t rows, columns, length;
  Codes a{}, b{}, c{};
  std::vector<std::int32_t> places{};
  std::vector<std::byte> packed_rows{}, packed_columns{};
  TileMask left{};
};

std::size_t whole_steps(std::size_t n, std::size_t step) { return (n + step - 1) / step * step; }

/// One side's lines through the kernel; sets bits of `unusable`.
std::vector<std::byte> packed_lines(const ProductKernel& kernel, const TileCase& x, bool is_column,
                                    std::uint32_t& unusable) {
  const Packing packing = kernel.packing(x.g);
  const std::size_t count = is_column ? x.columns : x.rows;
  const std::size_t lines = whole_steps(count, is_column ? packing.column_step : packing.row_step);
  const Codes& codes = is_column ? x.b : x.a;
  const Format& f = is_column ? x.g.types.b : x.g.types.a;
  const Format& as = is_column ? packing.b : packing.a;
  std::vector<std::byte> out(lines * x.length *
                             (is_column ? packing.column_bytes : packing.row_bytes));
  std::vector<std::byte> operands(x.length * packing.operand_bytes);
  for (std::size_t i = 0; i < count; ++i) {
    if (!kernel.decode(f, as, codes.data() + i * x.length, x.length, operands.data())) {
      unusable |= std::uint32_t{1} << i;
    }
    kernel.pack({operands.data(), x.places.data(), x.length, as, is_column, i, lines}, out.data());
  }
  return out;
}

TileCase tile_case(const ProductKernel& kernel, const GemmModel& g, std::size_t rows,
                   std::size_t columns, int instructions, bool with_specials, Random& random) {
  const auto k = static_cast<std::size_t>(g.k);
  TileCase x{.g = g,
             .rows = rows,
             .columns = columns,
             .length = k * static_cast<std::size_t>(instructions)};
  x.a = drawn_codes(g.types.a, rows * x.length, with_specials, random);
  x.b = drawn_codes(g.types.b, columns * x.length, with_specials, random);
  x.c = drawn_codes(g.types.c, rows * columns, with_specials, random);
  for (std::size_t first = 0; first < x.length; first += k) {
    for (int i = 0; i < g.k; ++i) {
      x.places.push_back(static_cast<std::int32_t>(first) + kernel.place(g, i));
    }
  }
  std::uint32_t no_rows = 0, no_columns = 0;
  x.packed_rows = packed_lines(kernel, x, false, no_rows);
  x.packed_columns = packed_lines(kernel, x, true, no_columns);
  for (std::size_t i = 0; i < rows; ++i) x.left[i] = (no_rows >> i & 1) != 0 ? ~0U : no_columns;
  return x;
}

std::uint64_t defined_sum(const TileCase& x, std::size_t i, std::size_t j) {
  const auto k = static_cast<std::size_t>(x.g.k);
  std::uint64_t sum = x.c[i * x.columns + j];
  for (std::size_t first = 0; first < x.length; first += k) {
    sum = dot(x.g.model, x.g.types, x.a.data() + i * x.length + first,
              x.b.data() + j * x.length + first, x.g.k, sum);
  }
  return sum;
}

std::string words_of(const GemmModel& g) {
  const DotModel& m = g.model;
  return std::string(name_of(m.recipe)) + " of " + std::string(name_of(g.types.a)) + " to " +
         std::string(name_of(g.types.d)) + ", L " + std::to_string(m.block) + ", F " +
         std::to_string(m.fraction_bits) + ", k " + std::to_string(g.k);
}

template <const ProductKernel* Kernels::*entry>
Verdict judge_products(const Kernels& kernels, const Fault& fault) {
  Verdict verdict(fault);
  const ProductKernel& kernel = *(kernels.*entry);
  Random random(3);
  std::uint64_t elements = 0, left = 0;
  for (const GemmModel& g : tried_models()) {
    if (!kernel.packing(g).known) continue;
    for (int turn = 0; turn < 8; ++turn) {
      const std::size_t rows = 1 + random() % 4;
      const std::size_t columns = turn == 0 ? 32 : 1 + random() % 32;
      // Instructions in a row are one call only where c and d are of one type.
      const int instructions = g.types.c == g.types.d ? 1 + static_cast<int>(random() % 4) : 1;
      const bool with_specials = turn % 4 == 3;
      TileCase x = tile_case(kernel, g, rows, columns, instructions, with_specials, random);
      TileSums sums{};
      for (std::size_t i = 0; i < rows * columns; ++i) sums[i / columns][i % columns] = x.c[i];
      kernel.run(g,
                 {x.packed_rows.data(), x.packed_columns.data(), x.length, 0, instructions,
                  static_cast<int>(rows), static_cast<int>(columns)},
                 sums, x.left);
      Codes got, want;
      for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < columns; ++j) {
          ++elements;
          const bool is_left = (x.left[i] >> j & 1) != 0;
          left += is_left ? 1 : 0;
          if (is_left) continue;
          want.push_back(defined_sum(x, i, j));
          got.push_back(sums[i][j]);
        }
      }
      verdict.compare<std::uint64_t>(words_of(g) + ", " + std::to_string(rows) + " x " +
                                         std::to_string(columns) + " x " + std::to_string(x.length),
                                     got, want);
    }
  }
  verdict.require(4 * left < elements, "a quarter of the elements is left to the definition");
  return verdict;
}

constexpr std::array<Format, 6> summed{binary32, binary16, bfloat16, binary64, tf32, e5m2};

Verdict judge_add_sums(const Kernels& kernels, const Fault& fault) {
  Verdict verdict(fault);
  Random random(4);
  for (const Format& f : summed) {
    for (const Format& g : summed) {
      for (const Format& to : {f, g, binary32}) {
        for (int turn = 0; turn < 6; ++turn) {
          const std::size_t n = turn == 0 ? 32 : 1 + random() % 32;
          const Codes left = drawn_codes(f, n, turn % 3 == 2, random);
          Codes right = drawn_codes(g, n, turn % 3 == 2, random);
          for (std::size_t i = 0; f == g && i < n; i += 6) right[i] = left[i] ^ zero_bits(f, true);
          Codes got = left, want = left;
          add_sums({want.data(), n, f}, {right.data(), n, g}, to);
          kernels.add_sums({got.data(), n, f}, {right.data(), n, g}, to);
          verdict.compare<std::uint64_t>(std::string(name_of(f)) + " + " + std::string(name_of(g)) +
                                             " to " + std::string(name_of(to)),
                                         got, want);
        }
      }
    }
  }
  return verdict;
}

EpiloguePlan drawn_epilogue(Random& random) {
  constexpr std::array<Format, 6> outputs{binary32, binary16, bfloat16, e4m3, e5m2, binary64};
  constexpr std::array<double, 6> factors{1, 0.5, -3, 0, 0.1, 0x1p-130};
  const auto one_of = [&random](const auto& some) { return some[random() % some.size()]; };
  GemmModel g{.c = one_of(summed), .bias = one_of(summed)};
  g.sum.c_first = random() % 8 == 0;
  g.epilogue = {.compute = random() % 8 == 0 ? binary64 : binary32,
                .alpha = one_of(factors),
                .beta = one_of(factors),
                .sum_last = random() % 2 == 0,
                .out = one_of(outputs),
                .saturate = random() % 4 == 0};
  const Format sum = random() % 4 == 0 ? one_of(summed) : binary32;
  const int scale_log2 = random() % 4 == 0 ? static_cast<int>(random() % 505) - 252 : 0;
  return epilogue_plan(g, sum, random() % 2 == 0, random() % 2 == 0, scale_log2);
}

Verdict judge_epilogue(const Kernels& kernels, const Fault& fault) {
  Verdict verdict(fault);
  Random random(5);
  for (int turn = 0; turn < 4000; ++turn) {
    const EpiloguePlan plan = drawn_epilogue(random);
    const std::size_t n = turn % 4 == 0 ? 32 : 1 + random() % 32;
    const bool with_specials = turn % 5 == 0;
    const Codes sums = drawn_codes(plan.sum, n, with_specials, random);
    const Codes c = drawn_codes(plan.model.c, n, with_specials, random);
    const Codes bias = drawn_codes(plan.model.bias, n, with_specials, random);
    const EpilogueRow row{&plan, plan.has_c ? c.data() : nullptr,
                          plan.has_bias ? bias.data() : nullptr, n};
    Codes got = sums, want = sums;
    epilogue_row(row, want.data());
    kernels.epilogue(row, got.data());
    const Epilogue& e = plan.model.epilogue;
    verdict.compare<std::uint64_t>(std::string(name_of(plan.sum)) + " to " +
                                       std::string(name_of(e.out)) + ", alpha " +
                                       std::to_string(e.alpha) + ", turn " + std::to_string(turn),
                                   got, want);
  }
  return verdict;
}

/// A model's tile of 4 x 32 x 256 (256 multiply-adds an element), packed once.
struct TimedModel {
  const char* name;
  GemmModel g;
};
const std::vector<TimedModel>& timed_models() {
  static const std::vector<TimedModel> models = [] {
    const auto fused = [](const Format& a, const Format& d, const DotModel& m, int k) {
      return GemmModel{.model = m, .types = {a, a, d, d}, .k = k};
    };
    const auto chain = [](Recipe recipe, const Format& f) {
      return GemmModel{
          .model = {recipe, 1, 0, 0, f, Rounding::ties_to_even}, .types = {f, f, f, f}, .k = 1};
    };
    return std::vector<TimedModel>{
        {"f16 to f32, L 16", fused(binary16, binary32, detail::to_f32(16, 25), 16)},
        {"f16 to f32, L 8", fused(binary16, binary32, detail::to_f32(8, 24), 16)},
        {"f16 to f32, L 4", fused(binary16, binary32, detail::to_f32(4, 23), 16)},
        {"f16 to f16, L 16", fused(binary16, binary16, detail::to_f16(16, 25), 16)},
        {"bf16 to f32, L 16", fused(bfloat16, binary32, detail::to_f32(16, 25), 16)},
        {"e4m3 to f32, L 32", fused(e4m3, binary32, detail::fp8_to_f32(32, -133), 32)},
        {"fma in f32", chain(Recipe::fma_chain, binary32)},
        {"mul, add in f32", chain(Recipe::mul_add_chain, binary32)},
        {"fma in f64", chain(Recipe::fma_chain, binary64)},
        {"fma in f16", chain(Recipe::fma_chain, binary16)}};
  }();
  return models;
}

constexpr std::size_t timed_k = 256;

template <const ProductKernel* Kernels::*entry>
void time_products(const Kernels& kernels, std::size_t i) {
  const ProductKernel& kernel = *(kernels.*entry);
  const GemmModel& g = timed_models()[i].g;
  const int instructions = static_cast<int>(timed_k) / g.k;
  static const ProductKernel* packed_for = nullptr;
  static std::size_t packed_model = 0;
  static std::unique_ptr<TileCase> x;
  if (packed_for != &kernel || packed_model != i) {
    Random random(6);
    x = std::make_unique<TileCase>(tile_case(kernel, g, 4, 32, 1, false, random));
    const auto near_one = [&random](const Format& f, Codes& codes, std::size_t n) {
      codes.resize(n);
      for (std::uint64_t& code : codes) {
        const auto field = static_cast<std::uint64_t>(f.bias - 3) + random() % 6;
        code = bits_of({random() % 2 == 0, field, random() & f.fraction_mask()}, f);
      }
    };
    x->length = timed_k;
    near_one(g.types.a, x->a, 4 * timed_k);
    near_one(g.types.b, x->b, 32 * timed_k);
    x->places.clear();
    for (int at = 0; at < static_cast<int>(timed_k); ++at) {
      x->places.push_back(at / g.k * g.k + kernel.place(g, at % g.k));
    }
    std::uint32_t unusable = 0;
    x->packed_rows = packed_lines(kernel, *x, false, unusable);
    x->packed_columns = packed_lines(kernel, *x, true, unusable);
    packed_for = &kernel;
    packed_model = i;
  }
  TileSums sums{};
  TileMask left{};
  kernel.run(g, {x->packed_rows.data(), x->packed_columns.data(), timed_k, 0, instructions, 4, 32},
             sums, left);
}

void time_add_sums(const Kernels& kernels, std::size_t i) {
  static const std::array<Codes, 2> parts = [] {
    Random random(7);
    return std::array{drawn_codes(binary32, 32, false, random),
                      drawn_codes(binary16, 32, false, random)};
  }();
  const Format& f = i == 0 ? binary32 : binary16;
  std::array<std::uint64_t, 32> sums;
  std::ranges::copy(parts[i], sums.begin());
  for (int turn = 0; turn < 8; ++turn)
    kernels.add_sums({sums.data(), 32, f}, {parts[i].data(), 32, f}, f);
}

void time_epilogue(const Kernels& kernels, std::size_t i) {
  static const std::array<EpiloguePlan, 3> plans = [] {
    GemmModel scaled, narrowed;
    scaled.epilogue = {.alpha = 0.5, .beta = 2};
    narrowed.epilogue = {.out = binary16};
    return std::array{epilogue_plan(scaled, binary32, true, true),
                      epilogue_plan(narrowed, binary32, false, false),
                      epilogue_plan(GemmModel{}, binary32, false, true, -9)};
  }();
  static const Codes numbers = [] {
    Random random(8);
    Codes out(96);
    for (std::uint64_t& x : out)
      x = bits_of({random() % 2 == 0, 120 + random() % 12, random() & 0x7FFFFF}, binary32);
    return out;
  }();
  const EpiloguePlan& plan = plans[i];
  std::array<std::uint64_t, 32> sums;
  std::copy_n(numbers.begin(), 32, sums.begin());
  kernels.epilogue(
      {&plan, plan.has_c ? &numbers[32] : nullptr, plan.has_bias ? &numbers[64] : nullptr, 32},
      sums.data());
}

template <const ProductKernel* Kernels::*entry>
Entry products_entry(std::string_view name, std::size_t first, std::size_t end) {
  std::vector<Work> works;
  for (std::size_t i = first; i < end; ++i) {
    works.push_back({timed_models()[i].name, 4 * 32 * timed_k, &time_products<entry>, i});
  }
  return {name, &has_entry<entry>, &same_entry<entry>, &judge_products<entry>, std::move(works),
          ""};
}

}  // namespace

std::vector<Entry> product_entries() {
  return {products_entry<&Kernels::dot_blocks>("dot_blocks", 0, 6),
          products_entry<&Kernels::chains>("chains", 6, 10),
          products_entry<&Kernels::dots>("dots", 0, 0),
          {"add_sums",
           &has_entry<&Kernels::add_sums>,
           &same_entry<&Kernels::add_sums>,
           &judge_add_sums,
           {{"binary32", 256, &time_add_sums, 0}, {"binary16", 256, &time_add_sums, 1}},
           ""},
          {"epilogue",
           &has_entry<&Kernels::epilogue>,
           &same_entry<&Kernels::epilogue>,
           &judge_epilogue,
           {{"alpha, beta, C, bias", 32, &time_epilogue, 0},
            {"to binary16", 32, &time_epilogue, 1},
            {"scaled, bias", 32, &time_epilogue, 2}},
           ""}};
}

}  // namespace binade::kernel_test
