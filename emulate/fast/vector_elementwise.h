// SPDX-License-Identifier: Apache-2.0
//
// `elementwise` of emulate/elementwise.h by vectors of a level's unit V (avx2.h, avx512.h): a tile's results to odd, in
// binary32 where that is proven and else in binary64, then onto the grid as `quantize` goes (vector_quantize.h).
//
//     operands ── binary32 to odd ── in doubt? ── binary64 to odd ── no number? ── the definition
//                        `- of 24 bits: p <= 22       `- of 53 bits, never lost
//
// A result to odd is the machine's, moved by what it lost, of which a fused operation tells the sign (a sum's rest is
// exact by Knuth, TAOCP 2, 4.2.2): a rounding to two bits less, in any direction, is that of the exact result (Boldo and
// Melquiond 2008), and it is exact where nothing was lost. In doubt is a product, a quotient or a root
// whose rest may be less than the least number, a sum of a product that is not exact, and all that is near infinity.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "emulate/fast/kernels.h"
#include "emulate/fast/quantize_tile.h"
#include "emulate/fast/vector_quantize.h"

namespace binade::fast {

/// n elements of each operand; who has less than three repeats one.
struct OperandTile {
  const float *a, *b, *c;
};

/// Signs that are turned, as bits of a T: of what is added and of the sum. -(-x - y) is -0 toward negative, where x + y,
/// to nearest, is +0.
template <class Bits>
struct TurnedSigns {
  Bits left, right, result;
};

template <std::floating_point T>
TurnedSigns<typename Carrier<T>::Bits> turned_signs(Operation operation, Rounding rounding) {
  using Bits = typename Carrier<T>::Bits;
  const bool adds = operation == Operation::add || operation == Operation::subtract ||
                    operation == Operation::multiply_add;
  constexpr Bits sign = ~RoundingPlan<T>::magnitude_bits;
  const Bits all = adds && rounding == Rounding::toward_negative ? sign : 0;
  return {all, operation == Operation::subtract ? all ^ sign : all, all};
}

/// The operations' results to odd, in Ts.
template <class V, std::floating_point T>
struct ExactLanes {
  using I = typename V::I;
  using F = typename V::F;
  using M = typename V::M;
  using Plan = RoundingPlan<T>;
  using Bits = typename Plan::Bits;

  static constexpr std::size_t group = 4 * V::lanes;
  static constexpr bool is_narrow = sizeof(T) == sizeof(float);
  /// Magnitudes, zeros left out: what smaller ones lose may be less than half the least number. 2^-100; 2^-900.
  static constexpr Bits least = static_cast<Bits>(Plan::carrier.bias - (is_narrow ? 100 : 900))
                                << Plan::carrier.fraction_bits();
  /// And from where a sum's rest may overflow on the way: 2^127; 2^1023.
  static constexpr Bits most = static_cast<Bits>(2 * Plan::carrier.bias)
                               << Plan::carrier.fraction_bits();

  /// `x`, computed toward zero where the machine names its roundings, else to nearest; `rest`: the exact result less x;
  /// `beyond`: has a sign where the exact result's magnitude is smaller.
  static I to_odd(F x, F rest, I beyond) {
    const M is_lost = V::nonzero(rest);
    I bits = V::bits(x);
    if constexpr (!NamesRounding<V>) {
      bits = V::minus_one(bits, V::both(is_lost, V::has_sign(beyond)));
    }
    return V::bit_or(bits, V::where(is_lost, V::set(1)));
  }
  static I sum(F a, F b) {
    if constexpr (NamesRounding<V>) {
      const M is_lost = V::differ(V::template add<1>(a, b), V::template add<2>(a, b));
      return V::bit_or(V::bits(V::template add<3>(a, b)), V::where(is_lost, V::set(1)));
    } else {
      const F s = V::add(a, b);
      const F b_part = V::sub(s, a);
      const F rest = V::add(V::sub(a, V::sub(s, b_part)), V::sub(b, b_part));
      return to_odd(s, rest, V::bit_xor(V::bits(rest), V::bits(s)));
    }
  }
  static F product(F a, F b) {
    if constexpr (NamesRounding<V>) {
      return V::template mul<3>(a, b);
    } else {
      return V::mul(a, b);
    }
  }
  static F quotient(F a, F b) {
    if constexpr (NamesRounding<V>) {
      return V::template div<3>(a, b);
    } else {
      return V::div(a, b);
    }
  }
  static F root(F a) {
    if constexpr (NamesRounding<V>) {
      return V::template root<3>(a);
    } else {
      return V::root(a);
    }
  }

