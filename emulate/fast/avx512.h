// SPDX-License-Identifier: Apache-2.0
//
// Vectors of 64 bytes in AVX-512 F, BW, DQ and VL: the operations of avx2.h, under the same names
// and with the same meaning, for the templates of vector_*.h. Two things differ. A mask M has one
// bit a lane; and add, mul, div and root have a second form that names its rounding (NamesRounding
// in vector_rounding.h), as the intrinsics number them:
//
//     add<rounding>    0 to nearest    1 toward negative    2 toward positive    3 toward zero
//     mask of floats   bit 15 … 0, one for each lane; four of them joined are the 64 bits of a mask of bytes
//
// Where BINADE_INTRINSICS_IN_SOFTWARE is defined, the file that includes this one has included
// functions of the same names before (tests/kernels/simde_avx512.h), for machines that lack the
// instructions.
#pragma once

#ifndef BINADE_INTRINSICS_IN_SOFTWARE
#include <immintrin.h>
#endif

#include <cstddef>
#include <cstdint>

#include "emulate/fast/avx2.h"

// A pragma needs its string in one piece, which may be wider than a line.
// clang-format off
#ifdef BINADE_INTRINSICS_IN_SOFTWARE
#define BINADE_AVX512_BEGIN
#define BINADE_AVX512_END
#elif defined(__clang__)
#define BINADE_AVX512_BEGIN \
  _Pragma("clang attribute push(__attribute__((target(\"avx512bw,avx512dq,avx512vl,fma,popcnt\"))), apply_to = function)")
#define BINADE_AVX512_END _Pragma("clang attribute pop")
#else
#define BINADE_AVX512_BEGIN \
  _Pragma("GCC push_options") _Pragma("GCC target(\"avx512bw,avx512dq,avx512vl,fma,popcnt\")")
#define BINADE_AVX512_END _Pragma("GCC pop_options")
#endif
// clang-format on

BINADE_AVX512_BEGIN

namespace binade::fast {

struct Avx512Integers {
  using I = __m512i;

  static constexpr std::size_t bytes = 64;

  static I load(const void* from) { return _mm512_loadu_si512(from); }
  static void store(void* to, I x) { _mm512_storeu_si512(to, x); }
  static void stream(void* to, I x) { _mm512_stream_si512(static_cast<I*>(to), x); }
  static void put(bool streamed, void* to, I x) { streamed ? stream(to, x) : store(to, x); }
  static void streamed() { _mm_sfence(); }
  static void prefetch(const void* from) {
    _mm_prefetch(static_cast<const char*>(from), _MM_HINT_T0);
  }

  /// Adds two 64-bit words to two at `to`; both addresses are multiples of 16.
  static void add_two_words(void* to, const void* more) {
    auto* const words = static_cast<__m128i*>(to);
    _mm_store_si128(words, _mm_add_epi64(_mm_load_si128(words),
                                         _mm_load_si128(static_cast<const __m128i*>(more))));
  }
  /// Returns the 16 bytes at `from`, a multiple of 16, in each quarter of the register, as
  /// `look_up` takes them.
  static I table(const std::uint8_t* from) {
    return _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(from)));
  }

  static I zero() { return _mm512_setzero_si512(); }
  static I bit_and(I a, I b) { return _mm512_and_si512(a, b); }
  static I bit_or(I a, I b) { return _mm512_or_si512(a, b); }
  static I bit_xor(I a, I b) { return _mm512_xor_si512(a, b); }
  static I and_not(I a, I b) { return _mm512_andnot_si512(b, a); }
  /// In lanes of 16 bits, unsigned: a - b, or 0 where a < b.
  static I sub_to_zero(I a, I b) { return _mm512_subs_epu16(a, b); }
  static I bit_xor(I a, I b, I c) { return _mm512_ternarylogic_epi64(a, b, c, 0x96); }
  static I or_masked(I a, I b, I mask) { return _mm512_ternarylogic_epi64(a, b, mask, 0xF8); }
};

/// Lanes of `size` bytes, as Avx2Codes of avx2.h, but in the order of memory as soon as they are
/// packed.
template <std::size_t size>
struct Avx512Codes;

template <>
struct Avx512Codes<1> : Avx512Integers {
  using M = __mmask64;
  static constexpr std::size_t vectors = 4;
  static constexpr int mark_bits = 1;

