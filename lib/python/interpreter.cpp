// SPDX-License-Identifier: Apache-2.0
//
// Takes the interpreter's lock, also if the interpreter is ending, and lets it handle signals.
#include "lib/python/interpreter.h"

#include <cxxabi.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "lib/text/error.h"

namespace binade::python {
namespace {

/// The thread that ends the interpreter, from then on.
std::atomic<std::thread::id> ending_thread;

/// Stops a thread for ever if another one ends the interpreter, whose parts may be gone by the time
/// they were asked for.
void stay_if_ended() {
  const std::thread::id ending = ending_thread;
  if (ending == std::thread::id() || ending == std::this_thread::get_id()) return;
  for (;;) pause();
}

/// Before 3.14 CPython ends a daemon thread that wants the lock while the interpreter ends, by
/// unwinding it, which no destructor survives: whatever takes the lock, Python code too, is called
/// here. Since then it hangs there for good, as it does here.
template <class Taking>
auto stay_at_end(const Taking& taking) {
  try {
    return taking();
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
  stay_if_ended();
  stay_at_end([&] { PyEval_RestoreThread(state_); });
}

Acquired::Acquired()
    : state_(stay_at_end([] {
        stay_if_ended();
        return PyGILState_Ensure();
      })) {}
Acquired::~Acquired() { PyGILState_Release(state_); }

void watch_for_end() {
  const auto told = nanobind::cpp_function([] { ending_thread = std::this_thread::get_id(); });
  nanobind::module_::import_("atexit").attr("register")(told);
}

nanobind::object called_back(nanobind::handle function, const nanobind::tuple& arguments) {
  PyObject* const given =
      stay_at_end([&] { return PyObject_Call(function.ptr(), arguments.ptr(), nullptr); });
  if (given == nullptr) throw nanobind::python_error();
  return nanobind::steal(given);
}

nanobind::object imported(const char* module) {
  PyObject* const found = stay_at_end([&] { return PyImport_ImportModule(module); });
  if (found == nullptr) throw nanobind::python_error();
  return nanobind::steal(found);
}

void pass_python_on() {
  try {
    throw;
  } catch (const nanobind::python_error&) {
    throw;
  } catch (...) {  // the caller's
  }
}

void Occupied::check(const char* object) const {
  if (by == nullptr) return;
  throw Error(std::string(object) + ": another thread is inside; one thread at a time");
}

Inside::Inside(Occupied& place, const char* object) : place_(place), object_(object) {
  come_back();
}
Inside::~Inside() {
  if (place_.by == this) place_.by = nullptr;
}

void Inside::come_back() {
  place_.check(object_);
  place_.by = this;
}

Deeper::Deeper() {
  if (Py_EnterRecursiveCall(" in binade") != 0) throw nanobind::python_error();
}

}  // namespace binade::python
