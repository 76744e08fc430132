// SPDX-License-Identifier: Apache-2.0
//
// The definition, one element at a time, and an equal computation for arrays of numbers that
// binary32 holds, on their bits: a kernel rounds the weights to h, and u is lost if |u| is less
// than half the distance from h to its neighbour on that side, or equal to it and h is even.
#include "lib/range/update_counts.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>

#include "emulate/arithmetic.h"
#include "emulate/project.h"
#include "emulate/range_count.h"
#include "lib/parallel/parallel.h"

namespace binade {
namespace {

constexpr int update_fraction_bits = 52;  ///< of a Placed: x = m·2^(exponent - 52)

/// Returns whether |u| < 2^-11·|w|, where u is not zero; false if w is zero.
bool is_below_2_11(const Placed& u, const Fields& w, const Format& format) {
  if (kind_of(w, format) == Kind::zero) return false;
  const Placed x = place(w, format);
  return std::tuple(u.exponent, u.significand) < std::tuple(x.exponent - 11, x.significand);
}

/// Returns whether two encodings are the same number, where -0 is 0.
bool same_number(std::uint64_t a, std::uint64_t b, const Format& format) {
  const auto is_zero = [&format](std::uint64_t bits) {
    return kind_of(fields_of(bits, format), format) == Kind::zero;
  };
  return a == b || (is_zero(a) && is_zero(b));
}

constexpr std::size_t part_of_updates = 1024;  ///< elements whose arrays together fit in the cache
constexpr std::size_t update_grain = std::size_t{1} << 14;  ///< elements a thread takes at a time

constexpr int exponent_fields = 256;
constexpr int field_shift = 23;
constexpr std::uint32_t hidden_bit = std::uint32_t{1} << field_shift;
constexpr std::uint32_t magnitude_mask = 0x7fffffff;
constexpr std::uint32_t infinity_bits = 0x7f800000;

/// Sums of m² over numbers m·2^(exponent - 150), one sum per exponent field. A sum over at most
/// 2^16 numbers fits, since m² is below 2^48.
using SquaresByField = std::array<std::uint64_t, exponent_fields>;
static_assert(update_grain <= std::size_t{1} << 16);

constexpr int exponent_of_field(int field) { return std::max(field, 1); }

void add_to_sum(ExactSum& sum, const SquaresByField& squares) {
  for (int field = 0; field < exponent_fields; ++field) {
    const std::uint64_t square = squares[static_cast<std::size_t>(field)];
    if (square != 0) sum.add(square, 2 * (exponent_of_field(field) - 150));
  }
}

/// The distances between numbers h of a format, by the exponent field that h has in binary32.
struct Neighbours {
  /// At [field + 1], half the distance from h to its neighbour away from zero, as bits of binary32.
  /// If h is a power of two, half the distance to its neighbour toward zero is at [field].
  std::array<std::uint32_t, exponent_fields + 1> half_step{};
  /// The bit of h's significand that is set where h is odd.
  std::array<std::uint32_t, exponent_fields> odd{};
};

constexpr Neighbours neighbours_in(const Format& format) {
  Neighbours out;
  const int lowest = format.emin() + 127;  // below it steps stay the same
  for (int field = -1; field < exponent_fields; ++field) {
    const int half = std::max(field, lowest) - format.precision;  // exponent field of half a step
    out.half_step[static_cast<std::size_t>(field + 1)] =
        half >= 1 ? static_cast<std::uint32_t>(half) << field_shift
                  : hidden_bit >> static_cast<unsigned>(1 - half);
  }
  for (int field = 0; field < exponent_fields; ++field) {
    const int bit = 24 - format.precision + std::max(0, lowest - exponent_of_field(field));
    out.odd[static_cast<std::size_t>(field)] = bit <= field_shift ? std::uint32_t{1} << bit : 0;
  }
  return out;
}
constexpr std::array<Neighbours, weight_formats.size()> neighbours{
    neighbours_in(weight_formats[0].format), neighbours_in(weight_formats[1].format)};

/// Returns whether h - u rounds to h; both are given as bits of binary32. The code has no branches,
/// because data are unpredictable.
std::uint32_t is_lost(std::uint32_t h, std::uint32_t u, const Neighbours& of) {
  const std::size_t field = (h & magnitude_mask) >> field_shift;
  const std::uint32_t fraction = h & (hidden_bit - 1);
  const std::uint32_t is_power = (fraction - 1) >> 31;
  const std::uint32_t away = (h ^ u) >> 31;
  const auto odd = static_cast<std::uint32_t>(((fraction | hidden_bit) & of.odd[field]) != 0);
  return static_cast<std::uint32_t>((u & magnitude_mask) <
                                    of.half_step[field + 1 - (is_power & ~away)] + 1 - odd);
}

/// Returns whether |u| < 2^-11·|w|, given the bits of |u| and |w| in binary32.
bool is_below_2_11(std::uint32_t u, std::uint32_t w) {
  constexpr std::uint32_t eleven = 11U << field_shift;
  if (w >= eleven + hidden_bit) return u < w - eleven;
  // Returns the number in units of 2^-149. The exponent field of |w| is at most 11 here; that of
  // |u| may be larger, and then u < w decides.
  const auto in_units = [](std::uint32_t x) {
    const std::uint32_t field = x >> field_shift;
    const std::uint64_t significand = (x & (hidden_bit - 1)) | (field > 0 ? hidden_bit : 0);
    return significand << (field > 0 ? field - 1 : 0);
  };
  return u < w && in_units(u) << 11 < in_units(w);
}

constexpr std::size_t weight_format_count = weight_formats.size();
/// Each set of formats in which an update may be lost, as a mask of one bit per format.
constexpr std::size_t lost_sets = std::size_t{1} << weight_format_count;

/// Counts over numbers of binary32, at most update_grain of them.
class UpdateBlock {
 public:
  void add(const float* weights, const float* updates, std::size_t n) {
    EventCounts unused;
    for (std::size_t f = 0; f < weight_format_count; ++f) {
      fastest_kernels().quantize_f32(weights, held_[f].data(), n, 0,
                                     {.format = weight_formats[f].format}, unused);
    }
    Tally sum;  // local, so that the counts stay in registers
    for (std::size_t i = 0; i < n; ++i) add_one(weights, updates, i, sum);
    tally_.updates += sum.updates;
    tally_.below_2_11 += sum.below_2_11;
    for (std::size_t f = 0; f < weight_format_count; ++f) {
      tally_.lost[f] += sum.lost[f];
      tally_.overflow[f] += sum.overflow[f];
    }
  }

