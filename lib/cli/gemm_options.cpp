// SPDX-License-Identifier: Apache-2.0
//
// Declares the options of a matrix product and makes a model of them: each value is parsed by the room that defines its
// spelling, then it is checked that the options go together.
#include "lib/cli/gemm_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "lib/cli/suggestions.h"
#include "lib/format/format_spec.h"
#include "lib/instruction/instruction_name.h"
#include "lib/io/opened_tensor.h"
#include "lib/text/error.h"
#include "lib/text/idle_option.h"

namespace binade {
namespace {

/// The format that PTX's name of a type (f16, bf16) or a format's own name or specification means.
Format format_of(const std::string& text) {
  const auto row = std::ranges::find(type_names, text, &TypeName::name);
  return row == type_names.end() ? parse_format(text).format : row->format;
}

/// Sets what --promote-every N[:FORMAT] says.
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

/// Throws Error if an option of order or epilogue was given for an integer product, whose sums are exact in any order and
/// whose accumulator is the result.
void check_integer(const GemmOptions& o) {
  const bool plain = o.promote_every.empty() && o.partial.empty() && o.splits.empty() &&
                     o.bias.empty() && o.epilogue_format.empty() && o.out_format.empty() &&
                     o.alpha == 1 && o.beta == 1 && o.fused == "alpha" && !o.saturate;
  if (plain) return;
  throw Error(
      "an integer product has no promotion, split, epilogue or other output than s32; leave those "
      "options out");
}

bool is_divided(const GemmModel& g) { return g.sum.splits[0].parts > 1; }

/// Whether the epilogue adds C or a bias to the sum.
bool adds_in_epilogue(const GemmOptions& o, const GemmModel& g) {
  return (!o.c.empty() && !g.sum.c_first && g.epilogue.beta != 0) || !o.bias.empty();
}

}  // namespace

void add_gemm_options(App app, GemmOptions& o) {
  app.add_option("A", o.files.a, matrix_a_help).suggest_files().required();
  app.add_option("B", o.files.b, "file of the matrix B, of shape (K, N)")
      .suggest_files()
      .required();
  app.add_option("C", o.c, "file of the matrix C, of shape (M, N) (default: zeros)")
      .suggest_files();
  app.add_option("--instruction", o.instruction,
                 "the instruction that multiplies: one of `binade architectures --names`, such as "
                 "mma.m16n8k16.f32.f16.f16.f32; or a chain of operations that round each time, "
                 "such as fma.rn.f32.f16.f16.f32 or mul_add.rn.f32.f32.f32.f32")
      .suggest(instruction_words)
      .required();
  app.add_option("--arch", o.architecture,
                 "architecture of the GPU whose instruction it is, " + architecture_range() +
                     "; required, except for a chain of rounded operations, which has none")
      .suggest(architecture_words);
  app.add_flag("--transpose-a", o.files.transposed_a, "the file of A holds its transpose, (K, M)");
  app.add_flag("--transpose-b", o.files.transposed_b, "the file of B holds its transpose, (N, K)");
  app.add_flag("--round", o.files.round,
               "round operands to the instruction's types, to nearest, as cuBLAS does for tf32. "
               "Without it a value that is no number of the type is refused, except that the low "
               "13 bits of a tf32 operand are ignored, as by the hardware");
  const char* const order = "The order of the sum";
  app.add_option("--k-order", o.k_order,
                 "in which order instructions take the positions in K: ascending or descending. "
                 "With :GROUPxWIDTH behind it, such as ascending:2x4, each of GROUP instructions "
                 "in a row takes WIDTH of their positions in turn")
      .suggest([] {
        return std::vector<std::string>{"ascending", "descending"};
      })
      .capture_default_str()
      .group(order);
  app.add_option("--promote-every", o.promote_every,
                 "N or N:FORMAT: after every N instructions the accumulator is added to a register "
                 "of this format (default: f32) and begins again at 0. CUTLASS's 2xAcc and "
                 "DeepSeek-V3 do so after 128 products (default: there is no such register)")
      .group(order);
  app.add_option(
         "--split", o.splits,
         "PARTS[:RUN|:tileN][:REDUCTION][:tail], such as 4, 2:16, 3:tile64 or 8:1:pairs:tail: K is "
         "divided into PARTS that are summed one by one and then added. Each part is a run of "
         "whole instructions, or of whole tiles of N positions; with RUN, runs of so many "
         "positions go to the parts in turn. REDUCTION is the order in which parts are added: "
         "ascending (the default), descending, pairs or halves. tail: positions left over by the "
         "runs are added to the finished sum. Given up to three times, splits lie in each other, "
         "the outermost first (default: K is not divided)")
      .allow_extra_args(false)
      .group(order);
  app.add_option(
         "--partial", o.partial,
         "format in which the parts of --split are kept and added (default: the accumulator's)")
      .suggest(type_and_format_words)
      .group(order);
  app.add_flag("--c-first", o.c_first,
               "sums begin with C (default: they begin with 0, and the epilogue adds C)")
      .group(order);
  const char* const epilogue = "The epilogue: D = alpha·sum + beta·C + bias";
  app.add_option("--alpha", o.alpha, "factor of the sum").capture_default_str().group(epilogue);
  app.add_option("--beta", o.beta, "factor of C; with 0, C is not read")
      .capture_default_str()
      .group(epilogue);
  app.add_option("--bias", o.bias,
                 "file of the bias, of shape (N,), which is added to each row (default: none)")
      .suggest_files()
      .group(epilogue);
  app.add_option("--fused", o.fused,
                 "which product is fused with the addition: alpha gives fma(alpha, sum, beta·C) + "
                 "bias, beta gives fma(beta, C, fma(alpha, sum, bias))")
      .one_of({"alpha", "beta"})
      .capture_default_str()
      .group(epilogue);
  app.add_option("--epilogue-format", o.epilogue_format,
                 "format in which the epilogue computes (default: the accumulator's)")
      .suggest(type_and_format_words)
      .group(epilogue);
  app.add_option("--out-format", o.out_format, "format of D (default: the accumulator's)")
      .suggest(type_and_format_words)
      .group(epilogue);
  app.add_flag("--saturate", o.saturate,
               "what overflows in D becomes the largest finite number, as with PTX's .satfinite "
               "(default: infinity)")
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
    const std::string on = "on a product of integers, ";
    refuse_idle(std::array{
        IdleOption{"--k-order", g.sum.order != KOrder{} && !g.model.integer.satfinite,
                   on + "which is the same in every order"},
        IdleOption{"--c-first", o.c_first, on + "whose sums begin with C"},
        IdleOption{"--round", o.files.round, on + "which takes them as they are"},
    });
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
  refuse_idle(std::array{
      IdleOption{"--arch", chain && !o.architecture.empty(),
                 "on a chain of rounded operations, which is the same on all"},
      IdleOption{"--round", o.files.round && g.types.a == binary64 && g.types.b == binary64,
                 "on operands of binary64, which holds every number of a file"},
      IdleOption{"--partial", !is_divided(g) && g.sum.partial != g.types.d, "without --split"},
      IdleOption{"--beta", o.c_first && o.beta != 1,
                 "with --c-first, which begins with C as it is"},
  });
  return out;
}

bool computes_epilogue(const GemmOptions& o, const GemmModel& g) {
  return g.epilogue.alpha != 1 || adds_in_epilogue(o, g);
}

void check_effects(const GemmOptions& o, const GemmModel& g) {
  if (is_integer(g.types.d)) return;
  const std::string nothing_added = "where the epilogue adds neither C nor a bias";
  refuse_idle(std::array{
      IdleOption{"--beta", o.c.empty() && o.beta != 1, "without C"},
      IdleOption{"--c-first", o.c.empty() && o.c_first, "without C"},
      IdleOption{"--fused", !adds_in_epilogue(o, g) && !g.epilogue.sum_last, nothing_added},
      IdleOption{"--epilogue-format", !computes_epilogue(o, g) && g.epilogue.compute != g.types.d,
                 nothing_added + " and alpha is 1"},
  });
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
