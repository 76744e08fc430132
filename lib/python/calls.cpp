// SPDX-License-Identifier: Apache-2.0
//
// Rewords the TypeError that nanobind raises for wrong arguments, which lists all signatures and
// types in many lines. Python calls a function of nanobind through a pointer in its object (PEP
// 590); we put a function of ours there, which calls nanobind's and rewords what it raised.
#include "lib/python/calls.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include <nanobind/stl/string.h>

#include "lib/python/arrays.h"

namespace binade::python {
namespace {

/// nanobind has four: with few arguments or many, simple or not.
constexpr std::size_t most_entries = 8;
std::array<vectorcallfunc, most_entries> theirs{};

/// Whether it is nanobind's refusal of a call of `function` itself, not of one further in.
bool is_refusal_of(nb::handle function, const nb::python_error& raised) {
  if (raised.traceback().is_valid()) return false;
  const nb::object text = nb::str(nb::handle(raised.value()));
  const std::string begin =
      nb::cast<std::string>(function.attr("__name__")) + "(): incompatible function arguments";
  return nb::cast<std::string>(text).starts_with(begin);
}

/// Raises the line instead, where it is a refusal of arguments.
void reword(nb::handle function, PyObject* const* arguments, std::size_t flagged, PyObject* names) {
  nb::python_error raised;  // takes it
  if (!is_refusal_of(function, raised)) return raised.restore();
  const nb::object text = nb::str(nb::handle(raised.value()));
  const auto given = static_cast<std::size_t>(PyVectorcall_NARGS(flagged));
  nb::list by_place;
  for (std::size_t i = 0; i < given; ++i) by_place.append(nb::handle(arguments[i]));
  nb::dict by_name;
  const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  for (Py_ssize_t i = 0; i < named; ++i) {
    by_name[nb::handle(PyTuple_GET_ITEM(names, i))] =
        nb::handle(arguments[given + static_cast<std::size_t>(i)]);
  }
  const nb::object error = python_call("_calls", "refusal", text, by_place, by_name);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
}

template <std::size_t entry>
PyObject* ours(PyObject* self, PyObject* const* arguments, std::size_t flagged, PyObject* names) {
  PyObject* const out = theirs[entry](self, arguments, flagged, names);
  if (out != nullptr || PyErr_ExceptionMatches(PyExc_TypeError) == 0) return out;
  try {
    reword(self, arguments, flagged, names);
  } catch (nb::python_error& error) {
    error.restore();
  }
  return nullptr;
}
constexpr std::array<vectorcallfunc, most_entries> our_entries =
    []<std::size_t... i>(std::index_sequence<i...>) {
  return std::array<vectorcallfunc, most_entries>{&ours<i>...};
}
(std::make_index_sequence<most_entries>());

void stand_before(nb::handle function) {
  PyTypeObject* const type = Py_TYPE(function.ptr());
  const bool is_nanobinds = std::strcmp(type->tp_name, "nanobind.nb_func") == 0 ||
                            std::strcmp(type->tp_name, "nanobind.nb_method") == 0;
  if (!is_nanobinds || type->tp_vectorcall_offset <= 0) return;
  vectorcallfunc called = nullptr;
  char* const place = reinterpret_cast<char*>(function.ptr()) + type->tp_vectorcall_offset;
  std::memcpy(&called, place, sizeof called);
  for (std::size_t i = 0; i < most_entries; ++i) {
    if (called == our_entries[i]) return;
    if (theirs[i] != nullptr && theirs[i] != called) continue;
    theirs[i] = called;
    std::memcpy(place, &our_entries[i], sizeof called);
    return;
  }
}

}  // namespace

void refuse_in_one_line(nb::module_& m) {
  for (const nb::handle one : nb::borrow<nb::dict>(m.attr("__dict__")).values()) {
    stand_before(one);
    if (!PyType_Check(one.ptr())) continue;
    for (const nb::handle member : nb::object(one.attr("__dict__").attr("values")()))
      stand_before(member);
  }
}

}  // namespace binade::python
