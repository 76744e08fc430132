// SPDX-License-Identifier: Apache-2.0
//
// Compares a kernel's D with the emulated product, and reports as text and JSON what differs: how
// far, where, whether within the error bounds, and the first element.
#include "lib/validate/gemm_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include <nlohmann/json.hpp>

#include "lib/evidence/json.h"
#include "lib/explain/explanation_text.h"
#include "lib/explain/rounding_words.h"
#include "lib/explain/suspicion.h"
#include "lib/gemm/touched.h"
#include "lib/identify/grouped_runs.h"
#include "lib/number/encoding_text.h"
#include "lib/number/ulp_distance.h"
#include "lib/validate/dot_text.h"

namespace binade {
namespace {

constexpr std::size_t map_rows = 16;
constexpr std::size_t map_columns = 64;
constexpr std::size_t least_suspected = 8;  // elements that are asked what they look like

/// The indices whose count is not 0, as runs: "17..19, 40"; after six runs "…".
std::string runs_text(const std::vector<std::uint64_t>& counts) {
  constexpr std::size_t most = 6;
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    std::size_t end = i;
    while (end + 1 < counts.size() && counts[end + 1] != 0) ++end;
    runs.push_back(i == end ? std::to_string(i) : fmt::format("{}..{}", i, end));
    i = end;
  }
  const bool more = runs.size() > most;
  if (more) runs.resize(most);
  return fmt::format("{}{}", fmt::join(runs, ", "), more ? ", …" : "");
}

std::string lines_text(const char* noun, const std::vector<std::uint64_t>& counts) {
  const auto hit = std::ranges::count_if(counts, [](std::uint64_t n) { return n != 0; });
  const std::string which =
      static_cast<std::size_t>(hit) == counts.size() ? "all" : runs_text(counts);
  return fmt::format("{} of {} {} ({})", hit, counts.size(), noun, which);
}

constexpr const char* levels[]{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

/// The bar for `count` of `all`, of eight heights; any count above 0 has a bar.
const char* level(std::uint64_t count, std::uint64_t all) { return levels[(8 * count - 1) / all]; }

/// The map of the differences: a character for each cell, by the share of its elements that differ.
std::string map_text(const GemmCheck& check, const DifferenceMap& map) {
  std::string out;
  for (std::size_t i = 0; i < map.rows; ++i) {
    out += fmt::format("  {:>6}  ", i * map.cell_rows);
    const std::size_t height = std::min(map.cell_rows, check.m - i * map.cell_rows);
    for (std::size_t j = 0; j < map.columns; ++j) {
      const std::size_t width = std::min(map.cell_columns, check.n - j * map.cell_columns);
      const std::uint64_t count = map.counts[i * map.columns + j];
      out += count == 0 ? "·" : level(count, height * width);
    }
    out += "\n";
  }
  return out +
         fmt::format("          a cell is {} × {} elements: · none of them, ▁ … █ up to all\n",
                     map.cell_rows, map.cell_columns);
}

/// A histogram in one line of the distances in ulp, by powers of two from 1 up.
std::string distances_text(const GemmCheck& check) {
  std::size_t last = 0;
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < check.distances.size(); ++i) {
    if (check.distances[i] != 0) last = i;
    most = std::max(most, check.distances[i]);
  }
  std::string out;
  for (std::size_t i = 0; i <= last && most > 0; ++i) {
    out += check.distances[i] == 0 ? "·" : level(check.distances[i], most);
  }
  if (most > 0) out = fmt::format("1 {} 2^{}   1 ulp: {}", out, last, check.distances[0]);
  if (check.without_distance > 0) {
    out += fmt::format("{}NaN: {}", out.empty() ? "" : "   ", check.without_distance);
  }
  return out;
}

/// What other roundings of the operands would explain.
std::string others_text(const GemmValidation& x) {
  std::string out;
  for (const OtherReading& other : x.others) {
    if (other.equal <= x.check.equal()) continue;
    out +=
        fmt::format("operands rounded {} ({}): {} of {} equal{}\n", rounding_name(other.rounding),
                    round_option(other.rounding), other.equal, x.check.elements(),
                    other.equal == x.check.elements() ? ", every element" : "");
  }
  return out;
}

std::string agreements_text(const GemmCheck& check, bool other_operands) {
  constexpr std::string_view words[]{
      "", "within the model's own error bound: another order or rounding",
      "within the bound of the same products in any order",
      "beyond both bounds: wrong, not rounded otherwise", "with a NaN or an infinity"};
  std::string out;
  for (std::size_t i = 1; i < check.agreements.size(); ++i) {
    if (check.agreements[i] == 0) continue;
    const bool beyond = i == static_cast<std::size_t>(Agreement::beyond_bound);
    out += fmt::format("  {:>10} {}\n", check.agreements[i],
                       beyond && other_operands
                           ? "beyond both bounds: wrong, or of operands that were rounded otherwise"
                           : words[i]);
  }
  return out;
}

std::string element_text(const GemmDifference& x, const Format& f) {
  const auto distance = ulp_distance(x.given, x.emulated, f);
  return fmt::format("({}, {})  D {} {}  emulated {} {}  {}", x.row, x.column,
                     hexadecimal(x.given, f), value_text(x.given, f), hexadecimal(x.emulated, f),
                     value_text(x.emulated, f),
                     distance ? fmt::format("{} ulp", *distance) : std::string("NaN"));
}

/// The word as a shell reads it back, in quotes if need be.
std::string quoted(const std::string& word) {
  const bool plain = !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-./:+=,").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string explain_command(const ValidateGemmOptions& options, const NamedGemm& named,
                            const GemmDifference& x) {
  const GemmOptions& o = options.product;
  std::string out = "binade explain gemm " + quoted(o.files.a) + " " + quoted(o.files.b);
  if (!o.c.empty()) out += " " + quoted(o.c);
  if (!o.bias.empty()) out += " --bias " + quoted(o.bias);
  for (const FileOption& row : file_options) {
    const std::string& value = o.files.*row.value;
    if (value != GemmFiles{}.*row.value) out += " " + option_of(row) + " " + quoted(value);
  }
  if (!o.architecture.empty()) out += " --arch " + o.architecture;
  out += " --instruction " + o.instruction;
  if (o.files.transposed_a) out += " --transpose-a";
  if (o.files.transposed_b) out += " --transpose-b";
  if (const auto round = operand_rounding(o.files.round)) out += " " + round_option(*round);
  GemmModel model = named.model;
  if (!computes_epilogue(o, model)) model.epilogue.compute = model.types.d;
  const std::string order = options_of(model);
  if (!order.empty()) out += " " + order;
  for (const std::string& word : words_of(o.rules)) out += " " + word;
  return out + fmt::format(" --d {} --element {} {}", quoted(options.d), x.row, x.column);
}

/// About the first element that differs: what its model loses by which rule, the error bound, and,
/// if it is far off, which mistake its bits look like.
std::string first_text(const GemmDifference& x, const NamedGemm& named,
                       const GemmOperands& operands) {
  Explanation explanation = explain_element(named, operands.element(x.row, x.column));
  explanation.hardware = Typed{x.given, named.model.epilogue.out};
  std::string out;
  if (explanation.exact) {
    out += fmt::format("the first, ({}, {}), emulated\n", x.row, x.column);
    out += fmt::format("exact     {}\n", brief_text(*explanation.exact, 60, 20));
    out += errors_text(explanation);
    const ElementBound bound = bound_of(named.model, operands.element(x.row, x.column));
    if (!bound.special) {
      out += fmt::format("bound     {:.4g} by its rules", bound.bound.value());
      if (is_number(*explanation.hardware)) {
        out += fmt::format("; D is off by {:.4g}",
                           to_scaled(error_of(named.model, bound, x.given)).value());
      }
      out += "\n";
    }
  }
  return out;
}

/// Which mistakes in a single sum the first elements look like: those that fit most of them, since
/// one element is near to much by chance.
std::string suspicions_text(const std::vector<GemmDifference>& first, const NamedGemm& named,
                            const GemmOperands& operands) {
  std::vector<std::string> all;
  for (const GemmDifference& x : first) {
    Explanation explanation = explain_element(named, operands.element(x.row, x.column));
    explanation.hardware = Typed{x.given, named.model.epilogue.out};
    for (std::string& words : suspicions(explanation)) all.push_back(std::move(words));
  }
  std::string out;
  for (auto at = all.begin(); at != all.end(); ++at) {
    const auto count = static_cast<std::size_t>(std::ranges::count(all, *at));
    if (2 * count <= first.size() || std::find(all.begin(), at, *at) != at) continue;
    out += fmt::format("D is as if it were {}{}\n", *at,
                       count == first.size()
                           ? std::string()
                           : fmt::format(" ({} of the first {} elements)", count, first.size()));
  }
  return out;
}

/// About the elements that depend on the steps of an activation's formula.
std::string undecided_text(const GemmCheck& check, Activation by) {
  if (check.undecided == 0) return "";
  return fmt::format(
      "{} of {} elements are not decided: they lie within what the formula of {} gives in f32, at "
      "most {} ulp from the exact one; its steps are not known\n",
      check.undecided, check.elements(), activation_name(by), check.undecided_ulp);
}

/// Of rows in groups: " in 4 groups of rows, 8 rows in none".
std::string groups_text(const RowGroups& groups, const GemmCheck& check) {
  if (!groups.any()) return "";
  return fmt::format(
      " in {} groups of rows{}", groups.count,
      check.rows == check.m ? "" : fmt::format(", {} rows in none", check.m - check.rows));
}

std::string gemm_check_text(const GemmValidation& x, const ValidateGemmOptions& options) {
  const GemmCheck& check = x.check;
  const NamedGemm& named = x.named;
  const GemmOperands& operands = x.operands;
  const bool is_rounded = options_of(named.model).find("--out-format") != std::string::npos;
  std::string out = fmt::format(
      "{}: {} × {}{}, {}{}\n", headline(named), check.m, check.n,
      groups_text(operands.groups, check), order_text(named.model),
      is_rounded ? fmt::format("; rounded to {} in the end", spec_of(named.model.epilogue.out))
                 : "");
  const std::string special =
      special_scales(operands.a_scale, operands.b_scale, operands.runs, operands.k);
  if (!special.empty()) out += "warning: " + special + "\n";
  if (check.different.count > 0) {
    const Format& f = named.model.epilogue.out;
    const bool some_wrong = check.wrong.count > 0;
    const GemmDifferences& shown = some_wrong ? check.wrong : check.different;
    out += others_text(x);
    out += "distance in ulp, by powers of two   " + distances_text(check) + "\n";
    out += agreements_text(check, !x.others.empty());
    out += fmt::format("{}: {}, {}\n",
                       some_wrong && x.others.empty() ? "the wrong ones"
                       : some_wrong                   ? "those beyond the bounds"
                                                      : "the different ones",
                       lines_text("rows", shown.by_row), lines_text("columns", shown.by_column));
    out += map_text(check, shown.map);
    for (std::size_t i = 0; i < std::min(options.show, shown.first.size()); ++i) {
      out += "  " + element_text(shown.first[i], f) + "\n";
    }
    for (const KnownModelHint& hint : x.hints) {
      out += "D is as if this had happened: " + hint.words;
      if (hint.tried > 0) {
        out += fmt::format(" ({} of {} elements that were tried are equal so)", hint.equal,
                           hint.tried);
      }
      out += "\n";
    }
    if (check.farthest) out += "farthest " + element_text(*check.farthest, f) + "\n";
    if (!is_smooth(named.model.epilogue.activation)) {
      out += first_text(shown.first.front(), named, operands);
      // Of some elements alone, what single sums look like is one more guess.
      const bool is_of_most = 10 * check.different.count >= 9 * check.elements();
      if (x.hints.empty() || is_of_most) out += suspicions_text(shown.first, named, operands);
      out += "step by step: " + explain_command(options, named, shown.first.front()) + "\n";
    }
  }
  std::vector<GivenElement> given;
  for (const GemmDifference& one : check.different.first) {
    if (given.size() == std::max<std::size_t>(options.show, 1)) break;
    given.push_back({one.row, one.column, one.given});
  }
  for (const std::string& rival : explaining_rivals(named, operands, given)) {
    out += fmt::format(
        "the first {} different are as under {}, a rule that no hardware has excluded\n",
        given.size(), rival);
  }
  const std::string touched = touched_text(touched_by(named, operands), "elements");
  if (!touched.empty()) out += touched + "\n";
  out += undecided_text(check, named.model.epilogue.activation);
  return out +
         fmt::format("elements {}, equal {}, different {}{}\n", check.elements(), check.equal(),
                     check.different.count,
                     check.undecided == 0 ? "" : fmt::format(", not decided {}", check.undecided));
}

nlohmann::ordered_json gemm_difference_json(const GemmDifference& x, const Format& f) {
  nlohmann::ordered_json out{{"row", x.row},
                             {"column", x.column},
                             {"given", hexadecimal(x.given, f)},
                             {"emulated", hexadecimal(x.emulated, f)},
                             {"ulp_distance", nullptr},
                             {"agreement", agreement_names[static_cast<std::size_t>(x.agreement)]}};
  if (const auto distance = ulp_distance(x.given, x.emulated, f)) out["ulp_distance"] = *distance;
  return out;
}

nlohmann::ordered_json gemm_differences_json(const GemmDifferences& x, std::size_t show,
                                             const Format& f) {
  nlohmann::ordered_json out{{"count", x.count},
                             {"by_row", x.by_row},
                             {"by_column", x.by_column},
                             {"map",
                              {{"cell_rows", x.map.cell_rows},
                               {"cell_columns", x.map.cell_columns},
                               {"rows", x.map.rows},
                               {"columns", x.map.columns},
                               {"counts", x.map.counts}}},
                             {"first", nlohmann::ordered_json::array()}};
  for (std::size_t i = 0; i < std::min(show, x.first.size()); ++i) {
    out["first"].push_back(gemm_difference_json(x.first[i], f));
  }
  return out;
}

nlohmann::ordered_json gemm_check_json(const GemmValidation& x, std::size_t show) {
  const GemmCheck& check = x.check;
  const NamedGemm& named = x.named;
  const Format& f = named.model.epilogue.out;
  nlohmann::ordered_json out{{"schema", "binade.validate_gemm/1"},
                             {"instruction", headline(named)},
                             {"options", options_of(named.model)},
                             {"m", check.m},
                             {"n", check.n},
                             {"groups", x.operands.groups.count},
                             {"rows_in_none", check.m - check.rows},
                             {"elements", check.elements()},
                             {"equal", check.equal()},
                             {"undecided", check.undecided},
                             {"undecided_ulp", check.undecided_ulp}};
  for (std::size_t i = 0; i < check.agreements.size(); ++i) {
    out["agreement"][std::string(agreement_names[i])] = check.agreements[i];
  }
  out["ulp_distances"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < check.distances.size(); ++i) {
    if (check.distances[i] == 0) continue;
    out["ulp_distances"].push_back({{"from_log2", i}, {"elements", check.distances[i]}});
  }
  out["without_distance"] = check.without_distance;
  out["farthest"] = nullptr;
  if (check.farthest) out["farthest"] = gemm_difference_json(*check.farthest, f);
  out["evidence"] = evidence_name(named.known.evidence);
  out["touched"] = touched_json(touched_by(named, x.operands));
  out["as_rounded"] = nlohmann::ordered_json::array();
  for (const OtherReading& other : x.others) {
    out["as_rounded"].push_back(
        {{"rounding", rounding_name(other.rounding)}, {"equal", other.equal}});
  }
  out["as_if"] = nlohmann::ordered_json::array();
  for (const KnownModelHint& hint : x.hints) {
    out["as_if"].push_back({{"words", hint.words}, {"equal", hint.equal}, {"tried", hint.tried}});
  }
  out["different"] = gemm_differences_json(check.different, show, f);
  out["wrong"] = gemm_differences_json(check.wrong, show, f);
  return out;
}

/// Reads operands as tf32 and narrow types come to be: rounded in the usual ways.
std::vector<OtherReading> other_readings(const ValidateGemmOptions& options, const GemmModel& model,
                                         const GemmOperands& operands,
                                         const std::vector<std::uint64_t>& given) {
  std::vector<OtherReading> out;
  const bool some_tf32 = model.types.a == tf32 || model.types.b == tf32;
  if (options.product.files.round.empty() && !some_tf32) return out;  // what was read was exact
  std::vector<GemmOperands> known{operands};
  for (const Rounding rounding :
       {Rounding::ties_to_even, Rounding::ties_to_away, Rounding::toward_zero}) {
    GemmOptions product = options.product;
    product.files.round = rounding_name(rounding);
    GemmModel same = model;
    GemmOperands x = operands_of(product, same);
    const bool seen = std::ranges::any_of(
        known, [&](const GemmOperands& other) { return other.a == x.a && other.b == x.b; });
    if (seen) continue;
    const std::vector<std::uint64_t> d = gemm(model, x);
    OtherReading other{rounding};
    for (std::size_t at = 0; at < d.size(); ++at) other.equal += d[at] == given[at] ? 1 : 0;
    out.push_back(other);
    known.push_back(std::move(x));
  }
  std::ranges::stable_sort(out, std::greater<>{}, &OtherReading::equal);
  return out;
}

/// Mistakes in what was read or written.
std::vector<KnownModelHint> hints_about(const GemmModel& g, const GemmOperands& x,
                                        const std::vector<std::uint64_t>& given) {
  const KernelTypes types{g.types.a, g.types.b, g.c, g.epilogue.out, g.bias};
  if (x.groups.any()) {
    std::vector<KernelRun> runs = runs_of_groups(x, given);
    const std::vector<KernelRun> idle = take_idle(runs);
    std::vector<KnownModelHint> out;
    if (const auto wrong = wrong_groups(g, runs, idle)) {
      out.push_back({wrong->words, wrong->equal, wrong->elements});
      if (wrong->equal == wrong->elements) return out;
    }
    const KernelRun& most = runs[run_of_most_wrong(runs, equal_elements(g, runs))];
    for (KnownModelHint hint :
         known_model_hints({types, most, {g.epilogue.alpha, g.epilogue.beta}}, g)) {
      hint.words = "in " + most.name + ", " + hint.words;
      out.push_back(std::move(hint));
    }
    return out;
  }
  KernelRun run{x.m, x.n, x.k, false, x.a, x.b, x.c, x.bias, given, x.a_scale, x.b_scale, x.runs};
  return known_model_hints({types, std::move(run), {g.epilogue.alpha, g.epilogue.beta}}, g);
}

}  // namespace

