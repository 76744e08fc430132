// SPDX-License-Identifier: Apache-2.0
//
// The rows of a range summary by binade, side by side in memory: few, mostly consecutive, and walked far more often than
// found.
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

inline constexpr int summary_fraction_bits = 52;  ///< of a significand that is summed

/// The values of one binade, x = m·2^(exponent - 52) with m in [2^52, 2^53), by segments of m.
struct BinadeRow {
  std::array<std::uint64_t, segments> count{};
  std::array<uint128, segments> sum{};  ///< of m
  SquareSum squares;                    ///< of m, over all segments

  std::uint64_t total() const;
  friend bool operator==(const BinadeRow&, const BinadeRow&) = default;
};

/// Rows by exponent, ascending, as a map has them.
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

  /// The first at `exponent` or above.
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

  /// Its row, empty if it had none.
  BinadeRow& operator[](int exponent) {
    auto place = static_cast<std::size_t>(lower_bound(exponent) - rows_.begin());
    return row_from(place, exponent);
  }
  /// The same; `place` is at or below its place, and becomes that.
  BinadeRow& row_from(std::size_t& place, int exponent) {
    while (place < rows_.size() && rows_[place].first < exponent) ++place;
    if (place == rows_.size()) {
      rows_.emplace_back().first = exponent;
    } else if (rows_[place].first != exponent) {
      rows_.insert(rows_.begin() + static_cast<std::ptrdiff_t>(place), {exponent, BinadeRow{}});
    }
    return rows_[place].second;
  }

  /// All exponents higher by that.
  void shift(int by) {
    for (auto& [exponent, row] : rows_) exponent += by;
  }

  friend bool operator==(const Binades&, const Binades&) = default;

 private:
  Rows rows_;
};

}  // namespace binade
