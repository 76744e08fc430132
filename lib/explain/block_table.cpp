// SPDX-License-Identifier: Apache-2.0
//
// Writes block formats and scale rules as tables.
#include "lib/explain/block_table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "lib/format/format_spec.h"
#include "lib/text/paragraph.h"
#include "lib/text/spelling.h"
#include "lib/text/terminal_width.h"

namespace binade {
namespace {

using Json = nlohmann::ordered_json;

// The words of the steps, in the order of their enumerations (emulate/scale_rule.h): m is the
// largest number of the elements, c that of the scales.
constexpr std::array<std::string_view, 12> quotient_words{
    "amax",
    "amax / 2^p, the power of two not above m",
    "amax / m",
    "m / amax, of which it is the reciprocal",
    "(1 / max(amax, 1e-12)) · m in binary64, of which it is the reciprocal",
    "amax · (S · (1/m)), where S = m·c / amax of the tensor",
    "(amax / m) / s, where s = amax of the tensor / (m·c)",
    "amax / (s·m), or 1 for 0, where s = amax of the tensor / (m·c)",
    "((amax / m) · c) / (amax of the tensor / m), where amax / m = 0 counts as 1",
    "S · (amax · (1/m)), where S = m·c / amax of the tensor",
    "(amax / m) · S, where S = m·c / amax of the tensor",
    "(amax / m) · S, where S = (1 / amax of the tensor) · (m·c), or 1 where that is infinite"};
constexpr std::array<std::string_view, 7> scale_rounding_words{
    "to nearest even",
    "the power of two not above it",
    "the power of two not below it",
    "the power of two not below it, where subnormal numbers are 2^-126",
    "to the elements' precision, ties up, then the power of two not above it",
    "to a precision of 2, ties up, then the power of two not above it",
    "2^ceil(log2), of log2 in binary32"};
constexpr std::array<std::string_view, 18> factor_step_words{
    "x · 1/scale",
    "x · 1/scale; 0 where the code of the scale is 0",
    "x · 1/scale; 0 where the code of the scale is 0 or FF",
    "x · 1/scale; 0 where the code of the scale is FF",
    "x / max(scale, 2^-126); 0 where the code of the scale is FF",
    "x · 1/scale; x where the code of the scale is 0",
    "x · 1/scale, flushed, as is a scale of code 0; 0 where the quotient is 0",
    "x / scale",
    "x · (1/scale)",
    "x · that quotient",
    "x · (1 / (scale · (1/S))), at most the largest number of binary32",
    "x · ((1/s) / scale)",
    "x / (scale · s)",
    "x / (scale / S)",
    "x · (1 / (scale · (1/S))), flushed; 0 where the code of the scale is 0",
    "x · (1 / (scale · (1/S))), flushed; 0 where amax is 0",
    "x · (1 / (scale · (1/S))), flushed; 0 where the quotient is 0",
    "x · (S / scale in bfloat16), at most its largest number"};
constexpr std::array<std::string_view, 5> nan_element_words{
    "", "NaN becomes 0", "NaN becomes the most negative number", "NaN becomes the largest number",
    "NaN becomes a number of its bits"};
constexpr std::array<std::string_view, 3> factor_rounding_words{
    "", "; m / amax down to a power of two", "; m / amax to 2^floor(log2), of log2 in binary32"};
constexpr std::array<std::string_view, 4> zero_sign_words{"", "-0 becomes +0", "+0 becomes -0",
                                                          "results have no -0"};

constexpr std::array<std::string_view, 5> four_words{
    "", "the sum of |error|", "the sum of error²",
    "the sum of |error| before the scale of the tensor",
    "the sum of error² before the scale of the tensor"};

template <class Words, class Step>
std::string_view word_of_step(const Words& words, Step step) {
  return words[static_cast<std::size_t>(step)];
}

std::string plain_number(std::uint32_t bits) {
  return fmt::format("{}", std::bit_cast<float>(bits));
}

/// Returns what the scales of a rule are, and of which elements: "e8m0 of e4m3, e5m2".
std::string scope_of(const NamedScaleRule& row) {
  std::string out = std::string(format_name(row.scale)) + " scales";
  if (row.tensor_scale) out += " under one of the tensor";
  std::vector<std::string_view> elements;
  for (const Format& element : row.elements) {
    if (element != Format{}) elements.push_back(format_name(element));
  }
  return out + " of " + (elements.empty() ? "any elements" : listed(elements));
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// Returns what of a rule depends on the dtype of the numbers.
std::string_view steps_of_input(Quotient quotient) {
  switch (quotient) {
    case Quotient::max_over: return "; the largest number of the dtype of x where it is infinite";
    case Quotient::over_max: return "; in the dtype of x";
    default: return "; amax / m and S in the dtype of x";
  }
}

std::string scale_step_of(const NamedScaleRule& row) {
  const ScaleRule& rule = row.rule;
  std::string out(word_of_step(quotient_words, rule.quotient));
  if (rule.encode_is_given) out += ", given by the caller";
  if (rule.by_reciprocal) {
    out = replaced(replaced(out, " / m", " · (1/m)"), " / (m·c)", " · (1/(m·c))");
  }
  if (row.steps_of_input) {
    out += steps_of_input(rule.quotient);
  } else if (rule.quotient == Quotient::max_over && rule.one_if_unusable) {
    out += "; the largest number of binary32 where it is infinite";
  }
  out += rule.nan_is_amax ? "; NaN counts" : "; NaN is passed over";
  if (rule.flushes) out += "; what is subnormal is 0";
  if (rule.least_amax != 0) out += "; amax at least " + plain_number(rule.least_amax);
  if (rule.least_quotient != 0) out += "; at least " + plain_number(rule.least_quotient);
  if (rule.one_if_unusable) out += "; 1 where amax is 0 or infinite";
  out += word_of_step(factor_rounding_words, rule.factor_rounding);
  if (row.scale == binary32) return out;
  if (rule.largest_scale != 0) out += fmt::format("; c is {}", rule.largest_scale);
  out += "; " + std::string(word_of_step(scale_rounding_words, rule.rounding));
  if (const std::string_view words = word_of_step(four_words, rule.four_or_six); !words.empty()) {
    out += "; that, or 1.5 times as much, under which amax becomes 4, where " + std::string(words) +
           " is less";
  }
  if (rule.quotient == Quotient::amax) out += ", over that of m";
  if (rule.zero_code != as_computed)
    out += fmt::format("; {:02X} in the place of 00", rule.zero_code);
  if (rule.first_code != 0) out += fmt::format("; from code {:02X}", rule.first_code);
  if (rule.last_code != 0xFF) out += fmt::format("; to code {:02X}", rule.last_code);
  if (rule.inf_code != as_computed) out += fmt::format("; Inf gives {:02X}", rule.inf_code);
  if (rule.nan_code != as_computed) out += fmt::format("; NaN gives {:02X}", rule.nan_code);
  return out;
}

std::string element_step_of(const NamedScaleRule& row) {
  const ScaleRule& rule = row.rule;
  std::string out(word_of_step(factor_step_words, rule.factor));
  if (!row.tensor_scale) out = replaced(out, "(1 / (scale · (1/S))), flushed", "(1/scale)");
  if (rule.encode_is_given) out = replaced(out, "(1/s)", "S");
  if (rule.flushes) out += "; what is subnormal is 0";
  if (rule.cast.ties != Rounding::ties_to_even) {
    out += "; " + std::string(rounding_name(rule.cast.ties));
  }
  for (const std::string_view words : {word_of_step(nan_element_words, rule.cast.nan),
                                       word_of_step(zero_sign_words, rule.cast.zero)}) {
    if (!words.empty()) out += "; " + std::string(words);
  }
  return out;
}

/// Elements of a block; nothing where they depend on the tensor.
std::optional<int> elements_in(const BlockShape& shape) {
  if (shape.rows == 0 || shape.along == 0) return std::nullopt;
  return shape.rows * shape.along;
}

double bits_of_number(const BlockFormat& f) {
  const std::optional<int> elements = elements_in(f.shape);
  const double scale = f.scale == ue4m3 ? 8 : f.scale.bits();
  return f.element.bits() + (elements ? scale / *elements : 0);
}

std::string element_name(const BlockFormat& f) {
  return f.twos_complement ? fmt::format("int{}", f.element.bits()) : spec_of(f.element);
}

std::string_view source_of_block(const BlockFormat& format) {
  for (const NamedBlockFormat& row : block_formats) {
    if (row.format == format) return row.source;
  }
  return "";
}

}  // namespace

std::string block_table_text(std::span<const NamedOrCustomBlock> rows) {
  std::vector<std::vector<std::string>> columns{
      {"block format"}, {"elements"}, {"share a scale"}, {"scale"}, {"of the tensor"},
      {"bits"},         {""}};
  for (const NamedOrCustomBlock& row : rows) {
    const BlockFormat& f = row.format;
    const auto cells = std::to_array<std::string>(
        {row.name, element_name(f), shape_words(f.shape), std::string(format_name(f.scale)),
         f.tensor_scale ? "binary32" : "", fmt::format("{:g}", bits_of_number(f)),
         std::string(source_of_block(f))});
    for (std::size_t i = 0; i < cells.size(); ++i) columns[i].push_back(cells[i]);
  }
  return side_by_side(columns);
}

nlohmann::ordered_json block_table_json(std::span<const NamedOrCustomBlock> rows) {
  Json out = Json::array();
  for (const NamedOrCustomBlock& row : rows) {
    const BlockFormat& f = row.format;
    out.push_back({{"name", row.name},
                   {"source", source_of_block(f)},
                   {"element", element_name(f)},
                   {"block", shape_words(f.shape)},
                   {"scale", format_name(f.scale)},
                   {"tensor_scale", f.tensor_scale},
                   {"bits_per_number", bits_of_number(f)}});
  }
  return out;
}

std::vector<const NamedScaleRule*> rules_for(std::span<const NamedOrCustomBlock> chosen) {
  std::vector<const NamedScaleRule*> out;
  for (const NamedScaleRule& row : scale_rules) {
    const bool fits_some = std::ranges::any_of(
        chosen, [&](const NamedOrCustomBlock& format) { return fits(row, format.format); });
    if (chosen.empty() || fits_some) out.push_back(&row);
  }
  return out;
}

std::string scale_rules_text(std::span<const NamedScaleRule* const> rules) {
  std::string out;
  for (const NamedScaleRule* row : rules) {
    out += wrapped_to_terminal(fmt::format("{}: {}", row->name, scope_of(*row)), 2);
    out += wrapped_to_terminal("  scale    " + scale_step_of(*row), 11);
    out += wrapped_to_terminal("  element  " + element_step_of(*row), 11);
    if (!row->open.empty()) out += wrapped_to_terminal("  open     " + std::string(row->open), 11);
    out += wrapped_to_terminal("  source   " + std::string(row->source), 11);
  }
  return out;
}

nlohmann::ordered_json scale_rules_json(std::span<const NamedScaleRule* const> rules) {
  Json out = Json::array();
  for (const NamedScaleRule* row : rules) {
    Json elements = Json::array();
    for (const Format& element : row->elements) {
      if (element != Format{}) elements.push_back(format_name(element));
    }
    Json one{{"name", row->name},
             {"scale", format_name(row->scale)},
             {"tensor_scale", row->tensor_scale},
             {"elements", elements},
             {"scale_step", scale_step_of(*row)},
             {"element_step", element_step_of(*row)},
             {"source", row->source}};
    if (!row->open.empty()) one["open"] = row->open;
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace binade
