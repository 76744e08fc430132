// SPDX-License-Identifier: Apache-2.0
//
// `quantize` and `quantize_to_codes` of emulate/quantize.h by vectors of a level's unit V (avx2.h, avx512.h), four at a
// time, whose lanes count what happened. Large results go past the caches.
//
//     four vectors ── rounded ── beyond the range? ── once more: NaNs and infinities by the definition, overflow
//                        `- counted ── signs ── stored as numbers, or their fields, narrowed
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "emulate/fast/kernels.h"
#include "emulate/fast/quantize_tile.h"
#include "emulate/fast/vector_random.h"
#include "emulate/fast/vector_rounding.h"

namespace binade::fast {

/// Results of this many bytes and more leave the caches to others.
inline constexpr std::size_t streamed_bytes = std::size_t{8} << 20;
/// How far ahead of a stream its operands are asked for.
inline constexpr std::size_t prefetch_distance = 2048;

/// Lanes of counts, each below 2^32.
template <class V>
struct EventLanes {
  using I = typename V::I;
  I zeros_in, zeros, below_normal, overflows, exact;

  // Written out: what a compiler makes by itself has not the level's instructions.
  EventLanes()
      : zeros_in(V::zero()),
        zeros(V::zero()),
        below_normal(V::zero()),
        overflows(V::zero()),
        exact(V::zero()) {}

  void add_to(EventCounts& counts, std::size_t n, bool saturates) const {
    const std::uint64_t over = V::total(overflows), zeros_out = V::total(zeros);
    counts.values += n;
    counts.to_zero += zeros_out - V::total(zeros_in);
    counts.subnormal += V::total(below_normal) - zeros_out;
    counts.overflow += over;
    counts.saturated += saturates ? over : 0;
    counts.inexact += n - V::total(exact);
  }
};

/// What becomes of magnitudes on the grid, in every lane. `plain`: results keep the sign, and nothing is flushed.
template <class V, std::floating_point T>
struct FinishLanes {
  using I = typename V::I;
  using Plan = RoundingPlan<T>;
  using Bits = typename Plan::Bits;

  I magnitude = V::set(Plan::magnitude_bits);
  I min_normal, max, sign, zero_sign, flushed_below;
  I tiny_below[2], overflow[2];  ///< by sign

  FinishLanes(const Plan& plan, const std::array<Bits, 2>& results_of_overflow)
      : min_normal(V::set(plan.min_normal)),
        max(V::set(plan.max)),
        sign(V::set(plan.sign)),
        zero_sign(V::set(plan.zero_sign)),
        flushed_below(V::set(plan.flushed_below)),
        tiny_below{V::set(plan.tiny_below[0]), V::set(plan.tiny_below[1])},
        overflow{V::set(results_of_overflow[0]), V::set(results_of_overflow[1])} {}
};

/// A number's bits as its code's, in every lane.
template <class V, std::floating_point T>
struct CodeLanes {
  using I = typename V::I;
  using Bits = typename Carrier<T>::Bits;
  static constexpr const Format& carrier = Carrier<T>::format;

  bool known = false;
  std::size_t bytes = 0;
  int sign_shift = 0, padding = 0;
  I overflow[2];  ///< by sign, without padding

  explicit CodeLanes(const TileQuantizer<T>& quantizer) {
    const Format& f = quantizer.to.format;
    known = quantizer.plan.family != Family::none && f.storage_bits() <= carrier.storage_bits();
    if (!known) return;
    bytes = code_bytes(f);
    sign_shift = carrier.bits() - f.bits();
    padding = f.padding_bits;
    for (std::size_t i = 0; i < 2; ++i) {
      const Attributes keep{.nan = NanResult::propagate};
      const std::uint64_t bits = convert(quantizer.overflow[i], carrier, f, keep).bits;
      overflow[i] = V::set(static_cast<Bits>(bits >> padding));
    }
  }
};

template <class V, std::floating_point T>
struct VectorQuantizer {
  using I = typename V::I;
  using M = typename V::M;
  using Plan = RoundingPlan<T>;
  using Bits = typename Plan::Bits;

  static constexpr std::size_t group = 4 * V::lanes;

