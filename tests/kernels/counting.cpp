// SPDX-License-Identifier: Apache-2.0
//
// The judge of range_count: whole blocks against the definition's, with and without error columns.
#include <memory>

#include "tests/kernels/judge.h"

namespace binade::kernel_test {
namespace {

std::vector<ErrorColumn> columns_of(std::uint64_t i) {
  constexpr std::array<Format, 6> tried{binary16, bfloat16, tf32, e5m2, e4m3, binary32};
  constexpr std::array<std::size_t, 6> counts{0, 5, 1, 4, 7, 16};
  std::vector<ErrorColumn> out;
  for (std::size_t k = 0; k < counts[i % counts.size()]; ++k) {
    const int scale = k < 5 ? 0 : static_cast<int>(i * 37 + k * 11) % 300 - 150;
    out.push_back({tried[k % tried.size()], scale});
  }
  return out;
}

/// A block's numbers in a row.
template <class T>
std::vector<std::uint64_t> words_of(const RangeBlock<T>& block) {
  std::vector<std::uint64_t> out{block.zeros,    block.nan,      block.inf,
                                 block.negative, block.smallest, block.largest};
  const auto add = [&out](uint128 x) {
    out.push_back(static_cast<std::uint64_t>(x));
    out.push_back(static_cast<std::uint64_t>(x >> 64));
  };
  for (const auto& row : block.rows) {
    for (std::size_t s = 0; s < std::size_t{segments}; ++s) {
      out.push_back(row.count[s]);
      add(row.sum[s]);
    }
    add(row.squares);
    for (std::size_t c = 0; c < static_cast<std::size_t>(block.columns); ++c) {
      add(row.squared_error[c]);
    }
  }
  return out;
}

bool is_zero(const fast::RangeCells& work) {
  for (const auto& cell : work.cells) {
    if (cell.count_and_sum != 0 || cell.squares != 0) return false;
  }
  for (const auto& row : work.errors) {
    for (const std::uint64_t x : row) {
      if (x != 0) return false;
    }
  }
  return true;
}

template <std::floating_point T>
std::vector<T> values_of_kind(std::uint64_t kind, std::size_t n) {
  switch (kind % 4) {
    case 0: return hard_numbers<T>(binary16, n, kind + 1);
    case 1: return hard_numbers<T>(e4m3, n, 4 * kind);
    case 2: return hard_numbers<T>(Carrier<T>::format, n, kind + 1);
    default: return std::vector<T>(n, static_cast<T>(1.9999));  // all in one cell
  }
}

template <std::floating_point T, Kernels::RangeCount<T> Kernels::*entry>
Verdict judge_range_count(const Kernels& kernels, const Fault& fault) {
  Verdict verdict(fault);
  const auto got = std::make_unique<RangeBlock<T>>(), want = std::make_unique<RangeBlock<T>>();
  const auto work = std::make_unique<fast::RangeCells>();
  std::vector<std::size_t> sizes(lengths.begin(), lengths.end());
  sizes.push_back(70'001);  // more than a cell holds
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    for (std::uint64_t kind = 0; kind < 4; ++kind) {
      const std::size_t n = sizes[i];
      const std::vector<ErrorColumn> columns = columns_of(i + kind);
      const std::vector<T> in = values_of_kind<T>(kind, n);
      Walled<T> from(in, i % 4);
      got->reset(columns);
      want->reset(columns);
      for (int twice = 0; twice < 2; ++twice) {
        range_count(in.data(), n, *want);
        (kernels.*entry)(from.data(), n, *got, *work);
      }
      const std::string what = std::to_string(n) + " numbers of kind " + std::to_string(kind) +
                               ", " + std::to_string(columns.size()) + " error columns";
      std::vector<std::uint64_t> words = words_of(*got);
      verdict.compare<std::uint64_t>(what, words, words_of(*want));
      verdict.require(is_zero(*work), what + ": left work space that is not zero");
    }
  }
  return verdict;
}

constexpr std::size_t timed_values = std::size_t{1} << 16;

template <std::floating_point T, Kernels::RangeCount<T> Kernels::*entry>
void time_range_count(const Kernels& kernels, std::size_t errors) {
  static const std::vector<T> in = [] {
    Random random(9);
    std::vector<T> out(timed_values);
    for (T& x : out) {
      const std::uint64_t bits =
          random() % 2 << 31 | (87 + random() % 40) << 23 | (random() & 0x7FFFFF);
      x = static_cast<T>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    }
    return out;
  }();
  static const auto work = std::make_unique<fast::RangeCells>();
  static const std::array<std::unique_ptr<RangeBlock<T>>, 2> blocks = [] {
    std::array out{std::make_unique<RangeBlock<T>>(), std::make_unique<RangeBlock<T>>()};
    out[0]->reset({});
    out[1]->reset(columns_of(1));
    return out;
  }();
  (kernels.*entry)(in.data(), in.size(), *blocks[errors], *work);
}

template <auto entry, std::floating_point T>
Entry entry_of(std::string_view name) {
  std::vector<Work> works{{"counts", timed_values, &time_range_count<T, entry>, 0},
                          {"with 5 error columns", timed_values, &time_range_count<T, entry>, 1}};
  return {name,
          &has_entry<entry>,
          &same_entry<entry>,
          &judge_range_count<T, entry>,
          std::move(works),
          "eight comparisons a value, where a byte shuffle would read the segment from a register"};
}

}  // namespace

std::vector<Entry> counting_entries() {
  return {entry_of<&Kernels::range_count_f32, float>("range_count_f32"),
          entry_of<&Kernels::range_count_f64, double>("range_count_f64")};
}

}  // namespace binade::kernel_test
