// SPDX-License-Identifier: Apache-2.0
//
// `quantize` and `quantize_to_codes` of emulate/quantize.h by vectors of a level's unit V (avx2.h, avx512.h), four at a
// time, whose lanes count what happened. Large results go past the caches.
//
//     four vectors ── a NaN or an infinity among them? ── zeros there, and these by the definition
//          `- rounded ─ counted ─ overflow, sign ─ stored as numbers, or their fields moved and narrowed
//
// A code's field without a product that would underflow: of normal numbers by shifts, of subnormal ones the last bits of
// their sum with a power of two.
#pragma once

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
  int fraction_drop = 0, sign_shift = 0, padding = 0;
  I below_fields, quantum_sum;  ///< carrier family
  I overflow[2];                ///< by sign

  explicit CodeLanes(const TileQuantizer<T>& quantizer) {
    const Format& f = quantizer.to.format;
    known = quantizer.plan.family != Family::none && f.storage_bits() <= carrier.storage_bits();
    if (!known) return;
    bytes = code_bytes(f);
    fraction_drop = quantizer.plan.drop;
    sign_shift = carrier.bits() - f.bits();
    padding = f.padding_bits;
    const auto power = [](int e) {
      return static_cast<Bits>(e + carrier.bias) << carrier.fraction_bits();
    };
    if (quantizer.plan.family == Family::carrier) {
      below_fields = V::set(power(f.emin() - 1));
      quantum_sum = V::set(power(f.quantum_exponent() + carrier.fraction_bits()));
    }
    for (std::size_t i = 0; i < 2; ++i) {
      const Attributes keep{.nan = NanResult::propagate};
      overflow[i] =
          V::set(static_cast<Bits>(convert(quantizer.overflow[i], carrier, f, keep).bits));
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

  /// Four vectors: `x` and random words to `out`, numbers or codes.
  template <class Lanes, Rounding rounding, bool plain, bool codes>
  static void quantize_group(const Bits* x, const std::uint32_t* random, std::byte* out,
                             bool streamed, const Lanes& lanes, const FinishLanes<V, T>& finish,
                             const CodeLanes<V, T>& code, EventLanes<V>& events) {
    I results[4];
    for (std::size_t k = 0; k < 4; ++k) {
      const I in = V::load(x + k * V::lanes);
      const I operand = V::bit_and(in, finish.magnitude);
      I word = V::zero();
      if constexpr (rounding == Rounding::stochastic) word = V::load_words(random + k * V::lanes);
      I r;
      if constexpr (plain) {
        r = lanes.template round<rounding>(operand, in, word);
      } else {
        const I kept_sign = V::bit_and(in, finish.sign);
        const I unflushed = V::where(V::greater(finish.flushed_below, operand), operand);
        r = lanes.template round<rounding>(V::sub(operand, unflushed), kept_sign, word);
        const I tiny_below =
            V::select_by_sign(kept_sign, finish.tiny_below[1], finish.tiny_below[0]);
        r = V::and_not(r, V::where(V::greater(tiny_below, operand), r));
      }
      const M is_over = V::greater(r, finish.max);
      const M is_zero = V::equal(r, V::zero());
      const M is_below = V::greater(finish.min_normal, r);
      events.zeros_in = V::plus_one(events.zeros_in, V::equal(operand, V::zero()));
      events.zeros = V::plus_one(events.zeros, is_zero);
      events.below_normal = V::plus_one(events.below_normal, is_below);
      events.overflows = V::plus_one(events.overflows, is_over);
      I sign = V::and_not(in, finish.magnitude);
      if constexpr (!plain) {
        sign = V::bit_and(in, V::select(is_zero, finish.zero_sign, finish.sign));
      }
      if constexpr (codes) {
        I field = V::shift_right(r, code.fraction_drop);
        if constexpr (Lanes::family == Family::carrier) {
          const I of_normal = V::shift_right(V::sub(r, code.below_fields), code.fraction_drop);
          const I sum = V::bits(V::add(V::number(r), V::number(code.quantum_sum)));
          field = V::select(is_below, V::sub(sum, code.quantum_sum), of_normal);
        }
        const I kept =
            V::shift_left(V::bit_or(field, V::shift_right(sign, code.sign_shift)), code.padding);
        results[k] =
            V::select(is_over, V::select_by_sign(in, code.overflow[1], code.overflow[0]), kept);
        events.exact = V::plus_one(events.exact, V::but_not(V::equal(r, operand), is_over));
      } else {
        results[k] =
            V::select(is_over, V::select_by_sign(in, finish.overflow[1], finish.overflow[0]),
                      V::bit_or(r, sign));
        events.exact = V::plus_one(events.exact, plain ? V::equal(results[k], in)
                                                       : V::but_not(V::equal(r, operand), is_over));
      }
    }
    if constexpr (codes) {
      V::store_narrow(out, results, code.bytes);
    } else if (streamed) {
      for (std::size_t k = 0; k < 4; ++k) V::stream(out + k * V::bytes, results[k]);
    } else {
      for (std::size_t k = 0; k < 4; ++k) V::store(out + k * V::bytes, results[k]);
    }
  }

  static bool has_special(const Bits* x) {
    const I magnitude = V::set(Plan::magnitude_bits);
    I largest = V::bit_and(V::load(x), magnitude);
    for (std::size_t k = 1; k < 4; ++k) {
      largest = V::max(largest, V::bit_and(V::load(x + k * V::lanes), magnitude));
    }
    return V::any(V::greater(largest, V::set(Plan::infinity - 1)));
  }

  /// A call, and what it needs throughout.
  struct Call {
    const TileQuantizer<T>& quantizer;
    const CodeLanes<V, T>& code;
    std::uint64_t first;
    std::size_t n;
    bool streamed;
    EventCounts& counts;
    bool prepared = false;  ///< the operands are numbers, and in the cache
    /// What is asked for meanwhile, as many bytes of each as results are written; null: nothing.
    const std::byte* next[3]{};
  };

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
    // Fewer than a group's elements, or some that are no numbers: beside the array.
    const auto apart = [&](std::size_t at, std::size_t count) __attribute__((noinline)) {
      std::array<Bits, group> x{};
      std::memcpy(x.data(), in + at, count * sizeof(T));
      const SpecialValues<T> specials(x.data(), count);
      alignas(V::bytes) std::array<std::byte, group * sizeof(T)> results;
      EventLanes<V> events;
      quantize_group<Lanes, rounding, plain, codes>(x.data(), words_of(at), results.data(), false,
                                                    lanes, finish, call.code, events);
      std::memcpy(out + at * size, results.data(), count * size);
      events.add_to(call.counts, group, saturates);
      call.counts.values -= group - count;
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
      done = past == 0 ? 0 : (V::bytes - past) / size;
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
      if (!call.prepared && has_special(x)) [[unlikely]] {
        apart(done, group);
        continue;
      }
      quantize_group<Lanes, rounding, plain, codes>(
          x, words_of(done), out + done * size, call.streamed, lanes, finish, call.code, events);
      counted += group;
    }
    if (done < call.n) apart(done, call.n - done);
    if (call.streamed) V::streamed();
    events.add_to(call.counts, counted, saturates);
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
    const bool streamed = !codes && n * sizeof(T) >= streamed_bytes &&
                          static_cast<const void*>(in) != static_cast<const void*>(out);
    constexpr std::size_t lane_capacity = std::size_t{1} << 30;
    const std::size_t size = codes ? code.bytes : sizeof(T);
    for (std::size_t done = 0; done < n; done += lane_capacity) {
      const std::size_t count = std::min(n - done, lane_capacity);
      const auto* const next = reinterpret_cast<const std::byte*>(in + done) + prefetch_distance;
      run(in + done, out + done * size,
          {quantizer,
           code,
           first + done,
           count,
           streamed,
           counts,
           false,
           {streamed ? next : nullptr}});
    }
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
