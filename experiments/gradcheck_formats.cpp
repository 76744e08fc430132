// SPDX-License-Identifier: Apache-2.0
//
// Question: in which formats, and with which step eps, do central differences confirm correct
// gradients? It is often said that in FP32 x + 1e-6 equals x, so that the numerator is 0. The
// gradients here are correct (FP64 confirms them all); what fails is the check.
//
// The error of a central difference is about u·|f|/eps, from rounding f with unit roundoff u, plus
// eps²·|f'''|/6; x + eps equals x only if eps is at most half a unit in the last place of x.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "emulate/philox.h"
#include "lib/runs/experiment.h"
#include "lib/train/gradcheck.h"
#include "lib/train/ops.h"

namespace binade {
namespace {

constexpr std::array probe_steps{1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1};

struct NamedDtype {
  const char* name;
  Format format;
};
const std::array<NamedDtype, 4> dtypes{
    {{"FP64", binary64}, {"FP32", binary32}, {"FP16", binary16}, {"BF16", bfloat16}}};

/// An op to check, on inputs of these shapes, uniform in [-2, 2). No derivative of it is always 0.
template <std::floating_point T>
struct Checked {
  const char* name;
  std::vector<Shape> shapes;
  Differentiable<T> function;
};

template <std::floating_point T>
std::vector<Checked<T>> checked_ops() {
  using Net = Tape<T>;
  using Vars = std::vector<Var>;
  const auto constant = [](Net& t, std::size_t n, T value) {
    Tensor<T> out({n}, Carrier<T>::format);
    out.values.assign(n, value);
    return t.constant(std::move(out));
  };
  return {{"x^3", {{1}}, [](Net& t, const Vars& v) { return pow(t, v[0], 3); }},
          {"gelu", {{1}}, [](Net& t, const Vars& v) { return gelu(t, v[0]); }},
          {"softmax (8)", {{8}}, [](Net& t, const Vars& v) { return softmax(t, v[0]); }},
          {"layer_norm (8)",
           {{8}},
           [constant](Net& t, const Vars& v) {
             return layer_norm(t, v[0], constant(t, 8, T{1.5}), constant(t, 8, T{0.25}));
           }},
          {"linear (16 to 1)",
           {{1, 16}, {1, 16}},
           [](Net& t, const Vars& v) { return linear(t, v[0], v[1]); }},
          {"conv2d (2 x 3 x 3)",
           {{1, 2, 3, 3}, {1, 2, 3, 3}},
           [](Net& t, const Vars& v) {
             return conv2d(t, v[0], v[1], {}, {3, 1, 0});
           }},
          {"attention (1 of 6)",
           {{1, 4}, {6, 4}, {6, 1}},
           [](Net& t, const Vars& v) {
             return scaled_dot_product_attention(t, v[0], v[1], v[2], false);
           }},
          {"cross_entropy (8)", {{1, 8}}, [](Net& t, const Vars& v) {
             return cross_entropy(t, v[0], {3});
           }}};
}

struct Share {
  std::size_t of = 0, all = 0;
  double value() const { return static_cast<double>(of) / static_cast<double>(all); }
};

/// The result of one op in one format with one step, over all random inputs.
struct Cell {
  Share passed, zero_numerators, unmoved;
};

template <std::floating_point T>
Cell check(const Checked<T>& op, const Format& dtype, double eps, std::size_t draws) {
  Cell out;
  for (std::size_t draw = 0; draw < draws; ++draw) {
    std::vector<Tensor<T>> inputs;
    for (std::size_t k = 0; k < op.shapes.size(); ++k) {
      inputs.emplace_back(op.shapes[k]);
      std::vector<T>& x = inputs.back().values;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double word = random_word(draw, k, i);
        x[i] = static_cast<T>(std::ldexp(word, -30) - 2);
      }
    }
    const GradcheckReport one = gradcheck<T>(op.function, std::move(inputs), dtype, {.eps = eps});
    out.passed.of += one.passed;
    out.passed.all += one.elements;
    out.zero_numerators.of += one.zero_numerators;
    out.zero_numerators.all += one.elements;
    out.unmoved.of += one.unmoved;
    out.unmoved.all += one.inputs;
  }
  return out;
}

/// The cells of one op: by dtype, then by step.
using Row = std::array<std::array<Cell, probe_steps.size()>, dtypes.size()>;

Row check_everywhere(std::size_t op, std::size_t draws) {
  static const std::vector<Checked<double>> in_double = checked_ops<double>();
  static const std::vector<Checked<float>> in_float = checked_ops<float>();
  Row out;
  for (std::size_t d = 0; d < dtypes.size(); ++d) {
    for (std::size_t s = 0; s < probe_steps.size(); ++s) {
      const Format& format = dtypes[d].format;
      out[d][s] = format == binary64 ? check(in_double[op], format, probe_steps[s], draws)
                                     : check(in_float[op], format, probe_steps[s], draws);
    }
  }
  return out;
}

/// Returns the smallest e for which x + eps = x for all x (of 64 tried) in the binade of 2^e.
int first_unmoved_binade(const Format& dtype, double eps) {
  for (int e = dtype.emin();; ++e) {
    bool moved = false;
    for (int i = 0; i < 64 && !moved; ++i) {
      double x = std::ldexp(1 + i / 64.0, e);
      double next = x + eps;
      round_to(dtype, std::span(&next, 1));
      moved = next != x;
    }
    if (!moved) return e;
  }
}

std::string share_text(const Share& share) { return fmt::format("{:.2f} %", 100 * share.value()); }

Table cube_table(const Row& cube) {
  Table out{"x^3 on [-2, 2): passed / numerator 0 / x + eps = x", {"eps"}, {}};
  for (const NamedDtype& dtype : dtypes) out.columns.emplace_back(dtype.name);
  for (std::size_t s = 0; s < probe_steps.size(); ++s) {
    out.rows.push_back({fmt::format("{:.0e}", probe_steps[s])});
    for (std::size_t d = 0; d < dtypes.size(); ++d) {
      const Cell& cell = cube[d][s];
      out.rows.back().push_back(fmt::format("{} / {} / {}", share_text(cell.passed),
                                            share_text(cell.zero_numerators),
                                            share_text(cell.unmoved)));
    }
  }
  return out;
}

std::size_t best_step(const std::array<Cell, probe_steps.size()>& cells) {
  std::size_t best = 0;
  for (std::size_t s = 1; s < probe_steps.size(); ++s) {
    if (cells[s].passed.value() > cells[best].passed.value()) best = s;
  }
  return best;
}

void add_op(const std::string& name, const Row& row, Table& table) {
  table.rows.push_back({name});
  for (std::size_t d = 0; d < dtypes.size(); ++d) {
    const std::size_t best = best_step(row[d]);
    table.rows.back().push_back(fmt::format("{} / {} at {:.0e}", share_text(row[d][1].passed),
                                            share_text(row[d][best].passed), probe_steps[best]));
  }
}

Plot cube_plot(const Row& cube) {
  Plot plot{"Right gradients that gradcheck confirms: x^3 on [-2, 2)",
            "eps",
            "passed, %",
            Axis::log10,
            Axis::linear,
            {},
            "Left of the summit the rounding of f, divided by eps, hides the slope; right of it "
            "the difference bends away from the derivative."};
  for (std::size_t d = 0; d < dtypes.size(); ++d) {
    Series series{dtypes[d].name, {probe_steps.begin(), probe_steps.end()}, {}, Mark::line};
    for (const Cell& cell : cube[d]) series.y.push_back(100 * cell.passed.value());
    plot.series.push_back(std::move(series));
  }
  return plot;
}

nlohmann::ordered_json data_of(const std::string& name, const Row& row) {
  nlohmann::ordered_json out{{"op", name}};
  for (std::size_t d = 0; d < dtypes.size(); ++d) {
    for (std::size_t s = 0; s < probe_steps.size(); ++s) {
      const Cell& cell = row[d][s];
      out[dtypes[d].name].push_back({{"eps", probe_steps[s]},
                                     {"elements", cell.passed.all},
                                     {"passed", cell.passed.value()},
                                     {"zero_numerators", cell.zero_numerators.value()},
                                     {"unmoved", cell.unmoved.value()}});
    }
  }
  return out;
}

Table unmoved_table(bool& as_said) {
  Table out{"x + 1e-6 = x from here on", {"format", "|x|"}, {}};
  for (const NamedDtype& dtype : dtypes) {
    const int found = first_unmoved_binade(dtype.format, 1e-6);
    // Half a unit in the last place of 2^e is 2^(e - p).
    as_said = as_said && found == dtype.format.precision - 19;
    out.rows.push_back({dtype.name, fmt::format("2^{}", found)});
  }
  return out;
}

Outcome run_gradcheck_formats(const ExperimentInput& input) {
  Outcome out;
  const std::vector<Checked<float>> ops = checked_ops<float>();
  Table table{"Passed at eps 1e-6 / at the best eps", {"op"}, {}};
  for (const NamedDtype& dtype : dtypes) table.columns.emplace_back(dtype.name);
  Row cube{};
  bool all_in_double = true;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (input.progress) {
      input.progress(static_cast<double>(i) / static_cast<double>(ops.size()), ops[i].name);
    }
    const std::size_t draws = (ops[i].shapes[0] == Shape{1} ? 5000 : 100) / (input.quick ? 5 : 1);
    const Row row = check_everywhere(i, draws);
    if (i == 0) cube = row;
    const Share& in_double = row[0][1].passed;
    all_in_double = all_in_double && in_double.of == in_double.all && in_double.all > 0;
    add_op(ops[i].name, row, table);
    out.data["ops"].push_back(data_of(ops[i].name, row));
  }
  bool moves_as_said = true;
  out.tables = {cube_table(cube), table, unmoved_table(moves_as_said)};
  out.plots = {cube_plot(cube)};
  const Cell &single = cube[1][1], &wide = cube[1][4], &half = cube[2][1];
  const GradcheckOptions usual;
  out.measured = {{"eps", usual.eps},
                  {"atol", usual.atol},
                  {"rtol", usual.rtol},
                  {"single", single.passed.value()},
                  {"zeros", single.zero_numerators.value()},
                  {"wide_eps", probe_steps[4]},
                  {"wide", wide.passed.value()},
                  {"unmoved", half.unmoved.value()}};
  out.as_expected = all_in_double && moves_as_said;
  out.verdict = fmt::format(
      "FP64 {} every gradient at eps 1e-6; FP32 confirms {} of x^3 there, with numerator 0 in {}, "
      "and {} at eps 1e-3; in FP16 {} of x do not move by 1e-6.",
      all_in_double ? "confirms" : "does NOT confirm", share_text(single.passed),
      share_text(single.zero_numerators), share_text(wide.passed), share_text(half.unmoved));
  return out;
}

