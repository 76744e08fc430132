// SPDX-License-Identifier: Apache-2.0
//
// Judges of the kernels on arrays: every format in every rounding, and what else a quantizer says in turn, at odd
// lengths and places; bytes and counts.
#include <cmath>
#include <limits>

#include "tests/kernels/judge.h"

namespace binade::kernel_test {
namespace {

/// The i-th case of a format and rounding: saturation, flushing, tininess, NaNs in turn.
Quantizer quantizer_of(const Format& f, Rounding rounding, std::uint64_t i) {
  constexpr std::array<int, 4> random_bits{32, 1, 7, 31};
  return {f,
          {.rounding = rounding,
           .saturation = i % 2 == 0 ? Saturation::none : Saturation::finite,
           .flush_results = i % 5 == 3,
           .flush_operands = i % 3 == 2,
           .tininess = i % 4 == 3 ? Tininess::before_rounding : Tininess::after_rounding,
           .nan = static_cast<NanResult>(i % 3),
           .random_bits = random_bits[i % 4]},
          i * 0x9E3779B97F4A7C15,
          starts[i / 3 % starts.size()] + i % 4};
}

/// The case in words: its kind is the format and rounding.
void begin(Verdict& verdict, const std::string& what, const Quantizer& to, std::size_t n,
           std::uint64_t first) {
  verdict.begin(
      what + words_of(to.format) + ", " + std::string(name_of(to.attributes.rounding)),
      words_of(to.attributes) + ", n " + std::to_string(n) + ", first " + std::to_string(first));
}

/// f(format, rounding, number of the case, length, first element, place in memory) for each format and rounding once,
/// and all lengths.
template <class F>
void for_each_case(const F& f) {
  std::uint64_t number = 0;
  for (const Format& format : tried_formats()) {
    for (const NamedRounding& row : roundings) {
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        ++number;
        f(quantizer_of(format, row.rounding, number), number,
          lengths[(i + number) % lengths.size()], starts[number * 5 % starts.size()]);
      }
    }
  }
}

void compare_counts(Verdict& verdict, const EventCounts& got, const EventCounts& want) {
  const auto words = [](const EventCounts& x) {
    return std::bit_cast<std::array<std::uint64_t, sizeof(EventCounts) / 8>>(x);
  };
  verdict.compare<std::uint64_t>(words(got), words(want));
}

/// NaNs and infinities in every fourth case.
With with_of(std::uint64_t number) { return number % 4 == 0 ? With::specials : With::numbers; }

/// Arrays so large that kernels write past the caches, which ask for places in memory: numbers and others of a format, and
/// what the definition makes of them.
template <std::floating_point T>
struct LargeCase {
  Quantizer to;
  std::uint64_t first = 0;
  std::size_t place = 0;  ///< of results
  std::vector<T> in, values;
  std::vector<std::byte> codes;
  EventCounts counts;
};
template <std::floating_point T>
const std::vector<LargeCase<T>>& large_cases() {
  static const std::vector<LargeCase<T>> cases = [] {
    std::vector<LargeCase<T>> out;
    constexpr std::array<Format, 3> tried{binary16, e4m3, bfloat16};
    for (std::size_t i = 0; i < tried.size(); ++i) {
      const Rounding rounding = i == 2 ? Rounding::stochastic : Rounding::ties_to_even;
      LargeCase<T> one{
          quantizer_of(tried[i], rounding, 6 * i), starts[5 * i], 13 * i + 1, {}, {}, {}, {}};
      const std::size_t n = (std::size_t{8} << 20) / sizeof(T) + 77;
      one.in.resize(n);
      const std::vector<T> hard = hard_numbers<T>(tried[i], 4099, i, With::specials);
      for (std::size_t k = 0; k < n; ++k) one.in[k] = hard[k % hard.size()];
      one.values.resize(n);
      quantize(one.in.data(), one.values.data(), n, one.first, one.to, one.counts);
      one.codes.resize(n * code_bytes(tried[i]));
      EventCounts again;
      quantize_to_codes(one.in.data(), one.codes.data(), n, one.first, one.to, again);
      out.push_back(std::move(one));
    }
    return out;
  }();
  return cases;
}

template <std::floating_point T, Kernels::Quantize<T> Kernels::*entry>
Verdict judge_quantize(const Kernels& kernels) {
  Verdict verdict;
  for_each_case([&](const Quantizer& to, std::uint64_t number, std::size_t n, std::uint64_t first) {
    if (!fits_in(to.format, Carrier<T>::format)) return;
    const std::vector<T> in = hard_numbers<T>(to.format, n, number, with_of(number));
    begin(verdict, "", to, n, first);
    std::vector<T> want(n);
    EventCounts want_counts, counts;
    quantize(in.data(), want.data(), n, first, to, want_counts);
    const bool in_place = number % 3 == 0;
    Walled<T> from(in, number % 4), out(n, number / 4 % 4);
    T* const result = in_place ? from.data() : out.data();
    (kernels.*entry)(from.data(), result, n, first, to, counts);
    verdict.compare<T>({result, n}, want);
    compare_counts(verdict, counts, want_counts);
    verdict.require(from.is_whole() && out.is_whole(), "wrote outside the array");
    if (!in_place && n > 0) {
      verdict.require(std::memcmp(from.data(), in.data(), n * sizeof(T)) == 0, "changed its input");
    }
  });
  for (const LargeCase<T>& x : large_cases<T>()) {
    begin(verdict, "large, ", x.to, x.in.size(), x.first);
    Walled<T> out(x.in.size(), x.place);
    EventCounts counts;
    (kernels.*entry)(x.in.data(), out.data(), x.in.size(), x.first, x.to, counts);
    verdict.compare<T>(out.span(), x.values);
    compare_counts(verdict, counts, x.counts);
    verdict.require(out.is_whole(), "wrote outside the array");
  }
  return verdict;
}

template <std::floating_point T, Kernels::Encode<T> Kernels::*entry>
Verdict judge_encode(const Kernels& kernels) {
  Verdict verdict;
  for_each_case([&](const Quantizer& to, std::uint64_t number, std::size_t n, std::uint64_t first) {
    const std::vector<T> in = hard_numbers<T>(to.format, n, number, with_of(number));
    begin(verdict, "", to, n, first);
    const std::size_t bytes = n * code_bytes(to.format);
    std::vector<std::byte> want(bytes);
    EventCounts want_counts, counts;
    quantize_to_codes(in.data(), want.data(), n, first, to, want_counts);
    Walled<T> from(in, number % 4);
    Walled<std::byte> out(bytes, number / 4 % 16);
    (kernels.*entry)(from.data(), out.data(), n, first, to, counts);
    verdict.compare<std::byte>(out.span(), want);
    compare_counts(verdict, counts, want_counts);
    verdict.require(out.is_whole(), "wrote outside the array");
  });
  for (const LargeCase<T>& x : large_cases<T>()) {
    begin(verdict, "large, ", x.to, x.in.size(), x.first);
    Walled<std::byte> out(x.codes.size(), x.place);
    EventCounts counts;
    (kernels.*entry)(x.in.data(), out.data(), x.in.size(), x.first, x.to, counts);
    verdict.compare<std::byte>(out.span(), x.codes);
    compare_counts(verdict, counts, x.counts);
    verdict.require(out.is_whole(), "wrote outside the array");
  }
  return verdict;
}

/// All codes of up to 16 bits, and random ones; padding and unused bits set too.
std::vector<std::byte> codes_of(const Format& f, std::size_t n, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::byte> out(n * code_bytes(f));
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t code =
        f.bits() <= 16 && seed % 2 == 0 ? (seed * 577 + i) << f.padding_bits : random();
    std::memcpy(out.data() + i * code_bytes(f), &code, code_bytes(f));
  }
  return out;
}

