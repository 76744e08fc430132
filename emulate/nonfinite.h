// SPDX-License-Identifier: Apache-2.0
//
// Whether an array of encodings holds a NaN or an infinity: all that decides whether a step of mixed precision is skipped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "emulate/codec.h"
#include "emulate/quantize.h"

namespace binade {

/// Whether one of n encodings, in containers of code_bytes(format) bytes each, lowest byte first, at any alignment, is a NaN
/// or an infinity. Of a format that has neither, never.
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
