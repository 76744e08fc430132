// SPDX-License-Identifier: Apache-2.0
//
// The dynamic loader knows which library holds a function.
#include "lib/io/own_folder.h"

#include <dlfcn.h>
#include <sys/auxv.h>

#include <system_error>

namespace binade {
namespace {

/// For the program itself the loader knows only the name it was called by, so /proc/self/exe is
/// read instead, or where there is no /proc, as in an empty chroot, the path that the kernel
/// started.
std::filesystem::path own_file() {
  Dl_info here{};
  Dl_info program{};
  const bool in_library =
      dladdr(reinterpret_cast<const void*>(&own_folder), &here) != 0 &&
      dladdr(reinterpret_cast<const void*>(getauxval(AT_ENTRY)), &program) != 0 &&
      here.dli_fbase != program.dli_fbase;
  std::error_code unseen;
  if (in_library) return std::filesystem::canonical(here.dli_fname, unseen);
  std::filesystem::path file = std::filesystem::read_symlink("/proc/self/exe", unseen);
  const auto* const called = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (!file.empty() || called == nullptr) return file;
  return std::filesystem::canonical(called, unseen);
}

}  // namespace

std::filesystem::path own_folder() {
  static const std::filesystem::path file = own_file();
  return file.empty() ? file : file.parent_path();
}

}  // namespace binade