template <std::floating_point T, Kernels::Decode<T> Kernels::*entry>
Verdict judge_decode(const Kernels& kernels) {
  Verdict verdict;
  std::uint64_t number = 0;
  for (const Format& f : tried_formats()) {
    if (!fits_in(f, Carrier<T>::format)) continue;
    std::vector<std::size_t> all(lengths.begin(), lengths.end());
    if (f.bits() <= 16) all.push_back(std::size_t{1} << f.bits());
    // Past the caches.
    if (f == e4m3 || f == bfloat16) all.push_back((std::size_t{8} << 20) / sizeof(T) + 77);
    for (const std::size_t n : all) {
      number += n > 1003 ? number % 2 : 1;  // all codes once
      const std::vector<std::byte> in = codes_of(f, n, n > 1003 ? 0 : number);
      verdict.begin(words_of(f), "n " + std::to_string(n));
      std::vector<T> want(n);
      values_of_codes(in.data(), want.data(), n, f);
      Walled<std::byte> from(std::span<const std::byte>(in), number % 8);
      Walled<T> out(n, number % 4);
      (kernels.*entry)(from.data(), out.data(), n, f);
      verdict.compare<T>(out.span(), want);
      verdict.require(out.is_whole(), "wrote outside the array");
    }
  }
  return verdict;
}

