// SPDX-License-Identifier: Apache-2.0
//
// Options to a model: each word parsed where its grammar is, then what goes together is checked.
#include "lib/cli/gemm_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "lib/format/format_spec.h"
#include "lib/instruction/instruction_name.h"
#include "lib/io/opened_tensor.h"
#include "lib/text/error.h"

namespace binade {
namespace {

/// A type by PTX's name, or any format's.
Format format_of(const std::string& text) {
  const auto row = std::ranges::find(type_names, text, &TypeName::name);
  return row == type_names.end() ? parse_format(text).format : row->format;
}

/// N[:FORMAT]
void set_promotion(GemmModel& g, const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string digits = text.substr(0, colon);
  int every = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), every);
  if (error != std::errc{} || end != digits.data() + digits.size() || every < 1) {
    throw Error("--promote-every '" + printable(text) +
                "' is not N[:FORMAT], a number of instructions and the register's format");
  }
  g.sum.promote_every = every;
  if (colon != std::string::npos) g.sum.promotion = format_of(text.substr(colon + 1));
}

void set_splits(GemmModel& g, const std::vector<std::string>& texts) {
  if (texts.size() > std::size(g.sum.splits)) {
    throw Error(fmt::format("{} splits; at most {} lie in each other", texts.size(),
                            std::size(g.sum.splits)));
  }
  for (std::size_t i = 0; i < texts.size(); ++i) g.sum.splits[i] = parse_split(texts[i]);
}

void set_order(GemmModel& g, const std::string& text) {
  const KOrder order = parse_k_order(text);
  if (order.group != 1 && g.k % order.width != 0) {
    throw Error(fmt::format("k order '{}': the width must divide the instruction's k, {}",
                            spelled(order), g.k));
  }
  g.sum.order = order;
}

/// Integers are exact: there is nothing to order, and their accumulator is the result.
void check_integer(const GemmOptions& o) {
  const bool plain = o.promote_every.empty() && o.partial.empty() && o.splits.empty() &&
                     o.bias.empty() && o.epilogue_format.empty() && o.out_format.empty() &&
                     o.alpha == 1 && o.beta == 1 && !o.saturate;
  if (plain) return;
  throw Error(
      "an integer product has no promotion, split, epilogue or other output than s32; "
      "leave those options out");
}

}  // namespace

void add_gemm_options(App app, GemmOptions& o) {
  app.add_option(
         "A", o.files.a,
         "(M, K): .npy, .safetensors, .npz or torch's .pt; FILE:NAME where it holds several")
      .required();
  app.add_option("B", o.files.b, "(K, N), likewise").required();
  app.add_option("C", o.c, "(M, N), likewise; without it 0");
  app.add_option(
         "--instruction", o.instruction,
         "as mma.m16n8k16.f32.f16.f16.f32 (see binade architectures), or a chain of rounded "
         "operations: fma.rn.f32.f16.f16.f32, mul_add.rn.f32.f32.f32.f32")
      .required();
  app.add_option("--arch", o.architecture, architecture_range() + "; a chain has none");
  app.add_flag("--transpose-a", o.files.transposed_a, "A is (K, M)");
  app.add_flag("--transpose-b", o.files.transposed_b, "B is (N, K)");
  app.add_flag(
      "--round", o.files.round,
      "round operands to the instruction's types, to nearest, as cuBLAS does for tf32; else "
      "hardware ignores a tf32 operand's low bits");
  const char* const order = "The order of the sum";
  app.add_option(
         "--k-order", o.k_order,
         "ascending or descending; with :GROUPxWIDTH, GROUP instructions take WIDTH k in turn")
      .capture_default_str()
      .group(order);
  app.add_option(
         "--promote-every", o.promote_every,
         "N[:FORMAT]: after N instructions the accumulator is added to a register (f32) and "
         "begins again at 0; CUTLASS 2xAcc and DeepSeek-V3: 128 products")
      .group(order);
  app.add_option(
         "--split", o.splits,
         "PARTS[:RUN|:tileN][:REDUCTION][:tail]: K in parts of whole instructions, or tiles of N "
         "k, that are added at the end; with RUN, runs "
         "of so many k go to them in turn; REDUCTION ascending, descending, pairs or halves; "
         "tail: what is left over follows the sum. Up to three times, outermost first")
      .allow_extra_args(false)
      .group(order);
  app.add_option("--partial", o.partial,
                 "format in which parts are kept and added; the accumulator's")
      .group(order);
  app.add_flag("--c-first", o.c_first, "sums begin with C; else C comes in the epilogue")
      .group(order);
  const char* const epilogue = "The epilogue: D = alpha·sum + beta·C + bias";
  app.add_option("--alpha", o.alpha, "times the sum").capture_default_str().group(epilogue);
  app.add_option("--beta", o.beta, "0: C is not read").capture_default_str().group(epilogue);
  app.add_option("--bias", o.bias, "(N,)").group(epilogue);
  app.add_option("--fused", o.fused,
                 "alpha: fma(alpha, sum, beta·C) + bias; beta: fma(beta, C, fma(alpha, sum, bias))")
      .one_of({"alpha", "beta"})
      .capture_default_str()
      .group(epilogue);
  app.add_option("--epilogue-format", o.epilogue_format, "what it computes in; the accumulator's")
      .group(epilogue);
  app.add_option("--out-format", o.out_format, "of D; the accumulator's").group(epilogue);
  app.add_flag("--saturate", o.saturate,
               "D overflows to the largest finite number, as PTX .satfinite")
      .group(epilogue);
  add_rule_options(app, o.rules);
}

