// SPDX-License-Identifier: Apache-2.0
//
// `quantize` and `quantize_to_codes` of emulate/quantize.h, equal in every bit and count, by
// vectors of V, four at a time: a group. V is the level's vector unit (avx2.h, avx512.h): a struct
// of types and functions for its vectors. vector_rounding.h rounds a group; comparisons make one
// mark a lane, and population counts of the marks are the events. Large results are stored past the
// caches.
//
//     four vectors ── rounded ── all within the range? ── as numbers: counted, signs put back
//                                 │                    `─ as codes: fields and signs packed, counted
//                                 `─ no: overflows are replaced; NaNs and infinities are done by the definition
//
// Codes of 8 bits are packed before that is asked, held at 255: what is beyond the range is found
// by its code, in every group alike, and only what has the code of the largest magnitude that the
// rounding takes may be a NaN or an infinity.
//
//     -1.5, a float     1 01111111 10000000000000000000000
//     r, field          0 01111111 10000000000000000000000    01111 1000000000: binary16's exponent and fraction
//     a number          r | sign
//     a code            fields of two vectors packed into 16-bit lanes | first bit of each lane's sign, packed the same
//                       0 01111 1000000000  |  1 00000 0000000000 >> sign_shift (0)  =  0xBE00
//     marks             zero: r = 0; below: r < least normal; same: r = operand; one or two bits a lane, counted
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "emulate/fast/kernels.h"
#include "emulate/fast/quantize_tile.h"
#include "emulate/fast/vector_random.h"
#include "emulate/fast/vector_rounding.h"

namespace binade::fast {

/// Counts of marks; each lane has `mark_bits` equal bits in a mark word. It is a template, although
/// it does not use V, so that each level has its own, compiled to the level's instructions.
template <class V>
struct EventMarks {
  std::uint64_t zeros_in = 0, zeros = 0, below_normal = 0, overflows = 0, exact = 0;
  std::uint64_t vanished = 0;  ///< zeros among the operands that scaling made

  /// Marks of a group: results that are zero, that are below the least normal number, and that
  /// equal their operand. A zero that equals its operand was one before. Returns whether there are
  /// any of these.
  bool count(std::uint64_t zero, std::uint64_t below, std::uint64_t same) {
    const std::uint64_t before = zero & same;
    zeros_in += of(before);
    zeros += of(zero);
    below_normal += of(below);
    exact += of(same);
    return before != 0;
  }
  /// Counts overflows, and returns the marks of `same` that did not overflow.
  std::uint64_t without_overflows(std::uint64_t same, std::uint64_t over) {
    overflows += of(over);
    return same & ~over;
  }
  static std::uint64_t of(std::uint64_t marks) {
    return static_cast<std::uint64_t>(__builtin_popcountll(marks));
  }

  void add_to(EventCounts& counts, std::size_t n, int mark_bits, bool saturates) const {
    const auto bits = static_cast<std::uint64_t>(mark_bits);
    counts.values += n;
    counts.to_zero += (zeros - zeros_in + vanished) / bits;
    counts.subnormal += (below_normal - zeros) / bits;
    counts.overflow += overflows / bits;
    counts.saturated += saturates ? overflows / bits : 0;
    counts.inexact += n - exact / bits;
  }
};

/// The plan's numbers in every lane, for the step from rounded magnitudes to results.
template <class V, std::floating_point T>
struct FinishLanes {
  using I = typename V::I;
  using Plan = RoundingPlan<T>;
  using Bits = typename Plan::Bits;

  I magnitude = V::set(Plan::magnitude_bits);
  I min_normal, max, sign, zero_sign;
  I most;  ///< the largest magnitude of a result where overflow gives the largest numbers
  I flushed_below[2], overflow[2];  ///< for positive and for negative operands

