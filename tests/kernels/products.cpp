// SPDX-License-Identifier: Apache-2.0
//
// The judge of sums of products, tile by tile: groups of every size, operands that hurt, tiles of
// which some is left. What a kernel leaves to the definition may be no number alone.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>

#include "tests/emulate/dot_draw.h"
#include "tests/kernels/judge.h"
#include "tests/kernels/product_models.h"
#include "tests/kernels/tile_case.h"

namespace binade::kernel_test {
namespace {

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
  const std::size_t line_bytes = order.size() * p.operand_bytes;
  std::vector<std::byte> operands(lines.size() * line_bytes);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool usable =
        kernel.decode(p, f, as, lines[i].data(), lines[i].size(), operands.data() + i * line_bytes);
    out.usable.push_back(usable || p.specials != SpecialOperands::left);
  }
  kernel.pack({.operands = operands.data(),
               .line_bytes = line_bytes,
               .count = lines.size(),
               .lines = rounded,
               .places = places.data(),
               .length = places.size(),
               .packing = &p,
               .are_columns = is_column},
              out.bytes.data());
  return out;
}

/// Whether a kernel may leave a result to the definition: what is no number, and all of a type
/// without infinities, whose sums may end elsewhere.
bool may_be_left(std::uint64_t bits, const Format& d) {
  return !is_number(bits, d) || (!is_integer(d) && !d.has_infinity());
}

TileSums draw_sums(Random& random, const GemmModel& g) {
  TileSums sums{};
  for (auto& line : sums) {
    for (std::uint64_t& sum : line) {
      sum = random() % 3 == 0 && !is_integer(g.types.a)
                ? draw_zeros(random, g.types, 1).c
                : draw_products(random, g, 1, random() % product_kinds).c;
    }
  }
  return sums;
}

/// Bits of a number of binary32, of every NaN the same.
std::uint32_t comparable(float x) {
  return std::isnan(x) ? 0x7FC00000 : std::bit_cast<std::uint32_t>(x);
}

/// A tile in numbers: C and the instructions, perhaps on a second accumulator that is added to it.
void judge_numbers(Verdict& verdict, const ProductKernel& kernel, const TileCase& x,
                   Random& random) {
  GemmModel g = x.g;
  g.c = g.types.c;
  const Packing packing = kernel.packing(g);
  const Group row = group_of(kernel, g, x.a, x.order, false);
  const Group column = group_of(kernel, g, x.b, x.order, true);
  const TileSums sums = draw_sums(random, g);
  TileValues c{};
  for (std::size_t i = 0; i < x.a.size(); ++i) {
    for (std::size_t j = 0; j < x.b.size(); ++j) c.rows[i][j] = value_of<float>(sums[i][j], g.c);
  }
  const bool promotes = random() % 2 == 0,
             scales = promotes && !is_scaled(g.model) && random() % 2 == 0;
  const Format to = scales ? binary32 : std::array{binary32, binary16, bfloat16}[random() % 3];
  constexpr std::size_t run = 1, runs = 2;  // of K; the other run's scales are another number
  std::vector<std::uint32_t> of_rows(runs * tile_rows, 0x7FC00000);
  std::vector<std::uint32_t> of_columns(runs * tile_columns, 0x7FC00000);
  const auto draw = [&random] {
    return static_cast<std::uint32_t>(test::draw_at(random, binary32, between(random, -40, 40)));
  };
  std::generate_n(of_rows.begin() + run * tile_rows, tile_rows, draw);
  std::generate_n(of_columns.begin() + run * tile_columns, tile_columns, draw);
  g.sum.scaling = {scales ? 32 : 0, static_cast<ScaleOrder>(random() % scale_order_names.size()),
                   random() % 2 == 0};
  const bool has_rows = random() % 4 != 0, has_columns = random() % 4 != 0;
  std::vector<SumStep> steps{{StepKind::push_c, g.c, {}, 0, 0}};
  if (promotes) steps.push_back({StepKind::push_zero, g.types.c, {}, 0, 0});
  steps.push_back({StepKind::products, {}, {}, 0, x.instructions});
  if (promotes) steps.push_back({scales ? StepKind::add_scaled : StepKind::add, to, {}, run, 0});
  const std::array<TileValues, 2> unused{};
  std::array<TileValues, 2> stack = unused;
  ProductTile tile = x.tile(row, column);
  if (scales)
    tile.scales = {has_rows ? of_rows.data() : nullptr, has_columns ? of_columns.data() : nullptr};
  kernel.sum(g, steps, tile, c, stack.data());
  std::vector<std::uint32_t> found, wanted;
  for (std::size_t i = 0; i < x.a.size() && i < tile_rows; ++i) {
    for (std::size_t j = 0; j < x.b.size() && j < tile_columns; ++j) {
      const float got = stack[0].rows[i][j];
      const std::uint64_t first = promotes ? zero_bits(g.types.c, false) : sums[i][j];
      std::uint64_t want = x.by_definition(i, j, first, packing.specials);
      if (scales) {
        want = detail::scaled_add(g.sum.scaling, {sums[i][j], g.c}, {want, g.types.d},
                                  has_rows ? &of_rows[run * tile_rows + i] : nullptr,
                                  has_columns ? &of_columns[run * tile_columns + j] : nullptr, to);
      } else if (promotes) {
        want = action_bits(Action::add, {sums[i][j], want}, {g.c, g.types.d, to}, to,
                           detail::to_nearest);
      }
      found.push_back(comparable(got));
      wanted.push_back(comparable(value_of<float>(want, promotes ? to : g.types.d)));
    }
  }
  verdict.compare<std::uint32_t>(found, wanted);
}

