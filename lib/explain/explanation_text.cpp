// SPDX-License-Identifier: Apache-2.0
//
// Writes an explanation for a terminal.
#include "lib/explain/explanation_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "lib/explain/explanation_words.h"
#include "lib/explain/ladder_text.h"
#include "lib/explain/suspicion.h"
#include "lib/number/number_text.h"
#include "lib/text/error.h"
#include "lib/text/paragraph.h"
#include "lib/text/terminal_width.h"

namespace binade {
namespace {

/// If all blocks together have more terms that are not zero than this, each block is written in one
/// line, unless the style says otherwise.
constexpr std::size_t most_terms_in_full = 40;

std::string pair_text(const Typed& x, std::size_t longest = 30) {
  return fmt::format("{}  {}", bits_text(x), brief_value_text(x, longest));
}

std::string error_text(const ExactNumber& error) {
  return error.is_zero() ? "exact" : fmt::format("error {}", brief_text(error, 10));
}

std::string header_text(const Explanation& x) {
  const auto taking_part = x.a.size() - x.left_out.size();
  const std::string name = x.instruction + (x.sm == 0 ? "" : fmt::format(" on sm_{}", x.sm)) + ":";
  std::string products = fmt::format("{} product{}", taking_part, taking_part == 1 ? "" : "s");
  if (!x.left_out.empty()) products += fmt::format(", {} left out by sparsity", x.left_out.size());
  const bool fits = columns_of(name) + 1 + columns_of(products) <= 100;
  std::string out = name + (fits ? " " : "\n  ") + products + "\n";
  if (x.sm != 0) {
    out += wrapped_to_terminal("  evidence  " + evidence_text(x.known), 12);
  }
  return out + wrapped_to_terminal("  rule      " + model_text(x.model, x.types), 12);
}

/// Returns a block in one line: its products, what was cut, and its result.
std::string block_line(const ExplainedBlock& block, int number, const ExactNumber& cut) {
  const auto losing = std::ranges::count_if(
      block.terms, [](const ExplainedTerm& term) { return !term.cut().is_zero(); });
  std::string out = fmt::format("block {:<4} {:<14}", number, places_text(block));
  out = left_aligned(out, 25);
  if (const std::string special = special_text(block); !special.empty())
    return out + special + "\n";
  out += left_aligned(fmt::format("top 2^{}", block.top), 11);
  out += left_aligned(
      losing == 0 ? "nothing cut" : fmt::format("{} cut {}", losing, brief_text(cut, 12)), 21);
  out += left_aligned(fmt::format("rounding {}", brief_text(*block.rounding_error, 10)), 21);
  return out + fmt::format("{} {}\n", bits_text(block.result), brief_value_text(block.result, 12));
}

/// What stochastic rounding drew.
std::string draw_line(std::uint32_t random) {
  return fmt::format(
      "         drew {0} of 2^32: away from 0 if at least {1:.4g} of an ulp is cut off\n", random,
      1 - std::ldexp(random, -32));
}

std::string operation_line(const ExplainedOperation& x) {
  const bool of_product = x.role == Role::chain && x.action != Action::add && x.place >= 0;
  std::string out = of_product              ? fmt::format("k {}", x.place)
                    : x.role == Role::chain ? "sum"
                                            : std::string(operand_role_name(x.role));
  out = left_aligned(out, 9) + formula_text(x, 13);
  std::string became = fmt::format(" → {} {}", bits_text(x.result), brief_value_text(x.result, 13));
  if (x.error) became = left_aligned(became, 30) + " " + error_text(*x.error);
  const std::string drawn = x.random ? draw_line(*x.random) : "";
  const std::size_t room = 100 - std::min<std::size_t>(columns_of(became), 100);
  if (columns_of(out) > room)
    return out + "\n" + right_aligned(became, 100) + "\n" + drawn;  // only binary64 needs two lines
  return left_aligned(out, std::min<std::size_t>(room, 54)) + became + "\n" + drawn;
}

std::string mark_line(const ExplainedMark& x) {
  switch (x.mark) {
    case SumMark::zero:
      return fmt::format("an accumulator at +0, {}\n", type_text(x.accumulator.format));
    case SumMark::c: return fmt::format("an accumulator holds C: {}\n", pair_text(x.accumulator));
    case SumMark::instruction: return "";
  }
  return {};
}

bool changes_nothing(const ExplainedBlock& block) {
  const auto of_zero = [](const ExplainedTerm& term) {
    return term.place == addend_place || term.kind == Kind::zero;
  };
  const bool same = std::ranges::all_of(block.terms, of_zero) && is_number(block.result) &&
                    block.cut().is_zero() && block.rounding_error->is_zero();
  if (!same || block.is_integer) return same;
  const ExplainedTerm& before = block.terms.front();  // -0 may become +0
  return before.kind != Kind::zero ||
         before.negative == decode(block.result.bits, block.result.format).negative;
}

/// Writes the steps, and numbers blocks and instructions.
class Steps {
 public:
  Steps(const Explanation& x, const ExplanationStyle& style) : x_(x), style_(style) {
    std::size_t terms = 0;
    for (const ExplainedBlock* block : blocks_of(x)) {
      for (const ExplainedTerm& term : block->terms) terms += term.kind == Kind::zero ? 0 : 1;
    }
    full_ = style.all || (terms <= most_terms_in_full && !style.block);
  }

