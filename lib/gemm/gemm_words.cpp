// SPDX-License-Identifier: Apache-2.0
//
// Makes a model of the words: each is parsed by the room that defines its spelling, then it is
// checked that they go together.
#include "lib/gemm/gemm_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include "lib/format/format_spec.h"
#include "lib/gemm/sum_program.h"
#include "lib/instruction/instruction_name.h"
#include "lib/io/opened_tensor.h"
#include "lib/text/error.h"
#include "lib/text/idle_option.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

/// The format that PTX's name of a type (f16, bf16) or a format's own name or specification means.
Format format_of(const std::string& text) {
  const auto row = std::ranges::find(type_names, text, &TypeName::name);
  return row == type_names.end() ? parse_format(text).format : row->format;
}

/// Reads a number above 0.
std::optional<int> count_in(std::string_view text) {
  int out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && out > 0 ? std::optional(out) : std::nullopt;
}

/// Sets what --promote-every N[:halvesM][:FORMAT] says.
void set_promotion(GemmModel& g, const std::string& text) {
  constexpr std::string_view prefix = "halves";
  const auto words = split(text, ':');
  std::size_t at = 1;
  const auto every = count_in(words[0]);
  std::optional<int> halves = 0;
  if (at < words.size() && words[at].starts_with(prefix)) {
    halves = count_in(words[at++].substr(prefix.size()));
  }
  if (!every || !halves || words.size() > at + 1) {
    throw Error("--promote-every '" + printable(text) +
                "' is not N[:halvesM][:FORMAT], a number of instructions, a multiple of which the "
                "first of two halves has in the end, and the register's format");
  }
  g.sum.promote_every = *every;
  g.sum.promote_halves = *halves;
  if (at < words.size()) g.sum.promotion = format_of(std::string(words[at]));
}

void set_splits(GemmModel& g, const std::vector<std::string>& texts) {
  if (texts.size() > std::size(g.sum.splits)) {
    throw Error(fmt::format("{} splits; at most {} lie in each other", texts.size(),
                            std::size(g.sum.splits)));
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    g.sum.splits[i] = parse_split(texts[i]);
    if (i == 0 || g.sum.splits[i].shares != TileShares::stream) continue;
    throw Error("--split " + printable(texts[i]) +
                ": stream-K lies in no other split; give it as the first one");
  }
}

void set_order(GemmModel& g, const std::string& text) {
  const KOrder order = parse_k_order(text);
  if (order.group != 1 && g.k % order.width != 0) {
    throw Error(fmt::format("k order '{}': the width must divide the instruction's k, {}",
                            spelled(order), g.k));
  }
  g.sum.order = order;
}

bool has_scales(const GemmOptions& o) {
  const GemmFiles& x = o.files;
  return !x.a_scale.empty() || !x.b_scale.empty() || !x.a_tensor_scale.empty() ||
         !x.b_tensor_scale.empty();
}

/// Whether an integer product ends in floating point.
bool dequantizes(const GemmOptions& o) {
  return !o.out_format.empty() || !o.bias.empty() || has_scales(o);
}

/// Throws Error if an option of order was given for an integer product, whose sums are exact in any
/// order, or one of the epilogue although its accumulator is the result.
void check_integer(const GemmOptions& o) {
  const GemmOptions usual;
  const bool in_order = o.promote_every.empty() && o.partial.empty() && o.splits.empty() &&
                        o.reduce_in.empty() && o.beta == 1;
  if (!in_order) {
    throw Error(
        "an integer product has no promotion, no split and no beta; leave those options out");
  }
  const bool plain = o.epilogue_format.empty() && o.alpha == 1 && o.fused == usual.fused &&
                     !o.saturate && o.sum_format.empty() && o.out_through.empty() && !o.relu &&
                     o.activation == usual.activation && o.out_rounding == usual.out_rounding &&
                     o.scale_order == usual.scale_order;
  if (plain || dequantizes(o)) return;
  throw Error(
      "an integer product has no epilogue unless it ends in floating point; give --out-format, "
      "--a-scale or --b-scale, or leave those options out");
}

ScaleOrder scale_order_of(const std::string& option, const std::string& word) {
  const auto row = std::ranges::find(scale_order_names, word);
  if (row != scale_order_names.end()) {
    return static_cast<ScaleOrder>(row - scale_order_names.begin());
  }
  throw Error(option + " " + printable(word) + ": no such choice" +
              did_you_mean(word, scale_order_names) + "; there are " + listed(scale_order_names));
}

/// Reads ORDER[:rounded] of --promote-scales.
PromotionScaling promotion_scaling_of(const std::string& text) {
  constexpr std::string_view rounded = ":rounded";
  const bool is_rounded = text.ends_with(rounded);
  const std::string order = is_rounded ? text.substr(0, text.size() - rounded.size()) : text;
  return {.order = scale_order_of("--promote-scales", order), .fused = !is_rounded};
}

