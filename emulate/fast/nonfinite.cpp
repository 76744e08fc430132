// SPDX-License-Identifier: Apache-2.0
//
// The search for a NaN or an infinity, part by part: the loop over a part has no branch, so that a
// compiler makes vector code of it.
#include "emulate/fast/nonfinite.h"

#include <algorithm>
#include <cstring>

#include "emulate/quantize.h"

namespace binade::fast {
namespace {

template <class Code>
bool any_of(const std::byte* in, std::size_t n, const NonFiniteBits& bits) {
  constexpr std::size_t part = nonfinite_part / sizeof(Code);
  const auto mask = static_cast<Code>(bits.mask), value = static_cast<Code>(bits.value);
  for (std::size_t done = 0; done < n; done += part) {
    const std::size_t end = std::min(n, done + part);
    Code found = 0;
    for (std::size_t i = done; i < end; ++i) {
      Code code;
      std::memcpy(&code, in + i * sizeof code, sizeof code);
      found = static_cast<Code>(found | static_cast<Code>((code & mask) == value));
    }
    if (found != 0) return true;
  }
  return false;
}

}  // namespace

bool any_nonfinite(const std::byte* in, std::size_t n, const Format& format) {
  const NonFiniteBits bits = nonfinite_bits(format);
  if (bits.mask == 0) return false;
  switch (code_bytes(format)) {
    case 1: return any_of<std::uint8_t>(in, n, bits);
    case 2: return any_of<std::uint16_t>(in, n, bits);
    case 4: return any_of<std::uint32_t>(in, n, bits);
    default: return any_of<std::uint64_t>(in, n, bits);
  }
}

}  // namespace binade::fast
