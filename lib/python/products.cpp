// SPDX-License-Identifier: Apache-2.0
//
// The functions gemm(), account(), dot(), validate() and explain(): matrix products and rows of dot
// products of Tensor Cores.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "lib/device/dot_products.h"
#include "lib/explain/explained.h"
#include "lib/explain/explanation_json.h"
#include "lib/explain/explanation_svg.h"
#include "lib/explain/explanation_text.h"
#include "lib/gemm/account_html.h"
#include "lib/gemm/account_text.h"
#include "lib/gemm/gemm.h"
#include "lib/gemm/gemm_words.h"
#include "lib/instruction/instruction_name.h"
#include "lib/io/opened_tensor.h"
#include "lib/python/arguments.h"
#include "lib/python/gemm_model.h"
#include "lib/python/keywords.h"
#include "lib/python/module.h"
#include "lib/python/operands.h"
#include "lib/range/quantize_stream.h"
#include "lib/text/error.h"
#include "lib/text/json_text.h"
#include "lib/text/spelling.h"
#include "lib/validate/dot_answer.h"
#include "lib/validate/gemm_answer.h"

namespace binade::python {
namespace {

using namespace nanobind::literals;

struct DotsCall {
  DotOptions dots;
  RuleChoice rules;
};

/// Keyword arguments of dots that are operands.
constexpr std::array<std::pair<const char*, std::string DotFiles::*>, 2> dot_scales{{
    {"a_scale", &DotFiles::a_scale},
    {"b_scale", &DotFiles::b_scale},
}};

/// The arguments without those operands.
nb::kwargs without_scales(const nb::kwargs& given) {
  nb::kwargs out;
  for (auto [key, value] : given) {
    const auto is_it = [name = utf8_of(key)](const auto& scale) { return scale.first == name; };
    if (std::ranges::none_of(dot_scales, is_it)) out[key] = value;
  }
  return out;
}

/// The same of dots, which have an instruction and no order around it.
DotsCall dots_of_call(nb::handle model, const nb::kwargs& with_scales, const char* function) {
  const nb::kwargs given = without_scales(with_scales);
  const GemmOptions o = product_of(model, given, function);
  constexpr std::array<std::string_view, 5> known{"instruction", "arch", "zero_raises", "floor",
                                                  "cut_to_zero"};
  for (auto [key, value] : given) {
    static_cast<void>(value);
    const std::string name = utf8_of(key);
    if (std::ranges::find(known, name) != known.end()) continue;
    throw nb::type_error((std::string(function) + "() of dots has no argument '" + printable(name) +
                          "'; it is one of a whole product's")
                             .c_str());
  }
  if (!model.is_none()) {
    const std::string order = options_of(held<ModelObject>(model)->named.model);
    if (!order.empty() || !o.files.round.empty()) {
      throw Error("model: dots are single instructions, without " +
                  (order.empty() ? "--round" : order));
    }
  }
  if (o.architecture.empty()) {
    throw Error("--arch is missing: the same instruction sums differently on others; as sm_90");
  }
  return {{.architecture = o.architecture, .instruction = o.instruction, .files = {}, .c = ""},
          o.rules};
}

/// The options of a whole product: those of product_of without these operands.
GemmOptions whole_product_of(nb::handle model, const nb::kwargs& given, const char* function) {
  nb::kwargs others;
  for (auto [key, value] : given) {
    const std::string name = utf8_of(key);
    if (std::ranges::find(file_options, name, &FileOption::name) == file_options.end()) {
      others[key] = value;
    }
  }
  return product_of(model, others, function);
}

/// Sets the operands' names, and checks that each option that was given for this product alone has
/// an effect on it. `d` is the name of the given D, or empty.
void set_operands(Operands& operands, GemmOptions& o, nb::handle a, nb::handle b, nb::handle c,
                  nb::handle bias, const nb::kwargs& given, nb::handle model,
                  const std::string& d = "") {
  operands.set(o, a, b, c, bias);
  for (const FileOption& row : file_options) {
    const std::string name(row.name);
    if (!given.contains(name.c_str()) || given[name.c_str()].is_none()) continue;
    const nb::handle value = given[name.c_str()];
    o.files.*row.value = row.kind == FileWord::word ? word_of(name.c_str(), value)
                                                    : operands.add_number(value, name);
  }
  if (!model.is_none()) return;
  GemmModel of = model_of(o).model;
  if (!d.empty()) on(operands, [&] { return adopt_output(o, d, of); });
  check_effects(o, of);
}

nb::object multiply(nb::handle a, nb::handle b, nb::handle c, nb::handle bias, nb::handle model,
                    Truth transpose_a, Truth transpose_b, nb::handle out, const nb::kwargs& given) {
  GemmOptions o = whole_product_of(model, given, "gemm");
  o.files.transposed_a = transpose_a;
  o.files.transposed_b = transpose_b;
  Operands operands;
  set_operands(operands, o, a, b, c, bias, given, model);
  NamedGemm named = model_of(o);
  const GemmOperands read = on(operands, [&] { return operands_of(o, named.model); });
  const std::vector<std::uint64_t> shape = result_shape(read);
  const Dtype dtype = result_dtype(named.model);
  if (!out.is_none()) (void)Target(out, dtype, shape);  // before the work
  const std::vector<std::uint64_t> d = on(operands, [&] { return gemm(named.model, read); });
  return array_from(d, dtype, shape, operands.like(), out);
}

GemmAccountObject account_of(nb::handle a, nb::handle b, nb::handle c, nb::handle bias,
                             nb::handle model, Truth transpose_a, Truth transpose_b,
                             const nb::kwargs& given) {
  GemmOptions o = whole_product_of(model, given, "account");
  o.files.transposed_a = transpose_a;
  o.files.transposed_b = transpose_b;
  check_has_account(o);
  Operands operands;
  set_operands(operands, o, a, b, c, bias, given, model);
  NamedGemm named = model_of(o);
  const auto [text, json] = on(operands, [&] {
    const GemmOperands read = operands_of(o, named.model);
    const GemmAccount found = account(named.model, read);
    const GemmTitle title = title_of(o, named);
    return std::pair(account_text(found, title), json_text(to_json(found, title), 1) + "\n");
  });
  return product_document<GemmAccountObject>("GemmAccount", text, json);
}

/// Rows of operands, and what is done with them.
struct GivenRows {
  Operands operands;
  DotsCall call;
};

/// Whether a is a vector, the operands of one dot.
bool is_one_row(nb::handle a) {
  return !a.is_none() && !is_path(a) && array_of(a).view.shape.size() == 1;
}

void set_rows(GivenRows& x, nb::handle a, nb::handle b, nb::handle c, nb::handle d,
              const nb::kwargs& given) {
  x.call.dots.files.a = x.operands.add_rows(a, "a");
  x.call.dots.files.b = x.operands.add_rows(b, "b");
  x.call.dots.c = x.operands.add_column(c, "c");
  x.call.dots.files.d = x.operands.add_column(d, "d");
  for (const auto& [name, place] : dot_scales) {
    if (!given.contains(name)) continue;
    x.call.dots.files.*place =
        is_one_row(a) ? x.operands.add_rows(given[name], name) : x.operands.add(given[name], name);
  }
}

nb::object dots_emulated(nb::handle a, nb::handle b, nb::handle c, nb::handle model, nb::handle out,
                         const nb::kwargs& given) {
  GivenRows x{{}, dots_of_call(model, given, "dot")};
  set_rows(x, a, b, c, nb::none(), given);
  Instruction how = instruction_of(x.call.dots);
  const std::vector<std::uint64_t> d = on(x.operands, [&] {
    const Dots rows = read_dots(files_of(x.call.dots), how);
    how.model = ruled_model(how.model, x.call.dots.instruction, x.call.rules);
    return dots_of(how, rows);
  });
  const bool is_one = is_one_row(a);
  const std::vector<std::uint64_t> shape(is_one ? 0 : 1, d.size());
  const Format& f = how.types.d;
  const Dtype dtype = is_integer(f) ? *find_dtype("I32") : encoded_dtype(f);
  return array_from(d, dtype, shape, x.operands.like(), out);
}

/// Of an array or a file.
std::size_t axes_of(nb::handle x) {
  if (!is_path(x)) return array_of(x).view.shape.size();
  Operands file;
  return open_tensor(file.add(x, "d")).info().shape.size();
}

ValidationObject validation_of(nb::handle a, nb::handle b, nb::handle d, nb::handle c,
                               nb::handle bias, nb::handle model, Truth transpose_a,
                               Truth transpose_b, Whole<std::size_t> show, Truth evidence,
                               const nb::kwargs& given) {
  const bool is_product = axes_of(d) > 1;
  if (is_product) {
    if (evidence) throw Error("--evidence: of dots, where D is of shape (rows,)");
    ValidateGemmOptions o;
    o.product = whole_product_of(model, given, "validate");
    o.product.files.transposed_a = transpose_a;
    o.product.files.transposed_b = transpose_b;
    o.show = show;
    Operands operands;
    o.d = operands.add(d, "d");
    set_operands(operands, o.product, a, b, c, bias, given, model, o.d);
    const auto [text, json] = on(operands, [&] {
      const GemmValidation x = validated(o);
      return std::pair(gemm_validation_text(x, o), json_text(gemm_validation_json(x, o), 2) + "\n");
    });
    return product_document<ValidationObject>("Validation", text, json);
  }
  if (transpose_a || transpose_b || !bias.is_none()) {
    throw Error("--bias, --transpose-a, --transpose-b: of a whole product, where D is (M, N)");
  }
  GivenRows x{{}, dots_of_call(model, given, "validate")};
  set_rows(x, a, b, c, d, given);
  const CheckedDots o{
      .dots = x.call.dots, .rules = x.call.rules, .show = show, .evidence = evidence};
  const auto [text, json] = on(x.operands, [&] {
    const DotValidation found = validated(o);
    return std::pair(dot_validation_text(found, o),
                     json_text(dot_validation_json(found, o), 2) + "\n");
  });
  return product_document<ValidationObject>("Validation", text, json);
}

/// How an explanation is told, and its picture or why there is none.
struct ToldExplanation {
  std::string text, json, svg, no_svg;
};

ToldExplanation told(const Explanation& x, bool all, std::optional<int> block) {
  ToldExplanation out{explanation_text(x, {false, all, block}),
                      json_text(explanation_json(x), 2) + "\n", "", ""};
  try {
    out.svg = explanation_svg(x, block ? *block : block_that_loses_most(x));
  } catch (const Error& error) {
    out.no_svg = error.what();
  }
  return out;
}

ExplanationObject explanation_document(const ToldExplanation& x) {
  return product_document<ExplanationObject>("Explanation", x.text, x.json, x.svg, x.no_svg);
}

std::vector<std::uint64_t> element_of(nb::handle element, std::optional<Whole<std::uint64_t>> row,
                                      std::optional<Whole<std::uint64_t>> column) {
  if (element.is_none()) return {row->value, column->value};
  if (row || column) throw Error("element: give it, or row and column");
  std::vector<Whole<std::uint64_t>> out;
  if (!nb::try_cast(element, out) || out.size() != 2) {
    throw nb::type_error(
        "element: two whole numbers are wanted, the row and the column of D, from 0");
  }
  return {out.begin(), out.end()};
}

/// The text of an argument that is a number or text; "" for None.
std::string number_or_word(const char* name, nb::handle x) {
  return x.is_none() || PyUnicode_Check(x.ptr()) ? word_of(name, x) : utf8_of(nb::str(x));
}

ExplanationObject explain_sum(nb::handle a, nb::handle b, nb::handle c, nb::handle bias,
                              nb::handle d, nb::handle model, nb::handle element,
                              std::optional<Whole<std::uint64_t>> row,
                              std::optional<Whole<std::uint64_t>> column, nb::handle terms,
                              nb::handle addend, nb::handle recording, Truth transpose_a,
                              Truth transpose_b, Truth all, std::optional<Whole<int>> block,
                              const nb::kwargs& given) {
  const bool is_product = !element.is_none() || column.has_value();
  if (is_product) {
    if (element.is_none() && !row) throw Error("--row is missing: which row of D, from 0");
    OneElement o;
    o.product = whole_product_of(model, given, "explain");
    o.product.files.transposed_a = transpose_a;
    o.product.files.transposed_b = transpose_b;
    o.element = element_of(element, row, column);
    Operands operands;
    if (a.is_none() || b.is_none()) throw Error("a and b are missing: the matrices of the product");
    if (!terms.is_none() || !addend.is_none() || !recording.is_none()) {
      throw Error("terms, addend, recording: of dots; give them, or an element of a whole product");
    }
    o.d = operands.add(d, "d");
    set_operands(operands, o.product, a, b, c, bias, given, model, o.d);
    return explanation_document(on(operands, [&] { return told(explained(o), all, block); }));
  }
  if (transpose_a || transpose_b || !bias.is_none()) {
    throw Error("--bias, --transpose-a, --transpose-b: of a whole product; give its element too");
  }
  OneDot o;
  GivenRows x;
  const bool has_own = !recording.is_none() && model.is_none() && given.empty();
  if (!has_own) x.call = dots_of_call(model, given, "explain");
  set_rows(x, a, b, c, d, terms.is_none() ? given : without_scales(given));
  for (const auto& [name, place] : dot_scales) {
    if (!terms.is_none() && given.contains(name)) {
      x.call.dots.files.*place = number_or_word(name, given[name]);
    }
  }
  o.dots = x.call.dots;
  o.rules = x.call.rules;
  o.row = row;
  if (is_one_row(a) && !row) o.row = 0;
  if (!a.is_none() && !o.row) {
    throw Error("element or row is missing: element=(i, j) of a whole product, or row= of dots");
  }
  if (!recording.is_none() && !is_path(recording))
    wrong_type("recording", "a file's name is wanted", recording);
  o.recording = recording.is_none() ? "" : Operands::file_of(recording);
  o.terms = word_of("terms", terms);
  o.addend = number_or_word("addend", addend);
  if (!o.terms.empty() && (row || !c.is_none() || !d.is_none())) {
    throw Error("terms: one dot, whose c is addend; row, c and d are of arrays");
  }
  if (!o.addend.empty() && o.terms.empty()) throw Error("addend: stands beside terms alone");
  return explanation_document(on(x.operands, [&] { return told(explained(o), all, block); }));
}

constexpr const char* product_help = R"(
    a: matrix of shape (M, K), or (K, M) with transpose_a=True. b: matrix of shape (K, N), or (N, K) with transpose_b=True.
    c: matrix of shape (M, N) to add, or None. bias: vector of shape (N,) to add to each row, or None. Each is an array or the
    path of a file. Unsigned integers of the width of the instruction's type are its bits. Floats count by their values, each
    of which must be a number of that type, unless round=True rounds them to nearest.
    a_scale, b_scale: float32 scales of the rows of A and the columns of B, vectors or single numbers, by which the sum is
    multiplied; a product of integers then ends in float32 or in out_format. Or scales of blocks of K, of shapes such as
    (M, K/128) and (K/128, N/128), by which the instruction multiplies, or the promotion (promote_scales of GemmModel), which by
    default follows each run of K. scale_run: elements of K that share such a scale, where the shapes leave it open. scale_layout:
    their order, "row_major", "128x4", … a_tensor_scale, b_tensor_scale: beside them, numbers by which the sum is multiplied.
    a_zero_point, b_zero_point: of integers, in the same shapes, what is subtracted from the elements of a row of A or a column
    of B.
    groups: integers that say which rows of A are in which group, as the tokens of experts; b is then (G, K, N), a matrix for each
    group, and bias and b_scale are stacked alike. group_layout: what they are: "ends", as torch's offs; "sizes"; "rows", the group
    of each row or -1; "masked", how many rows are used of each matrix of an a of shape (G, rows, K); "psum", as "ends", but each
    group begins at the next multiple of 128 rows. Rows in no group give 0.
    model: a GemmModel that says what the kernel does; or, in its place, the arguments of GemmModel by keyword.

