// SPDX-License-Identifier: Apache-2.0
//
// `elementwise` of emulate/elementwise.h on floats, equal in every bit and count, by vectors of V.
// V is the level's vector unit (avx2.h, avx512.h): a struct of types and functions for its vectors.
// A tile's results are rounded to odd (vector_exact.h), in binary32 where that decides the result
// and else in binary64; then they are rounded onto the format's grid (vector_quantize.h).
//
//     operands ── binary32, to odd ── undecided? ── binary64, to odd ── NaN or infinity? ── one by one: the definition
//     bits        24: decides p <= 22               53: decides p <= 24
//
//     1 / 3 to binary16      1.01010101010101010101010|1010… · 2^-2     exact
//     binary32, to odd       1.01010101010101010101011       · 2^-2     24 bits: the last is set, since a rest was lost
//     binary16               1.0101010101                    · 2^-2     11 bits: 0x3555, 0.333251953125
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "emulate/fast/elementwise.h"
#include "emulate/fast/kernels.h"
#include "emulate/fast/quantize_tile.h"
#include "emulate/fast/vector_exact.h"
#include "emulate/fast/vector_quantize.h"

namespace binade::fast {

/// An operation computed in Ts, float or double: to odd, then quantized.
template <class V, std::floating_point T>
struct ExactWay {
  using Quantizer = VectorQuantizer<V, T>;
  using Bits = typename Carrier<T>::Bits;

  TileQuantizer<T> quantizer;
  typename Quantizer::Run quantize;
  TurnedSigns<Bits> turned;
  typename ExactLanes<V, T>::Compute results_of;

  ExactWay(const Elementwise& how, const Attributes& attributes)
      : quantizer({how.to, attributes, how.seed, how.stream}),
        quantize(Quantizer::template run_of<AsNumbers<V>>(quantizer)),
        turned(turned_signs<T>(how.operation, attributes.rounding)),
        // Stochastic rounding reads bits below the precision, so that there a lost bit leaves the
        // result undecided.
        results_of(ExactLanes<V, T>::compute_of(how.operation, (turned.left | turned.right) != 0,
                                                attributes.rounding == Rounding::stochastic)) {}

  bool known() const { return quantize != nullptr && results_of != nullptr; }
  /// Computes whole groups from element `at` up to n, to odd: ExactLanes::compute.
  auto compute(const ElementOperands& x, std::size_t at, std::size_t n, Bits* exact) const {
    return results_of(x, at, n, turned, quantizer.plan.max, exact);
  }
  /// Rounds n results onto the grid. `overflows` is that of VectorQuantizer's Call; `next` are
  /// operands to prefetch meanwhile.
  void round(const Bits* exact, void* out, std::size_t n, std::uint64_t first, bool overflows,
             bool streamed, EventCounts& counts, const ElementOperands& next = {}) const {
    const auto bytes = [](const float* x) { return reinterpret_cast<const std::byte*>(x); };
    quantize(reinterpret_cast<const T*>(exact), static_cast<std::byte*>(out),
             {quantizer,
              nullptr,
              first,
              n,
              streamed,
              counts,
              {bytes(next.a), bytes(next.b), bytes(next.c)},
              overflows});
  }
};

/// An operation, made ready for tiles of floats. V is a unit of 32-bit lanes.
template <class V>
struct VectorElementwise {
  using Wide = typename V::Words;
  using I = typename V::I;

  static constexpr std::size_t tile = 2048;
  static constexpr std::size_t wide_tile = 512;
  static constexpr std::size_t group = ExactLanes<V, float>::group;

  const Elementwise& how;
  EventCounts& counts;
  int operands;
  ExactWay<V, float> narrow;
  ExactWay<Wide, double> wide;
  bool is_narrow;                  ///< binary32 is tried first: p <= 22, or a choice
  std::uint32_t flushed_below[3];  ///< DAZ: least normal number of each operand's format
  SpecialResults special_results;

  VectorElementwise(const Elementwise& x, EventCounts& to)
      : how(x),
        counts(to),
        operands(operand_count(x.operation)),
        narrow(x, unflushed(x)),
        wide(x, unflushed(x)),
        is_narrow(narrow.known() && (x.to.precision <= 22 || selects(x.operation))),
        flushed_below{first_normal<float>(x.from[0]), first_normal<float>(x.from[1]),
                      first_normal<float>(x.from[2])},
        special_results(x) {}

