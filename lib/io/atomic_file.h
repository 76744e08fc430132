// SPDX-License-Identifier: Apache-2.0
//
// An output file that appears whole or not at all. It is written in its folder as a file without a
// name (or under a temporary name, where the file system or /proc allows no such file) and gets its
// name in commit(). Without commit(), as when an exception passes or the program is killed, nothing
// remains.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace binade {

class AtomicFile {
 public:
  /// Opens the file for writing. Throws Error if the folder is missing or not writable. A symbolic
  /// link is followed. A pipe or a device (/dev/stdout) cannot be replaced, so it is written to
  /// directly.
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Writes without a buffer, so callers should pass large pieces. Throws Error if a write fails.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Puts the file in its place, with the permissions of the file that it replaces.
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
/// empty path if the links form a loop.
std::string link_target(const std::string& path);

/// Writes a whole file at once.
void write_file(const std::string& path, std::string_view text);

}  // namespace binade
