// SPDX-License-Identifier: Apache-2.0
//
// Writes a summary field by field and reads it the same way; what was read is checked against the
// inequalities that every summary of real values fulfils.
#include "lib/range/summary_bytes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "lib/range/fate.h"
#include "lib/text/error.h"

namespace binade {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view summary_magic = "binade.range/1\n\0"sv;
constexpr std::string_view any_summary_version = "binade.range/"sv;
constexpr std::size_t bytes_of_format_name = 16;

std::uint64_t fnv1a(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte b : bytes) hash = (hash ^ std::to_integer<std::uint64_t>(b)) * 0x100000001b3;
  return hash;
}

class SummaryWriter {
 public:
  void text(std::string_view x, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      bytes_.push_back(static_cast<std::byte>(i < x.size() ? x[i] : '\0'));
    }
  }
  void number(std::uint64_t x) {
    for (int shift = 0; shift < 64; shift += 8)
      bytes_.push_back(static_cast<std::byte>(x >> shift));
  }
  void number(int x) { number(static_cast<std::uint64_t>(static_cast<std::int64_t>(x))); }
  void number(uint128 x) {
    number(static_cast<std::uint64_t>(x));
    number(static_cast<std::uint64_t>(x >> 64));
  }
  void numbers(std::span<const std::uint64_t> all) {
    for (const std::uint64_t x : all) number(x);
  }
  std::vector<std::byte> finished() && {
    number(fnv1a(bytes_));
    return std::move(bytes_);
  }

 private:
  std::vector<std::byte> bytes_;
};

[[noreturn]] void refuse_summary(const std::string& why) {
  throw Error("the bytes of a RangeSummary: " + why + "; give what to_bytes() gave, unchanged");
}

class SummaryReader {
 public:
  explicit SummaryReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  std::string_view text(std::size_t size) {
    const auto part = take(size);
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }
  std::uint64_t number() {
    const auto part = take(8);
    std::uint64_t out = 0;
    for (std::size_t i = 8; i-- > 0;) out = out << 8 | std::to_integer<std::uint64_t>(part[i]);
    return out;
  }
  uint128 wide_number() {
    const std::uint64_t low = number();
    return static_cast<uint128>(number()) << 64 | low;
  }
  /// Returns an integer from -bound to bound.
  int signed_number(int bound, const char* what) {
    const auto x = static_cast<std::int64_t>(number());
    if (x < -bound || x > bound) refuse_summary(std::string("no such ") + what);
    return static_cast<int>(x);
  }
  /// Returns the length of a list: at most `most` things, of at least `size` bytes each.
  std::size_t count(std::size_t most, std::size_t size, const char* what) {
    const std::uint64_t n = number();
    if (n > most || n > rest_.size() / size) {
      refuse_summary(std::string("more ") + what + " than there can be");
    }
    return static_cast<std::size_t>(n);
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::span<const std::byte> take(std::size_t size) {
    if (rest_.size() < size) refuse_summary("cut off");
    const auto out = rest_.first(size);
    rest_ = rest_.subspan(size);
    return out;
  }

  std::span<const std::byte> rest_;
};

constexpr int largest_exponent = 1100;  ///< binades of binary64 go from -1074 to 1023

Placed read_placed(SummaryReader& from) {
  Placed out;
  out.exponent = from.signed_number(largest_exponent, "exponent");
  out.significand = from.number();
  return out;
}

ErrorColumn read_column(SummaryReader& from) {
  std::string_view name = from.text(bytes_of_format_name);
  const std::size_t end = std::min(name.find('\0'), name.size());
  if (name.substr(end).find_first_not_of('\0') != std::string_view::npos) {
    refuse_summary("a format's name with zeros inside");
  }
  name = name.substr(0, end);
  const auto* row = std::ranges::find(report_formats, name, &NamedFormat::name);
  if (row == report_formats.end()) refuse_summary("a format '" + printable(name) + "'");
  const int scale = from.signed_number(highest_scale_log2, "scale");
  if (scale < lowest_scale_log2) refuse_summary("no such scale");
  return {row->format, scale};
}

ExactSum read_sum(SummaryReader& from) {
  ExactSum out;
  const std::size_t first = from.count(ExactSum::size, 1, "limbs");
  const std::size_t n = from.count(ExactSum::size - first, 8, "limbs");
  for (std::size_t i = first; i < first + n; ++i) out.limbs[i] = from.number();
  const bool is_short =
      n == 0 ? first == 0 : out.limbs[first] != 0 && out.limbs[first + n - 1] != 0;
  if (!is_short) refuse_summary("a sum whose first or last limb is zero");
  return out;
}

BinadeRow read_row(SummaryReader& from) {
  BinadeRow row;
  for (std::uint64_t& x : row.count) x = from.number();
  for (uint128& x : row.sum) x = from.wide_number();
  for (std::uint64_t& x : row.squares.limbs) x = from.number();
  return row;
}

/// The least significand of each segment, and after the last segment its end.
std::array<std::uint64_t, segments + 1> segment_ends() {
  constexpr std::uint64_t unit = std::uint64_t{1} << summary_fraction_bits;
  return {unit,
          unit + 1,
          unit + 3 * (unit / 4),
          unit + 13 * (unit / 16) + 1,
          unit + 7 * (unit / 8),
          2 * unit - (unit >> 7),
          2 * unit - (unit >> 8),
          2 * unit - (unit >> 10),
          2 * unit - (unit >> 11),
          2 * unit};
}

/// Returns the product of two integers, limbs lowest first.
template <std::size_t m, std::size_t n>
std::array<std::uint64_t, m + n> product(const std::array<std::uint64_t, m>& a,
                                         const std::array<std::uint64_t, n>& b) {
  std::array<std::uint64_t, m + n> out{};
  for (std::size_t i = 0; i < m; ++i) {
    std::uint64_t carry = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const uint128 sum = static_cast<uint128>(a[i]) * b[j] + out[i + j] + carry;
      out[i + j] = static_cast<std::uint64_t>(sum);
      carry = static_cast<std::uint64_t>(sum >> 64);
    }
    out[i + n] = carry;
  }
  return out;
}

