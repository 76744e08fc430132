// SPDX-License-Identifier: Apache-2.0
//
// The class binade.Format, and the functions formats(), format_table() and show().
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "lib/explain/block_table.h"
#include "lib/explain/format_table.h"
#include "lib/explain/shown_block.h"
#include "lib/explain/shown_encoding.h"
#include "lib/python/arguments.h"
#include "lib/python/arrays.h"
#include "lib/python/documents.h"
#include "lib/python/keywords.h"
#include "lib/python/module.h"
#include "lib/text/error.h"

namespace binade::python {
namespace {

using namespace nanobind::literals;

nlohmann::ordered_json row_of(const NamedOrCustom& format) {
  const FormatLimits limits = limits_of(format);
  return format_table_json(std::span(&limits, 1))["formats"][0];
}

FormatTableObject table_of(const std::vector<NamedOrCustom>& formats) {
  std::vector<FormatLimits> rows;
  for (const NamedOrCustom& format : formats) rows.push_back(limits_of(format));
  return nb::borrow<FormatTableObject>(
      document("FormatTable", format_table_text(std::span<const FormatLimits>(rows)),
               format_table_json(rows)));
}

nb::typed<nb::list, NamedOrCustom> named() {
  nb::list out;
  for (const NamedFormat& row : formats) {
    out.append(nb::cast(NamedOrCustom{std::string(row.name), row.format}));
  }
  return nb::borrow<nb::typed<nb::list, NamedOrCustom>>(out);
}

/// A number as `show` reads it: text, or a number of Python's or NumPy's exactly.
std::string literal_of(nb::handle x) {
  if (PyUnicode_Check(x.ptr())) return utf8_of(x);
  if (PyIndex_Check(x.ptr()) != 0) {
    const nb::object whole = nb::steal(PyNumber_Index(x.ptr()));
    if (whole.is_valid()) return utf8_of(nb::str(whole));
    if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw nb::python_error();
    PyErr_Clear();  // an array or a tensor of a float
  }
  if (!PyFloat_Check(x.ptr()) && nb::hasattr(x, "as_integer_ratio")) {
    return utf8_of(python_call("_calls", "exact_text", x));
  }
  const nb::object number = nb::steal(PyNumber_Float(x.ptr()));
  if (!number.is_valid() && PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
    PyErr_Clear();
    throw nb::type_error(
        (std::string("a number is wanted, not ") + Py_TYPE(x.ptr())->tp_name).c_str());
  }
  if (!number.is_valid()) throw nb::python_error();
  const double value = PyFloat_AS_DOUBLE(number.ptr());
  if (value != value) return "nan";
  if (value - value != 0) return value > 0 ? "inf" : "-inf";
  return nb::cast<std::string>(number.attr("hex")());
}

ShownObject show_numbers(nb::handle values, nb::handle wanted, std::string_view rounding,
                         std::string_view saturation, std::string_view nan, std::string_view flush,
                         Whole<int> random_bits, std::optional<Whole<std::int64_t>> random) {
  ShowQuestion question{
      .values = {},
      .formats = {},
      .attributes = attribute_options(rounding, saturation, nan, flush, random_bits),
      .random = random};
  if (question.attributes.flush_operands) {
    throw Error("flush: a number that is shown is taken as it is; give none or results");
  }
  for (const nb::object& one : in_list(values)) question.values.push_back(literal_of(one));
  for (const nb::object& one : in_list(wanted)) question.formats.push_back(format_of(one).name);
  const std::vector<ShownEncoding> all = shown_values(question);
  return nb::borrow<ShownObject>(
      document("Shown", shown_encodings_text(all), shown_encodings_json(all)));
}

/// The numbers of an array in a list; a list, or a number, as it is.
nb::object listed_numbers(nb::handle x) {
  const bool is_array = nb::hasattr(x, "tolist") && nb::hasattr(x, "reshape");
  return is_array ? nb::object(x.attr("reshape")(-1).attr("tolist")()) : nb::borrow(x);
}

ShownBlockObject show_one_block(nb::handle numbers, nb::handle format, nb::handle scale_rule,
                                nb::handle tensor_amax, nb::handle rounding, nb::handle dtype) {
  ShowBlockQuestion question;
  for (const nb::object& one : in_list(listed_numbers(numbers))) {
    question.numbers += (question.numbers.empty() ? "" : " ") + literal_of(one);
  }
  question.format = argument_text("format", format);
  for (const nb::object& one : in_list(scale_rule)) {
    question.rules.push_back(argument_text("scale_rule", one));
  }
  if (!tensor_amax.is_none()) question.tensor_amax = literal_of(tensor_amax);
  if (!rounding.is_none()) question.rounding = utf8_of(rounding);
  if (!dtype.is_none()) question.input = utf8_of(dtype);
  const ShownBlock shown = shown_block(question);
  return nb::borrow<ShownBlockObject>(
      document("ShownBlock", shown_block_text(shown), shown_block_json(shown)));
}

nb::object rules_of_formats(nb::handle names) {
  std::vector<NamedOrCustomBlock> chosen;
  if (!names.is_none()) {
    for (const nb::object& one : in_list(names)) {
      chosen.push_back(parse_block_format(utf8_of(one)));
    }
  }
  return python_of(scale_rules_json(rules_for(chosen)));
}

}  // namespace

void add_formats(nb::module_& m) {
  nb::class_<NamedOrCustom> format(m, "Format",
                                   R"(A binary floating-point format.

    format: a name of formats(), a dtype, or a specification: "e5m7" (5 exponent bits, 7 fraction bits), "ue5m3" (without a
    sign), "e4m3:specials=ieee:bias=8"; `binade formats --help` explains it. Raises ValueError for other text. Two formats are
    equal if they encode the same numbers alike; a format can be a key of a dict.

    The attributes hold exact numbers, as text if binary64 does not hold them: name, source, bits, padding_bits, storage_bits,
    exponent_bits, precision (significand bits with the hidden one), bias, emin, emax, has_sign, has_zero, has_subnormals,
    has_infinity, has_nan, specials, max, min_normal, min_subnormal, min_positive, epsilon, to_zero_at_most (the largest magnitude
    that rounds to zero), overflow_from (the magnitude from which values overflow), overflow_from_included (whether that one
    does), overflow_to (what they become).

    >>> Format("e4m3").max
    448.0
)");
  format.def(
      "__init__",
      [](NamedOrCustom* self, nb::handle text) { new (self) NamedOrCustom(format_of(text)); },
      "format"_a);
  const nlohmann::ordered_json example = row_of({"binary16", binary16});
  for (const auto& [key, value] : example.items()) {
    const char* const type = value.is_boolean()          ? "bool"
                             : value.is_number_integer() ? "int"
                             : value.is_string()         ? "str"
                                                         : "float | str | None";
    const std::string signature = "def " + key + "(self) -> " + type;
    format.def_prop_ro(
        key.c_str(),
        [name = key](const NamedOrCustom& self) { return python_of(row_of(self)[name]); },
        nb::sig(signature.c_str()));
  }
  format.def(
      "to_dict", [](const NamedOrCustom& self) { return python_of(row_of(self)); },
      "Returns a new dict of all attributes, as `binade formats --json` has them.");
  format.def("__repr__", [](const NamedOrCustom& self) { return "Format('" + self.name + "')"; });
  format.def("__str__", [](const NamedOrCustom& self) { return self.name; });
  format.def(
      "__eq__",
      [](const NamedOrCustom& self, nb::handle other) {
        const auto* const that = held<NamedOrCustom>(other);
        return that != nullptr && that->format == self.format;
      },
      "other"_a.none());
  format.def("__hash__", [](const NamedOrCustom& self) {
    return nb::hash(nb::str(spec_of(self.format).c_str()));
  });
  format.def("__reduce__", [](nb::handle self) {
    return nb::make_tuple(self.type(), nb::make_tuple(nb::str(self)));
  });
  format.def("_repr_html_", [](const NamedOrCustom& self) {
    return called_back(nb::object(table_of({self}).attr("_repr_html_")));
  });

  m.def("formats", &named, R"(Returns all formats that have a name, as a list of Format.

    >>> [f.name for f in formats() if f.bits == 8][:3]
    ['e4m3', 'e5m2', 'e4m3fnuz']
)");
  m.def(
      "format_table",
      [](nb::handle names) {
        std::vector<NamedOrCustom> chosen;
        for (const nb::object& one : in_list(names)) chosen.push_back(format_of(one));
        return table_of(chosen);
      },
      "formats"_a,
      R"(Returns the table of `binade formats`, for one format or a list of them, as a document.

    formats: names, specifications or Formats. str() of the document is the program's text, to_dict() its JSON. Raises ValueError
    for a name that is no format.

    >>> [row["max"] for row in format_table(["e5m2", "e4m3"]).to_dict()["formats"]]
    [57344.0, 448.0]
)");
  m.def("show", &show_numbers, "values"_a, "formats"_a, nb::kw_only(),
        "rounding"_a = "ties_to_even", "saturation"_a = "none", "nan"_a = "quiet",
        "flush"_a = "none", "random_bits"_a = 32, "random"_a = nb::none(),
        R"(Shows single numbers in formats: bits, fields, neighbours, and what rounding changed.

    values: a number, text as `binade show` reads it ("0.1", "2^-25", "bits:0x7f"), or a list of these. A number is taken
    exactly as it is; a decimal.Decimal or a fractions.Fraction must have a finite decimal. formats: a name, specification or
    Format, or a list of them. rounding, saturation, nan, flush, random_bits: as for quantize(). random: the number, below
    2^random_bits, that stochastic rounding adds. Returns a document: str() is the program's text, to_dict() its JSON. Raises
    ValueError for text that is no number, format or option.

    >>> show(0.1, "binary16").to_dict()["values"][0]["bits"]
    '0x2e66'
)");
  m.def(
      "show_block", &show_one_block, "numbers"_a, "format"_a, nb::kw_only(),
      "scale_rule"_a = nb::none(), "tensor_amax"_a = nb::none(), "rounding"_a = nb::none(),
      "dtype"_a = nb::none(),
      R"(Shows one block of a block format: its scale, codes and values by the rules of stacks that people use.

    numbers: a list of numbers, or of text, as for show(), each rounded to binary32; a block that is not full is filled with
    zeros. format: a block format, as "mxfp4", "nvfp4", "e2m1:block=1x32:scale=e8m0". scale_rule: a name of scale_rules(), or a
    list of names; "all" for each that fits; None for the usual one. tensor_amax: the largest magnitude of the tensor, where a
    second scale lies over it (default: that of the block). rounding: of the elements, as for quantize(), but not stochastic;
    None: to nearest, as the rule says. dtype: of the tensor, as "bfloat16", to which numbers are rounded, and the steps that a stack
    computes in the dtype of its input; None: binary32. Returns a document: str() is the program's text, to_dict() its JSON. Raises ValueError
    for what is no number, format or rule.

    >>> [one["scale"] for one in show_block([0.1, -3, 7], "mxfp4", scale_rule=["ocp", "torchao_even"]).to_dict()["outcomes"]]
    ['7F', '80']
)");
  m.def(
      "scale_rules", &rules_of_formats, "formats"_a = nb::none(),
      nb::sig("def scale_rules(formats: object | None = None) -> list[dict]"),
      R"(Returns the rules by which stacks get the scales of block formats, as a list of dicts: name, scale, tensor_scale, elements,
    scale_step, element_step, source, and open, what is taken as exact where the stack uses an approximation, or is not
    specified.

    formats: a block format, or a list of them, that the rules must fit; None: all rules. Raises ValueError for a name that is no
    block format.

    >>> scale_rules("nvfp4")[0]["name"]
    'te'
)");
}

}  // namespace binade::python
