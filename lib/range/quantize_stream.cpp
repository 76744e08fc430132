// SPDX-License-Identifier: Apache-2.0
//
// Elements are decoded, quantized or encoded in parts that stay in the cache. Counts are integers,
// so their order does not matter.
#include "lib/range/quantize_stream.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "lib/parallel/parallel.h"
#include "lib/range/counted_loop.h"

namespace binade {
namespace {

constexpr std::size_t batch = std::size_t{1} << 20;  ///< elements held in memory at a time
constexpr std::size_t quantize_grain = std::size_t{1} << 14;

/// Returns how many elements a thread takes at a time. For arrays that no cache holds it is the
/// amount from which kernels use streaming stores, if that leaves every thread some pieces.
std::size_t grain_of(std::size_t n) {
  constexpr std::size_t streamed = streamed_bytes / sizeof(float);
  return n / thread_count() >= 2 * streamed ? streamed : quantize_grain;
}
constexpr std::size_t part_size = 4096;

struct Piece {
  const std::byte* in;
  std::byte* out;  ///< aligned for the type of the results
  std::size_t n;
  std::uint64_t first;  ///< index of the first element in the tensor
};

/// Calls sink(values, start) with elements of `from` as values of type T, which must hold the
/// format; `start` is the index of the first of them in the piece. Aligned elements that are such
/// values already come all at once; others are decoded, up to part_size at a time.
template <std::floating_point T, typename Sink>
void for_each_part(const Piece& piece, const Format& from, const Sink& sink) {
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(piece.in) % alignof(T) == 0;
  if (from == Carrier<T>::format && is_aligned) {
    return sink(std::span(reinterpret_cast<const T*>(piece.in), piece.n), 0);
  }
  const std::size_t in_size = code_bytes(from);
  std::array<T, part_size> values;
  for (std::size_t start = 0; start < piece.n; start += part_size) {
    const std::size_t n = std::min(part_size, piece.n - start);
    (fastest_kernels().*KernelsOf<T>::decode)(piece.in + start * in_size, values.data(), n, from);
    sink(std::span<const T>(values).first(n), start);
  }
}

/// Writes values of type U, which must hold to.format; T must hold both formats.
template <std::floating_point T, std::floating_point U>
void piece_to_values(const Piece& piece, const Format& from, const Quantizer& to,
                     EventCounts& counts) {
  const auto quantize = fastest_kernels().*KernelsOf<T>::quantize;
  for_each_part<T>(piece, from, [&](std::span<const T> values, std::size_t start) {
    U* const out = reinterpret_cast<U*>(piece.out) + start;
    if constexpr (std::is_same_v<T, U>) {
      quantize(values.data(), out, values.size(), piece.first + start, to, counts);
    } else {
      std::array<T, part_size> results;
      for (std::size_t done = 0; done < values.size(); done += part_size) {
        const std::size_t n = std::min(part_size, values.size() - done);
        quantize(values.data() + done, results.data(), n, piece.first + start + done, to, counts);
        std::copy_n(results.begin(), n, out + done);
      }
    }
  });
}

/// Writes encodings of to.format. T holds `from` and need not hold to.format.
template <std::floating_point T>
void piece_to_encodings(const Piece& piece, const Format& from, const Quantizer& to,
                        EventCounts& counts) {
  const auto encode = fastest_kernels().*KernelsOf<T>::encode;
  for_each_part<T>(piece, from, [&](std::span<const T> values, std::size_t start) {
    encode(values.data(), piece.out + start * code_bytes(to.format), values.size(),
           piece.first + start, to, counts);
  });
}

}  // namespace

Dtype value_dtype(const Format& format) {
  assert(fits_in(format, binary64));
  return *find_dtype(fits_in(format, binary32) ? "F32" : "F64");
}

Dtype encoded_dtype(const Format& format) {
  const std::string_view name = format_name(format);
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

EventCounts quantize_elements(const Quantizer& to, const Format& from, ResultKind results,
                              std::span<const std::byte> in, std::uint64_t first,
                              std::span<std::byte> out, const ElementIndex& index) {
  Quantizer by = to;
  by.operands = from;
  const std::size_t in_size = code_bytes(from);
  const std::size_t out_size = results == ResultKind::f32   ? sizeof(float)
                               : results == ResultKind::f64 ? sizeof(double)
                                                            : code_bytes(to.format);
  const bool narrow_in = fits_in(from, binary32);
  const auto piece = results == ResultKind::encodings
                         ? (narrow_in ? &piece_to_encodings<float> : &piece_to_encodings<double>)
                     : results == ResultKind::f64 ? &piece_to_values<double, double>
                     : narrow_in                  ? &piece_to_values<float, float>
                                                  : &piece_to_values<double, float>;
  const std::size_t n = in.size() / in_size;
  const auto run_from = [&](std::size_t begin, std::size_t count, std::uint64_t at,
                            EventCounts& counts) {
    piece({in.data() + begin * in_size, out.data() + begin * out_size, count, at}, from, by,
          counts);
  };
  const bool draws_by_index = index && to.attributes.rounding == Rounding::stochastic;
  const auto run = [&](std::size_t begin, std::size_t end, EventCounts& counts) {
    if (!draws_by_index) return run_from(begin, end - begin, first + begin, counts);
    for (std::size_t i = begin; i < end; ++i) run_from(i, 1, index(first + i), counts);
  };
  return counted_loop(n, grain_of(n), run);
}

void decode_elements(const Format& from, std::span<const std::byte> in, ResultKind results,
                     std::span<std::byte> out) {
  const auto run = [&]<class T>(T*) {
    const std::size_t n = out.size() / sizeof(T);
    parallel_for(n, grain_of(n), [&](std::size_t begin, std::size_t end, std::size_t) {
      (fastest_kernels().*KernelsOf<T>::decode)(in.data() + begin * code_bytes(from),
                                                reinterpret_cast<T*>(out.data()) + begin,
                                                end - begin, from);
    });
  };
  assert(results != ResultKind::encodings);
  results == ResultKind::f32 ? run(static_cast<float*>(nullptr))
                             : run(static_cast<double*>(nullptr));
}

QuantizeStream::QuantizeStream(const Quantizer& to, const Dtype& from, bool encode,
                               QuantizeFloats floats, ElementIndex index)
    : to_(to),
      from_(*find_format(from.format)),
      encode_(encode),
      floats_(std::move(floats)),
      index_(std::move(index)) {
  assert(!floats_ || (from_ == binary32 && !encode && fits_in(to.format, binary32) && !index_));
}

void QuantizeStream::add(std::span<const std::byte> data,
                         const std::function<void(std::span<const std::byte>)>& sink) {
  if (floats_) {
    std::vector<float> values(data.size() / sizeof(float));
    std::memcpy(values.data(), data.data(), values.size() * sizeof(float));
    floats_(values, values, next_, to_, counts_);
    next_ += values.size();
    return sink(std::as_bytes(std::span(values)));
  }
  const Dtype out_dtype = encode_ ? encoded_dtype(to_.format) : value_dtype(to_.format);
  const ResultKind results = encode_                   ? ResultKind::encodings
                             : out_dtype.name == "F32" ? ResultKind::f32
                                                       : ResultKind::f64;
  const std::size_t in_size = code_bytes(from_);
  const std::size_t out_size = out_dtype.bits / 8;
  for (std::size_t start = 0; start < data.size() / in_size; start += batch) {
    const std::size_t n = std::min(batch, data.size() / in_size - start);
    out_.resize(n * out_size);
    counts_ += quantize_elements(to_, from_, results, data.subspan(start * in_size, n * in_size),
                                 next_, out_, index_);
    next_ += n;
    sink(out_);
  }
}

}  // namespace binade