  /// Returns the attributes without DAZ: operands are flushed before the operation.
  static Attributes unflushed(const Elementwise& how) {
    Attributes out = how.attributes;
    out.flush_operands = false;
    return out;
  }
  bool known() const {
    if (!wide.known()) return false;
    return how.attributes.rounding != Rounding::stochastic ||
           how.operation == Operation::multiply || selects(how.operation) ||
           how.to.precision + how.attributes.random_bits <= 52;
  }

  static ElementOperands from_place(const ElementOperands& x, std::size_t at) {
    return {x.a + at, x.b + at, x.c + at};
  }
  static std::size_t whole_groups(std::size_t n) { return (n + group - 1) / group * group; }

  /// Computes n <= tile elements; the operands' arrays are readable up to a whole group.
  void operator()(const ElementOperands& x, float* out, std::size_t n, std::uint64_t first,
                  bool streamed) const {
    if (how.attributes.flush_operands && has_subnormal(x, n)) {
      return each_wide(n, [&](std::size_t at, std::size_t count) {
        flushed_tile(from_place(x, at), out + at, count, first + at);
      });
    }
    if (is_narrow) {
      alignas(V::bytes) std::array<std::uint32_t, tile> exact;
      const std::size_t padded = whole_groups(n);
      const auto computed = narrow.compute(x, 0, padded, exact.data());
      if (computed.end == padded) {
        ElementOperands next{};
        if (streamed) {
          next = from_place(x, tile);
          if (operands < 2) next.b = nullptr;
          if (operands < 3) next.c = nullptr;
        }
        return narrow.round(exact.data(), out, n, first, computed.overflows, streamed, counts,
                            next);
      }
    }
    each_wide(n, [&](std::size_t at, std::size_t count) {
      const ElementOperands here = from_place(x, at);
      in_binary64(here, here, out + at, count, first + at, streamed, nullptr);
    });
  }

 private:
  template <class F>
  static void each_wide(std::size_t n, const F& f) {
    for (std::size_t at = 0; at < n; at += wide_tile)
      f(at, n - at < wide_tile ? n - at : wide_tile);
  }

  /// Computes n <= wide_tile elements in binary64. `given` are the operands before they were
  /// flushed, and `unflushed_results` their results, to odd; null where no operand was flushed.
  [[gnu::noinline]] void in_binary64(const ElementOperands& x, const ElementOperands& given,
                                     float* out, std::size_t n, std::uint64_t first, bool streamed,
                                     std::uint64_t* unflushed_results) const {
    constexpr std::size_t step = ExactLanes<Wide, double>::group;
    const std::size_t padded = whole_groups(n);
    alignas(V::bytes) std::array<std::uint64_t, wide_tile> exact, results;
    struct {
      std::size_t place;
      float value;
    } specials[wide_tile];
    std::size_t special_count = 0;
    for (std::size_t at = wide.compute(x, 0, padded, exact.data()).end; at < padded;
         at = wide.compute(x, at + step, padded, exact.data()).end) {
      for (std::size_t i = at; i < at + step && i < n; ++i) {
        if (!is_special(exact[i], from_place(x, i))) continue;
        const float value = unflushed_results == nullptr && is_known(exact[i], from_place(given, i))
                                ? known_result(exact[i], from_place(given, i))
                                : defined(from_place(given, i), first + i);
        specials[special_count++] = {i, value};
        exact[i] = 0;
        if (unflushed_results != nullptr) unflushed_results[i] = 0;
      }
    }
    counts.values -= special_count;  // in `exact` they are zeros, which `round` counts once more
    wide.round(exact.data(), results.data(), n, first, true, false, counts);
    if (unflushed_results != nullptr) {
      count_flushed(unflushed_results, exact.data(), results.data(), n);
    }
    store_floats(results.data(), out, n, streamed && special_count == 0);
    for (std::size_t i = 0; i < special_count; ++i) out[specials[i].place] = specials[i].value;
  }

