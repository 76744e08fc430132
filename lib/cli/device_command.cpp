// SPDX-License-Identifier: Apache-2.0
//
// binade device: the GPU there is, or why there is none; on request its conversions against the
// emulator.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "lib/cli/command.h"
#include "lib/record/device_report.h"

namespace binade {
namespace {

struct Arguments {
  bool check = false;
  bool json = false;
};

void show_progress(std::string_view instruction, double fraction) {
  fmt::print(stderr, "\r\x1b[K{:<28}{:3.0f} %", instruction, 100 * fraction);
  if (fraction == 1) fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
}

int run(const Arguments& a) {
  const OpenedDevice opened = open_device();
  const bool check = a.check && opened.device != nullptr;
  if (!a.json) fmt::print("{}", device_text(opened));
  std::vector<ConversionCheck> checks;
  if (check) {
    const bool terminal = isatty(STDERR_FILENO) != 0;
    checks = opened.device->check_conversions(terminal ? CheckProgress(show_progress) : nullptr);
    if (!a.json) fmt::print("\n{}", checks_text(checks));
  }
  if (a.json) fmt::print("{}", device_json(opened, checks));
  if (!opened.device) return exit_no_hardware;
  return check && !all_equal(checks) ? exit_different : 0;
}

void define(CLI::App& app, int& status) {
  const auto a = std::make_shared<Arguments>();
  app.add_flag("--check", a->check,
               "run every conversion instruction on all 2^32 floats, against the emulator");
  app.add_flag("--json", a->json, "as JSON");
  app.callback([a, &status] { status = run(*a); });
}

}  // namespace

const Command device_command{
    "device", "the GPU there is (status 77: none), and its instructions against the emulator",
    &define};

}  // namespace binade
