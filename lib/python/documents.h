// SPDX-License-Identifier: Apache-2.0
//
// Documents: Python objects of what the program prints. str(x) is its text and x.to_json() its
// JSON, byte for byte.
#pragma once

#include <string>
#include <string_view>

#include <nanobind/nanobind.h>
#include <nlohmann/json_fwd.hpp>

namespace binade::python {

namespace nb = nanobind;

/// The JSON as Python's dict, list, str, int, float, bool and None.
nb::object python_of(const nlohmann::ordered_json& json);
/// Python's objects as JSON. Raises TypeError for an object that JSON does not have.
nlohmann::ordered_json json_of_python(nb::handle x);

/// The text as a str; bytes that are not UTF-8 are replaced.
nb::object text_object(std::string_view text);

/// Declares a type for objects of a class that one of the package's Python modules defines, so that
/// the signatures of functions name that class.
#define BINADE_DOCUMENT(Type, module)                                              \
  class Type##Object : public nb::object {                                         \
    NB_OBJECT(Type##Object, nb::object, "binade." module "." #Type, is_any_object) \
  }
inline bool is_any_object(PyObject*) { return true; }
BINADE_DOCUMENT(FormatTable, "_documents");
BINADE_DOCUMENT(Shown, "_documents");
BINADE_DOCUMENT(ShownBlock, "_documents");
BINADE_DOCUMENT(GemmAccount, "_products");
BINADE_DOCUMENT(Validation, "_products");
BINADE_DOCUMENT(Explanation, "_products");
BINADE_DOCUMENT(Identification, "_products");
BINADE_DOCUMENT(Proposal, "_products");
BINADE_DOCUMENT(ConverterCheck, "_products");
BINADE_DOCUMENT(ScaleIdentification, "_products");
BINADE_DOCUMENT(Report, "_report");
BINADE_DOCUMENT(AutocastTable, "_training");
BINADE_DOCUMENT(Advice, "_training");
BINADE_DOCUMENT(Training, "_training");
BINADE_DOCUMENT(Sweep, "_training");
BINADE_DOCUMENT(ExperimentAnswer, "_training");
#undef BINADE_DOCUMENT

/// A document with this text and JSON, of the class `name`, which _documents.py defines.
nb::object document(const char* name, std::string_view text, const nlohmann::ordered_json& json);

}  // namespace binade::python
