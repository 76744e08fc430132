// SPDX-License-Identifier: Apache-2.0
//
// Makes the table that `binade formats` prints and the README shows.
#include "lib/explain/format_table.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>

#include "lib/explain/rounding_words.h"
#include "lib/explain/shown_encoding.h"
#include "lib/number/encoding_text.h"
#include "lib/number/number_text.h"
#include "lib/text/paragraph.h"

namespace binade {
namespace {

using Json = nlohmann::ordered_json;

/// A cell of the table: one text or, for numbers that are clearer as a formula, two that are
/// aligned apart, "2^-14" and "≈ 6.104e-05".
struct Cell {
  std::string first;
  std::string second = {};
};

struct Column {
  std::string title;
  bool to_the_right = false;
  std::function<Cell(const FormatLimits&)> cell;
};

/// Returns the cell of a number: "65504", "2^-14" with "≈ 6.104e-05", "(2-2^-7)*2^127" with "≈
/// 3.390e+38".
Cell number_cell(const Dyadic& x) {
  const Decimal exact = decimal_of(x);
  const Digits digits = digits_of(exact);
  const std::string formula = formula_text(x);
  const bool whole = digits.exponent + 1 >= static_cast<int>(digits.digits.size());
  const bool power_below_one = formula.starts_with("2^-");
  const bool plain = digits.exponent <= 6 && digits.exponent >= -4 && digits.digits.size() <= 6;
  if (plain && (whole || !power_below_one)) return {exact_text(exact)};
  return {formula, plain ? "= " + exact_text(exact) : "≈ " + short_text(exact)};
}

std::string_view overflow_word(OverflowTo to) {
  switch (to) {
    case OverflowTo::infinity: return "inf";
    case OverflowTo::nan: return "NaN";
    case OverflowTo::largest_finite: return "max";
  }
  return "";
}

std::string specials_words(const Format& f) {
  std::string has;
  switch (f.specials) {
    case Specials::ieee: has = "inf, NaN"; break;
    case Specials::nan_only: has = "NaN"; break;
    case Specials::none: has = "none"; break;
    case Specials::fnuz: has = "NaN"; break;
  }
  std::string lacks;
  if (!f.has_zero) lacks += ", no zero";
  if (!f.has_sign) lacks += ", no sign";
  if (f.has_zero && f.has_sign && !f.has_negative_zero()) lacks += ", no -0";
  return has + lacks;
}

Cell subnormal_cell(const FormatLimits& row) {
  return row.format.has_subnormals() ? number_cell(row.min_positive) : Cell{"none"};
}

/// Returns the widths of sign, exponent and fraction: "1+5+10".
Cell widths_cell(const FormatLimits& row) {
  const Format& f = row.format;
  return {(f.has_sign ? "1+" : "0+") + std::to_string(f.exponent_bits) + "+" +
          std::to_string(f.fraction_bits())};
}

Cell to_zero_cell(const FormatLimits& row) {
  if (!row.format.has_zero) return {"no zero"};
  Cell cell = number_cell(row.to_zero);
  cell.first = "≤ " + cell.first;
  return cell;
}

Cell overflow_cell(const FormatLimits& row) {
  Cell cell = number_cell(row.overflow_tie);
  cell.first = (row.tie_overflows ? "≥ " : "> ") + cell.first;
  return cell;
}

/// Returns a table: titles, then a row for each format, with two spaces between columns and none at
/// the end of a line.
std::string block(std::span<const FormatLimits> rows, const std::vector<Column>& table) {
  std::vector<std::string> lines(rows.size() + 1);
  for (const Column& column : table) {
    std::vector<Cell> cells;
    for (const FormatLimits& row : rows) cells.push_back(column.cell(row));
    std::size_t split = 0;
    for (const Cell& c : cells) {
      if (!c.second.empty()) split = std::max(split, columns_of(c.first));
    }
    std::vector<std::string> texts = {column.title};
    for (const Cell& c : cells) {
      texts.push_back(c.second.empty() ? c.first : left_aligned(c.first, split) + " " + c.second);
    }
    std::size_t width = 0;
    for (const std::string& text : texts) width = std::max(width, columns_of(text));
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::string text =
          column.to_the_right ? right_aligned(texts[i], width) : left_aligned(texts[i], width);
      lines[i] += (lines[i].empty() ? "" : "  ") + text;
    }
  }
  std::string out;
  for (const std::string& line : lines)
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  return out;
}

std::vector<Column> range_columns() {
  const auto number = [](Dyadic FormatLimits::*member) {
    return [member](const FormatLimits& row) { return number_cell(row.*member); };
  };
  const auto integer = [](auto get) {
    return [get](const FormatLimits& row) { return Cell{std::to_string(get(row.format))}; };
  };
  return {
      {"format", false, [](const FormatLimits& row) { return Cell{row.name}; }},
      {"bits", true, integer([](const Format& f) { return f.bits(); })},
      {"s+e+f", false, widths_cell},
      {"p", true, integer([](const Format& f) { return f.precision; })},
      {"emin", true, integer([](const Format& f) { return f.emin(); })},
      {"emax", true, integer([](const Format& f) { return f.emax(); })},
      {"max", false, number(&FormatLimits::max)},
      {"min normal", false, number(&FormatLimits::min_normal)},
      {"min subnormal", false, subnormal_cell},
  };
}

std::vector<Column> threshold_columns() {
  return {
      {"format", false, [](const FormatLimits& row) { return Cell{row.name}; }},
      {"epsilon", false, [](const FormatLimits& row) { return number_cell(row.epsilon); }},
      {"to 0 if |x|", false, to_zero_cell},
      {"overflows if |x|", false, overflow_cell},
      {"to", false,
       [](const FormatLimits& row) { return Cell{std::string(overflow_word(row.overflow_to))}; }},
      {"specials", false, [](const FormatLimits& row) { return Cell{specials_words(row.format)}; }},
  };
}

std::string_view source_of(const Format& format) {
  for (const NamedFormat& row : formats) {
    if (row.format == format) return row.source;
  }
  return "";
}

Json format_limits_json(const FormatLimits& row) {
  const Format& f = row.format;
  const auto number = [](const Dyadic& x) { return json_number(decimal_of(x)); };
  return {{"name", row.name},
          {"source", row.source},
          {"bits", f.bits()},
          {"padding_bits", f.padding_bits},
          {"storage_bits", f.storage_bits()},
          {"exponent_bits", f.exponent_bits},
          {"precision", f.precision},
          {"bias", f.bias},
          {"emin", f.emin()},
          {"emax", f.emax()},
          {"has_sign", f.has_sign},
          {"has_zero", f.has_zero},
          {"has_subnormals", f.has_subnormals()},
          {"has_infinity", f.has_infinity()},
          {"has_nan", f.has_nan()},
          {"specials", specials_name(f.specials)},
          {"max", number(row.max)},
          {"min_normal", number(row.min_normal)},
          {"min_subnormal", f.has_subnormals() ? number(row.min_positive) : Json(nullptr)},
          {"min_positive", number(row.min_positive)},
          {"epsilon", number(row.epsilon)},
          {"to_zero_at_most", f.has_zero ? number(row.to_zero) : Json(nullptr)},
          {"overflow_from", number(row.overflow_tie)},
          {"overflow_from_included", row.tie_overflows},
          {"overflow_to", row.overflow_to == OverflowTo::infinity ? "infinity"
                          : row.overflow_to == OverflowTo::nan    ? "nan"
                                                                  : "max"}};
}

}  // namespace

FormatLimits limits_of(const NamedOrCustom& format) {
  const Format& f = format.format;
  FormatLimits out{.name = format.name, .format = f, .source = source_of(f)};
  out.max = largest_finite(f);
  out.min_normal = {1, f.emin()};
  out.min_positive = finite_magnitude(min_bits(f, false), f);
  out.epsilon = {1, -f.fraction_bits()};
  out.to_zero = {1, f.quantum_exponent() - 1};
  out.overflow_tie = overflow_tie(f);
  out.tie_overflows = overflows(out.overflow_tie, f);
  out.overflow_to = f.has_infinity() ? OverflowTo::infinity
                    : f.has_nan()    ? OverflowTo::nan
                                     : OverflowTo::largest_finite;
  return out;
}

std::string format_table_text(std::span<const FormatLimits> rows) {
  return block(rows, range_columns()) + "\n" + block(rows, threshold_columns());
}

nlohmann::ordered_json format_table_json(std::span<const FormatLimits> rows) {
  Json out{{"schema", "binade.formats/1"}, {"formats", Json::array()}};
  for (const FormatLimits& row : rows) out["formats"].push_back(format_limits_json(row));
  return out;
}

}  // namespace binade
