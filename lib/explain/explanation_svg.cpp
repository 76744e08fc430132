// SPDX-License-Identifier: Apache-2.0
//
// Draws the picture of a block from its ladder. All coordinates are integers, so that the bytes are
// the same on every machine.
#include "lib/explain/explanation_svg.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "lib/explain/explanation_text.h"
#include "lib/explain/explanation_words.h"
#include "lib/explain/ladder.h"
#include "lib/explain/svg_shapes.h"
#include "lib/text/error.h"
#include "lib/text/paragraph.h"

namespace binade {
namespace {

constexpr int cell = 17;  ///< width of a column, in pixels
constexpr int row_height = 22;
constexpr int margin = 28;
constexpr int most_cut_columns = 22;
constexpr int most_rows = 64;

/// The colours of a bit that is 1, of one that is 0, and of the digit 0. As in the report, red
/// means lost.
struct Paint {
  std::string_view one, zero, digit;
};
constexpr Paint positive{"#2f5d86", "#cfdde9", "#5d7f9d"};
constexpr Paint negative_color{"#94691b", "#ecdfc2", "#a68b54"};
constexpr Paint by_alignment{"#b8331b", "#f4d3c9", "#c67a68"};
constexpr Paint by_floor{"#7a3f93", "#e6d5ec", "#a07db0"};
constexpr Paint of_sum{"#3a3731", "#dedad0", "#8f8a7f"};
constexpr Paint rounded_off{"#d97a1c", "#f8e0c4", "#c08b52"};

const Paint& paint_of(BitFate fate, bool is_negative) {
  switch (fate) {
    case BitFate::kept: return is_negative ? negative_color : positive;
    case BitFate::cut_by_alignment: return by_alignment;
    case BitFate::cut_by_floor: return by_floor;
    case BitFate::rounded_off: return rounded_off;
  }
  return positive;
}

/// A row of the picture.
struct SvgRow {
  std::string name, operands, note;
  std::string_view note_color = soft_ink;
  bool negative = false, is_sum = false;
  ExactNumber value;
  int rounded_below = 0;
};

std::string term_operands(const ExplainedTerm& term) {
  if (term.place == addend_place) return brief_value_text(term.a, 22);
  if (term.a_scale) {
    const std::string product =
        term.group.empty()
            ? fmt::format("{} × {}", brief_value_text(term.a, 10), brief_value_text(term.b, 10))
            : fmt::format("sum {}", brief_text(term.unscaled, 10));
    return fmt::format("{} × {} × {}", product, brief_value_text(*term.a_scale, 8),
                       brief_value_text(*term.b_scale, 8));
  }
  return fmt::format("{} × {}", brief_value_text(term.a, 17), brief_value_text(term.b, 17));
}

std::vector<SvgRow> rows_of(const ExplainedBlock& block, const Ladder& ladder) {
  std::vector<SvgRow> out;
  for (const ExplainedTerm& term : block.terms) {
    if (term.kind == Kind::zero || out.size() == most_rows) continue;
    SvgRow row{.name = term_name(term, block),
               .operands = term_operands(term),
               .note = {},
               .negative = term.negative,
               .value = term.exact,
               .rounded_below = ladder.lowest - 1};
    if (!term.cut().is_zero()) {
      row.note = brief_text(term.cut(), 20);
      row.note_color = term.cut_by_floor.is_zero() ? by_alignment.one : by_floor.one;
    }
    out.push_back(std::move(row));
  }
  SvgRow sum{.name = "sum",
             .operands = "of what is kept",
             .note = {},
             .negative = block.sum.negative,
             .is_sum = true,
             .value = block.sum,
             .rounded_below = last_place(block)};
  if (block.rounding_error && !block.rounding_error->is_zero()) {
    sum.note = brief_text(-*block.rounding_error, 20);
    sum.note_color = rounded_off.one;
  }
  out.push_back(std::move(sum));
  if (!is_number(block.result)) return out;
  const ExactNumber result = value_of(block.result);
  out.push_back({.name = "result",
                 .operands = rounding_text(block).substr(8),
                 .note = {},
                 .negative = result.negative,
                 .is_sum = true,
                 .value = result,
                 .rounded_below = ladder.lowest - 1});
  return out;
}

class Picture {
 public:
  Picture(const Explanation& x, int number)
      : x_(x),
        number_(number),
        block_(block_of(x, number)),
        ladder_(ladder_of(block_)),
        rows_(rows_of(block_, ladder_)),
        cut_columns_(std::min(ladder_.cut_columns(), most_cut_columns)) {
    int widest = 0;  // in pixels; a character of the monospaced font of size 12 is 7.25 wide
    for (const SvgRow& row : rows_) {
      const int n = static_cast<int>(columns_of(row.operands));
      widest = std::max(widest, (row.is_sum ? 26 * n : 29 * n) / 4);
    }
    left_ = margin + 62 + widest + 34;
    line_ = left_ + ladder_.kept_columns() * cell + 5;
    right_ = line_ + 5 + std::max(cut_columns_ * cell, 60) + 16;
    width_ = std::max(right_ + 21 * 8 + margin, 860);
  }

