// SPDX-License-Identifier: Apache-2.0
//
// exp, log, tanh, erf and rsqrt of every float against the correctly rounded result, found by code
// that shares none with emulate/. In tails where a function is constant it comes from an interval
// (the functions are monotone, and MPFR rounds both ends to one float); else from the C library's
// long double, if the values up to 2^-48 of it to either side round to one float (its errors are
// some 2^-62); else from MPFR, with more bits until the rounding is certain. No argument is left
// out. `--slice N` tests every N-th pattern, at another offset in each block of 2^16, the tails'
// ends and the hardest arguments. `--threads N`.
#include "emulate/functions.h"

#include <mpfr.h>

#include <cfloat>
#include <cmath>
#include <map>

#include "tests/outside/patterns.h"

namespace {

using namespace binade;

static_assert(LDBL_MANT_DIG >= 64, "the wider computation needs a wider type");

constexpr std::uint64_t chunk = std::uint64_t{1} << 16;
constexpr std::uint64_t chunks = (std::uint64_t{1} << 32) / chunk;
constexpr std::uint32_t sign = 0x80000000;
constexpr std::uint32_t infinity = 0x7F800000;
constexpr std::uint32_t quiet_nan = 0x7FC00000;

float float_of(std::uint64_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}
std::uint32_t bits_of_float(float x) { return std::bit_cast<std::uint32_t>(x); }

/// An interval of patterns, from first to last, that all give `result`.
struct Tail {
  std::uint32_t first, last, result;
};

/// The result of a single pattern that IEEE 754-2019 9.2 defines exactly.
struct Special {
  std::uint32_t pattern, result;
};

struct Function {
  const char* name;
  float (*ours)(float);
  long double (*wide)(long double);
  int (*mpfr)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
  bool is_odd;        ///< whether results of negative arguments are those of positive ones, negated
  bool has_negative;  ///< whether negative arguments have results; else they give NaN
  std::vector<Special> specials;
  std::vector<Tail> tails;
  std::vector<std::uint32_t> hard;  ///< arguments nearest to a rounding boundary
};

const std::array<Function, 5>& functions() {
  static const std::array<Function, 5> all{{
      {"exp",
       &rounded_exp,
       &std::exp,
       &mpfr_exp,
       false,
       true,
       {{infinity, infinity}, {sign | infinity, 0}},
       // The tails begin at 88.72284 and -104, and reach to 2^-26 on both sides of 0.
       {{0x42B17218, infinity - 1, infinity},
        {0xC2D00000, (sign | infinity) - 1, 0},
        {0, 0x32800000, 0x3F800000},
        {sign, sign | 0x32800000, 0x3F800000}},
       {0xC16912CD, 0xBBF0EDF1, 0xBAE0E25C, 0xB3000000}},
      {"log",
       &rounded_log,
       &std::log,
       &mpfr_log,
       false,
       false,
       {{0, sign | infinity}, {sign, sign | infinity}, {infinity, infinity}},
       {},
       {0x65D890D3, 0x4C5D65A5, 0x4D604EBE, 0x66A8C860}},
      {"tanh",
       &rounded_tanh,
       &std::tanh,
       &mpfr_tanh,
       true,
       true,
       {{0, 0}, {infinity, 0x3F800000}},
       {{0x41200000, infinity - 1, 0x3F800000}},
       {0x3AC37DE2, 0x3EEE0566, 0x40ACB4D0, 0x3CD41B91}},
      {"erf",
       &rounded_erf,
       &std::erf,
       &mpfr_erf,
       true,
       true,
       {{0, 0}, {infinity, 0x3F800000}},
       {{0x40800000, infinity - 1, 0x3F800000}},
       {0x3940EAD6, 0x39C0057D, 0x36AEA466, 0x358E9D2D}},
      {"rsqrt",
       &rounded_rsqrt,
       [](long double x) { return 1 / std::sqrt(x); },
       &mpfr_rec_sqrt,
       false,
       false,
       {{0, infinity}, {sign, sign | infinity}, {infinity, 0}},
       {},
       {0x013A18E3, 0x0109F038}},
  }};
  return all;
}

/// An MPFR number with its memory.
class Number {
 public:
  explicit Number(mpfr_prec_t bits) { mpfr_init2(value_, bits); }
  ~Number() { mpfr_clear(value_); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  mpfr_ptr get() { return value_; }

 private:
  mpfr_t value_;
};

struct ByMpfr {
  std::uint32_t bits = 0;
  double distance_log2 = 0;  ///< relative, from the nearest midpoint of two floats
};

/// Returns the midpoint between `inner` and the next float away from 0.
double midpoint_beyond(float inner) {
  const float outer = std::nextafter(inner, std::copysign(INFINITY, inner));
  const double end = std::isinf(outer) ? std::copysign(0x1p128, inner) : static_cast<double>(outer);
  return (static_cast<double>(inner) + end) / 2;
}

ByMpfr by_mpfr(const Function& f, std::uint64_t pattern) {
  Number x(24);
  mpfr_set_flt(x.get(), float_of(pattern), MPFR_RNDN);
  for (mpfr_prec_t bits = 128;; bits *= 2) {
    Number low(bits), high(bits), difference(64), boundary(53);
    f.mpfr(low.get(), x.get(), MPFR_RNDD);
    f.mpfr(high.get(), x.get(), MPFR_RNDU);
    const std::uint32_t rounded = bits_of_float(mpfr_get_flt(low.get(), MPFR_RNDN));
    if (rounded != bits_of_float(mpfr_get_flt(high.get(), MPFR_RNDN))) continue;
    mpfr_set_d(boundary.get(), midpoint_beyond(mpfr_get_flt(low.get(), MPFR_RNDZ)), MPFR_RNDN);
    mpfr_sub(difference.get(), low.get(), boundary.get(), MPFR_RNDN);
    mpfr_div(difference.get(), difference.get(), low.get(), MPFR_RNDN);
    return {rounded, std::log2(std::abs(mpfr_get_d(difference.get(), MPFR_RNDN)))};
  }
}

struct Counts {
  std::uint64_t special = 0, mirrored = 0, tail = 0, wide = 0, mpfr = 0, different = 0;
  std::map<double, std::uint64_t> nearest;  ///< the few patterns nearest to a boundary