  /// What must not be near the carrier's least number.
  template <Operation operation>
  static I smaller(F a, F b, I magnitude) {
    if constexpr (operation == Operation::square_root) return V::bit_and(V::bits(a), magnitude);
    if constexpr (operation == Operation::divide) {
      return V::min(V::bit_and(V::bits(a), magnitude),
                    V::bit_and(V::bits(quotient(a, b)), magnitude));
    }
    return V::bit_and(V::bits(product(a, b)), magnitude);
  }
  /// Whether that is so for another reason than a zero operand.
  template <Operation operation>
  [[gnu::noinline]] static bool has_small(const OperandTile& x, std::size_t at) {
    const I magnitude = V::set(Plan::magnitude_bits);
    bool found = false;
    for (std::size_t i = at; i < at + group; i += V::lanes) {
      const F a = V::load_floats(x.a + i), b = V::load_floats(x.b + i);
      const I factor = V::min(V::bit_and(V::bits(a), magnitude), V::bit_and(V::bits(b), magnitude));
      const M is_small = V::greater(V::set(least), smaller<operation>(a, b, magnitude));
      found = found || V::any(V::but_not(is_small, V::equal(factor, V::zero())));
    }
    return found;
  }

  /// Results of whole groups from `at` up to n, as bits. Returns the first group with one in doubt, whose own are
  /// written, too; n if there is none. `ahead`: how many bytes ahead operands are asked for; 0: none are.
  template <Operation operation>
  static std::size_t compute(const OperandTile& x, std::size_t at, std::size_t n,
                             const TurnedSigns<Bits>& turned, std::size_t ahead, Bits* out) {
    constexpr bool has_b = operation != Operation::square_root;
    constexpr bool has_c = operation == Operation::multiply_add;
    const I magnitude = V::set(Plan::magnitude_bits);
    const I left = V::set(turned.left), right = V::set(turned.right), all = V::set(turned.result);
    for (; at < n; at += group) {
      for (std::size_t k = 0; ahead != 0 && k < group * sizeof(float); k += 64) {
        V::prefetch(reinterpret_cast<const std::byte*>(x.a + at) + ahead + k);
        if (has_b) V::prefetch(reinterpret_cast<const std::byte*>(x.b + at) + ahead + k);
        if (has_c) V::prefetch(reinterpret_cast<const std::byte*>(x.c + at) + ahead + k);
      }
      I largest = V::zero(), smallest = magnitude, rests = V::zero();
      for (std::size_t i = at; i < at + group; i += V::lanes) {
        const F a = V::load_floats(x.a + i);
        F b = a;
        if constexpr (has_b) b = V::load_floats(x.b + i);
        I r;
        if constexpr (operation == Operation::add) {
          r = sum(V::number(V::bit_xor(V::bits(a), left)),
                  V::number(V::bit_xor(V::bits(b), right)));
          r = V::bit_xor(r, all);
        } else if constexpr (operation == Operation::multiply) {
          const F p = product(a, b);
          const F rest = V::mul_sub(a, b, p);
          r = to_odd(p, rest, V::bit_xor(V::bits(rest), V::bits(p)));
          smallest = V::min(smallest, V::bit_and(V::bits(p), magnitude));
        } else if constexpr (operation == Operation::divide) {
          const F q = quotient(a, b);
          const F rest = V::sub_mul(a, q, b);
          r = to_odd(q, rest, V::bit_xor(V::bits(rest), V::bits(b), V::bits(q)));
          smallest = V::min(smallest, V::min(V::bit_and(V::bits(a), magnitude),
                                             V::bit_and(V::bits(q), magnitude)));
          largest = V::max(largest, V::bit_and(V::bits(b), magnitude));  // 0 / infinity
        } else if constexpr (operation == Operation::square_root) {
          const F s = root(a);
          const F rest = V::sub_mul(a, s, s);
          r = to_odd(s, rest, V::bits(rest));
          smallest = V::min(smallest, V::bit_and(V::bits(a), magnitude));
        } else {
          const F p = product(a, b), c = V::load_floats(x.c + i);
          if constexpr (is_narrow) {
            rests = V::bit_or(rests, V::bits(V::mul_sub(a, b, p)));
            smallest = V::min(smallest, V::bit_and(V::bits(p), magnitude));
          }
          r = sum(V::number(V::bit_xor(V::bits(p), left)),
                  V::number(V::bit_xor(V::bits(c), right)));
          r = V::bit_xor(r, all);
        }
        largest = V::max(largest, V::bit_and(r, magnitude));
        V::store(out + i, r);
      }
      bool in_doubt = V::any(V::greater(largest, V::set(most - 1)));
      if constexpr (operation != Operation::add) {
        if (V::any(V::greater(V::set(least), smallest))) {
          in_doubt = in_doubt || has_small<operation>(x, at);
        }
      }
      if constexpr (operation == Operation::multiply_add && is_narrow) {
        in_doubt = in_doubt || V::any(V::greater(V::bit_and(rests, magnitude), V::zero()));
      }
      if (in_doubt) [[unlikely]]
        return at;
    }
    return n;
  }