  FinishLanes(const Plan& plan, const std::array<Bits, 2>& results_of_overflow)
      : min_normal(V::set(plan.min_normal)),
        max(V::set(plan.max)),
        sign(V::set(plan.sign)),
        zero_sign(V::set(plan.zero_sign)),
        most(V::set(results_of_overflow[0] == plan.max ? plan.max : Plan::magnitude_bits)),
        flushed_below{V::set(std::max(plan.flushed_below, plan.tiny_below[0])),
                      V::set(std::max(plan.flushed_below, plan.tiny_below[1]))},
        overflow{V::set(results_of_overflow[0]), V::set(results_of_overflow[1])} {}
};

/// The kinds of results. AsNumbers: magnitudes with signs. AsSmallNumbers: the same of formats
/// whose codes have 8 bits, counted by their codes. AsWideCodes: codes in lanes of T's width,
/// narrowed when they are stored. A unit's Bytes and HalfWords (PacksCodes): codes of several
/// vectors packed into lanes of 8 or 16 bits first, which then get their signs and are counted.
template <class V>
struct AsNumbers {
  static constexpr int mark_bits = V::mark_bits;
};
template <class V>
struct AsSmallNumbers : AsNumbers<V> {};
template <class V>
struct AsWideCodes {
  static constexpr int mark_bits = V::mark_bits;
};
template <class V>
concept PacksCodes = requires {
  typename V::Bytes;
  typename V::HalfWords;
};

/// The numbers that make codes, in every lane. A lane has a code's bytes where codes are packed,
/// else T's. Codes here have no padding yet.
template <class V, std::floating_point T>
struct CodeLanes {
  using I = typename V::I;
  using Plan = RoundingPlan<T>;
  using Bits = typename Plan::Bits;
  static constexpr const Format& carrier = Plan::carrier;

  bool known = false;
  std::size_t bytes = 0;
  int sign_shift = 0, padding = 0;
  bool saturates = false;  ///< overflow gives the largest finite numbers
  I below_normal;          ///< the largest code below that of the least normal number
  I most;                ///< without signs: the largest code that results have where they saturate
  I first_beyond, last;  ///< the first code of overflow, and that of `Plan::last`
  I sign, zero_sign;     ///< the first bit of a lane, where nonzero results or zeros keep signs
  I place_of_sign;       ///< the bit of a code that is its sign
  I overflow[2];         ///< codes of overflow: positive, negative

  explicit CodeLanes(const TileQuantizer<T>& quantizer) {
    const Format& f = quantizer.to.format;
    const Plan& plan = quantizer.plan;
    known = plan.method != RoundingMethod::none && f.storage_bits() <= carrier.storage_bits();
    if (!known) return;
    bytes = code_bytes(f);
    padding = f.padding_bits;
    std::size_t lane_bytes = sizeof(T);
    if constexpr (PacksCodes<V>) lane_bytes = bytes == 1 || bytes == 2 ? bytes : sizeof(T);
    const int lane_bits = 8 * static_cast<int>(lane_bytes);
    sign_shift = lane_bits - f.bits();
    const auto all = [&](std::uint64_t code) {
      std::uint64_t lanes = 0;
      for (std::size_t at = 0; at < sizeof(T); at += lane_bytes) lanes |= code << 8 * at;
      return V::set(static_cast<Bits>(lanes));
    };
    const auto code_of = [&](Bits x) {
      const std::uint64_t code = (x & Plan::magnitude_bits) == plan.max
                                     ? max_bits(f, x != plan.max)
                                     : convert(x, carrier, f, {.nan = NanResult::propagate}).bits;
      return code >> padding;
    };
    const std::uint64_t first = std::uint64_t{1} << (lane_bits - 1);
    const std::uint64_t lane = ~std::uint64_t{0} >> (64 - lane_bits), max = max_bits(f, false);
    const auto exponent = [](Bits x) { return x >> carrier.fraction_bits(); };
    const std::uint64_t of_last = std::uint64_t{exponent(plan.last) - exponent(plan.min_normal) + 1}
                                  << f.fraction_bits();
    // Bytes are packed held at 255. Where that is a number, overflow is not seen.
    if (PacksCodes<V> && lane_bytes == 1) known = max >> padding < lane;
    saturates =
        quantizer.overflow[0] == plan.max && quantizer.overflow[1] == (plan.max | plan.sign);
    most = all(saturates ? max >> padding : lane);
    first_beyond = all((max >> padding) + 1);
    last = all(std::min(of_last, lane));
    below_normal = all((std::uint64_t{1} << f.fraction_bits()) - 1);
    sign = all(plan.sign == 0 ? 0 : first);
    zero_sign = all(plan.zero_sign == 0 ? 0 : first);
    place_of_sign = all(first >> sign_shift);
    for (std::size_t i = 0; i < 2; ++i) overflow[i] = all(code_of(quantizer.overflow[i]));
  }
};

/// The operands of a call, numbers of an array as they are, and what becomes of results: nothing.
/// BlockOperands of vector_blocks.h scales numbers before and after they are rounded.
template <class V, std::floating_point T>
struct ArrayOperands {
  using I = typename V::I;
  static constexpr bool is_scaled = false;