void judge_tile(Verdict& verdict, const ProductKernel& kernel, const TileCase& x, Random& random) {
  const GemmModel& g = x.g;
  const Group row = group_of(kernel, g, x.a, x.order, false);
  const Group column = group_of(kernel, g, x.b, x.order, true);
  const TileSums sums = draw_sums(random, g);
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
  constexpr int rounds = entry == &Kernels::dots ? 2 : 8;  // that one is the definition, packed
  Verdict verdict;
  Random random(1);
  const ProductKernel& kernel = *(kernels.*entry);
  std::uint64_t number = 0;
  for (const TriedModel& tried : product_models()) {
    const GemmModel& g = tried.g;
    if (!kernel.packing(g).known) continue;
    for (int round = 0; round < rounds; ++round) {
      const TileCase x(random, g, number++);
      verdict.begin(std::string(recipe_name(g.model.recipe)) + ", " + words_of(g.types.a) +
                        " into " + words_of(g.types.d) + ", k " + std::to_string(g.k) + tried.name,
                    std::to_string(x.rows) + " rows, " + std::to_string(x.columns) + " columns, " +
                        std::to_string(x.instructions) + " instructions after " +
                        std::to_string(x.before) + " products");
      const bool in_values = kernel.packing(g).in_values;
      (in_values ? judge_numbers : judge_tile)(verdict, kernel, x, random);
    }
  }
  return verdict;
}

