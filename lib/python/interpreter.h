// SPDX-License-Identifier: Apache-2.0
//
// The interpreter around C++: its lock, its exceptions on their way through, its limit of recursion.
#pragma once

#include <nanobind/nanobind.h>

#include "lib/parallel/parallel.h"

namespace binade::python {

/// While it lives, other Python threads run, and Ctrl-C ends the loops of this one within milliseconds, as
/// KeyboardInterrupt or whatever the handler of the signal raises.
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

/// While it lives, this thread has the lock: of callbacks inside a Released.
class Acquired {
 public:
  Acquired();
  ~Acquired();
  Acquired(const Acquired&) = delete;
  Acquired& operator=(const Acquired&) = delete;

 private:
  PyGILState_STATE state_;
};

/// What a callback of Python's gives, called with the lock; for whatever runs Python while C++ waits for it. A thread that the
/// interpreter's end overtakes there stays, and what C++ holds above it with it.
nanobind::object called_back(nanobind::handle function, const nanobind::tuple& arguments = {});

/// A module of Python's, imported likewise.
nanobind::object imported(const char* module);

/// To be called where exceptions are kept: throws on the one that is handled, if it is Python's.
void pass_python_on();

/// Who is inside an object whose methods give the lock away; read and written with the lock alone.
struct Occupied {
  const void* by = nullptr;

  /// Error, with the object's name, where somebody is.
  void check(const char* object) const;
};

/// While it lives, this call is inside; Error where another thread is.
class Inside {
 public:
  Inside(Occupied& place, const char* object);
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  /// For what is called back and may use the object; and back again, which is an Error where another thread came in.
  void leave() { place_.by = nullptr; }
  void come_back();

 private:
  Occupied& place_;
  const char* object_;
};

/// A function that calls itself while it lives: RecursionError where Python itself would raise it.
class Deeper {
 public:
  Deeper();
  ~Deeper() { Py_LeaveRecursiveCall(); }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;
};

}  // namespace binade::python
