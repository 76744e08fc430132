// SPDX-License-Identifier: Apache-2.0
//
// Writes field by field and reads the same way; refuses whatever no program has written.
#include "lib/report/counts_bytes.h"

#include <algorithm>
#include <array>

#include "lib/range/fate.h"
#include "lib/text/error.h"

namespace binade {

void refuse_counts(const CountsKind& kind, const std::string& path, const std::string& why) {
  throw file_error(path, why, kind.again);
}

void CountsBytes::number(std::uint64_t x) {
  for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(x >> shift);
}

void CountsBytes::text(std::string_view x) {
  number(std::uint64_t{x.size()});
  bytes_ += x;
}

void CountsBytes::sum(const ExactSum& x) {
  std::size_t first = 0;
  while (first < ExactSum::size && x.limbs[first] == 0) ++first;
  std::size_t end = ExactSum::size;
  while (end > first && x.limbs[end - 1] == 0) --end;
  number(std::uint64_t{first});
  number(std::uint64_t{end - first});
  for (std::size_t i = first; i < end; ++i) number(x.limbs[i]);
}

std::uint64_t CountsBytesReader::number() {
  if (rest_.size() < 8) refuse("damaged or cut off");
  std::uint64_t out = 0;
  for (std::size_t i = 8; i-- > 0;) out = out << 8 | static_cast<unsigned char>(rest_[i]);
  rest_.remove_prefix(8);
  return out;
}

int CountsBytesReader::number(int low, int high, const char* what) {
  const auto x = static_cast<std::int64_t>(number());
  if (x < low || x > high) refuse(std::string("damaged: it has no such ") + what);
  return static_cast<int>(x);
}

std::string_view CountsBytesReader::text() {
  const std::uint64_t size = number();
  if (size > rest_.size()) refuse("damaged or cut off");
  const std::string_view out = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return out;
}

std::size_t CountsBytesReader::count(std::size_t size) {
  const std::uint64_t n = number();
  if (n > rest_.size() / size) refuse("damaged: it announces more than it holds");
  return n;
}

ExactSum CountsBytesReader::sum() {
  constexpr int size = ExactSum::size;
  ExactSum out;
  const int first = number(0, size, "limb");
  const int limbs = number(0, size - first, "number of limbs");
  for (int i = 0; i < limbs; ++i) out.limbs[static_cast<std::size_t>(first + i)] = number();
  return out;
}

Dtype dtype_from(CountsBytesReader& from) {
  const std::optional<Dtype> found = find_dtype(from.text());
  if (!found) from.refuse("damaged: it names a dtype that no file has");
  return *found;
}

NamedFormat report_format_from(CountsBytesReader& from) {
  const auto* const row = std::ranges::find(report_formats, from.text(), &NamedFormat::name);
  if (row == report_formats.end()) from.refuse("damaged: it names a format that no report has");
  return *row;
}

namespace {

/// They follow the other counts where any update was asked for.
constexpr std::array held_counts{&HeldUpdates::asked,      &HeldUpdates::lost,
                                 &HeldUpdates::unknown,    &HeldUpdates::decay_asked,
                                 &HeldUpdates::decay_lost, &HeldUpdates::idle};

bool is_possible(const HeldUpdates& x) {
  std::uint64_t sized = 0;
  const bool sums = std::ranges::all_of(x.lost_by_size, [&sized](std::uint64_t n) {
    return !__builtin_add_overflow(sized, n, &sized);
  });
  return sums && x.lost <= x.asked && x.unknown <= x.lost && x.decay_lost <= x.decay_asked &&
         sized == x.lost - x.unknown;
}

}  // namespace

std::string update_bytes(const UpdateCounts& counts) {
  CountsBytes to;
  for (const std::uint64_t n : {counts.values, counts.updates, counts.below_2_11}) to.number(n);
  to.sum(counts.squares);
  for (const LostUpdates& kept : counts.kept_in) {
    to.number(kept.lost);
    to.number(kept.overflow);
    to.sum(kept.lost_squares);
  }
  if (counts.held.any()) {
    for (const auto count : held_counts) to.number(counts.held.*count);
    for (const std::uint64_t n : counts.held.lost_by_size) to.number(n);
  }
  return to.bytes();
}

UpdateCounts update_from(CountsBytesReader from) {
  UpdateCounts out;
  for (std::uint64_t* const n : {&out.values, &out.updates, &out.below_2_11}) *n = from.number();
  out.squares = from.sum();
  bool fits = out.updates <= out.values && out.below_2_11 <= out.updates &&
              out.squares.is_zero() == (out.updates == 0) && out.squares.limbs.back() == 0;
  for (LostUpdates& kept : out.kept_in) {
    kept.lost = from.number();
    kept.overflow = from.number();
    kept.lost_squares = from.sum();
    fits = fits && kept.lost <= out.updates && kept.overflow <= out.updates - kept.lost &&
           compare(kept.lost_squares, out.squares) <= 0;
  }
  if (!from.at_end()) {
    for (const auto count : held_counts) out.held.*count = from.number();
    for (std::uint64_t& n : out.held.lost_by_size) n = from.number();
    fits = fits && out.held.any() && is_possible(out.held);
  }
  if (!fits || !from.at_end()) from.refuse("damaged: it has counts that no updates have");
  return out;
}

}  // namespace binade
