// SPDX-License-Identifier: Apache-2.0
//
// `binade record`: writes to files what the instructions of a GPU give, so that machines without a
// GPU can compare the emulator with it. Scalar instructions are compared while they are recorded,
// since every case goes into their hashes.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/cli/command.h"
#include "lib/cli/device_option.h"
#include "lib/cli/progress.h"
#include "lib/cli/rule_options.h"
#include "lib/device/kept_recording.h"
#include "lib/device/record_dots.h"
#include "lib/device/scalar_recording.h"
#include "lib/evidence/undecided_rows.h"
#include "lib/instruction/instruction_name.h"
#include "lib/io/output_paths.h"
#include "lib/io/synced.h"
#include "lib/text/error.h"
#include "lib/text/idle_option.h"
#include "lib/validate/device_report.h"
#include "lib/validate/scalar.h"

namespace binade {
namespace {

namespace fs = std::filesystem;

struct RecordArguments {
  std::string folder, words;
  std::string dots;     ///< "all", "open", or empty if --dots was not given
  bool scalar = false;  ///< --scalar; without --dots only scalar instructions are recorded
  RuleChoice rules;     ///< rules of the emulator in the GPU's place
  bool resume = false;
  std::uint64_t seed = 1, cases = 0, samples = default_samples;
  DeviceOption device;
};

struct Totals {
  std::uint64_t files = 0, kept = 0, skipped = 0, results = 0, bytes = 0;
  bool different = false;
  std::string why_skipped;  ///< why the first skipped instruction was skipped

