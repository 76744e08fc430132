// SPDX-License-Identifier: Apache-2.0
//
// The tables of functions. What an operation does is MPFR's; here are the NaNs, which MPFR does not
// divide into quiet and signaling, and the ranges of the integers.
#include "tests/oracle/mpfr/functions.h"

#include <algorithm>

namespace mpfr_oracle {
namespace {

using Numbers = std::vector<Operand>;

constexpr Integer integers[] = {
    {"ui32", 32, false}, {"ui64", 64, false}, {"i32", 32, true}, {"i64", 64, true}};

struct Arithmetic {
  const char* suffix;
  std::size_t arity;
  int (*compute)(mpfr_ptr, const Numbers&, mpfr_rnd_t);
};

constexpr Arithmetic arithmetic[] = {
    {"add", 2,
     [](mpfr_ptr result, const Numbers& x, mpfr_rnd_t direction) {
       return mpfr_add(result, x[0].value.get(), x[1].value.get(), direction);
     }},
    {"sub", 2,
     [](mpfr_ptr result, const Numbers& x, mpfr_rnd_t direction) {
       return mpfr_sub(result, x[0].value.get(), x[1].value.get(), direction);
     }},
    {"mul", 2,
     [](mpfr_ptr result, const Numbers& x, mpfr_rnd_t direction) {
       return mpfr_mul(result, x[0].value.get(), x[1].value.get(), direction);
     }},
    {"mulAdd", 3,
     [](mpfr_ptr result, const Numbers& x, mpfr_rnd_t direction) {
       return mpfr_fma(result, x[0].value.get(), x[1].value.get(), x[2].value.get(), direction);
     }},
    {"div", 2,
     [](mpfr_ptr result, const Numbers& x, mpfr_rnd_t direction) {
       return mpfr_div(result, x[0].value.get(), x[1].value.get(), direction);
     }},
    {"rem", 2,
     [](mpfr_ptr result, const Numbers& x, mpfr_rnd_t direction) {
       return mpfr_remainder(result, x[0].value.get(), x[1].value.get(), direction);
     }},
    {"sqrt", 1,
     [](mpfr_ptr result, const Numbers& x, mpfr_rnd_t direction) {
       return mpfr_sqrt(result, x[0].value.get(), direction);
     }},
};

struct Comparison {
  const char* suffix;
  int (*holds)(mpfr_srcptr, mpfr_srcptr);
  bool quiet;
};

int equal(mpfr_srcptr x, mpfr_srcptr y) { return mpfr_equal_p(x, y); }
int less_or_equal(mpfr_srcptr x, mpfr_srcptr y) { return mpfr_lessequal_p(x, y); }
int less(mpfr_srcptr x, mpfr_srcptr y) { return mpfr_less_p(x, y); }

constexpr Comparison comparison_rows[] = {
    {"eq", equal, true},
    {"le", less_or_equal, false},
    {"lt", less, false},
    {"eq_signaling", equal, false},
    {"le_quiet", less_or_equal, true},
    {"lt_quiet", less, true},
};

Numbers decode_all(const std::vector<Kind>& kinds, const Operands& operands) {
  Numbers numbers;
  numbers.reserve(kinds.size());
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    numbers.push_back(decode(*kinds[i].format, operands[i]));
  }
  return numbers;
}

bool any_nan(const Numbers& x) {
  return std::any_of(x.begin(), x.end(), [](const Operand& operand) { return operand.nan; });
}

bool any_signaling(const Numbers& x) {
  return std::any_of(x.begin(), x.end(), [](const Operand& operand) { return operand.signaling; });
}

// 0 * Inf is invalid whatever is added.
bool product_is_invalid(const Numbers& x) {
  if (x[0].nan || x[1].nan) return false;
  Number product(mpfr_get_prec(x[0].value.get()));
  mpfr_mul(product.get(), x[0].value.get(), x[1].value.get(), MPFR_RNDN);
  return mpfr_nan_p(product.get()) != 0;
}

Function arithmetic_function(const Format& format, const Arithmetic& operation) {
  const std::vector<Kind> kinds(operation.arity, Kind{&format});
  auto evaluate = [&format, &operation, kinds](const Environment& environment,
                                               const Operands& operands) {
    const Numbers x = decode_all(kinds, operands);
    if (any_nan(x)) {
      const bool invalid_product = operation.arity == 3 && product_is_invalid(x);
      return deliver_nan(format, any_signaling(x) || invalid_product);
    }
    return deliver(format, environment, [&](mpfr_ptr result, mpfr_rnd_t direction) {
      return operation.compute(result, x, direction);
    });
  };
  return {std::string(format.name) + "_" + operation.suffix, kinds, Kind{&format}, evaluate};
}

Function comparison_function(const Format& format, const Comparison& comparison) {
  const std::vector<Kind> kinds(2, Kind{&format});
  auto evaluate = [&comparison, kinds](const Environment&, const Operands& operands) {
    const Numbers x = decode_all(kinds, operands);
    const bool invalid = comparison.quiet ? any_signaling(x) : any_nan(x);
    const bool holds = comparison.holds(x[0].value.get(), x[1].value.get()) != 0;
    return Outcome{holds ? std::uint64_t{1} : 0, invalid ? flag_invalid : 0};
  };
  return {std::string(format.name) + "_" + comparison.suffix, kinds, Kind{}, evaluate};
}

Function round_to_int_function(const Format& format) {
  auto evaluate = [&format](const Environment& environment, const Operands& operands) {
    const Operand x = decode(format, operands[0]);
    if (x.nan) return deliver_nan(format, x.signaling);
    Number integer(format.precision);
    const bool inexact = round_to_integer(environment.rounding, x.value.get(), integer.get());
    Outcome outcome = deliver(format, environment, [&](mpfr_ptr result, mpfr_rnd_t direction) {
      return mpfr_set(result, integer.get(), direction);
    });
    if (inexact && environment.exact) outcome.flags |= flag_inexact;
    return outcome;
  };
  return {std::string(format.name) + "_roundToInt", {Kind{&format}}, Kind{&format}, evaluate};
}

bool fits(const Integer& integer, mpfr_srcptr value) {
  if (integer.bits == 64) {
    return (integer.is_signed ? mpfr_fits_intmax_p(value, MPFR_RNDN)
                              : mpfr_fits_uintmax_p(value, MPFR_RNDN)) != 0;
  }
  return (integer.is_signed ? mpfr_fits_sint_p(value, MPFR_RNDN)
                            : mpfr_fits_uint_p(value, MPFR_RNDN)) != 0;
}

std::uint64_t integer_mask(const Integer& integer) {
  return integer.bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << integer.bits) - 1;
}

