// SPDX-License-Identifier: Apache-2.0
//
// `binade validate`: compares what real GPUs and real kernels gave with the emulator, bit for bit.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lib/cases/dot_cases.h"
#include "lib/cli/command.h"
#include "lib/cli/device_option.h"
#include "lib/cli/replayed_product.h"
#include "lib/cli/rule_options.h"
#include "lib/cli/validate_crossed.h"
#include "lib/cli/validate_dots.h"
#include "lib/cli/validate_gemm.h"
#include "lib/evidence/seen.h"
#include "lib/io/atomic_file.h"
#include "lib/io/output_paths.h"
#include "lib/text/error.h"
#include "lib/text/idle_option.h"
#include "lib/text/json_text.h"
#include "lib/text/spelling.h"
#include "lib/validate/device_report.h"
#include "lib/validate/dots.h"
#include "lib/validate/replay.h"
#include "lib/validate/set_answer.h"

namespace binade {
namespace {

/// The arguments of `binade validate` itself: sets of rows from recordings or from a device.
struct SetOptions {
  std::vector<std::string> replay;
  std::string seen;
  RuleChoice rules;
  bool evidence = false;
  bool device = false;
  std::uint64_t rows = 0;
  DeviceRows of_device;
  DeviceOption device_option;
  std::string generator;
  std::size_t show = 5;
  bool json = false;
};

/// Prints each set as soon as it is compared, or gathers all sets for JSON.
class SetOutput {
 public:
  explicit SetOutput(const SetOptions& options) : options_(options) {}

  void take(const CheckedSet& set, const Dots& dots) {
    if (!set.skipped.empty() && why_skipped_.empty()) why_skipped_ = set.skipped;
    if (!options_.seen.empty() && set.independent) {
      seen_.push_back(line_of(seen_of(set.instruction, dots, set.gpu)));
    }
    tell(set, dots, SetQuestion{options_.rules, options_.evidence});
  }
  void take(const CheckedScalar& set) { tell(set); }
  ProductCount take(const ReplayedProduct& product) {
    tell(product.path, product.validation, product.options);
    const GemmCheck& check = product.validation.check;
    return {.elements = check.elements(), .different = check.different.count};
  }

  void finish(const char* schema, const std::string& device, const SetTotals& totals) {
    if (!options_.seen.empty()) write_seen(totals);
    if (options_.json) {
      fmt::print("{}\n", json_text(sets_json(schema, device, options_.rules, totals, sets_), 2));
    } else {
      fmt::print("{}", totals_text(totals, options_.rules));
    }
  }

  /// Why the first skipped instruction was skipped; empty if none was.
  const std::string& why_skipped() const { return why_skipped_; }

 private:
  const SetOptions& options_;
  std::vector<std::string> seen_;
  std::string why_skipped_;
  nlohmann::ordered_json sets_ = nlohmann::ordered_json::array();

  template <class... What>
  void tell(const What&... what) {
    if (options_.json) {
      sets_.push_back(set_json(what...));
    } else {
      fmt::print("{}", set_text(what...));
    }
  }

