// SPDX-License-Identifier: Apache-2.0
//
// The formats as their documents print them, typed in from the documents and not from the project:
// parameters, limits, and two codes each. Here is also value_of(), which reads a code's fields.
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "tests/oracle/oracle.h"

namespace oracle {
namespace {

constexpr double infinite_double = std::numeric_limits<double>::infinity();

constexpr NamedSpec row(std::string_view name, const Spec& spec, double max, double min_normal,
                        double min_value, int max_exponent, int min_exponent,
                        std::uint64_t max_code, std::uint64_t one_code, std::string_view document) {
  return {name,         spec,         max,      min_normal, min_value,
          max_exponent, min_exponent, max_code, one_code,   document};
}

constexpr std::array table{
    row("binary16", {5, 11, 15}, 65504.0, 0x1p-14, 0x1p-24, 15, -14, 0x7BFF, 0x3C00,
        "IEEE 754-2019 table 3.5"),
    row("bfloat16", {8, 8, 127}, 0x1.FEp127, 0x1p-126, 0x1p-133, 127, -126, 0x7F7F, 0x3F80,
        "Intel bfloat16 numerics definition 1.0"),
    row("tf32", {8, 11, 127, Codes::ieee, true, true, 13}, 0x1.FFCp127, 0x1p-126, 0x1p-136, 127,
        -126, 0x7F7FE000, 0x3F800000, "NVIDIA A100 whitepaper: 8 exponent, 10 fraction bits"),
    row("binary32", {8, 24, 127}, 0x1.FFFFFEp127, 0x1p-126, 0x1p-149, 127, -126, 0x7F7FFFFF,
        0x3F800000, "IEEE 754-2019 table 3.5"),
    row("binary64", {11, 53, 1023}, 0x1.FFFFFFFFFFFFFp1023, 0x1p-1022, 0x1p-1074, 1023, -1022,
        0x7FEFFFFFFFFFFFFF, 0x3FF0000000000000, "IEEE 754-2019 table 3.5"),
    row("e4m3", {4, 4, 7, Codes::one_nan}, 448.0, 0x1p-6, 0x1p-9, 8, -6, 0x7E, 0x38,
        "OCP OFP8 1.0 table 2"),
    row("e5m2", {5, 3, 15}, 57344.0, 0x1p-14, 0x1p-16, 15, -14, 0x7B, 0x3C, "OCP OFP8 1.0 table 2"),
    row("e4m3fnuz", {4, 4, 8, Codes::fnuz}, 240.0, 0x1p-7, 0x1p-10, 7, -7, 0x7F, 0x40,
        "ONNX float8 table (FLOAT8E4M3FNUZ)"),
    row("e5m2fnuz", {5, 3, 16, Codes::fnuz}, 57344.0, 0x1p-15, 0x1p-17, 15, -15, 0x7F, 0x40,
        "ONNX float8 table (FLOAT8E5M2FNUZ)"),
    row("e3m2", {3, 3, 3, Codes::all_numbers}, 28.0, 0.25, 0.0625, 4, -2, 0x1F, 0x0C,
        "OCP MX 1.0 table 3"),
    row("e2m3", {2, 4, 1, Codes::all_numbers}, 7.5, 1.0, 0.125, 2, 0, 0x1F, 0x08,
        "OCP MX 1.0 table 3"),
    row("e2m1", {2, 2, 1, Codes::all_numbers}, 6.0, 1.0, 0.5, 2, 0, 0x7, 0x2, "OCP MX 1.0 table 4"),
    row("e8m0", {8, 1, 127, Codes::one_nan, false, false}, 0x1p127, 0x1p-127, 0x1p-127, 127, -127,
        0xFE, 0x7F, "OCP MX 1.0 table 7"),
    row("ue4m3", {4, 4, 7, Codes::one_nan, true, false}, 448.0, 0x1p-6, 0x1p-9, 8, -6, 0x7E, 0x38,
        "PTX ISA: ue4m3, e4m3 without the sign"),
};

}  // namespace

std::span<const NamedSpec> named_specs() { return table; }

const NamedSpec& named_spec(std::string_view name) {
  for (const NamedSpec& row : table) {
    if (row.name == name) return row;
  }
  throw std::out_of_range("no such format: " + std::string(name));
}

Value value_of(std::uint64_t bits, const Spec& spec) {
  const int fraction_bits = spec.precision - 1;
  const std::uint64_t code = bits >> spec.padding;
  const std::uint64_t hidden = std::uint64_t{1} << fraction_bits;
  const std::uint64_t top_field = (std::uint64_t{1} << spec.exponent_bits) - 1;
  const std::uint64_t fraction = code % hidden;
  const std::uint64_t field = code / hidden % (top_field + 1);
  Value value;
  value.negative = spec.sign && code / hidden / (top_field + 1) % 2 == 1;

  const bool all_ones = field == top_field && fraction == hidden - 1;
  const bool is_nan = (spec.codes == Codes::ieee && field == top_field && fraction != 0) ||
                      (spec.codes == Codes::one_nan && all_ones) ||
                      (spec.codes == Codes::fnuz && value.negative && field == 0 && fraction == 0);
  if (is_nan) {
    value.kind = Kind::nan;
    value.low = fraction_bits == 0 ? 0 : fraction << (64 - fraction_bits);
    value.signaling = spec.codes == Codes::ieee && value.low >> 63 == 0;
    return value;
  }
  if (spec.codes == Codes::ieee && field == top_field) {
    value.kind = Kind::infinity;
    return value;
  }
  const bool hidden_is_one = field > 0 || !spec.zero;
  value.low = fraction + (hidden_is_one ? hidden : 0);
  value.exponent = (hidden_is_one ? static_cast<int>(field) : 1) - spec.bias - fraction_bits;
  return value;
}

bool is_zero(const Value& value) {
  return value.kind == Kind::number && value.high == 0 && value.low == 0 && value.rest == 0;
}

bool is_subnormal(std::uint64_t bits, const Spec& spec) {
  const Value value = value_of(bits, spec);
  return value.kind == Kind::number && value.low != 0 &&
         value.low < std::uint64_t{1} << (spec.precision - 1);
}

double to_double(const Value& value) {
  if (value.kind == Kind::nan) return std::numeric_limits<double>::quiet_NaN();
  const double size = value.kind == Kind::infinity
                          ? infinite_double
                          : std::ldexp(static_cast<double>(value.low), value.exponent);
  return value.negative ? -size : size;
}

}  // namespace oracle