  using Compute = std::size_t (*)(const OperandTile& x, std::size_t at, std::size_t n,
                                  const TurnedSigns<Bits>& turned, std::size_t ahead, Bits* out);
  /// Null: for the definition.
  static Compute compute_of(Operation operation) {
    switch (operation) {
      case Operation::add:
      case Operation::subtract: return &compute<Operation::add>;
      case Operation::multiply: return &compute<Operation::multiply>;
      case Operation::divide: return &compute<Operation::divide>;
      case Operation::square_root: return &compute<Operation::square_root>;
      case Operation::multiply_add: return &compute<Operation::multiply_add>;
      case Operation::remainder: return nullptr;
    }
    return nullptr;
  }
};

/// An operation's way through Ts.
template <class V, std::floating_point T>
struct ExactWay {
  using Quantizer = VectorQuantizer<V, T>;
  using Bits = typename Carrier<T>::Bits;

  TileQuantizer<T> quantizer;
  CodeLanes<V, T> no_codes;
  typename Quantizer::template Run<false> quantize;
  typename ExactLanes<V, T>::Compute compute;
  TurnedSigns<Bits> turned;

  ExactWay(const Elementwise& how, const Attributes& attributes)
      : quantizer({how.to, attributes, how.seed, how.stream}),
        no_codes(quantizer),
        quantize(Quantizer::template run_of<false>(quantizer)),
        compute(ExactLanes<V, T>::compute_of(how.operation)),
        turned(turned_signs<T>(how.operation, attributes.rounding)) {}

  bool known() const { return quantize != nullptr && compute != nullptr; }
  /// Numbers at hand onto the grid.
  void round(const Bits* exact, void* out, std::size_t n, std::uint64_t first, bool streamed,
             EventCounts& counts) const {
    quantize(reinterpret_cast<const T*>(exact), static_cast<std::byte*>(out),
             {quantizer, no_codes, first, n, streamed, counts, true});
  }
};

/// V: a unit of 32-bit lanes.
template <class V>
struct VectorElementwise {
  using Wide = typename V::Words;
  using I = typename V::I;

  static constexpr std::size_t tile = 1024;
  using Floats = std::array<float, tile>;

  const Elementwise& how;
  EventCounts& counts;
  ExactWay<V, float> narrow;
  ExactWay<Wide, double> wide;
  bool is_narrow;                              ///< whether binary32 to odd says enough
  std::array<std::uint32_t, 3> flushed_below;  ///< DAZ: magnitudes, by operand

  VectorElementwise(const Elementwise& x, EventCounts& to)
      : how(x), counts(to), narrow(x, unflushed(x)), wide(x, unflushed(x)) {
    // Stochastic rounding asks for bits below the precision.
    is_narrow =
        narrow.known() && how.to.precision <= 22 && how.attributes.rounding != Rounding::stochastic;
    for (std::size_t i = 0; i < 3; ++i) flushed_below[i] = first_normal(how.from[i]);
  }
  /// Operands are flushed before.
  static Attributes unflushed(const Elementwise& how) {
    Attributes out = how.attributes;
    out.flush_operands = false;
    return out;
  }
  /// The least float that is normal in the format, or infinity.
  static std::uint32_t first_normal(const Format& from) {
    const int e = from.emin();
    if (!from.has_zero || e <= binary32.quantum_exponent()) return 0;
    if (e > binary32.emax()) return RoundingPlan<float>::infinity;
    return e < binary32.emin()
               ? std::uint32_t{1} << (e - binary32.quantum_exponent())
               : static_cast<std::uint32_t>(e + binary32.bias) << binary32.fraction_bits();
  }
  bool known() const {
    if (!wide.known()) return false;
    return how.attributes.rounding != Rounding::stochastic ||
           how.operation == Operation::multiply ||
           how.to.precision + how.attributes.random_bits <= 52;
  }

