// SPDX-License-Identifier: Apache-2.0
//
// Writes to a file without a name, or under a temporary one in the target's folder, and then
// renames it.
#include "lib/io/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "lib/io/synced.h"
#include "lib/text/error.h"

namespace binade {

namespace fs = std::filesystem;

std::string link_target(const std::string& path) {
  std::error_code ignored;
  fs::path at = path;
  for (int links = 0; links < 40; ++links) {
    if (!fs::is_symlink(fs::symlink_status(at, ignored))) return at.string();
    at = at.parent_path() / fs::read_symlink(at, ignored);
  }
  return "";
}

AtomicFile::AtomicFile(const std::string& path) : path_(path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::is_directory(status) || fs::path(path).filename().empty()) fail(EISDIR);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    descriptor_ = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail(errno);
    return;
  }
  target_ = link_target(path);
  if (target_.empty()) fail(ELOOP);
  if (open_nameless()) return;
  do {
    temporary_ = unused_name();
    descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) {
    temporary_.clear();
    fail(errno);
  }
}

AtomicFile::~AtomicFile() { discard(); }

std::string AtomicFile::unused_name() const {
  static std::atomic<unsigned> serial = 0;
  const std::string name =
      ".binade-" + std::to_string(getpid()) + "-" + std::to_string(serial++) + ".tmp";
  return (fs::path(target_).parent_path() / name).string();
}

/// Opens a file without a name; returns false if the file system or /proc does not allow that.
bool AtomicFile::open_nameless() {
  const fs::path folder = fs::path(target_).parent_path();
  descriptor_ = open(folder.empty() ? "." : folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (descriptor_ < 0) return false;
  const std::string own = "/proc/self/fd/" + std::to_string(descriptor_);
  nameless_ = access(own.c_str(), F_OK) == 0;
  if (!nameless_) close(descriptor_);
  return nameless_;
}

void AtomicFile::give_name() {
  const std::string own = "/proc/self/fd/" + std::to_string(descriptor_);
  std::string name;
  int failed = 0;
  do {
    name = unused_name();
    failed = linkat(AT_FDCWD, own.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW);
  } while (failed != 0 && errno == EEXIST);
  if (failed != 0) fail(errno);
  temporary_ = name;
}

void AtomicFile::discard() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
  descriptor_ = -1;
  temporary_.clear();
}

void AtomicFile::fail(int error) const {
  throw file_error(path_, std::string("cannot be written: ") + std::strerror(error),
                   "name a file in a folder that exists, is writable and has room");
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void AtomicFile::commit() {
  struct stat old {};
  if (!target_.empty() && stat(target_.c_str(), &old) == 0 && S_ISREG(old.st_mode)) {
    (void)fchmod(descriptor_, old.st_mode & 0777);  // as private as the replaced file
  }
  // Without the first wait, a loss of power could leave the name with less than the whole file;
  // without the second, the old file, though commit() has returned.
  const bool in_place = target_.empty();
  if (const int failed = in_place ? 0 : sync_descriptor(descriptor_)) fail(failed);
  if (nameless_) give_name();
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (close(descriptor) != 0) fail(errno);
  if (temporary_.empty()) return;
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  temporary_.clear();
  if (const int failed = sync_folder_of(target_)) {
    throw file_error(
        path_, std::string("written, but its folder cannot be synced: ") + std::strerror(failed),
        "a loss of power may still undo it");
  }
}

void write_file(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace binade
