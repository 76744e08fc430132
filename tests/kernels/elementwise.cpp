// SPDX-License-Identifier: Apache-2.0
//
// The judge of elementwise operations: near ties, at every limit of what the kernels lean on, in
// place of any operand, past the caches; bytes and counts.
#include <limits>
#include <span>

#include "tests/kernels/array_cases.h"

namespace binade::kernel_test {
namespace {

template <std::floating_point T>
using Operands3 = std::array<std::vector<T>, 3>;

/// Each operand of its own; in some places and cases a NaN, an infinity or a zero of either sign in
/// one, two or all of them, and sums that are exactly zero.
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
  constexpr T signaling = std::numeric_limits<T>::signaling_NaN();
  constexpr std::array<T, 7> specials{infinity, -infinity, nan, -nan, signaling, T{0}, -T{0}};
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
/// Exponents: in the middle of the range, at its ends, and at the limits of what a twin may
/// conclude from a result in T.
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

/// Returns n operands of few bits or of all, with exponents about `middle`: sums that lie just
/// beside a tie, cancel or are zero; other results that are ties or exact, or whose operands are an
/// ulp away from giving one.
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
  constexpr std::array tried{Operation::add, Operation::multiply_add, Operation::square_root,
                             Operation::multiply};
  for (std::size_t i = 0; i < tried.size(); ++i) {
    const Format& f = i == 1 ? bfloat16 : binary16;
    const Attributes attributes{.rounding = i == 3 ? Rounding::stochastic : Rounding::ties_to_even};
    ElementwiseCase<T> one{
        {.operation = tried[i], .from = {f, f, f}, .to = f, .attributes = attributes},
        starts[5 * i % starts.size()],
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
          // Operands of other formats, now and then.
          const Format& own = to.format;
          const OperandFormats from = number % 5 == 0 ? OperandFormats{binary16, binary16, binary16}
                                      : number % 5 == 1 ? OperandFormats{binary16, own, bfloat16}
                                                        : OperandFormats{own, own, own};
          // An operation in turn, whatever the length's place.
          const std::uint64_t turn = number + number / lengths.size();
          Elementwise how{operations[turn % operations.size()].operation,
                          from,
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
    // The definition alone, which has no twin here: a call, its counts and its environment.
    if (std::is_same_v<T, double>)
      std::erase_if(out, [](const auto& x) { return x.number % 7 != 0; });
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

template <std::floating_point T, Kernels::OnElements<T> Kernels::*entry>
void elementwise_with_faults(const T* a, const T* b, const T* c, T* out, std::size_t n,
                             std::uint64_t first, const Elementwise& how, EventCounts& counts) {
  called(behind<entry>, a, b, c, out, n, first, how, counts);
  plant(out, n, &counts);
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

std::vector<Work> operation_works(void (*run)(const Kernels&, std::size_t)) {
  std::vector<Work> out;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].operation == Operation::remainder) continue;
    out.push_back({std::string(operations[i].name), timed_elements / 4, run, i});
  }
  return out;
}

template <std::floating_point T, Kernels::OnElements<T> Kernels::*entry>
Entry elementwise_entry(std::string_view name) {
  return entry_of<entry, &elementwise_with_faults<T, entry>>(
      name, &judge_elementwise<T, entry>, operation_works(&time_elementwise<T, entry>));
}

}  // namespace

std::vector<Entry> elementwise_entries() {
  using K = Kernels;
  return {elementwise_entry<float, &K::elementwise_f32>("elementwise_f32"),
          elementwise_entry<double, &K::elementwise_f64>("elementwise_f64")};
}

}  // namespace binade::kernel_test
