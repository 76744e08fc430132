// SPDX-License-Identifier: Apache-2.0
//
// Reads runs from files: formats come from the files or the user, and shapes are checked against
// each other.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "emulate/instruction_shapes.h"
#include "lib/format/format_spec.h"
#include "lib/gemm/files.h"
#include "lib/gemm/scales.h"
#include "lib/identify/grouped_runs.h"
#include "lib/identify/identification.h"
#include "lib/io/opened_tensor.h"
#include "lib/text/error.h"
#include "lib/text/shape.h"

namespace binade {
namespace {

constexpr std::size_t most_k = std::size_t{1} << 24;
constexpr const char *k_is_large = "K above 2^24", *give_less = "give a smaller product";

Format format_of(std::string_view word, const std::string& text) {
  const auto row = std::ranges::find(type_names, word, &TypeName::name);
  if (row != type_names.end()) return row->format;
  throw Error("--types '" + printable(text) + "' has '" + printable(word) +
              "'; write the types of d, a, b and c as f32.f16.f16.f32");
}

std::vector<Format> parsed(const std::string& text) {
  std::vector<Format> out;
  for (std::size_t begin = 0; begin <= text.size() && !text.empty();) {
    const std::size_t end = std::min(text.find('.', begin), text.size());
    out.push_back(format_of(std::string_view(text).substr(begin, end - begin), text));
    begin = end + 1;
  }
  if (!out.empty() && out.size() != 3 && out.size() != 4) {
    throw Error(
        fmt::format("--types '{}' has {} types; write those of d, a, b and c, as "
                    "f32.f16.f16.f32, or without c's",
                    printable(text), out.size()));
  }
  return out;
}

/// The types of products whose bits are as many as those of a dtype: "u8, e4m3, e5m2".
std::string types_of_width(unsigned bits) {
  std::string out;
  for (const TypeName& row : type_names) {
    const auto width = static_cast<unsigned>(row.format.storage_bits());
    if (width == bits) out += fmt::format("{}{}", out.empty() ? "" : ", ", row.name);
  }
  return out;
}

/// Returns the format that the file's dtype names. Signed bytes are numbers of s8, what else holds
/// integers may be the bits of several types. Throws Error if the dtype names no type.
Format own_format(const std::string& where, const char* what) {
  const std::optional<Format> named = named_format(where);
  if (named && type_name(*named) != "?") return *named;
  if (integer_format(where) == s8) return s8;
  const Dtype dtype = open_tensor(where).info().dtype;
  const std::string types = dtype.kind == DtypeKind::integer ? types_of_width(dtype.bits) : "";
  throw error_in(where,
                 named ? "dtype " + spec_of(*named)
                       : fmt::format("bare bits of {}{}", dtype.name,
                                     types.empty() ? "" : ", which may be " + types),
                 fmt::format("say what {} holds: --types D.A.B or D.A.B.C, as f32.bf16.bf16.f32 "
                             "or s32.u8.s8",
                             what));
}

/// Returns s32, and the types of a and b, if the files hold 8-bit integers and a D of signed 32-bit
/// ones: the only product of them, where each could also be bits of other types. Beside s8,
/// unsigned bytes are u8 in any case.
std::vector<Format> integer_types(const RunFiles& files) {
  const auto d = integer_format(files.d[0]), a = integer_format(files.a[0]),
             b = integer_format(files.b[0]);
  if (!a || !b || *a == s32 || *b == s32) return {};
  if (d == s32) return {*d, *a, *b};
  if (*a == u8 && *b == u8) return {};
  return {own_format(files.d[0], "--d"), *a, *b};
}

KernelTypes types_of(const RunFiles& files) {
  std::vector<Format> given = parsed(files.types);
  if (given.empty()) given = integer_types(files);
  KernelTypes out;
  if (given.empty()) {
    out.d = own_format(files.d[0], "--d");
    out.a = own_format(files.a[0], "--a");
    out.b = own_format(files.b[0], "--b");
  } else {
    out.d = given[0];
    out.a = given[1];
    out.b = given[2];
  }
  // A sum of integers begins with C, whatever it ends as.
  const bool integers = is_integer(out.a) && is_integer(out.b);
  const Format sum = integers ? s32 : out.d;
  out.c = given.size() == 4  ? given[3]
          : !files.c.empty() ? (named_format(files.c[0]) ? own_format(files.c[0], "--c") : sum)
                             : sum;
  out.bias = !files.bias.empty() && named_format(files.bias[0])
                 ? own_format(files.bias[0], "--bias")
                 : sum;
  return out;
}

/// A matrix as lines of k elements.
struct Lines {
  std::size_t lines = 0, k = 0;
  std::vector<std::uint64_t> elements;
};

Lines transposed(const Lines& in) {
  Lines out{in.k, in.lines, std::vector<std::uint64_t>(in.elements.size())};
  for (std::size_t i = 0; i < in.lines; ++i) {
    for (std::size_t j = 0; j < in.k; ++j) {
      out.elements[j * in.lines + i] = in.elements[i * in.k + j];
    }
  }
  return out;
}

Array matrix(const std::string& where, const Format& format, const char* what) {
  Array out = read_array(where, format, {.what = what, .may_round = false});
  if (out.shape.empty() || out.shape.size() > 2 || out.elements.empty()) {
    throw error_in(where, "shape " + shape_text(out.shape),
                   std::string(what) + " is a matrix or a vector that holds something");
  }
  return out;
}

/// Returns the rows of a matrix; a vector is one line.
Lines lines_of(Array&& x) {
  const bool vector = x.shape.size() == 1;
  return {vector ? 1 : x.shape[0], x.shape[vector ? 0 : 1], std::move(x.elements)};
}

bool is_column(const Array& x) {
  return x.shape.size() == 1 || (x.shape.size() == 2 && x.shape[1] == 1);
}

/// The files of one run.
struct OneRun {
  GemmFiles files;
  std::string d;
};

std::vector<std::uint64_t> read_like_d(const std::string& where, const Format& format,
                                       const char* what, const Array& d) {
  Array out = read_array(where, format, {.what = what, .may_round = false});
  if (out.elements.size() != d.elements.size() || (out.shape != d.shape && !is_column(out))) {
    throw error_in(where, "shape " + shape_text(out.shape),
                   fmt::format("{} is of D's shape {}", what, shape_text(d.shape)));
  }
  return std::move(out.elements);
}

/// Reads the scales and zero points of a run.
void read_beside(KernelRun& run, const GemmFiles& files, const KernelTypes& types) {
  GemmFiles scales = files;
  scales.transposed_a = files.transposed_a && !run.dots;
  scales.transposed_b = files.transposed_b || run.dots;
  read_product_scales(scales, 0, binary32,
                      {run.m, run.n, run.k, run.a_scale, run.b_scale, run.runs, {}});
  ZeroPoints zeros;
  if (!files.a_zero_point.empty()) {
    zeros.a = read_zero_points(files.a_zero_point, "--a-zero-point", run.m);
  }
  if (!files.b_zero_point.empty()) {
    zeros.b = read_zero_points(files.b_zero_point, "--b-zero-point", run.n);
  }
  const bool has_zeros = !zeros.a.empty() || !zeros.b.empty();
  const bool integers = is_integer(types.a) && is_integer(types.b);
  if (has_zeros && !integers) {
    throw Error(
        "--a-zero-point and --b-zero-point have no effect except on integers: leave them out");
  }
  if (!integers) return;
  add_zero_points(run.c, operands_of(run), {types.a, types.b, s32, s32}, zeros, run.dots);
  run.a_zeros = std::move(zeros.a);
  run.b_zeros = std::move(zeros.b);
  const bool has_bias = is_integer(types.bias) && !run.bias.empty();
  if (has_bias) add_integer_bias(run.c, run.m, std::exchange(run.bias, {}));
  std::vector<std::string_view> addends;
  if (files.c) addends.emplace_back("C");
  if (has_zeros) addends.emplace_back("zero points");
  if (has_bias) addends.emplace_back("the bias");
  if (!addends.empty()) run.c_words = fmt::format("{}", fmt::join(addends, " and "));
}

/// Reads a run of rows in groups: one for each group that has rows.
std::vector<KernelRun> read_groups(const OneRun& one, const KernelTypes& types) {
  GemmModel model{.k = 1};
  model.types = {types.a, types.b, types.c, types.d};
  if (is_integer(types.a) && is_integer(types.b)) model.types.c = model.types.d = s32;
  model.epilogue.out = types.d;
  const GemmOperands x = read_operands(one.files, model);
  if (x.k > most_k) throw error_in(one.files.a, k_is_large, give_less);
  return runs_of_groups(x, read_result(one.d, model, x));
}

KernelRun read_run(const OneRun& one, const KernelTypes& types) {
  const GemmFiles& names = one.files;
  Array d = read_array(one.d, types.d, {.what = "--d", .may_round = false});
  if (d.elements.empty()) throw error_in(one.d, "no elements", "there is nothing to compare");
  Array a_array = matrix(names.a, types.a, "--a");
  Array b_array = matrix(names.b, types.b, "--b");
  const bool vectors = b_array.shape.size() == 1;
  const bool both_matrices = a_array.shape.size() == 2 && b_array.shape.size() == 2;
  Lines a = lines_of(std::move(a_array));
  Lines b = lines_of(std::move(b_array));
  const bool turned_a = names.transposed_a;
  const bool turned_b = !names.transposed_b && !vectors;
  const bool product = d.shape.size() == 2 && d.shape[0] == (turned_a ? a.k : a.lines) &&
                       d.shape[1] == (turned_b ? b.k : b.lines) &&
                       (turned_a ? a.lines : a.k) == (turned_b ? b.lines : b.k);
  KernelRun out;
  out.dots = both_matrices && is_column(d) && !product;
  if (!out.dots && turned_a) a = transposed(a);
  if (!out.dots && turned_b) b = transposed(b);
  if (a.k != b.k) {
    throw error_in(names.b, fmt::format("K is {}", b.k),
                   fmt::format("A's is {}: a product takes A (M, K) and B (K, N), dots both "
                               "(rows, K) and D (rows,)",
                               a.k));
  }
  if (a.k > most_k) throw error_in(names.a, k_is_large, give_less);
  out.m = a.lines;
  out.n = b.lines;
  out.k = a.k;
  const bool fits =
      out.dots ? out.m == out.n && out.m == d.elements.size() : d.elements.size() == out.m * out.n;
  const bool shaped = out.dots || d.shape.size() != 2 || (d.shape[0] == out.m);
  if (!fits || !shaped) {
    throw error_in(one.d, "shape " + shape_text(d.shape),
                   fmt::format("A and B make {}",
                               out.dots ? fmt::format("dots of {} and {} rows", out.m, out.n)
                                        : fmt::format("a D of ({}, {})", out.m, out.n)));
  }
  if (names.c) out.c = read_like_d(*names.c, types.c, "--c", d);
  if (names.bias) {
    Array bias = read_array(*names.bias, types.bias, {.what = "--bias", .may_round = false});
    if (bias.elements.size() != out.n || out.dots) {
      throw error_in(*names.bias, "shape " + shape_text(bias.shape),
                     fmt::format("the bias of a product is of shape ({},)", out.n));
    }
    out.bias = std::move(bias.elements);
  }
  out.a = std::move(a.elements);
  out.b = std::move(b.elements);
  out.d = std::move(d.elements);
  read_beside(out, names, types);
  return out;
}

}  // namespace

ReadRuns read_runs(const RunFiles& files) {
  if (files.d.empty()) throw Error("no run: d names no file; give a, b and d of every run");
  const auto count = [&](const std::string& what, const std::vector<std::string>& list,
                         bool optional) {
    if (list.size() == files.d.size() || (optional && list.empty())) return;
    throw Error(fmt::format("{} of {} and {} of --d; give one of each for every run of the kernel",
                            list.size(), what, files.d.size()));
  };
  count("--a", files.a, false);
  count("--b", files.b, false);
  count("--c", files.c, true);
  count("--bias", files.bias, true);
  for (std::size_t row = 0; row < file_options.size(); ++row) {
    count(option_of(file_options[row]), files.beside[row], true);
  }
  ReadRuns out{types_of(files), {}};
  for (std::size_t i = 0; i < files.d.size(); ++i) {
    OneRun one{.files = files.shared, .d = files.d[i]};
    one.files.may_round = false;
    one.files.a = files.a[i];
    one.files.b = files.b[i];
    if (!files.c.empty()) one.files.c = files.c[i];
    if (!files.bias.empty()) one.files.bias = files.bias[i];
    for (std::size_t row = 0; row < file_options.size(); ++row) {
      if (!files.beside[row].empty()) one.files.*file_options[row].value = files.beside[row][i];
    }
    if (one.files.groups.empty()) {
      out.runs.push_back(read_run(one, out.types));
      continue;
    }
    for (KernelRun& run : read_groups(one, out.types)) {
      if (files.d.size() > 1) run.name = fmt::format("run {}, {}", i, run.name);
      out.runs.push_back(std::move(run));
    }
  }
  return out;
}

}  // namespace binade
