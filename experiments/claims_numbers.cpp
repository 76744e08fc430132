// SPDX-License-Identifier: Apache-2.0
//
// Claims about numbers and their range: binary16's small numbers, INT32, and the step of gradcheck.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "emulate/integer.h"
#include "experiments/claims.h"
#include "experiments/draws.h"
#include "lib/text/percent.h"
#include "lib/train/gradcheck.h"
#include "lib/train/model.h"
#include "lib/train/ops.h"

namespace binade {
namespace {

float to_half(float x, const Attributes& attributes = {}) {
  return value_of<float>(convert(bits_of(x), binary32, binary16, attributes).bits, binary16);
}

float float_of(std::uint64_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

/// Returns the largest float that becomes zero in binary16, by bisection below 1: rounding is
/// monotone.
float last_zero(const Attributes& attributes) {
  std::uint64_t zero = 0, other = bits_of(1.0F);
  while (other - zero > 1) {
    const std::uint64_t middle = (zero + other) / 2;
    (to_half(float_of(middle), attributes) == 0 ? zero : other) = middle;
  }
  return float_of(zero);
}

Measured underflow_at_6e_5(const ClaimInput&) {
  const float six = to_half(6e-5F), zero = last_zero({});
  const float flushed = last_zero({.flush_results = true});
  int kept = 0;
  for (std::uint64_t code = 1; code < 1024; ++code) {
    const float x = value_of<float>(code, binary16);
    kept += x < 0x1p-14F && to_half(x) == x ? 1 : 0;
  }
  // With flushing every tiny result becomes zero; values at most 2^-26 below 2^-14 round to 2^-14
  // and are not tiny.
  const bool only_flushing = flushed == std::nextafter(0x1p-14F - 0x1p-26F, 0.0F);
  const float normal = value_of<float>(1024, binary16), subnormal = value_of<float>(1, binary16);
  return {.fails = six != 0,
          .holds = kept == 1023 && zero == 0x1p-25F && only_flushing && normal == 0x1p-14F &&
                   subnormal == 0x1p-24F,
          .words = fmt::format("6e-5 becomes {:.4g}; {} smaller numbers; zero up to {:.4g}", six,
                               kept, zero),
          .figures = {{"of_6e_5", six},
                      {"smallest_normal", normal},
                      {"smallest_subnormal", subnormal},
                      {"numbers_below_2_14", kept},
                      {"largest_to_zero", zero},
                      {"largest_to_zero_flushing", flushed}}};
}

/// Of the floats of a binade that were tried: how many do not become zero in binary16, and their
/// worst relative error.
struct Survivors {
  std::size_t of = 0, all = 0;
  double worst = 0;
};

Survivors survivors_in(int e, std::uint32_t stride) {
  Survivors out;
  const std::uint64_t first = bits_of(std::ldexp(1.0F, e));
  std::vector<float> x(std::size_t{1} << 16);
  for (std::uint64_t at = 0; at < 1U << 23; at += stride * x.size()) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = float_of(first + at + i * stride);
    round_to(binary16, std::span(x));
    for (std::size_t i = 0; i < x.size(); ++i) {
      out.all += 1;
      if (x[i] == 0) continue;
      out.of += 1;
      const auto before = static_cast<double>(float_of(first + at + i * stride));
      out.worst = std::max(out.worst, std::abs(static_cast<double>(x[i]) - before) / before);
    }
  }
  return out;
}

Measured band_is_zeroed(const ClaimInput& input) {
  const std::uint32_t stride = input.quick ? 128 : 1;
  const std::array<Survivors, 3> found{survivors_in(-27, stride), survivors_in(-26, stride),
                                       survivors_in(-25, stride)};
  const Survivors& top = found[2];
  Measured out{.fails = top.of > 0,
               .holds = found[0].of == 0 && found[1].of == 0 && top.of == top.all - 1 &&
                        top.worst > 0.99 && top.worst < 1 && to_half(1.5F * 0x1p-25F) == 0x1p-24F,
               .words = fmt::format("in the binades of 2^-27, 2^-26 and 2^-25 {}, {} and {} of {} "
                                    "floats do not become zero",
                                    found[0].of, found[1].of, top.of, top.all),
               .figures = {{"worst_relative_error", top.worst},
                           {"top_binade", {0x1p-25, 0x1p-24}},
                           {"top_binade_becomes", to_half(1.5F * 0x1p-25F)}}};
  for (std::size_t i = 0; i < found.size(); ++i) {
    out.figures["binades"].push_back({{"exponent", static_cast<int>(i) - 27},
                                      {"floats", found[i].all},
                                      {"survive", found[i].of}});
  }
  return out;
}

/// Returns the largest relative error of rounding to binary16 in the binade of 2^e, over values
/// that include its ties.
double worst_error(int e) {
  double worst = 0;
  for (int i = 0; i < 1 << 14; ++i) {
    const double x = std::ldexp(1 + std::ldexp(i, -14), e);
    const auto rounded = static_cast<double>(to_half(static_cast<float>(x)));
    if (std::isfinite(rounded)) worst = std::max(worst, std::abs(rounded - x) / x);
  }
  return worst;
}

Measured precision_falls(const ClaimInput&) {
  Measured out{.fails = true, .holds = true, .words = {}, .figures = {}};
  for (int e = 15; e >= -24; --e) {
    // Half a unit in the last place, relative to 2^e (2^-11 in normal binades); the worst value
    // lies that far above 2^e.
    const double half_unit = std::ldexp(1.0, e >= -14 ? -11 : -11 + (-14 - e));
    const double worst = worst_error(e), expected = half_unit / (1 + half_unit);
    if (e >= -14 && worst != worst_error(15)) out.fails = false;
    out.holds = out.holds && worst == expected;
    out.figures["worst_relative_error"].push_back({{"exponent", e}, {"error", worst}});
  }
  int last = 15;
  while (worst_error(last - 1) == worst_error(15)) --last;
  out.holds = out.holds && last == -14;
  out.figures["half_unit"] = worst_error(15) / (1 - worst_error(15));
  out.figures["from"] = std::ldexp(1.0, last);
  out.words =
      fmt::format("worst error {:.3g} in all 30 normal binades, {:.3g} at 2^-15, {:.2g} at 2^-24",
                  worst_error(-14), worst_error(-15), worst_error(-24));
  return out;
}

double integer_of(std::uint64_t bits) {
  return value_of<double>(project(from_integer(bits, {}), binary64).bits, binary64);
}

Measured int32_has_a_sign_bit(const ClaimInput&) {
  // If INT32 were a sign and 31 bits of magnitude, these would be -0 and -(2^31 - 1).
  const double top_bit = integer_of(0x80000000), all_bits = integer_of(0xFFFFFFFF);
  const auto is_out = [](double x) {
    return (to_integer(exact_of(x), {}, Rounding::ties_to_even, false).flags & Flag::invalid) != 0;
  };
  const Model<float> model = make_mlp<float>({}, 0);
  std::size_t weights = 0, as_integers = 0, in_binary32 = 0;
  for (const auto& parameter : model.parameters) {
    in_binary32 += parameter->value.dtype == binary32 ? parameter->value.size() : 0;
    for (const float w : parameter->value.values) {
      weights += 1;
      as_integers += to_integer(exact_of(w), {}, Rounding::ties_to_even, false).bits != 0 ? 1 : 0;
    }
  }
  return {
      .fails = top_bit != 0 && as_integers < weights,
      .holds = top_bit == -0x1p31 && all_bits == -1 && is_out(0x1p31) && !is_out(-0x1p31) &&
               in_binary32 == weights && as_integers == 0,
      .words = fmt::format("0x80000000 is {:.0f}, 0xFFFFFFFF {:.0f}; {} of {} weights are not 0 in "
                           "INT32",
                           top_bit, all_bits, as_integers, weights),
      .figures = {{"of_0x80000000", top_bit},
                  {"of_0xFFFFFFFF", all_bits},
                  {"weights", weights},
                  {"weights_in_binary32", in_binary32},
                  {"not_zero_as_int32", as_integers}}};
}

/// Compares the derivative of x³ at random x from [-2, 2) with central differences.
GradcheckReport cube_check(const Format& dtype, double eps, std::size_t draws) {
  GradcheckReport sum;
  Draws random(3, 0);
  for (std::size_t i = 0; i < draws; ++i) {
    Tensor<float> x({1});
    x.values[0] = static_cast<float>(4 * random.uniform() - 2);
    const GradcheckReport one =
        gradcheck<float>([](Tape<float>& t, const std::vector<Var>& v) { return pow(t, v[0], 3); },
                         {x}, dtype, {.eps = eps});
    sum.elements += one.elements;
    sum.passed += one.passed;
    sum.zero_numerators += one.zero_numerators;
    sum.inputs += one.inputs;
    sum.unmoved += one.unmoved;
    sum.worst_abs = std::max(sum.worst_abs, one.worst_abs);
  }
  return sum;
}

/// Returns the smallest e for which 2^e + 1e-6 is 2^e in the format.
int first_unmoved(const Format& format) {
  for (int e = format.emin();; ++e) {
    double next = std::ldexp(1.0, e) + 1e-6;
    round_to(format, std::span(&next, 1));
    if (next == std::ldexp(1.0, e)) return e;
  }
}

Measured eps_vanishes(const ClaimInput& input) {
  const std::size_t draws = input.quick ? 500 : 4000;
  constexpr double wide_eps = 1e-3;
  const GradcheckReport single = cube_check(binary32, 1e-6, draws);
  const GradcheckReport wide = cube_check(binary32, wide_eps, draws);
  const GradcheckReport half = cube_check(binary16, 1e-6, draws);
  const int in_single = first_unmoved(binary32), in_half = first_unmoved(binary16);
  const auto share = [](std::size_t of, std::size_t all) {
    return static_cast<double>(of) / static_cast<double>(all);
  };
  // The rounding of f contributes an error of u·|f|/eps, here at |f| = 8 with u = 2^-24; the
  // rounding of x ± eps contributes three times that, because x·f' is 3·f.
  const double unit = 0x1p-24 * 8 / 1e-6;
  const double passed = share(single.passed, single.elements);
  const double unmoved_half = share(half.unmoved, half.inputs);
  return {
      .fails = single.zero_numerators == 0 && single.unmoved == 0,
      .holds = passed < 0.1 && wide.passed == wide.elements && in_single == 5 && in_half == -8 &&
               unmoved_half > 0.99 && single.worst_abs > unit / 2 && single.worst_abs < unit * 5,
      .words = fmt::format("FP32: {} numerators 0, {} pass (eps 1e-3: {}); x + eps = x from 2^{}",
                           single.zero_numerators, percent(passed),
                           percent(share(wide.passed, wide.elements)), in_single),
      .figures = {{"draws", draws},
                  {"fp32_zero_numerators", single.zero_numerators},
                  {"fp32_unmoved", single.unmoved},
                  {"fp32_passed", passed},
                  {"fp32_worst_error", single.worst_abs},
                  {"u_f_over_eps", unit},
                  {"fp32_passed_at_1e_3", share(wide.passed, wide.elements)},
                  {"fp16_unmoved", unmoved_half},
                  {"wide_eps", wide_eps},
                  {"unmoved_from", {std::ldexp(1.0, in_single), std::ldexp(1.0, in_half)}},
                  {"fp32_unmoved_from_exponent", in_single},
                  {"fp16_unmoved_from_exponent", in_half}}};
}

constexpr std::array number_claims{
    Claim{"underflow_at_6e_5", "FP16 underflows to zero below 6e-5", "wrong",
          "2^-14 = 6.1e-5 is the smallest normal number; below lie 1023 subnormal ones down to "
          "2^-24 = 5.96e-8. Only values of at most 2^-25 = 2.98e-8 become zero; the claim is true "
          "only with flush-to-zero.",
          &underflow_at_6e_5},
    Claim{"band_is_zeroed", "[2^-27, 2^-24) lies outside FP16 and becomes zero", "loose",
          "Two of its binades become zero; all of (2^-25, 2^-24) becomes 2^-24, an error of up to "
          "the "
          "value itself.",
          &band_is_zeroed},
    Claim{"precision_falls", "FP16's precision decreases as numbers become very small", "loose",
          "The relative precision is 2^-11 in all normal binades, and halves per binade only below "
          "2^-14.",
          &precision_falls},
    Claim{"int32_has_a_sign_bit", "INT32 is a sign and 31 bits of number; training uses INT32",
          "loose",
          "INT32 is two's complement: -2^31 has no opposite and zero no sign. Training is in FP32.",
          &int32_has_a_sign_bit},
    Claim{
        "eps_vanishes", "In FP32 x + 1e-6 == x, so gradcheck's numerator is 0", "wrong for FP32",
        "Equal only from |x| = 2^5 on (FP16: 2^-8). What fails is cancellation, an error of about "
        "u |f| / eps; eps = 1e-3 confirms every gradient.",
        &eps_vanishes}};

}  // namespace

std::span<const Claim> claims_of_numbers() { return number_claims; }

}  // namespace binade