  static I ordered(I x) {
    const I order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, x);
  }
  static I pack(const I* x) {
    return ordered(
        _mm512_packus_epi16(_mm512_packs_epi32(x[0], x[1]), _mm512_packs_epi32(x[2], x[3])));
  }
  static I pack_sums(const I* x, I lowest, I by) {
    const auto two = [=](I a, I b) {
      return _mm512_mulhi_epu16(sub_to_zero(_mm512_packus_epi32(a, b), lowest), by);
    };
    return ordered(_mm512_packus_epi16(two(x[0], x[1]), two(x[2], x[3])));
  }
  static I pack_signs(const I* x) {
    return ordered(
        _mm512_packs_epi16(_mm512_packs_epi32(x[0], x[1]), _mm512_packs_epi32(x[2], x[3])));
  }
  static M pack_masks(const __mmask16* x) {
    return _mm512_kunpackd(_mm512_kunpackw(x[3], x[2]), _mm512_kunpackw(x[1], x[0]));
  }
  static I joined(I a, I b, std::uint16_t weights) {
    const I by = _mm512_set1_epi16(static_cast<std::int16_t>(weights));
    const I out = _mm512_packus_epi16(_mm512_maddubs_epi16(a, by), _mm512_maddubs_epi16(b, by));
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), out);
  }
  static M equal(I a, I b) { return _mm512_cmpeq_epi8_mask(a, b); }
  static M either(M a, M b) { return a | b; }
  static bool any(M m) { return m != 0; }
  static I min(I a, I b) { return _mm512_min_epu8(a, b); }
  static M at_most(I a, I b) { return _mm512_cmple_epu8_mask(a, b); }
  static I select(M m, I a, I b) { return _mm512_mask_blend_epi8(m, b, a); }
  static M has_sign(I a) { return _mm512_movepi8_mask(a); }
  static I shift_left(I a, int by) { return _mm512_sll_epi16(a, _mm_cvtsi32_si128(by)); }
  static I shift_right(I a, int by) { return _mm512_srl_epi16(a, _mm_cvtsi32_si128(by)); }
  static std::uint64_t marks(M m) { return m; }
  static void store(void* to, I x, bool streamed) { put(streamed, to, x); }
};

template <>
struct Avx512Codes<2> : Avx512Integers {
  using M = __mmask32;
  static constexpr std::size_t vectors = 2;
  static constexpr int mark_bits = 1;

  static I ordered(I x) {
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), x);
  }
  static I pack(const I* x) { return ordered(_mm512_packus_epi32(x[0], x[1])); }
  static I pack_signs(const I* x) { return ordered(_mm512_packs_epi32(x[0], x[1])); }
  static M pack_masks(const __mmask16* x) { return _mm512_kunpackw(x[1], x[0]); }
  static M equal(I a, I b) { return _mm512_cmpeq_epi16_mask(a, b); }
  static M either(M a, M b) { return a | b; }
  static bool any(M m) { return m != 0; }
  static I min(I a, I b) { return _mm512_min_epu16(a, b); }
  static M at_most(I a, I b) { return _mm512_cmple_epu16_mask(a, b); }
  static I select(M m, I a, I b) { return _mm512_mask_blend_epi16(m, b, a); }
  static M has_sign(I a) { return _mm512_movepi16_mask(a); }
  static I shift_left(I a, int by) { return _mm512_sll_epi16(a, _mm_cvtsi32_si128(by)); }
  static I shift_right(I a, int by) { return _mm512_srl_epi16(a, _mm_cvtsi32_si128(by)); }
  static std::uint64_t marks(M m) { return m; }
  static void store(void* to, I x, bool streamed) { put(streamed, to, x); }
};

/// The unit of lanes as wide as T, float or double.
template <class T>
struct Avx512;

template <>
struct Avx512<float> : Avx512Integers {
  using F = __m512;
  using Words = Avx512<double>;
  using M = __mmask16;
  using Bytes = Avx512Codes<1>;
  using HalfWords = Avx512Codes<2>;
  using Exponents = Avx2Exponents;
  static constexpr std::size_t lanes = 16;
  static constexpr int mark_bits = Bytes::mark_bits;

  static I set(std::uint32_t x) { return _mm512_set1_epi32(static_cast<std::int32_t>(x)); }
  static F set_number(float x) { return _mm512_set1_ps(x); }
  static F number(I x) { return _mm512_castsi512_ps(x); }
  static I bits(F x) { return _mm512_castps_si512(x); }

