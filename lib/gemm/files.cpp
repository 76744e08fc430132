// SPDX-License-Identifier: Apache-2.0
//
// Reads what a product is of, and checks that the shapes fit together.
#include "lib/gemm/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <map>
#include <utility>

#include "emulate/instruction_shapes.h"
#include "lib/block/scale_layout.h"
#include "lib/gemm/packed_elements.h"
#include "lib/gemm/scales.h"
#include "lib/io/npy_writer.h"
#include "lib/io/opened_tensor.h"
#include "lib/io/safetensors_writer.h"
#include "lib/range/quantize_stream.h"
#include "lib/text/error.h"
#include "lib/text/shape.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

/// Matrices whose rows are the operands of dot products: each has `lines` rows of k elements, and
/// they lie one after the other.
struct Lines {
  std::vector<std::uint64_t> elements;
  std::uint64_t lines = 0, k = 0, matrices = 1;
};

Lines read_lines(const std::string& where, const Format& format, const ReadArray& how,
                 bool columns_are_lines, bool is_stack) {
  Array array = read_array(where, format, how);
  const std::vector<std::uint64_t>& shape = array.shape;
  if (shape.size() != (is_stack ? 3 : 2)) {
    throw error_in(where, "shape " + shape_text(shape),
                   is_stack ? how.what + " is a stack of matrices here, one for each group"
                   : shape.size() == 3 && how.what == "B"
                       ? "B is a matrix; --groups says which rows of A meet which of several"
                       : how.what + " is a matrix");
  }
  if (array.elements.empty()) {
    throw error_in(where, "shape " + shape_text(shape), "there is nothing to multiply");
  }
  const std::uint64_t rows = shape[shape.size() - 2], columns = shape.back();
  const std::uint64_t matrices = is_stack ? shape[0] : 1;
  if (!columns_are_lines) return {std::move(array.elements), rows, columns, matrices};
  if (!is_stack) return {transposed(array.elements, rows, columns), columns, rows};
  std::vector<std::uint64_t> out;
  out.reserve(array.elements.size());
  for (auto at = array.elements.begin(); at != array.elements.end();) {
    const auto end = at + static_cast<std::ptrdiff_t>(rows * columns);
    const auto one = transposed({at, end}, rows, columns);
    out.insert(out.end(), one.begin(), one.end());
    at = end;
  }
  return {std::move(out), columns, rows, matrices};
}

/// Reads which rows of A are in which group.
RowGroups read_groups(const GemmFiles& files, const Lines& a, const Lines& b) {
  if (files.groups.empty()) return {};
  const GroupLayout& layout = find_group_layout(files.group_layout);
  if (layout.is_stack && a.matrices != b.matrices) {
    throw error_in(files.b, fmt::format("{} matrices", b.matrices),
                   fmt::format("A has {}; both are stacks of one for each group", a.matrices));
  }
  return read_row_groups(files.groups, layout, b.matrices, a.matrices * a.lines,
                         layout.is_stack ? a.lines : 0);
}

std::vector<std::uint64_t> read_shaped(const std::string& where, const Format& format,
                                       const ReadArray& how,
                                       const std::vector<std::uint64_t>& shape) {
  Array array = read_array(where, format, how);
  if (array.shape != shape) {
    throw error_in(where, "shape " + shape_text(array.shape),
                   fmt::format("{} is of shape {} here", how.what, shape_text(shape)));
  }
  return std::move(array.elements);
}

/// Reads the bias, of each group or of all.
std::vector<std::uint64_t> read_bias(const std::string& where, const Format& format,
                                     const GemmOperands& x) {
  if (!x.groups.any()) return read_shaped(where, format, {"the bias"}, {x.n});
  Array array = read_array(where, format, {"the bias"});
  if (array.shape == std::vector<std::uint64_t>{x.n}) {
    const std::vector<std::uint64_t> one = array.elements;
    for (std::size_t group = 1; group < x.groups.count; ++group) {
      array.elements.insert(array.elements.end(), one.begin(), one.end());
    }
  } else if (array.shape != std::vector<std::uint64_t>{x.groups.count, x.n}) {
    throw error_in(where, "shape " + shape_text(array.shape),
                   fmt::format("the bias is of shape ({}, {}), or ({},) for all groups, here",
                               x.groups.count, x.n, x.n));
  }
  return std::move(array.elements);
}

