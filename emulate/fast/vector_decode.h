// SPDX-License-Identifier: Apache-2.0
//
// `values_of_codes` of emulate/quantize.h, equal in every bit, by vectors of V, four at a time. V
// is the level's vector unit (avx2.h, avx512.h): a struct of types and functions for its vectors. A
// normal number's fields are shifted to the carrier's (T, float or double), and the difference of
// the biases is added to the exponent. A subnormal number counts quanta: it is added to the last
// bits of a number whose ulp is the format's quantum, and that number is then subtracted.
//
//     binary16  0 01110 0111000000                    0 00000 0111000000
//     float     0 01111110 01110000000000000000000    (2^-1 + 0111000000 · 2^-24) - 2^-1
//               2^-1 · 1.4375, 14 + 112 = 126         448 · 2^-24; the ulp of 2^-1 is 2^-24
//
// No operand of that subtraction is a subnormal of the carrier, which would be slow.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "emulate/fast/decode.h"
#include "emulate/fast/kernels.h"
#include "emulate/fast/vector_quantize.h"

namespace binade::fast {

template <class V, std::floating_point T>
struct VectorDecoder {
  using I = typename V::I;
  using Fields = CodeFields<T>;

  using Bits = typename Fields::Bits;

  static constexpr const Format& carrier = Carrier<T>::format;
  static constexpr std::size_t group = 4 * V::lanes;

  const Fields& fields;
  const Format& format;
  I magnitude, sign;
  I min_normal;   ///< the smallest normal number, as a code without sign
  I rebias;       ///< added to exponent fields: carrier's bias - format's bias
  I quantum_sum;  ///< the power of two whose ulp in the carrier is the format's quantum
  /// The largest code without sign that is finite; the code of a fnuz format's only NaN.
  I last_number, lone_nan;

  VectorDecoder(const Fields& of, const Format& of_format)
      : fields(of),
        format(of_format),
        magnitude(V::set(of.magnitude)),
        sign(V::set(of.sign)),
        min_normal(V::set(Bits{1} << of_format.fraction_bits())),
        rebias(V::set(field(carrier.bias - of_format.bias))),
        quantum_sum(V::set(field(exponent_of_sum(of_format) + carrier.bias))),
        last_number(V::set(of.special - 1)),
        lone_nan(V::set(of.lone_nan)) {}

  /// Returns the exponent of quantum_sum.
  static int exponent_of_sum(const Format& f) {
    return f.quantum_exponent() + carrier.fraction_bits();
  }
  static Bits field(int e) { return static_cast<Bits>(e) << carrier.fraction_bits(); }
  static bool knows(const Fields& fields, const Format& f) {
    return fields.known && f.emin() >= carrier.emin() && exponent_of_sum(f) <= carrier.emax();
  }

  /// Converts a group of codes to four vectors of values.
  void operator()(const std::byte* in, I (&out)[4]) const {
    I largest = V::zero();
    bool has_lone_nan = false;
    for (std::size_t k = 0; k < 4; ++k) {
      const I code = code_at(in, k);
      const I a = V::bit_and(code, magnitude), negative = V::bit_and(code, sign);
      const I normal = V::add(V::shift_left(a, fields.fraction_shift), rebias);
      const I below = V::bits(V::sub(V::number(V::add(a, quantum_sum)), V::number(quantum_sum)));
      const I value = V::select(V::greater(min_normal, a), below, normal);
      out[k] = V::bit_or(value, V::shift_left(negative, fields.sign_shift));
      largest = V::max(largest, a);
      if (fields.lone_nan != 0) {
        has_lone_nan = has_lone_nan || V::any(V::equal(V::bit_or(a, negative), lone_nan));
      }
    }
    if (has_lone_nan || V::any(V::greater(largest, last_number))) set_specials(in, out);
  }

  void run(const std::byte* in, T* out, std::size_t n) const {
    const bool streamed = n * sizeof(T) >= streamed_bytes;
    std::size_t done = 0;
    if (streamed) {
      const std::size_t past = reinterpret_cast<std::uintptr_t>(out) % V::bytes;
      done = past == 0 ? 0 : (V::bytes - past) / sizeof(T);
      if (done > 0) apart(in, out, done);
    }
    for (; done + group <= n; done += group) {
      const std::byte* const codes = in + done * fields.bytes;
      I values[4];
      (*this)(codes, values);
      for (std::size_t k = 0; k < 4; ++k) {
        V::put(streamed, out + done + k * V::lanes, values[k]);
      }
    }
    if (done < n) apart(in + done * fields.bytes, out + done, n - done);
    if (streamed) V::streamed();
  }

 private:
  I code_at(const std::byte* in, std::size_t k) const {
    return V::shift_right(V::load_narrow(in + k * V::lanes * fields.bytes, fields.bytes),
                          fields.padding);
  }
  /// Replaces the results of codes that are infinities and NaNs. A NaN keeps its fraction where the
  /// format has payloads (Specials::ieee); elsewhere it is a quiet NaN.
  [[gnu::noinline]] void set_specials(const std::byte* in, I (&out)[4]) const {
    const I infinity = V::set(field(carrier.emax() + carrier.bias + 1));
    const I quiet = V::set(Bits{1} << (carrier.fraction_bits() - 1));
    const I carrier_sign = V::set(~(~Bits{0} >> 1));
    const bool has_payloads = format.specials == Specials::ieee;
    const I fraction = V::set(carrier.fraction_mask());
    for (std::size_t k = 0; k < 4; ++k) {
      const I code = code_at(in, k);
      const I a = V::bit_and(code, magnitude);
      const I nan =
          has_payloads ? V::bit_and(V::shift_left(a, fields.fraction_shift), fraction) : quiet;
      const I special = V::bit_or(V::bit_or(V::bit_and(out[k], carrier_sign), infinity), nan);
      out[k] = V::select(V::greater(a, last_number), special, out[k]);
      if (fields.lone_nan != 0) {
        const I all = V::bit_and(code, V::bit_or(magnitude, sign));
        const I lone = V::bit_or(carrier_sign, V::bit_or(infinity, quiet));
        out[k] = V::select(V::equal(all, lone_nan), lone, out[k]);
      }
    }
  }
  /// Converts n codes, fewer than a group, through a copy that is a whole group long, since vectors
  /// would read past the array's end.
  [[gnu::noinline]] void apart(const std::byte* in, T* out, std::size_t n) const {
    std::array<std::byte, group * sizeof(T)> codes{};
    std::memcpy(codes.data(), in, n * fields.bytes);
    I values[4];
    (*this)(codes.data(), values);
    std::memcpy(out, values, n * sizeof(T));
  }
};

template <class V, std::floating_point T>
void decode_vectors(const std::byte* in, T* out, std::size_t n, const Format& format) {
  const CodeFields<T> fields(format);
  if (!VectorDecoder<V, T>::knows(fields, format)) {
    return (own_kernels(Level::portable).*KernelsOf<T>::decode)(in, out, n, format);
  }
  VectorDecoder<V, T>(fields, format).run(in, out, n);
}

}  // namespace binade::fast
