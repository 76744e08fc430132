// SPDX-License-Identifier: Apache-2.0
//
// Files of counts: the name and version of a format, then integers and texts (counts_bytes.h), then
// a checksum: FNV-1a of all bytes before it, 64 bits. All their numbers are integers, so that the
// counts of several processes add up to what one process counts. part_file.h and run_file.h say
// what is in the files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "lib/io/atomic_file.h"
#include "lib/io/fnv.h"
#include "lib/io/input_file.h"
#include "lib/report/counts_bytes.h"

namespace binade {

/// Writes a file of counts, which appears when commit() is called.
class CountsWriter {
 public:
  CountsWriter(const CountsKind& kind, const std::string& path);
  void number(std::uint64_t x);
  void text(std::string_view x);
  /// Writes the checksum and puts the file in its place.
  void commit();

 private:
  void add(std::string_view bytes);
  void flush();

  AtomicFile file_;
  std::string buffer_;
  Fnv1a hash_;
};

/// Reads a file of counts from beginning to end. Throws Error, which names the file, if it is of
/// another kind or damaged.
class CountsReader {
 public:
  CountsReader(const CountsKind& kind, std::shared_ptr<const InputFile> file);

  const std::string& path() const { return file_->path(); }
  std::uint64_t bytes_read() const { return at_; }
  std::uint64_t size() const { return file_->size(); }

  std::uint64_t number();
  std::string text();
  /// Returns the length of a list whose elements have `size` bytes or more.
  std::uint64_t count(std::uint64_t size);
  /// Throws Error unless everything has been read and the checksum is right.
  void finish();

  /// Returns a reader of the bytes in a text that was read from the file.
  CountsBytesReader reader_of(std::string_view text) const { return {text, kind_, path()}; }
  [[noreturn]] void refuse(const std::string& why) const { refuse_counts(kind_, path(), why); }

 private:
  void take(std::size_t size, std::string& out);

  const CountsKind& kind_;
  std::shared_ptr<const InputFile> file_;
  std::uint64_t at_ = 0;    ///< offset of the next byte to hand out
  std::uint64_t read_ = 0;  ///< offset up to which the file was read into the buffer
  std::string buffer_;
  Fnv1a hash_;
};

}  // namespace binade
