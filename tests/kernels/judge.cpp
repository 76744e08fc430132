// SPDX-License-Identifier: Apache-2.0
//
// Formats and numbers that hurt.
#include "tests/kernels/judge.h"

namespace binade::kernel_test {

std::vector<Format> tried_formats() {
  std::vector<Format> out;
  for (const NamedFormat& row : formats) out.push_back(row.format);
  for (const Format& f :
       {Format{2, 1, 1, Specials::none}, Format{3, 1, 3, Specials::none},  // precision 1
        Format{8, 23, 127}, Format{8, 24, 100}, Format{7, 22, 63},
        Format{7, 24, 63},                                          // as precise as binary32
        Format{5, 11, 20}, Format{5, 11, -60}, Format{5, 8, 140},   // other biases
        Format{8, 2, 127}, Format{8, 10, 128}, Format{8, 12, 120},  // ends beside binary32's
        Format{4, 3, 7, Specials::nan_only, true, false}, Format{6, 12, 31, Specials::fnuz},
        Format{5, 11, 15, Specials::none}, Format{11, 40, 1023}, Format{10, 52, 511},
        Format{5, 6, 15, Specials::ieee, true, true, 4}, Format{4, 4, 7, Specials::ieee, false}}) {
    out.push_back(f);
  }
  return out;
}

std::string words_of(const Quantizer& to) {
  const Attributes& a = to.attributes;
  const Format& f = to.format;
  std::string out(name_of(f));
  if (out == "custom") {
    out = "e" + std::to_string(f.exponent_bits) + "m" + std::to_string(f.fraction_bits()) +
          " bias " + std::to_string(f.bias);
  }
  out += ", " + std::string(name_of(a.rounding));
  if (a.rounding == Rounding::stochastic) out += " " + std::to_string(a.random_bits);
  if (a.saturation == Saturation::finite) out += ", finite";
  if (a.flush_results) out += ", ftz";
  if (a.flush_operands) out += ", daz";
  if (a.tininess == Tininess::before_rounding) out += ", before rounding";
  if (a.nan != NanResult::quiet) out += a.nan == NanResult::nvidia ? ", nvidia" : ", propagate";
  return out;
}

namespace {

template <std::floating_point T>
T bits_to(std::uint64_t bits) {
  return std::bit_cast<T>(static_cast<typename Carrier<T>::Bits>(bits));
}

/// The magnitude's bits, moved by some ulps of the carrier or half ulps of f, of either sign.
template <std::floating_point T>
T near(std::uint64_t bits, const Format& f, Random& random) {
  const Format& c = Carrier<T>::format;
  const int drop = c.precision - f.precision;
  const std::uint64_t half_ulp = drop > 0 ? std::uint64_t{1} << (drop - 1) : 1;
  constexpr std::array<int, 7> steps{0, 0, 1, -1, 2, -2, 3};
  const auto step = static_cast<std::uint64_t>(steps[random() % 7]);
  const std::uint64_t moved = bits + step * (random() % 2 == 0 ? 1 : half_ulp);
  const std::uint64_t sign = std::uint64_t{1} << (c.bits() - 1);
  return bits_to<T>((moved & (sign - 1)) | (random() % 2 == 0 ? sign : 0));
}

template <std::floating_point T>
T hard_number(const Format& f, bool with_specials, Random& random) {
  const Format& c = Carrier<T>::format;
  const auto power = [&c](int e) {
    const int within = e < c.quantum_exponent() ? c.quantum_exponent()
                       : e > c.emax()           ? c.emax()
                                                : e;
    return within < c.emin() ? std::uint64_t{1} << (within - c.quantum_exponent())
                             : static_cast<std::uint64_t>(within + c.bias) << c.fraction_bits();
  };
  const std::uint64_t infinity = c.exponent_mask() << c.fraction_bits();
  T out = 0;
  switch (random() % 8) {
    case 0: out = near<T>(power(f.emax()), f, random); break;
    case 1: out = near<T>(power(f.emax() + 1), f, random); break;
    case 2: out = near<T>(power(f.emin()), f, random); break;
    case 3:
      out = near<T>(power(f.quantum_exponent() - static_cast<int>(random() % 3)), f, random);
      break;
    case 4: out = bits_to<T>(random()); break;
    case 5: out = random() % 2 == 0 ? T{0} : -T{0}; break;
    case 6: {
      const std::uint64_t ends[] = {0, power(c.emin()), infinity};
      out = near<T>(ends[random() % 3], c, random);
      break;
    }
    default: {
      const int span = f.emax() - f.quantum_exponent() + 6;
      const int e =
          f.quantum_exponent() - 3 + static_cast<int>(random() % static_cast<unsigned>(span));
      out = near<T>(power(e) | (random() & c.fraction_mask()), f, random);
    }
  }
  const bool is_special = (bits_of(out) & ~(std::uint64_t{1} << (c.bits() - 1))) >= infinity;
  if (!is_special) return out;
  return with_specials ? out : T{1};
}

}  // namespace

template <std::floating_point T>
std::vector<T> hard_numbers(const Format& f, std::size_t n, std::uint64_t seed) {
  Random random(seed);
  const bool with_specials = seed % 4 == 0;
  std::vector<T> out(n);
  for (T& x : out) x = hard_number<T>(f, with_specials, random);
  return out;
}

template std::vector<float> hard_numbers<float>(const Format&, std::size_t, std::uint64_t);
template std::vector<double> hard_numbers<double>(const Format&, std::size_t, std::uint64_t);

}  // namespace binade::kernel_test
