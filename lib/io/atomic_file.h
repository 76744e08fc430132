// SPDX-License-Identifier: Apache-2.0
//
// An output file that appears whole or not at all. It is written in its folder as a file without a
// name (or under a temporary name, where the file system or /proc allows no such file) and gets its
// name in commit(). Without commit(), as when an exception passes, nothing remains. A program that
// is killed leaves nothing either, unless the file has a temporary name: then that file,
// .binade-NUMBER-NUMBER.tmp, stays. After a loss of power, too, the file is whole or what was there
// before.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace binade {

class AtomicFile {
 public:
  /// Opens the file for writing. Throws FileError if the folder is missing or not writable, if the
  /// path is that of a folder or empty, or if its links form a loop. A symbolic link is followed. A
  /// pipe or a device (/dev/stdout) cannot be replaced, so it is written to directly, and what was
  /// written stays.
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Writes without a buffer, so callers should pass large pieces. Throws Error if a write fails.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Puts the file in its place, with the permissions of the file that it replaces, if there is
  /// one. When it returns, file and name are on the disk, as far as the file system can promise
  /// that. Throws Error if that fails. Nothing may be written afterwards.
  void commit();

 private:
  [[noreturn]] void fail(int error) const;
  std::string unused_name() const;
  bool open_nameless();
  void give_name();
  void discard();

  std::string path_;
  std::string target_;  // path_ with symbolic links resolved
  /// Empty if the target is written directly, while the file has no name, and after the rename.
  std::string temporary_;
  bool nameless_ = false;  // a file without a name vanishes if the program is killed
  int descriptor_ = -1;
};

/// Returns the path at the end of a chain of symbolic links, whether a file exists there or not; an
/// empty path if there are 40 links or more, as in a loop.
std::string link_target(const std::string& path);

/// Writes a whole file at once. Throws Error as AtomicFile does.
void write_file(const std::string& path, std::string_view text);

}  // namespace binade
