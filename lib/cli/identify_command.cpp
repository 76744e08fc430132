// SPDX-License-Identifier: Apache-2.0
//
// `binade identify`: searches the models (instruction, order and epilogue) that give every bit of
// what a kernel gave.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/block/scale_layout.h"
#include "lib/cli/command.h"
#include "lib/cli/gemm_options.h"
#include "lib/cli/progress.h"
#include "lib/cli/suggestions.h"
#include "lib/identify/identified.h"
#include "lib/identify/json.h"
#include "lib/identify/propose.h"
#include "lib/identify/text.h"
#include "lib/instruction/instruction_name.h"
#include "lib/io/opened_tensor.h"
#include "lib/io/output_paths.h"
#include "lib/text/json_text.h"

namespace binade {
namespace {

std::vector<InputPath> inputs_of(const RunFiles& files) {
  std::vector<InputPath> out;
  const auto add = [&out](const char* name, const std::vector<std::string>& list) {
    for (const std::string& where : list) out.push_back({name, file_of(where)});
  };
  add("--a", files.a);
  add("--b", files.b);
  add("--c", files.c);
  add("--bias", files.bias);
  for (std::size_t row = 0; row < file_options.size(); ++row) {
    for (const std::string& text : files.beside[row]) {
      const bool is_number =
          file_options[row].kind == FileWord::file_or_number && scale_number(text);
      if (!is_number) out.push_back({option_of(file_options[row]), file_of(text)});
    }
  }
  add("--d", files.d);
  return out;
}

int run_identify(const IdentifyOptions& o) {
  check(o);
  prepare_outputs(inputs_of(o.files), std::array{OutputPath{"--propose", o.propose}});
  const Identification found = identified(o, instruction_progress());
  std::optional<Proposal> proposal;
  if (!o.propose.empty() && conclusion_of(found.result) == Conclusion::several) {
    proposal = propose(found, o.seed);
    write_proposal(o.propose, *proposal, found.types, o.files);
  }
  const std::size_t show = shown(o);
  if (o.json) {
    nlohmann::ordered_json out = identification_json(found, show);
    if (proposal) out["proposal"] = proposal_json(*proposal, o.propose);
    fmt::print("{}\n", json_text(out, 2));
  } else {
    fmt::print("{}", identification_text(found, show));
    if (proposal) {
      fmt::print("{}", proposal_text(*proposal, o.propose));
    } else if (!o.propose.empty()) {
      fmt::print("nothing to propose: there are no two models to tell apart\n");
    }
  }
  return found.result.explaining.empty() ? exit_different : 0;
}

void define_identify(App app, int& status) {
  const auto options = std::make_shared<IdentifyOptions>();
  RunFiles& files = options->files;
  const auto file = [app](const char* name, std::vector<std::string>& list,
                          const std::string& help) {
    return app.add_option(name, list, help)
        .suggest_files()
        .expected(1)
        .take_all()
        .allow_extra_args(false);
  };
  file("--a", files.a,
       matrix_a_help() +
           ". With several runs of the kernel this option and those below are repeated, once for "
           "each run")
      .required();
  file("--b", files.b,
       "file of the matrix B, of shape (K, N). If A and B are both of shape (rows, K) and D is of "
       "shape (rows,), D holds the dot products of their rows")
      .required();
  file("--d", files.d, "file of what the kernel gave, of shape (M, N)").required();
  file("--c", files.c, "file of the matrix C, of shape (M, N), if the kernel added one");
  file("--bias", files.bias, "file of the bias, of shape (N,), if the kernel added one");
  for (std::size_t row = 0; row < file_options.size(); ++row) {
    const FileOption& option = file_options[row];
    if (option.kind == FileWord::word) {
      const Option word = app.add_option(option_of(option), files.shared.*option.value,
                                         std::string(option.of_kernel));
      if (!(GemmFiles{}.*option.value).empty()) word.suggest(option.words).capture_default_str();
    } else {
      file(option_of(option).c_str(), files.beside[row], std::string(option.of_kernel));
    }
  }
  app.add_flag("--transpose-a", files.shared.transposed_a,
               "the file of A holds its transpose, (K, M)");
  app.add_flag("--transpose-b", files.shared.transposed_b,
               "the file of B holds its transpose, (N, K)");
  app.add_option("--types", files.types,
                 "types of D, A, B and C, such as f32.bf16.bf16.f32, if files hold bits as "
                 "unsigned integers (default: the dtypes of the files)");
  app.add_option("--alpha", options->epilogue.alpha,
                 "factor of the sum in D = alpha·sum + beta·C + bias, as the kernel was called")
      .capture_default_str();
  app.add_option("--beta", options->epilogue.beta, "factor of C, as the kernel was called")
      .capture_default_str();
  const Option architectures =
      app.add_option("--arch", options->architectures,
                     "the kernel ran on a GPU of one of these architectures (" +
                         architecture_range() +
                         "), such as sm_90 or sm_90,sm_100: only their Tensor Core instructions "
                         "are tried, and are listed before chains")
          .suggest(architecture_words)
          .delimiter(',');
  const Option chains = app.add_flag(
      "--chains", options->chains,
      "try only chains of operations that round each time, no Tensor Core instructions");
  app.add_flag("--cpu", options->cpu,
               "the kernel ran on a CPU: try only chains, and take no binary32 operand as tf32")
      .excludes(architectures)
      .excludes(chains);
  chains.excludes(architectures);
  app.add_option(
         "--show", options->show,
         "how many of the models that explain every bit to show, and as many of those that do not")
      .capture_default_str();
  app.add_flag("--all", options->all,
               "show every model that was tried, and where it does not explain D the first element "
               "that differs");
  app.add_output("--propose", options->propose,
                 "write operands to this file (.npz) on which the models that explain every bit "
                 "give different results: run the kernel on them, and identify both runs together");
  app.add_option("--seed", options->seed, "seed of the operands that --propose writes")
      .capture_default_str();
  app.add_option("--seconds", options->seconds,
                 "end the search after so many seconds, with what is known by then: models that "
                 "agree so far, and what was not tried (default: when all models are tried and, if "
                 "none explains every bit, mistakes of kernels for 8 seconds)")
      .positive();
  app.add_flag("--json", options->json, "print JSON instead of text");
  app.footer(
      "\nEvery element of D is compared bit for bit. Operands of binary32 are also tried as tf32, "
      "and, if then nothing\nexplains D, rounded to tf32 as cuBLAS does (ties to even) and as "
      "CUTLASS does (ties away). Among models that are "
      "equally simple, chains come first, unless --arch\nor the bits of D show that a Tensor Core "
      "was at work.\n\n"
      "Exit status: 0 a model explains every bit, 1 none does, 2 an argument or a file cannot be "
      "used.\n\n"
      "Examples:\n"
      "  binade identify --a a.npy --b b.npy --d d.npy --arch sm_90\n"
      "  binade identify --a a.npy --b b.npy --d d.npy --propose next.npz");
  app.callback([&status, options] { status = run_identify(*options); });
}

}  // namespace

const Command identify_command{"identify", "find the models that explain a kernel's bits",
                               "Searches for the models (instruction, order of the sum, epilogue) "
                               "that give every bit of what a kernel of matrix products gave, and "
                               "prints them, the simplest first, as options of `binade gemm`.",
                               &define_identify, "[identify](lib/identify/README.md)"};

}  // namespace binade
