// SPDX-License-Identifier: Apache-2.0
//
// `binade explain`: one sum, step by step: which term was cut where, by which rule, and what it cost.
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
#include "lib/cli/dot_terms.h"
#include "lib/cli/gemm_options.h"
#include "lib/cli/literal.h"
#include "lib/cli/progress.h"
#include "lib/cli/rule_options.h"
#include "lib/explain/json.h"
#include "lib/explain/svg.h"
#include "lib/explain/text.h"
#include "lib/io/atomic_file.h"
#include "lib/io/opened_tensor.h"
#include "lib/io/output_paths.h"
#include "lib/record/instruction_name.h"
#include "lib/record/recording.h"
#include "lib/tensor/error.h"

namespace binade {
namespace {

/// How an explanation is written.
struct Output {
  bool json = false, all = false;
  std::optional<int> block;
  std::string svg;
};

void add_output(App app, Output& output) {
  const char* const group = "What is shown";
  app.add_flag("--all", output.all, "every block in full; without it long sums in a line a block")
      .group(group);
  app.add_option("--block", output.block, "this one in full, from 1").group(group);
  app.add_output("--svg", output.svg, "draw --block, or the one that loses most, into this file")
      .group(group);
  app.add_flag("--json", output.json, "as JSON, every number exact").group(group);
}

void write(const Explanation& x, const Output& output) {
  if (output.block) block_of(x, *output.block);
  if (!output.svg.empty()) {
    write_file(output.svg,
               explanation_svg(x, output.block ? *output.block : most_telling_block(x)));
  }
  if (output.json) {
    fmt::print("{}\n", json_of(x).dump(2));
  } else {
    fmt::print("{}", explanation_text(x, {wants_color(STDOUT_FILENO), output.all, output.block}));
  }
}

struct OneDot {
  DotOptions dots;
  std::string recording, terms, addend;
  std::optional<std::uint64_t> row;
  RuleChoice rules;
  Output output;
};

/// Operands of one instruction, and what a GPU made of them.
struct ExplainedOperands {
  Instruction instruction;
  std::vector<std::uint64_t> a, b;
  std::uint64_t c = 0;
  std::optional<std::uint64_t> d = {};
};

ExplainedOperands row_of(const Dots& dots, const Instruction& instruction, const OneDot& options,
                         const std::string& source) {
  if (!options.row) throw Error("--row is missing: which row is to be explained, from 0");
  const std::uint64_t row = *options.row;
  if (row >= dots.d.size()) {
    throw error_in(source, fmt::format("no row {}", row),
                   fmt::format("it has rows 0 to {}", dots.d.size() - 1));
  }
  const auto k = static_cast<std::ptrdiff_t>(instruction.k);
  const auto first = static_cast<std::ptrdiff_t>(row) * k;
  return {instruction,
          {dots.a.begin() + first, dots.a.begin() + first + k},
          {dots.b.begin() + first, dots.b.begin() + first + k},
          dots.c[row],
          dots.d[row]};
}

/// The recording's own instruction, or another of the same types and K on the same rows.
ExplainedOperands recorded(const OneDot& options) {
  const RecordingInfo info = read_recording_info(options.recording);
  const Instruction own =
      parse_instruction(info.instruction, parse_architecture(info.architecture));
  ExplainedOperands out =
      row_of(read_recording(options.recording, own), own, options, options.recording);
  const DotOptions& dots = options.dots;
  if (dots.architecture.empty() && dots.instruction.empty()) return out;
  const int sm = dots.architecture.empty() ? own.sm : parse_architecture(dots.architecture);
  out.instruction =
      parse_instruction(dots.instruction.empty() ? info.instruction : dots.instruction, sm);
  if (out.instruction.types != own.types || out.instruction.k != own.k) {
    throw error_in(options.recording, "rows of " + name_of(own),
                   name_of(out.instruction) + " takes other types or another K");
  }
  return out;
}

ExplainedOperands typed(const OneDot& options) {
  const Instruction x = instruction_of(options.dots);
  DotTerms terms = parse_terms(options.terms, x.types, x.k);
  const std::uint64_t c =
      options.addend.empty() ? std::uint64_t{0} : exact_encoding(options.addend, x.types.c);
  return {x, terms.a, terms.b, c};
}

ExplainedOperands operands_of(const OneDot& options) {
  const bool files = !options.dots.files.a.empty() || !options.dots.files.b.empty();
  const int ways =
      (options.recording.empty() ? 0 : 1) + (options.terms.empty() ? 0 : 1) + (files ? 1 : 0);
  if (ways != 1) {
    throw Error("give one of --terms, --recording, or --a and --b; see binade explain dots --help");
  }
  if (!options.recording.empty()) return recorded(options);
  if (options.dots.architecture.empty() || options.dots.instruction.empty()) {
    throw Error("--arch and --instruction say which rules to explain; see binade architectures");
  }
  if (!options.terms.empty()) return typed(options);
  if (options.dots.files.a.empty() || options.dots.files.b.empty()) {
    throw Error("--a and --b go together");
  }
  const Instruction instruction = instruction_of(options.dots);
  const DotFiles of_rows = files_of(options.dots);
  ExplainedOperands out = row_of(read_dots(of_rows, instruction), instruction, options, of_rows.a);
  if (of_rows.d.empty()) out.d.reset();
  return out;
}

void explain_one(const OneDot& options) {
  const DotFiles& files = options.dots.files;
  prepare_outputs(std::array{InputPath{"--a", files.a}, InputPath{"--b", files.b},
                             InputPath{"--c", options.dots.c}, InputPath{"--d", files.d},
                             InputPath{"--recording", options.recording}},
                  std::array{OutputPath{"--svg", options.output.svg}});
  ExplainedOperands x = operands_of(options);
  const Brief known = brief_of(x.instruction);
  x.instruction.model = ruled_model(x.instruction.model, name_of(x.instruction), options.rules);
  Explanation out = explain_dot(x.instruction, x.a, x.b, x.c);
  out.known = known;  // of the instruction, whatever rules were chosen
  if (x.d) out.hardware = Typed{*x.d, x.instruction.types.d};
  write(out, options.output);
}

void define_explain_dots(App app) {
  const auto options = std::make_shared<OneDot>();
  const App dots = app.add_subcommand("dots", "one instruction: d = c + sum of a·b");
  add_dot_options(dots, options->dots);
  dots.add_option("--recording", options->recording,
                  "a recording (.safetensors) instead of arrays; its own instruction, or that of "
                  "--arch and --instruction");
  dots.add_option("--row", options->row, "of the arrays or the recording, from 0");
  dots.add_option("--terms", options->terms, "products instead of arrays, see below");
  dots.add_option("--addend", options->addend, "c beside --terms; without it +0").needs("--terms");
  add_output(dots, options->output);
  add_rule_options(dots, options->rules);
  dots.footer("\n" + std::string(terms_help) +
              "\n\nExamples:\n"
              "  binade explain dots --arch sm_90 --instruction mma.m16n8k16.f16.f16.f16.f16 \\\n"
              "      --terms \"2^-11*2^-14, 2^-23*2^-23\"\n"
              "  binade explain dots --recording h200_fp16_fp32.safetensors --row 3\n"
              "  binade explain dots --recording v100_fp16_fp32.safetensors --row 3 --arch sm_90");
  dots.callback([options] { explain_one(*options); });
}

struct OneElement {
  GemmOptions product;
  std::vector<std::uint64_t> element;
  std::string d;
  Output output;
};

void explain_one(const OneElement& options) {
  NamedGemm named = model_of(options.product);
  std::vector<InputPath> read = inputs_of(options.product);
  read.push_back({"--d", file_of(options.d)});
  prepare_outputs(read, std::array{OutputPath{"--svg", options.output.svg}});
  if (!options.d.empty()) adopt_output(options.product, options.d, named.model);
  const GemmOperands operands = operands_of(options.product, named.model);
  const std::uint64_t i = options.element[0];
  const std::uint64_t j = options.element[1];
  if (i >= operands.m || j >= operands.n) {
    throw Error(fmt::format("--element {} {}: D is of {} rows and {} columns, counted from 0", i, j,
                            operands.m, operands.n));
  }
  Explanation out = explain_element(named, operands.element(i, j));
  if (!options.d.empty()) {
    const auto d = read_result(options.d, named.model, operands);
    out.hardware = Typed{d[i * operands.n + j], named.model.epilogue.out};
  }
  write(out, options.output);
}

void define_explained_gemm(App app) {
  const auto options = std::make_shared<OneElement>();
  const App gemm = app.add_subcommand("gemm", "one element of a whole product, as binade gemm");
  add_gemm_options(gemm, options->product);
  gemm.add_option("--element", options->element, "row and column of D, from 0")
      .expected(2)
      .required();
  gemm.add_option("--d", options->d, "(M, N): what the hardware gave");
  add_output(gemm, options->output);
  gemm.footer(
      "\n  binade explain gemm a.npy b.npy --arch sm_90 --instruction "
      "wgmma.m64n8k32.f32.e4m3.e4m3 \\\n      --promote-every 4 --element 3 5");
  gemm.callback([options] { explain_one(*options); });
}

void define_explain(App app, int& /*unused*/) {
  define_explain_dots(app);
  define_explained_gemm(app);
  app.require_subcommand(1, 1);
}

}  // namespace

const Command explain_command{"explain", "one sum step by step: what was cut, by which rule",
                              &define_explain};

}  // namespace binade
