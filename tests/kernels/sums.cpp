// SPDX-License-Identifier: Apache-2.0
//
// The judges of what follows the products: sums of sums, and epilogues, with operands and results
// of every format, users' without a sign, infinities or NaNs, and padded ones, too.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "tests/emulate/dot_draw.h"
#include "tests/kernels/judge.h"
#include "tests/kernels/product_models.h"

namespace binade::kernel_test {
namespace {

using test::between;

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
  called(behind<&Kernels::add_sums>, left, right, to);
  plant(left.bits, left.n);
}

/// A promotion by scales, written by its steps: r + acc · scales in `to`.
std::uint64_t promoted_by_steps(const PromotionScaling& how, const Typed& r, const Typed& acc,
                                const std::uint64_t* a, const std::uint64_t* b, const Format& to) {
  const Attributes nearest{.nan = NanResult::nvidia};
  const auto times = [&](const Typed& x, const Typed& y) {
    return Typed{
        compute(Operation::multiply, {x.bits, y.bits}, {x.format, y.format}, to, nearest).bits, to};
  };
  Typed left = acc, right;
  if (a == nullptr && b == nullptr) {
    return compute(Operation::add, {r.bits, acc.bits}, {r.format, acc.format}, to, nearest).bits;
  }
  if (a == nullptr || b == nullptr) {
    right = {a == nullptr ? *b : *a, binary32};
  } else {
    const Typed of_a{*a, binary32}, of_b{*b, binary32};
    switch (how.order) {
      case ScaleOrder::together: right = times(of_a, of_b); break;
      case ScaleOrder::a_first:
        left = times(acc, of_a);
        right = of_b;
        break;
      case ScaleOrder::b_first:
        left = times(acc, of_b);
        right = of_a;
        break;
    }
  }
  if (how.fused) {
    return compute(Operation::multiply_add, {left.bits, right.bits, r.bits},
                   {left.format, right.format, r.format}, to, nearest)
        .bits;
  }
  const Typed product = times(left, right);
  return compute(Operation::add, {r.bits, product.bits}, {r.format, to}, to, nearest).bits;
}

using ScaleRow = std::array<std::uint32_t, tile_columns>;
ScaleRow draw_scales(Random& random) {
  ScaleRow out{};
  for (std::uint32_t& x : out) x = static_cast<std::uint32_t>(draw_any(random, binary32));
  return out;
}

Verdict judge_add_scaled_sums(const Kernels& kernels) {
  Verdict verdict;
  Random random(6);
  for (int round = 0; round < row_rounds; ++round) {
    const bool usual = random() % 2 == 0;
    const auto draw_format = [&] {
      return usual ? binary32 : any(random, std::array{binary32, binary16, bfloat16, binary64});
    };
    const Format x = draw_format(), y = draw_format();
    const Format to = usual ? binary32 : any(random, std::array{binary32, binary16, bfloat16});
    const Row left = draw_row(random, x), right = draw_row(random, y);
    const ScaleRow a = draw_scales(random), b = draw_scales(random);
    const PromotionScaling how{128, static_cast<ScaleOrder>(random() % scale_order_names.size()),
                               random() % 2 == 0};
    const bool has_a = random() % 4 != 0, has_b = random() % 4 != 0;
    const std::size_t n = random() % (left.size() + 1);
    verdict.begin("in " + words_of(to),
                  words_of(x) + " + " + words_of(y) + " times scales, n " + std::to_string(n));
    Row got = left, want = left;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t of_a = a[i], of_b = b[i];
      want[i] = promoted_by_steps(how, {left[i], x}, {right[i], y}, has_a ? &of_a : nullptr,
                                  has_b ? &of_b : nullptr, to);
    }
    kernels.add_scaled_sums({got.data(), n, x}, {right.data(), n, y},
                            {how, has_a ? a.data() : nullptr, has_b ? b.data() : nullptr}, to);
    verdict.compare<std::uint64_t>(got, want);
  }
  return verdict;
}
void add_scaled_with_faults(const SumsOf<std::uint64_t>& left,
                            const SumsOf<const std::uint64_t>& right, const RowScales& scales,
                            const Format& to) {
  called(behind<&Kernels::add_scaled_sums>, left, right, scales, to);
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
  if (random() % 2 == 0) e.rounding = roundings[random() % roundings.size()].rounding;
  e.seed = random();
  switch (random() % 16) {
    case 0: e.sum = bfloat16; break;
    case 1: e.through = binary16; break;
    case 2: e.activation = activations[1 + random() % (activations.size() - 1)].activation; break;
    case 3: e.bias_first = true; break;
    default: break;
  }
  e.scales = static_cast<ScaleOrder>(random() % scale_order_names.size());
  g.sum.c_first = random() % 4 == 0;
  return g;
}

