// SPDX-License-Identifier: Apache-2.0
//
// Texts of plans, and running them. All chains run side by side: a call of the device runs one step
// of each.
#include "lib/device/row_plan.h"

#include <charconv>

#include "lib/text/error.h"

namespace binade {
namespace {

/// Says whether row i of a plan continues a chain.
class Continues {
 public:
  explicit Continues(const RowPlan& plan) : plan_(plan) {}

  bool operator()(std::uint64_t i) const {
    for (const PlannedRows& piece : plan_) {
      if (i < piece.rows) return continues_chain(*piece.generator, i);
      i -= piece.rows;
    }
    return false;
  }

 private:
  const RowPlan& plan_;
};

/// Returns the row numbers of each step: first the rows that begin a chain, or are no part of one,
/// then the rows that follow them, and so on.
std::vector<std::vector<std::size_t>> steps_of(const Continues& continues, std::size_t rows) {
  std::vector<std::vector<std::size_t>> out;
  std::size_t step = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    step = continues(i) ? step + 1 : 0;
    if (step == out.size()) out.emplace_back();
    out[step].push_back(i);
  }
  return out;
}

PlannedRows parse_piece(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view digits = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  PlannedRows out{&parse_dot_generator(text.substr(0, colon)), 0};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out.rows);
  if (error != std::errc{} || end != digits.data() + digits.size() || out.rows == 0 ||
      out.rows > most_planned_rows) {
    throw Error("rows '" + printable(text) + "'; they are written like normal:2000, at most " +
                std::to_string(most_planned_rows));
  }
  return out;
}

}  // namespace

std::uint64_t planned_rows(const RowPlan& plan) {
  std::uint64_t out = 0;
  for (const PlannedRows& piece : plan) out += piece.rows;
  return out;
}

std::string row_plan_text(const RowPlan& plan) {
  std::string out;
  for (const PlannedRows& piece : plan) {
    out += (out.empty() ? "" : ",") + std::string(piece.generator->name) + ":" +
           std::to_string(piece.rows);
  }
  return out;
}

RowPlan parse_row_plan(std::string_view text) {
  RowPlan out;
  for (;;) {
    const std::size_t comma = text.find(',');
    out.push_back(parse_piece(text.substr(0, comma)));
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

Dots make_rows(const RowPlan& plan, const Instruction& instruction, std::uint64_t seed) {
  Dots out;
  for (const PlannedRows& piece : plan) {
    append(out, make_dots(*piece.generator, instruction, seed, 0, piece.rows));
  }
  return out;
}

void fill_chains(const RowPlan& plan, Dots& dots) {
  const Continues continues(plan);
  for (std::size_t i = 0; i < dots.c.size(); ++i) {
    if (continues(i)) dots.c[i] = dots.d[i - 1];
  }
}

CannotRun run_rows(Device& device, const RowPlan& plan, const Instruction& instruction,
                   Dots& dots) {
  for (const std::vector<std::size_t>& rows : steps_of(Continues(plan), dots.c.size())) {
    fill_chains(plan, dots);
    Dots step = chosen_rows(dots, rows);
    if (CannotRun why = device.run_dots(instruction, step)) return why;
    for (std::size_t i = 0; i < rows.size(); ++i) dots.d[rows[i]] = step.d[i];
  }
  return std::nullopt;
}

}  // namespace binade
