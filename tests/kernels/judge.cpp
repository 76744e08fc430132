// SPDX-License-Identifier: Apache-2.0
//
// Formats and numbers that hurt, and which call has a fault.
#include "tests/kernels/judge.h"

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

namespace binade::kernel_test {

const Fault* fault_of_call() {
  const std::uint64_t call = faults.calls++;
  for (const Fault& fault : faults.planted) {
    if (fault.call == call) return &fault;
  }
  return nullptr;
}

namespace {

#if defined(__SSE2__)
// MXCSR, without the flags of exceptions.
std::uint32_t environment_now() { return _mm_getcsr() & ~0x3FU; }
void set_environment(std::uint32_t to) { _mm_setcsr(to); }
constexpr std::uint32_t usual = 0x1F80, ftz = 1U << 15, daz = 1U << 6, rounding = 1U << 13;
#elif defined(__aarch64__)
// FPCR, in which one bit flushes results and operands; the other stands for NaNs that are all the
// same.
std::uint32_t environment_now() {
  std::uint64_t fpcr = 0;
  asm volatile("mrs %0, fpcr" : "=r"(fpcr));
  return static_cast<std::uint32_t>(fpcr);
}
void set_environment(std::uint32_t to) {
  asm volatile("msr fpcr, %0" : : "r"(std::uint64_t{to}) : "memory");
}
constexpr std::uint32_t usual = 0, ftz = 1U << 24, daz = 1U << 25, rounding = 1U << 22;
#else
std::uint32_t environment_now() { return 0; }
void set_environment(std::uint32_t /*to*/) {}
constexpr std::uint32_t usual = 0, ftz = 0, daz = 0, rounding = 0;
#endif

}  // namespace

OtherEnvironment::OtherEnvironment() {
  if (!faults.in_other_environments) return;
  constexpr std::array others{usual,
                              usual | ftz,
                              usual | daz,
                              usual | ftz | daz,
                              usual | rounding,
                              usual | 2 * rounding,
                              usual | 3 * rounding,
                              usual | ftz | daz | 2 * rounding};
  before_ = environment_now();
  // Which one follows no order of a judge's calls (a step of SplitMix64).
  std::uint64_t mixed = ++faults.environments * 0x9E3779B97F4A7C15U;
  mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9U;
  set_ = others[(mixed >> 32) % others.size()];
  set_environment(set_);
}

OtherEnvironment::~OtherEnvironment() {
  if (!faults.in_other_environments) return;
  faults.environments_lost += environment_now() == set_ ? 0 : 1;
  set_environment(before_);
}

namespace {

constexpr Format unsigned_format(int exponent_bits, int precision, int bias, Specials specials,
                                 bool has_zero = true, int padding_bits = 0) {
  return {exponent_bits, precision, bias, specials, has_zero, false, padding_bits};
}

/// Of users, by the condition on whose two sides they lie, also by two where it is stricter than it
/// must be by one. c: the carrier.
constexpr std::array user_formats{
    Format{2, 1, 1, Specials::none}, Format{3, 1, 3, Specials::none},
    // As precise as binary32.
    Format{8, 23, 127}, Format{8, 24, 100}, Format{7, 22, 63}, Format{7, 24, 63},
    // Subnormals that begin with c's own, and beside them.
    Format{8, 2, 127}, Format{8, 10, 128}, Format{8, 12, 120}, Format{7, 11, 127},
    Format{8, 11, 126}, Format{5, 11, 127}, Format{5, 11, 126}, Format{11, 40, 1023},
    Format{10, 30, 1023}, Format{11, 40, 1022}, Format{10, 52, 511}, Format{11, 53, 1023},
    // emax + 1 + drop <= emax of c.
    Format{7, 11, 13}, Format{7, 11, 12}, Format{7, 11, 11}, Format{10, 11, 42}, Format{10, 11, 41},
    Format{10, 11, 40},
    // emin + drop >= 32 + c's fraction bits - c's bias.
    Format{6, 11, 86}, Format{6, 11, 87}, Format{6, 11, 88}, Format{6, 11, 982}, Format{6, 11, 983},
    Format{6, 11, 984},
    // fits_in: quantum and emax.
    Format{5, 11, 140}, Format{5, 11, 141}, Format{5, 11, -97}, Format{5, 11, -98},
    Format{5, 11, 1065}, Format{5, 11, 1066}, Format{5, 11, -993}, Format{5, 11, -994},
    Format{5, 8, 140}, Format{5, 11, 20}, Format{5, 11, -60},
    // A code's field: 1 <= bias <= c's, 0 <= bias.
    Format{5, 11, 1}, Format{5, 11, 0}, Format{5, 11, -1}, Format{5, 6, 128}, Format{5, 6, 1023},
    Format{5, 6, 1024},
    // Which encodings are no numbers.
    Format{6, 12, 31, Specials::fnuz}, Format{5, 11, 15, Specials::none},
    Format{5, 11, 15, Specials::nan_only}, Format{8, 11, 127, Specials::nan_only},
    Format{8, 11, 127, Specials::none}, Format{8, 11, 127, Specials::fnuz},
    Format{5, 11, 15, Specials::nan_only, false}, Format{5, 11, 15, Specials::none, false},
    Format{4, 4, 7, Specials::ieee, false},
    // Without a sign.
    unsigned_format(4, 3, 7, Specials::nan_only), unsigned_format(5, 11, 15, Specials::ieee),
    unsigned_format(5, 11, 15, Specials::nan_only), unsigned_format(5, 11, 15, Specials::none),
    unsigned_format(5, 11, 15, Specials::nan_only, false),
    unsigned_format(8, 8, 127, Specials::ieee), unsigned_format(8, 24, 127, Specials::ieee),
    unsigned_format(5, 6, 15, Specials::ieee, true, 4),
    unsigned_format(8, 11, 127, Specials::none, true, 3),
    // Whose codes fill bytes, or words of 16 bits, without a sign.
    unsigned_format(4, 5, 7, Specials::none), unsigned_format(4, 5, 7, Specials::ieee),
    unsigned_format(5, 4, 15, Specials::nan_only), unsigned_format(5, 12, 15, Specials::nan_only),
    unsigned_format(8, 9, 127, Specials::ieee)};

/// Widths of codes and their padding, 11 bits in all the containers.
constexpr std::array padded_to{13, 16, 17, 32, 33, 40, 49, 62, 64};

}  // namespace

const std::vector<Format>& tried_formats() {
  static const std::vector<Format> tried = [] {
    std::vector<Format> out;
    for (const NamedFormat& row : formats) out.push_back(row.format);
    out.insert(out.end(), user_formats.begin(), user_formats.end());
    for (const int bits : padded_to) {
      out.push_back({5, 6, 15, Specials::ieee, true, true, bits - 11});
      out.push_back({4, 4, 7, Specials::fnuz, true, true, bits - 8});
    }
    out.push_back({8, 24, 127, Specials::ieee, true, true, 8});
    out.push_back({8, 24, 127, Specials::ieee, true, true, 32});
    for (const Specials specials : {Specials::nan_only, Specials::none, Specials::fnuz}) {
      for (int i = 0; i < 4; ++i) {  // of precision 1, over the whole range of a carrier
        out.push_back({8, 1, 127, specials, i % 2 == 0, i / 2 == 0});
        out.push_back({11, 1, 1023, specials, i % 2 == 0, i / 2 == 0});
      }
    }
    std::erase_if(out, [](const Format& f) { return !is_valid(f); });
    return out;
  }();
  return tried;
}

std::string words_of(const Format& f) {
  const std::string_view name = format_name(f);
  if (name != "custom") return std::string(name);
  constexpr std::array<std::string_view, 4> of_specials{"", ", nan_only", ", none", ", fnuz"};
  std::string out = "e" + std::to_string(f.exponent_bits) + "m" +
                    std::to_string(f.fraction_bits()) + " bias " + std::to_string(f.bias);
  out += of_specials[static_cast<std::size_t>(f.specials)];
  if (!f.has_zero) out += ", no zero";
  if (!f.has_sign) out += ", unsigned";
  if (f.padding_bits > 0) out += ", padding " + std::to_string(f.padding_bits);
  return out;
}

std::string words_of(const Attributes& a) {
  std::string out = a.saturation == Saturation::finite ? "finite" : "none";
  if (a.rounding == Rounding::stochastic) out += ", bits " + std::to_string(a.random_bits);
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

/// 2^e in the carrier, or its nearest power of two.
template <std::floating_point T>
std::uint64_t power(int e) {
  const Format& c = Carrier<T>::format;
  const int within = std::clamp(e, c.quantum_exponent(), c.emax());
  return within < c.emin() ? std::uint64_t{1} << (within - c.quantum_exponent())
                           : static_cast<std::uint64_t>(within + c.bias) << c.fraction_bits();
}

template <std::floating_point T>
T hard_number(const Format& f, With with, Random& random) {
  const Format& c = Carrier<T>::format;
  const std::uint64_t infinity = c.exponent_mask() << c.fraction_bits();
  T out = 0;
  switch (random() % 8) {
    case 0: out = near<T>(power<T>(f.emax()), f, random); break;
    case 1: out = near<T>(power<T>(f.emax() + 1), f, random); break;
    case 2: out = near<T>(power<T>(f.emin()), f, random); break;
    case 3:
      out = near<T>(power<T>(f.quantum_exponent() - static_cast<int>(random() % 3)), f, random);
      break;
    case 4: out = bits_to<T>(random()); break;
    case 5: out = random() % 2 == 0 ? T{0} : -T{0}; break;
    case 6: {
      const std::uint64_t ends[] = {0, power<T>(c.emin()), infinity};
      out = near<T>(ends[random() % 3], c, random);
      break;
    }
    default: {
      const int span = f.emax() - f.quantum_exponent() + 6;
      const int e =
          f.quantum_exponent() - 3 + static_cast<int>(random() % static_cast<unsigned>(span));
      out = near<T>(power<T>(e) | (random() & c.fraction_mask()), f, random);
    }
  }
  const bool is_special = (bits_of(out) & ~(std::uint64_t{1} << (c.bits() - 1))) >= infinity;
  if (!is_special) return out;
  return with == With::specials ? out : T{1};
}

}  // namespace

template <std::floating_point T>
std::vector<T> hard_numbers(const Format& f, std::size_t n, std::uint64_t seed, With with) {
  Random random(seed);
  std::vector<T> out(n);
  for (T& x : out) x = hard_number<T>(f, with, random);
  return out;
}

template std::vector<float> hard_numbers<float>(const Format&, std::size_t, std::uint64_t, With);
template std::vector<double> hard_numbers<double>(const Format&, std::size_t, std::uint64_t, With);

}  // namespace binade::kernel_test
