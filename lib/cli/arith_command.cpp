// SPDX-License-Identifier: Apache-2.0
//
// binade arith: an arithmetic operation on every element of arrays, rounded once to a format, with
// counts.
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emulate/operation.h"
#include "lib/cli/attribute_options.h"
#include "lib/cli/command.h"
#include "lib/cli/progress.h"
#include "lib/cli/suggestions.h"
#include "lib/format/format_spec.h"
#include "lib/gemm/files.h"
#include "lib/io/chunk_reader.h"
#include "lib/io/file_format.h"
#include "lib/io/npy_writer.h"
#include "lib/io/opened_tensor.h"
#include "lib/io/output_paths.h"
#include "lib/io/safetensors_writer.h"
#include "lib/range/elementwise.h"
#include "lib/range/event_columns.h"
#include "lib/range/quantize_stream.h"
#include "lib/text/error.h"
#include "lib/text/shape.h"
#include "lib/text/spelling.h"

namespace binade {
namespace {

struct ArithArguments {
  std::string operation, format, dtype, name;
  std::vector<std::string> files;  ///< operands, then the result
  AttributeOptions attributes;
  std::uint64_t seed = 0;
};

constexpr std::array<std::string_view, 3> arith_operand_names{"A", "B", "C"};

void check_operand_count(const NamedOperation& operation, std::size_t files) {
  const auto wanted = static_cast<std::size_t>(operation.operands);
  if (files == wanted + 1) return;
  std::string given;
  for (std::size_t i = 0; i < wanted; ++i) given += std::string(arith_operand_names[i]) + " ";
  throw Error(std::string(operation.name) + " has " + std::to_string(wanted) +
              (wanted == 1 ? " operand" : " operands") + ": give " + given + "OUT, " +
              std::to_string(wanted + 1) + " files and not " + std::to_string(files));
}

/// An operand, and what of it was read and is not yet used.
struct ArithOperand {
  std::string where;
  OpenedTensor tensor;
  Format format;
  std::vector<std::byte> repeated = {};  ///< its one element, if results have more
  std::unique_ptr<ChunkReader> reader = {};
  std::span<const std::byte> left = {};

