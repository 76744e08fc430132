// SPDX-License-Identifier: Apache-2.0
//
// Writes a device and its scalar instructions as text and JSON.
#include "lib/validate/device_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "emulate/carrier.h"
#include "lib/device/kernel_report.h"
#include "lib/number/encoding_text.h"
#include "lib/text/json_text.h"

namespace binade {
namespace {

using Json = nlohmann::ordered_json;

std::string cuda_version(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string capability_text(int capability) {
  return fmt::format("{}.{}", capability / 10, capability % 10);
}

/// Returns a word and the values of its lanes, the lowest lane first: "0x3c00bc00 (-1, 1)".
std::string lanes_text(std::uint64_t bits, int width, const Format& f, int lanes) {
  const int lane_width = width / lanes;
  std::string values;
  for (int lane = 0; lane < lanes; ++lane) {
    const std::uint64_t one =
        bits >> (lane * lane_width) & (~std::uint64_t{0} >> (64 - lane_width));
    values += fmt::format("{}{}", lane > 0 ? ", " : "", value_of<double>(one, f));
  }
  return fmt::format("{} ({})", hex_bits(bits, width), values);
}

std::string operand_text(const ScalarOperation& x, const ScalarOperands& operands, int i) {
  const auto at = static_cast<std::size_t>(i);
  if (x.random && i == x.words - 1) return hex_bits(operands[at], 32);
  const Format& f = x.from[x.packed ? at : 0];
  return lanes_text(operands[at], x.word_bits[at], f, x.packed ? x.lanes : 1);
}

std::string operands_text(const ScalarOperation& x, const ScalarOperands& operands) {
  std::string out;
  for (int i = 0; i < x.words; ++i) out += (i > 0 ? ", " : "") + operand_text(x, operands, i);
  return out;
}

std::string status(const ScalarCheck& check) {
  if (!check.skipped.empty()) return "skipped";
  if (!check.was_compared()) return "recorded only";
  return check.differs() ? "different" : "equal";
}

std::string row_text(const ScalarCheck& check) {
  const std::string& name = check.instruction.name;
  if (!check.skipped.empty()) return fmt::format("{:<32} skipped: {}\n", name, check.skipped);
  const ScalarTally& tally = check.tally;
  const bool padded = check.instruction.operation.result.padding_bits > 0;
  const std::string counts =
      check.was_compared() ? fmt::format("{:>10} {:>10}", tally.mismatches, tally.nan_differences)
                           : fmt::format("{:>21}", "recorded only");
  return fmt::format("{:<32} {:>11} {:<6} {} {:>10}\n", name, tally.cases,
                     check.cases.exhaustive ? "all" : "seeded", counts,
                     padded ? std::to_string(tally.padding) : "-");
}

std::string totals_text(std::span<const ScalarCheck> checks) {
  const auto count = [&](const char* what) {
    return std::ranges::count_if(checks, [&](const ScalarCheck& x) { return status(x) == what; });
  };
  return fmt::format("instructions {}: equal {}, different {}, recorded only {}, skipped {}\n",
                     checks.size(), count("equal"), count("different"), count("recorded only"),
                     count("skipped"));
}

Json device_info_json(const DeviceInfo& info) {
  return {{"name", info.name},
          {"compute_capability", capability_text(info.compute_capability)},
          {"multiprocessors", info.multiprocessors},
          {"memory", info.memory},
          {"driver", info.driver},
          {"driver_cuda", cuda_version(info.driver_cuda)},
          {"runtime_cuda", cuda_version(info.runtime_cuda)}};
}

Json device_module_json(const DeviceModule& module) {
  if (module.file.empty()) return nullptr;
  return {{"file", module.file}, {"architectures", module.architectures}};
}

std::string module_text(const DeviceModule& module) {
  if (module.file.empty()) return {};
  return fmt::format("module {}, built for {}", printable(module.file, longest_path),
                     module.architectures);
}

}  // namespace

Json scalar_check_json(const ScalarCheck& check) {
  const ScalarOperation& x = check.instruction.operation;
  Json row{{"instruction", check.instruction.name}, {"status", status(check)}};
  if (!check.skipped.empty()) {
    row["reason"] = check.skipped;
    return row;
  }
  row["cases"] = check.tally.cases;
  row["exhaustive"] = check.cases.exhaustive;
  if (!check.cases.exhaustive) row["seed"] = check.cases.seed;
  row["hash"] = hash_text(check.tally.hash);
  row["padding"] = check.tally.padding;
  if (!check.was_compared()) return row;
  row["mismatches"] = check.tally.mismatches;
  row["nan_differences"] = check.tally.nan_differences;
  row["differences"] = Json::array();
  for (const ScalarDifference& c : check.first) {
    Json operands = Json::array();
    for (std::size_t i = 0; i < static_cast<std::size_t>(x.words); ++i) {
      operands.push_back(hex_bits(c.operands[i], x.word_bits[i]));
    }
    row["differences"].push_back({{"case", c.number},
                                  {"operands", operands},
                                  {"hardware", hex_bits(c.hardware, x.result_bits)},
                                  {"emulated", hex_bits(c.emulated, x.result_bits)}});
  }
  return row;
}

std::string device_text(const OpenedDevice& opened) {
  const std::string module = module_text(opened.module);
  if (!opened.device) return opened.why_none + (module.empty() ? "" : " (" + module + ")") + "\n";
  const DeviceInfo& info = opened.device->info();
  if (info.multiprocessors == 0) return info.name + "\n";
  constexpr double gib = 1024.0 * 1024.0 * 1024.0;
  return fmt::format(
      "{}: compute capability {}, {} multiprocessors, {:.1f} GiB\n"
      "CUDA {} (module), up to {} (driver{})\n"
      "{}{}",
      info.name, capability_text(info.compute_capability), info.multiprocessors,
      static_cast<double>(info.memory) / gib, cuda_version(info.runtime_cuda),
      cuda_version(info.driver_cuda), info.driver.empty() ? "" : " " + info.driver, module,
      module.empty() ? "" : "\n");
}

std::string differences_text(const ScalarCheck& check) {
  const ScalarOperation& x = check.instruction.operation;
  const auto result = [&x](std::uint64_t bits) {
    return lanes_text(bits, x.result_bits, x.result, x.lanes);
  };
  std::string out;
  for (const ScalarDifference& c : check.first) {
    out += fmt::format("  case {}: {}: hardware {}, emulated {}\n", c.number,
                       operands_text(x, c.operands), result(c.hardware), result(c.emulated));
  }
  return out;
}

std::string checks_text(std::span<const ScalarCheck> checks) {
  std::string text = fmt::format("{:<32} {:>18} {:>10} {:>10} {:>10}\n", "instruction", "cases",
                                 "mismatches", "NaN bits", "padding");
  for (const ScalarCheck& check : checks) text += row_text(check);
  text += totals_text(checks);
  for (const ScalarCheck& check : checks) {
    if (!check.differs()) continue;
    text += fmt::format("\n{}: lowest differing cases\n", check.instruction.name);
    text += differences_text(check);
  }
  return text;
}

std::string device_json(const OpenedDevice& opened, std::span<const ScalarCheck> checks,
                        std::span<const KernelCheck> kernels, std::span<const KernelRate> rates) {
  Json json{{"schema", "binade.device/2"}, {"device", nullptr}};
  if (opened.device) {
    json["device"] = device_info_json(opened.device->info());
  } else {
    json["reason"] = opened.why_none;
  }
  json["module"] = device_module_json(opened.module);
  json["instructions"] = Json::array();
  for (const ScalarCheck& check : checks) json["instructions"].push_back(scalar_check_json(check));
  json["kernels"] = kernel_checks_json(kernels);
  json["rates"] = kernel_rates_json(rates);
  return json_text(json, 1) + "\n";
}

}  // namespace binade
