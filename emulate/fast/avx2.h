// SPDX-License-Identifier: Apache-2.0
//
// Vectors of 32 bytes in AVX2 and FMA: the operations that the templates of vector_*.h need from a
// level. A vector unit is a struct of types and functions for vectors with lanes of one width. In
// each unit I is a vector of integers or bits, F one of numbers (float or double), M a mask: a lane
// of all ones or all zeros. The file that instantiates those templates includes them between
// BINADE_AVX2_BEGIN and BINADE_AVX2_END, after all other headers, so that their functions, and no
// others, are compiled to the target's instructions.
//
// Four vectors of 32-bit lanes narrow to one vector of bytes. The pack instructions work in each
// half of 16 bytes by itself; `store` puts the lanes back in the order of memory:
//
//     pack      x0.0-3  x1.0-3  x2.0-3  x3.0-3 | x0.4-7  x1.4-7  x2.4-7  x3.4-7      bytes, four lanes a field
//     store     x0.0-3  x0.4-7  x1.0-3  x1.4-7 | x2.0-3  x2.4-7  x3.0-3  x3.4-7
#pragma once

#ifndef BINADE_INTRINSICS_IN_SOFTWARE
#include <immintrin.h>
#endif

#include <cstddef>
#include <cstdint>

// A pragma needs its string in one piece, which may be wider than a line.
// clang-format off
#ifdef BINADE_INTRINSICS_IN_SOFTWARE
#define BINADE_AVX2_BEGIN
#define BINADE_AVX2_END
#elif defined(__clang__)
#define BINADE_AVX2_BEGIN \
  _Pragma("clang attribute push(__attribute__((target(\"avx2,fma,popcnt\"))), apply_to = function)")
#define BINADE_AVX2_END _Pragma("clang attribute pop")
#else
#define BINADE_AVX2_BEGIN \
  _Pragma("GCC push_options") _Pragma("GCC target(\"avx2,fma,popcnt\")")
#define BINADE_AVX2_END _Pragma("GCC pop_options")
#endif
// clang-format on

BINADE_AVX2_BEGIN

namespace binade::fast {

/// Operations on 32 bytes that do not depend on the lanes' width.
struct Avx2Integers {
  using I = __m256i;  ///< integers, or bits
  using M = __m256i;

  static constexpr std::size_t bytes = 32;

  static I load(const void* from) { return _mm256_loadu_si256(static_cast<const I*>(from)); }
  static void store(void* to, I x) { _mm256_storeu_si256(static_cast<I*>(to), x); }
  /// Stores past the caches; `to` is a multiple of `bytes`. After the last one the caller calls
  /// `streamed`.
  static void stream(void* to, I x) { _mm256_stream_si256(static_cast<I*>(to), x); }
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
  /// Returns the 16 bytes at `from`, a multiple of 16, in each half of the register, as `look_up`
  /// takes them.
  static I table(const std::uint8_t* from) {
    return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(from)));
  }

  static I zero() { return _mm256_setzero_si256(); }
  static I bit_and(I a, I b) { return _mm256_and_si256(a, b); }
  static I bit_or(I a, I b) { return _mm256_or_si256(a, b); }
  static I bit_xor(I a, I b) { return _mm256_xor_si256(a, b); }
  static I and_not(I a, I b) { return _mm256_andnot_si256(b, a); }  ///< a & ~b
  /// In lanes of 16 bits, unsigned: a - b, or 0 where a < b.
  static I sub_to_zero(I a, I b) { return _mm256_subs_epu16(a, b); }
  static I bit_xor(I a, I b, I c) { return bit_xor(bit_xor(a, b), c); }
  static I or_masked(I a, I b, I mask) { return bit_or(a, bit_and(b, mask)); }  ///< a | (b & mask)

  static M both(M a, M b) { return bit_and(a, b); }
  static M either(M a, M b) { return bit_or(a, b); }
  static M but_not(M a, M b) { return and_not(a, b); }
  static bool any(M m) { return _mm256_movemask_epi8(m) != 0; }
  static I where(M m, I a) { return bit_and(m, a); }  ///< a or 0
  static I select(M m, I a, I b) { return _mm256_blendv_epi8(b, a, m); }
};

/// Lanes of `size` bytes. The 32-bit lanes of 4 / size vectors are packed into one vector, in the
/// order of the picture above until they are stored.
template <std::size_t size>
struct Avx2Codes;

template <>
struct Avx2Codes<1> : Avx2Integers {
  static constexpr std::size_t vectors = 4;  ///< number of vectors that one packed vector takes
  static constexpr int mark_bits = 1;

