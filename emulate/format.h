// SPDX-License-Identifier: Apache-2.0
//
// What a floating-point format is: a few numbers, from which everything else is derived. A format
// is a value and a row of one table, never a C++ type, so a user-made format works wherever a named
// one does.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "emulate/compiler.h"

namespace binade {

/// Which encodings are not finite numbers.
enum class Specials : std::uint8_t {
  ieee,      ///< exponent field all ones: Inf (fraction 0) and NaN (IEEE 754-2019 3.4)
  nan_only,  ///< all exponent and fraction bits ones: NaN; no Inf (OCP FP8 E4M3, OCP MX E8M0)
  none,      ///< every encoding is a number (OCP MX FP6 and FP4)
  fnuz,      ///< "finite, NaN, unsigned zero": -0's encoding is the only NaN; no Inf
};

/// A binary floating-point format. Encoding, from the most significant bit:
///
///     [sign] [exponent field: exponent_bits] [fraction: precision - 1] [padding: zeros]
///
///     binary16   39C0      0 01110 0111000000                      1.4375 · 2^(14-15) = 0.71875
///     tf32       3F380000  0 01111110 0111000000 0000000000000     0.71875, 13 bits of padding
///     e4m3       7E        0 1111 110                              1.75 · 2^(15-7) = 448
///     e2m1       7         0 11 1                                  1.5 · 2^(3-1) = 6
///     e8m0       7F        01111111                                2^(127-127) = 1
///
/// Exponent field 0 holds zero and the subnormal numbers if the format has a zero, else one more
/// binade of normal numbers.
struct Format {
  int exponent_bits = 0;  ///< width of the exponent field, 2..11
  int precision = 0;      ///< p: significand bits, the hidden one included, 1..53
  int bias = 0;           ///< exponent of a normal number = exponent field - bias
  Specials specials = Specials::ieee;
  bool has_zero = true;  ///< false: no zero and no subnormal numbers (e8m0)
  bool has_sign =
      true;  ///< false: a number's sign is dropped before it is rounded (NVIDIA's rule for e8m0)
  int padding_bits = 0;  ///< zero bits below the fraction: tf32 is left-aligned in 32 bits

  friend constexpr bool operator==(const Format&, const Format&) = default;

  constexpr int fraction_bits() const { return precision - 1; }
  /// Width of the encoding in bits, without padding.
  constexpr int bits() const { return (has_sign ? 1 : 0) + exponent_bits + fraction_bits(); }
  /// Width of the container, in which an encoding is stored: 8, 16, 32 or 64 bits.
  constexpr int storage_bits() const {
    const int used = bits() + padding_bits;
    return used <= 8 ? 8 : used <= 16 ? 16 : used <= 32 ? 32 : 64;
  }

  constexpr std::uint64_t fraction_mask() const {
    return (std::uint64_t{1} << fraction_bits()) - 1;
  }
  constexpr std::uint64_t exponent_mask() const { return (std::uint64_t{1} << exponent_bits) - 1; }

  /// Exponent of the smallest normal number.
  constexpr int emin() const { return (has_zero ? 1 : 0) - bias; }
  /// Exponent of the largest finite number.
  constexpr int emax() const {
    const bool top_binade_is_special =
        specials == Specials::ieee || (specials == Specials::nan_only && precision == 1);
    return static_cast<int>(exponent_mask()) - bias - (top_binade_is_special ? 1 : 0);
  }
  /// Significand of the largest finite number as an integer of `precision` bits.
  constexpr std::uint64_t max_significand() const {
    const std::uint64_t ones = (std::uint64_t{1} << precision) - 1;
    return specials == Specials::nan_only && precision > 1 ? ones - 1 : ones;
  }
  /// Exponent of the quantum: the smallest subnormal number (in a format without subnormals, the
  /// smallest normal one) is 2^quantum_exponent(), and all numbers are multiples of it.
  constexpr int quantum_exponent() const { return emin() - fraction_bits(); }

