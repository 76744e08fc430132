// SPDX-License-Identifier: Apache-2.0
//
// Elements in memory, or a tensor's bytes in order, through `quantize` on all threads; values or encodings out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "emulate/quantize.h"
#include "lib/format/dtype.h"

namespace binade {

/// What carries the values of a format that fits in binary64: F32 where its grid fits binary32, else F64.
Dtype value_dtype(const Format& format);

/// What carries its encodings: the dtype of that format, else unsigned integers of the container's
/// width.
Dtype encoded_dtype(const Format& format);

/// What results are: values in a dtype that holds the format, or encodings in encoded_dtype(format).
enum class ResultKind : std::uint8_t { f32, f64, encodings };

/// Whole elements of `from`, a floating format, rounded to to.format. Number `first` in their stream is the first of
/// them. `out` is aligned for its elements; it may be `in` where both are of one size. Returns the counts of these.
EventCounts quantize_elements(const Quantizer& to, const Format& from, ResultKind results,
                              std::span<const std::byte> in, std::uint64_t first,
                              std::span<std::byte> out);

/// Encodings of `from`, which fits in binary64, as their values: f32, where that holds them, or f64.
void decode_elements(const Format& from, std::span<const std::byte> in, ResultKind results,
                     std::span<std::byte> out);

/// `quantize` of floats, by a device; `out` may be `in`.
using QuantizeFloats =
    std::function<void(std::span<const float> in, std::span<float> out, std::uint64_t first,
                       const Quantizer& to, EventCounts& counts)>;

class QuantizeStream {
 public:
  /// `from`: a floating dtype. `encode`: encodings out (encoded_dtype) instead of values. `floats`: what
  /// quantizes, where there is one; then elements are binary32 and become values of binary32.
  QuantizeStream(const Quantizer& to, const Dtype& from, bool encode, QuantizeFloats floats = {});

  /// Adds whole little-endian elements; `sink` gets the results in order. Element indices, which
  /// stochastic rounding draws by, go on from call to call.
  void add(std::span<const std::byte> data,
           const std::function<void(std::span<const std::byte>)>& sink);

  const EventCounts& counts() const { return counts_; }

 private:
  Quantizer to_;
  Format from_;
  bool encode_;
  QuantizeFloats floats_;
  std::uint64_t next_ = 0;
  EventCounts counts_;
  std::vector<std::byte> out_;  ///< room for results, kept from call to call
};

}  // namespace binade