  std::uint64_t values() const { return special + mirrored + tail + wide + mpfr; }

  void note(double distance_log2, std::uint64_t pattern) {
    // Arguments of rsqrt a factor of four apart are equally near: the smallest stands for all.
    const auto [row, is_new] = nearest.try_emplace(distance_log2, pattern);
    row->second = std::min(row->second, pattern);
    if (nearest.size() > 4) nearest.erase(std::prev(nearest.end()));
  }
  void add(const Counts& other) {
    special += other.special, mirrored += other.mirrored, tail += other.tail;
    wide += other.wide, mpfr += other.mpfr, different += other.different;
    for (const auto& [distance, pattern] : other.nearest) note(distance, pattern);
  }
};

/// Returns the correctly rounded result, and counts by which method it was found.
std::uint32_t expected(const Function& f, std::uint64_t pattern, Counts& counts) {
  const auto bits = static_cast<std::uint32_t>(pattern);
  const float x = float_of(pattern);
  for (const Special& row : f.specials) {
    if (row.pattern == bits) return counts.special += 1, row.result;
  }
  if (std::isnan(x) || (!f.has_negative && std::signbit(x))) {
    return counts.special += 1, quiet_nan;
  }
  if (f.is_odd && std::signbit(x)) {
    return counts.mirrored += 1, sign ^ bits_of_float(f.ours(-x));
  }
  for (const Tail& tail : f.tails) {
    if (bits >= tail.first && bits <= tail.last) return counts.tail += 1, tail.result;
  }
  const long double y = f.wide(static_cast<long double>(x));
  const auto low = static_cast<float>(y - y * 0x1p-48L);
  const auto high = static_cast<float>(y + y * 0x1p-48L);
  if (low == high) return counts.wide += 1, bits_of_float(low);
  const ByMpfr certain = by_mpfr(f, pattern);
  counts.mpfr += 1;
  counts.note(certain.distance_log2, pattern);
  return certain.bits;
}

void compare(const Function& f, std::uint64_t pattern, Counts& counts) {
  const std::uint32_t want = expected(f, pattern, counts);
  const std::uint32_t got = bits_of_float(f.ours(float_of(pattern)));
  if (want == got) return;
  if (counts.different++ == 0) {
    std::printf("  %s(0x%08llX): %08X, right is %08X\n", f.name,
                static_cast<unsigned long long>(pattern), got, want);
  }
}

/// Returns whether MPFR gives the tails' results at both ends of each tail. An end at a special
/// value is replaced by its neighbour.
bool tails_hold(const Function& f) {
  bool hold = true;
  for (const Tail& tail : f.tails) {
    for (const std::uint32_t end : {tail.first, tail.last}) {
      hold = hold && by_mpfr(f, end).bits == tail.result;
    }
  }
  return hold;
}

/// Returns whether the function is correctly rounded for all patterns of the slice.
bool judge(const Function& f, const outside::Options& options) {
  Counts total;
  std::mutex mutex;
  outside::in_parallel(options.threads, chunks, [&](std::uint64_t k) {
    Counts counts;
    const std::uint64_t offset = k * 40503 % options.slice;  // another in each block
    for (std::uint64_t x = k * chunk + offset; x < (k + 1) * chunk; x += options.slice) {
      compare(f, x, counts);
    }
    mpfr_free_cache();
    const std::scoped_lock lock(mutex);
    total.add(counts);
  });
  const std::uint64_t sliced = total.values();
  for (const Tail& tail : f.tails) {
    for (const std::uint32_t x : {tail.first - 1, tail.first, tail.last, tail.last + 1}) {
      compare(f, x, total);
    }
  }
  for (const Special& row : f.specials) compare(f, row.pattern, total);
  for (const std::uint32_t x : f.hard) compare(f, x, total);
  const bool tails = tails_hold(f);
  std::printf(
      "%-6s %10llu values: %llu special, %llu mirrored, %llu in %zu tails%s, %llu by long double, "
      "%llu by MPFR; %llu different\n",
      f.name, static_cast<unsigned long long>(total.values()),
      static_cast<unsigned long long>(total.special),
      static_cast<unsigned long long>(total.mirrored), static_cast<unsigned long long>(total.tail),
      f.tails.size(), tails ? "" : " that do NOT hold", static_cast<unsigned long long>(total.wide),
      static_cast<unsigned long long>(total.mpfr),
      static_cast<unsigned long long>(total.different));
  for (const auto& [distance, pattern] : total.nearest) {
    std::printf("       0x%08llX is 2^%.2f from a boundary\n",
                static_cast<unsigned long long>(pattern), distance);
  }
  std::fflush(stdout);
  // A block of 2^16 holds at least this many patterns of a slice.
  return tails && total.different == 0 && total.wide > 0 && total.mpfr > 0 &&
         sliced >= chunks * (chunk / options.slice);
}

}  // namespace

int main(int argc, char** argv) {
  const outside::Options options = outside::options_of(argc, argv);
  bool good = true;
  for (const Function& f : functions()) good = judge(f, options) && good;
  return good ? 0 : 1;
}
