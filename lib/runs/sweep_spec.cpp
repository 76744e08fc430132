// SPDX-License-Identifier: Apache-2.0
//
// Reads the spec of a sweep strictly: a key that is not known is an Error.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lib/io/input_file.h"
#include "lib/runs/strict_json.h"
#include "lib/runs/sweep.h"
#include "lib/text/error.h"

namespace binade {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::size_t most_bytes_of_spec = std::size_t{1} << 20;
constexpr std::size_t most_runs = 100'000;

[[noreturn]] void refuse_spec(const std::string& label, const std::string& what,
                              const std::string& what_to_do) {
  throw error_in(label, what, what_to_do);
}

const ordered_json& part(const std::string& label, const ordered_json& spec, const char* name,
                         bool right) {
  if (!right) {
    refuse_spec(label, fmt::format("'{}' is missing or of the wrong kind", name),
                R"(a sweep is {"name": "...", "base": {...}, "grid": {"key": [...], ...}})");
  }
  return spec[name];
}

void add_axis(const std::string& label, SweepSpec& spec, const std::string& key,
              const ordered_json& list) {
  const std::string quoted = fmt::format("grid key '{}'", printable(key));
  if (!list.is_array() || list.empty()) {
    refuse_spec(label, quoted + " has no list of values", "give it a list of at least one value");
  }
  if (spec.base.contains(key)) refuse_spec(label, quoted + " is in the base too", "give it once");
  if (list.size() > most_runs / std::max<std::size_t>(spec.runs(), 1)) {
    refuse_spec(label, fmt::format("more than {} runs", most_runs), "split the sweep");
  }
  std::vector<json> values;
  std::set<json> seen;
  for (const ordered_json& value : list) {
    values.push_back(json::parse(value.dump()));
    if (!seen.insert(values.back()).second) {
      refuse_spec(label, fmt::format("{} has the value {} twice", quoted, printable(value.dump())),
                  "give it once");
    }
  }
  spec.keys.push_back(key);
  spec.values.push_back(std::move(values));
}

}  // namespace

std::size_t SweepSpec::runs() const {
  std::size_t product = 1;
  for (const auto& list : values) product *= list.size();
  return product;
}

SweepSpec parse_sweep(const std::string& label, std::string_view text) {
  const ordered_json given = parse_strictly(label, text);
  const bool object = given.is_object();
  const auto has = [&](const char* name) { return object && given.contains(name); };
  SweepSpec spec;
  spec.name = part(label, given, "name", has("name") && given["name"].is_string());
  if (spec.name.empty()) refuse_spec(label, "'name' is empty", "give the sweep a name");
  spec.base =
      json::parse(part(label, given, "base", has("base") && given["base"].is_object()).dump());
  const ordered_json& grid = part(label, given, "grid", has("grid") && given["grid"].is_object());
  for (const auto& [key, ignored] : given.items()) {
    if (key == "name" || key == "base" || key == "grid") continue;
    refuse_spec(label, fmt::format("unknown key '{}'", printable(key)),
                "there are name, base and grid");
  }
  for (const auto& [key, list] : grid.items()) add_axis(label, spec, key, list);
  return spec;
}

SweepSpec read_sweep(const std::string& path) {
  return parse_sweep(input_name(path),
                     read_text(path, most_bytes_of_spec, "give the file of a sweep"));
}

json settings_of(const SweepSpec& spec, std::size_t run) {
  json settings = spec.base;
  for (std::size_t i = spec.keys.size(); i-- > 0;) {
    settings[spec.keys[i]] = spec.values[i][run % spec.values[i].size()];
    run /= spec.values[i].size();
  }
  return settings;
}

}  // namespace binade