Verdict judge_random_words(const Kernels& kernels) {
  Verdict verdict;
  Random random(1);
  for (std::size_t i = 0; i < 2000; ++i) {
    const std::uint64_t seed = random();
    const std::uint64_t stream = i % 3 == 0 ? random() : starts[i / 3 % starts.size()];
    const std::uint64_t first = starts[i % starts.size()] + random() % 7;
    const std::size_t n = lengths[random() % lengths.size()];
    verdict.begin("first " + std::to_string(first),
                  "stream " + std::to_string(stream) + ", n " + std::to_string(n));
    std::vector<std::uint32_t> want(n);
    for (std::size_t k = 0; k < n; ++k) want[k] = random_word(seed, stream, first + k);
    Walled<std::uint32_t> out(n, i % 4);
    kernels.random_words(seed, stream, first, n, out.data());
    verdict.compare<std::uint32_t>(out.span(), want);
    verdict.require(out.is_whole(), "wrote outside the array");
  }
  return verdict;
}

/// Gradients so many that they go past the caches.
struct LargeUnscale {
  Format format;
  std::vector<float> in, want;
  NonFinite found;
};
const std::vector<LargeUnscale>& large_unscales() {
  static const std::vector<LargeUnscale> cases = [] {
    std::vector<LargeUnscale> out;
    for (const Format& f : {binary32, binary16}) {
      const std::size_t n = (std::size_t{8} << 20) / sizeof(float) + 77;
      std::vector<float> some = hard_numbers<float>(f, 4099, 5, With::specials);
      EventCounts counts;
      if (f != binary32) quantize(some.data(), some.data(), some.size(), 0, {.format = f}, counts);
      LargeUnscale one{f, std::vector<float>(n), std::vector<float>(n), {}};
      for (std::size_t i = 0; i < n; ++i) one.in[i] = some[i % some.size()];
      one.found = unscale(one.in.data(), one.want.data(), n, f, 0.3F);
      out.push_back(std::move(one));
    }
    return out;
  }();
  return cases;
}

Verdict judge_unscale(const Kernels& kernels) {
  Verdict verdict;
  std::uint64_t number = 0;
  for (const LargeUnscale& x : large_unscales()) {
    verdict.begin(words_of(x.format), "large");
    Walled<float> out(x.in.size(), ++number);
    const NonFinite got = kernels.unscale_f32(x.in.data(), out.data(), x.in.size(), x.format, 0.3F);
    verdict.compare<float>(out.span(), x.want);
    verdict.require(got == x.found, "found_inf, or its place");
    verdict.require(out.is_whole(), "wrote outside the array");
  }
  for (const Format& f : tried_formats()) {
    if (!fits_in(f, binary32)) continue;
    for (const float inv_scale : {1.0F, 0x1p-16F, 0.3F, 0.0F, 0x1p-140F, 0x1p100F, -3.0F}) {
      for (const std::size_t n : lengths) {
        ++number;
        std::vector<float> in = hard_numbers<float>(f, n, number, with_of(number));
        EventCounts counts;
        if (f != binary32) quantize(in.data(), in.data(), n, 0, {.format = f}, counts);
        verdict.begin(words_of(f),
                      "inv_scale " + std::to_string(inv_scale) + ", n " + std::to_string(n));
        std::vector<float> want(n);
        const NonFinite found = unscale(in.data(), want.data(), n, f, inv_scale);
        Walled<float> from(in, number % 4), out(n, number / 4 % 4);
        float* const result = number % 3 == 0 ? from.data() : out.data();
        const NonFinite got = kernels.unscale_f32(from.data(), result, n, f, inv_scale);
        verdict.compare<float>({result, n}, want);
        verdict.require(got == found, "found_inf, or its place");
        verdict.require(from.is_whole() && out.is_whole(), "wrote outside the array");
      }
    }
  }
  return verdict;
}

