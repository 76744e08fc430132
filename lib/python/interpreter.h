// SPDX-License-Identifier: Apache-2.0
//
// The interpreter's lock: without it while C++ works, with it again in what Python is asked.
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

}  // namespace binade::python
