// SPDX-License-Identifier: Apache-2.0
//
// Quantizes elements in memory, or a tensor's bytes as they come, on all threads. The results are
// values or encodings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "emulate/quantize.h"
#include "lib/format/dtype.h"
#include "lib/range/element_index.h"

namespace binade {

/// Returns the dtype that holds the values of a format that fits in binary64: F32 if its grid fits
/// binary32, else F64.
Dtype value_dtype(const Format& format);

/// Returns the dtype that holds the encodings of a format: its own dtype if that is a floating one,
/// or else (packed formats, formats without a dtype) unsigned integers of the width in which it is
/// stored.
Dtype encoded_dtype(const Format& format);

/// What results are written as: values in f32 or f64, which must hold the format, or encodings in
/// encoded_dtype(format).
enum class ResultKind : std::uint8_t { f32, f64, encodings };

/// Rounds whole elements of `from`, a floating format, to the format to.format. `first` is the
/// place of the first element in its array; with `index`, stochastic rounding draws by that of the
/// element, at the cost of a call of the kernel for each. `out` must be aligned for its elements
/// and may be `in` if elements of both have the same size. Returns the counts of what happened to
/// these elements.
EventCounts quantize_elements(const Quantizer& to, const Format& from, ResultKind results,
                              std::span<const std::byte> in, std::uint64_t first,
                              std::span<std::byte> out, const ElementIndex& index = {});

/// Decodes encodings of `from`, which must fit in binary64, to values of the type that `results`
/// says: f32, which must hold them, or f64. `out` must be aligned for its elements; its size says
/// how many are decoded.
void decode_elements(const Format& from, std::span<const std::byte> in, ResultKind results,
                     std::span<std::byte> out);

/// A function that quantizes floats on a device (lib/device); `out` may be `in`.
using QuantizeFloats =
    std::function<void(std::span<const float> in, std::span<float> out, std::uint64_t first,
                       const Quantizer& to, EventCounts& counts)>;

/// Quantizes the elements of one tensor, which come in pieces of any size.
class QuantizeStream {
 public:
  /// `from` is a floating dtype. If `encode`, results are encodings (in encoded_dtype) instead of
  /// values. If `floats` is given, it does the quantizing, the elements must be binary32, and
  /// results are values in binary32; `index` must then be empty.
  QuantizeStream(const Quantizer& to, const Dtype& from, bool encode, QuantizeFloats floats = {},
                 ElementIndex index = {});

  /// Takes whole little-endian elements and calls `sink` with the results, in order, in as many
  /// calls as it takes; the span is valid only during the call. The place of an element in its
  /// array counts on from call to call.
  void add(std::span<const std::byte> data,
           const std::function<void(std::span<const std::byte>)>& sink);

  const EventCounts& counts() const { return counts_; }

 private:
  Quantizer to_;
  Format from_;
  bool encode_;
  QuantizeFloats floats_;
  ElementIndex index_;
  std::uint64_t next_ = 0;
  EventCounts counts_;
  std::vector<std::byte> out_;  ///< room for results that is kept from call to call
};

}  // namespace binade