  std::string text() {
    int y = heading();
    y = scale(y);
    y = grid(y);
    y = chain(y + 30);
    y = totals(y + 12);
    y = legend(y + 18);
    return canvas_.finished(width_, y + margin - 6, title());
  }

 private:
  std::string title() const {
    return x_.instruction + (x_.sm == 0 ? "" : fmt::format(" on sm_{}", x_.sm));
  }
  int column(int weight) const {
    return weight >= ladder_.unit ? left_ + (ladder_.highest - weight) * cell
                                  : line_ + 6 + (ladder_.unit - 1 - weight) * cell;
  }

  int heading() {
    int y = margin + 18;
    canvas_.text(margin, y, title(), {.size = 21, .serif = true});
    const DotModel& model = x_.model;
    const std::string numbers = fmt::format(
        "L = {} products a block    F = {} bits kept below the largest exponent    exponent at "
        "least "
        "2^{}",
        model.block, model.fraction_bits, model.exponent_floor);
    canvas_.text(margin, y + 25, numbers, {.size = 13, .color = soft_ink});
    const auto total = static_cast<int>(blocks_of(x_).size());
    const std::string what = fmt::format("Block {} of {}: {} and {}, aligned to {}", number_, total,
                                         block_.starts_with_c ? "c" : "the sum so far",
                                         places_text(block_), alignment_text(block_));
    canvas_.text(margin, y + 54, what, {.size = 14});
    return y + 76;
  }

  /// Draws the weights above the columns, and the names of both sides of the line.
  int scale(int y) {
    const std::string kept =
        fmt::format("kept: {} bits below 2^{}", x_.model.fraction_bits, block_.top);
    canvas_.text(line_ - 10, y + 8, kept, {.size = 12, .color = soft_ink, .anchor = "end"});
    const bool cuts = cut_columns_ > 0;
    canvas_.text(line_ + 10, y + 8, cuts ? "cut off" : "nothing is cut off",
                 {.size = 12, .color = cuts ? by_alignment.one : soft_ink});
    if (cuts) canvas_.text(right_, y + 8, "its value", {.size = 12, .color = by_alignment.one});
    y += 30;
    const int lowest = ladder_.unit - cut_columns_;
    for (int weight = ladder_.highest; weight >= lowest; --weight) {
      const bool ends = weight == ladder_.highest || weight == ladder_.unit;
      const bool near_end = weight < ladder_.highest && weight > ladder_.highest - 3;
      const bool near_unit = weight != ladder_.unit && std::abs(weight - ladder_.unit) < 3;
      if (!ends && (weight % 4 != 0 || near_end || near_unit)) continue;
      canvas_.power(column(weight) + cell / 2, y, weight);
      canvas_.line(column(weight) + cell / 2, y + 5, column(weight) + cell / 2, y + 9, soft_ink, 1);
    }
    return y + 14;
  }