Activation activation_of(const GemmOptions& o) {
  const auto row = std::ranges::find(activations, o.activation, &ActivationRow::name);
  if (row == activations.end()) {
    throw Error("--activation " + printable(o.activation) + ": no such choice" +
                did_you_mean(o.activation, names_of(activations)) + "; there are " +
                listed(names_of(activations)));
  }
  if (!o.relu) return row->activation;
  if (row->activation == Activation::none) return Activation::relu;
  throw Error("--relu is --activation relu; give one of the two");
}

void set_sums_of_parts(GemmModel& g, const Format& f) {
  if (f != g.sum.partial) g.sum.reduced = f;
}

Rounding output_rounding(const std::string& word) {
  if (const std::optional<Rounding> rounding = find_rounding(word)) return *rounding;
  throw Error("--out-rounding " + printable(word) + ": no such choice" +
              did_you_mean(word, names_of(roundings)) + "; there are " +
              listed(names_of(roundings)));
}

bool is_divided(const GemmModel& g) { return g.sum.splits[0].parts > 1; }

/// Whether the epilogue adds C or a bias to the sum.
bool adds_in_epilogue(const GemmOptions& o, const GemmModel& g) {
  return (!o.c.empty() && !g.sum.c_first && g.epilogue.beta != 0) || !o.bias.empty();
}

/// Sets what the options say of the epilogue.
void set_epilogue(Epilogue& e, const GemmOptions& o) {
  if (!std::isfinite(o.alpha) || !std::isfinite(o.beta)) {
    throw Error("--alpha and --beta must be finite");
  }
  e.alpha = o.alpha;
  e.beta = o.beta;
  e.sum_last = o.fused == "alpha";
  if (!o.epilogue_format.empty()) e.compute = format_of(o.epilogue_format);
  if (!o.out_format.empty()) e.out = format_of(o.out_format);
  e.saturate = o.saturate;
  e.rounding = output_rounding(o.out_rounding);
  e.seed = o.seed;
  if (!o.sum_format.empty()) e.sum = format_of(o.sum_format);
  if (!o.out_through.empty()) e.through = format_of(o.out_through);
  e.activation = activation_of(o);
  e.scales = scale_order_of("--scale-order", o.scale_order);
  e.bias_first = o.bias_first;
}

}  // namespace

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
  (void)operand_rounding(o.files.round);
  refuse_idle(std::array{
      IdleOption{"--seed", o.seed != 0 && output_rounding(o.out_rounding) != Rounding::stochastic,
                 "without --out-rounding stochastic"}});
  set_order(g, o.k_order);
  if (is_integer(g.types.d)) {
    check_integer(o);
    const std::string on = "on a product of integers, ";
    refuse_idle(std::array{
        IdleOption{"--k-order", g.sum.order != KOrder{} && !g.model.integer.satfinite,
                   on + "which is the same in every order"},
        IdleOption{"--c-first", o.c_first, on + "whose sums begin with C"},
        IdleOption{"--round", !o.files.round.empty(), on + "which takes them as they are"},
    });
    if (!dequantizes(o)) return out;
    g.epilogue.out = binary32;
    set_epilogue(g.epilogue, o);
    if (is_integer(g.epilogue.out) && has_scales(o)) {
      throw Error("--out-format " + printable(o.out_format) +
                  ": scales end in floating point; name such a format");
    }
    return out;
  }
  if (!o.promote_every.empty()) set_promotion(g, o.promote_every);
  g.sum.scaling = promotion_scaling_of(o.promote_scales);
  set_splits(g, o.splits);
  if (!o.partial.empty()) g.sum.partial = format_of(o.partial);
  if (!o.reduce_in.empty()) set_sums_of_parts(g, format_of(o.reduce_in));
  g.sum.c_first = o.c_first;
  set_epilogue(g.epilogue, o);
  refuse_idle(std::array{
      IdleOption{"--arch", chain && !o.architecture.empty(),
                 "on a chain of rounded operations, which is the same on all"},
      IdleOption{"--round",
                 !o.files.round.empty() && g.types.a == binary64 && g.types.b == binary64,
                 "on operands of binary64, which holds every number of a file"},
      IdleOption{"--partial", !is_divided(g) && g.sum.partial != g.types.d, "without --split"},
      IdleOption{"--reduce-in", !is_divided(g) && g.sum.reduced, "without --split"},
      IdleOption{"--beta", o.c_first && o.beta != 1,
                 "with --c-first, which begins with C as it is"},
      IdleOption{"--a-zero-point", !o.files.a_zero_point.empty(), "except on integers"},
      IdleOption{"--b-zero-point", !o.files.b_zero_point.empty(), "except on integers"},
  });
  return out;
}

bool computes_epilogue(const GemmOptions& o, const GemmModel& g) {
  const bool converts = is_integer(g.types.d) && !is_integer(g.epilogue.out);
  return g.epilogue.alpha != 1 || adds_in_epilogue(o, g) || has_scales(o) || converts;
}

