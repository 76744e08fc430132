// SPDX-License-Identifier: Apache-2.0
//
// Reads Python's texts, lists and paths into the values of the program's options.
#include "lib/python/keywords.h"

#include <algorithm>

#include "lib/python/arguments.h"
#include "lib/python/arrays.h"
#include "lib/text/error.h"

namespace binade::python {
namespace {

/// Python's repr of x, in ASCII and cut if it is long.
std::string shown(nb::handle x) {
  const nb::object text = nb::steal(PyObject_ASCII(x.ptr()));
  if (!text.is_valid()) throw nb::python_error();
  return printable(utf8_of(text));
}

}  // namespace

AttributeOptions attribute_options(std::string_view rounding, std::string_view saturation,
                                   std::string_view nan, std::string_view flush, int random_bits) {
  if (flush != "none" && flush != "results" && flush != "operands" && flush != "both") {
    throw Error("flush " + printable(flush) +
                ": no such choice; there are none, results (FTZ), operands (DAZ) and both");
  }
  return {.rounding = std::string(rounding),
          .saturation = std::string(saturation),
          .nan = std::string(nan),
          .flush_results = flush == "results" || flush == "both",
          .flush_operands = flush == "operands" || flush == "both",
          .random_bits = random_bits};
}

bool is_path(nb::handle x) { return PyUnicode_Check(x.ptr()) || nb::hasattr(x, "__fspath__"); }

std::string path_of(nb::handle x) {
  PyObject* bytes = nullptr;
  if (PyUnicode_FSConverter(x.ptr(), &bytes) == 0) {
    if (PyErr_ExceptionMatches(PyExc_ValueError) == 0) throw nb::python_error();
    PyErr_Clear();  // an embedded NUL, or a UnicodeEncodeError
    throw Error(shown(x) + ": no path has a NUL or a surrogate in it; correct the name");
  }
  const nb::bytes owned = nb::steal<nb::bytes>(bytes);
  return {owned.c_str(), owned.size()};
}

std::string utf8_of(nb::handle x) {
  Py_ssize_t length = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(x.ptr(), &length);
  if (text == nullptr) {
    if (PyErr_ExceptionMatches(PyExc_UnicodeEncodeError) == 0) throw nb::python_error();
    PyErr_Clear();
    throw Error(shown(x) + ": a text with a surrogate, which UTF-8 does not have; correct it");
  }
  return {text, static_cast<std::size_t>(length)};
}

std::string argument_text(std::string_view key, nb::handle x) {
  if (PyUnicode_Check(x.ptr())) return utf8_of(x);
  wrong_type(key, "text is wanted", x);
}

void wrong_type(std::string_view key, const char* wanted, nb::handle x) {
  throw nb::type_error(
      (std::string(key) + ": " + wanted + ", not " + Py_TYPE(x.ptr())->tp_name).c_str());
}

double number_of(std::string_view key, nb::handle x) {
  if (is_truth_value(x)) wrong_type(key, "a number is wanted", x);
  const double out = PyFloat_AsDouble(x.ptr());
  if (out != -1 || PyErr_Occurred() == nullptr) return out;
  const bool is_large = PyErr_ExceptionMatches(PyExc_OverflowError) != 0;
  if (!is_large && PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw nb::python_error();
  PyErr_Clear();
  if (is_large) throw Error(std::string(key) + ": an integer beyond binary64's range");
  wrong_type(key, "a number is wanted", x);
}

bool is_list(nb::handle x) { return PyList_Check(x.ptr()) || PyTuple_Check(x.ptr()); }

std::vector<nb::object> in_list(nb::handle x) {
  std::vector<nb::object> out;
  if (is_list(x)) {
    for (const nb::handle one : nb::borrow(x)) out.push_back(nb::borrow(one));
  } else if (!x.is_none()) {
    out.push_back(nb::borrow(x));
  }
  return out;
}

std::vector<std::string> report_format_names(nb::handle x) {
  std::vector<std::string> out;
  for (const nb::object& one : in_list(x)) {
    const bool is_name = PyUnicode_Check(one.ptr()) != 0;
    const std::string text = is_name ? utf8_of(one) : format_of(one).name;
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find(',', at), text.size());
      out.push_back(text.substr(at, end - at));
      at = end + 1;
    }
  }
  return out;
}

std::vector<int> sqnr_scales_of(nb::handle x) {
  const auto scales =
      values_of_option<Whole<int>>("sqnr_scale", "the log2 of a scale, an integer", x);
  return {scales.begin(), scales.end()};
}

}  // namespace binade::python