  const T* in;

  ArrayOperands(const T* array) : in(array) {}
  /// The group of operands from number `at` on, by vectors: operands; what has their signs; what is
  /// stored of a rounded operand.
  struct Group {
    const T* in;

    Group(const ArrayOperands& from, std::size_t at) : in(from.in + at) {}
    I operand(std::size_t k) const { return V::load(in + k * V::lanes); }
    I sign(std::size_t k) const { return operand(k); }
    static void finish(I (&)[4]) {}
  };

  /// The same of a few numbers: operands, results, and the definition of one of them, whose number
  /// was x.
  void copy(std::size_t at, std::size_t n, void* out, EventCounts&) const {
    std::memcpy(out, in + at, n * sizeof(T));
  }
  static void store(const std::byte* rounded, std::size_t, std::size_t n, std::byte* out) {
    std::memcpy(out, rounded, n * sizeof(T));
  }
  template <bool codes>
  static void define(T x, std::size_t at, std::uint64_t first, const Quantizer& to, std::byte* out,
                     EventCounts& counts) {
    if constexpr (codes) {
      (definitions().*KernelsOf<T>::encode)(&x, out, 1, first + at, to, counts);
    } else {
      (definitions().*KernelsOf<T>::quantize)(&x, reinterpret_cast<T*>(out), 1, first + at, to,
                                              counts);
    }
  }
};

template <class V, std::floating_point T, class From = ArrayOperands<V, T>>
struct VectorQuantizer {
  using I = typename V::I;
  using M = typename V::M;
  using Plan = RoundingPlan<T>;
  using Bits = typename Plan::Bits;

  static constexpr std::size_t group = 4 * V::lanes;

  /// A group: rounded magnitudes, which of them equal their operands, and what codes are made of.
  struct Rounded {
    I r[4], field[4], sum[4];
    M exact[4];
  };

  /// Rounds a group; operands above the plan's last magnitude, NaNs among them, are held at that.
  /// `plain` says that all results keep their signs and that nothing is flushed.
  template <class Lanes, Rounding rounding, bool plain>
  [[gnu::always_inline]] static void round_group(const auto& from, const std::uint32_t* random,
                                                 const Lanes& lanes,
                                                 const FinishLanes<V, T>& finish, Rounded& out) {
    I x[4];
    for (std::size_t k = 0; k < 4; ++k) x[k] = from.operand(k);
    for (std::size_t k = 0; k < 4; ++k) {
      const I in = x[k];
      const I operand = held(in, lanes.last, finish.magnitude);
      CodeParts<V> code;
      I word = V::zero();
      if constexpr (rounding == Rounding::stochastic) word = V::load_words(random + k * V::lanes);
      if constexpr (plain) {
        out.r[k] = lanes.template round<rounding>(operand, in, word, code);
      } else {
        const I sign = V::bit_and(in, finish.sign);
        const I below = V::select_by_sign(sign, finish.flushed_below[1], finish.flushed_below[0]);
        const I flushed = V::where(V::greater(below, operand), operand);
        out.r[k] = lanes.template round<rounding>(V::sub(operand, flushed), sign, word, code);
      }
      out.exact[k] = V::equal(out.r[k], operand);
      out.field[k] = code.field;
      out.sum[k] = code.sum;
    }
  }
  /// Returns the magnitude of x, or `last` where that is smaller or x is a NaN.
  static I held(I x, I last, I magnitude) {
    // What is scaled is no signaling NaN.
    if constexpr (From::is_scaled) return V::least_magnitude(x, last);
    return V::min(V::bit_and(x, magnitude), last);
  }