  static I add(I a, I b) { return _mm512_add_epi32(a, b); }
  static I sub(I a, I b) { return _mm512_sub_epi32(a, b); }
  static I shift_left(I a, int by) { return _mm512_sll_epi32(a, _mm_cvtsi32_si128(by)); }
  static I shift_right(I a, int by) { return _mm512_srl_epi32(a, _mm_cvtsi32_si128(by)); }
  static I shift_right_each(I a, I by) { return _mm512_srlv_epi32(a, by); }
  static I min(I a, I b) { return _mm512_min_epi32(a, b); }
  static I max(I a, I b) { return _mm512_max_epi32(a, b); }

  static I min_unsigned(I a, I b) { return _mm512_min_epu32(a, b); }
  /// Multiplies the 16-bit halves of each lane, signed, and adds the two products: of lanes below
  /// 2^15, their product.
  static I mul_pairs(I a, I b) { return _mm512_madd_epi16(a, b); }
  /// Adds to each 16-bit half of `sum` two products of bytes, unsigned ones of a and signed ones of
  /// b, which have room in it.
  static I add_byte_products(I sum, I a, I b) {
    return _mm512_add_epi16(sum, _mm512_maddubs_epi16(a, b));
  }
  /// Replaces each byte of `index`, which is below 16, by the table's byte of that number. Where a
  /// 32-bit lane has one index, its other three bytes are 0, and byte 0 of the table must be 0 for
  /// them to stay so.
  static I look_up(I table, I index) { return _mm512_shuffle_epi8(table, index); }
  static F to_number(I x) { return _mm512_cvtepi32_ps(x); }  ///< signed
  static F to_number_toward_zero(I x) {
    return _mm512_cvt_roundepi32_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  }
  static I truncated(F x) { return _mm512_cvttps_epi32(x); }
  /// Returns the larger of quarters 0 and 1, and of 2 and 3, of a and then of b.
  static I halved(I a, I b) {
    return max(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xDD));
  }
  /// Returns the largest lane of each of 16 vectors, signed, in their order.
  static I largest_of_each(const I (&x)[lanes]) {
    I quarters[4];  // of four vectors each: lanes 4i + k are of vector k
    for (std::size_t k = 0; k < 4; ++k) {
      const I* const of = x + 4 * k;
      const I low = max(_mm512_unpacklo_epi32(of[0], of[1]), _mm512_unpackhi_epi32(of[0], of[1]));
      const I high = max(_mm512_unpacklo_epi32(of[2], of[3]), _mm512_unpackhi_epi32(of[2], of[3]));
      quarters[k] = max(_mm512_unpacklo_epi64(low, high), _mm512_unpackhi_epi64(low, high));
    }
    return halved(halved(quarters[0], quarters[1]), halved(quarters[2], quarters[3]));
  }
  static I magnitude(I x) { return _mm512_abs_epi32(x); }
  static I least_magnitude(I a, I b) {
    constexpr int smaller_magnitude = 2, without_sign = 2 << 2;
    return bits(_mm512_range_ps(number(a), number(b), smaller_magnitude | without_sign));
  }
  static F broadcast(const float* from) { return set_number(*from); }

  static M both(M a, M b) { return _kand_mask16(a, b); }
  static M either(M a, M b) { return _kor_mask16(a, b); }
  static M but_not(M a, M b) { return _kandn_mask16(b, a); }
  static bool any(M m) { return m != 0; }
  static I where(M m, I a) { return _mm512_maskz_mov_epi32(m, a); }
  static I select(M m, I a, I b) { return _mm512_mask_blend_epi32(m, b, a); }
  static M equal(I a, I b) { return _mm512_cmpeq_epi32_mask(a, b); }
  static M greater(I a, I b) { return _mm512_cmpgt_epi32_mask(a, b); }
  static M greater_unsigned(I a, I b) { return _mm512_cmpgt_epu32_mask(a, b); }
  static M has_sign(I a) { return _mm512_movepi32_mask(a); }
  static M has_last_bit(I a) { return _mm512_test_epi32_mask(a, set(1)); }
  static I select_by_sign(I of, I negative, I positive) {
    return select(has_sign(of), negative, positive);
  }
  static I plus_one(I a, M m) { return _mm512_mask_sub_epi32(a, m, a, set(~0U)); }
  static I minus_one(I a, M m) { return _mm512_mask_add_epi32(a, m, a, set(~0U)); }

  static F add(F a, F b) { return _mm512_add_ps(a, b); }
  template <int rounding>
  static F add(F a, F b) {
    return _mm512_add_round_ps(a, b, rounding | _MM_FROUND_NO_EXC);
  }
  static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F div(F a, F b) { return _mm512_div_ps(a, b); }
  template <int rounding>
  static F mul(F a, F b) {
    return _mm512_mul_round_ps(a, b, rounding | _MM_FROUND_NO_EXC);
  }
  template <int rounding>
  static F div(F a, F b) {
    return _mm512_div_round_ps(a, b, rounding | _MM_FROUND_NO_EXC);
  }
  template <int rounding>
  static F root(F a) {
    return _mm512_sqrt_round_ps(a, rounding | _MM_FROUND_NO_EXC);
  }
  static F mul_add(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static F mul_sub(F a, F b, F c) { return _mm512_fmsub_ps(a, b, c); }
  static F sub_mul(F a, F b, F c) { return _mm512_fnmadd_ps(b, c, a); }
  static M nonzero(F a) { return _mm512_cmp_ps_mask(a, _mm512_setzero_ps(), _CMP_NEQ_OQ); }
  static M differ(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_OQ); }
  static I floor_unsigned(F x) { return _mm512_cvttps_epu32(x); }

  static std::uint64_t marks(const M* x) { return Bytes::marks(Bytes::pack_masks(x)); }

  static F load_floats(const float* from) { return _mm512_loadu_ps(from); }
  static I load_words(const std::uint32_t* from) { return load(from); }
  static std::uint64_t total(I x) {
    alignas(bytes) std::uint32_t lane[lanes];
    store(lane, x);
    std::uint64_t out = 0;
    for (const std::uint32_t count : lane) out += count;
    return out;
  }
  static I load_narrow(const void* from, std::size_t size) {
    if (size == 4) return load(from);
    if (size == 2) {
      return _mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(from)));
    }
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(from)));
  }
};