GemmValidation validated(
    const ValidateGemmOptions& options,
    const std::function<void(std::uint64_t done, std::uint64_t all)>& progress) {
  NamedGemm named = model_of(options.product);
  adopt_output(options.product, options.d, named.model);
  GemmOperands operands = operands_of(options.product, named.model);
  const std::vector<std::uint64_t> given = read_result(options.d, named.model, operands);
  const std::size_t row = operands.n * operands.k;
  GemmCheck check =
      check_gemm(named.model, operands, given, std::max<std::size_t>(options.show, least_suspected),
                 map_rows, map_columns, [&](std::size_t rows) {
                   if (progress) progress(rows * row, operands.m * row);
                 });
  std::vector<OtherReading> others;
  if (check.different.count > 0) {
    others = other_readings(options, named.model, operands, given);
  }
  std::vector<KnownModelHint> hints;
  if (check.different.count > 0) hints = hints_about(named.model, operands, given);
  if (check.wrong.count == 0) {  // within rounding many are near
    std::erase_if(hints, [](const KnownModelHint& x) { return x.equal < x.tried; });
  }
  return {std::move(named), std::move(operands), std::move(check), std::move(others),
          std::move(hints)};
}

std::string gemm_validation_text(const GemmValidation& x, const ValidateGemmOptions& options) {
  return gemm_check_text(x, options);
}

nlohmann::ordered_json gemm_validation_json(const GemmValidation& x,
                                            const ValidateGemmOptions& options) {
  return gemm_check_json(x, options.show);
}

}  // namespace binade