Function to_integer_function(const Format& format, const Integer& integer) {
  auto evaluate = [&format, &integer](const Environment& environment, const Operands& operands) {
    const Operand x = decode(format, operands[0]);
    if (mpfr_number_p(x.value.get()) == 0) return Outcome{0, flag_invalid};
    Number rounded(format.precision);
    const bool inexact = round_to_integer(environment.rounding, x.value.get(), rounded.get());
    if (!fits(integer, rounded.get())) return Outcome{0, flag_invalid};
    const std::uint64_t bits =
        integer.is_signed ? static_cast<std::uint64_t>(mpfr_get_sj(rounded.get(), MPFR_RNDN))
                          : mpfr_get_uj(rounded.get(), MPFR_RNDN);
    return Outcome{bits & integer_mask(integer), inexact && environment.exact ? flag_inexact : 0};
  };
  return {std::string(format.name) + "_to_" + integer.name,
          {Kind{&format}},
          Kind{nullptr, &integer},
          evaluate};
}

std::int64_t sign_extended(const Integer& integer, std::uint64_t bits) {
  return integer.bits == 64 ? static_cast<std::int64_t>(bits)
                            : static_cast<std::int32_t>(static_cast<std::uint32_t>(bits));
}

Function from_integer_function(const Integer& integer, const Format& format) {
  auto evaluate = [&format, &integer](const Environment& environment, const Operands& operands) {
    return deliver(format, environment, [&](mpfr_ptr result, mpfr_rnd_t direction) {
      return integer.is_signed ? mpfr_set_sj(result, sign_extended(integer, operands[0]), direction)
                               : mpfr_set_uj(result, operands[0], direction);
    });
  };
  return {std::string(integer.name) + "_to_" + format.name,
          {Kind{nullptr, &integer}},
          Kind{&format},
          evaluate};
}

Function conversion_function(const Format& from, const Format& to) {
  auto evaluate = [&from, &to](const Environment& environment, const Operands& operands) {
    const Operand x = decode(from, operands[0]);
    if (x.nan) return deliver_nan(to, x.signaling);
    return deliver(to, environment, [&](mpfr_ptr result, mpfr_rnd_t direction) {
      return mpfr_set(result, x.value.get(), direction);
    });
  };
  return {std::string(from.name) + "_to_" + to.name, {Kind{&from}}, Kind{&to}, evaluate};
}

}  // namespace

int Kind::container_bits() const {
  if (format != nullptr) return format->container_bits;
  return integer != nullptr ? integer->bits : 1;
}

std::vector<Function> all_functions() {
  std::vector<Function> functions;
  for (const Format& format : formats()) {
    for (const Arithmetic& operation : arithmetic) {
      functions.push_back(arithmetic_function(format, operation));
    }
    functions.push_back(round_to_int_function(format));
    for (const Comparison& comparison : comparison_rows) {
      functions.push_back(comparison_function(format, comparison));
    }
    for (const Integer& integer : integers) {
      functions.push_back(to_integer_function(format, integer));
      functions.push_back(from_integer_function(integer, format));
    }
    for (const Format& to : formats()) {
      if (&to != &format) functions.push_back(conversion_function(format, to));
    }
  }
  return functions;
}

}  // namespace mpfr_oracle
