// SPDX-License-Identifier: Apache-2.0
//
// Fills and merges range summaries.
#include "lib/range/summary.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "lib/range/fate.h"
#include "lib/text/error.h"

namespace binade {
namespace {

bool is_smaller(const Placed& a, const Placed& b) {
  return a.exponent != b.exponent ? a.exponent < b.exponent : a.significand < b.significand;
}

void extend(RangeSummary& summary, const Placed& low, const Placed& high) {
  if (low.significand == 0) return;
  const bool first = summary.smallest.significand == 0;
  if (first || is_smaller(low, summary.smallest)) summary.smallest = low;
  if (first || is_smaller(summary.largest, high)) summary.largest = high;
}

}  // namespace

std::uint64_t BinadeRow::total() const {
  return std::accumulate(count.begin(), count.end(), std::uint64_t{0});
}

RangeSummary empty_summary(const std::vector<ErrorColumn>& columns) {
  RangeSummary out;
  out.columns = columns;
  out.squared_error.resize(columns.size());
  return out;
}

void merge(RangeSummary& a, const RangeSummary& b) {
  if (a.columns != b.columns || a.squared_error.size() != b.squared_error.size()) {
    throw Error("summaries whose columns of squared errors differ; merge those counted alike");
  }
  a.values += b.values;
  a.zeros += b.zeros;
  a.nan += b.nan;
  a.inf += b.inf;
  a.negative += b.negative;
  extend(a, b.smallest, b.largest);
  std::size_t place = 0;
  for (const auto& [exponent, from] : b.binades) {
    BinadeRow& to = a.binades.row_from(place, exponent);
    for (std::size_t s = 0; s < segments; ++s) {
      to.count[s] += from.count[s];
      to.sum[s] += from.sum[s];
    }
    to.squares += from.squares;
  }
  for (std::size_t c = 0; c < a.squared_error.size(); ++c) a.squared_error[c] += b.squared_error[c];
}

RangeSummary scaled(const RangeSummary& summary, int log2) {
  const std::string what = "values times 2^" + std::to_string(log2) + ": ";
  const auto check = [&](int x, std::int64_t by, int lowest, int highest, const char* of) {
    const std::int64_t moved = x + by;
    if (moved >= lowest && moved <= highest) return;
    throw Error(what + of + " 2^" + std::to_string(moved) + "; a summary has those from 2^" +
                std::to_string(lowest) + " to 2^" + std::to_string(highest));
  };
  RangeSummary out = summary;
  if (!summary.binades.empty()) {
    for (Placed* const end : {&out.smallest, &out.largest}) {
      check(end->exponent, log2, binary64.quantum_exponent(), binary64.emax(), "a binade");
      end->exponent += log2;
    }
  }
  out.binades.shift(log2);
  for (std::size_t c = 0; c < out.columns.size(); ++c) {
    int& scale = out.columns[c].scale_log2;
    check(scale, -std::int64_t{log2}, lowest_scale_log2, highest_scale_log2,
          "squared errors at scale");
    scale -= log2;
    out.squared_error[c] = shifted_right(out.squared_error[c], -2 * log2);
  }
  return out;
}

template <std::floating_point T>
void add_block(RangeSummary& summary, const RangeBlock<T>& block, std::uint64_t values) {
  using Block = RangeBlock<T>;
  constexpr int unit = summary_fraction_bits - Block::format.fraction_bits();
  summary.values += values;
  summary.zeros += block.zeros;
  summary.nan += block.nan;
  summary.inf += block.inf;
  summary.negative += block.negative;
  if (block.largest != 0) {
    extend(summary, place(fields_of(block.smallest, Block::format), Block::format),
           place(fields_of(block.largest, Block::format), Block::format));
  }
  const auto used = block.used_rows();
  const auto holds_values = [](const typename Block::Row& row) { return row.squares != 0; };
  summary.binades.reserve(summary.binades.size() +
                          static_cast<std::size_t>(std::ranges::count_if(used, holds_values)));
  int exponent = Block::lowest + static_cast<int>(block.first_row()) - 1;
  std::size_t place = 0;
  for (const typename Block::Row& from : used) {
    ++exponent;
    if (!holds_values(from)) continue;
    BinadeRow& to = summary.binades.row_from(place, exponent);
    for (std::size_t s = 0; s < segments; ++s) {
      to.count[s] += from.count[s];
      to.sum[s] += static_cast<uint128>(from.sum[s]) << unit;
    }
    to.squares.add_product(from.squares, std::uint64_t{1} << (2 * unit));
    for (std::size_t c = 0; c < summary.columns.size(); ++c) {
      summary.squared_error[c].add(from.squared_error[c],
                                   2 * (exponent - Block::format.fraction_bits()));
    }
  }
}

template void add_block(RangeSummary&, const RangeBlock<float>&, std::uint64_t);
template void add_block(RangeSummary&, const RangeBlock<double>&, std::uint64_t);

double value_of(const Placed& x) {
  return std::ldexp(static_cast<double>(x.significand), x.exponent - summary_fraction_bits);
}

}  // namespace binade