Verdict judge_epilogue(const Kernels& kernels) {
  Verdict verdict;
  Random random(3);
  for (int round = 0; round < row_rounds; ++round) {
    const GemmModel g = draw_epilogue(random);
    const Format sum = random() % 8 == 0 ? s32 : any_or_odd(random, sum_formats);
    const bool has_c = random() % 2 == 0, has_bias = random() % 2 == 0;
    const int scale = random() % 2 == 0 ? 0 : between(random, -260, 260);
    const ScaledSides scaled{random() % 4 == 0, random() % 4 == 0};
    const EpiloguePlan plan = epilogue_plan(g, sum, has_c, has_bias, scale, scaled);
    const Row c = draw_row(random, g.c), bias = draw_row(random, g.bias);
    const Row a_scale = draw_row(random, binary32), b_scale = draw_row(random, binary32);
    const Row sums = draw_row(random, is_integer(sum) ? binary32 : sum);
    const std::size_t n = random() % (sums.size() + 1);
    const std::uint64_t index = random() % 64;
    verdict.begin("to " + words_of(g.epilogue.out),
                  "by " + words_of(g.epilogue.compute) + ", sum " + words_of(sum) +
                      (has_c ? ", c " + words_of(g.c) : "") +
                      (has_bias ? ", bias " + words_of(g.bias) : "") + ", n " + std::to_string(n) +
                      ", alpha " + std::to_string(g.epilogue.alpha) + ", scale " +
                      std::to_string(scale) + (scaled.a ? ", of A" : "") +
                      (scaled.b ? ", of B" : ""));
    Row got = sums, want = sums;
    for (std::size_t i = 0; i < n; ++i) {
      const GemmElement<std::uint64_t> x{.c = c[i],
                                         .bias = bias[i],
                                         .has_c = has_c,
                                         .has_bias = has_bias,
                                         .a_scale = a_scale[i],
                                         .b_scale = b_scale[i],
                                         .has_a_scale = scaled.a,
                                         .has_b_scale = scaled.b,
                                         .place = {1, i, 2, index}};
      want[i] = epilogue(g, x, rescaled({sums[i], sum}, scale, g.epilogue.compute));
    }
    kernels.epilogue(
        {&plan, has_c ? c.data() : nullptr, has_bias ? bias.data() : nullptr, n,
         scaled.a ? a_scale.data() : nullptr, scaled.b ? b_scale.data() : nullptr, index},
        got.data());
    verdict.compare<std::uint64_t>(got, want);
  }
  return verdict;
}
void finish_with_faults(const EpilogueRow& x, std::uint64_t* sums) {
  called(behind<&Kernels::epilogue>, x, sums);
  plant(sums, x.n);
}

