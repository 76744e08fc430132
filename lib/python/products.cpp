// SPDX-License-Identifier: Apache-2.0
//
// Matrix products of Tensor Cores and rows of dots: computed, accounted for, validated, explained and identified.
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

#include "lib/cli/explained.h"
#include "lib/cli/gemm_options.h"
#include "lib/cli/identified.h"
#include "lib/cli/rule_options.h"
#include "lib/cli/validate_dots.h"
#include "lib/cli/validate_gemm.h"
#include "lib/explain/json.h"
#include "lib/explain/svg.h"
#include "lib/explain/text.h"
#include "lib/gemm/account_html.h"
#include "lib/gemm/account_text.h"
#include "lib/gemm/gemm.h"
#include "lib/identify/writers.h"
#include "lib/io/opened_tensor.h"
#include "lib/python/arrays.h"
#include "lib/python/documents.h"
#include "lib/python/module.h"
#include "lib/range/quantize_stream.h"
#include "lib/record/instruction_name.h"
#include "lib/record/lone_dots.h"
#include "lib/tensor/error.h"
#include "lib/tensor/spelling.h"

namespace binade::python {
namespace {

using namespace nanobind::literals;

/// What a kernel does, as options and as what they mean.
struct ModelObject {
  GemmOptions options;  ///< without files; files.round counts
  NamedGemm named;
};

/// A keyword of a model, and where it goes.
using OptionPlace =
    std::variant<std::string GemmOptions::*, bool GemmOptions::*, double GemmOptions::*>;
constexpr std::array<std::pair<std::string_view, OptionPlace>, 11> option_places{{
    {"instruction", &GemmOptions::instruction},
    {"arch", &GemmOptions::architecture},
    {"k_order", &GemmOptions::k_order},
    {"promote_every", &GemmOptions::promote_every},
    {"partial", &GemmOptions::partial},
    {"c_first", &GemmOptions::c_first},
    {"alpha", &GemmOptions::alpha},
    {"beta", &GemmOptions::beta},
    {"fused", &GemmOptions::fused},
    {"epilogue_format", &GemmOptions::epilogue_format},
    {"out_format", &GemmOptions::out_format},
}};
constexpr std::array<std::pair<std::string_view, std::string RuleChoice::*>, 3> rule_places{
    {{"zero_raises", &RuleChoice::zero_raises},
     {"floor", &RuleChoice::floor},
     {"cut_to_zero", &RuleChoice::cut_to_zero}}};

[[noreturn]] void wrong_type(std::string_view key, const char* wanted, nb::handle x) {
  throw nb::type_error(
      (std::string(key) + ": " + wanted + ", not " + Py_TYPE(x.ptr())->tp_name).c_str());
}

/// Text, a whole number or a Format as the program's word; None: not given.
std::string word_of(std::string_view key, nb::handle x) {
  if (x.is_none()) return "";
  if (PyUnicode_Check(x.ptr())) return nb::cast<std::string>(x);
  if (nb::isinstance<NamedOrCustom>(x)) return nb::inst_ptr<NamedOrCustom>(x)->name;
  if (!PyBool_Check(x.ptr()) && PyIndex_Check(x.ptr())) return nb::cast<std::string>(nb::str(x));
  wrong_type(key, "text or a whole number is wanted", x);
}

double number_of(std::string_view key, nb::handle x) {
  const double out = PyFloat_AsDouble(x.ptr());
  if (out != -1 || PyErr_Occurred() == nullptr) return out;
  PyErr_Clear();
  wrong_type(key, "a number is wanted", x);
}

bool flag_of(std::string_view key, nb::handle x) {
  const int out = PyObject_IsTrue(x.ptr());
  if (out >= 0) return out != 0;
  PyErr_Clear();
  wrong_type(key, "True or False is wanted", x);
}

std::vector<std::string> words_in(std::string_view key, nb::handle x) {
  std::vector<std::string> out;
  if (PyList_Check(x.ptr()) || PyTuple_Check(x.ptr())) {
    for (const nb::handle one : nb::borrow(x)) out.push_back(word_of(key, one));
  } else if (!x.is_none()) {
    out.push_back(word_of(key, x));
  }
  return out;
}

/// Whether there is such an option.
bool set_option(GemmOptions& o, std::string_view key, nb::handle value) {
  for (const auto& [name, place] : option_places) {
    if (name != key) continue;
    if (const auto* text = std::get_if<std::string GemmOptions::*>(&place)) {
      if (!value.is_none()) o.*(*text) = word_of(key, value);
    } else if (const auto* flag = std::get_if<bool GemmOptions::*>(&place)) {
      o.*(*flag) = flag_of(key, value);
    } else {
      o.*(*std::get_if<double GemmOptions::*>(&place)) = number_of(key, value);
    }
    return true;
  }
  for (const auto& [name, place] : rule_places) {
    if (name != key) continue;
    o.rules.*place = word_of(key, value);
    return true;
  }
  if (key == "split") o.splits = words_in(key, value);
  if (key == "saturate") o.saturate = flag_of(key, value);
  if (key == "round") o.files.round = flag_of(key, value);
  return key == "split" || key == "saturate" || key == "round";
}

void set_options(GemmOptions& o, const nb::kwargs& given, const char* function) {
  for (auto [key, value] : given) {
    const auto name = nb::cast<std::string>(key);
    if (set_option(o, name, value)) continue;
    throw nb::type_error((std::string(function) + "() has no argument '" + printable(name) +
                          "'; help(binade.GemmModel) names the options of a product")
                             .c_str());
  }
  if (o.fused != "alpha" && o.fused != "beta") {
    throw Error("--fused " + printable(o.fused) + ": no such choice; there are alpha and beta");
  }
}

/// Words of the program, "--split 2:16 --c-first".
void set_words(GemmOptions& o, std::string_view words) {
  const auto all = words.empty() ? std::vector<std::string_view>{} : split(words, ' ');
  std::vector<std::string> splits;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::string key(all[i].substr(2));
    std::ranges::replace(key, '-', '_');
    const bool is_flag = i + 1 == all.size() || all[i + 1].starts_with("--");
    if (is_flag) {
      set_option(o, key, nb::bool_(true));
      continue;
    }
    ++i;
    const nb::str value(all[i].data(), all[i].size());
    if (key == "split") {
      splits.emplace_back(all[i]);
    } else if (key == "alpha" || key == "beta") {
      set_option(o, key, nb::float_(nb::cast<double>(nb::float_(nb::object(value)))));
    } else {
      set_option(o, key, value);
    }
  }
  o.splits = std::move(splits);
}

ModelObject model_object(GemmOptions options) {
  NamedGemm named = model_of(options);
  return {std::move(options), std::move(named)};
}

ModelObject new_model(nb::handle instruction, nb::handle arch, const nb::kwargs& given) {
  GemmOptions o;
  set_option(o, "instruction", instruction);
  set_option(o, "arch", arch);
  set_options(o, given, "GemmModel");
  return model_object(std::move(o));
}

/// The options of `binade gemm` that make it, however it was spelled: equal for equal models.
std::string words_of(const ModelObject& x) {
  std::string out = x.named.sm == 0 ? "" : "--arch sm_" + std::to_string(x.named.sm) + " ";
  out += "--instruction " + x.named.instruction;
  if (x.options.files.round) out += " --round";
  const std::string order = options_of(x.named.model);
  if (!order.empty()) out += " " + order;
  for (const std::string& word : binade::words_of(x.options.rules)) out += " " + word;
  return out;
}

/// The same as arguments, in order: (name, text, or "" of a flag).
std::vector<std::pair<std::string, std::string>> arguments_of(const ModelObject& x) {
  const std::string words = words_of(x);
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string_view word : split(words, ' ')) {
    if (word.starts_with("--")) {
      std::string key(word.substr(2));
      std::ranges::replace(key, '-', '_');
      out.emplace_back(key, "");
    } else {
      out.back().second = word;
    }
  }
  return out;
}

