// SPDX-License-Identifier: Apache-2.0
//
// The gpu suite's check of the conversion instructions, as a program that needs nothing but
// emulate/, lib/record and the CUDA runtime: check_conversions [--json FILE].
// Exit status: 0 equal, 1 different, 2 a fault, 77 no GPU.
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "lib/record/device_report.h"

namespace {

using binade::ConversionCheck;
using binade::OpenedDevice;

void show_progress(std::string_view instruction, double fraction) {
  std::fprintf(stderr, "\r%-28s %3d %%%s", std::string(instruction).c_str(),
               static_cast<int>(100 * fraction), fraction < 1 ? "" : "\r\033[K");
}

void write_json(const char* file, const OpenedDevice& opened,
                const std::vector<ConversionCheck>& checks) {
  std::ofstream out(file);
  out << binade::device_json(opened, checks) << std::flush;
  if (!out) throw binade::error_in(file, "cannot be written", "choose another place");
}

int run(const char* json_file) {
  const OpenedDevice opened = binade::open_device();
  std::fputs(binade::device_text(opened).c_str(), stdout);
  std::vector<ConversionCheck> checks;
  if (opened.device) {
    const bool terminal = isatty(STDERR_FILENO) == 1;
    checks = opened.device->check_conversions(terminal ? &show_progress : nullptr);
    std::fputs(binade::checks_text(checks).c_str(), stdout);
  }
  if (json_file != nullptr) write_json(json_file, opened, checks);
  return !opened.device ? 77 : binade::all_equal(checks) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const bool json = argc == 3 && std::string_view(argv[1]) == "--json";
  if (argc != 1 && !json) {
    std::fputs("usage: check_conversions [--json FILE]\n", stderr);
    return 2;
  }
  try {
    return run(json ? argv[2] : nullptr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "check_conversions: %s\n", error.what());
    return 2;
  }
}
