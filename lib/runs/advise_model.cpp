// SPDX-License-Identifier: Apache-2.0
//
// Parses layers from options and from JSON. Each number is checked, so that no product of sizes
// wraps around.
#include "lib/runs/advise_model.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <span>

#include <nlohmann/json.hpp>

#include "lib/io/input_file.h"
#include "lib/runs/strict_json.h"
#include "lib/text/error.h"
#include "lib/text/spelling.h"
#include "lib/train/memory.h"

namespace binade {
namespace {

using AdviceJson = nlohmann::ordered_json;

constexpr std::uint64_t most_bytes_of_layers = std::uint64_t{1} << 24;
constexpr std::uint64_t largest_size = std::uint64_t{1} << 31;
constexpr const char* linear_help = "write --linear TOKENSxINxOUT, as in 4096x4096x50257";
constexpr const char* conv_help =
    "write --conv BATCHxCHANNELSxHEIGHTxWIDTH:FILTERSxROWSxCOLUMNS[:stride=S][:pad=P], as in "
    "32x64x56x56:128x3x3:pad=1";

bool read_size(std::string_view text, std::uint64_t& size) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  return error == std::errc{} && end == text.data() + text.size() && size <= largest_size;
}

bool read_sizes(std::string_view text, std::initializer_list<std::uint64_t*> sizes) {
  const std::vector<std::string_view> parts = split(text, 'x');
  if (parts.size() != sizes.size()) return false;
  std::size_t i = 0;
  for (std::uint64_t* size : sizes) {
    if (!read_size(parts[i++], *size) || *size == 0) return false;
  }
  return true;
}

/// Says what is wrong with a convolution; empty if nothing is.
std::string fault_of(const ConvSizes& x) {
  if (x.stride == 0) return "a stride of 0";
  if (x.rows > x.height + 2 * x.padding || x.columns > x.width + 2 * x.padding) {
    return "a kernel larger than its padded input";
  }
  double most = static_cast<double>(x.batch);  // becomes an upper bound of any product of sizes
  for (const std::uint64_t size : {x.channels, x.height + 2 * x.padding, x.width + 2 * x.padding,
                                   x.filters, x.rows, x.columns}) {
    most *= static_cast<double>(size);
  }
  return most < 0x1p60 ? "" : "sizes whose product passes 2^60";
}

AdvisedLayer advised(std::string name, const LinearSizes& x) {
  return {std::move(name), fmt::format("linear, {} tokens, {} to {}", x.tokens, x.in, x.out),
          products_of(x), x.in * x.out};
}

AdvisedLayer advised(std::string name, const ConvSizes& x) {
  return {
      std::move(name),
      fmt::format("conv2d, {}x{}x{}x{}, {} kernels of {}x{}, stride {}, padding {}", x.batch,
                  x.channels, x.height, x.width, x.filters, x.rows, x.columns, x.stride, x.padding),
      products_of(x), x.filters * x.channels * x.rows * x.columns};
}

/// Returns a number of a layer's JSON object, or `otherwise` if the key is missing. Throws Error if
/// the number is invalid or is missing without an `otherwise`.
std::uint64_t member(const std::string& path, const std::string& name, const AdviceJson& layer,
                     const char* key, std::optional<std::uint64_t> otherwise = {}) {
  const auto at = layer.find(key);
  if (at == layer.end() && otherwise) return *otherwise;
  const bool good = at != layer.end() && at->is_number_unsigned() &&
                    at->get<std::uint64_t>() <= largest_size &&
                    (at->get<std::uint64_t>() > 0 || otherwise == 0U);
  if (good) return at->get<std::uint64_t>();
  throw error_in(path, fmt::format("layer {} needs \"{}\", a whole number", printable(name), key),
                 "see binade advise --help");
}

constexpr std::array<std::string_view, 1> file_keys{"layers"};
constexpr std::array<std::string_view, 5> linear_keys{"name", "kind", "tokens", "in", "out"};
constexpr std::array<std::string_view, 11> conv_keys{"name",    "kind",   "batch",   "channels",
                                                     "height",  "width",  "filters", "rows",
                                                     "columns", "stride", "padding"};

/// Throws Error if an object has a key that is not in `known`.
void check_keys(const std::string& path, const std::string& what, const AdviceJson& object,
                std::span<const std::string_view> known) {
  for (const auto& [key, ignored] : object.items()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    throw error_in(path, fmt::format("{} has the unknown key \"{}\"", what, printable(key)),
                   fmt::format("keys are {}{}", listed(known), did_you_mean(key, known)));
  }
}

AdvisedLayer layer_of(const std::string& path, const AdviceJson& layer, std::size_t index) {
  std::string name = std::to_string(index + 1);
  if (!layer.is_object()) {
    throw error_in(path, "layer " + name + " is not an object", "see binade advise --help");
  }
  if (layer.contains("name") && layer["name"].is_string()) name = layer["name"];
  const std::string named = "layer " + printable(name);
  const auto of = [&](const char* key, std::optional<std::uint64_t> otherwise = {}) {
    return member(path, name, layer, key, otherwise);
  };
  const std::string kind =
      layer.contains("kind") && layer["kind"].is_string() ? std::string(layer["kind"]) : "";
  if (kind == "linear") {
    check_keys(path, named, layer, linear_keys);
    return advised(name, LinearSizes{of("tokens"), of("in"), of("out")});
  }
  if (kind != "conv2d") {
    throw error_in(path, named + " is neither linear nor conv2d", R"(give it a "kind")");
  }
  check_keys(path, named, layer, conv_keys);
  const ConvSizes conv{of("batch"), of("channels"), of("height"),    of("width"),     of("filters"),
                       of("rows"),  of("columns"),  of("stride", 1), of("padding", 0)};
  const std::string fault = fault_of(conv);
  if (!fault.empty()) {
    throw error_in(path, fmt::format("{} has {}", named, fault), "check its sizes");
  }
  return advised(name, conv);
}

std::optional<double> number(std::string_view text, std::string_view& rest) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return {};
  rest = text.substr(static_cast<std::size_t>(end - text.data()));
  return value;
}

}  // namespace

