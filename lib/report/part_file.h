// SPDX-License-Identifier: Apache-2.0
//
// A part of a report as a file: what one process of several has counted. Integers only, so that parts add up to what one
// process counts.
//
//   "binade.part/1\n\0\0"                       16 bytes: name and version of the format
//   binade's version, options, inputs           a text each: its length, its bytes (part_bytes.h)
//   part, parts                                 which part it is, from 1, and of how many
//   number of tensors, and for each             in rising order of the inputs' floating tensors
//     its number, summary                       from 0; a text (lib/range/summary_bytes.h)
//   number of updates, and for each             in the order of the inputs' pairs of weight and update
//     its number, its counts                    from 0; a text
//   FNV-1a of all that, 64 bits
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/atomic_file.h"
#include "lib/io/input_file.h"
#include "lib/report/update_ratio.h"

namespace binade {

/// Which part of how many; parts count from 1.
struct PartOf {
  std::uint64_t part = 1, parts = 1;
};
inline constexpr std::uint64_t most_parts = 65536;

/// FNV-1a of bytes that come in pieces.
class PartHash {
 public:
  void add(std::string_view bytes);
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

class PartWriter {
 public:
  explicit PartWriter(const std::string& path);
  void number(std::uint64_t x);
  void text(std::string_view x);
  /// The checksum; then the file is in its place.
  void commit();

 private:
  void add(std::string_view bytes);
  void flush();

  AtomicFile file_;
  std::string buffer_;
  PartHash hash_;
};

/// Reads a part from its beginning to its end. Error, with the file's name, for what is none.
class PartReader {
 public:
  explicit PartReader(const std::string& path);

  const std::string& path() const { return file_.path(); }
  std::uint64_t bytes_read() const { return at_; }
  std::uint64_t size() const { return file_.size(); }

  std::uint64_t number();
  std::string text();
  /// How many of something there are, of `size` bytes or more each.
  std::uint64_t count(std::uint64_t size);
  /// Error unless everything has been read and the checksum is right.
  void finish();

 private:
  void take(std::size_t size, std::string& out);

  InputFile file_;
  std::uint64_t at_ = 0;    ///< of what has been taken
  std::uint64_t read_ = 0;  ///< of what is in the buffer, and before
  std::string buffer_;
  PartHash hash_;
};

std::string update_bytes(const UpdateCounts& counts);
/// Error, with the path, for what no `values` pairs of elements have.
UpdateCounts update_from(std::string_view bytes, const std::string& path, std::uint64_t values);

}  // namespace binade
