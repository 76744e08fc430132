// SPDX-License-Identifier: Apache-2.0
//
// A row of A and a column of B become integers times one power of two each, if their numbers lie
// close enough to one another; their sum of products is then an integer of 128 bits. Other elements
// are added up in a SignedSum, which covers all exponents.
#include "lib/gemm/exact_gemm.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "emulate/carrier.h"
#include "lib/number/decimal.h"
#include "lib/number/signed_sum.h"
#include "lib/parallel/parallel.h"

namespace binade {
namespace {

__extension__ typedef __int128 int128;

constexpr int bits_of_sum = 127;

uint128 magnitude_of(int128 x) { return static_cast<uint128>(x < 0 ? -x : x); }

/// A row or a column: its numbers are integer · 2^exponent with |integer| < 2^width.
struct Line {
  int exponent = 0, width = 0;
  bool fits = true;      ///< whether the integers have at most 62 bits; if not, they are not set
  bool special = false;  ///< whether an infinity or a NaN is among the numbers
};

Line line_of(std::span<const float> x, std::int64_t* integers) {
  // over all numbers: exponent of the lowest bit, and one above that of the highest
  int low = 0, high = 0;
  bool any = false;
  Line out;
  for (const float value : x) {
    const Exact e = exact_of(value);
    if (e.kind == Kind::infinite || e.kind == Kind::nan) out.special = true;
    if (e.kind != Kind::finite) continue;
    const auto significand = static_cast<std::uint64_t>(e.significand);
    const int least = e.exponent + std::countr_zero(significand);
    const int above = e.exponent + bit_width(significand);
    low = any ? std::min(low, least) : least;
    high = any ? std::max(high, above) : above;
    any = true;
  }
  out.exponent = low;
  out.width = high - low;
  out.fits = !out.special && out.width <= 62;
  if (!out.fits) return out;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Exact e = exact_of(x[i]);
    const int up = e.exponent - low;
    const auto significand = static_cast<std::int64_t>(e.significand);
    const std::int64_t magnitude = up >= 0 ? significand << up : significand >> -up;
    integers[i] = e.kind == Kind::zero ? 0 : e.negative ? -magnitude : magnitude;
  }
  return out;
}

void add(SignedSum& sum, const Exact& x, const Exact& y) {
  if (x.kind == Kind::zero || y.kind == Kind::zero) return;
  sum.add(x.negative != y.negative, x.significand * y.significand, x.exponent + y.exponent);
}

Exact exact_of(const SignedSum& x) {
  Natural words;
  int unit = 0;
  x.pieces([&](std::uint64_t value, int exponent) {
    if (words.empty()) unit = exponent;
    words.resize(static_cast<std::size_t>(exponent - unit) / 32, 0);
    words.push_back(static_cast<std::uint32_t>(value));
    words.push_back(static_cast<std::uint32_t>(value >> 32));
  });
  while (!words.empty() && words.back() == 0) words.pop_back();
  if (words.empty()) return {};
  return to_exact({std::move(words), unit, 0}, x.is_negative());
}

/// Returns an infinity or a NaN unchanged, and a finite number's sign as -1, 0 or 1: beside an
/// infinity its magnitude does not matter.
double beside_infinity(double x) {
  if (!std::isfinite(x)) return x;
  return x == 0 ? 0 : std::copysign(1.0, x);
}

class ExactElements {
 public:
  explicit ExactElements(const ExactGemm& x)
      : x_(x),
        adds_(x.alpha == 1 && (x.c == nullptr || x.beta == 1)),
        finite_(std::isfinite(x.alpha) && (x.c == nullptr || std::isfinite(x.beta))) {}

  float operator()(std::size_t i, std::size_t j, const Line& row, const std::int64_t* left,
                   const Line& column, const std::int64_t* right) const {
    const float c = x_.c == nullptr ? 0 : x_.c[i * x_.c_row + j * x_.c_column];
    if (!row.fits || !column.fits || row.width + column.width + bit_width(x_.k) >= bits_of_sum) {
      SignedSum wide;
      const double special = add_terms(i, j, row.special || column.special, wide);
      return with_epilogue(wide, special, c);
    }
    int128 sum = 0;
    for (std::size_t p = 0; p < x_.k; ++p) sum += static_cast<int128>(left[p]) * right[p];
    const int exponent = row.exponent + column.exponent;
    if (adds_ && std::isfinite(c)) {
      const std::optional<Exact> whole = with_addend(sum, exponent, c);
      if (whole) return rounded(*whole);
    }
    SignedSum wide;
    wide.add(sum < 0, magnitude_of(sum), exponent);
    return with_epilogue(wide, 0, c);
  }

