// SPDX-License-Identifier: Apache-2.0
//
// Text and JSON of a device and its checks.
#include "lib/record/device_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "emulate/quantize.h"

namespace binade {
namespace {

using Json = nlohmann::ordered_json;

bool equal(const ConversionCheck& check) {
  return check.mismatches == 0 && check.nan_differences == 0;
}

std::string cuda_version(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string capability_text(int capability) {
  return fmt::format("{}.{}", capability / 10, capability % 10);
}

std::string bits_text(std::uint32_t bits, const Format& format) {
  return fmt::format("0x{:0{}x} ({})", bits, format.storage_bits() / 4,
                     value_of<double>(bits, format));
}

std::string status(const ConversionCheck& check) {
  if (!check.skipped.empty()) return "skipped";
  return equal(check) ? "equal" : "different";
}

std::string row_text(const ConversionCheck& check) {
  if (!check.skipped.empty()) {
    return fmt::format("{:<28} skipped: {}\n", check.instruction, check.skipped);
  }
  return fmt::format("{:<28} {:>10} {:>10} {:>10} {:>10}\n", check.instruction, check.inputs,
                     check.mismatches, check.nan_differences,
                     check.format.padding_bits > 0 ? std::to_string(check.padding) : "-");
}

std::string cases_text(const ConversionCheck& check) {
  std::string text = fmt::format(
      "\n{}: lowest differing inputs; `binade show VALUE --format {} --rounding {}` explains one\n",
      check.instruction, name_of(check.format), name_of(check.attributes.rounding));
  for (const ConversionCase& c : check.cases) {
    text += fmt::format("  {}: hardware {}, emulated {}\n", bits_text(c.input, binary32),
                        bits_text(c.hardware, check.format), bits_text(c.emulated, check.format));
  }
  return text;
}

Json json_of(const ConversionCheck& check) {
  Json row{{"instruction", check.instruction}, {"status", status(check)}};
  if (!check.skipped.empty()) {
    row["reason"] = check.skipped;
    return row;
  }
  row["inputs"] = check.inputs;
  row["mismatches"] = check.mismatches;
  row["nan_differences"] = check.nan_differences;
  row["padding"] = check.padding;
  row["cases"] = Json::array();
  for (const ConversionCase& c : check.cases) {
    row["cases"].push_back({{"input", fmt::format("0x{:08x}", c.input)},
                            {"hardware", fmt::format("0x{:08x}", c.hardware)},
                            {"emulated", fmt::format("0x{:08x}", c.emulated)}});
  }
  return row;
}

Json json_of(const DeviceInfo& info) {
  return {{"name", info.name},
          {"compute_capability", capability_text(info.compute_capability)},
          {"multiprocessors", info.multiprocessors},
          {"memory", info.memory},
          {"driver_cuda", cuda_version(info.driver_cuda)},
          {"runtime_cuda", cuda_version(info.runtime_cuda)}};
}

}  // namespace

bool all_equal(std::span<const ConversionCheck> checks) {
  return std::ranges::all_of(checks, equal) &&
         std::ranges::any_of(checks, [](const ConversionCheck& c) { return c.inputs > 0; });
}

std::string device_text(const OpenedDevice& opened) {
  if (!opened.device) return opened.why_none + "\n";
  const DeviceInfo& info = opened.device->info();
  constexpr double gib = 1024.0 * 1024.0 * 1024.0;
  return fmt::format(
      "{}: compute capability {}, {} multiprocessors, {:.1f} GiB\n"
      "CUDA {} (program), up to {} (driver)\n",
      info.name, capability_text(info.compute_capability), info.multiprocessors,
      static_cast<double>(info.memory) / gib, cuda_version(info.runtime_cuda),
      cuda_version(info.driver_cuda));
}

std::string checks_text(std::span<const ConversionCheck> checks) {
  std::string text = fmt::format("{:<28} {:>10} {:>10} {:>10} {:>10}\n", "instruction", "inputs",
                                 "mismatches", "NaN bits", "padding");
  for (const ConversionCheck& check : checks) text += row_text(check);
  for (const ConversionCheck& check : checks) {
    if (!equal(check)) text += cases_text(check);
  }
  return text;
}

std::string device_json(const OpenedDevice& opened, std::span<const ConversionCheck> checks) {
  Json json{{"schema", "binade.device/1"}, {"device", nullptr}};
  if (opened.device) {
    json["device"] = json_of(opened.device->info());
  } else {
    json["reason"] = opened.why_none;
  }
  json["conversions"] = Json::array();
  for (const ConversionCheck& check : checks) json["conversions"].push_back(json_of(check));
  return json.dump(1) + "\n";
}

}  // namespace binade
