// SPDX-License-Identifier: Apache-2.0
//
// fsync of files and folders.
#include "lib/io/synced.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <vector>

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

int make_synced_folders(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failed;
  std::vector<std::string> missing;
  for (fs::path at = fs::absolute(path, failed); !fs::exists(at, failed); at = at.parent_path()) {
    if (at.has_filename()) missing.push_back(at.string());
    if (at == at.parent_path()) break;
  }
  fs::create_directories(path, failed);
  if (failed) return failed.value();
  for (const std::string& one : missing) {
    if (const int error = sync_folder_of(one)) return error;
  }
  return 0;
}

}  // namespace binade