  /// n elements, of which operands have whole groups.
  void operator()(const OperandTile& x, float* out, std::size_t n, std::uint64_t first,
                  bool streamed) const {
    const std::size_t padded = whole_groups(n);
    const std::array<const float*, 3> given{x.a, x.b, x.c};
    if (how.attributes.flush_operands) {
      const auto operands = static_cast<std::size_t>(operand_count(how.operation));
      bool any = false;
      for (std::size_t i = 0; i < operands; ++i) {
        any = any || has_subnormal(given[i], padded, flushed_below[i]);
      }
      if (any) return flushed_tile(x, out, n, first);
    }
    if (is_narrow) {
      alignas(V::bytes) std::array<std::uint32_t, tile> exact;
      const std::size_t ahead = streamed ? prefetch_distance : 0;
      if (narrow.compute(x, 0, padded, narrow.turned, ahead, exact.data()) == padded) {
        return narrow.round(exact.data(), out, n, first, streamed, counts);
      }
    }
    wide_tile(x, x, out, n, first, streamed, nullptr);
  }

 private:
  static std::size_t whole_groups(std::size_t n) {
    constexpr std::size_t group = ExactLanes<V, float>::group;
    return (n + group - 1) / group * group;
  }

  /// Elements that the definition does.
  struct Special {
    std::uint32_t place;
    float value;
  };

  /// In binary64. `given`: the operands before they were flushed; `unflushed`: their results to odd, null where none were.
  [[gnu::noinline]] void wide_tile(const OperandTile& x, const OperandTile& given, float* out,
                                   std::size_t n, std::uint64_t first, bool streamed,
                                   std::uint64_t* unflushed_results) const {
    constexpr std::size_t group = ExactLanes<Wide, double>::group;
    const std::size_t padded = whole_groups(n);
    alignas(V::bytes) std::array<std::uint64_t, tile> exact, results;
    std::array<Special, tile> specials;
    std::size_t special_count = 0;
    const auto compute_from = [&](std::size_t at) {
      return wide.compute(x, at, padded, wide.turned, 0, exact.data());
    };
    for (std::size_t at = compute_from(0); at < padded; at = compute_from(at + group)) {
      for (std::size_t i = at; i < at + group && i < n; ++i) {
        if (!is_special(exact[i], x.b[i])) continue;
        Special& special = specials[special_count++];
        special.place = static_cast<std::uint32_t>(i);
        definitions().elementwise_f32(given.a + i, given.b + i, given.c + i, &special.value, 1,
                                      first + i, how, counts);
        exact[i] = 0;
        if (unflushed_results != nullptr) unflushed_results[i] = 0;
      }
    }
    counts.values -= special_count;
    wide.round(exact.data(), results.data(), n, first, false, counts);
    if (unflushed_results != nullptr) {
      count_flushed(unflushed_results, exact.data(), results.data(), n);
    }
    store_floats(results.data(), out, n, streamed && special_count == 0);
    for (std::size_t i = 0; i < special_count; ++i) out[specials[i].place] = specials[i].value;
  }

  /// No number, or a quotient by infinity.
  bool is_special(std::uint64_t exact, const float& b) const {
    using Plan = RoundingPlan<double>;
    if ((exact & Plan::magnitude_bits) >= Plan::infinity) return true;
    std::uint32_t bits;
    std::memcpy(&bits, &b, sizeof bits);
    return how.operation == Operation::divide &&
           (bits << 1) == (RoundingPlan<float>::infinity << 1);
  }

  static void store_floats(const std::uint64_t* from, float* to, std::size_t n, bool streamed) {
    std::size_t i = 0;
    for (; i + V::lanes <= n; i += V::lanes) {
      const I x = Wide::narrow(Wide::number(Wide::load(from + i)),
                               Wide::number(Wide::load(from + i + Wide::lanes)));
      streamed ? V::stream(to + i, x) : V::store(to + i, x);
    }
    alignas(V::bytes) std::array<float, V::lanes> last;
    if (i == n) return;
    V::store(last.data(), Wide::narrow(Wide::number(Wide::load(from + i)),
                                       Wide::number(Wide::load(from + i + Wide::lanes))));
    std::memcpy(to + i, last.data(), (n - i) * sizeof(float));
  }

