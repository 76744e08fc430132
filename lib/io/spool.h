// SPDX-License-Identifier: Apache-2.0
//
// Text that must wait until the text before it is known. It is kept in memory while it has at most
// 2^20 bytes, else in a temporary file without a name.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace binade {

/// A function that takes text piece by piece.
using TextSink = std::function<void(std::string_view)>;

/// Collects text and gives it back later. The file vanishes with the object.
class Spool {
 public:
  /// `folder` is where the temporary file is made, ideally on the file system where the text will
  /// end up; if empty, it is the system's folder for temporary files.
  explicit Spool(std::string folder = "") : folder_(std::move(folder)) {}
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  /// Appends text. Throws Error if the temporary file cannot be written.
  void add(std::string_view text);
  bool empty() const { return buffer_.empty() && descriptor_ < 0; }

  /// Calls `sink` with all of the text, in order and in pieces; does not call it if there is none.
  /// This may be done several times. Throws Error if the temporary file cannot be read.
  void copy_to(const TextSink& sink) const;

 private:
  void flush();
  [[noreturn]] void fail(int error) const;

  std::string folder_;
  std::string buffer_;
  int descriptor_ = -1;
};

}  // namespace binade
