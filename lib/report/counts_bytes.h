// SPDX-License-Identifier: Apache-2.0
//
// How files of counts (counts_file.h) store things as bytes. An integer has 64 bits, little-endian.
// A text is its length and its bytes; a list is its length and its elements. An exact sum is the
// index of its first limb that is not zero, the number of limbs from there to the last one that is
// not, and these limbs; the sum 0 is ExactSum::size and 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "lib/format/dtype.h"
#include "lib/range/update_counts.h"

namespace binade {

/// A kind of file of counts, and the words that messages use for it.
struct CountsKind {
  std::string_view magic;        ///< name and version of the format: the first bytes
  std::string_view any_version;  ///< the name without the version
  std::string_view noun;         ///< what messages call such a file
  /// What to do about a file that is not of this kind, and about a damaged one.
  std::string_view where_from, again;
};

/// Throws FileError with `why` and kind.again, for a damaged file.
[[noreturn]] void refuse_counts(const CountsKind& kind, const std::string& path,
                                const std::string& why);

/// Writes integers, texts and exact sums into a string of bytes.
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

/// Reads integers, texts and exact sums from bytes. Every read throws FileError, which names the
/// file, if the bytes are damaged. Bytes and kind must outlive the reader.
class CountsBytesReader {
 public:
  CountsBytesReader(std::string_view bytes, const CountsKind& kind, std::string path)
      : rest_(bytes), kind_(kind), path_(std::move(path)) {}

  std::uint64_t number();
  /// Returns an integer from `low` to `high`; `what` names it in the message.
  int number(int low, int high, const char* what);
  std::string_view text();
  /// Returns the length of a list whose elements have `size` bytes or more.
  std::size_t count(std::size_t size);
  ExactSum sum();
  bool at_end() const { return rest_.empty(); }
  [[noreturn]] void refuse(const std::string& why) const { refuse_counts(kind_, path_, why); }

 private:
  std::string_view rest_;
  const CountsKind& kind_;
  std::string path_;
};

/// Reads the name of a dtype.
Dtype dtype_from(CountsBytesReader& from);
/// Reads the name of a format, which must be one that reports have.
NamedFormat report_format_from(CountsBytesReader& from);

/// Returns the counts as bytes, for update_from(). They end with those of HeldUpdates, in its
/// order, if any update was asked for.
std::string update_bytes(const UpdateCounts& counts);
/// Reads the counts from all bytes that are left. Throws Error for counts that break an inequality
/// which holds for every weight and update.
UpdateCounts update_from(CountsBytesReader from);

}  // namespace binade