  const TensorInfo& info() const { return tensor.info(); }
  bool in_fortran_order() const { return info().fortran_order && info().shape.size() > 1; }
};

ArithOperand open_operand(const std::string& where, std::string_view name,
                          const OpenOptions& options) {
  OpenedTensor tensor = open_tensor(where, options);
  const Dtype& dtype = tensor.info().dtype;
  if (dtype.kind != DtypeKind::floating) {
    throw error_in(where, "dtype " + std::string(dtype.name),
                   std::string(name) + " is a tensor of a floating-point dtype");
  }
  return {where, std::move(tensor), *find_format(dtype.format)};
}

/// What the results are: as the operands that are not of one element, all of one shape and order.
struct ResultLayout {
  std::vector<std::uint64_t> shape;
  std::uint64_t elements;
  bool fortran_order;
};

ResultLayout layout_of(const std::vector<ArithOperand>& operands) {
  const auto& whole = *std::ranges::max_element(operands, {}, [](const ArithOperand& operand) {
    return std::pair(operand.info().elements != 1, operand.info().shape.size());
  });
  for (const ArithOperand& other : operands) {
    if (other.info().elements == 1) continue;
    if (other.info().shape != whole.info().shape) {
      throw error_in(other.where, "shape " + shape_text(other.info().shape),
                     "that of " + printable(whole.where, longest_path) + " is " +
                         shape_text(whole.info().shape) +
                         "; operands are of one shape, or of one element");
    }
    if (other.in_fortran_order() != whole.in_fortran_order()) {
      const ArithOperand& fortran = other.in_fortran_order() ? other : whole;
      throw error_in(fortran.where, "in Fortran order, and another operand in C order",
                     "save numpy.ascontiguousarray of it");
    }
  }
  return {whole.info().shape, whole.info().elements, whole.in_fortran_order()};
}

/// Elements at hand, at most `most`.
std::size_t elements_at_hand(ArithOperand& operand, std::size_t most) {
  if (!operand.repeated.empty()) return most;
  if (operand.left.empty()) operand.left = operand.reader->next();
  return std::min(most, operand.left.size() / code_bytes(operand.format));
}

/// Takes elements that are at hand.
OperandBytes take_elements(ArithOperand& operand, std::size_t elements) {
  if (!operand.repeated.empty()) return {operand.repeated, true};
  const auto taken = operand.left.first(elements * code_bytes(operand.format));
  operand.left = operand.left.subspan(taken.size());
  return {taken};
}

void begin_reading(ArithOperand& operand, std::uint64_t results) {
  if (operand.info().elements == 1 && results != 1) {
    operand.tensor.file->read(operand.tensor.index, [&](std::span<const std::byte> chunk) {
      operand.repeated.assign(chunk.begin(), chunk.end());
    });
  } else {
    operand.reader = std::make_unique<ChunkReader>(*operand.tensor.file, operand.tensor.index);
  }
}

/// ResultKind to `sink` in order.
template <typename Sink>
EventCounts operate_on_operands(const Elementwise& how, std::vector<ArithOperand>& operands,
                                const ResultLayout& layout, const Sink& sink) {
  const std::uint64_t elements = layout.elements;
  const ElementIndex index = layout.fortran_order ? fortran_index(layout.shape) : ElementIndex();
  constexpr std::size_t most = std::size_t{1} << 20;  // results held in memory at a time
  std::uint64_t bytes_each = 0;
  for (ArithOperand& operand : operands) {
    begin_reading(operand, elements);
    bytes_each += operand.repeated.empty() ? code_bytes(operand.format) : 0;
  }
  ProgressLine line;
  EventCounts counts;
  const ResultKind in = fits_in(how.to, binary32) ? ResultKind::f32 : ResultKind::f64;
  std::vector<std::byte> results;
  for (std::uint64_t done = 0; done < elements;) {
    std::size_t n = most;
    for (ArithOperand& operand : operands) n = elements_at_hand(operand, n);
    std::vector<OperandBytes> taken;
    for (ArithOperand& operand : operands) taken.push_back(take_elements(operand, n));
    results.resize(n * (value_dtype(how.to).bits / 8));
    counts += operate_on_elements(how, taken, done, in, results, index);
    sink(results);
    done += n;
    line.update(done * bytes_each, elements * bytes_each);
  }
  for (const ArithOperand& operand : operands) {
    if (operand.reader) operand.reader->next();  // the end, where a checksum may fail
  }
  return counts;
}

/// Writes OUT, of values of `dtype`; `fill` gets what takes them.
template <typename Fill>
void write_results(const std::string& path, const TensorSpec& tensor, const ResultLayout& layout,
                   const std::map<std::string, std::string>& metadata, const Fill& fill) {
  const auto fill_and_finish = [&fill](auto&& writer) {
    fill([&writer](std::span<const std::byte> values) { writer.write(values); });
    writer.finish();
  };
  if (path.ends_with(".npy")) {
    fill_and_finish(NpyWriter(path, tensor.dtype, tensor.shape, layout.fortran_order));
  } else {
    fill_and_finish(SafetensorsWriter(path, std::array{tensor}, metadata));
  }
}

void run_arith(const ArithArguments& a) {
  const NamedOperation& operation = parse_operation(a.operation);
  check_operand_count(operation, a.files.size());
  const NamedOrCustom format = parse_format(a.format);
  Elementwise how{.operation = operation.operation,
                  .to = format.format,
                  .attributes = attributes_of(a.attributes),
                  .seed = a.seed};
  check_effects(how.attributes, std::span(&format, 1));
  check_seed(how.attributes, how.seed);
  if (!fits_in(how.to, binary64)) {
    throw Error(
        "--format " + printable(a.format) +
        ": no dtype holds all its values, which go beyond binary64's; give a format within it");
  }
  const std::string& out = a.files.back();
  check_result_name(out);
  if (out.ends_with(".npy") && !a.name.empty()) {
    throw error_in(out, "a .npy has no place for --name", "name it .safetensors");
  }
  const std::span wheres = std::span(a.files).first(a.files.size() - 1);
  std::vector<InputPath> inputs;
  for (std::size_t i = 0; i < wheres.size(); ++i) {
    inputs.push_back({std::string(arith_operand_names[i]), file_of(wheres[i])});
  }
  prepare_outputs(inputs, std::array{OutputPath{"OUT", out}});
  const OpenOptions options{a.dtype.empty() ? std::optional<Dtype>{} : parse_dtype(a.dtype)};
  std::vector<ArithOperand> operands;
  for (std::size_t i = 0; i < wheres.size(); ++i) {
    operands.push_back(open_operand(wheres[i], arith_operand_names[i], options));
    how.from[i] = operands[i].format;
  }
  const ResultLayout layout = layout_of(operands);
  if (layout.fortran_order && !out.ends_with(".npy")) {
    throw error_in(out, "the operands are in Fortran order, which .safetensors does not have",
                   "write .npy");
  }
  const TensorSpec tensor{a.name.empty() ? "out" : a.name, value_dtype(how.to), layout.shape};
  EventCounts counts;
  write_results(
      out, tensor, layout,
      {{"binade.operation", std::string(operation.name)},
       {"binade.format", a.format},
       {"binade.rounding", std::string(rounding_name(how.attributes.rounding))}},
      [&](const auto& sink) { counts = operate_on_operands(how, operands, layout, sink); });
  const std::string text = counts_head("operation") + counts_line(operation.name, counts);
  std::fputs(text.c_str(), stdout);
}

void define_arith(App app, int&) {
  const auto a = std::make_shared<ArithArguments>();
  app.add_option("OP", a->operation,
                 "the operation: " + listed(names_of(operations)) +
                     "; or, for short, sub, mul, div, rem, sqrt, fma, min, max")
      .suggest([] { return words_of_table(operations); })
      .required();
  app.add_option(
         "FILES", a->files,
         "files of as many operands as OP has, then the file of the result. An operand is a " +
             single_file_formats() +
             " .pt file, written FILE:NAME if the file holds several arrays, or - for standard "
             "input. Operands have any floating-point dtype and one shape; a tensor of one element "
             "is used for every element. OUT is .npy or .safetensors, and holds values as F32 if "
             "binary32 holds every number of the format, else as F64")
      .suggest_files()
      .type_name("A [B [C]] OUT")
      .required();
  app.add_option("--format", a->format,
                 "format to which results are rounded: a name from `binade formats`, or your own, "
                 "such as e5m7")
      .suggest(format_words)
      .required();
  add_rounding(app, a->attributes);
  add_saturation(app, a->attributes);
  add_nan(app, a->attributes);
  add_flush_results(app, a->attributes);
  add_flush_operands(app, a->attributes);
  app.add_option(
         "--seed", a->seed,
         "seed of stochastic rounding, from 0 to 2^64 - 1; element i, in C order whatever the "
         "order of storage is, draws word i of the random numbers")
      .capture_default_str();
  add_random_bits(app, a->attributes);
  app.add_option("--name", a->name,
                 "name of the result's tensor in a .safetensors file (default: out)");
  app.add_option("--dtype", a->dtype,
                 "dtype of the elements of .npy files that hold raw bytes (V1, V2), such as "
                 "bfloat16 or float8_e4m3fn")
      .suggest(dtype_words);
  app.footer(
      "\nA division by zero is exact: it gives infinity, or what the format has in its place, and "
      "no column counts it.\n"
      "If an operand is a NaN, so is the result of minimum and maximum (torch.minimum, PTX's "
      "min.NaN); minimum_number\n"
      "and maximum_number give the other operand (torch.fmin, PTX's min).\n\n"
      "Exit status: 0 the result was written, 2 an argument or a file cannot be used.\n\n"
      "Examples:\n"
      "  binade arith add a.npy b.npy sum.npy --format bfloat16\n"
      "  binade arith fma a.npy b.npy c.npy d.npy --format e4m3 --saturation finite");
  app.callback([a] { run_arith(*a); });
}

}  // namespace

const Command arith_command{
    "arith", "compute an operation on every element of arrays, rounded once to a format",
    "Computes an operation exactly on every element of its operands, rounds each result once to a "
    "format, and writes the results to a file. Prints how many results became zero, subnormal or "
    "infinite, were invalid or inexact.",
    &define_arith, "[arithmetic](emulate/README.md#an-operation-on-whole-arrays)"};

}  // namespace binade
