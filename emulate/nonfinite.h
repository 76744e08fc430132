// SPDX-License-Identifier: Apache-2.0
//
// Whether an array of encodings holds a NaN or an infinity. This decides whether a training step of
// mixed precision is skipped. Encodings that are not finite, with x for any bit:
//
//     binary16, bfloat16, …     x 11111 xxxxxxxxxx     exponent field all ones: Inf or NaN
//     e4m3; e8m0                x 1111 111; 11111111   all ones below the sign: NaN
//     e4m3fnuz                  1 0000 000             the encoding that elsewhere is -0: NaN
//     e3m2, e2m3, e2m1          none
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "emulate/codec.h"
#include "emulate/quantize.h"

namespace binade {

/// Returns whether at least one of n encodings is a NaN or an infinity; false if n is 0 or the
/// format has neither. Each encoding fills a container of code_bytes(format) bytes, lowest byte
/// first; `in` need not be aligned.
inline bool any_nonfinite(const std::byte* in, std::size_t n, const Format& format) {
  const std::size_t bytes = code_bytes(format);
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t code = 0;
    std::memcpy(&code, in + i * bytes, bytes);
    const Kind kind = kind_of(fields_of(code, format), format);
    if (kind == Kind::nan || kind == Kind::infinite) return true;
  }
  return false;
}

}  // namespace binade