void check_effects(const GemmOptions& o, const GemmModel& g) {
  if (is_integer(g.epilogue.out)) return;
  SumProgram program;
  walk_sum(g, g.k, {}, program);  // of a whole tile, if it is stream-K
  const Format sum = final_format(program, g);
  const Epilogue& e = g.epilogue;
  const Format computed = computes_epilogue(o, g) ? e.compute : e.sum.value_or(sum);
  const Format last = e.through.value_or(computed);
  const bool rounds = e.rounding != Rounding::ties_to_even;
  const std::string nothing_added = "where the epilogue adds neither C nor a bias";
  const bool both_scaled = !o.files.a_scale.empty() && !o.files.b_scale.empty();
  const bool any_scaled = !o.files.a_scale.empty() || !o.files.b_scale.empty();
  const bool adds_c = !o.c.empty() && !g.sum.c_first && e.beta != 0;
  const bool multiplies = e.alpha != 1 || has_scales(o);
  refuse_idle(std::array{
      IdleOption{"--beta", o.c.empty() && o.beta != 1, "without C"},
      IdleOption{"--c-first", o.c.empty() && o.c_first, "without C"},
      IdleOption{"--fused", !adds_in_epilogue(o, g) && !g.epilogue.sum_last, nothing_added},
      IdleOption{"--fused", e.bias_first && !adds_c && !e.sum_last, "with --bias-first"},
      IdleOption{"--promote-scales", g.sum.scaling != PromotionScaling{} && !any_scaled,
                 "without --a-scale or --b-scale"},
      IdleOption{"--promote-scales", g.sum.scaling != PromotionScaling{} && is_scaled(g.model),
                 "with an instruction that multiplies by scales itself"},
      IdleOption{"--scale-order", !both_scaled && e.scales != ScaleOrder::a_first,
                 "without --a-scale and --b-scale"},
      IdleOption{"--bias-first", e.bias_first && o.bias.empty(), "without --bias"},
      IdleOption{"--bias-first", e.bias_first && !multiplies && !adds_c,
                 "where nothing else multiplies or is added"},
      IdleOption{"--epilogue-format", !computes_epilogue(o, g) && g.epilogue.compute != g.types.d,
                 nothing_added + " and alpha is 1"},
      IdleOption{"--sum-format", e.sum && fits_in(sum, *e.sum), "which holds every sum"},
      IdleOption{"--out-through",
                 e.through && (fits_in(computed, *e.through) || (e.through == e.out && !rounds)),
                 "through which nothing is rounded otherwise"},
      IdleOption{"--out-rounding", rounds && fits_in(last, e.out),
                 "where D holds every number that is rounded to it"},
  });
}

void adopt_output(const GemmOptions& o, const std::string& d, GemmModel& model) {
  if (!o.out_format.empty() || is_integer(model.epilogue.out)) return;
  // Integers with a bias of integers may end as integers.
  const bool is_sum = is_integer(model.types.d) && !has_scales(o) && integer_format(d) == s32;
  model.epilogue.out = is_sum ? s32 : named_format(d).value_or(model.epilogue.out);
}

std::vector<InputPath> inputs_of(const GemmOptions& o) {
  std::vector<InputPath> out{{"A", file_of(o.files.a)},
                             {"B", file_of(o.files.b)},
                             {"C", file_of(o.c)},
                             {"--bias", file_of(o.bias)}};
  for (const FileOption& row : file_options) {
    const std::string& text = o.files.*row.value;
    if (row.kind == FileWord::word) continue;
    const bool is_number = row.kind == FileWord::file_or_number && scale_number(text);
    out.push_back({option_of(row), is_number ? std::string() : file_of(text)});
  }
  return out;
}

GemmOperands operands_of(const GemmOptions& o, GemmModel& model) {
  GemmFiles files = o.files;
  if (!o.c.empty()) files.c = o.c;
  if (!o.bias.empty()) files.bias = o.bias;
  GemmOperands out = read_operands(files, model);
  const bool of_lines = !out.a_scale.empty() || !out.b_scale.empty();
  const bool of_both = !out.a_scale.empty() && !out.b_scale.empty();
  const GemmFiles usual{};
  const std::string no_blocks = "without scales of blocks";
  refuse_idle(std::array{
      IdleOption{"--alpha", of_lines && model.epilogue.alpha != 1,
                 "with scales, which take its place", "put it into one of them"},
      IdleOption{"--scale-order", out.runs.any() && !of_both && o.scale_order != "a-first",
                 "without a scale of all of A and one of B"},
      IdleOption{"--group-layout", !out.groups.any() && o.files.group_layout != usual.group_layout,
                 "without --groups"},
      IdleOption{"--scale-run", !out.runs.any() && o.files.scale_run != usual.scale_run, no_blocks},
      IdleOption{"--scale-layout", !out.runs.any() && o.files.scale_layout != usual.scale_layout,
                 no_blocks},
  });
  return out;
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
