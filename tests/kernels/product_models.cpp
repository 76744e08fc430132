// SPDX-License-Identifier: Apache-2.0
//
// Tables of changes, each made in every chain and in one fused model of each recipe, type and
// number of bits.
#include "tests/kernels/product_models.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "emulate/tensor_core.h"
#include "lib/instruction/instruction_name.h"
#include "tests/emulate/directions.h"

namespace binade::kernel_test {
namespace {

void set_sums(GemmModel& g, const Format& d) { g.types.c = g.types.d = g.model.grid = d; }
void go_through_f32(GemmModel& g, const Format& d) {
  g.types.c = g.types.d = d;
  g.model.through_f32 = true;
  g.model.grid = binary32;
}
int product_bits(const GemmModel& g) {
  const bool expanded = g.model.recipe == Recipe::expanded;
  return expanded ? 2 * binary16.fraction_bits()
                  : g.types.a.fraction_bits() + g.types.b.fraction_bits();
}

/// A change of a number or rule.
struct Change {
  std::string_view name;
  void (*make)(GemmModel& g);
};
/// Sums do not draw random words.
constexpr auto rounding_changes = []<std::size_t... i>(std::index_sequence<i...>) {
  return std::array{Change{rounding_name(test::deterministic[i]),
                           [](GemmModel& g) { g.model.rounding = test::deterministic[i]; }}...};
}
(std::make_index_sequence<test::deterministic.size()>());
constexpr Change changes[]{
    {"descending", [](GemmModel& g) { g.model.descending = true; }},
    {"c_last", [](GemmModel& g) { g.model.c_last = true; }},
    {"all binary32",
     [](GemmModel& g) {
       set_sums(g, binary32);
       g.types.a = g.types.b = binary32;
     }},
    {"through_f32", [](GemmModel& g) { go_through_f32(g, binary16); }},
    {"through_f32 to bfloat16", [](GemmModel& g) { go_through_f32(g, bfloat16); }},
    {"sparse", [](GemmModel& g) { g.model.sparse_group = 4; }},
    {"sparse by 2", [](GemmModel& g) { g.model.sparse_group = 2; }},
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
    {"floor -101", [](GemmModel& g) { g.model.exponent_floor = -101; }},
    {"floor -100", [](GemmModel& g) { g.model.exponent_floor = -100; }},
    {"operands bfloat16", [](GemmModel& g) { g.types.a = g.types.b = bfloat16; }},
    {"operands padded",
     [](GemmModel& g) {
       g.types.a.padding_bits = 64 - g.types.a.bits();
       g.types.b.padding_bits = 32 - g.types.b.bits();
     }},
    {"no floor", [](GemmModel& g) { g.model.exponent_floor = no_floor; }},
    {"blocks of 5", [](GemmModel& g) { g.model.block = 5; }},
    {"sparse, blocks of 5",
     [](GemmModel& g) {
       g.model.block = 5;
       g.model.sparse_group = 4;
     }},
    {"sparse, blocks of 6",
     [](GemmModel& g) {
       g.model.block = 6;
       g.model.sparse_group = 4;
     }},
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

constexpr Change integer_changes[]{
    {"satfinite", [](GemmModel& g) { g.model.integer.satfinite = true; }},
    {"exclusive or", [](GemmModel& g) { g.model.integer.exclusive_or = true; }},
    {"satfinite, exclusive or",
     [](GemmModel& g) {
       g.model.integer = {true, true};
     }},
    {"k 4", [](GemmModel& g) { g.k = 4; }},
    {"k 5", [](GemmModel& g) { g.k = 5; }},
    {"k 256", [](GemmModel& g) { g.k = 256; }},
    {"sparse", [](GemmModel& g) { g.k = 64, g.model.sparse_group = 4; }},
    {"operands signed",
     [](GemmModel& g) {
       g.types.a = g.types.b = {0, 8, 0, Specials::none};
     }},
    {"b of 9 bits",
     [](GemmModel& g) {
       g.types.b = {0, 9, 0, Specials::none};
     }},
    {"b of 16 bits",
     [](GemmModel& g) {
       g.types.b = {0, 16, 0, Specials::none};
     }},
    {"b of one bit", [](GemmModel& g) { g.types.b = b1; }},
};

/// Scaled instructions, and changes of which the definition makes something.
std::vector<GemmModel> scaled_models() {
  const DotModel mx{.block = 32, .scaling = {32, e8m0, 0}};
  const DotModel groups{.block = 64, .fraction_bits = 35, .exponent_floor = -139};
  DotModel mxf4 = groups, nvf4 = groups;
  mxf4.scaling = {32, e8m0, 16};
  nvf4.scaling = {16, ue4m3, 16};
  const auto types = [](const Format& a, const Format& b) {
    return DotTypes{a, b, binary32, binary32};
  };
  return {{.model = mx, .types = types(e4m3, e4m3), .k = 64},
          {.model = mx, .types = types(e5m2, e2m3), .k = 32},
          {.model = mxf4, .types = types(e2m1, e2m1), .k = 64},
          {.model = nvf4, .types = types(e2m1, e2m1), .k = 64}};
}
constexpr Change scaled_changes[]{
    {"a share of 16", [](GemmModel& g) { g.model.scaling.share = 16; }},
    {"blocks of 16", [](GemmModel& g) { g.model.block = g.model.scaling.share = 16; }},
    {"blocks of 32", [](GemmModel& g) { g.model.block = 32; }},
    {"the other scales",
     [](GemmModel& g) {
       Format& f = g.model.scaling.format;
       f = f == e8m0 ? ue4m3 : e8m0;
     }},
    {"groups of 8", [](GemmModel& g) { g.model.scaling.group = 8; }},
    {"F 40", [](GemmModel& g) { g.model.fraction_bits = 40; }},
    {"F 41", [](GemmModel& g) { g.model.fraction_bits = 41; }},
    {"F 8", [](GemmModel& g) { g.model.fraction_bits = 8; }},
    {"floor 0", [](GemmModel& g) { g.model.exponent_floor = 0; }},
    {"k twice", [](GemmModel& g) { g.k *= 2; }},
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

}  // namespace

GemmModel chain(Recipe recipe, const Format& a, const Format& d, int k) {
  const DotModel model{.recipe = recipe, .rounding = Rounding::ties_to_even};
  return {.model = model, .types = {a, a, d, d}, .k = k};
}

const std::vector<TriedModel>& product_models() {
  static const std::vector<TriedModel> models = [] {
    std::vector<TriedModel> out;
    std::vector<GemmModel> changed = chain_models(4);
    for (const GemmModel& g : chain_models(1)) out.push_back({g, ""});
    for (const Architecture& on : architectures) {
      for (const Instruction& x : instructions_of(on.sm)) {
        if (is_scaled(x.model)) continue;  // scaled_models() stand for them
        // Their dense pairs stand for these.
        if (x.family == Family::tcgen05_sp && x.types.a != x.types.b) continue;
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
        const bool is_changed = is_fused(g.model) || g.model.recipe == Recipe::exact_integer ||
                                g.model.recipe == Recipe::pairwise || g.k == 4;
        if (is_changed && g.model.sparse_group == 0 && g.k % 4 == 0 && is_new) changed.push_back(g);
      }
    }
    const auto add = [&](const GemmModel& g, const Change& change) {
      TriedModel tried{g, std::string(", ").append(change.name)};
      change.make(tried.g);
      out.push_back(tried);
    };
    for (const GemmModel& g : scaled_models()) {
      out.push_back({g, ", scaled"});
      const auto add_scaled = [&](const Change& change) {
        add(g, change);
        const GemmModel& made = out.back().g;
        // The sums of groups are those of e2m1; a line has whole runs.
        const bool is_one =
            (g.model.scaling.group == 0 || made.types.a.bits() == g.types.a.bits()) &&
            made.k % scale_run(made) == 0;
        if (is_one) {
          out.back().name += ", scaled";
        } else {
          out.pop_back();
        }
      };
      std::ranges::for_each(scaled_changes, add_scaled);
      std::ranges::for_each(rounding_changes, add_scaled);
      std::ranges::for_each(changes, add_scaled);
      std::ranges::for_each(block_changes, add_scaled);
    }
    for (const GemmModel& g : changed) {
      const bool is_integer = g.model.recipe == Recipe::exact_integer;
      for (const Change& change : integer_changes) {
        if (is_integer) add(g, change);
      }
      for (const Change& change : rounding_changes) {
        if (!is_integer) add(g, change);
      }
      for (const Change& change : changes) {
        if (!is_integer) add(g, change);
      }
      for (const Change& change : block_changes) {
        if (is_fused(g.model)) add(g, change);
      }
    }
    return out;
  }();
  return models;
}

}  // namespace binade::kernel_test