  /// Returns whether an operand of a group is a NaN or an infinity.
  static bool has_special(const auto& from) {
    I x[4];
    for (std::size_t k = 0; k < 4; ++k) {
      x[k] = V::bit_and(from.operand(k), V::set(Plan::magnitude_bits));
    }
    return V::any(V::greater(largest_of(x), V::set(Plan::infinity - 1)));
  }
  static I largest_of(const I (&x)[4]) { return V::max(V::max(x[0], x[1]), V::max(x[2], x[3])); }

  /// Counts and stores a group that `round_group` rounded, without NaNs and infinities. Without
  /// `may_overflow` all results are known to lie within the range.
  template <class To, bool plain, bool may_overflow>
  [[gnu::always_inline]] static void finish_numbers(const auto& from, const Rounded& of,
                                                    std::byte* out, bool streamed,
                                                    const FinishLanes<V, T>& finish,
                                                    const CodeLanes<V, T>* code,
                                                    EventMarks<V>& events) {
    constexpr bool codes = std::same_as<To, AsWideCodes<V>>;
    I results[4];
    M zero[4], below[4], over[4];
    for (std::size_t k = 0; k < 4; ++k) {
      const I in = from.sign(k);
      const I r = of.r[k];
      zero[k] = V::equal(r, V::zero());
      below[k] = V::greater(finish.min_normal, r);
      I sign = V::and_not(in, finish.magnitude);
      if constexpr (!plain) {
        sign = V::bit_and(in, V::select(zero[k], finish.zero_sign, finish.sign));
      }
      if constexpr (codes) {
        results[k] = V::bit_or(of.field[k], V::shift_right(sign, code->sign_shift));
      } else {
        results[k] = V::bit_or(r, sign);
      }
      if constexpr (may_overflow) {
        over[k] = V::greater(r, finish.max);
        const I(&beyond)[2] = codes ? code->overflow : finish.overflow;
        results[k] = V::select(over[k], V::select_by_sign(in, beyond[1], beyond[0]), results[k]);
      }
    }
    std::uint64_t same = V::marks(of.exact);
    if constexpr (may_overflow) same = events.without_overflows(same, V::marks(over));
    if (events.count(V::marks(zero), V::marks(below), same)) count_vanished(from, events);
    if constexpr (codes) {
      if (code->padding > 0) {
        for (I& result : results) result = V::shift_left(result, code->padding);
      }
    }
    if constexpr (codes && !PacksCodes<V>) {
      V::store_narrow(out, results, code->bytes);
    } else {
      if constexpr (!codes) from.finish(results);
      for (std::size_t k = 0; k < 4; ++k) V::put(streamed, out + k * V::bytes, results[k]);
    }
  }

  /// Finishes a group, with `overflows` one without NaNs and infinities; returns false, with
  /// nothing done, where it has some. The second form counts numbers by their codes, the third
  /// packs `Codes`; in these, only what has the code of the last magnitude may be a NaN or an
  /// infinity, so that overflows are no branch.
  template <class To, bool plain, class Lanes>
  requires std::same_as<To, AsNumbers<V>> || std::same_as<To, AsWideCodes<V>>
  [[gnu::always_inline]] static bool finish_group(const Lanes&, const auto& from, const Rounded& of,
                                                  std::byte* out, bool streamed,
                                                  const FinishLanes<V, T>& finish,
                                                  const CodeLanes<V, T>* code,
                                                  EventMarks<V>& events, bool overflows) {
    if (!overflows && !V::any(V::greater(largest_of(of.r), finish.max))) {
      finish_numbers<To, plain, false>(from, of, out, streamed, finish, code, events);
      return true;
    }
    if (!overflows && has_special(from)) return false;
    finish_numbers<To, plain, true>(from, of, out, streamed, finish, code, events);
    return true;
  }

