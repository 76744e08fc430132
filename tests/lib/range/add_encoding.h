// SPDX-License-Identifier: Apache-2.0
//
// Adds any number of equal values of any format to a summary, one term at a time and without the
// kernels. Tests compare summaries of arrays with summaries that are made so, and make summaries
// whose counts are larger than those of any array.
#pragma once

#include <cstdint>
#include <utility>

#include "lib/range/summary.h"

namespace binade::test {

/// Adds `count` equal values, given by their encoding in `format`.
inline void add_encoding(RangeSummary& summary, std::uint64_t bits, const Format& format,
                         std::uint64_t count) {
  const Fields x = fields_of(bits, format);
  const Kind kind = kind_of(x, format);
  summary.values += count;
  summary.negative += x.negative && kind != Kind::nan ? count : 0;
  switch (kind) {
    case Kind::nan: summary.nan += count; return;
    case Kind::infinite: summary.inf += count; return;
    case Kind::zero: summary.zeros += count; return;
    case Kind::finite: break;
  }
  const Placed p = place(x, format);
  const auto comes_before = [](const Placed& a, const Placed& b) {
    return std::pair(a.exponent, a.significand) < std::pair(b.exponent, b.significand);
  };
  const bool first = summary.smallest.significand == 0;
  if (first || comes_before(p, summary.smallest)) summary.smallest = p;
  if (first || comes_before(summary.largest, p)) summary.largest = p;
  BinadeRow& row = summary.binades[p.exponent];
  const auto segment = static_cast<std::size_t>(segment_of(p.significand));
  row.count[segment] += count;
  row.sum[segment] += static_cast<uint128>(p.significand) * count;
  row.squares.add_product(static_cast<uint128>(p.significand) * p.significand, count);
  for (std::size_t c = 0; c < summary.columns.size(); ++c) {
    const std::uint64_t error =
        error_rule(summary.columns[c], p.exponent, summary_fraction_bits + 1).error(p.significand);
    summary.squared_error[c].add_product(static_cast<uint128>(error) * error, count,
                                         2 * (p.exponent - summary_fraction_bits));
  }
}

}  // namespace binade::test
