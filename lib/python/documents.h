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

/// A document of the class binade.<name>, which _documents.py defines.
nb::object document(const char* name, std::string_view text, const nlohmann::ordered_json& json);

}  // namespace binade::python
