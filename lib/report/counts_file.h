// SPDX-License-Identifier: Apache-2.0
//
// Files of counts: the name and version of a format, then integers and texts (counts_bytes.h), then FNV-1a of all that,
// 64 bits. Integers only, so that counts of several processes add up to what one counts. What is in them: part_file.h,
// run_file.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "lib/io/atomic_file.h"
#include "lib/io/input_file.h"
#include "lib/report/counts_bytes.h"

namespace binade {

/// FNV-1a of bytes that come in pieces.
class CountsHash {
 public:
  void add(std::string_view bytes);
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

class CountsWriter {
 public:
  CountsWriter(const CountsKind& kind, const std::string& path);
  void number(std::uint64_t x);
  void text(std::string_view x);
  /// The checksum; then the file is in its place.
  void commit();

 private:
  void add(std::string_view bytes);
  void flush();

  AtomicFile file_;
  std::string buffer_;
  CountsHash hash_;
};

/// Reads one from its beginning to its end. Error, with the file's name, for what is none.
class CountsReader {
 public:
  CountsReader(const CountsKind& kind, std::shared_ptr<const InputFile> file);

  const std::string& path() const { return file_->path(); }
  std::uint64_t bytes_read() const { return at_; }
  std::uint64_t size() const { return file_->size(); }

  std::uint64_t number();
  std::string text();
  /// How many of something there are, of `size` bytes or more each.
  std::uint64_t count(std::uint64_t size);
  /// Error unless everything has been read and the checksum is right.
  void finish();

  /// Of a text that was read, to be taken apart.
  CountsBytesReader reader_of(std::string_view text) const { return {text, kind_, path()}; }
  [[noreturn]] void refuse(const std::string& why) const { refuse_counts(kind_, path(), why); }

 private:
  void take(std::size_t size, std::string& out);

  const CountsKind& kind_;
  std::shared_ptr<const InputFile> file_;
  std::uint64_t at_ = 0;    ///< of what has been taken
  std::uint64_t read_ = 0;  ///< of what is in the buffer, and before
  std::string buffer_;
  CountsHash hash_;
};

}  // namespace binade
