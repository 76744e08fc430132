// SPDX-License-Identifier: Apache-2.0
//
// Collects the names of formats, architectures, instructions and dtypes.
#include "lib/cli/suggestions.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "emulate/block.h"
#include "emulate/format.h"
#include "emulate/scale_rules.h"
#include "lib/amp/op_lists.h"
#include "lib/amp/opt_level.h"
#include "lib/device/record_dots.h"
#include "lib/format/dtype.h"
#include "lib/instruction/instruction_name.h"
#include "lib/range/fate.h"
#include "lib/runs/train_settings.h"
#include "lib/runs/workloads.h"
#include "lib/text/spelling.h"
#include "lib/train/attention.h"
#include "lib/train/optimizers.h"
#include "lib/train/step_scaler.h"
#include "lib/train/tensor_core_products.h"

namespace binade {
namespace {

std::vector<std::string> sorted_once(std::vector<std::string> words) {
  std::ranges::sort(words);
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

}  // namespace

std::vector<std::string> format_words() { return words_of_table(formats); }
std::vector<std::string> all_format_words() {
  std::vector<std::string> words = format_words();
  for (const NamedBlockFormat& row : block_formats) words.emplace_back(row.name);
  return words;
}
std::vector<std::string> scale_rule_words() {
  std::vector<std::string> words;
  for (const NamedScaleRule& row : scale_rules) {
    if (std::ranges::find(words, row.name) == words.end()) words.emplace_back(row.name);
  }
  words.emplace_back("all");
  return words;
}
std::vector<std::string> report_format_words() { return words_of_table(report_formats); }

std::vector<std::string> type_and_format_words() {
  std::vector<std::string> words = words_of_table(type_names);
  for (const std::string& name : format_words()) {
    if (std::ranges::find(words, name) == words.end()) words.push_back(name);
  }
  return words;
}

std::vector<std::string> architecture_words() {
  std::vector<std::string> words;
  for (const Architecture& on : architectures) words.push_back("sm_" + std::to_string(on.sm));
  return words;
}

std::vector<std::string> instruction_words() {
  static const std::vector<std::string> all = [] {  // once, since several options take them
    std::vector<std::string> words;
    for (const Architecture& on : architectures) {
      for (const Instruction& x : instruction_forms(on.sm)) {
        words.push_back(instruction_name(x));
      }
    }
    return sorted_once(std::move(words));
  }();
  return all;
}

std::vector<std::string> dtype_words() {
  std::vector<std::string> words;
  for (const Dtype& row : dtypes()) {
    if (row.kind == DtypeKind::floating) words.emplace_back(row.name);
  }
  return words;
}

std::vector<std::string> listed_op_words() {
  std::vector<std::string> words = words_of_table(apex_op_list());
  for (const DeviceType device : device_types) {
    for (const ListedOp& op : op_list(device)) words.emplace_back(op.name);
  }
  return sorted_once(std::move(words));
}

std::vector<std::string> device_type_words() {
  std::vector<std::string> words;
  for (const DeviceType device : device_types) words.emplace_back(device_type_name(device));
  return words;
}

std::vector<std::string> setting_words() {
  const std::pair<std::string_view, std::vector<std::string_view>> named[]{
      {"workload", names_of(workload_rows())},
      {"level", names_of(opt_levels())},
      {"format", names_of(training_formats)},
      {"attention", names_of(attentions)},
      {"scaler", step_scaler_names()},
      {"optimizer", names_of(optimizers())},
      {"update", {update_rule_names.begin(), update_rule_names.end()}}};
  std::vector<std::string> words;
  for (const std::string_view key : setting_keys()) {
    const auto* const row = std::ranges::find(named, key, [](const auto& x) { return x.first; });
    if (row == std::end(named)) words.push_back(std::string(key) + "=");
    if (row == std::end(named)) continue;
    for (const std::string_view value : row->second) {
      words.push_back(std::string(key) + "=" + std::string(value));
    }
  }
  return words;
}

}  // namespace binade
