// SPDX-License-Identifier: Apache-2.0
//
// Rounds a single value to the nearest number of a format (ties to even, overflow to infinity). The
// optimizers use it: they round after each op on a weight.
#pragma once

#include <bit>
#include <cstdint>

#include "emulate/fast/quantize.h"
#include "lib/text/error.h"

namespace binade {

/// A function object that rounds to `format`. Nearest<float> throws Error if binary32 does not hold
/// the format's numbers.
template <class T>
struct Nearest;
template <>
struct Nearest<float> {
  fast::QuantizePlan to;
  bool exact;

  explicit Nearest(const Format& format)
      : to(fast::quantize_plan(Quantizer{.format = format})), exact(format == binary32) {
    if (!to.known) throw Error("optimizer: weights of a format that binary32 does not hold");
  }
  float operator()(float x) const {
    if (exact) return x;
    return std::bit_cast<float>(
        fast::quantized(static_cast<std::uint32_t>(bits_of(x)), 0, to).bits);
  }
};
template <>
struct Nearest<double> {
  Format format;

  explicit Nearest(const Format& of) : format(of) {}
  double operator()(double x) const {
    return format == binary64 ? x : value_of<double>(project(exact_of(x), format).bits, format);
  }
};

}  // namespace binade
