// SPDX-License-Identifier: Apache-2.0
//
// Sums of products, tile by tile: every dense model of every architecture and chains, groups of every size, operands that
// hurt. What a kernel leaves to the definition may be no number alone. Then sums of sums, and epilogues of every format.
#include <algorithm>

#include "lib/record/instruction_name.h"
#include "tests/emulate/dot_draw.h"
#include "tests/kernels/judge.h"

namespace binade::kernel_test {
namespace {

using test::between;

GemmModel chain(Recipe recipe, const Format& a, const Format& d) {
  const DotModel model{.recipe = recipe, .rounding = Rounding::ties_to_even};
  return {.model = model, .types = {a, a, d, d}, .k = 1};
}

/// What differs in what it computes: m and n aside.
const std::vector<GemmModel>& product_models() {
  static const std::vector<GemmModel> models = [] {
    std::vector<GemmModel> out;
    for (const Recipe recipe : {Recipe::fma_chain, Recipe::mul_add_chain}) {
      for (const Format& f : {binary16, bfloat16, binary32, binary64}) {
        out.push_back(chain(recipe, f, f));
        if (f != binary64) out.push_back(chain(recipe, f, binary64));
      }
      out.push_back(chain(recipe, binary16, binary32));
    }
    for (const Architecture& on : architectures) {
      for (const Instruction& x : instructions_of(on.sm)) {
        const bool known = std::ranges::any_of(out, [&x](const GemmModel& g) {
          return x.model == g.model && x.types == g.types && x.k == g.k;
        });
        if (!known) out.push_back({.model = x.model, .types = x.types, .k = x.k});
      }
    }
    // And what a rule or a number changes.
    const std::size_t plain = out.size();
    for (std::size_t i = 0; i < plain; i += 3) {
      for (int change = 0; change < 4 && is_fused(out[i].model); ++change) {
        GemmModel g = out[i];
        DotModel& m = g.model;
        switch (change) {
          case 0: m.fraction_bits += 1; break;
          case 1: m.exponent_floor += 20; break;
          case 2: m.block = 5; break;
          case 3: m.rounding = Rounding::toward_positive; break;
        }
        out.push_back(g);
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

/// A tile's operands and what is done with them.
struct TileCase {
  const GemmModel& g;
  int rows = 1, columns = 1, instructions = 1;
  int before = 0;  ///< products that lie in front
  std::vector<std::int32_t> order;
  Lines a, b;

  TileCase(Random& random, const GemmModel& model) : g(model) {
    rows = between(random, 1, tile_rows);
    columns = random() % 4 == 0 ? tile_columns : between(random, 1, tile_columns);
    instructions = g.types.c == g.types.d ? between(random, 1, 4) : 1;
    before = between(random, 0, 1) * g.k;
    const int length = before + instructions * g.k;
    for (int i = 0; i < length; ++i) order.push_back(i);
    if (g.model.sparse_group == 0 && random() % 2 == 0) {
      std::ranges::reverse(order);
      order.back() = -1;
    }
    for (int i = 0; i < std::max(rows, columns); ++i) {
      const test::DrawnDot drawn = test::draw_dot(random, g.types, length);
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

void judge_tile(Verdict& verdict, const ProductKernel& kernel, const TileCase& x, Random& random) {
  const GemmModel& g = x.g;
  const Group row = group_of(kernel, g, x.a, x.order, false);
  const Group column = group_of(kernel, g, x.b, x.order, true);
  TileSums sums{};
  for (auto& line : sums) {
    for (std::uint64_t& sum : line) sum = test::draw_dot(random, g.types, 1).c;
  }
  TileMask left{};
  for (std::size_t i = 0; i < row.usable.size(); ++i) {
    for (std::size_t j = 0; j < column.usable.size(); ++j) {
      const bool usable = row.usable[i] && column.usable[j];
      if (!usable || random() % 16 == 0) left[i] |= std::uint32_t{1} << j;
    }
  }
  const TileMask before = left;
  TileSums got = sums;
  kernel.run(g, x.tile(row, column), got, left);
  const std::string what = std::string(name_of(g.model.recipe)) + ", " +
                           std::string(name_of(g.types.a)) + " into " +
                           std::string(name_of(g.types.d));
  std::vector<std::uint64_t> found, wanted;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    for (std::size_t j = 0; j < sums[i].size(); ++j) {
      const bool is_there = i < x.a.size() && j < x.b.size();
      const bool was_left = (before[i] >> j & 1) != 0, is_left = (left[i] >> j & 1) != 0;
      verdict.require(is_there || got[i][j] == sums[i][j], what + ": wrote outside the tile");
      verdict.require(is_there || !is_left, what + ": left what is not there");
      verdict.require(!was_left || is_left, what + ": forgot what was left");
      if (!is_there || was_left) continue;
      const std::uint64_t want = x.by_definition(i, j, sums[i][j]);
      if (is_left) {
        verdict.require(!is_number(want, g.types.d), what + ": left a number");
        continue;
      }
      found.push_back(got[i][j]);
      wanted.push_back(want);
    }
  }
  verdict.compare<std::uint64_t>(what, found, wanted);
}

template <const ProductKernel* Kernels::*entry>
Verdict judge_products(const Kernels& kernels, const Fault& fault) {
  Verdict verdict(fault);
  Random random(1);
  const ProductKernel& kernel = *(kernels.*entry);
  for (const GemmModel& g : product_models()) {
    if (!kernel.packing(g).known) continue;
    for (int round = 0; round < 12; ++round) {
      judge_tile(verdict, kernel, TileCase(random, g), random);
    }
  }
  return verdict;
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
  return {name, &has_entry<entry>, &same_entry<entry>, &judge_products<entry>, std::move(works),
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

Verdict judge_add_sums(const Kernels& kernels, const Fault& fault) {
  Verdict verdict(fault);
  Random random(2);
  for (int round = 0; round < 6000; ++round) {
    const Format x = any(random, sum_formats), y = any(random, sum_formats);
    const Format to = random() % 2 == 0 ? x : any(random, sum_formats);
    const Row left = draw_row(random, x), right = draw_row(random, y);
    const std::size_t n = random() % (left.size() + 1);
    Row got = left, want = left;
    for (std::size_t i = 0; i < n; ++i) {
      want[i] =
          compute(Operation::add, {left[i], right[i]}, {x, y}, to, {.nan = NanResult::nvidia}).bits;
    }
    kernels.add_sums({got.data(), n, x}, {right.data(), n, y}, to);
    verdict.compare<std::uint64_t>(std::string(name_of(x)) + " + " + std::string(name_of(y)) +
                                       " in " + std::string(name_of(to)),
                                   got, want);
  }
  return verdict;
}

GemmModel draw_epilogue(Random& random) {
  GemmModel g;
  g.c = any(random, std::array{binary32, binary16, bfloat16, e4m3, binary64});
  g.bias = any(random, std::array{binary32, binary16, bfloat16, tf32, binary64});
  Epilogue& e = g.epilogue;
  e.compute = any(random, std::array{binary32, binary32, binary32, binary16, binary64});
  e.out = any(random, std::array{binary32, binary32, binary16, bfloat16, e4m3, e5m2, tf32, e4m3fnuz,
                                 e2m1, e8m0, ue4m3, binary64});
  e.alpha = std::array{1.0, 1.0, 0.5, -0.375, 0.1, 1e30, 0.0}[random() % 7];
  e.beta = std::array{1.0, 2.0, -3.0, 0.0, 1e-30, 0.3}[random() % 6];
  e.sum_last = random() % 2 == 0;
  e.saturate = random() % 3 == 0;
  g.sum.c_first = random() % 4 == 0;
  return g;
}

Verdict judge_epilogue(const Kernels& kernels, const Fault& fault) {
  Verdict verdict(fault);
  Random random(3);
  for (int round = 0; round < 6000; ++round) {
    const GemmModel g = draw_epilogue(random);
    const Format sum = any(random, sum_formats);
    const bool has_c = random() % 2 == 0, has_bias = random() % 2 == 0;
    const int scale = random() % 2 == 0 ? 0 : between(random, -260, 260);
    const EpiloguePlan plan = epilogue_plan(g, sum, has_c, has_bias, scale);
    const Row c = draw_row(random, g.c), bias = draw_row(random, g.bias);
    const Row sums = draw_row(random, sum);
    const std::size_t n = random() % (sums.size() + 1);
    Row got = sums, want = sums;
    for (std::size_t i = 0; i < n; ++i) {
      const GemmElement<std::uint64_t> x{
          .c = c[i], .bias = bias[i], .has_c = has_c, .has_bias = has_bias};
      want[i] = epilogue(g, x, rescaled({sums[i], sum}, scale, g.epilogue.compute));
    }
    kernels.epilogue({&plan, has_c ? c.data() : nullptr, has_bias ? bias.data() : nullptr, n},
                     got.data());
    verdict.compare<std::uint64_t>(std::string(name_of(sum)) + " by " +
                                       std::string(name_of(g.epilogue.compute)) + " to " +
                                       std::string(name_of(g.epilogue.out)),
                                   got, want);
  }
  return verdict;
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
       {{"in binary32", tile_columns, &time_add_sums, 0},
        {"binary32 in binary16", tile_columns, &time_add_sums, 1}},
       ""},
      {"epilogue",
       &has_entry<&K::epilogue>,
       &same_entry<&K::epilogue>,
       &judge_epilogue,
       {{"C and bias, f32", tile_columns, &time_epilogue, 0},
        {"C and bias, to f16", tile_columns, &time_epilogue, 1}},
       ""},
  };
}

}  // namespace binade::kernel_test
