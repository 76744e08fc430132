// SPDX-License-Identifier: Apache-2.0
//
// What every judge of a kernel shares: inputs that are hard to round, arrays at odd places with
// walls around them, and a comparison bit by bit. And faults: kernels that call a level's kernel
// and then flip one bit of what it wrote, so that a judge is seen to notice:
//
//     judge ── a kernel of the table's type ── the level's own kernel
//                     `- the call's fault: first or last element, results or counts
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "emulate/fast/kernels.h"

namespace binade::kernel_test {

using Random = std::mt19937_64;

/// What a judge found. A kernel's results are compared case by case; a case belongs to a kind, such
/// as "binary16, to_odd".
struct Verdict {
  std::uint64_t calls = 0, values = 0;  ///< that were compared
  std::uint64_t different = 0;          ///< cases that differ from the definition
  std::vector<std::string> found;       ///< the first differing case of each kind, in words

  /// Begins the next case, of a kind; `rest` describes it further.
  void begin(std::string kind, std::string rest) {
    kind_ = std::move(kind);
    rest_ = std::move(rest);
    is_counted_ = false;
  }
  /// Compares a call's results with those of the definition, byte by byte.
  template <class Result>
  void compare(std::span<const Result> got, std::span<const Result> want) {
    static_assert(std::is_trivially_copyable_v<Result>);
    require(got.size() == want.size(), "of another size");
    if (got.size() != want.size() || got.empty()) return;
    ++calls;
    values += got.size();
    const auto [found_at, wanted_at] =
        std::ranges::mismatch(std::as_bytes(got), std::as_bytes(want));
    const std::size_t byte = static_cast<std::size_t>(found_at - std::as_bytes(got).begin());
    if (byte == got.size_bytes()) return;
    const std::size_t i = byte / sizeof(Result);
    require(false, "result " + std::to_string(i) + " of " + std::to_string(got.size()) + ": " +
                       hex_of(got[i]) + " for " + hex_of(want[i]));
  }
  /// Counts the case as different, at most once, if `holds` is false; `what` says what was wrong.
  void require(bool holds, const std::string& what) {
    if (holds || is_counted_) return;
    is_counted_ = true;
    ++different;
    const auto is_of_kind = [this](const std::string& told) {
      return told.starts_with(kind_ + ": ");
    };
    if (found.size() >= told_at_most || std::ranges::any_of(found, is_of_kind)) return;
    found.push_back(kind_ + ": " + rest_ + ": " + what);
  }

 private:
  static constexpr std::size_t told_at_most = 24;
  std::string kind_, rest_;
  bool is_counted_ = false;  ///< among the cases that differ

  template <class Result>
  static std::string hex_of(const Result& x) {
    std::string out;
    for (const std::byte byte : std::as_bytes(std::span(&x, 1))) {
      constexpr std::string_view digits = "0123456789ABCDEF";
      out.insert(0, {digits[std::to_integer<std::size_t>(byte >> 4)],
                     digits[std::to_integer<std::size_t>(byte & std::byte{15})]});
    }
    return out;
  }
};

/// One wrong bit, in the call of this number among the kernel's calls that write something.
struct Fault {
  std::uint64_t call = 0;
  bool at_end = false;     ///< in the last element, else in the first
  bool in_counts = false;  ///< in its counts or return value, if it has one; else in its results
};

/// The faults of the kernels that `with_faults` returned last.
struct Faults {
  std::vector<Fault> planted;
  std::uint64_t calls = 0;  ///< calls that wrote something
  /// Whether each call is made in another floating-point environment in turn: the usual one, one
  /// that flushes subnormals, one with another rounding. Then: the number of such calls, and of
  /// those that did not restore the environment.
  bool in_other_environments = false;
  std::uint64_t environments = 0, environments_lost = 0;
};
inline Faults faults;

/// Counts a call that wrote something, and returns its fault; null if it has none.
const Fault* fault_of_call();

/// Sets the next of the other floating-point environments for as long as the object lives, if
/// `faults` says so; the destructor restores the one before.
class OtherEnvironment {
 public:
  OtherEnvironment();
  ~OtherEnvironment();
  OtherEnvironment(const OtherEnvironment&) = delete;
  OtherEnvironment& operator=(const OtherEnvironment&) = delete;

 private:
  std::uint32_t before_ = 0, set_ = 0;
};

/// Calls a kernel in such an environment.
template <class Kernel, class... Arguments>
auto called(Kernel kernel, Arguments&&... arguments) {
  const OtherEnvironment environment;
  return kernel(std::forward<Arguments>(arguments)...);
}

/// Flips a bit of the first or of the last element.
template <class Element>
void turn_bit(Element* elements, std::size_t n, const Fault& fault) {
  const std::size_t bits = 8 * sizeof(Element);
  const std::size_t bit = fault.call * 11 % bits;
  auto* bytes = reinterpret_cast<unsigned char*>(elements + (fault.at_end ? n - 1 : 0));
  bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ 1U << bit % 8);
}

/// Plants the call's fault, if it has one, in n results or in counts.
template <class Result>
void plant(Result* results, std::size_t n, EventCounts* counts = nullptr) {
  const Fault* fault = n == 0 ? nullptr : fault_of_call();
  if (fault == nullptr) return;
  if (fault->in_counts && counts != nullptr) {
    static_assert(sizeof(EventCounts) % sizeof(std::uint64_t) == 0);
    auto* words = reinterpret_cast<std::uint64_t*>(counts);
    return turn_bit(words, sizeof(EventCounts) / sizeof(std::uint64_t), *fault);
  }
  turn_bit(results, n, *fault);
}