  /// Packs lanes below 2^31; one above 255 becomes 255.
  static I pack(const I* x) {
    return _mm256_packus_epi16(_mm256_packs_epi32(x[0], x[1]), _mm256_packs_epi32(x[2], x[3]));
  }
  /// Packs lanes as signed numbers, with saturation: each byte has its lane's sign, and its value
  /// from -128 to 127.
  static I pack_signs(const I* x) {
    return _mm256_packs_epi16(_mm256_packs_epi32(x[0], x[1]), _mm256_packs_epi32(x[2], x[3]));
  }
  /// Packs lanes less `lowest`, times `by` over 2^16; one above 255 becomes 255.
  static I pack_sums(const I* x, I lowest, I by) {
    const auto two = [=](I a, I b) {
      return _mm256_mulhi_epu16(sub_to_zero(_mm256_packus_epi32(a, b), lowest), by);
    };
    return _mm256_packus_epi16(two(x[0], x[1]), two(x[2], x[3]));
  }
  static M pack_masks(const M* x) { return pack_signs(x); }
  /// Returns the sums of neighbours, below 16, times the two bytes of `weights`, of a and then of
  /// b.
  static I joined(I a, I b, std::uint16_t weights) {
    const I by = _mm256_set1_epi16(static_cast<std::int16_t>(weights));
    const I out = _mm256_packus_epi16(_mm256_maddubs_epi16(a, by), _mm256_maddubs_epi16(b, by));
    return _mm256_permute4x64_epi64(out, 0xD8);
  }
  static M equal(I a, I b) { return _mm256_cmpeq_epi8(a, b); }
  static I min(I a, I b) { return _mm256_min_epu8(a, b); }  ///< unsigned, as are comparisons
  static M at_most(I a, I b) { return equal(min(a, b), a); }
  static M has_sign(I a) { return _mm256_cmpgt_epi8(zero(), a); }
  /// Shifts lanes, as long as no bit that is set leaves its lane.
  static I shift_left(I a, int by) { return _mm256_sll_epi16(a, _mm_cvtsi32_si128(by)); }
  static I shift_right(I a, int by) { return _mm256_srl_epi16(a, _mm_cvtsi32_si128(by)); }
  /// Returns `mark_bits` equal bits for each lane of a mask.
  static std::uint64_t marks(M m) { return static_cast<std::uint32_t>(_mm256_movemask_epi8(m)); }
  static void store(void* to, I x, bool streamed) {
    const I order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    put(streamed, to, _mm256_permutevar8x32_epi32(x, order));
  }
};

template <>
struct Avx2Codes<2> : Avx2Integers {
  static constexpr std::size_t vectors = 2;
  static constexpr int mark_bits = 2;

  static I pack(const I* x) { return _mm256_packus_epi32(x[0], x[1]); }
  static I pack_signs(const I* x) { return _mm256_packs_epi32(x[0], x[1]); }
  static M pack_masks(const M* x) { return pack_signs(x); }
  static M equal(I a, I b) { return _mm256_cmpeq_epi16(a, b); }
  static I min(I a, I b) { return _mm256_min_epu16(a, b); }
  static M at_most(I a, I b) { return equal(min(a, b), a); }
  static M has_sign(I a) { return _mm256_srai_epi16(a, 15); }
  static I shift_left(I a, int by) { return _mm256_sll_epi16(a, _mm_cvtsi32_si128(by)); }
  static I shift_right(I a, int by) { return _mm256_srl_epi16(a, _mm_cvtsi32_si128(by)); }
  static std::uint64_t marks(M m) { return static_cast<std::uint32_t>(_mm256_movemask_epi8(m)); }
  static void store(void* to, I x, bool streamed) {
    put(streamed, to, _mm256_permute4x64_epi64(x, 0xD8));
  }
};

/// 32 signed bytes, each the exponent of an operand.
struct Avx2Exponents {
  using I = __m256i;
  static constexpr std::size_t size = 32;

  static I set(int x) { return _mm256_set1_epi8(static_cast<char>(x)); }
  static I load(const std::int8_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const I*>(from));
  }
  static void store(void* to, I x) { _mm256_storeu_si256(static_cast<I*>(to), x); }
  /// Repeats four bytes over the register.
  static I broadcast(const std::uint32_t* from) {
    return _mm256_set1_epi32(static_cast<std::int32_t>(*from));
  }
  static I add_saturated(I a, I b) { return _mm256_adds_epi8(a, b); }
  static I max(I a, I b) { return _mm256_max_epi8(a, b); }
  static I min(I a, I b) { return _mm256_min_epi8(a, b); }
  /// Returns a, with y in the lanes that are x.
  static I instead_of(I a, int x, int y) {
    return _mm256_blendv_epi8(a, set(y), _mm256_cmpeq_epi8(a, set(x)));
  }
  /// Returns x + 127 as an unsigned byte, and 0 where that is negative (x = -128).
  static I biased(I x) {
    return _mm256_subs_epu8(_mm256_xor_si256(x, set(-128)), _mm256_set1_epi8(1));
  }
};

