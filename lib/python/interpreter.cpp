// SPDX-License-Identifier: Apache-2.0
//
// Taking the lock also from an interpreter that ends, and asking it for signals.
#include "lib/python/interpreter.h"

#include <cxxabi.h>
#include <unistd.h>

#include <chrono>

namespace binade::python {
namespace {

/// Before 3.14 CPython ends a daemon thread that wants the lock while the interpreter ends, by unwinding it, which no
/// destructor survives; since then it hangs there for good, as it does here.
template <class Take>
auto take_lock(const Take& take) {
  try {
    return take();
  } catch (const abi::__forced_unwind&) {
    for (;;) pause();
  }
}

/// Throws what a signal's handler raised.
void check_signals() {
  constexpr auto between = std::chrono::milliseconds(10);
  thread_local std::chrono::steady_clock::time_point last{};
  const auto now = std::chrono::steady_clock::now();
  if (now - last < between) return;
  last = now;
  const Acquired acquired;
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

}  // namespace

Released::Released() : state_(PyEval_SaveThread()), polled_(&check_signals) {}
Released::~Released() {
  take_lock([&] { PyEval_RestoreThread(state_); });
}

Acquired::Acquired() : state_(take_lock([] { return PyGILState_Ensure(); })) {}
Acquired::~Acquired() { PyGILState_Release(state_); }

void pass_python_on() {
  try {
    throw;
  } catch (const nanobind::python_error&) {
    throw;
  } catch (...) {  // the caller's
  }
}

Deeper::Deeper() {
  if (Py_EnterRecursiveCall(" in binade") != 0) throw nanobind::python_error();
}

}  // namespace binade::python
