// SPDX-License-Identifier: Apache-2.0
//
// The functions identify(), which finds the models that explain a kernel's bits, propose(), which
// finds inputs on which these models differ, check(), which finds the rules that explain a
// converter's codes, and identify_scales(), which finds those that explain a block quantizer's.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "lib/identify/conversion_files.h"
#include "lib/identify/conversion_text.h"
#include "lib/identify/identified.h"
#include "lib/identify/json.h"
#include "lib/identify/text.h"
#include "lib/python/arguments.h"
#include "lib/python/gemm_model.h"
#include "lib/python/keywords.h"
#include "lib/python/module.h"
#include "lib/python/operands.h"
#include "lib/range/quantize_stream.h"
#include "lib/scales/scale_text.h"
#include "lib/text/error.h"
#include "lib/text/json_text.h"
#include "lib/text/spelling.h"

namespace binade::python {
namespace {

using namespace nanobind::literals;

/// What an identification found, kept for the next run.
struct Found {
  Identification identification;
  RunFiles files;
  Array like;
};

/// Each of several runs under a name of its own.
std::vector<std::string> add_runs(Operands& operands, nb::handle x, const std::string& name) {
  std::vector<std::string> out;
  if (x.is_none()) return out;
  if (!is_list(x)) return {operands.add_number(x, name)};
  for (const nb::handle one : nb::borrow(x)) {
    const std::string run = name + "[" + std::to_string(out.size()) + "]";
    if (one.is_none()) throw Error(run + ": None; every run has one, or none has");
    out.push_back(operands.add_number(one, run));
  }
  return out;
}

IdentificationObject identification_of(nb::handle a, nb::handle b, nb::handle d, nb::handle c,
                                       nb::handle bias, std::string_view types, double alpha,
                                       double beta, nb::handle arch, Truth chains, Truth cpu,
                                       Truth transpose_a, Truth transpose_b,
                                       Whole<std::size_t> show, Truth all,
                                       std::optional<double> seconds, const nb::kwargs& beside) {
  for (auto [key, value] : beside) {
    static_cast<void>(value);
    const std::string name = utf8_of(key);
    if (std::ranges::find(file_options, name, &FileOption::name) != file_options.end()) continue;
    throw nb::type_error(("identify() has no argument '" + printable(name) + "'").c_str());
  }
  IdentifyOptions o;
  o.epilogue = {.alpha = alpha, .beta = beta};
  o.show = show;
  o.all = all;
  if (seconds) o.seconds = *seconds;
  if (seconds && !(*seconds > 0)) throw Error("--seconds: a time above 0 is wanted");
  o.chains = chains;
  o.cpu = cpu;
  for (const std::string& names : words_in("arch", arch)) {
    for (const std::string_view name : split(names, ',')) o.architectures.emplace_back(name);
  }
  if ((chains && cpu) || ((chains || cpu) && !o.architectures.empty())) {
    throw Error("--arch, --chains and --cpu exclude each other; give one");
  }
  Operands operands;
  o.files.a = add_runs(operands, a, "a");
  o.files.b = add_runs(operands, b, "b");
  o.files.d = add_runs(operands, d, "d");
  o.files.c = add_runs(operands, c, "c");
  o.files.bias = add_runs(operands, bias, "bias");
  for (std::size_t row = 0; row < file_options.size(); ++row) {
    const std::string name(file_options[row].name);
    if (!beside.contains(name.c_str())) continue;
    const nb::handle value = beside[name.c_str()];
    if (file_options[row].kind == FileWord::word) {
      if (!value.is_none()) {
        o.files.shared.*file_options[row].value = word_of(name.c_str(), value);
      }
    } else {
      o.files.beside[row] = add_runs(operands, value, name);
    }
  }
  if (o.files.d.empty()) throw Error("d: no run; give what the kernel gave");
  o.files.types = types;
  o.files.shared.transposed_a = transpose_a;
  o.files.shared.transposed_b = transpose_b;
  auto found = std::make_unique<Found>();
  std::string text, json;
  on(operands, [&] {
    found->identification = identified(o);
    text = identification_text(found->identification, shown(o));
    json = json_text(identification_json(found->identification, shown(o)), 2) + "\n";
  });
  found->files = o.files;
  found->like = operands.like();
  nb::list models;
  for (const Verdict& verdict : found->identification.result.explaining) {
    models.append(nb::cast(model_of_words(
        command_of(found->identification, found->identification.candidate(verdict)))));
  }
  return product_document<IdentificationObject>(
      "Identification", text, json, models,
      nb::cast(found.release(), nb::rv_policy::take_ownership));
}

ProposalObject proposal_of(nb::handle identification, Whole<std::uint64_t> seed) {
  const nb::object kept = nb::getattr(identification, "_found", nb::none());
  const auto* const kept_found = held<Found>(kept);
  if (kept_found == nullptr) {
    throw nb::type_error("identification: what identify returned is wanted, in the same process");
  }
  const Found& found = *kept_found;
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
  return nb::borrow<ProposalObject>(
      python_call("_products", "Proposal", out, proposal->models, proposal->pairs, inseparable));
}

ConverterCheckObject converter_check_of(nb::handle x, nb::handle codes, nb::handle format,
                                        std::string_view dtype, Whole<std::size_t> show) {
  Operands operands;
  ConversionFiles files{.in = operands.add(x, "x"), .codes = operands.add(codes, "codes")};
  if (!format.is_none()) files.format = format_of(format).name;
  files.dtype = dtype;
  std::string text, json;
  on(operands, [&] {
    const Converted given = read_conversion(files);
    const ConversionFinding found = identify_conversion(given);
    text = finding_text(found, given, show);
    json = json_text(finding_json(found, given, show), 2) + "\n";
  });
  return product_document<ConverterCheckObject>("ConverterCheck", text, json);
}

/// The scale of a tensor as the reader of files takes it: a number in words, or an array's name.
std::string tensor_scale_of(Operands& operands, nb::handle x) {
  if (x.is_none()) return "";
  if (!PyFloat_Check(x.ptr()) && !PyLong_Check(x.ptr())) return operands.add(x, "tensor_scale");
  const double value = number_of("tensor_scale", x);
  if (!std::isnan(value) && static_cast<double>(static_cast<float>(value)) != value) {
    throw Error("tensor_scale: a number that binary32 does not have; round it first");
  }
  return fmt::format("{:.9g}", value);
}

ScaleIdentificationObject scale_identification_of(nb::handle x, nb::handle codes, nb::handle scales,
                                                  nb::handle tensor_scale, nb::handle format,
                                                  std::string_view dtype, Whole<std::size_t> show,
                                                  Truth stack) {
  std::optional<NamedOrCustomBlock> chosen;
  if (!format.is_none()) chosen = parse_block_format(argument_text("format", format));
  Operands operands;
  ScaleFiles files{.a = operands.add(x, "x"),
                   .codes = operands.add_codes(codes, "codes"),
                   .scales = operands.add(scales, "scales")};
  files.tensor_scale = tensor_scale_of(operands, tensor_scale);
  files.dtype = dtype;
  files.stack = stack;
  std::string text, json;
  on(operands, [&] {
    JointRules joint;
    nlohmann::ordered_json tensors = nlohmann::ordered_json::array();
    each_quantized(files, [&](Quantized&& given) {
      const ScaleFinding found = identify_scales(given, chosen, show);
      text += (joint.tensors == 0 ? "" : "\n") + scales_text(found, given, show);
      tensors.push_back(scales_json(found, given, show));
      joint.add(found);
    });
    text += joint_text(joint);
    json = json_text(scales_document(tensors, joint, {}), 2) + "\n";
  });
  return product_document<ScaleIdentificationObject>("ScaleIdentification", text, json);
}

}  // namespace

void add_identification(nb::module_& m) {
  const nb::class_<Found> found(m, "_Found");
  static const std::string identify_signature =
      "def identify(a: object, b: object, d: object, c: object | None = None, "
      "bias: object | None = None, *, " +
      file_parameters() +
      ", types: str = '', alpha: float = 1.0, beta: float = 1.0, arch: object | None = None, "
      "chains: bool = False, cpu: bool = False, transpose_a: bool = False, "
      "transpose_b: bool = False, show: int = 5, all: bool = False, "
      "seconds: float | None = None) -> binade._products.Identification";
  m.def(
      "identify", &identification_of, "a"_a, "b"_a, "d"_a, "c"_a = nb::none(),
      "bias"_a = nb::none(), nb::kw_only(), "types"_a = "", "alpha"_a = 1.0, "beta"_a = 1.0,
      "arch"_a = nb::none(), "chains"_a = false, "cpu"_a = false, "transpose_a"_a = false,
      "transpose_b"_a = false, "show"_a = 5, "all"_a = false, "seconds"_a = nb::none(), "beside"_a,
      nb::sig(identify_signature.c_str()),
      R"(Finds the models (instruction, order, epilogue) that explain every bit of what a kernel gave.

    a, b, d: arrays of shape (M, K), (K, N) and (M, N); or, for dot products, (rows, K), (rows, K) and (rows,). c, bias: arrays
    of shape (M, N) and (N,), or None if the kernel added none. A list in the place of an array holds one for every run of the
    kernel. transpose_a, transpose_b: a is (K, M), b is (N, K).
    a_scale, b_scale, a_zero_point, b_zero_point: of the rows of a and the columns of b, as gemm() takes them; so are scales of
    blocks, scale_run, scale_layout, a_tensor_scale and b_tensor_scale, and rows in groups, each with a B of its own: groups and
    group_layout.
    types: of d, a, b and c, such as "f32.bf16.bf16.f32", if arrays hold bits as unsigned integers.
    alpha, beta: factors in D = alpha·sum + beta·C + bias.
    arch: "sm_90", or a list: the kernel ran on such a GPU. chains=True: try only chains of operations that round each time.
    cpu=True: the kernel ran on a CPU; try only chains, and no operand as tf32.
    show: how many models, and how many of those rejected, the document shows; all=True: every one.
    seconds: the search ends after so many, with what is known by then.
    Returns a document: .models are the GemmModels that explain every bit, simplest first; .conclusion is "none", "unique",
    "several", or "open" if the time ended while some agreed. If it is "none", the document says what may have happened. Raises ValueError if arrays or options do not fit.

    >>> import numpy as np
    >>> a, b = np.float32([[1, 2, 3]]), np.float32([[4], [5], [6]])
    >>> identify(a, b, np.float32([[32]]), cpu=True).conclusion
    'several'
)");
  m.def(
      "propose", &proposal_of, "identification"_a, nb::kw_only(), "seed"_a = 1,
      R"(Makes inputs on which the models that explain every bit differ: run the kernel on them, and identify both runs.

    identification: what identify() returned, with several models. seed: the result depends on nothing else. Returns a dict of
    the arrays a, b, and c and bias if the first run had them, of its shapes. Its attributes models (how many were held against
    each other), pairs (how many pairs these are) and inseparable (the pairs that no input distinguishes) say what it achieves.
    Raises ValueError if fewer than two models are left.

    >>> import numpy as np
    >>> found = identify(np.float32([[1, 2, 3]]), np.float32([[4], [5], [6]]), np.float32([[32]]), cpu=True)
    >>> sorted(propose(found))
    ['a', 'b']
)");
  m.def(
      "check", &converter_check_of, "x"_a, "codes"_a, "format"_a = nb::none(), nb::kw_only(),
      "dtype"_a = "", "show"_a = 5,
      R"(Finds the rules of conversion (rounding, overflow, flushing, NaNs, formats in between) that explain every code.

    x: what a converter was given, an array of numbers. codes: what it gave, of the same shape: in the dtype of its format, in
    unsigned integers that hold its bits, or values in a wider dtype; FP4 may be packed, two in a byte, the first in the low half.
    format: of the codes, if their dtype does not name it. dtype: of x, if it holds bits as unsigned integers.
    show: how many rules, and how many elements that differ, the document shows.
    Returns a document: .conclusion is "none", "unique" or "several"; .rules are those that explain every finite number, in words,
    the simplest first. Raises ValueError if the arrays do not fit.

    >>> import numpy as np
    >>> x = np.float32([1.0625, 1.1875, 1.24, 500])
    >>> found = check(x, np.uint8([0x38, 0x39, 0x39, 0x7E]), "e4m3")
    >>> found.conclusion, found.rules[0]
    ('several', 'e4m3 toward_zero')
)");
  m.def(
      "identify_scales", &scale_identification_of, "x"_a, "codes"_a, "scales"_a,
      "tensor_scale"_a = nb::none(), nb::kw_only(), "format"_a = nb::none(), "dtype"_a = "",
      "show"_a = 3, "stack"_a = false,
      R"(Finds the scale rules that explain every scale and every code of a block quantizer, with rounding, axis and layout.

    x: what was quantized, an array of numbers. codes: what it became, in the dtype of their format or in unsigned integers, of
    the shape of x or of its transpose; those of 4 bits may be two in a byte. scales: of the blocks, in the dtype of their format or
    in integers, in any order of `binade quantize --scale-layout`. tensor_scale: a number, where a second scale lies over the
    tensor; its amax, what numbers or what values are multiplied by; an array of one for each of a stack of tensors. stack=True:
    along the first axis lie tensors of their own, as experts do, each with its amax. format: a block format, as "mxfp4"; None: all that fit.
    dtype: of x, if it holds bits as unsigned integers. show: how many groups of rules, and how many others, the document shows.
    Returns a document: .conclusion is "none", "unique" or "several"; .rules are the names of those that explain all, in groups that
    no block tells apart; .hypotheses are what may have happened if none does. Raises ValueError if the arrays do not fit.

    >>> import numpy as np
    >>> x = np.random.default_rng(1).standard_normal((64, 64)).astype("f")
    >>> codes, scales, _ = encode(x, "mxfp8_e4m3", scale_rule="torchao_even")
    >>> identify_scales(x, codes, scales).rules[0]
    ['torchao_even', 'torchao018_even']
    >>> identify_scales(x, codes, 254 - scales).hypotheses[0]["words"]
    'torchao_even, torchao018_even: stored is 1/scale (mxfp8_e4m3 along axis 1, row_major)'
)");
}

}  // namespace binade::python