  void skip(const std::string& instruction, const std::string& why) {
    if (skipped++ == 0) why_skipped = why;
    fmt::print("{:<47} skipped: {}\n", instruction, why);
  }
  void wrote(const std::string& path, std::uint64_t of_file) {
    files += 1;
    results += of_file;
    bytes += fs::file_size(path);
    std::fflush(stdout);
  }
};

/// The path of the folder `name` in `parent`, which is made if it is not there.
std::string folder_for(const std::string& parent, const char* name) {
  const fs::path folder = fs::path(parent) / name;
  if (const int failed = make_synced_folders(folder.string())) {
    throw error_in(folder.string(), std::strerror(failed), "choose another --out");
  }
  return folder.string();
}

void tell_damaged(const std::string& error) {
  fmt::print(stderr, "binade: not whole, so it is recorded anew: {}\n", error);
}

void run_dots(Device& device, const RecordArguments& a, const std::string& date, Totals& totals) {
  const RecordWhat what{
      folder_for(a.folder, "dots"), a.words, date, a.seed, a.resume, &tell_damaged};
  RowSource source;
  if (a.dots == "open") {
    source = [&a](const Instruction& x) {
      UndecidedRows open = undecided_rows(x, a.seed);
      const std::string note =
          open.unsettled.empty()
              ? ""
              : fmt::format("no row was found for {}", fmt::join(open.unsettled, ", "));
      return RowsToRecord{{}, std::move(open.rows), note};
    };
  }
  const auto sink = [&totals](const RecordedFile& file) {
    if (!file.skipped.empty()) return totals.skip(file.instruction, file.skipped);
    totals.kept += file.kept ? 1 : 0;
    if (file.kept) return;
    fmt::print("{:<47} {:>8} rows{}\n", file.instruction, file.rows,
               file.note.empty() ? "" : "; " + file.note);
    totals.wrote(file.path, file.rows);
  };
  record_dots(device, what, sink, source);
}

std::string tally_text(const ScalarCheck& check) {
  const ScalarTally& tally = check.tally;
  if (!check.was_compared()) return fmt::format("{} cases, recorded only", tally.cases);
  return fmt::format("{} cases, {} mismatches, {} NaNs in other bits", tally.cases,
                     tally.mismatches, tally.nan_differences);
}

/// A scalar instruction to record, and whether its recording is there already.
struct ScalarTask {
  ScalarInstruction instruction;
  std::string path;
  bool kept = false;
};

ScalarOptions scalar_options(const RecordArguments& a) {
  ScalarOptions options{.seed = a.seed};
  if (a.cases != 0) options.cases = a.cases;
  return options;
}

std::vector<ScalarTask> scalar_tasks(const Device& device, const RecordArguments& a) {
  const std::string folder = folder_for(a.folder, "scalar");
  std::vector<ScalarTask> out;
  for (const ScalarInstruction& x : scalar_instructions()) {
    if (x.name.find(a.words) == std::string::npos) continue;
    ScalarTask task{x, folder + "/" + x.name + ".safetensors"};
    if (a.resume) {
      const ScalarCases cases = cases_to_check(x, scalar_options(a));
      task.kept = is_recorded(task.path, unrecorded_scalar(device.info(), x, cases, a.samples),
                              &tell_damaged);
    }
    out.push_back(std::move(task));
  }
  return out;
}

void run_scalar(Device& device, const RecordArguments& a, std::span<const ScalarTask> tasks,
                const std::string& date, Totals& totals) {
  for (const auto& [x, path, kept] : tasks) {
    if (kept) {
      totals.kept += 1;
      continue;
    }
    const ScalarCheck check = check_scalar(device, x, scalar_options(a), instruction_progress());
    if (!check.skipped.empty()) {
      totals.skip(x.name, check.skipped);
      continue;
    }
    ScalarRecording recording = record_scalar(device, x, check.cases, check.tally, a.samples);
    recording.origin.date = date;
    write_scalar_recording(path, recording);
    fmt::print("{:<48}{}\n", x.name, tally_text(check));
    if (check.differs()) fmt::print("{}", differences_text(check));
    totals.different = totals.different || check.differs();
    totals.wrote(path, recording.d.size());
  }
}

int run_record(const RecordArguments& a) {
  const OpenedDevice opened = open_chosen_device(a.device, a.rules);
  if (!opened.device) {
    fmt::print("{}\n", opened.why_none);
    return exit_no_hardware;
  }
  const MadeFolders folders =
      prepare_outputs({}, std::array{OutputPath{"-o", a.folder, OutputKind::folder}});
  const std::string date = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
  const std::string& name = opened.device->info().name;
  const bool both = !a.dots.empty() == a.scalar;
  const RecordArguments usual;
  const bool no_scalar = !both && !a.scalar;
  refuse_idle(std::array{
      IdleOption{"--cases", no_scalar && a.cases != usual.cases, "with --dots alone"},
      IdleOption{"--samples", no_scalar && a.samples != usual.samples, "with --dots alone"},
  });
  Totals totals;
  std::vector<ScalarTask> tasks;  // what is there is checked before anything is recorded
  if (both || a.scalar) tasks = scalar_tasks(*opened.device, a);
  if (both || !a.dots.empty()) run_dots(*opened.device, a, date, totals);
  run_scalar(*opened.device, a, tasks, date, totals);
  const auto named = [&a](const Instruction& x) {
    return instruction_name(x).find(a.words) != std::string::npos;
  };
  const bool any_named =
      std::ranges::any_of(instruction_forms(opened.device->info().compute_capability), named);
  if (totals.files + totals.kept + totals.skipped == 0 && a.dots == "open" && !both && any_named) {
    fmt::print(
        "{}: nothing is open: recorded rows exclude every other rule for what was asked; see "
        "binade architectures --arch sm_{} --evidence\n",
        name, opened.device->info().compute_capability);
    return 0;
  }
  if (totals.files + totals.kept + totals.skipped == 0) {
    throw Error("no instruction of " + name + " has '" + printable(a.words) +
                "' in its name; see binade architectures");
  }
  fmt::print("{}: {} instructions, {} results, {:.1f} MB in {}{}{}\n", name, totals.files,
             totals.results, static_cast<double>(totals.bytes) / 1e6, a.folder,
             totals.kept == 0 ? "" : fmt::format("; {} there already", totals.kept),
             totals.skipped == 0 ? "" : fmt::format("; {} skipped", totals.skipped));
  if (totals.files + totals.kept == 0) {
    fmt::print(stderr, "binade: nothing was recorded: {}\n", totals.why_skipped);
    return exit_no_hardware;
  }
  return totals.different ? exit_different : 0;
}

void define_record(App app, int& status) {
  const auto a = std::make_shared<RecordArguments>();
  app.add_output("-o,--out", a->folder,
                 "folder to write the recordings to; it is made if it is not there")
      .required();
  app.add_option(
         "--dots", a->dots,
         "record only Tensor Core instructions: all their rows, or with open at most 64 rows of "
         "each, chosen to decide between rules that no recorded row has decided yet")
      .suggest([] {
        return std::vector<std::string>{"all", "open"};
      })
      .expected(0, 1)
      .type_name("[all|open]");
  app.add_flag("--scalar", a->scalar,
               "record only scalar instructions: conversions, arithmetic and approximations");
  app.add_option(
      "--only", a->words,
      "record only instructions whose name contains this text, such as wgmma (default: all)");
  app.add_option("--seed", a->seed, "seed of the operands").capture_default_str();
  app.add_flag(
      "--resume", a->resume,
      "keep the whole recordings that are there already, and record only what is missing or "
      "damaged; one of another GPU, driver, seed or other rows is refused");
  app.add_option("--cases", a->cases,
                 "run at most so many cases of each scalar instruction (default: every case, or of "
                 "instructions with more than 2^32 cases 10^10 or 10^9)")
      .positive();
  app.add_option(
         "--samples", a->samples,
         "how many results of a scalar instruction to keep in its file, beside a hash of all")
      .within(std::uint64_t{1}, most_samples)
      .capture_default_str();
  add_device_option(app, a->device);
  add_rule_options(app, a->rules);
  app.footer(
      "\n`binade validate --replay FOLDER` compares the recordings with the emulator, on any "
      "machine; with --evidence it\ntells which rules the GPU follows. The rules above can only be "
      "chosen with --emulated.\n\n"
      "Exit status: 0 all was recorded, 1 recorded results differ from the emulator's, 2 an "
      "argument is wrong or a file\ncannot be written, 77 there is no GPU, or it has none of the "
      "instructions.\n\n"
      "Examples:\n"
      "  binade record -o h100\n"
      "  binade record -o h100 --dots open --only wgmma");
  app.callback([app, a, &status] {
    if (app.count("--dots") > 0 && a->dots.empty()) a->dots = "all";
    if (!a->dots.empty() && a->dots != "all" && a->dots != "open") {
      throw Error("--dots " + printable(a->dots) +
                  " is neither all, which it means without a word, nor open");
    }
    if (a->rules.any() && a->device.emulated.empty()) {
      throw Error(
          "a GPU follows its own rules; --zero-raises, --floor and --cut-to-zero are for "
          "--emulated");
    }
    if (a->rules.any() && a->dots.empty() && a->scalar) {
      throw Error(
          "--zero-raises, --floor and --cut-to-zero are rules of Tensor Core instructions, not of "
          "--scalar");
    }
    status = run_record(*a);
  });
}

}  // namespace

const Command record_command{"record", "record what the GPU's instructions give",
                             "Runs the instructions of this machine's GPU on generated operands "
                             "and writes what they give to "
                             "files, a file for each instruction; files of Tensor Core "
                             "instructions hold the operands, too. Prints a line for each file.",
                             &define_record, "[GPU](cuda/README.md)"};

}  // namespace binade