NamedGemm model_of(const GemmOptions& o) {
  const bool chain = is_chain_name(o.instruction);
  if (!chain && o.architecture.empty()) {
    throw Error(
        "--arch is missing: the same instruction sums differently on others; as --arch sm_90");
  }
  NamedGemm out = parse_gemm(o.instruction, chain ? 0 : parse_architecture(o.architecture));
  GemmModel& g = out.model;
  g.model = ruled_model(g.model, o.instruction, o.rules);
  out.rules = rule_choice_text(o.rules);
  set_order(g, o.k_order);
  if (is_integer(g.types.d)) {
    check_integer(o);
    return out;
  }
  if (!o.promote_every.empty()) set_promotion(g, o.promote_every);
  set_splits(g, o.splits);
  if (!o.partial.empty()) g.sum.partial = format_of(o.partial);
  g.sum.c_first = o.c_first;
  if (!std::isfinite(o.alpha) || !std::isfinite(o.beta)) {
    throw Error("--alpha and --beta must be finite");
  }
  g.epilogue.alpha = o.alpha;
  g.epilogue.beta = o.beta;
  g.epilogue.sum_last = o.fused == "alpha";
  if (!o.epilogue_format.empty()) g.epilogue.compute = format_of(o.epilogue_format);
  if (!o.out_format.empty()) g.epilogue.out = format_of(o.out_format);
  g.epilogue.saturate = o.saturate;
  return out;
}

void adopt_output(const GemmOptions& o, const std::string& d, GemmModel& model) {
  if (!o.out_format.empty() || is_integer(model.types.d)) return;
  model.epilogue.out = named_format(d).value_or(model.epilogue.out);
}

std::vector<InputPath> inputs_of(const GemmOptions& o) {
  return {{"A", file_of(o.files.a)},
          {"B", file_of(o.files.b)},
          {"C", file_of(o.c)},
          {"--bias", file_of(o.bias)}};
}

GemmOperands operands_of(const GemmOptions& o, GemmModel& model) {
  GemmFiles files = o.files;
  if (!o.c.empty()) files.c = o.c;
  if (!o.bias.empty()) files.bias = o.bias;
  return read_operands(files, model);
}

std::string headline(const NamedGemm& named) {
  const std::string on = named.sm == 0 ? "" : fmt::format("sm_{} ", named.sm);
  return on + named.instruction + named.rules;
}

void check_has_account(const GemmOptions& o) {
  if (o.rules.zero_raises.empty()) return;
  throw Error(
      "--account tells what alignment and floor cut, not what a zero does: leave --zero-raises "
      "out");
}

GemmTitle title_of(const GemmOptions& o, const NamedGemm& named) {
  return {named.instruction, named.sm == 0 ? "" : fmt::format("sm_{}", named.sm),
          order_text(named.model),
          printable(o.files.a, longest_path) + " × " + printable(o.files.b, longest_path)};
}

}  // namespace binade
