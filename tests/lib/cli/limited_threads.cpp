// SPDX-License-Identifier: Apache-2.0
//
// A pthread_create() in place of the C library's, for LD_PRELOAD: beside the first thread no more
// live at a time than THREADS_AT_MOST says.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>

namespace {

std::atomic<long> living = 0;

struct Routine {
  void* (*run)(void*);
  void* argument;
};

void* run_and_leave(void* routine) {
  const Routine own = *std::unique_ptr<Routine>(static_cast<Routine*>(routine));
  void* const result = own.run(own.argument);
  --living;
  return result;
}

}  // namespace

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the C library's have underscores
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*run)(void*), void* argument) noexcept {
  static const auto real =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  static const long most = std::atol(std::getenv("THREADS_AT_MOST"));
  if (++living > most) {
    --living;
    return EAGAIN;
  }
  return real(thread, attributes, &run_and_leave, new Routine{run, argument});
}
