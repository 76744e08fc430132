// SPDX-License-Identifier: Apache-2.0
//
// binade device: the GPU there is, or why there is none; on request its scalar instructions against
// the emulator, and recordings of them.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "lib/cli/command.h"
#include "lib/tensor/error.h"
#include "lib/validate/device_report.h"
#include "lib/validate/scalar.h"

namespace binade {
namespace {

struct Arguments {
  bool check = false;
  std::vector<std::string> instructions;
  std::uint64_t cases = 0;
  std::uint64_t seed = 1;
  std::string record;
  std::uint64_t samples = default_samples;
  bool json = false;
};

void show_progress(std::string_view instruction, double fraction) {
  fmt::print(stderr, "\r\x1b[K{:<32}{:3.0f} %", instruction, 100 * fraction);
  if (fraction == 1) fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
}

void record(Device& device, const ScalarCheck& check, const Arguments& a) {
  if (a.record.empty() || !check.skipped.empty()) return;
  const auto path = std::filesystem::path(a.record) / (check.instruction.name + ".safetensors");
  write_scalar_recording(
      path.string(), record_scalar(device, check.instruction, check.cases, check.tally, a.samples));
}

std::vector<ScalarCheck> run_checks(Device& device, const Arguments& a) {
  ScalarOptions options{.seed = a.seed};
  if (a.cases != 0) options.cases = a.cases;
  const bool terminal = isatty(STDERR_FILENO) != 0;
  const CheckProgress progress = terminal ? CheckProgress(show_progress) : nullptr;
  std::vector<ScalarCheck> out;
  for (const ScalarInstruction& x : scalar_instructions_with(a.instructions)) {
    out.push_back(check_scalar(device, x, options, progress));
    record(device, out.back(), a);
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

int run(const Arguments& a) {
  scalar_instructions_with(a.instructions);  // a wrong name is told with or without a GPU
  const OpenedDevice opened = open_device();
  if (!a.json) fmt::print("{}", device_text(opened));
  std::vector<ScalarCheck> checks;
  if (a.check && opened.device) {
    checks = run_checks(*opened.device, a);
    if (!a.json) fmt::print("\n{}", checks_text(checks));
  }
  if (a.json) fmt::print("{}", device_json(opened, checks));
  if (!opened.device) return exit_no_hardware;
  return a.check ? status_of(checks) : 0;
}

void define(CLI::App& app, int& status) {
  const auto a = std::make_shared<Arguments>();
  CLI::Option& check = *app.add_flag(
      "--check", a->check, "run its scalar instructions and the emulator on the same operands");
  app.add_option("--instruction", a->instructions,
                 "only those with this in their name, as cvt.rn or f16x2; may be repeated")
      ->needs(&check);
  app.add_option("--cases", a->cases,
                 "at most, of each; without it all, or 10^10 and 10^9 where there are too many")
      ->needs(&check)
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", a->seed, "of the cases of those that have too many")
      ->needs(&check)
      ->capture_default_str();
  CLI::Option& record =
      *app.add_option("--record", a->record, "a folder for recordings of what it gives")
           ->needs(&check)
           ->check(CLI::ExistingDirectory);
  app.add_option("--samples", a->samples, "results that a recording keeps, besides a hash of all")
      ->needs(&record)
      ->check(CLI::Range(std::uint64_t{1}, most_samples))
      ->capture_default_str();
  app.add_flag("--json", a->json, "as JSON");
  app.footer("\nExit status: 0 equal, 1 different, 2 a fault, 77 no GPU.");
  app.callback([a, &status] { status = run(*a); });
}

}  // namespace

const Command device_command{
    "device", "the GPU there is (status 77: none), and its instructions against the emulator",
    &define};

}  // namespace binade
