// SPDX-License-Identifier: Apache-2.0
//
// What the program prints as text or JSON, as one Python object: str(x) is the text, x.to_json() the JSON, byte for byte.
#pragma once

#include <string>
#include <string_view>

#include <nanobind/nanobind.h>
#include <nlohmann/json_fwd.hpp>

namespace binade::python {

namespace nb = nanobind;

/// JSON as dict, list, str, int, float, bool and None.
nb::object python_of(const nlohmann::ordered_json& json);
/// The same way back. TypeError for what JSON does not have.
nlohmann::ordered_json json_of_python(nb::handle x);

/// What is not UTF-8 is replaced.
nb::object text_object(std::string_view text);

/// Objects of the package's own classes in Python, as signatures name them.
#define BINADE_DOCUMENT(Type, module)                                              \
  class Type##Object : public nb::object {                                         \
    NB_OBJECT(Type##Object, nb::object, "binade." module "." #Type, is_any_object) \
  }
inline bool is_any_object(PyObject*) { return true; }
BINADE_DOCUMENT(FormatTable, "_documents");
BINADE_DOCUMENT(Shown, "_documents");
BINADE_DOCUMENT(GemmAccount, "_products");
BINADE_DOCUMENT(Validation, "_products");
BINADE_DOCUMENT(Explanation, "_products");
BINADE_DOCUMENT(Identification, "_products");
BINADE_DOCUMENT(Proposal, "_products");
BINADE_DOCUMENT(Report, "_report");
BINADE_DOCUMENT(AutocastTable, "_training");
BINADE_DOCUMENT(Advice, "_training");
BINADE_DOCUMENT(Training, "_training");
BINADE_DOCUMENT(Sweep, "_training");
BINADE_DOCUMENT(ExperimentAnswer, "_training");
#undef BINADE_DOCUMENT

/// A document of the class binade.<name>, which _documents.py defines.
nb::object document(const char* name, std::string_view text, const nlohmann::ordered_json& json);

}  // namespace binade::python