template <>
struct Avx512<double> : Avx512Integers {
  using F = __m512d;
  using Words = Avx512<double>;
  using M = __mmask8;
  static constexpr std::size_t lanes = 8;
  static constexpr int mark_bits = 1;

  static I set(std::uint64_t x) { return _mm512_set1_epi64(static_cast<std::int64_t>(x)); }
  static F set_number(double x) { return _mm512_set1_pd(x); }
  static F number(I x) { return _mm512_castsi512_pd(x); }
  static I bits(F x) { return _mm512_castpd_si512(x); }

  static I add(I a, I b) { return _mm512_add_epi64(a, b); }
  static I sub(I a, I b) { return _mm512_sub_epi64(a, b); }
  static I shift_left(I a, int by) { return _mm512_sll_epi64(a, _mm_cvtsi32_si128(by)); }
  static I shift_right(I a, int by) { return _mm512_srl_epi64(a, _mm_cvtsi32_si128(by)); }
  static I shift_right_each(I a, I by) { return _mm512_srlv_epi64(a, by); }
  static I min(I a, I b) { return _mm512_min_epi64(a, b); }
  static I max(I a, I b) { return _mm512_max_epi64(a, b); }

  static M both(M a, M b) { return _kand_mask8(a, b); }
  static M either(M a, M b) { return _kor_mask8(a, b); }
  static M but_not(M a, M b) { return _kandn_mask8(b, a); }
  static bool any(M m) { return m != 0; }
  static I where(M m, I a) { return _mm512_maskz_mov_epi64(m, a); }
  static I select(M m, I a, I b) { return _mm512_mask_blend_epi64(m, b, a); }
  static M equal(I a, I b) { return _mm512_cmpeq_epi64_mask(a, b); }
  static M greater(I a, I b) { return _mm512_cmpgt_epi64_mask(a, b); }
  static M greater_unsigned(I a, I b) { return _mm512_cmpgt_epu64_mask(a, b); }
  static M has_sign(I a) { return _mm512_movepi64_mask(a); }
  static M has_last_bit(I a) { return _mm512_test_epi64_mask(a, set(1)); }
  static I select_by_sign(I of, I negative, I positive) {
    return select(has_sign(of), negative, positive);
  }
  static I plus_one(I a, M m) { return _mm512_mask_sub_epi64(a, m, a, set(~std::uint64_t{0})); }
  static I minus_one(I a, M m) { return _mm512_mask_add_epi64(a, m, a, set(~std::uint64_t{0})); }