/// Returns whether a is at most b, both of as many limbs, lowest first.
template <std::size_t n>
bool is_at_most(const std::array<std::uint64_t, n>& a, const std::array<std::uint64_t, n>& b) {
  return !std::lexicographical_compare(b.rbegin(), b.rend(), a.rbegin(), a.rend());
}

/// Returns whether values of a binade may have these counts, sums and squares, as far as
/// inequalities can say.
bool is_possible(const BinadeRow& row) {
  const auto ends = segment_ends();
  std::uint64_t values = 0;
  uint128 sum = 0;
  SquareSum most_squares;
  for (std::size_t s = 0; s < segments; ++s) {
    const uint128 n = row.count[s];
    if (__builtin_add_overflow(values, row.count[s], &values)) return false;
    if (row.sum[s] < n * ends[s] || row.sum[s] > n * (ends[s + 1] - 1)) return false;
    sum += row.sum[s];
    most_squares.add_product(row.sum[s], ends[s + 1] - 1);  // m² <= m·(the largest m)
  }
  const std::array limbs{static_cast<std::uint64_t>(sum), static_cast<std::uint64_t>(sum >> 64)};
  return values > 0 && is_at_most(row.squares.limbs, most_squares.limbs) &&
         is_at_most(product(limbs, limbs), product(row.squares.limbs, std::array{values}));
}

int first_segment(const BinadeRow& row) {
  return static_cast<int>(std::ranges::find_if(row.count, [](auto n) { return n != 0; }) -
                          row.count.begin());
}
int last_segment(const BinadeRow& row) {
  int out = segments - 1;
  while (out > 0 && row.count[static_cast<std::size_t>(out)] == 0) --out;
  return out;
}

bool is_in(const Placed& x, int exponent, int segment) {
  constexpr std::uint64_t unit = std::uint64_t{1} << summary_fraction_bits;
  return x.exponent == exponent && x.significand >= unit && x.significand < 2 * unit &&
         segment_of(x.significand) == segment;
}

