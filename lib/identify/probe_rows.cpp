// SPDX-License-Identifier: Apache-2.0
//
// The kinds of rows. Masks reveal the tree of a sum (FPRev, arXiv 2411.00442): a big number at one
// k and its negative at another absorb whatever is added between them. Ladders have terms near the
// last bit that a fused sum keeps below its largest term; rows near the floor have terms at the
// exponents that no longer count (Khattak and Mikaitis, arXiv 2512.07004). Cancellation makes the
// rest of roundings visible.
#include "lib/identify/probe_rows.h"

#include <algorithm>

#include "emulate/integer_dot.h"
#include "emulate/project.h"

namespace binade {

int ProbeRows::between(int low, int high) {
  return low + static_cast<int>(random_() % static_cast<std::uint64_t>(high - low + 1));
}

/// Returns a number of either sign; its exponent is clamped to the format's range.
std::uint64_t ProbeRows::number(const Format& f, int exponent, bool power_of_two) {
  const std::uint64_t fraction = power_of_two ? 0 : random_() & f.fraction_mask();
  const bool negative = random_() % 2 == 0;
  const int e = std::clamp(exponent, f.quantum_exponent(), f.emax());
  if (e < f.emin()) {
    const int place = e - f.quantum_exponent();
    const std::uint64_t below = (std::uint64_t{1} << place) - 1;
    return bits_of({negative, 0, (std::uint64_t{1} << place) | (fraction & below)}, f);
  }
  const std::uint64_t largest = f.max_significand() & f.fraction_mask();
  const std::uint64_t fits = e == f.emax() ? std::min(fraction, largest) : fraction;
  return bits_of({negative, static_cast<std::uint64_t>(e + f.bias), fits}, f);
}

std::vector<std::uint64_t> ProbeRows::spread(int low, int high, bool powers_of_two) {
  std::vector<std::uint64_t> out(k_);
  for (std::uint64_t& x : out) {
    const int e = between(low, high);
    x = number(f_, e, powers_of_two);
  }
  return out;
}

/// Returns a row of small numbers of one magnitude with one or two pairs of a big number and its
/// negative among them.
std::vector<std::uint64_t> ProbeRows::masks() {
  const int span = sum_.precision + 2;
  const int top = std::min(f_.emax() - 2, std::max(0, f_.quantum_exponent() + span + 4));
  const int low = std::max(f_.quantum_exponent() + 2, top - span - between(0, 3));
  std::vector<std::uint64_t> out(k_);
  for (std::uint64_t& x : out) x = number(f_, low, true) & ~zero_bits(f_, true);
  const int pairs = between(1, 2);
  for (int n = 0; n < pairs && k_ > 1; ++n) {
    const std::size_t i = random_() % k_;
    const std::size_t j = (i + 1 + random_() % (k_ - 1)) % k_;
    out[i] = number(f_, top, true);
    out[j] = out[i] ^ zero_bits(f_, true);
  }
  return out;
}

/// Returns a row of one or more large terms; the others lie about `keeps` binades below them.
std::vector<std::uint64_t> ProbeRows::ladder() {
  const int keeps = between(10, 30);
  const int top = std::min(f_.emax() - 2, std::max(0, f_.quantum_exponent() + keeps + 4));
  std::vector<std::uint64_t> out = spread(top - keeps - 2, top - keeps + 2, false);
  const std::size_t step = 1 + random_() % 64;
  for (std::size_t i = random_() % k_; i < k_; i += step) out[i] = number(f_, top, false);
  return out;
}

/// Returns a row whose products lie near the smallest numbers of the sum's format.
std::vector<std::uint64_t> ProbeRows::near_floor() {
  const int low = sum_.quantum_exponent() - 12;
  return spread(low, sum_.emin() + 2, random_() % 2 == 0);
}

/// Returns a row of pairs that cancel, at some distance from each other, and a few terms that stay.
std::vector<std::uint64_t> ProbeRows::cancelling() {
  std::vector<std::uint64_t> out = spread(-6, 6, false);
  const std::size_t far = 1 + random_() % std::max<std::size_t>(1, k_ - 1);
  for (std::size_t i = 0; i + far < k_; i += 2 * far) {
    const bool stays = random_() % 8 == 0;
    if (!stays) out[i + far] = out[i] ^ zero_bits(f_, true);
  }
  return out;
}

std::vector<std::uint64_t> ProbeRows::integers() {
  std::vector<std::uint64_t> out(k_);
  for (std::uint64_t& x : out) x = random_() & ((std::uint64_t{1} << f_.bits()) - 1);
  return out;
}

std::vector<std::uint64_t> ProbeRows::row() {
  if (is_integer(f_)) return integers();
  switch (rows_++ % 8) {
    case 0:
    case 4: return masks();
    case 1:
    case 5: return ladder();
    case 2: return cancelling();
    case 3: return spread(-8, 8, false);
    case 6: return near_floor();
    default: return spread(-1, 0, false);
  }
}

std::vector<std::uint64_t> ProbeRows::column() {
  if (is_integer(f_)) return integers();
  switch (columns_++ % 8) {
    case 0: {
      const auto one = static_cast<std::uint64_t>(f_.bias);
      return std::vector<std::uint64_t>(k_, bits_of({false, one, 0}, f_));
    }
    case 1: return spread(0, 0, true);
    case 2: return spread(0, 0, false);
    case 3: return spread(-2, 2, true);
    case 4: return spread(f_.emin() - 2, f_.emin() + 2, false);
    case 5: return spread(-1, 0, false);
    case 6: return spread(-8, 8, false);
    default: return spread(0, 1, false);
  }
}

std::uint64_t ProbeRows::addend(const Format& f) {
  if (is_integer(f)) return random_() & ((std::uint64_t{1} << f.bits()) - 1);
  const bool zero = random_() % 4 == 0;
  const int e = between(-12, 6);
  return zero ? zero_bits(f, false) : number(f, e, false);
}

}  // namespace binade
