// SPDX-License-Identifier: Apache-2.0
//
// Finds the sets and compares them one by one, so that memory holds one at a time.
#include "lib/validate/replay.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "lib/cases/dot_cases.h"
#include "lib/device/recording.h"
#include "lib/device/row_plan.h"
#include "lib/instruction/instruction_name.h"
#include "lib/text/error.h"
#include "lib/validate/hardware_rows.h"

namespace binade {
namespace {

namespace fs = std::filesystem;

/// Compares sets, counts them, and passes them to the sinks.
class Comparing {
 public:
  Comparing(std::size_t keep, RuleChoice rules, const SetSink& sink,
            const ScalarSink& scalar_sink = {}, const ProductCheck& check_product = {})
      : keep_(keep),
        rules_(std::move(rules)),
        sink_(sink),
        scalar_sink_(scalar_sink),
        check_product_(check_product) {}

  void set(const std::string& source, const Instruction& instruction, const std::string& gpu,
           const Dots& dots, bool independent = true) {
    Instruction ruled = instruction;
    ruled.model = with_rules(ruled.model, rules_);
    const CheckedSet out{.source = source,
                         .instruction = instruction,
                         .gpu = gpu,
                         .independent = independent,
                         .check = check_dots(dots, ruled, keep_)};
    totals.sets += 1;
    totals.rows += out.check.rows;
    totals.different += out.check.different;
    sink_(out, dots);
  }

  void scalar(const std::string& source, const ScalarRecording& recording) {
    const CheckedScalar out{source, recording.origin, check_recording(recording, keep_)};
    if (out.check.was_compared()) {
      totals.sets += 1;
      totals.rows += out.check.tally.cases;
      totals.different += out.check.tally.mismatches + out.check.tally.nan_differences;
    } else {
      totals.recorded_only += 1;
    }
    if (scalar_sink_) scalar_sink_(out);
  }

  void product(const std::string& path) {
    if (!check_product_)
      throw error_in(path, "a whole product", "binade validate --replay reads it");
    const ProductCount out = check_product_(path);
    totals.sets += 1;
    totals.rows += out.elements;
    totals.different += out.different;
  }

  void skip(const std::string& source, const Instruction& instruction, const std::string& why) {
    sink_({.source = source, .instruction = instruction, .skipped = why}, {});
  }

  SetTotals totals;

 private:
  std::size_t keep_;
  RuleChoice rules_;
  const SetSink& sink_;
  ScalarSink scalar_sink_;
  ProductCheck check_product_;
};

void replay_recording(const std::string& path, Comparing& comparing) {
  if (is_scalar_recording(path)) return comparing.scalar(path, read_scalar_recording(path));
  if (is_product_recording(path)) return comparing.product(path);
  const RecordingInfo info = read_recording_info(path);
  const Instruction instruction = [&] {
    try {
      return parse_instruction(info.instruction, parse_architecture(info.architecture));
    } catch (const Error& error) {
      throw error_in(path, error.what(), "its metadata name no instruction");
    }
  }();
  comparing.set(path, instruction, info.gpu, read_recording(path, instruction));
}

void replay_hardware_rows(const std::string& folder, Comparing& comparing) {
  for (const HardwareSet& set : read_hardware_sets(folder)) {
    const Dots dots = read_dots(set.files, set.instruction);
    if (set.rows != 0 && set.rows != dots.d.size()) {
      throw error_in(set.files.d, std::to_string(dots.d.size()) + " rows",
                     "sets.json promises " + std::to_string(set.rows));
    }
    comparing.set(set.source, set.instruction, set.gpu, dots, set.independent);
  }
}

/// Returns the recordings and the folders with hardware rows in a folder, at any depth, sorted by
/// path.
std::vector<fs::path> sources_in(const std::string& folder) {
  std::vector<fs::path> out;
  if (holds_hardware_rows(folder)) out.emplace_back(folder);
  try {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
      const bool rows = entry.is_directory() && holds_hardware_rows(entry.path().string());
      const bool recording = !entry.is_directory() && entry.path().extension() == ".safetensors";
      if (rows || recording) out.push_back(entry.path());
    }
  } catch (const fs::filesystem_error& error) {
    throw error_in(folder, error.code().message(), "make it readable");
  }
  std::ranges::sort(out);
  return out;
}

void replay_path(const std::string& path, Comparing& comparing) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return replay_recording(path, comparing);
  const std::vector<fs::path> sources = sources_in(path);
  if (sources.empty()) {
    throw error_in(path, "neither recordings (.safetensors) nor a sets.json",
                   "there is nothing to compare");
  }
  for (const fs::path& source : sources) {
    if (fs::is_directory(source, ignored)) {
      replay_hardware_rows(source.string(), comparing);
    } else {
      replay_recording(source.string(), comparing);
    }
  }
}

}  // namespace

SetTotals replay(std::span<const std::string> paths, std::size_t keep, const RuleChoice& rules,
                 const SetSink& sink, const ScalarSink& scalar_sink,
                 const ProductCheck& check_product) {
  if (paths.empty()) throw Error("nothing to compare; give recordings or folders of them");
  Comparing comparing(keep, rules, sink, scalar_sink, check_product);
  for (const std::string& path : paths) replay_path(path, comparing);
  return comparing.totals;
}

SetTotals check_device(Device& device, const DeviceRows& what, std::size_t keep,
                       const SetSink& sink) {
  if (what.generator) parse_dot_generator(*what.generator);
  if (what.rows == 0) throw Error("no rows; there is nothing to compare");
  const int sm = parse_architecture(std::to_string(device.info().compute_capability));
  Comparing comparing(keep, {}, sink);
  for (const Instruction& instruction : instructions_of(sm)) {
    for (const DotGenerator& generator : dot_generators()) {
      const bool meant = !what.generator || *what.generator == generator.name;
      if (!meant || !generator.suits(instruction)) continue;
      const std::uint64_t full = full_rows(generator, instruction);
      Dots dots =
          make_dots(generator, instruction, what.seed, 0, std::min(full, what.rows.value_or(full)));
      const std::string source =
          std::string(generator.name) + ", seed " + std::to_string(what.seed);
      if (const auto why = run_rows(device, {{&generator, dots.c.size()}}, instruction, dots)) {
        comparing.skip(source, instruction, *why);
        break;
      }
      comparing.set(source, instruction, device.info().name, dots);
    }
  }
  return comparing.totals;
}

}  // namespace binade
