// SPDX-License-Identifier: Apache-2.0
//
// Each activation is applied to the sums in binary64, before and after what is added to them.
#include "lib/identify/behind_activation.h"
#include "lib/number/ulp_distance.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "emulate/project.h"

namespace binade {
namespace {

/// What is tried: an activation of all that makes an element, or of its products alone.
struct ActivatedFit {
  Activation activation{};
  bool before_addends = false;
  std::size_t agree = 0;
  std::size_t telling = 0,
              telling_agree = 0;         ///< elements that neither ReLU nor nothing would give
  std::vector<std::uint64_t> ulps = {};  ///< from the exact activation, of those that agree
};

/// C and the bias, as they are added behind the products.
double addends_of(const KernelCase& x, std::size_t at) {
  const KernelRun& run = x.run;
  double out = 0;
  if (!run.c.empty()) out += x.epilogue.beta * number_in(run.c[at], x.types.c);
  if (!run.bias.empty()) out += number_in(run.bias[run.column(at)], x.types.bias);
  return out;
}

/// Counts the elements that lie as near as sums in binary32, a formula in it and D's format leave.
ActivatedFit fit_behind(const KernelCase& x, const NearSums& sums,
                        const std::vector<std::size_t>& elements, Activation by,
                        bool before_addends) {
  ActivatedFit out{by, before_addends};
  const Format& f = x.types.d;
  for (const std::size_t at : elements) {
    const double added = before_addends ? addends_of(x, at) : 0;
    const double argument = sums.exact[at] - added, found = sums.found[at];
    const double exact = rounded_activation(by, static_cast<float>(argument)) + added;
    // An activation changes by less than 1.13 times what its argument does, and a formula's steps
    // change it by less than 2^-18 of the argument (lib/gemm/activated.h).
    const double within =
        1.01 * ulp_at(exact, f) + 1.13 * 0x1p-20 * sums.size[at] + 0x1p-18 * std::abs(argument);
    const bool agrees = std::abs(found - exact) <= within;
    const double plain = std::min(std::abs(exact - added - argument),
                                  std::abs(exact - added - std::max(argument, 0.0)));
    if (plain > 2 * within) {
      ++out.telling;
      out.telling_agree += agrees ? 1U : 0U;
    }
    if (!agrees) continue;
    ++out.agree;
    const std::uint64_t code = convert(std::bit_cast<std::uint64_t>(exact), binary64, f).bits;
    out.ulps.push_back(ulp_distance(x.run.d[at], code, f).value_or(0));
  }
  return out;
}

}  // namespace

std::string behind_activation_words(const KernelCase& given, const NearSums& sums) {
  const KernelRun& run = given.run;
  const bool has_scales = !run.a_scale.empty() || !run.b_scale.empty();
  if (is_integer(given.types.d) || is_integer(given.types.c) || run.size() < 16) return "";
  constexpr std::size_t most_tried = 4096;
  const std::vector<std::size_t> tried = spread_over(run.size(), most_tried);
  const bool has_addends = !run.c.empty() || !run.bias.empty();
  ActivatedFit best;
  for (const Activation by : {Activation::gelu, Activation::gelu_tanh, Activation::silu}) {
    for (const bool before : {false, true}) {
      if (before && (!has_addends || has_scales)) continue;
      ActivatedFit fit = fit_behind(given, sums, tried, by, before);
      const bool is_told = fit.telling >= 16 && 10 * fit.telling_agree >= 9 * fit.telling;
      if (is_told && fit.agree > best.agree) best = std::move(fit);
    }
  }
  if (10 * best.agree < 9 * tried.size()) return "";  // nothing was found, or too little
  std::ranges::sort(best.ulps);
  const std::string addends = run.c.empty()      ? "the bias is"
                              : run.bias.empty() ? run.c_words + " is"
                                                 : run.c_words + " and the bias are";
  return fmt::format(
      "as if {} were applied {}: {} of {} elements that were tried lie within rounding of that, "
      "half of these "
      "within {} ulp, nine of ten within {}; which bits follow depends on the steps of its formula",
      activation_name(best.activation),
      best.before_addends ? "to the products, before " + addends + " added" : "to the sum",
      best.agree, tried.size(), best.ulps[best.ulps.size() / 2],
      best.ulps[best.ulps.size() * 9 / 10]);
}

}  // namespace binade
