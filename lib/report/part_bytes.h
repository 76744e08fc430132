// SPDX-License-Identifier: Apache-2.0
//
// What a part of a report begins with, as bytes: the options and the inputs, which all parts of one report have alike.
// Integers are of 64 bits, little-endian; a text is its length and its bytes.
//
//   options   headroom, bits of target_loss (binary64), prefer (0: s_max), formats' names, scales_log2, dtype's name
//             (empty: none), texts of role rules; a list is its length and its elements
//   inputs    of each file its path, its bytes, the loss scale it says, and of each tensor name, dtype, shape, and whether it is in Fortran's order
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "lib/report/format_report.h"
#include "lib/report/report_builder.h"

namespace binade {

/// Error of a part's file.
[[noreturn]] void refuse_part(const std::string& path, const std::string& why);

class PartBytes {
 public:
  void number(std::uint64_t x);
  void number(int x) { number(static_cast<std::uint64_t>(static_cast<std::int64_t>(x))); }
  void text(std::string_view x);
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Reads them; Error, of the part's file, where they are none.
class PartBytesReader {
 public:
  PartBytesReader(std::string_view bytes, std::string path)
      : rest_(bytes), path_(std::move(path)) {}

  std::uint64_t number();
  /// From `low` to `high`.
  int number(int low, int high, const char* what);
  std::string_view text();
  /// Of a list whose elements have `size` bytes or more.
  std::size_t count(std::size_t size);
  bool at_end() const { return rest_.empty(); }
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  std::string_view rest_;
  std::string path_;
};

std::string options_bytes(const ReportOptions& options);
ReportOptions options_from(PartBytesReader from);

std::string inputs_bytes(const TensorFiles& files);
TensorFiles inputs_from(PartBytesReader from);

/// An exact sum: the first limb that is not zero, the number of limbs up to the last, and these.
void add_sum(PartBytes& to, const ExactSum& sum);
ExactSum sum_from(PartBytesReader& from);

}  // namespace binade