  static I is_flushed(I x, I magnitude, I below) {
    const I a = V::bit_and(x, magnitude);
    return V::where(V::greater(below, a), a);
  }
  static bool has_subnormal(const float* x, std::size_t n, std::uint32_t flushed_below) {
    const I magnitude = V::set(RoundingPlan<float>::magnitude_bits), below = V::set(flushed_below);
    I found = V::zero();
    for (std::size_t i = 0; i < n; i += V::lanes) {
      found = V::bit_or(found, is_flushed(V::load(x + i), magnitude, below));
    }
    return V::any(V::greater(found, V::zero()));
  }

  /// DAZ where it changes an operand: results of the operands as they are, too, for what is counted.
  [[gnu::noinline]] void flushed_tile(const OperandTile& x, float* out, std::size_t n,
                                      std::uint64_t first) const {
    const std::size_t padded = whole_groups(n);
    alignas(V::bytes) std::array<Floats, 3> flushed;
    alignas(V::bytes) std::array<std::uint64_t, tile> unflushed_results;
    const std::array<const float*, 3> given{x.a, x.b, x.c};
    const I magnitude = V::set(RoundingPlan<float>::magnitude_bits);
    for (std::size_t k = 0; k < 3; ++k) {
      const I below = V::set(flushed_below[k]);
      for (std::size_t i = 0; i < padded; i += V::lanes) {
        const I operand = V::load(given[k] + i);
        V::store(flushed[k].data() + i, V::sub(operand, is_flushed(operand, magnitude, below)));
      }
    }
    constexpr std::size_t group = ExactLanes<Wide, double>::group;
    for (std::size_t at = 0; at < padded; at += group) {
      at = wide.compute(x, at, padded, wide.turned, 0, unflushed_results.data());
    }
    wide_tile({flushed[0].data(), flushed[1].data(), flushed[2].data()}, x, out, n, first, false,
              unflushed_results.data());
  }

  /// What the rounding of flushed results did not count: those that were none without. A flushed result is exact in
  /// binary64 and no odd number there, so it equals no other that is to odd.
  void count_flushed(const std::uint64_t* exact, const std::uint64_t* flushed,
                     const std::uint64_t* results, std::size_t n) const {
    constexpr std::uint64_t magnitude = RoundingPlan<double>::magnitude_bits;
    std::uint64_t to_zero = 0, inexact = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t e = exact[i] & magnitude, f = flushed[i] & magnitude;
      const std::uint64_t r = results[i] & magnitude;
      const std::uint64_t were = e != 0 ? 1 : 0, are = f != 0 ? 1 : 0;
      to_zero += r == 0 ? were - are : 0;
      inexact += exact[i] != flushed[i] && (were | are) != 0 && r == f ? 1 : 0;
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
  const int operands = operand_count(how.operation);
  if (operands < 2) b = a;
  if (operands < 3) c = a;
  const bool streamed = n * sizeof(float) >= streamed_bytes && out != a && out != b && out != c;
  constexpr std::size_t tile = Vectors::tile, group = ExactLanes<V, float>::group;
  const std::size_t past = reinterpret_cast<std::uintptr_t>(out) % V::bytes;
  std::size_t count = streamed && past != 0 ? (V::bytes - past) / sizeof(float) : tile;
  for (std::size_t done = 0; done < n; done += count, count = tile) {
    if (n - done < count) count = n - done;
    OperandTile x{a + done, b + done, c + done};
    if (count % group == 0) {
      elements(x, out + done, count, first + done, streamed);
      continue;
    }
    // Ones, of which no operation makes what is no number.
    const auto padded = [&](const float* from, std::array<float, tile>& to) {
      for (std::size_t i = count / group * group; i < count + group && i < tile; ++i) to[i] = 1;
      std::memcpy(to.data(), from, count * sizeof(float));
      return to.data();
    };
    typename Vectors::Floats of_a, of_b, of_c;
    x.a = padded(a + done, of_a);
    x.b = operands < 2 ? x.a : padded(b + done, of_b);
    x.c = operands < 3 ? x.a : padded(c + done, of_c);
    elements(x, out + done, count, first + done, false);
  }
  if (streamed) V::streamed();
}

}  // namespace binade::fast