  static F add(F a, F b) { return _mm512_add_pd(a, b); }
  template <int rounding>
  static F add(F a, F b) {
    return _mm512_add_round_pd(a, b, rounding | _MM_FROUND_NO_EXC);
  }
  static F sub(F a, F b) { return _mm512_sub_pd(a, b); }
  static F mul(F a, F b) { return _mm512_mul_pd(a, b); }
  template <int rounding>
  static F mul(F a, F b) {
    return _mm512_mul_round_pd(a, b, rounding | _MM_FROUND_NO_EXC);
  }
  template <int rounding>
  static F div(F a, F b) {
    return _mm512_div_round_pd(a, b, rounding | _MM_FROUND_NO_EXC);
  }
  template <int rounding>
  static F root(F a) {
    return _mm512_sqrt_round_pd(a, rounding | _MM_FROUND_NO_EXC);
  }
  static F mul_add(F a, F b, F c) { return _mm512_fmadd_pd(a, b, c); }
  static F mul_sub(F a, F b, F c) { return _mm512_fmsub_pd(a, b, c); }
  static F sub_mul(F a, F b, F c) { return _mm512_fnmadd_pd(b, c, a); }
  static M nonzero(F a) { return _mm512_cmp_pd_mask(a, _mm512_setzero_pd(), _CMP_NEQ_OQ); }
  static M differ(F a, F b) { return _mm512_cmp_pd_mask(a, b, _CMP_NEQ_OQ); }
  static I floor_unsigned(F x) { return _mm512_cvttpd_epu64(x); }

  static I mul_words(I a, I b) { return _mm512_mul_epu32(a, b); }
  static I high_words(I a) { return _mm512_srli_epi64(a, 32); }
  static I join_words(I a, I b) {
    return _mm512_mask_blend_epi32(0xAAAA, a, _mm512_slli_epi64(b, 32));
  }
  static constexpr std::uint64_t lane_order[lanes]{0, 4, 1, 5, 2, 6, 3, 7};
  static I low_pairs(I a, I b) { return _mm512_unpacklo_epi64(a, b); }
  static I high_pairs(I a, I b) { return _mm512_unpackhi_epi64(a, b); }

  static std::uint64_t marks(const M* x) {
    return _mm512_kunpackw(_mm512_kunpackb(x[3], x[2]), _mm512_kunpackb(x[1], x[0]));
  }

  static F load_floats(const float* from) { return _mm512_cvtps_pd(_mm256_loadu_ps(from)); }
  static F load_integers(const std::int32_t* from) {
    return _mm512_cvtepi32_pd(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  static F toward_zero(F a) {
    return _mm512_roundscale_pd(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  }
  static __m512i narrow(F a, F b) {
    return _mm512_castps_si512(
        _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(a)), _mm512_cvtpd_ps(b), 1));
  }
  static I load_words(const std::uint32_t* from) {
    return _mm512_cvtepu32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  static std::uint64_t total(I x) {
    alignas(bytes) std::uint64_t lane[lanes];
    store(lane, x);
    std::uint64_t out = 0;
    for (const std::uint64_t count : lane) out += count;
    return out;
  }
  static void store_narrow(void* to, const I (&x)[4], std::size_t size) {
    auto* out = static_cast<char*>(to);
    for (std::size_t k = 0; k < 4; ++k) {
      char* const part = out + k * lanes * size;
      if (size == 8) store(part, x[k]);
      if (size == 4) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(part), _mm512_cvtepi64_epi32(x[k]));
      }
      if (size == 2)
        _mm_storeu_si128(reinterpret_cast<__m128i*>(part), _mm512_cvtepi64_epi16(x[k]));
      if (size == 1) _mm_storel_epi64(reinterpret_cast<__m128i*>(part), _mm512_cvtepi64_epi8(x[k]));
    }
  }
  static I load_narrow(const void* from, std::size_t size) {
    if (size == 8) return load(from);
    if (size == 4) {
      return _mm512_cvtepu32_epi64(_mm256_loadu_si256(static_cast<const __m256i*>(from)));
    }
    if (size == 2) return _mm512_cvtepu16_epi64(_mm_loadu_si128(static_cast<const __m128i*>(from)));
    return _mm512_cvtepu8_epi64(_mm_loadl_epi64(static_cast<const __m128i*>(from)));
  }
};

}  // namespace binade::fast

BINADE_AVX512_END
