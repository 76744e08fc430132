// SPDX-License-Identifier: Apache-2.0
//
// `binade gemm`: computes a whole matrix product, bit for bit as a kernel of an architecture's
// instructions does.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <memory>

#include "lib/cli/command.h"
#include "lib/cli/device_option.h"
#include "lib/cli/gemm_options.h"
#include "lib/cli/progress.h"
#include "lib/gemm/account_html.h"
#include "lib/gemm/account_text.h"
#include "lib/gemm/device_gemm.h"
#include "lib/gemm/gemm.h"
#include "lib/io/atomic_file.h"
#include "lib/io/output_paths.h"
#include "lib/text/error.h"
#include "lib/text/json_text.h"

namespace binade {
namespace {

struct GemmArguments {
  GemmOptions product;
  std::string out, account;
  DeviceOption device;
};

void check_names(const GemmArguments& options) {
  if (options.out.empty() && options.account.empty()) {
    throw Error("nothing to write; give -o D.npy, --account REPORT.html, or both");
  }
  if (!options.out.empty()) check_result_name(options.out);
  if (options.out.empty() && options.device.asked()) {
    throw Error("a device makes D alone; give -o D.npy, or leave --device and --emulated out");
  }
  if (!options.account.empty()) check_has_account(options.product);
  const std::string& page = options.account;
  if (!page.empty() && !page.ends_with(".html") && !page.ends_with(".json")) {
    throw error_in(page, "cannot tell what to write", "name it .html or .json");
  }
}

/// Prints the account of losses, that is which error each rule made, and writes it as a page or as
/// JSON.
void write_account(const GemmArguments& options, const NamedGemm& named,
                   const GemmOperands& operands) {
  GemmAccount result;
  {
    ProgressLine line("GMAC");
    const std::size_t row = operands.n * operands.k;
    result = account(named.model, operands,
                     [&](std::size_t rows) { line.update(rows * row, operands.m * row); });
  }
  const GemmTitle title = title_of(options.product, named);
  const nlohmann::ordered_json json = to_json(result, title);
  const bool is_page = options.account.ends_with(".html");
  write_file(options.account, is_page ? account_html(json) : json_text(json, 1) + "\n");
  fmt::print("{}", account_text(result, title));
}

/// Computes D on the device, or on this machine if `device` is null.
DeviceGemm gemm_here_or_there(Device* device, const NamedGemm& named,
                              const GemmOperands& operands) {
  ProgressLine line("GMAC");
  const std::size_t row = operands.n * operands.k;
  const auto progress = [&](std::size_t rows) { line.update(rows * row, operands.m * row); };
  if (device == nullptr) return {.d = gemm(named.model, operands, progress)};
  return gemm_on_device(*device, named, operands, progress);
}

int run_gemm(const GemmArguments& options) {
  check_names(options);
  NamedGemm named = model_of(options.product);
  check_effects(options.product, named.model);
  OpenedDevice opened;
  if (options.device.asked()) {
    check_order_for_device(named.model);
    opened = open_chosen_device(options.device);
    if (!opened.device) return no_hardware("", opened.why_none, false);
  }
  prepare_outputs(inputs_of(options.product), std::array{OutputPath{"-o", options.out},
                                                         OutputPath{"--account", options.account}});
  const GemmOperands operands = operands_of(options.product, named.model);
  if (!options.out.empty()) {
    const DeviceGemm made = gemm_here_or_there(opened.device.get(), named, operands);
    write_result(
        options.out, named.model, operands, made.d,
        {{"binade.instruction", headline(named)}, {"binade.options", options_of(named.model)}});
    fmt::print("{}: {} × {} × {}, {}\n", headline(named), operands.m, operands.n, operands.k,
               order_text(named.model));
    if (opened.device) {
      fmt::print("sums on {}: by {}\n", opened.device->info().name,
                 made.way == ProductWay::instruction ? named.instruction + " itself"
                                                     : "the emulator's arithmetic");
    }
  }
  if (!options.account.empty()) write_account(options, named, operands);
  return 0;
}

void define_gemm(App app, int& status) {
  const auto options = std::make_shared<GemmArguments>();
  add_gemm_options(app, options->product);
  app.add_output("-o,--out", options->out,
                 "file of the result D, of shape (M, N): .npy or .safetensors");
  app.add_output("--account", options->account,
                 "file (.html or .json) of the account of losses: which error each rule of the "
                 "Tensor Core made, by position in K. It is also printed as text");
  add_on_device_options(
      app, options->device,
      "it computes the sums, by the instruction itself if the GPU has it and binade has a kernel "
      "of it, else by the emulator's arithmetic. The order of the sum must be the plain one");
  app.footer(
      "\nK is padded with zeros to whole instructions, as kernels do.\n\n"
      "Exit status: 0 the files were written, 2 an argument or a file cannot be used, 77 there is "
      "no GPU (--device).\n\n"
      "Examples:\n"
      "  binade gemm a.npy b.npy -o d.npy --arch sm_80 --instruction mma.m16n8k16.f32.f16.f16.f32\n"
      "  binade gemm a.npy b.npy -o d.npy --arch sm_90 --instruction wgmma.m64n8k32.f32.e4m3.e4m3 "
      "\\\n"
      "      --promote-every 4 --account losses.html");
  app.callback([options, &status] { status = run_gemm(*options); });
}

}  // namespace

const Command gemm_command{
    "gemm", "multiply matrices as a Tensor Core kernel does",
    "Computes D = alpha·A·B + beta·C + bias, every bit as a kernel does that uses the named "
    "instruction in the given order, and writes D to a file. It can also write an account of what "
    "each rule of the Tensor Core lost.",
    &define_gemm, "[products](lib/gemm/README.md#is-my-whole-product-right)"};

}  // namespace binade
