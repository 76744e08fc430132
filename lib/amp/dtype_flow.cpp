// SPDX-License-Identifier: Apache-2.0
//
// The collectors of a thread, and their table as text and JSON.
#include "lib/amp/dtype_flow.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace binade {
namespace {

thread_local DtypeFlow* innermost = nullptr;

bool same_call(const OpRecord& a, const OpRecord& b) {
  return a.op == b.op && a.where == b.where && a.policy == b.policy && a.inputs == b.inputs &&
         a.run == b.run && a.output == b.output && a.backward == b.backward;
}

/// Returns the format of the input with the fewest storage bits; the op's own format if it has no
/// inputs.
Format narrowest_input(const OpRecord& call) {
  const auto narrower = [](const Format& a, const Format& b) {
    return a.storage_bits() < b.storage_bits();
  };
  const auto found = std::ranges::min_element(call.inputs, narrower);
  return found == call.inputs.end() ? call.run : *found;
}

std::string names_of(const std::vector<Format>& formats) {
  std::string out;
  for (const Format& format : formats) {
    out += fmt::format("{}{}", out.empty() ? "" : ", ", format_name(format));
  }
  return out;
}

/// Returns rows of cells as aligned columns, without blanks at the end of a line.
std::string lines_of(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("  {:<{}}", row[i], widths[i]);
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

}  // namespace

DtypeFlow::DtypeFlow() : surrounding_(innermost) { innermost = this; }
DtypeFlow::~DtypeFlow() { innermost = surrounding_; }

void DtypeFlow::add(const OpRecord& record) {
  const auto found = std::ranges::find_if(
      rows_, [&record](const FlowRow& row) { return same_call(row.call, record); });
  if (found == rows_.end()) {
    rows_.push_back({record, 1});
    return;
  }
  found->call.elements += record.elements;
  found->call.casts += record.casts;
  found->call.cached_casts += record.cached_casts;
  found->calls += 1;
}

void record_op(const OpRecord& record) {
  for (DtypeFlow* flow = innermost; flow != nullptr; flow = flow->surrounding_) flow->add(record);
}

bool recording_ops() { return innermost != nullptr; }

std::uint64_t DtypeFlow::casts() const {
  std::uint64_t sum = 0;
  for (const FlowRow& row : rows_) sum += row.call.casts;
  return sum;
}

std::uint64_t DtypeFlow::cached_casts() const {
  std::uint64_t sum = 0;
  for (const FlowRow& row : rows_) sum += row.call.cached_casts;
  return sum;
}

std::vector<SilentPromotion> DtypeFlow::promotion_audit() const {
  std::vector<SilentPromotion> out;
  for (const FlowRow& row : rows_) {
    const OpRecord& call = row.call;
    const Format narrowest = narrowest_input(call);
    if (call.policy != CastPolicy::unlisted ||
        call.run.storage_bits() <= narrowest.storage_bits()) {
      continue;
    }
    const int wider = call.output.storage_bits() - narrowest.storage_bits();
    const std::uint64_t bytes =
        wider > 0 ? call.elements * static_cast<std::uint64_t>(wider / 8) : 0;
    out.push_back({call.op, call.where, call.backward, narrowest, call.run, row.calls, bytes});
  }
  return out;
}

std::string dtype_flow_text(const DtypeFlow& flow) {
  std::vector<std::vector<std::string>> rows{
      {"op", "where", "policy", "run", "output", "calls", "casts", "cached", "inputs"}};
  for (const FlowRow& row : flow.rows()) {
    const OpRecord& call = row.call;
    rows.push_back({call.op + (call.backward ? " (backward)" : ""), call.where,
                    std::string(cast_policy_name(call.policy)), std::string(format_name(call.run)),
                    std::string(format_name(call.output)), std::to_string(row.calls),
                    std::to_string(call.casts), std::to_string(call.cached_casts),
                    names_of(call.inputs)});
  }
  std::string out = "Operations by format\n" + lines_of(rows);
  out +=
      fmt::format("\n{} casts made, {} taken from the cache\n", flow.casts(), flow.cached_casts());
  const std::vector<SilentPromotion> audit = flow.promotion_audit();
  if (audit.empty()) return out + "No silent promotion.\n";
  rows = {{"op", "where", "narrowest", "ran in", "calls", "bytes lost"}};
  for (const SilentPromotion& found : audit) {
    rows.push_back({found.op + (found.backward ? " (backward)" : ""), found.where,
                    std::string(format_name(found.narrowest)), std::string(format_name(found.run)),
                    std::to_string(found.calls), std::to_string(found.bytes_lost)});
  }
  return out + "\nSilent promotions: ops of no list that ran wider than their narrowest input\n" +
         lines_of(rows);
}

nlohmann::ordered_json dtype_flow_json(const DtypeFlow& flow) {
  using Json = nlohmann::ordered_json;
  Json ops = Json::array();
  for (const FlowRow& row : flow.rows()) {
    const OpRecord& call = row.call;
    Json inputs = Json::array();
    for (const Format& input : call.inputs) inputs.push_back(format_name(input));
    ops.push_back({{"op", call.op},
                   {"where", call.where},
                   {"backward", call.backward},
                   {"policy", cast_policy_name(call.policy)},
                   {"inputs", inputs},
                   {"run", format_name(call.run)},
                   {"output", format_name(call.output)},
                   {"calls", row.calls},
                   {"elements", call.elements},
                   {"casts", call.casts},
                   {"cached_casts", call.cached_casts}});
  }
  Json audit = Json::array();
  for (const SilentPromotion& found : flow.promotion_audit()) {
    audit.push_back({{"op", found.op},
                     {"where", found.where},
                     {"backward", found.backward},
                     {"narrowest", format_name(found.narrowest)},
                     {"run", format_name(found.run)},
                     {"calls", found.calls},
                     {"bytes_lost", found.bytes_lost}});
  }
  return {{"schema", "binade.dtype_flow/1"},
          {"casts", flow.casts()},
          {"cached_casts", flow.cached_casts()},
          {"ops", ops},
          {"silent_promotions", audit}};
}

}  // namespace binade