/// The level's own kernel, which the one with faults calls.
template <auto entry>
inline std::remove_cvref_t<decltype(Kernels{}.*entry)> behind{};

/// Returns a level's kernels with one entry replaced by `with`.
template <auto entry, auto with>
Kernels with_faults(const Kernels& kernels) {
  behind<entry> = kernels.*entry;
  Kernels out = kernels;
  out.*entry = with;
  return out;
}

/// How many values or encodings a timed call counts.
constexpr std::size_t timed_values = std::size_t{1} << 16;

/// A call whose time is measured, on n elements (or multiply-adds).
struct Work {
  std::string what;  ///< "binary16", "add, binary16"
  std::size_t n = 0;
  void (*run)(const Kernels& kernels, std::size_t variant) = nullptr;
  std::size_t variant = 0;
};

/// An entry of the table, or a group that only makes sense together.
struct Entry {
  std::string_view name;
  /// Tells whether a level's own row has the entry.
  bool (*has)(const Kernels& own);
  /// Tells whether two rows have the same pointer.
  bool (*same)(const Kernels& a, const Kernels& b);
  /// Compares every call of a level's kernel with the definition's.
  Verdict (*judge)(const Kernels& kernels);
  /// Gives a level's kernels, with `faults` in this one.
  Kernels (*with_faults)(const Kernels& kernels);
  std::vector<Work> works;
  /// The reason why the portable level may be less than three times as fast as the reference; empty
  /// if it may not.
  std::string_view bound;
  /// Tells whether a row's kernel is judged as another entry.
  bool (*is_judged_elsewhere)(const Kernels& own) = [](const Kernels&) { return false; };
};

template <auto entry>
bool has_entry(const Kernels& own) {
  return own.*entry != nullptr;
}
template <auto entry>
bool same_entry(const Kernels& a, const Kernels& b) {
  return a.*entry == b.*entry;
}

std::vector<Entry> array_entries();        // arrays.cpp
std::vector<Entry> elementwise_entries();  // elementwise.cpp
std::vector<Entry> block_entries();        // blocks.cpp
std::vector<Entry> counting_entries();     // counting.cpp
std::vector<Entry> histogram_entries();    // histograms.cpp
std::vector<Entry> nonfinite_entries();    // nonfinite.cpp
std::vector<Entry> product_entries();      // products.cpp
std::vector<Entry> sum_entries();          // sums.cpp

/// Lengths of arrays, around those of vectors and tiles.
inline constexpr std::array<std::size_t, 16> lengths{0,  1,  2,   3,   4,   5,   7,   15,
                                                     31, 33, 127, 128, 129, 257, 384, 1003};

/// Numbers of streams and of first elements: 0 and the next ones, and both sides of the places
/// where words of Philox's counter end, at odd distances.
constexpr std::uint64_t two_to(int k) { return std::uint64_t{1} << k; }
inline constexpr std::array<std::uint64_t, 19> starts{0,
                                                      1,
                                                      2,
                                                      3,
                                                      6,
                                                      two_to(32) - 2,
                                                      two_to(34) - 77,
                                                      two_to(34) - 2,
                                                      two_to(34) + 1,
                                                      two_to(40) - 130,
                                                      two_to(40) + 3,
                                                      two_to(42) - 1,
                                                      two_to(42) + 5,
                                                      two_to(63) - 513,
                                                      two_to(63) - 3,
                                                      two_to(63) + 2,
                                                      two_to(63) + two_to(40) + 7,
                                                      ~std::uint64_t{0} - 2001,
                                                      ~std::uint64_t{0} - 100};

/// Returns the named formats, and formats of users on both sides of every limit of what the tiled
/// kernels know.
const std::vector<Format>& tried_formats();

/// Whether NaNs and infinities are among numbers.
enum class With : std::uint8_t { numbers, specials };

/// Returns n numbers that are hard to round to f: near the ends of its range, ties, subnormals,
/// near the carrier's own ends, NaNs with payloads, and random bits. Without With::specials, a NaN
/// or an infinity is replaced by 1.
template <std::floating_point T>
std::vector<T> hard_numbers(const Format& f, std::size_t n, std::uint64_t seed, With with);

/// A copy of n values that begins `offset` elements after an aligned place, between two walls of 64
/// bytes or more that a kernel must not write to:
///
///     A5 A5 … A5 | offset | n values | A5 … A5     `is_whole` says that every byte outside the values is still A5
template <class T>
class Walled {
 public:
  Walled(std::size_t n, std::size_t offset) : offset_(wall + offset), n_(n) {
    bytes_.resize((n + offset + 2 * wall) * sizeof(T), 0xA5);
  }
  Walled(std::span<const T> values, std::size_t offset) : Walled(values.size(), offset) {
    if (!values.empty()) std::memcpy(data(), values.data(), values.size_bytes());
  }
  T* data() { return reinterpret_cast<T*>(bytes_.data()) + offset_; }
  std::span<T> span() { return {data(), n_}; }
  bool is_whole() const {
    const std::size_t begin = offset_ * sizeof(T), end = begin + n_ * sizeof(T);
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      if ((i < begin || i >= end) && bytes_[i] != 0xA5) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t wall = 64 / sizeof(T) < 1 ? 1 : 64 / sizeof(T);
  std::vector<unsigned char> bytes_;
  std::size_t offset_, n_;
};

/// Returns a format in words: "binary16", "e5m10 bias 15, nan_only, unsigned, 3 bits of padding".
std::string words_of(const Format& f);
/// Returns attributes in words: "finite, ftz".
std::string words_of(const Attributes& a);

}  // namespace binade::kernel_test
