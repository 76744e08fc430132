// SPDX-License-Identifier: Apache-2.0
//
// Everything that `binade show` reports about one value in one format, as a struct, and written as
// text and JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lib/explain/attribute_words.h"
#include "lib/explain/rounding_words.h"

namespace binade {

struct ShownEncoding {
  Literal literal;
  NamedOrCustom format;
  Attributes attributes;
  std::uint32_t random = 0;
  /// If the literal is an encoding of the format itself, only `bits` is set.
  RoundedLiteral rounded = {};

  Fields fields = {};
  Kind kind = Kind::zero;
  std::string_view class_name = {};      ///< "normal", "subnormal", "quiet NaN", …
  Dyadic magnitude = {};                 ///< absolute value of a finite number or zero
  std::optional<int> ulp_exponent = {};  ///< exponent of the last place of a finite number or zero
  /// The next numbers below and above, infinities included; nothing for a NaN, or where the format
  /// has none.
  std::optional<std::uint64_t> below = {};
  std::optional<std::uint64_t> above = {};
};

/// Returns what is to be shown of a literal, rounded to the format. Throws Error if the literal is
/// an encoding (bits:…) with more bits than the format.
ShownEncoding shown(const Literal& literal, const NamedOrCustom& format,
                    const Attributes& attributes, std::uint32_t random);

/// What to show: every value in every format. Stochastic rounding needs `random`; other roundings
/// ignore it.
struct ShowQuestion {
  std::vector<std::string> values, formats;
  AttributeOptions attributes;
  std::optional<std::int64_t> random;
};

/// Returns every value in every format. Throws Error if there is nothing to show, or something
/// cannot be shown.
std::vector<ShownEncoding> shown_values(const ShowQuestion& question);

/// Returns the texts of all, with an empty line between any two.
std::string shown_encodings_text(std::span<const ShownEncoding> all);
/// Returns JSON of schema binade.show/1.
nlohmann::ordered_json shown_encodings_json(std::span<const ShownEncoding> all);

/// Returns a headline and one aligned block, which end with a newline.
std::string shown_encoding_text(const ShownEncoding& x);

/// Returns one value as JSON. Numbers are exact: a number that binary64 does not hold is a string
/// of its decimal digits.
nlohmann::ordered_json shown_encoding_json(const ShownEncoding& x);

/// Returns a JSON number, or a string of all digits if binary64 does not hold the number.
nlohmann::ordered_json json_number(const Decimal& x, bool negative = false);

}  // namespace binade