/// Returns what --scale-run says, or 0.
std::size_t length_of_runs(const std::string& text) {
  if (text.empty()) return 0;
  std::size_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  constexpr std::size_t most = std::size_t{1} << 20;
  if (error == std::errc{} && end == text.data() + text.size() && out > 0 && out <= most) {
    return out;
  }
  throw Error("--scale-run " + printable(text) + ": give a number of elements of K, as 128");
}

/// Returns that of two words, as "te_1d,te_2d", which is A's or B's.
std::string of_side(const std::string& option, const std::string& text, bool of_b) {
  const auto words = split(text, ',');
  if (words.size() > 2) {
    throw Error(option + " " + printable(text) + ": give one, or A's and B's");
  }
  return std::string(words.size() == 2 && of_b ? words[1] : words[0]);
}

/// Adds those of the other matrix. Where they are of fewer elements of K, the others' are divided.
void merge_runs(RunScales& to, RunScales more, std::size_t k, const std::string& where) {
  if (!to.any()) {
    to = std::move(more);
    return;
  }
  if (to.length % more.length != 0 && more.length % to.length != 0) {
    throw error_in(where, fmt::format("scales of {} elements of K", more.length),
                   fmt::format("A's are of {}", to.length));
  }
  const std::size_t length = std::min(to.length, more.length);
  to.divide(length, k);
  more.divide(length, k);
  to.b = std::move(more.b);
}

/// Whether a matrix has scales of blocks, whatever the other one has.
bool has_block_scales(const GemmFiles& files, bool of_b, const ScalesOfLines& out) {
  const std::string& where = of_b ? files.b_scale : files.a_scale;
  return !where.empty() &&
         are_block_scales(where, of_b ? columns_of(out.groups, out.n) : rows_of(out.groups, out.m),
                          false);
}

/// Whether one of two matrices has a scale for each of several lines, the other a single one: of
/// rows and of a tile of one run, where K has one.
bool are_of_one_run(const GemmFiles& files, const ScalesOfLines& out) {
  constexpr std::size_t longest = 128;  // of the runs of kernels
  const bool both = !files.a_scale.empty() && !files.b_scale.empty();
  if (!both || out.groups.any() || out.k > longest) return false;
  const auto numbers = [](const std::string& where) {
    const std::vector<std::uint64_t> shape = open_tensor(where).info().shape;
    return shape.size() == 2 ? shape[0] * shape[1] : 0;
  };
  const std::uint64_t a = numbers(files.a_scale), b = numbers(files.b_scale);
  return (a == out.m && b == 1 && out.m > 1 && out.n > 1) ||
         (b == out.n && a == 1 && out.m > 1 && out.n > 1);
}

