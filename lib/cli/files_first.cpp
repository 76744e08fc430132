// SPDX-License-Identifier: Apache-2.0
//
// What files threw waits until the text is out.
#include "lib/cli/files_first.h"

#include <cstdio>
#include <exception>

#include "lib/text/error.h"

namespace binade {

void files_first(const std::function<void()>& write, const std::function<void()>& print) {
  std::exception_ptr failure;
  try {
    write();
  } catch (const Error&) {
    failure = std::current_exception();
  }
  print();
  std::fflush(stdout);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace binade
