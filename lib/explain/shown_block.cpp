// SPDX-License-Identifier: Apache-2.0
//
// Computes one block under scale rules, and writes it as text and as JSON.
#include "lib/explain/shown_block.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "lib/explain/literal.h"
#include "lib/format/dtype.h"
#include "lib/text/error.h"
#include "lib/text/paragraph.h"
#include "lib/text/spelling.h"
#include "lib/text/terminal_width.h"

namespace binade {
namespace {

constexpr std::size_t most_shown_numbers = 16384;

/// A number rounded to a format, as binary32.
std::uint32_t binary32_of(std::string_view text, const Format& input) {
  const Literal literal = parse_literal(text);
  if (literal.encoding && !literal.encoding->format) {
    throw Error("'" + printable(std::string(text)) +
                "': a block is made of numbers; write an encoding with its format, such as "
                "binary32:0x3f800000");
  }
  const Projected rounded = project(operand_of(literal), input);
  return static_cast<std::uint32_t>(convert(rounded.bits, input, binary32).bits);
}

/// The numbers between blanks and commas.
std::vector<std::string> typed_numbers(const std::string& text) {
  std::string spaced = text;
  std::ranges::replace(spaced, ',', ' ');
  std::ranges::replace(spaced, '\n', ' ');
  std::vector<std::string> out;
  for (const std::string_view word : split(spaced, ' ')) {
    if (!word.empty()) out.emplace_back(word);
  }
  if (out.empty()) throw Error("--block: no number; write some, as \"0.1 -3 7\"");
  if (out.size() > most_shown_numbers) {
    throw Error(fmt::format("--block: {} numbers are more than the {} that are shown", out.size(),
                            most_shown_numbers));
  }
  return out;
}

/// Elements of one block, where its shape says how many there are.
std::optional<std::size_t> elements_of(const BlockShape& shape) {
  if (shape.rows == 0 || shape.along == 0) return std::nullopt;
  return static_cast<std::size_t>(shape.rows) * static_cast<std::size_t>(shape.along);
}

std::vector<const NamedScaleRule*> chosen_rules(const ShowBlockQuestion& question,
                                                const NamedOrCustomBlock& format) {
  std::vector<const NamedScaleRule*> out;
  if (question.rules.empty()) out.push_back(&parse_scale_rule("", format));
  for (const std::string& name : question.rules) {
    if (name != "all") {
      out.push_back(&parse_scale_rule(name, format));
      continue;
    }
    for (const NamedScaleRule& row : scale_rules) {
      if (fits(row, format.format)) out.push_back(&row);
    }
    if (out.empty()) parse_scale_rule("", format);  // says that none fits
  }
  return out;
}

/// The format of the numbers of a tensor.
Format input_format(const std::string& name) {
  if (name.empty()) return binary32;
  const Dtype dtype = parse_dtype(name);
  const auto out = dtype.kind == DtypeKind::floating ? find_format(dtype.format) : std::nullopt;
  if (out && fits_in(*out, binary32)) return *out;
  throw Error("--dtype: a block is made of numbers of binary32, which has not all of " +
              printable(name) + "; choose bfloat16, binary16 or binary32");
}

Attributes element_attributes(const std::string& rounding) {
  Attributes out{.saturation = Saturation::finite};
  if (rounding.empty()) return out;
  const std::optional<Rounding> found = find_rounding(rounding);
  if (!found || *found == Rounding::stochastic) {
    const std::vector<std::string_view> known =
        names_of(std::span(roundings).first(roundings.size() - 1));
    throw Error("--rounding: '" + printable(rounding) + "' does not round a block; " +
                alternatives(known) + " do");
  }
  out.rounding = *found;
  return out;
}

/// The outcome of one rule.
BlockOutcome outcome_of(const NamedScaleRule& row, const ShownBlock& block,
                        const Attributes& attributes) {
  const BlockFormat& format = block.format.format;
  BlockOutcome out{.rules = {&row}};
  std::uint32_t amax = 0;
  const ScaleRule rule = rule_for(row, block.input);
  for (const std::uint32_t x : block.numbers) amax = next_amax(rule, amax, x);
  out.tensor = tensor_scale(rule, format, std::max(amax, block.tensor_amax));
  out.scale =
      chosen_scale(rule, format, block.numbers.data(), block.numbers.size(), amax, out.tensor);
  double squares = 0;
  for (const std::uint32_t x : block.numbers) {
    out.codes.push_back(block_element(rule, format, out.scale, x, attributes).bits);
    const Exact value = block_value(format, out.codes.back(), out.scale.code, out.tensor.decode);
    // Three factors of 11, 24 and 24 bits at most, of which a wide scale stands alone: 48 bits.
    out.values.push_back(std::bit_cast<double>(project(value, binary64).bits));
    const double error = out.values.back() - static_cast<double>(std::bit_cast<float>(x));
    squares += error * error;
  }
  const double mean = squares / static_cast<double>(block.numbers.size());
  if (std::isfinite(mean)) out.rms_error = std::sqrt(mean);
  return out;
}

/// Whether two rules give the same numbers, written alike.
bool is_same_block(const BlockOutcome& a, const BlockOutcome& b) {
  return a.scale.code == b.scale.code && a.tensor.decode == b.tensor.decode && a.codes == b.codes;
}

int hex_digits(const Format& f) { return (f.bits() + 3) / 4; }

std::string number_text(double x) { return std::isnan(x) ? "NaN" : fmt::format("{:.7g}", x); }
std::string number_text(std::uint32_t bits) { return number_text(std::bit_cast<float>(bits)); }

std::string scale_text(const BlockFormat& format, std::uint32_t code) {
  const Exact x = decode(code, format.scale);
  const std::string bits = fmt::format("{:0{}X}", code, hex_digits(format.scale));
  if (x.kind == Kind::nan) return bits + " = NaN";
  if (format.scale == e8m0) return fmt::format("{} = 2^{}", bits, static_cast<int>(code) - 127);
  return bits + " = " +
         number_text(std::bit_cast<float>(
             static_cast<std::uint32_t>(convert(code, format.scale, binary32).bits)));
}

/// A, B, … Z, AA, AB, …
std::string outcome_letter(std::size_t i) {
  return (i < 26 ? "" : outcome_letter(i / 26 - 1)) + static_cast<char>('A' + i % 26);
}

std::string outcome_line(const ShownBlock& block, std::size_t i) {
  const BlockOutcome& x = block.outcomes[i];
  std::string text = fmt::format("  {}  scale {}", outcome_letter(i),
                                 scale_text(block.format.format, x.scale.code));
  if (block.format.format.tensor_scale) {
    text += " · " + number_text(x.tensor.decode) + " of the tensor";
  }
  text +=
      fmt::format(", rms error {}: ", x.rms_error ? fmt::format("{:.4g}", *x.rms_error) : "NaN");
  for (const NamedScaleRule* rule : x.rules) {
    text += fmt::format("{}{}{}", rule == x.rules.front() ? "" : ", ", rule->name,
                        rule->open.empty() ? "" : "*");
  }
  return wrapped_to_terminal(text, 5);
}

}  // namespace

ShownBlock shown_block(const ShowBlockQuestion& question) {
  if (!names_block_format(question.format)) {
    parse_format(question.format);  // says what is wrong with a name that is neither
    throw Error("--block: " + printable(question.format) +
                " has no blocks; --format is a block format, such as mxfp4, nvfp4 or " +
                printable(question.format) + ":block=1x32:scale=e8m0");
  }
  ShownBlock out{.format = parse_block_format(question.format)};
  const std::vector<const NamedScaleRule*> rules = chosen_rules(question, out.format);
  const Attributes attributes = element_attributes(question.rounding);
  out.typed = typed_numbers(question.numbers);
  out.input = input_format(question.input);
  for (const std::string& text : out.typed) out.numbers.push_back(binary32_of(text, out.input));
  if (const auto whole = elements_of(out.format.format.shape)) {
    if (out.numbers.size() > *whole) {
      throw Error(fmt::format("--block: {} numbers, and a block of {} has {}", out.numbers.size(),
                              out.format.name, *whole));
    }
    out.padding = *whole - out.numbers.size();
  }
  for (const std::uint32_t x : out.numbers) {
    out.amax = next_amax({.nan_is_amax = false}, out.amax, x);
  }
  if (!question.tensor_amax.empty()) {
    if (!out.format.format.tensor_scale) {
      throw Error("--tensor-amax: " + out.format.name + " has no scale of the tensor");
    }
    out.tensor_amax = binary32_of(question.tensor_amax, out.input);
    if (out.tensor_amax > 0x7FFFFFFF) {
      throw Error("--tensor-amax: " + printable(question.tensor_amax) +
                  " is negative, and a largest magnitude is not");
    }
    if (out.tensor_amax < out.amax) {
      throw Error("--tensor-amax: " + printable(question.tensor_amax) + " is less than " +
                  number_text(out.amax) + ", the largest magnitude of the block");
    }
  }
  for (const NamedScaleRule* rule : rules) {
    BlockOutcome next = outcome_of(*rule, out, attributes);
    const auto same = std::ranges::find_if(
        out.outcomes, [&](const BlockOutcome& x) { return is_same_block(x, next); });
    if (same == out.outcomes.end()) {
      out.outcomes.push_back(std::move(next));
    } else if (std::ranges::find(same->rules, rule) == same->rules.end()) {
      same->rules.push_back(rule);
    }
  }
  return out;
}

std::string shown_block_text(const ShownBlock& x) {
  const BlockFormat& format = x.format.format;
  std::string text = fmt::format("{}: {} number{}, amax {}", x.format.name, x.numbers.size(),
                                 x.numbers.size() == 1 ? "" : "s", number_text(x.amax));
  if (x.padding > 0) text += fmt::format("; {} zeros fill the block", x.padding);
  text += "\n";
  bool some_open = false;
  for (std::size_t i = 0; i < x.outcomes.size(); ++i) {
    text += outcome_line(x, i);
    some_open = some_open || std::ranges::any_of(x.outcomes[i].rules, [](const auto* rule) {
                  return !rule->open.empty();
                });
  }
  // A column for each outcome: code and value, marked where the first one's are others.
  std::vector<std::vector<std::string>> columns{{"  number"}};
  for (const std::string& typed : x.typed) columns[0].push_back("  " + typed);
  for (std::size_t i = 0; i < x.outcomes.size(); ++i) {
    const BlockOutcome& outcome = x.outcomes[i];
    std::vector<std::string> column{"  " + outcome_letter(i)};
    for (std::size_t j = 0; j < outcome.codes.size(); ++j) {
      const std::string value = number_text(outcome.values[j]);
      column.push_back(fmt::format("{} {:0{}X}  {}",
                                   value == number_text(x.outcomes[0].values[j]) ? " " : "≠",
                                   outcome.codes[j], hex_digits(format.element), value));
    }
    columns.push_back(std::move(column));
  }
  text += "\n" + side_by_side(columns);
  if (some_open)
    text +=
        "\n* open in part, since theirs is approximate or not specified; `binade formats "
        "--scale-rules` says what\n";
  return text;
}

nlohmann::ordered_json shown_block_json(const ShownBlock& x) {
  using Json = nlohmann::ordered_json;
  const auto hex = [](std::uint64_t bits, const Format& f) {
    return fmt::format("{:0{}X}", bits, hex_digits(f));
  };
  const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
  const BlockFormat& format = x.format.format;
  Json outcomes = Json::array();
  for (const BlockOutcome& outcome : x.outcomes) {
    Json rules = Json::array(), codes = Json::array(), values = Json::array();
    for (const NamedScaleRule* rule : outcome.rules) {
      rules.push_back({{"name", rule->name}, {"source", rule->source}});
      if (!rule->open.empty()) rules.back()["open"] = rule->open;
    }
    for (const std::uint64_t code : outcome.codes) codes.push_back(hex(code, format.element));
    for (const double value : outcome.values) values.push_back(number(value));
    Json one{{"rules", rules}, {"scale", hex(outcome.scale.code, format.scale)}};
    if (format.tensor_scale) one["tensor_scale"] = hex(outcome.tensor.decode, binary32);
    one["codes"] = codes;
    one["values"] = values;
    one["rms_error"] = outcome.rms_error ? number(*outcome.rms_error) : Json();
    outcomes.push_back(std::move(one));
  }
  Json numbers = Json::array();
  for (const std::uint32_t bits : x.numbers) numbers.push_back(hex(bits, binary32));
  return {{"schema", "binade.show_block/1"}, {"format", x.format.name}, {"numbers", numbers},
          {"amax", hex(x.amax, binary32)},   {"padding", x.padding},    {"outcomes", outcomes}};
}

}  // namespace binade
