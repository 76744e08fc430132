// SPDX-License-Identifier: Apache-2.0
//
// Converts JSON to Python objects and back, and makes documents.
#include "lib/python/documents.h"

#include <nlohmann/json.hpp>

#include <cstdint>

#include "lib/python/arguments.h"
#include "lib/python/arrays.h"
#include "lib/python/interpreter.h"
#include "lib/python/keywords.h"
#include "lib/text/error.h"
#include "lib/text/json_text.h"
#include "lib/text/spelling.h"

namespace binade::python {

nb::object text_object(std::string_view text) {
  PyObject* const made =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

nb::object python_of(const nlohmann::ordered_json& json) {
  using Type = nlohmann::ordered_json::value_t;
  switch (json.type()) {
    case Type::object: {
      nb::dict out;
      for (const auto& [key, value] : json.items()) out[text_object(key)] = python_of(value);
      return nb::object(std::move(out));
    }
    case Type::array: {
      nb::list out;
      for (const auto& value : json) out.append(python_of(value));
      return nb::object(std::move(out));
    }
    case Type::string: return text_object(json.get_ref<const std::string&>());
    case Type::boolean: return nb::bool_(json.get<bool>());
    case Type::number_integer: return nb::int_(json.get<std::int64_t>());
    case Type::number_unsigned: return nb::int_(json.get<std::uint64_t>());
    case Type::number_float: return nb::float_(json.get<double>());
    default: return nb::none();
  }
}

namespace {

/// What cannot be in JSON is told with its key.
nlohmann::ordered_json json_of_value(const std::string& key, nb::handle x) {
  try {
    return json_of_python(x);
  } catch (const nb::builtin_exception& error) {
    throw nb::type_error((printable(key) + ": " + error.what()).c_str());
  }
}

}  // namespace

nlohmann::ordered_json json_of_python(nb::handle x) {
  const Deeper deeper;
  PyObject* const p = x.ptr();
  if (x.is_none()) return nullptr;
  if (PyBool_Check(p)) return p == Py_True;
  if (PyLong_Check(p)) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(p, &overflow);
    if (overflow == 0) return static_cast<std::int64_t>(value);
    const unsigned long long large = PyLong_AsUnsignedLongLong(p);
    if (PyErr_Occurred() == nullptr) return static_cast<std::uint64_t>(large);
    PyErr_Clear();
    throw Error("an integer of more than 64 bits");
  }
  if (PyFloat_Check(p)) return PyFloat_AS_DOUBLE(p);
  if (PyUnicode_Check(p)) return utf8_of(x);
  if (const auto* const format = held<NamedOrCustom>(x)) return format->name;
  if (PyDict_Check(p)) {
    nlohmann::ordered_json out = nlohmann::ordered_json::object();
    const auto own =
        nb::steal<nb::dict>(PyDict_Copy(p));  // numbers of the caller's classes may change x
    for (auto [key, value] : own) {
      const nlohmann::ordered_json name = json_of_python(key);
      if (!name.is_string()) throw nb::type_error("keys are text");
      out[name.get<std::string>()] = json_of_value(name.get_ref<const std::string&>(), value);
    }
    return out;
  }
  if (PyList_Check(p) || PyTuple_Check(p)) {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const nb::handle value : nb::borrow(x)) out.push_back(json_of_python(value));
    return out;
  }
  for (const auto read : {&PyNumber_Index, &PyNumber_Float}) {  // NumPy's and torch's numbers
    if (read == &PyNumber_Index ? PyIndex_Check(p) == 0 : !nb::hasattr(x, "__float__")) continue;
    const nb::object number = nb::steal(read(p));
    if (number.is_valid()) return json_of_python(number);
    if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw nb::python_error();
    PyErr_Clear();
  }
  throw nb::type_error(
      (std::string("a value of ") + Py_TYPE(p)->tp_name + ", which JSON does not have").c_str());
}

nb::object document(const char* name, std::string_view text, const nlohmann::ordered_json& json) {
  return python_call("_documents", name, text_object(text), text_object(json_text(json, 2) + "\n"));
}

}  // namespace binade::python
