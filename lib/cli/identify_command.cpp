// SPDX-License-Identifier: Apache-2.0
//
// `binade identify`: which instruction, order and epilogue explain every bit of what a kernel gave.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/cli/command.h"
#include "lib/cli/progress.h"
#include "lib/identify/identified.h"
#include "lib/identify/propose.h"
#include "lib/identify/writers.h"
#include "lib/instruction/instruction_name.h"
#include "lib/io/opened_tensor.h"
#include "lib/io/output_paths.h"

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
    fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else {
    fmt::print("{}", identification_text(found, show));
    if (proposal) {
      fmt::print("{}", proposal_text(*proposal, o.propose));
    } else if (!o.propose.empty()) {
      fmt::print("nothing to propose: there are no two models to tell apart\n");
    }
  }
  return conclusion_of(found.result) == Conclusion::none ? exit_different : 0;
}

void define_identify(App app, int& status) {
  const auto options = std::make_shared<IdentifyOptions>();
  RunFiles& files = options->files;
  const auto file = [app](const char* name, std::vector<std::string>& list, const char* help) {
    return app.add_option(name, list, help).expected(1).take_all().allow_extra_args(false);
  };
  file("--a", files.a,
       "(M, K): .npy, .safetensors, .npz or torch's .pt; FILE:NAME where it holds several. Once "
       "for each run of "
       "the kernel, as the others")
      .required();
  file("--b", files.b, "(K, N); or rows for dots: A and B (rows, K), D (rows,)").required();
  file("--d", files.d, "(M, N): what the kernel gave").required();
  file("--c", files.c, "(M, N), if it was added");
  file("--bias", files.bias, "(N,), if there was one");
  app.add_flag("--transpose-a", files.transposed_a, "A is (K, M)");
  app.add_flag("--transpose-b", files.transposed_b, "B is (N, K)");
  app.add_option("--types", files.types,
                 "of d, a, b and c, as f32.bf16.bf16.f32, where files hold bare bits");
  app.add_option("--alpha", options->epilogue.alpha, "D = alpha·sum + beta·C + bias")
      .capture_default_str();
  app.add_option("--beta", options->epilogue.beta, "").capture_default_str();
  const Option architectures =
      app.add_option("--arch", options->architectures,
                     "a GPU's: of Tensor Cores those of " + architecture_range() +
                         " alone, before chains; sm_90,sm_100")
          .delimiter(',');
  const Option chains = app.add_flag("--chains", options->chains,
                                     "chains of rounded operations alone, no Tensor Cores");
  app.add_flag("--cpu", options->cpu, "a CPU's: chains alone, binary32 operands not as tf32")
      .excludes(architectures)
      .excludes(chains);
  chains.excludes(architectures);
  app.add_option("--show", options->show, "how many models, and how many of the rejected, to show")
      .capture_default_str();
  app.add_flag("--all", options->all, "show every model, each with its first contradiction");
  app.add_output("--propose", options->propose,
                 "write inputs (.npz) on which the models that explain every bit differ");
  app.add_option("--seed", options->seed, "of the proposed inputs").capture_default_str();
  app.add_flag("--json", options->json, "as JSON");
  app.footer(
      "\nOperands of binary32 are also tried as tf32, and where nothing explains D, rounded to it "
      "as cuBLAS does. "
      "Every element of D is compared bit for bit. "
      "Of models that "
      "are\nequally simple, chains come first, unless --arch or bits that look like a GPU's say "
      "that one was at work."
      "\nExit status: 0 some model explains every bit, 1 none does, 2 files that do not fit.");
  app.callback([&status, options] { status = run_identify(*options); });
}

}  // namespace

const Command identify_command{"identify", "find the models that explain a kernel's bits",
                               &define_identify};

}  // namespace binade
