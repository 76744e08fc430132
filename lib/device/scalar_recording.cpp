// SPDX-License-Identifier: Apache-2.0
//
// Making, reading and writing recordings of scalar instructions.
#include "lib/device/scalar_recording.h"

#include <algorithm>
#include <map>

#include "lib/device/record_dots.h"
#include "lib/io/safetensors_writer.h"
#include "lib/text/error.h"

namespace binade {
namespace {

std::uint64_t samples_of(const ScalarInstruction& x, const ScalarCases& cases,
                         std::uint64_t samples) {
  const bool twin = x.name.find(".ftz.f32") != std::string::npos;
  const bool all = !x.is_emulated() && !twin && cases.count <= kept_cases;
  return all ? cases.count : std::min(cases.count, samples);
}

/// Returns the width of d's elements in bits.
int width_of(const ScalarInstruction& x) { return x.operation.result_bits; }

ScalarCases read_cases(const SafetensorsFile& file, const ScalarInstruction& instruction) {
  const std::string& how = metadata_text(file, "cases");
  if (how != "exhaustive" && how != "seeded") {
    bad_metadata(file, "cases", "exhaustive or seeded");
  }
  const ScalarCases out{metadata_number(file, "hashed_cases"), how == "exhaustive",
                        metadata_number(file, "seed")};
  if (out.count == 0) throw error_in(file.path(), "no cases", "there is nothing to compare");
  const std::uint64_t all = exhaustive_cases(instruction.operation);
  if (out.exhaustive && out.count != all) {
    bad_metadata(file, "hashed_cases",
                 all == 0 ? "of seeded cases, as " + instruction.name + " has too many"
                          : std::to_string(all) + ", as many as " + instruction.name + " has");
  }
  return out;
}

ScalarInstruction read_instruction(const SafetensorsFile& file, const RecordingOrigin& origin) {
  try {
    return parse_scalar_instruction(origin.instruction);
  } catch (const Error& error) {
    throw error_in(file.path(), error.what(), "its metadata name no instruction");
  }
}

void check_whole_hash(const SafetensorsFile& file, const ScalarRecording& recording) {
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < recording.d.size(); ++i) {
    hash += mixed(recording.number_of(i),
                  defined_bits(recording.instruction.operation, recording.d[i]));
  }
  if (hash == recording.hash) return;
  throw error_in(
      file.path(),
      "results of hash " + hash_text(hash) + ", recorded with " + hash_text(recording.hash),
      "the file is damaged; " + std::string(record_again));
}

}  // namespace

ScalarRecording unrecorded_scalar(const DeviceInfo& device, const ScalarInstruction& instruction,
                                  const ScalarCases& cases, std::uint64_t samples) {
  if (samples == 0 || samples > most_samples) {
    throw Error(std::to_string(samples) + " samples; record 1 to " + std::to_string(most_samples));
  }
  ScalarRecording out{.origin = origin_of(device, {}),
                      .instruction = instruction,
                      .cases = cases,
                      .hash = 0,
                      .d = std::vector<std::uint64_t>(samples_of(instruction, cases, samples))};
  out.origin.ptx = out.origin.instruction = instruction.name;
  out.origin.architecture = "sm_" + std::to_string(device.compute_capability);
  return out;
}

ScalarRecording record_scalar(Device& device, const ScalarInstruction& instruction,
                              const ScalarCases& cases, const ScalarTally& tally,
                              std::uint64_t samples) {
  ScalarRecording out = unrecorded_scalar(device.info(), instruction, cases, samples);
  if (tally.cases != cases.count) {
    throw Error(instruction.name + ": " + std::to_string(tally.cases) + " of " +
                std::to_string(cases.count) + " cases were run; run all before recording them");
  }
  out.hash = tally.hash;
  std::vector<std::uint64_t> numbers(out.d.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = out.number_of(i);
  if (const CannotRun why = device.run_scalar(instruction, cases, numbers, out.d)) {
    throw Error(instruction.name + ": " + *why);
  }
  return out;
}

void write_scalar_recording(const std::string& path, const ScalarRecording& recording) {
  std::map<std::string, std::string> metadata = metadata_of(recording.origin);
  metadata["kind"] = "scalar";
  metadata["cases"] = recording.cases.exhaustive ? "exhaustive" : "seeded";
  metadata["seed"] = std::to_string(recording.cases.seed);
  metadata["samples"] = std::to_string(recording.d.size());
  metadata["hashed_cases"] = std::to_string(recording.cases.count);
  metadata["hash"] = hash_text(recording.hash);
  const int width = width_of(recording.instruction);
  const std::vector<TensorSpec> specs{{"d", unsigned_dtype(width), {recording.d.size()}}};
  SafetensorsWriter writer(path, specs, metadata);
  writer.write(bytes_of(recording.d, width));
  writer.finish();
}

bool is_scalar_recording(const std::string& path) {
  const auto file = open_safetensors(path);
  const auto kind = file->metadata().find("kind");
  return kind != file->metadata().end() && kind->second == "scalar";
}

ScalarRecording read_scalar_recording(const std::string& path) {
  const auto file = open_safetensors(path);
  if (metadata_text(*file, "kind") != "scalar") bad_metadata(*file, "kind", "scalar");
  const RecordingOrigin origin = read_origin(*file);
  const ScalarInstruction instruction = read_instruction(*file, origin);
  ScalarRecording out{.origin = origin,
                      .instruction = instruction,
                      .cases = read_cases(*file, instruction),
                      .hash = metadata_hash(*file, "hash"),
                      .d = {}};
  const std::uint64_t samples = metadata_number(*file, "samples");
  if (samples == 0) throw error_in(path, "no samples", "there is nothing to compare");
  if (samples > most_samples || samples > out.cases.count) {
    bad_metadata(*file, "samples",
                 "at most " + std::to_string(std::min(most_samples, out.cases.count)));
  }
  if (file->tensors().size() > 1) {
    throw error_in(path, std::to_string(file->tensors().size()) + " tensors",
                   "a recording of a scalar instruction holds d alone");
  }
  out.d = read_column(*file, "d", width_of(instruction), {samples});
  if (samples == out.cases.count) check_whole_hash(*file, out);
  return out;
}

}  // namespace binade