/// The unit of lanes as wide as T, float or double.
template <class T>
struct Avx2;

template <>
struct Avx2<float> : Avx2Integers {
  using F = __m256;
  using Words = Avx2<double>;  ///< the unit of 64-bit lanes
  using Bytes = Avx2Codes<1>;
  using HalfWords = Avx2Codes<2>;
  using Exponents = Avx2Exponents;
  static constexpr std::size_t lanes = 8;
  static constexpr int mark_bits = Bytes::mark_bits;

  static I set(std::uint32_t x) { return _mm256_set1_epi32(static_cast<std::int32_t>(x)); }
  static F set_number(float x) { return _mm256_set1_ps(x); }
  static F number(I x) { return _mm256_castsi256_ps(x); }
  static I bits(F x) { return _mm256_castps_si256(x); }

  static I add(I a, I b) { return _mm256_add_epi32(a, b); }
  static I sub(I a, I b) { return _mm256_sub_epi32(a, b); }
  static I shift_left(I a, int by) { return _mm256_sll_epi32(a, _mm_cvtsi32_si128(by)); }
  static I shift_right(I a, int by) { return _mm256_srl_epi32(a, _mm_cvtsi32_si128(by)); }
  static I shift_right_each(I a, I by) { return _mm256_srlv_epi32(a, by); }
  /// Minimum and maximum of signed lanes. Magnitudes are below 2^31, so that they are compared by
  /// these, too.
  static I min(I a, I b) { return _mm256_min_epi32(a, b); }
  static I max(I a, I b) { return _mm256_max_epi32(a, b); }
  static I min_unsigned(I a, I b) { return _mm256_min_epu32(a, b); }
  /// Multiplies the 16-bit halves of each lane, signed, and adds the two products: of lanes below
  /// 2^15, their product.
  static I mul_pairs(I a, I b) { return _mm256_madd_epi16(a, b); }
  /// Adds to each 16-bit half of `sum` two products of bytes, unsigned ones of a and signed ones of
  /// b, which have room in it.
  static I add_byte_products(I sum, I a, I b) {
    return _mm256_add_epi16(sum, _mm256_maddubs_epi16(a, b));
  }
  /// Replaces each byte of `index`, which is below 16, by the table's byte of that number. Where a
  /// 32-bit lane has one index, its other three bytes are 0, and byte 0 of the table must be 0 for
  /// them to stay so.
  static I look_up(I table, I index) { return _mm256_shuffle_epi8(table, index); }
  /// Returns the largest lane of each of 8 vectors, signed, in their order.
  static I largest_of_each(const I (&x)[lanes]) {
    I halves[2];  // of four vectors each: lanes 4i + k are of vector k
    for (std::size_t k = 0; k < 2; ++k) {
      const I* const of = x + 4 * k;
      const I low = max(_mm256_unpacklo_epi32(of[0], of[1]), _mm256_unpackhi_epi32(of[0], of[1]));
      const I high = max(_mm256_unpacklo_epi32(of[2], of[3]), _mm256_unpackhi_epi32(of[2], of[3]));
      halves[k] = max(_mm256_unpacklo_epi64(low, high), _mm256_unpackhi_epi64(low, high));
    }
    return max(_mm256_permute2x128_si256(halves[0], halves[1], 0x20),
               _mm256_permute2x128_si256(halves[0], halves[1], 0x31));
  }
  static F to_number(I x) { return _mm256_cvtepi32_ps(x); }  ///< signed
  static I truncated(F x) { return _mm256_cvttps_epi32(x); }
  static I magnitude(I x) { return _mm256_abs_epi32(x); }
  /// Returns the smaller magnitude of two numbers, of which b is positive and only a may be a NaN,
  /// a quiet one.
  static I least_magnitude(I a, I b) { return min(bit_and(a, set(0x7FFFFFFF)), b); }
  static F broadcast(const float* from) { return set_number(*from); }

