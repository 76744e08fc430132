// SPDX-License-Identifier: Apache-2.0
//
// Types of arguments of the Python functions: whole numbers and truth values, from Python's own
// objects and from NumPy's, but from nothing that merely converts to them.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

#include <nanobind/nanobind.h>

namespace binade::python {

namespace nb = nanobind;

/// A whole number in the range of T: an int, or an object with __index__, such as NumPy's integers;
/// not True, text or 2.0, which Python refuses with TypeError.
template <std::integral T>
struct Whole {
  T value = 0;
  operator T() const { return value; }  // NOLINT(google-explicit-constructor)
};

/// A truth value: True, False, or a numpy.bool_.
struct Truth {
  bool value = false;
  operator bool() const { return value; }  // NOLINT(google-explicit-constructor)
};
/// Whether x is a truth value.
inline bool is_truth_value(nb::handle x) {
  const std::string_view type = Py_TYPE(x.ptr())->tp_name;
  return PyBool_Check(x.ptr()) || type == "numpy.bool_" || type == "numpy.bool";
}

/// The C++ value of an object of T's class; null if x is of another class. Raises TypeError if a
/// class derived in Python did not call __init__.
template <class T>
T* held(nb::handle x) {
  if (!nb::isinstance<T>(x)) return nullptr;
  if (nb::inst_ready(x)) return nb::inst_ptr<T>(x);
  throw nb::type_error(
      "an object whose __init__ was not called; its class must call super().__init__()");
}

/// __radd__ for Python's sum(), which begins with 0 + x: a copy of x, or NotImplemented if the
/// number is not 0.
template <class T>
nb::object added_to_zero(const T& x, Whole<int> zero) {
  return zero == 0 ? nb::cast(T(x)) : nb::borrow(nb::handle(Py_NotImplemented));
}

}  // namespace binade::python

namespace nanobind::detail {

template <class T>
struct type_caster<binade::python::Whole<T>> {
  NB_TYPE_CASTER(binade::python::Whole<T>, const_name("int"))

  bool from_python(handle from, std::uint8_t, cleanup_list*) noexcept {
    if (PyBool_Check(from.ptr()) || PyIndex_Check(from.ptr()) == 0) return false;
    const object whole = steal(PyNumber_Index(from.ptr()));
    if (!whole.is_valid()) {
      PyErr_Clear();
      return false;
    }
    if constexpr (std::signed_integral<T>) {
      const long long x = PyLong_AsLongLong(whole.ptr());
      value.value = static_cast<T>(x);
      if (PyErr_Occurred() == nullptr) return value.value == x;
    } else {
      const unsigned long long x = PyLong_AsUnsignedLongLong(whole.ptr());
      value.value = static_cast<T>(x);
      if (PyErr_Occurred() == nullptr) return value.value == x;
    }
    PyErr_Clear();
    return false;
  }
  static handle from_cpp(binade::python::Whole<T> x, rv_policy, cleanup_list*) noexcept {
    return make_caster<T>::from_cpp(x.value, rv_policy::automatic, nullptr);
  }
};

template <>
struct type_caster<binade::python::Truth> {
  NB_TYPE_CASTER(binade::python::Truth, const_name("bool"))

  bool from_python(handle from, std::uint8_t, cleanup_list*) noexcept {
    if (!binade::python::is_truth_value(from)) return false;
    value.value = PyObject_IsTrue(from.ptr()) == 1;
    return true;
  }
  static handle from_cpp(binade::python::Truth x, rv_policy, cleanup_list*) noexcept {
    return handle(x.value ? Py_True : Py_False).inc_ref();
  }
};

}  // namespace nanobind::detail