  /// Counts packed codes without signs; `exact` are masks of the vectors that they are packed from.
  template <class Codes>
  static void count_codes(const auto& from, I field, auto is_zero, std::uint64_t over,
                          const M* exact, const CodeLanes<V, T>* code, EventMarks<V>& events) {
    const std::uint64_t same =
        events.without_overflows(Codes::marks(Codes::pack_masks(exact)), over);
    const auto is_below = Codes::at_most(field, code->below_normal);
    if (events.count(Codes::marks(is_zero), Codes::marks(is_below), same)) {
      count_vanished(from, events);
    }
  }

  template <class To, bool plain, class Lanes>
  requires std::same_as<To, AsSmallNumbers<V>>
  [[gnu::always_inline]] static bool finish_group(const Lanes& lanes, const auto& from,
                                                  const Rounded& of, std::byte* out, bool streamed,
                                                  const FinishLanes<V, T>& finish,
                                                  const CodeLanes<V, T>* code,
                                                  EventMarks<V>& events, bool overflows) {
    static_assert(plain);
    using Codes = typename V::Bytes;
    const I field = lanes.template pack<Codes>(of.field, of.sum);
    if (Codes::any(Codes::at_most(code->last, field)) && !overflows && has_special(from))
      return false;
    const std::uint64_t over = Codes::marks(Codes::at_most(code->first_beyond, field));
    I results[4];
    for (std::size_t k = 0; k < 4; ++k) {
      results[k] = V::or_masked(V::min(of.r[k], finish.most), from.sign(k), finish.sign);
    }
    if (!code->saturates && over != 0) {
      for (std::size_t k = 0; k < 4; ++k) {
        const I beyond = V::select_by_sign(from.sign(k), finish.overflow[1], finish.overflow[0]);
        results[k] = V::select(V::greater(of.r[k], finish.max), beyond, results[k]);
      }
    }
    count_codes<Codes>(from, field, Codes::equal(field, Codes::zero()), over, of.exact, code,
                       events);
    from.finish(results);
    for (std::size_t k = 0; k < 4; ++k) V::put(streamed, out + k * V::bytes, results[k]);
    return true;
  }

  template <class Codes, bool plain, class Lanes>
  [[gnu::always_inline]] static bool finish_group(const Lanes& lanes, const auto& from,
                                                  const Rounded& of, std::byte* out, bool streamed,
                                                  const FinishLanes<V, T>& finish,
                                                  const CodeLanes<V, T>* code,
                                                  EventMarks<V>& events, bool overflows) {
    if constexpr (Codes::vectors == 4) {
      const I field = lanes.template pack<Codes>(of.field, of.sum);
      if (!overflows && Codes::any(Codes::at_most(code->last, field)) && has_special(from)) {
        return false;
      }
      finish_codes<Codes, plain, true>(from, of, 0, field,
                                       Codes::at_most(code->first_beyond, field), out, streamed,
                                       code, events);
      return true;
    } else {
      const bool within = !overflows && !V::any(V::greater(largest_of(of.r), finish.max));
      if (!within && !overflows && has_special(from)) return false;
      for (std::size_t part = 0; part < 4; part += Codes::vectors) {
        const I field = Codes::pack(of.field + part);
        std::byte* const to = out + part / Codes::vectors * V::bytes;
        if (within) {
          finish_codes<Codes, plain, false>(from, of, part, field, Codes::equal(field, field), to,
                                            streamed, code, events);
        } else {
          M over[Codes::vectors];
          for (std::size_t k = 0; k < Codes::vectors; ++k) {
            over[k] = V::greater(of.r[part + k], finish.max);
          }
          finish_codes<Codes, plain, true>(from, of, part, field, Codes::pack_masks(over), to,
                                           streamed, code, events);
        }
      }
      return true;
    }
  }

