// SPDX-License-Identifier: Apache-2.0
//
// Draws the ladder of bits. Left of the line is what the hardware keeps, right of it what it cuts
// off; a dot stands where a number has no bit:
//
//              2^3                       2^-22 │ cut off
//     c      + ··1011                          │
//     k 0    - 1010000000000000000000000000000 │011
//     sum    - …
//     result - …
#include "lib/explain/ladder_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/explain/explanation_words.h"
#include "lib/explain/ladder.h"
#include "lib/number/number_text.h"
#include "lib/text/paragraph.h"

namespace binade {
namespace {

constexpr int name_columns = 7;
constexpr int line_columns = 100;
constexpr int amount_columns = 24;  ///< "cut " and a number of 20

struct Colors {
  std::string_view kept, alignment, floor, rounded, soft, off;
};
constexpr Colors colorful{"\x1b[1m", "\x1b[31m", "\x1b[35m", "\x1b[33m", "\x1b[2m", "\x1b[0m"};
constexpr Colors plain{};

std::string_view color_of(BitFate fate, const Colors& colors) {
  switch (fate) {
    case BitFate::kept: return colors.kept;
    case BitFate::cut_by_alignment: return colors.alignment;
    case BitFate::cut_by_floor: return colors.floor;
    case BitFate::rounded_off: return colors.rounded;
  }
  return {};
}

/// Writes the bits of one row; '·' stands where a number has none.
class TextRow {
 public:
  TextRow(const Ladder& ladder, int cut_columns, const Colors& colors)
      : ladder_(ladder), lowest_(ladder.unit - cut_columns), colors_(colors) {}

  /// Bits of a weight below `rounded_below` are not in the result.
  std::string text(const ExactNumber& x, int rounded_below) const {
    std::string out;
    for (int weight = ladder_.highest; weight >= lowest_; --weight) {
      if (weight == ladder_.unit - 1) out += line();
      out += cell(x, weight, rounded_below);
    }
    if (lowest_ == ladder_.unit) out += line();
    const bool more = !x.is_zero() && x.exponent < lowest_;
    return out + (more ? "…" : " ");
  }

 private:
  std::string line() const { return fmt::format("{}│{}", colors_.soft, colors_.off); }
  std::string cell(const ExactNumber& x, int weight, int rounded_below) const {
    const bool inside = !x.is_zero() && weight <= x.leading_exponent() && weight >= x.exponent;
    if (!inside) {
      const bool cut = weight < ladder_.unit;
      return cut ? " " : fmt::format("{}·{}", colors_.soft, colors_.off);
    }
    const BitFate fate = ladder_.fate(weight) == BitFate::kept && weight < rounded_below
                             ? BitFate::rounded_off
                             : ladder_.fate(weight);
    return fmt::format("{}{}{}", color_of(fate, colors_), x.bit(weight) ? '1' : '0', colors_.off);
  }

