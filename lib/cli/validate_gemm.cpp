// SPDX-License-Identifier: Apache-2.0
//
// Declares the subcommand `gemm` of `binade validate`, and prints its answer.
#include "lib/cli/validate_gemm.h"

#include <fmt/format.h>

#include <memory>

#include <nlohmann/json.hpp>

#include "lib/cli/command.h"
#include "lib/cli/gemm_options.h"
#include "lib/cli/progress.h"
#include "lib/text/json_text.h"
#include "lib/validate/gemm_answer.h"

namespace binade {

void define_validate_gemm(App app, int& status) {
  const auto options = std::make_shared<ValidateGemmOptions>();
  const App gemm =
      app.add_subcommand("gemm", "a kernel's whole product: D = alpha·A·B + beta·C",
                         "Compares the result D of a kernel of matrix products with the product "
                         "that `binade gemm` computes with the same arguments, bit for bit. Prints "
                         "how many elements are equal and, if some differ, where they lie, how far "
                         "they are off, and whether they are within the error bounds.");
  add_gemm_options(gemm, options->product);
  gemm.add_option("--d", options->d,
                  "file of what the kernel gave, of shape (M, N); its dtype is the format of D "
                  "unless --out-format names one")
      .suggest_files()
      .required();
  gemm.add_option("--show", options->show, "how many of the elements that differ to show")
      .capture_default_str();
  gemm.add_flag("--json", options->json, "print JSON instead of text");
  gemm.footer(
      "\nExit status: 0 all elements are equal, 1 some differ or, behind an activation such as "
      "gelu, more than a tenth are not decided, 2 an argument or a file cannot be "
      "used.\n\n"
      "Example:\n"
      "  binade validate gemm a.npy b.npy --d d.npy --arch sm_90 --instruction "
      "wgmma.m64n8k32.f32.e4m3.e4m3 \\\n      --promote-every 4");
  gemm.callback([&status, options] {
    GemmModel model = model_of(options->product).model;
    adopt_output(options->product, options->d, model);
    check_effects(options->product, model);
    const GemmValidation x = [&] {
      ProgressLine line("GMAC");
      return validated(*options,
                       [&](std::uint64_t done, std::uint64_t all) { line.update(done, all); });
    }();
    if (options->json) {
      fmt::print("{}\n", json_text(gemm_validation_json(x, *options), 2));
    } else {
      fmt::print("{}", gemm_validation_text(x, *options));
    }
    status = is_equal(x.check) ? 0 : exit_different;
  });
}

}  // namespace binade