template <std::floating_point T>
using Operands3 = std::array<std::vector<T>, 3>;

/// Each operand of its own; in some places and cases a NaN, an infinity or a zero of either sign in one, two or all of
/// them, and sums that are exactly zero.
template <std::floating_point T>
Operands3<T> operands_of(const Elementwise& how, std::size_t n, std::uint64_t number) {
  Operands3<T> out;
  for (std::size_t k = 0; k < out.size(); ++k) {
    out[k] = hard_numbers<T>(how.from[k], n, 4 * number + k, with_of(number / 2));
  }
  Random random(number);
  const bool with_specials = number % 2 == 0, with_zeros = number % 4 < 2;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  constexpr std::array<T, 6> specials{infinity, -infinity, nan, -nan, T{0}, -T{0}};
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t kind = random() % 8;
    if (kind == 0 && with_zeros) {
      const bool fused = how.operation == Operation::multiply_add;
      out[1][i] = fused ? T{1} : -out[0][i];
      out[2][i] = -out[0][i];
    }
    for (std::size_t k = 0; kind < 3 && with_specials && k < out.size(); ++k) {
      if (random() % 2 == 0) out[k][i] = specials[random() % specials.size()];
    }
  }
  return out;
}

/// What operands have to do with each other.
enum class Near : std::uint8_t { hair, cancelling, zero, tie, exact, with_zeros, any };
std::span<const Near> near_of(Operation operation) {
  using enum Near;
  static constexpr std::array of_sums{hair, cancelling, zero, with_zeros, any};
  static constexpr std::array of_others{tie, exact, with_zeros, any};
  const bool compares = operation == Operation::add || operation == Operation::subtract ||
                        operation == Operation::multiply_add || selects(operation);
  if (compares) return of_sums;
  return of_others;
}
/// Exponents: in the middle of the range, at its ends, and at the limits of what a twin may conclude from a result in T.
template <std::floating_point T>
std::array<int, 11> exponents_of(const Format& to) {
  return {0,
          to.emin(),
          to.emin() + 5,
          to.quantum_exponent(),
          to.emax(),
          -50,
          -101,
          -115,
          63,
          Carrier<T>::format.quantum_exponent(),
          Carrier<T>::format.emax() - 1};
}