std::string shown_model(const ModelObject& x) {
  std::string instruction, arch, rest;
  std::vector<std::string> splits;
  for (const auto& [key, value] : arguments_of(x)) {
    const bool is_number = key == "alpha" || key == "beta" ||
                           (key == "promote_every" && value.find(':') == std::string::npos);
    if (key == "instruction") instruction = "'" + value + "'";
    if (key == "arch") arch = ", '" + value + "'";
    if (key == "split") splits.push_back("'" + value + "'");
    if (key == "instruction" || key == "arch" || key == "split") continue;
    rest += ", " + key + "=" + (value.empty() ? "True" : is_number ? value : "'" + value + "'");
  }
  if (splits.size() == 1) rest += ", split=" + splits[0];
  if (splits.size() > 1) {
    rest += ", split=[";
    for (const std::string& one : splits) rest += one + (&one == &splits.back() ? "]" : ", ");
  }
  return "GemmModel(" + instruction + arch + rest + ")";
}

/// The arguments of a call that say what the kernel does.
GemmOptions product_of(nb::handle model, const nb::kwargs& given, const char* function) {
  GemmOptions o;
  if (model.is_none()) {
    set_options(o, given, function);
    if (o.instruction.empty()) {
      throw Error("instruction: missing; give it, as mma.m16n8k16.f32.f16.f16.f32, or a model");
    }
    return o;
  }
  if (!nb::isinstance<ModelObject>(model)) wrong_type("model", "a GemmModel is wanted", model);
  o = nb::inst_ptr<ModelObject>(model)->options;
  for (auto [key, value] : given) {
    const auto name = nb::cast<std::string>(key);
    if (name == "round") {
      o.files.round = flag_of(name, value);
      continue;
    }
    throw nb::type_error((std::string(function) + "() got a model and '" + printable(name) +
                          "'; a model has all of them: give one or the other")
                             .c_str());
  }
  return o;
}