  void add_to(UpdateCounts& counts) const {
    counts.updates += tally_.updates;
    counts.below_2_11 += tally_.below_2_11;
    for (std::size_t f = 0; f < weight_format_count; ++f) {
      counts.kept_in[f].lost += tally_.lost[f];
      counts.kept_in[f].overflow += tally_.overflow[f];
    }
    for (std::size_t set = 0; set < lost_sets; ++set) {
      ExactSum sum;
      add_to_sum(sum, squares_[set]);
      counts.squares += sum;
      for (std::size_t f = 0; f < weight_format_count; ++f) {
        if ((set >> f & 1) != 0) counts.kept_in[f].lost_squares += sum;
      }
    }
  }

 private:
  struct Tally {
    std::uint64_t updates = 0, below_2_11 = 0;
    std::array<std::uint64_t, weight_format_count> lost{}, overflow{};
  };

  static std::uint32_t bits_at(const float* x) {
    std::uint32_t out;
    std::memcpy(&out, x, sizeof(out));
    return out;
  }

  void add_one(const float* weights, const float* updates, std::size_t place, Tally& to) {
    const std::uint32_t w = bits_at(weights + place) & magnitude_mask;
    const std::uint32_t u = bits_at(updates + place);
    const std::uint32_t size = u & magnitude_mask;
    if (size - 1 >= infinity_bits - 1 || w >= infinity_bits) return;
    const std::size_t field = size >> field_shift;
    const std::uint64_t significand = (size & (hidden_bit - 1)) | (field > 0 ? hidden_bit : 0);
    to.updates += 1;
    to.below_2_11 += is_below_2_11(size, w) ? 1 : 0;
    std::size_t set = 0;
    for (std::size_t f = 0; f < weight_format_count; ++f) {
      const std::uint32_t h = bits_at(&held_[f][place]);
      const auto finite = static_cast<std::uint32_t>((h & magnitude_mask) < infinity_bits);
      const std::size_t lost = finite & is_lost(h, u, neighbours[f]);
      to.overflow[f] += 1 - finite;
      to.lost[f] += lost;
      set |= lost << f;
    }
    squares_[set][field] += significand * significand;
  }

  Tally tally_;
  std::array<SquaresByField, lost_sets> squares_{};
  std::array<std::array<float, part_of_updates>, weight_format_count> held_;
};

std::uint64_t element_at(const std::byte* at, std::size_t size) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, size);
  return bits;
}

void add_by_definition(UpdateCounts& counts, const UpdateElements& x) {
  const std::size_t w = code_bytes(x.weight_format), u = code_bytes(x.update_format);
  for (std::size_t i = 0; i < x.n; ++i) {
    add_update(counts, element_at(x.weights + i * w, w), x.weight_format,
               element_at(x.updates + i * u, u), x.update_format);
  }
}

