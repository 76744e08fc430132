// SPDX-License-Identifier: Apache-2.0
//
// fsync of files and folders.
#include "lib/io/synced.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace binade {

int sync_descriptor(int descriptor) {
  while (fsync(descriptor) != 0) {
    if (errno == EINTR) continue;
    const bool cannot = errno == EINVAL || errno == ENOTSUP || errno == ENOSYS;
    return cannot ? 0 : errno;
  }
  return 0;
}

int sync_folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const int descriptor =
      open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return errno == EACCES ? 0 : errno;
  const int failed = sync_descriptor(descriptor);
  close(descriptor);
  return failed;
}

}  // namespace binade
