// SPDX-License-Identifier: Apache-2.0
//
// What C++ code needs from the Python interpreter around it: its lock, its exceptions, calls of
// Python functions, and its limit of recursion.
#pragma once

#include <nanobind/nanobind.h>

#include "lib/parallel/parallel.h"

namespace binade::python {

/// Lets threads that want the interpreter's lock back stop for ever once the interpreter ends:
/// CPython itself looks after a part of the end alone.
void watch_for_end();

/// Gives the interpreter's lock away while it lives, so that other Python threads run. If this is
/// Python's main thread, Ctrl-C then ends a parallel_for of it, or work of it that calls poll()
/// (lib/parallel/parallel.h), at one of the next pieces or calls, by KeyboardInterrupt or whatever
/// the handler of the signal raises.
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

/// The result of a Python function. The caller has the lock. Callbacks of users and functions of
/// the package's Python modules are called by this, because they may run long and give the lock
/// away, and the interpreter may end meanwhile: then the thread stops there for ever, and what C++
/// holds on its stack is never freed. Methods of the caller's values that are short as a rule, such
/// as __index__ and items(), are called directly.
nanobind::object called_back(nanobind::handle function, const nanobind::tuple& arguments = {});

/// A Python module, imported with the same care as called_back.
nanobind::object imported(const char* module);

/// To be called inside a handler of C++ exceptions: rethrows the exception that is being handled if
/// it came from Python.
void pass_python_on();

/// Marks by which Inside an object is in use whose methods give the lock away; null: by none. It is
/// read and written only by a thread that has the lock.
struct Occupied {
  const void* by = nullptr;

  /// Throws Error, with the name of the object, if it is in use.
  void check(const char* object) const;
};

/// Marks the object as in use while it lives. The constructor throws Error if it already is, by
/// another thread or, without leave(), by this one.
class Inside {
 public:
  Inside(Occupied& place, const char* object);
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  /// leave() lets others, such as a callback, use the object; come_back() ends that, and throws
  /// Error if it is in use then.
  void leave() { place_.by = nullptr; }
  void come_back();

 private:
  Occupied& place_;
  const char* object_;
};

/// A level of recursion while it lives, for C++ functions that call themselves. The constructor
/// raises RecursionError at the depth at which Python itself would.
class Deeper {
 public:
  Deeper();
  ~Deeper() { Py_LeaveRecursiveCall(); }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;
};

}  // namespace binade::python
