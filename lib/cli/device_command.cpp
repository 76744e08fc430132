// SPDX-License-Identifier: Apache-2.0
//
// `binade device`: which GPU this machine has, or why it has none; on request it compares the GPU's
// scalar instructions and binade's kernels on it with the emulator, and measures how fast the
// kernels are.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "lib/cli/command.h"
#include "lib/cli/device_option.h"
#include "lib/cli/progress.h"
#include "lib/device/kernel_report.h"
#include "lib/validate/device_report.h"
#include "lib/validate/scalar.h"

namespace binade {
namespace {

struct DeviceArguments {
  bool check = false;
  std::vector<std::string> instructions;
  std::uint64_t cases = 0;
  std::uint64_t seed = 1;
  bool kernels = false;
  bool rates = false;
  DeviceOption device;
  bool json = false;
};

std::vector<ScalarCheck> run_checks(Device& device, const DeviceArguments& a) {
  ScalarOptions options{.seed = a.seed};
  if (a.cases != 0) options.cases = a.cases;
  std::vector<ScalarCheck> out;
  for (const ScalarInstruction& x : scalar_instructions_with(a.instructions)) {
    out.push_back(check_scalar(device, x, options, instruction_progress()));
  }
  return out;
}

/// The exit status of these checks. If nothing was compared, since instructions that approximate
/// have no emulation, says so on standard error.
int status_of(std::span<const ScalarCheck> checks) {
  const auto compared = std::ranges::find_if(checks, &ScalarCheck::was_compared);
  if (compared != checks.end()) return all_equal(checks) ? 0 : exit_different;
  const auto skipped =
      std::ranges::find_if(checks, [](const ScalarCheck& x) { return !x.skipped.empty(); });
  const bool lacking = skipped != checks.end();
  fmt::print(stderr, "binade: nothing was compared: {}\n",
             lacking ? skipped->instruction.name + " " + skipped->skipped
                     : "approximations have no emulation");
  return lacking ? exit_no_hardware : exit_different;
}

/// The results of the requested checks and measurements, and the exit status.
struct DeviceOutcome {
  std::vector<ScalarCheck> checks;
  std::vector<KernelCheck> kernels;
  std::vector<KernelRate> rates;
  int status = 0;

  void add(int part) { status = std::max(status, part); }
};

DeviceOutcome outcome_of(Device& device, const DeviceArguments& a) {
  DeviceOutcome out;
  if (a.check) {
    out.checks = run_checks(device, a);
    out.add(status_of(out.checks));
    if (!a.json) fmt::print("\n{}", checks_text(out.checks));
  }
  if (a.kernels) {
    out.kernels = device.check_kernels();
    const bool some = !out.kernels.empty();
    out.add(!some ? exit_no_hardware : all_equal(out.kernels) ? 0 : exit_different);
    if (!a.json)
      fmt::print("\n{}", some ? kernel_checks_text(out.kernels) : "no bulk kernels here\n");
  }
  if (a.rates) {
    out.rates = device.measure_rates();
    const bool some = !out.rates.empty();
    out.add(some ? 0 : exit_no_hardware);
    if (!a.json)
      fmt::print("\n{}", some ? kernel_rates_text(out.rates) : "nothing to measure here\n");
  }
  return out;
}

int run_device(const DeviceArguments& a) {
  scalar_instructions_with(a.instructions);  // throws on a wrong name, with or without a GPU
  const OpenedDevice opened = open_chosen_device(a.device);
  if (!a.json) fmt::print("{}", device_text(opened));
  const DeviceOutcome outcome = opened.device ? outcome_of(*opened.device, a) : DeviceOutcome{};
  if (a.json) {
    fmt::print("{}", device_json(opened, outcome.checks, outcome.kernels, outcome.rates));
  }
  return opened.device ? outcome.status : exit_no_hardware;
}

void define_device(App app, int& status) {
  const auto a = std::make_shared<DeviceArguments>();
  const Option check = app.add_flag("--check", a->check,
                                    "run the scalar instructions of the GPU and the emulator on "
                                    "the same operands, and compare the results bit for bit");
  app.add_option("--instruction", a->instructions,
                 "check only instructions whose name contains this text, such as cvt.rn or f16x2; "
                 "may be repeated (default: all)")
      .needs(check);
  app.add_option("--cases", a->cases,
                 "check at most so many cases of each instruction (default: every case, or of "
                 "instructions with more than 2^32 cases 10^10 or 10^9)")
      .needs(check)
      .positive();
  app.add_option("--seed", a->seed,
                 "seed of the cases of instructions that have too many to check all")
      .needs(check)
      .capture_default_str();
  app.add_flag("--check-kernels", a->kernels,
               "run binade's kernels on the GPU (quantizing, range counts, products) and the "
               "definitions of what they compute, and compare the results byte for byte");
  app.add_flag("--rates", a->rates,
               "measure how fast these kernels are, each beside the limit of the GPU that is "
               "measured in the same run");
  add_device_option(app, a->device);
  app.add_flag("--json", a->json, "print JSON instead of text");
  app.footer(
      "\nThe code for GPUs is in the file binade_cuda.so beside the program; without that file no "
      "GPU is found.\n"
      "Exit status: 0 all results are equal, 1 some differ, 2 an argument is wrong or the GPU "
      "failed, 77 there is no GPU.\n\n"
      "Examples:\n"
      "  binade device\n"
      "  binade device --check --instruction cvt.rn\n"
      "  binade device --check-kernels --rates");
  app.callback([a, &status] { status = run_device(*a); });
}

}  // namespace

const Command device_command{
    "device", "show this machine's GPU, and compare its instructions with the emulator",
    "Prints which GPU this machine has, or why none can be used. With options it compares what the "
    "GPU computes with the emulator, bit for bit, and measures its speed.",
    &define_device, "[GPU](cuda/README.md)"};

}  // namespace binade