  static M equal(I a, I b) { return _mm256_cmpeq_epi32(a, b); }
  static M greater(I a, I b) { return _mm256_cmpgt_epi32(a, b); }  ///< signed
  static M greater_unsigned(I a, I b) {
    const I sign = set(0x80000000);
    return greater(bit_xor(a, sign), bit_xor(b, sign));
  }
  static M has_sign(I a) { return _mm256_srai_epi32(a, 31); }
  static M has_last_bit(I a) { return has_sign(_mm256_slli_epi32(a, 31)); }
  static I select_by_sign(I of, I negative, I positive) {
    return bits(_mm256_blendv_ps(number(positive), number(negative), number(of)));
  }
  static I plus_one(I a, M m) { return sub(a, m); }
  static I minus_one(I a, M m) { return add(a, m); }

  static F add(F a, F b) { return _mm256_add_ps(a, b); }
  static F sub(F a, F b) { return _mm256_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  static F div(F a, F b) { return _mm256_div_ps(a, b); }
  static F root(F a) { return _mm256_sqrt_ps(a); }
  static F mul_add(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  static F mul_sub(F a, F b, F c) { return _mm256_fmsub_ps(a, b, c); }   ///< a·b - c, rounded once
  static F sub_mul(F a, F b, F c) { return _mm256_fnmadd_ps(b, c, a); }  ///< a - b·c
  static M nonzero(F a) { return bits(_mm256_cmp_ps(a, _mm256_setzero_ps(), _CMP_NEQ_OQ)); }
  /// Returns floor(x) of 0 <= x < 2^32 as an unsigned integer.
  static I floor_unsigned(F x) {
    const F half = set_number(0x1p31F);
    const F is_high = _mm256_cmp_ps(x, half, _CMP_GE_OQ);
    const I low = _mm256_cvttps_epi32(_mm256_sub_ps(x, _mm256_and_ps(is_high, half)));
    return _mm256_xor_si256(low, _mm256_slli_epi32(bits(is_high), 31));
  }

  /// Returns `mark_bits` equal bits for each lane of four masks.
  static std::uint64_t marks(const M* x) { return Bytes::marks(Bytes::pack_masks(x)); }

  /// Loads `lanes` floats as numbers of the unit.
  static F load_floats(const float* from) { return _mm256_loadu_ps(from); }
  /// Loads `lanes` words of 32 bits, one into each lane.
  static I load_words(const std::uint32_t* from) { return load(from); }
  /// Returns the sum of the lanes as unsigned numbers.
  static std::uint64_t total(I x) {
    alignas(bytes) std::uint32_t lane[lanes];
    store(lane, x);
    std::uint64_t out = 0;
    for (const std::uint32_t count : lane) out += count;
    return out;
  }
  /// Loads `lanes` unsigned integers of `size` bytes each: 1, 2 or 4, and 8 into 64-bit lanes.
  static I load_narrow(const void* from, std::size_t size) {
    if (size == 4) return load(from);
    if (size == 2) return _mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<const __m128i*>(from)));
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(from)));
  }
};

template <>
struct Avx2<double> : Avx2Integers {
  using F = __m256d;
  using Words = Avx2<double>;
  static constexpr std::size_t lanes = 4;
  static constexpr int mark_bits = 2 * Avx2Codes<1>::mark_bits;

  static I set(std::uint64_t x) { return _mm256_set1_epi64x(static_cast<std::int64_t>(x)); }
  static F set_number(double x) { return _mm256_set1_pd(x); }
  static F number(I x) { return _mm256_castsi256_pd(x); }
  static I bits(F x) { return _mm256_castpd_si256(x); }

  static I add(I a, I b) { return _mm256_add_epi64(a, b); }
  static I sub(I a, I b) { return _mm256_sub_epi64(a, b); }
  static I shift_left(I a, int by) { return _mm256_sll_epi64(a, _mm_cvtsi32_si128(by)); }
  static I shift_right(I a, int by) { return _mm256_srl_epi64(a, _mm_cvtsi32_si128(by)); }
  static I shift_right_each(I a, I by) { return _mm256_srlv_epi64(a, by); }
  static I min(I a, I b) { return select(greater(a, b), b, a); }
  static I max(I a, I b) { return select(greater(a, b), a, b); }

  static M equal(I a, I b) { return _mm256_cmpeq_epi64(a, b); }
  static M greater(I a, I b) { return _mm256_cmpgt_epi64(a, b); }
  static M greater_unsigned(I a, I b) {
    const I sign = set(std::uint64_t{1} << 63);
    return greater(bit_xor(a, sign), bit_xor(b, sign));
  }
  static M has_sign(I a) { return greater(zero(), a); }
  static M has_last_bit(I a) { return has_sign(_mm256_slli_epi64(a, 63)); }
  static I select_by_sign(I of, I negative, I positive) {
    return bits(_mm256_blendv_pd(number(positive), number(negative), number(of)));
  }
  static I plus_one(I a, M m) { return sub(a, m); }
  static I minus_one(I a, M m) { return add(a, m); }

