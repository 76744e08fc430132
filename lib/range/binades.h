// SPDX-License-Identifier: Apache-2.0
//
// The rows of a range summary, one per binade, contiguous in memory. There are few, mostly of
// consecutive exponents, and they are iterated over far more often than searched.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "emulate/range_count.h"
#include "lib/number/square_sum.h"

namespace binade {

/// Fraction bits of a significand, which is kept as the integer m in [2^52, 2^53).
inline constexpr int summary_fraction_bits = 52;

/// The counts of the values of one binade, |x| = m·2^(exponent - 52) with m in [2^52, 2^53), by
/// segment of m (emulate/range_count.h). The sign is dropped.
struct BinadeRow {
  std::array<std::uint64_t, segments> count{};
  std::array<uint128, segments> sum{};  ///< sum of m
  SquareSum squares;                    ///< sum of m², over all segments

  std::uint64_t total() const;
  friend bool operator==(const BinadeRow&, const BinadeRow&) = default;
};

/// Rows by ascending exponent, with the interface of a map.
class Binades {
 public:
  using Rows = std::vector<std::pair<int, BinadeRow>>;

  auto begin() const { return rows_.begin(); }
  auto end() const { return rows_.end(); }
  auto rbegin() const { return rows_.rbegin(); }
  auto rend() const { return rows_.rend(); }
  bool empty() const { return rows_.empty(); }
  std::size_t size() const { return rows_.size(); }
  void reserve(std::size_t rows) { rows_.reserve(rows); }

  /// Returns the first row whose exponent is `exponent` or above.
  Rows::const_iterator lower_bound(int exponent) const {
    return std::ranges::lower_bound(rows_, exponent, {}, &Rows::value_type::first);
  }
  Rows::const_iterator find(int exponent) const {
    const auto at = lower_bound(exponent);
    return at != end() && at->first == exponent ? at : end();
  }
  const BinadeRow& at(int exponent) const {
    assert(find(exponent) != end());
    return find(exponent)->second;
  }

  /// Returns the row of an exponent; an empty row is inserted if there is none.
  BinadeRow& operator[](int exponent) {
    auto place = static_cast<std::size_t>(lower_bound(exponent) - rows_.begin());
    return row_from(place, exponent);
  }
  /// Does the same, searching from the index `place` upwards, which must not be behind the row's.
  /// Sets `place` to the row's index.
  BinadeRow& row_from(std::size_t& place, int exponent) {
    while (place < rows_.size() && rows_[place].first < exponent) ++place;
    if (place == rows_.size()) {
      rows_.emplace_back().first = exponent;
    } else if (rows_[place].first != exponent) {
      rows_.insert(rows_.begin() + static_cast<std::ptrdiff_t>(place), {exponent, BinadeRow{}});
    }
    return rows_[place].second;
  }

  /// Adds `by` to all exponents.
  void shift(int by) {
    for (auto& [exponent, row] : rows_) exponent += by;
  }

  friend bool operator==(const Binades&, const Binades&) = default;

 private:
  Rows rows_;
};

}  // namespace binade
