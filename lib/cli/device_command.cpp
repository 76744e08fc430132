// SPDX-License-Identifier: Apache-2.0
//
// binade device: the GPU there is, or why there is none; on request its scalar instructions and bulk
// kernels against the emulator, and how fast they are.
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

/// Something must have been compared; approximations alone are not.
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

/// What was asked of a device and came out of it.
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
  scalar_instructions_with(a.instructions);  // a wrong name is told with or without a GPU
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
  const Option check = app.add_flag(
      "--check", a->check, "run its scalar instructions and the emulator on the same operands");
  app.add_option("--instruction", a->instructions,
                 "only those with this in their name, as cvt.rn or f16x2; may be repeated")
      .needs(check);
  app.add_option("--cases", a->cases,
                 "at most, of each; without it all, or 10^10 and 10^9 where there are too many")
      .needs(check)
      .positive();
  app.add_option("--seed", a->seed, "of the cases of those that have too many")
      .needs(check)
      .capture_default_str();
  app.add_flag("--check-kernels", a->kernels,
               "run its bulk kernels (quantize, range counts, products) and their definitions");
  app.add_flag("--rates", a->rates, "measure them, each beside the limit measured in the same run");
  add_device_option(app, a->device);
  app.add_flag("--json", a->json, "as JSON");
  app.footer(
      "\nWhat needs a GPU is in binade_cuda.so beside the program; without that file there is "
      "none.\n"
      "Exit status: 0 equal, 1 different, 2 a fault, 77 no GPU.");
  app.callback([a, &status] { status = run_device(*a); });
}

}  // namespace

const Command device_command{
    "device", "the GPU there is (status 77: none), and its instructions against the emulator",
    &define_device};

}  // namespace binade
