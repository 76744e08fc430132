// SPDX-License-Identifier: Apache-2.0
//
// `binade explain`: one sum of a Tensor Core step by step: which term was cut where, by which rule,
// and what error that made.
#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/cli/command.h"
#include "lib/cli/dot_options.h"
#include "lib/cli/gemm_options.h"
#include "lib/cli/progress.h"
#include "lib/cli/rule_options.h"
#include "lib/explain/dot_terms.h"
#include "lib/explain/explained.h"
#include "lib/explain/explanation_json.h"
#include "lib/explain/explanation_svg.h"
#include "lib/explain/explanation_text.h"
#include "lib/io/atomic_file.h"
#include "lib/io/opened_tensor.h"
#include "lib/io/output_paths.h"
#include "lib/text/error.h"
#include "lib/text/idle_option.h"
#include "lib/text/json_text.h"

namespace binade {
namespace {

void add_output(App app, ExplainOutput& output) {
  const char* const group = "What is shown";
  app.add_flag(
         "--all", output.all,
         "show every block of the sum in full (default: a long sum has one line for each block)")
      .group(group);
  app.add_option("--block", output.block, "show this block in full, counted from 1").group(group);
  app.add_output(
         "--svg", output.svg,
         "draw the block that --block names, or else the one that loses most, into this SVG file")
      .group(group);
  app.add_flag("--json", output.json, "print JSON instead of text, every number exact")
      .group(group);
}

void write(const Explanation& x, const ExplainOutput& output) {
  if (output.block) block_of(x, *output.block);
  if (!output.svg.empty()) {
    write_file(output.svg,
               explanation_svg(x, output.block ? *output.block : block_that_loses_most(x)));
  }
  if (output.json) {
    fmt::print("{}\n", json_text(explanation_json(x), 2));
  } else {
    fmt::print("{}", explanation_text(x, {wants_color(STDOUT_FILENO), output.all, output.block}));
  }
}

/// Throws Error if --all or --block asks for a block in full where every block is told in full
/// anyway.
void check_output(const ExplainOutput& output) {
  const bool block_in_text = output.block && output.svg.empty();
  refuse_idle(std::array{
      IdleOption{"--all", output.all && output.json, "with --json, which has every block"},
      IdleOption{"--block", block_in_text && output.json, "with --json, which has every block"},
      IdleOption{"--block", block_in_text && output.all, "with --all, which shows every block"},
  });
}

void explain_one(const OneDot& options) {
  check_output(options.output);
  const DotFiles& files = options.dots.files;
  const auto scale_file = [&options](const std::string& text) {  // beside --terms it is numbers
    return options.terms.empty() ? text : std::string();
  };
  prepare_outputs(std::array{InputPath{"--a", files.a}, InputPath{"--b", files.b},
                             InputPath{"--c", options.dots.c}, InputPath{"--d", files.d},
                             InputPath{"--a-scale", scale_file(files.a_scale)},
                             InputPath{"--b-scale", scale_file(files.b_scale)},
                             InputPath{"--recording", options.recording}},
                  std::array{OutputPath{"--svg", options.output.svg}});
  write(explained(options), options.output);
}

void define_explain_dots(App app) {
  const auto options = std::make_shared<OneDot>();
  const App dots = app.add_subcommand(
      "dots", "one instruction: d = c + sum of a·b",
      "Explains one dot product, d = c + sum of a·b, of one instruction: how its terms are "
      "aligned, which of their bits are cut, how the sum is rounded, and how far the result is "
      "from the exact sum. The operands are a row of arrays (--a, --b), a row of a recording "
      "(--recording), or typed (--terms).");
  add_dot_options(dots, options->dots);
  dots.add_option("--recording", options->recording,
                  "take the operands from this recording (.safetensors), which `binade record` "
                  "writes. It names the instruction, unless --arch or --instruction names another "
                  "of the same types and K")
      .suggest_files();
  dots.add_option("--row", options->row,
                  "row of the arrays or of the recording to explain, from 0");
  dots.add_option(
      "--terms", options->terms,
      "take the operands from this list of products, whose spelling is explained below");
  dots.add_option("--addend", options->addend,
                  "the operand c beside --terms, spelled as a number there (default: +0)")
      .needs("--terms");
  add_output(dots, options->output);
  add_rule_options(dots, options->rules);
  dots.footer(
      "\n" + std::string(terms_help) +
      "\n\nExamples:\n"
      "  binade explain dots --arch sm_90 --instruction mma.m16n8k16.f16.f16.f16.f16 \\\n"
      "      --terms \"2^-11*2^-14, 2^-23*2^-23\"\n"
      "  binade explain dots --recording h200_fp16_fp32.safetensors --row 3\n"
      "  binade explain dots --recording v100_fp16_fp32.safetensors --row 3 --arch sm_90\n\n"
      "Exit status: 0 the sum was explained, 2 an argument or a file cannot be used.");
  dots.callback([options] { explain_one(*options); });
}

void explain_one(const OneElement& options) {
  GemmModel model = model_of(options.product).model;
  check_output(options.output);
  std::vector<InputPath> read = inputs_of(options.product);
  read.push_back({"--d", file_of(options.d)});
  prepare_outputs(read, std::array{OutputPath{"--svg", options.output.svg}});
  if (!options.d.empty()) adopt_output(options.product, options.d, model);
  check_effects(options.product, model);
  write(explained(options), options.output);
}

void define_explained_gemm(App app) {
  const auto options = std::make_shared<OneElement>();
  const App gemm =
      app.add_subcommand("gemm", "one element of the product that binade gemm computes",
                         "Explains one element of the product that `binade gemm` computes with the "
                         "same arguments: every instruction that takes part in its sum, what each "
                         "cuts and rounds, and how far the result is from the exact sum.");
  add_gemm_options(gemm, options->product);
  gemm.add_option("--element", options->element,
                  "row and column in D of the element to explain, from 0")
      .expected(2)
      .required();
  gemm.add_option("--d", options->d,
                  "file of what the hardware gave, of shape (M, N), to compare the element with; "
                  "its dtype is the format of D unless --out-format names one")
      .suggest_files();
  add_output(gemm, options->output);
  gemm.footer(
      "\nExit status: 0 the element was explained, 2 an argument or a file cannot be used.\n\n"
      "Example:\n"
      "  binade explain gemm a.npy b.npy --arch sm_90 --instruction wgmma.m64n8k32.f32.e4m3.e4m3 "
      "\\\n      --promote-every 4 --element 3 5");
  gemm.callback([options] { explain_one(*options); });
}

void define_explain(App app, int& /*unused*/) {
  define_explain_dots(app);
  define_explained_gemm(app);
  app.require_subcommand(1, 1);
}

}  // namespace

const Command explain_command{"explain",
                              "explain one sum step by step: what was cut, by which rule",
                              "Explains one sum of a Tensor Core step by step: which bits of which "
                              "term were cut, by which rule, and what error that made.",
                              &define_explain, "[explain](lib/explain/README.md)"};

}  // namespace binade
