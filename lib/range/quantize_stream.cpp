// SPDX-License-Identifier: Apache-2.0
//
// Pieces of a tile each; counts are integers, so their order does not matter.
#include "lib/range/quantize_stream.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

#include "lib/parallel/parallel.h"

namespace binade {
namespace {

constexpr std::size_t batch = std::size_t{1} << 20;  ///< elements held in memory at a time
constexpr std::size_t quantize_grain = std::size_t{1} << 14;

std::uint64_t load(const std::byte* at, std::size_t size) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, size);
  return bits;
}

void run_kernel(float* tile, std::size_t n, std::uint64_t first, const Quantizer& to,
                EventCounts& counts) {
  fastest_kernels().quantize_f32(tile, tile, n, first, to, counts);
}
void run_kernel(double* tile, std::size_t n, std::uint64_t first, const Quantizer& to,
                EventCounts& counts) {
  fastest_kernels().quantize_f64(tile, tile, n, first, to, counts);
}

struct Piece {
  const std::byte* in;
  std::byte* out;
  std::size_t n;
  std::uint64_t first;  ///< index of the first element in the tensor
};

constexpr std::size_t tile_size = 1024;

/// Calls back with tiles of elements of `from` as values of type T, which holds it, and where they begin.
template <std::floating_point T, typename Sink>
void for_each_tile(const Piece& piece, const Format& from, const Sink& sink) {
  const auto in_size = static_cast<std::size_t>(from.storage_bits() / 8);
  std::array<T, tile_size> tile;
  for (std::size_t start = 0; start < piece.n; start += tile_size) {
    const std::size_t n = std::min(tile_size, piece.n - start);
    const std::byte* in = piece.in + start * in_size;
    if (from == Carrier<T>::format) {
      std::memcpy(tile.data(), in, n * sizeof(T));
    } else {
      for (std::size_t i = 0; i < n; ++i)
        tile[i] = value_of<T>(load(in + i * in_size, in_size), from);
    }
    sink(std::span(tile).first(n), start);
  }
}

/// Out as values of type U, which holds to.format; T holds both formats.
template <std::floating_point T, std::floating_point U>
void piece_to_values(const Piece& piece, const Format& from, const Quantizer& to,
                     EventCounts& counts) {
  for_each_tile<T>(piece, from, [&](std::span<T> tile, std::size_t start) {
    run_kernel(tile.data(), tile.size(), piece.first + start, to, counts);
    for (std::size_t i = 0; i < tile.size(); ++i) {
      const U result = static_cast<U>(tile[i]);
      std::memcpy(piece.out + (start + i) * sizeof(U), &result, sizeof(U));
    }
  });
}

/// Out as encodings of to.format, which T need not hold.
template <std::floating_point T>
void piece_to_encodings(const Piece& piece, const Format& from, const Quantizer& to,
                        EventCounts& counts) {
  const auto out_size = static_cast<std::size_t>(to.format.storage_bits() / 8);
  for_each_tile<T>(piece, from, [&](std::span<T> tile, std::size_t start) {
    for (std::size_t i = 0; i < tile.size(); ++i) {
      const std::uint64_t code = quantize_one(tile[i], piece.first + start + i, to, counts);
      std::memcpy(piece.out + (start + i) * out_size, &code, out_size);
    }
  });
}

}  // namespace

Dtype value_dtype(const Format& format) {
  assert(fits_in(format, binary64));
  return *find_dtype(fits_in(format, binary32) ? "F32" : "F64");
}

Dtype encoded_dtype(const Format& format) {
  const std::string_view name = name_of(format);
  for (const Dtype& row : dtypes()) {
    if (row.kind == DtypeKind::floating && row.format == name) return row;
  }
  switch (format.storage_bits()) {
    case 8: return *find_dtype("U8");
    case 16: return *find_dtype("U16");
    case 32: return *find_dtype("U32");
    default: return *find_dtype("U64");
  }
}

QuantizeStream::QuantizeStream(const Quantizer& to, const Dtype& from, bool encode)
    : to_(to), from_(*find_format(from.format)), encode_(encode) {}

void QuantizeStream::add(std::span<const std::byte> data,
                         const std::function<void(std::span<const std::byte>)>& sink) {
  const Dtype out_dtype = encode_ ? encoded_dtype(to_.format) : value_dtype(to_.format);
  const std::size_t in_size = static_cast<std::size_t>(from_.storage_bits()) / 8;
  const std::size_t out_size = out_dtype.bits / 8;
  const bool narrow_in = fits_in(from_, binary32);
  const auto piece = encode_
                         ? (narrow_in ? &piece_to_encodings<float> : &piece_to_encodings<double>)
                     : !fits_in(to_.format, binary32) ? &piece_to_values<double, double>
                     : narrow_in                      ? &piece_to_values<float, float>
                                                      : &piece_to_values<double, float>;
  std::vector<std::byte> out;
  for (std::size_t start = 0; start < data.size() / in_size; start += batch) {
    const std::size_t n = std::min(batch, data.size() / in_size - start);
    out.resize(n * out_size);
    std::vector<EventCounts> counts(thread_count());
    parallel_for(n, quantize_grain, [&](std::size_t begin, std::size_t end, std::size_t slot) {
      piece({data.data() + (start + begin) * in_size, out.data() + begin * out_size, end - begin,
             next_ + begin},
            from_, to_, counts[slot]);
    });
    for (const EventCounts& c : counts) counts_ += c;
    next_ += n;
    sink(out);
  }
}

}  // namespace binade