/// A fault in the first or last sum of a tile: a bit of it, or that it is left.
template <const ProductKernel* Kernels::*entry>
void run_with_faults(const GemmModel& g, const ProductTile& x, TileSums& sums, TileMask& left) {
  called(behind<entry>->run, g, x, sums, left);
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
/// A bit of the first or last number of a tile.
template <const ProductKernel* Kernels::*entry>
void sum_with_faults(const GemmModel& g, std::span<const SumStep> steps, const ProductTile& x,
                     const TileValues& c, TileValues* stack) {
  called(behind<entry>->sum, g, steps, x, c, stack);
  std::vector<float*> written;
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.row_count); ++i) {
    for (std::size_t j = 0; j < static_cast<std::size_t>(x.column_count); ++j) {
      if (!std::isnan(stack[0].rows[i][j])) written.push_back(&stack[0].rows[i][j]);
    }
  }
  const Fault* fault = written.empty() ? nullptr : fault_of_call();
  if (fault != nullptr) turn_bit(fault->at_end ? written.back() : written.front(), 1, *fault);
}
template <const ProductKernel* Kernels::*entry>
Kernels products_with_faults(const Kernels& kernels) {
  static ProductKernel kernel;
  kernel = *(kernels.*entry);
  kernel.run = &run_with_faults<entry>;
  kernel.sum = &sum_with_faults<entry>;
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
    const GemmModel mx{.model = {.block = 32, .scaling = {32, e8m0, 0}}, .types = fp8, .k = 32};
    const GemmModel nv{.model = {.block = 64,
                                 .fraction_bits = 35,
                                 .exponent_floor = -139,
                                 .scaling = {16, ue4m3, 16}},
                       .types = {e2m1, e2m1, binary32, binary32},
                       .k = 64};
    const DotTypes bytes{s8, s8, s32, s32}, bits{b1, b1, s32, s32};
    const Family mma = Family::mma;
    return std::vector<TimedTile>{
        {instruction(mma, 90, 16, 8, 16, f16), "sm_90, f16 into f32"},
        {instruction(mma, 80, 16, 8, 16, f16), "sm_80, f16 into f32"},
        {instruction(Family::wmma, 70, 16, 16, 16, f16), "sm_70, f16 into f32"},
        {instruction(mma, 90, 16, 8, 16, f16_alone), "sm_90, f16 into f16"},
        {instruction(mma, 90, 16, 8, 16, bf16), "sm_90, bf16 into f32"},
        {instruction(Family::wgmma, 90, 64, 8, 32, fp8), "sm_90, e4m3 by wgmma"},
        {instruction(Family::mma_sp, 90, 16, 8, 32, f16), "sm_90, sparse f16 into f32"},
        {mx, "mxf8f6f4, e4m3 into f32"},
        {nv, "mxf4nvf4, e2m1 into f32"},
        {chain(Recipe::fma_chain, binary32, binary32), "fma in f32"},
        {chain(Recipe::mul_add_chain, binary32, binary32), "mul, add in f32"},
        {chain(Recipe::fma_chain, binary64, binary64), "fma in f64"},
        {chain(Recipe::fma_chain, binary16, binary16), "fma in f16"},
        {instruction(mma, 80, 8, 8, 4, f16), "sm_80, m8n8k4 into f32"},
        {instruction(mma, 80, 8, 8, 4, f16_alone), "sm_80, m8n8k4 into f16"},
        {instruction(mma, 80, 16, 8, 32, bytes), "s8"},
        {instruction(mma, 80, 16, 8, 256, bits), "b1"}};
  }();
  return tiles;
}
std::uint64_t usual_code(Random& random, const Format& f) {
  return is_integer(f) ? random() >> (64 - f.bits())
                       : test::draw_at(random, f, between(random, -3, 3));
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
  static std::vector<std::uint32_t> row_scales, column_scales;
  if (packed_for != &kernel || packed_variant != variant) {
    Random random(7);
    std::vector<std::int32_t> order(timed_k);
    Lines a(tile_rows), b(tile_columns);
    for (std::size_t i = 0; i < timed_k; ++i) {
      order[i] = static_cast<std::int32_t>(i);
      for (auto& line : a) line.push_back(usual_code(random, g.types.a));
      for (auto& line : b) line.push_back(usual_code(random, g.types.b));
    }
    row = group_of(kernel, g, a, order, false);
    column = group_of(kernel, g, b, order, true);
    row_scales.clear();
    column_scales.clear();
    if (is_scaled(g.model)) {
      const Format& f = g.model.scaling.format;
      const auto drawn = [&] {
        return static_cast<std::uint32_t>(test::draw_at(random, f, between(random, -3, 3)));
      };
      const std::size_t runs = timed_k / static_cast<std::size_t>(scale_run(g));
      row_scales.resize(runs * tile_rows);
      column_scales.resize(runs * tile_columns);
      std::ranges::generate(row_scales, drawn);
      std::ranges::generate(column_scales, drawn);
    }
    packed_for = &kernel;
    packed_variant = variant;
  }
  const int instructions = static_cast<int>(timed_k) / g.k;
  ProductTile tile{row.bytes.data(), column.bytes.data(), timed_k,     0,
                   instructions,     tile_rows,           tile_columns};
  if (is_scaled(g.model)) tile.scales = {row_scales.data(), column_scales.data()};
  if (kernel.packing(g).in_values) {
    const std::array<SumStep, 2> steps{{{StepKind::push_zero, g.types.c, {}, 0, 0},
                                        {StepKind::products, {}, {}, 0, instructions}}};
    static const TileValues no_c{};
    TileValues sums;
    return kernel.sum(g, steps, tile, no_c, &sums);
  }
  TileSums sums{};
  TileMask left{};
  kernel.run(g, tile, sums, left);
}

template <const ProductKernel* Kernels::*entry>
Entry products_entry(std::string_view name, std::size_t first, std::size_t end,
                     std::string_view bound) {
  std::vector<Work> works;
  for (std::size_t i = first; i < end; ++i) {
    works.push_back({timed_tiles()[i].name, timed_products, &time_products<entry>, i});
  }
  return {name, &has_entry<entry>, &same_entry<entry>, &judge_products<entry>,
          &products_with_faults<entry>, std::move(works), bound,
          // The definition is one for all of them.
          [](const Kernels& own) { return entry != &Kernels::dots && own.*entry == own.dots; }};
}

}  // namespace

std::vector<Entry> product_entries() {
  using K = Kernels;
  return {products_entry<&K::dot_blocks>("dot_blocks", 0, 8, ""),
          products_entry<&K::dot_groups>("dot_groups", 8, 9, ""),
          products_entry<&K::chains>("chains", 9, 15, ""),
          products_entry<&K::integers>("integers", 15, 17, ""),
          products_entry<&K::dots>("dots", 0, 0, "")};
}

}  // namespace binade::kernel_test
