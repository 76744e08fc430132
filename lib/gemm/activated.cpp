// SPDX-License-Identifier: Apache-2.0
//
// The ranges of activations, whose ends are rounded as the epilogue rounds its value.
#include "lib/gemm/activated.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace binade {
namespace {

struct Range {
  double low = 0, high = 0;
};

/// Returns the range of x/2·(1 + f(u)) or x/(1 + e^-x) for a finite x other than 0, where the
/// argument u of erf or tanh is off by at most 2^-21 of itself, f by 2^-21 (4 ulp below 1; erf in
/// PyTorch's vectors is Abramowitz and Stegun's 7.1.26, off by 1.5·10^-7 and some roundings), e^-x
/// by 4 ulp, and each of up to 4 further operations rounds once. What PyTorch 1.13 gives on a CPU
/// for 1.6 million arguments lies inside. Hardware's approximations (tanh.approx) may not.
Range formula_range(Activation activation, double x) {
  constexpr double error = 0x1p-21;
  const double exact = rounded_activation(activation, static_cast<float>(x));
  double ends[2]{};
  if (activation == Activation::silu) {
    ends[0] = exact * (1 + 2 * error);
    ends[1] = x < -87 ? -0.0 : exact * (1 - 2 * error);  // e^88.7 overflows
  } else {
    double f = x < 0 ? -1 : 1, slope = 0;  // the function, and its derivative times its argument
    const double magnitude = std::abs(x);
    if (activation == Activation::gelu && magnitude < detail::gelu_end) {
      f = detail::narrow_erf_of(x);
      slope = magnitude * detail::narrow_exp(-0.5 * magnitude * magnitude);
    } else if (activation == Activation::gelu_tanh && magnitude < 5) {
      const double u = 0.5 * detail::logistic_argument(activation, magnitude).high;
      f = std::copysign(detail::narrow_tanh(u), x);
      slope = u * (1 - f * f);
    }
    const double off = error * (1 + slope);
    ends[0] = 0.5 * x * std::max(1 + f - off, 0.0) * (1 - error);
    ends[1] = 0.5 * x * (1 + f + off) * (1 + error);
  }
  return {std::min(ends[0], ends[1]), std::max(ends[0], ends[1])};
}

/// Returns D's code of a double behind the activation; `index` is the element's number.
std::uint64_t output_code(const Epilogue& e, double x, Rounding rounding, std::uint64_t index = 0) {
  Typed value{std::bit_cast<std::uint64_t>(x), binary64};
  Attributes last = output_attributes(e);
  last.rounding = rounding;
  if (e.through)
    value = {convert(value.bits, value.format, *e.through, detail::to_nearest).bits, *e.through};
  const std::uint32_t random = output_random(e, index).value_or(0);
  return convert(value.bits, value.format, e.out, last, random).bits;
}

double real_of(std::uint64_t code, const Format& f) {
  return std::bit_cast<double>(convert(code, f, binary64).bits);
}

}  // namespace

GemmModel before_activation(GemmModel g) {
  Epilogue& e = g.epilogue;
  e.activation = Activation::none;
  e.through.reset();
  e.out = binary32;
  e.saturate = false;
  e.rounding = Rounding::ties_to_even;
  return g;
}

ActivatedCodes activated_codes(const Epilogue& e, std::uint64_t bits, std::uint64_t index) {
  const float value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  const float exact = rounded_activation(e.activation, value);
  const auto rounded = [&](double x) { return output_code(e, x, e.rounding, index); };
  const std::uint64_t code = rounded(exact);
  if (!std::isfinite(exact) || value == 0) return {code, code, code};
  const Range range = formula_range(e.activation, value);
  return {code, rounded(range.low), rounded(range.high)};
}

ActivatedCodes reached_codes(const Epilogue& e, std::uint64_t bits, double reach,
                             std::uint64_t index) {
  ActivatedCodes out = activated_codes(e, bits, index);
  const float value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  if (!std::isfinite(value)) return out;
  const Range range = value == 0 ? Range{} : formula_range(e.activation, value);
  // The range is narrower than 2^-18 of its argument, there too.
  const double more = 1.13 * reach + 0x1p-18 * (std::abs(value) + reach);
  out.low = output_code(e, range.low - more, Rounding::toward_negative);
  out.high = output_code(e, range.high + more, Rounding::toward_positive);
  return out;
}

bool is_within(const ActivatedCodes& x, std::uint64_t code, const Format& out) {
  if (code == x.exact) return true;
  const double number = real_of(code, out);  // no comparison of a NaN is true
  return real_of(x.low, out) <= number && number <= real_of(x.high, out);
}

}  // namespace binade