  /// What four vectors became: magnitudes, and their codes' fields.
  struct Rounded {
    I r[4], field[4];
  };

  /// False where one of them is beyond the range, or is no number.
  template <class Lanes, Rounding rounding, bool plain>
  static bool round_group(const Bits* x, const std::uint32_t* random, const Lanes& lanes,
                          const FinishLanes<V, T>& finish, Rounded& out) {
    for (std::size_t k = 0; k < 4; ++k) {
      const I in = V::load(x + k * V::lanes);
      const I operand = V::bit_and(in, finish.magnitude);
      I word = V::zero();
      if constexpr (rounding == Rounding::stochastic) word = V::load_words(random + k * V::lanes);
      if constexpr (plain) {
        out.r[k] = lanes.template round<rounding>(operand, in, word, out.field[k]);
      } else {
        const I sign = V::bit_and(in, finish.sign);
        const I flushed = V::where(V::greater(finish.flushed_below, operand), operand);
        const I r =
            lanes.template round<rounding>(V::sub(operand, flushed), sign, word, out.field[k]);
        const I below = V::select_by_sign(sign, finish.tiny_below[1], finish.tiny_below[0]);
        const M is_tiny = V::greater(below, operand);
        out.r[k] = V::select(is_tiny, V::zero(), r);
        out.field[k] = V::select(is_tiny, V::zero(), out.field[k]);
      }
    }
    const I largest = V::max(V::max(out.r[0], out.r[1]), V::max(out.r[2], out.r[3]));
    return !V::any(V::greater(largest, finish.max));
  }

  static bool has_special(const Bits* x) {
    const I magnitude = V::set(Plan::magnitude_bits);
    I largest = V::bit_and(V::load(x), magnitude);
    for (std::size_t k = 1; k < 4; ++k) {
      largest = V::max(largest, V::bit_and(V::load(x + k * V::lanes), magnitude));
    }
    return V::any(V::greater(largest, V::set(Plan::infinity - 1)));
  }

  /// Counts and stores what `round_group` made; `may_overflow`: as far as it is known.
  template <bool plain, bool codes, bool may_overflow>
  static void finish_group(const Bits* x, const Rounded& of, std::byte* out, bool streamed,
                           const FinishLanes<V, T>& finish, const CodeLanes<V, T>& code,
                           EventLanes<V>& events) {
    I results[4];
    for (std::size_t k = 0; k < 4; ++k) {
      const I in = V::load(x + k * V::lanes);
      const I operand = V::bit_and(in, finish.magnitude);
      const I r = of.r[k];
      const M is_zero = V::equal(r, V::zero());
      events.zeros_in = V::plus_one(events.zeros_in, V::equal(operand, V::zero()));
      events.zeros = V::plus_one(events.zeros, is_zero);
      events.below_normal = V::plus_one(events.below_normal, V::greater(finish.min_normal, r));
      M is_exact = V::equal(r, operand);
      I sign = V::and_not(in, finish.magnitude);
      if constexpr (!plain) {
        sign = V::bit_and(in, V::select(is_zero, finish.zero_sign, finish.sign));
      }
      if constexpr (codes) {
        results[k] = V::bit_or(of.field[k], V::shift_right(sign, code.sign_shift));
      } else {
        results[k] = V::bit_or(r, sign);
      }
      if constexpr (may_overflow) {
        const M is_over = V::greater(r, finish.max);
        const I(&beyond)[2] = codes ? code.overflow : finish.overflow;
        results[k] = V::select(is_over, V::select_by_sign(in, beyond[1], beyond[0]), results[k]);
        is_exact = V::but_not(is_exact, is_over);
        events.overflows = V::plus_one(events.overflows, is_over);
      }
      events.exact = V::plus_one(events.exact, is_exact);
    }
    if constexpr (codes) {
      if (code.padding > 0) {
        for (I& result : results) result = V::shift_left(result, code.padding);
      }
      V::store_narrow(out, results, code.bytes, streamed);
    } else {
      for (std::size_t k = 0; k < 4; ++k) V::put(streamed, out + k * V::bytes, results[k]);
    }
  }

