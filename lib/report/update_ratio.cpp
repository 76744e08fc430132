// SPDX-License-Identifier: Apache-2.0
//
// One pass over two tensors. Counts and sums are integers, so threads change nothing.
#include "lib/report/update_ratio.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <tuple>
#include <vector>

#include "emulate/arithmetic.h"
#include "emulate/project.h"
#include "emulate/range_count.h"
#include "lib/io/chunk_reader.h"
#include "lib/parallel/parallel.h"

namespace binade {
namespace {

constexpr std::size_t grain = std::size_t{1} << 14;  ///< elements a thread takes at a time
constexpr int fraction_bits = 52;                    ///< Placed: x = m·2^(exponent - 52)

/// |u| < 2^-11·|w| for u not zero; never where w is zero.
bool is_below_2_11(const Placed& u, const Fields& w, const Format& format) {
  if (kind_of(w, format) == Kind::zero) return false;
  const Placed x = place(w, format);
  return std::tuple(u.exponent, u.significand) < std::tuple(x.exponent - 11, x.significand);
}

/// Whether two encodings are the same number; -0 is 0.
bool same_number(std::uint64_t a, std::uint64_t b, const Format& format) {
  const auto is_zero = [&format](std::uint64_t bits) {
    return kind_of(fields_of(bits, format), format) == Kind::zero;
  };
  return a == b || (is_zero(a) && is_zero(b));
}

std::uint64_t element(const std::byte* at, std::size_t size) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, size);
  return bits;
}

struct Stream {
  ChunkReader reader;
  Format format;
  std::size_t size;
  std::span<const std::byte> left = {};

  explicit Stream(const TensorPlace& place)
      : reader(*place.file, place.index),
        format(*find_format(place.info().dtype.format)),
        size(place.info().dtype.bits / 8) {}

  /// Elements at hand; 0 at the end.
  std::size_t available() {
    if (left.empty()) left = reader.next();
    return left.size() / size;
  }
};

}  // namespace

void merge(UpdateCounts& a, const UpdateCounts& b) {
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

double lost_l2(const UpdateCounts& counts, std::size_t format) {
  if (counts.squares.is_zero()) return 0;
  return std::sqrt(divide(counts.kept_in[format].lost_squares, counts.squares).value());
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
  const int unit = 2 * (x.exponent - fraction_bits);
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

UpdateCounts count_updates(const TensorPlace& weight, const TensorPlace& update,
                           const std::function<void(std::uint64_t)>& done) {
  assert(weight.info().shape == update.info().shape);
  Stream w(weight);
  Stream u(update);
  std::vector<UpdateCounts> slots(thread_count());
  while (true) {
    const std::size_t of_weight = w.available();
    const std::size_t n = std::min(of_weight, u.available());
    if (n == 0) break;
    parallel_for(n, grain, [&](std::size_t begin, std::size_t end, std::size_t slot) {
      for (std::size_t i = begin; i < end; ++i) {
        add_update(slots[slot], element(w.left.data() + i * w.size, w.size), w.format,
                   element(u.left.data() + i * u.size, u.size), u.format);
      }
    });
    w.left = w.left.subspan(n * w.size);
    u.left = u.left.subspan(n * u.size);
    if (done) done(n * (w.size + u.size));
  }
  UpdateCounts out;
  for (const UpdateCounts& slot : slots) merge(out, slot);
  return out;
}

}  // namespace binade
