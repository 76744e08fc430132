// SPDX-License-Identifier: Apache-2.0
//
// Codes to values in tiles of 256: one loop without branches for all numbers; where a tile has an
// infinity or a NaN, the definition converts those codes again.
#include "emulate/fast/decode.h"

#include <array>
#include <cstring>

#include "emulate/fast/kernels.h"

namespace binade::fast {
namespace {

constexpr std::size_t decode_tile = 256;

template <std::floating_point T>
struct ValuePlan : CodeFields<T> {
  using Bits = typename Carrier<T>::Bits;

  T from_bias = 1;  ///< 2^(carrier's bias - bias)

  explicit ValuePlan(const Format& f) : CodeFields<T>(f) {
    constexpr const Format& c = Carrier<T>::format;
    const int shift = c.bias - f.bias;
    this->known = this->known && shift >= 0 && shift <= c.emax();
    if (!this->known) return;
    from_bias = std::bit_cast<T>(static_cast<Bits>(shift + c.bias) << c.fraction_bits());
  }
};

/// Converts n codes as if all were numbers. Returns whether one of them is an infinity or a NaN,
/// whose result is wrong.
template <class Code, std::floating_point T>
bool decode_numbers(const Code* codes, T* out, std::size_t n, const ValuePlan<T>& plan) {
  using Bits = typename Carrier<T>::Bits;
  const Bits magnitude_mask = plan.magnitude, special = plan.special, sign_mask = plan.sign;
  const Bits lone_nan = plan.lone_nan;
  const T from_bias = plan.from_bias;
  const int padding = plan.padding, fraction_shift = plan.fraction_shift,
            sign_shift = plan.sign_shift;
  Bits specials = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Bits code = static_cast<Bits>(codes[i]) >> padding;
    const Bits magnitude = code & magnitude_mask;
    const Bits sign = code & sign_mask;
    const bool is_lone_nan = sign == lone_nan && magnitude == 0 && lone_nan != 0;
    specials |= magnitude >= special || is_lone_nan ? 1 : 0;
    const T value = std::bit_cast<T>(static_cast<Bits>(magnitude << fraction_shift)) * from_bias;
    out[i] = std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(value) | sign << sign_shift));
  }
  return specials != 0;
}

template <class Code, std::floating_point T>
void decode_by_tiles(const std::byte* in, T* out, std::size_t n, const Format& format,
                     const ValuePlan<T>& plan) {
  std::array<Code, decode_tile> codes;
  for (std::size_t done = 0; done < n; done += decode_tile) {
    const std::size_t count = n - done < decode_tile ? n - done : decode_tile;
    std::memcpy(codes.data(), in + done * sizeof(Code), count * sizeof(Code));
    if (!decode_numbers(codes.data(), out + done, count, plan)) continue;
    for (std::size_t i = 0; i < count; ++i) {
      const Kind kind = decode(codes[i], format).kind;
      if (kind != Kind::infinite && kind != Kind::nan) continue;
      out[done + i] = value_of<T>(codes[i], format);
    }
  }
}

template <std::floating_point T>
void decode_codes(const std::byte* in, T* out, std::size_t n, const Format& format) {
  const ValuePlan<T> plan(format);
  if (!plan.known) return (definitions().*KernelsOf<T>::decode)(in, out, n, format);
  switch (code_bytes(format)) {
    case 1: return decode_by_tiles<std::uint8_t>(in, out, n, format, plan);
    case 2: return decode_by_tiles<std::uint16_t>(in, out, n, format, plan);
    case 4: return decode_by_tiles<std::uint32_t>(in, out, n, format, plan);
    case 8: return decode_by_tiles<std::uint64_t>(in, out, n, format, plan);
  }
}

}  // namespace

void values_of_codes(const std::byte* in, float* out, std::size_t n, const Format& format) {
  decode_codes(in, out, n, format);
}
void values_of_codes(const std::byte* in, double* out, std::size_t n, const Format& format) {
  decode_codes(in, out, n, format);
}

}  // namespace binade::fast