/// Rows of numbers that stay numbers or do not, by plans that are floats'.
Verdict judge_values(const Kernels& kernels) {
  Verdict verdict;
  Random random(5);
  for (int round = 0; round < row_rounds; ++round) {
    const GemmModel g = draw_epilogue(random);
    const bool has_c = random() % 2 == 0, has_bias = random() % 2 == 0;
    const int scale = random() % 2 == 0 ? 0 : between(random, -260, 260);
    const EpiloguePlan plan = epilogue_plan(g, binary32, has_c, has_bias, scale);
    if (!plan.is_float) continue;
    const auto draw = [&random] {
      std::array<float, std::tuple_size_v<Row>> out;
      std::ranges::transform(draw_row(random, binary32), out.begin(), [](std::uint64_t bits) {
        const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
        return std::isfinite(x) ? x : 1.0F;
      });
      return out;
    };
    const auto sums = draw(), c = draw(), bias = draw();
    const std::size_t n = random() % (sums.size() + 1);
    verdict.begin("in binary32", "n " + std::to_string(n) + (has_c ? ", c" : "") +
                                     (has_bias ? ", bias" : "") + ", scale " +
                                     std::to_string(scale) + ", alpha " +
                                     std::to_string(g.epilogue.alpha) + ", beta " +
                                     std::to_string(g.epilogue.beta));
    auto got = sums, want = sums;
    epilogue_values({&plan, sums.data(), c.data(), bias.data(), n}, want.data());
    kernels.epilogue_f32({&plan, sums.data(), c.data(), bias.data(), n}, got.data());
    const auto canonical = [](auto& row) {
      for (float& x : row) x = std::isnan(x) ? 0.0F : x;
    };
    canonical(got);
    canonical(want);
    verdict.compare<float>(got, want);
  }
  return verdict;
}
void values_with_faults(const ValuesRow& x, float* d) {
  called(behind<&Kernels::epilogue_f32>, x, d);
  std::size_t n = x.n;
  while (n > 0 && std::isnan(d[n - 1])) --n;
  if (n > 0 && !std::isnan(d[0])) plant(d, n);
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
void time_add_scaled_sums(const Kernels& kernels, std::size_t) {
  static const ScaleRow scales = [] {
    Random random(5);
    ScaleRow out{};
    for (std::uint32_t& x : out) {
      x = static_cast<std::uint32_t>(test::draw_at(random, binary32, between(random, -3, 3)));
    }
    return out;
  }();
  Row sums = timed_row();
  kernels.add_scaled_sums({sums.data(), sums.size(), binary32},
                          {timed_row().data(), sums.size(), binary32},
                          {{}, scales.data(), scales.data()}, binary32);
}
void time_values(const Kernels& kernels, std::size_t) {
  static const EpiloguePlan plan =
      epilogue_plan(GemmModel{.epilogue = {.alpha = 0.5, .beta = 2}}, binary32, true, true);
  static const std::array<float, tile_columns> row = [] {
    std::array<float, tile_columns> out;
    std::ranges::transform(timed_row(), out.begin(), [](std::uint64_t bits) {
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    });
    return out;
  }();
  std::array<float, tile_columns> d;
  kernels.epilogue_f32({&plan, row.data(), row.data(), row.data(), row.size()}, d.data());
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

std::vector<Entry> sum_entries() {
  using K = Kernels;
  return {
      {"add_sums",
       &has_entry<&K::add_sums>,
       &same_entry<&K::add_sums>,
       &judge_add_sums,
       &with_faults<&K::add_sums, &add_with_faults>,
       {{"in binary32", tile_columns, &time_add_sums, 0},
        {"binary32 in binary16", tile_columns, &time_add_sums, 1}},
       ""},
      {"add_scaled_sums",
       &has_entry<&K::add_scaled_sums>,
       &same_entry<&K::add_scaled_sums>,
       &judge_add_scaled_sums,
       &with_faults<&K::add_scaled_sums, &add_scaled_with_faults>,
       {{"in binary32", tile_columns, &time_add_scaled_sums, 0}},
       ""},
      {"epilogue",
       &has_entry<&K::epilogue>,
       &same_entry<&K::epilogue>,
       &judge_epilogue,
       &with_faults<&K::epilogue, &finish_with_faults>,
       {{"C and bias, f32", tile_columns, &time_epilogue, 0},
        {"C and bias, to f16", tile_columns, &time_epilogue, 1}},
       ""},
      {"epilogue_f32",
       &has_entry<&K::epilogue_f32>,
       &same_entry<&K::epilogue_f32>,
       &judge_values,
       &with_faults<&K::epilogue_f32, &values_with_faults>,
       {{"C and bias, f32", tile_columns, &time_values, 0}},
       ""},
  };
}

}  // namespace binade::kernel_test
