// SPDX-License-Identifier: Apache-2.0
//
// What every judge of a kernel shares: inputs that hurt, arrays at odd places with walls around them, and a comparison
// bit by bit into which a fault can be planted, so that a judge is seen to fail.
#pragma once

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

/// A fault in what a kernel gives: of the call of this number one bit of one result; none: -1.
struct Fault {
  std::int64_t call = -1;
  std::uint64_t where = 0;  ///< which bit, modulo how many there are
};

/// What a judge found.
class Verdict {
 public:
  explicit Verdict(const Fault& fault = {}) : fault_(fault) {}

  /// A call's results, of which a fault changes one bit, against those of the definition. `what`: of which case.
  template <class Result>
  void compare(const std::string& what, std::span<Result> got, std::span<const Result> want) {
    static_assert(std::is_trivially_copyable_v<Result>);
    const bool is_faulty = static_cast<std::int64_t>(calls_) == fault_.call && !got.empty();
    if (is_faulty) {
      auto* bytes = reinterpret_cast<unsigned char*>(got.data());
      const std::uint64_t bit = fault_.where % (8 * got.size_bytes());
      bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ 1U << bit % 8);
    }
    if (!got.empty()) ++calls_;
    values_ += got.size();
    if (got.size_bytes() == 0) return;
    if (std::memcmp(got.data(), want.data(), got.size_bytes()) == 0) return;
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (std::memcmp(&got[i], &want[i], sizeof(Result)) == 0) continue;
      if (different_++ == 0) {
        first_ = what + ", result " + std::to_string(i) + " of " + std::to_string(got.size());
      }
    }
  }
  /// Something that must hold.
  void require(bool holds, const std::string& what) {
    if (!holds && different_++ == 0) first_ = what;
  }

  std::uint64_t calls() const { return calls_; }
  std::uint64_t values() const { return values_; }
  std::uint64_t different() const { return different_; }
  const std::string& first() const { return first_; }

 private:
  Fault fault_;
  std::uint64_t calls_ = 0, values_ = 0, different_ = 0;
  std::string first_;
};

/// How long a call takes, and on how many elements (or multiply-adds).
struct Work {
  std::string what;  ///< "binary16", "add, binary16"
  std::size_t n = 0;
  void (*run)(const Kernels& kernels, std::size_t variant) = nullptr;
  std::size_t variant = 0;
};

/// An entry of the table, or a group that only makes sense together.
struct Entry {
  std::string_view name;
  /// Whether a row has it.
  bool (*has)(const Kernels& own);
  /// Whether two rows' pointers are one.
  bool (*same)(const Kernels& a, const Kernels& b);
  /// Every call of a level's kernel against the definition's.
  Verdict (*judge)(const Kernels& kernels, const Fault& fault);
  std::vector<Work> works;
  /// Why the portable level may be less than three times as fast as the reference; empty: it may not.
  std::string_view bound;
};

template <auto entry>
bool has_entry(const Kernels& own) {
  return own.*entry != nullptr;
}
template <auto entry>
bool same_entry(const Kernels& a, const Kernels& b) {
  return a.*entry == b.*entry;
}

std::vector<Entry> array_entries();     // arrays.cpp
std::vector<Entry> counting_entries();  // counting.cpp
std::vector<Entry> product_entries();   // products.cpp

/// Lengths around those of vectors and tiles.
inline constexpr std::array<std::size_t, 16> lengths{0,  1,  2,   3,   4,   5,   7,   15,
                                                     31, 33, 127, 128, 129, 257, 384, 1003};

/// Named formats, and users' that lie at the ends of what tiles know.
std::vector<Format> tried_formats();

/// Bits of finite and other numbers: ends of a format's range, ties, subnormals, the carrier's own ends, NaNs with
/// payloads, and random bits; in three quarters of the seeds nothing special.
template <std::floating_point T>
std::vector<T> hard_numbers(const Format& f, std::size_t n, std::uint64_t seed);

/// A copy of values that begins `offset` elements after an aligned place, between walls that nobody may touch.
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

/// "binary16, ties_to_even, finite, ftz".
std::string words_of(const Quantizer& to);

}  // namespace binade::kernel_test