  const Ladder& ladder_;
  int lowest_;
  const Colors& colors_;
};

std::string operand_text(const Typed& x) { return bits_text(x) + " " + brief_value_text(x, 18); }

/// Returns the line of a product, or of a group with its scales.
std::string product_line(const std::string& name, const std::string& a, const std::string& b,
                         const std::optional<ExactNumber>& exact) {
  std::string line =
      fmt::format("  {}{} * {}", left_aligned(name, name_columns), left_aligned(a, 26), b);
  if (exact) line = left_aligned(line, 65) + " = " + brief_text(*exact, 30);
  return line + "\n";
}

/// Returns the lines of a group's products that are not zero, its sum and the scales.
std::string group_text(const ExplainedTerm& term) {
  std::string out;
  std::vector<int> places;
  for (const ExplainedProduct& x : term.group) {
    places.push_back(x.place);
    const ExactNumber product = value_of(x.a) * value_of(x.b);
    if (product.is_zero()) continue;
    out +=
        product_line(fmt::format("k {}", x.place), operand_text(x.a), operand_text(x.b), product);
  }
  out += fmt::format("  sum of {}: {}; scales {} * {}", places_text(places),
                     brief_text(term.unscaled, 18), operand_text(*term.a_scale),
                     operand_text(*term.b_scale));
  const bool is_number = term.kind == Kind::finite || term.kind == Kind::zero;
  return out + (is_number ? " = " + brief_text(term.exact, 24) : "") + "\n";
}

std::string products_text(const ExplainedBlock& block) {
  std::string out;
  std::size_t zeros = 0;
  const ExplainedTerm* told = nullptr;  // of the products whose scales were told last
  for (const ExplainedTerm& term : block.terms) {
    const std::string name = left_aligned(term_name(term, block), name_columns);
    if (term.place == addend_place) {
      out += fmt::format("  {}{} {}\n", name, bits_text(term.a), brief_value_text(term.a, 48));
      continue;
    }
    if (!term.group.empty()) {
      if (term.kind == Kind::zero) zeros += term.group.size();
      if (term.kind != Kind::zero) out += group_text(term);
      continue;
    }
    const auto bits = [](const ExplainedTerm& x) { return x.a_scale->bits << 8 | x.b_scale->bits; };
    if (term.a_scale && (told == nullptr || bits(*told) != bits(term))) {
      told = &term;
      out += fmt::format("  scales {} * {}, by which the products are multiplied\n",
                         operand_text(*term.a_scale), operand_text(*term.b_scale));
    }
    if (term.kind == Kind::zero) {
      ++zeros;
      continue;
    }
    const bool is_number = term.kind == Kind::finite;
    const ExactNumber& value = term.a_scale ? term.unscaled : term.exact;
    out += product_line(term_name(term, block), operand_text(term.a), operand_text(term.b),
                        is_number ? std::optional(value) : std::nullopt);
  }
  if (zeros > 0) {
    out += fmt::format("  and {} product{} that {} zero\n", zeros, zeros == 1 ? "" : "s",
                       zeros == 1 ? "is" : "are");
  }
  return out;
}

/// Returns how much was cut off a term, and a mark for the cause.
std::string cut_text(const ExplainedTerm& term) {
  if (term.cut().is_zero()) return {};
  const bool both = !term.cut_by_alignment.is_zero() && !term.cut_by_floor.is_zero();
  return fmt::format("cut {}{}", brief_text(term.cut(), 20 - (both ? 1 : 0)),
                     term.cut_by_floor.is_zero() ? ""
                     : both                      ? "†"
                                                 : "*");
}

/// Returns the line above the ladder: the weights of the first and the last kept column.
std::string scale_text(const Ladder& ladder) {
  const std::string first = fmt::format("2^{}", ladder.highest);
  const std::string last = fmt::format("2^{}", ladder.unit);
  const int room = ladder.kept_columns() - static_cast<int>(first.size());
  return std::string(2 + name_columns + 2, ' ') + first +
         right_aligned(last,
                       static_cast<std::size_t>(std::max(room, 1 + static_cast<int>(last.size()))));
}

std::string ladder_lines(const ExplainedBlock& block, const Colors& colors) {
  const Ladder ladder = ladder_of(block);
  const int room =
      line_columns - (2 + name_columns + 2) - ladder.kept_columns() - 2 - 1 - amount_columns;
  const int cut_columns = std::min(ladder.cut_columns(), room);
  const TextRow row(ladder, cut_columns, colors);
  const auto line = [&](const std::string& name, bool negative, const ExactNumber& x,
                        int rounded_below, const std::string& amount) {
    std::string out = fmt::format("  {}{} {} {}", left_aligned(name, name_columns),
                                  negative ? '-' : '+', row.text(x, rounded_below), amount);
    while (out.ends_with(' ')) out.pop_back();
    return out + "\n";
  };
  std::string out = scale_text(ladder) + (cut_columns > 0 ? " cut off" : "") + "\n";
  for (const ExplainedTerm& term : block.terms) {
    if (term.kind == Kind::zero) continue;
    out += line(term_name(term, block), term.negative, term.exact, ladder.lowest, cut_text(term));
  }
  const bool rounded = block.rounding_error && !block.rounding_error->is_zero();
  const std::string off = rounded ? "rounding " + brief_text(*block.rounding_error, 15) : "";
  out += line("sum", block.sum.negative, block.sum, last_place(block), off);
  if (!is_number(block.result)) return out;
  const ExactNumber result = value_of(block.result);
  return out + line("result", decode(block.result.bits, block.result.format).negative, result,
                    ladder.lowest, "");
}

std::string floor_note(const ExplainedBlock& block) {
  const bool floor = std::ranges::any_of(
      block.terms, [](const ExplainedTerm& term) { return !term.cut_by_floor.is_zero(); });
  const bool both = std::ranges::any_of(block.terms, [](const ExplainedTerm& term) {
    return !term.cut_by_floor.is_zero() && !term.cut_by_alignment.is_zero();
  });
  if (!floor) return {};
  const bool of_floor = block.top == block.exponent_floor;
  return std::string("  * cut because of ") +
         (of_floor ? "the exponent floor alone" : "a product of zero alone") +
         (both ? "; † some of it would be cut without the floor too\n" : "\n");
}

}  // namespace

std::string block_text(const ExplainedBlock& block, bool color) {
  std::string out = products_text(block);
  if (const std::string special = special_text(block); block.special) {
    return out + fmt::format("  {}\n  → {}\n", special, bits_text(block.result));
  }
  if (block.is_integer) {
    out += fmt::format("  sum {}\n", exact_text(block.sum));
  } else {
    out += fmt::format("  aligned to {}\n", alignment_text(block));
  }
  if (has_ladder(block)) out += ladder_lines(block, color ? colorful : plain) + floor_note(block);
  const std::string special = special_text(block);
  const std::string how = block.is_integer ? type_text(block.result.format) : rounding_text(block);
  return out + fmt::format("  → {} {}  {}\n", bits_text(block.result),
                           brief_value_text(block.result, 30), special.empty() ? how : special);
}

}  // namespace binade