  void bits(const SvgRow& row, int y) {
    const int lowest = ladder_.unit - cut_columns_;
    for (int weight = ladder_.highest; weight >= lowest; --weight) {
      const bool inside = !row.value.is_zero() && weight <= row.value.leading_exponent() &&
                          weight >= row.value.exponent;
      const int x = column(weight);
      if (!inside) {
        if (weight >= ladder_.unit) canvas_.dot(x + cell / 2, y + row_height / 2);
        continue;
      }
      BitFate fate = ladder_.fate(weight);
      if (row.is_sum && weight < row.rounded_below) fate = BitFate::rounded_off;
      const Paint& paint =
          row.is_sum && fate == BitFate::kept ? of_sum : paint_of(fate, row.negative);
      used_.push_back(&paint);
      const bool one = row.value.bit(weight);
      canvas_.box(x + 1, y + 2, cell - 2, row_height - 4, one ? paint.one : paint.zero, 3);
      canvas_.digit(x + cell / 2, y + row_height / 2 + 4, one, one ? paper : paint.digit);
    }
    if (!row.value.is_zero() && row.value.exponent < lowest) {
      canvas_.text(column(lowest) + cell + 2, y + row_height / 2 + 4, "…",
                   {.size = 13, .color = by_alignment.one});
    }
  }

  int grid(int y) {
    const int top = y - 8;
    for (const SvgRow& row : rows_) {
      if (row.name == "sum") {
        y += 6;
        canvas_.line(margin, y, right_ + 160, y, rule, 1);
        y += 6;
      }
      const int base = y + row_height / 2 + 5;
      canvas_.text(margin, base, row.name, {.size = 13, .bold = row.is_sum});
      canvas_.text(left_ - 30, base, row.operands,
                   {.size = 12, .color = soft_ink, .anchor = "end", .mono = !row.is_sum});
      canvas_.text(left_ - 15, base, row.negative ? "−" : "+",
                   {.size = 14,
                    .color = row.is_sum     ? ink
                             : row.negative ? negative_color.one
                                            : positive.one,
                    .anchor = "middle",
                    .mono = true});
      bits(row, y);
      if (!row.note.empty()) {
        canvas_.text(right_, base, row.note, {.size = 12, .color = row.note_color, .mono = true});
      }
      y += row_height;
    }
    canvas_.dashed(line_, top, line_, y + 2, ink);
    std::size_t zeros = 0;
    for (const ExplainedTerm& term : block_.terms) {
      if (term.kind != Kind::zero || term.place == addend_place) continue;
      zeros += std::max<std::size_t>(1, term.group.size());
    }
    if (zeros > 0) {
      canvas_.text(margin, y + 18, fmt::format("{} products are zero and not drawn", zeros),
                   {.size = 12, .color = soft_ink});
      y += 20;
    }
    return y;
  }

  /// Draws every block as a box with its result; of a long chain only the blocks around the
  /// explained one.
  int chain(int y) {
    const std::vector<const ExplainedBlock*> blocks = blocks_of(x_);
    const int n = static_cast<int>(blocks.size());
    if (n < 2) return y - 8;
    const int fits = std::max(3, (width_ - 2 * margin) / 172);
    const int first = std::clamp(number_ - 1 - fits / 2, 0, std::max(0, n - fits));
    const int last = std::min(n, first + fits);
    canvas_.text(
        margin, y,
        fmt::format("The chain{}",
                    n > fits ? fmt::format(", blocks {} to {} of {}", first + 1, last, n) : ""),
        {.size = 13, .bold = true});
    y += 10;
    for (int i = first; i < last; ++i) {
      const ExplainedBlock& block = *blocks[static_cast<std::size_t>(i)];
      const int x = margin + (i - first) * 172;
      const bool here = i + 1 == number_;
      canvas_.box(x, y, 150, 44, here ? positive.zero : std::string_view("#f1eee5"), 6);
      canvas_.text(x + 10, y + 18, fmt::format("{}  {}", i + 1, places_text(block)),
                   {.size = 12, .bold = here});
      canvas_.text(x + 10, y + 35, "→ " + brief_value_text(block.result, 16),
                   {.size = 12, .color = soft_ink, .mono = true});
      if (i + 1 < last)
        canvas_.text(x + 161, y + 27, "›", {.size = 16, .color = soft_ink, .anchor = "middle"});
    }
    return y + 62;
  }