 private:
  /// Returns sum · 2^exponent + c, or nothing if 127 bits do not hold it.
  static std::optional<Exact> with_addend(int128 sum, int exponent, float c) {
    const Exact addend = binade::exact_of(c);
    if (addend.kind == Kind::finite) {
      const auto significand = static_cast<std::uint64_t>(addend.significand);
      const uint128 magnitude = magnitude_of(sum);
      const int up = addend.exponent - exponent;
      const int bits = up >= 0 ? bit_width(significand) + up : bit_width(magnitude) - up;
      if (bits >= bits_of_sum || bit_width(magnitude) >= bits_of_sum) return std::nullopt;
      int128 shifted = significand;
      if (up >= 0) {
        shifted <<= up;
      } else {
        sum *= int128{1} << -up;
        exponent = addend.exponent;
      }
      sum += addend.negative ? -shifted : shifted;
    }
    if (sum == 0) return Exact{};
    return Exact{.kind = Kind::finite,
                 .negative = sum < 0,
                 .exponent = exponent,
                 .significand = magnitude_of(sum)};
  }

  /// Adds the finite products of element (i, j) to `sum`. Returns the sum of the other products, an
  /// infinity or a NaN, or 0 if there are none.
  double add_terms(std::size_t i, std::size_t j, bool any_special, SignedSum& sum) const {
    double special = 0;
    const float *a = x_.a.data() + i * x_.k, *b = x_.b.data() + j * x_.k;
    for (std::size_t p = 0; p < x_.k; ++p) {
      if (any_special && !(std::isfinite(a[p]) && std::isfinite(b[p]))) {
        special += static_cast<double>(a[p]) * b[p];
      } else {
        add(sum, binade::exact_of(a[p]), binade::exact_of(b[p]));
      }
    }
    return special;
  }

  /// Returns the rounded element. `special` is the sum of the products that are not finite, or 0.
  float with_epilogue(const SignedSum& sum, double special, float c) const {
    if (special == 0 && finite_ && std::isfinite(c))
      return rounded(exact_of(scaled_and_added(sum, c)));
    if (special == 0 && !sum.is_zero()) special = sum.is_negative() ? -1 : 1;
    const double addend = x_.c == nullptr ? 0 : beside_infinity(x_.beta) * beside_infinity(c);
    return static_cast<float>(beside_infinity(x_.alpha) * special + addend);
  }

  SignedSum scaled_and_added(const SignedSum& sum, float c) const {
    const Exact alpha = binade::exact_of(x_.alpha);
    SignedSum out = alpha.kind == Kind::zero
                        ? SignedSum{}
                        : sum.times(alpha.negative, static_cast<std::uint64_t>(alpha.significand),
                                    alpha.exponent);
    if (x_.c != nullptr) add(out, binade::exact_of(x_.beta), binade::exact_of(c));
    return out;
  }

  float rounded(const Exact& x) const {
    const auto bits = project(x, binary32, {.rounding = x_.rounding}).bits;
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  }

  const ExactGemm& x_;
  bool adds_;    ///< whether alpha is 1, and beta too if there is a C
  bool finite_;  ///< whether alpha is finite, and beta too if there is a C
};

}  // namespace

void exact_gemm(const ExactGemm& x, std::span<float> d) {
  const ExactElements element(x);
  std::vector<Line> columns(x.n);
  std::vector<std::int64_t> right(x.n * x.k);
  parallel_for(x.n, 16, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t j = begin; j < end; ++j) {
      columns[j] = line_of(x.b.subspan(j * x.k, x.k), right.data() + j * x.k);
    }
  });
  parallel_for(x.m, 4, [&](std::size_t begin, std::size_t end, std::size_t) {
    std::vector<std::int64_t> left(x.k);
    for (std::size_t i = begin; i < end; ++i) {
      const Line row = line_of(x.a.subspan(i * x.k, x.k), left.data());
      for (std::size_t j = 0; j < x.n; ++j) {
        d[i * x.n + j] = element(i, j, row, left.data(), columns[j], right.data() + j * x.k);
      }
    }
  });
}

}  // namespace binade