  /// Counts and stores the packed codes of vectors from `part` on; only with `may_overflow` some
  /// are beyond the range.
  template <class Codes, bool plain, bool may_overflow>
  [[gnu::always_inline]] static void finish_codes(const auto& from, const Rounded& of,
                                                  std::size_t part, I field, auto is_over,
                                                  std::byte* out, bool streamed,
                                                  const CodeLanes<V, T>* code,
                                                  EventMarks<V>& events) {
    I x[Codes::vectors];
    for (std::size_t k = 0; k < Codes::vectors; ++k) x[k] = from.sign(part + k);
    const I first_bits = Codes::pack_signs(x);
    const auto is_zero = Codes::equal(field, Codes::zero());
    I sign = first_bits;
    if constexpr (!plain) {
      sign = Codes::bit_and(first_bits, Codes::select(is_zero, code->zero_sign, code->sign));
    }
    if (code->sign_shift > 0) sign = Codes::shift_right(sign, code->sign_shift);
    const I held = may_overflow ? Codes::min(field, code->most) : field;
    I result = Codes::or_masked(held, sign, code->place_of_sign);
    std::uint64_t over = 0;
    if constexpr (may_overflow) {
      over = Codes::marks(is_over);
      if (!code->saturates && over != 0) {
        const I beyond =
            Codes::select(Codes::has_sign(first_bits), code->overflow[1], code->overflow[0]);
        result = Codes::select(is_over, beyond, result);
      }
    }
    count_codes<Codes>(from, field, is_zero, over, of.exact + part, code, events);
    if (code->padding > 0) result = Codes::shift_left(result, code->padding);
    Codes::store(out, result, streamed);
  }

  /// Counts numbers of a group that scaling made zero, before results are stored, perhaps in their
  /// places.
  static void count_vanished(const auto& from, EventMarks<V>& events) {
    if constexpr (requires { from.may_vanish(); }) {
      if (!from.may_vanish()) return;
      const I magnitude = V::set(Plan::magnitude_bits);
      const auto is_zero = [=](I x) { return V::equal(V::bit_and(x, magnitude), V::zero()); };
      M vanished[4];
      for (std::size_t k = 0; k < 4; ++k) {
        vanished[k] = V::but_not(is_zero(from.operand(k)), is_zero(from.number(k)));
      }
      events.vanished += EventMarks<V>::of(V::marks(vanished));
    }
  }

  /// The arguments of a call that do not change from group to group.
  struct Call {
    const TileQuantizer<T>& quantizer;
    const CodeLanes<V, T>* code;  ///< null where results are numbers
    std::uint64_t first;
    std::size_t n;
    bool streamed;
    EventCounts& counts;
    /// Arrays that are prefetched meanwhile, as many bytes of each as operands are read; null: none
    /// from there on.
    const std::byte* next[3]{};
    bool overflows =
        false;  ///< promises that no operand is a NaN or an infinity; each group may overflow
  };

