// SPDX-License-Identifier: Apache-2.0
//
// A malloc() in place of the C library's, for LD_PRELOAD: after as many calls as FAIL_AFTER says it
// has no more memory.
#include <dlfcn.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the C library's is called __size
extern "C" void* malloc(std::size_t size) {
  static const auto real_malloc =
      reinterpret_cast<void* (*)(std::size_t)>(dlsym(RTLD_NEXT, "malloc"));
  static long left = std::atol(std::getenv("FAIL_AFTER"));
  if (left-- > 0) return real_malloc(size);
  left = 0;
  errno = ENOMEM;
  return nullptr;
}
