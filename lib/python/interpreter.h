// SPDX-License-Identifier: Apache-2.0
//
// What C++ code needs from the Python interpreter around it: its lock, its exceptions, calls of Python functions, and its limit
// of recursion.
#pragma once

#include <nanobind/nanobind.h>

#include "lib/parallel/parallel.h"

namespace binade::python {

/// Gives the interpreter's lock away while it lives, so that other Python threads run. Ctrl-C then ends the loops of this
/// thread within milliseconds, by KeyboardInterrupt or whatever the handler of the signal raises.
class Released {
 public:
  Released();
  ~Released();
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  PyThreadState* state_;
  Polled polled_;
};

/// Holds the interpreter's lock while it lives, for callbacks within a Released.
class Acquired {
 public:
  Acquired();
  ~Acquired();
  Acquired(const Acquired&) = delete;
  Acquired& operator=(const Acquired&) = delete;

 private:
  PyGILState_STATE state_;
};

/// The result of a Python function. The caller has the lock. Every call from C++ into Python code goes through this, because
/// the interpreter may end meanwhile: then the thread stops there for ever, and what C++ holds on its stack is never freed.
nanobind::object called_back(nanobind::handle function, const nanobind::tuple& arguments = {});

/// A Python module, imported with the same care as called_back.
nanobind::object imported(const char* module);

/// To be called inside a handler of C++ exceptions: rethrows the exception that is being handled if it came from Python.
void pass_python_on();

/// Marks which thread is inside a method of an object whose methods give the lock away. It is read and written only by a
/// thread that has the lock.
struct Occupied {
  const void* by = nullptr;

  /// Throws Error, with the name of the object, if a thread is inside.
  void check(const char* object) const;
};

/// Marks this thread as inside while it lives. The constructor throws Error if another thread is.
class Inside {
 public:
  Inside(Occupied& place, const char* object);
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  /// leave() lets a callback use the object; come_back() ends that, and throws Error if another thread is inside then.
  void leave() { place_.by = nullptr; }
  void come_back();

 private:
  Occupied& place_;
  const char* object_;
};

/// A level of recursion while it lives, for C++ functions that call themselves. The constructor raises RecursionError at the
/// depth at which Python itself would.
class Deeper {
 public:
  Deeper();
  ~Deeper() { Py_LeaveRecursiveCall(); }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;
};

}  // namespace binade::python