    Raises ValueError if shapes, values or options do not fit, TypeError for a wrong dtype, OSError for a file.
)";

std::string with_product(const char* before, const char* after) {
  return std::string(before) + product_help + after;
}

/// "def gemm(OPERANDS, *, model: …, the options of a model by name, OTHERS) -> RESULT".
std::string product_signature(const char* name, const char* operands, const char* others,
                              const char* result) {
  return "def " + std::string(name) + "(" + operands + ", *, model: GemmModel | None = None, " +
         instruction_parameters() + ", " + order_parameters() + ", " + file_parameters() + ", " +
         others + ") -> " + result;
}

}  // namespace

void add_products(nb::module_& m) {
  static const std::string gemm_help = with_product(
      "Computes D = alpha·A·B + beta·C + bias, every bit as a kernel of Tensor Core instructions "
      "does.\n",
      R"(    Returns D, an array of shape (M, N) of the library of a. Its dtype is that of the output format, or, if there is none,
    unsigned integers that hold the bits; for integer products int32. out: an array for the result.

    >>> import numpy as np
    >>> a = np.float16([[2**-11, 2**-23]])
    >>> b = np.float16([[2**-14], [2**-23]])
    >>> gemm(a, b, instruction="mma.m16n8k16.f32.f16.f16.f32", arch="sm_90")
    array([[2.9802337e-08]], dtype=float32)
)");
  static const std::string gemm_signature = product_signature(
      "gemm", "a: object, b: object, c: object | None = None, bias: object | None = None",
      "transpose_a: bool = False, transpose_b: bool = False, out: object | None = None", "object");
  m.def("gemm", &multiply, "a"_a, "b"_a, "c"_a = nb::none(), "bias"_a = nb::none(), nb::kw_only(),
        "model"_a = nb::none(), "transpose_a"_a = false, "transpose_b"_a = false,
        "out"_a = nb::none(), "options"_a, nb::sig(gemm_signature.c_str()), gemm_help.c_str());
  static const std::string account_help = with_product(
      "Returns the account of a product's losses: which error each rule of the Tensor Core made, "
      "by "
      "position in K.\n",
      R"(    Returns a document: str() is the text of `binade gemm --account`, to_json() and to_html() are what that option
    writes, and save(path) writes one of them.

    >>> import numpy as np
    >>> x = account(np.ones((2, 32), np.float16), np.ones((32, 2), np.float16),
    ...             instruction="mma.m16n8k16.f32.f16.f16.f32", arch="sm_90")
    >>> x.to_dict()["elements"]
    4
)");
  static const std::string account_signature = product_signature(
      "account", "a: object, b: object, c: object | None = None, bias: object | None = None",
      "transpose_a: bool = False, transpose_b: bool = False", "binade._products.GemmAccount");
  m.def("account", &account_of, "a"_a, "b"_a, "c"_a = nb::none(), "bias"_a = nb::none(),
        nb::kw_only(), "model"_a = nb::none(), "transpose_a"_a = false, "transpose_b"_a = false,
        "options"_a, nb::sig(account_signature.c_str()), account_help.c_str());
  m.def("_account_html",
        [](const std::string& json) { return account_html(nlohmann::ordered_json::parse(json)); });
  static const std::string dot_signature =
      "def dot(a: object, b: object, c: object | None = None, *, model: GemmModel | None = None, " +
      instruction_parameters() + ", " + rule_parameters() +
      ", a_scale: object | None = None, b_scale: object | None = None, out: object | None = None) "
      "-> object";
  m.def("dot", &dots_emulated, "a"_a, "b"_a, "c"_a = nb::none(), nb::kw_only(),
        "model"_a = nb::none(), "out"_a = nb::none(), "options"_a, nb::sig(dot_signature.c_str()),
        R"(Computes dot products, d = c + sum of a·b, each as a single instruction does.

    a, b: arrays of shape (rows, K), or (K,) for one dot product. A K below the instruction's is padded with +0. c: array of
    shape (rows,), or None for +0. Elements are read as gemm() reads them, and are never rounded. instruction, arch: which
    instruction, such as "mma.m16n8k16.f32.f16.f16.f32" of "sm_90". zero_raises, floor, cut_to_zero: as for GemmModel. model: in
    the place of these, a GemmModel of the plain order. Returns d, an array of shape (rows,), or () for one, of the dtypes
    that gemm() returns. a_scale, b_scale: of an instruction with .block_scale in its name, the scales of each row's blocks, of
    shape (rows, N) for its scale_vec::NX, or (N,) for one dot; None: 1. out: an array for the result. Raises as gemm() does.

    >>> import numpy as np
    >>> dot(np.float16([2**-11, 2**-23]), np.float16([2**-14, 2**-23]), instruction="mma.m16n8k16.f32.f16.f16.f32",
    ...     arch="sm_90")
    array(2.9802337e-08, dtype=float32)
)");
  static const std::string validate_help = with_product(
      R"(Compares what a kernel gave with what a model gives, bit for bit: a whole product, or rows of dot products.

    d: array of shape (M, N), what the kernel gave for a, b, c and bias; or of shape (rows,), the dot products of the rows of a
    and b, which are then both of shape (rows, K). For a product the dtype of d is the output format, to which the model's
    results are rounded, unless out_format names one.
)",
      R"(    show: how many differences the document shows. evidence: for dot products, whether it also says which rival rules the
    rows distinguish from ours.
    Returns a document: .equal is True if every element is equal, .elements and .different are counts, .differences is a list.

    >>> import numpy as np
    >>> model = GemmModel("mma.m16n8k16.f32.f16.f16.f32", "sm_90")
    >>> a, b = np.ones((2, 32), np.float16), np.ones((32, 2), np.float16)
    >>> validate(a, b, gemm(a, b, model=model), model=model).equal
    True
)");
  static const std::string validate_signature = product_signature(
      "validate",
      "a: object, b: object, d: object, c: object | None = None, bias: object | None = None",
      "transpose_a: bool = False, transpose_b: bool = False, show: int = 5, "
      "evidence: bool = False",
      "binade._products.Validation");
  m.def("validate", &validation_of, "a"_a, "b"_a, "d"_a, "c"_a = nb::none(), "bias"_a = nb::none(),
        nb::kw_only(), "model"_a = nb::none(), "transpose_a"_a = false, "transpose_b"_a = false,
        "show"_a = 5, "evidence"_a = false, "options"_a, nb::sig(validate_signature.c_str()),
        validate_help.c_str());
  static const std::string explain_help = with_product(
      R"(Explains one sum step by step: what was cut, by which rule, and what error that made.

    element: (i, j), row and column of D, counted from 0, for an element of a whole product; or row= and column=. For dot
    products, a and b of shape (rows, K), row= says which. Or terms: the products of one dot product as text
    ("2^-11*2^-14, 2^-23*2^-23"), with addend, a number or text, and a_scale and b_scale, texts such as "2^3, 1". Or recording:
    the path of a recording, with row=.
)",
      R"(    d: what the hardware gave, of shape (M, N) or (rows,), to compare the result with. all: show every block of the sum in
    full. block: show this block in full, counted from 1.
    Returns a document: str() is the program's text, to_json() its JSON, to_svg() a drawing of block, or else of the block
    that loses most.

    >>> x = explain(terms="2^-11*2^-14, 2^-23*2^-23", instruction="mma.m16n8k16.f16.f16.f16.f16", arch="sm_90")
    >>> x.to_dict()["schema"]
    'binade.explain/1'
)");
  static const std::string explain_signature = product_signature(
      "explain",
      "a: object | None = None, b: object | None = None, c: object | None = None, "
      "bias: object | None = None",
      "d: object | None = None, element: object | None = None, row: int | None = None, "
      "column: int | None = None, terms: str | None = None, addend: str | float | None = None, "
      "recording: object | None = None, transpose_a: bool = False, "
      "transpose_b: bool = False, all: bool = False, block: int | None = None",
      "binade._products.Explanation");
  m.def("explain", &explain_sum, "a"_a = nb::none(), "b"_a = nb::none(), "c"_a = nb::none(),
        "bias"_a = nb::none(), nb::kw_only(), "d"_a = nb::none(), "model"_a = nb::none(),
        "element"_a = nb::none(), "row"_a = nb::none(), "column"_a = nb::none(),
        "terms"_a = nb::none(), "addend"_a = nb::none(), "recording"_a = nb::none(),
        "transpose_a"_a = false, "transpose_b"_a = false, "all"_a = false, "block"_a = nb::none(),
        "options"_a, nb::sig(explain_signature.c_str()), explain_help.c_str());
}

}  // namespace binade::python
