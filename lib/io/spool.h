// SPDX-License-Identifier: Apache-2.0
//
// Text that has to wait until what comes before it is known: in memory while it is short, else in a file without a name.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace binade {

/// Takes text piece by piece.
using TextSink = std::function<void(std::string_view)>;

class Spool {
 public:
  /// `folder`: where the file is, as near to where the text will end up; empty: that of temporary files.
  explicit Spool(std::string folder = "") : folder_(std::move(folder)) {}
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  /// Error where the file cannot be written.
  void add(std::string_view text);
  bool empty() const { return buffer_.empty() && descriptor_ < 0; }

  /// All of it, in order; as often as wanted.
  void copy_to(const TextSink& sink) const;

 private:
  void flush();
  [[noreturn]] void fail(int error) const;

  std::string folder_;
  std::string buffer_;
  int descriptor_ = -1;
};

}  // namespace binade