  static F add(F a, F b) { return _mm256_add_pd(a, b); }
  static F sub(F a, F b) { return _mm256_sub_pd(a, b); }
  static F mul(F a, F b) { return _mm256_mul_pd(a, b); }
  static F div(F a, F b) { return _mm256_div_pd(a, b); }
  static F root(F a) { return _mm256_sqrt_pd(a); }
  static F mul_add(F a, F b, F c) { return _mm256_fmadd_pd(a, b, c); }
  static F mul_sub(F a, F b, F c) { return _mm256_fmsub_pd(a, b, c); }
  static F sub_mul(F a, F b, F c) { return _mm256_fnmadd_pd(b, c, a); }
  static M nonzero(F a) { return bits(_mm256_cmp_pd(a, _mm256_setzero_pd(), _CMP_NEQ_OQ)); }
  static I floor_unsigned(F x) {
    const F above = set_number(0x1p52);  // its ulp is 1, so its last bits count
    return bit_xor(bits(add(_mm256_floor_pd(x), above)), bits(above));
  }

  /// Each lane is two words of 32 bits. mul_words returns the 64-bit product of the lower words,
  /// high_words the upper word in the place of the lower one, join_words the lower word of a below
  /// that of b.
  static I mul_words(I a, I b) { return _mm256_mul_epu32(a, b); }
  static I high_words(I a) { return _mm256_srli_epi64(a, 32); }
  static I join_words(I a, I b) { return _mm256_blend_epi32(a, _mm256_slli_epi64(b, 32), 0xAA); }
  /// Pairs {lane of a, lane of b}: low_pairs of the even lanes, high_pairs of the odd ones. Where
  /// lane i holds the number lane_order[i], low_pairs and then high_pairs hold the pairs of the
  /// numbers 0, 1, 2, … in ascending order.
  static constexpr std::uint64_t lane_order[lanes]{0, 2, 1, 3};
  static I low_pairs(I a, I b) { return _mm256_unpacklo_epi64(a, b); }
  static I high_pairs(I a, I b) { return _mm256_unpackhi_epi64(a, b); }

  static std::uint64_t marks(const M* x) {
    return Avx2Codes<1>::marks(Avx2Codes<1>::pack_masks(x));
  }

  static F load_floats(const float* from) { return _mm256_cvtps_pd(_mm_loadu_ps(from)); }
  static F load_integers(const std::int32_t* from) {
    return _mm256_cvtepi32_pd(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  /// Returns the integer part.
  static F toward_zero(F a) { return _mm256_round_pd(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }
  /// Returns the lanes of a, then the lanes of b, rounded to floats.
  static __m256i narrow(F a, F b) {
    return _mm256_castps_si256(_mm256_set_m128(_mm256_cvtpd_ps(b), _mm256_cvtpd_ps(a)));
  }
  static I load_words(const std::uint32_t* from) {
    return _mm256_cvtepu32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  static std::uint64_t total(I x) {
    alignas(bytes) std::uint64_t lane[lanes];
    store(lane, x);
    return lane[0] + lane[1] + lane[2] + lane[3];
  }
  /// Stores the lanes of four vectors, one after the other, as integers of `size` bytes, in which
  /// they have room.
  static void store_narrow(void* to, const I (&x)[4], std::size_t size) {
    auto* out = static_cast<char*>(to);
    if (size == 8) {
      for (std::size_t k = 0; k < 4; ++k) store(out + k * bytes, x[k]);
      return;
    }
    const I even = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
    __m128i words[4];
    for (std::size_t k = 0; k < 4; ++k) {
      words[k] = _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(x[k], even));
    }
    if (size == 4) {
      for (std::size_t k = 0; k < 4; ++k) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + k * 16), words[k]);
      }
      return;
    }
    const __m128i low = _mm_packus_epi32(words[0], words[1]);
    const __m128i high = _mm_packus_epi32(words[2], words[3]);
    if (size == 2) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out), low);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 16), high);
      return;
    }
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_packus_epi16(low, high));
  }
  static I load_narrow(const void* from, std::size_t size) {
    if (size == 8) return load(from);
    if (size == 4) return _mm256_cvtepu32_epi64(_mm_loadu_si128(static_cast<const __m128i*>(from)));
    if (size == 2) return _mm256_cvtepu16_epi64(_mm_loadl_epi64(static_cast<const __m128i*>(from)));
    std::int32_t word;
    __builtin_memcpy(&word, from, sizeof word);
    return _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(word));
  }
};

}  // namespace binade::fast

BINADE_AVX2_END