/// Throws Error if these figures break an inequality that holds for every set of values.
void check_summary(const RangeSummary& s) {
  std::uint64_t values = 0;
  bool overflow = false;
  const auto add = [&](std::uint64_t n) { overflow |= __builtin_add_overflow(values, n, &values); };
  add(s.zeros);
  add(s.nan);
  add(s.inf);
  for (const auto& [exponent, row] : s.binades) {
    static_cast<void>(exponent);
    if (!is_possible(row)) refuse_summary("sums that no values have");
    add(row.total());
  }
  if (overflow || values != s.values || s.negative > s.values - s.nan) {
    refuse_summary("counts that do not add up");
  }
  const bool fits = s.binades.empty() ? s.smallest == Placed{} && s.largest == Placed{}
                                      : is_in(s.smallest, s.binades.begin()->first,
                                              first_segment(s.binades.begin()->second)) &&
                                            is_in(s.largest, s.binades.rbegin()->first,
                                                  last_segment(s.binades.rbegin()->second)) &&
                                            (s.smallest.exponent < s.largest.exponent ||
                                             s.smallest.significand <= s.largest.significand);
  if (!fits) refuse_summary("a smallest or largest value in no binade");
  const ExactSum squares = norms(s).squares;
  for (std::size_t c = 0; c < s.columns.size(); ++c) {
    if (compare(s.squared_error[c], squares) > 0)
      refuse_summary("squared errors above the squares of the values");
    if (std::ranges::count(s.columns, s.columns[c]) > 1) refuse_summary("a column twice");
  }
}

}  // namespace

std::vector<std::byte> bytes_of(const RangeSummary& summary) {
  SummaryWriter to;
  to.text(summary_magic, summary_magic.size());
  for (const std::uint64_t n :
       {summary.values, summary.zeros, summary.nan, summary.inf, summary.negative}) {
    to.number(n);
  }
  for (const Placed& x : {summary.smallest, summary.largest}) {
    to.number(x.exponent);
    to.number(x.significand);
  }
  to.number(std::uint64_t{summary.columns.size()});
  for (std::size_t c = 0; c < summary.columns.size(); ++c) {
    const ErrorColumn& column = summary.columns[c];
    const auto* row = std::ranges::find(report_formats, column.format, &NamedFormat::format);
    if (row == report_formats.end()) throw Error("a RangeSummary with errors of another format");
    to.text(row->name, bytes_of_format_name);
    to.number(column.scale_log2);
    std::span<const std::uint64_t> limbs(summary.squared_error[c].limbs);
    while (!limbs.empty() && limbs.back() == 0) limbs = limbs.first(limbs.size() - 1);
    const std::size_t n = limbs.size();
    while (!limbs.empty() && limbs.front() == 0) limbs = limbs.subspan(1);
    to.number(std::uint64_t{n - limbs.size()});
    to.number(std::uint64_t{limbs.size()});
    to.numbers(limbs);
  }
  to.number(std::uint64_t{summary.binades.size()});
  for (const auto& [exponent, row] : summary.binades) {
    to.number(exponent);
    to.numbers(row.count);
    for (const uint128& sum : row.sum) to.number(sum);
    to.numbers(row.squares.limbs);
  }
  return std::move(to).finished();
}

RangeSummary summary_from_bytes(std::span<const std::byte> bytes) {
  SummaryReader all(bytes);
  const std::string_view magic = all.text(std::min(bytes.size(), summary_magic.size()));
  if (magic != summary_magic) {
    refuse_summary(magic.starts_with(any_summary_version)
                       ? "of another version of binade, or cut off"
                       : "something else");
  }
  const std::size_t size = bytes.size() < 8 ? 0 : bytes.size() - 8;
  if (size < summary_magic.size()) refuse_summary("cut off");
  if (SummaryReader(bytes.subspan(size)).number() != fnv1a(bytes.first(size))) {
    refuse_summary("damaged or cut off, by their checksum");
  }
  SummaryReader from(bytes.first(size).subspan(summary_magic.size()));
  RangeSummary out;
  for (std::uint64_t* const n : {&out.values, &out.zeros, &out.nan, &out.inf, &out.negative}) {
    *n = from.number();
  }
  out.smallest = read_placed(from);
  out.largest = read_placed(from);
  const std::size_t columns = from.count(max_error_columns, bytes_of_format_name, "columns");
  for (std::size_t c = 0; c < columns; ++c) {
    out.columns.push_back(read_column(from));
    out.squared_error.push_back(read_sum(from));
  }
  constexpr std::size_t bytes_of_row = 8 + 8 * segments + 16 * segments + 24;
  const std::size_t rows = from.count(2 * largest_exponent, bytes_of_row, "binades");
  for (std::size_t i = 0; i < rows; ++i) {
    const int exponent = from.signed_number(largest_exponent, "exponent");
    const bool rises = out.binades.empty() || out.binades.rbegin()->first < exponent;
    if (!rises || exponent < binary64.quantum_exponent() || exponent > binary64.emax()) {
      refuse_summary("binades out of order");
    }
    out.binades[exponent] = read_row(from);
  }
  if (!from.at_end()) refuse_summary("more than a summary");
  check_summary(out);
  return out;
}

}  // namespace binade
