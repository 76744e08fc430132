// SPDX-License-Identifier: Apache-2.0
//
// The part of the experiment `swamping` that multiplies matrices: it compares emulated Tensor Core
// products, for growing K, with sums in binary64, whose own error is below K·2^-53 of Σ|a·b|.
#include "experiments/swamped_products.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "emulate/carrier.h"
#include "experiments/draws.h"
#include "lib/gemm/gemm.h"
#include "lib/gemm/named_gemm.h"

namespace binade {
namespace {

constexpr std::size_t side = 8;  // results are side × side

/// Returns random operands in binary16: positive ones are uniform in (0, 1), others normal with
/// deviation 1/4.
GemmOperands operands(std::size_t k, bool positive) {
  const auto draw = [positive](Draws& draws) {
    return positive ? draws.uniform() : draws.normal() / 4;
  };
  GemmOperands out{.m = side, .n = side, .k = k, .a = {}, .b = {}, .c = {}, .bias = {}};
  std::uint64_t stream = positive ? 10 : 12;
  for (auto* matrix : {&out.a, &out.b}) {
    Draws draws(2018, stream++);
    for (std::size_t i = 0; i < side * k; ++i) {
      matrix->push_back(convert(bits_of(draw(draws)), binary64, binary16).bits);
    }
  }
  return out;
}

struct ProductError {
  double of_result = 0;    ///< mean of |error| / |exact|
  double of_products = 0;  ///< mean of |error| / Σ|a·b|
};

ProductError error_of(const GemmModel& model, const GemmOperands& x) {
  const std::vector<std::uint64_t> d = gemm(model, x);
  ProductError out;
  for (std::size_t i = 0; i < d.size(); ++i) {
    const GemmElement<std::uint64_t> element = x.element(i / side, i % side);
    double exact = 0;
    double magnitudes = 0;
    for (std::size_t at = 0; at < x.k; ++at) {
      const double product =
          value_of<double>(element.a[at], binary16) * value_of<double>(element.b[at], binary16);
      exact += product;
      magnitudes += std::abs(product);
    }
    const double error = std::abs(value_of<double>(d[i], model.epilogue.out) - exact);
    out.of_result += error / std::abs(exact) / static_cast<double>(d.size());
    out.of_products += error / magnitudes / static_cast<double>(d.size());
  }
  return out;
}

struct NamedModel {
  std::string name;
  GemmModel model;
};

/// Returns models with f16 and f32 accumulators, and with f16 accumulators over chunks of 64 of K,
/// whose sums are added pairwise in binary16 or binary32.
std::vector<NamedModel> models_of(std::size_t k) {
  const GemmModel half = parse_gemm("mma.m16n8k16.f16.f16.f16.f16", 80).model;
  const GemmModel single = parse_gemm("mma.m16n8k16.f32.f16.f16.f32", 80).model;
  GemmModel split = half;
  if (k > 64)
    split.sum.splits[0] = {.parts = static_cast<int>(k / 64), .reduction = Reduction::pairs};
  GemmModel split_single = split;
  split_single.sum.partial = binary32;
  split_single.epilogue.compute = binary32;
  split_single.epilogue.out = binary32;
  return {{"f16 accumulator", half},
          {"f16, K in 64s", split},
          {"f16, K in 64s, added in f32", split_single},
          {"f32 accumulator", single}};
}

}  // namespace

std::size_t largest_k(bool quick) { return std::size_t{1} << (quick ? 12 : 16); }

SwampedProducts sweep_k(const ExperimentInput& input, Outcome& out) {
  SwampedProducts verdict;
  const std::size_t largest = largest_k(input.quick);
  for (const bool positive : {true, false}) {
    Table table{fmt::format("mma.m16n8k16 of sm_80, {} operands: mean of |error| / Σ|a·b|",
                            positive ? "positive" : "zero-mean"),
                {"K"},
                {}};
    Plot plot{positive ? "Products of positive operands" : "Products of zero-mean operands",
              "K",
              "mean of |error| / Σ|a·b|",
              Axis::log2,
              Axis::log10,
              {},
              "Each point is the mean over 64 elements."};
    for (std::size_t k = 64; k <= largest; k *= 4) {
      const GemmOperands x = operands(k, positive);
      std::vector<std::string> cells{std::to_string(k)};
      std::size_t at = 0;
      for (const NamedModel& row : models_of(k)) {
        const ProductError error = error_of(row.model, x);
        cells.push_back(fmt::format("{:.2e}", error.of_products));
        if (plot.series.size() <= at) plot.series.push_back({row.name, {}, {}});
        plot.series[at].x.push_back(static_cast<double>(k));
        plot.series[at].y.push_back(error.of_products);
        if (positive && k == largest) {
          (at == 0 ? verdict.half : at == 1 ? verdict.split : verdict.single) = error.of_products;
        }
        // sm_80 truncates the 8 products and the accumulator of a block at 2^-24 of the largest
        // exponent among them.
        const double cut = static_cast<double>(k) / 8 * 9 * 0x1p-23;
        verdict.single_as_cut = verdict.single_as_cut && (at != 3 || error.of_products < cut);
        out.data["products"].push_back({{"operands", positive ? "positive" : "zero-mean"},
                                        {"k", k},
                                        {"model", row.name},
                                        {"of_products", error.of_products},
                                        {"of_result", error.of_result}});
        at += 1;
      }
      table.rows.push_back(std::move(cells));
      if (input.progress)
        input.progress(static_cast<double>(k) / static_cast<double>(largest), "products");
    }
    for (const Series& series : plot.series) table.columns.push_back(series.name);
    out.tables.push_back(std::move(table));
    out.plots.push_back(std::move(plot));
  }
  return verdict;
}

}  // namespace binade