/// Operands of few bits or of all, with an exponent in their middle: sums with a hair beside a tie, that cancel or are
/// zero; others that are ties or on the grid, or exact, or an ulp beside that.
template <std::floating_point T>
Operands3<T> near_operands(const Elementwise& how, std::size_t n, std::uint64_t number, int middle,
                           std::span<const Near> kinds) {
  using enum Near;
  Random random(number);
  const Format& c = Carrier<T>::format;
  const int p = how.to.precision;
  const auto below = [&](int most) {
    return static_cast<int>(random() % static_cast<unsigned>(most));
  };
  const int spread = std::array{1, 4, 20, 50}[random() % 4];
  // `bits` significant ones, of which the last is a one.
  const auto value = [&](int e, int bits) {
    const int top = std::clamp(e, c.quantum_exponent(), c.emax());
    const std::uint64_t significand = random() >> (64 - bits) | std::uint64_t{1} << (bits - 1) | 1;
    const T x = static_cast<T>(std::ldexp(static_cast<double>(significand), top - bits + 1));
    return random() % 2 == 0 ? x : -x;
  };
  const auto any_bits = [&] {
    return std::array{1, std::min(11, c.precision), p, std::min(p + 1, c.precision),
                      c.precision}[random() % 5];
  };
  const auto ulp_beside = [&](T x) {
    const std::uint64_t bits = bits_of(x) + random() % 3 - 1;
    const T out = std::bit_cast<T>(static_cast<typename Carrier<T>::Bits>(bits));
    return std::isfinite(out) ? out : x;
  };
  const auto tie_bits = [&] { return std::min(p + below(2), c.precision); };
  Operands3<T> out{std::vector<T>(n), std::vector<T>(n), std::vector<T>(n)};
  for (std::size_t i = 0; i < n; ++i) {
    T a = value(middle + below(spread), any_bits()), b = value(middle - below(spread), any_bits());
    T third = value(middle + below(spread), any_bits());
    const bool fused = how.operation == Operation::multiply_add;
    if (fused && random() % 2 == 0) b = value(-below(3), 1 + below(3));
    switch (kinds[random() % kinds.size()]) {
      case hair:  // beside a tie
        a = value(middle, tie_bits());
        third = value(middle - p - 1 - below(60), 1);
        b = fused ? T{1} : third;
        break;
      case cancelling:
        b = fused ? b : -ulp_beside(a);
        third = -ulp_beside(static_cast<T>(a * b));
        break;
      case zero:
        third = -static_cast<T>(a * b);
        b = fused ? b : -a;
        break;
      case tie: {  // or what seems one in T
        const bool is_large = random() % 2 == 0;
        const T result = value(is_large ? below(20) : middle, tie_bits());
        b = value(is_large ? middle : below(20), any_bits());
        a = ulp_beside(static_cast<T>(result * b));
        if (how.operation == Operation::multiply) {
          b = value(middle / 2, any_bits());
          a = ulp_beside(static_cast<T>(value(middle, tie_bits()) / b));
        } else if (how.operation == Operation::square_root) {
          const T root = value(middle / 2, tie_bits());
          a = ulp_beside(static_cast<T>(root * root));
        }
        break;
      }
      case exact: {
        const T result = value(middle / 2, std::min(tie_bits(), c.precision / 2));
        b = how.operation == Operation::square_root ? result : value(below(20), c.precision / 2);
        a = static_cast<T>(result * b);
        break;
      }
      case with_zeros: a = random() % 16 == 0 ? T{0} : a; break;
      case any: break;
    }
    if (how.operation == Operation::square_root && random() % 64 != 0) a = std::abs(a);
    const std::array<T, 3> all{a, b, third};
    for (std::size_t k = 0; k < all.size(); ++k) out[k][i] = std::isfinite(all[k]) ? all[k] : T{1};
  }
  // Now and then one that is apart, late in an array.
  if (random() % 3 == 0 && n > 0) {
    constexpr std::array<T, 6> apart{T{0},
                                     std::numeric_limits<T>::infinity(),
                                     static_cast<T>(0x1p-140),
                                     std::numeric_limits<T>::quiet_NaN(),
                                     T{0x1p-70},
                                     T{0x1.8p127}};
    for (std::vector<T>& x : out)
      x[n - 1 - random() % (n / 4 + 1)] = apart[random() % apart.size()];
  }
  return out;
}

/// Operands, and what the definition makes of them.
template <std::floating_point T>
struct ElementwiseCase {
  Elementwise how;
  std::uint64_t first = 0, number = 0;
  const char* kind = "";
  Operands3<T> in;
  std::vector<T> want{};
  EventCounts counts{};

  void define() {
    want.resize(in[0].size());
    elementwise(in[0].data(), in[1].data(), in[2].data(), want.data(), want.size(), first, how,
                counts);
  }
};

template <std::floating_point T, Kernels::OnElements<T> Kernels::*entry>
void judge_case(const Kernels& kernels, const ElementwiseCase<T>& x, Verdict& verdict) {
  const std::size_t n = x.want.size();
  const int operands = operand_count(x.how.operation);
  const auto place = static_cast<std::size_t>(x.number);
  std::array<Walled<T>, 3> in{Walled<T>(x.in[0], place % 4), Walled<T>(x.in[1], place / 2 % 4),
                              Walled<T>(x.in[2], place / 3 % 4)};
  Walled<T> out(n, place / 4 % 4);
  // In place of the first operand, or of the last.
  const std::size_t replaced = x.number % 6 == 0 ? 0 : static_cast<std::size_t>(operands) - 1;
  T* const result = x.number % 3 == 0 ? in[replaced].data() : out.data();
  EventCounts counts;
  (kernels.*entry)(in[0].data(), operands > 1 ? in[1].data() : nullptr,
                   operands > 2 ? in[2].data() : nullptr, result, n, x.first, x.how, counts);
  verdict.compare<T>({result, n}, x.want);
  compare_counts(verdict, counts, x.counts);
  verdict.require(out.is_whole() && in[0].is_whole() && in[1].is_whole() && in[2].is_whole(),
                  "wrote outside the array");
}