struct DotsCall {
  DotOptions dots;
  RuleChoice rules;
};

/// The same of dots, which have an instruction and no order around it.
DotsCall dots_of_call(nb::handle model, const nb::kwargs& given, const char* function) {
  const GemmOptions o = product_of(model, given, function);
  constexpr std::array<std::string_view, 5> known{"instruction", "arch", "zero_raises", "floor",
                                                  "cut_to_zero"};
  for (auto [key, value] : given) {
    static_cast<void>(value);
    const auto name = nb::cast<std::string>(key);
    if (std::ranges::find(known, name) != known.end()) continue;
    throw nb::type_error((std::string(function) + "() of dots has no argument '" + printable(name) +
                          "'; it is one of a whole product's")
                             .c_str());
  }
  if (!model.is_none()) {
    const std::string order = options_of(nb::inst_ptr<ModelObject>(model)->named.model);
    if (!order.empty() || o.files.round) {
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

bool is_path(nb::handle x) {
  return PyUnicode_Check(x.ptr()) || PyObject_HasAttrString(x.ptr(), "__fspath__") != 0;
}

/// The operands of a call: arrays under names, and files.
class Operands {
 public:
  /// What stands where a path goes; "" of None.
  std::string add(nb::handle x, const std::string& name) {
    if (x.is_none()) return "";
    if (is_path(x)) return path_of(x);
    Array array = array_of(x);
    if (like_.wrap.is_none() && !array.wrap.is_none()) like_.wrap = array.wrap;
    files_.push_back({name, {{"", array.view}}});
    arrays_.push_back(std::move(array));
    return name;
  }
  /// A vector is one row.
  std::string add_rows(nb::handle x, const std::string& name) {
    std::string out = add(x, name);
    if (x.is_none() || is_path(x)) return out;
    std::vector<std::uint64_t>& shape = files_.back().arrays[0].array.shape;
    if (shape.size() == 1) shape.insert(shape.begin(), 1);
    return out;
  }
  /// A number is a column of one.
  std::string add_column(nb::handle x, const std::string& name) {
    std::string out = add(x, name);
    if (x.is_none() || is_path(x)) return out;
    std::vector<std::uint64_t>& shape = files_.back().arrays[0].array.shape;
    if (shape.empty()) shape.push_back(1);
    return out;
  }
  void set(GemmOptions& o, nb::handle a, nb::handle b, nb::handle c, nb::handle bias) {
    o.files.a = add(a, "a");
    o.files.b = add(b, "b");
    o.c = add(c, "c");
    o.bias = add(bias, "bias");
  }

  std::vector<FileOfArrays> files() const { return files_; }
  /// Whose library results are for.
  const Array& like() const { return like_; }

 private:
  static std::string path_of(nb::handle x) {
    PyObject* bytes = nullptr;
    if (PyUnicode_FSConverter(x.ptr(), &bytes) == 0) throw nb::python_error();
    const nb::object owner = nb::steal(bytes);
    std::string out(PyBytes_AS_STRING(bytes), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes)));
    if (out.empty()) throw Error("a file of no name; give a path, or an array");
    const bool is_plain = out.find('/') == std::string::npos && out != "-";
    return is_plain && is_name(out) ? "./" + out : out;
  }
  /// Names of arrays are no names of files.
  static bool is_name(std::string_view path) {
    constexpr std::array<std::string_view, 5> names{"a", "b", "c", "bias", "d"};
    return std::ranges::find(names, path.substr(0, path.find_first_of("[:"))) != names.end();
  }

  std::vector<FileOfArrays> files_;
  std::vector<Array> arrays_;
  Array like_{{}, {}, nb::none()};
};

/// work() with the operands in the place of files, while other Python threads run.
template <class Work>
auto on(const Operands& operands, const Work& work) {
  const NamedArrays arrays(operands.files());
  const Released released;
  return work();
}

/// Encodings as an array of the caller's.
nb::object array_from(std::span<const std::uint64_t> elements, const Dtype& dtype,
                      std::span<const std::uint64_t> shape, const Array& like, nb::handle out) {
  const NewArray array = out.is_none() ? new_array(dtype, shape) : array_for(out, dtype, shape);
  {
    const Released released;
    pack_elements(elements, dtype.bits / 8, array.bytes);
  }
  return out.is_none() ? delivered(array, dtype, like) : array.owner;
}

nb::object multiply(nb::handle a, nb::handle b, nb::handle c, nb::handle bias, nb::handle model,
                    bool transpose_a, bool transpose_b, nb::handle out, const nb::kwargs& given) {
  GemmOptions o = product_of(model, given, "gemm");
  o.files.transposed_a = transpose_a;
  o.files.transposed_b = transpose_b;
  NamedGemm named = model_of(o);
  Operands operands;
  operands.set(o, a, b, c, bias);
  const GemmOperands read = on(operands, [&] { return operands_of(o, named.model); });
  const std::array shape{std::uint64_t{read.m}, std::uint64_t{read.n}};
  const Dtype dtype = result_dtype(named.model);
  if (!out.is_none()) (void)array_for(out, dtype, shape);
  const std::vector<std::uint64_t> d = on(operands, [&] { return gemm(named.model, read); });
  return array_from(d, dtype, shape, operands.like(), out);
}

/// One of _products.py's documents: its text, its JSON, and what else it holds.
template <class... More>
nb::object product_document(const char* name, const std::string& text, const std::string& json,
                            const More&... more) {
  const auto text_object = [](const std::string& x) {
    PyObject* const made =
        PyUnicode_DecodeUTF8(x.data(), static_cast<Py_ssize_t>(x.size()), "replace");
    if (made == nullptr) throw nb::python_error();
    return nb::steal(made);
  };
  return python_function("_products", name)(text_object(text), text_object(json), more...);
}

nb::object account_of(nb::handle a, nb::handle b, nb::handle c, nb::handle bias, nb::handle model,
                      bool transpose_a, bool transpose_b, const nb::kwargs& given) {
  GemmOptions o = product_of(model, given, "account");
  o.files.transposed_a = transpose_a;
  o.files.transposed_b = transpose_b;
  check_has_account(o);
  NamedGemm named = model_of(o);
  Operands operands;
  operands.set(o, a, b, c, bias);
  const auto [text, json] = on(operands, [&] {
    const GemmOperands read = operands_of(o, named.model);
    const GemmAccount found = account(named.model, read);
    const GemmTitle title = title_of(o, named);
    return std::pair(account_text(found, title), to_json(found, title).dump(1) + "\n");
  });
  return product_document("GemmAccount", text, json);
}

/// Rows, and whether the caller gave one as a vector.
struct GivenRows {
  Operands operands;
  DotsCall call;
};

void set_rows(GivenRows& x, nb::handle a, nb::handle b, nb::handle c, nb::handle d) {
  x.call.dots.files.a = x.operands.add_rows(a, "a");
  x.call.dots.files.b = x.operands.add_rows(b, "b");
  x.call.dots.c = x.operands.add_column(c, "c");
  x.call.dots.files.d = x.operands.add_column(d, "d");
}

nb::object dots_emulated(nb::handle a, nb::handle b, nb::handle c, nb::handle model, nb::handle out,
                         const nb::kwargs& given) {
  GivenRows x{{}, dots_of_call(model, given, "dot")};
  set_rows(x, a, b, c, nb::none());
  Instruction how = instruction_of(x.call.dots);
  const std::vector<std::uint64_t> d = on(x.operands, [&] {
    const Dots rows = read_dots(files_of(x.call.dots), how);
    how.model = ruled_model(how.model, x.call.dots.instruction, x.call.rules);
    return dots_of(how, rows);
  });
  const bool is_one = !is_path(a) && array_of(a).view.shape.size() == 1;
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

nb::object validation_of(nb::handle a, nb::handle b, nb::handle d, nb::handle c, nb::handle bias,
                         nb::handle model, bool transpose_a, bool transpose_b, std::size_t show,
                         bool evidence, const nb::kwargs& given) {
  const bool is_product = axes_of(d) > 1;
  if (is_product) {
    if (evidence) throw Error("--evidence: of dots, where D is of shape (rows,)");
    ValidateGemmOptions o;
    o.product = product_of(model, given, "validate");
    o.product.files.transposed_a = transpose_a;
    o.product.files.transposed_b = transpose_b;
    o.show = show;
    Operands operands;
    operands.set(o.product, a, b, c, bias);
    o.d = operands.add(d, "d");
    const auto [text, json] = on(operands, [&] {
      const GemmValidation x = validated(o);
      return std::pair(text_of(x, o), json_of(x, o).dump(2) + "\n");
    });
    return product_document("Validation", text, json);
  }
  if (transpose_a || transpose_b || !bias.is_none()) {
    throw Error("--bias, --transpose-a, --transpose-b: of a whole product, where D is (M, N)");
  }
  GivenRows x{{}, dots_of_call(model, given, "validate")};
  set_rows(x, a, b, c, d);
  const CheckedDots o{
      .dots = x.call.dots, .rules = x.call.rules, .show = show, .evidence = evidence};
  const auto [text, json] = on(x.operands, [&] {
    const DotValidation found = validated(o);
    return std::pair(text_of(found, o), json_of(found, o).dump(2) + "\n");
  });
  return product_document("Validation", text, json);
}

/// How an explanation is told, and its picture or why there is none.
struct ToldExplanation {
  std::string text, json, svg, no_svg;
};

ToldExplanation told(const Explanation& x, bool all, std::optional<int> block) {
  ToldExplanation out{explanation_text(x, {false, all, block}), json_of(x).dump(2) + "\n", "", ""};
  try {
    out.svg = explanation_svg(x, block ? *block : most_telling_block(x));
  } catch (const Error& error) {
    out.no_svg = error.what();
  }
  return out;
}

nb::object explanation_document(const ToldExplanation& x) {
  return product_document("Explanation", x.text, x.json, x.svg, x.no_svg);
}

std::vector<std::uint64_t> element_of(nb::handle element, std::optional<std::uint64_t> row,
                                      std::optional<std::uint64_t> column) {
  if (element.is_none()) return {*row, *column};
  if (row || column) throw Error("element: give it, or row and column");
  std::vector<std::uint64_t> out;
  if (!nb::try_cast(element, out) || out.size() != 2) {
    wrong_type("element", "two whole numbers are wanted, the row and the column of D", element);
  }
  return out;
}

nb::object explain_sum(nb::handle a, nb::handle b, nb::handle c, nb::handle bias, nb::handle d,
                       nb::handle model, nb::handle element, std::optional<std::uint64_t> row,
                       std::optional<std::uint64_t> column, nb::handle terms, nb::handle addend,
                       nb::handle recording, bool transpose_a, bool transpose_b, bool all,
                       std::optional<int> block, const nb::kwargs& given) {
  const bool is_product = !element.is_none() || column.has_value();
  if (is_product) {
    if (element.is_none() && !row) throw Error("--row is missing: which row of D, from 0");
    OneElement o;
    o.product = product_of(model, given, "explain");
    o.product.files.transposed_a = transpose_a;
    o.product.files.transposed_b = transpose_b;
    o.element = element_of(element, row, column);
    Operands operands;
    if (a.is_none() || b.is_none()) throw Error("a and b are missing: the matrices of the product");
    operands.set(o.product, a, b, c, bias);
    o.d = operands.add(d, "d");
    return explanation_document(on(operands, [&] { return told(explained(o), all, block); }));
  }
  if (transpose_a || transpose_b || !bias.is_none()) {
    throw Error("--bias, --transpose-a, --transpose-b: of a whole product; give its element too");
  }
  OneDot o;
  GivenRows x;
  const bool has_own = !recording.is_none() && model.is_none() && given.size() == 0;
  if (!has_own) x.call = dots_of_call(model, given, "explain");
  set_rows(x, a, b, c, d);
  o.dots = x.call.dots;
  o.rules = x.call.rules;
  o.row = row;
  const bool is_one = !a.is_none() && !is_path(a) && array_of(a).view.shape.size() == 1;
  if (is_one && !row) o.row = 0;
  if (!a.is_none() && !o.row) {
    throw Error("element or row is missing: element=(i, j) of a whole product, or row= of dots");
  }
  o.recording = recording.is_none() ? "" : Operands().add(recording, "recording");
  o.terms = word_of("terms", terms);
  o.addend = addend.is_none() || PyUnicode_Check(addend.ptr())
                 ? word_of("addend", addend)
                 : nb::cast<std::string>(nb::str(addend));
  if (!o.addend.empty() && o.terms.empty()) throw Error("addend: stands beside terms alone");
  return explanation_document(on(x.operands, [&] { return told(explained(o), all, block); }));
}

/// What an identification found, kept for the next run.
struct Found {
  Identification identification;
  RunFiles files;
  Array like;
};

ModelObject model_object(const Identification& x, const Verdict& verdict) {
  GemmOptions o;
  set_words(o, command_of(x, x.candidate(verdict)));
  return model_object(std::move(o));
}

/// Each of several runs under a name of its own.
std::vector<std::string> add_runs(Operands& operands, nb::handle x, const std::string& name) {
  std::vector<std::string> out;
  if (x.is_none()) return out;
  if (!PyList_Check(x.ptr()) && !PyTuple_Check(x.ptr())) return {operands.add(x, name)};
  for (const nb::handle one : nb::borrow(x)) {
    out.push_back(operands.add(one, name + "[" + std::to_string(out.size()) + "]"));
  }
  return out;
}

nb::object identification_of(nb::handle a, nb::handle b, nb::handle d, nb::handle c,
                             nb::handle bias, std::string_view types, double alpha, double beta,
                             nb::handle arch, bool chains, bool cpu, bool transpose_a,
                             bool transpose_b, std::size_t show, bool all) {
  IdentifyOptions o;
  o.epilogue = {.alpha = alpha, .beta = beta};
  o.show = show;
  o.all = all;
  o.chains = chains;
  o.cpu = cpu;
  for (const std::string& names : words_in("arch", arch)) {
    for (const std::string_view name : split(names, ',')) o.architectures.emplace_back(name);
  }
  if ((chains && cpu) || ((chains || cpu) && !o.architectures.empty())) {
    throw Error("--arch, --chains and --cpu exclude each other; give one");
  }
  check(o);
  Operands operands;
  o.files.a = add_runs(operands, a, "a");
  o.files.b = add_runs(operands, b, "b");
  o.files.d = add_runs(operands, d, "d");
  o.files.c = add_runs(operands, c, "c");
  o.files.bias = add_runs(operands, bias, "bias");
  if (o.files.d.empty()) throw Error("d: no run; give what the kernel gave");
  o.files.types = types;
  o.files.transposed_a = transpose_a;
  o.files.transposed_b = transpose_b;
  auto found = std::make_unique<Found>();
  std::string text, json;
  on(operands, [&] {
    found->identification = identified(o);
    text = text_of(found->identification, shown(o));
    json = json_of(found->identification, shown(o))
               .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
           "\n";
  });
  found->files = o.files;
  found->like = operands.like();
  nb::list models;
  for (const Verdict& verdict : found->identification.result.explaining) {
    models.append(nb::cast(model_object(found->identification, verdict)));
  }
  return product_document("Identification", text, json, models,
                          nb::cast(found.release(), nb::rv_policy::take_ownership));
}

nb::object proposal_of(nb::handle identification, std::uint64_t seed) {
  const nb::object kept = nb::getattr(identification, "_found", nb::none());
  if (!nb::isinstance<Found>(kept)) {
    throw nb::type_error("identification: what identify returned is wanted, in the same process");
  }
  const Found& found = *nb::inst_ptr<Found>(kept);
  std::optional<Proposal> proposal;
  {
    const Released released;
    proposal = propose(found.identification, seed);
  }
  nb::dict out;
  for (const ProposedArray& x : arrays_of(*proposal, found.identification.types, found.files)) {
    const Dtype dtype = encoded_dtype(x.format);
    out[x.name] = array_from(x.elements, dtype, x.shape, found.like, nb::none());
  }
  nb::list inseparable;
  for (const auto& [i, j] : proposal->inseparable) inseparable.append(nb::make_tuple(i, j));
  return python_function("_products", "Proposal")(out, proposal->models, proposal->pairs,
                                                  inseparable);
}

constexpr const char* product_help = R"(
    a: (M, K), or (K, M) with transpose_a. b: (K, N), or (N, K) with transpose_b. c: (M, N), if it is added. bias: (N,).
    Unsigned integers of the type's width are its bits; floats count by their values, each of which must be a number of
    the instruction's type, unless round=True rounds them to nearest. Files' names stand for arrays as well.
    model: a GemmModel; or its options by name, as instruction=, arch=, promote_every=.
)";

std::string with_product(const char* before, const char* after) {
  return std::string(before) + product_help + after;
}

}  // namespace

