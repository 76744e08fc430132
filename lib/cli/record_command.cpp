// SPDX-License-Identifier: Apache-2.0
//
// `binade record`: what the GPU gives, kept in files, so that machines without one can hold the emulator
// against it.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <filesystem>
#include <memory>
#include <string>

#include "lib/cli/command.h"
#include "lib/cli/device_option.h"
#include "lib/record/record_dots.h"
#include "lib/tensor/error.h"

namespace binade {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::string folder;
  RecordWhat what;
  DeviceOption device;
};

struct Totals {
  std::uint64_t files = 0, skipped = 0, rows = 0, bytes = 0;
  std::string why_skipped;  ///< the first

  void take(const RecordedFile& file) {
    if (!file.skipped.empty()) {
      if (skipped++ == 0) why_skipped = file.skipped;
      fmt::print("{:<48}skipped: {}\n", file.instruction, file.skipped);
      return;
    }
    files += 1;
    rows += file.rows;
    bytes += fs::file_size(file.path);
    fmt::print("{:<48}{:>8} rows\n", file.instruction, file.rows);
    std::fflush(stdout);
  }
};

/// The folder, made where it is not there.
std::string folder_for(const std::string& parent, const char* name) {
  const fs::path folder = fs::path(parent) / name;
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) throw error_in(folder.string(), failed.message(), "choose another --out");
  return folder.string();
}

int run(Arguments a) {
  const OpenedDevice opened = open_chosen_device(a.device);
  if (!opened.device) {
    fmt::print("{}\n", opened.why_none);
    return exit_no_hardware;
  }
  a.what.date = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
  Totals totals;
  const auto take = [&totals](const RecordedFile& file) { totals.take(file); };
  a.what.folder = folder_for(a.folder, "dots");
  record_dots(*opened.device, a.what, take);
  if (totals.files == 0 && totals.skipped == 0) {
    throw Error("no instruction of " + opened.device->info().name + " has '" +
                printable(a.what.words) + "' in its name; see binade architectures");
  }
  fmt::print("{}: {} instructions, {} rows, {:.1f} MB in {}{}\n", opened.device->info().name,
             totals.files, totals.rows, static_cast<double>(totals.bytes) / 1e6, a.folder,
             totals.skipped == 0 ? "" : fmt::format("; {} skipped", totals.skipped));
  if (totals.files != 0) return 0;
  fmt::print(stderr, "binade: nothing was recorded: {}\n", totals.why_skipped);
  return exit_no_hardware;
}

void define(CLI::App& app, int& status) {
  const auto a = std::make_shared<Arguments>();
  app.add_option("-o,--out", a->folder, "the folder for the files, made if need be")->required();
  app.add_option("--only", a->what.words, "instructions with this in their name");
  app.add_option("--seed", a->what.seed, "of the operands")->capture_default_str();
  add_device_option(app, a->device);
  app.footer(
      "\nbinade validate --replay FOLDER compares them with the emulator, on any machine.\n"
      "Exit status: 0 recorded, 2 files that cannot be written, 77 no GPU.");
  app.callback([a, &status] { status = run(*a); });
}

}  // namespace

const Command record_command{"record", "keep what the GPU's instructions give (status 77: no GPU)",
                             &define};

}  // namespace binade