/// Every operation in every rounding, at every exponent, and of every kind.
template <std::floating_point T>
void add_cases_at_limits(std::vector<ElementwiseCase<T>>& out) {
  for (const Format& f : {tf32, binary16, Format{8, 22, 127}}) {
    for (const NamedOperation& row : operations) {
      for (const Near& kind : near_of(row.operation)) {
        for (const int middle : exponents_of<T>(f)) {
          for (const NamedRounding& rounding : roundings) {
            const std::uint64_t number = out.size();
            const Quantizer to = quantizer_of(f, rounding.rounding, number);
            const Elementwise how{row.operation, {f, f, f}, f, to.attributes, to.seed, to.stream};
            out.push_back({how, number, number, "near",
                           near_operands<T>(how, 129, number, middle, {&kind, 1})});
          }
        }
      }
    }
  }
}

/// As `large_cases`: of operations whose results go past the caches.
template <std::floating_point T>
void add_large_cases(std::vector<ElementwiseCase<T>>& out) {
  constexpr std::array tried{Operation::add, Operation::multiply_add, Operation::square_root};
  for (std::size_t i = 0; i < tried.size(); ++i) {
    const Format& f = i == 1 ? bfloat16 : binary16;
    ElementwiseCase<T> one{{.operation = tried[i], .from = {f, f, f}, .to = f},
                           starts[5 * i],
                           13 * i + 1,
                           "large",
                           {}};
    const Operands3<T> some = near_operands<T>(one.how, 4099, i, 0, near_of(tried[i]));
    const std::size_t n = (std::size_t{8} << 20) / sizeof(T) + 77;
    for (std::size_t k = 0; k < some.size(); ++k) {
      one.in[k].resize(n);
      for (std::size_t at = 0; at < n; ++at) one.in[k][at] = some[k][at % some[k].size()];
    }
    out.push_back(std::move(one));
  }
}

/// Made and defined once: all levels get the same.
template <std::floating_point T>
const std::vector<ElementwiseCase<T>>& elementwise_cases() {
  static const std::vector<ElementwiseCase<T>> cases = [] {
    std::vector<ElementwiseCase<T>> out;
    for_each_case(
        [&](const Quantizer& to, std::uint64_t number, std::size_t n, std::uint64_t first) {
          if (!fits_in(to.format, Carrier<T>::format)) return;
          const bool own = number % 5 != 0;  // operands of another format, now and then
          const Format from = own ? to.format : binary16;
          // An operation in turn, whatever the length's place.
          const std::uint64_t turn = number + number / lengths.size();
          Elementwise how{operations[turn % operations.size()].operation,
                          {from, from, from},
                          to.format,
                          to.attributes,
                          to.seed,
                          to.stream};
          out.push_back({how, first, number, "hard", operands_of<T>(how, n, number)});
          how.operation = operations[(turn + 3) % operations.size()].operation;
          const int middle = exponents_of<T>(to.format)[number % 11];
          out.push_back({how, first, number, "near",
                         near_operands<T>(how, n, number, middle, near_of(how.operation))});
        });
    add_cases_at_limits(out);
    add_large_cases(out);
    for (ElementwiseCase<T>& x : out) x.define();
    return out;
  }();
  return cases;
}

template <std::floating_point T, Kernels::OnElements<T> Kernels::*entry>
Verdict judge_elementwise(const Kernels& kernels) {
  Verdict verdict;
  for (const ElementwiseCase<T>& x : elementwise_cases<T>()) {
    const std::string_view name = operations[static_cast<std::size_t>(x.how.operation)].name;
    begin(verdict, std::string(name) + " of " + x.kind + " numbers in ",
          {.format = x.how.to, .attributes = x.how.attributes}, x.want.size(), x.first);
    judge_case<T, entry>(kernels, x, verdict);
  }
  return verdict;
}

// The same kernels with faults.