/// Reads the scales of A, or of B; `other_has`: the other matrix has scales of blocks.
void read_scales_of(const GemmFiles& files, bool of_b, bool other_has, std::size_t run,
                    const Format& format, const ScalesOfLines& out) {
  const std::string& where = of_b ? files.b_scale : files.a_scale;
  const std::string& whole = of_b ? files.b_tensor_scale : files.a_tensor_scale;
  const std::string what = of_b ? "--b-scale" : "--a-scale";
  const ScaledLines lines = of_b ? columns_of(out.groups, out.n) : rows_of(out.groups, out.m);
  std::vector<std::uint64_t>& of_lines = of_b ? out.b_scale : out.a_scale;
  const std::size_t length = length_of_runs(of_side("--scale-run", files.scale_run, of_b));
  const std::string layout = of_side("--scale-layout", files.scale_layout, of_b);
  const bool in_order = layout == GemmFiles{}.scale_layout;
  const bool of_blocks = !where.empty() && (run != 0 || length != 0 || !in_order ||
                                            are_block_scales(where, lines, other_has));
  if (!where.empty() && !of_blocks) {
    of_lines = read_scales(where, what, lines);
  } else if (!where.empty()) {
    const bool k_first = of_b ? !files.transposed_b : files.transposed_a;
    LineScales scales =
        read_block_scales({where, what, lines, out.k, k_first, length, run, layout, format});
    RunScales read{scales.length, {}, {}};
    (of_b ? read.b : read.a) = std::move(scales.codes);
    if (run != 0) read.divide(run, out.k);
    merge_runs(out.runs, std::move(read), out.k, where);
  }
  if (whole.empty()) return;
  const std::string option = of_b ? "--b-tensor-scale" : "--a-tensor-scale";
  if (!of_lines.empty()) {
    throw Error(option + " goes with scales of blocks; those of " + what + " are of lines");
  }
  const std::optional<float> number = scale_number(whole);
  if (number) {
    of_lines.assign(lines.count, std::bit_cast<std::uint32_t>(*number));
    return;
  }
  of_lines = read_scales(whole, option, {1, lines.groups, lines.group});
  if (of_lines.size() == 1) of_lines.resize(lines.count, of_lines[0]);
}

/// Lets the model multiply by scales of blocks where it promotes, if its instruction does not.
void promote_by_scales(const GemmOperands& x, GemmModel& model) {
  if (!x.runs.any() || is_scaled(model.model)) return;
  model.sum.scaling.share = static_cast<int>(x.runs.length);
  if (model.sum.promote_every != 0) return;
  model.sum.promote_every = std::max(1, static_cast<int>(x.runs.length) / model.k);
}

}  // namespace

std::vector<std::string> scale_layout_words() { return words_of_table(scale_layouts); }
std::vector<std::string> group_layout_words() { return words_of_table(group_layouts); }

std::string option_of(const FileOption& row) {
  std::string out = "--" + std::string(row.name);
  std::ranges::replace(out, '_', '-');
  return out;
}

std::optional<Rounding> operand_rounding(std::string_view name) {
  if (name.empty()) return std::nullopt;
  const std::optional<Rounding> rounding = find_rounding(name);
  if (rounding && *rounding != Rounding::stochastic) return rounding;
  std::string all;
  for (const NamedRounding& row : roundings) {
    if (row.rounding == Rounding::stochastic) continue;
    all += (all.empty() ? "" : ", ") + std::string(row.name);
  }
  throw Error("--round " + printable(name) + ": no rounding of operands; there are " + all);
}

std::string round_option(Rounding rounding) {
  if (rounding == Rounding::ties_to_even) return "--round";
  return "--round=" + std::string(rounding_name(rounding));
}