  /// A call, and what it needs throughout.
  struct Call {
    const TileQuantizer<T>& quantizer;
    const CodeLanes<V, T>& code;
    std::uint64_t first;
    std::size_t n;
    bool streamed;
    EventCounts& counts;
    /// What is asked for meanwhile, as many bytes of each as results are written; null: nothing.
    const std::byte* next[3]{};
    bool overflows = false;  ///< it is all of numbers, many of them beyond the range
  };

  /// Whoever streams says V::streamed() at last, which waits for the memory.
  template <class Lanes, Rounding rounding, bool plain, bool codes>
  static void run(const T* in, std::byte* out, const Call& call) {
    const Lanes lanes(call.quantizer.plan);
    const FinishLanes<V, T> finish(call.quantizer.plan, call.quantizer.overflow);
    const Quantizer& to = call.quantizer.to;
    const std::size_t size = codes ? call.code.bytes : sizeof(T);
    using Philox = VectorPhilox<typename V::Words>;
    const Philox philox(to.seed, to.stream);
    std::array<std::uint32_t, group + 4 + Philox::words> words;
    const bool saturates = to.attributes.saturation == Saturation::finite;
    const auto words_of = [&](std::size_t at) {
      return rounding == Rounding::stochastic ? philox.fill(call.first + at, group, words.data())
                                              : nullptr;
    };
    // Fewer than a group's elements, or some that overflow or are no numbers: beside the array.
    EventLanes<V> events_apart;
    std::size_t padding = 0;
    const auto apart = [&](std::size_t at, std::size_t count) __attribute__((noinline)) {
      std::array<Bits, group> x{};
      std::memcpy(x.data(), in + at, count * sizeof(T));
      const SpecialValues<T> specials(x.data(), count);
      alignas(V::bytes) std::array<std::byte, group * sizeof(T)> results;
      Rounded rounded;
      round_group<Lanes, rounding, plain>(x.data(), words_of(at), lanes, finish, rounded);
      finish_group<plain, codes, true>(x.data(), rounded, results.data(), false, finish, call.code,
                                       events_apart);
      std::memcpy(out + at * size, results.data(), count * size);
      padding += group - count;
      specials.each(call.counts, [&](std::size_t i, T value) {
        std::byte* const result = out + (at + i) * size;
        if constexpr (codes) {
          (definitions().*KernelsOf<T>::encode)(&value, result, 1, call.first + at + i, to,
                                                call.counts);
        } else {
          (definitions().*KernelsOf<T>::quantize)(&value, reinterpret_cast<T*>(result), 1,
                                                  call.first + at + i, to, call.counts);
        }
      });
    };
    std::size_t done = 0;
    if (call.streamed) {
      const std::size_t past = reinterpret_cast<std::uintptr_t>(out) % V::bytes;
      done = past == 0 ? 0 : std::min((V::bytes - past) / size, call.n);
      if (done > 0) apart(0, done);
    }
    EventLanes<V> events;
    std::size_t counted = 0;
    for (; done + group <= call.n; done += group) {
      const auto* x = reinterpret_cast<const Bits*>(in + done);
      for (const std::byte* const next : call.next) {
        if (next == nullptr) break;
        for (std::size_t k = 0; k < group * sizeof(T); k += 64) {
          V::prefetch(next + done * sizeof(T) + k);
        }
      }
      Rounded rounded;
      std::byte* const to_here = out + done * size;
      const bool within =
          round_group<Lanes, rounding, plain>(x, words_of(done), lanes, finish, rounded);
      if (!call.overflows && within) {
        finish_group<plain, codes, false>(x, rounded, to_here, call.streamed, finish, call.code,
                                          events);
      } else if (call.overflows || !has_special(x)) {
        finish_group<plain, codes, true>(x, rounded, to_here, call.streamed, finish, call.code,
                                         events);
      } else {
        apart(done, group);
        continue;
      }
      counted += group;
    }
    if (done < call.n) apart(done, call.n - done);
    events.add_to(call.counts, counted, saturates);
    events_apart.add_to(call.counts, call.n - counted + padding, saturates);
    call.counts.values -= padding;
  }

  template <bool codes>
  using Run = void (*)(const T* in, std::byte* out, const Call& call);

