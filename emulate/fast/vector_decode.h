// SPDX-License-Identifier: Apache-2.0
//
// `values_of_codes` of emulate/quantize.h by vectors of a level's unit V (avx2.h, avx512.h), four at a time. Of normal
// numbers the fields move, and the exponent by the biases' difference; a subnormal one counts quanta: the last bits of a
// number whose ulp is one, which is then taken away.
//
//     binary16  0 01110 0111000000                   0 00000 0111000000
//     float     0 01111101 01110000000000000000000   (2^-1 + 0111000000 · 2^-24) - 2^-1
//
// No operand is a subnormal of the carrier. Infinities and NaNs are the definition's.
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
  I min_normal;   ///< as a magnitude
  I rebias;       ///< what exponent fields gain
  I quantum_sum;  ///< a number whose ulp is the quantum
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

  /// Of a number whose ulp is the format's quantum.
  static int exponent_of_sum(const Format& f) {
    return f.quantum_exponent() + carrier.fraction_bits();
  }
  static Bits field(int e) { return static_cast<Bits>(e) << carrier.fraction_bits(); }
  static bool knows(const Fields& fields, const Format& f) {
    return fields.known && f.emin() >= carrier.emin() && exponent_of_sum(f) <= carrier.emax();
  }

  /// The values of a group of codes; false where one is no number.
  bool operator()(const std::byte* in, I (&out)[4]) const {
    I largest = V::zero();
    bool is_nan = false;
    for (std::size_t k = 0; k < 4; ++k) {
      const I code = V::shift_right(V::load_narrow(in + k * V::lanes * fields.bytes, fields.bytes),
                                    fields.padding);
      const I a = V::bit_and(code, magnitude), negative = V::bit_and(code, sign);
      const I normal = V::add(V::shift_left(a, fields.fraction_shift), rebias);
      const I below = V::bits(V::sub(V::number(V::add(a, quantum_sum)), V::number(quantum_sum)));
      const I value = V::select(V::greater(min_normal, a), below, normal);
      out[k] = V::bit_or(value, V::shift_left(negative, fields.sign_shift));
      largest = V::max(largest, a);
      if (fields.lone_nan != 0) {
        is_nan = is_nan || V::any(V::equal(V::bit_or(a, negative), lone_nan));
      }
    }
    return !is_nan && !V::any(V::greater(largest, last_number));
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
      const bool numbers = (*this)(codes, values);
      for (std::size_t k = 0; k < 4; ++k) {
        T* const to = out + done + k * V::lanes;
        V::put(streamed && numbers, to, values[k]);
      }
      if (!numbers) mend(codes, out + done, group);
    }
    if (done < n) apart(in + done * fields.bytes, out + done, n - done);
    if (streamed) V::streamed();
  }

 private:
  [[gnu::noinline]] void mend(const std::byte* codes, T* out, std::size_t n) const {
    for (std::size_t i = 0; i < n; ++i, codes += fields.bytes) {
      Bits code = 0;
      std::memcpy(&code, codes, fields.bytes);
      if (!fields.is_special(code >> fields.padding)) continue;
      (definitions().*KernelsOf<T>::decode)(codes, out + i, 1, format);
    }
  }
  /// Fewer than a group's: beside the arrays.
  [[gnu::noinline]] void apart(const std::byte* in, T* out, std::size_t n) const {
    std::array<std::byte, group * sizeof(T)> codes{};
    std::memcpy(codes.data(), in, n * fields.bytes);
    I values[4];
    const bool numbers = (*this)(codes.data(), values);
    std::memcpy(out, values, n * sizeof(T));
    if (!numbers) mend(in, out, n);
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