  static std::uint32_t magnitude_of(const float* x) {
    std::uint32_t bits;
    std::memcpy(&bits, x, sizeof bits);
    return bits & RoundingPlan<float>::magnitude_bits;
  }
  /// Returns whether an operand's magnitude is at least this one.
  static bool any_from(std::uint32_t magnitude, const ElementOperands& x) {
    return magnitude_of(x.a) >= magnitude || magnitude_of(x.b) >= magnitude ||
           magnitude_of(x.c) >= magnitude;
  }
  /// Returns whether an element needs more than a rounding: its result is a NaN or an infinity, it
  /// divides by infinity, or it chooses among operands one of which is a NaN or an infinity.
  bool is_special(std::uint64_t exact, const ElementOperands& x) const {
    using Plan = RoundingPlan<double>;
    constexpr std::uint32_t infinity = RoundingPlan<float>::infinity;
    return (exact & Plan::magnitude_bits) >= Plan::infinity ||
           (how.operation == Operation::divide && magnitude_of(x.b) == infinity) ||
           (selects(how.operation) && any_from(infinity, x));
  }
  /// Returns whether `known_result` has a special element's result; if not, the definition computes
  /// it.
  bool is_known(std::uint64_t exact, const ElementOperands& x) const {
    using Plan = RoundingPlan<double>;
    if ((exact & Plan::magnitude_bits) < Plan::infinity || selects(how.operation)) return false;
    return special_results.nan_is_known || !any_from(RoundingPlan<float>::infinity + 1, x);
  }
  static bool is_signaling(const float* x) {
    constexpr std::uint32_t quiet = 0x00400000;
    const std::uint32_t magnitude = magnitude_of(x);
    return magnitude > RoundingPlan<float>::infinity && (magnitude & quiet) == 0;
  }
  /// Returns whether an element with a NaN operand raises invalid. Operands are as they were before
  /// they were flushed, none of which is subnormal.
  bool raises_invalid(const ElementOperands& x) const {
    constexpr std::uint32_t infinity = RoundingPlan<float>::infinity;
    const std::uint32_t a = magnitude_of(x.a), b = magnitude_of(x.b);
    return !how.to.has_nan() || is_signaling(x.a) || is_signaling(x.b) || is_signaling(x.c) ||
           (how.operation == Operation::multiply_add &&
            ((a == 0 && b == infinity) || (a == infinity && b == 0)));
  }
  float known_result(std::uint64_t exact, const ElementOperands& x) const {
    constexpr std::uint32_t infinity = RoundingPlan<float>::infinity;
    counts.values += 1;
    if (any_from(infinity + 1, x)) {
      counts.nan_in += 1;
      counts.invalid += raises_invalid(x) ? 1 : 0;
      return special_results.nan;
    }
    counts.inf_in += any_from(infinity, x) ? 1 : 0;
    if ((exact & RoundingPlan<double>::magnitude_bits) == RoundingPlan<double>::infinity) {
      return special_results.infinity[exact >> 63];
    }
    counts.invalid += 1;
    return special_results.invalid;
  }
  [[gnu::noinline]] float defined(const ElementOperands& x, std::uint64_t place) const {
    float out;
    definitions().elementwise_f32(x.a, x.b, x.c, &out, 1, place, how, counts);
    return out;
  }

  static void store_floats(const std::uint64_t* from, float* to, std::size_t n, bool streamed) {
    const auto floats_at = [&](std::size_t i) {
      return Wide::narrow(Wide::number(Wide::load(from + i)),
                          Wide::number(Wide::load(from + i + Wide::lanes)));
    };
    std::size_t i = 0;
    for (; i + V::lanes <= n; i += V::lanes) {
      V::put(streamed, to + i, floats_at(i));
    }
    if (i == n) return;
    alignas(V::bytes) std::array<float, V::lanes> last;
    V::store(last.data(), floats_at(i));
    std::memcpy(to + i, last.data(), (n - i) * sizeof(float));
  }

  /// DAZ: returns the magnitude in lanes where it is nonzero and less than `below`, else 0.
  static I flushed_part(I x, I magnitude, I below) {
    const I a = V::bit_and(x, magnitude);
    return V::where(V::greater(below, a), a);
  }
  bool has_subnormal(const ElementOperands& x, std::size_t n) const {
    const float* const of[3]{x.a, x.b, x.c};
    const I magnitude = V::set(RoundingPlan<float>::magnitude_bits);
    I found = V::zero();
    for (int k = 0; k < operands; ++k) {
      const I below = V::set(flushed_below[k]);
      for (std::size_t i = 0; i < n; i += V::lanes) {
        found = V::bit_or(found, flushed_part(V::load(of[k] + i), magnitude, below));
      }
    }
    return V::any(V::greater(found, V::zero()));
  }