template <std::floating_point T, Kernels::Quantize<T> Kernels::*entry>
void quantize_with_faults(const T* in, T* out, std::size_t n, std::uint64_t first,
                          const Quantizer& to, EventCounts& counts) {
  called(behind<entry>, in, out, n, first, to, counts);
  plant(out, n, &counts);
}
template <std::floating_point T, Kernels::Encode<T> Kernels::*entry>
void encode_with_faults(const T* in, std::byte* out, std::size_t n, std::uint64_t first,
                        const Quantizer& to, EventCounts& counts) {
  called(behind<entry>, in, out, n, first, to, counts);
  plant(out, n * code_bytes(to.format), &counts);
}
template <std::floating_point T, Kernels::Decode<T> Kernels::*entry>
void decode_with_faults(const std::byte* in, T* out, std::size_t n, const Format& format) {
  called(behind<entry>, in, out, n, format);
  plant(out, n);
}
void random_words_with_faults(std::uint64_t seed, std::uint64_t stream, std::uint64_t first,
                              std::size_t n, std::uint32_t* out) {
  called(behind<&Kernels::random_words>, seed, stream, first, n, out);
  plant(out, n);
}
NonFinite unscale_with_faults(const float* in, float* out, std::size_t n, const Format& format,
                              float inv_scale) {
  NonFinite found = called(behind<&Kernels::unscale_f32>, in, out, n, format, inv_scale);
  const Fault* fault = n == 0 ? nullptr : fault_of_call();
  if (fault == nullptr) return found;
  if (!fault->in_counts) {
    turn_bit(out, n, *fault);
  } else if (fault->at_end) {
    turn_bit(&found.value, 1, *fault);
  } else {
    turn_bit(&found.at, 1, *fault);
  }
  return found;
}
template <std::floating_point T, Kernels::OnElements<T> Kernels::*entry>
void elementwise_with_faults(const T* a, const T* b, const T* c, T* out, std::size_t n,
                             std::uint64_t first, const Elementwise& how, EventCounts& counts) {
  called(behind<entry>, a, b, c, out, n, first, how, counts);
  plant(out, n, &counts);
}

constexpr std::size_t timed_elements = 16384;

/// Both signs, log-uniform around where binary16 begins to lose.
template <std::floating_point T>
const std::vector<T>& timed_numbers() {
  static const std::vector<T> numbers = [] {
    Random random(7);
    std::vector<T> out(timed_elements);
    for (T& x : out) {
      const std::uint64_t field = 99 + random() % 33;
      const std::uint64_t bits = random() % 2 << 31 | field << 23 | (random() & 0x7FFFFF);
      x = static_cast<T>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    }
    return out;
  }();
  return numbers;
}
template <class T>
std::vector<T>& timed_results() {
  static std::vector<T> results(timed_elements);
  return results;
}

struct Timed {
  Format format;
  Rounding rounding;
  const char* name;
};
constexpr Timed timed[]{{binary16, Rounding::ties_to_even, "binary16"},
                        {bfloat16, Rounding::ties_to_even, "bfloat16"},
                        {e4m3, Rounding::ties_to_even, "e4m3"},
                        {binary16, Rounding::toward_zero, "binary16 toward_zero"},
                        {binary16, Rounding::to_odd, "binary16 to_odd"},
                        {binary16, Rounding::stochastic, "binary16 stochastic"}};

template <std::floating_point T, Kernels::Quantize<T> Kernels::*entry>
void time_quantize(const Kernels& kernels, std::size_t i) {
  EventCounts counts;
  (kernels.*entry)(timed_numbers<T>().data(), timed_results<T>().data(), timed_elements, 0,
                   {timed[i].format, {.rounding = timed[i].rounding}}, counts);
}
template <std::floating_point T, Kernels::Encode<T> Kernels::*entry>
void time_encode(const Kernels& kernels, std::size_t i) {
  EventCounts counts;
  (kernels.*entry)(timed_numbers<T>().data(),
                   reinterpret_cast<std::byte*>(timed_results<std::uint64_t>().data()),
                   timed_elements, 0, {timed[i].format, {.rounding = timed[i].rounding}}, counts);
}
template <std::floating_point T, Kernels::Decode<T> Kernels::*entry>
void time_decode(const Kernels& kernels, std::size_t i) {
  static const std::vector<std::byte> codes = [] {
    std::vector<std::byte> out(timed_elements * 2);
    EventCounts counts;
    quantize_to_codes(timed_numbers<float>().data(), out.data(), timed_elements, 0,
                      {.format = binary16}, counts);
    return out;
  }();
  (kernels.*entry)(codes.data(), timed_results<T>().data(), timed_elements, timed[i].format);
}
void time_random_words(const Kernels& kernels, std::size_t) {
  kernels.random_words(1, 2, 0, timed_elements, timed_results<std::uint32_t>().data());
}
void time_unscale(const Kernels& kernels, std::size_t i) {
  kernels.unscale_f32(timed_numbers<float>().data(), timed_results<float>().data(), timed_elements,
                      i == 0 ? binary32 : binary16, 0x1p-16F);
}
template <std::floating_point T, Kernels::OnElements<T> Kernels::*entry>
void time_elementwise(const Kernels& kernels, std::size_t i) {
  EventCounts counts;
  const T* x = timed_numbers<T>().data();
  const std::size_t n = timed_elements / 4;
  // Operands on the grid, as a GPU's kernel has them; roots of magnitudes.
  static const std::vector<T> operands = [x] {
    std::vector<T> out(timed_elements);
    EventCounts none;
    quantize(x, out.data(), out.size(), 0, {.format = binary16}, none);
    for (std::size_t k = 0; k < out.size(); ++k)
      out[k] = k < timed_elements / 4 ? std::abs(out[k]) : out[k];
    return out;
  }();
  (kernels.*entry)(operands.data(), operands.data() + n, operands.data() + 2 * n,
                   timed_results<T>().data(), n, 0, {.operation = operations[i].operation}, counts);
}

