// SPDX-License-Identifier: Apache-2.0
//
// Runs every Tensor Core instruction of a GPU on whole tiles, compares each element with the
// emulator on the GPU, and reports the results as text and JSON.
#include "lib/cli/validate_crossed.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "lib/cli/command.h"
#include "lib/cli/device_option.h"
#include "lib/text/json_text.h"
#include "lib/validate/crossed_answer.h"

namespace binade {
namespace {

struct ValidateCrossedArguments {
  CrossedWhat what;
  DeviceOption device;
  bool json = false;
};

int run_validate_crossed(const ValidateCrossedArguments& a) {
  const OpenedDevice opened = open_chosen_device(a.device);
  if (!opened.device) return no_hardware("binade.validate_crossed/1", opened.why_none, a.json);
  nlohmann::ordered_json checks = nlohmann::ordered_json::array();
  std::string why_skipped;
  const auto take = [&](const CrossedCheck& check) {
    if (!check.skipped.empty() && why_skipped.empty()) why_skipped = check.skipped;
    if (a.json) {
      checks.push_back(crossed_check_json(check));
    } else {
      fmt::print("{}", crossed_check_text(check));
      std::fflush(stdout);
    }
  };
  const CrossTally total = check_crossed(*opened.device, a.what, take);
  const std::string& device = opened.device->info().name;
  if (a.json) {
    fmt::print("{}\n", json_text(crossed_json(device, a.what, total, checks), 2));
  } else {
    fmt::print("{}", crossed_text(device, total));
  }
  if (total.dots == 0) {
    fmt::print(stderr, "binade: nothing was compared: {}\n", why_skipped);
    return exit_no_hardware;
  }
  return total.different == 0 ? 0 : exit_different;
}

}  // namespace

void define_validate_crossed(App validate, int& status) {
  const auto a = std::make_shared<ValidateCrossedArguments>();
  const App crossed = validate.add_subcommand(
      "crossed", "whole tiles of generated rows and columns, computed and compared on the GPU",
      "Runs every Tensor Core instruction of this machine's GPU on whole tiles, in which each "
      "generated row of a meets each generated column of b, and compares every element with the "
      "emulator, on the GPU itself. Prints for each instruction how many dot products were "
      "compared and how many differ.");
  crossed
      .add_option("--dots", a->what.dots,
                  "how many dot products to compare at least, of all instructions together")
      .positive()
      .capture_default_str();
  crossed.add_option(
      "--only", a->what.words,
      "compare only instructions whose name contains this text, such as wgmma (default: all)");
  crossed
      .add_option("--seed", a->what.seed,
                  "seed of the operands, and of which rows meet which columns")
      .capture_default_str();
  add_device_option(crossed, a->device);
  crossed.add_flag("--json", a->json, "print JSON instead of text");
  crossed.footer(
      "\nExit status: 0 all are equal, 1 some differ, 2 an argument is wrong, 77 there is no "
      "GPU.\n\n"
      "Example:\n"
      "  binade validate crossed --dots 100000000 --only mma.m16n8k16");
  crossed.callback([a, &status] { status = run_validate_crossed(*a); });
}

}  // namespace binade
