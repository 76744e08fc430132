// SPDX-License-Identifier: Apache-2.0
//
// The independent judge of `emulate`: rounding by its definition, on exact numbers. It shares no
// code, no header and no vocabulary with what it judges. A format is given as plain numbers. Its
// finite values are in a sorted list (or, for wide formats, are found by integer division), and a
// result is one of the two neighbours of the exact number in that list. This header does not
// include Boost.Multiprecision; the sources do.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace oracle {

/// Says which codes of a format are not numbers.
enum class Codes {
  ieee,         ///< exponent field all ones: Inf, NaN
  one_nan,      ///< all ones: NaN
  all_numbers,  ///< no code is special
  fnuz,         ///< the code of -0 is the NaN
};

/// A format.
struct Spec {
  int exponent_bits;
  int precision;
  int bias;
  Codes codes = Codes::ieee;
  bool zero = true;  ///< has a zero, and subnormal numbers
  bool sign = true;  ///< has a sign bit
  int padding = 0;   ///< zero bits below the code: 13 in tf32
};

/// A format with its limits as the document that defines it prints them, for comparison with
/// derived limits.
struct NamedSpec {
  std::string_view name;
  Spec spec;
  double max, min_normal, min_value;
  int max_exponent, min_exponent;
  std::uint64_t max_code, one_code;  ///< encodings of the largest finite number and of 1
  std::string_view document;
};

std::span<const NamedSpec> named_specs();
const NamedSpec& named_spec(std::string_view name);

/// The rounding direction; `random`, the last, is stochastic rounding.
enum class Way { nearest_even, nearest_away, nearest_zero, to_zero, up, down, odd, random };
/// The NaN of a result in formats with Codes::ieee: its quiet bit alone; all fraction bits ones; or
/// the operand's sign and payload, quiet.
enum class Nan { quiet, all_ones, keep };

struct Rules {
  Way way = Way::nearest_even;
  bool saturate = false;       ///< overflows and infinities become the largest finite number
  bool flush_results = false;  ///< tiny results become zero
  bool tiny_before = false;    ///< whether tininess is that before rounding
  Nan nan = Nan::quiet;
  int random_bits = 32;  ///< how many low bits of `random` stochastic rounding uses
};

enum class Kind { number, infinity, nan };

/// An exact value. A number is (high 2^64 + low + rest 2^-64) 2^exponent; a NaN has its fraction,
/// left-aligned, in `low`.
struct Value {
  Kind kind = Kind::number;
  bool negative = false;
  std::uint64_t high = 0, low = 0, rest = 0;
  int exponent = 0;
  bool signaling = false;
};

struct Outcome {
  std::uint64_t bits = 0;
  bool inexact = false, underflow = false, overflow = false, invalid = false;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// Returns the value that a code of the format stands for.
Value value_of(std::uint64_t bits, const Spec& spec);
bool is_subnormal(std::uint64_t bits, const Spec& spec);
bool is_zero(const Value& value);
/// Returns the value as a double, exactly if a double can hold it (those of every format up to
/// binary64).
double to_double(const Value& value);

class Neighbours;

/// Rounds onto one format.
class Oracle {
 public:
  enum class Method {
    table,     ///< the list of all finite values
    division,  ///< integer arithmetic, for formats too wide to list
  };
  explicit Oracle(const Spec& spec, Method method = Method::table);
  Oracle(Oracle&&) noexcept;
  ~Oracle();

  Outcome round(const Value& value, const Rules& rules, std::uint32_t random = 0) const;
  const Spec& spec() const { return spec_; }

 private:
  Spec spec_;
  std::unique_ptr<const Neighbours> neighbours_;
};

}  // namespace oracle