std::vector<Work> format_works(void (*run)(const Kernels&, std::size_t),
                               std::size_t n = std::size(timed)) {
  std::vector<Work> out;
  for (std::size_t i = 0; i < n; ++i) out.push_back({timed[i].name, timed_elements, run, i});
  return out;
}
std::vector<Work> operation_works(void (*run)(const Kernels&, std::size_t)) {
  std::vector<Work> out;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].operation == Operation::remainder) continue;
    out.push_back({std::string(operations[i].name), timed_elements / 4, run, i});
  }
  return out;
}

template <auto entry, auto with>
Entry entry_of(std::string_view name, Verdict (*judge)(const Kernels&), std::vector<Work> works,
               std::string_view bound = "") {
  return {name,  &has_entry<entry>,         &same_entry<entry>,
          judge, &with_faults<entry, with>, std::move(works),
          bound};
}
template <std::floating_point T, Kernels::Quantize<T> Kernels::*entry>
Entry quantize_entry(std::string_view name) {
  return entry_of<entry, &quantize_with_faults<T, entry>>(name, &judge_quantize<T, entry>,
                                                          format_works(&time_quantize<T, entry>));
}
template <std::floating_point T, Kernels::Encode<T> Kernels::*entry>
Entry encode_entry(std::string_view name) {
  return entry_of<entry, &encode_with_faults<T, entry>>(name, &judge_encode<T, entry>,
                                                        format_works(&time_encode<T, entry>));
}
template <std::floating_point T, Kernels::Decode<T> Kernels::*entry>
Entry decode_entry(std::string_view name) {
  return entry_of<entry, &decode_with_faults<T, entry>>(name, &judge_decode<T, entry>,
                                                        format_works(&time_decode<T, entry>, 3));
}
template <std::floating_point T, Kernels::OnElements<T> Kernels::*entry>
Entry elementwise_entry(std::string_view name) {
  return entry_of<entry, &elementwise_with_faults<T, entry>>(
      name, &judge_elementwise<T, entry>, operation_works(&time_elementwise<T, entry>));
}

}  // namespace

std::vector<Entry> array_entries() {
  using K = Kernels;
  return {
      quantize_entry<float, &K::quantize_f32>("quantize_f32"),
      quantize_entry<double, &K::quantize_f64>("quantize_f64"),
      encode_entry<float, &K::encode_f32>("encode_f32"),
      encode_entry<double, &K::encode_f64>("encode_f64"),
      decode_entry<float, &K::decode_f32>("decode_f32"),
      decode_entry<double, &K::decode_f64>("decode_f64"),
      entry_of<&K::random_words, &random_words_with_faults>(
          "random_words", &judge_random_words, {{"Philox", timed_elements, &time_random_words, 0}}),
      entry_of<&K::unscale_f32, &unscale_with_faults>(
          "unscale_f32", &judge_unscale,
          {{"binary32", timed_elements, &time_unscale, 0},
           {"binary16", timed_elements, &time_unscale, 1}}),
      elementwise_entry<float, &K::elementwise_f32>("elementwise_f32"),
      elementwise_entry<double, &K::elementwise_f64>("elementwise_f64"),
  };
}

}  // namespace binade::kernel_test