std::optional<float> scale_number(const std::string& text) {
  float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

void read_product_scales(const GemmFiles& files, std::size_t run, const Format& format,
                         const ScalesOfLines& out) {
  const bool both = are_of_one_run(files, out);
  const bool a = both || has_block_scales(files, false, out);
  const bool b = both || has_block_scales(files, true, out);
  read_scales_of(files, false, b, run, format, out);
  read_scales_of(files, true, a, run, format, out);
}

GemmOperands read_operands(const GemmFiles& files, GemmModel& model) {
  const std::optional<Rounding> round = operand_rounding(files.round);
  const bool grouped = !files.groups.empty();
  const bool is_stack = grouped && find_group_layout(files.group_layout).is_stack;
  Lines a = read_lines(files.a, model.types.a, {"A", round, files.may_round}, files.transposed_a,
                       is_stack);
  Lines b = read_lines(files.b, model.types.b, {"B", round, files.may_round}, !files.transposed_b,
                       grouped);
  if (a.k != b.k) {
    throw error_in(files.b, fmt::format("K is {}", b.k),
                   fmt::format("A's is {}: A is (M, K) and B is (K, N)", a.k));
  }
  if (a.k > 1U << 30) throw error_in(files.a, "K above 2^30", "split it");
  GemmOperands out{.m = a.matrices * a.lines, .n = b.lines, .k = a.k};
  out.groups = read_groups(files, a, b);
  out.a = std::move(a.elements);
  out.b = std::move(b.elements);
  const Format accumulator = model.types.c;
  const bool integers = is_integer(accumulator);
  if (files.c) {
    model.c = integers ? accumulator : named_format(*files.c).value_or(accumulator);
    out.c = read_shaped(*files.c, model.c, {"C"}, result_shape(out));
  }
  if (files.bias) {
    model.bias = named_format(*files.bias).value_or(accumulator);
    if (is_integer(model.epilogue.out) && !is_integer(model.bias)) {
      throw error_in(*files.bias, "a bias of numbers, and D is one of integers",
                     "give a bias of int32, or a D or --out-format in floating point");
    }
    out.bias = read_bias(*files.bias, model.bias, out);
  }
  const bool scaled = is_scaled(model.model);
  read_product_scales(files, static_cast<std::size_t>(scaled ? scale_run(model) : 0),
                      scaled ? model.model.scaling.format : binary32,
                      {out.m, out.n, out.k, out.a_scale, out.b_scale, out.runs, out.groups});
  if (scaled && !out.runs.any()) {
    throw Error(fmt::format(
        "--a-scale, --b-scale: none, and the instruction multiplies by scales of {} elements of K; "
        "give those of A, of B or of both",
        scale_run(model)));
  }
  if (!integers) {
    promote_by_scales(out, model);
    return out;
  }
  if (out.runs.any()) throw Error("a product of integers has scales of rows and columns only");
  const bool has_zeros = !files.a_zero_point.empty() || !files.b_zero_point.empty();
  if (out.groups.any() && (has_zeros || is_integer(model.bias))) {
    throw Error("a product of integers in groups has no zero points and no bias of integers");
  }
  ZeroPoints zeros;
  if (!files.a_zero_point.empty()) {
    zeros.a = read_zero_points(files.a_zero_point, "--a-zero-point", out.m);
  }
  if (!files.b_zero_point.empty()) {
    zeros.b = read_zero_points(files.b_zero_point, "--b-zero-point", out.n);
  }
  add_zero_points(out.c, out, model.types, zeros);
  if (is_integer(model.bias)) add_integer_bias(out.c, out.m, std::exchange(out.bias, {}));
  return out;
}

std::vector<std::uint64_t> read_result(const std::string& where, const GemmModel& model,
                                       const GemmOperands& operands) {
  return read_shaped(where, model.epilogue.out, {"D"}, result_shape(operands));
}

std::vector<std::uint64_t> result_shape(const GemmOperands& x) {
  if (x.groups.stack != 0) return {x.groups.count, x.groups.stack, x.n};
  return {x.m, x.n};
}

Dtype result_dtype(const GemmModel& model) {
  const Format& f = model.epilogue.out;
  return is_integer(f) ? *find_dtype("I32") : encoded_dtype(f);
}

void check_result_name(const std::string& path) {
  if (path.ends_with(".npy") || path.ends_with(".safetensors")) return;
  throw error_in(path, "cannot tell what to write", "name it .npy or .safetensors");
}

void write_result(const std::string& path, const GemmModel& model, const GemmOperands& operands,
                  const std::vector<std::uint64_t>& d,
                  const std::vector<std::pair<std::string, std::string>>& metadata) {
  check_result_name(path);
  const Dtype dtype = result_dtype(model);
  const std::vector<std::uint64_t> shape = result_shape(operands);
  std::vector<std::byte> bytes(d.size() * (dtype.bits / 8));
  pack_elements(d, dtype.bits / 8, bytes);
  if (path.ends_with(".npy")) {
    NpyWriter writer(path, dtype, shape);
    writer.write(bytes);
    writer.finish();
    return;
  }
  const std::array spec{TensorSpec{"d", dtype, shape}};
  SafetensorsWriter writer(path, spec,
                           std::map<std::string, std::string>(metadata.begin(), metadata.end()));
  writer.write(bytes);
  writer.finish();
}

}  // namespace binade