  /// Quantizes a call's n elements. A caller that streams calls V::streamed() afterwards, which
  /// orders the stores.
  template <class Lanes, Rounding rounding, bool plain, class To>
  static void run(const From& from, std::byte* out, const Call& call) {
    const Lanes lanes(call.quantizer.plan);
    const FinishLanes<V, T> finish(call.quantizer.plan, call.quantizer.overflow);
    const Quantizer& to = call.quantizer.to;
    constexpr bool codes = !std::derived_from<To, AsNumbers<V>>;
    const std::size_t size = codes ? call.code->bytes : sizeof(T);
    using Philox = VectorPhilox<typename V::Words>;
    const Philox philox(to.seed, to.stream);
    std::array<std::uint32_t, group + 4 + Philox::words> words;
    const bool saturates = to.attributes.saturation == Saturation::finite;
    const auto words_of = [&](std::size_t at) {
      return rounding == Rounding::stochastic ? philox.fill(call.first + at, group, words.data())
                                              : nullptr;
    };
    // Computes `count` elements, at most a group, in work space: at the array's ends, and where one
    // is a NaN or an infinity.
    EventMarks<V> events_apart;
    std::size_t padding = 0;
    const auto apart = [&](std::size_t at, std::size_t count) __attribute__((noinline)) {
      std::array<T, group> given;
      std::memcpy(given.data(), from.in + at, count * sizeof(T));
      std::array<Bits, group> x{};
      from.copy(at, count, x.data(), call.counts);
      const SpecialValues<T> specials(x.data(), count);
      const typename ArrayOperands<V, T>::Group operands(reinterpret_cast<const T*>(x.data()), 0);
      alignas(V::bytes) std::array<std::byte, group * sizeof(T)> results;
      Rounded rounded;
      round_group<Lanes, rounding, plain>(operands, words_of(at), lanes, finish, rounded);
      finish_group<To, plain>(lanes, operands, rounded, results.data(), false, finish, call.code,
                              events_apart, true);
      if constexpr (codes) {
        std::memcpy(out + at * size, results.data(), count * size);
      } else {
        from.store(results.data(), at, count, out + at * size);
      }
      padding += group - count;
      specials.each(call.counts, [&](std::size_t i, T) {
        from.template define<codes>(given[i], at + i, call.first, to, out + (at + i) * size,
                                    call.counts);
      });
    };
    std::size_t done = 0;
    if (call.streamed) {
      const std::size_t past = reinterpret_cast<std::uintptr_t>(out) % V::bytes;
      done = past == 0 ? 0 : (V::bytes - past) / size;  // a streamed array has more elements
      if (done > 0) apart(0, done);
    }
    EventMarks<V> events;
    std::size_t counted = 0;
    const From numbers = from;  // which no store can change
    for (; done + group <= call.n; done += group) {
      for (const std::byte* const next : call.next) {
        if (next == nullptr) break;
        const std::byte* const ahead = next + done * sizeof(T);
        for (std::size_t k = 0; k < group * sizeof(T); k += 64) V::prefetch(ahead + k);
        // The page behind is touched early, so that its address is known when its turn comes.
        constexpr std::size_t page = 4096;
        if (done * sizeof(T) % page < group * sizeof(T)) V::prefetch(ahead + page);
      }
      Rounded rounded;
      std::byte* const to_here = out + done * size;
      const typename From::Group operands(numbers, done);
      round_group<Lanes, rounding, plain>(operands, words_of(done), lanes, finish, rounded);
      if (!finish_group<To, plain>(lanes, operands, rounded, to_here, call.streamed, finish,
                                   call.code, events, call.overflows)) {
        apart(done, group);
        continue;
      }
      counted += group;
    }
    if (done < call.n) apart(done, call.n - done);
    constexpr int mark_bits = To::mark_bits;
    events.add_to(call.counts, counted, mark_bits, saturates);
    events_apart.add_to(call.counts, call.n - counted + padding, mark_bits, saturates);
    call.counts.values -= padding;
  }

  using Run = void (*)(const From& from, std::byte* out, const Call& call);

  template <class To, Rounding rounding>
  static Run run_of(RoundingMethod method, bool plain) {
    using Cut = CutLanes<V, T>;
    using InCarrier = CarrierLanes<V, T>;
    if constexpr (From::is_scaled) {
      return plain && method != RoundingMethod::cut ? &run<InCarrier, rounding, true, To> : nullptr;
    } else if (method == RoundingMethod::cut) {
      return plain ? &run<Cut, rounding, true, To> : &run<Cut, rounding, false, To>;
    } else {
      return plain ? &run<InCarrier, rounding, true, To> : &run<InCarrier, rounding, false, To>;
    }
  }
  template <class To>
  static Run run_of(Rounding rounding, RoundingMethod method, bool plain) {
    switch (rounding) {
      case Rounding::ties_to_even: return run_of<To, Rounding::ties_to_even>(method, plain);
      case Rounding::ties_to_away: return run_of<To, Rounding::ties_to_away>(method, plain);
      case Rounding::ties_toward_zero: return run_of<To, Rounding::ties_toward_zero>(method, plain);
      case Rounding::toward_zero: return run_of<To, Rounding::toward_zero>(method, plain);
      case Rounding::toward_positive: return run_of<To, Rounding::toward_positive>(method, plain);
      case Rounding::toward_negative: return run_of<To, Rounding::toward_negative>(method, plain);
      case Rounding::to_odd: return run_of<To, Rounding::to_odd>(method, plain);
      case Rounding::stochastic: return run_of<To, Rounding::stochastic>(method, plain);
      default: return nullptr;
    }
  }

