// SPDX-License-Identifier: Apache-2.0
//
// Chooses an architecture's usual instruction for given operands (emulate/architectures.h), and
// makes the settings of a training's products from it.
#include "lib/train/tensor_core_products.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/format/format_spec.h"
#include "lib/gemm/named_gemm.h"
#include "lib/text/error.h"

namespace binade {
namespace {

/// Fills the operand formats of FP8 into an instruction's name. The gradient dY, which is the left
/// operand of dgrad and of wgrad, is e5m2; everything else is e4m3.
std::string name_for(std::string_view pattern, Pass pass) {
  const std::string_view a = pass == Pass::fprop ? "e4m3" : "e5m2";
  return fmt::format(fmt::runtime(pattern), fmt::arg("a", a), fmt::arg("b", "e4m3"));
}

std::string usual_name(const ProductChoice& choice, Pass pass) {
  if (const Architecture* on = find_architecture(choice.sm)) {
    const UsualInstruction* usual = on->usual_for(choice.format, choice.accumulator);
    if (usual != nullptr) return name_for(usual->name, pass);
  }
  throw Error(
      fmt::format("products of {} with accumulator {} on sm_{}: none is known; give the "
                  "instructions by name, or accumulator reference",
                  choice.format, printable(choice.accumulator), choice.sm));
}

}  // namespace

const TrainingFormat& training_format(std::string_view name) {
  const std::string_view in_table = table_name_of(name);  // "fp16" is binary16 in the table
  const auto* row = std::ranges::find(training_formats, in_table, &TrainingFormat::name);
  if (row != training_formats.end()) return *row;
  std::string known;
  for (const TrainingFormat& f : training_formats) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", f.name);
  }
  throw Error(
      fmt::format("training format {}: there is none; choose of {}", printable(name), known));
}

ProductSettings tensor_core_products(const ProductChoice& choice) {
  const TrainingFormat& format = training_format(choice.format);
  const bool is_fp8 = choice.format == "e4m3";
  ProductSettings settings;
  settings.attention = choice.attention;
  if (choice.format == "binary32" || choice.accumulator == "reference") {
    if (choice.format == "tf32" || is_fp8) {
      throw Error(
          fmt::format("products of {} are emulated: accumulator reference is for binary32, "
                      "binary16 and bfloat16",
                      choice.format));
    }
    return settings;
  }
  ProductRule rule{.dtype = format.dtype, .weights_only = is_fp8};
  for (const Pass pass : {Pass::fprop, Pass::dgrad, Pass::wgrad}) {
    const auto at = static_cast<std::size_t>(pass);
    const std::string name =
        choice.instruction[at].empty() ? usual_name(choice, pass) : choice.instruction[at];
    ProductPlan& plan = rule.plans[at];
    plan.model = parse_gemm(name, choice.sm).model;
    plan.model->sum.promote_every = choice.promote_every;
    plan.scale = is_fp8 ? OperandScale::amax : OperandScale::none;
    if (!fits_in(plan.model->types.a, binary32) || !fits_in(plan.model->types.b, binary32)) {
      throw Error(fmt::format("{}: training computes in binary32, which does not hold its operands",
                              printable(name)));
    }
  }
  const bool narrow_sums = std::ranges::any_of(
      rule.plans, [](const ProductPlan& plan) { return plan.model->types.d != binary32; });
  if (narrow_sums && !is_fp8) {  // the kernels of attention add in binary32 always
    ProductChoice wide{.format = choice.format, .sm = choice.sm};
    const ProductRule usual_sums = tensor_core_products(wide).rules.front();
    ProductRule sums = rule;
    for (std::size_t at = 0; at < sums.plans.size(); ++at) {
      if (sums.plans[at].model->types.d != binary32) sums.plans[at] = usual_sums.plans[at];
    }
    settings.sum_rules.push_back(sums);
  }
  settings.rules.push_back(rule);
  if (is_fp8) {  // attention stays in BF16
    ProductChoice rest{.format = "bfloat16", .sm = choice.sm};
    settings.rules.push_back(tensor_core_products(rest).rules.front());
  }
  return settings;
}

}  // namespace binade