AdvisedLayer linear_of(std::string_view text) {
  LinearSizes x;
  if (!read_sizes(text, {&x.tokens, &x.in, &x.out})) {
    throw Error(fmt::format("--linear {}: not three sizes; {}", printable(text), linear_help));
  }
  return advised(std::string(text), x);
}

AdvisedLayer conv_of(std::string_view text) {
  ConvSizes x;
  const std::vector<std::string_view> parts = split(text, ':');
  bool good = parts.size() >= 2 &&
              read_sizes(parts[0], {&x.batch, &x.channels, &x.height, &x.width}) &&
              read_sizes(parts[1], {&x.filters, &x.rows, &x.columns});
  std::set<std::string_view> seen;
  for (std::size_t i = 2; good && i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    const std::string_view key = parts[i].substr(0, equals);
    if (!seen.insert(key).second) {
      throw Error(fmt::format("--conv {}: {} is there twice; give it once", printable(text),
                              printable(key)));
    }
    const std::string_view value = equals < parts[i].size() ? parts[i].substr(equals + 1) : "";
    good = (key == "stride" && read_size(value, x.stride)) ||
           (key == "pad" && read_size(value, x.padding));
  }
  if (!good) throw Error(fmt::format("--conv {}: not a layer; {}", printable(text), conv_help));
  const std::string fault = fault_of(x);
  if (!fault.empty()) {
    throw Error(fmt::format("--conv {}: {}; check its sizes", printable(text), fault));
  }
  return advised(std::string(text), x);
}

std::vector<AdvisedLayer> layers_of(const std::string& label, const AdviceJson& json) {
  if (!json.is_object() || !json.contains("layers") || !json["layers"].is_array() ||
      json["layers"].empty()) {
    throw error_in(label, R"(not a JSON object with a list of "layers")",
                   "see binade advise --help for its form");
  }
  check_keys(label, "the file", json, file_keys);
  std::vector<AdvisedLayer> out;
  for (const AdviceJson& layer : json["layers"]) out.push_back(layer_of(label, layer, out.size()));
  return out;
}

std::vector<AdvisedLayer> read_layers(const std::string& path) {
  return layers_of(
      input_name(path),
      parse_strictly(input_name(path), read_text(path, most_bytes_of_layers,
                                                 "see binade advise --help for its form")));
}

std::uint64_t parse_count(std::string_view option, std::string_view text) {
  std::string_view rest;
  const std::optional<double> value = number(text, rest);
  const bool whole =
      value && rest.empty() && *value >= 1 && *value <= 0x1p53 && std::floor(*value) == *value;
  if (whole) return static_cast<std::uint64_t>(*value);
  throw Error(fmt::format("{} {}: not a whole number from 1 to 2^53; write 7000000000 or 7e9",
                          option, printable(text)));
}

std::uint64_t parse_bytes(std::string_view option, std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 13> units{{{"", 1},
                                                                       {"B", 1},
                                                                       {"kB", 1e3},
                                                                       {"KiB", 0x1p10},
                                                                       {"MB", 1e6},
                                                                       {"MiB", 0x1p20},
                                                                       {"GB", 1e9},
                                                                       {"GiB", 0x1p30},
                                                                       {"TB", 1e12},
                                                                       {"TiB", 0x1p40},
                                                                       {"PB", 1e15},
                                                                       {"PiB", 0x1p50},
                                                                       {"EB", 1e18}}};
  std::string_view rest;
  const std::optional<double> value = number(text, rest);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  for (const auto& [unit, bytes] : units) {
    if (value && rest == unit && *value * bytes >= 1 && *value * bytes <= 0x1p60) {
      return static_cast<std::uint64_t>(*value * bytes);
    }
  }
  throw Error(
      fmt::format("{} {}: not an amount of memory; write 80GB or 80GiB", option, printable(text)));
}

}  // namespace binade
