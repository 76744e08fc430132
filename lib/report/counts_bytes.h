// SPDX-License-Identifier: Apache-2.0
//
// Counts as bytes, in the files that hold them (counts_file.h). Integers are of 64 bits, little-endian; a text is its
// length and its bytes; a list its length and its elements; an exact sum its first limb that is not zero, the number of limbs
// up to the last, and these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "lib/format/dtype.h"
#include "lib/range/update_counts.h"

namespace binade {

/// What a file of counts is, and what is said of one that is none.
struct CountsKind {
  std::string_view magic;        ///< name and version of its format, which it begins with
  std::string_view any_version;  ///< the name alone
  std::string_view noun;
  std::string_view where_from, again;  ///< what to do about one that is none; about a damaged one
};

/// Error of a file that is damaged.
[[noreturn]] void refuse_counts(const CountsKind& kind, const std::string& path,
                                const std::string& why);

class CountsBytes {
 public:
  void number(std::uint64_t x);
  void number(int x) { number(static_cast<std::uint64_t>(static_cast<std::int64_t>(x))); }
  void text(std::string_view x);
  void sum(const ExactSum& x);
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Reads them; Error, of the file, where they are none.
class CountsBytesReader {
 public:
  CountsBytesReader(std::string_view bytes, const CountsKind& kind, std::string path)
      : rest_(bytes), kind_(kind), path_(std::move(path)) {}

  std::uint64_t number();
  /// From `low` to `high`.
  int number(int low, int high, const char* what);
  std::string_view text();
  /// Of a list whose elements have `size` bytes or more.
  std::size_t count(std::size_t size);
  ExactSum sum();
  bool at_end() const { return rest_.empty(); }
  [[noreturn]] void refuse(const std::string& why) const { refuse_counts(kind_, path_, why); }

 private:
  std::string_view rest_;
  const CountsKind& kind_;
  std::string path_;
};

/// A dtype by its name in a file.
Dtype dtype_from(CountsBytesReader& from);
/// A format by its name: one of the report's.
NamedFormat report_format_from(CountsBytesReader& from);

std::string update_bytes(const UpdateCounts& counts);
/// All that is left to read. Error for what no pairs of elements have.
UpdateCounts update_from(CountsBytesReader from);

}  // namespace binade