  /// Returns the function that does a quantizer; null where vectors do not know it.
  template <class To>
  static Run run_of(const TileQuantizer<T>& quantizer) {
    const Plan& plan = quantizer.plan;
    if (plan.method == RoundingMethod::none) return nullptr;
    // ties_to_away and ties_toward_zero move a tie by its last bit (vector_rounding.h), for which
    // at least two bits must be dropped.
    if (plan.method == RoundingMethod::carrier && plan.drop < 2) return nullptr;
    constexpr Bits sign = ~Plan::magnitude_bits;
    const bool plain = plan.sign == sign && plan.zero_sign == sign && plan.flushed_below == 0 &&
                       plan.tiny_below == std::array<Bits, 2>{};
    return run_of<To>(quantizer.to.attributes.rounding, plan.method, plain);
  }

  static Run run_to_codes(const TileQuantizer<T>& quantizer, const CodeLanes<V, T>& code) {
    if (!code.known) return nullptr;
    if constexpr (PacksCodes<V>) {
      if (code.bytes == 1) return run_of<typename V::Bytes>(quantizer);
      if (code.bytes == 2) return run_of<typename V::HalfWords>(quantizer);
    }
    return run_of<AsWideCodes<V>>(quantizer);
  }

  /// Quantizes an array; returns false, with nothing done, where vectors do not know the quantizer.
  static bool quantize_array(const T* in, T* out, std::size_t n, std::uint64_t first,
                             const Quantizer& to, EventCounts& counts) {
    const TileQuantizer<T> quantizer(to);
    const Run run = run_of<AsNumbers<V>>(quantizer);
    if (run == nullptr) return false;
    const bool streamed = n * sizeof(T) >= streamed_bytes && in != out;
    run_array(run, in, reinterpret_cast<std::byte*>(out),
              {quantizer, nullptr, first, n, streamed, counts});
    return true;
  }
  static bool encode_array(const T* in, std::byte* out, std::size_t n, std::uint64_t first,
                           const Quantizer& to, EventCounts& counts) {
    const TileQuantizer<T> quantizer(to);
    const CodeLanes<V, T> code(quantizer);
    const Run run = run_to_codes(quantizer, code);
    if (run == nullptr) return false;
    // A unit that does not pack codes (doubles) may make less than a vector of them from a group,
    // and does not stream.
    const bool streamed = n * sizeof(T) >= streamed_bytes && PacksCodes<V> &&
                          reinterpret_cast<std::uintptr_t>(out) % code.bytes == 0 &&
                          static_cast<const void*>(in) != static_cast<const void*>(out);
    run_array(run, in, out, {quantizer, &code, first, n, streamed, counts});
    return true;
  }

 private:
  static void run_array(Run run, const T* in, std::byte* out, Call call) {
    if (call.streamed) call.next[0] = reinterpret_cast<const std::byte*>(in) + prefetch_distance;
    run(in, out, call);
    if (call.streamed) V::streamed();
  }
};

/// The level's kernels. The portable level does what vectors do not know.
template <class V, std::floating_point T>
void quantize_vectors(const T* in, T* out, std::size_t n, std::uint64_t first, const Quantizer& to,
                      EventCounts& counts) {
  if (VectorQuantizer<V, T>::quantize_array(in, out, n, first, to, counts)) return;
  (own_kernels(Level::portable).*KernelsOf<T>::quantize)(in, out, n, first, to, counts);
}

template <class V, std::floating_point T>
void encode_vectors(const T* in, std::byte* out, std::size_t n, std::uint64_t first,
                    const Quantizer& to, EventCounts& counts) {
  if (VectorQuantizer<V, T>::encode_array(in, out, n, first, to, counts)) return;
  (own_kernels(Level::portable).*KernelsOf<T>::encode)(in, out, n, first, to, counts);
}

}  // namespace binade::fast
