// SPDX-License-Identifier: Apache-2.0
//
// The program: what it does is run_program, which the Python module has too. Beside it stands what
// a program alone may decide: how it ends where no handler of an exception is reached.
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <new>

#include "lib/cli/command.h"
#include "lib/program.h"

namespace {

/// Returns whether the exception that nobody caught says that there is no memory.
bool is_out_of_memory() {
  try {
    if (std::current_exception()) throw;
  } catch (const std::bad_alloc&) {
    return true;
  } catch (...) {  // the default handler says what it is
  }
  return false;
}

/// Ends the program as run_program() does without memory. An exception gets here from the making of
/// a static object (headers of packages define some) and from functions that are noexcept (a JSON
/// value's destructor allocates).
[[noreturn]] void terminate() {
  if (!is_out_of_memory()) __gnu_cxx::__verbose_terminate_handler();
  std::fprintf(stderr, "binade: %s\n", binade::out_of_memory);
  _exit(binade::exit_bad_input);
}

/// Made before all other static objects of the program.
struct TerminateHandler {
  TerminateHandler() { std::set_terminate(&terminate); }
};
[[gnu::init_priority(101)]] const TerminateHandler terminate_handler;

}  // namespace

int main(int argc, char** argv) { return binade::run_program(argc, argv); }
