// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes specifications of block formats, and finds scale rules.
#include "lib/format/block_spec.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "lib/format/format_spec.h"
#include "lib/text/error.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

constexpr std::array<std::string_view, 3> block_parts{"block", "scale", "tensor"};

using NamedShape = std::pair<std::string_view, BlockShape>;
constexpr std::array<NamedShape, 3> named_shapes{
    {{"row", {1, 0}}, {"column", {0, 1}}, {"tensor", {0, 0}}}};

/// Most rows, and most elements along K, of a block.
constexpr int most_in_block = 65536;

Error wrong_block(std::string_view text, const std::string& what) {
  return Error("block format '" + printable(text) + "': " + what);
}

std::optional<int> side_of_block(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && value >= 1 && value <= most_in_block ? std::optional(value) : std::nullopt;
}

BlockShape shape_of(std::string_view value, std::string_view whole) {
  for (const auto& [name, shape] : named_shapes) {
    if (name == value) return shape;
  }
  const std::size_t x = value.find('x');
  const auto rows = side_of_block(value.substr(0, x));
  const auto along =
      x == std::string_view::npos ? std::nullopt : side_of_block(value.substr(x + 1));
  if (rows && along) return {*rows, *along};
  throw wrong_block(whole, "block is rows x elements along K, such as 1x32 or 128x128 (of 1 to " +
                               std::to_string(most_in_block) +
                               "), or row, column or tensor; not '" + printable(value) + "'");
}

/// The scale formats that some rule gives.
std::vector<std::string_view> scale_formats() {
  std::vector<std::string_view> out;
  for (const NamedScaleRule& rule : scale_rules) {
    if (std::ranges::find(out, format_name(rule.scale)) == out.end()) {
      out.push_back(format_name(rule.scale));
    }
  }
  return out;
}

void set_part(BlockFormat& f, std::string_view key, std::string_view value,
              std::string_view whole) {
  if (key == "block") {
    f.shape = shape_of(value, whole);
  } else if (key == "scale") {
    const std::vector<std::string_view> known = scale_formats();
    const std::string_view name = table_name_of(value);
    if (std::ranges::find(known, name) == known.end()) {
      throw wrong_block(whole, "scale is " + alternatives(known) + ", not '" + printable(value) +
                                   "'" + did_you_mean(value, known));
    }
    f.scale = *find_format(name);
  } else if (value == "yes" || value == "no") {
    f.tensor_scale = value == "yes";
  } else {
    throw wrong_block(whole, "tensor is yes or no, not '" + printable(value) + "'");
  }
}

bool is_block_part(std::string_view part) {
  const std::string_view key = part.substr(0, part.find('='));
  return part.find('=') != std::string_view::npos &&
         std::ranges::find(block_parts, key) != block_parts.end();
}

/// Throws Error where a block format is none that the toolkit computes with.
void check_block(const BlockFormat& f, std::string_view whole) {
  if (!fits_in(f.element, binary32) || f.element.precision > 11 || !f.element.has_zero ||
      !f.element.has_sign || f.element.padding_bits != 0) {
    throw wrong_block(whole,
                      "elements are of a format with sign and zero, of at most 11 bits of "
                      "precision, that binary32 holds, such as e2m1, e4m3 or e5m2");
  }
  if (f.tensor_scale && f.scale != ue4m3) {
    throw wrong_block(whole, "a scale of the tensor lies over scales of ue4m3 alone");
  }
}

}  // namespace

const char* const block_spec_help =
    "A block format is a name from `binade formats`, or your own: the format of the elements and\n"
    "  :block=RxN       R rows times N elements along K share a scale; or row, column, tensor\n"
    "  :scale=FORMAT    e8m0 (powers of two), ue4m3 or binary32\n"
    "  :tensor=yes|no   whether a second scale, of binary32, lies over the tensor\n"
    "as in e2m1:block=1x32:scale=e8m0. Parts after a name replace its own: nvfp4:block=16x16.";

bool names_block_format(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ':');
  if (find_block_format(lower_case(parts[0]))) return true;
  return std::ranges::any_of(parts.begin() + 1, parts.end(), &is_block_part);
}

NamedOrCustomBlock parse_block_format(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ':');
  BlockFormat f;
  std::size_t next = 1;
  if (const auto named = find_block_format(lower_case(parts[0]))) {
    f = *named;
  } else {
    // What stands before the first part of a block is the elements' format.
    std::string element(parts[0]);
    while (next < parts.size() && !is_block_part(parts[next])) {
      element += ':';
      element += parts[next++];
    }
    f.element = parse_format(element).format;
    const bool has_block = std::ranges::any_of(
        parts.begin() + 1, parts.end(), [](auto part) { return part.starts_with("block="); });
    if (!has_block) {
      throw wrong_block(text, "says not which elements share a scale; add :block=1x32");
    }
  }
  for (; next < parts.size(); ++next) {
    if (!is_block_part(parts[next])) {
      throw wrong_block(text, "no such part '" + printable(parts[next]) + "'; the parts are " +
                                  listed(block_parts) + ", each as :name=value");
    }
    const std::size_t equals = parts[next].find('=');
    set_part(f, parts[next].substr(0, equals), parts[next].substr(equals + 1), text);
  }
  check_block(f, text);
  return {spec_of(f), f};
}

std::string shape_words(const BlockShape& shape) {
  for (const auto& [name, known] : named_shapes) {
    if (known == shape) return std::string(name);
  }
  return std::to_string(shape.rows) + "x" + std::to_string(shape.along);
}

std::string spec_of(const BlockFormat& format) {
  for (const NamedBlockFormat& row : block_formats) {
    if (row.format == format) return std::string(row.name);
  }
  std::string out;
  BlockFormat base = format;
  if (format.twos_complement) {
    base = *find_block_format("mxint8");
    out = "mxint8";
  } else {
    out = spec_of(format.element);
  }
  out += ":block=" + shape_words(format.shape);
  if (!format.twos_complement || base.scale != format.scale) {
    out += ":scale=" + spec_of(format.scale);
  }
  if (format.tensor_scale) out += ":tensor=yes";
  return out;
}

const NamedScaleRule& parse_scale_rule(std::string_view name, const NamedOrCustomBlock& format) {
  if (const NamedScaleRule* const found = find_scale_rule(name, format.format)) return *found;
  std::vector<std::string_view> fitting;
  for (const NamedScaleRule& row : scale_rules) {
    if (fits(row, format.format)) fitting.push_back(row.name);
  }
  if (fitting.empty()) {
    throw Error("no scale rule gives scales of " + format.name +
                "; `binade formats --scale-rules` lists what each rule is for");
  }
  const bool is_known =
      std::ranges::any_of(scale_rules, [&](const NamedScaleRule& row) { return row.name == name; });
  throw Error((is_known ? "scale rule " + printable(name) + " is not for " + format.name
                        : "unknown scale rule '" + printable(name) + "'") +
              (is_known ? "" : did_you_mean(name, fitting)) + "; rules for " + format.name +
              " are " + listed(fitting));
}

}  // namespace binade