void add_products(nb::module_& m) {
  nb::class_<ModelObject> model(
      m, "GemmModel",
      R"(What a kernel of matrix products does: the options of `binade gemm`.

    instruction: any of `binade architectures`, as mma.m16n8k16.f32.f16.f16.f32, with arch, as sm_90; or a chain of
    rounded operations, as fma.rn.f32.f16.f16.f32, which has no arch.
    k_order: "ascending", "descending", with ":GROUPxWIDTH". promote_every: N or "N:FORMAT". split: "PARTS[:RUN|:tileN]
    [:REDUCTION][:tail]", or up to three, outermost first. partial: the format of parts. c_first: sums begin with C.
    alpha, beta, fused ("alpha" or "beta"), epilogue_format, out_format, saturate: D = alpha·sum + beta·C + bias.
    zero_raises, floor, cut_to_zero: other rules of fused sums than the table's. round: operands are rounded first.

    Equal where they mean the same, however they are spelled; hashable; can be pickled. str() gives the words of the
    program.

    >>> GemmModel("wgmma.m64n8k32.f32.e4m3.e4m3", "sm_90", promote_every=4)
    GemmModel('wgmma.m64n8k32.f32.e4m3.e4m3', 'sm_90', promote_every=4)
)");
  model.def(
      "__init__",
      [](ModelObject* self, nb::handle instruction, nb::handle arch, const nb::kwargs& given) {
        new (self) ModelObject(new_model(instruction, arch, given));
      },
      "instruction"_a, "arch"_a = nb::none(), "options"_a,
      nb::sig("def __init__(self, instruction: str, arch: str | None = None, *, k_order: str = "
              "'ascending', "
              "promote_every: int | str | None = None, partial: str | Format | None = None, "
              "split: str | int | list | None = None, c_first: bool = False, alpha: float = 1, "
              "beta: float = 1, "
              "fused: str = 'alpha', epilogue_format: str | Format | None = None, "
              "out_format: str | Format | None = None, saturate: bool = False, zero_raises: str | "
              "None = None, "
              "floor: str | int | None = None, cut_to_zero: str | None = None, round: bool = "
              "False) -> None"));
  model.def_prop_ro("instruction", [](const ModelObject& x) { return x.named.instruction; });
  model.def_prop_ro(
      "arch",
      [](const ModelObject& x) {
        return x.named.sm == 0 ? std::optional<std::string>() : "sm_" + std::to_string(x.named.sm);
      },
      "sm_90; None of a chain.");
  model.def_prop_ro(
      "options", [](const ModelObject& x) { return options_of(x.named.model); },
      "The options of order and epilogue, as the program takes them; empty for the plain order.");
  model.def_prop_ro(
      "order", [](const ModelObject& x) { return order_text(x.named.model); },
      "The order of the sum, in words.");
  model.def_prop_ro("round", [](const ModelObject& x) { return x.options.files.round; });
  model.def_prop_ro(
      "evidence", [](const ModelObject& x) { return std::string(name_of(x.named.known.evidence)); },
      "How anyone knows what the instruction computes.");
  model.def("__repr__", &shown_model);
  model.def("__str__", [](const ModelObject& x) { return words_of(x); });
  model.def("__eq__", [](const ModelObject& x, nb::handle other) {
    return nb::isinstance<ModelObject>(other) &&
           words_of(*nb::inst_ptr<ModelObject>(other)) == words_of(x);
  });
  model.def("__hash__",
            [](const ModelObject& x) { return nb::hash(nb::str(words_of(x).c_str())); });
  model.def("__getstate__", [](const ModelObject& x) { return words_of(x); });
  model.def("__setstate__", [](ModelObject& self, const std::string& words) {
    GemmOptions o;
    set_words(o, words);
    new (&self) ModelObject(model_object(std::move(o)));
  });

  static const std::string gemm_help = with_product(
      "A whole matrix product as a kernel of Tensor Core instructions gives it: D = alpha·A·B + "
      "beta·C + bias.\n",
      R"(    Returns D, (M, N), of the library of a: of the dtype that has the output format, else unsigned integers of
    its bits; int32 of integer products. out= takes it.

    >>> import numpy as np
    >>> a = np.float16([[2**-11, 2**-23]])
    >>> b = np.float16([[2**-14], [2**-23]])
    >>> gemm(a, b, instruction="mma.m16n8k16.f32.f16.f16.f32", arch="sm_90")
    array([[2.9802337e-08]], dtype=float32)
)");
  m.def("gemm", &multiply, "a"_a, "b"_a, "c"_a = nb::none(), "bias"_a = nb::none(), nb::kw_only(),
        "model"_a = nb::none(), "transpose_a"_a = false, "transpose_b"_a = false,
        "out"_a = nb::none(), "options"_a, gemm_help.c_str());
  static const std::string account_help = with_product(
      "The loss account of a product: what each rule of the Tensor Core cost, by k, exactly.\n",
      R"(    Returns a document: str() is the program's text, to_json() and to_html() what --account writes, save()
    writes them.

    >>> import numpy as np
    >>> x = account(np.ones((2, 32), np.float16), np.ones((32, 2), np.float16),
    ...             instruction="mma.m16n8k16.f32.f16.f16.f32", arch="sm_90")
    >>> x.to_dict()["elements"]
    4
)");
  m.def("account", &account_of, "a"_a, "b"_a, "c"_a = nb::none(), "bias"_a = nb::none(),
        nb::kw_only(), "model"_a = nb::none(), "transpose_a"_a = false, "transpose_b"_a = false,
        "options"_a, account_help.c_str());
  m.def("_account_html",
        [](const std::string& json) { return account_html(nlohmann::ordered_json::parse(json)); });
  m.def("dot", &dots_emulated, "a"_a, "b"_a, "c"_a = nb::none(), nb::kw_only(),
        "model"_a = nb::none(), "out"_a = nb::none(), "options"_a,
        R"(Rows of dot products, a single instruction each: d = c + sum of a·b.

    a, b: (rows, K), or (K,) of one dot; K at most the instruction's, what is missing is +0. c: (rows,), or +0.
    Elements as gemm takes them, never rounded. instruction, arch: which; zero_raises, floor, cut_to_zero: other rules
    than the table's; or a model without an order. Returns d, (rows,), or () of one, as gemm does.

    >>> import numpy as np
    >>> dot(np.float16([2**-11, 2**-23]), np.float16([2**-14, 2**-23]), instruction="mma.m16n8k16.f32.f16.f16.f32",
    ...     arch="sm_90")
    array(2.9802337e-08, dtype=float32)
)");
  static const std::string validate_help = with_product(
      R"(What a kernel gave, bit for bit against the model: a whole product, or rows of dots.

    d: (M, N), what the kernel gave for a, b, c and bias; or (rows,), for dots of the rows of a and b, (rows, K).
)",
      R"(    show: so many differences are told. evidence: of dots, which rival rules the rows tell from ours, too.
    Returns a document with .equal, True where every element is; .elements, .different, .differences.

    >>> import numpy as np
    >>> model = GemmModel("mma.m16n8k16.f32.f16.f16.f32", "sm_90")
    >>> a, b = np.ones((2, 32), np.float16), np.ones((32, 2), np.float16)
    >>> validate(a, b, gemm(a, b, model=model), model=model).equal
    True
)");
  m.def("validate", &validation_of, "a"_a, "b"_a, "d"_a, "c"_a = nb::none(), "bias"_a = nb::none(),
        nb::kw_only(), "model"_a = nb::none(), "transpose_a"_a = false, "transpose_b"_a = false,
        "show"_a = 5, "evidence"_a = false, "options"_a, validate_help.c_str());
  static const std::string explain_help = with_product(
      R"(One sum, step by step: what was cut, by which rule, and what it cost.

    Of a whole product the element (i, j): element=(i, j), or row= and column=. Of dots, a and b (rows, K): row=; or
    terms, products as text ("2^-11*2^-14, 2^-23*2^-23") with addend; or a recording, a file's name.
)",
      R"(    d: what the hardware gave, (M, N) or (rows,). all: every block in full; block: this one, from 1.
    Returns a document: str() is the program's text, to_json() its JSON, to_svg() its drawing of block, or of the block
    that loses most.

    >>> x = explain(terms="2^-11*2^-14, 2^-23*2^-23", instruction="mma.m16n8k16.f16.f16.f16.f16", arch="sm_90")
    >>> x.to_dict()["schema"]
    'binade.explain/1'
)");
  m.def("explain", &explain_sum, "a"_a = nb::none(), "b"_a = nb::none(), "c"_a = nb::none(),
        "bias"_a = nb::none(), nb::kw_only(), "d"_a = nb::none(), "model"_a = nb::none(),
        "element"_a = nb::none(), "row"_a = nb::none(), "column"_a = nb::none(),
        "terms"_a = nb::none(), "addend"_a = nb::none(), "recording"_a = nb::none(),
        "transpose_a"_a = false, "transpose_b"_a = false, "all"_a = false, "block"_a = nb::none(),
        "options"_a, explain_help.c_str());
  nb::class_<Found>(m, "_Found");
  m.def("identify", &identification_of, "a"_a, "b"_a, "d"_a, "c"_a = nb::none(),
        "bias"_a = nb::none(), nb::kw_only(), "types"_a = "", "alpha"_a = 1.0, "beta"_a = 1.0,
        "arch"_a = nb::none(), "chains"_a = false, "cpu"_a = false, "transpose_a"_a = false,
        "transpose_b"_a = false, "show"_a = 5, "all"_a = false,
        R"(Which instruction, order and epilogue explain every bit of what a kernel gave.

    a (M, K), b (K, N), d (M, N), and c (M, N) and bias (N,) where there were any; or dots: a and b (rows, K), d
    (rows,). A list holds one of each for every run of the kernel. types: of d, a, b and c, as "f32.bf16.bf16.f32",
    where arrays hold bare bits. alpha, beta: of D = alpha·sum + beta·C + bias. arch: a GPU's, one or several; chains:
    chains of rounded operations alone; cpu: a CPU's. show: so many models and so many of the rejected are told; all:
    every one. Returns a document; .models are GemmModels, simplest first, .conclusion is "none", "unique" or "several".

    >>> import numpy as np
    >>> a, b = np.float32([[1, 2, 3]]), np.float32([[4], [5], [6]])
    >>> identify(a, b, np.float32([[32]]), cpu=True).conclusion
    'several'
)");
  m.def(
      "propose", &proposal_of, "identification"_a, nb::kw_only(), "seed"_a = 1,
      R"(Inputs on which the models that explain every bit differ: give them to the kernel, and identify both runs.

    identification: what identify returned, of several models. Returns a dict of arrays a, b, and c and bias where the
    first run had them, of its shapes; .models, .pairs and .inseparable say what they tell apart. Depends on the seed
    alone.

    >>> import numpy as np
    >>> found = identify(np.float32([[1, 2, 3]]), np.float32([[4], [5], [6]]), np.float32([[32]]), cpu=True)
    >>> sorted(propose(found))
    ['a', 'b']
)");
}

}  // namespace binade::python
