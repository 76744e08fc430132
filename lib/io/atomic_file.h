// SPDX-License-Identifier: Apache-2.0
//
// An output file that appears whole or not at all: it is written in its folder without a name (under a temporary
// one where the system knows no other way) and put in its place by commit(). Without commit(), as when an exception
// passes or the program is killed, nothing remains.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace binade {

class AtomicFile {
 public:
  /// Error if the folder is missing or not writable. A symbolic link is followed; a pipe or a
  /// device
  /// (/dev/stdout) cannot be replaced and is written straight away.
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Unbuffered: hand over large pieces.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void commit();

 private:
  [[noreturn]] void fail(int error) const;
  std::string unused_name() const;
  bool open_nameless();
  void give_name();
  void discard();

  std::string path_;
  std::string target_;  // path_ with symbolic links resolved
  std::string
      temporary_;  // empty if the target is written in place, while nameless, and after the rename
  bool nameless_ = false;  // so that a killed program leaves nothing
  int descriptor_ = -1;
};

/// Where a chain of symbolic links ends, whether that exists or not; empty for a loop.
std::string link_target(const std::string& path);

/// A whole file at once.
void write_file(const std::string& path, std::string_view text);

}  // namespace binade