  template <bool codes, Rounding rounding>
  static Run<codes> run_of(Family family, bool plain) {
    using Cut = CutLanes<V, T>;
    using InCarrier = CarrierLanes<V, T>;
    if (family == Family::cut) {
      return plain ? &run<Cut, rounding, true, codes> : &run<Cut, rounding, false, codes>;
    }
    return plain ? &run<InCarrier, rounding, true, codes> : &run<InCarrier, rounding, false, codes>;
  }
  template <bool codes>
  static Run<codes> run_of(Rounding rounding, Family family, bool plain) {
    switch (rounding) {
      case Rounding::ties_to_even: return run_of<codes, Rounding::ties_to_even>(family, plain);
      case Rounding::ties_to_away: return run_of<codes, Rounding::ties_to_away>(family, plain);
      case Rounding::toward_zero: return run_of<codes, Rounding::toward_zero>(family, plain);
      case Rounding::toward_positive:
        return run_of<codes, Rounding::toward_positive>(family, plain);
      case Rounding::toward_negative:
        return run_of<codes, Rounding::toward_negative>(family, plain);
      case Rounding::to_odd: return run_of<codes, Rounding::to_odd>(family, plain);
      case Rounding::stochastic: return run_of<codes, Rounding::stochastic>(family, plain);
    }
    return nullptr;
  }

  /// Null where this is not for vectors.
  template <bool codes>
  static Run<codes> run_of(const TileQuantizer<T>& quantizer) {
    const Plan& plan = quantizer.plan;
    if (plan.family == Family::none) return nullptr;
    // ties_to_away makes a tie more than one by a bit below it.
    if (plan.family == Family::carrier && plan.drop < 2) return nullptr;
    constexpr Bits sign = ~Plan::magnitude_bits;
    const bool plain = plan.sign == sign && plan.zero_sign == sign && plan.flushed_below == 0 &&
                       plan.tiny_below == std::array<Bits, 2>{};
    return run_of<codes>(quantizer.to.attributes.rounding, plan.family, plain);
  }

  /// False where this is not for vectors.
  template <bool codes>
  static bool quantize_array(const T* in, std::byte* out, std::size_t n, std::uint64_t first,
                             const Quantizer& to, EventCounts& counts) {
    const TileQuantizer<T> quantizer(to);
    const CodeLanes<V, T> code(quantizer);
    const auto run = run_of<codes>(quantizer);
    if (run == nullptr || (codes && !code.known)) return false;
    constexpr std::size_t lane_capacity = std::size_t{1} << 30;
    const std::size_t size = codes ? code.bytes : sizeof(T);
    // A group's codes of doubles may be less than a vector.
    const bool streamed = n * sizeof(T) >= streamed_bytes &&
                          reinterpret_cast<std::uintptr_t>(out) % size == 0 &&
                          (!codes || sizeof(T) == sizeof(float)) &&
                          static_cast<const void*>(in) != static_cast<const void*>(out);
    for (std::size_t done = 0; done < n; done += lane_capacity) {
      const std::size_t count = std::min(n - done, lane_capacity);
      const auto* const next = reinterpret_cast<const std::byte*>(in + done) + prefetch_distance;
      run(in + done, out + done * size,
          {quantizer, code, first + done, count, streamed, counts, {streamed ? next : nullptr}});
    }
    if (streamed) V::streamed();
    return true;
  }
};

template <class V, std::floating_point T>
void quantize_vectors(const T* in, T* out, std::size_t n, std::uint64_t first, const Quantizer& to,
                      EventCounts& counts) {
  if (VectorQuantizer<V, T>::template quantize_array<false>(in, reinterpret_cast<std::byte*>(out),
                                                            n, first, to, counts)) {
    return;
  }
  (own_kernels(Level::portable).*KernelsOf<T>::quantize)(in, out, n, first, to, counts);
}

template <class V, std::floating_point T>
void encode_vectors(const T* in, std::byte* out, std::size_t n, std::uint64_t first,
                    const Quantizer& to, EventCounts& counts) {
  if (VectorQuantizer<V, T>::template quantize_array<true>(in, out, n, first, to, counts)) return;
  (own_kernels(Level::portable).*KernelsOf<T>::encode)(in, out, n, first, to, counts);
}

}  // namespace binade::fast