  /// Computes n <= wide_tile elements with flushed operands, and the operation on the operands as
  /// they are, too: the counts compare the two.
  [[gnu::noinline]] void flushed_tile(const ElementOperands& x, float* out, std::size_t n,
                                      std::uint64_t first) const {
    const float* const of[3]{x.a, x.b, x.c};
    const std::size_t padded = whole_groups(n);
    alignas(V::bytes) std::array<float, wide_tile> flushed[3];
    alignas(V::bytes) std::array<std::uint64_t, wide_tile> unflushed_results;
    const I magnitude = V::set(RoundingPlan<float>::magnitude_bits);
    for (int k = 0; k < 3; ++k) {
      const I below = V::set(flushed_below[k]);
      for (std::size_t i = 0; i < padded; i += V::lanes) {
        const I operand = V::load(of[k] + i);
        V::store(flushed[k].data() + i, V::sub(operand, flushed_part(operand, magnitude, below)));
      }
    }
    constexpr std::size_t step = ExactLanes<Wide, double>::group;
    for (std::size_t at = 0; at < padded; at += step) {
      at = wide.compute(x, at, padded, unflushed_results.data()).end;
    }
    in_binary64({flushed[0].data(), flushed[1].data(), flushed[2].data()}, x, out, n, first, false,
                unflushed_results.data());
  }

  /// Adds the events that the rounding of flushed results did not count: a result counts as inexact
  /// or as a new zero against the result that the operands as they are would have. A flushed result
  /// is one operand, a product or zero: exact in binary64, with an even last bit, so it equals no
  /// result that lost bits and was rounded to odd. Operands whose own result is a NaN (the root of
  /// a negative subnormal number) have no exact result to compare with.
  void count_flushed(const std::uint64_t* exact, const std::uint64_t* flushed,
                     const std::uint64_t* results, std::size_t n) const {
    constexpr std::uint64_t magnitude = RoundingPlan<double>::magnitude_bits;
    std::uint64_t to_zero = 0, inexact = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const bool is_nan = (exact[i] & magnitude) > RoundingPlan<double>::infinity;
      const std::uint64_t unflushed = is_nan ? flushed[i] : exact[i];
      const std::uint64_t e = unflushed & magnitude, f = flushed[i] & magnitude;
      const std::uint64_t r = results[i] & magnitude;
      const std::uint64_t was = e != 0 ? 1 : 0, is = f != 0 ? 1 : 0;
      to_zero += r == 0 ? was - is : 0;
      inexact += unflushed != flushed[i] && (was | is) != 0 && r == f ? 1 : 0;
    }
    counts.to_zero += to_zero;
    counts.inexact += inexact;
  }
};

template <class V>
void elementwise_vectors(const float* a, const float* b, const float* c, float* out, std::size_t n,
                         std::uint64_t first, const Elementwise& how, EventCounts& counts) {
  using Vectors = VectorElementwise<V>;
  const Vectors elements(how, counts);
  if (!elements.known()) {
    return own_kernels(Level::portable).elementwise_f32(a, b, c, out, n, first, how, counts);
  }
  if (elements.operands < 2) b = a;
  if (elements.operands < 3) c = a;
  const bool streamed = n * sizeof(float) >= streamed_bytes && out != a && out != b && out != c;
  constexpr std::size_t tile = Vectors::tile, group = Vectors::group;
  // Where results are streamed, the first tile ends at a multiple of V::bytes.
  const std::size_t past = reinterpret_cast<std::uintptr_t>(out) % V::bytes;
  std::size_t count = streamed && past != 0 ? (V::bytes - past) / sizeof(float) : tile;
  for (std::size_t done = 0; done < n; done += count, count = tile) {
    if (n - done < count) count = n - done;
    ElementOperands x{a + done, b + done, c + done};
    if (count % group == 0) {
      elements(x, out + done, count, first + done, streamed);
      continue;
    }
    // The last group is filled with ones: every operation on them gives a number.
    std::array<float, tile> padded[3];
    const float** const of[3]{&x.a, &x.b, &x.c};
    for (int k = 0; k < 3; ++k) {
      if (k < elements.operands) {
        const std::size_t end = Vectors::whole_groups(count);
        for (std::size_t i = count; i < end; ++i) padded[k][i] = 1;
        std::memcpy(padded[k].data(), *of[k], count * sizeof(float));
        *of[k] = padded[k].data();
      } else {
        *of[k] = x.a;
      }
    }
    elements(x, out + done, count, first + done, false);
  }
  if (streamed) V::streamed();
}

}  // namespace binade::fast
