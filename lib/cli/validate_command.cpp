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
#include "lib/evidence/json.h"
#include "lib/evidence/seen.h"
#include "lib/evidence/tally.h"
#include "lib/instruction/instruction_name.h"
#include "lib/io/atomic_file.h"
#include "lib/io/output_paths.h"
#include "lib/text/error.h"
#include "lib/text/idle_option.h"
#include "lib/text/json_text.h"
#include "lib/text/spelling.h"
#include "lib/validate/device_report.h"
#include "lib/validate/dot_answer.h"
#include "lib/validate/dot_text.h"
#include "lib/validate/dots.h"
#include "lib/validate/gemm_answer.h"
#include "lib/validate/replay.h"

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
  explicit SetOutput(const SetOptions& options) : options_(options), json_(options.json) {}

  void take(const CheckedSet& set, const Dots& dots) {
    if (!set.skipped.empty() && why_skipped_.empty()) why_skipped_ = set.skipped;
    if (!options_.seen.empty() && set.independent) {
      seen_.push_back(line_of(seen_of(set.instruction, dots, set.gpu)));
    }
    if (json_) {
      sets_.push_back(json_of_set(set, dots));
    } else {
      fmt::print("{}", text_of_set(set, dots));
    }
  }

  void take(const CheckedScalar& set) {
    const std::string source = printable(set.source, longest_path);
    if (json_) {
      nlohmann::ordered_json out{{"source", source}, {"architecture", set.origin.architecture}};
      out.update(scalar_check_json(set.check));
      sets_.push_back(out);
      return;
    }
    const ScalarTally& tally = set.check.tally;
    const std::uint64_t different = tally.mismatches + tally.nan_differences;
    fmt::print("{:<28}  {} {:<38}  rows {}, ", source, printable(set.origin.architecture),
               set.check.instruction.name, tally.cases);
    if (set.check.was_compared()) {
      fmt::print("equal {}, different {}\n", tally.cases - different, different);
    } else {
      fmt::print("recorded only\n");
    }
    fmt::print("{}", differences_text(set.check));
  }

  ProductCount take(const ReplayedProduct& product) {
    const std::string source = printable(product.path, longest_path);
    const GemmCheck& check = product.validation.check;
    if (json_) {
      sets_.push_back({{"source", source},
                       {"product", gemm_validation_json(product.validation, product.options)}});
    } else {
      fmt::print("{:<28}  {:<44}  elements {}, equal {}, different {}\n", source,
                 binade::headline(product.validation.named), check.elements(), check.equal(),
                 check.different.count);
      if (check.different.count != 0)
        fmt::print("{}", gemm_validation_text(product.validation, product.options));
    }
    return {.elements = check.elements(), .different = check.different.count};
  }

  void finish(const char* schema, const std::string& device, const SetTotals& totals) {
    if (!options_.seen.empty()) {
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
    if (!json_) {
      fmt::print("sets {}, rows {}, equal {}, different {}{}", totals.sets, totals.rows,
                 totals.equal(), totals.different, rule_choice_text(options_.rules));
      if (totals.recorded_only > 0) fmt::print(", recorded only {}", totals.recorded_only);
      fmt::print("\n");
      return;
    }
    nlohmann::ordered_json out{{"schema", schema}};
    if (!device.empty()) out["device"] = device;
    if (options_.rules.any()) out["rules"] = words_of(options_.rules);
    out["sets"] = totals.sets;
    out["rows"] = totals.rows;
    out["equal"] = totals.equal();
    out["different"] = totals.different;
    if (totals.recorded_only > 0) out["recorded_only"] = totals.recorded_only;
    out["compared"] = sets_;
    fmt::print("{}\n", json_text(out, 2));
  }

  /// Why the first skipped instruction was skipped; empty if none was.
  const std::string& why_skipped() const { return why_skipped_; }

 private:
  static std::string headline(const CheckedSet& set) {
    return fmt::format("{:<28}  sm_{} {:<38}", printable(set.source, longest_path),
                       set.instruction.sm, instruction_name(set.instruction));
  }

  std::string text_of_set(const CheckedSet& set, const Dots& dots) const {
    if (!set.skipped.empty()) {
      return fmt::format("{}  skipped: {}\n", headline(set), set.skipped);
    }
    std::string out = fmt::format("{}  rows {}, equal {}, different {}\n", headline(set),
                                  set.check.rows, set.check.equal(), set.check.different);
    const bool recorded = set.source.ends_with(".safetensors");
    for (const DotDifference& x : set.check.first) {
      const bool first = &x == set.check.first.data();
      out += difference_text(x, dots, set.instruction);
      if (first && recorded) {
        std::vector<std::string> words{"--recording", set.source};
        const std::vector<std::string> rules = words_of(options_.rules);
        words.insert(words.end(), rules.begin(), rules.end());
        out += row_explained(words, x.row);
      }
      out += "\n";
    }
    if (options_.evidence) {
      return out +
             tally_text(tally_rivals(set.instruction, dots, false, options_.rules),
                        options_.rules.any() ? "chosen" : "binade") +
             "\n";
    }
    const std::string touched =
        options_.rules.any() ? "" : touched_text(touched_by(set.instruction, dots), "rows");
    return touched.empty() ? out : out + "  " + touched + "\n";
  }

  nlohmann::ordered_json json_of_set(const CheckedSet& set, const Dots& dots) const {
    nlohmann::ordered_json out{{"source", printable(set.source, longest_path)}};
    if (set.skipped.empty()) {
      out.update(dot_check_json(set.check, dots, set.instruction));
      if (!options_.rules.any()) out["touched"] = touched_json(touched_by(set.instruction, dots));
      if (options_.evidence) {
        out["aspects"] = tally_json(tally_rivals(set.instruction, dots, false, options_.rules));
      }
    } else {
      out["architecture"] = fmt::format("sm_{}", set.instruction.sm);
      out["instruction"] = instruction_name(set.instruction);
      out["skipped"] = set.skipped;
    }
    return out;
  }

  const SetOptions& options_;
  bool json_;
  std::vector<std::string> seen_;
  std::string why_skipped_;
  nlohmann::ordered_json sets_ = nlohmann::ordered_json::array();
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
