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

/// To be called where exceptions are kept: throws on the one that is handled, if it is Python's.
void pass_python_on();

/// A function that calls itself while it lives: RecursionError where Python itself would raise it.
class Deeper {
 public:
  Deeper();
  ~Deeper() { Py_LeaveRecursiveCall(); }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;
};

}  // namespace binade::python