constexpr std::array<ExpectedFigure, 8> gradcheck_formats_figures{{
    {"eps", "eps", "1e-6", 1e-6, 1e-6, true},
    {"atol", "atol", "1e-5", 1e-5, 1e-5, true},
    {"rtol", "rtol", "1e-3", 1e-3, 1e-3, true},
    {"single", "gradients of x^3 confirmed in FP32", "7 %", 0.05, 0.09},
    {"zeros", "numerators that are 0 in FP32", "0.1 %", any_smaller, 0.001},
    {"wide_eps", "a wider eps", "1e-3", 1e-3, 1e-3, true},
    {"wide", "gradients of x^3 confirmed in FP32 with the wider eps", "99.9 %", 0.999, 1},
    {"unmoved", "x for which x + 1e-6 = x in FP16", "99.8 %", 0.995, 1},
}};

}  // namespace

extern const Experiment gradcheck_formats{
    "gradcheck_formats",
    "In which formats and with which step do central differences confirm right gradients? (In FP32 "
    "it is not because x + 1e-6 = x that checks fail.)",
    "FP64 confirms every gradient; FP32 with steps of 1e-6 confirms 7 % of those of x³.",
    {"FP64 confirms all with PyTorch's defaults (eps {eps}, atol {atol}, rtol {rtol}). FP32 "
     "confirms about {single} of x^3 there although at most {zeros} of the numerators are zero: "
     "f's rounding, divided by eps, hides the slope; with eps {wide_eps} it confirms at least "
     "{wide}. In FP16 x + eps = x for {unmoved} of the x that were drawn.",
     gradcheck_formats_figures},
    &run_gradcheck_formats};

}  // namespace binade