  void write_seen(const SetTotals& totals) {
    if (totals.different > 0) {
      throw Error(fmt::format(
          "--seen: {} rows are not what the emulator gives; what they exclude is not known",
          totals.different));
    }
    if (seen_.empty()) throw Error("--seen: no set of dot products is among what was replayed");
    std::ranges::sort(seen_);
    std::string text = seen_head();
    for (const std::string& line : seen_) text += line;
    write_file(options_.seen, text);
  }
};

/// Whether a file is, or would be, somewhere below a folder.
bool lies_in(const std::string& file, const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code failed;
  if (!fs::is_directory(folder, failed)) return false;
  const fs::path inner = fs::weakly_canonical(file, failed);
  const fs::path outer = fs::canonical(folder, failed);
  return std::ranges::mismatch(outer, inner).in1 == outer.end();
}

int validate_replay(const SetOptions& options) {
  if (!options.seen.empty() && options.rules.any()) {
    throw Error(
        "--seen tells what rows exclude of other rules than the table's: leave --zero-raises, "
        "--floor and --cut-to-zero out");
  }
  std::vector<InputPath> read;
  for (const std::string& path : options.replay) {
    read.push_back({"--replay", path});
    if (!options.seen.empty() && lies_in(options.seen, path)) {
      throw error_in(printable(options.seen, longest_path),
                     "lies in " + printable(path, longest_path) + ", which is read",
                     "choose another --seen");
    }
  }
  prepare_outputs(read, std::array{OutputPath{"--seen", options.seen}});
  SetOutput output(options);
  const SetTotals totals = replay(
      options.replay, options.show, options.rules,
      [&](const CheckedSet& set, const Dots& dots) { output.take(set, dots); },
      [&](const CheckedScalar& set) { output.take(set); },
      [&](const std::string& path) {
        return output.take(replayed_product(path, options.show, options.rules));
      });
  output.finish("binade.validate_replay/1", {}, totals);
  if (totals.sets == 0) throw Error("nothing was compared: approximations have no emulation");
  return totals.different == 0 ? 0 : exit_different;
}

int validate_device(const SetOptions& options) {
  DeviceRows what = options.of_device;
  if (options.rows != 0) what.rows = options.rows;
  if (!options.generator.empty()) {
    what.generator = std::string(parse_dot_generator(options.generator).name);
  }
  const OpenedDevice opened = open_chosen_device(options.device_option, options.rules);
  if (!opened.device) return no_hardware("binade.validate_device/1", opened.why_none, options.json);
  SetOutput output(options);
  const SetTotals totals =
      check_device(*opened.device, what, options.show,
                   [&](const CheckedSet& set, const Dots& dots) { output.take(set, dots); });
  output.finish("binade.validate_device/1", opened.device->info().name, totals);
  if (totals.sets == 0) {
    fmt::print(stderr, "binade: nothing was compared: {}\n", output.why_skipped());
    return exit_no_hardware;
  }
  return totals.different == 0 ? 0 : exit_different;
}

void define_validate(App app, int& status) {
  const auto options = std::make_shared<SetOptions>();
  define_validate_dots(app, status);
  define_validate_gemm(app, status);
  define_validate_crossed(app, status);
  app.require_subcommand(0, 1);
  const Option from_files =
      app.add_option("--replay", options->replay,
                     "compare recordings with the emulator: .safetensors files of instructions "
                     "(`binade record`) "
                     "or of whole products, folders of them, or folders with a sets.json")
          .suggest_files();
  const Option from_device =
      app.add_flag("--device", options->device,
                   "run every Tensor Core instruction of this machine's GPU on generated operands, "
                   "and compare the results with the emulator");
  from_device.excludes(from_files);
  add_device_option(app, options->device_option);
  app.add_option(
         "--rows", options->rows,
         "compare at most so many rows of each set (default: as many as `binade record` writes)")
      .needs(from_device)
      .positive();
  app.add_option("--seed", options->of_device.seed, "seed of the operands")
      .needs(from_device)
      .capture_default_str();
  app.add_option("--generator", options->generator,
                 "generator of the operands, one of " + listed(names_of(dot_generators())) +
                     " (default: all that suit the instruction)")
      .suggest([] { return words_of_table(dot_generators()); })
      .needs(from_device);
  app.add_option("--show", options->show, "how many of the rows that differ in each set to show")
      .capture_default_str();
  app.add_flag("--evidence", options->evidence, evidence_help);
  app.add_output("--seen", options->seen,
                 "write to this file, as a line for each set, the ranges of its operands and "
                 "results and how many of its rows exclude which rival rule")
      .needs(from_files);
  app.add_flag("--json", options->json, "print JSON instead of text");
  add_rule_options(app, options->rules);
  app.footer(
      "\nExit status: 0 all rows are equal, 1 some differ, 2 an argument or a file cannot be used, "
      "77 there is no GPU.\n\n"
      "Examples:\n"
      "  binade validate --replay h100/\n"
      "  binade validate --device --rows 10000\n"
      "  binade validate gemm a.npy b.npy --d d.npy --arch sm_90 --instruction "
      "wgmma.m64n8k16.f32.f16.f16");
  app.callback([app, &status, options] {
    if (!app.chosen_subcommand().empty()) return;
    if (options->replay.empty() && !options->device) {
      throw Error(
          "nothing to validate; give --replay PATH, --device, or dots or gemm and its files");
    }
    if (options->device && options->device_option.emulated.empty() && options->rules.any()) {
      throw Error(
          "a GPU follows its own rules; --zero-raises, --floor and --cut-to-zero are for --replay "
          "and --emulated");
    }
    refuse_idle(std::array{IdleOption{"--emulated",
                                      !options->device && !options->device_option.emulated.empty(),
                                      "without --device"}});
    status = options->device ? validate_device(*options) : validate_replay(*options);
  });
}

}  // namespace

const Command validate_command{
    "validate", "compare what real GPUs and kernels gave with the emulator, bit for bit",
    "Compares what Tensor Cores gave with what the emulator gives, bit for bit: recordings "
    "(--replay), this machine's GPU (--device), or with one of the commands below arrays in files. "
    "Prints how many rows are equal, and shows the first that differ.",
    &define_validate, "[products](lib/gemm/README.md)"};

}  // namespace binade
