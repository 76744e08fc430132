// SPDX-License-Identifier: Apache-2.0
//
// `binade gemm`: a whole matrix product as a kernel of an architecture's instructions gives it.
#include <fmt/format.h>

#include <memory>

#include "lib/cli/command.h"
#include "lib/cli/gemm_options.h"
#include "lib/cli/progress.h"
#include "lib/gemm/gemm.h"
#include "lib/tensor/error.h"

namespace binade {
namespace {

struct Options {
  GemmOptions product;
  std::string out;
};

void run(const Options& options) {
  if (!options.out.empty()) check_result_name(options.out);
  NamedGemm named = model_of(options.product);
  const GemmOperands operands = operands_of(options.product, named.model);
  std::vector<std::uint64_t> d;
  {
    ProgressLine line("GMAC");
    const std::size_t row = operands.n * operands.k;
    d = gemm(named.model, operands,
             [&](std::size_t rows) { line.update(rows * row, operands.m * row); });
  }
  const std::string order = options_of(named.model);
  write_result(options.out, named.model, operands, d,
               {{"binade.instruction", headline(named)}, {"binade.options", order}});
  fmt::print("{}: {} × {} × {}, {}\n", headline(named), operands.m, operands.n, operands.k,
             order_text(named.model));
}

void define(CLI::App& app, int&) {
  const auto options = std::make_shared<Options>();
  add_gemm_options(app, options->product);
  app.add_option("-o,--out", options->out, "D, (M, N): .npy or .safetensors")->required();
  app.footer(
      "\nK is padded with zeros to whole instructions, as kernels do."
      "\n  binade gemm a.npy b.npy -o d.npy --arch sm_90 --instruction "
      "wgmma.m64n8k32.f32.e4m3.e4m3 "
      "--promote-every 4");
  app.callback([options] { run(*options); });
}

}  // namespace

const Command gemm_command{"gemm", "multiply matrices as a Tensor Core kernel does", &define};

}  // namespace binade