  std::string text() {
    std::string out;
    for (const Step& step : x_.steps) {
      if (const auto* block = std::get_if<ExplainedBlock>(&step)) {
        out += of_block(*block);
      } else if (const auto* operation = std::get_if<ExplainedOperation>(&step)) {
        out += operation_line(*operation);
      } else {
        const ExplainedMark& mark = std::get<ExplainedMark>(step);
        instructions_ += mark.mark == SumMark::instruction ? 1 : 0;
        out += mark_line(mark);
      }
    }
    return out;
  }

 private:
  std::string of_block(const ExplainedBlock& block) {
    ++blocks_;
    if (changes_nothing(block) && style_.block != blocks_) {
      return fmt::format("{}block {}: every product of {} is zero; nothing changes\n",
                         full_ ? "\n" : "", blocks_, places_text(block));
    }
    const bool full = full_ || style_.block == blocks_;
    if (!full) return block_line(block, blocks_, block.cut());
    std::string title = fmt::format("block {}", blocks_);
    if (instructions_ > 0) title += fmt::format(", instruction {}", instructions_);
    return fmt::format("\n{}: {} and {}\n", title, block.starts_with_c ? "c" : "the sum so far",
                       places_text(block)) +
           block_text(block, style_.color);
  }

  const Explanation& x_;
  const ExplanationStyle& style_;
  bool full_ = false;
  int blocks_ = 0, instructions_ = 0;
};

std::string hardware_text(const Explanation& x) {
  if (!x.hardware) return {};
  const Typed& got = *x.hardware;
  std::string verdict = "equal";
  if (got.bits != x.result.bits) {
    const bool numbers = is_number(got) && is_number(x.result);
    verdict = !numbers ? "different"
                       : fmt::format("different, {} from it",
                                     error_in_ulps(value_of(x.result) - value_of(got),
                                                   value_of(got), got.format));
  }
  std::string out = fmt::format("hardware  {}  {}\n", pair_text(got), verdict);
  for (const std::string& words : suspicions(x)) out += fmt::format("  as if   {}\n", words);
  return out;
}

/// Returns the step that first gave a NaN or an infinity.
std::string origin_text(const Explanation& x) {
  if (is_number(x.result)) return {};
  int blocks = 0;
  for (const Step& step : x.steps) {
    if (const auto* block = std::get_if<ExplainedBlock>(&step)) {
      ++blocks;
      const std::string text = special_text(*block);
      if (!text.empty()) return fmt::format("from      block {}, {}\n", blocks, text);
    } else if (const auto* operation = std::get_if<ExplainedOperation>(&step)) {
      const std::string text = special_text(*operation);
      if (!text.empty()) return fmt::format("from      {}\n", text);
    }
  }
  return {};
}

std::string summary_text(const Explanation& x) {
  std::string out = fmt::format("result    {}\n", pair_text(x.result));
  if (x.exact) out += fmt::format("exact     {}\n", brief_text(*x.exact, 60, 20));
  return out + origin_text(x) + errors_text(x) + hardware_text(x);
}

}  // namespace

std::vector<const ExplainedBlock*> blocks_of(const Explanation& x) {
  std::vector<const ExplainedBlock*> out;
  for (const Step& step : x.steps) {
    if (const auto* block = std::get_if<ExplainedBlock>(&step)) out.push_back(block);
  }
  return out;
}

const ExplainedBlock& block_of(const Explanation& x, int number) {
  const std::vector<const ExplainedBlock*> blocks = blocks_of(x);
  const int n = static_cast<int>(blocks.size());
  if (n == 0) {
    throw Error(x.instruction + " has no blocks: it is made of rounded operations");
  }
  if (number < 1 || number > n) {
    throw Error(fmt::format("no block {}; there {} {}: give a number from 1 on", number,
                            n == 1 ? "is" : "are", n));
  }
  return *blocks[static_cast<std::size_t>(number - 1)];
}

std::string errors_text(const Explanation& x) {
  std::string out;
  if (const std::optional<ExactNumber> error = x.error()) {
    out += error->is_zero()
               ? "error     0: the result is exact\n"
               : fmt::format("error     {}\n", error_text(*error, *x.exact, x.result.format));
  }
  const std::optional<ExactNumber> of_sum = x.sum_error();
  if (!of_sum || (x.errors.alignment.is_zero() && x.errors.floor.is_zero() &&
                  x.errors.blocks.is_zero() && x.errors.operations.is_zero())) {
    return out;
  }
  const auto line = [&](const char* name, const ExactNumber& error) {
    if (error.is_zero()) return;
    const std::string ulps = error_in_ulps(error, *x.exact_sum, x.sum.format);
    out += fmt::format("  {:<28}{:>22} {} {}\n", name, brief_text(error, 20),
                       ulps.starts_with("≈") ? " " : "=", ulps);
  };
  if (x.has_epilogue()) line("of the sum", *of_sum);
  line("cut by alignment", x.errors.alignment);
  line(x.model.edges.zero_raises == ZeroRaises::never ? "cut by the exponent floor"
                                                      : "cut by floor or zero products",
       x.errors.floor);
  line("rounding the blocks", x.errors.blocks);
  line("rounding other operations", x.errors.operations);
  return out;
}

std::string explanation_text(const Explanation& x, const ExplanationStyle& style) {
  if (style.block) block_of(x, *style.block);
  return header_text(x) + Steps(x, style).text() + "\n" + summary_text(x);
}

}  // namespace binade