  constexpr bool has_infinity() const { return specials == Specials::ieee; }
  constexpr bool has_nan() const { return specials != Specials::none; }
  constexpr bool has_negative_zero() const {
    return has_zero && has_sign && specials != Specials::fnuz;
  }
  constexpr bool has_subnormals() const { return has_zero && precision > 1; }
};

/// Returns whether the toolkit's arithmetic works for a format: its numbers lie in the supported
/// ranges and its encoding has room for its special values.
constexpr bool is_valid(const Format& f) {
  return f.exponent_bits >= 2 && f.exponent_bits <= 11 && f.precision >= 1 && f.precision <= 53 &&
         f.bias >= -16384 && f.bias <= 16384 && f.padding_bits >= 0 &&
         f.bits() + f.padding_bits <= 64 &&
         (f.specials != Specials::ieee || f.precision >= 2) &&  // Inf and NaN need two encodings
         (f.specials != Specials::fnuz || (f.has_sign && f.has_zero));
}

/// Returns whether every finite number of `inner` is a number of `outer`, by precision, emax and
/// quantum. Three differences are not looked at: signs, a zero that `outer` lacks, and an `outer`
/// of equal precision and emax that ends one number earlier.
constexpr bool fits_in(const Format& inner, const Format& outer) {
  return inner.precision <= outer.precision && inner.emax() <= outer.emax() &&
         inner.quantum_exponent() >= outer.quantum_exponent();
}

/// Returns whether every value of `inner` is a value of `outer`: its numbers with their signs, its
/// zeros, infinities and NaNs.
constexpr bool holds(const Format& outer, const Format& inner) {
  if (!fits_in(inner, outer)) return false;
  const std::uint64_t largest = inner.max_significand() << (outer.precision - inner.precision);
  return (inner.emax() < outer.emax() || largest <= outer.max_significand()) &&
         (!inner.has_sign || outer.has_sign) && (!inner.has_zero || outer.has_zero) &&
         (!inner.has_negative_zero() || outer.has_negative_zero()) &&
         (!inner.has_infinity() || outer.has_infinity()) && (!inner.has_nan() || outer.has_nan());
}

/// Declares a constant for host and device. When nvcc compiles for the device, a named format must
/// be a device variable: otherwise a reference to it, such as a constexpr function's argument,
/// compiles without a warning to a null pointer (nvcc 13.0).
#if defined(__CUDA_ARCH__)
#define BINADE_CONSTANT static __device__ constexpr
#else
#define BINADE_CONSTANT inline constexpr
#endif

/// Keeps nvcc from inlining a function that a kernel calls in many places, none of which has to be
/// fast: inlining it everywhere would take most of the compile time.
#if defined(__CUDACC__)
#define BINADE_OUT_OF_LINE __noinline__
#else
#define BINADE_OUT_OF_LINE
#endif

BINADE_CONSTANT Format binary16{5, 11, 15};
BINADE_CONSTANT Format bfloat16{8, 8, 127};
BINADE_CONSTANT Format tf32{8, 11, 127, Specials::ieee, true, true, 13};
BINADE_CONSTANT Format binary32{8, 24, 127};
BINADE_CONSTANT Format binary64{11, 53, 1023};
BINADE_CONSTANT Format e4m3{4, 4, 7, Specials::nan_only};
BINADE_CONSTANT Format e5m2{5, 3, 15};
BINADE_CONSTANT Format e4m3fnuz{4, 4, 8, Specials::fnuz};
BINADE_CONSTANT Format e5m2fnuz{5, 3, 16, Specials::fnuz};
BINADE_CONSTANT Format e3m2{3, 3, 3, Specials::none};
BINADE_CONSTANT Format e2m3{2, 4, 1, Specials::none};
BINADE_CONSTANT Format e2m1{2, 2, 1, Specials::none};
BINADE_CONSTANT Format e8m0{8, 1, 127, Specials::nan_only, false, false};
BINADE_CONSTANT Format ue4m3{4, 4, 7, Specials::nan_only, true, false};

/// A row of the table of formats.
struct NamedFormat {
  std::string_view name;
  Format format;
  std::string_view source;  ///< what defines the format; its names elsewhere
};

/// The table of named formats.
inline constexpr auto formats = std::to_array<NamedFormat>({
    {"binary16", binary16, "IEEE 754-2019 3.6; PTX .f16, torch.float16"},
    {"bfloat16", bfloat16, "PTX .bf16, torch.bfloat16"},
    {"tf32", tf32, "PTX .tf32: 19 bits, left-aligned in 32"},
    {"binary32", binary32, "IEEE 754-2019 3.6; PTX .f32, torch.float32"},
    {"binary64", binary64, "IEEE 754-2019 3.6; PTX .f64, torch.float64"},
    {"e4m3", e4m3, "OCP OFP8 1.0 E4M3; PTX .e4m3, torch.float8_e4m3fn"},
    {"e5m2", e5m2, "OCP OFP8 1.0 E5M2; PTX .e5m2, torch.float8_e5m2"},
    {"e4m3fnuz", e4m3fnuz, "AMD CDNA3 FP8; torch.float8_e4m3fnuz"},
    {"e5m2fnuz", e5m2fnuz, "AMD CDNA3 BF8; torch.float8_e5m2fnuz"},
    {"e3m2", e3m2, "OCP MX 1.0 FP6 E3M2; PTX .e3m2"},
    {"e2m3", e2m3, "OCP MX 1.0 FP6 E2M3; PTX .e2m3"},
    {"e2m1", e2m1, "OCP MX 1.0 FP4 E2M1; PTX .e2m1"},
    {"e8m0", e8m0, "OCP MX 1.0 E8M0 scale; PTX .ue8m0"},
    {"ue4m3", ue4m3, "NVFP4 block scale; PTX .ue4m3"},
});

/// Returns the format of a name in the table, or nothing.
constexpr std::optional<Format> find_format(std::string_view name) {
  for (const NamedFormat& row : formats) {
    if (row.name == name) return row.format;
  }
  return std::nullopt;
}

/// Returns the name of a format in the table; "custom" for a format that is not in it.
constexpr std::string_view format_name(const Format& format) {
  for (const NamedFormat& row : formats) {
    if (row.format == format) return row.name;
  }
  return "custom";
}

}  // namespace binade