  int totals(int y) {
    const auto line = [&](const char* name, const std::string& value, std::string_view color) {
      canvas_.text(margin, y, name, {.size = 13, .color = soft_ink});
      canvas_.text(margin + 74, y, value, {.size = 13, .color = color, .mono = true});
      y += 20;
    };
    line("result", fmt::format("{}  {}", bits_text(x_.result), brief_value_text(x_.result, 40)),
         ink);
    if (x_.exact) line("exact", brief_text(*x_.exact, 60, 20), ink);
    if (const std::optional<ExactNumber> error = x_.error()) {
      line("error", error->is_zero() ? "0" : error_text(*error, *x_.exact, x_.result.format),
           by_alignment.one);
    }
    if (x_.hardware) {
      const bool equal = x_.hardware->bits == x_.result.bits;
      line("GPU", fmt::format("{}  {}", bits_text(*x_.hardware), equal ? "equal" : "different"),
           ink);
    }
    return y - 20;
  }

  int legend(int y) {
    int x = margin;
    y += 10;
    const auto entry = [&](const Paint& paint, std::string_view words) {
      if (std::ranges::find(used_, &paint) == used_.end()) return;
      canvas_.box(x, y - 11, 13, 14, paint.one, 3);
      canvas_.box(x + 14, y - 11, 13, 14, paint.zero, 3);
      canvas_.text(x + 33, y, words, {.size = 12, .color = soft_ink});
      x += 33 + static_cast<int>(words.size()) * 13 / 2 + 20;
    };
    entry(positive, "positive: 1 and 0");
    entry(negative_color, "negative");
    entry(by_alignment, "cut by alignment");
    entry(by_floor, "cut by the exponent floor");
    entry(of_sum, "sum and result");
    entry(rounded_off, "rounded off");
    return y;
  }

  const Explanation& x_;
  int number_;
  const ExplainedBlock& block_;
  Ladder ladder_;
  std::vector<SvgRow> rows_;
  int cut_columns_;
  int left_ = 0, line_ = 0, right_ = 0, width_ = 0;
  std::vector<const Paint*> used_;
  SvgCanvas canvas_;
};

}  // namespace

std::string explanation_svg(const Explanation& x, int block) {
  if (!has_ladder(block_of(x, block))) {
    throw Error(fmt::format("block {} has no bits to draw: {}", block,
                            block_of(x, block).is_integer ? "integers are not aligned"
                            : block_of(x, block).special  ? special_text(block_of(x, block))
                                                          : "every term is zero"));
  }
  return Picture(x, block).text();
}

int block_that_loses_most(const Explanation& x) {
  int best = 0;
  ExactNumber most;
  const std::vector<const ExplainedBlock*> blocks = blocks_of(x);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const ExplainedBlock& block = *blocks[i];
    if (!has_ladder(block)) continue;
    const ExactNumber loss =
        magnitude_of(block.rounding_error.value_or(ExactNumber{}) - block.cut());
    if (best != 0 && loss <= most) continue;
    best = static_cast<int>(i) + 1;
    most = loss;
  }
  if (best == 0) throw Error(x.instruction + ": no block of this sum has bits to draw");
  return best;
}

}  // namespace binade