void add_by_bits(UpdateCounts& counts, const UpdateElements& x) {
  UpdateBlock block;
  std::array<float, part_of_updates> weights, updates;
  const std::size_t w = code_bytes(x.weight_format), u = code_bytes(x.update_format);
  const auto values_of = [](const std::byte* in, float* out, std::size_t n, const Format& format) {
    if (format == binary32) {
      std::memcpy(out, in, n * sizeof(float));
    } else {
      fastest_kernels().decode_f32(in, out, n, format);
    }
  };
  for (std::size_t at = 0; at < x.n; at += part_of_updates) {
    const std::size_t n = std::min(part_of_updates, x.n - at);
    values_of(x.weights + at * w, weights.data(), n, x.weight_format);
    values_of(x.updates + at * u, updates.data(), n, x.update_format);
    block.add(weights.data(), updates.data(), n);
  }
  block.add_to(counts);
  counts.values += x.n;
}

}  // namespace

std::optional<int> HeldUpdates::median_log2_of_ulp() const {
  const std::uint64_t known = lost - unknown;
  std::uint64_t above = 0;  // of at least 2^-k ulp
  if (known == 0) return {};
  for (std::size_t k = 0; k < sizes; ++k) {
    above += lost_by_size[k];
    if (above > known - above) return 1 - static_cast<int>(k);
  }
  return {};
}

void merge(HeldUpdates& a, const HeldUpdates& b) {
  a.asked += b.asked;
  a.lost += b.lost;
  a.unknown += b.unknown;
  a.decay_asked += b.decay_asked;
  a.decay_lost += b.decay_lost;
  a.idle += b.idle;
  for (std::size_t k = 0; k < HeldUpdates::sizes; ++k) a.lost_by_size[k] += b.lost_by_size[k];
}

void merge(UpdateCounts& a, const UpdateCounts& b) {
  merge(a.held, b.held);
  a.values += b.values;
  a.updates += b.updates;
  a.below_2_11 += b.below_2_11;
  a.squares += b.squares;
  for (std::size_t i = 0; i < weight_formats.size(); ++i) {
    a.kept_in[i].lost += b.kept_in[i].lost;
    a.kept_in[i].overflow += b.kept_in[i].overflow;
    a.kept_in[i].lost_squares += b.kept_in[i].lost_squares;
  }
}

UpdateCounts merged(const std::vector<UpdateCounts>& slots) {
  UpdateCounts out;
  for (const UpdateCounts& slot : slots) merge(out, slot);
  return out;
}

double lost_l2(const UpdateCounts& counts, std::size_t format) {
  if (counts.squares.is_zero()) return 0;
  return root_share_of(counts.kept_in[format].lost_squares, counts.squares);
}

void add_update(UpdateCounts& counts, std::uint64_t weight, const Format& weight_format,
                std::uint64_t update, const Format& update_format) {
  counts.values += 1;
  const Fields u = fields_of(update, update_format);
  const Fields w = fields_of(weight, weight_format);
  const Kind kind = kind_of(w, weight_format);
  if (kind_of(u, update_format) != Kind::finite) return;
  if (kind == Kind::nan || kind == Kind::infinite) return;
  const Placed x = place(u, update_format);
  const uint128 square = static_cast<uint128>(x.significand) * x.significand;
  const int unit = 2 * (x.exponent - update_fraction_bits);
  counts.updates += 1;
  counts.below_2_11 += is_below_2_11(x, w, weight_format) ? 1 : 0;
  counts.squares.add(square, unit);
  const Exact step = decode(update, update_format);
  for (std::size_t i = 0; i < weight_formats.size(); ++i) {
    const Format& format = weight_formats[i].format;
    LostUpdates& out = counts.kept_in[i];
    const std::uint64_t held = convert(weight, weight_format, format).bits;
    const Exact before = decode(held, format);
    if (before.kind == Kind::infinite) {
      out.overflow += 1;
      continue;
    }
    const Exact after = subtract(before, step, Rounding::ties_to_even);
    if (!same_number(project(after, format).bits, held, format)) continue;
    out.lost += 1;
    out.lost_squares.add(square, unit);
  }
}

void add_updates(std::vector<UpdateCounts>& slots, const UpdateElements& x) {
  const bool in_binary32 = x.weight_format != binary64 && x.update_format != binary64;
  const std::size_t w = code_bytes(x.weight_format), u = code_bytes(x.update_format);
  parallel_for(x.n, update_grain, [&](std::size_t begin, std::size_t end, std::size_t slot) {
    UpdateElements piece = x;
    piece.weights += begin * w;
    piece.updates += begin * u;
    piece.n = end - begin;
    (in_binary32 ? add_by_bits : add_by_definition)(slots[slot], piece);
  });
}

}  // namespace binade
